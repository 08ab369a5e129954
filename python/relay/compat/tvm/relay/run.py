"""Building and running as scripts expect it: the target around, NDArrays for results."""

from __future__ import annotations

import numpy as np

import relay as _relay
from relay import build_module as _ours

from ...outside import REPLACEMENTS
from ..nd import NDArray
from ..target import Target
from .backend.interpreter import unwrap, wrap


def _target(given):
    """The target around where none is given; only the processor can be one."""
    target = Target.current() if given is None else given
    if isinstance(target, dict):
        target = next(iter(target.values()))
    kind = "llvm" if target is None else str(target).split()[0]
    if kind in ("cuda", "opencl", "vulkan", "metal", "rocm", "hexagon", "vta", "ext_dev"):
        raise _relay.CompileError(f"error: target '{kind}': {REPLACEMENTS['tvm.relay.annotation']}")
    return target


def build(ir_mod, target=None, target_host=None, params=None, **options):
    """relay.build() for the target around."""
    known = ("threads", "numerics", "verify", "opt_level")
    return _ours.build(ir_mod, _target(target), params=params, **{k: v for k, v in options.items() if k in known})


def optimize(mod, target=None, params=None):
    """The program after the passes of build()."""
    return _ours.optimize(mod, _target(target), params=params)


class Executor(_ours.Executor):
    """An executor whose results are NDArrays, lists, ConstructorValue and RefValue."""

    def _runner(self, mod):
        run = super()._runner(mod)
        return lambda args: wrap(run([unwrap(arg) for arg in args]), mod)


def create_executor(kind="debug", mod=None, device=None, target=None, params=None, ctx=None) -> Executor:
    """An executor; 2019: create_executor("graph", mod=mod, ctx=tvm.cpu(), target="llvm")."""
    return Executor(kind, mod, _target(target), params)


class param_dict:  # a namespace
    """relay.param_dict: parameters as bytes (a NumPy archive)."""

    @staticmethod
    def save_param_dict(params: dict) -> bytes:
        """The parameters as bytes."""
        import io

        out = io.BytesIO()
        np.savez(out, **{name: np.asarray(value) for name, value in params.items()})
        return out.getvalue()

    @staticmethod
    def load_param_dict(data: bytes) -> dict[str, NDArray]:
        """What save_param_dict() gave."""
        import io

        with np.load(io.BytesIO(data)) as stored:
            return {name: stored[name].view(NDArray) for name in stored.files}
