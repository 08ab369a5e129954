"""Arrays of bools that Relay did not make: any byte except 0 is true, whatever reads it."""

import numpy as np
import pytest

import relay

BYTES = np.array([0, 1, 2, 255, 128, 3, 0, 64, 6], np.uint8)
X, Y = BYTES.view(np.bool_), np.roll(BYTES, 1).view(np.bool_)
PROGRAMS = {
    "and": "logical_and(%x, %y)",
    "or": "logical_or(%x, %y)",
    "exclusive or": "logical_xor(%x, %y)",
    "not": "logical_not(%x)",
    "equal": "equal(%x, %y)",
    "choice": "where(%x, %y, logical_not(%y))",
    "floats": 'cast(%x, dtype="float32")',
    "bytes": 'cast(%x, dtype="int8")',
    "sum": 'sum(cast(%x, dtype="int32"))',
    "all": "(all(%x), any(%x), max(%x), min(%x))",
    "moved": "(concatenate((%x, %y)), reshape(%x, newshape=[3, 3]), reverse(%x, axis=0))",
    "sorted": "(argsort(%x), argwhere(%x))",
    "branch": 'if (reshape(strided_slice(%x, begin=[3], end=[4]), newshape=[])) { cast(%x, dtype="int32") } '
    'else { cast(%y, dtype="int32") }',
}


def of(body: str):
    return relay.parse(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(9), bool], %y: Tensor[(9), bool]) {{ {body} }}')


def leaves(results) -> list:
    return [np.asarray(one) for one in (results if isinstance(results, tuple) else (results,))]


def assert_same(got, want):
    for one, other in zip(leaves(got), leaves(want), strict=True):
        assert one.dtype == other.dtype and one.tobytes() == other.tobytes()


def wanted(module):
    return relay.compile(module)(BYTES != 0, np.roll(BYTES, 1) != 0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_executors(name):
    module = of(PROGRAMS[name])
    want = wanted(module)
    assert_same(relay.evaluate(module, [X, Y]), want)
    for executor in ("compiled", "vm", "aot"):
        for level in (0, 3):
            assert_same(relay.compile(module, executor=executor, opt_level=level)(X, Y), want)


@pytest.mark.parametrize("name", ["choice", "floats", "sum"])
def test_constants_and_saved_programs(name, tmp_path):
    module = of(PROGRAMS[name])
    made = relay.compile(module)
    made.save(tmp_path / "model.rart")
    assert_same(relay.load(tmp_path / "model.rart")(X, Y), wanted(module))
    call = relay.Call(relay.Function(module["main"].params, module["main"].body), [relay.const(X), relay.const(Y)])
    for level in (0, 2):
        assert_same(relay.compile(relay.module(call), opt_level=level)(), wanted(module))


def test_tensors_of_pytorch():
    torch = pytest.importorskip("torch")
    x, y = (torch.from_numpy(one.view(np.uint8).copy()).view(torch.bool) for one in (X, Y))
    module = of(PROGRAMS["choice"])
    assert_same(relay.compile(module)(x, y), wanted(module))
