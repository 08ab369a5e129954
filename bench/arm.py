#!/usr/bin/env python3
"""Counts instructions and cycles of the paper's networks on two ARM processors, without a board.

    make bench-arm                                all networks; writes the page
    bench/arm.py --only resnet18                  this one; writes no page

Networks have random weights. They are compiled for Cortex-A53 and Cortex-A72 in float32, and quantised to int8: with
sums of 32 bits alone, and with pairs of products that are added in 16 bits. The multiply-adds of a kernel are spread
over the iterations of its main loop: the innermost loop with the most multiply-adds. llvm-mca predicts the cycles of
an iteration, with all data in the L1 cache. What is outside of main loops is not counted. Where Winograd's algorithm
is chosen, the direct kernel is counted, which is compiled beside it for values that are too large.
"""

import argparse
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "bench")]
from main_loops import kernels, main_loop  # noqa: E402

PAGE = ROOT / "docs" / "benchmarks" / "arm.md"
RELAY = ROOT / "build/release/bin/relay"
PROCESSORS = ["cortex-a53", "cortex-a72"]
# By column of the paper: the model, and what is left out of the processor.
KINDS = {"float32": ("float32", ""), "8/32": ("int8", ",-smull"), "8/16": ("int8", "")}
INPUTS = {"resnet18": (1, 3, 224, 224), "mobilenet_v2": (1, 3, 224, 224), "inception_v3": (1, 3, 299, 299)}
# Milliseconds of Roesch et al. 2019 in float32, in 8 bits with sums of 32 bits, and with sums of 16 bits: Raspberry Pi
# 3 with Cortex-A53, RK3399 with Cortex-A72. The paper's MobileNet has another version.
PAPER = {
    ("resnet18", "cortex-a53"): (323, 288, 123),
    ("resnet18", "cortex-a72"): (161, 184, 85),
    ("mobilenet_v2", "cortex-a53"): (122, 136, 113),
    ("mobilenet_v2", "cortex-a72"): (67, 78, 63),
    ("inception_v3", "cortex-a53"): (3205, 1195, 928),
    ("inception_v3", "cortex-a72"): (1286, 1071, 648),
}


class Counted(NamedTuple):
    """Figures of a run, in main loops."""

    multiply_adds: float
    instructions: float
    cycles: float
    spilling: int  # kernels whose main loops access the stack
    left_out: float  # multiply-adds of kernels without a main loop that is known


def tool(name):
    found = shutil.which(f"{name}-22") or shutil.which(name)
    return found or sys.exit(f"arm: {name} is missing: dev/setup installs llvm-22")


def must(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        sys.exit(f"arm: {' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


def cycles_of(loop, processor, known={}):  # noqa: B006
    """Cycles of an iteration, as a mean of 100."""
    text = "\n".join(loop.lines)
    if (text, processor) not in known:
        command = [tool("llvm-mca"), "-mtriple=aarch64-linux-gnu", f"-mcpu={processor}", "-iterations=100"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
        line = next(line for line in done.stdout.splitlines() if line.startswith("Total Cycles:"))
        known[text, processor] = int(line.split()[2]) / 100
    return known[text, processor]


def terms(text):
    """Products that a dot product in a tensor expression adds; 1 for a product."""
    found = re.match(r"\w*dot_\w+\(", text)
    if not found:
        return 1
    depth = commas = 0
    for letter in text[found.end() :]:
        depth += (letter in "([") - (letter in ")]")
        if depth < 0:
            break
        commas += letter == "," and depth == 0
    return (commas + 1) // 2


def products(text):
    """The multiply-adds of a group, from its tensor expressions: sums of products or of dot products. Also the number
    of these."""
    total = steps = 0
    for line in text.splitlines():
        if found := re.search(r"= sum\(([^()]*)\) (.* \* .*): \w+\[([\d, ]*)\]$", line.strip()):
            sizes = [*re.findall(r"< (\d+)", found[1]), *re.findall(r"\d+", found[3])]
            steps += math.prod(map(int, sizes))
            total += math.prod(map(int, sizes)) * terms(found[2])
    return total, steps


def compilation_of(model, processor, folder):
    path = folder / "compilation.json"
    must(RELAY, "explore", model, "-o", path, "--target", processor, "--strict")
    return json.loads(path.read_text())


def count(compilation, processor):
    """The figures of a compilation for a processor."""
    texts, groups = compilation["texts"], compilation["groups"]
    total = Counted(0, 0, 0, 0, 0)
    for number, kernel in enumerate(compilation["kernels"]):
        group = kernel["groups"][0]
        if texts["te"][group] is None or groups[group]["algorithm"] == "winograd":
            continue
        multiply_adds, steps = (n * kernel["calls"] for n in products(texts["strings"][texts["te"][group]]))
        if multiply_adds == 0 or (kernel["flops"] or 0) < steps:  # it prepares data for the kernel that does
            continue
        assembly = kernels(texts["strings"][texts["asm"][number]])
        loop = main_loop(assembly.get(kernel["name"], []))
        if loop is None:
            total = total._replace(left_out=total.left_out + multiply_adds)
            continue
        iterations = multiply_adds / loop.multiply_adds
        total = Counted(
            total.multiply_adds + multiply_adds,
            total.instructions + iterations * len(loop.lines),
            total.cycles + iterations * cycles_of(loop, processor),
            total.spilling + bool(loop.stack_accesses),
            total.left_out,
        )
    return total


def quantised(model, name, folder):
    """The network with int8 values and weights, and sums of 32 bits."""
    data, out = folder / f"{name}.npz", folder / f"{name}.relay"
    np.savez(data, image=np.random.default_rng(0).standard_normal((2, *INPUTS[name][1:])).astype(np.float32))
    must(RELAY, "quantize", model, "--data", data, "--keep-float", "never", "--time", "0", "--symmetric", "-o", out)
    return out


HEAD = """# ARM processors, by instruction counts

**No board was measured.** `make bench-arm` compiles the networks of the 2019 paper's experiment with ARM boards for
their processors, and counts from the assembly code: instructions of the main loops of all kernels with multiply-adds,
and cycles that `llvm-mca` of LLVM 22 predicts for them if all data is in the L1 cache. Weights are random. Where Relay
chooses Winograd's algorithm, the direct kernel beside it is counted. The paper's MobileNet is the first version, and
this one the second. 8/32 and 8/16 are 8-bit values with sums of 32 bits, and with pairs of products that are added in
16 bits first. Both have the same results, bit for bit.

"""
COLUMNS = ["network", "processor", "values", "million multiply-adds", "instructions for each", "million cycles"]
COLUMNS += ["multiply-adds a cycle", "speed-up", "published speed-up"]
TAIL = """
Main loops that access the stack, of all kernels of all rows: {spilling}. Multiply-adds of kernels whose main loop is
not recognised are left out: at most {left_out:.1f} % of a row.

The paper's sums of 16 bits gave it speed-ups of {least:.1f} to {most:.1f}; such sums may overflow. Here, pairs of
products are added in 16 bits where the weight proves that they fit, and pairs in 32 bits. Longer sums do not fit for
usual weights: with data of -128, the magnitudes of the weights in a sum may add up to 255, which is about twice the
greatest weight. The gain in memory is not counted.
"""


def page(rows):
    text = HEAD + f"| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}\n"
    for (name, processor), counted in rows.items():
        for kind, c, paper in zip(KINDS, counted, PAPER[name, processor], strict=True):
            gains = [f"{counted[0].cycles / c.cycles:.2f}", f"{PAPER[name, processor][0] / paper:.2f}"]
            speed_up = ["", ""] if kind == "float32" else gains
            cells = [name, processor, kind, f"{c.multiply_adds / 1e6:.0f}", f"{c.instructions / c.multiply_adds:.3f}"]
            cells += [f"{c.cycles / 1e6:.0f}", f"{c.multiply_adds / c.cycles:.2f}", *speed_up]
            text += f"| {' | '.join(cells)} |\n"
    counted = [c for pair in rows.values() for c in pair]
    gains = [p[0] / p[2] for p in PAPER.values()]
    return text + TAIL.format(
        spilling=sum(c.spilling for c in counted),
        left_out=100 * max(c.left_out / (c.left_out + c.multiply_adds) for c in counted),
        least=min(gains),
        most=max(gains),
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=INPUTS, action="append", help="these networks; writes no page")
    options = parser.parse_args()
    import networks

    names = options.only or list(INPUTS)
    networks.export(names)
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name in names:
            model = ROOT / "models" / f"{name}.onnx"
            integers = quantised(model, name, folder)
            models = {"float32": model, "int8": integers}
            for processor in PROCESSORS:
                made = [compilation_of(models[m], processor + without, folder) for m, without in KINDS.values()]
                rows[name, processor] = [count(compilation, processor) for compilation in made]
                print(name, processor, *rows[name, processor], flush=True)
    text = page(rows)
    if options.only:
        print(text)
    else:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
