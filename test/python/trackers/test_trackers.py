"""Trackers: figures of trainings and measurements, read back with each tracker's own reader."""

import json
import subprocess
import sys
import time

import numpy as np
import pytest
from programs import ROOT

import relay
from relay import trackers, train

OTHERS = ROOT / "build/test-trackers"  # `make test-trackers` installs the packages there


def small_step():
    def loss(params, x, y):
        error = relay.subtract(relay.nn.dense(x, params["w"]), y)
        return relay.mean(relay.multiply(error, error))

    types = {"x": (8, 3), "y": (8, 2)}
    return train.Step(loss, {"w": np.zeros((2, 3), "float32")}, types, train.SGD(0.1))


def batches():
    random = np.random.default_rng(0)
    x = random.standard_normal((64, 3), dtype="float32")
    return train.Batches({"x": x, "y": x @ np.ones((3, 2), "float32")}, 8, seed=1)


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


class Recorder:
    def __init__(self, fails=None, waits=0.0):
        self.calls, self.fails, self.waits = [], fails, waits

    def __getattr__(self, what):
        if what.startswith("_"):
            raise AttributeError(what)

        def call(*given):
            time.sleep(self.waits)
            if what == self.fails:
                raise OSError("the disk is full")
            self.calls.append((what, *given))

        return call


def test_a_training(tmp_path):
    path = tmp_path / "runs/figures.jsonl"
    tracker = trackers.open(f"lines:{path}")
    run = train.fit(
        small_step(), batches(), steps=12, evaluate=lambda p: {"norm": float(np.abs(p["w"]).sum())}, evaluate_every=6,
        trackers=[tracker], progress=False,
    )  # fmt: skip
    first, *steps, last = lines_of(path)
    assert first["run"] == trackers.name_of(first["config"]) and first["config"]["steps"] == 12
    assert [one["loss"] for one in steps if "loss" in one] == run.losses
    assert [(one["step"], one["evaluation/norm"]) for one in steps if "evaluation/norm" in one] == [
        (step, result["norm"]) for step, result in run.evaluations
    ]
    assert last == {"status": "finished"}


def test_a_training_that_fails_ends_its_run(tmp_path):
    def stop(run):
        raise KeyboardInterrupt

    path = tmp_path / "figures.jsonl"
    with pytest.raises(KeyboardInterrupt):
        train.fit(small_step(), batches(), steps=3, hooks=[stop], trackers=[trackers.open(f"lines:{path}")])
    assert lines_of(path)[-1] == {"status": "interrupted"}


@pytest.mark.parametrize("what", ["start", "log", "end"])
def test_a_tracker_that_raises_is_a_warning(what, capsys):
    recorder = Recorder(fails=what)
    run = train.fit(small_step(), batches(), steps=20, trackers=[trackers.Background(recorder, "x")], progress=False)
    assert run.number == 20
    said = capsys.readouterr().err.splitlines()
    assert said == [f"warning: the tracker x is not used any more: {what}: OSError: the disk is full"]


def test_a_tracker_that_hangs_delays_the_end_and_nothing_else(monkeypatch, capsys):
    monkeypatch.setattr(trackers.background, "LONGEST", 0.3)
    began = time.perf_counter()
    with trackers.Background(Recorder(waits=5.0), "slow") as tracker:
        tracker.start({})
        for step in range(1000):
            tracker.log(step, {"loss": 1.0})
    assert time.perf_counter() - began < 3
    assert "the tracker slow is not used any more: did not end within" in capsys.readouterr().err


def test_figures_arrive_in_order_and_late_calls_do_not_wait():
    recorder = Recorder()
    with trackers.Background(recorder, "x") as tracker:
        tracker.start({"a": 1})
        began = time.perf_counter()
        for step in range(2000):
            tracker.log(step, {"loss": step})
        each = (time.perf_counter() - began) / 2000
    assert each < 50e-6 * 10  # 1 % of a step of 5 ms is 50 us; ten times that on a busy machine
    assert [call[1] for call in recorder.calls if call[0] == "log"] == list(range(2000))
    assert recorder.calls[0] == ("start", {"a": 1}) and recorder.calls[-1] == ("end", "finished")


def test_flat():
    figures = [
        {"model": "a/dense.relay", "median_us": 2, "peers": [{"name": "x", "t": 1.5}], "no": None, "inf": float("inf")}
    ]
    assert trackers.flat(figures) == {"dense.relay/median_us": 2.0, "dense.relay/peers/x/t": 1.5}
    assert trackers.flat({"loss": np.float32(0.5), "ok": True}) == {"loss": 0.5}


@pytest.mark.parametrize(
    ("where", "said"), [("paper:notes", "'paper:notes' names no tracker"), ("lines", "'lines' names no tracker")]
)
def test_names_that_are_none(where, said):
    with pytest.raises(relay.InputError, match=said) as error:
        trackers.open(where)
    assert "lines:PATH" in str(error.value)


def test_a_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    monkeypatch.delitem(sys.modules, "relay.trackers.tensorboard", raising=False)
    with pytest.raises(relay.InputError, match="pip install tensorboardX, or use lines:PATH"):
        trackers.open("tensorboard:runs")


def test_the_command(tmp_path):
    figures, path = tmp_path / "figures.json", tmp_path / "runs.jsonl"
    figures.write_text(json.dumps([{"model": "dense.relay", "threads": 1, "relay": {"median_us": 0.25}}]))
    command = [sys.executable, "-m", "relay.trackers", figures, "--to", f"lines:{path}", "--artifact", figures]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.endswith(f": 2 figures in lines:{path}\n"), done.stderr
    assert lines_of(path)[1] == {"step": 0, "dense.relay/threads": 1.0, "dense.relay/relay/median_us": 0.25}
    assert lines_of(path)[2] == {"artifact": str(figures)}
    done = subprocess.run([*command[:4], "--to", "paper:x"], capture_output=True, text=True)
    assert done.returncode == 1 and "'paper:x' names no tracker" in done.stderr


READERS = {
    "tensorboard": """
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
import glob, sys
events = EventAccumulator(glob.glob(sys.argv[1] + "/*")[0]).Reload()
print([(one.step, round(one.value, 4)) for one in events.Scalars("loss")])
""",
    # A file of offline runs is a log of LevelDB after seven bytes: blocks of 32 KiB of records, each with a checksum, a
    # length and a type (1: whole; 2, 3, 4: the first, a middle and the last part).
    "wandb": """
import glob, json, struct, sys
from wandb.proto import wandb_internal_pb2
data = open(glob.glob(sys.argv[1] + "/wandb/offline-run-*/*.wandb")[0], "rb").read()
at, parts, found = 7, b"", []
while at + 7 <= len(data):
    if 32768 - at % 32768 < 7:
        at += 32768 - at % 32768
        continue
    length, kind = struct.unpack("<HB", data[at + 4 : at + 7])
    parts, at = parts + data[at + 7 : at + 7 + length], at + 7 + length
    if kind in (1, 4):
        record, parts = wandb_internal_pb2.Record.FromString(parts), b""
        items = {(one.key or "/".join(one.nested_key)): json.loads(one.value_json) for one in record.history.item}
        if "loss" in items:
            found.append((record.history.step.num, round(float(items["loss"]), 4)))
print(found)
""",
    "mlflow": """
import sys
from mlflow.tracking import MlflowClient
client = MlflowClient("sqlite:///" + sys.argv[1])
run, = client.search_runs([one.experiment_id for one in client.search_experiments()])
assert run.info.status == "FINISHED", run.info.status
print([(one.step, round(one.value, 4)) for one in client.get_metric_history(run.info.run_id, "loss")])
""",
}
WRITER = """
import sys
from relay import trackers
trackers.background.LONGEST = 300  # seconds, on a busy machine
with trackers.open(sys.argv[1]) as tracker:
    tracker.start({"model": "m", "width": 3})
    for step in range(1, 6):
        tracker.log(step, {"loss": 1 / step})
    tracker.artifact(sys.argv[2])
"""


@pytest.mark.skipif(not (OTHERS / "mlflow").is_dir(), reason="make test-trackers installs the packages")
@pytest.mark.parametrize("kind", READERS)
def test_the_readers_of_others(kind, tmp_path):
    artifact, where = tmp_path / "notes.txt", tmp_path / f"runs-{kind}"
    artifact.write_text("kept")

    def run(text, *given):
        setting = f"import sys\nsys.path.append({str(OTHERS)!r})\n"
        done = subprocess.run([sys.executable, "-c", setting + text, *map(str, given)], capture_output=True, text=True)
        assert done.returncode == 0 and "not used any more" not in done.stderr, done.stderr
        return done.stdout

    run(WRITER, f"{kind}:{where}", artifact)
    wanted = str([(step, round(1 / step, 4)) for step in range(1, 6)])
    assert run(READERS[kind], where).strip().splitlines()[-1] == wanted
