"""Programs like those of TVM's tests for dynamic sizes, quantised operators and loops."""

import numpy as np
import pytest

pytest.importorskip("relay", exc_type=ImportError)
import relay.compat  # noqa: E402, F401
import tvm  # noqa: E402
import tvm.testing  # noqa: E402
from tvm import relay, te  # noqa: E402
from tvm.contrib import graph_executor  # noqa: E402
from tvm.relay.testing import run_infer_type, run_opt_pass  # noqa: E402

executor_kind = tvm.testing.parameter("debug", "vm")


def check(executor_kind, args, fn, ref, dtypes=None, tol=1e-5):
    vs = [
        relay.var(f"v{i}", shape=[relay.Any()] * np.ndim(a), dtype=str(np.asarray(a).dtype)) for i, a in enumerate(args)
    ]
    y = fn(*vs)
    mod = tvm.IRModule.from_expr(relay.Function(vs, y))
    got = relay.create_executor(executor_kind, mod=mod, device=tvm.cpu(), target="llvm").evaluate()(*args)
    outs = got if isinstance(got, list) else [got]
    refs = ref if isinstance(ref, list) else [ref]
    for o, r in zip(outs, refs, strict=True):
        tvm.testing.assert_allclose(o.numpy(), r, rtol=tol, atol=tol)


def test_any_concat(executor_kind):
    a, b = np.random.rand(3, 2).astype("float32"), np.random.rand(4, 2).astype("float32")
    check(executor_kind, [a, b], lambda x, y: relay.op.concatenate([x, y], axis=0), np.concatenate([a, b]))


def test_any_reshape(executor_kind):
    a = np.random.rand(2, 3, 4).astype("float32")
    check(executor_kind, [a], lambda x: relay.reshape(x, (-1,)), a.reshape(-1))
    check(executor_kind, [a], lambda x: relay.reshape(x, (0, -1)), a.reshape(2, -1))


def test_any_take(executor_kind):
    a, i = np.random.rand(4, 3).astype("float32"), np.array([0, 2, 1], "int32")
    check(executor_kind, [a, i], lambda x, y: relay.take(x, y, axis=0), a[i])


def test_any_shape_of(executor_kind):
    a = np.random.rand(4, 3).astype("float32")
    check(executor_kind, [a], lambda x: relay.shape_of(x, "int64"), np.array([4, 3], "int64"))
    check(executor_kind, [a], lambda x: relay.take(relay.shape_of(x), relay.const(1, "int32")), np.array(3))


def test_any_reduce(executor_kind):
    a = np.random.rand(3, 4, 2).astype("float32")
    check(executor_kind, [a], lambda x: relay.sum(x, axis=1), a.sum(1))
    check(executor_kind, [a], lambda x: relay.argmax(x, axis=-1), a.argmax(-1))
    check(executor_kind, [a], lambda x: relay.variance(x, axis=1, keepdims=True), a.var(1, keepdims=True))


def test_any_arange(executor_kind):
    m = relay.var("m", shape=(), dtype="int32")
    n = relay.var("n", shape=(), dtype="int32")
    mod = tvm.IRModule.from_expr(relay.Function([m, n], relay.arange(m, n, dtype="int32")))
    got = relay.create_executor(executor_kind, mod=mod, device=tvm.cpu(), target="llvm").evaluate()(
        np.array(1, "int32"), np.array(7, "int32")
    )
    assert got.numpy().tolist() == list(range(1, 7))


def test_any_full(executor_kind):
    s = np.array([2, 3], "int64")
    x = relay.var("x", shape=(2,), dtype="int64")
    for f, r in [
        (lambda: relay.zeros(x, "float32"), 0),
        (lambda: relay.ones(x, "float32"), 1),
        (lambda: relay.full(relay.const(4.0), x, "float32"), 4),
    ]:
        mod = tvm.IRModule.from_expr(relay.Function([x], f()))
        got = relay.create_executor(executor_kind, mod=mod, device=tvm.cpu(), target="llvm").evaluate()(s)
        assert got.numpy().shape == (2, 3) and (got.numpy() == r).all()


def test_dyn_topk(executor_kind):
    a = np.random.rand(5, 6).astype("float32")
    k = np.array(3, "int32")
    x, kv = relay.var("x", shape=a.shape), relay.var("k", shape=(), dtype="int32")
    out = relay.topk(x, kv, axis=1, ret_type="both")
    mod = tvm.IRModule.from_expr(relay.Function([x, kv], out.astuple()))
    got = relay.create_executor(executor_kind, mod=mod, device=tvm.cpu(), target="llvm").evaluate()(a, k)
    tvm.testing.assert_allclose(got[0].numpy(), -np.sort(-a, 1)[:, :3])


def test_dyn_pad_upsample_resize(executor_kind):
    a = np.random.rand(1, 2, 3, 4).astype("float32")
    x = relay.var("x", shape=a.shape)

    def run(f, *vals):
        vs = [x] + [relay.var(f"p{i}", shape=np.shape(v), dtype=str(np.asarray(v).dtype)) for i, v in enumerate(vals)]
        mod = tvm.IRModule.from_expr(relay.Function(vs, f(*vs)))
        return (
            relay.create_executor(executor_kind, mod=mod, device=tvm.cpu(), target="llvm").evaluate()(a, *vals).numpy()
        )

    w = np.array([[0, 0], [0, 0], [1, 2], [0, 3]], "int64")
    tvm.testing.assert_allclose(run(lambda x, p: relay.nn.pad(x, p, 2.0), w), np.pad(a, w, constant_values=2))
    u = run(lambda x, h, v: relay.nn.upsampling(x, h, v), np.array(2.0, "float32"), np.array(2.0, "float32"))
    tvm.testing.assert_allclose(
        u, tvm.topi.testing.resize2d_python(a, (2, 2), "NCHW", "nearest_neighbor", "asymmetric")
    )
    r = run(lambda x, s: relay.image.resize2d(x, s, None, "NCHW", "linear", "align_corners"), np.array([6, 8], "int64"))
    tvm.testing.assert_allclose(
        r, tvm.topi.testing.resize2d_python(a, (2, 2), "NCHW", "linear", "align_corners"), rtol=1e-4, atol=1e-4
    )


def test_dyn_strided_slice(executor_kind):
    a = np.random.rand(4, 5).astype("float32")
    x = relay.var("x", shape=a.shape)
    b, e = relay.var("b", shape=(2,), dtype="int64"), relay.var("e", shape=(2,), dtype="int64")
    mod = tvm.IRModule.from_expr(relay.Function([x, b, e], relay.strided_slice(x, b, e, relay.const([1, 1], "int64"))))
    got = relay.create_executor(executor_kind, mod=mod, device=tvm.cpu(), target="llvm").evaluate()(
        a, np.array([1, 0]), np.array([3, 4])
    )
    tvm.testing.assert_allclose(got.numpy(), a[1:3, 0:4])


def test_dynamic_to_static():
    x = relay.var("x", relay.TensorType((2, 3)))
    z = relay.reshape(x, relay.shape_of(relay.var("y", relay.TensorType((3, 2)))))
    f = run_opt_pass(run_infer_type(relay.Function(relay.analysis.free_vars(z), z)), relay.transform.DynamicToStatic())
    assert f.body.op == relay.op.get("reshape"), f


def test_qnn_quantize():
    a = np.array([-63.5, -63, 0, 63, 64], "float32")
    x = relay.var("x", shape=a.shape)
    q = relay.qnn.op.quantize(
        x,
        output_scale=relay.const(0.5, "float32"),
        output_zero_point=relay.const(127, "int32"),
        axis=-1,
        out_dtype="uint8",
    )
    mod = tvm.IRModule.from_expr(relay.Function([x], q))
    with tvm.transform.PassContext(opt_level=3):
        graph, lib, params = relay.build(mod, "llvm", params=None)
        rt = graph_executor.create(graph, lib, device=tvm.cpu(0))
        rt.set_input("x", a)
        rt.run()
        assert rt.get_output(0).numpy().tolist() == [0, 1, 127, 253, 255]


def test_qnn_conv2d():
    d = np.random.randint(0, 10, (1, 4, 5, 5)).astype("uint8")
    k = np.random.randint(0, 10, (3, 4, 2, 2)).astype("uint8")
    x, w = relay.var("x", shape=d.shape, dtype="uint8"), relay.var("w", shape=k.shape, dtype="uint8")
    f = relay.qnn.op.conv2d(
        x,
        w,
        input_zero_point=relay.const(5, "int32"),
        kernel_zero_point=relay.const(3, "int32"),
        input_scale=relay.const(1.0, "float32"),
        kernel_scale=relay.const(1.0, "float32"),
        kernel_size=(2, 2),
        padding=(0, 0),
        strides=(1, 1),
        dilation=(1, 1),
        data_layout="NCHW",
        kernel_layout="OIHW",
        out_dtype="int32",
        groups=1,
        channels=3,
    )
    mod = tvm.IRModule.from_expr(relay.Function([x, w], f))
    mod = relay.transform.InferType()(mod)
    ref = tvm.topi.testing.conv2d_nchw_python(d.astype("int32") - 5, k.astype("int32") - 3, 1, 0)
    got = relay.create_executor("graph", mod=mod, device=tvm.cpu(0), target="llvm").evaluate()(d, k)
    np.testing.assert_array_equal(got.numpy(), ref)
    mod2 = relay.transform.InferType()(relay.qnn.transform.CanonicalizeOps()(mod))
    assert "qnn" not in mod2.astext(), mod2


def test_qnn_dense_add_requantize():
    x, w = relay.var("x", shape=(2, 4), dtype="int8"), relay.var("w", shape=(3, 4), dtype="int8")
    f = relay.qnn.op.dense(
        x,
        w,
        relay.const(0, "int32"),
        relay.const(0, "int32"),
        relay.const(0.5, "float32"),
        relay.const(0.25, "float32"),
        3,
    )
    r = relay.qnn.op.requantize(
        f,
        input_scale=relay.const(0.125, "float32"),
        input_zero_point=relay.const(0, "int32"),
        output_scale=relay.const(0.25, "float32"),
        output_zero_point=relay.const(1, "int32"),
        rounding="UPWARD",
        out_dtype="int8",
    )
    a = relay.qnn.op.add(
        lhs=r,
        rhs=r,
        lhs_scale=relay.const(0.25, "float32"),
        lhs_zero_point=relay.const(1, "int32"),
        rhs_scale=relay.const(0.25, "float32"),
        rhs_zero_point=relay.const(1, "int32"),
        output_scale=relay.const(0.5, "float32"),
        output_zero_point=relay.const(0, "int32"),
    )
    assert run_infer_type(relay.Function([x, w], a)).checked_type.ret_type == relay.TensorType((2, 3), "int8")
    with relay.qnn.op.requantize_config(rounding="TONEAREST"):
        t = relay.qnn.op.requantize(f, relay.const(0.1), relay.const(0), relay.const(0.2), relay.const(0))
        assert t.attrs.rounding == "TONEAREST"


def test_simulated(executor_kind):
    x = relay.var("x", shape=(3,))
    s = relay.const(0.5)
    z = relay.const(0)
    q = relay.qnn.op.simulated_quantize(x, s, z, out_dtype="int8")
    dq = relay.qnn.op.simulated_dequantize(q, s, z, in_dtype="int8")
    a = np.array([0.2, 0.4, 100], "float32")
    mod = tvm.IRModule.from_expr(relay.Function([x], dq))
    got = relay.create_executor(executor_kind, mod=mod, device=tvm.cpu(), target="llvm").evaluate()(a).numpy()
    tvm.testing.assert_allclose(got, [0, 0.5, 63.5])


def test_while_loop(executor_kind):
    i = relay.var("i", shape=(), dtype="int32")
    st = relay.var("st", shape=(relay.Any(), 1), dtype="int32")

    def _cond(i, st):
        return relay.op.min(relay.op.less(i, relay.const(10, "int32")))

    def _body(i, st):
        i = i + relay.const(1, "int32")
        return i, relay.op.concatenate([st, relay.reshape(i, [1, 1])], axis=0)

    loop = relay.loops.while_loop(_cond, [i, st], _body)
    start = relay.var("start", shape=(), dtype="int32")
    body = loop(start, relay.op.reshape(relay.const(0), newshape=(1, 1)))
    mod = tvm.IRModule.from_expr(relay.Function([start], relay.TupleGetItem(body, 1)))
    got = relay.create_executor(executor_kind, mod=mod, device=tvm.cpu(), target="llvm").evaluate()(
        np.array(0, "int32")
    )
    assert got.numpy().ravel().tolist() == list(range(11))


def test_shape_broadcast_var():
    x = relay.var("x", shape=(te.size_var("n"), 3))
    y = relay.var("y", shape=(1, 3))
    assert run_infer_type(x + y).checked_type.shape[1] == 3


def test_level2_types():
    n, c, h, w = te.size_var("n"), 10, 224, 224
    x = relay.var("x", relay.ty.TensorType((n, c, h, w), "float32"))
    k = relay.var("w")
    y = relay.nn.conv2d(x, k, kernel_size=(3, 3), padding=(1, 1), channels=2)
    yy = run_infer_type(y)
    assert yy.checked_type == relay.TensorType((n, 2, 224, 224), "float32")
    assert yy.args[1].checked_type == relay.TensorType((2, 10, 3, 3), "float32")
    n, c, h, w = te.var("n"), te.var("c"), te.var("h"), te.var("w")
    x = relay.var("x", relay.TensorType((n, c, h, w), "float32"))
    y = relay.nn.upsampling(x, scale_h=2, scale_w=2, layout="NCHW", method="bilinear")
    yy = run_infer_type(y)
    assert yy.checked_type.shape[2] == 2 * h


def test_strided_set_where():
    c, x, y = relay.var("c", shape=(3, 4), dtype="bool"), relay.var("x", shape=(3, 4)), relay.var("y", shape=(3, 4))
    assert run_infer_type(relay.where(c, x, y)).checked_type == relay.TensorType((3, 4), "float32")


def test_nms_types():
    d = relay.var("d", relay.ty.TensorType((1, 5, 6), "float32"))
    z = relay.vision.get_valid_counts(d, 0.0, 0, 1)
    zz = run_infer_type(z.astuple())
    assert zz.checked_type.fields[0] == relay.TensorType((1,), "int32")
    out = relay.vision.non_max_suppression(z[1], z[0], z[2], -1, 0.5, True, -1, 2, 1, 0, False)
    assert run_infer_type(out).checked_type == relay.TensorType((1, 5, 6), "float32")
