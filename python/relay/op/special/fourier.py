"""Fourier transforms."""

from __future__ import annotations

import numpy as np

from ...ir.expr import TupleWrapper, const
from .call import dtype_of, op_call


def _dft(re_data, im_data, inverse=False):
    """Returns (real parts, imaginary parts)."""
    return TupleWrapper(op_call("dft", [re_data, im_data], inverse=inverse), 2)


def _stft(data, n_fft, hop_length=None, win_length=None, window=None, normalized=False, onesided=True):
    """The default window is all ones."""
    window = const(np.ones(n_fft, dtype_of(data, "float32"))) if window is None else window
    attributes = {"n_fft": n_fft, "hop_length": hop_length or -1, "win_length": win_length or -1}
    return op_call("stft", [data, window], **attributes, normalized=normalized, onesided=onesided)


FUNCTIONS = {
    "dft": _dft,
    "stft": _stft,
}
