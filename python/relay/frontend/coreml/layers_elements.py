"""Layers of neural networks that work on each element, reduce or normalise."""

from __future__ import annotations

import numpy as np

from ... import op
from ..._core import Expr
from ..shared.expressions import axes_of, cast, known, shape_of
from ..shared.problems import Refused
from . import functions as f
from .conversion import Layer


def _float(x: Expr) -> Expr:
    """Truth values of comparisons are numbers in networks."""
    return cast(x, "float32")


def alike(function):
    """Returns the converter of a layer on two tensors, which broadcast; on several, from left to right."""

    def convert(c: Layer):
        made = c.x
        for one in c.inputs[1:]:
            made = function(made, one)
        return made

    return convert


def numeric(function, has_alpha: bool = False):
    """Returns the converter of a layer on tensors, or on one and a number."""

    def convert(c: Layer):
        if len(c.inputs) == 1 and has_alpha:
            return function(c.x, c.number(c.p.alpha))
        made = c.x
        for one in c.inputs[1:]:
            made = function(*aligned(made, one))
        return made

    return convert


def aligned(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Returns both tensors; (C) beside (.., C, H, W) gets two axes of size 1."""
    ranks = len(shape_of(a)), len(shape_of(b))
    if ranks[1] == 1 < ranks[0] and ranks[0] >= 3 and shape_of(b) != [1]:
        return a, op.reshape(b, [-1, 1, 1])
    return a, b


def compare(function):
    def convert(c: Layer):
        other = c.input(1) if len(c.inputs) > 1 else c.number(c.p.alpha)
        return _float(function(c.x, other))

    return convert


def _truth(x: Expr) -> Expr:
    return op.not_equal(x, f.n(x, 0.0))


def logical(function):
    return lambda c: _float(function(_truth(c.x), _truth(c.input(1))))


def logical_not(c: Layer):
    return _float(op.logical_not(_truth(c.x)))


def where(c: Layer):
    condition, a, b = c.counted(3)
    return op.where(_truth(condition), a, b)


def average(c: Layer):
    return op.divide(numeric(op.add)(c), c.number(len(c.inputs)))


_NONLINEAR = {
    "linear": lambda p, x: f.affine(x, p.alpha, p.beta),
    "ReLU": lambda p, x: op.nn.relu(x),
    "leakyReLU": lambda p, x: op.nn.leaky_relu(x, alpha=p.alpha),
    "thresholdedReLU": lambda p, x: f.thresholded_relu(x, p.alpha),
    "tanh": lambda p, x: op.tanh(x),
    "scaledTanh": lambda p, x: f.scaled_tanh(x, p.alpha, p.beta),
    "sigmoid": lambda p, x: op.sigmoid(x),
    "sigmoidHard": lambda p, x: f.hard_sigmoid(x, p.alpha, p.beta),
    "ELU": lambda p, x: f.elu(x, p.alpha),
    "softsign": lambda p, x: f.softsign(x),
    "softplus": lambda p, x: op.nn.softplus(x),
}


def _slopes(c: Layer, of, name: str) -> Expr:
    channels = c.size(-3, "the channels")
    message = c.message(name, of)
    count = max(len(message.floatValue), len(message.float16Value) // 2)
    found = c.weights(name, [count if count == 1 else channels], of=of)
    return c.constant(np.broadcast_to(found, [channels]).reshape(-1, 1, 1).copy())


def activation(c: Layer):
    kind = next((one for one in (*_NONLINEAR, "PReLU", "parametricSoftplus") if c.p.has(one)), None)
    if kind is None:
        raise Refused("its function is not known", "save the model for an earlier version of Core ML")
    about = getattr(c.p, kind)
    if kind == "PReLU":
        return op.where(op.greater(c.x, c.number(0.0)), c.x, op.multiply(c.x, _slopes(c, about, "alpha")))
    if kind == "parametricSoftplus":
        return f.parametric_softplus(c.x, _slopes(c, about, "alpha"), _slopes(c, about, "beta"))
    return _NONLINEAR[kind](about, c.x)


def unary(c: Layer):
    kinds = ("SQRT", "RSQRT", "INVERSE", "POWER", "EXP", "LOG", "ABS", "THRESHOLD")
    kind, p = c.enum("type", kinds), c.p
    scale = p.scale if p.scale or p.shift else 1.0
    x = f.affine(c.x, scale, p.shift)
    if kind == "SQRT":
        return op.sqrt(x)
    if kind == "RSQRT":
        return op.rsqrt(f.affine(x, 1.0, p.epsilon))
    if kind == "INVERSE":
        return f.reciprocal(x, p.epsilon)
    if kind == "POWER":
        return op.power(x, c.number(p.alpha))
    if kind == "THRESHOLD":
        return op.maximum(x, c.number(p.alpha))
    return {"EXP": op.exp, "LOG": op.log, "ABS": op.abs}[kind](x)


def clip(c: Layer):
    return op.clip(c.x, c.p.minVal, c.p.maxVal)


def clamped_relu(c: Layer):
    return f.clamped_relu(c.x, c.p.alpha, c.p.beta)


def gelu(c: Layer):
    return f.gelu(c.x, c.enum("mode", ("EXACT", "TANH_APPROXIMATION", "SIGMOID_APPROXIMATION")))


def _weight(c: Layer, name: str, shape: str) -> Expr:
    sizes = [int(one) for one in getattr(c.p, shape)]
    return c.constant(c.weights(name, sizes))


def bias(c: Layer):
    return op.add(*aligned(c.x, _weight(c, "bias", "shape")))


def scale(c: Layer):
    made = op.multiply(*aligned(c.x, _weight(c, "scale", "shapeScale")))
    return op.add(*aligned(made, _weight(c, "bias", "shapeBias"))) if c.p.hasBias else made


def dot(c: Layer):
    """The sum of products over channels; of tensors divided by their lengths, with cosineSimilarity."""
    a, b = c.counted(2)
    if c.p.cosineSimilarity:
        a, b = (op.divide(one, op.sqrt(op.sum(f.square(one), axis=[-3], keepdims=True))) for one in (a, b))
    return op.sum(op.multiply(a, b), axis=[-3], keepdims=True)


# --- reductions and normalisations ------------------------------------------------------------------------------------
def reduction(kind: str):
    def convert(c: Layer):
        axes = list(range(c.rank)) if c.p.reduceAll else axes_of([int(one) for one in c.p.axes], c.rank)
        made = f.reduced(kind, c.x, axes, c.p.keepDims)
        return op.reshape(made, [1]) if not shape_of(made) else made

    return convert


def place_of(function):
    def convert(c: Layer):
        axis = axes_of([c.p.axis], c.rank)
        made = _float(function(c.x, axis=axis, keepdims=not c.p.removeDim))
        return op.reshape(made, [1]) if not shape_of(made) else made

    return convert


def reduce(c: Layer):
    axes = {"CHW": (-3, -2, -1), "HW": (-2, -1), "C": (-3,), "H": (-2,), "W": (-1,)}[
        c.enum("axis", ("CHW", "HW", "C", "H", "W"))
    ]
    kind = c.enum("mode", ("SUM", "AVG", "PROD", "LOGSUM", "SUMSQUARE", "L1", "L2", "MAX", "MIN", "ARGMAX"))
    axes = axes_of(list(axes), c.rank)
    if kind == "ARGMAX":
        return _float(op.argmax(c.x, axis=axes, keepdims=True))
    if kind == "LOGSUM":
        return op.log(f.affine(op.sum(c.x, axis=axes, keepdims=True), 1.0, c.p.epsilon))
    names = {"SUM": "sum", "AVG": "mean", "PROD": "prod", "SUMSQUARE": "sum_square", "L1": "l1_norm", "L2": "l2_norm",
             "MAX": "max", "MIN": "min"}  # fmt: skip
    return f.reduced(names[kind], c.x, axes, True)


def softmax(c: Layer):
    return op.nn.softmax(c.x, axis=c.rank - 3 if c.rank >= 3 else -1)


def softmax_nd(c: Layer):
    return op.nn.softmax(c.x, axis=axes_of([c.p.axis], c.rank)[0])


def cumsum(c: Layer):
    axis = axes_of([int(c.elements(1, "its axis").reshape(-1)[0]) if len(c.inputs) > 1 else c.p.axis], c.rank)[0]
    x = op.reverse(c.x, axis=axis) if c.p.reverse else c.x
    made = op.cumsum(x, axis=axis, exclusive=c.p.excludeFinalSum)
    return op.reverse(made, axis=axis) if c.p.reverse else made


def batch_norm(c: Layer):
    count = c.p.channels
    if c.rank < 3 or c.size(-3, "the channels") != count:
        raise Refused(f"it normalises {count} channels of a tensor {c.shape}", "take the weights of this network")
    gamma, beta = c.weights("gamma", [count]), c.weights("beta", [count])
    epsilon = c.p.epsilon
    if c.p.computeMeanVar:
        axes = [c.rank - 2, c.rank - 1]
        if not c.p.instanceNormalization:
            axes = [0, *axes] if c.rank >= 4 else axes
        made = f.normalised(c.x, axes, epsilon)
        return op.add(op.multiply(made, c.constant(gamma.reshape(-1, 1, 1))), c.constant(beta.reshape(-1, 1, 1)))
    mean, variance = c.weights("mean", [count]), c.weights("variance", [count])
    parts = [c.constant(one) for one in (gamma, beta, mean, variance)]
    return op.nn.batch_norm(c.x, *parts, axis=c.rank - 3, epsilon=epsilon)[0]


def mvn(c: Layer):
    axes = axes_of([-3, -2, -1] if c.p.acrossChannels else [-2, -1], c.rank)
    if c.p.normalizeVariance:
        return f.normalised(c.x, axes, c.p.epsilon)
    return op.subtract(c.x, op.mean(c.x, axis=axes, keepdims=True))


def l2_normalize(c: Layer):
    axes = axes_of([-3, -2, -1], c.rank)
    return op.divide(c.x, op.sqrt(f.affine(op.sum(f.square(c.x), axis=axes, keepdims=True), 1.0, c.p.epsilon)))


def lrn(c: Layer):
    if not 1 <= c.p.localSize <= 1 << 16:
        raise Refused(f"`localSize` is {c.p.localSize}")
    return op.nn.lrn(c.x, size=c.p.localSize, axis=c.rank - 3, bias=c.p.k, alpha=c.p.alpha, beta=c.p.beta)


def layer_norm(c: Layer):
    sizes = [int(one) for one in c.p.normalizedShape]
    if not sizes or [known(one, "a normalisation") for one in c.shape[-len(sizes) :]] != sizes:
        raise Refused(f"it normalises the shape {sizes} of a tensor {c.shape}", "take the weights of this network")
    made = f.normalised(c.x, list(range(c.rank - len(sizes), c.rank)), c.p.eps)
    return op.add(op.multiply(made, c.constant(c.weights("gamma", sizes))), c.constant(c.weights("beta", sizes)))
