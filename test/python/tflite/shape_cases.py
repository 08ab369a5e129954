"""Shapes, indices, reductions, control flow."""

import numpy as np
from lite_cases import CASES, case, floats, i32, one, with_constants

# --- shapes -----------------------------------------------------------------------------------------------------------

with_constants("RESHAPE", [2, 3, 4], [i32(4, -1)], [[4, 6]], lambda x: x.reshape(4, 6))
one("RESHAPE", [[2, 3, 4]], [6, 4], lambda x: x.reshape(6, 4), exact=True, new_shape=[6, 4], name="RESHAPE option")
one("SQUEEZE", [[1, 3, 1, 4]], [3, 1, 4], lambda x: x[0], exact=True, squeeze_dims=[0])
one("SQUEEZE", [[1, 3, 1, 4]], [3, 4], lambda x: x[0, :, 0], exact=True, name="SQUEEZE all")
with_constants("EXPAND_DIMS", [3, 4], [i32(-1)], [[3, 4, 1]], lambda x: x[..., None])
with_constants("TRANSPOSE", [2, 3, 4, 5], [i32(0, 3, 1, 2)], [[2, 5, 3, 4]], lambda x: x.transpose(0, 3, 1, 2))
with_constants("TILE", [2, 3], [i32(2, 3)], [[4, 9]], lambda x: np.tile(x, (2, 3)))
with_constants("BROADCAST_TO", [3, 1], [i32(2, 3, 4)], [[2, 3, 4]], lambda x: np.broadcast_to(x, (2, 3, 4)), version=2)
with_constants("PAD", [2, 3], [i32([1, 2], [0, 3])], [[5, 6]], lambda x: np.pad(x, ((1, 2), (0, 3))))
with_constants(
    "PADV2",
    [2, 3],
    [i32([1, 0], [2, 0]), np.float32(7)],
    [[3, 5]],
    lambda x: np.pad(x, ((1, 0), (2, 0)), constant_values=7),
)
for mode, name in ((0, "reflect"), (1, "symmetric")):
    with_constants(
        "MIRROR_PAD",
        [3, 4],
        [i32([1, 2], [2, 1])],
        [[6, 7]],
        lambda x, m=name: np.pad(x, ((1, 2), (2, 1)), mode=m),
        mode=mode,
        name=f"MIRROR_PAD {name}",
    )
with_constants("SPLIT", [4, 6], [i32(1)], [[4, 2]] * 3, lambda x: tuple(np.split(x, 3, 1)), first=False, num_splits=3)
with_constants(
    "SPLIT_V",
    [4, 6],
    [i32(1, -1, 2), i32(1)],
    [[4, 1], [4, 3], [4, 2]],
    lambda x: tuple(np.split(x, [1, 4], 1)),
    num_splits=3,
)
one("PACK", [[3, 4]] * 2, [3, 2, 4], lambda a, b: np.stack([a, b], 1), exact=True, values_count=2, axis=1)
one("CONCATENATION", [[3, 4], [3, 2]], [3, 6], lambda a, b: np.concatenate([a, b], 1), exact=True, axis=-1)
with_constants("UNPACK", [3, 2], [], [[3], [3]], lambda x: (x[:, 0], x[:, 1]), num=2, axis=1)


def depth_to_space(x, b):
    n, h, w, c = x.shape
    return x.reshape(n, h, w, b, b, c // b // b).transpose(0, 1, 3, 2, 4, 5).reshape(n, h * b, w * b, -1)


def space_to_depth(x, b):
    n, h, w, c = x.shape
    return x.reshape(n, h // b, b, w // b, b, c).transpose(0, 1, 3, 2, 4, 5).reshape(n, h // b, w // b, -1)


one("DEPTH_TO_SPACE", [[1, 2, 3, 8]], [1, 4, 6, 2], lambda x: depth_to_space(x, 2), exact=True, block_size=2)
one("SPACE_TO_DEPTH", [[1, 4, 6, 2]], [1, 2, 3, 8], lambda x: space_to_depth(x, 2), exact=True, block_size=2)
with_constants(
    "SPACE_TO_BATCH_ND",
    [1, 4, 6, 2],
    [i32(2, 2), i32([0, 0], [0, 0])],
    [[4, 2, 3, 2]],
    lambda x: np.stack([x[0, i::2, j::2] for i in (0, 1) for j in (0, 1)]),
)
with_constants("BATCH_TO_SPACE_ND", [4, 2, 3, 2], [i32(2, 2), i32([0, 0], [0, 1])], [[1, 4, 5, 2]], None)


def _shape_chain(model, rng):
    """The shape arithmetic of exporters: a reshape to (batch, all the rest), computed from SHAPE."""
    x = model.input("x", [2, 3, 4])
    shape = model.op("SHAPE", [x], [model.tensor("shape", [3], "int32")], out_type=2)
    first = model.op(
        "STRIDED_SLICE",
        [shape, *(model.constant(n, i32(v)) for n, v in (("b", 0), ("e", 1), ("s", 1)))],
        [model.tensor("first", [], "int32")],
        shrink_axis_mask=1,
    )
    whole = model.op(
        "PACK",
        [first, model.constant("rest", np.int32(12))],
        [model.tensor("to", [2], "int32")],
        values_count=2,
        axis=0,
    )
    model.outputs(model.op("RESHAPE", [x, whole], [model.tensor("y", [2, 12])]))
    return [floats(rng, [2, 3, 4])]


case("SHAPE chain", _shape_chain, lambda x: x.reshape(2, 12), True)
with_constants("FILL", [], [i32(2, 3)], [[2, 3]], lambda x: np.full((2, 3), x, np.float32), first=False)
with_constants("RANK", [2, 3], [], [[]], lambda x: np.int32(2), result_type="int32")

# --- indices ----------------------------------------------------------------------------------------------------------


def strided(name, shape, begin, end, steps, result, f, **masks):
    with_constants(
        "STRIDED_SLICE",
        shape,
        [i32(*begin), i32(*end), i32(*steps)],
        [result],
        f,
        name=f"STRIDED_SLICE {name}",
        **masks,
    )


strided("plain", [6, 5], [1, 0], [5, 4], [2, 1], [2, 4], lambda x: x[1:5:2, 0:4])
strided("backwards", [6, 5], [4, 4], [0, -6], [-2, -1], [2, 5], lambda x: x[4:0:-2, ::-1])
strided("masks", [6, 5], [2, 2], [3, 3], [1, 1], [3, 5], lambda x: x[:3, :], begin_mask=3, end_mask=2)
strided("shrink", [6, 5], [-1, 1], [0, 3], [1, 1], [2], lambda x: x[-1, 1:3], shrink_axis_mask=1)
strided("new axis", [6, 5], [0, 1], [0, 3], [1, 1], [1, 2, 5], lambda x: x[None, 1:3], new_axis_mask=1)
strided("ellipsis", [2, 3, 4, 5], [0, 1], [0, 3], [1, 1], [2, 3, 4, 2], lambda x: x[..., 1:3], ellipsis_mask=1)
with_constants("SLICE", [4, 6], [i32(1, 2), i32(-1, 3)], [[3, 3]], lambda x: x[1:, 2:5])
with_constants("REVERSE_V2", [4, 6], [i32(1)], [[4, 6]], lambda x: x[:, ::-1])
with_constants(
    "REVERSE_SEQUENCE",
    [2, 5],
    [i32(3, 5)],
    [[2, 5]],
    lambda x: np.stack([np.concatenate([x[0, 2::-1], x[0, 3:]]), x[1, ::-1]]),
    seq_dim=1,
    batch_dim=0,
)
with_constants("GATHER", [4, 6, 2], [i32([5, 0], [2, 2])], [[4, 2, 2, 2]], lambda x: x[:, [[5, 0], [2, 2]]], axis=1)
with_constants(
    "GATHER",
    [2, 6],
    [i32([5, 0], [2, 1])],
    [[2, 2]],
    lambda x: np.take_along_axis(x, np.array([[5, 0], [2, 1]]), 1),
    axis=1,
    batch_dims=1,
    name="GATHER batch",
)
with_constants("GATHER_ND", [4, 6], [i32([3, 5], [0, 1])], [[2]], lambda x: x[[3, 0], [5, 1]])
with_constants("EMBEDDING_LOOKUP", [5, 3], [i32(4, 0, 4)], [[3, 3]], lambda x: x[[4, 0, 4]], first=False)
with_constants(
    "DYNAMIC_UPDATE_SLICE",
    [4, 5],
    [np.full((2, 3), 7, np.float32), i32(3, 1)],
    [[4, 5]],
    lambda x: np.vstack([x[:2], np.hstack([x[2:, :1], np.full((2, 3), 7, np.float32), x[2:, 4:]])]),
)
with_constants(
    "ARG_MAX", [4, 6], [i32(1)], [[4]], lambda x: x.argmax(1).astype(np.int32), result_type="int32", output_type=2
)
with_constants(
    "ARG_MIN", [4, 6], [i32(0)], [[6]], lambda x: x.argmin(0).astype(np.int32), result_type="int32", output_type=2
)


def _one_hot(model, rng):
    x = model.input("x", [4], "int32")
    rest = [
        model.constant("d", np.int32(5)),
        model.constant("on", np.float32(2)),
        model.constant("off", np.float32(-1)),
    ]
    model.outputs(model.op("ONE_HOT", [x, *rest], [model.tensor("y", [4, 5])], axis=-1))
    return [i32(0, 3, 4, 1)]


case("ONE_HOT", _one_hot, lambda x: np.where(x[:, None] == np.arange(5), np.float32(2), np.float32(-1)), True)


def _scatter(model, rng):
    x = model.input("x", [3, 2])
    indices, shape = model.constant("i", i32([4], [1], [4])), model.constant("s", i32(5, 2))
    model.outputs(model.op("SCATTER_ND", [indices, x, shape], [model.tensor("y", [5, 2])]))
    return [floats(rng, [3, 2])]


case("SCATTER_ND", _scatter, lambda x: np.stack([x[0] * 0, x[1], x[0] * 0, x[0] * 0, x[0] + x[2]]))


def _topk(model, rng):
    x = model.input("x", [3, 8])
    outs = [model.tensor("v", [3, 3]), model.tensor("i", [3, 3], "int32")]
    model.op("TOPK_V2", [x, model.constant("k", np.int32(3))], outs)
    model.outputs(*outs)
    return [floats(rng, [3, 8])]


case("TOPK_V2", _topk, lambda x: (-np.sort(-x)[:, :3], np.argsort(-x)[:, :3].astype(np.int32)), True)

# --- reductions -------------------------------------------------------------------------------------------------------

for op, f in {
    "MEAN": np.mean,
    "SUM": np.sum,
    "REDUCE_MAX": np.max,
    "REDUCE_MIN": np.min,
    "REDUCE_PROD": np.prod,
}.items():
    with_constants(op, [2, 3, 4], [i32(1, -1)], [[2]], lambda x, f=f: f(x, (1, 2)), exact=False, keep_dims=False)
    with_constants(
        op,
        [2, 3, 4],
        [i32(1)],
        [[2, 1, 4]],
        lambda x, f=f: f(x, 1, keepdims=True),
        exact=False,
        keep_dims=True,
        name=f"{op} keep",
    )
for op, f in {"REDUCE_ANY": np.any, "REDUCE_ALL": np.all}.items():
    with_constants(op, [4, 3], [i32(1)], [[4]], lambda x, f=f: f(x, 1), dtype="bool", high=1.3, keep_dims=False)
with_constants("CUMSUM", [3, 5], [np.int32(1)], [[3, 5]], lambda x: np.cumsum(x, 1), exact=False)
with_constants(
    "CUMSUM",
    [3, 5],
    [np.int32(1)],
    [[3, 5]],
    lambda x: np.cumsum(x[:, ::-1], 1)[:, ::-1] - x,
    exact=False,
    exclusive=True,
    reverse=True,
    name="CUMSUM backwards",
)
one("L2_NORMALIZATION", [[3, 6]], [3, 6], lambda x: x / np.sqrt((x * x).sum(-1, keepdims=True)))


def neighbours(x):
    """x divided by a power of the sum of squares of the channels at most two away."""
    padded = np.pad(x**2, ((0, 0), (0, 0), (0, 0), (2, 2)))
    sums = sum(padded[..., i : i + x.shape[3]] for i in range(5))
    return x / (1 + 0.5 * sums) ** 0.75


one("LOCAL_RESPONSE_NORMALIZATION", [[1, 2, 2, 8]], [1, 2, 2, 8], neighbours, radius=2, bias=1.0, alpha=0.5, beta=0.75)
# --- control flow -----------------------------------------------------------------------------------------------------


def _if(model, rng):
    condition, x = model.input("c", [], "bool"), model.input("x", [3])
    numbers = []
    for op in ("NEG", "EXP"):
        number, branch = model.subgraph()
        branch.outputs(branch.op(op, [branch.input("in", [3])], [branch.tensor("out", [3])]))
        numbers.append(number)
    y = model.op(
        "IF", [condition, x], [model.tensor("y", [3])], then_subgraph_index=numbers[0], else_subgraph_index=numbers[1]
    )
    model.outputs(y)
    return [np.bool_(True), floats(rng, [3])]


case("IF", _if, lambda c, x: -x if c else np.exp(x))


def _while(model, rng):
    """x doubled as often as a counter below 5 says."""
    i, x = model.input("i", [], "int32"), model.input("x", [3])
    condition_number, condition = model.subgraph()
    counter, _ = condition.input("i", [], "int32"), condition.input("x", [3])
    five = condition.constant("five", np.int32(5))
    condition.outputs(condition.op("LESS", [counter, five], [condition.tensor("go", [], "bool")]))
    body_number, body = model.subgraph()
    counter, state = body.input("i", [], "int32"), body.input("x", [3])
    body.outputs(body.op("ADD", [counter, body.constant("one", np.int32(1))], [body.tensor("next", [], "int32")]))
    body.outputs(body.op("ADD", [state, state], [body.tensor("twice", [3])]))
    outs = [model.tensor("n", [], "int32"), model.tensor("y", [3])]
    model.op("WHILE", [i, x], outs, cond_subgraph_index=condition_number, body_subgraph_index=body_number)
    model.outputs(*outs)
    return [np.int32(2), floats(rng, [3])]


case("WHILE", _while, lambda i, x: (np.int32(5), 8 * x), True)

# --- sizes that are known only when the model runs --------------------------------------------------------------------


def _where(model, rng):
    x = model.input("x", [3, 4], "bool")
    model.outputs(model.op("WHERE", [x], [model.tensor("y", [0, 2], "int64", signature=[-1, 2])]))
    return [rng.integers(0, 2, [3, 4]).astype(bool)]


def _range(model, rng):
    inputs = [model.input(name, [], "int32") for name in ("start", "end", "step")]
    model.outputs(model.op("RANGE", inputs, [model.tensor("y", [0], "int32", signature=[-1])]))
    return [np.int32(3), np.int32(20), np.int32(4)]


def computed_slice(op, name, lists, result, f, signature=None, **masks):
    """A slice of a tensor (6, 5). lists: its bounds; those that are not fixed are inputs."""

    def build(model, rng):
        x = model.input("x", [6, 5])
        bounds = [
            model.constant(key, i32(*values)) if fixed else model.input(key, [len(values)], "int32")
            for key, (values, fixed) in lists.items()
        ]
        y = model.tensor("y", result, signature=signature)
        model.outputs(model.op(op, [x, *bounds], [y], **masks))
        return [floats(rng, [6, 5]), *(i32(*values) for values, fixed in lists.values() if not fixed)]

    case(f"{op} {name}", build, lambda x, *bounds: f(x), True)


computed_slice("SLICE", "at computed places", {"begin": ((2, 0), False), "size": ((3, 5), True)}, [3, 5],
               lambda x: x[2:5])  # fmt: skip
computed_slice("SLICE", "of computed sizes", {"begin": ((2, 1), False), "size": ((3, -1), False)}, [0, 0],
               lambda x: x[2:5, 1:], signature=[-1, -1])  # fmt: skip
one_step = {"steps": ((1, 1), True)}
computed_slice("STRIDED_SLICE", "at a computed row", {"begin": ((-2, 0), False), "end": ((0, 0), False), **one_step},
               [5], lambda x: x[-2], begin_mask=2, end_mask=2, shrink_axis_mask=1)  # fmt: skip
computed_slice("STRIDED_SLICE", "to a computed end", {"begin": ((1, 1), True), "end": ((0, 4), False),
               "steps": ((1, 2), True)}, [5, 0], lambda x: x[1:, 1:4:2], signature=[5, -1], end_mask=1)  # fmt: skip
case("WHERE", _where, lambda x: np.argwhere(x), True)
case("RANGE", _range, lambda a, b, c: np.arange(a, b, c, np.int32), True)

# --- matrices ---------------------------------------------------------------------------------------------------------

one("MATRIX_DIAG", [[2, 3]], [2, 3, 3], lambda x: x[:, None, :] * np.eye(3, dtype=np.float32), exact=True)
one(
    "MATRIX_SET_DIAG",
    [[2, 3, 3], [2, 3]],
    [2, 3, 3],
    lambda x, d: np.where(np.eye(3, dtype=bool), d[:, None, :], x),
    exact=True,
)

# --- variables and sparse weights -------------------------------------------------------------------------------------


def _variable(model, rng):
    """The first value of a variable, from its initialisation, plus the input."""
    x = model.input("x", [2])
    number, first = model.subgraph()
    handle = first.op("VAR_HANDLE", [], [first.tensor("h0", [], "resource")], shared_name="v")
    first.op("ASSIGN_VARIABLE", [handle, first.constant("start", np.full(2, 10, np.float32))], [])
    model.op("CALL_ONCE", [], [], init_subgraph_index=number)
    handle = model.op("VAR_HANDLE", [], [model.tensor("h", [], "resource")], shared_name="v")
    before = model.op("READ_VARIABLE", [handle], [model.tensor("before", [2])])
    after = model.op("ADD", [before, x], [model.tensor("after", [2])])
    model.op("ASSIGN_VARIABLE", [handle, after], [])
    model.outputs(after)
    return [floats(rng, [2])]


case("VARIABLE", _variable, lambda x: x + 10)
CASES[-1].states = [np.full(2, 10, np.float32)]


def sparse_rows(columns, ends, rows):
    """The description of a matrix that is stored by rows: the columns of its elements, and where each row ends."""
    row = {0: ("byte", 1), 2: ("ubyte", 1), 3: ("table", {0: ("ints", [0, *ends])})}
    row |= {4: ("ubyte", 3), 5: ("table", {0: ("bytes", np.uint8(columns).tobytes())})}
    return {0: ("ints", [0, 1]), 2: ("tables", [{0: ("byte", 0), 1: ("int", rows)}, row])}


def _sparse(model, rng):
    x = model.input("x", [1, 4])
    data = np.float32([5, 6, 7]).tobytes()
    w = model.tensor("w", [2, 4], data=data, sparsity=sparse_rows([1, 3, 0], [2, 3], 2))
    dense = model.op("DENSIFY", [w], [model.tensor("dense", [2, 4])])
    model.outputs(model.op("FULLY_CONNECTED", [x, dense], [model.tensor("y", [1, 2])]))
    return [np.float32([[1, 10, 100, 1000]])]


case("DENSIFY", _sparse, lambda x: np.float32([[6050, 7]]), True)
