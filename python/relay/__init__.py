"""Relay: a functional, statically typed compiler for deep-learning models.

import relay
model = relay.compile("model.onnx")       # for this machine
y = model(x)                              # NumPy arrays or torch tensors, by position or by name
print(model.report["kernels"])

x = relay.var("x", shape=(1, "n"))        # the language
mod = relay.IRModule({"main": relay.Function([x], relay.nn.relu(x) + x)})
mod = relay.transform.FoldConstant()(mod)
print(mod.astext())

Scripts written for TVM's Relay run after `import relay.compat`; docs/from-tvm.md lists the supported names.
"""

import sys as _sys
from typing import TYPE_CHECKING

from . import op  # isort: skip
from . import analysis, byoc, dataflow_pattern, decoding, nn, pjrt, quantize, te, transform
from ._core import Array, Attrs, IRModule, version
from ._core import passes as _passes
from .absent import absent
from .analysis import alpha_equal
from .byoc import collage
from .data import params, values
from .data.arrays import array
from .data.params import load_param_dict, save_param_dict
from .data.values import *  # noqa: F403
from .decoding import generate
from .errors import CompileError, Diagnostic, InputError, InternalError
from .export import to_stablehlo
from .frontend import from_module as from_pytorch
from .ir import adt, expr, expr_functor, loops, prelude, scope_builder, text, ty, type_functor
from .ir.adt import *  # noqa: F403
from .ir.expr import *  # noqa: F403
from .ir.expr_functor import ExprFunctor, ExprMutator, ExprVisitor
from .ir.loops import while_loop
from .ir.prelude import Prelude
from .ir.scope_builder import ScopeBuilder
from .ir.text import *  # noqa: F403
from .ir.ty import *  # noqa: F403
from .ir.type_functor import TypeFunctor, TypeMutator, TypeVisitor
from .op import operators
from .run import build_module
from .run import html as _displays  # noqa: F401
from .run.build_module import *  # noqa: F403
from .run.compiled import Compiled, Port, compile, evaluate, load
from .run.explorer import Explorer, explore
from .run.tuning import Tuning, tune
from .script import DataType, Script, ScriptError, data_type, script, unroll
from .transform import differentiation, mixed_precision, run_passes, weights
from .transform.differentiation import grad, hessian, hvp, jvp, value_and_grad, vjp

if TYPE_CHECKING:  # set by the last lines of this file
    from .op import *  # noqa: F403

__version__ = version

# Modules of the rooms that can also be imported from the package itself: `import relay.expr_functor`.
for _part in (adt, build_module, collage, differentiation, expr, expr_functor, loops, mixed_precision, params, prelude,
              scope_builder, text, ty, type_functor, values, weights):  # fmt: skip
    _sys.modules[f"{__name__}.{_part.__name__.rpartition('.')[2]}"] = _part


def __getattr__(name: str):
    """Refuses a name that is not here, and says what takes its place (relay.build_config, relay.vm, ...)."""
    raise AttributeError(absent("relay", name, globals()))


def passes() -> dict[str, str]:
    """Returns the passes by name, with a description of each."""
    return dict(_passes())


__all__ = [
    "Array",
    "Attrs",
    "CompileError",
    "Compiled",
    "Diagnostic",
    "Explorer",
    "ExprFunctor",
    "ExprMutator",
    "ExprVisitor",
    "IRModule",
    "InputError",
    "InternalError",
    "Port",
    "DataType",
    "Prelude",
    "Script",
    "ScriptError",
    "ScopeBuilder",
    "Tuning",
    "TypeFunctor",
    "TypeMutator",
    "TypeVisitor",
    "alpha_equal",
    "analysis",
    "array",
    "byoc",
    "compile",
    "data_type",
    "decoding",
    "dataflow_pattern",
    "evaluate",
    "explore",
    "expr_functor",
    "from_pytorch",
    "generate",
    "grad",
    "hessian",
    "hvp",
    "jvp",
    "load",
    "load_param_dict",
    "nn",
    "op",
    "operators",
    "passes",
    "pjrt",
    "quantize",
    "run_passes",
    "te",
    "to_stablehlo",
    "save_param_dict",
    "script",
    "transform",
    "tune",
    "unroll",
    "type_functor",
    "value_and_grad",
    "vjp",
    "while_loop",
]
for _part in (adt, expr, text, ty, values):
    __all__ += _part.__all__

# Layers beside the operators: relay.nn.Linear, relay.nn.relu.
vars(op.nn).update({_name: getattr(nn, _name) for _name in nn.__all__})
if not TYPE_CHECKING:
    nn = op.nn

# The operators: relay.add as well as relay.op.add, relay.nn as well as relay.op.nn.
for _name in op._published:
    if _name not in globals():
        globals()[_name] = getattr(op, _name)
        __all__.append(_name)
