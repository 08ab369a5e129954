"""oneDNN's computations propagate NaN."""

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


def test_onednn_keeps_nan():
    x = np.random.default_rng(0).standard_normal((1, 4, 9, 9)).astype("float32")
    x[0, 1, 4, 4] = np.nan
    w = np.random.default_rng(1).standard_normal((8, 4, 3, 3)).astype("float32")
    conv = node("Conv", ["x", "w"], ["t"], pads=[1] * 4)
    behind = {
        "Relu": [node("Relu", ["t"], ["y"])],
        "Clip": [node("Clip", ["t", "lo", "hi"], ["y"])],
        "Sigmoid": [node("Sigmoid", ["t"], ["y"])],
        "MaxPool": [node("MaxPool", ["t"], ["y"], kernel_shape=[3, 3])],
        "residual": [node("Add", ["t", "t"], ["u"]), node("Relu", ["u"], ["y"])],
    }
    for name, nodes in behind.items():
        model = model_of([conv, *nodes], {"x": ("float32", x.shape)}, ["y"],
                         {"w": w, "lo": np.float32(0), "hi": np.float32(6)})  # fmt: skip
        own = relay.compile(model)(x)
        try:
            other = relay.compile(model, external="dnnl")(x)
        except relay.CompileError as error:
            if "built without" in str(error):
                pytest.skip("built without oneDNN")
            raise
        assert np.isnan(own).any() != (name == "MaxPool"), name  # ONNX's MaxPool ignores NaN
        np.testing.assert_allclose(other, own, rtol=1e-4, atol=1e-4, err_msg=name)
