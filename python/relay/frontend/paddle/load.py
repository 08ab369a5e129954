"""The forms in which users give a model of PaddlePaddle: files, folders, and objects of the framework."""

from __future__ import annotations

import os
import pathlib
import tempfile
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..._core import IRModule
from ...errors import wrong_input
from ..shared.beside import partner
from ..shared.binary import read_file
from ..shared.expressions import GIVE_SHAPES
from . import pir
from .graph import Importer
from .params import given_params, params_in, params_of
from .program import AGAIN, Program, program_of

_PROGRAMS = ("inference.json", "inference.pdmodel", "model.json", "model.pdmodel", "__model__")
_PARAMS = ("__params__", "params", "weights")
_HELP = "put NAME.pdmodel or NAME.json and NAME.pdiparams into one folder"


def import_file(path: str, shapes: Mapping[str, Sequence[int]] | None = None) -> tuple[IRModule, list[str]]:
    """Returns the module of a program and of the parameters beside it, or the reverse, or of a folder with both, and
    the paths that were read."""
    program = _program_path(path)
    described = _read(program)
    arrays, files = _params_beside(program, described)
    return _imported(described, arrays, shapes, None), [program, *files]


def _program_path(path: str) -> str:
    folder = pathlib.Path(path)
    if folder.is_dir():
        found = next((folder / name for name in _PROGRAMS if (folder / name).is_file()), None)
        if found is None:
            name = partner(os.fspath(folder / "x"), [".pdmodel"], [], "program", _HELP)
            if name is None:
                raise wrong_input(f"{path} has no program of PaddlePaddle", _HELP)
            return name
        return os.fspath(found)
    if folder.suffix == ".pdiparams":
        stem = folder.name.removesuffix(".pdiparams")
        found = partner(path, [".pdmodel"], [f"{stem}.json", f"{stem}.pdmodel", "__model__"], "program", _HELP)
        if found is None:
            raise wrong_input(f"{path} has the parameters of a PaddlePaddle model, and no program is beside it", _HELP)
        return found
    return path


def _read(path: str) -> Program:
    content = read_file(path)
    return _program(path, content)


def _program(name: str, content: bytes) -> Program:
    return pir.program_of(name, content) if pir.is_program(content) else program_of(name, content)


def _params_beside(path: str, program: Program) -> tuple[dict[str, np.ndarray], list[str]]:
    """Returns the parameters: of NAME.pdiparams, of a file beside the program, or of one file for each."""
    stored = program.stored
    if not stored:
        return {}, []
    folder, stem = pathlib.Path(path).parent, pathlib.Path(path).stem
    if (folder / stored[0].name).is_file() and stored[0].name not in _PARAMS:
        return params_in(os.fspath(folder), stored)
    found = partner(path, [".pdiparams"], [f"{stem}.pdiparams", *_PARAMS], "parameters", _HELP)
    if found is None:
        raise wrong_input(f"{path} has {len(stored)} parameters, and no .pdiparams file is beside it", _HELP)
    return params_of(found, read_file(found), stored), [found]


def _imported(
    program: Program, arrays: dict[str, np.ndarray], shapes: Mapping | None, custom: Mapping[str, Callable] | None
) -> IRModule:
    return Importer(program, arrays, shapes or {}, custom or {}).program()


def from_paddle(
    program_or_layer: object,
    shape_dict: Mapping[str, Sequence[int]] | None = None,
    scope: object = None,
    custom_operators: Mapping[str, Callable] | None = None,
) -> tuple[IRModule, dict]:
    """Returns (module, params) of a model of PaddlePaddle, with the arguments of TVM's importer. All parameters are
    constants of the module, so that params is empty.

    program_or_layer: the path of a program (.pdmodel, .json, __model__), or of a folder with one; a
    paddle.static.Program with `scope`; a layer that paddle.jit.load returned; or a paddle.nn.Layer, with the shapes
    of its inputs.
    shape_dict: sizes of the inputs by name, which replace open ones: {"x": (1, 3, 224, 224)}.
    scope: the parameters of a Program: a paddle.static.Scope, or arrays by name; the global scope by default.
    custom_operators: functions by the name of an operator, function(inputs, attributes), which returns an expression,
    or one for each output.
    """
    given = program_or_layer
    if isinstance(given, (str, os.PathLike)):
        path = _program_path(os.fspath(given))
        described = _read(path)
        arrays = _params_beside(path, described)[0] if scope is None else _of_scope(scope, described)
        return _imported(described, arrays, shape_dict, custom_operators), {}
    if isinstance(given, (bytes, bytearray, memoryview)):
        described = _program("<program>", bytes(given))
        return _imported(described, _of_scope(scope, described), shape_dict, custom_operators), {}
    if hasattr(given, "forward") and hasattr(given, "state_dict"):
        with tempfile.TemporaryDirectory() as folder:
            _save_layer(given, f"{folder}/inference", shape_dict)
            return from_paddle(folder, shape_dict, None, custom_operators)
    if hasattr(given, "global_block"):
        return _from_program(given, shape_dict, scope, custom_operators)
    raise wrong_input(
        f"{type(given).__name__} is given as a model of PaddlePaddle",
        "give a path, a paddle.static.Program, a paddle.nn.Layer, or a layer of paddle.jit.load",
    )


def _of_scope(scope: object, program: Program) -> dict[str, np.ndarray]:
    """Returns the parameters in a scope, or among arrays by name."""
    names = [one.name for one in program.stored]
    if scope is None:
        scope = {}
    if not isinstance(scope, Mapping):
        found = {name: scope.find_var(name) for name in names}
        scope = {name: np.array(one.get_tensor()) for name, one in found.items() if one is not None}
    missing = [name for name in names if name not in scope]
    if missing:
        raise wrong_input(f"the scope has no parameter `{missing[0]}`", "give the scope in which the program was made")
    return given_params(scope, program.stored)


def _from_program(program, shapes, scope, custom) -> tuple[IRModule, dict]:
    """Imports a Program: of the protobuf form by its own bytes, of the JSON form through a file."""
    if scope is None:
        import paddle

        scope = paddle.static.global_scope()
    if hasattr(program, "desc"):
        content = program.desc.serialize_to_string()
    else:
        from paddle.base import core

        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/program.json"
            core.serialize_pir_program(program, path, 1, True, False, True)
            content = read_file(path)
    described = _program("<Program>", content)
    return _imported(described, _of_scope(scope, described), shapes, custom), {}


def _save_layer(layer, path: str, shapes: Mapping | None) -> None:
    """Writes a layer. Its inputs are those that it knows, or have the given shapes, in order."""
    import paddle

    specs = None
    if hasattr(layer, "_input_spec"):  # paddle.jit.load returned it
        specs = layer._input_spec()
    elif shapes:
        specs = [
            paddle.static.InputSpec([-1 if one is None else one for one in sizes], "float32", name)
            for name, sizes in shapes.items()
        ]
    elif getattr(layer.forward, "_function_spec", None) is None:
        raise wrong_input(f"the layer {type(layer).__name__} does not know the shapes of its inputs", GIVE_SHAPES)
    was_training = layer.training
    layer.eval()
    try:
        paddle.jit.save(layer, path, input_spec=specs)
    except Exception as error:  # of Paddle's own tracing
        raise wrong_input(f"PaddlePaddle cannot save the layer: {str(error).strip()[:400]}", AGAIN) from error
    finally:
        if was_training:
            layer.train()
