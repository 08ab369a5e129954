"""Steps that cannot be made, and batches that cannot be used: a diagnostic each, with a way out."""

import numpy as np
import pytest
import relay.train as train

import relay

W, B = np.ones((3, 4), "float32"), np.zeros(3, "float32")
BATCH = {"x": ("n", 4)}


def dense(p, x):
    return relay.nn.bias_add(relay.nn.dense(x, p["w"]), p["b"])


def mean(p, x):
    return relay.mean(dense(p, x))


def step(loss=mean, params=None, batch=BATCH, **options):
    return train.Step(loss, {"w": W, "b": B} if params is None else params, batch, threads=1, **options)


CASES = {
    "a loss with a shape": (
        lambda: step(dense),
        r"the loss has the type Tensor\[\(n, 3\), float32\] and is not a scalar.*\n.*mean",
    ),
    "a loss of integers": (
        lambda: step(lambda p, x: relay.cast(mean(p, x), dtype="int32")),
        "the loss has the type int32 and is not a scalar of floats",
    ),
    "no expression": (lambda: step(lambda p, x: 3.0), "the loss function returns a value of type float"),
    "no function": (lambda: step(3), "the loss is of type int"),
    "a parameter that is not used": (
        lambda: step(lambda p, x: relay.mean(relay.nn.dense(x, p["w"]))),
        r"no gradient with respect to 1 of the parameters: b\n.*groups=\{'b': None\}",
    ),
    "a parameter behind integers": (
        lambda: step(
            lambda p, x: mean(p, x) + relay.sum(relay.cast(relay.cast(p["c"], dtype="int32"), dtype="float32")),
            {"w": W, "b": B, "c": B},
        ),
        "no gradient with respect to 1 of the parameters: c",
    ),
    "a pattern that matches nothing": (
        lambda: step(
            params={"layer": {"w": W, "b": B}}, loss=lambda p, x: mean(p["layer"], x), groups={"*.bais": None}
        ),
        r"the group `\*.bais` matches no parameter\n.*layer.b",
    ),
    "an option that the optimiser lacks": (
        lambda: step(groups={"b": {"decay": 0}}),
        r"the group `b` changes decay, which Adam lacks\n.*weight_decay",
    ),
    "all parameters left out": (lambda: step(groups={"*": None}), "no parameter is trained"),
    "a parameter of integers": (
        lambda: step(params={"w": W, "b": B, "n": np.zeros(3, "int32")}),
        r"parameter `n` is a Tensor\[\(3\), int32\], which has no gradient",
    ),
    "a parameter that is no array": (
        lambda: step(params={"w": W, "b": object()}),
        "parameter `b` is of type object, not an array",
    ),
    "two parameters of one name": (lambda: step(params={"a.w": W, "a": {"w": W}}), "two parameters are called `a.w`"),
    "a batch input called as a parameter": (
        lambda: step(batch={"w": (3, 4)}),
        "`w` is a parameter and a part of the batch",
    ),
    "no batch": (lambda: step(batch=None), "the inputs of the loss function are not known"),
    "a matrix optimiser for a vector": (
        lambda: step(optimiser=train.Muon()),
        r"Muon updates matrices, and parameter `b`.*\n.*groups=\{'b'",
    ),
    "no optimiser": (lambda: step(optimiser="adam"), "the optimiser is of type str"),
    "a negative rate": (lambda: train.Adam(-1.0), "Adam: lr is -1.0, and must not be negative"),
    "a beta of one": (
        lambda: train.Adam(betas=(0.9, 1.0)),
        r"Adam: betas is \(0.9, 1.0\), and must be from 0 to below 1",
    ),
    "nesterov without a momentum": (lambda: train.SGD(0.1, nesterov=True), "nesterov needs a momentum"),
    "a precision that does not exist": (lambda: step(precision="int8"), "there is no precision 'int8'"),
    "no micro-batches": (lambda: step(accumulate=0), "accumulate is 0"),
    "a norm of nothing": (lambda: step(clip_norm=0.0), "clip_norm is 0.0"),
    "an average of more than all": (lambda: step(ema=1.5), "ema is 1.5"),
    "a scale that shrinks": (lambda: train.LossScaler(growth=0.5), "contradict"),
    "names that do not fit": (
        lambda: train.Step(
            relay.IRModule({"main": relay.Function([w := relay.var("w", shape=(3,))], relay.Tuple([relay.sum(w), w]))}),
            {"w": B},
        ),
        "the loss has 2 results and 1 names: loss",
    ),
    "a module without the parameter": (
        lambda: train.Step(
            relay.IRModule({"main": relay.Function([w := relay.var("w", shape=(3,))], relay.sum(w))}), {"w": B, "v": B}
        ),
        "has no parameter `v`",
    ),
    "an update of nothing": (
        lambda: step(lambda p, x: train.Result(mean(p, x), updates={"running": p["b"]})),
        "there is no parameter `running` to update",
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_steps_that_cannot_be_made(what):
    make, message = CASES[what]
    with pytest.raises(relay.InputError, match=message) as caught:
        make()
    assert "help: " in str(caught.value)


def test_batches_that_do_not_fit():
    made = step()
    x = np.ones((5, 4), "float32")
    for wrong, message in [
        ((x, x), "a batch of 0, 1 is given"),
        ((), "a batch of nothing is given"),
        ((np.ones((5, 3), "float32"),), "x"),
        ((np.ones((5, 4)),), "x"),
    ]:
        with pytest.raises(relay.InputError, match=message):
            made(*wrong)
    with pytest.raises(relay.InputError, match="a batch of y is given"):
        made(y=x)
    assert made.count == 0
    made(x=x)
    with pytest.raises(relay.InputError, match="there are no averages"):
        made.averages  # noqa: B018
