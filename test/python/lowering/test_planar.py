"""Convolutions to few outputs over channels-first images: lanes run along the rows
(lower/algorithms/planar/planar.h)."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from targets import rules_for

import relay
from relay.op import nn

RANDOM = np.random.default_rng(0)
PLANAR = "stored by channels"


def weight(*shape):
    return (RANDOM.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)


def planar(module, folder):
    return rules_for("zen4", module, folder).count(PLANAR)


def conv(x, w, **options):
    return nn.conv2d(x, relay.const(w), **options)


def check(model, data, exact, layers):
    got = model(data, threads=1)
    # Sums of up to 200 float32 terms a layer: 4 ULP of the largest value in the mean, for each.
    assert np.sqrt(np.mean((got - exact) ** 2)) <= layers * 4 * 2.0**-23 * np.abs(exact).max()
    for threads in (2, 3):
        assert np.array_equal(model(data, threads=threads), got)


# (input, weight, strides, pads before and after, dilation)
CASES = {
    "5 to 5": ((3, 5, 12, 51), (5, 5, 3, 3), (1, 1), (1, 1, 1, 1), 1),
    "whole vectors, no padding": ((1, 3, 18, 34), (4, 3, 3, 3), (1, 1), (0, 0, 0, 0), 1),
    "a row of one vector": ((1, 2, 7, 16), (2, 2, 3, 3), (1, 1), (1, 1, 1, 1), 1),
    "stride of rows": ((2, 3, 21, 40), (2, 3, 3, 5), (2, 1), (1, 2, 0, 2), 1),
    "dilation": ((1, 2, 26, 35), (2, 2, 5, 5), (1, 1), (4, 4, 4, 4), 2),
    "1 x 1": ((2, 3, 9, 50), (2, 3, 1, 1), (1, 1), (0, 0, 0, 0), 1),
    "padding on one side": ((1, 4, 11, 70), (3, 4, 2, 2), (1, 1), (0, 1, 1, 0), 1),
    "one channel to one": ((2, 1, 20, 37), (1, 1, 3, 3), (1, 1), (1, 1, 1, 1), 1),
    "9 to 12": ((2, 9, 14, 32), (12, 9, 3, 3), (1, 1), (1, 1, 1, 1), 1),
    "long sums": ((1, 12, 10, 48), (4, 12, 5, 5), (1, 1), (2, 2, 2, 2), 1),
}


@pytest.mark.parametrize("name", CASES)
def test_computes_the_same(name, tmp_path):
    shape, of_weight, strides, pads, dilation = CASES[name]
    w, bias = weight(*of_weight), weight(of_weight[0], 1)[:, 0]
    options = {"strides": list(strides), "padding": list(pads), "dilation": [dilation] * 2}
    x = relay.var("x", shape)
    module = relay.module(relay.tanh(nn.bias_add(conv(x, w, **options), relay.const(bias))))
    assert planar(module, tmp_path) == 1
    model = relay.compile(module)
    data = RANDOM.standard_normal(shape).astype(np.float32)
    top, left, bottom, right = pads
    padded = F.pad(torch.from_numpy(data).double(), (left, right, top, bottom))
    exact = F.conv2d(padded, torch.from_numpy(w).double(), torch.from_numpy(bias).double(), strides, 0, dilation)
    check(model, data, exact.tanh().numpy(), 1)


@pytest.mark.parametrize("batch", [1, 3])
def test_chain_with_residual_then_channels_last(batch, tmp_path):
    """Two planar convolutions, the second reads a halo; the others read what they wrote through padding, pools
    included.
    """
    a, b, c = weight(3, 3, 3, 3), weight(3, 3, 3, 3), weight(40, 3, 3, 3)
    x = relay.var("x", ("n", 3, 24, 40))
    first = nn.relu(conv(x, a, padding=[1, 1]))
    second = relay.add(conv(first, b, padding=[1, 1]), x)
    wide = conv(second, c, padding=[1, 1], strides=[2, 2])
    pool = nn.max_pool2d(second, pool_size=[3, 3], strides=[2, 2], padding=[1, 1])
    module = relay.module(relay.concatenate(relay.Tuple([wide, pool]), axis=1))
    assert planar(module, tmp_path) == 2
    model = relay.compile(module)
    data = RANDOM.standard_normal((batch, 3, 24, 40)).astype(np.float32)
    t, (wa, wb, wc) = torch.from_numpy(data).double(), (torch.from_numpy(w).double() for w in (a, b, c))
    two = F.conv2d(F.conv2d(t, wa, padding=1).relu(), wb, padding=1) + t
    exact = torch.cat([F.conv2d(two, wc, stride=2, padding=1), F.max_pool2d(two, 3, 2, 1)], 1)
    check(model, data, exact.numpy(), 3)


@pytest.mark.parametrize("padding", [2, 0])
def test_images_that_are_stored_channels_last_are_copied(padding, tmp_path):
    a, b, c = weight(4, 2, 3, 3), weight(4, 4, 5, 5), weight(4, 1, 3, 3)
    x = relay.var("x", (2, 2, 33, 60))
    first = nn.relu(conv(x, a, strides=[2, 2]))
    second = relay.tanh(conv(first, b, padding=[padding] * 2))
    if padding:
        second = relay.add(first, second)
    module = relay.module(conv(second, c, groups=4, padding=[1, 1]))
    assert planar(module, tmp_path) == 1
    model = relay.compile(module)
    data = RANDOM.standard_normal((2, 2, 33, 60)).astype(np.float32)
    wa, wb, wc = (torch.from_numpy(w).double() for w in (a, b, c))
    one = F.conv2d(torch.from_numpy(data).double(), wa, stride=2).relu()
    two = F.conv2d(one, wb, padding=padding).tanh() + (one if padding else 0)
    check(model, data, F.conv2d(two, wc, padding=1, groups=4).numpy(), 3)


def test_not_where_lanes_would_be_gathered_or_channels_fill_them(tmp_path):
    for shape, of_weight, strides in [
        ((1, 3, 20, 64), (2, 3, 3, 3), [1, 2]),
        ((1, 3, 20, 64), (16, 3, 3, 3), [1, 1]),
        ((1, 3, 20, 6), (2, 3, 3, 3), [1, 1]),
    ]:
        x = relay.var("x", shape)
        assert planar(relay.module(conv(x, weight(*of_weight), strides=strides)), tmp_path) == 0


@pytest.mark.parametrize("kernel, stride", [((1, 1), 2), ((3, 3), 2), ((5, 5), 1)])
@pytest.mark.parametrize("inputs", [1, 20])
def test_one_output_takes_no_lanes_along_the_batch(inputs, kernel, stride):
    """A symbolic batch looks long, but its images lie far apart: 200 times slower than lanes along anything else."""
    w = weight(1, inputs, *kernel)
    pad = [kernel[0] // 2] * 2
    x = relay.var("x", ("n", inputs, 30, 33))
    model = relay.compile(relay.module(conv(x, w, strides=[stride] * 2, padding=pad)))
    assert not any("along n" in g["rule"] or "along i0" in g["rule"] for g in model.report["groups"]), model.report[
        "groups"
    ]
    data = RANDOM.standard_normal((3, inputs, 30, 33)).astype(np.float32)
    exact = F.conv2d(torch.from_numpy(data).double(), torch.from_numpy(w).double(), stride=stride, padding=pad)
    check(model, data, exact.numpy(), 1)
