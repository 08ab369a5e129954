"""Fourier transforms of complex numbers in the form of complexes.py."""

from __future__ import annotations

from ... import op
from . import shape
from .complexes import REAL, pair, parts
from .conversion import Conversion, Refused, cast, counted, number, number_of_sizes


def _scaled(c: Conversion, value, axis: int, inverse: bool, dtype: str):
    """Scales by a normalisation: 1, 1 / sqrt(n) or 1 / n. The inverse operator has divided by n already."""
    power = {0: 0.0, 1: -0.5, 2: -1.0}[c("normalization")] + float(inverse)
    if power == 0:
        return value
    extent = c.val("self").shape[axis]
    if isinstance(extent, int):
        return op.multiply(value, number(float(extent) ** power, dtype))
    count = cast(*number_of_sizes(extent.node.expr, c._sizes), dtype)
    return op.multiply(value, op.power(count, number(power, dtype)))


def _along(c: Conversion, both: list, axis: int, inverse: bool, dtype: str, keep=None) -> list:
    """Returns the first `keep` results of the transform of both parts along an axis."""
    rank = c.rank("self")
    to_last = [one for one in range(rank) if one != axis] + [axis]
    back = [to_last.index(one) for one in range(rank)]
    results = op.dft(*(op.transpose(one, axes=to_last) for one in both), inverse=inverse)
    found = [results[0], results[1]]
    if keep is not None:
        found = [shape.front(one, [keep], [rank - 1]) for one in found]
    return [_scaled(c, op.transpose(one, axes=back), axis, inverse, dtype) for one in found]


def real_to_complex(c: Conversion):
    """Imports the real transform. The last axis is the one of which half is kept."""
    *others, last = c.axes("dim")
    dtype = str(c.val("self").dtype).removeprefix("torch.")
    keep = c.shape("self")[last] // 2 + 1 if c("onesided") else None
    found = _along(c, [c("self"), op.zeros_like(c("self"))], last, False, dtype, keep)
    for axis in others:
        found = _along(c, found, axis, False, dtype)
    return pair(*found)


def complex_to_complex(c: Conversion):
    dtype, found = REAL[c.val("self").dtype], parts(c)
    for axis in c.axes("dim"):
        found = _along(c, found, axis, not c("forward"), dtype)
    return pair(*found)


def complex_to_real(c: Conversion):
    """Imports the inverse of a half. The other half is its mirror image, conjugated. The imaginary parts of positions
    that are their own mirror image are ignored."""
    *others, last = c.axes("dim")
    dtype, count, half = REAL[c.val("self").dtype], c("last_dim_size"), c.shape("self")[last]
    total, one, two = c.as_("last_dim_size", "int64"), number(1, "int64"), number(2, "int64")
    found = parts(c)
    for axis in others:
        found = _along(c, found, axis, True, dtype)
    kept = count // 2 + 1
    if isinstance(half, int) and isinstance(kept, int) and half < kept:
        raise Refused("a result with more positions than the transform")
    images = op.floor_divide(op.subtract(total, one), two)  # the number of positions that have a mirror image

    def whole(part, sign):
        if isinstance(count, int) and count < 3:
            return part
        mirror = op.subtract(images, counted((count - 1) // 2))
        image = op.take(part, mirror, axis=last, mode="checked")
        return op.concatenate([part, op.negative(image) if sign < 0 else image], axis=last)

    rank = c.rank("self")
    place = op.reshape(counted(kept), newshape=[kept, *[1] * (rank - 1 - last)], allowzero=True)
    is_real = op.logical_or(op.equal(place, number(0, "int64")), op.equal(op.multiply(place, two), total))
    re, im = (shape.front(part, [kept], [last]) for part in found)
    re, im = whole(re, 1), whole(op.where(is_real, number(0, dtype), im), -1)
    to_last = [one for one in range(rank) if one != last] + [last]
    result = op.dft(*(op.transpose(one, axes=to_last) for one in (re, im)), inverse=True)[0]
    power = {0: 0.0, 1: -0.5, 2: -1.0}[c("normalization")] + 1
    if power != 0:
        scale = op.power(op.cast(total, "float64"), number(power, "float64"))
        result = op.multiply(result, cast(scale, "float64", dtype))
    return op.transpose(result, axes=[to_last.index(one) for one in range(rank)])


def stft(c: Conversion):
    """Imports windows of n_fft samples. A shorter window of weights is centred in them."""
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


# Operators that read complex tensors, and operators that make them from real ones.
COMPLEX = {"_fft_c2c": complex_to_complex, "_fft_c2r": complex_to_real}
TO_COMPLEX = {"_fft_r2c": real_to_complex, "stft": stft}
