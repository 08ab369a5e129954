"""Operators, builders, passes and executors in Python."""

import ast
import functools
import pathlib
import subprocess
import sys
import time

import ml_dtypes
import numpy as np
import pytest

relay = pytest.importorskip("relay", exc_type=ImportError)
from relay.data.arrays import fixed  # noqa: E402


def x_and_y():
    return relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))


# --- operators --------------------------------------------------------------------------------------------------------
def run(expr, *args):
    return relay.evaluate(relay.module(expr), list(args))


def test_operators_take_attributes_by_position():
    x = relay.var("x", shape=(2, 3))
    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert (run(relay.reshape(x, (3, 2)), value) == value.reshape(3, 2)).all()
    assert (run(relay.transpose(x, [1, 0]), value) == value.T).all()
    assert (run(relay.sum(x, 1), value) == value.sum(1)).all()
    assert (run(relay.clip(x, 1, 4), value) == value.clip(1, 4)).all()
    assert (run(relay.concatenate([x, x], 1), value) == np.concatenate([value, value], 1)).all()
    assert (run(relay.strided_slice(x, [0, 1], [2, 3]), value) == value[:, 1:]).all()
    assert (run(relay.take(x, relay.const([2, 0]), 1), value) == value[:, [2, 0]]).all()
    assert (run(relay.nn.pad(x, ((0, 0), (1, 1)), 7.0), value)[:, 0] == 7).all()
    assert (relay.evaluate(relay.module(relay.arange(1, 4)), []) == [1, 2, 3]).all()
    assert (relay.evaluate(relay.module(relay.full(2.0, (2,))), []) == [2, 2]).all()
    np.testing.assert_allclose(run(relay.std(x, 1), value), value.std(1), rtol=1e-6)
    np.testing.assert_allclose(run(relay.logsumexp(x, axis=[1]), value), np.log(np.exp(value).sum(1)), rtol=1e-6)
    assert relay.nn is relay.op.nn and relay.image.resize2d is relay.op.image.resize2d


def test_operators_have_the_signatures_of_relay():
    """Positional order, defaults, and numbers or lists where a tensor may stand."""
    x = relay.var("x", shape=(4, 6))
    value = np.arange(24, dtype=np.float32).reshape(4, 6)
    assert (run(relay.trilu(x, 1), value) == np.triu(value, 1)).all()
    assert (run(relay.collapse_sum_to(x, [6]), value) == value.sum(0)).all()
    changed = run(relay.strided_set(x, relay.const(np.zeros((2, 6), np.float32)), [1], [3]), value)
    assert (changed[1:3] == 0).all() and (changed[0] == value[0]).all()
    below = run(relay.matrix_set_diag(x, relay.const(np.zeros(3, np.float32)), k=-1), value)
    assert (below == np.where(np.eye(4, 6, -1), 0, value)).all()
    with pytest.raises(ValueError, match="align must be"):
        relay.matrix_set_diag(x, x, align="MIDDLE")
    rows, columns = relay.meshgrid([relay.const([1.0, 2.0]), relay.const([3.0, 4.0, 5.0])])
    assert (relay.evaluate(relay.module(rows + columns), []) == [[4, 5, 6], [5, 6, 7]]).all()
    data, weight = relay.var("d", shape=(1, 2, 5, 5)), relay.var("w", shape=(2, 3, 3, 3))
    turned = relay.nn.conv2d_transpose(data, weight, (2, 2), (1, 1), (1, 1), 3, (3, 3), 1, "NCHW", "IOHW", "", (1, 1))
    assert relay.transform.InferType()(relay.module(turned))["main"].ret_type.concrete_shape == (1, 3, 10, 10)
    data, weight = relay.var("d", shape=(1, 2, 4, 5, 6)), relay.var("w", shape=(2, 3, 3, 3, 3))
    sides, ones = (2, 2, 2), (1, 1, 1)
    turned = relay.nn.conv3d_transpose(
        data, weight, sides, ones, ones, 3, (3, 3, 3), 1, "NCDHW", "IODHW", "", (1, 0, 1), "float32"
    )
    assert relay.transform.InferType()(relay.module(turned))["main"].ret_type.concrete_shape == (1, 3, 8, 9, 12)
    lines = relay.var("s", shape=(1, 2, 6))
    assert (run(relay.nn.global_max_pool1d(lines), value[None, :2])[0, :, 0] == value[:2, 5]).all()
    row = np.arange(4, dtype=np.float32).reshape(1, 1, 1, 4)
    image = relay.var("i", shape=(1, 1, 1, 4))
    wide = relay.image.resize2d(image, (1, 8), None, "NCHW", "nearest_neighbor", "asymmetric")
    assert (run(wide, row).ravel() == [0, 0, 1, 1, 2, 2, 3, 3]).all()


def test_shapes_are_lists_or_expressions():
    """A list, or a constant, is an attribute; what is computed is an input of the dyn. operator."""
    x, k = relay.var("x", shape=(2, 3)), relay.var("k", shape=(2,), dtype="int64")
    value, two = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([3, 2])
    cases = [
        (lambda s: relay.reshape(x, s), value.reshape(3, 2)),
        (lambda s: relay.tile(x, s), np.tile(value, (3, 2))),
        (lambda s: relay.zeros(s), np.zeros((3, 2))),
        (lambda s: relay.ones(s), np.ones((3, 2))),
        (lambda s: relay.broadcast_to(relay.const(5.0), s), np.full((3, 2), 5)),
        (lambda s: relay.strided_slice(x, [0, 0], s, [1, 1]), value[:3, :2]),
        (lambda s: relay.sparse_to_dense(relay.const([[1, 1]]), s, relay.const([4.0])), [[0, 0], [0, 4], [0, 0]]),
    ]
    for build, want in cases:
        static, computed = build([3, 2]), build(k)
        assert computed.op.name == f"dyn.{static.op.name}" and build(relay.const([3, 2])).op.name == static.op.name
        function = relay.Function([x, k], relay.Tuple([computed, relay.sum(x)]))
        assert (relay.evaluate(relay.IRModule.from_expr(function), [value, two])[0] == want).all()
    with pytest.raises(ValueError, match="axes are only allowed"):
        relay.strided_slice(x, k, [1, 1], axes=[0, 1])
    with pytest.raises(ValueError, match="allowzero is only allowed"):
        relay.reshape(x, k, allowzero=True)
    values, _, _, count = relay.unique(relay.const([3, 1, 3]))
    assert list(relay.evaluate(relay.module(values), [])) == [1, 3, 0]
    assert relay.evaluate(relay.module(count), [])[0] == 2
    frames = relay.stft(relay.var("s", shape=(8,)), 4, 2)
    np.testing.assert_allclose(run(frames, np.ones(8, np.float32))[0, :, 0], [4, 4, 4], rtol=1e-6)


def test_the_stub_says_what_there_is():
    # In a process of its own: here other tests have defined operators.
    write = "import sys; from relay.op.stub import stub; sys.stdout.write(stub())"
    stub = subprocess.run([sys.executable, "-c", write], capture_output=True, text=True, check=True).stdout
    path = pathlib.Path(relay.op.__file__).with_suffix(".pyi")
    assert path.read_text() == stub, f"{path} is out of date: make docs"
    nodes = {getattr(node, "name", None): node for node in ast.parse(stub).body}
    assert [arg.arg for arg in nodes["reshape"].args.args] == ["data", "newshape", "allowzero"]
    assert {function.name for function in nodes["nn"].body} >= {"conv2d", "batch_norm", "dropout_raw"}


def test_operators_with_several_results():
    x = relay.var("x", shape=(2, 6))
    value = np.arange(12, dtype=np.float32).reshape(2, 6)
    first, second, third = relay.split(x, 3, axis=1)
    assert (run(second, value) == value[:, 2:4]).all()
    parts = relay.split(x, [1, 4], axis=1)
    assert len(parts) == 3 and (run(relay.concatenate(parts, 1), value) == value).all()
    with pytest.raises(IndexError):
        parts[3]
    values, indices = relay.topk(x, k=2)
    assert (run(indices, value) == [[5, 4], [5, 4]]).all()
    norm = relay.nn.batch_norm(x, *[relay.var(name, shape=(6,)) for name in "abcd"])
    assert len(norm) == 3 and norm[0].tuple_value.op.name == "nn.batch_norm"
    mean, variance = relay.mean_variance(x, axis=1)
    np.testing.assert_allclose(run(variance, value), value.var(1), rtol=1e-6)
    assert "nn.dropout" in str(relay.nn.dropout(x)) and len(relay.nn.dropout_raw(x)) == 2
    with pytest.raises(AttributeError, match="no operator nn.dens; did you mean nn.dense?"):
        getattr(relay.nn, "dens")  # noqa: B009
    assert not hasattr(relay.op, "no_such_operator")
    with pytest.raises(relay.CompileError, match="did you mean 'nn.dense'"):
        relay.op.get("nn.dens")
    with pytest.raises(relay.CompileError, match="axis"):
        relay.nn.softmax(x, "last")


# --- building ---------------------------------------------------------------------------------------------------------
def test_scope_builder():
    x = relay.var("x", "float32")
    sb = relay.ScopeBuilder()
    a = sb.let("a", x * x)
    with sb.if_scope(x < relay.const(0.0)):
        b = sb.let(("b", relay.scalar_type("float32")), a + a)
        sb.ret(b)
    with sb.else_scope():
        sb.ret(a)
    f = relay.Function([x], sb.get())
    assert sb.type_of(b) == relay.scalar_type("float32")
    assert f.body.body.true_branch.var is b
    mod = relay.IRModule({"main": f})
    assert [float(relay.evaluate(mod, [np.float32(v)])) for v in (-3, 3)] == [18, 9]
    with pytest.raises(RuntimeError, match="else_scope"):
        with relay.ScopeBuilder().else_scope():
            pass
    with pytest.raises(RuntimeError, match="ret"):
        relay.ScopeBuilder().get()


def test_while_loop():
    n, total = relay.var("n", "int32"), relay.const(0)
    loop = relay.while_loop(lambda n, total: n > 0, [n, total], lambda n, total: [n - 1, total + n])
    run = relay.create_executor("debug").evaluate
    assert run(relay.TupleGetItem(loop(relay.const(4), total), 1)) == 10
    assert isinstance(loop.value, relay.Function) and loop.value.params[0].name_hint == "n"


def test_bind():
    x, y = x_and_y()
    f = relay.Function([x, y], x + y)
    one = relay.bind(f, {y: relay.const(1.0)})
    assert one.params == [x] and isinstance(one.body.args[1], relay.Constant)
    z = relay.var("z", shape=(2, 3))
    assert relay.bind(f, {y: z * z}).params == [x, z]
    assert relay.bind(x + y, {y: x}).args == [x, x]


# --- passes -----------------------------------------------------------------------------------------------------------
def test_sequential_asks_the_level():
    x = relay.var("x", shape=(2,))
    mod = relay.module(relay.Tuple([relay.exp(x), relay.exp(x) + (relay.const(1.0) + relay.const(2.0))]))
    T = relay.transform
    passes = T.Sequential([T.InferType(), T.FoldConstant(), T.EliminateCommonSubexpr()])
    two = passes(mod)
    assert "3f" in str(two) and relay.analysis.list_op_freqs(two)["exp"] == 2
    with T.PassContext(opt_level=3):
        assert relay.analysis.list_op_freqs(passes(mod))["exp"] == 1
    with T.PassContext(opt_level=3, disabled_pass=["FoldConstant"]):
        assert "3f" not in str(passes(mod))
    with T.PassContext(opt_level=0, required_pass=["FoldConstant"]):
        assert "3f" in str(passes(mod))
    with T.PassContext(config={"relay.FuseOps.max_depth": 1}):
        assert str(T.FuseOps()(mod)).count("Primitive") == str(T.FuseOps(0)(mod)).count("Primitive") > 1
    assert str(T.ToANormalForm()(mod)).count("let %") == 4 and "@main" in str(T.RemoveUnusedFunctions()(mod))
    assert T.FoldConstant().info.opt_level == 2 and T.FoldConstant().info.name == "FoldConstant"
    with pytest.raises(AttributeError, match="FoldConstant"):
        getattr(T, "FoldConstants")  # noqa: B009
    with pytest.raises(ValueError, match="no setting tir.disable_vectorize"):
        T.PassContext(config={"tir.disable_vectorize": True})
    with pytest.raises(TypeError, match="module"):
        T.InferType()(mod["main"])
    with pytest.raises(ValueError, match="no setting fuse_ops.no_option"):
        T.PassContext(config={"fuse_ops.no_option": 1})


def test_passes_of_ones_own():
    x = relay.var("x", shape=(2,))
    mod = relay.module(relay.nn.relu(x))
    T = relay.transform

    @T.function_pass(opt_level=1)
    def twice(func, mod, ctx):
        return relay.Function(func.params, func.body + func.body)

    @T.module_pass(opt_level=1, name="Add")
    class AddFunction:
        def __init__(self, name):
            self.name = name

        def transform_module(self, mod, ctx):
            mod = mod.clone()
            mod[self.name] = mod["main"]
            return mod

    out = T.Sequential([twice, AddFunction("other")])(mod)
    assert out["other"].body.op.name == "add" and out["main"].checked_type is not None
    assert twice.info.name == "twice" and AddFunction("a").info.name == "Add"

    @T.function_pass
    def wrong(func, mod, ctx):
        return func.body

    with pytest.raises(TypeError, match="wrong gave Call"):
        wrong(mod)


def test_instruments():
    x = relay.var("x", shape=(2,))
    mod = relay.module(relay.nn.relu(x))
    T = relay.transform
    log = []

    @T.pass_instrument
    class Log:
        def enter_pass_ctx(self):
            log.append("enter")

        def exit_pass_ctx(self):
            log.append("exit")

        def should_run(self, mod, info):
            return info.name != "FuseOps"

        def run_before_pass(self, mod, info):
            log.append(info.name)

    timing = T.PassTimingInstrument()
    with T.PassContext(instruments=[Log(), timing]):
        out = T.Sequential([T.InferType(), T.FuseOps()], name="both")(mod)
    assert log == ["enter", "both", "InferType", "exit"] and "Primitive" not in str(out)
    assert "InferType: " in timing.render()


# --- running ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["debug", "graph", "vm", "aot"])
def test_executors(kind):
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(3, 4))
    f = relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w)))
    a, b = np.ones((2, 4), np.float32), np.arange(12, dtype=np.float32).reshape(3, 4) - 5
    expected = np.maximum(a @ b.T, 0)
    executor = relay.create_executor(kind, relay.IRModule({"main": f}))
    assert (executor.evaluate()(a, b) == expected).all()
    assert (executor.evaluate(f)(a, w=b) == expected).all()
    assert (executor.evaluate(f, {w: b})(a) == expected).all()
    assert relay.create_executor(kind).evaluate(relay.const(1) + relay.const(2)) == 3
    y = relay.var("y", "float32")
    assert relay.create_executor(kind).evaluate(relay.Function([y], y * y))(3) == 9
    assert (relay.create_executor(kind, executor.mod, params={"w": b}).evaluate()(a) == expected).all()
    for wrong in ([], [a, b, a]):
        with pytest.raises(TypeError, match="argument"):
            executor.evaluate()(*wrong)
    with pytest.raises(ValueError, match="debug"):
        relay.create_executor("fast")


@pytest.mark.parametrize("kind", ["debug", "vm", "aot"])
def test_executors_run_programs(kind):
    n, x, y = (relay.var(name, "int32") for name in "nxy")
    factorial = relay.GlobalVar("factorial")
    body = relay.If(n < 1, relay.const(1), n * factorial(n - 1))
    mod = relay.IRModule({factorial: relay.Function([n], body, relay.scalar_type("int32"))})
    p = relay.Prelude(mod)
    run = relay.create_executor(kind, mod).evaluate
    assert run(factorial)(5) == 120
    assert run(p.sum(p.cons(factorial(relay.const(3)), p.cons(relay.const(1), p.nil())))) == 7
    adder = relay.Function([y], relay.Function([x], x + y))
    assert run(adder(relay.const(3))(relay.const(4))) == 7
    r = relay.var("r")
    write = relay.Let(relay.var("_"), relay.RefWrite(r, relay.const(2)), relay.RefRead(r))
    assert run(relay.Let(r, relay.RefCreate(relay.const(1)), write)) == 2


def test_build():
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(3, 4))
    mod = relay.IRModule({"main": relay.Function([x, w], relay.nn.dense(x, w))})
    a, b = np.ones((2, 4), np.float32), np.arange(12, dtype=np.float32).reshape(3, 4)
    with relay.transform.PassContext(opt_level=3):
        lib = relay.build(mod, target="llvm", params={"w": b})
    m = relay.GraphModule(lib["default"](relay.cpu()))
    m.set_input("x", a)
    m.run()
    assert (m.get_output(0) == a @ b.T).all() and m.get_num_outputs() == 1 and m.get_num_inputs() == 1
    m.run(x=2 * a)
    assert (m.get_output(0, np.empty((2, 3), np.float32)) == 2 * a @ b.T).all()
    assert m.benchmark(repeat=2, number=1).mean > 0
    with pytest.raises(ValueError, match="no input y; it has: x"):
        m.set_input(y=a)
    graph, library, params = lib
    assert library is lib and params == {} and "kernels" in graph
    with pytest.raises(ValueError, match="no parameter v"):
        relay.bind_params_by_name(mod["main"], {"v": b})
    with pytest.raises(relay.CompileError, match="rocm"):
        relay.build(mod, target="rocm")


@pytest.mark.parametrize("batch", ["n", 8])
@pytest.mark.parametrize("size", [1, 3])
def test_vectors_of_a_grouped_convolution_do_not_go_along_the_batch(batch, size):
    x = relay.var("x", (batch, 32, 20, 20))
    weight = relay.const(np.ones((32, 1, size, size), np.float32))
    model = relay.compile(relay.module(relay.op.nn.conv2d(x, weight, padding=[size // 2] * 2, groups=32)))
    assert not any("along n" in group["rule"] or "along i0" in group["rule"] for group in model.report["groups"])


# Outputs and inputs of a group, groups, window: more outputs than half a vector, whole groups in a vector, groups whose
# inputs lie in one vector, in two, further apart.
@pytest.mark.parametrize(
    "outputs, inputs, groups, size",
    [
        (13, 10, 3, 4),
        (40, 6, 2, 3),
        (16, 3, 5, 1),
        (2, 1, 21, 3),
        (4, 4, 9, 3),
        (7, 13, 3, 2),
        (3, 8, 7, 3),
        (5, 28, 3, 5),
    ],
)
@pytest.mark.parametrize("target", ["native", "avx2", "generic"])
def test_grouped_convolutions(outputs, inputs, groups, size, target):
    random = np.random.default_rng(1)
    x = random.integers(-3, 4, (2, groups * inputs, 11, 13)).astype(np.float32)
    w = random.integers(-3, 4, (groups * outputs, inputs, size, size)).astype(np.float32)
    conv = relay.op.nn.conv2d(relay.var("x", ("n", *x.shape[1:])), relay.const(w), padding=[1, 1], groups=groups)
    model = relay.compile(relay.module(conv), target=target)
    assert target == "generic" or f"groups of {outputs}" in str(model.report["groups"])
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)]), (size, size), (2, 3)
    )
    windows = windows.reshape(2, groups, inputs, *windows.shape[2:])
    expected = np.einsum("ngcyxkl,gockl->ngoyx", windows, w.reshape(groups, outputs, inputs, size, size))
    np.testing.assert_array_equal(model(x), expected.reshape(model(x).shape))


# Most of a vector is empty, but the tile has rows.
@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("outputs", [2, 3])
def test_few_outputs_are_not_scalars(outputs, size):
    random = np.random.default_rng(1)
    x = random.integers(-3, 4, (2, 20, 9, 30)).astype(np.float32)
    w = random.integers(-3, 4, (outputs, 20, size, size)).astype(np.float32)
    model = relay.compile(relay.module(relay.op.nn.conv2d(relay.var("x", x.shape), relay.const(w))))
    rules = str(model.report["groups"])
    assert "contraction" in rules or "inner products" in rules
    windows = np.lib.stride_tricks.sliding_window_view(x, (size, size), (2, 3))
    np.testing.assert_array_equal(model(x), np.einsum("ncyxkl,ockl->noyx", windows, w))


@pytest.mark.slow
def test_compiling_takes_time_in_proportion():
    """Three times the layers: three times the time, and not nine. Chains that attention might begin with, many
    readers."""

    def seconds(layers):
        x, y = (relay.var(name, shape=(4, 16)) for name in "xy")
        for i in range(layers):
            x = (
                relay.nn.softmax(relay.add(x, y))
                if i % 3
                else relay.add(relay.multiply(x, y), relay.sum(relay.multiply(x, x)))
            )
        begin = time.process_time()
        relay.compile(relay.module(x), threads=1)
        return time.process_time() - begin

    few = min(seconds(600) for _ in range(2))
    assert min(seconds(1800) for _ in range(2)) < 5 * few


def many_inputs(n):
    return [relay.var(f"x{i}", shape=(1, 8)) for i in range(n)]


def pieces(n):
    x = relay.var("x", shape=(1, 8 * n))
    return [relay.strided_slice(x, [0, 8 * i], [1, 8 * i + 8]) for i in range(n)]


@pytest.mark.parametrize(
    "of_many",
    [
        lambda n: functools.reduce(relay.add, many_inputs(n)),
        lambda n: functools.reduce(relay.add, pieces(n)),
        lambda n: relay.concatenate(many_inputs(n), 1),
        lambda n: relay.stack(many_inputs(n), 0),
        lambda n: relay.Tuple([relay.tanh(x) for x in pieces(n)]),
    ],
    ids=["sum", "sum_of_slices", "concatenate", "stack", "slices"],
)
def test_many_arrays_in_one_kernel_compile_in_seconds(of_many):
    """A second or less each; what took time with the square or the cube of their number took a minute."""
    begin = time.process_time()
    relay.compile(relay.module(of_many(400)), threads=1)
    assert time.process_time() - begin < 10


def test_open_concatenations_in_a_row_are_typed_in_seconds():
    """0.13 s of the processor; sums whose terms were sorted for each addend took 0.93 s."""
    x = relay.var("x", shape=("n", 4))
    for i in range(400):
        x = relay.concatenate([x, relay.var(f"x{i}", shape=(f"n{i}", 4))], 0)
    mod = relay.module(x)
    begin = time.process_time()
    relay.transform.InferType()(mod)
    assert time.process_time() - begin < 0.6


TUPLES = {
    "of an operator": "let %t = split(%x, indices_or_sections=3, axis=1); (concatenate(%t), %t)",
    "in a result": "let %t = (nn.relu(%x), %x); let %u = concatenate(%t); (%t, %u)",
    "of a branch": "let %t = if (less(sum(%x), 9f)) { (%x, %x) } else { (nn.relu(%x), %x) }; concatenate(%t)",
    "of a function": "@f((%x, nn.relu(%x)))",
    "of sizes that depend on values": "let %t = (argwhere(%x), argwhere(nn.relu(%x))); (concatenate(%t), %t)",
    "of one tensor": "argwhere(%x)",
    "of results of several": "unique(reshape(%x, newshape=[6]))",
}


@pytest.mark.parametrize("opt_level", [0, 3])
@pytest.mark.parametrize("tuples", TUPLES)
def test_operators_that_are_not_grouped_take_tuples(tuples, opt_level):
    pair = "Tensor[(2, 3), float32], Tensor[(2, 3), float32]"
    mod = relay.parse(f"""#[version = "0.0.5"]
def @f(%t: ({pair})) {{ concatenate(%t) }}
def @main(%x: Tensor[(2, 3), float32]) {{ {TUPLES[tuples]} }}
""")
    x = np.array([[0, 1, -2], [3, 0, -5]], "float32")
    want = relay.compile(mod, opt_level=opt_level)(x)
    with relay.transform.PassContext(opt_level=opt_level, disabled_pass=["FuseOps"]):
        got = relay.compile(mod)(x)
    assert str(got) == str(want)


@pytest.mark.parametrize("body", ["argwhere(%y)", "if (%c) { %y } else { negative(%y) }"])
def test_slices_of_a_size_that_the_input_has_not_itself(body):
    """2 * n + 1 determines n."""
    mod = relay.parse(f"""#[version = "0.0.5"]
def @main(%x: Tensor[(2 * n + 1), float32], %c: Tensor[(), bool]) {{
  let %y = strided_slice(%x, begin=[-3], end=[-1]); {body}
}}
""")
    x = np.array([1, 2, 0, 3, 4], "float32")
    want = x[-3:-1] if "if" in body else np.argwhere(x[-3:-1])
    np.testing.assert_array_equal(relay.compile(mod)(x, np.array(True)), want)


def test_a_pass_context_reaches_the_compiler():
    x = relay.var("x", shape=(2, 3))
    mod = relay.IRModule.from_expr(relay.Function([x], relay.exp(relay.nn.relu(x)) / relay.const(4.0)))
    seen = []

    @relay.transform.pass_instrument
    class Watch:
        def run_before_pass(self, mod, info):
            seen.append(info.name)

    value = np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3)
    want = np.exp(np.maximum(value, 0)) / 4
    assert len(relay.compile(mod).report["kernels"]) == 1
    with relay.transform.PassContext(disabled_pass=["FoldConstant"], required_pass=["DivToMul"], instruments=[Watch()]):
        model = relay.compile(mod)
    assert "FoldConstant" not in seen
    assert seen.index("DivToMul") + 1 == seen.index("FuseOps")
    np.testing.assert_allclose(model(value), want, rtol=1e-6)
    with relay.transform.PassContext(opt_level=1, config={"relay.FuseOps.max_depth": 1}):
        library = relay.build(mod, "llvm")
    assert len(library.compiled.report["kernels"]) == 3
    np.testing.assert_allclose(library.compiled(value), want, rtol=1e-6)
    with (
        relay.transform.PassContext(required_pass=["Nothing"]),
        pytest.raises(ValueError, match="there is no pass Nothing that could be required"),
    ):
        relay.compile(mod)


@pytest.mark.parametrize("size", [("b", "c"), (12, 4)], ids=["symbolic", "static"])
def test_a_triangle_of_an_array_between_kernels_is_no_padding(size):
    """A guard by index that leaves out elements stays where its array could have a halo of that value."""
    x = relay.var("x", shape=(1, 5, *size))
    squeezed = relay.squeeze(x, axis=[0])
    mask = relay.trilu(squeezed, relay.const(1, "int64"), upper=True)
    both = relay.Tuple([relay.reshape(mask * mask, (5, -1)), squeezed / (relay.abs(squeezed) + relay.const(1.0))])
    value = np.random.default_rng(0).standard_normal((1, 5, 12, 4)).astype(np.float32)
    triangle = np.triu(value[0], 1)
    got = relay.compile(relay.module(both))(value)
    np.testing.assert_array_equal(got[0], (triangle * triangle).reshape(5, -1))


def test_callers_of_a_function_that_is_replaced_are_typed_anew():
    mod = relay.parse("""#[version = "0.0.5"]
def @f(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { add(%x, %x) }
def @main(%x: Tensor[(2), float32]) { multiply(@f(%x), 2f) }
""")
    other = relay.parse("""#[version = "0.0.5"]
def @f(%x: Tensor[(2), float32]) -> Tensor[(2, 2), float32] { stack((%x, %x)) }
""")
    mod = relay.transform.InferType()(mod)
    mod["f"] = other["f"]
    with pytest.raises(
        relay.CompileError, match=r"has type Tensor\[\(2, 2\), float32\]"
    ):  # inference wrote @main's result
        relay.transform.InferType()(mod)
    mod["main"] = relay.Function(mod["main"].params, mod["main"].body)
    assert relay.compile(mod)(np.ones(2, "float32")).shape == (2, 2)


def _view_of_read_only(own):
    earlier = own[:]
    own.flags.writeable = False
    return own, earlier


LENT = {
    "itself": lambda own: (own, own),
    "Array": lambda own: (relay.array(own), own),
    "a read-only view": lambda own: (np.lib.stride_tricks.as_strided(own, writeable=False), own),
    "read-only after a view was taken": _view_of_read_only,
    "a read-only buffer": lambda own: (np.frombuffer(memoryview(own).toreadonly(), np.float32), own),
    "an array of ctypes": lambda own: (np.ctypeslib.as_ctypes(own), own),
}


@pytest.mark.parametrize("lent", LENT)
def test_constants_keep_their_numbers(lent):
    """Memory that the caller writes to afterwards is copied, whatever it came through."""
    x, y = relay.var("x", shape=(4,)), relay.var("y", shape=(4,))
    mod = relay.module(relay.add(x, y), [x, y])
    given, own = LENT[lent](np.arange(4, dtype=np.float32))
    of_const = [relay.module(relay.add(x, one)) for one in (relay.const(given), relay.Constant(given))]
    of_bound = relay.IRModule({"main": relay.bind_params_by_name(mod["main"], {"y": given})})
    executor = relay.create_executor("debug", mod, params={"y": given})
    bound = executor.evaluate()
    own[:] = 99
    zeros = np.zeros(4, np.float32)
    for result in (*(relay.evaluate(one, [zeros]) for one in (*of_const, of_bound)), bound(zeros)):
        assert np.array_equal(np.asarray(result), [0, 1, 2, 3])


@pytest.mark.parametrize("make", [relay.const, relay.Constant])
def test_constants_share_memory_that_nothing_writes(make):
    content = np.arange(4, dtype=np.float32).tobytes()
    for buffer in (content, memoryview(content)):
        fixed = np.frombuffer(buffer, np.float32)
        assert np.asarray(make(fixed[1:]).data).ctypes.data == fixed[1:].ctypes.data


@pytest.mark.parametrize("dtype", ["float32", "bool", ">i4", "bfloat16"])
def test_constants_share_what_their_maker_gives_up(dtype):
    dtype = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    made = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    given = fixed(made)
    assert given.dtype == dtype and np.array_equal(given, made) and not given.flags.writeable
    with pytest.raises(ValueError):
        given.flags.writeable = True
    constant = relay.const(given[1:])
    assert np.array_equal(np.asarray(constant.data.numpy()).astype("int32"), made[1:].astype("int32"))
    made[1, 0] = 0  # as the maker must not do: it shows where the memory is
    shared = np.asarray(constant.data.numpy()).astype("int32")[0, 0] == 0
    assert shared == (dtype.byteorder != ">")
