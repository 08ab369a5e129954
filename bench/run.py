#!/usr/bin/env python3
"""Models compiled by Relay beside ONNX Runtime, on this machine.

    make bench           all models of dev/fetch_models.py, three rounds; writes docs/benchmarks/CPU.md with a plot
    make bench-quick     five models, one round, about three minutes; writes the same into build/benchmarks/
    make bench-kernels   single operators against what one core can do at most

    .venv/bin/python bench/run.py --models fr_eye fr_age --threads 1 --time 5

Each measurement is `relay bench MODEL --vs onnxruntime`: the two engines take turns in short bursts on the same input, in a
process each, the other one stopped, so that whatever else the machine does meets both. A round goes through all models; the
median of the rounds' medians counts.
"""

import argparse
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "dev"))
import fetch_models  # noqa: E402

RELAY = ROOT / ".venv" / "bin" / "relay"
KERNELS = ROOT / "build" / "release" / "bin" / "relay_operators"
QUICK = ["fr_eye", "fr_detect", "fr_feature", "hello_deepa", "mlsd_320x320_tiny"]


def cpu_name():
    match = re.search(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return match.group(1).strip() if match else os.uname().machine


def slug(text):
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"\((r|tm)\)", "", text.lower())).strip("-")


def measure(model, threads, seconds):
    """What `relay bench` says: an entry for each thread count. Exits where it fails."""
    command = [RELAY, "bench", model, "--vs", "onnxruntime", "--json"]
    command += ["--threads", ",".join(map(str, threads)), "--time", str(seconds)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))} failed:\n{result.stderr}")
    return json.loads(result.stdout)


def measure_all(names, threads, seconds, rounds):
    """A row for each model and thread count."""
    models = fetch_models.fetch(names)
    measured = {}
    begin, done = time.monotonic(), 0
    for number in range(rounds):
        for model in models:
            for entry in measure(model, threads, seconds):
                measured.setdefault((model.stem, entry["threads"]), []).append(entry)
            done += 1
            left = (time.monotonic() - begin) / done * (rounds * len(models) - done)
            ratios = ", ".join(f"{measured[model.stem, t][-1]['ratio']:.2f} with {t}" for t in threads)
            print(
                f"bench: round {number + 1} of {rounds}, {model.stem}: ratio {ratios} threads; {left:.0f} s left",
                flush=True,
            )
    return [row(model, count, entries) for (model, count), entries in measured.items()]


def difference(entry):
    """In parts of the largest value. JSON has no infinity: it writes null where shapes or NaNs differ."""
    if entry["largest_difference"] is None:
        return math.inf
    return entry["largest_difference"] / (entry["largest_value"] or 1)


def row(model, threads, entries):
    ours = statistics.median(e["relay"]["median_us"] for e in entries) / 1e3
    peers = statistics.median(e["peer_times"]["median_us"] for e in entries) / 1e3
    return {
        "model": model,
        "threads": threads,
        "ours": ours,
        "peers": peers,
        "ratio": peers / ours,
        "difference": max(difference(e) for e in entries),
        "peer": entries[0]["peer"],
    }


def means(rows, threads):
    """The geometric mean of the ratios for each thread count."""
    return {t: math.exp(statistics.fmean(math.log(r["ratio"]) for r in rows if r["threads"] == t)) for t in threads}


def table(rows):
    lines = [
        f"| model | threads | relay, ms | {rows[0]['peer']}, ms | ratio | largest difference |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for r in rows:
        lines.append(
            f"| {r['model']} | {r['threads']} | {r['ours']:.3f} | {r['peers']:.3f} | {r['ratio']:.2f} "
            f"| {r['difference']:.1e} |"
        )
    return "\n".join(lines)


def busy(load):
    """What is to be said of a machine that did other work when the measurement began; "" of a free one."""
    if load < 0.5:
        return ""
    return (
        f"The machine was busy with other work (load {load:.1f} at the start). Both engines met it in turn, but with "
        "more than one thread the ratios mostly tell how each bears a busy machine."
    )


def page(rows, threads, plot_name, how, load):
    summary = "; ".join(f"{mean:.2f} with {t} thread{'s' * (t > 1)}" for t, mean in means(rows, threads).items())
    return f"""<!-- Written by bench/run.py. Do not edit. -->
# Benchmarks: {cpu_name()}

Measured {time.strftime("%Y-%m-%d")} on {len(os.sched_getaffinity(0))} cores of {cpu_name()}, load {load:.1f} at the start.
The ratio is the peer's median time over ours: above 1, Relay is faster. Geometric mean: {summary}.
{busy(load)}

![Ratios]({plot_name})

{table(rows)}

The largest difference is that between the two engines' results, in parts of the largest value.

To repeat: `{how}`. The two engines take turns in short bursts on the same input, in a process each, the other one stopped.
"""


def plot(rows, threads, path):
    """Bars of the ratios, as PATH.svg and PATH.png."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "relay"
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(r["model"] for r in rows))
    figure, axes = plt.subplots(figsize=(7, 1.2 + 0.38 * len(names)), layout="constrained")
    height = 0.8 / len(threads)
    for k, count in enumerate(threads):
        ratios = [r["ratio"] for name in names for r in rows if (r["model"], r["threads"]) == (name, count)]
        places = [i + (k - (len(threads) - 1) / 2) * height for i in range(len(names))]
        bars = axes.barh(places, ratios, height * 0.92, label=f"{count} thread{'s' * (count > 1)}")
        axes.bar_label(bars, fmt="%.2f", padding=2, fontsize=7)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel(f"time of {rows[0]['peer']} / time of relay", fontsize=9)
    axes.set_title(cpu_name(), fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False)
    for ending, metadata in (("svg", {"Date": None}), ("png", None)):
        figure.savefig(path.with_suffix(f".{ending}"), dpi=150, metadata=metadata)


def main():
    parser = argparse.ArgumentParser(description="Measures models beside ONNX Runtime.")
    parser.add_argument("--quick", action="store_true", help="five models, one round, into build/benchmarks/")
    parser.add_argument("--kernels", action="store_true", help="single operators instead of models")
    parser.add_argument("--models", nargs="+", metavar="NAME", help="which models")
    parser.add_argument("--threads", default="1,2", help="thread counts (default 1,2)")
    parser.add_argument("--time", type=float, metavar="S", help="seconds for each model and thread count in a round")
    parser.add_argument("--rounds", type=int, metavar="N", help="default 3, with --quick 1")
    arguments = parser.parse_args()
    if arguments.kernels:
        return subprocess.run([KERNELS]).returncode
    cores = len(os.sched_getaffinity(0))
    asked = [int(t) for t in arguments.threads.split(",")]
    threads = [t for t in asked if t <= cores] or [1]
    if threads != asked:
        print(f"bench: there are {cores} cores: measuring {threads} threads", flush=True)

    # Only a measurement of everything goes to the documentation.
    whole = not arguments.quick and arguments.models is None
    names = arguments.models or (QUICK if arguments.quick else fetch_models.names())
    seconds = arguments.time or (12 if arguments.quick else 10)
    rounds = arguments.rounds or (1 if arguments.quick else 3)
    load = os.getloadavg()[0]
    if busy(load):
        print(f"bench: {busy(load)}", flush=True)
    print(
        f"bench: {len(names)} models, {rounds} round{'s' * (rounds > 1)} of {seconds:g} s for each of {len(threads)} thread counts: "
        f"about {rounds * len(names) * (len(threads) * seconds + 4) / 60:.0f} minutes",
        flush=True,
    )
    try:
        rows = measure_all(names, threads, seconds, rounds)
    except fetch_models.FetchError as error:
        sys.exit(f"bench: {error}")

    folder = ROOT / "docs" / "benchmarks" if whole else ROOT / "build" / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{slug(cpu_name())}.md"
    how = "make bench" if whole else "make bench-quick" if arguments.quick else "bench/run.py " + " ".join(sys.argv[1:])
    plot(rows, threads, path)
    path.write_text(page(rows, threads, path.with_suffix(".svg").name, how, load))
    print(table(rows))
    print(f"bench: written to {path.relative_to(ROOT)}, with a plot (.svg, .png)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
