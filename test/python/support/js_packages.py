"""JavaScript packages of compiled networks (docs/webassembly.md): their self-tests in Node and in wasmtime."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import ml_dtypes
import numpy as np
from programs import ROOT

NODE = shutil.which("node", path=f"{os.environ.get('PATH', '')}:{ROOT / '.venv/bin'}")
SELF_TESTS = ROOT / "test" / "wasm" / "self_tests.mjs"
STORAGE = {"bool": np.bool_, "bfloat16": ml_dtypes.bfloat16}


def in_node(folder, names):
    """The problems of the packages `names` in a folder, by name."""
    done = subprocess.run([NODE, SELF_TESTS, folder, *names], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def constant(path, name):
    """A constant of a script that is JSON."""
    text = re.search(rf"^const {name} = (.*?);(?:  //.*)?$", path.read_text(), re.DOTALL | re.MULTILINE)
    return json.loads(text[1])


def _dtype(name):
    known = STORAGE.get(name) or getattr(np, name, None)
    return np.dtype(known if known is not None else np.uint8)


def in_wasmtime(folder: pathlib.Path, names):
    """Likewise in wasmtime. Weights must be in the module."""
    import wasmtime

    config = wasmtime.Config()
    config.wasm_simd = True
    engine = wasmtime.Engine(config)
    problems = {}
    for name in names:
        problem = _run(wasmtime, engine, folder / name)
        if problem:
            problems[name] = problem
    return problems


def _run(wasmtime, engine, package):
    description = constant(package / "model.mjs", "description")
    vectors, tolerance = (constant(package / "test.mjs", name) for name in ("vectors", "tolerance"))
    recorded = (package / "test_vectors.bin").read_bytes()
    store = wasmtime.Store(engine)
    exports = wasmtime.Instance(store, wasmtime.Module.from_file(engine, str(package / "model.wasm")), []).exports(
        store
    )
    memory = exports["memory"]
    exports["relay_prepare"](store)

    def tensors(kind, offsets):
        described = description["state" if kind == "state" else f"{kind}s"]
        for i, (tensor, at) in enumerate(zip(described, offsets, strict=True)):
            dtype = _dtype(tensor["dtype"])
            count = int(np.prod(tensor["shape"], dtype=np.int64))
            values = np.frombuffer(recorded, dtype, count, at)
            yield tensor["name"], exports[f"relay_{kind}_{i}"].value(store), values

    for kind, offsets in (("input", vectors["inputs"]), ("state", vectors["state"])):
        for _, address, values in tensors(kind, offsets):
            memory.write(store, values.tobytes(), address)
    failure = exports["relay_run"](store)
    if failure:
        return description["failures"][failure - 1]
    for kind, offsets in (("output", vectors["outputs"]), ("state", vectors["newState"])):
        for name, address, want in tensors(kind, offsets):
            got = np.frombuffer(bytes(memory.read(store, address, address + want.nbytes)), want.dtype)
            if not _equal(got, want, tolerance):
                return f"{name}: {np.count_nonzero(got != want)} of {want.size} values differ"
    return None


def _equal(got, want, tolerance):
    """Equal bits, or both NaN; or within a part of the largest value."""
    if tolerance:
        wide = [np.asarray(values, np.float64) for values in (got, want)]
        return np.allclose(*wide, rtol=0, atol=tolerance * np.abs(wide[1]).max(initial=0), equal_nan=True)
    is_nan = np.isnan(want.astype(np.float64)) if want.dtype.kind in "fV" else np.zeros(want.shape, bool)
    same = got.view(f"u{want.dtype.itemsize}") == want.view(f"u{want.dtype.itemsize}")
    return bool(np.all(same | (is_nan & np.isnan(got.astype(np.float64)))) if is_nan.any() else np.all(same))
