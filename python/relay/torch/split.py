"""Splits a graph with refused operators into parts for Relay, and parts for PyTorch between them."""

from __future__ import annotations

import operator

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.fx.passes.split_module import split_module

_FEWEST = 2  # the least number of operators of a part that is worth a call


def _depends_on_elements(node) -> bool:
    """Returns true if the size of the result, or of an operand, depends on elements of a tensor."""
    values = [one.meta.get("val") for one in (node, *node.all_input_nodes)]
    return any(one is not None and free_unbacked_symbols(one) for one in values)


def _is_number(node) -> bool:
    return isinstance(node.meta.get("val"), torch.SymInt | torch.SymFloat | torch.SymBool | int | float | bool)


def levels(graph, refused: set) -> dict:
    """Returns the part of each node. Even parts are Relay's, and a node's operands are in its own part or in earlier
    ones."""
    found = {}
    for node in graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        level = max((found[one] for one in node.all_input_nodes if one in found), default=0)
        if node.target is operator.getitem or _is_number(node):
            found[node] = level
            continue
        is_odd = node in refused or _depends_on_elements(node)
        found[node] = level if level % 2 == is_odd else level + 1
    # Arguments are overwritten only after their last use.
    last = max(found.values(), default=0)
    return {node: last if node.target is torch.ops.aten.copy_.default else level for node, level in found.items()}


def computes(graph) -> int:
    """Returns the number of operators that are not views."""
    return sum(
        node.op == "call_function"
        and node.target is not operator.getitem
        and not _is_number(node)
        and not getattr(node.target, "is_view", False)
        for node in graph.nodes
    )


def split(graph_module, refused: set):
    """Returns the module in parts, and Relay's parts by name, which are empty if no part is worth a call."""
    part = levels(graph_module.graph, refused)
    made = split_module(graph_module, None, part.__getitem__)
    ours = {
        name: one
        for name, one in made.named_children()
        if name.startswith("submod_") and int(name.removeprefix("submod_")) % 2 == 0 and computes(one.graph) >= _FEWEST
    }
    return made, ours
