"""The choice of tokens from logits, compared with a plain definition of each rule."""

import numpy as np
import pytest
from relay.decoding.sampling import Sampler, Sampling

import relay

LOGITS = np.log(np.array([0.02, 0.5, 0.08, 0.25, 0.15], np.float32))


def allowed(**how):
    tokens, found = Sampler(Sampling(**{"temperature": 1.0, **how})).probabilities(LOGITS, [])
    assert found.sum() == pytest.approx(1)
    return dict(zip(tokens.tolist(), found, strict=True))


@pytest.mark.parametrize(
    "how, tokens",
    [
        ({}, {0, 1, 2, 3, 4}),
        ({"top_k": 2}, {1, 3}),
        ({"top_p": 0.74}, {1, 3}),
        ({"top_p": 0.76}, {1, 3, 4}),
        ({"top_p": 0.0}, {1}),
        ({"min_p": 0.29}, {1, 3, 4}),
        ({"min_p": 0.31}, {1, 3}),
        ({"top_k": 3, "top_p": 0.5}, {1}),
        ({"temperature": 0.0}, {1}),
        ({"top_k": 99}, {0, 1, 2, 3, 4}),
    ],
)
def test_rules_keep_tokens(how, tokens):
    assert set(allowed(**how)) == tokens


def test_probabilities_keep_their_ratios():
    found = allowed(top_k=2)
    assert found[1] == pytest.approx(0.5 / 0.75)
    sharp = allowed(temperature=0.5)
    assert sharp[1] / sharp[3] == pytest.approx(4)


def test_top_p_of_many_tokens_is_that_of_all_sorted():
    draw = np.random.default_rng(0)
    for _ in range(20):
        logits, p = draw.normal(size=3000).astype(np.float32) * 3, draw.random()
        all_found = np.exp(logits - logits.max(), dtype=np.float64)
        all_found /= all_found.sum()
        order = np.argsort(-all_found)
        wanted = order[: np.searchsorted(np.cumsum(all_found[order]), p) + 1]
        tokens, _ = Sampler(Sampling(temperature=1.0, top_p=p)).probabilities(logits, [])
        assert set(tokens.tolist()) == set(wanted.tolist())


def test_draws_have_the_probabilities():
    sampler = Sampler(Sampling(temperature=1.0, seed=0))
    drawn = np.bincount([sampler.choose(LOGITS, []) for _ in range(20000)], minlength=5) / 20000
    np.testing.assert_allclose(drawn, np.exp(LOGITS), atol=0.015)  # four standard deviations of the largest


def test_a_penalty_of_recent_tokens():
    logits = np.array([2.0, -1.0, 1.5], np.float32)
    greedy = Sampling(repetition_penalty=2.0)
    assert Sampler(greedy).choose(logits, []) == 0
    assert Sampler(greedy).choose(logits, [0, 0, 1]) == 2
    np.testing.assert_array_equal(logits, [2.0, -1.0, 1.5])
    assert Sampler(Sampling(repetition_penalty=2.0, repetition_window=1)).choose(logits, [0, 1]) == 0


def test_values_out_of_range():
    for name, value in (
        ("temperature", -0.1),
        ("top_k", -1),
        ("min_p", 1.5),
        ("repetition_penalty", 0),
        ("top_p", "x"),
    ):
        with pytest.raises(relay.InputError, match=f"{name} is .*, but must be from"):
            Sampling(**{name: value})
