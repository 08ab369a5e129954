"""Transposed convolutions are replaced by ordinary ones with the same results
(transform/algebra/transposed_to_conv2d.cpp)."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import relay
from relay.op import nn

# kernel, stride, padding, output padding, (height, width)
CASES = [
    ((4, 4), 2, 1, 0, (7, 9)),
    ((2, 2), 2, 0, 0, (8, 8)),
    ((3, 3), 2, 1, 1, (7, 6)),
    ((3, 3), 2, 1, 0, (5, 5)),  # an odd number of rows: the last block is cut
    ((5, 3), 2, 1, 1, (6, 6)),
    ((3, 3), 3, 0, 2, (4, 5)),
    ((1, 1), 2, 0, 0, (5, 4)),  # phases without any weight: left as it is
    ((7, 7), 4, 2, 3, (5, 5)),
    ((2, 2), 2, 1, 0, (6, 6)),  # padding as wide as the kernel reaches: left, the data would have to be cut
]
LEFT = [CASES[6], CASES[8]]


def build(case, shape, weight, bias):
    kernel, stride, pad, extra, _ = case
    x = relay.var("x", shape)
    y = nn.conv2d_transpose(
        x,
        weight if isinstance(weight, relay.Var) else relay.const(weight),
        channels=12,
        kernel_size=list(kernel),
        strides=[stride] * 2,
        padding=[pad] * 2,
        output_padding=[extra] * 2,
    )
    return relay.module(nn.relu(nn.bias_add(y, relay.const(bias))))


def draw(kernel, size):
    random = np.random.default_rng(0)
    weight = random.standard_normal((20, 12, *kernel)).astype(np.float32)
    data = random.standard_normal((2, 20, *size)).astype(np.float32)
    return weight, data, random.standard_normal(12).astype(np.float32)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("form", ["fixed", "symbolic", "variable weights"])
def test_against_torch(case, form):
    kernel, stride, pad, extra, size = case
    weight, data, bias = draw(kernel, size)
    symbolic, variable = form == "symbolic", form == "variable weights"
    of_program = relay.var("w", weight.shape) if variable else weight
    model = relay.compile(build(case, ("n", 20, "h", size[1]) if symbolic else data.shape, of_program, bias))
    want = F.conv_transpose2d(
        *map(torch.from_numpy, (data, weight, bias)), stride=stride, padding=pad, output_padding=extra
    ).relu()
    # Sums of up to 180 products of two numbers around one.
    np.testing.assert_allclose(model(*([data, weight] if variable else [data])), want.numpy(), atol=5e-5)
    if not symbolic and case not in LEFT:
        assert not any("conv2d_transpose" in g["name"] for g in model.report["groups"])
        # Phases are put together channels-last, where neighbours in the result are neighbours in a phase.
        if stride > 1:
            together = [g["rule"] for g in model.report["groups"] if "depth_to_space" in g["name"]]
            assert together and all("along i1" in rule for rule in together), together


@pytest.mark.parametrize("case", [case for case in CASES if case not in LEFT], ids=str)
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_planted_values_reach_what_they_are_multiplied_with(case, value):
    """The definition: each element of the data adds its window of weights to the result."""
    kernel, stride, pad, extra, size = case
    weight, data, bias = draw(kernel, size)
    data[1, 3, 2, 3] = value
    got = relay.compile(build(case, data.shape, weight, bias))(data)
    reached = np.zeros(got.shape[2:], bool)
    begin_y, begin_x = 2 * stride - pad, 3 * stride - pad
    reached[max(0, begin_y) : begin_y + kernel[0], max(0, begin_x) : begin_x + kernel[1]] = True
    assert np.isfinite(got[0]).all() and np.isfinite(got[1][:, ~reached]).all()
    assert not np.isfinite(got[1][:, reached]).all()


# kernel, strides, padding (befores, afters), output padding, sizes
RANKS = [
    ((2, 2, 2), (2, 2, 2), (0,) * 6, (0,) * 3, (4, 5, 6)),
    ((4, 4, 4), (2, 2, 2), (1,) * 6, (0,) * 3, (4, 5, 6)),
    ((3, 3, 3), (2, 2, 2), (1,) * 6, (1,) * 3, (3, 5, 4)),
    ((3, 3, 3), (2, 2, 2), (1,) * 6, (0,) * 3, (3, 4, 5)),  # the last blocks are cut
    ((3, 4, 2), (3, 2, 2), (0,) * 6, (0,) * 3, (3, 4, 5)),  # strides that differ
    ((4, 3), (2, 3), (1, 0, 1, 0), (0, 0), (6, 5)),
]


@pytest.mark.parametrize("case", RANKS, ids=str)
def test_ranks_and_strides_against_torch(case):
    kernel, strides, padding, extra, size = case
    axes = len(kernel)
    random = np.random.default_rng(0)
    weight = random.standard_normal((10, 7, *kernel)).astype(np.float32)
    data = random.standard_normal((2, 10, *size)).astype(np.float32)
    op, reference = [(nn.conv2d_transpose, F.conv_transpose2d), (nn.conv3d_transpose, F.conv_transpose3d)][axes - 2]
    options = {"strides": list(strides), "padding": list(padding), "output_padding": list(extra)}
    y = op(relay.var("x", data.shape), relay.const(weight), channels=7, kernel_size=list(kernel), **options)
    model = relay.compile(relay.module(y))
    want = reference(
        *map(torch.from_numpy, (data, weight)), stride=strides, padding=padding[:axes], output_padding=extra
    )
    # Sums of up to 640 products of two numbers around one.
    np.testing.assert_allclose(model(data), want.numpy(), atol=1e-4)
    assert not any("d_transpose" in g["name"] for g in model.report["groups"])


@pytest.mark.parametrize(
    "kernel, stride, pad, extra, dilation, groups",
    [((3, 3), 2, 1, 1, 1, 1), ((5, 2), 3, 1, 2, 1, 1), ((3, 3), 2, 0, 1, 2, 2), ((7, 7), 4, 2, 3, 1, 1)],
)
def test_gradients_with_output_padding_against_torch(kernel, stride, pad, extra, dilation, groups):
    random = np.random.default_rng(3)
    data = random.standard_normal((2, 4, 5, 6)).astype(np.float32)
    weight = random.standard_normal((4, 6 // groups, *kernel)).astype(np.float32)
    tensors = [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in (data, weight)]
    result = F.conv_transpose2d(
        *tensors, stride=stride, padding=pad, output_padding=extra, dilation=dilation, groups=groups
    )
    seed = random.standard_normal(tuple(result.shape)).astype(np.float32)
    want = torch.autograd.grad((result * torch.from_numpy(seed)).sum(), tensors)
    x, w = relay.var("x", data.shape), relay.var("w", weight.shape)
    y = nn.conv2d_transpose(
        x,
        w,
        channels=6,
        kernel_size=list(kernel),
        strides=[stride] * 2,
        padding=[pad] * 2,
        output_padding=[extra] * 2,
        dilation=[dilation] * 2,
        groups=groups,
    )
    loss = relay.op.sum(relay.op.multiply(y, relay.const(seed)))
    made = relay.value_and_grad(relay.IRModule({"main": relay.Function([x, w], loss)}), ["x", "w"])
    _, got = relay.compile(made)(data, weight)
    for one, expected in zip(got, want, strict=True):
        expected = expected.numpy()
        np.testing.assert_allclose(one, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("size", [(9, 8), (8, 11), (7, 7)])
def test_gradient_of_a_strided_convolution_of_variable_sizes(size):
    """The number of rows that no window reaches is known only at run time."""
    x, w = relay.var("x", shape=("n", 3, "h", "w")), relay.var("w", shape=(4, 3, 3, 3))
    y = nn.conv2d(x, w, strides=[2, 2], padding=[1, 1], channels=4, kernel_size=[3, 3])
    model = relay.compile(relay.grad(relay.Function([x, w], relay.op.sum(relay.op.multiply(y, y)))))
    random = np.random.default_rng(0)
    given = [random.standard_normal(s).astype(np.float32) for s in ((2, 3, *size), (4, 3, 3, 3))]
    tensors = [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in given]
    want = torch.autograd.grad((F.conv2d(*tensors, stride=2, padding=1) ** 2).sum(), tensors)
    for got, one in zip(model(*given), want, strict=True):
        np.testing.assert_allclose(got, one.numpy(), atol=2e-4)
