"""Whole networks as C99: built with all warnings as errors, self-tested bit for bit, refused if they have no C form."""

import json
import re
import runpy

import c_projects
import mobilenet_v2
import numpy as np
import pytest
from forms import each_nth
from programs import ROOT, cli, fails, needs_program
from relay.run.build_module import bind_params_by_name

import relay
from relay import testing

pytestmark = needs_program
VERSION = '#[version = "0.0.5"]\n'
TOOLCHAINS = [name for name, tool in c_projects.HOST.items() if tool.is_here()]


def constant(*shape, scale=0.5, seed=0):
    return relay.const((np.random.default_rng(seed).standard_normal(shape) * scale).astype("float32"))


def small_cnn():
    """Convolutions with and without padding, a depthwise one, pooling, a dense layer and softmax."""
    x = relay.var("image", shape=(1, 3, 20, 20), dtype="float32")
    y = relay.nn.conv2d(x, constant(8, 3, 3, 3), strides=(2, 2), padding=(1, 1), channels=8, kernel_size=(3, 3))
    y = relay.nn.relu(relay.nn.bias_add(y, constant(8)))
    y = relay.nn.conv2d(y, constant(8, 1, 3, 3), padding=(1, 1), groups=8, channels=8, kernel_size=(3, 3))
    y = relay.nn.conv2d(y, constant(12, 8, 1, 1), channels=12, kernel_size=(1, 1))
    y = relay.nn.max_pool2d(relay.clip(y, 0, 6), pool_size=(2, 2), strides=(2, 2))
    y = relay.nn.dense(relay.nn.batch_flatten(y), constant(10, 300), units=10)
    return relay.Function([x], relay.nn.softmax(y))


def mlp():
    x = relay.var("x", shape=(4, 30), dtype="float32")
    y = relay.tanh(relay.nn.bias_add(relay.nn.dense(x, constant(20, 30), units=20), constant(20)))
    return relay.Function([x], relay.sigmoid(relay.nn.dense(y, constant(7, 20), units=7)))


def attention_block():
    x = relay.var("x", shape=(1, 12, 16), dtype="float32")
    rows = relay.reshape(x, (12, 16))
    q, k, v = (relay.nn.dense(rows, constant(16, 16, seed=seed), units=16) for seed in (1, 2, 3))
    scores = relay.nn.softmax(relay.nn.dense(q, k, units=12) * relay.const(np.float32(0.25)))
    y = rows + relay.nn.dense(scores, relay.transpose(v), units=16)
    y = relay.nn.layer_norm(y, constant(16), constant(16))
    y = y + relay.nn.dense(relay.nn.gelu(relay.nn.dense(y, constant(32, 16), units=32)), constant(16, 32), units=16)
    return relay.Function([x], y)


def mobilenet():
    module, params = testing.mobilenet.get_workload(batch_size=1, image_shape=(3, 32, 32), num_classes=10)
    return bind_params_by_name(module["main"], params)


NETWORKS = {"small_cnn": small_cnn, "mlp": mlp, "attention_block": attention_block}


def saved(function, path):
    relay.IRModule.from_expr(function).save(path)
    return path


@pytest.fixture(params=NETWORKS)
def network(request, tmp_path):
    return saved(NETWORKS[request.param](), tmp_path / f"{request.param}.relay")


@pytest.mark.parametrize("toolchain", each_nth(2, TOOLCHAINS))
def test_networks_build_without_warnings_and_compute_the_same_bits(network, tmp_path, toolchain):
    folder = c_projects.write(network, tmp_path / "project")
    assert "model: ok" in c_projects.self_test(folder, toolchain)
    assert "model: ok" in c_projects.self_test(folder, toolchain, ["-O1", "-DRELAY_FMA"])


def test_nothing_in_a_project_can_be_written(network, tmp_path):
    assert c_projects.writable_symbols(c_projects.write(network, tmp_path / "project")) == []


def test_sanitizers_find_nothing(network, tmp_path):
    folder = c_projects.write(network, tmp_path / "project")
    assert "model: ok" in c_projects.self_test(
        folder, "gcc", ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover"]
    )


@pytest.mark.slow
def test_mobilenet(tmp_path):
    folder = c_projects.write(saved(mobilenet(), tmp_path / "net.relay"), tmp_path / "project", "--weights-file")
    said = c_projects.self_test(folder, "gcc", ["-O2"], [folder / "model.weights"])
    assert "model: ok" in said


def test_the_recorded_outputs_are_those_of_the_evaluator(tmp_path):
    model = saved(small_cnn(), tmp_path / "net.relay")
    image = np.random.default_rng(5).random((1, 3, 20, 20), dtype="float32")
    np.save(tmp_path / "image.npy", image)
    folder = c_projects.write(model, tmp_path / "project", "--input", f"image={tmp_path / 'image.npy'}")
    text = (folder / "test_vectors.h").read_text()
    arrays = [
        np.array([float(word.strip().rstrip("f")) for word in body.split(",")])
        for body in re.findall(r"= \{([^}]*)\}", text)
    ]
    assert np.array_equal(arrays[0].astype("float32"), image.ravel())
    want = relay.evaluate(relay.load(model), {"image": image}, precision="float64")
    assert np.abs(arrays[1] - np.asarray(want).ravel()).max() < 1e-6  # probabilities, of which float32 has 7 digits


def test_tiles_are_scalars(tmp_path):
    folder = c_projects.write(saved(small_cnn(), tmp_path / "net.relay"), tmp_path / "project")
    code = (folder / "model.c").read_text()
    assert re.search(r"float \w+_0 = 0\.0f, \w+_1 = 0\.0f", code)
    assert "relay_multiply_add_f32(" in code


def test_the_build_file_and_the_readme(tmp_path):
    folder = c_projects.write(saved(mlp(), tmp_path / "net.relay"), tmp_path / "project", "--name", "mlp")
    c_projects.run("cmake", "-S", folder, "-B", folder / "build")
    c_projects.run("cmake", "--build", folder / "build")
    assert "100% tests passed" in c_projects.run("ctest", "--test-dir", folder / "build")
    header, readme = (folder / "mlp.h").read_text(), (folder / "README.md").read_text()
    workspace = re.search(r"#define MLP_WORKSPACE_BYTES (\d+)", header)[1]
    assert f"| workspace, `MLP_WORKSPACE_BYTES` | {workspace} |" in readme
    assert "/* input x: float32[4, 30] */" in header
    assert "mlp_status mlp_run(const float x[4 * 30],\n    float output[4 * 7],\n    void *workspace" in header


def test_the_workspace_is_that_of_the_planner(tmp_path):
    model = saved(small_cnn(), tmp_path / "net.relay")
    folder = c_projects.write(model, tmp_path / "project")
    header = (folder / "model.h").read_text()
    compiled = cli("compile", model, "--target", "portable", "-o", tmp_path / "x.rart", "--json")
    assert compiled.returncode == 1 or json.loads(compiled.stdout)
    stated = int(re.search(r"WORKSPACE_BYTES (\d+)", header)[1])
    ends = [int(a) + int(b) for a, b in re.findall(r"^ +(\d+) +(\d+)  ", (folder / "model.c").read_text(), re.M)]
    assert stated - 64 < max(ends) <= stated


def test_state_is_kept_between_runs(tmp_path):
    (tmp_path / "count.relay").write_text(
        VERSION
        + """def @main(%x: Tensor[(3), float32], %sum: Tensor[(3), float32], %n: Tensor[(1), int32]) {
  let %s = add(%sum, %x);
  (multiply(%s, 2f), %s, add(%n, 1))
}
"""
    )
    folder = c_projects.write(
        tmp_path / "count.relay", tmp_path / "project", "--donate", "sum=1", "--donate", "n=output2", "--input", "n=4"
    )
    header = (folder / "model.h").read_text()
    assert "typedef struct model_state {\n  float sum[3];\n  int32_t n[1];\n} model_state;" in header
    assert "model_run(model_state *state,\n    const float x[3],\n    float output0[3]," in header
    assert "model: ok, 3 outputs" in c_projects.self_test(folder)
    (folder / "main.c").write_text(
        """#include <stdio.h>
#include "model.h"
int main(void) {
  model_state state = {{0, 0, 0}, {7}};
  const float x[3] = {1, 2, 3};
  float y[3];
  uint64_t workspace[MODEL_WORKSPACE_BYTES / 8 + 1];
  for (int i = 0; i < 4; ++i)
    if (model_run(&state, x, y, workspace, sizeof workspace) != MODEL_OK) return 1;
  printf("%g %g %g %d\\n", (double)y[0], (double)y[1], (double)state.sum[2], (int)state.n[0]);
  return 0;
}
"""
    )
    assert c_projects.self_test(folder) == "8 16 12 11\n"


BAD_ARGUMENTS = """#include <stdio.h>
#include <string.h>
#include "model.h"
static float memory[3000];
static uint64_t workspace[MODEL_WORKSPACE_BYTES / 8 + 2];
static int check(const char *what, int got, int want) {
  if (got != want) printf("%s: %d instead of %d\\n", what, got, want);
  return got != want;
}
int main(void) {
  float *x = memory, *y = memory + 2000;
  int failed = check("right", model_run(x, y, workspace, sizeof workspace), MODEL_OK);
  float *inside = (float *)(void *)workspace, *odd = (float *)(void *)((char *)memory + 2);
  failed += check("overlap", model_run(x, x + 1, workspace, sizeof workspace), MODEL_OVERLAP);
  failed += check("in the workspace", model_run(x, inside, workspace, sizeof workspace), MODEL_OVERLAP);
  failed += check("no output", model_run(x, NULL, workspace, sizeof workspace), MODEL_NULL_ARGUMENT);
  failed += check("odd", model_run(odd, y, workspace, sizeof workspace), MODEL_MISALIGNED);
  memset(memory, 0, sizeof memory);
  failed += check("small", model_run(x, y, workspace, 8), MODEL_WORKSPACE_TOO_SMALL);
  for (int i = 0; i < 3000; ++i) failed += memory[i] != 0;
  puts(failed ? "failed" : "all refused");
  return failed;
}
"""


def test_bad_arguments_are_refused(tmp_path):
    folder = c_projects.write(saved(small_cnn(), tmp_path / "net.relay"), tmp_path / "project")
    (folder / "main.c").write_text(BAD_ARGUMENTS)
    assert c_projects.self_test(folder, "gcc", ["-O1", "-fsanitize=address,undefined"]) == "all refused\n"


def test_indices_out_of_range_are_refused(tmp_path):
    (tmp_path / "rows.relay").write_text(
        VERSION
        + """def @main(%table: Tensor[(5, 2), float32], %i: Tensor[(3), int32]) {
  take(%table, %i, axis=0, mode="checked")
}
"""
    )
    arguments = "compile", tmp_path / "rows.relay", "--emit", "c-project", "-o", tmp_path / "project"
    assert "--input" in fails("R0604", *arguments, "--input", "i=9")
    assert cli(*arguments, "--input", "i=-5").returncode == 0
    assert "model: ok" in c_projects.self_test(tmp_path / "project")
    vectors = tmp_path / "project" / "test_vectors.h"
    vectors.write_text(vectors.read_text().replace("  -5, -5, -5\n", "  -5, 5, 0\n"))
    (tmp_path / "project" / "main.c").write_text(
        (tmp_path / "project" / "main.c").read_text().replace("MODEL_OK)", "MODEL_INDEX_OUT_OF_RANGE)")
    )
    program = tmp_path / "project" / "test_gcc"
    c_projects.run("gcc", "-std=c99", "-o", program, *c_projects.sources(tmp_path / "project"), "-lm")
    assert "failed" not in cli_output(program)


def cli_output(program):
    import subprocess

    return subprocess.run([program], capture_output=True, text=True).stdout


def test_weights_in_a_file(tmp_path):
    model = saved(small_cnn(), tmp_path / "net.relay")
    folder = c_projects.write(model, tmp_path / "project", "--weights-file")
    weights = folder / "model.weights"
    assert not (folder / "model_weights.c").exists() and weights.read_bytes().startswith(b"RELAYWTS\x04\x03\x02\x01")
    assert "model: ok" in c_projects.self_test(folder, arguments=[weights])
    right = weights.read_bytes()
    # The other byte order, another version, another size.
    for at, byte in ((8, b"\x01\x02\x03\x04"), (12, b"\x07"), (16, b"\x07")):
        weights.write_bytes(right[:at] + byte + right[at + len(byte) :])
        with pytest.raises(AssertionError, match="the run succeeds"):
            c_projects.self_test(folder, arguments=[weights])


def test_weights_of_another_network_are_refused(tmp_path):
    """Two networks of one shape, whose weights differ."""
    folders = []
    for seed in (1, 2):
        x = relay.var("x", shape=(1, 8), dtype="float32")
        y = relay.nn.dense(x, constant(8, 8, seed=seed), units=8)
        model = saved(relay.Function([x], y), tmp_path / f"{seed}.relay")
        folders.append(c_projects.write(model, tmp_path / f"project{seed}", "--weights-file"))
    ours, theirs = (folder / "model.weights" for folder in folders)
    assert ours.stat().st_size == theirs.stat().st_size
    assert "model: ok" in c_projects.self_test(folders[0], arguments=[ours])
    with pytest.raises(AssertionError, match="the run succeeds"):
        c_projects.self_test(folders[0], arguments=[theirs])


def test_sizes_that_depend_on_values_are_refused_with_the_operator(tmp_path):
    (tmp_path / "find.relay").write_text(VERSION + "def @main(%x: Tensor[(4), float32]) { argwhere(%x) }\n")
    said = fails("R0304", "compile", tmp_path / "find.relay", "--emit", "c-project", "-o", tmp_path / "project")
    assert "that of the result of `argwhere` depends on values" in said and "known only at run time" not in said


def test_symbolic_sizes_are_refused_with_the_flag_that_fixes_them(tmp_path):
    (tmp_path / "open.relay").write_text(
        VERSION + "def @main(%x: Tensor[(n, 4), float32], %y: Tensor[(m, 4), float32]) { (nn.relu(%x), tanh(%y)) }\n"
    )
    arguments = "compile", tmp_path / "open.relay", "--emit", "c-project", "-o", tmp_path / "project"
    said = fails("R0304", *arguments)
    assert "`n` of input `x`" in said and "`m` of input `y`" in said and "--shape" in said
    assert cli(*arguments, "--shape", "x=2,4", "--shape", "y=3,4").returncode == 0
    assert "model: ok" in c_projects.self_test(tmp_path / "project")


@pytest.mark.parametrize(
    "options, words",
    [
        (["--emit", "c-project", "--name", "int"], "cannot begin names in C"),
        (["--emit", "c-project", "--donate", "x="], "is not INPUT or INPUT=RESULT"),
        (["--emit", "c-project", "--donate", "x=other"], "result `other` cannot take the input `x`"),
        (["--emit", "obj", "--weights-file"], "--weights-file applies to C projects"),
        (["--emit", "c-project", "--donate", "y=0"], "the input `y` to donate does not exist"),
    ],
)
def test_options_that_cannot_be_used(tmp_path, options, words):
    (tmp_path / "relu.relay").write_text(VERSION + "def @main(%x: Tensor[(4), float32]) { nn.relu(%x) }\n")
    assert words in fails("R0504", "compile", tmp_path / "relu.relay", "-o", tmp_path / "out", *options)


def test_names_of_the_model_become_names_in_c(tmp_path):
    (tmp_path / "names.relay").write_text(
        VERSION
        + "def @main(%int: Tensor[(2), float32], %kernel_1: Tensor[(2), float32], %exp: Tensor[(2), float32]) {\n"
        "  (exp(%int), %kernel_1, add(%exp, %exp), add(%exp, %exp))\n}\n"
    )
    folder = c_projects.write(tmp_path / "names.relay", tmp_path / "project")
    assert "model: ok, 4 outputs" in c_projects.self_test(folder)


def test_a_slice_of_the_operators(tmp_path):
    anywhere = runpy.run_path(str(ROOT / "test/anywhere/run.py"))
    if not (ROOT / "build/release/bin/relay_op_projects").exists():
        pytest.skip("relay_op_projects is not built")
    only = r"nn\.(conv2d|dense|softmax|lstm|batch_matmul|max_pool2d)|take|cumsum|sort|floor_divide|cast|erf|where"
    cases, _, wrong = anywhere["write_cases"](tmp_path, "--only", only, "--first")
    assert wrong == [] and len(cases) >= 10
    assert c_projects.test_together(tmp_path, list(cases), "gcc") == []


def branches():
    """The first branch's result of 64 KiB is kept beside the second's of 128 KiB, unless the second comes first."""
    x = relay.var("x", shape=(1, 4, 64, 64), dtype="float32")

    def pointwise(data, channels):
        return relay.nn.conv2d(data, constant(channels, 4, 1, 1), channels=channels, kernel_size=(1, 1))

    kept, wide = relay.nn.relu(pointwise(x, 4)), relay.nn.relu(pointwise(x, 8))
    pooled = relay.nn.batch_flatten(relay.nn.max_pool2d(wide, pool_size=(64, 64)))
    factors = relay.reshape(relay.nn.dense(pooled, constant(4, 8), units=4), (1, 4, 1, 1))
    return relay.Function([x], pointwise(kept, 4) * factors)


def workspace_of(folder):
    return int(re.search(r"WORKSPACE_BYTES (\d+)", (folder / "model.h").read_text())[1])


def test_a_memory_limit_changes_the_order_of_steps(tmp_path):
    model = saved(branches(), tmp_path / "net.relay")
    assert workspace_of(c_projects.write(model, tmp_path / "usual")) == 256 * 1024
    folder = c_projects.write(model, tmp_path / "ordered", "--memory-limit", "200K")
    assert workspace_of(folder) == 192 * 1024
    assert "model: ok" in c_projects.self_test(folder)


def test_a_memory_limit_that_cannot_be_kept_names_the_arrays_at_the_peak(tmp_path):
    model = saved(branches(), tmp_path / "net.relay")
    said = fails("R0603", "compile", model, "--emit", "c-project", "-o", tmp_path / "project", "--memory-limit", "64K")
    assert "the limit is 65536" in said and "the peak is step" in said
    # 128 KiB of one and 64 bytes of another array are alive at a later step, too: either is worth the rest.
    for array in (64 << 10, 128 << 10):
        line = rf"note: {array} bytes from step \d+, \w+, to step \d+; without them, {(64 << 10) - 64} less are needed"
        assert re.search(line, said), said
    assert not (tmp_path / "project").exists()


@pytest.mark.slow
@pytest.mark.parametrize("size, limit, too_little", [(48, "24K", "12K"), (144, "128K", "96K")])
def test_layers_slide_over_rows_to_need_less_memory(tmp_path, size, limit, too_little):
    model = mobilenet_v2.quantised(tmp_path, size, 0.35)

    def project(name, *options):
        folder = c_projects.write(model, tmp_path / name, *options)
        assert "model: ok" in c_projects.self_test(folder)
        return workspace_of(folder), folder

    most, unlimited = project("unlimited")
    bytes_needed, limited = project("limited", "--memory-limit", limit)
    assert bytes_needed <= int(limit[:-1]) << 10 < most
    # The same bits: the recorded inputs and outputs.
    assert (unlimited / "test_vectors.h").read_text() == (limited / "test_vectors.h").read_text()
    words = ["compile", model, "--emit", "c-project", "-o", tmp_path / "refused", "--memory-limit", too_little]
    said = fails("R0603", *words, timeout=300)
    assert re.search(r"note: \d+ bytes from step \d+", said), said


def test_arrays_that_do_not_fit_are_in_the_next_memory(tmp_path):
    model = saved(branches(), tmp_path / "net.relay")
    limits = "--memory", "sram=100K,tcm=70K,psram=1M,flash=64K"
    folder = c_projects.write(model, tmp_path / "project", *limits)
    header, code = (folder / "model.h").read_text(), (folder / "model.c").read_text()
    bytes_of = {name: int(size) for name, size in re.findall(r"#define MODEL_(\w+)_BYTES (\d+)", header)}
    assert 0 < bytes_of["WORKSPACE"] <= 100 * 1024 and 0 < bytes_of["TCM"] <= 70 * 1024 and bytes_of["PSRAM"] > 0
    assert "void *tcm,\n    size_t tcm_bytes,\n    void *psram," in header and " in psram" in code
    assert "model: ok" in c_projects.self_test(folder, "gcc", ["-O1", "-fsanitize=address,undefined"])


@pytest.mark.parametrize(
    "memory, words",
    [
        ("sram=10K,psram=20K", "of psram, but the limit is 20480"),
        ("sram=1M,flash=100", "of flash, but the limit is 100"),
        ("sram=10K", "the limit is 10240"),
    ],
)
def test_memories_that_are_too_small(tmp_path, memory, words):
    model = saved(branches(), tmp_path / "net.relay")
    command = "compile", model, "--emit", "c-project", "-o", tmp_path / "project"
    said = fails("R0603", *command, "--memory", memory)
    assert words in said and ("flash" in memory or "less are needed" in said)


@pytest.mark.parametrize("memory", ["sram", "sram=1K,sram=2K", "workspace=1K", "int=1K"])
def test_memories_without_a_usable_name(tmp_path, memory):
    model = saved(branches(), tmp_path / "net.relay")
    command = "compile", model, "--emit", "c-project", "-o", tmp_path / "project"
    assert "is not NAME=SIZE" in fails("R0504", *command, "--memory", memory)


def test_the_build_reports_code_constants_workspace_and_stack(tmp_path):
    folder = c_projects.write(saved(mlp(), tmp_path / "net.relay"), tmp_path / "project")
    c_projects.run("cmake", "-S", folder, "-B", folder / "build")
    said = c_projects.run("cmake", "--build", folder / "build", "--target", "model_sizes")
    code, constants, writable = map(
        int, re.search(r"model\.c\.o  code (\d+) constants (\d+) writable (\d+)", said).groups()
    )
    assert 500 < code < 50000 and writable == 0
    assert int(re.search(r"model_weights\.c\.o  code 0 constants (\d+)", said)[1]) >= 4 * (20 * 30 + 20 + 7 * 20)
    assert f"workspace {workspace_of(folder)}" in said
    stack, parts = re.search(r"stack at most (\d+) bytes: (.*)", said).groups()
    assert sum(map(int, re.findall(r" (\d+)(?:,|$)", parts))) == int(stack) < 4096


TWO_THREADS = """#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "model.h"
#include "test_vectors.h"
typedef struct {
  uint64_t workspace[MODEL_WORKSPACE_BYTES / 8 + 1];
  float output[MODEL_OUTPUT_ELEMENTS];
  int wrong;
} run;
static run runs[2];
static void *work(void *argument) {
  run *r = argument;
  for (int i = 0; i < 200; ++i) {
    r->wrong += model_run(input_image, r->output, r->workspace, sizeof r->workspace) != MODEL_OK;
    r->wrong += memcmp(r->output, expected_output, sizeof r->output) != 0;
  }
  return NULL;
}
int main(void) {
  pthread_t other;
  pthread_create(&other, NULL, work, &runs[1]);
  work(&runs[0]);
  pthread_join(other, NULL);
  printf("%d wrong\\n", runs[0].wrong + runs[1].wrong);
  return 0;
}
"""


def test_two_threads_run_at_once(tmp_path):
    folder = c_projects.write(saved(small_cnn(), tmp_path / "net.relay"), tmp_path / "project")
    (folder / "main.c").write_text(TWO_THREADS)
    assert c_projects.self_test(folder, "gcc", ["-O2", "-pthread"]) == "0 wrong\n"


def test_the_math_of_the_c_library(tmp_path):
    folder = c_projects.write(saved(mlp(), tmp_path / "net.relay"), tmp_path / "project", "--library-math")
    assert "tanhf(" in (folder / "model.c").read_text()
    assert "model: ok" in c_projects.self_test(folder)


def test_the_header_is_also_that_of_a_program_in_cpp(tmp_path):
    folder = c_projects.write(saved(mlp(), tmp_path / "net.relay"), tmp_path / "project")
    (folder / "user.cpp").write_text('#include "model.h"\nauto run = &model_run;\n')
    c_projects.run(
        "g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", folder / "user.cpp"
    )


@pytest.mark.parametrize(("target", "board"), [("cortex-m0", "cortex-m0"), ("cortex-m3", None), ("rv32imac", "rv32")])
def test_kernels_in_floats_are_named_if_the_processor_has_no_float_unit(tmp_path, target, board):
    model = saved(mlp(), tmp_path / "net.relay")
    command = "compile", model, "--emit", "c-project", "-o", tmp_path / "project"
    done = cli(*command, "--target", target)
    assert re.search(
        rf"{target} has no float unit: \d+ of \d+ kernels compute in floats, .* fused_nn_dense", done.stderr
    )
    assert "no float unit" not in cli(*command, "--target", "cortex-m4").stderr
    (tmp_path / "sums.relay").write_text(
        VERSION + "def @main(%x: Tensor[(4, 8), int32]) { add(sum(%x, axis=[1]), 3) }\n"
    )
    integers = cli(
        "compile", tmp_path / "sums.relay", "--emit", "c-project", "-o", tmp_path / "sums", "--target", target
    )
    assert integers.returncode == 0 and "no float unit" not in integers.stderr
    if board and c_projects.BOARDS[board].is_here():
        for kernels in ("c", "object") if target == "rv32imac" else ("c",):
            folder = c_projects.write(model, tmp_path / kernels, "--target", target, "--kernels", kernels)
            assert "model: ok" in c_projects.self_test(folder, board)
