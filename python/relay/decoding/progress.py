"""A line about work that takes long."""

from __future__ import annotations

import sys
import threading
import time

_AFTER = 2.0  # seconds


class Progress:
    """Shows on the terminal, after 2 s, the present work and its duration, until the block ends. Elsewhere than on a
    terminal, prints one line."""

    def __init__(self, what: str, quiet: bool = False):
        self._what, self._done = what, threading.Event()
        self._thread = None if quiet else threading.Thread(target=self._show, daemon=True)

    def __enter__(self) -> Progress:
        if self._thread:
            self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._done.set()
        if self._thread:
            self._thread.join()

    def _show(self) -> None:
        begin, on_terminal = time.monotonic(), sys.stderr.isatty()
        if self._done.wait(_AFTER):
            return
        if not on_terminal:
            print(f"relay: {self._what} ...", file=sys.stderr, flush=True)
            return
        while True:
            print(
                f"\r\033[Krelay: {self._what} ... {time.monotonic() - begin:.0f} s", end="", file=sys.stderr, flush=True
            )
            if self._done.wait(1.0):
                print("\r\033[K", end="", file=sys.stderr, flush=True)
                return
