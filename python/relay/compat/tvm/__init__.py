"""What `import tvm` gives after `import relay.compat`."""

from __future__ import annotations

import types as _types

from relay import IRModule, version as __version__  # noqa: F401  # isort: skip

from ..outside import missing as _missing
from . import contrib, error, ir, nd, relay, runtime, target, te, testing, tir, transform
from .nd import context, cpu, cuda, device, gpu, opencl

__getattr__ = _missing("tvm")

# 2019: tvm.container, tvm.expr, tvm.make
expr = tir
parser = _types.SimpleNamespace(parse=relay.parse, parse_expr=relay.parse_expr, fromtext=relay.fromtext)

__all__ = [
    "IRModule",
    "context",
    "contrib",
    "cpu",
    "cuda",
    "device",
    "error",
    "expr",
    "gpu",
    "ir",
    "nd",
    "opencl",
    "parser",
    "relay",
    "runtime",
    "target",
    "te",
    "testing",
    "tir",
    "transform",
]
