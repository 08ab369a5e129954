"""Turns sums of tensors that are zero except for a part, such as gradients of slices, into one concatenation.

add(select_scatter(zeros, a, 0, 1), select_scatter(zeros, b, 0, 0))    becomes    cat([b[None], a[None]])
"""

from __future__ import annotations

import dataclasses

import torch

aten = torch.ops.aten
_ZEROS = {aten.new_zeros.default, aten.zeros.default, aten.zeros_like.default}
_FULL = {aten.full.default, aten.full_like.default}


@dataclasses.dataclass(frozen=True)
class Part:
    """A value at the positions [start, end) along an axis, which the value of a selection lacks."""

    value: torch.fx.Node
    axis: int
    start: int
    end: int
    is_selection: bool


def _is_zero(node) -> bool:
    return node.target in _ZEROS or (node.target in _FULL and node.args[1] == 0)


def _is_plain_sum(node) -> bool:
    both = all(isinstance(one, torch.fx.Node) for one in node.args)
    return node.target is aten.add.Tensor and not node.kwargs and both


def _part(node) -> Part | None:
    """Returns the part that select_scatter or slice_scatter writes into zeros."""
    if node.target not in (aten.select_scatter.default, aten.slice_scatter.default) or not _is_zero(node.args[0]):
        return None
    val, (_, value, *rest) = node.meta["val"], node.args
    axis = rest[0] % val.dim() if rest else 0
    extent = val.shape[axis]
    if not isinstance(extent, int) or not all(isinstance(one, int | None) for one in rest[1:]):
        return None
    if value.meta["val"].dtype != val.dtype:
        return None
    if node.target is aten.select_scatter.default:
        return Part(value, axis, rest[1] % extent, rest[1] % extent + 1, True)
    start, end, step = slice(*(rest[1:3] + [None] * (3 - len(rest)))).indices(extent)
    return Part(value, axis, start, end, False) if len(rest) < 4 and start < end and step == 1 else None


def _parts(node) -> list[Part] | None:
    """Returns the parts of a sum, in order, or None if it is not a sum of adjacent parts."""
    if not _is_plain_sum(node):
        part = _part(node)
        return None if part is None else [part]
    found = []
    for one in node.args:
        inner = _parts(one) if len(one.users) == 1 else None
        if inner is None:
            return None
        found += inner
    found.sort(key=lambda part: part.start)
    pairs = zip(found, found[1:], strict=False)
    return found if all(a.axis == b.axis and a.end <= b.start for a, b in pairs) else None


def _replace(graph, node, parts: list[Part]) -> None:
    val, axis = node.meta["val"], parts[0].axis

    def call(target, *args):
        made = graph.call_function(target, args)
        values = torch.fx.map_arg(args, lambda one: one.meta["val"])
        made.meta = {**node.meta, "val": target(*values)}
        return made

    def zeros(extent: int):
        shape = [extent if i == axis else one for i, one in enumerate(val.shape)]
        return call(aten.new_zeros.default, parts[0].value, shape)

    with graph.inserting_before(node):
        pieces, at = [], 0
        for part in parts:
            if part.start > at:
                pieces.append(zeros(part.start - at))
            pieces.append(call(aten.unsqueeze.default, part.value, axis) if part.is_selection else part.value)
            at = part.end
        if at < val.shape[axis]:
            pieces.append(zeros(val.shape[axis] - at))
        node.replace_all_uses_with(call(aten.cat.default, pieces, axis))


def join_parts(graph_module) -> None:
    """Rewrites the graph in place."""
    graph, changed = graph_module.graph, False
    for node in reversed(list(graph.nodes)):
        if node.op != "call_function" or not node.users:
            continue
        parts = _parts(node)
        if parts is not None and all(isinstance(one, int) for one in node.meta["val"].shape):
            _replace(graph, node, parts)
            changed = True
    if changed:
        graph.eliminate_dead_code()
        graph_module.recompile()
