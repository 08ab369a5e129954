"""A C program finds the shared runtime library with pkg-config and with CMake."""

import shutil
import subprocess

import pytest
from installed import install_runtime
from programs import DENSE

import relay

SOURCE = """
#include <relay/runtime/relay_c.h>
#include <stdio.h>
int main(int argc, char** argv) {
  relay_model* model;
  if (relay_model_load(argv[1], NULL, &model) != RELAY_OK) { puts(relay_last_error()); return 1; }
  float x[4] = {1, 1, 1, 1}, w[32];
  for (int i = 0; i < 32; ++i) w[i] = 2;
  int64_t x_shape[2] = {1, 4}, w_shape[2] = {8, 4};
  relay_tensor in[2] = {{x, x_shape, 2, RELAY_FLOAT32, NULL}, {w, w_shape, 2, RELAY_FLOAT32, NULL}}, out = {0};
  if (relay_model_run(model, in, 2, &out, 1) != RELAY_OK) { puts(relay_last_error()); return 1; }
  printf("%g\\n", ((const float*)out.data)[7]);
  relay_tensor_release(&out);
  relay_model_free(model);
  return 0;
}
"""


LOOK_UP = """
#include <relay/runtime/relay_c.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  relay_model* model;
  if (relay_model_load(argv[1], NULL, &model) != RELAY_OK) { puts(relay_last_error()); return 1; }
  float table[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  int64_t index = 0, table_shape[2] = {4, 2}, index_shape[1] = {1};
  relay_tensor in[2] = {{table, table_shape, 2, RELAY_FLOAT32, NULL}, {&index, index_shape, 1, RELAY_INT64, NULL}};
  for (int i = 2; i < argc; ++i) {
    index = atoi(argv[i]);
    relay_tensor out = {0};
    relay_status status = relay_model_run(model, in, 2, &out, 1);
    if (status == RELAY_WRONG_INPUT) { puts(relay_last_error()); continue; }
    if (status != RELAY_OK) return 1;
    printf("%g\\n", ((const float*)out.data)[0]);
    relay_tensor_release(&out);
  }
  relay_model_free(model);
  return 0;
}
"""

UPDATES = """
#include <relay/runtime/relay_c.h>
#include <stdio.h>
static int64_t row_shape[2] = {1, 2}, at_shape[2] = {1, 1}, keys_shape[2] = {4, 2}, at;
static float row[2], keys[8];
static int failed(relay_status status) { return status != RELAY_OK && puts(relay_last_error()); }

int main(int argc, char** argv) {
  relay_model* model;
  if (failed(relay_model_load(argv[1], NULL, &model))) return 1;
  printf("%d %d\\n", (int)relay_model_input_of_output(model, 0), (int)relay_model_input_of_output(model, 1));
  relay_tensor in[3] = {{row, row_shape, 2, RELAY_FLOAT32, NULL}, {&at, at_shape, 2, RELAY_INT64, NULL},
                        {keys, keys_shape, 2, RELAY_FLOAT32, NULL}};
  for (at = 0; at < 2; ++at) {  /* a run that gives the keys away */
    row[0] = at + 1;
    relay_tensor out[2] = {{0}, in[2]};
    if (failed(relay_model_run(model, in, 3, out, 2))) return 1;
    printf("%g %g %g\\n", *(float*)out[0].data, keys[0], keys[2]);
    relay_tensor_release(&out[0]);
  }
  relay_value* state;
  relay_tensor now;
  if (failed(relay_value_from_tensor(&in[2], NULL, NULL, &state))) return 1;
  if (failed(relay_value_as_tensor(state, &now))) return 1;
  void* memory = now.data;
  int is_kept = 1;
  for (; at < 4; ++at) {  /* calls that take the values over */
    row[0] = at + 1;
    relay_value *args[3] = {0, 0, state}, *result;
    for (int i = 0; i < 2; ++i)
      if (failed(relay_value_from_tensor(&in[i], NULL, NULL, &args[i]))) return 1;
    if (failed(relay_model_call_owned(model, args, 3, &result))) return 1;
    is_kept = is_kept && !args[0] && !args[1] && !args[2];
    if (failed(relay_value_field(result, 1, &state)) || failed(relay_value_as_tensor(state, &now))) return 1;
    is_kept = is_kept && now.data == memory;
    relay_value_free(result);
  }
  printf("%g %g %g %d\\n", ((float*)memory)[2], ((float*)memory)[4], ((float*)memory)[6], is_kept);
  relay_value* args[3] = {0, 0, state};  /* what fails takes them over too */
  relay_value* none = NULL;
  printf("%d\\n", relay_model_call_owned(model, args, 3, &none) == RELAY_BAD_ARGUMENT && !args[2] && !none);
  relay_model_free(model);
  return 0;
}
"""

SESSIONS = """
#include <relay/runtime/relay_c.h>
#include <stdio.h>
static int64_t row_shape[2] = {1, 2}, at_shape[2] = {1, 1}, at;
static float row[2] = {1, 1};
static int failed(relay_status status) { return status != RELAY_OK && puts(relay_last_error()); }

int main(int argc, char** argv) {
  relay_model* model;
  relay_session *first, *second;
  if (failed(relay_model_load(argv[1], NULL, &model))) return 1;
  if (failed(relay_session_new(model, &first)) || failed(relay_session_new(model, &second))) return 1;
  relay_model_free(model); /* sessions keep what they need */
  relay_port port;
  if (failed(relay_session_state(first, 0, &port))) return 1;
  printf("%zu %s %d\\n", relay_session_state_count(first), port.name, (int)port.rank);
  relay_tensor in[2] = {{row, row_shape, 2, RELAY_FLOAT32, NULL}, {&at, at_shape, 2, RELAY_INT64, NULL}}, keys;
  for (at = 0; at < 2; ++at) {
    relay_tensor out = {0};
    row[0] = at + 1;
    if (failed(relay_session_run(first, in, 2, &out, 1))) return 1;
    relay_tensor_release(&out);
  }
  if (failed(relay_session_get(first, 0, &keys)) || failed(relay_session_set(second, 0, &keys))) return 1;
  if (failed(relay_session_reset(first))) return 1;
  relay_tensor_release(&keys);
  at = 3;
  for (int i = 0; i < 2; ++i) {
    relay_tensor out = {0};
    if (failed(relay_session_run(i ? second : first, in, 2, &out, 1))) return 1;
    if (failed(relay_session_get(i ? second : first, 0, &keys))) return 1;
    const float* now = keys.data;
    printf("%g %g %g %g\\n", now[0], now[2], now[4], now[6]);
    relay_tensor_release(&out);
    relay_tensor_release(&keys);
  }
  at = 9; /* out of range */
  relay_tensor out = {0};
  printf("%d", (int)relay_session_run(first, in, 2, &out, 1));
  at = 0;
  printf(" %d", (int)relay_session_run(first, in, 2, &out, 1));
  puts(relay_session_run(first, in, 1, &out, 1) == RELAY_WRONG_INPUT ? " refused" : " taken");
  relay_session_free(first);
  relay_session_free(second);
  return 0;
}
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    prefix = install_runtime(tmp_path_factory.mktemp("prefix"))
    (prefix / "app.c").write_text(SOURCE)
    relay.compile(relay.parse(DENSE)).save(prefix / "dense.rart")
    return prefix


def runs(prefix, program):
    done = subprocess.run(
        [program, prefix / "dense.rart"], capture_output=True, text=True, env={"LD_LIBRARY_PATH": str(prefix / "lib")}
    )
    assert done.stdout == "8\n", done


@pytest.fixture(scope="module")
def flags(installed):
    if not shutil.which("pkg-config"):
        pytest.skip("pkg-config is not installed")
    return subprocess.run(
        ["pkg-config", "--cflags", "--libs", "relay-runtime"],
        env={"PKG_CONFIG_PATH": str(installed / "lib" / "pkgconfig"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()


def test_pkg_config(installed, flags):
    subprocess.run(["cc", installed / "app.c", *flags, "-o", installed / "app"], check=True)
    runs(installed, installed / "app")


def test_an_index_out_of_range_in_a_program_in_c(installed, flags, tmp_path):
    """The run fails, says which index, and the next one is sound."""
    program = "def @main(%x: Tensor[(4, 2), float32], %i: Tensor[(1), int64]) "
    module = relay.parse(f'#[version = "0.0.5"]\n{program}{{ take(%x, %i, axis=0, mode="checked") }}\n')
    relay.compile(module).save(tmp_path / "look_up.rart")
    (tmp_path / "look_up.c").write_text(LOOK_UP)
    subprocess.run(["cc", tmp_path / "look_up.c", *flags, "-o", tmp_path / "look_up"], check=True)
    done = subprocess.run(
        [tmp_path / "look_up", tmp_path / "look_up.rart", "3", "4", "-1", "-5", "0"],
        capture_output=True,
        text=True,
        env={"LD_LIBRARY_PATH": str(installed / "lib")},
    )
    assert done.returncode == 0, done
    first, *between, last = done.stdout.splitlines()
    assert (first, last) == ("6", "0") and "6" in between
    assert done.stdout.count("error[R0604]: take: index ") == 2
    for index in (4, -5):
        assert (
            f"index {index} at position (0) of its indices is out of range for axis 0 of the data, which has 4 rows"
            in (done.stdout)
        )
    assert done.stdout.count("help: give indices from 0 to 3, or from -4 to -1 to count from the end") == 2


def test_state_in_place_in_a_program_in_c(installed, flags, tmp_path):
    module = relay.parse("""#[version = "0.0.5"]
def @main(%row: Tensor[(1, 2), float32], %at: Tensor[(1, 1), int64], %keys: Tensor[(4, 2), float32]) {
  let %new = scatter_nd(%keys, %at, %row);
  (sum(%new), %new)
}
""")
    relay.compile(module, executor="graph").save(tmp_path / "updates.rart")
    (tmp_path / "updates.c").write_text(UPDATES)
    subprocess.run(["cc", tmp_path / "updates.c", *flags, "-o", tmp_path / "updates"], check=True)
    done = subprocess.run(
        [tmp_path / "updates", tmp_path / "updates.rart"],
        capture_output=True, text=True, env={"LD_LIBRARY_PATH": str(installed / "lib")},
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout.splitlines() == ["-1 2", "1 1 0", "3 1 2", "2 3 4 1", "1"], done
    (tmp_path / "sessions.c").write_text(SESSIONS)
    relay.compile(module, donate={"keys": 1}).save(tmp_path / "sessions.rart")
    subprocess.run(["cc", tmp_path / "sessions.c", *flags, "-o", tmp_path / "sessions"], check=True)
    done = subprocess.run(
        [tmp_path / "sessions", tmp_path / "sessions.rart"],
        capture_output=True, text=True, env={"LD_LIBRARY_PATH": str(installed / "lib")},
    )  # fmt: skip
    assert done.stdout.splitlines() == ["1 keys 2", "0 0 0 2", "1 2 0 2", "4 4 refused"], done


def test_cmake(installed, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES C)\nfind_package(relay REQUIRED COMPONENTS c)\n"
        f"add_executable(app {installed}/app.c)\ntarget_link_libraries(app PRIVATE relay::c)\n"
    )
    for arguments in (
        ["-S", tmp_path, "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={installed}"],
        ["--build", tmp_path / "b"],
    ):
        done = subprocess.run(["cmake", *arguments], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    runs(installed, tmp_path / "b" / "app")


def test_only_the_interface_is_visible(installed):
    names = subprocess.run(
        ["nm", "-D", "--defined-only", installed / "lib" / "librelay_runtime.so"], capture_output=True, text=True
    ).stdout.split()[2::3]
    assert "relay_model_run" in names
    assert not [name for name in names if "5relay" in name], names
