"""An exported program as a module: inputs, constants, nodes in order, results; every problem in one diagnostic."""

from __future__ import annotations

import collections
import operator
import re

import torch

from ..._core import Function, IRModule, Tuple, infer_expr
from ..._core import told as told_by_core
from ...errors import CompileError
from ...expr import var
from .conversion import Conversion, Refused, constant, dtype_name, size
from .table import CHECKS, OPERATORS


def _key(target) -> str | None:
    """ "add.Tensor", "relu"; None of what is no ATen operator."""
    if not isinstance(target, torch._ops.OpOverload) or target.namespace != "aten":
        return None
    name = target._schema.name.removeprefix("aten::")
    return f"{name}.{target._schema.overload_name}" if target._schema.overload_name else name


def _is_ready(node) -> bool:
    """Whether the table has the node's operator, which changes nothing in place."""
    if node.op != "call_function" or node.target is operator.getitem or _key(node.target) in CHECKS:
        return node.op != "get_attr"
    return _key(node.target) in OPERATORS and not node.target._schema.is_mutable


def _decomposed(program):
    """With what the table has kept whole, and the rest in core ATen operators; without in-place operators."""
    if all(_is_ready(node) for node in program.graph.nodes):
        return program  # PyTorch takes longer to find out that there is nothing to do
    decompositions = torch.export.default_decompositions()
    for target in list(decompositions):
        if _key(target) in OPERATORS:
            decompositions.pop(target)
    return program.run_decompositions(decompositions)


def _line(node) -> str:
    """The line of the user's Python that made the node."""
    frames = re.findall(r'File "([^"]+)", line (\d+)', node.meta.get("stack_trace") or "")
    own = [frame for frame in frames if "/site-packages/" not in frame[0]] or frames
    return f" at {own[-1][0]}:{own[-1][1]}" if own else ""


class _Problems:
    """What cannot be imported, by operator and reason, with the first node of each."""

    def __init__(self):
        self._first, self._counts = {}, collections.Counter()

    def add(self, node, what: str) -> None:
        self._first.setdefault(what, node)
        self._counts[what] += 1

    def tell(self) -> None:
        if not self._counts:
            return
        lines = []
        for what, count in self._counts.most_common():
            node = self._first[what]
            often = f" ({count} times)" if count > 1 else ""
            lines.append(f"{what}{often}, first in `{node.name}`{_line(node)}" if node is not None else what)
        raise CompileError(
            *told_by_core(
                "unsupported_operator",
                "the PyTorch program cannot be imported: " + "; ".join(lines),
                "write these parts with other operators; the table of those that are imported is relay/frontend/pytorch/table.py",
            )
        )


class _Import:
    def __init__(self, program, names: list[str] | None):
        self.signature, self.graph = program.graph_signature, program.graph
        self.stored = {**program.state_dict, **program.constants}
        self.names = names
        self.values, self.params, self.failed = {}, [], set()
        self.problems = _Problems()

    def module(self) -> IRModule:
        self._inputs()
        for node in self.graph.nodes:
            if node.op == "call_function":
                self._node(node)
            elif node.op == "get_attr":
                self.problems.add(node, f"a graph of its own (`{node.target}`)")
                self.failed.add(node)
        results = self._results()
        self.problems.tell()
        return IRModule({"main": Function(self.params, results[0] if len(results) == 1 else Tuple(results))})

    def _inputs(self) -> None:
        placeholders = [node for node in self.graph.nodes if node.op == "placeholder"]
        for node, spec in zip(placeholders, self.signature.input_specs, strict=True):
            try:
                if spec.kind.name == "USER_INPUT":
                    self._user_input(node)
                elif node.users:
                    self.values[node] = constant(self.stored[spec.target])
            except Refused as reason:
                self.problems.add(node, f"input `{node.name}`: {reason}")
                self.failed.add(node)

    def _user_input(self, node) -> None:
        val = node.meta.get("val")
        if isinstance(val, torch.Tensor):
            place = len(self.params)
            name = self.names[place] if self.names is not None and place < len(self.names) else node.name
            self.values[node] = var(name, shape=[size(one) for one in val.shape], dtype=dtype_name(val.dtype))
            self.params.append(self.values[node])
        elif node.users:
            raise Refused("it is not a tensor")

    def _node(self, node) -> None:
        if isinstance(node.meta.get("val"), (torch.SymInt, torch.SymBool, torch.SymFloat, int, bool, float)):
            return  # sizes are read off the types
        key = _key(node.target)
        if key in CHECKS:
            return
        if any(source in self.failed for source in node.all_input_nodes):
            self.failed.add(node)  # named already; an unknown operator behind it is named too
            if key not in OPERATORS and node.target is not operator.getitem:
                self.problems.add(node, f"operator {node.target}")
            return
        try:
            self.values[node] = self._converted(node, key)
        except Refused as reason:
            self.problems.add(node, str(reason))
            self.failed.add(node)

    def _converted(self, node, key: str | None):
        if node.target is operator.getitem:
            return self.values[node.args[0]][node.args[1]]
        if key not in OPERATORS:
            raise Refused(f"operator {node.target}")
        try:
            made = OPERATORS[key](Conversion(node, self.values))
            for one in made if isinstance(made, list) else [made]:
                if one is not None:
                    infer_expr(one)
            return made
        except Refused as reason:
            raise Refused(f"operator {node.target}: {reason}") from reason
        except CompileError as error:
            raise Refused(f"operator {node.target}: {error.diagnostics[0].message}") from error

    def _results(self) -> list:
        output = next(node for node in self.graph.nodes if node.op == "output")
        results = []
        for spec, value in zip(self.signature.output_specs, output.args[0], strict=True):
            if spec.kind.name != "USER_OUTPUT":
                self.problems.add(None, f"`{spec.target}` is changed by the call ({spec.kind.name.lower()})")
            elif isinstance(value, torch.fx.Node) and value in self.values:
                results.append(self.values[value])
            elif value is not None and value not in self.failed:
                self.problems.add(None, f"the result `{value}` is not a tensor")
        if not results and not self.failed:
            self.problems.add(None, "no result of the program is a tensor")
        return results


def import_program(program, names: list[str] | None = None) -> IRModule:
    """The module of an exported program; `names` replace those of its inputs, in order."""
    return _Import(_decomposed(program), names).module()
