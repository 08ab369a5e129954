"""tvm.ir: nodes, equality, transformations."""

from __future__ import annotations

import types as _types

import relay as _relay
from relay import (
    Attrs,
    FuncType,
    GlobalTypeVar,
    GlobalVar,
    IRModule,
    Op,
    RefType,
    Span,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)
from relay import Expr as RelayExpr
from relay.adt import Constructor, TypeData  # noqa: F401
from relay.transform import (
    PassPrintingInstrument,
    PassTimingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
    pass_instrument,
)

from ..outside import explain as _explain
from ..outside import missing as _missing
from . import transform
from .equality import assert_structural_equal, structural_equal, structural_hash
from .ir_parts import diagnostics, supply
from .target import VirtualDevice  # noqa: F401

__getattr__ = _missing("tvm.ir")

RelayRefType = RefType


class PassInstrument:
    """A base for instruments: any of the methods may be left out."""

    def enter_pass_ctx(self):
        """When the context is entered."""

    def exit_pass_ctx(self):
        """When it is left."""

    def should_run(self, mod, info) -> bool:
        """Whether a pass runs."""
        return True

    def run_before_pass(self, mod, info):
        """Before it."""

    def run_after_pass(self, mod, info):
        """After it."""


instrument = _types.SimpleNamespace(
    PassInstrument=PassInstrument,
    PassPrintingInstrument=PassPrintingInstrument,
    PassTimingInstrument=PassTimingInstrument,
    PrintAfterAll=PrintAfterAll,
    PrintBeforeAll=PrintBeforeAll,
    pass_instrument=pass_instrument,
)
module = _types.SimpleNamespace(IRModule=IRModule)
op = _types.SimpleNamespace(Op=Op)


def make_node(type_key: str, **fields) -> dict:
    """Attributes of a function are a dict: make_node("DictAttrs", Primitive=1). Other nodes are made by their
    classes."""
    if type_key != "DictAttrs":
        raise NotImplementedError(_explain("tvm.ir.make_node"))
    return fields


def register_op_attr(op_name: str, attr_key: str, value=None, level: int = 10):
    """What passes ask about an operator: FTVMLegalize, FTVMAlterOpLayout, FTVMMixedPrecisionConversionType, and
    target.COMPILER, a function of a call that says whether the compiler takes it, as relay.byoc.supports(). Without a
    value a decorator."""
    from .relay.op import rules

    if attr_key.startswith("target."):
        return _relay.byoc.supports(attr_key.removeprefix("target."), op_name, value)
    if attr_key not in rules.RULES:
        raise NotImplementedError(_explain("tvm.ir.register_op_attr"))
    return rules._register(attr_key, op_name, value)


def save_json(node) -> str:
    """The text of a module or an expression."""
    return node.astext()


def load_json(text: str):
    """What save_json() wrote."""
    return _relay.fromtext(text)


__all__ = [
    "Attrs",
    "FuncType",
    "GlobalTypeVar",
    "GlobalVar",
    "IRModule",
    "Op",
    "RelayExpr",
    "RelayRefType",
    "Span",
    "TupleType",
    "Type",
    "TypeCall",
    "TypeVar",
    "PassInstrument",
    "assert_structural_equal",
    "diagnostics",
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
