# ruff: noqa: F403
"""relay.analysis with the names of other years for equality."""

from relay import CompileError, Function, IRModule, run_passes
from relay import analysis as _ours
from relay.analysis import *
from relay.analysis import structural_equal

from ...outside import missing as _missing

__getattr__ = _missing("tvm.relay.analysis")


def alpha_equal(lhs, rhs) -> bool:
    """Equal up to the names of bound variables, as they are or with types: a module used to infer what was put into it."""
    return structural_equal(lhs, rhs) or structural_equal(_typed(lhs), _typed(rhs))


def _typed(value):
    try:
        if isinstance(value, IRModule):
            return run_passes(value, ["infer_type"])
        if isinstance(value, Function):
            return run_passes(IRModule({"main": value}), ["infer_type"])["main"]
    except CompileError:
        pass
    return value


def assert_alpha_equal(lhs, rhs) -> None:
    """Raises an AssertionError that shows both sides when they are not."""
    if not alpha_equal(lhs, rhs):
        raise AssertionError(f"not equal:\n{lhs}\n-- and --\n{rhs}")


graph_equal, assert_graph_equal = alpha_equal, assert_alpha_equal

__all__ = [*_ours.__all__, "assert_alpha_equal", "assert_graph_equal", "graph_equal"]
