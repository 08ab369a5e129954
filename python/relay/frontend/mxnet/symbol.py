"""Symbols of MXNet (-symbol.json): nodes in order, each with the positions of its inputs.

Attributes are texts. Files before MXNet 1.0 call them "attr" or "param". Control flow has graphs inside of a node.
"""

from __future__ import annotations

import dataclasses
import json

from ...errors import told

AGAIN = "write the files again with net.export(path), or symbol.save('net-symbol.json')"
MOST_BYTES, MOST_NODES, MOST_DEPTH, MOST_OUTPUTS = 256 << 20, 200_000, 30, 10_000


@dataclasses.dataclass(frozen=True)
class SymbolNode:
    """kind: "null" for a variable. inputs: pairs of a node's position and the number of its output."""

    kind: str
    name: str
    attributes: dict[str, object]
    inputs: list[tuple[int, int]]
    graphs: list[Symbol]


@dataclasses.dataclass(frozen=True)
class Symbol:
    nodes: list[SymbolNode]
    heads: list[tuple[int, int]]
    arguments: list[int]  # positions of the variables


def symbol_of(name: str, content: bytes) -> Symbol:
    """Returns the symbol of a file. name: the file, for messages."""
    if len(content) > MOST_BYTES:
        raise told("limit_exceeded", f"{name} has {len(content)} bytes, more than {MOST_BYTES}", AGAIN)
    try:
        made = json.loads(content)
    except (ValueError, RecursionError) as error:
        place = f" at byte {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise told("corrupt_file", f"{name} is not JSON{place}: {str(error)[:100]}", AGAIN) from error
    return _graph(name, made, 0)


def _graph(name: str, found, depth: int) -> Symbol:
    def bad(what: str):
        return told("bad_model", f"{name} is not a symbol of MXNet: {what}", AGAIN)

    if depth > MOST_DEPTH:
        raise told("limit_exceeded", f"{name} has graphs inside of {MOST_DEPTH} others", AGAIN)
    if not isinstance(found, dict) or not isinstance(found.get("nodes"), list):
        raise bad("it has no list `nodes`")
    if len(found["nodes"]) > MOST_NODES:
        raise told("limit_exceeded", f"{name} has {len(found['nodes'])} nodes, more than {MOST_NODES}", AGAIN)
    nodes = []
    for number, one in enumerate(found["nodes"]):
        if not isinstance(one, dict) or not isinstance(one.get("op"), str) or not isinstance(one.get("name"), str):
            raise bad(f"node {number} has no `op` and `name`")
        attributes = {}
        for key in ("param", "attr", "attrs"):
            given = one.get(key, {})
            if not isinstance(given, dict):
                raise bad(f"`{key}` of node {number} ('{one['name']}') is not an object")
            attributes |= {str(word): value for word, value in given.items() if isinstance(value, (str, int, float))}
        pairs = _pairs(one.get("inputs", []))
        if pairs is None:
            raise bad(f"`inputs` of node {number} ('{one['name']}') are not pairs of numbers")
        if any(not 0 <= place < number for place, _ in pairs):
            raise bad(f"node {number} ('{one['name']}') reads itself or a later node: its nodes form a cycle")
        graphs = [_graph(name, inner, depth + 1) for inner in one.get("subgraphs", [])]
        nodes.append(SymbolNode(one["op"], one["name"], attributes, pairs, graphs))
    heads = _pairs(found.get("heads", []))
    if heads is None or any(not 0 <= place < len(nodes) for place, _ in heads):
        raise bad("`heads` are not pairs of numbers of nodes")
    return Symbol(nodes, heads, [place for place, one in enumerate(nodes) if one.kind == "null"])


def _pairs(found) -> list[tuple[int, int]] | None:
    """Returns references to outputs of nodes; None if they are something else, or beyond MOST_OUTPUTS of a node."""
    made = []
    for one in found if isinstance(found, list) else [None]:
        if not isinstance(one, list) or not one or not all(type(number) is int and number >= 0 for number in one):
            return None
        if any(number >= MOST_OUTPUTS for number in one[1:2]):
            return None
        made.append((one[0], one[1] if len(one) > 1 else 0))
    return made
