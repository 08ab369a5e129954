"""Logging of the backend: the logger relay.torch, and the variable RELAY_LOGS, which prints its messages.

RELAY_LOGS=fallbacks prints the operators that run in PyTorch, and why. graphs also prints the compiled graphs, and
programs also prints each graph as a Relay program. Of several names, separated by commas, the one that prints most
counts.
"""

from __future__ import annotations

import logging
import os

from ..errors import bad_option

log = logging.getLogger("relay.torch")
FALLBACK = 25  # below the level that logging prints by default, because there is also a warning
_LEVELS = {"fallbacks": FALLBACK, "graphs": logging.INFO, "programs": logging.DEBUG}


def print_as_asked() -> None:
    """Prints the messages that RELAY_LOGS selects to stderr. Raises CompileError (R0504) for an unknown name."""
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
