"""Passes with arguments of Python: options, hooks, contexts. What a pass does to a program is in
src/relay/transform/testdata; here results are compared with those of the program as it was."""

import numpy as np
import pytest

import relay
from relay import transform


def same(before: relay.IRModule, after: relay.IRModule, tolerance: float = 1e-5) -> None:
    """Both compute the same of drawn inputs."""
    typed = transform.InferType()(before)
    random = np.random.default_rng(1)
    inputs = []
    for param in typed["main"].params:
        shape, dtype = [int(size) for size in param.checked_type.shape], param.checked_type.dtype
        drawn = random.integers(-9, 9, shape) if "int" in dtype else random.standard_normal(shape)
        inputs.append(drawn.astype(dtype))
    flat = [np.asarray(one) for one in _fields(relay.evaluate(before, inputs))]
    for expected, got in zip(flat, _fields(relay.evaluate(after, inputs)), strict=True):
        assert expected.dtype == np.asarray(got).dtype
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def _fields(value):
    return [one for field in value for one in _fields(field)] if isinstance(value, tuple) else [value]


def convolutions(n: int) -> relay.IRModule:
    x = relay.var("x", shape=(1, 2, 6, 6))
    out = x
    for i in range(n):
        out = relay.nn.relu(relay.nn.conv2d(out, relay.var(f"w{i}", shape=(2, 2, 3, 3)), padding=(1, 1)))
    return relay.IRModule.from_expr(relay.Function(relay.analysis.free_vars(out), out))


def layouts_of(mod: relay.IRModule) -> list[str]:
    found = []

    def note(e):
        if isinstance(e, relay.Call) and e.op == relay.op.get("nn.conv2d"):
            found.append(e.attrs.data_layout + e.attrs.kernel_layout)

    relay.analysis.post_order_visit(mod["main"], note)
    return found


def test_convert_layout():
    mod = convolutions(3)
    nhwc = transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]})
    there = nhwc(mod)
    assert layouts_of(there) == ["NHWCHWIO"] * 3
    assert relay.analysis.list_op_freqs(there)["layout_transform"] == 5  # of the input, the weights, the result
    same(mod, there)
    back = transform.ConvertLayout({"nn.conv2d": ["NCHW", "default"]})(there)
    assert "layout_transform" not in relay.analysis.list_op_freqs(back)
    with transform.LayoutConfig(skip_layers=[0, 2]):
        some = nhwc(mod)
    assert layouts_of(some) == ["NCHWOIHW", "NHWCHWIO", "NCHWOIHW"]
    same(mod, some)
    assert layouts_of(nhwc(mod)) == ["NHWCHWIO"] * 3
    assert layouts_of(transform.ConvertLayout({"nn.conv2d": ["default", "OHWI"]})(mod)) == ["NCHWOHWI"] * 3


@pytest.mark.parametrize(
    "wanted, message",
    [
        ({"nn.conv2d": ["NCHW4"]}, "cannot be"),
        ({"nn.conv2d": ["NCHW4d"]}, "cannot be"),
        ({"nn.conv2d": ["NCHW", "OIHW", "HWIO"]}, "out_layout of nn.conv2d cannot be"),
        ({"nn.conv2d": ["NCW"]}, "cannot be"),
        ({"nn.upsampling": ["NCHW", "", "NHWC"]}, "nn.upsampling has no out_layout"),
        ({"nn.dense": ["NC"]}, "not an operator with a layout"),
        ({"nn.max_pool2d": ["NHWC", "HWIO"]}, "has no kernel_layout"),
        ({"nn.conv2d": []}, "has 0 layouts"),
    ],
)
def test_layouts_that_are_none(wanted, message):
    with pytest.raises(relay.CompileError, match=message):
        transform.ConvertLayout(wanted)(convolutions(1))


def test_layouts_in_blocks():
    x, b = relay.var("x", shape=(1, 3, 12, 12)), relay.var("b", shape=(16,))
    first = relay.nn.conv2d(x, relay.var("w0", shape=(16, 3, 3, 3)), padding=(1, 1))
    out = relay.nn.max_pool2d(relay.nn.relu(relay.nn.bias_add(first, b)), pool_size=(2, 2), strides=(2, 2))
    for i in range(2):
        out = out + relay.nn.relu(relay.nn.conv2d(out, relay.var(f"w{i + 1}", shape=(16, 16, 3, 3)), padding=(1, 1)))
    out = relay.nn.conv2d(relay.nn.upsampling(out, scale_h=2.0, scale_w=2.0), relay.var("w3", shape=(10, 16, 1, 1)))
    mod = relay.IRModule.from_expr(relay.nn.batch_flatten(relay.nn.global_avg_pool2d(out)))
    blocked = transform.ConvertLayout({"nn.conv2d": ["NCHW8c", "OIHW8i8o"]})(mod)
    assert layouts_of(blocked) == ["NCHWOIHW", *["NCHW8cOIHW8i8o"] * 2, "NCHWOIHW"]  # 3 channels, and 10
    assert relay.analysis.list_op_freqs(blocked)["layout_transform"] == 4  # in front, behind, and two weights
    same(mod, blocked)
    back = transform.ConvertLayout({"nn.conv2d": ["NCHW", "OIHW"]})(blocked)
    assert "layout_transform" not in relay.analysis.list_op_freqs(back)
    same(mod, back)
    inputs = [
        np.random.default_rng(i).standard_normal(p.checked_type.shape) for i, p in enumerate(blocked["main"].params)
    ]
    inputs = [one.astype("float32") for one in inputs]
    expected = np.asarray(relay.evaluate(mod, inputs))
    np.testing.assert_allclose(relay.compile(blocked)(*inputs), expected, rtol=1e-4, atol=1e-4)


def test_programs_in_blocks_are_compiled_without():
    """Reductions of blocks, of places in them and of all else, broadcasts of one channel, concatenations along both."""
    x, w = relay.var("x", shape=(1, 2, 5, 5, 4)), relay.var("w", shape=(2, 2, 3, 3, 4, 4))
    conv = relay.nn.conv2d(x, w, data_layout="NCHW4c", kernel_layout="OIHW4i4o")
    outs = [
        relay.sum(conv, axis=axis, exclude=exclude, keepdims=keepdims)
        for axis in ([1, 4], [4], [1], [2, 3], [0, 4])
        for exclude in (False, True)
        for keepdims in (False, True)
    ]
    outs += [relay.max(conv), relay.argmax(conv), relay.argmax(conv, axis=[1, 4])]
    outs += [
        conv * relay.var(f"s{i}", shape=shape) for i, shape in enumerate([(1, 1, 3, 3, 1), (1, 2, 1, 1, 4), (4,), ()])
    ]
    outs += [conv + relay.var("t", shape=(1, 1, 1, 1, 4)), conv + relay.var("u", shape=(2, 1, 1, 1))]
    outs += [relay.concatenate([conv, conv], axis=axis) for axis in (1, 2, 4)]
    outs += [relay.nn.pad(conv, ((0, 0), (0, 0), (1, 0), (0, 2), width)) for width in ((0, 0), (1, 1))]
    outs += [relay.nn.softmax(conv, axis=axis) for axis in (1, 2, -1)]
    outs += [relay.transpose(conv, axes=[0, 1, 4, 2, 3]), relay.nn.upsampling(conv, 2.0, 2.0, layout="NCHW4c")]
    mod = relay.IRModule.from_expr(relay.Tuple(outs))
    plain = relay.run_passes(mod, ["plain_layouts"])
    assert layouts_of(plain) == ["NCHWOIHW"]
    same(mod, plain)


def test_operators_without_blocks_say_so():
    x, w = relay.var("x", shape=(1, 4, 5, 5, 5)), relay.var("w", shape=(4, 4, 3, 3, 3))
    with pytest.raises(relay.CompileError, match="nn.conv3d cannot use .*: it does not support blocks"):
        transform.ConvertLayout({"nn.conv3d": ["NCDHW4c"]})(relay.module(relay.nn.conv3d(x, w)))


@pytest.mark.parametrize("layout", ["NHWC", "HNCW", "NCHW4c"])
def test_what_depends_on_the_order_of_axes(layout):
    """Places of extreme values, and norms whose first axis is the batch."""
    conv = relay.nn.conv2d(relay.var("x", shape=(2, 4, 5, 3)), relay.var("w", shape=(4, 4, 1, 1)))
    scale, shift = relay.var("scale", shape=(4,)), relay.var("shift", shape=(4,))
    outs = [relay.argmax(conv), relay.argmin(conv, axis=[1, 3]), relay.argmax(conv, axis=[2, 3])]
    outs += [relay.nn.instance_norm(conv, scale, shift), relay.nn.group_norm(conv, scale, shift, num_groups=2)]
    mod = relay.IRModule.from_expr(relay.Tuple(outs))
    there = transform.ConvertLayout({"nn.conv2d": [layout, "OIHW"]})(mod)
    assert layouts_of(there) == [layout + "OIHW"]
    same(mod, there)


def test_options_of_the_wrong_type():
    with pytest.raises(relay.CompileError, match="must be text"):
        relay.run_passes(convolutions(1), ["convert_layout"], options={"convert_layout.layouts": 3})
    with pytest.raises(relay.CompileError, match="must be a count"):
        relay.run_passes(convolutions(1), ["fuse_ops"], options={"fuse_ops.max_group": "three"})
    with pytest.raises(relay.CompileError, match="is not a count"):
        relay.run_passes(convolutions(1), ["convert_layout"], options={"convert_layout.skip": "one"})


def test_scales_of_weights_that_are_parameters():
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))
    scale = relay.const(np.arange(1, 4, dtype=np.float32))
    mod = relay.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x * scale, w) * relay.const(2.0)))
    assert transform.FoldScaleAxis()(mod) == transform.InferType()(mod)
    folded = transform.FoldScaleAxis(any_weights=True)(mod)
    assert isinstance(folded["main"].body.args[0], relay.Var)
    same(mod, folded)


def test_call_graph():
    mod = relay.parse(
        '#[version = "0.0.5"]\n'
        "def @loop(%n: int32) -> int32 { if (equal(%n, 0)) { 0 } else { @loop(subtract(%n, 1)) } }\n"
        "def @main(%n: int32) -> int32 { add(@loop(%n), @loop(negative(%n))) }"
    )
    graph = relay.analysis.CallGraph(mod)
    assert graph.ref_count("loop") == 3 and graph.ref_count(relay.GlobalVar("main")) == 0
    assert graph.global_call_count("main") == 2 and graph.global_call_count("loop") == 1
    assert graph.is_recursive("loop") and not graph.is_recursive("main")
    with pytest.raises(ValueError, match="there are: loop, main"):
        graph.ref_count("lop")


def test_fused_functions_and_transposed_weights():
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(3, 3))
    out = relay.nn.softmax(relay.nn.relu(relay.nn.dense(x, relay.transpose(w))))
    mod = relay.IRModule.from_expr(relay.Function([x, w], out))
    assert relay.analysis.search_fc_transpose(mod["main"]) == ["w"]
    assert relay.analysis.search_fc_transpose(relay.nn.dense(x, w)) == []
    each = transform.FuseOps(0)(mod)
    fused = relay.analysis.extract_fused_functions(each)
    assert len(fused) == 4 and all(relay.analysis.structural_hash(f) == key for key, f in fused.items())


def test_runs_of_large_constants_are_constants():
    """A contiguous part of a constant is folded at any size: products with it are packed ahead of time."""
    weights = np.arange(3 * 300 * 256, dtype="float32").reshape(3, 300, 256)
    one = relay.squeeze(relay.strided_slice(relay.const(weights), [1], [2], [1], axes=[0]), axis=[0])
    parts = relay.split(relay.reshape(relay.const(weights), (900, 256)), 3, axis=0)
    turned = relay.transpose(relay.const(weights[0]))
    module = relay.module(relay.Tuple([one, parts[2], turned]))
    folded = relay.transform.FoldConstant()(relay.transform.InferType()(module))["main"].body
    first, last, kept = folded.fields
    np.testing.assert_array_equal(first.data.numpy(), weights[1])
    np.testing.assert_array_equal(last.data.numpy(), weights[2])
    assert isinstance(kept, relay.Call) and kept.op.name == "transpose"


def test_a_level_has_the_passes_of_the_levels_below_in_their_order():
    for mode in ("inference", "training"):
        levels = [relay._core.pipeline(level, mode)[0] for level in range(4)]
        for lower, higher in zip(levels, levels[1:], strict=False):
            rest = iter(higher)
            assert all(name in rest for name in lower), (lower, higher)
        for names in levels:
            assert names[-1] == "fuse_ops" and ("training_forms" in names) == (mode == "training")


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_a_constant_behind_stop_fusion(level):
    w, g = relay.var("w", shape=(4,)), relay.var("g", shape=(4,))
    half = relay.annotation.stop_fusion(relay.const(0.5))
    model = relay.compile(relay.module(relay.add(relay.multiply(w, half), g)), opt_level=level)
    np.testing.assert_array_equal(model(np.full(4, 3, "float32"), np.ones(4, "float32")), np.full(4, 2.5, "float32"))
