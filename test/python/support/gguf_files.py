"""Writes GGUF files for tests."""

import struct

import numpy as np

_NUMBERS = {"uint8": 0, "int8": 1, "uint16": 2, "int16": 3, "uint32": 4, "int32": 5, "float32": 6, "uint64": 10,
            "int64": 11, "float64": 12}  # fmt: skip


def string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def value(content):
    """The type and the bytes of a key's value: a text, bool, int, float, list of texts, or array."""
    if isinstance(content, str):
        return struct.pack("<I", 8) + string(content)
    if isinstance(content, bool):
        return struct.pack("<IB", 7, content)
    if isinstance(content, int):
        return struct.pack("<II", 4, content)
    if isinstance(content, float):
        return struct.pack("<If", 6, content)
    if isinstance(content, list):
        return struct.pack("<IIQ", 9, 8, len(content)) + b"".join(map(string, content))
    return struct.pack("<IIQ", 9, _NUMBERS[content.dtype.name], content.size) + content.tobytes()


def content(keys, tensors, version=3, alignment=32):
    """The bytes of a file. `tensors`: by name (type's number, shape, bytes), or an array of float32."""
    head, data = b"", b""
    for name, given in tensors.items():
        kind, shape, stored = (0, given.shape, given.tobytes()) if isinstance(given, np.ndarray) else given
        head += string(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape[::-1])
        head += struct.pack("<IQ", kind, len(data))
        data += stored + b"\0" * (-len(stored) % alignment)
    made = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys))
    made += b"".join(string(name) + value(one) for name, one in keys.items()) + head
    return made + b"\0" * (-len(made) % alignment) + data
