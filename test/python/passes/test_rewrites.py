"""Passes with user-defined rules, sizes and types, and analyses of programs."""

import numpy as np
import pytest

import relay
from relay import analysis, transform

nn = relay.nn


def values(mod, inputs):
    out = relay.evaluate(mod, inputs)
    return [np.asarray(one) for one in (out if isinstance(out, tuple) else (out,))]


def same(before, after, inputs, tolerance=1e-5):
    for expected, got in zip(values(before, inputs), values(after, inputs), strict=True):
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def draw(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


def test_legalize():
    x = relay.var("x", shape=(2, 3))
    mod = relay.module(relay.exp(nn.dense(relay.clip(x, a_min=0.0, a_max=6.0), relay.const(draw(4, 3)))))

    def padded(call):
        assert call.checked_type.shape == (2, 4) and call.args[0].checked_type.dtype == "float32"
        wide = nn.dense(nn.pad(call.args[0], ((0, 2), (0, 0))), call.args[1])
        return relay.strided_slice(wide, begin=[0, 0], end=[2, 4])

    legal = transform.Legalize({"nn.dense": padded, "exp": lambda call: None})(mod)
    assert analysis.list_op_freqs(legal) == {"clip": 1, "nn.pad": 1, "nn.dense": 1, "strided_slice": 1, "exp": 1}
    same(mod, legal, [draw(2, 3)])
    with pytest.raises(relay.CompileError, match="its type is Tensor.*(4|6)"):
        transform.Legalize({"nn.dense": lambda call: nn.pad(call, ((0, 2), (0, 0)))})(mod)
    with pytest.raises(Exception, match="nn.dens"):
        transform.Legalize({"nn.dens": padded})
    defined = transform.Legalize()(relay.module(nn.layer_norm(x, relay.const(draw(3)), relay.const(draw(3)))))
    assert "nn.layer_norm" not in analysis.list_op_freqs(defined) and "rsqrt" in analysis.list_op_freqs(defined)


def test_alter_op_layout():
    x = relay.var("x", shape=(1, 2, 6, 6))
    one = nn.conv2d(x, relay.const(draw(3, 2, 3, 3)))
    mod = relay.module(nn.relu(nn.conv2d(nn.relu(one), relay.const(draw(4, 3, 1, 1)))))
    only = lambda call: ["NHWC", "HWIO"] if call.args[1].checked_type.shape[2] == 3 else None  # noqa: E731
    altered = transform.AlterOpLayout({"nn.conv2d": only})(mod)
    assert altered.astext().count('data_layout="NHWC"') == 1
    same(mod, altered, [draw(1, 2, 6, 6)])
    assert transform.AlterOpLayout()(mod).astext().count('data_layout="NHWC"') == 2
    with pytest.raises(relay.CompileError, match="cannot be"):
        transform.AlterOpLayout({"nn.conv2d": lambda call: ["NCHWc"]})(mod)
    with pytest.raises(relay.CompileError, match="blocks do not divide the axes"):
        transform.AlterOpLayout({"nn.conv2d": lambda call: ["NCHW8c"]})(mod)


def test_alter_op_layout_in_blocks():
    """A rule as targets have it: blocks as large as the channels allow, up to 16."""

    def block(channels):
        return max(n for n in range(1, 17) if channels % n == 0)

    def blocked(call):
        out, into = (int(n) for n in call.args[1].checked_type.shape[:2])
        i, o = block(into), block(out)
        return [f"NCHW{i}c", f"OIHW{i}i{o}o", f"NCHW{o}c"]

    x = relay.var("x", shape=(1, 3, 10, 10))
    one = nn.relu(nn.bias_add(nn.conv2d(x, relay.const(draw(24, 3, 3, 3))), relay.const(draw(24))))
    two = nn.conv2d(nn.avg_pool2d(one, pool_size=(2, 2)), relay.const(draw(32, 24, 1, 1)))
    mod = relay.module(nn.relu(nn.conv2d(nn.relu(two), relay.const(draw(8, 32, 3, 3)))))
    altered = transform.AlterOpLayout({"nn.conv2d": blocked})(mod)
    assert 'data_layout="NCHW12c", kernel_layout="OIHW12i16o", out_layout="NCHW16c"' in altered.astext()
    # For the image, three weights, a bias and the result; none between the convolutions.
    assert analysis.list_op_freqs(altered)["layout_transform"] == 6
    same(mod, altered, [draw(1, 3, 10, 10)], 1e-4)
    np.testing.assert_allclose(
        relay.compile(altered)(draw(1, 3, 10, 10)), values(mod, [draw(1, 3, 10, 10)])[0], 1e-3, 1e-3
    )


def test_split_args():
    x = relay.var("x", shape=(2,))
    mod = relay.module(relay.concatenate([x * relay.const(float(i)) for i in range(7)], axis=0))
    split = transform.SplitArgs(3)(mod)
    assert analysis.list_op_freqs(split)["concatenate"] > 1
    same(mod, split, [draw(2)])
    with pytest.raises(ValueError, match="at least 2"):
        transform.SplitArgs(1)


@pytest.mark.parametrize("block", [(1, 1), (2, 1), (4, 2)])
def test_sparse_weights(block):
    random = np.random.default_rng(3)
    weight = draw(8, 6) * np.kron(random.random((8 // block[0], 6 // block[1])) < 0.25, np.ones(block))
    weight = weight.astype("float32")
    x = relay.var("x", shape=(3, 6))
    mod = relay.module(nn.relu(nn.dense(x, relay.const(weight))))
    sparse = transform.DenseToSparse(block, 0.5)(mod)
    assert analysis.list_op_freqs(sparse) == {"nn.sparse_dense": 1, "nn.relu": 1}
    same(mod, sparse, [draw(3, 6)])
    assert "nn.dense" in analysis.list_op_freqs(transform.DenseToSparse(block, 0.99)(mod))
    assert "nn.dense" in analysis.list_op_freqs(transform.DenseToSparse((3, 1), 0.1)(mod))  # does not divide 8
    for layout, shape, kernel in (
        ("NHWC", (1, 4, 4, 6), weight.T[None, None]),
        ("NCHW", (1, 6, 4, 4), weight[:, :, None, None]),
    ):
        image = relay.var("x", shape=shape)
        kernel_layout = "HWIO" if layout == "NHWC" else "OIHW"
        conv = nn.conv2d(
            image, relay.const(np.ascontiguousarray(kernel)), data_layout=layout, kernel_layout=kernel_layout
        )
        mod = relay.module(conv)
        sparse = transform.Conv2dToSparse(block, 0.5)(mod)
        assert list(analysis.list_op_freqs(sparse)) == ["nn.sparse_conv2d"]
        same(mod, sparse, [draw(*shape)])


def test_change_batch():
    x, w = relay.var("x", shape=(1, 3)), relay.var("w", shape=(4, 3))
    mod = relay.IRModule.from_expr(relay.Function([x, w], nn.dense(x, w)))
    wide = transform.ChangeBatch({x: 0}, 16)(mod)
    assert str(wide["main"].checked_type.ret_type) == "Tensor[(16, 4), float32]"
    assert transform.ChangeBatch({"x": 0}, 16)(mod) == wide
    with pytest.raises(ValueError, match="no parameter y; it has: w, x"):
        transform.ChangeBatch({"y": 0})(mod)


def test_change_datatype():
    x = relay.var("x", shape=(2, 3))
    body = relay.cast(relay.add(x, relay.const(1.5)), dtype="float32") + relay.zeros(shape=(2, 3), dtype="float32")
    mod = relay.module(body)
    double = transform.ChangeDatatype("float32", "float64")(mod)
    assert analysis.all_dtypes(double["main"]) == {"float64"} and "float32" not in double.astext()
    same(mod, transform.ChangeDatatype("float64", "float32")(double), [draw(2, 3)])


def test_recast():
    x, w = relay.var("x", shape=(1, 2, 4, 4), dtype="int32"), relay.var("w", shape=(2, 2, 1, 1), dtype="int32")
    f = relay.Function([x, w], nn.conv2d(nn.conv2d(x, w), w))
    both = transform.recast(f, "int8", "int32", ["nn.conv2d"])
    one = transform.recast(f, "int8", "int32", ["nn.conv2d"], skip_layers=[-1])
    counts = [str(g).count('dtype="int8"') for g in (both, one)]
    assert counts[0] > counts[1] > 0
    inputs = [np.random.default_rng(1).integers(-3, 3, s).astype("int32") for s in ((1, 2, 4, 4), (2, 2, 1, 1))]
    same(relay.IRModule.from_expr(f), relay.IRModule.from_expr(one), inputs)


def partitioned():
    relay.byoc.supports("other", "exp", lambda call: True)
    x = relay.var("x", shape=(4,))
    return relay.byoc.partition(relay.module(relay.exp(relay.abs(x)) + x), "other")


def test_functions_for_compilers():
    mod = partitioned()
    (symbol,) = [v for v in mod.get_global_vars() if v.name_hint != "main"]
    back = transform.InlineCompilerFunctionsBoundTo([symbol])(mod)
    assert [v.name_hint for v in back.get_global_vars()] == ["main"] and "Compiler" not in back.astext()
    np.testing.assert_allclose(values(back, [draw(4)])[0], np.exp(np.abs(draw(4))) + draw(4), rtol=1e-5)
    f = mod[symbol]
    inner = relay.Function(f.params, f.body, None, None, {"Compiler": "other", "global_symbol": "mine"})
    x = relay.var("x", shape=(4,))
    outlined = transform.OutlineCompilerFunctionsWithExistingGlobalSymbols("other")(relay.module(inner(x) + inner(x)))
    assert sorted(v.name_hint for v in outlined.get_global_vars()) == ["main", "mine"]
    assert outlined.astext().count("@mine(") == 3
    kept = transform.OutlineCompilerFunctionsWithExistingGlobalSymbols("nobody")(relay.module(inner(x)))
    assert [v.name_hint for v in kept.get_global_vars()] == ["main"]


def test_calibration_data():
    mod = partitioned()
    x = draw(4)
    ((_, data),) = analysis.get_calibration_data(mod, [x]).items()
    np.testing.assert_allclose(data["inputs"][0], np.abs(x))
    np.testing.assert_allclose(data["outputs"][0], np.exp(np.abs(x)), rtol=1e-6)
    counted = analysis.analyze_operations_distribution(mod)
    assert counted == {"default": {"abs": 1, "add": 1}, "other": {"exp": 1}}


def test_analyses():
    x, c = relay.var("x", shape=(2,)), relay.var("c", shape=(), dtype="bool")
    shared = relay.exp(x)
    branch = relay.Function([x, c], relay.If(c, shared, relay.abs(shared)))
    assert not analysis.check_basic_block_normal_form(branch)
    blocks = transform.ToBasicBlockNormalForm()(relay.module(branch))
    assert analysis.check_basic_block_normal_form(blocks["main"])
    q = relay.qnn.dequantize(relay.var("q", shape=(4,), dtype="int8"), relay.const(0.5), relay.const(0))
    fake = relay.qnn.quantize(nn.relu(q) + relay.exp(q), relay.const(0.5), relay.const(0))
    assert analysis.list_fake_quantized_op_freqs(relay.module(fake)) == {"nn.relu": 1, "add": 1, "exp": 1}
    mod = relay.module(relay.exp(relay.abs(x) + x))
    np.testing.assert_allclose(
        values(analysis.extract_intermediate_expr(mod, 1), [draw(2)])[0], np.abs(draw(2)) + draw(2)
    )
    with pytest.raises(ValueError, match="has 3 calls"):
        analysis.extract_intermediate_expr(mod, 3)
    folded = transform.FoldConstantExpr(x + (relay.const(1.0) + relay.const(2.0)))
    assert analysis.list_op_freqs(relay.module(folded)) == {"add": 1}
    assert isinstance(transform.ToANormalFormExpr(relay.exp(relay.exp(x))), relay.Let)


def test_compat_rules():
    import relay.compat  # noqa: F401
    from tvm import relay as theirs
    from tvm.ir.transform import Sequential  # noqa: F401
    from tvm.relay.testing.temp_op_attr import TempOpAttr
    from tvm.relay.transform.mixed_precision import register_mixed_precision_conversion  # noqa: F401

    x = theirs.var("x", shape=(1, 2, 6, 6))
    mod = relay.module(nn.conv2d(x, relay.const(draw(3, 2, 3, 3))))

    def alter(attrs, inputs, tinfos, out_type):
        return nn.conv2d(*inputs, data_layout="NHWC", kernel_layout="HWIO")

    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", alter):
        altered = theirs.transform.AlterOpLayout()(mod)
    assert 'data_layout="NHWC"' in altered.astext() and theirs.transform.AlterOpLayout()(mod) == transform.InferType()(
        mod
    )
    same(mod, altered, [draw(1, 2, 6, 6)])

    def legal(attrs, inputs, types):
        assert [len(t.shape) for t in types] == [4, 4, 4]
        return relay.negative(relay.negative(nn.conv2d(*inputs)))

    with TempOpAttr("nn.conv2d", "FTVMLegalize", legal):
        assert "negative" in theirs.transform.Legalize()(mod).astext()
    with pytest.raises(NotImplementedError, match="add-an-operator"):
        TempOpAttr("nn.conv2d", "FTVMCompute", legal).__enter__()
