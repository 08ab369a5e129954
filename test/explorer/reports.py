"""Models for the tests of the explorer: a transformer with names, a long chain, and names that attack the page."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HOSTILE = '</script><img src=x onerror="window.hacked=1"><!--<script>\'"&\u202e\u2066 \x1b[2J'


def transformer(path, layers=12, width=64, length=16):
    """Writes an ONNX model in the form of BERT's encoder, whose nodes are named by the scopes of modules."""
    rng = np.random.default_rng(1)
    nodes, weights = [], []

    def weight(name, *shape):
        weights.append(numpy_helper.from_array((rng.standard_normal(shape) / 8).astype(np.float32), name))
        return name

    def node(kind, name, *inputs, **attributes):
        nodes.append(helper.make_node(kind, list(inputs), [name + "_out"], name=name, **attributes))
        return name + "_out"

    def dense(scope, x, n, m):
        product = node("MatMul", scope + "/MatMul", x, weight(scope + ".weight", n, m))
        return node("Add", scope + "/Add", product, weight(scope + ".bias", m))

    def norm(scope, x):
        scale, bias = weight(scope + ".weight", width), weight(scope + ".bias", width)
        return node("LayerNormalization", scope + "/LayerNormalization", x, scale, bias, axis=-1)

    x = "tokens"
    for i in range(layers):
        scope = f"/encoder/layer.{i}"
        query, key, value = (dense(f"{scope}/attention/{part}", x, width, width) for part in ("query", "key", "value"))
        turned = node("Transpose", f"{scope}/attention/Transpose", key, perm=[0, 2, 1])
        scores = node("MatMul", f"{scope}/attention/MatMul", query, turned)
        shares = node("Softmax", f"{scope}/attention/Softmax", scores, axis=-1)
        context = node("MatMul", f"{scope}/attention/MatMul_1", shares, value)
        added = node(
            "Add", f"{scope}/attention/output/Add_1", dense(f"{scope}/attention/output", context, width, width), x
        )
        x = norm(f"{scope}/attention/output/norm", added)
        inner = node("Relu", f"{scope}/intermediate/Relu", dense(f"{scope}/intermediate", x, width, 4 * width))
        x = norm(
            f"{scope}/output/norm",
            node("Add", f"{scope}/output/Add_1", dense(f"{scope}/output", inner, 4 * width, width), x),
        )
    save(path, nodes, "tokens", [1, length, width], x, weights)


def save(path, nodes, given, shape, result, weights=()):
    tensor = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "g", [tensor(given, TensorProto.FLOAT, shape)], [tensor(result, TensorProto.FLOAT, None)], list(weights)
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, path)


def hostile(path):
    """Writes a model whose names are markup, a megabyte long, and written from right to left."""
    names = [HOSTILE, "x" * 1_000_000 + HOSTILE, "\u202egnp.exe"]
    nodes, x = [], HOSTILE
    for i, name in enumerate(names):
        nodes.append(helper.make_node("Relu" if i % 2 else "Tanh", [x], [f"{name}{i}"], name=name))
        x = f"{name}{i}"
    save(path, nodes, HOSTILE, [2, 3], x)


def chain(path, length):
    """Writes a Relay program of `length` calls in a row; every third also reads the value six calls before."""
    lines = ['#[version = "0.0.5"]', "def @main(%x: Tensor[(2, 8), float32]) {"]
    for i in range(length):
        last = f"%{i - 1}" if i else "%x"
        call = [f"nn.relu({last})", f"tanh({last})", f"add({last}, {f'%{i - 6}' if i > 6 else '%x'})"][i % 3]
        lines.append(f"  %{i} = {call};")
    path.write_text("\n".join([*lines, f"  %{length - 1}", "}", ""]))
