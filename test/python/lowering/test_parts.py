"""Eliminated concatenations: their inputs are computed in place in the result (lower/plan/views.h)."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from forms import each_nth

import relay
from relay.op import nn

RANDOM = np.random.default_rng(0)


class Layers:
    """Layers of a network for relay and, in float64, for torch; weights are the same each time."""

    def __init__(self, torch_dtype=None):
        self.dtype, self.random = torch_dtype, np.random.default_rng(1)

    def array(self, *shape):
        values = (self.random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
        return torch.from_numpy(values).to(self.dtype) if self.dtype else relay.const(values)

    def conv(self, x, channels, outputs, kernel=1, pad=0, stride=1, groups=1):
        w = self.array(outputs, channels // groups, kernel, kernel)
        if self.dtype:
            return F.relu(F.conv2d(x, w, stride=stride, padding=pad, groups=groups))
        return nn.relu(nn.conv2d(x, w, padding=[pad, pad], strides=[stride, stride], groups=groups))

    def max_pool(self, x, kernel=3):
        if self.dtype:
            return F.max_pool2d(x, kernel, 1, kernel // 2)
        return nn.max_pool2d(x, pool_size=[kernel, kernel], padding=[kernel // 2, kernel // 2])

    def tanh(self, x):
        return x.tanh() if self.dtype else relay.tanh(x)

    def dense(self, x, inputs, outputs):
        w = self.array(outputs, inputs)
        return F.relu(x @ w.T) if self.dtype else nn.relu(nn.dense(x, w))

    def cat(self, parts, axis=1):
        return torch.cat(parts, axis) if self.dtype else relay.concatenate(parts, axis=axis)


def branches(b, x):
    """Two branches, and a third that reads the second; the result is padded with zeros, and by a pool with -inf."""
    one, two = b.conv(x, 8, 33), b.conv(x, 8, 61, kernel=3, pad=1)
    whole = b.cat([one, two, b.conv(two, 61, 122, kernel=3, pad=1)])
    return b.conv(b.cat([b.conv(whole, 216, 40, kernel=3, pad=1), b.max_pool(whole)]), 256, 16, kernel=3, pad=1)


def grouped(b, x):
    """A branch from another one's channels, in groups."""
    one = b.conv(x, 8, 61)
    return b.max_pool(b.cat([one, b.conv(one, 61, 122, groups=61)]))


def dense_block(b, x):
    """Each layer reads all earlier ones."""
    whole = b.conv(x, 8, 64)
    for i in range(4):
        new = b.conv(b.conv(whole, 64 + 32 * i, 128), 128, 32, kernel=3, pad=1)
        whole = b.cat([whole, new])
    return b.conv(whole, 192, 32)


def twice(b, x):
    one = b.conv(x, 8, 48)
    return b.conv(b.cat([one, one, b.conv(one, 48, 32)]), 128, 32, kernel=3, pad=1)


def rows(b, x):
    """Along the rows of images."""
    one = b.conv(x, 8, 64)
    return b.conv(b.cat([one, b.max_pool(one)], axis=2), 64, 24, kernel=3, pad=1)


def given(b, x):
    one = b.conv(x, 8, 56)
    return b.conv(b.cat([x, one, b.conv(one, 56, 32)]), 96, 32, kernel=3, pad=1)


def skip(b, x):
    """Down, up and across."""
    high = b.conv(x, 8, 64, kernel=3, pad=1)
    low = b.conv(b.conv(high, 64, 128, kernel=3, pad=1, stride=2), 128, 32)
    if b.dtype:
        up = F.interpolate(low, scale_factor=2, mode="nearest")
    else:
        up = nn.upsampling(low, scale_h=2.0, scale_w=2.0, method="nearest_neighbor")
    return b.conv(b.cat([b.conv(up, 32, 64), high]), 128, 32, kernel=3, pad=1)


def in_place(b, x):
    """tanh uses the memory of its data, which a convolution read before; the second time it cannot."""
    one = b.conv(x, 8, 40)
    two = b.conv(one, 40, 40, kernel=3, pad=1)
    three = b.conv(b.tanh(one), 40, 40, kernel=3, pad=1)
    four = b.tanh(b.max_pool(three))
    return b.conv(b.cat([two, three, b.conv(four, 40, 48), b.conv(b.tanh(four), 40, 48)]), 176, 32, kernel=3, pad=1)


def vectors(b, x):
    one, two = b.dense(x, 40, 64), b.dense(x, 40, 96)
    return b.dense(b.cat([one, two]), 160, 32)


IMAGE = (2, 8, 20, 26)
# network, shape of the input, concatenations and copies that are left
CASES = {
    "branches": (branches, IMAGE, 0, 0),
    "grouped": (grouped, IMAGE, 0, 0),
    "dense block": (dense_block, IMAGE, 0, 0),
    "twice": (twice, IMAGE, 0, 1),
    "rows": (rows, IMAGE, 0, 0),
    "given": (given, IMAGE, 0, 1),
    "skip": (skip, IMAGE, 0, 0),
    "in place": (in_place, IMAGE, 0, 0),
    "vectors": (vectors, (3, 40), 0, 0),
}


def left(model):
    names = [g["name"] for g in model.report["groups"]]
    return sum("concatenate" in n for n in names), sum(n.startswith("copy") for n in names)


@pytest.mark.parametrize("batch", ["constant", "symbolic"])
@pytest.mark.parametrize("name", each_nth(3, CASES))
def test_what_is_concatenated_is_computed_in_its_place(name, batch):
    network, shape, concatenations, copies = CASES[name]
    x = relay.var("x", shape if batch == "constant" else ("n", *shape[1:]))
    model = relay.compile(relay.module(network(Layers(), x)))
    assert left(model) == (concatenations, copies), [g["name"] for g in model.report["groups"]]
    data = RANDOM.standard_normal(shape).astype(np.float32)
    exact = network(Layers(torch.float64), torch.from_numpy(data).double()).numpy()
    got = model(data, threads=1)
    # Up to ten layers of float32 sums: 4 ULP of the largest value in the mean, for each.
    assert np.sqrt(np.mean((got - exact) ** 2)) <= 40 * 2.0**-23 * np.abs(exact).max()
    for threads in (2, 3):
        assert np.array_equal(model(data, threads=threads), got)


def test_what_the_caller_gets_is_stored_by_itself():
    b, x = Layers(), relay.var("x", IMAGE)
    one = b.conv(x, 8, 64)
    whole = b.cat([one, b.conv(one, 64, 64)])
    model = relay.compile(relay.module(relay.Tuple([one, b.conv(whole, 128, 32), whole])))
    data = RANDOM.standard_normal(IMAGE).astype(np.float32)
    first, _, last = model(data)
    assert np.array_equal(np.asarray(first), np.asarray(last)[:, :64])


def test_values_that_run_the_direct_form():
    """An infinity in the data: the direct convolution writes the same part again."""
    b, x = Layers(), relay.var("x", (1, 32, 40, 40))
    one, two = b.conv(x, 32, 64, kernel=3, pad=1), b.conv(x, 32, 32)
    model = relay.compile(relay.module(b.conv(b.cat([one, two]), 96, 32)))
    assert any("Winograd" in g["rule"] for g in model.report["groups"]) and left(model) == (0, 0)
    data = RANDOM.standard_normal((1, 32, 40, 40)).astype(np.float32)
    data[0, 3, 20, 20] = np.inf
    t = Layers(torch.float64)
    exact = torch.from_numpy(data).double()
    one, two = t.conv(exact, 32, 64, kernel=3, pad=1), t.conv(exact, 32, 32)
    exact = t.conv(t.cat([one, two]), 96, 32).numpy()
    got = model(data)
    assert np.array_equal(np.isfinite(got), np.isfinite(exact)) and not np.isfinite(exact).all()


def test_what_lives_long_is_copied_where_memory_is_short():
    """The skip connection is small, and all of the result would be alive through the widest layers."""
    b, x = Layers(), relay.var("x", (1, 8, 64, 64))
    skip = b.conv(x, 8, 32)
    y = b.conv(skip, 32, 256)
    for _ in range(3):
        y = b.conv(y, 256, 256)
    model = relay.compile(relay.module(b.conv(b.cat([skip, b.conv(y, 256, 96)]), 128, 32)))
    assert left(model) == (0, 1), [g["name"] for g in model.report["groups"]]


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize(("height", "width"), [(3, 3), (3, 5), (5, 3), (5, 5)])
def test_padded_images_of_few_pixels(layout, height, width):
    """A concatenation that is read through padding: also parts of one pixel are written between the halo."""
    rng = np.random.default_rng(0)
    image = rng.standard_normal((1, 16, height, width)).astype(np.float32)
    order = (0, 1, 2, 3) if layout == "NCHW" else (0, 2, 3, 1)
    x = relay.var("x", shape=tuple(image.shape[k] for k in order))
    small = nn.relu(nn.max_pool2d(x, pool_size=(3, 3), strides=(2, 2), layout=layout))
    mean = nn.avg_pool2d(x, pool_size=(3, 3), strides=(2, 2), layout=layout)
    joined = relay.concatenate([small, mean], axis=layout.index("C"))
    program = relay.module(nn.avg_pool2d(joined, pool_size=(3, 3), padding=(1, 1, 1, 1), layout=layout))
    got = np.asarray(relay.compile(program)(image.transpose(order)))
    t = torch.from_numpy(image)
    parts = [F.relu(F.max_pool2d(t, 3, 2)), F.avg_pool2d(t, 3, 2)]
    wanted = F.avg_pool2d(torch.cat(parts, 1), 3, 1, 1, count_include_pad=False).numpy()
    np.testing.assert_allclose(got, wanted.transpose(order), rtol=0, atol=1e-6)
