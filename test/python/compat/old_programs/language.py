"""Programs with functions, data and references: normal forms, gradients, partial evaluation."""

import numpy as np
import pytest
import tvm
from tvm import relay
from tvm.relay import transform
from tvm.relay.prelude import Prelude
from tvm.relay.testing import add_nat_definitions, check_grad, count, make_nat_expr, run_infer_type, run_opt_pass
from tvm.relay.transform import gradient


def value(expr, mod=None, *args):
    """The value of an expression, or of a function of some arguments."""
    mod = mod if mod is not None else tvm.IRModule()
    made = relay.create_executor("debug", mod=mod, device=tvm.cpu(), target="llvm").evaluate(expr)
    return made(*args) if args else made


def close(found, expected, tolerance=1e-5):
    np.testing.assert_allclose(found.numpy(), expected, rtol=tolerance, atol=tolerance)


def test_the_order_of_names():
    z = relay.const(1)
    y = z + z
    x = y * y
    found = run_opt_pass(relay.Function([], x), [transform.ToANormalForm(), transform.InferType()])
    values, body = [], found.body
    while isinstance(body, relay.Let):
        values.append(body.value)
        body = body.body
    calls = [one for one in [*values, body] if isinstance(one, relay.Call)]
    assert [one.op.name for one in calls] == ["add", "multiply"]
    assert calls[1].args[0] == calls[1].args[1] and isinstance(calls[1].args[0], relay.Var)
    close(value(found.body), 4)


def test_branches_keep_their_own():
    c, x = relay.var("c", shape=(), dtype="bool"), relay.var("x", shape=())
    f = relay.Function([c, x], relay.If(c, relay.exp(x), relay.exp(x) + x))
    found = run_opt_pass(f, transform.ToANormalForm())
    text = str(found)
    assert text.count("exp(") == 2 and text.index("if (") < text.index("exp(")
    shared = relay.exp(x)  # what both read is computed around them
    outer = str(run_opt_pass(relay.Function([c, x], relay.If(c, shared, shared + x)), transform.ToANormalForm()))
    assert outer.count("exp(") == 1 and outer.index("exp(") < outer.index("if (")
    for flag in (True, False):
        expected = np.exp(2.0) + (0 if flag else 2.0)
        close(value(found, None, np.array(flag), np.array(2.0, "float32")), expected)


def test_references_keep_their_order():
    r, u, x = relay.Var("r"), relay.Var("u"), relay.var("x", shape=())
    body = relay.Let(r, relay.RefCreate(x), relay.Let(u, relay.RefWrite(r, x + x), relay.RefRead(r)))
    f = relay.Function([x], body)
    for one in (transform.ToANormalForm(), transform.ToGraphNormalForm(), transform.PartialEvaluate()):
        close(value(run_opt_pass(f, one), None, np.array(3.0, "float32")), 6.0)


def test_recursion():
    mod = tvm.IRModule()
    total = relay.GlobalVar("total")
    n = relay.var("n", shape=(), dtype="int32")
    mod[total] = relay.Function(
        [n],
        relay.If(relay.equal(n, relay.const(0)), relay.const(0), n + total(n - relay.const(1))),
        relay.scalar_type("int32"),
    )
    close(value(total(relay.const(10)), mod), 55)
    mod["main"] = relay.Function([], total(relay.const(5)))
    after = tvm.transform.Sequential(
        [transform.ToANormalForm(), transform.PartialEvaluate(), transform.FoldConstant()]
    )(mod)
    close(relay.create_executor("debug", mod=after).evaluate()(), 15)


def test_natural_numbers():
    mod = tvm.IRModule()
    prelude = Prelude(mod)
    add_nat_definitions(prelude)
    _, z, s = prelude.mod.get_type("nat")
    two = s(s(z()))
    assert count(prelude, value(two, prelude.mod)) == 2
    assert count(prelude, value(make_nat_expr(prelude, 3), prelude.mod)) == 3
    double, add = (prelude.mod.get_global_var(f"nat_{name}") for name in ("double", "add"))
    assert count(prelude, value(double(two), prelude.mod)) == 4
    assert count(prelude, value(add(two, make_nat_expr(prelude, 3)), prelude.mod)) == 5


def as_list(prelude, found):
    out = []
    while len(found.fields):
        out.append(found.fields[0].numpy().item())
        found = found.fields[1]
    return out


def test_lists():
    mod = tvm.IRModule()
    prelude = Prelude(mod)
    _, cons, nil = mod.get_type("List")
    items = nil()
    for i in (3, 2, 1):
        items = cons(relay.const(i), items)
    at = lambda name: mod.get_global_var(name)  # noqa: E731
    x, y = relay.var("x", shape=(), dtype="int32"), relay.var("y", shape=(), dtype="int32")
    square, less = relay.Function([x], x * x), relay.Function([x], relay.less(x, relay.const(3)))
    assert as_list(prelude, value(at("map")(square, items), mod)) == [1, 4, 9]
    assert as_list(prelude, value(at("rev")(items), mod)) == [3, 2, 1]
    assert as_list(prelude, value(at("concat")(items, items), mod)) == [1, 2, 3, 1, 2, 3]
    assert as_list(prelude, value(at("filter")(less, items), mod)) == [1, 2]
    close(value(at("hd")(items), mod), 1)
    close(value(at("length")(items), mod), 3)
    close(value(at("nth")(items, relay.const(1)), mod), 2)
    close(value(at("sum")(items), mod), 6)
    close(value(at("foldl")(relay.Function([x, y], x + y), relay.const(0), items), mod), 6)
    close(value(at("foldr")(relay.Function([x, y], x - y), relay.const(0), items), mod), 2)
    pairs = value(at("zip")(items, at("rev")(items)), mod)
    assert [f.numpy().item() for f in pairs.fields[0]] == [1, 3]


def test_options():
    mod = tvm.IRModule()
    Prelude(mod)
    _, some, none = mod.get_type("Option")
    x = relay.var("x")
    branch = lambda data: relay.Match(  # noqa: E731
        data,
        [
            relay.Clause(relay.PatternConstructor(some, [relay.PatternVar(x)]), x),
            relay.Clause(relay.PatternConstructor(none), relay.const(7)),
        ],
    )
    close(value(branch(some(relay.const(1))), mod), 1)
    close(value(branch(none()), mod), 7)


@pytest.mark.parametrize("mode", ["higher_order", "first_order"])
def test_gradients(mode):
    x, y = relay.var("x", shape=(3,)), relay.var("y", shape=(3,))
    f = run_infer_type(relay.Function([x, y], x * y + relay.exp(x)))
    back = run_infer_type(gradient(f, mode=mode))
    assert back.checked_type == relay.FuncType(
        [x.type_annotation] * 2, relay.TupleType([x.type_annotation, relay.TupleType([x.type_annotation] * 2)])
    )
    a, b = np.array([1, 2, 3], "float32"), np.array([4, 5, 6], "float32")
    forward, (dx, dy) = value(back, None, a, b)
    close(forward, a * b + np.exp(a))
    close(dx, b + np.exp(a))
    close(dy, a)


def test_gradients_of_references_and_branches():
    x = relay.var("x", shape=())
    r, u = relay.Var("r"), relay.Var("u")
    body = relay.Let(r, relay.RefCreate(x), relay.Let(u, relay.RefWrite(r, relay.RefRead(r) * x), relay.RefRead(r)))
    back = run_infer_type(gradient(run_infer_type(relay.Function([x], body))))
    forward, (dx,) = value(back, None, np.array(3.0, "float32"))
    close(forward, 9.0)
    close(dx, 6.0)
    c = relay.var("c", shape=(), dtype="bool")
    chosen = run_infer_type(relay.Function([c, x], relay.If(c, x * x, relay.negative(x))))
    _, grads = value(run_infer_type(gradient(chosen)), None, np.array(True), np.array(3.0, "float32"))
    close(grads[1], 6.0)


def test_gradients_of_closures_and_checkpoints():
    x, y = relay.var("x", shape=()), relay.var("y", shape=())
    f = relay.Var("f")
    body = relay.Let(f, relay.Function([y], y * x), relay.Call(f, [relay.Call(f, [x])]))
    _, (dx,) = value(
        run_infer_type(gradient(run_infer_type(relay.Function([x], body)))), None, np.array(2.0, "float32")
    )
    close(dx, 3 * 4.0)
    z = relay.annotation.checkpoint(relay.exp(x) * x)
    check_grad(relay.Function([x], relay.tanh(z)))


def test_partial_evaluation_of_known_calls():
    mod = tvm.IRModule()
    x, n = relay.var("x", shape=()), relay.var("n", shape=(), dtype="int32")
    power = relay.GlobalVar("power")
    mod[power] = relay.Function(
        [x, n],
        relay.If(relay.equal(n, relay.const(0)), relay.const(1.0), x * power(x, n - relay.const(1))),
        relay.scalar_type("float32"),
    )
    mod["main"] = relay.Function([x], power(x, relay.const(3)))
    after = tvm.transform.Sequential([transform.PartialEvaluate(), transform.DeadCodeElimination(True)])(mod)
    text = str(after["main"])
    assert "power" not in text and "if" not in text and text.count("multiply(") == 3
    close(relay.create_executor("debug", mod=after).evaluate()(np.array(2.0, "float32")), 8.0)


def test_functions_as_data():
    from tvm.relay.transform import Defunctionalization

    mod = tvm.relay.parse(
        """#[version = "0.0.5"]
        def @simple[A, B](%f: fn(A) -> B, %x: A) -> B { %f(%x) }
        def @main(%l: Tensor[(5, 5), float32]) -> Tensor[(5, 5), float32] {
          %0 = fn[A](%x: A) -> A { %x };
          @simple(%0, %l)
        }
        """
    )
    mod["main"] = Defunctionalization(mod["main"], mod)
    assert "apply" in mod.astext()
    data = np.random.rand(5, 5).astype("float32")
    close(relay.create_executor("debug", mod=mod).evaluate()(data), data)


def test_continuations():
    x = relay.var("x", shape=())
    f = run_infer_type(relay.Function([x], relay.exp(x) + x))
    mod = tvm.IRModule.from_expr(f)
    made = transform.to_cps(transform.InferType()(mod)["main"])
    assert len(made.params) == 2
    back = transform.un_cps(made)
    close(value(run_infer_type(back), None, np.array(1.0, "float32")), np.exp(1.0) + 1)


def test_closures_of_closures():
    mod = tvm.IRModule()
    x, y, z = (relay.var(name, shape=()) for name in "xyz")
    inner = relay.Function([z], z + x * y)
    mod["main"] = relay.Function([x, y], inner(x))
    lifted = transform.LambdaLift()(transform.InferType()(mod))
    assert len(lifted.get_global_vars()) == 2
    close(
        relay.create_executor("debug", mod=lifted).evaluate()(np.array(2.0, "float32"), np.array(3.0, "float32")), 8.0
    )


def test_functions_in_place():
    mod = tvm.IRModule()
    x = relay.var("x", shape=())
    one = relay.GlobalVar("one")
    mod[one] = relay.Function([x], relay.exp(x)).with_attr("Inline", tvm.tir.IntImm("int32", 1))
    kept = relay.GlobalVar("kept")
    mod[kept] = relay.Function([x], relay.tanh(x))
    y = relay.var("y", shape=())
    mod["main"] = relay.Function([y], one(y) + kept(y))
    after = transform.Inline()(mod)
    text = str(after["main"])
    assert "@one" not in text and "@kept" in text and "exp(" in text
