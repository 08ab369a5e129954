"""Passes that change the layouts of operators, the order of their axes.

nhwc = relay.transform.ConvertLayout({"nn.conv2d": ["NHWC", "HWIO"], "nn.max_pool2d": ["NHWC"]})
with relay.transform.LayoutConfig(skip_layers=[0]):  # all convolutions except the first
    mod = nhwc(mod)
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from ..errors import expect
from ..ir.pass_infra import CorePass, Pass, PassInfo

__all__ = ["ConvertLayout", "LayoutConfig"]


class LayoutConfig:
    """Excludes calls from ConvertLayout: with LayoutConfig(skip_layers=[0, 3]): ... Calls of the pass's operators are
    counted from 0, in the order of evaluation."""

    _local = threading.local()

    def __init__(self, skip_layers: list[int] | None = None):
        self.skip_layers = list(skip_layers or [])

    @classmethod
    def current(cls) -> LayoutConfig | None:
        """Returns the innermost one of this thread, or none."""
        stack = getattr(cls._local, "stack", [])
        return stack[-1] if stack else None

    def __enter__(self) -> LayoutConfig:
        self._local.__dict__.setdefault("stack", []).append(self)
        return self

    def __exit__(self, *exception) -> None:
        self._local.stack.pop()


class _ConvertLayout(CorePass):
    def run(self, mod, ctx):
        config = LayoutConfig.current()
        skip = " ".join(str(index) for index in config.skip_layers) if config else ""
        self._options = {**self._options, "convert_layout.skip": skip}
        return super().run(mod, ctx)


def ConvertLayout(desired_layouts: dict[str, list[str]]) -> Pass:
    """Converts operators to other layouts: {"nn.conv2d": ["NHWC", "HWIO"]}. A list names the layout of the data, of the
    weights if the operator has weights, and of the result (by default that of the data).

    Layouts may have blocks, such as ["NCHW8c", "OIHW8i8o"]; calls whose channels are not divisible by the block size
    stay unchanged. "default" keeps the layout of the data, and uses the customary layout of the weights for it.
    Elementwise and broadcasting operators, reductions, pools, concatenations and others between converted operators are
    converted too. layout_transform converts a value back where its old layout is needed.
    """
    rows = []
    expect(desired_layouts, Mapping, "a dict: {'nn.conv2d': ['NHWC', 'HWIO']}")
    for op, layouts in desired_layouts.items():
        expect(layouts, (list, tuple), f"the layouts of {op} as a list, such as ['NHWC', 'HWIO']")
        rows.append(" ".join([op, *(str(one) or "default" for one in layouts)]))
    return _ConvertLayout(PassInfo(3, "ConvertLayout"), "convert_layout", {"convert_layout.layouts": "; ".join(rows)})
