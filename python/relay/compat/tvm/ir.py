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
from relay.transform import PassTimingInstrument, pass_instrument

from ..outside import explain as _explain
from ..outside import missing as _missing
from . import transform
from .equality import assert_structural_equal, structural_equal, structural_hash

__getattr__ = _missing("tvm.ir")

RelayRefType = RefType
instrument = _types.SimpleNamespace(pass_instrument=pass_instrument, PassTimingInstrument=PassTimingInstrument)


def make_node(type_key: str, **fields) -> dict:
    """Attributes of a function are a dict: make_node("DictAttrs", Primitive=1). Other nodes are made by their
    classes."""
    if type_key != "DictAttrs":
        raise NotImplementedError(_explain("tvm.ir.make_node"))
    return fields


def register_op_attr(op_name: str, attr_key: str, value=None, level: int = 10):
    """target.COMPILER: a function of a call that says whether the compiler takes it, as relay.byoc.supports()."""
    if not attr_key.startswith("target."):
        raise NotImplementedError(_explain("tvm.ir.register_op_attr"))
    return _relay.byoc.supports(attr_key.removeprefix("target."), op_name, value)


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
    "assert_structural_equal",
    "instrument",
    "load_json",
    "make_node",
    "register_op_attr",
    "save_json",
    "structural_equal",
    "structural_hash",
    "transform",
]
