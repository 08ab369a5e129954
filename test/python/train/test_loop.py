"""The loop: progress, evaluation, hooks, Ctrl-C, data that end early, values that are not finite."""

import os
import signal

import numpy as np
import pytest
import relay.train as train

import relay


def made(rate=0.1):
    def loss(p, x, y):
        error = relay.nn.dense(relay.log(x), p["w"]) - y
        return relay.mean(error * error)

    start = {"w": np.zeros((1, 4), "float32")}
    return train.Step(loss, start, {"x": ("n", 4), "y": ("n", 1)}, train.SGD(rate), threads=1)


def arrays():
    x = np.exp(np.random.default_rng(0).standard_normal((32, 4))).astype("float32")
    return x, np.log(x) @ np.array([[1], [2], [-1], [0.5]], "float32")


def data(size=8):
    return train.Batches(arrays(), size)


def test_the_plain_loop_is_enough():
    step, batches = made(), data()
    losses = [float(step(x, y)) for _ in range(20) for x, y in batches]
    assert losses[-1] < losses[0] / 100


def test_fit_is_that_loop(capsys):
    step, plain, order = made(), made(), []
    run = train.fit(
        step,
        data(),
        epochs=6,
        evaluate=lambda params: float(params["w"].sum()),
        evaluate_every=10,
        hooks=[lambda run: order.append(("a", run.number)), lambda run: order.append(("b", run.number))],
    )
    batches = data()
    assert run.losses == [float(plain(x, y)) for _ in range(6) for x, y in batches]
    assert np.array_equal(step.arrays["w"], plain.arrays["w"])
    assert order[:4] == [("a", 1), ("b", 1), ("a", 2), ("b", 2)] and len(order) == 48
    assert [number for number, _ in run.evaluations] == [10, 20, 24]
    assert run.samples == 6 * 32
    said = capsys.readouterr().err
    assert "step 24/24: loss " in said and "samples/s" in said and "step 10: evaluation" in said


def test_evaluation_after_epochs_and_a_hook_that_stops():
    run = train.fit(made(), data(), epochs=3, evaluate=lambda params: 0, progress=False)
    assert [number for number, _ in run.evaluations] == [4, 8, 12]

    def enough(run):
        run.stop = run.loss < 0.5

    run = train.fit(made(), data(), steps=1000, hooks=[enough], progress=False)
    assert run.number < 100 and run.losses[-1] < 0.5 <= run.losses[-2]


def test_ctrl_c_saves_and_the_training_goes_on(tmp_path):
    before = signal.getsignal(signal.SIGINT)

    def interrupt(run):
        if run.number == 6:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train.fit(made(), data(), epochs=4, checkpoints=tmp_path, hooks=[interrupt], progress=False)
    assert train.Checkpoints(tmp_path).latest() == "step-00000006"
    step, whole = made(), made()
    run = train.fit(step, data(), epochs=4, checkpoints=tmp_path, progress=False)
    assert len(run.losses) == 10
    train.fit(whole, data(), epochs=4, progress=False)
    assert np.array_equal(step.arrays["w"], whole.arrays["w"])
    assert signal.getsignal(signal.SIGINT) is before


def test_any_iterable_and_data_that_end_early():
    x, y = arrays()
    batches = [(x[i : i + 8], y[i : i + 8]) for i in range(0, 32, 8)]
    assert train.fit(made(), batches, steps=6, progress=False).number == 6  # begins again
    assert train.fit(made(), batches, epochs=2, progress=False).number == 8
    with pytest.raises(relay.InputError, match="the data ended before step 5 of 6"):
        train.fit(made(), iter(batches), steps=6, progress=False)
    with pytest.raises(relay.InputError, match="the data ended before step 1 of 6"):
        train.fit(made(), [], steps=6, progress=False)
    with pytest.raises(relay.InputError, match="the data are of type int"):
        train.fit(made(), 3, steps=6)
    with pytest.raises(relay.InputError, match="give either steps or epochs"):
        train.fit(made(), batches)


def test_a_loss_that_is_not_finite_names_the_step_and_the_first_value():
    x, y = arrays()
    x[17, 2] = -1.0  # its logarithm
    step = made()
    with pytest.raises(train.NotFinite) as caught:
        train.fit(step, train.Batches((x, y), 8, shuffle=False), epochs=1, progress=False)
    said = str(caught.value)
    assert "step 3: the loss is nan. The parameters are those before this step" in said
    assert "the first value that is not finite is of log(Tensor[(n, 4), float32]): nan at [1, 2]" in said
    assert step.count == 2 and np.isfinite(step.arrays["w"]).all()
    x[17, 2] = np.inf
    assert step.explain(x, y) == "`x` is not finite: inf at [17, 2]"


def test_a_rate_that_is_too_high_is_noticed():
    step = made(rate=1e6)
    with pytest.raises(train.NotFinite, match=r"step \d+: the loss is (inf|nan)"):
        train.fit(step, data(), epochs=50, progress=False)
    assert np.isfinite(step.arrays["w"]).all()


def test_micro_batches_in_the_loop(tmp_path):
    def loss(p, x, y):
        error = relay.nn.dense(relay.log(x), p["w"]) - y
        return relay.mean(error * error)

    start = {"w": np.zeros((1, 4), "float32")}
    step = train.Step(loss, start, {"x": ("n", 4), "y": ("n", 1)}, train.SGD(0.1), accumulate=3, threads=1)
    run = train.fit(
        step,
        data(),
        steps=7,
        evaluate=lambda params: 0,
        evaluate_every=2,
        checkpoints=tmp_path,
        save_every=3,
        progress=False,
    )
    assert (run.number, step.calls, len(run.losses)) == (7, 21, 21)
    assert [number for number, _ in run.evaluations] == [2, 4, 6, 7]
    assert train.Checkpoints(tmp_path).names() == ["step-00000003", "step-00000006", "step-00000007"]
