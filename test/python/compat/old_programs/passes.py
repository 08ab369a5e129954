"""Passes, row by row: where each changes a program, and where it must not."""

import numpy as np
import pytest
import tvm
from tvm import relay
from tvm.relay import transform
from tvm.relay.testing import run_infer_type, run_opt_pass


def optimised(expr, *passes):
    """The result of passes on a function of the free variables of an expression, or on a function."""
    if not isinstance(expr, relay.Function):
        expr = relay.Function(relay.analysis.free_vars(expr), expr)
    return run_opt_pass(expr, tvm.transform.Sequential(list(passes), opt_level=0) if len(passes) > 1 else passes[0])


def typed(expr):
    if not isinstance(expr, relay.Function):
        expr = relay.Function(relay.analysis.free_vars(expr), expr)
    return run_infer_type(expr)


def same(found, expected):
    tvm.ir.assert_structural_equal(found, typed(expected), map_free_vars=True)


def test_simplify_inference_of_each_norm():
    x = relay.var("x", shape=(2, 4, 6))
    vectors = [relay.var(name, shape=(4,)) for name in "gbmv"]
    y = relay.nn.batch_norm(x, *vectors, epsilon=0.01)[0]
    found = optimised(relay.Function([x, *vectors], relay.nn.dropout(y)), transform.SimplifyInference())
    names = relay.analysis.list_op_freqs(tvm.IRModule.from_expr(found))
    assert "nn.batch_norm" not in names and "nn.dropout" not in names and {"rsqrt", "multiply", "add"} & set(names)
    for call in (
        relay.nn.layer_norm(x, relay.var("g", shape=(6,)), relay.var("b", shape=(6,))),
        relay.nn.instance_norm(x, *vectors[:2]),
        relay.nn.group_norm(x, *vectors[:2], num_groups=2),
        relay.nn.l2_normalize(x, eps=0.001, axis=[1]),
    ):
        assert str(call.op.name) not in optimised(call, transform.SimplifyInference()).astext()
    same(optimised(relay.nn.softmax(x), transform.SimplifyInference()), relay.nn.softmax(x))


def test_bias_becomes_an_addition():
    x, b = relay.var("x", shape=(1, 8, 4, 4)), relay.var("b", shape=(8,))
    before = relay.nn.bias_add(x, b, axis=1)
    after = relay.add(x, relay.expand_dims(b, axis=1, num_newaxis=2))
    same(optimised(relay.Function([x, b], before), transform.CanonicalizeOps()), relay.Function([x, b], after))
    same(optimised(relay.Function([x, b], after), transform.CanonicalizeOps()), relay.Function([x, b], after))


def test_widening_casts_are_one_for_each_reader():
    x, y = relay.var("x", shape=(8, 4), dtype="int8"), relay.var("y", shape=(8, 4), dtype="int32")
    wide = relay.cast(x, "int32")
    before = relay.Function([x, y], relay.Tuple([wide + y, relay.nn.relu(wide)]))
    after = relay.Function([x, y], relay.Tuple([relay.cast(x, "int32") + y, relay.nn.relu(relay.cast(x, "int32"))]))
    found = optimised(before, transform.CanonicalizeCast())
    same(found, after)
    assert str(found).count("cast(") == 2 and str(typed(before)).count("cast(") == 1
    narrow = relay.cast(y, "int8")
    kept = relay.Function([x, y], relay.Tuple([narrow + x, relay.nn.relu(narrow)]))
    assert str(optimised(kept, transform.CanonicalizeCast())).count("cast(") == 1


def test_constants_are_folded():
    c = np.array([1, 2, 3]).astype("float32")
    x = relay.var("x", shape=(3,))
    y = relay.add(relay.const(c), relay.const(c))
    same(optimised(relay.add(x, y), transform.FoldConstant()), relay.add(x, relay.const(c + c)))
    t = relay.var("t")
    bound = relay.Let(t, relay.const(c), relay.add(relay.multiply(t, relay.const(2.0)), x))
    same(optimised(bound, transform.FoldConstant()), relay.add(relay.const(c * 2), x))
    chosen = relay.If(relay.const(True), x, relay.exp(x))
    same(optimised(chosen, transform.FoldConstant()), relay.Function([x], x))
    pair = relay.Tuple([x, relay.exp(x)])
    same(optimised(relay.TupleGetItem(pair, 0), transform.FoldConstant()), relay.Function([x], x))


def test_sizes_are_folded():
    x = relay.var("x", shape=(2, 5))
    same(
        optimised(relay.Function([x], relay.shape_of(x)), transform.FoldConstant()),
        relay.Function([x], relay.const(np.array([2, 5], "int32"))),
    )
    size = optimised(relay.Function([x], relay.ndarray_size(x)), transform.FoldConstant()).body
    assert isinstance(size, relay.Constant) and size.data.numpy() == 10
    unknown = relay.var("u", shape=(relay.Any(), 2))
    kept = relay.Function([unknown], relay.ndarray_size(unknown))
    assert isinstance(optimised(kept, transform.FoldConstant()).body, relay.Call)


def test_quantised_constants_are_folded_on_request():
    x = relay.const(np.array([0.5, 1.5], "float32"))
    quantised = relay.qnn.op.quantize(x, relay.const(0.5), relay.const(1))
    assert isinstance(optimised(quantised, transform.FoldConstant()).body, relay.Call)
    folded = optimised(quantised, transform.FoldConstant(fold_qnn=True)).body
    np.testing.assert_array_equal(folded.data.numpy(), [2, 4])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_division_by_a_number(dtype):
    x = relay.var("x", shape=(5,), dtype=dtype)
    before, after = x / relay.const(4.0, dtype), x * relay.const(0.25, dtype)
    same(optimised(before, transform.DivToMul()), after)
    zero = x / relay.const(0.0, dtype)
    same(optimised(zero, transform.DivToMul()), zero)
    i = relay.var("i", shape=(5,), dtype="int32")
    same(optimised(i / relay.const(4), transform.DivToMul()), i / relay.const(4))


def test_equal_expressions_once():
    x = relay.var("x", shape=(1, 16))
    y1, y2 = relay.nn.relu(x) + relay.const(1.0), relay.nn.relu(x) + relay.const(1.0)
    y = relay.nn.relu(x) + relay.const(1.0)
    before = relay.Function([x], y1 + y2)
    same(optimised(before, transform.EliminateCommonSubexpr()), relay.Function([x], y + y))

    def skip(expr):
        return isinstance(expr, relay.Call) and expr.op.name == "add"

    found = optimised(before, transform.EliminateCommonSubexpr(skip))
    z = relay.nn.relu(x)
    same(found, relay.Function([x], (z + relay.const(1.0)) + (z + relay.const(1.0))))
    a, b = relay.split(x, 2, axis=1), relay.split(x, 2, axis=1)
    found = optimised(relay.Function([x], a[0] + b[0]), transform.EliminateCommonSubexpr())
    assert found.body.args[0].same_as(found.body.args[1])


def test_unused_bindings():
    x, a, b = relay.var("x", shape=(2,)), relay.var("a"), relay.var("b")
    before = relay.Function([x], relay.Let(a, relay.exp(x), relay.Let(b, a + a, x)))
    same(optimised(before, transform.DeadCodeElimination()), relay.Function([x], x))
    once = relay.Function([x], relay.Let(a, relay.exp(x), relay.Let(b, relay.tanh(a), b)))
    same(
        optimised(once, transform.DeadCodeElimination(inline_once=True)), relay.Function([x], relay.tanh(relay.exp(x)))
    )
    same(optimised(once, transform.DeadCodeElimination()), once)
    write = relay.RefWrite(relay.RefCreate(x), relay.exp(x))
    impure = relay.Function([x], relay.Let(a, write, x))
    same(optimised(impure, transform.DeadCodeElimination()), impure)
    same(optimised(impure, transform.DeadCodeElimination(ignore_impurity=True)), relay.Function([x], x))


def test_padding_goes_into_windows():
    x, w = relay.var("x", shape=(1, 8, 6, 6)), relay.var("w", shape=(4, 8, 3, 3))
    around = [(0, 0), (0, 0), (1, 1), (2, 0)]
    before = relay.nn.conv2d(relay.nn.pad(x, around), w, channels=4, kernel_size=(3, 3), padding=(0, 1))
    after = relay.nn.conv2d(x, w, channels=4, kernel_size=(3, 3), padding=(1, 3, 1, 1))
    f = relay.Function([x, w], before)
    found = optimised(f, transform.FoldExplicitPadding())
    same(found, relay.Function([x, w], after))
    kept = relay.nn.conv2d(relay.nn.pad(x, around, pad_value=1.0), w, channels=4, kernel_size=(3, 3))
    same(optimised(relay.Function([x, w], kept), transform.FoldExplicitPadding()), relay.Function([x, w], kept))
    pool = relay.nn.max_pool2d(relay.nn.pad(x, around, pad_value=float(np.finfo("float32").min)), pool_size=(3, 3))
    same(
        optimised(pool, transform.FoldExplicitPadding()), relay.nn.max_pool2d(x, pool_size=(3, 3), padding=(1, 2, 1, 0))
    )
    mean = relay.nn.avg_pool2d(relay.nn.pad(x, around), pool_size=(3, 3))
    after = relay.nn.avg_pool2d(x, pool_size=(3, 3), padding=(1, 2, 1, 0), count_include_pad=True)
    same(optimised(mean, transform.FoldExplicitPadding()), after)


def test_padding_of_quantised_data():
    x, w = relay.var("x", shape=(1, 8, 6, 6), dtype="int8"), relay.var("w", shape=(4, 8, 3, 3), dtype="int8")
    around = [(0, 0), (0, 0), (1, 1), (1, 1)]

    def layer(data, padding):
        zeros, scales = [relay.const(3), relay.const(0)], [relay.const(0.5), relay.const(0.25)]
        return relay.qnn.op.conv2d(
            data, w, *zeros, *scales, kernel_size=(3, 3), channels=4, padding=padding, out_dtype="int32"
        )

    before = relay.Function([x, w], layer(relay.nn.pad(x, around, pad_value=3), (0, 0)))
    same(optimised(before, transform.FoldExplicitPadding()), relay.Function([x, w], layer(x, (1, 1, 1, 1))))
    zero = relay.Function([x, w], layer(relay.nn.pad(x, around, pad_value=0), (0, 0)))
    same(optimised(zero, transform.FoldExplicitPadding()), zero)


def test_convolutions_of_spread_data():
    x, w = relay.var("x", shape=(1, 5, 5, 4)), relay.var("w", shape=(3, 3, 4, 1))
    settings = {"groups": 4, "channels": 4, "kernel_size": (3, 3), "data_layout": "NHWC", "kernel_layout": "HWOI"}
    spread = relay.nn.space_to_batch_nd(x, block_shape=[2, 2], paddings=[[2, 3], [2, 3]])
    back = relay.nn.batch_to_space_nd(
        relay.nn.conv2d(spread, w, **settings), block_shape=[2, 2], crops=[[0, 1], [0, 1]]
    )
    after = relay.nn.conv2d(x, w, padding=(2, 2, 2, 2), dilation=(2, 2), **settings)
    same(optimised(relay.Function([x, w], back), transform.FlattenAtrousConv()), relay.Function([x, w], after))
    other = relay.nn.batch_to_space_nd(
        relay.nn.relu(relay.nn.conv2d(spread, w, **settings)), block_shape=[2, 2], crops=[[0, 1], [0, 1]]
    )
    kept = relay.Function([x, w], other)
    same(optimised(kept, transform.FlattenAtrousConv()), kept)


def test_long_concatenations():
    parts = [relay.var(f"x{i}", shape=(1, 2)) for i in range(5)]
    found = optimised(relay.Function(parts, relay.concatenate(parts, axis=0)), transform.SplitArgs(2))
    pairs = [relay.concatenate(one, axis=0) for one in (parts[:2], parts[2:4], parts[4:])]
    expected = relay.concatenate([relay.annotation.stop_fusion(pair) for pair in pairs], axis=0)
    same(found, relay.Function(parts, expected))
    short = relay.Function(parts, relay.concatenate(parts, axis=0))
    same(optimised(short, transform.SplitArgs(5)), short)


def test_optional_operators_of_integers():
    x = relay.var("x", shape=(2, 3), dtype="int8")
    soft = relay.nn.softmax(relay.qnn.op.dequantize(x, relay.const(0.5), relay.const(0)))
    f = relay.Function([x], relay.qnn.op.quantize(soft, relay.const(1 / 256), relay.const(-128), out_dtype="int8"))
    without = optimised(f, transform.FakeQuantizationToInteger())
    assert "nn.softmax" in str(without) and "qnn.softmax" not in str(without)
    with_it = optimised(f, transform.FakeQuantizationToInteger(optional_qnn_ops=["nn.softmax"]))
    assert "qnn.softmax" in str(with_it) and "qnn.quantize" not in str(with_it)
    with pytest.raises(ValueError, match="nn.dense"):
        transform.FakeQuantizationToInteger(optional_qnn_ops=["nn.dense"])


def test_what_does_not_become_integers():
    x = relay.var("x", shape=(2, 3), dtype="int8")
    y = relay.qnn.op.quantize(
        relay.cos(relay.qnn.op.dequantize(x, relay.const(0.5), relay.const(0))), relay.const(0.5), relay.const(0)
    )
    same(optimised(relay.Function([x], y), transform.FakeQuantizationToInteger()), relay.Function([x], y))
    with pytest.raises(tvm.error.TVMError):
        optimised(relay.Function([x], y), transform.FakeQuantizationToInteger(hard_fail=True))


@pytest.mark.parametrize(
    ("dynamic", "fixed"),
    [
        (lambda x: relay.op.dyn.reshape(x, relay.const([3, 2])), lambda x: relay.reshape(x, (3, 2))),
        (lambda x: relay.op.dyn.tile(x, relay.const([2, 1])), lambda x: relay.tile(x, (2, 1))),
        (lambda x: relay.op.dyn.broadcast_to(x, relay.const([4, 2, 3])), lambda x: relay.broadcast_to(x, (4, 2, 3))),
        (lambda x: relay.op.dyn.topk(x, relay.const(2)), lambda x: relay.topk(x, 2)),
        (lambda x: x + relay.op.dyn.ones(relay.const([2, 3]), "float32"), lambda x: x + relay.ones((2, 3), "float32")),
    ],
)
def test_shapes_that_are_constant(dynamic, fixed):
    x = relay.var("x", shape=(2, 3))
    before, after = (made(x) for made in (dynamic, fixed))
    before, after = (e.astuple() if hasattr(e, "astuple") else e for e in (before, after))
    found = optimised(relay.Function([x], before), transform.DynamicToStatic())
    assert "dyn." not in str(found)
    assert found.checked_type == typed(relay.Function([x], after)).checked_type


def test_values_of_global_functions():
    mod = tvm.IRModule()
    f = relay.GlobalVar("f")
    x = relay.var("x", shape=())
    mod[f] = relay.Function([x], relay.exp(x))
    mod["main"] = relay.Function([], f)
    expanded = transform.EtaExpand(expand_global_var=True)(mod)["main"].body
    assert isinstance(expanded, relay.Function) and expanded.body.op == f
    assert isinstance(transform.EtaExpand()(mod)["main"].body, relay.GlobalVar)


def test_names_and_none():
    x = relay.var("x", shape=(2,))
    y = relay.exp(x)
    f = relay.Function([x], y + y)
    named = optimised(f, transform.ToANormalForm())
    assert isinstance(named.body, relay.Let) and named.body.value.op.name == "exp"
    same(optimised(named, transform.ToGraphNormalForm()), f)
    assert relay.analysis.check_basic_block_normal_form(optimised(f, transform.ToBasicBlockNormalForm()))


def test_unreached_functions():
    mod = tvm.IRModule()
    x = relay.var("x", shape=())
    for name, body in (("leaf", lambda v: v), ("other", lambda v: relay.exp(v))):
        mod[name] = relay.Function([x], body(x))
    y = relay.var("y", shape=())
    mod["main"] = relay.Function([y], mod.get_global_var("leaf")(y))
    names = {var.name_hint for var in transform.RemoveUnusedFunctions()(mod).get_global_vars()}
    assert names == {"main", "leaf"}
    both = {var.name_hint for var in transform.RemoveUnusedFunctions(["main", "other"])(mod).get_global_vars()}
    assert both == {"main", "leaf", "other"}


def test_a_function_that_skips_optimisation():
    x = relay.var("x", shape=(2,))
    f = relay.Function([x], x * relay.const(1.0))
    marked = f.with_attr("SkipOptimization", tvm.tir.IntImm("int32", 1))
    same(optimised(f, transform.SimplifyExpr()), relay.Function([x], x))
    same(optimised(marked, transform.SimplifyExpr()), marked)


def test_levels_of_fusion():
    x = relay.var("x", shape=(2,))
    f = relay.Function([x], relay.exp(relay.nn.relu(x)))
    groups = lambda g: str(g).count("Primitive=1")  # noqa: E731
    assert groups(optimised(f, transform.FuseOps())) == 1
    assert groups(optimised(f, transform.FuseOps(fuse_opt_level=0))) == 2
    with tvm.transform.PassContext(opt_level=0):
        assert groups(transform.FuseOps()(tvm.IRModule.from_expr(f))) == 2
    fused = optimised(f, transform.FuseOps(fuse_opt_level=2))
    same(optimised(fused, transform.DefuseOps()), f)


def test_the_three_that_join():
    x = relay.var("x", shape=(2, 8))
    weights = [relay.var(f"w{i}", shape=(4, 8)) for i in range(3)]
    f = relay.Function([x, *weights], relay.Tuple([relay.nn.dense(x, w) for w in weights]))
    same(optimised(f, transform.BatchingOps()), f)  # each of them is of level 4
    with tvm.transform.PassContext(opt_level=4):
        joined = optimised(f, transform.BatchingOps())
    assert str(joined).count("nn.batch_matmul(") == 1 and "nn.dense(" not in str(joined)
    two = relay.Function([x, *weights[:2]], relay.Tuple([relay.nn.dense(x, w) for w in weights[:2]]))
    with tvm.transform.PassContext(opt_level=4):
        same(optimised(two, transform.BatchingOps()), two)
