"""Models of other systems that are live objects of Python. Files of ONNX are read by the core (relay.load)."""

from .pytorch import from_exported, from_module
from .pytorch import from_script as from_pytorch

__all__ = ["from_exported", "from_module", "from_pytorch"]
