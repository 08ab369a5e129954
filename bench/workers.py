#!/usr/bin/env python3
"""Training steps of small transformers on one and on two workers, beside the predictions of `relay plan-cluster`.

    make bench-workers                                       all; prints a table
    .venv/bin/python bench/workers.py --only 2x128 --rounds 3

The planner's figures of this machine are measured first, without any of the transformers: products of several sizes, a
sum of two arrays, and all_reduces of several sizes between two processes. The transformers are predicted from these
alone. Each worker has a core and a thread of its own. The workers of both runs are the same two processes, and the runs
take turns; the medians of the rounds count. The planner's types have 2 bytes, and these 4: the bandwidth and the link
are given to it at half their speed.

With --processor-time, for a machine that is busy with other work, all times are those that a process spends on a
processor, and the least of the rounds counts. The waits of a worker for the other do not count then.
"""

import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import time

import numpy as np

import relay

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "test" / "python" / "support")]
import divided_training  # noqa: E402
import relay.distribute as distribute  # noqa: E402
import relay.train as train  # noqa: E402
from relay.distribute import gloo, machines, plan_cluster, ranks  # noqa: E402

# name: layers, width, length of a sequence, vocabulary, sequences of a step
CASES = {
    "2x128": (2, 128, 64, 512, 16),
    "4x128": (4, 128, 64, 512, 32),
    "2x256": (2, 256, 64, 512, 16),
    "4x256": (4, 256, 64, 1024, 16),
    "2x256, long": (2, 256, 256, 512, 8),
    "2x512": (2, 512, 64, 1024, 8),
}


clock, of_rounds = time.perf_counter, statistics.median


def seconds_of(run, repeats):
    began = clock()
    for _ in range(repeats):
        run()
    return (clock() - began) / repeats


def fitted(sizes, times):
    """(a, b) of times = a + b * sizes, with the least sum of squared relative errors."""
    rows = np.array([[1 / t, x / t] for x, t in zip(sizes, times, strict=True)])
    return np.linalg.lstsq(rows, np.ones(len(rows)), rcond=None)[0]


# --- the machine ------------------------------------------------------------------------------------------------------
def product_rate(rows, columns, depth):
    """Operations a second of a product on one thread."""
    x, w = relay.var("x", shape=(rows, depth)), relay.var("w", shape=(columns, depth))
    compiled = relay.compile(relay.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w))), threads=1)
    rng = np.random.default_rng(0)
    given = [rng.standard_normal(shape, dtype="float32") for shape in ((rows, depth), (columns, depth))]
    work = 2 * rows * columns * depth
    repeats = max(2, int(0.05 * 5e10 / work))
    return work / of_rounds([seconds_of(lambda: compiled(*given), repeats) for _ in range(7)])


def copy_rate():
    """Bytes a second of a sum of two arrays beyond the caches."""
    x, y = (relay.var(name, shape=(1 << 24,)) for name in "xy")
    compiled = relay.compile(relay.IRModule.from_expr(relay.Function([x, y], x + y)), threads=1)
    given = [np.ones(1 << 24, "float32")] * 2
    return 3 * (4 << 24) / of_rounds([seconds_of(lambda: compiled(*given), 1) for _ in range(7)])


def reduce_seconds(link, count):
    """Seconds of an all_reduce of `count` floats between two workers."""
    rank = ranks.Rank(distribute.Mesh(data=2), link.me, ranks.Post(link))
    x = np.ones(count, "float32")
    times = []
    for number in range(12):
        link.barrier()
        times.append(seconds_of(lambda number=number: rank.all_reduce(x, "data", 1000 + number, "sum"), 1))
    return of_rounds(times[2:])


def products():
    """(operations a second of a large product, the size at which products reach half of it), fitted to four sizes."""
    shapes = [(256, 128, 128), (512, 256, 256), (1024, 512, 256), (1024, 1024, 512)]
    sizes = [rows * columns for rows, columns, _ in shapes]
    fast, slow = fitted([1 / size for size in sizes], [1 / product_rate(*shape) for shape in shapes])
    return 1 / fast, max(slow / fast, 1.0)


def machine_of(figures):
    """The planner's description of a core and a gloo link. An all_reduce of B bytes takes first + rest * B seconds."""
    link = machines.Link("gloo", 2, figures["first"] / 2, 2 * figures["rest"])
    return machines.Machine(
        "a core", figures["flops"], 4e9, figures["bandwidth"] / 2, (link,),
        best=1.0, half=figures["half"], launch=0.0, hidden=0.0,
    )  # fmt: skip


# --- the steps --------------------------------------------------------------------------------------------------------
def model_of(name):
    layers, hidden, length, vocabulary, _ = CASES[name]
    heads = divided_training.HEADS
    return machines.Model(name, layers, hidden, heads, heads, 4 * hidden, vocabulary, length, gated=False)


def step_of(name, workers, link):
    layers, hidden, length, vocabulary, batch = CASES[name]
    loss, params, types, data = divided_training.gpt(batch, layers, hidden, length, vocabulary)
    step = distribute.Step(loss, params, types, train.AdamW(1e-4), mesh=distribute.Mesh(data=workers), link=link)
    given = data(0)
    return lambda: step(*given)


def measured(name, link, rounds):
    """Seconds of a step on one worker and on two."""
    pair = step_of(name, 2, link)
    alone = step_of(name, 1, ranks.Alone()) if link.me == 0 else None
    times = {1: [], 2: []}
    repeats = 1
    for number in range(rounds + 1):  # the first round warms up
        link.barrier(starting=number == 0)
        if alone is not None:
            times[1].append(seconds_of(alone, repeats))
        link.barrier()
        times[2].append(seconds_of(pair, repeats))
        repeats = max(link.gathered(max(1, int(0.15 / times[1][-1])) if alone is not None else 1))
    times[2] = [max(both) for both in zip(*link.gathered(times[2]), strict=True)]
    return {workers: of_rounds(found[1:]) for workers, found in times.items() if found}


def worker(names, rounds, is_busy):
    """Measures, and prints JSON from the first worker."""
    global clock, of_rounds
    link = gloo.link_of(2)
    if is_busy:
        clock, of_rounds = time.process_time, min
    else:
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[link.me]})
    out = {"steps": {}}
    if link.me == 0:
        out["flops"], out["half"] = products()
        out["bandwidth"] = copy_rate()
    link.barrier(starting=True)
    counts = [1 << 14, 1 << 16, 1 << 18, 1 << 20]
    out["first"], out["rest"] = fitted([4 * n for n in counts], [reduce_seconds(link, n) for n in counts])
    out["first"] = max(out["first"], 0.0)
    for name in names:
        out["steps"][name] = measured(name, link, rounds)
    if link.me == 0:
        print(json.dumps(out))


def both_workers(names, rounds, is_busy):
    """The first worker's figures."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "GLOO_SOCKET_IFNAME": "lo"}
    command = [sys.executable, __file__, "--worker", f"--rounds={rounds}", "--only", *names]
    command += ["--processor-time"] if is_busy else []
    started = [
        subprocess.Popen(command, env=os.environ | shared | {"RANK": str(rank)}, stdout=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    written = [one.communicate()[0] for one in started]
    if any(one.returncode for one in started):
        sys.exit("bench: a worker failed; its message is above")
    return json.loads(written[0].splitlines()[-1])


def report(figures):
    """Prints the table."""
    machine = machine_of(figures)
    print(f"a core: {machine.flops / 1e9:.0f} GFLOP/s, half of it at {machine.half:.0f} elements; "
          f"{figures['bandwidth'] / 1e9:.1f} GB/s; an all_reduce of B bytes: "
          f"{figures['first'] * 1e6:.0f} us + B / {1e-9 / figures['rest']:.2f} GB/s")  # fmt: skip
    print("| model | 1 worker, ms | predicted | 2 workers, ms | predicted | speed-up | predicted |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    errors = {"1 worker": [], "2 workers": [], "speed-up": []}
    for name, times in figures["steps"].items():
        batch = CASES[name][-1]
        real = {int(workers): seconds for workers, seconds in times.items()}
        said = {
            n: plan_cluster.predict(
                model_of(name), machine, plan_cluster.Layout(n, micro=batch // n, zero=0), batch
            ).seconds
            for n in (1, 2)
        }
        pairs = {"1 worker": (real[1], said[1]), "2 workers": (real[2], said[2])}
        pairs["speed-up"] = (real[1] / real[2], said[1] / said[2])
        for what, (found, predicted) in pairs.items():
            errors[what].append(abs(predicted / found - 1))
        cells = [f"{scale * one:.2f}" for what, scale in (("1 worker", 1e3), ("2 workers", 1e3), ("speed-up", 1))
                 for one in pairs[what]]  # fmt: skip
        print(f"| {name} | {' | '.join(cells)} |")
    for what, found in errors.items():
        print(f"{what}: median error {100 * statistics.median(found):.0f} %, largest {100 * max(found):.0f} %")


def main():
    parser = argparse.ArgumentParser(description="Compares steps on one and two workers with the planner.")
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES), metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--rounds", type=int, default=7, metavar="N", help="(default 7)")
    parser.add_argument("--processor-time", action="store_true", help="measure processor time, on a busy machine")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        worker(given.only, given.rounds, given.processor_time)
    else:
        report(both_workers(given.only, given.rounds, given.processor_time))


if __name__ == "__main__":
    main()
