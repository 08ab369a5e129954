"""Types of a GGUF tensor's elements: blocks of integers with shared scales, and how they become float32.

The layouts are those of ggml (ggml-common.h, ggml-quants.c of github.com/ggml-org/ggml). A decoder takes the bytes of
any number of blocks, uint8 (blocks, bytes of a block), and returns float32 (blocks, elements of a block).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

_AT_ONCE = 1 << 20  # elements that are decoded at a time, so that intermediate arrays stay in cache


def _half(data: np.ndarray, at: int) -> np.ndarray:
    """Returns the float16 at these bytes of each block, as float32 (blocks, 1)."""
    return np.ascontiguousarray(data[:, at : at + 2]).view(np.float16).astype(np.float32)


def _nibbles(data: np.ndarray) -> np.ndarray:
    """Returns the low halves of all bytes, then the high halves."""
    return np.concatenate([data & 15, data >> 4], axis=1)


def _fifth_bits(data: np.ndarray) -> np.ndarray:
    """Returns the 32 bits of four bytes, shifted to the place of a fifth bit."""
    return np.unpackbits(data, axis=1, bitorder="little") << 4


def _q4_0(b):
    return (_nibbles(b[:, 2:]).astype(np.float32) - 8) * _half(b, 0)


def _q4_1(b):
    return _nibbles(b[:, 4:]) * _half(b, 0) + _half(b, 2)


def _q5_0(b):
    return ((_nibbles(b[:, 6:]) | _fifth_bits(b[:, 2:6])).astype(np.float32) - 16) * _half(b, 0)


def _q5_1(b):
    return (_nibbles(b[:, 8:]) | _fifth_bits(b[:, 4:8])) * _half(b, 0) + _half(b, 2)


def _q8_0(b):
    return b[:, 2:].view(np.int8) * _half(b, 0)


def _by_16(scales: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Multiplies each 16 elements with a scale: (blocks, n) and (blocks, 16 n)."""
    return scales.repeat(numbers.shape[1] // scales.shape[1], axis=1) * numbers


def _two_bits(data: np.ndarray) -> np.ndarray:
    """Returns 256 numbers of two bits from 64 bytes: for each 32 bytes all lowest pairs of bits, then the next."""
    parts = data.reshape(-1, 2, 1, 32) >> np.array([0, 2, 4, 6], np.uint8).reshape(1, 1, 4, 1)
    return (parts & 3).reshape(-1, 256)


def _q2_k(b):
    scales, numbers, d, least = b[:, :16], _two_bits(b[:, 16:80]), _half(b, 80), _half(b, 82)
    return _by_16((scales & 15) * d, numbers) - ((scales >> 4) * least).repeat(16, axis=1)


def _q3_k(b):
    bits = np.unpackbits(b[:, :32].reshape(-1, 32, 1), axis=2, bitorder="little")  # bit 4 n + j of byte l
    high = bits.transpose(0, 2, 1).reshape(-1, 256)
    numbers = (_two_bits(b[:, 32:96]) | high << 2).astype(np.int8) - 4
    low, top = _nibbles(b[:, 96:104]), b[:, 104:108]
    top = np.concatenate([top >> shift & 3 for shift in (0, 2, 4, 6)], axis=1)
    return _by_16(((low | top << 4).astype(np.int8) - 32) * _half(b, 108), numbers)


def _scales_of_six_bits(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the eight scales and the eight minima that are packed in twelve bytes."""
    low, high = s[:, :4], s[:, 4:8]
    scales = np.concatenate([low & 63, (s[:, 8:] & 15) | (low >> 6 << 4)], axis=1)
    return scales, np.concatenate([high & 63, (s[:, 8:] >> 4) | (high >> 6 << 4)], axis=1)


def _scaled_by_32(b: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    scales, least = _scales_of_six_bits(b[:, 4:16])
    return (scales * _half(b, 0)).repeat(32, axis=1) * numbers - (least * _half(b, 2)).repeat(32, axis=1)


def _nibbles_by_32(data: np.ndarray) -> np.ndarray:
    """Returns 256 numbers from 128 bytes: for each 32 bytes the low halves, then the high halves."""
    return _nibbles(data.reshape(-1, 32)).reshape(-1, 256)


def _q4_k(b):
    return _scaled_by_32(b, _nibbles_by_32(b[:, 16:]))


def _q5_k(b):
    bits = np.unpackbits(b[:, 16:48].reshape(-1, 32, 1), axis=2, bitorder="little")
    return _scaled_by_32(b, _nibbles_by_32(b[:, 48:]) | bits.transpose(0, 2, 1).reshape(-1, 256) << 4)


def _q6_k(b):
    low = b[:, :128].reshape(-1, 2, 64)
    low = np.concatenate([low & 15, low >> 4], axis=2).reshape(-1, 256)
    numbers = (low | _two_bits(b[:, 128:192]) << 4).astype(np.int8) - 32
    return _by_16(b[:, 192:208].view(np.int8) * _half(b, 208), numbers)


_CURVE = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float32)


def _iq4_nl(b):
    return _CURVE[_nibbles(b[:, 2:])] * _half(b, 0)


_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def _mxfp4(b):
    return np.ldexp(_E2M1[_nibbles(b[:, 1:])], b[:, :1].astype(np.int32) - 127)


def _of_numpy(dtype: str):
    return lambda b: np.ascontiguousarray(b).view(dtype).astype(np.float32)


def _bf16(b):
    return (np.ascontiguousarray(b).view(np.uint16).astype(np.uint32) << 16).view(np.float32)


@dataclasses.dataclass(frozen=True)
class BlockType:
    """A type: its name, the elements and the bytes of a block, and its decoder, or None if there is none."""

    name: str
    elements: int
    bytes: int
    decode: Callable[[np.ndarray], np.ndarray] | None = None


# The types by their number in the file.
BLOCKS = {
    0: BlockType("F32", 1, 4, _of_numpy("<f4")),
    1: BlockType("F16", 1, 2, _of_numpy("<f2")),
    2: BlockType("Q4_0", 32, 18, _q4_0),
    3: BlockType("Q4_1", 32, 20, _q4_1),
    6: BlockType("Q5_0", 32, 22, _q5_0),
    7: BlockType("Q5_1", 32, 24, _q5_1),
    8: BlockType("Q8_0", 32, 34, _q8_0),
    9: BlockType("Q8_1", 32, 36),
    10: BlockType("Q2_K", 256, 84, _q2_k),
    11: BlockType("Q3_K", 256, 110, _q3_k),
    12: BlockType("Q4_K", 256, 144, _q4_k),
    13: BlockType("Q5_K", 256, 176, _q5_k),
    14: BlockType("Q6_K", 256, 210, _q6_k),
    15: BlockType("Q8_K", 256, 292),
    16: BlockType("IQ2_XXS", 256, 66),
    17: BlockType("IQ2_XS", 256, 74),
    18: BlockType("IQ3_XXS", 256, 98),
    19: BlockType("IQ1_S", 256, 50),
    20: BlockType("IQ4_NL", 32, 18, _iq4_nl),
    21: BlockType("IQ3_S", 256, 110),
    22: BlockType("IQ2_S", 256, 82),
    23: BlockType("IQ4_XS", 256, 136),
    24: BlockType("I8", 1, 1),
    25: BlockType("I16", 1, 2),
    26: BlockType("I32", 1, 4),
    27: BlockType("I64", 1, 8),
    28: BlockType("F64", 1, 8, _of_numpy("<f8")),
    29: BlockType("IQ1_M", 256, 56),
    30: BlockType("BF16", 1, 2, _bf16),
    34: BlockType("TQ1_0", 256, 54),
    35: BlockType("TQ2_0", 256, 66),
    39: BlockType("MXFP4", 32, 17, _mxfp4),
}


def decoded(rows: np.ndarray, block: BlockType) -> np.ndarray:
    """Returns float32 (rows, columns) of the stored bytes of a matrix, uint8 (rows, bytes of a row)."""
    blocks = np.ascontiguousarray(rows).reshape(-1, block.bytes)
    made = np.empty((len(blocks), block.elements), np.float32)
    step = max(1, _AT_ONCE // block.elements)
    for begin in range(0, len(blocks), step):
        made[begin : begin + step] = block.decode(blocks[begin : begin + step])
    return made.reshape(len(rows), -1)
