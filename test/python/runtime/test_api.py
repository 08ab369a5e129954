"""The Python package."""

import importlib
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
from programs import CONV, DENSE, PROGRAM, TWO_RESULTS

relay = pytest.importorskip("relay", exc_type=ImportError)


@pytest.fixture(scope="module")
def dense():
    return relay.compile(relay.parse(DENSE))


def arrays(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 4), np.float32), rng.standard_normal((8, 4), np.float32)


def test_call_by_position_and_by_name(dense):
    for n in (1, 3, 17):
        x, w = arrays(n)
        expected = np.maximum(x @ w.T, 0)
        np.testing.assert_allclose(dense(x, w), expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(dense(x, w=w), expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(dense(w=w, x=x), expected, rtol=1e-5, atol=1e-6)


def test_ports_and_report(dense):
    assert [str(p) for p in dense.inputs] == ["x: float32[n, 4]", "w: float32[8, 4]"]
    assert dense.inputs[0].shape == ("n", 4)
    assert dense.outputs[0].dtype == "float32"
    report = dense.report
    assert report["kernels"] and report["target"]["name"] and report["ms"]["total"] > 0
    assert [p["name"] for p in report["passes"]][-1] == "fuse_ops"
    assert "float32[n, 4]" in repr(dense)


def test_several_results_come_as_a_tuple():
    model = relay.compile(relay.parse(TWO_RESULTS))
    a, b = np.ones((2, 3), np.float32), np.full((2, 3), 2, np.float32)
    total, product = model(a, b)
    assert (total == 3).all() and (product == 2).all()
    total[0, 0] = 7  # results are the caller's own


def test_save_and_load(dense, tmp_path):
    dense.save(tmp_path / "dense.rart")
    loaded = relay.load(tmp_path / "dense.rart")
    x, w = arrays(5)
    assert (loaded(x, w) == dense(x, w)).all()
    same = {
        key: value for key, value in dense.report.items() if key not in ("passes", "ms", "tier")
    }  # saved code is full
    assert {key: loaded.report[key] for key in same} == same


def test_text_round_trip():
    module = relay.parse(DENSE)
    assert relay.parse(module.astext()) == module
    assert str(module).startswith("#[version")
    assert list(module.functions) == [relay.GlobalVar("main")]


def test_transform_and_passes():
    module = relay.run_passes(relay.parse(DENSE), ["infer_type", "fuse_ops"])
    assert "Primitive=1" in module.astext()
    assert set(relay.passes()) >= {"infer_type", "fuse_ops", "fold_constant"}


def test_evaluate_is_the_oracle(dense):
    module = relay.parse(DENSE)
    x, w = arrays(3)
    exact = relay.evaluate(module, [x, w], precision="float64")
    assert exact.dtype == np.float64
    np.testing.assert_allclose(exact, np.maximum(x.astype(np.float64) @ w.T.astype(np.float64), 0), rtol=1e-12)
    np.testing.assert_allclose(relay.evaluate(module, {"w": w, "x": x}), dense(x, w), rtol=1e-5, atol=1e-6)


def test_stages_and_schedules():
    model = relay.compile(relay.parse(CONV))
    group = model.report["groups"][0]["name"]
    schedule = model.emit("schedule", 0)
    assert "rule" in schedule and "task" in model.emit("loop", 0)
    again = relay.compile(relay.parse(CONV), schedules={group: schedule})
    assert again.report["groups"][0]["scheduled_by_hand"]


def test_profile():
    model = relay.compile(relay.parse(TWO_RESULTS))
    steps = model.profile(np.ones((2, 3), np.float32), np.ones((2, 3), np.float32))
    assert steps and all(step["us"] >= 0 for step in steps)


def test_profile_of_a_program_on_lists():
    model = relay.compile(
        relay.parse(
            """#[version = "0.0.5"]
import "list"
def @main(%xs: List[Tensor[(3), float32]], %sum: Tensor[(3), float32]) -> Tensor[(3), float32] {
  match (%xs) {
    Nil => %sum,
    Cons(%x, %rest) => @main(%rest, add(%sum, exp(%x)))
  }
}
"""
        )
    )
    xs, zero = [np.ones(3, np.float32)] * 4, np.zeros(3, np.float32)
    np.testing.assert_allclose(model(xs, zero), 4 * np.exp(np.ones(3)), rtol=1e-6)
    assert len(model.profile(xs, zero)) == 4


def test_operators_are_functions():
    x = relay.var("x", (1, 4))
    w = relay.const(np.eye(4, dtype=np.float32))
    module = relay.module(relay.op.nn.relu(relay.op.nn.dense(x, w)))
    value = np.array([[-1, 2, -3, 4]], np.float32)
    assert (relay.compile(module)(value) == np.maximum(value, 0)).all()
    import inspect

    signature = inspect.signature(relay.op.nn.conv2d)
    assert list(signature.parameters)[:2] == ["data", "weight"] and "strides" in signature.parameters
    assert relay.op.nn.conv2d.__doc__
    assert set(relay.operators()) >= {"nn.conv2d", "add", "nn.dense"}


def test_symbolic_shapes_in_python():
    x = relay.var("x", ("n", 4))
    model = relay.compile(relay.module(relay.op.nn.relu(x)))
    assert model(np.ones((7, 4), np.float32)).shape == (7, 4)


# --- arrays without copies --------------------------------------------------------------------------------------------


def test_numpy_is_shared_both_ways():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    a = relay.array(x)
    assert a.address == x.ctypes.data
    back = np.from_dlpack(a)
    assert back.ctypes.data == x.ctypes.data and back.shape == (3, 4)
    del x
    assert back[2, 3] == 11


@pytest.mark.parametrize(
    "dtype",
    ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"],
)
def test_every_type_crosses(dtype):
    x = np.array([[0, 1], [1, 0]]).astype(dtype)
    a = relay.array(x)
    assert a.dtype == dtype and a.address == x.ctypes.data
    from relay.data.arrays import numpy

    assert numpy(a).dtype == x.dtype and (numpy(a) == x).all()


def test_bfloat16_crosses():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    from relay.data.arrays import numpy

    x = np.array([1.5, -2], ml_dtypes.bfloat16)
    a = relay.array(x)
    assert a.dtype == "bfloat16" and a.address == x.ctypes.data
    assert numpy(a).dtype == ml_dtypes.bfloat16 and (numpy(a) == x).all()


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "bfloat16", "int8", "int64", "uint16", "uint64", "bool"]
)
def test_calls_take_and_give_every_type(dtype):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    numpy_type = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    model = relay.compile(
        relay.parse(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(n, 3), {dtype}]) {{ (%x, reverse(%x, axis=0)) }}')
    )
    x = np.array([[0, 1, 1], [1, 0, 0]]).astype(numpy_type)
    given, turned = model(x)
    assert given.dtype == turned.dtype == numpy_type
    assert (given == x).all() and (turned == x[::-1]).all()
    del x
    assert given[0, 1] == 1  # it keeps what it lies in
    assert turned.flags.writeable and model(np.zeros((0, 3), numpy_type))[1].shape == (0, 3)


def test_calls_convert_other_arrays(dense):
    x, w = arrays(2)

    class Named(np.ndarray):
        pass

    expected = np.maximum(x @ w.T, 0)
    unaligned = np.frombuffer(b"-" + x.tobytes(), np.float32, offset=1).reshape(x.shape)
    for other in (x.astype(">f4"), unaligned, x.view(Named), x.tolist(), x[::-1][::-1]):
        np.testing.assert_allclose(dense(other, w), expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(relay.CompileError, match="float64"):
        dense(x.astype(np.float64), w)


def test_what_is_not_row_major_is_copied(dense):
    x, w = arrays(6)
    fortran = np.asfortranarray(x)
    assert relay.array(fortran).address != fortran.ctypes.data
    expected = np.maximum(x @ w.T, 0)
    np.testing.assert_allclose(dense(fortran, w), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(dense(np.repeat(x, 2, 0)[::2], w), expected, rtol=1e-5, atol=1e-6)


def test_read_only_and_empty_arrays(dense):
    x, w = arrays(2)
    expected = dense(x, w)
    x.flags.writeable = False
    assert (dense(x, w) == expected).all()
    assert dense(np.zeros((0, 4), np.float32), w).shape == (0, 8)


def test_constants_are_exported_as_read_only(constant_data):
    torch = pytest.importorskip("torch")
    given = np.arange(6, dtype=np.float32).reshape(2, 3)
    data = constant_data(relay.const(given))
    for view in (np.from_dlpack(data), data.numpy(), np.asarray(data)):
        assert view.ctypes.data == data.address and not view.flags.writeable
    for older in ({}, {"max_version": None}, {"max_version": (0, 8)}):  # consumers that cannot be told
        with pytest.raises(BufferError, match=r"read-only.*use \.numpy\(\).*\.numpy\(\)\.copy\(\)"):
            data.__dlpack__(**older)
    with pytest.raises(BufferError, match="type 2"):
        data.__dlpack__(max_version=(1, 0), dl_device=(2, 0))
    for copy in (torch.from_dlpack(data, copy=True), torch.from_dlpack(data.__dlpack__(copy=True))):
        assert copy.data_ptr() != data.address
        copy.zero_()
    assert np.array_equal(data.numpy(), given)


def test_torch_is_shared_both_ways(dense):
    torch = pytest.importorskip("torch")
    x, w = (torch.from_numpy(a) for a in arrays(3))
    assert relay.array(x).address == x.data_ptr()
    assert torch.from_dlpack(relay.array(x)).data_ptr() == x.data_ptr()
    y = dense(x, w)
    assert isinstance(y, torch.Tensor)
    torch.testing.assert_close(y, torch.relu(x @ w.T))
    y.add_(1)  # results are the caller's own
    parameter = torch.nn.Parameter(w)
    torch.testing.assert_close(dense(x, parameter), torch.relu(x @ w.T))
    assert relay.array(x.to(torch.bfloat16)).dtype == "bfloat16"


def test_an_input_given_back_is_safe():
    model = relay.compile(relay.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), float32]) { %x }'))
    x = np.arange(4, dtype=np.float32)
    assert (model(x) == x).all()


def test_inputs_are_given_back_after_the_run(dense):
    for form in (np.asarray, relay.array):
        owners = list(arrays(2))
        alive = [weakref.ref(one) for one in owners]
        dense(*map(form, owners))
        del owners
        assert [one() for one in alive] == [None, None]


def test_many_threads_at_once(dense):
    problems = []

    def work(seed):
        x, w = arrays(1 + seed, seed)
        for _ in range(50):
            if not np.allclose(dense(x, w), np.maximum(x @ w.T, 0), rtol=1e-5, atol=1e-6):
                problems.append(seed)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    [w.start() for w in workers]
    [w.join() for w in workers]
    assert not problems


def test_python_m_relay_is_the_command_line():
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-m", "relay", "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.split()[1] == relay.__version__
    assert (
        not PROGRAM.exists()
        or subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout == done.stdout
    )


@pytest.mark.parametrize("executor", [None, "vm", "aot"])
def test_inputs_with_one_name(executor):
    """They are given by position."""
    xs = [relay.var("x", shape=(1,)) for _ in range(3)]
    mod = relay.module(relay.concatenate(xs, axis=0), xs)
    values = [np.array([i], np.float32) for i in range(3)]
    model = relay.compile(mod, **({"executor": executor} if executor else {}))
    assert model(*values).tolist() == [0, 1, 2] and relay.evaluate(mod, values).tolist() == [0, 1, 2]
    with pytest.raises(relay.CompileError, match="3 inputs are called `x`"):
        model(x=values[0])


def test_outputs_in_nested_tuples_are_numbered():
    x = relay.var("x", shape=(2,))
    out = relay.Tuple([x + x, relay.Tuple([relay.Tuple([relay.exp(x)]), x])])
    m = relay.GraphModule(relay.build(relay.module(out, [x])))
    m.run(x=np.array([0, 1], np.float32))
    assert m.get_num_outputs() == 3
    for number, expected in enumerate([[0, 2], [1, np.e], [0, 1]]):
        np.testing.assert_allclose(m.get_output(number), expected, rtol=1e-6)


def test_constants_as_attributes():
    x = relay.var("x", shape=(1, 3))
    wide = relay.broadcast_to(x, relay.const([2, 3], "int64"))
    assert relay.transform.infer_expr(wide).checked_type == relay.TensorType((2, 3))
    with pytest.raises(relay.CompileError, match="attribute 'axes' cannot be Var"):
        relay.transpose(x, relay.var("axes", shape=(2,), dtype="int64"))


def test_traces_of_passes(capsys):
    seen = []
    mod = relay.module(relay.const(1.0))
    with relay.transform.PassContext(trace=lambda mod, info, before: seen.append((info.name, before))):
        relay.transform.Sequential([relay.transform.InferType(), relay.transform.PrintIR("here")])(mod)
    names = ["sequential", "InferType", "InferType", "PrintIR", "PrintIR", "sequential"]
    assert seen == list(zip(names, [True, True, False, True, False, False], strict=True))
    assert "PrintIR(here)" in capsys.readouterr().err


def test_a_constant_is_read_by_another_constant_and_by_the_run():
    # ones_like(x) is computed when the program is built; sum(ones) reads it then, the product in every run.
    module = relay.parse(
        '#[version = "0.0.5"]\n'
        "def @main(%x: Tensor[(4, 5), float32]) {\n"
        "  %0 = ones_like(%x);\n"
        "  divide(sum(multiply(%x, %0)), sum(%0))\n"
        "}\n"
    )
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    assert np.asarray(relay.compile(module)(x)) == np.float32(9.5)


def test_public_modules_are_imported_from_the_package():
    names = "adt analysis build_module byoc collage compat dataflow_pattern differentiation errors expr".split()
    names += (
        "expr_functor frontend loops mixed_precision op params prelude scope_builder te testing text transform".split()
    )
    names += "ty type_functor values weights".split()
    for name in names:
        assert importlib.import_module(f"relay.{name}") is getattr(relay, name)
    program = "from relay.values import Data; import relay.expr_functor; relay.expr_functor.ExprMutator"
    subprocess.run([sys.executable, "-c", program], check=True)
