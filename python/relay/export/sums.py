"""Converters of reductions, products and windows."""

from __future__ import annotations

import math

from .conversion import Conversion
from .writer import Value, Writer, highest, is_float, lowest, matrix

# --- reductions -------------------------------------------------------------------------------------------------------
_STARTS = {
    "add": lambda dtype: 0,
    "multiply": lambda dtype: 1,
    "maximum": lowest,
    "minimum": highest,
    "and": lambda dtype: True,
    "or": lambda dtype: False,
}


def reduce(name: str):
    """Returns the converter of a reduction; the result may be wider than the elements."""

    def convert(w: Writer, c: Conversion) -> Value:
        x = w.convert(c.x, c.dtype)
        return w.reshape(w.reduce(name, x, c.axes(), _STARTS[name](x.dtype)), c.shape)

    return convert


def total(w: Writer, x: Value, axes) -> Value:
    """Returns the sum over axes, which stay with the size 1."""
    shape = [1 if axis in axes else size for axis, size in enumerate(x.shape)]
    return w.reshape(w.reduce("add", x, axes, 0), shape)


def mean_of(w: Writer, x: Value, axes) -> Value:
    count = math.prod(x.shape[one] for one in axes)
    return w.binary("divide", total(w, x, axes), w.number(count, x.dtype))


def mean(w: Writer, c: Conversion) -> Value:
    if not is_float(c.dtype):
        raise c.refuse("a mean of integers")
    return w.reshape(mean_of(w, w.convert(c.x, c.dtype), c.axes()), c.shape)


def variance(w: Writer, c: Conversion) -> Value:
    x, average, axes = c.x, c.inputs[1], c.axes()
    apart = w.binary("subtract", x, average)
    count = math.prod(x.shape[one] for one in axes) - (1 if c.attrs.get("unbiased") else 0)
    found = w.binary("divide", total(w, w.binary("multiply", apart, apart), axes), w.number(count, x.dtype))
    return w.reshape(found, c.shape)


def position(direction: str):
    """Returns the converter of argmax (GT) or argmin (LT)."""

    def convert(w: Writer, c: Conversion) -> Value:
        axes, x = c.axes(), c.x
        kept = [one for one in range(x.rank) if one not in axes]
        length = math.prod(x.shape[one] for one in axes)
        sizes = [x.shape[one] for one in kept]
        rows = w.reshape(w.transpose(x, [*kept, *axes]), [*sizes, length])
        places = w.iota(rows.shape, len(kept), "int64")
        order = "GT" if c.attrs.get("select_last_index") else "LT"

        def build(args):
            a, i, b, j = args
            is_nan = w.compare("NE", a, a)
            better = w.binary("or", w.compare(direction, a, b), is_nan)
            equal = w.binary("and", w.compare("EQ", a, b), w.compare(order, i, j))
            first = w.binary("or", better, equal)
            return [w.select(better, a, b), w.select(first, i, j)]

        region = w.region([((), x.dtype), ((), "int64")] * 2, build)
        start = lowest(x.dtype) if direction == "GT" else highest(x.dtype)
        place = 0 if order == "GT" else length - 1
        found = w.emit_all(
            "stablehlo.reduce", [rows, places, w.number(start, x.dtype), w.number(place, "int64")],
            [(sizes, x.dtype), (sizes, "int64")], f"dimensions = array<i64: {len(kept)}>", [region],
        )[1]  # fmt: skip
        return w.reshape(w.convert(found, c.dtype), c.shape)

    return convert


def cumulative(name: str):
    """Returns the converter of a sum or product of all elements so far."""

    def convert(w: Writer, c: Conversion) -> Value:
        x = w.convert(c.x, c.dtype)
        if c.attrs.get("axis") is None:
            x, axis = w.reshape(x, (math.prod(x.shape),)), 0
        else:
            axis = c.axis()
        size, is_exclusive = x.shape[axis], bool(c.attrs.get("exclusive"))
        if size == 0:
            return x
        windows, padding = [1] * x.rank, [[0, 0] for _ in range(x.rank)]
        windows[axis], padding[axis] = size, [size - 1, 0]
        if is_exclusive:
            padding[axis] = [size, -1]
        ones = [1] * x.rank
        return w.reduce_window(name, x, _STARTS[name](x.dtype), windows, ones, padding, ones)

    return convert


def softmax(is_log: bool):
    def convert(w: Writer, c: Conversion) -> Value:
        axes = c.axes()
        shape = [1 if one in axes else size for one, size in enumerate(c.x.shape)]
        greatest = w.reshape(w.reduce("maximum", c.x, axes, lowest(c.x.dtype)), shape)
        apart = w.binary("subtract", c.x, greatest)
        powers = w.unary("exponential", apart)
        if is_log:
            return w.binary("subtract", apart, w.unary("log", total(w, powers, axes)))
        return w.binary("divide", powers, total(w, powers, axes))

    return convert


# --- products ---------------------------------------------------------------------------------------------------------
def matmul(w: Writer, c: Conversion) -> Value:
    """Converts nn.matmul, nn.dense and nn.batch_matmul."""
    a, b = c.inputs
    swaps_a, swaps_b = bool(c.attrs.get("transpose_a")), bool(c.attrs.get("transpose_b"))
    inner_a, inner_b = a.rank - (2 if swaps_a else 1), b.rank - (1 if swaps_b else 2)
    return w.dot(a, b, ([], []), ([inner_a], [inner_b]), c.dtype)


def dense(w: Writer, c: Conversion) -> Value:
    return w.dot(c.x, c.inputs[1], ([], []), ([c.x.rank - 1], [1]), c.dtype)


def batch_matmul(w: Writer, c: Conversion) -> Value:
    a, b = c.inputs
    batch = max(a.shape[0], b.shape[0])
    a, b = (w.broadcast(one, (batch, *one.shape[1:])) for one in (a, b))
    inner = 1 if c.attrs.get("transpose_a") else 2, 2 if c.attrs.get("transpose_b") else 1
    return w.dot(a, b, ([0], [0]), ([inner[0]], [inner[1]]), c.dtype)


def convolution(rank: int):
    def convert(w: Writer, c: Conversion) -> Value:
        spatial = "DHW"[3 - rank :]
        layout, kernel = c.attrs["data_layout"], c.attrs["kernel_layout"]
        out = c.attrs.get("out_layout") or layout
        if sorted(layout) != sorted("NC" + spatial) or sorted(kernel) != sorted("OI" + spatial):
            raise c.refuse(f"the layouts {layout} and {kernel}")
        if sorted(out) != sorted("NC" + spatial):
            raise c.refuse(f"the layout {out}")

        channels, inputs = c.x.shape[layout.index("C")], c.inputs[1].shape[kernel.index("I")]
        if inputs * c.attrs["groups"] != channels:
            raise c.refuse(f"a kernel of {inputs} inputs for {channels} channels in {c.attrs['groups']} groups")

        def order(text: str, first: str, second: str) -> str:
            kinds = {"N": first, "C": second, "O": first, "I": second}
            return ", ".join(kinds.get(one) or str(spatial.index(one)) for one in text)

        orders = [order(layout, "b", "f"), order(kernel, "o", "i"), order(out, "b", "f")]
        padding = paddings(c.attrs["padding"], rank)
        strides, dilation = (each(c.attrs[one], rank) for one in ("strides", "dilation"))
        attrs = (
            f"dimension_numbers = #stablehlo.conv<[{orders[0]}]x[{orders[1]}]->[{orders[2]}]>, "
            f"window_strides = array<i64: {', '.join(map(str, strides))}>, padding = {matrix(padding)}, "
            f"rhs_dilation = array<i64: {', '.join(map(str, dilation))}>, "
            f"feature_group_count = {c.attrs['groups']} : i64, batch_group_count = 1 : i64"
        )
        return w.emit("convolution", c.inputs, c.shape, c.dtype, attrs)

    return convert


def each(values, rank: int) -> list[int]:
    values = [int(one) for one in values]
    return values * rank if len(values) == 1 else values


def paddings(values, rank: int) -> list[list[int]]:
    """Returns (before, after) for each axis of one value, one per axis, or those before all axes and after them."""
    values = each(values, rank)
    values = values * 2 if len(values) == rank else values
    return [[values[one], values[one + rank]] for one in range(rank)]


def bias_add(w: Writer, c: Conversion) -> Value:
    return w.binary("add", c.x, w.broadcast(c.inputs[1], c.x.shape, [c.axis()]))


# --- windows ----------------------------------------------------------------------------------------------------------
def pool(rank: int, is_mean: bool):
    def convert(w: Writer, c: Conversion) -> Value:
        spatial, layout = "DHW"[3 - rank :], c.attrs["layout"]
        if sorted(layout) != sorted("NC" + spatial) or c.attrs.get("out_layout") not in ("", None, layout):
            raise c.refuse(f"the layout {layout}")
        if c.attrs.get("skip_nan"):
            raise c.refuse("a maximum that skips NaN")
        places = [layout.index(one) for one in spatial]

        def spread(values, otherwise):
            made = [otherwise] * (rank + 2)
            for place, value in zip(places, values, strict=True):
                made[place] = value
            return made

        sizes, strides, dilation = (spread(each(c.attrs[one], rank), 1) for one in ("pool_size", "strides", "dilation"))
        padding = spread(paddings(c.attrs["padding"], rank), [0, 0])
        stated = [list(one) for one in padding]
        for axis in range(rank + 2):  # windows that begin inside, up to the number of results: ceil_mode
            span = (sizes[axis] - 1) * dilation[axis] + 1
            needed = (c.shape[axis] - 1) * strides[axis] + span - c.x.shape[axis] - padding[axis][0]
            padding[axis] = [padding[axis][0], max(needed, 0) if needed > padding[axis][1] else padding[axis][1]]
        if not is_mean:
            return w.reduce_window("maximum", c.x, lowest(c.x.dtype), sizes, strides, padding, dilation)
        if not is_float(c.x.dtype):
            raise c.refuse("a mean of integers")
        found = w.reduce_window("add", c.x, 0, sizes, strides, padding, dilation)
        ones = w.broadcast(w.number(1, c.x.dtype), c.x.shape)
        if c.attrs.get("count_include_pad"):
            low, high = ([one[side] for one in stated] for side in (0, 1))
            wide = [size + sum(pads) for size, pads in zip(c.x.shape, stated, strict=True)]
            ones = w.broadcast(w.number(1, c.x.dtype), wide)
            padding = [[a - x, b - y] for (a, b), x, y in zip(padding, low, high, strict=True)]
        counts = w.reduce_window("add", ones, 0, sizes, strides, padding, dilation)
        return w.binary("divide", found, counts)

    return convert


def global_pool(is_mean: bool):
    def convert(w: Writer, c: Conversion) -> Value:
        layout = c.attrs["layout"]
        axes = [place for place, one in enumerate(layout) if one in "DHW"]
        if is_mean:
            return w.reshape(mean_of(w, c.x, axes), c.shape)
        return w.reshape(w.reduce("maximum", c.x, axes, lowest(c.x.dtype)), c.shape)

    return convert


def einsum(w: Writer, c: Conversion) -> Value:
    """Multiplies two tensors at a time, and sums over the letters that nothing after needs."""
    left, arrow, out = c.attrs["equation"].replace(" ", "").partition("->")
    terms, values = left.split(","), list(c.parts)
    if not arrow or "." in left or any(len(set(one)) != len(one) for one in (*terms, out)):
        raise c.refuse("an equation with dots or with a letter twice in a term")
    term, value = terms[0], values[0]
    for position in range(1, len(terms)):
        other, needed = terms[position], set(out).union(*terms[position + 1 :])
        term, value = _dropped(w, term, value, needed | set(other))
        other, second = _dropped(w, other, values[position], needed | set(term))
        shared = [one for one in term if one in other]
        batch = [one for one in shared if one in needed]
        summed = [one for one in shared if one not in needed]
        pairs = [([term.index(x) for x in axes], [other.index(x) for x in axes]) for axes in (batch, summed)]
        value = w.dot(value, second, *pairs, c.dtype)
        term = "".join([*batch, *(x for x in term if x not in shared), *(x for x in other if x not in shared)])
    term, value = _dropped(w, term, value, set(out))
    return w.transpose(value, [term.index(one) for one in out])


def _dropped(w: Writer, term: str, value: Value, needed: set) -> tuple[str, Value]:
    """Sums over the letters that are not needed."""
    axes = [place for place, one in enumerate(term) if one not in needed]
    return "".join(one for one in term if one in needed), w.reduce("add", value, axes, 0)
