"""tvm.contrib.graph_executor: inputs set one by one, a run, outputs fetched one by one."""

from __future__ import annotations

import numpy as np

import relay as _relay

from ..nd import NDArray


class GraphModule(_relay.GraphModule):
    """relay.GraphModule with NDArrays."""

    def get_output(self, index: int, out=None) -> NDArray:
        """An output of the last run."""
        return np.asarray(super().get_output(index, out)).view(NDArray)

    def get_input(self, key) -> NDArray:
        """What was set."""
        return np.asarray(super().get_input(key)).view(NDArray)


def create(graph_json_str, libmod, device=None) -> GraphModule:
    """Of the three that relay.build() gave (2019): create(graph, lib, ctx)."""
    return GraphModule(libmod)
