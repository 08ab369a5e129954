"""Programs on CUDA devices without a GPU: results, memory, artifacts, and faults of drivers.

The driver is the mock of test/cuda/mock, which interprets the PTX of kernels, does its work late, and reports what is
wrong with the calls.
"""

import json
import re
import subprocess
import sys

import cuda_tools
import pytest

RELAY = cuda_tools.ROOT / "build/release/bin/relay"

DENSE = """#[version = "0.0.5"]
def @main(%x: Tensor[(3, 12), float32], %w: Tensor[(7, 12), float32]) {
  tanh(nn.dense(%x, %w))
}
"""
LARGE = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(1024, 1024), float32]) { tanh(%x) }\n'

# Runs in a process of its own: a driver is loaded once. Prints the results' difference from the CPU, and the report.
PROGRAM = """
import ctypes, gc, json, os, sys
import numpy as np
import relay

mock = ctypes.CDLL(os.environ["RELAY_CUDA_LIBRARY"])
mock.mock_cuda_report.restype = ctypes.c_char_p
random = np.random.default_rng(1)

def inputs(model):
    return [random.standard_normal([d if d > 0 else 5 for d in p.shape]).astype(p.dtype) for p in model.inputs]

BODY
gc.collect()
print(json.dumps({"report": json.loads(mock.mock_cuda_report()), **results}))
"""


def python(body, *arguments, **more):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("BODY", body), *arguments],
        env=cuda_tools.mock_environment(PYTHONPATH=str(cuda_tools.ROOT / "python"), **more),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def run(path, *arguments, faults="", **more):
    """The exit status and the messages of `relay run PATH`."""
    done = subprocess.run(
        [RELAY, "run", path, "--no-cache", *arguments],
        env=cuda_tools.mock_environment(RELAY_MOCK_CUDA_FAULTS=faults, **more),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def dense(tmp_path):
    path = tmp_path / "dense.relay"
    path.write_text(DENSE)
    return path


COMPARE = """
module = relay.parse(sys.argv[1])
model, cpu = relay.compile(module, target="cuda"), relay.compile(module)
results = {"same": True}
for _ in range(3):
    values = inputs(model)
    results["same"] &= bool(np.allclose(model(*values), cpu(*values), rtol=1e-5, atol=1e-6))
del model
"""


def test_results_and_memory(dense):
    found = python(COMPARE, DENSE)
    assert found["same"]
    report = found["report"]
    assert report["wrong"] == [] and report["live"] <= 1 and report["modules"] == 0, report  # scratch memory stays
    assert report["launches"] >= 3 and report["uploads"] >= 6 and report["downloads"] >= 3


CHAIN = """#[version = "0.0.5"]
def @main(%x: Tensor[(n, 12), float32], %w: Tensor[(12, 12), float32]) {
  let %y = tanh(nn.dense(%x, %w));
  let %z = nn.softmax(nn.dense(%y, %w));
  (nn.dense(%z, %w), argsort(%z))
}
"""
REPLAY = """
module = relay.parse(sys.argv[1])
model, cpu = relay.compile(module, target="cuda"), relay.compile(module)
def count(name):
    return json.loads(mock.mock_cuda_report())[name]
results = {"same": True, "launches": [], "graphs": []}
for rows in [5, 5, 5, 5, 7, 7, 7, 5]:
    values = [random.standard_normal((rows, 12)).astype("float32"), random.standard_normal((12, 12)).astype("float32")]
    before = count("launches"), count("graph_launches")
    results["same"] &= all(np.allclose(a, b, rtol=1e-5, atol=1e-6) for a, b in zip(model(*values), cpu(*values)))
    results["launches"].append(count("launches") - before[0])
    results["graphs"].append(count("graph_launches") - before[1])
del model
"""


def test_kernels_that_repeat_are_a_graph():
    """The first run measures, the second starts each kernel, the third captures them, and others launch the graph."""
    found = python(REPLAY, CHAIN)
    report = found["report"]
    assert found["same"] and report["wrong"] == [] and report["graphs"] == report["modules"] == 0, found
    first = found["launches"][0]
    assert first >= 4
    assert found["launches"][:7] == [first, first, 0, 0, first, first, 0], found
    assert [n > 0 for n in found["graphs"]] == [n == 0 for n in found["launches"]], found


# A product and a convolution that have blocks of threads: the mock runs the threads from barrier to barrier, and
# reports races.
@pytest.mark.parametrize(
    "parameters, body",
    [
        ("%x: Tensor[(33, 70), float32], %w: Tensor[(45, 70), float32]", "nn.relu(nn.dense(%x, %w))"),
        (
            "%x: Tensor[(1, 9, 10, 11), float32], %w: Tensor[(16, 9, 3, 3), float32]",
            "nn.conv2d(%x, %w, padding=[1, 1, 1, 1], kernel_size=[3, 3], channels=16)",
        ),
    ],
)
def test_blocks_of_threads(parameters, body):
    found = python(COMPARE, f'#[version = "0.0.5"]\ndef @main({parameters}) {{ {body} }}\n')
    assert found["same"] and found["report"]["wrong"] == []


TENSOR_CORES = """
def products(x, w, terms, result=None):
    text = f'#[version = "0.0.5"]\\n' + (
        f"def @main(%x: Tensor[(19, {terms}), {x}], %w: Tensor[(21, {terms}), {w}]) {{ "
        + (f"nn.dense(%x, %w, out_dtype=\\"{result}\\")" if result else "nn.relu(nn.dense(%x, %w))")
        + " }"
    )
    return relay.parse(text)

def halves(shape, dtype):  # every sum of their products is exact
    return (random.integers(-4, 5, shape) / 2).astype(dtype)

results = {}
CASES = [
    ("float16", "float16", 96, None),
    ("int8", "int8", 64, "int32"),
    ("uint8", "int8", 96, "int32"),
    ("float16", "float16", 320, None),
]
for x, w, terms, result in CASES:
    module = products(x, w, terms, result)
    model, cpu = relay.compile(module, target="cuda"), relay.compile(module)
    values = [halves((19, terms), x), halves((21, terms), w)]
    results[f"{x} {w} {terms}"] = bool(np.array_equal(model(*values), cpu(*values)))
    del model
"""


# Products of narrow numbers: the mock runs mma.sync for the lanes of a warp, and copies of cp.async when their thread
# waits for them.
def test_products_on_tensor_cores():
    found = python(TENSOR_CORES)
    same = {"float16 float16 96", "int8 int8 64", "uint8 int8 96", "float16 float16 320"}
    assert found == {"report": found["report"], **dict.fromkeys(same, True)}
    assert found["report"]["wrong"] == []


CONVOLUTIONS = """
def halves(shape, dtype):  # every sum of their products is exact
    return (random.integers(-4, 5, shape) / 2).astype(dtype)

results = {}
for dtype, channels, taps, stride, result in [
    ("float16", 64, 3, 1, None), ("float16", 32, 1, 2, None), ("int8", 64, 3, 2, "int32"), ("int8", 128, 1, 1, "int32")
]:
    border = taps // 2
    of_integers = f', out_dtype="{result}"' if result else ""
    module = relay.parse(
        f'#[version = "0.0.5"]\\ndef @main(%x: Tensor[(1, {channels}, 6, 19), {dtype}], '
        f"%w: Tensor[(24, {channels}, {taps}, {taps}), {dtype}]) {{ nn.relu(nn.conv2d(%x, %w, "
        f"padding=[{border}, {border}], strides=[{stride}, {stride}], kernel_size=[{taps}, {taps}], "
        f"channels=24{of_integers})) }}"
    )
    model, cpu = relay.compile(module, target="cuda"), relay.compile(module)
    values = [halves((1, channels, 6, 19), dtype), halves((24, channels, taps, taps), dtype)]
    results[f"{dtype} {taps}"] = bool(np.array_equal(model(*values), cpu(*values)))
    del model
"""


def test_convolutions_on_tensor_cores():
    found = python(CONVOLUTIONS)
    same = {"float16 3", "float16 1", "int8 3", "int8 1"}
    assert found == {"report": found["report"], **dict.fromkeys(same, True)}
    assert found["report"]["wrong"] == []


@pytest.mark.skipif(
    not cuda_tools.assembler() or not cuda_tools.disassembler(),
    reason="ptxas and nvdisasm are not installed: make test-cuda installs them",
)
@pytest.mark.parametrize(
    ("processor", "dtype", "products"),
    [
        ("sm_75", "float16", "HMMA.1688.F32"),
        ("sm_80", "bfloat16", "HMMA.16816.F32.BF16"),
        ("sm_90a", "float16", "HMMA.16816.F32"),
        ("sm_80", "int8", "IMMA.16832.S8.S8"),
    ],
)
def test_machine_code_of_products(tmp_path, processor, dtype, products):
    result = ', out_dtype="int32"' if dtype == "int8" else ""
    program = tmp_path / "dense.relay"
    program.write_text(
        f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(512, 1024), {dtype}], %w: Tensor[(768, 1024), {dtype}]) '
        f"{{ nn.relu(nn.dense(%x, %w{result})) }}\n"
    )
    code = tmp_path / "dense.ptx"
    subprocess.run(
        [RELAY, "compile", program, "--target", f"cuda:{processor}", "--emit", "ptx", "-o", code], check=True
    )
    assert all(k.spills == 0 for k in cuda_tools.assemble(code, processor))
    found = cuda_tools.machine_code(code, processor)
    assert products in found
    # Copies of 16 bytes that go on while tiles are multiplied fill shared memory where the processor has them.
    has_copies = processor != "sm_75"
    assert bool(re.search(r"LDGSTS\.E\.BYPASS\S*\.128", found)) == has_copies
    assert ("LDG.E" in found) == (not has_copies)


@pytest.mark.skipif(
    not cuda_tools.assembler() or not cuda_tools.disassembler(),
    reason="ptxas and nvdisasm are not installed: make test-cuda installs them",
)
@pytest.mark.parametrize("processor", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(
    ("dtype", "channels", "taps", "products"),
    [("float16", 64, 3, "HMMA.16816.F32"), ("float16", 256, 1, "HMMA.16816.F32"), ("int8", 64, 3, "IMMA.16832.S8.S8")],
)
def test_machine_code_of_convolutions(tmp_path, processor, dtype, channels, taps, products):
    of_integers = ', out_dtype="int32"' if dtype == "int8" else ""
    program = tmp_path / "convolution.relay"
    program.write_text(
        f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(1, {channels}, 56, 56), {dtype}], '
        f"%w: Tensor[(64, {channels}, {taps}, {taps}), {dtype}]) {{ nn.relu(nn.conv2d(%x, %w, padding=[{taps // 2}, "
        f"{taps // 2}], kernel_size=[{taps}, {taps}], channels=64{of_integers})) }}\n"
    )
    code = tmp_path / "convolution.ptx"
    subprocess.run(
        [RELAY, "compile", program, "--target", f"cuda:{processor}", "--emit", "ptx", "-o", code], check=True
    )
    assert all(k.spills == 0 for k in cuda_tools.assemble(code, processor))
    found = cuda_tools.machine_code(code, processor)
    assert products in found and re.search(r"LDGSTS\.E\.BYPASS\S*\.128", found)


@pytest.mark.slow
def test_a_copy_larger_than_the_staging_memory():
    found = python(COMPARE, LARGE)
    assert found["same"] and found["report"]["wrong"] == []
    assert found["report"]["uploads"] >= 3 * 4  # 4 MiB in pieces of 1 MiB


@pytest.mark.parametrize("capability", ["75", "80", "90", "120"])
def test_one_operator_on_the_device(capability):
    found = python(
        """
module = relay.parse(sys.argv[1])
model = relay.compile(module, devices={"nn.dense": "cuda:0"})
values = inputs(model)
results = {"same": bool(np.allclose(model(*values), relay.compile(module)(*values), rtol=1e-5, atol=1e-6))}
""",
        DENSE,
        RELAY_MOCK_CUDA_CAPABILITY=capability,
    )
    assert found["same"] and found["report"]["wrong"] == []


def test_an_artifact_keeps_the_code(dense, tmp_path):
    saved = tmp_path / "dense.rart"
    subprocess.run([RELAY, "compile", dense, "--target", "cuda:sm_80", "-o", saved], check=True, capture_output=True)
    assert b".visible .entry kernel_" in saved.read_bytes()
    assert run(saved)[0] == 0
    status, said = run(saved, RELAY_MOCK_CUDA_CAPABILITY="75")
    assert status == 1 and "compiled for sm_80, and `mock GPU` is sm_75" in said


def test_code_without_a_device(dense, tmp_path):
    for processor in cuda_tools.PROCESSORS:
        done = subprocess.run(
            [RELAY, "opt", dense, "--target", f"cuda:{processor}", "--emit", "ptx"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert f".target {processor}" in done.stdout and ".visible .entry kernel_" in done.stdout
        if cuda_tools.assembler():
            (tmp_path / "kernels.ptx").write_text(done.stdout)
            assert all(k.spills == 0 for k in cuda_tools.assemble(tmp_path / "kernels.ptx", processor))


@pytest.mark.skipif(not cuda_tools.assembler(), reason="ptxas is not installed: make test-cuda installs it")
def test_the_assembler_takes_a_slice_of_the_operators(tmp_path):
    tool = cuda_tools.ROOT / "build/release/bin/relay_op_kernels"
    subprocess.run(
        [tool, "--target", "cuda:sm_80", "--to", tmp_path, "--first", "--shard", "1/12"],
        check=True,
        capture_output=True,
    )
    kernels = [k for path in tmp_path.glob("*.ptx") for k in cuda_tools.assemble(path, "sm_80")]
    assert len(kernels) > 10 and all(k.spills == 0 for k in kernels)


def test_ptx_is_for_gpus(dense):
    done = subprocess.run([RELAY, "opt", dense, "--emit", "ptx"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "are not PTX" in done.stderr and "--target cuda:sm_80" in done.stderr


def test_no_driver(dense):
    done = subprocess.run(
        [RELAY, "run", dense, "--target", "cuda"],
        env=cuda_tools.mock_environment(RELAY_CUDA_LIBRARY="libnone.so"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and "there is no CUDA driver on this machine" in done.stderr
    assert "leave the target out" in done.stderr and "cuda:sm_80" in done.stderr


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("no-device", "finds no GPU on this machine"),
        ("old-driver", r"it is of CUDA 11.8, and kernels need 12.0"),
        ("small", "capability is 6.1, and kernels need 7.5"),
        ("bad-code", "CUDA_ERROR_INVALID_PTX.*ptxas fatal: a planted fault"),
        ("old-code", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION.*install a newer driver"),
        ("lost", "running kernels on `mock GPU` failed: CUDA_ERROR_LAUNCH_FAILED.*the last kernel asked for is `"),
    ],
)
def test_faults_are_diagnostics(dense, fault, expected):
    status, said = run(dense, "--target", "cuda", faults=fault)
    assert status == 1 and re.search(expected, said, re.DOTALL), said


def test_a_kernel_that_hangs(dense):
    status, said = run(dense, "--target", "cuda", faults="hang", RELAY_DEVICE_TIME_LIMIT="0.5")
    assert status == 1 and "is not done after 0.5 seconds; the last kernel asked for is `" in said


def test_memory_that_is_not_there(tmp_path):
    path = tmp_path / "large.relay"
    path.write_text(LARGE)
    status, said = run(path, "--target", "cuda", faults="no-memory")
    assert status == 1 and "`x` 4 MiB" in said and "`mock GPU` has 1 GiB" in said, said


def test_the_process_goes_on_after_a_lost_device():
    found = python(
        """
module = relay.parse(sys.argv[1])
values = inputs(relay.compile(module))
results = {"refused": 0}
for _ in range(2):
    try:
        relay.compile(module, target="cuda")(*values)
    except relay.CompileError as error:
        results["refused"] += "CUDA_ERROR_LAUNCH_FAILED" in str(error)
results["shape"] = relay.compile(module)(*values).shape
""",
        DENSE,
        RELAY_MOCK_CUDA_FAULTS="lost",
    )
    assert found["refused"] == 2 and found["shape"] == [3, 7]


def test_doctor_lists_the_device():
    done = subprocess.run(
        [RELAY, "doctor", "--quick"], env=cuda_tools.mock_environment(), capture_output=True, text=True, check=True
    )
    assert re.search(r"CUDA +cuda:0 = mock GPU, sm_80", done.stdout)


def test_unknown_processors_are_named(dense):
    status, said = run(dense, "--target", "cuda:sm_42")
    assert status == 1 and "no CUDA processor is named 'sm_42'" in said and "sm_75, sm_80, sm_90a" in said
