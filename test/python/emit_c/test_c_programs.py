"""Programs with functions, data types and closures as C99: over a workspace with a bound, without the C stack."""

import re

import c_projects
import numpy as np
import pytest
from forms import each_nth
from programs import ROOT, cli, fails, needs_program

import relay

pytestmark = needs_program
VERSION = '#[version = "0.0.5"]\n'
SANITIZED = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover"]
TOOLCHAINS = [name for name, tool in c_projects.HOST.items() if tool.is_here()]
PROGRAMS = {
    "char_rnn": (ROOT / "examples/char_rnn.relay", ["--input", "count=30"]),
    "interpreter": (ROOT / "examples/interpreter.relay", []),
    "closures": (ROOT / "test/anywhere/programs/closures.relay", ["--input", "n=500", "--input", "p=expr:(5,True)"]),
}
LISTS = """type List[A] { Cons(A, List[A]), Nil }
def @total(%l: List[float32], %acc: float32) -> float32 {
  match (%l) { Nil => %acc, Cons(%h, %t) => @total(%t, add(%acc, %h)) }
}
def @count(%n: int32) -> int32 { if (less(%n, 1)) { 0 } else { add(1, @count(subtract(%n, 1))) } }
"""


def project(tmp_path, text, *options):
    (tmp_path / "program.relay").write_text(VERSION + text)
    return c_projects.write(tmp_path / "program.relay", tmp_path / "project", *options)


def run_main(folder, text, options=SANITIZED):
    (folder / "main.c").write_text(text)
    return c_projects.self_test(folder, "gcc", options)


@pytest.fixture(params=PROGRAMS, scope="module")
def program(request, tmp_path_factory):
    path, options = PROGRAMS[request.param]
    return c_projects.write(path, tmp_path_factory.mktemp(request.param), *options)


@pytest.mark.parametrize("toolchain", each_nth(2, TOOLCHAINS))
def test_programs_build_without_warnings_and_compute_the_same_bits(program, toolchain):
    assert "model: ok" in c_projects.self_test(program, toolchain)


def test_sanitizers_find_nothing_and_nothing_can_be_written(program):
    assert "model: ok" in c_projects.self_test(program, "gcc", SANITIZED)
    assert c_projects.writable_symbols(program) == []
    assert "malloc" not in (program / "model.c").read_text()


def test_the_arena_is_what_the_recorded_run_needs(program):
    used, stated = map(int, re.search(r"(\d+) of (\d+) bytes used", c_projects.self_test(program)).groups())
    assert stated - 64 < used <= stated


TREES = """#include <stdio.h>
#include <string.h>
#include "model.h"
#include "test_vectors.h"
static uint64_t memory[1 << 16];
static float h[150], c[150];
int main(void) {
  model_memory *m = model_begin(memory, sizeof memory);
  static float x[5][300];
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 300; ++j) x[i][j] = (float)((i * 7 + j * 3) % 11) / 11 - 0.5f;
  model_value none = model_List_Nil(m);
  model_value leaves = none;
  for (int i = 0; i < 4; ++i) {
    model_value leaf = model_Tree_Rose(m, model_float32_1x300(m, x[i]), model_List_Nil(m));
    leaves = model_List_Cons(m, leaf, leaves);
  }
  model_value tree = model_Tree_Rose(m, model_float32_1x300_at(m, x[4]), leaves);
  for (int i = 0; i < 3; ++i)
    if (model_run(m, tree, input_w_0, input_u_0, input_uf_0, input_b_0, h, c) != MODEL_OK) return 1;
  if (model_run(m, NULL, input_w_0, input_u_0, input_uf_0, input_b_0, h, c) != MODEL_NULL_ARGUMENT) return 2;
  if (model_run(m, leaves, input_w_0, input_u_0, input_uf_0, input_b_0, h, c) != MODEL_WRONG_VALUE) return 3;
  model_release(m, tree);
  for (int i = 0; i < 150; ++i) printf("%.9g %.9g\\n", (double)h[i], (double)c[i]);
  return 0;
}
"""


def test_a_tree_lstm_over_a_tree_of_the_caller(tmp_path):
    model = ROOT / "examples/tree_lstm.relay"
    said = run_main(c_projects.write(model, tmp_path / "project"), TREES, ["-O1"])
    got = np.array([line.split() for line in said.splitlines()], "float64").T
    vectors = (tmp_path / "project" / "test_vectors.h").read_text()

    def recorded(name, *shape):
        body = re.search(rf"input_{name}_0\[\d+\] = \{{([^}}]*)\}}", vectors)[1]
        return np.array([float(word.strip().rstrip("f")) for word in body.split(",")], "float32").reshape(shape)

    x = [np.array([[(i * 7 + j * 3) % 11 / 11 - 0.5 for j in range(300)]], "float32") for i in range(5)]
    nil = relay.Data("Nil")
    leaves = nil
    for i in range(4):
        leaves = relay.Data("Cons", relay.Data("Rose", x[i], nil), leaves)
    weights = recorded("w", 600, 300), recorded("u", 450, 150), recorded("uf", 150, 150), recorded("b", 600)
    h, c = relay.compile(relay.load(model))(relay.Data("Rose", x[4], leaves), *weights)
    assert np.abs(got[0] - np.ravel(h)).max() < 1e-5 and np.abs(got[1] - np.ravel(c)).max() < 1e-5


def test_a_full_workspace_is_a_status_and_writes_nothing_outside(tmp_path):
    folder = project(tmp_path, LISTS + "def @main(%n: int32) { @count(%n) }\n", "--arena", "4K", "--input", "n=3")
    header = (folder / "model.h").read_text()
    assert "#define MODEL_ARENA_BYTES 4096" in header
    said = run_main(
        folder,
        """#include <stdio.h>
#include <string.h>
#include "model.h"
static uint64_t memory[MODEL_WORKSPACE_BYTES / 8 + 16];
int main(void) {
  int32_t n = 20, got = 0;
  memset(memory, 0xa5, sizeof memory);
  for (size_t bytes = 0; bytes <= MODEL_WORKSPACE_BYTES; bytes += 24) {
    const model_status status = model_run(&n, &got, memory + 8, bytes);
    const unsigned char *at = (const unsigned char *)memory;
    for (size_t i = 0; i < sizeof memory; ++i)
      if ((i < 64 || i >= 64 + bytes) && at[i] != 0xa5) return printf("byte %lu\\n", (unsigned long)i);
    if (status == MODEL_OK && got != 20) return printf("wrong\\n");
    if (status != MODEL_OK && status != MODEL_OUT_OF_MEMORY && status != MODEL_WORKSPACE_TOO_SMALL) return 2;
    memset(memory, 0xa5, sizeof memory);
  }
  n = 1000000;
  printf("%d %d\\n", (int)model_run(&n, &got, memory, sizeof memory), MODEL_OUT_OF_MEMORY);
  n = 20;
  printf("%d %d\\n", (int)model_run(&n, &got, memory, sizeof memory), (int)got);
  return 0;
}
""",
    )
    assert said == "8 8\n0 20\n"


def test_recorded_runs_that_are_too_large(tmp_path):
    command = "compile", ROOT / "examples/char_rnn.relay", "--emit", "c-project", "-o", tmp_path / "project"
    said = fails("R0603", *command, "--input", "count=30", "--arena", "1K")
    assert "but --arena gives 1024" in said and "--input" in said
    assert "more than 4096 objects" in fails("R0405", *command, "--input", "count=5000")


def test_loops_need_no_memory_and_deep_recursion_no_stack(tmp_path):
    text = """def @loop(%n: int32, %x: Tensor[(8), float32]) -> Tensor[(8), float32] {
  if (less(%n, 1)) { %x } else { @loop(subtract(%n, 1), multiply(add(%x, 1f), 0.5f)) }
}
"""
    folder = project(
        tmp_path,
        LISTS + text + "def @main(%n: int32, %x: Tensor[(8), float32]) { (@loop(%n, %x), @count(%n)) }\n",
        *("--input", "n=10"),
    )
    said = run_main(
        folder,
        """#include <stdio.h>
#include "model.h"
static uint64_t memory[1 << 21];
int main(void) {
  float x[8] = {0}, y[8];
  int32_t n = 100000, count;
  const int status = (int)model_run(&n, x, y, &count, memory, sizeof memory);
  printf("%d %g %d %d\\n", status, (double)y[7], (int)count, model_peak(memory) < 8u << 20);
  return 0;
}
""",
        ["-O1"],
    )
    assert said == "0 1 100000 1\n"


TWO_THREADS = """#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "model.h"
#include "test_vectors.h"
typedef struct {
  uint64_t memory[MODEL_WORKSPACE_BYTES / 8 + 1];
  int wrong;
} run;
static run runs[2];
static void *work(void *argument) {
  run *r = argument;
  for (int i = 0; i < 100; ++i) {
    model_memory *m = model_begin(r->memory, sizeof r->memory);
    model_value text = NULL, at;
    r->wrong += model_run(m, input_start_0, input_count_0, input_w_0, input_b_0, input_v_0, &text) != MODEL_OK;
    r->wrong += *(const int32_t *)model_elements(model_field(text, 0)) != expected_output_0[0];
    for (at = text; model_tag(at) == MODEL_LIST_CONS; at = model_field(at, 1)) --r->wrong;
    r->wrong += *input_count_0;
    model_release(m, text);
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


def test_two_threads_run_with_two_workspaces(tmp_path):
    path, options = PROGRAMS["char_rnn"]
    folder = c_projects.write(path, tmp_path / "project", *options)
    assert run_main(folder, TWO_THREADS, ["-O2", "-pthread", "-fsanitize=thread"]) == "0 wrong\n"


def test_no_clause_is_a_status(tmp_path):
    text = "def @main(%l: List[float32]) -> float32 { match? (%l) { Cons(%h, _) => %h } }\n"
    folder = project(tmp_path, LISTS + text, "--input", "l=expr:Cons(2f, Nil)")
    assert "model: ok" in c_projects.self_test(folder)
    said = run_main(
        folder,
        """#include <stdio.h>
#include "model.h"
static uint64_t memory[512];
int main(void) {
  model_memory *m = model_begin(memory, sizeof memory);
  float got;
  printf("%d %d\\n", (int)model_run(m, model_List_Nil(m), &got), MODEL_NO_RESULT);
  return 0;
}
""",
    )
    assert said == "10 10\n"


def test_everything_without_a_c_form_is_named_at_once(tmp_path):
    (tmp_path / "program.relay").write_text(
        VERSION
        + LISTS
        + """def @main(%l: List[float32], %f: fn (float32) -> float32, %x: Tensor[(n), float32], %c: bool) {
  let %r = ref(1f);
  (if (%c) { @total(%l, 0f) } else { %f(1f) }, argwhere(%x), %r)
}
"""
    )
    said = fails("R0304", "compile", tmp_path / "program.relay", "--emit", "c-project", "-o", tmp_path / "project")
    for what in (
        "`argwhere` depends on values",
        "input `f` of a C project contains a function",
        "output `output2` of a C project contains a reference",
        "`n` of input `x` is known only at run time",
    ):
        assert what in said, said
    assert said.count("help:") >= 4 and not (tmp_path / "project").exists()


def test_sizes_that_vary_inside_of_functions_are_named(tmp_path):
    (tmp_path / "program.relay").write_text(
        VERSION
        + """type List[A] { Cons(A, List[A]), Nil }
def @sums(%l: List[Tensor[(?, 4), float32]]) -> List[Tensor[(4), float32]] {
  match (%l) { Nil => Nil, Cons(%h, %t) => Cons(sum(%h, axis=[0]), @sums(%t)) }
}
def @main(%l: List[Tensor[(?, 4), float32]]) { @sums(%l) }
"""
    )
    said = fails("R0304", "compile", tmp_path / "program.relay", "--emit", "c-project", "-o", tmp_path / "project")
    assert "takes (float32[" in said and "with functions has constant sizes" in said, said


@pytest.mark.parametrize(
    "options, words",
    [
        (["--weights-file"], "are C arrays"),
        (["--memory-limit", "1K"], "apply to networks without functions"),
    ],
)
def test_options_of_networks_are_refused(tmp_path, options, words):
    model = ROOT / "examples/char_rnn.relay"
    assert words in fails("R0304", "compile", model, "--emit", "c-project", "-o", tmp_path / "project", *options)


# --- sizes with upper bounds
SIZES = """def @main(%x: Tensor[(n, 4), float32], %w: Tensor[(4, 6), float32]) {
  let %y = nn.dense(%x, transpose(%w));
  let %pooled = nn.max_pool1d(expand_dims(transpose(%x), axis=0), pool_size=[3]);
  (nn.softmax(concatenate((%y, multiply(%y, 2f)), axis=0)), %pooled)
}
"""


def test_sizes_with_upper_bounds_compute_what_the_compiled_program_computes(tmp_path):
    folder = project(tmp_path, SIZES, "--max", "n=9")
    assert "model: ok" in c_projects.self_test(folder, "gcc", SANITIZED)
    assert "#define MODEL_MAX_N 9" in (folder / "model.h").read_text()
    said = run_main(
        folder,
        """#include <stdio.h>
#include "model.h"
static float x[9 * 4], w[24], y[MODEL_OUTPUT0_MOST_ELEMENTS], z[MODEL_OUTPUT1_MOST_ELEMENTS];
static uint64_t workspace[MODEL_WORKSPACE_BYTES / 8];
int main(void) {
  for (int i = 0; i < 36; ++i) x[i] = (float)(i % 7) / 8;
  for (int i = 0; i < 24; ++i) w[i] = (float)(i % 5) / 4;
  for (int64_t n = -1; n < 11; ++n) {
    const int status = (int)model_run(n, x, w, y, z, workspace, sizeof workspace);
    printf("%d %d", (int)n, status);
    for (int64_t i = 0; status == 0 && i < n * 12; ++i) printf(" %.9g", (double)y[i]);
    for (int64_t i = 0; status == 0 && i < (n - 2) * 4; ++i) printf(" %.9g", (double)z[i]);
    printf("\\n");
  }
  return 0;
}
""",
    )
    compiled = relay.compile(relay.load(tmp_path / "program.relay"))
    w = np.array([i % 5 / 4 for i in range(24)], "float32").reshape(4, 6)
    for line in said.splitlines():
        n, status, *numbers = line.split()
        assert (int(status) == 0) == (3 <= int(n) <= 9), line
        if int(status) == 0:
            x = np.array([i % 7 / 8 for i in range(4 * int(n))], "float32").reshape(-1, 4)
            want = np.concatenate([np.ravel(y) for y in compiled(x, w)])
            assert np.abs(np.array(numbers, "float64") - want).max() < 1e-6, line


def test_bounds_that_are_missing_or_wrong(tmp_path):
    (tmp_path / "program.relay").write_text(VERSION + SIZES)
    command = "compile", tmp_path / "program.relay", "--emit", "c-project", "-o", tmp_path / "project"
    said = fails("R0304", *command)
    assert "`n` of input `x`" in said and "--max n=128" in said and "--shape" in said
    assert "is not NAME=NUMBER" in fails("R0504", *command, "--max", "n")
    assert "`k`" in fails("R0504", *command, "--max", "n=4", "--max", "k=2")
    assert cli(*command, "--shape", "x=5,4").returncode == 0


def test_a_size_that_grows_the_workspace_is_within_the_limit(tmp_path):
    (tmp_path / "program.relay").write_text(VERSION + SIZES)
    command = "compile", tmp_path / "program.relay", "--emit", "c-project", "-o", tmp_path / "project"
    assert cli(*command, "--max", "n=8", "--memory-limit", "2K").returncode == 0
    assert "the limit is 2048" in fails("R0603", *command, "--max", "n=8000", "--memory-limit", "2K")
