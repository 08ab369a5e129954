"""Problems of an import, gathered so that one diagnostic lists them all."""

from __future__ import annotations

import collections

from ..._core import told
from ...errors import CompileError


class Refused(Exception):
    """A part of a model that cannot be imported. The text is the reason, and `help` says what to do instead."""

    def __init__(self, why: str, help: str = "write this part in another form"):
        super().__init__(why)
        self.help = help


class Problems:
    """Parts of a model that cannot be imported, by reason, with the first place of each."""

    def __init__(self, subject: str, help: str):
        """subject: "the PyTorch program", for the message. help: the remedy of problems that have none of their own."""
        self._subject, self._otherwise = subject, help
        self._first, self._counts, self._help = {}, collections.Counter(), {}

    def record(self, what: str, first: str = "", help: str = "") -> None:
        """Adds a problem with its place, such as ", first in `conv`", and its remedy."""
        self._help.setdefault(what, help)
        self._first.setdefault(what, first)
        self._counts[what] += 1

    @property
    def count(self) -> int:
        return sum(self._counts.values())

    def tell(self) -> None:
        """Raises a CompileError that lists all problems and their remedies, if there are any."""
        if not self._counts:
            return
        lines, remedies = [], {}  # without repetitions, in the order of the problems
        for what, count in self._counts.most_common():
            often = f" ({count} times)" if count > 1 and self._first[what] else ""
            lines.append(f"{what}{often}{self._first[what]}")
            remedies[self._help[what] or self._otherwise] = None
        message = f"{self._subject} cannot be imported: {'; '.join(lines)}"
        raise CompileError(*told("unsupported_operator", message, "; ".join(remedies)))
