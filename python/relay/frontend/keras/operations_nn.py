"""Operations of keras.ops on images and sequences: pools, attention, resizing; triangles of matrices."""

from __future__ import annotations

from ... import op
from ..shared import functions
from ..shared.problems import Refused
from .activations import LOW, softmax
from .attention import near_mask
from .conversion import Conversion, Value, cast, dtype_of, each, number, shape_of
from .operations import operands, option
from .pool import windows
from .preprocessing import METHODS
from .shape import resized


def _is_first(c: Conversion) -> bool:
    return option(c, "data_format", 9, "channels_last") == "channels_first"


def pool(kind: str):
    def convert(c: Conversion):
        rank = c.rank - 2
        size = each(option(c, "pool_size", 1), rank)
        strides = each(option(c, "strides", 2, size), rank)
        return windows(c.x, kind, size, strides, option(c, "padding", 3, "valid"), _is_first(c))

    return convert


def resize(c: Conversion):
    size, how = each(option(c, "size", 1), 2), option(c, "interpolation", 2, "bilinear")
    others = [key for key in ("antialias", "crop_to_aspect_ratio", "pad_to_aspect_ratio") if option(c, key, 9, False)]
    if how not in METHODS or others or c.rank != 4:
        raise Refused(f"it resizes {c.rank} axes with {how} {' '.join(others)}", "use the layer Resizing")
    return resized(c.x, size, METHODS[how], _is_first(c))


def dot_product_attention(c: Conversion):
    """Attention of heads: query (N, T, H, D), key and value (N, S, G, D)."""
    query, key, value = operands(c, "query", "key", "value")
    if option(c, "attn_logits_soft_cap", 9, None):
        raise Refused("it limits the scores (attn_logits_soft_cap)")
    groups = shape_of(query)[2] // shape_of(key)[2]
    key, value = (op.repeat(one, repeats=groups, axis=2) if groups > 1 else one for one in (key, value))
    dtype = dtype_of(query)
    scale = option(c, "scale", 5, None) or shape_of(query)[3] ** -0.5
    scores = op.multiply(op.einsum([query, key], equation="nthd,nshd->nhts"), number(scale, dtype))
    bias, mask = option(c, "bias", 3, None), option(c, "mask", 4, None)
    scores = op.add(scores, cast(bias.expr, dtype)) if isinstance(bias, Value) else scores
    kept = [op.cast(mask.expr, "bool")] if isinstance(mask, Value) else []
    near = near_mask(query, value, bool(option(c, "is_causal", 9, False)), None)
    for one in [*kept, *([] if near is None else [near])]:
        scores = op.where(one, scores, number(LOW.get(dtype, -1e9), dtype))
    return op.einsum([softmax(scores), value], equation="nhts,nshd->nthd")


def triangle(upper: bool):
    return lambda c: op.trilu(c.x, k=number(option(c, "k", 1, 0), "int32"), upper=upper)


def logaddexp(c: Conversion):
    return functions.logaddexp(*operands(c, "x1", "x2"))


def outer(c: Conversion):
    a, b = (op.reshape(one, newshape=[-1]) for one in operands(c, "x1", "x2"))
    return op.einsum([a, b], equation="a,b->ab")
