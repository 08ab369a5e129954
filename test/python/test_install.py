"""The shared runtime library, as a program in C finds it with pkg-config and with CMake."""

import shutil
import subprocess

import pytest
from programs import DENSE, ROOT

import relay

BUILD = ROOT / "build" / "release"
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


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    if not list(BUILD.glob("librelay_runtime.so*")) or not shutil.which("cmake"):
        pytest.skip("the shared library is not built")
    prefix = tmp_path_factory.mktemp("prefix")
    subprocess.run(
        ["cmake", "--install", BUILD, "--component", "runtime", "--prefix", prefix], check=True, capture_output=True
    )
    (prefix / "app.c").write_text(SOURCE)
    relay.compile(relay.parse(DENSE)).save(prefix / "dense.rart")
    return prefix


def runs(prefix, program):
    done = subprocess.run(
        [program, prefix / "dense.rart"], capture_output=True, text=True, env={"LD_LIBRARY_PATH": str(prefix / "lib")}
    )
    assert done.stdout == "8\n", done


def test_pkg_config(installed):
    if not shutil.which("pkg-config"):
        pytest.skip("pkg-config is not installed")
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "relay-runtime"],
        env={"PKG_CONFIG_PATH": str(installed / "lib" / "pkgconfig"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    subprocess.run(["cc", installed / "app.c", *flags, "-o", installed / "app"], check=True)
    runs(installed, installed / "app")


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
