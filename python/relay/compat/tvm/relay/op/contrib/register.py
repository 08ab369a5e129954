"""relay.op.contrib.register: the functions of relay.byoc."""

from relay.byoc import get_pattern_table, register_pattern_table

__all__ = ["get_pattern_table", "register_pattern_table"]
