"""tvm.ir: nodes, equality, transformations. Its parts (tvm.ir.expr, tvm.ir.base, ...) are all this module."""

from __future__ import annotations

import sys as _sys
import types as _types

import relay as _relay
from relay import (
    Attrs,
    GlobalTypeVar,
    GlobalVar,
    IRModule,
    Op,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeKind,
)
from relay import Expr as RelayExpr
from relay import Function as BaseFunc
from relay.ir.adt import Constructor, TypeData
from relay.transform import (
    PassPrintingInstrument,
    PassTimingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
    pass_instrument,
)

from ..outside import missing as _missing
from . import transform
from .equality import (
    assert_structural_equal,
    get_first_structural_mismatch,
    structural_equal,
    structural_hash,
)
from .ir_parts import NodeAttrs, diagnostics, supply
from .registry import EnvFunc
from .relations import FuncType, IncompleteType, TypeConstraint, TypeRelation, TypeVar
from .runtime.container import Array, Map
from .spans import SequentialSpan, SourceName, Span
from .target import VirtualDevice  # noqa: F401
from .tir import IntImm

__getattr__ = _missing("tvm.ir")

RelayRefType = RefType
PrimExpr = IntImm
DictAttrs = dict
Node = object


class PassInstrument:
    """A base class for instruments. Every method is optional."""

    def enter_pass_ctx(self):
        """Called when the context is entered."""

    def exit_pass_ctx(self):
        """Called when the context is exited."""

    def should_run(self, mod, info) -> bool:
        """Returns true if a pass should run."""
        return True

    def run_before_pass(self, mod, info):
        """Called before a pass."""

    def run_after_pass(self, mod, info):
        """Called after a pass."""


instrument = _types.SimpleNamespace(
    PassInstrument=PassInstrument,
    PassPrintingInstrument=PassPrintingInstrument,
    PassTimingInstrument=PassTimingInstrument,
    PrintAfterAll=PrintAfterAll,
    PrintBeforeAll=PrintBeforeAll,
    pass_instrument=pass_instrument,
)
base = expr = module = op = adt = type = tensor_type = type_relation = function = attrs = _sys.modules[__name__]
container = _sys.modules[__name__]


def make_node(type_key: str, **fields):
    """Makes attributes, such as make_node("DictAttrs", Primitive=1): a dict for a function, the attributes of a call
    for an operator, otherwise a NodeAttrs. IntImm is a number. Other nodes are made by their classes."""
    if type_key == "DictAttrs":
        return fields
    if type_key == "IntImm":
        return IntImm(fields.get("dtype", "int32"), fields["value"])
    if type_key.rpartition(".")[2].endswith("Attrs"):
        return NodeAttrs(type_key, fields)
    return _missing("tvm.ir")("make_node")(type_key)


def register_op_attr(op_name: str, attr_key: str, value=None, level: int = 10):
    """Registers a property that passes read of an operator: FTVMLegalize, FTVMAlterOpLayout,
    FTVMMixedPrecisionConversionType, and target.COMPILER, a function that returns true for calls that the compiler
    takes, like relay.byoc.supports(). Other properties are stored for Op.get_attr(). Without a value, returns a
    decorator. Of two values, the one with the higher level counts."""
    from .relay.op import rules

    if attr_key.startswith("target."):
        return _relay.byoc.supports(attr_key.removeprefix("target."), op_name, value)
    return rules.register(attr_key, op_name, value, level)


def register_intrin_lowering(*args, **named):
    """Refuses the registration: loops call library functions by rules of the code generator."""
    return _missing("tvm.ir")("register_intrin_lowering")(*args, **named)


def save_json(node) -> str:
    """Returns the text of a module, an expression or a type."""
    from .ir_parts import to_text

    return to_text(node)


def load_json(text: str):
    """Reads the output of save_json()."""
    from .ir_parts import from_text

    return from_text(text)


__all__ = [
    "Array",
    "Attrs",
    "BaseFunc",
    "Constructor",
    "DictAttrs",
    "EnvFunc",
    "FuncType",
    "GlobalTypeVar",
    "GlobalVar",
    "IRModule",
    "IncompleteType",
    "Map",
    "Op",
    "PassInstrument",
    "PrimExpr",
    "RelayExpr",
    "RelayRefType",
    "SequentialSpan",
    "SourceName",
    "Span",
    "TensorType",
    "TupleType",
    "Type",
    "TypeCall",
    "TypeConstraint",
    "TypeData",
    "TypeKind",
    "TypeRelation",
    "TypeVar",
    "assert_structural_equal",
    "diagnostics",
    "get_first_structural_mismatch",
    "instrument",
    "load_json",
    "make_node",
    "register_op_attr",
    "save_json",
    "structural_equal",
    "structural_hash",
    "supply",
    "transform",
]
