"""Tensor expressions, which define each element of an operator's result.

    def compute(x, w):                     # relay.te.Tensor: name, shape, dtype
        rows, columns = x.shape[0], w.shape[1]
        return te.sum((rows, columns), (x.shape[1],), lambda i, j, k: x[i, k] * w[k, j])

A body is a function from indices (int64 numbers) to a number. It is built from elements x[i, j], Python numbers, + - *
/ // %, comparisons (joined by & and |), and the functions below. Both operands of an operation have the same element
type; cast() changes it. select(c, a, b) evaluates only the chosen side. An unguarded index outside a tensor reads the
nearest element.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from . import _core

__all__ = [
    "Number",
    "Tensor",
    "cast",
    "compute",
    "maximum",
    "minimum",
    "number",
    "power",
    "reduce",
    "select",
    "sum",
]

_FLOATS = ("float", "bfloat")
_names = itertools.count()


class Number:
    """A scalar expression of one element type."""

    def __init__(self, core: _core.Dim):
        self.core = core

    dtype = property(lambda self: _core.te_dtype(self.core))

    def __bool__(self):
        raise TypeError(
            "a number of a tensor expression has no value while the program is built: use te.select(condition, a, b)"
        )

    def __repr__(self):
        return repr(self.core)

    __hash__ = None

    def __add__(self, other):
        return _binary("add", self, other)

    def __radd__(self, other):
        return _binary("add", other, self)

    def __sub__(self, other):
        return _binary("subtract", self, other)

    def __rsub__(self, other):
        return _binary("subtract", other, self)

    def __mul__(self, other):
        return _binary("multiply", self, other)

    def __rmul__(self, other):
        return _binary("multiply", other, self)

    def __truediv__(self, other):
        return _divided(self, other)

    def __rtruediv__(self, other):
        return _divided(other, self)

    def __floordiv__(self, other):
        return _binary("floordiv", self, other)

    def __rfloordiv__(self, other):
        return _binary("floordiv", other, self)

    def __mod__(self, other):
        return _binary("floormod", self, other)

    def __rmod__(self, other):
        return _binary("floormod", other, self)

    def __neg__(self):
        return Number(_core.te_unary("neg", self.core))

    def __abs__(self):
        return Number(_core.te_unary("abs", self.core))

    def __eq__(self, other):
        return _binary("eq", self, other)

    def __ne__(self, other):
        return _binary("ne", self, other)

    def __lt__(self, other):
        return _binary("lt", self, other)

    def __le__(self, other):
        return _binary("le", self, other)

    def __gt__(self, other):
        return _binary("lt", other, self)

    def __ge__(self, other):
        return _binary("le", other, self)

    def __and__(self, other):
        return _logical("and", self, other)

    def __or__(self, other):
        return _logical("or", self, other)

    def __invert__(self):
        if self.dtype != "bool":
            raise TypeError(f"~ is for conditions, and this is {self.dtype}")
        return Number(_core.te_unary("not", self.core))


class Tensor:
    """A tensor: x.shape, x.dtype, and its elements x[i, j]."""

    def __init__(self, core: _core.TeTensor):
        self.core = core

    name = property(lambda self: self.core.name)
    dtype = property(lambda self: self.core.dtype)
    shape = property(lambda self: tuple(self.core.shape), doc="ints, and relay.Dim where a size is not known.")
    ndim = property(lambda self: len(self.core.shape))

    def __getitem__(self, indices) -> Number:
        indices = indices if isinstance(indices, tuple) else (indices,)
        return Number(_core.te_load(self.core, [_index(i) for i in indices]))

    def __repr__(self):
        return repr(self.core)


def _index(value) -> _core.Dim:
    if isinstance(value, Number):
        return value.core if value.dtype == "int64" else _core.te_cast("int64", value.core)
    return _core.te_size(value)


def number(value, dtype: str = "float32") -> Number:
    """Returns a constant, or the value of a size of a shape: number(x.shape[0], "float32")."""
    if isinstance(value, _core.Dim):
        return cast(Number(value), dtype)
    return Number(_core.te_number(value, dtype))


def _number(value) -> Number:
    """The value if it is a number of a tensor expression, or a size as one."""
    if isinstance(value, _core.Dim):
        return Number(value)
    if not isinstance(value, Number):
        raise TypeError(f"{value!r} is not a number of a tensor expression: convert it with te.number")
    return value


def _pair(a, b) -> tuple[Number, Number]:
    """Returns both operands as numbers of one type. A plain number takes the type of the other operand."""
    if isinstance(a, _core.Dim):
        a = Number(a)
    if isinstance(b, _core.Dim):
        b = Number(b)
    if not isinstance(a, Number):
        a = number(a, _number(b).dtype)
    if not isinstance(b, Number):
        b = number(b, a.dtype)
    if a.dtype != b.dtype:
        raise TypeError(f"operands are {a.dtype} and {b.dtype}: convert one of them with te.cast()")
    return a, b


def _binary(op: str, a, b) -> Number:
    a, b = _pair(a, b)
    return Number(_core.te_binary(op, a.core, b.core))


def _divided(a, b) -> Number:
    a, b = _pair(a, b)
    if not a.dtype.startswith(_FLOATS):
        raise TypeError(f"/ is for floats, and these are {a.dtype}: use //, or te.cast()")
    return Number(_core.te_binary("divide", a.core, b.core))


def _logical(op: str, a, b) -> Number:
    a, b = _pair(a, b)
    if a.dtype != "bool":
        raise TypeError(f"& and | are for conditions, and these are {a.dtype}")
    return Number(_core.te_binary(op, a.core, b.core))


def minimum(a, b) -> Number:
    """Returns the lesser number, or NaN if either is NaN."""
    return _binary("min", a, b)


def maximum(a, b) -> Number:
    """Returns the greater number, or NaN if either is NaN."""
    return _binary("max", a, b)


def power(a, b) -> Number:
    """Returns a to the power of b."""
    return _binary("power", a, b)


def select(condition: Number, then, otherwise) -> Number:
    """Returns `then` if the condition holds, otherwise the other value. Only the chosen side is evaluated."""
    condition = _number(condition)
    if condition.dtype != "bool":
        raise TypeError(f"the condition is {condition.dtype}")
    then, otherwise = _pair(then, otherwise)
    return Number(_core.te_select(condition.core, then.core, otherwise.core))


def cast(value: Number, dtype: str) -> Number:
    """Returns the number converted to another element type."""
    return Number(_core.te_cast(dtype, _number(value).core))


def _function(op: str) -> Callable[[Number], Number]:
    def apply(x: Number) -> Number:
        x = _number(x)
        if not x.dtype.startswith(_FLOATS):
            raise TypeError(f"{op} is for floats, and this is {x.dtype}: convert it with te.cast()")
        return Number(_core.te_unary(op, x.core))

    apply.__name__ = apply.__qualname__ = op
    apply.__doc__ = f"{op} of a float."
    return apply


for _op in (
    "exp",
    "log",
    "sqrt",
    "rsqrt",
    "tanh",
    "erf",
    "sin",
    "cos",
    "tan",
    "atan",
    "floor",
    "ceil",
    "round",
    "trunc",
):
    globals()[_op] = _function(_op)
    __all__.append(_op)


def sigmoid(x: Number) -> Number:
    """Returns 1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + globals()["exp"](-_number(x)))


__all__.append("sigmoid")


def _core_of(value, what: str) -> _core.Dim:
    if not isinstance(value, Number):
        raise TypeError(f"{what} returns {value!r}: expected a number of a tensor expression (te.number)")
    return value.core


def compute(shape, body: Callable, name: str = "") -> Tensor:
    """Defines out[i, j, ..] = body(i, j, ..)."""

    def of(axes):
        return _core_of(body(*map(Number, axes)), "the body")

    return Tensor(_core.te_compute(name or f"stage{next(_names)}", list(shape), of))


def reduce(combiner: str, shape, extents, body: Callable, name: str = "") -> Tensor:
    """Defines out[i, ..] as the "sum", "prod", "max" or "min" of body(i, .., k, ..) over k < extents[0], .."""

    def of(axes, inner):
        return _core_of(body(*map(Number, axes), *map(Number, inner)), "the body")

    return Tensor(_core.te_reduce(name or f"{combiner}{next(_names)}", list(shape), list(extents), combiner, of))


def sum(shape, extents, body: Callable, name: str = "") -> Tensor:  # noqa: A001
    """Defines out[i, ..] as the sum of body(i, .., k, ..) over k < extents[0], .."""
    return reduce("sum", shape, extents, body, name)


def outputs(results) -> list[_core.TeTensor]:
    """Returns the results of an operator's compute function as a list."""
    results = results if isinstance(results, (tuple, list)) else (results,)
    for result in results:
        if not isinstance(result, Tensor):
            raise TypeError(f"compute returns {result!r}: expected a te.Tensor or a tuple of them")
    return [result.core for result in results]
