"""Element types and tensors of TensorFlow's files."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np

from ...errors import told
from ..shared.problems import Refused

DTYPES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string", 8: "complex64",
    9: "int64", 10: "bool", 11: "int8", 12: "uint8", 13: "int32", 14: "bfloat16", 15: "int16", 16: "uint16",
    17: "uint16", 18: "complex128", 19: "float16", 20: "resource", 21: "variant", 22: "uint32", 23: "uint64",
    24: "float8_e5m2", 25: "float8_e4m3fn",
}  # fmt: skip
_REFERENCE = 100  # types of references to variables are those of their elements, and this number
MOST_ELEMENTS = 1 << 28  # of a tensor that repeats one element
AGAIN = "save the model again with TensorFlow, or copy the file again"


def corrupt(message: str, help: str = AGAIN):
    """Returns the error of a file that is not as TensorFlow writes it."""
    return told("corrupt_file", message, help)


def beyond(message: str):
    """Returns the error of a count, depth or size that no real model has."""
    return told("limit_exceeded", message, "save the model again; such a size is not one of a real model")


def dtype_name(number: int) -> str:
    """Returns the name of an element type: "float32", "resource", ..."""
    number = number - _REFERENCE if number > _REFERENCE else number
    if number not in DTYPES:
        raise Refused(f"its element type has the number {number}, which is not known", "convert it to float32 first")
    return DTYPES[number]


def numpy_type(dtype: str):
    if dtype == "bfloat16" or dtype.startswith("float8"):
        return np.dtype(getattr(ml_dtypes, dtype))
    return np.dtype(dtype)


def sizes(shape) -> list[int] | None:
    """Returns the sizes of a TensorShapeProto, with -1 for those that are open; None for an unknown number of axes."""
    if shape is None:
        return []
    if shape.unknown_rank:
        return None
    if len(shape.dim) > 254:
        raise corrupt(f"a shape at byte {shape.at} has {len(shape.dim)} axes")
    return [max(one.size, -1) for one in shape.dim]


_VALUES = {
    "float32": "float_val", "float64": "double_val", "int32": "int_val", "int16": "int_val", "int8": "int_val",
    "uint8": "int_val", "uint16": "int_val", "int64": "int64_val", "bool": "bool_val", "uint32": "uint32_val",
    "uint64": "uint64_val", "complex64": "scomplex_val", "complex128": "dcomplex_val", "float16": "half_val",
    "bfloat16": "half_val",
}  # fmt: skip


def array_of(tensor) -> np.ndarray:
    """Returns the elements of a TensorProto; texts as an array of bytes objects.

    They are the bytes of `tensor_content`, or a list whose last element is repeated; an empty list means zeros.
    """
    dtype = dtype_name(tensor.dtype)
    shape = sizes(tensor.tensor_shape)
    if shape is None or min(shape, default=0) < 0:
        raise corrupt(f"the tensor at byte {tensor.at} has an open shape")
    count = math.prod(shape)
    if count > MOST_ELEMENTS and not tensor.has("tensor_content"):
        raise beyond(f"the tensor at byte {tensor.at} has {count} elements, and few bytes")
    if dtype == "string":
        return _texts(tensor, shape, count)
    if dtype in ("resource", "variant"):
        raise Refused(f"it is a constant of the type {dtype}")
    kind = numpy_type(dtype)
    content = tensor.tensor_content
    if len(content):
        if len(content) != count * kind.itemsize:
            raise corrupt(
                f"the tensor at byte {tensor.at} has {len(content)} bytes, and its shape {tuple(shape)} of {dtype} "
                f"needs {count * kind.itemsize}"
            )
        return np.frombuffer(content, kind).reshape(shape)
    if dtype not in _VALUES:
        raise Refused(f"it is a list of elements of {dtype}", "save the model again with TensorFlow 2")
    values = getattr(tensor, _VALUES[dtype])
    return _repeated(_array_of_list(values, dtype, kind), shape, count, tensor.at)


def _array_of_list(values: list, dtype: str, kind) -> np.ndarray:
    if dtype in ("float16", "bfloat16"):
        return np.asarray([one & 0xFFFF for one in values], np.uint16).view(kind)
    if dtype.startswith("complex"):
        parts = np.asarray(values[: len(values) // 2 * 2], numpy_type("float32" if dtype == "complex64" else "float64"))
        return parts.view(kind)
    if kind.kind in "iu":
        bits = 8 * kind.itemsize
        made = np.asarray([one & ((1 << bits) - 1) for one in values], np.uint64)
        return made.astype(f"u{kind.itemsize}").view(kind)
    return np.asarray(values, kind)


def _repeated(given: np.ndarray, shape: list, count: int, at: int) -> np.ndarray:
    if len(given) > count:
        raise corrupt(f"the tensor at byte {at} has {len(given)} elements, and its shape {tuple(shape)} has {count}")
    if len(given) == count:
        return given.reshape(shape)
    if len(given) == 0:
        return np.zeros(shape, given.dtype)
    made = np.full(count, given[-1], given.dtype)
    made[: len(given)] = given
    return made.reshape(shape)


def _texts(tensor, shape: list, count: int) -> np.ndarray:
    if count > 1 << 22:
        raise beyond(f"the tensor at byte {tensor.at} has {count} texts")
    values = [bytes(one) for one in tensor.string_val]
    if len(values) > count:
        raise corrupt(f"the tensor at byte {tensor.at} has {len(values)} texts, and its shape has {count}")
    made = np.empty(count, object)
    made[:] = b"" if not values else values[-1]
    made[: len(values)] = values
    return made.reshape(shape)
