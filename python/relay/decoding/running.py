"""Running, answers that are generated together and begin and end at any step (continuous batching)."""

from __future__ import annotations

import time

import numpy as np

from .answer import Answer, Writer
from .decoder import Decoder, State
from .sampling import Sampler

_PART = 512  # tokens of a prompt that are read between two steps of the others


class Member:
    """An answer that is generated together with others: its tokens, at first those of the prompt."""

    def __init__(self, tokens: list[int], positions: int, sampler: Sampler, writer: Writer):
        self.tokens, self.positions, self.writer = tokens, positions, writer
        self._sampler, self._begin = sampler, time.perf_counter()
        self.read = 0  # tokens of the prompt that the state has
        self.logits: np.ndarray | None = None  # behind the last token; None until the prompt was read

    @property
    def answer(self) -> Answer:
        """The answer so far."""
        return self.writer.answer

    def next(self) -> str:
        """Chooses the next token and returns the text that it adds."""
        token = self._sampler.choose(self.logits, self.tokens)
        self.tokens.append(token)
        now = time.perf_counter()
        if not self.answer.prompt_seconds:
            self.answer.prompt_seconds, self._begin = now - self._begin, now
        self.answer.seconds = now - self._begin
        return self.writer.add(token)


class Running:
    """The answers that a decoder generates at the moment. Each step is one run for all of them, which reads the weights
    once. A prompt is read in parts between the steps, so that the answers before it go on.

    `members` are the answers that are generated, `waiting` those whose prompts are not read.
    """

    def __init__(self, decoder: Decoder):
        self._decoder = decoder
        self._state: State | None = None  # a sequence for each member
        self._next: State | None = None  # of the first that waits
        self.members: list[Member] = []
        self.waiting: list[Member] = []

    def __bool__(self) -> bool:
        return bool(self.members or self.waiting)

    def add(self, member: Member) -> None:
        """Adds an answer: it joins the others as soon as its prompt is read."""
        self.waiting.append(member)

    def remove(self, left: list[Member]) -> None:
        """Removes answers before their end."""
        if self.waiting and self.waiting[0] in left:
            self._next = None
        self.waiting = [one for one in self.waiting if one not in left]
        if any(one in left for one in self.members):
            self._keep([i for i, one in enumerate(self.members) if one not in left])

    def clear(self) -> list[Member]:
        """Removes all answers, after an error of a step, and returns them."""
        removed = self.members + self.waiting
        self.members, self.waiting, self._state, self._next = [], [], None, None
        return removed

    def read(self) -> None:
        """Reads a part of the prompt of the first answer that waits, if there is one. An error removes this answer
        alone."""
        if not self.waiting:
            return
        member = self.waiting[0]
        try:
            self._next = self._next or self._decoder.state(member.positions)
            part = member.tokens[member.read : member.read + _PART]
            logits = self._next.feed(np.array([part]))[0]
            member.read += len(part)
            if member.read < len(member.tokens):
                return
            if self._state is None:
                self._state = self._next
            else:
                self._state.join(self._next)
        except BaseException:
            self.remove([member])
            raise
        member.logits, self._next = logits, None
        self.members.append(self.waiting.pop(0))

    def step(self) -> list[tuple[Member, str]]:
        """Adds a token to each answer. Returns the answers with the texts that the tokens add; those that ended have
        left."""
        made = [(member, member.next()) for member in self.members]
        ended = [member for member in self.members if member.answer.ended]
        if ended:
            self.remove(ended)
        if self.members:
            logits = self._state.feed(np.array([member.tokens[-1:] for member in self.members]))
            for member, row in zip(self.members, logits, strict=True):
                member.logits = row
        return made

    def _keep(self, rows: list[int]) -> None:
        self.members = [self.members[row] for row in rows]
        if rows:
            self._state.keep(rows)
        else:
            self._state = None
