"""Steps within a number of bytes: activations are recomputed, and the training is the same."""

import numpy as np
import pytest
import relay.train as train
from relay.data import sizes

import relay


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def cross_entropy(scores, y):
    return relay.nn.nll_loss(relay.nn.log_softmax(scores), y, relay.ones(shape=[10], dtype="float32"))


def mlp(p, x, y):
    for weight in p["hidden"]:
        x = relay.tanh(relay.nn.dense(x, weight))
    return cross_entropy(relay.nn.dense(x, p["last"]), y)


MLP = {"hidden": [random(64, 64, seed=i) / 8 for i in range(20)], "last": random(10, 64, seed=99)}


def cnn(p, x, y):
    """Convolutions in residual blocks: a value is used by its block and by the sum behind it."""
    x = relay.nn.conv2d(x, p["first"], padding=[1, 1])
    for first, second in p["blocks"]:
        inner = relay.nn.relu(relay.nn.conv2d(x, first, padding=[1, 1]))
        x = relay.nn.relu(x + relay.nn.conv2d(inner, second, padding=[1, 1]))
    return cross_entropy(relay.nn.dense(relay.nn.batch_flatten(relay.nn.global_avg_pool2d(x)), p["last"]), y)


CNN = {
    "first": random(8, 3, 3, 3, seed=1) / 5,
    "blocks": [[random(8, 8, 3, 3, seed=10 * i + j) / 9 for j in range(2)] for i in range(6)],
    "last": random(10, 8, seed=2),
}
LABELS = np.random.default_rng(3).integers(10, size=256)
NETWORKS = {
    "mlp": (mlp, MLP, random(256, 64, seed=4), LABELS),
    "cnn": (cnn, CNN, random(8, 3, 16, 16, seed=5), LABELS[:8]),
}


def made(name, **options):
    loss, params, x, y = NETWORKS[name]
    batch = {"x": x.shape, "y": (y.shape, "int64")}
    return train.Step(loss, params, batch, train.Adam(1e-3), threads=1, **options)


@pytest.mark.parametrize("name, share", [("mlp", 0.8), ("cnn", 0.75), ("cnn", 0.5)])
def test_a_step_fits_and_computes_the_same(name, share):
    whole = made(name, memory="1G")
    bytes_ = whole.report["memory"]["arena_bytes"]
    small = made(name, memory=share * bytes_)
    assert small.report["memory"]["arena_bytes"] == small.memory.planned <= share * bytes_
    assert small.memory.segments > 1 and small.memory.whole == bytes_ == whole.memory.planned
    assert set(small.copied) <= set(made(name).copied)  # what is updated in place still is
    _, _, x, y = NETWORKS[name]
    for _ in range(4):
        np.testing.assert_allclose(small(x, y), whole(x, y), rtol=1e-5)
    for key, value in train.flatten(whole.params).items():
        np.testing.assert_allclose(train.flatten(small.params)[key], value, rtol=2e-4, atol=1e-5, err_msg=key)


def test_a_budget_that_suffices_recomputes_nothing():
    roomy = made("mlp", memory="1GiB")
    assert roomy.memory.segments == 1 and "annotation.checkpoint" not in roomy.module.astext()
    assert roomy.memory.planned < made("mlp").report["memory"]["arena_bytes"]  # gradients come before updates


def test_the_smallest_number_of_bytes_is_named_and_can_be_had():
    with pytest.raises(relay.InputError, match="needs more than 1000 bytes") as caught:
        made("mlp", memory=1000)
    least = int(str(caught.value).partition("give memory=")[2].partition(" ")[0])
    step = made("mlp", memory=least)
    assert step.memory.planned == least < 0.8 * step.memory.whole
    with pytest.raises(relay.InputError, match="needs more than"):
        made("mlp", memory=least - 1)


def test_a_gradient_that_is_not_finite_is_named_and_nothing_changes():
    def loss(p, x):
        return relay.mean(relay.sqrt(relay.nn.dense(relay.exp(x), p["w"]) * p["scale"]))

    params = {"w": abs(random(4, 4)), "scale": np.zeros((), "float32")}
    step = train.Step(loss, params, {"x": (2, 4)}, train.SGD(0.1), memory="1M", threads=1)
    with pytest.raises(train.NotFinite, match="the gradient of `(w|scale)` is not finite, the loss 0.0"):
        step(random(2, 4))
    assert step.count == 0 and np.array_equal(step.params["w"], params["w"])


def test_with_micro_batches_dropout_and_metrics():
    def loss(p, x, y):
        for weight in p["hidden"]:
            x = relay.nn.dropout(relay.tanh(relay.nn.dense(x, weight)), rate=0.1)
        scores = relay.nn.dense(x, p["last"])
        return train.Result(cross_entropy(scores, y), metrics={"mean": relay.mean(scores)})

    _, params, x, y = NETWORKS["mlp"]
    batch, found = {"x": x.shape, "y": (y.shape, "int64")}, []
    whole = train.Step(loss, params, batch, train.SGD(0.1), accumulate=2, seed=5, memory="1G", threads=1)
    small = train.Step(
        loss, params, batch, train.SGD(0.1), accumulate=2, seed=5, memory=0.7 * whole.memory.planned, threads=1
    )
    for step in (whole, small):
        found.append([(float(step(x, y)), float(step.metrics["mean"])) for _ in range(4)])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4)
    assert len({loss for loss, _ in found[0]}) == 4


@pytest.mark.parametrize("budget", ["64Q", -1, 0, True, "", [1], float("nan")])
def test_budgets_that_are_none(budget):
    with pytest.raises(relay.InputError, match="size|memory is"):
        made("mlp", memory=budget)


def test_open_sizes_and_branches_are_refused():
    with pytest.raises(relay.InputError, match="give all sizes of the batch as numbers"):
        train.Step(mlp, MLP, {"x": ("n", 64), "y": (("n",), "int64")}, memory="1M")

    def loss(p, x):
        value = relay.mean(relay.nn.dense(x, p))
        return relay.If(relay.less(value, relay.const(0.0)), value * value, relay.exp(value))

    with pytest.raises(relay.InputError, match="straight-line"):
        train.Step(loss, random(64, 64), {"x": (256, 64)}, memory="1k")


def test_sizes_in_words():
    assert [sizes.bytes_of(text) for text in ("1000", "64M", "1.5k", "2GiB", "3GB")] == [1000, 64e6, 1500, 2 << 30, 3e9]
