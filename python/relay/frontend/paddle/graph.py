"""Imports a program of PaddlePaddle: the operators of its blocks in order, which write variables by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..._core import Expr, IRModule, infer_expr
from ..shared.expressions import GIVE_SHAPES, numpy_type
from ..shared.folded import MOST_FOLDED, folded
from ..shared.loops import parts_of
from ..shared.network import NetworkImporter
from ..shared.problems import Refused
from ..shared.values import Known, List
from . import control, known
from .conversion import Operator, PaddleNode
from .params import check_shape
from .program import TYPES, Block, Operation, Program
from .table import DEFAULTS, HARMLESS, OPERATORS

WAY_OUT = "use operators that are imported (docs/front-ends.md), or give converters: custom_operators={'op': function}"


class Importer(NetworkImporter):
    """The import of a program. params: arrays of the stored variables. values: what the variables hold now."""

    conversion = Operator
    harmless = HARMLESS

    def __init__(self, program: Program, params: Mapping[str, np.ndarray], shapes: Mapping, custom: Mapping):
        super().__init__("the PaddlePaddle program", WAY_OUT, OPERATORS, shapes, custom)
        self._program, self._params = program, params
        self.values: dict[str, Expr | Known | List | None] = {}
        self.results = set(program.results)
        self.reads = control.read_counts(program.main)  # how often each variable is read
        self.used = self.results | set(self.reads)
        self._folded, self.block = {}, program.main

    def program(self) -> IRModule:
        inputs = self._program.inputs
        self.check_given([one.name for one in inputs])
        for one in inputs:
            try:
                if one.dtype not in TYPES.values():
                    raise Refused(f"the input `{one.name}` has elements of the type {one.dtype!r}")
                if one.name not in self.shapes and one.sizes is None:
                    raise Refused(f"the input `{one.name}` has no shape in the model", GIVE_SHAPES)
                self.input(one.name, one.sizes, one.dtype)
            except Refused as reason:
                self.problems.record(str(reason), "", reason.help)
                self.values[one.name] = None
        for one in self._program.stored:
            if one.name in self.used:
                check_shape(one, self._params[one.name])
                self.values[one.name] = self.constant(self._params[one.name])
        self.run(self._program.main)
        for name in self._program.results:
            if isinstance(self.values.get(name), List):
                self.problems.record(f"the result `{name}` is a list of tensors", "", "return its elements, stacked")
                self.values[name] = None
        names = self._program.results
        self.values.update(
            {name: self.values[name].expr() for name in names if isinstance(self.values.get(name), Known)}
        )
        return self.module(names)

    # --- operators ----------------------------------------------------------------------------------------------------
    def run(self, block: Block) -> None:
        """Imports the operators of a block, which change the variables."""
        outer, self.block = self.block, block
        for name, about in block.variables.items():  # lists begin empty; no operator of the protobuf form makes them
            if about.is_list and name not in self.values and not name.startswith("%"):
                self.values[name] = control.empty_list(about.dtype)
        operations, at = block.operations, 0
        while at < len(operations):
            at += self._step(operations, at)
        self.block = outer

    def _step(self, operations: Sequence[Operation], at: int) -> int:
        """Imports the operator at a position. Returns the number of operators that were imported."""
        operation = operations[at]
        if operation.kind == "select_input":
            return control.select(self, operations, at)
        inputs = operation.reads
        if operation.blocks or operation.kind in control.KINDS:
            inputs = [name for name in inputs if name in self.values]
        outputs = [name for name in dict.fromkeys(operation.writes) if name in self.used]
        changes = operation.blocks or operation.kind == "write_to_array"
        if not outputs and not changes and operation.kind in self.table:
            return 1  # an assertion, a print
        self.add(PaddleNode(operation.kind, operation.place, inputs, outputs, operation.attributes, operation))
        return 1

    def converter(self, node: PaddleNode) -> Callable | None:
        found = super().converter(node)
        return found if node.kind in self.custom else self._by_slot(node, found)

    def _by_slot(self, node: PaddleNode, convert: Callable) -> Callable:
        """Returns a converter of results by name from one of results by slot."""

        def converted(c: Operator) -> list:
            made = known.fold(c)
            made = convert(c) if made is None else made
            if not isinstance(made, dict):
                slot = next((one for one, names in node.operation.outputs.items() if names), "Out")
                slot = next((one for one in ("Out", "Y", "Output") if one in node.operation.outputs), slot)
                made = {slot: made}
            found = {}
            for slot, names in node.operation.outputs.items():
                results = made.get(slot, made.get(slot.capitalize()))
                results = results if isinstance(results, list) else [results]
                found.update((name, one) for name, one in zip(names, results, strict=False) if one is not None)
            for name in node.outputs:
                if name not in found and name in node.inputs:  # statistics of training that are kept
                    found[name] = self.values[name]
                if name not in found:
                    slot = next((slot for slot, names in node.operation.outputs.items() if name in names), "")
                    raise Refused(f"its result `{slot}` is not imported", "export the model for inference")
            return [found[name] for name in node.outputs]

        return converted

    def check_result(self, value) -> None:
        if isinstance(value, Expr):
            infer_expr(value)

    def is_harmless(self, name: str) -> bool:
        return name in HARMLESS

    def is_default(self, name: str, value) -> bool:
        return name in DEFAULTS and value in DEFAULTS[name]

    def folded(self, value: Expr) -> np.ndarray | None:
        """Returns the elements of an expression that depends on no input, or None."""
        return folded(value, self._folded)

    def constant(self, elements: np.ndarray, dtype: str | None = None) -> Expr:
        return super().constant(np.asarray(elements), dtype)

    def known(self, elements: np.ndarray, dtype: str):
        """Returns few elements as known ones, and more as a constant."""
        typed = elements if elements.dtype == object else elements.astype(numpy_type(dtype))
        return Known(typed, dtype) if typed.size <= MOST_FOLDED else self.constant(typed)


def expr_of(value) -> Expr | None:
    """Returns a value as an expression."""
    return None if value is None else parts_of(value, "a value")[0]
