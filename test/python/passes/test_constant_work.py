"""The compile-time work on a program's constants is bounded by their bytes; the rest is done in each run."""

import time

import numpy as np
import onnx
import onnx.helper as make
import pytest
from onnx import numpy_helper

import relay


def model(nodes, n, result):
    """A model of a matrix c0 that has a size but no elements in the file: few bytes of a model for much memory."""
    first = make.make_node("ConstantOfShape", ["shape"], ["c0"], value=numpy_helper.from_array(np.float32([1 / n])))
    inits = [numpy_helper.from_array(np.array([n, n]), "shape"), numpy_helper.from_array(np.array(1), "axis")]
    x = make.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["N", n])
    y = make.make_tensor_value_info(result, onnx.TensorProto.FLOAT, None)
    graph = make.make_graph([first, *nodes], "g", [x], [y], inits)
    return make.make_model(graph, opset_imports=[make.make_opsetid("", 21)], ir_version=10)


def products(count, n):
    """x times a constant matrix, which is multiplied with itself `count` times; it is its own square."""
    nodes = [make.make_node("MatMul", [f"c{i}", f"c{i}"], [f"c{i + 1}"]) for i in range(count)]
    nodes += [make.make_node("MatMul", ["x", f"c{count}"], ["y"])]
    return model(nodes, n, "y")


def sums(count, n):
    """x times `count` matrices, each the running sums of that before."""
    nodes = []
    for i in range(1, count + 1):
        nodes.append(make.make_node("CumSum", [f"c{i - 1}", "axis"], [f"c{i}"]))
        nodes.append(make.make_node("MatMul", ["x" if i == 1 else f"p{i - 1}", f"c{i}"], [f"p{i}"]))
    return model(nodes, n, f"p{count}")


def test_work_on_few_bytes_is_left_to_runs():
    start = time.process_time()
    relay.compile(products(1, 2048))
    once = time.process_time() - start
    start = time.process_time()
    compiled = relay.compile(products(40, 2048))  # 40 times 17 billion operations
    assert time.process_time() - start < 20 + 3 * once
    assert compiled.report["constants"]["steps"] <= 3


def test_what_is_left_is_computed_as_what_is_not():
    x = np.random.default_rng(3).integers(-8, 8, (3, 1024)).astype("float32")
    for count in (2, 12):  # of the latter, with 26 billion operations, 17 billion are done ahead
        compiled = relay.compile(products(count, 1024))
        np.testing.assert_array_equal(compiled(x), x.mean(1, keepdims=True).repeat(1024, 1))
    ahead = compiled.report["constants"]["steps"]
    assert ahead > 0 and len(compiled.profile(x)) > 3  # of all done ahead it would be one product


@pytest.mark.parametrize("shapes", [None, {"x": (1, 2040)}])
@pytest.mark.slow
def test_many_large_constants_of_few_bytes(shapes, tmp_path):
    built = sums(40, 2040)
    assert len(built.SerializeToString()) < 2500
    compiled = relay.compile(built, shapes=shapes)
    constants = compiled.report["constants"]
    assert constants["bytes"] + constants["prepared_bytes"] <= 257 << 20
    x = np.ones((1, 2040), "float32")
    assert compiled(x).shape == (1, 2040)
    compiled.save(tmp_path / "sums.rart")
    np.testing.assert_array_equal(relay.load(tmp_path / "sums.rart")(x), compiled(x))


def test_honest_constants_are_computed_once():
    weight = np.random.default_rng(5).standard_normal((2048, 2048)).astype("float32")
    x = relay.var("x", shape=("n", 2048))
    both = relay.nn.matmul(relay.const(weight), relay.const(weight))
    module = relay.IRModule({"main": relay.Function([x], relay.nn.matmul(x, both))})
    compiled = relay.compile(module)
    assert compiled.report["constants"]["steps"] > 0
    given = np.eye(4, 2048, dtype="float32")
    assert len(compiled.profile(given)) <= 2
    np.testing.assert_allclose(compiled(given), (weight.astype("float64") @ weight)[:4], rtol=1e-3, atol=1e-2)
