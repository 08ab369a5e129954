#!/usr/bin/env python3
"""The zoo: every network of networks.txt, compiled for every described processor, run here and compared.

    test/zoo/run.py                       all: exports what is missing into models/zoo, by export.py in .venv-zoo
    test/zoo/run.py --only 'timm.resnet'  those whose SOURCE.NAME contains the words, separated by commas
    test/zoo/run.py --limit 10            the first ten that are left
    test/zoo/run.py --jobs 1              one after the other; as many at once as there are cores else
    test/zoo/run.py --verify              `relay verify` of each for this machine, beside the evaluator, and no more
    test/zoo/run.py --forget              deletes each network that it exported once it has been looked at

Each is compiled for the described targets and for this machine, as it is and with features masked off; what this
machine is, runs, and is compared with double precision, in parts of the largest value, beside ONNX Runtime's error.
Some random networks amplify a rounding to a large difference: then what is allowed is how far ONNX Runtime's own result
moves with inputs a rounding away, or, for --verify, how far the evaluator in single precision is from that in double. A
network may be out only because the exporter fails or an operator is missing
(R0403): both are counted and named. All else fails the run.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

ZOO = pathlib.Path(__file__).resolve().parent
ROOT = ZOO.parents[1]
sys.path[:0] = [str(ROOT / "test/python/support"), str(ROOT / "python")]
from exporter import exported, networks  # noqa: E402
from programs import PROGRAM  # noqa: E402
from targets import DESCRIBED, MASKED, STRICT  # noqa: E402

os.environ["RELAY_CACHE"] = "off"
COMPILE_SECONDS, VERIFY_SECONDS = 300, 900
VERIFIED = 1e-3  # what `relay verify` allows
# Of the largest value: what any order of float32 sums may be off by, or a few times what ONNX Runtime is.
TOLERANCE, TIMES_PEER = 1e-4, 4
# R0403 is also said of a form of an operator that we do have: that one failed.
FORM = "give the inputs' shapes"
# If ONNX Runtime itself is this far off, the exporter changed the network, and ours is compared with its result.
EXPORTER_CHANGED = 1e-2


def process(command, seconds):
    """Exit status and the last of what it said; a process that takes too long is ended."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return 124, f"took longer than {seconds} s"
    return done.returncode, (done.stderr if done.returncode else done.stdout).strip()


def peer_session(path):
    """None where the peer cannot run it: then it is compared with double precision alone."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception:
        return None


def peer_result(session, inputs):
    try:
        given = dict(zip([port.name for port in session.get_inputs()], inputs, strict=False))
        return session.run(None, given)[0].astype(np.float64)
    except Exception:
        return None


def sensitivity(session, inputs, exact):
    """The largest error of the peer with inputs whose elements are a rounding away."""
    draw = np.random.default_rng(1)

    def near(array):
        if array.dtype != np.float32:
            return array
        return array * (1 + draw.choice([-1, 0, 1], array.shape) * 2.0**-23).astype(np.float32)

    return max(error_of(peer_result(session, [near(array) for array in inputs]), exact) for _ in range(8))


def error_of(got, exact):
    got = np.asarray(got, np.float64)
    if got.shape != exact.shape:
        return np.inf
    same = (np.isnan(got) == np.isnan(exact)).all()
    scale = np.nanmax(np.abs(exact)) if exact.size else 0
    return float(np.nanmax(np.abs(got - exact)) / (scale or 1)) if same else np.inf


def compiled(path, target, artifact):
    """Nothing, or what the compiler refused, in one line."""
    command = [PROGRAM, "compile", path, "--target", target, *STRICT, "-o", artifact]
    status, said = process(command, COMPILE_SECONDS)
    error = re.search(r"error.*", said)
    return "" if status == 0 else error.group() if error else f"exit status {status}: {said[-200:]}"


def check(path):
    """(what failed by target, the errors by target and of the peer)."""
    import relay

    arrays = np.load(path.with_suffix(".npz"))
    exact = arrays["exact"].astype(np.float64)
    inputs = [arrays[f"input{i}"] for i in range(len(arrays.files) - 1)]
    session = peer_session(path)
    result = session and peer_result(session, inputs)
    peer = None if result is None else error_of(result, exact)
    if peer is not None and peer > EXPORTER_CHANGED:
        exact = result
    failures, errors = {}, {"peer": peer}
    with tempfile.TemporaryDirectory() as folder:
        artifact = pathlib.Path(folder) / "compiled.rart"
        for target in [*MASKED, *DESCRIBED]:
            if refused := compiled(path, target, artifact):
                failures[target] = refused
                if "R0403" in refused:  # read before any target is looked at
                    break
                continue
            if target not in MASKED:
                continue
            try:
                got = relay.load(str(artifact))
                got = got(*inputs[: len(got.inputs)])
            except Exception as error:
                failures[target] = f"at run time: {str(error).strip().splitlines()[0][:200]}"
                continue
            got = got[0] if isinstance(got, tuple) else got
            errors[target] = error_of(got, exact)
            allowed = max(TOLERANCE, TIMES_PEER * (0 if exact is result else peer or 0))
            if not errors[target] <= allowed and peer is not None:
                errors["sensitivity"] = errors.get("sensitivity") or sensitivity(session, inputs, exact)
                allowed = max(allowed, TIMES_PEER * errors["sensitivity"])
            if not errors[target] <= allowed:
                failures[target] = f"is off by {errors[target]:.1e} of the largest value (ONNX Runtime: {peer})"
    return failures, errors


def verified(path):
    """The verdict of `relay verify`, empty if each result is right, and its line about the worst result."""
    command = [str(word) for word in (PROGRAM, "verify", path, "--tolerance", VERIFIED)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=VERIFY_SECONDS)
    except subprocess.TimeoutExpired:
        return f"took longer than {VERIFY_SECONDS} s", ""
    rows = [line for line in done.stdout.splitlines() if re.search(r" (right|different)\b", line)]
    worst = max(rows, key=lambda row: float(row.split()[2]), default="")
    if done.returncode == 0:
        return "", worst
    if done.returncode == 1 and " different" in worst:
        own = amplified(path)
        if float(worst.split()[2]) <= TIMES_PEER * own:
            return "", f"{worst} (the evaluator itself is off by {own:.0e})"
    return worst or (done.stderr.splitlines() or [f"exit status {done.returncode}"])[-1][:200], ""


def amplified(path):
    """The largest difference between the evaluator in single and in double precision, for the inputs and three random
    ones."""
    import relay

    module = relay.load(str(path))
    arrays = np.load(path.with_suffix(".npz"))
    given = [arrays[f"input{i}"] for i in range(len(arrays.files) - 1)]
    errors = []
    for seed in range(4):
        draw = np.random.default_rng(seed)
        if seed:
            given = [
                draw.uniform(-1, 1, a.shape).astype(a.dtype) if a.dtype.kind == "f" else draw.permutation(a)
                for a in given
            ]
        single, exact = (relay.evaluate(module, given, precision=name) for name in ("native", "float64"))
        single, exact = (v if isinstance(v, tuple) else (v,) for v in (single, exact))
        errors += [error_of(one, np.asarray(other, np.float64)) for one, other in zip(single, exact, strict=True)]
    return max(errors)


def look_at(entry, cache, python, verify, forget):
    """The same as `judged`, and afterwards the files that it exported are gone if they are to be forgotten."""
    path = cache / f"{'.'.join(entry)}.onnx"
    was_there = path.exists()
    try:
        return judged(entry, path, python, verify)
    finally:
        if forget and not was_there:
            for file in (path, path.with_suffix(".npz"), path.with_name(path.name + ".data")):
                file.unlink(missing_ok=True)


def judged(entry, path, python, verify):
    """(what became of the network, a line that says why it is out, its line of the table)."""
    label, begin = ".".join(entry), time.monotonic()
    if failed := exported(*entry, path, python):
        return "the exporter fails", f"the exporter fails: {label}: {failed}", ""
    if verify:
        wrong, worst = verified(path)
        line = f"{label:<46} {worst or wrong}  {time.monotonic() - begin:.0f} s"
        return "failed" if wrong else "held", "", line
    failures, errors = check(path)
    missing = next((text for text in failures.values() if FORM not in text and "R0403" in text), "")
    cells = ["-" if errors.get(key) is None else f"{errors[key]:.1e}" for key in (*MASKED, "peer")]
    by_text = collections.defaultdict(list)
    for target, text in failures.items():
        by_text[text].append(target)
    said = "; ".join(f"{' '.join(targets)}: {text}" for text, targets in by_text.items())
    if "sensitivity" in errors and not failures:
        said = f"(with inputs a rounding away ONNX Runtime is off by {errors['sensitivity']:.0e})"
    line = f"{label:<46} {' '.join(f'{cell:>8}' for cell in cells)}  {time.monotonic() - begin:>4.0f}  {said}"
    if missing:
        return "an operator is missing", f"an operator is missing: {label}: {missing}", line
    return "failed" if failures else "held", "", line


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", default="", help="words of SOURCE.NAME, separated by commas")
    arguments.add_argument("--limit", type=int, help="the first so many")
    arguments.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="networks at once")
    arguments.add_argument("--cache", type=pathlib.Path, default=ROOT / "models" / "zoo")
    arguments.add_argument("--python", default=ROOT / ".venv-zoo/bin/python", help="of the exporter's environment")
    arguments.add_argument("--forget", action="store_true", help="delete what was exported")
    arguments.add_argument("--verify", action="store_true", help="relay verify of each, for this machine")
    given = arguments.parse_args()
    given.cache.mkdir(parents=True, exist_ok=True)
    words = given.only.split(",")
    chosen = [entry for entry in networks() if any(word in ".".join(entry) for word in words)][: given.limit]
    counts, out = collections.Counter(), []
    columns = f"{'native':>8} {'AVX2':>8} {'no FMA':>8} {'peer':>8}  {'s':>4}  targets refused or wrong"
    verifying = "the worst result: absolute, relative, ulp, verdict"
    print(f"{'network':<46} {verifying if given.verify else columns}", flush=True)
    with concurrent.futures.ProcessPoolExecutor(given.jobs) as pool:
        looks = [pool.submit(look_at, entry, given.cache, given.python, given.verify, given.forget) for entry in chosen]
        for look in concurrent.futures.as_completed(looks):
            kind, why, line = look.result()
            counts[kind] += 1
            if why:
                out.append(why)
            if line:
                print(line, flush=True)
    print(*out, sep="\n")
    print(f"{len(chosen)} networks x {1 if given.verify else len(MASKED) + len(DESCRIBED)} targets: ", end="")
    print(", ".join(f"{count} {kind}" for kind, count in counts.most_common()) or "none")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
