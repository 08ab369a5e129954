"""Engine, the thread of a language model: it generates all answers of the model together."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator

from ...decoding import Stream
from ...decoding.running import Member, Running


class _Asked:
    """An answer that a client waits for, with what the thread has said of it: texts, an error, or None at its end."""

    def __init__(self, member: Member):
        self.member, self.has_left = member, False
        self.said: queue.SimpleQueue[str | Exception | None] = queue.SimpleQueue()

    def texts(self) -> Iterator[str]:
        """Yields the text of each token. Whoever leaves the loop ends the answer."""
        try:
            while (said := self.said.get()) is not None:
                if isinstance(said, Exception):
                    raise said
                yield said
        finally:
            self.has_left = True


class Engine:
    """Answers join a batch that is running, and leave it, between two steps.

    observe: called with the number of answers of each step.
    """

    def __init__(self, running: Running, observe: Callable[[int], None]):
        self._running, self._observe = running, observe
        self._added: queue.SimpleQueue[_Asked | None] = queue.SimpleQueue()
        self._asked: dict[Member, _Asked] = {}
        self._thread = threading.Thread(target=self._work, name="relay-engine", daemon=True)
        self._thread.start()

    def close(self, patience: float) -> None:
        """Ends the thread after its step, and waits for this at most `patience` seconds."""
        self._added.put(None)
        self._thread.join(patience)

    def stream(self, member: Member) -> Stream:
        """Returns an answer as it is generated."""
        asked = _Asked(member)
        self._added.put(asked)
        return Stream(asked.texts(), member.answer)

    def _take(self) -> bool:
        """Takes the answers that were asked for. Waits for one if there is nothing else to do. False at the end."""
        while not self._running or not self._added.empty():
            asked = self._added.get()
            if asked is None:
                return False
            self._asked[asked.member] = asked
            self._running.add(asked.member)
        return True

    def _work(self) -> None:
        while self._take():
            left = [member for member, asked in self._asked.items() if asked.has_left]
            for member in left:
                del self._asked[member]
            self._running.remove(left)
            self._read()
            self._step()

    def _read(self) -> None:
        first = next(iter(self._running.waiting), None)
        try:
            self._running.read()
        except Exception as error:
            self._end(first, error)

    def _step(self) -> None:
        if not self._running.members:
            return
        try:
            made = self._running.step()
        except Exception as error:
            for member in self._running.clear():
                self._end(member, error)
            return
        self._observe(len(made))
        for member, text in made:
            self._asked[member].said.put(text)
            if member.answer.ended:
                self._end(member, None)

    def _end(self, member: Member, how: Exception | None) -> None:
        self._asked.pop(member).said.put(how)
