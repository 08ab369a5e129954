"""The operators by which ranks exchange tensors. A program contains them as calls; each has a number, unique in it.

    comm.part             whole      -> a rank's block of a dimension (moves nothing)
    comm.all_gather       divided    -> whole
    comm.all_reduce       partial    -> whole
    comm.reduce_scatter   partial    -> divided
    comm.all_to_all       divided along one dimension -> divided along another

Sums are made in one fixed order, a binary tree over the ranks: ((0 1) (2 3)) ((4 5) ..). A value therefore has the same
bits on every rank, whatever process the rank is in.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import numpy as np

from .. import op
from .._core import Call, Op, TensorType
from ..errors import InternalError

NAMES = ("comm.all_reduce", "comm.all_gather", "comm.reduce_scatter", "comm.all_to_all", "comm.part")

_current = threading.local()  # the rank whose program this thread runs


@contextlib.contextmanager
def running_as(rank: Any):
    """Makes a rank (relay.distribute.ranks.Rank) the one whose program this thread runs."""
    before = getattr(_current, "rank", None)
    _current.rank = rank
    try:
        yield
    finally:
        _current.rank = before


def _rank() -> Any:
    rank = getattr(_current, "rank", None)
    if rank is None:
        raise InternalError(
            "a program with collectives runs outside of a rank: use relay.distribute.simulate or Workers"
        )
    return rank


def _scaled(type_: TensorType, dim: int, numerator: int, denominator: int) -> TensorType:
    shape = list(type_.shape)
    if not 0 <= dim < len(shape):
        raise ValueError(f"there is no dimension {dim} in {type_}")
    if isinstance(shape[dim], int) and shape[dim] * numerator % denominator:
        raise ValueError(f"{denominator} does not divide dimension {dim} of {type_}")
    shape[dim] = shape[dim] * numerator // denominator
    return TensorType(tuple(shape), type_.dtype)


def tree(values: list, combine) -> Any:
    """Returns the combination of values in pairs: neighbours first."""
    while len(values) > 1:
        values = [
            combine(*pair) if len(pair) == 2 else pair[0]
            for pair in (values[i : i + 2] for i in range(0, len(values), 2))
        ]
    return values[0]


COMBINE = {"sum": np.add, "max": np.maximum, "min": np.minimum}

_MESH = {"axis": "", "size": 1, "number": 0}

all_reduce = op.define(
    "comm.all_reduce",
    inputs=["x"],
    attributes=_MESH | {"combiner": "sum"},
    relation=lambda x, **_: x,
    callback=lambda x, axis, size, number, combiner: _rank().all_reduce(x, axis, number, combiner),
    doc="The sum, maximum or minimum of the tensors of all ranks along an axis of the mesh.",
)
all_gather = op.define(
    "comm.all_gather",
    inputs=["x"],
    attributes=_MESH | {"dim": 0},
    relation=lambda x, axis, size, number, dim: _scaled(x, dim, size, 1),
    callback=lambda x, axis, size, number, dim: _rank().all_gather(x, axis, number, dim),
    doc="The tensors of all ranks along an axis of the mesh, side by side along a dimension.",
)
reduce_scatter = op.define(
    "comm.reduce_scatter",
    inputs=["x"],
    attributes=_MESH | {"dim": 0, "combiner": "sum"},
    relation=lambda x, axis, size, number, dim, combiner: _scaled(x, dim, 1, size),
    callback=lambda x, axis, size, number, dim, combiner: _rank().reduce_scatter(x, axis, number, dim, combiner),
    doc="A rank's block of the sum of the tensors of all ranks along an axis of the mesh.",
)
all_to_all = op.define(
    "comm.all_to_all",
    inputs=["x"],
    attributes=_MESH | {"split": 0, "join": 0},
    relation=lambda x, axis, size, number, split, join: _scaled(_scaled(x, split, 1, size), join, size, 1),
    callback=lambda x, axis, size, number, split, join: _rank().all_to_all(x, axis, number, split, join),
    doc="Blocks of dimension `split` of the tensors of all ranks, side by side along `join`: each rank gets its block.",
)
part = op.define(
    "comm.part",
    inputs=["x"],
    attributes=_MESH | {"dim": 0},
    relation=lambda x, axis, size, number, dim: _scaled(x, dim, 1, size),
    callback=lambda x, axis, size, number, dim: _rank().part(x, axis, dim),
    doc="A rank's block of a dimension of a tensor that every rank has.",
)


def is_collective(expr: Any) -> bool:
    """True for a call of one of these operators."""
    return isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name in NAMES


def moved_bytes(name: str, whole: int, n: int) -> float:
    """Returns the bytes that each of n ranks sends, by the bytes of the whole tensor."""
    return {
        "comm.all_gather": (n - 1) / n,
        "comm.all_reduce": 2 * (n - 1) / n,
        "comm.reduce_scatter": (n - 1) / n,
        "comm.all_to_all": (n - 1) / n**2,
        "comm.part": 0.0,
    }[name] * whole
