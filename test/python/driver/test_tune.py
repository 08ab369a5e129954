"""relay tune: its records, its order of candidates, and whole runs that are killed and resumed."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time

import pytest
import ssh_server
from programs import cli, needs_program
from relay.tools import tune, tuning_machines, tuning_records
from relay.tools.tuning_records import Record, Store
from relay.tools.tuning_search import Candidate, Correction, Group

import relay

NETWORK = """#[version = "0.0.5"]
def @main(%x: Tensor[(64, 512), float32], %w: Tensor[(512, 512), float32]) {
  nn.softmax(nn.dense(nn.relu(%x), %w))
}
"""


def record(key="k", machine="m", us=80.0, **other):
    values = dict(key=key, machine=machine, compiler="1", decisions="a.tile=2x2", default_us=100.0, us=us)
    return Record(**{**values, "threads": 1, "kernel": "fused", "date": "2026-01-01", **other})


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "net.relay"
    path.write_text(NETWORK)
    return path


# --- records ----------------------------------------------------------------------------------------------------------
def test_text_and_back():
    records = [record(), record("other", decisions="a.tile=2x2 prefetch=off")]
    assert tuning_records.from_text(tuning_records.to_text(records), "log") == records


def test_merged_from_two_machines(tmp_path):
    store = Store(tmp_path / "tuning.db")
    store.keep(record(us=80))
    others = [record(us=90), record(machine="another", us=50), record("new")]
    assert store.merge(others) == 2
    assert {(r.key, r.machine): r.us for r in store.records()} == {
        ("k", "m"): 80,
        ("k", "another"): 50,
        ("new", "m"): 80,
    }
    assert store.merge([record(us=70)]) == 1
    assert store.merge([record(us=70)]) == 0


@pytest.mark.parametrize(
    "text, says",
    [
        ("x", "does not begin with"),
        (tuning_records.HEADING + "\nk\tm\n", "log:2: must have 9 fields: key, machine"),
        (tuning_records.to_text([record()]).replace("100.0", "many"), "log:3: must have 9 fields"),
        (tuning_records.to_text([record(us=-1)]), "log:3: times must be positive, but are 100.0 and -1.0"),
    ],
)
def test_damaged_text(text, says):
    with pytest.raises(ValueError, match=says):
        tuning_records.from_text(text, "log")


def test_the_interval_of_a_median():
    assert tune.median_and_high([1, 2, 3]) == (2, float("inf"))  # too few
    assert tune.median_and_high([5, 1, 4, 2, 6, 3]) == (4, 6)  # the extreme values of six
    assert tune.median_and_high(list(range(20)))[1] == 14  # the sixth largest of twenty


# --- the order of candidates ------------------------------------------------------------------------------------------
def test_measurements_correct_the_estimates():
    correction = Correction()
    tile, off = Candidate("a.tile=2x2", "tile", 1.1), Candidate("prefetch=off", "prefetch", 1.0)
    assert correction.expected(tile) == pytest.approx(1.1) and correction.expected(off) == 1
    for _ in range(20):
        correction.add("tile", "b.tile=4x4", 1.1, 1.0)
        correction.add("prefetch", "prefetch=off", 1.0, 1.5)
    correction.fit()
    assert 0.99 < correction.expected(tile) < 1.05, "estimates of tiles make no difference"
    assert 1.35 < correction.expected(off) < 1.5


def group(*candidates):
    return Group("k", "fused", [Candidate(d, f, e) for d, f, e in candidates])


def test_a_candidate_is_kept_after_two_measurements():
    one = group(("a.tile=2x2", "tile", 1.0), ("a.tile=4x4", "tile", 1.2))
    assert one.next(Correction(), set()).decisions == "a.tile=2x2"
    one.add("a.tile=2x2", 0.8, 0.9, "")
    assert one.best() is None
    assert one.next(Correction(), set()).decisions == "a.tile=2x2", "once more"
    one.add("a.tile=2x2", 0.9, 0.95, "")
    assert one.best() == "a.tile=2x2" and one.ratio("a.tile=2x2") == pytest.approx(0.72**0.5)
    assert one.next(Correction(), set()).decisions == "a.tile=4x4"
    one.add("a.tile=4x4", 0.7, 1.1, "")  # the interval contains 1
    assert one.best() == "a.tile=2x2" and one.next(Correction(), set()) is None


def test_disturbed_measurements_are_repeated():
    assert tune.ratio_and_high([9] * 9, [10] * 9) == (0.9, 0.9)
    assert tune.ratio_and_high([8, 50, 50], [10, 60, 60]) == (0.8, float("inf"))
    assert tune.ratio_and_high([], []) is None
    one = group(("a.tile=2x2", "tile", 1.0))
    one.add("a.tile=2x2", 0.8, float("inf"), "")
    assert one.next(Correction(), set()) and one.best() is None
    one.add("a.tile=2x2", 0.8, 0.9, "")
    assert one.next(Correction(), set()) and one.best() is None
    one.add("a.tile=2x2", 0.8, 0.9, "")
    assert one.next(Correction(), set()) is None and one.best() == "a.tile=2x2"


def test_the_best_options_are_combined():
    one = group(("a.tile=2x2", "tile", 1.0), ("prefetch=off", "prefetch", 1.0))
    for _ in range(2):
        one.add("a.tile=2x2", 0.8, 0.9, ""), one.add("prefetch=off", 0.9, 0.95, "")
    together = one.next(Correction(), set())
    assert together.decisions == "a.tile=2x2 prefetch=off" and together.estimate == pytest.approx(0.72)


def test_hopeless_and_faulty_candidates_are_left_out():
    one = group(("a.tile=2x2", "tile", 1.5), ("a.tile=4x4", "tile", 1.0))
    one.add("a.tile=4x4", None, None, "SIGSEGV")
    assert one.next(Correction(), set()) is None and one.best() is None


class CrashingCompiler:
    """A compiler whose builds crash if they hold a bad candidate."""

    machines = ("this machine",)

    def __init__(self, bad, keys):
        self.bad, self.keys = bad, keys
        self.groups = [
            {
                "key": key,
                "name": key,
                "tuned": False,
                "kernels": [f"kernel_{key}"],
                "candidates": [
                    {"decisions": "", "what": "", "ns": 10.0},
                    {"decisions": "tile=2x2", "what": "tile", "ns": 11.0},
                ],
            }
            for key in keys
        ]

    def build(self, number, decisions, machine="", compiler=""):
        groups = [{**group, "tuned": group["key"] in decisions} for group in self.groups]
        build = tune.Build(None, {"machine": "m", "compiler": "1", "threads": 1, "groups": groups})
        build.crashes = self.bad in decisions
        return build

    def profile(self, build, default, seconds, limit):
        if build.crashes:
            return "SIGSEGV"
        times = {f"kernel_{key}": [0.5 if key in build.tuned else 1.0] * 9 for key in self.keys}
        usual = {name: [1.0] * 9 for name in times}
        run = [sum(values[0] for values in times.values())] * 9
        return {"model": {"us": run, "kernels": times}, "against": {"us": [float(len(times))] * 9, "kernels": usual}}


def test_a_crash_is_traced_to_its_group(tmp_path):
    keys = [f"g{i}" for i in range(7)]
    arguments = type("Arguments", (), {"budget": 60.0})
    tuner = tune.Tuner(arguments, Store(tmp_path / "tuning.db"), CrashingCompiler("g3", keys))
    tuner.measure_default()
    tune.search(tuner)
    assert set(tuner.best()) == set(keys) - {"g3"} and tuner.faults == 1
    assert tuner.groups["g3"].faults == {"tile=2x2": "SIGSEGV"}
    gain, low, high = tuner.confirm()
    assert gain == low == high == pytest.approx(7 / 4)
    assert {r.key for r in tuner.store.records()} == set(keys) - {"g3"}


# --- whole runs -------------------------------------------------------------------------------------------------------
def tuned(program, records, budget):
    return json.loads(cli("tune", program, "--budget", budget, "--records", records, "--threads", 1, "--json").stdout)


@needs_program
def test_tuned_models_say_so(program, tmp_path):
    records = tmp_path / "tuning.db"
    result = tuned(program, records, "12s")
    assert result["trials"] > 0 and result["seconds"] < 30 and result["gain"] >= 1
    text = tmp_path / "records.txt"
    cli("tune", "--records", records, "--export", text)
    kept = tuning_records.from_text(text.read_text(), "text")
    assert len(kept) == len(result["groups"])

    artifact = tmp_path / "net.rart"
    out = cli("compile", program, "-o", artifact, "--records", records)
    assert ("tuned (records of 20" in out.stderr) == bool(kept)
    assert "tuned (records" not in cli("compile", program, "-o", artifact, "--records", records, "--no-tuned").stderr
    usual = artifact.read_bytes()
    cli("compile", program, "-o", artifact, "--records", tmp_path / "absent.db")
    assert artifact.read_bytes() == usual


@needs_program
def test_every_recorded_decision_is_used(program, tmp_path):
    """Records made by hand: a candidate of each group, whether it is faster or not."""
    described = tmp_path / "candidates.json"
    cli("compile", program, "-o", tmp_path / "net.rart", "--candidates", described, "--no-tuned")
    told = json.loads(described.read_text())
    store = Store(tmp_path / "tuning.db")
    groups = [g for g in told["groups"] if len(g["candidates"]) > 1]
    assert groups
    for g in groups:
        decisions = g["candidates"][1]["decisions"]
        store.keep(record(g["key"], told["machine"], decisions=decisions, compiler=told["compiler"], date="2026-11-28"))
    out = cli(
        "compile", program, "-o", tmp_path / "net.rart", "--candidates", described, "--records", tmp_path / "tuning.db"
    )
    tuned_now = [g for g in json.loads(described.read_text())["groups"] if g["tuned"]]
    assert len(tuned_now) == len(groups)
    assert f"{len(groups)} of " in out.stderr and "(records of 2026-11-28)" in out.stderr


@needs_program
@pytest.mark.slow
def test_killed_and_resumed(program, tmp_path):
    records = tmp_path / "tuning.db"

    def rows():
        try:
            return sqlite3.connect(records).execute("SELECT count(*) FROM measured").fetchone()[0]
        except sqlite3.OperationalError:
            return 0

    command = [sys.executable, "-m", "relay", "tune", program, "--budget", "2m", "--records", records]
    process = subprocess.Popen(
        [*map(str, command)], stderr=subprocess.DEVNULL, env={**os.environ, "RELAY_PYTHON": sys.executable}
    )
    until = time.monotonic() + 100
    while rows() == 0 and process.poll() is None and time.monotonic() < until:
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = rows()
    assert before > 0
    out = cli("tune", program, "--budget", "6s", "--records", records)
    assert f"{before} measurements are known from earlier runs" in out.stderr
    assert rows() >= before


# --- other machines ---------------------------------------------------------------------------------------------------
class Measurer:
    """A machine that is lost after some commands."""

    def __init__(self, name, commands):
        self.name, self.left = name, commands

    def run(self, words, limit, back=""):
        if self.left == 0:
            raise tuning_machines.LostMachine(f"{self.name} is lost: no route")
        self.left -= 1
        return tuning_machines.Done(0, self.name, ""), b""


def test_another_machine_goes_on_where_one_is_lost():
    said = []
    machines = tuning_machines.Machines([Measurer("a", 1), Measurer("b", 2)], said.append)
    assert [machines.run([], 1).out for _ in range(3)] == ["a", "b", "b"]
    assert said == ["a is lost: no route; 1 left"]
    with pytest.raises(tuning_machines.LostMachine, match="no machine is left that measures"):
        machines.run([], 1)
    assert said[1:] == ["b is lost: no route; 0 left"]


def test_files_are_copied_again_if_they_changed(tmp_path):
    sent, file = tuning_machines.Sent(), tmp_path / "trial.rart"
    file.write_bytes(b"first")
    word = tuning_machines.File(file, "x=")
    assert sent.names(["profile", word]) == (["profile", "x=trial.rart"], [file])
    assert sent.names([word]) == (["x=trial.rart"], [])
    os.utime(file, ns=(1, 1))
    assert sent.names([word]) == (["x=trial.rart"], [file])


@needs_program
@ssh_server.needed
def test_measured_on_another_machine(program, tmp_path):
    with ssh_server.running(tmp_path) as (address, config):
        before = set(os.listdir("/tmp"))
        there = ["--ssh-config", config, "--there", f"{sys.executable} -m relay"]
        common = ["tune", program, "--records", tmp_path / "tuning.db", "--budget", "8s", "--threads", 1]
        out = cli(*common, "--on", address, "--on", address, *there, "--json", timeout=120)
        assert out.returncode == 0, out.stderr
        assert json.loads(out.stdout)["trials"] > 0
        assert f"builds are measured on {address}, {address}, with 1 threads" in out.stderr
        assert not [name for name in set(os.listdir("/tmp")) - before if os.path.exists(f"/tmp/{name}/default.rart")]
        out = cli(*common, "--on", address, "--ssh-config", config, "--there", "no-relay-here")
        assert out.returncode == 1 and f"{address} cannot compile: " in out.stderr and "no-relay-here" in out.stderr
        out = cli(*common, "--on", address, *there, "--target", "cortex-a72")
        assert out.returncode == 1 and "the model cannot be measured: error[R0602]" in out.stderr


@needs_program
def test_mistakes(program, tmp_path):
    assert (
        "'5 minutes' is not a time"
        in cli("tune", program, "--records", tmp_path / "t.db", "--budget", "5 minutes").stderr
    )
    assert "MODEL is required" in cli("tune").stderr
    (tmp_path / "text").write_text("no records")
    out = cli("tune", "--merge", tmp_path / "text", "--records", tmp_path / "t.db")
    assert "does not begin with '# records of relay tune" in out.stderr
    (tmp_path / "broken.db").write_text("this is not SQLite" * 100)
    out = cli("compile", program, "-o", tmp_path / "n.rart", "--records", tmp_path / "broken.db")
    assert "the tuning records" in out.stderr and "--no-tuned" in out.stderr


@needs_program
@pytest.mark.slow
def test_as_a_function(program, tmp_path):
    result = relay.tune(relay.parse(program.read_text()), budget="6s", records=tmp_path / "tuning.db", threads=1)
    assert result.gain >= 1 and not result.stopped
