"""Imports a graph of AOTAutograd as a module: functional ATen operators over tensors and sizes, for torch.compile.

@main takes the tensors that the graph reads and returns the tensors that it computes. The rest of the graph's signature
is data of the Import: its sizes, the arguments that it passes through, and None. The caller of the module handles them
in Python.
"""

from __future__ import annotations

import dataclasses
import operator

import torch

from ... import op
from ..._core import Dim, Function, IRModule, Tuple, infer_expr
from ...errors import CompileError
from ...ir.expr import var
from . import apart
from .conversion import Refused, cast, constant, dtype_name, name_of_computed, number, size, sizes_of
from .draws import Draw, draw_of, draws, is_drawn, mask_of
from .graph import Graph, Problems, is_complex, symbols_of_shape
from .joined import join_parts
from .table import LOCK, OPERATORS, key_of


def _bytes(shape: list) -> Draw:
    """Returns the draw of a tensor without a value: only its sizes count, which are numbers or formulas."""
    return Draw(torch.ops.aten.empty.memory_format, (shape,), {"dtype": torch.int8})


@dataclasses.dataclass(frozen=True)
class Feed:
    """A parameter of @main. It is argument `place` of the graph, with its axes in the order `axes`, their order in
    memory; or a tensor of the sizes (n, 0) for the integer n there; or the number n itself if no size depends on it; or
    random numbers that are drawn at each call.
    """

    place: int | None
    is_size: bool = False
    is_number: bool = False
    draw: Draw | None = None
    axes: tuple | None = None
    is_complex: bool = False  # the last axis of the parameter contains real and imaginary parts


@dataclasses.dataclass(frozen=True)
class Output:
    """A result of the graph.

    It is result `computed` of @main with its axes put back by `axes`; or argument `handed`; or `number`, a plain number
    or a formula of sizes; or None if none of them is given. `view` is the place (sizes, strides, offset in bytes; each
    a number or a formula) in the memory of the computed result, if another result has the same memory. `dtype` is the
    type of its elements there.
    """

    computed: int | None = None
    axes: tuple | None = None
    handed: int | None = None
    view: tuple | None = None
    dtype: torch.dtype | None = None
    number: object = None
    is_complex: bool = False  # as in Feed


@dataclasses.dataclass(frozen=True)
class Write:
    """An argument that the graph overwrites with a result. `feed` is the parameter of @main for it, whose memory the
    result may use, or None if @main does not read the argument.
    """

    place: int
    output: Output
    feed: int | None


@dataclasses.dataclass(frozen=True)
class Import:
    module: IRModule | None  # None if @main would compute nothing
    feeds: list[Feed]
    outputs: list[Output]
    symbols: dict  # symbol of a size: (argument, axis), with axis None if the argument is the size
    writes: list[Write] = dataclasses.field(default_factory=list)

    def donated(self) -> dict[str, int]:
        """Returns the parameters that results may overwrite, for relay.compile: arguments whose memory is laid out as
        @main reads them."""
        names = [param.name_hint for param in self.module["main"].params]
        return {names[one.feed]: one.output.computed for one in self.writes if one.feed is not None}


def writes(graph_module) -> dict:
    """Returns the values that are copied into arguments of the graph at its end, by the node of the argument."""
    found = {}
    for node in graph_module.graph.nodes:
        if node.target is torch.ops.aten.copy_.default and node.args[0].op == "placeholder":
            found[node.args[0]] = node
    return found


def decompositions() -> dict:
    """Returns the decompositions for AOTAutograd: of the operators that core ATen lacks and those in apart.py, except
    operators in the table."""
    made = {**torch._decomp.core_aten_decompositions(), **torch._decomp.get_decompositions(apart.OF_PYTORCH)}
    with LOCK:
        kept = {one: rule for one, rule in made.items() if key_of(one) not in OPERATORS and not is_drawn(one)}
        return kept | apart.DECOMPOSITIONS


def _strides(val) -> list[int | None]:
    """Returns the strides at the sizes of the example, without a guard on any size."""
    return [one if isinstance(one, int) else one.node.hint for one in val.stride()]


def _order(val) -> list[int] | None:
    """Returns the axes in their order in memory, outermost first, or None if they are row-major, or elements share
    memory."""
    strides = _strides(val)
    if None in strides or 0 in strides:
        return None
    order = sorted(range(val.dim()), key=lambda axis: -strides[axis])
    return None if order == list(range(val.dim())) else order


def _inverse(order: list[int]) -> list[int]:
    return [order.index(axis) for axis in range(len(order))]


def _permuted(value, axes: list[int], node):
    """Permutes the axes. The parts of complex numbers stay on the last axis."""
    return op.transpose(value, axes=[*axes, len(axes)] if is_complex(node) else axes)


def _seen(node):
    """Returns the tensor that this one is a view of, or None if it is not a view."""
    if node.target is operator.getitem:  # one of several views
        node = node.args[0]
    is_view = getattr(node.target, "is_view", False)
    return node.args[0] if is_view and isinstance(node.args[0], torch.fx.Node) else None


def _is_stored_alike(one, other) -> bool:
    a, b = one.meta["val"], other.meta["val"]
    return a.dtype == b.dtype and (list(a.shape), _strides(a), a.storage_offset()) == (
        list(b.shape), _strides(b), b.storage_offset())  # fmt: skip


class PartsRefused(CompileError):
    """The error that nodes of the graph cannot be imported."""

    nodes: set = frozenset()


class _Functional(Graph):
    def __init__(self, graph_module, constants: dict[int, torch.Tensor]):
        super().__init__(graph_module, Problems(), {}, {})
        self.constants, self.params, self.feeds, self.symbols = constants, [], [], {}
        self.written = writes(graph_module)
        self.copies = {node: target for target, node in self.written.items()}
        self.takers = {node.args[1]: target for target, node in self.written.items()}

    def imported(self) -> Import:
        self.placeholders = [node for node in self.graph_module.graph.nodes if node.op == "placeholder"]
        for step in (self._tensor, self._size):
            for place, node in enumerate(self.placeholders):
                try:
                    step(place, node)
                except Refused as reason:
                    self.problem(node, f"input `{node.name}`: {reason}", reason.help)
        self.nodes()
        results, outputs, changed = self._results()
        if results and not self.params:  # results are arrays of the framework of the inputs
            self._add(var("nothing", shape=[0], dtype="int8"), Feed(None, draw=_bytes([0])))
        self._tell()
        if not results:
            return Import(None, [], outputs, self.symbols, changed)
        body = results[0] if len(results) == 1 else Tuple(results)
        module = IRModule({"main": Function(self.params, body), **self.functions})
        return Import(module, self.feeds, outputs, self.symbols, changed)

    def _node(self, node) -> None:
        if node not in self.written.values():
            super()._node(node)

    def _named(self, name: str, value, val):
        """Results have sizes before the graph runs, so sizes that depend on elements are left to PyTorch."""
        given = super()._named(name, value, val)
        if given is not value:
            raise Refused(f"a size depends on the elements of a tensor ({val.shape})")
        return value

    def _number(self, node) -> None:
        """Numbers that are elements of tensors also come from PyTorch."""

    def _computed_size(self, expr):
        """The size of a result is known before the graph runs, so it is also passed as the size of a tensor."""
        name = name_of_computed(expr)
        param = var(name, shape=[Dim(name), 0], dtype="int8")
        self._add(param, Feed(None, draw=_bytes([expr, 0])))
        infer_expr(param)
        return param

    def _tell(self) -> None:
        try:
            self.problems.tell()
        except CompileError as error:
            parts = PartsRefused(*error.args, error.diagnostics)
            parts.nodes = {node for node in self.problems.nodes if node is not None and node.op == "call_function"}
            raise parts from None

    def _tensor(self, place: int, node) -> None:
        val = node.meta.get("val")
        if not isinstance(val, torch.Tensor):
            return
        if val.device.type != "cpu":
            raise Refused(f"it is on the device {val.device}", help="move it to the CPU: tensor.cpu(), module.cpu()")
        if val.layout != torch.strided:
            raise Refused(
                f"its layout is {val.layout}", help="pass a dense tensor, such as the result of tensor.to_dense()"
            )
        for axis, extent in enumerate(val.shape):
            if not isinstance(extent, int) and extent.node.expr.is_Symbol:
                self.symbols.setdefault(extent.node.expr, (place, axis))
        readers = [user for user in node.users if user.op != "output" and user is not self.written.get(node)]
        symbolic = any(not isinstance(extent, int) for extent in val.shape)
        if not readers and not symbolic:
            return
        if place in self.constants:
            self.values[node] = constant(self.constants[place], shared=True)
            return
        order = _order(val)
        stored = val if order is None else val.permute(order)
        parts, kind = ([2], val.dtype.to_real()) if is_complex(node) else ([], val.dtype)
        param = var(node.name, shape=[*(size(one) for one in stored.shape), *parts], dtype=dtype_name(kind))
        self._add(param, Feed(place, axes=None if order is None else tuple(order), is_complex=is_complex(node)))
        self.sizes = sizes_of(param, stored) | self.sizes
        self.values[node] = param if order is None else _permuted(param, _inverse(order), node)
        infer_expr(self.values[node])

    def _size(self, place: int, node) -> None:
        """A symbol that is not the size of any tensor is passed as the size of a tensor without elements, or as a
        number if it may be negative."""
        val = node.meta.get("val")
        if not isinstance(val, torch.SymInt) or not val.node.expr.is_Symbol:
            return
        symbol = val.node.expr
        self.symbols.setdefault(symbol, (place, None))
        if symbol in self.sizes:
            return
        if val.node.shape_env.var_to_range[symbol].lower < 0:
            if any(symbol in symbols_of_shape(one) for one in self.graph_module.graph.nodes):
                raise Refused("a size depends on the integer, which may be negative")
            if node.users:
                param = var(node.name, shape=[], dtype="int64")
                self._add(param, Feed(place, is_number=True))
                self.sizes[symbol] = (param, "int64")
            return
        carrier = var(node.name, shape=[size(val), 0], dtype="int8")
        self._add(carrier, Feed(place, True))
        self.sizes[symbol] = (carrier, 0)

    def _add(self, param, feed: Feed) -> None:
        self.params.append(param)
        self.feeds.append(feed)

    def _converted(self, node, key: str | None):
        if not draws(node.target) or (key in OPERATORS and key != "native_dropout"):
            return super()._converted(node, key)
        try:
            return self._dropped(node) if key == "native_dropout" else self._drawn(node.name, draw_of(node), node)
        except Refused as reason:
            raise Refused(f"operator {node.target}: {reason}", help=reason.help) from reason

    def _drawn(self, name: str, draw: Draw, node):
        """Returns the drawn numbers as a parameter, with the shape and type of the node's result."""
        val = node.meta["val"]
        val = val if isinstance(val, torch.Tensor) else val[1]
        made = var(name, shape=[size(one) for one in val.shape], dtype=dtype_name(val.dtype))
        self._add(made, Feed(None, draw=draw))
        return made

    def _dropped(self, node) -> list:
        """Imports native_dropout: the data times the mask over 1 - p, and the mask."""
        source, p, train = node.args
        data, val = self.values[source], source.meta["val"]
        if train is False or p == 0:
            return [data, op.full(number(True, "bool"), shape=[size(one) for one in val.shape])]
        dtype = dtype_name(val.dtype)
        if p == 1:
            return [op.zeros_like(data), op.cast(op.zeros_like(data), "bool")]
        mask = self._drawn(node.name, mask_of(val, 1 - p), node)
        return [op.multiply(op.multiply(data, cast(mask, "bool", dtype)), number(1 / (1 - p), dtype)), mask]

    def _results(self) -> tuple[list, list[Output], list[Write]]:
        """Returns the results of @main, the origin of each result of the graph, and the writes to its arguments.

        Results that arguments take come first, each separately; a result of the graph that is the same is copied.
        """
        [given] = next(node for node in self.graph_module.graph.nodes if node.op == "output").args
        results, outputs, changed = [], [], []
        self.given = given if isinstance(given, (tuple, list)) else [given]
        for target, node in self.written.items():
            if node.args[1] not in self.failed:
                changed.append(self._write(target, node.args[1], results))
        places = {}
        for value in self.given:
            if isinstance(value, torch.fx.Node) and value in self.failed:
                continue
            outputs.append(self._output(self.copies.get(value, value), results, places))
        return results, outputs, changed

    def _write(self, target, source, results: list) -> Write:
        """Returns the value in the axis order and type of the argument, so that the result can use its memory."""
        place = self.placeholders.index(target)
        if source not in self.values or not isinstance(source.meta.get("val"), torch.Tensor) or is_complex(source):
            self.problems.add(source, "the value copied into an argument is not a tensor")
            return Write(place, Output(), None)
        val, source_val = target.meta["val"], source.meta["val"]
        order, found = _order(val), self.values[source]
        found = cast(found, dtype_name(source_val.dtype), dtype_name(val.dtype))
        if list(source_val.shape) != list(val.shape):
            found = op.broadcast_to(found, shape=[size(one) for one in val.shape])
        results.append(found if order is None else op.transpose(found, axes=order))
        feed = next((i for i, one in enumerate(self.feeds) if one.place == place and not one.is_size), None)
        axes = None if order is None else tuple(_inverse(order))
        return Write(place, Output(computed=len(results) - 1, axes=axes), feed)

    def _base(self, node):
        """Returns the tensor whose memory PyTorch uses for this result, if that is an argument or a result too. The
        memory of a value that an argument takes is the argument's."""
        base, seen = node, _seen(node)
        while seen is not None:
            base, seen = seen, _seen(seen)
            if base in self.takers and _is_stored_alike(self.takers[base], base):
                return self.takers[base]
        val = base.meta.get("val")
        if not isinstance(val, torch.Tensor) or 0 in _strides(val):
            return node
        return base if base.op == "placeholder" or (base.op == "call_function" and base in self.given) else node

    def _output(self, value, results: list, places: dict) -> Output:
        if not isinstance(value, torch.fx.Node):
            return Output(number=value)
        if value.op == "placeholder":
            return Output(handed=self.placeholders.index(value))
        val = value.meta.get("val")
        if isinstance(val, torch.SymInt):
            if unknown := [one for one in val.node.expr.free_symbols if one not in self.symbols]:
                self.problems.add(value, f"the result is a number of {unknown[0]}, which no input has")
            return Output(number=val.node.expr)
        if not isinstance(val, torch.Tensor):
            self.problems.add(value, f"the result `{value}` is a {type(val).__name__}")
            return Output()
        base = self._base(value)
        if base is not value and (base in self.values or base.op == "placeholder"):
            begins = (one.storage_offset() * one.itemsize for one in (val, base.meta["val"]))
            parts = (val.shape, val.stride(), [operator.sub(*begins)])
            view = tuple(tuple(one if isinstance(one, int) else one.node.expr for one in part) for part in parts)
            return dataclasses.replace(self._output(base, results, places), view=view, dtype=val.dtype)
        order = _order(val)
        if value not in places:
            places[value] = len(results)
            found = self.values[value]
            results.append(found if order is None else _permuted(found, order, value))
        axes = None if order is None else tuple(_inverse(order))
        return Output(computed=places[value], axes=axes, is_complex=is_complex(value))


def import_functional(graph_module, constants: dict[int, torch.Tensor] | None = None) -> Import:
    """Returns the module of a graph whose nodes have fake values. `constants`: arguments, by position, that keep their
    current value.

    Raises PartsRefused, which names every node that cannot be imported.
    """
    join_parts(graph_module)
    with LOCK:
        return _Functional(graph_module, constants or {}).imported()
