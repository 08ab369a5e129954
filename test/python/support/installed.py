"""The installed runtime: the shared library, its headers, and the files by which build systems find them."""

import shutil
import subprocess

import pytest
from programs import ROOT

BUILD = ROOT / "build" / "release"


def install_runtime(prefix):
    if not list(BUILD.glob("librelay_runtime.so*")) or not shutil.which("cmake"):
        pytest.skip("the shared library is not built")
    subprocess.run(
        ["cmake", "--install", BUILD, "--component", "runtime", "--prefix", prefix], check=True, capture_output=True
    )
    return prefix


def environment(prefix):
    """For programs that use the library, and for builds that ask pkg-config."""
    return {"LD_LIBRARY_PATH": str(prefix / "lib"), "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
