"""Programs of PaddlePaddle as both of their forms describe them: operators in blocks, which read and write variables by
name. This file reads the protobuf form (.pdmodel, __model__); `pir.py` reads the JSON form."""

from __future__ import annotations

import dataclasses

import numpy as np

from ...errors import told
from ..shared.wire import Message, Table, read_message

AGAIN = "export the model again: paddle.jit.save(layer, path, input_spec), or paddle.static.save_inference_model"
MOST_BLOCKS, MOST_OPERATORS, MOST_DEPTH = 10_000, 100_000, 50
# Element types, by the numbers of VarType.
TYPES = {
    0: "bool", 1: "int16", 2: "int32", 3: "int64", 4: "float16", 5: "float32", 6: "float64", 20: "uint8", 21: "int8",
    22: "bfloat16", 36: "uint16", 37: "uint32", 38: "uint64",
}  # fmt: skip
_ARRAY = 13  # the kind of a variable that is a list of tensors

_DESC = Table("TensorDesc", {1: ("data_type", "int"), 2: ("dims", "int*")})
_TENSOR = Table("LoDTensorDesc", {1: ("tensor", _DESC), 2: ("lod_level", "int")})
_TYPE = Table("VarType", {1: ("type", "int"), 3: ("tensor", _TENSOR), 4: ("array", _TENSOR)})
_VARIABLE = Table("VarDesc", {1: ("name", "text"), 2: ("type", _TYPE), 3: ("persistable", "bool")})
_SCALAR = Table(
    "Scalar", {1: ("type", "int"), 2: ("b", "bool"), 3: ("i", "int"), 4: ("r", "double"), 5: ("c", "bytes")}
)
_ATTRIBUTE = Table(
    "OpDesc.Attr",
    {
        1: ("name", "text"), 2: ("type", "int"), 3: ("i", "int"), 4: ("f", "float"), 5: ("s", "bytes"),
        6: ("ints", "int*"), 7: ("floats", "float*"), 8: ("strings", "bytes*"), 10: ("b", "bool"),
        11: ("bools", "bool*"), 12: ("block", "int"), 13: ("l", "int"), 14: ("blocks", "int*"), 15: ("longs", "int*"),
        16: ("float64s", "double*"), 17: ("variable", "text"), 18: ("variables", "text*"), 19: ("float64", "double"),
        20: ("scalar", _SCALAR), 21: ("scalars", [_SCALAR]),
    },
)  # fmt: skip
_SLOT = Table("OpDesc.Var", {1: ("parameter", "text"), 2: ("arguments", "text*")})
_OPERATOR = Table(
    "OpDesc", {1: ("inputs", [_SLOT]), 2: ("outputs", [_SLOT]), 3: ("type", "text"), 4: ("attrs", [_ATTRIBUTE])}
)
_BLOCK = Table(
    "BlockDesc", {1: ("idx", "int"), 2: ("parent", "int"), 3: ("vars", [_VARIABLE]), 4: ("ops", [_OPERATOR])}
)
_VERSION = Table("Version", {1: ("version", "int")})
PROGRAM = Table("ProgramDesc", {1: ("blocks", [_BLOCK]), 4: ("version", _VERSION)})


@dataclasses.dataclass(frozen=True)
class Variable:
    """A variable that the program declares. sizes: None for those that are left open; None if it has no shape."""

    name: str
    dtype: str
    sizes: list[int | None] | None
    is_stored: bool = False  # its elements are in the file of parameters
    is_list: bool = False


@dataclasses.dataclass(frozen=True)
class Operation:
    """An operator. inputs, outputs: names of variables by slot. blocks: those inside of it."""

    kind: str
    place: str  # as messages name it
    inputs: dict[str, list[str]]
    outputs: dict[str, list[str]]
    attributes: dict[str, object]
    blocks: list[Block] = dataclasses.field(default_factory=list)

    @property
    def reads(self) -> list[str]:
        return [name for names in self.inputs.values() for name in names]

    @property
    def writes(self) -> list[str]:
        return [name for names in self.outputs.values() for name in names]


@dataclasses.dataclass(frozen=True)
class Block:
    """A block. arguments, results: of a block of the JSON form, whose variables are its own."""

    variables: dict[str, Variable]
    operations: list[Operation]
    arguments: list[str] = dataclasses.field(default_factory=list)
    results: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Program:
    """A program. inputs: variables that the user gives; results: names, with the names that the user sees."""

    main: Block
    inputs: list[Variable]
    results: list[str]

    @property
    def stored(self) -> list[Variable]:
        """The variables whose elements are in the file of parameters."""
        found = {one.name: one for one in _variables(self.main) if one.is_stored}
        return [found[name] for name in sorted(found)]


def _variables(block: Block):
    yield from block.variables.values()
    for operation in block.operations:
        for inner in operation.blocks:
            yield from _variables(inner)


def program_of(name: str, content: bytes) -> Program:
    """Returns the program of a file in the protobuf form. name: the file, for messages."""
    held = read_message(PROGRAM, name, content, AGAIN)
    if not held.blocks:
        raise told("bad_model", f"{name} is not a program of PaddlePaddle: it has no blocks", AGAIN)
    if len(held.blocks) > MOST_BLOCKS or sum(len(one.ops) for one in held.blocks) > MOST_OPERATORS:
        raise told(
            "limit_exceeded", f"{name} has more than {MOST_BLOCKS} blocks or {MOST_OPERATORS} operators", "split it"
        )
    reader = _Reader(name, held.blocks)
    main = reader.block(0, held.blocks[0].at)
    feeds = [one for one in main.operations if one.kind == "feed"]
    fetches = [one for one in main.operations if one.kind == "fetch"]
    for one in (*feeds, *fetches):
        if not one.writes or not one.reads:
            raise told("bad_model", f"{name}: the operator {one.place} has no variables", AGAIN)
    feeds.sort(key=_column)
    fetches.sort(key=_column)
    inputs = [main.variables.get(one.writes[0]) for one in feeds]
    for one, found in zip(feeds, inputs, strict=True):
        if found is None:
            raise told("bad_model", f"{name}: the input `{one.writes[0]}` is not declared", AGAIN)
    operations = [one for one in main.operations if one.kind not in ("feed", "fetch")]
    if not feeds and not fetches:  # a program from memory
        inputs, results = _open_ends(main, operations)
    else:
        results = [one.reads[0] for one in fetches]
    return Program(Block(main.variables, operations), inputs, results)


def _column(operation: Operation) -> int:
    found = operation.attributes.get("col", 0)
    return found if isinstance(found, int) else 0


def _open_ends(main: Block, operations: list[Operation]) -> tuple[list[Variable], list[str]]:
    """Returns what operators read before any writes it, and what they write and none reads."""
    written, read, inputs = set(), set(), []
    for one in operations:
        for name in one.reads:
            about = main.variables.get(name)
            if name not in written and name not in read and about is not None and not about.is_stored:
                inputs.append(about)
            read.add(name)
        written.update(one.writes)
    results = [
        name
        for one in operations
        for name in one.writes
        if name not in read and not name.endswith(".xshape") and not _is_side(one, name)
    ]
    return inputs, list(dict.fromkeys(results))


def _is_side(operation: Operation, name: str) -> bool:
    """Returns true for an output that only training reads."""
    first = next(iter(operation.outputs.values()), [])
    return len(operation.outputs) > 1 and name not in first and "Out" not in operation.outputs


class _Reader:
    """Blocks by number. A block is inside of one operator at most, so that the program is a tree."""

    def __init__(self, name: str, blocks: list[Message]):
        self._name, self._blocks, self._taken, self._depth = name, blocks, set(), 0

    def block(self, number: int, at: int) -> Block:
        if not 0 <= number < len(self._blocks):
            raise told(
                "bad_model",
                f"{self._name}: an operator at byte {at} names block {number} of {len(self._blocks)}",
                AGAIN,
            )
        if number in self._taken:
            raise told("bad_model", f"{self._name}: block {number} is inside of several operators", AGAIN)
        self._taken.add(number)
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise told("limit_exceeded", f"{self._name}: blocks are nested more than {MOST_DEPTH} deep", "flatten it")
        held = self._blocks[number]
        made = Block({one.name: _variable(one) for one in held.vars}, [self._operation(one) for one in held.ops])
        self._depth -= 1
        return made

    def _operation(self, held: Message) -> Operation:
        attributes, blocks = {}, []
        for one in held.attrs:
            numbers = [one.block] if one.has("block") else one.blocks.tolist() if one.has("blocks") else None
            if numbers is None:
                attributes[one.name] = _attribute(one)
            else:
                blocks += [self.block(number, held.at) for number in numbers]
        inputs, outputs = ({one.parameter: list(one.arguments) for one in part} for part in (held.inputs, held.outputs))
        made = next((name for names in outputs.values() for name in names), "")
        return Operation(held.type, f"{held.type} '{made}'", inputs, outputs, attributes, blocks)


def _variable(held: Message) -> Variable:
    about = held.type.array if held.type is not None and held.type.type == _ARRAY else None
    tensor = held.type.tensor if held.type is not None else None
    described = (about or tensor).tensor if (about or tensor) is not None else None
    if described is None:
        return Variable(held.name, "float32", None, False, about is not None)
    sizes = [None if one < 0 else int(one) for one in described.dims]
    return Variable(
        held.name, TYPES.get(described.data_type, f"type {described.data_type}"), sizes, held.persistable,
        held.type.type == _ARRAY,
    )  # fmt: skip


def _attribute(held: Message) -> object:
    for kind in ("i", "l", "f", "float64", "b", "variable"):
        if held.has(kind):
            return getattr(held, kind)
    if held.has("s"):
        return str(held.s, "utf-8", "replace")
    if held.has("scalar"):
        return _scalar(held.scalar)
    if held.scalars:
        return [_scalar(one) for one in held.scalars]
    if held.strings:
        return [str(one, "utf-8", "replace") for one in held.strings]
    for kind in ("ints", "longs", "floats", "float64s", "bools"):
        found: np.ndarray = getattr(held, kind)
        if len(found):
            return found.tolist()
    return list(held.variables)


def _scalar(held: Message) -> object:
    return held.b if held.has("b") else held.i if held.has("i") else held.r
