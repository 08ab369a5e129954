"""Tensors of the KServe protocol, version 2: datatypes, JSON data, and raw bytes.

Raw bytes are row-major and little-endian. An element of BYTES is a length, 4 bytes, and that many bytes. See "Open
Inference Protocol" and "Binary Tensor Data Extension" of KServe.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

import ml_dtypes
import numpy as np

from ..run.ports import Port
from .problems import Refused, bad_request

BYTES = "BYTES"
# Protocol names of element types, by Relay's names.
_DATATYPES = {
    "bool": "BOOL",
    "uint8": "UINT8",
    "uint16": "UINT16",
    "uint32": "UINT32",
    "uint64": "UINT64",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "float16": "FP16",
    "float32": "FP32",
    "float64": "FP64",
    "bfloat16": "BF16",
}


def datatype_of(port: Port, has_strings: bool) -> str | None:
    """Returns the protocol's name of a port's element type, or None if the protocol has none."""
    return BYTES if has_strings else _DATATYPES.get(port.dtype)


def numpy_type(dtype: str) -> np.dtype:
    """Returns NumPy's type for Relay's name of an element type."""
    return np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def shape_text(shape) -> str:
    """Returns a shape as text: "[n, 4]"."""
    return f"[{', '.join(map(str, shape))}]"


def checked_shape(shape: object, port: Port) -> tuple[int, ...]:
    """Returns the shape of a request's tensor. Raises Refused if the port does not take it."""
    wanted = shape_text(port.shape)
    if not isinstance(shape, list) or not all(type(size) is int and 0 <= size < 1 << 62 for size in shape):
        raise bad_request(
            f"the shape of input `{port.name}` is not a list of integers from 0",
            f"give sizes for {wanted}",
        )
    fits = len(shape) == len(port.shape) and all(
        isinstance(known, str) or size == known for size, known in zip(shape, port.shape, strict=True)
    )
    if not fits:
        shown = shape_text(shape) if len(shape) <= 16 else f"of {len(shape)} axes"
        raise bad_request(f"input `{port.name}` has the shape {shown}, but must have {wanted}", f"send {wanted}")
    return tuple(shape)


def of_json(data: object, shape: tuple[int, ...], port: Port, datatype: str) -> np.ndarray:
    """Returns the array of a tensor's JSON data, a flat or nested list of the shape's elements."""
    flat, found = _flat(data, len(shape), port)
    if found not in (shape, (math.prod(shape),)):
        raise bad_request(
            f"the data of input `{port.name}` has the shape {shape_text(found)}, but the request says "
            f"{shape_text(shape)}",
            f"send {math.prod(shape)} elements in a flat list, or lists of this shape",
        )
    wanted, text = _elements(port, datatype)
    if others := {type(element) for element in flat} - wanted:
        raise bad_request(
            f"input `{port.name}` is {datatype}, but its data has {_KINDS[others.pop()]}", f"send {text} only"
        )
    return (_strings(flat) if datatype == BYTES else _numbers(flat, port, datatype)).reshape(shape)


# Names of the Python types that JSON is read as.
_KINDS = {
    bool: "booleans",
    int: "integers",
    float: "fractions",
    str: "strings",
    list: "lists beside other elements",
    dict: "objects",
    type(None): "null",
}


def _elements(port: Port, datatype: str) -> tuple[set[type], str]:
    """Returns the Python types that elements of the port may have, and their name."""
    if datatype == BYTES:
        return {str}, "strings"
    if datatype == "BOOL":
        return {bool}, "true and false"
    return ({int}, "integers") if "INT" in datatype else ({int, float}, "numbers")


def _flat(data: object, rank: int, port: Port) -> tuple[list, tuple[int, ...]]:
    """Returns the elements of lists of equal lengths, nested up to `rank` times, and their shape."""
    if not isinstance(data, list):
        raise bad_request(f"the data of input `{port.name}` is not a list", "send the elements as a JSON list")
    shape = [len(data)]
    while len(shape) < rank and data and isinstance(data[0], list):
        lengths = {len(one) if isinstance(one, list) else -1 for one in data}
        if len(lengths) > 1:
            raise bad_request(
                f"the data of input `{port.name}` has lists of unequal lengths",
                "send a flat list, or lists of equal lengths",
            )
        shape += lengths
        data = list(itertools.chain.from_iterable(data))
    return data, tuple(shape)


def _strings(flat: list[str]) -> np.ndarray:
    array = np.empty(len(flat), object)
    array[:] = flat
    return array


def _numbers(flat: list, port: Port, datatype: str) -> np.ndarray:
    """Returns the elements as the port's type. Raises Refused for a number out of the type's range."""
    target = numpy_type(port.dtype)
    try:
        if target.kind in "biu":
            return np.array(flat, target)
        wide = np.array(flat, np.float64)
    except OverflowError as error:
        raise bad_request(
            f"input `{port.name}` has an integer that is not a {datatype}", "send smaller values"
        ) from error
    with np.errstate(over="ignore"):
        made = wide.astype(target)
    lost = ~np.isfinite(made) & np.isfinite(wide)
    if lost.any():
        raise bad_request(f"input `{port.name}` has {wide[lost][0]}, which is not a {datatype}", "send smaller values")
    return made


def of_bytes(raw: memoryview, shape: tuple[int, ...], port: Port, datatype: str) -> np.ndarray:
    """Returns the array of a tensor's raw bytes. Numbers share the memory of `raw`."""
    count = math.prod(shape)
    if datatype == BYTES:
        return _raw_strings(raw, count, port).reshape(shape)
    target = numpy_type(port.dtype)
    if len(raw) != count * target.itemsize:
        raise bad_request(
            f"input `{port.name}` has {len(raw)} bytes, but {datatype} of the shape {shape_text(shape)} has "
            f"{count * target.itemsize}",
            "let `binary_data_size`, `shape` and `datatype` agree",
        )
    if target.kind == "b" and (np.frombuffer(raw, np.uint8) > 1).any():
        raise bad_request(
            f"input `{port.name}` is BOOL, but has bytes other than 0 and 1", "send one byte, 0 or 1, each"
        )
    return np.frombuffer(raw, target).reshape(shape)


def _raw_strings(raw: memoryview, count: int, port: Port) -> np.ndarray:
    texts, at = [], 0
    while at < len(raw):
        size = int.from_bytes(raw[at : at + 4], "little")
        if at + 4 + size > len(raw) or len(texts) == count:
            break
        texts.append(raw[at + 4 : at + 4 + size])
        at += 4 + size
    if at != len(raw) or len(texts) != count:
        raise bad_request(
            f"the bytes of input `{port.name}` are not {count} strings: the first {len(texts)} end at byte {at} of "
            f"{len(raw)}",
            "send each string as its length, 4 bytes, little-endian, and its bytes",
        )
    return of_texts(texts, port)


def of_texts(texts: Iterable[bytes | memoryview], port: Port) -> np.ndarray:
    """Returns the array of texts in UTF-8, along one axis."""
    decoded: list[str] = []
    for text in texts:
        try:
            decoded.append(str(text, "utf-8"))
        except UnicodeDecodeError as error:
            raise bad_request(f"element {len(decoded)} of input `{port.name}` is not UTF-8", "send UTF-8") from error
    return _strings(decoded)


def to_json(array: np.ndarray, name: str) -> list:
    """Returns the elements as a flat list. Raises Refused for numbers that JSON lacks."""
    if array.dtype.kind not in "biuO":
        if not np.isfinite(array).all():
            raise Refused(
                406,
                f"output `{name}` has infinities or NaN, which JSON lacks",
                'ask for raw bytes: "parameters": {"binary_data_output": true}',
            )
        if array.dtype.kind == "V":
            array = array.astype(np.float32)
    return array.reshape(-1).tolist()


def to_bytes(array: np.ndarray) -> bytes:
    """Returns the elements as raw bytes."""
    if array.dtype.kind != "O":
        return array.tobytes()
    encoded = [text.encode() for text in array.reshape(-1).tolist()]
    return b"".join(len(text).to_bytes(4, "little") + text for text in encoded)
