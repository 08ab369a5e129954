"""dev/check_layers accepts the tree, and reports faults that are planted in a copy of it."""

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


@pytest.mark.parametrize("root", ["src/relay", "python/relay"])
def test_the_tree_is_in_order(root):
    result = check(ROOT / root)
    assert result.returncode == 0, result.stdout


# Planted files: their folder, an include, and the complaint about it.
FORBIDDEN_INCLUDES = {
    "base/a.h": ('"relay/ir/expr.h"', "'base' may not include 'ir' (it may include nothing)"),
    "ir/a.h": ('"relay/transform/fuse_ops.h"', "'ir' may not include 'transform'"),
    "target/x86/a.cpp": ('"relay/exec/build.h"', "'target/x86' may not include 'exec'"),
    "ir/b.cpp": ("<llvm/IR/Module.h>", "'ir' may not include <llvm/IR/Module.h>"),
    "runtime/a.cpp": ("<fmt/format.h>", "'runtime' may not include <fmt/format.h>"),
    "ir/c.cpp": ("<gtest/gtest.h>", "'ir' may not include <gtest/gtest.h>"),
    "ir/d.cpp": ('"expr.h"', "'expr.h' must be included from the root"),
    "nowhere/a.cpp": ("<vector>", "does not belong to a layer"),
}
ALLOWED_INCLUDES = {
    "ir/e.cpp": '"relay/base/span.h"',
    "ir/e_test.cpp": "<gtest/gtest.h>",
    "runtime/b.cpp": "<hwloc.h>",
    "runtime/c.cpp": "<sys/mman.h>",
    "target/x86/b.cpp": "<llvm/IR/IntrinsicsX86.h>",
    "ir/f.cpp": "<unordered_map>",
}


def plant(root, files):
    """Writes files, given as {path: text}, into a copy of the sources."""
    for file, text in files.items():
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(text)


@pytest.fixture(scope="module")
def planted_includes(tree):
    """The tree with all planted files, and what the check prints about it."""
    includes = {file: include for file, (include, _) in FORBIDDEN_INCLUDES.items()} | ALLOWED_INCLUDES
    plant(tree, {file: f"// A comment.\n#include {include}\n" for file, include in includes.items()})
    result = check(tree)
    assert result.returncode == 1
    return tree, result.stdout.splitlines()


@pytest.mark.parametrize("file", FORBIDDEN_INCLUDES)
def test_a_planted_include_is_named(planted_includes, file):
    tree, lines = planted_includes
    _, complaint = FORBIDDEN_INCLUDES[file]
    assert [line for line in lines if str(tree / file) in line and complaint in line]


@pytest.mark.parametrize("file", ALLOWED_INCLUDES)
def test_what_is_allowed_passes(planted_includes, file):
    tree, lines = planted_includes
    assert not [line for line in lines if str(tree / file) in line]


def test_a_line_that_needs_a_later_one_is_named(tmp_path):
    (tmp_path / "LAYERS").write_text("base: ir\nir: base\n")
    result = check(tmp_path)
    assert result.returncode == 1
    assert "LAYERS:1: 'base' needs 'ir', which no earlier line defines" in result.stdout


def package_with(folder, planted):
    """A copy of the Python package with further files, as {path: text}."""
    root = folder / "relay"
    shutil.copytree(ROOT / "python/relay", root, ignore=shutil.ignore_patterns("*.so", "*.pyi", "__pycache__"))
    plant(root, planted)
    return root


FORBIDDEN_IMPORTS = {
    "ir/a.py": ("from ..transform import FoldConstant", ":1: 'ir' may not import 'transform'"),
    "ir/b.py": ("def f():\n    from .. import transform", ":2: 'ir' may not import 'transform'"),
    "data/a.py": ("import relay.run.compiled", ":1: 'data' may not import 'run'"),
    "run/a.py": ("from relay.compat import tvm", ":1: 'run' may not import 'compat'"),
    "run/b.py": ("import relay", ":1: 'run' may not import '__init__'"),
    "run/c.py": ("import tvm", ":1: 'run' may not import tvm: its line in LAYERS does not name <tvm>"),
    "ir/c.py": ("import torch", ":1: 'ir' may not import torch"),
    "ir/d.py": ("from relay.values import Data", ":1: 'relay.values' does not belong to a layer"),
    "nowhere/a.py": ("import os", ": does not belong to a layer"),
}


@pytest.fixture(scope="module")
def planted_imports(tmp_path_factory):
    root = package_with(
        tmp_path_factory.mktemp("package"), {file: text for file, (text, _) in FORBIDDEN_IMPORTS.items()}
    )
    result = check(root)
    assert result.returncode == 1
    return root, result.stdout


@pytest.mark.parametrize("file", FORBIDDEN_IMPORTS)
def test_a_planted_import_is_named(planted_imports, file):
    root, printed = planted_imports
    assert f"{root / file}{FORBIDDEN_IMPORTS[file][1]}" in printed


def test_a_circle_of_modules_is_named(tmp_path):
    result = check(package_with(tmp_path, {"ir/a.py": "from . import b", "ir/b.py": "def f():\n    from .a import x"}))
    assert result.returncode == 1
    assert "circular imports: ir/a -> ir/b -> ir/a" in result.stdout


def test_imports_of_lower_rooms_pass(tmp_path):
    text = "import json\nimport numpy as np\nfrom .. import _core\nfrom ..data import arrays\nfrom .expr import var\n"
    result = check(package_with(tmp_path, {"ir/planted.py": text}))
    assert result.returncode == 0, result.stdout
