"""Proposals of the next tokens. One run of the model then checks several tokens (Leviathan et al., 2023). The answer is
the one without proposals: a proposal only saves the run for a token that is chosen anyway."""

from __future__ import annotations

import numpy as np

from ..errors import wrong_input
from .decoder import Decoder

_LONGEST, _SHORTEST = 4, 2  # tokens that must occur earlier


class Lookup:
    """Proposes the tokens that followed the last ones where these occurred before (prompt lookup)."""

    def __init__(self, count: int):
        self._count = count
        self._after: dict[tuple[int, ...], int] = {}  # the place behind the latest occurrence
        self._known = 0

    def __call__(self, tokens: list[int]) -> list[int]:
        """Returns proposals that may follow the tokens, of which earlier calls had a beginning."""
        found = next(
            (
                place
                for size in range(_LONGEST, _SHORTEST - 1, -1)
                if (place := self._after.get(tuple(tokens[-size:]))) is not None
            ),
            None,
        )
        for end in range(self._known + 1, len(tokens) + 1):
            for size in range(_SHORTEST, min(_LONGEST, end) + 1):
                self._after[tuple(tokens[end - size : end])] = end
        self._known = len(tokens)
        return [] if found is None else tokens[found : found + self._count]


class Draft:
    """Proposes the most probable tokens of a smaller model with the same vocabulary."""

    def __init__(self, decoder: Decoder, positions: int, count: int):
        self._count = count
        self._state = decoder.state(min(positions, decoder.config.context))
        self._fed: list[int] = []

    def __call__(self, tokens: list[int]) -> list[int]:
        if len(tokens) + self._count > self._state.positions:
            return []
        same = next((i for i, (a, b) in enumerate(zip(self._fed, tokens, strict=False)) if a != b), len(self._fed))
        same = min(same, len(tokens) - 1)  # the last token gives the first proposal
        self._state.lengths[0] = same
        new, made = tokens[same:], []
        for _ in range(self._count):
            made.append(int(self._state.feed(np.array([new]))[0].argmax()))
            new = made[-1:]
        self._fed = tokens + made[:-1]
        return made


def check_same_vocabulary(model: dict[str, int], draft: dict[str, int], path: str) -> None:
    """Raises an error if the tokens of two models differ."""
    if model != draft:
        raise wrong_input(f"{path} has other tokens than the model", "use a draft model of the same series")
