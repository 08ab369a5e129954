"""Converters of operators that move elements."""

from __future__ import annotations

from .conversion import Conversion
from .writer import Unwritable, Value, Writer, ints


def reshape(w: Writer, c: Conversion) -> Value:
    return w.reshape(c.x, c.shape)


def transpose(w: Writer, c: Conversion) -> Value:
    axes = c.attrs.get("axes") or list(reversed(range(c.x.rank)))
    return w.transpose(c.x, [int(one) % c.x.rank for one in axes])


def broadcast_to(w: Writer, c: Conversion) -> Value:
    return w.broadcast(c.x, c.shape)


def concatenate(w: Writer, c: Conversion) -> Value:
    return w.concatenate(c.parts, int(c.attrs["axis"]) % c.parts[0].rank)


def stack(w: Writer, c: Conversion) -> Value:
    axis = int(c.attrs["axis"]) % len(c.shape)
    size = (*c.shape[:axis], 1, *c.shape[axis + 1 :])
    return w.concatenate([w.reshape(one, size) for one in c.parts], axis)


def split(w: Writer, c: Conversion) -> list[Value]:
    axis, at, made = c.axis(), 0, []
    for shape, _ in c.results:
        starts, ends = [0] * c.x.rank, list(c.x.shape)
        starts[axis], ends[axis] = at, at + shape[axis]
        at = ends[axis]
        made.append(w.slice(c.x, starts, ends))
    return made


def strided_slice(w: Writer, c: Conversion) -> Value:
    """Reads slices with steps of either sign, clamped as NumPy's."""
    begin, end, rank = list(c.attrs["begin"]), list(c.attrs["end"]), c.x.rank
    axes = c.attrs.get("axes")
    axes = list(range(len(begin))) if axes is None else [int(one) % rank for one in axes]
    strides = list(c.attrs.get("strides") or [1]) if c.attrs["slice_mode"] == "end" else [1]
    strides = strides * len(axes) if len(strides) == 1 else strides + [1] * (len(axes) - len(strides))
    if not all(isinstance(one, int) for one in (*begin, *end, *strides)):
        raise c.refuse("its bounds are open")
    starts, ends, steps, backward = [0] * rank, list(c.x.shape), [1] * rank, []
    for position, axis in enumerate(axes):
        size, start, step = c.x.shape[axis], begin[position], strides[position]
        stop = end[position] if position < len(end) else size
        if c.attrs["slice_mode"] == "size":
            start = start + size if start < 0 else start
            stop = size if stop < 0 else start + stop
        places = range(size)[slice(start, stop, step)]
        if not places:
            starts[axis] = ends[axis] = 0
            continue
        first, last = sorted((places[0], places[-1]))
        starts[axis], ends[axis], steps[axis] = first, last + 1, abs(step) if len(places) > 1 else 1
        if step < 0:
            backward.append(axis)
    made = w.slice(c.x, starts, ends, steps)
    return reversed_along(w, made, backward) if backward else made


def reversed_along(w: Writer, x: Value, axes: list[int]) -> Value:
    return w.emit("reverse", [x], x.shape, x.dtype, f"dimensions = {ints(axes)}")


def reverse(w: Writer, c: Conversion) -> Value:
    return reversed_along(w, c.x, [c.axis()])


def pad(w: Writer, c: Conversion) -> Value:
    low, high = ([int(one[side]) for one in c.attrs["pad_width"]] for side in (0, 1))
    mode = c.attrs.get("pad_mode", "constant")
    if mode == "constant":
        return w.pad(c.x, w.reshape(c.inputs[1], ()), low, high)
    if mode != "edge" or min([*low, *high]) < 0:
        raise c.refuse(f"padding of mode {mode!r}")
    x = c.x
    for axis, (before, after) in enumerate(zip(low, high, strict=True)):
        size, parts = x.shape[axis], [x]
        for count, at in ((before, 0), (after, size - 1)):
            if not count:
                continue
            starts, ends = [0] * x.rank, list(x.shape)
            starts[axis], ends[axis] = at, at + 1
            edge = w.slice(x, starts, ends)
            wide = [count if one == axis else s for one, s in enumerate(x.shape)]
            parts.insert(0 if at == 0 and count == before and parts[0] is x else len(parts),
                         w.broadcast(edge, wide, range(x.rank)))  # fmt: skip
        x = w.concatenate(parts, axis) if len(parts) > 1 else x
    return x


def repeat(w: Writer, c: Conversion) -> Value:
    x, count = c.x, int(c.attrs["repeats"])
    if c.attrs.get("axis") is None:
        x, axis = w.reshape(x, (_count(x),)), 0
    else:
        axis = c.axis()
    wide = (*x.shape[: axis + 1], count, *x.shape[axis + 1 :])
    places = [one for one in range(len(wide)) if one != axis + 1]
    return w.reshape(w.broadcast(x, wide, places), c.shape)


def tile(w: Writer, c: Conversion) -> Value:
    reps = [int(one) for one in c.attrs["reps"]]
    rank = max(len(reps), c.x.rank)
    reps = [1] * (rank - len(reps)) + reps
    shape = (1,) * (rank - c.x.rank) + c.x.shape
    x = w.reshape(c.x, shape)
    wide = [one for pair in zip(reps, shape, strict=True) for one in pair]
    return w.reshape(w.broadcast(x, wide, range(1, 2 * rank, 2)), c.shape)


def _count(x: Value) -> int:
    made = 1
    for size in x.shape:
        made *= size
    return made


def arange(w: Writer, c: Conversion) -> Value:
    start, _, step = c.inputs
    steps = w.iota(c.shape, 0, c.dtype)
    scaled = w.binary("multiply", steps, w.convert(w.reshape(step, ()), c.dtype))
    return w.binary("add", scaled, w.convert(w.reshape(start, ()), c.dtype))


def one_hot(w: Writer, c: Conversion) -> Value:
    indices, on, off = c.inputs
    rank = indices.rank + 1
    axis = int(c.attrs["axis"]) % rank
    places = w.iota(c.shape, axis, indices.dtype)
    wide = w.broadcast(indices, c.shape, [one for one in range(rank) if one != axis])
    return w.select(w.compare("EQ", places, wide), w.reshape(on, ()), w.reshape(off, ()))


# --- positions that are data ------------------------------------------------------------------------------------------
def wrapped(w: Writer, x: Value, size: int) -> Value:
    """Returns positions with the size added to negative ones."""
    x = w.convert(x, "int64")
    return w.select(w.compare("LT", x, w.number(0, "int64")), w.binary("add", x, w.number(size, "int64")), x)


def take(w: Writer, c: Conversion) -> Value:
    x, indices = c.x, c.inputs[1]
    mode, batch = c.attrs.get("mode", "clip"), int(c.attrs.get("batch_dims") or 0)
    if batch or mode == "checked":
        raise c.refuse("positions in batches" if batch else "positions that are checked")
    if c.attrs.get("axis") is None:
        x, axis = w.reshape(x, (_count(x),)), 0
    else:
        axis = c.axis()
    indices = w.convert(indices, "int64")
    size = w.number(x.shape[axis], "int64")
    if mode == "wrap":
        rest = w.binary("remainder", indices, size)
        rest = w.binary("add", rest, size)
        indices = w.binary("remainder", rest, size)
    rank = indices.rank
    offsets = [*range(axis), *range(axis + rank, x.rank - 1 + rank)]
    windows = [1 if one == axis else s for one, s in enumerate(x.shape)]
    numbers = (
        f"#stablehlo.gather<offset_dims = {offsets}, collapsed_slice_dims = [{axis}], start_index_map = [{axis}], "
        f"index_vector_dim = {rank}>"
    )
    return w.emit(
        "gather", [x, indices], c.shape, x.dtype, f"dimension_numbers = {numbers}, slice_sizes = {ints(windows)}"
    )


def gather_nd(w: Writer, c: Conversion) -> Value:
    if int(c.attrs.get("batch_dims") or 0):
        raise c.refuse("positions in batches")
    return gathered(w, c.x, w.convert(c.inputs[1], "int64"), 0, c.shape)


def gathered(w: Writer, x: Value, places: Value, vector_axis: int, shape) -> Value:
    """Reads slices at tuples of positions for the first axes, which are along an axis of `places`."""
    count = places.shape[vector_axis]
    parts = []
    for axis in range(count):
        starts, ends = [0] * places.rank, list(places.shape)
        starts[vector_axis], ends[vector_axis] = axis, axis + 1
        parts.append(wrapped(w, w.slice(places, starts, ends), x.shape[axis]))
    places = w.concatenate(parts, vector_axis)
    outer = places.rank - 1
    offsets = list(range(outer, outer + x.rank - count))
    windows = [1 if axis < count else size for axis, size in enumerate(x.shape)]
    numbers = (
        f"#stablehlo.gather<offset_dims = {offsets}, collapsed_slice_dims = {list(range(count))}, "
        f"start_index_map = {list(range(count))}, index_vector_dim = {vector_axis}>"
    )
    return w.emit(
        "gather", [x, places], shape, x.dtype, f"dimension_numbers = {numbers}, slice_sizes = {ints(windows)}"
    )


def adv_index(w: Writer, c: Conversion) -> Value:
    x, *places = c.parts
    outer = c.shape[: len(c.shape) - (x.rank - len(places))]
    rows = [w.reshape(w.broadcast(w.convert(one, "int64"), outer), (1, *outer)) for one in places]
    return gathered(w, x, w.concatenate(rows, 0), 0, c.shape)


def gather(w: Writer, c: Conversion) -> Value:
    """Reads elements along an axis, at positions with the shape of the result."""
    axis, indices = c.axis(), c.inputs[1]
    rows = [
        w.reshape(w.convert(indices, "int64") if one == axis else w.iota(c.shape, one, "int64"), (1, *c.shape))
        for one in range(c.x.rank)
    ]
    return gathered(w, c.x, w.concatenate(rows, 0), 0, c.shape)


_MODES = {"update": None, "add": "add", "mul": "multiply", "min": "minimum", "max": "maximum"}


def scatter_nd(w: Writer, c: Conversion) -> Value:
    x, places, updates = c.inputs
    count = places.shape[0]
    rows = []
    for axis in range(count):
        row = w.slice(w.convert(places, "int64"), [axis, *[0] * (places.rank - 1)], [axis + 1, *places.shape[1:]])
        rows.append(wrapped(w, row, x.shape[axis]))
    return scattered(w, x, w.concatenate(rows, 0), updates, c.attrs.get("mode", "update"))


def scattered(w: Writer, x: Value, places: Value, updates: Value, mode: str) -> Value:
    if mode not in _MODES:
        raise Unwritable(f"the mode {mode!r}")
    count, outer, name = places.shape[0], places.rank - 1, _MODES[mode]

    def build(args):
        return [args[1] if name is None else w.emit(name, args, (), x.dtype)]

    numbers = (
        f"#stablehlo.scatter<update_window_dims = {list(range(outer, updates.rank))}, "
        f"inserted_window_dims = {list(range(count))}, scatter_dims_to_operand_dims = {list(range(count))}, "
        "index_vector_dim = 0>"
    )
    region = w.region([((), x.dtype)] * 2, build)
    return w.emit("scatter", [x, places, updates], x.shape, x.dtype, f"scatter_dimension_numbers = {numbers}", [region])


def scatter_elements(w: Writer, c: Conversion) -> Value:
    axis, (x, indices, updates) = c.axis(), c.inputs
    rows = [
        w.reshape(
            wrapped(w, indices, x.shape[axis]) if one == axis else w.iota(indices.shape, one, "int64"),
            (1, *indices.shape),
        )
        for one in range(x.rank)
    ]
    return scattered(w, x, w.concatenate(rows, 0), updates, c.attrs["reduction"])


# --- order ------------------------------------------------------------------------------------------------------------
def _sorted(w: Writer, x: Value, axis: int, is_ascending: bool) -> list[Value]:
    """Returns the elements in order, and their positions, int64. The sort is stable."""
    places = w.iota(x.shape, axis, "int64")
    direction = "LT" if is_ascending else "GT"
    types = [((), x.dtype)] * 2 + [((), "int64")] * 2
    region = w.region(types, lambda args: [w.compare(direction, args[0], args[1])])
    results = [(x.shape, x.dtype), (x.shape, "int64")]
    attrs = f"dimension = {axis} : i64, is_stable = true"
    return w.emit_all("stablehlo.sort", [x, places], results, attrs, [region])


def sort(w: Writer, c: Conversion) -> Value:
    return _sorted(w, c.x, c.axis(), bool(c.attrs["is_ascend"]))[0]


def argsort(w: Writer, c: Conversion) -> Value:
    return w.convert(_sorted(w, c.x, c.axis(), bool(c.attrs["is_ascend"]))[1], c.dtype)


def topk(w: Writer, c: Conversion) -> list[Value]:
    axis = c.axis()
    found = _sorted(w, c.x, axis, bool(c.attrs["is_ascend"]))
    size = c.shape[axis]
    ends = [size if one == axis else s for one, s in enumerate(c.x.shape)]
    values, places = (w.slice(one, [0] * one.rank, ends) for one in found)
    kind = c.attrs["ret_type"]
    made = {"both": [values, places], "values": [values], "indices": [places]}[kind]
    return [w.convert(one, dtype) for one, (_, dtype) in zip(made, c.results, strict=True)]
