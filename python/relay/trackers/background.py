"""A tracker on a thread of its own: a slow or broken one neither delays nor ends what it observes."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Mapping
from typing import Any

PERIOD = 0.5  # seconds between two deliveries of figures
LONGEST = 10.0  # seconds that end() waits
MOST = 100_000  # calls that may wait; later figures are dropped


class Background:
    """Passes calls on to `tracker` in their order, figures every half second.

    If the tracker raises an error, or needs more than ten seconds to end, one warning is written to stderr and the rest
    is dropped.
    """

    def __init__(self, tracker: Any, name: str):
        self._tracker, self._name = tracker, name
        self._calls: queue.Queue[tuple[str, tuple]] = queue.Queue(MOST)
        self._failed = threading.Event()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._dropped = 0

    def start(self, config: Mapping[str, Any]) -> None:
        """Begins a run. `config`: what was chosen, as JSON values; the run's name is derived from it."""
        if self._thread is not None:
            raise RuntimeError(f"the tracker {self._name} has a run already; open one for each run")
        self._thread = threading.Thread(target=self._deliver, name=f"tracker {self._name}", daemon=True)
        self._thread.start()
        self._put("start", dict(config))

    def log(self, step: int, numbers: Mapping[str, float]) -> None:
        """Notes the figures of a step, without waiting."""
        self._put("log", step, dict(numbers))

    def artifact(self, path: str) -> None:
        """Keeps a copy of a file or a reference to it, whichever the tracker does."""
        self._put("artifact", path)

    def end(self, status: str = "finished") -> None:
        """Ends the run as "finished", "failed" or "interrupted", after all figures are delivered."""
        if self._thread is None:
            return
        self._put("end", status)
        self._ending.set()
        self._thread.join(LONGEST)
        if self._thread.is_alive():
            self._fail(f"did not end within {LONGEST:.0f} s")
        elif self._dropped and not self._failed.is_set():
            self._fail(f"was too slow: {self._dropped} figures were dropped")
        self._thread = None

    def __enter__(self) -> Background:
        return self

    def __exit__(self, kind, *_) -> None:
        self.end("finished" if kind is None else "interrupted" if kind is KeyboardInterrupt else "failed")

    def _put(self, what: str, *given) -> None:
        if self._failed.is_set():
            return
        try:
            self._calls.put_nowait((what, given))
        except queue.Full:
            self._dropped += 1

    def _deliver(self) -> None:
        done = False
        while not done and not self._failed.is_set():
            done = self._ending.wait(PERIOD)
            while not self._calls.empty() and not self._failed.is_set():
                what, given = self._calls.get_nowait()
                try:
                    getattr(self._tracker, what)(*given)
                except Exception as error:  # the tracker's mistake must not become that of the run
                    self._fail(f"{what}: {type(error).__name__}: {error}")

    def _fail(self, reason: str) -> None:
        if not self._failed.is_set():
            self._failed.set()
            print(f"warning: the tracker {self._name} is not used any more: {reason}", file=sys.stderr, flush=True)
