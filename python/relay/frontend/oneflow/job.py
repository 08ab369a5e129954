"""Programs of OneFlow as MLIR text, in the generic form of operations, and their variables.

A variable is a folder: `meta`, a text with its shape and its element type, and `out`, its elements.
"""

from __future__ import annotations

import dataclasses
import math
import os
import pathlib

import numpy as np

from ...errors import told
from ..shared.binary import read_file
from ..shared.problems import Refused
from ..shared.protobuf_text import read_text
from ..stablehlo.lexer import Lexer
from ..stablehlo.reader import read_arguments, read_operation
from ..stablehlo.syntax import Operation

AGAIN = "write the model again: oneflow.save(graph, folder)"
MOST_BYTES, MOST_OPERATIONS = 256 << 20, 200_000
# Element types: of the text, and by the numbers of `meta`.
ELEMENTS = {"f16": "float16", "f32": "float32", "f64": "float64", "si8": "int8", "si32": "int32", "si64": "int64",
            "ui8": "uint8", "i1": "bool", "i8": "int8", "i32": "int32", "i64": "int64"}  # fmt: skip
TYPES = {1: "int8", 2: "float32", 3: "float64", 4: "int8", 5: "int32", 6: "int64", 7: "uint8", 9: "float16", 12: "bool"}
_NAMES = {"kChar": 1, "kFloat": 2, "kDouble": 3, "kInt8": 4, "kInt32": 5, "kInt64": 6, "kUInt8": 7, "kFloat16": 9,
          "kBool": 12}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Job:
    """A program: its arguments by name, and its operations in order; the last returns the results."""

    arguments: list[str]
    operations: list[Operation]


class _Lexer(Lexer):
    def bad(self, message: str, offset: int | None = None) -> Exception:
        return self.error("corrupt_file", message, AGAIN, offset)


def job_of(path: str) -> Job:
    """Returns the program of a file."""
    content = read_file(path)
    if len(content) > MOST_BYTES:
        raise told("limit_exceeded", f"{path} has more than {MOST_BYTES} bytes", "split the model")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise told("corrupt_file", f"{path} is not text: byte {error.start}", AGAIN) from error
    lexer = _Lexer(text, path)
    while not lexer.at("oneflow.job"):
        if lexer.kind == "end":
            raise lexer.bad("there is no oneflow.job in it", 0)
        lexer.next()
    lexer.next()
    lexer.expect_kind("symbol", "the name of the job")
    arguments = [name for name, _ in read_arguments(lexer)]
    while not lexer.take("{"):  # the types of results
        if lexer.kind == "end":
            raise lexer.expected("`{` of the job")
        lexer.next()
    operations = []
    while not lexer.take("}"):
        if lexer.kind == "end":
            raise lexer.expected("`}` of the job")
        if len(operations) >= MOST_OPERATIONS:
            raise told("limit_exceeded", f"{path} has more than {MOST_OPERATIONS} operations", "split the model")
        operations.append(read_operation(lexer))
    return Job(arguments, operations)


def variable(folder: str, name: str) -> tuple[np.ndarray, list[str]]:
    """Returns the elements of a variable, and the paths that were read."""
    place = pathlib.Path(folder) / name
    if pathlib.Path(folder).resolve() not in place.resolve().parents:
        raise told("bad_model", f"the variable {name!r} is not the name of a folder in {folder}", AGAIN)
    meta, data = os.fspath(place / "meta"), os.fspath(place / "out")
    for one in (meta, data):
        if not os.path.isfile(one):
            raise Refused(f"the file {one} of the variable `{name}` is missing", AGAIN)
    about = read_text(meta, read_file(meta), AGAIN)
    shape, kind = _shape(about), about.get("data_type", [None])[-1]
    kind = _NAMES.get(kind, kind)
    if kind not in TYPES or shape is None:
        raise told("corrupt_file", f"{meta} has no shape or no known element type ({kind!r})", AGAIN)
    content, dtype = read_file(data), np.dtype(TYPES[kind])
    if len(content) != math.prod(shape) * dtype.itemsize:
        raise told(
            "corrupt_file", f"{data} has {len(content)} bytes, and its shape {shape} of {dtype} needs "
            f"{math.prod(shape) * dtype.itemsize}", AGAIN,
        )  # fmt: skip
    return np.frombuffer(content, dtype.newbyteorder("<")).reshape(shape), [meta, data]


def _shape(about: dict) -> list[int] | None:
    found = about.get("shape", [None])[-1]
    sizes = found.get("dim", []) if isinstance(found, dict) else None
    if sizes is None or not all(isinstance(one, int) and 0 <= one < 1 << 40 for one in sizes) or len(sizes) > 32:
        return None
    return sizes
