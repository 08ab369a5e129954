"""States of recurrent operators: variable tensors, which pass from run to run."""

import numpy as np
import recurrent_cases
import wide_cases
from lite_cases import CASES

import relay

assert wide_cases.BATCH == recurrent_cases.BATCH == 2


def content(name):
    return next(case for case in CASES if case.name == name).model()[0]


def test_steps_one_by_one_are_a_sequence():
    """Runs of one step, each with the states of the last one, are a run over all steps. Both models have the same
    weights, which are drawn from one seed."""
    module = relay.load(content("LSTM"))
    attrs = module["main"].attrs
    assert len(attrs["state_names"]) == 2 and list(attrs["state_starts"]) == [0, 0]
    one, whole = relay.compile(module), relay.compile(content("UNIDIRECTIONAL_SEQUENCE_LSTM plain"))
    x = np.random.default_rng(3).uniform(-1, 1, (2, 6, 5)).astype(np.float32)
    states = [np.zeros((2, 4), np.float32)] * 2
    y, *final = whole(x, *states)
    for t in range(6):
        step, *states = one(x[:, t], *states)
        np.testing.assert_allclose(step, y[:, t], rtol=1e-5, atol=1e-6)
    for ours, theirs in zip(states, final, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_states_of_integers_begin_at_their_zero_point():
    module, _ = relay.frontend.from_tflite(content("UNIDIRECTIONAL_SEQUENCE_LSTM int8 plain"))
    assert list(module["main"].attrs["state_starts"]) == [-4, 0]
