"""Converters of layers: normalisation, activations with weights, transposed convolutions."""

from __future__ import annotations

from .conversion import Conversion
from .sums import each, mean_of, paddings
from .writer import Value, Writer, matrix


def batch_norm(w: Writer, c: Conversion) -> list[Value]:
    """Normalises with the given statistics, which are results too."""
    x, gamma, beta, average, variance = c.inputs
    axis, dtype = [c.axis()], c.x.dtype
    factor = w.unary("rsqrt", w.binary("add", variance, w.number(c.attrs["epsilon"], dtype)))
    if c.attrs["scale"]:
        factor = w.binary("multiply", factor, gamma)
    apart = w.binary("subtract", x, w.broadcast(average, x.shape, axis))
    made = w.binary("multiply", apart, w.broadcast(factor, x.shape, axis))
    if c.attrs["center"]:
        made = w.binary("add", made, w.broadcast(beta, x.shape, axis))
    return [made, average, variance]


def rms_norm(w: Writer, c: Conversion) -> Value:
    x, axis = c.x, [c.axis()]
    square = mean_of(w, w.binary("multiply", x, x), axis)
    factor = w.unary("rsqrt", w.binary("add", square, w.number(c.attrs["epsilon"], x.dtype)))
    return w.binary("multiply", w.binary("multiply", x, factor), w.broadcast(c.inputs[1], x.shape, axis))


def prelu(w: Writer, c: Conversion) -> Value:
    x, slope = c.x, c.inputs[1]
    slope = w.reshape(slope, ()) if slope.shape == (1,) else slope
    wide = w.broadcast(slope, x.shape, [c.axis()] if slope.rank else [])
    return w.select(w.compare("GT", x, w.number(0, x.dtype)), x, w.binary("multiply", x, wide))


def dilate(w: Writer, c: Conversion) -> Value:
    none = [0] * c.x.rank
    between = [int(one) - 1 for one in c.attrs["strides"]]
    return w.pad(c.x, w.number(c.attrs["dilation_value"], c.x.dtype), none, none, between)


def trilu(w: Writer, c: Conversion) -> Value:
    rank = c.x.rank
    rows, columns = w.iota(c.shape, rank - 2, "int64"), w.iota(c.shape, rank - 1, "int64")
    apart, k = w.binary("subtract", columns, rows), w.convert(w.reshape(c.inputs[1], ()), "int64")
    return w.select(w.compare("GE" if c.attrs["upper"] else "LE", apart, k), c.x, w.number(0, c.dtype))


def transposed_convolution(rank: int):
    """Writes a convolution of data with zeros between, with a kernel that is reversed."""

    def convert(w: Writer, c: Conversion) -> Value:
        spatial = "DHW"[3 - rank :]
        layout, kernel, groups = c.attrs["data_layout"], c.attrs["kernel_layout"], int(c.attrs["groups"])
        if layout != "NC" + spatial or kernel != "IO" + spatial or c.attrs.get("out_layout") not in ("", None, layout):
            raise c.refuse(f"the layouts {layout} and {kernel}")
        weight = c.inputs[1]
        if groups > 1:  # (g * i, o, ..) becomes (i, g * o, ..), as StableHLO groups the results
            inputs, outputs, *sizes = weight.shape
            apart = w.transpose(w.reshape(weight, (groups, inputs // groups, outputs, *sizes)),
                                [1, 0, 2, *range(3, 3 + rank)])  # fmt: skip
            weight = w.reshape(apart, (inputs // groups, groups * outputs, *sizes))
        strides, dilation = (each(c.attrs[one], rank) for one in ("strides", "dilation"))
        padding = []
        for axis, (before, _) in enumerate(paddings(c.attrs["padding"], rank)):
            span = (weight.shape[2 + axis] - 1) * dilation[axis] + 1
            wide = (c.x.shape[2 + axis] - 1) * strides[axis] + 1
            padding.append([span - 1 - before, c.shape[2 + axis] + before - wide])
        numbers = ", ".join(map(str, range(rank)))
        attrs = (
            f"dimension_numbers = #stablehlo.conv<[b, f, {numbers}]x[i, o, {numbers}]->[b, f, {numbers}]>, "
            f"padding = {matrix(padding)}, lhs_dilation = array<i64: {', '.join(map(str, strides))}>, "
            f"rhs_dilation = array<i64: {', '.join(map(str, dilation))}>, "
            f"window_reversal = array<i1: {', '.join(['true'] * rank)}>, "
            f"feature_group_count = {groups} : i64, batch_group_count = 1 : i64"
        )
        return w.emit("convolution", [c.x, weight], c.shape, c.dtype, attrs)

    return convert
