"""Imports networks of nodes that read and write tensors by name. All problems are in one diagnostic."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..._core import Constant, Expr, Function, IRModule, infer_expr
from ...data.arrays import own_array
from ...errors import CompileError, told, wrong_input
from ...ir.expr import var
from .expressions import GIVE_SHAPES, numpy_type
from .missing import StandIns
from .module import check_names, module_of, named
from .node import Node, NodeConversion, text
from .problems import Problems, Refused
from .provenance import Fates

MOST_NODES = 200_000
_FATAL = ("corrupt_file", "limit_exceeded")
# Kinds of nodes that compute gradients or change weights, in all formats.
_TRAINS = re.compile(
    r"_backward_.*|.*(_grad|Gradient|_update|SGD|Ada(m|grad|delta))(Update|_)?|LearningRate|"
    r"(.*_)?(sgd|momentum|adamw?|adamax|adagrad|adadelta|rmsprop|ftrl|lamb)_?"
)
_FORWARD = "export the model for inference, without its gradients and its optimiser"


class NetworkImporter:
    """The import of one network. `table` has the converters by kind of node: a converter takes a NodeConversion, and
    returns an expression, or a list of one for each output.

    subject: "the Caffe network", for messages. way_out: advice if a kind is not in the table.
    shapes: sizes of inputs that the user gives, by name; -1 leaves a size as it is.
    custom: functions by kind, function(inputs, attributes), for kinds that the table lacks.
    """

    conversion: type[NodeConversion] = NodeConversion
    harmless: frozenset[str] = frozenset()  # attributes of any node that have no effect on the result

    def __init__(
        self,
        subject: str,
        way_out: str,
        table: Mapping[str, Callable],
        shapes: Mapping[str, Sequence[int]] | None = None,
        custom: Mapping[str, Callable] | None = None,
    ):
        self.subject, self.way_out, self.table = subject, way_out, table
        self.shapes, self.custom = dict(shapes or {}), dict(custom or {})
        self.problems, self.fates = Problems(subject, way_out), Fates()
        self.stand_ins = StandIns(self.problems)
        self.values: dict[str, Expr | None] = {}  # None: its node has failed
        self.params: list[Expr] = []
        self.states: list[tuple[Expr, str, Expr]] = []  # parameter, name, value after the run
        self.functions: dict[str, Function] = {}  # besides @main, of loops
        self._count = 0

    # --- tensors ------------------------------------------------------------------------------------------------------
    def input(self, name: str, sizes: Sequence[int | None] | None, dtype: str = "float32") -> Expr:
        """Returns a new parameter of @main. sizes: those of the file, None for open ones; None if it has no sizes."""
        given = self.shapes.get(name)
        if given is None and sizes is None:
            raise Refused(f"the input `{name}` has no shape in the model", GIVE_SHAPES)
        made = var(name, shape=named(name, _merged(name, given, sizes)), dtype=dtype)
        self.params.append(made)
        self.values[name] = made
        return made

    def check_given(self, names: Sequence[str]) -> None:
        """Refuses shapes of inputs that the model has not."""
        check_names(self.shapes, names)

    def constant(self, elements: np.ndarray, dtype: str | None = None) -> Expr:
        made = elements.astype(numpy_type(dtype), copy=False) if dtype else elements
        return Constant.sharing(own_array(made, source=elements))

    def state(self, name: str, sizes: Sequence[int], dtype: str = "float32") -> Expr:
        """Returns a value that is kept from run to run: a parameter of @main after the model's inputs, zero at
        first."""
        return var(name, shape=list(sizes), dtype=dtype)

    def set_state(self, state: Expr, result: Expr) -> None:
        self.states.append((state, state.name_hint, result))

    # --- nodes --------------------------------------------------------------------------------------------------------
    def add(self, node: Node) -> None:
        """Imports a node whose operands were imported before."""
        self._count += 1
        if self._count > MOST_NODES:
            raise told("limit_exceeded", f"{self.subject} has more than {MOST_NODES} nodes", "split the network")
        made: list[Expr | None] = [None] * len(node.outputs)
        first = f", first in `{node.place}`"
        try:
            convert = self.converter(node)
            missing = [name for name in node.inputs if name not in self.values]
            if missing:
                raise Refused(
                    f"{node.kind}: no node before computes its input `{missing[0]}`",
                    "the file is incomplete, or its nodes form a cycle or are out of order: export it again",
                )
            operands = [self.values[name] for name in node.inputs]
            if convert is not None and all(one is not None for one in operands):
                made = self.converted(node, convert, operands)
        except Refused as reason:
            self.problems.record(str(reason), first, reason.help)
        self.values.update(zip(node.outputs, made, strict=True))

    def converter(self, node: Node) -> Callable | None:
        """Returns the converter of a node. Refuses kinds that are not in the table."""
        if node.kind in self.custom:
            return _adapted(self.custom[node.kind])
        found = self.table.get(node.kind)
        if found is None and _TRAINS.fullmatch(node.kind):
            raise Refused(f"the operator {node.kind} is not imported: it is a part of training", _FORWARD)
        if found is None:
            raise Refused(f"the operator {node.kind} is not imported", self.way_out)
        if isinstance(found, Refused):
            raise Refused(f"{node.kind}: {found}", found.help)
        return found

    def conversion_of(self, node: Node, operands: list[Expr]) -> NodeConversion:
        return self.conversion(self, node, operands)

    def converted(self, node: Node, convert: Callable, operands: list[Expr]) -> list[Expr]:
        """Returns the results of a node, one for each output that is used."""
        try:
            with self.fates.of(node.place):
                c = self.conversion_of(node, operands)
                made = convert(c)
                results = list(made) if isinstance(made, (list, tuple)) else [made]
                for one in results:
                    self.check_result(one)
        except CompileError as error:
            problem = error.diagnostics[0] if error.diagnostics else None
            if problem is None or problem.kind in _FATAL:
                raise
            raise Refused(f"{node.kind}: {problem.message}", problem.help or self.way_out) from error
        except Refused as reason:
            raise Refused(f"{node.kind}: {reason}", reason.help) from reason
        except Exception as error:  # any failure of a converter on attributes that the framework cannot have written
            what = f"{node.kind}: its attributes cannot be imported ({type(error).__name__}: {error})"
            raise Refused(
                what, "save the model again; if its framework runs it, report it as a bug in Relay"
            ) from error
        if node.kind not in self.custom:
            self._check_unread(node, c)
        if len(results) < len(node.outputs):
            raise Refused(f"{node.kind}: it has {len(node.outputs)} outputs, not {len(results)}")
        self.fates.converted(node.place, results, operands, False)
        return results[: len(node.outputs)]

    def _check_unread(self, node: Node, c: NodeConversion) -> None:
        left = [
            name
            for name, value in node.attributes.items()
            if name not in c.read and not self.is_harmless(name) and not self.is_default(name, value)
        ]
        if left:
            raise Refused(
                f"{node.kind}: its attribute `{left[0]}` is not known",
                "a newer version of the framework may have added it: remove it if it has no effect on the result",
            )

    def is_harmless(self, name: str) -> bool:
        return name in self.harmless

    def is_default(self, name: str, value) -> bool:
        """Returns true if an attribute that no converter reads has a value without an effect."""
        return False

    def check_result(self, value) -> None:
        """Finds out whether the types of a result fit. Formats may have values besides expressions."""
        infer_expr(value)

    # --- the module ---------------------------------------------------------------------------------------------------
    def module(self, outputs: Sequence[str]) -> IRModule:
        """Returns the module with these results, and the values of the states after them."""
        for name in outputs:
            if name not in self.values:
                self.problems.record(f"nothing computes the output `{name}`", "", "export the model again")
        if not outputs:
            self.problems.record("it has no outputs", "", "export the model again")
        self.problems.tell()
        results = [self.values[name] for name in outputs]
        return module_of(self.params, results, self.states, self.fates, self.functions)

    def name_of_function(self, stem: str) -> str:
        """Returns a new name for a function besides @main."""
        return f"{stem}_{len(self.functions)}"


def _adapted(function: Callable) -> Callable:
    """Returns the converter for a user's function."""

    def convert(c: NodeConversion):
        made = function(c.inputs, dict(c.node.attributes))
        if made is None:
            raise Refused("its converter returned None", "return the expression, or a tuple of expressions")
        return made

    return convert


def _merged(name: str, given, sizes) -> list:
    """Returns the sizes of an input: those of the user, which may fix open ones."""
    held = None if sizes is None else [None if one is None else int(one) for one in sizes]
    if held is not None and (len(held) > 16 or any(one is not None and one < 0 for one in held)):
        raise Refused(f"the shape of the input `{name}` is {text(held)}", "export the model again")
    if given is None:
        return held
    given = [None if one is None or int(one) < 0 else int(one) for one in given]
    if held is None:
        return given
    if len(given) != len(held):
        raise wrong_input(
            f"input `{name}` has the shape {text(held)} in the model, and {text(given)} is given",
            "give one size for each axis",
        )
    return [b if a is None else a for a, b in zip(given, held, strict=True)]
