"""dev/check_lists accepts the tree, and reports paths in comments and pages that do not exist."""

import subprocess
import sys

import pytest
from programs import ROOT


def check(root):
    return subprocess.run([sys.executable, ROOT / "dev/check_lists", root], capture_output=True, text=True)


def plant(tmp_path, name, text):
    (tmp_path / "src/relay/lower/plan").mkdir(parents=True)
    (tmp_path / "src/relay/lower/plan/views.h").write_text("")
    (tmp_path / "examples/pass").mkdir(parents=True)
    (tmp_path / "examples/pass/merge.cpp").write_text("")
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return check(tmp_path / "src/relay")


def test_the_tree_is_in_order():
    result = check(ROOT / "src/relay")
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("name", "text", "path"),
    [
        ("src/relay/lower/a.cpp", "int x;  // what a concatenation reads (lower/plan/parts.h)\n", "lower/plan/parts.h"),
        ("docs/a.md", "\nSee `lower/views.h`.\n", "lower/views.h"),
        ("python/relay/a.py", '"""As lower/plan/view.h says."""\n', "lower/plan/view.h"),
        ("src/relay/lower/a.h", "// src/relay/transform/merge.cpp\n", "src/relay/transform/merge.cpp"),
    ],
)
def test_a_path_that_leads_nowhere_is_named(tmp_path, name, text, path):
    result = plant(tmp_path, name, text)
    assert result.returncode == 1
    assert f"{name}:{text.count(chr(10), 0, text.index(path)) + 1}: there is no {path}" in result.stdout


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("src/relay/lower/a.cpp", "// lower/plan/views.h, plan/views.h, src/relay/lower/plan/views.h\n"),
        ("src/relay/lower/a.cpp", 'const char* file = "lower/plan/parts.h";\n'),
        ("docs/a.md", "Write `src/relay/transform/merge.cpp`: the pass.\n"),
        ("python/src/a.h", "// what nanobind/stl/string.h has not\n"),
    ],
)
def test_a_path_that_leads_somewhere_passes(tmp_path, name, text):
    result = plant(tmp_path, name, text)
    assert result.returncode == 0, result.stdout
