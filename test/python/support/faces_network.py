"""A small network that recognises faces, trained on real pictures, for the tests of quantisation."""

import functools

import numpy as np
import relay.train as train
from real_data import faces

import relay


def scores(p, x):
    """Two convolutions, of which the second adds its input, and a dense layer."""
    nn = relay.nn
    x = nn.relu(nn.bias_add(nn.conv2d(x, p["first"]["weight"], padding=[1, 1], strides=[2, 2]), p["first"]["bias"]))
    y = nn.bias_add(nn.conv2d(x, p["second"]["weight"], padding=[1, 1]), p["second"]["bias"])
    x = nn.max_pool2d(nn.relu(relay.add(x, y)), pool_size=[3, 3], strides=[3, 3])
    return nn.bias_add(nn.dense(nn.batch_flatten(x), p["last"]["weight"]), p["last"]["bias"])


def loss(p, x, y):
    return relay.nn.nll_loss(relay.nn.log_softmax(scores(p, x)), y, relay.ones(shape=[2], dtype="float32"))


@functools.cache
def network():
    """A classifier of faces (LFW): the module for one picture, and 50 pictures that it has not seen, with labels."""
    x, y = faces()
    x = x[:, None]
    rng = np.random.default_rng(0)

    def layer(*shape):
        limit = np.prod(shape[1:]) ** -0.5
        return {"weight": rng.uniform(-limit, limit, shape).astype("float32"), "bias": np.zeros(shape[0], "float32")}

    start = {"first": layer(16, 1, 3, 3), "second": layer(16, 16, 3, 3), "last": layer(2, 16 * 4 * 4)}
    step = train.Step(loss, start, {"x": (25, 1, 25, 25), "y": ((25,), "int64")}, train.AdamW(3e-3))
    for _ in range(12):
        for i in range(0, 150, 25):
            step(x[i : i + 25], y[i : i + 25])
    weights = {name: {k: relay.const(np.array(v)) for k, v in one.items()} for name, one in step.params.items()}
    data = relay.var("x", shape=(1, 1, 25, 25))
    module = relay.IRModule({"main": relay.Function([data], scores(weights, data))})
    return module, x[:150, None], x[150:, None], y[150:]


def accuracy(module):
    model, (_, _, pictures, labels) = relay.compile(module), network()
    return np.mean([model(x).argmax() == label for x, label in zip(pictures, labels, strict=True)])


def operators(module):
    found = []
    relay.analysis.post_order_visit(
        module["main"], lambda e: found.append(e.op.name) if isinstance(e, relay.Call) else None
    )
    return found
