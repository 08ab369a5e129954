#!/usr/bin/env python3
"""Measures how long one process takes to compile many small models that share kernels.

    bench/many_models.py 100       CPU seconds for this many models, and for as many with full code
    bench/many_models.py 60        the same for fewer
    PYTHONPATH=../before/python bench/many_models.py 60     another build

The models are classifiers of two to four layers whose widths come from a short list, with different weights.
"""

import random
import sys
import time

import numpy as np

import relay

WIDTHS = (16, 32, 48, 64)


def model(seed):
    """One to three convolutions with a pool behind each, and a dense layer."""
    draw, values = random.Random(seed), np.random.default_rng(seed)
    weight = lambda *shape: relay.const(values.standard_normal(shape).astype("f") / 8)  # noqa: E731
    y, channels = relay.var("x", (1, 3, 32, 32)), 3
    for _ in range(draw.randint(1, 3)):
        width = draw.choice(WIDTHS)
        y = relay.op.nn.conv2d(y, weight(width, channels, 3, 3), padding=[1, 1])
        y = relay.op.nn.relu(relay.op.nn.bias_add(y, weight(width)))
        y, channels = relay.op.nn.max_pool2d(y, pool_size=[2, 2], strides=[2, 2]), width
    y = relay.op.nn.batch_flatten(relay.op.nn.global_avg_pool2d(y))
    return relay.module(relay.op.nn.softmax(relay.op.nn.dense(y, weight(10, channels))))


def main():
    modules = [model(seed) for seed in range(int(sys.argv[1]))]
    for tier in "auto", "full":
        begin = time.process_time()
        for module in modules:
            relay.compile(module, threads=1, tier=tier)
        print(f"{len(modules)} models, tier {tier}: {time.process_time() - begin:.2f} CPU s", flush=True)


if __name__ == "__main__":
    main()
