"""`relay fmt`: files in place, standard input, --check and --diff. format_test.cpp tests the formatter."""

import subprocess

import pytest
from programs import DENSE, PROGRAM, cli, fails, needs_program

pytestmark = needs_program
UGLY = DENSE.replace("  ", "").replace(", ", ",")


@pytest.fixture
def ugly(tmp_path):
    path = tmp_path / "ugly.relay"
    path.write_text(UGLY)
    return path


def test_formats_in_place(ugly):
    assert "formatted" in cli("fmt", ugly).stderr
    assert ugly.read_text() == DENSE
    assert cli("fmt", ugly).stderr == ""


def test_check_names_files_and_writes_nothing(ugly, tmp_path):
    good = tmp_path / "good.relay"
    good.write_text(DENSE)
    done = cli("fmt", "--check", good, ugly)
    assert done.returncode == 1 and done.stdout == f"{ugly}\n"
    assert "relay fmt FILES" in done.stderr and ugly.read_text() == UGLY
    assert cli("fmt", "--check", good).returncode == 0


def test_diff(ugly):
    done = cli("fmt", "--diff", ugly)
    assert done.returncode == 0 and ugly.read_text() == UGLY
    assert "-%0 = nn.dense(%x,%w,units=8);\n" in done.stdout and "+  %0 = nn.dense(%x, %w, units=8);\n" in done.stdout
    assert cli("fmt", "--diff", "--check", ugly).returncode == 1


def test_standard_input():
    done = subprocess.run([PROGRAM, "fmt", "-"], input=UGLY, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout == DENSE
    done = subprocess.run([PROGRAM, "fmt", "-", "--check"], input=UGLY, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stdout == "<stdin>\n"


def test_a_mistake_leaves_a_text_as_it_is_and_others_are_formatted(ugly, tmp_path):
    broken = tmp_path / "broken.relay"
    broken.write_text(UGLY[:-2])
    message = fails("R0101", "fmt", broken, ugly)
    assert "broken.relay:" in message and broken.read_text() == UGLY[:-2]
    assert ugly.read_text() == DENSE


def test_not_a_file(tmp_path):
    fails("R0401", "fmt", tmp_path / "missing.relay")
    fails("R0401", "fmt", tmp_path)
