"""Small networks with data, for trainings on several ranks."""

import numpy as np
import relay.train as train

import relay

CLASSES, VOCABULARY, LENGTH, HIDDEN, HEADS = 4, 12, 8, 16, 4


def mlp(rows=16):
    """Returns loss, parameters, types of a batch, and a function of a step's number that returns the batch."""
    rng = np.random.default_rng(0)

    def layer(outputs, inputs):
        weight = rng.standard_normal((outputs, inputs), dtype="float32") / np.sqrt(np.float32(inputs))
        return {"weight": weight, "bias": np.zeros(outputs, "float32")}

    params = {"hidden": [layer(32, 8), layer(16, 32)], "last": layer(CLASSES, 16)}

    def loss(p, x, y):
        for one in p["hidden"]:
            x = relay.tanh(relay.nn.bias_add(relay.nn.dense(x, one["weight"]), one["bias"]))
        x = relay.nn.bias_add(relay.nn.dense(x, p["last"]["weight"]), p["last"]["bias"])
        return relay.nn.nll_loss(relay.nn.log_softmax(x), y, relay.ones(shape=[CLASSES], dtype="float32"))

    def batch(step):
        rng = np.random.default_rng(1000 + step)
        x = rng.standard_normal((rows, 8)).astype("float32")
        return x, (np.abs(x).sum(1) * 10).astype("int64") % CLASSES

    return loss, params, {"x": (rows, 8), "y": ((rows,), "int64")}, batch


MLP_TENSOR = {"hidden.0.weight": "{model}, {}", "hidden.0.bias": "{model}", "hidden.1.weight": "{}, {model}"}


def cnn(rows=8):
    """The same for two convolutions with pooling."""
    rng = np.random.default_rng(0)

    def weight(*shape):
        return rng.standard_normal(shape, dtype="float32") / np.sqrt(np.float32(np.prod(shape[1:])))

    params = {"first": weight(8, 1, 3, 3), "second": weight(8, 8, 3, 3), "last": weight(CLASSES, 128)}

    def loss(p, x, y):
        for name in ("first", "second"):
            x = relay.nn.relu(relay.nn.conv2d(x, p[name], padding=[1, 1]))
            x = relay.nn.max_pool2d(x, pool_size=[2, 2], strides=[2, 2])
        x = relay.nn.dense(relay.reshape(x, newshape=(rows, 128)), p["last"])
        return relay.nn.nll_loss(relay.nn.log_softmax(x), y, relay.ones(shape=[CLASSES], dtype="float32"))

    def batch(step):
        rng = np.random.default_rng(1000 + step % 2)
        x = rng.standard_normal((rows, 1, 16, 16)).astype("float32")
        return x, (np.abs(x).sum((1, 2, 3)) * 10).astype("int64") % CLASSES

    return loss, params, {"x": (rows, 1, 16, 16), "y": ((rows,), "int64")}, batch


CNN_TENSOR = {"first": "{model}, {}, {}, {}"}


def gpt(rows=8, layers=2, hidden=HIDDEN, length=LENGTH, vocabulary=VOCABULARY):
    """The same for a decoder with causal attention of HEADS heads, on sequences that count upwards."""
    rng = np.random.default_rng(0)

    def matrix(*shape):
        return (rng.standard_normal(shape) / np.sqrt(shape[-1])).astype("float32")

    def block():
        return {"q": matrix(hidden, hidden), "k": matrix(hidden, hidden), "v": matrix(hidden, hidden),
                "o": matrix(hidden, hidden), "up": matrix(4 * hidden, hidden), "down": matrix(hidden, 4 * hidden),
                "norm1": np.ones(hidden, "float32"), "norm2": np.ones(hidden, "float32")}  # fmt: skip

    params = {"tokens": matrix(vocabulary, hidden), "places": matrix(length, hidden),
              "blocks": [block() for _ in range(layers)], "head": matrix(vocabulary, hidden)}  # fmt: skip
    mask = np.triu(np.full((length, length), -1e9, "float32"), 1)

    def norm(x, scale):
        return x * relay.rsqrt(relay.mean(x * x, axis=[-1], keepdims=True) + relay.const(np.float32(1e-5))) * scale

    def dense(x, w, batch):
        flat = relay.nn.dense(relay.reshape(x, newshape=(batch * length, w_columns(w))), w)
        return relay.reshape(flat, newshape=(batch, length, -1))

    def w_columns(w):
        return int(w.type_annotation.shape[1])

    def attention(p, x):
        def heads(w):
            return relay.reshape(dense(x, w, rows), newshape=(rows, length, HEADS, hidden // HEADS))

        scores = relay.einsum([heads(p["q"]), heads(p["k"])], equation="bqhd,bkhd->bhqk")
        weights = relay.nn.softmax(scores * relay.const(np.float32((hidden / HEADS) ** -0.5)) + relay.const(mask))
        y = relay.einsum([weights, heads(p["v"])], equation="bhqk,bkhd->bqhd")
        return relay.reshape(y, newshape=(rows, length, hidden))

    def loss(p, x, y):
        h = relay.take(p["tokens"], x, axis=0) + p["places"]
        for one in p["blocks"]:
            h = h + dense(attention(one, norm(h, one["norm1"])), one["o"], rows)
            h = h + dense(relay.nn.gelu(dense(norm(h, one["norm2"]), one["up"], rows)), one["down"], rows)
        scores = relay.reshape(dense(h, p["head"], rows), newshape=(rows * length, vocabulary))
        targets, ones = relay.reshape(y, newshape=(rows * length,)), relay.ones(shape=[vocabulary], dtype="float32")
        return relay.nn.nll_loss(relay.nn.log_softmax(scores), targets, ones)

    def batch(step):
        rng = np.random.default_rng(1000 + step)
        start, stride = rng.integers(0, vocabulary, (rows, 1)), rng.integers(1, 3, (rows, 1))
        text = (start + stride * np.arange(length + 1)) % vocabulary
        return text[:, :-1].astype("int64"), text[:, 1:].astype("int64")

    return loss, params, {"x": ((rows, length), "int64"), "y": ((rows, length), "int64")}, batch


GPT_TENSOR = {"*.q|*.k|*.v|*.up": "{model}, {}", "*.o|*.down": "{}, {model}"}


def losses(step, batch, steps=10):
    return [float(step(*batch(i))) for i in range(steps)]


def bits(params):
    return {name: np.asarray(value).tobytes() for name, value in train.flatten(params).items()}
