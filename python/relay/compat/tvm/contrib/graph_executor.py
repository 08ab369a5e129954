"""tvm.contrib.graph_executor: sets inputs, runs a model and gets outputs one by one."""

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
    """A relay.GraphModule that returns NDArrays."""

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
        """Refuses to return an inner value, which is not kept. profile() times kernels, and extract_intermediate_expr()
        computes any expression."""
        raise NotImplementedError(explain("tvm.contrib.debugger"))

    def get_output(self, index: int, out=None) -> NDArray:
        """Returns an output of the last run."""
        return np.asarray(super().get_output(index, out)).view(NDArray)

    def get_input(self, key) -> NDArray:
        """Returns an input that was set."""
        return np.asarray(super().get_input(key)).view(NDArray)


def create(graph_json_str, libmod, device=None) -> GraphModule:
    """Makes a GraphModule of the three results of relay.build() in 2019: create(graph, lib, ctx)."""
    return GraphModule(libmod)
