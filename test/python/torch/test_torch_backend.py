"""torch.compile(backend="relay") compared with eager PyTorch: inference, training, dynamic sizes, aliases, refusals."""

import contextlib
import copy
import os
import pathlib
import subprocess
import sys
import warnings

import pytest
from programs import ROOT

import relay

torch = pytest.importorskip("torch")
import relay.torch  # noqa: E402

F = torch.nn.functional


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", relay.torch.FallbackWarning)
        yield


def compiled(model, **how):
    return torch.compile(model, backend="relay", fullgraph=True, **how)


def same(got, wanted):
    torch.testing.assert_close(got, wanted, rtol=2e-5, atol=2e-5)


def network():
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(8, 8, 3, stride=2), torch.nn.AvgPool2d(2, padding=1),
        torch.nn.Flatten(), torch.nn.Linear(32, 5),
    )  # fmt: skip


class Runs:
    """Counts the programs that relay.compile makes."""

    def __init__(self, monkeypatch):
        self.count, made = 0, relay.torch.dynamo.compile_module

        def count(*args, **how):
            self.count += 1
            return made(*args, **how)

        monkeypatch.setattr(relay.torch.dynamo, "compile_module", count)


@pytest.fixture
def programs(monkeypatch):
    return Runs(monkeypatch)


def test_the_backend_is_found_without_an_import(tmp_path):
    """The installed state: the wheel's metadata and the package are on the path, and nothing has imported relay."""
    builder = pytest.importorskip("scikit_build_core.build")
    root = ROOT
    with contextlib.chdir(root):
        builder.prepare_metadata_for_build_wheel(str(tmp_path))
    (tmp_path / "relay").symlink_to(root / "python/relay")
    script = """if True:
        import importlib.metadata, sys, torch
        named = importlib.metadata.entry_points(group="torch_dynamo_backends", name="relay")
        assert "relay" not in sys.modules and "relay" in torch._dynamo.list_backends()
        print(torch.compile(lambda x: x + 1, backend="relay")(torch.ones(2)).tolist(), "relay.torch" in sys.modules)
        [installed] = [point for point in named if point.dist.name == "relay"]  # beside dev/setup's relay-source
        print(installed.value, sys.modules["relay"].__file__)
    """
    path = os.pathsep.join([str(tmp_path), str(pathlib.Path(torch.__file__).parents[1])])
    run = subprocess.run(
        [sys.executable, "-S", "-W", "ignore", "-c", script], capture_output=True, text=True, cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == ["[2.0, 2.0] True", f"relay.torch:backend {tmp_path / 'relay/__init__.py'}"]


def test_inference(programs):
    model, x = network().eval(), torch.randn(2, 3, 16, 16)
    fast = compiled(model, options={"threads": 1})
    with torch.no_grad():
        same(fast(x), model(x))
        same(fast(x + 1), model(x + 1))
        model[0].weight.mul_(2)
        same(fast(x), model(x))
    assert programs.count == 1


def test_frozen_parameters_are_constants_until_they_change(programs):
    model, x = network().eval(), torch.randn(2, 3, 16, 16)
    fast = compiled(model, options={"freeze": True})
    with torch.no_grad():
        for change in (None, lambda: model[0].weight.mul_(2), lambda: model[7].bias.add_(1)):
            if change:
                change()
            same(fast(x), model(x))
            same(fast(2 * x), model(2 * x))
    assert programs.count == 2


def test_many_lengths_compile_at_most_twice(programs):
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    torch.backends.mha.set_fastpath_enabled(False)
    fast = compiled(layer)
    with torch.no_grad():
        for length in range(3, 203):
            x = torch.randn(2, length, 16)
            if length % 20 == 3:
                same(fast(x), layer(x))
            else:
                fast(x)
    assert programs.count <= 2


def test_sizes_and_integers():
    def function(x, n: int):
        return x * n, torch.full((n, 2), 3.0) + x.sum(), x.shape[0] * 2 + n, None, x.new_zeros(x.shape[0], n)

    fast = compiled(function, dynamic=True)
    for rows, n in ((3, 5), (4, 7), (6, 2)):
        x = torch.randn(rows, 4)
        same(fast(x, n), function(x, n))


def test_integers_that_may_be_less_than_zero(programs):
    fast = compiled(lambda x, n: x * n + n)
    for n in (2, 3, -5, 0):
        x = torch.randn(4)
        same(fast(x, n), x * n + n)
    assert programs.count <= 3  # two that are numbers, and one for all others


def test_a_negative_integer_that_decides_a_size(programs):
    fast = compiled(lambda x, n: x[:n] * n)
    with pytest.warns(relay.torch.FallbackWarning, match="a size depends on the integer"):
        for n in (1, 2, 3, -1):
            x = torch.randn(6)
            same(fast(x, n), x[:n] * n)


def test_results_that_alias():
    def function(x, y):
        z = x + y
        return x, z, z.t(), x[1:], z[0], y.t() * 2, z

    x, y = torch.randn(3, 4), torch.randn(3, 4)
    got, wanted = compiled(function)(x, y), function(x, y)
    for one, other in zip(got, wanted, strict=True):
        same(one, other)
        assert one.stride() == other.stride()
    assert got[0] is x and got[3].data_ptr() == x[1:].data_ptr() and got[2].data_ptr() == got[1].data_ptr()
    got[1].fill_(3)
    assert (got[2] == 3).all() and (got[4] == 3).all()


def test_results_that_alias_in_sizes_that_vary():
    fast = compiled(lambda x: (y := x * 2, y[1:].t(), y.t() + 1), dynamic=True)
    for rows in (3, 5):
        x = torch.randn(rows, 4)
        whole, part, other = fast(x)
        same((whole, part, other), (2 * x, 2 * x[1:].t(), 2 * x.t() + 1))
        assert part.data_ptr() == whole[1:].data_ptr() and other.stride() == (x.t() + 1).stride()


@pytest.mark.parametrize("views", [lambda x: x.chunk(2), lambda x: x.split([1, x.shape[0] - 1]), lambda x: x.unbind(1)])
def test_several_views_of_one_tensor_in_sizes_that_vary(views):
    fast, of_a_result = compiled(views), compiled(lambda x: (y := x * 2, *views(y)))
    for rows in (4, 6, 8):
        x = torch.arange(rows * 2.0).reshape(rows, 2)
        for got, wanted in zip(fast(x), views(x), strict=True):
            assert got.equal(wanted) and got.data_ptr() == wanted.data_ptr() and got.stride() == wanted.stride()
        whole, *parts = of_a_result(x)
        whole.add_(1)
        assert all(got.equal(wanted) for got, wanted in zip(parts, views(2 * x + 1), strict=True))


def test_inputs_that_are_changed():
    def function(x, y):
        x.add_(y)
        y[0] = 5
        return x * y

    x, y = torch.randn(3, 4), torch.randn(3, 4)
    other, one_more = x.clone(), y.clone()
    same(compiled(function)(x, y), function(other, one_more))
    same((x, y), (other, one_more))


def test_inputs_in_any_layout():
    def function(x, y):
        return x @ y + 1, x.t().reshape(-1), torch.tensor([1.0, 2.0]) + x.sum()

    x, y = torch.randn(5, 3).t(), torch.randn(10, 8)[::2, ::2]
    same(compiled(function)(x, y), function(x, y))


def test_results_have_memory_of_their_own():
    """Whoever writes into one changes neither an input, a constant, another result nor that of another call."""

    def function(x, y):
        return x + 0, x + y, y + x, torch.ones(4), torch.zeros_like(x) + 2, (x + 1).reshape(2, 2)

    fast, x, y = compiled(function), torch.randn(4), torch.randn(4)
    wanted, kept = function(x, y), x.clone()
    for _ in range(2):
        results = fast(x, y)
        for one, other in zip(results, wanted, strict=True):
            same(one, other)
            one.fill_(7)
        same(x, kept)


def test_inputs_are_used_where_they_lie(monkeypatch):
    fast, x = compiled(lambda x: x + 1), torch.randn(1 << 10)
    fast(x)
    given, array = [], relay.run.compiled.array
    monkeypatch.setattr(relay.run.compiled, "array", lambda *one: given.append(array(*one)) or given[-1])
    same(fast(x), x + 1)
    assert relay.data.arrays.torch_tensor(given[0]).data_ptr() == x.data_ptr()


def test_what_is_refused_runs_in_pytorch():
    def function(x):
        return torch.special.i0(x) + 1

    x = torch.randn(4)
    with pytest.warns(relay.torch.FallbackWarning, match=r"aten.i0.default.*test_torch_backend.py:\d+") as said:
        fast = compiled(function)
        same(fast(x), function(x))
        same(fast(x), function(x))
    assert len(said) == 1
    torch._dynamo.reset()
    with pytest.raises(Exception, match="aten.i0.default"):
        compiled(function, options={"fallback": "error"})(x)


WRONG_OPTIONS = (
    ({"thread": 1}, "no option `thread`"), ({"fallback": 1}, "the option fallback is 1"),
    ({"fallback": "no"}, "the option fallback is 'no'"), ({"threads": "x"}, "the option threads is 'x'"),
    ({"freeze": "maybe"}, "the option freeze is 'maybe'"), ({"target": "none"}, "no processor is named 'none'"),
    ({"numerics": "none"}, "no arithmetic class 'none'"), ({"opt_level": 9}, "opt_level is 9, not 0 to 3"),
    ({"threads": -1}, "threads is -1, not 0 to 1024"),
)  # fmt: skip


def test_options():
    for options, message in WRONG_OPTIONS:
        torch._dynamo.reset()
        with pytest.raises(Exception, match=message):
            compiled(lambda x: x + 1, options=options)(torch.ones(2))


def cross_entropy(result, x):
    return F.cross_entropy(result, torch.arange(len(x)) % 5)


def mlp():
    return torch.nn.Sequential(torch.nn.Linear(12, 32), torch.nn.GELU(), torch.nn.LayerNorm(32), torch.nn.Linear(32, 5))


class Transformer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(11, 16)
        self.layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.head = torch.nn.Linear(16, 5)

    def forward(self, x):
        return self.head(self.layer(self.embedding(x)).mean(1))


TRAINED = {
    "mlp": (mlp, lambda: torch.randn(6, 12)),
    "cnn with batch_norm": (network, lambda: torch.randn(4, 3, 16, 16)),
    "transformer": (Transformer, lambda: torch.randint(11, (6, 7))),
}


@pytest.mark.parametrize("name", TRAINED)
def test_training(name, programs):
    make, data = TRAINED[name]
    eager = make()
    ours = copy.deepcopy(eager)
    step = compiled(ours)
    losses = []
    for model, run in ((eager, eager), (ours, step)):
        torch.manual_seed(1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        for _ in range(20):
            x = data()
            optimizer.zero_grad()
            loss = cross_entropy(run(x), x)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    torch.testing.assert_close(losses[20:], losses[:20], rtol=1e-4, atol=1e-4)
    assert losses[19] != losses[0] and programs.count == 2
    torch.testing.assert_close(ours.state_dict(), eager.state_dict(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("convolution", [
    lambda: torch.nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2),
    lambda: torch.nn.Conv2d(4, 8, (3, 2), dilation=2, groups=4),
    lambda: torch.nn.Conv2d(4, 6, 3, stride=(3, 2), bias=False),
    lambda: torch.nn.Conv2d(4, 6, (3, 4), stride=2, padding=(1, 2)),
    lambda: torch.nn.Conv2d(4, 6, 1, stride=2),
    lambda: torch.nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2),
    lambda: torch.nn.ConvTranspose1d(4, 6, 4, stride=3),
], ids=["1d", "depthwise", "steps", "padded steps", "far steps", "transposed", "transposed 1d"])  # fmt: skip
def test_gradients_of_convolutions(convolution):
    layer = convolution()
    x = torch.randn(2, 4, 10, *([9] if layer.weight.dim() == 4 else []), requires_grad=True)
    sources = [x, *layer.parameters()]
    wanted = torch.autograd.grad(layer(x).square().sum(), sources)
    got = torch.autograd.grad(compiled(layer)(x).square().sum(), sources)
    torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-3)


def with_seed(function, *args):
    torch.manual_seed(3)
    return function(*args)


def test_dropout_in_training(programs):
    """The masks of eager PyTorch, whose generator both draw from."""
    eager = torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.Dropout(0.3), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(16, 4)
    )
    ours, x = copy.deepcopy(eager), torch.randn(6, 8)
    fast = compiled(ours)
    for _ in range(2):
        got, wanted = with_seed(fast, x), with_seed(eager, x)
        same(got, wanted)
        assert not got.equal(fast(x))
        gradients = (
            torch.autograd.grad(result.square().sum(), list(model.parameters()))
            for result, model in ((got, ours), (wanted, eager))
        )
        same(*gradients)
    assert programs.count == 2


@pytest.mark.slow
def test_parts_of_a_tensor_that_each_have_a_gradient(monkeypatch):
    """Gradients of slices are joined, and what no slice reads gets 0."""
    modules, made = [], relay.torch.dynamo.compile_module
    monkeypatch.setattr(relay.torch.dynamo, "compile_module", lambda m, **k: modules.append(str(m)) or made(m, **k))
    x = torch.randn(4, 6, requires_grad=True)
    for function in (
        lambda x: (x[:, :2].sin() * x[:, 4:]).sum() + x[:, 2:3].exp().sum(),
        lambda x: (x[2].sin() * x[0].cos()).sum(),
        lambda x: (x[:3].sin() * x[1:].cos()).sum(),
        lambda x: (x[::2].sin() * x[1::2].cos()).sum(),
    ):
        got, wanted = (torch.autograd.grad(one(x), x) for one in (compiled(function), function))
        same(got, wanted)
    assert all("concatenate" in one and "strided_set" not in one for one in (modules[1], modules[3]))


def test_attention_with_dropout():
    def attend(x):
        return F.scaled_dot_product_attention(x, x, x, dropout_p=0.4)

    x = torch.randn(2, 3, 5, 4, requires_grad=True)
    fast = compiled(attend)
    same(with_seed(fast, x), with_seed(attend, x))
    same(*(torch.autograd.grad(with_seed(one, x).square().sum(), x) for one in (fast, attend)))


def test_random_operators():
    def function(x):
        n = x.shape[0]
        return (
            torch.rand_like(x) + x, torch.randn(n, 3), torch.randint(0, 9, (n,)), 0 * torch.bernoulli(0 * x + 0.5),
            torch.empty_like(x).uniform_(2, 3), torch.empty_like(x).normal_(1, 2), torch.randperm(n),
            F.dropout2d(x[None, None], 0.5), F.alpha_dropout(x, 0.3), torch.empty_like(x).exponential_(),
        )  # fmt: skip

    fast = compiled(function, dynamic=True)
    for rows in (4, 6):
        x = torch.randn(rows, 5)
        same(with_seed(fast, x), with_seed(function, x))


def test_what_lies_around_a_refused_operator_is_compiled(programs, monkeypatch):
    first, second = torch.nn.Linear(4, 8), torch.nn.Linear(8, 4)

    def function(x):
        y = torch.special.i0(first(x).relu())
        return second(y).tanh() + y.sum(), x.shape[0]

    fast = compiled(function, dynamic=True)
    for rows in (3, 5):
        x = torch.randn(rows, 4, requires_grad=True)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            got, wanted = fast(x), function(x)
        same(got, wanted)
        same(*(torch.autograd.grad(one[0].sum(), x) for one in (got, wanted)))
        said = [str(one.message) for one in said if issubclass(one.category, relay.torch.FallbackWarning)]
        assert not said or "1 of the" in said[0] and "aten.i0.default" in said[0]
    assert programs.count >= 3


def test_parts_have_frozen_parameters(programs):
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU()).eval()
    fast = compiled(lambda x: torch.special.i0(model(x)) * 2 + 1, options={"freeze": True})
    x = torch.randn(3, 4)
    with torch.no_grad(), pytest.warns(relay.torch.FallbackWarning):
        same(fast(x), torch.special.i0(model(x)) * 2 + 1)
    assert programs.count == 2


LOGS = """
import os, sys, torch, torch._dynamo
for logs in sys.argv[1:]:
    if not (child := os.fork()):
        os.environ["RELAY_LOGS"] = logs
        import relay.torch
        torch.compile(lambda x: torch.special.i0(x + 1).sin().exp(), backend="relay")(torch.ones(3))
        os._exit(0)
    os.waitpid(child, 0)  # an unknown setting is an error
    print("<<end>>", file=sys.stderr, flush=True)
"""


def test_logs():
    """Each setting in a process of its own, a fork of one that has imported PyTorch."""
    settings = ["", "fallbacks, graphs, programs", "fallback"]
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", LOGS, *settings], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    said = dict(zip(settings, run.stderr.split("<<end>>\n"), strict=False))
    assert said[""] == ""
    everything = said["fallbacks, graphs, programs"]
    assert "relay.torch: 2 of the 4 operators of the inference graph run in PyTorch: " in everything
    assert "graph of 2 operators is compiled" in everything and "def @main" in everything
    assert "RELAY_LOGS is `fallback`" in said["fallback"]


def test_views_alone_in_pytorch_are_said_to_be_views():
    """A message about "0 of the 14 operators" would contradict itself."""
    torch._dynamo.reset()
    program = torch.compile(lambda x: torch.as_strided(x.t().relu().exp(), (2, 2), (1, 3)).sin().cos(), backend="relay")
    with pytest.warns(relay.torch.FallbackWarning, match="^no operators except some views of the inference graph run"):
        program(torch.randn(4, 4))


def test_explanations():
    model = torch.nn.Linear(4, 3)
    found = relay.torch.explain(model, torch.randn(2, 4))
    assert [one.kind for one in found.graphs] == ["forward", "backward"] and not found.fallbacks
    assert [one.multiply_adds for one in found.graphs] == [24, 24] and found.graphs[0].kernels > 0
    assert model.weight.grad is None
    with pytest.warns(relay.torch.FallbackWarning):
        found = relay.torch.explain(lambda x: torch.special.i0(x), torch.randn(3))
    assert "aten.i0.default" in found.fallbacks[0].reason and "0 of 1 nodes" in str(found)


def test_explanations_of_what_a_function_closes_over():
    layer = torch.nn.Linear(4, 3)
    found = relay.torch.explain(lambda x: layer(x).relu(), torch.randn(2, 4))
    assert [one.kind for one in found.graphs] == ["forward", "backward"] and layer.weight.grad is None


def test_a_converter_that_fails_is_a_fallback(monkeypatch):
    from relay.frontend.pytorch import table

    monkeypatch.setitem(table.OPERATORS, "cos", lambda c: [][1])
    x = torch.randn(3)
    with pytest.warns(relay.torch.FallbackWarning, match="(?s)aten.cos.default.*a bug in Relay .IndexError"):
        same(compiled(lambda x: x.cos() + 1)(x), x.cos() + 1)


def test_a_refusal_in_a_branch_is_named_once():
    class Branch(torch.nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: torch.special.i0(x), lambda x: x - 1, (x,))

    with pytest.raises(relay.CompileError, match="operator aten.i0.default, first in") as error:
        relay.from_pytorch(Branch(), (torch.randn(3),))
    assert "operator cond" not in str(error.value) and "a bug in" not in str(error.value)


def test_explanations_tell_graph_breaks():
    def inner(x):
        torch._dynamo.graph_break()
        return x + 1

    def broken(x):
        x = inner(x @ x)
        print(end="")
        return x.cos()

    found = relay.torch.explain(broken, torch.randn(4, 4))
    first = inner.__code__.co_firstlineno + 1, broken.__code__.co_firstlineno + 2
    assert [one.place for one in found.breaks] == [f"{__file__}:{line}" for line in first]
    assert "graph_break()" in found.breaks[0].reason and "\n2 graph breaks\n" in str(found)
    assert not relay.torch.explain(lambda x: x + 1, torch.randn(3)).breaks
