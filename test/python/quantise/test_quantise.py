"""Quantised programs: a trained network on real pictures, programs with control flow, plans, and refusals."""

import json
import re
import sys

import numpy as np
import pytest
import relay.train as train
from faces_network import accuracy, network, operators
from programs import EXAMPLES, cli, fails, needs_program
from real_data import digits
from relay.data.values import Data

import relay

QUIET = {"keep_float": "never", "seconds": 0}


# --- a trained network ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("calibration", [name for name, _ in relay._core.calibrations()])
def test_faces_keep_their_accuracy(calibration):
    module, seen, pictures, labels = network()
    made = relay.quantize(module, seen[:40], calibration=calibration, **QUIET)
    before, after = accuracy(module), accuracy(made.module)
    print(f"faces, {calibration}: accuracy {before:.3f} in floats, {after:.3f} on integers; {made.report['error']:.4f}")
    assert before > 0.8 and after >= before - 0.04  # 2 of 50 pictures
    # The noise of 8 bits in four layers is about 1 %; methods that clip trade it for the error of large values.
    assert made.report["error"] < 0.06
    assert {"qnn.conv2d", "qnn.dense"} <= set(operators(made.module))
    assert not {"nn.conv2d", "nn.dense"} & set(operators(made.module))
    assert made.report["integer_bytes"] < 0.35 * made.report["float_bytes"]


@pytest.mark.slow
def test_digits_keep_their_accuracy():
    """The network of examples/train_digits.py on scikit-learn's digits, of which 297 test it."""
    data = digits()
    if data is None:
        pytest.skip("scikit-learn is not there: make test-train installs it")
    sys.path.append(str(EXAMPLES))
    import train_digits

    x, y = data[0][:, None], data[1]
    rate = train.schedules.Warmup(train.schedules.Cosine(3e-3, steps=570), steps=30)
    step = train.Step(train_digits.loss, train_digits.start(), {"x": (50, 1, 8, 8), "y": ((50,), "int64")},
                      train.AdamW(rate), groups={"*.bias": {"weight_decay": 0.0}}, clip_norm=1.0)  # fmt: skip
    for batch in np.random.default_rng(0).integers(0, 1500, (600, 50)):
        step(x[batch], y[batch])
    weights = {name: {k: relay.const(np.array(v)) for k, v in one.items()} for name, one in step.params.items()}
    picture = relay.var("x", shape=(1, 1, 8, 8))
    module = relay.IRModule({"main": relay.Function([picture], train_digits.scores(weights, picture))})
    made = relay.quantize(module, x[:200], **QUIET)
    models = [relay.compile(one) for one in (module, made.module)]
    before, after = (np.mean([model(a[None]).argmax() == b for a, b in zip(x[1500:], y[1500:], strict=True)])
                     for model in models)  # fmt: skip
    print(f"digits: accuracy {before:.4f} in floats, {after:.4f} on integers; error {made.report['error']:.4f}")
    assert before > 0.9 and after >= before - 0.01


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({}, 0.03),
        ({"symmetric": True}, 0.05),
        ({"per_channel": False}, 0.05),
        ({"bits": 4}, 0.4),
        ({"weight_bits": 4}, 0.4),
        ({"weights_only": True}, 0.02),
    ],
)
def test_settings(settings, error):
    """The error of each form; four bits are sixteen times coarser than eight."""
    module, seen, *_ = network()
    made = relay.quantize(module, seen[:40], **settings, **QUIET)
    print(settings, made.report["error"])
    assert 0 < made.report["error"] < error
    simulated = relay.quantize(module, seen[:40], simulate=True, **settings, **QUIET)
    # The simulation rounds the same values to the same steps; only sums are rounded elsewhere.
    assert abs(simulated.report["error"] - made.report["error"]) < 0.5 * made.report["error"] + 1e-3


def test_weights_only_computes_in_floats():
    module, *_ = network()
    made = relay.quantize(module, weights_only=True, **QUIET)
    assert "qnn.quantize" not in operators(made.module) and "qnn.dequantize" in operators(made.module)
    assert made.report["integer_bytes"] < 0.35 * made.report["float_bytes"]


def test_labels_give_the_accuracy():
    module, _, pictures, labels = network()
    report = relay.quantize(module, pictures, labels=labels, **QUIET).report
    assert report["float_accuracy"] == pytest.approx(accuracy(module))
    assert abs(report["accuracy"] - report["float_accuracy"]) <= 0.04


def test_sensitivity_and_the_smallest_exclusion():
    module, seen, *_ = network()
    wide = relay.quantize(module, seen[:20], sensitivity=True, bits=3, **QUIET)
    errors = {layer["layer"]: layer["error"] for layer in wide.report["layers"] if layer["error"] is not None}
    assert set(errors) == {"main/conv2d_0", "main/conv2d_1", "main/dense_0"} and min(errors.values()) > 0
    assert wide.report["ranking"] == sorted(errors, key=errors.get, reverse=True)
    wanted = 0.5 * wide.report["error"]
    kept = relay.quantize(module, seen[:20], sensitivity=True, bits=3, max_error=wanted, **QUIET)
    assert kept.report["error"] <= wanted and kept.report["excluded"]
    # The most sensitive layers, in their order.
    worst = sorted(errors, key=errors.get, reverse=True)
    assert kept.report["excluded"] == worst[: len(kept.report["excluded"])]
    # A layer fewer is not enough.
    fewer = relay.quantize(module, seen[:20], bits=3, keep=kept.report["excluded"][:-1], **QUIET)
    assert fewer.report["error"] > wanted


def test_the_smallest_exclusion_for_an_accuracy():
    module, _, pictures, labels = network()
    how = {"sensitivity": True, "bits": 2, "weight_bits": 2, "labels": labels, **QUIET}
    wide = relay.quantize(module, pictures, **how).report
    drop = wide["float_accuracy"] - wide["accuracy"]
    assert drop > 0.1, drop  # two bits are too few
    kept = relay.quantize(module, pictures, max_drop=drop / 2, **how).report
    assert kept["float_accuracy"] - kept["accuracy"] <= drop / 2 and kept["excluded"]
    assert kept["excluded"] == wide["ranking"][: len(kept["excluded"])]
    assert {layer["reason"] for layer in kept["layers"] if not layer["integer"]} <= {"the wanted accuracy needs it"}
    same = relay.quantize(module, pictures, max_drop=1.0, **how).report
    assert not same["excluded"]


def test_a_layer_that_is_slower_on_integers_is_refused():
    """Sums of three numbers: quantising 60,000 numbers takes longer than the product."""
    rng = np.random.default_rng(0)
    x, weight = relay.var("x", shape=(20000, 3)), rng.normal(size=(2, 3)).astype("float32")
    module = relay.IRModule({"main": relay.Function([x], relay.nn.dense(x, relay.const(weight)))})
    made = relay.quantize(module, [rng.normal(size=(20000, 3)).astype("float32")], seconds=0.1)
    (layer,) = made.report["layers"]
    assert not layer["integer"] and layer["reason"] in (
        "integers are not faster",
        "the whole program is slower with it",
    )
    assert operators(made.module) == ["nn.dense"] and made.report["error"] == 0


def test_layers_that_are_not_faster_stay_float():
    module, seen, *_ = network()
    made = relay.quantize(module, seen[:8], seconds=0.1)
    chosen = [layer for layer in made.report["layers"] if layer["integer"] and layer["integer_us"] is not None]
    # Layers that share a kernel are compared together.
    assert sum(layer["integer_us"] for layer in chosen) <= 1.05 * sum(layer["float_us"] or 0 for layer in chosen)
    assert all(layer["reason"] for layer in made.report["layers"] if not layer["integer"])
    assert made.report["speedup"] > 0.5  # the clock of a shared machine


# --- plans ------------------------------------------------------------------------------------------------------------
def test_a_plan_makes_the_round_trip(tmp_path):
    module, seen, *_ = network()
    first = relay.quantize(module, seen[:20], **QUIET)
    first.save_plan(tmp_path / "plan.json")
    again = relay.quantize(module, plan=tmp_path / "plan.json", **QUIET)  # has all ranges: needs no data
    assert again.module == first.module and again.plan == first.plan


def test_a_plan_is_edited():
    module, seen, *_ = network()
    plan = relay.quantize(module, seen[:20], **QUIET).plan
    (dense,) = (layer for layer in plan["layers"] if layer["layer"] == "main/dense_0")
    dense["integer"] = False
    made = relay.quantize(module, plan=plan, **QUIET)
    assert "nn.dense" in operators(made.module) and "qnn.dense" not in operators(made.module)
    plan = {"rules": [{"op": "nn.conv2d", "integer": False}, {"layer": "main/*_1", "integer": True, "weight_bits": 4}]}
    made = relay.quantize(module, seen[:20], plan=plan, **QUIET)
    assert operators(made.module).count("qnn.conv2d") == operators(made.module).count("nn.conv2d") == 1
    choices = {layer["layer"]: layer for layer in made.plan["layers"]}
    assert choices["main/conv2d_1"]["weight_bits"] == 4 and choices["main/dense_0"]["weight_bits"] == 8
    assert choices["main/conv2d_0"]["reason"] == "a rule keeps it"


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"rule": []}, "there is no part 'rule'"),
        ({"layers": {}}, "'layers' must be a list"),
        ({"settings": {"bits": 17}}, "'bits' must be 2 to 16, but is 17"),
        ({"settings": {"weight_bits": 9}}, "'weight_bits' must be 2 to 8, but is 9"),
        ({"settings": {"calibration": "mean"}}, "there is no calibration 'mean'"),
        ({"rules": [{"layer": "*", "bit": 4}]}, "did you mean 'bits'"),
        ({"rules": [{"op": "nn.conv9d"}]}, "no layer matches layer '\\*' and op 'nn.conv9d'"),
        ({"layers": [{"layer": "main/conv2d_9", "op": "nn.conv2d"}]}, "did you mean 'main/conv2d_"),
        ({"layers": [{"layer": "main/conv2d_0", "ranges": [[0, 0], None]}]}, "the range from 0 to 0 has no scale"),
        ({"layers": [{"layer": "main/conv2d_0", "ranges": [[1, float("nan")], None]}]}, "is not JSON|has no scale"),
        ({"layers": [{"layer": "main/conv2d_0", "ranges": [[-1, 1]]}]}, "has 2 operands, but its entry has 1 range"),
        ({"layers": [{"layer": "main/conv2d_0", "ranges": [["a", 1], None]}]}, "must be two numbers"),
    ],
)
def test_wrong_plans(plan, message):
    module, seen, *_ = network()
    with pytest.raises(relay.CompileError, match=message) as error:
        relay.quantize(module, seen[:4], plan=plan, **QUIET)
    assert "help:" in str(error.value)


# --- control flow -----------------------------------------------------------------------------------------------------
def random_tree(rng, depth):
    children = [random_tree(rng, depth - 1) for _ in range(rng.integers(1, 4))] if depth else []
    rest = Data("Nil")
    for child in reversed(children):
        rest = Data("Cons", child, rest)
    return Data("Rose", rng.standard_normal((1, 300)).astype("float32"), rest)


def bound(name, weights):
    module = relay.parse((EXAMPLES / name).read_text())
    out = module.clone()
    out["main"] = relay.build_module.bind_params_by_name(module["main"], weights)
    return out


@pytest.mark.parametrize("executor", ["vm", "aot"])
def test_a_tree_lstm(executor):
    """Recursion over data of any form: four dense layers in three functions."""
    rng = np.random.default_rng(1)
    sizes = {"w": (600, 300), "u": (450, 150), "uf": (150, 150), "b": (600,)}
    weights = {name: (rng.standard_normal(size) * 0.05).astype("float32") for name, size in sizes.items()}
    module = bound("tree_lstm.relay", weights)
    trees = [random_tree(rng, 3) for _ in range(8)]
    made = relay.quantize(module, [[tree] for tree in trees[:6]], **QUIET)
    integer = [layer["layer"] for layer in made.report["layers"] if layer["integer"]]
    assert len(integer) == 3, made.report["layers"]
    before, after = relay.compile(module, executor=executor), relay.compile(made.module, executor=executor)
    for tree in trees[6:]:  # not among the samples
        for a, b in zip(before(tree), after(tree), strict=True):
            error = np.sqrt(np.mean((a - b) ** 2) / np.mean(a**2))
            print(f"TreeLSTM, {executor}: error {error:.4f}")
            assert 0 < error < 0.03  # 8 bits: about 1 % in each sum of products


@pytest.mark.parametrize("executor", ["vm", "aot"])
def test_a_char_rnn(executor):
    """A loop as a local function: each character that it writes is its next input."""
    rng = np.random.default_rng(2)
    weights = {"w": rng.standard_normal((64, 91)) * 0.1, "b": rng.standard_normal(64) * 0.1,
               "v": rng.standard_normal((27, 64))}  # fmt: skip
    module = bound("char_rnn.relay", {name: value.astype("float32") for name, value in weights.items()})
    starts = [np.array(c, "int32") for c in range(27)]
    count = np.array(24, "int32")
    made = relay.quantize(module, [[c, count] for c in starts[:20]], **QUIET)
    assert sum(layer["integer"] for layer in made.report["layers"]) == 2
    before, after = relay.compile(module, executor=executor), relay.compile(made.module, executor=executor)
    same = []
    for c in starts[20:]:
        texts = [[int(x) for x in relay.values.as_list(model(c, count))] for model in (before, after)]
        same.append(np.mean(np.equal(*texts)))
    print(f"char-RNN, {executor}: {np.mean(same):.3f} of the characters are the same")
    assert np.mean(same) > 0.8  # a single other choice changes the rest of a text


def test_branches_have_ranges_of_their_own():
    """A layer that no sample reaches stays float, with the reason; the other one is quantised."""
    module = relay.parse("""#[version = "0.0.5"]
def @main(%c: bool, %x: Tensor[(1, 4), float32]) {
  if (%c) { nn.dense(%x, meta[relay.Constant][0]) } else { nn.dense(exp(%x), meta[relay.Constant][0]) }
}

#[metadata]
{"relay.Constant": [{"shape": [2, 4], "dtype": "float32", "values": [1, 2, 3, 4, 5, 6, 7, 8]}]}
""")
    x = np.linspace(-1, 1, 4, dtype="float32")[None]
    made = relay.quantize(module, [[np.array(True), x]], **QUIET)
    reached = {layer["integer"]: layer["reason"] for layer in made.report["layers"]}
    assert reached == {True: "", False: "no sample reaches it"}
    both = relay.quantize(module, [[np.array(c), x] for c in (True, False)], **QUIET)
    ranges = sorted(layer["ranges"][0] for layer in both.plan["layers"])
    np.testing.assert_allclose(ranges, [[-1, 1], [np.exp(x).min(), np.exp(x).max()]], rtol=1e-6)


# --- bad input --------------------------------------------------------------------------------------------------------
def dense(weight):
    x = relay.var("x", shape=(2, 3))
    return relay.IRModule({"main": relay.Function([x], relay.nn.dense(x, relay.const(weight)))})


def reasons(module, data):
    return [layer["reason"] for layer in relay.quantize(module, data, **QUIET).report["layers"]]


def test_values_without_a_scale():
    ones = np.ones((2, 3), "float32")
    # Zeros: any scale represents them. The result is exact.
    made = relay.quantize(dense(np.zeros((4, 3), "float32")), [0 * ones], **QUIET)
    np.testing.assert_array_equal(relay.compile(made.module)(ones), np.zeros((2, 4)))
    # NaN among the values: the layer stays float. A second one has an integer form.
    x = relay.var("x", shape=(2, 3))
    two = relay.Function([x], relay.nn.dense(relay.log(x), relay.const(ones)) + relay.nn.dense(x, relay.const(ones)))
    assert "6 of the values that it reads are infinite or NaN" in reasons(relay.IRModule({"main": two}), [-ones])


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (dense(np.array([[1, np.nan, 2]], "float32")), "its weight contains an infinity or NaN"),
        (dense(np.array([[1, np.inf, 2]], "float32")), "its weight contains an infinity or NaN"),
        (relay.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) '
                     "{ nn.dense(%x, %w) }"), "its weight is not a constant"),
        (relay.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 3), int32], %w: Tensor[(4, 3), int32]) '
                     "{ nn.dense(%x, %w) }"), "an operand is int32; only float32 is quantised"),
        (relay.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 3), float32]) { exp(%x) }'),
         "no layer that can be computed on integers"),
    ],
)  # fmt: skip
def test_programs_without_a_layer(module, message):
    with pytest.raises(relay.CompileError, match=message) as error:
        relay.quantize(module, **QUIET)
    assert "help:" in str(error.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "there is no data to calibrate nn.dense with"),
        ([np.ones((2, 4), "float32")], r"\(2, 4\)|2, 4"),
        ([np.ones((2, 3), "int32")], "int32"),
        ([{"y": np.ones((2, 3), "float32")}], "sample 0 has a value for 'y'"),
        ([[np.ones((2, 3), "float32")] * 2], "sample 0 has 2 values"),
    ],
)
def test_wrong_data(data, message):
    with pytest.raises(relay.CompileError, match=message) as error:
        relay.quantize(dense(np.ones((4, 3), "float32")), data, **QUIET)
    assert "help:" in str(error.value)


def test_wrong_data_is_named(tmp_path):
    module = dense(np.ones((4, 3), "float32"))
    with pytest.raises(relay.CompileError, match="note: in sample 1 of the data, counted from 0"):
        relay.quantize(module, [np.ones((2, 3), "float32"), np.ones((2, 3), "int32")], **QUIET)
    np.save(tmp_path / "a.npy", np.ones((2, 3), "float32"))
    np.save(tmp_path / "b.npy", np.ones((2, 3), "int32"))
    (tmp_path / "net.relay").write_text(module.astext())
    assert f"in the sample {tmp_path / 'b.npy'}" in fails(
        "R0601", "quantize", tmp_path / "net.relay", "--data", tmp_path
    )


def test_wrong_arguments():
    module = dense(np.ones((4, 3), "float32"))
    for how, message in [
        ({"keep_float": "yes"}, "'auto' or 'never'"),
        ({"max_error": 0.1}, "add sensitivity=True"),
        ({"max_drop": 0.1}, "add sensitivity=True"),
        ({"max_drop": 0.1, "sensitivity": True}, "needs labels"),
        ({"max_error": -0.1, "sensitivity": True}, "must be at least 0"),
        ({"bits": 17}, "2 to 16"),
        ({"labels": [1, 2]}, "2 labels for 1 samples"),
        ({"percentile": 20.0}, "above 50"),
        ({"bitts": 4}, "did you mean 'bits'"),
    ]:
        with pytest.raises(relay.CompileError, match=message):
            relay.quantize(module, [np.ones((2, 3), "float32")], **how)


def test_products_of_matrices():
    """nn.matmul and nn.batch_matmul with constant matrices; products of two values stay float."""
    rng = np.random.default_rng(3)
    x = relay.var("x", shape=(1, 5, 8))
    w = relay.const(rng.standard_normal((8, 6)).astype("float32"))
    product = relay.nn.matmul(x, w)
    both = relay.nn.batch_matmul(product, product, transpose_b=True)
    last = relay.nn.batch_matmul(both, relay.const(rng.standard_normal((1, 4, 5)).astype("float32")))
    module = relay.IRModule({"main": relay.Function([x], last)})
    data = [rng.standard_normal((1, 5, 8)).astype("float32") for _ in range(8)]
    made = relay.quantize(module, data, **QUIET)
    assert [layer["op"] for layer in made.plan["layers"]] == ["nn.matmul", "nn.batch_matmul", "nn.batch_matmul"]
    assert [layer["integer"] for layer in made.plan["layers"]] == [True, False, True]
    assert {"qnn.dense", "qnn.batch_matmul"} <= set(operators(made.module)) and made.report["error"] < 0.03
    before, after = relay.compile(module)(data[0]), relay.compile(made.module)(data[0])
    assert np.abs(before - after).max() < 0.03 * np.abs(before).max()


def test_concatenations():
    """Two convolutions with ranges that differ by a factor of 20, one array for both, and a convolution of it."""
    rng = np.random.default_rng(4)

    def conv(x, outputs, inputs, factor=1.0):
        weight = factor * rng.standard_normal((outputs, inputs, 3, 3)).astype("float32")
        return relay.nn.conv2d(x, relay.const(weight.astype("float32")), padding=[1, 1])

    x = relay.var("x", shape=(1, 4, 9, 9))
    both = relay.concatenate([relay.nn.relu(conv(x, 8, 4)), conv(x, 12, 4, 0.05)], axis=1)
    module = relay.IRModule({"main": relay.Function([x], conv(both, 6, 20))})
    data = [rng.standard_normal((1, 4, 9, 9)).astype("float32") for _ in range(8)]
    made = relay.quantize(module, data[:6], **QUIET)
    assert [layer["op"] for layer in made.plan["layers"]] == ["nn.conv2d", "nn.conv2d", "concatenate", "nn.conv2d"]
    assert all(layer["integer"] for layer in made.plan["layers"]), made.plan
    assert operators(made.module).count("qnn.conv2d") == 3 and made.report["error"] < 0.03
    for level in (0, 3):
        before, after = relay.compile(module)(data[7]), relay.compile(made.module, opt_level=level)(data[7])
        assert np.sqrt(np.mean((before - after) ** 2) / np.mean(before**2)) < 0.03, level


# --- the command line -------------------------------------------------------------------------------------------------
@pytest.fixture
def files(tmp_path):
    module, _, pictures, labels = network()
    (tmp_path / "net.relay").write_text(module.astext())
    np.savez(tmp_path / "data.npz", x=pictures[:, 0], label=labels)
    return tmp_path


@needs_program
def test_the_command_line(files):
    net, data = files / "net.relay", files / "data.npz"
    done = cli("quantize", net, "--data", data, "--labels", "label", "--keep-float", "never", "--time", 0.05,
               "-o", files / "out.relay", "--write-plan", files / "plan.json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "main/conv2d_1" in done.stdout and "on 50 samples, accuracy" in done.stdout and "smaller" in done.stdout
    run = cli("run", files / "out.relay", "--input", "x=zeros", "--output", files / "y.npz")
    assert run.returncode == 0, run.stderr
    plan = json.loads((files / "plan.json").read_text())
    assert [layer["op"] for layer in plan["layers"]] == ["nn.conv2d", "nn.conv2d", "add", "nn.dense"]
    again = cli("quantize", net, "--plan", files / "plan.json", "--keep-float", "never", "-o", files / "again.relay")
    assert again.returncode == 0, again.stderr
    texts = [(files / f"{name}.relay").read_text().replace(f"{name}.safe", "safe") for name in ("again", "out")]
    assert texts[0] == texts[1]
    weights = [(files / f"{name}.safetensors").read_bytes() for name in ("again", "out")]
    assert weights[0] == weights[1]
    ranked = cli("quantize", net, "--data", data, "--sensitivity", "--keep-float", "never", "--time", 0)
    *_, ranking, last = ranked.stdout.strip().splitlines()
    assert re.fullmatch(r"most sensitive: (main/\w+ \d+\.\d\d %(, |$)){3}", ranking), ranking
    assert re.fullmatch(r"[\d.]+ times smaller, error [\d.]+ % on 50 samples", last), last
    kept = cli("quantize", net, "--data", data, "--keep", "*dense*", "--json", "--keep-float", "never", "--time", 0)
    layers = {layer["layer"]: layer for layer in json.loads(kept.stdout)["layers"]}
    assert not layers["main/dense_0"]["integer"] and layers["main/conv2d_0"]["integer"]
    artifact = cli("quantize", net, "--data", data, "--keep-float", "never", "--time", 0, "-o", files / "net.rart")
    assert artifact.returncode == 0 and cli("run", files / "net.rart").returncode == 0


@needs_program
def test_trees_from_files(tmp_path):
    module = """#[version = "0.0.5"]
type Tree { Leaf(Tensor[(1, 2), float32]), Node(Tree, Tree) }

def @encode(%t: Tree, %w: Tensor[(2, 4), float32]) -> Tensor[(1, 2), float32] {
  match (%t) {
    Leaf(%x) => %x,
    Node(%a, %b) => tanh(nn.dense(concatenate((@encode(%a, %w), @encode(%b, %w)), axis=1), %w)),
  }
}

def @main(%t: Tree, %w: Tensor[(2, 4), float32]) { @encode(%t, %w) }
"""
    (tmp_path / "tree.relay").write_text(module)
    np.savez(tmp_path / "w.npz", w=np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4))
    (tmp_path / "trees").mkdir()
    leaf = 'Leaf(full(0.5f, shape=[1, 2], dtype="float32"))'
    (tmp_path / "trees" / "a.relay").write_text(f"Node({leaf}, Node({leaf}, {leaf}))")
    done = cli("quantize", tmp_path / "tree.relay", "--weights", tmp_path / "w.npz", "--data", tmp_path / "trees",
               "--keep-float", "never", "--time", 0, "-o", tmp_path / "out.relay")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "encode/dense_0" in done.stdout and "qnn.dense" in (tmp_path / "out.relay").read_text()


@needs_program
def test_wrong_files(files):
    net, out = files / "net.relay", files / "out.relay"
    (files / "empty").mkdir()
    assert "contains no samples" in fails("R0601", "quantize", net, "--data", files / "empty")
    np.savez(files / "ints.npz", x=np.zeros((1, 1, 25, 25), "int64"))
    assert 'array.astype("float32")' in fails("R0601", "quantize", net, "--data", files / "ints.npz")
    np.savez(files / "shape.npz", x=np.zeros((1, 1, 24, 25), "float32"))
    assert "but the input is float32[1, 1, 25, 25]" in fails("R0601", "quantize", net, "--data", files / "shape.npz")
    np.savez(files / "two.npz", a=np.zeros(3), b=np.zeros(3))
    assert "has no array for the input x" in fails("R0601", "quantize", net, "--data", files / "two.npz")
    assert "there is no data" in fails("R0601", "quantize", net)
    (files / "plan.json").write_text("{")
    assert "is not JSON" in fails("R0402", "quantize", net, "--plan", files / "plan.json")
    assert "add --sensitivity" in fails("R0504", "quantize", net, "--data", files / "data.npz", "--max-error", 0.1)
    assert "which needs --labels" in fails("R0504", "quantize", net, "--sensitivity", "--max-drop", 0.1)
    assert "has no labels 'y'" in fails("R0601", "quantize", net, "--data", files / "data.npz", "--labels", "y")
    np.savez(files / "w.npz", q=np.zeros(3))
    assert "has no parameter 'q'" in fails("R0601", "quantize", net, "--weights", files / "w.npz", "-o", out)
