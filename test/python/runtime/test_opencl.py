"""Programs on OpenCL devices: results, artifacts, what is said of drivers, and faults of drivers.

The faults are those of test/tools/faulty_opencl.c, a library that passes all calls on except for the fault.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import opencl_drivers
import pytest

import relay

ROOT = pathlib.Path(__file__).resolve().parents[3]
RELAY = ROOT / "build/release/bin/relay"
FAULTY = ROOT / "build/release/librelay_faulty_opencl.so"

pytestmark = pytest.mark.skipif(
    not opencl_drivers.ALL["pocl"].is_here(), reason="no OpenCL driver is installed: dev/setup devices"
)

DENSE = """#[version = "0.0.5"]
def @main(%x: Tensor[(n, 12), float32], %w: Tensor[(7, 12), float32]) {
  tanh(nn.dense(%x, %w))
}
"""
SMALL = {"x": (3, 12), "w": (7, 12)}

LOOP = """#[version = "0.0.5"]
def @main(%x: Tensor[(4), float32], %n: Tensor[(), int32]) -> Tensor[(4), float32] {
  if (greater(%n, 0)) { @main(exp(multiply(%x, 0.5f)), subtract(%n, 1)) } else { %x }
}
"""

TAKE = """#[version = "0.0.5"]
def @main(%x: Tensor[(4, 3), float32], %i: Tensor[(2), int64]) { take(%x, add(%i, 1i64), axis=0) }
"""

DOUBLE = """#[version = "0.0.5"]
def @main(%x: Tensor[(8), float64]) { exp(%x) }
"""


# The copy of %b does not wait for the product, which does not read it.
OVERLAP = """#[version = "0.0.5"]
def @main(%x: Tensor[(1024, 1024), float32], %y: Tensor[(64, 1024), float32], %w: Tensor[(1024, 1024), float32]) {
  let %a = on_device(nn.softmax(nn.dense(%x, %w)), virtual_device="opencl:0", constrain_result=True);
  let %b = device_copy(tanh(%y), src_virtual_device="cpu:0", dst_virtual_device="opencl:0");
  let %c = on_device(sum(%b, axis=[0]), virtual_device="opencl:0", constrain_result=True);
  on_device(nn.softmax(add(%a, %c)), virtual_device="opencl:0")
}
"""


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def arrays(shapes, seed=1):
    random = np.random.default_rng(seed)
    return [random.standard_normal(shape).astype("float32") for shape in shapes.values()]


def on_device(text, **options):
    return relay.compile(relay.parse(text), target="opencl:portable", **options)


def run(path, *arguments, faults=None, after=0, **more):
    """The exit status and the messages of `relay run PATH --target opencl:portable`."""
    environment = os.environ | {"RELAY_CACHE": str(path.parent / "cache")} | more
    if faults:
        environment |= {"RELAY_OPENCL_LIBRARY": str(FAULTY), "RELAY_OPENCL_FAULTS": faults}
        environment["RELAY_OPENCL_FAULTS_AFTER"] = str(after)
    done = subprocess.run(
        [RELAY, "run", path, *arguments], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def dense(tmp_path):
    path = tmp_path / "dense.relay"
    path.write_text(DENSE.replace("(n, 12)", "(3, 12)"))
    return path


def test_the_bits_of_the_cpu():
    inputs = arrays(SMALL)
    got = on_device(DENSE)(*inputs)
    want = relay.compile(relay.parse(DENSE))(*inputs)
    assert np.array_equal(got, want)
    assert on_device(DENSE)(*arrays({"x": (5, 12), "w": (7, 12)})).shape == (5, 7)


def test_spread_loops_have_the_same_bits():
    inputs = arrays(SMALL)
    fine = relay.compile(relay.parse(DENSE), target="opencl:portable,+fine-tasks")(*inputs)
    assert np.array_equal(fine, on_device(DENSE)(*inputs))


# Products that have blocks of threads: sizes that no tile divides, a long sum, a size that is known at run time,
# convolutions with and without a window.
PRODUCTS = {
    "dense": ("%x: Tensor[(33, 70), float32], %w: Tensor[(45, 70), float32]", "nn.relu(nn.dense(%x, %w))"),
    "long": ("%x: Tensor[(16, 600), float32], %w: Tensor[(24, 600), float32]", "nn.dense(%x, %w)"),
    "rows": ("%x: Tensor[(n, 40), float32], %w: Tensor[(32, 40), float32]", "nn.dense(%x, %w)"),
    "batch": (
        "%x: Tensor[(3, 20, 17), float32], %w: Tensor[(3, 21, 17), float32]",
        "nn.batch_matmul(%x, %w, transpose_b=True)",
    ),
    "conv": (
        "%x: Tensor[(2, 9, 11, 13), float32], %w: Tensor[(16, 9, 3, 3), float32]",
        "nn.conv2d(%x, %w, padding=[1, 1, 1, 1], kernel_size=[3, 3], channels=16)",
    ),
    "conv1x1": (
        "%x: Tensor[(1, 24, 7, 9), float32], %w: Tensor[(20, 24, 1, 1), float32]",
        "nn.conv2d(%x, %w, kernel_size=[1, 1], channels=20)",
    ),
}


def product(name):
    parameters, body = PRODUCTS[name]
    return f'#[version = "0.0.5"]\ndef @main({parameters}) {{ {body} }}\n'


@pytest.mark.parametrize("name", PRODUCTS)
def test_blocks_of_threads(name):
    module = relay.parse(product(name))
    compiled = relay.compile(module, target="opencl:portable,+blocks")
    inputs = arrays({p.name: [d if isinstance(d, int) else 19 for d in p.shape] for p in compiled.inputs})
    want = relay.compile(module)(*inputs)
    assert np.allclose(compiled(*inputs), want, rtol=1e-5, atol=1e-5)


def test_blocks_are_work_groups(tmp_path):
    path = tmp_path / "dense.relay"
    path.write_text(product("dense"))

    def code(target):
        command = [RELAY, "opt", path, "--target", target, "--emit", "c"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    blocks = code("opencl:generic")
    assert re.search(r"reqd_work_group_size\(\d+, 1, 1\)", blocks)
    # Both factors, in whole steps of the sum and at its end.
    assert blocks.count("__local float") == 4 and blocks.count("barrier(CLK_LOCAL_MEM_FENCE)") >= 3
    assert "__local" not in code("opencl:generic,-blocks")


def test_control_flow_stays_on_the_host():
    x, n = np.zeros(4, "float32"), np.array(3, "int32")
    assert np.array_equal(on_device(LOOP)(x, n), relay.compile(relay.parse(LOOP))(x, n))


def test_indices_are_those_of_the_cpu():
    x = np.arange(12, dtype="float32").reshape(4, 3)
    for indices in ([0, 2], [0, 3]):
        want = relay.compile(relay.parse(TAKE))(x, np.array(indices))
        assert np.array_equal(on_device(TAKE)(x, np.array(indices)), want)


def test_an_artifact_keeps_the_source(tmp_path):
    program = on_device(DENSE)
    program.save(tmp_path / "dense.rart")
    assert b"__kernel void" in (tmp_path / "dense.rart").read_bytes()
    inputs = arrays(SMALL)
    assert np.array_equal(relay.load(tmp_path / "dense.rart")(*inputs), program(*inputs))


def test_the_source_is_printed(dense):
    done = subprocess.run(
        [RELAY, "opt", dense, "--target", "opencl:generic", "--emit", "c"], capture_output=True, text=True, check=True
    )
    assert "#pragma OPENCL FP_CONTRACT OFF" in done.stdout and "__kernel void kernel_" in done.stdout


def test_unknown_devices_are_named(dense):
    status, said = run(dense, "--target", "opencl:nonesuch")
    assert status == 1 and "no OpenCL device matches 'nonesuch'" in said and "Portable Computing Language" in said


def test_no_loader(dense):
    status, said = run(dense, "--target", "opencl", RELAY_OPENCL_LIBRARY="libnone.so")
    assert status == 1 and "OpenCL is not installed" in said and "pocl-opencl-icd" in said


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("no-platform", "OpenCL finds no device on this machine"),
        ("old", "OpenCL 1.1 old.*kernels need OpenCL 1.2"),
        ("no-build", "compiling the kernels on .* failed"),
        ("lost", r"running kernels on .* failed: CL_OUT_OF_RESOURCES"),
    ],
)
def test_faults_are_diagnostics(dense, fault, expected):
    status, said = run(dense, "--target", "opencl", faults=fault)
    assert status == 1 and re.search(expected, said, re.DOTALL), said


def test_kernels_wait_for_the_last_copy(dense):
    status, said = run(dense, "--target", "opencl", faults="strict-order")
    assert status == 0, said


def test_a_kernel_that_hangs(dense):
    status, said = run(dense, "--target", "opencl", faults="hang", after=4, RELAY_DEVICE_TIME_LIMIT="0.5")
    assert status == 1 and "is not done after 0.5 seconds; the last kernel asked for is `" in said


def test_memory_that_is_not_there(tmp_path):
    path = tmp_path / "large.relay"
    path.write_text('#[version = "0.0.5"]\ndef @main(%x: Tensor[(1024, 1024), float32]) { tanh(%x) }\n')
    status, said = run(path, "--target", "opencl", faults="no-memory")
    assert status == 1 and "`x` 4 MiB" in said and "at most" in said, said


def test_float64_needs_its_extension(tmp_path):
    path = tmp_path / "double.relay"
    path.write_text(DOUBLE)
    for status, said in (
        run(path, "--target", "opencl", faults="no-double"),
        run(path, "--target", "opencl:portable,-fp64"),
    ):
        assert status == 1 and "cl_khr_fp64" in said


def test_the_process_goes_on_after_a_lost_device():
    program = """
import numpy as np, relay, sys
module = relay.parse(sys.argv[1])
x, w = np.ones((3, 12), "float32"), np.ones((7, 12), "float32")
for _ in range(2):
    try:
        relay.compile(module, target="opencl")(x, w)
    except relay.CompileError as e:
        print("refused:", e)
print(relay.compile(module)(x, w).shape)
"""
    environment = os.environ | {"RELAY_OPENCL_LIBRARY": str(FAULTY), "RELAY_OPENCL_FAULTS": "lost"}
    done = subprocess.run(
        [sys.executable, "-c", program, DENSE], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.count("refused:") == 2 and "(3, 7)" in done.stdout


def test_doctor_lists_devices():
    done = subprocess.run([RELAY, "doctor", "--quick"], capture_output=True, text=True, check=True)
    assert re.search(r"OpenCL +opencl:0 = .*Portable Computing Language", done.stdout)


def test_devices_of_other_kinds_are_refused(dense):
    status, said = run(dense, "--target", "vulkan")
    assert status == 1 and "OpenCL devices" in said


def test_one_operator_on_the_device():
    inputs = arrays(SMALL)
    program = relay.compile(relay.parse(DENSE), devices={"nn.dense": "opencl:0"})
    assert np.array_equal(program(*inputs), relay.compile(relay.parse(DENSE))(*inputs))


def test_copies_run_beside_kernels(tmp_path):
    path = tmp_path / "overlap.relay"
    path.write_text(OVERLAP)
    command = [RELAY, "profile", path, "--time", "0.1", "--trace", tmp_path / "trace.json"]
    subprocess.run(command, check=True, capture_output=True)
    spans = [e for e in json.loads((tmp_path / "trace.json").read_text()) if e["pid"] > 1 and e["ph"] == "X"]
    product = next(e for e in spans if "dense" in e["name"])
    uploads = [e for e in spans if e["name"] == "upload"]
    assert [e["cat"] for e in spans].count("kernel") == 4 and len(uploads) == 3
    # The host asked for the third upload while the product ran; the device decides when it begins.
    assert uploads[2]["args"]["queued"] < product["ts"] + product["dur"]
    x, y, w = inputs = arrays({"x": (1024, 1024), "y": (64, 1024), "w": (1024, 1024)})
    inner = softmax(x.astype(float) @ w.T.astype(float)) + np.tanh(y).sum(0)
    np.testing.assert_allclose(relay.compile(str(path))(*inputs), softmax(inner), rtol=1e-4)


@pytest.mark.skipif(
    not os.path.exists("/usr/lib/clc/amdgcn-amd-amdhsa.bc"), reason="libclc is not installed: dev/setup devices"
)
def test_the_code_compiles_for_amd_and_to_spirv():
    command = [sys.executable, ROOT / "test/devices/compile.py", "--only", "nn.softmax", "--first", "--networks", ""]
    done = subprocess.run([*map(str, command), "--for", "gfx90a,spirv"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"gfx90a: [1-9]\d* kernels in 1 files compile; 0 of them spill registers", done.stdout)
