"""Programs in training mode: batch_norm with the statistics of the batch, dropout with random masks."""

import numpy as np
import pytest

import relay

torch = pytest.importorskip("torch")
F = torch.nn.functional


def var(name, *shape):
    return relay.var(name, shape=shape, dtype="float32")


def random(*shape, seed):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def normalised(result):
    """@main of `result(x_hat, moving_mean, moving_var)` after a batch_norm of 5 channels."""
    x, g, b, mean, variance = var("x", 6, 5, 4, 3), var("g", 5), var("b", 5), var("mean", 5), var("variance", 5)
    y = relay.nn.batch_norm(x, g, b, mean, variance, epsilon=1e-3)
    return relay.IRModule({"main": relay.Function([x, g, b, mean, variance], result(y[0], y[1], y[2]))})


ARRAYS = [random(6, 5, 4, 3, seed=1) * 2 + 1, random(5, seed=2), random(5, seed=3), random(5, seed=4)]
ARRAYS.append(np.abs(random(5, seed=5)) + 0.5)


@pytest.mark.parametrize("opt_level", [0, 1, 2, 3])
def test_batch_norm_takes_statistics_of_the_batch(opt_level):
    mod = normalised(lambda y, mean, variance: relay.Tuple([y, mean, variance]))
    x, g, b, mean, variance = (torch.tensor(a, dtype=torch.float64) for a in ARRAYS)
    got = relay.compile(mod, mode="training", opt_level=opt_level)(*ARRAYS)
    want = F.batch_norm(x, None, None, g, b, training=True, eps=1e-3)
    batch = x.transpose(0, 1).flatten(1)
    moved = [0.9 * mean + 0.1 * batch.mean(1), 0.9 * variance + 0.1 * batch.var(1, unbiased=False)]
    for one, expected in zip(got, [want, *moved], strict=True):
        np.testing.assert_allclose(one, expected, rtol=2e-5, atol=2e-5)
    inference = relay.compile(mod, opt_level=opt_level)(*ARRAYS)
    np.testing.assert_allclose(inference[0], F.batch_norm(x, mean, variance, g, b, eps=1e-3), rtol=2e-5, atol=2e-5)
    assert np.array_equal(inference[1], ARRAYS[3])


@pytest.mark.parametrize("axis", [1, 3])
def test_statistics_of_large_batches_in_one_pass(axis):
    shape = (16, 64, 64, 48) if axis == 1 else (16, 64, 48, 64)  # 12 MB: beyond L2
    rest = tuple(d for d in range(4) if d != axis)
    data = var("x", *shape)
    mean = relay.mean(data, axis=rest, keepdims=True)
    mod = relay.IRModule({"main": relay.Function([data], relay.Tuple([mean, relay.variance(data, axis=rest)]))})
    x = random(*shape, seed=6) + 300 + 50 * np.arange(shape[0], dtype="float32").reshape(-1, 1, 1, 1)
    got = relay.compile(mod)(x)
    np.testing.assert_allclose(got[0], x.mean(rest, keepdims=True, dtype="float64"), rtol=1e-5)
    np.testing.assert_allclose(got[1], x.var(rest, dtype="float64"), rtol=1e-5)


def test_the_share_of_the_batch_is_an_option():
    mod = normalised(lambda y, mean, variance: mean)
    trained = relay.run_passes(mod, ["training_forms"], options={"training_forms.momentum": "1"})
    np.testing.assert_allclose(relay.compile(trained)(*ARRAYS), ARRAYS[0].mean((0, 2, 3)), rtol=1e-5)
    with pytest.raises(relay.CompileError, match="a number from 0 to 1"):
        relay.run_passes(mod, ["training_forms"], options={"training_forms.momentum": "much"})


def test_batch_norm_is_differentiated_as_it_trains():
    mod = normalised(lambda y, mean, variance: relay.sum(y * y * y))
    made = relay.value_and_grad(mod, ["x", "g", "b"], mode="training")
    x, g, b = (torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in ARRAYS[:3])
    want = (F.batch_norm(x, None, None, g, b, training=True, eps=1e-3) ** 3).sum()
    value, got = relay.compile(made)(*ARRAYS)
    np.testing.assert_allclose(value, want.detach(), rtol=1e-4)
    for one, expected in zip(got, torch.autograd.grad(want, [x, g, b]), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-4, atol=1e-4 * float(expected.abs().max()))


def test_second_derivatives_of_batch_norm_as_it_trains():
    mod = normalised(lambda y, mean, variance: relay.sum(y * y * y))
    x, g, b = (torch.tensor(a, dtype=torch.float64) for a in ARRAYS[:3])

    def loss(x, g):
        return (F.batch_norm(x, None, None, g, b, training=True, eps=1e-3) ** 3).sum()

    def near(got, want):
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3 * float(want.abs().max()))

    changes = [random(*a.shape, seed=10 + k) for k, a in enumerate(ARRAYS)]
    d_x, d_g = (torch.tensor(a, dtype=torch.float64) for a in changes[:2])
    changes[2] = np.zeros_like(changes[2])
    _, want = torch.func.jvp(loss, (x, g), (d_x, d_g))
    near(relay.compile(relay.jvp(mod, mode="training"))(*ARRAYS, *changes)[1], want)
    _, want = torch.func.jvp(torch.func.grad(lambda x: loss(x, g)), (x,), (d_x,))
    near(relay.compile(relay.hvp(mod, "x", mode="training"))(*ARRAYS, changes[0]), want)
    want = torch.func.hessian(lambda g: loss(x, g))(g)
    near(relay.compile(relay.hessian(mod, "g", mode="training"))(*ARRAYS), want)


def dropped(rate):
    x = var("x", 64, 64)
    return relay.IRModule({"main": relay.Function([x], relay.nn.dropout(x, rate=rate))})


def key(seed):
    return np.array([seed] + [0] * 9, "uint64")


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_dropout_drops_its_share(rate):
    model = relay.compile(dropped(rate), mode="training")
    x = np.abs(random(64, 64, seed=6)) + 1
    y = model(x, key(7))
    kept = y != 0
    np.testing.assert_allclose(y[kept], x[kept] / np.float32(1 - rate), rtol=1e-6)
    # Within five standard deviations of a binomial distribution.
    assert abs(kept.mean() - (1 - rate)) < 5 * np.sqrt(rate * (1 - rate) / kept.size)
    assert np.array_equal(y, model(x, key(7))) and not np.array_equal(y, model(x, key(8)))
    assert np.array_equal(relay.compile(dropped(rate))(x), x)


def test_two_dropouts_draw_apart_and_their_gradient_is_the_mask():
    x = var("x", 64, 64)
    twice = relay.nn.dropout(relay.nn.dropout(x, rate=0.5), rate=0.5)
    mod = relay.IRModule({"main": relay.Function([x], relay.sum(twice))})
    ones = np.ones((64, 64), "float32")
    slope = relay.compile(relay.grad(mod, "x", mode="training"))(ones, key(1))
    assert set(np.unique(slope)) == {0, 4}
    assert abs((slope != 0).mean() - 0.25) < 0.04  # were both masks the same, it would be 0.5


def test_a_rate_of_nothing_needs_no_generator():
    assert len(relay.run_passes(dropped(0.0), ["training_forms"])["main"].params) == 1
    everything = relay.compile(dropped(1.0), mode="training")
    assert not everything(np.ones((64, 64), "float32"), key(1)).any()


def test_dropout_where_each_call_would_draw_the_same():
    x, y = var("x", 4, 4), var("y", 4, 4)
    layer = relay.GlobalVar("layer")
    mod = relay.IRModule(
        {
            layer: relay.Function([y], relay.nn.dropout(y)),
            "main": relay.Function([x], relay.Call(layer, [relay.Call(layer, [x])])),
        }
    )
    with pytest.raises(relay.CompileError, match="every call would draw the same numbers"):
        relay.compile(mod, mode="training")


def test_sizes_that_are_not_known():
    x = relay.var("x", shape=("n", 4))
    mod = relay.IRModule({"main": relay.Function([x], relay.nn.dropout(x))})
    with pytest.raises(relay.CompileError, match="n is not known"):
        relay.compile(mod, mode="training")


def test_a_mode_that_does_not_exist():
    with pytest.raises(relay.CompileError, match="inference or training"):
        relay.compile(dropped(0.5), mode="fine-tuning")
    with pytest.raises(ValueError, match="there is no mode"):
        relay.grad(dropped(0.5), mode="fine-tuning")
