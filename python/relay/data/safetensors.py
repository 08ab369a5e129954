"""Files of the format safetensors (github.com/huggingface/safetensors): the length of the header (8 bytes), the header
(JSON: element type, shape and bytes of each tensor), and the bytes of the tensors.

The package of that name is not a dependency of Relay, does not flush to the disk, and lacks bfloat16 for NumPy.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import ml_dtypes
import numpy as np

from ..errors import wrong_input

_NAMES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32",
    "int16": "I16", "int8": "I8", "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
}  # fmt: skip
_TYPES = {code: np.dtype(getattr(ml_dtypes, name, None) or name) for name, code in _NAMES.items()}


def write(path: Path, tensors: dict[str, np.ndarray], digest=None) -> int:
    """Writes a file, flushes it to the disk, and updates `digest` (hashlib) with its bytes. Returns the bytes."""
    header, at = {}, 0
    for name, value in tensors.items():
        header[name] = {
            "dtype": _NAMES[value.dtype.name],
            "shape": list(value.shape),
            "data_offsets": [at, at + value.nbytes],
        }
        at += value.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    parts = [len(text).to_bytes(8, "little"), text]
    parts += [np.ascontiguousarray(value).reshape(-1).view(np.uint8).data for value in tensors.values() if value.nbytes]
    with open(path, "wb") as file:
        for part in parts:
            file.write(part)
            if digest is not None:
                digest.update(part)
        file.flush()
        os.fsync(file.fileno())
    return 8 + len(text) + at


def _described(one: dict) -> tuple[str, tuple[int, ...], int, int]:
    """Returns the code, the shape and the two offsets of a tensor. Raises ValueError, KeyError or TypeError if they are
    not numbers."""
    shape, (begin, end) = tuple(one["shape"]), one["data_offsets"]
    if not all(type(number) is int and number >= 0 for number in (*shape, begin, end)):
        raise ValueError("a size or an offset is not a number")
    return str(one["dtype"]), shape, begin, end


def read(path: Path, content: bytes) -> dict[str, np.ndarray]:
    """Returns the tensors of a file's content, without a copy. `path` is for messages."""

    def bad(what: str):
        return wrong_input(f"{path}: {what}", "the file is damaged: use another one")

    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > len(content) - 8:
        raise bad(f"a header of {length} bytes in a file of {len(content)}")
    try:
        header = json.loads(content[8 : 8 + length])
        items = [(name, *_described(one)) for name, one in header.items() if name != "__metadata__"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise bad("the header is not that of safetensors") from error
    found = {}
    for name, code, shape, begin, end in items:
        count = math.prod(shape)
        if (
            code not in _TYPES
            or not 0 <= begin <= end <= len(content) - 8 - length
            or count * _TYPES[code].itemsize != end - begin
        ):
            raise bad(f"tensor `{name}` of {code}{list(shape)} in the bytes {begin} to {end}")
        found[name] = (
            np.frombuffer(content, np.uint8, end - begin, 8 + length + begin).view(_TYPES[code]).reshape(shape)
        )
    return found


def dtype(name: str) -> np.dtype:
    """Returns the NumPy type of an element type's name."""
    return _TYPES[_NAMES[name]]
