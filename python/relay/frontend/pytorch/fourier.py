"""Fourier transforms. A complex tensor is one of floats with a last axis of two: the real and the imaginary part.

Only the operators of this file read and write complex tensors; every other one is refused.
"""

from __future__ import annotations

import math

from ... import op
from .conversion import Conversion, Refused, number


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


def _axis(c: Conversion) -> int:
    axes = c.axes("dim")
    if len(axes) != 1:
        raise Refused("a Fourier transform over several axes")
    return axes[0]


def _scaled(c: Conversion, value, count, dtype: str):
    if not isinstance(count, int):
        raise Refused("a Fourier transform of a size that is not known before the run")
    factor = {0: 1, 1: 1 / math.sqrt(count), 2: 1 / count}[c("normalization")]
    return value if factor == 1 else op.multiply(value, number(factor, dtype))


def _transformed(c: Conversion, re, im, axis: int, inverse: bool, dtype: str, keep=None):
    """The transform along the axis, its parts side by side. The operator's inverse divides by the size."""
    rank, count = c.rank("self"), c.shape("self")[axis]
    to_last = [one for one in range(rank) if one != axis] + [axis]
    back = [to_last.index(one) for one in range(rank)]
    results = op.dft(*(op.transpose(one, axes=to_last) for one in (re, im)), inverse=inverse)
    parts = [results[0], results[1]]
    if keep is not None:
        parts = [op.strided_slice(one, begin=[0], end=[keep], axes=[rank - 1]) for one in parts]
    if inverse:
        parts = [op.multiply(one, number(count, dtype)) for one in parts]
    return op.stack([op.transpose(_scaled(c, one, count, dtype), axes=back) for one in parts], axis=-1)


def real_to_complex(c: Conversion):
    axis, dtype = _axis(c), str(c.val("self").dtype).removeprefix("torch.")
    keep = c.shape("self")[axis] // 2 + 1 if c("onesided") else None
    return _transformed(c, c("self"), op.zeros_like(c("self")), axis, False, dtype, keep)


def complex_to_complex(c: Conversion):
    dtype = {"torch.complex64": "float32", "torch.complex128": "float64"}[str(c.val("self").dtype)]
    return _transformed(c, *_parts(c), _axis(c), not c("forward"), dtype)


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


COMPLEX = {
    "view_as_real": same, "view_as_complex": same, "real": part(0), "imag": part(1), "abs": magnitude,
    "_fft_r2c": real_to_complex, "_fft_c2c": complex_to_complex, "stft": stft,
}  # fmt: skip
