"""Hostile operators in ONNX models: sizes that would fill memory, attributes that mean nothing, control flow that is
none.
"""

from harness import Kinds, either, refused
from onnx_models import BIG, MODEL, floats, info, ints, node, proto, run, single

try:
    import numpy as np
    from onnx import AttributeProto, helper, numpy_helper
except ImportError:
    pass

kinds = Kinds("model")

kinds(
    "pad",
    "Pad by huge or negative amounts",
    refused(MODEL),
    lambda v: single(
        v, "Pad", [ints("p", v.one_of([[BIG, BIG], [2**40, 0], [-5, 0], [2**63 - 1, 1], [1], [1] * 100]))]
    ),
)
kinds(
    "tile",
    "Tile by huge or negative amounts",
    refused(MODEL),
    lambda v: single(v, "Tile", [ints("r", v.one_of([[BIG], [2**45], [-1], [1, 1], []]))]),
)
kinds(
    "expand",
    "Expand to a huge or negative shape",
    refused(MODEL),
    lambda v: single(v, "Expand", [ints("s", v.one_of([[BIG, 4], [2**40, 4], [-1, -4], [3]]))]),
)
kinds(
    "constant-of-shape",
    "ConstantOfShape of a huge or negative shape",
    refused(MODEL),
    lambda v: run(
        v,
        proto(
            [node("ConstantOfShape", "s", "y")],
            [],
            None,
            [ints("s", v.one_of([[BIG, 4], [2**44], [-1], [2**32, 2**32]]))],
        ),
    ),
)
kinds(
    "constant-of-shape-rank",
    "ConstantOfShape of 10^5 dimensions",
    refused("R04"),
    lambda v: run(v, proto([node("ConstantOfShape", "s", "y")], [], None, [ints("s", [1] * v.size(33, 10**5))])),
)
kinds(
    "range",
    "Range of huge or no steps",
    refused(MODEL),
    lambda v: run(
        v,
        proto([node("Range", "a b c", "y")], [], None, [ints("a", 0), ints("b", BIG), ints("c", v.one_of([1, 0, 3]))]),
    ),
)
kinds(
    "range-floats",
    "Range of NaN",
    refused(MODEL),
    lambda v: run(
        v,
        proto(
            [node("Range", "a b c", "y")],
            [],
            None,
            [floats("a", 0), floats("b", v.one_of([np.inf, np.nan, 1e30])), floats("c", v.one_of([1, np.nan, 1e-30]))],
        ),
    ),
)
kinds(
    "resize-scales",
    "Resize by scales that are NaN",
    refused(MODEL),
    lambda v: (
        run(
            v,
            proto(
                [node("Resize", "x  s".replace("  ", " none "), "y", mode="nearest")],
                [info("x", (1, 1, 4, 4))],
                None,
                [floats("none", []), floats("s", [1, 1, f, f])],
            ),
        )
        if (f := v.one_of([float("nan"), float("inf"), -1.0, 1e30, 0.0])) is not None
        else None
    ),
)
kinds(
    "resize-sizes",
    "Resize to huge or negative sizes",
    refused(MODEL),
    lambda v: run(
        v,
        proto(
            [helper.make_node("Resize", ["x", "", "", "s"], ["y"], mode="nearest")],
            [info("x", (1, 1, 4, 4))],
            None,
            [ints("s", [1, 1, *v.one_of([(BIG, BIG), (-1, 4), (2**31, 2**31), (0, 4)])])],
        ),
    ),
)
kinds(
    "reshape",
    "Reshape to what has another number of elements",
    refused(MODEL),
    lambda v: single(v, "Reshape", [ints("s", v.one_of([[3], [-1, -1], [BIG, 4], [-2], [2**32, 2**32], [0, 0]]))]),
)
kinds(
    "reshape-rank",
    "Reshape to 10^5 dimensions",
    refused("R0405"),
    lambda v: single(v, "Reshape", [ints("s", [1] * v.size(33, 10**5) + [4])]),
)
kinds(
    "axis",
    "axes that do not exist",
    refused(MODEL),
    lambda v: single(v, v.one_of(["Softmax", "Flatten", "Concat"]), axis=v.one_of([5, -6, BIG, -(2**63)])),
)
kinds(
    "transpose",
    "a permutation that is none",
    refused(MODEL),
    lambda v: single(v, "Transpose", shape=(2, 2), perm=v.one_of([[0, 0], [0], [0, 5], [-1, 0], [0, 1, 2], [BIG, 0]])),
)
kinds(
    "squeeze",
    "Squeeze and Unsqueeze at axes that do not fit",
    refused(MODEL),
    lambda v: single(v, v.one_of(["Squeeze", "Unsqueeze"]), [ints("a", v.one_of([[7], [BIG], [-9], [0, 0]]))]),
)
kinds(
    "unsqueeze-rank",
    "Unsqueeze by 10^4 dimensions",
    refused("R04"),
    lambda v: single(v, "Unsqueeze", [ints("a", list(range(v.size(33, 10_000))))]),
)
kinds(
    "gather",
    "Gather at an axis that does not exist",
    refused(MODEL),
    lambda v: single(v, "Gather", [ints("i", [0])], axis=v.one_of([3, -4, BIG])),
)
kinds(
    "slice",
    "Slice with steps and bounds at the ends of 64 bits",
    either(MODEL),
    lambda v: single(
        v,
        "Slice",
        [
            ints("b", [v.one_of([-(2**63), 2**63 - 1])]),
            ints("e", [v.one_of([2**63 - 1, -(2**63)])]),
            ints("a", [0]),
            ints("t", [v.one_of([-(2**63), 2**63 - 1, 1, -1])]),
        ],
    ),
)
kinds(
    "slice-zero",
    "Slice with a step of zero",
    refused(MODEL),
    lambda v: single(v, "Slice", [ints("b", [0]), ints("e", [4]), ints("a", [0]), ints("t", [0])]),
)
kinds(
    "split",
    "Split into parts that do not add up",
    refused(MODEL),
    lambda v: run(
        v,
        proto(
            [node("Split", "x s", "y z")],
            None,
            None,
            [ints("s", v.one_of([[3, 3], [-1, 5], [BIG, BIG], [4], [1, 1, 2]]))],
        ),
    ),
)
kinds(
    "one-hot",
    "OneHot of a huge or negative depth",
    refused(MODEL),
    lambda v: run(
        v,
        proto(
            [node("OneHot", "x d w", "y")],
            [info("x", (4,), 7)],
            None,
            [ints("d", v.one_of([BIG, -1, 2**45])), floats("w", [0, 1])],
        ),
    ),
)
kinds(
    "conv",
    "Conv whose attributes are huge, negative or of the wrong length",
    refused(MODEL),
    lambda v: run(
        v,
        proto(
            [node("Conv", "x w", "y", **v.one_of(CONV))],
            [info("x", (1, 1, 8, 8))],
            None,
            [floats("w", np.ones((1, 1, 3, 3)))],
        ),
    ),
)
kinds(
    "pool",
    "a pool whose attributes are huge, negative or of the wrong length",
    refused(MODEL),
    lambda v: single(
        v,
        v.one_of(["MaxPool", "AveragePool"]),
        shape=(1, 1, 8, 8),
        **v.one_of(
            [
                {"kernel_shape": [BIG, BIG]},
                {"kernel_shape": [0, 0]},
                {"kernel_shape": [-1, 2]},
                {"kernel_shape": [2]},
                {"kernel_shape": [2, 2], "pads": [BIG] * 4},
                {"kernel_shape": [2, 2], "strides": [0, 0]},
            ]
        ),
    ),
)
kinds(
    "attribute-type",
    "attributes of the wrong type",
    refused("R0404"),
    lambda v: single(v, "Softmax", axis=v.one_of([1.5, "x", [1], [1.5], b"\xff"])),
)
kinds(
    "attribute-empty",
    "an attribute that says of itself a type it does not have: its value counts",
    either("R0404 R0402"),
    lambda v: lying_attribute(v),
)
kinds(
    "cast",
    "Cast to a type that does not exist",
    refused("R0404 R0403"),
    lambda v: single(v, "Cast", to=v.one_of([0, 99, -1, BIG, 8])),
)
kinds(
    "topk",
    "TopK of more than there are",
    refused(MODEL),
    lambda v: run(v, proto([node("TopK", "x k", "y i")], None, None, [ints("k", [v.one_of([5, -1, BIG])])])),
)
kinds(
    "trip-count",
    "a Loop with an endless count",
    either(MODEL),
    lambda v: run(v, loop(v.one_of([3, 0, -1])), verb="run"),
)
kinds(
    "loop-malformed",
    "a Loop whose body has the wrong inputs or outputs",
    refused("R04"),
    lambda v: run(v, loop(3, v.one_of(["inputs", "outputs", "none"]))),
)
kinds(
    "if-malformed",
    "an If without a branch, or with branches that do not agree",
    refused("R04 R03"),
    lambda v: run(v, branches(v)),
)
kinds(
    "einsum",
    "equations that are none",
    refused("R04"),
    lambda v: single(
        v, "Einsum", equation=v.one_of(["", "->", "ii,jj", "a->b", "a->aa", "..." * 100, "a" * 100_000, "\x1b[2J"])
    ),
)

CONV = [{"pads": [BIG] * 4}, {"pads": [-1] * 4}, {"strides": [0, 0]}, {"strides": [-1, 1]}, {"dilations": [BIG, BIG]},
        {"group": 0}, {"group": -1}, {"group": 7}, {"kernel_shape": [5, 5]}, {"pads": [1]},
        {"auto_pad": "SOME"}]  # fmt: skip


def lying_attribute(v):
    model = proto([node("Softmax", "x", "y", axis=0)])
    model.graph.node[0].attribute[0].type = v.one_of(
        [AttributeProto.TENSOR, AttributeProto.GRAPH, AttributeProto.FLOATS, AttributeProto.STRING]
    )
    return run(v, model)


def loop(count, damage=""):
    body = helper.make_graph(
        [node("Identity", "c", "c2"), node("Add", "s x", "s2")], "body",
        [] if damage == "inputs" else [info("i", (), 7), info("c", (), 9), info("s")],
        [info("s2")] if damage == "outputs" else [info("c2", (), 9), info("s2")],
    )  # fmt: skip
    attributes = {} if damage == "none" else {"body": body}
    yes = numpy_helper.from_array(np.array(True), "t")
    return proto([node("Loop", "n t x", "y", **attributes)], None, None, [ints("n", count), yes])


def branches(v):
    def branch(size):
        return helper.make_graph(
            [node("Constant", "", "o", value=floats("k", np.ones(size)))], "b", [], [info("o", None)]
        )

    given = v.one_of(
        [{}, {"then_branch": branch(2)}, {"then_branch": branch(2), "else_branch": helper.make_graph([], "e", [], [])}]
    )
    return proto([node("If", "c", "y", **given)], [info("c", (), 9)])
