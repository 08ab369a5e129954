"""Quantisation of modules: relay.quantize(module, data), and quantize() of TVM's Relay."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable

import numpy as np

from .. import _core
from .._core import IRModule, TensorType
from ..data.arrays import array
from ..data.values import checked, to_value
from ..errors import wrong_input
from ..run.build_module import bind_params_by_name
from ..run.options import options_of
from .config import PAIRED_BITS, QConfig, current_qconfig


@dataclasses.dataclass(frozen=True)
class Quantized:
    """A quantised program.

    module: computes on integers, with the float inputs and results of the original; relay.compile() compiles it
    plan: the choices and ranges of all layers, as in the file of `relay quantize --write-plan`
    report: the figures of the table of `relay quantize`, by name (docs/quantisation.md)
    """

    module: IRModule
    plan: dict
    report: dict

    def save_plan(self, path) -> None:
        """Writes the plan as a file for `plan=` or `relay quantize --plan`."""
        with open(path, "w") as file:
            json.dump(self.plan, file, indent=2)


def _bound(mod: IRModule, params: dict | None) -> IRModule:
    if not params:
        return mod
    out = mod.clone()
    out["main"] = bind_params_by_name(mod["main"], params)
    return out


def _whole(value, param):
    """A copy of an array, because samples of a generator may share one buffer. A first axis of 1 is added if it is
    missing."""
    if not isinstance(value, np.ndarray):
        return value
    type_ = param.type_annotation
    is_single = isinstance(type_, TensorType) and len(type_.shape) == value.ndim + 1 and type_.shape[0] == 1
    return np.array(value[None] if is_single else value)


def _samples(mod: IRModule, data) -> list[list[_core.Value]]:
    """The inputs of each run. `data`: runs, each a dict by name, a list or a tuple in order, or the only input."""
    ports, types = _core.ports(mod), _core.data_types(mod)
    names = [name for name, _ in ports]
    out = []
    for k, sample in enumerate(data):
        if isinstance(sample, dict):
            if wrong := [name for name in sample if name not in names]:
                raise wrong_input(f"sample {k} has a value for '{wrong[0]}'", f"the inputs are {', '.join(names)}")
            if missing := [name for name in names if name not in sample]:
                raise wrong_input(f"sample {k} has no value for '{missing[0]}'", "give a value for every input")
            sample = [sample[name] for name in names]
        elif not isinstance(sample, list | tuple):
            sample = [sample]
        if len(sample) != len(ports):
            raise wrong_input(f"sample {k} has {len(sample)} values, but there are {len(ports)} inputs", f"{names}")
        values = [_whole(v, param) for v, param in zip(sample, mod["main"].params, strict=True)]
        out.append([to_value(checked(v, *p), types, p[1]) for v, p in zip(values, ports, strict=True)])
    return out


def _plan_text(plan, rules: list[dict], settings: dict) -> tuple[str, str]:
    """The plan as JSON, and its name for messages."""
    name = "the plan"
    if plan is None:
        plan = {}
    elif not isinstance(plan, dict):
        name = str(plan)
        with open(plan) as file:
            text = file.read()
        try:
            plan = json.loads(text)
        except json.JSONDecodeError:
            return text, name  # the diagnostic comes from the reader of plans
        if not isinstance(plan, dict):
            return text, name
    plan = dict(plan)
    plan["settings"] = {**plan.get("settings", {}), **settings}
    plan["rules"] = [*plan.get("rules", []), *rules]
    return json.dumps(plan), name


def quantize_module(
    module: IRModule,
    data: Iterable = (),
    *,
    params: dict | None = None,
    plan=None,
    keep: Iterable[str] = (),
    keep_float: str = "auto",
    simulate: bool = False,
    sensitivity: bool = False,
    max_error: float | None = None,
    max_drop: float | None = None,
    seconds: float = 1.0,
    labels: Iterable | None = None,
    options: dict | None = None,
    **settings,
) -> Quantized:
    """Turns a float program into one that computes on integers, where these are faster.

    data: samples for the calibration: dicts of values by input, lists of values, or values of the only input. An array
        may lack a first axis of 1
    params: values of parameters of @main that are weights
    plan: the path of a plan, or its contents as a dict
    keep: layers that stay float; * stands for any text
    keep_float: "auto" keeps layers float that are not faster on integers, as measured; "never" does not
    simulate: return the program with quantised and dequantised operands, which computes in floats
    sensitivity: measure the error that each layer adds alone
    max_error: with sensitivity, keep as few layers float as this relative error of the results needs
    max_drop: the same for the loss of accuracy, with labels: 0.01 for one percent of the samples
    seconds: of each measurement of time; 0 measures none
    labels: classes, an array of integers for each sample, for the accuracy
    options: of relay.compile(), for the measurements
    settings: calibration, percentile, bits, weight_bits, symmetric, per_channel, weights_only, group, smooth,
        compensate, as in a plan. weights_only needs no data, unless errors are compensated
    """
    if keep_float not in ("auto", "never"):
        raise wrong_input(f"keep_float must be 'auto' or 'never', but is {keep_float!r}", "use 'auto'")
    for name, bound in (("max_error", max_error), ("max_drop", max_drop)):
        if bound is not None and not sensitivity:
            raise wrong_input(f"{name} needs the errors of layers", "add sensitivity=True")
        if bound is not None and not bound >= 0:
            raise wrong_input(f"{name} must be at least 0, but is {bound}", "use 0.01 for one percent")
    if max_drop is not None and labels is None:
        raise wrong_input("max_drop is a loss of accuracy, which needs labels", "give labels=, a class for each sample")
    module = _bound(module, params)
    rules = [{"layer": layer, "integer": False} for layer in keep]
    text, name = _plan_text(plan, rules, settings)
    classes = [] if labels is None else [array(np.atleast_1d(np.asarray(one, "int64"))) for one in labels]
    samples = _samples(module, data)
    if classes and len(classes) != len(samples):
        raise wrong_input(f"there are {len(classes)} labels for {len(samples)} samples", "give one for each sample")
    made, made_plan, report = _core.quantise(
        module, samples, classes, text, name, keep_float == "auto", simulate, sensitivity,
        -1.0 if max_error is None else max_error, -1.0 if max_drop is None else max_drop, seconds,
        options_of(options or {}),
    )  # fmt: skip
    return Quantized(made, json.loads(made_plan), json.loads(report))


def prerequisite_optimize(mod: IRModule, params: dict | None = None) -> IRModule:
    """Returns the program in the form that quantize() annotates: parameters are bound, normalisations are folded into
    weights, and constants are computed."""
    return _core.prepare_quantisation(_bound(mod, params))


def _rules(config: QConfig, layers: list) -> list[dict]:
    """The rules of a configuration."""
    rules = []
    if config.debug_enabled_ops is not None:
        rules.append({"integer": False})
        rules += [{"op": op, "integer": True} for op in config.debug_enabled_ops]
    if config.skip_dense_layer and any(op == "nn.dense" for _, op, _, _ in layers):
        rules.append({"op": "nn.dense", "integer": False})
    convolutions = [name for name, op, _, _ in layers if op.startswith("nn.conv")]
    for number in config.skip_conv_layers or ():
        if 0 <= number < len(convolutions):
            rules.append({"layer": convolutions[number], "integer": False})
    return rules


def plan_of(mod: IRModule, config: QConfig, dataset: Iterable | None) -> tuple[dict, Iterable, dict]:
    """Returns the plan, the samples and the settings of quantize_module() for a configuration."""
    layers = _core.quantisation_layers(mod)
    settings = {"bits": config.nbit_input, "weight_bits": config.nbit_weight}
    if config.nbit_activation == 16:
        settings["weight_bits"] = min(config.nbit_weight, PAIRED_BITS)
    plan: dict = {"rules": _rules(config, layers)}
    samples: Iterable = () if dataset is None else dataset
    if config.calibrate_mode == "global_scale":
        settings["symmetric"] = True
        bound = config.global_scale
        plan["layers"] = [
            {"layer": name, "op": op, "ranges": [None if weight else [-bound, bound] for weight in weights]}
            for name, op, reason, weights in layers
            if not reason
        ]
        samples = ()
    else:
        settings["calibration"] = config.calibrate_mode
        if config.calibrate_mode == "percentile":
            settings["percentile"] = 99.999
        if dataset is None:
            raise wrong_input(f"calibrate_mode {config.calibrate_mode!r} needs a dataset", "give dataset=[{...}, ...]")
    return plan, samples, settings


def quantize(mod: IRModule, params: dict | None = None, dataset: Iterable | None = None) -> IRModule:
    """Returns the program quantised as the current qconfig() says. dataset: dicts of arrays by input; the
    calibrate_mode "global_scale" needs none. Every layer that the configuration names is quantised, even if it is not
    faster; relay.quantize(module, data) measures that."""
    config = current_qconfig()
    mod = _bound(mod, params)
    plan, samples, settings = plan_of(mod, config, dataset)
    done = quantize_module(
        mod, samples, plan=plan, keep_float="never", simulate=config.do_simulation, seconds=0, **settings
    )
    return done.module


__all__ = ["Quantized", "prerequisite_optimize", "quantize", "quantize_module"]
