"""Hostile TensorFlow models, made with the writer of the TensorFlow tests and then changed."""

import functools
import pathlib
import sys

from harness import OTHER_FILES, Kinds, either, fine, refused

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python" / "tensorflow_import"))
try:
    import numpy as np
    import tensorflow_files as files
except ImportError:  # then their making says so
    pass

kinds = Kinds("tensorflow")


@functools.cache
def sample():
    """A convolution, a loop of TensorFlow 1, a function and a matrix."""
    float_ = files.Type("float32")
    return files.graph(
        [
            files.placeholder("x", 2, 6, 6, 3),
            files.const("k", np.ones((3, 3, 3, 2), np.float32)),
            files.node("c", "Conv2D", "x", "k", T=float_, strides=[1, 1, 1, 1], padding="SAME"),
            files.const("axes", np.array([1, 2], np.int32)),
            files.node("m", "Mean", "c", "axes", T=float_),
            files.const("zero", np.array(0, np.int32)),
            files.const("one", np.array(1, np.int32)),
            files.const("end", np.array(3, np.int32)),
            files.node("ei", "Enter", "zero", T=files.Type("int32"), frame_name="f"),
            files.node("ex", "Enter", "m", T=float_, frame_name="f"),
            files.node("mi", "Merge", "ei", "ni", T=files.Type("int32"), N=2),
            files.node("mx", "Merge", "ex", "nx", T=float_, N=2),
            files.node("less", "Less", "mi", "end", T=files.Type("int32")),
            files.node("cond", "LoopCond", "less"),
            files.node("si", "Switch", "mi", "cond", T=files.Type("int32")),
            files.node("sx", "Switch", "mx", "cond", T=float_),
            files.node("add", "Add", "si:1", "one", T=files.Type("int32")),
            files.node("half", "PartitionedCall", "sx:1", f=files.Func("half")),
            files.node("ni", "NextIteration", "add", T=files.Type("int32")),
            files.node("nx", "NextIteration", "half", T=float_),
            files.node("y", "Exit", "sx", T=float_),
        ],
        [
            files.function(
                "half",
                {"x": "float32"},
                {"made": "float32"},
                [files.node("twice", "Add", "x", "x", T=float_)],
                {"made": "twice:z:0"},
            )
        ],
    )


def run(v, content, *arguments, verb="run"):
    return v.run(verb, v.write("m.pb", content), *arguments)


def flipped(v):
    content = bytearray(sample())
    for _ in range(v.size(1, 40)):
        content[v.rng.randrange(2, len(content))] ^= 1 << v.rng.randrange(8)
    return bytes(content)


def doubling(v, depth):
    """Functions, each of which calls the next one twice."""
    functions = [
        files.function(
            f"f{place}",
            {"x": "float32"},
            {"y": "float32"},
            [
                files.node("a", "PartitionedCall", "x", f=files.Func(f"f{place + 1}")),
                files.node("b", "PartitionedCall", "a:output:0", f=files.Func(f"f{place + 1}")),
            ],
            {"y": "b:output:0"},
        )
        for place in range(depth)
    ]
    last = [files.node("r", "Relu", "x", T=files.Type("float32"))]
    functions.append(files.function(f"f{depth}", {"x": "float32"}, {"y": "float32"}, last, {"y": "r:activations:0"}))
    nodes = [files.placeholder("x", 2), files.node("y", "PartitionedCall", "x", f=files.Func("f0"))]
    return run(v, files.graph(nodes, functions))


def huge_tensor(v):
    value = files.field(8, files.field(1, 1) + files.field(2, files.shape([1 << 40])) + files.field(5, 1.0))
    nodes = [files.placeholder("x", 2), files.node("k", "Const", dtype=files.Type("float32"), value=value)]
    return run(v, files.graph([*nodes, files.node("y", "Add", "x", "k", T=files.Type("float32"))]))


kinds("sound", "the model that the kinds change is sound itself", fine(), lambda v: run(v, sample()))
kinds("cut", "cut anywhere", either("R03 R04 R05"), lambda v: run(v, sample()[: v.rng.randrange(8, len(sample()) - 1)]))
kinds("flipped", "any bits changed", either("R02 R03 R04 R05 R06"), lambda v: run(v, flipped(v)))
kinds("doubling", "functions that call functions, 2^20 calls or more in all", refused("R0405", "nodes are imported"),
      lambda v: doubling(v, v.size(20, 30)))  # fmt: skip
kinds("huge", "a tensor of 2^40 elements in few bytes", refused("R0405", "and few bytes"), huge_tensor)
kinds("other", "what is no model, under this extension", refused("R04 R05"), lambda v: run(v, v.one_of(OTHER_FILES)))
kinds("cycle", "nodes that need their own results, without a loop", refused("R0404", "its own result"),
      lambda v: run(v, files.graph([files.placeholder("x", 2), *(
          files.node(name, "Add", "x", other, T=files.Type("float32")) for name, other in (("a", "b"), ("b", "a"))),
          files.node("y", "Relu", "a", T=files.Type("float32"))])))  # fmt: skip
