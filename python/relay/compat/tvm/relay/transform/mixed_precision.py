"""relay.transform.mixed_precision: rules of operators."""

from relay.transform.mixed_precision import ALWAYS, FOLLOW, NEVER

from ..op.rules import register_mixed_precision_conversion

MIXED_PRECISION_ALWAYS, MIXED_PRECISION_FOLLOW, MIXED_PRECISION_NEVER = ALWAYS, FOLLOW, NEVER

__all__ = [
    "MIXED_PRECISION_ALWAYS",
    "MIXED_PRECISION_FOLLOW",
    "MIXED_PRECISION_NEVER",
    "register_mixed_precision_conversion",
]
