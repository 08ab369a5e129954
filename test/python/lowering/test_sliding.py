"""Depthwise and neighbouring pointwise convolutions in one kernel, row by row (lower/algorithms/sliding)."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from targets import MASKED, groups_for, rules_for

import relay
from relay.op import nn

RANDOM = np.random.default_rng(0)


class Conv:
    def __init__(self, channels, outputs, kernel=1, stride=1, pad=0, groups=1, clip=False):
        inside = channels // groups * kernel * kernel
        self.weight = (RANDOM.standard_normal((outputs, channels // groups, kernel, kernel)) / np.sqrt(inside)).astype(
            np.float32
        )
        self.bias = (RANDOM.standard_normal(outputs) / 10).astype(np.float32)
        self.stride, self.pad, self.groups, self.clip = stride, pad, groups, clip

    def relay(self, x):
        options = {"strides": [self.stride] * 2, "padding": [self.pad] * 2, "groups": self.groups}
        y = nn.bias_add(nn.conv2d(x, relay.const(self.weight), **options), relay.const(self.bias))
        return relay.op.clip(y, a_min=0.0, a_max=6.0) if self.clip else y

    def torch(self, x):
        weight, bias = (torch.from_numpy(a).to(x.dtype) for a in (self.weight, self.bias))
        y = F.conv2d(x, weight, bias, self.stride, self.pad, groups=self.groups)
        return y.clamp(0, 6) if self.clip else y


def block(wide, out, size, kernel=3, stride=1, pad=1, narrow=None, residual=False):
    """(layers, input's shape, residual): an inverted residual block; without `narrow` there is no first product."""
    layers = [Conv(wide, wide, kernel, stride, pad, wide, clip=True), Conv(wide, out)]
    if narrow:
        layers.insert(0, Conv(narrow, wide, clip=True))
    return layers, (1, narrow or wide, size, size), residual


# The arrays between are above 2 MB, the largest L2 of the machines described.
CASES = {
    "expand, project": block(96, 16, 104, narrow=16),
    "residual": block(96, 16, 104, narrow=16, residual=True),
    "stride 2": block(96, 24, 113, narrow=16, stride=2),
    "window of 5, odd sizes": block(100, 20, 101, kernel=5, pad=2, narrow=13),
    "no padding": block(96, 16, 104, pad=0, narrow=16),
    "no first product": block(96, 16, 104),
    "no first product, stride 2": block(96, 33, 155, stride=2),
}


def network(name):
    layers, shape, residual = CASES[name]
    x = relay.var("x", shape)
    y = x
    for layer in layers:
        y = layer.relay(y)
    return relay.module(relay.add(x, y) if residual else y)


@pytest.mark.parametrize("name", CASES)
def test_blocks_become_one_kernel(name, tmp_path):
    assert rules_for("zen4", network(name), tmp_path).count("row by row") == 1


def test_products_on_tiles_do_not_slide(tmp_path):
    """Rows are computed by float32 multiply-adds, which take longer than the way of a short array through L3."""
    for target, count in {"sapphirerapids": 0, "sapphirerapids,-amx": 1}.items():
        rules = rules_for(target, network("stride 2"), tmp_path, precision="bf16")
        assert rules.count("row by row") == count, target


@pytest.mark.parametrize("target", MASKED)
@pytest.mark.parametrize("name", CASES)
def test_blocks_compute_the_same(name, target):
    layers, shape, residual = CASES[name]
    model = relay.compile(network(name), target=target)
    data = RANDOM.standard_normal(shape).astype(np.float32)
    exact = torch.from_numpy(data).double()
    for layer in layers:
        exact = layer.torch(exact)
    exact = (exact + torch.from_numpy(data) if residual else exact).numpy()
    got = model(data, threads=1)
    # Three layers of float32 sums of up to 100 terms: 4 ULP of the largest value in the mean.
    assert np.sqrt(np.mean((got - exact) ** 2)) <= 4 * 2.0**-23 * np.abs(exact).max()
    for threads in (2, 3):
        assert np.array_equal(model(data, threads=threads), got)


def test_what_another_layer_reads_is_stored(tmp_path):
    layers, shape, _ = CASES["expand, project"]
    x = relay.var("x", shape)
    first = layers[0].relay(x)
    both = relay.module(relay.Tuple([first, layers[2].relay(layers[1].relay(first))]))
    joined = [group["name"] for group in groups_for("zen4", both, tmp_path) if "row by row" in group["rule"]]
    assert len(joined) == 1 and joined[0].count("conv2d") == 2  # not the first product


def test_what_the_window_results_read_again_is_stored():
    """An addition after the depthwise convolution reads rows that the ring had long before."""
    layers, shape, _ = CASES["expand, project"]
    x = relay.var("x", shape)
    first = layers[0].relay(x)
    network = relay.module(layers[2].relay(relay.add(layers[1].relay(first), first)))
    model = relay.compile(network, target="zen2", strict=True)  # a schedule that cannot be built is an error
    data = RANDOM.standard_normal(shape).astype(np.float32)
    between = layers[0].torch(torch.from_numpy(data).double())
    exact = layers[2].torch(layers[1].torch(between) + between).numpy()
    assert np.sqrt(np.mean((model(data) - exact) ** 2)) <= 4 * 2.0**-23 * np.abs(exact).max()
