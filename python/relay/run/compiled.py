"""compile() and its result, a callable model."""

from __future__ import annotations

import functools
import json
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

import numpy as np

from .. import _core
from ..data.arrays import address, array, is_read_only, like
from ..data.values import checked, from_value, to_value
from ..errors import bad_option, wrong_input
from ..frontend.pytorch import from_module, is_script_file
from ..frontend.sources import Model, Source, source_of
from ..ir.pass_infra import PassContext
from ..ir.text import parse
from .complexes import Complexes
from .containers import Containers
from .options import Shapes, of_compilation, options_of, takes_options
from .ports import Port, in_order, ports_of, unpacked
from .report import Report
from .session import Session
from .strings import Strings

if TYPE_CHECKING:
    from .options import CompileOptions

# The result of a run: an array, or another of the values that the docstring of Compiled lists. It depends on the model,
# which no type checker reads, so "| Any" lets programs use a result without a test of its class.
Outcome: TypeAlias = np.ndarray | Any


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
        self.inputs: list[Port] = ports_of(core.inputs)
        self.outputs: list[Port] = ports_of(core.outputs)
        self._names = [port.name for port in self.inputs]
        self._donated: list[int] = core.donated
        strings = Strings(*core.strings)
        self._strings = strings if strings.inputs or strings.outputs else None
        self._complexes = Complexes(*core.complex)
        self._containers = Containers(*core.containers)
        special = self._donated or self._strings or self._complexes or self._containers
        self._takes_arrays = core.is_graph and not special

    def __call__(self, /, *args: object, threads: int = 0, **named: object) -> Outcome:
        args, named = unpacked(args, named)
        if self._takes_arrays and not named and len(args) == len(self._names):
            results = self._core.run_numpy(args, threads)
            return self._run(args, threads) if results is None else results
        values = self._complexes.parts(in_order(self._names, args, named))
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
                raise wrong_input(f"input `{name}` is donated, but its array is read-only", "give a copy of it")
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
    def string_ports(self) -> tuple[frozenset[str], frozenset[str]]:
        """The names of the inputs and of the outputs that are arrays of strings."""
        return (self._strings.inputs, self._strings.outputs) if self._strings else (frozenset(), frozenset())

    @property
    def has_plain_ports(self) -> bool:
        """True if every input and output is a tensor of its port's type: no list, no complex array, none donated."""
        is_plain = all(port.dtype for port in [*self.inputs, *self.outputs])
        return is_plain and not (self._donated or self._complexes or self._containers)

    @property
    def executor(self) -> str:
        """The executor of the program: "graph", "vm" or "aot"."""
        return self._core.executor

    @property
    def tier(self) -> str:
        """The code that the next call runs: "fast" or "full" (docs/first-results.md)."""
        return self._core.tier

    def wait(self) -> Compiled:
        """Waits for the full code of a model that was compiled with `tier="auto"`, and returns the model."""
        self._core.wait()
        return self

    @property
    def cached(self) -> str | None:
        """The cache file that the model was loaded from, or None if it was compiled now or is a separate artifact."""
        return self._core.cached or None

    @property
    def report(self) -> Report:
        """The report of the compilation: target, passes with times, groups and the rules that scheduled them, kernels,
        constants, and the bytes of temporaries that a run plans ("memory"; None if sizes are open). str() of it is a
        summary.

        Times are None in the report of a loaded model.
        """
        return Report(json.loads(self._core.report))

    @property
    def module(self) -> _core.IRModule:
        """The program after the passes."""
        return self._core.module

    def session(self) -> Session:
        """Returns a new session: the model with a state of its own. The model must donate an input for a result, as in
        compile(model, donate={"h": "h_out"})."""
        return Session(_core.Session(self._core))

    def profile(self, /, *args: object, **named: object) -> list[dict[str, str | float | int]]:
        """The steps of one run with their times, with full code."""
        self.wait()
        args, named = unpacked(args, named)
        values = self._complexes.parts(in_order(self._names, args, named))
        if self._strings is not None:
            values = self._encoded(values, self._strings.call())
        if self._core.is_graph:
            steps = self._core.profile([array(v, p.dtype) for v, p in zip(values, self.inputs, strict=True)])
        else:
            steps = self._core.profile_call(self._of_program(values))
        return [dict(zip(("kernel", "us", "tasks", "threads"), step, strict=True)) for step in steps]

    def emit(self, stage: str, which: str | int = "") -> str:
        """Returns a stage as text: "relay" or "program" of the whole model, or "te", "schedule", "loop", "c", "llvm",
        "asm" or "ptx" of all groups and kernels, or only of `which`, a name or number. compile(schedules=...) accepts
        the text of "schedule"."""
        return self._core.stage(stage, str(which))

    def save(self, path: str | os.PathLike[str], form: str | None = None) -> None:
        """Writes an artifact, which relay.load() and `relay run` read, or only the kernels: "so", "obj", "a", "c" or
        "ptx". Without a form, the file name decides: .so, .o, .a, .c and .ptx are kernels, all others artifacts."""
        self._core.save(os.fspath(path), form or "")

    def __reduce__(self):
        """Pickles as the bytes of an artifact. The copy has the report, but neither the program nor the stages."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.rart")
            self.save(path)
            with open(path, "rb") as file:
                return _of_bytes, (file.read(),)

    def __repr__(self) -> str:
        return f"<relay.Compiled ({', '.join(map(str, self.inputs))}) -> ({', '.join(map(str, self.outputs))})>"


def _of_bytes(artifact: bytes) -> Compiled:
    return Compiled(_core.load_artifact_bytes("<pickle>", artifact, options_of({})))


def _compiled_already(name: str, given: list[str]) -> None:
    """Raises an error if options of the compilation are given for an artifact."""
    if given:
        raise bad_option(
            f"{name} is compiled already: {', '.join(given)} would have no effect",
            "give them when you compile the original model",
        )


def _loaded(source: Source, options: _core.Options) -> Compiled:
    if source.bytes is None:
        return Compiled(_core.load_artifact(source.name, options))
    return Compiled(_core.load_artifact_bytes(source.name, source.bytes, options))


def load(
    model: Model,
    *,
    shapes: Shapes | None = None,
    threads: int | None = None,
    import_limits: dict[str, int] | None = None,
    layout: str | None = None,
) -> _core.IRModule | Compiled:
    """Reads a model: an ONNX, TFLite, Keras or TensorFlow model, an exported PyTorch program or a Relay program as a
    module, a compiled artifact as a callable.

    `model`: a path, the bytes of a file, an open binary file, an onnx.ModelProto, a torch.export.ExportedProgram, a
    keras.Model, or a GraphDef of TensorFlow.
    `shapes`: sizes for inputs that lack them: {"input": (1, 3, 224, 224)}; -1 leaves a size as it is in the model. An
    ONNX input that is a sequence has a list of shapes, {"parts": [(2, 3), (4, 3)]}, and takes a tuple of as many
    arrays. An optional input has a list of one shape; with None, it is dropped.
    `import_limits`: limits for the import of an untrusted file, by name: {"calls": 4_000_000} of operators,
    "nodes" converted, bytes of "constants" computed. See docs/security.md for the defaults.
    `layout`: the order of the axes of images that a Keras or TensorFlow model takes and returns: "NCHW", or "NHWC" as
    in the file, which is the default.
    """
    given = {"shapes": shapes, "threads": threads, "import_limits": import_limits, "layout": layout}
    options = options_of(given)
    source = source_of(model)
    if source.form == "artifact":
        _compiled_already(source.name, of_compilation(given))
        return _loaded(source, options)
    shapes = options["shapes"] or {}
    if source.is_read_by_python:
        return source.module(shapes, options["layout"] or "")
    if options["layout"]:
        raise wrong_input(f"a layout is given, and the images of {source.name} keep their order", "leave it out")
    limits = options["import_limits"] or {}
    if source.bytes is None:
        return _core.load(source.name, shapes, import_limits=limits)
    return _core.load_bytes(source.name, source.bytes, shapes, import_limits=limits)


def _of_examples(model, example_inputs) -> _core.IRModule:
    """Returns the module of a PyTorch model that is called with these inputs."""
    is_path = isinstance(model, str | os.PathLike)
    is_torch = any(cls.__module__.partition(".")[0] == "torch" for cls in type(model).__mro__)
    if not (is_torch or (is_path and is_script_file(os.fspath(model)))):
        raise wrong_input(
            "example_inputs are only for a torch.nn.Module or TorchScript",
            "leave them out: other models describe their inputs; pass options by name",
        )
    return from_module(model, example_inputs)


@takes_options
def compile(
    model: Model | _core.IRModule | Callable[..., object],
    example_inputs: object = None,
    *,
    cache: bool = False,
    **options: Unpack[CompileOptions],
) -> Compiled:
    """Compiles a model for this machine: a module, or anything that load() accepts (a path, bytes, an open binary file,
    an onnx.ModelProto), or a torch.nn.Module or a TorchScript module or file with the `example_inputs` that it is
    called with. relay.from_pytorch can also leave sizes open.

    cache: look up the model's file among the models compiled before, and store the result there (see `relay cache
    --help`). `relay run` does so by default. Here it is off by default, because a model from the cache has its report,
    but no program and no stages (`module`, `emit`).

    None as an option stands for its default.

    OPTIONS

    If a model has a dropout and the mode is "training", @main gets a parameter `rng`, the state of its generator
    (docs/differentiation.md).

    A PassContext around the call controls the passes further than opt_level: it disables, requires, configures and
    observes passes. It is not used with cache=True.
    """
    how = options_of(options)
    if example_inputs is not None:
        model = _of_examples(model, example_inputs)
    is_module = isinstance(model, _core.IRModule)
    source = None if is_module else source_of(model)
    if source and source.form == "artifact":
        _compiled_already(source.name, of_compilation(options) + ["cache"] * cache)
        return _loaded(source, how)
    if cache:
        if is_module or source.bytes is not None or source.is_read_by_python:
            raise wrong_input("only the ONNX model or program of a file can be cached", "pass its path")
        if how["verify"]:
            raise ValueError("passes are verified when they run: leave out cache or verify")
        core, notes = _core.compile_file(source.name, how)
        for note in notes:
            warnings.warn(note, stacklevel=2)
        return Compiled(core)
    if not is_module:
        model = load(
            source,
            shapes=options.get("shapes"),
            import_limits=options.get("import_limits"),
            layout=options.get("layout"),
        )
    elif how["shapes"]:
        model = model.bind_shapes(how["shapes"])
    context = PassContext.current()
    if context.changes_compilation:
        model, notes = _core.place_on_devices(model, how)
        for note in notes:
            warnings.warn(note, stacklevel=2)
        if how["external"]:  # inspects the program before any pass
            model = _core.partition_for(model, how["external"])
        model = context.optimised(model, how["opt_level"], how["mode"])
    return Compiled(_core.compile(model, how, context.changes_compilation))


def compiled_from(
    path: str, files: list[str], reader: str, module: Callable[[], _core.IRModule], **options: Unpack[CompileOptions]
) -> tuple[Compiled, list[str]]:
    """Returns the compiled program that `module` builds from the contents of files, and messages about the cache. If
    the cache has it, `module` is not called.

    path: names the model, in `relay cache ls` too; a file or a folder. reader: names the builder, with its version.
    """
    how, since = options_of(options), time.time()
    found = _core.find_compiled(path, reader, how)
    if found is None:
        found = _core.compile_and_keep(path, files, reader, since, module(), how)
    return Compiled(found[0]), found[1]


def evaluate(module: _core.IRModule, inputs: object, *, precision: str = "native") -> Outcome:
    """Computes @main of the module on `inputs` (a list, or a dict by name) with the reference evaluator, which is slow
    and obvious: the oracle of the tests. Results have the same form as those of a compiled model.

    precision="float64" computes every float in double precision.
    """
    ports = _core.ports(module)
    if isinstance(inputs, dict):
        inputs = in_order([name for name, _ in ports], (), inputs)
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
    outputs = _core.output_names(module)
    if given_back and len(outputs) == 1:
        results = call.decode(results)
    elif given_back:
        results = tuple(call.decode(r) if name in given_back else r for name, r in zip(outputs, results, strict=True))
    containers = Containers(*_core.containers(module))
    return containers.restored(results, outputs) if containers else results


@functools.cache
def refuse_wrong_options(**how) -> None:
    """Raises the errors that compile() raises for these options, whatever the model is, by compiling a tiny one."""
    nothing = parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(0), int8]) { %x }')
    compile(nothing, **how)
