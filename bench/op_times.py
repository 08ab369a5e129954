#!/usr/bin/env python3
"""Compares single operators with eager PyTorch, and with the limits of the machine.

    make bench-ops                                            all; writes docs/benchmarks/operators-CPU.md (summaries)
                                                              and build/benchmarks/operators-CPU.md (every row)
    .venv/bin/python bench/op_times.py --only 'nn.conv.*'     operators whose whole names match; writes no page
    .venv/bin/python bench/op_times.py --gradients            gradients of convolutions; writes no page

relay_op_cases scales an example of each operator to two sizes: its arrays take a quarter of the L2 cache, so that they
stay there, or four times the L2 cache, so that they do not. If an operator's inputs cannot be scaled, the example
itself is timed. Relay compiles the call alone. PyTorch computes the operator's oracle out of place with the same number
of threads on the same inputs, if the oracle is a single call of torch that does not return a view of its inputs. The
median of the runs counts. Beyond L2, PyTorch is also timed with out= given, if the call accepts it; Relay makes a new
array each time. The ceiling is the longer of two times: the operations at the measured speed of multiply-adds, and the
arrays at the measured speed of reading. bench/op_rows.py makes tables from the rows.
"""

import argparse
import ast
import contextlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / name) for name in ("bench", "test", "test/python/support")]
RESULTS = ROOT / "docs/benchmarks/operators.json"
CASES = ROOT / "build/release/bin/relay_op_cases"
SECONDS = 0.1  # per engine and size


def measured_operators():
    """Names of the operators that `make bench-ops` has timed."""
    return set(json.loads(RESULTS.read_text())["operators"]) if RESULTS.exists() else set()


def machine():
    """The figures that `relay doctor` measures on this machine, and the size of its L2 cache."""
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
    """True if an oracle only calls PyTorch on inputs and attributes; any other would compare Relay with Python."""
    tree = ast.parse(" ".join(code.split()), mode="eval")
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    loops = (ast.ListComp, ast.GeneratorExp, ast.Lambda)
    return names <= known | {"torch", "F", "output_shape"} and not any(isinstance(n, loops) for n in ast.walk(tree))


def is_view(result, inputs):
    """True if PyTorch's result shares memory with an input, so that no data was moved."""
    import torch

    def storages(value):
        if isinstance(value, (list, tuple)):
            return {storage for v in value for storage in storages(v)}
        return {value.untyped_storage().data_ptr()} if isinstance(value, torch.Tensor) else set()

    return not storages(result).isdisjoint(storages(list(inputs.values())))


_FUNCTIONS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.USub: "neg"}


def with_out(code):
    """The oracle as a call of a function of torch with out= given; None if it is anything else."""
    call = ast.parse(" ".join(code.split()), mode="eval").body
    if isinstance(call, ast.BinOp | ast.UnaryOp) and type(call.op) in _FUNCTIONS:
        given = [call.left, call.right] if isinstance(call, ast.BinOp) else [call.operand]
        function, named = _FUNCTIONS[type(call.op)], []
    elif isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
        of = call.func.value
        given, named = call.args if of.id == "torch" else [of, *call.args], call.keywords
        function = call.func.attr
        if of.id == "F":
            return None
    else:
        return None
    arguments = [ast.unparse(one) for one in given + named] + ["out=out"]
    return f"torch.{function}({', '.join(arguments)})"


def time_torch(case, inputs, with_result):
    """PyTorch's times: torch_us and, if `with_result` is set and the call accepts out=, out_us; or a reason for none."""
    import oracle
    import torch

    code = oracle.compiled(case["oracle"], inputs, case["attrs"], case["output_shape"])
    with torch.no_grad():
        try:
            result = code()
            if is_view(result, inputs):
                return {"torch": "a view"}
            row = {"torch_us": median_us(code)}
        except Exception as error:  # an oracle that only works for float64 or NumPy's types
            return {"torch": f"{type(error).__name__}"}
        if with_result and (given := with_out(case["oracle"])):
            attrs = {**case["attrs"], "out": result.clone() if isinstance(result, torch.Tensor) else result}
            code = oracle.compiled(given, inputs, attrs, case["output_shape"])
            with contextlib.suppress(AttributeError, TypeError, RuntimeError):  # no overload accepts out=
                row["out_us"] = median_us(code)
        return row


def median_us(run):
    """The median time of a call; short calls are timed in batches."""
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
    """The array in `dtype`, if that is a type that array files cannot hold, such as int4."""
    import ml_dtypes
    import numpy as np

    if dtype and not hasattr(np, dtype) and dtype != "bool" and hasattr(ml_dtypes, dtype):
        return array.astype(getattr(ml_dtypes, dtype))
    return array


def time_case(job):
    """A row for one size of an operator, or the reason for its absence."""
    import numpy as np
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
    model = relay.compile(module, threads=threads, tier="full")
    results = model(*arrays)
    results = list(results) if isinstance(results, (tuple, list)) else [results]
    size = sum(a.nbytes for a in arrays) + sum(r.nbytes for r in results)
    flops = sum(group["flops"] for group in model.report["groups"])
    fits = "L2" if size <= figures["l2_bytes"] else "L3"
    row = {
        "op": case["op"],
        "shapes": case["shapes"],
        "fits": fits,
        "threads": threads,
        "bytes": size,
        "us": median_us(lambda: model(*arrays)),
        "compute_us": flops / (threads * figures["gflops"] * 1e3),
        "memory_us": size / (threads * figures[f"{fits.lower()}_gbps"] * 1e3),
        "is_view": any(np.may_share_memory(r, a) for r in results for a in arrays),
    }
    if not is_torch(case["oracle"], {*case["inputs"], *case["attrs"]}):
        return row
    given = iter(torch.from_numpy(a) for a in arrays)
    inputs = {
        name: [next(given) for _ in entry] if isinstance(entry, list) else next(given)
        for name, entry in case["inputs"].items()
    }
    return row | time_torch(case, inputs, fits == "L3")


def measure(only, threads, figures):
    """(rows, failed): the operators with each number of threads, and the reasons why others were not timed."""
    from suite import Workers, progress

    import relay

    fusion = {one["name"]: one["fusion"] for one in relay._core.operators()}
    rows, failed = [], []
    for title, size in (("L2", figures["l2_bytes"] // 4), ("L3", figures["l2_bytes"] * 4)):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([CASES, folder, "--bytes", str(size), *only], check=True)
            cases = json.loads((pathlib.Path(folder) / "cases.json").read_text())
            scaled = {case["op"] for case in cases if case["scaled"]}
            jobs = {(case["name"], n): (folder, case, n, figures) for case in cases for n in threads}
            plain = {case["op"]: case["name"] for case in cases if not case["scaled"]}
            workers = Workers(lambda key, jobs=jobs: _row(jobs[key]), lambda why: {"failed": why}, 1, 60, 16384)
            keys = [k for k, job in jobs.items() if job[1]["scaled"] or (title == "L2" and job[1]["op"] not in scaled)]
            done = dict(progress(workers.run(keys), len(keys)))
            if title == "L2":  # operators that only accept the example's inputs: time the example
                again = [(plain[jobs[k][1]["op"]], k[1]) for k, row in done.items()
                         if "failed" in row and jobs[k][1]["scaled"]]  # fmt: skip
                done |= dict(progress(workers.run(again), len(again)))
            for key, row in done.items():
                if "failed" not in row:
                    rows.append(row | {"fusion": fusion[row["op"]]})
                elif not jobs[key][1]["scaled"]:
                    failed.append(f"{key[0]}, {title}: {row['failed']}")
    return rows, failed


def _row(job):
    try:
        return time_case(job)
    except Exception as error:  # any error counts for this operator alone
        return {"failed": f"{type(error).__name__}: {error}"[:200]}


def numbers(text):
    """[1, 2] for "1,2"."""
    return [int(part) for part in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description="Compares single operators with PyTorch.")
    parser.add_argument(
        "--only", default="", metavar="REGEX", help="only operators whose whole names match; writes no page"
    )
    parser.add_argument("--gradients", action="store_true", help="only gradients of convolutions; writes no page")
    parser.add_argument(
        "--threads", type=numbers, default=[1, 2], metavar="N,N", help="thread counts, for both engines (default 1,2)"
    )
    arguments = parser.parse_args()
    import conv_gradients
    import op_rows
    import run
    import torch

    import relay

    os.environ["RELAY_CACHE"] = "off"
    load = run.machine_load()
    figures = machine()
    if arguments.gradients:
        print(op_rows.gradient_table(conv_gradients.measure(arguments.threads, figures["gflops"], median_us)))
        return 0
    names = [name for name in relay.operators() if re.fullmatch(arguments.only or ".*", name)]
    rows, failed = measure(names, arguments.threads, figures)
    print(op_rows.table(rows))
    print(op_rows.summary(rows))
    print(op_rows.verdicts(rows))
    print(*failed, sep="\n")
    if arguments.only:
        return 1 if failed else 0
    # Last, because the workers of single operators are forked, which a process that has used threads must not do.
    gradients = op_rows.gradient_table(conv_gradients.measure(arguments.threads, figures["gflops"], median_us))
    print(gradients)
    RESULTS.write_text(json.dumps({"operators": sorted({r["op"] for r in rows})}, indent=0) + "\n")
    page = ROOT / "docs/benchmarks" / f"operators-{run.slug(run.cpu_name())}.md"
    page.write_text(f"""<!-- Written by bench/op_times.py. Do not edit. -->
# Operators: {run.cpu_name()}

Each operator alone, compared with PyTorch {torch.__version__.split("+")[0]} out of place with the same number of threads,
if the operator is a single call of PyTorch; measured {time.strftime("%Y-%m-%d")}. Bandwidth-bound operators compute
each element from a few others, in less time than reading and writing the arrays takes. The table shows geometric means
of PyTorch's time over Relay's, and of the ceiling over Relay's time:

{op_rows.summary(rows)}

The ceiling is the longer of two times: the operations at {figures["gflops"]:.0f} GFLOP/s per core, and the arrays at
{figures["l2_gbps"]:.0f} GB/s (L2) or {figures["l3_gbps"]:.0f} GB/s (L3) per core, as `relay doctor` measures them. A
byte that is written counts like a byte that is read. In both engines, a call has an overhead of one or two
microseconds. With `out=`, PyTorch writes into an existing array; Relay makes a new one.
{run.busy(load)}
Goals of the bandwidth-bound operators:

{op_rows.verdicts(rows)}

## Gradients of convolutions

{gradients}

To repeat: `make bench-ops`. It also writes the times of every operator, to a file of the same name in build/benchmarks/.
""")
    complete = ROOT / "build" / "benchmarks" / page.name
    complete.parent.mkdir(parents=True, exist_ok=True)
    untimed = "\n".join(f"- not timed: {why}" for why in failed)
    complete.write_text(f"# All operators: {run.cpu_name()}\n\n{op_rows.table(rows)}\n\n{untimed}\n")
    print(f"bench: wrote {page.relative_to(ROOT)} and {complete.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
