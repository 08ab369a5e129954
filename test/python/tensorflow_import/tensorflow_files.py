"""Writes files of TensorFlow without TensorFlow: GraphDef, SavedModel, checkpoints."""

from __future__ import annotations

import struct

import numpy as np

TYPES = {"float32": 1, "float64": 2, "int32": 3, "uint8": 4, "string": 7, "int64": 9, "bool": 10, "resource": 20}


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*made, value])


def field(number: int, value) -> bytes:
    """A field: a number, a float, a text or bytes."""
    if isinstance(value, (bool, int)):
        return varint(number << 3) + varint(int(value))
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def shape(sizes) -> bytes:
    return b"".join(field(2, field(1, one)) for one in sizes)


def tensor(array: np.ndarray) -> bytes:
    array = np.asarray(array)
    if array.dtype.kind in "SO":
        texts = b"".join(field(8, one) for one in array.reshape(-1).tolist())
        return field(1, 7) + field(2, shape(array.shape)) + texts
    return field(1, TYPES[str(array.dtype)]) + field(2, shape(array.shape)) + field(4, array.tobytes())


class Type(str):
    """The name of an element type, as an attribute."""


class Shape(tuple):
    """Sizes, as an attribute."""


class Func(str):
    """The name of a function, as an attribute."""


def attr(value) -> bytes:
    """An attribute of a node: bool, int, float, text, array, list of ints, Type, Shape, Func, or bytes as they are."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, bool):
        return field(5, value)
    if isinstance(value, int):
        return field(3, value)
    if isinstance(value, float):
        return field(4, value)
    if isinstance(value, Type):
        return field(6, TYPES[value])
    if isinstance(value, Func):
        return field(10, field(1, str(value)))
    if isinstance(value, Shape):
        return field(7, shape(value))
    if isinstance(value, str):
        return field(2, value)
    if isinstance(value, list):
        return field(1, b"".join(field(3, one) for one in value))
    return field(8, tensor(value))


def node(name: str, op: str, *inputs: str, **attrs) -> bytes:
    made = field(1, name) + field(2, op) + b"".join(field(3, one) for one in inputs)
    return made + b"".join(field(5, field(1, key) + field(2, attr(value))) for key, value in attrs.items())


def placeholder(name: str, *sizes: int, dtype: str = "float32") -> bytes:
    return node(name, "Placeholder", dtype=Type(dtype), shape=Shape(sizes))


def const(name: str, value) -> bytes:
    value = np.asarray(value)
    dtype = "string" if value.dtype.kind in "SO" else str(value.dtype)
    return node(name, "Const", dtype=Type(dtype), value=value)


def function(
    name: str, inputs: dict, outputs: dict, nodes: list[bytes], results: dict, controls: dict | None = None
) -> bytes:
    """A FunctionDef. inputs, outputs: element types by name. results: what computes each output."""
    signature = field(1, name)
    signature += b"".join(field(2, field(1, key) + field(3, TYPES[one])) for key, one in inputs.items())
    signature += b"".join(field(3, field(1, key) + field(3, TYPES[one])) for key, one in outputs.items())
    made = field(1, signature) + b"".join(field(3, one) for one in nodes)
    made += b"".join(field(4, field(1, key) + field(2, one)) for key, one in results.items())
    return made + b"".join(field(6, field(1, key) + field(2, one)) for key, one in (controls or {}).items())


def graph(nodes: list[bytes], functions: list[bytes] = ()) -> bytes:
    made = b"".join(field(1, one) for one in nodes)
    return made + (field(2, b"".join(field(1, one) for one in functions)) if functions else b"")


def info(name: str, dtype: str, sizes) -> bytes:
    return field(1, name) + field(2, TYPES[dtype]) + field(3, shape(sizes))


def saved_model(folder, content: bytes, inputs: dict, outputs: dict, variables: dict | None, restore: str = "") -> str:
    """Writes the folder of a SavedModel.

    inputs, outputs: (result, element type, sizes) by name. variables: arrays by key, or None for none at all."""
    signature = b"".join(field(1, field(1, key) + field(2, info(*one))) for key, one in inputs.items())
    signature += b"".join(field(2, field(1, key) + field(2, info(*one))) for key, one in outputs.items())
    meta = field(1, field(4, "serve")) + field(2, content)
    meta += field(3, field(3, restore)) if restore else b""
    meta += field(5, field(1, "serving_default") + field(2, signature))
    folder.mkdir(exist_ok=True)
    (folder / "saved_model.pb").write_bytes(field(1, 1) + field(2, meta))
    if variables is not None:
        (folder / "variables").mkdir(exist_ok=True)
        checkpoint(folder / "variables" / "variables", variables)
    return str(folder)


def checkpoint(prefix, variables: dict) -> None:
    """Writes PREFIX.index and its shard."""
    data, entries = b"", [(b"", field(1, 1))]
    for key, one in sorted(variables.items()):
        about = (
            field(1, TYPES[str(one.dtype)]) + field(2, shape(one.shape)) + field(4, len(data)) + field(5, one.nbytes)
        )
        entries.append((key.encode(), about))
        data += one.tobytes()
    prefix.with_name(f"{prefix.name}.data-00000-of-00001").write_bytes(data)
    prefix.with_name(f"{prefix.name}.index").write_bytes(table(entries))


def block(entries) -> bytes:
    made, before = b"", b""
    for key, value in entries:
        shared = next(
            (at for at, (a, b) in enumerate(zip(before, key, strict=False)) if a != b), min(len(before), len(key))
        )
        made += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        before = key
    return made + struct.pack("<II", 0, 1)


def table(entries) -> bytes:
    """A table in LevelDB's format with one block."""
    content = block(entries)
    handle = varint(0) + varint(len(content))
    content += b"\0" * 5
    index = block([(entries[-1][0] + b"\xff", handle)])
    at = len(content)
    content += index + b"\0" * 5
    footer = varint(0) + varint(0) + varint(at) + varint(len(index))
    return content + footer.ljust(40, b"\0") + bytes.fromhex("57fb808b247547db")
