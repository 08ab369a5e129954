"""Ten networks that are trained one step with relay.train beside PyTorch: the loss, and every parameter after it."""

from dataclasses import dataclass

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import relay.train as train  # noqa: E402

import relay  # noqa: E402
from relay import nn  # noqa: E402

T, F = torch.nn, torch.nn.functional
rng = np.random.default_rng(7)

# Relative to the largest element of the change: gradients of float32 in another order of sums.
TOLERANCE = 1e-4


def floats(*shape):
    return rng.standard_normal(shape).astype("float32")


def labels(count, classes):
    return rng.integers(0, classes, count)


class Residual:
    """The same network in both libraries: `lib` is relay.nn or torch.nn."""

    @staticmethod
    def of(lib, add):
        class Block(lib.Module):
            def __init__(self):
                super().__init__()
                self.conv1, self.norm1 = lib.Conv2d(4, 4, 3, padding=1, bias=False), lib.BatchNorm2d(4)
                self.conv2, self.norm2 = lib.Conv2d(4, 4, 3, padding=1, bias=False), lib.BatchNorm2d(4)
                self.relu, self.pool, self.flat, self.out = (
                    lib.ReLU(),
                    lib.AdaptiveAvgPool2d(1),
                    lib.Flatten(),
                    lib.Linear(4, 3),
                )

            def forward(self, x):
                y = self.norm2(self.conv2(self.relu(self.norm1(self.conv1(x)))))
                return self.out(self.flat(self.pool(self.relu(add(x, y)))))

        return Block()


def recurrent(lib, kind, last):
    class Net(lib.Module):
        def __init__(self):
            super().__init__()
            self.cells, self.out = getattr(lib, kind)(5, 6), lib.Linear(6, 3)

        def forward(self, x):
            return self.out(last(self.cells(x)[0]))

    return Net()


def encoder(lib, mean):
    class Net(lib.Module):
        def __init__(self):
            super().__init__()
            self.table = lib.Embedding(11, 8)
            self.layers = lib.ModuleList(
                [lib.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True) for _ in range(2)]
            )
            self.out = lib.Linear(8, 3)

        def forward(self, tokens):
            x = self.table(tokens)
            for one in self.layers:
                x = one(x)
            return self.out(mean(x))

    return Net()


def vision(lib, patches, mean):
    class Net(lib.Module):
        def __init__(self):
            super().__init__()
            self.embed = lib.Conv2d(3, 8, 4, stride=4)
            self.block = lib.TransformerEncoderLayer(8, 2, 16, 0.0, "gelu", batch_first=True, norm_first=True)
            self.norm, self.head = lib.LayerNorm(8), lib.Linear(8, 3)

        def forward(self, x):
            return self.head(mean(self.norm(self.block(patches(self.embed(x))))))

    return Net()


def last_of(x):
    return relay.take(x, relay.const(-1), axis=0, mode="wrap")


def row_mean(x):
    return relay.mean(x, axis=1)


def to_patches(x):
    return relay.transpose(relay.reshape(x, newshape=(0, 8, -1)), axes=(0, 2, 1))


SEQUENTIAL = {
    "perceptron": lambda lib: lib.Sequential(lib.Linear(6, 16), lib.Tanh(), lib.Linear(16, 3)),
    "convolutions": lambda lib: lib.Sequential(
        lib.Conv2d(3, 8, 3), lib.ReLU(), lib.MaxPool2d(2), lib.Flatten(), lib.Linear(72, 3)
    ),
    "transposed": lambda lib: lib.Sequential(
        lib.ConvTranspose2d(3, 4, 3, stride=2), lib.GELU(), lib.GroupNorm(2, 4), lib.AvgPool2d(17), lib.Flatten(),
        lib.Linear(4, 3),
    ),
    "sequence": lambda lib: lib.Sequential(
        lib.Conv1d(5, 8, 3, padding=1), lib.BatchNorm1d(8), lib.SiLU(), lib.AdaptiveAvgPool1d(1), lib.Flatten(),
        lib.Linear(8, 3),
    ),
}  # fmt: skip
IMAGES, SEQUENCES = floats(6, 3, 8, 8), floats(4, 6, 5)
NETWORKS = {
    "perceptron": (SEQUENTIAL["perceptron"], floats(6, 6)),
    "convolutions": (SEQUENTIAL["convolutions"], IMAGES),
    "transposed": (SEQUENTIAL["transposed"], IMAGES),
    "sequence": (SEQUENTIAL["sequence"], floats(6, 5, 9)),
    "residual": (lambda lib: Residual.of(lib, relay.add if lib is nn else torch.add), floats(6, 4, 7, 7)),
    "lstm": (lambda lib: recurrent(lib, "LSTM", last_of if lib is nn else lambda x: x[-1]), SEQUENCES),
    "gru": (lambda lib: recurrent(lib, "GRU", last_of if lib is nn else lambda x: x[-1]), SEQUENCES),
    "transformer": (lambda lib: encoder(lib, row_mean if lib is nn else lambda x: x.mean(1)), labels((6, 5), 11)),
    "vision": (
        lambda lib: vision(lib, to_patches, row_mean)
        if lib is nn
        else vision(lib, lambda x: x.flatten(2).transpose(1, 2), lambda x: x.mean(1)),
        IMAGES,
    ),
}  # fmt: skip


def compare_step(ours, theirs, step, batch, loss):
    """Runs a step of SGD in both, and compares losses and parameters."""
    before = {name: value.numpy().copy() for name, value in theirs.state_dict().items()}
    optimiser = torch.optim.SGD(theirs.parameters(), lr=0.1)
    value = loss(theirs)
    value.backward()
    optimiser.step()
    assert abs(float(step(*batch)) - float(value.detach())) < 1e-5
    after = step.params
    for name, wanted in theirs.state_dict().items():
        wanted, new = wanted.numpy(), after[name]
        scale = max(np.abs(wanted - before[name]).max(), 1e-3)
        assert np.abs(new - wanted).max() <= TOLERANCE * scale + 1e-7, name
    ours.load_state_dict(after)


@pytest.mark.parametrize("name", NETWORKS)
def test_network(name):
    make, x = NETWORKS[name]
    torch.manual_seed(3)
    ours, theirs = make(nn), make(T)
    ours.load_state_dict(theirs.state_dict())
    y = labels(6, 3)
    entropy = nn.CrossEntropyLoss()
    step = nn.step(ours, lambda net, x, y: entropy(net(x), y), {"x": x, "y": y}, train.SGD(0.1), threads=1)
    tensors = torch.from_numpy(x), torch.from_numpy(y)
    compare_step(ours, theirs, step, (x, y), lambda net: F.cross_entropy(net(tensors[0]), tensors[1]))
    ours.eval(), theirs.eval()
    result = theirs(tensors[0]).detach().numpy()
    assert np.abs(ours(x) - result).max() <= 1e-5 * np.abs(result).max() + 1e-6


@dataclass
class Word:
    x: "Tensor[(1, 4), float32]"  # noqa: F821 - a type of Relay


@dataclass
class Phrase:
    left: "Sentence"
    right: "Sentence"


Sentence = relay.data_type("Sentence", Word | Phrase)


class TreeLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.leaf, self.node = nn.Linear(4, 12), nn.Linear(12, 30)

    @relay.script
    def forward(self, tree: Sentence):
        match tree:
            case Word(x):
                c, o = relay.split(self.leaf(x), 2, axis=1)
                return relay.sigmoid(o) * np.tanh(c), c
            case Phrase(left, right):
                lh, lc = self.forward(left)
                rh, rc = self.forward(right)
                i, fl, fr, o, u = relay.split(self.node(np.concatenate((lh, rh), axis=1)), 5, axis=1)
                c = relay.sigmoid(i) * np.tanh(u) + relay.sigmoid(fl) * lc + relay.sigmoid(fr) * rc
                return relay.sigmoid(o) * np.tanh(c), c


class TorchTreeLSTM(T.Module):
    def __init__(self):
        super().__init__()
        self.leaf, self.node = T.Linear(4, 12), T.Linear(12, 30)

    def forward(self, tree):
        if isinstance(tree, Word):
            c, o = self.leaf(torch.from_numpy(tree.x)).chunk(2, 1)
            return torch.sigmoid(o) * torch.tanh(c), c
        lh, lc = self(tree.left)
        rh, rc = self(tree.right)
        i, fl, fr, o, u = self.node(torch.cat((lh, rh), 1)).chunk(5, 1)
        c = torch.sigmoid(i) * torch.tanh(u) + torch.sigmoid(fl) * lc + torch.sigmoid(fr) * rc
        return torch.sigmoid(o) * torch.tanh(c), c


def test_tree_lstm():
    torch.manual_seed(3)
    ours, theirs = TreeLSTM(), TorchTreeLSTM()
    ours.load_state_dict(theirs.state_dict())
    word = lambda: Word(floats(1, 4))  # noqa: E731
    tree, y = Phrase(Phrase(word(), word()), Phrase(word(), Phrase(word(), word()))), floats(1, 6)
    for a, b, c in zip(ours(tree), ours.forward.py(tree), theirs(tree), strict=True):
        wanted = c.detach().numpy()
        assert np.abs(a - wanted).max() < 1e-6 and np.abs(b - wanted).max() < 1e-6
    mse = nn.MSELoss()
    step = nn.step(ours, lambda net, t, y: mse(net(t)[0], y), {"t": Sentence, "y": (1, 6)}, train.SGD(0.1))
    compare_step(ours, theirs, step, (tree, y), lambda net: F.mse_loss(net(tree)[0], torch.from_numpy(y)))
