"""Matrix products and attention."""

from __future__ import annotations

import math

from ... import op
from ..._core import Call, Function, FuncType, If, Let, Op, TensorType
from ...ir.expr import var
from ...ir.ty import Any
from . import quantized
from .conversion import IN_EVALUATION, Conversion, Refused, UnknownSize, cast, exact_type, number


def _groups_of_rows(groups: int, ends, shape: list, dtype: str, make):
    """Concatenates the results of make(group, cut) for all groups of rows, by a function that calls itself.

    cut(value) returns the group's rows of a matrix. `shape` is the shape of an empty result.
    """
    zero, one, last = (number(value, "int64") for value in (0, 1, 2**63 - 1))
    some = TensorType((Any(), *shape[1:]), dtype)
    group, done = var("group", shape=[], dtype="int64"), var("done", some)
    call = var("groups", FuncType([TensorType((), "int64"), some], some))
    end = op.take(ends, group, axis=0)
    begin = op.where(op.less(zero, group), op.take(ends, op.maximum(op.subtract(group, one), zero), axis=0), zero)

    def cut(value):
        return op.strided_slice(value, op.stack([begin, zero], axis=0), op.stack([end, last], axis=0), [1, 1])

    again = Call(call, [op.add(group, one), op.concatenate([done, make(group, cut)], axis=0)])
    body = If(op.less(group, number(groups, "int64")), again, done)
    return Let(call, Function([group, done], body, some), Call(call, [zero, op.full(number(0, dtype), shape=shape)]))


def _groups_and_ends(c: Conversion, weights: str) -> tuple:
    groups = c.shape(weights)[0]
    if not isinstance(groups, int):
        raise UnknownSize("the number of groups is known only at run time")
    return groups, op.cast(c("offs"), "int64")


def grouped_mm(c: Conversion):
    """Imports rows of a matrix (rows, k) in groups that end at offsets, each times its own matrix of (groups, k, n)."""
    first, second = c.names[:2]
    if c.rank(first) != 2 or c.rank(second) != 3 or not c.has("offs"):
        raise Refused("products of groups that are not rows")
    (groups, ends), width = _groups_and_ends(c, second), c.shape(second)[2]
    data, weights = c(first), c(second)

    def product(group, cut):
        return op.nn.matmul(cut(data), op.take(weights, group, axis=0))

    made = _groups_of_rows(groups, ends, [0, width], c.dtype, product)
    return op.reshape(made, newshape=[c.shape(first)[0], width], allowzero=True)


def grouped_mm_backward(c: Conversion):
    """Imports the gradients. The rows' gradient is the result's times the transposed matrices. A matrix's gradient is
    its rows, transposed, times the gradient of their results."""
    (groups, ends), grad, data, weights = _groups_and_ends(c, "weight"), c("grad_output"), c("input"), c("weight")
    _, depth, width = c.shape("weight")

    def for_rows(group, cut):
        return op.nn.matmul(cut(grad), op.take(weights, group, axis=0), transpose_b=True)

    def for_weight(group, cut):
        return op.expand_dims(op.nn.matmul(cut(data), cut(grad), transpose_a=True), axis=0)

    rows = _groups_of_rows(groups, ends, [0, depth], c.dtype, for_rows)
    matrices = _groups_of_rows(groups, ends, [0, depth, width], c.dtype, for_weight)
    return [op.reshape(rows, newshape=c.shape("input"), allowzero=True),
            op.reshape(matrices, newshape=c.shape("weight"), allowzero=True)]  # fmt: skip


def _factor(value) -> tuple:
    """Returns (one or several matrices, whether the factor is its transpose). Products read transposed matrices in
    place."""
    is_transposed = False
    while isinstance(value, Call) and isinstance(value.op, Op) and value.op.name == "transpose":
        axes, rank = value.attrs.axes, len(value.args[0].checked_type.shape)
        if not _swaps_the_last(list(range(rank))[::-1] if axes is None else [int(one) % rank for one in axes]):
            break
        value, is_transposed = value.args[0], not is_transposed
    return value, is_transposed


def _swaps_the_last(axes: list[int]) -> bool:
    rank = len(axes)
    return axes == [*range(rank - 2), rank - 1, rank - 2]


def _matmul(a, b, out_dtype: str | None = None):
    (a, transpose_a), (b, transpose_b) = _factor(a), _factor(b)
    return op.nn.matmul(a, b, transpose_a=transpose_a, transpose_b=transpose_b, out_dtype=out_dtype)


def _batch_matmul(a, b, out_dtype: str | None = None):
    (a, transpose_a), (b, transpose_b) = _factor(a), _factor(b)
    return op.nn.batch_matmul(a, b, transpose_a=transpose_a, transpose_b=transpose_b, out_dtype=out_dtype)


def _wide(c: Conversion) -> str | None:
    """Returns the type of a product that something is added to before it is rounded, or None if it is that of its
    factors."""
    return None if exact_type(c.dtype) == c.dtype else exact_type(c.dtype)


def linear(c: Conversion):
    """Imports linear. Products of half precisions are rounded after the bias is added."""
    rank, shape = c.rank("input"), c.out_shape
    data = c("input")
    if c.rank("weight") == 1:
        inner = c.shape("input")[-1]
        data = op.reshape(data, newshape=[math.prod(c.shape("input")[:-1], start=1), inner])
        wide = _wide(c) if c.has("bias") else None
        result = op.nn.dense(data, op.expand_dims(c("weight"), axis=0), out_dtype=wide)
        return _with_bias(c, op.reshape(result, newshape=shape), wide)
    if rank != 2:
        inner = c.shape("input")[-1]
        data = op.reshape(data, newshape=[math.prod(c.shape("input")[:-1], start=1), inner])
    pair = quantized.pair(c("input"), c("weight"), 0)
    wide = _wide(c) if c.has("bias") and pair is None else None
    if pair is None:
        result = op.nn.dense(data, c("weight"), out_dtype=wide)
    else:
        integers = [one.integers for one in pair]
        if rank != 2:
            integers[0] = op.reshape(integers[0], newshape=[math.prod(c.shape("input")[:-1], start=1), inner])
        result = op.qnn.dense(*integers, *quantized.parameters(*pair), units=c.shape("weight")[0])
        result = quantized.of_sum(result, *pair, axis=1)
    result = _with_bias(c, result, wide)
    return result if rank == 2 else op.reshape(result, newshape=shape)


def _with_bias(c: Conversion, product, wide: str | None):
    if not c.has("bias"):
        return product
    if wide is None:
        return op.add(product, c("bias"))
    return op.cast(op.add(product, op.cast(c("bias"), wide)), c.dtype)


def mm(c: Conversion):
    return _matmul(c("self"), c("mat2"))


def int_mm(c: Conversion):
    """Imports _int_mm: int8 products, summed in int32."""
    (a, transpose_a), (b, transpose_b) = _factor(c("self")), _factor(c("mat2"))
    return op.nn.matmul(a, b, transpose_a=transpose_a, transpose_b=transpose_b, out_dtype="int32")


def bmm(c: Conversion):
    return _batch_matmul(c("self"), c("mat2"))


def _onto_self(c: Conversion, product):
    """Computes beta self + alpha product, which is of the type _wide()."""
    dtype = exact_type(c.dtype)
    if c("alpha") != 1:
        product = op.multiply(product, number(c("alpha"), dtype))
    if c("beta") != 0:
        offset = c.as_("self", dtype)
        product = op.add(product, offset if c("beta") == 1 else op.multiply(offset, number(c("beta"), dtype)))
    return cast(product, dtype, c.dtype)


def addmm(c: Conversion):
    return _onto_self(c, _matmul(c("mat1"), c("mat2"), _wide(c)))


def addmv(c: Conversion):
    product = op.nn.matmul(c("mat"), op.expand_dims(c("vec"), axis=1), out_dtype=_wide(c))
    return _onto_self(c, op.squeeze(product, axis=[1]))


def addbmm(c: Conversion):
    products = op.nn.batch_matmul(c("batch1"), c("batch2"), transpose_b=False, out_dtype=_wide(c))
    return _onto_self(c, op.sum(products, axis=[0]))


def _flat(value, shape: list, batch: list):
    """Returns the tensor as (batch, rows, columns)."""
    if len(shape) == 3 and shape[:-2] == batch:
        return value
    if shape[:-2] != batch:
        value = op.broadcast_to(value, shape=[*batch, *shape[-2:]])
    return op.reshape(value, newshape=[math.prod(batch, start=1), *shape[-2:]], allowzero=True)


def matmul(c: Conversion):
    """Imports matmul. Vectors get an axis, and the axes of a batch are merged into one."""
    a, b, first, second = c("self"), c("other"), c.shape("self"), c.shape("other")
    if len(first) == 1:
        a, first = op.expand_dims(a, axis=0), [1, *first]
    if len(second) == 1:
        b, second = op.expand_dims(b, axis=1), [*second, 1]
    if len(first) == len(second) == 2:
        product = _matmul(a, b)
    else:
        batch = c.out_shape[: max(len(first), len(second)) - 2]
        product = _batch_matmul(_flat(a, first, batch), _flat(b, second, batch))
    return op.reshape(product, newshape=c.out_shape, allowzero=True)


def attention(c: Conversion):
    """Imports scaled_dot_product_attention: softmax(q k' scale + mask) v, with 0 in rows whose keys are all masked."""
    if c("dropout_p"):
        raise Refused("attention with dropout: call module.eval() before the export", help=IN_EVALUATION)
    q, k, v = c.shape("query"), c.shape("key"), c.shape("value")
    dtype = exact_type(c.dtype)  # scores of halves may be far larger than halves
    query, key, value = (c.as_(name, dtype) for name in ("query", "key", "value"))
    # The operator that AOTAutograd makes of it on a CPU has no such argument, and shares keys all the same.
    if ("enable_gqa" not in c._raw or c("enable_gqa")) and len(q) > 2 and (q[-3] != k[-3] or q[-3] != v[-3]):
        if not all(isinstance(one, int) for one in (q[-3], k[-3], v[-3])):
            raise UnknownSize(
                "attention whose groups of queries share keys, and whose number of heads is known only at run time"
            )
        key = op.repeat(key, repeats=q[-3] // k[-3], axis=len(k) - 3)
        value = op.repeat(value, repeats=q[-3] // v[-3], axis=len(v) - 3)
        k, v = [*k[:-3], q[-3], *k[-2:]], [*v[:-3], q[-3], *v[-2:]]
    batch, rows, keys = c.out_shape[:-2], q[-2], k[-2]
    scale = c("scale")
    scale = 1 / math.sqrt(q[-1]) if scale is None else float(scale)
    flat = [math.prod(batch, start=1), rows, keys]
    product = op.nn.batch_matmul(_flat(query, q, batch), _flat(key, k, batch))
    scores = op.multiply(product, number(scale, dtype))
    if c.has("attn_mask"):
        is_logical = str(c.val("attn_mask").dtype) == "torch.bool"
        given = c("attn_mask") if is_logical else c.as_("attn_mask", dtype)
        mask = op.reshape(op.broadcast_to(given, shape=[*batch, rows, keys]), newshape=flat)
        if is_logical:
            scores = op.where(mask, scores, number(-math.inf, dtype))
        else:
            scores = op.add(scores, mask)
    if c("is_causal"):
        allowed = op.trilu(op.full(number(1, "int32"), shape=[rows, keys]), k=0, upper=False)
        scores = op.where(op.cast(allowed, "bool"), scores, number(-math.inf, dtype))
    result = op.nn.batch_matmul(op.nn.softmax(scores, axis=-1), _flat(value, v, batch), transpose_b=False)
    result = cast(op.reshape(result, newshape=c.out_shape), dtype, c.dtype)
    if not c.has("attn_mask"):
        return result
    seen = c("attn_mask")
    if str(c.val("attn_mask").dtype) != "torch.bool":
        seen = op.greater(given, number(-math.inf, dtype))
    return op.where(op.any(seen, axis=[-1], keepdims=True), result, number(0, c.dtype))


def flash_attention(c: Conversion):
    """Imports scaled_dot_product_attention for the CPU. Its second result, sums of exponentials, is for gradients."""
    if c.uses(1):
        raise Refused("the sums of exponentials are a result")
    return [attention(c), None]
