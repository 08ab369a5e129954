"""An answer, and how tokens are added to it."""

from __future__ import annotations

import dataclasses

from .pieces import Pieces


@dataclasses.dataclass
class Answer:
    """An answer, complete or so far."""

    text: str = ""
    tokens: list[int] = dataclasses.field(default_factory=list)
    prompt_tokens: int = 0
    prompt_seconds: float = 0.0  # until the first token
    seconds: float = 0.0  # after the first token
    proposed: int = 0  # tokens that were proposed
    accepted: int = 0  # those of them that were right
    ended: str = ""  # "stop" (a token or text that ends it), "tokens" (as many as wanted); empty if interrupted

    def figures(self) -> str:
        """Returns the numbers of tokens, and tokens per second, as a line."""
        parts = [f"prompt: {_speed(self.prompt_tokens, self.prompt_tokens, self.prompt_seconds)}"]
        if self.tokens:
            parts.append(f"answer: {_speed(len(self.tokens), len(self.tokens) - 1, self.seconds)}")
        if self.proposed:
            parts.append(f"{self.accepted} of {self.proposed} proposed tokens were right")
        return "; ".join(parts)


def _speed(tokens: int, timed: int, seconds: float) -> str:
    """Returns a number of tokens, and tokens per second if `timed` of them took the seconds."""
    said = f"{tokens} token{'' if tokens == 1 else 's'}"
    return f"{said}, {timed / seconds:.3g} tokens/s" if timed and seconds > 0 else said


class Writer:
    """Adds tokens to an answer until it ends: by one of the tokens `ends`, by a stop text, or by its length."""

    def __init__(self, answer: Answer, pieces: Pieces, ends: frozenset[int], most: int):
        self.answer, self._pieces, self._ends, self._most = answer, pieces, ends, most

    def add(self, token: int) -> str:
        """Adds a token. Returns the new text."""
        answer = self.answer
        if token in self._ends:
            answer.ended = "stop"
            return self.finish()
        answer.tokens.append(token)
        text = self._pieces.add(token)
        answer.text += text
        if self._pieces.stopped:
            answer.ended = "stop"
        elif len(answer.tokens) == self._most:
            answer.ended = "tokens"
            return text + self.finish()
        return text

    def finish(self) -> str:
        """Returns the text that was held back, and adds it."""
        text = self._pieces.rest()
        self.answer.text += text
        return text
