"""Meshes of workers, and shardings: how a tensor is divided among them.

    mesh = Mesh(data=2, model=4)            8 ranks; rank 5 has the coordinates data=1, model=1
    "{data}, {model}"                       a matrix: rows divided along data, columns along model
    "{}, {data, model}"                     columns divided along data, each part again along model
    "{data}, {}, sum{model}"                rows divided; the sum over model is the value (also max, min)

A tensor is whole along every axis that its sharding does not name.
"""

from __future__ import annotations

import dataclasses
import math
import re

import numpy as np

from ..errors import bad_option, wrong_input

WHOLE = -1  # a state along one axis: every rank has the whole value. A state from 0 is the divided dimension
PARTIAL = "sum"  # a state: the sum over the ranks is the value. Likewise "max" and "min"

State = int | str
_PART = r"(?:sum|max|min)?\{[\w,\s]*\}"


@dataclasses.dataclass(frozen=True)
class Mesh:
    """Ranks in a grid with named axes, the last axis fastest."""

    sizes: tuple[tuple[str, int], ...]

    def __init__(self, sizes: tuple[tuple[str, int], ...] = (), **named: int):
        sizes = tuple(sizes) + tuple(named.items())
        for name, size in sizes:
            if not isinstance(size, int) or size < 1 or not str(name).isidentifier():
                raise bad_option(f"the mesh has an axis {name}={size}", "give names with sizes from 1: Mesh(data=4)")
        object.__setattr__(self, "sizes", sizes)

    @staticmethod
    def parse(text: str) -> Mesh:
        """Reads "data=2, model=4"."""
        try:
            pairs = [part.split("=") for part in text.split(",") if part.strip()]
            return Mesh(tuple((name.strip(), int(size)) for name, size in pairs))
        except ValueError as error:
            raise bad_option(f"{text!r} is not a mesh", 'write axes with sizes: "data=2, model=4"') from error

    def __str__(self) -> str:
        return ", ".join(f"{name}={size}" for name, size in self.sizes)

    @property
    def size(self) -> int:
        """The number of ranks."""
        return math.prod(size for _, size in self.sizes)

    @property
    def axes(self) -> dict[str, int]:
        """The sizes by name."""
        return dict(self.sizes)

    def coordinates(self, rank: int) -> dict[str, int]:
        """Returns a rank's place along each axis."""
        found = {}
        for name, size in reversed(self.sizes):
            found[name] = rank % size
            rank //= size
        return {name: found[name] for name, _ in self.sizes}

    def rank(self, coordinates: dict[str, int]) -> int:
        """Returns the rank at these coordinates."""
        rank = 0
        for name, size in self.sizes:
            rank = rank * size + coordinates[name]
        return rank

    def group(self, rank: int, axis: str) -> list[int]:
        """Returns the ranks that differ from `rank` along this axis only, in order, itself included."""
        here = self.coordinates(rank)
        return [self.rank(here | {axis: at}) for at in range(self.axes[axis])]


@dataclasses.dataclass(frozen=True)
class Sharding:
    """The axes along which each dimension is divided, major to minor. Missing dimensions are whole.

    partial: axes over which the value is the sum, "max" or "min" of what the ranks have, with that combiner. Only
    values inside of a program can be partial."""

    dims: tuple[tuple[str, ...], ...] = ()
    partial: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def parse(text: str) -> Sharding:
        """Reads "{data}, {}" and "{data}, {}, sum{model}"."""
        if not re.fullmatch(rf"\s*({_PART}\s*(,\s*{_PART}\s*)*)?", text):
            raise bad_option(f"{text!r} is not a sharding", 'write the axes of each dimension: "{data}, {}"')
        dims, partial = [], []
        for kind, names in re.findall(r"(\w*)\{([\w,\s]*)\}", text):
            axes = tuple(name.strip() for name in names.split(",") if name.strip())
            if kind:
                partial += [(axis, kind) for axis in axes]
            else:
                dims.append(axes)
        return Sharding(tuple(dims), tuple(partial))

    def __str__(self) -> str:
        parts = ["{" + ", ".join(names) + "}" for names in self.dims]
        return ", ".join(parts + [f"{combiner}{{{axis}}}" for axis, combiner in self.partial])

    def state(self, axis: str) -> State:
        """Returns the dimension that is divided along a mesh axis, the combiner of a partial value, or WHOLE."""
        divided = next((d for d, names in enumerate(self.dims) if axis in names), WHOLE)
        return dict(self.partial).get(axis, divided)

    def check(self, name: str, shape: tuple, mesh: Mesh) -> None:
        """Raises a diagnostic if a tensor of this shape cannot be divided so."""
        used = [axis for names in self.dims for axis in names] + [axis for axis, _ in self.partial]
        for axis in used:
            if axis not in mesh.axes:
                raise wrong_input(
                    f"the sharding {self} of `{name}` names the axis `{axis}`, and the mesh is {mesh}",
                    f"use its axes: {', '.join(mesh.axes)}",
                )
        if len(set(used)) != len(used):
            raise wrong_input(
                f"the sharding {self} of `{name}` names an axis twice", "divide along each axis of the mesh once"
            )
        order = [axis for axis, _ in mesh.sizes]
        for names in self.dims:
            if list(names) != sorted(names, key=order.index):
                raise wrong_input(
                    f"the sharding {self} of `{name}` divides a dimension along {', '.join(names)}, "
                    f"and the order in the mesh is {', '.join(sorted(names, key=order.index))}",
                    "name axes in the order of the mesh, or make the mesh with the other order",
                )
        if len(self.dims) > len(shape):
            raise wrong_input(
                f"the sharding {self} of `{name}` has {len(self.dims)} dimensions, and its shape is {tuple(shape)}",
                "give the axes of each dimension, {} for a whole one",
            )
        for d, names in enumerate(self.dims):
            ways = math.prod(mesh.axes[axis] for axis in names)
            if ways > 1 and (not isinstance(shape[d], int) or shape[d] % ways):
                raise wrong_input(
                    f"dimension {d} of `{name}`, of size {shape[d]}, is divided along {', '.join(names)}: "
                    f"{ways} does not divide {shape[d]}",
                    "change the size or the mesh, or leave this dimension whole",
                )

    def local_shape(self, shape: tuple[int, ...], mesh: Mesh) -> tuple[int, ...]:
        """Returns the shape of each rank's part."""
        ways = [math.prod(mesh.axes[axis] for axis in names) for names in self.dims]
        return tuple(size // (ways[d] if d < len(ways) else 1) for d, size in enumerate(shape))

    def place(self, shape: tuple[int, ...], mesh: Mesh, rank: int) -> tuple[slice, ...]:
        """Returns the place of a rank's part in the whole tensor."""
        here, local, found = mesh.coordinates(rank), self.local_shape(shape, mesh), []
        for d, size in enumerate(local):
            at = 0
            for axis in self.dims[d] if d < len(self.dims) else ():
                at = at * mesh.axes[axis] + here[axis]
            found.append(slice(at * size, (at + 1) * size))
        return tuple(found)

    def part(self, value: np.ndarray, mesh: Mesh, rank: int) -> np.ndarray:
        """Returns a rank's part of a tensor, row-major."""
        return np.ascontiguousarray(value[self.place(value.shape, mesh, rank)]).reshape(
            self.local_shape(value.shape, mesh)
        )

    def joined(self, parts: list[np.ndarray], shape: tuple[int, ...], mesh: Mesh) -> np.ndarray:
        """Returns the tensor of this shape from the parts of all ranks."""
        out = np.empty(shape, parts[0].dtype)
        for rank, part in enumerate(parts):
            out[self.place(shape, mesh, rank)] = part
        return out

    def owns(self, mesh: Mesh, rank: int) -> bool:
        """True if no lower rank has the same part."""
        used = {axis for names in self.dims for axis in names}
        return all(at == 0 for axis, at in mesh.coordinates(rank).items() if axis not in used)

    @staticmethod
    def of_states(states: dict[str, State], rank: int) -> Sharding:
        """Returns the sharding of a tensor of `rank` dimensions with these states along the axes."""
        dims: list[tuple[str, ...]] = [()] * rank
        for axis, state in states.items():
            if isinstance(state, int) and state >= 0:
                dims[state] += (axis,)
        return Sharding(tuple(dims), tuple((axis, state) for axis, state in states.items() if isinstance(state, str)))


def as_sharding(given: Sharding | str) -> Sharding:
    """Returns a sharding, read from text if it is one."""
    return given if isinstance(given, Sharding) else Sharding.parse(given)
