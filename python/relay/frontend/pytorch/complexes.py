"""Complex numbers. A complex tensor is one of floats with a last axis of two: the real and the imaginary part.

The operators of this file compute with them, and those that only move or sum elements do so with both parts; every
other is refused.
"""

from __future__ import annotations

import math

import torch

from ... import op
from . import bits, create, elementwise, index, linear, reduce, scatter, shape
from .conversion import Conversion, Refused, cast, number

REAL = {torch.complex64: "float32", torch.complex128: "float64", torch.float32: "float32", torch.float64: "float64"}


def same(c: Conversion):
    """view_as_real and view_as_complex."""
    return c("self")


def part(place: int):
    """real and imag."""

    def convert(c: Conversion):
        if not c.val("self").is_complex():
            if place == 0:
                return c("self")
            raise Refused("the imaginary part of what is not complex")
        return op.take(c("self"), number(place, "int32"), axis=c.rank("self"), mode="checked")

    return convert


def parts(c: Conversion):
    return part(0)(c), part(1)(c)


def magnitude(c: Conversion):
    re, im = parts(c)
    return op.sqrt(op.add(op.multiply(re, re), op.multiply(im, im)))


def pair(re, im):
    return op.stack([re, im], axis=-1)


def _component(c: Conversion, name: str, dtype: str | None = None) -> tuple:
    """The parts of an argument; None for the imaginary part of what is real."""
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
    """add and sub, with a real factor."""

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
    """Of pairs of parts, one of them real or both complex; `times` is a product of real numbers."""
    (a, b), (x, y) = one, other
    if b is None or y is None:
        return pair(times(a, x), times(a, y) if b is None else times(b, x))
    return pair(op.subtract(times(a, x), times(b, y)), op.add(times(a, y), times(b, x)))


def multiply(c: Conversion):
    return _product(_component(c, "self"), _component(c, "other"))


def product_of_matrices(convert, first: str = "self", second: str = "mat2"):
    """Of four real products, or two where one matrix is real."""

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
    """rsub, without a factor."""
    if c("alpha") not in (1, None):
        raise Refused("a factor of complex numbers")
    (a, b), (x, y) = _component(c, "self"), _component(c, "other")
    zero = number(0, REAL[c.result.dtype])
    im = op.subtract(zero if y is None else y, zero if b is None else b)
    return pair(op.subtract(x, a), op.broadcast_to(im, shape=c.out_shape))


def divide(c: Conversion):
    """By a complex number: times its conjugate, over the square of its magnitude."""
    (a, b), (x, y) = _component(c, "self"), _component(c, "other")
    b = op.zeros_like(a) if b is None else b
    if y is None:
        return pair(op.divide(a, x), op.divide(b, x))
    square = op.add(op.multiply(x, x), op.multiply(y, y))
    re = op.add(op.multiply(a, x), op.multiply(b, y))
    im = op.subtract(op.multiply(b, x), op.multiply(a, y))
    return pair(op.divide(re, square), op.divide(im, square))


def where(c: Conversion):
    zero = number(0, REAL[c.result.dtype])
    first, second = _component(c, "self"), _component(c, "other")
    chosen = (op.where(c("condition"), *(zero if one is None else one for one in two))
              for two in zip(first, second, strict=True))  # fmt: skip
    return pair(*(op.broadcast_to(one, shape=c.out_shape) for one in chosen))


def filled(name: str | None = None, given: float = 0):
    """By an argument, or by the value."""

    def convert(c: Conversion):
        value = complex(c(name) if name else given)
        dtype = REAL[c.result.dtype]
        return pair(*(op.full(number(one, dtype), shape=c.out_shape) for one in (value.real, value.imag)))

    return convert


def conjugate(c: Conversion):
    """Of a tensor, or of a number that a gradient has."""
    if isinstance(c.val("self"), torch.Tensor) and not c.val("self").is_complex():
        return c("self")
    re, im = _component(c, "self")
    return pair(re, op.negative(im))


def negate(c: Conversion):
    return op.negative(c("self"))


def of_parts(c: Conversion):
    """torch.complex"""
    shape = c.out_shape
    return pair(*(op.broadcast_to(c(name), shape=shape) for name in ("real", "imag")))


def polar(c: Conversion):
    size, direction = c("abs"), c("angle")
    return pair(op.multiply(size, op.cos(direction)), op.multiply(size, op.sin(direction)))


def to_complex(c: Conversion):
    """A real tensor as a complex one; a complex one in another precision."""
    dtype = REAL[c.result.dtype]
    if c.val("self").is_complex():
        return cast(c("self"), REAL[c.val("self").dtype], dtype)
    re = c.as_("self", dtype)
    return pair(re, op.zeros_like(re))


def of_both(convert):
    """What moves or sums elements, of both parts."""

    def both(c: Conversion):
        re, im = (convert(c.of_part(place)) for place in (0, 1))
        return list(map(pair, re, im)) if isinstance(re, list) else pair(re, im)

    return both


def pad(c: Conversion):
    if c("value"):
        raise Refused("padding of complex numbers by other than zeros")
    return of_both(shape.pad())(c)


def masked_fill(c: Conversion):
    zero = number(0, REAL[c.result.dtype])
    chosen = zip(_component(c, "value"), parts(c), strict=True)
    return pair(*(op.where(c("mask"), zero if value is None else value, one) for value, one in chosen))


def angle(c: Conversion):
    """Of real numbers 0 or pi."""
    if c.val("self").is_complex():
        re, im = parts(c)
        return elementwise.arctangent(im, re, c.dtype)
    x, zero, pi = c.as_("self"), number(0, c.dtype), number(math.pi, c.dtype)
    found = op.where(op.less(x, zero), pi, zero)
    return op.where(op.isnan(x), x, found) if c.val("self").dtype.is_floating_point else found


def exp(c: Conversion):
    re, im = parts(c)
    size = op.exp(re)
    return pair(op.multiply(size, op.cos(im)), op.multiply(size, op.sin(im)))


def _polar(c: Conversion) -> tuple:
    """Magnitude and angle."""
    re, im = parts(c)
    return magnitude(c), elementwise.arctangent(im, re, REAL[c.val("self").dtype])


def log(base: float = math.e):
    def convert(c: Conversion):
        size, direction = _polar(c)
        return _scaled(op.log(size), direction, 1 / math.log(base), c)

    return convert


def _scaled(re, im, factor: float, c: Conversion):
    factor = number(factor, REAL[c.result.dtype])
    return pair(op.multiply(re, factor), op.multiply(im, factor))


def sqrt(c: Conversion):
    """sqrt((|z| + |re|) / 2) is one part, and im over twice that the other: no difference loses digits."""
    (re, im), dtype = parts(c), REAL[c.result.dtype]
    zero, half = number(0, dtype), number(0.5, dtype)
    large = op.sqrt(op.multiply(op.add(magnitude(c), op.abs(re)), half))
    small = op.where(op.equal(large, zero), zero, op.divide(op.multiply(op.abs(im), half), large))
    is_right = op.greater_equal(re, zero)
    size = op.where(is_right, small, large)
    below = elementwise.is_negative(im, dtype)
    return pair(op.where(is_right, large, small), op.where(below, op.negative(size), size))


def reciprocal(c: Conversion):
    re, im = parts(c)
    square = op.add(op.multiply(re, re), op.multiply(im, im))
    return pair(op.divide(re, square), op.divide(op.negative(im), square))


_POWERS = {2: lambda c: _product(parts(c), parts(c)), 0.5: sqrt, -1: reciprocal}


def power(c: Conversion):
    """exp(w log z), of 0 as PyTorch has it: 1 where the exponent is 0, else 0."""
    if not isinstance(c.val("exponent"), torch.Tensor) and c("exponent") in _POWERS:
        return _POWERS[c("exponent")](c)
    dtype = REAL[c.result.dtype]
    zero, one = number(0, dtype), number(1, dtype)
    (a, b), (x, y) = _component(c, "self"), _component(c, "exponent")
    b, y = (zero if part is None else part for part in (b, y))
    size = op.sqrt(op.add(op.multiply(a, a), op.multiply(b, b)))
    direction = elementwise.arctangent(b, a, dtype)
    is_zero = op.equal(size, zero)
    logarithm = op.log(op.where(is_zero, one, size))
    scale = op.exp(op.subtract(op.multiply(x, logarithm), op.multiply(y, direction)))
    turn = op.add(op.multiply(y, logarithm), op.multiply(x, direction))
    of_zero = op.where(op.logical_and(op.equal(x, zero), op.equal(y, zero)), one, zero)
    re = op.where(is_zero, of_zero, op.multiply(scale, op.cos(turn)))
    im = op.where(is_zero, zero, op.multiply(scale, op.sin(turn)))
    return pair(*(op.broadcast_to(part, shape=c.out_shape) for part in (re, im)))


def equal(c: Conversion):
    dtype = REAL[torch.result_type(c.val("self"), c.val("other"))]
    first, second = (_component(c, name, dtype) for name in ("self", "other"))
    both = (op.equal(*(number(0, dtype) if one is None else one for one in two))
            for two in zip(first, second, strict=True))  # fmt: skip
    return op.logical_and(*both)


def either(test):
    """isnan and isinf: one part or the other."""
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
# Of which one operand may be real.
_ARITHMETIC = {
    "add.Tensor": sum_of(1), "sub.Tensor": sum_of(-1), "mul.Tensor": multiply, "mul.Scalar": multiply,
    "rsub.Scalar": difference_from, "div.Tensor": divide, "div.Scalar": divide, "where.self": where,
    **dict.fromkeys(("pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar"), power),
}  # fmt: skip
# Those that read complex tensors.
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
# Those that make complex tensors of real ones.
TO_COMPLEX = {
    "complex": of_parts, "polar": polar, "_to_copy": to_complex, "to.dtype": to_complex, "view_as_complex": same,
    "_conj": conjugate, "view.dtype": bits.view, "view_copy.dtype": bits.view, **_ARITHMETIC, **_FILLED,
}  # fmt: skip
# What stays whole in every program; a tensor that is real all along has no imaginary part.
WHOLE = ("view_as_real", "view_as_complex", "real", "imag", "complex", "polar", "_conj", "conj_physical",
         "_conj_physical", "resolve_conj", "resolve_neg", "angle")  # fmt: skip
OPERATORS = {name: COMPLEX.get(name) or TO_COMPLEX[name] for name in WHOLE}
