"""tvm.contrib.graph_runtime: the name of the graph executor in 2019."""

from .graph_executor import GraphModule, create

__all__ = ["GraphModule", "create"]
