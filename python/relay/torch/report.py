"""explain(): reports which parts of a model run in Relay's kernels and which in PyTorch, with reasons, and graph
breaks."""

from __future__ import annotations

import dataclasses

import torch
from torch._dynamo.utils import graph_break_reasons
from torch.utils.flop_counter import flop_registry

from .dynamo import Options, compile_graph, reason_of


@dataclasses.dataclass(frozen=True)
class GraphReport:
    """A graph: "inference", "forward" or "backward"."""

    kind: str
    nodes: int  # calls of operators
    multiply_adds: int  # of products, convolutions and attention, at the sizes of the example
    kernels: int  # kernels of Relay; 0 if PyTorch runs the graph
    reason: str | None  # the reason if PyTorch runs it


@dataclasses.dataclass(frozen=True)
class GraphBreak:
    """A place where Dynamo ends a graph, and Python runs until the next graph begins."""

    place: str  # "net.py:12"
    reason: str


@dataclasses.dataclass(frozen=True)
class Explanation:
    """The result of explain(). str() is a table."""

    graphs: list[GraphReport]
    breaks: list[GraphBreak]

    @property
    def compiled(self) -> list[GraphReport]:
        return [one for one in self.graphs if one.reason is None]

    @property
    def fallbacks(self) -> list[GraphReport]:
        return [one for one in self.graphs if one.reason is not None]

    def __str__(self) -> str:
        total, ours = (
            (sum(one.nodes for one in some), sum(one.multiply_adds for one in some))
            for some in (self.graphs, self.compiled)
        )
        lines = [f"{ours[0]} of {total[0]} nodes and {ours[1]} of {total[1]} multiply-adds run in Relay's kernels"]
        for one in self.graphs:
            where = f"{one.kernels} kernels" if one.reason is None else f"in PyTorch: {one.reason}"
            lines.append(f"{one.kind}: {one.nodes} nodes, {one.multiply_adds} multiply-adds, {where}")
        count = len(self.breaks)
        lines.append(f"{count} graph break{'s' * (count != 1)}")
        lines += [f"{one.place}: {one.reason}" for one in self.breaks]
        return "\n".join(lines)


def _hinted(value):
    """Returns an argument for the count of operations: fake tensors with the sizes of the example."""
    if isinstance(value, torch.fx.Node):
        return _hinted(value.meta.get("val"))
    if isinstance(value, torch.Tensor):
        return torch.empty([one if isinstance(one, int) else one.node.hint for one in value.shape], device="meta")
    if isinstance(value, tuple | list):
        return type(value)(_hinted(one) for one in value)
    return value


def _multiply_adds(node) -> int:
    count = flop_registry.get(getattr(node.target, "overloadpacket", None))
    if count is None:
        return 0
    args = [_hinted(one) for one in node.args]
    named = {name: _hinted(one) for name, one in node.kwargs.items()}
    return int(count(*args, **named, out_val=_hinted(node.meta.get("val")))) // 2


def _report(record) -> GraphReport:
    calls = [node for node in record.graph.graph.nodes if node.op == "call_function"]
    reason = reason_of(record.refused) if record.refused is not None else None
    kernels = len(record.compiled.report["kernels"]) if record.compiled is not None else 0
    return GraphReport(record.kind, len(calls), sum(map(_multiply_adds, calls)), kernels, reason)


def _breaks(reasons: list) -> list[GraphBreak]:
    """Returns the graph breaks. An inlined function breaks at its own line and at its call; the innermost counts."""
    found = {}
    for one in reasons:
        frame = one.user_stack[-1] if one.user_stack else None
        place = f"{frame.filename}:{frame.lineno}" if frame else "an unknown place"
        found.setdefault(place, GraphBreak(place, one.reason.partition("\n")[0]))
    return list(found.values())


def _leaves(results: list) -> list[torch.Tensor]:
    """Returns the tensors that accumulate gradients: inputs, parameters, and captured variables of a function."""
    found, seen, left = [], set(), [one.grad_fn or torch.autograd.graph.get_gradient_edge(one).node for one in results]
    while left:
        node = left.pop()
        if node is not None and node not in seen:
            seen.add(node)
            found += [node.variable] if hasattr(node, "variable") else []
            left += [following for following, _ in node.next_functions]
    return found


def explain(model, *inputs, options: dict | None = None, **named) -> Explanation:
    """Runs the model once on the inputs, compiled like torch.compile(backend="relay"). Returns a report on each graph
    and on graph breaks.

    If gradients are enabled and something requires them, the sum of the differentiable results is differentiated, so
    that backward graphs are included. The gradients that the parameters hold are left unchanged.
    """
    records, made = [], Options.of(options)
    compiled = torch.compile(
        model, backend=lambda graph, examples: compile_graph(graph, examples, made, records), dynamic=False
    )
    known = len(graph_break_reasons)
    results = compiled(*inputs, **named)
    breaks = _breaks(graph_break_reasons[known:])
    flat = torch.utils._pytree.tree_leaves(results)
    learning = [one for one in flat if isinstance(one, torch.Tensor) and one.requires_grad]
    if learning:
        torch.autograd.grad(sum(one.sum() for one in learning), _leaves(learning), retain_graph=True, allow_unused=True)
    return Explanation([_report(one) for one in records], breaks)
