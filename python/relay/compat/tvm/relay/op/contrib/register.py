"""relay.op.contrib.register: relay.byoc, as it is."""

from relay.byoc import get_pattern_table, register_pattern_table

__all__ = ["get_pattern_table", "register_pattern_table"]
