"""The language in Python: visitors and analyses. test_language_api.py tests nodes, types and modules."""

import subprocess
import sys
import threading

import numpy as np
import pytest
from language_parts import list_type, x_and_y

relay = pytest.importorskip("relay", exc_type=ImportError)


def test_visitors_see_parents_first_and_each_node_once():
    x, y = x_and_y()
    shared = relay.nn.relu(x)
    out = relay.Function([x, y], relay.Tuple([shared + y, relay.TupleGetItem(relay.Tuple([shared, y]), 0)]))
    seen = []

    class Names(relay.ExprVisitor):
        def visit_call(self, call):
            seen.append(call.op.name)
            super().visit_call(call)

    Names().visit(out)
    assert seen == ["add", "nn.relu"]


def test_mutators_share_what_does_not_change():
    x, y = x_and_y()
    left, right = relay.exp(x), relay.nn.relu(y)
    f = relay.Function([x, y], left * right)

    class NoRelu(relay.ExprMutator):
        def visit_call(self, call):
            new = super().visit_call(call)
            return new.args[0] if new.op.name == "nn.relu" else new

    g = NoRelu().visit(f)
    assert g.body.args[0] is left and g.body.args[1] is y and g.params == [x, y]
    assert relay.ExprMutator().visit(f) is f
    assert not hasattr(relay.ExprFunctor(), "visit_call") and f.same_as(f)
    with pytest.raises(NotImplementedError, match="visit_function"):
        relay.ExprFunctor().visit(f)
    with pytest.raises(TypeError, match="int"):
        relay.ExprVisitor().visit(3)


def test_mutators_rebuild_every_kind():
    mod = relay.IRModule()
    _, cons, nil = list_type(mod)
    text = """#[version = "0.0.5"]
    type List[A] { Cons(A, List[A]), Nil }
    def @main(%x: int32, %c: bool) {
      let %r = ref((%x, 1));
      ref_write(%r, if (%c) { (2, 3) } else { ref_read(%r) });
      let %f = fn (%n: int32) -> int32 { (add(%n, 4), 5).0 };
      match (Cons(%f(%x), Nil)) { Cons(%h, Cons(_, _)) => %h, _ => 6 }
    }"""
    module = relay.parse(text)

    class Increase(relay.ExprMutator):
        def visit_constant(self, c):
            return relay.const(int(c.data.numpy()) + 1)

    changed = relay.IRModule({"main": Increase().visit(module["main"])}, module.type_definitions)
    expected = text
    for n in range(6, 0, -1):
        expected = expected.replace(f" {n}", f" {n + 1}") if n != 1 else expected.replace(", 1)", ", 2)")
    expected = expected.replace("(3, 3)", "(3, 4)").replace("(2, 4)", "(3, 4)")
    assert changed == relay.parse(expected), f"{changed}\n{relay.parse(expected)}"


@pytest.mark.parametrize("depth", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_deep_chains(depth):
    x = relay.var("x", shape=(1,))
    e = x
    for _ in range(depth):
        e = relay.nn.relu(e)

    class Count(relay.ExprVisitor):
        calls = 0

        def visit_call(self, call):
            self.calls += 1
            super().visit_call(call)

    count = Count()
    count.visit(e)
    assert count.calls == depth

    class Negative(relay.ExprMutator):
        def visit_call(self, call):
            return -super().visit_call(call).args[0]

    assert relay.analysis.list_op_freqs(relay.module(Negative().visit(e))) == {"negative": depth}
    lets = x
    for _ in range(10_000):
        lets = relay.Let(relay.var("y"), x, lets)
    assert relay.ExprMutator().visit(lets) is lets
    seen = []
    relay.analysis.post_order_visit(e, seen.append)
    assert len(seen) == depth + 2 and seen[-1] is e


def test_visitors_in_threads_leave_the_recursion_limit_as_it_was():
    e = relay.var("x", shape=(1,))
    for _ in range(3000):
        e = relay.nn.relu(e)
    before, done = sys.getrecursionlimit(), []
    threads = [threading.Thread(target=lambda: done.append(relay.ExprMutator().visit(e) is e)) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert done == [True] * 8 and sys.getrecursionlimit() == before


class Mapped(relay.ExprVisitor):
    calls = 0

    def visit_call(self, call):
        list(map(self.visit, call.args))
        self.calls += 1


class Failing(Mapped):
    def visit_var(self, var):
        raise KeyError(var.name_hint)


def test_visiting_through_c_uses_stacks_of_further_threads():
    e = relay.var("x", shape=(1,))
    for _ in range(60_000):
        e = relay.nn.relu(e)
    visitor = Mapped()
    visitor.visit(e)
    assert visitor.calls == 60_000
    with pytest.raises(KeyError, match="x"):
        Failing().visit(e)


AFTER_TORCH_COMPILE = """
import torch, relay
torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
e = relay.var("x", shape=(1,))
for _ in range(20_000):
    e = relay.nn.relu(e)
assert relay.ExprMutator().visit(e) is e
relay.ExprVisitor().visit(e)
"""


def test_deep_visits_after_torch_compile():
    """Dynamo evaluates frames in C, so that calls between Python functions use the C stack, in the whole process."""
    pytest.importorskip("torch")
    done = subprocess.run([sys.executable, "-c", AFTER_TORCH_COMPILE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_variables_of_expressions():
    x, y = x_and_y()
    v = relay.var("v")
    a, b = relay.TypeVar("a"), relay.TypeVar("b")
    e = relay.Let(v, x, relay.Function([y], v + y + x))
    assert relay.analysis.free_vars(e) == [x]
    assert set(relay.analysis.bound_vars(e)) == {v, y} and set(relay.analysis.all_vars(e)) == {x, y, v}
    f = relay.Function([relay.Var("p", a)], relay.var("q", b), None, [a])
    assert relay.analysis.free_type_vars(f) == [b] and relay.analysis.bound_type_vars(f) == [a]
    assert set(relay.analysis.all_type_vars(f)) == {a, b}
    assert relay.analysis.free_type_vars(relay.FuncType([a], b, [a])) == [b]


def test_equality():
    def make(name):
        v = relay.var(name, shape=(2,))
        return relay.Function([v], v + v)

    assert relay.analysis.alpha_equal(make("a"), make("b"))
    assert relay.analysis.structural_hash(make("a")) == relay.analysis.structural_hash(make("b"))
    x, y = x_and_y()
    assert not relay.analysis.structural_equal(x, y) and relay.analysis.structural_equal(x, y, map_free_vars=True)
    relay.analysis.assert_structural_equal(make("a"), make("b"))
    with pytest.raises(AssertionError, match="-- and --"):
        relay.analysis.assert_structural_equal(make("a"), x)


def test_parallel_branches_are_combined():
    x = relay.var("x", shape=(2, 8))
    weights = [np.random.default_rng(n).standard_normal((n, 8), np.float32) for n in (3, 4, 5)]
    dense = [relay.nn.dense(x, relay.const(w)) for w in weights]
    mod = relay.IRModule.from_expr(relay.Function([x], relay.Tuple(dense)))

    def layers(mod):
        return str(mod).count("nn.dense(")

    assert layers(mod) == 3
    for combine in (relay.transform.CombineParallelDense(), relay.transform.BatchingOps()):
        assert layers(combine(mod)) == 1
    assert layers(relay.transform.CombineParallelDense(min_num_branches=4)(mod)) == 3
    with relay.transform.PassContext(opt_level=3):
        assert layers(relay.transform.Sequential([relay.transform.CombineParallelDense()])(mod)) == 3  # of level 4
    data = np.ones((2, 8), np.float32)
    for got, w in zip(relay.compile(relay.transform.BatchingOps()(mod))(data), weights, strict=True):
        np.testing.assert_allclose(got, data @ w.T, rtol=1e-5)


def test_options_of_passes():
    x = relay.var("x", shape=())
    a, b = relay.var("a"), relay.var("b")
    mod = relay.module(relay.Let(a, relay.exp(x), relay.Let(b, relay.tanh(a), b)), [x])
    once = relay.transform.DeadCodeElimination(inline_once=True)(mod)
    assert relay.analysis.structural_equal(once["main"].body, relay.tanh(relay.exp(x)), True)
    assert isinstance(relay.transform.DeadCodeElimination()(mod)["main"].body, relay.Let)
    r = relay.var("r")
    impure = relay.module(relay.Let(r, relay.RefWrite(relay.RefCreate(x), x), x), [x])
    assert isinstance(relay.transform.DeadCodeElimination()(impure)["main"].body, relay.Let)
    assert isinstance(relay.transform.DeadCodeElimination(ignore_impurity=True)(impure)["main"].body, relay.Var)
    twice = relay.module((relay.exp(x) + relay.exp(x)) * (relay.tanh(x) + relay.tanh(x)), [x])
    calls = lambda mod: [c for c in str(mod).split() if c.startswith(("exp(", "tanh("))]  # noqa: E731
    assert len(calls(relay.transform.EliminateCommonSubexpr()(twice))) == 2
    kept = relay.transform.EliminateCommonSubexpr(lambda call: call.op.name == "exp")(twice)
    assert sorted(calls(kept)) == ["exp(%x);", "exp(%x);", "tanh(%x);"]
    one = relay.const(1.0)
    quantised = relay.qnn.quantize(one, relay.const(0.5), relay.const(0))
    folded = [relay.transform.FoldConstant(*how)(relay.module(quantised, []))["main"].body for how in ((), (True,))]
    assert isinstance(folded[0], relay.Call) and isinstance(folded[1], relay.Constant)
    text = "type T { A(int32) } def @f(%x: int32) { %x } def @g(%h: fn (int32) -> int32) { %h(1) }"
    text += "def @g2(%h: fn (int32) -> T) { %h(1) } def @main() { (@g(@f), @g2(A), @f(2)) }"
    both = relay.parse('#[version = "0.0.5"]\n' + text)
    assert str(relay.transform.EtaExpand(expand_global_var=True)(both)["main"]).count("fn (") == 2
    assert str(relay.transform.EtaExpand(expand_constructor=True)(both)["main"]).count("A(%") == 1
    assert relay.transform.EtaExpand()(both) == relay.transform.InferType()(both)
    left = relay.transform.RemoveUnusedFunctions(["g2", "f"])(both)
    assert [v.name_hint for v in left.get_global_vars()] == ["f", "g2"]


def test_variables_are_in_the_order_of_the_text():
    x, y, z = (relay.var(name, relay.TypeVar(name.upper())) for name in "xyz")
    f = relay.Function([y, x], relay.Let(z, x, relay.Tuple([x, relay.var("free")])))
    assert [v.name_hint for v in relay.analysis.all_vars(f)] == ["y", "x", "z", "free"]
    assert relay.analysis.bound_vars(f) == [y, x, z]
    assert [t.name_hint for t in relay.analysis.all_type_vars(f)] == ["Y", "X", "Z"]
    p = relay.Prelude()
    match = relay.Match(
        x,
        [
            relay.Clause(relay.PatternConstructor(p.nil), y),
            relay.Clause(relay.PatternConstructor(p.cons, [relay.PatternVar(z), relay.PatternWildcard()]), z),
        ],
    )
    assert relay.analysis.all_vars(match) == [x, y, z] and relay.analysis.bound_vars(match) == [z]


def test_values_and_types_of_constants():
    assert relay.const(np.array([1.5, 2.5]), "float32").data.dtype == "float32"
    assert relay.const(np.float64(3), "int8").data.dtype == "int8"
    assert relay.const(0, relay.scalar_type("int64")).data.dtype == "int64"
    assert relay.TensorType((), "float") == relay.scalar_type("float32")
    assert relay.parse_type("int") == relay.scalar_type("int32")


def test_what_nodes_say():
    x = relay.var("x", shape=(2,))
    f = relay.Function([x], x, relay.TensorType((2,)))
    assert f.checked_type == relay.FuncType([relay.TensorType((2,))], relay.TensorType((2,)))
    with pytest.raises(ValueError, match="no type yet"):
        relay.Function([x], x).checked_type  # noqa: B018
    assert f.with_attr("Note", None).attrs == {"Note": None} and "Note=None" in str(f.with_attr("Note", None))
    assert (x + x).astext() == '#[version = "0.0.5"]\nfree_var %x: Tensor[(2), float32];\nadd(%x, %x)'
    assert (x + x).type_args == [] and relay.transform.infer_expr(x + x).type_args == [x.type_annotation] * 2
    assert relay.var("y", relay.IncompleteType()).type_annotation is None
    span = relay.Span("net.py", 3, 4, 7, 9)
    assert str(span) == "net.py:3:7-4:9" and (span.line, span.end_line, span.column, span.end_column) == (3, 4, 7, 9)
    assert span.source_name == "net.py" and span == relay.Span("net.py", 3, 4, 7, 9) != relay.Span("net.py", 3, 4, 7, 8)
    assert relay.Span("index:4:7").source_name == "index:4:7" and relay.Span("index:4:7").line is None
    assert relay.var("z", span=span).span == span == relay.const(1, span=span).span
    nat = relay.GlobalTypeVar("nat")
    assert nat() == nat

    def definition():
        return relay.TypeData(nat, [], [relay.Constructor("zero", [], nat)])

    assert relay.analysis.structural_equal(definition(), definition())
    assert not relay.analysis.structural_equal(definition(), relay.TypeData(nat, [], []))


def test_other_analyses():
    x, y = x_and_y()
    assert relay.analysis.well_formed(x + y)
    twice = relay.Let(x, y, relay.Let(x, y, x))
    assert not relay.analysis.well_formed(twice) and "bound twice" in relay.analysis.problems(twice)[0]
    assert relay.analysis.check_constant(relay.Tuple([relay.const(1)])) and not relay.analysis.check_constant(x)
    data, weight = relay.var("d", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    net = relay.nn.relu(relay.nn.conv2d(data, weight, padding=(1, 1)))
    mod = relay.transform.InferType()(
        relay.module(relay.nn.dense(relay.nn.batch_flatten(net), relay.const(np.ones((2, 256), np.float32))))
    )
    assert relay.analysis.get_total_mac_number(mod["main"]) == 4 * 64 * 27 + 512
    assert relay.analysis.count_layers(mod["main"].body, ["nn.conv2d", "nn.dense"]) == 2
    assert relay.analysis.all_dtypes(mod["main"]) == {"float32"}
    assert relay.analysis.list_op_freqs(mod)["nn.dense"] == 1
    Feature = relay.analysis.Feature
    assert relay.analysis.detect_feature(relay.Tuple([x, x])) == {Feature.fVar, Feature.fTuple}
    assert Feature.fGraph in relay.analysis.detect_feature((lambda z: z + z)(relay.exp(x)))
    f = relay.var("f")
    assert Feature.fLetRec in relay.analysis.detect_feature(relay.Let(f, relay.Function([], f()), f()))
    lists = relay.IRModule()
    header, *_ = list_type(lists)
    assert relay.analysis.check_kind(header(relay.scalar_type("int32")), lists)
    assert not relay.analysis.check_kind(header(), lists)
    assert not relay.analysis.check_kind(relay.GlobalTypeVar("Tree"), lists)
