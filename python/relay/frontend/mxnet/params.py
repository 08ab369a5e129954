"""Arrays of MXNet (.params): a list of arrays, then their names.

u64 0x112, u64 0, u64 n; n arrays; u64 n, n times (u64 length, name). An array: u32 magic, i32 storage type, u32 axes,
i64 sizes, i32 device, i32 number of the device, i32 element type, elements.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

from ...errors import told
from ..shared.binary import Reader

AGAIN = "write the files again with net.export(path), or mx.nd.save('net-0000.params', arrays)"
_LIST = 0x112
# The versions of an array: the first has no storage type, the last has sizes of NumPy's kind (-1 is unknown).
_V1, _V2, _V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
_TYPES = {0: np.float32, 1: np.float64, 2: np.float16, 3: np.uint8, 4: np.int32, 5: np.int8, 6: np.int64, 7: np.bool_,
          12: ml_dtypes.bfloat16}  # fmt: skip


def params_of(name: str, content: bytes) -> dict[str, np.ndarray]:
    """Returns the arrays by name, without "arg:" and "aux:". name: the file, for messages."""
    reader = Reader(name, content, AGAIN)
    if reader.number("Q", "the header") != _LIST:
        raise told("bad_model", f"{name} is not a list of arrays of MXNet: it begins with other bytes", AGAIN)
    reader.number("Q", "the header")
    count = reader.number("Q", "the number of arrays")
    if count > reader.left // 8:
        raise reader.corrupt(f"{count} arrays do not fit into {reader.left} bytes")
    arrays = [_array(reader, number) for number in range(count)]
    names = reader.number("Q", "the number of names")
    if names != count:
        raise reader.corrupt(f"{names} names for {count} arrays")
    made = {}
    for array in arrays:
        called = bytes(reader.take(reader.number("Q", "the length of a name"), "a name")).decode("utf-8", "replace")
        made[called.removeprefix("arg:").removeprefix("aux:")] = array
    return made


def _array(reader: Reader, number: int) -> np.ndarray:
    what = f"array {number}"
    magic = reader.number("I", what)
    if magic in (_V2, _V3):
        if reader.number("i", what) != 0:
            raise told(
                "unsupported_operator", f"{what} of {reader.name} is sparse", "convert it with tostype('default')"
            )
        shape = _shape(reader, reader.number("I", what), "q", what)
    elif magic == _V1:
        shape = _shape(reader, reader.number("I", what), "q", what)
    else:  # the oldest form begins with the number of axes
        shape = _shape(reader, magic, "I", what)
    if not shape and magic not in (_V3,):
        return np.zeros(0, np.float32)  # an array without a value
    reader.number("i", what), reader.number("i", what)
    kind = reader.number("i", what)
    if kind not in _TYPES:
        raise reader.corrupt(f"{what} has elements of the unknown type {kind}", reader.at - 4)
    return reader.array(_TYPES[kind], shape, what)


def _shape(reader: Reader, axes: int, form: str, what: str) -> list[int]:
    if axes > 32:
        raise reader.corrupt(f"{what} has {axes} axes", reader.at - 4)
    return [reader.number(form, what) for _ in range(axes)]
