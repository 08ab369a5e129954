"""MobileNetV2 with random weights, as ONNX and quantised."""

import numpy as np
import onnx
from onnx import helper, numpy_helper
from programs import cli

# Expansion, channels, number and first stride of the blocks: arxiv.org/abs/1801.04381, table 2.
BLOCKS = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]


def _multiple_of_8(channels):
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded


def write_onnx(path, size, width, classes=1000):
    """Writes the network for images of size x size; `width` scales the channels."""
    random = np.random.default_rng(0)
    nodes, weights = [], []

    def weight(name, value):
        weights.append(numpy_helper.from_array(np.asarray(value, np.float32), name))
        return name

    def conv(x, inputs, outputs, kernel, stride, groups=1, act=True):
        name = f"v{len(nodes)}"
        shape = (outputs, inputs // groups, kernel, kernel)
        w = random.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))
        arguments = [x, weight(f"w{name}", w), weight(f"b{name}", random.standard_normal(outputs) * 0.1)]
        pads = [kernel // 2] * 4
        nodes.append(helper.make_node("Conv", arguments, [name], pads=pads, strides=[stride] * 2, group=groups))
        if not act:
            return name
        bounds = [weight(f"{name}lo", 0), weight(f"{name}hi", 6)]
        nodes.append(helper.make_node("Clip", [name, *bounds], [f"{name}a"]))
        return f"{name}a"

    channels = _multiple_of_8(32 * width)
    x = conv("image", 3, channels, 3, 2)
    for expand, outputs, count, first_stride in BLOCKS:
        outputs = _multiple_of_8(outputs * width)
        for k in range(count):
            stride, hidden = first_stride if k == 0 else 1, channels * expand
            y = conv(x, channels, hidden, 1, 1) if expand > 1 else x
            y = conv(conv(y, hidden, hidden, 3, stride, hidden), hidden, outputs, 1, 1, act=False)
            if stride == 1 and channels == outputs:
                nodes.append(helper.make_node("Add", [x, y], [f"s{len(nodes)}"]))
                y = nodes[-1].output[0]
            x, channels = y, outputs
    x = conv(x, channels, 1280, 1, 1)
    nodes.append(helper.make_node("GlobalAveragePool", [x], ["pooled"]))
    nodes.append(helper.make_node("Flatten", ["pooled"], ["flat"]))
    head = weight("head", random.standard_normal((1280, classes)) / 36)
    nodes.append(helper.make_node("MatMul", ["flat", head], ["logits"]))
    image = helper.make_tensor_value_info("image", onnx.TensorProto.FLOAT, (1, 3, size, size))
    logits = helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "mobilenet_v2", [image], [logits], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def quantised(folder, size, width):
    """The file of the network with int8 values and weights, as a Relay program."""
    model, data, out = folder / "network.onnx", folder / "images.npz", folder / "int8.relay"
    write_onnx(model, size, width)
    images = np.random.default_rng(1).standard_normal((2, 3, size, size))
    np.savez(data, image=images.astype(np.float32))
    words = ["--data", data, "--keep-float", "never", "--time", "0", "-o", out]
    done = cli("quantize", model, *words, timeout=300)
    assert done.returncode == 0, done.stderr
    return out
