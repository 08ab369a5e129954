#!/usr/bin/env python3
"""Measures the speed-up of a second thread while another program loads one of two cores.

    bench/neighbour.py resnet18 models/mine.onnx       speed-ups with and without a neighbour

The neighbour is an endless loop on the last core that this process may use. One thread and two threads take turns in
bursts. The speed-up is the number of runs in all bursts of two threads divided by the number in all bursts of one. It
therefore includes the time of runs that had to wait, which a median would hide.
"""

import argparse
import contextlib
import os
import pathlib
import subprocess
import sys
import time

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python")]
import relay  # noqa: E402

BURST = 0.5  # seconds: many time slices of the system's scheduler


@contextlib.contextmanager
def neighbour(core):
    """Keeps another program busy on this core."""
    loop = f"import os\nos.sched_setaffinity(0, [{core}])\nprint(flush=True)\nwhile True: pass"
    process = subprocess.Popen([sys.executable, "-c", loop], stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        yield
    finally:
        process.kill()
        process.wait()


def drawn(port, random):
    shape = [size if isinstance(size, int) else 1 for size in port.shape]
    if port.dtype.startswith("float"):
        return random.standard_normal(shape).astype(port.dtype)
    return numpy.ones(shape, port.dtype)


def speedup(compiled, arrays, seconds):
    """Runs with two threads divided by runs with one, in equal time."""
    runs, spent = {1: 0, 2: 0}, {1: 0.0, 2: 0.0}
    for turn in range(max(2, round(seconds / BURST))):
        threads = 1 + turn % 2
        begin = now = time.perf_counter()
        while now - begin < BURST:
            compiled(*arrays, threads=threads)
            runs[threads] += 1
            now = time.perf_counter()
        spent[threads] += now - begin
    return runs[2] / spent[2] / (runs[1] / spent[1])


def measure(name, path, seconds):
    """A row: the speed-up of two threads on the machine as it is, and with a neighbour on one core."""
    compiled = relay.compile(path, threads=2, tier="full")
    random = numpy.random.default_rng(1)
    arrays = [drawn(port, random) for port in compiled.inputs]
    speedup(compiled, arrays, 2 * BURST)  # warm
    row = {"model": name, "alone": speedup(compiled, arrays, seconds)}
    with neighbour(max(os.sched_getaffinity(0))):
        row["neighbour"] = speedup(compiled, arrays, seconds)
    return row


def table(rows):
    lines = ["| model | without a neighbour | with a neighbour on one core |", "| --- | ---: | ---: |"]
    return "\n".join(lines + [f"| {r['model']} | {r['alone']:.2f} | {r['neighbour']:.2f} |" for r in rows])


def section(rows):
    if not rows:
        return ""
    return f"""
## A neighbour on one core

Another program loads one of the two cores (`bench/neighbour.py`). The figure is the number of runs with two threads divided by the
number with one, in equal time. With a neighbour, a program gets at most half of the second core, so 1.5 is the limit.

{table(rows)}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="names in models/, or paths")
    parser.add_argument("--time", type=float, default=6, help="seconds per measurement (default 6)")
    arguments = parser.parse_args()
    if len(os.sched_getaffinity(0)) < 2:
        sys.exit("neighbour: this machine has only one core; two are needed")
    rows = []
    for model in arguments.models:
        path = pathlib.Path(model) if pathlib.Path(model).exists() else ROOT / "models" / f"{model}.onnx"
        rows.append(measure(path.stem, path, arguments.time))
    print(table(rows))


if __name__ == "__main__":
    main()
