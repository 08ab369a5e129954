"""Lines of the user's Python in a TorchScript graph, for messages and as stack traces of what is traced from it."""

from __future__ import annotations

import contextlib
import functools
import re

import torch

_SCRIPTED = re.compile(r'File "([^"]+)", line (\d+)')
_TRACED = re.compile(r"^(\S.*)\((\d+)\): ", re.MULTILINE)  # the innermost frame first


@functools.lru_cache(maxsize=512)  # the steps of an unrolled loop have the same ranges
def frames(source_range: str) -> tuple[tuple[str, str], ...]:
    """Files and lines of a node's range, the innermost last; of PyTorch's own modules only if there are no others.

    A scripted node has the line itself, a traced one the frames of the call that was traced.
    """
    found = _SCRIPTED.findall(source_range) or _TRACED.findall(source_range)[::-1]
    return tuple(frame for frame in found if "/site-packages/torch/" not in frame[0]) or tuple(found)


class Failure:
    """Where in the graph an exception came from: the line of the innermost node."""

    def __init__(self):
        self.line = ""  # " at net.py:12"; empty where nothing says

    @contextlib.contextmanager
    def at(self, node):
        """Within, nodes that PyTorch traces have this one's lines, and an exception comes from here."""
        found = frames(node.sourceRange())
        torch.fx.traceback.set_stack_trace([f'  File "{file}", line {line}\n' for file, line in found])
        try:
            yield
        except Exception:
            if found and not self.line:
                self.line = " at {}:{}".format(*found[-1])
            raise
