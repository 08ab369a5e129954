"""The view that a converter has of an operator of Caffe2."""

from __future__ import annotations

from ... import op
from ..._core import Expr
from ..shared.expressions import known
from ..shared.node import MOST_WINDOW, NodeConversion
from ..shared.problems import Refused

SAME, CAFFE = 2, 3  # values of legacy_pad


class Operator(NodeConversion):
    """An operator. Images are (N, C, ..), or (N, .., C) if order is NHWC."""

    @property
    def channels_last(self) -> bool:
        return self.text("order", "NCHW", ("NCHW", "NHWC")) == "NHWC"

    def image(self) -> Expr:
        """Returns the first input as (N, C, ..)."""
        if self.rank not in (3, 4, 5):
            raise Refused(f"its input has {self.rank} axes, not 3 to 5")
        return op.transpose(self.x, axes=[0, self.rank - 1, *range(1, self.rank - 1)]) if self.channels_last else self.x

    def as_given(self, made: Expr) -> Expr:
        """Returns a result (N, C, ..) in the order of the operator."""
        rank = self.rank
        return op.transpose(made, axes=[0, *range(2, rank), 1]) if self.channels_last else made

    def sizes(self) -> list[int]:
        """Returns the sizes of the image, without batch and channels."""
        found = self.shape[1:-1] if self.channels_last else self.shape[2:]
        return [known(one, "the image") for one in found]

    def each(self, name: str, count: int, otherwise: int | None, least: int = 1) -> list[int]:
        """Returns a number for each axis of space: kernels, or kernel_h and kernel_w, or kernel."""
        ends = {1: [""], 2: ["_h", "_w"]}.get(count, [])
        plural = f"{name}s"
        if self.has(plural):
            made = self.ints(plural, count=count)
        elif ends and all(self.has(f"{name}{end}") for end in ends):
            made = [self.int(f"{name}{end}") for end in ends]
        else:
            made = [self.int(name, otherwise)] * count
        if any(not least <= one <= MOST_WINDOW for one in made):
            raise Refused(f"`{name}` is {made}, not {least} to {MOST_WINDOW}")
        return made

    def padding(self, window: list[int], strides: list[int], dilation: list[int]) -> tuple[list[int], list[int]]:
        """Returns the padding before and after each axis of space."""
        count, legacy = len(window), self.int("legacy_pad", 0)
        if legacy == SAME:
            pairs = []
            for n, k, s, d in zip(self.sizes(), window, strides, dilation, strict=True):
                total = max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
                pairs.append((total // 2, total - total // 2))
            return [a for a, _ in pairs], [b for _, b in pairs]
        if self.has("pads"):
            made = self.ints("pads", count=2 * count)
        elif any(self.has(f"pad_{end}") for end in "tlbr"):
            made = [self.int(f"pad_{end}", 0) for end in "tlbr"]
        else:
            made = [self.int("pad", 0)] * (2 * count)
        if any(not 0 <= one <= MOST_WINDOW for one in made) or len(made) != 2 * count:
            raise Refused(f"its padding is {made}")
        return made[:count], made[count:]
