"""com.microsoft.BeamSearch: a decoder graph, run with several continuations of each sequence, compared with ONNX
Runtime; and NGramRepeatBlock, which forbids the same words."""

import numpy as np
import pytest
from forms import each_nth, with_long_form

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper  # noqa: E402
from search_models import PAD, PROMPTS, WORDS, beside_onnxruntime, decoder, ints, search_model  # noqa: E402

import relay  # noqa: E402

node, value = helper.make_node, helper.make_tensor_value_info
NAMES = [
    *("input_ids", "max_length", "min_length", "num_beams", "num_return_sequences", "length_penalty"),
    *("repetition_penalty", "vocab_mask", "prefix_vocab_mask", "attention_mask"),
]


def model_of(seed, eos, beams, returned, *more, outputs=3, **attributes):
    given = ["input_ids", "max_length", *more]
    constants = {"num_beams": ints(beams), "num_return_sequences": ints(returned)}
    # ONNX Runtime requires these.
    wanted = {"min_length": ints(1)} | {
        name: np.array([1], np.float32) for name in ("length_penalty", "repetition_penalty")
    }
    constants |= {name: one for name, one in wanted.items() if name not in more}
    how = {"eos_token_id": eos, "pad_token_id": PAD, "model_type": 0, "vocab_size": WORDS} | attributes
    inputs = [name if name in given or name in constants else "" for name in NAMES]
    results = ["sequences", "sequences_scores", "scores"][:outputs]
    search = node("BeamSearch", inputs, results, domain="com.microsoft", decoder=decoder(seed), **how)
    held = [onnx.numpy_helper.from_array(number, name) for name, number in constants.items()]
    return search_model(search, [name for name in NAMES if name in given], results, held)


def check(model, *tries):
    for want, got in beside_onnxruntime(model, tries):
        assert [g.shape for g in got] == [w.shape for w in want]
        np.testing.assert_array_equal(got[0], want[0])
        for g, w in zip(got[1:], want[1:], strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-5)


SEARCHES = [(1, 2, 3, 2), (1, 9, 4, 4), (2, 9, 2, 1), (5, 6, 1, 1)]
# Each of them once, with early stopping in turn.
SHORT = [(*search, number % 2) for number, search in enumerate(SEARCHES)]


@pytest.mark.parametrize(
    "search", with_long_form([(*one, early) for early in (0, 1) for one in SEARCHES], SHORT.__contains__), ids=str
)
def test_search(search):
    """With sequences that end early, all of them or some, and paddings in front."""
    seed, eos, beams, returned, early = search
    check(
        model_of(seed, eos, beams, returned, outputs=2, early_stopping=early),
        *({"input_ids": ids, "max_length": ints(most)} for ids in PROMPTS for most in (6, 12)),
    )


@pytest.mark.parametrize("power", [0.3, 2.0])
def test_long_and_short_ones(power):
    penalty = np.array([power], np.float32)
    check(
        model_of(1, 9, 3, 3, "length_penalty", outputs=2),
        *({"input_ids": ids, "max_length": ints(12), "length_penalty": penalty} for ids in PROMPTS),
    )


def test_scores_of_all_words():
    """No sequence ends, so no step is left out."""
    check(model_of(1, -1, 3, 2), *({"input_ids": ids, "max_length": ints(9)} for ids in PROMPTS))


def test_what_is_said_of_words():
    given = {
        "max_length": ints(12),
        "min_length": ints(8),
        "repetition_penalty": np.array([1.7], np.float32),
        "vocab_mask": ints(*(i not in (2, 5) for i in range(WORDS))),
    }
    given |= {"prefix_vocab_mask": np.tile(ints(*(i % 2 for i in range(WORDS))), (3, 1))}
    given |= {"attention_mask": ints([0, 1, 1], [1, 1, 1], [0, 0, 1])}
    check(model_of(1, 9, 3, 2, *given, outputs=2), {"input_ids": PROMPTS[0], **given})


@pytest.mark.parametrize("size", each_nth(3, [1, 2, 3]))
def test_no_words_come_again(size):
    model = model_of(1, -1, 2, 2, outputs=2, no_repeat_ngram_size=size)
    check(model, *({"input_ids": ids, "max_length": ints(11)} for ids in PROMPTS[:2]))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_repeated_words(size):
    draw = np.random.default_rng(size)
    ids, scores = draw.integers(0, 5, (4, 9)), draw.standard_normal((4, 6)).astype(np.float32)
    block = node("NGramRepeatBlock", ["ids", "scores"], ["y"], domain="com.microsoft", ngram_size=size)
    ports = [value("ids", TensorProto.INT64, ["b", "l"]), value("scores", TensorProto.FLOAT, ["b", 6])]
    graph = helper.make_graph([block], "graph", ports, [value("y", TensorProto.FLOAT, None)])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    run = relay.compile(model)
    for length in (9, 1):
        given = {"ids": ids[:, :length].copy(), "scores": scores}
        [want] = session.run(None, given)
        np.testing.assert_array_equal(np.asarray(run(**given)), want)


def test_what_is_not_supported_is_said():
    for more, said in (
        ({"model_type": 3}, "model_type is 3"),
        ({"model_type": 1}, "its decoder has 4 inputs and 2 outputs"),
        ({"beams": 2, "returned": 3}, "num_beams is 2, num_return_sequences 3"),
    ):
        with pytest.raises(relay.CompileError, match=said):
            relay.load(model_of(1, 9, **({"beams": 2, "returned": 1} | more)))
