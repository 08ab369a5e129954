"""tvm.tir.expr: sizes."""

from . import Any, IntImm, SizeVar, Var, const

__all__ = ["Any", "IntImm", "SizeVar", "Var", "const"]
