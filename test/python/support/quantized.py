"""Oracles of the operators on quantised tensors, from their formulas: exact integers of Python, floats in float64."""

import math

import numpy as np
import torch


def limits(dtype):
    info = np.iinfo(str(dtype).removeprefix("torch."))
    return info.min, info.max


def spread(value, axis, rank):
    """A single value, or a vector along an axis, reshaped to broadcast against `rank` axes by NumPy's rules."""
    value = np.asarray(value)
    if value.ndim == 0:
        return value
    shape = [1] * rank
    shape[axis] = -1
    return value.reshape(shape)


def quantize(data, scale, zero, axis, dtype, round_first=False):
    least, most = limits(dtype)
    data = np.asarray(data, "float64")
    steps = data / spread(scale, axis, data.ndim)
    real = (np.rint(steps) if round_first else steps) + spread(zero, axis, data.ndim)
    return torch.as_tensor(np.rint(np.clip(real, least, most)).astype("int64"))


def dequantize(data, scale, zero, axis, block=0):
    data = np.asarray(data, "float64")

    def at(values):
        if not block or np.ndim(values) == 0:
            return spread(values, axis, data.ndim)
        return np.repeat(np.asarray(values), block, axis).take(np.arange(data.shape[axis]), axis)

    return torch.as_tensor((data - at(zero)) * at(scale))


def simulate(data, kind, scale, zero, axis):
    if int(kind) == 0:
        return data
    least, most = limits(["int8", "uint8", "int32"][int(kind) - 1])
    data = np.asarray(data, "float64")
    real = np.rint(data / spread(scale, axis, data.ndim)) + spread(zero, axis, data.ndim)
    return torch.as_tensor(np.clip(real, least, most))


def fixed_point(factor):
    """(multiplier, shift) with factor = multiplier * 2^(shift - 31)."""
    fraction, shift = math.frexp(factor)
    multiplier = math.floor(fraction * 2**31 + 0.5)
    return (multiplier // 2, shift + 1) if multiplier == 2**31 else (multiplier, shift)


def times(x, factor, nearest=False):
    """The integer x times a factor, rounded: halves up, or away from zero."""
    multiplier, shift = fixed_point(factor)
    product, right = (x << max(shift, 0)) * multiplier, 31 + max(-shift, 0)
    half = (1 << (right - 1)) - (1 if nearest and product < 0 else 0)
    return (product + half) >> right


def requantize(data, scale, zero, out_scale, out_zero, axis=-1, rounding="None", compute="None", dtype="int32"):
    least, most = limits(dtype)
    nearest = rounding == "TONEAREST"

    def one(x, s, z):
        factor = float(s) / float(out_scale)
        if compute in ("float32", "float64"):
            real = (int(x) - int(z)) * factor
            value = int(np.rint(real)) if nearest else math.floor(real + 0.5)
        else:
            value = times(int(x) - int(z), factor, nearest)
        return min(max(value + int(out_zero), least), most)

    data = np.asarray(data)
    shape = data.shape
    scales, zeros = (np.broadcast_to(spread(v, axis, data.ndim), shape) for v in (scale, zero))
    values = [one(*three) for three in zip(data.ravel(), scales.ravel(), zeros.ravel(), strict=True)]
    return torch.tensor(values, dtype=torch.int64).reshape(shape)


def binary(kind, lhs, rhs, ls, lz, rs, rz, out_scale, out_zero, lhs_axis, rhs_axis):
    dtype = lhs.dtype
    if kind != "mul":
        a = requantize(lhs, ls, lz, out_scale, out_zero, lhs_axis)
        b = requantize(rhs, rs, rz, out_scale, out_zero, rhs_axis)
        value = a + b - int(out_zero) if kind == "add" else a - b + int(out_zero)
        return value.clamp(*limits(dtype))
    a, b = (np.asarray(x, "int64") for x in (lhs, rhs))
    a, b = a - spread(lz, lhs_axis, a.ndim), b - spread(rz, rhs_axis, b.ndim)
    scale = np.broadcast_to(spread(ls, lhs_axis, a.ndim) * spread(rs, rhs_axis, b.ndim), (a * b).shape)
    values = [
        requantize(np.asarray(x), s, 0, out_scale, out_zero, dtype=dtype)
        for x, s in zip((a * b).ravel(), scale.ravel(), strict=True)
    ]
    return torch.stack(values).reshape((a * b).shape)


def unary(function, x, scale, zero, out_scale, out_zero):
    return quantize(function(dequantize(x, scale, zero, 0)), out_scale, out_zero, 0, x.dtype)


def softmax(data, scale, out_scale, out_zero, axis):
    x = np.asarray(data, "int64")
    x = x - x.max(axis, keepdims=True)
    one = int(np.rint(1 / float(scale)))
    p = x + (x >> 1) - (x >> 4)
    q = -p // one  # p is not positive: rounding down is towards zero
    power = ((p + q * one) >> 1) + one
    power = np.where(q <= 8, power << np.maximum(8 - q, 0), 0)
    share = (2**30 // power.sum(axis, keepdims=True) * power) >> 23
    return requantize(share, 1 / 128, 0, out_scale, out_zero, dtype=data.dtype)


def leaky_relu(data, scale, zero, out_scale, out_zero, alpha):
    moved, z = requantize(data, scale, zero, out_scale, out_zero), int(out_zero)
    values = [x if x >= z else times(x, alpha) + times(z, 1 - alpha) for x in moved.ravel().tolist()]
    return torch.tensor(values).reshape(data.shape).clamp(*limits(data.dtype))
