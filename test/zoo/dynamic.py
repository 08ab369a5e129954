#!/usr/bin/env python3
"""The networks of dynamic_networks.py, each compiled once and run at several sizes: the same as PyTorch in double
precision, and as ONNX Runtime.

    test/zoo/dynamic.py              all: exports what is missing into models/zoo/dynamic, in .venv-zoo
    test/zoo/dynamic.py bert gpt2    these

An error is a part of the largest value of a result. It may be 1e-4, or four times that of ONNX Runtime.
"""

import argparse
import os
import pathlib
import subprocess
import sys

import numpy as np

ZOO = pathlib.Path(__file__).resolve().parent
ROOT = ZOO.parents[1]
sys.path[:0] = [str(ROOT / "python")]
os.environ["RELAY_CACHE"] = "off"
TOLERANCE, TIMES_PEER, EXPORT_SECONDS = 1e-4, 4, 900


def exported(name, cache, python):
    path = cache / f"{name}.onnx"
    if path.exists() and path.stat().st_mtime > (ZOO / "dynamic_networks.py").stat().st_mtime:
        return path
    cache.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [str(python), str(ZOO / "dynamic_networks.py"), name, str(path)],
        capture_output=True,
        text=True,
        timeout=EXPORT_SECONDS,
    )
    if done.returncode:
        raise RuntimeError(f"the exporter fails: {(done.stderr.strip().splitlines() or ['?'])[-1][:300]}")
    return path


def error_of(got, exact):
    got = np.asarray(got)
    if got.shape != exact.shape:
        return np.inf
    if got.dtype.kind in "iub":
        return float((got != exact).any())
    scale = np.abs(exact).max() if exact.size else 0
    return float(np.abs(got.astype(np.float64) - exact).max() / (scale or 1)) if exact.size else 0.0


def check(path):
    """The errors at each size, of ours and of the peer, and what is wrong."""
    import onnxruntime

    import relay

    arrays = np.load(path.with_suffix(".npz"))
    model = relay.compile(str(path))
    onnxruntime.set_default_logger_severity(4)
    peer = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    ours, theirs, wrong = [], [], []
    for size in sorted({key.split("/")[0] for key in arrays.files}):
        inputs = {k.split("/")[2]: arrays[k] for k in arrays.files if k.startswith(f"{size}/input/")}
        exact = [arrays[k] for k in sorted(k for k in arrays.files if k.startswith(f"{size}/output/"))]
        taken = {port.name for port in peer.get_inputs()}
        inputs = {name: a for name, a in inputs.items() if name in taken}
        got = model(**inputs)
        want = peer.run(None, inputs)
        got = got if isinstance(got, tuple) else (got,)
        ours.append(max(error_of(g, e) for g, e in zip(got, exact, strict=True)))
        theirs.append(max(error_of(w, e) for w, e in zip(want, exact, strict=True)))
        if not ours[-1] <= max(TOLERANCE, TIMES_PEER * theirs[-1]):
            wrong.append(f"at {[list(a.shape) for a in inputs.values()]}: off by {ours[-1]:.1e} ({theirs[-1]:.1e})")
    return ours, theirs, wrong


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("names", nargs="*")
    arguments.add_argument("--cache", type=pathlib.Path, default=ROOT / "models" / "zoo" / "dynamic")
    arguments.add_argument("--python", default=ROOT / ".venv-zoo/bin/python", help="of the exporter's environment")
    given = arguments.parse_args()
    listed = subprocess.run(
        [str(given.python), str(ZOO / "dynamic_networks.py"), "--list"], capture_output=True, text=True, check=True
    )
    failed, names = 0, given.names or listed.stdout.split()
    print(f"{'network':<20} {'sizes':>5} {'error':>8} {'peer':>8}")
    for name in names:
        try:
            ours, theirs, wrong = check(exported(name, given.cache, given.python))
            print(f"{name:<20} {len(ours):>5} {max(ours):>8.1e} {max(theirs):>8.1e}  {'; '.join(wrong)}", flush=True)
        except Exception as error:
            wrong = [str(error).strip().splitlines()[0][:300]]
            print(f"{name:<20} {wrong[0]}", flush=True)
        failed += bool(wrong)
    print(f"{len(names)} networks at several sizes each: {len(names) - failed} held, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
