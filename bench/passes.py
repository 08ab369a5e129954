#!/usr/bin/env python3
"""Measures the effect of each stage of the passes on networks: kernels, bytes read and written, time of a run.

    make bench-passes                          six networks; writes docs/benchmarks/passes-CPU.md
    bench/passes.py DQN branches               these networks; writes no page

The stages are: each operator alone; fused; constants folded; rewritten (-O2); -O2 with channels-last convolutions; -O2
with parallel convolutions and products combined. The last two are not part of -O2. Times are medians with one thread. The
stages of a network take turns, so that a machine that slows down affects all of them.
"""

import argparse
import datetime
import math
import os
import pathlib
import statistics
import sys
import time

import numpy as np
import run

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
import relay.testing  # noqa: E402
from relay.testing import layers  # noqa: E402
from relay.testing.init import create_workload  # noqa: E402

import relay  # noqa: E402
from relay import transform  # noqa: E402

SECONDS = 1.5  # of runs, per stage
nn = relay.nn


def conv_norm(x, name, channels, size=1, stride=1, groups=1, relu=True):
    body = layers.conv2d(
        x,
        relay.var(f"{name}_weight", shape=(channels, channels_of(x) // groups, size, size)),
        kernel_size=(size, size),
        strides=(stride, stride),
        padding=(size // 2, size // 2),
        groups=groups,
        channels=channels,
    )
    body = layers.batch_norm_infer(body, name=f"{name}_norm", epsilon=1e-5)
    return relay.clip(body, a_min=0.0, a_max=6.0) if relu else body


def channels_of(x) -> int:
    return int(relay.transform.InferType()(relay.module(x))["main"].checked_type.ret_type.shape[1])


def mobilenet_v2():
    """Inverted residuals (Sandler et al., 2018)."""
    x = conv_norm(relay.var("data", shape=(1, 3, 224, 224)), "stem", 32, 3, 2)
    block, before = 0, 32
    for expand, after, count, stride in [
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ]:
        for index in range(count):
            name, step, wide = f"b{block}", stride if index == 0 else 1, before * expand
            body = conv_norm(x, f"{name}_wide", wide) if expand > 1 else x
            body = conv_norm(body, f"{name}_depthwise", wide, 3, step, groups=wide)
            body = conv_norm(body, f"{name}_narrow", after, relu=False)
            x = x + body if step == 1 and before == after else body
            block, before = block + 1, after
    x = nn.batch_flatten(nn.global_avg_pool2d(conv_norm(x, "last", 1280)))
    return layers.function(nn.softmax(layers.dense_add_bias(x, units=1000, name="classes")))


def branches():
    """Blocks of four parallel 1 x 1 convolutions of the same data, two of them followed by a 3 x 3 convolution."""
    x = conv_norm(relay.var("data", shape=(1, 3, 112, 112)), "stem", 64, 3, 2)
    for block in range(6):
        parts = [conv_norm(x, f"b{block}_{index}", 32) for index in range(4)]
        parts[2:] = [conv_norm(part, f"b{block}_{index}_3", 32, 3) for index, part in enumerate(parts[2:])]
        x = relay.concatenate(parts, axis=1)
    return layers.function(nn.batch_flatten(nn.global_avg_pool2d(x)))


def narrow_branches():
    """Blocks of eight 1 x 1 convolutions of the same data to 8 channels each, combined in pairs."""
    x = conv_norm(relay.var("data", shape=(1, 3, 112, 112)), "stem", 64, 3, 2)
    for block in range(6):
        parts = [conv_norm(x, f"b{block}_{index}", 8) for index in range(8)]
        pairs = list(zip(parts[:4], parts[4:], strict=True))
        x = relay.concatenate([one * other for one, other in pairs] + [one + other for one, other in pairs], axis=1)
    return layers.function(nn.batch_flatten(nn.global_avg_pool2d(x)))


NETWORKS = {
    "ResNet-18": lambda: relay.testing.resnet.get_workload(1, num_layers=18),
    "MobileNetV2": lambda: create_workload(mobilenet_v2()),
    "DQN": lambda: relay.testing.dqn.get_workload(1),
    "VGG-16": lambda: relay.testing.vgg.get_workload(1, num_layers=16),
    "branches": lambda: create_workload(branches()),
    "narrow branches": lambda: create_workload(narrow_branches()),
}
# Name, level, settings, and passes that run before those of the level. Weights that they change are folded at once.
STAGES = [
    ("none", 0, {}, []),
    ("fusion", 0, {"fuse_ops.max_group": 256}, []),
    ("folding", 1, {}, []),
    ("rewriting (-O2)", 2, {}, []),
    ("-O2, channels-last", 2, {}, [transform.ConvertLayout({"nn.conv2d": ["NHWC"], "nn.max_pool2d": ["NHWC"]})]),
    (
        "-O2, parallel combined",
        2,
        {},
        [
            transform.CombineParallelConv2D(min_num_branches=2),
            transform.CombineParallelDense(min_num_branches=2),
            transform.CombineParallelBatchMatmul(min_num_branches=2),
        ],
    ),
]


def bytes_of(t) -> int:
    if isinstance(t, relay.TupleType):
        return sum(bytes_of(field) for field in t.fields)
    return math.prod(int(size) for size in t.shape) * np.dtype(t.dtype).itemsize


def moved(module: relay.IRModule) -> int:
    """Bytes that the kernels of a run read and write: arguments and results of fused groups. Expressions that depend
    only on constants are computed when the program is built, and do not count."""
    total, constant = 0, {}

    def note(e):
        nonlocal total
        if isinstance(e, relay.Call):
            constant[e] = all(constant.get(arg, False) for arg in e.args)
            if not constant[e]:
                total += bytes_of(e.checked_type) + sum(bytes_of(arg.checked_type) for arg in e.args)
        elif isinstance(e, relay.Tuple | relay.TupleGetItem):
            constant[e] = all(constant.get(child, False) for child in relay.analysis.children(e))
        else:
            constant[e] = isinstance(e, relay.Constant)

    for e in outer(module["main"]):
        note(e)
    return total


def outer(function):
    """The expressions of a function in the order of evaluation, without the contents of fused groups."""
    done, order, work = set(), [], [(function.body, False)]
    while work:
        e, leaving = work.pop()
        if leaving:
            order.append(e)
        elif e not in done:
            done.add(e)
            work.append((e, True))
            if not isinstance(e, relay.Function):
                work += [(child, False) for child in relay.analysis.children(e)]
    return order


def compiled(module, stage):
    _, level, config, passes = stage
    if passes:
        fold = transform.FoldConstant()  # weights are scaled first, because only constants are combined
        front = [transform.SimplifyInference(), fold, transform.BackwardFoldScaleAxis(), fold]
        with transform.PassContext(opt_level=4, config={"fold_constant.max_elements": 1 << 26}):  # weights too
            module = transform.Sequential([*front, *passes, fold])(module)
    with transform.PassContext(config=config):
        return relay.compile(module, opt_level=level, threads=1, tier="full")


def measure(name):
    module, params = NETWORKS[name]()
    module = relay.IRModule({"main": relay.bind_params_by_name(module["main"], params)})
    programs = [compiled(module, stage) for stage in STAGES]
    shape = [int(size) for size in module["main"].params[0].type_annotation.shape]
    data = np.random.default_rng(1).standard_normal(shape).astype("float32")
    expected = np.asarray(programs[0](data))
    for program in programs:
        np.testing.assert_allclose(np.asarray(program(data)), expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())
    times = [[] for _ in programs]
    begin = time.perf_counter()
    while time.perf_counter() - begin < SECONDS * len(programs) or len(times[0]) < 5:
        for program, of in zip(programs, times, strict=True):
            start = time.perf_counter()
            program(data)
            of.append((time.perf_counter() - start) * 1e3)
    rows = []
    for (stage, *_), program, of in zip(STAGES, programs, times, strict=True):
        kernels = sum(kernel["calls"] for kernel in program.report["kernels"])
        rows.append(
            f"| {name} | {stage} | {kernels} | {moved(program.module) / 1e6:.1f} | {statistics.median(of):.2f} |"
        )
    return rows


HEAD = "| network | stage | kernels a run | MB read and written | ms |\n| --- | --- | ---: | ---: | ---: |"


def page(rows) -> str:
    load = os.getloadavg()[0]
    busy = f"\nThe machine was busy with other work (load {load:.0f}), so the times are too long.\n" if load > 2 else ""
    return f"""<!-- Written by bench/passes.py. Do not edit. -->
# The effect of passes: {run.cpu_name()}

Measured {datetime.date.today()} with one thread on {run.cpu_name()}. To repeat: `make bench-passes`.
{busy}
Each stage adds its passes to those of the stage above it; each of the last two stages adds to `-O2` alone. The bytes are
those of the arguments and results of fused groups. They include weights, but not arrays that are computed when the
program is built. At every stage, arrays around convolutions are stored channels-last in memory, whatever layout the program
uses ([architecture](../architecture.md)).

{HEAD}
{chr(10).join(rows)}
"""


def main():
    parser = argparse.ArgumentParser(description="Measures the effect of passes on networks.")
    parser.add_argument("networks", nargs="*", help=f"default {' '.join(NETWORKS)}")
    arguments = parser.parse_args()
    print(HEAD, flush=True)
    rows = []
    for name in arguments.networks or NETWORKS:
        if name not in NETWORKS:
            sys.exit(f"bench: there is no network {name}; there are: {', '.join(NETWORKS)}")
        rows += measure(name)
        print("\n".join(rows[-len(STAGES) :]), flush=True)
    if not arguments.networks:
        (ROOT / "docs" / "benchmarks" / f"passes-{run.slug(run.cpu_name())}.md").write_text(page(rows))


if __name__ == "__main__":
    main()
