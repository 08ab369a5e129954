"""Hostile TFLite models, made with the writer of the TFLite tests and then changed."""

import functools
import pathlib
import struct
import sys

from harness import Kinds, either, fine, refused

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
