"""The PyTorch importer: exported programs, .pt2 files, modules with example inputs, TorchScript.

The importer reads exported programs. A module is exported by torch.export.export, and a TorchScript module by running
its graph (script.py). torch is imported on first use.
"""

from __future__ import annotations

import copy
import io
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from ..._core import IRModule
from ...errors import CompileError, wrong_input

if TYPE_CHECKING:
    import numpy as np

F = TypeVar("F", bound=Callable[..., object])

__all__ = ["converter", "from_exported", "from_module", "from_script", "read_pt2"]


def from_exported(program: object) -> IRModule:
    """Returns the module of a torch.export.ExportedProgram. @main takes its user inputs; weights are constants."""
    from .graph import import_program

    return import_program(program)


def read_pt2(name: str, content: bytes | None = None) -> IRModule:
    """Returns the module of a .pt2 file, or of its bytes."""
    try:
        import torch
    except ImportError as error:
        raise wrong_input(
            f"{name} is an exported program of PyTorch, which is not installed", "pip install torch"
        ) from error
    try:
        program = torch.export.load(name if content is None else io.BytesIO(content))
    except Exception as error:  # exceptions of zipfile, json and PyTorch
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise wrong_input(
            f"{name} cannot be read by torch.export.load: {first}",
            "write the file with torch.export.save, of a PyTorch that is not newer than the one installed here",
        ) from error
    return from_exported(program)


def is_script_file(path: str) -> bool:
    """Returns true if torch.jit.save wrote the file."""
    import zipfile  # here, so that `import relay` stays fast

    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        names = [name.partition("/")[2] for name in archive.namelist()]
    return "constants.pkl" in names and any(name.startswith("code/") for name in names)


def _read_script(path: str):
    import torch

    if not is_script_file(path):
        raise wrong_input(
            f"{path} is not a TorchScript file",
            "torch.jit.save writes one; relay.load takes other files, and state_dict=PATH is for weights of a module",
        )
    return torch.jit.load(path, map_location="cpu").eval()


def _read_state(path: str) -> dict:
    """Reads the weights of a file that torch.save wrote, or of a safetensors file."""
    import torch

    try:
        if path.endswith(".safetensors"):
            from safetensors.torch import load_file

            return load_file(path)
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # exceptions of pickle, zipfile, safetensors, the file system
        raise wrong_input(
            f"{path} cannot be read as a state dict: {(str(error).strip() or type(error).__name__).splitlines()[0]}",
            "write the file with torch.save(module.state_dict(), path)",
        ) from error


def _with_state(module, state):
    """Returns a copy of the module with these weights."""
    state = _read_state(os.fspath(state)) if isinstance(state, str | os.PathLike) else state
    module = copy.deepcopy(module)
    try:
        module.load_state_dict(state)
    except Exception as error:  # RuntimeError, or any exception of a value that is not a dict
        raise wrong_input(
            f"the state dict does not belong to the {type(module).__name__}: {error}",
            "give what state_dict() of a module of the same class with the same sizes returns",
        ) from error
    return module


def from_module(
    module: Callable[..., object] | str | os.PathLike[str],
    example_inputs: object,
    dynamic_shapes: object = None,
    state_dict: Mapping[str, object] | str | os.PathLike[str] | None = None,
) -> IRModule:
    """Returns the module of a torch.nn.Module, or of a TorchScript module, function or file, called as
    module(*example_inputs).

    dynamic_shapes: as for torch.export.export; sizes named there become shape variables. state_dict: weights that
    replace the module's own: a dict, or the path of a file of torch.save or safetensors.
    """
    import torch

    module = _read_script(os.fspath(module)) if isinstance(module, str | os.PathLike) else module
    module = module if state_dict is None else _with_state(module, state_dict)
    example_inputs = (example_inputs,) if isinstance(example_inputs, torch.Tensor) else tuple(example_inputs)
    if _is_script(module):
        from .graph import import_program

        names = _names(module, example_inputs)
        if dynamic_shapes is not None:
            from .script_shapes import by_position

            dynamic_shapes = by_position(dynamic_shapes, names, len(example_inputs))
        return import_program(_of_script(module, example_inputs, dynamic_shapes), names)
    try:
        program = torch.export.export(module, example_inputs, dynamic_shapes=dynamic_shapes)
    except Exception as error:  # PyTorch has many exception classes for it, and the user's forward may raise any
        raise wrong_input(
            f"torch.export.export cannot export the {type(module).__name__}: {type(error).__name__}: {error}",
            "make torch.export.export(module, example_inputs) work first, then pass its result",
        ) from error
    return from_exported(program)


# Values of from_script's other arguments that ask for unsupported names, files and forms.
_NOT_HERE = {
    "use_parser_friendly_name": "inputs keep the names of input_infos",
    "keep_quantized_weight": "weights are constants, and integers stay integers",
    "export_renamed_c_graph_path": "messages and profiles name the line of Python instead",
    "preserve_pytorch_scopes": "messages and profiles name the line of Python instead",
}
_DTYPES = {"float": "float32", "double": "float64", "int": "int32", "long": "int64"}


def from_script(
    script_module: Callable[..., object],
    input_infos: Iterable[tuple[str, Sequence]],
    custom_convert_map: Mapping[str, Callable[..., object]] | None = None,
    default_dtype: str = "float32",
    **others: object,
) -> tuple[IRModule, dict[str, np.ndarray]]:
    """Returns the module of a TorchScript or torch.nn module, and no parameters.

    input_infos are [(name, shape or (shape, dtype))]; inputs get these names. custom_convert_map: additional converters
    by operator, {"mine::scaled": f}, as relay.frontend.converter describes them. This is the function that TVM's users
    know; its other arguments are accepted if they ask for nothing.
    """
    import torch

    for name, value in others.items():
        if name not in _NOT_HERE:
            raise TypeError(f"from_pytorch() got an unexpected keyword argument {name!r}")
        if value:
            raise wrong_input(f"from_pytorch has no {name}", f"leave it out: {_NOT_HERE[name]}")
    examples = []
    for name, info in input_infos:
        typed = len(info) == 2 and isinstance(info[1], str)
        shape, dtype = info if typed else (info, default_dtype)
        kind = getattr(torch, _DTYPES.get(dtype, dtype), None)
        if not isinstance(kind, torch.dtype):
            raise wrong_input(
                f"input `{name}` has the element type {dtype!r}", "give one of PyTorch's element types, such as 'int64'"
            )
        examples.append(torch.ones(tuple(shape), dtype=kind))
    from .converters import within
    from .graph import import_program

    module = script_module
    with within(custom_convert_map):
        if _is_script(module):
            program = _of_script(module, tuple(examples))
        else:
            program = torch.export.export(module, tuple(examples))
        return import_program(program, [name for name, _ in input_infos]), {}


def converter(name: str) -> Callable[[F], F]:
    """Returns a decorator. The decorated function imports the operator `name`, such as "mine::scaled" or "aten::i0", in
    all of its overloads.

    function(inputs, types): `inputs` are the arguments in the order of the operator's schema, tensors as relay.Expr and
    all others as Python objects. `types` are the element types of tensors, such as "float32", and None for other
    arguments. It returns an expression, or a list of expressions for several results. From then on, imports and
    torch.compile(backend="relay") support the operator.
    """
    from .converters import register

    def decorate(function: F) -> F:
        register(name, function)
        return function

    return decorate


def _is_script(module) -> bool:
    import torch

    return isinstance(module, torch.jit.ScriptModule | torch.jit.ScriptFunction)


def _names(script, example_inputs: tuple) -> list[str] | None:
    """Returns the names of the inputs, after `self` for a module."""
    import torch

    first = 0 if isinstance(script, torch.jit.ScriptFunction) else 1
    names = [one.debugName().partition(".")[0] for one in list(script.graph.inputs())[first:]]
    return names if len(names) == len(example_inputs) else None


def _of_script(module, example_inputs: tuple, dynamic_shapes: tuple | None = None):
    """Returns the exported program of a ScriptModule or ScriptFunction."""
    import torch

    from .script import traced
    from .script_shapes import as_fake

    try:
        given = example_inputs if dynamic_shapes is None else as_fake(example_inputs, dynamic_shapes)
        graph = traced(module, given)
        return torch.export.export(graph, example_inputs, dynamic_shapes=dynamic_shapes)
    except CompileError:
        raise
    except Exception as error:  # exceptions of operators, and those of torch.export
        raise wrong_input(
            f"PyTorch cannot export the TorchScript module: {type(error).__name__}: {error}",
            "export the original torch.nn.Module with torch.export.export(module, example_inputs), then pass the "
            "result to relay.load",
        ) from error
