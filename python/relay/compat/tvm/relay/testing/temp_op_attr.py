"""relay.testing.temp_op_attr: TempOpAttr."""

from ..op.rules import TempOpAttr

__all__ = ["TempOpAttr"]
