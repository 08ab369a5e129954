"""Decoders for searches, which run a graph again and again: shared by test_onnx_generate.py and test_onnx_beams.py."""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

import relay

node, value = helper.make_node, helper.make_tensor_value_info
WORDS, WIDTH, PAD = 12, 4, 7


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


SHAPES = {
    "input_ids": ["b", "l"], "vocab_mask": [WORDS], "prefix_vocab_mask": ["b", WORDS], "attention_mask": ["b", "l"],
}  # fmt: skip
REALS = ("length_penalty", "repetition_penalty", "scores", "sequences_scores")


def search_model(search, given, results, held=()):
    """The model that is this node; `given`: those of its inputs that the model has, in the node's order."""

    def port(name, shape):
        return value(name, TensorProto.FLOAT if name in REALS else TensorProto.INT32, shape)

    ports = [port(name, SHAPES.get(name, [1])) for name in given]
    graph = helper.make_graph([search], "graph", ports, [port(name, None) for name in results], held)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def beside_onnxruntime(model, tries):
    """(its results, ours) for each of the inputs, by each executor that a search can run on."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    runs = [relay.compile(model, executor=executor) for executor in ("vm", "aot")]
    for given in tries:
        want = session.run(None, given)
        for run in runs:
            got = run(**given)
            yield want, [np.asarray(one) for one in (got if isinstance(got, tuple | list) else [got])]


def ints(*values):
    return np.array(values, np.int32)


PROMPTS = [ints([7, 1, 4], [9, 4, 6], [3, 3, 3]), ints([1, 2]), ints([7, 7, 7, 2, 8], [7, 1, 5, 4, 3])]
