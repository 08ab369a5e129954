"""Writes every operator's examples as JavaScript packages, and runs their self-tests in Node and in wasmtime: part of
make test-wasm.

    run.py [--only REGEX] [--on node,wasmtime] [--target wasm32-relaxed] [--weights-file] [--first] [--folder FOLDER]

The self-test of a package compares bits with those of a run of the same kernels on this machine, which are compared
with the evaluator before. A case that is refused must be on the list of reasons.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test/python/support"), str(ROOT / "build/test-wasm")]

import js_packages  # noqa: E402

REASONS = ("control flow or functions", "known only at run time")
ENGINES = {"node": js_packages.in_node, "wasmtime": js_packages.in_wasmtime}


def write_cases(folder, *options):
    """The cases that were written, by folder; the messages of those that were not, by case; and what is wrong."""
    program = ROOT / "build/release/bin/relay_op_projects"
    subprocess.run([program, folder, "--emit", "wasm", *options], check=True)
    rows = json.loads((folder / "cases.json").read_text())
    wrong = [f"{row['case']}: {row['problem']}" for row in rows if row["problem"]]
    refused = {row["case"]: row["refused"] for row in rows if row["refused"]}
    wrong += [f"{case}: {why}" for case, why in refused.items() if not any(reason in why for reason in REASONS)]
    return {row["folder"]: row["case"] for row in rows if row["folder"]}, refused, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=".*", help="regular expression for names of operators")
    parser.add_argument("--on", default=",".join(ENGINES), help="engines")
    parser.add_argument("--target", default="wasm32-simd128")
    parser.add_argument("--weights-file", action="store_true", help="weights in files of their own; Node only")
    parser.add_argument("--first", action="store_true", help="one example of each operator")
    parser.add_argument("--folder", type=pathlib.Path, help="for the packages; kept")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or pathlib.Path(temporary)
        options = ["--only", given.only, "--target", given.target]
        options += ["--first"] * given.first + ["--weights-file"] * given.weights_file
        cases, refused, wrong = write_cases(folder, *options)
        print(f"{given.target}: {len(cases)} cases, {len(refused)} refused")
        for engine in given.on.split(","):
            failed = ENGINES[engine](folder, list(cases))
            wrong += [f"{cases[name]} ({name}) in {engine}: {why}" for name, why in failed.items()]
            print(f"{engine}: {len(cases) - len(failed)} of {len(cases)} right")
    for line in wrong:
        print(f"FAILED {line}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
