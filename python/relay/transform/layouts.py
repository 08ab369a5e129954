"""Passes that bring operators into other layouts: orders of their axes.

nhwc = relay.transform.ConvertLayout({"nn.conv2d": ["NHWC", "HWIO"], "nn.max_pool2d": ["NHWC"]})
with relay.transform.LayoutConfig(skip_layers=[0]):  # all convolutions but the first
    mod = nhwc(mod)
"""

from __future__ import annotations

import threading

from ..ir.pass_infra import CorePass, Pass, PassInfo

__all__ = ["ConvertLayout", "LayoutConfig"]


class LayoutConfig:
    """Calls that ConvertLayout leaves out: with LayoutConfig(skip_layers=[0, 3]): ... They are counted from 0 on, in
    the order of evaluation, among those of the operators that the pass is given."""

    _local = threading.local()

    def __init__(self, skip_layers: list[int] | None = None):
        self.skip_layers = list(skip_layers or [])

    @classmethod
    def current(cls) -> LayoutConfig | None:
        """The innermost one of this thread, if there is one."""
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
    """Brings operators into layouts, as {"nn.conv2d": ["NHWC", "HWIO"]}: that of the data, of the weights if the
    operator has some, and of the result, which without one has that of the data. They may have blocks, as
    ["NCHW8c", "OIHW8i8o"]; calls whose channels these do not divide stay. "default": the data's as it is, for the
    weights what is usual beside the data's. Elementwise and broadcasting operators, reductions, pools, concatenations
    and others between them come along; a value is brought back by layout_transform where its old layout is needed."""
    rows = []
    for op, layouts in desired_layouts.items():
        if isinstance(layouts, str):
            raise TypeError(f"the layouts of {op} are a list, as ['NHWC', 'HWIO'], not {layouts!r}")
        rows.append(" ".join([op, *(str(one) or "default" for one in layouts)]))
    return _ConvertLayout(PassInfo(3, "ConvertLayout"), "convert_layout", {"convert_layout.layouts": "; ".join(rows)})
