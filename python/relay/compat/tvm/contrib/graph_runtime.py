"""tvm.contrib.graph_runtime: the graph executor's name of 2019."""

from .graph_executor import GraphModule, create

__all__ = ["GraphModule", "create"]
