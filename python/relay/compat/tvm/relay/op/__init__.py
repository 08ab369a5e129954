"""relay.op: the operators as functions, and relay.op.op, where they are looked up."""

import importlib as _importlib

from relay import op as _ours

from . import contrib, op

_annotation = _importlib.import_module("relay.compat.tvm.relay.annotation")

globals().update({name: value for name, value in vars(_ours).items() if not name.startswith("__")})
annotation, get = _annotation, op.get


def device_copy(data, src_device, dst_device):
    """The value on another device."""
    text = _annotation.device_text
    return _ours.device_copy(data, text(src_device), text(dst_device))


def __getattr__(name: str):
    if hasattr(_ours, name):
        return getattr(_ours, name)
    return getattr(op, name)


__all__ = [*_ours._published, "contrib", "get", "op", "operators"]
