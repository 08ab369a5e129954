"""dev/check_structure accepts the tree, and reports faults that are planted in a small one."""

import subprocess
import sys

import pytest
from programs import ROOT


def check(root):
    return subprocess.run([sys.executable, ROOT / "dev/check_structure", root], capture_output=True, text=True)


def plant(tmp_path, files):
    root = tmp_path / "src" / "relay"
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return check(root)


def body(lines):
    return "".join(f"  use({i});\n" for i in range(lines))


def test_the_tree_is_in_order():
    result = check(ROOT / "src/relay")
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        ({"ir/a.cpp": "int x;\n" * 600}, "src/relay/ir/a.cpp: 600 lines; at most 599"),
        ({"ir/a.cpp": f"\nint f(int x) {{\n{body(79)}}}\n"}, "src/relay/ir/a.cpp:2: a function of 81 lines"),
        ({"ir/a.cpp": f"class A {{\n  int f() const {{\n{body(79)}  }}\n}};\n"}, "a.cpp:2: a function of 81 lines"),
        (
            {"ir/a.h": "", "ir/b.h": '#include "relay/ir/a.h"\n', "ir/a.cpp": '#include "relay/ir/b.h"\n'},
            "src/relay/ir: circular includes: a -> b -> a",
        ),
        ({f"lower/rules/r{i}.cpp": "" for i in range(21)}, "src/relay/lower/rules: 21 files; at most 20"),
    ],
)
def test_what_is_planted_is_named(tmp_path, files, complaint):
    result = plant(tmp_path, files)
    assert result.returncode == 1
    assert complaint in result.stdout


@pytest.mark.parametrize(
    "files",
    [
        {"ir/a.cpp": "int x;\n" * 599},
        {"ir/a.cpp": f"int f(int x) {{\n{body(78)}}}\n"},
        {"runtime/functions/vm.cpp": f"void f() {{\n{body(200)}}}\n"},
        {"ir/a.h": "", "ir/b.h": '#include "relay/ir/a.h"\n', "ir/c.cpp": '#include "relay/ir/b.h"\n'},
        {f"ir/r{i}.cpp": "" for i in range(21)},
    ],
)
def test_what_is_in_order_passes(tmp_path, files):
    result = plant(tmp_path, files)
    assert result.returncode == 0, result.stdout
