"""Results that are rounded to bytes or to bfloat16, for each value that is special: halves, limits, infinities, NaN."""

import ml_dtypes
import numpy as np
import pytest
from targets import MASKED

import relay
from relay import op

LENGTH = 4096  # whole vectors, and many of them


def spread(values):
    return np.resize(np.asarray(values, "float32"), LENGTH)


@pytest.mark.parametrize("zero", [0, 7, 128])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("target", MASKED)
def test_bytes(target, dtype, zero):
    """Halves go to the even integer, then the zero point is added and the sum saturated; NaN becomes 0."""
    zero = min(zero, np.iinfo(dtype).max)
    random = np.random.default_rng(5)
    limits = [-1e30, 1e30, 2.0**31, -(2.0**31), 2.0**32, 3e9, np.inf, -np.inf, np.nan, 0.0, -0.0, 254.5, 255.5, -128.5]
    halves = np.arange(-300, 300) + 0.5
    x = spread([*limits, *halves, *random.uniform(-400, 400, 777)])
    module = relay.module(op.cast(op.round(relay.var("x", shape=x.shape)) + relay.const(np.float32(zero)), dtype))
    with np.errstate(invalid="ignore"):
        rounded = np.rint(x) + np.float32(zero)
    want = np.nan_to_num(np.clip(rounded, np.iinfo(dtype).min, np.iinfo(dtype).max)).astype(dtype)
    np.testing.assert_array_equal(relay.compile(module, target=target)(x), want)


@pytest.mark.parametrize("target", MASKED)
def test_bfloat16(target):
    """Rounds halves to even. Subnormal numbers are kept with numerics="ieee", and may be zero otherwise."""
    random = np.random.default_rng(6)
    bits = random.integers(0, 1 << 32, LENGTH, dtype=np.uint64).astype("uint32")
    bits[:8] = [0x3F808000, 0x3F818000, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x80000000, 0x00007FFF, 0x007FFFFF]
    x = bits.view("float32")
    module = relay.module(op.cast(relay.var("x", shape=x.shape), "bfloat16"))
    with np.errstate(invalid="ignore"):
        want = x.astype(ml_dtypes.bfloat16).astype("float32")
    exact, flushed = (
        np.asarray(relay.compile(module, target=target, numerics=n)(x)).astype("float32") for n in ("ieee", "fp32")
    )
    np.testing.assert_array_equal(exact, want)
    subnormal = np.abs(x) < np.finfo("f").tiny
    assert subnormal.sum() >= 3
    np.testing.assert_array_equal(flushed[~subnormal], want[~subnormal])
    np.testing.assert_array_equal(np.where(flushed == 0, np.copysign(want, want), flushed)[subnormal], want[subnormal])


@pytest.mark.parametrize("target", MASKED)
@pytest.mark.parametrize("length", [1 << 16, 1003, 48])
def test_bfloat16_is_widened(target, length):
    """Every pattern of 16 bits, those of NaN and subnormal numbers included."""
    bits = np.arange(1 << 16, dtype="uint16")[-length:]
    module = relay.module(op.cast(relay.var("x", shape=(length,), dtype="bfloat16"), "float32"))
    got = np.asarray(relay.compile(module, target=target)(bits.view(ml_dtypes.bfloat16)))
    np.testing.assert_array_equal(got.view("uint32"), bits.astype("uint32") << 16)
