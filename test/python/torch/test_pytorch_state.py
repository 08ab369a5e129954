"""Exported programs that change their buffers or inputs, or whose sizes depend on elements; torch.compile in place."""

import warnings

import pytest
from forms import each_nth

import relay

torch = pytest.importorskip("torch")
import relay.torch  # noqa: E402

F = torch.nn.functional


class Calls(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


class Cached(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.zeros(8, 4))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.project = torch.nn.Linear(4, 4)

    def forward(self, x, at):
        self.keys[at] = self.project(x)
        self.count += 1
        return self.keys.sum(0) * self.count


def same(got, wanted):
    torch.testing.assert_close(got, wanted, rtol=2e-5, atol=2e-5)


def test_buffers_that_change_go_in_and_come_out():
    network, x, at = Cached().eval(), torch.randn(1, 4), torch.tensor([5])
    module = relay.from_pytorch(network, (x, at))
    assert [one.name_hint for one in module["main"].params] == ["x", "at", "keys", "count"]
    keys, count = torch.randn(8, 4), torch.tensor(3)
    network.keys.copy_(keys), network.count.copy_(count)
    with torch.no_grad():
        wanted = network(x, at)
    for results in (
        relay.compile(module)(x, at, keys, count),
        relay.evaluate(module, [x, at, keys, count]),
    ):
        for got, one in zip(results, (network.keys, network.count, wanted), strict=True):
            same(torch.as_tensor(got), one)
    model = relay.compile(module, donate={"keys": 0, "count": 1})
    new, counted, got = model(x, at, keys, count)
    assert new is keys and counted is count
    same((keys, count, got), (network.keys, network.count, wanted))


def test_inputs_that_change_come_out_first():
    def function(x, y):
        x.mul_(2)
        return x + y

    x, y = torch.randn(3, 4), torch.randn(3, 4)
    changed, got = relay.compile(relay.from_pytorch(Calls(function), (x.clone(), y)))(x, y)
    same((changed, got), (2 * x, 2 * x + y))


def test_statistics_of_training():
    network, x = torch.nn.BatchNorm1d(3), torch.randn(5, 3)
    specs = torch.export.export(network, (x,)).run_decompositions().graph_signature.output_specs
    changed = [one.target for one in specs if one.kind.name == "BUFFER_MUTATION"]
    assert sorted(changed) == ["num_batches_tracked", "running_mean", "running_var"]
    given = {"running_mean": torch.zeros(3), "running_var": torch.ones(3), "num_batches_tracked": torch.tensor(0)}
    *states, got = relay.compile(relay.from_pytorch(network, (x,)))(x, **given)
    same(got, network(x).detach())
    for name, one in zip(changed, states, strict=True):
        same(one, getattr(network, name))


DEPEND = {
    "product": (lambda x: (x[x[:, 0] > 0] @ torch.ones(4, 3)).relu(), lambda: (torch.randn(6, 4),)),
    "layers": (
        lambda x: F.layer_norm(F.linear(x[x[:, 0] > 0], torch.ones(3, 4)), (3,)).softmax(-1),
        lambda: (torch.randn(6, 4),),
    ),
    "shape": (lambda x: x[x[:, 0] > 0].reshape(-1, 2, 2).sum(0), lambda: (torch.randn(6, 4),)),
    "joined": (lambda x: torch.cat([x[x > 0], x]), lambda: (torch.randn(6),)),
    "zeros": (lambda x: torch.zeros(x.max().item(), 3) + 1, lambda: (torch.randint(1, 5, (2,)),)),
    "range": (lambda x: torch.arange(x.max().item()) * 2, lambda: (torch.randint(1, 5, (2,)),)),
    "part": (lambda x, n: x[: n.item()] * 2, lambda: (torch.randn(8), torch.randint(1, 8, ()))),
    "repeated": (lambda x, n: x.expand(n.item(), 4) + 1, lambda: (torch.randn(1, 4), torch.randint(2, 8, ()))),
    "number": (lambda x, n: x * n.item(), lambda: (torch.randn(3), torch.tensor(-3))),
    "real number": (lambda x, n: x * n.item(), lambda: (torch.randn(3), torch.tensor(0.5))),
    "how many": (lambda x: x[x[:, 0] > 0].size(0) * x, lambda: (torch.randn(6, 4),)),
    "new": (lambda x: (y := x[x[:, 0] > 0]).new_zeros(y.shape[0], 2) + y[:, :2], lambda: (torch.randn(6, 4),)),
    "twice": (lambda x: (y := x[x > 0])[y < 1].sum() + y.shape[0], lambda: (torch.randn(9),)),
}


@pytest.mark.parametrize("name", each_nth(3, DEPEND))
def test_sizes_that_depend_on_elements(name):
    torch.manual_seed(0)
    function, inputs = DEPEND[name]
    model = relay.compile(relay.from_pytorch(Calls(function), inputs()))
    for _ in range(3):
        given = inputs()
        same(torch.as_tensor(model(*given)), function(*given))


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.LSTM(4, 8, batch_first=True)

    def forward(self, x):
        return self.layer(x)[0]


# A network and the sizes of its input.
SAME_KERNELS = {
    "cnn": (
        lambda: torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Flatten(), torch.nn.Linear(128, 10), torch.nn.Softmax(1)),
        (2, 3, 8, 8)),
    "mlp": (
        lambda: torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.LayerNorm(32),
                                    torch.nn.Linear(32, 4)),
        (2, 5, 16)),
    "transformer layer": (
        lambda: torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True, norm_first=True),
        (2, 5, 16)),
    "lstm": (Recurrent, (2, 5, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME_KERNELS)
def test_traced_scripted_and_exported_give_the_same_kernels(name):
    make, sizes = SAME_KERNELS[name]
    network, x = make().eval(), torch.randn(*sizes)
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        forms = [torch.jit.trace(network, x), torch.jit.script(network), network]
        models = [relay.compile(relay.from_pytorch(one, (x,)), threads=1) for one in forms]
    finally:
        torch.backends.mha.set_fastpath_enabled(True)
    kernels = [model.emit("loop") for model in models]
    assert kernels[0] == kernels[1] == kernels[2] and "kernel" in kernels[0]


@pytest.fixture
def compilations(monkeypatch):
    made, compile_module = [], relay.torch.dynamo.compile_module

    def compile_and_keep(*args, **how):
        made.append(compile_module(*args, **how))
        return made[-1]

    monkeypatch.setattr(relay.torch.dynamo, "compile_module", compile_and_keep)
    torch._dynamo.reset()
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", relay.torch.FallbackWarning)
        yield made


def donations(model):
    return {one["input"]: one["in_place"] for one in model.report["donations"]}


def test_a_cache_is_updated_in_place(compilations):
    def step(cache, at, row):
        cache.index_copy_(2, at, row)
        return (cache * row).sum(-1)

    fast = torch.compile(step, backend="relay", fullgraph=True)
    cache = torch.zeros(2, 3, 9, 4)
    other, memory = cache.clone(), cache.data_ptr()
    with torch.no_grad():
        for at in range(9):
            row, place = torch.randn(2, 3, 1, 4), torch.tensor([at])
            same(fast(cache, place, row), step(other, place, row))
            same(cache, other)
    assert cache.data_ptr() == memory and len(compilations) == 1
    assert list(donations(compilations[0]).values()) == [True]


def test_a_range_that_moves(compilations):
    def step(cache, n: int, rows):
        cache[:, n : n + 2] = rows
        return cache.sum()

    fast = torch.compile(step, backend="relay", dynamic=True)
    for n in (1, 2, 5):
        cache, rows = torch.randn(3, 8, 4), torch.randn(3, 2, 4)
        other = cache.clone()
        same(fast(cache, n, rows), step(other, n, rows))
        same(cache, other)


def test_an_argument_in_any_layout_is_changed(compilations):
    def function(x, y):
        x.add_(y)
        return x.relu(), x

    fast = torch.compile(function, backend="relay", fullgraph=True)
    for x in (torch.randn(4, 3), torch.randn(3, 4).t(), torch.randn(4, 6)[:, ::2], torch.randn(4, 9)[:, 3:6]):
        torch._dynamo.reset()
        whole, other, y = x, x.clone(), torch.randn(4, 3)
        got, itself = fast(x, y)
        wanted, _ = function(other, y)
        same((got, whole), (wanted, other))
        assert itself is whole


def test_a_result_that_is_an_argument_too_has_memory_of_its_own(compilations):
    def function(x, y):
        z = x + y
        x.copy_(z)
        return z

    x, y = torch.randn(4), torch.randn(4)
    wanted = x + y
    got = torch.compile(function, backend="relay", fullgraph=True)(x, y)
    same((got, x), (wanted, wanted))
    got.zero_()
    same(x, wanted)


def test_frozen_parameters_beside_a_cache(compilations):
    network = Cached().eval()
    fast = relay.torch.compile(network, freeze=True)
    wanted = Cached().eval()
    wanted.load_state_dict(network.state_dict())
    with torch.no_grad():
        for at in range(4):
            x, place = torch.randn(1, 4), torch.tensor([at])
            same(fast(x, place), wanted(x, place))
    same(fast.keys, wanted.keys)
    assert len(compilations) == 1 and all(donations(compilations[0]).values())


def test_workers_of_a_data_loader():
    class Points(torch.utils.data.Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, place):
            return torch.full((4,), float(place))

    network = torch.nn.Linear(4, 2).eval()
    fast = relay.torch.compile(network)
    with torch.no_grad():
        fast(torch.zeros(2, 4))  # threads of the kernels exist before workers are forked
        for batch in torch.utils.data.DataLoader(Points(), batch_size=2, num_workers=2):
            same(fast(batch), network(batch))


class LastPart(torch.nn.Module):
    """A bias of one row, of which the last max(1, n) would be taken: torch.export knows that there is one."""

    def forward(self, x):
        bias = torch.arange(51.0).reshape(3, 1, 17)
        size = x.shape[1]
        return x + bias[:, max(0, bias.shape[1] - size) :, max(0, bias.shape[2] - size) :]


class WithoutAPart(torch.nn.Module):
    def forward(self, x):
        x = x * 2
        x[:, :, 1:3] = 0
        return x


@pytest.mark.parametrize("network", [LastPart(), WithoutAPart()], ids=["last part", "without a part"])
def test_slices_beside_sizes_that_vary(network):
    auto = torch.export.Dim.AUTO
    model = relay.compile(relay.from_pytorch(network, (torch.randn(3, 5, 5),), dynamic_shapes=({1: auto, 2: auto},)))
    for size in (3, 5, 9):
        x = torch.randn(3, size, size)
        assert torch.equal(model(x), network(x))
