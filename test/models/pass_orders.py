#!/usr/bin/env python3
"""Every model of the lists after passes in random orders: compiled, it gives what it gives without them.

    make test-passes                                    (its second half)
    test/models/pass_orders.py --only resnet18,fr_eye   these
    test/models/pass_orders.py --orders 200             more orders of each

The orders are those of relay_fuzz_passes, which says what passes keep a program's results. What may differ is the
rounding: 1e-3 of an output's largest value, or four times what the evaluator in double precision says that the program
without the passes is off by.
"""

import argparse
import pathlib
import subprocess
import sys
import time

import numpy as np

import relay

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import test_models as models  # noqa: E402

FUZZER = models.ROOT / "build" / "release" / "bin" / "relay_fuzz_passes"
TOLERANCE, TIMES_OWN = 1e-3, 4


def error_of(got, want) -> float:
    """The largest difference in parts of the largest value, over all outputs; infinite where numbers are not."""
    worst = 0.0
    for one, other in zip(models.as_tuple(got), models.as_tuple(want), strict=True):
        one, other = np.asarray(one, np.float64), np.asarray(other, np.float64)
        if one.shape != other.shape or (np.isfinite(one) != np.isfinite(other)).any():
            return np.inf
        there = np.isfinite(other)
        if there.any():
            worst = max(worst, np.abs(one - other)[there].max() / (np.abs(other[there]).max() or 1))
    return worst


def after(module, order, inputs, want) -> tuple[str, float]:
    """Returns the message if the module is refused or its results have another form after the passes; and the error."""
    try:
        compiled = relay.compile(relay.run_passes(module, order))
    except relay.CompileError as error:
        return error.diagnostics[0].message, np.inf
    off = error_of(compiled(*inputs), want)
    return "" if off < np.inf else "shapes or infinities are others", off


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", default="", help="names, separated by commas")
    arguments.add_argument("--orders", type=int, default=20, help="how many of each")
    given = arguments.parse_args()
    said = subprocess.run([FUZZER, "--orders", str(given.orders)], capture_output=True, text=True, check=True).stdout
    orders = [line.split() for line in said.splitlines()]
    names = [name for name in given.only.split(",") if name] or models.ALL
    wrong = []
    for name in names:
        begin = time.monotonic()
        _, module, exact = models.fetched(name)
        compiled = relay.compile(module)
        inputs = models.draw_inputs(compiled.inputs, 0)
        want = compiled(*inputs)
        allowed, worst = TOLERANCE, 0.0
        before = len(wrong)
        for order in orders:
            said, off = after(module, order, inputs, want)
            if TOLERANCE < off < np.inf:
                allowed = max(TOLERANCE, TIMES_OWN * error_of(want, exact(inputs)))
            if off > allowed:
                wrong.append(f"{name} after {','.join(order)}: {said or f'is off by {off:.1e}'}")
                print(wrong[-1], flush=True)
            worst = max(worst, off)
        equal = len(orders) - len(wrong) + before
        print(f"{name:<20} {equal} equal; off by {worst:.1e} at most; {time.monotonic() - begin:.0f} s", flush=True)
    total = len(names) * len(orders)
    print(f"{len(names)} models after {len(orders)} orders: {total - len(wrong)} of {total} equal")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
