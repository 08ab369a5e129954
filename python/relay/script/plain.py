"""Scripted functions in plain Python: relay's operators compute NumPy arrays at once."""

from __future__ import annotations

import types
from collections.abc import Callable

import numpy as np

from .._core import Expr, Function, IRModule
from ..ir.expr import TupleWrapper, const
from ..run.compiled import evaluate
from .program import tracing


class _Eager:
    """A module of relay whose operators compute at once."""

    def __init__(self, module: types.ModuleType):
        self._module = module

    def __getattr__(self, name: str):
        return _eagerly(getattr(self._module, name))


def _eagerly(value: object) -> object:
    if isinstance(value, types.ModuleType) and value.__name__.partition(".")[0] == "relay":
        return _Eager(value)
    if isinstance(value, types.FunctionType) and value.__module__.startswith("relay.op"):
        return lambda *args, **named: _computed(value, args, named)
    return value


def _computed(operator: Callable, args: tuple, named: dict):
    """Evaluates one operator on arrays."""

    def expr(value):
        if isinstance(value, (np.ndarray, np.generic)):
            return const(np.asarray(value))
        return type(value)(map(expr, value)) if isinstance(value, (tuple, list)) else value

    result = operator(*map(expr, args), **{name: expr(value) for name, value in named.items()})
    if isinstance(result, TupleWrapper):
        result = result.astuple()
    if not isinstance(result, Expr):
        return result
    return evaluate(IRModule({"main": Function([], result)}), [])


def plainly(function: types.FunctionType) -> Callable:
    """Returns a function of the same code whose operators of relay compute at once."""
    names = {name: _eagerly(value) for name, value in function.__globals__.items()}
    cells = tuple(_cell(cell) for cell in function.__closure__ or ())
    copy = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells or None)
    copy.__kwdefaults__ = function.__kwdefaults__

    def run(*args, **named):
        with tracing(None):
            return copy(*args, **named)

    return run


def _cell(cell: types.CellType) -> types.CellType:
    try:
        return types.CellType(_eagerly(cell.cell_contents))
    except ValueError:
        return cell
