"""Scripts for TVM's Relay that new users bring along."""

import numpy as np
import pytest
import relay.compat  # noqa: F401

tvm = pytest.importorskip("tvm")
from tvm import relay  # noqa: E402

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def function_of(make=relay.nn.relu):
    x = relay.var("x", shape=(2, 3))
    return relay.Function([x], make(x))


@pytest.mark.parametrize("kind", ["debug", "graph", "vm", "aot"])
def test_results_of_executors_have_numpy(kind):
    for make in (relay.nn.relu, relay.sum, lambda x: relay.Tuple([x, relay.sum(x)])):
        run = relay.create_executor(kind, tvm.IRModule.from_expr(function_of(make)), tvm.cpu(), "llvm").evaluate()
        results = run(X)
        for result in results if isinstance(results, list) else [results]:
            assert type(result.numpy()) is np.ndarray and type(result.asnumpy()) is np.ndarray


def test_the_functions_of_a_library():
    module = relay.build(tvm.IRModule.from_expr(function_of()), "llvm")["default"](tvm.cpu())
    module["set_input"]("x", X)
    module["run"]()
    assert type(module["get_output"](0).numpy()) is np.ndarray
    executor = tvm.contrib.graph_executor.GraphModule(module)
    executor.run(x=X)
    np.testing.assert_array_equal(executor.get_output(0).numpy(), X)
    np.testing.assert_array_equal(module(X).numpy(), X)


def test_the_compiler_of_the_virtual_machine():
    from tvm.relay.backend import vm

    program = tvm.IRModule.from_expr(function_of())
    for compile in (vm.compile, relay.backend.vm.compile):
        machine = tvm.runtime.vm.VirtualMachine(compile(program, "llvm"), tvm.cpu())
        np.testing.assert_array_equal(machine.run(X).numpy(), X)


def test_targets():
    target = tvm.target.Target("llvm -mcpu=haswell").with_host("llvm")
    assert str(target) == "llvm -mcpu=haswell" and str(target.host) == "llvm" and target.attrs == {"mcpu": "haswell"}
    assert tvm.target.Target("llvm", host="llvm").host.kind.name == "llvm"
    assert tvm.target.Target(target).host == target.host and tvm.target.Target("llvm").host is None
    assert target.max_function_args == -1


def quantized(shape, dtype="int8"):
    return relay.var("q", shape=shape, dtype=dtype)


def test_quantised_operators_without_op():
    x, scale, zero = relay.var("x", shape=(2, 3)), relay.const(0.5), relay.const(1)
    call = relay.qnn.quantize(x, scale, zero)
    assert tvm.ir.structural_equal(call, relay.qnn.op.quantize(x, scale, zero))
    assert relay.qnn.requantize(call, scale, zero, scale, zero).op.name == "qnn.requantize"
    assert relay.qnn.dequantize(call, scale, zero).op.name == "qnn.dequantize"
    a, b = quantized((1, 2, 3)), quantized((1, 4, 3))
    product = relay.qnn.batch_matmul(a, b, zero, zero, scale, scale)
    typed = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([a, b], product)))
    assert typed["main"].ret_type == relay.TensorType((1, 2, 4), "int32")


@pytest.mark.parametrize(
    "call",
    [
        lambda q, s, z: relay.qnn.op.dequantize(q, s, z),
        lambda q, s, z: relay.qnn.op.requantize(q, s, z, s, z),
        lambda q, s, z: relay.qnn.op.dense(q, relay.const(np.ones((3, 4), np.int8)), z, relay.const(0), s, s, units=3),
        lambda q, s, z: relay.qnn.op.add(q, q, s, z, s, z, s, z),
    ],
)
def test_a_scale_and_a_zero_point_of_open_type(call):
    """They are one value each where nothing else says what they are."""
    q, scale, zero = quantized((2, 4)), relay.var("scale"), relay.var("zero")
    typed = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([q, scale, zero], call(q, scale, zero))))
    types = [param.checked_type for param in typed["main"].params]
    assert types[1:] == [relay.TensorType((), "float32"), relay.TensorType((), "int32")]


def test_a_scale_of_open_type_that_a_call_says():
    """There is one for each channel if a call of the function gives as many."""
    module = relay.parse("""#[version = "0.0.5"]
def @inner(%q: Tensor[(2, 4), int8], %s, %z) { qnn.dequantize(%q, %s, %z) }
def @main(%q: Tensor[(2, 4), int8], %s: Tensor[(4), float32]) { @inner(%q, %s, 0) }
""")
    inner = relay.transform.InferType()(module)["inner"]
    assert inner.params[1].checked_type == relay.TensorType((4,), "float32")


def test_names_of_python():
    data, weight = relay.var("d", shape=(1, 1, 4, 4, 8)), relay.var("w", shape=(1, 1, 3, 3, 8, 8))
    call = relay.nn.contrib_conv2d_nchwc(data, weight, kernel_size=(3, 3), channels=8, kernel_layout="OIHW8i8o")
    typed = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([data, weight], call)))
    assert call.op.name == "nn.contrib_conv2d_NCHWc" and list(typed["main"].ret_type.shape) == [1, 1, 2, 2, 8]
    assert relay.nn.contrib_depthwise_conv2d_nchwc.__doc__


def test_sizes_in_scripts():
    assert tvm.tir.indexdiv(7, 2) == 3 and tvm.tir.indexmod(7, 2) == 1
    n = tvm.tir.Var("n")
    assert tvm.topi.utils.get_const_tuple(relay.TensorType((2, n), "float32").shape)[0] == 2
    assert tvm.topi.utils.get_const_tuple((1, 2)) == (1, 2)
    from tvm.topi.utils import get_const_int, get_const_tuple, prod  # noqa: F401

    with pytest.raises(ValueError, match="known only at run time"):
        get_const_int(n)


def test_dictionaries_as_attributes():
    params = {"w": tvm.nd.array(X), "n": 3, "more": {"s": "t", "l": [1, 2]}}
    for made in (
        function_of().with_attr("__params__", params),
        function_of().with_attr({"__params__": params, "other": 1}),
        relay.Function([], relay.const(1.0), None, [], {"__params__": params}),
        tvm.IRModule.from_expr(function_of()).with_attr("__params__", params),
    ):
        got = made.attrs["__params__"]
        np.testing.assert_array_equal(got["w"].numpy(), X)
        assert got["n"] == 3 and got["more"] == {"s": "t", "l": [1, 2]}
    text = tvm.IRModule.from_expr(function_of().with_attr("d", {"k": 1})).astext()
    assert relay.parse(text)["main"].attrs["d"] == {"k": 1}


def test_places_in_printed_programs():
    x = relay.var("x", shape=(2, 3))
    span = relay.Span(relay.SourceName("net.py"), 3, 3, 5, 9)
    call = relay.Call(relay.op.get("nn.relu"), [x], None, [], span)
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], call)))
    text = module.astext()
    assert "nn.relu(%x) /* ty=Tensor[(2, 3), float32] span=net.py:3:5 */" in text
    assert tvm.ir.structural_equal(relay.parse(text), module)
    assert "span=" not in relay.transform.InferType()(tvm.IRModule.from_expr(function_of())).astext()
    assert "span=" not in relay.parse(text).astext()


def test_two_parameters_of_one_name():
    x, same = relay.var("x", shape=(2, 3)), relay.var("x", shape=(2, 3))
    w = relay.var("w", shape=(2, 3))
    function = relay.Function([x, same, w], relay.add(relay.subtract(x, same), w))
    bound = relay.build_module.bind_params_by_name(function, {"w": X})
    assert [param.name_hint for param in bound.params] == ["x", "x"]
    result = relay.create_executor("graph", params={"w": X}).evaluate(function)(X, np.ones_like(X))
    np.testing.assert_array_equal(result.numpy(), 2 * X - 1)
    assert relay.build(tvm.IRModule.from_expr(function), "llvm", params={"w": X})
    with pytest.raises(ValueError, match="two parameters are named x"):
        relay.build_module.bind_params_by_name(function, {"x": X})
