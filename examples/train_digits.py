#!/usr/bin/env python3
"""Trains a network on pictures of digits, evaluates it, and goes on where an earlier run stopped.

.venv/bin/python examples/train_digits.py [FOLDER]        FOLDER: of the checkpoints (default: a temporary one)

The pictures are those of scikit-learn: pip install scikit-learn, or make build/test-sklearn/ready.
"""

import pathlib
import sys
import tempfile

import numpy as np
import relay.train as train

import relay

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "build" / "test-sklearn"))


def digits():
    """Pictures of 8 x 8 and their labels: 1,500 to learn from, the other 297 to test with."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    x, y = (x / 16).astype("float32").reshape(-1, 1, 8, 8), y.astype("int64")
    return (x[:1500], y[:1500]), (x[1500:], y[1500:])


def scores(p, x):
    """Two convolutions and a dense layer."""
    for layer in (p["first"], p["second"]):
        x = relay.nn.bias_add(relay.nn.conv2d(x, layer["weight"], padding=[1, 1]), layer["bias"])
        x = relay.nn.max_pool2d(relay.nn.relu(x), pool_size=[2, 2], strides=[2, 2])
    x = relay.nn.dropout(relay.nn.batch_flatten(x), rate=0.25)
    return relay.nn.bias_add(relay.nn.dense(x, p["last"]["weight"]), p["last"]["bias"])


def loss(p, x, y):
    ones = relay.ones(shape=[10], dtype="float32")
    return relay.nn.nll_loss(relay.nn.log_softmax(scores(p, x)), y, ones)


def start():
    rng = np.random.default_rng(0)

    def layer(*shape):
        limit = np.prod(shape[1:]) ** -0.5
        return {"weight": rng.uniform(-limit, limit, shape).astype("float32"), "bias": np.zeros(shape[0], "float32")}

    return {"first": layer(16, 1, 3, 3), "second": layer(32, 16, 3, 3), "last": layer(10, 32 * 2 * 2)}


def main():
    learn, test = digits()
    step = train.Step(
        loss,
        start(),
        {"x": (50, 1, 8, 8), "y": ((50,), "int64")},
        train.AdamW(train.schedules.Warmup(train.schedules.Cosine(3e-3, steps=570), steps=30)),
        groups={"*.bias": {"weight_decay": 0.0}},
        clip_norm=1.0,
        ema=0.98,
    )
    network = train.Forward(scores, step.params, {"x": (len(test[0]), 1, 8, 8)})

    def accuracy(params):
        return float((network(params, test[0]).argmax(1) == test[1]).mean())

    folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
    data = train.Batches(learn, 50, seed=0, drop_last=True)
    run = train.fit(step, data, epochs=20, evaluate=accuracy, evaluate_every=150, checkpoints=folder)
    print(f"{run.evaluation:.1%} of the test pictures are right, {accuracy(step.averages):.1%} with averaged weights")
    assert run.evaluation > 0.9


if __name__ == "__main__":
    main()
