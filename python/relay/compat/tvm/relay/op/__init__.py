"""relay.op: the operators as functions, and relay.op.op, where operators are looked up."""

import importlib as _importlib
import sys as _sys

from relay import op as _ours
from relay.transform import infer_expr

from ....outside import Outside as _Outside
from . import contrib, op

_annotation = _importlib.import_module("relay.compat.tvm.relay.annotation")

globals().update({name: value for name, value in vars(_ours).items() if not name.startswith("__")})
annotation, get = _annotation, op.get
tensor = transform = reduce = algorithm = _sys.modules[__name__]


def device_copy(data, src_device, dst_device):
    """Copies the value to another device."""
    text = _annotation.device_text
    return _ours.device_copy(data, text(src_device), text(dst_device))


def reverse_reshape(data, newshape):
    """Reshapes, with 0 and -1 counted from the end."""
    return _ours.contrib_reverse_reshape(data, newshape=list(newshape))


def segment_sum(data, segment_ids, num_segments=None):
    """Sums the slices of data along its first axis that have the same number. Without num_segments, there are as many
    sums as slices."""
    shape = infer_expr(data).checked_type.shape
    ids = segment_ids
    if len(shape) > 1:
        ids = _ours.expand_dims(ids, axis=1, num_newaxis=len(shape) - 1)
        ids = _ours.broadcast_to(ids, shape=list(shape))
    count = shape[0] if num_segments is None else num_segments
    zeros = _ours.zeros(shape=[count, *shape[1:]], dtype=infer_expr(data).checked_type.dtype)
    return _ours.scatter_elements(zeros, ids, data, axis=0, reduction="add")


def __getattr__(name: str):
    if name.startswith("__"):
        raise AttributeError(name)
    if hasattr(_ours, name):
        return getattr(_ours, name)
    return (
        getattr(op, name)
        if name in op.__all__
        else _Outside(f"tvm.relay.op.{'op.' if name.startswith('register') else ''}{name}")
    )


__all__ = [*_ours._published, "contrib", "get", "op", "operators"]
