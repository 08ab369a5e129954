"""Networks of Caffe2 (NetDef, .pb): operators with arguments, inputs and outputs by name."""

from __future__ import annotations

import dataclasses

from ...errors import told
from ..shared.protobuf import read_message

AGAIN = "a network of Caffe2 is a NetDef in protobuf's wire format: write it again with SerializeToString()"
MOST_OPERATORS = 100_000

_ARGUMENT = {
    1: ("name", "text"), 2: ("f", "float"), 3: ("i", "int"), 4: ("s", "bytes"), 5: ("floats", "float[]"),
    6: ("ints", "int[]"), 7: ("strings", "bytes[]"), 8: ("n", {}), 9: ("nets", [{}]),
}  # fmt: skip
_OPERATOR = {
    1: ("input", "text[]"), 2: ("output", "text[]"), 3: ("name", "text"), 4: ("type", "text"),
    5: ("arg", [_ARGUMENT]), 7: ("engine", "text"),
}  # fmt: skip
_NET = {
    1: ("name", "text"), 2: ("op", [_OPERATOR]), 4: ("type", "text"), 6: ("arg", [_ARGUMENT]),
    7: ("external_input", "text[]"), 8: ("external_output", "text[]"),
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Operator:
    kind: str
    name: str
    inputs: list[str]
    outputs: list[str]
    arguments: dict[str, object]


@dataclasses.dataclass(frozen=True)
class Net:
    """A network. file: its name for messages."""

    file: str
    operators: list[Operator]
    inputs: list[str]
    outputs: list[str]


def net_of(name: str, content: bytes) -> Net:
    """Returns the network that the bytes of a file are."""
    fields = read_message(name, content, _NET, AGAIN)
    operators = fields.get("op", [])
    if not operators or not all("type" in one for one in operators):
        raise told("bad_model", f"{name} has no operators of Caffe2", AGAIN)
    if len(operators) > MOST_OPERATORS:
        raise told("limit_exceeded", f"{name} has {len(operators)} operators, more than {MOST_OPERATORS}", AGAIN)
    made = [
        Operator(
            one["type"], one.get("name", ""), one.get("input", []), one.get("output", []),
            {argument.get("name", ""): _value(argument) for argument in one.get("arg", [])},
        )
        for one in operators
    ]  # fmt: skip
    return Net(name, made, fields.get("external_input", []), fields.get("external_output", []))


def _value(argument: dict):
    """Returns the value of an argument: the field that is set. An argument without any is an empty list."""
    for field in ("s", "i", "f", "ints", "floats", "strings", "n", "nets"):
        if field in argument:
            return argument[field]
    return []
