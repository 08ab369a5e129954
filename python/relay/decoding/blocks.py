"""Types of a GGUF tensor's elements: blocks of integers with shared scales, and how they become float32.

    element = integer * scale + minimum

The layouts are those of ggml (ggml-common.h, ggml-quants.c of github.com/ggml-org/ggml). A reader of a type takes the
bytes of any number of blocks, uint8 (blocks, bytes of a block), and returns its integers (blocks, elements of a block),
its scales, float32 (blocks, groups), each for neighbours of equal number, and its minima likewise, or None for zeros.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import ml_dtypes
import numpy as np

_AT_ONCE = 1 << 20  # elements that are read at a time, so that intermediate arrays stay in cache

Parts = tuple[np.ndarray, np.ndarray, np.ndarray | None]


def _half(data: np.ndarray, at: int) -> np.ndarray:
    """Returns the float16 at these bytes of each block, as float32 (blocks, 1)."""
    return np.ascontiguousarray(data[:, at : at + 2]).view(np.float16).astype(np.float32)


def _nibbles(data: np.ndarray) -> np.ndarray:
    """Returns the low halves of all bytes, then the high halves."""
    return np.concatenate([data & 15, data >> 4], axis=1)


def _fifth_bits(data: np.ndarray) -> np.ndarray:
    """Returns the 32 bits of four bytes, shifted to the place of a fifth bit."""
    return np.unpackbits(data, axis=1, bitorder="little") << 4


def _q4_0(b) -> Parts:
    return _nibbles(b[:, 2:]).astype(np.int8) - 8, _half(b, 0), None


def _q4_1(b) -> Parts:
    return _nibbles(b[:, 4:]), _half(b, 0), _half(b, 2)


def _q5_0(b) -> Parts:
    return (_nibbles(b[:, 6:]) | _fifth_bits(b[:, 2:6])).astype(np.int8) - 16, _half(b, 0), None


def _q5_1(b) -> Parts:
    return (_nibbles(b[:, 8:]) | _fifth_bits(b[:, 4:8])).astype(np.int8), _half(b, 0), _half(b, 2)


def _q8_0(b) -> Parts:
    return b[:, 2:].view(np.int8), _half(b, 0), None


def _two_bits(data: np.ndarray) -> np.ndarray:
    """Returns 256 numbers of two bits from 64 bytes: for each 32 bytes all lowest pairs of bits, then the next."""
    parts = data.reshape(-1, 2, 1, 32) >> np.array([0, 2, 4, 6], np.uint8).reshape(1, 1, 4, 1)
    return (parts & 3).reshape(-1, 256)


def _high_bits(data: np.ndarray) -> np.ndarray:
    """Returns 256 bits from 32 bytes: bit 0 of all bytes, then bit 1."""
    return np.unpackbits(data.reshape(-1, 32, 1), axis=2, bitorder="little").transpose(0, 2, 1).reshape(-1, 256)


def _q2_k(b) -> Parts:
    scales = b[:, :16]
    return _two_bits(b[:, 16:80]), (scales & 15) * _half(b, 80), -((scales >> 4) * _half(b, 82))


def _q3_k(b) -> Parts:
    numbers = (_two_bits(b[:, 32:96]) | _high_bits(b[:, :32]) << 2).astype(np.int8) - 4
    low, top = _nibbles(b[:, 96:104]), b[:, 104:108]
    top = np.concatenate([top >> shift & 3 for shift in (0, 2, 4, 6)], axis=1)
    return numbers, ((low | top << 4).astype(np.int8) - 32) * _half(b, 108), None


def _scales_and_minima(b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the eight scales and the eight minima: six bits each in twelve bytes, times the block's two factors."""
    low, high, both = b[:, 4:8], b[:, 8:12], b[:, 12:16]
    scales = np.concatenate([low & 63, (both & 15) | (low >> 6 << 4)], axis=1)
    minima = np.concatenate([high & 63, (both >> 4) | (high >> 6 << 4)], axis=1)
    return scales * _half(b, 0), -(minima * _half(b, 2))


def _nibbles_by_32(data: np.ndarray) -> np.ndarray:
    """Returns 256 numbers from 128 bytes: for each 32 bytes the low halves, then the high halves."""
    return _nibbles(data.reshape(-1, 32)).reshape(-1, 256)


def _q4_k(b) -> Parts:
    return _nibbles_by_32(b[:, 16:]), *_scales_and_minima(b)


def _q5_k(b) -> Parts:
    numbers = _nibbles_by_32(b[:, 48:]) | _high_bits(b[:, 16:48]) << 4
    return numbers.astype(np.int8), *_scales_and_minima(b)


def _q6_k(b) -> Parts:
    low = b[:, :128].reshape(-1, 2, 64)
    low = np.concatenate([low & 15, low >> 4], axis=2).reshape(-1, 256)
    numbers = (low | _two_bits(b[:, 128:192]) << 4).astype(np.int8) - 32
    return numbers, b[:, 192:208].view(np.int8) * _half(b, 208), None


_CURVE = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.int8)


def _iq4_nl(b) -> Parts:
    return _CURVE[_nibbles(b[:, 2:])], _half(b, 0), None


def _iq4_xs(b) -> Parts:
    low = np.stack([b[:, 4:8] & 15, b[:, 4:8] >> 4], axis=2).reshape(-1, 8)
    high = b[:, 2:4].copy().view("<u2") >> np.arange(0, 16, 2, dtype=np.uint16) & 3
    scales = (low | high.astype(np.uint8) << 4).astype(np.int8) - 32
    numbers = _CURVE[_nibbles(b[:, 8:].reshape(-1, 16))].reshape(-1, 256)
    return numbers, scales * _half(b, 0), None


def _digits(data: np.ndarray, count: int) -> np.ndarray:
    """Returns digits of base 3 of all bytes: the first one of each byte, then the next. A byte is 256/243 of a number
    of five digits, rounded up."""
    shifted = data[:, None] * np.array([1, 3, 9, 27, 81][:count], np.uint8).reshape(1, -1, 1)
    return (shifted.astype(np.uint16) * 3 >> 8).astype(np.int8).reshape(len(data), -1)


def _tq1_0(b) -> Parts:
    digits = [_digits(b[:, :32], 5), _digits(b[:, 32:48], 5), _digits(b[:, 48:52], 4)]
    return np.concatenate(digits, axis=1) - np.int8(1), _half(b, 52), None


def _tq2_0(b) -> Parts:
    return _two_bits(b[:, :64]).astype(np.int8) - np.int8(1), _half(b, 64), None


_E2M1_DOUBLED = np.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12], np.int8)


def _mxfp4(b) -> Parts:
    return _E2M1_DOUBLED[_nibbles(b[:, 1:])], np.ldexp(np.float32(1), b[:, :1].astype(np.int32) - 128), None


@dataclasses.dataclass(frozen=True)
class BlockType:
    """A type: its name, the elements and the bytes of a block.

    parts: the reader of its blocks; None for floats, and for types that cannot be read.
    integers: the type of the integers in a compiled model: "int8", or "int4", "uint4", "int2" or "uint2" in packed
        form.
    floats: the type of its elements if they are floats.
    """

    name: str
    elements: int
    bytes: int
    parts: Callable[[np.ndarray], Parts] | None = None
    integers: str = ""
    floats: np.dtype | None = None

    @property
    def can_be_read(self) -> bool:
        """True if there is a reader."""
        return self.parts is not None or self.floats is not None


def _floats(name: str, dtype) -> BlockType:
    return BlockType(name, 1, np.dtype(dtype).itemsize, floats=np.dtype(dtype))


# The types by their number in the file.
BLOCKS = {
    0: _floats("F32", "<f4"),
    1: _floats("F16", "<f2"),
    2: BlockType("Q4_0", 32, 18, _q4_0, "int4"),
    3: BlockType("Q4_1", 32, 20, _q4_1, "uint4"),
    6: BlockType("Q5_0", 32, 22, _q5_0, "int8"),
    7: BlockType("Q5_1", 32, 24, _q5_1, "int8"),
    8: BlockType("Q8_0", 32, 34, _q8_0, "int8"),
    9: BlockType("Q8_1", 32, 36),
    10: BlockType("Q2_K", 256, 84, _q2_k, "uint2"),
    11: BlockType("Q3_K", 256, 110, _q3_k, "int8"),
    12: BlockType("Q4_K", 256, 144, _q4_k, "uint4"),
    13: BlockType("Q5_K", 256, 176, _q5_k, "int8"),
    14: BlockType("Q6_K", 256, 210, _q6_k, "int8"),
    15: BlockType("Q8_K", 256, 292),
    16: BlockType("IQ2_XXS", 256, 66),
    17: BlockType("IQ2_XS", 256, 74),
    18: BlockType("IQ3_XXS", 256, 98),
    19: BlockType("IQ1_S", 256, 50),
    20: BlockType("IQ4_NL", 32, 18, _iq4_nl, "int8"),
    21: BlockType("IQ3_S", 256, 110),
    22: BlockType("IQ2_S", 256, 82),
    23: BlockType("IQ4_XS", 256, 136, _iq4_xs, "int8"),
    24: BlockType("I8", 1, 1),
    25: BlockType("I16", 1, 2),
    26: BlockType("I32", 1, 4),
    27: BlockType("I64", 1, 8),
    28: _floats("F64", "<f8"),
    29: BlockType("IQ1_M", 256, 56),
    30: _floats("BF16", ml_dtypes.bfloat16),
    34: BlockType("TQ1_0", 256, 54, _tq1_0, "int2"),
    35: BlockType("TQ2_0", 256, 66, _tq2_0, "int4"),
    39: BlockType("MXFP4", 32, 17, _mxfp4, "int8"),
}


def _in_parts(rows: np.ndarray, block: BlockType):
    """Yields the parts of a matrix's blocks, and their place among all blocks."""
    blocks = np.ascontiguousarray(rows).reshape(-1, block.bytes)
    step = max(1, _AT_ONCE // block.elements)
    for begin in range(0, len(blocks), step):
        yield slice(begin, begin + step), block.parts(blocks[begin : begin + step])


def as_floats(rows: np.ndarray, block: BlockType) -> np.ndarray:
    """Returns float32 (rows, columns) of the stored bytes of a matrix, uint8 (rows, bytes of a row)."""
    if block.floats is not None:
        return np.ascontiguousarray(rows).view(block.floats).astype(np.float32)
    made = np.empty((rows.size // block.bytes, block.elements), np.float32)
    for place, (numbers, scales, minima) in _in_parts(rows, block):
        each = block.elements // scales.shape[1]
        np.multiply(numbers, scales.repeat(each, axis=1), out=made[place])
        if minima is not None:
            made[place] += minima.repeat(each, axis=1)
    return made.reshape(len(rows), -1)


@dataclasses.dataclass(frozen=True)
class Matrix:
    """A matrix as a compiled model reads it, (rows, columns).

    numbers: floats of any type, or integers; those of 4 or 2 bits are packed along the rows, the first in the low bits.
    integers: the type of the integers, or empty for floats.
    scales: float32 (rows, groups). minima: float16 or float32 (rows, groups), or None for zeros.
    """

    numbers: np.ndarray
    integers: str = ""
    scales: np.ndarray | None = None
    minima: np.ndarray | None = None


_IN_A_BYTE = {"int8": 1, "int4": 2, "uint4": 2, "int2": 4, "uint2": 4}


def packed(numbers: np.ndarray, integers: str) -> np.ndarray:
    """Returns integers (blocks, elements) as bytes."""
    count = _IN_A_BYTE[integers]
    if count == 1:
        return numbers
    bits = 8 // count
    parts = numbers.view(np.uint8).reshape(len(numbers), -1, count) & ((1 << bits) - 1)
    return np.bitwise_or.reduce(parts << (np.arange(count, dtype=np.uint8) * np.uint8(bits)), axis=2)


def as_stored(rows: np.ndarray, block: BlockType) -> Matrix:
    """Returns a matrix of the stored bytes in its own type."""
    if block.floats is not None:
        return Matrix(np.ascontiguousarray(rows).view(block.floats))
    numbers, scales, minima = [], [], []
    for _, (some, their_scales, their_minima) in _in_parts(rows, block):
        numbers.append(packed(np.ascontiguousarray(some), block.integers))
        scales.append(their_scales)
        minima.append(their_minima)
    whole = [np.concatenate(parts).reshape(len(rows), -1) for parts in (numbers, scales)]
    if minima[0] is None:
        return Matrix(whole[0], block.integers, whole[1])
    least = np.concatenate(minima).reshape(len(rows), -1)
    with np.errstate(over="ignore"):
        short = least.astype(np.float16)
    return Matrix(whole[0], block.integers, whole[1], short if np.array_equal(short, least) else least)
