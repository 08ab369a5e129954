"""A read-eval-print loop for Relay's text form: relay repl (docs/repl.md)."""

from .program import main as main

__all__ = ["main"]
