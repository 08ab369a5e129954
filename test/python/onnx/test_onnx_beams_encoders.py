"""com.microsoft.BeamSearch with encoders, in the forms in which T5 and Whisper are exported, compared with ONNX
Runtime."""

import itertools

import numpy as np
import pytest
from forms import with_long_form

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import helper  # noqa: E402
from search_models import PAD, PROMPTS, WIDTH, WORDS, encoder_and_decoder, ints, search_model  # noqa: E402

import relay  # noqa: E402

NAMES = [
    *("input_ids", "max_length", "min_length", "num_beams", "num_return_sequences", "length_penalty"),
    *("repetition_penalty", "vocab_mask", "prefix_vocab_mask", "attention_mask", "decoder_input_ids"),
]
START = 3


def model_of(seed, eos, beams, returned, *more, outputs=2, graphs=None, op="BeamSearch", **attributes):
    given = ["input_ids", "max_length", *more]
    held = {"num_beams": ints(beams), "num_return_sequences": ints(returned), "min_length": ints(1)}
    held |= {name: np.array([1], np.float32) for name in ("length_penalty", "repetition_penalty")}
    held = {name: one for name, one in held.items() if name not in more}
    graphs = encoder_and_decoder(seed, **(graphs or {}))
    how = {"eos_token_id": eos, "pad_token_id": PAD, "model_type": 1, "vocab_size": WORDS}
    how |= {"decoder_start_token_id": START} | attributes
    inputs = [name if name in given or name in held else "" for name in NAMES]
    results = ["sequences", "sequences_scores", "scores"][:outputs]
    search = helper.make_node(op, inputs, results, domain="com.microsoft", **graphs, **how)
    constants = [onnx.numpy_helper.from_array(one, name) for name, one in held.items()]
    features = ["b", WIDTH, "l"] if how["model_type"] == 2 else None
    return search_model(search, [name for name in NAMES if name in given], results, constants, features)


def row(given, i):
    return {k: v if v.ndim == 1 else v[i : i + 1] for k, v in given.items()}


def check(model, *tries, executors=("aot",)):
    """ONNX Runtime gets each sequence alone: of several it takes one's scores to end another (its scorer reads those of
    sequence i from place i * beams on, where there are 2 * beams for each)."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    runs = [relay.compile(model, executor=executor) for executor in executors]
    for given in tries:
        each = [session.run(None, row(given, i)) for i in range(len(given["input_ids"]))]
        want = [np.concatenate(parts, axis) for parts, axis in zip(zip(*each, strict=True), (0, 0, 1), strict=False)]
        for run in runs:
            got = [np.asarray(one) for one in run(**given)]
            assert [g.shape for g in got] == [w.shape for w in want]
            np.testing.assert_array_equal(got[0], want[0])
            for g, w in zip(got[1:], want[1:], strict=True):
                np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-5)


GRAPHS = [{}, {"first_step": False}, {"hidden": True}]
SEARCHES = [(1, 2, 3, 2, 0), (2, 9, 4, 4, 1), (3, 6, 1, 1, 0)]


@pytest.mark.parametrize(
    "pair",
    with_long_form(itertools.product(range(3), range(3)), lambda pair: pair[0] == pair[1]),
    ids=lambda pair: f"graphs{pair[0]}-search{pair[1]}",
)
def test_words(pair):
    """The encoder makes the first step or not; paddings in front; one compilation for several lengths."""
    graphs, (seed, eos, beams, returned, early) = GRAPHS[pair[0]], SEARCHES[pair[1]]
    check(
        model_of(seed, eos, beams, returned, graphs=graphs, early_stopping=early),
        *({"input_ids": ids, "max_length": ints(most)} for ids in PROMPTS for most in (5, 11)),
        executors=("vm", "aot") if seed == 1 else ("aot",),
    )


@pytest.mark.parametrize("graphs", [{}, {"first_step": False}])
def test_scores_of_all_words(graphs):
    """No sequence ends, so no step is left out."""
    model = model_of(1, 0, 3, 2, "vocab_mask", outputs=3, graphs=graphs)
    words = ints(*(i != 0 for i in range(WORDS)))
    check(model, *({"input_ids": ids, "max_length": ints(9), "vocab_mask": words} for ids in PROMPTS))


@pytest.mark.parametrize("graphs", [{}, {"first_step": False}])
def test_what_is_said_of_words(graphs):
    given = {
        "max_length": ints(12),
        "min_length": ints(8),
        "length_penalty": np.array([0.4], np.float32),
        "repetition_penalty": np.array([1.7], np.float32),
        "vocab_mask": ints(*(i not in (2, 5) for i in range(WORDS))),
        "prefix_vocab_mask": np.tile(ints(*(i % 2 for i in range(WORDS))), (3, 1)),
        "attention_mask": ints([0, 1, 1], [1, 1, 1], [1, 1, 0]),
    }
    model = model_of(1, 9, 3, 2, *(n for n in given if n != "max_length"), graphs=graphs, no_repeat_ngram_size=2)
    check(model, {"input_ids": PROMPTS[0], **given})


@pytest.mark.parametrize(
    "form",
    with_long_form(
        itertools.product(["BeamSearch", "WhisperBeamSearch"], [False, True]),
        lambda form: form in (("BeamSearch", False), ("WhisperBeamSearch", True)),
    ),
    ids=str,
)
def test_sound(form):
    op, hidden = form
    draw = np.random.default_rng(4)
    graphs = {"speech": True, "hidden": hidden}
    features = [draw.standard_normal((b, WIDTH, n)).astype(np.float32) for b, n in ((2, 6), (1, 3))]
    model = model_of(1, 9, 3, 2, graphs=graphs, model_type=2, op=op)
    check(model, *({"input_ids": x, "max_length": ints(10)} for x in features))
    model = model_of(2, 5, 2, 1, "decoder_input_ids", graphs=graphs, model_type=2, op=op)
    starts = [ints([3, 1, 4], [3, 1, 8]), ints([3])]
    check(
        model,
        *(
            {"input_ids": x, "max_length": ints(10), "decoder_input_ids": start.reshape(len(x), -1)}
            for x, start in zip(features, starts, strict=True)
        ),
    )


def test_what_is_not_supported_is_said():
    for model, said in (
        (model_of(1, 9, 2, 1, "decoder_input_ids"), "decoder_input_ids"),
        (model_of(1, 9, 2, 1, "num_beams"), "num_beams .* must be one number, known at import"),
        (model_of(1, 9, 2, 1, model_type=3), "model_type is 3"),
    ):
        with pytest.raises(relay.CompileError, match=said):
            relay.load(model)
    model = model_of(1, 9, 2, 1)
    del model.graph.node[0].attribute[[a.name for a in model.graph.node[0].attribute].index("encoder")]
    with pytest.raises(relay.CompileError, match="no graph encoder"):
        relay.load(model)
