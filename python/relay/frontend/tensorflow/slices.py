"""The windows of StridedSlice, whose masks say which of its numbers count."""

from __future__ import annotations

import dataclasses

from ..._core import Dim
from ..shared.problems import Refused


@dataclasses.dataclass(frozen=True)
class Window:
    """A part of an axis. axis: of the data, or None for a new axis of size 1. begin, end: None for the whole side.
    shrinks: true if the axis is left out of the result."""

    axis: int | None
    begin: object = None
    end: object = None
    stride: int = 1
    shrinks: bool = False

    def as_index(self):
        """Returns the index of NumPy with this meaning."""
        if self.axis is None:
            return None
        if self.shrinks:
            return self.begin
        return slice(self.begin, self.end, self.stride)


def windows_of(c, shape: list) -> list[Window]:
    """Returns a window for each axis of the data, and for each new one. Begins and ends may be expressions of sizes."""
    masks = {name: c(f"{name}_mask", 0) for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")}
    begins, ends, strides = c.sizes(1, "its begin"), c.sizes(2, "its end"), c.ints(3, "its strides")
    count, rank = len(begins), len(shape)
    if not len(ends) == len(strides) == count:
        raise Refused(f"it has {count} begins, {len(ends)} ends and {len(strides)} strides")
    bits = [{name: bool(mask >> place & 1) for name, mask in masks.items()} for place in range(count)]
    used = sum(not one["new_axis"] and not one["ellipsis"] for one in bits)
    if used > rank:
        raise Refused(f"it slices {used} axes of a tensor that has {rank}")
    windows, axis, has_ellipsis = [], 0, False
    for place, bit in enumerate(bits):
        if bit["ellipsis"]:
            if has_ellipsis:
                raise Refused("it has two ellipses")
            has_ellipsis = True
            for _ in range(rank - used):
                windows.append(Window(axis))
                axis += 1
        elif bit["new_axis"]:
            windows.append(Window(None))
        else:
            windows.append(_window(axis, shape[axis], begins[place], ends[place], strides[place], bit))
            axis += 1
    windows += [Window(rest) for rest in range(axis, rank)]
    return windows


def _window(axis: int, size, begin, end, stride: int, bit: dict) -> Window:
    if stride == 0:
        raise Refused("it has the stride 0")
    if bit["shrink_axis"]:
        begin = 0 if bit["begin"] else begin
        if not isinstance(begin, Dim) and begin < 0 and isinstance(size, int):
            begin += size
        if isinstance(begin, int) and isinstance(size, int) and not 0 <= begin < size:
            raise Refused(f"it takes element {begin} of an axis with {size}")
        return Window(axis, begin, None, 1, True)
    return Window(axis, None if bit["begin"] else begin, None if bit["end"] else end, stride)
