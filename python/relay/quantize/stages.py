"""The stages of quantize() as passes, under the names of TVM's Relay.

with relay.quantize.qconfig(skip_conv_layers=[0], calibrate_mode="kl_divergence"):
    mod = relay.quantize.prerequisite_optimize(mod, params)
    mod = relay.quantize.annotate()(mod)           # operands pass through simulated_quantize
    mod = relay.quantize.calibrate(dataset)(mod)   # its ranges are those of data
    mod = relay.quantize.realize()(mod)            # integers

The module after each stage is a program that runs. simulated_quantize has one scale for a tensor and no zero point.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

import numpy as np

from .. import _core
from .._core import Call, Constant, IRModule
from ..errors import wrong_input
from ..ir.expr import const
from ..ir.expr_functor import ExprMutator
from ..ir.pass_infra import Pass, PassContext, module_pass, run_passes
from ..op.make import named_op
from .config import QConfig, current_qconfig
from .model import plan_of, quantize_module

_SIMULATED = "relay.op.annotation.simulated_quantize"
_INPUT, _WEIGHT = 1, 2  # its kinds


def _is(expr, name: str) -> bool:
    return isinstance(expr, Call) and getattr(expr.op, "name", "") == name


def _mutated(mod: IRModule, mutator: ExprMutator) -> IRModule:
    out = mod.clone()
    for var, function in mod.functions.items():
        out[var] = mutator.visit(function)
    return run_passes(out, ["infer_type"])


class _Simulating(ExprMutator):
    """Replaces operands that are quantised and dequantised, with zero points of 0, by simulated ones."""

    def visit_call(self, call):
        call = super().visit_call(call)
        if not _is(call, "qnn.dequantize"):
            return call
        integers, scale = call.args[0], float(call.args[1].data.numpy())
        if isinstance(integers, Constant):
            values = integers.data.numpy()
            return _simulated(const(values.astype("float32") * np.float32(scale)), scale, -128, 127, _WEIGHT)
        least, most = -128, 127
        if _is(integers, "clip"):
            least, most = integers.attrs.a_min, integers.attrs.a_max
            integers = integers.args[0]
        return _simulated(integers.args[0], scale, least, most, _INPUT)


def _simulated(data, scale, least, most, kind):
    numbers = [const(float(x), "float32") for x in (scale, least, most)]
    return named_op(_SIMULATED)(data, *numbers, kind=kind)


class _Stripping(ExprMutator):
    def visit_call(self, call):
        call = super().visit_call(call)
        return call.args[0] if _is(call, _SIMULATED) else call


class _Realizing(ExprMutator):
    def visit_call(self, call):
        call = super().visit_call(call)
        if not _is(call, _SIMULATED) or call.attrs.kind == 0:
            return call
        data, *numbers = call.args
        if not all(isinstance(x, Constant) for x in numbers):
            raise wrong_input(
                "simulated_quantize has a scale or a bound that is not a constant", "calibrate() sets them"
            )
        scale, least, most = (float(x.data.numpy()) for x in numbers)
        zero = const(0, "int32")
        if isinstance(data, Constant):
            integers = const(np.clip(np.rint(data.data.numpy() / np.float32(scale)), least, most).astype("int8"))
        else:
            integers = named_op("qnn.quantize")(data, numbers[0], zero, out_dtype="int8", round_first=True)
            if least > -128 or most < 127:
                integers = named_op("clip")(integers, a_min=least, a_max=most)
        return named_op("qnn.dequantize")(integers, numbers[0], zero)


def _annotated(mod: IRModule, config: QConfig, dataset: Iterable | None) -> IRModule:
    plan, samples, settings = plan_of(mod, config, dataset)
    settings.update(symmetric=True, per_channel=False)
    made = quantize_module(mod, samples, plan=plan, keep_float="never", simulate=True, seconds=0, **settings)
    return _mutated(made.module, _Simulating())


def annotate() -> Pass:
    """Returns the pass that quantises and dequantises the operands of the layers that the current qconfig() names, with
    the range of its global_scale."""

    @module_pass(opt_level=1, name="QuantizeAnnotate")
    def annotated(mod: IRModule, _: PassContext) -> IRModule:
        return _annotated(mod, dataclasses.replace(current_qconfig(), calibrate_mode="global_scale"), None)

    return annotated


def calibrate(dataset: Iterable | None = None) -> Callable[[IRModule, PassContext | None], IRModule]:
    """Returns a function from an annotated module to one with the ranges that the current qconfig() asks for, chosen
    from the data: dicts of arrays by input. It may be a pass: module_pass(calibrate(dataset), opt_level=1)."""

    def calibrated(mod: IRModule, _: PassContext | None = None) -> IRModule:
        return _annotated(_mutated(mod, _Stripping()), current_qconfig(), dataset)

    return calibrated


def realize() -> Pass:
    """Returns the pass that computes on integers what an annotated module simulates."""

    @module_pass(opt_level=1, name="QuantizeRealize")
    def realized(mod: IRModule, _: PassContext) -> IRModule:
        out = _mutated(mod, _Realizing())
        names = ["fake_quantization_to_integer", "fold_constant", "dead_code"]
        return _core.transform(out, names, {"fake_quantization_to_integer.exact": 1, "fold_constant.qnn": 1})

    return realized
