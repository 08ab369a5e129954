"""Passes whose results tests of TVM compare node by node."""

import numpy as np
import pytest
import tvm
from tvm import relay
from tvm.relay import transform
from tvm.relay.testing import run_infer_type, run_opt_pass
from tvm.relay.testing.temp_op_attr import TempOpAttr
from tvm.relay.transform import InferType


def same(found, expected):
    tvm.ir.assert_structural_equal(found, run_opt_pass(expected, InferType()))


def primitive(params, body):
    return relay.Function(params, body).with_attr("Primitive", tvm.tir.IntImm("int32", 1))


def test_fusion_up_to_a_depth():
    x = relay.var("x", shape=(10, 20))
    y = x
    for _ in range(20):
        y = relay.exp(y)
    with tvm.transform.PassContext(config={"relay.FuseOps.max_depth": 10}):
        found = run_opt_pass(relay.Function([x], y), transform.FuseOps())

    def group():
        p = inner = relay.var("p", shape=(10, 20))
        for _ in range(10):
            inner = relay.exp(inner)
        return primitive([p], inner)

    same(found, relay.Function([x], relay.Call(group(), [relay.Call(group(), [x])])))


def test_parts_of_joined_convolutions():
    x = relay.var("x", shape=(1, 4, 16, 16))
    weights = [relay.var(f"w{i}", shape=(4, 4, 1, 1)) for i in range(3)]
    parts = [relay.nn.conv2d(x, w, channels=4, kernel_size=(1, 1)) for w in weights]
    found = run_opt_pass(relay.Function([x, *weights], relay.Tuple(parts)), transform.CombineParallelConv2D(2))
    joined = relay.nn.conv2d(x, relay.concatenate(weights, axis=0), channels=12, kernel_size=(1, 1))
    slices = [relay.strided_slice(joined, [0, 4 * i], [-1, 4], [1, 1], slice_mode="size") for i in range(3)]
    same(found, relay.Function([x, *weights], relay.Tuple(slices)))
    untouched = relay.Function([x, weights[0]], parts[0])
    same(run_opt_pass(untouched, transform.CombineParallelConv2D(2)), untouched)


def test_dense_layers_as_a_batch():
    x = relay.var("x", shape=(2, 3))
    weights = [relay.var(f"w{i}", shape=(4, 3)) for i in range(2)]
    mod = relay.Function([x, *weights], relay.Tuple([relay.nn.dense(x, w) for w in weights]))
    found = run_opt_pass(mod, transform.CombineParallelDense(min_num_branches=2))
    joined = relay.nn.batch_matmul(relay.stack([x, x], axis=0), relay.stack(weights, axis=0))
    parts = relay.split(joined, 2)
    same(found, relay.Function([x, *weights], relay.Tuple([relay.squeeze(parts[i], [0]) for i in range(2)])))
    wide = run_opt_pass(mod, transform.CombineParallelDense(2, to_batch=False))
    joined = relay.nn.dense(x, relay.concatenate(weights, axis=0))
    parts = [relay.strided_slice(joined, [0, 4 * i], [-1, 4], [1, 1], slice_mode="size") for i in range(2)]
    assert [str(one.op.name) for one in wide.body.fields] == ["strided_slice"] * 2
    assert wide.checked_type == run_infer_type(relay.Function([x, *weights], relay.Tuple(parts))).checked_type


def test_products_as_one():
    x = relay.var("x", shape=(2, 3, 4))
    weights = [relay.var(f"w{i}", shape=(2, 5, 4)) for i in range(3)]
    products = relay.Tuple([relay.nn.batch_matmul(x, w) for w in weights])
    found = run_opt_pass(relay.Function([x, *weights], products), transform.CombineParallelBatchMatmul(2))
    joined = relay.nn.batch_matmul(x, relay.concatenate(weights, axis=1))
    slices = [relay.strided_slice(joined, [0, 0, 5 * i], [-1, -1, 5], [1, 1, 1], slice_mode="size") for i in range(3)]
    same(found, relay.Function([x, *weights], relay.Tuple(slices)))


def test_basic_blocks():
    x, c = relay.var("x", shape=(2,)), relay.var("c", shape=(), dtype="bool")
    y = relay.exp(x)
    found = run_opt_pass(relay.Function([c, x], relay.If(c, y + y, y)), transform.ToBasicBlockNormalForm())
    name = relay.var("name")
    same(found, relay.Function([c, x], relay.Let(name, relay.exp(x), relay.If(c, name + name, name))))
    assert relay.analysis.check_basic_block_normal_form(found)
    only_inside = relay.Function([c, x], relay.If(c, y + y, x))
    same(run_opt_pass(only_inside, transform.ToBasicBlockNormalForm()), only_inside)
    z = relay.var("z", shape=(2,))
    closure = relay.Function([z], z + y)
    found = run_opt_pass(relay.Function([x], closure(y)), transform.ToBasicBlockNormalForm())
    inner = relay.Function([z], z + name)
    same(found, relay.Function([x], relay.Let(name, relay.exp(x), inner(name))))


def test_values_of_blocks():
    mod = tvm.IRModule()
    prelude = relay.prelude.Prelude(mod)
    x, head = relay.var("x", shape=()), relay.var("h", shape=())
    y = relay.exp(x)
    cons, nil = prelude.mod.get_type("List")[1:]
    clauses = [
        relay.Clause(relay.PatternConstructor(cons, [relay.PatternVar(head), relay.PatternWildcard()]), head + y),
        relay.Clause(relay.PatternConstructor(nil), y),
    ]
    mod["main"] = relay.Function([x], relay.Match(cons(y, nil()), clauses) * y)
    after = transform.ToBasicBlockNormalForm()(mod)
    assert isinstance(after["main"].body, relay.Let)
    values = [relay.create_executor("debug", m).evaluate()(np.array(1.0, "float32")).numpy() for m in (mod, after)]
    np.testing.assert_allclose(values[0], values[1])


def test_closures_are_marked():
    x, y = relay.var("x", shape=(10,)), relay.var("y", shape=(10,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.Function([y], relay.add(y, x))(x)))
    lifted = transform.LambdaLift()(mod)
    others = [function for var, function in lifted.functions.items() if var.name_hint != "main"]
    assert [function.attrs["Closure"] for function in others] == [1] and "Closure" not in lifted["main"].attrs


def test_scales_through_sums():
    x, w = relay.var("x", shape=(2, 4, 10, 10)), relay.const(np.random.rand(2, 4, 3, 3).astype("float32"))
    bias, scale = relay.var("bias", shape=(4,)), relay.const(np.random.rand(4, 1, 1).astype("float32") + 0.5)

    def layer(data, weight):
        return relay.nn.conv2d(data, weight, channels=2, kernel_size=(3, 3), padding=(1, 1))

    shift = relay.expand_dims(bias, 1, 2)
    before = layer(relay.add(relay.nn.relu(relay.multiply(x, scale)), shift), w)
    passes = [transform.ForwardFoldScaleAxis(), transform.FoldConstant()]
    flat = relay.squeeze(scale, axis=[1, 2])
    inner = relay.add(relay.nn.relu(x), relay.divide(shift, relay.expand_dims(flat, 1, 2)))
    after = layer(inner, relay.multiply(w, relay.expand_dims(flat, 1, 2)))
    found = run_opt_pass(relay.Function([x, bias], before), passes)
    same(found, run_opt_pass(relay.Function([x, bias], after), transform.FoldConstant()))


def test_numbers_for_full_arrays():
    x = relay.var("x", shape=(2, 3))
    ones, one = relay.ones((2, 3), "float32"), relay.const(1.0)
    for before, after in ((ones + x, one + x), (x - ones, x - one), (x / ones, x), (x * ones, x)):
        same(run_opt_pass(relay.Function([x], before), transform.SimplifyExpr()), relay.Function([x], after))


def test_fast_math_of_a_level():
    x = relay.var("x", shape=(1, 16))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.exp(x)))
    for settings, expected in (
        ({"opt_level": 4}, True),
        ({"opt_level": 3}, False),
        ({"opt_level": 3, "required_pass": ["FastMath"]}, True),
        ({"opt_level": 4, "disabled_pass": ["FastMath"]}, False),
    ):
        with tvm.transform.PassContext(**settings):
            optimised, _ = relay.optimize(mod, target="llvm", params=None)
        assert ("fast_exp" in optimised.astext()) is expected, settings
    levels = {"FastMath": 4, "CombineParallelConv2D": 4, "CanonicalizeOps": 3, "DynamicToStatic": 2, "Inline": 1}
    for name, level in levels.items():
        assert getattr(transform, name)().info.opt_level == level, name


def test_rules_under_other_keys():
    x, w = relay.var("x", shape=(1, 4, 8, 8)), relay.var("w", shape=(4, 4, 3, 3))
    f = relay.Function([x, w], relay.nn.conv2d(x, w, channels=4, kernel_size=(3, 3)))

    def doubled(attrs, inputs, types):
        return relay.nn.conv2d(inputs[0], relay.multiply(inputs[1], relay.const(2.0)), **attrs)

    with TempOpAttr("nn.conv2d", "FTVMMine", doubled):
        assert "multiply" in run_opt_pass(f, transform.Legalize("FTVMMine")).astext()
        assert "multiply" not in run_opt_pass(f, transform.Legalize()).astext()
    assert "multiply" not in run_opt_pass(f, transform.Legalize("FTVMMine")).astext()


def test_rules_of_quantised_operators():
    x = relay.var("x", shape=(2, 3), dtype="int8")
    call = relay.qnn.op.dequantize(x, relay.const(0.5), relay.const(0))

    def other(attrs, inputs, types):
        return relay.qnn.op.dequantize(inputs[0], relay.const(0.25), relay.const(0))

    with TempOpAttr("qnn.dequantize", "FTVMQnnLegalize", other):
        found = run_opt_pass(relay.Function([x], call), relay.qnn.transform.Legalize())
    plain = run_opt_pass(relay.Function([x], call), relay.qnn.transform.Legalize())
    assert "0.25f" in str(found) and "0.5f" in str(plain) and "qnn.dequantize" not in str(plain)
    for key in ("FTVMCompute", "FInferCorrectLayout"):
        with pytest.raises(NotImplementedError, match="add-an-operator"), TempOpAttr("qnn.dequantize", key, other):
            pass


def test_settings_around_a_pass_count():
    x = relay.var("x", shape=(2,))
    seen = []

    @tvm.instrument.pass_instrument
    class Watch:
        def run_before_pass(self, mod, info):
            seen.append(info.name)

    with tvm.transform.PassContext(opt_level=4, instruments=[Watch()]):
        run_opt_pass(relay.exp(x), transform.FoldConstant())
    assert seen == ["FoldConstant"]
    with pytest.raises(ValueError, match=r"relay\.FuseOps\.max_depth"):
        tvm.transform.PassContext(config={"relay.FuseOps.max_dept": 1})
