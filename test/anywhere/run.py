"""Writes every operator's examples, and programs with functions, as C projects, builds them by several compilers, and
runs their self-tests on this machine and on emulated processors: make test-anywhere. For processors with vectors, the
kernels are machine code.

    run.py [--only REGEX] [--on gcc,sve-256] [--first] [--folder FOLDER]

Names of programs begin with `program.`, as in --only 'program.*'.

The self-test of a project compares bits with those of a run of the same kernels here, which are compared with the
evaluator before. A case that is refused must be on the list of reasons.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/python/support"))

import c_projects  # noqa: E402

# Parts of messages of cases that cannot be C projects.
REASONS = ("known only at run time", "depends on values", "contains a function", "contains a reference")

EXAMPLES, PROGRAMS = ROOT / "examples", ROOT / "test/anywhere/programs"
# Programs with functions or with upper bounds of sizes, and the options of `relay compile`.
WITH_OPTIONS = {
    "tree_lstm": (EXAMPLES, []),
    "char_rnn": (EXAMPLES, ["--input", "count=40"]),
    "interpreter": (EXAMPLES, []),
    "closures": (PROGRAMS, ["--input", "n=500", "--input", "p=expr:(5,True)"]),
    "sizes": (PROGRAMS, ["--max", "n=12", "--max", "m=5", "--input", "i=2"]),
}


def write_programs(folder, only, *options):
    """The programs that were written, by folder."""
    names = [name for name in WITH_OPTIONS if re.fullmatch(only, f"program.{name}")]
    for name in names:
        place, own = WITH_OPTIONS[name]
        folder.mkdir(parents=True, exist_ok=True)
        words = ["--name", f"program_{name}", *own, *options]
        c_projects.write(place / f"{name}.relay", folder / f"program_{name}", *words)
    return {f"program_{name}": f"program.{name}" for name in names}


def write_cases(folder, *options):
    """The cases that were written, by folder, and the messages of those that were not, by case."""
    program = ROOT / "build/release/bin/relay_op_projects"
    subprocess.run([program, folder, *options], check=True)
    rows = json.loads((folder / "cases.json").read_text())
    wrong = [f"{row['case']}: {row['problem']}" for row in rows if row["problem"]]
    refused = {row["case"]: row["refused"] for row in rows if row["refused"]}
    wrong += [f"{case}: {why}" for case, why in refused.items() if not any(reason in why for reason in REASONS)]
    return {row["folder"]: row["case"] for row in rows if row["folder"]}, refused, wrong


def write_all(folder, only, first, target):
    """Cases and programs as `write_cases`; with a target, their kernels are machine code for it."""
    cases = ["--only", only, *(["--first"] if first else []), *(["--object", "--target", target] if target else [])]
    written, refused, wrong = write_cases(folder, *cases)
    written |= write_programs(folder, only, *(["--kernels", "object", "--target", target] if target else []))
    print(f"{target or 'C'}: {len(written)} cases, {len(refused)} refused", flush=True)
    return written, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=".*", help="regular expression for names of operators")
    parser.add_argument("--on", default=",".join(c_projects.ALL), help="compilers and processors")
    parser.add_argument("--first", action="store_true", help="one example of each operator")
    parser.add_argument("--folder", type=pathlib.Path, help="for the projects; kept")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root, by_target, wrong = given.folder or pathlib.Path(temporary), {}, []
        for toolchain in given.on.split(","):
            tool = c_projects.ALL[toolchain]
            if not tool.is_here():
                wrong.append(f"{toolchain} is not installed: run dev/setup anywhere")
                continue
            folder = root / (tool.target or "c")
            if folder not in by_target:
                by_target[folder], problems = write_all(folder, given.only, given.first, tool.target)
                wrong += problems
            cases = by_target[folder]
            aborted = []
            failed = c_projects.test_together(folder, list(cases), toolchain, aborted=aborted)
            wrong += [f"{cases[name]} ({name}) on {toolchain}" for name in failed]
            right = len(cases) - len(failed) - len(aborted)
            names = ", ".join(sorted({cases[name].split("/")[0] for name in aborted}))
            lost = f"; the emulator aborts on {len(aborted)}: {names}" if aborted else ""
            print(f"{toolchain}: {right} of {len(cases)} right{lost}", flush=True)
        in_c = by_target.get(root / "c", {})
        writable = [name for name in in_c if c_projects.writable_symbols(root / "c" / name)]
        wrong += [f"{in_c[name]} ({name}) has writable static data" for name in writable]
    for line in wrong:
        print(f"FAILED {line}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
