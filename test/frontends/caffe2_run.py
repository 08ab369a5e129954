"""Compares Relay with the kept results of Caffe2, which was last built for Python 3.9 (caffe2_golden.py writes them).

make test-frontends                            all of them; writes build/front-ends/caffe2.json for the table of counts
test/frontends/caffe2_run.py --only Conv       cases with this in their name; writes nothing
"""

import sys

from relay.frontend.caffe2.table import OPERATORS
from runner import ROOT, Run, Tally, main

sys.path.insert(0, str(ROOT / "test" / "python" / "caffe2"))

import golden_cases  # noqa: E402


def run_all(run: Run):
    tally = Tally()
    for name in golden_cases.CASES:
        if run.wants(name):
            run.case(
                tally, name, lambda name=name: golden_cases.largest(name), golden_cases.CLOSE,
                lambda name=name: [golden_cases.operator_of(name)],
            )  # fmt: skip
    run.told(tally, "cases agree with Caffe2")
    run.facts |= {"imported": sorted(OPERATORS), "compared": sorted(tally.agree), "cases": tally.count}


if __name__ == "__main__":
    sys.exit(main("caffe2", "Compares networks of Caffe2 with kept results of Caffe2.", run_all))
