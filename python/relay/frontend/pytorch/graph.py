"""Imports an exported program as a module: inputs, constants, nodes in order, results. All problems are in one
diagnostic.

A result that is None becomes the empty tuple, and a number becomes a tensor without axes. Buffers and inputs that the
call changes are results before the module's, as in torch.export; such buffers are inputs after the module's.
"""

from __future__ import annotations

import operator

import torch

from ... import op
from ..._core import Call, Dim, Function, IRModule, Let, Tuple, TupleGetItem, infer_expr
from ...errors import CompileError, wrong_input
from ...ir.expr import var
from ..shared import problems
from ..shared.provenance import Fates
from . import apart, control
from .conversion import (
    OTHER_OPERATORS,
    Conversion,
    Refused,
    cast,
    computed_sizes,
    constant,
    dtype_name,
    empty,
    is_unbacked,
    name_of_computed,
    number,
    number_of_sizes,
    size,
    sizes_of,
)
from .draws import draws
from .provenance import line_of, name_of
from .table import CHECKS, COMPLEX, LOCK, OPERATORS, TO_COMPLEX, WAYS_OUT, key_of


def _is_ready(node) -> bool:
    """Returns true if the table has the node's operator, and the operator does not work in place."""
    if node.op != "call_function" or node.target is operator.getitem or key_of(node.target) in CHECKS:
        return node.op != "get_attr"
    if not isinstance(node.target, torch._ops.OpOverload):
        return False
    return (
        key_of(node.target) in OPERATORS
        and node.target not in apart.DECOMPOSITIONS
        and not node.target._schema.is_mutable
    )


# For results: the buffer or parameter that the call changes.
CHANGED = ("BUFFER_MUTATION", "PARAMETER_MUTATION")
_NUMBERS = {bool: "bool", int: "int64", float: "float64"}
# Operators that convert an element to a number.
ITEMS = ("_local_scalar_dense", "item")


def _extents(node) -> list:
    """Returns the sizes in a node's result that are not numbers, as formulas."""
    vals = node.meta.get("val")
    vals = vals if isinstance(vals, list | tuple) else [vals]
    tensors = [val for val in vals if isinstance(val, torch.Tensor)]
    return [one.node.expr for val in tensors for one in val.shape if not isinstance(one, int)]


def symbols_of_shape(node) -> set:
    return {symbol for one in _extents(node) for symbol in one.free_symbols}


def is_complex(node) -> bool:
    val = node.meta.get("val")
    return isinstance(val, torch.Tensor) and val.dtype.is_complex


def _decomposed(program):
    """Returns the program with the operators of the table whole, the rest in core ATen operators, and no in-place
    operators."""
    if all(_is_ready(node) for node in program.graph.nodes):
        return program  # PyTorch takes longer to find that there is nothing to do
    decompositions = torch.export.default_decompositions()
    training = torch.ops.aten._native_batch_norm_legit_functional  # core ATen leaves it whole
    decompositions.update(torch._decomp.get_decompositions([training]))
    for target in list(decompositions):
        if key_of(target) in OPERATORS:
            decompositions.pop(target)
    decompositions.update(apart.DECOMPOSITIONS)
    try:
        return program.run_decompositions(decompositions)
    except Exception as error:  # exceptions of PyTorch's operators and passes
        raise wrong_input(
            f"PyTorch cannot decompose the exported program: {type(error).__name__}: {str(error).splitlines()[0]}",
            "make program.run_decompositions() work first, then pass its result",
        ) from error


def _missing(node) -> Refused:
    """Describes a missing operator. An operator that is called for its effect is an argument of the call."""
    target = node.args[1] if str(node.target) == "with_effects" else node.target
    if draws(target):
        help = "draw them outside of the model, and pass them as an input"
        return Refused(f"operator {target}: it draws random numbers: {help}", help=help)
    if reason := WAYS_OUT.get(key_of(target)):
        return Refused(f"operator {target}: {': '.join(reason)}", help=reason[-1])
    return Refused(f"operator {target}", help=OTHER_OPERATORS)


class Problems(problems.Problems):
    """The nodes that cannot be imported, by operator and reason, with the first node of each."""

    def __init__(self):
        super().__init__("the PyTorch program", "make the program take and return only tensors")
        self.nodes = set()  # in all graphs

    def add(self, node, what: str, outer: str = "", help: str = "") -> None:
        """Adds a problem and its remedy. `outer` is the line of the node that contains its graph."""
        self.record(what, f", first in `{node.name}`{line_of(node) or outer}" if node is not None else "", help)
        self.nodes.add(node)


class NamedAlready(Exception):
    """Raised if an operand failed, whose problem is reported already."""


class Graph:
    """Imports the nodes of one graph. Graphs within it share its problems, functions and node records."""

    def __init__(self, graph_module, problems: Problems, functions: dict, sizes: dict, fates=None, outer: str = ""):
        self.graph_module, self.problems, self.functions, self.outer = graph_module, problems, functions, outer
        self.fates = fates or Fates()
        self.sizes = sizes  # the places where symbols are read
        self.values, self.failed = {}, set()
        self.opened = []  # parameters of functions around the following nodes, and the arguments for them

    def problem(self, node, what: str, help: str = "") -> None:
        self.problems.add(node, what, self.outer, help)
        self.failed.add(node)

    def nodes(self) -> None:
        for node in self.graph_module.graph.nodes:
            if node.op == "call_function":
                with self.fates.of(name_of(node)):
                    self._node(node)
            elif node.op == "get_attr":
                self._attribute(node)

    def _attribute(self, node) -> None:
        """Returns a tensor that the program's code made, or the graph of a branch."""
        held = getattr(self.graph_module, node.target, None)
        if isinstance(held, torch.Tensor) and not isinstance(held, torch._subclasses.FakeTensor):
            try:
                self.values[node] = constant(held)
            except Refused as reason:
                self.problem(node, str(reason), reason.help)
        elif not all(control.kind(user.target) for user in node.users):
            self.problem(node, f"a graph of its own (`{node.target}`)")

    def inlined(self, node, graph_module, operands: list, sizes: dict) -> list:
        """Imports an inner graph on these operands, and returns its results."""
        inner = Graph(graph_module, self.problems, self.functions, sizes, self.fates, line_of(node) or self.outer)
        placeholders = [node for node in graph_module.graph.nodes if node.op == "placeholder"]
        inner.values = {node: one for node, one in zip(placeholders, operands, strict=True) if one is not None}
        inner.nodes()
        output = next(node for node in graph_module.graph.nodes if node.op == "output")
        results = output.args[0] if isinstance(output.args[0], (tuple, list)) else [output.args[0]]
        if any(one in inner.failed for one in results if isinstance(one, torch.fx.Node)):
            raise NamedAlready
        if not all(isinstance(one, torch.fx.Node) and one in inner.values for one in results):
            raise Refused("a branch returns a value that is not a tensor")
        results = [inner.values[one] for one in results]
        if not inner.opened:
            return results
        closed = inner.closed(results[0] if len(results) == 1 else Tuple(results))
        return [closed] if len(results) == 1 else [TupleGetItem(closed, i) for i in range(len(results))]

    def closed(self, body):
        """Returns the graph's result, inside functions that name the sizes that depend on elements. Each function is
        called once."""
        for param, value in reversed(self.opened):
            body = Call(Function([param], body), [value])
        return body

    def _open(self, name: str, value, val):
        """Returns a parameter of a new function around the following nodes, whose type names the sizes."""
        param = var(name, shape=[size(one) for one in val.shape], dtype=dtype_name(val.dtype))
        self.opened.append((param, value))
        self.sizes = sizes_of(param, val) | self.sizes
        infer_expr(param)
        return param

    def _sized(self, node, made):
        """Returns the value of a node. A size that depends on its elements is known from here on."""
        vals = node.meta.get("val")
        if isinstance(made, list):
            return [
                self._named(f"{node.name}{i}", one, val) for i, (one, val) in enumerate(zip(made, vals, strict=True))
            ]
        return self._named(node.name, made, vals)

    def _named(self, name: str, value, val):
        if value is None or not isinstance(val, torch.Tensor):
            return value
        new = [one.node.expr for one in val.shape if not isinstance(one, int)]
        if not any(one.is_Symbol and is_unbacked(one) and one not in self.sizes for one in new):
            return value
        return self._open(name, value, val)

    def _number(self, node) -> None:
        """Returns a number that is an element of a tensor (item()). If it is also a size, a tensor without elements
        carries it."""
        symbol, source = node.meta["val"].node.expr, node.args[0]
        if key_of(node.target) not in ITEMS or source not in self.values or not symbol.is_Symbol:
            return
        of = "float64" if isinstance(node.meta["val"], torch.SymFloat) else "int64"
        value = op.reshape(cast(self.values[source], dtype_name(source.meta["val"].dtype), of), newshape=[])
        infer_expr(value)
        self.sizes = {symbol: (value, of)} | self.sizes
        if any(symbol in symbols_of_shape(one) for one in self.graph_module.graph.nodes):
            self._open_size(node.name, size(node.meta["val"]), value)

    def _open_size(self, name: str, extent, value):
        """Returns such a number if it is a size: the size of a tensor without elements."""
        param = var(name, shape=[extent], dtype="int8")
        self.opened.append((param, op.zeros(op.reshape(value, newshape=[1]), dtype="int8")))
        infer_expr(param)
        return param

    def _compute_sizes(self, node) -> None:
        """Names the sizes of the node's operands and results that are computed in floats, as variables."""
        for one in (node, *node.all_input_nodes):
            for expr in _extents(one):
                for computed in computed_sizes(expr):
                    if computed not in self.sizes and computed.free_symbols <= self.sizes.keys():
                        self.sizes = {computed: (self._computed_size(computed), 0)} | self.sizes

    def _computed_size(self, expr):
        name = name_of_computed(expr)
        return self._open_size(name, Dim(name), number_of_sizes(expr, self.sizes)[0])

    def name_of_function(self, kind: str) -> str:
        return f"{kind}{len(self.functions)}"

    def _node(self, node) -> None:
        if isinstance(node.meta.get("val"), (torch.SymInt, torch.SymBool, torch.SymFloat, int, bool, float)):
            if isinstance(node.meta["val"], (torch.SymInt, torch.SymFloat)):
                self._number(node)
            return  # sizes are read from the types
        key = key_of(node.target)
        if key in CHECKS:
            return
        if any(source in self.failed for source in node.all_input_nodes):
            self.failed.add(node)  # reported already, together with unknown operators after it
            if key not in OPERATORS and node.target is not operator.getitem and not control.kind(node.target):
                missing = _missing(node)
                self.problem(node, str(missing), missing.help)
            return
        try:
            self._compute_sizes(node)
            made = self._converted(node, key)
            if node.target is not operator.getitem:
                operands = [self.values.get(one) for one in node.all_input_nodes]
                results = [one for one in (made if isinstance(made, list) else [made]) if one is not None]
                self.fates.converted(name_of(node), results, operands, bool(control.kind(node.target)))
            self.values[node] = self._sized(node, made)
        except NamedAlready:
            self.failed.add(node)
            self.problems.nodes.add(node)
        except Refused as reason:
            self.problem(node, str(reason), reason.help)
            self.problems.nodes.update(reason.nodes)

    def _converted(self, node, key: str | None):
        if node.target is operator.getitem:
            return self.values[node.args[0]][node.args[1]]
        if key not in OPERATORS and not control.kind(node.target):
            raise _missing(node)
        try:
            if kind := control.kind(node.target):
                return control.CONVERTERS[kind](self, node)
            made = empty(node.meta["val"])
            known = COMPLEX if any(map(is_complex, node.all_input_nodes)) else (
                TO_COMPLEX if is_complex(node) else OPERATORS)  # fmt: skip
            convert = known.get(key)
            if convert is None:
                raise Refused(
                    "complex numbers", help="write this part with the real and imaginary parts as real tensors"
                )
            if made is None or hasattr(convert, "checks_sizes"):
                made = convert(Conversion(node, self.values, self.sizes))
            module = IRModule(self.functions) if self.functions else None
            for one in made if isinstance(made, list) else [made]:
                if one is not None:
                    infer_expr(one, module)
            return made
        except Refused as reason:
            raise Refused(f"operator {node.target}: {reason}", reason.nodes, reason.help) from reason
        except CompileError as error:
            first = error.diagnostics[0]
            help = first.help or "write this part in another form"
            raise Refused(f"operator {node.target}: {first.message}", help=help) from error
        except NamedAlready:
            raise
        except Exception as error:  # any failure of a converter; it must not stop a program that PyTorch can run
            what = f"{type(error).__name__}: {error}"
            raise Refused(
                f"operator {node.target}: its converter fails, which is a bug in Relay ({what})",
                help="report it with the program; until then, pass your own converter (relay.frontend.converter)",
            ) from error


def _ranges(program):
    """Returns (size, (least, greatest or None)) of the sizes that the export bounds. Like PyTorch, it ignores bounds of
    0 and 1."""
    for expr, bounds in program.range_constraints.items():
        least, most = (int(one) if one.is_Integer else None for one in (bounds.lower, bounds.upper))
        least = least if least is not None and least > 2 else 0
        if least or (most is not None and most < 2**31):
            yield expr, (least, most)


class _Import(Graph):
    """Imports the whole program: inputs, weights and results."""

    def __init__(self, program, names: list[str] | None):
        super().__init__(program.graph_module, Problems(), {}, {})
        self.signature, self.graph = program.graph_signature, program.graph
        self.stored = {**program.state_dict, **program.constants}
        self.names, self.params, self.user_inputs = names, [], []
        self.weights = {}  # constants by the memory of their tensors
        self.states = []  # buffers that a call changes, inputs after the user's
        self.complex = set()  # complex inputs
        self.bounds = dict(_ranges(program))

    def module(self) -> IRModule:
        self._inputs()
        self.nodes()
        results = self._results()
        self.problems.tell()
        body = results[0] if len(results) == 1 else Tuple(results)
        params = [*self.params, *self.states]
        main = Function(params, self._bounded(self.closed(body)))
        inputs = [place for place, one in enumerate(params) if one in self.complex]
        for name, places in (("complex_inputs", inputs), ("complex_outputs", self.complex_results)):
            main = main.with_attr(name, places) if places else main
        functions = {"main": main, **self.functions}
        return IRModule(functions, attrs=self.fates.attrs(functions))

    def _input(self, name: str, node):
        """Adds a parameter of @main. The parts of complex numbers are its last axis."""
        val = node.meta["val"]
        parts, kind = ([2], val.dtype.to_real()) if is_complex(node) else ([], val.dtype)
        made = var(name, shape=[*(size(one) for one in val.shape), *parts], dtype=dtype_name(kind))
        if is_complex(node):
            self.complex.add(made)
        return made

    def _state(self, node, target: str) -> None:
        """Adds a buffer that a call changes. It is an input and a result."""
        name = target.replace(".", "_")
        if any(name == one.name_hint for one in [*self.params, *self.states]):
            name = node.name
        self.values[node] = self._input(name, node)
        self.states.append(self.values[node])

    def _inputs(self) -> None:
        placeholders = [node for node in self.graph.nodes if node.op == "placeholder"]
        changed = {one.target for one in self.signature.output_specs if one.kind.name in CHANGED}
        for node, spec in zip(placeholders, self.signature.input_specs, strict=True):
            try:
                if spec.kind.name == "TOKEN":
                    self.failed.add(node)  # effects of operators, which are reported
                elif spec.kind.name == "USER_INPUT":
                    self._user_input(node)
                elif spec.target in changed:
                    self._state(node, spec.target)
                elif node.users:
                    self.values[node] = self._weight(self.stored[spec.target])
            except Refused as reason:
                self.problem(node, f"input `{node.name}`: {reason}", reason.help)

    def _weight(self, tensor: torch.Tensor):
        """Returns a constant, the same one for tensors that share their elements."""
        if tensor.is_meta or tensor.layout != torch.strided or not tensor.data_ptr():
            return constant(tensor)
        place = (tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride(), tensor.is_conj(), tensor.is_neg())
        if place not in self.weights:
            self.weights[place] = constant(tensor)
        return self.weights[place]

    def _user_input(self, node) -> None:
        val = node.meta.get("val")
        if isinstance(val, torch.Tensor):
            place = len(self.params)
            name = self.names[place] if self.names is not None and place < len(self.names) else node.name
            self.values[node] = self._input(name, node)
            self.params.append(self.values[node])
            self.sizes = sizes_of(self.values[node], val) | self.sizes
            self.user_inputs.append(node)
        elif node.users:
            raise Refused("it is not a tensor")

    def _bounded(self, body):
        """Adds the ranges of sizes that the export found as checks, on the first axis that has each size."""
        for node, param in zip(self.user_inputs, self.params, strict=True):
            for axis, extent in enumerate(node.meta["val"].shape):
                bounds = None if isinstance(extent, int) else self.bounds.pop(extent.node.expr, None)
                if bounds is not None:
                    least, most = bounds
                    body = Let(var("_"), op.annotation.bounded(param, axis=axis, least=least, most=most), body)
        return body

    def _number_result(self, value):
        """Returns a number as a tensor without axes. It is a Python number, or computed from sizes."""
        if type(value) in _NUMBERS:
            return number(value, _NUMBERS[type(value)])
        val = value.meta.get("val") if isinstance(value, torch.fx.Node) else None
        if not isinstance(val, (torch.SymInt, torch.SymFloat)):
            return None
        try:
            return number_of_sizes(val.node.expr, self.sizes)[0]
        except Refused as reason:
            self.problem(value, f"the result `{value}`: {reason}", reason.help)
            return None

    def _results(self) -> list:
        output = next(node for node in self.graph.nodes if node.op == "output")
        results, self.complex_results = [], []
        for spec, value in zip(self.signature.output_specs, output.args[0], strict=True):
            if spec.kind.name == "TOKEN":
                continue
            if spec.kind.name not in ("USER_OUTPUT", "USER_INPUT_MUTATION", *CHANGED):
                self.problems.add(None, f"`{spec.target}` is changed by the call ({spec.kind.name.lower()})")
            elif isinstance(value, torch.fx.Node) and value in self.values:
                if is_complex(value):
                    self.complex_results.append(len(results))
                results.append(self.values[value])
            elif value is None:
                results.append(Tuple([]))
            elif (as_tensor := self._number_result(value)) is not None:
                results.append(as_tensor)
            elif value not in self.failed:
                self.problems.add(None, f"the result `{value}` is not a tensor")
        if not any(value in self.values for value in output.args[0] if value is not None) and not self.failed:
            self.problems.add(None, "no result of the program is a tensor")
        return results


def import_program(program, names: list[str] | None = None) -> IRModule:
    """Returns the module of an exported program. `names` replace the names of its inputs, in order."""
    with LOCK:
        return _Import(_decomposed(program), names).module()
