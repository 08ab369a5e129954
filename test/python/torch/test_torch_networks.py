"""Small networks and calls of the kind that users write: imported, by torch.compile and in training, compared with
eager PyTorch."""

import copy
import warnings

import pytest
from forms import each_nth

import relay

torch = pytest.importorskip("torch")
import relay.torch  # noqa: E402

nn, F, AUTO = torch.nn, torch.nn.functional, torch.export.Dim.AUTO


class Of(nn.Module):
    """function(*modules, *inputs)"""

    def __init__(self, function, *modules):
        super().__init__()
        self.function, self.inner = function, nn.ModuleList(modules)

    def forward(self, *inputs):
        return self.function(*self.inner, *inputs)


def f(*sizes):
    return torch.randn(*sizes)


def changed(method):
    """The result of an in-place method on a tensor that the call owns."""
    return lambda x, *more: getattr(x * 1, method)(*more)


def autocast(module, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return module(x)


def smaller(mode):
    return lambda x: F.interpolate(x, (4, 5), mode=mode, antialias=True)


def layer(**how):
    return nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0, **how)


SEEN = torch.tensor([[0, 0, 0, 1, 1], [0, 0, 0, 0, 1]]).bool()
LATER = nn.Transformer.generate_square_subsequent_mask(5)
PLACES = torch.tensor([1, 7, 13])
# By name: the network, and its inputs.
NETWORKS = {
    "a layer of an encoder": lambda: (layer(), f(2, 5, 8)),
    "a layer that normalises first, with gelu": lambda: (layer(norm_first=True, activation="gelu"), f(2, 5, 8)),
    "a layer that sees a part": lambda: (Of(lambda m, x: m(x, src_key_padding_mask=SEEN), layer()), f(2, 5, 8)),
    "a layer that sees what came before": lambda: (Of(lambda m, x: m(x, src_mask=LATER), layer()), f(2, 5, 8)),
    "a layer with both masks": lambda: (
        Of(lambda m, x: m(x, src_mask=LATER, src_key_padding_mask=SEEN.float() * -1e9), layer()), f(2, 5, 8)),
    "an encoder and a decoder": lambda: (
        Of(lambda m, a, b: m(a, b), nn.Transformer(8, 2, 1, 1, 16, batch_first=True, dropout=0.0)),
        f(2, 5, 8), f(2, 4, 8)),
    "batch normalisation under autocast": lambda: (
        Of(autocast, nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Tanh(), nn.Flatten(), nn.Linear(288, 4))),
        f(2, 3, 8, 8)),
    "a picture in a factor of 1.3": lambda: (Of(lambda x: F.interpolate(x, scale_factor=1.3)), f(2, 3, 5, 7)),
    "a picture made smaller": lambda: (Of(smaller("bilinear")), f(1, 2, 9, 11)),
    "a picture made smaller, cubic": lambda: (Of(smaller("bicubic")), f(1, 2, 9, 3)),
    "positions of maxima": lambda: (Of(lambda x: F.adaptive_max_pool2d(x, (3, 2), return_indices=True)), f(2, 3, 7, 5)),
    "put": lambda: (Of(changed("put_")), f(5, 4), PLACES, f(3)),
    "put, summed": lambda: (Of(lambda x, i, v: x.put(i, v, accumulate=True)), f(5, 4), PLACES // 7, f(3)),
    "take": lambda: (Of(torch.take), f(5, 4), PLACES),
    "rows by mask": lambda: (Of(lambda x, y: x.masked_scatter(x > 0, y)), f(5, 4), f(20)),
    "maxima by index": lambda: (
        Of(lambda x, i, v: x.index_reduce(0, i, v, "amax")), f(5, 4), torch.tensor([0, 3, 3]), f(3, 4)),
    "running": lambda: (Of(lambda x: (*x.cummax(1), *x.cummin(0), x.logcumsumexp(1))), f(5, 7)),
    "running, equal": lambda: (Of(lambda x: (*x.cummax(0), *x.cummin(0))), torch.tensor([1.0, 3, 3, 1, 1, 4])),
    "middles": lambda: (Of(lambda x: (*x.median(1), *x.kthvalue(2, 0), x.median())), f(5, 8)),
    "pairs of columns": lambda: (
        Of(lambda x: ((y := x @ x.mT)[:, *torch.tril_indices(4, 4, -1)], y[:, *torch.triu_indices(4, 4, 1)])),
        f(3, 4, 5)),
    "rrelu in inference": lambda: (Of(lambda x: F.rrelu(x)), f(4, 5)),
    "a transposed convolution of volumes": lambda: (nn.ConvTranspose3d(2, 3, 3, 2, 1, 1, groups=1), f(1, 2, 3, 4, 3)),
    "a convolution of volumes in groups": lambda: (nn.Conv3d(4, 8, 3, groups=2, padding=1), f(1, 4, 4, 4, 4)),
    "bags with padding": lambda: (nn.EmbeddingBag(7, 4, padding_idx=1), torch.randint(0, 7, (3, 5))),
    "rows no longer than 1": lambda: (
        Of(lambda w, n: F.embedding(n, w * 1, max_norm=1.0)), f(7, 4), torch.tensor([1, 5, 5])),
}  # fmt: skip


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", relay.torch.FallbackWarning)
        yield


def tensors(value):
    return [one for one in torch.utils._pytree.tree_leaves(value) if isinstance(one, torch.Tensor)]


def same(got, wanted):
    """If half precision is among the results, it is also in the values they are computed from."""
    coarse = any(one.dtype == torch.bfloat16 for one in tensors(wanted))
    for one, other in zip(tensors(got), tensors(wanted), strict=True):
        torch.testing.assert_close(one, other, rtol=3e-2 if coarse else 2e-5, atol=3e-2 if coarse else 2e-5)


def fast(network, **how):
    return torch.compile(copy.deepcopy(network), backend="relay", options={"fallback": "error"}, **how)


@pytest.mark.parametrize("name", each_nth(3, NETWORKS))
def test_inference(name):
    network, *inputs = NETWORKS[name]()
    network.eval()
    with torch.no_grad():
        wanted = network(*inputs)
        imported = relay.from_pytorch(copy.deepcopy(network), tuple(inputs))
        same(relay.compile(imported)(*inputs), wanted)
        same(fast(network)(*inputs), wanted)


@pytest.mark.parametrize("name", each_nth(3, [one for one in NETWORKS if "inference" not in one]))
def test_gradients(name):
    network, *inputs = NETWORKS[name]()
    found = []
    for run in (fast(network), network):
        given = [one.clone().requires_grad_() if one.is_floating_point() else one for one in inputs]
        results = [one for one in tensors(run(*given)) if one.requires_grad]
        random = torch.Generator().manual_seed(1)
        loss = sum((one * torch.randn(one.shape, generator=random)).sum() for one in results)
        sources = [one for one in [*given, *run.parameters()] if one.requires_grad]
        gradients = torch.autograd.grad(loss, sources, allow_unused=True)
        found.append([results, [one for one in gradients if one is not None]])
    same(*found)


# By name: a function of pictures, whose sizes vary.
OF_SIZES = {
    "twice as large": lambda x: F.interpolate(x, scale_factor=2),
    "twice as large, linear": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "twice as large, cubic": lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"),
    "of a size": lambda x: F.interpolate(x, (6, 9), mode="bilinear", align_corners=True),
    "the greatest": lambda x: F.adaptive_max_pool2d(x, 1),
    "where the greatest is": lambda x: F.adaptive_max_pool2d(x, 1, return_indices=True),
    "the greatest of parts": lambda x: F.adaptive_max_pool2d(x, (3, 2), return_indices=True),
}


@pytest.mark.parametrize("name", each_nth(3, OF_SIZES))
def test_pictures_of_sizes_that_vary(name):
    network = Of(OF_SIZES[name])
    imported = relay.from_pytorch(network, (f(2, 3, 5, 7),), dynamic_shapes={"inputs": ({2: AUTO, 3: AUTO},)})
    model, compiled = relay.compile(imported), fast(network, dynamic=True)
    for sizes in ((5, 7), (6, 4), (9, 8)):
        x = f(2, 3, *sizes)
        same(model(x), network(x))
        same(compiled(x), network(x))


def test_a_layer_whose_keys_are_all_masked():
    """PyTorch's one operator and attention agree on rows that see nothing only in that they are not read."""
    network, x = layer().eval(), f(2, 5, 8)
    with torch.no_grad():
        got, wanted = (run(x, src_key_padding_mask=SEEN) for run in (fast(network), network))
    same(got[~SEEN], wanted[~SEEN])


@pytest.mark.slow
def test_a_singular_matrix_is_pytorchs_error():
    """PyTorch checks singularity, next to the compiled part."""
    inverse = torch.compile(lambda x: torch.linalg.inv(x).sin() @ x.cos(), backend="relay")
    x = f(3, 4, 4)
    with pytest.warns(relay.torch.FallbackWarning, match="1 of the"):
        same(inverse(x), torch.linalg.inv(x).sin() @ x.cos())
    with pytest.raises(torch.linalg.LinAlgError):
        inverse(torch.zeros(3, 4, 4))
    with pytest.raises(relay.CompileError, match="inv_ex"):
        relay.from_pytorch(Of(torch.linalg.inv), (x,))


def test_what_export_leaves_half_made_is_named():
    """torch.func.grad within an exported module leaves tensors without memory."""
    with pytest.raises(relay.CompileError, match="PyTorch cannot decompose the exported program"):
        relay.from_pytorch(Of(lambda x: torch.func.grad(lambda y: (y**3).sum())(x)), (f(4),))


@pytest.mark.filterwarnings("error::relay.torch.FallbackWarning")
def test_graphs_that_take_no_tensor():
    """Results are new at each call, and tensors."""
    torch._dynamo.reset()
    made = torch.compile(lambda: (torch.zeros(3) + 1, torch.arange(4) * 2), backend="relay")
    for _ in range(2):
        ones, numbers = made()
        assert ones.tolist() == [1, 1, 1] and numbers.tolist() == [0, 2, 4, 6]
        ones += 5
    sized = torch.compile(lambda x: (torch.zeros(x.shape[0]), torch.ones(2)), backend="relay")
    for rows in (3, 4, 5):
        zeros, ones = sized(torch.rand(rows))
        assert zeros.tolist() == [0] * rows and ones.tolist() == [1, 1]
