"""Attention layers: Attention, AdditiveAttention, MultiHeadAttention, GroupQueryAttention."""

from __future__ import annotations

import functools
import math
import string

import numpy as np

from ... import op
from ...ir.expr import const
from ..common.problems import Refused
from .activations import LOW, masked_softmax, softmax
from .conversion import MOST_ELEMENTS, Conversion, Value, bounded, dtype_of, each, known, number, shape_of
from .linear import matmul


def _and(*masks):
    """Returns where all masks keep elements; None if there are none."""
    given = [one for one in masks if one is not None]
    return functools.reduce(op.logical_and, given) if given else None


def _steps(value, axis: int = 1) -> int:
    return known(shape_of(value)[axis], "a causal mask or a window")


def near_mask(query, value, is_causal: bool, window: int | None):
    """Returns the mask (1, T, S) of keys that are not later than the query, and in a window around it; None if neither
    is asked for."""
    if not is_causal and window is None:
        return None
    bounded(_steps(query) * _steps(value), MOST_ELEMENTS, "the size of a mask")
    rows, columns = np.arange(_steps(query))[:, None], np.arange(_steps(value))[None, :]
    kept = np.ones((rows.size, columns.size), bool)
    kept &= rows >= columns if is_causal else True
    kept &= abs(rows - columns) < window if window is not None else True
    return const(kept[None])


def _mask_argument(c: Conversion, key: str):
    given = c.kwargs.get(key)
    return op.cast(given.expr, "bool") if isinstance(given, Value) else None


# --- Attention, AdditiveAttention -------------------------------------------------------------------------------------
def _attend(c: Conversion, scores_of):
    """Returns sums of values, weighted by a softmax of scores. scores_of(query, key): (N, T, S)."""
    given = c.inputs
    if len(given) not in (2, 3):
        raise Refused(f"it is called with {len(given)} tensors, not query, value and perhaps key")
    query, value = given[0].expr, given[1].expr
    masks = [one.mask for one in given]
    if isinstance(c.kwargs.get("mask"), list):
        masks = [one.expr if isinstance(one, Value) else None for one in c.kwargs["mask"]]
    scores = scores_of(query, given[2].expr if len(given) > 2 else value)
    is_causal = bool(c.kwargs.get("use_causal_mask") or c("causal"))
    of_values = None if masks[1] is None else op.expand_dims(op.cast(masks[1], "bool"), axis=1)
    mask = _and(of_values, near_mask(query, value, is_causal, None))
    if mask is not None:
        far = 65504.0 if c.dtype == "float16" else 1.0e9
        scores = op.where(mask, scores, op.subtract(scores, number(far, c.dtype)))
    weights = softmax(scores)
    made = matmul(weights, value)
    if masks[0] is not None:
        made = op.where(op.expand_dims(op.cast(masks[0], "bool"), axis=2), made, op.zeros_like(made))
    result = Value(made, masks[0])
    return [result, Value(weights)] if c.kwargs.get("return_attention_scores") else result


def _pairs(query, key):
    """Returns query + key for each pair of steps: (N, T, S, features)."""
    return op.add(op.expand_dims(query, axis=2), op.expand_dims(key, axis=1))


def attention(c: Conversion):
    scale = c.weight("scale", []) if c("use_scale") else None
    if c("score_mode", "dot") == "concat":
        weight = c.weight("concat_score_weight", [])

        def scores(query, key):
            pairs = _pairs(query, key)
            pairs = pairs if scale is None else op.multiply(pairs, scale)
            return op.multiply(op.sum(op.tanh(pairs), axis=[-1]), weight)
    else:

        def scores(query, key):
            made = matmul(query, op.transpose(key, axes=[0, 2, 1]))
            return made if scale is None else op.multiply(made, scale)

    return _attend(c, scores)


def additive_attention(c: Conversion):
    features = c.size(-1, "the scale")
    scale = c.weight("scale", [features]) if c("use_scale", True) else None

    def scores(query, key):
        pairs = op.tanh(_pairs(query, key))
        return op.sum(pairs if scale is None else op.multiply(pairs, scale), axis=[-1])

    return _attend(c, scores)


# --- heads ------------------------------------------------------------------------------------------------------------
def _project(c: Conversion, x, part: tuple[str, ...], sizes: list[int]):
    """Returns the products (.., heads, size) of the last axis with a kernel (features, heads, size), and a bias."""
    features = known(shape_of(x)[-1], "the kernel of an attention")
    own = c.part(*part)
    kernel = own.array("kernel", [features, *sizes]).reshape(features, -1)
    made = op.nn.dense(x, c.constant(kernel.T), units=kernel.shape[1])
    if c("use_bias", True):
        made = op.add(made, c.constant(own.array("bias", sizes).reshape(-1)))
    return op.reshape(made, newshape=[*shape_of(x)[:-1], *sizes])


def _masks(c: Conversion, query: Value, value: Value, key: Value | None, window):
    """Returns the mask (N, T, S) of an attention; None if everything is kept."""

    def of(name, holder, axis):
        given = _mask_argument(c, f"{name}_mask")
        mask = given if given is not None else (None if holder is None else holder.mask)
        return None if mask is None else op.expand_dims(op.cast(mask, "bool"), axis=axis)

    own = [of("query", query, 2), of("value", value, 1), of("key", key, 1)]
    near = near_mask(query.expr, value.expr, bool(c.kwargs.get("use_causal_mask")), window)
    return _and(*own, near, _mask_argument(c, "attention_mask"))


def _arguments(c: Conversion) -> tuple[Value, Value, Value | None]:
    query, value, key = (c.argument(name, place) for place, name in enumerate(("query", "value", "key")))
    if not isinstance(query, Value) or not isinstance(value, Value):
        raise Refused("it is called without query or value")
    return query, value, key if isinstance(key, Value) else None


def _output(c: Conversion, made, sizes: list[int], results: list[int]):
    """Returns the product of the last axes of `made`, which have these sizes, with the output kernel."""
    own = c.part("output_dense", "_output_dense")
    kernel = own.array("kernel", [*sizes, *results]).reshape(math.prod(sizes), math.prod(results))
    lead = shape_of(made)[: -len(sizes)]
    made = op.nn.dense(op.reshape(made, newshape=[*lead, kernel.shape[0]]), c.constant(kernel.T), units=kernel.shape[1])
    if c("use_bias", True):
        made = op.add(made, c.constant(own.array("bias", results).reshape(-1)))
    return op.reshape(made, newshape=[*lead, *results]) if len(results) != 1 else made


def _heads(query, key, value, mask, scale: float, want_scores: bool):
    """Returns the weighted sums (N, T, H, D) of values (N, S, G, D), and the weights (N, H, T, S) if they are wanted.
    H / G heads of the query share one of the keys."""
    query, key, value = (op.transpose(one, axes=[0, 2, 1, 3]) for one in (query, key, value))
    if mask is not None and len(shape_of(mask)) == 3:
        mask = op.expand_dims(mask, axis=1)
    if not want_scores and mask is None:
        made = op.nn.scaled_dot_product_attention([query, key, value], scale=scale)
        return op.transpose(made, axes=[0, 2, 1, 3]), None
    groups = shape_of(query)[1] // shape_of(key)[1]
    if groups > 1:
        key, value = (op.repeat(one, repeats=groups, axis=1) for one in (key, value))
    scores = op.einsum([op.multiply(query, number(scale, dtype_of(query))), key], equation="nhtd,nhsd->nhts")
    if mask is None:
        weights = softmax(scores)
    elif want_scores:
        weights = masked_softmax(scores, mask)
    else:  # a query that keeps no key takes the mean of all values
        weights = softmax(op.where(mask, scores, number(LOW.get(dtype_of(scores), -1e9), dtype_of(scores))))
    made = op.einsum([weights, value], equation="nhts,nhsd->nthd")
    return made, weights


def _finished(c: Conversion, made, weights, query: Value):
    result = Value(made, query.mask)
    return [result, Value(weights)] if weights is not None else result


def multi_head_attention(c: Conversion):
    query, value, key = _arguments(c)
    heads, size = c.int_of("num_heads"), c.int_of("key_dim")
    of_values = c.int_of("value_dim", size)
    rank = len(shape_of(query.expr))
    q = _project(c, query.expr, ("query_dense", "_query_dense"), [heads, size])
    k = _project(c, (key or value).expr, ("key_dense", "_key_dense"), [heads, size])
    gate = _project(c, query.expr, ("gate_dense", "_gate_dense"), [heads, of_values]) if c("use_gate") else None
    v = _project(c, value.expr, ("value_dense", "_value_dense"), [heads, of_values])
    mask = _masks(c, query, value, key, c("sliding_window"))
    want_scores = bool(c.kwargs.get("return_attention_scores"))
    axes = c("attention_axes")
    axes = [one % rank for one in (axes if isinstance(axes, list) else [axes])] if axes else list(range(1, rank - 1))
    if rank == 3 and axes == [1]:
        made, weights = _heads(q, k, v, mask, 1 / math.sqrt(size), want_scores)
    else:
        made, weights = _over_axes(q, k, v, mask, axes, 1 / math.sqrt(size))
        weights = weights if want_scores else None
    made = made if gate is None else op.multiply(made, op.sigmoid(gate))
    results = c("output_shape")
    results = each(results, len(results) if isinstance(results, list) else 1) if results else None
    made = _output(c, made, [heads, of_values], results or [known(shape_of(query.expr)[-1], "the output kernel")])
    return _finished(c, made, weights, query)


def _over_axes(q, k, v, mask, axes: list[int], scale: float):
    """Returns an attention over several axes: q (N, .., H, D). The others of the query are batches."""
    rank = len(shape_of(q))
    letters = string.ascii_lowercase
    of_query = letters[:rank]
    of_key = "".join(letters[rank + place] if place in axes else one for place, one in enumerate(of_query))
    batch = "".join(of_query[place] for place in range(rank - 2) if place not in axes) + of_query[-2]
    targets, sources = ("".join(text[place] for place in axes) for text in (of_query, of_key))
    scores = op.einsum(
        [op.multiply(q, number(scale, dtype_of(q))), k], equation=f"{of_query},{of_key}->{batch}{targets}{sources}"
    )
    ranks = len(batch) + len(targets) + len(sources)
    over = list(range(ranks - len(sources), ranks))
    if mask is None:
        weights = softmax(scores, over)
    else:
        missing = ranks - len(shape_of(mask))
        place = len(shape_of(mask)) - 2 * len(axes)
        weights = masked_softmax(scores, op.expand_dims(mask, axis=place, num_newaxis=missing), over)
    of_value = of_key[:-1] + "z"
    made = op.einsum([weights, v], equation=f"{batch}{targets}{sources},{of_value}->{of_query[:-1]}z")
    return made, weights


def group_query_attention(c: Conversion):
    query, value, key = _arguments(c)
    size, heads, groups = c.int_of("head_dim"), c.int_of("num_query_heads"), c.int_of("num_key_value_heads")
    if groups < 1 or heads % groups:
        raise Refused(f"{heads} heads of queries do not divide into {groups} of keys")
    q = _project(c, query.expr, ("query_dense", "_query_dense"), [heads, size])
    k = _project(c, (key or value).expr, ("key_dense", "_key_dense"), [groups, size])
    gate = _project(c, query.expr, ("gate_dense", "_gate_dense"), [heads, size]) if c("use_gate") else None
    v = _project(c, value.expr, ("value_dense", "_value_dense"), [groups, size])
    mask = _masks(c, query, value, key, c("sliding_window"))
    want_scores = bool(c.kwargs.get("return_attention_scores"))
    made, weights = _heads(q, k, v, mask, 1 / math.sqrt(size), want_scores)
    made = made if gate is None else op.multiply(made, op.sigmoid(gate))
    made = _output(c, made, [heads, size], [known(shape_of(query.expr)[-1], "the output kernel")])
    return _finished(c, made, weights, query)
