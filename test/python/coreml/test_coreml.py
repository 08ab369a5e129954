"""Models of Core ML, written by hand: forms of files, weights, programs, control flow, states, problems.
test/frontends/coreml_run.py compares layers and operations with coremltools' own tests, and real models with ONNX."""

import struct

import numpy as np
import pytest
from coreml_files import (
    array,
    block,
    image,
    in_file,
    label,
    labelled,
    layer,
    model,
    network,
    operation,
    package,
    program_model,
    value,
    weight_file,
    weights,
)
from relay.frontend.coreml import import_file

import relay

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (2, 3, 4)).astype(np.float32)
# Float32 against float64, relative to the largest value.
CLOSE = 2e-6


def run(content, *arrays, shape=None, **how):
    module, params = relay.frontend.from_coreml(content, shape, **how)
    assert params == {}
    return relay.evaluate(module, list(arrays))


def check(got, wanted):
    got = np.asarray(got)
    assert got.shape == np.shape(wanted), (got.shape, np.shape(wanted))
    assert np.abs(got.astype(float) - wanted).max(initial=0) <= CLOSE * max(np.abs(wanted).max(initial=0), 1e-30)


def problem(content, **how):
    with pytest.raises(relay.CompileError) as found:
        relay.frontend.from_coreml(content, **how)
    return str(found.value)


# --- neural networks --------------------------------------------------------------------------------------------------
W = RNG.uniform(-1, 1, (2, 3, 3, 3)).astype(np.float32)


def convolved(x, kernel):
    """A convolution (1, C, H, W) without padding, in float64."""
    height, width = x.shape[2] - 2, x.shape[3] - 2
    made = np.zeros((1, len(kernel), height, width))
    for i in range(height):
        for j in range(width):
            made[0, :, i, j] = np.tensordot(kernel.astype(float), x[0, :, i : i + 3, j : j + 3].astype(float), 3)
    return made


def classifier(colour=20, exact=True, scale=()):
    """A convolution over an image of 5 x 4, its mean over space, and a softmax over two classes."""
    kernel = [(1, 2), (2, 3), (20, np.array([3, 3])), (90, weights(W))]
    layers = [
        layer("convolution", "conv", "image", "c", kernel),
        layer("pooling", "mean", "c", "m", [(1, 1), (60, True)]),
        layer("softmax", "soft", "m", "p"),
    ]
    more = [(2, [(1, "image"), (10, list(scale))])] if scale else []
    more.append((100, [(1, "cat"), (1, "dog")]))
    content = network(*layers, exact=exact, more=more)
    return model(403, content, [image("image", 5, 4, colour)], [labelled("probabilities"), label("class")],
                 more=[(11, "class"), (12, "probabilities")])  # fmt: skip


def probabilities(pixels):
    means = convolved(pixels, W).mean((2, 3))[0]
    return np.exp(means - means.max()) / np.exp(means - means.max()).sum()


@pytest.mark.parametrize("exact", [True, False])
def test_a_classifier_of_images(exact):
    pixels = RNG.integers(0, 255, (1, 3, 4, 5)).astype(np.float32)
    module, _ = relay.frontend.from_coreml(classifier(exact=exact))
    assert list(module["main"].attrs["class_labels"]) == ["cat", "dog"]
    check(relay.evaluate(module, [pixels / 255]), probabilities(pixels / 255))


@pytest.mark.parametrize("colour", [20, 30])
def test_preprocessing_follows_the_order_of_colours(colour):
    scale = [(10, 1 / 64), (20, -1.0), (21, -0.5), (22, 0.25)]  # blue, green, red
    pixels = RNG.integers(0, 255, (1, 3, 4, 5)).astype(np.float32)
    biases = np.array([0.25, -0.5, -1.0])[:: 1 if colour == 20 else -1].reshape(1, 3, 1, 1)
    check(run(classifier(colour, scale=scale), pixels), probabilities(pixels / 64 + biases))


def test_arrays_of_old_networks_have_five_axes():
    """(C) is (1, 1, C, 1, 1), and (C, H, W) is (1, 1, C, H, W); results lose the axes that they had not."""
    dense = [(1, 3), (2, 2), (10, True), (20, weights([[1, 2, 3], [4, 5, 6]])), (21, weights([10, 20]))]
    content = network(layer("innerProduct", "dense", "x", "y", dense), exact=False)
    check(run(model(500, content, [array("x", 3)], [array("y")], 1), np.ones(3, np.float32)), [16, 35])
    content = network(layer("activation", "act", "x", "y", [(15, [(1, 0.5)])]), exact=False)
    found = run(model(500, content, [array("x", 2, 3, 4)], [array("y")], 1), X)
    check(found, np.where(X > 0, X.astype(float), 0.5 * X.astype(float)))


def test_a_batch_of_old_scripts():
    content = network(layer("activation", "act", "x", "y", [(10, [])]), exact=False)
    x = RNG.uniform(-1, 1, (5, 2, 3, 4)).astype(np.float32)
    check(run(model(500, content, [array("x", 2, 3, 4)], [array("y")], 1), x, shape={"x": x.shape}), np.maximum(x, 0))


HALF = np.array([[1.5, -2, 0.25], [4, 5, 6]])
LINEAR = [(1, np.array([0.5, 0.25], np.float32)), (2, np.array([-1, 1], np.float32))]
FORMS = {
    "floats": (weights(HALF), HALF),
    "halves": ([(2, HALF.astype("<f2").tobytes())], HALF),
    "8 bits with a scale": ([(30, bytes([0, 2, 4, 6, 8, 255])), (40, [(1, 8), (101, LINEAR)])],
                            [[-1, 0, 1], [2.5, 3, 64.75]]),
    "4 bits with a scale": ([(30, bytes([0x02, 0x46, 0x8F])), (40, [(1, 4), (101, LINEAR)])],
                            [[-1, 0, 1], [2.5, 3, 4.75]]),
    "2 bits with a table": ([(30, bytes([0b00011011, 0b00010000])),
                             (40, [(1, 2), (102, [(1, np.array([7, 8, 9, -1], np.float32))])])],
                            [[7, 8, 9], [-1, 7, 8]]),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_weights(form):
    message, wanted = FORMS[form]
    dense = layer("innerProduct", "dense", "x", "y", [(1, 3), (2, 2), (20, message)])
    x = np.array([[1, 2, 3]], np.float32)
    check(run(model(500, network(dense), [array("x", 1, 3)], [array("y")]), x), x @ np.transpose(wanted))


def test_a_branch_and_a_loop():
    """The sum of x until it is at least 100 is doubled if x[0] > 0, else negated."""
    double = network(layer("addBroadcastable", "d", ["s", "s"], "out"))
    negate = network(layer("activation", "n", "s", "out", [(5, [(1, -1.0)])]))
    body = network(layer("addBroadcastable", "a", ["s", "x"], "s2"), layer("copy", "b", "s2", "s"))
    test = network(layer("reduceSum", "r", "s", "total", [(3, True)]),
                   layer("lessThan", "l", "total", "more", [(2, 100.0)]))  # fmt: skip
    content = network(
        layer("copy", "start", "x", "s"),
        layer("loop", "loop", [], [], [(2, "more"), (3, test), (4, body)]),
        layer("sliceStatic", "first", "x", "head", [(1, np.array([0])), (3, np.array([1])), (5, np.array([1]))]),
        layer("greaterThan", "g", "head", "is_positive", [(2, 0.0)]),
        layer("branch", "branch", "is_positive", [], [(1, double), (2, negate)]),
        layer("copy", "end", "out", "y"),
    )
    content = model(500, content, [array("x", 3)], [array("y")])
    check(run(content, np.array([1, 2, 30], np.float32)), 2 * np.array([4, 8, 120]))
    check(run(content, np.array([-1, 20, 30], np.float32)), -np.array([-3, 60, 90]))


def test_a_pipeline():
    first = model(500, network(layer("activation", "a", "x", "h", [(10, [])])), [array("x", 3)], [array("h", 3)])
    second = model(500, network(layer("unary", "b", "h", "y", [(1, 4), (5, 1.0)])), [array("h", 3)], [array("y", 3)])
    content = model(202, [(1, first), (1, second)], [array("x", 3)], [array("y")])
    check(run(content, np.array([-1, 0, 2], np.float32)), np.exp([0.0, 0, 2]))


def test_a_custom_layer():
    own = layer("custom", "mine", "x", "y", [(10, "Doubling")])
    content = model(500, network(own), [array("x", 3)], [array("y")])
    said = problem(content)
    assert "custom 'mine'" in said
    assert "the class 'Doubling'" in said
    assert "custom_operators" in said

    def doubled(inputs, attributes):
        return inputs[0] + inputs[0]

    found = run(content, np.ones(3, np.float32), custom_operators={"Doubling": doubled})
    check(found, [2, 2, 2])


# --- ML programs ------------------------------------------------------------------------------------------------------
def linear(weight, **how):
    """A program: x @ weight^T, with the weight under a name that the operations in `before` make."""
    before = how.pop("before", [])
    steps = [*before, operation("linear", [("y", "float32", [1, 2])], {"x": "x", "weight": weight})]
    return program_model(steps, [("x", "float32", [1, 3])], ["y"], **how)


def constant(name, dtype, shape, given):
    return operation("const", [(name, dtype, shape)], attributes={"val": given})


def test_weights_in_a_file(tmp_path):
    weight = RNG.uniform(-1, 1, (2, 3)).astype(np.float32)
    file, [_, offset] = weight_file(("int8", bytes(5)), ("float32", weight.tobytes()))
    content = linear("w", before=[constant("w", "float32", [2, 3], in_file(offset, "float32", [2, 3]))])
    path = package(tmp_path / "net.mlpackage", content, file)
    module, paths = import_file(str(path))
    assert [one.rsplit("/", 1)[-1] for one in paths] == ["model.mlmodel", "weight.bin"]
    x = np.array([[1, 2, 3]], np.float32)
    check(relay.evaluate(module, [x]), x @ weight.T.astype(float))
    check(run(path, x), x @ weight.T.astype(float))


MASK = np.array([[1, 0, 1], [0, 0, 1]])
COMPRESSED = {
    "constexpr_affine_dequantize": (
        {"quantized_data": value([[1, 2, 3], [4, 5, 6]], "uint8"), "zero_point": value([1, 2], "uint8"),
         "scale": value([0.5, 2.0], "float32"), "axis": value(0)}, [[0, 0.5, 1], [4, 6, 8]]),
    "constexpr_lut_to_dense": (
        {"indices": value(np.array([0b11100100, 0b0100]), "uint8"), "lut": value([5.0, 6.0, 7.0, 8.0], "float32"),
         "shape": value(np.array([2, 3]))}, [[5, 6, 7], [8, 5, 6]]),
    "constexpr_sparse_to_dense": (
        {"nonzero_data": value([3.0, 4.0, 5.0], "float32"), "mask": value(np.array([0b100101]), "uint8"),
         "shape": value(np.array([2, 3]))}, [[3, 0, 4], [0, 0, 5]]),
    "constexpr_cast": ({"source_val": value([[1, 2, 3], [4, 5, 6]], "float16"), "output_dtype": value("fp32")},
                       [[1, 2, 3], [4, 5, 6]]),
    "constexpr_blockwise_shift_scale": (
        {"data": value([[1, 2, 3], [4, 5, 6]], "int8"), "scale": value([[2.0], [3.0]], "float32"),
         "offset": value([[1], [0]], "int8")}, [[0, 2, 4], [12, 15, 18]]),
}  # fmt: skip


@pytest.mark.parametrize("kind", COMPRESSED)
def test_compressed_weights(kind):
    parameters, wanted = COMPRESSED[kind]
    made = operation(kind, [("w", "float32", [2, 3])], attributes=parameters)
    x = np.array([[1, 2, 3]], np.float32)
    check(run(linear("w", before=[made]), x), x @ np.transpose(wanted))


def test_four_bits_in_a_file(tmp_path):
    """Two elements in a byte, the lower bits first, with scales of blocks."""
    file, [offset] = weight_file(("uint4", bytes([0x21, 0x43, 0x65])))
    parameters = {"data": in_file(offset, "uint4", [2, 3]), "scale": value([[2.0], [3.0]], "float32")}
    made = operation("constexpr_blockwise_shift_scale", [("w", "float32", [2, 3])], parameters)
    path = package(tmp_path / "net.mlpackage", linear("w", before=[made]), file)
    check(run(path, np.array([[1, 2, 3]], np.float32)), [[2 + 8 + 18, 12 + 30 + 54]])


def test_shapes_are_computed_at_import():
    """x (n, 3, 4) to (n, 12): the shape is made of sizes, one of which is open."""
    steps = [
        operation("shape", [("s", "int32", [3])], {"x": "x"}),
        operation("gather", [("n", "int32", [1])], {"x": "s", "indices": value(np.array([0])), "axis": value(0)}),
        operation("gather", [("a", "int32", [])], {"x": "s", "indices": value(1), "axis": value(0)}),
        operation("gather", [("b", "int32", [])], {"x": "s", "indices": value(2), "axis": value(0)}),
        operation("mul", [("ab", "int32", [])], {"x": "a", "y": "b"}),
        operation("expand_dims", [("m", "int32", [1])], {"x": "ab", "axes": value(np.array([0]))}),
        operation("concat", [("t", "int32", [2])], {"values": ["n", "m"], "axis": value(0)}),
        operation("reshape", [("y", "float32", [None, 12])], {"x": "x", "shape": "t"}),
    ]
    content = program_model(steps, [("x", "float32", [None, 3, 4])], ["y"])
    check(run(content, X), X.reshape(2, 12))


def test_branches_of_a_program():
    def side(kind):
        return block([operation(kind, [("r", "float32", [3])], {"x": "x", "y": value(2.0)})], ["r"])

    steps = [
        operation("reduce_sum", [("t", "float32", [])], {"x": "x", "keep_dims": value(False)}),
        operation("greater", [("c", "bool", [])], {"x": "t", "y": value(0.0)}),
        operation("cond", [("y", "float32", [3])], {"pred": "c"}, [side("mul"), side("sub")]),
    ]
    content = program_model(steps, [("x", "float32", [3])], ["y"])
    check(run(content, np.array([1, 2, 3], np.float32)), [2, 4, 6])
    check(run(content, np.array([-1, -2, 1], np.float32)), [-3, -4, -1])


def test_a_loop_of_a_program():
    """x is doubled until its sum is at least 100."""
    carried = [("v", "float32", [3])]
    test = block([
        operation("reduce_sum", [("t", "float32", [])], {"x": "v", "keep_dims": value(False)}),
        operation("less", [("go", "bool", [])], {"x": "t", "y": value(100.0)}),
    ], ["go"], carried)  # fmt: skip
    body = block([operation("add", [("w", "float32", [3])], {"x": "v", "y": "v"})], ["w"], carried)
    steps = [operation("while_loop", [("y", "float32", [3])], {"loop_vars": ["x"]}, [test, body])]
    content = program_model(steps, [("x", "float32", [3])], ["y"])
    check(run(content, np.array([1, 2, 3], np.float32)), [32, 64, 96])


def test_a_state():
    """Sums of all inputs so far: the state is an input after the model's own, and a result after the model's own."""
    shape = [3]
    steps = [
        operation("read_state", [("old", "float32", shape)], {"input": "total"}),
        operation("add", [("new", "float32", shape)], {"x": "old", "y": "x"}),
        operation("write_state", [], {"input": "total", "data": "new"}),
        operation("read_state", [("y", "float32", shape)], {"input": "total"}),
    ]
    content = program_model(steps, [("x", "float32", shape)], ["y"], [("total", "float32", shape)], 9)
    module, _ = relay.frontend.from_coreml(content)
    assert list(module["main"].attrs["state_names"]) == ["total"]
    total = np.zeros(3, np.float32)
    for step in range(3):
        y, total = relay.evaluate(module, [np.full(3, step + 1, np.float32), total])
    check(y, [6, 6, 6])
    check(total, [6, 6, 6])


def test_a_compiled_program_with_halves():
    steps = [
        operation("cast", [("h", "float16", [2, 3, 4])], {"x": "x", "dtype": value("fp16")}),
        operation("softmax", [("s", "float16", [2, 3, 4])], {"x": "h", "axis": value(-1)}),
        operation("cast", [("y", "float32", [2, 3, 4])], {"x": "s", "dtype": value("fp32")}),
    ]
    module, _ = relay.frontend.from_coreml(program_model(steps, [("x", "float32", [2, 3, 4])], ["y"]))
    wanted = np.exp(X.astype(float)) / np.exp(X.astype(float)).sum(-1, keepdims=True)
    assert np.abs(np.asarray(relay.compile(module)(X)) - wanted).max() < 2e-3


DRAWN = [2000]
DRAWS = {  # the mean and the deviation of each
    "random_uniform": ({"low": value(-1.0), "high": value(3.0)}, 1.0, 4 / 12**0.5),
    "random_normal": ({"mean": value(2.0), "stddev": value(0.5)}, 2.0, 0.5),
    "random_bernoulli": ({"prob": value(0.25)}, 0.25, (0.25 * 0.75) ** 0.5),
}


@pytest.mark.parametrize("kind", DRAWS)
def test_random_numbers_have_their_distribution(kind):
    given, mean, deviation = DRAWS[kind]
    steps = [operation(kind, [("r", "float32", DRAWN)], {"shape": value(np.array(DRAWN)), **given}),
             operation("add", [("y", "float32", DRAWN)], {"x": "r", "y": "x"})]  # fmt: skip
    content = program_model(steps, [("x", "float32", DRAWN)], ["y"])
    first, second = (np.asarray(run(content, np.zeros(DRAWN, np.float32))) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert abs(first.mean() - mean) < 4 * deviation / DRAWN[0] ** 0.5
    assert abs(first.std() - deviation) < 0.1 * deviation


LAYERS_THAT_DRAW = {
    "randomUniformLike": ([(2, -1.0), (3, 3.0)], 1.0), "randomNormalLike": ([(2, 2.0), (3, 0.5)], 2.0),
    "randomBernoulliLike": ([(2, 0.25)], 0.25),
    "randomUniformStatic": ([(2, -1.0), (3, 3.0), (4, np.array(DRAWN))], 1.0),
    "randomNormalStatic": ([(2, 2.0), (3, 0.5), (4, np.array(DRAWN))], 2.0),
    "randomBernoulliStatic": ([(2, 0.25), (3, np.array(DRAWN))], 0.25),
}  # fmt: skip


@pytest.mark.parametrize("kind", LAYERS_THAT_DRAW)
def test_layers_that_draw(kind):
    fields, mean = LAYERS_THAT_DRAW[kind]
    content = network(layer(kind, "draw", [] if "Static" in kind else "x", "r", fields),
                      layer("addBroadcastable", "add", ["r", "x"], "y"))  # fmt: skip
    got = np.asarray(run(model(500, content, [array("x", *DRAWN)], [array("y")]), np.zeros(DRAWN, np.float32)))
    assert got.shape == (2000,) and abs(got.mean() - mean) < 0.12 and got.std() > 0.3


@pytest.mark.parametrize("mode", ["logits", "probs"])
def test_classes_are_drawn_with_their_probabilities(mode):
    shares = np.array([[0.125, 0.5, 0.375], [1, 0, 0]], np.float32)
    given = np.log(np.maximum(shares, 1e-30)) if mode == "logits" else shares
    steps = [operation("random_categorical", [("y", "float32", [2, 4000])],
                       {"x": "x", "mode": value(mode), "size": value(4000)})]  # fmt: skip
    got = np.asarray(run(program_model(steps, [("x", "float32", [2, 3])], ["y"]), given))
    assert got.shape == (2, 4000) and not got[1].any()
    np.testing.assert_allclose(np.bincount(got[0].astype(int)) / 4000, shares[0], atol=0.04)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("limit", [0.3, 100.0])
def test_the_limit_of_the_cell_of_an_lstm(direction, limit):
    steps, batch, inputs, size = 3, 2, 4, 5
    ends = ["", "_back"][: 1 + (direction == "bidirectional")]
    weights_of = {end: [RNG.uniform(-1, 1, shape).astype(np.float32) for shape in (
        (4 * size, inputs), (4 * size, size), (4 * size,), (3 * size,))] for end in ends}  # fmt: skip
    x = RNG.uniform(-2, 2, (steps, batch, inputs)).astype(np.float32)
    begin = RNG.uniform(-1, 1, (2, batch, len(ends) * size)).astype(np.float32)
    hidden, cells = [], []
    for place, (wx, wh, bias, peep) in enumerate(weights_of.values()):
        h, c = begin[:, :, place * size : (place + 1) * size].astype(float)
        p = np.split(peep.astype(float), 3)
        for one in (x if direction != "reverse" and place == 0 else x[::-1]).astype(float):  # gates i f o z
            i, f, o, z = np.split(one @ wx.T.astype(float) + h @ wh.T.astype(float) + bias, 4, axis=1)
            i, f = (1 / (1 + np.exp(-gate)) for gate in (i + p[0] * c, f + p[1] * c))
            c = np.clip(f * c + i * np.tanh(z), -limit, limit)
            h = np.tanh(c) / (1 + np.exp(-(o + p[2] * c)))
        hidden.append(h)
        cells.append(c)
    given = {f"{name}{end}": value(one) for end, held in weights_of.items()
             for name, one in zip(("weight_ih", "weight_hh", "bias", "peephole"), held, strict=True)}  # fmt: skip
    given |= {"x": "x", "initial_h": value(begin[0]), "initial_c": value(begin[1]), "clip": value(limit),
              "direction": value(direction)}  # fmt: skip
    width = [batch, len(ends) * size]
    results = [("y", "float32", [1, *width]), ("h", "float32", width), ("c", "float32", width)]
    content = program_model([operation("lstm", results, given)], [("x", "float32", [steps, batch, inputs])], ["y", "c"])
    y, last = run(content, x)
    check(y, np.concatenate(hidden, axis=1)[None])
    check(last, np.concatenate(cells, axis=1))


# --- problems ---------------------------------------------------------------------------------------------------------
def test_everything_missing_is_listed_at_once():
    shape = [3]
    steps = [
        operation("newest_operator", [("a", "float32", shape)], {"x": "x"}),
        operation("relu", [("b", "float32", shape)], {"x": "x", "alpha": value(1.0)}),
        operation("add", [("y", "float32", shape)], {"x": "a", "y": "nowhere"}),
    ]
    said = problem(program_model(steps, [("x", "float32", shape)], ["y"]))
    assert "the operator newest_operator is not imported, first in `newest_operator 'a'`" in said
    assert "relu: its attribute `alpha` is not known, first in `relu 'b'`" in said
    assert "no node before computes its input `nowhere`" in said


def test_texts_among_the_inputs_of_a_program_are_refused():
    steps = [operation("relu", [("y", "float32", [3])], {"x": "x"})]
    content = program_model(steps, [("x", "string", [3])], ["y"])
    assert "a type of it is that of texts" in problem(content)


def test_other_kinds_of_models_are_named():
    said = problem(model(402, [], [array("x", 3)], [array("y")]))
    assert "a treeEnsembleClassifier, which is not imported" in said
    assert "ONNX" in said


def test_weights_of_another_shape():
    dense = layer("innerProduct", "dense", "x", "y", [(1, 3), (2, 2), (20, weights(np.ones(5)))])
    said = problem(model(500, network(dense), [array("x", 1, 3)], [array("y")]))
    assert "`weights` has 5 elements for the shape (2, 3), first in `innerProduct 'dense'`" in said


@pytest.mark.parametrize(
    ("name", "offset", "says"),
    [
        ("@model_path/weights/weight.bin", 1 << 40, "there is no entry of weights"),
        ("@model_path/weights/weight.bin", 0, "begins with other bytes"),
        ("@model_path/../../secret", 64, "outside of the model"),
        ("/etc/passwd", 64, "outside of the model"),
        ("@model_path/weights/other.bin", 64, "which is missing"),
    ],
)
def test_wrong_references_to_weights(tmp_path, name, offset, says):
    file, _ = weight_file(("float32", bytes(24)))
    content = linear("w", before=[constant("w", "float32", [2, 3], in_file(offset, "float32", [2, 3], name))])
    with pytest.raises(relay.CompileError, match=says):
        import_file(str(package(tmp_path / "net.mlpackage", content, file)))


def test_a_program_without_its_folder():
    content = linear("w", before=[constant("w", "float32", [2, 3], in_file(64, "float32", [2, 3]))])
    assert "give the path of the .mlpackage" in problem(content)


MANIFESTS = ('{"a"', "[]", '{"rootModelIdentifier": "b", "itemInfoEntries": {}}', "[" * 9999,
             '{"rootModelIdentifier": "b", "itemInfoEntries": {"b": {"path": "../x"}}}')  # fmt: skip


@pytest.mark.parametrize("manifest", MANIFESTS)
def test_wrong_manifests(tmp_path, manifest):
    path = package(tmp_path / "net.mlpackage", b"")
    (path / "Manifest.json").write_text(manifest)
    with pytest.raises(relay.CompileError, match=r"Manifest.json"):
        import_file(str(path))


def test_blocks_inside_blocks():
    made = other = block([operation("relu", [("r", "float32", [3])], {"x": "x"})], ["r"])
    for depth in range(200):
        made = block([operation("cond", [(f"r{depth}", "float32", [3])], {"pred": "c"}, [made, other])], [f"r{depth}"])
    steps = [operation("cond", [("y", "float32", [3])], {"pred": "c"}, [made, other])]
    said = problem(program_model(steps, [("x", "float32", [3]), ("c", "bool", [])], ["y"]))
    assert "nested more than" in said


def test_changed_bytes():
    """Any change leads to a module or a diagnostic."""
    rng = np.random.default_rng(1)
    made = operation("constexpr_affine_dequantize", [("w", "float32", [2, 3])],
                     attributes=COMPRESSED["constexpr_affine_dequantize"][0])  # fmt: skip
    contents = [classifier(scale=[(10, 0.5), (22, 1.0)]), linear("w", before=[made])]
    for number in range(300):
        content = bytearray(contents[number % 2])
        if number % 3 == 0:
            content = content[: rng.integers(len(content))]
        for _ in range(rng.integers(1, 6)):
            if content:
                content[rng.integers(len(content))] ^= 1 << rng.integers(8)
        try:
            relay.frontend.from_coreml(bytes(content))
        except relay.CompileError as error:
            assert str(error).startswith("error[R0")


def test_wrong_entries_of_weights(tmp_path):
    """Lengths of entries are those of the file."""
    content = linear("w", before=[constant("w", "float32", [2, 3], in_file(64, "float32", [2, 3]))])
    for number, (length, start) in enumerate(((1 << 60, 128), (24, 1 << 60), (20, 128), (0, 128))):
        file = struct.pack("<II", 1, 2) + bytes(56) + struct.pack("<IIQQ", 0xDEADBEEF, 2, length, start) + bytes(64)
        path = package(tmp_path / f"{number}.mlpackage", content, file)
        with pytest.raises(relay.CompileError):
            import_file(str(path))


@pytest.mark.parametrize("is_bottom", [False, True])
def test_a_number_of_largest_elements_that_is_an_input(is_bottom):
    content = network(layer("topK", "top", ["x", "k"], ["values", "places"], [(1, -1), (3, is_bottom)]))
    x = np.float32([[3, 1, 4, 7, 5], [9, 2, 6, -5, 0]])
    made = model(500, content, [array("x", 2, 5), array("k", 1)], [array("values"), array("places")])
    values, places = run(made, x, np.float32([3]))
    wanted = np.argsort(x if is_bottom else -x, axis=1)[:, :3]
    assert np.array_equal(places, wanted) and np.array_equal(values, np.take_along_axis(x, wanted, 1))
