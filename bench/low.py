#!/usr/bin/env python3
"""Compares int8 networks with ONNX Runtime and OpenVINO, and with themselves in float32, with one and two threads.

    make bench-low                                    all of them; writes docs/benchmarks/low-CPU.md
    .venv/bin/python bench/low.py --only mobilenet_v2 --time 2    only this one; writes no page

The models are those of bench/networks.py, quantised by ONNX Runtime's own tool (QDQ, per channel, weights in int8):
"u8s8" has activations in uint8, "s8s8" in int8. They are kept in models/low/. Each measurement is `relay bench`, as in
bench/run.py.
"""

import argparse
import logging
import pathlib
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "dev"), str(ROOT / "bench")]
import networks  # noqa: E402
import run  # noqa: E402

FOLDER = ROOT / "models" / "low"
NAMES = ["resnet18", "resnet50", "mobilenet_v2", "minilm_l6", "bert_base"]
FORMS = ["u8s8", "s8s8"]
THREADS = [1, 2]
BATCHES = 3  # of random inputs, which set the ranges of the activations


class Batches:
    """Random inputs for the calibration, one dictionary after the other, then None."""

    def __init__(self, path):
        import onnxruntime

        random = np.random.default_rng(0)
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        self.left = [self.draw(session, random) for _ in range(BATCHES)]

    @staticmethod
    def draw(session, random):
        drawn = {}
        for given in session.get_inputs():
            if "float" in given.type:
                drawn[given.name] = random.standard_normal(given.shape).astype(np.float32)
            else:  # ids of tokens and segments, or a mask
                most = 1000 if "ids" in given.name and "type" not in given.name else 2
                drawn[given.name] = random.integers(0, most, given.shape).astype(np.int64)
        return drawn

    def get_next(self):
        return self.left.pop() if self.left else None


def quantised(name, form):
    """The path of the quantised network, which is made unless it is newer than its network."""
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    (path,) = networks.export([name])
    made = FOLDER / f"{name}_{form}.onnx"
    if made.exists() and made.stat().st_mtime >= path.stat().st_mtime:
        return made
    FOLDER.mkdir(parents=True, exist_ok=True)
    logging.getLogger().setLevel(logging.ERROR)
    prepared = FOLDER / f"{name}_prepared.onnx"
    quant_pre_process(str(path), str(prepared), skip_symbolic_shape=True)
    quantize_static(
        str(prepared),
        str(made),
        Batches(prepared),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        activation_type=QuantType.QUInt8 if form == "u8s8" else QuantType.QInt8,
        weight_type=QuantType.QInt8,
    )
    prepared.unlink()
    return made


def measure(name, form, seconds):
    """(int8 row, float32 row) for each thread count."""
    low = run.measure(name, [quantised(name, form)], run.ONNX_PEERS, THREADS, seconds)
    (path,) = networks.export([name])
    return list(zip(low, run.measure(name, [path], run.ONNX_PEERS, THREADS, seconds), strict=True))


def head():
    peers = [run.PEERS[peer] for peer in run.ONNX_PEERS]
    titles = ["model", "threads", "Relay, ms", *(f"{p}, ms" for p in peers), "best / Relay", "95 % confidence interval"]
    titles += ["Relay, float32, ms", *(f"{p}, float32, ms" for p in peers), "float32 / int8"]
    return [f"| {' | '.join(titles)} |", f"| --- |{' ---: |' * (len(titles) - 1)}"]


def line(name, form, low, wide):
    """A row: times in int8 and in float32. The last column is Relay's own speed-up."""

    def times(row):
        return run.cells(row, run.ONNX_PEERS, lambda engine: f"{engine['median_us'] / 1e3:.2f}")

    peer = run.best(low)
    interval = "{:.2f} to {:.2f}".format(*peer["ratio_interval"]) if peer["ratio_interval"] else "too few rounds"
    busy = "" if low["quiet"] and wide["quiet"] else ", busy"
    speed_up = wide["relay"]["median_us"] / low["relay"]["median_us"]
    cells = [f"{name}, {form}", str(low["threads"]), *times(low), f"{peer['ratio']:.2f}", interval + busy]
    return f"| {' | '.join(cells + times(wide) + [f'{speed_up:.2f}'])} |"


def page(lines, versions, load):
    return f"""<!-- Written by bench/low.py. Do not edit. -->
# Networks in int8: {run.cpu_name()}

Medians in milliseconds, measured {time.strftime("%Y-%m-%d")}. The networks of `bench/networks.py`, with batch 1, were
quantised by ONNX Runtime's own tool: QDQ, per channel, weights in int8, activations in uint8 (u8s8) or int8 (s8s8).
The engines take turns in short bursts on the same input, each in its own process, as in `make bench`.
"best / Relay" is the best peer's time over ours, as the median over the rounds. The columns of float32 are the same
network before it was quantised. Peers: {", ".join(versions)}.
{run.busy(load)}
{chr(10).join(lines)}

To repeat: `make bench-low`.
"""


def main():
    parser = argparse.ArgumentParser(description="Compares int8 networks with ONNX Runtime and OpenVINO.")
    parser.add_argument("--only", nargs="+", choices=NAMES, help="only these; writes no page")
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=FORMS, help="default: both")
    parser.add_argument(
        "--time", type=float, default=6, metavar="S", help="seconds per model and thread count (default 6)"
    )
    arguments = parser.parse_args()
    load = run.machine_load()
    run.install_peers()
    lines, versions = head(), {}
    print("\n".join(lines), flush=True)
    for name in arguments.only or NAMES:
        for form in arguments.forms:
            for low, wide in measure(name, form, arguments.time):
                versions |= dict.fromkeys(peer["version"] for peer in low["peers"])
                lines.append(line(name, form, low, wide))
                print(lines[-1], flush=True)
    if arguments.only or arguments.forms != FORMS:
        return
    path = ROOT / "docs" / "benchmarks" / f"low-{run.slug(run.cpu_name())}.md"
    path.write_text(page(lines, list(versions), load))
    print(f"bench: wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
