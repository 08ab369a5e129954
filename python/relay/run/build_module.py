"""Compilation and execution under the names that users of TVM's Relay know.

    lib = relay.build(mod, target="llvm", params=params)
    m = relay.GraphModule(lib["default"](relay.cpu()))
    m.set_input("data", x); m.run(); y = m.get_output(0)

    f = relay.create_executor("graph", mod).evaluate()       # or "debug", "vm"
    y = f(x, weight=w)

relay.compile() and relay.evaluate() are the shorter forms.
"""

from __future__ import annotations

import dataclasses
import json
import os
import time

import numpy as np

from .._core import Constant, Expr, Function, GlobalVar, IRModule, TensorType, TupleType, post_order_visit
from ..data.params import load_param_dict
from ..ir.expr import bind
from ..ir.pass_infra import PassContext
from .compiled import Compiled, evaluate
from .compiled import compile as compile_module

__all__ = [
    "Device",
    "Executor",
    "GraphModule",
    "Library",
    "bind_params_by_name",
    "build",
    "cpu",
    "create_executor",
    "optimize",
]


@dataclasses.dataclass(frozen=True)
class Device:
    """A device: the processor, cpu(0), or a further memory of it, cpu(1). Programs cannot be compiled for other
    kinds."""

    device_type: str = "cpu"
    device_id: int = 0

    exist = property(lambda self: self.device_type == "cpu")

    def sync(self) -> None:
        """Waits until the device is idle. It always is: a run returns its result only when it has finished."""

    def __str__(self) -> str:
        return f"{self.device_type}({self.device_id})"


def cpu(device_id: int = 0) -> Device:
    """Returns the processor."""
    return Device("cpu", device_id)


def _target_name(target) -> str:
    """Returns compile()'s name of a target that is given in TVM's form: "llvm -mcpu=haswell" or {device: "llvm"}."""
    if isinstance(target, dict):
        target = next(iter(target.values()))
    words = str("native" if target is None else target).split()
    if words[0] != "llvm":
        return str(target) if target is not None else "native"
    for word in words[1:]:
        if word.startswith("-mcpu="):
            return word.removeprefix("-mcpu=")
    return "native"


def bind_params_by_name(func: Function, params: dict) -> Function:
    """Returns the function with the parameters of these names replaced by constants."""
    by_name = {}
    for param in func.params:
        if param.name_hint in by_name and param.name_hint in params:
            raise ValueError(f"two parameters are named {param.name_hint}: bind them as variables, with relay.bind")
        by_name[param.name_hint] = param
    missing = [name for name in params if name not in by_name]
    if missing:
        raise ValueError(f"the function has no parameter {missing[0]}; it has: {', '.join(by_name)}")
    return bind(func, {by_name[name]: _constant(value) for name, value in params.items()})


def _constant(value) -> Expr:
    return value if isinstance(value, Expr) else Constant(value)


def _with_params(mod: IRModule | Function, params: dict | None) -> IRModule:
    mod = IRModule({"main": mod}) if isinstance(mod, Function) else mod
    if not params:
        return mod
    main = mod["main"]
    known = {param.name_hint for param in main.params}
    mod = mod.clone()
    mod["main"] = bind_params_by_name(main, {name: value for name, value in params.items() if name in known})
    return mod


def _level() -> int:
    return min(PassContext.current().opt_level, 3)


# --- build ------------------------------------------------------------------------------------------------------------
class Library:
    """The result of build(): lib["default"](device) for a GraphModule, lib.export_library(path) for a file."""

    def __init__(self, compiled: Compiled, module: IRModule | None = None, name: str = "default"):
        self.compiled = compiled
        self.module = module  # as given to build()
        self.name = name

    def __getitem__(self, name: str):
        if name != self.name:
            raise KeyError(f"the library has one module, {self.name!r}, not {name!r}")
        return lambda *devices: self.compiled

    def __iter__(self):
        """Unpacks as graph, lib, params = build(...): the report as JSON, this object, and no parameters, which are
        part of the library."""
        return iter((json.dumps(self.compiled.report), self, {}))

    def get_lib(self) -> Library:
        """Returns this object."""
        return self

    def get_params(self) -> dict:
        """Returns an empty dict: parameters are constants of the library."""
        return {}

    def get_graph_json(self) -> str:
        """Returns the report of the compilation as JSON."""
        return json.dumps(self.compiled.report)

    def export_library(self, path: str | os.PathLike, **ignored) -> None:
        """Writes an artifact, which relay.load() and `relay run` read."""
        self.compiled.save(path, "artifact")


def build(
    ir_mod: IRModule | Function,
    target=None,
    target_host=None,
    params: dict | None = None,
    mod_name: str = "default",
    **options,
) -> Library:
    """Compiles @main with `params` as constants, at the level of the current PassContext.

    mod_name: lib[mod_name](device) is the module. options: those of relay.compile (threads, executor, ...).
    """
    options.setdefault("opt_level", _level())
    module = _with_params(ir_mod, params)
    return Library(compile_module(module, target=_target_name(target), **options), module, mod_name)


def optimize(mod: IRModule | Function, target=None, params: dict | None = None) -> tuple[IRModule, dict]:
    """Returns the program after the passes of build(), and no parameters, which are constants of the program."""
    return build(mod, target, params=params).compiled.module, {}


# --- executors --------------------------------------------------------------------------------------------------------
class Executor:
    """Runs expressions that may call a module's functions. `kind` is "debug" for the reference evaluator, or "graph",
    "vm" or "aot" to compile; "aot" also compiles functions to machine code."""

    kinds = ("debug", "graph", "vm", "aot")

    def __init__(self, kind: str, mod: IRModule | None, target=None, params: dict | None = None):
        if kind not in self.kinds:
            raise ValueError(f"there is no executor {kind!r}: {', '.join(self.kinds)}")
        self.kind = kind
        self.mod = IRModule() if mod is None else mod
        self.target = target
        self.params = params

    def evaluate(self, expr: Expr | None = None, binds: dict | None = None):
        """Returns a callable for a function, which takes arrays by position or name, or the value of any other
        expression.

        Without an expression, returns a callable for @main.
        """
        if expr is None or isinstance(expr, GlobalVar):
            expr = self.mod["main" if expr is None else expr]
        if binds:
            expr = bind(expr, {var: _constant(value) for var, value in binds.items()})
        is_function = isinstance(expr, Function)
        function = expr if is_function else Function([], expr)
        if is_function and self.params:
            known = {param.name_hint for param in function.params}
            function = bind_params_by_name(function, {k: v for k, v in self.params.items() if k in known})
        run = self._runner(self._as_main(function))
        if not is_function:
            return run([])
        return lambda *args, **named: run(_arguments(function, args, named))

    def _as_main(self, function: Function) -> IRModule:
        mod = self.mod.clone()
        if "main" in mod and mod["main"] is not function and self._calls_main():
            raise ValueError("the module's functions call @main: evaluate a call of it instead of another function")
        mod["main"] = function
        return mod

    def _calls_main(self) -> bool:
        found = []
        for function in self.mod.functions.values():
            post_order_visit(function, lambda e: found.append(e) if e == GlobalVar("main") else None)
        return bool(found)

    def _runner(self, mod: IRModule):
        if self.kind == "debug":
            return lambda args: evaluate(mod, args)
        options = {"executor": self.kind} if self.kind in ("vm", "aot") else {}
        model = compile_module(mod, target=_target_name(self.target), opt_level=_level(), **options)
        return lambda args: model(*args)


def _arguments(function: Function, args: tuple, named: dict) -> list:
    """Returns the inputs in the order of the parameters. Numbers and lists become arrays of the parameter's element
    type."""
    names = [param.name_hint for param in function.params]
    values = dict(enumerate(args))
    if len(args) > len(names):
        raise TypeError(f"the function has {len(names)} parameters, {len(args)} arguments are given")
    for name, value in named.items():
        if names.count(name) != 1:
            raise TypeError(f"the function has no parameter {name}; it has: {', '.join(names)}")
        if names.index(name) in values:
            raise TypeError(f"argument {name} is given twice")
        values[names.index(name)] = value
    missing = [name for i, name in enumerate(names) if i not in values]
    if missing:
        raise TypeError(f"missing arguments: {', '.join(missing)}")
    return [
        _of_type(param._checked_type_ or param.type_annotation, values[i]) for i, param in enumerate(function.params)
    ]


def _of_type(type_, value):
    if isinstance(type_, TensorType) and isinstance(value, (bool, int, float, list)):
        return np.asarray(value, type_.dtype)
    if isinstance(type_, TupleType) and isinstance(value, tuple) and len(value) == len(type_.fields):
        return tuple(map(_of_type, type_.fields, value))
    return value


def create_executor(
    kind: str = "debug", mod: IRModule | None = None, device=None, target=None, params=None
) -> Executor:
    """Returns an executor: create_executor("graph", mod).evaluate()(x)."""
    return Executor(kind, mod, target, params)


# --- the graph executor -----------------------------------------------------------------------------------------------
class GraphModule:
    """Sets inputs, runs a model and gets outputs one by one: GraphModule(lib["default"](dev))."""

    def __init__(self, module: Compiled | Library):
        self.compiled = module.compiled if isinstance(module, Library) else module
        self._inputs: dict[str, object] = {}
        self._into: dict[int, np.ndarray] = {}
        self._outputs: tuple = ()

    def set_input(self, key: str | int | None = None, value=None, **params) -> None:
        """Sets one input by name or number, and others by name."""
        if key is not None:
            params[self.compiled.inputs[key].name if isinstance(key, int) else key] = value
        known = {port.name for port in self.compiled.inputs}
        for name, one in params.items():
            if name not in known:
                raise ValueError(f"the model has no input {name}; it has: {', '.join(sorted(known))}")
            self._inputs[name] = np.array(one)  # the caller may change the array before the run

    def run(self, **inputs) -> None:
        """Runs the model on the inputs."""
        self.set_input(**inputs)
        self._outputs = tuple(_leaves(self.compiled(**self._inputs)))
        for index, array_ in self._into.items():
            np.copyto(array_, self._outputs[index])

    def get_output(self, index: int, out=None):
        """Returns an output of the last run, copied into `out` if it is given."""
        value = self._outputs[index]
        if out is None:
            return value
        np.copyto(out, value)
        return out

    def get_input(self, key: str | int):
        """Returns an input that was set."""
        return self._inputs[self.compiled.inputs[key].name if isinstance(key, int) else key]

    def set_input_zero_copy(self, key: str | int, value) -> None:
        """Sets an input that is read in place: the run reads what the array contains at that time."""
        self._inputs[self._name(key)] = value

    def set_output_zero_copy(self, key: int, value: np.ndarray) -> None:
        """Sets an array that every run writes an output into."""
        self._into[int(key)] = value

    def _name(self, key: str | int) -> str:
        name = self.compiled.inputs[key].name if isinstance(key, int) else key
        if self.get_input_index(name) < 0:
            raise ValueError(
                f"the model has no input {name}; it has: {', '.join(p.name for p in self.compiled.inputs)}"
            )
        return name

    def run_from_inputs(self, inputs: dict, outputs: list[np.ndarray] | None = None) -> list:
        """Runs the model on `inputs`, by name. Returns the outputs, copied into `outputs` if they are given."""
        self.run(**inputs)
        return [self.get_output(i, None if outputs is None else outputs[i]) for i in range(self.get_num_outputs())]

    def load_params(self, data: bytes) -> None:
        """Sets the inputs that save_param_dict() wrote. Other parameters are constants of the model already."""
        known = {port.name for port in self.compiled.inputs}
        self.set_input(**{name: value for name, value in load_param_dict(data).items() if name in known})

    def share_params(self, other: GraphModule, data: bytes) -> None:
        """Takes the inputs whose names save_param_dict() wrote from another module, without a copy."""
        for name in load_param_dict(data):
            if name in other._inputs:
                self._inputs[self._name(name)] = other._inputs[name]

    def get_input_index(self, name: str) -> int:
        """Returns the number of an input, or -1 if there is no input of this name."""
        return next((i for i, port in enumerate(self.compiled.inputs) if port.name == name), -1)

    def get_input_info(self) -> tuple[dict, dict]:
        """Returns the shapes and the element types of the inputs by name."""
        ports = self.compiled.inputs
        return {port.name: list(port.shape) for port in ports}, {port.name: port.dtype for port in ports}

    def get_num_outputs(self) -> int:
        """Returns the number of outputs."""
        return len(self.compiled.outputs)

    def get_num_inputs(self) -> int:
        """Returns the number of inputs."""
        return len(self.compiled.inputs)

    def benchmark(
        self,
        device=None,
        func_name: str = "run",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: float | None = None,
        limit_zero_time_iterations: int = 100,
        end_to_end: bool = False,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
        **inputs,
    ) -> BenchmarkResult:
        """Times runs on the inputs that are set. Returns `repeat` means over `number` runs each; `number` grows until a
        measurement takes min_repeat_ms.
        end_to_end: includes setting the inputs and getting the outputs. Every run makes an array, so its time is never
        zero. After each repeats_to_cooldown measurements, the processor rests for cooldown_interval_ms.
        """
        if func_name != "run":
            raise ValueError(f"only 'run' can be timed, not '{func_name}'")
        self.set_input(**inputs)
        self.compiled.wait()

        def once():
            if end_to_end:
                self.run(**{name: np.array(value) for name, value in self._inputs.items()})
                return [np.array(self.get_output(i)) for i in range(self.get_num_outputs())]
            return self.compiled(**self._inputs)

        return timed(once, repeat, number, min_repeat_ms, cooldown_interval_ms, repeats_to_cooldown)


def timed(once, repeat: int, number: int, min_repeat_ms=None, cooldown_ms: float = 0, cooldown_every: int = 1):
    """Times a function. Returns `repeat` means over `number` calls each."""
    once()
    results = []
    for measured in range(repeat):
        calls = number
        while True:
            begin = time.perf_counter()
            for _ in range(calls):
                once()
            seconds = time.perf_counter() - begin
            if min_repeat_ms is None or seconds * 1e3 >= min_repeat_ms:
                break
            calls *= 2
        results.append(seconds / calls)
        if cooldown_ms and (measured + 1) % cooldown_every == 0:
            time.sleep(cooldown_ms / 1e3)
    return BenchmarkResult(results)


def _leaves(value) -> list:
    """Returns the elements of nested tuples, in order."""
    return [leaf for one in value for leaf in _leaves(one)] if isinstance(value, tuple) else [value]


@dataclasses.dataclass(frozen=True)
class BenchmarkResult:
    """The times of runs, in seconds."""

    results: list[float]

    mean = property(lambda self: float(np.mean(self.results)))
    median = property(lambda self: float(np.median(self.results)))
    min = property(lambda self: float(np.min(self.results)))
    max = property(lambda self: float(np.max(self.results)))
    std = property(lambda self: float(np.std(self.results)))

    def __str__(self) -> str:
        return f"mean {self.mean * 1e3:.4f} ms, median {self.median * 1e3:.4f} ms, max {self.max * 1e3:.4f} ms"
