"""com.microsoft.GreedySearch: a decoder graph, run until all sequences end, compared with ONNX Runtime."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import helper  # noqa: E402
from search_models import PAD, PROMPTS, WORDS, beside_onnxruntime, decoder, ints, search_model  # noqa: E402

import relay  # noqa: E402

node, value = helper.make_node, helper.make_tensor_value_info
NAMES = [
    "input_ids",
    "max_length",
    "min_length",
    "repetition_penalty",
    "vocab_mask",
    "prefix_vocab_mask",
    "attention_mask",
]


def model_of(seed, eos, pad, *more, **attributes):
    given = ["input_ids", "max_length", *more]
    how = {"eos_token_id": eos, "pad_token_id": pad, "model_type": 0, "vocab_size": WORDS} | attributes
    inputs = [name if name in given else "" for name in NAMES]
    search = node("GreedySearch", inputs, ["sequences"], domain="com.microsoft", decoder=decoder(seed), **how)
    return search_model(search, [name for name in NAMES if name in given], ["sequences"])


def check(model, *tries):
    for [want], [got] in beside_onnxruntime(model, tries):
        assert got.shape == want.shape
        # Behind the end of all sequences ONNX Runtime leaves what stood in memory.
        padded = (got == PAD).all(0)
        end = len(padded) - int(np.argmin(padded[::-1])) if not padded.all() else 0
        np.testing.assert_array_equal(got[:, : end + 1], want[:, : end + 1])


@pytest.mark.parametrize(("seed", "eos"), [(1, 2), (1, 9), (2, 9), (5, 6)])
def test_search(seed, eos):
    """With sequences that end early, all of them or some, and paddings in front."""
    check(
        model_of(seed, eos, PAD),
        *({"input_ids": ids, "max_length": ints(most)} for ids in PROMPTS for most in (6, 12)),
    )


def test_what_is_said_of_words():
    given = {
        "max_length": ints(12),
        "min_length": ints(8),
        "repetition_penalty": np.array([1.7], np.float32),
        "vocab_mask": ints(*(i not in (2, 5) for i in range(WORDS))),
    }
    prompt = PROMPTS[0]
    given |= {"prefix_vocab_mask": np.tile(ints(*(i % 2 for i in range(WORDS))), (3, 1))}
    given |= {"attention_mask": ints([0, 1, 1], [1, 1, 1], [0, 0, 1])}
    check(model_of(1, 9, PAD, *given), {"input_ids": prompt, **given})


def test_what_is_not_supported_is_said():
    with pytest.raises(relay.CompileError, match="model_type is 1"):
        relay.load(model_of(1, 9, PAD, model_type=1))


@pytest.mark.parametrize("how", [{"custom": 1}, {"min_tokens_to_keep": 1}])
def test_drawn_from_one_word(how):
    """Sampling, where what it draws from has one word only."""
    model = model_of(1, 9, PAD, top_p=0.0, **how)
    model.graph.node[0].op_type = "Sampling"
    check(model, *({"input_ids": ids, "max_length": ints(10)} for ids in PROMPTS))
    model = model_of(1, 9, PAD, top_p=0.5, **how)
    model.graph.node[0].op_type = "Sampling"
    with pytest.raises(relay.CompileError, match="drawn by a generator that only ONNX Runtime has"):
        relay.load(model)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_words_come_again(size):
    check(model_of(1, -1, PAD, no_repeat_ngram_size=size), {"input_ids": ints([3, 5], [1, 2]), "max_length": ints(11)})
