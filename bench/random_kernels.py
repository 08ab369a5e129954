#!/usr/bin/env python3
"""Lists kernels of random networks that are far below their ceiling, the most expensive first.

    make bench-random-kernels                                    seeds 1 to 40
    .venv/bin/python bench/random_kernels.py --seeds 41-60 --below 0.7
    .venv/bin/python bench/random_kernels.py --least 25 --part 0         small kernels too
    .venv/bin/python bench/random_kernels.py --zoo 12 --seed 7           networks drawn from the zoo instead

Each network (`relay bench --random-net SEED`, with a symbolic batch; or one of test/zoo) is profiled twice with one
thread, and the faster time of each kernel counts. A kernel is large if it takes at least 100 us and a twentieth of its
network's run. The exit status is 1 if a large kernel is below 60 % of its ceiling. The last line tells how well the
cost model orders all kernels. The networks are kept in build/benchmarks/random/.
"""

import argparse
import contextlib
import io
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
RELAY = ROOT / "build" / "release" / "bin" / "relay"
DRAW = ROOT / "python" / "relay" / "tools" / "random_net.py"
FOLDER = ROOT / "build" / "benchmarks" / "random"
LEAST_US, LEAST_PART, BELOW = 100, 0.05, 0.6

from relay.tools import random_net  # noqa: E402


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
    arguments = parser.parse_args()
    if arguments.zoo:
        networks = zoo_networks(arguments.zoo, arguments.seed)
    else:
        networks = random_networks(*map(int, arguments.seeds.split("-")))
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
