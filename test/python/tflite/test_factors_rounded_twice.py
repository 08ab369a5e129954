"""Factors of TFLite's convolutions, of which the 31 bits and the power of two are rounded one after the other, against
the formula in unbounded integers. Sums are biases, so that they have all values of int32."""

import math

import numpy as np
import pytest
from writer import VALID, Model

import relay

CHANNELS = 4096


def twice(total, factor):
    """total * factor: halves up for the 31 bits, and away from zero for the power of two."""
    fraction, power = math.frexp(factor)
    multiplier = round(fraction * 2**31)
    if multiplier == 2**31:
        multiplier, power = multiplier // 2, power + 1
    product = ((total << max(power, 0)) * multiplier + (1 << 30)) >> 31
    shift = max(-power, 0)
    if shift == 0:
        return product
    half = 1 << (shift - 1)
    return (product + half) >> shift if product >= 0 else -((-product + half) >> shift)


def model(totals, scales, out_scale, out_zero, dtype):
    m = Model()
    x = m.input("x", [1, 1, 1, 1], "int8", scale=1.0, zero=7)
    w = m.constant("w", np.ones((CHANNELS, 1, 1, 1), np.int8), scale=scales, zero=0, axis=0)
    b = m.constant("b", totals, scale=scales, zero=0)
    y = m.tensor("y", [1, 1, 1, CHANNELS], dtype, scale=out_scale, zero=out_zero)
    m.outputs(m.op("CONV_2D", [x, w, b], [y], padding=VALID, stride_w=1, stride_h=1))
    return m.bytes()


@pytest.mark.parametrize("per_axis", [True, False])
# Factors from 2^-30 to 2^-1, and some above 1, whose products are shifted to the left.
@pytest.mark.parametrize(("least", "most"), [(-29.5, -1.5), (-12, -1.01), (-20, 3)])
def test_all_sums(per_axis, least, most):
    random = np.random.default_rng(int(per_axis))
    scales = np.exp2(random.uniform(least, most, CHANNELS if per_axis else 1)).astype(np.float32)
    scales[: min(8, len(scales))] = np.exp2(np.round(scales[: min(8, len(scales))] * 0 + (least + most) / 2))
    # Sums whose results are near the range of int8, their neighbours, halves, and extremes.
    limit = 2**31 - 1 if most < 0 else 2**27
    near = np.clip(random.uniform(-140, 140, CHANNELS) / scales, -limit, limit)
    totals = np.round(near).astype(np.int64)
    totals[::5] = np.clip(np.round(np.round(near[::5] * scales[::5] if per_axis else near[::5] * scales) + 0.5)
                          / (scales[::5] if per_axis else scales), -limit, limit)  # fmt: skip
    totals[:4] = [limit, -limit, 0, -1]
    totals = totals.astype(np.int32)
    got = np.asarray(relay.compile(model(totals, scales, 1.0, -3, "int8"))(np.full((1, 1, 1, 1), 7, np.int8)))
    factors = np.broadcast_to(scales.astype(np.float64), CHANNELS)
    want = [min(max(twice(int(t), f) - 3, -128), 127) for t, f in zip(totals, factors, strict=True)]
    np.testing.assert_array_equal(got.ravel(), want)
    assert len(set(want)) > 100
