"""Workers that are processes: any number of them gives the same bits, also if one is killed, stopped or slow."""

import concurrent.futures
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time
import weakref

import divided_workers
import numpy as np
import pytest
from relay.distribute import gloo

torch = pytest.importorskip("torch")

SCRIPT = divided_workers.__file__
STEPS = 8


def start(folder, workers, *more, restarts=3, kind="zero1", steps=STEPS):
    command = [sys.executable, "-m", "relay", "train", f"--workers={workers}", f"--restarts={restarts}"]
    with open(pathlib.Path(folder) / "log", "w") as log:
        return subprocess.Popen([*command, SCRIPT, str(folder), str(steps), f"--kind={kind}", *more], stderr=log)


def ended(process):
    """Ends the agent, if it runs: politely first, so that it ends its workers."""
    process.terminate()
    try:
        process.wait(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()


def run(folder, workers, *more, **options):
    """Runs a training to its end. Returns the exit code and what it wrote to stderr."""
    process = start(folder, workers, *more, **options)
    try:
        process.wait(timeout=300)
    finally:
        ended(process)
    return process.returncode, (pathlib.Path(folder) / "log").read_text()


def final(folder):
    with np.load(pathlib.Path(folder) / "final.npz") as arrays:
        return {name: arrays[name].tobytes() for name in arrays.files}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The final tensors of one worker, by kind."""
    known = {}

    def of(kind):
        if kind not in known:
            folder = tmp_path_factory.mktemp(kind)
            command = [sys.executable, SCRIPT, str(folder), str(STEPS), f"--kind={kind}"]
            subprocess.run(command, check=True, timeout=300)
            known[kind] = final(folder)
        return known[kind]

    return of


def test_workers_meet_those_of_the_same_start():
    """The store keeps the questions of workers that were killed."""
    store = torch.distributed.HashStore()
    store.set("relay/questions/1", "of a process that has ended")
    names = []
    for _ in range(2):
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            [name] = set(pool.map(lambda me: gloo.meeting(store, me, 3, 60.0), range(3)))
        names.append(name)
    assert names[0] != names[1]
    with pytest.raises(RuntimeError, match="worker 1 did not start in 0.1 s"):
        gloo.meeting(store, 0, 2, 0.1)


class Sent:
    """A message that counts as sent when somebody has waited for it, as those of gloo do."""

    def wait(self, limit):
        assert limit.total_seconds() == 60

    def is_completed(self):
        return False


def test_messages_are_released_when_they_have_left(monkeypatch):
    alive = []

    def isend(tensor, worker, tag):
        alive.append(weakref.ref(sent := Sent()))
        return sent

    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 0)
    monkeypatch.setattr(torch.distributed, "isend", isend)
    link = gloo.Gloo(2)
    for tag in range(50):
        link.send(0, 1, tag, np.zeros(4, "float32"))
    end = time.monotonic() + 60
    while any(one() is not None for one in alive):
        assert time.monotonic() < end
        time.sleep(0.01)
    assert len(alive) == 50


@pytest.mark.slow
def test_two_workers_of_which_one_is_killed(tmp_path, undisturbed):
    code, written = run(tmp_path, 2, "--kill=1:4", kind="mlp")
    assert code == 0, written
    survivor = r"rank [01] waited [\d.]+ s for rank [23] of worker 1 at collective #\d+ \w+\(data\) of step 5"
    agent = r"failed \(exitcode: -9\) local_rank: 1"  # which ends the survivor, sometimes before it can speak
    assert re.search(f"{survivor}|{agent}", written), written
    assert final(tmp_path) == undisturbed("mlp")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["data", "zero1", "zero3", "tensor", "both", "pipeline"])
def test_four_workers(tmp_path, undisturbed, kind):
    code, written = run(tmp_path, 4, kind=kind)
    assert code == 0, written
    assert final(tmp_path) == undisturbed(kind)


@pytest.mark.slow
def test_a_slow_worker_is_named(tmp_path, undisturbed):
    code, written = run(tmp_path, 2, "--sleep=1:4:3", "--slow=1")
    assert code == 0, written
    assert re.search(r"slow: rank 0 waited [\d.]+ s for rank \d \(worker 1\) at collective #\d+", written)
    assert final(tmp_path) == undisturbed("zero1")


@pytest.mark.slow
def test_a_stopped_worker_is_named_and_replaced(tmp_path, undisturbed):
    code, written = run(tmp_path, 2, "--stop=1:4", "--limit=4")
    assert code == 0, written
    assert re.search(r"waited 4.\d s for rank \d of worker 1 at collective #\d+ .* no answer in time", written)
    assert final(tmp_path) == undisturbed("zero1")


@pytest.mark.slow
def test_a_mistake_of_a_worker_ends_the_training(tmp_path):
    code, written = run(tmp_path, 2, "--fail=1:4", restarts=0)
    assert code == 1
    assert "RuntimeError: the worker's own mistake" in written
    assert re.search(r"error: worker [01] \(process \d+\) ended with ", written)


@pytest.mark.slow
def test_fewer_workers_after_each_failure(tmp_path, undisturbed):
    code, _ = run(tmp_path, 4, "--kill=1:4", restarts=0)
    assert code == 1 and not (tmp_path / "final.npz").exists()
    (tmp_path / "kill-done").unlink()
    code, _ = run(tmp_path, 2, "--kill=1:6", restarts=0)
    assert code == 1 and not (tmp_path / "final.npz").exists()
    code, written = run(tmp_path, 1)
    assert code == 0, written
    assert final(tmp_path) == undisturbed("zero1")


def undisturbed_mlp(folder, steps):
    folder.mkdir()
    subprocess.run([sys.executable, SCRIPT, str(folder), str(steps), "--kind=mlp"], check=True, timeout=300)
    return final(folder)


@pytest.mark.slow
def test_killed_at_thirty_random_moments(tmp_path):
    """Kills a worker that hosts all ranks 30 times, at a random moment of a step or of a save, and starts it again."""
    chance, steps, folder = random.Random(1), 700, tmp_path / "killed"
    expected = undisturbed_mlp(tmp_path / "whole", steps)
    folder.mkdir()
    command = [sys.executable, SCRIPT, str(folder), str(steps), "--kind=mlp", "--pause=0.01"]
    in_saves = 0
    for _ in range(30):
        process = subprocess.Popen(command)
        while not (folder / "pid-0").exists():
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(chance.uniform(0.05, 0.5))
        assert process.poll() is None, "the training ended before it was killed 30 times"
        process.kill()
        process.wait()
        (folder / "pid-0").unlink()
        in_saves += any(folder.glob(".writing-*"))
    assert in_saves, "no save was interrupted"
    subprocess.run(command, check=True, timeout=300)
    assert final(folder) == expected


@pytest.mark.slow
def test_workers_killed_at_ten_random_moments(tmp_path):
    """Kills one of two workers at a random moment, inside of saves too; the agent starts both again."""
    chance, kills, steps, folder = random.Random(1), 0, 600, tmp_path / "killed"
    expected = undisturbed_mlp(tmp_path / "whole", steps)
    folder.mkdir()
    process = start(folder, 2, "--pause=0.02", kind="mlp", restarts=100, steps=steps)
    try:
        while process.poll() is None:
            time.sleep(chance.uniform(0.1, 2.0))
            workers = sorted(folder.glob("pid-*"))
            if kills < 10 and workers:
                kills += killed(chance.choice(workers))
    finally:
        ended(process)
    assert process.returncode == 0, (folder / "log").read_text()
    assert kills == 10
    assert final(folder) == expected


def killed(path):
    """Kills the process that a worker has noted, once. Returns the number of processes that were killed."""
    try:
        pid = int(path.read_text())
        path.unlink()
        if b"divided_workers" not in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
            return 0
        os.kill(pid, signal.SIGKILL)
    except (OSError, ValueError):
        return 0
    return 1
