"""Whole programs: the examples compared with NumPy, and values as inputs and results, on the debug executor and
compiled."""

import re
import subprocess

import numpy as np
import pytest
from forms import each_nth
from programs import EXAMPLES, PROGRAM, cli, close, weights

relay = pytest.importorskip("relay", exc_type=ImportError)
Data = relay.Data


@pytest.fixture(params=["debug", "vm", "aot"])
def runner(request):
    """A function that runs @main of a module."""

    def make(module):
        if request.param == "debug":
            return lambda *args: relay.evaluate(module, list(args))
        return relay.compile(module, executor=request.param)

    return make


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


TREE_WEIGHTS = [(600, 300), (450, 150), (150, 150), (600,)]


def tree_lstm(tree, w, u, uf, b):
    x, children = tree
    states = [tree_lstm(child, w, u, uf, b) for child in children]
    a = x @ w.T + b
    h = sum((h for h, _ in states), np.zeros((1, 150)))
    f = sum((sigmoid(a[:, 450:] + h_k @ uf.T) * c_k for h_k, c_k in states), np.zeros((1, 150)))
    s = h @ u.T
    c = sigmoid(a[:, :150] + s[:, :150]) * np.tanh(a[:, 300:450] + s[:, 300:]) + f
    return sigmoid(a[:, 150:300] + s[:, 150:300]) * np.tanh(c), c


def test_tree_lstm(runner):
    rng = np.random.default_rng(1)
    all_weights = weights(rng, *TREE_WEIGHTS)

    def leaf(*children):
        return rng.standard_normal((1, 300)).astype(np.float32), children

    def data(tree):
        return Data("Rose", tree[0], [data(child) for child in tree[1]])

    tree = leaf(leaf(leaf(), leaf()), leaf(), leaf(leaf(leaf(), leaf(), leaf())))
    run = runner(relay.load(EXAMPLES / "tree_lstm.relay"))
    module = relay.load(EXAMPLES / "tree_lstm.relay")
    weights_of_main = dict(zip(module["main"].params[1:], map(relay.const, all_weights), strict=True))
    module["main"] = relay.bind(module["main"], weights_of_main)
    with_weights = runner(module)  # inside of the program: its functions hand constants on
    for t in (tree, leaf()):
        for results in (run(data(t), *all_weights), with_weights(data(t))):
            for got, expected in zip(results, tree_lstm(t, *all_weights), strict=True):
                close(got, expected)


@pytest.mark.parametrize("bound", each_nth(2, [False, True]))
def test_tree_lstm_in_c_with_the_runtime_alone(tmp_path, bound):
    rng = np.random.default_rng(4)
    all_weights = weights(rng, *TREE_WEIGHTS)
    program, files = EXAMPLES / "tree_lstm.relay", []
    if bound:  # then calls wait
        module = relay.load(program)
        values = dict(zip(module["main"].params[1:], map(relay.const, all_weights), strict=True))
        module["main"] = relay.bind(module["main"], values)
        program = tmp_path / "bound.relay"
        module.save(program)
    else:
        files.append(tmp_path / "weights")
        files[0].write_bytes(b"".join(w.tobytes() for w in all_weights))
    done = cli("compile", program, "--aot", "-o", tmp_path / "tree.rart")
    assert "for the aot executor" in done.stderr

    def tree(depth):
        children = [tree(depth - 1) for _ in range(rng.integers(0, 4))] if depth else []
        return rng.standard_normal((1, 300)).astype(np.float32), children

    def written(tree):
        return np.int32(len(tree[1])).tobytes() + tree[0].tobytes() + b"".join(map(written, tree[1]))

    def nodes(tree):
        return 1 + sum(map(nodes, tree[1]))

    trees = [tree(3) for _ in range(1000)]
    done = subprocess.run(
        [PROGRAM.parent / "tree_lstm", tmp_path / "tree.rart", *files],
        input=b"".join(map(written, trees)),
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    if bound:
        calls, runs = [int(n) for n in re.fullmatch(rb"(\d+) calls in (\d+) runs\n", done.stderr).groups()]
        assert calls >= 3 * sum(map(nodes, trees)) - len(trees)  # of all nodes two, and one more of all but the roots
        assert runs < calls / 2
    else:
        assert done.stderr == b""
    states = np.frombuffer(done.stdout, np.float32).reshape(1000, 2, 1, 150)
    for t, got in zip(trees, states, strict=True):
        close(got, tree_lstm(t, *all_weights))


def without_vm(artifact):
    return subprocess.run([PROGRAM.parent / "relay_without_vm", artifact], capture_output=True, text=True, timeout=60)


def test_the_runtime_without_the_vm(tmp_path):
    assert b"calls are nested more than" in PROGRAM.read_bytes()  # a message of the VM
    assert b"calls are nested more than" not in (PROGRAM.parent / "relay_without_vm").read_bytes()
    artifact = tmp_path / "model.rart"
    cli("compile", EXAMPLES / "tree_lstm.relay", "-o", artifact)
    done = without_vm(artifact)
    assert done.returncode == 1
    assert "R0602" in done.stderr and "virtual machine" in done.stderr and "--aot" in done.stderr
    cli("compile", EXAMPLES / "tree_lstm.relay", "--aot", "-o", artifact)
    assert without_vm(artifact).stdout == "aot\n"
    graph = tmp_path / "graph.relay"
    graph.write_text('#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), float32]) { add(%x, add(%x, %x)) }\n')
    for options in ([], ["--aot"]):  # a graph has no functions to compile
        cli("compile", graph, "-o", artifact, *options)
        assert without_vm(artifact).stdout == "graph\n3\n"


def test_char_rnn(runner):
    rng = np.random.default_rng(2)
    w, b, v = weights(rng, (64, 91), (64,), (27, 64))
    w, v = w * 3, v * 3
    expected, c, h = [], 5, np.zeros(64, np.float32)
    for _ in range(12):
        h = np.tanh(w @ np.concatenate([np.eye(27, dtype=np.float32)[c], h]) + b)
        c = int(np.argmax(v @ h))
        expected.append(c)
    run = runner(relay.load(EXAMPLES / "char_rnn.relay"))
    text = run(np.int32(5), np.int32(12), w, b, v)
    assert [int(c) for c in relay.values.as_list(text)] == expected


def test_rnn_cells(runner):
    rng = np.random.default_rng(3)
    inputs = [rng.standard_normal((1, 16)).astype(np.float32) for _ in range(5)]
    all_weights = [weights(rng, (32 * k, 16), (32 * k, 32), (32 * k,)) for k in (1, 3, 4)]
    (w1, u1, b1), (w2, u2, b2), (w3, u3, b3) = all_weights
    rnn = gru = lstm = c = np.zeros((1, 32))
    for x in inputs:
        rnn = np.tanh(x @ w1.T + rnn @ u1.T + b1)
        a, s = np.split(x @ w2.T + b2, 3, 1), np.split(gru @ u2.T, 3, 1)
        z, r = sigmoid(a[0] + s[0]), sigmoid(a[1] + s[1])
        gru = (1 - z) * np.tanh(a[2] + r * s[2]) + z * gru
        i, f, o, g = np.split(x @ w3.T + lstm @ u3.T + b3, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        lstm = sigmoid(o) * np.tanh(c)
    run = runner(relay.load(EXAMPLES / "rnn_cells.relay"))
    got = run(inputs, *(w for three in all_weights for w in three))
    for result, expected in zip(got, (rnn, gru, lstm), strict=True):
        close(result, expected)


def test_interpreter(runner):
    def number(x):
        return Data("Number", float(x))

    def make(name):
        return lambda *fields: Data(name, *fields)

    variable, add, multiply, if_positive, let, lambda_, apply = map(
        make, ("Variable", "Add", "Multiply", "IfPositive", "Let", "Lambda", "Apply")
    )
    # factorial as \self. \n. if n > 0 then n * self(self)(n - 1) else 1, applied to itself
    itself = apply(variable(1), variable(1))
    step = multiply(variable(0), apply(itself, add(variable(0), number(-1))))
    factorial = lambda_(lambda_(if_positive(variable(0), step, number(1))))
    program = let(factorial, apply(apply(variable(0), variable(0)), number(6)))
    run = runner(relay.load(EXAMPLES / "interpreter.relay"))
    assert run(program) == Data("Real", 720.0)
    assert run(let(number(2), add(variable(0), multiply(variable(0), number(3))))) == Data("Real", 8.0)
    assert run(apply(number(1), number(2))) == Data("Wrong")
    assert run(lambda_(variable(0))) == Data("Made", Data("Variable", 0), Data("Nil"))


SIZES = """#[version = "0.0.5"]
def @main(%x: Tensor[(n, 3), float32], %shape: Tensor[(2), int64], %k: int32) {
  let %places = argwhere(greater(%x, 0f));
  let %y = dyn.reshape(%x, %shape);
  let %filled = dyn.full(%k, shape_of(%places, dtype="int64"));
  (add(%places, %filled), arange(0, %k, 2), multiply(%y, 2f),
   dyn.broadcast_to(sum(%y, axis=[0], keepdims=True), %shape))
}
"""


def test_sizes_that_depend_on_values(runner):
    rng = np.random.default_rng(4)
    run = runner(relay.parse(SIZES))
    for n, shape, k in ((4, (2, 6), 7), (1, (3, 1), 0), (4, (2, 6), 3)):
        x = rng.standard_normal((n, 3)).astype(np.float32)
        places, numbers, y, sums = run(x, np.array(shape), np.int32(k))
        np.testing.assert_array_equal(places, np.argwhere(x > 0) + k)
        np.testing.assert_array_equal(numbers, np.arange(0, k, 2))
        np.testing.assert_array_equal(y, x.reshape(shape) * 2)
        close(sums, np.broadcast_to(x.reshape(shape).sum(0, keepdims=True), shape))


def test_sizes_that_do_not_fit():
    x = np.zeros((4, 3), np.float32)
    run = relay.compile(relay.parse(SIZES))
    for shape, message in (((5, 2), "has no shape"), ((2, -6), "has no shape"), ((-1, -1), "has no shape")):
        with pytest.raises(relay.CompileError, match=message):
            run(x, np.array(shape), np.int32(1))
    huge = relay.compile(relay.parse('#[version = "0.0.5"]\ndef @main(%s: Tensor[(2), int64]) { dyn.full(1f, %s) }'))
    for shape, message in (((-3, 1), r"`shape` is .-3, 1."), ((2**40, 2**40), "too large")):
        with pytest.raises(relay.CompileError, match=message):
            huge(np.array(shape))


LISTS = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil }
def @sum(%l: List[int32]) -> int32 { match (%l) { Nil => 0, Cons(%h, %t) => add(%h, @sum(%t)) } }
def @range(%n: int32, %l: List[int32]) -> List[int32] {
  if (equal(%n, 0)) { %l } else { @range(subtract(%n, 1), Cons(%n, %l)) }
}
def @main(%l: List[int32], %n: int32) {
  let %r = ref(%n);
  let %f = fn (%k: int32) { let %w = ref_write(%r, add(ref_read(%r), %k)); ref_read(%r) };
  (@sum(%l), (@range(%n, Nil), ()), %f, %r, %l)
}
"""


def test_values_in_and_out():
    model = relay.compile(relay.parse(LISTS))
    assert [str(p) for p in model.inputs] == ["l: List[int32]", "n: int32[]"]
    assert "3 functions" not in repr(model)
    total, (numbers, unit), f, reference, given = model([1, 2, 3], 4)
    assert total == 6 and unit == () and total.dtype == np.int32
    assert relay.values.as_list(numbers) == [1, 2, 3, 4]
    assert str(given) == "Cons(1, Cons(2, Cons(3, Nil)))"
    match given:
        case Data("Cons", (head, tail)):
            assert head == 1 and tail.constructor == "Cons"
    assert f(5) == 9 and f(5) == 14
    assert reference.value == 4  # as it was when the run ended
    one = Data("Cons", 7, Data("Nil"))
    assert model(one, n=0)[4] == one


@pytest.mark.parametrize(
    "args, words",
    [
        ((Data("Con", 1, Data("Nil")), 1), ["Con", "did you mean Cons"]),
        ((Data("Cons", 1), 1), ["Cons"]),
        ((1, 1), ["List[int32]"]),
        (([1], [1]), ["n"]),
        ((None, 1), ["`l` is None"]),
    ],
)
def test_values_that_are_wrong(args, words):
    model = relay.compile(relay.parse(LISTS))
    with pytest.raises(relay.CompileError) as error:
        model(*args)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize("executor", ["vm", "aot"])
def test_recursion_of_a_million(executor):
    text = LISTS[: LISTS.index("def @main")] + "def @main(%n: int32) { @sum(@range(%n, Nil)) }"
    assert relay.compile(relay.parse(text), executor=executor)(1_000_000) == 1_784_293_664  # modulo 2^32


@pytest.mark.parametrize("executor", each_nth(2, ["vm", "aot"]))
def test_long_lists_and_deep_recursion(executor):
    model = relay.compile(relay.parse(LISTS), executor=executor)
    n = 30_000
    total, (numbers, _), _, _, given = model([1] * n, n)
    assert total == n
    values = relay.values.as_list(numbers)
    assert len(values) == n and values[-1] == n
    assert given == given and len(repr(given)) < 10_000


@pytest.mark.parametrize("executor", ["vm", "aot"])
def test_save_and_load(tmp_path, executor):
    module = relay.load(EXAMPLES / "interpreter.relay")
    relay.compile(module, executor=executor).save(tmp_path / "interpreter.rart")
    run = relay.load(tmp_path / "interpreter.rart")
    assert run.executor == executor
    assert run(Data("Add", Data("Number", 1.0), Data("Number", 2.0))) == Data("Real", 3.0)
    done = cli("run", tmp_path / "interpreter.rart", "--input", "e=expr:Add(Number(1f), Number(2f))")
    assert done.stdout == "output: Real(3)\n", done.stderr
    assert {"vm": "virtual machine", "aot": "aot executor"}[executor] in done.stderr
    other = {"vm": "aot", "aot": "vm"}[executor]  # there is code for the VM in both, machine code in one
    done = cli("run", tmp_path / "interpreter.rart", "--input", "e=expr:Number(1f)", "--executor", other)
    assert (done.returncode == 0) == (executor == "aot")
    assert done.returncode == 0 or "relay compile --aot" in done.stderr


@pytest.mark.parametrize("executor", ["debug", "vm", "aot", "compiled"])
def test_the_command_line_runs_programs(executor, tmp_path):
    arguments = ["run", EXAMPLES / "interpreter.relay", "--executor", executor]
    done = cli(*arguments, "--input", "e=expr:Let(Number(2f), Multiply(Variable(0), Variable(0)))")
    assert done.stdout == "output: Real(4)\n", done.stderr
    assert ("segments" in done.stderr) == (executor != "debug")
    (tmp_path / "apply.relay").write_text('#[version = "0.0.5"]\ndef @main(%f: fn (int32) -> int32) { %f(1) }\n')
    missing = cli("run", tmp_path / "apply.relay", "--executor", executor)
    assert missing.returncode == 1 and "`f` is of type fn (int32) -> int32: it must be given" in missing.stderr


def test_an_incomplete_match_names_its_place():
    text = """#[version = "0.0.5"]
type Color { Red, Green }
def @main(%n: int32) {
  let %c = if (equal(%n, 0)) { Red } else { Green };
  match? (%c) { Red => 1 }
}
"""
    model = relay.compile(relay.parse(text, "colors.relay"))
    assert model(0) == 1
    with pytest.raises(relay.CompileError, match="colors.relay:5:3"):
        model(1)


@pytest.mark.parametrize("executor", each_nth(2, ["vm", "aot"]))
def test_recursion_without_end_is_a_diagnostic(executor):
    text = """#[version = "0.0.5"]
def @down(%n: int32) -> int32 { add(@down(subtract(%n, 1)), 1) }
def @main(%n: int32) { @down(%n) }
"""
    model = relay.compile(relay.parse(text), executor=executor)
    with pytest.raises(relay.CompileError, match="R0405.*`down`: calls are nested"):
        model(1)


@pytest.mark.parametrize("executor", each_nth(2, ["vm", "aot"]))
def test_a_loop_of_ten_million_runs_in_constant_memory(executor):
    import resource

    text = """#[version = "0.0.5"]
def @main(%n: int32) {
  let %loop = fn (%i: int32, %sum: int32) -> int32 {
    if (equal(%i, 0)) { %sum } else { %loop(subtract(%i, 1), add(%sum, 2)) }
  };
  %loop(%n, 0)
}
"""
    model = relay.compile(relay.parse(text), executor=executor)
    assert model(1000) == 2000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert model(10_000_000) == 20_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 << 10  # KiB


# --- calls that are batched -------------------------------------------------------------------------------------------
