"""The output of bench/run.py for measured rows, and its continuation after an interruption."""

import datetime
import json
import subprocess
import sys

import pytest
from programs import ROOT

BENCH = ROOT / "bench"

ROW = """
engine = {"median_us": 10.0, "p99_us": 12.0, "rms_error": 1e-7, "ready_ms": 20.0, "peak_bytes": 2**20}
peer = engine | {"engine": "onnxruntime", "version": "onnxruntime 1", "ratio": 1.25, "ratio_interval": [1.2, 1.3]}
row = {"model": "one", "threads": 1, "rounds": 9, "rounds_left_out": 1, "quiet": True, "machine_p99_over_median": 1.1,
       "relay": engine, "peers": [peer], "load_ms": 0.7}
"""


def in_bench(script, *arguments):
    """In a process of its own: its modules have common names."""
    subprocess.run([sys.executable, "-c", script, *map(str, arguments)], cwd=BENCH, check=True)


@pytest.mark.slow
def test_the_page_has_all_sections(tmp_path):
    script = f"""{ROW}
import pathlib, sys
import run, zoo
drawn = run.random_section([row], run.large_kernels(1))
of_zoo = zoo.section([row], 7, {{1: 1.25}}, run.times_table([row]))
pathlib.Path(sys.argv[1]).write_text(run.page([row], drawn, of_zoo, [], [1], "plot.svg", "make bench", 0.0))
"""
    page = tmp_path / "page.md"
    in_bench(script, page)
    text = page.read_text()
    assert "**1.25** | 1.20 to 1.30" in text
    assert "large kernels" in text
    assert [one.split("\n")[0] for one in text.split("\n## ")[1:]] == [
        "Time of a run",
        "Error, time to the first result, memory",
        "Random networks",
        "Networks of the zoo",
    ]


def test_what_was_measured_is_not_measured_again(tmp_path):
    script = """
import pathlib, sys
import run
file = pathlib.Path(sys.argv[1])
assert run.Kept(file, "make bench", go_on=True).part("zoo", lambda: [1]) == [1]
assert run.Kept(file, "make bench", go_on=True).part("zoo", lambda: [2]) == [1]
assert run.Kept(file, "make bench-quick", go_on=False).part("zoo", lambda: [2]) == [2]
try:
    run.Kept(file, "make bench", go_on=True)
except SystemExit as end:
    assert "the last run was `make bench-quick`, not `make bench`" in str(end)
else:
    raise AssertionError("rows of another run were taken")
"""
    in_bench(script, tmp_path / "kept.json")
    assert json.loads((tmp_path / "kept.json").read_text()) == {"asked": "make bench-quick", "zoo": [2]}


def test_the_page_of_first_results_says_what_is_reached(tmp_path):
    script = """
import pathlib, sys
import first_results
folder = pathlib.Path(sys.argv[1])
first_results.ROOT = folder
(folder / "models").mkdir()
for name in "small", "large":
    (folder / "models" / f"{name}.onnx").write_bytes(bytes(1000 if name == "small" else 6_000_000))
quick, slow = [0.1, 0.15, 50.0], [0.5, 0.75, 200.0]
measured = {"rounds": 5, "load": 0.1}
rows = {"small": {"ways": {"relay": slow, "ONNX Runtime": [0.1, 0.2, 60.0]}, "date": "2026-11-30"},
        "large": {"ways": {"relay": slow, "ONNX Runtime": [0.25, 0.3, 61.5], "OpenVINO": quick}, "date": "2026-12-01"}}
rows = {name: row | measured for name, row in rows.items()}
(folder / "page.md").write_text(first_results.page(rows, "EPYC (zen5)"))
"""
    in_bench(script, tmp_path)
    text = (tmp_path / "page.md").read_text()
    assert "Measured 2026-11-30 to 2026-12-01 on" in text
    assert "Measured on: 2026-11-30: small; 2026-12-01: large." in text
    assert "| small | 0.500 (0.750) | 0.100 (0.200) |  |" in text and "| large | 200 | 62 | 50 |" in text
    assert "3.2 times as long as ONNX Runtime" in text
    assert (
        "More than 3 times as long: small (5.0). Models below 5 MB that take more than 150 ms: small (0.500 s)." in text
    )


def test_rows_are_kept_and_left_out(tmp_path):
    """The first run was killed; the page has the rows of both runs, each with its date."""
    script = """
import pathlib, sys
import kept, tune
file = pathlib.Path(sys.argv[1])
row = {"budget": "5m", "threads": 1, "measured": 40, "gain": 1.21, "gain_interval": [1.1, 1.3], "run_us": 900.0,
       "trials": 9, "seconds": 300.0, "groups": 3}
kept.Rows(file).put("models", "one", row)
file.with_suffix(".new").write_text('{"models": {"o')  # a process was killed while it wrote
rows = kept.Rows(file)
assert rows.left("models", ["one", "two"], go_on=True) == ["two"]
assert rows.left("models", ["one", "two"], go_on=False) == ["one", "two"]
rows.put("models", "two", row | {"gain": 1.0, "gain_interval": None})
rows.put("models", "three", {"failure": "no memory"})
rows.put("kinds", "dense", {"threads": 1, "combinations": 12, "refused": 0, "gain": 1.0, "decisions": ""})
print(tune.page(kept.Rows(file), "EPYC (zen5)"))
"""
    command = [sys.executable, "-c", script, tmp_path / "rows.json"]
    page = subprocess.run(command, cwd=BENCH, check=True, capture_output=True, text=True).stdout
    today = str(datetime.date.today())
    assert f"# Tuning on EPYC (zen5)\n\nMeasured {today} by" in page
    assert f"| one | 5m | 1 | 900 | 1.210 | 1.100 to 1.300 | 3 | 9 | 40 | {today} |" in page
    assert f"| three | no memory | | | | | | | | {today} |" in page
    assert "The geometric mean of the 2 gains is 1.100." in page
    assert f"| dense | 1 | 12 | 0 | 1.000 |  | {today} |" in page
