"""Hostile ONNX models, most of them made with onnx's own helpers and then changed."""

import functools
import os

from harness import Kinds, either, fine, refused

try:
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper
except ImportError:  # then their making says so
    pass

kinds = Kinds("model")

BIG = 2**62
MODEL = "R04 R0601 R0603 R03"  # what refuses a model: its file, a shape, memory, a type


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), name="n_" + op, **attributes)


def info(name, shape=(4,), dtype=1):
    return helper.make_tensor_value_info(name, dtype, shape)


def proto(nodes, inputs=None, outputs=None, constants=(), opset=17):
    inputs = [info("x")] if inputs is None else inputs
    graph = helper.make_graph(
        list(nodes), "g", inputs, [info("y", None)] if outputs is None else outputs, list(constants)
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def run(v, model, *arguments, verb="run"):
    return v.run(verb, v.write("m.onnx", model if isinstance(model, bytes) else model.SerializeToString()), *arguments)


def ints(name, values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def floats(name, values):
    return numpy_helper.from_array(np.array(values, np.float32), name)


def single(v, op, constants=(), shape=(4,), opset=17, dtype=1, **attributes):
    """y = op(x, constants...)."""
    names = " ".join(["x", *(c.name for c in constants)])
    return run(v, proto([node(op, names, "y", **attributes)], [info("x", shape, dtype)], None, constants, opset))


@functools.cache
def sample():
    return proto(
        [node("MatMul", "x w", "a"), node("Add", "a b", "c"), node("Reshape", "c s", "d"),
         node("Softmax", "d", "y", axis=-1)],
        [info("x", ["batch", 4])], [info("y", None)],
        [floats("w", np.ones((4, 8))), floats("b", np.ones(8)), ints("s", [-1, 4])],
    ).SerializeToString()  # fmt: skip


def field(number, content):
    """A field of protobuf's wire format that has a length."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def nested(depth):
    """A graph in an attribute of a node of a graph ..."""
    graph = b""
    for _ in range(depth):
        graph = field(1, field(5, field(6, graph)))
    return b"\x08\x09" + field(7, graph)


# --- the file -------------------------------------------------------------------------------------------

kinds("sound", "the model that the kinds change is sound itself", fine(), lambda v: run(v, sample()))
kinds("cut", "cut anywhere", either("R04 R03"), lambda v: run(v, sample()[: v.rng.randrange(len(sample()))]))
kinds("flipped", "any bits changed", either("R02 R03 R04 R06"), lambda v: run(v, flip(v)))
kinds(
    "nested-graphs",
    "graphs in attributes of nodes of graphs",
    refused("R0405 R0402 R0404"),
    lambda v: run(v, nested(v.size(200, 3_000))),
)
kinds(
    "nested-types",
    "sequence types in sequence types",
    refused("R0405 R0402 R0404 R0403"),
    lambda v: run(v, nested_types(v.size(200, 3_000))),
)
kinds(
    "huge-length",
    "a field that is said to have 2^63 bytes",
    refused("R0402"),
    lambda v: run(
        v, b"\x08\x09\x3a" + v.one_of([b"\xff" * 9 + b"\x01", b"\xff" * 20, b"\xff\xff\xff\xff\x07", b"\x80"])
    ),
)
kinds(
    "groups",
    "groups of old protobuf, opened without end",
    refused("R0402"),
    lambda v: run(v, b"\x3b" * v.size(100, 10**6)),
)
kinds(
    "no-graph",
    "a model without a graph, or an empty one",
    refused("R0402 R0404"),
    lambda v: run(v, v.one_of([b"\x08\x09", b"\x08\x09\x3a\x00", b""])),
)
kinds("graph-twice", "two graphs: which counts?", either("R04"), lambda v: run(v, sample() + sample()))
kinds(
    "opset",
    "opsets that do not exist",
    refused("R0404 R0403", "opset"),
    lambda v: run(v, proto([node("Relu", "x", "y")], opset=v.one_of([0, -1, 9999, 2**62]))),
)
kinds("no-opset", "a model that imports no operators", refused("R0404", "opset"), lambda v: run(v, without_opset()))
kinds(
    "ir-version",
    "versions of the format that do not exist",
    either("R0404 R0402"),
    lambda v: run(v, with_ir_version(v.one_of([0, -1, 9999, 2**62]))),
)
kinds(
    "unknown-domain",
    "an operator of a domain that nobody knows, named with escapes",
    refused("R0403"),
    lambda v: run(v, proto([helper.make_node("Relu\x1b[2J", ["x"], ["y"], domain="com.\x1b[31macme")])),
)

# --- names and order ------------------------------------------------------------------------------------

kinds(
    "escapes",
    "escapes and the turn of writing in names that a message shows",
    refused("R0404"),
    lambda v: run(
        v,
        proto(
            [helper.make_node("Relu", [v.one_of(["a\x1b[2J", "a\rb", "\u202eabc", "\x9b1m"])], ["y"], name="n\x1b[2J")]
        ),
    ),
)
kinds(
    "escapes-output",
    "escapes in the names of an output, which results show",
    fine(),
    lambda v: (
        run(v, proto([helper.make_node("Relu", ["x"], [n])], None, [info(n, None)]))
        if (n := v.one_of(["a\x1b[2J", "a\rb", "\u202eabc"]))
        else None
    ),
)
kinds(
    "invalid-utf8",
    "names that are no UTF-8",
    either("R04"),
    lambda v: run(v, sample().replace(b"batch", b"b\xff\xc3\x28h")),
)
kinds(
    "long-names",
    "names of a million letters",
    either("R04"),
    lambda v: (
        run(v, proto([helper.make_node("Relu", ["x" * n], ["y"], name="z" * n)]))
        if (n := v.size(10**3, 10**6))
        else None
    ),
)
kinds(
    "cycle",
    "a graph that goes round",
    refused("R0404"),
    lambda v: run(v, proto([node("Add", "x b", "a"), node("Relu", "a", "b"), node("Relu", "b", "y")])),
)
kinds("self-cycle", "a node that reads itself", refused("R0404"), lambda v: run(v, proto([node("Add", "x y", "y")])))
kinds(
    "order",
    "nodes that stand before what they read",
    either("R0404"),
    lambda v: run(v, proto([node("Relu", "a", "y"), node("Relu", "x", "a")])),
)
kinds(
    "missing-input",
    "an input of a node that nobody makes",
    refused("R0404", "nowhere"),
    lambda v: run(v, proto([node("Relu", "nowhere", "y")])),
)
kinds(
    "inputs-many",
    "more inputs than the operator has",
    refused("R0404", "at most 1"),
    lambda v: run(v, proto([node("Relu", " ".join(["x"] * v.one_of([5, 2, 5_000])), "y")])),
)
kinds(
    "outputs-many",
    "more outputs than the operator has",
    refused("R0404", "at most 1"),
    lambda v: run(v, proto([node("Relu", "x", "y " + " ".join(f"z{i}" for i in range(v.one_of([1, 5, 5_000]))))])),
)
kinds(
    "missing-output",
    "an output of the graph that nobody makes",
    refused("R0404", "y"),
    lambda v: run(v, proto([node("Relu", "x", "z")])),
)
kinds(
    "output-twice",
    "two nodes that make one value",
    refused("R0404"),
    lambda v: run(v, proto([node("Relu", "x", "y"), node("Abs", "x", "y")])),
)
kinds(
    "input-twice",
    "two inputs of one name",
    refused("R0404"),
    lambda v: run(v, proto([node("Relu", "x", "y")], [info("x"), info("x")])),
)
kinds(
    "constant-twice",
    "two initialisers of one name",
    refused("R0404"),
    lambda v: run(v, proto([node("Add", "x w", "y")], None, None, [floats("w", [1]), floats("w", [2])])),
)
kinds(
    "node-name-twice",
    "two nodes of one name",
    fine(),
    lambda v: run(v, proto([node("Relu", "x", "a"), node("Relu", "a", "y")])),
)
kinds(
    "no-inputs",
    "operators without the inputs they need",
    refused("R0404 R0403"),
    lambda v: run(
        v,
        proto(
            [
                node(
                    v.one_of(["Add", "Relu", "Conv", "MatMul", "Concat", "Reshape", "Where"]),
                    v.one_of(["", "x"]) if v.index % 7 != 1 else "",
                    "y",
                )
            ]
        ),
    ),
)
kinds(
    "deep-chain",
    "a chain of 10^5 nodes",
    either("R0405"),
    lambda v: run(v, chain(v.size(100, 10**5)), verb="check"),
    long=True,
)
kinds(
    "wide-concat",
    "a concatenation of 5,000 inputs",
    fine(),
    lambda v: run(v, proto([node("Concat", " ".join(["x"] * v.size(100, 5_000)), "y", axis=0)])),
    long=True,
)
kinds(
    "wide-split",
    "a split into very many outputs",
    fine(),
    lambda v: (
        run(
            v,
            proto(
                [helper.make_node("Split", ["x"], [f"y{i}" for i in range(n)], axis=0)],
                [info("x", (n,))],
                [info("y0", None)],
            ),
        )
        if (n := v.size(100, 20_000))
        else None
    ),
)

# --- tensors --------------------------------------------------------------------------------------------


def tensor(v, **fields):
    """y = x + w, where w is an initialiser put together by hand."""
    t = TensorProto(name="w", data_type=1)
    for name, value in fields.items():
        if isinstance(value, list):
            getattr(t, name).extend(value)
        else:
            setattr(t, name, value)
    return run(v, proto([node("Add", "x w", "y")], None, None, [t]))


def external(v, **entries):
    t = TensorProto(name="w", data_type=1, dims=[4], data_location=TensorProto.EXTERNAL)
    for key, value in entries.items():
        t.external_data.add(key=key, value=str(value))
    v.write("w.bin", b"\0" * 64)
    return run(v, proto([node("Add", "x w", "y")], None, None, [t]))


TENSOR = "R0402 R0404 R0405 R0403"
kinds(
    "raw-length",
    "raw data that is shorter or longer than the shape says",
    refused(TENSOR),
    lambda v: tensor(v, dims=[4], raw_data=b"\0" * v.one_of([0, 3, 15, 17, 10**6])),
)
kinds(
    "float-length",
    "fewer or more floats than the shape says",
    refused(TENSOR),
    lambda v: tensor(v, dims=[4], float_data=[1.0] * v.one_of([3, 5, 10_000])),
)
kinds(
    "both-data",
    "raw data and floats at once",
    either(TENSOR),
    lambda v: tensor(v, dims=[4], float_data=[1.0] * 4, raw_data=b"\0" * 16),
)
kinds(
    "wrong-data",
    "data in the field of another type",
    refused(TENSOR),
    lambda v: tensor(v, dims=[4], int64_data=[1] * 4),
)
kinds(
    "huge-dims",
    "a shape whose product overflows",
    refused(TENSOR),
    lambda v: tensor(v, dims=v.one_of([[BIG, BIG], [2**63 - 1], [2**32, 2**32], [2**40]]), raw_data=b"\0" * 16),
)
kinds(
    "negative-dims",
    "a shape below zero",
    refused(TENSOR),
    lambda v: tensor(v, dims=v.one_of([[-1], [-4], [2, -2], [-(2**63)], [-2, -2]]), raw_data=b"\0" * 16),
)
kinds(
    "many-dims",
    "a tensor of 10^5 dimensions",
    refused("R0405"),
    lambda v: tensor(v, dims=[1] * v.size(65, 10**5), raw_data=b"\0" * 4),
)
kinds(
    "element-type",
    "element types that do not exist",
    refused(TENSOR),
    lambda v: tensor(v, data_type=v.one_of([0, 99, -1, 2**31 - 1]), dims=[4], raw_data=b"\0" * 16),
)
kinds(
    "strings",
    "a tensor of strings",
    refused(TENSOR),
    lambda v: tensor(v, data_type=8, dims=[2], string_data=[b"a\x1b[2J", b"\xff"]),
)
kinds(
    "complex",
    "a tensor of complex numbers",
    refused(TENSOR),
    lambda v: tensor(v, data_type=v.one_of([14, 15]), dims=[2], raw_data=b"\0" * 16),
)
kinds("segment", "a tensor in segments", either(TENSOR), lambda v: with_segment(v))
kinds(
    "external-escape",
    "external data outside of the model's folder",
    refused("R04"),
    lambda v: external(
        v, location=v.one_of(["../../../etc/passwd", "/etc/passwd", "/dev/zero", "a/../../w.bin", "./../x"])
    ),
)
kinds(
    "external-missing",
    "external data that is not there",
    refused("R0401 R0404 R0402"),
    lambda v: external(v, location=v.one_of(["none.bin", "", ".", "w.bin/", "x" * 5000, "\x1b[2J", "a\0b"])),
)
kinds(
    "external-range",
    "external data beyond the end of its file, or before its begin",
    refused("R04"),
    lambda v: external(
        v,
        location="w.bin",
        **v.one_of(
            [
                {"offset": 60},
                {"offset": 2**63 - 1},
                {"offset": -16},
                {"offset": 2**64 - 8, "length": 16},
                {"length": 2**62},
                {"length": -1},
                {"length": 5},
                {"offset": "x"},
                {"offset": "1e3"},
            ]
        ),
    ),
)
kinds(
    "external-link",
    "external data behind a link out of the folder",
    refused("R04"),
    lambda v: linked(v, v.one_of(["/etc/passwd", "/dev/zero", "w.bin", "."])),
)
kinds("external-none", "external data that names no file", refused("R04"), lambda v: external(v))
kinds(
    "external-many",
    "10^5 entries of external data",
    refused("R0405 R0404"),
    lambda v: external(v, location="w.bin", **{f"k{i}": i for i in range(v.size(20, 10**5))}),
)
kinds(
    "input-dims",
    "an input of a huge size",
    refused(MODEL),
    lambda v: run(
        v, proto([node("Relu", "x", "y")], [info("x", v.one_of([(BIG, BIG), (2**40, 2**40), (2**63 - 1,)]))])
    ),
)
kinds(
    "input-unknown",
    "an input of a size below zero, as exporters write one that is not known",
    fine(),
    lambda v: run(v, proto([node("Relu", "x", "y")], [info("x", v.one_of([(-1,), (-5,), (-(2**63),)]))])),
)
kinds(
    "input-rank",
    "an input of 10^4 dimensions",
    refused("R0405"),
    lambda v: run(v, proto([node("Relu", "x", "y")], [info("x", (1,) * v.size(33, 10_000))])),
)
kinds(
    "input-type",
    "an input of no type, or of one that is unknown",
    refused("R0404 R0403"),
    lambda v: run(v, proto([node("Relu", "x", "y")], [info("x", (4,), v.one_of([0, 99, 8, 14]))])),
)
kinds(
    "sequence-input",
    "an input that is a sequence",
    either(),  # the list that stands in for it may be too short
    lambda v: run(
        v,
        proto(
            [node("SequenceAt", "x i", "y")],
            [helper.make_tensor_sequence_value_info("x", 1, [4])],
            None,
            [ints("i", 0)],
        ),
    ),
)


def flip(v):
    data = bytearray(sample())
    for _ in range(1 + v.index % 5):
        data[v.rng.randrange(len(data))] = v.rng.randrange(256)
    return bytes(data)


def nested_types(depth):
    kind = b""
    for _ in range(depth):
        kind = field(4, field(1, kind))
    return b"\x08\x09" + field(7, field(11, field(1, b"x") + field(2, kind)))


def without_opset():
    model = proto([node("Relu", "x", "y")])
    del model.opset_import[:]
    return model


def with_ir_version(version):
    model = proto([node("Relu", "x", "y")])
    model.ir_version = version
    return model


def chain(n):
    nodes = [helper.make_node("Relu", [f"v{i}" if i else "x"], ["y" if i == n - 1 else f"v{i + 1}"]) for i in range(n)]
    return proto(nodes)


def with_segment(v):
    t = TensorProto(name="w", data_type=1, dims=[4], raw_data=b"\0" * 16)
    t.segment.begin, t.segment.end = v.one_of([(0, 2), (BIG, -1)])
    return run(v, proto([node("Add", "x w", "y")], None, None, [t]))


def linked(v, target):
    made = external(v, location="link.bin")
    os.symlink("link.bin" if target == "." else target, v.folder / "link.bin")
    if target == "w.bin":  # inside: what it is refused for is a chain of links without end
        os.remove(v.folder / "w.bin")
        os.symlink("link.bin", v.folder / "w.bin")
    return made
