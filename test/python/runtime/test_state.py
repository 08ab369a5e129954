"""State in place: donated inputs, and results that use their memory, in every executor and by PyTorch."""

import resource
import sys

import numpy as np
import pytest
from forms import each_nth
from memory import allocated
from programs import cli, needs_program

import relay

DECODE = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 64), float32], %at: Tensor[(1, 1), int64], %keys: Tensor[(4096, 64), float32]) {
  let %new = scatter_nd(%keys, %at, tanh(%x));
  (nn.dense(nn.softmax(nn.dense(%x, %new)), transpose(%new)), %new)
}
"""


def arrays(rows=4096):
    draw = np.random.default_rng(0)
    return draw.normal(size=(1, 64)).astype("float32"), draw.normal(size=(rows, 64)).astype("float32")


@pytest.mark.parametrize("executor", ["graph", "vm", "aot"])
def test_a_result_lies_in_the_donated_array(executor):
    plain = relay.compile(relay.parse(DECODE), executor=executor, threads=1)
    model = relay.compile(relay.parse(DECODE), executor=executor, threads=1, donate={"keys": 1})
    assert model.report["donations"][0]["input"] == "keys"
    if executor != "vm":
        assert model.report["donations"][0]["in_place"]
    x, keys = arrays()
    mine = keys.copy()
    for step in range(3):
        at = np.array([[step * 7]])
        wanted, wanted_keys = plain(x, at, mine.copy())
        got, cache = model(x, at, mine)
        assert cache is mine
        np.testing.assert_array_equal(got, wanted)
        np.testing.assert_array_equal(cache, wanted_keys)
        np.testing.assert_allclose(mine[step * 7], np.tanh(x[0]), rtol=1e-6)


def test_saved_programs_keep_their_donations(tmp_path):
    relay.compile(relay.parse(DECODE), donate=["keys"]).save(tmp_path / "decode.rart")
    x, keys = arrays()
    assert relay.load(tmp_path / "decode.rart")(x, np.array([[5]]), keys)[1] is keys


def test_what_cannot_be_donated():
    module = relay.parse(DECODE)
    x, keys = arrays()
    model = relay.compile(module, donate="keys")
    keys.flags.writeable = False
    with pytest.raises(relay.CompileError, match="`keys` is donated, but its array is read-only"):
        model(x, np.array([[5]]), keys)
    both = relay.parse(
        '#[version = "0.0.5"]\ndef @main(%a: Tensor[(4), float32], %b: Tensor[(4), float32]) { (tanh(%a), exp(%b)) }'
    )
    model, memory = relay.compile(both, donate=["a", "b"]), np.ones(6, "float32")
    with pytest.raises(relay.CompileError, match="`a` is donated, but its memory overlaps input `b`"):
        model(memory[:4], memory[2:])
    with pytest.raises(relay.CompileError, match="the input `c` to donate does not exist"):
        relay.compile(both, donate=["c"])
    with pytest.raises(relay.CompileError, match="result 7 cannot take the input `a`"):
        relay.compile(both, donate={"a": 7})


def test_what_is_computed_elsewhere_is_copied_back_and_the_report_says_why():
    module = relay.parse('#[version = "0.0.5"]\ndef @main(%a: Tensor[(9, 9), float32]) { transpose(%a) }')
    model = relay.compile(module, donate={"a": 0})
    [said] = model.report["donations"]
    assert not said["in_place"] and "element by element" in said["why"]
    a = np.arange(81, dtype="float32").reshape(9, 9)
    wanted = a.T.copy()
    assert model(a) is a
    np.testing.assert_array_equal(a, wanted)


@pytest.mark.skipif(sys.platform != "linux", reason="asks glibc")
@pytest.mark.parametrize("executor", each_nth(3, ["graph", "vm", "aot"]))
def test_a_thousand_steps_allocate_nothing_and_copy_no_cache(executor):
    """A step touches one row: with a cache of 64 MiB a copy a step would take more than 5 seconds and show as
    faults."""
    rows = 1 << 18
    model = relay.compile(
        relay.parse(
            '#[version = "0.0.5"]\ndef @main(%x: Tensor[(1, 64), float32], %at: Tensor[(1, 1), int64], '
            f"%keys: Tensor[({rows}, 64), float32]) {{ let %new = scatter_nd(%keys, %at, tanh(%x)); %new }}"
        ),
        executor=executor, threads=1, donate={"keys": 0}, tier="full",
    )  # fmt: skip
    x, keys = arrays(rows)
    wanted = keys.copy()
    ats = [np.array([[(step * 997) % rows]]) for step in range(1000)]
    for at in ats[:20]:
        assert model(x, at, keys) is keys
    before, faults = allocated(), resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for at in ats:
        assert model(x, at, keys) is keys
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults
    assert allocated() - before < 1 << 16
    assert faults < keys.nbytes // 4096 // 4  # a copy of the cache alone would touch more new pages
    for at in ats:
        wanted[at[0, 0]] = np.tanh(x[0])
    np.testing.assert_allclose(keys, wanted, rtol=1e-6)


# --- sessions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("executor", ["graph", "vm", "aot"])
def test_a_session_keeps_its_state(executor):
    """Two sessions of one model, each equal to a program that passes the state by hand."""
    model = relay.compile(relay.parse(DECODE), executor=executor, threads=1, donate={"keys": 1})
    plain = relay.compile(relay.parse(DECODE), executor=executor, threads=1)
    x, _ = arrays()
    first, second = model.session(), model.session()
    assert [port.name for port in first.inputs] == ["x", "at"] and len(first.outputs) == 1
    by_hand = np.zeros((4096, 64), "float32")
    for step in range(3):
        at = np.array([[step * 7]])
        wanted, by_hand = plain(x, at, by_hand.copy())
        np.testing.assert_array_equal(first(x, at=at), wanted)
        second(2 * x, at)
    np.testing.assert_array_equal(first.state["keys"], by_hand)
    np.testing.assert_allclose(second.state["keys"][7], np.tanh(2 * x[0]), rtol=1e-6)


def test_a_state_is_saved_restored_and_reset():
    model = relay.compile(relay.parse(DECODE), donate={"keys": 1})
    x, keys = arrays()
    at = np.array([[5]])
    session = model.session()
    session.state["keys"] = keys
    saved = session.snapshot()
    wanted = session(x, at)
    assert session(2 * x, at).shape == wanted.shape and not np.array_equal(session.state["keys"], saved["keys"])
    session.restore(saved)
    np.testing.assert_array_equal(session(x, at), wanted)
    np.testing.assert_array_equal(keys, arrays()[1])  # the session has a copy
    session.reset()
    session(x, at)
    assert np.count_nonzero(session.state["keys"].any(axis=1)) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="asks glibc")
@pytest.mark.parametrize("executor", each_nth(3, ["graph", "vm", "aot"]))
def test_a_thousand_steps_of_a_session_allocate_nothing(executor):
    options = {"executor": executor, "threads": 1, "donate": {"keys": 1}, "tier": "full"}
    session = relay.compile(relay.parse(DECODE), **options).session()
    x, _ = arrays()
    ats = [np.array([[(step * 997) % 4096]]) for step in range(1000)]
    for at in ats[:20]:
        session(x, at)
    before = allocated()
    for at in ats:
        session(x, at)
    assert allocated() - before < 1 << 16


def test_a_state_takes_its_sizes_from_the_first_run():
    text = """#[version = "0.0.5"]
    def @main(%x: Tensor[(n, 4), float32], %h: Tensor[(n, 4), float32]) { add(%x, %h) }"""
    session = relay.compile(relay.parse(text), donate={"h": 0}).session()
    assert session.state["h"] is None
    session(np.ones((3, 4), "float32"))
    session(np.ones((3, 4), "float32"))
    np.testing.assert_array_equal(session.state["h"], np.full((3, 4), 2))
    with pytest.raises(relay.InputError):
        session(np.ones((2, 4), "float32"))
    session.reset()
    session(np.ones((2, 4), "float32"))
    assert session.state["h"].shape == (2, 4)


def test_what_a_session_refuses():
    with pytest.raises(relay.InputError, match="the model has no state"):
        relay.compile(relay.parse(DECODE), donate=["keys"]).session()
    session = relay.compile(relay.parse(DECODE), donate={"keys": 1}).session()
    x, keys = arrays()
    with pytest.raises(relay.InputError, match=r"the state `keys` is .*\(4096, 64\).* but the array is float32\[3\]"):
        session.state["keys"] = np.zeros(3, "float32")
    with pytest.raises(relay.InputError, match="the session has no state `values`"):
        session.state["values"] = keys
    with pytest.raises(relay.InputError, match="the model has no input `keys`"):
        session(x=x, at=np.array([[1]]), keys=keys)
    with pytest.raises(relay.InputError, match="the snapshot has no state `keys`"):
        session.restore({})
    saved = session.snapshot()
    with pytest.raises(relay.CompileError, match="out of range"):
        session(x, np.array([[4096]]))
    with pytest.raises(relay.InputError, match="the state was lost when a run failed"):
        session(x, np.array([[1]]))
    session.restore(saved)
    session(x, np.array([[1]]))


@needs_program
def test_the_command_line_keeps_state_in_a_file(tmp_path):
    program, artifact, state = tmp_path / "decode.relay", tmp_path / "decode.rart", tmp_path / "state.npz"
    program.write_text(DECODE)
    cli("compile", program, "--donate", "keys=1", "-o", artifact)
    for at in (3, 5):
        done = cli("run", artifact, "--state", state, "--input", f"at={at}", "--input", "x=ones")
    assert f"wrote the state (1 array) to {state}" in done.stderr
    kept = np.load(state)["keys"]
    assert set(np.flatnonzero(kept.any(axis=1))) == {3, 5}
    done = cli("run", program, "--state", state, "--donate", "keys=1", "--executor", "vm")
    assert done.returncode == 0
    done = cli("run", program, "--state", state)
    assert done.returncode == 1 and "--state needs a model with state" in done.stderr
    done = cli("run", program, "--donate", "keys=2")
    assert "result 2 cannot take the input `keys`: it does not exist" in done.stderr


def test_a_snapshot_that_does_not_fit_changes_nothing():
    both = relay.parse(
        '#[version = "0.0.5"]\n'
        "def @main(%a: Tensor[(2), float32], %b: Tensor[(3), float32]) { (add(%a, 1f), add(%b, 1f)) }"
    )
    session = relay.compile(both, donate={"a": 0, "b": 1}).session()
    session()
    with pytest.raises(relay.InputError, match="the state `b` is"):
        session.restore({"a": np.full(2, 5, "float32"), "b": np.zeros(4, "float32")})
    np.testing.assert_array_equal(session.snapshot()["a"], np.ones(2))
    session()
    np.testing.assert_array_equal(session.state["b"], np.full(3, 2))
