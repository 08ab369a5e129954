"""State in place: donated inputs, and results that use their memory, in every executor and by PyTorch."""

import resource
import sys

import numpy as np
import pytest
from memory import allocated

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
def test_a_result_lies_in_the_array_that_is_given_away(executor):
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


def test_saved_programs_keep_what_is_given_away(tmp_path):
    relay.compile(relay.parse(DECODE), donate=["keys"]).save(tmp_path / "decode.rart")
    x, keys = arrays()
    assert relay.load(tmp_path / "decode.rart")(x, np.array([[5]]), keys)[1] is keys


def test_what_cannot_be_given_away():
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
@pytest.mark.parametrize("executor", ["graph", "vm", "aot"])
def test_a_thousand_steps_allocate_nothing_and_copy_no_cache(executor):
    """A step touches one row: with a cache of 64 MiB a copy a step would take more than 5 seconds and show as
    faults."""
    rows = 1 << 18
    model = relay.compile(
        relay.parse(
            '#[version = "0.0.5"]\ndef @main(%x: Tensor[(1, 64), float32], %at: Tensor[(1, 1), int64], '
            f"%keys: Tensor[({rows}, 64), float32]) {{ let %new = scatter_nd(%keys, %at, tanh(%x)); %new }}"
        ),
        executor=executor, threads=1, donate={"keys": 0},
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
