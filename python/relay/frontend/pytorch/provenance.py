"""The names of nodes in reports: the node of the graph and the line of the user's Python."""

from __future__ import annotations

import os
import re

from ... import op

_RELAY = os.path.dirname(op.__path__[0]) + os.sep  # the files of this package


def line_of(node) -> str:
    """Returns the line of the user's Python that made the node, or PyTorch's if there is none of the user's."""
    frames = re.findall(r'File "([^"<]+)", line (\d+)', node.meta.get("stack_trace") or "")
    frames = [frame for frame in frames if not frame[0].startswith(_RELAY)]
    own = [frame for frame in frames if "/site-packages/" not in frame[0]] or frames
    return f" at {own[-1][0]}:{own[-1][1]}" if own else ""


def name_of(node) -> str:
    """Returns text such as "aten.relu.default 'relu_1' at net.py:12"."""
    return f"{node.target} '{node.name}'{line_of(node)}"
