"""Storage types: floats of 8, 6 and 4 bits, integers of 4 and 2, as arrays of ml_dtypes; every code, both ways."""

import ml_dtypes
import numpy as np
import pytest

import relay

FLOATS = ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]
FLOATS += ["float8_e4m3b11fnuz", "float8_e4m3", "float8_e3m4"]
FLOATS += ["float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"]
INTEGERS = ["int4", "uint4", "int2", "uint2"]
ALL = FLOATS + INTEGERS


def kind(name):
    return getattr(ml_dtypes, name)


def codes(name):
    bits = 2 if name.endswith("int2") else 4 if name.endswith("int4") else int(name.removeprefix("float")[0])
    return np.arange(2**bits, dtype=np.uint8).view(kind(name))


def both(call, *values):
    """The evaluator's result and the compiled program's, which are the same bits."""
    module = relay.module(call)
    slow, fast = relay.evaluate(module, list(values)), relay.compile(module)(*values)
    assert slow.dtype == fast.dtype and slow.tobytes() == fast.tobytes(), (slow, fast)
    return fast


@pytest.mark.parametrize("name", ALL)
def test_every_code_is_its_number(name):
    value = codes(name)
    got = both(relay.cast(relay.var("x", shape=("n",), dtype=name), "float32"), value)
    assert np.array_equal(got, value.astype(np.float32), equal_nan=True)


@pytest.mark.parametrize("name", ALL)
def test_every_number_is_its_code(name):
    numbers = codes(name).astype(np.float32)
    if name in INTEGERS or not np.isnan(numbers).any():
        assert np.array_equal(both(relay.cast(relay.var("x", shape=("n",)), name), numbers), codes(name))
        return
    got = both(relay.cast(relay.var("x", shape=("n",)), name), numbers)
    same = codes(name).astype(np.float32)
    finite = np.isfinite(numbers)
    assert np.array_equal(got.astype(np.float32)[finite], same[finite])
    assert np.isnan(got.astype(np.float32)[np.isnan(numbers)]).all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", [n for n in FLOATS if n != "float8_e8m0fnu"])
def test_numbers_are_rounded_as_by_ml_dtypes(name, dtype):
    random = np.random.default_rng(1)
    numbers = (random.standard_normal(4000) * 2.0 ** random.integers(-20, 8, 4000)).astype(dtype)
    most = float(ml_dtypes.finfo(kind(name)).max)
    expected = np.clip(numbers.astype(np.float64), -most, most).astype(kind(name))
    got = both(relay.cast(relay.var("x", shape=(4000,), dtype=dtype), name), numbers)
    assert np.array_equal(got.astype(np.float32), expected.astype(np.float32))


def test_what_exceeds_the_greatest():
    numbers = np.array([1e9, -1e9, np.inf, -np.inf, np.nan], "float32")

    def cast(name, **attributes):
        call = relay.cast(relay.var("x", shape=(5,)), name, **attributes)
        return both(call, numbers).astype(np.float32)

    assert np.array_equal(cast("float8_e4m3fn"), [448, -448, 448, -448, np.nan], equal_nan=True)
    assert np.isnan(cast("float8_e4m3fn", saturate=False)).all()
    assert np.array_equal(cast("float8_e5m2", saturate=False)[:4], [np.inf, -np.inf, np.inf, -np.inf])
    assert np.array_equal(cast("int4"), [7, -8, 7, -8, 0])


def test_they_are_moved_and_packed():
    value = np.arange(-8, 8).astype(ml_dtypes.int4).reshape(4, 4)
    x = relay.var("x", shape=(4, 4), dtype="int4")
    moved = relay.reshape(relay.transpose(relay.concatenate([x, x], axis=0)), (2, -1))
    assert np.array_equal(both(moved, value), np.concatenate([value, value]).T.reshape(2, -1))
    packed = both(relay.storage.pack(x), value)
    assert packed.dtype == np.uint8 and packed.shape == (4, 2)
    assert packed[0, 0] == (int(value[0, 0]) & 15) | (int(value[0, 1]) & 15) << 4
    back = relay.storage.unpack(relay.var("p", shape=(4, 2), dtype="uint8"), dtype="int4")
    assert np.array_equal(both(back, packed), value)


@pytest.mark.parametrize("name", ALL)
def test_others_refuse_them(name):
    with pytest.raises(relay.CompileError, match="has no arithmetic") as error:
        relay.compile(relay.module(relay.nn.relu(relay.var("x", shape=(2,), dtype=name))))
    assert "cast(.., dtype=" in str(error.value)
    with pytest.raises(relay.CompileError, match="has no arithmetic"):
        relay.compile(relay.module(relay.zeros((2,), name)))


@pytest.mark.parametrize("name", ALL)
def test_text_and_artifact_keep_them(name, tmp_path):
    weight = codes(name)
    module = relay.module(relay.cast(relay.const(weight), "float32"))
    again = relay.parse(module.astext())
    assert np.array_equal(relay.evaluate(again, []), weight.astype(np.float32), equal_nan=True)
    x = relay.var("x", shape=weight.shape, dtype=name)
    model = relay.compile(relay.module(relay.reshape(x, (1, -1))))
    model.save(str(tmp_path / "model.rart"))
    assert np.array_equal(relay.load(str(tmp_path / "model.rart"))(weight)[0].view(np.uint8), weight.view(np.uint8))


def test_weights_of_eight_bits():
    random = np.random.default_rng(2)
    weight = (random.standard_normal((16, 32)) * 0.2).astype(ml_dtypes.float8_e4m3fn)
    value = random.standard_normal((4, 32)).astype(np.float32)
    x = relay.var("x", shape=(4, 32))
    model = relay.compile(relay.module(relay.nn.dense(x, relay.cast(relay.const(weight), "float32"))))
    assert np.allclose(model(value), value @ weight.astype(np.float32).T, rtol=1e-5, atol=1e-5)
