"""Dataclasses as data types of programs.

@dataclass
class Leaf:
    x: "Tensor[(1, 8), float32]"

@dataclass
class Node:
    left: "Tree"
    right: "Tree"

Tree = relay.data_type("Tree", Leaf | Node)

Instances are values of the type for scripts, relay.evaluate and compiled programs.
"""

from __future__ import annotations

import ast
import dataclasses
import re
import types
import typing

from .. import _core
from .._core import Constructor, GlobalTypeVar, IRModule, TensorType, TupleType, Type, TypeCall, TypeData
from ..data.values import Data, _is, as_list
from ..errors import wrong_input

_SCALARS = {int: "int32", float: "float32", bool: "bool"}
_REGISTERED: dict[str, DataType] = {}
LIST = GlobalTypeVar("List")


@dataclasses.dataclass(frozen=True)
class Case:
    """A dataclass as a constructor: its field names, and their annotations."""

    cls: type
    fields: tuple[str, ...]
    annotations: tuple[object, ...]


class DataType:
    """A data type whose constructors are dataclasses."""

    def __init__(self, name: str, cases: list[Case]):
        self.name, self.cases = name, {one.cls: one for one in cases}
        self.header = GlobalTypeVar(name)
        self.by_name = {one.cls.__name__: one for one in cases}
        self._constructors: dict[type, Constructor] = {}

    def __repr__(self) -> str:
        return f"relay.data_type({self.name!r}, {' | '.join(self.by_name)})"

    @property
    def type(self) -> Type:
        """The type in programs."""
        return self.header()

    def constructor(self, cls: type) -> Constructor:
        """Returns the constructor of a dataclass."""
        if not self._constructors:
            for one in self.cases.values():
                inputs = [
                    annotated(note, f"{one.cls.__name__}.{name}")
                    for name, note in zip(one.fields, one.annotations, strict=True)
                ]
                self._constructors[one.cls] = Constructor(one.cls.__name__, inputs, self.header)
        return self._constructors[cls]

    def define(self, module: IRModule) -> None:
        """Adds the type, and the types of its fields, to a module."""
        if self.header in module.type_definitions:
            return
        constructors = [self.constructor(cls) for cls in self.cases]
        module[self.header] = TypeData(self.header, [], constructors)
        for one in constructors:
            for type_ in one.inputs:
                define_types(type_, module)

    def __or__(self, other):
        return NotImplemented


def data_type(name: str | type, cases: object = None) -> typing.Any:
    """Registers dataclasses as a data type: data_type("Tree", Leaf | Node). data_type(Point) registers one dataclass as
    a type of its own name, also as a decorator.

    Fields are annotated with types as text ("Tensor[(1, 8), float32]"), relay types, names of data types ("Tree"),
    list["Tree"], tuples, int, float or bool. Raises InputError for a class that is not a dataclass.
    """
    if isinstance(name, type):
        cases, name = name, name.__name__
    classes = (
        list(typing.get_args(cases))
        if isinstance(cases, (types.UnionType,)) or typing.get_origin(cases) is typing.Union
        else [cases]
    )
    made = []
    for cls in classes:
        if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
            raise wrong_input(
                f"{getattr(cls, '__name__', cls)} is not a dataclass", "decorate it with @dataclasses.dataclass"
            )
        fields = dataclasses.fields(cls)
        made.append(Case(cls, tuple(one.name for one in fields), tuple(one.type for one in fields)))
    type_ = DataType(name, made)
    _REGISTERED[name] = type_
    for case in made:
        case.cls.__relay_type__ = type_
        case.cls.__relay_data__ = _as_data
    return classes[0] if len(classes) == 1 and isinstance(cases, type) else type_


def _as_data(self) -> Data:
    """The instance as a value of its data type."""
    cls = type(self)
    return Data(
        cls.__name__,
        *(getattr(self, name) for name in cls.__relay_type__.cases[cls].fields),
        type=cls.__relay_type__.name,
    )


def annotated(note: object, where: str = "a field") -> Type:
    """Returns the type of an annotation. Raises InputError if it names none."""
    if isinstance(note, Type):
        return note
    if isinstance(note, DataType):
        return note.type
    if isinstance(note, type) and note in _SCALARS:
        return TensorType((), _SCALARS[note])
    if isinstance(note, type) and hasattr(note, "__relay_type__"):
        return note.__relay_type__.type
    origin, inner = typing.get_origin(note), typing.get_args(note)
    if origin is list and len(inner) == 1:
        return TypeCall(LIST, [annotated(inner[0], where)])
    if origin is tuple:
        return TupleType([annotated(one, where) for one in inner])
    if isinstance(note, typing.ForwardRef):
        note = note.__forward_arg__
    if isinstance(note, str):
        return _of_text(note, where)
    shown = getattr(note, "__name__", note)
    raise wrong_input(
        f"{where} has the annotation {shown}, which is not a type of a program",
        'write "Tensor[(1, 8), float32]", a name of relay.data_type, list[...], int, float or bool',
    )


def _of_text(text: str, where: str) -> Type:
    text = text.strip().strip("\"'")
    if text in _REGISTERED:
        return _REGISTERED[text].type
    scalars = {one.__name__: one for one in _SCALARS}
    if text in scalars:
        return annotated(scalars[text])
    if text.startswith(("list[", "tuple[")):
        tree = ast.parse(text, mode="eval").body.slice
        parts = tree.elts if isinstance(tree, ast.Tuple) else [tree]
        inner = [_of_text(one.value if isinstance(one, ast.Constant) else ast.unparse(one), where) for one in parts]
        return TypeCall(LIST, inner) if text.startswith("list[") else TupleType(inner)
    try:
        # Postponed annotations lose the parentheses around a single size.
        return _core.parse_type(re.sub(r"Tensor\[(\w+), ?(\w+)\]", r"Tensor[(\1), \2]", text))
    except Exception as error:
        raise wrong_input(
            f"{where} has the annotation {text!r}, which is not a type of a program",
            'write "Tensor[(1, 8), float32]", or register the name with relay.data_type',
        ) from error


def registered(type_: Type) -> DataType | None:
    """Returns the data type of dataclasses that a type of a program is, or None."""
    header = type_.func if isinstance(type_, TypeCall) else type_
    return _REGISTERED.get(header.name_hint) if isinstance(header, GlobalTypeVar) else None


def is_list(type_: Type) -> bool:
    """Returns true for List[...]."""
    return isinstance(type_, TypeCall) and isinstance(type_.func, GlobalTypeVar) and type_.func.name_hint == "List"


def define_types(type_: Type, module: IRModule) -> None:
    """Adds the data types that a type mentions to a module."""
    if isinstance(type_, TupleType):
        for one in type_.fields:
            define_types(one, module)
        return
    if is_list(type_):
        if "List" not in {one.name_hint for one in module.type_definitions}:
            module.import_from_std("list")
        define_types(type_.args[0], module)
        return
    if isinstance(type_, _core.FuncType):
        for one in [*type_.arg_types, type_.ret_type]:
            define_types(one, module)
        return
    found = registered(type_)
    if found is not None:
        found.define(module)


def from_data(value):
    """Returns a result with data values as instances of their dataclasses, and lists as Python lists."""
    if isinstance(value, tuple):
        return tuple(map(from_data, value))
    if not _is(value, Data):
        return value
    if value.constructor in ("Cons", "Nil") and value.type in (None, "List"):
        return [from_data(one) for one in as_list(value)]
    type_ = _REGISTERED.get(value.type)
    if type_ is None or value.constructor not in type_.by_name:
        return value
    return type_.by_name[value.constructor].cls(*map(from_data, value.fields))
