"""Slots, the answers that are generated at the same time, and Job, one of them, which a thread of its own waits for."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor

from ...decoding import Stream
from ..problems import Refused
from ..settings import Settings

PATIENCE = 5  # seconds that the last token of an answer may take at the end of the server


class Slots:
    """The threads that wait for answers: at most `settings.slots` answers at a time. Others wait."""

    def __init__(self, settings: Settings):
        self._settings = settings
        self._free = asyncio.Semaphore(settings.slots)
        self._waiting = 0
        self._jobs: set[Job] = set()
        self.threads = ThreadPoolExecutor(settings.slots, "relay-text")

    async def take(self, deadline: float) -> None:
        """Waits for a slot. Raises Refused if too many requests wait (503), or the deadline passes (504)."""
        if self._free.locked() and self._waiting >= self._settings.max_queue:
            raise Refused(503, f"{self._waiting} requests wait for an answer", "retry in 1 s", retry_after=1)
        self._waiting += 1
        try:
            async with asyncio.timeout_at(deadline):
                await self._free.acquire()
        except TimeoutError:
            raise Refused(
                504,
                f"no answer could begin in {self._settings.timeout:g} s",
                "send fewer requests at a time, or start the server with more --slots",
            ) from None
        finally:
            self._waiting -= 1

    def begun(self, job: Job) -> None:
        """Notes a job in a slot that was taken."""
        self._jobs.add(job)

    def ended(self, job: Job) -> None:
        """Gives back the slot of a job."""
        self._jobs.discard(job)
        self._free.release()

    async def close(self) -> int:
        """Ends all jobs after the tokens that they generate. Returns the number of those that did not end soon."""
        for job in self._jobs:
            job.leave()
        if self._jobs:
            await asyncio.wait([job.done for job in self._jobs], timeout=PATIENCE)
        return len(self._jobs)


class Job:
    """An answer that a thread waits for. `begin` prepares it, on the thread too. The slot is given back when the thread
    is done."""

    def __init__(self, slots: Slots, begin: Callable[[], Stream]):
        self._begin, self._left = begin, threading.Event()
        self._loop = asyncio.get_running_loop()
        self._opened: asyncio.Future[Stream] = self._loop.create_future()
        self._pieces: asyncio.Queue[str | None] = asyncio.Queue()
        self.done = self._loop.run_in_executor(slots.threads, self._work)
        self.done.add_done_callback(lambda _: slots.ended(self))
        slots.begun(self)

    def _tell(self, function, *arguments) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(function, *arguments)

    def _open(self, stream: Stream | None, error: Exception | None) -> None:
        if not self._opened.done():
            self._opened.set_exception(error) if error else self._opened.set_result(stream)

    def _work(self) -> None:
        try:
            stream = self._begin()
        except Exception as error:
            return self._tell(self._open, None, error)
        self._tell(self._open, stream, None)
        try:
            for text in stream.steps:
                if self._left.is_set():
                    break
                if text:
                    self._tell(self._pieces.put_nowait, text)
        finally:
            self._tell(self._pieces.put_nowait, None)

    async def opened(self) -> Stream:
        """Waits until the prompt was accepted. Raises the error of `begin`."""
        return await self._opened

    async def pieces(self) -> AsyncIterator[str]:
        """Yields the pieces of the answer. Raises the error of a step."""
        while (piece := await self._pieces.get()) is not None:
            yield piece
        await self.done

    def leave(self) -> None:
        """Ends the answer and the thread after the next token."""
        self._left.set()
        self._opened.cancel()
        self.done.add_done_callback(lambda done: done.cancelled() or done.exception())
