"""Tests properties of every operator: a table of operators and columns (columns.def), no cell blank without a reason.

    make test-ops                              all; writes test/ops/proofs.json, from which docs/operators.md is made
    make test-ops OPS='--only nn.conv2d'       some operators, by a regular expression; writes nothing without --store

relay_op_proofs has the proofs that need the compiler; here the evaluator is compared with the operators' oracles. A
cell that is proven nowhere has a reason: one that follows from the operator (prove.cpp) or one of reasons.txt, and so
has an example whose gradient is refused although the operator has one. What has neither is missing, and fails, as do
proofs that go wrong and cells that were proven before.
"""

import argparse
import collections
import concurrent.futures
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / "test/python/support"), str(ROOT / "bench")]

HERE = pathlib.Path(__file__).resolve().parent
PROOFS = HERE / "proofs.json"
BINARIES = ROOT / "build/release/bin"
MOST_BY_EXECUTORS = 15


def columns():
    """{name: (title, what a proof is)} in the order of the table."""
    found = re.findall(r'^RELAY_COLUMN\((\w+), "(.*?)", "(.*?)"\)', (HERE / "columns.def").read_text(), re.MULTILINE)
    return {name: (title, doc) for name, title, doc in found}


def listed_reasons():
    """The closed list, and {(operator, column): reason} of operators that a reason is given for."""
    reasons, given = {}, {}
    for line in (HERE / "reasons.txt").read_text().splitlines():
        if line.startswith("reason "):
            name, _, doc = line.removeprefix("reason ").partition(": ")
            reasons[name] = doc
        elif line and not line.startswith("#"):
            reason, _, rest = line.partition(": ")
            which, _, names = rest.partition(": ")
            given |= {(name, column): reason for name in names.split() for column in which.split()}
    return reasons, given


def prove(only, jobs, chosen):
    """{operator: row} of relay_op_proofs for the chosen columns, run in `jobs` processes."""

    def part(k):
        command = [BINARIES / "relay_op_proofs", "--only", only, "--shard", f"{k + 1}/{jobs}", *chosen]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))} ended with {run.returncode}:\n{run.stdout[-300:]}{run.stderr}")
        return [json.loads(line) for line in run.stdout.splitlines()]

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        rows = [row for rows in pool.map(part, range(jobs)) for row in rows]
    return {row["op"]: row for row in sorted(rows, key=lambda row: row["op"])}


def compare_with_oracles(rows, edges=False):
    """Adds the column oracle. With edges, gives what oracles say of special values and sizes, for people to judge: they
    are written for ordinary ones."""
    import oracle
    from safetensors.numpy import load_file

    said = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([BINARIES / "relay_op_cases", folder, *["--edges"][: int(edges)], *rows], check=True)
        cases = json.loads((pathlib.Path(folder) / "cases.json").read_text())
        tensors = load_file(pathlib.Path(folder) / "cases.safetensors")
    for case in cases:
        try:
            problem = oracle.problem(case, tensors)
        except Exception as error:  # whatever it is, it is this case's
            problem = f"{type(error).__name__}: {error}"
        if case["edge"]:
            said += [f"{case['name']}: {problem[:200]}"] if problem else []
            continue
        cell = rows[case["op"]]["cells"].setdefault("oracle", {"proved": 0, "reason": "", "failures": []})
        cell["failures"] += [f"{case['name']}: {problem}"] if problem else []
        cell["proved"] += not problem
    return said


def sweep_exponents(rows, jobs):
    """Adds the column accuracy."""
    import accuracy

    swept = [name for name in accuracy.BOUNDS if name in rows]
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        for found in pool.map(functools.partial(accuracy.sweep, False), [[name] for name in swept]):
            for name, problems in found.items():
                proved = len(accuracy.TYPES) - len(problems)
                rows[name]["cells"]["accuracy"] = {"proved": proved, "reason": "", "failures": problems}


def timed_operators():
    """Operators that make bench-ops has measured."""
    import op_times

    return op_times.measured_operators()


def complete(rows, timed):
    """Adds the benchmark column and reasons; returns the missing ones and the errors in the list of reasons."""
    reasons, given = listed_reasons()
    missing, wrong = [], []
    for name, row in rows.items():
        for column in columns():
            cell = row["cells"].setdefault(column, {"proved": 0, "reason": "", "failures": []})
            if column == "benchmark":
                cell["proved"] = int(name in timed)
            stands = cell["proved"] or cell["failures"] or cell["reason"]
            if reason := given.pop((name, column), None):
                if stands:
                    wrong.append(f"reasons.txt: {name} {column} needs no reason")
                elif reason not in reasons:
                    wrong.append(f"reasons.txt: {reason} is not in its list")
                else:
                    cell["reason"] = reason
            elif not stands:
                missing.append((name, column))
            if cell["reason"] and cell["reason"] not in reasons:
                wrong.append(f"prove.cpp: the reason '{cell['reason']}' is not in the list of reasons.txt")
        for form in row["without_gradient"]:
            reason = given.pop((form, "gradient"), None)
            if reason is None:
                missing.append((form, "gradient"))
            elif reason not in reasons:
                wrong.append(f"reasons.txt: {reason} is not in its list")
    executors = [name for name, row in rows.items() if row["by_executor"]]
    if len(executors) > MOST_BY_EXECUTORS:
        wrong.append(f"{len(executors)} operators are computed by the executors, at most {MOST_BY_EXECUTORS} may be")
    return missing, sorted(set(wrong)), [f"{name} {column}" for name, column in given]


def lost(rows):
    """Cells that were proven when proofs.json was written and are not now."""
    if not PROOFS.exists():
        return []
    before = json.loads(PROOFS.read_text())
    return [
        f"{name} {column}: proven {cell} times before"
        for name, cells in before.items()
        for column, cell in cells.items()
        if name in rows and isinstance(cell, int) and cell and not rows[name]["cells"][column]["proved"]
    ]


def print_table(rows):
    titles = [title for title, _ in columns().values()]
    letters = {reason: chr(ord("a") + i) for i, reason in enumerate(listed_reasons()[0])}
    width = max(map(len, rows))
    for k in range(max(map(len, titles))):
        print(" " * width, *(f"{title.rjust(max(map(len, titles)))[k]:>3}" for title in titles))
    for name, row in rows.items():
        cells = []
        for column in columns():
            cell = row["cells"][column]
            mark = "!" if cell["failures"] else str(min(cell["proved"], 99)) if cell["proved"] else ""
            cells.append(mark or letters.get(cell["reason"], "-"))
        print(f"{name:<{width}}", *(f"{cell:>3}" for cell in cells))
    print("\n! fails, - missing, a number: how many times it is proven, a letter: why it cannot be asked")
    counts = collections.Counter(cell["reason"] for row in rows.values() for cell in row["cells"].values())
    for reason, letter in letters.items():
        print(f"{letter} {counts[reason]:5} {reason}: {listed_reasons()[0][reason]}")
    if forms := [form for row in rows.values() for form in row["without_gradient"]]:
        print(f"\nforms without a gradient: {len(forms)}: {' '.join(forms)}")


def report(rows, missing, problems):
    failures = [
        f"{name} {column}: {what}"
        for name, row in rows.items()
        for column, cell in row["cells"].items()
        for what in cell["failures"]
    ]
    proven = sum(cell["proved"] > 0 for row in rows.values() for cell in row["cells"].values())
    reasoned = sum(bool(cell["reason"]) for row in rows.values() for cell in row["cells"].values())
    executors = [name for name, row in rows.items() if row["by_executor"]]
    print(f"\n{len(rows)} operators, {len(rows) * len(columns())} cells: {proven} proven, {reasoned} with a reason")
    print(f"computed by the executors: {len(executors)} ({', '.join(executors)})")
    by_column = collections.defaultdict(list)
    for name, column in missing:
        by_column[column].append(name)
    for column, names in by_column.items():
        print(f"missing in {column}: {len(names)}: {' '.join(names)}")
    print(f"failures: {len(failures)}", *failures, *problems, sep="\n  ")
    return not (failures or missing or problems)


def store(proofs):
    lines = [f"{json.dumps(name)}: {json.dumps(cells)}" for name, cells in proofs.items()]
    PROOFS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def write_columns(rows, chosen):
    """Puts the columns of these rows into proofs.json, and prints what fails or is missing in them."""
    _, given = listed_reasons()
    stored, good = json.loads(PROOFS.read_text()), True
    for name, row in rows.items():
        for column in chosen:
            cell = row["cells"].get(column, {"proved": 0, "reason": "", "failures": []})
            stored[name][column] = cell["proved"] or cell["reason"] or given.get((name, column), "")
            for failure in cell["failures"]:
                print(f"{name} {column}: {failure}")
            if not stored[name][column]:
                print(f"{name} {column}: missing")
            good &= bool(stored[name][column]) and not cell["failures"]
    store({name: {column: cells[column] for column in columns()} for name, cells in stored.items()})
    return 0 if good else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a regular expression: operators whose whole names it matches")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--edges", action="store_true", help="print what oracles say of special values and sizes")
    parser.add_argument(
        "--store", action="store_true", help="with --only: write the rows of these operators to proofs.json"
    )
    parser.add_argument("--columns", default="", help="these of columns.def only, with commas between; no table then")
    options = parser.parse_args()
    rows = prove(options.only or ".*", options.jobs, ["--columns", options.columns] if options.columns else [])
    if not rows:
        sys.exit(f"no operator is named {options.only}")
    if not options.columns or "accuracy" in options.columns:
        sweep_exponents(rows, options.jobs)
    if options.columns:
        return write_columns(rows, options.columns.split(","))
    said = compare_with_oracles(rows, options.edges)
    missing, wrong, unused = complete(rows, timed_operators())
    problems = wrong + lost(rows) + ([] if options.only else [f"reasons.txt: there is no {one}" for one in unused])
    print_table(rows)
    good = report(rows, missing, problems)
    if said:
        print(f"\noracles of edges say otherwise: {len(said)}", *said, sep="\n  ")
    if not options.only or options.store:
        stored = json.loads(PROOFS.read_text()) if options.only else {}
        for name, row in rows.items():
            stored[name] = {
                column: row["cells"][column]["proved"] or row["cells"][column]["reason"] for column in columns()
            }
        store(dict(sorted(stored.items())))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
