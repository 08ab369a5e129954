"""Reports on a partitioned program: the share of each compiler."""

from __future__ import annotations

import dataclasses

from .._core import Call, Function, IRModule, Op, post_order_visit
from ..analysis import get_total_mac_number
from ..ir.pass_infra import run_passes


@dataclasses.dataclass(frozen=True)
class Row:
    """A function for a compiler, or the rest of the program ("relay")."""

    compiler: str
    symbol: str
    calls: int  # calls of operators
    macs: int  # multiply-adds; 0 if sizes are not numbers


class Report(list):
    """A Row for each function of a program that is for a compiler, and one for the rest. str() is a table."""

    def share(self, compiler: str) -> float:
        """Returns the share of all multiply-adds that a compiler has, from 0 to 1."""
        return sum(row.macs for row in self if row.compiler == compiler) / max(1, sum(row.macs for row in self))

    def __str__(self) -> str:
        calls, macs = max(1, sum(row.calls for row in self)), max(1, sum(row.macs for row in self))
        lines = [f"{'compiler':<10} {'operators':>9} {'':>6} {'multiply-adds':>14} {'':>6}  function"]
        lines += [
            f"{row.compiler:<10} {row.calls:>9} {row.calls / calls:>6.1%} {row.macs:>14,} {row.macs / macs:>6.1%}  "
            f"{row.symbol}"
            for row in self
        ]
        return "\n".join(lines)


def _count(symbol: str, compiler: str, function: Function) -> Row:
    calls = 0

    def note(e):
        nonlocal calls
        calls += isinstance(e, Call) and isinstance(e.op, Op)

    post_order_visit(function, note)
    try:
        macs = get_total_mac_number(function)
    except ValueError:  # sizes that are known at run time only
        macs = 0
    return Row(compiler, symbol, calls, macs)


def report(mod: IRModule) -> Report:
    """Returns the shares of the compilers in a program after partition()."""
    rows = Report()
    for var, function in run_passes(mod, ["infer_type"]).functions.items():
        compiler = (function.attrs or {}).get("Compiler", "relay")
        rows.append(_count(var.name_hint, compiler, function))
    return rows
