#!/usr/bin/env python3
"""Models compiled by Relay beside other engines, on this machine.

    make bench           bench/networks.py and dev/fetch_models.py, all peers; writes docs/benchmarks/CPU.md with a plot
    make bench-quick     six models, two peers, about three minutes; writes the same into build/benchmarks/
    make bench-kernels   single operators beside what one core can do at most, and beside oneDNN and OpenBLAS

    .venv/bin/python bench/run.py --models resnet18 fr_age --threads 1 --time 5
    .venv/bin/python bench/run.py --random 20     networks drawn at random, beside ONNX Runtime and OpenVINO
    .venv/bin/python bench/run.py --zoo 12 --seed 7       networks of the zoo, drawn by a seed
    .venv/bin/python bench/run.py --go-on         goes on with `make bench` where it broke off

Each measurement is `relay bench MODEL --vs PEERS`: the engines take turns in short bursts on the same input, in a
process each, the others stopped, so that whatever else the machine does meets all of them.
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
ONNX_PEERS = ["onnxruntime", "openvino"]  # those that read ONNX files; the others want a program of PyTorch


@functools.cache
def target_name():
    """What the compiler takes the processor for."""
    said = subprocess.run([RELAY, "doctor", "--quick"], capture_output=True, text=True, check=True).stdout
    return re.search(r"native = (\S+)", said).group(1)


def cpu_name():
    """ "AMD EPYC (zen4)": what the processor says, and what the compiler takes it for."""
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


def measure(name, what, peers, threads, seconds):
    """What `relay bench WHAT` says: an entry for each thread count."""
    command = [RELAY, "bench", *what, "--vs", ",".join(peers), "--json"]
    command += ["--threads", ",".join(map(str, threads)), "--time", str(seconds)]
    for given in networks.relay_inputs(name):
        command += ["--input", given]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise BenchError(f"{' '.join(map(str, command))} failed:\n{result.stderr}")
    return [entry | {"model": name} for entry in json.loads(result.stdout)]


def load_ms(path):
    """The time of relay.compile() of a model that the cache has, in a process that has compiled before."""
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
    """What was measured, part by part, in a file: a run that broke off can go on, if the same is asked of it."""

    def __init__(self, file, asked, go_on):
        self.file = file
        self.parts = json.loads(file.read_text()) if go_on and file.exists() else {"asked": asked}
        if self.parts["asked"] != asked:
            sys.exit(f"bench: the last run was `{self.parts['asked']}`, not `{asked}`: go on with that, or begin anew")

    def part(self, name, measure):
        if name not in self.parts:
            self.set(name, measure())
        return self.parts[name]

    def set(self, name, value):
        self.parts[name] = value
        self.file.write_text(json.dumps(self.parts, indent=1))


def measure_all(names, peers, threads, seconds, kept):
    """A row for each model and thread count, kept as they come; and the models that failed."""
    rows, failed = kept.parts.get("models", []), []
    names = [name for name in names if not any(row["model"] == name for row in rows)]
    begin = time.monotonic()
    for done, name in enumerate(names):
        own = name in networks.NETWORKS
        (path,) = networks.export([name]) if own else fetch_models.fetch([name])
        wanted = peers if own else [p for p in peers if p in ONNX_PEERS]
        # A run of a large network takes long, and there should be a dozen rounds.
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
        print(f"bench: {name}: to the best peer {said} thread(s){quiet}; {left:.0f} s left", flush=True)
    return rows, failed


@functools.cache
def profile(name):
    """What `relay profile` says of a model at one thread."""
    (path,) = networks.export([name]) if name in networks.NETWORKS else fetch_models.fetch([name])
    command = [RELAY, "profile", path, "--threads", "1", "--json"]
    for given in networks.relay_inputs(name):
        command += ["--input", given]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise BenchError(f"{' '.join(map(str, command))} failed:\n{result.stderr}")
    return json.loads(result.stdout)


def measure_kernels():
    """All operators with what this machine has; where that is AVX-512, those that compute most with AVX2 too."""
    failed = subprocess.run([KERNELS]).returncode
    if re.search(r"^flags\b.*\bavx512f\b", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE):
        print(flush=True)
        command = [KERNELS, "--target", "haswell", "--filter", "^[a-z ]*(convolution|contraction):"]
        failed |= subprocess.run(command).returncode
    return failed


def measure_random(count, peers):
    """Rows of networks drawn with the seeds 1 to count, at one thread; and those that failed."""
    rows, failed = [], []
    for seed in range(1, count + 1):
        name = f"random {seed}"
        try:
            rows += measure(name, ["--random-net", str(seed)], [p for p in peers if p in ONNX_PEERS], [1], 2)
        except BenchError as error:
            print(f"bench: {error}", file=sys.stderr, flush=True)
            failed.append(name)
            continue
        print(f"bench: {name}: to the best peer {best(rows[-1])['ratio']:.2f}", flush=True)
    return rows, failed


def measure_zoo(count, seed, peers, threads):
    """Rows of networks of the zoo; and those that failed."""
    rows, failed = [], []
    for name, path in zoo.drawn(count, seed):
        try:
            rows += measure(name, [path], [p for p in peers if p in ONNX_PEERS], threads, 3)
        except BenchError as error:
            print(f"bench: {error}", file=sys.stderr, flush=True)
            failed.append(name)
            continue
        said = ", ".join(f"{best(row)['ratio']:.2f} with {row['threads']}" for row in rows[-len(threads) :])
        print(f"bench: {name}: to the best peer {said} thread(s)", flush=True)
    return rows, failed


def measure_beside(names):
    """What a second thread gives with a neighbour on one core."""
    rows = []
    for name in names:
        (path,) = networks.export([name]) if name in networks.NETWORKS else fetch_models.fetch([name])
        rows.append(neighbour.measure(name, path, 6))
        print(f"bench: {name}: two threads give {rows[-1]['neighbour']:.2f} with a neighbour on one core", flush=True)
    return rows


def best(row):
    """The fastest of the peers."""
    return min(row["peers"], key=lambda p: p["ratio"])


def mean(rows, threads):
    """The geometric mean of the ratios to the best peer."""
    return math.exp(statistics.fmean(math.log(best(r)["ratio"]) for r in rows if r["threads"] == threads))


def number(value, form):
    return "-" if value is None else format(value, form)


def engines_of(rows):
    return [e for e in PEERS if any(p["engine"] == e for r in rows for p in r["peers"])]


def cells(row, engines, text):
    """A cell for relay and each engine; "-" for one that was not measured."""
    found = {p["engine"]: p for p in row["peers"]}
    return [text(row["relay"])] + [text(found[e]) if e in found else "-" for e in engines]


def rounds(row):
    """How many were counted, of how many; "busy" if the machine was never quiet."""
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
    """Error, time to the first result, memory; of the largest thread count."""
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
    """How many cores are busy with other work, over a second."""

    def busy_ticks():
        user, nice, system, _, _, interrupt, soft = map(int, pathlib.Path("/proc/stat").read_text().split()[1:8])
        return user + nice + system + interrupt + soft

    before = busy_ticks()
    time.sleep(1)
    return (busy_ticks() - before) / os.sysconf("SC_CLK_TCK")


def busy(load):
    """What is to be said of a machine that did other work when the measurement began; "" of a free one."""
    if load < 0.2:
        return ""
    return (
        f"The machine was busy with other work ({load:.1f} cores at the start). All engines met it in turn, but with "
        "more than one thread the ratios mostly tell how each bears a busy machine.\n"
    )


def large_kernels(count):
    """Whether so many networks drawn at random have large kernels far below their ceiling, and which."""
    found, large = random_kernels.far_below(random_kernels.measure(random_kernels.random_networks(1, count)))
    lines = [
        f"Of their {large} large kernels ({random_kernels.LEAST_US} us or more, and {random_kernels.LEAST_PART:.0%} of their run; "
        f"`bench/random_kernels.py`) {len(found) or 'none'} stayed below {random_kernels.BELOW:.0%} of the ceiling, in the better of "
        "two profiles."
    ]
    for seed, k in found:
        lines.append(f"- network {seed}: `{k['name']}`, {k['us']:.0f} us, {k['share']:.0%} ({k['rule']})")
    return "\n".join(lines)


def random_section(drawn, kernels):
    if not drawn:
        return ""
    return f"""
## Networks drawn at random

`relay bench --random-net SEED`: odd numbers of channels, sizes, strides, groups, a symbolic batch. Best peer's time over ours,
geometric mean of {len(drawn)}: {mean(drawn, 1):.2f} with one thread.

{times_table(drawn)}

{kernels}
"""


def page(rows, random_text, zoo_text, beside, threads, plot_name, how, load):
    summary = "; ".join(f"{mean(rows, t):.2f} with {t} thread{'s' * (t > 1)}" for t in threads)
    versions = dict.fromkeys(p["version"] for r in rows for p in r["peers"])
    return f"""<!-- Written by bench/run.py. Do not edit. -->
# Benchmarks: {cpu_name()}

Measured {time.strftime("%Y-%m-%d")} on {len(os.sched_getaffinity(0))} cores of {cpu_name()}.
Best peer's time over ours, geometric mean over all models: {summary}. Above 1, Relay is faster.
{busy(load)}
![Ratios]({plot_name})

To repeat: `{how}`. Peers: {", ".join(versions)}. Everybody computes in float32, OpenVINO by INFERENCE_PRECISION_HINT;
torch.compile with freezing; the PyTorch peers run what torch.export gives. Models: `bench/networks.py` (random weights, batch
1) and `dev/fetch_models.py` (trained, ONNX only).

## Time of a run

Median and, in brackets, 99th percentile, in ms. The engines take turns in bursts of at most 0.2 s (or one run) on the same
input, in a process each, the others stopped. The ratio is the median over all rounds of the ratio of the two bursts' medians;
its interval is that of a median, by order statistics, which assumes nothing about the distribution. The machine's own speed is
asked between all bursts: rounds in which its multiply-adds are more than 15 % slower than at best (others run on it too) count for
nobody; where there are hardly any other rounds all count, and are marked busy. The machine's 99th percentile over its median is
that of a plain loop as long as a run of ours, measured in turn with the engines, which reads as many bytes as the weights have (or
what can be read in half of the time) and does multiply-adds for the rest: no engine can be steadier.

{times_table(rows)}

{goals_section(rows, best, profile, target_name())}
## Error, time to the first result, memory

The root mean square error over all elements of the worst output, relative to its largest value, against the model in double
precision ("-": not measured, because it does not come from PyTorch and is too large for the reference evaluator). Reading,
compiling and the first run, the model's file in the page cache and memory touched before (a virtual machine is slow to hand
it out again), without importing the engine's libraries; in the last column, finding and loading what was compiled
before. The most resident memory of the engine's process until
then, libraries and compiler included. At the largest number of threads, {max(threads)}.

{costs_table(rows)}
{random_text}{zoo_text}{neighbour.section(beside)}"""


def plot(rows, threads, path):
    """Bars of the ratio to the best peer with its interval, a mark for every peer, as PATH.svg and PATH.png."""
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
    axes.set_xlabel("time of a peer / time of relay; bar: the best peer; '>': beyond the right end", fontsize=8)
    axes.set_title(cpu_name(), fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=6, fontsize=8, frameon=False)
    for ending, metadata in (("svg", {"Date": None}), ("png", None)):
        figure.savefig(path.with_suffix(f".{ending}"), dpi=150, metadata=metadata)


def main():
    parser = argparse.ArgumentParser(description="Measures models beside other engines.")
    parser.add_argument("--quick", action="store_true", help="six models, two peers, into build/benchmarks/")
    parser.add_argument("--kernels", action="store_true", help="single operators instead of models")
    parser.add_argument("--models", nargs="+", metavar="NAME", help="which models")
    parser.add_argument("--random", type=int, metavar="N", help="networks drawn at random besides (20; 0 with others)")
    parser.add_argument("--zoo", type=int, metavar="N", help="networks of the zoo besides (12; 0 with others)")
    parser.add_argument("--seed", type=int, help="which networks of the zoo (default: this day, as 20261231)")
    parser.add_argument("--vs", metavar="PEERS", help=f"default {','.join(PEERS)}")
    parser.add_argument("--threads", default="1,2", help="thread counts (default 1,2)")
    parser.add_argument("--time", type=float, metavar="S", help="seconds for each model and thread count")
    parser.add_argument("--go-on", action="store_true", help="where the last run with these arguments broke off")
    arguments = parser.parse_args()
    if arguments.kernels:
        return measure_kernels()
    cores = len(os.sched_getaffinity(0))
    asked = [int(t) for t in arguments.threads.split(",")]
    threads = [t for t in asked if t <= cores] or [1]
    if threads != asked:
        print(f"bench: there are {cores} cores: measuring {threads} threads", flush=True)

    # Only a measurement of everything goes to the documentation.
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
        print(f"bench: geometric mean of {len(drawn)} networks drawn at random: {mean(drawn, 1):.2f}")
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
    print(f"bench: written to {path.relative_to(ROOT)}, with a plot (.svg, .png)")
    if failed:
        print(f"bench: could not be measured, and is missing there: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
