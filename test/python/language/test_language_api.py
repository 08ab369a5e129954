"""The language in Python: nodes, types, modules, visitors, analyses. test_building.py tests building and running."""

import copy as copying
import gc
import pickle

import numpy as np
import pytest
from language_parts import list_type, x_and_y

relay = pytest.importorskip("relay", exc_type=ImportError)


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


# --- analyses ---------------------------------------------------------------------------------------------------------
