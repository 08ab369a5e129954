"""Writes every operator's examples, and programs with functions, as C projects, builds them by several compilers, and
runs their self-tests on this machine and on emulated processors: make test-anywhere.

    run.py [--only REGEX] [--on gcc,s390x] [--first] [--folder FOLDER]

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


def write_programs(folder, only):
    """The programs that were written, by folder, and what went wrong."""
    names = [name for name in WITH_OPTIONS if re.fullmatch(only, f"program.{name}")]
    for name in names:
        place, options = WITH_OPTIONS[name]
        folder.mkdir(parents=True, exist_ok=True)
        c_projects.write(place / f"{name}.relay", folder / f"program_{name}", "--name", f"program_{name}", *options)
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=".*", help="regular expression for names of operators")
    parser.add_argument("--on", default=",".join(c_projects.ALL), help="compilers and processors")
    parser.add_argument("--first", action="store_true", help="one example of each operator")
    parser.add_argument("--folder", type=pathlib.Path, help="for the projects; kept")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or pathlib.Path(temporary)
        options = ["--only", given.only, *(["--first"] if given.first else [])]
        cases, refused, wrong = write_cases(folder, *options)
        cases |= write_programs(folder, given.only)
        print(f"{len(cases)} cases, {len(refused)} refused", flush=True)
        for toolchain in given.on.split(","):
            if not c_projects.ALL[toolchain].is_here():
                wrong.append(f"{toolchain} is not installed: run dev/setup anywhere")
                continue
            failed = c_projects.test_together(folder, list(cases), toolchain)
            wrong += [f"{cases[name]} ({name}) on {toolchain}" for name in failed]
            print(f"{toolchain}: {len(cases) - len(failed)} of {len(cases)} right", flush=True)
        writable = [name for name in cases if c_projects.writable_symbols(folder / name)]
        wrong += [f"{cases[name]} ({name}) has writable static data" for name in writable]
    for line in wrong:
        print(f"FAILED {line}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
