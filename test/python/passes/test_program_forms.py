"""Passes with arguments of Python that change the form of a program: sizes, weights, places, devices, functions as
data, which compiler takes what. Results are compared with those of the program as it was."""

import numpy as np
import pytest
from relay.collage import CollagePartition, CostEstimator, CustomCostEstimator, MockCostEstimator
from relay.dataflow_pattern import is_op, wildcard

import relay
from relay import transform

random = np.random.default_rng(2)


def draw(*shape):
    return random.standard_normal(shape).astype("float32")


def layer() -> relay.IRModule:
    x, w = relay.var("x", shape=(1, 3)), relay.const(np.arange(6, dtype="float32").reshape(2, 3))
    return relay.IRModule.from_expr(relay.Function([x], relay.nn.relu(relay.nn.dense(x, w))))


@pytest.mark.parametrize("auto_pad", [False, True])
def test_flexible_shape_dispatch(auto_pad):
    mod = layer()
    many = transform.FlexibleShapeDispatch([4, 2, 8], axis=0, auto_pad=auto_pad)(mod)
    assert {"main", "main_2", "main_4", "main_8"} == {var.name_hint for var in many.functions}
    assert str(many["main"].params[0].checked_type) == "Tensor[(?, 3), float32]"
    compiled = relay.compile(many)
    for n in [1, 2, 3, 5, 8] if auto_pad else [2, 4, 8]:
        a = draw(n, 3)
        expected = np.maximum(a @ np.arange(6, dtype="float32").reshape(2, 3).T, 0)
        np.testing.assert_allclose(relay.evaluate(many, [a]), expected, rtol=1e-5)
        np.testing.assert_allclose(compiled(a), expected, rtol=1e-5)
    with pytest.raises(relay.CompileError):
        compiled(draw(9, 3))
    for wrong in ([], [0]):
        with pytest.raises(ValueError, match="extents"):
            transform.FlexibleShapeDispatch(wrong)
    with pytest.raises(ValueError, match="input_indices"):
        transform.FlexibleShapeDispatch([2], input_indices=[1])(mod)


def test_transposed_weights():
    d, w, b = relay.var("d", shape=(2, 8)), relay.var("w", shape=(8, 4)), relay.var("b", shape=(4,))
    f = relay.Function([d, w, b], relay.nn.dense(d, relay.transpose(w, axes=[1, 0])) + b)
    values = {"w": draw(8, 4), "b": draw(4)}
    changed, params = relay.weights.simplify_fc_transpose(f, values)
    assert "transpose" not in str(changed) and sorted(params) == ["b", "w.T"]
    a = draw(2, 8)
    got = relay.evaluate(relay.IRModule({"main": changed}), {"d": a, **params})
    np.testing.assert_allclose(got, a @ values["w"] + values["b"], rtol=1e-5, atol=1e-5)
    other = relay.IRModule.from_expr(relay.Function([d, w, b], relay.nn.dense(d, relay.transpose(w, axes=[1, 0])) + b))
    assert transform.SimplifyFCTranspose(["nobody"])(other) == other
    both = relay.Function([d, w], relay.Tuple([relay.nn.dense(d, relay.transpose(w)), w]))
    kept, params = relay.weights.simplify_fc_transpose(both, {"w": values["w"]})
    assert sorted(params) == ["w", "w.T"] and [p.name_hint for p in kept.params] == ["d", "w", "w.T"]


@pytest.mark.parametrize("block", [(1, 1), (4, 8)])
def test_sparse_weights_that_are_parameters(block):
    weight = np.zeros((16, 32), "float32")
    weight[:4, :8] = draw(4, 8)
    d, w, full = relay.var("d", shape=(3, 32)), relay.var("w", shape=(16, 32)), relay.var("full", shape=(16, 32))
    f = relay.Function([d, w, full], relay.nn.dense(d, w) + relay.nn.dense(d, full))
    values = {"w": weight, "full": draw(16, 32)}
    changed, params = relay.weights.sparse_dense(f, values, block, 0.5)
    assert sorted(params) == ["full", "w.data", "w.indices", "w.indptr"]
    assert relay.analysis.list_op_freqs(relay.IRModule({"main": changed}))["nn.sparse_dense"] == 1
    a = draw(3, 32)
    got = relay.evaluate(relay.IRModule({"main": changed}), {"d": a, **params})
    np.testing.assert_allclose(got, a @ weight.T + a @ values["full"].T, rtol=1e-4, atol=1e-4)


def test_sparse_convolutions_that_are_parameters():
    weight = np.zeros((1, 1, 8, 4), "float32")
    weight[..., :2, 0] = 1
    d, w = relay.var("d", shape=(1, 5, 5, 8)), relay.var("w", shape=(1, 1, 8, 4))
    conv = relay.nn.conv2d(d, w, kernel_size=(1, 1), channels=4, data_layout="NHWC", kernel_layout="HWIO")
    changed, params = relay.weights.sparse_conv2d(relay.Function([d, w], conv), {"w": weight}, (1, 1), 0.5)
    assert "sparse_conv2d" in str(changed)
    a = draw(1, 5, 5, 8)
    got = relay.evaluate(relay.IRModule({"main": changed}), {"d": a, **params})
    np.testing.assert_allclose(got, a @ weight[0, 0], rtol=1e-5, atol=1e-5)
    padded = relay.nn.conv2d(d, w, kernel_size=(1, 1), padding=(1, 1), data_layout="NHWC", kernel_layout="HWIO")
    same, params = relay.weights.sparse_conv2d(relay.Function([d, w], padded), {"w": weight}, (1, 1), 0.5)
    assert "sparse" not in str(same) and list(params) == ["w"]


def test_places():
    x = relay.var("x", shape=(2,))
    y = relay.exp(x)
    mod = relay.IRModule.from_expr(relay.Function([x], relay.nn.relu(y) + y))

    def names(module):
        found = {}

        def note(e):
            if isinstance(e, relay.Call):
                found[e.op.name] = e.span.source_name

        relay.analysis.post_order_visit(module["main"], note)
        return found

    numbers = names(transform.CapturePostDfsIndexInSpans()(mod))
    assert all(name.startswith("index:") for name in numbers.values()) and len(set(numbers.values())) == 3
    at = {op: [int(n) for n in name.split(":")[1:]] for op, name in numbers.items()}
    assert at["exp"][1] == at["nn.relu"][1] == at["add"][0]  # both flow into the sum
    printed = transform.AnnotateSpans()(mod)
    assert str(printed["main"].body.span).startswith("GeneratedSource:")
    assert printed == transform.InferType()(mod)
    span = relay.Span("conv")
    one = relay.Call(relay.op.get("exp"), [x], span=span)
    two = relay.Call(relay.op.get("tanh"), [one], span=span)
    three = relay.Call(relay.op.get("abs"), [two], span=relay.Span("alone"))
    tagged = names(transform.suffixes.tag_suffixes(relay.IRModule.from_expr(relay.Function([x], three))))
    assert tagged == {"exp": "conv_PART_0", "tanh": "conv_PART_1", "abs": "alone"}


def test_annotated_regions():
    begin, end = relay.op.get("annotation.compiler_begin"), relay.op.get("annotation.compiler_end")

    def enter(e, compiler):
        return relay.op.annotation.compiler_begin(e, compiler=compiler)

    def leave(e, compiler):
        return relay.op.annotation.compiler_end(e, compiler=compiler)

    x = relay.var("x", shape=(2,))
    a, b = enter(x, "one"), enter(x, "one")
    total = a + b
    out = leave(total, "one")
    again = leave(relay.exp(total), "one")
    inner = enter(out, "two")
    last = leave(relay.tanh(inner), "two")
    regions = relay.analysis.AnnotatedRegionSet(relay.Function([x], relay.Tuple([last, again])), begin, end)
    assert len(regions) == 2 and [region.target for region in regions] == ["one", "two"]
    first = regions.get_region(total)
    assert first.args == [a, b] and first.rets == [out, again] and len(first.nodes) == 6
    assert regions.get_region(x) is None and regions.get_region(inner) is regions[1]
    regions.merge_regions(regions[1], first)
    assert len(regions) == 1 and regions.get_region(last) is first
    with pytest.raises(ValueError, match="two regions"):
        regions.merge_regions(first, first)


@pytest.fixture
def compilers():
    pattern = is_op("nn.relu")(is_op("add")(wildcard(), wildcard()))
    relay.byoc.register_pattern_table("fuser", lambda: [("fuser.add_relu", pattern)])
    relay.byoc.supports("single", "tanh", lambda call: True)
    return ["fuser", "single"]


def test_collage_takes_the_cheapest_cover(compilers):
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
    mod = relay.IRModule.from_expr(relay.Function([x, y], relay.tanh(relay.nn.relu(x + y)) + x))

    def taken(costs):
        out = CollagePartition(compilers, MockCostEstimator(costs))(mod)
        values = draw(2, 3), draw(2, 3)
        np.testing.assert_allclose(relay.evaluate(out, values), relay.evaluate(mod, values), rtol=1e-6)
        return sorted(f.attrs["Compiler"] for f in out.functions.values() if f.attrs.get("Compiler"))

    assert taken({"default": 2, "fuser": 3, "single": 1}) == ["fuser", "single"]
    assert taken({"default": 2, "fuser": 5, "single": 1}) == ["single"]  # two calls of Relay's cost 4
    assert taken({"default": 1, "fuser": 3, "single": 1.5}) == []
    asked = []
    estimator = CustomCostEstimator(lambda module, compiler: asked.append(compiler) or 1.0)
    CollagePartition(compilers, estimator)(mod)
    assert asked.count("default") == 3 and asked.count("fuser") == 1  # equal candidates once: both sums
    with pytest.raises(ValueError, match="no cost of single"):
        taken({"default": 1, "fuser": 1})
    with pytest.raises(ValueError, match="max_estimates"):
        CollagePartition(compilers, MockCostEstimator({"default": 1, "fuser": 1, "single": 1}, 2))(mod)


def test_collage_leaves_what_is_used_outside(compilers):
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
    total = x + y
    mod = relay.IRModule.from_expr(relay.Function([x, y], relay.nn.relu(total) - total))
    assert CollagePartition(["fuser"], MockCostEstimator({"default": 9, "fuser": 1}))(mod) == transform.InferType()(mod)
    measured = CostEstimator().estimate(transform.InferType()(mod), "default")
    assert 0 < measured < 1
    with pytest.raises(ValueError, match="CustomCostEstimator"):
        CostEstimator().estimate(mod, "fuser")


def test_continuations_of_functions():
    mod = relay.IRModule()
    n, g = relay.var("n", "int32"), relay.GlobalVar("down")
    step = relay.If(n < relay.const(1), relay.const(0), g(n - relay.const(2)) + n)
    mod["down"] = relay.Function([n], step, relay.TensorType((), "int32"))
    m = relay.var("m", "int32")
    f = relay.Function([m], g(m) + relay.const(1))
    cps = transform.to_cps(f, mod)
    assert len(cps.params) == 2 and "down_cps" in mod
    mod["main"] = transform.un_cps(transform.to_cps(f, mod))
    assert relay.evaluate(mod, [np.int32(5)]) == 5 + 3 + 1 + 1
    with pytest.raises(ValueError, match="continuation"):
        transform.un_cps(f)
    with pytest.raises(ValueError, match="module"):
        transform.Defunctionalization(_higher_order())


def _higher_order():
    x = relay.var("x", "int32")
    h = relay.var("h", relay.FuncType([relay.scalar_type("int32")], relay.scalar_type("int32")))
    y, z, w = (relay.var(name, "int32") for name in "yzw")
    twice = relay.Function([h, z], h(h(z)), relay.scalar_type("int32"))
    pick = relay.If(x < relay.const(3), relay.Function([y], y + x), relay.Function([w], w * x))
    return relay.Function([x], twice(pick, x))


def test_functions_as_data():
    mod = relay.IRModule()
    p = relay.Prelude(mod)
    x, xs = relay.var("x", "int32"), relay.var("xs", p.l(relay.scalar_type("int32")))
    f = relay.Function([xs], p.sum(p.map(relay.Function([x], x + relay.const(1)), xs)))
    mod["main"] = transform.Defunctionalization(f, mod)
    assert "Function0" in [t.name_hint for t in mod.get_global_type_vars()]
    assert relay.evaluate(mod, [[1, 2, 3]]) == 9
    h = relay.var("h", relay.FuncType([relay.scalar_type("int32")], relay.scalar_type("int32")))
    with pytest.raises(relay.CompileError, match="@main is a function"):
        transform.Defunctionalization()(relay.IRModule.from_expr(relay.Function([h], h(relay.const(1)))))


def test_constants_get_names():
    x = relay.var("x", shape=(2,))
    mod = relay.IRModule.from_expr(relay.Function([x], x + relay.const([1.0, 2.0]) + relay.const(1.0)))
    lifted = transform.LiftConstants()(mod)
    assert isinstance(lifted["main"].body, relay.Let) and str(lifted).count("let") == 1
    assert (relay.evaluate(lifted, [np.ones(2, "float32")]) == [3, 4]).all()
    plain = relay.IRModule.from_expr(relay.Function([x], x + relay.const(1.0)))
    assert transform.LiftConstants()(plain) == transform.InferType()(plain)


def test_functions_of_others():
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    f = relay.Function([x], x + x, attrs={"Compiler": "one", "global_symbol": "f", "Primitive": 1})
    mod = transform.InferType()(relay.IRModule({"f": f, "main": relay.Function([y], relay.GlobalVar("f")(y))}))
    marked = transform.MarkCompilerFunctionsAsExtern("one")(mod)
    assert marked["f"].attrs == {"Extern": 1}
    assert (relay.evaluate(marked, [np.ones(2, "float32")]) == 2).all()
    assert transform.MarkCompilerFunctionsAsExtern("two")(mod) == mod
    assert transform.MarkCompilerFunctionsAsExtern()(mod)["f"].attrs == {"Extern": 1}


@pytest.mark.parametrize(
    ("devices", "message"),
    [
        ((("abacus", False), ("", False)), "there is no device 'abacus'"),
        ((("cuda:1 ", False), ("", False)), "there is no device 'cuda:1 '"),
        ((("cuda", True), ("cpu", True)), "on cuda:0 and on cpu:0"),
        ((("cpu:x", False), ("", False)), "there is no device 'cpu:x'"),
        ((("cpu:1", True), ("cpu:2", True)), "on cpu:1 and on cpu:2"),
    ],
)
def test_devices_that_cannot_be(devices, message):
    x = relay.var("x", shape=(2,))
    a, b = (relay.op.on_device(x, device, constrain_result=result) for device, result in devices)
    with pytest.raises(relay.CompileError, match=message):
        transform.PlanDevices()(relay.IRModule.from_expr(relay.Function([x], a + b)))


def test_devices_that_programs_do_not_run_on():
    """They are planned, and the values are those of any device; compiling names what there are no kernels for."""
    x = relay.var("x", shape=(2,))
    mod = relay.module(relay.tanh(relay.op.on_device(relay.exp(x), "rocm:1")))
    planned = transform.PlanDevices()(mod)
    assert 'device_copy(%0, src_virtual_device="rocm:1", dst_virtual_device="cpu:0")' in planned.astext()
    assert transform.PlanDevices()(planned) == planned
    assert relay.parse(planned.astext()) == planned
    value = np.array([0.5, -2], "float32")
    np.testing.assert_allclose(relay.evaluate(planned, [value]), np.tanh(np.exp(value)), rtol=1e-6)
    everywhere = transform.PlanDevices("metal")(relay.module(relay.exp(x)))
    assert everywhere["main"].attrs["param_virtual_devices"] == ["metal:0"]
    assert everywhere["main"].attrs["result_virtual_device"] == "metal:0"
    for wrong, device in ((mod, "rocm:1"), (planned, "rocm:1"), (everywhere, "metal:0")):
        with pytest.raises(relay.CompileError, match=f"on {device}, but there are no kernels for this kind of device"):
            relay.compile(wrong)
    with pytest.raises(relay.CompileError, match="there is no device 'abacus'"):
        transform.PlanDevices("abacus")(mod)


def test_dynamic_to_static_computes_shapes():
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(3, 2))
    made = transform.DynamicToStatic()(
        relay.IRModule.from_expr(relay.Function([x, y], relay.reshape(x, relay.shape_of(y))))
    )
    assert made["main"].body.op.name == "reshape"
    unknown = relay.var("z", shape=("n", 2))
    kept = transform.DynamicToStatic()(
        relay.IRModule.from_expr(relay.Function([x, unknown], relay.reshape(x, relay.shape_of(unknown))))
    )
    assert "dyn.reshape" in str(kept)


def test_a_pass_on_one_function():
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    mod = relay.IRModule(
        {"f": relay.Function([x], x * relay.const(1.0)), "main": relay.Function([y], y * relay.const(1.0))}
    )
    out = transform.ApplyPassToFunction(transform.SimplifyExpr(), "f")(mod)
    assert "multiply" not in str(out["f"]) and "multiply" in str(out["main"])
    with pytest.raises(ValueError, match="no function"):
        transform.ApplyPassToFunction(transform.SimplifyExpr(), "g", error_if_no_match_function=True)(mod)


def test_printing_instruments(capsys):
    x = relay.var("x", shape=(2,))
    mod = relay.IRModule.from_expr(relay.Function([x], x + x))
    with transform.PassContext(instruments=[transform.PassPrintingInstrument(["InferType"], ["FoldConstant"])]) as ctx:
        transform.InferType()(mod)
        transform.FoldConstant()(mod)
        out = capsys.readouterr().out
        assert out.count("Print IR before: InferType") == 1 and out.count("Print IR after: FoldConstant") == 1
        assert "after: InferType" not in out
        ctx.override_instruments([transform.PrintBeforeAll(), transform.PrintAfterAll()])
        transform.InferType()(mod)
        out = capsys.readouterr().out
        assert "before: InferType" in out and "after: InferType" in out
    assert "fuse_ops.max_group" in transform.PassContext.list_configs()


def test_parameters_as_bytes():
    params = {"a": draw(3, 4), "b": np.arange(5), "c": np.array([True, False]), "d": np.float16(2).reshape(())}
    data = relay.save_param_dict(params)
    # The beginning as it was written before: the mark, eight bytes, the number of names, the first name.
    assert data[:33].hex() == "b79c04054f8de5f70000000000000000040000000000000001000000000000006" + "1"
    back = relay.load_param_dict(data)
    for name, value in params.items():
        assert back[name].dtype == value.dtype and (back[name] == value).all()
    for end in range(0, len(data), 7):
        with pytest.raises(relay.CompileError, match="is truncated"):
            relay.load_param_dict(data[:end])
    with pytest.raises(relay.CompileError, match="not a list of parameters"):
        relay.load_param_dict(bytes(64))
    for at in range(24, len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 0xFF
        try:
            relay.load_param_dict(damaged)
        except (relay.CompileError, UnicodeDecodeError):
            pass
    with pytest.raises(TypeError, match="not a parameter"):
        relay.save_param_dict({"a": np.array(["text"])})


def test_the_graph_executor():
    x, w = relay.var("x", shape=(2,)), relay.var("w", shape=(2,))
    mod = relay.IRModule.from_expr(relay.Function([x, w], relay.Tuple([x + w, x - w])))
    lib = relay.build(mod, mod_name="mine")
    with pytest.raises(KeyError, match="mine"):
        lib["default"]
    m, other = relay.GraphModule(lib["mine"]()), relay.GraphModule(lib["mine"]())
    data = relay.save_param_dict({"w": np.full(2, 3, "float32"), "unknown": np.zeros(1)})
    m.load_params(data)
    kept, into = np.ones(2, "float32"), np.zeros(2, "float32")
    m.set_input_zero_copy("x", kept)
    m.set_output_zero_copy(1, into)
    m.run()
    assert (m.get_output(0) == 4).all() and (into == -2).all()
    kept[:] = 10
    m.run()
    assert (into == 7).all()
    other.share_params(m, data)
    assert [one.tolist() for one in other.run_from_inputs({"x": np.zeros(2, "float32")})] == [[3, 3], [-3, -3]]
    assert m.get_input_index("w") == 1 and m.get_input_index("v") == -1
    assert m.get_input_info() == ({"x": [2], "w": [2]}, {"x": "float32", "w": "float32"})
    assert m.benchmark(repeat=2, number=1, end_to_end=True).mean > 0
    with pytest.raises(ValueError, match="no input v"):
        m.set_input_zero_copy("v", kept)


def test_checkpoints_need_less_memory():
    def slope(every):
        lines = ["let %h0 = %x;"]
        for i in range(1, 33):
            begin, end = ("annotation.checkpoint(", ")") if i % every == 0 else ("", "")
            lines.append(f"let %h{i} = {begin}tanh(nn.dense(%h{i - 1}, %w)){end};")
        square = "Tensor[(256, 256), float32]"
        body = " ".join(lines)
        return relay.grad(
            relay.parse(f'#[version = "0.0.5"]\ndef @main(%x: {square}, %w: {square}) {{ {body} sum(%h32) }}'), "w"
        )

    x, w = draw(256, 256), draw(256, 256) / 16
    less = relay.compile(slope(6), memory_limit=5 << 20)(x, w)
    with pytest.raises(relay.CompileError):
        relay.compile(slope(100), memory_limit=8 << 20)(x, w)
    np.testing.assert_allclose(less, relay.compile(slope(100))(x, w), rtol=1e-4, atol=1e-3)


# Functions that use sizes of their arguments, and calls of them; the variables of both have the same names.
F = "def @f(%k: Tensor[(m), float32], Inline=1) -> Tensor[(m, 2), float32] { zeros(shape=[m, 2]) }\n"
HALF = "def @f(%k: Tensor[(2 * m), float32], Inline=1) -> Tensor[(m), float32] { zeros(shape=[m]) }\n"
ANNOTATED = (
    "def @f(%k: Tensor[(m), float32], Inline=1) -> float32 { let %q: Tensor[(m), float32] = exp(%k); "
    "let %g = fn (%z: Tensor[(m), float32]) { sum(%z) }; %g(%q) }\n"
)
SIZED = {
    "a variable": F + "def @main(%x: Tensor[(n), float32]) { @f(%x) }",
    "an expression": F + "def @main(%x: Tensor[(n), float32]) { @f(concatenate((%x, %x), axis=0)) }",
    "a number": F + "def @main(%x: Tensor[(6), float32]) { @f(%x) }",
    "names that meet": F + "def @main(%x: Tensor[(m), float32]) { let %y = concatenate((%x, %x), axis=0); "
    "(@f(%x), @f(%y), zeros(shape=[m])) }",
    "half of it": HALF + "def @main(%x: Tensor[(6), float32]) { @f(%x) }",
    "annotations": ANNOTATED + "def @main(%x: Tensor[(n), float32]) { @f(%x) }",
    "an unknown size": F + "def @main(%x: Tensor[(?), float32]) { @f(%x) }",
}


@pytest.mark.parametrize("name", SIZED)
def test_inlined_functions_that_use_sizes(name):
    mod = relay.parse('#[version = "0.0.5"]\n' + SIZED[name])
    inlined = relay.run_passes(mod, ["inline_calls"])
    assert ("@f" in str(inlined)) == (name == "an unknown size")
    x = np.arange(6, dtype="float32")
    want = relay.evaluate(mod, [x])
    for got in (
        relay.evaluate(inlined, [x]),
        relay.compile(inlined)(x),
        relay.evaluate(relay.parse(str(inlined)), [x]),
    ):
        for one, other in zip(*(v if isinstance(v, tuple) else (v,) for v in (got, want)), strict=True):
            np.testing.assert_allclose(one, other)


def test_inlined_functions_whose_types_are_declared():
    mod = relay.parse("""#[version = "0.0.5"]
import "list"
def @none(Inline=1) -> List[float32] { Nil }
def @both(%l: List[float32], %x: float32, Inline=1) -> (List[float32], float32) { (%l, %x) }
def @main(%x: float32) { let %b = @both(Nil, %x); (@length(%b.0), @length(Cons(%b.1, @none()))) }
""")
    inlined = relay.run_passes(mod, ["inline_calls"])
    assert "@none" not in str(inlined)
    assert relay.compile(inlined)(np.float32(1)) == (0, 1)
