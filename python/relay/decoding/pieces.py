"""Text from tokens, in pieces that never split a character or show the beginning of a stop text."""

from __future__ import annotations

from collections.abc import Sequence

from .vocabulary import Vocabulary

_BROKEN = "\ufffd"  # the decoder's sign for bytes that are not UTF-8 (yet)
_MOST_HELD = 8  # tokens: a character has at most four bytes, of a token each, and a token may end in the middle


class Pieces:
    """Joins tokens to text. `add` returns the text that is certain now, and `rest` the remainder at the end. `stopped`
    is true once a stop text was found; it and all text behind it are not returned."""

    def __init__(self, vocabulary: Vocabulary, stops: Sequence[str] = ()):
        self._decode = vocabulary.tokenizer.decode
        self._stops = [stop for stop in stops if stop]
        self._tokens: list[int] = []  # the tokens since the last certain place, after `_shown` of them
        self._shown = 0
        self._held = ""  # text that may be the beginning of a stop text
        self.stopped = False

    def _new_text(self, is_end: bool) -> str:
        """Returns the text of new tokens, empty while it ends in the middle of a character."""
        before, whole = self._decode(self._tokens[: self._shown]), self._decode(self._tokens)
        held = len(self._tokens) - self._shown
        if whole.endswith(_BROKEN) and held < _MOST_HELD and not is_end:
            return ""
        # The tokens of this piece stay as context: decoders treat a space at the beginning of a text differently.
        self._tokens, self._shown = self._tokens[self._shown :], held
        return whole[len(before) :]

    def _released(self, text: str, is_end: bool) -> str:
        text, self._held = self._held + text, ""
        found = [place for stop in self._stops if (place := text.find(stop)) >= 0]
        if found:
            self.stopped = True
            return text[: min(found)]
        if not is_end:
            keep = max((_overlap(text, stop) for stop in self._stops), default=0)
            text, self._held = text[: len(text) - keep], text[len(text) - keep :]
        return text

    def add(self, token: int) -> str:
        """Returns the text that a further token makes certain, often empty."""
        self._tokens.append(token)
        return self._released(self._new_text(False), False)

    def rest(self) -> str:
        """Returns the text that was held back."""
        return "" if self.stopped else self._released(self._new_text(True), True)


def _overlap(text: str, stop: str) -> int:
    """Returns the length of the longest end of `text` that begins `stop`."""
    return next((n for n in range(min(len(text), len(stop) - 1), 0, -1) if stop.startswith(text[-n:])), 0)
