"""Quantisation: float programs become programs that compute on integers (docs/quantisation.md).

made = relay.quantize(module, samples)                # measures, and keeps float what is not faster
model = relay.compile(made.module)

with relay.quantize.qconfig(calibrate_mode="kl_divergence"):         # as in TVM's Relay
    module = relay.quantize.quantize(module, params, dataset)
"""

from __future__ import annotations

import sys as _sys
import types as _types

from .config import QConfig, current_qconfig, qconfig
from .model import Quantized, prerequisite_optimize, quantize, quantize_module
from .stages import annotate, calibrate, realize

__all__ = [
    "QConfig",
    "Quantized",
    "annotate",
    "calibrate",
    "current_qconfig",
    "prerequisite_optimize",
    "qconfig",
    "quantize",
    "quantize_module",
    "realize",
]


class _Callable(_types.ModuleType):
    def __call__(self, *args, **settings) -> Quantized:
        return quantize_module(*args, **settings)


_Callable.__call__.__doc__ = quantize_module.__doc__
_sys.modules[__name__].__class__ = _Callable
