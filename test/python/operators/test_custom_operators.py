"""Operators that are defined in Python: relay.op.define."""

import itertools
import re
import subprocess
import sys

import numpy as np
import pytest

import relay
from relay import te

NUMBERS = itertools.count()
EXECUTORS = ("graph", "vm", "aot")


def draw(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, dtype="float32")


def define(**how):
    """An operator with a name of its own."""
    return relay.op.define(f"test.op{next(NUMBERS)}", **how)


def module_of(expr):
    return relay.transform.InferType()(relay.IRModule.from_expr(expr))


def everywhere(expr, *args):
    """The evaluator's result; all executors must agree."""
    mod = module_of(expr)
    want = relay.evaluate(mod, list(args))
    for executor in EXECUTORS:
        for level in (0, 2):
            got = relay.compile(mod, executor=executor, opt_level=level)(*args)
            for one, other in zip(*[v if isinstance(v, tuple) else (v,) for v in (got, want)], strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    return want


def cubed(seed, x):
    return seed * relay.const(np.float32(3)) * x * x


@pytest.mark.parametrize("how", [
    {"compute": lambda x, times: te.compute(x.shape, lambda *i: x[i] * x[i] * x[i] * te.number(times, "float32"))},
    {"callback": lambda x, times: x**3 * np.float32(times)},
])  # fmt: skip
def test_gradients(how):
    """Gradients of first and second order, through surrounding operators."""
    cube = define(
        inputs=["x"],
        attributes={"times": 2.0},
        relation=lambda x, times: x,
        gradient=lambda x, result, seed, times: cubed(seed, x) * relay.const(np.float32(times)),
        **how,
    )
    x = relay.var("x", shape=(4,))
    loss, at, along = relay.Function([x], relay.sum(relay.exp(cube(x)))), draw(4) * 0.3, draw(4, seed=1)
    value = np.exp(2 * at.astype(np.float64) ** 3)
    np.testing.assert_allclose(relay.compile(relay.grad(loss))(at)[0], 6 * at**2 * value, rtol=1e-5)
    second = relay.compile(relay.hvp(loss, 0))(at, along)
    np.testing.assert_allclose(second, (12 * at + 36 * at**4) * value * along, rtol=1e-4, atol=1e-6)


def test_gradients_of_several_inputs():
    """None for the indices, and two results."""
    product = define(
        inputs=["a", "b", "k"],
        relation=lambda a, b, k: a,
        callback=lambda a, b, k: a * b * k.astype(np.float32),
        gradient=lambda a, b, k, result, seed: [
            seed * b * relay.cast(k, "float32"),
            seed * a * relay.cast(k, "float32"),
            None,
        ],
    )
    a, b, k = relay.var("a", shape=(3,)), relay.var("b", shape=(3,)), relay.var("k", shape=(3,), dtype="int32")
    loss = relay.Function([a, b, k], relay.sum(product(a, b, k)))
    values = [draw(3), draw(3, seed=1), np.array([1, 2, 3], np.int32)]
    of_a, of_b, of_k = relay.compile(relay.grad(loss))(*values)
    np.testing.assert_allclose(of_a, values[1] * values[2], rtol=1e-6)
    np.testing.assert_allclose(of_b, values[0] * values[2], rtol=1e-6)
    assert not of_k.any()


@pytest.mark.parametrize("gradient, said", [
    (None, "cannot be differentiated"),
    (lambda x, result, seed: [seed, seed], "returns 2 expressions, but the operator has 1 inputs"),
    (lambda x, result, seed: 3.0, "gives a float, not an expression or None"),
    (lambda x, result, seed: 1 / 0, "ZeroDivisionError"),
    (lambda x, result, seed: relay.sum(seed), "Tensor[(4), float32]"),
])  # fmt: skip
def test_gradients_that_are_none(gradient, said):
    same = define(inputs=["x"], relation=lambda x: x, callback=lambda x: x, gradient=gradient)
    x = relay.var("x", shape=(4,))
    with pytest.raises(relay.CompileError, match=re.escape(said)):
        relay.compile(relay.grad(relay.Function([x], relay.sum(same(x)))))


X = relay.var("x", shape=("n", 6))
scaled = define(
    inputs=["x"],
    attributes={"factor": 2.0, "shift": 0},
    relation=lambda x, factor, shift: x,
    compute=lambda x, factor, shift: te.compute(
        x.shape, lambda i, j: x[i, j] * factor + te.cast(te.number(shift, "int32"), "float32")
    ),
    fusion="elementwise",
)
matmul = define(
    inputs=["a", "b"],
    relation=lambda a, b: relay.TensorType((a.shape[0], b.shape[1]), a.dtype),
    compute=lambda a, b: te.sum((a.shape[0], b.shape[1]), (a.shape[1],), lambda i, j, k: a[i, k] * b[k, j]),
    fusion="output fusable",
)
halves = define(
    inputs=["x"],
    relation=lambda x: relay.TupleType([relay.TensorType((x.shape[0], x.shape[1] // 2), x.dtype)] * 2),
    callback=lambda x: tuple(np.split(x, 2, axis=1)),
)
joined = define(
    inputs=["parts*"],
    attributes={"axis": 0},
    relation=lambda parts, axis: relay.TensorType((parts.fields[0].shape[0], 12), "float32"),
    callback=lambda a, b, axis: np.concatenate([a, b], axis),
)


def test_a_tensor_expression():
    x = draw(3, 6)
    np.testing.assert_allclose(everywhere(scaled(X, factor=3.0, shift=1), x), x * 3 + 1, rtol=1e-6)
    np.testing.assert_allclose(everywhere(relay.exp(scaled(relay.tanh(X))), x), np.exp(np.tanh(x) * 2), rtol=1e-5)


def test_it_shares_kernels():
    model = relay.compile(module_of(relay.exp(scaled(relay.tanh(X)))))
    assert len(model.report["kernels"]) == 1 and model.report["external"] == []
    b = relay.var("b", shape=(6, 5))
    assert len(relay.compile(module_of(relay.nn.relu(matmul(X, b)))).report["kernels"]) == 1
    everywhere(relay.nn.relu(matmul(X, b)), draw(4, 6), draw(6, 5, seed=1))


def test_a_callback():
    first, second = (relay.TupleGetItem(halves(relay.exp(X)), i) for i in range(2))
    x = draw(4, 6)
    want = np.tanh(np.exp(x[:, :3])) - np.exp(x[:, 3:])
    np.testing.assert_allclose(everywhere(relay.tanh(first) - second, x), want, rtol=1e-5)
    everywhere(halves(X), x)
    everywhere(joined([X, relay.exp(X)], axis=1), x)
    model = relay.compile(module_of(halves(X)))
    (step,) = model.report["external"]
    assert step["library"] == "python" and step["symbol"].startswith("test.op")


def test_constants_reach_a_callback():
    add = define(inputs=["a", "b"], relation=lambda a, b: a, callback=lambda a, b: a + b)
    x = draw(2, 6)
    np.testing.assert_allclose(everywhere(add(X, relay.const(2.0)), x), x + 2)
    np.testing.assert_allclose(everywhere(add(X, relay.const(draw(1, 6))), x), x + draw(1, 6))


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int8", "int64", "uint16", "bool"])
def test_every_element_type(dtype):
    same = define(inputs=["x"], relation=lambda x: x, callback=lambda x: x)
    x = relay.var("x", shape=(3, 5), dtype=dtype)
    data = np.random.default_rng(0).integers(0, 2, (3, 5))
    if dtype == "bfloat16":
        import ml_dtypes

        data = data.astype(ml_dtypes.bfloat16)
    else:
        data = data.astype(dtype)
    mod = module_of(same(x))
    for got in (relay.compile(mod)(data), relay.evaluate(mod, [data])):
        assert got.dtype == data.dtype and (got == data).all()


def test_sizes():
    """Sizes that are variables, that are zero, that no number of dimensions has."""
    order = define(
        inputs=["x"],
        relation=lambda x: relay.TensorType(x.shape, "int64"),
        callback=lambda x: np.argsort(x, -1, kind="stable"),
    )
    for n in (0, 1, 5):
        everywhere(order(X), draw(n, 6))
    scalar = relay.var("s", shape=())
    everywhere(define(inputs=["x"], relation=lambda x: x, callback=lambda x: -x)(scalar), np.float32(3))


def test_inside_of_control_flow():
    double = define(inputs=["x"], relation=lambda x: x, callback=lambda x: x + x)
    x, n = relay.var("x", shape=(3,)), relay.var("n", shape=(), dtype="int32")
    go = relay.GlobalVar("go")
    body = relay.If(relay.equal(n, relay.const(0)), x, go(relay.exp(double(x)) * relay.const(0.1), n - relay.const(1)))
    tensor = relay.TensorType((3,))
    mod = relay.IRModule({go: relay.Function([x, n], body, tensor)})
    y, m = relay.var("y", shape=(3,)), relay.var("m", shape=(), dtype="int32")
    mod["main"] = relay.Function([y, m], go(y, m))
    data = draw(3)
    want = relay.evaluate(mod, [data, np.int32(3)])
    for executor in ("vm", "aot"):
        np.testing.assert_allclose(relay.compile(mod, executor=executor)(data, np.int32(3)), want, rtol=1e-5)


def test_text_has_the_name():
    mod = module_of(scaled(X, factor=3.0))
    assert "test.op0(%x, factor=3f)" in mod.astext().replace("3.0f", "3f")
    assert relay.parse(mod.astext()) == mod
    assert relay.op.get("test.op0").name == "test.op0" and relay.op.test.op0(X).op.same_as(scaled(X).op)
    program = "import relay, sys; relay.parse(sys.stdin.read())"
    done = subprocess.run([sys.executable, "-c", program], input=mod.astext(), capture_output=True, text=True)
    assert "no operator or constructor 'test.op0'" in done.stderr and "relay.op.define" in done.stderr


def test_passes_see_it():
    mod = module_of(scaled(X) + scaled(X))
    assert str(relay.transform.EliminateCommonSubexpr()(mod)).count("test.op0") == 1
    constant = module_of(scaled(relay.const(draw(2, 6))) + X)
    assert "test.op0" not in str(relay.transform.FoldConstant()(constant))
    called = []
    note = define(inputs=["x"], relation=lambda x: x, callback=lambda x: called.append(1) or x)
    mod = module_of(note(relay.const(draw(2, 6))) + note(relay.const(draw(2, 6))))
    assert relay.transform.FoldConstant()(mod) == mod and not called


def test_artifacts(tmp_path):
    x = draw(3, 6)
    relay.compile(module_of(scaled(X))).save(tmp_path / "kernels.rart")
    relay.compile(module_of(halves(X))).save(tmp_path / "callback.rart")
    np.testing.assert_array_equal(relay.load(tmp_path / "callback.rart")(x)[1], x[:, 3:])
    program = "import relay, sys, numpy as np; print(relay.load(sys.argv[1])(np.ones((3, 6), 'float32')))"
    run = [sys.executable, "-c", program]
    assert "2." in subprocess.run([*run, tmp_path / "kernels.rart"], check=True, capture_output=True, text=True).stdout
    done = subprocess.run([*run, tmp_path / "callback.rart"], capture_output=True, text=True)
    assert "the library 'python' cannot load `test.op" in done.stderr and "relay.op.define" in done.stderr
    program = relay.__file__.replace("python/relay/__init__.py", "build/release/bin/relay")
    done = subprocess.run([program, "run", tmp_path / "callback.rart"], capture_output=True, text=True)
    assert "of the library 'python', which was not found" in done.stderr


def test_not_kept_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RELAY_CACHE", str(tmp_path / "cache"))
    (tmp_path / "net.relay").write_text(module_of(scaled(X)).astext())
    model = relay.compile(tmp_path / "net.relay", cache=True)
    np.testing.assert_array_equal(model(np.ones((1, 6), "float32")), np.full((1, 6), 2))
    assert not list((tmp_path / "cache").rglob("*.rart"))


# --- what is refused -------------------------------------------------------------------------------------------------
def raises(x):
    raise ValueError("not square")


RELATIONS = [
    (raises, "ValueError: not square (test_custom_operators.py, line"),
    (lambda x: 3, "wrong kind"),
    (lambda x: relay.FuncType([x], x), "must return tensors or a tuple of tensors"),
]


@pytest.mark.parametrize("relation, message", RELATIONS)
def test_what_a_relation_refuses(relation, message):
    op = define(inputs=["x"], relation=relation, callback=lambda x: x)
    with pytest.raises(relay.CompileError) as error:
        module_of(op(X))
    assert message in str(error.value) and "test.op" in str(error.value)


COMPUTES = [
    (lambda x: te.compute((6,), lambda i: x[0, i]), "opaque", "its type is"),
    (lambda x: te.compute(x.shape, lambda i, j: te.cast(x[i, j], "float64")), "opaque", "its type is"),
    (lambda x: x, "opaque", "a result is an input"),
    (lambda x: 3, "opaque", "expected a te.Tensor or a tuple of them"),
    (lambda x: te.compute(x.shape, lambda i, j: 1.0), "opaque", "expected a number of a tensor expression"),
    (lambda x: te.compute(x.shape, lambda i, j: x[i]), "opaque", "has 2 axes, but 1 indices are given"),
    (lambda x: te.compute(x.shape, lambda i, j: x[i, j] + j), "opaque", "operands are float32 and int64"),
    (lambda x: te.compute(x.shape, lambda i, j: te.exp(j)), "opaque", "exp is for floats"),
    (lambda x: te.compute(x.shape, lambda i, j: x[i, 5 - j]), "elementwise", "at other indices than its own"),
    (lambda x: te.sum(x.shape, (6,), lambda i, j, k: x[i, k]), "injective", "reduces"),
    (lambda x: te.compute(x.shape, lambda i, j: x[i, j] if i else x[i, j]), "opaque", "has no value while"),
    (lambda x: (te.compute(x.shape, lambda i, j: x[i, j]),) * 2, "opaque", "it computes 2 tensors"),
]


@pytest.mark.parametrize("compute, fusion, message", COMPUTES)
def test_what_a_tensor_expression_does_wrong(compute, fusion, message):
    op = define(inputs=["x"], relation=lambda x: x, compute=compute, fusion=fusion)
    mod = module_of(op(X))
    for run in (lambda: relay.compile(mod), lambda: relay.evaluate(mod, [draw(2, 6)])):
        with pytest.raises(relay.CompileError) as error:
            run()
        assert message in str(error.value)


def test_nothing_outside_is_read():
    """An index that nothing guards is that of the nearest element, in every executor."""
    shifted = define(
        inputs=["x", "by"],
        relation=lambda x, by: x,
        compute=lambda x, by: te.compute(x.shape, lambda i, j: x[i + by[0], 7 * j - 3]),
    )
    by = relay.var("by", shape=(1,), dtype="int64")
    x = draw(3, 6)
    for shift in (-(10**12), -1, 0, 2, 10**12):
        rows = np.clip(np.arange(3) + shift, 0, 2)
        got = everywhere(shifted(X, by), x, np.int64([shift]))
        np.testing.assert_array_equal(got, x[rows][:, np.clip(7 * np.arange(6) - 3, 0, 5)])


CALLBACKS = [
    (lambda x: x.astype("float64"), "result 0 is float64[2, 6], and its type says float32[2, 6]"),
    (lambda x: x[0], "result 0 is float32[6], and its type says float32[2, 6]"),
    (lambda x: np.linalg.inv(x), "LinAlgError"),
]


@pytest.mark.parametrize("callback, message", CALLBACKS)
def test_what_a_callback_does_wrong(callback, message):
    mod = module_of(define(inputs=["x"], relation=lambda x: x, callback=callback)(X))
    for run in (lambda: relay.compile(mod)(draw(2, 6)), lambda: relay.evaluate(mod, [draw(2, 6)])):
        with pytest.raises(relay.CompileError) as error:
            run()
        assert message in str(error.value) and "test.op" in str(error.value)


def test_definitions_that_are_refused():
    how = {"inputs": ["x"], "relation": lambda x: x}
    with pytest.raises(relay.CompileError, match="the operator nn.relu exists already"):
        relay.op.define("nn.relu", callback=lambda x: x, **how)
    with pytest.raises(relay.CompileError, match="the operator test.op0 exists already"):
        relay.op.define("test.op0", callback=lambda x: x, **how)
    for name in ("", "2x", "a..b", "a b", "a."):
        with pytest.raises(relay.CompileError, match="cannot be the name of an operator"):
            relay.op.define(name, callback=lambda x: x, **how)
    with pytest.raises(TypeError, match="either compute"):
        define(**how)
    with pytest.raises(TypeError, match="cannot be fused"):
        define(callback=lambda x: x, fusion="elementwise", **how)
    with pytest.raises(ValueError, match="no fusion class 'magic'"):
        define(compute=lambda x: x, fusion="magic", **how)
    with pytest.raises(TypeError, match="cannot have the default"):
        define(callback=lambda x: x, attributes={"a": None}, **how)


def test_attributes_are_checked():
    with pytest.raises(relay.CompileError, match="factor"):
        scaled(X, factor="much")
    with pytest.raises(TypeError):
        scaled(X, fact=1.0)
    lists = define(
        inputs=["x"],
        attributes={"sizes": [1, 2], "names": ["a"], "on": True, "text": "t"},
        relation=lambda x, sizes, names, on, text: x,
        callback=lambda x, sizes, names, on, text: x * (sum(sizes) + len(names) + on + len(text)),
    )
    mod = module_of(lists(X, sizes=[3, 4], names=["p", "q"], text="abc"))
    assert relay.parse(mod.astext()) == mod
    x = draw(1, 6)
    np.testing.assert_allclose(relay.compile(mod)(x), x * (7 + 2 + 1 + 3), rtol=1e-6)


@pytest.mark.parametrize(
    "step",
    [
        lambda v, x, i: (v * v + v) * 0.25,
        lambda v, x, i: te.select(v > 0.5, v * v + x[i + 1], v - v * x[i]),
        lambda v, x, i: te.maximum(v * v, te.sigmoid(v) - v),
    ],
    ids=["arithmetic", "branches that read", "functions"],
)
def test_arithmetic_that_shares_its_operands(step):
    """Forty steps, each of which uses the one before three times: 3^40 nodes written out."""

    def compute(x):
        def element(i):
            value = x[i]
            for _ in range(40):
                value = step(value, x, i)
            return value

        return te.compute(x.shape, element)

    shared = define(inputs=["x"], relation=lambda x: x, compute=compute, fusion="injective")
    x = relay.var("x", shape=(37,))
    everywhere(relay.multiply(shared(x), x), np.linspace(-0.9, 0.9, 37, dtype="float32"))
    text = relay.compile(module_of(shared(x))).emit("te")
    assert "let part0 = " in text and len(text) < 20_000


def test_selects_that_share_their_sides():
    """Each of 40 steps reads the one before twice: time doubles with every step wherever a side is visited again."""

    def steps(x):
        def element(i):
            value = x[i]
            for k in range(40):
                high, low = te.select(x[i] > 2.0 * k, value, x[i]), te.select(x[i] < -1.0 * k, value, x[i])
                value = te.select(x[i] > 1.0 * k, high, low)
            return value

        return te.compute(x.shape, element)

    shared = define(inputs=["x"], relation=lambda x: x, compute=steps, fusion="elementwise")
    x = relay.var("x", shape=(40,))
    mod = relay.module(relay.add(relay.multiply(shared(x), x), x), [x])
    data = np.linspace(-50, 50, 40, dtype="float32")
    np.testing.assert_allclose(relay.compile(mod)(data), data * data + data, rtol=1e-6)


def test_what_is_no_exception_comes_through():
    def interrupted(*of, **attributes):
        raise KeyboardInterrupt

    x = relay.var("x", shape=(2,))
    same = {"inputs": ["x"], "relation": lambda x: x, "callback": lambda x: x}
    run, relation, gradient = (
        define(**{**same, **one})
        for one in ({"callback": interrupted}, {"relation": interrupted}, {"gradient": interrupted})
    )
    compute = define(inputs=["x"], relation=lambda x: x, compute=interrupted)
    model = relay.compile(relay.module(run(x)))
    for call in (
        lambda: model(np.ones(2, "float32")),
        lambda: relay.evaluate(relay.module(run(x)), [np.ones(2, "float32")]),
        lambda: relay.compile(relay.module(relation(x))),
        lambda: relay.compile(relay.module(compute(x))),
        lambda: relay.grad(relay.module(relay.sum(gradient(x)))),
    ):
        with pytest.raises(KeyboardInterrupt):
            call()
    with pytest.raises(relay.CompileError):  # the next mistake is reported as itself
        relay.parse("nothing")


@pytest.mark.parametrize(
    "wrong",
    [
        {"inputs": "x"},
        {"inputs": ["x", "x"]},
        {"inputs": [1]},
        {"inputs": ["a b"]},
        {"attributes": {"x": 1}},
        {"attributes": {"for": 1}},
        {"relation": None},
        {"callback": 3},
    ],
)
def test_definitions_that_are_wrong_define_nothing(wrong):
    name = f"test.op{next(NUMBERS)}"
    right = {"inputs": ["x"], "relation": lambda x: x, "callback": lambda x: x}
    with pytest.raises(relay.InputError):
        relay.op.define(name, **{**right, **wrong})
    relay.op.define(name, **right)
    with pytest.raises(relay.CompileError, match="at least one tensor"):
        nothing = define(**{**right, "relation": lambda x: relay.TupleType([])})
        module_of(nothing(relay.var("x", shape=(2,))))
