"""Imports a job of OneFlow: its operations in order, whose values have names."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..._core import IRModule
from ..shared.network import NetworkImporter
from ..shared.node import Node
from ..shared.problems import Refused
from ..stablehlo.syntax import Dense, Operation
from .job import AGAIN, ELEMENTS, Job, variable
from .table import HARMLESS, OPERATORS

WAY_OUT = "use operations that are imported (docs/front-ends.md), or give converters: custom_operators={'op': function}"


class Importer(NetworkImporter):
    """The import of a job. folder: the variables are in it. files: the paths that were read."""

    harmless = HARMLESS

    def __init__(self, folder: str, shapes: Mapping, custom: Mapping[str, Callable]):
        super().__init__("the OneFlow job", WAY_OUT, OPERATORS, shapes, custom)
        self._folder, self.files, self._names = folder, [], {}

    def job(self, job: Job) -> IRModule:
        inputs = {one.operands[0][0]: one for one in job.operations if one.name == "oneflow.input" and one.operands}
        self._names = {name: f"x{place}" if len(inputs) > 1 else "x" for place, name in enumerate(job.arguments)}
        used = {_key(value) for one in job.operations for value in one.operands}
        self.check_given([self._names.get(name, name) for name in inputs])
        outputs: list[str] = []
        for one in job.operations:
            try:
                _check_arity(one)
                if one.name == "oneflow.input":
                    self._input(one)
                elif one.name in ("oneflow.variable", "oneflow.variable_ir"):
                    self._variable(one)
                elif one.name == "oneflow.output":
                    self._output(one)
                elif one.name in ("oneflow.return", "return"):
                    outputs = [_key(value) for value in one.operands]
                else:
                    self.add(_node(one, used))
            except Refused as reason:
                self.problems.record(str(reason), f", first in `{one.attrs.get('op_name', one.name)}`", reason.help)
                self.values.update({_key(value): None for value in one.results})
        return self.module(outputs)

    def _input(self, one: Operation) -> None:
        name, kind = self._names.get(one.operands[0][0], one.operands[0][0]), one.result_types[0]
        dtype = ELEMENTS.get(getattr(kind, "element", ""))
        if dtype is None:
            raise Refused(f"the input `{name}` has elements of the type {getattr(kind, 'element', kind)!r}")
        self.values[_key(one.results[0])] = self.input(name, kind.shape, dtype)

    def _output(self, one: Operation) -> None:
        source = _key(one.operands[0])
        if source not in self.values:
            raise Refused(f"no operation before computes the output `{source}`", AGAIN)
        self.values[_key(one.results[0])] = self.values[source]

    def _variable(self, one: Operation) -> None:
        name = one.attrs.get("op_name")
        if not isinstance(name, str):
            raise Refused("a variable has no name", "save the model again with OneFlow")
        elements, files = variable(self._folder, name)
        self.files += files
        shape = getattr(one.result_types[0], "shape", None)
        if shape is not None and tuple(shape) != elements.shape:
            raise Refused(
                f"the variable `{name}` has the shape {list(elements.shape)}, and the program declares {list(shape)}",
                "take the folder that was written together with the program",
            )
        self.values[_key(one.results[0])] = self.constant(elements)


# Operations without a converter of their own, with their least numbers of operands and results.
_ARITY = {"oneflow.input": (1, 1), "oneflow.output": (1, 1), "oneflow.variable": (0, 1), "oneflow.variable_ir": (0, 1)}


def _check_arity(one: Operation) -> None:
    operands, results = _ARITY.get(one.name, (0, 0))
    if len(one.operands) < operands or len(one.results) < results or len(one.result_types) < results:
        raise Refused(f"{one.name} has {len(one.operands)} operands and {len(one.results)} results", AGAIN)


def _key(value: tuple[str, int]) -> str:
    return f"%{value[0]}" if not value[1] else f"%{value[0]}#{value[1]}"


def _node(one: Operation, used: set[str]) -> Node:
    """Returns an operation as a node. Results after the last one that is used are left out."""
    kind = one.name.removeprefix("oneflow.")
    attributes = {
        name: found.array.reshape(-1).tolist() if isinstance(found, Dense) else found
        for name, found in one.attrs.items()
    }
    results = [_key(value) for value in one.results]
    while len(results) > 1 and results[-1] not in used:
        results.pop()
    place = f"{kind} '{attributes.get('op_name', results[0] if results else '')}'"
    return Node(kind, place, [_key(value) for value in one.operands], results, attributes)
