"""Operations of ML programs that work on each element, reduce, normalise, or multiply."""

from __future__ import annotations

import numpy as np

from ... import op
from ..._core import Expr
from ..shared.expressions import cast, dtype_of, is_float, number, shape_of
from ..shared.problems import Refused
from ..shared.products import batched
from ..shared.values import Known
from . import functions as f
from .conversion import Operation

# Names of element types in casts.
TYPES = {"fp16": "float16", "fp32": "float32", "fp64": "float64", "int8": "int8", "int16": "int16", "int32": "int32",
         "int64": "int64", "uint8": "uint8", "uint16": "uint16", "uint32": "uint32", "bool": "bool"}  # fmt: skip
SMALLEST = {"float32": 1.1754944e-38, "float16": 6.1035e-05}  # normal numbers


def unary(function):
    return lambda c: function(c.x)


def binary(function):
    """Returns the converter of an operation on two tensors, which broadcast."""

    def convert(c: Operation):
        return function(c.x, cast(c.expr("y"), c.dtype))

    return convert


def real_div(c: Operation):
    y = cast(c.expr("y"), c.dtype)
    if is_float(c.dtype):
        return op.divide(c.x, y)
    return op.cast(op.divide(op.cast(c.x, "float32"), op.cast(y, "float32")), c.dtype)


def with_epsilon(function, otherwise: float):
    """Returns the converter of a function of x + epsilon."""

    def convert(c: Operation):
        epsilon = c.real("epsilon", otherwise)
        # A number below all normal ones has no effect, but for zero, where functions of zero are the limit.
        return function(f.affine(c.x, 1.0, 0.0 if abs(epsilon) < SMALLEST.get(c.dtype, 0) else epsilon))

    return convert


def with_parameters(function, *names: str):
    """Returns the converter of a function of a tensor and of numbers."""
    return lambda c: function(c.x, *(c.real(one) for one in names))


def inverse(c: Operation):
    return f.reciprocal(c.x, c.real("epsilon", 1e-4))


def clip(c: Operation):
    return op.clip(c.x, c.real("alpha"), c.real("beta"))


def threshold(c: Operation):
    return op.maximum(c.x, c.number(c.real("alpha")))


def leaky_relu(c: Operation):
    return op.nn.leaky_relu(c.x, alpha=c.real("alpha", 0.01))


def gelu(c: Operation):
    return f.gelu(c.x, c.text("mode", "EXACT"))


def prelu(c: Operation):
    alpha = f.per_channel(c.x, cast(c.expr("alpha"), c.dtype), 1)
    return op.where(op.greater(c.x, c.number(0.0)), c.x, op.multiply(c.x, alpha))


def softplus_parametric(c: Operation):
    return f.parametric_softplus(c.x, *(f.per_channel(c.x, cast(c.expr(one), c.dtype), 1) for one in ("alpha", "beta")))


def cast_to(c: Operation):
    """Numbers become integers by cutting off their fractions."""
    wanted = c.text("dtype", among=tuple(TYPES))
    return converted(c.x, TYPES[wanted])


def converted(x: Expr, dtype: str) -> Expr:
    return op.not_equal(x, f.n(x, 0)) if dtype == "bool" and dtype_of(x) != "bool" else cast(x, dtype)


def select(c: Operation):
    a = c.expr("a")
    return op.where(op.cast(c.expr("cond"), "bool"), a, cast(c.expr("b"), dtype_of(a)))


def logical(function):
    return lambda c: function(op.cast(c.x, "bool"), op.cast(c.expr("y"), "bool"))


def identity(c: Operation):
    c.ignore(*c.node.attributes)
    return c.given("x")


def classify(c: Operation):
    """The probabilities; the label of the greatest is left to the caller, because it may be a text."""
    labels = c.given("classes")
    if not hasattr(labels, "array"):
        raise Refused("its labels are not constants")
    c.importer.labels = labels.array.reshape(-1).tolist()
    probabilities = c.expr("probabilities")
    return [Known(np.asarray("", object), "string"), probabilities]


# --- reductions -------------------------------------------------------------------------------------------------------
def reduction(kind: str):
    def convert(c: Operation):
        axes, keepdims = c.axes("axes"), c.flag("keep_dims")
        if c.rank == 0:
            return c.x
        if is_float(c.dtype) or kind in ("sum", "prod", "max", "min", "l1_norm", "sum_square"):
            return f.reduced(kind, c.x, axes, keepdims)
        return op.cast(f.reduced(kind, op.cast(c.x, "float32"), axes, keepdims), c.dtype)

    return convert


def place_of(function):
    """Returns the converter of the positions of the greatest or least elements."""

    def convert(c: Operation):
        made = function(c.x, axis=[c.axis("axis", -1)], keepdims=c.flag("keep_dims"))
        return cast(made, TYPES[c.text("output_dtype", "int32", tuple(TYPES))])

    return convert


def cumsum(c: Operation):
    axis, is_exclusive = c.axis("axis", 0), c.flag("exclusive")
    if not c.flag("reverse"):
        return op.cumsum(c.x, axis=axis, exclusive=is_exclusive)
    return op.reverse(op.cumsum(op.reverse(c.x, axis=axis), axis=axis, exclusive=is_exclusive), axis=axis)


def softmax(c: Operation):
    return op.nn.softmax(c.x, axis=c.axis("axis", -1))


# --- normalisations ---------------------------------------------------------------------------------------------------
def _vector(c: Operation, name: str, count: int, otherwise: float) -> Expr:
    if not c.has(name):
        return c.constant(np.full(count, otherwise), c.dtype)
    if c.shape_of(name) != [count]:
        raise Refused(f"`{name}` has the shape {c.shape_of(name)}, not [{count}]", "take the weights of this program")
    return cast(c.expr(name), c.dtype)


def batch_norm(c: Operation):
    count = c.size(1, "the channels")
    gamma, beta = _vector(c, "gamma", count, 1.0), _vector(c, "beta", count, 0.0)
    mean, variance = _vector(c, "mean", count, 0.0), _vector(c, "variance", count, 1.0)
    return op.nn.batch_norm(c.x, gamma, beta, mean, variance, axis=1, epsilon=c.real("epsilon", 1e-5))[0]


def instance_norm(c: Operation):
    count = c.size(1, "the channels")
    gamma, beta = _vector(c, "gamma", count, 1.0), _vector(c, "beta", count, 0.0)
    return op.nn.instance_norm(c.x, gamma, beta, axis=1, epsilon=c.real("epsilon", 1e-5))


def layer_norm(c: Operation):
    axes, epsilon = c.axes("axes"), c.real("epsilon", 1e-5)
    if axes == [c.rank - 1]:
        count = c.size(-1, "the last axis")
        gamma, beta = _vector(c, "gamma", count, 1.0), _vector(c, "beta", count, 0.0)
        return op.nn.layer_norm(c.x, gamma, beta, axis=-1, epsilon=epsilon)
    made = f.normalised(c.x, axes, epsilon)
    sizes = [c.shape[one] if one in axes else 1 for one in range(c.rank)]
    if c.has("gamma"):
        made = op.multiply(made, op.reshape(c.expr("gamma"), sizes))
    return op.add(made, op.reshape(c.expr("beta"), sizes)) if c.has("beta") else made


def l2_norm(c: Operation):
    total = op.sum(f.square(c.x), axis=list(range(c.rank))[-3:], keepdims=True)
    return op.divide(c.x, op.sqrt(f.affine(total, 1.0, c.real("epsilon", 1e-6))))


def local_response_norm(c: Operation):
    """Channels are the third axis from the end, as in (N, C, H, W)."""
    if c.rank < 3:
        raise Refused(f"its input has {c.rank} axes, not three or more")
    return op.nn.lrn(c.x, size=c.window("size"), axis=c.rank - 3, bias=c.real("k", 1.0), alpha=c.real("alpha", 1e-4),
                     beta=c.real("beta", 0.75))  # fmt: skip


# --- products ---------------------------------------------------------------------------------------------------------
def linear(c: Operation):
    weight = c.shape_of("weight")
    if len(weight) != 2 or weight[1] != c.shape[-1]:
        raise Refused(f"the matrix has the shape {weight} for {c.shape[-1]} features", "take the weights of this model")
    made = op.nn.dense(c.x, cast(c.expr("weight"), c.dtype), units=weight[0])
    if not c.has("bias"):
        return made
    return op.add(made, cast(c.expr("bias"), c.dtype))


def matmul(c: Operation):
    a, b = c.flag("transpose_x"), c.flag("transpose_y")
    x, y = c.x, cast(c.expr("y"), c.dtype)
    ranks = c.rank, len(shape_of(y))
    x = op.reshape(x, [1, -1]) if ranks[0] == 1 else x
    y = op.reshape(y, [-1, 1]) if ranks[1] == 1 else y
    made = batched(x, y, a and ranks[0] > 1, b and ranks[1] > 1)
    dropped = [*([-2] if ranks[0] == 1 else []), *([-1] if ranks[1] == 1 else [])]
    return op.squeeze(made, axis=dropped) if dropped else made


def einsum(c: Operation):
    """Products and sums by letters. An axis of 1 element broadcasts: its operand does without it."""
    values, equation = c.exprs("values"), c.text("equation").replace(" ", "")
    inputs, arrow, result = equation.partition("->")
    terms = inputs.split(",")
    shapes = [shape_of(one) for one in values]
    if not arrow or [len(one) for one in terms] != [len(one) for one in shapes]:
        raise Refused(f"its equation is {equation!r} for {len(values)} tensors")
    wide = {letter for term, sizes in zip(terms, shapes, strict=True)
            for letter, size in zip(term, sizes, strict=True) if size != 1}  # fmt: skip
    for place, (term, sizes) in enumerate(zip(terms, shapes, strict=True)):
        dropped = [axis for axis, letter in enumerate(term) if sizes[axis] == 1 and letter in wide]
        if dropped:
            values[place] = op.squeeze(values[place], axis=dropped)
            terms[place] = "".join(letter for axis, letter in enumerate(term) if axis not in dropped)
    return op.einsum(values, equation=f"{','.join(terms)}->{result}")


def attention(c: Operation):
    """softmax(query key^T / sqrt(E) + mask) value."""
    query, key, value = (c.expr(one) for one in ("query", "key", "value"))
    width = shape_of(query)[-1]
    if not isinstance(width, int):
        raise Refused("the size of its features is known only at run time")
    scores = batched(query, key, False, True)
    scores = op.multiply(scores, f.n(scores, width**-0.5))
    if c.has("attn_mask"):
        mask = c.expr("attn_mask")
        if dtype_of(mask) == "bool":
            scores = op.where(mask, scores, number(-np.inf, dtype_of(scores)))
        else:
            scores = op.add(scores, cast(mask, dtype_of(scores)))
    return batched(op.nn.softmax(scores, axis=-1), value, False, False)
