"""Quantisation under the names of TVM's Relay: the configuration, and the stages as passes."""

import numpy as np
import pytest
from faces_network import accuracy, network, operators

import relay


def test_names_of_tvm():
    module, seen, *_ = network()
    default = relay.quantize.quantize(module)
    assert operators(default).count("qnn.conv2d") == 1 and "nn.dense" in operators(default)  # skips what TVM skips
    with relay.quantize.qconfig(skip_conv_layers=[], skip_dense_layer=False, calibrate_mode="kl_divergence") as config:
        assert relay.quantize.current_qconfig() is config
        made = relay.quantize.quantize(module, dataset=[{"x": x} for x in seen[:20]])
    assert relay.quantize.current_qconfig().calibrate_mode == "global_scale"
    assert operators(made).count("qnn.conv2d") == 2 and "qnn.dense" in operators(made)
    assert accuracy(made) >= accuracy(module) - 0.04
    with relay.quantize.qconfig(do_simulation=True):
        assert "nn.conv2d" in operators(relay.quantize.quantize(module))
    with (
        relay.quantize.qconfig(calibrate_mode="percentile"),
        pytest.raises(relay.CompileError, match="needs a dataset"),
    ):
        relay.quantize.quantize(module)
    for setting, message in [
        ({"nbit_activation": 16}, "sums of products are int32"),
        ({"rounding": "TONEAREST"}, "UPWARD"),
        ({"nbit": 8}, "no setting 'nbit'"),
    ]:
        with pytest.raises(relay.CompileError, match=message):
            relay.quantize.qconfig(**setting)


@pytest.mark.parametrize("mode", ["global_scale", "maximum", "kl_divergence"])
def test_stages_of_tvm(mode):
    """Annotated, calibrated and realised: the float program of each stage, and the integers of the last one."""
    module, seen, *_ = network()
    with relay.quantize.qconfig(skip_conv_layers=[], skip_dense_layer=False, calibrate_mode=mode, global_scale=2.0):
        annotated = relay.quantize.annotate()(relay.quantize.prerequisite_optimize(module))
        calibrate = relay.quantize.calibrate([{"x": x} for x in seen[:20]])
        calibrated = relay.transform.module_pass(calibrate, opt_level=1, name="QuantizeCalibrate")(annotated)
        realized = relay.quantize.realize()(calibrated)
    name = "relay.op.annotation.simulated_quantize"
    assert operators(annotated).count(name) == operators(calibrated).count(name) >= 6
    assert {"nn.conv2d", "nn.dense"} <= set(operators(calibrated))
    assert operators(realized).count("qnn.conv2d") == 2 and "qnn.dense" in operators(realized)
    assert name not in operators(realized) and "nn.conv2d" not in operators(realized)
    models = [relay.compile(one) for one in (module, annotated, calibrated, realized)]
    floats, wide, simulated, integers = (np.concatenate([model(x) for x in seen[:20]]) for model in models)
    errors = [np.sqrt(np.mean((a - b) ** 2) / np.mean(b**2)) for a, b in ((simulated, floats), (integers, simulated))]
    print(mode, errors)
    # 8 bits with one scale for each weight; global_scale is not the range of the data. Integers round sums elsewhere.
    assert 0 < errors[0] < (0.15 if mode == "global_scale" else 0.06) and errors[1] < 0.5 * errors[0] + 1e-3
    assert (mode == "global_scale") == np.array_equal(wide, simulated)


def test_stages_of_tvm_refuse_variable_scales():
    x, scale = relay.var("x", shape=(2, 3)), relay.var("scale", shape=())
    one = relay.const(1.0)
    call = relay.op.relay.op.annotation.simulated_quantize(x, scale, one, one, kind=1)
    with pytest.raises(relay.CompileError, match="that is not a constant"):
        relay.quantize.realize()(relay.IRModule({"main": relay.Function([x, scale], call)}))


def test_values_of_sixteen_bits():
    module, seen, *_ = network()
    samples = [{"x": one} for one in seen[:20]]
    errors = []
    for how in ({}, {"nbit_input": 16, "dtype_input": "int16"}):
        with relay.quantize.qconfig(skip_conv_layers=[], calibrate_mode="maximum", skip_dense_layer=False, **how):
            made = relay.compile(relay.quantize.quantize(module, dataset=samples))
        want = relay.compile(module)
        errors.append(max(np.abs(made(x) - want(x)).max() for x in seen[:20]))
    assert errors[1] < errors[0]  # most of both is that of the weights, which have eight bits
    with pytest.raises(relay.CompileError, match="nbit_input must be 2 to 8, but is 12"):
        relay.quantize.qconfig(nbit_input=12)


def test_sums_in_pairs_of_sixteen_bits():
    """Weights of seven bits: no sum of two products with bytes needs more than 16 bits."""
    module, seen, *_ = network()
    with relay.quantize.qconfig(skip_conv_layers=[], nbit_activation=16, dtype_activation="int16"):
        made = relay.quantize.quantize(module)
    weights = []
    relay.analysis.post_order_visit(
        made["main"], lambda e: weights.append(e.data.numpy()) if isinstance(e, relay.Constant) else None
    )
    weights = [w for w in weights if w.dtype == np.int8 and w.ndim == 4]
    assert len(weights) == 2 and all(abs(w).max() == 63 for w in weights)
    assert accuracy(made) >= accuracy(module) - 0.06


def test_prerequisite_optimize_binds_and_folds():
    x = relay.var("x", shape=(1, 2, 4, 4))
    w = relay.var("w", shape=(3, 2, 1, 1))
    ones = relay.const(np.ones(3, "float32"))
    body = relay.nn.batch_norm(relay.nn.conv2d(x, w), ones, ones, ones, ones)[0]
    module = relay.IRModule({"main": relay.Function([x, w], body)})
    made = relay.quantize.prerequisite_optimize(module, {"w": np.ones((3, 2, 1, 1), "float32")})
    assert len(made["main"].params) == 1 and "nn.batch_norm" not in operators(made)
