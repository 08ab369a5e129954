"""A convolutional network with int8 values and weights, as for visual wake words on small processors, as files of two
forms: TFLite, with fixed-point factors, and ONNX with QLinearConv.

It is MobileNetV1 with a quarter of its channels on images of 96x96 pixels, with random weights, a scale for each output
channel, and a range of values for each layer that the network in float32 has on a random image.
"""

import pathlib
import sys
from dataclasses import dataclass

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/python/tflite"))

import writer  # noqa: E402

SIZE, CLASSES = 96, 2
# Channels of the result and stride of each separable layer.
SEPARABLE = [(16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5, (256, 2), (256, 1)]
INPUT_SCALE, INPUT_ZERO = np.float32(2 / 255), -1
RELU_ZERO = -128  # of values that are not negative
SOFTMAX_SCALE, SOFTMAX_ZERO = np.float32(1 / 256), -128


@dataclass
class Layer:
    """A convolution with ReLU; depthwise, or over all channels."""

    stride: int
    depthwise: bool
    weight: np.ndarray  # int8 [outputs, kernel, kernel, inputs]; depthwise: [outputs, kernel, kernel, 1]
    scales: np.ndarray  # of the outputs' weights
    bias: np.ndarray  # int32, in units of the input's scale times the weight's
    out_scale: np.float32
    size: int  # rows and columns of the result

    @property
    def kernel(self):
        return self.weight.shape[1]

    @property
    def multiply_adds(self):
        return self.size * self.size * self.weight.size

    def padding(self):
        """Rows before and after, as TensorFlow's SAME has them."""
        total = max((self.size - 1) * self.stride + self.kernel - self.size * self.stride, 0)
        return total // 2, total - total // 2


def windows(x, kernel, stride, size, padding):
    """x [rows, columns, channels] as [size, size, kernel, kernel, channels]."""
    x = np.pad(x, (padding, padding, (0, 0)))
    all_windows = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), (0, 1))
    return all_windows[::stride, ::stride][:size, :size].transpose(0, 1, 3, 4, 2)


class Network:
    def __init__(self):
        random = np.random.default_rng(7)
        self.layers, size, channels, scale = [], SIZE, 3, INPUT_SCALE
        self.image = random.integers(-128, 128, (1, SIZE, SIZE, 3), dtype=np.int8)
        values = (self.image[0].astype(np.float32) - INPUT_ZERO) * INPUT_SCALE

        def convolution(outputs, kernel, stride, depthwise):
            nonlocal values, size, channels, scale
            size //= stride
            inputs = 1 if depthwise else channels
            shape = (outputs, kernel, kernel, inputs)
            real = random.standard_normal(shape) * (2 / (kernel * kernel * inputs)) ** 0.5
            scales = (np.abs(real).max((1, 2, 3)) / 127).astype(np.float32)
            weight = np.rint(real / scales[:, None, None, None]).astype(np.int8)
            bias = np.rint(random.standard_normal(outputs) * 0.1 / (scale * scales)).astype(np.int32)
            layer = Layer(stride, depthwise, weight, scales, bias, np.float32(0), size)
            taken = windows(values, kernel, stride, size, layer.padding())
            form = "yxijo,oijk->yxo" if depthwise else "yxijk,oijk->yxo"
            sums = np.einsum(form, taken, weight * scales[:, None, None, None], optimize=True)
            values = np.maximum(sums + bias * (scale * scales), 0).astype(np.float32)
            layer.out_scale = scale = np.float32(values.max() / 255)
            channels = outputs
            self.layers.append(layer)

        convolution(8, 3, 2, False)
        for outputs, stride in SEPARABLE:
            convolution(channels, 3, stride, True)
            convolution(outputs, 1, 1, False)
        self.pooled_scale = np.float32(values.mean((0, 1)).max() / 255)
        real = random.standard_normal((CLASSES, channels)) * channels**-0.5
        self.dense_scale = np.float32(np.abs(real).max() / 127)
        self.dense = np.rint(real / self.dense_scale).astype(np.int8)
        self.dense_bias = np.zeros(CLASSES, np.int32)
        scores = real @ values.mean((0, 1))
        self.score_scale = np.float32(np.abs(scores).max() / 100)
        self.expected = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()

    @property
    def multiply_adds(self):
        return sum(layer.multiply_adds for layer in self.layers) + self.dense.size

    def tflite(self):
        m = writer.Model()
        x, size, channels = m.input("image", [1, SIZE, SIZE, 3], "int8", scale=INPUT_SCALE, zero=INPUT_ZERO), SIZE, 3
        scale = INPUT_SCALE
        for i, layer in enumerate(self.layers):
            size, channels = layer.size, layer.weight.shape[0]
            weight, axis = layer.weight, 0
            if layer.depthwise:
                weight, axis = layer.weight.transpose(3, 1, 2, 0), 3
            w = m.constant(f"w{i}", weight, scale=layer.scales, axis=axis)
            b = m.constant(f"b{i}", layer.bias, scale=scale * layer.scales)
            y = m.tensor(f"y{i}", [1, size, size, channels], "int8", scale=layer.out_scale, zero=RELU_ZERO)
            options = {"padding": writer.SAME, "stride_w": layer.stride, "stride_h": layer.stride,
                       "fused_activation_function": writer.ACTIVATIONS["relu"], "dilation_w_factor": 1,
                       "dilation_h_factor": 1}  # fmt: skip
            if layer.depthwise:
                x = m.op("DEPTHWISE_CONV_2D", [x, w, b], [y], version=3, depth_multiplier=1, **options)
            else:
                x = m.op("CONV_2D", [x, w, b], [y], version=3, **options)
            scale = layer.out_scale
        axes = m.constant("axes", np.int32([1, 2]))
        pooled = m.tensor("pooled", [1, channels], "int8", scale=self.pooled_scale, zero=RELU_ZERO)
        x = m.op("MEAN", [x, axes], [pooled], version=2, keep_dims=False)
        w = m.constant("dense", self.dense, scale=self.dense_scale)
        b = m.constant("dense_bias", self.dense_bias, scale=self.pooled_scale * self.dense_scale)
        scores = m.tensor("scores", [1, CLASSES], "int8", scale=self.score_scale, zero=0)
        x = m.op("FULLY_CONNECTED", [x, w, b], [scores], version=4)
        y = m.tensor("probabilities", [1, CLASSES], "int8", scale=SOFTMAX_SCALE, zero=SOFTMAX_ZERO)
        m.outputs(m.op("SOFTMAX", [x], [y], version=2, beta=1.0))
        return m.bytes()

    def onnx(self):
        from onnx import TensorProto, checker, helper, numpy_helper

        nodes, constants = [], []

        def constant(name, value, dtype):
            constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
            return name

        def node(op, inputs, output, **attributes):
            nodes.append(helper.make_node(op, inputs, [output], **attributes))
            return output

        def pair(name, scale, zero):
            return [constant(f"{name}_scale", scale, np.float32), constant(f"{name}_zero", zero, np.int8)]

        x, x_pair = "image", pair("image", INPUT_SCALE, INPUT_ZERO)
        for i, layer in enumerate(self.layers):
            outputs = layer.weight.shape[0]
            w = constant(f"w{i}", layer.weight.transpose(0, 3, 1, 2), np.int8)
            w_pair = pair(f"w{i}", layer.scales, np.zeros(outputs))
            y_pair = pair(f"y{i}", layer.out_scale, RELU_ZERO)
            b = constant(f"b{i}", layer.bias, np.int32)
            before, after = layer.padding()
            x = node("QLinearConv", [x, *x_pair, w, *w_pair, *y_pair, b], f"y{i}", strides=[layer.stride] * 2,
                     pads=[before, before, after, after], kernel_shape=[layer.kernel] * 2,
                     group=outputs if layer.depthwise else 1)  # fmt: skip
            x_pair = y_pair
        pooled, score = pair("pooled", self.pooled_scale, RELU_ZERO), pair("score", self.score_scale, 0)
        x = node("GlobalAveragePool", [node("DequantizeLinear", [x, *x_pair], "last_real")], "pooled_real")
        x = node("Flatten", [node("QuantizeLinear", [x, *pooled], "pooled")], "flat")
        w = constant("dense", self.dense.T, np.int8)
        x = node("QLinearMatMul", [x, *pooled, w, *pair("dense", self.dense_scale, 0), *score], "scores")
        x = node("Softmax", [node("DequantizeLinear", [x, *score], "scores_real")], "softmax", axis=1)
        node("QuantizeLinear", [x, *pair("probabilities", SOFTMAX_SCALE, SOFTMAX_ZERO)], "probabilities")
        graph = helper.make_graph(
            nodes, "network", [helper.make_tensor_value_info("image", TensorProto.INT8, [1, 3, SIZE, SIZE])],
            [helper.make_tensor_value_info("probabilities", TensorProto.INT8, [1, CLASSES])], constants,
        )  # fmt: skip
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        checker.check_model(model)
        return model.SerializeToString()
