"""Programs like those of TVM's tests for the language: nodes, types, text, visitors, passes as objects, analyses."""

import numpy as np
import pytest

pytest.importorskip("relay", exc_type=ImportError)
import relay.compat  # noqa: E402, F401
import tvm  # noqa: E402
import tvm.testing  # noqa: E402
from tvm import relay, te  # noqa: E402
from tvm.relay.testing import run_infer_type  # noqa: E402


def run(mod_or_f, *args, kind="debug"):
    return relay.create_executor(kind, device=tvm.cpu(), target="llvm").evaluate(mod_or_f)(*args)


def test_unary_identity():
    for op in [
        relay.zeros_like,
        relay.ones_like,
        relay.ceil,
        relay.floor,
        relay.trunc,
        relay.round,
        relay.abs,
        relay.negative,
        relay.sign,
        relay.copy,
    ]:
        shape = (8, 9, 4)
        x = relay.var("x", relay.TensorType(shape, "float32"))
        y = op(x)
        yy = run_infer_type(y)
        assert yy.checked_type == relay.TensorType(shape, "float32")


def test_te_var():
    n, t, d1, d2 = te.size_var("n"), te.size_var("t"), 100, 20
    x = relay.var("x", relay.TensorType((n, t, d1, d2)))
    y = relay.nn.batch_flatten(relay.reshape(x, (n, t, 2000)))
    yy = run_infer_type(y)
    assert yy.checked_type == relay.TensorType((n, t * 2000)), yy.checked_type


def test_cast():
    x = relay.var("x", relay.TensorType((8, 9, 4), "float32"))
    y = x.astype("int32")
    yy = run_infer_type(y)
    assert "dtype=" in yy.astext()
    assert yy.checked_type == relay.TensorType((8, 9, 4), "int32")


def test_broadcast_any():
    x = relay.var("x", shape=(relay.Any(), 2))
    y = relay.var("y", shape=(1, 2))
    mod = tvm.IRModule.from_expr(relay.Function([x, y], x + y))
    for kind in ("debug", "vm"):
        f = relay.create_executor(kind, mod=mod, device=tvm.cpu(), target="llvm").evaluate()
        a, b = np.ones((3, 2), "float32"), np.ones((1, 2), "float32")
        tvm.testing.assert_allclose(f(a, b).numpy(), a + b)


def test_alltype():
    tt = relay.TupleType([relay.TensorType((), "float32")])
    assert tt.fields[0].dtype == "float32"
    ft = relay.FuncType([tt], tt, [], [])
    assert ft.arg_types[0] == tt
    tp = relay.TypeVar("tp", relay.TypeKind.Type)
    assert tp.kind == relay.TypeKind.Type
    str(tp)
    tr = relay.RefType(tt)
    assert tr.value == tt


def test_let():
    lv = relay.Var("x")
    arr = tvm.nd.array(10)
    value = relay.Constant(arr)
    let = relay.Let(lv, value, lv)
    assert let.var == lv and let.value == value and let.body == lv
    str(let)


def test_tuple_get():
    t = relay.Var("t")
    g = relay.TupleGetItem(t, 1)
    assert g.tuple_value == t and g.index == 1


def test_call_attrs():
    x = relay.var("x", shape=(1, 3, 10, 10))
    w = relay.var("w", shape=(8, 3, 3, 3))
    c = relay.nn.conv2d(x, w, padding=(1, 1), channels=8, kernel_size=(3, 3))
    assert c.attrs.channels == 8 and tuple(c.attrs.kernel_size) == (3, 3)
    assert c.attrs["channels"] == 8
    assert c.attrs.get_int("groups") == 1 and c.attrs.get_str("data_layout") == "NCHW"
    assert [int(v) for v in c.attrs.get_int_tuple("padding")] == [1, 1]
    assert "channels" in c.attrs.keys()


def test_structural():
    x = relay.var("x", shape=(2,))
    y = relay.var("y", shape=(2,))
    assert tvm.ir.structural_equal(relay.Function([x], x + x), relay.Function([y], y + y))
    assert not tvm.ir.structural_equal(x, y)
    assert tvm.ir.structural_equal(x + relay.const(1.0), y + relay.const(1.0), map_free_vars=True)
    tvm.ir.assert_structural_equal(relay.const([1, 2]), relay.const([1, 2]))


def test_json():
    x = relay.var("x", shape=(2,))
    f = relay.Function([x], x + x)
    g = tvm.ir.load_json(tvm.ir.save_json(f))
    tvm.ir.assert_structural_equal(f, g)
    mod = tvm.IRModule.from_expr(f)
    tvm.ir.assert_structural_equal(tvm.ir.load_json(tvm.ir.save_json(mod)), mod)


def test_parse_forms():
    r = relay.fromtext("""#[version = "0.0.5"]
    def @main(%x: int32) -> int32 { %x + 1 }""")
    assert isinstance(r, tvm.IRModule)
    e = tvm.relay.parse_expr("fn (%x: Tensor[(10, 5), float32]) { %x }")
    assert isinstance(e, relay.Function)
    with pytest.raises(tvm.error.DiagnosticError):
        relay.parse_expr("%nope")
    assert tvm.relay.parse_expr("1.0f").data.numpy() == 1.0
    assert tvm.relay.parse_expr("5").data.dtype == "int32"


def test_let_build():
    sb = relay.ScopeBuilder()
    x = relay.var("x", "float32")
    t1 = sb.let("t1", relay.log(x))
    t2 = sb.let("t2", relay.add(t1, x))
    sb.ret(t2)
    f = relay.Function([x], sb.get())
    ff = run_infer_type(f)
    assert ff.checked_type == relay.FuncType([relay.TensorType((), "float32")], relay.TensorType((), "float32"))


def test_if_scope():
    sb = relay.ScopeBuilder()
    cond = relay.var("cond", "bool")
    x = relay.var("x", "int32")
    with sb.if_scope(cond):
        sb.ret(x)
    with sb.else_scope():
        sb.ret(relay.const(1))
    f = relay.Function([cond, x], sb.get())
    assert int(run(f, True, np.array(5, "int32")).numpy()) == 5


def test_pass_ctx():
    with tvm.transform.PassContext(opt_level=3, disabled_pass=["FuseOps"]) as c:
        assert c.opt_level == 3
        assert "FuseOps" in c.disabled_pass
    with pytest.raises((AttributeError, ValueError, tvm.TVMError)):
        tvm.transform.PassContext(config={"nope": 1})


def test_function_pass():
    @relay.transform.function_pass(opt_level=1)
    class TestPass:
        def __init__(self, multiplier):
            self.m = multiplier

        def transform_function(self, func, mod, ctx):
            return func

    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.log(x)))
    p = TestPass(2)
    assert isinstance(p, tvm.relay.transform.FunctionPass)
    assert p.info.name == "TestPass" and p.info.opt_level == 1
    m2 = p(mod)
    tvm.ir.assert_structural_equal(m2["main"], run_infer_type(mod["main"]))


def test_module_pass():
    @tvm.transform.module_pass(opt_level=2)
    def t(mod, ctx):
        return mod

    assert isinstance(t, tvm.transform.ModulePass)
    assert t.info.name == "t"


def test_print_ir(capsys):
    x = relay.var("x", shape=(2,))
    seq = tvm.transform.Sequential(
        [relay.transform.InferType(), tvm.transform.PrintIR(), relay.transform.DeadCodeElimination()]
    )
    with tvm.transform.PassContext(opt_level=3):
        seq(tvm.IRModule.from_expr(relay.Function([x], x + x)))
    assert "PrintIR" in "".join(capsys.readouterr())


def test_sequential_empty():
    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], x + x))
    assert isinstance(tvm.transform.Sequential([])(mod), tvm.IRModule)


def test_instrument():
    seen = []

    @tvm.instrument.pass_instrument
    class A:
        def run_before_pass(self, mod, info):
            seen.append(info.name)

        def should_run(self, mod, info):
            return info.name == "InferType"

    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], x + x))
    with tvm.transform.PassContext(instruments=[A()]):
        relay.build(mod, "llvm")
    assert seen and set(seen) == {"InferType"}, seen


def test_extract_ops():
    mod, params = relay.testing.mlp.get_workload(1)
    f = relay.analysis.list_op_freqs(mod)
    assert f["nn.dense"] == 3


def test_well_formed():
    x = relay.Var("x")
    assert relay.analysis.well_formed(x)
    v = relay.Constant(tvm.nd.array(10))
    let = relay.Let(x, v, x)
    assert relay.analysis.well_formed(let)
    assert not relay.analysis.well_formed(relay.Let(x, v, let))
    f = relay.Function([x], x)
    assert relay.analysis.well_formed(f)
    assert relay.analysis.well_formed(relay.Let(relay.Var("y"), f, relay.Let(relay.Var("z"), f, v)))


def test_vars():
    x = relay.Var("x")
    fvx = relay.analysis.free_vars(x)
    assert len(fvx) == 1 and fvx[0] == x
    v = relay.Constant(tvm.nd.array(10))
    let = relay.Let(x, v, x)
    assert len(relay.analysis.free_vars(let)) == 0
    f = relay.Function([x], x)
    assert len(relay.analysis.free_vars(f)) == 0
    assert list(relay.analysis.all_vars(let)) == [x]
    assert list(relay.analysis.bound_vars(f)) == [x]
    tp = relay.TypeVar("tp")
    f2 = relay.Function([relay.Var("x", tp)], relay.Var("q", tp), tp, [tp])
    relay.analysis.free_type_vars(f2, tvm.IRModule())
    relay.analysis.bound_type_vars(f2, tvm.IRModule())


def test_adt_module():
    mod = tvm.IRModule()
    list_var = relay.GlobalTypeVar("MyList")
    tv = relay.TypeVar("A")
    cons_c = relay.Constructor("MyCons", [tv, list_var(tv)], list_var)
    nil_c = relay.Constructor("MyNil", [], list_var)
    mod[list_var] = relay.TypeData(list_var, [tv], [nil_c, cons_c])
    assert mod[list_var].constructors[0].name_hint == "MyNil"
    assert mod.get_global_type_var("MyList") == list_var


def test_features():
    assert relay.analysis.detect_feature(relay.const(1)) == {relay.analysis.Feature.fConstant}
    x = relay.var("x")
    found = relay.analysis.detect_feature(relay.Function([x], relay.If(relay.const(True), x, x)))
    assert {relay.analysis.Feature.fIf, relay.analysis.Feature.fFunction} <= found


def test_what_an_operator_says():
    add = relay.op.get("add")
    assert add.name == "add" and add.num_inputs == 2 and add.get_attr("TOpPattern") == 1
    assert add.has_attr("FPrimalGradient") and not add.has_attr("FTVMLegalize") and add.get_attr("nothing") is None
    assert "nn.relu" in tvm.ir.Op.list_op_names() and tvm.ir.Op.get("nn.conv2d").get_attr("TOpPattern") == 4


def test_lists_of_the_prelude():
    mod = tvm.IRModule()
    p = relay.prelude.Prelude(mod)
    _, cons, nil = p.mod.get_type("List")
    values = cons(relay.const(1), cons(relay.const(2), nil()))
    run = relay.create_executor("debug", mod=mod, device=tvm.cpu(), target="llvm").evaluate
    assert int(run(p.length(values)).numpy()) == 2
    assert p.get_name("tensor_array", "int32") == "tensor_array_int32"
    assert p.get_global_var("tensor_array", "int32").name_hint in mod
    assert p.get_tensor_ctor("tensor1", "int32").belong_to == p.get_type("tensor_t", "int32")
    static = p.get_global_var_static("tensor_array_read", "float32", (2, 3))
    assert static.name_hint == "tensor_array_read_float32_2_3"
    assert len(p.get_tensor_ctor_static("tensor_constructor", "float32", (2, 3)).inputs) == 1


def test_supplies_of_names():
    from tvm.ir.supply import GlobalVarSupply, NameSupply

    names = NameSupply("prefix")
    assert names.reserve_name("test") == "prefix_test" and names.contains_name("test")
    assert names.fresh_name("test") == "prefix_test_1"
    supply = GlobalVarSupply(tvm.IRModule.from_expr(relay.const(1)))
    assert supply.fresh_global("main").name_hint == "main_1"
    assert supply.unique_global_for("f") == supply.unique_global_for("f")


def test_names_for_c():
    from tvm.relay.backend.name_transforms import prefix_name, sanitize_name, to_c_function_style, to_c_variable_style

    assert to_c_function_style("TVM_Woof_woof") == "TVMWoofWoof" and to_c_variable_style("TVM_Woof") == "tvm_woof"
    assert prefix_name(["Woof", "woof"]) == "TVM_Woof_woof" and sanitize_name("a+b") == "a_b"
    for wrong in ("", "Woof"):
        with pytest.raises(tvm.TVMError):
            to_c_function_style(wrong)


def test_renderers_see_what_is_refused():
    from tvm.ir.diagnostics import override_renderer

    seen = []
    override_renderer(lambda context: seen.extend(one.message for one in context.diagnostics))
    try:
        with pytest.raises(tvm.error.DiagnosticError):
            relay.parse_expr("%nope")
        x = relay.var("x", shape=(2,))
        with pytest.raises(tvm.error.DiagnosticError):
            run_infer_type(relay.Function([x], relay.reshape(x, (3,))))
        bad = tvm.IRModule.from_expr(relay.Function([x], relay.reshape(x, (3,))))
        with pytest.raises(tvm.TVMError):
            relay.transform.InferType()(bad)
    finally:
        override_renderer(None)
    assert len(seen) == 2 and "%nope" in seen[0]
