#!/usr/bin/env python3
"""Lists kernels of random networks that are far below their ceiling, the most expensive first.

    make bench-random-kernels                                    seeds 1 to 40
    .venv/bin/python bench/random_kernels.py --seeds 41-60 --below 0.7
    .venv/bin/python bench/random_kernels.py --least 25 --part 0         small kernels too
    .venv/bin/python bench/random_kernels.py --zoo 12 --seed 7           networks drawn from the zoo instead
    .venv/bin/python bench/random_kernels.py --candidates --seeds 1-10   how often the cost model chooses well

Each network (`relay bench --random-net SEED`, with a symbolic batch; or one of test/zoo) is profiled twice with one
thread, and the faster time of each kernel counts. A kernel is large if it takes at least 100 us and a twentieth of its
network's run. The exit status is 1 if a large kernel is below 60 % of its ceiling. The last line tells how well the
cost model orders all kernels. The networks are kept in build/benchmarks/random/.

With --candidates, every candidate of every group (`relay opt --emit candidates`) is measured in turn with the default
instead. The result is the share of groups whose default takes at most 5 % longer than the best candidate, also weighted
by time.
"""

import argparse
import contextlib
import io
import json
import math
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
RELAY = ROOT / "build" / "release" / "bin" / "relay"
DRAW = ROOT / "python" / "relay" / "tools" / "random_net.py"
FOLDER = ROOT / "build" / "benchmarks" / "random"
LEAST_US, LEAST_PART, BELOW = 100, 0.05, 0.6

from relay.tools import random_net, tune  # noqa: E402
from relay.tools.tuning_records import Store  # noqa: E402


def network(seed):
    """The paths of the model and of its input."""
    folder = FOLDER / str(seed)
    data = folder / "x.npy"
    if not data.exists() or data.stat().st_mtime < DRAW.stat().st_mtime:
        import numpy as np

        folder.mkdir(parents=True, exist_ok=True)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            random_net.main(seed, folder)
        shape = json.loads(said.getvalue())["shape"]
        np.save(data, np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32))
    return folder / "net.onnx", data


def random_networks(first, last):
    """{name: arguments of `relay profile`}: the model and its input."""
    found = {}
    for seed in range(first, last + 1):
        model, data = network(seed)
        found[str(seed)] = (model, "--input", f"x={data}")
    return found


def zoo_networks(count, seed):
    """{name: arguments of `relay profile`} for networks drawn from the zoo; their inputs are random."""
    import zoo

    return {name: (path,) for name, path in zoo.drawn(count, seed)}


def profile(relay, model, options):
    command = [relay, "profile", *model, "--threads", "1", "--time", "0.2", "--json", *options]
    result = subprocess.run(command, capture_output=True, check=True)
    kernels = json.loads(result.stdout)["kernels"]
    run = sum(k["us"] for k in kernels)
    return [{**k, "of_run": k["us"] / run} for k in kernels]


def measure(networks, relay=RELAY, target="native"):
    """{(network, name): kernel}, each as in `relay profile --json`, from the faster of two rounds."""
    fastest = {}
    for _ in range(2):
        for name, model in networks.items():
            for k in profile(relay, model, ["--target", target]):
                known = fastest.setdefault((name, k["name"]), k)
                if k["us"] < known["us"]:
                    fastest[name, k["name"]] = k
    return fastest


def far_below(kernels, least=LEAST_US, part=LEAST_PART, below=BELOW):
    """The large kernels below a share of their ceiling as [(network, kernel)], the most expensive first; and the number
    of large kernels. A kernel is large if it takes long enough to reach its ceiling and a notable part of the run."""
    large = [(net, k) for (net, _), k in kernels.items() if k["us"] >= least and k["of_run"] >= part]
    found = [(net, k) for net, k in large if k["share"] < below]
    return sorted(found, key=lambda f: f[1]["us"] * (f[1]["share"] - 1)), len(large)


def rank_correlation(kernels):
    """Spearman's rank correlation of the estimated and the measured times of kernels; 1 if the order is the same."""
    import numpy as np

    def ranks(values):
        values, order = np.asarray(values), np.argsort(values)
        out = np.empty(len(values))
        out[order] = np.arange(len(values))
        for value in np.unique(values):  # equal values share their mean rank
            out[values == value] = out[values == value].mean()
        return out

    each = [(k["estimate_us"] / k["calls"], k["us"] / k["calls"]) for k in kernels.values()]
    return float(np.corrcoef(ranks([e for e, _ in each]), ranks([t for _, t in each]))[0, 1])


def measured_candidates(model, relay):
    """The tuner of a network after all of its candidates were measured, and the best of each group once more."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = argparse.Namespace(budget=math.inf)
        machines = tune.Machines([tune.Here([str(relay)])], print)
        compiler = tune.Compiler([str(relay)], str(model), [], 1, pathlib.Path(folder), machines)
        tuner = tune.Tuner(arguments, Store(pathlib.Path(folder) / "tuning.db"), compiler)
        tuner.measure_default()
        while True:
            trial = tuner.queue.pop(0) if tuner.queue else {}
            for key, group in tuner.groups.items() if not trial else ():
                new = [c for d, c in group.candidates.items() if d not in group.ratios and d not in group.faults]
                if new:
                    trial[key] = new[0]
            if not trial:
                break
            tuner.measure(trial)
        # The best of many noisy ratios looks better than it is.
        best = {key: group.candidates[min(group.ratios, key=group.ratio)] for key, group in tuner.groups.items()
                if group.ratios}  # fmt: skip
        if best:
            tuner.measure(best)
        return tuner


def choices(networks, relay=RELAY):
    """{(network, group): (microseconds of the default, ratio of the best candidate to it)}"""
    found = {}
    for name, model in networks.items():
        tuner = measured_candidates(model[0], relay)
        for group in tuner.groups.values():
            again = [ratios[-1][0] for ratios in group.ratios.values() if len(ratios) > 1]
            found[name, group.name] = group.default_us, min([1.0, *again])
    return found


def print_choices(found, within=0.05):
    total = sum(us for us, _ in found.values())
    near = [(us, ratio) for us, ratio in found.values() if ratio >= 1 / (1 + within)]
    best = sum(us * ratio for us, ratio in found.values())
    print(f"{'net':>4} {'us':>9} {'best':>6}  group whose default takes over 5 % longer than the best candidate")
    for (net, name), (us, ratio) in sorted(found.items(), key=lambda f: f[1][0] * (f[1][1] - 1)):
        if ratio < 1 / (1 + within):
            print(f"{net:>4} {us:>9.1f} {ratio:>6.2f}  {name}")
    print(
        f"the default is within {100 * within:g} % of the best measured candidate for {len(near)} of {len(found)} "
        f"groups ({100 * len(near) / len(found):.0f} %), which take {100 * sum(us for us, _ in near) / total:.0f} % of "
        "the time; "
        f"the best candidates of all groups would take {best / total:.3f} of the time"
    )


def main():
    parser = argparse.ArgumentParser(description="Lists kernels of random networks that are far below their ceiling.")
    parser.add_argument("--seeds", default="1-40", metavar="A-B", help="seeds of the random networks (default 1-40)")
    parser.add_argument("--zoo", type=int, metavar="N", help="N networks drawn from the zoo instead")
    parser.add_argument("--seed", type=int, default=1, help="the seed that draws networks of the zoo (default 1)")
    parser.add_argument(
        "--least",
        type=float,
        default=LEAST_US,
        metavar="US",
        help=f"microseconds that a large kernel takes at least (default {LEAST_US:g})",
    )
    parser.add_argument(
        "--part",
        type=float,
        default=LEAST_PART,
        metavar="PART",
        help=f"the least share of its run (default {LEAST_PART:g})",
    )
    parser.add_argument(
        "--below",
        type=float,
        default=BELOW,
        metavar="SHARE",
        help=f"list kernels below this share of the ceiling (default {BELOW:g})",
    )
    parser.add_argument("--target", default="native")
    parser.add_argument(
        "--relay", default=RELAY, metavar="PATH", help="the relay program to run (default: this build's)"
    )
    parser.add_argument("--candidates", action="store_true", help="measure the candidates of all groups instead")
    arguments = parser.parse_args()
    if arguments.zoo:
        networks = zoo_networks(arguments.zoo, arguments.seed)
    else:
        networks = random_networks(*map(int, arguments.seeds.split("-")))
    if arguments.candidates:
        print_choices(choices(networks, arguments.relay))
        return 0
    kernels = measure(networks, arguments.relay, arguments.target)
    found, large = far_below(kernels, arguments.least, arguments.part, arguments.below)
    wide = max(map(len, ["net", *networks]))
    print(f"{'net':>{wide}} {'us':>9} {'% of run':>9} {'% of ceiling':>14}  kernel: rule")
    for net, k in found:
        print(
            f"{net:>{wide}} {k['us']:>9.1f} {100 * k['of_run']:>9.1f} {100 * k['share']:>7.0f} "
            f"{k['bound']:<6}  {k['name']}: {k['rule']}"
        )
    print(
        f"{len(found)} of {large} kernels of {arguments.least:g} us or more, and {100 * arguments.part:g} % of their "
        f"run, in {len(networks)} networks, are below {100 * arguments.below:g} % of their ceiling"
    )
    print(f"rank correlation of estimate and time over {len(kernels)} kernels: {rank_correlation(kernels):.3f}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
