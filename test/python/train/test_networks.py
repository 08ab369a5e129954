"""Networks that train on real data beside PyTorch: the same losses at first, and as good a result at the end."""

import numpy as np
import pytest
import relay.train as train
from forms import each_nth
from programs import ROOT
from real_data import digits, faces

import relay

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
F = torch.nn.functional

# Relative difference of losses. Each step multiplies the difference of the parameters by some factor above 1.
FIRST, LATER = 1e-4, 2e-2


def cross_entropy(scores, y, classes):
    return relay.nn.nll_loss(relay.nn.log_softmax(scores), y, relay.ones(shape=[classes], dtype="float32"))


def mlp(side, classes):
    """The loss and scores in Relay, and the network in PyTorch with the same parameters."""

    def scores(p, x):
        x = relay.reshape(x, newshape=(-1, side * side))
        for layer in (p["0"], p["2"]):
            x = relay.nn.relu(relay.nn.bias_add(relay.nn.dense(x, layer["weight"]), layer["bias"]))
        return relay.nn.bias_add(relay.nn.dense(x, p["4"]["weight"]), p["4"]["bias"])

    linear, relu = torch.nn.Linear, torch.nn.ReLU
    net = torch.nn.Sequential(linear(side * side, 64), relu(), linear(64, 32), relu(), linear(32, classes))
    return scores, net, lambda x: net(x.flatten(1))


def cnn(side, classes):
    def scores(p, x):
        x = relay.expand_dims(x, axis=1)
        x = relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(x, p["0"]["weight"], padding=[1, 1]), p["0"]["bias"]))
        x = relay.nn.max_pool2d(x, pool_size=[2, 2], strides=[2, 2])
        x = relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(x, p["3"]["weight"], padding=[1, 1]), p["3"]["bias"]))
        x = relay.reshape(relay.nn.global_avg_pool2d(x), newshape=(-1, 32))
        return relay.nn.bias_add(relay.nn.dense(x, p["7"]["weight"]), p["7"]["bias"])

    parts = [
        torch.nn.Conv2d(1, 16, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(16, 32, 3, padding=1),
    ]
    net = torch.nn.Sequential(
        *parts, torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(32, classes)
    )
    return scores, net, lambda x: net(x[:, None])


def nested(net):
    out = {}
    for name, value in net.named_parameters():
        part, _, last = name.partition(".")
        out.setdefault(part, {})[last] = value.detach().numpy()
    return out


def trained(make, data, split, epochs, seed, size=25):
    """Losses and accuracy on the rest of the data: ours and PyTorch's."""
    (x, y), classes = data, int(data[1].max()) + 1
    torch.manual_seed(seed)
    scores, net, apply = make(x.shape[1], classes)
    step = train.Step(
        lambda p, x, y: cross_entropy(scores(p, x), y, classes), nested(net),
        {"x": ("n", *x.shape[1:]), "y": (("n",), "int64")}, train.AdamW(3e-3), threads=1,
    )  # fmt: skip
    batches = train.Batches((x[:split], y[:split]), size, seed=seed)
    ours = train.fit(step, batches, epochs=epochs, progress=False).losses
    optimiser, theirs = torch.optim.AdamW(net.parameters(), lr=3e-3), []
    batches.epoch = batches.number = 0
    for _ in range(epochs):
        for a, b in batches:
            optimiser.zero_grad()
            loss = F.cross_entropy(apply(torch.from_numpy(a)), torch.from_numpy(b))
            loss.backward()
            optimiser.step()
            theirs.append(loss.item())
    right = apply(torch.from_numpy(x[split:])).argmax(1).numpy() == y[split:]
    net.load_state_dict(
        {name: torch.from_numpy(value) for name, value in step.arrays.items() if name in step.plan.types}
    )
    ours_right = apply(torch.from_numpy(x[split:])).argmax(1).numpy() == y[split:]
    return np.array(ours), np.array(theirs), ours_right.mean(), right.mean()


@pytest.mark.parametrize("make", each_nth(2, [mlp, cnn]))
def test_faces_beside_pytorch(make):
    ours, theirs, right, their_right = trained(make, faces(), 150, 8, seed=0)
    np.testing.assert_allclose(ours[:6], theirs[:6], rtol=FIRST)
    np.testing.assert_allclose(ours[:24], theirs[:24], rtol=LATER)
    assert right > 0.75 and abs(right - their_right) <= 0.06  # 3 of 50


@pytest.mark.slow
@pytest.mark.parametrize("make", [mlp, cnn])
def test_digits_beside_pytorch(make):
    data = digits()
    if data is None:
        pytest.skip("scikit-learn is not there: make test-train installs it")
    results = [trained(make, data, 1400, 10, seed, size=50) for seed in range(3)]
    for ours, theirs, *_ in results:
        np.testing.assert_allclose(ours[:10], theirs[:10], rtol=FIRST)
    right, their_right = ([one[i] for one in results] for i in (2, 3))
    spread = max(their_right) - min(their_right)
    print(f"digits, {make.__name__}: accuracy {np.round(right, 4)}, PyTorch {np.round(their_right, 4)}")
    assert min(right) > 0.7 and abs(np.mean(right) - np.mean(their_right)) <= max(spread, 0.01)


TREE = """#[version = "0.0.5"]
type Tree { Leaf(int64), Node(Tree, Tree) }

// A leaf is a row of %table; a node is tanh(W [left, right] + b).
def @encode(%t: Tree, %table: Tensor[(12, 8), float32], %w: Tensor[(8, 16), float32], %b: Tensor[(8), float32])
    -> Tensor[(1, 8), float32] {
  match (%t) {
    Leaf(%word) => take(%table, expand_dims(%word, axis=0), axis=0),
    Node(%left, %right) => {
      let %l = @encode(%left, %table, %w, %b);
      let %r = @encode(%right, %table, %w, %b);
      tanh(nn.bias_add(nn.dense(concatenate((%l, %r), axis=1), %w), %b))
    },
  }
}

def @main(%t: Tree, %y: float32, %table: Tensor[(12, 8), float32], %w: Tensor[(8, 16), float32],
          %b: Tensor[(8), float32], %v: Tensor[(1, 8), float32]) {
  let %error = subtract(sum(nn.dense(@encode(%t, %table, %w, %b), %v)), %y);
  (multiply(%error, %error), %error)
}"""


def random_tree(rng, depth):
    """An expression of digits, + (10) and * (11), as nested pairs, with its value modulo 3."""
    if depth == 0 or rng.random() < 0.2:
        digit = int(rng.integers(10))
        return digit, digit % 3
    left, a = random_tree(rng, depth - 1)
    right, b = random_tree(rng, depth - 1)
    return (left, right), (a + b) % 3


def test_recursive_networks_beside_pytorch():
    rng = np.random.default_rng(0)
    start = {"table": (12, 8), "w": (8, 16), "b": (8,), "v": (1, 8)}
    start = {name: (rng.standard_normal(shape) * 0.5).astype("float32") for name, shape in start.items()}
    step = train.Step(
        relay.parse(TREE), start, optimiser=train.Adam(1e-2), outputs=("loss", "error"), clip_norm=1.0, threads=1
    )
    leaf, node = relay.Data.maker("Leaf"), relay.Data.maker("Node")

    def value(tree):
        return node(value(tree[0]), value(tree[1])) if isinstance(tree, tuple) else leaf(np.int64(tree))

    table, w, b, v = weights = [torch.from_numpy(one.copy()).requires_grad_() for one in start.values()]
    optimiser = torch.optim.Adam(weights, lr=1e-2)

    def encode(tree):
        if not isinstance(tree, tuple):
            return table[tree][None]
        return torch.tanh(torch.cat([encode(tree[0]), encode(tree[1])], 1) @ w.T + b)

    trees = [random_tree(rng, 4) for _ in range(40)]
    for tree, y in trees:
        wanted = ((encode(tree) @ v.T).sum() - y) ** 2
        optimiser.zero_grad(set_to_none=False)  # a parameter that a tree does not need has the gradient 0
        wanted.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimiser.step()
        np.testing.assert_allclose(step(value(tree), np.float32(y)), wanted.detach(), rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(step.metrics["error"] ** 2, wanted.detach(), rtol=1e-3, atol=1e-4)
    for name, value_ in zip(start, weights, strict=True):
        np.testing.assert_allclose(step.arrays[name], value_.detach(), rtol=1e-3, atol=1e-4)


CHARACTERS = """#[version = "0.0.5"]
import "list"
def @read(%text: List[int64], %c: int64, %h: Tensor[(1, 32), float32], %sum: float32, %count: int32,
          %table: Tensor[(28, 32), float32], %u: Tensor[(32, 32), float32], %v: Tensor[(28, 32), float32])
    -> (float32, int32) {
  match (%text) {
    Nil => (%sum, %count),
    Cons(%next, %rest) => {
      let %x = take(%table, expand_dims(%c, axis=0), axis=0);
      let %now = tanh(add(%x, nn.dense(%h, %u)));
      let %scores = squeeze(nn.log_softmax(nn.dense(%now, %v)), axis=[0]);
      let %more = subtract(%sum, take(%scores, %next));
      @read(%rest, %next, %now, %more, add(%count, 1), %table, %u, %v)
    },
  }
}
def @main(%text: List[int64], %table: Tensor[(28, 32), float32], %u: Tensor[(32, 32), float32],
          %v: Tensor[(28, 32), float32]) {
  @read(%text, 0i64, zeros(shape=[1, 32], dtype="float32"), 0f, 0, %table, %u, %v)
}"""


def test_characters_of_a_page_beside_pytorch():
    """A recurrent network that reads lines of any length. The mean is over the characters of two lines a step."""
    lines = (ROOT / "docs" / "writing.md").read_text().lower().splitlines()
    texts = [
        [ord(c) - 96 if "a" <= c <= "z" else 27 if c == " " else 0 for c in line[:40]]
        for line in lines
        if len(line) > 30
    ]
    rng = np.random.default_rng(0)
    start = {"table": (28, 32), "u": (32, 32), "v": (28, 32)}
    start = {name: (rng.standard_normal(shape) * 0.2).astype("float32") for name, shape in start.items()}
    step = train.Step(
        relay.parse(CHARACTERS),
        start,
        optimiser=train.AdamW(5e-3),
        outputs=("loss", "count"),
        accumulate=2,
        clip_norm=1.0,
        threads=1,
    )
    table, u, v = weights = [torch.from_numpy(one.copy()).requires_grad_() for one in start.values()]
    optimiser, losses = torch.optim.AdamW(weights, lr=5e-3), []

    def total(text):
        h, c, out = torch.zeros(1, 32), 0, 0.0
        for following in text:
            h = torch.tanh(table[c][None] + h @ u.T)
            out, c = out - F.log_softmax(h @ v.T, 1)[0, following], following
        return out

    for first, second in zip(texts[0:24:2], texts[1:24:2], strict=True):
        wanted = (total(first) + total(second)) / (len(first) + len(second))
        optimiser.zero_grad()
        wanted.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimiser.step()
        step([np.int64(c) for c in first])
        losses.append(step([np.int64(c) for c in second]))
        np.testing.assert_allclose(losses[-1], wanted.detach(), rtol=1e-3)
    assert losses[-1] < 3.1 < losses[0]  # 3.3 is the logarithm of 28
    for name, value in zip(start, weights, strict=True):
        np.testing.assert_allclose(step.arrays[name], value.detach(), rtol=1e-2, atol=1e-4)
