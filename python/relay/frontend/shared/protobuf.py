"""Protobuf messages of untrusted files, in the wire format and as text.

A specification names the fields of a message that are read, by number: {1: ("name", "text"), 5: ("data", "float[]"),
7: ("shape", SHAPE), 100: ("layer", [LAYER])}. A kind is "int", "float", "double", "text", "bytes", another
specification, or a list of one for repeated messages; "[]" after it stands for repeated values. Other fields are
skipped.
"""

from __future__ import annotations

import re
import struct

import numpy as np

from ...errors import told

MOST_FIELDS = 1_000_000
MOST_DEPTH = 100
_WIRE = {"int": 0, "float": 5, "double": 1}


class _Wire:
    """The fields of one file."""

    def __init__(self, name: str, content: bytes, again: str):
        self.name, self.content, self.again = name, content, again
        self._view, self._left = np.frombuffer(content, np.uint8), MOST_FIELDS

    def corrupt(self, what: str, at: int):
        return told("corrupt_file", f"{self.name} is damaged at byte {at}: {what}", self.again)

    def varint(self, at: int, end: int) -> tuple[int, int]:
        """Returns a number and the position after it."""
        value = shift = 0
        start = at
        while at < end and shift < 70:
            byte = self.content[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value & ((1 << 64) - 1), at
            shift += 7
        raise self.corrupt("a number does not end", start)

    def message(self, at: int, end: int, spec: dict, depth: int = 0) -> dict:
        """Returns the fields of a message by name. Repeated fields are lists, numbers of a repeated field an array."""
        if depth > MOST_DEPTH:
            raise told("limit_exceeded", f"{self.name} has messages inside of {MOST_DEPTH} others", self.again)
        made: dict = {}
        while at < end:
            self._left -= 1
            if self._left < 0:
                raise told("limit_exceeded", f"{self.name} has more than {MOST_FIELDS} fields", self.again)
            start = at
            key, at = self.varint(at, end)
            field, wire = key >> 3, key & 7
            if field == 0:
                raise self.corrupt("a field has the number 0", start)
            name, kind = spec.get(field, (None, None))
            if isinstance(kind, str) and kind.endswith("[]") and _WIRE.get(kind[:-2]) == wire and wire:
                at = self._unpacked(start, at, end, wire, made.setdefault(name, []), kind[:-2])
                continue
            value, at = self._value(at, end, wire, start)
            if name is not None:
                self._keep(made, name, kind, wire, value, start, depth)
        for name, kind in spec.values():
            if isinstance(kind, str) and kind.endswith("[]") and kind[:-2] in _WIRE and name in made:
                made[name] = _joined(made[name])
        return made

    def _value(self, at: int, end: int, wire: int, start: int):
        """Returns a number or the range of bytes of a field, and the position after it."""
        if wire == 0:
            return self.varint(at, end)
        if wire == 2:
            length, at = self.varint(at, end)
            if length > end - at:
                raise self.corrupt(f"a field needs {length} bytes, and {end - at} are left", start)
            return (at, at + length), at + length
        size = {1: 8, 5: 4}.get(wire)
        if size is None:
            raise self.corrupt(f"a field has the wire type {wire}", start)
        if size > end - at:
            raise self.corrupt(f"a number needs {size} bytes, and {end - at} are left", start)
        return (at, at + size), at + size

    def _unpacked(self, start: int, at: int, end: int, wire: int, into: list, kind: str) -> int:
        """Reads a run of numbers with a key before each; returns the position after it."""
        size, key = (4 if wire == 5 else 8), self.content[start:at]
        step = size + len(key)
        count = (end - start) // step
        if count == 0:
            raise self.corrupt(f"a number needs {size} bytes, and {end - at} are left", start)
        table = self._view[start : start + count * step].reshape(count, step)
        same = np.ones(count, bool)
        for place, byte in enumerate(key):
            same &= table[:, place] == byte
        run = count if same.all() else int(np.argmin(same))
        found = np.ascontiguousarray(table[:run, len(key) :]).view(f"<f{size}")
        into.append(found.reshape(-1))
        return start + run * step

    def _keep(self, made: dict, name: str, kind, wire: int, value, start: int, depth: int) -> None:
        if isinstance(kind, (dict, list)):
            if wire != 2:
                raise self.corrupt(f"the field `{name}` is not a message", start)
            one = self.message(*value, kind if isinstance(kind, dict) else kind[0], depth + 1)
            made.setdefault(name, []).append(one) if isinstance(kind, list) else made.__setitem__(name, one)
            return
        base = kind.removesuffix("[]")
        if base in ("text", "bytes"):
            if wire != 2:
                raise self.corrupt(f"the field `{name}` is not a text", start)
            found = self.content[value[0] : value[1]]
            found = found.decode("utf-8", "replace") if base == "text" else found
            made.setdefault(name, []).append(found) if base != kind else made.__setitem__(name, found)
        elif base != kind and wire == 2:
            made.setdefault(name, []).append(self._packed(base, *value, name))
        elif wire != _WIRE[base]:
            raise self.corrupt(f"the field `{name}` has the wire type {wire}, not {_WIRE[base]}", start)
        elif base == "int":
            found = value - (1 << 64) if value >> 63 else value
            made.setdefault(name, []).append(np.array([found], np.int64)) if base != kind else made.__setitem__(
                name, found
            )
        else:
            made[name] = struct.unpack("<f" if base == "float" else "<d", self.content[value[0] : value[1]])[0]

    def _packed(self, base: str, at: int, end: int, name: str) -> np.ndarray:
        if base != "int":
            size = 4 if base == "float" else 8
            if (end - at) % size:
                raise self.corrupt(f"`{name}` has {end - at} bytes, not a multiple of {size}", at)
            return self._view[at:end].view(f"<f{size}")
        found = []
        while at < end:
            self._left -= 1
            if self._left < 0:
                raise told("limit_exceeded", f"{self.name} has more than {MOST_FIELDS} fields", self.again)
            one, at = self.varint(at, end)
            found.append(one - (1 << 64) if one >> 63 else one)
        return np.array(found, np.int64)


def _joined(parts: list) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def read_message(name: str, content: bytes, spec: dict, again: str) -> dict:
    """Returns the fields of the message that the bytes are. name: the file, for messages; again: the way out if it is
    damaged."""
    return _Wire(name, content, again).message(0, len(content), spec)


# --- text -------------------------------------------------------------------------------------------------------------
_TOKEN = re.compile(
    rb"""[ \t\r\n\v\f]+ | \#[^\n]* | (?P<word>[A-Za-z_][A-Za-z0-9_.]*) |
    (?P<number>[-+]?\s*(?:\d|\.\d|inf|nan)[A-Za-z0-9_.+-]*)
    | (?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*') | (?P<sign>[{}<>:;,\[\]-])""",
    re.VERBOSE | re.DOTALL,
)
MOST_TEXT = 64 << 20  # bytes
Fields = dict[str, list]


def read_text(name: str, content: bytes, again: str) -> Fields:
    """Returns the fields of a message in text form: by name the list of its values, numbers, texts or messages."""
    if len(content) > MOST_TEXT:
        raise told("limit_exceeded", f"{name} has {len(content)} bytes, more than {MOST_TEXT}", again)
    return _Text(name, content, again).message("")


class Word(str):
    """A word without quotes: a name of an enumeration, true or false."""


class _Text:
    def __init__(self, name: str, content: bytes, again: str):
        self.name, self.content, self.again, self.at, self.left = name, content, again, 0, MOST_FIELDS
        self._next: tuple[str, bytes] | None = None

    def bad(self, what: str):
        line = self.content.count(b"\n", 0, self.at) + 1
        return told("corrupt_file", f"{self.name}, line {line}: {what}", self.again)

    def peek(self) -> tuple[str, bytes]:
        """Returns the kind of the next token and its text; ("end", b"") at the end."""
        while self._next is None:
            if self.at >= len(self.content):
                return "end", b""
            found = _TOKEN.match(self.content, self.at)
            if found is None:
                raise self.bad(f"{self.content[self.at : self.at + 1]!r} is not text of a protobuf message")
            self.at = found.end()
            if found.lastgroup:
                self._next = (found.lastgroup, found.group())
        return self._next

    def take(self) -> tuple[str, bytes]:
        found, self._next = self.peek(), None
        self.left -= 1
        if self.left < 0:
            raise told("limit_exceeded", f"{self.name} has more than {MOST_FIELDS} words", self.again)
        return found

    def message(self, closing: str, depth: int = 0) -> Fields:
        """Returns the fields up to a bracket."""
        if depth > MOST_DEPTH:
            raise told("limit_exceeded", f"{self.name} has messages inside of {MOST_DEPTH} others", self.again)
        made: Fields = {}
        while True:
            kind, word = self.take()
            if word.decode() == closing:
                return made
            if word in (b",", b";"):
                continue
            if kind != "word":
                raise self.bad(f"a field is expected, got {word.decode('utf-8', 'replace') or 'the end'!r}")
            values = made.setdefault(word.decode(), [])
            has_colon = self.peek()[1] == b":"
            if has_colon:
                self.take()
            if has_colon and self.peek()[1] == b"[":
                self.take()
                while self.peek()[1] != b"]":
                    values.append(self.value(depth))
                    if self.peek()[1] == b",":
                        self.take()
                self.take()
            else:
                values.append(self.value(depth, has_colon))

    def value(self, depth: int, may_be_plain: bool = True):
        kind, word = self.take()
        if word in (b"{", b"<"):
            return self.message("}" if word == b"{" else ">", depth + 1)
        if may_be_plain and kind == "word":
            return Word(word.decode())
        if may_be_plain and kind == "number":
            return self.number(word.decode())
        if may_be_plain and kind == "text":
            found = _unquoted(word)
            while self.peek()[0] == "text":  # texts in a row are one
                found += _unquoted(self.take()[1])
            return found
        raise self.bad(f"a value is expected, got {word.decode('utf-8', 'replace') or 'the end'!r}")

    def number(self, text: str) -> int | float:
        plain = text.replace(" ", "").lower()
        try:
            if re.fullmatch(r"[-+]?(0x[0-9a-f]+|\d+)", plain):
                return int(plain, 0 if "x" in plain else 10)
            return float(plain.rstrip("f") if "inf" not in plain else plain)
        except ValueError as error:
            raise self.bad(f"{text[:40]!r} is not a number") from error


def _unquoted(word: bytes) -> str:
    return re.sub(rb"\\(.)", rb"\1", word[1:-1], flags=re.DOTALL).decode("utf-8", "replace")
