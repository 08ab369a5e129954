"""Protobuf messages in text form, of untrusted files. `wire.py` reads the other form."""

from __future__ import annotations

import re

from ...errors import told

_TOKEN = re.compile(
    rb"""[ \t\r\n\v\f]+ | \#[^\n]* | (?P<word>[A-Za-z_][A-Za-z0-9_.]*) |
    (?P<number>[-+]?\s*(?:\d|\.\d|inf|nan)[A-Za-z0-9_.+-]*)
    | (?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*') | (?P<sign>[{}<>:;,\[\]-])""",
    re.VERBOSE | re.DOTALL,
)
MOST_TEXT = 64 << 20  # bytes
MOST_WORDS = 1_000_000
MOST_DEPTH = 100
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
        self.name, self.content, self.again, self.at, self.left = name, content, again, 0, MOST_WORDS
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
            raise told("limit_exceeded", f"{self.name} has more than {MOST_WORDS} words", self.again)
        return found

    def message(self, closing: str, depth: int = 0) -> Fields:
        """Returns the fields up to a bracket."""
        if depth > MOST_DEPTH:
            raise told("limit_exceeded", f"{self.name} has messages inside of {MOST_DEPTH} others", self.again)
        made: Fields = {}
        while True:
            kind, word = self.take()
            if word == closing.encode():
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
