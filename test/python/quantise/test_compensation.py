"""Products whose weights are rounded with compensation (GPTQ), and whose channels are smoothed (SmoothQuant)."""

import json

import numpy as np
import pytest
from programs import EXAMPLES, cli, fails, needs_program

import relay
from relay import op

QUIET = {"keep_float": "never", "seconds": 0}


def correlated(rng, samples, rows, length):
    """Samples of rows whose elements depend on each other, as activations do."""
    directions = rng.normal(size=(4, length))
    noise = 0.3 * rng.normal(size=(samples, rows, length))
    return list((rng.normal(size=(samples, rows, 4)) @ directions + noise).astype("float32"))


def product(weight, name="nn.dense", rows=2):
    """A product of %x with a constant weight (n, k)."""
    x = relay.var("x", shape=(rows, weight.shape[1]))
    call = op.nn.dense(x, relay.const(weight)) if name == "nn.dense" else op.nn.matmul(x, relay.const(weight.T.copy()))
    return relay.IRModule({"main": relay.Function([x], call)})


def calls(module, name):
    found = []
    relay.analysis.post_order_visit(
        module["main"], lambda e: found.append(e) if isinstance(e, relay.Call) and e.op.name == name else None
    )
    return found


def gptq(weight, data, scales, group, least, most):
    """The integers of Frantar et al.'s algorithm: the inverse of the sums of products, and its Cholesky factor."""
    products = data.astype("float64").T @ data.astype("float64")
    products += np.eye(len(products)) * 0.01 * np.mean(np.diag(products))
    factor = np.linalg.cholesky(np.linalg.inv(products)).T
    left, out = weight.astype("float64"), np.empty(weight.shape)
    for k in range(weight.shape[1]):
        step = scales[:, k // group].astype("float64")
        out[:, k] = np.clip(np.rint(left[:, k] / step), least, most)
        error = (left[:, k] - out[:, k] * step) / factor[k, k]
        left = left - error[:, None] * factor[k]
    return out


@pytest.mark.parametrize("name", ["nn.dense", "nn.matmul"])
@pytest.mark.parametrize(("n", "k", "group"), [(10, 24, 8), (70, 64, 0)])
def test_integers_are_those_of_gptq(name, n, k, group):
    rng = np.random.default_rng(n)
    weight = rng.normal(size=(n, k)).astype("float32")
    data = correlated(rng, 100, 2, k)
    made = relay.quantize(
        product(weight, name), data, weights_only=True, weight_bits=3, group=group, compensate=True, **QUIET
    )
    (call,) = calls(made.module, "qnn.dequantize")
    integers, scales = call.args[0].data.numpy(), call.args[1].data.numpy().reshape(-1, n if name != "nn.dense" else 1)
    if name == "nn.matmul":
        integers, scales = integers.T, scales.T
    scales = scales.reshape(n, -1)
    wanted = gptq(weight, np.concatenate(data), scales, group or k, -4, 3)
    plain = np.clip(np.rint(weight / np.repeat(scales, group or k, 1)), -4, 3)
    assert np.mean(integers != wanted) < 0.01  # sums in another order may round a tie elsewhere
    assert np.mean(integers != plain) > 0.05


@pytest.mark.parametrize("settings", [{"weights_only": True, "weight_bits": 3}, {"weight_bits": 4}])
@pytest.mark.parametrize("name", ["nn.dense", "nn.matmul"])
def test_compensation_lowers_the_error(settings, name):
    """The error of data other than those that are observed."""
    rng = np.random.default_rng(1)
    module = product(rng.normal(size=(64, 96)).astype("float32"), name)
    data = correlated(rng, 220, 2, 96)
    data, others = data[:200], data[200:]
    floats, errors = relay.compile(module), []
    for compensate in (False, True):
        made = relay.quantize(module, data, compensate=compensate, **settings, **QUIET)
        model = relay.compile(made.module)
        pairs = [(model(x), floats(x)) for x in others]
        errors.append(np.sqrt(np.mean([(a - b) ** 2 for a, b in pairs]) / np.mean([b**2 for _, b in pairs])))
    print(f"{name}, {settings}: error {errors[0]:.4f}, compensated {errors[1]:.4f}")
    assert errors[1] < 0.6 * errors[0]


def test_an_unreached_layer_is_rounded_without_compensation():
    weight = relay.const(np.random.default_rng(0).normal(size=(8, 8)).astype("float32"))
    c, x = relay.var("c", shape=(), dtype="bool"), relay.var("x", shape=(1, 8))
    body = relay.If(c, op.nn.dense(x, weight), op.nn.dense(op.exp(x), weight))
    module = relay.IRModule({"main": relay.Function([c, x], body)})
    data = [[np.array(True), np.ones((1, 8), "float32")]]
    made = relay.quantize(module, data, weights_only=True, compensate=True, **QUIET)
    (note,) = made.report["notes"]
    assert note.startswith("no sample has finite values other than 0 at main/dense_1, so that its weights are rounded")


def test_a_tied_table_is_stored_once():
    rng = np.random.default_rng(0)
    weight = relay.const(rng.normal(size=(300, 64)).astype("float32"))
    ids = relay.var("ids", shape=(2,), dtype="int64")
    module = relay.IRModule({"main": relay.Function([ids], op.nn.dense(op.take(weight, ids, axis=0), weight))})
    data = [rng.integers(0, 300, 2) for _ in range(100)]
    made = relay.quantize(module, data, weights_only=True, weight_bits=4, compensate=True, smooth=0.5, **QUIET)
    assert made.report["notes"] == ["main/dense_0 is not smoothed, because its weight is also read elsewhere"]
    assert made.report["integer_bytes"] < 300 * 64 // 2 + 2 * 300 * 2 * 4 + 64


# --- smoothing --------------------------------------------------------------------------------------------------------
def outliers(rng, rows, length):
    """Four channels are a hundred times as large as the others."""
    data = rng.normal(size=(rows, length)).astype("float32")
    data[:, :: length // 4] *= 100
    return data


def three_products(rng, length=64):
    """Three products read one norm, as in attention, and a fourth one reads their sum."""
    weights = [relay.const(rng.normal(size=(length, length)).astype("float32")) for _ in range(4)]
    x = relay.var("x", shape=(2, length))
    # Weights of outliers are small, so that results are not those of the outliers alone.
    small = np.where(np.arange(length) % (length // 4) == 0, 0.01, 1).astype("float32")
    read = [relay.const(w.data.numpy() * small) for w in weights[:3]]
    first, second, third = (op.nn.dense(op.copy(x), w) for w in read)
    return relay.IRModule({"main": relay.Function([x], op.nn.dense(op.tanh(first + second) * third, weights[3]))})


def test_outliers_do_not_decide_the_scale():
    rng = np.random.default_rng(2)
    module = three_products(rng)
    data = [outliers(rng, 2, 64) for _ in range(30)]
    plain = relay.quantize(module, data, **QUIET)
    smooth = relay.quantize(module, data, smooth=0.5, **QUIET)
    print(f"error {plain.report['error']:.4f}, smoothed {smooth.report['error']:.4f}")
    assert smooth.report["error"] < 0.25 * plain.report["error"]
    names = [[layer["layer"] for layer in made.plan["layers"] if "dense" in layer["op"]] for made in (plain, smooth)]
    assert names[0] == names[1]
    # The three products of one operand share the integers of the smoothed operand.
    reads = [call.args[0] for call in calls(smooth.module, "qnn.dense")]
    assert len({id(x) for x in reads[:3]}) == 1


def test_factors_are_powers_of_two_of_the_stated_size():
    rng = np.random.default_rng(3)
    weight, data = rng.normal(size=(16, 32)).astype("float32"), [outliers(rng, 2, 32) for _ in range(20)]
    data = [np.where(np.arange(32) == 5, 0, x).astype("float32") for x in data]  # a channel of zeros
    for strength in (0.25, 0.5, 1.0):
        made = relay.quantize(product(weight), data, smooth=strength, simulate=True, **QUIET)
        (call,) = calls(made.module, "multiply")
        exponents = -np.log2(call.args[1].data.numpy())
        np.testing.assert_array_equal(exponents, np.rint(exponents))
        largest = np.abs(np.concatenate(data)).max(0)
        with np.errstate(divide="ignore"):
            wanted = strength * np.log2(largest) - (1 - strength) * np.log2(np.abs(weight).max(0))
        wanted[5] = 0
        assert np.abs(exponents - wanted).max() <= 0.5 + 1e-6


def test_weights_only_products_are_smoothed():
    rng = np.random.default_rng(4)
    weight = rng.normal(size=(32, 64)).astype("float32")
    data = [outliers(rng, 2, 64) for _ in range(20)]
    errors = {}
    for strength in (0.0, 0.5):
        made = relay.quantize(product(weight), data, weights_only=True, weight_bits=4, smooth=strength, **QUIET)
        errors[strength] = made.report["error"]
        assert relay.compile(made.module).report["constants"]["bytes"] < 32 * 64
    print(errors)
    assert errors[0.5] < 0.7 * errors[0.0]


def test_recursion_is_smoothed_and_compensated():
    """The dense layers of a TreeLSTM, which are functions of a list that calls itself."""
    rng = np.random.default_rng(1)
    sizes = {"w": (600, 300), "u": (450, 150), "uf": (150, 150), "b": (600,)}
    weights = {name: (rng.standard_normal(size) * 0.05).astype("float32") for name, size in sizes.items()}
    module = relay.parse((EXAMPLES / "tree_lstm.relay").read_text())
    module["main"] = relay.build_module.bind_params_by_name(module["main"], weights)
    nil, leaf = relay.values.Data("Nil"), lambda: rng.standard_normal((1, 300)).astype("float32")
    trees = []
    for _ in range(6):
        children = nil
        for _ in range(3):
            children = relay.values.Data("Cons", relay.values.Data("Rose", leaf(), nil), children)
        trees.append(relay.values.Data("Rose", leaf(), children))
    made = relay.quantize(module, [[tree] for tree in trees], smooth=0.5, compensate=True, **QUIET)
    assert sum(layer["integer"] for layer in made.report["layers"]) == 3 and made.report["error"] < 0.03


# --- plans and refusals -----------------------------------------------------------------------------------------------
def test_plans_keep_the_choices_and_need_the_data():
    rng = np.random.default_rng(5)
    module = product(rng.normal(size=(16, 32)).astype("float32"))
    data = [outliers(rng, 2, 32) for _ in range(20)]
    for choice in ({"smooth": 0.5}, {"compensate": True}, {"smooth": 0.75, "compensate": True}):
        first = relay.quantize(module, data, weight_bits=4, plan={"rules": [{"op": "nn.dense", **choice}]}, **QUIET)
        (layer,) = first.plan["layers"]
        assert {name: layer[name] for name in choice} == choice and ("ranges" in layer) == ("smooth" not in choice)
        plan = {"layers": first.plan["layers"]}
        again = relay.quantize(module, data, plan=json.loads(json.dumps(plan)), **QUIET)
        assert again.module == first.module
        with pytest.raises(relay.CompileError, match="there is no data to calibrate nn.dense with"):
            relay.quantize(module, plan=plan, **QUIET)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"settings": {"smooth": 1.5}}, "'smooth' must be 0 to 1, but is 1.5"),
        ({"settings": {"smooth": True}}, "'smooth' must be a number from 0 to 1"),
        ({"settings": {"compensate": 1}}, "'compensate' must be true or false"),
        ({"layers": [{"layer": "main/dense_0", "smooth": 0.5, "ranges": [[-1, 1], None]}]},
         "main/dense_0 has a range and is smoothed"),
    ],
)  # fmt: skip
def test_wrong_plans(plan, message):
    module = product(np.ones((4, 8), "float32"))
    with pytest.raises(relay.CompileError, match=message) as error:
        relay.quantize(module, [np.ones((2, 8), "float32")], plan=plan, **QUIET)
    assert "help:" in str(error.value)


@needs_program
def test_the_command_line(tmp_path):
    rng = np.random.default_rng(6)
    (tmp_path / "net.relay").write_text(product(rng.normal(size=(16, 32)).astype("float32")).astext())
    np.savez(tmp_path / "data.npz", x=np.stack([outliers(rng, 2, 32) for _ in range(20)]))
    errors = []
    for flags in ([], ["--smooth", 0.5, "--compensate"]):
        done = cli("quantize", tmp_path / "net.relay", "--data", tmp_path / "data.npz", "--keep-float", "never",
                   "--time", 0, "--weight-bits", 4, "--json", *flags)  # fmt: skip
        assert done.returncode == 0, done.stderr
        errors.append(json.loads(done.stdout)["error"])
    assert errors[1] < errors[0]
    said = fails("R0601", "quantize", tmp_path / "net.relay", "--weights-only", "--compensate")
    assert "there is no data" in said and "--data" in said
