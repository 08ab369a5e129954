"""compile() and its result, a callable program on a plugin's device."""

from __future__ import annotations

import os
import time

import numpy as np

from .. import _core
from .._core import Function, IRModule, TupleType
from ..data.arrays import array, like
from ..errors import not_supported, wrong_input
from ..export import written
from ..export.program import leaf_types
from ..run.compiled import load as load_model
from ..run.ports import Port, in_order, unpacked
from .plugin import Plugin, load


class Program:
    """A program on the first device of a PJRT plugin. Call it like a relay.Compiled, with arrays by position or by
    name: inputs are copied to the device, and results back. Any number of threads may call it at the same time.

    plugin: that runs it. text: its StableHLO. compile_ms: the time that the plugin took to compile it.
    """

    def __init__(self, module: IRModule | Function, plugin: Plugin):
        module = IRModule({"main": module}) if isinstance(module, Function) else module
        _refuse_converted(module)
        self.plugin = plugin
        self.text, main = written(module)
        self._types = [param.checked_type for param in main.params]
        self._result = main.body.checked_type
        self.inputs: list[Port] = [_port(param.name_hint, param.checked_type) for param in main.params]
        self._names = [port.name for port in self.inputs]
        begin = time.perf_counter()
        self._loaded = plugin.compile(self.text, leaf_types(self._result))
        self.compile_ms = (time.perf_counter() - begin) * 1e3

    def __call__(self, *args: object, **named: object):
        args, named = unpacked(args, named)
        values = in_order(self._names, args, named)
        leaves = []
        for value, port, type_ in zip(values, self.inputs, self._types, strict=True):
            leaves += _leaves(value, port.name, type_)
        example = next((v for v in values if type(v).__module__.partition(".")[0] == "torch"), None)
        results = iter(like([array(one) for one in self.run(leaves)], example))
        return _structured(results, self._result)

    def run(self, leaves: list[_core.Array]) -> list[np.ndarray]:
        """Returns the results, with tuples flattened, for inputs with tuples flattened."""
        return self._loaded.run(leaves)

    def __repr__(self) -> str:
        return f"<relay.pjrt.Program ({', '.join(map(str, self.inputs))}) on {self.plugin.platform}>"


def compile(model, plugin: str | os.PathLike[str] | Plugin, *, shapes=None) -> Program:
    """Compiles a model for the first device of a PJRT plugin: a module, a function, or anything that relay.load()
    accepts.

    plugin: the path of its shared library, or a plugin that relay.pjrt.load returned.
    shapes: sizes for inputs that lack them, as in relay.load(); all sizes must be constants.
    """
    plugin = plugin if isinstance(plugin, Plugin) else load(plugin)
    if isinstance(model, Function):
        model = IRModule({"main": model})
    if not isinstance(model, IRModule):
        model = load_model(model, shapes=shapes)
    elif shapes:
        model = model.bind_shapes(shapes)
    if not isinstance(model, IRModule):
        raise wrong_input("a compiled artifact has no program for a PJRT plugin", "give the original model")
    return Program(model, plugin)


def run(module: IRModule, path: str, inputs: list[_core.Array]) -> tuple[list[_core.Array], str, float, float]:
    """Runs @main once, for `relay run --target pjrt:PATH`. Inputs and results have their tuples flattened. Returns the
    results, a description of the device, and the milliseconds of compiling and of running."""
    program = Program(module, load(path))
    begin = time.perf_counter()
    results = program.run(inputs)
    run_ms = (time.perf_counter() - begin) * 1e3
    plugin = program.plugin
    about = f"{plugin.platform} through {os.path.basename(path)}, PJRT {plugin.version}"
    return [array(one) for one in results], about, program.compile_ms, run_ms


def _refuse_converted(module: IRModule) -> None:
    """Refuses models whose values relay.Compiled converts at each call."""
    _, string_inputs, string_outputs = _core.strings(module)
    for kind, held in (
        ("strings", [*string_inputs, *string_outputs]),
        ("complex numbers", [one for part in _core.complex(module) for one in part]),
        ("sequences or maps", _core.containers(module)[0]),
    ):
        if held:
            raise not_supported(f"the model has inputs or results that are {kind}", "compile it for a CPU")


def _port(name: str, type_) -> Port:
    if isinstance(type_, TupleType):
        return Port(name, "", (), str(type_))
    return Port(name, str(type_.dtype), tuple(type_.shape))


def _leaves(value, name: str, type_) -> list[_core.Array]:
    """Returns the tensors of an argument. Raises an error if its type is another."""
    if isinstance(type_, TupleType):
        if not isinstance(value, (tuple, list)) or len(value) != len(type_.fields):
            raise wrong_input(f"input `{name}` is {type_}, not {type(value).__name__}", "give a tuple of its fields")
        parts = zip(value, type_.fields, strict=True)
        return [one for i, (part, field) in enumerate(parts) for one in _leaves(part, f"{name}.{i}", field)]
    given = array(value, str(type_.dtype))
    if (given.dtype, tuple(given.shape)) != (str(type_.dtype), tuple(type_.shape)):
        wanted = f"{type_.dtype}[{', '.join(map(str, type_.shape))}]"
        raise wrong_input(
            f"input `{name}` is {wanted}, the array given is {given.dtype}[{', '.join(map(str, given.shape))}]",
            f"convert it: array.astype('{type_.dtype}')" if given.dtype != str(type_.dtype) else f"give {wanted}",
        )
    return [given]


def _structured(results, type_):
    if isinstance(type_, TupleType):
        return tuple(_structured(results, field) for field in type_.fields)
    return next(results)
