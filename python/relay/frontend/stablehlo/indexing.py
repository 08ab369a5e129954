"""Converters of operations whose positions are data: gather, scatter, dynamic slices, sort."""

from __future__ import annotations

from ... import op
from ..._core import Expr, Tuple
from ..shared.expressions import cast, dtype_of, shape_of
from ..shared.problems import Refused
from .conversion import Conversion, checked_axes, index, number, reshape, transpose
from .elementwise import comparison, in_total_order
from .shape import count_along

_MOST_SORTED = 4096  # elements that a function of its own orders, by comparing each two


def _clamped(start: Expr, most) -> Expr:
    """Returns positions between 0 and a size, int64."""
    return op.minimum(op.maximum(cast(start, "int64"), number(0, "int64")), number(most, "int64"))


def dynamic_slice(c: Conversion) -> Expr:
    shape, x = c.known_shape(), c.x
    sizes = c.each(len(shape), "sizes", "slice_sizes", otherwise=1)
    if len(c.inputs) != len(shape) + 1:
        raise Refused(f"it has {len(c.inputs) - 1} positions for {len(shape)} axes", "correct the text")
    for axis, (size, whole) in enumerate(zip(sizes, shape, strict=True)):
        if not 0 <= size <= whole:
            raise Refused(f"{size} of {whole} elements along axis {axis}", "correct the text")
        if size != whole:
            start = _clamped(c.input(axis + 1), whole - size)
            places = op.add(reshape(start, [1]), index(range(size)))
            x = op.take(x, places, axis=axis, mode="fast")
    return x


def dynamic_update_slice(c: Conversion) -> Expr:
    shape, sizes = c.known_shape(0), c.known_shape(1)
    if len(c.inputs) != len(shape) + 2 or any(a > b for a, b in zip(sizes, shape, strict=True)):
        raise Refused("its update or its positions do not fit its operand", "correct the text")
    if not shape or sizes == shape:
        return c.input(1)
    starts = [
        reshape(_clamped(c.input(axis + 2), whole - size), [1])
        for axis, (size, whole) in enumerate(zip(sizes, shape, strict=True))
    ]
    begin = op.concatenate(starts, axis=0) if len(starts) > 1 else starts[0]
    return op.strided_set(c.x, c.input(1), begin, op.add(begin, index(sizes)), index([1] * len(shape)))


# --- gather and scatter -----------------------------------------------------------------------------------------------
class _Places:
    """The positions of gather and scatter.

    starts: int64 positions by operand axis, with the axes of `batch` (sizes). Axes of the operand are "indexed" if they
    have a start, or a batch. windows: the size of the slice along each axis of the operand.
    """

    def __init__(
        self, indices: Expr, vector_axis: int, index_map: list[int], operand_batch, index_batch, shape, windows
    ):
        self.shape, self.windows, rank = shape, windows, len(shape)
        sizes = shape_of(indices)
        if not 0 <= vector_axis <= len(sizes) or not all(isinstance(one, int) for one in sizes):
            raise Refused("its positions have an unknown shape, or no axis index_vector_dim", "correct the text")
        if vector_axis == len(sizes):
            indices, sizes = reshape(indices, [*sizes, 1]), [*sizes, 1]
        checked_axes(index_map, rank, "start_index_map")
        checked_axes(operand_batch, rank, "operand_batching_dims")
        checked_axes(index_batch, len(sizes), "start_indices_batching_dims")
        if len(index_map) != sizes[vector_axis] or len(operand_batch) != len(index_batch):
            raise Refused(f"{sizes[vector_axis]} positions for {len(index_map)} axes", "correct the text")
        self.batch = [size for axis, size in enumerate(sizes) if axis != vector_axis]
        self.starts = {}
        for place, axis in enumerate(index_map):
            one = op.strided_slice(indices, begin=[place], end=[place + 1], axes=[vector_axis])
            self.starts[axis] = cast(reshape(one, self.batch), "int64")
        for axis, other in zip(operand_batch, index_batch, strict=True):
            self.starts[axis] = count_along(self.batch, other - (other > vector_axis), "int64")
        self.indexed = sorted(self.starts)
        self.whole = [one for one in range(rank) if one not in self.starts]

    def limits(self, axis: int) -> int:
        return self.shape[axis] - self.windows[axis]

    def clamped(self) -> None:
        self.starts = {axis: _clamped(one, self.limits(axis)) for axis, one in self.starts.items()}

    def inside(self) -> Expr:
        """Returns true where the whole window is inside of the operand, in the batch's shape."""
        found = None
        for axis, one in self.starts.items():
            low = op.greater_equal(one, number(0, "int64"))
            one = op.logical_and(low, op.less_equal(one, number(self.limits(axis), "int64")))
            found = one if found is None else op.logical_and(found, one)
        return found

    def tensors(self) -> list[Expr]:
        """Returns positions of all elements for each indexed axis; their axes are the batch's, then one for each
        indexed axis, along the window."""
        rank, count, made = len(self.batch), len(self.indexed), []
        for place, axis in enumerate(self.indexed):
            start = reshape(self.starts[axis], [*self.batch, *[1] * count])
            size = self.windows[axis]
            if size != 1:
                steps = reshape(index(range(size)), [size if one == rank + place else 1 for one in range(rank + count)])
                start = op.add(start, steps)
            made.append(start)
        return made


def gather(c: Conversion) -> Expr:
    c.expect_inputs(2)
    numbers, shape = c.attr("dimension_numbers"), c.known_shape()
    windows = c.each(len(shape), "slice_sizes", otherwise=1)
    if any(not 0 <= size <= whole for size, whole in zip(windows, shape, strict=True)):
        raise Refused(f"slices of {windows} from {shape}", "correct the text")
    operand_batch = numbers.get("operand_batching_dims", [])
    places = _Places(
        c.input(1), numbers.get("index_vector_dim", 0), numbers.get("start_index_map", []), operand_batch,
        numbers.get("start_indices_batching_dims", []), shape, windows,
    )  # fmt: skip
    dropped = {*numbers.get("collapsed_slice_dims", []), *operand_batch}
    offsets = checked_axes(numbers.get("offset_dims", []), len(c.result().shape), "offset_dims")
    x = c.x
    for axis in places.whole:
        if windows[axis] != shape[axis]:
            x = op.strided_slice(x, begin=[0], end=[windows[axis]], axes=[axis])
    x = transpose(x, [*places.indexed, *places.whole])
    places.clamped()
    if places.indexed:
        x = op.adv_index(Tuple([x, *_broadcast_together(places)]))
    else:
        x = op.broadcast_to(x, [*places.batch, *shape_of(x)])
    # the axes are now: the batch's, windows of indexed axes, whole axes
    axes = [*(("batch", i) for i in range(len(places.batch))), *places.indexed, *places.whole]
    kept = [one for one in axes if one not in dropped]
    x = reshape(x, [size for one, size in zip(axes, shape_of(x), strict=True) if one not in dropped])
    window_axes = sorted(one for one in kept if isinstance(one, int))
    batch_axes = iter(one for one in kept if not isinstance(one, int))
    if len(window_axes) != len(offsets):
        raise Refused(f"{len(offsets)} offset_dims for {len(window_axes)} axes", "correct the text")
    by_place = dict(zip(sorted(offsets), window_axes, strict=True))
    order = [by_place[i] if i in by_place else next(batch_axes) for i in range(len(kept))]
    return transpose(x, [kept.index(one) for one in order])


def _broadcast_together(places: _Places) -> list[Expr]:
    """Returns the positions in one shape."""
    sizes = [*places.batch, *(places.windows[axis] for axis in places.indexed)]
    return [one if shape_of(one) == sizes else op.broadcast_to(one, sizes) for one in places.tensors()]


_SCATTERED = {"add": "add", "multiply": "mul", "minimum": "min", "maximum": "max"}


def scatter(c: Conversion) -> Expr:
    c.expect_inputs(3)
    numbers, shape = c.attr("scatter_dimension_numbers"), c.known_shape()
    region = c.region(0)
    mode = _SCATTERED.get(c.combiner())
    if len(region.operations) == 1 and region.operations[0].operands == [(region.args[1][0], 0)]:
        mode = "update"
    if mode is None:
        raise Refused("its function is neither an update nor a sum, product, minimum or maximum")
    operand_batch = numbers.get("input_batching_dims", [])
    inserted = {*numbers.get("inserted_window_dims", []), *operand_batch}
    updates, sizes = c.input(2), c.known_shape(2)
    window_dims = sorted(checked_axes(numbers.get("update_window_dims", []), len(sizes), "update_window_dims"))
    in_window = [axis for axis in range(len(shape)) if axis not in inserted]
    if len(in_window) != len(window_dims):
        raise Refused(f"{len(window_dims)} update_window_dims for {len(in_window)} axes", "correct the text")
    windows = [1] * len(shape)
    for axis, dim in zip(in_window, window_dims, strict=True):
        windows[axis] = sizes[dim]
    places = _Places(
        c.input(1), numbers.get("index_vector_dim", 0), numbers.get("scatter_dims_to_operand_dims", []), operand_batch,
        numbers.get("scatter_indices_batching_dims", []), shape, windows,
    )  # fmt: skip
    for axis in places.whole:
        if windows[axis] != shape[axis]:  # a window at the beginning
            places.starts[axis] = op.broadcast_to(number(0, "int64"), places.batch)
    places.indexed = sorted(places.starts)
    places.whole = [one for one in range(len(shape)) if one not in places.starts]
    if not places.indexed:
        places.starts[0] = op.broadcast_to(number(0, "int64"), places.batch)
        places.indexed, places.whole = [0], list(range(1, len(shape)))
    by_axis = dict(zip(in_window, window_dims, strict=True))
    batch_dims = [one for one in range(len(sizes)) if one not in window_dims]
    order = [*batch_dims, *(by_axis[one] for one in [*places.indexed, *places.whole] if one in by_axis)]
    updates = reshape(
        transpose(updates, order), [*places.batch, *(windows[one] for one in [*places.indexed, *places.whole])]
    )
    return _scattered(c.x, places, updates, mode)


def _scattered(x: Expr, places: _Places, updates: Expr, mode: str) -> Expr:
    """Scatters windows; those that are not wholly inside go to one more row, which is cut off."""
    order = [*places.indexed, *places.whole]
    x = transpose(x, order)
    first = places.indexed[0]
    inside = reshape(places.inside(), [*places.batch, *[1] * len(places.indexed)])
    tensors = _broadcast_together(places)
    tensors = [
        op.where(inside, one, number(places.shape[axis] if axis == first else 0, "int64"))
        for axis, one in zip(places.indexed, tensors, strict=True)
    ]
    rows = places.shape[first]
    width = [[0, 1] if axis == 0 else [0, 0] for axis in range(len(order))]
    x = op.nn.pad(x, pad_width=width, pad_value=0)
    x = op.scatter_nd(x, op.stack(tensors, axis=0), updates, mode=mode)
    x = op.strided_slice(x, begin=[0], end=[rows], axes=[0])
    return transpose(x, [order.index(one) for one in range(len(order))])


# --- order ------------------------------------------------------------------------------------------------------------
def sort(c: Conversion) -> list[Expr]:
    axis = c.int("dimension", default=-1) % max(c.rank(), 1)
    direction = _plain_order(c)
    if direction is not None and len(c.inputs) == 1 and direction[1] == "plain":
        return [op.sort(c.x, axis=axis, is_ascend=direction[0])]
    if direction is not None:
        key = in_total_order(_canonical(c.x)) if direction[1] == "total" else c.x
        places = op.argsort(key, axis=axis, is_ascend=direction[0], dtype="int64")
    else:
        places = _ranked(c, axis)
    return [op.gather(one, axis, places) for one in c.inputs]


def _plain_order(c: Conversion) -> tuple[bool, str] | None:
    """Returns (ascending, "plain" or "total") of a region that compares the first operand's elements, as integers or as
    JAX does: with one zero and one NaN, in the total order. None for other regions."""
    region = c.region(0)
    if len(region.args) < 2 or not region.operations:
        return None
    final = region.operations[-2] if len(region.operations) > 1 else None
    if final is None or final.name != "stablehlo.compare" or region.operations[-1].operands != final.results:
        return None
    direction, kind = comparison(final)
    if direction not in ("LT", "GT") or len(final.operands) != 2:
        return None
    keys = [(name, 0) for name, _ in region.args[:2]]
    by_result = {one.results[0]: one for one in region.operations if len(one.results) == 1}
    is_ascending = direction == "LT"
    if final.operands == keys and not c.dtype().startswith(("float", "bfloat")):
        return is_ascending, "plain"
    sources = [_source(by_result, one) for one in final.operands]
    if kind == "TOTALORDER" and sources == keys:
        return is_ascending, "total"
    return None


def _source(by_result: dict, value):
    """Returns x of `select(x != x, NaN, select(x == 0, 0, x))`, which leaves one zero and one NaN; or the value."""
    outer = by_result.get(value)
    if outer is None or outer.name != "stablehlo.select" or len(outer.operands) != 3:
        return value
    inner = by_result.get(outer.operands[2])
    if inner is None or inner.name != "stablehlo.select" or len(inner.operands) != 3:
        return None
    x = inner.operands[2]
    for one, wanted in ((outer, "NE"), (inner, "EQ")):
        test = by_result.get(one.operands[0])
        constant = by_result.get(one.operands[1])
        if test is None or test.name != "stablehlo.compare" or comparison(test)[0] != wanted or test.operands[0] != x:
            return None
        if constant is None or constant.name != "stablehlo.constant":
            return None
    return x


def _canonical(x: Expr) -> Expr:
    """Returns floats with one zero and one NaN."""
    dtype = dtype_of(x)
    zero, nan = number(0, dtype), number(float("nan"), dtype)
    return op.where(op.isnan(x), nan, op.where(op.equal(x, zero), zero, x))


def _ranked(c: Conversion, axis: int) -> Expr:
    """Returns the order of elements by any comparison: the rank of an element is the number of those before it."""
    shape = c.known_shape()
    size, rank = shape[axis], len(shape)
    if size > _MOST_SORTED:
        raise Refused(f"{size} elements are ordered by a function of their own, more than {_MOST_SORTED}")
    if size == 0:
        raise Refused("it sorts no elements")
    others = [one for one in range(rank) if one != axis]
    rows = [transpose(one, [*others, axis]) for one in c.inputs]
    outer = [shape[one] for one in others]
    wide = [*outer, size, size]
    first = [op.broadcast_to(reshape(one, [*outer, 1, size]), wide) for one in rows]
    second = [op.broadcast_to(reshape(one, [*outer, size, 1]), wide) for one in rows]

    def pairs(a, b):
        return [value for pair in zip(a, b, strict=True) for value in pair]

    [before] = c.run_on_elements(0, pairs(first, second))
    [after] = c.run_on_elements(0, pairs(second, first))
    earlier = op.less(count_along(wide, rank, "int64"), count_along(wide, rank - 1, "int64"))
    is_before = op.logical_or(before, op.logical_and(op.logical_not(after), earlier))
    ranks = op.sum(op.cast(is_before, "int64"), axis=[rank])
    order = op.argsort(ranks, axis=rank - 1, dtype="int64")
    back = [*others, axis]
    return transpose(order, [back.index(one) for one in range(rank)])


def top_k(c: Conversion) -> list[Expr]:
    """Converts chlo.top_k: the greatest elements along the last axis, and their positions."""
    found = op.topk(c.x, k=c.int("k"), axis=-1, ret_type="both", is_ascend=False, dtype="int32")
    return [found[0], found[1]]
