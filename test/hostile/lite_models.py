"""Hostile TFLite models, made with the writer of the TFLite tests and then changed."""

import functools
import pathlib
import struct
import sys

from harness import OTHER_FILES, Kinds, either, fine, refused

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python" / "tflite"))
try:
    import numpy as np
    from writer import SAME, Model
except ImportError:  # then their making says so
    pass

kinds = Kinds("lite")

CORRUPT = "R0402 R0404 R0405 R0403 R0504"


def network():
    """A convolution, a pool and a matrix."""
    m = Model()
    x = m.input("x", [1, 4, 4, 2])
    w, b = m.constant("w", np.ones((3, 1, 1, 2), np.float32)), m.constant("b", np.zeros(3, np.float32))
    y = m.op("CONV_2D", [x, w, b], [m.tensor("y", [1, 4, 4, 3])], padding=SAME, stride_w=1, stride_h=1)
    z = m.op(
        "MAX_POOL_2D",
        [y],
        [m.tensor("z", [1, 2, 2, 3])],
        padding=SAME,
        stride_w=2,
        stride_h=2,
        filter_height=2,
        filter_width=2,
    )
    matrix = m.constant("m", np.ones((5, 12), np.float32))
    m.outputs(m.op("FULLY_CONNECTED", [z, matrix], [m.tensor("out", [1, 5])]))
    return m


@functools.cache
def sample():
    return network().bytes()


def run(v, model, *arguments, verb="run"):
    content = model if isinstance(model, bytes) else model.bytes()
    return v.run(verb, v.write("m.tflite", content), *arguments)


def changed(v, change, *arguments, verb="run"):
    m = network()
    change(m)
    return run(v, m, *arguments, verb=verb)


def flipped(v):
    content = bytearray(sample())
    for _ in range(v.size(1, 40)):
        content[v.rng.randrange(8, len(content))] ^= 1 << v.rng.randrange(8)
    return bytes(content)


def words_replaced(v):
    """A word of four bytes, which often is an offset or a length, replaced by a large or a negative one."""
    content = bytearray(sample())
    at = v.rng.randrange(2, len(content) // 4) * 4
    struct.pack_into("<I", content, at, v.one_of([0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 4, 0, len(content)]))
    return bytes(content)


def contained(v):
    m = Model()
    c, x = m.input("c", [], "bool"), m.input("x", [3])
    number, branch = m.subgraph()
    again = {"then_subgraph_index": number, "else_subgraph_index": number}
    inner, other = branch.input("c", [], "bool"), branch.input("x", [3])
    branch.outputs(branch.op("IF", [inner, inner, other], [branch.tensor("y", [3])], **again))
    m.outputs(m.op("IF", [c, c, x], [m.tensor("y", [3])], **again))
    return run(v, m)


def doubling(v):
    """Subgraphs of which each enters the next one twice."""
    m, depth = Model(), v.size(20, 30)
    c, x = m.input("c", [], "bool"), m.input("x", [3])
    graphs = [m.subgraph() for _ in range(depth)]
    for i, (_, graph) in enumerate(graphs):
        inner, other = graph.input("c", [], "bool"), graph.input("x", [3])
        if i + 1 == depth:
            graph.outputs(graph.op("NEG", [other], [graph.tensor("y", [3])]))
            continue
        after = graphs[i + 1][0]
        both = {"then_subgraph_index": after, "else_subgraph_index": after}
        graph.outputs(graph.op("IF", [inner, inner, other], [graph.tensor("y", [3])], **both))
    first = {"then_subgraph_index": graphs[0][0], "else_subgraph_index": graphs[0][0]}
    m.outputs(m.op("IF", [c, c, x], [m.tensor("y", [3])], **first))
    return run(v, m, "--import-limit", "nodes=20000", verb="run")


kinds("sound", "the model that the kinds change is sound itself", fine(), lambda v: run(v, sample()))
kinds("cut", "cut anywhere", either(CORRUPT), lambda v: run(v, sample()[: v.rng.randrange(8, len(sample()))]))
kinds("flipped", "any bits changed", either("R02 R03 R04 R06"), lambda v: run(v, flipped(v)))
kinds(
    "offsets", "offsets and lengths that lead anywhere", either("R02 R03 R04 R06"), lambda v: run(v, words_replaced(v))
)
kinds(
    "root",
    "a root outside of the file, or in itself",
    refused("R0402"),
    lambda v: run(v, struct.pack("<I", v.one_of([0xFFFFFFF0, 0, 1 << 30])) + sample()[4:]),
)
kinds(
    "huge-shape",
    "a tensor of 2^31 - 1 elements along each axis",
    refused("R0402 R0404 R0601 R0603 R03"),
    lambda v: changed(v, lambda m: m.tensors[1].update({0: ("ints", [2**31 - 1] * 4)})),
)
kinds(
    "stride",
    "windows that step by 0, by a negative number, or over everything",
    either("R0404 R03 R0403"),
    lambda v: changed(v, lambda m: m.nodes[0][4][1].update({1: ("int", v.one_of([0, -1, -(2**31), 2**31 - 1]))})),
)
kinds(
    "window",
    "a pool over 2^31 - 1 elements, or over none",
    either("R0404 R03 R0403 R06 R0405"),
    lambda v: changed(v, lambda m: m.nodes[1][4][1].update({3: ("int", v.one_of([2**31 - 1, 0, -5]))})),
)
kinds(
    "tensor",
    "an operator of a tensor that is not there",
    refused("R0402"),
    lambda v: changed(v, lambda m: m.nodes[0].update({1: ("ints", [0, v.one_of([2**31 - 1, -2, 99]), 2])})),
)
kinds(
    "name",
    "a name that a terminal would obey",
    either("R04"),
    lambda v: changed(v, lambda m: m.tensors[0].update({3: ("string", b"\x1b[2J\xff" * v.size(1, 500))}), verb="check"),
)
kinds("contained", "a subgraph that enters itself", refused("R0404"), contained)
kinds("doubling", "subgraphs that enter the next one twice", refused("R0405"), doubling)


# --- operators whose numbers say how much they compute ---------------------------------------------------------------

NUMBERS = [2**31 - 1, -1, -(2**31), 0, 2**20]


def suppression(v):
    """Results, boxes and thresholds of any number."""
    m = Model()
    boxes, scores = m.input("boxes", [9, v.one_of([4, 3, 0])]), m.input("scores", [v.one_of([9, 8, 1])])
    rest = [m.constant("most", np.int32(v.one_of(NUMBERS))), m.constant("iou", np.float32(v.one_of([0.5, np.nan, -1]))),
            m.constant("least", np.float32(v.one_of([0, np.inf]))), m.constant("sigma", np.float32(0.5))]  # fmt: skip
    outs = [m.tensor("places", [4], "int32"), m.tensor("values", [4]), m.tensor("n", [], "int32")]
    m.outputs(*m.op("NON_MAX_SUPPRESSION_V5", [boxes, scores, *rest], outs))
    return run(v, m)


def recurrent(v):
    """Weights that are absent or of another shape; states that are not variables."""
    m = Model()
    x = m.input("x", [2, 3, 5])
    weights = [m.constant(f"w{i}", np.ones(v.one_of([(4, 5), (4, 4), (4,), (0, 4), (5, 4, 1)]), np.float32))
               for i in range(18)]  # fmt: skip
    weights = [w if v.rng.random() < 0.8 else -1 for w in weights]
    states = [
        m.tensor(f"s{i}", v.one_of([[2, 4], [4], [2, -1], [0, 4]]), variable=v.rng.random() < 0.8) for i in (0, 1)
    ]
    y = m.tensor("y", [2, 3, 4])
    options = {"fused_activation_function": v.one_of([4, 1, 0, 5, 99, -1]), "cell_clip": v.one_of([0.0, np.nan, -1.0])}
    m.outputs(m.op("UNIDIRECTIONAL_SEQUENCE_LSTM", [x, *weights[: v.size(0, 18)], *states], [y], **options))
    return run(v, m)


def filters(v):
    """SVDF of a rank that does not divide its filters, and of another memory than its state."""
    m = Model()
    weights = [
        m.constant("f", np.ones((8, 5), np.float32)),
        m.constant("t", np.ones((8, v.one_of([4, 0])), np.float32)),
    ]
    state = m.tensor("s", [2, v.one_of([32, 31, 0])], variable=True)
    y = m.tensor("y", [2, 4])
    m.outputs(m.op("SVDF", [m.input("x", [2, 5]), *weights, -1, state], [y], rank=v.one_of(NUMBERS)))
    return run(v, m)


def segments(v):
    """Numbers of segments beyond memory, segments beyond their number."""
    m = Model()
    ids = m.constant("ids", np.array([0, v.one_of([5, -7, 2**31 - 1]), 1], np.int32))
    if v.rng.random() < 0.5:
        m.outputs(m.op("SEGMENT_SUM", [m.input("x", [3, 2]), ids], [m.tensor("y", [2, 2])]))
    else:
        count = m.constant("n", np.int32(v.one_of(NUMBERS)))
        m.outputs(m.op("UNSORTED_SEGMENT_MAX", [m.input("x", [3, 2]), ids, count], [m.tensor("y", [2, 2])]))
    return run(v, m)


def windows(v):
    """Windows, strides, dilations and padding of any number."""
    m = Model()
    number, body = m.subgraph()
    inputs = [body.input("a", []), body.input("b", [])]
    body.outputs(body.op(v.one_of(["STABLEHLO_ADD", "NEG"]), inputs, [body.tensor("c", [])]))
    some = lambda n: [v.one_of([1, 2, *NUMBERS]) for _ in range(n)]  # noqa: E731
    options = {"window_dimensions": some(2), "window_strides": some(v.one_of([2, 1])), "base_dilations": some(2),
               "padding": some(4), "body_subgraph_index": v.one_of([number, 7, -1])}  # fmt: skip
    y = m.tensor("y", [3, 4])
    x = m.input("x", [3, 4])
    if v.rng.random() < 0.5:
        m.outputs(m.op("STABLEHLO_REDUCE_WINDOW", [x, m.constant("f", np.float32(0))], [y], **options))
    else:
        options = {"edge_padding_low": some(2), "edge_padding_high": some(2), "interior_padding": some(2)}
        m.outputs(m.op("STABLEHLO_PAD", [x, m.constant("f", np.float32(0))], [y], **options))
    return run(v, m)


def branches(v):
    """Branches that are not there, enter their own operator, or have other inputs."""
    m = Model()
    number, branch = m.subgraph()
    inner = [branch.input("x", [3]) for _ in range(v.one_of([1, 2, 0]))]
    branch.outputs(
        branch.op("NEG", inner[:1], [branch.tensor("y", [3])]) if inner else branch.constant("k", np.ones(3))
    )
    listed = [v.one_of([number, 0, 9, -1]) for _ in range(v.size(0, 4))]
    k, x = m.input("k", [], "int32"), m.input("x", [3])
    m.outputs(m.op("STABLEHLO_CASE", [k, x], [m.tensor("y", [3])], branch_subgraph_indices=listed))
    return run(v, m)


ANY = "R02 R03 R04 R05 R06"
kinds("suppression", "boxes, results and thresholds of any number", either(ANY), suppression)
kinds("recurrent", "weights and states that are absent or do not fit", either(ANY), recurrent)
kinds("filters", "a low rank that does not fit its filters", either(ANY), filters)
kinds("segments", "segments beyond their number, or beyond memory", either(ANY), segments)
kinds("windows", "windows and padding of any number", either(ANY), windows)
kinds("branches", "branches that are not there or do not fit", either(ANY), branches)
kinds("other", "what is no model, under this extension", refused("R04 R05"), lambda v: run(v, v.one_of(OTHER_FILES)))
