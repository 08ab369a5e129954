"""Values of 9 to 16 bits: their errors, sums that int32 holds whatever the data are, and the kernels that add them."""

import json

import numpy as np
import pytest
from faces_network import network, operators
from programs import cli, needs_program
from targets import rules_for

import relay

QUIET = {"keep_float": "never", "seconds": 0}
RNG = np.random.default_rng(5)


def integers(*shape):
    """Weights that eight bits represent, so that all errors are those of the data."""
    weight = RNG.integers(-127, 128, shape).astype("float32")
    weight.reshape(shape[0], -1)[:, 0] = 127
    return relay.const(weight / 128)


def chain():
    """A convolution of three channels, another one, and a product, with what stands between them."""
    x = relay.var("x", shape=(1, 3, 12, 12))
    y = relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(x, integers(8, 3, 3, 3), padding=[1, 1]), integers(8)))
    y = relay.nn.max_pool2d(relay.nn.conv2d(y, integers(6, 8, 3, 3)), pool_size=[2, 2], strides=[2, 2])
    module = relay.IRModule({"main": relay.Function([x], relay.nn.dense(relay.nn.batch_flatten(y), integers(10, 150)))})
    return module, [RNG.standard_normal((1, 3, 12, 12)).astype("float32") for _ in range(8)]


def test_errors_become_smaller_with_each_bit():
    module, data = chain()
    errors = {bits: relay.quantize(module, data, bits=bits, **QUIET).report["error"] for bits in (8, 10, 12, 16)}
    print(errors)
    # Two bits divide the steps by four.
    assert errors[10] < 0.4 * errors[8] and errors[12] < 0.4 * errors[10] and errors[16] < 2e-4


@pytest.mark.parametrize("symmetric", [False, True])
def test_integers_are_those_of_the_simulation(symmetric):
    """Sums of integers are exact. Floats round them, which may move a value to the next of 65,536 steps."""
    module, data = chain()
    made = [relay.quantize(module, data, bits=16, symmetric=symmetric, simulate=how, **QUIET) for how in (False, True)]
    assert operators(made[0].module).count("qnn.conv2d") == 2 and "qnn.dense" in operators(made[0].module)
    exact, floats = (relay.evaluate(one.module, [data[7]]) for one in made)
    assert np.abs(exact - floats).max() <= 2e-4 * np.abs(floats).max()
    for level in (0, 3):
        compiled = relay.compile(made[0].module, opt_level=level)(data[7])
        assert np.abs(exact - compiled).max() <= 2e-4 * np.abs(floats).max(), level


def test_sums_that_int32_does_not_hold_have_fewer_bits():
    """4,096 products of the largest weight: 2^12 * 127 * 2^bits is less than 2^30 for ten bits."""
    x = relay.var("x", shape=(1, 4096))
    weight = relay.const(np.ones((2, 4096), "float32"))
    module = relay.IRModule({"main": relay.Function([x], relay.nn.dense(x, weight))})
    data = [np.linspace(-1, 1, 4096, dtype="float32")[None]]
    made = relay.quantize(module, data, bits=16, **QUIET)
    assert [layer["bits"] for layer in made.report["layers"]] == [11]
    for value in (-1, 1):  # every term has the largest magnitude
        full = np.full((1, 4096), value, "float32")
        assert relay.compile(made.module)(full) == pytest.approx(4096 * value, rel=1e-3)


def test_a_bias_that_int32_does_not_hold_is_added_in_floats():
    x = relay.var("x", shape=(1, 16))
    bias = np.array([1.0, 3e6], "float32")
    sums = relay.nn.bias_add(relay.nn.dense(x, relay.const(np.full((2, 16), 2**-6, "float32"))), relay.const(bias))
    module = relay.IRModule({"main": relay.Function([x], sums)})
    data = [RNG.uniform(-1, 1, (1, 16)).astype("float32") for _ in range(4)]
    made = relay.quantize(module, data, bits=16, **QUIET)
    assert "qnn.dense" in operators(made.module)
    np.testing.assert_allclose(relay.compile(made.module)(data[0]), relay.compile(module)(data[0]), rtol=1e-6)


def test_pairs_are_multiplied_at_once(tmp_path):
    module, data = chain()
    rules = rules_for("zen4", relay.quantize(module, data, bits=16, **QUIET).module, tmp_path, strict=True)
    assert rules.count("2 products at once") == 3, rules


@needs_program
def test_the_table_says_how_many_bits(tmp_path):
    module, seen, *_ = network()
    (tmp_path / "net.relay").write_text(module.astext())
    np.savez(tmp_path / "data.npz", x=seen[:8, 0])
    shared = ("quantize", tmp_path / "net.relay", "--data", tmp_path / "data.npz", "--keep-float", "never", "--time", 0)
    table = cli(*shared, "--bits", 12).stdout
    assert "integers of 12 bits" in table
    report = json.loads(cli(*shared, "--bits", 12, "--json").stdout)
    assert {layer["bits"] for layer in report["layers"]} == {12}
