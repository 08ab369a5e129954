#!/usr/bin/env python3
"""Compares numerics="fp32", which flushes subnormal numbers to zero, with numerics="ieee": in turn, on one thread.

    bench/subnormal.py                        a dense layer and products of such numbers
    bench/subnormal.py fr_gender fr_feature   these models of models/, whose weights are partly subnormal

Prints medians of the runs in milliseconds, and how many times as fast fp32 is.
"""

import pathlib
import statistics
import sys
import time

import numpy as np

import relay

ROOT = pathlib.Path(__file__).resolve().parents[1]
ROUNDS, RUNS = 11, 5


def dense():
    """Half of the weights are subnormal, or half of the data, or each product of the two."""
    random = np.random.default_rng(1)
    weights, data = (random.standard_normal(shape).astype("f") for shape in [(512, 512), (16, 512)])
    tiny = np.where(np.arange(512) % 2, np.float32(1e-40), np.float32(1))
    cases = {
        "dense, normal": (weights, data),
        "dense, subnormal weights": (weights * tiny, data),
        "dense, subnormal data": (weights, data * tiny),
        "dense, subnormal products": (weights * np.float32(1e-20), data * np.float32(1e-20)),
    }
    for name, (w, x) in cases.items():
        yield name, relay.module(relay.op.nn.dense(relay.var("x", x.shape), relay.const(w))), [x]


def of_models(names):
    for name in names:
        module = relay.frontend.from_onnx(str(ROOT / "models" / f"{name}.onnx"))[0]
        shapes = [tuple(int(size) for size in one.type_annotation.shape) for one in module["main"].params]
        random = np.random.default_rng(0)
        yield name, module, [random.uniform(-1, 1, shape).astype("f") for shape in shapes]


def main():
    print("| | ieee, ms | fp32, ms | times as fast |\n| --- | ---: | ---: | ---: |")
    for name, module, arrays in of_models(sys.argv[1:]) if sys.argv[1:] else dense():
        models = [relay.compile(module, numerics=numerics, threads=1, tier="full") for numerics in ("ieee", "fp32")]
        times = [[], []]
        for turn in range(ROUNDS):
            for which in (0, 1) if turn % 2 else (1, 0):
                begin = time.thread_time()
                for _ in range(RUNS):
                    models[which](*arrays)
                times[which].append((time.thread_time() - begin) / RUNS * 1e3)
        ieee, fp32 = map(statistics.median, times)
        ratio = statistics.median(a / b for a, b in zip(*times, strict=True))
        print(f"| {name} | {ieee:.3f} | {fp32:.3f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
