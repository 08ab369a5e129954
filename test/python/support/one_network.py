"""A small network in the files of every format, written without the frameworks.

The network: a convolution with a bias, relu, a maximum pool, the mean over space, a matrix with a bias, softmax. Its
input `x` (DarkNet: `data`) is an image of 3 channels, 8 x 8; the result has 5 probabilities.
"""

import json
import pathlib
import struct
import sys

import numpy as np

for _folder in ("keras", "tensorflow_import", "tflite", "coreml"):
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / _folder))

import coreml_files  # noqa: E402
import keras_files  # noqa: E402
import tensorflow_files as tf  # noqa: E402
import writer  # noqa: E402
from paddle_writer import parameters, program  # noqa: E402
from protobuf_writer import caffemodel, net_def  # noqa: E402

_rng = np.random.default_rng(0)
KERNEL, BIAS, MATRIX, OFFSET = (
    _rng.uniform(-1, 1, shape).astype(np.float32) for shape in ((4, 3, 3, 3), (4,), (5, 4), (5,))
)
SHAPE = (1, 3, 8, 8)
IMAGE = _rng.uniform(-1, 1, SHAPE).astype(np.float32)
# By format: the file to load. Its input is an image with the channels last if the format is in LAST.
FILES = {
    "onnx": "net.onnx", "tflite": "net.tflite", "keras": "net.keras", "keras 2": "net.h5", "tensorflow": "graph.pb",
    "mxnet": "net-symbol.json", "caffe2": "predict_net.pb", "caffe": "net.prototxt", "darknet": "net.cfg",
    "coreml": "net.mlmodel", "paddle": "net.pdmodel", "oneflow": "oneflow",
}  # fmt: skip
LAST = {"tflite", "keras", "keras 2", "tensorflow"}


def probabilities() -> np.ndarray:
    """The result for IMAGE, (1, 5), in float64."""
    padded = np.pad(IMAGE.astype(np.float64), [(0, 0), (0, 0), (1, 1), (1, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    made = np.einsum("nchwij,ocij->nohw", windows, KERNEL.astype(np.float64)) + BIAS[:, None, None]
    made = np.maximum(made, 0).reshape(1, 4, 4, 2, 4, 2).max((3, 5)).mean((2, 3)) @ MATRIX.T + OFFSET
    return np.exp(made) / np.exp(made).sum(axis=1, keepdims=True)


def write(folder: pathlib.Path) -> None:
    """Writes the network in all formats of FILES."""
    for make in (_onnx, _tflite, _keras, _tensorflow, _mxnet, _caffe2, _caffe, _darknet, _coreml, _paddle, _oneflow):
        make(folder)


def _onnx(folder):
    import onnx
    from onnx import helper

    weights = {"w": KERNEL, "b": BIAS, "m": MATRIX, "o": OFFSET}
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["p"], ["g"]),
        helper.make_node("Flatten", ["g"], ["f"]),
        helper.make_node("Gemm", ["f", "m", "o"], ["d"], transB=1),
        helper.make_node("Softmax", ["d"], ["y"]),
    ]
    x, y = (
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, sizes)
        for name, sizes in (("x", SHAPE), ("y", (1, 5)))
    )
    held = [onnx.numpy_helper.from_array(one, name) for name, one in weights.items()]
    made = helper.make_graph(nodes, "net", [x], [y], held)
    onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), folder / "net.onnx")


def _tflite(folder):
    m = writer.Model()
    x = m.input("x", [1, 8, 8, 3])
    parts = m.constant("w", KERNEL.transpose(0, 2, 3, 1)), m.constant("b", BIAS)
    relu, how = writer.ACTIVATIONS["relu"], {"padding": writer.SAME}
    c = m.op("CONV_2D", [x, *parts], [m.tensor("c", [1, 8, 8, 4])], stride_w=1, stride_h=1,
             fused_activation_function=relu, **how)  # fmt: skip
    p = m.op("MAX_POOL_2D", [c], [m.tensor("p", [1, 4, 4, 4])], stride_w=2, stride_h=2, filter_width=2,
             filter_height=2, padding=writer.VALID)  # fmt: skip
    g = m.op("MEAN", [p, m.constant("axes", np.int32([1, 2]))], [m.tensor("g", [1, 4])], keep_dims=False)
    d = m.op("FULLY_CONNECTED", [g, m.constant("m", MATRIX), m.constant("o", OFFSET)], [m.tensor("d", [1, 5])])
    m.outputs(m.op("SOFTMAX", [d], [m.tensor("y", [1, 5])], beta=1.0))
    (folder / "net.tflite").write_bytes(m.bytes())


def _keras(folder):
    layers = [
        keras_files.input_layer("x", 8, 8, 3),
        keras_files.layer("Conv2D", "conv", filters=4, kernel_size=[3, 3], padding="same", activation="relu"),
        keras_files.layer("MaxPooling2D", "pool", pool_size=[2, 2]),
        keras_files.layer("GlobalAveragePooling2D", "mean"),
        keras_files.dense("dense", 5, activation="softmax"),
    ]
    config = keras_files.sequential(*layers)
    kernel = KERNEL.transpose(2, 3, 1, 0)
    stored = {"layers/conv2d": [kernel, BIAS], "layers/dense": [MATRIX.T, OFFSET]}
    (folder / "net.keras").write_bytes(keras_files.archive(config, stored))
    named = {"conv": [("kernel", kernel), ("bias", BIAS)], "dense": [("kernel", MATRIX.T), ("bias", OFFSET)]}
    (folder / "net.h5").write_bytes(keras_files.old_file(config, named))


def _tensorflow(folder):
    kind = tf.Type("float32")
    graph = tf.graph([
        tf.placeholder("x", 1, 8, 8, 3), tf.const("w", KERNEL.transpose(2, 3, 1, 0)), tf.const("b", BIAS),
        tf.node("c", "Conv2D", "x", "w", T=kind, strides=[1, 1, 1, 1], padding="SAME"),
        tf.node("a", "BiasAdd", "c", "b", T=kind), tf.node("r", "Relu", "a", T=kind),
        tf.node("p", "MaxPool", "r", T=kind, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID"),
        tf.const("axes", np.int32([1, 2])),
        tf.node("g", "Mean", "p", "axes", T=kind, Tidx=tf.Type("int32"), keep_dims=False),
        tf.const("m", np.ascontiguousarray(MATRIX.T)), tf.node("d", "MatMul", "g", "m", T=kind),
        tf.const("o", OFFSET), tf.node("s", "BiasAdd", "d", "o", T=kind), tf.node("y", "Softmax", "s", T=kind),
    ])  # fmt: skip
    (folder / "graph.pb").write_bytes(graph)


def _mxnet(folder):
    names = ["x", "w", "b", "m", "o"]
    nodes = [{"op": "null", "name": name, "inputs": []} for name in names]
    for kind, attributes, reads in (
        ("Convolution", {"kernel": "(3, 3)", "num_filter": "4", "pad": "(1, 1)"}, [0, 1, 2]),
        ("Activation", {"act_type": "relu"}, [5]),
        ("Pooling", {"kernel": "(2, 2)", "stride": "(2, 2)", "pool_type": "max"}, [6]),
        ("Pooling", {"global_pool": "True", "kernel": "(1, 1)", "pool_type": "avg"}, [7]),
        ("FullyConnected", {"num_hidden": "5"}, [8, 3, 4]),
        ("softmax", {}, [9]),
    ):
        made = {"op": kind, "name": f"n{len(nodes)}", "attrs": attributes, "inputs": [[one, 0, 0] for one in reads]}
        nodes.append(made)
    symbol = {"nodes": nodes, "arg_nodes": list(range(len(names))), "heads": [[len(nodes) - 1, 0, 0]]}
    (folder / "net-symbol.json").write_text(json.dumps(symbol))
    arrays = {"w": KERNEL, "b": BIAS, "m": MATRIX, "o": OFFSET}
    content = struct.pack("<QQQ", 0x112, 0, len(arrays))
    for one in arrays.values():
        content += struct.pack("<IiI", 0xF993FAC9, 0, one.ndim) + struct.pack(f"<{one.ndim}q", *one.shape)
        content += struct.pack("<iii", 1, 0, 0) + one.tobytes()
    content += struct.pack("<Q", len(arrays))
    for name in arrays:
        content += struct.pack("<Q", len(name) + 4) + f"arg:{name}".encode()
    (folder / "net-0000.params").write_bytes(content)


def _caffe2(folder):
    weights = {"w": KERNEL, "b": BIAS, "m": MATRIX, "o": OFFSET}
    fills = [
        ("GivenTensorFill", [], [name], {"shape": list(one.shape), "values": one}) for name, one in weights.items()
    ]
    (folder / "init_net.pb").write_bytes(net_def(fills, outputs=weights))
    layers = [
        ("Conv", ["x", "w", "b"], ["c"], {"kernel": 3, "pad": 1, "stride": 1}),
        ("Relu", ["c"], ["c"], {}),
        ("MaxPool", ["c"], ["p"], {"kernel": 2, "stride": 2}),
        ("AveragePool", ["p"], ["g"], {"global_pooling": 1}),
        ("FC", ["g", "m", "o"], ["d"], {}),
        ("Softmax", ["d"], ["y"], {}),
    ]
    (folder / "predict_net.pb").write_bytes(net_def(layers, ["x", *weights], ["y"]))


def _caffe(folder):
    def layer(kind, bottom, top, more=""):
        return f'layer {{ name: "{top}{kind}" type: "{kind}" bottom: "{bottom}" top: "{top}" {more} }}\n'

    text = 'input: "x"\ninput_shape { dim: 1 dim: 3 dim: 8 dim: 8 }\n'
    text += layer("Convolution", "x", "c", "convolution_param { num_output: 4 kernel_size: 3 pad: 1 }")
    text += layer("ReLU", "c", "c")
    text += layer("Pooling", "c", "p", "pooling_param { pool: MAX kernel_size: 2 stride: 2 }")
    text += layer("Pooling", "p", "g", "pooling_param { pool: AVE global_pooling: true }")
    text += layer("InnerProduct", "g", "d", "inner_product_param { num_output: 5 }")
    text += layer("Softmax", "d", "y")
    (folder / "net.prototxt").write_text(text)
    weights = {"cConvolution": [KERNEL, BIAS], "dInnerProduct": [MATRIX, OFFSET]}
    (folder / "net.caffemodel").write_bytes(caffemodel(weights))


def _darknet(folder):
    (folder / "net.cfg").write_text(
        "[net]\nchannels=3\nheight=8\nwidth=8\n\n[convolutional]\nfilters=4\nsize=3\nstride=1\npad=1\n"
        "activation=relu\n\n[maxpool]\nsize=2\nstride=2\n\n[avgpool]\n\n[connected]\noutput=5\n"
        "activation=linear\n\n[softmax]\n"
    )
    arrays = BIAS, KERNEL, OFFSET, MATRIX
    content = struct.pack("<iiiQ", 0, 2, 0, 0) + b"".join(one.tobytes() for one in arrays)
    (folder / "net.weights").write_bytes(content)


def _coreml(folder):
    held, layer = coreml_files.weights, coreml_files.layer
    kernel = [(1, 4), (2, 3), (20, np.array([3, 3])), (51, []), (70, True), (90, held(KERNEL)), (91, held(BIAS))]
    pool = [(1, 0), (10, np.array([2, 2])), (20, np.array([2, 2])), (30, [])]
    matrix = [(1, 4), (2, 5), (10, True), (20, held(MATRIX)), (21, held(OFFSET))]
    content = coreml_files.network(
        layer("convolution", "conv", "x", "c", kernel), layer("activation", "relu", "c", "r", [(10, [])]),
        layer("pooling", "pool", "r", "p", pool), layer("pooling", "mean", "p", "g", [(1, 1), (60, True)]),
        layer("flattenTo2D", "flat", "g", "f", [(1, 1)]), layer("innerProduct", "dense", "f", "d", matrix),
        layer("softmaxND", "soft", "d", "y", [(1, 1)]),
    )  # fmt: skip
    made = coreml_files.model(500, content, [coreml_files.array("x", *SHAPE)], [coreml_files.array("y")])
    (folder / "net.mlmodel").write_bytes(made)


def _paddle(folder):
    weights = {"w": KERNEL, "b": BIAS, "m": np.ascontiguousarray(MATRIX.T), "o": OFFSET}
    pool = {"ksize": [2, 2], "strides": [2, 2], "paddings": [0, 0]}
    operators = [
        ("conv2d", {"Input": ["x"], "Filter": ["w"]}, {"Output": ["c"]},
         {"strides": [1, 1], "paddings": [1, 1], "dilations": [1, 1], "groups": 1}),
        ("elementwise_add", {"X": ["c"], "Y": ["b"]}, {"Out": ["a"]}, {"axis": 1}),
        ("relu", {"X": ["a"]}, {"Out": ["r"]}, {}),
        ("pool2d", {"X": ["r"]}, {"Out": ["p"]}, {**pool, "pooling_type": "max", "global_pooling": False}),
        ("pool2d", {"X": ["p"]}, {"Out": ["g"]}, {**pool, "pooling_type": "avg", "global_pooling": True}),
        ("flatten_contiguous_range", {"X": ["g"]}, {"Out": ["f"]}, {"start_axis": 1, "stop_axis": 3}),
        ("matmul_v2", {"X": ["f"], "Y": ["m"]}, {"Out": ["d"]}, {"trans_x": False, "trans_y": False}),
        ("elementwise_add", {"X": ["d"], "Y": ["o"]}, {"Out": ["s"]}, {"axis": -1}),
        ("softmax", {"X": ["s"]}, {"Out": ["y"]}, {"axis": -1}),
    ]  # fmt: skip
    (folder / "net.pdmodel").write_bytes(program(operators, {"x": SHAPE}, ["y"], weights))
    (folder / "net.pdiparams").write_bytes(parameters(weights))


def _oneflow(folder):
    weights = {"w": KERNEL, "b": BIAS, "m": MATRIX, "o": OFFSET}
    place = folder / "oneflow"
    place.mkdir()
    lines = []

    def add(result, kind, operands="", sizes="", **attributes):
        """Adds an operation; sizes: of its operands, then of its result, each as "1x3x8x8"."""
        *taken, made = (f"tensor<{one}xf32>" for one in sizes.split())
        held = ", ".join(f"{name} = {value}" for name, value in {"op_name": f'"{result}"', **attributes}.items())
        reads = ", ".join(f"%{one}" for one in operands.split())
        lines.append(f'%{result} = "oneflow.{kind}"({reads}) {{{held}}} : ({", ".join(taken)}) -> {made}')

    def ints(*values):
        return f"[{', '.join(f'{one} : si32' for one in values)}]"

    first, no = '"channels_first"', "false"
    add("x", "input", "arg0", "1x3x8x8 1x3x8x8")
    for name, one in weights.items():
        add(name, "variable", "", "x".join(map(str, one.shape)))
        (place / name).mkdir()
        dims = " ".join(f"dim: {size}" for size in one.shape)
        (place / name / "meta").write_text(f"shape {{ {dims} }}\ndata_type: 2\n")
        (place / name / "out").write_bytes(one.tobytes())
    add("c", "conv2d", "x w", "1x3x8x8 4x3x3x3 1x4x8x8", data_format=first, kernel_size=ints(3, 3),
        filters="4 : si32", groups="1 : si32", strides=ints(1, 1), padding_before=ints(1, 1),
        dilation_rate=ints(1, 1))  # fmt: skip
    add("a", "bias_add", "c b", "1x4x8x8 4 1x4x8x8", axis="1 : si32")
    add("r", "relu", "a", "1x4x8x8 1x4x8x8")
    add("p", "max_pool_2d", "r", "1x4x8x8 1x4x4x4", data_format=first, kernel_size=ints(2, 2), stride=ints(2, 2),
        padding=ints(0, 0), dilation=ints(1, 1), ceil_mode=no)  # fmt: skip
    add("g", "adaptive_avg_pool2d", "p", "1x4x4x4 1x4x1x1", output_size=ints(1, 1))
    add("f", "flatten", "g", "1x4x1x1 1x4", start_dim="1 : si32", end_dim="-1 : si32")
    add("d", "matmul", "f m", "1x4 5x4 1x5", transpose_a=no, transpose_b="true")
    add("s", "bias_add", "d o", "1x5 5 1x5", axis="1 : si32")
    add("y", "softmax", "s", "1x5 1x5")
    add("out", "output", "y", "1x5 1x5")
    body = "\n    ".join([*lines, "oneflow.return %out : tensor<1x5xf32>"])
    head = "oneflow.job @Graph_0(%arg0: tensor<1x3x8x8xf32>) -> tensor<1x5xf32>"
    (place / "model.mlir").write_text(f"module {{\n  {head} {{\n    {body}\n  }}\n}}\n")
