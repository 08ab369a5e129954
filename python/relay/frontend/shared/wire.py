"""Protobuf's wire format, read by tables of fields.

The bytes are untrusted: every length is checked against the bytes present, and depth and count of messages are bounded.
Bytes of a message stay views of the file.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

MOST_DEPTH = 64  # messages inside messages
MOST_MESSAGES = 4_000_000  # of a file; the largest graphs of TensorFlow have about 1,000,000
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
# The kinds of a field: how its bytes become a value.
_WIRE = {"int": _VARINT, "bool": _VARINT, "float": _FIXED32, "fixed32": _FIXED32, "double": _FIXED64, "bytes": _BYTES,
         "text": _BYTES}  # fmt: skip
_EMPTY = {"int": 0, "bool": False, "float": 0.0, "double": 0.0, "fixed32": 0, "bytes": memoryview(b""), "text": ""}
_PACKED = {"float": ("f", 4), "double": ("d", 8), "fixed32": ("I", 4)}


class WireError(Exception):
    """The bytes are not such a message. `at`: the position in the file, in bytes. `is_limit`: true for a limit."""

    def __init__(self, why: str, at: int, is_limit: bool = False):
        super().__init__(why)
        self.at, self.is_limit = at, is_limit


class Message:
    """A message: its fields are attributes. A field that is missing has its default; `has` tells them apart.

    `at` is the position of the message in the file, in bytes.
    """

    def __init__(self, table: Table, at: int = 0):
        self.at, self._table = at, table

    def __getattr__(self, name: str):
        try:
            made = self._table.default(name)
        except KeyError:
            raise AttributeError(name) from None
        if made is not None:
            self.__dict__[name] = made
        return made

    def has(self, name: str) -> bool:
        return name in self.__dict__


class Table:
    """The fields of a message: a kind by number and name.

    Kinds are "int", "bool", "float", "double", "fixed32", "bytes", "text", a Table, with "*" or [Table] for a repeated
    field, and {Table} or {"text"} for a map from texts.
    """

    def __init__(self, name: str, fields: Mapping[int, tuple[str, object]]):
        self.name, self._fields = name, {}
        self._kinds = {}
        for number, (field, kind) in fields.items():
            self.add(number, field, kind)

    def add(self, number: int, field: str, kind: object) -> None:
        """Adds a field, for messages that contain themselves."""
        shape = "one"
        if isinstance(kind, str) and kind.endswith("*"):
            shape, kind = "list", kind[:-1]
        elif isinstance(kind, list):
            shape, kind = "list", kind[0]
        elif isinstance(kind, set):
            shape = "map"
            kind = Table("entry", {1: ("key", "text"), 2: ("value", next(iter(kind)))})
        self._fields[number] = (field, kind, shape)
        self._kinds[field] = (kind, shape)

    def default(self, name: str):
        kind, shape = self._kinds[name]
        if shape != "one":
            return {} if shape == "map" else []
        return _EMPTY[kind] if isinstance(kind, str) else None

    def read(self, content: memoryview, at: int = 0) -> Message:
        """Returns the message in these bytes, which begin at position `at` of the file."""
        return _Reader().message(self, content, at, 0)


class _Reader:
    def __init__(self):
        self._messages = 0

    def message(self, table: Table, content: memoryview, base: int, depth: int) -> Message:
        self._messages += 1
        if depth > MOST_DEPTH:
            raise WireError(f"messages are nested more than {MOST_DEPTH} levels deep", base, True)
        if self._messages > MOST_MESSAGES:
            raise WireError(f"it has more than {MOST_MESSAGES} messages", base, True)
        made, at, end = Message(table, base), 0, len(content)
        values, fields = made.__dict__, table._fields
        while at < end:
            start = at
            tag, at = varint(content, at, base)
            kind = tag & 7
            if tag < 8:
                raise WireError(f"a field of {table.name} has the number 0", base + start)
            field = fields.get(tag >> 3)
            if kind == _BYTES:
                size, at = varint(content, at, base)
                if size > end - at:
                    raise WireError(f"a field of {table.name} has {size} bytes, and {end - at} are left", base + start)
                raw, at = content[at : at + size], at + size
            elif kind == _VARINT:
                raw, at = varint(content, at, base)
            elif kind in (_FIXED32, _FIXED64):
                size = 4 if kind == _FIXED32 else 8
                if size > end - at:
                    raise WireError(f"a field of {table.name} is cut off", base + start)
                raw, at = content[at : at + size], at + size
            else:
                raise WireError(f"a field of {table.name} has the wire type {kind}", base + start)
            if field is not None:
                self._keep(
                    values, field, kind, raw, base + start, base + at - (len(raw) if kind == _BYTES else 0), depth
                )
        return made

    def _keep(self, values: dict, field: tuple, wire: int, raw, start: int, begin: int, depth: int) -> None:
        name, kind, shape = field
        if not isinstance(kind, str):
            if wire != _BYTES:
                raise WireError(f"`{name}` is not a message", start)
            value = self.message(kind, raw, begin, depth + 1)
            if shape == "map":
                values.setdefault(name, {})[value.key] = value.value
                return
        elif wire == _BYTES and kind not in ("bytes", "text"):  # packed
            if shape != "list":
                raise WireError(f"`{name}` has several values", start)
            values.setdefault(name, []).extend(_unpacked(kind, raw, start))
            return
        else:
            if wire != _WIRE[kind]:
                raise WireError(f"`{name}` has the wire type {wire}", start)
            value = _value(kind, raw, start)
        if shape == "list":
            values.setdefault(name, []).append(value)
        else:
            values[name] = value


def _value(kind: str, raw, at: int):
    if kind == "int":
        return raw - (1 << 64) if raw >> 63 else raw
    if kind == "bool":
        return bool(raw)
    if kind == "text":
        try:
            return str(raw, "utf-8")
        except UnicodeDecodeError:
            raise WireError("a text is not UTF-8", at) from None
    if kind == "bytes":
        return raw
    return struct.unpack({"float": "<f", "double": "<d", "fixed32": "<I"}[kind], raw)[0]


def _unpacked(kind: str, raw: memoryview, at: int) -> list:
    if kind in _PACKED:
        letter, size = _PACKED[kind]
        if len(raw) % size:
            raise WireError(f"packed numbers have {len(raw)} bytes, not a multiple of {size}", at)
        return list(struct.unpack(f"<{len(raw) // size}{letter}", raw))
    place, made = 0, []
    while place < len(raw):
        value, place = varint(raw, place, at)
        made.append(_value(kind, value, at))
    return made


def varint(content: memoryview, at: int, base: int) -> tuple[int, int]:
    """Returns a number of up to 64 bits, and the position after it."""
    value = shift = 0
    end = len(content)
    while at < end:
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 64:
                raise WireError("a number has more than 64 bits", base + at)
            return value, at
        shift += 7
        if shift > 63:
            raise WireError("a number has more than 10 bytes", base + at)
    raise WireError("the file ends inside a number", base + at)
