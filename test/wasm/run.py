"""Writes every operator's examples as JavaScript packages, and runs their self-tests in Node and in wasmtime, or, for
WebGPU, in Chromium and on lavapipe: part of make test-wasm.

    run.py [--only REGEX] [--on node,wasmtime] [--target wasm32-relaxed] [--weights-file] [--first] [--folder FOLDER]
    run.py --emit webgpu [--on chromium,lavapipe] [--only REGEX] [--first] [--folder FOLDER]

The self-test of a package compares bits with those of a run of the same kernels on this machine, which are compared
with the evaluator before; for WebGPU it allows rounding errors. A case that is refused must be on the list of reasons.
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
import serving  # noqa: E402

SELF_TEST = """async (name) => {
  try {
    return (await (await import(`/${name}/test.mjs`)).selfTest()).join("; ");
  } catch (error) {
    return String(error);
  }
}"""


def in_chromium(folder, names):
    """The problems of the packages `names` in a folder, by name, on WebGPU."""
    (folder / "index.html").write_text("<!doctype html><title>self-tests</title>")
    with serving.chromium(*serving.WEBGPU) as browser, serving.served(folder) as address:
        page = browser.new_page()
        page.goto(address)
        found = {name: page.evaluate(SELF_TEST, name) for name in names}
    return {name: problem for name, problem in found.items() if problem}


REASONS = {
    "wasm": ("control flow or functions", "known only at run time"),
    "webgpu": (
        "control flow or functions",
        "known only at run time",
        "cannot be written for WebGPU: array",
        "cannot be written for WebGPU: it computes",
        "cannot be written for WebGPU: its sizes are not constant",
        "checks indices",
        "steps that depend on values",
        "repeats steps",
    ),
}
ENGINES = {
    "wasm": {"node": js_packages.in_node, "wasmtime": js_packages.in_wasmtime},
    "webgpu": {"chromium": in_chromium, "lavapipe": js_packages.on_lavapipe},
}


def write_cases(folder, emit, *options):
    """The cases that were written, by folder; the messages of those that were not, by case; and what is wrong."""
    program = ROOT / "build/release/bin/relay_op_projects"
    subprocess.run([program, folder, "--emit", emit, *options], check=True)
    rows = json.loads((folder / "cases.json").read_text())
    wrong = [f"{row['case']}: {row['problem']}" for row in rows if row["problem"]]
    refused = {row["case"]: row["refused"] for row in rows if row["refused"]}
    wrong += [f"{case}: {why}" for case, why in refused.items() if not any(reason in why for reason in REASONS[emit])]
    return {row["folder"]: row["case"] for row in rows if row["folder"]}, refused, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=".*", help="regular expression for names of operators")
    parser.add_argument("--emit", default="wasm", choices=list(ENGINES))
    parser.add_argument("--on", help="engines")
    parser.add_argument("--target")
    parser.add_argument("--weights-file", action="store_true", help="weights in files of their own; Node only")
    parser.add_argument("--first", action="store_true", help="one example of each operator")
    parser.add_argument("--folder", type=pathlib.Path, help="for the packages; kept")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or pathlib.Path(temporary)
        options = ["--only", given.only, *(["--target", given.target] if given.target else [])]
        options += ["--first"] * given.first + ["--weights-file"] * given.weights_file
        cases, refused, wrong = write_cases(folder, given.emit, *options)
        print(f"{given.target or given.emit}: {len(cases)} cases, {len(refused)} refused")
        engines = ENGINES[given.emit]
        for engine in given.on.split(",") if given.on else engines:
            failed = engines[engine](folder, list(cases))
            wrong += [f"{cases[name]} ({name}) in {engine}: {why}" for name, why in failed.items()]
            print(f"{engine}: {len(cases) - len(failed)} of {len(cases)} right")
    for line in wrong:
        print(f"FAILED {line}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
