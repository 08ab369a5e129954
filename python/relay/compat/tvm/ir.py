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
    analysis,
)
from relay import Expr as RelayExpr
from relay.transform import PassTimingInstrument, pass_instrument

from ..outside import missing as _missing
from . import transform
from .equality import assert_structural_equal, structural_equal

__getattr__ = _missing("tvm.ir")

RelayRefType = RefType
structural_hash = analysis.structural_hash
instrument = _types.SimpleNamespace(pass_instrument=pass_instrument, PassTimingInstrument=PassTimingInstrument)


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
    "save_json",
    "structural_equal",
    "structural_hash",
    "transform",
]
