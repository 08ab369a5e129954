"""Relay: a functional, statically typed compiler for deep-learning models.

import relay
model = relay.compile("model.onnx")       # for this machine
y = model(x)                              # NumPy arrays or torch tensors, by position or by name
print(model.report["kernels"])

x = relay.var("x", shape=(1, "n"))        # the language
mod = relay.IRModule({"main": relay.Function([x], relay.nn.relu(x) + x)})
mod = relay.transform.FoldConstant()(mod)
print(mod.astext())

Scripts written for TVM's Relay run after `import relay.compat`; docs/from-tvm.md says what is the same.
"""

from typing import TYPE_CHECKING

from . import op  # isort: skip
from . import adt, analysis, byoc, dataflow_pattern, expr, expr_functor, te, text, transform, ty, type_functor, values
from ._core import Array, Attrs, IRModule, version
from ._core import passes as _passes
from .absent import absent
from .adt import *  # noqa: F403
from .analysis import alpha_equal
from .arrays import array
from .build_module import *  # noqa: F403
from .compiled import Compiled, Port, compile, evaluate, load
from .differentiation import grad, hessian, hvp, jvp, value_and_grad, vjp
from .errors import CompileError, Diagnostic, InputError, InternalError
from .expr import *  # noqa: F403
from .expr_functor import ExprFunctor, ExprMutator, ExprVisitor
from .frontend import from_module as from_pytorch
from .loops import while_loop
from .op import operators
from .params import load_param_dict, save_param_dict
from .prelude import Prelude
from .scope_builder import ScopeBuilder
from .text import *  # noqa: F403
from .transform import run_passes
from .ty import *  # noqa: F403
from .type_functor import TypeFunctor, TypeMutator, TypeVisitor
from .values import *  # noqa: F403

if TYPE_CHECKING:  # what the last lines of this file put here
    from .op import *  # noqa: F403

__version__ = version


def __getattr__(name: str):
    """Refuses a name that is not here, and says what takes its place (relay.quantize, relay.vm, ...)."""
    raise AttributeError(absent("relay", name, globals()))


def passes() -> dict[str, str]:
    """The passes, each with what it does."""
    return dict(_passes())


__all__ = [
    "Array",
    "Attrs",
    "CompileError",
    "Compiled",
    "Diagnostic",
    "ExprFunctor",
    "ExprMutator",
    "ExprVisitor",
    "IRModule",
    "InputError",
    "InternalError",
    "Port",
    "Prelude",
    "ScopeBuilder",
    "TypeFunctor",
    "TypeMutator",
    "TypeVisitor",
    "alpha_equal",
    "analysis",
    "array",
    "byoc",
    "compile",
    "dataflow_pattern",
    "evaluate",
    "expr_functor",
    "from_pytorch",
    "grad",
    "hessian",
    "hvp",
    "jvp",
    "load",
    "load_param_dict",
    "op",
    "operators",
    "passes",
    "run_passes",
    "te",
    "save_param_dict",
    "transform",
    "type_functor",
    "value_and_grad",
    "vjp",
    "while_loop",
]
for _part in (adt, expr, text, ty, values):
    __all__ += _part.__all__

# The operators: relay.add as well as relay.op.add, relay.nn as well as relay.op.nn.
for _name in op._published:
    if _name not in globals():
        globals()[_name] = getattr(op, _name)
        __all__.append(_name)
