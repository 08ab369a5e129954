"""Refused, the answer to a request that cannot be served."""

from __future__ import annotations

from ..errors import CompileError, InputError

# The problem of a run that needs more memory than the model's limit.
_MEMORY_LIMIT = "R0603"


class Refused(Exception):
    """A request that is answered with an error.

    status: the HTTP status. message: the problem. help: what the client can do. retry_after: seconds after which the
    same request may succeed, or None.
    """

    def __init__(self, status: int, message: str, help: str, retry_after: int | None = None):
        super().__init__(f"{message}; {help}")
        self.status = status
        self.retry_after = retry_after


def bad_request(message: str, help: str) -> Refused:
    """Returns the answer to a request that no server could serve (400)."""
    return Refused(400, message, help)


def of_run(error: Exception) -> Refused:
    """Returns the answer to a request whose run raised this error."""
    if isinstance(error, CompileError) and error.diagnostics:
        first = error.diagnostics[0]
        if isinstance(error, InputError):
            return Refused(400, first.message, first.help or "see the model's metadata for its inputs")
        if first.code == _MEMORY_LIMIT:
            return Refused(413, first.message, "send smaller inputs, or start the server with a larger --memory-limit")
        return Refused(500, first.message, first.help or "look at the server's log")
    return Refused(500, f"the run failed: {type(error).__name__}", "look at the server's log")
