#!/usr/bin/env python3
"""Measures the time to the first result of a model that was never compiled, compared with ONNX Runtime.

    make bench-first                                     writes docs/benchmarks/first-CPU.md
    bench/first_results.py fr_detect --rounds 3          this model; writes no page
    bench/first_results.py --binaries OLD build/release/bin/relay      each program with its defaults; writes no page

Every engine runs in a new process each time, and they take turns. Relay's time is that of a whole `relay run` with an
empty cache. ONNX Runtime's begins after Python has imported it, and ends with the first result. CPU seconds are those
of the same spans, of all threads.
"""

import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from sizes import inputs_of

ROOT = pathlib.Path(__file__).resolve().parents[1]
RELAY = ROOT / "build" / "release" / "bin" / "relay"
MODELS = ["fr_detect", "mobilenet_v2", "resnet18", "minilm_l6", "bert_base"]
THREADS = 2
ROUNDS = 7
ONNX_RUNTIME = """
import json, resource, sys, time, onnxruntime, numpy
def spent():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(sys.argv[2])
begin, cpu = time.perf_counter(), spent()
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
types = {"tensor(float)": "float32", "tensor(int64)": "int64"}
session.run(None, {i.name: numpy.ones(i.shape, types[i.type]) for i in session.get_inputs()})
print(json.dumps([time.perf_counter() - begin, spent() - cpu]))
"""


def timed(command, folder):
    """Wall and CPU seconds of a process whose cache is in `folder`."""
    begin = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out:
        environment = os.environ | {"RELAY_CACHE": str(folder)}
        child = subprocess.Popen([str(c) for c in command], stdout=out, stderr=subprocess.STDOUT, env=environment)
        _, status, used = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        if child.returncode:
            sys.exit(f"bench: {' '.join(map(str, command))} failed:\n{out.read()}")
    return seconds, used.ru_utime + used.ru_stime


def relay_run(binary, model, words, runs=1):
    """The last of `runs` runs, of which the first finds an empty cache."""
    command = [binary, "run", model, "--threads", THREADS, *words, *inputs_of(binary, model)]
    with tempfile.TemporaryDirectory() as folder:
        return [timed(command, folder) for _ in range(runs)][-1]


def onnx_runtime(model):
    command = [sys.executable, "-c", ONNX_RUNTIME, str(model), str(THREADS)]
    return tuple(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


def ways_of(binaries, model):
    """The measured functions by name."""
    if len(binaries) > 1:
        ways = {str(binary): lambda binary=binary: relay_run(binary, model, []) for binary in binaries}
    else:
        ways = {
            "relay": lambda: relay_run(binaries[0], model, []),
            "relay --tier full": lambda: relay_run(binaries[0], model, ["--tier", "full"]),
            "relay, third run": lambda: relay_run(binaries[0], model, [], runs=3),
        }
    return ways | {"ONNX Runtime": lambda: onnx_runtime(model)}


def measure(binaries, name, rounds):
    """Medians of wall and CPU seconds, by way."""
    model = ROOT / "models" / f"{name}.onnx"
    ways = ways_of(binaries, model)
    all_of = {way: [] for way in ways}
    for i in range(rounds):
        for way in list(ways)[:: 1 if i % 2 == 0 else -1]:
            all_of[way].append(ways[way]())
    medians = {way: [statistics.median(column) for column in zip(*rows, strict=True)] for way, rows in all_of.items()}
    print(f"bench: {name}: " + ", ".join(f"{way} {s:.3f} s ({c:.3f} CPU s)" for way, (s, c) in medians.items()))
    return medians


def table(rows):
    ways = list(next(iter(rows.values())))
    lines = [f"| {' | '.join(['model', *ways, 'relay / ONNX Runtime'])} |", f"| --- |{' ---: |' * (len(ways) + 1)}"]
    for name, row in rows.items():
        cells = [f"{seconds:.3f} ({cpu:.3f})" for seconds, cpu in row.values()]
        ratio = row[ways[0]][0] / row["ONNX Runtime"][0]
        lines.append(f"| {' | '.join([name, *cells, f'**{ratio:.1f}**'])} |")
    return "\n".join(lines)


def page(rows, cpu):
    return f"""<!-- Written by bench/first_results.py. Do not edit. -->
# First results: {cpu}

Measured {datetime.date.today()} on {len(os.sched_getaffinity(0))} cores of {cpu}, with {THREADS} threads, by
`make bench-first`.

Seconds until the first result of a model that was never compiled, with CPU seconds of all threads in brackets: medians
of {ROUNDS} rounds, in which the engines take turns. Relay's are those of a whole process `relay run`, with an empty
cache. The third run loads full code from the cache. ONNX Runtime's begin after Python has imported it.
[First results](../first-results.md) explains the tiers.

{table(rows)}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--binaries", nargs="+", type=pathlib.Path, default=[RELAY])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    args = parser.parse_args()
    rows = {name: measure(args.binaries, name, args.rounds) for name in args.models or MODELS}
    print(table(rows))
    if args.models or len(args.binaries) > 1:
        return
    from run import cpu_name

    slug = "-".join(cpu_name().lower().replace("(r)", "").split())
    path = ROOT / "docs" / "benchmarks" / f"first-{slug}.md"
    path.write_text(page(rows, cpu_name()))
    print(f"bench: wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
