"""Analyses of programs, and what watches passes."""

import numpy as np
import pytest
import tvm
from tvm import relay
from tvm.relay import analysis, transform
from tvm.relay.testing import run_infer_type


def test_variables():
    x, y, z = (relay.var(name) for name in "xyz")
    f = relay.Function([x], relay.Let(y, x, y + z))
    assert list(analysis.free_vars(f)) == [z] and list(analysis.bound_vars(f)) == [x, y]
    assert set(analysis.all_vars(f)) == {x, y, z}
    a, b = relay.TypeVar("a"), relay.TypeVar("b")
    v = relay.var("v", type_annotation=a)
    g = relay.Function([v], v, a, [a])
    assert list(analysis.free_type_vars(g)) == [] and list(analysis.bound_type_vars(g)) == [a]
    assert list(analysis.all_type_vars(relay.Function([v], v, b, [a]))) == [a, b]


def test_the_order_of_a_visit():
    x, seen = relay.var("x"), []
    y = relay.exp(x)
    analysis.post_order_visit(y + y, lambda e: seen.append(type(e).__name__))
    assert seen.count("Var") == 1 and seen.count("Call") == 2 and seen[-1] == "Call"


def test_what_is_well_formed():
    x, y = relay.var("x"), relay.var("y")
    assert analysis.well_formed(relay.Function([x], x))
    assert not analysis.well_formed(relay.Let(x, relay.const(1), relay.Let(x, relay.const(2), x)))
    assert not analysis.well_formed(relay.Function([x, x], x))
    assert analysis.well_formed(relay.Let(y, relay.const(1), y))


def test_kinds():
    t = relay.TensorType((2,), "float32")
    assert analysis.check_kind(t) == relay.TypeKind.Type
    assert analysis.check_kind(relay.TupleType([t, t])) == relay.TypeKind.Type
    assert analysis.check_kind(relay.FuncType([t], t, [], [])) == relay.TypeKind.Type
    with pytest.raises(tvm.TVMError):
        analysis.check_kind(relay.TupleType([relay.TypeVar("s", relay.TypeKind.ShapeVar)]))


def test_constants():
    assert analysis.check_constant(relay.const(1)) and not analysis.check_constant(relay.var("x"))
    ones = relay.Tuple([relay.const(1), relay.const(2)])
    assert analysis.check_constant(ones) and not analysis.check_constant(relay.Tuple([relay.const(1), relay.var("x")]))


def test_basic_blocks():
    x = relay.var("x", shape=(2,))
    c = relay.var("c", shape=(), dtype="bool")
    y = relay.exp(x)
    assert not analysis.check_basic_block_normal_form(relay.Function([x, c], relay.If(c, y, y + y)))
    assert analysis.check_basic_block_normal_form(relay.Function([x], y + y))


def test_numbers_of_operations():
    x, w = relay.var("x", shape=(1, 4, 8, 8)), relay.var("w", shape=(6, 4, 3, 3))
    conv = relay.nn.conv2d(x, w, channels=6, kernel_size=(3, 3), padding=(1, 1))
    assert analysis.get_total_mac_number(run_infer_type(relay.Function([x, w], conv))) == 6 * 8 * 8 * 4 * 9
    d, v = relay.var("d", shape=(3, 5)), relay.var("v", shape=(7, 5))
    assert analysis.get_total_mac_number(run_infer_type(relay.Function([d, v], relay.nn.dense(d, v)))) == 3 * 5 * 7
    assert analysis.get_total_mac_number(run_infer_type(relay.Function([x], relay.nn.relu(x)))) == 0
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(conv) + relay.nn.relu(conv)))
    assert dict(analysis.list_op_freqs(mod)) == {"nn.conv2d": 1, "nn.relu": 2, "add": 1}


def test_types_of_elements():
    x, y = relay.var("x", shape=(2,), dtype="float16"), relay.var("y", shape=(2,), dtype="int8")
    f = run_infer_type(relay.Function([x, y], relay.cast(x, "float32") + relay.cast(y, "float32")))
    assert set(analysis.all_dtypes(f)) == {"float16", "int8", "float32"}


def test_features():
    from tvm.relay.feature import Feature

    x = relay.var("x", shape=(2,))
    found = analysis.detect_feature(relay.Function([x], relay.exp(x)))
    assert {Feature.fVar, Feature.fFunction, Feature.fOp, Feature.fCall} <= set(found) and Feature.fLet not in found
    assert Feature.fLet in analysis.detect_feature(relay.Let(relay.var("a"), x, x))


def test_cases_that_are_not_matched():
    mod = tvm.IRModule()
    prelude = relay.prelude.Prelude(mod)
    _, cons, nil = mod.get_type("List")
    xs = relay.var("xs")
    only_nil = relay.Match(xs, [relay.Clause(relay.PatternConstructor(nil, []), relay.const(0))], complete=False)
    missing = analysis.unmatched_cases(only_nil, mod)
    assert len(missing) == 1 and missing[0].constructor == cons
    rest = relay.Clause(relay.PatternWildcard(), relay.const(1))
    assert len(analysis.unmatched_cases(relay.Match(xs, [*only_nil.clauses, rest]), mod)) == 0
    assert prelude.mod is mod


def test_fused_functions():
    x = relay.var("x", shape=(2, 3))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.nn.softmax(relay.exp(relay.nn.relu(x)))))
    functions = analysis.extract_fused_functions(transform.FuseOps()(transform.InferType()(mod)))
    assert functions and all(isinstance(one, relay.Function) for one in functions.values())


def test_a_part_of_a_program():
    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.tanh(relay.exp(x))))
    mod = transform.InferType()(mod)
    part = analysis.extract_intermdeiate_expr(mod, 0)
    assert isinstance(part, tvm.IRModule)
    data = np.array([0.5, 1.0], "float32")
    np.testing.assert_allclose(relay.create_executor("debug", part).evaluate()(data).numpy(), np.exp(data), rtol=1e-6)


def test_graphs_of_calls():
    mod = tvm.IRModule()
    x = relay.var("x", shape=())
    mod["leaf"] = relay.Function([x], relay.exp(x))
    leaf = mod.get_global_var("leaf")
    y = relay.var("y", shape=())
    mod["main"] = relay.Function([y], leaf(leaf(y)))
    graph = analysis.CallGraph(mod)
    assert graph.ref_count("leaf") == 2 and graph.ref_count("main") == 0
    assert graph.global_call_count("main") == 2 and not graph.is_recursive("leaf")
    assert "leaf" in graph.print_var("main")


def test_layers_are_counted():
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(3, 3))
    out = relay.nn.relu(relay.nn.dense(relay.nn.relu(relay.nn.dense(x, w)), w))
    f = run_infer_type(relay.Function([x, w], out))
    assert analysis.count_layers(f, ["nn.dense"]) == 2


def make(names):
    @tvm.instrument.pass_instrument
    class Watch:
        def __init__(self, name, fails=""):
            self.name, self.fails = name, fails

        def note(self, event):
            names.append((self.name, event))
            if event == self.fails:
                raise RuntimeError(event)

        def enter_pass_ctx(self):
            self.note("enter")

        def exit_pass_ctx(self):
            self.note("exit")

        def run_before_pass(self, mod, info):
            self.note("before")

        def run_after_pass(self, mod, info):
            self.note("after")

    return Watch


def program():
    x = relay.var("x", shape=(2,))
    return tvm.IRModule.from_expr(relay.Function([x], relay.exp(x)))


def test_watchers_in_order():
    names = []
    watch = make(names)
    with tvm.transform.PassContext(instruments=[watch("a"), watch("b")]):
        transform.InferType()(program())
    events = ["enter", "before", "after", "exit"]
    assert names == [(one, event) for event in events for one in "ab"]


def test_watchers_that_fail_on_entry():
    names = []
    watch = make(names)
    context = tvm.transform.PassContext(instruments=[watch("a"), watch("b", "enter"), watch("c")])
    with pytest.raises(RuntimeError), context:
        pass
    assert names == [("a", "enter"), ("b", "enter"), ("a", "exit")]
    with context:  # all of them are off
        transform.InferType()(program())
    assert len(names) == 3


@pytest.mark.parametrize("event", ["before", "after"])
def test_watchers_that_fail_at_a_pass(event):
    names = []
    watch = make(names)
    with pytest.raises(RuntimeError), tvm.transform.PassContext(instruments=[watch("a"), watch("b", event)]):
        transform.InferType()(program())
    assert names[-2:] == [("a", "exit"), ("b", "exit")] and ("b", event) in names


def test_passes_that_a_watcher_leaves_out():
    seen = []

    @tvm.instrument.pass_instrument
    class OnlyTypes:
        def should_run(self, mod, info):
            return info.name == "InferType"

        def run_before_pass(self, mod, info):
            seen.append(info.name)

    with tvm.transform.PassContext(opt_level=3, instruments=[OnlyTypes()]):
        tvm.transform.Sequential([transform.FoldConstant(), transform.InferType()])(program())
    assert "FoldConstant" not in seen
    timing = tvm.ir.instrument.PassTimingInstrument()
    with tvm.transform.PassContext(instruments=[timing]):
        transform.InferType()(program())
        assert "InferType" in timing.render()


def test_passes_of_ones_own():
    @relay.transform.function_pass(opt_level=1, name="Doubled")
    class Doubled:
        def __init__(self, factor):
            self.factor = relay.const(factor)

        def transform_function(self, func, mod, ctx):
            return relay.Function(func.params, func.body * self.factor)

    @tvm.transform.module_pass(opt_level=2, name="Named")
    def named(mod, ctx):
        x = relay.var("x", shape=(2,))
        return tvm.IRModule({relay.GlobalVar("other"): relay.Function([x], x), **dict(mod.functions)})

    assert Doubled(2.0).info.name == "Doubled" and named.info.opt_level == 2
    after = tvm.transform.Sequential([Doubled(2.0), named])(program())
    assert {var.name_hint for var in after.get_global_vars()} == {"main", "other"}
    assert after["main"].body.op.name == "multiply"
    with tvm.transform.PassContext(opt_level=1):
        left = tvm.transform.Sequential([Doubled(2.0), named])(program())
    assert len(left.get_global_vars()) == 1
    with pytest.raises(ValueError):
        tvm.transform.PassContext(config={"no.such.key": 1})
