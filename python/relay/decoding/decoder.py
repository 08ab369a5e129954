"""A model that is compiled for decoding, and the state of sequences."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from pathlib import Path

import numpy as np

from .. import _core
from ..errors import bad_option, wrong_input
from ..run.compiled import compile, compiled_from
from . import network
from .config import CACHES
from .narrowing import FORMS, Narrowed
from .source import Source, check_all_used

_STEP = 128  # positions: attention reads a multiple of it, so that plans are made for few sizes
_MOST_POSITIONS = 1 << 24
_AT_ONCE = 512  # tokens of a prompt that one run takes


def _rounded(count: int) -> int:
    return -(-count // _STEP) * _STEP


@functools.cache
def _reader() -> str:
    """Returns the name of this reader of models with a digest of its code, which a program in the cache depends on."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(file.read_bytes())
    return f"decoding {digest.hexdigest()}"


class Decoder:
    """A compiled model. `state()` begins sequences.

    cache: True to look for the compiled program among those of earlier processes, and to store it there.
    kv_cache: the type in which keys and values are kept: "float32", or "int8", which takes less memory and rounds them.
    weights: a form of narrowing.FORMS, to which matrices of wider floats are rounded.
    options: of relay.compile, such as threads.
    """

    def __init__(
        self,
        source: Source,
        cache: bool = True,
        kv_cache: str = "float32",
        weights: str = "as_stored",
        **options,
    ):
        if kv_cache not in CACHES:
            raise bad_option(f"there is no cache of keys and values of {kv_cache!r}", f"use {' or '.join(CACHES)}")
        if weights not in FORMS:
            raise bad_option(f"there is no form of weights {weights!r}", f"use {', '.join(FORMS)}")
        self.source, self.weights, self.form = source, source.weights, weights
        if weights != "as_stored":
            self.weights = Narrowed(source.weights, weights)
        self.config = dataclasses.replace(source.config, cache=kv_cache)
        donated = {name: place + 1 for place, name in enumerate(network.states(self.config))}
        options = {"donate": donated, **options}
        reader = f"{_reader()} {kv_cache} {weights}"
        if cache and source.files:
            self.compiled, self.notes = compiled_from(
                str(source.path), [str(file) for file in source.files], reader, self._program, **options
            )
        else:
            self.compiled, self.notes = compile(self._program(), **options), []

    def _program(self) -> _core.IRModule:
        program, used = network.program(str(self.source.path), self.config, self.weights)
        check_all_used(self.source, used)
        return program

    @property
    def most_positions(self) -> int:
        """The most positions that a state can have: the model's context if its positions are learned. A model that
        rotates can go beyond the context, with worse answers."""
        return self.config.context if "position_embd.weight" in self.weights else _MOST_POSITIONS

    def state(self, positions: int, sequences: int = 1) -> State:
        """Returns a new state of empty sequences that may have up to `positions` tokens each."""
        return State(self, positions, sequences)

    def embedded(self, tokens: np.ndarray) -> np.ndarray:
        """Returns the vectors of tokens: (.., width)."""
        if tokens.size and not 0 <= tokens.min() <= tokens.max() < self.config.vocabulary:
            raise wrong_input(
                f"token {tokens.min() if tokens.min() < 0 else tokens.max()} is not one of the model's "
                f"{self.config.vocabulary} tokens",
                "use the tokenizer of this model",
            )
        made = self.weights.rows("token_embd.weight", tokens.reshape(-1))
        if self.config.embedding_scale != 1.0:
            made = made * np.float32(self.config.embedding_scale)
        return made.reshape(*tokens.shape, self.config.width)


class State:
    """The keys and values of sequences. `lengths` are the tokens that each of them has. Lowering a length takes tokens
    back."""

    def __init__(self, decoder: Decoder, positions: int, sequences: int):
        self.decoder = decoder
        self.lengths = np.zeros(sequences, np.int64)
        self._sequences = np.arange(sequences)
        self._make_room(positions)

    def _make_room(self, positions: int) -> None:
        if positions > self.decoder.most_positions:
            raise wrong_input(
                f"{positions} positions are more than the {self.decoder.most_positions} that "
                f"{self.decoder.source.path} has learned",
                "give a shorter prompt, or generate fewer tokens",
            )
        self.positions = positions
        rows = _rounded(positions + 1)  # the last row takes what fills a batch
        self._session = self.decoder.compiled.session()
        self._tables = network.tables(self.decoder.config, self.decoder.weights, rows, positions)
        self._all = np.arange(rows)

    def _stored(self, positions: int) -> dict[str, np.ndarray]:
        """Returns a copy of the keys and values with room for `positions` tokens; empty before the first run."""
        rows = _rounded(positions + 1)
        return {
            name: np.pad(value, ((0, 0), (0, rows - value.shape[1]), *((0, 0),) * (value.ndim - 2)))
            for name, value in self._session.snapshot().items()
            if value is not None
        }

    def grow(self, positions: int) -> None:
        """Makes room for `positions` tokens, in a copy."""
        stored = self._stored(positions)
        self._check_rotations(positions)
        self._make_room(positions)
        if stored:
            self._session.restore(stored)

    def _check_rotations(self, positions: int) -> None:
        """Raises an error if the keys so far were turned by frequencies of shorter contexts."""
        for rotation in self.decoder.config.rotations:
            if rotation.is_long(self.positions) != rotation.is_long(positions):
                raise wrong_input(
                    f"{self.decoder.source.path} turns positions differently in sequences of more than "
                    f"{rotation.context} tokens, and this one began as a shorter one",
                    "begin a state with as many positions as it will need",
                )

    def join(self, other: State) -> None:
        """Adds the sequences of another state of the same decoder behind the own ones, in a copy. Both have tokens."""
        positions = max(self.positions, other.positions)
        for state in (self, other):
            state._check_rotations(positions)
        mine, others = self._stored(positions), other._stored(positions)
        if positions > self.positions:
            self._make_room(positions)
        self._replace({name: np.concatenate([mine[name], others[name]]) for name in mine})
        self.lengths = np.concatenate([self.lengths, other.lengths])
        self._sequences = np.arange(self.lengths.size)

    def keep(self, rows: list[int]) -> None:
        """Drops all sequences but these, in a copy."""
        self._replace({name: np.ascontiguousarray(value[rows]) for name, value in self._stored(self.positions).items()})
        self.lengths = self.lengths[rows]
        self._sequences = np.arange(self.lengths.size)

    def _replace(self, stored: dict[str, np.ndarray]) -> None:
        self._session = self.decoder.compiled.session()
        self._session.restore(stored)

    def feed(self, tokens: np.ndarray, counts: np.ndarray | None = None, every: bool = False) -> np.ndarray:
        """Appends tokens, int (sequences, n). Returns the logits behind the last token of each sequence, (sequences,
        vocabulary), or behind every new token, (sequences, n, vocabulary).

        counts: the tokens of each sequence, if some have fewer than n; the others are ignored.
        """
        tokens = np.asarray(tokens, np.int64)
        sequences, n = tokens.shape
        counts = np.full(sequences, n) if counts is None else counts
        if (self.lengths + counts).max() > self.positions:
            raise wrong_input(
                f"sequences of {(self.lengths + counts).max()} tokens do not fit in a state of {self.positions}",
                "begin a state with more positions",
            )
        parts = [self._fed(tokens[:, at : at + _AT_ONCE], counts - at, every) for at in range(0, n, _AT_ONCE)]
        if every:
            return np.concatenate(parts, axis=1)
        found = np.minimum(np.maximum(counts - 1, 0) // _AT_ONCE, len(parts) - 1)
        return np.stack([parts[part][i] for i, part in enumerate(found)]) if len(parts) > 1 else parts[0]

    def _fed(self, tokens: np.ndarray, counts: np.ndarray, every: bool) -> np.ndarray:
        sequences, n = tokens.shape
        counts = np.clip(counts, 0, n)
        at = np.empty((2, sequences, n), np.int64)
        at[0] = self._sequences[:, None]
        np.minimum(self.lengths[:, None] + self._all[:n], self.positions, out=at[1])
        if every:
            wanted = np.arange(sequences * n)
        else:
            wanted = self._sequences * n + np.maximum(counts - 1, 0)
        seen = self._all[: _rounded(int(at[1].max()) + 1)]
        made = self._session(x=self.decoder.embedded(tokens), at=at, seen=seen, wanted=wanted, **self._tables)
        self.lengths += counts
        return made.reshape(sequences, n, -1) if every else made
