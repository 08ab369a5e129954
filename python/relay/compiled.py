"""compile() and what it gives: a callable."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import json
import os
import warnings

from . import _core
from .arrays import address, array, is_read_only, like
from .complexes import Complexes
from .errors import bad_option, wrong_input
from .sources import source_of
from .strings import Strings
from .text import parse
from .transform import PassContext
from .values import checked, from_value, to_value


@dataclasses.dataclass(frozen=True)
class Port:
    """An input or an output."""

    name: str
    dtype: str  # "" when it is not a tensor
    shape: tuple  # int, or text for a size that is not known before the run: "n", "n * 224"
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


def _in_order(names: list[str], args: tuple, named: dict) -> list:
    """The arguments, given by position or name, in the order of the inputs."""
    if not named and len(args) == len(names):
        return list(args)
    listed = ", ".join(names) or "none"
    if len(args) > len(names):
        raise wrong_input(f"{len(args)} inputs are given, the model has {len(names)}", f"the inputs are: {listed}")
    values: dict[int, object] = dict(enumerate(args))
    for name, value in named.items():
        places = [place for place, one in enumerate(names) if one == name]
        if not places:
            near = difflib.get_close_matches(name, names, 1)
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
    """A compiled model. Call it with arrays, by position or by name; any number of threads may do so at once.

    One result comes as an array, several as a tuple in the model's order: torch tensors if an input was one, NumPy
    arrays otherwise; data values, functions and references come as the classes of relay.values. Inputs that are
    row-major are used where they lie, and results are not copied; a result that is an input or a constant is a copy of
    it, so that results and inputs never share memory. What the model says is of strings takes and gives
    arrays of strings (dtype object); what it says is complex, floats with a last axis of two, takes and gives complex
    arrays.
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
        self._takes_arrays = core.is_graph and not (self._donated or self._strings or self._complexes)

    def __call__(self, *args, threads: int = 0, **named):
        if self._takes_arrays and not named and len(args) == len(self._names):
            results = self._core.run_numpy(args, threads)
            return self._run(args, threads) if results is None else results
        values = self._complexes.parts(_in_order(self._names, args, named))
        run = self._run if self._strings is None else self._run_with_strings
        return self._complexes.joined(run(values, threads))

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
        """The inputs of what is no graph, as the program has them."""
        return [
            value
            if isinstance(value, _core.Value)
            else to_value(checked(value, port.name, port.type), self._core.types, port.type, lend=True)
            for value, port in zip(values, self.inputs, strict=True)
        ]

    def _given_back(self, results, values: list):
        """The results; where one lies in an array that was given away, that array itself, so that a state that goes
        from call to call stays one object."""
        if not self._donated:
            return results
        given = {address(values[place]): values[place] for place in self._donated}

        def itself(result):
            value = given.get(address(result))
            same = type(value) is type(result) and value.shape == result.shape and value.dtype == result.dtype
            return value if same else result

        return tuple(map(itself, results)) if isinstance(results, tuple) else itself(results)

    def value(self, value, dtype: str | None = None) -> _core.Value:
        """The value as the program has it: made once, it can be an argument of many calls."""
        if self._core.is_graph:
            raise wrong_input("a graph takes arrays", help="pass the array itself")
        return to_value(value, self._core.types, dtype or "")

    @property
    def executor(self) -> str:
        """What runs it: "graph", "vm" or "aot"."""
        return self._core.executor

    @property
    def cached(self) -> str | None:
        """The file of the cache that it was loaded from; None if it was compiled now, or is an artifact of its own."""
        return self._core.cached or None

    @property
    def report(self) -> dict:
        """What the compiler did: target, passes with times, groups and the rules that scheduled them, kernels,
        constants.

        Times are None in the report of what was loaded.
        """
        return json.loads(self._core.report)

    @property
    def module(self) -> _core.IRModule:
        """The program after the passes."""
        return self._core.module

    def profile(self, *args, **named) -> list[dict]:
        """The steps of one run with their times."""
        values = self._complexes.parts(_in_order(self._names, args, named))
        if self._strings is not None:
            values = self._encoded(values, self._strings.call())
        if self._core.is_graph:
            steps = self._core.profile([array(v, p.dtype) for v, p in zip(values, self.inputs, strict=True)])
        else:
            steps = self._core.profile_call(self._of_program(values))
        return [dict(zip(("kernel", "us", "tasks", "threads"), step, strict=True)) for step in steps]

    def emit(self, stage: str, which: str = "") -> str:
        """A stage as text ("te", "schedule", "loop", "llvm", "asm") of all kernels or of one, by name or number."""
        return self._core.stage(stage, str(which))

    def save(self, path: str | os.PathLike, form: str = "artifact") -> None:
        """Writes an artifact, which relay.load() and `relay run` take (or the kernels alone: "so", "obj")."""
        self._core.save(os.fspath(path), form)

    def __repr__(self) -> str:
        return f"<relay.Compiled ({', '.join(map(str, self.inputs))}) -> ({', '.join(map(str, self.outputs))})>"


def _compiled_already(name: str, options: dict) -> None:
    """Refuses options that say how to compile, for an artifact."""
    given = [option for option, value in options.items() if value]
    if given:
        raise bad_option(
            f"{name} is compiled already: {', '.join(given)} would have no effect",
            "give them where the model that it was made from is compiled",
        )


def _shapes_of(shapes: dict | None) -> dict[str, list[int]]:
    """By input. Those of a sequence's tensors have the names NAME.0, NAME.1, ...; NAME without sizes has none."""
    given = {}
    for name, shape in (shapes or {}).items():
        sizes = [] if shape is None else list(shape)
        if sizes and all(isinstance(size, tuple | list) for size in sizes):
            given |= {f"{name}.{i}": list(size) for i, size in enumerate(sizes)}
        else:
            given[name] = sizes
    return given


def _donated(donate: dict | list | tuple | str | None) -> dict[str, int | None]:
    """By input: the number of the result that takes it, or None."""
    if isinstance(donate, dict):
        return donate
    return dict.fromkeys([donate] if isinstance(donate, str) else donate or ())


def load(
    model, *, shapes: dict | None = None, threads: int | None = None, import_limits: dict[str, int] | None = None
) -> _core.IRModule | Compiled:
    """Reads an ONNX model, an exported program of PyTorch or a Relay program as a module, a compiled artifact as
    something to call.

    `model`: a path, the bytes of a file, an open binary file, an onnx.ModelProto, or a torch.export.ExportedProgram.
    `shapes` gives sizes to inputs that do not say theirs: {"input": (1, 3, 224, 224)}; -1 leaves one as the model has
    it. An input of ONNX that is a sequence has a list of shapes, {"parts": [(2, 3), (4, 3)]}, and takes a tuple of as
    many arrays; one that is optional has a list of one shape, or None, and then it is no input.
    `import_limits`: what an ONNX file of a stranger may make the import do, by name: {"calls": 4_000_000} of operators,
    "nodes" converted, bytes of "constants" computed; docs/security.md has the usual ones.
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


def compile(
    model,
    *,
    target: str = "native",
    threads: int | None = None,
    numerics: str = "fp32",
    opt_level: int = 2,
    mode: str = "inference",
    shapes: dict | None = None,
    schedules: dict[str, str] | None = None,
    executor: str = "compiled",
    verify: bool = False,
    cache: bool = False,
    memory_limit: int | None = None,
    batch_calls: bool = True,
    strict: bool = False,
    external: str = "",
    donate: dict | list | tuple | str | None = None,
) -> Compiled:
    """Compiles a model for this machine: a module, or anything that load() takes (a path, bytes, an open binary file,
    an onnx.ModelProto).

    target: the processor, with features to add or leave out ("native,-avx512f"). threads: None means all cores that
    this process may use. schedules: text by group, in place of what the rules choose (see Compiled.emit). executor:
    "compiled" (whatever suits), "graph" (no control flow), "vm" (the virtual machine) or "aot" (functions as machine
    code).
    mode: what batch_norm and dropout mean. "training": statistics and masks of the batch; with a dropout, @main gets a
    parameter `rng`, the state of its generator (docs/differentiation.md).
    verify: check the program after every pass. cache: look for the model of a file among those that were compiled
    before, and keep it there (see `relay cache --help`); what is found there has its report, but no program any more.
    memory_limit: bytes that weights, temporaries and results may take together; a run that needs more is refused.
    batch_calls: whether calls of a program's segments may wait for each other, to be run together (docs/runtime.md).
    A PassContext around the call says more of the passes than opt_level does: what it disables, requires and
    configures, and who watches. With cache=True it is not asked.
    external: a compiler of others that parts of the program are given to first: "dnnl" (docs/byoc.md).
    donate: inputs that the caller gives away with each call, by name, so that results may lie in their memory: a list,
    where any result of the same type may take it, or {"cache": 1}, where result 1 lies in the array that was given for
    `cache` after each call. The array must not be read-only nor overlap another input, and what it held is gone. The
    report's "donations" say what is computed in place, and what is copied for which reason.
    strict: a schedule rule that fails is an error; otherwise a slower schedule takes its place, and the report's
    "refusals" say so.
    """
    if executor not in ("compiled", "graph", "vm", "aot"):
        raise ValueError(f"there is no executor '{executor}': 'compiled', 'graph', 'vm' or 'aot'")
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
    how = target, threads or 0, numerics, opt_level, mode, schedules or {}, executor
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
        if external:  # looks at the program as it is written
            model, external = _core.partition_for(model, external), ""
        model = context.optimised(model, opt_level, mode)
    by_context = context.changes_compilation
    return Compiled(_core.compile(model, *how, verify, *runs, strict, by_context, external, _donated(donate)))


def evaluate(module: _core.IRModule, inputs, *, precision: str = "native"):
    """@main of the module on `inputs` (a list, or a dict by name) by the reference evaluator: slow, obvious, the
    oracle.

    precision "float64" computes every float in double precision.
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
    """Raises what compile() raises for these options of any model: it compiles the least one."""
    nothing = parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(0), int8]) { %x }')
    compile(nothing, **how)
