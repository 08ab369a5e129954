"""Results have their own memory: on every interface, they share none with an input that was not donated."""

import ctypes
import pathlib

import numpy as np
import pytest

import relay

HEAD = '#[version = "0.0.5"]\n'
GRAPHS = {
    "the input": ("%x: Tensor[(40), float32]", "(%x, negative(%x))"),
    "a view": ("%x: Tensor[(40), float32]", "(reshape(expand_dims(%x, axis=0), newshape=[40]), negative(%x))"),
    "twice": ("%x: Tensor[(40), float32]", "(%x, %x)"),
    "a result twice": ("%x: Tensor[(40), float32]", "let %y = negative(%x); (%y, %y)"),
}
PROGRAMS = {
    "a branch": (
        "%x: Tensor[(40), float32]",
        "if (less(sum(%x), 0f)) { (negative(%x), %x) } else { (%x, negative(%x)) }",
    ),
    "a tuple": ("%x: Tensor[(40), float32]", "let %t = (%x, (%x, 1)); (%t.1.0, negative(%x))"),
}


def compiled(params, body, **how):
    return relay.compile(relay.parse(HEAD + f"def @main({params}) {{ {body} }}"), **how)


def leaves(results):
    return [leaf for one in results for leaf in leaves(one)] if isinstance(results, tuple) else [results]


@pytest.mark.parametrize("level", (0, 2))
@pytest.mark.parametrize("executor", ("compiled", "vm", "aot"))
@pytest.mark.parametrize("name", (*GRAPHS, *PROGRAMS))
def test_results_and_inputs_change_apart(name, executor, level, tmp_path):
    model = compiled(*(GRAPHS | PROGRAMS)[name], executor=executor, opt_level=level)
    model.save(tmp_path / "m.rart")
    for run in (model, relay.load(tmp_path / "m.rart")):
        x = np.arange(40, dtype="float32")
        before = x.copy()
        results = leaves(run(x))
        kept = [one.copy() for one in results]
        x[:] = -1
        assert all(np.array_equal(a, b) for a, b in zip(results, kept, strict=True))
        x[:] = before
        for one in results:
            assert one.flags.writeable
            one += 100
        assert np.array_equal(x, before)
        assert all(np.array_equal(a, b) for a, b in zip(leaves(run(before)), kept, strict=True))


@pytest.mark.parametrize("name", (*GRAPHS, *PROGRAMS))
def test_results_and_torch_tensors_change_apart(name):
    torch = pytest.importorskip("torch")
    run = compiled(*(GRAPHS | PROGRAMS)[name])
    x = torch.arange(40.0)
    for one in leaves(run(x)):
        one += 100
        assert torch.equal(x, torch.arange(40.0))


@pytest.mark.parametrize("executor", ("compiled", "vm"))
def test_a_constant_that_is_a_result_stays(executor):
    data = np.arange(40, dtype="float32")
    constant = relay.const(data)
    data[:] = 7
    x = relay.var("x", shape=(40,))
    run = relay.compile(relay.module(relay.Tuple([constant, relay.add(x, constant)]), [x]), executor=executor)
    for _ in range(2):
        first, second = run(np.zeros(40, "float32"))
        assert np.array_equal(first, np.arange(40)) and np.array_equal(second, np.arange(40))
        first += 1


def test_values_that_outlive_a_call_keep_what_they_held():
    text = (
        "def @main(%r: ref(Tensor[(40), float32]), %x: Tensor[(40), float32]) { ref_write(%r, %x); (%x, fn () { %x }) }"
    )
    run = relay.compile(relay.parse(HEAD + text))
    cell, x = relay.values.Ref(np.zeros(40, "float32")), np.arange(40, dtype="float32")
    result, function = run(cell, x)
    x[:] = -1
    assert np.array_equal(result, np.arange(40)) and np.array_equal(function(), np.arange(40))
    kept = run.value(x)
    x[:] = 5
    assert np.array_equal(run(cell, kept)[0], np.full(40, -1.0))


def test_the_evaluator_gives_memory_of_its_own():
    mod = relay.parse(HEAD + "def @main(%x: Tensor[(40), float32]) { %x }")
    x = np.arange(40, dtype="float32")
    y = relay.evaluate(mod, [x])
    y += 1
    assert np.array_equal(x, np.arange(40))


def test_c_results_are_not_the_input(tmp_path):
    libraries = sorted(pathlib.Path(relay.__file__).resolve().parents[2].glob("build/*/librelay_runtime.so"))
    if not libraries:
        pytest.skip("librelay_runtime.so is not built")
    runtime = ctypes.CDLL(str(libraries[0]))

    class Tensor(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("shape", ctypes.c_void_p), ("rank", ctypes.c_int32),
                    ("dtype", ctypes.c_int32), ("owner", ctypes.c_void_p)]  # fmt: skip

    compiled("%x: Tensor[(40), float32]", "(%x, negative(%x))").save(tmp_path / "m.rart")
    model = ctypes.c_void_p()
    assert runtime.relay_model_load(str(tmp_path / "m.rart").encode(), None, ctypes.byref(model)) == 0
    data, shape = (ctypes.c_float * 40)(*range(40)), (ctypes.c_int64 * 1)(40)
    given = Tensor(ctypes.addressof(data), ctypes.addressof(shape), 1, 0, None)
    results = (Tensor * 2)()
    assert runtime.relay_model_run(model, ctypes.byref(given), 1, results, 2) == 0
    assert results[0].data != ctypes.addressof(data)
    data[0] = 99
    assert ctypes.cast(results[0].data, ctypes.POINTER(ctypes.c_float))[0] == 0
    assert runtime.relay_value_kind(None) == 5  # RELAY_NO_VALUE
    options = (ctypes.c_uint32 * 2)(8, 0xFFFFFFFF)
    other = ctypes.c_void_p()
    assert runtime.relay_model_load(str(tmp_path / "m.rart").encode(), options, ctypes.byref(other)) == 1
