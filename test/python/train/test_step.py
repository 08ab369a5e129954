"""The step: in place, clipped, accumulated, averaged, in groups, with state, saved."""

import numpy as np
import pytest
import relay.train as train

import relay

torch = pytest.importorskip("torch")


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


X, Y = random(12, 6, seed=1), random(12, 3, seed=2)


def params():
    return {
        "layers": [
            {"w": random(5, 6, seed=3), "b": random(5, seed=4)},
            {"w": random(3, 5, seed=5), "b": random(3, seed=6)},
        ]
    }


def forward(p, x):
    first, second = p["layers"]
    h = relay.tanh(relay.nn.bias_add(relay.nn.dense(x, first["w"]), first["b"]))
    return relay.nn.bias_add(relay.nn.dense(h, second["w"]), second["b"])


def squared(p, x, y):
    error = forward(p, x) - y
    return relay.mean(error * error)


BATCH = {"x": ("n", 6), "y": ("n", 3)}


def made(optimiser=None, loss=squared, batch=BATCH, **options):
    return train.Step(loss, params(), batch, optimiser or train.Adam(1e-2), threads=1, **options)


def network():
    first, second = torch.nn.Linear(6, 5), torch.nn.Linear(5, 3)
    for module, one in zip((first, second), params()["layers"], strict=True):
        module.weight.data, module.bias.data = torch.from_numpy(one["w"].copy()), torch.from_numpy(one["b"].copy())
    return torch.nn.Sequential(first, torch.nn.Tanh(), second)


def torch_loss(net, x=X, y=Y):
    return ((net(torch.from_numpy(x)) - torch.from_numpy(y)) ** 2).mean()


def same(step, net, rtol=2e-5):
    wanted = [one.detach().numpy() for one in net.parameters()]
    for got, want in zip(train.parameters.flatten(step.params).values(), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)


def test_parameters_and_moments_stay_where_they_are():
    step = made()
    before = {name: value.ctypes.data for name, value in step.arrays.items()}
    first = step(X, Y)
    second = step(x=X, y=Y)
    assert second < first and step.count == 2
    assert before == {name: value.ctypes.data for name, value in step.arrays.items()}
    assert step.params["layers"][0]["w"] is step.arrays["layers.0.w"]
    assert set(step.copied) <= {"state/step"}  # all else is updated in place


@pytest.mark.parametrize("limit", ["clip_norm", "clip_value"])
def test_clipping_beside_pytorch(limit):
    size = 0.05
    step, net = made(train.SGD(0.5), **{limit: size}), network()
    optimiser = torch.optim.SGD(net.parameters(), lr=0.5)
    for _ in range(5):
        step(X, Y)
        optimiser.zero_grad()
        torch_loss(net).backward()
        if limit == "clip_norm":
            norm = torch.nn.utils.clip_grad_norm_(net.parameters(), size)
            np.testing.assert_allclose(step.metrics["grad_norm"], norm, rtol=1e-5)
        else:
            torch.nn.utils.clip_grad_value_(net.parameters(), size)
        optimiser.step()
    same(step, net)


def summed(p, x, y):
    error = forward(p, x) - y
    return train.Result(relay.sum(error * error), count=relay.sum(relay.ones_like(y)))


def test_sums_and_counts_of_unequal_micro_batches_are_the_whole_batch():
    whole, parts = made(train.SGD(0.1)), made(train.SGD(0.1), loss=summed, accumulate=3)
    for _ in range(4):
        loss = whole(X, Y)
        for begin, end in ((0, 2), (2, 9), (9, 12)):
            before = parts.count
            partial = parts(X[begin:end], Y[begin:end])
        assert parts.count == before + 1
        np.testing.assert_allclose(partial, loss, rtol=1e-5)
    for name, value in whole.arrays.items():
        if name in whole.plan.types:
            np.testing.assert_allclose(parts.arrays[name], value, rtol=1e-4, atol=1e-6)


def test_means_of_equal_micro_batches_are_the_whole_batch():
    whole, parts = made(train.SGD(0.1)), made(train.SGD(0.1), accumulate=3)
    whole(X, Y)
    for begin in (0, 4, 8):
        parts(X[begin : begin + 4], Y[begin : begin + 4])
    for name in whole.plan.types:
        np.testing.assert_allclose(parts.arrays[name], whole.arrays[name], rtol=1e-5, atol=1e-6)
    assert parts.arrays["state/micro_batches"] == 0
    assert not [name for name in parts.copied if "accumulated" in name]


def test_averages_beside_pytorch():
    step, net = made(train.SGD(0.1), ema=0.8), network()
    averaged = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.8))
    averaged.update_parameters(net)  # takes the first parameters as they are
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(6):
        step(X, Y)
        optimiser.zero_grad()
        torch_loss(net).backward()
        optimiser.step()
        averaged.update_parameters(net)
    same(step, net)
    for got, want in zip(train.parameters.flatten(step.averages).values(), averaged.module.parameters(), strict=True):
        np.testing.assert_allclose(got, want.detach(), rtol=2e-5, atol=2e-5)


def test_groups_by_pattern():
    groups = {"layers.1.*": None, "*.b": {"weight_decay": 0.0}}
    step, net = made(train.AdamW(0.1, weight_decay=0.5), groups=groups), network()
    decayed, plain = [net[0].weight], [net[0].bias]
    optimiser = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.5}, {"params": plain, "weight_decay": 0}], lr=0.1
    )
    for _ in range(5):
        step(X, Y)
        optimiser.zero_grad()
        torch_loss(net).backward()
        optimiser.step()
    same(step, net)
    assert "state/exp_avg/layers.1.w" not in step.arrays


def test_metrics_and_moving_statistics():
    def loss(p, x, y):
        h, mean, variance = relay.nn.batch_norm(x, p["scale"], p["shift"], p["mean"], p["variance"])
        error = relay.nn.dense(h, p["w"]) - y
        worst = relay.max(relay.abs(error))
        return train.Result(
            relay.mean(error * error), metrics={"worst": worst}, updates={"mean": mean, "variance": variance}
        )

    start = {
        "scale": np.ones(6, "float32"),
        "shift": np.zeros(6, "float32"),
        "w": random(3, 6, seed=7),
        "mean": np.zeros(6, "float32"),
        "variance": np.ones(6, "float32"),
    }
    step = train.Step(loss, start, {"x": (12, 6), "y": (12, 3)}, train.SGD(0.1), threads=1)
    norm = torch.nn.BatchNorm1d(6)
    w = torch.from_numpy(start["w"].copy()).requires_grad_()
    optimiser = torch.optim.SGD([*norm.parameters(), w], lr=0.1)
    for _ in range(3):
        step(X, Y)
        optimiser.zero_grad()
        error = norm(torch.from_numpy(X)) @ w.T - torch.from_numpy(Y)
        (error**2).mean().backward()
        optimiser.step()
        np.testing.assert_allclose(step.metrics["worst"], error.abs().max().detach(), rtol=1e-4)
    np.testing.assert_allclose(step.arrays["mean"], norm.running_mean, rtol=1e-4, atol=1e-6)
    moved = 0.9**3 + (norm.running_var.numpy() - 0.9**3) * 11 / 12  # PyTorch's are of the unbiased variance
    np.testing.assert_allclose(step.arrays["variance"], moved, rtol=1e-4)
    np.testing.assert_allclose(step.arrays["scale"], norm.weight.detach(), rtol=1e-4)


def dropping(p, x, y):
    return squared(p, relay.nn.dropout(x, rate=0.5), y)


def test_dropout_draws_anew_in_each_step_and_by_its_seed():
    still = train.SGD(0.0)
    batch = {"x": (12, 6), "y": (12, 3)}
    one, other, third = (made(still, dropping, batch, seed=seed) for seed in (1, 1, 2))
    losses = [float(one(X, Y)) for _ in range(4)]
    assert len(set(losses)) == 4
    assert losses == [float(other(X, Y)) for _ in range(4)]
    assert losses != [float(third(X, Y)) for _ in range(4)]


def test_modules_and_saved_steps(tmp_path):
    module = relay.parse("""#[version = "0.0.5"]
def @main(%x: Tensor[(12, 6), float32], %w: Tensor[(3, 6), float32], %y: Tensor[(12, 3), float32]) {
  let %d = subtract(nn.dense(%x, %w), %y);
  (mean(multiply(%d, %d)), max(abs(%d)))
}""")
    start = {"w": random(3, 6, seed=7)}
    step = train.Step(module, start, optimiser=train.Adam(1e-2), outputs=("loss", "worst"), threads=1)
    step.save(tmp_path / "step.rart")
    saved, w = relay.load(tmp_path / "step.rart"), start["w"].copy()
    state = {name: value.copy() for name, value in step.state.items()}
    for _ in range(3):
        loss = step(X, Y)
        results = saved({"x": X, "y": Y, "w": w, **state})
        assert results[0] == loss
    assert np.array_equal(w, step.arrays["w"]) and state["state/step"] == 3
    assert step.metrics["worst"] > 0


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_short_types_train_as_well(precision):
    step, wide = made(precision=precision), made()
    losses = [float(step(X, Y)) for _ in range(60)]
    wanted = [float(wide(X, Y)) for _ in range(60)]
    assert "float16" in step.module.astext()
    assert step.arrays["layers.0.w"].dtype == np.float32
    np.testing.assert_allclose(losses, wanted, rtol=0.1)  # 8 bits of mantissa
    assert losses != wanted and losses[-1] < losses[0] / 4


def test_parameters_in_bfloat16_have_state_in_float32():
    from ml_dtypes import bfloat16

    start = {"w": random(3, 6).astype(bfloat16)}

    def loss(p, x, y):
        error = relay.cast(relay.nn.dense(x, p["w"]), dtype="float32") - y
        return relay.mean(error * error)

    step = train.Step(loss, start, {"x": ((12, 6), "bfloat16"), "y": (12, 3)}, train.Adam(1e-1), threads=1)
    losses = [float(step(X.astype(bfloat16), Y)) for _ in range(20)]
    assert step.arrays["state/exp_avg/w"].dtype == np.float32 and step.arrays["w"].dtype == bfloat16
    assert losses[-1] < losses[0]


def test_bits_do_not_depend_on_threads():
    one, two = made(), train.Step(squared, params(), BATCH, train.Adam(1e-2), threads=2)
    for _ in range(5):
        one(X, Y), two(X, Y)
    assert all(np.array_equal(one.arrays[name], two.arrays[name]) for name in one.arrays)
