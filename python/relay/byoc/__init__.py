"""Bring your own code generator: give parts of a program to another compiler.

    @relay.byoc.supports("other", "nn.dense")
    def dense(call):
        return call.checked_type.dtype == "float32"

    @relay.byoc.register_pattern_table("other")
    def table():
        return [("other.dense_relu", is_op("nn.relu")(is_op("nn.dense")(wildcard(), wildcard())))]

    @relay.byoc.register_codegen("other")
    def generate(function):
        return relay.byoc.CSource(...)

    mod = relay.byoc.partition(mod, "other")
    relay.compile(mod)

See docs/byoc.md for a complete example.
"""

from __future__ import annotations

from .codegen import CSource, LibraryCode, SharedObject, register_codegen
from .passes import partition, partition_for_accelerator, partition_for_dnnl
from .report import Report, Row, report
from .tables import get_pattern_table, register_pattern_table, supports, takes

__all__ = [
    "CSource",
    "LibraryCode",
    "Report",
    "Row",
    "SharedObject",
    "get_pattern_table",
    "partition",
    "partition_for_accelerator",
    "partition_for_dnnl",
    "register_codegen",
    "register_pattern_table",
    "report",
    "supports",
    "takes",
]
