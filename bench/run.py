#!/usr/bin/env python3
"""Compares models compiled by Relay with other engines on this machine.

    make bench           all models and all peers; writes docs/benchmarks/CPU.md with a plot
    make bench-quick     six models, two peers, about three minutes; writes the same into build/benchmarks/
    make bench-kernels   single operators, compared with the limits of one core, oneDNN and OpenBLAS

    .venv/bin/python bench/run.py --models resnet18 fr_age --threads 1 --time 5
    .venv/bin/python bench/run.py --random 20     random networks, compared with ONNX Runtime and OpenVINO
    .venv/bin/python bench/run.py --zoo 12 --seed 7       networks drawn from the zoo
    .venv/bin/python bench/run.py --go-on         resumes an interrupted `make bench`

Each measurement is `relay bench MODEL --vs PEERS`: the engines take turns in short bursts on the same input, each in its
own process while the others are stopped, so that other work on the machine affects all of them equally.
"""

import argparse
import functools
import importlib.metadata
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

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "dev"), str(ROOT / "bench")]
import fetch_models  # noqa: E402
import neighbour  # noqa: E402
import networks  # noqa: E402
import random_kernels  # noqa: E402
import zoo  # noqa: E402
from goals import goals_section  # noqa: E402

RELAY = ROOT / ".venv" / "bin" / "relay"
KERNELS = ROOT / "build" / "release" / "bin" / "relay_operators"
REQUIREMENTS = ROOT / "bench" / "requirements.txt"
QUICK = ["mlp", "dqn", "mobilenet_v2", "resnet18", "minilm_l6", "fr_eye"]
PEERS = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "torch": "PyTorch", "torch-compile": "torch.compile"}
ONNX_PEERS = ["onnxruntime", "openvino"]  # these read ONNX files; the others need a PyTorch program


@functools.cache
def target_name():
    """The compiler's name for the processor."""
    said = subprocess.run([RELAY, "doctor", "--quick"], capture_output=True, text=True, check=True).stdout
    return re.search(r"native = (\S+)", said).group(1)


def cpu_name():
    """The name that the processor reports with the compiler's name for it, as in "AMD EPYC (zen4)"."""
    match = re.search(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return f"{match.group(1).strip() if match else os.uname().machine} ({target_name()})"


def slug(text):
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"\((r|tm)\)", "", text.lower())).strip("-")


def install_peers():
    for line in REQUIREMENTS.read_text().splitlines():
        if line.startswith("#"):
            continue
        name, version = line.split("==")
        try:
            there = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            there = None
        if there != version:
            print(f"bench: installing {line}", flush=True)
            subprocess.run([sys.executable, "-m", "pip", "install", "-qq", "--no-deps", line], check=True)


class BenchError(Exception):
    pass


CRASH = re.compile(r"error\[R0504\]: (\S+) cannot be measured: it crashed")


def measure(name, what, peers, threads, seconds):
    """The output of `relay bench WHAT`: an entry for each thread count. A peer that crashes is left out and named."""
    command = [RELAY, "bench", *what, "--vs", ",".join(peers), "--json"]
    command += ["--threads", ",".join(map(str, threads)), "--time", str(seconds)]
    for given in networks.relay_inputs(name):
        command += ["--input", given]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        crash = CRASH.search(result.stderr)
        if not crash or len(peers) == 1:
            raise BenchError(f"{' '.join(map(str, command))} failed:\n{result.stderr}")
        rest = measure(name, what, [peer for peer in peers if peer != crash[1]], threads, seconds)
        return [entry | {"crashed": [crash[1], *entry.get("crashed", [])]} for entry in rest]
    return [entry | {"model": name} for entry in json.loads(result.stdout)]


def load_ms(path):
    """Milliseconds that relay.compile() takes if the model is in the cache, in a process that has compiled before."""
    code = (
        "import sys, time, relay\n"
        "relay.compile(sys.argv[1], cache=True)\n"
        "begin = time.perf_counter()\n"
        "assert relay.compile(sys.argv[1], cache=True).cached\n"
        "print((time.perf_counter() - begin) * 1e3)"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"RELAY_CACHE": folder}
        result = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, env=environment)
    if result.returncode != 0:
        raise BenchError(f"{path.name} from the cache failed:\n{result.stderr}")
    return float(result.stdout)


class Kept:
    """A file with the parts measured so far. An interrupted run can resume if its arguments are the same."""

    def __init__(self, file, asked, go_on):
        self.file = file
        self.parts = json.loads(file.read_text()) if go_on and file.exists() else {"asked": asked}
        if self.parts["asked"] != asked:
            sys.exit(
                f"bench: the last run was `{self.parts['asked']}`, not `{asked}`: resume that one, or leave --go-on out"
            )

    def part(self, name, measure):
        if name not in self.parts:
            self.set(name, measure())
        return self.parts[name]

    def set(self, name, value):
        self.parts[name] = value
        self.file.write_text(json.dumps(self.parts, indent=1))


def measure_all(names, peers, threads, seconds, kept):
    """(rows, failed): a row for each model and thread count, saved as soon as it is measured; the models that failed."""
    rows, failed = kept.parts.get("models", []), []
    names = [name for name in names if not any(row["model"] == name for row in rows)]
    begin = time.monotonic()
    for done, name in enumerate(names):
        own = name in networks.NETWORKS
        (path,) = networks.export([name]) if own else fetch_models.fetch([name])
        wanted = peers if own else [p for p in peers if p in ONNX_PEERS]
        # Runs of large networks are slow, and a dozen rounds are needed.
        time_each = seconds * (2 if own and name in networks.SLOW else 1)
        try:
            found = measure(name, [path], wanted, threads, time_each)
            cached = load_ms(path)
        except BenchError as error:
            print(f"bench: {error}", file=sys.stderr, flush=True)
            failed.append(name)
            continue
        rows += [row | {"load_ms": cached} for row in found]
        kept.set("models", rows)
        left = (time.monotonic() - begin) / (done + 1) * (len(names) - done - 1)
        said = ", ".join(f"{best(r)['ratio']:.2f} with {r['threads']}" for r in found)
        quiet = "" if all(r["quiet"] for r in found) else "; the machine was busy"
        print(f"bench: {name}: best peer / relay {said} thread(s){quiet}; {left:.0f} s left", flush=True)
    return rows, failed


@functools.cache
def profile(name):
    """The output of `relay profile` for a model with one thread."""
    (path,) = networks.export([name]) if name in networks.NETWORKS else fetch_models.fetch([name])
    command = [RELAY, "profile", path, "--threads", "1", "--json"]
    for given in networks.relay_inputs(name):
        command += ["--input", given]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise BenchError(f"{' '.join(map(str, command))} failed:\n{result.stderr}")
    return json.loads(result.stdout)


def measure_kernels():
    """Measures all operators; on machines with AVX-512, convolutions and contractions also with AVX2 only."""
    failed = subprocess.run([KERNELS]).returncode
    if re.search(r"^flags\b.*\bavx512f\b", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE):
        print(flush=True)
        command = [KERNELS, "--target", "haswell", "--filter", "^[a-z ]*(convolution|contraction):"]
        failed |= subprocess.run(command).returncode
    return failed


def measure_random(count, peers):
    """(rows, failed) of the random networks of seeds 1 to count, with one thread."""
    rows, failed = [], []
    for seed in range(1, count + 1):
        name = f"random {seed}"
        try:
            rows += measure(name, ["--random-net", str(seed)], [p for p in peers if p in ONNX_PEERS], [1], 2)
        except BenchError as error:
            print(f"bench: {error}", file=sys.stderr, flush=True)
            failed.append(name)
            continue
        print(f"bench: {name}: best peer / relay {best(rows[-1])['ratio']:.2f}", flush=True)
    return rows, failed


def measure_zoo(count, seed, peers, threads):
    """(rows, failed) of networks drawn from the zoo."""
    rows, failed = [], []
    for name, path in zoo.drawn(count, seed):
        try:
            rows += measure(name, [path], [p for p in peers if p in ONNX_PEERS], threads, 3)
        except BenchError as error:
            print(f"bench: {error}", file=sys.stderr, flush=True)
            failed.append(name)
            continue
        said = ", ".join(f"{best(row)['ratio']:.2f} with {row['threads']}" for row in rows[-len(threads) :])
        print(f"bench: {name}: best peer / relay {said} thread(s)", flush=True)
    return rows, failed


def measure_beside(names):
    """Rows with the speed-up of a second thread, with and without a neighbour on one core."""
    rows = []
    for name in names:
        (path,) = networks.export([name]) if name in networks.NETWORKS else fetch_models.fetch([name])
        rows.append(neighbour.measure(name, path, 6))
        print(
            f"bench: {name}: speed-up of two threads {rows[-1]['neighbour']:.2f} with a neighbour on one core",
            flush=True,
        )
    return rows


def best(row):
    """The fastest peer."""
    return min(row["peers"], key=lambda p: p["ratio"])


def mean(rows, threads):
    """The geometric mean of the ratios to the best peer."""
    return math.exp(statistics.fmean(math.log(best(r)["ratio"]) for r in rows if r["threads"] == threads))


def number(value, form):
    return "-" if value is None else format(value, form)


def engines_of(rows):
    return [e for e in PEERS if any(p["engine"] == e for r in rows for p in r["peers"])]


def cells(row, engines, text):
    """A cell for relay and for each engine: "crashed", or "-" if the engine was not measured."""
    found = {p["engine"]: text(p) for p in row["peers"]} | dict.fromkeys(row.get("crashed", []), "crashed")
    return [text(row["relay"])] + [found.get(e, "-") for e in engines]


def rounds(row):
    """The number of rounds that count, of all rounds; "busy" if the machine was never quiet."""
    every = row["rounds"] + row["rounds_left_out"]
    return f"{row['rounds']} of {every}" if row["quiet"] else f"{every}, busy"


def times_table(rows):
    engines = engines_of(rows)
    head = ["model", "threads", "relay", *(PEERS[e] for e in engines), "best peer / relay", "95 % confidence interval"]
    head += ["relay's 99th / median", "machine's", "rounds"]
    lines = [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}"]
    for r in rows:
        peer = best(r)
        interval = "{:.2f} to {:.2f}".format(*peer["ratio_interval"]) if peer["ratio_interval"] else "too few rounds"

        def text(x):
            return f"{x['median_us'] / 1e3:.3f} ({x['p99_us'] / 1e3:.3f})"

        row = [r["model"], str(r["threads"]), *cells(r, engines, text), f"**{peer['ratio']:.2f}**", interval]
        row += [
            f"{r['relay']['p99_us'] / r['relay']['median_us']:.2f}",
            f"{r['machine_p99_over_median']:.2f}",
            rounds(r),
        ]
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def costs_table(rows):
    """Error, time to the first result and memory, with the largest thread count."""
    engines = engines_of(rows)
    head = ["model", "relay", *(PEERS[e] for e in engines), "relay from its cache"]
    lines = [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}"]
    most = max(r["threads"] for r in rows)
    for r in rows:
        if r["threads"] == most:
            form = lambda x: (  # noqa: E731
                f"{number(x['rms_error'], '.1e')}, {x['ready_ms'] / 1e3:.2f} s, {x['peak_bytes'] / 2**20:.0f} MiB"
            )
            loaded = format(r["load_ms"], ".1f")
            lines.append(f"| {' | '.join([r['model'], *cells(r, engines, form), loaded + ' ms'])} |")
    return "\n".join(lines)


def machine_load():
    """The number of cores that are busy with other work, measured for a second."""

    def busy_ticks():
        user, nice, system, _, _, interrupt, soft = map(int, pathlib.Path("/proc/stat").read_text().split()[1:8])
        return user + nice + system + interrupt + soft

    before = busy_ticks()
    time.sleep(1)
    return (busy_ticks() - before) / os.sysconf("SC_CLK_TCK")


def busy(load):
    """A warning if the machine was busy when the measurement began, else ""."""
    if load < 0.2:
        return ""
    return (
        f"The machine was busy with other work ({load:.1f} cores at the start). This affects all engines, but with more "
        "than one thread the ratios mostly show how well each engine copes with a busy machine.\n"
    )


def large_kernels(count):
    """The large kernels of `count` random networks that are far below their ceiling, as text."""
    found, large = random_kernels.far_below(random_kernels.measure(random_kernels.random_networks(1, count)))
    lines = [
        f"These networks have {large} large kernels, which take at least {random_kernels.LEAST_US} us and {random_kernels.LEAST_PART:.0%} of "
        f"the run (`bench/random_kernels.py`). Below {random_kernels.BELOW:.0%} of the ceiling in both of two profiles: {len(found)}."
    ]
    for seed, k in found:
        lines.append(f"- network {seed}: `{k['name']}`, {k['us']:.0f} us, {k['share']:.0%} ({k['rule']})")
    return "\n".join(lines)


def random_section(drawn, kernels):
    if not drawn:
        return ""
    return f"""
## Random networks

`relay bench --random-net SEED` draws channels, sizes, strides and groups, with a symbolic batch. The geometric mean of the best
peer's time over ours is {mean(drawn, 1):.2f} for {len(drawn)} networks with one thread.

{times_table(drawn)}

{kernels}
"""


def page(rows, random_text, zoo_text, beside, threads, plot_name, how, load):
    summary = "; ".join(f"{mean(rows, t):.2f} with {t} thread{'s' * (t > 1)}" for t in threads)
    versions = dict.fromkeys(p["version"] for r in rows for p in r["peers"])
    return f"""<!-- Written by bench/run.py. Do not edit. -->
# Benchmarks: {cpu_name()}

Measured {time.strftime("%Y-%m-%d")} on {len(os.sched_getaffinity(0))} cores of {cpu_name()}.
The geometric mean of the best peer's time over ours, for all models: {summary}. Above 1, Relay is faster.
{busy(load)}
![Ratios]({plot_name})

To repeat: `{how}`. Peers: {", ".join(versions)}. All engines compute in float32 (OpenVINO by INFERENCE_PRECISION_HINT).
torch.compile uses freezing. The PyTorch peers run the program of torch.export. The models are those of `bench/networks.py`
(random weights, batch 1) and of `dev/fetch_models.py` (trained, ONNX only).

## Time of a run

Medians in ms, with the 99th percentile in brackets. The engines take turns in bursts of at most 0.2 s (or one run) on the same
input, each in its own process while the others are stopped. The ratio is the median over all rounds of the ratio of the two bursts'
medians. Its interval is computed from order statistics, which assumes nothing about the distribution.

The speed of the machine is measured between bursts. Rounds in which its multiply-adds are more than 15 % slower than at best,
because other programs run, are left out. If hardly any other rounds remain, all of them count, and the row is marked busy.
"Machine's" is the 99th percentile over the median of a plain loop that lasts as long as a run of ours. The loop reads as many bytes
as the weights have (or as many as half of the time allows) and does multiply-adds for the rest. No engine can be steadier.

{times_table(rows)}

{goals_section(rows, best, profile, target_name())}
## Error, time to the first result, memory

All figures are for {max(threads)} thread{"s" * (max(threads) > 1)}.

- The error is the root mean square error over all elements of the worst output, relative to its largest value, compared with
  the model in double precision. "-" marks models that do not come from PyTorch and are too large for the reference evaluator.
- The time includes reading, compiling and the first run, but not importing the engine's libraries. The model's file is in the
  page cache, and memory was touched before, because a virtual machine is slow to hand it out again.
- The memory is the peak resident memory of the engine's process until then, libraries and compiler included.
- The last column is the time to find and load a compiled model in the cache.

{costs_table(rows)}
{random_text}{zoo_text}{neighbour.section(beside)}"""


def plot(rows, threads, path):
    """Bars of the ratio to the best peer with its interval, a mark for every peer: PATH.svg, and a PNG in build/benchmarks/."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "relay"
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(r["model"] for r in rows))
    engines = engines_of(rows)
    figure, axes = plt.subplots(figsize=(8, 1.4 + 0.42 * len(names)), layout="constrained")
    height = 0.8 / len(threads)
    marks = dict(zip(PEERS, "osD^", strict=True))
    limit = 1.7 * max(best(r)["ratio"] for r in rows)
    for k, count in enumerate(threads):
        for i, name in enumerate(names):
            (row,) = (r for r in rows if (r["model"], r["threads"]) == (name, count))
            y, ratio = i + (k - (len(threads) - 1) / 2) * height, best(row)["ratio"]
            low, high = best(row)["ratio_interval"] or (ratio, ratio)
            label = f"{count} thread{'s' * (count > 1)}" if i == 0 else None
            axes.barh(y, ratio, height * 0.9, color=f"C{k}", alpha=0.6, label=label, zorder=1)
            axes.errorbar(
                ratio, y, xerr=[[max(0, ratio - low)], [max(0, high - ratio)]], color="black", lw=0.8, zorder=3
            )
            axes.text(0.03, y, f"{ratio:.2f}", va="center", fontsize=6.5, zorder=4)
            for p in row["peers"]:
                inside = p["ratio"] < limit
                x = p["ratio"] if inside else limit * 0.995
                mark = marks[p["engine"]] if inside else ">"
                axes.plot(x, y, mark, color=f"C{2 + engines.index(p['engine'])}", ms=3, zorder=2, clip_on=False)
    for engine in engines:
        axes.plot([], [], marks[engine], color=f"C{2 + engines.index(engine)}", ms=4, label=PEERS[engine])
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlim(0, limit)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_xlabel("time of a peer / time of relay; bar: the best peer; '>': beyond the right edge", fontsize=8)
    axes.set_title(cpu_name(), fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=6, fontsize=8, frameon=False)
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    figure.savefig(ROOT / "build" / "benchmarks" / f"{path.stem}.png", dpi=150)


def main():
    parser = argparse.ArgumentParser(description="Compares models with other engines.")
    parser.add_argument("--quick", action="store_true", help="six models, two peers, into build/benchmarks/")
    parser.add_argument("--kernels", action="store_true", help="single operators instead of models")
    parser.add_argument("--models", nargs="+", metavar="NAME", help="which models")
    parser.add_argument(
        "--random", type=int, metavar="N", help="add N random networks (default 20; 0 if models are named)"
    )
    parser.add_argument(
        "--zoo", type=int, metavar="N", help="add N networks drawn from the zoo (default 12; 0 if models are named)"
    )
    parser.add_argument(
        "--seed", type=int, help="the seed that draws networks of the zoo (default: today's date, such as 20261231)"
    )
    parser.add_argument("--vs", metavar="PEERS", help=f"default {','.join(PEERS)}")
    parser.add_argument("--threads", default="1,2", help="thread counts (default 1,2)")
    parser.add_argument("--time", type=float, metavar="S", help="seconds for each model and thread count")
    parser.add_argument("--go-on", action="store_true", help="resume the last run, if it had the same arguments")
    arguments = parser.parse_args()
    if arguments.kernels:
        return measure_kernels()
    cores = len(os.sched_getaffinity(0))
    asked = [int(t) for t in arguments.threads.split(",")]
    threads = [t for t in asked if t <= cores] or [1]
    if threads != asked:
        print(f"bench: there are {cores} cores: measuring {threads} threads", flush=True)

    # Only a complete measurement is written to the documentation.
    everything = [*networks.NETWORKS, *fetch_models.names(measured=True)]
    asked_for_others = arguments.random is not None or arguments.zoo is not None
    whole = not (arguments.quick or arguments.models or arguments.vs or asked_for_others)
    names = arguments.models or (QUICK if arguments.quick else everything)
    drawn_count = 20 if whole else arguments.random or 0
    zoo_count, seed = 12 if whole else arguments.zoo or 0, arguments.seed or int(time.strftime("%Y%m%d"))
    if asked_for_others and not arguments.models and not arguments.quick and not arguments.vs:
        names = []
    if unknown := sorted(set(names) - set(everything)):
        sys.exit(f"bench: there is no model {', '.join(unknown)}; there are {', '.join(everything)}")
    peers = arguments.vs.split(",") if arguments.vs else ONNX_PEERS if arguments.quick else list(PEERS)
    seconds = arguments.time or (6 if arguments.quick else 9)
    load = machine_load()
    if busy(load):
        print(f"bench: {busy(load).strip()}", flush=True)
    install_peers()
    build = ROOT / "build" / "benchmarks"
    folder = ROOT / "docs" / "benchmarks" if whole else build
    for made in (folder, build):
        made.mkdir(parents=True, exist_ok=True)
    path = folder / f"{slug(cpu_name())}.md"
    said = " ".join(word for word in sys.argv[1:] if word != "--go-on")
    how = {"": "make bench", "--quick": "make bench-quick"}.get(said, f"bench/run.py {said}")
    kept = Kept(build / f"{path.stem}.json", how, arguments.go_on)
    load, seed = kept.part("begin", lambda: (load, seed))
    try:
        rows, failed = measure_all(names, peers, threads, seconds, kept)
    except fetch_models.FetchError as error:
        sys.exit(f"bench: {error}")
    drawn, failed_too = kept.part("random", lambda: measure_random(drawn_count, peers))
    failed += failed_too
    if drawn:
        print(times_table(drawn))
        print(f"bench: geometric mean of {len(drawn)} random networks: {mean(drawn, 1):.2f}")
    of_zoo, failed_too = kept.part("zoo", lambda: measure_zoo(zoo_count, seed, peers, threads))
    failed += failed_too
    zoo_text = zoo.section(
        of_zoo, seed, {t: mean(of_zoo, t) for t in threads if of_zoo}, times_table(of_zoo) if of_zoo else ""
    )
    if not rows:
        print(zoo_text)
        return 1 if failed or not (drawn or of_zoo) else 0
    plot(rows, threads, path)
    quick = [n for n in names if n in QUICK] if 2 in threads else []
    beside = kept.part("beside", lambda: measure_beside(quick))
    random_text = random_section(drawn, kept.part("kernels", lambda: large_kernels(len(drawn))))
    path.write_text(page(rows, random_text, zoo_text, beside, threads, path.with_suffix(".svg").name, how, load))
    print(times_table(rows))
    print(f"bench: written to {path.relative_to(ROOT)}, with a plot")
    if failed:
        print(f"bench: not measured, and missing from the page: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
