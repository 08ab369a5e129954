"""Compares Relay with MXNet 1.9.1 on small symbols of each operator, and on networks of its model zoo.

make test-frontends                           all of them; writes the tables of docs/front-ends.md
test/frontends/mxnet_run.py --only RNN        cases and networks with this in their name; writes nothing
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from relay.frontend.mxnet.table import OPERATORS
from runner import CLOSE, ROOT, Run, Tally, arrays, difference_of_values, main, worst_of

import relay

PYTHON = ROOT / "build" / "test-mxnet" / "bin" / "python"
# For halves; for integers, two or three steps of 127, where they round to other sides.
CLOSE_HALF, CLOSE_QUANTISED = 2e-3, 0.02


def oracle(folder, only, *arguments):
    """Runs MXNet, which writes cases and their results into a folder; returns the list of them. only: a regular
    expression in their names."""
    script = pathlib.Path(__file__).with_name("mxnet_oracle.py")
    done = subprocess.run(
        [PYTHON, "-W", "ignore", script, folder, only, *arguments],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": ""},
    )
    for line in done.stdout.splitlines():
        if line.startswith("REFUSED"):
            print(line, flush=True)
    if done.returncode:
        raise RuntimeError(f"MXNet ends with {done.returncode}: {done.stderr[-2000:]}")
    return json.loads((folder / "index.json").read_text())


def compared(folder):
    """The largest difference of a case, over all of its results."""
    inputs = dict(np.load(folder / "inputs.npz"))
    outputs = np.load(folder / "outputs.npz")
    params = folder / "net-0000.params"
    module, _ = relay.frontend.from_mxnet(
        folder / "net-symbol.json", {name: one.shape for name, one in inputs.items()},
        {name: str(one.dtype) for name, one in inputs.items()}, params if params.stat().st_size > 32 else None,
    )  # fmt: skip
    names = [one.name_hint for one in module["main"].params]
    got = relay.compile(module)(*(inputs[name] for name in names))
    wanted = [outputs[name] for name in sorted(outputs.files)]
    return worst_of(arrays(got), wanted, same_shape)


def same_shape(got, wanted):
    """The largest difference. MXNet returns float32 where Relay returns the type of the symbol."""
    if got.shape != wanted.shape:
        raise AssertionError(f"{list(got.shape)} for {list(wanted.shape)}")
    return difference_of_values(got, wanted)


def symbol_in(folder):
    return json.loads((folder / "net-symbol.json").read_text())


def kinds_in(symbol):
    """The operators of a symbol, also inside others."""
    for node in symbol["nodes"]:
        yield node["op"]
        for inner in node.get("subgraphs", []):
            yield from kinds_in(inner)


def run_cases(run, folder):
    tally = Tally()
    for place, name in oracle(folder, run.only):
        if run.wants(name):
            close = CLOSE_QUANTISED if "quantised" in name else CLOSE_HALF if "amp" in name else CLOSE
            held = folder / place
            run.case(tally, name, lambda held=held: compared(held), close, lambda held=held: kinds_in(symbol_in(held)))
    run.told(tally, "cases agree with MXNet")
    run.counted("MXNet operators", "| operator | cases that agree with MXNet 1.9.1 |", OPERATORS, tally)
    run.facts |= {"imported": sorted(OPERATORS), "compared": sorted(tally.agree), "cases": tally.count}


def run_zoo(run, folder):
    block = run.networks("MXNet networks", "| network | nodes | largest difference |")
    for name in oracle(folder, run.only, "--zoo"):

        def compare(name=name):
            nodes = sum(one["op"] != "null" for one in symbol_in(folder / name)["nodes"])
            worst = compared(folder / name)
            return worst, f"| {name} | {nodes} | {worst:.1e} |"

        run.network(block, name, compare)


def run_all(run: Run):
    with tempfile.TemporaryDirectory() as place:
        run_cases(run, pathlib.Path(place) / "cases")
        if run.has_networks:
            run_zoo(run, pathlib.Path(place) / "zoo")


if __name__ == "__main__":
    sys.exit(main("mxnet", "Compares symbols of MXNet with MXNet.", run_all))
