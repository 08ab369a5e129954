"""The view that a converter has of a call: the values of its inputs, its attributes, the types of its results."""

from __future__ import annotations

import dataclasses

from .writer import Unwritable, Value, Writer


@dataclasses.dataclass
class Conversion:
    """A call of an operator. inputs: values, and lists of them for tuples. results: (shape, dtype) of each result."""

    inputs: list
    attrs: dict
    results: list[tuple]

    @property
    def x(self) -> Value:
        return self.inputs[0]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.results[0][0]

    @property
    def dtype(self) -> str:
        return self.results[0][1]

    @property
    def parts(self) -> list[Value]:
        """The fields of an input that is a tuple."""
        return self.inputs[0] if isinstance(self.inputs[0], list) else [self.inputs[0]]

    def axes(self, key: str = "axis") -> list[int]:
        """Returns axes of the first input, counted from the front; all if the attribute is unset or empty."""
        found = self.attrs.get(key)
        rank = self.x.rank
        found = list(range(rank)) if found in (None, []) else found if isinstance(found, (list, tuple)) else [found]
        axes = sorted({int(one) % rank for one in found}) if rank else []
        return [one for one in range(rank) if one not in axes] if self.attrs.get("exclude") else axes

    def axis(self, key: str = "axis") -> int:
        return int(self.attrs[key]) % max(self.x.rank, 1)

    def refuse(self, why: str) -> Unwritable:
        return Unwritable(why)


def exactly(convert):
    """Returns a converter that computes halves in float32, and rounds its results: sums and squares of halves may be
    far larger than halves."""

    def wide(dtype: str) -> str:
        return "float32" if dtype in ("float16", "bfloat16") else dtype

    def converted(w: Writer, c: Conversion):
        inputs = [w.convert(one, wide(one.dtype)) for one in c.inputs]
        exact = dataclasses.replace(c, inputs=inputs, results=[(shape, wide(dtype)) for shape, dtype in c.results])
        made = convert(w, exact)
        all_ = made if isinstance(made, list) else [made]
        rounded = [w.convert(one, dtype) for one, (_, dtype) in zip(all_, c.results, strict=True)]
        return rounded if isinstance(made, list) else rounded[0]

    return converted
