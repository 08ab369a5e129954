"""tvm.contrib.graph_executor: inputs set one by one, a run, outputs fetched one by one."""

from __future__ import annotations

import numpy as np

import relay as _relay

from ...outside import explain
from ..nd import NDArray


class _Functions:
    """The methods of a GraphModule by name: m.module["run"]()."""

    def __init__(self, model: GraphModule):
        self._model = model

    def __getitem__(self, name: str):
        return getattr(self._model, name)


class GraphModule(_relay.GraphModule):
    """relay.GraphModule with NDArrays."""

    def __init__(self, module):
        super().__init__(getattr(module, "compiled", module))

    module = property(_Functions)

    def __call__(self, *args, **named):
        """The results, as of the compiled model."""
        from ..relay.backend.interpreter import wrap

        return wrap(self.compiled(*args, **named))

    def __getitem__(self, name: str):
        return getattr(self, name)

    def debug_get_output(self, node, out) -> None:
        """Values inside of a program are not kept: profile() times its kernels, extract_intermediate_expr() gives any
        expression."""
        raise NotImplementedError(explain("tvm.contrib.debugger"))

    def get_output(self, index: int, out=None) -> NDArray:
        """An output of the last run."""
        return np.asarray(super().get_output(index, out)).view(NDArray)

    def get_input(self, key) -> NDArray:
        """What was set."""
        return np.asarray(super().get_input(key)).view(NDArray)


def create(graph_json_str, libmod, device=None) -> GraphModule:
    """Of the three that relay.build() gave (2019): create(graph, lib, ctx)."""
    return GraphModule(libmod)
