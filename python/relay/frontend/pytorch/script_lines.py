"""Lines of the user's Python in a TorchScript graph, for messages and for stack traces of the nodes traced from it."""

from __future__ import annotations

import contextlib
import functools
import re

import torch

_SCRIPTED = re.compile(r'File "([^"]+)", line (\d+)')
_TRACED = re.compile(r"^(\S.*)\((\d+)\): ", re.MULTILINE)  # the innermost frame first


@functools.lru_cache(maxsize=512)  # the steps of an unrolled loop have the same ranges
def frames(source_range: str) -> tuple[tuple[str, str], ...]:
    """Returns files and lines of a node's range, the innermost last. Lines of PyTorch's modules count only if there are
    no others.

    A scripted node has the line itself, a traced one the frames of the traced call.
    """
    found = _SCRIPTED.findall(source_range) or _TRACED.findall(source_range)[::-1]
    return tuple(frame for frame in found if "/site-packages/torch/" not in frame[0]) or tuple(found)


class Failure:
    """The place in the graph where an exception was raised: the line of the innermost node."""

    def __init__(self):
        self.line = ""  # " at net.py:12", or empty if unknown

    @contextlib.contextmanager
    def at(self, node):
        """Gives this node's lines to nodes that PyTorch traces, and to exceptions raised, inside the `with` block."""
        found = frames(node.sourceRange())
        torch.fx.traceback.set_stack_trace([f'  File "{file}", line {line}\n' for file, line in found])
        try:
            yield
        except Exception:
            if found and not self.line:
                self.line = " at {}:{}".format(*found[-1])
            raise
