"""Protobuf's wire format, read by tables of fields.

The bytes are untrusted: every length is checked against the bytes present. The depth of messages, their count and the
count of fields are bounded. Bytes of a message, and packed numbers with a point, stay views of the file.
"""

from __future__ import annotations

import array
import struct
from collections.abc import Mapping

import numpy as np

from ...errors import told

MOST_DEPTH = 64  # messages inside messages
MOST_MESSAGES = 4_000_000  # of a file; the largest graphs of TensorFlow have about 1,000,000
MOST_FIELDS = 16_000_000  # of a file; packed numbers, and a run of numbers with a point, are one
_CHUNK = 1 << 20  # bytes of packed numbers that are unpacked together
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
# The kinds of a field: how its bytes become a value.
_WIRE = {"int": _VARINT, "bool": _VARINT, "float": _FIXED32, "fixed32": _FIXED32, "double": _FIXED64, "bytes": _BYTES,
         "text": _BYTES}  # fmt: skip
_EMPTY = {"int": 0, "bool": False, "float": 0.0, "double": 0.0, "fixed32": 0, "bytes": memoryview(b""), "text": ""}
_NUMBERS = {"int": "<i8", "bool": "?", "float": "<f4", "double": "<f8"}  # types of the arrays of repeated numbers


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
            return self._table.default(name)
        except KeyError:
            raise AttributeError(name) from None

    def has(self, name: str) -> bool:
        return name in self.__dict__


class Table:
    """The fields of a message: a kind by number and name.

    Kinds are "int", "bool", "float", "double", "fixed32", "bytes", "text" and Table. "text*" and [Table] are lists,
    "int*" and the like arrays of NumPy; {Table} and {"text"} are maps from texts.
    """

    def __init__(self, name: str, fields: Mapping[int, tuple[str, object]]):
        self.name, self._fields = name, {}
        self._kinds = {}
        self.arrays = []  # names of the fields of repeated numbers
        for number, (field, kind) in fields.items():
            self.add(number, field, kind)

    def add(self, number: int, field: str, kind: object) -> None:
        """Adds a field, for messages that contain themselves."""
        shape = "one"
        if isinstance(kind, str) and kind.endswith("*"):
            kind = kind[:-1]
            shape = "array" if kind in _NUMBERS else "list"
            if shape == "array":
                self.arrays.append(field)
        elif isinstance(kind, list):
            shape, kind = "list", kind[0]
        elif isinstance(kind, set):
            shape = "map"
            kind = Table("entry", {1: ("key", "text"), 2: ("value", next(iter(kind)))})
        self._fields[number] = (field, kind, shape)
        self._kinds[field] = (kind, shape)

    def default(self, name: str):
        kind, shape = self._kinds[name]
        if shape == "array":
            return np.zeros(0, _NUMBERS[kind])
        if shape != "one":
            return {} if shape == "map" else []
        return _EMPTY[kind] if isinstance(kind, str) else None

    def read(self, content: memoryview, at: int = 0) -> Message:
        """Returns the message in these bytes, which begin at position `at` of the file."""
        return _Reader().message(self, content, at, 0)


def read_message(table: Table, name: str, content: bytes | memoryview, again: str) -> Message:
    """Returns the message that a file is. name: the file, for messages. again: the way out if it is damaged.

    Raises `corrupt_file` and `limit_exceeded`, with the byte."""
    try:
        return table.read(memoryview(content))
    except WireError as error:
        if error.is_limit:
            raise told("limit_exceeded", f"{name} cannot be read: at byte {error.at}, {error}", again) from error
        raise told("corrupt_file", f"{name} is damaged at byte {error.at}: {error}", again) from error


class _Reader:
    def __init__(self):
        self._messages = self._fields = 0

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
            self._fields += 1
            if self._fields > MOST_FIELDS:
                raise WireError(f"it has more than {MOST_FIELDS} fields", base + start, True)
            tag, at = varint(content, at, base)
            wire = tag & 7
            if tag < 8:
                raise WireError(f"a field of {table.name} has the number 0", base + start)
            field = fields.get(tag >> 3)
            begin = at
            if wire == _BYTES:
                size, at = varint(content, at, base)
                if size > end - at:
                    raise WireError(f"a field of {table.name} has {size} bytes, and {end - at} are left", base + start)
                begin = at
                raw, at = content[at : at + size], at + size
            elif wire == _VARINT:
                raw, at = varint(content, at, base)
            elif wire in (_FIXED32, _FIXED64):
                size = 4 if wire == _FIXED32 else 8
                if size > end - at:
                    raise WireError(f"a field of {table.name} is cut off", base + start)
                if field is not None and field[2] == "array" and _WIRE[field[1]] == wire:
                    raw, at = _run(content, start, at, size)
                else:
                    raw, at = content[at : at + size], at + size
            else:
                raise WireError(f"a field of {table.name} has the wire type {wire}", base + start)
            if field is not None:
                self._keep(values, field, wire, raw, base + start, base + begin, depth)
        for name in table.arrays:
            if name in values:
                values[name] = values[name].joined()
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
        elif shape == "array":
            if wire not in (_BYTES, _WIRE[kind]):
                raise WireError(f"`{name}` has the wire type {wire}", start)
            values.setdefault(name, _Numbers(kind)).add(wire, raw, start)
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
        return _signed(raw)
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


class _Numbers:
    """Repeated numbers: packed, with a key before each, or both in turn."""

    def __init__(self, kind: str):
        self._kind, self._parts = kind, []

    def add(self, wire: int, raw, at: int) -> None:
        if wire == _VARINT:
            if not self._parts or not isinstance(self._parts[-1], array.array):
                self._parts.append(array.array("q"))
            self._parts[-1].append(_signed(raw))
        elif isinstance(raw, np.ndarray):
            self._parts.append(raw)
        elif _WIRE[self._kind] == _VARINT:
            self._parts.extend(_unpacked(raw, at))
        else:
            size = np.dtype(_NUMBERS[self._kind]).itemsize
            if len(raw) % size:
                raise WireError(f"packed numbers have {len(raw)} bytes, not a multiple of {size}", at)
            self._parts.append(np.frombuffer(raw, _NUMBERS[self._kind]))

    def joined(self) -> np.ndarray:
        """Returns all numbers. Those of one packed field share its bytes."""
        parts = [np.asarray(one) for one in self._parts]
        made = parts[0] if len(parts) == 1 else np.concatenate(parts or [np.zeros(0)])
        return made.astype(_NUMBERS[self._kind], copy=False)


def _run(content: memoryview, start: int, at: int, size: int) -> tuple[np.ndarray, int]:
    """Returns numbers of `size` bytes in a row with the same key before each, and the position after them.

    The first key is at `start`, and its number at `at`. The time is proportional to the length of the run."""
    step, key = at - start + size, content[start:at]
    most, count, more = (len(content) - start) // step, 1, 16
    while count < most and content[start + count * step :][: len(key)] == key:
        more = min(4 * more, most - count)
        first = start + count * step
        rows = np.frombuffer(content[first : first + more * step], np.uint8).reshape(more, step)
        same = (rows[:, : len(key)] == np.frombuffer(key, np.uint8)).all(axis=1)
        found = more if same.all() else int(np.argmin(same))
        count += found
        if found < more:
            break
    rows = np.frombuffer(content[start : start + count * step], np.uint8).reshape(count, step)
    return np.ascontiguousarray(rows[:, len(key) :]).view(f"<f{size}").reshape(-1), start + count * step


def _unpacked(raw: memoryview, at: int):
    """Yields arrays of the packed varints."""
    content, place = np.frombuffer(raw, np.uint8), 0
    while place < len(content):
        part = content[place : place + _CHUNK]
        ends = np.flatnonzero(part < 128)
        if not len(ends):
            raise WireError("packed numbers end inside a number", at)
        begins = np.concatenate([[0], ends[:-1] + 1])
        sizes = ends - begins + 1
        if sizes.max() > 10:
            raise WireError("a number has more than 10 bytes", at)
        made = np.zeros(len(ends), np.uint64)
        for byte in range(sizes.max()):
            longer = np.flatnonzero(sizes > byte)
            digits = part[begins[longer] + byte] & 127
            if byte == 9 and digits.max() > 1:
                raise WireError("a number has more than 64 bits", at)
            made[longer] |= digits.astype(np.uint64) << np.uint64(7 * byte)
        yield made.view(np.int64)
        place += int(ends[-1]) + 1


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


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
