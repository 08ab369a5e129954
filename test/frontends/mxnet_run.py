"""Compares Relay with MXNet 1.9.1 on small symbols of each operator, and on networks of its model zoo.

make test-frontends                           all of them; writes the tables of docs/front-ends.md
test/frontends/mxnet_run.py --only RNN        cases and networks with this in their name; writes nothing
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from relay.frontend.mxnet.table import OPERATORS
from report import write

import relay

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = ROOT / "build" / "test-mxnet" / "bin" / "python"
# Relative to the largest value: sums of up to thousands of products in float32, in another order; halves.
CLOSE, CLOSE_HALF, CLOSE_NETWORK = 5e-6, 2e-3, 2e-4
CLOSE_QUANTISED = 0.02  # two or three steps of 127, where integers round to other sides


def oracle(folder, *arguments):
    """Runs MXNet, which writes the cases and their results into a folder; returns the list of them."""
    script = pathlib.Path(__file__).with_name("mxnet_oracle.py")
    done = subprocess.run(
        [PYTHON, "-W", "ignore", script, folder, *arguments],
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


def difference(got, wanted):
    """The largest difference, relative to the largest value."""
    if got.shape != wanted.shape:
        raise AssertionError(f"{list(got.shape)} for {list(wanted.shape)}")
    if got.size == 0:
        return 0.0
    got, wanted = (one.astype(np.float64) for one in (got, wanted))
    return float(np.abs(got - wanted).max() / max(np.abs(wanted).max(), 1e-30))


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
    got = [np.asarray(one) for one in (got if isinstance(got, (list, tuple)) else [got])]
    wanted = [outputs[name] for name in sorted(outputs.files)]
    if len(got) != len(wanted):
        raise AssertionError(f"{len(got)} results for {len(wanted)}")
    return max(difference(a, b) for a, b in zip(got, wanted, strict=True))


def kinds_in(symbol):
    """The operators of a symbol, also inside others."""
    for node in symbol["nodes"]:
        yield node["op"]
        for inner in node.get("subgraphs", []):
            yield from kinds_in(inner)


def run_cases(only, folder):
    agree, failed, count = collections.Counter(), 0, 0
    for place, name in oracle(folder):
        if only not in name:
            continue
        count += 1
        try:
            worst = compared(folder / place)
        except Exception as error:
            print(f"FAILED {name}: {type(error).__name__} {str(error).strip()[:300]}", flush=True)
            failed += 1
            continue
        if not worst <= (CLOSE_QUANTISED if "quantised" in name else CLOSE_HALF if "amp" in name else CLOSE):
            print(f"DIFFERS {name}: {worst:.2e}", flush=True)
            failed += 1
            continue
        agree.update(set(kinds_in(json.loads((folder / place / "net-symbol.json").read_text()))))
    print(f"{count - failed} of {count} cases agree with MXNet", flush=True)
    return failed, agree


def run_zoo(only, folder):
    failed, rows = 0, []
    for name in oracle(folder, "--zoo"):
        if only not in name:
            continue
        try:
            worst = compared(folder / name)
            nodes = sum(
                one["op"] != "null" for one in json.loads((folder / name / "net-symbol.json").read_text())["nodes"]
            )
            good = worst <= CLOSE_NETWORK
            rows.append(f"| {name} | {nodes} | {worst:.1e} |")
            print(f"{'' if good else 'DIFFERS '}{name}: {worst:.1e}", flush=True)
        except Exception as error:
            print(f"FAILED {name}: {type(error).__name__} {str(error).strip()[:600]}", flush=True)
            good = False
        failed += not good
    return failed, rows


def table(agree):
    proven = sum(name in agree for name in OPERATORS)
    return [
        f"{len(OPERATORS)} operators are imported; {proven} of them were compared.", "",
        "| operator | cases that agree with MXNet 1.9.1 |", "| --- | --- |",
        *(f"| {name} | {agree.get(name, '')} |" for name in sorted(OPERATORS)),
    ]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description="Compares symbols of MXNet with MXNet.")
    parser.add_argument("--only", default="", help="cases and networks with this in their name")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        failed, agree = run_cases(arguments.only, folder / "cases")
        missed, rows = run_zoo(arguments.only, folder / "zoo")
    if not arguments.only:
        write("MXNet operators", table(agree))
        write("MXNet networks", ["| network | nodes | largest difference |", "| --- | --- | --- |", *rows])
    return failed + missed != 0


if __name__ == "__main__":
    sys.exit(main())
