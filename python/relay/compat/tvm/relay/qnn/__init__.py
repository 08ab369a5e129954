"""relay.qnn: operators on quantised tensors, and their passes."""

from . import op, transform
from .op import requantize_config

__all__ = ["op", "requantize_config", "transform"]
