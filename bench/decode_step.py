"""A step of a decoder as an ONNX model, with weights of 32, 8 or 4 bits. bench/decode.py measures it."""

import numpy as np
import onnx
from onnx import TensorProto, helper

LAYERS, FEATURES, HIDDEN, KEYS, WORDS = 30, 576, 1536, 192, 49152  # SmolLM-135M


class Step:
    """Collects the nodes and weights of the model. `bits` and `group` are those of the products' weights: 32 without
    groups, or 8 or 4 with a scale for each group of numbers of a row (`MatMulNBits` of `com.microsoft`). `level` is
    their `accuracy_level`: 0 for inputs in float32, 4 if an engine may round them to 8 bits."""

    def __init__(self, bits=32, group=0, level=0):
        self.bits, self.group, self.level = bits, group, level
        self.nodes, self.weights, self.random = [], [], np.random.default_rng(0)

    def add(self, kind, *inputs, **attributes):
        name = f"value{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def constant(self, array):
        name = f"weight{len(self.weights)}"
        self.weights.append(onnx.numpy_helper.from_array(array, name))
        return name

    def drawn(self, n, k):
        """A weight of n rows of k numbers."""
        return self.random.standard_normal((n, k), np.float32) * np.float32(k**-0.5)

    def dense(self, x, weight):
        """The product of x and each row of a weight."""
        n, k = weight.shape
        if self.bits == 32:
            return self.add("MatMul", x, self.constant(np.ascontiguousarray(weight.T)))
        codes, scales = quantised(weight, self.bits, self.group)
        attributes = {"K": k, "N": n, "bits": self.bits, "block_size": self.group, "accuracy_level": self.level}
        return self.add(
            "MatMulNBits", x, self.constant(codes), self.constant(scales), domain="com.microsoft", **attributes
        )

    def normed(self, x):
        mean = self.add("ReduceMean", self.add("Pow", x, self.two), axes=[-1], keepdims=1)
        root = self.add("Sqrt", self.add("Add", mean, self.epsilon))
        return self.add("Mul", self.add("Div", x, root), self.ones)

    def model(self, layers):
        """The step: the scores of the next word, for one token."""
        self.two, self.epsilon = self.constant(np.float32(2)), self.constant(np.float32(1e-5))
        self.ones = self.constant(np.ones(FEATURES, np.float32))
        copies = self.constant(np.array([1, FEATURES // KEYS], np.int64))
        table = self.drawn(WORDS, FEATURES)
        x = self.add("Gather", self.constant(table), "token")
        for _ in range(layers):
            y = self.normed(x)
            q, k, v = (self.dense(y, self.drawn(n, FEATURES)) for n in (FEATURES, KEYS, KEYS))
            mixed = self.add("Mul", q, self.add("Tile", self.add("Sigmoid", self.add("Mul", k, v)), copies))
            x = self.add("Add", x, self.dense(mixed, self.drawn(FEATURES, FEATURES)))
            y = self.normed(x)
            gate, up = (self.dense(y, self.drawn(HIDDEN, FEATURES)) for _ in range(2))
            hidden = self.add("Mul", self.add("Mul", gate, self.add("Sigmoid", gate)), up)
            x = self.add("Add", x, self.dense(hidden, self.drawn(FEATURES, HIDDEN)))
        scores = self.dense(self.normed(x), table)
        graph = helper.make_graph(
            self.nodes,
            "step",
            [helper.make_tensor_value_info("token", TensorProto.INT64, [1])],
            [helper.make_tensor_value_info(scores, TensorProto.FLOAT, [1, WORDS])],
            self.weights,
        )
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def quantised(weight, bits, group):
    """(codes, scales) of MatMulNBits without zero points: symmetric, rounded to nearest, two codes of 4 bits to a byte,
    the first in the low half."""
    n, k = weight.shape
    middle = 1 << (bits - 1)
    blocks = weight.reshape(n, k // group, group)
    scales = np.abs(blocks).max(2) / np.float32(middle - 1)
    codes = (np.rint(blocks / scales[..., None]) + middle).astype(np.uint8)
    if bits == 4:
        codes = codes[..., ::2] | codes[..., 1::2] << 4
    return codes, scales.reshape(-1)
