"""Compares Relay with JAX: programs of JAX come in as StableHLO, and operators go out to XLA's CPU client and to PJRT
plugins.

make test-stablehlo                              all; prints the counts
test/stablehlo/run.py --part plugins             only the runs on PJRT plugins
test/stablehlo/run.py --only conv --show         cases with this in their name, with the messages of failures
test/stablehlo/run.py --record                   writes the modules and results of test/python/stablehlo/recorded
"""

import argparse
import collections
import functools
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "build" / "test-stablehlo"), str(ROOT / "test" / "python")]
sys.path.append(str(ROOT / "test" / "python" / "support"))  # which has modules of the names of those here
os.environ.update(JAX_PLATFORMS="cpu", CUDA_VISIBLE_DEVICES="-1")

import jax  # noqa: E402
import jax.export  # noqa: E402
import numpy as np  # noqa: E402
import outward  # noqa: E402
import pjrt_plugins  # noqa: E402
import programs  # noqa: E402

import relay  # noqa: E402

RECORDED = ROOT / "test" / "python" / "stablehlo" / "recorded"
# Relative to the largest value: float32 sums in another order, and functions that differ by a few ULP; halves.
CLOSE, CLOSE_HALF = 1e-5, 2e-3


def leaves(found) -> list[np.ndarray]:
    return [np.asarray(one) for one in jax.tree.leaves(found)]


def difference(ours: list, theirs: list) -> str:
    """Returns the first difference; empty if there is none."""
    if len(ours) != len(theirs):
        return f"{len(ours)} results, not {len(theirs)}"
    for position, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"result {position} is {a.dtype}{a.shape}, not {b.dtype}{b.shape}"
        if b.dtype.kind in "iub":
            if not np.array_equal(a, b):
                return f"result {position} differs: {a.ravel()[:9]}, not {b.ravel()[:9]}"
            continue
        a, b = a.astype("float64"), b.astype("float64")
        close = CLOSE if theirs[position].dtype.itemsize >= 4 else CLOSE_HALF
        finite = np.abs(b[np.isfinite(b)])
        if not np.allclose(a, b, rtol=close, atol=close * max(finite.max(initial=0), 1e-30), equal_nan=True):
            return f"result {position} differs: {a.ravel()[:9]}, not {b.ravel()[:9]}"
    return ""


def outputs(model, args: list) -> list[np.ndarray]:
    found = model(*args)
    found = list(found) if isinstance(found, (tuple, list)) else [found]
    return [np.asarray(relay.data.arrays.as_numpy(one)) for one in found]


def come_in(name: str, function, args) -> str:
    """Returns the problem of a program that comes in; empty if Relay equals JAX."""
    wanted = leaves(jax.jit(function)(*args))
    lowered = jax.jit(function, keep_unused=True).lower(*args)
    given = leaves(args)
    model = relay.compile(relay.frontend.from_stablehlo(lowered))
    return difference(outputs(model, given), wanted)


def open_sizes(name: str, function, shapes) -> str:
    """Returns the problem of a program with open sizes, as bytecode that JAX exports."""
    scope = jax.export.SymbolicScope()
    given = [jax.ShapeDtypeStruct(jax.export.symbolic_shape(one, scope=scope), "float32") for one in shapes]
    content = jax.export.export(jax.jit(function))(*given).mlir_module_serialized
    model = relay.compile(relay.frontend.from_stablehlo(bytes(content)))
    for size in (1, 2, 5):
        sizes = [[int(one) if one.strip().isdigit() else size for one in shape.split(",")] for shape in shapes]
        args = [programs.f32(*one) for one in sizes]
        if problem := difference(outputs(model, args), leaves(jax.jit(function)(*args))):
            return f"size {size}: {problem}"
    return ""


def attempt(check, *args) -> str:
    try:
        return check(*args)
    except relay.CompileError as error:
        return str(error)
    except relay.InternalError as error:
        return f"internal error: {error}"


def go_out(case: dict) -> tuple[str, str]:
    """Returns the problems of an operator that goes out to XLA, and that comes in again."""
    text = relay.to_stablehlo(case["build"]())
    try:
        theirs = outward.run_on_xla(text, case["inputs"])
    except Exception as error:  # XLA's and MLIR's errors have no common class
        return f"XLA says: {error}", "not tried"
    out = near(theirs, case["outputs"])
    back = attempt(lambda: near(outputs(relay.compile(relay.frontend.from_stablehlo(text)), case["inputs"]), theirs))
    return out, back


def near(found: list, wanted: list) -> str:
    """Returns the first difference, where the wanted results may be wider floats."""
    if len(found) != len(wanted):
        return f"{len(found)} results, not {len(wanted)}"
    return difference(
        found, [b.astype(a.dtype) if b.dtype.kind == "f" else b for a, b in zip(found, wanted, strict=True)]
    )


def there_and_back(name: str, function, args) -> str:
    """Returns the problem of a program of JAX that comes in and goes out to XLA again."""
    lowered = jax.jit(function, keep_unused=True).lower(*args)
    text = relay.to_stablehlo(relay.frontend.from_stablehlo(lowered))
    return difference(outward.run_on_xla(text, leaves(args)), leaves(jax.jit(function)(*args)))


def check_operators(only: str, show: bool) -> int:
    cases = [one for one in outward.load() if only in one["name"]]
    refused, right, again, failed = collections.Counter(), 0, 0, 0
    for case in cases:
        try:
            out, back = go_out(case)
        except relay.CompileError as error:
            refused[case["op"]] += 1
            if show:
                print(f"{case['name']} is refused: {error}")
            continue
        except Exception as error:  # a fault of the export, which no case may have
            out, back = f"{type(error).__name__}: {error}", "not tried"
        right, again, failed = right + (not out), again + (not back), failed + bool(out or back)
        for way, problem in (("out", out), ("in", back)):
            if problem:
                print(f"{case['name']} {way}: {problem if show else problem.splitlines()[0][:200]}", flush=True)
    written = len(cases) - sum(refused.values())
    operators = {one["op"] for one in cases}
    print(f"examples of operators: {len(cases)}, of {len(operators)} operators; written: {written}")
    print(f"examples out: {right} of {written} equal Relay on XLA; in again: {again} of {written}")
    print(f"refused: {', '.join(f'{name} {count}' for name, count in sorted(refused.items()))}")
    return failed


def record(name: str, function, args) -> None:
    RECORDED.mkdir(parents=True, exist_ok=True)
    lowered = jax.jit(function, keep_unused=True).lower(*args)
    (RECORDED / f"{name}.mlir").write_text(lowered.as_text("stablehlo"))
    wanted = leaves(jax.jit(function)(*args))
    named = {f"in{i}": one for i, one in enumerate(leaves(args))} | {f"out{i}": one for i, one in enumerate(wanted)}
    np.savez(RECORDED / f"{name}.npz", **named)


def of_jax(function, args) -> tuple:
    """Returns the module of a program of JAX, its inputs and its results."""
    lowered = jax.jit(function, keep_unused=True).lower(*args)
    return relay.frontend.from_stablehlo(lowered), leaves(args), leaves(jax.jit(function)(*args))


def on_plugin(plugin, module, args: list, wanted: list) -> str | None:
    """Returns the problem of a program on a PJRT plugin; None if the program cannot be written."""
    try:
        relay.to_stablehlo(module)
    except relay.CompileError:
        return None
    return near(relay.pjrt.compile(module, plugin).run([relay.array(one) for one in args]), wanted)


# Programs that a plugin computes wrongly: the same text is right elsewhere, and has other results at each run here.
WRONG = {("lammps-jax-pjrt-cpu", "atan2_special")}


def check_plugins(only: str, show: bool) -> int:
    """Runs the programs of JAX and the examples of operators on each plugin. Returns the number of failures."""
    jax_programs = [
        (name, functools.partial(of_jax, *one)) for name, one in (programs.NETWORKS | programs.CASES).items()
    ]
    cases = [(one["name"], lambda one=one: (one["build"](), one["inputs"], one["outputs"])) for one in outward.load()]
    failed = 0
    for name, path in pjrt_plugins.ALL.items():
        plugin = relay.pjrt.load(path)
        for kind, held in (("programs of JAX", jax_programs), ("examples of operators", cases)):
            counts = collections.Counter()
            for title, parts in held:
                if only not in title:
                    continue
                problem = attempt(lambda parts=parts, plugin=plugin: on_plugin(plugin, *parts()))
                known = problem and (name, title) in WRONG
                counts["refused" if problem is None else "known" if known else "failed" if problem else "right"] += 1
                if problem and not known:
                    print(f"{title} on {name}: {problem if show else problem.splitlines()[0]}", flush=True)
            ran = counts["right"] + counts["failed"] + counts["known"]
            print(
                f"{kind} on {name} (PJRT {plugin.version}): {counts['right']} of {ran} agree; "
                f"{counts['known']} are wrong as known, {counts['refused']} are not written",
                flush=True,
            )
            failed += counts["failed"]
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases with this in their name")
    parser.add_argument("--show", action="store_true", help="print the messages of failures in full")
    parser.add_argument("--record", action="store_true", help="write the recorded networks, and stop")
    parser.add_argument("--part", choices=["all", "programs", "operators", "plugins"], default="all")
    options = parser.parse_args()
    if options.record:
        for name, (function, args) in programs.NETWORKS.items():
            record(name, function, args)
        return 0
    failed = 0
    if options.part == "operators":
        return 1 if check_operators(options.only, options.show) else 0
    if options.part == "plugins":
        return 1 if check_plugins(options.only, options.show) else 0
    for title, cases in (("networks", programs.NETWORKS), ("operations", programs.CASES)):
        chosen = {name: one for name, one in cases.items() if options.only in name}
        problems = {}
        for name, (function, args) in chosen.items():
            if problem := attempt(come_in, name, function, args):
                problems[name] = problem
                print(f"{name}: {problem if options.show else problem.splitlines()[0]}", flush=True)
        print(f"{title} in: {len(chosen) - len(problems)} of {len(chosen)} equal JAX", flush=True)
        failed += len(problems)
    chosen = {name: one for name, one in programs.OPEN.items() if options.only in name}
    problems = {name: one for name, held in chosen.items() if (one := attempt(open_sizes, name, *held))}
    for name, problem in problems.items():
        print(f"{name} with open sizes: {problem if options.show else problem.splitlines()[0]}")
    print(f"programs with open sizes, as bytecode: {len(chosen) - len(problems)} of {len(chosen)} equal JAX")
    failed += len(problems)
    chosen = {name: one for name, one in (programs.NETWORKS | programs.CASES).items() if options.only in name}
    problems = {name: one for name, held in chosen.items() if (one := attempt(there_and_back, name, *held))}
    for name, problem in problems.items():
        print(f"{name} there and back: {problem if options.show else problem.splitlines()[0]}")
    print(f"programs in and out: {len(chosen) - len(problems)} of {len(chosen)} equal JAX on XLA")
    failed += len(problems)
    if options.part == "all":
        failed += check_operators(options.only, options.show) + check_plugins(options.only, options.show)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
