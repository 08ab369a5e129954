"""ConvLSTM1D, 2D and 3D: an LSTM whose products are convolutions."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ..common.problems import Refused
from .activations import activate
from .conv import convolve
from .conversion import Conversion, is_known, shape_of
from .recurrent import Cell, sequence


def conv_lstm(rank: int):
    def convert(c: Conversion):
        if c.rank != rank + 3:
            raise Refused(f"its input has {c.rank} axes, not {rank + 3}")
        return sequence(c, [_cell(c, rank, c.part("cell"))])

    return convert


def _cell(c: Conversion, rank: int, own: Conversion) -> Cell:
    filters, size = c.int_of("filters"), c.each("kernel_size", rank)
    strides, dilation = c.each("strides", rank), c.each("dilation_rate", rank)
    channels = c.size(2 if c.channels_first else -1, "the kernel of a convolution")
    kernel = own.array("kernel", [*size, channels, 4 * filters])
    recurrent = own.array("recurrent_kernel", [*size, filters, 4 * filters])
    bias = own.array("bias", [4 * filters]) if c("use_bias", True) else None
    axis = 1 if c.channels_first else -1
    inner, gate = c.layer.config.get("activation", "tanh"), c.layer.config.get("recurrent_activation", "sigmoid")
    ones = [1] * rank

    def step(x, states):
        h, carry = states
        z = convolve(x, kernel, strides, dilation, c("padding", "valid"), c.channels_first, 1, c.constant)
        if bias is not None:
            z = op.nn.bias_add(z, c.constant(bias), axis=axis)
        z = op.add(z, convolve(h, recurrent, ones, ones, "same", c.channels_first, 1, c.constant))
        parts = op.split(z, indices_or_sections=4, axis=axis)
        i, f, g, o = (parts[place] for place in range(4))
        kept = op.multiply(activate(c, gate, f), carry)
        carry = op.add(kept, op.multiply(activate(c, gate, i), activate(c, inner, g)))
        h = op.multiply(activate(c, gate, o), activate(c, inner, carry))
        return h, [h, carry]

    sizes = shape_of(c.x)[3:] if c.channels_first else shape_of(c.x)[2:-1]
    if not is_known(*sizes):
        raise Refused("the size of its images is known only at run time", "give the sizes of the inputs")
    made = [_positions(*one, c("padding", "valid")) for one in zip(sizes, size, strides, dilation, strict=True)]
    state = [filters, *made] if c.channels_first else [*made, filters]
    return Cell([state, state], step)


def _positions(size: int, kernel: int, stride: int, dilation: int, padding: str) -> int:
    reach = 1 if padding == "same" else (kernel - 1) * dilation + 1
    return int(np.maximum(math.ceil((size - reach + 1) / stride), 0))
