"""Quantised programs for bench/low.py: the TreeLSTM and the char-RNN of bench/programs.py, on the VM and ahead of time.

Every layer is quantised (`keep_float="never"`), whether it is faster or not, so that the table shows both. The float
and the quantised program take turns in one process, on one thread, and the median of the rounds counts.
"""

import numpy as np
import programs

import relay

CASES = ["tree_lstm", "char_rnn"]
ROUNDS = 15


def error(case, expected, got):
    """In percent: the root of the mean squared difference of floats, relative to theirs; the share of integers that
    differ."""
    a, b = (np.concatenate([np.ravel(x) for x in case.results(results)]) for results in (expected, got))
    if a.dtype.kind != "f":
        return 100 * np.mean(a != b)
    return 100 * np.sqrt(np.mean((a - b) ** 2) / np.mean(a**2))


def measure(name):
    """A line of the table for each executor."""
    case = programs.CASES[name](np.random.default_rng(1))
    samples = [list(arguments) for arguments in case.arguments]
    made = relay.quantize(case.module, samples, keep_float="never", seconds=0)
    layers = [layer["integer"] for layer in made.report["layers"]]
    for executor in programs.EXECUTORS:
        both = [relay.compile(m, threads=1, executor=executor, tier="full") for m in (case.module, made.module)]
        results = [[compiled(*arguments) for arguments in case.arguments] for compiled in both]
        runs = [lambda c=c: [c(*arguments) for arguments in case.arguments] for c in both]
        wide, low = (t / case.units * 1e6 for t in programs.medians(runs, ROUNDS))
        yield (
            f"| {case.name}, a {case.unit} | {executor} | {sum(layers)} of {len(layers)} | {wide:.2f} | {low:.2f} | "
            f"{wide / low:.2f} | {error(case, *results):.2f} % |"
        )


def table():
    yield "| program | executor | layers on integers | float32, us | int8, us | float32 / int8 | error |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    for name in CASES:
        yield from measure(name)
