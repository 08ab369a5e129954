"""dev/check_layers accepts the tree, and reports faults that are planted in a copy of it."""

import contextlib
import shutil
import subprocess
import sys

import pytest
from programs import ROOT


def check(root):
    return subprocess.run([sys.executable, ROOT / "dev/check_layers", root], capture_output=True, text=True)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the sources, for planting files in it."""
    root = tmp_path_factory.mktemp("tree") / "relay"
    shutil.copytree(ROOT / "src/relay", root)
    return root


@contextlib.contextmanager
def planted(root, name, include):
    """A file with one include, as long as the context lasts."""
    file = root / name
    is_new = not file.parent.exists()
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"// A comment.\n#include {include}\n")
    try:
        yield file
    finally:
        file.unlink()
        if is_new:
            file.parent.rmdir()


@pytest.mark.parametrize("root", ["src/relay", "python/relay"])
def test_the_tree_is_in_order(root):
    result = check(ROOT / root)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("file", "include", "complaint"),
    [
        ("base/planted.h", '"relay/ir/expr.h"', "'base' may not include 'ir' (it may include nothing)"),
        ("ir/planted.h", '"relay/transform/fuse_ops.h"', "'ir' may not include 'transform'"),
        ("target/x86/planted.cpp", '"relay/exec/build.h"', "'target/x86' may not include 'exec'"),
        ("ir/planted.cpp", "<llvm/IR/Module.h>", "'ir' may not include <llvm/IR/Module.h>"),
        ("runtime/planted.cpp", "<fmt/format.h>", "'runtime' may not include <fmt/format.h>"),
        ("ir/planted.cpp", "<gtest/gtest.h>", "'ir' may not include <gtest/gtest.h>"),
        ("ir/planted.cpp", '"expr.h"', "'expr.h' must be included from the root"),
        ("nowhere/planted.cpp", "<vector>", "does not belong to a layer"),
    ],
)
def test_a_planted_include_is_named(tree, file, include, complaint):
    with planted(tree, file, include) as path:
        result = check(tree)
    assert result.returncode == 1
    assert str(path) in result.stdout and complaint in result.stdout


@pytest.mark.parametrize(
    ("file", "include"),
    [
        ("ir/planted.cpp", '"relay/base/span.h"'),
        ("ir/planted_test.cpp", "<gtest/gtest.h>"),
        ("runtime/planted.cpp", "<hwloc.h>"),
        ("runtime/planted.cpp", "<sys/mman.h>"),
        ("target/x86/planted.cpp", "<llvm/IR/IntrinsicsX86.h>"),
        ("ir/planted.cpp", "<unordered_map>"),
    ],
)
def test_what_is_allowed_passes(tree, file, include):
    with planted(tree, file, include):
        result = check(tree)
    assert result.returncode == 0, result.stdout


def test_a_line_that_needs_a_later_one_is_named(tmp_path):
    (tmp_path / "LAYERS").write_text("base: ir\nir: base\n")
    result = check(tmp_path)
    assert result.returncode == 1
    assert "LAYERS:1: 'base' needs 'ir', which no earlier line defines" in result.stdout


def package_with(tmp_path, planted):
    """A copy of the Python package with further files, as {path: text}."""
    root = tmp_path / "relay"
    shutil.copytree(ROOT / "python/relay", root, ignore=shutil.ignore_patterns("*.so", "*.pyi", "__pycache__"))
    for file, text in planted.items():
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(text)
    return root


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("ir/planted.py", "from ..transform import FoldConstant", ":1: 'ir' may not import 'transform'"),
        ("ir/planted.py", "def f():\n    from .. import transform", ":2: 'ir' may not import 'transform'"),
        ("data/planted.py", "import relay.run.compiled", ":1: 'data' may not import 'run'"),
        ("run/planted.py", "from relay.compat import tvm", ":1: 'run' may not import 'compat'"),
        ("run/planted.py", "import relay", ":1: 'run' may not import '__init__'"),
        ("run/planted.py", "import tvm", ":1: 'run' may not import tvm: its line in LAYERS does not name <tvm>"),
        ("ir/planted.py", "import torch", ":1: 'ir' may not import torch"),
        ("ir/planted.py", "from relay.values import Data", ":1: 'relay.values' does not belong to a layer"),
        ("nowhere/planted.py", "import os", ": does not belong to a layer"),
    ],
)
def test_a_planted_import_is_named(tmp_path, file, text, complaint):
    root = package_with(tmp_path, {file: text})
    result = check(root)
    assert result.returncode == 1
    assert f"{root / file}{complaint}" in result.stdout


def test_a_circle_of_modules_is_named(tmp_path):
    result = check(package_with(tmp_path, {"ir/a.py": "from . import b", "ir/b.py": "def f():\n    from .a import x"}))
    assert result.returncode == 1
    assert "circular imports: ir/a -> ir/b -> ir/a" in result.stdout


def test_imports_of_lower_rooms_pass(tmp_path):
    text = "import json\nimport numpy as np\nfrom .. import _core\nfrom ..data import arrays\nfrom .expr import var\n"
    result = check(package_with(tmp_path, {"ir/planted.py": text}))
    assert result.returncode == 0, result.stdout
