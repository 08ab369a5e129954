"""Dilated convolutions: Winograd's form of the interleaved images, and skipped taps in the padding."""

import ml_dtypes
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from targets import rules_for

import relay
from relay.op import nn

# kernel, stride, dilation, padding (befores, afters), channels in and out, (height, width)
CASES = [
    ((3, 3), 1, (2, 2), (2, 2, 2, 2), 32, 32, (20, 20)),
    ((3, 3), 1, (4, 4), (4, 4, 4, 4), 64, 48, (31, 30)),
    ((3, 3), 1, (2, 3), (2, 3, 2, 3), 32, 40, (13, 18)),  # another distance along each axis
    ((3, 3), 1, (1, 4), (1, 4, 1, 4), 32, 32, (14, 14)),
    ((3, 3), 1, (3, 3), (0, 0, 0, 0), 32, 32, (19, 16)),
    ((3, 3), 1, (3, 3), (5, 1, 0, 4), 32, 32, (15, 16)),  # another padding on each side
    ((5, 5), 1, (2, 2), (4, 4, 4, 4), 32, 32, (16, 16)),
    ((3, 3), 1, (12, 12), (12, 12, 12, 12), 128, 64, (38, 40)),
    ((3, 3), 1, (24, 24), (24, 24, 24, 24), 128, 64, (30, 28)),
    ((3, 3), 1, (36, 36), (36, 36, 36, 36), 128, 64, (20, 20)),  # all taps but one lie in the padding
    ((3, 3), 1, (70, 70), (70, 70, 70, 70), 40, 17, (9, 11)),  # wider than a halo may be
    ((3, 3), 1, (6, 6), (9, 7, 8, 10), 24, 24, (7, 5)),  # some results read nothing but padding
    ((3, 3), 2, (9, 9), (9, 9, 9, 9), 32, 32, (21, 22)),
    ((5, 3), 3, (4, 7), (8, 7, 8, 7), 32, 20, (16, 15)),
    ((4, 1), 1, (10, 1), (15, 0, 15, 0), 32, 20, (16, 15)),
    ((1, 3), 1, (1, 16), (0, 16, 0, 16), 256, 64, (1, 24)),  # one row, as of audio
    ((3, 3), 1, (16, 16), (16, 16, 16, 16), 3, 20, (24, 24)),
    ((3, 3), 1, (16, 16), (16, 16, 16, 16), 40, 2, (24, 24)),
]


def build(case, shape, weight, bias):
    _, stride, dilation, pad, *_ = case
    x = relay.var("x", shape)
    y = nn.conv2d(x, weight, strides=[stride] * 2, padding=list(pad), dilation=list(dilation))
    return relay.module(nn.relu(nn.bias_add(y, relay.const(bias))))


def draw(case):
    kernel, _, _, _, channels, outputs, size = case
    random = np.random.default_rng(0)
    weight = (random.standard_normal((outputs, channels, *kernel)) / np.sqrt(channels)).astype(np.float32)
    data = random.standard_normal((2, channels, *size)).astype(np.float32)
    return weight, data, random.standard_normal(outputs).astype(np.float32)


def by_torch(case, data, weight, bias):
    _, stride, dilation, (top, left, bottom, right), *_ = case
    x = F.pad(torch.from_numpy(data), (left, right, top, bottom))
    return F.conv2d(x, *map(torch.from_numpy, (weight, bias)), stride=stride, dilation=dilation).relu().numpy()


def rules(model):
    return " ".join(g["rule"] for g in model.report["groups"])


UNKNOWN = [(CASES[i], given) for i in (1, 5, 8, 9, 11, 13) for given in ("batch", "size")]


@pytest.mark.parametrize(("case", "given"), [(case, "known") for case in CASES] + UNKNOWN, ids=str)
def test_against_torch(case, given):
    weight, data, bias = draw(case)
    shape = {"known": data.shape, "batch": ("n", *data.shape[1:]), "size": (*data.shape[:2], "h", "w")}[given]
    model = relay.compile(build(case, shape, relay.const(weight), bias))
    # Sums of up to 1152 products, of standard deviation 3.
    np.testing.assert_allclose(model(data), by_torch(case, data, weight, bias), atol=5e-5)


def test_rules():
    """Images in one another are taken, and taps in the padding left out, where that pays; not with an infinity times
    zero.
    """
    left_out = "taps in the padding left out"
    forms = {1: "of 4 x 4 interleaved images", 7: "of 12 x 12 interleaved images", 8: left_out, 9: left_out}
    for case, form in forms.items():
        weight, data, bias = draw(CASES[case])
        made = build(CASES[case], data.shape, relay.const(weight), bias)
        assert form in rules(relay.compile(made))
    weight[0, 0, 0, 0] = np.inf
    made = relay.compile(build(CASES[case], data.shape, relay.const(weight), bias))
    assert left_out not in rules(made) and np.isnan(made(data)[:, 0]).all() and np.isfinite(made(data)[:, 1:]).all()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64", "int32"])
def test_taps_in_the_padding_are_left_out_of_finite_weights(dtype, tmp_path):
    """Holds for every type: integers are finite."""
    weight = np.ones((64, 64, 3, 3)).astype(getattr(ml_dtypes, dtype, dtype))
    x = relay.var("x", shape=(1, 64, 7, 7), dtype=dtype)

    def is_left_out():
        out = "int32" if dtype == "int32" else "float64" if dtype == "float64" else "float32"
        conv = nn.conv2d(x, relay.const(weight), strides=[2, 2], padding=[1, 1], out_dtype=out)
        return "taps in the padding left out" in rules_for("haswell", relay.module(conv), tmp_path, strict=True)

    assert is_left_out()
    if dtype != "int32":
        weight[0, 0, 0, 0] = np.nan
        assert not is_left_out()


@pytest.mark.parametrize("dilation", [2, 4, 12, 36])
@pytest.mark.parametrize("value", [np.inf, np.nan, 3e38])
def test_planted_values_stay_where_float32_arithmetic_puts_them(dilation, value):
    case = ((3, 3), 1, (dilation,) * 2, (dilation,) * 4, 64, 64, (40, 40))
    weight, data, bias = draw(case)
    data = data[:1]
    data[0, 5, 7, 9] = data[0, 3, 39, 39] = value
    got = relay.compile(build(case, data.shape, relay.const(weight), bias))(data)
    want = by_torch(case, data, weight, bias)
    assert (np.isnan(got) == np.isnan(want)).all() and (np.isinf(got) == np.isinf(want)).all()
    finite = np.isfinite(want)
    assert np.abs(got[finite] - want[finite]).max() <= 3e-6 * np.abs(want[finite]).max()
