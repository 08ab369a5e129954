"""Checkpoints: bits after a resume, processes that are killed, files that are damaged or of another training."""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import relay.train as train
import resumed_training

import relay

SCRIPT = resumed_training.__file__


def arrays_of(step):
    return {name: value.copy() for name, value in step.arrays.items()}


def same(one, other):
    assert one.keys() == other.keys()
    assert all(one[name].tobytes() == other[name].tobytes() for name in one)
    assert all(np.isfinite(value.astype("float64")).all() for value in one.values())


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return resumed_training.go(tmp_path_factory.mktemp("whole"), 40, 0)


def state_of(folder):
    """The folder's files, as far as they can be seen while another process changes them."""
    return sorted(os.listdir(folder)) if folder.is_dir() else []


def killed(folder, steps, rng):
    """Runs the training in a process. Kills it after a random time, or as soon as it writes a checkpoint. Returns
    whether it was killed."""
    process = subprocess.Popen([sys.executable, SCRIPT, str(folder), str(steps)])
    before, began, is_in_save = state_of(folder), None, rng.random() < 0.5
    wait = rng.uniform(0, 0.3)
    while process.poll() is None:
        now = state_of(folder)
        if began is None and now != before:
            began = time.monotonic()
        writes = any(name.startswith(".writing-step") for name in now)
        if began is not None and time.monotonic() - began >= wait and (writes or not is_in_save):
            process.send_signal(signal.SIGKILL)
            process.wait()
            return True
        time.sleep(0.0005)
    assert process.returncode == 0
    return False


@pytest.mark.parametrize(("kills", "steps"), [(2, 40), pytest.param(30, 400, marks=pytest.mark.slow)])
def test_processes_that_are_killed_end_with_the_same_bits(kills, steps, tmp_path, undisturbed):
    wanted = undisturbed if steps == 40 else resumed_training.go(tmp_path / "whole", steps, 0)
    rng, folder, happened = random.Random(11), tmp_path / "killed", 0
    while not (folder / "final.npz").is_file():
        if happened < kills:
            happened += killed(folder, steps, rng)
        else:
            subprocess.run([sys.executable, SCRIPT, str(folder), str(steps)], check=True)
    assert happened == kills
    with np.load(folder / "final.npz") as final:
        same({name.replace(":", "/"): final[name] for name in final.files}, wanted)


def trained(folder, steps):
    step, data = resumed_training.made()
    train.fit(step, data, steps=steps, checkpoints=folder, save_every=3, progress=False)
    return step, data


def test_a_resumed_training_is_the_undisturbed_one(tmp_path, undisturbed):
    for steps in (4, 7, 8, 40):  # several times in one epoch
        step, _ = trained(tmp_path, steps)
    same(arrays_of(step), undisturbed)
    store = train.Checkpoints(tmp_path)
    assert store.names() == ["step-00000036", "step-00000039", "step-00000040"] and store.latest() == "step-00000040"


def test_a_save_copies_before_the_next_step_changes_the_arrays(tmp_path):
    step, data = resumed_training.made()
    store, batch = train.Checkpoints(tmp_path, shard_bytes=64), next(iter(data))
    step(*batch)
    saved = arrays_of(step)
    store.save(step, data)
    for _ in range(5):
        step(*batch)
    assert store.resume(step, data)
    same(arrays_of(step), saved)
    assert len(list((tmp_path / store.latest()).glob("part-*.safetensors"))) > 1  # a tensor is divided


def test_files_are_safetensors(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    step, _ = trained(tmp_path, 3)
    [part] = (tmp_path / "step-00000003").glob("*.safetensors")
    for name, value in safetensors.load_file(part).items():
        assert np.array_equal(value, step.arrays[name])


def flipped(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


DAMAGE = {
    "a bit of a part": (
        lambda f: flipped(f / "part-00000.safetensors", -3),
        r"part-00000.safetensors: its checksum differs",
    ),
    "a bit of the header": (
        lambda f: flipped(f / "part-00000.safetensors", 20),
        r"part-00000.safetensors: its checksum",
    ),
    "a part that ends early": (
        lambda f: os.truncate(f / "part-00000.safetensors", 99),
        r"part-00000.safetensors: 99 bytes, and \d+ were",
    ),
    "a missing part": (lambda f: (f / "part-00000.safetensors").unlink(), r"part-00000.safetensors: cannot be read"),
    "a bit of the manifest": (lambda f: change(f, '"calls": 6', '"calls": 7'), r"manifest.json: its checksum differs"),
    "no manifest": (lambda f: (f / "manifest.json").write_text("{"), r"manifest.json: this is not the manifest"),
}


def change(folder, old, new):
    text = (folder / "manifest.json").read_text()
    assert old in text
    (folder / "manifest.json").write_text(text.replace(old, new))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    return folder, *trained(folder, 6)


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_named_and_another_checkpoint_offered(what, saved):
    folder, step, data = saved
    place = folder / "step-00000006"
    files = {path: path.read_bytes() for path in place.iterdir()}
    before = arrays_of(step)
    harm, message = DAMAGE[what]
    try:
        harm(place)
        with pytest.raises(relay.InputError, match=message) as caught:
            train.Checkpoints(folder).resume(step, data)
        assert "name='step-00000003'" in str(caught.value)
        same(arrays_of(step), before)
    finally:
        for path, content in files.items():
            path.write_bytes(content)
    assert train.Checkpoints(folder).resume(step, data, name="step-00000003") and step.count == 3
    assert train.Checkpoints(folder).resume(step, data) and step.count == 6


def other(shape=(2, 8), lr=1e-2, scale=1.0):
    def loss(p, x, y):
        error = relay.nn.dense(relay.nn.dropout(x, rate=0.2), p["w"]) - y
        return relay.mean(error * error) * scale

    start = {"w": np.zeros(shape, "float32")}
    return train.Step(loss, start, {"x": (7, shape[1]), "y": (7, 2)}, train.Adam(lr), threads=1, ema=0.9)


def test_checkpoints_of_another_training(saved):
    folder, *_ = saved
    store = train.Checkpoints(folder)
    with pytest.raises(relay.InputError, match=r"`w` is float32\[2, 8\] there and float32\[2, 9\] here"):
        store.resume(other(shape=(2, 9)))
    with pytest.raises(relay.InputError, match=r"optimisers \(w\): Adam\(lr=0.01.* there, Adam\(lr=0.5"):
        store.resume(other(lr=0.5))
    changed = other(scale=2.0)
    with pytest.raises(relay.InputError, match=r"program: \w+ there, \w+ here.*\n.*anyway=True"):
        store.resume(changed)
    assert store.resume(changed, anyway=True) and changed.count == 6


def test_a_checkpoint_of_another_processor(saved, monkeypatch):
    folder, step, data = saved
    here = train.checkpoints.identity(step)
    elsewhere = here | {"target": here["target"] | {"cpu": "haswell"}}
    monkeypatch.setattr(train.checkpoints, "identity", lambda step: elsewhere)
    with pytest.raises(relay.InputError, match=r"target \(cpu\): \S+ there, haswell here"):
        train.Checkpoints(folder).resume(step, data)


def test_folders_without_checkpoints(tmp_path):
    step, data = resumed_training.made()
    assert not train.Checkpoints(tmp_path / "none").resume(step, data)
    (tmp_path / ".writing-step-00000001").mkdir()
    assert not train.Checkpoints(tmp_path).resume(step, data)
    store = train.Checkpoints(tmp_path)
    store.save(step, data)
    store.wait()
    assert sorted(path.name for path in pathlib.Path(tmp_path).iterdir()) == ["latest", "step-00000000"]


def test_a_disk_that_is_full(tmp_path, monkeypatch):
    step, data = resumed_training.made()
    store = train.Checkpoints(tmp_path)
    store.save(step, data)
    store.wait()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    step(*next(iter(data)))
    store.save(step, data)
    with pytest.raises(relay.InputError, match="step-00000001 cannot be written: No space left on device"):
        store.wait()
    monkeypatch.undo()
    assert store.names() == ["step-00000000"] and store.resume(step, data) and step.count == 0


def test_a_manifest_lists_what_a_resume_needs(saved):
    folder, *_ = saved
    manifest = json.loads((folder / "step-00000006" / "manifest.json").read_text())["manifest"]
    assert set(manifest["tensors"]) == {
        "w",
        "state/step",
        "state/rng",
        "state/exp_avg/w",
        "state/exp_avg_sq/w",
        "state/ema/w",
    }
    assert manifest["data"] == {"epoch": 1, "number": 1, "shuffle": True, "samples": 40, "size": 7, "seed": 3}


def test_a_resume_within_a_step_of_micro_batches(tmp_path):
    """The accumulated gradients, the scale and the averages are part of a checkpoint at any call."""

    def made():
        options = {"accumulate": 3, "scaler": train.LossScaler(interval=2), "clip_norm": 1.0, "ema": 0.9}
        rng = np.random.default_rng(0)

        def loss(p, x):
            return train.Result(relay.sum(relay.tanh(relay.nn.dense(x, p["w"]))), count=relay.sum(relay.ones_like(x)))

        step = train.Step(
            loss, {"w": rng.standard_normal((3, 4))}, {"x": ((5, 4), "float64")}, train.NAdam(), threads=1, **options
        )
        return step, rng.standard_normal((11, 5, 4))

    whole, batches = made()
    for x in batches:
        whole(x)
    step, store = made()[0], train.Checkpoints(tmp_path)
    for at, x in enumerate(batches):
        step(x)
        store.save(step)
        if at % 2:
            step = made()[0] if at == 3 else step
            assert store.resume(step)
    store.wait()
    assert store.latest() == "step-00000003.2" and step.calls == 11
    same(arrays_of(step), arrays_of(whole))
