"""The terminal: editing over several lines, completion and history, by prompt_toolkit."""

from __future__ import annotations

import os
import pathlib
import re

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.filters import completion_is_selected, has_completions
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings

from .. import _core
from .commands import COMMANDS, STAGES
from .inputs import is_complete
from .session import Session

_WORDS = ["def", "type", "let", "fn", "if", "else", "match", "import", "ref", "Tensor", "float32", "int32", "bool"]
_NAME = re.compile(r"[:@%]?[\w.]*$")
_CALL = re.compile(r"([\w.]+)\(([^()]|\([^()]*\))*$")  # an operator with an open bracket


class Names(Completer):
    """Completes commands, stages, paths, operators, their attributes, and names of the session."""

    def __init__(self, session: Session):
        self.session = session
        self.operators = {one["name"]: one for one in _core.operators()}
        self.paths = PathCompleter(expanduser=True)

    def get_completions(self, document, complete_event):
        text = document.text_before_cursor
        if match := re.match(r"\s*:(?:load|save)\s+", text):
            rest = text[match.end() :]
            yield from self.paths.get_completions(Document(rest, len(rest)), complete_event)
            return
        word = _NAME.search(text).group()
        if not word and not _CALL.search(text):
            return
        for name, meta in self.candidates(text, word):
            if name.startswith(word):
                yield Completion(name, -len(word), display_meta=meta)

    def candidates(self, text: str, word: str) -> list[tuple[str, str]]:
        """(name, what it is) of everything that may stand here."""
        if text.lstrip() == word and word.startswith(":"):
            return [(f":{name}", one.help) for name, one in COMMANDS.items()]
        if re.fullmatch(r"\s*:emit\s+\w*", text):
            return [(stage, "") for stage in STAGES]
        call = _CALL.search(text[: len(text) - len(word)])
        found = []
        if call and call.group(1) in self.operators:
            attributes = self.operators[call.group(1)]["attributes"]
            found = [(f"{one[0]}=", "attribute") for one in attributes]
        if not word:
            return found
        found += [(name, "") for name in self.session.complete_names()]
        found += [(name, one["doc"].split("\n")[0]) for name, one in sorted(self.operators.items())]
        return found + [(name, "") for name in _WORDS]


def _history():
    """The history in the user's state folder, or in memory if that cannot be written."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    path = pathlib.Path(state) / "relay" / "repl_history"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("a").close()
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter", filter=~(has_completions & completion_is_selected))
    def _(event):
        """Ends a complete input, and begins a new line in another."""
        buffer = event.current_buffer
        text = buffer.text
        if is_complete(text) or (text.endswith("\n") and not text.rsplit("\n", 1)[-1].strip()):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return keys


class Terminal:
    """Reads inputs from a terminal."""

    def __init__(self, session: Session):
        self._prompt = PromptSession(
            "relay> ",
            multiline=True,
            prompt_continuation="  ...> ",
            completer=Names(session),
            complete_while_typing=False,
            history=_history(),
            key_bindings=_keys(),
        )

    def read(self) -> str:
        return self._prompt.prompt()
