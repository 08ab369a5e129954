"""Kernels as source for GPUs that Relay has no driver for: HIP C++ for AMD, Metal for Apple."""

import re
import subprocess
import sys

import cuda_tools
import pytest

import relay

ROOT = cuda_tools.ROOT
RELAY = ROOT / "build/release/bin/relay"
DENSE = ROOT / "examples/tour/dense.relay"

WIDE = """#[version = "0.0.5"]
def @main(%x: Tensor[(33, 70), float32], %w: Tensor[(45, 70), float32]) { nn.relu(nn.dense(%x, %w)) }
"""
DOUBLE = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(8), float64]) { multiply(%x, %x) }\n'


def cli(*words):
    done = subprocess.run([RELAY, *words], capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def wide(tmp_path):
    path = tmp_path / "wide.relay"
    path.write_text(WIDE)
    return path


@pytest.mark.parametrize(
    ("target", "ending", "entry", "shared", "barrier"),
    [
        (
            "rocm",
            "c",
            r'extern "C" __global__ __launch_bounds__\(\d+\) void kernel_',
            "__shared__ float",
            "__syncthreads();",
        ),
        (
            "rocm:gfx1100",
            "hip",
            r'extern "C" __global__ __launch_bounds__\(\d+\) void kernel_',
            "__shared__",
            "__syncthreads();",
        ),
        (
            "metal",
            "metal",
            r"\[\[max_total_threads_per_threadgroup\(\d+\)\]\] kernel void kernel_",
            "threadgroup float",
            "threadgroup_barrier(mem_flags::mem_threadgroup);",
        ),
    ],
)
def test_products_have_blocks(wide, tmp_path, target, ending, entry, shared, barrier):
    status, text = cli("opt", wide, "--target", target, "--emit", "c")
    assert status == 0 and re.search(entry, text) and shared in text and barrier in text, text
    written = tmp_path / f"kernels.{ending}"
    assert cli("compile", wide, "--target", target, "--emit", "c", "-o", written)[0] == 0
    assert text.startswith(written.read_text())


@pytest.mark.parametrize("target", ["rocm:gfx90a", "metal"])
def test_kernels_are_not_run(wide, tmp_path, target):
    status, said = cli("run", wide, "--target", target)
    assert status == 1 and "whose kernels are source text that Relay does not run" in said and "--emit c" in said
    status, said = cli("compile", wide, "--target", target, "-o", tmp_path / "wide.rart")
    assert status == 1 and "and not from an artifact" in said and "OpenCL driver" in said
    assert not (tmp_path / "wide.rart").exists()
    status, said = cli("opt", wide, "--target", target, "--emit", "asm")
    assert status == 1 and "are source text" in said
    with pytest.raises(relay.CompileError, match="source text that Relay does not run"):
        relay.compile(relay.parse(WIDE), target=target)


def test_unknown_processors_are_named(wide):
    status, said = cli("opt", wide, "--target", "rocm:gfx1", "--emit", "c")
    assert status == 1 and "no processor of ROCm is named 'gfx1'" in said and "gfx90a, gfx942, gfx1100" in said
    status, said = cli("opt", wide, "--target", "metal:m2", "--emit", "c")
    assert status == 1 and "no Metal device is named 'm2'" in said


def test_metal_has_no_float64(tmp_path):
    path = tmp_path / "double.relay"
    path.write_text(DOUBLE)
    status, said = cli("opt", path, "--target", "metal", "--emit", "c")
    assert status == 1 and "cannot be written for Metal: it computes float64" in said
    assert cli("opt", path, "--target", "rocm", "--emit", "c")[0] == 0


def test_other_options_of_a_run_do_not_help(wide):
    status, said = cli("run", wide, "--devices", "nn.dense=rocm:0")
    assert status == 1 and "rocm:0" in said and "no kernels for this kind of device" in said


def test_the_sources_compile():
    command = [sys.executable, ROOT / "test/devices/compile.py", "--only", "nn.softmax|nn.dense|cast", "--networks", ""]
    done = subprocess.run(
        [*map(str, command), "--for", "hip:gfx90a,metal"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"hip:gfx90a: [1-9]\d* kernels in 3 files compile; 0 of them spill registers", done.stdout), (
        done.stdout
    )
    assert re.search(r"metal: [1-9]\d* kernels in 3 files compile", done.stdout), done.stdout
