#!/usr/bin/env python3
"""Measures the time and the memory until the first result of models that were never compiled, compared with others.

    make bench-first                            every network of `make bench`; writes docs/benchmarks/first-CPU.md
    bench/first_results.py fr_detect --rounds 3 this model; writes no page
    bench/first_results.py --go-on              goes on after an interruption: leaves out what is kept
    bench/first_results.py fr_detect --page     this model; then the page of all that is kept
    bench/first_results.py --binaries OLD build/release/bin/relay   each program with its defaults; keeps nothing

Every engine runs in a new process each time, and they take turns. Relay's time and memory are those of a whole
`relay run` with an empty cache. The others' time begins after Python has imported the engine, and ends with the first
result; their memory is that of the process. CPU seconds are those of the same spans, of all threads. This file imports
nothing large, because a child's peak is never below its parent's memory.

A network takes minutes, so its row is kept with its date in build/benchmarks/first-CPU.json as soon as it is measured.
A later run replaces the rows that it measures, and the page has all that are kept.
"""

import argparse
import importlib.util
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import kept
from sizes import inputs_of

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "dev"))
import fetch_models  # noqa: E402

RELAY = ROOT / "build" / "release" / "bin" / "relay"
ENGINE = ROOT / "python" / "relay" / "tools" / "bench.py"
THREADS = 2
ROUNDS = 5
ONCE = "torch.compile"  # takes up to a minute
PEERS = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "torch-compile": "torch.compile"}
SMALL_MB, SMALL_SECONDS, LARGEST_RATIO = 5, 0.15, 3  # the goals
# Writes the inputs of an ONNX file, all ones, for ENGINE.
INPUTS = """
import sys, numpy, onnx
graph = onnx.load(sys.argv[1], load_external_data=False).graph
known = {one.name for one in graph.initializer}
arrays = []
for one in graph.input:
    if one.name in known:
        continue
    kind = one.type.tensor_type
    shape = [d.dim_value for d in kind.shape.dim]
    arrays.append(numpy.ones(shape, onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)))
numpy.savez(sys.argv[2], **{str(i): array for i, array in enumerate(arrays)})
"""


def every_network():
    """The networks of `make bench`; those of bench/networks.py are listed by another process, which imports PyTorch."""
    said = subprocess.run([sys.executable, ROOT / "bench" / "networks.py", "--list"], capture_output=True, text=True)
    own = [line.split()[0] for line in said.stdout.splitlines()]
    return own + fetch_models.names(measured=True)


def timed(command, folder):
    """Wall seconds, CPU seconds and peak MiB of a process whose cache is in `folder`."""
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
    return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def relay_run(binary, model, words, runs=1):
    """The last of `runs` runs, of which the first finds an empty cache."""
    command = [binary, "run", model, "--threads", THREADS, *words, *inputs_of(binary, model)]
    with tempfile.TemporaryDirectory() as folder:
        return [timed(command, folder) for _ in range(runs)][-1]


def other_run(peer, model):
    """The same for another engine."""
    with tempfile.TemporaryDirectory() as folder:
        inputs, outputs = f"{folder}/inputs.npz", f"{folder}/outputs.npz"
        subprocess.run([sys.executable, "-c", INPUTS, model, inputs], check=True)
        command = [sys.executable, ENGINE, peer, model, str(THREADS), inputs, outputs]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        said = json.loads(done.stdout.splitlines()[-1]) if done.stdout.strip() else {"error": done.stderr}
        if "error" in said:
            sys.exit(f"bench: {peer} failed for {model}:\n{said['error']}")
    return said["ready_ms"] / 1e3, said["ready_cpu_ms"] / 1e3, said["peak_bytes"] / 2**20


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
    peers = {"onnxruntime"}
    if len(binaries) == 1 and importlib.util.find_spec("openvino"):
        peers.add("openvino")
    if len(binaries) == 1 and model.with_suffix(".pt2").exists():
        peers.add("torch-compile")
    return ways | {name: lambda peer=peer: other_run(peer, model) for peer, name in PEERS.items() if peer in peers}


def measure(binaries, name, rounds):
    """Medians of wall seconds, CPU seconds and peak MiB, by way."""
    model = ROOT / "models" / f"{name}.onnx"
    ways = ways_of(binaries, model)
    all_of = {way: [] for way in ways}
    for i in range(rounds):
        for way in list(ways)[:: 1 if i % 2 == 0 else -1]:
            if i == 0 or way != ONCE:
                all_of[way].append(ways[way]())
    medians = {way: [statistics.median(column) for column in zip(*rows, strict=True)] for way, rows in all_of.items()}
    said = ", ".join(f"{way} {s:.3f} s ({c:.3f} CPU s, {m:.0f} MiB)" for way, (s, c, m) in medians.items())
    print(f"bench: {name}: {said}", flush=True)
    return medians


def table(rows, cell):
    """A row for each network; `cell` writes an entry, and a network that an engine cannot read has none."""
    ways = list(dict.fromkeys(way for row in rows.values() for way in row))
    lines = [f"| {' | '.join(['model', *ways])} |", f"| --- |{' ---: |' * len(ways)}"]
    for name, row in rows.items():
        lines.append(f"| {' | '.join([name, *(cell(row[way]) if way in row else '' for way in ways)])} |")
    return "\n".join(lines)


def seconds_of(entry):
    return f"{entry[0]:.3f} ({entry[1]:.3f})"


def mib_of(entry):
    return f"{entry[2]:.0f}"


def goals(rows):
    """A sentence about the goals that are reached."""
    ratios = {name: row["relay"][0] / row["ONNX Runtime"][0] for name, row in rows.items()}
    work = [row["relay"][1] / row["ONNX Runtime"][1] for row in rows.values()]
    size = {name: (ROOT / "models" / f"{name}.onnx").stat().st_size / 1e6 for name in rows}
    slow = [f"{name} ({ratio:.1f})" for name, ratio in ratios.items() if ratio > LARGEST_RATIO]
    late = [
        f"{name} ({row['relay'][0]:.3f} s)"
        for name, row in rows.items()
        if size[name] < SMALL_MB and row["relay"][0] > SMALL_SECONDS
    ]
    mean, of_work = (math.exp(statistics.mean(map(math.log, each))) for each in (ratios.values(), work))
    return (
        f"Relay takes {mean:.1f} times as long as ONNX Runtime, and {of_work:.1f} times the CPU seconds, in the "
        f"geometric mean. More than {LARGEST_RATIO} times as long: {', '.join(slow) or 'none'}. "
        f"Models below {SMALL_MB} MB that take more than "
        f"{SMALL_SECONDS * 1e3:.0f} ms: {', '.join(late) or 'none'}."
    )


def page(rows, cpu):
    """The page of rows as they are kept: each has `ways`, `rounds`, `load` and `date`."""
    load = max(row["load"] for row in rows.values())
    busy = ""
    if load > THREADS:
        busy = (
            f"\nThe machine was busy with other work (load {load:.0f}): a process got a part of a core. Compare the "
            "CPU seconds, which such work lengthens too, though less.\n"
        )
    ways = {name: row["ways"] for name, row in rows.items()}
    rounds = " or ".join(map(str, sorted({row["rounds"] for row in rows.values()})))
    days = {name: row["date"] for name, row in rows.items()}
    by_day = "" if len(set(days.values())) == 1 else f"\nMeasured on: {in_days(days)}.\n"
    return f"""<!-- Written by bench/first_results.py. Do not edit. -->
# First results: {cpu}

Measured {kept.dates(rows.values())} on {len(os.sched_getaffinity(0))} cores of {cpu}, with {THREADS} threads, by
`make bench-first`.

Seconds until the first result of a model that was never compiled, with CPU seconds of all threads in brackets: medians
of {rounds} rounds, in which the engines take turns ({ONCE}: once). Relay's are those of a whole process `relay run`,
with an empty cache, and include writing the model with its packed weights to the cache, which takes as long as anything
else for large models. The third run loads full code from the cache. The others' begin after Python has imported them.
[First results](../first-results.md) explains the tiers.
{busy}{by_day}
{table(ways, seconds_of)}

{goals(ways)}

Peak resident memory of these processes in MiB, Python and the libraries included:

{table(ways, mib_of)}
"""


def in_days(days):
    """ "2026-11-30: mlp, dqn; 2026-12-01: resnet18"."""
    names = {day: [name for name, its in days.items() if its == day] for day in sorted(set(days.values()))}
    return "; ".join(f"{day}: {', '.join(of)}" for day, of in names.items())


def cpu_and_slug():
    """The name of the processor, and the part of file names for it; asked in a process that may import more."""
    said = subprocess.run([sys.executable, "-c", "import run; print(run.cpu_name())"], cwd=ROOT / "bench",
                          capture_output=True, text=True, check=True)  # fmt: skip
    cpu = said.stdout.strip()
    return cpu, re.sub(r"[^a-z0-9]+", "-", re.sub(r"\((r|tm)\)", "", cpu.lower())).strip("-")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--binaries", nargs="+", type=pathlib.Path, default=[RELAY])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--go-on", action="store_true", help="leave out what is kept from an earlier run")
    parser.add_argument("--page", action="store_true", help="write the page from all that is kept, also for few models")
    parser.add_argument("--kept", type=pathlib.Path, help="the file of the rows (default: build/benchmarks/)")
    parser.add_argument("--output", type=pathlib.Path, help="the page (default: docs/benchmarks/first-CPU.md)")
    args = parser.parse_args()
    names = args.models or every_network()
    if len(args.binaries) > 1:
        print(table({name: measure(args.binaries, name, args.rounds) for name in names}, seconds_of))
        return
    load = os.getloadavg()[0]
    cpu, slug = cpu_and_slug()
    rows = kept.Rows(args.kept or ROOT / "build" / "benchmarks" / f"first-{slug}.json")
    path = args.output or ROOT / "docs" / "benchmarks" / f"first-{slug}.md"
    for name in rows.left("networks", names, args.go_on):
        ways = measure(args.binaries, name, args.rounds)
        rows.put("networks", name, {"ways": ways, "rounds": args.rounds, "load": load})
    done = rows.of("networks")
    print(table({name: done[name]["ways"] for name in names}, seconds_of))
    if not args.models or args.page:
        path.write_text(page(done, cpu))
        print(f"bench: wrote {path}")


if __name__ == "__main__":
    main()
