"""Operators of MXNet on integers. A quantised tensor is three: the integers, and the least and largest real number.

The scale is 127.5 / r for int8, where r is the larger size of the two numbers, and 255.5 / r for uint8, whose least
number
is zero: those of MXNet's kernels for processors. Ranges are known at import (calibrated): they are constants of the
model.
"""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ..._core import Expr
from ..shared.expressions import dtype_of, number
from ..shared.problems import Refused
from . import linear, norm, shape
from .conversion import Operator

_MOST = {"int8": 127.5, "uint8": 255.5, "int32": float((1 << 31) - 1)}


def _ends(c: Operator, low: int, high: int) -> tuple[float, float]:
    """Returns the range of a tensor, which two inputs have."""
    found = [float(c.array(place, "the range of a quantised tensor").reshape(-1)[0]) for place in (low, high)]
    if not all(map(math.isfinite, found)):
        raise Refused(f"the range of a quantised tensor is {found}")
    return found[0], found[1]


def _range(c: Operator, low: int, high: int) -> float:
    """Returns the largest size of the numbers of a tensor."""
    return max(map(abs, _ends(c, low, high)))


def _real(x: Expr, largest: float) -> Expr:
    """Returns integers as the numbers that they stand for."""
    return op.multiply(op.cast(x, "float32"), number(largest / _MOST[dtype_of(x)], "float32"))


def _integers(c: Operator, x: Expr, ends: tuple[float, float], dtype: str) -> list[Expr]:
    """Returns a tensor as integers, with its range."""
    largest = max(map(abs, ends))
    if largest <= 0:
        raise Refused(f"the range of a quantised tensor is {ends}")
    scaled = op.multiply(x, number(_MOST[dtype] / largest, "float32"))
    low, most = (0.0, 255.0) if dtype == "uint8" else (-128.0, 127.0)
    made = op.cast(op.clip(op.round(scaled), low, most), dtype)
    return [made, *(c.constant(np.array([one], np.float32)) for one in ends)]


def _calibrated(c: Operator) -> tuple[float, float]:
    if not c.has("max_calib_range") or not c.has("min_calib_range"):
        raise Refused("its range is computed at run time", "calibrate the model: quantize_model(calib_mode='naive')")
    return c.real("min_calib_range"), c.real("max_calib_range")


def quantize(c: Operator):
    kind = c.text("out_type", "int8", ("auto", "int8", "uint8"))
    if kind == "auto":
        kind = "uint8" if c.real("min_calib_range", -1.0) >= 0 else "int8"
    if dtype_of(c.x) != "float32":
        raise Refused(f"its input has the type {dtype_of(c.x)}, not float32")
    return _integers(c, c.x, _calibrated(c), kind)


def dequantize(c: Operator):
    c.ignore("out_type")
    return _real(c.x, _range(c, 1, 2))


def requantize(c: Operator):
    c.ignore("out_type")
    return _integers(c, _real(c.x, _range(c, 1, 2)), _calibrated(c), "int8")


def activation(c: Operator):
    c.text("act_type", "relu", ("relu",))
    return [op.maximum(c.x, number(0, dtype_of(c.x))), c.input(1), c.input(2)]


def pooling(c: Operator):
    """Maxima of the integers, or means, which are rounded."""
    kind = dtype_of(c.x)
    real = op.cast(c.x, "float32")
    made = norm.pooling(_on(c, [real]))
    if c.text("pool_type", "max") == "avg":
        made = op.round(made)
    return [op.cast(made, kind), c.input(1), c.input(2)]


def flatten(c: Operator):
    return [shape.flatten(_on(c, [c.x])), c.input(1), c.input(2)]


def concat(c: Operator):
    """All parts in the widest range of them."""
    c.ignore("num_args")
    count = len(c.inputs) // 3
    if count * 3 != len(c.inputs):
        raise Refused(f"it has {len(c.inputs)} inputs, not three for each part")
    ranges = [_ends(c, count + 2 * at, count + 2 * at + 1) for at in range(count)]
    kinds = {dtype_of(one) for one in c.inputs[:count]}
    ends = min(low for low, _ in ranges), max(high for _, high in ranges)
    kind = "int8" if len(kinds) > 1 else kinds.pop()
    reals = [_real(one, max(map(abs, pair))) for one, pair in zip(c.inputs, ranges, strict=False)]
    parts = [_integers(c, one, ends, kind) for one in reals]
    return [op.concatenate([one[0] for one in parts], axis=c.int("dim", 1)), *parts[0][1:]]


def batch_norm(c: Operator):
    """Inputs: data, gamma, beta, mean, variance, and the range of the data."""
    made = norm.batch_norm(_on(c, [_real(c.x, _range(c, 5, 6)), *c.inputs[1:5]]))[0]
    return _integers(c, made, _calibrated(c), "int8")


def ring_buffer(c: Operator):
    """Inputs: data, buffer, and the range of the data."""
    return [shape.ring_buffer(_on(c, c.inputs[:2])), c.input(2), c.input(3)]


def _on(c: Operator, inputs: list[Expr]) -> Operator:
    """Returns the view of the node with other inputs."""
    made = Operator(c.importer, c.node, inputs)
    made.read = c.read
    return made


# --- convolutions and products that a pass has joined -----------------------------------------------------------------
def _joined(c: Operator, kind: str):
    """Returns the attributes of the operator inside of a joined node, as those of a node of its own."""
    for graph in c.node.graphs:
        for node in graph.nodes:
            if node.kind == kind:
                return node.attributes
    raise Refused(f"it has no {kind} inside", "export the model again")


def _words(c: Operator) -> dict[str, bool]:
    return {name: c.flag(name) for name in ("with_bn", "with_act", "with_sum", "with_postsum_act", "quantized")}


def _inner(c: Operator, kind: str, inputs: list[Expr]) -> Operator:
    made = Operator(
        c.importer, type(c.node)(kind, c.node.place, c.node.inputs, c.node.outputs, _joined(c, kind)), inputs
    )
    return made


def _result(c: Operator, made: Expr, kind: str):
    """Returns the result of a joined node: real numbers, or integers in the calibrated range."""
    if c.flag("enable_float_output") or not c.has("max_calib_range"):
        return [made]
    is_positive = c.real("min_calib_range") >= 0 and kind == "uint8"
    return _integers(c, made, _calibrated(c), "uint8" if is_positive else "int8")


def _activated(c: Operator, made: Expr) -> Expr:
    kinds = [
        node.attributes
        for graph in c.node.graphs
        for node in graph.nodes
        if node.kind in ("Activation", "LeakyReLU", "clip")
    ]
    for one in kinds:
        if one.get("act_type", "relu") != "relu":
            raise Refused(f"the activation {one.get('act_type')!r} inside is not imported")
    return op.nn.relu(made)


def convolution(c: Operator):
    """A convolution with its normalisation, its sum and its activation. Weights are real numbers; on integers, MXNet
    quantises them by channel, or all together, and here the same rounding is applied to them."""
    words = _words(c)
    c.ignore("with_act", "with_postsum_act", "act_type")
    inner = _joined(c, "Convolution")
    has_bias = str(inner.get("no_bias", "False")) not in ("True", "1")
    inputs = list(c.inputs)
    data, weight = inputs[0], c.array(1, "the kernel")
    at = 2
    bias = c.array(at, "the bias") if has_bias else np.zeros(weight.shape[0], np.float32)
    at += has_bias
    if words["with_bn"]:
        weight, bias, at = _with_normalisation(c, weight, bias, at)
    other = inputs[at] if words["with_sum"] else None
    at += words["with_sum"]
    if words["quantized"]:
        data = _real(data, _range(c, at, at + 1))
        weight = _rounded(weight, c.flag("channel_wise_quantize", True))
        other = None if other is None else _real(other, _range(c, at + 2, at + 3))
    given = [data, c.constant(weight), c.constant(bias)]
    view = _inner(c, "Convolution", given)
    view.node.attributes["no_bias"] = "False"
    made = linear.convolution(view)
    if c.flag("with_act"):
        made = _activated(c, made)
    if other is not None:
        made = op.add(made, other)
    if c.flag("with_postsum_act"):
        made = op.nn.relu(made)
    return _result(c, made, "uint8" if c.flag("with_act") or c.flag("with_postsum_act") else "int8")


def _with_normalisation(c: Operator, weight: np.ndarray, bias: np.ndarray, at: int):
    attributes = _joined(c, "BatchNorm")
    gamma, beta, mean, variance = (c.array(at + place, "a normalisation") for place in range(4))
    if str(attributes.get("fix_gamma", "True")) in ("True", "1"):
        gamma = np.ones_like(gamma)
    factor = gamma / np.sqrt(variance + float(attributes.get("eps", 1e-3)))
    return weight * factor.reshape(-1, *[1] * (weight.ndim - 1)), (bias - mean) * factor + beta, at + 4


def _rounded(weight: np.ndarray, by_channel: bool) -> np.ndarray:
    """Returns weights as they are after int8: 127 steps to the largest, of each channel or of all."""
    axes = tuple(range(1, weight.ndim)) if by_channel else None
    largest = np.abs(weight).max(axis=axes, keepdims=by_channel)
    scale = np.where(largest > 0, 127.5 / np.maximum(largest, 1e-30), 1)
    return (np.clip(np.rint(weight * scale), -128, 127) / scale).astype(np.float32)


def fully_connected(c: Operator):
    """A product with its activation. On integers the weights are int8 with a range of their own."""
    has_bias = str(_joined(c, "FullyConnected").get("no_bias", "False")) not in ("True", "1")
    words = _words(c)
    c.ignore("with_eltwise", "with_relu", "channel_wise_quantize", "max_calib_range", "min_calib_range")
    data, weight, bias = c.x, c.input(1), c.input(2) if has_bias else None
    if words["quantized"]:
        at = 2 + has_bias
        data = _real(data, _range(c, at, at + 1))
        if dtype_of(weight) == "int8":
            weight = _real(weight, _range(c, at + 2, at + 3))
        else:
            weight = c.constant(_rounded(c.array(1, "the matrix"), c.flag("channel_wise_quantize")))
        if bias is not None and dtype_of(bias) == "int8":
            bias = _real(bias, _range(c, at + 4, at + 5))
    made = linear.fully_connected(_inner(c, "FullyConnected", [data, weight, *([] if bias is None else [bias])]))
    made = _activated(c, made) if c.flag("with_eltwise") or c.flag("with_relu") else made
    return _result(c, made, "uint8")
