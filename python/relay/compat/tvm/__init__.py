"""The module that `import tvm` returns after `import relay.compat`."""

from __future__ import annotations

import types as _types

from relay import IRModule, version as __version__  # noqa: F401  # isort: skip

from ..outside import missing as _missing
from . import (
    _ffi,
    auto_scheduler,
    autotvm,
    contrib,
    error,
    extras,
    ir,
    meta_schedule,
    nd,
    relay,
    runtime,
    target,
    te,
    testing,
    tir,
    topi,
    transform,
)
from .nd import context, cpu, cuda, device, gpu, opencl
from .registry import get_global_func, register_func
from .runtime import convert

__getattr__ = _missing("tvm")
TVMError, instrument = error.TVMError, ir.instrument
extras.install()

# names of 2019: tvm.expr, tvm.var
expr = tir
var = te.var
parser = _types.SimpleNamespace(parse=relay.parse, parse_expr=relay.parse_expr, fromtext=relay.fromtext)

__all__ = [
    "IRModule",
    "TVMError",
    "_ffi",
    "auto_scheduler",
    "autotvm",
    "context",
    "contrib",
    "convert",
    "cpu",
    "cuda",
    "device",
    "error",
    "expr",
    "get_global_func",
    "gpu",
    "instrument",
    "ir",
    "meta_schedule",
    "nd",
    "opencl",
    "parser",
    "register_func",
    "relay",
    "runtime",
    "target",
    "te",
    "testing",
    "tir",
    "topi",
    "transform",
    "var",
]
