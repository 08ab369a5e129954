"""Relay: a functional, statically typed compiler for deep-learning models.

import relay
model = relay.compile("model.onnx")       # for this machine
y = model(x)                              # NumPy arrays or torch tensors, by position or by name
print(model.report["kernels"])

m = relay.parse(text)                     # the language
m = relay.transform(m, ["simplify_inference", "fold_constant"])
print(m.astext())
"""

from . import op
from ._core import Array, Expr, Module, version
from ._core import passes as _passes
from .arrays import array
from .build import const, get, module, tuple_, var
from .compiled import Compiled, Port, compile, evaluate, load
from .errors import CompileError, Diagnostic, InternalError
from .language import parse, transform
from .op import operators

__version__ = version


def passes() -> dict[str, str]:
    """The passes, each with what it does."""
    return dict(_passes())


__all__ = [
    "Array",
    "CompileError",
    "Compiled",
    "Diagnostic",
    "Expr",
    "InternalError",
    "Module",
    "Port",
    "array",
    "compile",
    "const",
    "evaluate",
    "get",
    "load",
    "module",
    "op",
    "operators",
    "parse",
    "passes",
    "transform",
    "tuple_",
    "var",
]
