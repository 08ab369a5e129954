"""Passes that change how numbers are computed, compared with the float32 program: ToMixedPrecision,
FakeQuantizationToInteger."""

import numpy as np
import pytest
from relay.mixed_precision import ALWAYS, NEVER

import relay
from relay import transform


def values(mod: relay.IRModule, inputs: list) -> list[np.ndarray]:
    out = relay.evaluate(mod, inputs)
    return [np.asarray(one) for one in (out if isinstance(out, tuple) else (out,))]


def count(mod: relay.IRModule) -> dict[str, int]:
    return relay.analysis.list_op_freqs(mod)


# --- mixed precision --------------------------------------------------------------------------------------------------
def layers() -> relay.IRModule:
    random = np.random.default_rng(3)
    x = relay.var("x", shape=(1, 4, 6, 6))
    w = [relay.const(random.standard_normal((4, 4, 3, 3)).astype("float32") / 6) for _ in range(2)]
    out = relay.nn.relu(relay.nn.conv2d(x, w[0], padding=(1, 1)))
    out = relay.nn.max_pool2d(relay.nn.conv2d(out, w[1]) + relay.const(0.5), pool_size=(2, 2), strides=(2, 2))
    dense = relay.nn.dense(relay.nn.batch_flatten(out), relay.const(random.standard_normal((5, 16)).astype("float32")))
    return relay.IRModule.from_expr(relay.Function([x], relay.Tuple([relay.nn.softmax(dense), out])))


@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 4e-3), ("bfloat16", 3e-2)])
def test_mixed_precision_is_near(dtype, tolerance):
    mod = layers()
    mixed = transform.ToMixedPrecision(dtype)(mod)
    types = [str(one) for one in mixed["main"].checked_type.ret_type.fields]
    assert "float32" in types[0] and f"{dtype}]" in types[1]
    kept = transform.ToMixedPrecision(dtype, keep_output=True)(mod)
    assert kept["main"].checked_type == transform.InferType()(mod)["main"].checked_type
    with transform.PassContext(config={"relay.ToMixedPrecision.keep_orig_output_dtype": True}):
        assert transform.ToMixedPrecision(dtype)(mod) == kept
    x = np.random.default_rng(1).standard_normal((1, 4, 6, 6)).astype("float32")
    expected = values(mod, [x])
    for expect, got in zip(expected, values(kept, [x]), strict=True):
        error = np.abs(expect - got).max() / np.abs(expect).max()
        assert 0 < error < tolerance  # something was rounded, and not much
    compiled = relay.compile(kept)(x)
    for expect, got in zip(expected, compiled, strict=True):
        assert np.abs(expect - np.asarray(got)).max() / np.abs(expect).max() < tolerance


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_group_rounds_its_result_once(dtype):
    """The error of a convolution with a bias and a scale is that of one rounding instead of three."""
    random = np.random.default_rng(4)
    x = relay.var("x", shape=(1, 8, 9, 9))
    weight, bias = (relay.const(random.integers(-4, 5, s).astype("float32")) for s in ((8, 8, 3, 3), (8,)))
    out = relay.nn.bias_add(relay.nn.conv2d(x, weight, padding=(1, 1)), bias) * relay.const(0.375)
    mod = relay.module(relay.nn.relu(out))
    many = relay.run_passes(transform.ToMixedPrecision(dtype)(mod), ["fold_constant", "fuse_ops"])
    once = relay.run_passes(many, ["round_once"])
    data = [random.integers(-64, 65, (1, 8, 9, 9)).astype("float32")]  # sums in float32 are exact
    exact = values(mod, data)[0]
    np.testing.assert_array_equal(values(once, data)[0], exact.astype(values(many, data)[0].dtype))
    assert np.any(values(many, data)[0] != values(once, data)[0])
    np.testing.assert_array_equal(np.asarray(relay.compile(once)(*data)), values(once, data)[0])


def test_rules_of_mixed_precision():
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(3, 3))
    mod = relay.module(relay.exp(relay.nn.dense(x, y)))
    dtypes = lambda m: relay.analysis.all_dtypes(m["main"])  # noqa: E731
    assert str(transform.ToMixedPrecision()(mod)["main"].checked_type.ret_type) == "Tensor[(2, 3), float32]"
    always = transform.ToMixedPrecision(rules={"exp": lambda call, dtype: ALWAYS})(mod)
    assert str(always["main"].checked_type.ret_type) == "Tensor[(2, 3), float16]"
    never = transform.ToMixedPrecision(rules={"nn.dense": lambda call, dtype: NEVER})(mod)
    assert dtypes(never) == {"float32"}
    sums = transform.ToMixedPrecision(rules={"nn.dense": lambda call, dtype: [ALWAYS, "float32", dtype]})(mod)
    assert 'out_dtype="float32"' in sums.astext() and "float16" in dtypes(sums)
    with pytest.raises(ValueError, match="a category"):
        transform.ToMixedPrecision(rules={"exp": lambda call, dtype: "fast"})(mod)
    with pytest.raises(relay.CompileError, match="float16 or bfloat16"):
        transform.ToMixedPrecision("int8")(mod)


def test_operators_that_nobody_knows_are_named():
    x = relay.var("x", shape=(2, 3))
    mod = relay.module(relay.cos(relay.nn.dense(x, x)))
    with pytest.warns(UserWarning, match="how cos behaves"):
        followed = transform.ToMixedPrecision()(mod)
    assert "float16" in str(followed["main"].checked_type.ret_type)
    with pytest.raises(relay.CompileError, match="how cos behaves"):
        transform.ToMixedPrecision(missing_op_mode=0)(mod)
    assert transform.ToMixedPrecision(missing_op_mode=2)(mod) == followed


# --- fake quantisation ------------------------------------------------------------------------------------------------
def quantized(name: str, shape, dtype="int8", scale=0.05, zero=3, axis=-1):
    x = relay.var(name, shape=shape, dtype=dtype)
    if axis < 0:
        return x, relay.qnn.dequantize(x, relay.const(scale), relay.const(zero))
    scales = (np.arange(shape[axis]) + 1).astype("float32") * scale
    return x, relay.qnn.dequantize(x, relay.const(scales), relay.const(np.zeros(shape[axis], "int32")), axis=axis)


def back(e, scale=0.1, zero=-2, dtype="int8"):
    return relay.qnn.quantize(e, relay.const(scale), relay.const(zero), out_dtype=dtype)


IMAGE = (1, 4, 6, 6)


def one(f, shape=IMAGE, **more):
    x, real = quantized("x", shape)
    return [x], back(f(real), **more)


def two(f, shape=IMAGE, **more):
    (x, a), (y, b) = quantized("x", shape), quantized("y", shape, scale=0.03, zero=-7)
    return [x, y], back(f(a, b), **more)


def contraction(f, shape, weight, axis=-1, scale=1.0):
    (x, a), (w, b) = quantized("x", shape), quantized("w", weight, scale=0.02, zero=0, axis=axis)
    return [x, w], back(f(a, b), scale=scale)


def constant(*shape):
    return relay.const(np.random.default_rng(5).standard_normal(shape).astype("float32"))


nn = relay.nn
# Operators whose results are to be those of floats but for steps of rounding.
CASES = {
    "reshape": (1, lambda: one(lambda x: relay.reshape(x, newshape=(4, 36)))),
    "squeeze": (1, lambda: one(lambda x: relay.squeeze(x, axis=[0]))),
    "strided_slice": (1, lambda: one(lambda x: relay.strided_slice(x, begin=[0, 1], end=[1, 3]))),
    "transpose": (1, lambda: one(lambda x: relay.transpose(x, axes=(0, 2, 3, 1)))),
    "expand_dims": (1, lambda: one(lambda x: relay.expand_dims(x, axis=1))),
    "max_pool2d": (1, lambda: one(lambda x: nn.max_pool2d(x, pool_size=(2, 2), padding=(1, 1)))),
    "batch_flatten": (1, lambda: one(nn.batch_flatten)),
    "depth_to_space": (1, lambda: one(lambda x: nn.depth_to_space(x, block_size=2))),
    "max": (1, lambda: one(lambda x: relay.max(x, axis=[1]))),
    "min": (1, lambda: one(lambda x: relay.min(x, axis=[1]))),
    "broadcast_to": (1, lambda: one(lambda x: relay.broadcast_to(x, shape=(2, 4, 6, 6)))),
    "take": (1, lambda: one(lambda x: relay.take(x, relay.const(np.array([2, 0])), axis=1))),
    "resize2d": (1, lambda: one(lambda x: relay.image.resize2d(x, size=(12, 12), method="nearest_neighbor"))),
    "pad": (1, lambda: one(lambda x: nn.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), 0.5))),
    "relu": (1, lambda: one(nn.relu)),
    "leaky_relu": (2, lambda: one(lambda x: nn.leaky_relu(x, alpha=0.1))),
    "clip": (1, lambda: one(lambda x: relay.clip(x, a_min=-1.0, a_max=3.0))),
    "mean": (1, lambda: one(lambda x: relay.mean(x, axis=[2, 3]))),
    "avg_pool2d": (1, lambda: one(lambda x: nn.avg_pool2d(x, pool_size=(2, 2), strides=(2, 2)))),
    "global_avg_pool2d": (1, lambda: one(nn.global_avg_pool2d)),
    "sqrt": (2, lambda: one(lambda x: relay.sqrt(relay.abs(x)))),
    "sigmoid": (1, lambda: one(relay.sigmoid, scale=1 / 256, zero=-128)),
    "tanh": (1, lambda: one(relay.tanh, scale=1 / 128, zero=0)),
    "erf": (1, lambda: one(relay.erf, scale=1 / 128, zero=0)),
    "exp": (1, lambda: one(relay.exp)),
    "abs": (1, lambda: one(relay.abs)),
    "add": (1, lambda: two(lambda x, y: x + y)),
    "subtract": (1, lambda: two(lambda x, y: x - y)),
    "multiply": (1, lambda: two(lambda x, y: x * y)),
    "maximum": (1, lambda: two(relay.maximum)),
    "minimum": (1, lambda: two(relay.minimum)),
    "add a constant": (1, lambda: one(lambda x: x + constant(4, 1, 1))),
    "concatenate": (1, lambda: two(lambda x, y: relay.concatenate([x, y], axis=1))),
    "split": (1, lambda: one(lambda x: relay.split(x, indices_or_sections=2, axis=1)[1])),
    "conv2d": (1, lambda: contraction(nn.conv2d, IMAGE, (3, 4, 3, 3))),
    "conv2d by channel": (1, lambda: contraction(nn.conv2d, IMAGE, (3, 4, 3, 3), 0)),
    "conv2d, bias, relu": (
        1,
        lambda: contraction(lambda x, w: nn.relu(nn.bias_add(nn.conv2d(x, w), constant(3))), IMAGE, (3, 4, 3, 3), 0),
    ),
    "conv2d, constant": (
        1,
        lambda: contraction(lambda x, w: nn.conv2d(x, w) + constant(3, 1, 1), IMAGE, (3, 4, 1, 1), 0),
    ),
    "conv2d_transpose": (1, lambda: contraction(nn.conv2d_transpose, IMAGE, (4, 3, 2, 2))),
    "dense": (1, lambda: contraction(nn.dense, (2, 9), (5, 9))),
    "dense by unit": (1, lambda: contraction(nn.dense, (2, 9), (5, 9), 0)),
    "batch_matmul": (
        1,
        lambda: contraction(lambda x, y: nn.batch_matmul(x, y, transpose_b=True), (2, 3, 4), (2, 5, 4)),
    ),
    "two convolutions added": (
        1,
        lambda: contraction(lambda x, w: nn.conv2d(x, w) + nn.conv2d(nn.relu(x), w), IMAGE, (3, 4, 1, 1)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_fake_quantization(name):
    steps, build = CASES[name]
    params, body = build()
    mod = relay.IRModule.from_expr(relay.Function(params, body))
    integers = transform.FakeQuantizationToInteger(hard_fail=True)(mod)
    rest = transform.FoldConstant()(integers)
    assert "qnn.dequantize" not in count(rest) and "float32" not in {
        str(e.checked_type.dtype) for e in _calls(rest["main"]) if isinstance(e.checked_type, relay.TensorType)
    }
    random = np.random.default_rng(2)
    inputs = [random.integers(-100, 100, [int(s) for s in p.type_annotation.shape]).astype("int8") for p in params]
    for expected, got in zip(values(mod, inputs), values(integers, inputs), strict=True):
        assert expected.dtype == got.dtype and expected.std() > 0
        assert np.abs(expected.astype(int) - got.astype(int)).max() <= steps


def _calls(f):
    found = []
    relay.analysis.post_order_visit(f, lambda e: found.append(e) if isinstance(e, relay.Call) else None)
    return found


def test_fake_quantization_that_stays():
    x, real = quantized("x", IMAGE)
    mod = relay.module(back(relay.cos(real)))
    assert transform.FakeQuantizationToInteger()(mod) == transform.InferType()(mod)
    mirrored = nn.pad(real, ((0, 0), (0, 0), (1, 1), (1, 1)), pad_mode="reflect")
    with pytest.raises(relay.CompileError, match="nn.pad cannot be computed on integers"):
        transform.FakeQuantizationToInteger(hard_fail=True)(relay.module(back(mirrored)))
    for body, name in ((relay.cos(real), "cos"), (nn.relu(relay.cos(nn.relu(real))), "cos")):
        with pytest.raises(relay.CompileError, match=f"{name} cannot be computed on integers"):
            transform.FakeQuantizationToInteger(hard_fail=True)(relay.module(back(body)))
    floats = relay.module(back(relay.cos(relay.var("f", shape=IMAGE))))  # nothing in it was quantised: no region
    assert transform.FakeQuantizationToInteger(hard_fail=True)(floats) == transform.InferType()(floats)


def test_quantisation_aware_training():
    x, real = quantized("x", IMAGE)
    w, weight = quantized("w", (3, 4, 1, 1), zero=0)
    mod = relay.IRModule.from_expr(relay.Function([x, w], nn.conv2d(real, weight)))
    assert "qnn.conv2d" not in count(transform.FakeQuantizationToInteger()(mod))
    qat = transform.FakeQuantizationToInteger(use_qat=True)(mod)
    assert count(qat) == {"qnn.conv2d": 1, "qnn.dequantize": 1, "multiply": 1}
    random = np.random.default_rng(2)
    inputs = [random.integers(-9, 9, shape).astype("int8") for shape in (IMAGE, (3, 4, 1, 1))]
    for expected, got in zip(values(mod, inputs), values(qat, inputs), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


def by_constant(f, weight, axis=0, data=IMAGE):
    """f of quantised data and a constant quantised weight with a scale for each output."""
    x, real = quantized("x", data)
    random = np.random.default_rng(6)
    scales = random.uniform(0.01, 0.03, weight[axis]).astype("float32")
    w = relay.qnn.dequantize(
        relay.const(random.integers(-127, 128, weight).astype("int8")),
        relay.const(scales),
        relay.const(np.zeros(weight[axis], "int8")),
        axis=axis,
    )
    return [x], f(real, w)


BIAS = relay.const(np.linspace(-2, 2, 8, dtype="float32"))
# Regions of which all becomes integers; others, of which only the sums of products do.
EXACT = {
    "conv2d, bias, relu": lambda: by_constant(lambda x, w: nn.relu(nn.bias_add(nn.conv2d(x, w), BIAS)), (8, 4, 3, 3)),
    "three channels": lambda: by_constant(
        lambda x, w: nn.conv2d(x, w, padding=[1, 1]), (8, 3, 3, 3), data=(1, 3, 9, 9)
    ),
    "depthwise": lambda: by_constant(lambda x, w: nn.conv2d(x, w, groups=4), (4, 1, 3, 3)),
    "dense": lambda: by_constant(nn.dense, (8, 6), data=(3, 6)),
    "matmul": lambda: by_constant(nn.matmul, (6, 8), axis=1, data=(2, 3, 6)),
    "transposed weight": lambda: by_constant(
        lambda x, w: nn.dense(x, relay.transpose(w, axes=[1, 0])), (6, 8), axis=1, data=(3, 6)
    ),
}
PARTLY = {
    "a sum of tensors": lambda: by_constant(lambda x, w: nn.conv2d(x, w, padding=[1, 1]) + x, (4, 4, 3, 3)),
    "a function": lambda: by_constant(lambda x, w: relay.tanh(nn.conv2d(x, w)), (8, 4, 3, 3)),
}


@pytest.mark.parametrize("name", [*EXACT, *PARTLY])
def test_exact_integers_are_those_of_floats(name):
    params, real = {**EXACT, **PARTLY}[name]()
    mod = relay.IRModule.from_expr(relay.Function(params, back(real)))
    integers = transform.FakeQuantizationToInteger(exact=True)(mod)
    found = count(integers)
    assert any(op.startswith(("qnn.conv2d", "qnn.dense")) for op in found)
    assert ("qnn.requantize" in found) == (name in EXACT) and ("qnn.quantize" in found) >= (name in PARTLY)
    inputs = [
        np.random.default_rng(2).integers(-128, 128, p.type_annotation.concrete_shape).astype("int8") for p in params
    ]
    for expected, got in zip(values(mod, inputs), values(integers, inputs), strict=True):
        assert expected.dtype == got.dtype and expected.std() > 5
        difference = np.abs(expected.astype(int) - got.astype(int))
        assert difference.max() <= 1 and (difference > 0).mean() < 0.02  # floats that are nearly halves


def test_what_exact_leaves_in_floats():
    # These would be rounded twice, or have a weight that is not constant, which no instruction takes.
    for params, body in (CASES["mean"][1](), CASES["add"][1](), CASES["concatenate"][1](), CASES["conv2d"][1]()):
        mod = relay.IRModule.from_expr(relay.Function(params, body))
        exact = count(transform.FakeQuantizationToInteger(exact=True)(mod))
        assert {op for op in exact if op.startswith("qnn")} == {"qnn.dequantize", "qnn.quantize"}
    # A quantisation of a sum needs no division: the scales of both tensors are divided, which are constants.
    params, body = CASES["add"][1]()
    mod = transform.FakeQuantizationToInteger(exact=True)(relay.IRModule.from_expr(relay.Function(params, body)))
    assert "qnn.quantize(%4, 1f" in mod.astext() and "divide" not in count(transform.FoldConstant()(mod))


def test_bytes_are_stored_instead_of_floats():
    # The shortcut's result is dequantised by the group that adds it, not by the one that computes it.
    params, (main, shortcut) = by_constant(
        lambda x, w: [
            relay.qnn.dequantize(back(nn.conv2d(f(x), w)), relay.const(0.1), relay.const(-2))
            for f in (nn.relu, lambda e: e)
        ],
        (8, 4, 3, 3),
    )
    mod = relay.IRModule.from_expr(relay.Function(params, back(main + shortcut, 0.2)))
    mod = transform.FuseOps()(transform.FoldConstant()(transform.FakeQuantizationToInteger(exact=True)(mod)))
    groups = [c for c in _calls(mod["main"]) if isinstance(c.op, relay.Function)]
    assert len(groups) == 3 and {str(c.checked_type.dtype) for c in groups} == {"int8"}
    (x,) = inputs = [np.random.default_rng(2).integers(-128, 128, IMAGE).astype("int8")]
    np.testing.assert_array_equal(values(mod, inputs)[0], relay.compile(mod)(x))


def test_softmax_on_request():
    x, real = quantized("x", (2, 8), scale=0.1, zero=0)
    mod = relay.module(back(nn.softmax(real), scale=1 / 256, zero=-128))
    assert "qnn.softmax" not in count(transform.FakeQuantizationToInteger()(mod))
    integers = transform.FakeQuantizationToInteger(softmax=True)(mod)
    assert "qnn.softmax" in count(integers)
    inputs = [np.random.default_rng(2).integers(-30, 30, (2, 8)).astype("int8")]
    for expected, got in zip(values(mod, inputs), values(integers, inputs), strict=True):
        assert np.abs(expected.astype(int) - got.astype(int)).max() <= 6
