"""Computations in a process of their own, so that Ctrl-C ends them and a failure leaves the session as it was."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Callable
from typing import Any

from ..errors import CompileError, not_supported


def _compute(function: Callable[[], Any], end: int) -> None:
    """Runs the function in the child, and writes (True, result) or (False, error) to the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        answer = (True, function())
    except (Exception, RecursionError) as error:
        answer = (False, error if isinstance(error, CompileError) else type(error)(*map(str, error.args)))
    try:
        data = pickle.dumps(answer)
    except Exception:
        what = "a result that contains a function cannot be shown"
        data = pickle.dumps((False, not_supported(what, "call it, or define it: def @name(...) { ... }")))
    with os.fdopen(end, "wb") as pipe:
        pipe.write(data)


def in_child(function: Callable[[], Any]) -> Any:
    """Returns the function's result, or raises its error. Raises KeyboardInterrupt if Ctrl-C is pressed meanwhile."""
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            _compute(function, writing)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    try:
        with os.fdopen(reading, "rb") as pipe:
            data = pipe.read()
    except KeyboardInterrupt:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGINT:
        raise KeyboardInterrupt
    if not data:
        reason = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"status {os.WEXITSTATUS(status)}"
        raise not_supported(f"the computation ended with {reason}", "it may need more memory than the machine has")
    is_result, value = pickle.loads(data)
    if not is_result:
        raise value
    return value
