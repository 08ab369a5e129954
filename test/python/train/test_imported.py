"""Losses of imported models: PyTorch's, with batch norm, and ONNX's, beside PyTorch's own training."""

import copy

import numpy as np
import pytest
import relay.train as train
from programs import ROOT

import relay

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
F = torch.nn.functional


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3, bias=False),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(4 * 36, 3),
    )


def batches(count, rows=6):
    draw = torch.Generator().manual_seed(1)
    return [
        (torch.randn(rows, 1, 8, 8, generator=draw), torch.randint(3, (rows,), generator=draw)) for _ in range(count)
    ]


def loss(net, x, y):
    return F.cross_entropy(net(x), y)


def test_a_network_of_pytorch_trains_as_in_pytorch():
    theirs, given = network(), batches(6)
    module, params, outputs = train.from_torch(copy.deepcopy(theirs), loss, given[0])
    assert outputs == ("loss", "=1.running_mean", "=1.running_var")
    step = train.Step(module, params, optimiser=train.AdamW(1e-2), outputs=outputs, threads=1)
    optimiser = torch.optim.AdamW(theirs.parameters(), lr=1e-2)
    for x, y in given:
        wanted = loss(theirs, x, y)
        optimiser.zero_grad()
        wanted.backward()
        optimiser.step()
        np.testing.assert_allclose(step(x, y), wanted.detach(), rtol=1e-4)
    np.testing.assert_allclose(step.arrays["1.running_mean"], theirs[1].running_mean, rtol=1e-3, atol=1e-4)
    for name, value in theirs.named_parameters():
        np.testing.assert_allclose(step.arrays[name], value.detach(), rtol=1e-3, atol=1e-3)
    theirs.load_state_dict(
        {name: torch.from_numpy(value) for name, value in step.arrays.items() if name in params}, strict=False
    )
    x, y = batches(1, rows=4)[0]
    step(x, y)  # of another size


class Block(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.first, self.second = heads, torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        parts = self.qkv(self.first(x)).chunk(3, -1)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        x = x + self.out(mixed)
        return x + self.down(F.gelu(self.up(self.second(x))))


class GPT(torch.nn.Module):
    def __init__(self, words=28, width=32, layers=2, length=32):
        super().__init__()
        self.words, self.places = torch.nn.Embedding(words, width), torch.nn.Embedding(length, width)
        self.blocks = torch.nn.Sequential(*(Block(width, 4) for _ in range(layers)))
        self.norm, self.head = torch.nn.LayerNorm(width), torch.nn.Linear(width, words, bias=False)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.words(x) + self.places.weight)))


@pytest.mark.slow
def test_a_small_gpt_on_the_characters_of_pages():
    pages = "".join(path.read_text().lower() for path in sorted((ROOT / "docs").glob("*.md"))[:20])
    text = np.array([ord(c) - 96 if "a" <= c <= "z" else 27 if c == " " else 0 for c in pages], "int64")
    rows = text[: len(text) // 33 * 33].reshape(-1, 33)

    def loss(net, x, y):
        return F.cross_entropy(net(x).flatten(0, 1), y.flatten())

    torch.manual_seed(0)
    theirs = GPT()
    data = train.Batches((rows[:, :-1], rows[:, 1:]), 16, seed=0, drop_last=True)
    example = tuple(torch.from_numpy(part) for part in data.batch(0, 0))
    module, params, outputs = train.from_torch(copy.deepcopy(theirs), loss, example, any_size=False)
    assert outputs == ("loss",)
    rate = train.schedules.Warmup(train.schedules.Constant(3e-3), 10, 0.1)
    step = train.Step(module, params, optimiser=train.AdamW(rate), clip_norm=1.0, threads=1)
    ours = train.fit(step, data, steps=150, progress=False).losses
    optimiser = torch.optim.AdamW(theirs.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 0.1, 1.0, 10)
    wanted, data.epoch, data.number = [], 0, 0
    for x, y in data:
        value = loss(theirs, torch.from_numpy(x), torch.from_numpy(y))
        optimiser.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        wanted.append(value.item())
        if len(wanted) == 150:
            break
    print(
        f"GPT: loss {ours[0]:.3f} to {np.mean(ours[-10:]):.3f}, PyTorch {wanted[0]:.3f} to {np.mean(wanted[-10:]):.3f}"
    )
    np.testing.assert_allclose(ours[:10], wanted[:10], rtol=1e-4)
    np.testing.assert_allclose(np.mean(ours[-10:]), np.mean(wanted[-10:]), rtol=0.02)
    assert ours[-1] < 2.6 < ours[0]


def test_dropout_of_pytorch_is_refused():
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(0.5))
    with pytest.raises(relay.InputError, match="`1` is a Dropout, which an exported program lacks"):
        train.from_torch(net, lambda net, x: net(x).sum(), (torch.ones(3, 2),))


def test_constants_become_parameters():
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    w = np.random.default_rng(0).standard_normal((4, 3)).astype("float32")
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"]),
            helper.make_node("Mul", ["h", "h"], ["s"]),
            helper.make_node("ReduceMean", ["s"], ["y"], keepdims=0),
        ],
        "square", [helper.make_tensor_value_info("x", 1, [5, 4])], [helper.make_tensor_value_info("y", 1, [])],
        [onnx.numpy_helper.from_array(w, "w")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    module, params = train.with_parameters(relay.load(model))
    assert list(params) == ["p0"] and np.array_equal(params["p0"], w)
    step = train.Step(module, params, optimiser=train.SGD(0.1), threads=1)
    x = np.random.default_rng(1).standard_normal((5, 4)).astype("float32")
    np.testing.assert_allclose(step(x), ((x @ w) ** 2).mean(), rtol=1e-5)
    np.testing.assert_allclose(step.arrays["p0"], w - 0.1 * x.T @ (2 * (x @ w)) / 15, rtol=1e-5, atol=1e-6)
