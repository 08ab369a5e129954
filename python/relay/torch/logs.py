"""What the backend says: the logger relay.torch, and the variable RELAY_LOGS that prints it.

RELAY_LOGS=fallbacks prints what runs in PyTorch, and why; graphs also what was compiled; programs also each graph as a
program of Relay. Several names, with commas between them, mean the one that prints most.
"""

from __future__ import annotations

import logging
import os

from ..errors import bad_option

log = logging.getLogger("relay.torch")
FALLBACK = 25  # below what logging prints by itself: there is a warning besides
_LEVELS = {"fallbacks": FALLBACK, "graphs": logging.INFO, "programs": logging.DEBUG}


def print_as_asked() -> None:
    """Prints to standard error what RELAY_LOGS names. Raises CompileError (R0504) for a name that there is not."""
    asked = os.environ.get("RELAY_LOGS")
    if not asked:
        return
    names = [name.strip() for name in asked.split(",")]
    if any(name not in _LEVELS for name in names):
        raise bad_option(f"RELAY_LOGS is `{asked}`", f"set one of: {', '.join(_LEVELS)}")
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("relay.torch: %(message)s"))
    log.addHandler(handler)
    log.setLevel(min(_LEVELS[name] for name in names))
    log.propagate = False
