"""Regressions of programs, passes and calls that were wrong or did not end."""

import subprocess
import sys
import threading

import numpy as np
import pytest

import relay

HEAD = '#[version = "0.0.5"]\n'
EXECUTORS = ("compiled", "vm", "aot")


def parsed(text):
    return relay.parse(HEAD + text)


def same(got, want):
    if isinstance(want, tuple):
        return len(got) == len(want) and all(map(same, got, want))
    return np.array_equal(got, want)


# Primitive functions whose results need no computation.
GROUPS = {
    "a constant": "fn (Primitive=1) -> Tensor[(3), float32] { full(2f, shape=[3]) }; %0()",
    "a parameter": "fn (%p: Tensor[(3), float32], Primitive=1) -> Tensor[(3), float32] { %p }; %0(%x)",
    "both, and more": (
        "fn (%p: Tensor[(3), float32], Primitive=1) { (%p, full(2f, shape=[3]), %p, add(%p, 1f)) }; "
        "let %t = %0(%x); add(add(%t.0, %t.1), multiply(%t.2, %t.3))"
    ),
    "a result twice": (
        "fn (%p: Tensor[(3), float32], Primitive=1) { let %y = add(%p, 1f); (%y, %y) }; "
        "let %t = %0(%x); add(%t.0, multiply(%t.1, 2f))"
    ),
}


@pytest.mark.parametrize("level", range(4))
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", GROUPS)
def test_groups_that_compute_nothing(name, executor, level, tmp_path):
    if name == "a result twice":
        body = "fn (%p: Tensor[(3), float32], Primitive=1) { %1 = add(%p, 1f); (%1, %1) }; let %t = %0(%x); "
        body += "add(%t.0, multiply(%t.1, 2f))"
    else:
        body = GROUPS[name]
    flat = parsed(f"def @main(%x: Tensor[(3), float32]) {{ %0 = {body} }}")
    x = np.arange(3, dtype="float32")
    model = relay.compile(flat, executor=executor, opt_level=level)
    assert same(model(x), relay.evaluate(flat, [x]))
    branch = parsed(f"def @main(%b: bool, %x: Tensor[(3), float32]) {{ if (%b) {{ %0 = {body} }} else {{ %x }} }}")
    model = relay.compile(branch, executor=executor, opt_level=level)
    model.save(tmp_path / "m.rart")
    for b in (np.array(True), np.array(False)):
        for run in (model, relay.load(tmp_path / "m.rart")):
            assert same(run(b, x), relay.evaluate(branch, [b, x]))


def test_a_group_in_a_constructor():
    mod = parsed(
        "type L { K(Tensor[(3), float32], L), Z }\n"
        "def @main() { %0 = fn (Primitive=1) -> Tensor[(3), float32] { full(2f, shape=[3]) }; K(%0(), Z) }"
    )
    for level in range(4):
        assert same(relay.compile(mod, opt_level=level)().fields[0], np.full(3, 2, "float32"))


# Branches in a row; {i} is the value before, {n} its number.
ROWS = {
    "both branches": "let %v{n} = if (%b) {{ %v{i} + 1 }} else {{ %v{i} - 1 }};\n",
    "one of them": "let %v{n} = if (%b) {{ %v{i} + 1 }} else {{ if (%c) {{ %v{i} - 1 }} else {{ 0 }} }};\n",
    "two in a sum": "let %v{n} = (if (%b) {{ %v{i} + 1 }} else {{ 0 }}) + (if (%c) {{ %v{i} }} else {{ 1 }});\n",
    "shared nodes": "%{i} = if (%b) {{ {before} + 1 }} else {{ {before} - 1 }};\n",
    "shared by some": "%{i} = if (%b) {{ {before} + 1 }} else {{ if (%c) {{ {before} }} else {{ 3 }} }};\n",
    "matches": "let %v{n} = match (%o) {{ Y => %v{i} + 1, N => %v{i} - 1 }};\n",
}


@pytest.mark.parametrize("level", (0, 2))
@pytest.mark.parametrize("name", ROWS)
def test_branches_in_a_row(name, level):
    count, named = 40, "shared" not in name
    lines = "".join(ROWS[name].format(i=i, n=i + 1, before="%v0" if i == 0 else f"%{i - 1}") for i in range(count))
    result = f"%v{count}" if named else f"%{count - 1}"
    mod = parsed("type O { Y, N }\ndef @main(%v0: int32, %b: bool, %c: bool, %o: O) {\n" + lines + f"{result} }}")
    inputs = [np.int32(1), np.array(True), np.array(False), relay.Data("Y")]
    want = 2 + 1 * (count - 1) if name != "two in a sum" else 1 + 2 * count
    assert int(relay.compile(mod, opt_level=level)(*inputs)) == want


def test_nothing_runs_on_a_path_that_did_not_run_it():
    mod = parsed(
        "def @main(%x: Tensor[(3), float32], %i: int32, %b: bool) {\n"
        '  %0 = if (%b) { take(%x, %i, mode="checked") } else { 0f };\n'
        "  if (less(%i, 3)) { %0 + 1f } else { if (less(%i, 10)) { %0 } else { 5f } }\n}"
    )
    run = relay.compile(mod)
    assert float(run(np.arange(3, dtype="float32"), np.int32(20), np.array(True))) == 5
    assert float(run(np.arange(3, dtype="float32"), np.int32(1), np.array(True))) == 2


FUNCTIONS_IN_DATA = """type L[A] { K(A, L[A]), Z }
def @main(%x: int32) { match (K(fn (%y: int32) -> int32 { %y + 1 }, Z)) { K(%f, _) => %f(%x), Z => 0 } }"""


@pytest.mark.parametrize("name", [one.name for one in relay.transform.all_passes()]
                         if hasattr(relay.transform, "all_passes") else ["to_cps", "fuse_ops", "to_a_normal_form",
                         "lambda_lift", "defunctionalization", "fold_constant", "to_graph_normal_form", "un_cps",
                         "to_basic_block_normal_form", "eta_expand", "dead_code", "partial_evaluate"])  # fmt: skip
def test_a_pass_leaves_its_input_as_it_is(name):
    mod = relay.run_passes(parsed(FUNCTIONS_IN_DATA), ["infer_type"])
    before = str(mod)
    try:
        relay.run_passes(mod, [name])
    except relay.CompileError:
        pass
    assert str(mod) == before
    assert int(relay.compile(mod)(np.int32(1))) == 2
    for other in ("to_a_normal_form", "lambda_lift", "to_cps"):
        assert int(relay.evaluate(relay.run_passes(mod, [other]), [np.int32(1)])) == 2


def test_a_reference_that_holds_itself():
    data = "type C { K(ref(C)), E }\n"
    cell = relay.compile(parsed(data + "def @main() { let %r = ref(E); ref_write(%r, K(%r)); %r }"))()
    assert cell.value.fields[0] is cell
    run = relay.compile(parsed(data + "def @main(%r: ref(C)) { match (ref_read(%r)) { K(_) => 2, E => 0 } }"))
    assert int(run(cell)) == 2


def test_sizes_that_are_products_of_sums():
    first = "*".join(f"(a{i}+b{i})" for i in range(60))
    second = "*".join(f"(b{i}+a{i})" for i in reversed(range(60)))
    mod = parsed(f"def @main(%x: Tensor[({first}), float32], %y: Tensor[({second}), float32]) {{ add(%x, %y) }}")
    assert "add" in str(relay.run_passes(mod, ["infer_type"]))


def test_nested_quotients():
    size = "n"
    for i in range(40):
        size = f"(({size} + a{i}) * (b{i} + 1)) / 3"
    mod = parsed(f"def @main(%x: Tensor[({size}), float32]) {{ add(%x, 1f) }}")
    relay.run_passes(mod, ["infer_type", "fuse_ops"])


def test_a_schedule_that_unrolls_a_million():
    mod = parsed("def @main(%x: Tensor[(1000, 1000), float32]) { tanh(add(%x, 1f)) }")
    [group] = [g["name"] for g in relay.compile(mod).report["groups"]]
    schedule = "rule tanh: elementwise\nstage tanh: root\n  loops {}\nstage add: inline\nstage constant: inline\n"
    with pytest.raises(relay.CompileError, match="R0503.*1000000 statements"):
        relay.compile(mod, schedules={group: schedule.format("i0/1:unroll i1/1:unroll")})
    few = relay.compile(mod, schedules={group: schedule.format("i0/1 i1/8 i1/1:unroll")})
    x = np.zeros((1000, 1000), "float32")
    np.testing.assert_allclose(few(x), np.tanh(x + 1), rtol=1e-6)


def test_attributes_that_do_not_end():
    x = relay.var("x", shape=(3,))
    with pytest.raises(relay.CompileError, match="R0405"):
        relay.transpose(x, axes=range(10**12))
    loop = []
    loop.append(loop)
    with pytest.raises(relay.CompileError):
        relay.transpose(x, axes=loop)
    with pytest.raises(ValueError, match="more than"):
        relay.var("x", shape=range(10**12))


def test_a_compilation_in_a_thread_with_a_small_stack():
    mod = parsed("def @main(%x: Tensor[(3), float32]) { add(exp(%x), 1f) }")
    made, before = [], threading.stack_size(64 << 10)
    try:
        thread = threading.Thread(target=lambda: made.append(relay.compile(mod)))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert same(made[0](np.zeros(3, "float32")), np.full(3, 2, "float32"))


def test_data_outlives_a_reload():
    """In a process of its own: other tests have the classes from before."""
    program = """if True:
        import importlib
        import relay
        value = relay.Data("Cons", 1, relay.Data("Nil"))
        text = str(value)
        importlib.reload(relay.values)
        assert str(value) == text and value == value
    """
    subprocess.run([sys.executable, "-c", program], check=True)


def test_tiles_and_repeats_of_none():
    x = np.arange(6, dtype="float32").reshape(2, 3)
    v = relay.var("x", shape=(2, 3))
    for made, want in ((relay.tile(v, reps=[2, 0]), np.tile(x, (2, 0))),
                       (relay.repeat(v, repeats=0, axis=1), np.repeat(x, 0, 1)),
                       (relay.sum(relay.tile(v, reps=[2, 0]), axis=[1]), np.zeros(4))):  # fmt: skip
        assert same(relay.compile(relay.module(made, [v]))(x), want)
        assert same(relay.evaluate(relay.module(made, [v]), [x]), want)


def test_passes_and_compilations_of_one_module_in_threads():
    """In a process of its own: types are stored in nodes, and two writers of one node end the process."""
    program = """if True:
        import threading
        import numpy as np
        import relay
        lines = [f"def @f{i}(%x: Tensor[(4), float32]) {{ add(multiply(%x, %x), {i}f) }}" for i in range(40)]
        calls = "".join(f"let %a{i} = @f{i}(%x); " for i in range(40))
        text = '#[version = "0.0.5"]\\n' + "\\n".join(lines)
        mod = relay.parse(text + f"\\ndef @main(%x: Tensor[(4), float32]) {{ {calls} add(%a1, %a39) }}")
        passes, problems = ["fuse_ops", "to_a_normal_form", "lambda_lift", "to_cps", "defunctionalization"], []
        def work(number):
            try:
                if number == 0:
                    assert relay.compile(mod)(np.ones(4, "float32"))[0] == 42
                    assert relay.evaluate(mod, [np.ones(4, "float32")])[0] == 42
                for k in range(4):
                    relay.run_passes(mod, [passes[(number + k) % len(passes)]])
            except Exception as error:
                problems.append(error)
        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for one in threads: one.start()
        for one in threads: one.join()
        assert not problems, problems
    """
    subprocess.run([sys.executable, "-c", program], check=True)


def test_values_that_contain_themselves():
    length = relay.compile(parsed('import "list"\ndef @main(%l: List[int32]) { @length(%l) }'))
    loop, data = [], relay.Data("Cons", 1)
    loop.append(loop)
    data.fields = (1, data)
    for value in (loop, data):
        with pytest.raises(relay.InputError, match="contains itself"):
            length(value)
    shared = [1]
    twice = relay.compile(parsed('import "list"\ndef @main(%l: List[List[int32]]) { @length(%l) }'))
    assert int(twice([shared, shared])) == 2


def test_shared_parts_are_compared_once():
    tree = relay.compile(
        parsed(
            "type T { L, N(T, T) }\ndef @grow(%n: int32) -> T { if (less(%n, 1)) { L } else "
            "{ let %t = @grow(subtract(%n, 1)); N(%t, %t) } }\ndef @main(%n: int32) { @grow(%n) }"
        )
    )
    assert tree(np.int32(60)) == tree(np.int32(60)) != tree(np.int32(59))


# Programs that use a size which no parameter has as a dimension of its own, an input, and the result.
PAIR = (np.arange(4, dtype="float32"), np.int32(2))
SIZES = {
    "a field": ("def @main(%t: (Tensor[(n), float32], int32)) { ones(shape=[n]) }", PAIR, 4),
    "a field, in a function": (
        "def @f(%t: (int32, (Tensor[(n), float32], int32))) -> Tensor[(n), float32] { if (less(%t.0, 1)) "
        "{ ones(shape=[n]) } else { @f((subtract(%t.0, 1), %t.1)) } }\n"
        "def @main(%t: (Tensor[(n), float32], int32)) { @f((3, %t)) }",
        PAIR,
        4,
    ),
    "a field, in a closure": (
        "def @main(%t: (Tensor[(n), float32], int32)) { let %f = fn (%k: float32) { full(%k, shape=[n]) }; %f(1f) }",
        PAIR,
        4,
    ),
    "half": ("def @main(%x: Tensor[(2 * n), float32]) { ones(shape=[n]) }", PAIR[0], 2),
    "half, in a closure": (
        "def @main(%x: Tensor[(2 * n), float32]) { let %f = fn (%k: float32) { full(%k, shape=[n]) }; %f(1f) }",
        PAIR[0],
        2,
    ),
    "one less": ("def @main(%x: Tensor[(n + 1), float32]) { ones(shape=[n]) }", PAIR[0], 3),
    "a reference": ("def @main(%r: ref(Tensor[(n), float32])) { ones(shape=[n]) }", relay.Ref(PAIR[0]), 4),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_of_fields_and_parts_of_sizes(name):
    text, value, size = SIZES[name]
    assert same(relay.evaluate(parsed(text), [value]), np.ones(size, "float32"))
    if name == "a reference":  # compiled programs know the size where it is read
        return
    for executor in EXECUTORS:
        assert same(relay.compile(parsed(text), executor=executor)(value), np.ones(size, "float32"))


def test_arguments_by_any_name():
    add = relay.compile(parsed("def @main(%self: int32, %args: int32) { add(%self, %args) }"))
    assert int(add(**{"self": 1, "args": 2})) == 3


def test_an_empty_name():
    mod = parsed('def @""(%"": int32) -> int32 { %"" }\ndef @main(%"": int32) { @""(%"") }')
    assert relay.parse(str(mod)) == mod
    assert int(relay.evaluate(mod, [np.int32(3)])) == 3
