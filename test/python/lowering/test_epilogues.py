"""The blocks that networks are made of: a convolution or a dense layer and what follows it, for every described
processor.

Each is compiled with --strict (targets.py): a schedule of ours that gives way to a simpler one is an error. Values are
compared with NumPy in double precision, on this machine as it is and with features masked off.
"""

import concurrent.futures
import os

import numpy as np
import pytest
from forms import each_nth
from programs import cli
from scipy.special import erf
from targets import DESCRIBED, MASKED, STRICT

import relay
from relay import op


def scale(y, factor):
    return y * relay.const(np.float32(factor))


def shift(y, term):
    return y + relay.const(np.float32(term))


def normal(random, *shape):
    return random.standard_normal(shape).astype(np.float32)


class Dense:
    """x (rows, terms) times a weight (columns, terms)."""

    axis = -1

    def __init__(self, rows, terms, columns):
        self.data, self.weight, self.result = (rows, terms), (columns, terms), (rows, columns)

    def __call__(self, x, w):
        return op.nn.dense(x, w)

    def exact(self, x, w):
        return x @ w.T

    def gate(self, y, random):
        """The equivalent of squeeze-excite for a dense layer: each row times a gate of its mean."""
        return y * op.sigmoid(op.mean(y, axis=-1, keepdims=True))

    def exact_gate(self, y, random):
        return y / (1 + np.exp(-y.mean(-1, keepdims=True)))


class Conv:
    """x (n, channels, height, width) through windows, padded to keep the size."""

    axis = 1

    def __init__(self, n, channels, height, width, outputs, window=1, stride=1, groups=1):
        self.data, self.weight = (n, channels, height, width), (outputs, channels // groups, window, window)
        self.how = dict(padding=[window // 2] * 2, strides=[stride] * 2, groups=groups)
        self.result = (n, outputs, *((size + window // 2 * 2 - window) // stride + 1 for size in (height, width)))

    def __call__(self, x, w):
        return op.nn.conv2d(x, w, **self.how)

    def exact(self, x, w):
        pad, stride, groups = self.how["padding"][0], self.how["strides"][0], self.how["groups"]
        x = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
        windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))[:, :, ::stride, ::stride]
        windows = windows.reshape(x.shape[0], groups, -1, *windows.shape[2:])
        w = w.reshape(groups, -1, *w.shape[1:])
        return np.einsum("ngcyxkl,gockl->ngoyx", windows, w, optimize=True).reshape(self.result)

    def weights_of_gate(self, random):
        outputs, few = self.weight[0], max(1, self.weight[0] // 4)
        down, up = normal(random, few, outputs, 1, 1), normal(random, outputs, few, 1, 1)
        return down / np.float32(outputs**0.5), up / np.float32(few**0.5)

    def gate(self, y, random):
        """Squeeze-excite: the means of the channels, through two small layers, times the channels."""
        down, up = self.weights_of_gate(random)
        means = op.mean(y, axis=[2, 3], keepdims=True)
        return y * op.sigmoid(op.nn.conv2d(op.nn.relu(op.nn.conv2d(means, relay.const(down))), relay.const(up)))

    def exact_gate(self, y, random):
        down, up = (w[:, :, 0, 0] for w in self.weights_of_gate(random))
        gates = np.maximum(y.mean((2, 3)) @ down.T, 0) @ up.T
        return y / (1 + np.exp(-gates))[:, :, None, None]


BLOCKS = {
    "conv 1x1, 64 of 80x80": Conv(1, 64, 80, 80, 64),
    "conv 1x1, 16 to 96 of 56x56": Conv(1, 16, 56, 56, 96),
    "conv 1x1, 256 to 512 of 14x14": Conv(1, 256, 14, 14, 512),
    "conv 1x1, 37 to 23 of 19x17": Conv(2, 37, 19, 17, 23),
    "conv 1x1, 1280 of 1x1": Conv(1, 320, 1, 1, 1280),
    "conv 1x1 in steps of 2": Conv(1, 48, 28, 28, 80, stride=2),
    "conv 3x3, 3 to 32 of 64x64 in steps of 2": Conv(1, 3, 64, 64, 32, window=3, stride=2),
    "conv 3x3, 64 of 28x28": Conv(1, 64, 28, 28, 64, window=3),
    "conv 3x3, 24 to 7 of 15x13": Conv(1, 24, 15, 13, 7, window=3),
    "conv 5x5, 16 of 20x20": Conv(1, 16, 20, 20, 16, window=5),
    "conv 3x3 in 4 groups": Conv(1, 32, 20, 20, 64, window=3, groups=4),
    "conv 3x3, depthwise, 96 of 28x28": Conv(1, 96, 28, 28, 96, window=3, groups=96),
    "conv 7x7, depthwise, 40 of 14x14": Conv(1, 40, 14, 14, 40, window=7, groups=40),
    "conv 16x16 in steps of 16": Conv(1, 3, 64, 64, 48, window=16, stride=16),
    "dense 1 x 512 x 1000": Dense(1, 512, 1000),
    "dense 197 x 192 x 768": Dense(197, 192, 768),
    "dense 64 x 1024 x 256": Dense(64, 1024, 256),
    "dense 49 x 96 x 96": Dense(49, 96, 96),
    "dense 7 x 33 x 5": Dense(7, 33, 5),
    "dense 300 x 2048 x 64": Dense(300, 2048, 64),
}


def sigmoid(y):
    return 1 / (1 + np.exp(-y))


def softmax(y, axis):
    powers = np.exp(y - y.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


# The epilogues, as Relay and in double precision: functions of the block, its result, a second array as large, and
# random numbers.
EPILOGUES = {
    "nothing": (lambda b, y, z, r: y, lambda b, y, z, r: y),
    "sigmoid": (lambda b, y, z, r: op.sigmoid(y), lambda b, y, z, r: sigmoid(y)),
    "SiLU": (lambda b, y, z, r: y * op.sigmoid(y), lambda b, y, z, r: y * sigmoid(y)),
    "erf": (lambda b, y, z, r: op.erf(y), lambda b, y, z, r: erf(y)),
    "GELU": (
        lambda b, y, z, r: scale(y, 0.5) * shift(op.erf(scale(y, 0.5**0.5)), 1),
        lambda b, y, z, r: y / 2 * (1 + erf(y * 0.5**0.5)),
    ),
    "GELU by tanh": (
        lambda b, y, z, r: scale(y, 0.5) * shift(op.tanh(scale(y + scale(y * y * y, 0.044715), (2 / np.pi) ** 0.5)), 1),
        lambda b, y, z, r: y / 2 * (1 + np.tanh((2 / np.pi) ** 0.5 * (y + 0.044715 * y**3))),
    ),
    "mish": (
        lambda b, y, z, r: y * op.tanh(op.log(shift(op.exp(y), 1))),
        lambda b, y, z, r: y * np.tanh(np.log1p(np.exp(y))),
    ),
    "hard swish": (
        lambda b, y, z, r: y * scale(op.clip(shift(y, 3), a_min=0.0, a_max=6.0), 1 / 6),
        lambda b, y, z, r: y * np.clip(y + 3, 0, 6) / 6,
    ),
    "softmax": (lambda b, y, z, r: op.nn.softmax(y, axis=b.axis), lambda b, y, z, r: softmax(y, b.axis)),
    "residual": (lambda b, y, z, r: op.nn.relu(y + z), lambda b, y, z, r: np.maximum(y + z, 0)),
    "SiLU and residual": (lambda b, y, z, r: y * op.sigmoid(y) + z, lambda b, y, z, r: y * sigmoid(y) + z),
    "residual and SiLU": (
        lambda b, y, z, r: (y + z) * op.sigmoid(y + z),
        lambda b, y, z, r: (y + z) * sigmoid(y + z),
    ),
    "squeeze-excite": (lambda b, y, z, r: b.gate(y, r), lambda b, y, z, r: b.exact_gate(y, r)),
    "SiLU and squeeze-excite": (
        lambda b, y, z, r: b.gate(y * op.sigmoid(y), r),
        lambda b, y, z, r: b.exact_gate(y * sigmoid(y), r),
    ),
}
# The same with the block's result as a second output: two uses.
KEPT = ["sigmoid", "SiLU", "GELU", "hard swish", "softmax", "residual", "squeeze-excite"]
CASES = [*((name, False) for name in EPILOGUES), *((name, True) for name in KEPT)]


def weight_of(block, random):
    return normal(random, *block.weight) / np.float32(np.sqrt(np.prod(block.weight[1:])))


def module_of(block, cases):
    """All these cases in one function, each with inputs and a weight of its own, so that none has to do with
    another."""
    results = []
    for number, (name, kept) in enumerate(cases):
        random = np.random.default_rng(number)
        y = block(relay.var(f"x{number}", block.data), relay.const(weight_of(block, random)))
        results.append(EPILOGUES[name][0](block, y, relay.var(f"z{number}", block.result), random))
        results += [y] if kept else []
    return relay.module(results[0] if len(results) == 1 else relay.Tuple(results))


def refusals(block, target, source):
    """The compiler's output for all cases on this target; by case if it refuses them. Only lowered: nothing runs."""

    def refused(cases, path):
        module_of(block, cases).save(str(path))
        done = cli("opt", path, "--target", target, *STRICT, "--emit", "loop", "-o", os.devnull)
        return done.stderr.strip() if done.returncode else ""

    if not refused(CASES, source.with_suffix(f".{target}.relay")):
        return []
    each = [(case, refused([case], source.with_suffix(f".{target}.relay"))) for case in CASES]
    said = [f"{target}: {name}{', kept' if kept else ''}: {text}" for (name, kept), text in each if text]
    return said or [f"{target}: all together, and none by itself"]


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", each_nth(2, BLOCKS))
def test_every_block_compiles_for_every_processor(name, step, tmp_path):
    """In steps of 4, each block is compiled for a quarter of the processors, and the next block for another quarter."""
    block, first = BLOCKS[name], list(BLOCKS).index(name) % step
    targets = [*DESCRIBED, *MASKED][first::step]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        refused = list(workers.map(lambda target: refusals(block, target, tmp_path / "block"), targets))
    assert not sum(refused, []), "\n".join(sum(refused, []))


# Blocks that are small enough to be computed in double precision, and by an emulated processor.
SMALL = [name for name, block in BLOCKS.items() if np.prod(block.result) * np.prod(block.weight[1:]) < 4e6]


@pytest.mark.parametrize("target", MASKED)
@pytest.mark.parametrize("name", each_nth(2, SMALL))
def test_values(name, target):
    block = BLOCKS[name]
    model = relay.compile(module_of(block, CASES), target=target)
    arrays, exact = {}, []
    for number, (case, kept) in enumerate(CASES):
        random = np.random.default_rng(number)
        w, given = weight_of(block, random), np.random.default_rng(100 + number)
        arrays[f"x{number}"] = x = normal(given, *block.data)
        z = normal(given, *block.result)
        if f"z{number}" in [port.name for port in model.inputs]:
            arrays[f"z{number}"] = z
        y = block.exact(x.astype(np.float64), w.astype(np.float64))
        exact.append((case, EPILOGUES[case][1](block, y, z, random)))
        exact += [(case, y)] if kept else []
    for got, (case, want) in zip(model(**arrays), exact, strict=True):
        assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max(), case
