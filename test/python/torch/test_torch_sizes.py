"""Dynamic sizes: a single compilation by torch.compile(dynamic=True), and one of an import with dynamic sizes, compared
with eager PyTorch at two sizes. No graph falls back."""

import pytest
from forms import each_nth

import relay

torch = pytest.importorskip("torch")
import relay.torch  # noqa: E402
import sympy  # noqa: E402
from relay.frontend.pytorch.conversion import name_of_computed  # noqa: E402
from torch.utils._sympy.functions import ToFloat, TruncToInt  # noqa: E402

F, fft, nn = torch.nn.functional, torch.fft, torch.nn
AUTO = torch.export.Dim.AUTO

# Functions of x (2, 3, 10, 12) and (3, 3, 7, 9).
FUNCTIONS = {
    "normalised rows without weights": lambda x: F.layer_norm(x, x.shape[-1:]),
    "normalised images without weights": lambda x: F.layer_norm(x, x.shape[-2:]),
    "rolled along two axes": lambda x: x.roll((1, -2), (2, 3)),
    "rolled by more than there is": lambda x: x.roll(25, -1),
    "rolled in row-major order": lambda x: x.roll(5),
    "rolled by half": lambda x: x.roll(x.shape[-1] // 2, -1),
    "padded to a multiple": lambda x: F.pad(x, (0, -x.shape[-1] % 8)),
    "padded to multiples, by a value": lambda x: F.pad(x, (0, -x.shape[-1] % 8, 1, -x.shape[-2] % 8), value=3.0),
    "padded to a multiple by its edge": lambda x: F.pad(x, (0, -x.shape[-1] % 4, 0, 1), mode="replicate"),
    "padded to a multiple by its mirror image": lambda x: F.pad(x, (0, -x.shape[-1] % 4, 2, 1), mode="reflect"),
    "padded around": lambda x: F.pad(x, (1, 2, -1, 1), mode="circular"),
    "half a transform": lambda x: fft.rfft(x).abs(),
    "there and back to an even size": lambda x: fft.irfft(fft.rfft(x)),
    "there and back": lambda x: fft.irfft2(fft.rfft2(x, norm="ortho"), s=x.shape[-2:]),
    "diagonals": lambda x: ((x + 1).diagonal(1, -2, -1), (x + 1).diagonal(-1, -2, -1), x[0, 0].trace()),
    "running maxima": lambda x: x.round().cummax(-1),
    "running minima": lambda x: x.round().cummin(2),
    "running sums of exponentials": lambda x: x.logcumsumexp(-1),
    "most frequent elements": lambda x: (2 * x).round().mode(2, keepdim=True),
    "medians": lambda x: (x.median(-1), x.median(1, keepdim=True), x.median()),
    "variances": lambda x: (x.var(), x.std(-1), x.var((1, 2), correction=3), x.var(0, correction=0)),
    "averages that stand over": lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
    "averages that stand over, with a divisor": lambda x: F.avg_pool2d(x, 3, 2, 1, True, divisor_override=5),
    "averages with a divisor": lambda x: F.avg_pool2d(x, 3, 2, 1, divisor_override=5),
    "resized by a factor that floats round": lambda x: F.interpolate(x, scale_factor=0.7, mode="bilinear"),
    "resized by it twice": lambda x: F.interpolate(
        F.interpolate(x, scale_factor=0.7), scale_factor=1.7, mode="bilinear"
    ),
    "positions of maxima": lambda x: F.max_pool2d(x, 2, return_indices=True),
    "positions of maxima that stand over": lambda x: F.max_pool2d(x, 3, 2, 1, 2, True, return_indices=True),
    "positions of maxima of volumes": lambda x: F.max_pool3d(x, (1, 2, 3), 2, return_indices=True),
    "smoothed images": lambda x: F.interpolate(x, size=(5, 6), mode="bilinear", antialias=True),
    "smoothed half images": lambda x: F.interpolate(x, scale_factor=0.5, mode="bicubic", antialias=True),
    "larger images": lambda x: F.interpolate(x, scale_factor=1.5, mode="bicubic"),
    "larger images by their nearest pixels": lambda x: F.interpolate(x, scale_factor=1.25, mode="nearest"),
}
# Functions of data and a kernel, all of whose sizes vary.
CONVOLUTIONS = {
    "along one axis": (F.conv1d, [((2, 4, 9), (5, 4, 3)), ((3, 5, 8), (4, 5, 2))]),
    "of images in steps": (
        lambda x, w: F.conv2d(x, w, stride=2, padding=1, dilation=2),
        [((2, 4, 9, 10), (6, 4, 3, 5)), ((3, 6, 8, 7), (5, 6, 2, 3))],
    ),
    "in groups": (
        lambda x, w: F.conv2d(x, w, groups=2),
        [((7, 4, 9, 10), (6, 2, 3, 5)), ((5, 6, 9, 8), (4, 3, 3, 2))],
    ),
    "of volumes": (F.conv3d, [((2, 4, 6, 7, 8), (9, 4, 5, 3, 1)), ((3, 5, 4, 5, 6), (2, 5, 2, 3, 1))]),
    "transposed": (
        lambda x, w: F.conv_transpose2d(x, w, stride=2),
        [((2, 4, 5, 6), (4, 8, 3, 7)), ((3, 5, 7, 6), (5, 4, 2, 3))],
    ),
}


class Of(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


@pytest.fixture
def compilations(monkeypatch):
    """A list with one entry per module that torch.compile has compiled."""
    made, compile_module = [], relay.torch.dynamo.compile_module

    def counting(*args, **kwargs):
        made.append(compile_module(*args, **kwargs))
        return made[-1]

    monkeypatch.setattr(relay.torch.dynamo, "compile_module", counting)
    torch.manual_seed(0)
    torch._dynamo.reset()
    return made


def assert_equal(got, wanted):
    got, wanted = ([*one] if isinstance(one, tuple | list) else [one] for one in (got, wanted))
    for one, other in zip(got, wanted, strict=True):
        if isinstance(other, tuple):
            assert_equal(one, other)
            continue
        torch.testing.assert_close(torch.as_tensor(one), other, rtol=2e-5, atol=2e-5, equal_nan=True)


def check(function, inputs):
    """At each of the inputs, whose sizes differ."""
    fast = torch.compile(function, backend="relay", dynamic=True, options={"fallback": "error"})
    for given in inputs:
        assert_equal(fast(*given), function(*given))
    sizes = tuple({axis: AUTO for axis in range(one.dim())} for one in inputs[0])
    model = relay.compile(relay.from_pytorch(Of(function), inputs[0], dynamic_shapes={"inputs": sizes}))
    for given in inputs:
        flat = torch.utils._pytree.tree_leaves(function(*given))
        assert_equal(model(*given), flat[0] if len(flat) == 1 else flat)


@pytest.mark.parametrize("name", each_nth(6, FUNCTIONS))
def test_functions(name, compilations):
    check(FUNCTIONS[name], [(torch.randn(2, 3, 10, 12),), (torch.randn(3, 3, 7, 9),)])
    assert len(compilations) == 1


@pytest.mark.parametrize("name", each_nth(3, CONVOLUTIONS))
def test_convolutions(name):
    torch.manual_seed(0)
    torch._dynamo.reset()
    function, sizes = CONVOLUTIONS[name]
    check(function, [tuple(torch.randn(*one) for one in both) for both in sizes])


@pytest.mark.parametrize(
    "function, reason",
    [
        (lambda x, w: F.conv2d(x, w, groups=w.shape[0]), "groups"),
        (lambda x, w: F.conv2d(x, w, padding="same"), "padding"),
    ],
)
def test_convolutions_whose_attributes_vary_are_left_to_pytorch(function, reason):
    torch._dynamo.reset()
    x, w = torch.randn(2, 4, 9, 9), torch.randn(4, 1, 3, 3)
    x = x if reason == "groups" else x[:, :1]
    with pytest.warns(relay.torch.FallbackWarning, match=reason):
        got = torch.compile(function, backend="relay", dynamic=True)(x, w)
    assert_equal(got, function(x, w))


def gradients(run, inputs):
    inputs = [one.detach().clone().requires_grad_() for one in inputs]
    result = run(*inputs)
    return [result, *torch.autograd.grad(result.sin().sum(), inputs)]


@pytest.mark.parametrize("dynamic", each_nth(2, [True, False]))
@pytest.mark.parametrize(
    "function, sizes",
    each_nth(
        3,
        [
            pytest.param(lambda x: F.avg_pool2d(x, (3,)), [(3, 9, 9)]),
            pytest.param(lambda x: F.avg_pool2d(x, (3, 3), (1, 1), (1,), True, False, 2), [(2, 3, 9, 9)]),
            pytest.param(lambda x: F.avg_pool2d(x, 3, 1, (1,)), [(2, 3, 9, 9)]),
            pytest.param(lambda x, w: F.conv2d(x, w), [(2, 4, 9, 9), (4, 4, 3, 3)]),
            pytest.param(lambda x, w: F.conv3d(x, w, stride=2), [(2, 4, 6, 6, 6), (4, 4, 3, 3, 3)]),
        ],
    ),
)
@pytest.mark.filterwarnings("ignore::relay.torch.FallbackWarning")
def test_gradients_of_windows(function, sizes, dynamic):
    torch.manual_seed(0)
    torch._dynamo.reset()
    inputs = [torch.randn(*one) for one in sizes]
    fast = torch.compile(function, backend="relay", dynamic=dynamic)
    assert_equal(gradients(fast, inputs), gradients(function, inputs))


@pytest.mark.slow
def test_a_convolution_of_volumes_learns_from_two_sizes():
    torch.manual_seed(0)
    torch._dynamo.reset()
    layer = nn.Conv3d(4, 4, 3, 2)
    fast = torch.compile(layer, backend="relay")
    for extent in (6, 7):
        x = torch.randn(2, 4, extent, extent, extent)
        assert_equal(*(torch.autograd.grad(run(x).sin().sum(), [*layer.parameters()]) for run in (fast, layer)))


def test_variances_of_few_elements():
    torch._dynamo.reset()

    def function(x):
        return x.var(), x.std(0), x.var(1, correction=2)

    fast = torch.compile(function, backend="relay", dynamic=True)
    for sizes in ((0, 5), (1, 1), (5, 0), (2, 2)):
        assert_equal(fast(torch.ones(*sizes)), function(torch.ones(*sizes)))


@pytest.mark.parametrize(
    "mode, factor",
    [
        ("bilinear", 0.7),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in (("nearest", (1.3, 0.45)), ("bicubic", 1 / 3))),
    ],
)
def test_factors_whose_sizes_floats_round(mode, factor):
    torch.manual_seed(0)
    convolution = nn.Conv2d(2, 3, 3, stride=2, padding=1)

    def function(x):
        y = F.interpolate(x, scale_factor=factor, mode=mode)
        return convolution(y), y.flatten(2).mean(-1) * y.shape[2]

    shapes = {"inputs": ({2: AUTO, 3: AUTO},)}
    model = relay.compile(relay.from_pytorch(Of(function), (torch.randn(1, 2, 20, 30),), dynamic_shapes=shapes))
    for sizes in ((20, 30), (17, 43), (64, 9)):
        x = torch.randn(1, 2, *sizes)
        assert_equal(model(x), function(x))


def test_names_of_computed_sizes():
    s, t = sympy.symbols("s t", integer=True, positive=True)
    formulas = [TruncToInt(factor * ToFloat(of)) for factor in (0.7, 0.7 + 1e-16, 7e-5) for of in (s, t, s + t, s - t)]
    assert len({name_of_computed(one) for one in formulas}) == len(formulas)
    assert name_of_computed(formulas[0]) == "TruncToInt_Mul2_0p7_ToFloat_s"
