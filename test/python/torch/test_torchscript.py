"""TorchScript with control flow that depends on elements."""

import inspect
import pathlib
import re

import pytest
from forms import each_nth

import relay

torch = pytest.importorskip("torch")


class Halves(torch.nn.Module):
    """A loop that counts, an if around a layer, and a loop over numbers."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        n = 0
        while bool(x.abs().max() > 1.0):
            x = x * 0.5
            n += 1
        if bool(x.sum() > 0):  # noqa: SIM108
            x = self.layer(x)
        else:
            x = x - 1
        for i in range(3):
            x = x + i
        return x, n


class Root(torch.nn.Module):
    """Newton's iteration: a condition of elements and numbers."""

    def forward(self, x):
        n, off = 0, torch.ones([])
        while bool(off > 1e-3) and n < 20:
            y = 0.5 * (x + 2.0 / x)
            off = (y - x).abs().max()
            x = y
            n += 1
        return x, n


class Stops(torch.nn.Module):
    """A loop over rows that is left early."""

    def forward(self, x):
        total = torch.zeros(4)
        for i in range(x.size(0)):
            total = total + x[i]
            if bool(total.sum() > 3):
                break
        return total


class Refuses(torch.nn.Module):
    def forward(self, x):
        if bool(x.sum() > 0):
            raise ValueError("too much")
        return x


INPUTS = {
    Halves: lambda: [torch.randn(3, 4) * 30, torch.randn(3, 4) * 1000 - 5, torch.zeros(3, 4)],
    Root: lambda: [torch.rand(3) + 1, torch.rand(3) * 100 + 1],
    Stops: lambda: [torch.randn(5, 4), torch.ones(5, 4), torch.full((5, 4), 0.1)],
}


@pytest.mark.parametrize("network", INPUTS)
def test_control_flow_on_elements(network, tmp_path):
    torch.manual_seed(0)
    inputs = INPUTS[network]()
    scripted = torch.jit.script(network().eval())
    module = relay.from_pytorch(scripted, (inputs[0],))
    model = relay.compile(module)
    for x in inputs:
        wanted = torch.utils._pytree.tree_leaves(scripted(x))
        for results in (model(x), relay.evaluate(module, [x])):
            for got, one in zip(torch.utils._pytree.tree_leaves(results), wanted, strict=True):
                torch.testing.assert_close(
                    torch.as_tensor(got).double(), torch.as_tensor(one).detach().double(), rtol=1e-5, atol=1e-5
                )


class OfTwoRanks(torch.nn.Module):
    def forward(self, x):
        if bool(x.sum() > 0):
            y = x
        else:
            y = x.flatten()
        return y.exp()


def line_of(network, words):
    """ "test_torchscript.py:12", where the words stand in the class of the network."""
    lines, first = inspect.getsourcelines(network)
    [at] = [number for number, line in enumerate(lines, first) if words in line]
    return f"{pathlib.Path(__file__).name}:{at}"


@pytest.mark.parametrize("network, words, said", [
    (Refuses, "raise ValueError", "an exception that the module raises"),
    (OfTwoRanks, "if bool(", "expected same dim but got"),
])  # fmt: skip
def test_what_cannot_be_followed_names_the_line(network, words, said):
    with pytest.raises(relay.CompileError) as caught:
        relay.from_pytorch(torch.jit.script(network()), (torch.ones(3, 2),))
    assert f"{line_of(network, words)}: " in str(caught.value) and said in str(caught.value)


def test_calls_have_the_lines_of_the_scripted_module():
    module, places = relay.from_pytorch(torch.jit.script(Halves()), (torch.ones(3, 4),)), set()
    for function in module.functions.values():
        relay.analysis.post_order_visit(function, lambda e: places.add(repr(getattr(e, "span", None))))
    for words in ("x = x * 0.5", "x = x - 1", "x = x + i"):
        assert any(place.endswith(line_of(Halves, words)) for place in places), words


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(4, 8), torch.nn.Linear(8, 3)

    def forward(self, x):
        return self.last(torch.relu(self.first(x))).reshape(x.size(0), -1)


class Steps(torch.nn.Module):
    """A loop with as many steps as there are rows."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        state = torch.zeros(4)
        for i in range(x.size(0)):
            state = torch.tanh(self.layer(x[i]) + state)
        return state


AUTO = torch.export.Dim.AUTO


@pytest.mark.parametrize("network, how, shapes", each_nth(3, [
    pytest.param(Network, torch.jit.script, ({0: torch.export.Dim("batch")},)),
    pytest.param(Network, lambda m: torch.jit.trace(m, torch.ones(5, 4)), {"x": (AUTO, None)}),
    pytest.param(Steps, torch.jit.script, ({0: AUTO},)),
]))  # fmt: skip
def test_one_compilation_for_all_sizes(network, how, shapes, tmp_path):
    torch.manual_seed(0)
    scripted = how(network().eval())
    scripted.save(tmp_path / "net.pt")
    for given in (scripted, tmp_path / "net.pt"):
        model = relay.compile(relay.from_pytorch(given, (torch.randn(5, 4),), dynamic_shapes=shapes))
        for rows in (5, 9, 2):
            x = torch.randn(rows, 4)
            torch.testing.assert_close(model(x), scripted(x).detach())


class Picture(torch.nn.Module):
    """Pictures of any size, shorter side 24 and sides that 8 divides: traced, its sizes are tensors."""

    def forward(self, picture):
        sides = torch._shape_as_tensor(picture)[-2:]
        scale = 24 * torch.min(sides).to(torch.float32).reciprocal()
        larger = [torch.floor(picture.size(axis) * scale).to(torch.int64) for axis in (2, 3)]
        x = torch.nn.functional.interpolate(picture, size=larger, mode="bilinear")
        padding = [torch.ceil(torch.stack([x.size(axis)]).to(torch.float32) / 8).max() * 8 - x.size(axis)
                   for axis in (3, 2)]  # fmt: skip
        x = torch.nn.functional.pad(x, [0, int(padding[0]), 0, int(padding[1])])
        places = torch.arange(x.size(2) * x.size(3)) // x.size(3)
        return x, places + 2 * picture.size(2), sides[[1, 0]]


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
@pytest.mark.slow
def test_sizes_computed_of_sizes():
    traced = torch.jit.trace(Picture(), torch.rand(1, 2, 12, 18), check_trace=False)
    shapes = ({2: AUTO, 3: AUTO},)
    model = relay.compile(relay.from_pytorch(traced, (torch.rand(1, 2, 12, 18),), dynamic_shapes=shapes))
    for height, width in ((12, 18), (17, 11), (30, 47)):
        x = torch.rand(1, 2, height, width)
        for got, wanted in zip(model(x), traced(x), strict=True):
            torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.int32])
def test_constants_without_axes(dtype):
    """TorchScript passes some of them as numbers, to operators such as detach."""
    x = torch.arange(3, dtype=dtype)
    traced = torch.jit.trace(lambda x: x * torch.tensor(3, dtype=x.dtype), x)
    torch.testing.assert_close(relay.compile(relay.from_pytorch(traced, (x,)))(x), traced(x))


@pytest.mark.parametrize("shapes, said", [
    ({"y": {0: AUTO}}, "names the input 'y', but forward() takes: x"),
    (({0: AUTO}, None), "has entries for 2 inputs, but there are 1"),
])  # fmt: skip
def test_dynamic_shapes_of_other_inputs(shapes, said):
    with pytest.raises(relay.CompileError, match=re.escape(said)):
        relay.from_pytorch(torch.jit.script(Network()), (torch.ones(5, 4),), dynamic_shapes=shapes)


@torch.jit.script
def doubled_if_any(x):
    if x.numel() == 0:
        return x
    return x * 2


class Levels(torch.nn.Module):
    """Operations of detectors: numbers of sizes, indices after those of earlier levels, as many rows as pass."""

    def forward(self, x):
        height = torch._shape_as_tensor(x)[0]
        places, offset = [], height - height
        for level in x.split([3, 5], 1):
            places.append(level.topk(2, 1)[1] + offset)
            offset += level.shape[1]
        chosen = x.flatten()[torch.cat(places, 1)[:, 0]] * height
        kept = doubled_if_any(chosen[chosen > 0])
        return torch.cat(places, 1), kept[:3], kept.shape[0] + kept.sum()


def test_numbers_of_sizes_and_of_elements():
    """Traced, so that sizes are tensors and a size that depends on elements decides a branch."""
    inputs = [torch.randn(6, 8, generator=torch.Generator().manual_seed(seed)) for seed in range(4)]
    traced = torch.jit.trace(Levels(), inputs[0])
    assert "prim::If" in str(traced.inlined_graph) and "aten::_shape_as_tensor" in str(traced.inlined_graph)
    model = relay.compile(relay.from_pytorch(traced, (inputs[0],)))
    for x in [*inputs, -inputs[0].abs()]:
        for got, want in zip(model(x), Levels()(x), strict=True):
            torch.testing.assert_close(got, want)


class Best(torch.nn.Module):
    """The best four of those above a limit, or as many as there are: written as models do that are traced."""

    def forward(self, x):
        x = x[x > 0.3]
        count = torch._shape_as_tensor(x)[0].unsqueeze(0)
        values, places = x.topk(torch.min(torch.cat((torch.tensor([4]), count), 0)))
        return values, places, x[places]


class BestOfNumbers(torch.nn.Module):
    def forward(self, x):
        x = x[x > 0.3]
        values, places = x.topk(min(4, x.shape[0]))
        return values, places, x[places]


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
def test_as_many_of_the_best_as_there_are():
    torch.manual_seed(0)
    x = torch.randn(10)
    for given in (torch.jit.trace(Best(), x), BestOfNumbers()):
        model = relay.compile(relay.from_pytorch(given, (x,)))
        counts = set()
        for shift in range(-2, 3):
            x = torch.randn(10) + shift
            got, wanted = model(x), BestOfNumbers()(x)
            assert all(torch.equal(a, b) for a, b in zip(got, wanted, strict=True))
            counts.add(len(got[0]))
        assert 4 in counts and len(counts) > 1


@torch.jit.script
def pasted(pictures, sizes):
    """Each picture resized to a size of its own, on a canvas; and how bright it is."""
    width = torch.scalar_tensor(8, dtype=torch.int64)
    rows, sums = torch.zeros(0, 6, int(width)), torch.zeros(0)
    for i in range(pictures.size(0)):
        high, wide = sizes[i][0], sizes[i][1] + torch.tensor(0.5)
        picture = pictures[i][None, None]
        picture = torch.nn.functional.interpolate(picture, size=(int(high), int(wide)), mode="bilinear")[0, 0]
        below = torch.zeros(6 - int(high), picture.size(1))
        canvas = torch.cat((picture, below))
        canvas = torch.cat((canvas, torch.zeros(6, int(width) - picture.size(1))), 1)[:, : int(width)]
        rows = torch.cat((rows, canvas[None]))
        sums = torch.cat((sums.to(dtype=torch.float32), canvas.sum()[None]), 0)
    return rows, sums


class Pasted(torch.nn.Module):
    """Pastes masks like a detector: as many steps as there are detections."""

    def forward(self, pictures, sizes):
        found = sizes[:, 0] > 0
        return pasted(pictures[found][:4], sizes[found][:4])


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
@pytest.mark.slow
def test_loops_that_append():
    torch.manual_seed(2)
    inputs = torch.rand(5, 4, 4), torch.tensor([[3.0, 2], [0, 4], [6, 8], [0, 1], [1, 1]])
    script = torch.jit.trace(Pasted(), inputs, check_trace=False)
    model = relay.compile(relay.from_pytorch(script, inputs))
    for heights in ([3, 0, 6, 0, 1], [1, 2, 3, 4, 5], [0, 0, 0, 0, 2], [0, 0, 0, 0, 0]):
        sizes = torch.stack([torch.tensor(heights, dtype=torch.float32), inputs[1][:, 1]], 1)
        for got, want in zip(model(inputs[0], sizes), Pasted()(inputs[0], sizes), strict=True):
            assert got.shape == want.shape
            torch.testing.assert_close(got, want)


@torch.jit.script
def sums_of_rows(x):
    rows = torch.zeros(0, 3)
    for i in range(x.size(0)):
        rows = torch.cat((rows, (x[i] + rows.sum())[None]))
    return rows


class Sums(torch.nn.Module):
    def forward(self, x):
        return sums_of_rows(x[x[:, 0] > 0])


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
def test_loops_that_read_what_they_append_to():
    script = torch.jit.trace(Sums(), torch.ones(4, 3), check_trace=False)
    with pytest.raises(
        relay.CompileError, match=re.escape("a loop that creates [1, 3] of the shape [0, 3], step by step")
    ):
        relay.from_pytorch(script, (torch.ones(4, 3),))


class TimesItsSize(torch.nn.Module):
    def forward(self, x):
        return x * torch.as_tensor(x.shape[1]).item() if not torch.jit.is_tracing() else x * x.shape[1].item()


class PaddedToSquare(torch.nn.Module):
    """Pads images like detectors: the size is computed with tensors."""

    def forward(self, x):
        sizes = [torch.as_tensor(one) for one in x.shape]
        more = torch.max(torch.stack(sizes).to(torch.float32)).to(torch.int64) - x.shape[0]
        return torch.nn.functional.pad(x, [0, 0, 0, more])


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
@pytest.mark.parametrize("network", [TimesItsSize(), PaddedToSquare()])
def test_numbers_of_known_sizes(network):
    """PyTorch's interpreter cannot run these on fake tensors."""
    x = torch.rand(2, 3)
    script = torch.jit.trace(network, x, check_trace=False)
    assert torch.equal(relay.compile(relay.from_pytorch(script, (x,)))(x), network(x))
