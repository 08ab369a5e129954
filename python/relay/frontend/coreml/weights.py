"""Weights of neural networks: floats, halves, and numbers of a few bits with a scale or a table."""

from __future__ import annotations

import math

import numpy as np

from ..shared.problems import Refused

_AGAIN = "save the model again with coremltools"


def array_of(message, shape: list[int], what: str) -> np.ndarray:
    """Returns the elements of a WeightParams message, as float32. Scales belong to the first axis."""
    count = math.prod(shape)
    if message is None:
        raise Refused(f"{what} is missing", _AGAIN)
    if len(message.floatValue):
        made = message.floatValue
    elif len(message.float16Value):
        if len(message.float16Value) != 2 * count:
            raise _wrong(what, len(message.float16Value) // 2, shape)
        made = np.frombuffer(message.float16Value, "<f2").astype(np.float32)
    elif len(message.rawValue) and message.has("quantization"):
        made = _expanded(message, count, shape, what)
    elif len(message.int8RawValue):
        raise Refused(f"{what} are integers for sums in integers, which are not imported", "save it with floats")
    elif len(message.rawValue):
        raise Refused(f"{what} is quantised, and its scales are missing", _AGAIN)
    else:
        made = np.zeros(0, np.float32)
    if made.size != count:
        raise _wrong(what, made.size, shape)
    return np.ascontiguousarray(made.reshape(shape), dtype=np.float32)


def _wrong(what: str, found: int, shape: list[int]) -> Refused:
    return Refused(f"{what} has {found} elements for the shape {tuple(shape)}", "take the weights of this network")


def _expanded(message, count: int, shape: list[int], what: str) -> np.ndarray:
    about = message.quantization
    bits = about.numberOfBits
    if not 1 <= bits <= 8:
        raise Refused(f"{what} has {bits} bits, not 1 to 8", _AGAIN)
    if len(message.rawValue) != (count * bits + 7) // 8:
        raise _wrong(what, len(message.rawValue) * 8 // bits, shape)
    # The first number is in the highest bits.
    stream = np.unpackbits(np.frombuffer(message.rawValue, np.uint8))[: count * bits].reshape(count, bits)
    numbers = (stream << np.arange(bits - 1, -1, -1, dtype=np.uint8)).sum(axis=1, dtype=np.uint8)
    if about.has("lookupTableQuantization"):
        table = about.lookupTableQuantization.floatValue
        if table.size != 1 << bits:
            raise Refused(f"the table of {what} has {table.size} entries for {bits} bits", _AGAIN)
        return table[numbers]
    if not about.has("linearQuantization"):
        raise Refused(f"{what} is quantised in a form that is not known", _AGAIN)
    scale, bias = about.linearQuantization.scale, about.linearQuantization.bias
    rows = shape[0] if shape else 1
    if scale.size not in (1, rows) or bias.size not in (0, 1, rows) or rows == 0:
        raise Refused(f"{what} has {scale.size} scales and {bias.size} biases for {rows} channels", _AGAIN)
    made = numbers.astype(np.float32).reshape(rows, -1) * scale.reshape(-1, 1)
    return made + bias.reshape(-1, 1) if bias.size else made
