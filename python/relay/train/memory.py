"""Activations that are recomputed in the backward pass, so that a step fits into a number of bytes.

The forward pass is cut into segments of about equal bytes, at places where few bytes cross. Only values that cross a
cut are kept until the backward pass, which computes the others again (annotation.checkpoint). More segments keep less
at once, but each needs its own values again; the smallest number of segments that fits is taken. This is the planning
by budget of Chen et al., "Training Deep Nets with Sublinear Memory Cost" (2016), with the compiler's own plan in place
of an estimate.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable

from .. import op
from .._core import Call, Constant, Expr, Function, Let, Op, TensorType, Tuple, TupleGetItem, Var
from ..data.sizes import bytes_of
from ..errors import bad_option, wrong_input
from ..ir.pass_infra import run_passes
from .losses import Loss, bindings

_COUNTS = (2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64)  # segments that are tried


@dataclasses.dataclass(frozen=True)
class Memory:
    """The bytes of temporaries that a step plans. segments: of the forward pass; 1 if nothing is recomputed.

    whole: the bytes without recomputation.
    """

    planned: int
    whole: int
    segments: int


def within(loss: Loss, budget: int | float | str, planned: Callable[[Loss], int | None]) -> tuple[Loss, Memory]:
    """Returns the loss with as many checkpoints as the budget needs.

    budget: bytes, or a text such as "64M". planned: the bytes of a step with a loss; None if they depend on the batch.
    """
    limit = bytes_of(budget) if isinstance(budget, str) else budget
    if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not limit > 0:
        raise bad_option(f"memory is {budget!r}", 'give a number of bytes, or a text such as "64M"')
    whole = planned(loss)
    if whole is None:
        raise wrong_input(
            "the bytes of a step depend on sizes that only a batch has", "give all sizes of the batch as numbers"
        )
    best = Memory(whole, whole, 1)
    if whole <= limit:
        return loss, best
    forward = _Forward(loss)
    tried: set[tuple[int, ...]] = set()
    for count in _COUNTS:
        cuts = forward.cuts(count)
        if not cuts or cuts in tried:
            continue
        tried.add(cuts)
        marked = forward.marked(cuts)
        found = Memory(planned(marked), whole, len(cuts) + 1)
        if found.planned <= limit:
            return marked, found
        best = min(best, found, key=lambda one: one.planned)
    raise bad_option(
        f"a step needs more than {int(limit)} bytes: {whole} as it is, "
        f"{best.planned} with the forward pass in {best.segments} segments, the least that was found",
        f"give memory={best.planned} or more, or a smaller batch with accumulate=2",
    )


class _Forward:
    """The forward pass of a loss, as bindings in the order of evaluation."""

    def __init__(self, loss: Loss):
        self._loss = loss
        self._module = run_passes(loss.module, ["to_a_normal_form", "infer_type"])
        self._bound, self._result = bindings(self._module["main"].body)
        if not all(map(_is_straight, [self._result, *(value for _, value in self._bound)])):
            raise wrong_input(
                "only straight-line losses can be recomputed, and this one has branches or calls functions",
                "leave memory out, or mark values by relay.annotation.checkpoint in the functions",
            )
        order = {variable: at for at, (variable, _) in enumerate(self._bound)}
        self._last = list(range(len(self._bound)))
        for at, (_, value) in enumerate(self._bound):
            for used in _variables(value):
                if used in order:
                    self._last[order[used]] = at
        for used in _variables(self._result):
            if used in order:
                self._last[order[used]] = len(self._bound)
        self._bytes = [_bytes(value.checked_type) for _, value in self._bound]

    def _crossing(self, cut: int) -> list[int]:
        """Returns the tensors that are computed up to a place and used behind it."""
        return [at for at in range(cut + 1) if self._last[at] > cut and self._bytes[at] > 0]

    def cuts(self, count: int) -> tuple[int, ...]:
        """Returns the places behind which the forward pass is cut into `count` segments, or fewer.

        Of the places in the last half of a segment's bytes, that with the fewest bytes across is taken.
        """
        share = sum(self._bytes) / count
        across = self._across()
        found, since, window = [], 0, []
        for at, size in enumerate(self._bytes[:-1]):
            since += size
            if since >= share / 2 and across[at] > 0:
                window.append(at)
            if since >= share and window:
                best = min(window, key=lambda place: across[place])
                found.append(best)
                since, window = sum(self._bytes[best + 1 : at + 1]), []
        return tuple(found[: count - 1])

    def _across(self) -> list[int]:
        """Returns the bytes that cross each place."""
        change = [0] * (len(self._bound) + 1)
        for at, size in enumerate(self._bytes):
            change[at] += size
            change[self._last[at]] -= size
        total, out = 0, []
        for step in change[:-1]:
            total += step
            out.append(total)
        return out

    def marked(self, cuts: tuple[int, ...]) -> Loss:
        """Returns the loss with checkpoints of all values that cross the cuts."""
        kept = {at for cut in cuts for at in self._crossing(cut)}
        body: Expr = self._result
        for at in range(len(self._bound) - 1, -1, -1):
            variable, value = self._bound[at]
            if at in kept:
                before = Var(variable.name_hint, value.checked_type)
                body = Let(before, value, Let(variable, op.annotation.checkpoint(before), body))
            else:
                body = Let(variable, value, body)
        module = self._module.clone()
        module["main"] = Function(self._module["main"].params, body)
        return dataclasses.replace(self._loss, module=run_passes(module, ["infer_type"]))


def _is_straight(value: Expr) -> bool:
    return (
        isinstance(value.op, Op) if isinstance(value, Call) else isinstance(value, (Var, Constant, Tuple, TupleGetItem))
    )


def _variables(value: Expr) -> list[Var]:
    """Returns the variables that a value in A-normal form uses."""
    if isinstance(value, Var):
        return [value]
    if isinstance(value, Call):
        return [arg for one in value.args for arg in _variables(one)]
    if isinstance(value, Tuple):
        return [arg for one in value.fields for arg in _variables(one)]
    return _variables(value.tuple_value) if isinstance(value, TupleGetItem) else []


def _bytes(type_) -> int:
    """Returns the bytes of a tensor; 0 for other values and open sizes."""
    if not isinstance(type_, TensorType) or not all(str(extent).isdigit() for extent in type_.shape):
        return 0
    bits = re.search(r"\d+", str(type_.dtype))
    return math.prod(map(int, type_.shape)) * -(-int(bits[0] if bits else 8) // 8)
