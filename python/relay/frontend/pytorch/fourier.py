"""Complex numbers and Fourier transforms. A complex tensor is one of floats with a last axis of two: the real and the
imaginary part.

The operators of this file compute with them, and those that only move elements move both parts; every other is refused.
"""

from __future__ import annotations

import numpy as np
import torch

from ... import op
from ...expr import const
from . import scatter, shape
from .conversion import Conversion, Refused, cast, number, number_of_sizes

_REAL = {torch.complex64: "float32", torch.complex128: "float64", torch.float32: "float32", torch.float64: "float64"}


def same(c: Conversion):
    """view_as_real and view_as_complex."""
    return c("self")


def part(place: int):
    """real and imag."""

    def convert(c: Conversion):
        if not c.val("self").is_complex():
            if place == 0:
                return c("self")
            raise Refused("the imaginary part of what is not complex")
        return op.take(c("self"), number(place, "int32"), axis=c.rank("self"), mode="checked")

    return convert


def _parts(c: Conversion):
    return part(0)(c), part(1)(c)


def magnitude(c: Conversion):
    re, im = _parts(c)
    return op.sqrt(op.add(op.multiply(re, re), op.multiply(im, im)))


def _pair(re, im):
    return op.stack([re, im], axis=-1)


def _component(c: Conversion, name: str) -> tuple:
    """The parts of an argument; None for the imaginary part of what is real."""
    val, dtype = c.val(name), _REAL[c.result.dtype]
    if not isinstance(val, torch.Tensor):
        if isinstance(val, complex):
            return number(val.real, dtype), number(val.imag, dtype)
        return c.as_(name, dtype), None
    if not val.is_complex():
        return c.as_(name, dtype), None
    rank = val.dim()
    return tuple(op.take(c(name), number(place, "int32"), axis=rank, mode="checked") for place in (0, 1))


def sum_of(sign: int):
    """add and sub."""

    def convert(c: Conversion):
        if c("alpha") not in (1, None):
            raise Refused("a factor of complex numbers")
        (a, b), (x, y) = _component(c, "self"), _component(c, "other")
        function = op.add if sign > 0 else op.subtract
        re = function(a, x)
        zero = number(0, _REAL[c.result.dtype])
        im = function(zero if b is None else b, zero if y is None else y)
        return _pair(re, op.broadcast_to(im, shape=c.out_shape))

    return convert


def multiply(c: Conversion):
    (a, b), (x, y) = _component(c, "self"), _component(c, "other")
    if b is None or y is None:
        factor, (re, im) = (a, (x, y)) if b is None else (x, (a, b))
        return _pair(op.multiply(re, factor), op.multiply(im, factor))
    re = op.subtract(op.multiply(a, x), op.multiply(b, y))
    return _pair(re, op.add(op.multiply(a, y), op.multiply(b, x)))


def divide(c: Conversion):
    """By a complex number: times its conjugate, over the square of its magnitude."""
    (a, b), (x, y) = _component(c, "self"), _component(c, "other")
    b = op.zeros_like(a) if b is None else b
    if y is None:
        return _pair(op.divide(a, x), op.divide(b, x))
    square = op.add(op.multiply(x, x), op.multiply(y, y))
    re = op.add(op.multiply(a, x), op.multiply(b, y))
    im = op.subtract(op.multiply(b, x), op.multiply(a, y))
    return _pair(op.divide(re, square), op.divide(im, square))


def where(c: Conversion):
    zero = number(0, _REAL[c.result.dtype])
    first, second = _component(c, "self"), _component(c, "other")
    chosen = (op.where(c("condition"), *(zero if one is None else one for one in pair))
              for pair in zip(first, second, strict=True))  # fmt: skip
    return _pair(*(op.broadcast_to(one, shape=c.out_shape) for one in chosen))


def filled(name: str | None = None):
    def convert(c: Conversion):
        value = complex(c(name)) if name else 0j
        dtype = _REAL[c.result.dtype]
        return _pair(*(op.full(number(one, dtype), shape=c.out_shape) for one in (value.real, value.imag)))

    return convert


def conjugate(c: Conversion):
    if not c.val("self").is_complex():
        return c("self")
    re, im = _parts(c)
    return _pair(re, op.negative(im))


def negate(c: Conversion):
    return op.negative(c("self"))


def of_parts(c: Conversion):
    """torch.complex"""
    shape = c.out_shape
    return _pair(*(op.broadcast_to(c(name), shape=shape) for name in ("real", "imag")))


def polar(c: Conversion):
    size, direction = c("abs"), c("angle")
    return _pair(op.multiply(size, op.cos(direction)), op.multiply(size, op.sin(direction)))


def to_complex(c: Conversion):
    """A real tensor as a complex one; a complex one in another precision."""
    dtype = _REAL[c.result.dtype]
    if c.val("self").is_complex():
        return cast(c("self"), _REAL[c.val("self").dtype], dtype)
    re = c.as_("self", dtype)
    return _pair(re, op.zeros_like(re))


def of_both(convert):
    """What moves elements, of both parts."""

    def both(c: Conversion):
        return _pair(*(convert(c.of_part(place)) for place in (0, 1)))

    return both


def _scaled(c: Conversion, value, axis: int, inverse: bool, dtype: str):
    """By what the normalisation asks for: nothing, 1 / sqrt(n), 1 / n. The operator's inverse has divided by n."""
    power = {0: 0.0, 1: -0.5, 2: -1.0}[c("normalization")] + float(inverse)
    if power == 0:
        return value
    extent = c.val("self").shape[axis]
    if isinstance(extent, int):
        return op.multiply(value, number(float(extent) ** power, dtype))
    count = cast(*number_of_sizes(extent.node.expr, c._sizes), dtype)
    return op.multiply(value, op.power(count, number(power, dtype)))


def _along(c: Conversion, parts: list, axis: int, inverse: bool, dtype: str, keep=None) -> list:
    """The transform of both parts along an axis; of its results the first `keep`."""
    rank = c.rank("self")
    to_last = [one for one in range(rank) if one != axis] + [axis]
    back = [to_last.index(one) for one in range(rank)]
    results = op.dft(*(op.transpose(one, axes=to_last) for one in parts), inverse=inverse)
    found = [results[0], results[1]]
    if keep is not None:
        found = [op.strided_slice(one, begin=[0], end=[keep], axes=[rank - 1]) for one in found]
    return [_scaled(c, op.transpose(one, axes=back), axis, inverse, dtype) for one in found]


def real_to_complex(c: Conversion):
    """The last of the axes is that of which half is kept."""
    *others, last = c.axes("dim")
    dtype = str(c.val("self").dtype).removeprefix("torch.")
    extent = c.shape("self")[last]
    if not isinstance(extent, int) and c("onesided"):
        raise Refused("half a Fourier transform of a size that is not known before the run")
    keep = extent // 2 + 1 if c("onesided") else None
    parts = _along(c, [c("self"), op.zeros_like(c("self"))], last, False, dtype, keep)
    for axis in others:
        parts = _along(c, parts, axis, False, dtype)
    return _pair(*parts)


def complex_to_complex(c: Conversion):
    dtype, parts = _REAL[c.val("self").dtype], list(_parts(c))
    for axis in c.axes("dim"):
        parts = _along(c, parts, axis, not c("forward"), dtype)
    return _pair(*parts)


def complex_to_real(c: Conversion):
    """The inverse of a half: the other half is its mirror image, conjugate. The imaginary parts of the places that are
    their own mirror image do not count."""
    *others, last = c.axes("dim")
    dtype, count, half = _REAL[c.val("self").dtype], c("last_dim_size"), c.shape("self")[last]
    if not isinstance(count, int) or not isinstance(half, int):
        raise Refused("a Fourier transform of a size that is not known before the run")
    parts = list(_parts(c))
    for axis in others:
        parts = _along(c, parts, axis, True, dtype)
    kept = count // 2 + 1
    if half < kept:
        raise Refused("a result of more places than the transform has")
    mirror = np.arange(count - kept, 0, -1)

    def whole(part, sign):
        first = op.strided_slice(part, begin=[0], end=[kept], axes=[last])
        if not len(mirror):
            return first
        image = op.take(part, const(mirror), axis=last, mode="checked")
        return op.concatenate([first, op.negative(image) if sign < 0 else image], axis=last)

    real_places = np.array([i in (0, count - i) for i in range(kept)]).reshape([-1, *[1] * (c.rank("self") - 1 - last)])
    im = op.where(const(real_places), number(0, dtype),
                  op.strided_slice(parts[1], begin=[0], end=[kept], axes=[last]))  # fmt: skip
    re, im = whole(parts[0], 1), whole(im, -1)
    rank = c.rank("self")
    to_last = [one for one in range(rank) if one != last] + [last]
    result = op.dft(*(op.transpose(one, axes=to_last) for one in (re, im)), inverse=True)[0]
    power = {0: 0.0, 1: -0.5, 2: -1.0}[c("normalization")] + 1
    result = result if power == 0 else op.multiply(result, number(float(count) ** power, dtype))
    return op.transpose(result, axes=[to_last.index(one) for one in range(rank)])


def stft(c: Conversion):
    """Windows of n_fft samples; a shorter window of weights stands in their middle."""
    size = c("n_fft")
    length = c("win_length") or size
    dtype = str(c.val("self").dtype).removeprefix("torch.")
    window = c("window") if c.has("window") else op.full(number(1, dtype), shape=[length])
    if length != size:
        left = (size - length) // 2
        window = op.nn.pad(window, pad_width=[[left, size - length - left]], pad_value=number(0, dtype))
    onesided = c("onesided") is not False
    hop = c("hop_length") or size // 4
    how = {"hop_length": hop, "win_length": size, "normalized": bool(c("normalized")), "onesided": onesided}
    rows = c("self") if c.rank("self") == 2 else op.expand_dims(c("self"), axis=0)
    made = op.stft(rows, size, window=window, **how)
    return made if c.rank("self") == 2 else op.squeeze(made, axis=[0])


_MOVES = {
    "unsqueeze": shape.expand_dims, "transpose.int": shape.transpose, "permute": shape.permute, "expand": shape.expand,
    "slice.Tensor": shape.slice, "select.int": shape.select, "flip": shape.flip, "roll": shape.roll,
    "t": shape.matrix_transpose, "cat": shape.cat, "slice_scatter": scatter.slice_scatter,
    "select_scatter": scatter.select_scatter,
    "copy": scatter.copy,
    **dict.fromkeys(("view", "reshape", "_unsafe_view", "flatten.using_ints", "unflatten.int", "squeeze", "squeeze.dim",
                     "squeeze.dims"), shape.reshape),
}  # fmt: skip
_FILLED = {
    "scalar_tensor": filled("s"), "full": filled("fill_value"), "full_like": filled("fill_value"),
    **dict.fromkeys(("zeros", "zeros_like", "new_zeros"), filled()),
}  # fmt: skip
# Those that read complex tensors.
COMPLEX = {
    "view_as_real": same, "view_as_complex": same, "real": part(0), "imag": part(1), "abs": magnitude,
    "add.Tensor": sum_of(1), "sub.Tensor": sum_of(-1), "mul.Tensor": multiply, "mul.Scalar": multiply,
    "div.Tensor": divide, "div.Scalar": divide, "where.self": where, **_FILLED, "neg": negate, "_conj": conjugate,
    "conj_physical": conjugate, "_to_copy": to_complex, "to.dtype": to_complex,
    **dict.fromkeys(("resolve_conj", "resolve_neg", "clone", "contiguous", "alias", "detach", "lift_fresh_copy"), same),
    "_fft_c2c": complex_to_complex, "_fft_c2r": complex_to_real,
    **{name: of_both(convert) for name, convert in _MOVES.items()},
}  # fmt: skip
# Those that make complex tensors of real ones.
TO_COMPLEX = {
    "complex": of_parts,
    "polar": polar,
    "_to_copy": to_complex,
    "to.dtype": to_complex,
    "view_as_complex": same,
    "_fft_r2c": real_to_complex,
    "stft": stft,
    **_FILLED,
}
# What stays whole in every program; a tensor that is real all along has no imaginary part.
WHOLE = ("view_as_real", "view_as_complex", "real", "imag", "complex", "polar", "_conj", "conj_physical",
         "resolve_conj", "resolve_neg", "_fft_r2c", "_fft_c2c", "_fft_c2r", "stft")  # fmt: skip
OPERATORS = {name: COMPLEX.get(name) or TO_COMPLEX[name] for name in WHOLE}
