"""C projects whose kernels are machine code: on this machine, and with vectors of emulated processors."""

import re
import subprocess

import c_projects
import numpy as np
import pytest
from programs import EXAMPLES, ROOT, cli, fails, needs_program

import relay

pytestmark = needs_program
HERE = ["--kernels", "object", "--target", "haswell"]


def constant(*shape):
    return relay.const((np.random.default_rng(sum(shape)).standard_normal(shape) * 0.3).astype("float32"))


@pytest.fixture
def network(tmp_path):
    """A convolution, a depthwise one, a pool and a dense layer."""
    x = relay.var("image", shape=(1, 3, 20, 20), dtype="float32")
    y = relay.nn.conv2d(x, constant(16, 3, 3, 3), padding=(1, 1), channels=16, kernel_size=(3, 3))
    y = relay.nn.relu(relay.nn.bias_add(y, constant(16)))
    y = relay.nn.conv2d(y, constant(16, 1, 3, 3), padding=(1, 1), groups=16, channels=16, kernel_size=(3, 3))
    y = relay.nn.batch_flatten(relay.nn.max_pool2d(relay.tanh(y), pool_size=(2, 2), strides=(2, 2)))
    path = tmp_path / "net.relay"
    relay.IRModule.from_expr(relay.Function([x], relay.nn.softmax(relay.nn.dense(y, constant(10, 1600))))).save(path)
    return path


def symbols(folder):
    """The symbols of the kernels, by kind."""
    out = {}
    for line in c_projects.run("nm", folder / "model_kernels.o").splitlines():
        out.setdefault(line.split()[-2], []).append(line.split()[-1])
    return out


def test_a_network_calls_its_kernels(network, tmp_path):
    folder = c_projects.write(network, tmp_path / "project", *HERE)
    assert all(name.startswith("model_kernel_") for name in symbols(folder)["T"])
    assert not set(symbols(folder)) & set("BbDdGgSs") and c_projects.writable_symbols(folder) == []
    assert "for (" not in (folder / "model.c").read_text().split("relay_check")[0]
    assert "model: ok" in c_projects.self_test(folder)
    assert "model: ok" in c_projects.self_test(folder, "gcc", ["-O1", "-fsanitize=address,undefined"])


def test_cmake_builds_it_and_reports_the_code(network, tmp_path):
    folder = c_projects.write(network, tmp_path / "project", *HERE)
    c_projects.run("cmake", "-S", folder, "-B", folder / "build")
    c_projects.run("cmake", "--build", folder / "build")
    assert "100% tests passed" in c_projects.run("ctest", "--test-dir", folder / "build")
    assert "model_kernels.o  code " in c_projects.run("cmake", "--build", folder / "build", "--target", "model_sizes")


@pytest.mark.parametrize("toolchain", c_projects.VECTORS)
def test_vectors_of_other_processors(network, tmp_path, toolchain):
    tool = c_projects.VECTORS[toolchain]
    if not tool.is_here():
        pytest.skip("dev/setup anywhere installs the compiler and the emulator")
    folder = c_projects.write(network, tmp_path / "project", "--kernels", "object", "--target", tool.target)
    assert "model: ok" in c_projects.self_test(folder, toolchain)


def test_programs_with_functions_and_sizes(tmp_path):
    folder = c_projects.write(EXAMPLES / "char_rnn.relay", tmp_path / "rnn", *HERE, "--input", "count=30")
    assert "model: ok" in c_projects.self_test(folder)
    sizes = ROOT / "test/anywhere/programs/sizes.relay"
    bounds = ["--max", "n=12", "--max", "m=5", "--input", "i=2"]
    assert "model: ok" in c_projects.self_test(c_projects.write(sizes, tmp_path / "sizes", *HERE, *bounds))


def test_scratch_memory_is_aligned_wherever_the_workspace_is(network, tmp_path):
    """Machine code expects 64 bytes. The workspace of the caller begins at each multiple of 8."""
    folder = c_projects.write(network, tmp_path / "project", *HERE)
    (folder / "main.c").write_text("""#include <stdio.h>
#include <string.h>
#include "model.h"
#include "test_vectors.h"
static uint64_t workspace[MODEL_WORKSPACE_BYTES / 8 + 9];
int main(void) {
  float first[10], output[10];
  for (int i = 0; i < 8; ++i) {
    if (model_run(input_image, output, workspace + i, MODEL_WORKSPACE_BYTES) != MODEL_OK) return 1;
    if (i == 0) memcpy(first, output, sizeof first);
    if (memcmp(first, output, sizeof first) != 0) return 2;
  }
  return puts("equal") < 0;
}
""")
    assert c_projects.self_test(folder, "gcc", ["-O1", "-fsanitize=address,undefined"]) == "equal\n"


def test_two_networks_in_one_program(network, tmp_path):
    for name in ("one", "two"):
        c_projects.write(network, tmp_path / name, "--name", name, *HERE)
        (tmp_path / name / "main.c").rename(tmp_path / name / "test.c")
    files = [file for name in ("one", "two") for file in [*(tmp_path / name).glob("*.[co]")]]
    flags = ["-Dmain=second_main", "-c", tmp_path / "two" / "test.c", "-o", tmp_path / "second.o"]
    c_projects.run("gcc", "-std=c99", *flags)
    files.remove(tmp_path / "two" / "test.c")
    c_projects.run("gcc", "-std=c99", *files, tmp_path / "second.o", "-lm", "-o", tmp_path / "both")
    assert "one: ok" in subprocess.run([tmp_path / "both"], capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "but the target is portable"),
        (["--target", "wasm32-simd128"], "but the target is wasm32-simd128"),
        (["--target", "cortex-m3"], "has no floats for cortex-m3, which has no float unit"),
        (["--target", "haswell", "--library-math"], "--library-math applies to kernels in C"),
    ],
)
def test_targets_without_machine_code(network, tmp_path, options, words):
    command = ["compile", network, "--emit", "c-project", "--kernels", "object", "-o", tmp_path / "project"]
    assert words in fails("R0504", *command, *options)
    assert not (tmp_path / "project").exists()


def test_kernels_apply_to_c_projects_only(network, tmp_path):
    done = cli("compile", network, "--emit", "wasm", "--kernels", "object", "-o", tmp_path / "package")
    assert done.returncode == 1 and "--kernels applies to C projects" in done.stderr


@pytest.mark.skipif(not c_projects.VECTORS["neon"].is_here(), reason="needs aarch64-linux-gnu-gcc and qemu-aarch64")
@pytest.mark.parametrize("target", ["cortex-a53", "cortex-a53,-smull"])
def test_sums_of_16_and_of_32_bits_have_the_same_bits(tmp_path, target):
    """Extreme bytes: all -128 beside weights of -128 and -127, whose pairs are the greatest that 16 bits hold."""
    random = np.random.default_rng(0)
    weight = np.where(random.random((32, 96)) < 0.5, -128, random.integers(-127, 128, (32, 96))).astype("int8")
    weight[:, 1::2] = np.maximum(weight[:, 1::2], -127)
    data = np.where(random.random((5, 96)) < 0.5, -128, random.integers(-128, 128, (5, 96))).astype("int8")
    data[0] = weight[0] = -128
    weight[0, 1::2] = -127
    x = relay.var("x", shape=data.shape, dtype="int8")
    y = relay.nn.dense(x, relay.const(weight), units=32, out_dtype="int32")
    relay.IRModule.from_expr(relay.Function([x], y)).save(tmp_path / "dense.relay")
    np.save(tmp_path / "x.npy", data)
    options = ["--kernels", "object", "--target", target, "--input", f"x={tmp_path / 'x.npy'}"]
    folder = c_projects.write(tmp_path / "dense.relay", tmp_path / "project", *options)
    assert "machine code are rounded once" not in (folder / "main.c").read_text()  # bits are compared
    want = re.search(r"expected_\w+\[160\] = \{([^}]*)\}", (folder / "test_vectors.h").read_text())[1]
    assert np.array_equal(np.array(want.split(","), "int64"), (data.astype("int64") @ weight.T.astype("int64")).ravel())
    assert "model: ok" in c_projects.self_test(folder, "neon")
