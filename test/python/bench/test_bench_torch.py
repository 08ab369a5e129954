"""The output of bench/torch_compile.py for measured rows."""

import subprocess
import sys

import pytest
from programs import ROOT

BENCH = ROOT / "bench"
sys.path.insert(0, str(BENCH))
from torch_rows import Row, behind, first, means, steps  # noqa: E402


def row(name, relay, eager, inductor, threads=1):
    ms = {"Relay": relay, "eager": eager, "Inductor": inductor}
    return Row(name, threads, ms, {"tracing": 1.0, "Relay": 1.5, "Inductor": 5.0})


def test_means_are_geometric_and_of_each_number_of_threads():
    rows = [row("a", 1, 2, 4), row("b", 1, 8, 1), row("a", 2, 2, 2, threads=2)]
    assert means(rows) == [
        "- 1 thread, geometric mean of 2: eager's time over Relay's 4.00, Inductor's time over Relay's 2.00",
        "- 2 threads, geometric mean of 1: eager's time over Relay's 1.00, Inductor's time over Relay's 1.00",
    ]


def test_rows_more_than_five_percent_behind_are_listed():
    found = behind([row("near", 1, 0.96, 2), row("late", 1, 2, 0.94)])
    assert found[2:] == ["- late, 1 thread: Inductor takes 0.94 of Relay's time"]
    assert behind([row("near", 1, 0.96, 2)]) == ["Relay is never more than 5 % slower."]


def test_steps_beside_the_bound():
    assert steps([row("near", 1.19, 2, 1)])[0].endswith("all meet this.")
    assert steps([row("near", 1.19, 2, 1), row("late", 1.21, 2, 1)])[0].endswith(
        "these take more: late, 1 thread (1.21)."
    )


def test_first_calls_without_tracing():
    assert first([row("a", 1, 1, 1)] * 4) == [
        "First calls, all rows: PyTorch's tracing takes 4 s; beyond that, Relay takes 2 s, Inductor 16 s."
    ]


@pytest.mark.slow
def test_the_page_has_all_tables(tmp_path):
    """In a process of its own: the program sets Inductor's environment."""
    script = """if True:
        import pathlib, sys
        import torch_compile as bench
        ms, seconds = {"Relay": 1, "eager": 2, "Inductor": 4}, {"tracing": 1.0, "Relay": 1.5, "Inductor": 5.0}
        rows = [bench.Row(name, 1, ms, seconds) for name in ("one", "two")]
        parts = [([row], bench.means([row])) for row in rows]
        bench.write_page(pathlib.Path(sys.argv[1]), *parts, bench.first(rows), ["| Relay | 7 |"], 0.0)
    """
    page = tmp_path / "page.md"
    subprocess.run([sys.executable, "-c", script, page], cwd=BENCH, check=True)
    sections = page.read_text().split("\n## ")[1:]
    assert [one.split("\n")[0] for one in sections] == [
        "Inference",
        "Training steps",
        "First calls",
        "A graph break",
    ]
    for section, line in zip(
        sections, ("\n| one | 1 |", "\n| two | 1 |", "First calls, all rows", "\n| Relay | 7 |"), strict=True
    ):
        assert line in section
