"""tvm.contrib: the graph executor and temporary folders."""

from ...outside import missing as _missing
from . import graph_executor, graph_runtime, utils

__getattr__ = _missing("tvm.contrib")

__all__ = ["graph_executor", "graph_runtime", "utils"]
