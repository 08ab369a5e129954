"""Programs like those of TVM's tests for passes, patterns and executors."""

import numpy as np
import pytest

pytest.importorskip("relay", exc_type=ImportError)
import relay.compat  # noqa: E402, F401
import tvm  # noqa: E402
import tvm.testing  # noqa: E402
from tvm import IRModule, relay, tir  # noqa: E402
from tvm.relay import analysis, transform  # noqa: E402
from tvm.relay.dataflow_pattern import (  # noqa: E402
    DFPatternCallback,
    has_dtype,
    has_shape,
    is_constant,
    is_op,
    is_tuple,
    is_var,
    rewrite,
    wildcard,
)
from tvm.relay.testing import run_infer_type, run_opt_pass  # noqa: E402
from tvm.relay.testing.temp_op_attr import TempOpAttr  # noqa: E402


def test_executor_objects():
    from tvm.relay.backend import Executor, Runtime

    e = Executor("aot", {"interface-api": "c", "unpacked-api": True})
    assert e["interface-api"] == "c" and e["unpacked-api"] is True and e["link-params"] is True
    assert "woof" not in e
    assert e == Executor("aot", {"interface-api": "c", "unpacked-api": True})
    for bad in ({"woof": 1}, {"interface-api": 1}):
        with pytest.raises(tvm.TVMError):
            Executor("aot", bad)
    with pytest.raises(tvm.TVMError, match='"woof" is not defined'):
        Executor("woof")
    assert "aot" in Executor.list_registered() and "system-lib" in Runtime.list_registered_options("crt")


def test_build_kwargs():
    x = relay.var("x", shape=(2,))
    f = relay.Function([x], x + x)
    from tvm.relay.backend import Executor, Runtime

    lib = relay.build(f, "llvm", executor=Executor("graph"), runtime=Runtime("cpp"), mod_name="mine")
    m = tvm.contrib.graph_executor.GraphModule(lib["mine"](tvm.cpu()))
    m.set_input("x", np.ones(2, "float32"))
    m.run()
    tvm.testing.assert_allclose(m.get_output(0).numpy(), [2, 2])
    assert m.get_num_inputs() == 1 and m.get_input_index("x") == 0 and m.get_input_index("nope") == -1
    shapes, dtypes = m.get_input_info()
    assert list(shapes["x"]) == [2] and dtypes["x"] == "float32"
    with pytest.raises(NotImplementedError):
        relay.build(f, "llvm", runtime=Runtime("crt"))
    with pytest.raises(TypeError):
        relay.build(f, "llvm", nonsense=1)


def test_vm_methods():
    x = relay.var("x", shape=(2,))
    y = relay.var("y", shape=(2,))
    mod = IRModule.from_expr(relay.Function([x, y], relay.Tuple([x + y, x - y])))
    exe = relay.vm.compile(mod, "llvm")
    vm = tvm.runtime.vm.VirtualMachine(exe, tvm.cpu())
    a, b = np.ones(2, "float32"), np.full(2, 3, "float32")
    vm.set_input("main", a, y=b)
    out = vm.run()
    tvm.testing.assert_allclose(out[0].numpy(), a + b)
    vm.set_one_input("main", "x", b)
    tvm.testing.assert_allclose(vm.run()[0].numpy(), b + b)
    vm.invoke_stateful("main", a, b)
    assert len(vm.get_outputs()) == 2
    o = [tvm.nd.empty((2,)), tvm.nd.empty((2,))]
    vm.invoke_with_outputs("main", {"x": a, "y": b}, o)
    tvm.testing.assert_allclose(o[1].numpy(), a - b)
    assert vm.get_input_index("y") == 1 and vm.get_input_index("z") == -1
    code, lib = exe.save()
    again = tvm.runtime.vm.Executable.load_exec(code, lib)
    tvm.testing.assert_allclose(tvm.runtime.vm.VirtualMachine(again, tvm.cpu()).invoke("main", a, b)[0].numpy(), a + b)
    assert exe.get_function_params("main") == ["x", "y"]
    assert exe.stats and exe.primitive_ops is not None and exe.bytecode
    r = vm.benchmark(tvm.cpu(), a, b, func_name="main", repeat=2, number=1)
    assert r.mean > 0


def test_vm_other_function():
    mod = IRModule()
    x = relay.var("x", shape=(2,))
    mod["f"] = relay.Function([x], x + x)
    y = relay.var("y", shape=(2,))
    mod["main"] = relay.Function([y], relay.GlobalVar("f")(y))
    exe = relay.vm.compile(mod, "llvm")
    vm = tvm.runtime.vm.VirtualMachine(exe, tvm.cpu())
    tvm.testing.assert_allclose(vm.invoke("f", np.ones(2, "float32")).numpy(), [2, 2])


def test_dfp_basic():
    class R(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.x = wildcard()
            self.y = wildcard()
            self.pattern = is_op("add")(self.x, self.y)

        def callback(self, pre, post, node_map):
            return node_map[self.x][0] - node_map[self.y][0]

    x, y = relay.var("x"), relay.var("y")
    out = rewrite(R(), x + y)
    assert is_op("subtract")(wildcard(), wildcard()).match(out)
    assert not is_op("add")(wildcard(), wildcard()).match(out)
    p = is_op("nn.conv2d")(wildcard(), wildcard()).has_attr({"kernel_size": [3, 3]})
    c = relay.nn.conv2d(relay.var("a", shape=(1, 3, 8, 8)), relay.var("b", shape=(4, 3, 3, 3)), kernel_size=(3, 3))
    assert p.match(c)
    assert is_op("add").has_attr({"TOpPattern": 1}).match(relay.op.get("add"))
    assert is_constant().match(relay.const(1)) and is_var("x").match(x) and is_tuple(None).match(relay.Tuple([x]))
    assert has_dtype("float32").match(relay.var("q", shape=(2,)))
    assert has_shape((2,)).match(relay.var("q", shape=(2,)))


def test_merge_composite():
    def table():
        return [("x.add_relu", is_op("nn.relu")(is_op("add")(wildcard(), wildcard())))]

    a, b = relay.var("a", shape=(10, 10)), relay.var("b", shape=(10, 10))
    f = relay.Function([a, b], relay.nn.relu(a + b))
    out = run_opt_pass(f, transform.MergeComposite(table()))
    assert out.body.op.attrs["Composite"] == "x.add_relu"
    assert out.body.op.attrs["PartitionedFromPattern"] == "add_nn.relu_"


def test_fold_constant():
    c = np.ones((3,)).astype("float32")

    def before():
        x = relay.var("x", relay.TensorType((3,)))
        return relay.Function([x], relay.add(x, relay.add(relay.const(c), relay.const(c))))

    out = run_opt_pass(before(), transform.FoldConstant())
    exp = run_opt_pass(
        relay.Function([x := relay.var("x", shape=(3,))], relay.add(x, relay.const(c + c))), transform.InferType()
    )
    tvm.ir.assert_structural_equal(out, exp)


def test_simplify_inference():
    x = relay.var("x", shape=(1, 4, 3, 3))
    g, b, m, v = (relay.var(n, shape=(4,)) for n in "gbmv")
    y = relay.nn.batch_norm(x, g, b, m, v)[0]
    out = run_opt_pass(relay.Function([x, g, b, m, v], y), transform.SimplifyInference())
    assert "batch_norm" not in str(out)


def test_to_cps():
    from tvm.relay.transform import to_cps, un_cps

    mod = tvm.IRModule()
    x = relay.var("x", shape=())
    f = run_infer_type(relay.Function([x], x))
    cps = to_cps(f)
    ex = relay.create_executor("debug", mod=mod)
    back = un_cps(run_infer_type(cps))
    assert float(ex.evaluate(back)(np.array(3.0, "float32")).numpy()) == 3


def test_gradient():
    from tvm.relay.transform import gradient

    x = relay.var("x", shape=(3,))
    f = run_infer_type(relay.Function([x], x * x))
    g = run_infer_type(gradient(f))
    out, (dx,) = relay.create_executor("debug").evaluate(g)(np.array([1, 2, 3], "float32"))
    tvm.testing.assert_allclose(dx.numpy(), [2, 4, 6])


def test_change_batch():
    mod, _ = relay.testing.mlp.get_workload(1)
    x = mod["main"].params[0]
    new = relay.transform.ChangeBatch({x: 0}, batch_size=16)(mod)
    assert new["main"].params[0].checked_type.shape[0] == 16


def test_mac():
    a = relay.var("a", shape=(1, 3, 8, 8))
    w = relay.var("w", shape=(3, 4, 3, 3))
    f = run_infer_type(relay.Function([a, w], relay.nn.conv2d_transpose(a, w, channels=4, kernel_size=(3, 3))))
    assert analysis.get_total_mac_number(f) == 1 * 3 * 10 * 10 * 3 * 3 * 4


def test_call_graph():
    mod = IRModule()
    x = relay.var("x")
    g1 = relay.GlobalVar("g1")
    mod[g1] = relay.Function([x], x)
    mod["main"] = relay.Function([], g1(relay.const(1)))
    cg = relay.analysis.CallGraph(mod)
    assert "g1" in str(cg) and cg.ref_count(g1) == 1 and cg.ref_count("main") == 0
    assert cg.module == mod and not cg.is_recursive("g1") and cg.global_call_count("main") == 1
    assert "g1" in cg.print_var("main")


def test_defuse():
    x = relay.var("x", shape=(10, 20))
    f = run_infer_type(relay.Function([x], relay.squeeze(relay.exp(relay.add(x, relay.const(1, "float32"))))))
    fused = run_opt_pass(f, transform.FuseOps())
    back = run_opt_pass(fused, transform.DefuseOps())
    tvm.ir.assert_structural_equal(f, back)


def test_inline():
    mod = IRModule()
    x = relay.var("x", shape=(2,))
    mod["g"] = relay.Function([x], x + x).with_attr("Inline", tir.IntImm("int32", 1))
    y = relay.var("y", shape=(2,))
    mod["main"] = relay.Function([y], relay.GlobalVar("g")(y))
    out = transform.Inline()(mod)
    assert "g" not in str(out["main"].body)


def test_remove_unused():
    mod = IRModule()
    relay.prelude.Prelude(mod)
    x = relay.var("x", shape=(2,))
    mod["main"] = relay.Function([x], x)
    out = relay.transform.RemoveUnusedFunctions()(mod)
    assert [v.name_hint for v in out.functions.keys()] == ["main"]


def test_eta():
    mod = tvm.parser.parse("""#[version = "0.0.5"]
def @aux(%x: Tensor[(), int32]) -> Tensor[(), int32] { %x }
def @main() -> fn (Tensor[(), int32]) -> Tensor[(), int32] { @aux }""")
    seq = tvm.transform.Sequential([transform.EtaExpand(expand_global_var=True)])
    with tvm.transform.PassContext(opt_level=3):
        mod = seq(mod)
    assert isinstance(mod["main"].body, relay.Function)


def test_type_functor():
    from tvm.relay import TypeMutator

    tt = relay.TensorType((1, 2))
    f = relay.FuncType([tt], tt)
    assert TypeMutator().visit(f) == f
    assert relay.TypeCall(relay.GlobalTypeVar("G"), [tt]).func.name_hint == "G"


def test_alter_layout_weights():
    """an alter rule that gives a packed call"""
    x = relay.var("x", shape=(1, 64, 56, 56))
    w = relay.var("w", shape=(64, 64, 3, 3))
    y = relay.nn.relu(relay.nn.conv2d(x, w, channels=64, kernel_size=(3, 3), padding=(1, 1)))
    f = relay.Function([x, w], y)

    def alter(attrs, inputs, tinfos, out_type):
        data, weight = inputs
        new = dict(attrs)
        new["data_layout"] = "NCHW16c"
        asked.append(tinfos)
        return relay.nn.conv2d(data, relay.multiply(weight, relay.const(2.0, "float32")), **new)

    asked = []
    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", alter):
        out = run_opt_pass(f, transform.AlterOpLayout())
    x = relay.var("x", shape=(1, 64, 56, 56))
    w = relay.var("w", shape=(64, 64, 3, 3))
    y = relay.nn.conv2d(
        relay.layout_transform(x, "NCHW", "NCHW16c"),
        relay.multiply(w, relay.const(2.0, "float32")),
        channels=64,
        kernel_size=(3, 3),
        padding=(1, 1),
        data_layout="NCHW16c",
    )
    expected = relay.Function([x, w], relay.layout_transform(relay.nn.relu(y), "NCHW16c", "NCHW"))
    tvm.ir.assert_structural_equal(out, run_infer_type(expected))
    assert len(asked) == 1 and len(asked[0]) == 2


def test_legalize():
    x = relay.var("x", shape=(1, 4))
    f = relay.Function([x], relay.nn.relu(x))

    def leg(attrs, inputs, types):
        return relay.maximum(inputs[0], relay.const(0.0))

    with TempOpAttr("nn.relu", "FTVMLegalize", leg):
        out = run_opt_pass(f, transform.Legalize())
    assert "maximum" in str(out)


def test_convert_layout():
    x = relay.var("x", shape=(1, 56, 56, 64))
    w = relay.var("w", shape=(3, 3, 64, 64))
    y = relay.nn.conv2d(x, w, channels=64, kernel_size=(3, 3), padding=(1, 1), data_layout="NHWC", kernel_layout="HWIO")
    f = relay.Function([x, w], relay.nn.relu(y))
    out = run_opt_pass(f, transform.ConvertLayout({"nn.conv2d": ["NCHW", "default"]}))
    assert str(out).count("layout_transform") == 3
    out = run_opt_pass(f, transform.ConvertLayout({"nn.conv2d": ["NCHW", "OIHW"]}))
    with relay.transform.LayoutConfig(skip_layers=[0]):
        pass


def test_convert_pool_bn_etc():
    x = relay.var("x", shape=(1, 8, 8, 4))
    w = relay.var("w", shape=(3, 3, 4, 4))
    b = relay.var("b", shape=(4,))
    y = relay.nn.conv2d(x, w, channels=4, kernel_size=(3, 3), padding=(1, 1), data_layout="NHWC", kernel_layout="HWIO")
    y = relay.nn.bias_add(y, b, axis=3)
    y = relay.nn.max_pool2d(y, pool_size=(2, 2), layout="NHWC")
    y = relay.nn.batch_norm(y, b, b, b, b, axis=3)[0]
    y = relay.concatenate([y, y], axis=3)
    f = relay.Function([x, w, b], y)
    out = run_opt_pass(f, transform.ConvertLayout({"nn.conv2d": ["NCHW", "default"], "nn.max_pool2d": ["NCHW"]}))
    a = (
        np.random.rand(1, 8, 8, 4).astype("float32"),
        np.random.rand(3, 3, 4, 4).astype("float32"),
        np.random.rand(4).astype("float32"),
    )
    r1 = relay.create_executor("debug").evaluate(run_infer_type(f))(*a)
    r2 = relay.create_executor("debug").evaluate(out)(*a)
    tvm.testing.assert_allclose(r1.numpy(), r2.numpy(), rtol=1e-4, atol=1e-4)


def test_fq2i():
    x = relay.var("x", shape=(1, 3, 8, 8), dtype="int8")
    w = relay.var("w", shape=(4, 3, 3, 3), dtype="int8")
    one = relay.const(1.0)
    zero = relay.const(0)
    op = relay.op.nn.conv2d(
        relay.qnn.op.dequantize(x, relay.const(2.0), zero),
        relay.qnn.op.dequantize(w, relay.const(0.5), zero),
        kernel_size=[3, 3],
    )
    op = relay.qnn.op.quantize(op, one, zero, out_dtype="int8")
    mod = IRModule.from_expr(op)
    mod = transform.InferType()(mod)
    fq = transform.FakeQuantizationToInteger()(mod)
    assert not tvm.ir.structural_equal(mod, fq) and "qnn.conv2d" in str(fq)


def test_mixed():
    from tvm.relay.transform import ToMixedPrecision

    d, w = relay.var("d", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    mod = IRModule.from_expr(relay.nn.conv2d(d, w, strides=(1, 1), padding=(1, 1), out_dtype="float32"))
    out = ToMixedPrecision("float16")(transform.InferType()(mod))
    assert out["main"].checked_type.ret_type.dtype == "float16"


def test_match_adt():
    code = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil }
def @f(%l: List[int32]) -> int32 { match (%l) { Cons(%h, _) => %h, Nil => 0 } }
def @main() -> int32 { @f(Cons(5, Nil)) }"""
    m = tvm.relay.parse(code)
    assert int(relay.create_executor("vm", mod=m, device=tvm.cpu(), target="llvm").evaluate()().numpy()) == 5
    assert len(relay.analysis.unmatched_cases(m["f"].body, m)) == 0


def test_optimize():
    x = relay.var("x", shape=(2,))
    with tvm.transform.PassContext(opt_level=3, required_pass=["FastMath"]):
        m, _ = relay.optimize(IRModule.from_expr(relay.Function([x], relay.exp(x))), target="llvm", params=None)
    assert "fast_exp" in str(m)


def test_fuse_primitive():
    x = relay.var("x", shape=(10, 20))
    z = relay.squeeze(relay.exp(relay.add(x, relay.const(1, "float32"))))
    out = run_opt_pass(relay.Function([x], z), transform.FuseOps())

    def expected():
        x = relay.var("p", shape=(10, 20))
        w = relay.squeeze(relay.exp(relay.add(x, relay.const(1, "float32"))))
        f1 = relay.Function([x], w)
        f1 = f1.with_attr("Primitive", tvm.tir.IntImm("int32", 1))
        x = relay.var("x", shape=(10, 20))
        return relay.Function([x], relay.Call(f1, [x]))

    tvm.ir.assert_structural_equal(out, run_opt_pass(expected(), transform.InferType()))


def test_type_infer_errors():
    with pytest.raises(tvm.error.DiagnosticError):
        run_infer_type(
            relay.Function(
                [relay.var("x", shape=(10, 10)), relay.var("y", shape=(1, 2))],
                relay.add(relay.var("x2", shape=(10, 10)), relay.var("y2", shape=(7, 3))),
            )
        )


def test_recursion():
    mod = tvm.IRModule()
    f = relay.GlobalVar("f")
    n = relay.Var("n", relay.TensorType((), "int32"))
    d = relay.Var("d", relay.TensorType((), "float32"))
    funcbody = relay.If(relay.equal(n, relay.const(0)), d, f(relay.subtract(n, relay.const(1)), relay.log(d)))
    mod[f] = relay.Function([n, d], funcbody, relay.TensorType((), "float32"), [])
    mod["main"] = (
        relay.Function([n, d], f(n, d)) if False else relay.Function([], f(relay.const(2), relay.const(10000.0)))
    )
    mod = transform.InferType()(mod)
    assert "@f(1, 2)" not in mod.astext() and mod["f"].checked_type is not None


def test_ir_bind():
    x, y = relay.var("x"), relay.var("y")
    z = relay.add(x, y)
    f = relay.Function([x, y], z)
    fb = relay.bind(f, {y: x})
    tvm.ir.assert_structural_equal(fb, relay.Function([x], relay.add(x, x)))
    zb = relay.bind(z, {y: x})
    tvm.ir.assert_structural_equal(zb, relay.add(x, x))


def test_regions_and_partitions():
    @tvm.ir.register_op_attr("add", "target.test_regions")
    def _add(expr):
        return True

    a = relay.var("a", shape=(10, 10))
    mod = IRModule.from_expr(relay.Function([a], relay.exp(a + a)))
    mod = transform.MergeCompilerRegions()(transform.AnnotateTarget("test_regions")(mod))
    begin, end = (relay.op.get(f"annotation.compiler_{which}") for which in ("begin", "end"))
    regions = relay.analysis.AnnotatedRegionSet(mod["main"], begin, end)
    assert "test_regions" in [region.target for region in regions]
    parts = transform.PartitionGraph()(mod)
    assert [f.attrs.get("Compiler") for f in parts.functions.values() if f.attrs.get("Compiler")] == ["test_regions"]


def test_alter_layout_in_other_layouts():
    x, w = relay.var("x", shape=(1, 4, 8, 8)), relay.var("w", shape=(4, 4, 3, 3))
    f = relay.Function([x, w], relay.nn.conv2d(x, w, padding=(1, 1)))

    def alter(attrs, inputs, tinfos, out_type):
        return relay.nn.conv2d(*inputs, **{**attrs, "data_layout": "NHWC", "kernel_layout": "HWIO"})

    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", alter):
        assert str(run_opt_pass(f, transform.AlterOpLayout())).count("layout_transform") == 3

    def wrong(attrs, inputs, tinfos, out_type):
        return relay.nn.relu(relay.nn.conv2d(inputs[0], inputs[1], padding=(2, 2)))

    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", wrong), pytest.raises(tvm.TVMError, match="type"):
        run_opt_pass(f, transform.AlterOpLayout())


@pytest.mark.parametrize("name", ["ManifestLifetimes", "ManifestAlloc", "AnnotateUsedMemory", "LowerTE"])
def test_passes_that_are_not_there_say_what_is(name):
    with pytest.raises(NotImplementedError, match="Relay has no pass"):
        getattr(transform, name)()


def test_devices_of_annotations():
    x = relay.var("x", shape=(2,))
    on_1 = relay.annotation.on_device(relay.exp(x), tvm.cpu(1))
    mod = IRModule.from_expr(relay.Function([x], relay.tanh(on_1)))
    config = tvm.target.make_compilation_config(transform.PassContext.current(), tvm.target.Target("llvm"))
    out = transform.PlanDevices(config)(mod)
    assert "device_copy" in str(out) and out["main"].attrs["param_virtual_devices"] == ["cpu:1"]
    tvm.ir.assert_structural_equal(transform.PlanDevices(config)(out), out)
    f = relay.annotation.function_on_device(relay.Function([x], relay.exp(x)), [tvm.cpu(1)], tvm.cpu(1))
    kept = transform.PlanDevices(config)(IRModule.from_expr(f))["main"]
    assert kept.attrs["result_virtual_device"] == "cpu:1"
    assert tvm.target.VirtualDevice(tvm.cpu(1)).virtual_device_id == 1
    mixed = IRModule.from_expr(relay.Function([x], relay.tanh(relay.annotation.on_device(relay.exp(x), tvm.cpu()))))
    cuda = transform.PlanDevices(tvm.target.make_compilation_config(None, tvm.target.Target("cuda")))
    assert 'src_virtual_device="cpu:0", dst_virtual_device="cuda:0"' in str(cuda(mixed))
    with pytest.raises(tvm.TVMError, match="there is no device 'abacus'"):
        transform.PlanDevices(tvm.target.make_compilation_config(None, tvm.target.Target("abacus")))(mixed)


def test_lazy_gradients():
    x = relay.var("x", shape=(10, 10))
    out = transform.LazyGradientInit()(IRModule({"main": relay.Function([x], x + relay.zeros_like(x))}))
    t = relay.TensorType((10, 10))
    assert out["main"].checked_type == relay.FuncType([t], t)
    a = np.random.rand(10, 10).astype("float32")
    tvm.testing.assert_allclose(relay.create_executor("debug", mod=out).evaluate()(a).numpy(), a)


def test_rewrites_of_weights_of_others():
    d, w = relay.var("d", shape=(2, 8)), relay.var("w", shape=(8, 4))
    f = relay.Function([d, w], relay.nn.dense(d, relay.transpose(w, axes=[1, 0])))
    weight = np.random.rand(8, 4).astype("float32")
    new, params = relay.data_dep_optimization.simplify_fc_transpose.convert(f, {"w": tvm.nd.array(weight)})
    lib = relay.build(new, "llvm", params=params)
    m = tvm.contrib.graph_executor.GraphModule(lib["default"](tvm.cpu()))
    a = np.random.rand(2, 8).astype("float32")
    m.run(d=a)
    tvm.testing.assert_allclose(m.get_output(0).numpy(), a @ weight, rtol=1e-5)
    with pytest.raises(NotImplementedError, match="one pixel"):
        relay.data_dep_optimization.bsr_conv2d.convert(f, {}, (1, 1), 0.5, kernel_size=3)
    assert relay.transform.DenseToSparse(["w"], [[1, 1, 1, 1, 2]]).info.name == "DenseToSparse"


def test_run_as_python():
    x = relay.const(2)
    assert int(relay.testing.run_as_python(x + x).numpy()) == 4
    with pytest.raises(NotImplementedError, match="run_as_python"):
        relay.testing.to_python(x)


@pytest.mark.parametrize("packed", [False, True])
def test_alter_layout_in_blocks(packed):
    """a rule of a target, with nn.conv2d or with the operator for blocks"""
    x, w = relay.var("x", shape=(1, 16, 8, 8)), relay.var("w", shape=(32, 16, 3, 3))
    y = relay.nn.relu(relay.nn.conv2d(x, w, padding=(1, 1), channels=32, kernel_size=(3, 3)))
    f = relay.Function([x, w], relay.nn.max_pool2d(y, pool_size=(2, 2)))

    def alter(attrs, inputs, tinfos, out_type):
        new = {**attrs, "data_layout": "NCHW8c", "kernel_layout": "OIHW8i16o", "out_layout": "NCHW16c"}
        return (relay.op.nn.contrib_conv2d_NCHWc if packed else relay.nn.conv2d)(*inputs, **new)

    def pools(attrs, inputs, tinfos, out_type):
        return relay.nn.max_pool2d(inputs[0], **{**attrs, "layout": "NCHW4c"})

    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", alter), TempOpAttr("nn.max_pool2d", "FTVMAlterOpLayout", pools):
        out = run_opt_pass(f, transform.AlterOpLayout())
    text = str(out)
    assert 'out_layout="NCHW16c"' in text and text.count("layout_transform") == 4
    assert 'src_layout="NCHW16c", dst_layout="NCHW4c"' in text
    inputs = np.random.rand(1, 16, 8, 8).astype("float32"), np.random.rand(32, 16, 3, 3).astype("float32")
    expected, got = (relay.create_executor("debug").evaluate(run_infer_type(one))(*inputs) for one in (f, out))
    tvm.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-4)
