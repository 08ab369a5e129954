"""Workers that are processes, connected by torch.distributed's gloo.

A worker learns its number and the others' address from the environment that torch.distributed.run sets: RANK,
WORLD_SIZE, MASTER_ADDR, MASTER_PORT.
"""

from __future__ import annotations

import contextlib
import datetime
import importlib.util
import os
import queue
import threading
import time
import uuid
from typing import Any

import numpy as np

from ..errors import InputError, bad_option, wrong_input
from .ranks import Alone, Link, LostWorker

_TAGS = 1 << 30
_STARTING = 300.0  # seconds to wait for workers that still compile
_CONNECTING = 60.0  # seconds at least for the connections


class Gloo:
    """The link between processes. ranks: of the mesh, divided among the workers in order."""

    def __init__(self, ranks: int, limit: float = 60.0):
        import torch.distributed as distributed

        self._distributed = distributed
        if not distributed.is_initialized():
            timeout = datetime.timedelta(seconds=max(limit, _CONNECTING))
            store, me, workers = next(distributed.rendezvous("env://", timeout=datetime.timedelta(seconds=_STARTING)))
            store = distributed.PrefixStore(meeting(store, me, workers), store)
            distributed.init_process_group("gloo", store=store, rank=me, world_size=workers, timeout=timeout)
        self.workers, self.me, self.ranks = distributed.get_world_size(), distributed.get_rank(), ranks
        check_workers(ranks, self.workers)
        self._limit = datetime.timedelta(seconds=limit)
        self._sent: queue.SimpleQueue = queue.SimpleQueue()
        threading.Thread(target=self._end_sends, name="sends", daemon=True).start()

    def worker(self, rank: int) -> int:
        """The worker that hosts a rank."""
        return rank * self.workers // self.ranks

    def _tag(self, source: int, to: int, tag: int) -> int:
        each = self.ranks // self.workers  # messages between two workers differ by the ranks on each of them
        return ((tag * each + source % each) * each + to % each) % _TAGS

    def send(self, source: int, to: int, tag: int, value: np.ndarray) -> None:
        """Sends an array without waiting until it arrives."""
        tensor = _bytes(value)
        try:
            sent = self._distributed.isend(tensor, self.worker(to), tag=self._tag(source, to, tag))
        except RuntimeError as error:
            raise LostWorker(f"the connection to worker {self.worker(to)} is lost ({_reason(error)})") from error
        self._sent.put((sent, tensor))

    def _end_sends(self) -> None:
        """Waits for each message to leave, and then releases its memory. gloo does not note by itself that it has."""
        while True:
            sent, tensor = self._sent.get()
            with contextlib.suppress(RuntimeError):  # of a lost worker: the next receive names it
                sent.wait(self._limit)
            del sent, tensor

    def receive(self, source: int, to: int, tag: int, value: np.ndarray, limit: float) -> None:
        """Receives an array of this type into `value`."""
        try:
            work = self._distributed.irecv(_bytes(value), self.worker(source), tag=self._tag(source, to, tag))
            work.wait(datetime.timedelta(seconds=limit))
        except RuntimeError as error:
            raise LostWorker(_reason(error)) from error

    def barrier(self, *, starting: bool = False) -> None:
        """Waits for all workers. starting: others may still compile."""
        limit = self._limit.total_seconds()
        end = time.monotonic() + (max(limit, _STARTING) if starting else limit)
        others = range(1, self.workers) if self.me == 0 else [0]
        if self.me:
            self._note(0)
        for other in others:  # torch's monitored_barrier gives the workers behind the first no limit of their own
            self._noted(other, max(end - time.monotonic(), 0.001))
        if self.me == 0:
            for other in others:
                self._note(other)

    def _note(self, worker: int) -> None:
        import torch

        note = torch.zeros(1, dtype=torch.uint8)
        try:
            self._sent.put((self._distributed.isend(note, worker, tag=_TAGS), note))
        except RuntimeError as error:
            raise self._absent(worker, error) from error

    def _noted(self, worker: int, limit: float) -> None:
        import torch

        try:
            work = self._distributed.irecv(torch.zeros(1, dtype=torch.uint8), worker, tag=_TAGS)
            work.wait(datetime.timedelta(seconds=limit))
        except RuntimeError as error:
            raise self._absent(worker, error) from error

    def gathered(self, value: Any, *, starting: bool = False) -> list:
        """Returns the objects of all workers. starting: others may still compile."""
        self.barrier(starting=starting)  # so that the exchange itself does not wait
        out: list = [None] * self.workers
        try:
            self._distributed.all_gather_object(out, value)
        except RuntimeError as error:
            raise self._absent(None, error) from error
        return out

    def _absent(self, worker: int | None, error: RuntimeError) -> LostWorker:
        """Returns the error for a worker that does not arrive where all of them meet."""
        who = "a worker" if worker is None else f"worker {worker}"
        told = wrong_input(
            f"worker {self.me} waits for {who} at a checkpoint or at the start: {_reason(error)}",
            "the worker is dead, stopped or too slow. Resume from the last checkpoint, or raise the time limit",
        )
        return LostWorker(told.args[0], told.diagnostics)


def meeting(store: Any, me: int, workers: int, limit: float = _STARTING) -> str:
    """Returns a name that the workers of this start have in common with no earlier start.

    PyTorch's agent keeps its store when it starts all workers again, and gloo would read the addresses of those before.
    The first worker makes the name, and answers each other one's question, whose key is new."""
    if me:
        question = uuid.uuid4().hex
        store.set(f"relay/questions/{me}", question)
        name = store.get(f"relay/answers/{question}").decode()
        store.set(f"{name}/{me}", "met")
        return name
    name, answered, absent = f"relay/{uuid.uuid4().hex}", set(), list(range(1, workers))
    end = time.monotonic() + limit
    while absent := [one for one in absent if not store.check([f"{name}/{one}"])]:
        if time.monotonic() > end:
            raise RuntimeError(f"worker {absent[0]} did not start in {limit:g} s")
        for one in absent:
            if store.check([f"relay/questions/{one}"]):
                question = store.get(f"relay/questions/{one}").decode()
                if question not in answered:
                    answered.add(question)
                    store.set(f"relay/answers/{question}", name)
        time.sleep(0.01)
    return name


def check_workers(ranks: int, workers: int) -> None:
    """Raises a diagnostic if the ranks cannot be divided among the workers."""
    if workers > ranks or ranks % workers:
        fitting = [n for n in range(1, ranks + 1) if ranks % n == 0]
        raise bad_option(
            f"{workers} workers cannot host the {ranks} ranks of the mesh in equal parts",
            f"start one of {', '.join(map(str, fitting))} workers",
        )


def check_torch() -> None:
    """Raises a diagnostic if PyTorch is not installed."""
    if importlib.util.find_spec("torch") is None:
        raise bad_option("training on several workers needs PyTorch, which is not installed", "pip install torch")


def link_of(ranks: int, limit: float = 60.0) -> Link:
    """Returns the link to the other workers, if the environment names any."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return Alone()
    check_torch()
    try:
        return Gloo(ranks, limit)
    except InputError:
        raise
    except (RuntimeError, ValueError) as error:
        raise wrong_input(
            f"the workers cannot be connected: {_reason(error)}",
            "start them with `relay train --workers N SCRIPT`, which sets RANK, WORLD_SIZE and MASTER_ADDR",
        ) from error


def _bytes(value: np.ndarray):
    import torch

    return torch.from_numpy(value.reshape(-1).view(np.uint8))


def _reason(error: BaseException) -> str:
    """Returns the reason of an error in gloo's transport, in words."""
    text = str(error)
    if "timeout" in text.lower() or "timed out" in text.lower() or "failed to pass" in text:
        return "no answer in time"
    if "Connection closed by peer" in text or "reset by peer" in text or "Broken pipe" in text:
        return "its process has ended"
    return text.strip().splitlines()[0][:200]
