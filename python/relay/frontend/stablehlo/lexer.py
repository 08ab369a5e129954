"""Tokens of MLIR's text form, read on demand."""

from __future__ import annotations

import re

from .places import MOST_DEPTH, problem

_SPACE = re.compile(r"(?:\s+|//[^\n]*)*")
_TOKEN = re.compile(
    r"""(?P<string>"(?:[^"\\]|\\.)*")
      | (?P<value>%[\w$.-]+(?:\#\d+)?)
      | (?P<symbol>@(?:[\w$.-]+|"(?:[^"\\]|\\.)*"))
      | (?P<block>\^[\w$.-]+)
      | (?P<alias>\#[\w$.]*)
      | (?P<kind>![\w$.]+)
      | (?P<number>-?(?:0x[0-9a-fA-F]+|\d+(?:\.\d*(?:[eE][-+]?\d+)?)?))
      | (?P<word>[A-Za-z_][\w$.]*)
      | (?P<mark>->|\{-\#|\#-\}|[-(){}\[\]<>,:=?+*/|])""",
    re.VERBOSE | re.DOTALL,
)


class Lexer:
    """A position in a text. `kind` and `text` are those of the token there; kind is "end" behind the last one."""

    def __init__(self, text: str, name: str):
        self.source, self.name = text, name
        self.depth = 0
        self.kind, self.text, self.offset, self.end = "end", "", 0, 0
        self.next()

    def next(self) -> str:
        """Moves to the next token. Returns the text of the one before."""
        before = self.text
        self.offset = _SPACE.match(self.source, self.end).end()
        if self.offset == len(self.source):
            self.kind, self.text, self.end = "end", "", self.offset
            return before
        found = _TOKEN.match(self.source, self.offset)
        if found is None:
            raise self.bad(f"the character {self.source[self.offset]!r} begins no word of MLIR")
        self.kind, self.text, self.end = found.lastgroup, found.group(), found.end()
        return before

    def jump(self, offset: int) -> None:
        """Moves to the token at an offset (characters)."""
        self.end = offset
        self.next()

    def at(self, *texts: str) -> bool:
        return self.kind in ("mark", "word") and self.text in texts

    def take(self, text: str) -> bool:
        """Moves past the token and returns true if it has this text."""
        if not self.at(text):
            return False
        self.next()
        return True

    def expect(self, text: str) -> None:
        if not self.take(text):
            raise self.expected(f"`{text}`")

    def expect_kind(self, kind: str, what: str) -> str:
        if self.kind != kind:
            raise self.expected(what)
        return self.next()

    def number(self) -> int:
        offset, text = self.offset, self.expect_kind("number", "a whole number")
        if not re.fullmatch(r"-?\d{1,19}", text):
            raise self.bad(f"expected a whole number, got `{text}`", offset)
        return int(text)

    def inside(self) -> Lexer:
        """A `with` block of one more level of nesting."""
        return self

    def __enter__(self):
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise self.error("limit_exceeded", f"more than {MOST_DEPTH} levels of nesting", "flatten the program")
        return self

    def __exit__(self, *_):
        self.depth -= 1

    def balanced(self) -> str:
        """Moves past a bracket, all that is inside and its end. Returns the text."""
        ends = {"(": ")", "{": "}", "[": "]", "<": ">"}
        start, stack = self.offset, []
        while True:
            if self.kind == "end":
                raise self.bad("a bracket is never closed", start)
            if self.kind == "mark" and self.text in ends:
                stack.append(ends[self.text])
            elif self.kind == "mark" and stack and self.text == stack[-1]:
                stack.pop()
            last = self.end
            self.next()
            if not stack:
                return self.source[start:last]

    def expected(self, what: str) -> Exception:
        got = "the end of the text" if self.kind == "end" else f"`{self.text[:40]}`"
        return self.bad(f"expected {what}, got {got}")

    def bad(self, message: str, offset: int | None = None) -> Exception:
        """Returns the error of a malformed text, at the current token or an offset (characters)."""
        return self.error(
            "corrupt_file", message, "check the text with StableHLO's own tools, or export it again", offset
        )

    def error(self, kind: str, message: str, help: str, offset: int | None = None) -> Exception:
        return problem(kind, message, help, self.source, self.name, self.offset if offset is None else offset)
