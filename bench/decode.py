#!/usr/bin/env python3
"""Measures a step of a decoder whose weights have 32, 16, 8 or 4 bits, against the bandwidth of the memory.

    make bench-decode                               writes docs/benchmarks/decode-CPU.md
    .venv/bin/python bench/decode.py --layers 4     a part of the network; writes no page

The network has the weights of SmolLM-135M (https://huggingface.co/HuggingFaceTB/SmolLM-135M): 30 layers of 576
features, with random values (bench/decode_step.py). A step reads all of them once, for one token. Attention to earlier
tokens, which reads few bytes next to the weights, is left out. The same step, as ONNX files, is then compared with ONNX
Runtime and OpenVINO.
"""

import argparse
import contextlib
import os
import pathlib
import sys
import tempfile
import time

import numpy as np
import onnx

import relay
from relay import op

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "dev"), str(ROOT / "bench")]
import run  # noqa: E402
from decode_step import FEATURES, HIDDEN, KEYS, LAYERS, WORDS, Step  # noqa: E402

FORMS = {
    "float32": {},
    "16 bits (--precision auto)": {"precision": "auto"},
    "int8, a scale a row": {"weight_bits": 8},
    "int8, groups of 32": {"weight_bits": 8, "group": 32},
    "int4, groups of 32": {"weight_bits": 4, "group": 32},
    "int4, groups of 64": {"weight_bits": 4, "group": 64},
    "int4, groups of 32, inputs rounded": {"weight_bits": 4, "group": 32, "precision": "int8_inputs"},
    "int4, groups of 64, inputs rounded": {"weight_bits": 4, "group": 64, "precision": "int8_inputs"},
}
# Steps as ONNX files: arguments of Step.
FILES = {
    "float32": {},
    "int8": {"bits": 8, "group": 32},
    "int8, inputs may be rounded": {"bits": 8, "group": 32, "level": 4},
    "int4": {"bits": 4, "group": 32},
    "int4, inputs may be rounded": {"bits": 4, "group": 32, "level": 4},
}
THREADS = [1, 2]


def decoder(layers):
    """A step: the scores of the next word, for one token."""
    return relay.frontend.from_onnx(Step().model(layers))[0]


def multiplied(layers):
    """The number of weights that a step multiplies."""
    return WORDS * FEATURES + layers * (2 * FEATURES * (FEATURES + KEYS) + 3 * FEATURES * HIDDEN)


def compiled(module, form):
    """A model for each number of threads."""
    settings = dict(FORMS[form])
    options = {name: settings.pop(name) for name in ["precision"] if name in settings}
    if settings:
        module = relay.quantize(module, weights_only=True, keep_float="never", seconds=0, **settings).module
    return {threads: relay.compile(module, threads=threads, strict=True, tier="full", **options) for threads in THREADS}


def reader(threads):
    """(bytes, call): the sum of each row of an array beyond the caches."""
    rows = np.random.default_rng(0).normal(size=(1 << 14, 1 << 12)).astype("float32")
    x = relay.var("x", shape=rows.shape)
    model = relay.compile(
        relay.IRModule({"main": relay.Function([x], op.sum(x, axis=[1]))}), threads=threads, tier="full"
    )
    return rows.nbytes, lambda: model(rows)


@contextlib.contextmanager
def before_others(wanted):
    """Threads of this process run before those of others."""
    threads = [int(thread) for thread in os.listdir("/proc/self/task")] if wanted else []

    def schedule(policy, priority):
        for thread in threads:
            with contextlib.suppress(ProcessLookupError):
                os.sched_setscheduler(thread, policy, os.sched_param(priority))

    schedule(os.SCHED_FIFO, 1)
    try:
        yield
    finally:
        schedule(os.SCHED_OTHER, 0)


def fastest(calls, seconds, first):
    """The least time of each call, in seconds. They take turns, so that other work on the machine, which only adds
    time, affects all."""
    least = [float("inf")] * len(calls)
    for call in calls:
        call()
    with before_others(first):
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            for i, call in enumerate(calls):
                call()  # its own data are in the caches, as after a step
                for _ in range(3):
                    begin = time.perf_counter()
                    call()
                    least[i] = min(least[i], time.perf_counter() - begin)
    return least


def measure(layers, seconds, forms, first=False):
    """A dict for each form: its name, `bytes` of the model, the `error` of the scores, and by threads the `step` in
    seconds and the `bandwidth` at which it reads weights, and that of the memory."""
    module, token, rows = decoder(layers), np.array([17], "int64"), []
    readers = {threads: reader(threads) for threads in THREADS}
    share = multiplied(layers) / (multiplied(layers) + WORDS * FEATURES)
    for form in forms:
        models = compiled(module, form)
        scores = models[1](token)
        floats = rows[0]["scores"] if rows else scores
        size = models[1].report["constants"]["bytes"]
        row = {"form": form, "bytes": size, "scores": scores, "step": {}, "bandwidth": {}, "memory": {}}
        row["error"] = float(np.sqrt(np.mean((scores - floats) ** 2) / np.mean(floats**2)))
        for threads, model in models.items():
            read, read_all = readers[threads]
            step, whole = fastest([lambda m=model: m(token), read_all], seconds, first)
            # A table has two copies: its rows are taken from one, and the other, packed, is multiplied.
            row["step"][threads], row["bandwidth"][threads] = step, size * share / step
            row["memory"][threads] = read / whole
        rows.append(row)
        print(line(row, rows[0]), flush=True)
    return rows


def beside_peers(layers, seconds):
    """Rows of bench/run.py: the step as an ONNX file, in Relay and in its peers."""
    run.install_peers()
    rows = []
    for form, settings in FILES.items():
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "step.onnx"
            onnx.save(Step(**settings).model(layers), path)
            rows += run.measure(form, [path, "--input", "token=17"], run.ONNX_PEERS, THREADS, seconds)
        print(run.times_table(rows[-len(THREADS) :]).splitlines()[-1], flush=True)
    return rows


def head():
    titles = ["weights", "MB", "of float32", "error"]
    for threads in THREADS:
        titles += [f"{threads} thr.: step, ms", "of float32", "weights, GB/s", "of the memory's"]
    return [f"| {' | '.join(titles)} |", f"| --- |{' ---: |' * (len(titles) - 1)}"]


def line(row, floats):
    cells = [row["form"], f"{row['bytes'] / 1e6:.1f}", f"{row['bytes'] / floats['bytes']:.2f}"]
    cells.append(f"{100 * row['error']:.2g} %")
    for threads in THREADS:
        step, speed, memory = (row[name][threads] for name in ("step", "bandwidth", "memory"))
        cells += [f"{step * 1e3:.2f}", f"{step / floats['step'][threads]:.2f}", f"{speed / 1e9:.1f}"]
        cells.append(f"{100 * speed / memory:.0f} %")
    return f"| {' | '.join(cells)} |"


def page(rows, beside, load, first):
    before = " The process ran before all others (`--first`), which still used the memory." if first else ""
    memory = ", ".join(f"{max(row['memory'][t] for row in rows) / 1e9:.1f} GB/s ({t} thr.)" for t in THREADS)
    return f"""<!-- Written by bench/decode.py. Do not edit. -->
# A step of a decoder with narrow weights: {run.cpu_name()}

Measured {time.strftime("%Y-%m-%d")}. The network has the weights of SmolLM-135M, with random values: 30 layers of 576
features, and a table of 49152 words that is also the last product's weight. A step computes the scores for one token;
it reads all weights once. Attention to earlier tokens is left out. The times are the least ones of many steps, which
take turns with a kernel that reads an array of 256 MB: at most {memory}.{before}

"MB" are the constants of the model, with a second copy of the table for its rows. "Error" is the root of the mean
squared difference of the scores from those of float32, relative to these. Nothing in a network of random values
corrects errors, so they grow from layer to layer. "Inputs rounded" is `--precision int8_inputs`.
{run.busy(load)}
{chr(10).join([*head(), *(line(row, rows[0]) for row in rows)])}

## Beside other engines

The same step as an ONNX file. Narrow weights have groups of 32, and their products are `MatMulNBits`. If its
`accuracy_level` is 4, an engine may round the inputs of products to 8 bits, which adds an error of 0.6 % to each
product. ONNX Runtime does so for weights of 8 and of 4 bits, Relay for 4 bits. The rest is as in `make bench`: medians
in milliseconds, with the 99th percentile.

{run.times_table(beside)}

To repeat: `make bench-decode`.
"""


def main():
    parser = argparse.ArgumentParser(description="Measures a step of a decoder with narrow weights.")
    parser.add_argument(
        "--layers", type=int, default=LAYERS, help=f"default: {LAYERS}, as in SmolLM-135M; else no page"
    )
    parser.add_argument("--forms", nargs="+", choices=list(FORMS), help="only these, next to float32; writes no page")
    parser.add_argument("--first", action="store_true", help="measure before all other work on the machine (as root)")
    parser.add_argument("--time", type=float, default=4, metavar="S", help="seconds per form and thread count")
    arguments = parser.parse_args()
    load = run.machine_load()
    print("\n".join(head()), flush=True)
    forms = list(FORMS) if not arguments.forms else ["float32", *(f for f in arguments.forms if f != "float32")]
    rows = measure(arguments.layers, arguments.time, forms, arguments.first)
    if arguments.forms:
        return
    beside = beside_peers(arguments.layers, arguments.time)
    if arguments.layers != LAYERS:
        return
    path = ROOT / "docs" / "benchmarks" / f"decode-{run.slug(run.cpu_name())}.md"
    path.write_text(page(rows, beside, load, arguments.first))
    print(f"bench: wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
