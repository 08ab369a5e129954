"""What classes had in addition, put on them: TensorType.shape[0].value, var.vid, function.set_attribute, module._add.

Sizes stay numbers (int), so nothing else notices.
"""

from __future__ import annotations

from relay import Constant, Function, GlobalTypeVar, IRModule, Op, TensorType, TypeKind, TypeVar, Var, operators
from relay.arrays import numpy as as_numpy

from .nd import NDArray
from .tir import IntImm

_data, _shape = Constant.data.fget, TensorType.shape.fget


def _sizes(self) -> tuple:
    return tuple(IntImm("int64", size) if isinstance(size, int) else size for size in _shape(self))


def _array(self):
    return as_numpy(_data(self)).view(NDArray)


class Id:
    """What makes a variable that one: same_as(), name_hint."""

    def __init__(self, var: Var):
        self._var, self.name_hint = var, var.name_hint

    def same_as(self, other) -> bool:
        """Identity."""
        return isinstance(other, Id) and self._var.same_as(other._var)

    __eq__ = same_as

    def __hash__(self) -> int:
        return hash(self._var)


_PATTERNS = {"elementwise": 0, "broadcast": 1, "injective": 2, "reduce": 3, "output_fusable": 4, "opaque": 8}


def _op_attrs(op: Op) -> dict:
    """What an operator's file and the rules of users say of it, under the names that passes of TVM asked for."""
    from .relay.op.rules import RULES

    definition = operators()[op.name]
    fusion = definition["fusion"].lower().replace(" ", "_").replace("outputfusable", "output_fusable")
    found = {"TOpPattern": _PATTERNS[fusion], "TNonComputational": False}
    if definition["differentiable"]:
        found["FPrimalGradient"] = True
    for key, rules in RULES.items():
        if op.name in rules:
            found[key] = rules[op.name]
    return found


def _get_attr(self, key: str):
    return _op_attrs(self).get(key)


def _has_attr(self, key: str) -> bool:
    return key in _op_attrs(self)


def _reset_attr(self, key: str) -> None:
    from .relay.op.rules import RULES

    RULES.get(key, {}).pop(self.name, None)


def install() -> None:
    """Puts them there."""
    TensorType.shape = property(_sizes, doc="Numbers, and Dims for others.")
    Var.vid = property(Id)
    Constant.data = property(_array, doc="Its value, an NDArray.")
    Function.set_attribute = Function.with_attr
    IRModule.entry_func = property(lambda self: self.get_global_var("main"))
    Op.num_inputs = property(lambda self: len(operators()[self.name]["inputs"]))
    TypeVar.kind = property(lambda self: TypeKind.Type)
    GlobalTypeVar.kind = property(lambda self: TypeKind.AdtHandle)
    Op.has_attr, Op.get_attr, Op.reset_attr = _has_attr, _get_attr, _reset_attr
    Op.list_op_names = staticmethod(lambda: sorted(operators()))
    IRModule.same_as = lambda self, other: self is other
    IRModule._add = lambda self, var, function, update=False: self.update_func(var, function)
