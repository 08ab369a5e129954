#!/usr/bin/env python3
"""Compares networks whose sizes are open with the same networks at fixed sizes.

    make bench-open                       all; writes docs/benchmarks/open-CPU.md
    bench/open_sizes.py resnet18          this network; writes no page

The input sizes of the network's ONNX file become variables: the batch alone, or the height and width of images, too.
The two models take turns in bursts of runs at the sizes of the file, each in its own process. The ratio is the time at
fixed sizes over the time at open ones, as the median over the rounds.
"""

import argparse
import datetime
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import run

ROOT = pathlib.Path(__file__).resolve().parents[1]
RELAY = ROOT / "build/release/bin/relay"
NETWORKS = ["mobilenet_v2", "resnet18", "resnet50", "densenet121", "minilm_l6", "bert_base", "vit_b16"]
IMAGES = {"batch": (0,), "batch, height, width": (0, 2, 3)}
TOKENS = {"batch": (0,)}
NAMES = "nchw"


def relay(*arguments):
    done = subprocess.run([str(part) for part in (RELAY, *arguments)], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def opened(path, axes, folder):
    """The file with variables for these axes of all inputs, and arrays of the sizes before: random floats, and ones for
    numbers of words."""
    model = onnx.load(path)
    inputs = {}
    for one in model.graph.input:
        dims = one.type.tensor_type.shape.dim
        sizes = [dim.dim_value for dim in dims]
        if one.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            inputs[one.name] = np.random.default_rng(0).standard_normal(sizes, "float32")
        else:
            inputs[one.name] = np.ones(sizes, "int64")
        for axis in axes:
            dims[axis].Clear()
            dims[axis].dim_param = NAMES[axis]
    for one in model.graph.output:
        one.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    made = folder / "open.onnx"
    onnx.save(model, made)
    np.savez(folder / "inputs.npz", **inputs)
    return made


def compared(name, axes, threads, rounds, seconds):
    """The median times in milliseconds at fixed and at open sizes, and the ratios of the rounds; None if the network
    does not take the sizes."""
    path = ROOT / "models" / f"{name}.onnx"
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        made = opened(path, axes, folder)
        artifacts = [folder / "fixed.rart", folder / "open.rart"]
        for model, artifact in zip((path, made), artifacts, strict=True):
            if relay("compile", model, "-o", artifact, "--threads", threads) is None:
                return None
        inputs = ("--input", folder / "inputs.npz")
        times = [[], []]
        for round_ in range(rounds):
            for k in (0, 1) if round_ % 2 == 0 else (1, 0):
                said = relay("bench", artifacts[k], *inputs, "--threads", threads, "--time", seconds, "--json")
                if said is None:
                    return None
                times[k].append(json.loads(said)[0]["relay"]["median_us"] / 1000)
    ratios = sorted(a / b for a, b in zip(*times, strict=True))
    return statistics.median(times[0]), statistics.median(times[1]), ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", help="names in models/")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--time", type=float, default=0.4, help="seconds of a burst (default 0.4)")
    arguments = parser.parse_args()
    load = run.machine_load()
    lines = [
        "| network | open | threads | fixed, ms | open, ms | fixed / open | least and most of the rounds |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    print(*lines, sep="\n", flush=True)
    found = []
    for name in arguments.networks or NETWORKS:
        for what, axes in (TOKENS if name in ("minilm_l6", "bert_base") else IMAGES).items():
            for threads in arguments.threads.split(","):
                row = compared(name, axes, threads, arguments.rounds, arguments.time)
                if row is None:
                    lines.append(f"| {name} | {what} | {threads} | | | | the network needs its sizes |")
                else:
                    fixed, opened_ms, ratios = row
                    found.append(statistics.median(ratios))
                    lines.append(f"| {name} | {what} | {threads} | {fixed:.2f} | {opened_ms:.2f} | {found[-1]:.2f} | "
                                 f"{ratios[0]:.2f}, {ratios[-1]:.2f} |")  # fmt: skip
                print(lines[-1], flush=True)
    if not found:
        sys.exit("bench: no network was measured")
    mean = f'Geometric mean of "fixed / open": {statistics.geometric_mean(found):.2f}.'
    print(mean)
    if arguments.networks:
        return
    page = ROOT / "docs/benchmarks" / f"open-{run.slug(run.cpu_name())}.md"
    page.write_text(f"""<!-- Written by bench/open_sizes.py. Do not edit. -->
# Open sizes: {run.cpu_name()}

Measured {datetime.date.today()}. Networks of `bench/networks.py` whose input sizes are variables, beside the same
networks at fixed sizes, both run at these sizes. The two take turns in {arguments.rounds} bursts of {arguments.time} s,
each in its own process. A ratio of 1 means that open sizes cost nothing; it is the median over the rounds.
{run.busy(load)}
{mean}

{chr(10).join(lines)}

To repeat: `make bench-open`.
""")
    print(f"bench: wrote {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
