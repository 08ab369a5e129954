"""Chooses how a model is trained on a cluster: the degrees of data, tensor and pipeline parallelism, ZeRO,
micro-batches.

The time of a step is that of compute, of collectives that are not hidden behind it, and of waiting in the pipeline,
whose schedule is run on paper. Collectives take the time of rings: alpha for each message, beta for each byte
(machines.py).

    relay plan-cluster llama-3-70b --devices 1024 --memory 80G --batch 2048
"""

from __future__ import annotations

import dataclasses
import math

from ..errors import bad_option
from .machines import Machine, Model
from .schedules import schedule_pipeline, timed

_USABLE = 0.94  # the share of a device's memory that a layout may need


@dataclasses.dataclass(frozen=True)
class Layout:
    """A way to use a cluster. data, tensor, pipeline: degrees; their product is the number of devices. micro: sequences
    of a micro-batch. chunks: stages on a rank. recompute: activations of layers are computed again."""

    data: int
    tensor: int = 1
    pipeline: int = 1
    micro: int = 1
    chunks: int = 1
    zero: int = 1
    recompute: bool = False

    @property
    def devices(self) -> int:
        """All devices."""
        return self.data * self.tensor * self.pipeline

    def __str__(self) -> str:
        more = f" x{self.chunks}" if self.chunks > 1 else ""
        again = ", recompute" if self.recompute else ""
        return (
            f"data {self.data}, tensor {self.tensor}, pipeline {self.pipeline}{more}, "
            f"micro {self.micro}, ZeRO {self.zero}{again}"
        )


@dataclasses.dataclass(frozen=True)
class Prediction:
    """A layout's predicted step: seconds, by part, and bytes of memory on the fullest device."""

    layout: Layout
    seconds: float
    compute: float
    tensor: float
    data: float
    bubble: float
    memory: float
    tokens: float  # a second on each device
    mfu: float

    def line(self) -> str:
        """Returns a row of the table."""
        share = [100 * one / self.seconds for one in (self.compute, self.tensor, self.data, self.bubble)]
        speed = f"{self.seconds:8.2f} s  {self.tokens:8.0f} tokens/s  {100 * self.mfu:4.1f} % MFU"
        parts = f"compute {share[0]:2.0f} %, tensor {share[1]:2.0f} %, data {share[2]:2.0f} %, bubble {share[3]:2.0f} %"
        return f"{speed}  {self.memory / 1e9:5.1f} GB  {parts}   {self.layout}"


def ring(bytes_: float, ranks: int, machine: Machine, stride: int, passes: int = 1) -> float:
    """Returns the seconds of an all_gather (passes 1) or all_reduce (2) over ranks at this distance."""
    if ranks == 1:
        return 0.0
    link = machine.link(stride, ranks)
    return passes * ((ranks - 1) * min(link.alpha, 2e-6) + link.alpha + link.beta * bytes_ * (ranks - 1) / ranks)


def memory_of(model: Model, at: Layout, live: float) -> float:
    """Returns the bytes on the fullest device: weights, gradients and Adam's state in mixed precision, and activations
    of `live` micro-batches of a rank's layers."""
    embedding = model.vocabulary * model.hidden * (1 if at.pipeline > 1 or model.tied else 2)
    own = (model.layers / at.pipeline * model.layer_parameters + embedding) / at.tensor
    n = at.data
    state = {0: 16.0, 1: 4 + 12 / n, 2: 2 + 14 / n, 3: 16 / n}[at.zero]
    size = model.sequence * at.micro * model.hidden
    layers = model.layers / at.pipeline
    if at.recompute:
        activations = live * layers * 2 * size + 34 * size / at.tensor
    else:
        activations = live * layers * (10 + 24 / at.tensor) * size
    logits = 6 * model.sequence * at.micro * model.vocabulary / at.tensor
    unit = 4 * model.layer_parameters / at.tensor if at.zero == 3 else 0.0
    return own * state + activations + logits + unit


def predict(model: Model, machine: Machine, at: Layout, batch: int) -> Prediction:
    """Returns the predicted time of a step of `batch` sequences."""
    micros = batch // (at.data * at.micro)
    if micros < 1 or batch % (at.data * at.micro):
        raise bad_option(
            f"a batch of {batch} sequences does not divide into micro-batches of {at.micro} on {at.data} replicas",
            "change the batch or the layout",
        )
    tokens = model.sequence * at.micro
    passes = 8 / 6 if at.recompute else 1.0
    layer = _layer_seconds(model, machine, at, tokens) * passes
    last = 6 * tokens * model.vocabulary * model.hidden / at.tensor
    head = last / (machine.flops * machine.efficiency(tokens, model.vocabulary / at.tensor))
    exchange = 4 if not at.recompute else 6
    tensor = exchange * ring(2.0 * tokens * model.hidden, at.tensor, machine, 1, 2)
    stages = at.pipeline * at.chunks
    per_stage = model.layers / stages
    stage = per_stage * (layer + tensor)
    busy = micros * (model.layers / at.pipeline * (layer + tensor) + head)
    total, live = busy, 1.0
    if at.pipeline > 1:
        hop = ring(2.0 * tokens * model.hidden / at.tensor, 2, machine, at.tensor, 1)
        total, live = _pipelined(at, micros, stage, hop)
        total += micros * head
    data = _data_seconds(model, machine, at, micros, layer)
    seconds = total + data
    compute = micros * (model.layers / at.pipeline * layer + head)
    spent = micros * model.layers / at.pipeline * tensor
    every = batch * model.sequence / seconds / at.devices
    return Prediction(
        at, seconds, compute, spent, data, max(0.0, total - compute - spent), memory_of(model, at, live), every,
        every * model.flops_a_token / machine.flops,
    )  # fmt: skip


def _layer_seconds(model: Model, machine: Machine, at: Layout, tokens: float) -> float:
    """Seconds of a layer's forward and backward pass for a micro-batch: products, and the rest at memory speed."""
    products = 6 * tokens * model.layer_parameters / at.tensor
    attention = 12 * tokens * model.sequence * model.hidden / at.tensor
    width = min(model.hidden, model.ffn / at.tensor)
    reached = machine.efficiency(tokens, width)
    moved = tokens * model.hidden * (20 + 40 / at.tensor) * 2
    compute = products / (machine.flops * reached) + attention / (machine.flops * reached * 0.6)
    return compute + moved / machine.bandwidth + machine.launch


def _pipelined(at: Layout, micros: int, stage: float, hop: float) -> tuple[float, float]:
    """Seconds of a pipeline, and the micro-batches of which the first rank keeps activations, in whole ranks."""
    few = min(micros, 4 * at.pipeline)  # the steady state repeats
    few -= few % at.pipeline if at.chunks > 1 else 0
    if few < 1 or (at.chunks > 1 and micros % at.pipeline):
        return math.inf, 1.0
    name = "interleaved" if at.chunks > 1 else "1f1b"
    stages = at.pipeline * at.chunks
    timing = timed(schedule_pipeline(name, at.pipeline, few, at.chunks), stages, stage / 3, stage * 2 / 3, hop)
    return timing.total + (micros - few) * at.chunks * (stage + 2 * hop), max(timing.live) / at.chunks


def _data_seconds(model: Model, machine: Machine, at: Layout, micros: int, layer: float) -> float:
    """Seconds of the exchange of gradients and parameters between replicas that nothing hides."""
    own = model.parameters / at.tensor / at.pipeline
    stride = at.tensor * at.pipeline if at.pipeline > 1 else at.tensor
    one = ring(2.0 * own, at.data, machine, stride)
    if at.zero == 3:
        asked = 3 * one * micros
        behind = machine.hidden * micros * model.layers / at.pipeline * layer
    else:
        asked = 2 * one
        behind = machine.hidden * model.layers / at.pipeline * layer
    return max(asked - behind, 0.05 * asked)


def layouts(model: Model, devices: int, node: int, batch: int) -> list[Layout]:
    """Returns the layouts that fit the numbers of devices, layers, heads and sequences."""
    out = []
    for tensor in (1, 2, 4, 8, 16):
        if tensor > node or devices % tensor or model.kv_heads % tensor:
            continue
        for pipeline in range(1, min(model.layers, devices // tensor) + 1):
            if devices % (tensor * pipeline) or model.layers % pipeline:
                continue
            data = devices // tensor // pipeline
            for micro in (1, 2, 4, 8):
                if batch % (data * micro):
                    continue
                for chunks in (1, 2, 4) if pipeline > 1 else (1,):
                    if model.layers % (pipeline * chunks):
                        continue
                    for zero in (1, 3) if pipeline == 1 else (1,):
                        out += [Layout(data, tensor, pipeline, micro, chunks, zero, r) for r in (False, True)]
    return out


def plan(
    model: Model, machine: Machine, devices: int, memory: float, batch: int
) -> tuple[list[Prediction], list[Prediction]]:
    """Returns the predictions of all layouts that fit into the memory, the fastest first, and those that do not fit."""
    if devices < 1 or batch < 1 or memory <= 0:
        given = f"{devices} devices, a batch of {batch}, {memory:.0f} bytes of memory"
        raise bad_option(given, "give positive numbers")
    node = machine.links[0].ranks
    made = [predict(model, machine, one, batch) for one in layouts(model, devices, node, batch)]
    made = sorted((one for one in made if one.seconds < math.inf), key=lambda one: one.seconds)
    fits = [one for one in made if one.memory <= memory * _USABLE]
    if not fits:
        least = min(made, key=lambda one: one.memory, default=None)
        why = f"the smallest layout needs {least.memory / 1e9:.0f} GB: {least.layout}" if least else "no layout divides"
        raise bad_option(
            f"{model.name} does not fit on {devices} devices of {memory / 1e9:.0f} GB: {why}",
            f"give more devices, or a batch that they divide ({batch} sequences)",
        )
    return fits, [one for one in made if one.memory > memory * _USABLE]


def report(model: Model, machine: Machine, devices: int, memory: float, batch: int, count: int = 10) -> str:
    """Returns the best layouts as text, with the reason why faster ones are left out."""
    if count < 1:
        raise bad_option(f"{count} layouts to print", "give a positive number")
    fits, too_large = plan(model, machine, devices, memory, batch)
    lines = [
        f"{model.name}: {model.parameters / 1e9:.1f}e9 parameters, {devices} x {machine.name}, {batch} sequences of "
        f"{model.sequence} tokens a step",
        *(one.line() for one in fits[:count]),
    ]
    faster = [one for one in too_large if one.seconds < fits[0].seconds]
    if faster:
        limit = f"{100 * _USABLE:.0f} % of {memory / 1e9:.0f} GB"
        lines.append(f"faster, but larger than {limit} ({len(faster)} layouts), the smallest of them:")
        lines.append(min(faster, key=lambda one: one.memory).line())
    return "\n".join(lines)
