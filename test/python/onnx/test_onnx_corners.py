"""Edge cases of ONNX models: counts of zero, optional inputs before required ones, sizes that only one branch
accepts."""

import numpy as np
import pytest
from onnx import ValueInfoProto, helper, numpy_helper

import relay

node = helper.make_node


def model_of(nodes, inputs, outputs, constants=None, opset=18):
    elements = helper.np_dtype_to_tensor_dtype
    infos = [helper.make_tensor_value_info(k, elements(np.dtype(d)), shape) for k, (d, shape) in inputs.items()]
    graph = helper.make_graph(
        nodes, "g", infos, [ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in (constants or {}).items()],
    )  # fmt: skip
    sets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=10)


def results(model, *args):
    got = relay.compile(model)(*args)
    return list(got) if isinstance(got, tuple) else [got]


def expect(model, args, want):
    for got in (results(model, *args), relay.evaluate(relay.load(model), list(args))):
        got = list(got) if isinstance(got, (tuple, list)) else [got]
        assert len(got) == len(want)
        for a, b in zip(got, want, strict=True):
            assert a.shape == np.shape(b)
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("k", (0, 2))
def test_topk(k):
    x = np.random.default_rng(0).standard_normal((3, 5)).astype("float32")
    model = model_of([node("TopK", ["x", "k"], ["v", "i"])], {"x": ("float32", [3, 5])}, ["v", "i"], {"k": [k]})
    places = np.argsort(-x, axis=1)[:, :k]
    expect(model, [x], [np.take_along_axis(x, places, 1), places])


@pytest.mark.parametrize("repeats", ((2, 0), (0, 1), (0, 0), (2, 3)))
def test_tile(repeats):
    x = np.arange(10, dtype="float32").reshape(5, 2)
    nodes = [node("Tile", ["x", "r"], ["y"]), node("ReduceSum", ["y", "a"], ["s"], keepdims=0)]
    model = model_of(nodes, {"x": ("float32", [5, 2])}, ["y", "s"], {"r": list(repeats), "a": [1]})
    expect(model, [x], [np.tile(x, repeats), np.tile(x, repeats).sum(1)])


@pytest.mark.parametrize("extent", (0, 1, 3, 6))
def test_a_crop_of_an_open_axis(extent):
    model = model_of([node("CenterCropPad", ["a", "t"], ["y"], axes=[-1])],
                     {"a": ("float32", ["m", "n"]), "t": ("int64", ["k"])}, ["y"])  # fmt: skip
    x = np.arange(1, 2 * extent + 1, dtype="float32").reshape(2, extent)
    want, front = np.zeros((2, 4), "float32"), abs(4 - extent) // 2
    if extent <= 4:
        want[:, front : front + extent] = x
    else:
        want = x[:, front : front + 4]
    expect(model, [x, np.array([4])], [want])


@pytest.mark.parametrize("policy", ("not_larger", "not_smaller"))
@pytest.mark.parametrize("size", ((4, 8), (8, 4), (5, 3), (6, 6)))
def test_resize_with_a_policy(policy, size):
    height, width = size
    x = np.arange(height * width, dtype="float32").reshape(1, 1, height, width)
    for sizes in ((4, 4), (8, 8), (height, 2), (2, width), (height, width), (10, width)):
        pick = min if policy == "not_larger" else max
        scale = pick(sizes[0] / height, sizes[1] / width)
        model = model_of([node("Resize", ["x", "", "", "s"], ["y"], axes=[2, 3], keep_aspect_ratio_policy=policy)],
                         {"x": ("float32", x.shape)}, ["y"], {"s": list(sizes)}, opset=19)  # fmt: skip
        want = (1, 1, int(np.floor(scale * height + 0.5)), int(np.floor(scale * width + 0.5)))
        assert results(model, x)[0].shape == want


def quantised(op, inputs, constants, **attributes):
    return model_of([node(op, inputs, ["y"], domain="com.microsoft", **attributes)], {"x": ("uint8", [256])}, ["y"],
                    constants)  # fmt: skip


def test_zero_points_may_be_absent():
    x, s, u = np.arange(256, dtype="uint8"), np.float32(0.03125), np.float32(0.0625)
    real = x.astype(float) * s

    def integers(y, scale):
        return np.clip(np.rint(y / scale), 0, 255).astype("uint8")

    cases = (
        ("QLinearSigmoid", ["x", "s", "", "t", ""], {}, integers(1 / (1 + np.exp(-real)), 1 / 256)),
        ("QLinearLeakyRelu", ["x", "s", "", "u", ""], {"alpha": 0.1}, integers(real, u)),
        ("QLinearAdd", ["x", "s", "", "x", "s", "", "u", ""], {}, integers(2 * real, u)),
        ("QLinearMul", ["x", "s", "", "x", "s", "", "u", ""], {}, integers(real * real, u)),
        ("QLinearReduceMean", ["x", "s", "", "u", ""], {"axes": [0]}, integers(real.mean(keepdims=True), u)),
    )
    for op, inputs, attributes, want in cases:
        model = quantised(op, inputs, {"s": s, "t": np.float32(1 / 256), "u": u}, **attributes)
        np.testing.assert_array_equal(results(model, x)[0], want)
    with pytest.raises(relay.CompileError, match="input 3 is missing"):
        relay.compile(quantised("QLinearSigmoid", ["x", "s", "", "", ""], {"s": s}))


def test_embeddings_without_segments():
    r = np.random.default_rng(0)
    word, position = (r.standard_normal((6, 8)).astype("float32") for _ in range(2))
    gamma, beta = (r.standard_normal(8).astype("float32") for _ in range(2))
    ids = np.array([[1, 2, 0], [5, 4, 3]], "int32")
    sums = (word[ids] + position[None, :3]).astype(float)
    normal = (sums - sums.mean(-1, keepdims=True)) / np.sqrt(sums.var(-1, keepdims=True) + 1e-12) * gamma + beta
    model = model_of(
        [node("EmbedLayerNormalization", ["ids", "", "w", "p", "", "g", "b"], ["y", "m"], domain="com.microsoft",
              epsilon=1e-12)],
        {"ids": ("int32", [2, 3])}, ["y"], {"w": word, "p": position, "g": gamma, "b": beta},
    )  # fmt: skip
    expect(model, [ids], [normal])


def squeezed_or_kept(longer):
    def branch(name, *nodes):
        return helper.make_graph(list(nodes), name, [], [ValueInfoProto(name=f"{name}_y")])

    squeeze = [node("Squeeze", ["x", "one"], ["t"]), node("Neg", ["t"], ["squeezed_y"])]
    if not longer:
        squeeze = [node("Squeeze", ["x", "one"], ["squeezed_y"])]
    sides = [branch("kept", node("Identity", ["x"], ["kept_y"])), branch("squeezed", *squeeze)]
    nodes = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "one"], ["n"]), node("Equal", ["n", "one"], ["is"]),
             node("Not", ["is"], ["isnt"]),
             node("If", ["isnt"], ["y"], then_branch=sides[0], else_branch=sides[1])]  # fmt: skip
    return model_of(nodes, {"x": ("float32", ["n", "m", 4])}, ["y"], {"one": [1]})


@pytest.mark.parametrize("longer", (False, True))
def test_branches_of_other_ranks_name_the_way_out(longer):
    with pytest.raises(relay.CompileError, match="--shape"):
        relay.compile(squeezed_or_kept(longer))
    x = np.arange(8, dtype="float32").reshape(2, 1, 4)
    got = relay.compile(squeezed_or_kept(longer), shapes={"x": (2, 1, 4)})(x)
    np.testing.assert_array_equal(got, -x[:, 0] if longer else x[:, 0])


@pytest.mark.parametrize("domain", ("", "com.microsoft"))
@pytest.mark.parametrize("position", (-1, 3, 4))
def test_positions_beyond_a_table_are_refused(domain, position):
    x, table = np.ones((1, 1, 2, 4), "float32"), np.ones((4, 2), "float32")
    inputs = ["x", "p", "c", "s"] if domain else ["x", "c", "s", "p"]
    model = model_of([node("RotaryEmbedding", inputs, ["y"], domain=domain)],
                     {"x": ("float32", [1, 1, 2, 4]), "p": ("int64", [1, 2])}, ["y"], {"c": table, "s": table},
                     opset=23)  # fmt: skip
    places = np.array([[0, position]])
    if position == 3:
        assert results(model, x, places)[0].shape == (1, 1, 2, 4)
        return
    with pytest.raises(relay.CompileError, match="position_ids"):
        relay.compile(model)(x, places)


@pytest.mark.parametrize("length", (1, 2, 5))
def test_lengths_beyond_the_keys_are_refused(length):
    q, k = np.ones((1, 2, 8), "float32"), np.ones((1, 2, 4), "float32")
    model = model_of(
        [node("GroupQueryAttention", ["q", "k", "k", "", "", "l", "t"], ["y", "a", "b"], domain="com.microsoft",
              num_heads=2, kv_num_heads=1)],
        {"q": ("float32", [1, 2, 8]), "k": ("float32", [1, 2, 4]), "l": ("int32", [1])}, ["y"],
        {"t": np.int32(2)},
    )  # fmt: skip
    if length == 1:
        assert results(model, q, k, np.array([1], "int32"))[0].shape == (1, 2, 8)
        return
    with pytest.raises(relay.CompileError, match="seqlens_k"):
        relay.compile(model)(q, k, np.array([length], "int32"))
