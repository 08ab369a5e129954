"""The description of a decoder, which every family derives from its model's own configuration."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Protocol

import numpy as np

from .blocks import Matrix

CACHES = ("float32", "int8")


@dataclasses.dataclass(frozen=True)
class Rotation:
    """Radians per position, float64 (pairs), and the factor of cosines and sines. Sequences of more than `context`
    positions use the frequencies `long`, unless they are None."""

    frequencies: np.ndarray
    scale: float = 1.0
    long: np.ndarray | None = None
    context: int = 0

    def is_long(self, positions: int) -> bool:
        """Returns true if a state of that many positions uses the frequencies for long contexts."""
        return self.long is not None and positions > self.context


@dataclasses.dataclass(frozen=True)
class Layer:
    """The differences between layers."""

    rotation: int = -1  # the place in Config.rotations, or -1 for a layer that does not rotate
    window: int = 0  # positions that a query sees, its own included; 0 for all


@dataclasses.dataclass(frozen=True)
class Experts:
    """The experts of a layer: `count` networks, of which a token uses the `used` ones that the router rates highest.
    `normalised`: their shares are divided by the sum of the shares, so that it is 1."""

    count: int
    used: int
    normalised: bool


@dataclasses.dataclass(frozen=True)
class Config:
    """A decoder. Optional parts, such as biases and norms of heads, follow from the weights that are there."""

    family: str
    width: int  # elements of a token's vector
    heads: int  # of queries
    key_heads: int  # of keys and values; each serves heads / key_heads heads of queries
    head_width: int
    vocabulary: int
    context: int  # positions that the model was trained for
    epsilon: float  # of the norms
    layers: tuple[Layer, ...]
    rotations: tuple[Rotation, ...] = ()
    interleaved: bool = False  # True if the elements of a rotated pair are adjacent
    norm: str = "rms"  # or "layer"
    activation: str = "silu"  # or "gelu_tanh" or "gelu"
    score_scale: float = 0.0  # of the products of queries and keys; 0 for 1 / sqrt(head_width)
    score_cap: float = 0.0  # scores become cap * tanh(score / cap); 0 for none
    logit_cap: float = 0.0  # the same for the results
    embedding_scale: float = 1.0
    joint_gate: bool = False  # True if the gate's rows are the first half of the matrix ffn_up
    experts: Experts | None = None  # of the layers that have a router, the weight ffn_gate_inp
    cache: str = "float32"  # the type in which keys and values are kept, one of CACHES; a choice, not the model's


class Weights(Protocol):
    """A model's weights under GGUF's names: token_embd.weight, blk.0.attn_q.weight, ... Each expert has matrices of its
    own: blk.0.ffn_gate.3.weight."""

    def __contains__(self, name: str) -> bool: ...

    def __iter__(self) -> Iterator[str]: ...

    def shape(self, name: str) -> tuple[int, ...]:
        """Returns the sizes of a weight; those of a matrix are (results, inputs)."""

    def array(self, name: str) -> np.ndarray:
        """Returns a weight as float32."""

    def matrix(self, name: str) -> Matrix:
        """Returns a matrix in the type in which it is stored."""

    def rows(self, name: str, places: np.ndarray) -> np.ndarray:
        """Returns these rows of a matrix as float32."""
