"""Parameters of PaddlePaddle: one file with all of them in the order of their sorted names (.pdiparams), or a file for
each, named after its variable.

A record: u32 0, u64 number of levels of sequences, each u64 bytes and data, u32 0, i32 size of the description,
TensorDesc, elements.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping, Sequence

import ml_dtypes
import numpy as np

from ...errors import told, wrong_input
from ..shared.binary import Reader, read_file
from ..shared.wire import Table, WireError
from .program import AGAIN, TYPES, Variable

_DESC = Table("TensorDesc", {1: ("data_type", "int"), 2: ("dims", "int*")})
_NUMPY = {**{number: np.dtype(name) for number, name in TYPES.items() if name != "bfloat16"},
          22: np.dtype(ml_dtypes.bfloat16)}  # fmt: skip


def params_of(name: str, content: bytes, variables: Sequence[Variable]) -> dict[str, np.ndarray]:
    """Returns the arrays of a file with all parameters. name: the file, for messages."""
    reader = Reader(name, content, AGAIN)
    made = {}
    for one in variables:
        if not reader.left:
            raise told(
                "bad_model",
                f"{name} has {len(made)} parameters, and the program has {len(variables)}: `{one.name}` is missing",
                "take the file of parameters that was written together with the program",
            )
        made[one.name] = _record(reader, one.name)
    if reader.left:
        raise told(
            "bad_model",
            f"{name} has {reader.left} bytes after the {len(variables)} parameters of the program",
            "take the file of parameters that was written together with the program",
        )
    return made


def params_in(folder: str, variables: Sequence[Variable]) -> tuple[dict[str, np.ndarray], list[str]]:
    """Returns the arrays of a folder with a file for each parameter, and the paths."""
    made, paths = {}, []
    for one in variables:
        path = pathlib.Path(folder) / one.name
        if pathlib.Path(folder).resolve() not in path.resolve().parents:
            raise told("bad_model", f"the parameter {one.name!r} is not the name of a file in {folder}", AGAIN)
        if not path.is_file():
            raise wrong_input(
                f"{folder} has no file for the parameter `{one.name}`",
                "put the file of all parameters beside the program, as NAME.pdiparams, or one file for each parameter",
            )
        reader = Reader(os.fspath(path), read_file(path), AGAIN)
        made[one.name] = _record(reader, one.name)
        paths.append(os.fspath(path))
    return made, paths


def given_params(given: Mapping, variables: Sequence[Variable]) -> dict[str, np.ndarray]:
    """Returns arrays that the user gives by name, NumPy's or Paddle's."""
    made = {}
    for one in variables:
        if one.name in given:
            found = given[one.name]
            made[one.name] = np.asarray(found.numpy() if hasattr(found, "numpy") else found)
    return made


def _record(reader: Reader, name: str) -> np.ndarray:
    what = f"the parameter `{name}`"
    if reader.number("I", what) != 0:
        raise reader.corrupt(f"{what} has an unknown version", reader.at - 4)
    for _ in range(_bounded(reader, reader.number("Q", what), what)):
        reader.take(_bounded(reader, reader.number("Q", what), what), what)
    if reader.number("I", what) != 0:
        raise reader.corrupt(f"{what} has an unknown version", reader.at - 4)
    size, at = reader.number("i", what), reader.at
    try:
        about = _DESC.read(reader.take(size, what), at)
    except WireError as error:
        raise reader.corrupt(f"{what}: {error}", error.at) from error
    if about.data_type not in _NUMPY:
        raise reader.corrupt(f"{what} has elements of the unknown type {about.data_type}", at)
    return reader.array(_NUMPY[about.data_type], [int(one) for one in about.dims], what)


def _bounded(reader: Reader, count: int, what: str) -> int:
    if count > reader.left:
        raise reader.corrupt(f"{what} has a length of {count}, and {reader.left} bytes are left")
    return count


def check_shape(variable: Variable, found: np.ndarray) -> None:
    """Refuses an array that has another shape than the program declares."""
    wanted = variable.sizes
    if wanted is not None and (
        len(wanted) != found.ndim or any(a is not None and a != b for a, b in zip(wanted, found.shape, strict=True))
    ):
        raise told(
            "bad_model",
            f"the parameter `{variable.name}` has the shape {list(found.shape)}, and the program declares {wanted}",
            "take the file of parameters that was written together with the program",
        )
