"""The language in Python: nodes, types, modules, visitors, analyses. Building and running: test_building.py."""

import copy as copying
import gc
import pickle
import sys
import threading

import numpy as np
import pytest

relay = pytest.importorskip("relay", exc_type=ImportError)


def x_and_y():
    return relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))


def list_type(mod):
    """type List[A] { Cons(A, List[A]), Nil }, put into a module."""
    a, header = relay.TypeVar("A"), relay.GlobalTypeVar("List")
    cons = relay.Constructor("Cons", [a, header(a)], header)
    nil = relay.Constructor("Nil", [], header)
    mod[header] = relay.TypeData(header, [a], [cons, nil])
    return header, cons, nil


# --- nodes ------------------------------------------------------------------------------------------------------------
def test_identity_is_the_node():
    x, y = x_and_y()
    z = relay.add(x, y)
    assert z.args[0] is x and z.args[1] is y and z.op is relay.op.get("add")
    assert z == z and z != relay.add(x, y) and len({z, z, relay.add(x, y)}) == 2
    table = {z: 1}
    f = relay.Function([x, y], z)
    del z
    gc.collect()
    assert table[f.body] == 1
    assert relay.GlobalVar("f") == relay.GlobalVar("f") and hash(relay.GlobalVar("f")) == hash(relay.GlobalVar("f"))


def test_every_node_has_the_fields_people_know():
    x, y = x_and_y()
    c = relay.var("c", "bool")
    call = relay.Call(relay.op.get("nn.softmax"), [x], {"axis": 0})
    assert call.attrs.axis == 0 and call.attrs["axis"] == 0 and call.attrs.keys() == ["axis"]
    assert call.attrs.type_key == "relay.attrs.SoftmaxAttrs" and call.type_args == []
    assert relay.Call(call.op, [y], call.attrs).attrs == call.attrs
    let = relay.Let(x, y, x)
    assert (let.var, let.value, let.body) == (x, y, x)
    cond = relay.If(c, x, y)
    assert (cond.cond, cond.true_branch, cond.false_branch) == (c, x, y)
    pair = relay.Tuple([x, y])
    assert len(pair) == 2 and pair[0] is x and pair[-1] is y and list(pair) == [x, y] and pair.fields == [x, y]
    item = relay.TupleGetItem(pair, 1)
    assert item.tuple_value is pair and item.index == 1
    ref = relay.RefCreate(x)
    assert ref.value is x and relay.RefRead(ref).ref is ref
    write = relay.RefWrite(ref, y)
    assert write.ref is ref and write.value is y
    f = relay.Function([x], x, x.type_annotation, attrs={"Inline": 1})
    assert f.params == [x] and f.body is x and f.ret_type == x.type_annotation and f.attrs == {"Inline": 1}
    assert f.with_attr("Primitive", 1).attrs == {"Inline": 1, "Primitive": 1} and f.attrs == {"Inline": 1}
    assert f.without_attr("Inline").attrs == {}
    assert relay.const([[1, 2]]).data.shape == relay.Constant(np.ones((1, 2))).data.shape == (1, 2)
    assert x.name_hint == "x" and str(x.type_annotation) == "Tensor[(2, 3), float32]"


def test_with_fields():
    x, y = x_and_y()
    call = relay.nn.leaky_relu(x, alpha=0.5)
    changed = relay.expr.with_fields(call, args=[y])
    assert changed.args == [y] and changed.attrs.alpha == 0.5 and relay.with_fields(call, args=[x]) is call
    f = relay.Function([x], call)
    assert relay.with_fields(f, body=x).params == [x] and relay.with_fields(f, attrs=f.attrs) is f
    assert relay.with_fields(relay.TupleGetItem(x, 1), index=2).index == 2
    with pytest.raises(TypeError, match="no field bodies; it has: params"):
        relay.with_fields(f, bodies=x)
    with pytest.raises(TypeError, match="GlobalVar"):
        relay.with_fields(relay.GlobalVar("f"), name_hint="g")


def test_constants_are_int32_and_float32():
    for value, dtype in [(1, "int32"), (1.0, "float32"), (True, "bool"), ([1, 2], "int32"), ([[1, 2.5]], "float32")]:
        assert relay.const(value).data.dtype == dtype
    assert relay.const(1, "int64").data.dtype == "int64"
    assert relay.const(np.zeros(3)).data.dtype == "float64"
    assert (relay.const(np.arange(3)).data.numpy() == [0, 1, 2]).all()


def test_variables():
    assert relay.var("x").type_annotation is None
    assert repr(relay.var("x", (1,))) == "Var(x, Tensor[(1), float32])" and str(relay.var("x")) == "free_var %x;\n%x"
    assert relay.var("x", "int32").type_annotation == relay.scalar_type("int32")
    assert relay.var("x", (1, "n")) != relay.var("x", (1, "n"))
    assert relay.var("x", (1, "n")).type_annotation == relay.var("y", shape=(1, "n")).type_annotation
    with pytest.raises(ValueError, match="either"):
        relay.var("x", relay.scalar_type("int32"), shape=(1,))


def test_arithmetic_builds_calls():
    x, y = x_and_y()
    for expr, name in [
        (x + y, "add"),
        (x - y, "subtract"),
        (x * y, "multiply"),
        (x / y, "divide"),
        (x < y, "less"),
        (x <= y, "less_equal"),
        (x > y, "greater"),
        (x >= y, "greater_equal"),
    ]:
        assert expr.op.name == name and expr.args == [x, y]
    assert (-x).op.name == "negative"
    assert x.astype("int32").attrs.dtype == "int32"
    half = 1 - x / 2
    assert str(half).splitlines()[1:] == ["%0 = divide(%x, 2f);", "subtract(1f, %0)"]
    with pytest.raises(TypeError, match="const"):
        relay.var("unknown") + 1
    f = relay.var("f")
    assert f(x, y).op is f and f(x, y).args == [x, y]


def test_places_are_lines_of_the_users_program():
    x, y = x_and_y()
    for expr in (x + y, relay.add(x, y), relay.nn.dropout(x), relay.Call(relay.op.get("add"), [x, y])):
        assert "test_language_api.py:" in str(expr.span), expr


# --- types ------------------------------------------------------------------------------------------------------------
def test_types():
    n = relay.Dim("n")
    t = relay.TensorType((2, n, 2 * n + 1), "int8")
    assert t == relay.parse_type("Tensor[(2, n, n * 2 + 1), int8]") and str(t) == "Tensor[(2, n, 2 * n + 1), int8]"
    assert t.shape[0] == 2 and t.shape[1] == n and t.dtype == "int8"
    assert relay.TensorType((relay.Any(),)) == relay.TensorType(("?",)) and relay.TensorType(("?",)).shape[0].is_any
    assert relay.TensorType((2, 3)).concrete_shape == (2, 3)
    with pytest.raises(ValueError, match="n"):
        _ = t.concrete_shape
    assert relay.ty.is_dynamic(t) and not relay.ty.is_dynamic(relay.scalar_type("int8"))
    f = relay.FuncType([t], relay.TupleType([t, relay.RefType(t)]))
    assert str(f).startswith("fn (Tensor[(2, n") and f.arg_types == [t] and f.ret_type.fields[1].value == t
    a = relay.TypeVar("a")
    identity = relay.FuncType([a], a, [a])
    b = relay.TypeVar("b")
    assert identity == relay.FuncType([b], b, [b]) and hash(identity) == hash(relay.FuncType([b], b, [b])) and a != b
    assert relay.GlobalTypeVar("List")(a) == relay.TypeCall(relay.GlobalTypeVar("List"), [a])
    assert relay.TypeVar("a", relay.TypeKind.Type).name_hint == "a"
    with pytest.raises(ValueError, match="Dim"):
        relay.TypeVar("a", relay.TypeKind.ShapeVar)
    with pytest.raises(TypeError):
        relay.TensorType((1.5,))
    with pytest.raises(ValueError, match="float99"):
        relay.TensorType((1,), "float99")


def test_type_visitors():
    t = relay.parse_type("fn (Tensor[(2), float32], (int32, ref(bool))) -> Tensor[(2), float32]")
    seen = []

    class Collect(relay.TypeVisitor):
        def visit_tensor_type(self, tt):
            seen.append(tt.dtype)

    Collect().visit(t)
    assert seen == ["float32", "int32", "bool", "float32"]

    class Widen(relay.TypeMutator):
        def visit_tensor_type(self, tt):
            return relay.TensorType(tt.shape, "float64" if tt.dtype == "float32" else tt.dtype)

    assert str(Widen().visit(t)) == str(t).replace("float32", "float64")
    with pytest.raises(NotImplementedError, match="visit_tensor_type"):
        relay.TypeFunctor().visit(relay.scalar_type("int32"))


# --- data types -------------------------------------------------------------------------------------------------------
def test_data_types_and_match():
    mod = relay.IRModule()
    header, cons, nil = list_type(mod)
    assert (cons.tag, nil.tag) == (0, 1) and cons.belong_to == header and len(cons.inputs) == 2
    xs, head, tail = relay.var("xs", header(relay.scalar_type("int32"))), relay.var("h"), relay.var("t")
    body = relay.Match(
        xs,
        [
            relay.Clause(
                relay.PatternConstructor(cons, [relay.PatternVar(head), relay.PatternVar(tail)]),
                relay.const(1) + relay.GlobalVar("length")(tail),
            ),
            relay.Clause(relay.PatternConstructor(nil), relay.const(0)),
        ],
    )
    mod["length"] = relay.Function([xs], body, relay.scalar_type("int32"))
    pattern = body.clauses[0].lhs
    assert isinstance(pattern, relay.PatternConstructor) and pattern.constructor is cons
    assert isinstance(pattern.patterns[0], relay.PatternVar) and pattern.patterns[0].var is head
    assert body.complete and body.data is xs and isinstance(body.clauses[1].rhs, relay.Constant)
    mod = relay.transform.InferType()(mod)
    assert str(mod["length"].checked_type) == "fn (List[int32]) -> int32"
    assert relay.parse(mod.astext()) == mod
    found, again, _ = mod.get_type("List")
    assert found == header and again == cons
    again.inputs.clear()  # a copy: the definition stays as it is
    assert len(cons.inputs) == 2
    tup = relay.PatternTuple([relay.PatternWildcard(), relay.PatternVar(head)])
    assert isinstance(tup.patterns[0], relay.PatternWildcard) and tup.patterns[1].var is head
    with pytest.raises(ValueError, match="constructor of List"):
        relay.TypeData(relay.GlobalTypeVar("Other"), [], [cons])


def test_the_prelude():
    mod = relay.IRModule()
    p = relay.Prelude(mod)
    one, two = relay.const(1), relay.const(2)
    xs = p.cons(one, p.cons(two, p.nil()))
    x = relay.var("x", "int32")
    double = relay.Function([x], x * 2)
    executor = relay.create_executor("debug", mod)
    assert executor.evaluate(p.sum(p.map(double, xs))) == 6 and executor.evaluate(p.length(xs)) == 2
    assert p.l == relay.GlobalTypeVar("List") and p.optional(p.tree(x.type_annotation)).func == p.optional
    assert p.some.belong_to == p.optional and p.none.name_hint == "None" and p.rose.belong_to == p.tree
    with pytest.raises(AttributeError, match="no_such"):
        getattr(p, "no_such")  # noqa: B009
    lists = relay.IRModule()
    lists.import_from_std("list.rly")
    assert "foldl" in lists and "tmap" not in lists
    with pytest.raises(relay.CompileError):
        lists.import_from_std("nothing")


def test_unmatched_cases():
    mod = relay.IRModule()
    p = relay.Prelude(mod)
    xs = relay.var("xs", p.l(relay.scalar_type("int32")))
    two = relay.PatternConstructor(p.cons, [relay.PatternWildcard(), relay.PatternConstructor(p.nil)])
    match = relay.Match(xs, [relay.Clause(two, relay.const(1))])
    cases = relay.analysis.unmatched_cases(match, mod)
    assert [case.constructor for case in cases] == [p.cons, p.nil]
    assert cases[0].patterns[1].constructor == p.cons
    both = [*match.clauses, relay.Clause(relay.PatternWildcard(), relay.const(2))]
    assert relay.analysis.unmatched_cases(relay.Match(xs, both), mod) == []


# --- modules ----------------------------------------------------------------------------------------------------------
def test_modules():
    x, y = x_and_y()
    mod = relay.IRModule({"main": relay.Function([x], x + x)})
    mod["f"] = relay.Function([y], relay.GlobalVar("main")(y))
    assert sorted(v.name_hint for v in mod.functions) == ["f", "main"] and "f" in mod and "g" not in mod
    assert mod[relay.GlobalVar("f")] is mod["f"] and mod.get_global_var("f").name_hint == "f"
    assert pickle.loads(pickle.dumps(mod)) == mod and copying.deepcopy(mod) == mod
    copy = mod.clone()
    del mod["f"]
    assert "f" not in mod and "f" in copy and copy != mod
    mod.update(copy)
    assert mod == copy and hash(mod) == hash(copy)
    assert mod.with_attr("tag", "a").get_attr("tag") == "a" and mod.get_attr("tag") is None
    copy.update_func(relay.GlobalVar("f"), mod["main"])
    assert copy["f"] is mod["main"]
    with pytest.raises(KeyError, match="defines no 'g'; it defines: f, main"):
        mod["g"]
    with pytest.raises(relay.CompileError, match="%y is free in @g"):
        mod["g"] = relay.Function([x], y)
    with pytest.raises(TypeError):
        mod["g"] = x
    with pytest.raises(ValueError, match="@g"):
        mod.get_global_var("g")


def test_text():
    x, y = x_and_y()
    e = relay.const(np.ones((2, 3), np.float32)) * x
    assert relay.analysis.structural_equal(relay.parse_expr(e.astext()), e, map_free_vars=True)
    assert "version" in relay.astext(e) and "version" not in str(e)
    assert isinstance(relay.fromtext('#[version = "0.0.5"]\ndef @main() { 1 }'), relay.IRModule)
    mod = relay.IRModule({"main": relay.Function([x], relay.nn.relu(x) + x)})
    count = iter(range(9))
    assert "nn.relu(%x)  // 0;" in mod.astext(
        annotate=lambda e: f"  // {next(count)}" if isinstance(e, relay.Call) else ""
    )
    typed = relay.transform.InferType()(mod)
    assert "/* ty=Tensor[(2, 3), float32] */" in typed.astext(types=True)
    assert "ty=" in typed["main"].astext(types=True) and relay.pretty_print(mod).startswith("def @main")


MISUSES = {
    "no node": [
        lambda r, x: r.Call(None, []),
        lambda r, x: r.Call(r.op.get("add"), [None, x]),
        lambda r, x: r.Tuple([None]),
        lambda r, x: r.Function([None], x),
        lambda r, x: r.Let(x, x, None),
        lambda r, x: r.Match(x, [None]),
        lambda r, x: r.Clause(None, x),
        lambda r, x: r.PatternTuple([None]),
        lambda r, x: r.TupleType([None]),
        lambda r, x: r.FuncType([], None),
        lambda r, x: r.Constructor("A", [None], r.GlobalTypeVar("L")),
        lambda r, x: r.TypeData(r.GlobalTypeVar("L"), [], [None]),
        lambda r, x: r.bind(x, {x: None}),
        lambda r, x: r.analysis.free_vars(None),
        lambda r, x: r.concatenate([x, None]),
        lambda r, x: r.IRModule({"main": None}),
    ],
    "another kind": [
        lambda r, x: r.Function([x + x], x),
        lambda r, x: r.bind(x, {3: x}),
        lambda r, x: r.add(x, "x"),
        lambda r, x: r.nn.softmax(x, axis=object()),
        lambda r, x: r.Function([x], x, None, [r.scalar_type("int32")]),
        lambda r, x: r.TypeData(r.GlobalTypeVar("L"), [r.scalar_type("int32")], []),
        lambda r, x: r.IRModule({3: r.Function([x], x)}),
        lambda r, x: r.const(object()),
        lambda r, x: (x + x).astext(annotate=lambda e: 3),
        lambda r, x: r.Expr(),
    ],
    "a value that cannot be": [
        lambda r, x: r.TensorType((-3,)),
        lambda r, x: r.TensorType((2**70,)),
        lambda r, x: r.TensorType((1.5,)),
        lambda r, x: r.Dim("n +"),
        lambda r, x: r.transform.InferType()(r.module(r.TupleGetItem(r.Tuple([x]), -1))),
        lambda r, x: r.transform.InferType()(r.IRModule({"main": r.Function([x, x], x)})),
        lambda r, x: r.transform.InferType()(r.module(r.Constructor("A", [], r.GlobalTypeVar("L"))())),
        lambda r, x: r.create_executor("vm").evaluate(r.var("q")),
    ],
}


@pytest.mark.parametrize("kind", MISUSES)
def test_misuse_is_an_error(kind):
    for number, misuse in enumerate(MISUSES[kind]):
        with pytest.raises((TypeError, ValueError, relay.CompileError)):
            print(number, misuse(relay, relay.var("x", shape=(2,))))


def test_what_a_callback_raises_comes_through():
    x = relay.var("x", shape=(2,))
    with pytest.raises(ZeroDivisionError):
        relay.analysis.post_order_visit(x + x, lambda e: 1 / 0)


# --- visitors ---------------------------------------------------------------------------------------------------------
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


@pytest.mark.parametrize("depth", [100_000])
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


def test_visiting_through_c_ends_with_a_message():
    e = relay.var("x", shape=(1,))
    for _ in range(60_000):
        e = relay.nn.relu(e)

    class Mapped(relay.ExprVisitor):
        def visit_call(self, call):
            list(map(self.visit, call.args))

    with pytest.raises(RecursionError):
        Mapped().visit(e)


# --- analyses ---------------------------------------------------------------------------------------------------------
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
