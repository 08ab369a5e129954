"""Spectrograms: products of frames with waves, of which the kernels of a convolution consist."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ..shared.functions import atan2
from ..shared.problems import Refused
from .conv import convolve
from .conversion import MOST_ELEMENTS, Conversion, Value, bounded, known, new_shape, shape_of

_EPSILON = 1e-7  # keras.backend.epsilon()


def stft_spectrogram(c: Conversion):
    """The short-time transform of each channel, with kernels among the weights."""
    mode, length = c("mode", "log"), c.int_of("frame_length", 256)
    step = c("frame_step") or length // 2
    bins = (c("fft_length") or 2 ** math.ceil(math.log2(max(length, 1)))) // 2 + 1
    if c.rank != 3:
        raise Refused(f"its input has {c.rank} axes, not 3")
    x = c.x if c.channels_first else op.transpose(c.x, axes=[0, 2, 1])
    channels, steps = (known(one, "the frames") for one in shape_of(x)[1:])
    frames = op.reshape(x, newshape=[-1, 1, steps])

    def part(name: str):
        """Returns (batch, channels, bins, frames)."""
        made = convolve(
            frames, c.array(name, [length, 1, bins]), [step], [1], c("padding", "valid"), True, 1, c.constant
        )
        return op.reshape(made, newshape=new_shape([-1, channels, bins, shape_of(made)[2]]))

    real = part("real_kernel") if mode != "imag" else None
    imaginary = part("imag_kernel") if mode != "real" else None
    return Value(_ordered(c, _in_mode(c, mode, real, imaginary)))


def _in_mode(c: Conversion, mode: str, real, imaginary):
    if mode in ("real", "imag"):
        return real if mode == "real" else imaginary
    if mode == "angle":
        return atan2(imaginary, real)
    if mode == "stft":
        return op.concatenate([real, imaginary], axis=2)
    power = op.add(op.multiply(real, real), op.multiply(imaginary, imaginary))
    if mode == "psd":
        inner = op.strided_slice(power, begin=[1], end=[shape_of(power)[2] - 1], axes=[2])
        return op.add(power, op.nn.pad(inner, pad_width=[(0, 0), (0, 0), (1, 1), (0, 0)]))
    if mode not in ("magnitude", "log"):
        raise Refused(f"`mode` is {mode!r}")
    made = op.sqrt(op.maximum(power, c.number(_EPSILON)))
    return made if mode == "magnitude" else op.log(op.maximum(made, c.number(_EPSILON)))


def _ordered(c: Conversion, made):
    """Returns (batch, channels, bins, frames) in the order of the layer."""
    if c("expand_dims"):
        return op.transpose(made, axes=[0, 1, 3, 2] if c.channels_first else [0, 3, 2, 1])
    _, channels, bins, frames = shape_of(made)
    made = op.reshape(made, newshape=new_shape([-1, channels * bins, frames]))
    return made if c.channels_first else op.transpose(made, axes=[0, 2, 1])


def mel_spectrogram(c: Conversion):
    """The powers of a signal (batch, samples) in bands, (batch, bands, frames), in decibels by default."""
    size, stride = c.int_of("fft_length", 2048), c.int_of("sequence_stride", 512)
    bins = size // 2 + 1
    if c.rank != 2 or size < 2 or stride < 1:
        raise Refused(f"its input has {c.rank} axes, not (batch, samples)")
    bounded(2 * size * bins, MOST_ELEMENTS, "the elements of a transform")
    samples = known(c.shape[1], "the frames")
    padded = op.nn.mirror_pad(c.x, pad_width=[(0, 0), (size // 2, size // 2)], mode="REFLECT")
    frames = op.reshape(padded, newshape=[-1, 1, samples + 2 * (size // 2)])
    kernel = (_waves(size, bins) * _window(c, size)[:, None])[:, None]
    parts = convolve(frames, kernel, [stride], [1], "valid", True, 1, c.constant)
    real, imaginary = (op.strided_slice(parts, begin=[begin], end=[begin + bins], axes=[1]) for begin in (0, bins))
    power = op.add(op.multiply(real, real), op.multiply(imaginary, imaginary))
    made = op.power(op.sqrt(power), c.number(c.number_of("mag_exp", 2.0)))
    bands = c.constant(_bands(c, bins).T)
    made = op.einsum([bands, made], equation="mb,nbt->nmt")
    return Value(_decibels(c, made) if c("power_to_db", True) else made)


def _waves(size: int, bins: int) -> np.ndarray:
    """Returns (samples, 2 * bins): the cosines, then the negative sines of each frequency."""
    turns = np.outer(np.arange(size), np.arange(bins)) % size * (2 * np.pi / size)
    return np.concatenate([np.cos(turns), -np.sin(turns)], axis=1)


def _window(c: Conversion, size: int) -> np.ndarray:
    """Returns the periodic window, in the middle of a frame of this size."""
    length, window = c.int_of("sequence_length", size), c("window")
    if not 0 < length <= size:
        raise Refused(f"`sequence_length` is {length}, and `fft_length` is {size}")
    if isinstance(window, list):
        made = np.asarray(window, np.float64)
    elif window in ("hann", "hamming", None):
        base = {"hann": 0.5, "hamming": 0.54, None: 1.0}[window]
        made = base - (1 - base) * np.cos(2 * np.pi * np.arange(length) / length)
    else:
        raise Refused(f"the window {window!r}", "use hann or hamming, or give its values")
    if made.shape != (length,):
        raise Refused(f"its window has the shape {made.shape}, not ({length},)")
    before = (size - length) // 2
    return np.pad(made, (before, size - length - before))


def _bands(c: Conversion, bins: int) -> np.ndarray:
    """Returns the share of each frequency in each band, (bins, bands): triangles over the mel scale."""
    rate, count = c.number_of("sampling_rate", 16000), c.int_of("num_mel_bins", 128)
    bounded(bins * count, MOST_ELEMENTS, "the elements of the bands")
    highest = c("max_freq") or int(rate / 2)

    def mel(hertz):
        return 1127.0 * np.log(1.0 + np.asarray(hertz, np.float64) / 700.0)

    held = mel(np.linspace(0, rate / 2, bins)[1:])[:, None]
    edges = np.linspace(mel(c.number_of("min_freq", 20.0)), mel(highest), count + 2)
    low, centre, high = edges[:-2], edges[1:-1], edges[2:]
    if not (np.diff(edges) > 0).all():
        raise Refused("`max_freq` is not above `min_freq`")
    made = np.maximum(0, np.minimum((held - low) / (centre - low), (high - held) / (high - centre)))
    return np.pad(made, ((1, 0), (0, 0)))


def _decibels(c: Conversion, power):
    least, reference = c.number_of("min_power", 1e-10), abs(c.number_of("ref_power", 1.0))
    made = op.multiply(op.log10(op.maximum(power, c.number(least))), c.number(10.0))
    made = op.subtract(made, c.number(10 * math.log10(max(reference, least))))
    return op.maximum(made, op.subtract(op.max(made), c.number(c.number_of("top_db", 80.0))))
