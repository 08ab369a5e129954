"""relay.qnn: operators on quantised tensors, also without `.op`, and their passes."""

from . import op, transform
from .op import requantize_config

__all__ = ["op", "requantize_config", "transform"]


def __getattr__(name: str):
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(op, name)
