"""Constants of PaddlePaddle, and tensors that are filled."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ..._core import Dim, Expr
from ..shared.expressions import bounded, cast, dtype_of, is_known, known, number, numpy_type
from ..shared.problems import Refused
from ..shared.values import size_number
from .conversion import Operator
from .shape import MOST, sizes_given


def _filled(c: Operator, sizes: list | Expr, value: float | Expr, dtype: str):
    """Returns a tensor of one value, which is known at import if its sizes are."""
    if isinstance(value, Expr):
        value = cast(op.reshape(value, newshape=[]), dtype)
        if isinstance(sizes, Expr):
            return op.dyn.full(value, sizes, dtype=dtype)
        if not is_known(*sizes):
            return op.dyn.full(value, op.stack([size_number(one) for one in sizes], axis=0), dtype=dtype)
        return op.full(value, sizes, dtype=dtype)
    if isinstance(sizes, Expr):
        return op.dyn.full(number(value, dtype), sizes, dtype=dtype)
    if not is_known(*sizes):
        return op.full(number(value, dtype), sizes, dtype=dtype)
    if any(one < 0 for one in sizes):
        raise Refused(f"the shape {tuple(sizes)} is not allowed")
    bounded(math.prod(sizes), MOST, "the number of elements of its result")
    if math.prod(sizes) > 1 << 16:
        return op.full(number(value, dtype), sizes, dtype=dtype)
    return c.importer.known(np.full(sizes, value), dtype)


def fill_constant(c: Operator):
    c.ignore("force_cpu", "place_type", "str_value", "value")
    dtype, text = c.dtype_named("dtype", "float32"), c.value("str_value", "")
    if c.gives("ValueTensor"):
        value = c.real_of("value", "ValueTensor")
    elif text:
        value = _number(text)
    else:
        value = c.value("value", 0.0)
        value = _number(value) if isinstance(value, str) else value
    if not isinstance(value, (int, float, bool, Expr)):
        raise Refused(f"`value` is {str(value)[:40]!r}")
    return _filled(c, sizes_given(c, "shape", "ShapeTensor", "ShapeTensorList"), value, dtype)


def _number(text: str) -> float | int:
    try:
        return int(text) if text.lstrip("-").isdigit() and len(text) < 20 else float(text)
    except ValueError:
        raise Refused(f"its value is {text[:40]!r}, not a number") from None


def fill_like(c: Operator):
    dtype = c.dtype_named("dtype", c.dtype)
    value = c.real_of("value", "ValueTensor", 0.0)
    return _filled(c, c.shape, value, dtype)


def fill_batch_size_like(c: Operator):
    """A shape, one size of which is that of the data."""
    c.ignore("force_cpu", "str_value")
    sizes, value = c.ints("shape"), c.value("value", 0.0)
    text = c.value("str_value", "")
    value = _number(text) if text else value
    sizes[c.int("output_dim_idx", 0)] = c.shape[c.int("input_dim_idx", 0)]
    return _filled(c, sizes, value, c.dtype_named("dtype", "float32"))


def assign_value(c: Operator):
    """A constant whose elements are in the attributes."""
    dtype, values = c.dtype_named("dtype", "float32"), c.value("values")
    for name in ("fp32_values", "int32_values", "int64_values", "bool_values"):  # of old files
        found = c.value(name)
        values = found if not values and found else values
    values = values if isinstance(values, list) else [] if values is None else [values]
    sizes = c.ints("shape", [len(values)])
    if math.prod(sizes) != len(values) or any(one < 0 for one in sizes):
        raise Refused(f"it has {len(values)} values for the shape {sizes}", "export the model again")
    elements = np.array(values).reshape(sizes) if values else np.zeros(sizes)
    if elements.dtype.kind not in "biuf":
        raise Refused("its values are not numbers")
    with np.errstate(over="ignore"):
        return c.importer.known(elements.astype(numpy_type(dtype)), dtype)


def arange(c: Operator):
    """Known bounds were folded before; those that are computed give an open size."""
    begin, end, step = (op.reshape(c[slot], newshape=[]) for slot in ("Start", "End", "Step"))
    own = [c.sizes(slot) if not dtype_of(c[slot]).startswith("float") else None for slot in ("Start", "End", "Step")]
    dtype = c.dtype_named("dtype", dtype_of(begin))
    if all(own) and own[0] == [0] and own[2] == [1] and isinstance(own[1][0], (int, Dim)):
        return op.arange(number(0, dtype), cast(size_number(own[1][0]), dtype), number(1, dtype), dtype=dtype)
    return op.arange(cast(begin, dtype), cast(end, dtype), cast(step, dtype), dtype=dtype)


def linspace(c: Operator):
    count = c.ints_of("Num", "the number of its elements")[0]
    dtype = c.dtype_named("dtype", dtype_of(c["Start"]))
    bounded(count, MOST, "the number of its elements")
    begin, end = (op.reshape(cast(c[slot], "float64"), newshape=[]) for slot in ("Start", "Stop"))
    part = c.constant(np.arange(count) / max(count - 1, 1), "float64")
    made = op.add(begin, op.multiply(part, op.subtract(end, begin)))
    return cast(made, dtype)


def eye(c: Operator):
    rows, columns = c.int_of("num_rows", "Rows"), c.int_of("num_columns", "Columns", -1)
    columns = rows if columns < 0 else columns
    if rows < 0:
        raise Refused(f"it has {rows} rows")
    bounded(rows * columns, MOST, "the number of its elements")
    return c.constant(np.eye(rows, columns), c.dtype_named("dtype", "float32"))


def one_hot(c: Operator):
    c.ignore("allow_out_of_range")
    depth, dtype = c.int_of("depth", "depth_tensor"), c.dtype_named("dtype", "float32")
    x = c.x
    if c.node.kind == "one_hot":  # with an axis of one element
        x = op.reshape(x, newshape=c.shape[:-1])
    bounded(depth, MOST, "`depth`")
    return op.one_hot(cast(x, "int64"), number(1, dtype), number(0, dtype), depth=depth, axis=-1, dtype=dtype)


def empty(c: Operator):
    return _filled(c, sizes_given(c, "shape", "ShapeTensor", "ShapeTensorList"), 0.0, c.dtype_named("dtype", "float32"))


def triangle_indices(upper: bool):
    def convert(c: Operator):
        rows = c.count("rows" if c.has("rows") else "row", 1)
        columns = c.count("cols" if c.has("cols") else "col", rows)
        c.ignore("row", "rows", "col", "cols")
        bounded(rows * columns, MOST, "the number of its elements")
        function = np.triu_indices if upper else np.tril_indices
        return c.constant(np.stack(function(rows, c.int("offset", 0), columns)), c.dtype_named("dtype", "int64"))

    return convert


# --- random numbers ---------------------------------------------------------------------------------------------------
def _sizes(c: Operator) -> list[int]:
    found = sizes_given(c, "shape", "ShapeTensor", "ShapeTensorList")
    if isinstance(found, Expr):
        raise Refused("the shape of random numbers is computed at run time", "give the sizes of the inputs")
    sizes = [known(one, "random numbers") for one in found]
    bounded(math.prod(sizes), MOST, "the number of its elements")
    return sizes


def _key(c: Operator):
    """A seed that differs from operator to operator, so that their numbers do."""
    return op.random.threefry_key(c.int("seed", 0) + len(c.importer.values))


def gaussian(c: Operator):
    dtype, mean, deviation = c.dtype_named("dtype", "float32"), c.real("mean", 0.0), c.real("std", 1.0)
    made = op.random.normal(_key(c), _sizes(c), dtype="float32", mean=mean, scale=deviation)[1]
    return cast(made, dtype)


def uniform(c: Operator):
    c.ignore("diag_num", "diag_step", "diag_val")
    dtype = c.dtype_named("dtype", "float32")
    low, high = c.real_of("min", "Min", -1.0), c.real_of("max", "Max", 1.0)
    if not isinstance(low, float) or not isinstance(high, float):
        raise Refused("the bounds of random numbers are computed at run time")
    made = op.random.uniform(_key(c), _sizes(c), dtype="float32", low=low, high=high)[1]
    return cast(made, dtype)


def randint(c: Operator):
    dtype, low, high = c.dtype_named("dtype", "int64"), c.int("low", 0), c.int("high", 1)
    made = op.random.uniform(_key(c), _sizes(c), dtype="float32", low=float(low), high=float(high))[1]
    return cast(op.clip(op.floor(made), float(low), float(high - 1)), dtype)
