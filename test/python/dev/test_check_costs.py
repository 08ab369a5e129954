"""dev/check_costs accepts the tree and the examples of lowering, and reports planted faults."""

import subprocess
import sys

import pytest
from programs import ROOT

EXAMPLES = {
    "custom_algorithm/plan.cpp": "algorithms/doubling/plan.cpp",
    "custom_rule/column_sums.cpp": "rules/column_sums.cpp",
}


def check(*roots):
    return subprocess.run([sys.executable, ROOT / "dev/check_costs", *roots], capture_output=True, text=True)


def test_the_tree_is_in_order():
    result = check()
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_passes_where_its_page_puts_it(tmp_path, example):
    file = tmp_path / "lower" / EXAMPLES[example]
    file.parent.mkdir(parents=True)
    file.write_text((ROOT / "examples" / example).read_text())
    assert check(tmp_path / "lower").returncode == 0
    file.write_text(file.read_text() + "\nint rows() { return 257; }\n")
    assert "257 is not explained" in check(tmp_path / "lower").stdout


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("int rows(int64_t n) { return n > 48; }", "rule.cpp:1: 48 is not explained"),
        ("double ns(const TargetDesc& t) { return 1 / t.l2_gbps; }", "rule.cpp:1: reads the figures of a cache"),
        ('bool is(const TargetDesc& t) { return t.name == "zen4"; }', "rule.cpp:1: names the processor zen4"),
    ],
)
def test_what_is_planted_is_named(tmp_path, line, complaint):
    file = tmp_path / "rule.cpp"
    file.write_text(line + "\n")
    for root in (file, tmp_path):
        result = check(root)
        assert result.returncode == 1
        assert complaint in result.stdout
