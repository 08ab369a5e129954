"""Complex numbers within a graph: Fourier transforms, rotations, arithmetic; exported and by torch.compile."""

import pytest
from forms import each_nth

import relay

torch = pytest.importorskip("torch")
import relay.torch  # noqa: E402

fft, AUTO = torch.fft, torch.export.Dim.AUTO
ROTATION = torch.polar(torch.ones(4, 4), torch.arange(16.0).reshape(4, 4))

# Functions of x (2, 4, 8).
FUNCTIONS = {
    "over several axes": lambda x: fft.fftn(x, dim=(1, 2)).real,
    "of what a cast made complex": lambda x: fft.fftn(x.to(torch.complex64), dim=(1, 2)).real,
    "half a transform over several axes": lambda x: torch.view_as_real(fft.rfftn(x, dim=(0, 2))),
    "there and back": lambda x: fft.irfft(fft.rfft(x)),
    "there and back, of an odd size": lambda x: fft.irfft(fft.rfft(x[..., :7]), n=7),
    "back, of numbers whose first and last are not real": lambda x: fft.irfft(torch.complex(x, 2 * x)),
    "back over two axes": lambda x: fft.irfft2(fft.rfft2(x) * 2),
    "orthonormal": lambda x: fft.fft2(x, norm="ortho").imag,
    "divided on the way there": lambda x: fft.ifft(x, norm="forward").imag,
    "a filter": lambda x: fft.ifft2(fft.fft2(x) * torch.view_as_complex(torch.ones(4, 8, 2))).real,
    "a rotation": lambda x: torch.view_as_real(torch.view_as_complex(x.reshape(2, 4, 4, 2)) * ROTATION).flatten(2),
    "a rotation by angles": lambda x: (torch.complex(x, x) * torch.polar(x.abs(), x)).imag,
    "power": lambda x: (fft.fft(x).conj() * fft.fft(x)).real,
    "sums": lambda x: (fft.fft(x) + fft.fft(x * 2) * 0.5 - 1 - x).abs(),
    "moved": lambda x: fft.fft(x)[:, 1:].transpose(1, 2).unsqueeze(0).reshape(2, -1).real,
}


class Of(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def assert_close(got, wanted):
    assert got.shape == wanted.shape and got.dtype == wanted.dtype
    assert torch.allclose(got, wanted, rtol=1e-5, atol=1e-5 * wanted.abs().max().item())


@pytest.mark.parametrize("name", each_nth(3, FUNCTIONS))
def test_functions(name):
    torch.manual_seed(0)
    torch._dynamo.reset()
    network, x = Of(FUNCTIONS[name]), torch.randn(2, 4, 8)
    assert_close(relay.compile(relay.from_pytorch(network, (x,)))(x), network(x))
    assert_close(torch.compile(network, backend="relay", options={"fallback": "error"})(x), network(x))


def test_sizes_that_vary():
    network = Of(lambda x: fft.ifft(fft.fftn(x, dim=(1, 2)), dim=1, norm="ortho").real)
    mod = relay.from_pytorch(network, (torch.randn(2, 4, 8),), dynamic_shapes=({0: AUTO, 1: AUTO},))
    model = relay.compile(mod)
    for sizes in ((2, 4), (3, 9), (1, 1)):
        x = torch.randn(*sizes, 8)
        assert_close(model(x), network(x))


def test_inputs_results_and_gradients_of_a_graph():
    """In any layout, also where a graph of gradients takes what another gave."""
    torch._dynamo.reset()

    def function(x, y):
        return fft.fft(x).transpose(1, 2) * y, fft.fft(x).abs().sum(1)

    x, y = torch.randn(2, 4, 8, requires_grad=True), torch.randn(2, 4, 8, dtype=torch.complex64).transpose(1, 2).conj()
    results = []
    for run in (function, torch.compile(function, backend="relay", options={"fallback": "error"})):
        made, sizes = run(x, y)
        results.append([made, sizes, *torch.autograd.grad(sizes.sum(), [x])])
    for got, wanted in zip(*results, strict=True):
        assert_close(got, wanted)


class Turned(torch.nn.Module):
    """Complex numbers go in, by name, come out, and are a buffer that a call changes."""

    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(2, 3, dtype=torch.complex64))

    def forward(self, x, angle):
        self.last.copy_(x * torch.polar(torch.ones_like(angle), angle))
        return self.last + x, self.last.abs(), None, fft.fft(angle)


def turned(x, angle):
    y = x * torch.polar(torch.ones_like(angle), angle)
    return y, y + x, y.abs(), (), fft.fft(angle)


@pytest.mark.parametrize("executor", ["vm", "aot", "debug"])
def test_complex_inputs_and_results_of_a_program(executor, tmp_path):
    torch.manual_seed(0)
    module = relay.from_pytorch(Turned(), (torch.zeros(2, 3, dtype=torch.complex64), torch.zeros(2, 3)))
    assert [str(one.type_annotation) for one in module["main"].params] == [
        "Tensor[(2, 3, 2), float32]", "Tensor[(2, 3), float32]", "Tensor[(2, 3, 2), float32]"]  # fmt: skip
    x, angle = torch.randn(3, 2, dtype=torch.complex64).t().conj(), torch.randn(2, 3)
    given = [x, angle, torch.zeros(2, 3, dtype=torch.complex64)]
    pairs = [torch.view_as_real(one.resolve_conj()) if one.is_complex() else one for one in given]
    if executor == "debug":
        runs = [relay.evaluate(module, given)]
    else:
        model = relay.compile(module, executor=executor)
        model.save(tmp_path / "turned.rart")
        loaded = relay.load(tmp_path / "turned.rart")
        runs = [model(*given), model(*pairs), loaded(*given), model(*(one.resolve_conj().numpy() for one in given))]
    for results in runs:
        for got, wanted in zip(results, turned(x, angle), strict=True):
            assert got == wanted if isinstance(wanted, tuple) else assert_close(torch.as_tensor(got), wanted) is None


def test_one_complex_result_of_sizes_that_vary():
    network = Of(lambda x: fft.fft(x, dim=0) * 2j)
    model = relay.compile(relay.from_pytorch(network, (torch.randn(4, 3),), dynamic_shapes=({0: AUTO},)))
    for size in (1, 5, 8):
        x = torch.randn(size, 3)
        assert_close(model(x), network(x))
