"""dev/check_layers accepts the tree, and names what is planted in a copy of it."""

import shutil
import subprocess
import sys

import pytest
from programs import ROOT


def check(root):
    return subprocess.run([sys.executable, ROOT / "dev/check_layers", root], capture_output=True, text=True)


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
def test_a_planted_include_is_named(tmp_path, file, include, complaint):
    root = tmp_path / "relay"
    shutil.copytree(ROOT / "src/relay", root)
    planted = root / file
    planted.parent.mkdir(parents=True, exist_ok=True)
    planted.write_text(f"// A comment.\n#include {include}\n")
    result = check(root)
    assert result.returncode == 1
    assert str(planted) in result.stdout and complaint in result.stdout


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
def test_what_is_allowed_passes(tmp_path, file, include):
    root = tmp_path / "relay"
    shutil.copytree(ROOT / "src/relay", root)
    (root / file).parent.mkdir(parents=True, exist_ok=True)
    (root / file).write_text(f"#include {include}\n")
    result = check(root)
    assert result.returncode == 0, result.stdout


def test_a_line_that_needs_a_later_one_is_named(tmp_path):
    (tmp_path / "LAYERS").write_text("base: ir\nir: base\n")
    result = check(tmp_path)
    assert result.returncode == 1
    assert "LAYERS:1: 'base' needs 'ir', which stands on no earlier line" in result.stdout
