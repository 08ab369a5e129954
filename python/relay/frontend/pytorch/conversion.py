"""The view that a converter has of a node: arguments by name, types, and methods to make expressions or to refuse."""

from __future__ import annotations

import collections
import fractions
import functools
import math
import operator

import numpy as np
import torch

from ... import _core, op
from ..._core import Dim, Expr
from ...data.arrays import array
from ...ir.expr import const
from ..shared import expressions, problems

IN_EVALUATION = "call module.eval() before the export"
OTHER_OPERATORS = (
    "write these parts with other operators, or give converters (relay.frontend.converter); the table of those that "
    "are imported is relay/frontend/pytorch/table.py"
)


class Refused(problems.Refused):
    """This form of an operator cannot be imported. The text is the reason, and `help` says what to do instead."""

    nodes: tuple = ()

    def __init__(self, why: str, nodes=(), help: str = "write this part in another form"):
        super().__init__(why, help)
        self.nodes = tuple(nodes)


class UnknownSize(Refused):
    """This form needs a size, or a number computed from sizes, that is known only at run time."""

    def __init__(self, why: str):
        super().__init__(
            why, help="export with a fixed size: leave it out of dynamic_shapes (torch.compile: dynamic=False)"
        )


def dtype_name(dtype: torch.dtype) -> str:
    """Returns a name such as "float32". Refuses types that Relay lacks."""
    name = str(dtype).removeprefix("torch.")
    if name in ("bool", "float16", "bfloat16", "float32", "float64") or name.lstrip("u") in (
        "int8",
        "int16",
        "int32",
        "int64",
    ):
        return name
    raise Refused(f"elements of {name} are not supported", help="convert them to a type that Relay supports")


def size(value) -> int | Dim:
    """Returns a size of PyTorch as a size of Relay. Symbols become shape variables.

    A size that the ranges of its symbols determine is a number: 1 - max(0, 1 - n) with n > 1.
    """
    if isinstance(value, int):
        return value
    expr, ranges = value.node.expr, value.node.shape_env
    if ranges is not None and not expr.is_Symbol:
        bounds = ranges.bound_sympy(expr)
        if bounds.lower == bounds.upper and bounds.lower.is_Integer:
            return int(bounds.lower)
    return _size_of_symbols(expr)


def _size_of_symbols(expr) -> int | Dim:
    kind = type(expr).__name__
    if expr.is_Integer:
        return int(expr)
    if expr.is_Float and float(expr).is_integer():
        return int(expr)
    if expr.is_Symbol:
        return Dim(str(expr))
    if kind in _OF_FLOATS:
        quotient = _exact_quotient(expr)
        if quotient is None:
            return Dim(name_of_computed(expr))
        numerator, denominator = quotient
        return numerator if denominator == 1 else numerator // denominator
    parts = [_size_of_symbols(part) for part in expr.args]
    if kind == "Add":
        return sum(parts[1:], parts[0])
    if kind == "Mul":
        return math.prod(parts[1:], start=parts[0])
    if kind == "Pow" and isinstance(parts[1], int) and parts[1] > 0:
        return math.prod([parts[0]] * (parts[1] - 1), start=parts[0])
    if kind == "ToFloat":
        return parts[0]
    if kind in ("FloorDiv", "CleanDiv"):
        return parts[0] // parts[1]
    if kind in ("Mod", "PythonMod"):
        return parts[0] % parts[1]
    if kind in ("Max", "Min"):
        return functools.reduce(getattr(Dim, kind.lower()), parts[1:], Dim(parts[0]))
    raise UnknownSize(f"the size {expr} cannot be expressed in Relay")


_OF_FLOATS = ("TruncToInt", "FloorToInt", "CeilToInt")


def _exact_quotient(expr) -> tuple[int | Dim, int] | None:
    """Returns a quotient of sizes as _quotient_of_sizes does, for a float that is rounded towards zero. Returns None if
    there is no such quotient."""
    try:
        return None if type(expr).__name__ == "CeilToInt" else _quotient_of_sizes(expr.args[0])
    except Refused:
        return None


def computed_sizes(expr) -> list:
    """Returns the parts of a size that are computed in floats, whose rounding a formula of sizes cannot express. Inner
    parts come first."""
    inner = [one for part in expr.args for one in computed_sizes(part)]
    is_computed = type(expr).__name__ in _OF_FLOATS and _exact_quotient(expr) is None
    return [*inner, expr] if is_computed else inner


def name_of_computed(expr) -> str:
    """Returns the name of the shape variable for a size that is computed in floats. Each formula has its own name."""
    if expr.args:
        kind = type(expr).__name__
        count = len(expr.args) if kind in ("Add", "Mul", "Max", "Min") else ""
        return "_".join([f"{kind}{count}", *map(name_of_computed, expr.args)])
    text = repr(float(expr)) if expr.is_Float else str(expr)
    return text.replace("-", "minus").replace(".", "p").replace("+", "")


def _quotient_of_sizes(expr) -> tuple[int | Dim, int]:
    """Returns a non-negative float as a size over a power of two, if its product in floats is exact."""
    if expr.is_Float and (exact := fractions.Fraction(float(expr))).denominator <= 2**10:
        return exact.numerator, exact.denominator
    if type(expr).__name__ == "Mul":
        numerators, denominators = zip(*map(_quotient_of_sizes, expr.args), strict=True)
        return math.prod(numerators[1:], start=numerators[0]), math.prod(denominators)
    return _size_of_symbols(expr), 1


_ARITHMETIC = {
    "Add": op.add, "Mul": op.multiply, "FloorDiv": op.floor_divide, "CleanDiv": op.floor_divide,
    "Mod": op.floor_mod, "PythonMod": op.floor_mod, "Max": op.maximum, "Min": op.minimum, "FloatPow": op.power,
}  # fmt: skip
_QUOTIENTS = {"IntTrueDiv", "FloatTrueDiv"}


def is_unbacked(symbol) -> bool:
    """Returns true if a symbol of torch.export stands for a number that depends on elements of a tensor."""
    return str(symbol).startswith(("u", "zuf"))


def sizes_of(value: Expr, val) -> dict:
    """Returns the places where symbols of sizes are read: (the tensor, the axis) by symbol."""
    symbols = [None if isinstance(one, int) else one.node.expr for one in val.shape]
    return {one: (value, axis) for axis, one in enumerate(symbols) if one is not None and one.is_Symbol}


def number_of_sizes(expr, sizes: dict) -> tuple[Expr, str]:
    """Returns a number that is computed from sizes, as a tensor without axes, and its type.

    sizes: for each symbol, a tensor and the axis that has the size, or the number itself and its type.
    """
    if expr.is_Integer:
        return number(int(expr), "int64"), "int64"
    if expr.is_Float:
        return number(float(expr), "float64"), "float64"
    if expr in sizes:
        value, axis = sizes[expr]
        if isinstance(axis, str):
            return value, axis
        return op.squeeze(op.strided_slice(op.shape_of(value, dtype="int64"), begin=[axis], end=[axis + 1])), "int64"
    kind = type(expr).__name__
    parts = [number_of_sizes(part, sizes) for part in expr.args]
    if kind == "ToFloat":
        return cast(*parts[0], "float64"), "float64"
    if kind in _OF_FLOATS:
        function = {"FloorToInt": op.floor, "TruncToInt": op.trunc, "CeilToInt": op.ceil}[kind]
        return op.cast(function(cast(*parts[0], "float64")), "int64"), "int64"
    if kind in _QUOTIENTS:
        return op.divide(*(cast(*part, "float64") for part in parts)), "float64"
    if kind not in _ARITHMETIC:
        raise UnknownSize(f"the number {expr}, which is computed from sizes, is an operand")
    dtype = "float64" if any(of == "float64" for _, of in parts) else "int64"
    result, *more = (cast(*part, dtype) for part in parts)
    for part in more:
        result = _ARITHMETIC[kind](result, part)
    return result, dtype


def number_of_size(value, sizes: dict) -> Expr:
    """Returns a size of PyTorch, in the form that number_of_sizes reads, or a number, as an int64."""
    return number(value, "int64") if isinstance(value, int) else number_of_sizes(value.node.expr, sizes)[0]


def numbers_of_sizes(values: list, sizes: dict) -> Expr:
    """Returns several such numbers as a vector."""
    return op.stack([number_of_size(one, sizes) for one in values], axis=0)


def each(value, axes: int) -> list[int]:
    """Returns an argument that has a number for each axis, or one for all axes."""
    value = [value] if isinstance(value, int) else list(value)
    return value * axes if len(value) == 1 else value


def counted(extent: int | Dim, dtype: str = "int64") -> Expr:
    """Returns 0, 1, .. below a size."""
    if isinstance(extent, int):
        return const(np.arange(extent).astype(dtype))
    return op.cumsum(op.full(number(1, dtype), shape=[extent]), axis=0, exclusive=True)


def _real(dtype: torch.dtype) -> torch.dtype:
    return dtype.to_real() if dtype.is_complex else dtype


class Conversion:
    """A call of an ATen operator. c("dim") is an argument: an Expr, a list of Exprs, a size, or a plain value."""

    def __init__(self, node, values: dict, sizes: dict):
        self.node = node
        schema = node.target._schema.arguments
        given = dict(zip((a.name for a in schema), node.args, strict=False)) | dict(node.kwargs)
        self._raw = {a.name: given.get(a.name, a.default_value if a.has_default_value() else None) for a in schema}
        self.names = [a.name for a in schema]
        self._values, self._sizes = values, sizes
        self._lifted, self._computed_in, self._given = set(), {}, {}
        self.result = node.meta.get("val")

    def __call__(self, name: str):
        value = self._given[name] if name in self._given else self._of(self._raw[name])
        if name in self._computed_in:
            value = op.cast(value, self._computed_in[name])
        return op.expand_dims(value, axis=0) if name in self._lifted else value

    def lift(self, *names: str) -> bool:
        """Turns arguments without axes into vectors of one element. Returns true if there is one."""
        for name in names:
            if isinstance(self._raw.get(name), torch.fx.Node) and self.rank(name) == 0:
                self._lifted.add(name)
        return bool(self._lifted)

    def compute_in(self, name: str, dtype: str) -> None:
        """Sets the type of an argument, and of the result."""
        self._computed_in[name] = dtype

    def uses(self, place: int) -> bool:
        """Returns true if this one of several results is read."""

        def reads(user):
            return user.target is not operator.getitem or (user.args[1] == place and len(user.users) > 0)

        return any(map(reads, self.node.users))

    def _of(self, raw):
        if isinstance(raw, torch.fx.Node):
            val = raw.meta.get("val")
            if isinstance(val, torch.SymInt):
                return size(val)
            if isinstance(val, (torch.SymFloat, torch.SymBool)):
                raise UnknownSize("a number that is computed from sizes is an operand")
            return self._values[raw]
        if isinstance(raw, (list, tuple)):
            return [self._of(one) for one in raw]
        return raw

    def given(self, values: dict[str, Expr | None]) -> Conversion:
        """Returns the same call with other expressions, or None, for these arguments."""
        made = Conversion(self.node, self._values, self._sizes)
        made._given = values
        return made

    def of_part(self, place: int) -> Conversion:
        """Returns the same call of the real (0) or imaginary (1) parts of its arguments, except indices."""
        parts = {}
        for one in self.node.all_input_nodes:
            val = one.meta.get("val")
            if isinstance(val, torch.Tensor) and val.is_complex():
                parts[one] = op.take(self._values[one], number(place, "int32"), axis=val.dim(), mode="checked")
            elif isinstance(val, torch.Tensor) and val.is_floating_point() and place == 1:
                parts[one] = op.zeros_like(self._values[one])
        return Conversion(self.node, collections.ChainMap(parts, self._values), self._sizes)

    def has(self, name: str) -> bool:
        """Returns true if the argument is given and not None."""
        return self._given.get(name, self._raw.get(name)) is not None

    def val(self, name: str):
        """Returns the fake tensor, or plain value, that stands for the argument."""
        raw = self._raw[name]
        return raw.meta["val"] if isinstance(raw, torch.fx.Node) else raw

    def numbers(self, name: str) -> Expr:
        """Returns a list of numbers, some of which are sizes, as a vector of int64."""
        found = [raw.meta["val"] if isinstance(raw, torch.fx.Node) else raw for raw in self._raw[name]]
        return numbers_of_sizes(found, self._sizes)

    def shape(self, name: str) -> list:
        return [1] if name in self._lifted else [size(one) for one in self.val(name).shape]

    def rank(self, name: str) -> int:
        return 1 if name in self._lifted else self.val(name).dim()

    def axis(self, name: str = "dim", of: str = "self", more: int = 0) -> int:
        """Returns an axis, counted from the front."""
        value = self(name)
        rank = max(self.rank(of) + more, 1)
        return value % rank

    def axes(self, name: str = "dim", of: str = "self") -> list[int]:
        """Returns axes, counted from the front, or all axes if none is given."""
        value = self(name)
        if value is None or value == []:
            return list(range(self.rank(of)))
        return [one % max(self.rank(of), 1) for one in ([value] if isinstance(value, int) else value)]

    @property
    def dtype(self) -> str:
        """The element type of the (first) result; for complex numbers, the type of their parts."""
        if self._computed_in:
            return next(iter(self._computed_in.values()))
        return dtype_name(_real(self._first().dtype))

    @property
    def out_shape(self) -> list:
        return [size(one) for one in self._first().shape]

    def makes_sizes(self) -> bool:
        """Returns true if a size of the result depends on elements and no earlier node provides it."""
        sizes = [one.node.expr for one in self._first().shape if not isinstance(one, int)]
        return any(is_unbacked(one) and one not in self._sizes for size in sizes for one in size.free_symbols)

    def _first(self):
        return self.result[0] if isinstance(self.result, (tuple, list)) else self.result

    def common_dtype(self, *names: str) -> str:
        """Returns the type that PyTorch promotes the two arguments to."""
        return dtype_name(torch.result_type(*(self.val(name) for name in names)))

    def as_(self, name: str, dtype: str | None = None) -> Expr:
        """Returns the argument, a tensor or a number, with elements of `dtype` (by default the result's)."""
        dtype = self.dtype if dtype is None else dtype
        val = self.val(name)
        if isinstance(val, torch.Tensor):
            return cast(self(name), dtype_name(_real(val.dtype)), dtype)
        if isinstance(val, (torch.SymInt, torch.SymFloat)):
            return cast(*number_of_sizes(val.node.expr, self._sizes), dtype)
        return number(val, dtype)


def cast(value: Expr, source: str, dtype: str) -> Expr:
    return value if source == dtype else op.cast(value, dtype)


def exact_type(dtype: str) -> str:
    """The type in which sums, squares and curves of this type are computed: float32 for half precisions."""
    return "float32" if dtype in ("float16", "bfloat16") else dtype


def number(value, dtype: str) -> Expr:
    """Returns a constant scalar."""
    if isinstance(value, Dim):
        raise UnknownSize(f"the size {value} is known only at run time, where a number must be")
    return expressions.number(value, dtype)


def empty(val) -> Expr | None:
    """Returns an empty tensor if the result has no elements, otherwise None."""
    if not isinstance(val, torch.Tensor) or not any(isinstance(one, int) and one == 0 for one in val.shape):
        return None
    parts = [2] if val.dtype.is_complex else []
    return op.full(number(0, dtype_name(_real(val.dtype))), shape=[*(size(one) for one in val.shape), *parts])


def checks_sizes(convert):
    """Marks a converter that is called even if its result has no elements, because it refuses some sizes."""
    convert.checks_sizes = True
    return convert


def constant(tensor: torch.Tensor, shared: bool = False) -> Expr:
    """Returns a constant with a copy of the elements, or with the tensor's own memory if `shared` is set and it is
    row-major. For complex numbers, the parts are a last axis."""
    if tensor.is_meta:
        raise Refused(
            "it has no elements on the device meta: load the weights first",
            help="load the weights first, for example with module.to_empty(device='cpu') and load_state_dict",
        )
    tensor = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
    dtype_name(tensor.dtype)
    stored = tensor.detach().cpu().contiguous()
    is_own = shared or stored.layout != torch.strided or stored.data_ptr() != tensor.data_ptr()
    return _core.Constant.sharing(array(stored) if is_own else array(stored).copied())


def of_vectors(*names: str):
    """Makes a converter of tensors with axes accept these arguments without axes too."""

    def decorate(convert):
        def convert_any(c: Conversion):
            if not c.lift(*names):
                return convert(c)
            made = convert(c)
            if isinstance(made, list):
                shapes = [[size(extent) for extent in one.shape] for one in c.result]
                return [op.reshape(one, newshape=shape) for one, shape in zip(made, shapes, strict=True)]
            return op.reshape(made, newshape=c.out_shape)

        return convert_any

    return decorate
