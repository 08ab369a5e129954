"""Models of one node of domain com.microsoft: shared by test_onnx_microsoft_streams.py and
test_onnx_microsoft_sparse.py."""

import numpy as np
import onnx
import onnxruntime
from onnx import helper

import relay


def one_node(name, inputs, results=1, constants=(), sizes=None, **attributes):
    """(the model, its inputs). `constants`: places of inputs that the model holds; `sizes`: shapes with names, by the
    input's place."""
    dtype = helper.np_dtype_to_tensor_dtype
    names = [f"x{i}" if a is not None else "" for i, a in enumerate(inputs)]
    outputs = [f"y{i}" for i in range(results)]
    node = helper.make_node(name, names, outputs, domain="com.microsoft", **attributes)
    given = {f"x{i}": a for i, a in enumerate(inputs) if a is not None and i not in constants}
    held = [onnx.numpy_helper.from_array(np.asarray(inputs[i]), f"x{i}") for i in constants]
    shapes = {f"x{i}": shape for i, shape in (sizes or {}).items()}
    ports = [helper.make_tensor_value_info(n, dtype(a.dtype), shapes.get(n, a.shape)) for n, a in given.items()]
    graph = helper.make_graph([node], "graph", ports, [onnx.ValueInfoProto(name=y) for y in outputs], held)
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10), given


def ours(name, inputs, results=1, **more):
    model, given = one_node(name, inputs, results, **more)
    got = relay.compile(model)(**given)
    return [np.asarray(g) for g in (got if results > 1 else [got])]


def theirs(name, inputs, results=1, **more):
    model, given = one_node(name, inputs, results, **{k: v for k, v in more.items() if k != "sizes"})
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, given)


def near(got, want, rtol=1e-4, atol=1e-5):
    for g, w in zip(got, want, strict=True):
        assert (g.shape, g.dtype) == (w.shape, w.dtype)
        np.testing.assert_allclose(g, w, rtol=rtol, atol=atol)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)
