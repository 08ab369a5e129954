# ruff: noqa: F401, F403, F405, F811
"""The module of `from tvm import relay`: all names of relay, executors that return NDArrays, and names of 2019."""

from __future__ import annotations

import importlib as _importlib
import sys as _sys

import relay as _relay
from relay import *
from relay.ir import expr_functor, loops, scope_builder, type_functor
from relay.run.build_module import bind_params_by_name

from ...outside import missing as _missing
from .. import extras as _extras
from .. import tir
from ..relations import FuncType, IncompleteType, TypeConstraint, TypeRelation, TypeVar
from ..spans import SequentialSpan, SourceName, Span
from . import backend, early, feature, frontend, ir_pass, prelude, testing
from .early import Module, build_config, module
from .run import build, create_executor, debug, optimize, param_dict
from .text import fromtext, parse, parse_expr, parser

__getattr__ = _missing("tvm.relay")

# Replaces the modules of the same names that `from relay import *` imported.
analysis = _importlib.import_module(f"{__name__}.analysis")
op = _importlib.import_module(f"{__name__}.op")
text = _importlib.import_module(f"{__name__}.text")
annotation = _importlib.import_module(f"{__name__}.annotation")
data_dep_optimization = _importlib.import_module(f"{__name__}.data_dep_optimization")
qnn = _importlib.import_module(f"{__name__}.qnn")
quantize = _importlib.import_module(f"{__name__}.quantize")
transform = _importlib.import_module(f"{__name__}.transform")
vm = _importlib.import_module(f"{__name__}.vm")

reverse_reshape, segment_sum = op.reverse_reshape, op.segment_sum
alpha_equal, Feature = analysis.alpha_equal, analysis.Feature
globals().update(early.WITH_FIELDS)
save_param_dict, load_param_dict = param_dict.save_param_dict, param_dict.load_param_dict
base = function = adt = ty = expr = build_module = _sys.modules[__name__]
ShapeVar = _relay.Dim
Any = tir.Any
StorageInfo, StaticMemoryPlan = _missing("tvm.relay")("StorageInfo"), _missing("tvm.relay")("StaticMemoryPlan")
Id, ExprWithOp = _extras.Id, _relay.Expr

__all__ = [
    *_relay.__all__,
    "Module",
    "ShapeVar",
    "SourceName",
    "adt",
    "analysis",
    "annotation",
    "backend",
    "build_config",
    "build_module",
    "data_dep_optimization",
    "early",
    "expr",
    "expr_functor",
    "feature",
    "frontend",
    "ir_pass",
    "load_param_dict",
    "module",
    "optimize",
    "param_dict",
    "parser",
    "qnn",
    "quantize",
    "save_param_dict",
    "scope_builder",
    "testing",
    "text",
    "transform",
    "ty",
    "type_functor",
    "vm",
]
