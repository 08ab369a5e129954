"""A rank of a mesh at run time, and the post between ranks.

A worker is a process. It hosts one or several ranks, each in a thread. Ranks of one worker exchange arrays in memory,
others by a link (relay.distribute.gloo). The arithmetic of a collective depends on ranks only and never on workers: any
number of workers gives the same bits.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ..errors import InputError, wrong_input
from .collectives import COMBINE, tree
from .mesh import Mesh

SMALL = 1 << 13  # bytes up to which every rank adds up whole tensors: one round of messages in place of two


class LostWorker(InputError):
    """A worker that is gone, or did not answer in time. The message names it."""


class Link(Protocol):
    """Messages to ranks of other workers. me: the number of this worker."""

    me: int

    def send(self, source: int, to: int, tag: int, value: np.ndarray) -> None:
        """Sends an array without waiting until it arrives."""

    def receive(self, source: int, to: int, tag: int, value: np.ndarray, limit: float) -> None:
        """Receives an array of this type into `value`. Raises LostWorker after `limit` seconds."""

    def worker(self, rank: int) -> int:
        """The worker that hosts a rank."""

    def barrier(self, *, starting: bool = False) -> None:
        """Waits for all workers. starting: others may still compile."""

    def gathered(self, value: Any, *, starting: bool = False) -> list:
        """Returns the values of all workers. starting: others may still compile."""


class Alone:
    """The link of a worker that hosts all ranks."""

    me = 0

    def worker(self, rank: int) -> int:
        return 0

    def send(self, *_) -> None:
        raise AssertionError("all ranks are here")

    receive = send

    def barrier(self, *, starting: bool = False) -> None:
        """There is no other worker."""

    def gathered(self, value: Any, *, starting: bool = False) -> list:
        return [value]


class Post:
    """Messages between the ranks of a worker, and to others by the link."""

    def __init__(self, link: Link, limit: float = 60.0, slow: float = 5.0, report: Callable[[str], None] | None = None):
        self.link, self.limit, self.slow = link, limit, slow
        self.report = report or (lambda line: None)
        self.failed: BaseException | None = None
        self._boxes: dict[tuple[int, int, int], list[np.ndarray]] = {}
        self._arrived = threading.Condition()

    def is_here(self, a: int, b: int) -> bool:
        """True if one worker hosts both ranks."""
        return self.link.worker(a) == self.link.worker(b)

    def send(self, source: int, to: int, tag: int, value: np.ndarray) -> None:
        """Sends an array, which must not change afterwards."""
        if not self.is_here(source, to):
            self.link.send(source, to, tag, value)
            return
        with self._arrived:
            self._boxes.setdefault((source, to, tag), []).append(value)
            self._arrived.notify_all()

    def receive(self, source: int, to: int, tag: int, shape: tuple, dtype: np.dtype, what: str) -> np.ndarray:
        """Returns the array that was sent. `what` describes the wait in messages."""
        began = time.monotonic()
        if self.is_here(source, to):
            value = self._from_box((source, to, tag), what)
        else:
            value = np.empty(shape, dtype)
            try:
                self.link.receive(source, to, tag, value, self.limit)
            except LostWorker as error:
                raise self.lost(source, to, what, time.monotonic() - began, str(error)) from error
        waited = time.monotonic() - began
        if waited > self.slow:
            self.report(
                f"slow: rank {to} waited {waited:.1f} s for rank {source} (worker {self.link.worker(source)}) at {what}"
            )
        return value

    def _from_box(self, key: tuple[int, int, int], what: str) -> np.ndarray:
        with self._arrived:
            end = time.monotonic() + self.limit
            while not self._boxes.get(key):
                if self.failed is not None:
                    raise LostWorker(f"rank {key[1]} stops at {what}: another rank of this worker failed")
                if not self._arrived.wait(min(0.5, self.limit)) and time.monotonic() > end:
                    raise self.lost(key[0], key[1], what, self.limit, "no message")
            return self._boxes[key].pop(0)

    def fail(self, error: BaseException) -> None:
        """Wakes the other ranks of this worker, whose programs end."""
        with self._arrived:
            self.failed = self.failed or error
            self._arrived.notify_all()

    def lost(self, source: int, to: int, what: str, waited: float, why: str) -> LostWorker:
        """Returns the error for a rank that does not answer."""
        error = wrong_input(
            f"rank {to} waited {waited:.1f} s for rank {source} of worker {self.link.worker(source)} at {what}: {why}",
            "the worker is dead, stopped or too slow. Resume from the last checkpoint, or raise the time limit "
            f"({self.limit:g} s)",
        )
        return LostWorker(error.args[0], error.diagnostics)


class Rank:
    """A rank while it runs a program: the collectives call its methods."""

    def __init__(self, mesh: Mesh, rank: int, post: Post):
        self.mesh, self.rank, self.post = mesh, rank, post
        self.where = "the start"  # the step that is running, for messages
        self.error: LostWorker | None = None  # that ended a collective

    def exchange(
        self, group: list[int], parts: list[np.ndarray], tag: int, what: str, like: Callable | None = None
    ) -> list[np.ndarray]:
        """Sends parts[i] to the rank at place i of a group, and returns the array from each. like(i): the shape of the
        array that place i sends; by default that of this rank's own part."""
        me = group.index(self.rank)
        like = like or (lambda at: parts[me].shape)
        what = f"{what} of {self.where}"
        try:
            for at, to in enumerate(group):
                if at != me:
                    self.post.send(self.rank, to, tag, np.ascontiguousarray(parts[at]))
            return [
                parts[me] if at == me else self.post.receive(source, self.rank, tag, like(at), parts[me].dtype, what)
                for at, source in enumerate(group)
            ]
        except LostWorker as error:
            self.error = error
            raise

    def all_reduce(self, x: np.ndarray, axis: str, number: int, combiner: str) -> np.ndarray:
        """Returns the combination of all ranks' tensors: each rank combines one block, and sends it to all."""
        group, combine = self.mesh.group(self.rank, axis), COMBINE[combiner]
        what = f"collective #{number} all_reduce({axis})"
        x = x.copy()  # the program may overwrite it while others still read
        if x.nbytes <= SMALL:
            return tree(self.exchange(group, [x] * len(group), 2 * number, what), combine).reshape(x.shape)
        blocks = np.array_split(x.reshape(-1), len(group))
        mine = tree(self.exchange(group, blocks, 2 * number, what), combine)
        shapes = [block.shape for block in blocks]
        whole = self.exchange(group, [mine] * len(group), 2 * number + 1, what, lambda at: shapes[at])
        return np.concatenate(whole).reshape(x.shape)

    def all_gather(self, x: np.ndarray, axis: str, number: int, dim: int) -> np.ndarray:
        """Returns all ranks' tensors side by side."""
        group = self.mesh.group(self.rank, axis)
        what = f"collective #{number} all_gather({axis})"
        return np.concatenate(self.exchange(group, [x.copy()] * len(group), 2 * number, what), axis=dim)

    def reduce_scatter(self, x: np.ndarray, axis: str, number: int, dim: int, combiner: str) -> np.ndarray:
        """Returns this rank's block of the combination of all ranks' tensors."""
        group = self.mesh.group(self.rank, axis)
        what = f"collective #{number} reduce_scatter({axis})"
        parts = [one.copy() for one in np.split(x, len(group), axis=dim)]
        return tree(self.exchange(group, parts, 2 * number, what), COMBINE[combiner])

    def all_to_all(self, x: np.ndarray, axis: str, number: int, split: int, join: int) -> np.ndarray:
        """Returns this rank's blocks along `split` of all ranks' tensors, side by side along `join`."""
        group = self.mesh.group(self.rank, axis)
        what = f"collective #{number} all_to_all({axis})"
        parts = [one.copy() for one in np.split(x, len(group), axis=split)]
        return np.concatenate(self.exchange(group, parts, 2 * number, what), axis=join)

    def part(self, x: np.ndarray, axis: str, dim: int) -> np.ndarray:
        """Returns this rank's block of a dimension."""
        n, at = self.mesh.axes[axis], self.mesh.coordinates(self.rank)[axis]
        return np.ascontiguousarray(np.split(x, n, axis=dim)[at])
