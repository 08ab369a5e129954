"""Parameters as bytes, in the file format that users of TVM's Relay have.

    data = relay.save_param_dict({"weight": w})
    params = relay.load_param_dict(data)

The format is a list of names and a list of arrays, little-endian. It begins with a number that marks the list and eight
reserved bytes. The count of names follows, and the length and the bytes of each name. The count of arrays comes next.
Each array is a number that marks an array, eight reserved bytes, the device (kind and number, 32 bits each), the rank
(32 bits), the element type (kind 8 bits, width 8 bits, lanes 16 bits), the extents (64 bits each), the size in bytes
(64 bits), and the bytes in row-major order.
"""

from __future__ import annotations

import struct

import numpy as np

from ..errors import wrong_input
from .arrays import array
from .arrays import numpy as as_numpy

__all__ = ["load_param_dict", "save_param_dict"]

_LIST, _ARRAY = 0xF7E58D4F05049CB7, 0xDD5E40F096B4A13F
_KINDS = {"i": 0, "u": 1, "f": 2, "b": 1}
_BFLOAT = 4


def _bytes_of(value) -> bytes:
    values = np.ascontiguousarray(value if isinstance(value, np.ndarray) else as_numpy(array(value)))
    is_bfloat = values.dtype.name == "bfloat16"
    if not is_bfloat and values.dtype.kind not in _KINDS:
        raise TypeError(f"an array of {values.dtype} is not a parameter: parameters are numbers and booleans")
    kind = _BFLOAT if is_bfloat else _KINDS[values.dtype.kind]
    bits = 1 if values.dtype.kind == "b" else values.dtype.itemsize * 8
    head = struct.pack("<QQiiiBBH", _ARRAY, 0, 1, 0, values.ndim, kind, bits, 1)
    return head + struct.pack(f"<{values.ndim}qq", *values.shape, values.nbytes) + values.tobytes()


def save_param_dict(params: dict) -> bytearray:
    """Returns the arrays, by name, as bytes."""
    out = bytearray(struct.pack("<QQQ", _LIST, 0, len(params)))
    for name in params:
        text = name.encode()
        out += struct.pack("<Q", len(text)) + text
    out += struct.pack("<Q", len(params))
    for value in params.values():
        out += _bytes_of(value)
    return out


class _Reader:
    def __init__(self, data):
        self._data, self._at = memoryview(data).cast("B"), 0

    def take(self, count: int) -> memoryview:
        if count < 0 or self._at + count > len(self._data):
            raise wrong_input("the list of parameters is truncated", "give the complete output of save_param_dict()")
        part = self._data[self._at : self._at + count]
        self._at += count
        return part

    def read(self, form: str) -> tuple:
        form = "<" + form
        return struct.unpack(form, self.take(struct.calcsize(form)))


def _dtype(kind: int, bits: int) -> np.dtype:
    if kind == _BFLOAT and bits == 16:
        from ml_dtypes import bfloat16

        return np.dtype(bfloat16)
    names = {(1, 1): "bool"} | {(k, b): f"{n}{b}" for k, n in ((0, "int"), (1, "uint")) for b in (8, 16, 32, 64)}
    names |= {(2, b): f"float{b}" for b in (16, 32, 64)}
    if (kind, bits) not in names:
        raise wrong_input(f"there are no arrays of kind {kind} with {bits} bits", "save integers, floats or booleans")
    return np.dtype(names[kind, bits])


def _array_from(reader: _Reader) -> np.ndarray:
    mark, _, _, _, rank, kind, bits, lanes = reader.read("QQiiiBBH")
    if mark != _ARRAY or not 0 <= rank <= 32 or lanes != 1:
        raise wrong_input(
            "an array does not have the format of save_param_dict()", "the file may be damaged, or have another format"
        )
    *shape, size = reader.read(f"{rank}qq")
    dtype, elements = _dtype(kind, bits), 1
    for extent in shape:
        elements *= extent
    if any(extent < 0 for extent in shape) or size != elements * dtype.itemsize:
        raise wrong_input(f"an array of shape {tuple(shape)} does not have {size} bytes", "the file may be damaged")
    return np.frombuffer(reader.take(size), dtype).reshape(shape).copy()


def load_param_dict(data) -> dict[str, np.ndarray]:
    """Reads the bytes that save_param_dict() wrote. Raises CompileError for anything else."""
    reader = _Reader(data)
    mark, _, count = reader.read("QQQ")
    if mark != _LIST:
        raise wrong_input("this is not a list of parameters", "give the output of save_param_dict()")
    names = []
    for _ in range(count):
        (length,) = reader.read("Q")
        names.append(bytes(reader.take(length)).decode())
    (arrays,) = reader.read("Q")
    if arrays != count:
        raise wrong_input(f"there are {count} names and {arrays} arrays", "the file may be damaged")
    return {name: _array_from(reader) for name in names}
