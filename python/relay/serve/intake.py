"""Intake, the common part of the interfaces: the bytes, deadlines and numbers of requests."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

from .metrics import Metrics
from .models import Version
from .problems import Refused
from .repository import Repository
from .settings import Settings

_CANCELLED = 499  # the status under which requests are counted whose clients left


class Intake:
    """The requests that a server has read and not answered."""

    def __init__(self, repository: Repository, settings: Settings, metrics: Metrics):
        self._repository, self._settings, self._metrics = repository, settings, metrics
        self._bytes = 0

    def take(self, size: int) -> None:
        """Counts bytes of a request that was read. Raises Refused (503) if there is no room for them."""
        if self._bytes + size > self._settings.max_bytes:
            raise Refused(503, "the requests of all clients are too long", "retry in 1 s", retry_after=1)
        self._count(size)

    def free(self, size: int) -> None:
        """Counts bytes of a request that was answered."""
        self._count(-size)

    def _count(self, change: int) -> None:
        self._bytes += change
        self._metrics.bytes.inc(change)

    @contextlib.contextmanager
    def held(self, size: int) -> Iterator[None]:
        """Counts the bytes of a whole request until the end of the block. Raises Refused (503)."""
        self.take(size)
        try:
            yield
        finally:
            self.free(size)

    @contextlib.contextmanager
    def request(self, name: str, number: str | None) -> Iterator[tuple[Version, float]]:
        """Yields the version that answers a request, and the request's deadline by the event loop's clock. At the end
        of the block, the request is counted with its status and its time. Raises Refused (404)."""
        name, loop = self._repository.known(name), asyncio.get_running_loop()
        begin, status = loop.time(), 500
        try:
            with self._repository.find(name, number).used() as version:
                yield version, begin + self._settings.timeout
            status = 200
        except Refused as error:
            status = error.status
            raise
        except asyncio.CancelledError:
            status = _CANCELLED
            raise
        finally:
            self._metrics.requests.labels(name, str(status)).inc()
            self._metrics.seconds.labels(name).observe(loop.time() - begin)
