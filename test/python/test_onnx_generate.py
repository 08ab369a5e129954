"""com.microsoft.GreedySearch: a decoder in a graph, run until all sequences end, beside ONNX Runtime."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper  # noqa: E402

import relay  # noqa: E402

node, value = helper.make_node, helper.make_tensor_value_info
WORDS, WIDTH, PAD = 12, 4, 7
NAMES = [
    "input_ids",
    "max_length",
    "min_length",
    "repetition_penalty",
    "vocab_mask",
    "prefix_vocab_mask",
    "attention_mask",
]


def decoder(seed):
    """Scores of the next word from the last word, its position, and the sum of all that the mask has."""
    draw = np.random.default_rng(seed)
    tables = {name: draw.standard_normal((WORDS, WIDTH)) for name in ("words", "heads", "memory")}
    tables["places"] = draw.standard_normal((40, WIDTH)) / 2
    held = {name: table.astype(np.float32) for name, table in tables.items()}
    held |= {"heads": held["heads"].T.copy(), "memory": held["memory"].T * np.float32(0.7)}
    held |= {"axes": np.array([0, 2, 3]), "zero": np.array([0]), "one": np.array([1]), "around": np.array([1, 3])}
    nodes = [
        node("Gather", ["words", "input_ids"], ["word"]),
        node("Gather", ["places", "position_ids"], ["place"]),
        node("Add", ["word", "place"], ["h"]),
        node("Unsqueeze", ["h", "one"], ["of_head"]),
        node("Unsqueeze", ["of_head", "zero"], ["key"]),
        node("Concat", ["key", "key"], ["now"], axis=0),
        node("Concat", ["past_0", "now"], ["present_0"], axis=3),
        node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        node("Unsqueeze", ["mask", "around"], ["masks"]),
        node("Mul", ["present_0", "masks"], ["kept"]),
        node("ReduceSum", ["kept", "axes"], ["sum"], keepdims=0),
        node("MatMul", ["sum", "memory"], ["remembered"]),
        node("Unsqueeze", ["remembered", "one"], ["everywhere"]),
        node("MatMul", ["h", "heads"], ["direct"]),
        node("Add", ["direct", "everywhere"], ["logits"]),
    ]
    inputs = [value(name, TensorProto.INT32, ["b", "t"]) for name in ("input_ids", "position_ids", "attention_mask")]
    inputs[2] = value("attention_mask", TensorProto.INT32, ["b", "m"])
    inputs.append(value("past_0", TensorProto.FLOAT, [2, "b", 1, "p", WIDTH]))
    outputs = [
        value("logits", TensorProto.FLOAT, ["b", "t", WORDS]),
        value("present_0", TensorProto.FLOAT, [2, "b", 1, "q", WIDTH]),
    ]
    initializers = [onnx.numpy_helper.from_array(one, name) for name, one in held.items()]
    return helper.make_graph(nodes, "decoder", inputs, outputs, initializers)


def model_of(seed, eos, pad, *more, **attributes):
    given = ["input_ids", "max_length", *more]
    how = {"eos_token_id": eos, "pad_token_id": pad, "model_type": 0, "vocab_size": WORDS} | attributes
    inputs = [name if name in given else "" for name in NAMES]
    search = node("GreedySearch", inputs, ["sequences"], domain="com.microsoft", decoder=decoder(seed), **how)
    shapes = {
        "input_ids": ["b", "l"],
        "vocab_mask": [WORDS],
        "prefix_vocab_mask": ["b", WORDS],
        "attention_mask": ["b", "l"],
    }
    ports = [
        value(name, TensorProto.FLOAT if name == "repetition_penalty" else TensorProto.INT32, shapes.get(name, [1]))
        for name in NAMES
        if name in given
    ]
    graph = helper.make_graph([search], "graph", ports, [value("sequences", TensorProto.INT32, None)])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def check(model, *tries):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    runs = [relay.compile(model, executor=executor) for executor in ("vm", "aot")]
    for given in tries:
        [want] = session.run(None, given)
        for run in runs:
            got = np.asarray(run(**given))
            assert got.shape == want.shape
            # Behind the end of all sequences ONNX Runtime leaves what stood in memory.
            padded = (got == PAD).all(0)
            end = len(padded) - int(np.argmin(padded[::-1])) if not padded.all() else 0
            np.testing.assert_array_equal(got[:, : end + 1], want[:, : end + 1])


def ints(*values):
    return np.array(values, np.int32)


PROMPTS = [ints([7, 1, 4], [9, 4, 6], [3, 3, 3]), ints([1, 2]), ints([7, 7, 7, 2, 8], [7, 1, 5, 4, 3])]


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
    for attributes, said in (
        ({"no_repeat_ngram_size": 2}, "no_repeat_ngram_size is 2"),
        ({"model_type": 1}, "model_type is 1"),
    ):
        with pytest.raises(relay.CompileError, match=said):
            relay.load(model_of(1, 9, PAD, **attributes))
