"""The PyTorch importer: operators of every family compared with eager PyTorch, dynamic sizes, control flow,
refusals."""

import io

import numpy as np
import pytest
from forms import each_nth

import relay

torch = pytest.importorskip("torch")
F = torch.nn.functional


class Calls(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def same(got, wanted):
    got, wanted = (list(one) if isinstance(one, (tuple, list)) else [one] for one in (got, wanted))
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted, strict=True):
        one = one if isinstance(one, torch.Tensor) else torch.as_tensor(one)
        torch.testing.assert_close(one, other, rtol=2e-5, atol=2e-5, equal_nan=True)


def f(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape)))


def i(*shape, low=0, high=3, dtype=torch.int64):
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(1), dtype=dtype)


IMAGE = f(2, 4, 9, 8)
CASES = {
    "promote": (lambda x, y: x + y * 2 - 1.5, f(3, 4), i(4)),
    "alpha": (lambda x, y: torch.add(x, y, alpha=3) - torch.rsub(x, 2), f(3, 4), f(3, 4)),
    "integers": (lambda x, y: (x // y, x % y, x / y, x * y), i(5, low=-9, high=9), i(5, low=1, high=4)),
    "compare": (lambda x, y: (x > y, x == 1, (x < y) & (x != 0), ~(x >= y)), f(3, 4), i(4)),
    "bools": (lambda x, y: (x + y, x * y, x ^ y, torch.logical_not(x)), f(4) > 0, f(2, 4) > 0),
    "unary": (lambda x: (x.abs().sqrt(), x.exp(), x.sigmoid(), (x.abs() * 1e-6).log1p(), x.erf(), x.neg(), x.floor(),
        x.sin(), x.reciprocal()), f(3, 5)),
    "of integers": (lambda x: (x.exp(), x.sqrt(), x.floor(), torch.isnan(x)), i(4)),
    "powers": (lambda x: (x**2, x.abs() ** 0.5, x.abs() ** 1.5, 2**x), f(3, 4)),
    "clamps": (lambda x: (x.clamp(min=0), x.clamp(-0.5, 0.5), F.hardtanh(x), F.relu6(3 * x)), f(3, 4)),
    "activations": (
        lambda x: (F.gelu(x), F.gelu(x, approximate="tanh"), F.silu(x), F.elu(x), F.hardswish(x), F.leaky_relu(x),
        F.mish(x)),
        f(3, 4),
    ),
    "where": (lambda x: (torch.where(x > 0, x, 0.0), x.masked_fill(x < 0, -1.0)), f(3, 4)),
    "casts": (lambda x: (x.to(torch.int32), x.bool(), x.double()), 3 * f(3, 4)),
    "reduce": (lambda x: (x.sum(), x.mean(1), x.amax((0, 2)), x.var(1), x.std(-1, keepdim=True), x.prod(0)), f(3, 4,
        5)),
    "places": (lambda x: (x.argmax(1), x.argmin(), *x.max(2), *x.min(0, keepdim=True)), f(3, 4, 5)),
    "places of NaN": (
        lambda x: (x.argmax(1), x.argmin(), *x.max(2), *x.min(0, keepdim=True)),
        f(3, 4, 5).masked_fill(torch.arange(60).reshape(3, 4, 5) % 13 == 7, float("nan")),
    ),
    "sums of integers": (lambda x: (x.sum(), x.sum(0), x.cumsum(1), (x > 1).any(), (x > 1).all(0)), i(3, 4,
        dtype=torch.int32)),
    "softmax": (lambda x: (x.softmax(-1), x.log_softmax(0), torch.logsumexp(x, 1)), f(3, 4)),
    "order": (lambda x: (*x.topk(2), *x.sort(descending=True)), f(3, 7)),
    "shapes": (lambda x: (x.view(4, 3), x.unsqueeze(1), x[None].squeeze(0), x.t(), x.flatten(), x.permute(1, 0)),
        f(3, 4)),
    "slices": (lambda x: (x[1:], x[..., ::2], x[-1], x[:, -2], x[:, 1:-1]), f(3, 5, 4)),
    "pieces": (lambda x: (*x.split(2), *x.chunk(2, 1), *x.unbind(2)), f(3, 4, 2)),
    "joins": (lambda x, y: (torch.cat([x, y], 1), torch.stack([x, x]), x.repeat(2, 1), x.roll(1, 0), x.flip(1)), f(3,
        4), f(3, 2)),
    "expand": (lambda x: x[:, None].expand(3, 5, 4) + 1, f(3, 4)),
    "pads": (lambda x: (F.pad(x, (1, 2)), F.pad(x, (1, 1, 2, 0), value=3.0)), f(2, 3, 4)),
    "made": (lambda x: (torch.arange(3, 9, 2) + x.size(0), torch.ones_like(x), torch.full((2, 2), 7), x.tril(),
        x.triu(1)), f(4, 4)),
    "index": (lambda x, n: (x[n], x.index_select(1, n), x[n, n], x[:, n]), f(4, 4), i(2, low=-2)[:1].abs()),
    "below zero": (lambda x, n: (x[n], x[n, n]), f(4, 4), torch.tensor([-1, 2, -3])),
    "gather": (lambda x, n: (x.gather(1, n), x.scatter(1, n, 5.0), x.scatter_add(1, n, x[:, :1])), f(4, 4), i(4, 1)),
    "embedding": (torch.nn.Embedding(9, 4), i(2, 5, high=9)),
    "products": (lambda x, y: (x @ y, x @ y[0], x[0] @ y[0, :, 0], torch.bmm(x, y), torch.mm(x[0], y[0])), f(2, 3,
        4), f(2, 4, 5)),
    "linear": (torch.nn.Linear(4, 3), f(2, 5, 4)),
    "attention": (lambda q, k: F.scaled_dot_product_attention(q, k, k), f(2, 3, 5, 8), f(2, 3, 7, 8)),
    "causal": (lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), f(2, 3, 5, 8)),
    "mask": (lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m), f(2, 3, 5, 8), torch.ones(5,
        5).tril().bool()),
    "conv1d": (torch.nn.Conv1d(4, 6, 3, stride=2, padding=1), f(2, 4, 9)),
    "conv2d": (torch.nn.Conv2d(4, 6, 3, padding="same", groups=2), IMAGE),
    "conv3d": (torch.nn.Conv3d(2, 3, 2, dilation=2), f(1, 2, 5, 6, 7)),
    "transposed": (torch.nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2), IMAGE),
    "norms": (
        torch.nn.Sequential(torch.nn.BatchNorm2d(4), torch.nn.GroupNorm(2, 4), torch.nn.LayerNorm([9, 8])).eval(),
        IMAGE,
    ),
    "pools": (
        lambda x: (F.max_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, (3, 4)), F.max_pool2d(x[0],
        2),
                   F.avg_pool2d(x, 3, padding=1, count_include_pad=False)),
        IMAGE,
    ),
    "writes": (
        lambda x, n, y: (x.index_put((n, n), y[0, 0]), x.index_put((n,), y, accumulate=True), x.slice_scatter(y, 0,
        1, 3),
                         x.select_scatter(y[0], 1, -1), x.masked_scatter(x > 0, y), x.index_put((x > 0,), y[0, 0]),
                         x.scatter_reduce(1, n[:, None], y, "amax", include_self=False)),
        f(4, 4), torch.tensor([-1, 2]).abs(), 9 * f(2, 4),
    ),
    "index anywhere": (lambda x, n: (x[:, n, :, n], x[:, n, n], x[x > 0], x[:, x[0, :, 0, 0] > 0]), f(2, 3, 4, 5),
        i(2)),
    "without axes": (lambda x: (x.softmax(0), x.sort(0)[0], x.var(0, correction=0), x.gather(0, torch.zeros((),
        dtype=int))), torch.tensor(2.0)),
    "norms of vectors": (
        lambda x: (x.norm(dim=1), x.norm(p=1), x.norm(p=float("inf"), dim=(0, 2)), x.norm(p=3, dim=2, keepdim=True),
        F.normalize(x, dim=1),
                   torch.cdist(x, 2 * x), torch.cdist(x, 2 * x, p=1), *torch.var_mean(x, 1)),
        f(3, 4, 5),
    ),
    "windows": (lambda x: (x.unfold(1, 3, 2), x.unfold(-1, 2, 1), F.adaptive_max_pool2d(x, 2)), f(2, 7, 5)),
    "signs": (
        lambda x, y: (torch.copysign(x, y), torch.signbit(y), torch.fmax(x, y), torch.fmin(x, y), torch.hypot(x, y),
        torch.exp2(x)),
        torch.tensor([1.0, -2, torch.nan, 0, 3e30]), torch.tensor([-0.0, 2, 5, 0, 3e30]),
    ),
    "sorted places": (
        lambda s, v: (torch.searchsorted(s, v), torch.bucketize(v, s, right=True), v.masked_select(v > 0)),
        torch.arange(5.0), f(3, 4),
    ),
    "onto": (lambda x, y: (torch.addmv(x[0], x, y), torch.addbmm(x, x[None], x[None], beta=2, alpha=3)), f(4, 4), f(4)),
    "folds": (lambda x: F.fold(F.unfold(x, 3, 2, 1, 2), (9, 8), 3, 2, 1, 2), IMAGE),
    "grids": (lambda x, g: F.grid_sample(x, g, align_corners=False), f(2, 3, 4, 5), f(2, 6, 7, 2)),
    "diagonals": (lambda x: (x.diagonal(1, 0, 2), x.diagonal(-1), x.as_strided((2, 2), (3, 7), 1)), f(3, 4, 5)),
    "quadrants": (
        lambda y, x: (torch.atan2(y, x), torch.expm1(y * 1e-4)),
        torch.tensor([0.0, -0.0, 0.0, -0.0, 1, -1, torch.inf, -torch.inf, torch.nan, 2]),
        torch.tensor([1.0, 1, -1, -0.0, 0, -0.0, torch.inf, -torch.inf, 1, -3]),
    ),
    "rounds": (lambda x: (torch.round(x, decimals=2), torch.round(100 * x, decimals=-1)), 9 * f(3, 5)),
    "pads around": (
        lambda x: (F.pad(x, (1, 2, 2, 0), mode="circular"), F.pad(x, (-1, 2)), F.pad(x, (1, 2, 3, 1), mode="reflect"),
                   F.pad(x, (2, -1), mode="replicate"), x.roll(3)),
        f(2, 4, 5),
    ),
    "places in pools": (lambda x: (*F.max_pool2d(x, 3, 2, 1, return_indices=True), *F.max_pool2d(x, 2,
        ceil_mode=True, return_indices=True)), IMAGE),
    "divisors": (
        lambda x: (F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), F.avg_pool2d(x, 3, 2, 1, divisor_override=4),
                   F.avg_pool2d(x, 3, 2, 1, count_include_pad=False, ceil_mode=True)),
        IMAGE,
    ),
    "pools of integers": (lambda x: (F.avg_pool2d(x, 3), F.max_pool2d(x, 2)), i(1, 2, 7, 6, low=-99, high=99)),
    "statistics": (
        lambda x: (*torch.native_layer_norm(x, (9, 8), None, None, 1e-5), *torch.native_group_norm(x, None, None, 2,
        4, 72, 2, 1e-5),
                   F.instance_norm(x)),
        IMAGE,
    ),
    "shared keys": (
        lambda q, k: F.scaled_dot_product_attention(q, k, k, enable_gqa=True), f(2, 6, 5, 8), f(2, 3, 7, 8),
    ),
    "rows without keys": (
        lambda q, m: (F.scaled_dot_product_attention(q, q, q, attn_mask=m),
                      F.scaled_dot_product_attention(q, q, q, attn_mask=torch.zeros(5, 5).masked_fill(~m, -torch.inf))),
        f(2, 3, 5, 8), torch.ones(5, 5).triu(1).bool(),
    ),
    "no elements": (lambda x: (x[:0], x.repeat(0, 2), torch.cat([x[:0], x])), f(3, 4)),
    "resize": (
        lambda x: (F.interpolate(x, scale_factor=2), F.interpolate(x, (12, 10), mode="bilinear"),
                   F.interpolate(x, (12, 10), mode="bilinear", align_corners=True)),
        IMAGE,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", each_nth(2, CASES))
def test_operators(name):
    function, *inputs = CASES[name]
    module = function if isinstance(function, torch.nn.Module) else Calls(function)
    imported = relay.from_pytorch(module, tuple(inputs))
    same(relay.evaluate(imported, inputs), module(*inputs))


def test_a_batch_and_a_length_that_vary():
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    torch.backends.mha.set_fastpath_enabled(False)
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("length")}
    model = relay.compile(relay.from_pytorch(layer, (f(2, 5, 16),), dynamic_shapes=(sizes,)))
    for batch, length in ((1, 4), (2, 5), (7, 11)):
        x = f(batch, length, 16)
        with torch.no_grad():
            same(model(x), layer(x))


def test_numbers_that_are_computed_from_sizes():
    class Means(torch.nn.Module):
        def forward(self, x, y):
            rows, columns = x.shape[0], y.shape[1]
            return x.sum() / rows, x * (columns - 1), y + (rows * 3 + 1) / 2, torch.full((2,), rows)

    rows, columns = torch.export.Dim("rows"), torch.export.Dim("columns")
    imported = relay.from_pytorch(Means(), (f(5, 4), f(3, 7)), dynamic_shapes=({0: rows}, {1: columns}))
    for inputs in ((f(5, 4), f(3, 7)), (f(2, 4), f(3, 9))):
        same(relay.compile(imported)(*inputs), Means()(*inputs))


def test_objects_files_and_bytes():
    x, content = f(2, 3), io.BytesIO()
    program = torch.export.export(torch.nn.Linear(3, 2), (x,))
    torch.export.save(program, content)
    wanted = program.module()(x)
    for model in (program, content.getvalue(), relay.load(program)):
        same(relay.compile(model)(x), wanted)


def test_torchscript():
    x = f(2, 3)
    traced = torch.jit.trace(torch.nn.Linear(3, 2), x)
    imported, params = relay.frontend.from_pytorch(traced, [("data", (2, 3))])
    assert params == {} and [param.name_hint for param in imported["main"].params] == ["data"]
    same(relay.compile(imported)(x), traced(x))


def test_torchscript_files(tmp_path):
    network, x, path = torch.nn.Linear(3, 2), f(2, 3), tmp_path / "network.pt"
    torch.jit.script(network).save(path)
    same(relay.compile(relay.from_pytorch(path, (x,)))(x), network(x))
    with pytest.raises(
        relay.CompileError, match=r"a TorchScript file, which does not describe (.|\n)*relay.from_pytorch\("
    ):
        relay.load(path)
    torch.save(network.state_dict(), path)
    with pytest.raises(relay.CompileError, match=r"is not a TorchScript file(.|\n)*torch.jit.save"):
        relay.from_pytorch(path, (x,))
    with pytest.raises(relay.CompileError, match="torch.save"):
        relay.load(path)


def test_weights_apart_from_the_module(tmp_path):
    network, other, x = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2), f(2, 3)
    kept = network.weight.clone()
    torch.save(other.state_dict(), tmp_path / "weights.pt")
    for state in (other.state_dict(), tmp_path / "weights.pt"):
        same(relay.compile(relay.from_pytorch(network, (x,), state_dict=state))(x), other(x))
    assert network.weight.equal(kept)
    with pytest.raises(relay.CompileError, match="the state dict does not belong to the Linear: (.|\n)*size mismatch"):
        relay.from_pytorch(network, (x,), state_dict=torch.nn.Linear(4, 2).state_dict())
    with pytest.raises(relay.CompileError, match="cannot be read as a state dict"):
        relay.from_pytorch(network, (x,), state_dict=tmp_path / "none.pt")


class Rows(torch.nn.Module):
    """Numbers of sizes, a loop over them, and methods of tensors."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)

    def forward(self, x):
        x = self.norm(self.conv(x))
        for _ in range(x.shape[1] - 1):
            x = torch.tanh(x) * float(x.size(0)) + len(x)
        return x.view(x.shape[0], -1).to(x.device) * (x.shape[1] + 1)


class Chosen(torch.nn.Module):
    def forward(self, x):
        if bool(x.sum() > 0):
            y = x + 1
        else:
            y = x * 2
        return y


@pytest.mark.parametrize("made", [torch.jit.script, lambda module: torch.jit.trace(module, f(2, 3, 6, 6))])
def test_torchscript_with_loops_over_numbers(made):
    module, x = Rows().eval(), f(2, 3, 6, 6)
    imported = relay.from_pytorch(made(module), (x,))
    assert imported["main"].params[0].name_hint == "x"
    same(relay.compile(imported)(x), module(x))


def test_torchscript_with_conditions():
    imported = relay.compile(relay.from_pytorch(torch.jit.script(Chosen()), (f(3),)))
    for x in (f(3).abs(), -f(3).abs()):
        same(imported(x), Chosen()(x))


def refused(module, *inputs):
    with pytest.raises(relay.CompileError) as error:
        relay.from_pytorch(module, inputs)
    return error.value.diagnostics[0]


def test_dropout_between_recurrent_layers_in_training_is_refused():
    said = refused(torch.nn.LSTM(4, 4, num_layers=2, dropout=0.5).train(), f(3, 2, 4))
    assert said.code == "R0403"
    assert "aten.lstm.input: dropout between the layers of a recurrent network in training" in said.message
    assert "torch/nn/modules/rnn.py:" in said.message and "relay/frontend" not in said.message


def test_everything_that_is_missing_is_named_at_once():
    said = refused(Calls(lambda x: torch.special.i0(torch.special.i0(x)) + torch.special.i1(x)), f(3))
    assert said.code == "R0403"
    assert "aten.i0.default (2 times)" in said.message and "aten.special_i1.default" in said.message
    assert "test_pytorch.py:" in said.message


def test_control_flow():
    class Chooses(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)

        def forward(self, x):
            def negative(x):
                return torch.cond(x.min() < -9, lambda x: x + 1, torch.sin, (x,))

            return torch.cond(x.sum() > 0, lambda x: self.linear(x), negative, (x,))

    class Counts(torch.nn.Module):
        def forward(self, count, x):
            return torch._higher_order_ops.while_loop(lambda n, x: n < 5, lambda n, x: (n + 1, x * 2), (count, x))

    network, x = Chooses(), f(3, 4)
    chooses = relay.from_pytorch(network, (x,), dynamic_shapes=({0: torch.export.Dim("batch")},))
    for data in (x.abs(), -x.abs(), -10 * x.abs() - 1, f(5, 4)):
        same(relay.compile(chooses)(data), network(data))
    counts = relay.from_pytorch(Counts(), (torch.tensor(0), x))
    for start in (torch.tensor(0), torch.tensor(3), torch.tensor(9)):
        same(relay.compile(counts)(start, x), Counts()(start, x))
        same(relay.evaluate(counts, [start, x]), Counts()(start, x))


@pytest.mark.slow
def test_steps_along_an_axis():
    def step(w, c, x):
        return torch.tanh(c @ w + x), (c * x).sin()

    class Scans(torch.nn.Module):
        def forward(self, x, w):
            last, all_of_them = scan(lambda c, x: step(w, c, x), torch.zeros(4), x)
            return last, all_of_them, torch._higher_order_ops.map(lambda row, w: row @ w + 1, x, w)

    scan, w = torch._higher_order_ops.scan, f(4, 4)
    for steps in (1, 5, 8):
        same(relay.compile(relay.from_pytorch(Scans(), (f(steps, 4), w)))(f(steps, 4), w), Scans()(f(steps, 4), w))
    steps = torch.export.Dim("steps", min=2)
    module = relay.from_pytorch(Scans(), (f(5, 4), w), dynamic_shapes=({0: steps}, None))
    for count in (2, 3, 9):
        same(relay.compile(module)(f(count, 4), w), Scans()(f(count, 4), w))
    module = relay.from_pytorch(Scans(), (f(3, 4), w))
    same(relay.evaluate(module, [f(3, 4), w]), Scans()(f(3, 4), w))


def test_what_is_missing_in_a_branch():
    said = refused(Calls(lambda x: torch.cond(x.sum() > 0, lambda x: torch.special.i0(x), lambda x: x + 1, (x,))), f(3))
    assert "aten.i0.default" in said.message and "test_pytorch.py:" in said.message


def test_sizes_out_of_the_exported_range():
    sizes = {0: torch.export.Dim("batch", min=3, max=8)}
    imported = relay.from_pytorch(torch.nn.Linear(4, 2), (f(5, 4),), dynamic_shapes=(sizes,))
    model = relay.compile(imported)
    assert model(f(3, 4)).shape == (3, 2) and model(f(8, 4)).shape == (8, 2)
    for batch, message in ((9, "<= 8`: 8 is less than 9"), (2, ">= 3`: 2 is less than 3")):
        for run in (model, lambda x: relay.evaluate(imported, [x])):
            with pytest.raises(relay.CompileError, match=f"input `input`: dimension 0 is {batch}, but .*{message}"):
                run(f(batch, 4))


def test_none_among_results():
    x = f(3)
    got, none = relay.compile(relay.from_pytorch(Calls(lambda x: (x + 1, None)), (x,)))(x)
    same(got, x + 1)
    assert none == ()
    assert "no result of the program is a tensor" in refused(Calls(lambda x: None), x).message


def test_elements_that_are_refused():
    said = refused(Calls(lambda x: x.to(torch.float32)), f(3).to(torch.float8_e5m2))
    assert "input `args_0`: elements of float8_e5m2 are not supported" in said.message


def test_an_operator_that_checks_its_operands():
    said = refused(Calls(lambda x: torch.linalg.cholesky(x)), torch.eye(3))
    assert "aten._linalg_check_errors.default" in said.message and "cholesky_ex" in said.message
    assert "test_pytorch.py:" in said.message


def test_an_index_out_of_range():
    model = relay.compile(relay.from_pytorch(Calls(lambda x, n: x[n]), (f(4), i(2))))
    with pytest.raises(relay.CompileError, match="R0604"):
        model(np.ones(4, np.float32), np.array([1, 4]))
    model = relay.compile(relay.from_pytorch(Calls(lambda x, n: x[n, n]), (f(4, 4), i(2))))
    with pytest.raises(relay.CompileError, match="R0604"):
        model(f(4, 4), torch.tensor([1, -5]))


def test_rows_that_are_picked_along_a_batch_that_varies():
    function = lambda x: (x[torch.arange(x.shape[0]), x.argmax(1)], x[x > 0].sum(), x / x.shape[0] ** 0.5)  # noqa: E731
    imported = relay.from_pytorch(Calls(function), (f(5, 4),), dynamic_shapes={"args": ({0: torch.export.Dim("n")},)})
    for x in (f(5, 4), f(2, 4)):
        same(relay.compile(imported)(x), function(x))


@pytest.mark.parametrize("function", [
    lambda x, n: F.embedding(n, x), lambda x, n: x.index_select(0, n), lambda x, n: x.gather(0, n[:, None]),
    lambda x, n: x.scatter(0, n[:, None], 1.0), lambda x, n: x.scatter_reduce(0, n[:, None], x[:2, :1], "sum"),
], ids=["embedding", "index_select", "gather", "scatter", "scatter_reduce"])  # fmt: skip
def test_an_index_below_zero_where_pytorch_refuses_it(function):
    imported = relay.from_pytorch(Calls(function), (f(4, 3), i(2)))
    for run in (relay.compile(imported), lambda *inputs: relay.evaluate(imported, inputs)):
        with pytest.raises(relay.CompileError, match="R0604.*is out of range(.|\n)*help: give indices from 0 to 3\n?$"):
            run(f(4, 3), torch.tensor([1, -1]))
        same(run(f(4, 3), torch.tensor([1, 3])), function(f(4, 3), torch.tensor([1, 3])))


def test_a_module_without_inputs_and_a_file_that_is_none(tmp_path):
    with pytest.raises(relay.CompileError, match="relay.from_pytorch"):
        relay.compile(torch.nn.Linear(2, 2))
    path = tmp_path / "none.pt2"
    path.write_bytes(b"PK nothing")
    with pytest.raises(relay.CompileError, match="torch.export.load"):
        relay.load(path)


class Tiles(torch.nn.Module):
    """Repeated, split and picked by numbers that are sizes."""

    def forward(self, x, y):
        n = x.shape[0]
        halves = torch.split(y, [n, y.shape[0] - n], 0)
        counted = torch.arange(n, -n, -1), torch.arange(y.shape[0] - n, y.shape[0] * 2)
        return *counted, y[:2].repeat(n, 3), x.repeat(1, n), y.select(0, n - 1), *halves, y[: torch.sym_max(n, 5)]


def test_numbers_that_are_sizes():
    n, m = torch.export.Dim("n", min=2, max=9), torch.export.Dim("m", min=10, max=30)
    model = relay.compile(relay.from_pytorch(Tiles(), (f(4, 3), f(12, 2)), dynamic_shapes=({0: n}, {0: m})))
    for rows, more in ((4, 12), (2, 10), (7, 11)):
        inputs = f(rows, 3), f(more, 2)
        for got, want in zip(model(*inputs), Tiles()(*inputs), strict=True):
            assert torch.equal(got, want)


def test_products_of_groups():
    """The translation of experts of transformers, and the histogram of the number of rows per expert."""
    pytest.importorskip("transformers.integrations.moe")

    class Experts(torch.nn.Module):
        def forward(self, x, w, ends):
            return (
                torch.ops.transformers.grouped_mm_fallback(x, w, ends),
                torch.histc(x, 5, -1, 1),
                torch.histc(x[0], 3),
            )

    x, w = f(7, 4), f(3, 4, 6)
    module = relay.from_pytorch(Experts(), (x, w, torch.tensor([2, 2, 7])))
    for executor in ("vm", "aot"):
        model = relay.compile(module, executor=executor)
        for ends in ([2, 2, 7], [0, 4, 7], [7, 7, 7]):
            same(model(x, w, torch.tensor(ends)), Experts()(x, w, torch.tensor(ends)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_deviations_whose_squares_overflow(dtype):
    x = (f(3, 40) * 1e20).to(dtype)
    module = Calls(lambda x: (x.std(1), x.std(), x.std(0, unbiased=False, keepdim=True)))
    got = relay.compile(relay.from_pytorch(module, (x,)))(x)
    for one, other in zip(got, module(x), strict=True):
        rtol = 1e-6 if dtype == torch.float32 else 2**-7
        torch.testing.assert_close(torch.as_tensor(one).float(), other.float(), rtol=rtol, atol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_places_in_pictures_of_halves_are_computed_in_more(dtype):
    """PyTorch computes places between pixels in halves: here results are within their rounding of the exact ones."""

    class Sampled(torch.nn.Module):
        def forward(self, x, grid):
            return F.grid_sample(x, grid, align_corners=False)

    inputs = f(2, 3, 40, 50).to(dtype), (2 * torch.rand(2, 6, 7, 2) - 1).to(dtype)
    got = relay.compile(relay.from_pytorch(Sampled(), inputs))(*inputs)
    exact = Sampled()(*(one.double() for one in inputs))
    eps = torch.finfo(dtype).eps
    assert got.dtype == dtype
    torch.testing.assert_close(got.double(), exact, rtol=eps, atol=eps)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_products_of_halves_are_rounded_after_the_sum(dtype):
    """The product, 2^k + 1, cannot be written in this type: rounded before the sum, the result is 0 or 2."""
    big = 1 / torch.finfo(dtype).eps * 2
    x, w = torch.tensor([[big, 1.0]]).to(dtype), torch.ones(1, 2).to(dtype)
    b = torch.tensor([-big]).to(dtype)
    module = Calls(lambda x, w, b: (
        F.linear(x, w, b), F.linear(x[None], w, b), torch.addmm(b, x, w.t()),
        torch.addmm(2 * b, x, w.t(), beta=0.5), torch.addmm(b, x, w.t(), beta=2, alpha=2), torch.addmv(b, x, w[0]),
        torch.baddbmm(b, x[None], w.t()[None]), torch.addbmm(b, x[None], w.t()[None]),
    ))  # fmt: skip
    got = relay.compile(relay.from_pytorch(module, (x, w, b)))(x, w, b)
    assert [(one.dtype, one.item()) for one in map(torch.as_tensor, got)] == [
        (dtype, k) for k in (1, 1, 1, 1, 2, 1, 1, 1)
    ]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_numbers_beside_halves_are_not_rounded_first(dtype):
    """1e5 is infinite as float16, and 1.1 has another last bit."""
    module = Calls(lambda x: (
        x * 1e5 / 1e5, x * 1.1, 1.1 * x, x / 1.1, x * torch.tensor(1.1), x / torch.tensor(-0.3), x // 0.3,
        torch.div(x, 1.1, rounding_mode="trunc"), F.leaky_relu(x - 0.5, 0.3), torch.tensor(1.1) * x,
    ))  # fmt: skip
    x = torch.linspace(0.01, 0.6, 99).to(dtype)
    got = relay.compile(relay.from_pytorch(module, (x,)))(x)
    for one, other in zip(got, module(x), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


class Sizes(torch.nn.Module):
    """Like patch embeddings of images, it also returns the sizes of its result."""

    def forward(self, x):
        y = x.flatten(2).transpose(1, 2)
        return y, x.shape[2], x.shape[3] * 2, 4, 0.5, True


def test_numbers_are_results():
    shapes = ({0: torch.export.Dim("n"), 2: torch.export.Dim("height")},)
    model = relay.compile(relay.from_pytorch(Sizes(), (torch.ones(2, 3, 4, 5),), dynamic_shapes=shapes))
    for height in (4, 9):
        x = torch.rand(3, 3, height, 5)
        patches, *numbers = model(x)
        torch.testing.assert_close(patches, Sizes()(x)[0])
        assert [one.item() for one in numbers] == [height, 10, 4, 0.5, True]
        assert all(one.dim() == 0 for one in numbers)
