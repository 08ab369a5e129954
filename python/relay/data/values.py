"""Values of programs in Python: arguments and results of compiled programs.

import relay
Cons, Nil = relay.Data.maker("Cons"), relay.Data("Nil")

length(Cons(1.0, Cons(2.0, Nil)))     # the same as length([1.0, 2.0]): a Python list becomes Cons ... Nil

Tensors are NumPy arrays (torch tensors if an input was one), tuples are tuples, data values are Data, functions are
Closure, and references are Ref. Values may be nested to any depth.
"""

from __future__ import annotations

import functools

import numpy as np

from .. import _core
from ..errors import wrong_input
from .arrays import array, numpy, torch_tensor

__all__ = ["Closure", "Data", "Ref", "as_list"]


class Data:
    """A value of a data type: the name of its constructor, and its fields. `type` is needed only if two types share the
    name.

    match value:
        case Data("Cons", (head, tail)): ...
    """

    __slots__ = ("constructor", "fields", "type")
    __match_args__ = ("constructor", "fields")

    def __init__(self, constructor: str, *fields, type: str | None = None):
        self.constructor = constructor
        self.fields = fields
        self.type = type

    @staticmethod
    def maker(constructor: str, type: str | None = None):
        """Returns the constructor as a function: maker("Cons")(1, rest)."""
        return functools.partial(Data, constructor, type=type)

    def __getitem__(self, index: int):
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self):
        return iter(self.fields)

    def __eq__(self, other) -> bool:
        if not _is(other, Data):
            return NotImplemented
        return _equal(self, other)

    __hash__ = None

    def __repr__(self) -> str:
        return _text(self)


class Ref:
    """A reference and its value."""

    __slots__ = ("value",)

    def __init__(self, value=None):
        self.value = value

    def __repr__(self) -> str:
        return "Ref(...)"


class Closure:
    """A function that a compiled program returned. It can be called."""

    def __init__(self, compiled, value: _core.Value):
        self._compiled = compiled
        self._value = value

    def __call__(self, *args):
        values = [to_value(a, self._compiled._core.types) for a in args]
        return from_value(self._compiled._core.call_closure(self._value, values), args, self._compiled)

    def __repr__(self) -> str:
        return "<relay.Closure>"


def as_list(value: Data) -> list:
    """Returns the elements of a list that is built from Cons and Nil."""
    out = []
    while value.constructor == "Cons":
        out.append(value.fields[0])
        value = value.fields[1]
    return out


def _is(value, kind: type) -> bool:
    """Returns true if the value is of this class, or of the same class from before this module was reloaded."""
    made = type(value)
    return isinstance(value, kind) or (made.__module__ == kind.__module__ and made.__qualname__ == kind.__qualname__)


def _children(value):
    if _is(value, Data):
        return value.fields
    return value if isinstance(value, (tuple, list)) else None


def _equal(a, b) -> bool:
    work, seen = [(a, b)], set()  # parts may be shared very often
    while work:
        x, y = work.pop()
        if (id(x), id(y)) in seen:
            continue
        seen.add((id(x), id(y)))
        if _is(x, Data) != _is(y, Data):
            return False
        if _is(x, Data) and x.constructor != y.constructor:
            return False
        inside, other = _children(x), _children(y)
        if (inside is None) != (other is None):
            return False
        if inside is None:
            if not np.array_equal(np.asarray(x), np.asarray(y)):
                return False
        elif len(inside) != len(other):
            return False
        else:
            work.extend(zip(inside, other, strict=True))
    return True


def _text(value, limit: int = 200) -> str:
    out, work, count = [], [value], 0
    while work:
        item = work.pop()
        if isinstance(item, _Text):
            out.append(item)
            continue
        count += 1
        if count > limit:
            return "".join(out) + "..."
        inside = _children(item)
        if inside is None:
            is_number = isinstance(item, np.ndarray) and item.ndim == 0
            out.append(str(item) if is_number else repr(item))
            continue
        name = item.constructor if _is(item, Data) else ""
        if name and not inside:
            out.append(name)
            continue
        out.append(name + "(")
        work.append(_Text(")"))
        for i in range(len(inside) - 1, -1, -1):
            work.append(inside[i])
            if i:
                work.append(_Text(", "))
    return "".join(out)


class _Text(str):
    """Text that is written without quotes."""


def to_value(value, types: _core.DataTypes, declared: str = "", *, lend: bool = False) -> _core.Value:
    """Converts a Python object to a value for a program. `declared` is its type as text, which plain numbers and lists
    are converted to. If the type is unknown (""), an int becomes an int32, a float a float32, and a list a list of data
    if the program has the type List. Dataclasses of relay.data_type are data values.

    Arrays are copied. With `lend`, an array that is the value itself is used in place, for a single call.
    """
    done: dict[tuple[int, str], _core.Value] = {}  # by identity, so that shared objects stay shared
    made: list[_core.Value] = []
    begun: set[int] = set()  # the identities of objects whose parts are being made
    work: list = [(value, declared)]
    while work:
        item, type_ = work.pop()
        if isinstance(item, _Make):
            parts = [made.pop() for _ in range(item.count)]  # the last one first
            made.append(item.make(parts))
            begun.discard(id(item.source))
            if item.source is not None:
                done[id(item.source), type_] = made[-1]
            continue
        if isinstance(item, _Fill):
            content = made.pop()
            made[-1].fill(content)
            continue
        source = item  # lives as long as the value, unlike the data that stands for it
        if hasattr(item, "__relay_data__"):
            item = item.__relay_data__()
        if _is(item, Ref):
            type_, content_types = "", _type_parts(type_)[1]  # one reference, whatever is known of its type
        if (id(source), type_) in done:
            made.append(done[id(source), type_])
            continue
        if _is(item, Ref):  # made before its content, which may hold it
            made.append(_core.Value.reference(_core.Value.tuple([])))
            done[id(item), type_] = made[-1]
            work.append((_Fill(), ""))
            work.append((item.value, content_types[0] if content_types else ""))
            continue
        inside = _parts(item, type_, types)
        if inside is not None:
            if id(source) in begun:
                raise wrong_input(
                    f"a {type(source).__name__} contains itself", "give a value of a finite size, or a relay.Ref in it"
                )
            begun.add(id(source))
            make, children = inside
            work.append((_Make(make, len(children), source), type_))
            work.extend(reversed(children))
        elif _is(item, Closure):
            made.append(item._value)
        elif isinstance(item, _core.Value):
            made.append(item)
        else:
            tensor = array(item, tensor_dtype(type_) or _plain(item))
            made.append(_core.Value.tensor(tensor, lend=lend and item is value))
    return made[0]


def _parts(item, type_: str, types: _core.DataTypes):
    """Returns a function that makes a value of its parts (it takes the last part first), and the parts with their
    types. Returns None for a value without parts."""
    name, arguments = _type_parts(type_)
    of_all = type_ if type_ == tensor_dtype(type_) else ""  # a plain element type applies to all numbers in the value

    def typed(items, known=()):
        return [(one, known[i] if i < len(known) else of_all) for i, one in enumerate(items)]

    is_value = _is(item, Data) or isinstance(item, _core.Value)
    if name == "Option" and not is_value:  # None is None, and any other object is Some
        item = Data("None", type="Option") if item is None else Data("Some", item, type="Option")
    if _is(item, Data):
        known = [*arguments, type_] if name == "List" else arguments if name == "Option" else ()
        return functools.partial(_data, types, item), typed(item.fields, known)
    if isinstance(item, tuple) or (isinstance(item, list) and name == "("):
        return (lambda parts: _core.Value.tuple(parts[::-1])), typed(item, arguments)
    if isinstance(item, list) and "List" in types.names and name != "Tensor":
        return functools.partial(_list, types), typed(item, arguments * len(item) if name == "List" else ())
    return None


@functools.lru_cache(maxsize=1024)
def _type_parts(type_: str) -> tuple[str, list[str]]:
    """Returns the name and the arguments of a type as text: "List" and ["int32"] for "List[int32]", "(" and the fields
    for a tuple."""
    begin = next((i for i, c in enumerate(type_) if c in "[("), -1)
    if begin < 0 or type_.startswith(("fn ", "Tensor[")):
        return type_.partition("[")[0], []
    depth, parts = 0, [""]
    for c in type_[begin + 1 : -1]:
        depth += (c in "[(") - (c in "])")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return type_[:begin] or "(", [part.strip() for part in parts if part.strip()]


def tensor_dtype(type_: str) -> str:
    """Returns the element type of a tensor type as text, or "" for other types."""
    if type_.startswith("Tensor["):
        return type_[:-1].rpartition(",")[2].strip()
    return "" if any(c in type_ for c in "[( ") or type_[:1].isupper() else type_


class _Fill:
    """Gives the reference before it the value that was made last."""

    __slots__ = ()


class _Make:
    """Makes a value from the `count` values that were made last."""

    __slots__ = ("count", "make", "source")

    def __init__(self, make, count, source):
        self.make, self.count, self.source = make, count, source


def _data(types, item, parts):
    return _core.Value.data(types, item.constructor, parts[::-1], item.type or "")


def _list(types, parts):
    out = _core.Value.data(types, "Nil", [], "List")
    for part in parts:
        out = _core.Value.data(types, "Cons", [part, out], "List")
    return out


def _plain(value) -> str | None:
    if isinstance(value, bool):
        return "bool"
    return {int: "int32", float: "float32"}.get(type(value))


def from_value(value: _core.Value, examples=(), compiled=None):
    """Converts a value to a Python object. Tensors become arrays in the framework of `examples`, the inputs."""
    of_torch = any(type(e).__module__.partition(".")[0] == "torch" for e in examples)
    made: list = []  # by step
    stack: list = []
    for step in value.steps():
        kind = step[0]
        if kind == "tensor":
            item = torch_tensor(step[1]) if of_torch else numpy(step[1])
        elif kind == "again":
            item = made[step[1]]
        elif kind == "closure":
            item = Closure(compiled, step[1])
        elif kind == "reference":
            item = Ref()
        elif kind == "fill":
            content = stack.pop()
            item = stack.pop()
            item.value = content
        else:
            count = step[1]
            parts = tuple(stack[len(stack) - count :])
            del stack[len(stack) - count :]
            item = parts if kind == "tuple" else Data(step[2], *parts, type=step[3])
        made.append(item)
        stack.append(item)
    return stack[0]


def checked(value, port_name: str, type_: str):
    """Refuses plain Python objects that are not values of a program, with the input's name."""
    if value is None and not type_.startswith("Option["):
        raise wrong_input(f"input `{port_name}` is None", "give an array, a tuple or relay.Data")
    return value
