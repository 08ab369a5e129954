"""Runs the compiler that is built for 64-bit ARM in QEMU's user mode: make test-aarch64.

    run.py [--only REGEX]

Names of checks are unit.LAYER, run.MODEL, artifact.MODEL, runner.MODEL and vectors.MODEL.

- unit: the unit tests of SLICE, as ctest runs them.
- run: `relay run` there compiles a model for the emulated processor and runs it: once with all that QEMU's processor
  has, and once as a Cortex-A72. Results are those of this machine within the bound of float32 (docs/numerics.md);
  schedules differ.
- artifact: the compiler there writes the bytes that the compiler here writes for the same target.
- runner: the static `relay-run` runs an artifact that this machine compiled for a Cortex-A72, and its results are the
  bits of `relay run` there.
- vectors: `relay-run` runs artifacts for NEON with dot products, and for SVE with vectors of 128, 256 and 512 bits. An
  artifact for vectors of another length is refused.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/aarch64"
SYSROOT = ROOT / "build/aarch64-sysroot/root"
HERE = ROOT / "build/release/bin/relay"
# The unit tests: what depends on the processor, and what everything else is made of.
SLICE = {
    "base": "files, texts, diagnostics",
    "tensor": "conversions of halves, safetensors, index checks",
    "scalar": "arithmetic that must have the same bits everywhere",
    "loop": "the interpreter that kernels are compared with",
    "runtime": "stack switching of calls, threads and their pauses, artifacts, loading code",
    "codegen_llvm": "each instruction of the list, run by this processor",
    "target_x86": "descriptions of other processors, and code for them that is looked at",
    "target_host": "kernels that are compiled at run time: vectors, masks, casts, mathematics, dot products",
    "exec": "functions as machine code: tail calls, unwinding",
}
LEFT_OUT = {
    "death tests of these": "GoogleTest starts the program again for each, which needs the kernel to know QEMU",
    "*/Functions.AFlushThatFailsEndsTheRun/*": "limits the address space, which QEMU does not enforce",
    "Native.TheStackIsAsLargeAsAsked": "asks for 2^63 bytes, for which QEMU fills the memory with tables",
    "ThreadPool.WorksInAForkedChild": "forks a process with several threads, at which QEMU aborts",
    "c_project, frontend_common, frontend_onnx, ir, lower*, measure, pattern, te, text, transform, typing": "the same "
    "C++ on every processor, which the runs of models below use; minutes each under emulation",
    "eval": "compares with this processor's C++; 20 minutes under emulation",
    "driver": "compiles hundreds of networks; an hour under emulation",
    "fuzz_*, op_proofs, op_device": "thousands of compilations: hours under emulation",
}
TOUR = ["dense.relay", "residual.relay"]
# Programs, with inputs. The result of char_rnn is a list of letters, which is compared as text.
PROGRAMS = {"tree_lstm.relay": [], "char_rnn.relay": ["--input", "start=3", "--input", "count=12"]}
# Processors, and the length of SVE's vectors in bits; those of NEON have 128.
VECTORS = {"armv8-a": 512, "armv8.2-a": 512, "armv8.6-a": 512, "sve-128": 128, "sve-256": 256, "sve-512": 512}
# The bound of the class fp32 for networks of a few layers.
TOLERANCE = 1e-4


def emulated(cpu="max"):
    return ["qemu-aarch64", "-cpu", cpu, "-L", str(SYSROOT)]


def with_vectors(bits):
    """A processor whose vectors of SVE have this length."""
    return ["qemu-aarch64", "-cpu", f"max,sve-default-vector-length={bits // 8}"]


def must(command, timeout=900, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout, **options)
    if done.returncode != 0:
        said = (done.stdout + done.stderr)[-3000:]
        raise AssertionError(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{said}")
    return done


def small_resnet(path):
    """Two residual blocks of ResNet-18 with a pooled head, on pictures of 32 x 32."""
    random = np.random.default_rng(0)
    nodes, weights = [], []

    def conv(data, inputs, outputs, kernel, stride, relu):
        name = f"v{len(nodes)}"
        value = random.standard_normal((outputs, inputs, kernel, kernel)) * np.sqrt(2 / (inputs * kernel**2))
        weights.append(numpy_helper.from_array(value.astype(np.float32), f"w{name}"))
        pad = (kernel - 1) // 2
        nodes.append(helper.make_node("Conv", [data, f"w{name}"], [name], pads=[pad] * 4, strides=[stride] * 2))
        if relu:
            nodes.append(helper.make_node("Relu", [name], [f"{name}r"]))
        return f"{name}r" if relu else name

    def add(a, b):
        name = f"v{len(nodes)}"
        nodes.append(helper.make_node("Add", [a, b], [name]))
        nodes.append(helper.make_node("Relu", [name], [f"{name}r"]))
        return f"{name}r"

    x = conv("image", 3, 16, 3, 1, True)
    x = add(x, conv(conv(x, 16, 16, 3, 1, True), 16, 16, 3, 1, False))
    x = add(conv(x, 16, 32, 1, 2, False), conv(conv(x, 16, 32, 3, 2, True), 32, 32, 3, 1, False))
    nodes.append(helper.make_node("GlobalAveragePool", [x], ["pooled"]))
    nodes.append(helper.make_node("Flatten", ["pooled"], ["flat"]))
    weights.append(numpy_helper.from_array(random.standard_normal((32, 10)).astype(np.float32), "head"))
    nodes.append(helper.make_node("MatMul", ["flat", "head"], ["logits"]))
    write(path, nodes, weights, (1, 3, 32, 32))


def mlp(path):
    """784, 256, 64 and 10 features."""
    random = np.random.default_rng(1)
    nodes, weights, x = [], [], "image"
    for i, (inputs, outputs) in enumerate([(784, 256), (256, 64), (64, 10)]):
        value = random.standard_normal((inputs, outputs)) / np.sqrt(inputs)
        weights.append(numpy_helper.from_array(value.astype(np.float32), f"w{i}"))
        nodes.append(helper.make_node("MatMul", [x, f"w{i}"], [f"p{i}"]))
        nodes.append(helper.make_node("Relu" if i < 2 else "Identity", [f"p{i}"], [f"r{i}" if i < 2 else "logits"]))
        x = f"r{i}"
    write(path, nodes, weights, (1, 784))


def integers(path):
    """Products of bytes of several signs, with an odd number of rows and of columns."""
    random = np.random.default_rng(3)
    kinds = [("int8", "int8"), ("uint8", "int8"), ("uint8", "uint8"), ("int8", "uint8")]
    nodes, weights = (
        [helper.make_node("Mul", ["image", "scale"], ["x"]), helper.make_node("Abs", ["x"], ["positive"])],
        [],
    )
    weights.append(numpy_helper.from_array(np.array(60, np.float32), "scale"))
    for i, (data, weight) in enumerate(kinds):
        value = random.integers(np.iinfo(weight).min, np.iinfo(weight).max, (72, 21), endpoint=True, dtype=weight)
        weights.append(numpy_helper.from_array(value, f"w{i}"))
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(data))
        nodes.append(helper.make_node("Clip", ["x" if data == "int8" else "positive", "least", "most"], [f"c{i}"]))
        nodes.append(helper.make_node("Cast", [f"c{i}"], [f"d{i}"], to=kind))
        nodes.append(helper.make_node("MatMulInteger", [f"d{i}", f"w{i}"], [f"p{i}"]))
    weights += [numpy_helper.from_array(np.array(v, np.float32), n) for n, v in (("least", -128), ("most", 127))]
    nodes.append(helper.make_node("Concat", [f"p{i}" for i in range(len(kinds))], ["logits"], axis=0))
    write(path, nodes, weights, (11, 72), onnx.TensorProto.INT32)


def halves(path):
    """Arithmetic on float16, on every finite number beside another one that is not 0: no result is NaN."""
    path.write_text("""#[version = "0.0.5"]
def @main(%x: Tensor[(n), float16], %y: Tensor[(n), float16]) {
  (add(%x, %y), subtract(%x, %y), multiply(%x, %y), divide(%x, %y), maximum(%x, %y), nn.relu(add(multiply(%x, %y), %x)))
}
""")
    numbers = np.arange(65536, dtype=np.uint16).view(np.float16)
    numbers = numbers[np.isfinite(numbers)]
    others = np.random.default_rng(4).permutation(numbers)
    np.savez(path.with_suffix(".npz"), x=numbers, y=np.where(others == 0, np.float16(1), others))


def quantised(model, folder):
    """The network with int8 values and weights."""
    images, out = folder / "images.npz", folder / f"{model.stem}_int8.relay"
    np.savez(images, image=np.random.default_rng(2).standard_normal((4, 784)).astype(np.float32))
    words = ["--data", images, "--keep-float", "never", "--time", "0", "-o", out]
    must([HERE, "quantize", model, *words], cwd=ROOT)
    return out


def write(path, nodes, weights, shape, result=onnx.TensorProto.FLOAT):
    inputs = [helper.make_tensor_value_info("image", onnx.TensorProto.FLOAT, shape)]
    outputs = [helper.make_tensor_value_info("logits", result, None)]
    graph = helper.make_graph(nodes, "network", inputs, outputs, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def compare(got, want, exact):
    """The largest difference as a share of the largest value."""
    got, want = np.load(got), np.load(want)
    assert sorted(got.files) == sorted(want.files), f"results {got.files}, not {want.files}"
    worst = 0.0
    for name in want.files:
        a, b = got[name], want[name]
        assert a.shape == b.shape and a.dtype == b.dtype, f"{name} is {a.dtype}{a.shape}, not {b.dtype}{b.shape}"
        if exact or a.dtype.kind not in "fc":
            assert a.tobytes() == b.tobytes(), f"{name}: other bits"
        elif a.size:
            worst = max(worst, float(np.abs(a - b).max() / max(float(np.abs(b).max()), 1e-30)))
    assert worst <= TOLERANCE, f"differs by {worst:.2g} of the largest value"
    return f"differs by {worst:.1g}" if worst else "equal"


def unit(layer):
    must(["cmake", "--build", BUILD, "--target", f"relay_test_{layer}"], timeout=3600)
    begin = time.monotonic()
    single = [name for name in LEFT_OUT if "." in name]
    environment = os.environ | {"GTEST_FILTER": f"-*DeathTest*:{':'.join(single)}"}
    must(["ctest", "--test-dir", BUILD, "-R", f"^{layer}$", "--no-tests=error", "--output-on-failure"], env=environment)
    return f"passed in {time.monotonic() - begin:.0f} s, after it was built"


def run(model, folder):
    want = folder / f"{model.stem}.here.npz"
    inputs = PROGRAMS.get(model.name, [])
    printed = must([HERE, "run", model, *inputs, "--output", want, "--no-cache", "--threads", "1"], cwd=ROOT).stdout
    said = []
    for cpu in ("max", "cortex-a72"):
        got = folder / f"{model.stem}.{cpu}.npz"
        flags = ["--output", got, "--no-cache", "--threads", "2"]
        done = must([*emulated(cpu), BUILD / "bin/relay", "run", model, *inputs, *flags], cwd=ROOT)
        if want.exists():
            said.append(f"{cpu}: {compare(got, want, exact=False)}")
        else:
            assert done.stdout == printed, f"{cpu}: {done.stdout} instead of {printed}"
            said.append(f"{cpu}: the same text")
    return ", ".join(said)


def compiled(model, folder):
    out = folder / f"{model.stem}.rart"
    must([HERE, "compile", model, "--target", "cortex-a72", "-o", out], cwd=ROOT)
    return out


def artifact(model, folder):
    there = folder / f"{model.stem}.there.rart"
    must([*emulated(), BUILD / "bin/relay", "compile", model, "--target", "cortex-a72", "-o", there], cwd=ROOT)
    here = compiled(model, folder).read_bytes()
    assert there.read_bytes() == here, "other bytes"
    return f"the same {len(here)} bytes"


def runner(model, folder):
    got, want = folder / f"{model.stem}.runner.npz", folder / f"{model.stem}.relay.npz"
    program = BUILD / "bin/relay-run"
    made = compiled(model, folder)
    must(["qemu-aarch64", "-cpu", "cortex-a72", program, made, "--output", got, "--threads", "1"], cwd=ROOT)
    must([*emulated("cortex-a72"), BUILD / "bin/relay", "run", made, "--output", want, "--threads", "1"], cwd=ROOT)
    compare(got, want, exact=True)
    here = folder / f"{model.stem}.native.npz"
    must([HERE, "run", model, "--output", here, "--no-cache"], cwd=ROOT)
    return f"{program.stat().st_size >> 10} KiB; {compare(got, here, exact=False)} from this machine"


def vectors(model, folder, inputs=(), exact=False):
    """The model on processors of several vector lengths. `inputs`: arguments of both programs; else they are random."""
    program = BUILD / "bin/relay-run"
    here = folder / f"{model.stem}.here.npz"
    must([HERE, "run", model, *inputs, "--output", here, "--no-cache"], cwd=ROOT)
    said = []
    for target, bits in VECTORS.items():
        made, got = folder / f"{model.stem}.{target}.rart", folder / f"{model.stem}.{target}.npz"
        must([HERE, "compile", model, "--target", target, "--strict", "-o", made], cwd=ROOT)
        must([*with_vectors(bits), program, made, *inputs, "--output", got, "--threads", "1"], cwd=ROOT)
        said.append(f"{target}: {compare(got, here, exact)}")
        if target.startswith("sve"):
            other = [*with_vectors(1024), program, made]
            done = subprocess.run([str(word) for word in other], capture_output=True, text=True)
            assert done.returncode == 1 and f"lacks sve-bits-{bits}" in done.stderr, done.stderr
    return ", ".join(said)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default=".*", help="regular expression of names")
    options = parser.parse_args()
    os.environ["RELAY_CACHE"] = "off"
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        networks = [folder / "mlp.onnx", folder / "small_resnet.onnx"]
        mlp(networks[0]), small_resnet(networks[1]), integers(folder / "integers.onnx"), halves(folder / "halves.relay")
        tour = [ROOT / "examples/tour" / model for model in TOUR]
        programs = [ROOT / "examples" / model for model in PROGRAMS]
        checks = {f"unit.{layer}": lambda layer=layer: unit(layer) for layer in SLICE}
        checks |= {f"run.{m.stem}": lambda m=m: run(m, folder) for m in [*tour, *networks, *programs]}
        checks |= {f"artifact.{m.stem}": lambda m=m: artifact(m, folder) for m in [*tour, *networks]}
        checks |= {f"runner.{m.stem}": lambda m=m: runner(m, folder) for m in [*tour, *networks]}
        checks |= {
            f"vectors.{m.stem}": lambda m=m: vectors(m, folder) for m in [*tour, *networks, folder / "integers.onnx"]
        }
        checks["vectors.halves"] = lambda: vectors(
            folder / "halves.relay", folder, ["--input", folder / "halves.npz"], exact=True
        )
        checks["vectors.mlp_int8"] = lambda: vectors(quantised(networks[0], folder), folder)
        chosen = {name: check for name, check in checks.items() if re.fullmatch(options.only, name)}
        for name, check in chosen.items():
            begin = time.monotonic()
            try:
                said = check()
            except (AssertionError, subprocess.TimeoutExpired) as e:
                failed += 1
                said = f"FAILED: {e}"
            print(f"{name:24} {time.monotonic() - begin:6.1f} s  {said}", flush=True)
    print(f"{len(chosen)} checks, {failed} failed")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
