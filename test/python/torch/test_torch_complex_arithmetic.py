"""Operators on complex numbers compared with eager PyTorch: exported and by torch.compile, without a fallback."""

import math

import numpy as np
import pytest
from forms import each_nth

import relay

torch = pytest.importorskip("torch")
import relay.torch  # noqa: E402

F = torch.nn.functional
INDEX = torch.tensor([1, 0])

# Functions of z (4, 6), complex.
FUNCTIONS = {
    "angles": lambda z: (z.angle(), z.real.angle(), torch.polar(z.abs(), z.angle())),
    "exponentials": lambda z: (z.exp(), torch.exp(1j * z.real)),
    "logarithms": lambda z: (z.log(), z.log2(), z.log10()),
    "square roots": lambda z: (z.sqrt(), (z * z).sqrt()),
    "powers": lambda z: (z**2, z**-1, z**0.5, z**3, z**1.5, z**z, 2**z, (0 * z) ** 2.5, z.real**1j),
    "reciprocals": lambda z: (1 / z, z.reciprocal(), 1j / z.real),
    "arithmetic with real numbers": lambda z: (z.real * 1j, z.imag + z, 1 - z, 2j - z.real, torch.add(z, z, alpha=2)),
    "sums": lambda z: (z.sum(), z.sum(0), z.mean(), z.mean((0, 1), keepdim=True), z.cumsum(1)),
    "products of matrices": lambda z: (
        z @ z.mT,
        z @ z[0],
        z[0] @ z[1],
        z[None] @ z.mH[None],
    ),
    "products with real matrices": lambda z: (z @ torch.ones(6, 2).to(z.dtype), torch.mm(z, z.mT.conj())),
    "layers": lambda z: (F.linear(z, z), F.linear(z, z, z[:, 0]), torch.addmm(z[:, :4], z, z.mT)),
    "sums of products": lambda z: (
        torch.einsum("ij,kj->ik", z, z.conj()),
        torch.einsum("...ct,...et->...tce", z[None], z.conj()[None]),
        torch.vdot(z[0], z[1]),
    ),
    "padding": lambda z: F.pad(z, (1, 2, 0, 1)),
    "stacks": lambda z: (
        torch.stack([z, z.conj()]),
        torch.cat([z, z.real.to(z.dtype)], 1),
        *z.split(2, 1),
        *z.unbind(),
    ),
    "repeats": lambda z: (z.repeat(2, 1, 1), z.tile(1, 2), z.repeat_interleave(2, 0)),
    "indices": lambda z: (z[INDEX], z[:, [0, 2]], z[INDEX, INDEX], z.index_select(1, INDEX), z.diagonal(), z.tril()),
    "gathered": lambda z: z.gather(1, torch.arange(24).reshape(4, 6) % 6),
    "scattered": lambda z: (
        torch.zeros_like(z).scatter(0, torch.arange(24).reshape(4, 6) % 4, z),
        z.index_put((INDEX,), z[2], accumulate=True),
    ),
    "filled where a mask holds": lambda z: (z.masked_fill(z.real > 0, 0), z.masked_fill(z.real > 0, 2 - 1j)),
    "comparisons": lambda z: (z == z.flip(0), z != z.conj(), z == 0, (z - z) == 0j, (z / 0).isnan()),
    "filled": lambda z: (torch.ones_like(z) + z, z.new_full((2,), 1j) * z[0, 0]),
    "windows": lambda z: z.unfold(1, 3, 2),
    "norms": lambda z: (torch.linalg.vector_norm(z), z.norm(dim=1)),
}


class Of(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, z):
        return self.function(z)


def leaves(results):
    return [one.resolve_conj() for one in torch.utils._pytree.tree_leaves(results)]


def assert_close(got, wanted):
    for one, other in zip(leaves(got), leaves(wanted), strict=True):
        torch.testing.assert_close(one, other, rtol=2e-5, atol=2e-5)


def numbers(*shape):
    return torch.randn(*shape, dtype=torch.complex64)


@pytest.mark.parametrize("name", each_nth(3, FUNCTIONS))
def test_functions(name):
    torch.manual_seed(0)
    torch._dynamo.reset()
    function, z = FUNCTIONS[name], numbers(4, 6)
    assert_close(relay.compile(relay.from_pytorch(Of(function), (z,)))(z), function(z))
    assert_close(torch.compile(function, backend="relay", options={"fallback": "error"})(z), function(z))


@pytest.mark.parametrize("name", ["sqrt", "log", "angle", "exp"])
def test_on_the_axes(name):
    """Points with a part of 0, of either sign: the branch cut is along the negative real numbers."""
    parts = torch.tensor([-2.0, -0.0, 0.0, 3.0])
    z = torch.complex(*(one.flatten() for one in torch.meshgrid(parts, parts, indexing="ij")))
    function = getattr(torch, name)
    got = relay.compile(relay.from_pytorch(Of(function), (z,)))(z)
    for one, other in zip(*(torch.view_as_real(torch.as_tensor(x) + 0j) for x in (got, function(z))), strict=True):
        torch.testing.assert_close(one, other, equal_nan=True)


@pytest.mark.parametrize("name", ["exp", "sqrt", "reciprocal"])
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_special_values(name, dtype):
    """Infinities, NaN and magnitudes whose exponential overflows before a part does, against NumPy."""
    most = math.log(torch.finfo(dtype).max)
    reals = [0.0, -1.0, math.inf, -math.inf, math.nan, 1.003 * most, 1.01 * most, 2.2 * most, -1.01 * most]
    imaginary = [0.0, -0.0, 1.0, -2.0, math.pi / 2, 3.14159, 1e30, math.inf, -math.inf, math.nan]
    pairs = [(a, b) for a in reals for b in imaginary if (a, b) != (0, 0) or name != "reciprocal"]  # of 0 all differ
    z = torch.tensor([complex(a, b) for a, b in pairs], dtype=dtype)
    got = relay.compile(relay.from_pytorch(Of(getattr(torch, name)), (z,)), numerics="ieee")(z)
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(z.numpy())
    for part in ("real", "imag"):
        # Eight roundings of factors, of about one ULP each.
        np.testing.assert_allclose(
            getattr(got.numpy(), part), getattr(wanted, part), rtol=16 * torch.finfo(dtype).eps, err_msg=part
        )


def test_gradients():
    torch._dynamo.reset()

    def function(x):
        z = torch.fft.rfft(x)
        return (z.exp() @ z.mT).abs() + torch.stack([z, z * 2j]).sum((0, 2)).angle().cos() + (z + 3).log().real.mean()

    x = torch.linspace(-0.4, 0.5, 32).reshape(4, 8).requires_grad_()
    results = []
    for run in (function, torch.compile(function, backend="relay", options={"fallback": "error"})):
        made = run(x)
        results.append([made, *torch.autograd.grad(made.sum(), [x])])
    assert_close(*results)


class Stretched(torch.nn.Module):
    """A phase vocoder, as torchaudio's TimeStretch: twice as fast, of a spectrogram."""

    def forward(self, spectrogram):
        advance = torch.linspace(0, math.pi * 4, spectrogram.shape[-2])[:, None]
        times = torch.arange(0, spectrogram.shape[-1], 2.0)
        share = times % 1.0
        first = spectrogram[..., :1].angle()
        padded = F.pad(spectrogram, [0, 2])
        here, then = (padded.index_select(-1, (times + more).long()) for more in (0, 1))
        phase = then.angle() - here.angle() - advance
        phase = phase - 2 * math.pi * torch.round(phase / (2 * math.pi)) + advance
        phase = torch.cumsum(torch.cat([first, phase[..., :-1]], -1), -1)
        return torch.polar(share * then.abs() + (1 - share) * here.abs(), phase)


def test_a_phase_vocoder():
    torch.manual_seed(0)
    network, z = Stretched(), numbers(2, 5, 9)
    assert_close(relay.compile(relay.from_pytorch(network, (z,)))(z), network(z))


@pytest.mark.parametrize("exponent", [2, 3, 5, 8])
def test_whole_powers_of_whole_numbers_are_exact(exponent):
    z = torch.tensor([3 + 2j, -1 + 4j, 5j, -7 + 0j], dtype=torch.complex128)
    exact = [(1, 0)] * len(z)
    for _ in range(exponent):
        parts = [(int(one.real), int(one.imag)) for one in z]
        exact = [(a * x - b * y, a * y + b * x) for (a, b), (x, y) in zip(exact, parts, strict=True)]
    wanted = torch.tensor([complex(*one) for one in exact], dtype=torch.complex128)
    module = Of(lambda z: z**exponent)
    assert torch.equal(relay.compile(relay.from_pytorch(module, (z,)))(z), wanted)
    inverse, zero = Of(lambda z: z**-exponent), torch.zeros(1, dtype=torch.complex128)
    compiled = relay.compile(relay.from_pytorch(inverse, (z,)))
    torch.testing.assert_close(compiled(z), 1 / wanted, rtol=4e-16, atol=0)
    got, eager = (torch.view_as_real(one) for one in (compiled(zero.expand(4)), inverse(zero.expand(4))))
    torch.testing.assert_close(got, eager, rtol=0, atol=0, equal_nan=True)
