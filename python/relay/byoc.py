"""Bring your own code generator: what a compiler of yours takes of a program.

    @relay.byoc.supports("other", "nn.dense")
    def dense(call):
        return call.checked_type.dtype == "float32"

    @relay.byoc.register_pattern_table("other")
    def table():
        return [("other.dense_relu", is_op("nn.relu")(is_op("nn.dense")(wildcard(), wildcard())))]

    mod = relay.byoc.partition(mod, "other")

docs/patterns.md shows what comes out.
"""

from __future__ import annotations

from collections.abc import Callable

from ._core import Call, IRModule, Op

__all__ = ["get_pattern_table", "partition", "register_pattern_table", "supports", "takes"]

_TABLES: dict[str, Callable[[], list]] = {}
_CHECKS: dict[tuple[str, str], Callable[[Call], bool]] = {}


def supports(compiler: str, op_name: str, check: Callable[[Call], bool] | None = None):
    """Says that the compiler takes calls of an operator that check(call) is true of. Without `check` a decorator."""
    if check is None:
        return lambda function: supports(compiler, op_name, function)
    Op.get(op_name)  # there is such an operator
    _CHECKS[compiler, op_name] = check
    return check


def takes(compiler: str, call: Call) -> bool:
    """Whether the compiler takes this call of an operator."""
    check = _CHECKS.get((compiler, call.op.name))
    return check is not None and bool(check(call))


def register_pattern_table(compiler: str, table: Callable[[], list] | None = None):
    """Registers a function that gives rows (name, pattern) or (name, pattern, check). Without `table` a decorator."""
    if table is None:
        return lambda function: register_pattern_table(compiler, function)
    _TABLES[compiler] = table
    return table


def get_pattern_table(compiler: str) -> list:
    """The table of a compiler."""
    if compiler not in _TABLES:
        known = ", ".join(sorted(_TABLES)) or "none"
        raise KeyError(
            f"there is no pattern table for {compiler}; there are: {known}. register_pattern_table() adds one"
        )
    return _TABLES[compiler]()


def partition(mod: IRModule, compiler: str, *, module_name: str = "default", bind_constants: bool = True) -> IRModule:
    """The module with what the compiler takes, patterns of its table first, in functions with Compiler=compiler."""
    from . import transform

    table = get_pattern_table(compiler) if compiler in _TABLES else []
    passes = [
        transform.MergeComposite(table),
        transform.AnnotateTarget([compiler]),
        transform.MergeCompilerRegions(),
        transform.PartitionGraph(module_name, bind_constants),
    ]
    for one in passes:
        mod = one(mod)
    return mod
