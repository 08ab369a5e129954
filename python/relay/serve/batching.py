"""Batcher, the queue of a model: joins requests along the first axis and runs them."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import logging
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ..errors import CompileError, InternalError
from .metrics import Metrics
from .problems import Refused, bad_request, of_run
from .settings import Settings

logger = logging.getLogger("relay.serve")

Arrays = list[np.ndarray]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The results of a request, with the seconds that it waited and ran, and the rows of its batch (-1 if it has no
    rows)."""

    results: Arrays
    waited: float
    ran: float
    rows: int


@dataclasses.dataclass(eq=False)
class _Pending:
    arrays: Arrays
    rows: int
    key: object
    arrived: float
    future: asyncio.Future


class Lanes:
    """The threads that run models, shared by all models of a server: at most `settings.workers` runs at a time."""

    def __init__(self, settings: Settings):
        self.free = asyncio.Semaphore(settings.workers)
        self.running = 0  # threads that run a model
        self.threads = ThreadPoolExecutor(settings.workers, "relay-run")


class Batcher:
    """The queue of one version of a model.

    run: computes the results of arrays, on a thread of `lanes`.
    joins: True to join requests along their first axis. All inputs then have as many rows as each other.
    """

    def __init__(
        self,
        name: str,
        run: Callable[[Arrays], Arrays],
        joins: bool,
        settings: Settings,
        lanes: Lanes,
        metrics: Metrics,
    ):
        self._name, self._compute, self._joins = name, run, joins
        self._settings, self._lanes, self._metrics = settings, lanes, metrics
        self._queues: dict[object, collections.deque[_Pending]] = {}  # by key; none is empty
        self._length = 0
        self._mean = 0.0  # seconds of a run, a moving mean
        self._changed = asyncio.Event()
        self._runs: set[asyncio.Task] = set()
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._forever())

    async def submit(self, arrays: Arrays, deadline: float) -> Outcome:
        """Returns the results of a request. `deadline` is a time of the event loop's clock. Raises Refused if the
        queue is full (503), the deadline is over (504), or the run refuses its inputs (400)."""
        if self._length >= self._settings.max_queue:
            wait = max(1, math.ceil(self._length * self._mean / self._settings.workers))
            raise Refused(
                503, f"{self._length} requests wait for model `{self._name}`", f"retry in {wait} s", retry_after=wait
            )
        pending = _Pending(arrays, *self._place(arrays), self._loop.time(), self._loop.create_future())
        self._queues.setdefault(pending.key, collections.deque()).append(pending)
        self._count(1)
        self._changed.set()
        try:
            async with asyncio.timeout_at(deadline):
                return await pending.future
        except TimeoutError:
            raise Refused(
                504,
                f"the request was not answered in {self._settings.timeout:g} s",
                "send fewer requests at a time, or start the server with a longer --timeout",
            ) from None
        finally:
            self._remove(pending)

    async def close(self) -> None:
        """Waits for the runs, and stops. No request may wait."""
        self._task.cancel()
        await asyncio.gather(self._task, *self._runs, return_exceptions=True)

    def _place(self, arrays: Arrays) -> tuple[int, object]:
        """Returns the rows of a request, and the key of the requests that it can be joined with."""
        if not self._joins:
            return arrays[0].shape[0] if arrays and arrays[0].ndim else -1, None
        rows = {array.shape[0] for array in arrays}
        if len(rows) > 1:
            raise bad_request(
                f"the first axes of the inputs have the sizes {', '.join(map(str, sorted(rows)))}",
                "send inputs with equal numbers of rows",
            )
        return rows.pop(), tuple(array.shape[1:] for array in arrays)

    def _count(self, change: int) -> None:
        self._length += change
        self._metrics.queue_length.labels(self._name).inc(change)

    def _remove(self, pending: _Pending) -> None:
        queue = self._queues.get(pending.key)
        if queue and pending in queue:
            queue.remove(pending)
            self._count(-1)
            if not queue:
                del self._queues[pending.key]

    async def _forever(self) -> None:
        while True:
            key = await self._due()
            await self._lanes.free.acquire()
            if batch := self._take(key):
                task = self._loop.create_task(self._run(batch))
                self._runs.add(task)
                task.add_done_callback(self._runs.discard)
            else:  # the requests ran out of time
                self._lanes.free.release()

    async def _due(self) -> object:
        """Waits until a batch is full or has waited long enough. Returns its key."""
        while True:
            now, first = self._loop.time(), math.inf
            for key, queue in sorted(self._queues.items(), key=lambda one: one[1][0].arrived):
                limit = queue[0].arrived + self._settings.max_delay
                if not self._joins or limit <= now or sum(one.rows for one in queue) >= self._settings.max_batch:
                    return key
                first = min(first, limit)
            self._changed.clear()
            try:
                async with asyncio.timeout_at(None if first == math.inf else first):
                    await self._changed.wait()
            except TimeoutError:
                pass

    def _take(self, key: object) -> list[_Pending]:
        """Takes a batch from the head of a queue: at least one request, and others up to `max_batch` rows."""
        queue, batch, rows = self._queues.get(key), [], 0
        while queue and (not batch or (self._joins and rows + queue[0].rows <= self._settings.max_batch)):
            batch.append(queue.popleft())
            rows += batch[-1].rows
        if queue is not None and not queue:
            del self._queues[key]
        self._count(-len(batch))
        return batch

    async def _run(self, batch: list[_Pending]) -> None:
        started = self._loop.time()
        self._lanes.running += 1
        self._metrics.running.labels(self._name).inc()
        try:
            results = await self._loop.run_in_executor(
                self._lanes.threads, self._results, [one.arrays for one in batch]
            )
        finally:
            self._lanes.running -= 1
            self._metrics.running.labels(self._name).dec()
            self._lanes.free.release()
        ran = self._loop.time() - started
        self._mean = ran if self._mean == 0 else 0.9 * self._mean + 0.1 * ran
        rows = sum(one.rows for one in batch)
        self._metrics.run_seconds.labels(self._name).observe(ran)
        self._metrics.batch_rows.labels(self._name).observe(rows)
        for one, result in zip(batch, results, strict=True):
            waited = started - one.arrived
            self._metrics.queue_seconds.labels(self._name).observe(waited)
            if one.future.done():  # out of time
                continue
            if isinstance(result, Exception):
                one.future.set_exception(result)
            else:
                one.future.set_result(Outcome(result, waited, ran, rows))

    def _results(self, requests: list[Arrays]) -> list[Arrays | Refused]:
        """Returns the results of each request, or its error. If the run of a batch fails, each request runs alone, so
        that no request fails because of another."""
        if len(requests) == 1:
            return [self._result(requests[0])]
        try:
            joined = self._compute([np.concatenate(parts) for parts in zip(*requests, strict=True)])
        except (CompileError, MemoryError):
            return [self._result(one) for one in requests]
        except Exception as error:
            return [_logged(error)] * len(requests)
        ends = np.cumsum([one[0].shape[0] for one in requests])[:-1]
        return [list(parts) for parts in zip(*(np.split(result, ends) for result in joined), strict=True)]

    def _result(self, arrays: Arrays) -> Arrays | Refused:
        try:
            return self._compute(arrays)
        except CompileError as error:
            return of_run(error)
        except Exception as error:
            return _logged(error)


def _logged(error: Exception) -> Refused:
    if not isinstance(error, MemoryError | InternalError):
        logger.error("a run failed", exc_info=error)
    else:
        logger.error("a run failed: %s", error)
    return of_run(error)
