"""External functions as steps of a program: code generators in Python, oneDNN."""

import concurrent.futures
import subprocess
import sys

import numpy as np
import pytest
from programs import ROOT
from relay.dataflow_pattern import is_op, wildcard

import relay

sys.path.insert(0, str(ROOT / "examples" / "byoc"))
import loops  # noqa: E402, F401  registers the compiler "loops"


def draw(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, dtype="float32")


def module_of(expr):
    return relay.transform.InferType()(relay.IRModule.from_expr(expr))


def externals(model):
    return [(step["library"], step["symbol"]) for step in model.report["external"]]


def compiler(name, ops, generate):
    """A compiler that takes these operators."""
    for op in ops:
        relay.byoc.supports(name, op, lambda call: True)
    relay.byoc.register_codegen(name, generate)
    return name


EXECUTORS = ("graph", "vm", "aot")


@pytest.mark.parametrize("executor", EXECUTORS)
def test_c_on_every_executor(executor, tmp_path):
    x, y = relay.var("x", shape=("n", 8)), relay.var("y", shape=("n", 8))
    mod = module_of(relay.exp(relay.nn.relu(relay.tanh(x) * y) + y))
    taken = relay.byoc.partition(mod, "loops")
    model = relay.compile(taken, executor=executor)
    assert externals(model) == [("elf", "tvmgen_default_loops_main_0")]
    model.save(tmp_path / "loops.rart")
    loaded = relay.load(tmp_path / "loops.rart")
    for n in (1, 3, 0, 65):
        args = [draw(n, 8), draw(n, 8, seed=1)]
        want = relay.evaluate(mod, args)
        for one in (model, loaded):
            np.testing.assert_allclose(one(*args), want, rtol=1e-6, atol=1e-7)


def test_machine_code_is_in_the_artifact(tmp_path):
    x = relay.var("x", shape=(4,))
    relay.compile(relay.byoc.partition(module_of(relay.tanh(x) + x), "loops")).save(tmp_path / "loops.rart")
    program = "import relay, sys, numpy as np; print(relay.load(sys.argv[1])(np.ones(4, 'float32'))[0])"
    out = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "loops.rart"], check=True, capture_output=True, text=True
    ).stdout
    assert float(out) == pytest.approx(np.tanh(1) + 1)


def test_python_functions():
    def generate(function):
        def run(x):
            return np.sort(x, -1), x.sum(-1)

        return run

    relay.byoc.register_codegen("both", generate)
    data = draw(3, 5)
    mod = relay.parse(
        """#[version = "0.0.5"]
def @main(%x: Tensor[(n, 5), float32]) { @both(exp(%x)) }
def @both(%x: Tensor[(n, 5), float32], Compiler="both") { (sort(%x), sum(%x, axis=[-1])) }
"""
    )
    for executor in EXECUTORS:
        model = relay.compile(mod, executor=executor)
        assert externals(model) == [("python", "both")]
        for got, want in zip(model(data), (np.sort(np.exp(data), -1), np.exp(data).sum(-1)), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6)


def one_relu(generate):
    """A program that is one function of a compiler of this test, and its input."""
    compiler("one", ["nn.relu"], generate)
    x = relay.var("x", shape=(2, 3))
    return relay.byoc.partition(module_of(relay.nn.relu(x)), "one"), draw(2, 3)


WRONG = [
    (lambda x: x.astype("float64"), "result 0 is float64[2, 3], and its type says float32[2, 3]"),
    (lambda x: x[:1], "result 0 is float32[1, 3], and its type says float32[2, 3]"),
    (lambda x: (x, x), "it returns 2 arrays, but its type has 1"),
    (lambda x: 1 / 0, "ZeroDivisionError: division by zero (test_external.py, line"),
]


@pytest.mark.parametrize("function, message", WRONG)
def test_what_a_function_does_wrong(function, message):
    mod, data = one_relu(lambda f: function)
    model = relay.compile(mod)
    for _ in range(2):  # a run that failed leaves the program sound
        with pytest.raises(relay.CompileError) as error:
            model(data)
        assert message in str(error.value) and "library 'python'" in str(error.value)


def raises(function):
    raise ValueError("no such thing")


GENERATORS = [
    (raises, "the code generator of 'one' fails: ValueError: no such thing (test_external.py, line"),
    (lambda f: 3, "CSource, SharedObject, LibraryCode or function"),
    (lambda f: relay.byoc.CSource("int x = ;"), "the C compiler refuses the code of tvmgen_default_one_main_0: "),
    (lambda f: relay.byoc.CSource("", compiler=("no-such-cc",)), "the C compiler no-such-cc cannot be run"),
    (lambda f: relay.byoc.CSource("int other(void) { return 0; }"), "does not export tvmgen_default_one_main_0"),
    (lambda f: relay.byoc.SharedObject(b"no code"), "the library 'elf' cannot load"),
    (lambda f: relay.byoc.LibraryCode("nobody", b""), "the library 'nobody', which was not found"),
]


@pytest.mark.parametrize("generate, message", GENERATORS)
def test_what_a_generator_does_wrong(generate, message):
    mod, _ = one_relu(generate)
    with pytest.raises(relay.CompileError) as error:
        relay.compile(mod)
    assert message in str(error.value)


def test_a_status_of_c_ends_the_run():
    code = "int {}(const relay_external_array* a, int32_t threads) {{ return 5; }}"
    mod, data = one_relu(lambda f: relay.byoc.CSource(code.format(f.attrs["global_symbol"])))
    with pytest.raises(relay.CompileError, match="failed: it returned the status 5"):
        relay.compile(mod)(data)


def test_arrays_belong_to_the_function():
    """Arrays that a function keeps are unchanged later, and its results may become its inputs."""
    kept = []

    def keep(x):
        kept.append(x)
        return x

    mod, data = one_relu(lambda f: keep)
    model = relay.compile(mod)
    for i in range(3):
        model(data + i)
    for i, one in enumerate(kept):
        np.testing.assert_array_equal(one, data + i)
        assert one.ctypes.data % 64 == 0 and one.flags.c_contiguous


def test_many_threads():
    mod, data = one_relu(lambda f: lambda x: np.maximum(x, 0))
    model = relay.compile(mod)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for i, got in enumerate(pool.map(lambda i: model(data + i), range(200))):
            np.testing.assert_array_equal(got, np.maximum(data + i, 0))


def test_inside_of_control_flow():
    text = """#[version = "0.0.5"]
def @main(%n: int32, %x: Tensor[(m, 4), float32]) { @go(%n, %x) }
def @go(%n: int32, %x: Tensor[(m, 4), float32]) -> Tensor[(m, 4), float32] {
  if (%n == 0) { %x } else { @go(%n - 1, @twice(exp(%x))) }
}
def @twice(%x: Tensor[(m, 4), float32], Compiler="control") { add(%x, %x) }
"""
    relay.byoc.register_codegen("control", lambda f: lambda x: x + x)
    mod = relay.parse(text)
    x = draw(3, 4) * 0.1
    for executor in ("vm", "aot"):
        got = relay.compile(mod, executor=executor)(np.int32(2), x)
        np.testing.assert_allclose(got, 2 * np.exp(2 * np.exp(x)), rtol=1e-5)


def test_sizes_that_nobody_knows():
    relay.byoc.register_codegen("unknown", lambda f: lambda x: x * 2)
    mod = relay.parse(
        """#[version = "0.0.5"]
def @main(%x: Tensor[(n), float32]) { @f(take(%x, argwhere(greater(%x, 0f)), mode="clip")) }
def @f(%x: Tensor[(?, 1), float32], Compiler="unknown") { multiply(%x, 2f) }
"""
    )
    np.testing.assert_array_equal(relay.compile(mod)(np.float32([1, -2, 3]))[:, 0], [2, 6])


def test_between_convolutions():
    """Relay stores images in another order around convolutions, with padding; external functions see dense arrays."""
    compiler("between", ["tanh"], lambda f: np.tanh)
    x = relay.var("x", shape=(1, 8, 10, 10))
    w = [relay.const(draw(8, 8, 3, 3, seed=i) * 0.2) for i in range(3)]
    y = x
    for weight in w:
        y = relay.tanh(relay.nn.conv2d(y, weight, padding=(1, 1)))
    mod = module_of(relay.concatenate([y, relay.tanh(x)], axis=1))
    taken = relay.byoc.partition(mod, "between")
    model = relay.compile(taken)
    assert len(externals(model)) == 4
    data = draw(1, 8, 10, 10)
    np.testing.assert_allclose(model(data), relay.evaluate(mod, [data]), rtol=1e-4, atol=1e-5)


def test_functions_that_cannot_be_steps():
    for text, message in [
        (
            'def @main(%x: float32) { @f(%x) } def @f(%x: float32, Compiler="nobody") { exp(%x) }',
            "the compiler 'nobody'",
        ),
        ('def @main(%x: float32, Compiler="one") { exp(%x) }', "is the entry of the program"),
        (
            'def @main(%x: float32) { (@f, %x) } def @f(%x: float32, Compiler="one") { exp(%x) }',
            "as a value",
        ),
        (
            'def @main(%x: float32) { @f(ref(%x)) } def @f(%x: ref(float32), Compiler="one") { ref_read(%x) }',
            "values that are not tensors",
        ),
    ]:
        with pytest.raises(relay.CompileError) as error:
            relay.compile(relay.parse('#[version = "0.0.5"]\n' + text))
        assert message in str(error.value)


def test_passes_leave_them_as_they_are():
    mod = relay.parse(
        """#[version = "0.0.5"]
def @main(%x: Tensor[(4), float32]) { @f(add(%x, 0f), 1f) }
def @f(%x: Tensor[(4), float32], %one: float32, Compiler="kept") { multiply(%x, %one) }
"""
    )
    seen = []
    relay.byoc.register_codegen("kept", lambda f: seen.append(f) or (lambda x, one: x * one))
    model = relay.compile(mod)
    (function,) = seen
    assert [p.name_hint for p in function.params] == ["x", "one"] and function.body.op.name == "multiply"
    np.testing.assert_array_equal(model(np.ones(4, "float32")), np.ones(4))


# --- oneDNN ----------------------------------------------------------------------------------------------------------
def conv(x, *shape, seed=0, **attrs):
    return relay.nn.conv2d(x, relay.const(draw(*shape, seed=seed) * 0.2), **attrs)


def gelu(x):
    return x * relay.const(0.5) * (relay.const(1.0) + relay.erf(x / relay.const(np.float32(np.sqrt(2)))))


IMAGE, ROWS = relay.var("x", shape=(2, 8, 9, 11)), relay.var("x", shape=(6, 16))
CHANNELS = relay.const(draw(12, 1, 1, seed=5))
CHAINS = {
    "conv": conv(IMAGE, 12, 8, 3, 3),
    "conv_padding": conv(IMAGE, 12, 8, 3, 3, padding=(1, 0, 2, 1), strides=(2, 1)),
    "conv_dilation": conv(IMAGE, 12, 8, 3, 3, dilation=(2, 2), padding=(2, 2)),
    "conv_groups": conv(IMAGE, 12, 4, 3, 3, groups=2),
    "conv_depthwise": conv(IMAGE, 8, 1, 3, 3, groups=8, padding=(1, 1)),
    "conv_bias_relu": relay.nn.relu(conv(IMAGE, 12, 8, 3, 3) + CHANNELS),
    "conv_bias_add": relay.nn.relu(relay.nn.bias_add(conv(IMAGE, 12, 8, 1, 1), relay.const(draw(12)))),
    "conv_sum": relay.nn.relu(conv(IMAGE, 8, 8, 3, 3, padding=(1, 1)) + IMAGE),
    "conv_bias_sum_clip": relay.clip(conv(IMAGE, 12, 8, 1, 1) + CHANNELS + conv(IMAGE, 12, 8, 1, 1, seed=2), 0, 6),
    "conv_swish": (lambda y: y * relay.sigmoid(y))(conv(IMAGE, 12, 8, 3, 3) + CHANNELS),
    "conv_sigmoid": relay.sigmoid(conv(IMAGE, 12, 8, 3, 3)),
    "dense": relay.nn.dense(ROWS, relay.const(draw(5, 16))),
    "dense_bias_gelu": gelu(relay.nn.dense(ROWS, relay.const(draw(5, 16))) + relay.const(draw(5))),
    "dense_tanh": relay.tanh(relay.nn.dense(ROWS, relay.const(draw(5, 16)))),
    "dense_of_weights": relay.nn.dense(ROWS, relay.var("w", shape=(5, 16))),
    "dense_three_axes": relay.nn.dense(relay.var("x", shape=(2, 3, 16)), relay.const(draw(5, 16)))
    + relay.const(draw(5)),
    "matmul": relay.nn.matmul(ROWS, relay.const(draw(16, 5))) + relay.const(draw(1, 5)),
    "matmul_transposed": relay.nn.matmul(
        relay.var("x", shape=(16, 6)), relay.var("w", shape=(16, 5)), transpose_a=True
    ),
    "batch_matmul": relay.nn.batch_matmul(
        relay.var("x", shape=(4, 3, 8)), relay.var("w", shape=(4, 7, 8)), transpose_b=True
    ),
    "batch_of_one": relay.nn.batch_matmul(
        relay.var("x", shape=(4, 8, 3)), relay.var("w", shape=(1, 8, 7)), transpose_a=True, transpose_b=False
    ),
}


def arguments(mod, **sizes):
    shapes = [[sizes.get(str(d), d) for d in p.checked_type.shape] for p in mod["main"].params]
    return [draw(*shape, seed=i) for i, shape in enumerate(shapes)]


@pytest.mark.parametrize("name", CHAINS)
def test_dnnl_takes_a_chain(name):
    mod = module_of(CHAINS[name])
    taken = relay.byoc.partition_for_dnnl(mod)
    assert relay.byoc.report(taken).share("dnnl") == 1
    outside = [row for row in relay.byoc.report(taken) if row.compiler == "relay"]
    assert [row.calls for row in outside] == [0]  # all of the chain
    args = arguments(mod)
    want = relay.evaluate(mod, args, precision="float64")
    for threads in (1, 2):
        got = relay.compile(taken, threads=threads)(*args)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * np.abs(want).max())


def residual_network(batch=1):
    """Convolutions with a residual, pools of all kinds, a dense layer."""
    x = relay.var("x", shape=(batch, 3, 32, 32))
    y = relay.nn.max_pool2d(
        relay.nn.relu(conv(x, 16, 3, 7, 7, strides=(2, 2), padding=(3, 3))), (3, 3), (2, 2), padding=(1, 1)
    )
    for i in range(2):
        z = relay.nn.relu(conv(y, 16, 16, 3, 3, padding=(1, 1), seed=i) + relay.const(draw(16, 1, 1, seed=i)))
        y = relay.nn.relu(y + conv(z, 16, 16, 3, 3, padding=(1, 1), seed=i + 7))
    y = relay.nn.avg_pool2d(y, (3, 3), (1, 1), padding=(1, 1)) + relay.nn.avg_pool2d(
        y, (3, 3), (1, 1), padding=(1, 1), count_include_pad=True
    )
    pooled = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(y))
    return module_of(relay.nn.softmax(relay.nn.dense(pooled, relay.const(draw(10, 16)))))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_dnnl_runs_a_network(executor, tmp_path):
    mod = residual_network("n")
    taken = relay.byoc.partition_for_dnnl(mod)
    functions = [row for row in relay.byoc.report(taken) if row.compiler == "dnnl"]
    assert len(functions) == 3  # the images around the maximum, and the dense layer behind batch_flatten
    model = relay.compile(taken, executor=executor)
    model.save(tmp_path / "net.rart")
    loaded = relay.load(tmp_path / "net.rart")
    for n in (1, 3, 1, 0):
        (data,) = arguments(mod, n=n)
        want = relay.evaluate(mod, [data], precision="float64")
        for one in (model, loaded):
            np.testing.assert_allclose(one(data), want, rtol=1e-4, atol=1e-6)


def test_dnnl_by_an_option(tmp_path):
    mod = residual_network()
    (data,) = arguments(mod)
    model = relay.compile(mod, external="dnnl")
    assert {library for library, _ in externals(model)} == {"dnnl"}
    np.testing.assert_allclose(model(data), relay.compile(mod)(data), rtol=1e-4, atol=1e-6)
    with relay.transform.PassContext(opt_level=1):
        assert len(externals(relay.compile(mod, external="dnnl"))) == 3
    with pytest.raises(relay.CompileError, match="no external compiler 'nothing'"):
        relay.compile(mod, external="nothing")
    (tmp_path / "net.relay").write_text(mod.astext())
    program = ROOT / "build" / "release" / "bin" / "relay"
    run = [program, "compile", tmp_path / "net.relay", "--external", "dnnl", "-o", tmp_path / "net.rart"]
    subprocess.run(run, check=True, capture_output=True)
    np.testing.assert_array_equal(relay.load(tmp_path / "net.rart")(data), model(data))


def test_dnnl_leaves_what_it_does_not_take():
    x = relay.var("x", shape=(1, 8, 8, 4))
    nhwc = relay.nn.conv2d(x, relay.const(draw(3, 3, 4, 5)), data_layout="NHWC", kernel_layout="HWIO")
    double = relay.nn.dense(
        relay.var("d", shape=(2, 3), dtype="float64"), relay.var("w", shape=(4, 3), dtype="float64")
    )
    for expr in (nhwc, double, relay.exp(x), relay.nn.relu(relay.var("v", shape=(3,)))):
        assert relay.byoc.report(relay.byoc.partition_for_dnnl(module_of(expr))).share("dnnl") == 0
    # A sum with a broadcast operand is not a residual.
    y = relay.nn.dense(ROWS, relay.const(draw(5, 16))) + relay.var("s", shape=(6, 1))
    taken = relay.byoc.partition_for_dnnl(module_of(y))
    assert [row.calls for row in relay.byoc.report(taken) if row.compiler == "relay"] == [1]


def test_dnnl_from_many_threads():
    mod = residual_network()
    model = relay.compile(mod, external="dnnl", threads=1)
    (data,) = arguments(mod)
    want = model(data)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda _: model(data), range(40)):
            np.testing.assert_array_equal(got, want)


def test_a_missing_plugin_is_named(tmp_path):
    relay.compile(residual_network(), external="dnnl").save(tmp_path / "net.rart")
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    program = ROOT / "build" / "release" / "bin" / "relay"
    copy = folder / "relay"  # the plugin lies beside the program
    copy.write_bytes(program.read_bytes())
    copy.chmod(0o755)
    done = subprocess.run([copy, "run", tmp_path / "net.rart"], capture_output=True, text=True)
    assert done.returncode != 0 and "of the library 'dnnl', which was not found" in done.stderr
    assert "librelay_external_dnnl.so" in done.stderr


def test_patterns_and_checks_together():
    table = [("pair.dense_relu", is_op("nn.relu")(is_op("nn.dense")(wildcard(), wildcard())))]
    relay.byoc.register_pattern_table("pair", lambda: table)

    def generate(function):
        composite = function.body.op
        assert composite.attrs["Composite"] == "pair.dense_relu"
        return lambda x, w: np.maximum(x @ w.T, 0)

    relay.byoc.register_codegen("pair", generate)
    mod = module_of(relay.nn.relu(relay.nn.dense(ROWS, relay.var("w", shape=(5, 16)))))
    args = arguments(mod)
    np.testing.assert_allclose(
        relay.compile(relay.byoc.partition(mod, "pair"))(*args), relay.evaluate(mod, args), rtol=1e-5, atol=1e-5
    )
