"""Keras models without Keras: files made by keras_files.py, against values derived in NumPy.
test/frontends/keras_run.py compares every layer with Keras."""

import json
import sys
import types

import numpy as np
import pytest
from keras_files import archive, called, called_2, dense, functional, input_layer, layer, old_file, sequential, tensor

import relay

RNG = np.random.default_rng(7)


def random(*sizes):
    return RNG.uniform(-1, 1, sizes).astype(np.float32)


def close(ours, theirs):
    # Sums of at most hundreds of products in float32, in another order.
    np.testing.assert_allclose(np.asarray(ours), theirs, rtol=2e-5, atol=2e-5)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


W, B = random(4, 3), random(3)


def network():
    return archive(sequential(input_layer("x", 4), dense("d", 3, activation="relu")), {"layers/dense": [W, B]})


def test_a_dense_layer_of_an_archive():
    x = random(5, 4)
    close(relay.compile(network())(x), np.maximum(x @ W + B, 0))


def test_a_file_is_known_by_its_content(tmp_path):
    x = np.ones((2, 4), np.float32)
    (tmp_path / "net.onnx").write_bytes(network())
    with open(tmp_path / "net.onnx", "rb") as file:
        assert [one.name_hint for one in relay.load(file)["main"].params] == ["x"]
    close(relay.compile(tmp_path / "net.onnx", shapes={"x": (2, 4)})(x), np.maximum(x @ W + B, 0))


def test_an_old_file_with_two_inputs():
    config = functional(
        [input_layer("a", 4), input_layer("b", 2), called_2(dense("d", 3), [["a", 0, 0, {}]]),
         called_2(layer("Concatenate", "join", axis=-1), [["d", 0, 0, {}], ["b", 0, 0, {}]])],
        ["a", "b"], ["join"],
    )  # fmt: skip
    content = old_file(config, {"d": [("kernel", W), ("bias", B)]})
    a, b = random(3, 4), random(3, 2)
    close(relay.compile(content)(a, b), np.concatenate([a @ W + B, b], axis=1))
    with pytest.raises(relay.CompileError, match="the model has no input `c`; its inputs are a, b|no input `c`"):
        relay.load(content, shapes={"c": (1, 4)})


def test_a_sequence_of_the_first_keras():
    """The configuration of a Sequential model was a list, and the first layer had the shape of the input."""
    first = {"class_name": "Dense", "config": {"name": "d", "units": 3, "batch_input_shape": [None, 4]}}
    content = old_file({"class_name": "Sequential", "config": [first]}, {"d": [("kernel", W), ("bias", B)]}, "2.0.6")
    x = random(2, 4)
    close(relay.compile(content)(x), x @ W + B)


def test_a_shared_network_is_called_twice():
    inner = sequential(input_layer("inner_x", 4), dense("d", 3), name="encoder")
    config = functional(
        [input_layer("a", 4), input_layer("b", 4), called(inner, tensor("a"), tensor("b")),
         called(layer("Subtract", "difference"), [[tensor("encoder", 0), tensor("encoder", 1)]])],
        ["a", "b"], ["difference"],
    )  # fmt: skip
    a, b = random(2, 4), random(2, 4)
    content = archive(config, {"layers/sequential/layers/dense": [W, B]})
    close(relay.compile(content)(a, b), (a - b) @ W)
    assert relay.load(content).astext().count("meta[relay.Constant]") <= 4  # the weights are there once


def test_layers_of_one_class_are_counted():
    config = sequential(input_layer("x", 4), dense("a", 3), dense("b", 3), dense("c", 3))
    square = random(3, 3)
    weights = {"layers/dense": [W, B], "layers/dense_1": [square, B], "layers/dense_2": [2 * square, B]}
    content = archive(config, weights)
    x = random(2, 4)
    close(relay.compile(content)(x), ((x @ W + B) @ square + B) @ (2 * square) + B)


def convolved(x, kernel, stride):
    """A convolution with "same" padding, whose odd element is after the image."""
    size = [-(-n // stride) for n in x.shape[1:3]]
    total = [max((o - 1) * stride + k - n, 0) for o, k, n in zip(size, kernel.shape, x.shape[1:3], strict=False)]
    x = np.pad(x, [(0, 0), *((one // 2, one - one // 2) for one in total), (0, 0)])
    out = np.zeros((x.shape[0], *size, kernel.shape[3]))
    for i in range(size[0]):
        for j in range(size[1]):
            window = x[:, i * stride : i * stride + kernel.shape[0], j * stride : j * stride + kernel.shape[1]]
            out[:, i, j] = np.tensordot(window, kernel, 3)
    return out


IMAGE = {"kernel_size": [3, 2], "strides": [2, 2], "padding": "same", "use_bias": False, "filters": 5}
KERNEL = random(3, 2, 4, 5)


def image_network():
    config = sequential(input_layer("x", 8, 7, 4), layer("Conv2D", "c", **IMAGE))
    return archive(config, {"layers/conv2d": [KERNEL]})


def test_a_convolution_with_same_padding():
    x = random(2, 8, 7, 4)
    close(relay.compile(image_network())(x), convolved(x, KERNEL, 2))


def test_images_with_channels_first_as_in_old_scripts():
    x = random(2, 8, 7, 4)
    module, params = relay.frontend.from_keras(image_network(), shape={"x": (2, 4, 8, 7)})
    assert params == {} and tuple(module["main"].params[0].type_annotation.shape) == (2, 4, 8, 7)
    close(relay.compile(module)(x.transpose(0, 3, 1, 2)), convolved(x, KERNEL, 2).transpose(0, 3, 1, 2))
    kept, _ = relay.frontend.from_keras(image_network(), layout="NHWC")
    close(relay.compile(kept)(x), convolved(x, KERNEL, 2))
    loaded = relay.load(image_network(), layout="NCHW")
    close(relay.compile(loaded)(x.transpose(0, 3, 1, 2)), convolved(x, KERNEL, 2).transpose(0, 3, 1, 2))
    with pytest.raises(relay.InputError, match="the layout 'CHW' is unknown"):
        relay.frontend.from_keras(image_network(), layout="CHW")


def lstm(x, kernel, recurrent, bias, mask=None):
    """All outputs of an LSTM with Keras's gates i, f, c, o. A masked step repeats the output before it."""
    units = recurrent.shape[0]
    h, c, last, out = np.zeros((len(x), units)), np.zeros((len(x), units)), np.zeros((len(x), units)), []
    for t in range(x.shape[1]):
        i, f, g, o = np.split(x[:, t] @ kernel + h @ recurrent + bias, 4, axis=1)
        new_c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        new_h = sigmoid(o) * np.tanh(new_c)
        kept = np.ones((len(x), 1), bool) if mask is None else mask[:, t : t + 1]
        h, c, last = (np.where(kept, a, b) for a, b in ((new_h, h), (new_c, c), (new_h, last)))
        out.append(last)
    return np.stack(out, axis=1)


K, R, RB = random(4, 12), random(3, 12), random(12)


@pytest.mark.parametrize("backwards", [False, True])
def test_lstm(backwards):
    config = sequential(input_layer("x", 6, 4), layer("LSTM", "l", units=3, return_sequences=True,
                                                      go_backwards=backwards))  # fmt: skip
    x = random(2, 6, 4)
    model = relay.compile(archive(config, {"layers/lstm/cell": [K, R, RB]}))
    close(model(x), lstm(x[:, ::-1] if backwards else x, K, R, RB))


def test_a_mask_skips_steps():
    config = sequential(
        input_layer("x", 6, dtype="int32"), layer("Embedding", "e", input_dim=5, output_dim=4, mask_zero=True),
        layer("LSTM", "l", units=3, return_sequences=True),
    )  # fmt: skip
    table = random(5, 4)
    model = relay.compile(archive(config, {"layers/embedding": [table], "layers/lstm/cell": [K, R, RB]}))
    x = np.array([[0, 1, 0, 2, 3, 0], [4, 0, 0, 0, 1, 2], [0] * 6], np.int32)
    close(model(x), lstm(table[x], K, R, RB, x != 0))


def test_weights_of_cudnn_are_transposed_gate_by_gate():
    """CuDNNLSTM keeps the elements of each gate in the order of columns, and a bias for each of the two products."""

    def turned(kernel):
        return np.concatenate([one.T.reshape(one.shape) for one in np.split(kernel, 4, axis=1)], axis=1)

    config = {"class_name": "Sequential", "config": [
        {"class_name": "CuDNNLSTM", "config": {"name": "l", "units": 3, "batch_input_shape": [None, 6, 4],
                                               "return_sequences": True}}]}  # fmt: skip
    weights = [("kernel", turned(K)), ("recurrent_kernel", turned(R)), ("bias", np.concatenate([RB / 4, 3 * RB / 4]))]
    x = random(2, 6, 4)
    close(relay.compile(old_file(config, {"l": weights}, "2.2.4"))(x), lstm(x, K, R, RB))


def test_states_are_inputs_and_outputs():
    config = sequential(
        {**input_layer("x", 2, 4), "config": {"name": "x", "batch_shape": [2, 3, 4], "dtype": "float32"}},
        layer("LSTM", "l", units=3, return_sequences=True, stateful=True),
    )
    module = relay.load(archive(config, {"layers/lstm/cell": [K, R, RB]}))
    assert list(module["main"].attrs["state_names"]) == ["l.state0", "l.state1"]
    model, x = relay.compile(module), random(2, 6, 4)
    states, outputs = [np.zeros((2, 3), np.float32)] * 2, []
    for part in (x[:, :3], x[:, 3:]):
        out, *states = model(part, *states)
        outputs.append(np.asarray(out))
    close(np.concatenate(outputs, axis=1), lstm(x, K, R, RB))


def test_attention():
    x, heads, size = random(2, 5, 6), 2, 3
    q, k, v = (random(6, heads, size) for _ in range(3))
    o = random(heads, size, 6)
    config = functional(
        [input_layer("x", 5, 6), called(layer("MultiHeadAttention", "a", num_heads=heads, key_dim=size,
         use_bias=False), [tensor("x"), tensor("x")])], ["x"], ["a"],
    )  # fmt: skip
    place = "layers/multi_head_attention"
    parts = {f"{place}/{name}_dense": [one] for name, one in (("query", q), ("key", k), ("value", v), ("output", o))}
    scores = np.einsum("bth,bsh->bts", *(np.einsum("btf,fhd->bthd", x, one)[:, :, 0] for one in (q, k)))
    assert scores.shape == (2, 5, 5)
    all_scores = np.einsum("bthd,bshd->bhts", *(np.einsum("btf,fhd->bthd", x, one) for one in (q, k))) / np.sqrt(size)
    weights = np.exp(all_scores) / np.exp(all_scores).sum(-1, keepdims=True)
    wanted = np.einsum("bhts,bshd,hdf->btf", weights, np.einsum("btf,fhd->bthd", x, v), o)
    close(relay.compile(archive(config, parts))(x), wanted)


def test_operations_and_functions_of_tensorflow():
    add = {"module": "keras.src.ops.numpy", "class_name": "Multiply", "config": {"name": "m"}, "name": "m"}
    config = functional([input_layer("x", 4), called(add, [tensor("x"), 2.5])], ["x"], ["m"])
    x = random(3, 4)
    close(relay.compile(archive(config, {}))(x), 2.5 * x)
    power = {"class_name": "TFOpLambda", "name": "p", "config": {"name": "p", "function": "math.pow"}}
    part = {"class_name": "SlicingOpLambda", "name": "s", "config": {"name": "s", "function": "__operators__.getitem"}}
    spec = {"slice_spec": [{"start": None, "stop": None, "step": None}, {"start": 1, "stop": 3, "step": None}]}
    config = functional([input_layer("x", 4), called_2(power, [["x", 0, 0, {"y": 2.0, "name": None}]]),
                         called_2(part, [["p", 0, 0, spec]])], ["x"], ["s"])  # fmt: skip
    close(relay.compile(old_file(config, {}))(x), (x**2)[:, 1:3])


def test_texts_are_looked_up():
    find = layer("StringLookup", "find", vocabulary=["bc", "a"], mask_token="", num_oov_indices=1, oov_token="[UNK]")
    words = input_layer("words", 3, dtype="string")
    model = relay.compile(archive(sequential(words, find), {}))
    np.testing.assert_array_equal(model(np.array([["a", "", "zz"], ["bc", "bc", "a"]])), [[3, 0, 1], [2, 2, 3]])
    with pytest.raises(relay.CompileError, match="Flatten: it makes texts, reads their letters, or hashes"):
        relay.load(archive(sequential(words, layer("Flatten", "f")), {}))


def test_a_cell_is_a_layer():
    cell = layer("SimpleRNNCell", "cell", units=2, activation="linear", use_bias=False)
    states = called(cell, [tensor("x"), [tensor("h")]])
    config = functional([input_layer("x", 3), input_layer("h", 2), states], ["x", "h"], ["cell"])
    kernel, recurrent = random(3, 2), random(2, 2)
    x, h = random(4, 3), random(4, 2)
    model = relay.compile(archive(config, {"layers/simple_rnn_cell": [kernel, recurrent]}))
    close(model(x, h), x @ kernel + h @ recurrent)
    config["config"]["layers"][2] = called(cell, tensor("x"))
    with pytest.raises(relay.CompileError, match="it is called with 0 states, not 1"):
        relay.load(archive(config, {"layers/simple_rnn_cell": [kernel, recurrent]}))


def test_a_random_crop_at_inference():
    """Keras 3 leaves images as they are, Keras 2 resizes the middle."""
    crop, x = layer("RandomCrop", "crop", height=2, width=2), random(1, 4, 6, 1)
    config = sequential(input_layer("x", 4, 6, 1), crop)
    np.testing.assert_array_equal(relay.compile(archive(config, {}))(x), x)
    halves = x[:, :, 1:5].reshape(1, 2, 2, 2, 2, 1).mean((2, 4))
    close(relay.compile(old_file(config, {}))(x), halves)


def unknown():
    return sequential(
        input_layer("x", 4), layer("Lambda", "l", function=["4wEAAA==", None, None]), dense("d", 3),
        layer("Mine", "m"), layer("Hashing", "s"), layer("Mine", "n"),
    )  # fmt: skip


def test_everything_that_is_missing_is_listed_at_once():
    with pytest.raises(relay.CompileError) as raised:
        relay.load(archive(unknown(), {"layers/dense": [W, B]}))
    said = str(raised.value)
    for text in ("the layer Lambda: it holds Python code, which is not run, first in `l`",
                 "the layer Mine (2 times), first in `m`", "the layer Hashing: it makes texts",
                 "custom_layers"):  # fmt: skip
        assert text in said


def test_options_of_a_newer_keras():
    config = sequential(
        input_layer("x", 4), dense("d", 3, sharpness=2, softness=None, kernel_projector_regularizer="l2")
    )
    weights, x = {"layers/dense": [W, B]}, random(2, 4)
    with pytest.raises(relay.CompileError, match="Dense: it has the option `sharpness`, which .* in Keras 3.15"):
        relay.load(archive(config, weights, "3.16.0"))
    close(relay.compile(archive(config, weights))(x), x @ W + B)
    del config["config"]["layers"][1]["config"]["sharpness"]
    close(relay.compile(archive(config, weights, "4.0.0"))(x), x @ W + B)


def test_custom_layers():
    def doubled(inputs, config, weights):
        return inputs[0] * relay.const(np.float32(2))

    def scaled(inputs, config, weights):
        assert config["factor"] == 3 and weights[0].shape == (4,)
        return inputs[0] * relay.const(weights[0] * config["factor"])

    config = sequential(input_layer("x", 4), layer("Lambda", "l"), layer("Mine", "m", factor=3))
    content, x = archive(config, {"layers/mine": [np.arange(4, dtype=np.float32)]}), random(2, 4)
    module, _ = relay.frontend.from_keras(content, custom_layers={"l": doubled, "Mine": scaled})
    close(relay.compile(module)(x), 6 * x * np.arange(4))
    with pytest.raises(relay.CompileError, match="Mine: its converter returned None"):
        relay.frontend.from_keras(content, custom_layers={"l": doubled, "Mine": lambda *_: None})


class Lambda:
    """A live Lambda layer as Keras 3 has it, which is called on these symbolic tensors."""

    name, arguments, trainable_weights, non_trainable_weights = "l", {"by": 2.5}, (), ()

    def __init__(self, function, *specs):
        arguments = types.SimpleNamespace(args=[[types.SimpleNamespace(shape=one, dtype="float32")] for one in specs])
        self.function, self._inbound_nodes = function, [types.SimpleNamespace(arguments=arguments)] if specs else []


def live(function, *specs):
    """A live model of a Lambda layer, whose Keras makes a multiplication of what the function returns."""

    def traced(inputs, outputs):
        times = {"module": "keras.src.ops.numpy", "class_name": "Multiply", "config": {"name": "m"}, "name": "m"}
        config = functional([input_layer("i", 4), called(times, [tensor("i"), outputs[1]])], ["i"], ["m"])
        assert outputs[0] is inputs[0]
        return types.SimpleNamespace(to_json=lambda: json.dumps(config), layers=[])

    framework = types.ModuleType("keras_of_test")
    framework.Model, framework.Input = traced, lambda shape, batch_size, dtype: (batch_size, *shape, dtype)
    config = functional([input_layer("x", 4), called(layer("Lambda", "l"), [tensor("x")])], ["x"], ["l"])
    made = type("Model", (), {"__module__": "keras_of_test", "to_json": lambda self: json.dumps(config)})()
    made.layers = [type("Lambda", (Lambda,), {"__module__": "keras_of_test"})(function, *specs)]
    return framework, made


def test_a_function_of_a_live_model_is_traced(monkeypatch):
    framework, model = live(lambda xs, by, training: (xs[0], by), (None, 4))
    monkeypatch.setitem(sys.modules, "keras_of_test", framework)
    module, _ = relay.frontend.from_keras(model)
    x = random(3, 4)
    close(relay.compile(module)(x), 2.5 * x)


@pytest.mark.parametrize(("function", "specs", "said"), [
    (lambda xs, by: 1 / 0, [(None, 4)], "(ZeroDivisionError: division by zero)"),
    (lambda xs, by: (xs[0], by), [], "it is never called"),
])  # fmt: skip
def test_a_function_that_cannot_be_traced(monkeypatch, function, specs, said):
    framework, model = live(function, *specs)
    monkeypatch.setitem(sys.modules, "keras_of_test", framework)
    with pytest.raises(relay.CompileError) as raised:
        relay.frontend.from_keras(model)
    for text in ("Lambda: Keras cannot call its function on symbolic tensors", said, "custom_layers"):
        assert text in str(raised.value)
    module, _ = relay.frontend.from_keras(model, custom_layers={"l": lambda inputs, config, weights: -inputs[0]})
    close(relay.compile(module)(np.ones((1, 4), np.float32)), -np.ones((1, 4)))


def test_reports_name_layers():
    model = relay.compile(network())
    assert "Dense 'd'" in json.dumps(dict(model.report), default=str)


def test_sizes_and_their_conflicts():
    content = network()
    assert [port.shape for port in relay.compile(content).inputs] == [("batch", 4)]
    assert [port.shape for port in relay.compile(content, shapes={"x": (7, 4)}).inputs] == [(7, 4)]
    assert relay.load(content, shapes={"x": (-1, 4)})["main"].params[0].type_annotation.shape[1] == 4
    with pytest.raises(relay.InputError, match=r"the shape \(any, 4\) in the model, and \(0, 4\) is given"):
        relay.load(content, shapes={"x": (0, 4)})
    with pytest.raises(relay.InputError, match=r"the shape \(any, 4\) in the model, and \(7, 5\) is given"):
        relay.load(content, shapes={"x": (7, 5)})


def test_other_objects_are_refused():
    with pytest.raises(relay.InputError, match="the int is not a Keras model"):
        relay.frontend.from_keras(3)
