"""The tables of docs/front-ends.md, as the comparisons with other frameworks write them."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "frontends"))
import journal
import runner

HEAD = "| network | form | difference |"
TABLE = """before
<!-- Nets: written by make test-frontends -->
| network | form | difference |
| --- | --- | --- |
| one | plain | 1.0e-06 |
| one | sparse | 2.0e-06 |
| two | plain | 3.0e-06 |
<!-- end of Nets -->
after
"""


@pytest.fixture
def page(tmp_path, monkeypatch):
    path = tmp_path / "page.md"
    path.write_text(TABLE)
    monkeypatch.setattr(runner, "PAGE", path)
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    return path


def test_only_is_a_regular_expression():
    run = runner.Run("nets", "^(MobileNet|VGG19)$")
    names = ("MobileNet", "MobileNetV2", "VGG19", "VGG16")
    assert [name for name in names if run.wants(name)] == ["MobileNet", "VGG19"]
    assert runner.Run("nets").wants("anything")


def test_a_row_is_written_as_soon_as_its_network_was_compared(page):
    run = runner.Run("nets", "one", writes_rows=True)
    block = run.networks("Nets", HEAD, keys=2)
    run.network(block, "one, plain", lambda: (0.0, "| one | plain | 0 |"))
    assert page.read_text() == TABLE.replace("1.0e-06", "0")
    run.network(block, "one, new", lambda: (0.0, "| one | new | 0 |"))
    assert page.read_text().splitlines()[-3] == "| one | new | 0 |"
    run.network(block, "two", lambda: pytest.fail("it is not chosen"))
    run.network(block, "one, broken", lambda: 1 / 0)
    assert run.end() and run.failures == ["one, broken"]


def test_a_run_of_everything_replaces_the_table_at_its_end(page):
    run = runner.Run("nets")
    block = run.networks("Nets", HEAD, keys=2)
    run.network(block, "three", lambda: (0.0, "| three | plain | 0 |"))
    assert page.read_text() == TABLE
    assert not run.end()
    assert "| three | plain | 0 |\n<!-- end of Nets -->" in page.read_text() and "| one" not in page.read_text()
    assert (page.parent / "nets.json").exists()


def test_a_run_with_only_writes_nothing_by_default(page):
    run = runner.Run("nets", "one")
    run.network(run.networks("Nets", HEAD, keys=2), "one, plain", lambda: (0.0, "| one | plain | 0 |"))
    assert not run.end() and page.read_text() == TABLE


def test_a_journal_keeps_results_and_names_what_has_not_ended(tmp_path):
    path = tmp_path / "results.jsonl"
    assert journal.read(path) == ([], [])
    one = journal.Result("one", ["mil:add"], "", 1.5, 0.5)
    journal.begin(path, "one")
    journal.add(path, one)
    journal.begin(path, "two")
    path.write_text(path.read_text() + '{"name": "two", "ki')
    assert journal.read(path) == ([one], ["two"])
    journal.mend(path)
    journal.add(path, journal.Result("two", [], "it fails", 1.0, 1.0))
    assert [held.name for held in journal.read(path)[0]] == ["one", "two"] and journal.read(path)[1] == []
