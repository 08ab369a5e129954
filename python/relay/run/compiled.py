"""compile() and its result, a callable model."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import tempfile
import warnings
from typing import Any

from .. import _core
from ..data.arrays import address, array, is_read_only, like
from ..data.values import checked, from_value, to_value
from ..errors import bad_option, wrong_input
from ..frontend.pytorch import from_module, is_script_file
from ..frontend.sources import source_of
from ..ir.pass_infra import PassContext
from ..ir.text import parse
from .complexes import Complexes
from .containers import Containers
from .report import Report
from .strings import Strings


@dataclasses.dataclass(frozen=True)
class Port:
    """An input or an output of a model."""

    name: str
    dtype: str  # "" if it is not a tensor
    shape: tuple  # an int, or text for a size that is unknown before the run: "n", "n * 224"
    type: str = ""  # "List[Tensor[(), int32]]"

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.dtype}[{', '.join(map(str, self.shape))}]"
            if self.dtype
            else f"{self.name}: {self.type}"
        )


def _ports(ports) -> list[Port]:
    return [
        Port(name, dtype, tuple(int(d) if d.lstrip("-").isdigit() else d for d in dims), type_)
        for name, dtype, dims, type_ in ports
    ]


def _unpacked(args: tuple, named: dict) -> tuple[tuple, dict]:
    """Returns the arguments. A dictionary of all inputs by name may be the only one: model({"x": x})."""
    if len(args) == 1 and not named and isinstance(args[0], dict):
        return (), args[0]
    return args, named


def _in_order(names: list[str], args: tuple, named: dict) -> list:
    """Returns the arguments, given by position or name, in the order of the inputs."""
    if not named and len(args) == len(names):
        return list(args)
    listed = ", ".join(names) or "none"
    if len(args) > len(names):
        raise wrong_input(f"{len(args)} inputs are given, the model has {len(names)}", f"the inputs are: {listed}")
    values: dict[int, object] = dict(enumerate(args))
    for name, value in named.items():
        places = [place for place, one in enumerate(names) if one == name]
        if not places:
            near = _core.suggestions(name, names, 1)
            raise wrong_input(
                f"the model has no input `{name}`",
                f"did you mean `{near[0]}`?" if near else f"the inputs are: {listed}",
            )
        if len(places) > 1:
            raise wrong_input(f"{len(places)} inputs are called `{name}`", "give them by position")
        if places[0] in values:
            raise wrong_input(f"input `{name}` is given twice, by position and by name", "leave one of the two out")
        values[places[0]] = value
    missing = [name for place, name in enumerate(names) if place not in values]
    if missing:
        raise wrong_input(
            f"{len(names) - len(missing)} inputs are given, the model has {len(names)}",
            f"missing: {', '.join(missing)}",
        )
    return [values[place] for place in range(len(names))]


class Compiled:
    """A compiled model. Call it with arrays, by position or by name, or with one dictionary of all inputs. Any number
    of threads may call it at the same time.

    One result is returned as an array, several as a tuple in the model's order: torch tensors if an input was one,
    otherwise NumPy arrays. Sequences of the model are returned as lists, and sequences of maps as lists of
    dictionaries. Data values, functions and references are returned as the classes of relay.values. Row-major inputs
    are used in place, and results are not copied. A result that is an input or a constant is a copy of it, so that
    results and inputs never share memory. String inputs and results of the model are arrays of strings (dtype object).
    Complex inputs and results, which the model has as floats with a last axis of two, are complex arrays.
    """

    def __init__(self, core: _core.Compiled):
        self._core = core
        self.inputs: list[Port] = _ports(core.inputs)
        self.outputs: list[Port] = _ports(core.outputs)
        self._names = [port.name for port in self.inputs]
        self._donated: list[int] = core.donated
        strings = Strings(*core.strings)
        self._strings = strings if strings.inputs or strings.outputs else None
        self._complexes = Complexes(*core.complex)
        self._containers = Containers(*core.containers)
        special = self._donated or self._strings or self._complexes or self._containers
        self._takes_arrays = core.is_graph and not special

    def __call__(self, *args: Any, threads: int = 0, **named: Any) -> Any:
        args, named = _unpacked(args, named)
        if self._takes_arrays and not named and len(args) == len(self._names):
            results = self._core.run_numpy(args, threads)
            return self._run(args, threads) if results is None else results
        values = self._complexes.parts(_in_order(self._names, args, named))
        run = self._run if self._strings is None else self._run_with_strings
        results = self._complexes.joined(run(values, threads))
        return self._containers.restored(results, [port.name for port in self.outputs]) if self._containers else results

    def _run_with_strings(self, values: list, threads: int):
        call = self._strings.call()
        results = self._run(self._encoded(values, call), threads)
        results = [
            call.decode(result) if port.name in self._strings.outputs else result
            for port, result in zip(self.outputs, results if len(self.outputs) != 1 else [results], strict=True)
        ]
        return results[0] if len(results) == 1 else tuple(results)

    def _encoded(self, values: list, call) -> list:
        return [
            call.encode(value, name) if name in self._strings.inputs else value
            for name, value in zip(self._names, values, strict=True)
        ]

    def _run(self, values: list | tuple, threads: int):
        for place in self._donated:
            if is_read_only(values[place]):
                name = self._names[place]
                raise wrong_input(f"input `{name}` is given away, and its array is read-only", "give a copy of it")
        if not self._core.is_graph:
            return self._given_back(
                from_value(self._core.call(self._of_program(values), threads), values, self), values
            )
        arrays = [array(value, port.dtype) for value, port in zip(values, self.inputs, strict=True)]
        results = self._core.run(arrays, threads)
        example = next((v for v in values if type(v).__module__.partition(".")[0] == "torch"), None)
        results = like(results, example)
        return self._given_back(results[0] if len(results) == 1 else tuple(results), values)

    def _of_program(self, values: list) -> list:
        """Returns the inputs of a program that is not a graph, in the program's form."""
        return [
            value
            if isinstance(value, _core.Value)
            else to_value(checked(value, port.name, port.type), self._core.types, port.type, lend=True)
            for value, port in zip(values, self.inputs, strict=True)
        ]

    def _given_back(self, results, values: list):
        """Returns the results. A result in a donated array is returned as that array, so that state that is passed from
        call to call stays one object."""
        if not self._donated:
            return results
        given = {address(values[place]): values[place] for place in self._donated}

        def itself(result):
            value = given.get(address(result))
            same = type(value) is type(result) and value.shape == result.shape and value.dtype == result.dtype
            return value if same else result

        return tuple(map(itself, results)) if isinstance(results, tuple) else itself(results)

    def value(self, value, dtype: str | None = None) -> _core.Value:
        """Converts a value to the program's form. It is converted once, and can be an argument of many calls."""
        if self._core.is_graph:
            raise wrong_input("a graph takes arrays", help="pass the array itself")
        return to_value(value, self._core.types, dtype or "")

    @property
    def executor(self) -> str:
        """The executor of the program: "graph", "vm" or "aot"."""
        return self._core.executor

    @property
    def cached(self) -> str | None:
        """The cache file that the model was loaded from, or None if it was compiled now or is a separate artifact."""
        return self._core.cached or None

    @property
    def report(self) -> Report:
        """The report of the compilation: target, passes with times, groups and the rules that scheduled them, kernels,
        constants. str() of it is a summary.

        Times are None in the report of a loaded model.
        """
        return Report(json.loads(self._core.report))

    @property
    def module(self) -> _core.IRModule:
        """The program after the passes."""
        return self._core.module

    def profile(self, *args: Any, **named: Any) -> list[dict]:
        """The steps of one run with their times."""
        args, named = _unpacked(args, named)
        values = self._complexes.parts(_in_order(self._names, args, named))
        if self._strings is not None:
            values = self._encoded(values, self._strings.call())
        if self._core.is_graph:
            steps = self._core.profile([array(v, p.dtype) for v, p in zip(values, self.inputs, strict=True)])
        else:
            steps = self._core.profile_call(self._of_program(values))
        return [dict(zip(("kernel", "us", "tasks", "threads"), step, strict=True)) for step in steps]

    def emit(self, stage: str, which: str = "") -> str:
        """A stage as text: "relay" and "program", which are whole, and "te", "schedule", "loop", "c", "llvm", "asm" of
        all groups and kernels or of `which`, by name or number. compile(schedules=...) takes the text of "schedule"."""
        return self._core.stage(stage, str(which))

    def save(self, path: str | os.PathLike, form: str | None = None) -> None:
        """Writes an artifact, which relay.load() and `relay run` take, or the kernels alone: "so", "obj" or "c".
        Without a form the name says it: .so, .o and .c are kernels, all others artifacts."""
        self._core.save(os.fspath(path), form or "")

    def __reduce__(self):
        """Pickles as the bytes of an artifact: the copy has the report, but no program or stages any more."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.rart")
            self.save(path)
            with open(path, "rb") as file:
                return _of_bytes, (file.read(),)

    def __repr__(self) -> str:
        return f"<relay.Compiled ({', '.join(map(str, self.inputs))}) -> ({', '.join(map(str, self.outputs))})>"


def _of_bytes(artifact: bytes) -> Compiled:
    return Compiled(_core.load_artifact_bytes("<pickle>", artifact, 0))


def _compiled_already(name: str, options: dict) -> None:
    """Refuses options of the compilation, for an artifact."""
    given = [option for option, value in options.items() if value]
    if given:
        raise bad_option(
            f"{name} is compiled already: {', '.join(given)} would have no effect",
            "give them where the model that it was made from is compiled",
        )


def _shapes_of(shapes: dict | None) -> dict[str, list[int]]:
    """Returns the shapes by input. The tensors of a sequence are named NAME.0, NAME.1, ...; NAME without sizes has no
    tensors."""
    given = {}
    for name, shape in (shapes or {}).items():
        sizes = [] if shape is None else list(shape)
        if sizes and all(isinstance(size, tuple | list) for size in sizes):
            given |= {f"{name}.{i}": list(size) for i, size in enumerate(sizes)}
        else:
            given[name] = sizes
    return given


def _donated(donate: dict | list | tuple | str | None) -> dict[str, int | None]:
    """Returns, by input, the number of the result that takes its memory, or None."""
    if isinstance(donate, dict):
        return donate
    return dict.fromkeys([donate] if isinstance(donate, str) else donate or ())


def _schedules_of(schedules: dict | str | None) -> dict[str, str]:
    """By group, a name or a number as text."""
    if isinstance(schedules, str):
        return _core.schedules_of(schedules)
    return {str(group): text for group, text in (schedules or {}).items()}


def load(
    model: Any, *, shapes: dict | None = None, threads: int | None = None, import_limits: dict[str, int] | None = None
) -> _core.IRModule | Compiled:
    """Reads a model: an ONNX or TFLite model, an exported PyTorch program or a Relay program as a module, a compiled
    artifact as a callable.

    `model`: a path, the bytes of a file, an open binary file, an onnx.ModelProto, or a torch.export.ExportedProgram.
    `shapes`: sizes for inputs that lack them: {"input": (1, 3, 224, 224)}; -1 leaves a size as it is in the model. An
    ONNX input that is a sequence has a list of shapes, {"parts": [(2, 3), (4, 3)]}, and takes a tuple of as many
    arrays. An optional input has a list of one shape; with None, it is dropped.
    `import_limits`: limits for the import of an untrusted file, by name: {"calls": 4_000_000} of operators,
    "nodes" converted, bytes of "constants" computed. See docs/security.md for the defaults.
    """
    source = source_of(model)
    if source.form == "artifact":
        _compiled_already(source.name, {"shapes": shapes, "import_limits": import_limits})
        if source.bytes is None:
            return Compiled(_core.load_artifact(source.name, threads or 0))
        return Compiled(_core.load_artifact_bytes(source.name, source.bytes, threads or 0))
    shapes = _shapes_of(shapes)
    if source.form == "pytorch":
        module = source.pytorch_module()
        return module.bind_shapes(shapes) if shapes else module
    limits = import_limits or {}
    if source.bytes is None:
        return _core.load(source.name, shapes, import_limits=limits)
    return _core.load_bytes(source.name, source.bytes, shapes, import_limits=limits)


def _of_examples(model, example_inputs) -> _core.IRModule:
    """The module of a model of PyTorch that is called with these."""
    is_path = isinstance(model, str | os.PathLike)
    is_torch = any(cls.__module__.partition(".")[0] == "torch" for cls in type(model).__mro__)
    if not (is_torch or (is_path and is_script_file(os.fspath(model)))):
        raise wrong_input(
            "example_inputs are for a torch.nn.Module or TorchScript",
            "leave them out: other models say what their inputs are; options are given by name",
        )
    return from_module(model, example_inputs)


def compile(
    model: Any,
    example_inputs: Any = None,
    *,
    target: str = "native",
    threads: int | None = None,
    numerics: str = "fp32",
    opt_level: int = 2,
    mode: str = "inference",
    shapes: dict | None = None,
    schedules: dict[str | int, str] | str | None = None,
    executor: str = "compiled",
    verify: bool = False,
    cache: bool = False,
    memory_limit: int | None = None,
    batch_calls: bool = True,
    strict: bool = False,
    external: str = "",
    donate: dict | list | tuple | str | None = None,
) -> Compiled:
    """Compiles a model for this machine: a module, or anything that load() accepts (a path, bytes, an open binary file,
    an onnx.ModelProto), or a torch.nn.Module or a TorchScript module or file with the `example_inputs` that it is
    called with. relay.from_pytorch can also leave sizes open.

    target: the processor, with features to add or leave out ("native,-avx512f").
    threads: None means all cores that this process may use.
    schedules: text by group (a name or a number) to replace the schedules of the rules, or one text of all groups, as
    Compiled.emit("schedule") returns it.
    executor: "compiled" (whichever fits), "graph" (no control flow), "vm" (the virtual machine) or "aot" (functions as
    machine code).
    mode: the meaning of batch_norm and dropout. "training": statistics and masks of the batch. If the model has a
    dropout, @main gets a parameter `rng`, the state of its generator (docs/differentiation.md).
    verify: check the program after every pass.
    cache: look up the model's file among the models compiled before, and store the result there (see `relay cache
    --help`). `relay run` does so by default. Here it is off by default, because a model from the cache has its report,
    but no program and no stages (`module`, `emit`).
    memory_limit: bytes that weights, temporaries and results may take together. A run that needs more is refused.
    batch_calls: let calls of a program's segments wait for each other and run together (docs/runtime.md).
    external: another compiler that gets the parts of the program that it supports: "dnnl" (docs/byoc.md).
    donate: inputs that the caller hands over with each call, by name, so that results may use their memory. In a list,
    any result of the same type may take an input. With {"cache": 1}, result 1 is in the array that was given for
    `cache` after each call. The array must not be read-only or overlap another input, and its contents are lost. The
    report's "donations" list the results that are computed in place, and those that are copied, with the reason.
    strict: make a failing schedule rule an error. Otherwise a slower schedule is used, and the report's "refusals" say
    so.

    A PassContext around the call controls the passes further than opt_level: it disables, requires, configures and
    observes passes. It is not used with cache=True.
    """
    if executor not in ("compiled", "graph", "vm", "aot"):
        raise ValueError(f"there is no executor '{executor}': 'compiled', 'graph', 'vm' or 'aot'")
    if example_inputs is not None:
        model = _of_examples(model, example_inputs)
    is_module = isinstance(model, _core.IRModule)
    source = None if is_module else source_of(model)
    if source and source.form == "artifact":
        not_default = {
            "target": target != "native",
            "numerics": numerics != "fp32",
            "opt_level": opt_level != 2,
            "mode": mode != "inference",
            "shapes": shapes,
            "schedules": schedules,
            "executor": executor != "compiled",
            "verify": verify,
            "cache": cache,
            "memory_limit": memory_limit,
            "batch_calls": not batch_calls,
            "external": external,
            "donate": donate,
        }
        _compiled_already(source.name, not_default)
        return load(source, threads=threads)
    how = target, threads or 0, numerics, opt_level, mode, _schedules_of(schedules), executor
    runs = memory_limit or 0, batch_calls
    if cache:
        if is_module or source.bytes is not None or source.form == "pytorch":
            raise wrong_input("only the ONNX model or program of a file is kept in the cache", "pass its path")
        if verify:
            raise ValueError("passes are verified when they run: leave cache or verify out")
        core, notes = _core.compile_file(
            source.name, _shapes_of(shapes), *how, *runs, strict, external, _donated(donate)
        )
        for note in notes:
            warnings.warn(note, stacklevel=2)
        return Compiled(core)
    if not is_module:
        model = load(source, shapes=shapes)
    elif shapes:
        model = model.bind_shapes({name: list(shape) for name, shape in shapes.items()})
    context = PassContext.current()
    if context.changes_compilation:
        if external:  # inspects the program before any pass
            model, external = _core.partition_for(model, external), ""
        model = context.optimised(model, opt_level, mode)
    by_context = context.changes_compilation
    return Compiled(_core.compile(model, *how, verify, *runs, strict, by_context, external, _donated(donate)))


def evaluate(module: _core.IRModule, inputs: Any, *, precision: str = "native") -> Any:
    """@main of the module on `inputs` (a list, or a dict by name) by the reference evaluator: slow, obvious, the
    oracle.

    precision="float64" computes every float in double precision.
    """
    ports = _core.ports(module)
    if isinstance(inputs, dict):
        inputs = _in_order([name for name, _ in ports], (), inputs)
    elif not isinstance(inputs, (list, tuple)):
        inputs = [inputs]
    words, named, given_back = _core.strings(module)
    if named or given_back:
        call = Strings(words, named, given_back).call()
        inputs = [call.encode(v, name) if name in named else v for v, (name, _) in zip(inputs, ports, strict=False)]
    complexes = Complexes(*_core.complex(module))
    inputs = complexes.parts(inputs)
    types = _core.data_types(module)
    ports += [("?", "")] * (len(inputs) - len(ports))
    values = [to_value(checked(v, *port), types, port[1], lend=True) for v, port in zip(inputs, ports, strict=False)]
    results = complexes.joined(from_value(_core.evaluate(module, values, precision), inputs))
    if not given_back:
        return results
    outputs = _core.output_names(module)
    if len(outputs) == 1:
        return call.decode(results)
    return tuple(call.decode(r) if name in given_back else r for name, r in zip(outputs, results, strict=True))


@functools.cache
def refuse_wrong_options(**how) -> None:
    """Raises the errors that compile() raises for these options, whatever the model is, by compiling a tiny one."""
    nothing = parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(0), int8]) { %x }')
    compile(nothing, **how)
