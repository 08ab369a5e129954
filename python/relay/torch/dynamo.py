"""The backend: compiles graphs of AOTAutograd to modules, or runs them in PyTorch with a warning."""

from __future__ import annotations

import dataclasses
import threading
import typing
import warnings

import sympy
import torch
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.backends.registry import _BACKENDS, register_backend
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.nn.attention import SDPBackend, sdpa_kernel

from .._core import IRModule, Let, Tuple, Var, post_order_visit
from ..errors import CompileError, bad_option
from ..frontend.pytorch.functional import (
    Feed,
    Import,
    Output,
    PartsRefused,
    decompositions,
    import_functional,
    writes,
)
from ..run.compiled import Compiled, refuse_wrong_options
from ..run.compiled import compile as compile_module
from .logs import FALLBACK, log
from .split import computes, split


class FallbackWarning(UserWarning):
    """The warning that a graph runs in PyTorch, because Relay cannot import or compile it."""


@dataclasses.dataclass(frozen=True)
class Options:
    """The `options` of torch.compile: those of relay.compile, and two of the backend's own.

    threads: None means torch.get_num_threads() when the graph is compiled. freeze: in graphs without gradients, make
    parameters and buffers constants, so that they are packed and folded once. If one is changed in place later, which
    its version counter shows (except for writes through `.data`), they become inputs again. fallback: "warn", or
    "error" to refuse graphs that would run in PyTorch.
    """

    threads: int | None = None
    target: str = "native"
    numerics: str = "fp32"
    opt_level: int = 2
    freeze: bool = False
    fallback: str = "warn"

    @classmethod
    def of(cls, given: dict | None) -> Options:
        known = [field.name for field in dataclasses.fields(cls)]
        for name in given or {}:
            if name not in known:
                raise bad_option(f"the backend relay has no option `{name}`", f"the options are: {', '.join(known)}")
        options = cls(**(given or {}))
        for name, kind in typing.get_type_hints(cls).items():
            value = getattr(options, name)
            if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
                raise bad_option(f"the option {name} is {value!r}", f"give {getattr(kind, '__name__', kind)}")
        if options.fallback not in ("warn", "error"):
            raise bad_option(f"the option fallback is {options.fallback!r}", 'give "warn" or "error"')
        refuse_wrong_options(**options._how())
        return options

    def _how(self) -> dict:
        threads = self.threads or torch.get_num_threads()
        return {"target": self.target, "threads": threads, "numerics": self.numerics, "opt_level": self.opt_level}

    def compile(self, imported: Import) -> Compiled:
        return compile_module(imported.module, donate=imported.donated(), **self._how())


@dataclasses.dataclass
class Record:
    """The outcome of one graph."""

    kind: str  # "inference", "forward" or "backward"
    graph: torch.fx.GraphModule
    compiled: Compiled | None = None  # None if PyTorch runs it, or nothing is left to compute
    refused: CompileError | None = None


def _shared(module: IRModule) -> list[int]:
    """Returns the results of @main that do not have memory of their own: inputs, constants, and earlier results."""
    main = module["main"]
    body, outer = main.body, list(main.params)
    while isinstance(body, Let):
        outer.append(body.var)
        body = body.body
    results = list(body.fields) if isinstance(body, Tuple) else [body]

    def reads_an_input(result) -> bool:
        read = []
        post_order_visit(result, lambda one: read.append(one) if isinstance(one, Var) else None)
        return any(one in outer for one in read)

    return [
        place
        for place, one in enumerate(results)
        if isinstance(one, Var) or any(one is other for other in results[:place]) or not reads_an_input(one)
    ]


class Program:
    """A compiled graph. Called like the graph, with tensors and integers, it returns the list of its results."""

    def __init__(self, imported: Import, compiled: Compiled | None):
        self._imported, self._compiled = imported, compiled
        self._copied = set(_shared(compiled.module)) if compiled is not None else set()
        self._copied -= {one.output.computed for one in imported.writes}
        feeds, outputs = [one.place for one in imported.feeds], [one.computed for one in imported.outputs]
        is_plain = compiled is not None and not imported.writes and not self._copied
        is_plain &= all(one == Feed(one.place) for one in imported.feeds)
        is_plain &= all(one == Output(one.computed) and one.computed is not None for one in imported.outputs)
        self._plain = (feeds, outputs) if is_plain else None  # tensors are passed and returned as they are

    def __call__(self, *args) -> list:
        if self._plain is not None:
            feeds, outputs = self._plain
            computed = self._compiled(*[args[place] for place in feeds])
            return [computed[place] for place in outputs] if isinstance(computed, tuple) else [computed] * len(outputs)
        computed = ()
        if self._compiled is not None:
            values = [self._value(feed, args) for feed in self._imported.feeds]
            computed = self._compiled(*self._apart(values))
            computed = computed if isinstance(computed, tuple) else (computed,)
            computed = [one.clone() if place in self._copied else one for place, one in enumerate(computed)]
        for write in self._imported.writes:
            self._written(args[write.place], self._result(write.output, args, computed))
        return [self._result(one, args, computed) for one in self._imported.outputs]

    def _apart(self, values: list) -> list:
        """The values; one in the memory of another that the kernels write is copied: it is read as it was."""
        for place in self._compiled._donated:
            memory = values[place].untyped_storage().data_ptr()
            for other, value in enumerate(values):
                if other != place and value.untyped_storage().data_ptr() == memory:
                    values[other] = value.clone()
        return values

    @staticmethod
    def _written(argument: torch.Tensor, value: torch.Tensor) -> None:
        """Copies a result into its argument, unless the kernels wrote into the argument already. They do not if it is
        not dense in memory."""
        if value.data_ptr() != argument.data_ptr() or value.stride() != argument.stride():
            with torch.no_grad():
                argument.copy_(value)

    def _value(self, feed, args: tuple) -> torch.Tensor:
        if feed.draw is not None:
            return feed.draw(lambda formula: self._number(formula, args))
        if feed.is_size:
            return torch.empty((args[feed.place], 0), dtype=torch.int8)
        if feed.is_number:
            return torch.tensor(args[feed.place])
        value = args[feed.place] if feed.axes is None else args[feed.place].permute(feed.axes)
        return torch.view_as_real(value.resolve_conj()) if feed.is_complex else value

    def _result(self, output, args: tuple, computed: tuple):
        if output.handed is not None:
            return self._view(args[output.handed], output, args)
        if output.computed is not None:
            value = computed[output.computed]
            value = torch.view_as_complex(value) if output.is_complex else value
            value = value if output.axes is None else value.permute(output.axes)
            return self._view(value, output, args)
        return self._number(output.number, args)

    def _view(self, value, output, args: tuple):
        if output.view is None:
            return value
        sizes, strides, [offset] = ([self._number(one, args) for one in part] for part in output.view)
        begin = (value.storage_offset() * value.itemsize + offset) // output.dtype.itemsize
        if value.dtype != output.dtype:  # the same memory as a flat tensor of the other type
            widest = max(value.itemsize, output.dtype.itemsize)
            count = value.untyped_storage().nbytes() // widest * widest // value.itemsize
            value = value.as_strided((count,), (1,), 0).view(output.dtype)
        return value.as_strided(sizes, strides, begin)

    def _number(self, number, args: tuple):
        if number is None or isinstance(number, int | float):
            return number
        return int(number.xreplace({one: self._size(one, args) for one in number.free_symbols}))

    def _size(self, symbol, args: tuple):
        place, axis = self._imported.symbols[symbol]
        return sympy.Integer(args[place] if axis is None else args[place].shape[axis])


def _boxed(function):
    """Returns a function of one list, which it empties. AOTAutograd calls it without keeping references to the
    arguments."""

    def call(args: list):
        given = tuple(args)
        args.clear()
        return function(*given)

    call._boxed_call = True
    return call


class Part(torch.nn.Module):
    """A part of a graph, callable by the graph."""

    def __init__(self, program: Program, is_one: bool):
        super().__init__()
        self._program, self._is_one = program, is_one

    def forward(self, *args):
        results = self._program(*args)
        return results[0] if self._is_one else tuple(results)


def _placeholders(graph_module) -> list:
    return [node for node in graph_module.graph.nodes if node.op == "placeholder"]


def _gives_one(graph_module) -> bool:
    [given] = next(node for node in graph_module.graph.nodes if node.op == "output").args
    return not isinstance(given, tuple | list)


def reason_of(error: CompileError) -> str:
    return error.diagnostics[0].message if error.diagnostics else str(error)


class _Compiler:
    """Compiles one graph of Dynamo: its inference graph, or its forward and backward graphs."""

    def __init__(self, options: Options, static: dict, records: list | None):
        self.options, self.static, self.records = options, static, records

    def compiler(self, kind: str):
        return lambda graph, example_inputs: _boxed(self._function(kind, graph))

    def _function(self, kind: str, graph):
        if kind == "inference" and self.options.freeze and self.static:
            return _Frozen(self, graph)
        return self.program(kind, graph)

    def program(self, kind: str, graph, constants: dict | None = None):
        """Returns a Program, or the graph itself if Relay refuses it."""
        try:
            return self._compiled(kind, graph, constants)
        except CompileError as error:
            if self.options.fallback == "error":
                raise
            return self._parts(kind, graph, constants or {}, error)

    def _compiled(self, kind: str, graph, constants: dict | None) -> Program:
        with unset_fake_temporarily():
            imported = import_functional(graph, constants)
            compiled = self.options.compile(imported) if imported.module is not None else None
        self._note(Record(kind, graph, compiled))
        log.info("the %s graph of %d operators is compiled", kind, computes(graph.graph))
        if imported.module is not None:
            log.debug("%s", imported.module)
        return Program(imported, compiled)

    def _note(self, record: Record) -> None:
        if self.records is not None:
            self.records.append(record)

    def _parts(self, kind: str, graph, constants: dict, error: CompileError):
        """Returns the graph with the refused operators in PyTorch, and the rest in Relay where that is worth a call."""
        made, ours = split(graph, error.nodes) if isinstance(error, PartsRefused) and error.nodes else (graph, {})
        names = {node.name: constants[i] for i, node in enumerate(_placeholders(graph)) if i in constants}
        whole = left = computes(graph.graph)
        for name, part in ours.items():
            held = {i: names[node.name] for i, node in enumerate(_placeholders(part)) if node.name in names}
            try:
                program = self._compiled(kind, part, held)
            except CompileError as other:
                log.info("a part of %d nodes runs in PyTorch: %s", len(part.graph.nodes), reason_of(other))
                continue
            setattr(made, name, Part(program, _gives_one(part)))
            left -= computes(part.graph)
        made = graph if left == whole else made
        others = [one for one in made.children() if isinstance(one, torch.fx.GraphModule)] if left < whole else [graph]
        for one in others:
            self._note(Record(kind, one, refused=error))
        what = f"{left} of the {whole} operators" if left else "no operators except some views"
        message = f"{what} of the {kind} graph run in PyTorch: {reason_of(error)}"
        log.log(FALLBACK, message)
        warnings.warn(message, FallbackWarning, stacklevel=2)
        return made.forward


class _Frozen:
    """An inference graph whose parameters are constants until one of them is changed.

    The first call determines which inputs are parameters. After a change, all of them are inputs for good.
    """

    def __init__(self, compiler: _Compiler, graph):
        self._compiler, self._graph, self._lock = compiler, graph, threading.Lock()
        self._frozen, self._states, self._general = None, [], None

    def __call__(self, *args):
        run = self._frozen
        if run is None or self._is_changed(args):
            with self._lock:
                run = self._choose(args)
        return run(*args)

    def _is_changed(self, args: tuple) -> bool:
        for place, which, address, version in self._states:
            one = args[place]
            if id(one) != which or one._version != version or one.data_ptr() != address:
                return True
        return False

    def _choose(self, args: tuple):
        if self._general is None and self._frozen is None:
            static = {place: one for place, one in enumerate(args) if id(one) in self._compiler.static}
            changed = {node.name for node in writes(self._graph)}
            named = [node.name for node in _placeholders(self._graph)]
            static = {
                place: one for place, one in static.items() if not one.is_inference() and named[place] not in changed
            }
            self._states = [(place, id(one), one.data_ptr(), one._version) for place, one in static.items()]
            self._frozen = self._compiler.program("inference", self._graph, static)
        if self._general is None and self._is_changed(args):
            log.info("a parameter has changed: the graph is compiled again, with parameters as inputs")
            self._frozen, self._general = None, self._compiler.program("inference", self._graph)
        return self._frozen or self._general


def _static(graph_module, example_inputs) -> dict:
    """Returns the parameters and buffers among the inputs of Dynamo's graph, by identity."""
    found = {}
    for node, one in zip(_placeholders(graph_module), example_inputs, strict=False):
        marked = "_dynamo_static_input_type" in node.meta.get("tensor_dict", {})
        if isinstance(one, torch.nn.Parameter) or (marked and isinstance(one, torch.Tensor)):
            found[id(one)] = one
    return found


def compile_graph(graph_module, example_inputs, options: Options, records: list | None = None):
    """Returns the callable for one graph of Dynamo. The outcomes of its parts are added to `records`."""
    compiler = _Compiler(options, _static(graph_module, example_inputs) if options.freeze else {}, records)
    made = aot_autograd(
        fw_compiler=compiler.compiler("forward"),
        bw_compiler=compiler.compiler("backward"),
        inference_compiler=compiler.compiler("inference"),
        decompositions=decompositions,
        partition_fn=min_cut_rematerialization_partition,
        keep_inference_input_mutations=True,
    )
    tensors = [*example_inputs, *graph_module.parameters()]
    learns = torch.is_grad_enabled() and any(isinstance(t, torch.Tensor) and t.requires_grad for t in tensors)
    if not learns:
        return made(graph_module, example_inputs)
    with sdpa_kernel(SDPBackend.MATH):  # operators with gradients that other operators express
        return made(graph_module, example_inputs)


def backend(graph_module: torch.fx.GraphModule, example_inputs: list, *, options: dict | None = None):
    """The backend "relay" of torch.compile. `options`: see Options.

    Raises CompileError (R0504) for an unknown option, and for every refused graph with fallback="error".
    """
    return compile_graph(graph_module, example_inputs, Options.of(options))


# PyTorch registers the backend that it loads from an entry point itself, and refuses a second registration of a name.
if _BACKENDS.get("relay") is None:
    register_backend(backend, name="relay")
