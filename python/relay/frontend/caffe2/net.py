"""Networks of Caffe2 (NetDef, .pb): operators with arguments, inputs and outputs by name."""

from __future__ import annotations

import dataclasses

from ...errors import told
from ..shared.wire import Message, Table, read_message

AGAIN = "a network of Caffe2 is a NetDef in protobuf's wire format: write it again with SerializeToString()"
MOST_OPERATORS = 100_000

_NESTED = Table("NetDef", {})
_ARGUMENT = Table(
    "Argument",
    {
        1: ("name", "text"), 2: ("f", "float"), 3: ("i", "int"), 4: ("s", "bytes"), 5: ("floats", "float*"),
        6: ("ints", "int*"), 7: ("strings", "bytes*"), 8: ("n", _NESTED), 9: ("nets", [_NESTED]),
    },
)  # fmt: skip
_OPERATOR = Table(
    "OperatorDef",
    {
        1: ("input", "text*"), 2: ("output", "text*"), 3: ("name", "text"), 4: ("type", "text"),
        5: ("arg", [_ARGUMENT]), 7: ("engine", "text"),
    },
)  # fmt: skip
_NET = Table(
    "NetDef",
    {
        1: ("name", "text"), 2: ("op", [_OPERATOR]), 4: ("type", "text"), 6: ("arg", [_ARGUMENT]),
        7: ("external_input", "text*"), 8: ("external_output", "text*"),
    },
)  # fmt: skip


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
    net = read_message(_NET, name, content, AGAIN)
    operators = net.op
    if not operators or not all(one.has("type") for one in operators):
        raise told("bad_model", f"{name} has no operators of Caffe2", AGAIN)
    if len(operators) > MOST_OPERATORS:
        raise told("limit_exceeded", f"{name} has {len(operators)} operators, more than {MOST_OPERATORS}", AGAIN)
    made = [
        Operator(
            one.type, one.name, one.input, one.output, {argument.name: _value(argument) for argument in one.arg}
        )
        for one in operators
    ]  # fmt: skip
    return Net(name, made, net.external_input, net.external_output)


def _value(argument: Message):
    """Returns the value of an argument: the field that is set. An argument without any is an empty list."""
    if argument.has("s"):
        return bytes(argument.s)
    if argument.has("strings"):
        return [bytes(one) for one in argument.strings]
    for field in ("i", "f", "ints", "floats", "n", "nets"):
        if argument.has(field):
            return getattr(argument, field)
    return []
