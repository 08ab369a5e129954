"""Logits of each family beside transformers in float64."""

import numpy as np
import pytest
from forms import each_nth
from relay.decoding.decoder import Decoder
from relay.decoding.source import opened
from tiny_decoders import KINDS, folder_of, logits_of

import relay

TOLERANCE = 2e-5  # of the largest logit: float32 sums of up to 80 products, through 3 to 7 layers


def close(got, want):
    assert got.shape == want.shape
    error = np.abs(got - want).max() / np.abs(want).max()
    assert error < TOLERANCE, error


@pytest.fixture(scope="module")
def decoder():
    made = {}
    return lambda kind: made.setdefault(kind, Decoder(opened(folder_of(kind)), cache=False, threads=1))


@pytest.mark.parametrize("kind", each_nth(2, KINDS))
def test_a_prompt_and_steps_give_the_logits_of_pytorch(kind, decoder):
    tokens = np.random.default_rng(1).integers(3, 131, (1, 24))
    want = logits_of(kind, tokens)
    state = decoder(kind).state(40)
    close(state.feed(tokens[:, :11], every=True), want[:, :11])
    for at in range(11, 24):
        close(state.feed(tokens[:, at : at + 1]), want[:, at])


@pytest.mark.parametrize("kind", ["llama", "gemma3", "gpt2"])
def test_a_batch_of_sequences_of_different_lengths(kind, decoder):
    rng, counts = np.random.default_rng(2), np.array([9, 4, 1])
    prompts, steps = rng.integers(3, 131, (3, 9)), rng.integers(3, 131, (3, 3))
    state = decoder(kind).state(16, sequences=3)
    got = state.feed(prompts, counts)
    for at in range(3):
        for i, count in enumerate(counts):
            whole = np.concatenate([prompts[i, :count], steps[i, :at]])[None]
            close(got[i], logits_of(kind, whole)[0, -1])
        got = state.feed(steps[:, at : at + 1])


def test_tokens_are_taken_back(decoder):
    tokens = np.random.default_rng(3).integers(3, 131, (1, 12))
    state = decoder("llama").state(20)
    state.feed(tokens[:, :6])
    state.feed(np.array([[7, 8, 9, 10]]))
    state.lengths -= 4
    close(state.feed(tokens[:, 6:], every=True), logits_of("llama", tokens)[:, 6:])


def test_a_prompt_that_is_fed_in_parts(decoder, monkeypatch):
    monkeypatch.setattr("relay.decoding.decoder._AT_ONCE", 5)
    tokens = np.random.default_rng(4).integers(3, 131, (2, 17))
    state = decoder("qwen2").state(20, sequences=2)
    got = state.feed(tokens, np.array([17, 8]))
    close(got[0], logits_of("qwen2", tokens[:1])[0, -1])
    close(got[1], logits_of("qwen2", tokens[1:, :8])[0, -1])


@pytest.mark.slow
def test_positions_beyond_the_first_128(decoder):
    """Attention reads a multiple of 128 positions."""
    tokens = np.random.default_rng(5).integers(3, 131, (1, 300))
    state = decoder("mistral").state(300)
    want = logits_of("mistral", tokens)
    close(state.feed(tokens[:, :250]), want[:, 249])
    for at in range(250, 300):
        close(state.feed(tokens[:, at : at + 1]), want[:, at])


def test_positions_beyond_the_models_context(decoder):
    """Positions that were learned end with the context; rotations go on."""
    state = decoder("gpt2").state(512)
    with pytest.raises(relay.InputError, match="513 positions are more than the 512 that .* has learned"):
        decoder("gpt2").state(513)
    with pytest.raises(relay.InputError, match="513 positions are more than the 512"):
        state.grow(513)
    with pytest.raises(relay.InputError, match="sequences of 513 tokens do not fit in a state of 512"):
        state.feed(np.ones((1, 513), np.int64))
    decoder("llama").state(513)


def test_long_contexts_have_frequencies_of_their_own(decoder):
    """Phi 3's factors depend on the longest sequence: 64 positions is the original context."""
    tokens = np.random.default_rng(6).integers(3, 131, (1, 90))
    long = decoder("phi3-long").state(90)
    close(long.feed(tokens, every=True), logits_of("phi3-long", tokens))
    short = decoder("phi3-long").state(60)
    close(short.feed(tokens[:, :60], every=True), logits_of("phi3-long", tokens[:, :60]))
    with pytest.raises(relay.InputError, match="turns positions differently in sequences of more than 64 tokens"):
        short.grow(90)
    with pytest.raises(relay.InputError, match="begin a state with as many positions as it will need"):
        long.join(short)
