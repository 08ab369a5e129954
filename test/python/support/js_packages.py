"""JavaScript packages of compiled networks: their self-tests in Node and in wasmtime (docs/webassembly.md), and on
lavapipe, a Vulkan driver for CPUs, by wgpu (docs/webgpu.md).
"""

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


def on_lavapipe(folder: pathlib.Path, names):
    """Likewise on a Vulkan driver for CPUs, for packages of WGSL."""
    import wgpu

    adapters = [a for a in wgpu.gpu.enumerate_adapters_sync() if a.info["backend_type"] == "Vulkan"]
    assert adapters, "there is no Vulkan driver: the package mesa-vulkan-drivers, which `dev/setup wasm` installs"
    device = adapters[0].request_device_sync(
        required_limits={
            name: adapters[0].limits[name] for name in ("max-buffer-size", "max-storage-buffer-binding-size")
        }
    )
    problems = {}
    for name in names:
        try:
            problem = _run_wgsl(wgpu, device, folder / name)
        except wgpu.GPUError as error:
            problem = str(error)
        if problem:
            problems[name] = problem
    return problems


def _run_wgsl(wgpu, device, package):
    description = constant(package / "model.mjs", "description")
    vectors, tolerance = (constant(package / "test.mjs", name) for name in ("vectors", "tolerance"))
    recorded = (package / "test_vectors.bin").read_bytes()
    gpu, usage = description["gpu"], wgpu.BufferUsage
    memory = device.create_buffer(size=max(gpu["bytes"], 4), usage=usage.STORAGE | usage.COPY_SRC | usage.COPY_DST)
    entry = {"binding": 0, "visibility": wgpu.ShaderStage.COMPUTE, "buffer": {"type": wgpu.BufferBindingType.storage}}
    layout = device.create_bind_group_layout(entries=[entry])
    group = device.create_bind_group(layout=layout, entries=[{"binding": 0, "resource": {"buffer": memory}}])
    shared, *parts = re.split("^// --- ", (package / "model.wgsl").read_text(), flags=re.MULTILINE)
    modules = {
        part.split("\n")[0]: device.create_shader_module(code=shared + part[part.index("\n") :]) for part in parts
    }
    whole = device.create_pipeline_layout(bind_group_layouts=[layout])

    def run(steps):
        for step in steps:
            if "copy" in step:
                source, to, size = step["copy"]
                device.queue.write_buffer(memory, to, device.queue.read_buffer(memory, source, size))
                continue
            kernel = gpu["kernels"][step["kernel"]]
            constants = {f"relay_array_{i}": word for i, word in enumerate(step["arrays"])}
            if "scratch" in step:
                constants["relay_scratch"] = step["scratch"]
            entry = kernel["entry"]
            stage = {"module": modules[entry], "entry_point": entry, "constants": constants}
            encoder = device.create_command_encoder()
            compute = encoder.begin_compute_pass()
            compute.set_pipeline(device.create_compute_pipeline(layout=whole, compute=stage))
            compute.set_bind_group(0, group)
            compute.dispatch_workgroups(kernel["groups"])
            compute.end()
            device.queue.submit([encoder.finish()])

    if description["weights"]:
        device.queue.write_buffer(memory, gpu["blocks"]["relay_weights"], (package / "model.weights").read_bytes()[64:])
    run(gpu["preparations"])

    def tensors(kind):
        for i, (tensor, at) in enumerate(zip(description[f"{kind}s"], vectors[f"{kind}s"], strict=True)):
            count = int(np.prod(tensor["shape"], dtype=np.int64))
            yield (
                tensor["name"],
                gpu["blocks"][f"relay_{kind}_{i}"],
                np.frombuffer(recorded, tensor["dtype"], count, at),
            )

    for _, at, values in tensors("input"):
        if values.size:
            device.queue.write_buffer(memory, at, values)
    run(gpu["steps"])
    for name, at, want in tensors("output"):
        got = np.frombuffer(device.queue.read_buffer(memory, at, want.nbytes) if want.size else b"", want.dtype)
        if not _equal(got, want, tolerance):
            return f"{name}: up to {np.abs(got.astype(float) - want).max()} from {want.size} values"
    return None


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
