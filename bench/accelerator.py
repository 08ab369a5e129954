#!/usr/bin/env python3
"""Counts cycles of the paper's networks on the accelerator (docs/accelerator.md), and checks their results.

    make bench-accelerator                               all networks; writes docs/benchmarks/accelerator.md
    bench/accelerator.py --only resnet18                 this one; writes no page
    bench/accelerator.py --only resnet18 --hardware build/accelerator/librelay_accelerator_rtl.so
                                                         executes it on the hardware that Verilator simulates

Networks have random weights and are quantised by relay.quantize(). The offloaded program must compute the same bits as
the same integer program on the CPU. Cycles are those of the cycle model, which the hardware equals.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile
from typing import NamedTuple

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "python")]
PAGE = ROOT / "docs" / "benchmarks" / "accelerator.md"
MULTIPLIERS = 256
BATCH = 4
TREES = 8
# From quantised floats to integers only, as the accelerator's compiler does it.
PASSES = ["fake_quantization_to_integer", "fixed_point_requantize", "fold_constant", "common_subexpr", "dead_code"]

# Milliseconds of Roesch et al. 2019: without the FPGA, with it, and an item of a batch.
PAPER = {
    "ResNet-18": (307.1, 64.9, 61.3),
    "ResNet-34": (568.6, 96.9, 84.8),
    "ResNet-50": (715.7, 188.2, 165.1),
    "DCGAN": (329.4, 29.3, 25.2),
    "TreeLSTM": (131.1, 52.9, 47.9),
}
RESNETS = {"ResNet-18": "resnet18", "ResNet-34": "resnet34", "ResNet-50": "resnet50"}


class Measured(NamedTuple):
    """Figures of an image or a tree."""

    cycles: float
    multiply_adds: float  # that are offloaded
    moved: float | None  # bytes
    share: float | None  # of all multiply-adds

    @property
    def utilisation(self):
        return self.multiply_adds / MULTIPLIERS / self.cycles


def on_both(module, inputs):
    """The compiled program that uses the accelerator. Stops unless the CPU computes the same bits."""
    from relay.ir.pass_infra import run_passes

    import relay

    offloaded = relay.compile(module, external="accelerator")
    integers = run_passes(module, PASSES, options={"fake_quantization_to_integer.exact": 1})
    reference = relay.compile(integers)
    for value in inputs:
        for want, got in zip(arrays(reference(value)), arrays(offloaded(value)), strict=True):
            if want.tobytes() != got.tobytes():
                sys.exit("accelerator: a result differs from the CPU's")
    return offloaded


def arrays(result):
    return [np.asarray(a) for a in (result if isinstance(result, tuple | list) else [result])]


def resnet(name, batch):
    import networks
    import onnx

    import relay

    networks.NETWORKS.setdefault("resnet34", (lambda: networks.resnet(False, [3, 4, 6, 3]), networks.image(3, 224)))
    (path,) = networks.export([RESNETS[name]])
    shape = (batch, 3, 224, 224)
    return relay.frontend.from_onnx(onnx.load(path), {"image": shape}, freeze_params=True)[0], shape


def dcgan(batch):
    import relay.testing
    from relay.build_module import bind_params_by_name

    module, params = relay.testing.dcgan.get_workload(batch)
    module["main"] = bind_params_by_name(module["main"], params)
    return module, (batch, 100)


def network(name, batch):
    """Figures of a network of a fixed size."""
    import relay

    module, shape = dcgan(batch) if name == "DCGAN" else resnet(name, batch)
    random = np.random.default_rng(0)
    inputs = [random.standard_normal(shape, dtype="float32") for _ in range(3)]
    quantised = relay.quantize(module, inputs[:2], keep_float="never", seconds=0).module
    parts = on_both(quantised, inputs[2:]).report["external"]
    cycles = sum(part["cycles"] for part in parts)
    macs = sum(part["cycles"] * part["utilisation"] * MULTIPLIERS for part in parts)
    moved = sum(part["load_bytes"] + part["store_bytes"] for part in parts)
    # The analysis counts the zeros between the pixels of a transposed convolution.
    total = None if name == "DCGAN" else relay.analysis.get_total_mac_number(module["main"])
    return Measured(cycles / batch, macs / batch, moved / batch, total and macs / total)


def random_tree(random, depth):
    from relay.values import Data

    rest = Data("Nil")
    for _ in range(random.integers(1, 4) if depth else 0):
        rest = Data("Cons", random_tree(random, depth - 1), rest)
    return Data("Rose", random.standard_normal((1, 300)).astype("float32"), rest)


def tree_lstm():
    """A run calls the accelerator for each node, so cycles are counted by the runs."""
    import relay

    random = np.random.default_rng(1)
    sizes = {"w": (600, 300), "u": (450, 150), "uf": (150, 150), "b": (600,)}
    weights = {name: (random.standard_normal(size) * 0.05).astype("float32") for name, size in sizes.items()}
    module = relay.parse((ROOT / "examples" / "tree_lstm.relay").read_text())
    module["main"] = relay.build_module.bind_params_by_name(module["main"], weights)
    trees = [random_tree(random, 3) for _ in range(TREES + 4)]
    quantised = relay.quantize(module, [[tree] for tree in trees[TREES:]], keep_float="never", seconds=0).module
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        os.environ["RELAY_ACCELERATOR_LOG"] = log
        on_both(quantised, trees[:TREES])
        del os.environ["RELAY_ACCELERATOR_LOG"]
        calls = [json.loads(line) for line in open(log)]
    return Measured(*(sum(c[key] for c in calls) / TREES for key in ("cycles", "multiply_adds")), None, None)


def line(name, batch, measured):
    alone, single, several = PAPER[name]
    paper = single if batch == 1 else several
    moved = f"{measured.moved / 1e6:.1f}" if measured.moved else "-"
    share = f"{measured.share:.1%}" if measured.share else "-"
    cells = [name, batch, share, f"{measured.cycles / 1e6:.3f}", f"{measured.utilisation:.1%}", moved]
    cells += [f"{measured.cycles / clock / 1e3:.1f}" for clock in (100, 300)]
    cells += [f"{paper:.1f}", f"{alone / paper:.1f}"]
    return f"| {' | '.join(map(str, cells))} |"


def page(lines):
    return f"""<!-- Written by bench/accelerator.py. Do not edit. -->
# The paper's networks on the accelerator

Cycles of an image, or of a tree, by the [accelerator's](../accelerator.md) cycle model: 256 multiply-adds a cycle, 16
bytes a cycle from memory with a latency of 32 cycles, no other traffic. The networks have random weights, and are
quantised by `relay.quantize()` to int8. Each result equals that of the same integer program on the CPU bit for bit.

"Offloaded" is the share of the multiply-adds, where it was counted. The rest, such as the first convolution of 3
channels, runs on the CPU and is not counted in the cycles. "Utilisation" is the ratio of the network's multiply-adds to
those that the multipliers could do in all cycles. The last columns are the paper's: its time with the FPGA (for one
image, or for an image of a batch), and its speed-up over the ARM processor alone. Its clock and its board are not
certain, and its times include the ARM processor's part, so compare the ratios of the networks, not the milliseconds.

{chr(10).join(lines)}

The trees are random: {TREES} runs, 4 levels, 1 to 3 children a node. The paper's trees are others. A dense layer of one
row uses each weight once, so it is bound by the memory.

To repeat: `make bench-accelerator`.
"""


def main():
    parser = argparse.ArgumentParser(description="Counts cycles of the paper's networks on the accelerator.")
    names = [name.lower().replace("-", "") for name in PAPER]
    parser.add_argument("--only", nargs="+", choices=names, help="only these; writes no page")
    parser.add_argument("--hardware", default="", metavar="LIBRARY", help="execute on this hardware, without batches")
    arguments = parser.parse_args()
    if arguments.hardware:
        os.environ["RELAY_ACCELERATOR_RTL"] = str(pathlib.Path(arguments.hardware).resolve())
    titles = ["network", "batch", "offloaded", "Mcycles", "utilisation", "MB moved", "ms at 100 MHz", "ms at 300 MHz"]
    titles += ["paper, ms", "paper, speed-up"]
    lines = [f"| {' | '.join(titles)} |", f"| --- |{' ---: |' * (len(titles) - 1)}"]
    print("\n".join(lines), flush=True)
    for name, short in zip(PAPER, names, strict=True):
        if arguments.only and short not in arguments.only:
            continue
        for batch in (1, BATCH) if name != "TreeLSTM" and not arguments.hardware else (1,):
            measured = tree_lstm() if name == "TreeLSTM" else network(name, batch)
            lines.append(line(name, batch, measured))
            print(lines[-1], flush=True)
    if not arguments.only and not arguments.hardware:
        PAGE.write_text(page(lines))
        print(f"accelerator: wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
