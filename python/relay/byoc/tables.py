"""Tables of compilers: the operators and the patterns that each compiler takes."""

from __future__ import annotations

from collections.abc import Callable

from .._core import Call, Op

TABLES: dict[str, Callable[[], list]] = {}
_CHECKS: dict[tuple[str, str], Callable[[Call], bool]] = {}


def supports(compiler: str, op_name: str, check: Callable[[Call], bool] | None = None):
    """Registers a check: the compiler takes calls of an operator for which check(call) is true. Without `check`,
    returns a decorator."""
    if check is None:
        return lambda function: supports(compiler, op_name, function)
    Op.get(op_name)  # raises if there is no such operator
    _CHECKS[compiler, op_name] = check
    return check


def takes(compiler: str, call: Call) -> bool:
    """Returns true if the compiler takes this call of an operator."""
    check = _CHECKS.get((compiler, call.op.name))
    return check is not None and bool(check(call))


def register_pattern_table(compiler: str, table: Callable[[], list] | None = None):
    """Registers a function that returns rows (name, pattern) or (name, pattern, check). Without `table`, returns a
    decorator."""
    if table is None:
        return lambda function: register_pattern_table(compiler, function)
    TABLES[compiler] = table
    return table


def get_pattern_table(compiler: str) -> list:
    """Returns the pattern table of a compiler."""
    if compiler not in TABLES:
        known = ", ".join(sorted(TABLES)) or "none"
        raise KeyError(
            f"there is no pattern table for {compiler}; there are: {known}. register_pattern_table() adds one"
        )
    return TABLES[compiler]()
