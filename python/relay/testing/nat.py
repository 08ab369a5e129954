"""Natural numbers of the prelude's part "nat", as expressions and as values: zero, succ(zero), ..."""

from __future__ import annotations

from ..data.values import Data
from ..ir.prelude import Prelude


def add_nat_definitions(prelude: Prelude) -> None:
    """Adds the part to the prelude's module, and the type, its constructors and functions to the prelude: p.nat, p.z,
    p.s, p.add, p.double, p.nat_iterate."""
    mod = prelude.mod
    mod.import_from_std("nat")
    prelude.nat, prelude.z, prelude.s = mod.get_type("nat")
    prelude.add, prelude.double = mod.get_global_var("nat_add"), mod.get_global_var("nat_double")


def count(prelude: Prelude, value) -> int:
    """Returns the number that a value represents."""
    _, zero, succ = prelude.mod.get_type("nat")
    number = 0
    while _constructor(value) == succ.name_hint:
        number, value = number + 1, value.fields[0]
    if _constructor(value) != zero.name_hint:
        raise ValueError(f"{value!r} is not a natural number")
    return number


def _constructor(value) -> str:
    return getattr(value.constructor, "name_hint", value.constructor)


def make_nat_value(prelude: Prelude, n: int) -> Data:
    """Returns a number as a value."""
    _, zero, succ = prelude.mod.get_type("nat")
    value = Data(zero.name_hint)
    for _ in range(n):
        value = Data(succ.name_hint, value)
    return value


def make_nat_expr(prelude: Prelude, n: int):
    """Returns a number as an expression."""
    _, zero, succ = prelude.mod.get_type("nat")
    expr = zero()
    for _ in range(n):
        expr = succ(expr)
    return expr
