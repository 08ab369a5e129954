#!/usr/bin/env python3
"""Times single layers in int8, bfloat16 and float32 from bfloat16 parts, next to the same layers in float32.

    .venv/bin/python bench/tiles.py                              dense layers and 3 x 3 convolutions, one thread
    .venv/bin/python bench/tiles.py --only dense --rounds 51     those whose name contains the text
    .venv/bin/python bench/tiles.py --target native,-amx         without tile registers

Layers are those of networks after import: int8 reads uint8 and writes uint8, with a bias, relu and a requantisation;
bfloat16 reads and writes bfloat16. Images are stored by pixels (NHWC), so nothing is copied. Weights are constants. All
forms of a layer take turns in one process. A sample is the processor time of the thread for a few runs, divided by
their number, including the call from Python, which the first line states. Medians of the rounds count; the ratio to
float32 is the median over the rounds. Multiply-adds are those of the formula: float32 may use a form with fewer of
them, such as Winograd's.
"""

import argparse
import statistics
import time

import ml_dtypes
import numpy as np

import relay
from relay import op

LAYERS = {  # name: (shape of the data, shape of the weight); images are NHWC, weights HWIO
    "dense 128x768x3072": ((128, 768), (3072, 768)),
    "dense 128x768x768": ((128, 768), (768, 768)),
    "dense 128x3072x768": ((128, 3072), (768, 3072)),
    "conv 3x3 64 of 56": ((1, 56, 56, 64), (3, 3, 64, 64)),
    "conv 3x3 128 of 28": ((1, 28, 28, 128), (3, 3, 128, 128)),
    "conv 3x3 256 of 14": ((1, 14, 14, 256), (3, 3, 256, 256)),
    "conv 3x3 512 of 7": ((1, 7, 7, 512), (3, 3, 512, 512)),
}
FORMS = ["float32", "int8", "bf16", "bf16x3"]
SAMPLE_SECONDS = 1e-3  # at least


def constant(value, dtype="float32"):
    return relay.const(np.array(value, dtype))


def layer(data, weight, form):
    """A module with one input, "x"."""
    random = np.random.default_rng(1)
    is_dense = len(weight) == 2
    channels = weight[0] if is_dense else weight[-1]
    terms = weight[1] if is_dense else np.prod(weight[:-1])
    bias = constant(random.standard_normal(channels))
    if form == "int8":  # as in networks: the operators of float32 between dequantisations and a quantisation
        dtype, zero = "uint8", constant(0, "int32")
        x = relay.var("x", shape=data, dtype=dtype)
        scales, zeros = constant(random.uniform(1e-3, 2e-3, channels)), constant(np.zeros(channels), "int32")
        values = constant(random.integers(-127, 128, weight), "int8")
        factors = (
            op.qnn.dequantize(x, constant(0.02), zero),
            op.qnn.dequantize(values, scales, zeros, axis=0 if is_dense else 3),
        )
    else:
        dtype = "bfloat16" if form == "bf16" else "float32"
        x = relay.var("x", shape=data, dtype=dtype)
        factors = x, op.cast(constant(random.standard_normal(weight) / np.sqrt(terms)), dtype)
        bias = op.cast(bias, dtype)
    if is_dense:
        result = op.nn.dense(*factors)
    else:
        result = op.nn.conv2d(*factors, padding=[1, 1], data_layout="NHWC", kernel_layout="HWIO")
    result = op.nn.relu(result + bias)
    return relay.module(op.qnn.quantize(result, constant(0.05), zero, out_dtype="uint8") if form == "int8" else result)


def compiled(data, weight, form, target):
    """The layer as a function without arguments, and whether it is on tiles."""
    more = {"precision": form} if form == "bf16x3" else {}
    model = relay.compile(layer(data, weight, form), threads=1, tier="full", target=target, **more)
    random = np.random.default_rng(2)
    if form == "int8":
        x = random.integers(0, 256, data).astype("uint8")
    else:
        x = random.standard_normal(data).astype("float32")
        if form == "bf16":
            x = x.astype(ml_dtypes.bfloat16)
    x = relay.array(x)
    rules = " ".join(group["rule"] for group in model.report["groups"])
    return (lambda: model(x)), "tiles" in rules


def sample(run, number):
    begin = time.thread_time()
    for _ in range(number):
        run()
    return (time.thread_time() - begin) / number


def measure(runs, rounds):
    """Seconds for each round, a list for each run."""
    numbers = [max(1, round(SAMPLE_SECONDS / min(sample(run, 3) for _ in range(3)))) for run in runs]
    times = [[] for _ in runs]
    for turn in range(rounds):
        for i in range(len(runs)) if turn % 2 else reversed(range(len(runs))):
            times[i].append(sample(runs[i], numbers[i]))
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="layers whose name contains this")
    parser.add_argument("--forms", nargs="+", choices=FORMS[1:], default=FORMS[1:], help="beside float32")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--target", default="native")
    arguments = parser.parse_args()
    empty = relay.compile(relay.module(op.nn.relu(relay.var("x", shape=(1,)))), threads=1)
    zero = relay.array(np.zeros(1, "float32"))
    (calls,) = measure([lambda: empty(zero)], arguments.rounds)
    print(f"one thread, {arguments.target}; a call takes {statistics.median(calls) * 1e6:.1f} us of these times\n")
    print("| layer | form | median us | least us | 10^9 multiply-adds/s | float32 / this |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for name, (data, weight) in LAYERS.items():
        if arguments.only not in name:
            continue
        forms = ["float32", *arguments.forms]
        built = [compiled(data, weight, form, arguments.target) for form in forms]
        times = measure([run for run, _ in built], arguments.rounds)
        multiply_adds = np.prod(data) * (weight[0] if len(weight) == 2 else np.prod(weight[:2]) * weight[3])
        for form, of, (_, on_tiles) in zip(forms, times, built, strict=True):
            median = statistics.median(of)
            ratio = statistics.median(wide / this for wide, this in zip(times[0], of, strict=True))
            print(
                f"| {name} | {form}{', tiles' if on_tiles and form != 'float32' else ''} | {median * 1e6:.1f} | "
                f"{min(of) * 1e6:.1f} | {multiply_adds / median / 1e9:.0f} | {ratio:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
