"""Operators of gradients that PyTorch does not decompose run in Relay's kernels, compared with eager PyTorch. No graph
falls back."""

import copy
import functools
import itertools
import math
import warnings

import pytest
from forms import each_nth

torch = pytest.importorskip("torch")
import relay.torch  # noqa: E402

nn, F = torch.nn, torch.nn.functional


class Of(nn.Module):
    """function(*modules, x)"""

    def __init__(self, function, *modules):
        super().__init__()
        self.function, self.inner = function, nn.ModuleList(modules)

    def forward(self, x):
        return self.function(*self.inner, x)


def image(*sizes):
    return torch.randn(*(sizes or (2, 4, 8, 8)), requires_grad=True)


def matrices():
    return (torch.randn(3, 4, 4) + 2 * torch.eye(4)).requires_grad_()


def sampled(axes, how, padding, corners):
    """Places in and around a picture or volume of one channel, by a layer, so that the grid has a gradient too."""
    data, places = ((4, 8), (3, 5)) if axes == 2 else ((4, 2, 8), (2, 3, 2))
    layer = nn.Linear(math.prod(data), math.prod(places) * axes)

    def function(inner, x):
        grid = (1.7 * inner(x.flatten(1)).tanh()).reshape(2, *places, axes)
        picture = x.reshape(2, -1, *data)
        return F.grid_sample(picture, grid, how, padding, corners)

    return Of(function, layer), image(2, math.prod(data))


HOW, PADDINGS = ["bilinear", "nearest", "bicubic"], ["zeros", "border", "reflection"]


def name_of(what, how, padding, corners):
    return f"a {what} read {how}, padded by {padding}, corners {corners}"


LAYERS = {
    "adaptive averages of other sizes": lambda: (nn.AdaptiveAvgPool2d(3), image()),
    "adaptive averages along one axis": lambda: (nn.AdaptiveAvgPool1d(4), image(4, 8)),
    "adaptive averages of volumes": lambda: (nn.AdaptiveAvgPool3d(2), image(1, 2, 4, 3, 5)),
    "adaptive maxima": lambda: (nn.AdaptiveMaxPool2d(4), image()),
    "adaptive maxima of other sizes": lambda: (nn.AdaptiveMaxPool2d((3, 5)), image()),
    "adaptive maxima of volumes": lambda: (nn.AdaptiveMaxPool3d((2, 3, 2)), image(1, 2, 4, 4, 5)),
    "averages that stand over": lambda: (nn.AvgPool2d(3, 2, 1, ceil_mode=True), image()),
    "averages without padding": lambda: (nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False), image()),
    "averages with a divisor": lambda: (nn.AvgPool2d(3, 2, divisor_override=5), image()),
    "averages of volumes": lambda: (nn.AvgPool3d(2), image(1, 2, 4, 4, 4)),
    "maxima of volumes": lambda: (nn.MaxPool3d(2), image(1, 2, 4, 4, 4)),
    "a convolution of volumes": lambda: (nn.Conv3d(2, 3, 3, 2, 1), image(2, 2, 5, 6, 7)),
    "a repeated edge": lambda: (nn.ReplicationPad2d((1, 2, 3, 0)), image()),
    "a ring": lambda: (nn.CircularPad2d(2), image()),
    "weights by direction and norm": lambda: (nn.utils.parametrizations.weight_norm(nn.Linear(8, 3)), image()),
    "a bilinear layer": lambda: (Of(lambda m, x: m(x, 2 * x), nn.Bilinear(8, 8, 3)), image(5, 8)),
    "distances": lambda: (Of(lambda x: torch.cdist(x, x.roll(1, 1) + 1)), image(2, 5, 4)),
    "distances by another norm": lambda: (Of(lambda x: torch.cdist(x, x + 1, p=3.0)), image(2, 5, 4)),
    "sums of bags": lambda: (nn.EmbeddingBag(7, 4, mode="sum"), torch.randint(0, 7, (3, 5))),
    "means of bags": lambda: (nn.EmbeddingBag(7, 4), torch.randint(0, 7, (3, 5))),
    **{
        name_of(what, how, padding, corners): functools.partial(sampled, axes, how, padding, corners)
        for (axes, what), how, padding, corners in itertools.product(
            [(2, "picture"), (3, "volume")], HOW, PADDINGS, [False, True]
        )
        if axes == 2 or (how == "bilinear" and padding != "border")
    },
    "a part by its places in memory": lambda: (Of(lambda x: (2 * x).as_strided((3, 2), (8, 3), 5)), image(4, 8)),
    "a mean over channels that lie side by side": lambda: (
        nn.AdaptiveAvgPool2d(1),
        image().detach().contiguous(memory_format=torch.channels_last).requires_grad_(),
    ),
    "determinants": lambda: (Of(torch.linalg.det), matrices()),
    "a determinant of a matrix that lies by columns": lambda: (Of(lambda x: torch.det(x.mT[0] * 2)), matrices()),
    "logarithms of determinants": lambda: (Of(lambda x: torch.stack(torch.linalg.slogdet(x))), matrices()),
    "square roots": lambda: (
        Of(lambda x: torch.linalg.cholesky_ex(x @ x.mT + torch.eye(4)).L),
        matrices(),
    ),
    "inverses": lambda: (Of(lambda x: torch.linalg.inv_ex(x).inverse), matrices()),
    "solutions": lambda: (Of(lambda x: torch.linalg.solve_ex(x, x[..., :2].sin()).result), matrices()),
    "solutions of a triangle": lambda: (
        Of(lambda x: torch.linalg.solve_triangular(x.triu() + 3 * torch.eye(4), x.cos(), upper=True)),
        matrices(),
    ),
    "a Fourier transform within": lambda: (Of(lambda x: torch.fft.fft2(x).real), image()),
}


# Each kind of reading and each padding, with one of the two meanings of corners in turn.
@pytest.mark.parametrize("name", each_nth(5, LAYERS))
def test_gradients(name):
    torch.manual_seed(0)
    torch._dynamo.reset()
    layer, x = LAYERS[name]()
    eager = copy.deepcopy(layer)
    with warnings.catch_warnings():
        warnings.simplefilter("error", relay.torch.FallbackWarning)
        fast = torch.compile(layer, backend="relay", options={"fallback": "error"})

        def gradients(module, run):
            result = run(x)
            weights = torch.randn(result.shape, generator=torch.Generator().manual_seed(1))
            sources = [one for one in [*module.parameters(), x] if one.requires_grad]
            return [result, *torch.autograd.grad((result * weights).sum(), sources)]

        pairs = zip(gradients(layer, fast), gradients(eager, eager), strict=True)
        for got, wanted in pairs:
            scale = wanted.abs().max().item()
            assert torch.allclose(got, wanted, rtol=1e-5, atol=1e-5 * scale), name


def test_products_of_groups():
    """Experts of transformers: a group without rows gets a gradient of zeros."""
    moe = pytest.importorskip("transformers.integrations.moe")
    assert moe is not None
    torch._dynamo.reset()
    ends = torch.tensor([5, 5, 12], dtype=torch.int32)
    x, weight = torch.randn(12, 8, requires_grad=True), torch.randn(3, 8, 4, requires_grad=True)

    def function(x, weight):
        return torch.ops.transformers.grouped_mm_fallback(x, weight, ends).sin()

    results = []
    for run in (function, torch.compile(function, backend="relay", options={"fallback": "error"})):
        made = run(x, weight)
        results.append([made, *torch.autograd.grad(made.sum(), [x, weight])])
    assert not results[0][2][1].any()
    for got, wanted in zip(*results, strict=True):
        assert torch.allclose(got, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_exported_bags(mode):
    """Outside of training the operator has another name."""
    table, starts = torch.randn(7, 4), torch.tensor([0, 3])
    run = Of(lambda x: torch.nn.functional.embedding_bag(x, table, starts, mode=mode))
    x = torch.randint(0, 7, (5,))
    torch.testing.assert_close(relay.compile(relay.from_pytorch(run, (x,)))(x), run(x))
