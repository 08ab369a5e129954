"""Writes operations of StableHLO in MLIR's generic text form."""

from __future__ import annotations

import dataclasses
import math

import ml_dtypes
import numpy as np

ELEMENTS = {
    "bool": "i1",
    **{f"int{bits}": f"i{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"ui{bits}" for bits in (8, 16, 32, 64)},
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
}


class Unwritable(Exception):
    """A part of a program that has no form in StableHLO here. The text is the reason."""


@dataclasses.dataclass(frozen=True)
class Value:
    """A value of the text, with its shape and Relay's name of its element type."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def type(self) -> str:
        return type_text(self.shape, self.dtype)


def type_text(shape, dtype: str) -> str:
    if dtype not in ELEMENTS:
        raise Unwritable(f"elements of type {dtype}")
    if not all(isinstance(one, int) for one in shape):
        raise Unwritable("a size is open: give the sizes of the inputs first")
    return f"tensor<{''.join(f'{one}x' for one in shape)}{ELEMENTS[dtype]}>"


def numpy_dtype(dtype: str) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def ints(values) -> str:
    """Returns array<i64: ..>."""
    values = list(values)
    return f"array<i64: {', '.join(map(str, values))}>" if values else "array<i64>"


def is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


class Writer:
    """The lines of a function."""

    def __init__(self):
        self.lines: list[str] = []
        self.known: dict[str, np.ndarray] = {}  # the elements of constants, by the value's name
        self._count, self._depth = 0, 2

    def fresh(self, shape, dtype: str) -> Value:
        self._count += 1
        return Value(f"%{self._count - 1}", tuple(shape), dtype)

    def line(self, text: str) -> None:
        self.lines.append("  " * self._depth + text)

    def region(self, types: list[tuple], build) -> str:
        """Returns the text of a region. types: (shape, dtype) of its arguments. build(arguments) returns results."""
        outer, self.lines = self.lines, []
        self._depth += 1
        args = [self.fresh(*one) for one in types]
        results = build(args)
        self.line(f'"stablehlo.return"({names(results)}) : ({types_of(results)}) -> ()')
        self._depth -= 1
        inner, self.lines = self.lines, outer
        indent = "  " * self._depth
        head = f"{indent}^bb0({', '.join(f'{one.name}: {one.type}' for one in args)}):\n" if args else ""
        return "{\n" + head + "\n".join(inner) + f"\n{indent}}}"

    def emit_all(
        self, name: str, operands: list[Value], results: list[tuple], attrs: str = "", regions=()
    ) -> list[Value]:
        """Writes an operation. results: (shape, dtype) of each. attrs: `key = value, ..`."""
        made = [self.fresh(*one) for one in results]
        inside = f" ({', '.join(regions)})" if regions else ""
        held = f" <{{{attrs}}}>" if attrs else ""
        self.line(
            f'{", ".join(one.name for one in made)} = "{name}"({names(operands)}){held}{inside} : '
            f"({types_of(operands)}) -> ({types_of(made)})"
        )
        return made

    def emit(self, name: str, operands: list[Value], shape, dtype: str, attrs: str = "", regions=()) -> Value:
        """Writes an operation with one result."""
        return self.emit_all(
            f"stablehlo.{name}" if "." not in name else name, operands, [(shape, dtype)], attrs, regions
        )[0]

    # --- short forms --------------------------------------------------------------------------------------------------
    def constant(self, array: np.ndarray, dtype: str) -> Value:
        array = np.asarray(array).astype(numpy_dtype(dtype))
        shape = array.shape
        if array.size == 1 or (array.size and array.tobytes() == array.reshape(-1)[:1].tobytes() * array.size):
            elements = _element(array.reshape(-1)[0], dtype)
        elif array.size == 0:
            elements = ""
        elif dtype == "bool":
            elements = str(array.tolist()).lower()
        else:
            elements = f'"0x{np.ascontiguousarray(array).tobytes().hex().upper()}"'
        made = self.emit("constant", [], shape, dtype, f"value = dense<{elements}> : {type_text(shape, dtype)}")
        self.known[made.name] = array
        return made

    def number(self, value, dtype: str) -> Value:
        return self.constant(np.asarray(value), dtype)

    def unary(self, name: str, x: Value) -> Value:
        return self.emit(name, [x], x.shape, x.dtype)

    def binary(self, name: str, a: Value, b: Value) -> Value:
        """Writes an operation on two values, which are broadcast to one shape."""
        shape = np.broadcast_shapes(a.shape, b.shape)
        a, b = self.broadcast(a, shape), self.broadcast(b, shape)
        return self.emit(name, [a, b], shape, a.dtype)

    def compare(self, direction: str, a: Value, b: Value) -> Value:
        shape = np.broadcast_shapes(a.shape, b.shape)
        a, b = self.broadcast(a, shape), self.broadcast(b, shape)
        attrs = f"comparison_direction = #stablehlo<comparison_direction {direction}>"
        return self.emit("compare", [a, b], shape, "bool", attrs)

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        shape = np.broadcast_shapes(condition.shape, a.shape, b.shape)
        given = [self.broadcast(one, shape) for one in (condition, a, b)]
        return self.emit("select", given, shape, a.dtype)

    def broadcast(self, x: Value, shape, axes=None) -> Value:
        """Returns x in a larger shape. axes: the places of its axes there; unset: the last ones."""
        if x.shape == tuple(shape):
            return x
        axes = range(len(shape) - x.rank, len(shape)) if axes is None else axes
        return self.emit("broadcast_in_dim", [x], shape, x.dtype, f"broadcast_dimensions = {ints(axes)}")

    def reshape(self, x: Value, shape) -> Value:
        return x if x.shape == tuple(shape) else self.emit("reshape", [x], shape, x.dtype)

    def transpose(self, x: Value, axes) -> Value:
        axes = list(axes)
        if axes == sorted(axes):
            return x
        return self.emit("transpose", [x], [x.shape[one] for one in axes], x.dtype, f"permutation = {ints(axes)}")

    def convert(self, x: Value, dtype: str) -> Value:
        return x if x.dtype == dtype else self.emit("convert", [x], x.shape, dtype)

    def slice(self, x: Value, starts, ends, steps=None) -> Value:
        steps = steps or [1] * x.rank
        shape = [max(0, -((start - end) // step)) for start, end, step in zip(starts, ends, steps, strict=True)]
        attrs = f"start_indices = {ints(starts)}, limit_indices = {ints(ends)}, strides = {ints(steps)}"
        return self.emit("slice", [x], shape, x.dtype, attrs)

    def concatenate(self, values: list[Value], axis: int) -> Value:
        shape = list(values[0].shape)
        shape[axis] = sum(one.shape[axis] for one in values)
        return self.emit("concatenate", values, shape, values[0].dtype, f"dimension = {axis} : i64")

    def pad(self, x: Value, value: Value, low, high, interior=None) -> Value:
        interior = interior or [0] * x.rank
        shape = [
            size + max(size - 1, 0) * between + a + b
            for size, between, a, b in zip(x.shape, interior, low, high, strict=True)
        ]
        attrs = f"edge_padding_low = {ints(low)}, edge_padding_high = {ints(high)}, interior_padding = {ints(interior)}"
        return self.emit("pad", [x, value], shape, x.dtype, attrs)

    def iota(self, shape, axis: int, dtype: str) -> Value:
        return self.emit("iota", [], shape, dtype, f"iota_dimension = {axis} : i64")

    def reduce(self, name: str, x: Value, axes, init) -> Value:
        """Reduces axes by `name` ("add", ..), which starts from a number."""
        axes = sorted(axes)
        shape = [size for axis, size in enumerate(x.shape) if axis not in axes]
        if not axes:
            return x
        region = self.region([((), x.dtype)] * 2, lambda args: [self.emit(name, args, (), x.dtype)])
        start = self.number(init, x.dtype)
        return self.emit("reduce", [x, start], shape, x.dtype, f"dimensions = {ints(axes)}", [region])

    def reduce_window(self, name: str, x: Value, init, sizes, strides, padding, dilation) -> Value:
        """padding: (before, after) for each axis."""
        shape = [
            (size + sum(pads) - ((window - 1) * step + 1)) // stride + 1
            for size, pads, window, step, stride in zip(x.shape, padding, sizes, dilation, strides, strict=True)
        ]
        region = self.region([((), x.dtype)] * 2, lambda args: [self.emit(name, args, (), x.dtype)])
        attrs = (
            f"window_dimensions = {ints(sizes)}, window_strides = {ints(strides)}, "
            f"window_dilations = {ints(dilation)}, padding = {matrix(padding)}"
        )
        return self.emit("reduce_window", [x, self.number(init, x.dtype)], shape, x.dtype, attrs, [region])

    def dot(self, a: Value, b: Value, batch, contracted, dtype: str) -> Value:
        """batch, contracted: the axes of a, and those of b."""
        rest = [
            [size for axis, size in enumerate(one.shape) if axis not in (*batch[i], *contracted[i])]
            for i, one in enumerate((a, b))
        ]
        shape = [*(a.shape[one] for one in batch[0]), *rest[0], *rest[1]]
        numbers = (
            f"lhs_batching_dimensions = {list(batch[0])}, rhs_batching_dimensions = {list(batch[1])}, "
            f"lhs_contracting_dimensions = {list(contracted[0])}, rhs_contracting_dimensions = {list(contracted[1])}"
        )
        return self.emit("dot_general", [a, b], shape, dtype, f"dot_dimension_numbers = #stablehlo.dot<{numbers}>")


def matrix(rows) -> str:
    rows = [list(one) for one in rows]
    return f"dense<{rows}> : tensor<{len(rows)}x2xi64>" if rows else "dense<> : tensor<0x2xi64>"


def names(values) -> str:
    return ", ".join(one.name for one in values)


def types_of(values) -> str:
    return ", ".join(one.type for one in values)


def _element(value, dtype: str) -> str:
    if dtype == "bool":
        return "true" if value else "false"
    if not is_float(dtype):
        return str(int(value))
    bits = numpy_dtype(dtype).itemsize * 8
    return f"0x{int(np.asarray(value).view(f'uint{bits}')):0{bits // 4}X}"


def lowest(dtype: str):
    """Returns the element that no maximum keeps."""
    if dtype == "bool":
        return False
    return -math.inf if is_float(dtype) else np.iinfo(dtype).min


def highest(dtype: str):
    if dtype == "bool":
        return True
    return math.inf if is_float(dtype) else np.iinfo(dtype).max
