"""tvm.runtime.vm: compiled programs, and the machine that runs them."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

import relay as _relay
from relay.run.build_module import timed

from ..nd import NDArray


class Executable(_relay.Library):
    """A compiled program, the result of relay.vm.compile()."""

    @classmethod
    def of(cls, library: _relay.Library) -> Executable:
        """Makes an executable of a library."""
        return cls(library.compiled, library.module)

    def save(self) -> tuple[bytearray, Executable]:
        """Returns the bytes of the program, which load_exec() reads, and the library, which they include."""
        import os
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.rart")
            self.compiled.save(path, "artifact")
            with open(path, "rb") as file:
                return bytearray(file.read()), self

    @staticmethod
    def load_exec(bytecode, lib=None) -> Executable:
        """Reads the output of save()."""
        loaded = Executable(_relay.load(bytes(bytecode)))
        loaded.module = getattr(lib, "module", None)
        return loaded

    lib = property(lambda self: self)
    mod = property(lambda self: self)

    @property
    def globals(self) -> list[str]:
        """The functions that can be called."""
        return ["main"] if self.module is None else sorted(v.name_hint for v in self.module.get_global_vars())

    @property
    def primitive_ops(self) -> list[str]:
        """The names of its kernels."""
        return [kernel["name"] for kernel in self.compiled.report["kernels"]]

    @property
    def bytecode(self) -> str:
        """The program after the passes, as text: there is no other readable form."""
        return self.compiled.module.astext()

    @property
    def stats(self) -> str:
        """The numbers of functions and kernels."""
        return f"Relay VM executable statistics:\n  Globals: {self.globals}\n  Primitive ops: {self.primitive_ops}"

    virtual_devices = property(lambda self: ["cpu:0"])

    def get_function_params(self, func_name: str) -> list[str]:
        """Returns the names of a function's parameters."""
        if func_name == "main":
            return [port.name for port in self.compiled.inputs]
        return [param.name_hint for param in self.module[func_name].params]


@dataclasses.dataclass
class _Inputs:
    args: list
    named: dict


class VirtualMachine:
    """Runs the result of relay.vm.compile(): VirtualMachine(exe, dev).invoke("main", x)."""

    NAIVE_ALLOCATOR, POOLED_ALLOCATOR = 1, 2

    def __init__(self, exe, device=None, memory_cfg=None):
        kinds = list(memory_cfg.values()) if isinstance(memory_cfg, dict) else [memory_cfg]
        for kind in kinds:
            if kind not in (None, "naive", "pooled"):
                raise ValueError(f"memory_cfg is 'naive' or 'pooled', not {kind!r}; both mean one arena")
        self._exe = exe if isinstance(exe, _relay.Library) else _relay.Library(exe)
        self._models: dict[str, object] = {"main": self._exe.compiled}
        self._inputs: dict[str, _Inputs] = {}
        self._into: dict[str, list] = {}
        self._outputs: list = []

    module = property(lambda self: self._exe)

    def _model(self, func_name: str):
        """Returns a function of the module as a separate program."""
        if func_name in self._models:
            return self._models[func_name]
        mod = self._exe.module
        if mod is None or func_name not in mod:
            raise ValueError(f"the program has no function {func_name}; it has: {', '.join(self._names())}")
        inside = mod.clone()
        main = mod[func_name]
        if "main" in inside:
            del inside["main"]
        inside["main"] = main
        self._models[func_name] = _relay.compile(inside)
        return self._models[func_name]

    def _names(self) -> list[str]:
        mod = self._exe.module
        return ["main"] if mod is None else sorted(var.name_hint for var in mod.get_global_vars())

    def invoke(self, func_name: str, *args, **named):
        """Calls a function."""
        from ..relay.backend.interpreter import argument, unwrap, wrap

        mod = self._exe.module
        types = [one.type_annotation for one in mod[func_name].params] if mod is not None and func_name in mod else []
        inputs = [argument(arg, type_) for arg, type_ in itertools.zip_longest(args, types[: len(args)])]
        named = {name: unwrap(arg) for name, arg in named.items()}
        if not args and not named and func_name in self._inputs:
            kept = self._inputs[func_name]
            inputs, named = kept.args, kept.named
        result = wrap(self._model(func_name)(*inputs, **named), self._exe.module)
        into = self._into.pop(func_name, None)
        if into is not None:
            self._write(result, into)
        return result

    @staticmethod
    def _write(result, into: list) -> None:
        results = result if isinstance(result, list) else [result]
        if len(results) != len(into):
            raise ValueError(f"there are {len(results)} outputs, and {len(into)} arrays for them")
        for value, array in zip(results, into, strict=True):
            np.copyto(array, value)

    def set_input(self, func_name: str, *args, **named) -> None:
        """Sets the inputs of a call without arguments."""
        from ..relay.backend.interpreter import unwrap

        names = [port.name for port in self._model(func_name).inputs]
        if len(args) + len(named) != len(names):
            raise ValueError(f"{func_name} has {len(names)} parameters: {', '.join(names)}")
        self._inputs[func_name] = _Inputs(
            [unwrap(arg) for arg in args], {name: unwrap(arg) for name, arg in named.items()}
        )

    def set_one_input(self, func_name: str, *args, **named) -> None:
        """Sets one input, by number, name (tag, tensor) or keyword."""
        from ..relay.backend.interpreter import unwrap

        if len(args) + 2 * len(named) != 2:
            raise ValueError("give an input as a number or name and a value, or as name=value")
        tag, value = args if args else next(iter(named.items()))
        names = [port.name for port in self._model(func_name).inputs]
        name = names[tag] if isinstance(tag, int) else tag
        if name not in names:
            raise ValueError(f"{func_name} has no parameter {name}; it has: {', '.join(names)}")
        kept = self._inputs.setdefault(func_name, _Inputs([], {}))
        kept.named |= dict(zip(names, kept.args, strict=False))
        kept.args = []
        kept.named[name] = unwrap(value)

    def set_outputs(self, func_name: str, *arrays) -> None:
        """Sets arrays that the next call writes its outputs into."""
        self._into[func_name] = list(arrays)

    def run(self, *args, **named):
        """Calls @main."""
        return self.invoke("main", *args, **named)

    def invoke_stateful(self, func_name: str, *args, **named) -> None:
        """Calls a function, and keeps its results for get_outputs()."""
        result = self.invoke(func_name, *args, **named)
        self._outputs = result if isinstance(result, list) else [result]

    def get_outputs(self) -> list[NDArray]:
        """Returns the results that invoke_stateful() kept."""
        return self._outputs

    def invoke_with_outputs(self, func_name: str, input_args: dict, output_args: list) -> None:
        """Calls a function with inputs by name, and writes the outputs into arrays."""
        self.set_outputs(func_name, *output_args)
        self.invoke(func_name, **input_args)

    def get_input_index(self, input_name: str, func_name: str = "main") -> int:
        """Returns the number of a parameter, or -1 if there is no parameter of this name."""
        names = [port.name for port in self._model(func_name).inputs]
        return names.index(input_name) if input_name in names else -1

    def benchmark(
        self,
        device=None,
        *args,
        func_name: str = "main",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: float | None = None,
        limit_zero_time_iterations: int = 100,
        end_to_end: bool = False,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
        **named,
    ):
        """Times calls of a function."""
        if args or named:
            self.set_input(func_name, *args, **named)
        self._model(func_name).wait()

        def once():
            return self.invoke(func_name)

        return timed(once, repeat, number, min_repeat_ms, cooldown_interval_ms, repeats_to_cooldown)


__all__ = ["Executable", "VirtualMachine"]
