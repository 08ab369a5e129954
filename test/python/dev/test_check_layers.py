"""dev/check_layers accepts the tree, and names what is planted in a copy of it."""

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


def test_the_tree_is_in_order():
    result = check(ROOT / "src/relay")
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
        ("nowhere/planted.cpp", "<vector>", "is in no layer"),
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
    assert "LAYERS:1: 'base' needs 'ir', which stands on no earlier line" in result.stdout
