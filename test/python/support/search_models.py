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
    "decoder_input_ids": ["b", "first"],
}  # fmt: skip
REALS = ("length_penalty", "repetition_penalty", "scores", "sequences_scores")


def search_model(search, given, results, held=(), features=None):
    """The model that is this node; `given`: those of its inputs that the model has, in the node's order; `features`:
    the shape of an input of reals in place of words."""

    def port(name, shape):
        if name == "input_ids" and features:
            return value(name, TensorProto.FLOAT, features)
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


def _step(ids, past, mask):
    """Nodes of a decoder's step: the last word, all that were (`past`: with those of before) and what the encoder kept
    (`mask`: without paddings)."""
    nodes = [node("Gather", ["words", ids], ["word"]), node("Unsqueeze", ["word", "one"], ["key"])]
    nodes.append(node("Mul", ["key", "scale"], ["value"]))
    for kind in ("key", "value"):
        earlier = [f"past_{kind}_self_0"] if past else []
        nodes.append(node("Concat", [*earlier, kind], [f"present_{kind}_self_0"], axis=2))
    if mask:
        nodes.append(node("Cast", [mask], ["mask"], to=TensorProto.FLOAT))
        nodes.append(node("Unsqueeze", ["mask", "around"], ["masks"]))
        nodes.append(node("Mul", ["cross_value", "masks"], ["kept"]))
    return [
        *nodes,
        node("ReduceSum", ["present_key_self_0", "middle"], ["keys"], keepdims=0),
        node("ReduceMax", ["present_value_self_0", "middle"], ["values"], keepdims=0),
        node("ReduceSum", ["kept" if mask else "cross_value", "middle"], ["context"], keepdims=0),
        node("Sum", ["keys", "values", "context"], ["all"]),
        node("Unsqueeze", ["all", "one"], ["everywhere"]),
        node("Add", ["word", "everywhere"], ["h"]),
        node("Sin", ["h"], ["wave"]),
        node("MatMul", ["wave", "heads"], ["logits"]),
    ]


def _port(name):
    shapes = {
        "encoder_input_ids": ["b", "l"],
        "encoder_attention_mask": ["b", "l"],
        "encoder_input_features": ["b", WIDTH, "l"],
        "input_ids": ["b", 1],
        "decoder_input_ids": ["b", "first"],
        "logits": ["b", 1, WORDS],
        "encoder_hidden_states": ["b", "l", WIDTH],
    }
    shape = shapes.get(name, ["b", 1, "l" if "cross" in name else f"length_{name}", WIDTH])
    is_number = name.endswith(("_ids", "_mask"))
    name = "encoder_input_ids" if name == "encoder_input_features" else name
    return value(name, TensorProto.INT32 if is_number else TensorProto.FLOAT, shape)


def encoder_and_decoder(seed, first_step=True, hidden=False, speech=False):
    """Graphs as T5 and Whisper (`speech`) have them. `first_step`: the encoder's makes the decoder's first step;
    `hidden`: the decoder takes hidden states."""
    draw = np.random.default_rng(seed)
    tables = {name: draw.standard_normal((WORDS, WIDTH)) * 2 for name in ("words", "source", "heads")}
    held = {name: table.astype(np.float32) for name, table in tables.items()}
    held |= {"heads": held["heads"].T.copy(), "scale": np.array(0.6, np.float32), "middle": np.array([1, 2])}
    held |= {"one": np.array([1]), "around": np.array([1, 3])}

    def graph(name, nodes, takes, gives):
        used = {x for n in nodes for x in n.input}
        initializers = [onnx.numpy_helper.from_array(a, key) for key, a in held.items() if key in used]
        return helper.make_graph(nodes, name, [*map(_port, takes)], [*map(_port, gives)], initializers)

    mask = [] if speech else ["encoder_attention_mask"]
    selves, crosses = ([f"present_{kind}_{where}_0" for kind in ("key", "value")] for where in ("self", "cross"))
    encoding = [
        node("Transpose", ["encoder_input_ids"], ["encoder_hidden_states"], perm=[0, 2, 1])
        if speech
        else node("Gather", ["source", "encoder_input_ids"], ["encoder_hidden_states"]),
        node("Unsqueeze", ["encoder_hidden_states", "one"], [crosses[0]]),
        node("Mul", [crosses[0], "scale"], [crosses[1]]),
    ]
    takes, gives = ["encoder_input_features" if speech else "encoder_input_ids", *mask], crosses
    if first_step:
        takes = [*takes, "decoder_input_ids"]
        encoding.append(node("Identity", [crosses[1]], ["cross_value"]))
        encoding += _step("decoder_input_ids", False, "".join(mask))
        gives = ["logits", "encoder_hidden_states", *selves, *crosses]
    decoding = [node("Identity", ["past_value_cross_0"], ["cross_value"]), *_step("input_ids", True, "".join(mask))]
    fed = ["input_ids", *mask, *(["encoder_hidden_states"] if hidden else [])]
    fed += [name.replace("present", "past") for name in (*selves, *crosses)]
    decoder = graph("decoder", decoding, fed, ["logits", *selves])
    return {"encoder": graph("encoder", encoding, takes, gives), "decoder": decoder}
