"""Complex numbers. A complex tensor is a tensor of floats with a last axis of two: the real and the imaginary part.

The operators of this file compute with them. Operators that only move or sum elements do so with both parts, and all
others are refused.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from ... import op
from ..shared import functions
from . import bits, create, index, linear, reduce, scatter, shape
from .conversion import Conversion, Refused, cast, number

REAL = {torch.complex64: "float32", torch.complex128: "float64", torch.float32: "float32", torch.float64: "float64"}


def same(c: Conversion):
    """Imports view_as_real and view_as_complex."""
    return c("self")


def part(place: int):
    """Imports real and imag."""

    def convert(c: Conversion):
        if not c.val("self").is_complex():
            if place == 0:
                return c("self")
            raise Refused("the imaginary part of a real tensor")
        return op.take(c("self"), number(place, "int32"), axis=c.rank("self"), mode="checked")

    return convert


def parts(c: Conversion):
    return part(0)(c), part(1)(c)


def magnitude(c: Conversion):
    return functions.hypotenuse(*parts(c))


def pair(re, im):
    return op.stack([re, im], axis=-1)


def _component(c: Conversion, name: str, dtype: str | None = None) -> tuple:
    """Returns the parts of an argument. The imaginary part is None if the argument is real."""
    val, dtype = c.val(name), dtype or REAL[c.result.dtype]
    if not isinstance(val, torch.Tensor):
        if isinstance(val, complex):
            return number(val.real, dtype), number(val.imag, dtype)
        return c.as_(name, dtype), None
    if not val.is_complex():
        return c.as_(name, dtype), None
    taken = (op.take(c(name), number(place, "int32"), axis=val.dim(), mode="checked") for place in (0, 1))
    return tuple(cast(one, REAL[val.dtype], dtype) for one in taken)


def sum_of(sign: int):
    """Imports add and sub, with a real factor."""

    def convert(c: Conversion):
        (a, b), (x, y) = _component(c, "self"), _component(c, "other")
        if (factor := c("alpha")) not in (1, None):
            if isinstance(factor, complex):
                raise Refused("a complex factor")
            factor = number(factor, REAL[c.result.dtype])
            x, y = op.multiply(x, factor), None if y is None else op.multiply(y, factor)
        function = op.add if sign > 0 else op.subtract
        re = function(a, x)
        zero = number(0, REAL[c.result.dtype])
        im = function(zero if b is None else b, zero if y is None else y)
        return pair(re, op.broadcast_to(im, shape=c.out_shape))

    return convert


def _product(one: tuple, other: tuple, times=op.multiply):
    """Multiplies pairs of parts, of which one may be real. `times` is a product of real numbers."""
    (a, b), (x, y) = one, other
    if b is None or y is None:
        return pair(times(a, x), times(a, y) if b is None else times(b, x))
    return pair(op.subtract(times(a, x), times(b, y)), op.add(times(a, y), times(b, x)))


def multiply(c: Conversion):
    return _product(_component(c, "self"), _component(c, "other"))


def product_of_matrices(convert, first: str = "self", second: str = "mat2"):
    """Computes a product from four real products, or two if one matrix is real."""

    def converted(c: Conversion):
        made = _product(_component(c, first), _component(c, second),
                        lambda a, x: convert(c.given({first: a, second: x, "bias": None})))  # fmt: skip
        return op.add(made, c("bias")) if c.has("bias") else made

    return converted


def addmm(c: Conversion):
    if (c("alpha"), c("beta")) != (1, 1):
        raise Refused("a factor of complex numbers")
    product = _product(_component(c, "mat1"), _component(c, "mat2"),
                       lambda a, x: linear.mm(c.given({"self": a, "mat2": x})))  # fmt: skip
    return op.add(product, c("self"))


def difference_from(c: Conversion):
    """Imports rsub, without a factor."""
    if c("alpha") not in (1, None):
        raise Refused("a factor of complex numbers")
    (a, b), (x, y) = _component(c, "self"), _component(c, "other")
    zero = number(0, REAL[c.result.dtype])
    im = op.subtract(zero if y is None else y, zero if b is None else b)
    return pair(op.subtract(x, a), op.broadcast_to(im, shape=c.out_shape))


def _quotient(a, b, x, y, dtype: str):
    """Divides a + b i by x + y i as Smith does: by the larger part of the divisor first, so that no square is too large
    or too small. Algorithm 116, Communications of the ACM 5, 1962.
    """
    zero = number(0, dtype)
    is_wide = op.greater_equal(op.abs(x), op.abs(y))
    large, small = op.where(is_wide, x, y), op.where(is_wide, y, x)
    ratio = op.divide(small, large)
    size = op.add(large, op.multiply(small, ratio))
    first, second = op.where(is_wide, a, b), op.where(is_wide, b, a)
    re = op.divide(op.add(first, op.multiply(second, ratio)), size)
    difference = op.subtract(second, op.multiply(first, ratio))
    im = op.divide(op.where(is_wide, difference, op.negative(difference)), size)
    is_zero = op.logical_and(op.equal(x, zero), op.equal(y, zero))
    return pair(*(op.where(is_zero, op.divide(part, op.abs(large)), found) for part, found in ((a, re), (b, im))))


def divide(c: Conversion):
    (a, b), (x, y) = _component(c, "self"), _component(c, "other")
    b = op.zeros_like(a) if b is None else b
    if y is None:
        return pair(op.divide(a, x), op.divide(b, x))
    return _quotient(a, b, x, y, REAL[c.result.dtype])


def where(c: Conversion):
    zero = number(0, REAL[c.result.dtype])
    first, second = _component(c, "self"), _component(c, "other")
    chosen = (op.where(c("condition"), *(zero if one is None else one for one in two))
              for two in zip(first, second, strict=True))  # fmt: skip
    return pair(*(op.broadcast_to(one, shape=c.out_shape) for one in chosen))


def filled(name: str | None = None, given: float = 0):
    """Fills the result with a number: an argument, or a given value."""

    def convert(c: Conversion):
        value = complex(c(name) if name else given)
        dtype = REAL[c.result.dtype]
        return pair(*(op.full(number(one, dtype), shape=c.out_shape) for one in (value.real, value.imag)))

    return convert


def conjugate(c: Conversion):
    """Conjugates a tensor, or a number that a gradient passes."""
    if isinstance(c.val("self"), torch.Tensor) and not c.val("self").is_complex():
        return c("self")
    re, im = _component(c, "self")
    return pair(re, op.negative(im))


def negate(c: Conversion):
    return op.negative(c("self"))


def of_parts(c: Conversion):
    """Imports torch.complex."""
    shape = c.out_shape
    return pair(*(op.broadcast_to(c(name), shape=shape) for name in ("real", "imag")))


def polar(c: Conversion):
    size, direction = c("abs"), c("angle")
    return pair(op.multiply(size, op.cos(direction)), op.multiply(size, op.sin(direction)))


def to_complex(c: Conversion):
    """Converts a real tensor to a complex one, or a complex one to another precision."""
    dtype = REAL[c.result.dtype]
    if c.val("self").is_complex():
        return cast(c("self"), REAL[c.val("self").dtype], dtype)
    re = c.as_("self", dtype)
    return pair(re, op.zeros_like(re))


def of_both(convert):
    """Imports an operator that moves or sums elements, for both parts."""

    def both(c: Conversion):
        re, im = (convert(c.of_part(place)) for place in (0, 1))
        return list(map(pair, re, im)) if isinstance(re, list) else pair(re, im)

    return both


def pad(c: Conversion):
    if c("value"):
        raise Refused("padding of complex numbers with values other than zero")
    return of_both(shape.pad())(c)


def masked_fill(c: Conversion):
    zero = number(0, REAL[c.result.dtype])
    chosen = zip(_component(c, "value"), parts(c), strict=True)
    return pair(*(op.where(c("mask"), zero if value is None else value, one) for value, one in chosen))


def angle(c: Conversion):
    """Returns the angle of real numbers: 0 or pi."""
    if c.val("self").is_complex():
        re, im = parts(c)
        return functions.atan2(im, re)
    x, zero, pi = c.as_("self"), number(0, c.dtype), number(math.pi, c.dtype)
    found = op.where(op.less(x, zero), pi, zero)
    return op.where(op.isnan(x), x, found) if c.val("self").dtype.is_floating_point else found


def _exponential(re, im, dtype: str) -> tuple:
    """Returns the parts of exp(re + im i), which may be finite where exp(re) is not: for large re, they are multiplied
    by exp(re / 4) four times. Special values follow Annex G of C99."""
    one, zero, quarter = (number(value, dtype) for value in (1, 0, 0.25))
    is_large = op.greater(re, number(0.98 * math.log(float(np.finfo(dtype).max)), dtype))
    size = op.exp(op.where(is_large, op.multiply(re, quarter), re))
    again = op.where(is_large, size, one)
    lost = op.logical_and(op.isinf(re), op.logical_not(op.isfinite(im)))  # the direction of an infinity or of zero
    vanishes = op.logical_and(lost, op.less(re, zero))
    cosine, sine = op.where(lost, one, op.cos(im)), op.where(vanishes, zero, op.sin(im))
    real, imaginary = op.multiply(size, cosine), op.multiply(size, sine)
    for _ in range(3):
        real, imaginary = op.multiply(real, again), op.multiply(imaginary, again)
    return real, op.where(op.equal(im, zero), im, imaginary)


def exp(c: Conversion):
    re, im = parts(c)
    return pair(*_exponential(re, im, REAL[c.result.dtype]))


def _log_of_size(re, im, dtype: str):
    """log |z|: near 1 by |z|^2 - 1, whose digits do not cancel; otherwise of |z| / 4, which is finite."""
    a, b, one = op.abs(re), op.abs(im), number(1, dtype)
    small, large = op.minimum(a, b), op.maximum(a, b)
    apart = op.add(op.multiply(op.subtract(large, one), op.add(large, one)), op.multiply(small, small))
    near = op.multiply(op.log1p(apart), number(0.5, dtype))
    quarter = number(0.25, dtype)
    is_large = op.greater(large, one)
    quarters = functions.hypotenuse(*(op.where(is_large, op.multiply(part, quarter), part) for part in (a, b)))
    far = op.add(op.log(quarters), op.where(is_large, number(math.log(4), dtype), number(0, dtype)))
    is_near = op.logical_and(op.less(apart, number(2, dtype)), op.greater(apart, number(-0.5, dtype)))
    return op.where(is_near, near, far)


def _polar(c: Conversion) -> tuple:
    """The logarithm of the magnitude, and the angle."""
    (re, im), dtype = parts(c), REAL[c.val("self").dtype]
    return _log_of_size(re, im, dtype), functions.atan2(im, re)


def log(base: float = math.e):
    def convert(c: Conversion):
        size, direction = _polar(c)
        return _scaled(size, direction, 1 / math.log(base), c)

    return convert


def _scaled(re, im, factor: float, c: Conversion):
    factor = number(factor, REAL[c.result.dtype])
    return pair(op.multiply(re, factor), op.multiply(im, factor))


def sqrt(c: Conversion):
    """sqrt((|z| + |re|) / 2) is one part, and im over twice that the other: no difference loses digits. Very large and
    very small z are scaled by a power of four.
    """
    (re, im), dtype = parts(c), REAL[c.result.dtype]
    zero, half, one = (number(value, dtype) for value in (0, 0.5, 1))
    limits = np.finfo(dtype)
    size = op.maximum(op.abs(re), op.abs(im))
    is_large = op.greater(size, number(float(limits.max) / 8, dtype))
    is_small = op.less(size, number(float(limits.tiny) * 2.0**60, dtype))

    def chosen(for_large: float, for_small: float):
        return op.where(is_large, number(for_large, dtype), op.where(is_small, number(for_small, dtype), one))

    scale, back = chosen(2.0**-4, 2.0**60), chosen(2.0**2, 2.0**-30)
    a, b = (op.multiply(op.abs(part), scale) for part in (re, im))
    large = op.sqrt(op.multiply(op.add(functions.hypotenuse(a, b), a), half))
    small = op.where(op.equal(large, zero), zero, op.divide(op.multiply(b, half), large))
    large, small = op.where(op.isinf(b), b, large), op.where(op.isinf(b), b, small)
    large, small = op.multiply(large, back), op.multiply(small, back)
    is_right = op.greater_equal(re, zero)
    turned = op.where(is_right, small, large)
    below = functions.is_negative(im)
    return pair(op.where(is_right, large, small), op.where(below, op.negative(turned), turned))


def reciprocal(c: Conversion):
    return _reciprocal(*parts(c), REAL[c.result.dtype])


def _reciprocal(re, im, dtype: str):
    return _quotient(op.ones_like(re), op.zeros_like(re), re, im, dtype)


def _whole_power(exponent: int):
    """Imports a power as products, or as the reciprocal of products: an exponential of a logarithm loses the digits of
    a large exponent."""
    count = abs(exponent)

    def convert(c: Conversion):
        (a, b), made = parts(c), None
        for bit in reversed(range(count.bit_length())):
            for x, y in [made] * (made is not None) + [(a, b)] * (count >> bit & 1):
                made = (x, y) if made is None else (
                    op.subtract(op.multiply(made[0], x), op.multiply(made[1], y)),
                    op.add(op.multiply(made[0], y), op.multiply(made[1], x)),
                )  # fmt: skip
        return pair(*made) if exponent > 0 else _reciprocal(*made, REAL[c.result.dtype])

    return convert


_POWERS = {0.5: sqrt, -1: reciprocal, **{sign * n: _whole_power(sign * n) for n in range(2, 9) for sign in (1, -1)}}


def power(c: Conversion):
    """Computes exp(w log z). For z = 0 it is 1 if the exponent is 0, otherwise 0, as in PyTorch."""
    if not isinstance(c.val("exponent"), torch.Tensor) and c("exponent") in _POWERS:
        return _POWERS[c("exponent")](c)
    dtype = REAL[c.result.dtype]
    zero, one = number(0, dtype), number(1, dtype)
    (a, b), (x, y) = _component(c, "self"), _component(c, "exponent")
    b, y = (zero if part is None else part for part in (b, y))
    direction = functions.atan2(b, a)
    is_zero = op.logical_and(op.equal(a, zero), op.equal(b, zero))
    logarithm = _log_of_size(op.where(is_zero, one, a), b, dtype)
    size = op.subtract(op.multiply(x, logarithm), op.multiply(y, direction))
    turn = op.add(op.multiply(y, logarithm), op.multiply(x, direction))
    real, imaginary = _exponential(size, turn, dtype)
    of_zero = op.where(op.logical_and(op.equal(x, zero), op.equal(y, zero)), one, zero)
    re, im = op.where(is_zero, of_zero, real), op.where(is_zero, zero, imaginary)
    return pair(*(op.broadcast_to(part, shape=c.out_shape) for part in (re, im)))


def equal(c: Conversion):
    dtype = REAL[torch.result_type(c.val("self"), c.val("other"))]
    first, second = (_component(c, name, dtype) for name in ("self", "other"))
    both = (op.equal(*(number(0, dtype) if one is None else one for one in two))
            for two in zip(first, second, strict=True))  # fmt: skip
    return op.logical_and(*both)


def either(test):
    """Imports isnan and isinf, which are true if they are true of either part."""
    return lambda c: op.logical_or(*map(test, parts(c)))


def norm(c: Conversion):
    return reduce.vector_norm(c.given({"self": magnitude(c)}))


_OF_BOTH = {
    "unsqueeze": shape.expand_dims, "transpose.int": shape.transpose, "permute": shape.permute, "expand": shape.expand,
    "slice.Tensor": shape.slice, "select.int": shape.select, "flip": shape.flip, "roll": shape.roll,
    "t": shape.matrix_transpose, "cat": shape.cat, "stack": shape.stack, "repeat": shape.repeat,
    "repeat_interleave.self_int": shape.repeat_interleave, "split.Tensor": shape.split,
    "split_with_sizes": shape.split, "chunk": shape.split, "unbind.int": shape.unbind,
    "index_select": index.index_select, "index.Tensor": index.index, "gather": index.gather,
    "diagonal": index.diagonal, "unfold": index.unfold, "tril": create.triangle(False), "triu": create.triangle(True),
    "slice_scatter": scatter.slice_scatter, "select_scatter": scatter.select_scatter, "copy": scatter.copy,
    "scatter.src": scatter.scatter("update"), "scatter_add": scatter.scatter("add"), "index_put": scatter.index_put,
    "sum": reduce.reduce(op.sum), "sum.dim_IntList": reduce.reduce(op.sum),
    "mean": reduce.reduce(op.mean), "mean.dim": reduce.reduce(op.mean), "cumsum": reduce.running(op.cumsum),
    **dict.fromkeys(("view", "reshape", "_unsafe_view", "flatten.using_ints", "unflatten.int", "squeeze", "squeeze.dim",
                     "squeeze.dims"), shape.reshape),
}  # fmt: skip
_FILLED = {
    "scalar_tensor": filled("s"), "full": filled("fill_value"), "full_like": filled("fill_value"),
    "new_full": filled("fill_value"), **dict.fromkeys(("zeros", "zeros_like", "new_zeros"), filled()),
    **dict.fromkeys(("ones", "ones_like", "new_ones"), filled(given=1)),
}  # fmt: skip
# Operators of which one operand may be real.
_ARITHMETIC = {
    "add.Tensor": sum_of(1), "sub.Tensor": sum_of(-1), "mul.Tensor": multiply, "mul.Scalar": multiply,
    "rsub.Scalar": difference_from, "div.Tensor": divide, "div.Scalar": divide, "where.self": where,
    **dict.fromkeys(("pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar"), power),
}  # fmt: skip
# Operators that read complex tensors.
COMPLEX = {
    "view_as_real": same, "view_as_complex": same, "real": part(0), "imag": part(1), "abs": magnitude, "angle": angle,
    **_ARITHMETIC, **_FILLED, "neg": negate, "_conj": conjugate, "conj_physical": conjugate,
    "_conj_physical": conjugate, "_to_copy": to_complex, "to.dtype": to_complex, "exp": exp, "log": log(),
    "log2": log(2), "log10": log(10), "sqrt": sqrt, "reciprocal": reciprocal,
    "masked_fill.Scalar": masked_fill, "masked_fill.Tensor": masked_fill, "constant_pad_nd": pad, "pad": pad,
    "eq.Tensor": equal, "eq.Scalar": equal, "ne.Tensor": lambda c: op.logical_not(equal(c)),
    "ne.Scalar": lambda c: op.logical_not(equal(c)), "isnan": either(op.isnan), "isinf": either(op.isinf),
    "linalg_vector_norm": norm, "view.dtype": bits.view, "view_copy.dtype": bits.view,
    "mm": product_of_matrices(linear.mm), "bmm": product_of_matrices(linear.bmm),
    "addmm": addmm, "matmul": product_of_matrices(linear.matmul, second="other"),
    "linear": product_of_matrices(linear.linear, "input", "weight"),
    **dict.fromkeys(("resolve_conj", "resolve_neg", "clone", "contiguous", "alias", "detach", "lift_fresh_copy"), same),
    **{name: of_both(convert) for name, convert in _OF_BOTH.items()},
}  # fmt: skip
# Operators that make complex tensors from real ones.
TO_COMPLEX = {
    "complex": of_parts, "polar": polar, "_to_copy": to_complex, "to.dtype": to_complex, "view_as_complex": same,
    "_conj": conjugate, "view.dtype": bits.view, "view_copy.dtype": bits.view, **_ARITHMETIC, **_FILLED,
}  # fmt: skip
# Operators that are kept whole in every program, because a tensor that is real throughout has no imaginary part.
WHOLE = ("view_as_real", "view_as_complex", "real", "imag", "complex", "polar", "_conj", "conj_physical",
         "_conj_physical", "resolve_conj", "resolve_neg", "angle")  # fmt: skip
OPERATORS = {name: COMPLEX.get(name) or TO_COMPLEX[name] for name in WHOLE}
