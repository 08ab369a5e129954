"""Every layer of relay.nn beside PyTorch's: results, gradients, state."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from beside_torch import check  # noqa: E402

from relay import nn  # noqa: E402

T = torch.nn
rng = np.random.default_rng(3)


def floats(*shape):
    return rng.standard_normal(shape).astype("float32")


X4, X5, X3, X2 = floats(2, 4, 9, 8), floats(2, 3, 6, 5, 7), floats(2, 4, 11), floats(6, 8)
INDICES = np.array([[0, 3, 3], [6, 1, 0]])

# name: (ours, theirs, inputs). Sizes that PyTorch needs are left out where that is possible.
CASES = {
    "linear": (lambda: nn.Linear(None, 5), lambda: T.Linear(8, 5), [X2]),
    "linear of outputs only": (lambda: nn.Linear(5), lambda: T.Linear(8, 5), [X2]),
    "linear without bias, three axes": (
        lambda: nn.Linear(11, 3, bias=False),
        lambda: T.Linear(11, 3, bias=False),
        [X3],
    ),
    "conv1d": (
        lambda: nn.Conv1d(None, 6, 3, stride=2, padding=1),
        lambda: T.Conv1d(4, 6, 3, stride=2, padding=1),
        [X3],
    ),
    "conv2d": (
        lambda: nn.Conv2d(None, 6, (3, 2), padding=(1, 0)),
        lambda: T.Conv2d(4, 6, (3, 2), padding=(1, 0)),
        [X4],
    ),
    "conv2d in groups": (
        lambda: nn.Conv2d(4, 8, 3, groups=2, dilation=2, bias=False),
        lambda: T.Conv2d(4, 8, 3, groups=2, dilation=2, bias=False),
        [X4],
    ),
    "conv2d depthwise": (lambda: nn.Conv2d(4, 4, 3, groups=4), lambda: T.Conv2d(4, 4, 3, groups=4), [X4]),
    "conv2d same": (lambda: nn.Conv2d(4, 5, 3, padding="same"), lambda: T.Conv2d(4, 5, 3, padding="same"), [X4]),
    "conv3d": (lambda: nn.Conv3d(None, 4, 3, padding=1), lambda: T.Conv3d(3, 4, 3, padding=1), [X5]),
    "transposed conv1d": (
        lambda: nn.ConvTranspose1d(None, 5, 3, stride=2),
        lambda: T.ConvTranspose1d(4, 5, 3, stride=2),
        [X3],
    ),
    "transposed conv2d": (
        lambda: nn.ConvTranspose2d(None, 5, 3, stride=2, padding=1, output_padding=1),
        lambda: T.ConvTranspose2d(4, 5, 3, stride=2, padding=1, output_padding=1),
        [X4],
    ),
    "transposed conv3d": (
        lambda: nn.ConvTranspose3d(3, 2, 2, stride=2),
        lambda: T.ConvTranspose3d(3, 2, 2, stride=2),
        [X5],
    ),
    "batch norm 1d": (lambda: nn.BatchNorm1d(), lambda: T.BatchNorm1d(8), [X2]),
    "batch norm 1d of sequences": (
        lambda: nn.BatchNorm1d(None, momentum=0.3),
        lambda: T.BatchNorm1d(4, momentum=0.3),
        [X3],
    ),
    "batch norm 2d": (lambda: nn.BatchNorm2d(None, eps=1e-3), lambda: T.BatchNorm2d(4, eps=1e-3), [X4]),
    "batch norm 2d, cumulative": (
        lambda: nn.BatchNorm2d(4, momentum=None),
        lambda: T.BatchNorm2d(4, momentum=None),
        [X4],
    ),
    "batch norm 3d": (lambda: nn.BatchNorm3d(), lambda: T.BatchNorm3d(3), [X5]),
    "layer norm": (lambda: nn.LayerNorm(), lambda: T.LayerNorm(8), [X2]),
    "layer norm of images": (lambda: nn.LayerNorm(8, eps=1e-6), lambda: T.LayerNorm(8, eps=1e-6), [X4]),
    "rms norm": (lambda: nn.RMSNorm(), lambda: T.RMSNorm(8), [X2]),
    "group norm": (lambda: nn.GroupNorm(2), lambda: T.GroupNorm(2, 4), [X4]),
    "group norm without scale": (lambda: nn.GroupNorm(2, affine=False), lambda: T.GroupNorm(2, 4, affine=False), [X4]),
    "instance norm 1d": (lambda: nn.InstanceNorm1d(4, affine=True), lambda: T.InstanceNorm1d(4, affine=True), [X3]),
    "instance norm 2d": (lambda: nn.InstanceNorm2d(), lambda: T.InstanceNorm2d(4), [X4]),
    "embedding": (lambda: nn.Embedding(7, 5), lambda: T.Embedding(7, 5), [INDICES]),
    "relu": (nn.ReLU, T.ReLU, [X4]),
    "relu6": (nn.ReLU6, T.ReLU6, [4 * X4]),
    "leaky relu": (lambda: nn.LeakyReLU(0.2), lambda: T.LeakyReLU(0.2), [X4]),
    "prelu": (lambda: nn.PReLU(), lambda: T.PReLU(), [X4]),
    "prelu of channels": (lambda: nn.PReLU(4), lambda: T.PReLU(4), [X4]),
    "elu": (lambda: nn.ELU(0.7), lambda: T.ELU(0.7), [X4]),
    "gelu": (nn.GELU, T.GELU, [X4]),
    "gelu by tanh": (lambda: nn.GELU("tanh"), lambda: T.GELU("tanh"), [X4]),
    "sigmoid": (nn.Sigmoid, T.Sigmoid, [X4]),
    "tanh": (nn.Tanh, T.Tanh, [X4]),
    "silu": (nn.SiLU, T.SiLU, [X4]),
    "hardswish": (nn.Hardswish, T.Hardswish, [4 * X4]),
    "softplus": (nn.Softplus, T.Softplus, [X4]),
    "softmax": (lambda: nn.Softmax(1), lambda: T.Softmax(1), [X4]),
    "log softmax": (lambda: nn.LogSoftmax(-1), lambda: T.LogSoftmax(-1), [X4]),
    "identity": (nn.Identity, T.Identity, [X4]),
    "dropout of nothing": (lambda: nn.Dropout(0.0), lambda: T.Dropout(0.0), [X4]),
    "max pool 1d": (lambda: nn.MaxPool1d(3, 2, 1), lambda: T.MaxPool1d(3, 2, 1), [X3]),
    "max pool 2d": (lambda: nn.MaxPool2d(2), lambda: T.MaxPool2d(2), [X4]),
    "max pool 2d, ceil": (lambda: nn.MaxPool2d(3, 2, ceil_mode=True), lambda: T.MaxPool2d(3, 2, ceil_mode=True), [X4]),
    "max pool 3d": (lambda: nn.MaxPool3d(2), lambda: T.MaxPool3d(2), [X5]),
    "avg pool 1d": (lambda: nn.AvgPool1d(3, 2, 1), lambda: T.AvgPool1d(3, 2, 1), [X3]),
    "avg pool 2d": (lambda: nn.AvgPool2d(3, 2, 1), lambda: T.AvgPool2d(3, 2, 1), [X4]),
    "avg pool 3d": (lambda: nn.AvgPool3d(2), lambda: T.AvgPool3d(2), [X5]),
    "adaptive avg pool 1d": (lambda: nn.AdaptiveAvgPool1d(4), lambda: T.AdaptiveAvgPool1d(4), [X3]),
    "adaptive avg pool 2d": (lambda: nn.AdaptiveAvgPool2d((3, 2)), lambda: T.AdaptiveAvgPool2d((3, 2)), [X4]),
    "adaptive max pool 2d": (lambda: nn.AdaptiveMaxPool2d((3, 2)), lambda: T.AdaptiveMaxPool2d((3, 2)), [X4]),
    "flatten": (nn.Flatten, T.Flatten, [X4]),
    "flatten in the middle": (lambda: nn.Flatten(1, 2), lambda: T.Flatten(1, 2), [X4]),
    "unflatten": (lambda: nn.Unflatten(1, (2, 2)), lambda: T.Unflatten(1, (2, 2)), [X4]),
    "upsample": (lambda: nn.Upsample(2), lambda: T.Upsample(scale_factor=2), [X4]),
    "upsample, bilinear": (
        lambda: nn.Upsample(2, "bilinear"),
        lambda: T.Upsample(scale_factor=2, mode="bilinear"),
        [X4],
    ),
    "upsample, corners": (
        lambda: nn.Upsample(2, "bilinear", True),
        lambda: T.Upsample(scale_factor=2, mode="bilinear", align_corners=True),
        [X4],
    ),
    "rnn": (lambda: nn.RNN(None, 5), lambda: T.RNN(8, 5), [floats(4, 3, 8)]),
    "lstm": (lambda: nn.LSTM(None, 5), lambda: T.LSTM(8, 5), [floats(4, 3, 8)]),
    "lstm, two layers, both ways": (
        lambda: nn.LSTM(8, 5, 2, bidirectional=True),
        lambda: T.LSTM(8, 5, 2, bidirectional=True),
        [floats(4, 3, 8)],
    ),
    "lstm, batch first, no bias": (
        lambda: nn.LSTM(None, 5, batch_first=True, bias=False),
        lambda: T.LSTM(8, 5, batch_first=True, bias=False),
        [floats(3, 4, 8)],
    ),
    "gru": (lambda: nn.GRU(None, 5), lambda: T.GRU(8, 5), [floats(4, 3, 8)]),
    "gru, two layers, both ways": (
        lambda: nn.GRU(8, 5, 2, bidirectional=True, batch_first=True),
        lambda: T.GRU(8, 5, 2, bidirectional=True, batch_first=True),
        [floats(3, 4, 8)],
    ),
    "transformer": (
        lambda: nn.TransformerEncoderLayer(8, 2, 16, 0.0),
        lambda: T.TransformerEncoderLayer(8, 2, 16, 0.0),
        [floats(4, 3, 8)],
    ),
    "transformer, norm first": (
        lambda: nn.TransformerEncoderLayer(8, 4, 16, 0.0, "gelu", batch_first=True, norm_first=True),
        lambda: T.TransformerEncoderLayer(8, 4, 16, 0.0, "gelu", batch_first=True, norm_first=True),
        [floats(3, 4, 8)],
    ),
    "mse loss": (nn.MSELoss, T.MSELoss, [X2, floats(6, 8)]),
    "l1 loss": (lambda: nn.L1Loss("sum"), lambda: T.L1Loss(reduction="sum"), [X2, floats(6, 8)]),
    "cross entropy": (nn.CrossEntropyLoss, T.CrossEntropyLoss, [X2, np.array([0, 7, 3, 1, 2, 2])]),
    "nll loss": (lambda: nn.NLLLoss("none"), lambda: T.NLLLoss(reduction="none"), [X2, np.array([0, 7, 3, 1, 2, 2])]),
    "bce with logits": (nn.BCEWithLogitsLoss, T.BCEWithLogitsLoss, [30 * X2, rng.random((6, 8)).astype("float32")]),
}


@pytest.mark.parametrize("name", CASES)
def test_layer(name):
    ours, theirs, inputs = CASES[name]
    torch.manual_seed(1)
    check(ours(), theirs(), inputs)


@pytest.mark.parametrize("name", [name for name in CASES if "norm" in name])
def test_layer_in_inference(name):
    ours, theirs, inputs = CASES[name]
    torch.manual_seed(1)
    check(ours(), theirs(), inputs, training=False)


class TestAttention:
    X, Y = floats(3, 4, 8), floats(3, 5, 8)

    def compare(self, inputs, call, **named):
        torch.manual_seed(1)
        ours, theirs = nn.MultiheadAttention(8, 2, **named), T.MultiheadAttention(8, 2, **named)
        check(ours, theirs, inputs, call=call)

    def test_self_attention(self):
        self.compare([self.X], lambda net, x: net(x, x, x, need_weights=False)[0], batch_first=True)

    def test_other_keys(self):
        self.compare([self.X, self.Y], lambda net, x, y: net(x, y, y, need_weights=False)[0], batch_first=True)

    def test_sequence_first(self):
        self.compare([self.X], lambda net, x: net(x, x, x, need_weights=False)[0])

    def test_without_bias(self):
        self.compare([self.X], lambda net, x: net(x, x, x, need_weights=False)[0], batch_first=True, bias=False)

    @pytest.mark.parametrize("kind", ["bool", "float"])
    def test_mask(self, kind):
        mask = np.triu(np.ones((4, 4), bool), 1) if kind == "bool" else floats(4, 4)
        call = lambda net, x, y, z, m: net(x, y, z, attn_mask=m, need_weights=False)[0]  # noqa: E731
        self.compare([self.X, self.X, self.X, mask], call, batch_first=True)

    def test_state_of_a_recurrent_layer(self):
        torch.manual_seed(1)
        state = floats(1, 3, 5), floats(1, 3, 5)
        ours, theirs = nn.LSTM(8, 5), T.LSTM(8, 5)
        ours.load_state_dict(theirs.state_dict())
        x = floats(4, 3, 8)
        out, (h, c) = ours(x, state)
        again = theirs(torch.from_numpy(x), tuple(map(torch.from_numpy, state)))
        for a, b in zip((out, h, c), (again[0], *again[1]), strict=True):
            assert np.abs(a - b.detach().numpy()).max() < 1e-6
