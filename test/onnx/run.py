"""ONNX's own backend suite through Relay, and the page docs/onnx-support.md.

    make test-onnx                              all cases, every executor; writes the page
    make test-onnx ONNX='--only scatter --show' some of them, with what each failure says; writes nothing

Each case is a model with inputs and what they must give; it runs twice: (a) with every input of the graph given when
the model runs, so that no value is read at import, and (b) with those inputs as constants that decide ranks, axes or
sizes. A case runs in a process of its own list with a limit on time and memory; one that dies is a failure, and the
others go on.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(1, str(ROOT / "test"))
from cases import arguments, data_sets, equal, find_cases, list_ranks, list_shapes, specialised  # noqa: E402
from page import write_page  # noqa: E402
from suite import Workers, progress, reason_of  # noqa: E402

EXECUTORS = ("debug", "vm", "aot")


# --- one case ---------------------------------------------------------------------------------------------------------
def run_case(case, mode, executors, folder):
    """For each executor "passed" or a reason; and whether the compiled model has no kernel."""
    import relay

    outcome, folded = {}, None
    results = []
    for given, expected in data_sets(case):
        now, values = (case.model, given) if mode == "a" else specialised(case, given)
        path = os.path.join(folder, "model.onnx")
        onnx.save(now, path)
        try:
            told = list_shapes(now, values) if mode == "b" else list_ranks(now, values, expected)
            module = relay.load(path, shapes=told)
        except Exception as error:  # whatever it is, it is this case's reason
            return dict.fromkeys(executors, reason_of(error)), None
        for executor in executors:
            try:
                values_now = arguments(now, values, told=mode == "b")
                if executor == "debug":
                    got = relay.evaluate(module, values_now)
                else:
                    compiled = relay.compile(module, executor=executor, threads=1)
                    if executor == "vm":
                        folded = not compiled.report["kernels"]
                    got = compiled(*values_now)
                got = list(got) if isinstance(got, tuple) and len(expected) != 1 else [got]
                got = [_plain(one) for one in got]
                wrong = equal(got, expected, case)
            except Exception as error:
                wrong = reason_of(error)
            results.append((executor, wrong))
    for executor, wrong in results:
        if outcome.get(executor, "passed") == "passed":
            outcome[executor] = wrong or "passed"
    return outcome, folded


def _plain(value):
    """Lists and optional values as Python has them."""
    import relay

    if not isinstance(value, relay.Data):
        return value
    if value.constructor in ("Cons", "Nil"):
        return relay.values.as_list(value)
    return _plain(value.fields[0]) if value.fields else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a regular expression: cases whose names it finds")
    parser.add_argument("--mode", default="ab", choices=["a", "b", "ab"])
    parser.add_argument("--executors", default=",".join(EXECUTORS), type=lambda text: text.split(","))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--time", type=float, default=120, help="seconds a case")
    parser.add_argument("--memory", type=int, default=12288, help="MiB of address space a process")
    parser.add_argument("--show", action="store_true", help="print every failure")
    parser.add_argument("--json", help="write the outcomes to this file")
    parser.add_argument("--page", default=str(ROOT / "docs/onnx-support.md"))
    options = parser.parse_args()
    cases = [case for case in find_cases() if re.search(options.only, case.name)]
    # (a) and (b) are the same for a case without deciding inputs.
    alike = {i for i, case in enumerate(cases) if not case.deciding}
    jobs = [(i, mode) for mode in options.mode for i in range(len(cases)) if mode == "a" or i not in alike]
    if options.mode == "b":
        jobs += [(i, "a") for i in alike]
    os.environ["RELAY_THREADS"] = "1"
    np.seterr(all="ignore")
    with tempfile.TemporaryDirectory() as folder:

        def run(job):
            of_this_process = os.path.join(folder, str(os.getpid()))
            os.makedirs(of_this_process, exist_ok=True)
            return run_case(cases[job[0]], job[1], options.executors, of_this_process)

        def lost(why):
            return dict.fromkeys(options.executors, why), None

        workers = Workers(run, lost, options.jobs, options.time, options.memory)
        outcomes = dict(progress(workers.run(jobs), len(jobs)))
    for i in alike:
        if (i, "a") in outcomes:
            outcomes[(i, "b")] = outcomes[(i, "a")]
    results = [
        {"name": case.name, "kind": case.kind, "op": case.op, "mode": mode, "outcome": outcomes[i, mode][0]}
        | {"folded": outcomes[i, mode][1]}
        for mode in options.mode
        for i, case in enumerate(cases)
        if (i, mode) in outcomes
    ]
    report(results, options)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=0))
    if not options.only and options.mode == "ab" and options.executors == list(EXECUTORS):
        write_page(results, options.page)
    crashed = [r for r in results if any(why.startswith("crash") for why in r["outcome"].values())]
    return 1 if crashed else 0


def report(results, options):
    for mode in options.mode:
        here = [r for r in results if r["mode"] == mode]
        for executor in options.executors:
            passed = sum(r["outcome"][executor] == "passed" for r in here)
            print(f"({mode}) {executor}: {passed} of {len(here)}, {passed / max(len(here), 1):.1%}")
        print(f"({mode}) no kernel, all was folded: {sum(r['folded'] is True for r in here)}")
        failed = [(r, next((w for w in r["outcome"].values() if w != "passed"), None)) for r in here]
        reasons = collections.Counter(why for _, why in failed if why)
        for why, count in reasons.most_common(None if options.show else 40):
            print(f"  {count:4} {why}")
            if options.show:
                names = [r["name"] for r, one in failed if one == why]
                print(f"       {' '.join(names[:12])}{' ..' if len(names) > 12 else ''}")


if __name__ == "__main__":
    sys.exit(main())
