"""Compares Relay with NumPy on folders of OneFlow that are written by hand: OneFlow itself needs Python 3.10 and CUDA.

make test-frontends                            all of them; writes the table of docs/front-ends.md
test/frontends/oneflow_run.py --only conv      cases with this in their name; writes nothing
"""

import pathlib
import sys
import tempfile

from relay.frontend.oneflow.table import OPERATORS
from runner import ROOT, Run, Tally, main

sys.path.insert(0, str(ROOT / "test" / "python" / "oneflow"))

import oneflow_cases  # noqa: E402


def compared(case):
    with tempfile.TemporaryDirectory() as folder:
        return oneflow_cases.largest(case, pathlib.Path(folder))


def run_all(run: Run):
    tally = Tally()
    for case in oneflow_cases.CASES:
        if run.wants(case.name):
            run.case(tally, case.name, lambda case=case: compared(case), oneflow_cases.CLOSE,
                     lambda case=case: [case.kind])  # fmt: skip
    run.told(tally, "cases agree with NumPy")
    run.counted("OneFlow operations", "| operation | cases that agree with NumPy |", OPERATORS, tally, "operation")
    run.facts |= {"imported": sorted(OPERATORS), "compared": sorted(tally.agree), "cases": tally.count}


if __name__ == "__main__":
    sys.exit(main("oneflow", "Compares operations of OneFlow with NumPy.", run_all))
