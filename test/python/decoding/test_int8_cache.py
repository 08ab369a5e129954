"""Keys and values that are kept as integers of 8 bits."""

import numpy as np
import pytest
from relay.decoding.decoder import Decoder
from relay.decoding.source import opened
from tiny_decoders import folder_of, logits_of

import relay


@pytest.fixture(scope="module")
def decoder():
    return Decoder(opened(folder_of("qwen3")), cache=False, threads=1, kv_cache="int8")


def test_logits_are_close(decoder):
    """Within the rounding of 8 bits: the root of the mean squared error is below 3 % of that of the logits."""
    tokens = np.random.default_rng(1).integers(3, 131, (1, 24))
    state, want = decoder.state(40), logits_of("qwen3", tokens)
    got = [state.feed(tokens[:, :11], every=True)] + [state.feed(tokens[:, i : i + 1])[:, None] for i in range(11, 24)]
    error = np.concatenate(got, axis=1) - want
    assert 1e-4 < np.sqrt(np.mean(error**2) / np.mean(want**2)) < 0.03


def test_the_state_is_a_byte_for_each_element_and_a_scale_for_each_head(decoder):
    state = decoder.state(40)
    state.feed(np.array([[5, 6, 7]]))
    stored = state._session.snapshot()
    heads = (1, 128, decoder.config.key_heads)
    kinds = {name.split(".")[0]: (value.dtype, value.shape) for name, value in stored.items()}
    whole, scales = (np.dtype("int8"), (*heads, 16)), (np.dtype("float32"), heads)
    assert kinds == {"keys": whole, "values": whole, "keys_scales": scales, "values_scales": scales}
    for kind in ("keys", "values"):
        written = np.abs(stored[f"{kind}.0"][:, :3].astype(int))
        assert (written.max(axis=-1) == 127).all()  # the largest of each head
    assert all(one["in_place"] for one in decoder.compiled.report["donations"])


def test_rows_are_kept_joined_and_moved(decoder):
    tokens = np.random.default_rng(2).integers(3, 131, (2, 9))
    first, second = decoder.state(10), decoder.state(10)
    first.feed(tokens[:1])
    second.feed(tokens[1:])
    first.join(second)
    first.grow(200)
    got = first.feed(np.array([[4], [5]]))
    for i, last in enumerate((4, 5)):
        alone = decoder.state(10)
        alone.feed(tokens[i : i + 1])
        np.testing.assert_allclose(got[i], alone.feed(np.array([[last]]))[0], rtol=1e-4, atol=1e-4)


def test_unknown_types():
    with pytest.raises(relay.errors.CompileError, match="no cache of keys and values of 'int4'"):
        Decoder(opened(folder_of("qwen3")), cache=False, kv_cache="int4")
