#!/usr/bin/env python3
"""Single operators beside eager PyTorch, and beside what the machine can do.

    make bench-ops                                            all; writes docs/benchmarks/operators-CPU.md
    .venv/bin/python bench/op_times.py --only 'nn.conv.*'     operators whose whole names match, printed only

relay_op_cases scales an example of each operator until its arrays take a quarter of the L2 cache, and four times as
much as it: once they stay in the cache, once they do not. Of an operator whose inputs have no sizes the example itself is
timed. Relay compiles the call alone. PyTorch computes the operator's oracle out of place, where that is one call of
torch that does not give a view of its inputs, with as many threads, on the same inputs; the median of the runs counts.
The ceiling is the time that the
operations need at the measured speed of multiply-adds, or the arrays at that of reading, whichever is longer.
"""

import argparse
import ast
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / name) for name in ("bench", "test", "test/python")]
RESULTS = ROOT / "docs/benchmarks/operators.json"
CASES = ROOT / "build/release/bin/relay_op_cases"
SECONDS = 0.15  # for each engine and size


def measured_operators():
    """Names of the operators that make bench-ops has timed."""
    return set(json.loads(RESULTS.read_text())["operators"]) if RESULTS.exists() else set()


def machine():
    """What `relay doctor` measures of this machine, and the size of its L2 cache."""
    said = subprocess.run([ROOT / ".venv/bin/relay", "doctor"], capture_output=True, text=True, check=True).stdout

    def figure(pattern):
        return float(re.search(pattern, said).group(1))

    return {
        "l2_bytes": int(figure(r"L2 (\d+) [KM]iB") * (2**20 if re.search(r"L2 \d+ MiB", said) else 2**10)),
        "gflops": figure(r"multiply-add +([\d.]+)"),
        "l2_gbps": figure(r"L2 read +([\d.]+)"),
        "l3_gbps": figure(r"L3 read +([\d.]+)"),
    }


def is_torch(code, known):
    """Whether an oracle is calls of PyTorch on inputs and attributes; others would compare Relay with Python."""
    tree = ast.parse(" ".join(code.split()), mode="eval")
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    loops = (ast.ListComp, ast.GeneratorExp, ast.Lambda)
    return names <= known | {"torch", "F", "output_shape"} and not any(isinstance(n, loops) for n in ast.walk(tree))


def is_view(result, inputs):
    """Whether PyTorch gives memory of an input, and so moved nothing."""
    import torch

    def storages(value):
        if isinstance(value, (list, tuple)):
            return {storage for v in value for storage in storages(v)}
        return {value.untyped_storage().data_ptr()} if isinstance(value, torch.Tensor) else set()

    return not storages(result).isdisjoint(storages(list(inputs.values())))


def median_us(run):
    """The median time of a call; short ones are timed many at once."""
    times, many, end = [], 1, time.perf_counter() + SECONDS
    run()
    while len(times) < 3 or time.perf_counter() < end:
        begin = time.perf_counter()
        for _ in range(many):
            run()
        took = time.perf_counter() - begin
        if took < 2e-5 and not times:
            many *= 2
            continue
        times.append(took / many * 1e6)
    return statistics.median(times)


def _several(entry):
    return entry if isinstance(entry, list) else [entry]


def stored_as(array, dtype):
    """An array of a type that files of arrays do not have, such as int4."""
    import ml_dtypes
    import numpy as np

    if dtype and not hasattr(np, dtype) and dtype != "bool" and hasattr(ml_dtypes, dtype):
        return array.astype(getattr(ml_dtypes, dtype))
    return array


def time_case(job):
    """One size of an operator: a dictionary of figures, or a reason."""
    import oracle
    import torch
    from safetensors.numpy import load_file

    import relay

    folder, case, threads, figures = job
    torch.set_num_threads(threads)
    tensors = load_file(pathlib.Path(folder) / "cases.safetensors")
    names = [n for entry in case["inputs"].values() for n in _several(entry)]
    types = [case["dtypes"].get(name) for name, entry in case["inputs"].items() for _ in _several(entry)]
    arrays = [stored_as(tensors[n], dtype) for n, dtype in zip(names, types, strict=True)]
    module = relay.parse(case["program"])
    model = relay.compile(module, threads=threads)
    results = model(*arrays)
    results = list(results) if isinstance(results, (tuple, list)) else [results]
    size = sum(a.nbytes for a in arrays) + sum(r.nbytes for r in results)
    flops = sum(group["flops"] for group in model.report["groups"])
    ours = median_us(lambda: model(*arrays))
    speed = figures["l2_gbps"] if size <= figures["l2_bytes"] else figures["l3_gbps"]
    ceiling = max(flops / (threads * figures["gflops"] * 1e3), size / (speed * 1e3))
    row = {"op": case["op"], "shapes": case["shapes"], "bytes": size, "us": ours, "ceiling_us": ceiling}
    if is_torch(case["oracle"], {*case["inputs"], *case["attrs"]}):
        given = iter(torch.from_numpy(a) for a in arrays)
        inputs = {
            name: [next(given) for _ in entry] if isinstance(entry, list) else next(given)
            for name, entry in case["inputs"].items()
        }
        code = oracle.compiled(case["oracle"], inputs, case["attrs"], case["output_shape"])
        with torch.no_grad():
            try:
                if is_view(code(), inputs):
                    row["torch"] = "a view"
                else:
                    row["torch_us"] = median_us(code)
            except Exception as error:  # an oracle for float64 or for NumPy's types
                row["torch"] = f"{type(error).__name__}"
    return row


def measure(only, threads):
    from suite import Workers, progress

    figures = machine()
    rows, failed = [], []
    for title, size in (("L2", figures["l2_bytes"] // 4), ("L3", figures["l2_bytes"] * 4)):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([CASES, folder, "--bytes", str(size), *only], check=True)
            cases = json.loads((pathlib.Path(folder) / "cases.json").read_text())
            scaled = {case["op"] for case in cases if case["scaled"]}
            jobs = {case["name"]: (folder, case, threads, figures) for case in cases}
            plain = {case["op"]: case["name"] for case in cases if not case["scaled"]}
            workers = Workers(lambda name, jobs=jobs: _row(jobs[name]), lambda why: {"failed": why}, 1, 60, 16384)
            names = [n for n, job in jobs.items() if job[1]["scaled"] or (title == "L2" and job[1]["op"] not in scaled)]
            done = dict(progress(workers.run(names), len(names)))
            if title == "L2":  # what other inputs than the example's do not fit: the example
                again = [plain[jobs[n][1]["op"]] for n, row in done.items() if "failed" in row and jobs[n][1]["scaled"]]
                done |= dict(progress(workers.run(again), len(again)))
            for name, row in done.items():
                if "failed" not in row:
                    rows.append(row | {"fits": title})
                elif not jobs[name][1]["scaled"]:
                    failed.append(f"{name}, {title}: {row['failed']}")
    return figures, rows, failed


def _row(job):
    try:
        return time_case(job)
    except Exception as error:  # whatever it is, it is this operator's
        return {"failed": f"{type(error).__name__}: {error}"[:200]}


def table(rows):
    head = ["operator", "inputs", "in", "Relay, us", "PyTorch / Relay", "ceiling / Relay"]
    lines = [f"| {' | '.join(head)} |", "| --- | --- | --- | ---: | ---: | ---: |"]
    for r in sorted(rows, key=lambda r: (r["op"], r["bytes"])):
        ratio = f"{r['torch_us'] / r['us']:.2f}" if "torch_us" in r else "-"
        share = r["ceiling_us"] / r["us"]
        lines.append(f"| {r['op']} | {r['shapes']} | {r['fits']} | {r['us']:.1f} | {ratio} | {share:.2f} |")
    return "\n".join(lines)


def summary(rows):
    lines = []
    for fits in ("L2", "L3"):
        ratios = [r["torch_us"] / r["us"] for r in rows if r["fits"] == fits and "torch_us" in r]
        if ratios:
            mean = math.exp(statistics.fmean(map(math.log, ratios)))
            slower = sum(ratio < 1 for ratio in ratios)
            lines.append(f"- arrays in {fits}: {mean:.2f} over {len(ratios)} operators, {slower} of them below 1")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description="Times single operators beside PyTorch.")
    parser.add_argument("--only", default="", metavar="REGEX", help="operators whose whole names match; no page then")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="of both (default 1)")
    arguments = parser.parse_args()
    import run
    import torch

    import relay

    os.environ["RELAY_CACHE"] = "off"
    load = run.machine_load()
    names = [name for name in relay.operators() if re.fullmatch(arguments.only or ".*", name)]
    figures, rows, failed = measure(names, arguments.threads)
    print(table(rows))
    print(summary(rows))
    print(*failed, sep="\n")
    if arguments.only:
        return 1 if failed else 0
    RESULTS.write_text(json.dumps({"operators": sorted({r["op"] for r in rows})}, indent=0) + "\n")
    page = ROOT / "docs/benchmarks" / f"operators-{run.slug(run.cpu_name())}.md"
    page.write_text(f"""<!-- Written by bench/op_times.py. Do not edit. -->
# Operators: {run.cpu_name()}

Each operator alone, {arguments.threads} thread, beside PyTorch {torch.__version__.split("+")[0]} out of place with as many, where the
operator is one call of PyTorch; measured {time.strftime("%Y-%m-%d")}. PyTorch's time over Relay's, geometric mean:

{summary(rows)}

The ceiling is the time of the operations at {figures["gflops"]:.0f} GFLOP/s, or of the arrays at {figures["l2_gbps"]:.0f} GB/s (L2) and
{figures["l3_gbps"]:.0f} GB/s (L3), as `relay doctor` measures them; calls take a few microseconds to begin, in both.
{run.busy(load)}
{table(rows)}

{chr(10).join(f"- not timed: {why}" for why in failed)}

To repeat: `make bench-ops`.
""")
    print(f"bench: wrote {page.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
