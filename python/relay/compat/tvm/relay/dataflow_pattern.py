# ruff: noqa: F401, F403
"""relay.dataflow_pattern, unchanged."""

from relay.dataflow_pattern import *
from relay.dataflow_pattern import NodeMap

from ...outside import missing as _missing

__getattr__ = _missing("tvm.relay.dataflow_pattern")
