"""Faults that are planted into relay.train: each turns a test red."""

import dataclasses

import numpy as np
import pytest
import relay.train as train
import resumed_training
from relay.train import program
from relay.train.optimisers import adam

import relay

pytest.importorskip("torch")
import test_checkpoints  # noqa: E402
import test_optimisers  # noqa: E402
import test_scaler  # noqa: E402
import test_step  # noqa: E402

pytestmark = pytest.mark.slow


def test_a_bias_that_is_not_corrected(monkeypatch):
    monkeypatch.setattr(adam, "unbias", lambda beta, t: relay.const(1.0, "float64"))
    with pytest.raises(AssertionError):
        test_optimisers.beside_pytorch("float32")


def test_a_constant_that_is_off_by_a_part_in_a_million(monkeypatch):
    right = adam.lerp
    monkeypatch.setattr(adam, "lerp", lambda a, b, weight: right(a, b, weight * (1 + 1e-6)))
    with pytest.raises(AssertionError):
        test_optimisers.beside_pytorch("float64")


def test_a_scale_that_grows_a_step_late(monkeypatch):
    right = train.LossScaler.next
    late = lambda self, *state: right(dataclasses.replace(self, interval=self.interval + 1), *state)  # noqa: E731
    monkeypatch.setattr(train.LossScaler, "next", late)
    with pytest.raises(AssertionError):
        test_scaler.test_the_sequence_is_pytorchs(300)


def test_gradients_that_stay_scaled(monkeypatch):
    monkeypatch.setattr(program, "_unscaled", lambda b, gradients, divisor: gradients)
    with pytest.raises(AssertionError):
        test_step.test_means_of_equal_micro_batches_are_the_whole_batch()


@pytest.mark.parametrize("lost", ["data", "state/rng", "state/exp_avg/w"])
def test_state_that_is_not_restored(lost, monkeypatch, tmp_path):
    wanted = resumed_training.go(tmp_path / "whole", 20, 0)
    right = train.Checkpoints.resume

    def forgetful(self, step, data=None, **options):
        before = None if lost == "data" else step.arrays[lost].copy()
        found = right(self, step, None if lost == "data" else data, **options)
        if before is not None:
            step.arrays[lost][...] = before
        return found

    monkeypatch.setattr(train.Checkpoints, "resume", forgetful)
    resumed_training.go(tmp_path / "twice", 8, 0)
    got = resumed_training.go(tmp_path / "twice", 20, 0)
    with pytest.raises(AssertionError):
        test_checkpoints.same(got, wanted)


def test_a_save_that_does_not_copy(monkeypatch, tmp_path):
    class Shared(np.ndarray):
        def copy(self, order="C"):
            return self

    step, data = resumed_training.made()
    step.arrays = {name: value.view(Shared) for name, value in step.arrays.items()}
    batch, store = next(iter(data)), train.Checkpoints(tmp_path)
    right = train.Checkpoints._write

    def late(self, manifest, arrays):
        step(*batch)
        right(self, manifest, arrays)

    monkeypatch.setattr(train.Checkpoints, "_write", late)
    step(*batch)
    saved = {name: np.array(value) for name, value in step.arrays.items()}
    store.save(step, data)
    assert store.resume(step, data)
    with pytest.raises(AssertionError):
        test_checkpoints.same({name: np.array(value) for name, value in step.arrays.items()}, saved)
