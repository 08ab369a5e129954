"""Layers of Caffe that OpenCV's reader lacks, against NumPy; forms of files; problems. test/frontends/caffe_run.py
compares the other layers with OpenCV."""

import numpy as np
import pytest
from protobuf_writer import caffemodel, message

import relay

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (2, 4, 5, 6)).astype(np.float32)
UNUSED = {"unused": [np.zeros(1, np.float32)]}
# Float32 against float64, relative to the largest value.
CLOSE = 2e-6


def network(layers, shape=X.shape, name="x"):
    return f'input: "{name}"\ninput_shape {{ {" ".join(f"dim: {one}" for one in shape)} }}\n{layers}'


def layer(kind, more="", bottoms=("x",), tops=("l",), name="l"):
    words = [*(f'bottom: "{one}"' for one in bottoms), *(f'top: "{one}"' for one in tops)]
    return f'layer {{ name: "{name}" type: "{kind}" {" ".join(words)} {more} }}\n'


def run(text, weights=None, *inputs):
    module, params = relay.frontend.from_caffe(caffemodel(weights or UNUSED), text)
    assert params == {}
    return relay.compile(module)(*(inputs or (X,)))


def check(got, wanted):
    got = np.asarray(got)
    assert got.shape == np.shape(wanted), (got.shape, np.shape(wanted))
    assert np.abs(got - wanted).max(initial=0) <= CLOSE * max(np.abs(wanted).max(initial=0), 1e-30)


D = X.astype(np.float64)
SIMPLE = {
    "Clip": ("clip_param { min: -0.5 max: 1 }", np.clip(D, -0.5, 1)),
    "Log": ("log_param { base: 2 scale: 0.5 shift: 3 }", np.log2(0.5 * D + 3)),
    "Swish": ("swish_param { beta: 2 }", D / (1 + np.exp(-2 * D))),
    "Threshold": ("threshold_param { threshold: 0.3 }", (D > 0.3).astype(float)),
    "Tile": ("tile_param { axis: 2 tiles: 3 }", np.tile(D, (1, 1, 3, 1))),
    "ArgMax": ("argmax_param { axis: 1 top_k: 2 }", np.argsort(-D, axis=1, kind="stable")[:, :2]),
    "Reduction": ("reduction_param { operation: ASUM axis: 2 coeff: 0.5 }", 0.5 * np.abs(D).sum((2, 3))),
    "MVN": ("mvn_param { eps: 0.01 }",
            (D - D.mean((2, 3), keepdims=True)) / (D.std((2, 3), keepdims=True) + 0.01)),
    "BatchNorm": ("batch_norm_param { use_global_stats: false eps: 0.1 }",
                  (D - D.mean((0, 2, 3), keepdims=True)) / np.sqrt(D.var((0, 2, 3), keepdims=True) + 0.1)),
}  # fmt: skip


@pytest.mark.parametrize("kind", SIMPLE)
def test_layers_against_numpy(kind):
    more, wanted = SIMPLE[kind]
    check(run(network(layer(kind, more))), wanted)


def test_kinds_of_reductions():
    for kind, wanted in (("SUM", D.sum((1, 2, 3))), ("SUMSQ", (D**2).sum((1, 2, 3))), ("MEAN", D.mean((1, 2, 3)))):
        check(run(network(layer("Reduction", f"reduction_param {{ operation: {kind} axis: 1 }}"))), wanted)


def test_argmax_over_whole_images():
    flat = D.reshape(2, 1, -1)
    wanted = np.concatenate([flat.argmax(2, keepdims=True), flat.max(2, keepdims=True)], axis=1)
    check(run(network(layer("ArgMax", "argmax_param { out_max_val: true }"))), wanted)


def test_bias_and_scale_with_two_inputs():
    both = layer("Slice", "slice_param { slice_point: 2 }", tops=("a", "b"), name="s")
    check(run(network(both + layer("Scale", "scale_param { axis: 0 }", ("a", "b")))), D[:, :2] * D[:, 2:])
    check(run(network(both + layer("Bias", "bias_param { axis: 0 }", ("a", "b")))), D[:, :2] + D[:, 2:])
    bias = RNG.uniform(size=4).astype(np.float32)
    check(run(network(layer("Bias")), {"l": [bias]}), D + bias[:, None, None])


def test_pools_that_round_down():
    more = "pooling_param { kernel_size: 2 stride: 3 round_mode: FLOOR }"
    assert np.asarray(run(network(layer("Pooling", more)))).shape == (2, 4, 2, 2)


def test_spatial_pyramid():
    got = run(network(layer("SPP", "spp_param { pyramid_height: 2 }")))
    padded = np.pad(D, ((0, 0), (0, 0), (1, 1), (0, 0)), constant_values=-np.inf)[
        :, :, :6
    ]  # windows of 3, padding of 1
    parts = padded.reshape(2, 4, 2, 3, 2, 3).max((3, 5)).reshape(2, -1)
    check(got, np.concatenate([D.max((2, 3)), parts], axis=1))


def test_embed_and_batch_reindex():
    table, bias = RNG.uniform(size=(7, 3)).astype(np.float32), RNG.uniform(size=3).astype(np.float32)
    ids = np.array([3, 6, 0], np.float32)
    more = "embed_param { input_dim: 7 num_output: 3 }"
    check(run(network(layer("Embed", more), (3,)), {"l": [table, bias]}, ids), table[[3, 6, 0]] + bias)
    two = network('input: "i" input_shape { dim: 3 }' + layer("BatchReindex", bottoms=("x", "i")))
    check(run(two, None, X, np.array([1, 0, 1], np.float32)), D[[1, 0, 1]])


def test_im2col_and_silence():
    both = layer("Im2col", "convolution_param { kernel_size: 2 stride: 2 }") + layer(
        "Split", "", ("x",), ("p", "q"), "s"
    )
    got = run(network(both + 'layer { name: "n" type: "Silence" bottom: "p" bottom: "q" }'))
    windows = np.lib.stride_tricks.sliding_window_view(D, (2, 2), (2, 3))[:, :, ::2, ::2]
    check(got, windows.transpose(0, 1, 4, 5, 2, 3).reshape(2, 16, 2, 3))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _recurrent(kind, steps=4, rows=3, inputs=5, size=2):
    shapes = {
        "LSTM": [(4 * size, inputs), (4 * size,), (4 * size, size)],
        "RNN": [(size, inputs), (size,), (size, size), (size, size), (size,)],
    }[kind]
    weights = [RNG.uniform(-1, 1, one).astype(np.float32) for one in shapes]
    x = RNG.uniform(-1, 1, (steps, rows, inputs)).astype(np.float32)
    goes_on = np.array([[0, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1]], np.float32)
    text = f'input: "c" input_shape {{ dim: {steps} dim: {rows} }}'
    more = f"recurrent_param {{ num_output: {size} }}"
    got = run(network(text + layer(kind, more, ("x", "c")), x.shape), {"l": weights}, x, goes_on)
    return got, [one.astype(np.float64) for one in weights], x.astype(np.float64), goes_on


def test_lstm():
    got, (w, b, r), x, goes_on = _recurrent("LSTM")
    h, c, wanted = np.zeros((3, 2)), np.zeros((3, 2)), []
    for step, on in zip(x, goes_on[:, :, None], strict=True):
        i, f, o, g = np.split(step @ w.T + b + (on * h) @ r.T, 4, axis=1)
        c = on * sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        wanted.append(h)
    check(got, np.stack(wanted))


def test_rnn():
    got, (w, b, r, o, a), x, goes_on = _recurrent("RNN")
    h, wanted = np.zeros((3, 2)), []
    for step, on in zip(x, goes_on[:, :, None], strict=True):
        h = np.tanh(step @ w.T + b + (on * h) @ r.T)
        wanted.append(np.tanh(h @ o.T + a))
    check(got, np.stack(wanted))


# --- forms of files ---------------------------------------------------------------------------------------------------
PRODUCT = "inner_product_param { num_output: 3 }"
WEIGHTS = {"fc": [RNG.uniform(size=(3, 4)).astype(np.float32), RNG.uniform(size=3).astype(np.float32)]}
Y = RNG.uniform(size=(2, 4)).astype(np.float32)
WANTED = Y.astype(np.float64) @ WEIGHTS["fc"][0].T.astype(np.float64) + WEIGHTS["fc"][1]
NEW = network(layer("InnerProduct", PRODUCT, name="fc"), Y.shape)


def test_files_by_name(tmp_path):
    (tmp_path / "net.prototxt").write_text(NEW)
    (tmp_path / "net.caffemodel").write_bytes(caffemodel(WEIGHTS))
    for end in ("prototxt", "caffemodel"):
        module, _ = relay.frontend.files.import_file(str(tmp_path / f"net.{end}"), {})
        check(relay.compile(module)(Y), WANTED)


class Message:
    """A message of caffe_pb2."""

    DESCRIPTOR = None

    def __init__(self, text, content):
        self.text, self.content = text, content

    def __str__(self):
        return self.text

    def SerializeToString(self):
        return self.content


def test_messages_paths_and_types(tmp_path):
    (tmp_path / "n").write_text(NEW)
    (tmp_path / "w").write_bytes(caffemodel(WEIGHTS))
    for weights, network in (
        (Message("", caffemodel(WEIGHTS)), Message(NEW, b"")),
        (tmp_path / "w", str(tmp_path / "n")),
    ):
        module, _ = relay.frontend.from_caffe(weights, network, {"x": (2, 4)}, {"x": "float32"})
        check(relay.compile(module)(Y), WANTED)
    with pytest.raises(relay.CompileError, match="computes in float32"):
        relay.frontend.from_caffe(caffemodel(WEIGHTS), NEW, None, {"x": "float64"})
    with pytest.raises(relay.CompileError, match="the int is given as the weights"):
        relay.frontend.from_caffe(3, NEW)


def test_layers_of_2013():
    old = f'layers {{ name: "fc" type: INNER_PRODUCT bottom: "x" top: "l" {PRODUCT} }} input: "x" ' + "".join(
        f"input_dim: {one} " for one in (2, 4, 1, 1)
    )
    blobs = [(6, [(1, 1), (2, 1), (3, one.shape[0] if one.ndim > 1 else 1), (4, one.shape[-1]), (5, one.reshape(-1))])
             for one in WEIGHTS["fc"]]  # fmt: skip
    module, _ = relay.frontend.from_caffe(message([(2, [(4, "fc"), *blobs])]), old)
    check(relay.compile(module)(Y.reshape(2, 4, 1, 1)), WANTED)


def test_rules_choose_layers():
    text = network(
        layer("Dropout", "include { phase: TRAIN }", tops=("x",), name="d")
        + layer("Power", "power_param { power: 2 } exclude { phase: TEST }", name="p")
        + layer("Power", "power_param { scale: 3 } include { phase: TEST }"),
        Y.shape,
    )
    check(run(text, None, Y), 3.0 * Y)


def test_shapes_and_custom_layers():
    text = NEW.replace("InnerProduct", "Mine").replace(PRODUCT, "my_param { by: 2 }")
    module, _ = relay.frontend.from_caffe(
        caffemodel(UNUSED), text, {"x": (5, 4)},
        custom_layers={"Mine": lambda inputs, parameters: relay.multiply(
            inputs[0], relay.const(float(parameters["my_param.by"][0])))},
    )  # fmt: skip
    check(relay.compile(module)(np.ones((5, 4), np.float32)), np.full((5, 4), 2.0))


# --- problems ---------------------------------------------------------------------------------------------------------
def refused(text, weights, *said):
    with pytest.raises(relay.CompileError) as raised:
        relay.frontend.from_caffe(weights if isinstance(weights, bytes) else caffemodel(weights), text)
    told = str(raised.value)
    assert "help:" in told and "bug in Relay" not in told, told
    for one in said:
        assert one in told, told


@pytest.mark.parametrize(
    ("text", "weights", "said"),
    [
        (NEW.replace("InnerProduct", "Mine") + layer("Data", name="d", tops=("d",)), WEIGHTS,
         ["operator Mine is not imported", "`Mine 'fc'`", "Data: it has a meaning in training only",
             "deploy.prototxt"]),
        (NEW, {"fc1": WEIGHTS["fc"]}, ["no layer `fc`", "`fc1`"]),
        (NEW, {"fc": WEIGHTS["fc"][:1]}, ["1 blobs", "the bias is the number 2"]),
        (NEW, {"fc": [np.ones((3, 5)), np.ones(3)]}, ["the matrix has the shape (3, 5)", "not (3, 4)"]),
        (NEW.replace("num_output: 3", "num_output: 3 sharpness: 2"), WEIGHTS,
            ["`inner_product_param.sharpness` is not known"]),
        (NEW.replace("num_output: 3", "num_output: -3"), WEIGHTS, ["`num_output` is '-3'"]),
        (NEW.replace('bottom: "x"', 'bottom: "y"'), WEIGHTS, ["no node before computes its input `y`"]),
        (layer("ReLU", bottoms=("a",), tops=("b",)) + layer("ReLU", bottoms=("b",), tops=("a",)), UNUSED, ["cycle"]),
        ("layer { name: 3", WEIGHTS, ["line 1", "the end"]),
        ("name: 'net'\n", WEIGHTS, ["has no layers"]),
        ('layer { name: "a" type: "ReLU" bottom: "x" top: { } }', WEIGHTS, ["`top` of layer 0", "not a text"]),
        (NEW.replace("dim: 4", "dim: -4"), WEIGHTS, ["the input shape [2, -4]"]),
        (b"\0\1\2", WEIGHTS, ["not a text: byte 0 is zero"]),
        (b'"\xed" layer { }', WEIGHTS, ["line 1: a field is expected"]),
        (NEW, caffemodel(WEIGHTS)[:-3], ["damaged at byte", "are left"]),
        (NEW, b"\x07" + caffemodel(WEIGHTS), ["damaged at byte 0"]),
        (NEW, b"PK\x03\x04 a zip file", ["<weights>"]),
        (NEW, message([(100, [(1, "fc"), (7, [(7, [(1, np.array([3, 4]))]), (5, np.ones(5, np.float32))])])]),
         ["5 elements for the shape [3, 4]"]),
        ("layer {" * 300 + "}" * 300, WEIGHTS, ["inside of 100 others"]),
    ],
)  # fmt: skip
def test_problems(text, weights, said):
    refused(text, weights, *said)


def test_everything_that_is_missing_is_told_at_once():
    refused(network(layer("One") + layer("Two") + layer("Three")), UNUSED, "One", "Two", "Three")


def test_a_file_alone(tmp_path):
    (tmp_path / "net.prototxt").write_text(NEW)
    with pytest.raises(relay.CompileError, match="no .caffemodel file is beside it"):
        relay.frontend.files.import_file(str(tmp_path / "net.prototxt"), {})
    for name in ("a.caffemodel", "b.caffemodel"):
        (tmp_path / name).write_bytes(caffemodel(WEIGHTS))
    with pytest.raises(relay.CompileError, match="several files beside"):
        relay.frontend.files.import_file(str(tmp_path / "net.prototxt"), {})


@pytest.mark.parametrize("seed", range(60))
def test_changed_bytes(seed):
    rng = np.random.default_rng(seed)
    text, weights = bytearray(NEW.encode()), bytearray(caffemodel(WEIGHTS))
    for content in (text, weights):
        for _ in range(int(rng.integers(1, 4))):
            content[rng.integers(len(content))] = rng.integers(256)
    try:
        relay.frontend.from_caffe(bytes(weights), bytes(text))
    except relay.CompileError as error:
        assert "help:" in str(error) and "bug in Relay" not in str(error), str(error)
