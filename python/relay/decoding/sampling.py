"""The choice of the next token from logits."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..errors import bad_option


@dataclasses.dataclass(frozen=True)
class Sampling:
    """The choice of a token. The steps follow each other in the order of the fields.

    repetition_penalty: divides positive logits of tokens among the last `repetition_window`, and multiplies negative
    ones (Keskar et al., CTRL, 2019); 1 changes nothing.
    temperature: divides the logits; 0 chooses the largest.
    top_k: keeps the k largest logits; 0 keeps all.
    top_p: keeps the most probable tokens until their sum reaches p (Holtzman et al., 2020); 1 keeps all.
    min_p: keeps tokens of at least this part of the largest probability; 0 keeps all.
    seed: of the random numbers, one for each token; unset for another one each time.
    """

    repetition_penalty: float = 1.0
    repetition_window: int = 64
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int | None = None

    def __post_init__(self):
        for name, least, most in _RANGES:
            value = getattr(self, name)
            if not isinstance(value, int | float) or not least <= value <= most:
                raise bad_option(
                    f"{name} is {value!r}, but must be from {least} to {most}", "see relay generate --help"
                )


_RANGES = (
    ("repetition_penalty", 0.01, 100), ("repetition_window", 0, 1 << 20), ("temperature", 0, 100),
    ("top_k", 0, 1 << 31), ("top_p", 0, 1), ("min_p", 0, 1),
)  # fmt: skip


class Sampler:
    """Chooses tokens, and draws one random number for each."""

    def __init__(self, how: Sampling):
        self.how = how
        self._random = np.random.default_rng(how.seed)

    def _penalised(self, logits: np.ndarray, recent: list[int]) -> np.ndarray:
        window, penalty = self.how.repetition_window, self.how.repetition_penalty
        if penalty == 1 or not window or not recent:
            return logits
        places = np.unique(recent[-window:])
        logits = logits.copy()
        found = logits[places]
        logits[places] = np.where(found > 0, found / penalty, found * penalty)
        return logits

    def probabilities(self, logits: np.ndarray, recent: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Returns the tokens that may follow, in any order, and their probabilities, which sum to 1."""
        logits, how = self._penalised(logits, recent), self.how
        if how.temperature == 0:
            return np.array([logits.argmax()]), np.ones(1)
        tokens = np.arange(logits.size)
        if 0 < how.top_k < logits.size:
            tokens = np.argpartition(logits, -how.top_k)[-how.top_k :]
        scaled = logits[tokens].astype(np.float64) / how.temperature
        found = np.exp(scaled - scaled.max())
        found /= found.sum()
        kept = found >= how.min_p * found.max()
        if how.top_p < 1:
            # Tokens below this bound sum to less than 1 - p, so the first tokens that reach p are among the others.
            likely = np.flatnonzero(found >= (1 - how.top_p) / found.size)
            order = likely[np.argsort(-found[likely], kind="stable")]
            reached = np.searchsorted(np.cumsum(found[order]), how.top_p) + 1
            first = np.zeros(found.size, bool)
            first[order[:reached]] = True
            kept &= first
        return tokens[kept], found[kept] / found[kept].sum()

    def choose(self, logits: np.ndarray, recent: list[int]) -> int:
        """Returns a token. `recent` are the tokens before it."""
        tokens, found = self.probabilities(logits, recent)
        drawn = self._random.random()
        return int(tokens[min(np.searchsorted(np.cumsum(found), drawn, side="right"), found.size - 1)])
