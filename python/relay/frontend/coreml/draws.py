"""Random numbers, which are the same ones in each run (shared/draws.py)."""

from __future__ import annotations

import math

from ... import op
from ..._core import Expr
from ..shared import draws
from ..shared.expressions import bounded, cast, is_float, shape_of
from ..shared.problems import Refused
from . import functions as f
from .conversion import Layer, Operation

_MOST = 1 << 31  # elements


def _zeros(sizes: list) -> Expr:
    bounded(math.prod(one for one in sizes if isinstance(one, int)), _MOST, "the number of its elements")
    return op.zeros(sizes, dtype="float32")


# --- operations of ML programs ----------------------------------------------------------------------------------------
def _drawn(c: Operation, draw, first, *more) -> Expr:
    """Returns numbers of the parameter `shape`, of the type that the file declares."""
    shaped = _zeros(c.sizes("shape")) if c.is_known("shape") else op.dyn.zeros(cast(c.expr("shape"), "int64"),
                                                                              dtype="float32")  # fmt: skip
    numbers = [c.real(*one) for one in (first, *more)]
    return cast(draw(draws.key_of(c.int("seed", -1), c.node.place), shaped, *numbers), c.result()[1])


def random_uniform(c: Operation):
    return _drawn(c, draws.uniform, ("low", 0.0), ("high", 1.0))


def random_normal(c: Operation):
    return _drawn(c, draws.normal, ("mean", 0.0), ("stddev", 1.0))


def random_bernoulli(c: Operation):
    return _drawn(c, draws.bernoulli, ("prob", 0.5))


def random_categorical(c: Operation):
    mode = c.text("mode", "logits", ("logits", "probs"))
    x = c.x if is_float(c.dtype) else op.cast(c.x, "float32")
    made = _classes(c.node.place, x, mode == "logits", c.count("size", 1, 1, 1 << 24), c.int("seed", -1))
    return cast(made, c.result()[1])


def _classes(place: str, x: Expr, is_logits: bool, count: int, seed: int) -> Expr:
    if not shape_of(x):
        raise Refused("its input has no axes")
    return draws.categorical(draws.key_of(seed, place), op.nn.softmax(x, axis=-1) if is_logits else x, count)


# --- layers of neural networks ----------------------------------------------------------------------------------------
def layer(form: str, draw, *names: str):
    """Returns the converter of a layer. form: "Like" (of the input's shape), "Static" (of a shape in the file), or
    "Dynamic" (of a shape that is the input). names: of the distribution's numbers."""

    def convert(c: Layer):
        if form == "Static":
            like = _zeros([int(one) for one in c.p.outputShape])
        elif form == "Like":
            like = op.zeros_like(c.x)
        elif c.importer.folded(c.x) is None:
            like = op.dyn.zeros(op.cast(c.x, "int64"), dtype="float32")
        else:
            like = _zeros(c.sizes(0))
        return draw(draws.key_of(c.p.seed, c.node.place), like, *(getattr(c.p, one) for one in names))

    return convert


def categorical(c: Layer):
    """Classes for each row of logits or probabilities, as floats."""
    count, x = bounded(c.p.numSamples, 1 << 24, "`numSamples`"), c.x
    if count < 1:
        raise Refused("`numSamples` is 0")
    heat = c.p.temperature or 1.0
    if not c.p.isLogits:
        x = op.log(f.affine(x, 1.0, c.p.eps)) if heat != 1 else x
    x = f.affine(x, 1 / heat, 0.0)
    return cast(_classes(c.node.place, x, bool(c.p.isLogits) or heat != 1, count, c.p.seed), "float32")
