"""The accelerator: offloaded programs compute the bits of the same integers on the CPU (docs/accelerator.md)."""

import subprocess
import sys

import numpy as np
import pytest
from programs import ROOT
from relay.ir.pass_infra import run_passes

import relay

nn = relay.nn
EXECUTORS = ("graph", "vm", "aot")
RNG = np.random.default_rng


def integers(module):
    """The integer program that the accelerator's compiler makes of a program, for the CPU."""
    passes = ["fake_quantization_to_integer", "fixed_point_requantize"]
    return run_passes(module, passes, options={"fake_quantization_to_integer.exact": 1})


def quantised(make, shape, symmetric=False):
    """A quantised network and inputs that it has not seen. `make` gets the input and a function for weights."""
    random = RNG(3)

    def weight(*size):
        return relay.const((random.standard_normal(size) * np.prod(size[1:]) ** -0.5).astype("float32"))

    x = relay.var("x", shape=shape)
    net = relay.IRModule.from_expr(make(x, weight))
    images = [random.standard_normal(shape, dtype="float32") for _ in range(4)]
    settings = {"keep_float": "never", "seconds": 0, "symmetric": symmetric}
    return net, relay.quantize(net, images[:3], **settings).module, images[3]


def residual(x, weight):
    """Strides, a shortcut, sums, a dense layer at the end."""
    a = nn.relu(nn.bias_add(nn.conv2d(x, weight(32, 16, 3, 3), padding=(1, 1), strides=(2, 2)), weight(32)))
    b = nn.relu(nn.conv2d(a, weight(32, 32, 3, 3), padding=(1, 1)))
    c = nn.relu(relay.add(nn.conv2d(b, weight(32, 32, 1, 1)), a))
    d = nn.conv2d(c, weight(40, 32, 3, 3), padding=(2, 2), dilation=(2, 2))
    e = nn.conv2d(a, weight(40, 32, 1, 1))
    f = nn.relu(relay.add(d, e))
    return nn.dense(nn.batch_flatten(nn.conv2d(f, weight(24, 40, 3, 3), strides=(3, 3))), weight(10, 24 * 3 * 3))


@pytest.mark.parametrize("symmetric", [False, True])
def test_equals_the_cpu(symmetric):
    net, module, image = quantised(residual, (2, 16, 20, 20), symmetric)
    model = relay.compile(module, external="accelerator")
    assert {step["library"] for step in model.report["external"]} == {"accelerator"}
    want = relay.compile(integers(module))(image)
    np.testing.assert_array_equal(model(image), want)
    np.testing.assert_array_equal(model(image), want)  # its memory is used again
    exact = relay.compile(net)(image)
    assert np.sqrt(np.mean((want - exact) ** 2) / np.mean(exact**2)) < 0.06


@pytest.mark.parametrize("executor", EXECUTORS)
def test_executors_and_artifacts(executor, tmp_path):
    _, module, image = quantised(residual, (1, 16, 20, 20))
    model = relay.compile(module, external="accelerator", executor=executor)
    model.save(tmp_path / "model.rart")
    want = relay.compile(integers(module))(image)
    for one in (model, relay.load(tmp_path / "model.rart")):
        np.testing.assert_array_equal(one(image), want)


def test_everything_is_offloaded():
    """Six convolutions and a dense layer; the sums are merged with convolutions."""
    _, module, _ = quantised(residual, (1, 16, 20, 20))
    partitioned = relay.byoc.partition_for_accelerator(module)
    rest = partitioned["main"].astext()
    assert "qnn.conv2d" not in rest and "qnn.dense" not in rest and "qnn.add" not in rest


@pytest.mark.parametrize(
    "kernel, strides, padding, output_padding", [(4, 2, 1, 0), (3, 2, 1, 1), (2, 2, 0, 0), (5, 3, 2, 1)]
)
def test_transposed_convolutions(kernel, strides, padding, output_padding):
    """Each phase of the strides is a convolution of its own."""
    attrs = {"strides": (strides, strides), "padding": (padding, padding), "output_padding": (output_padding,) * 2}

    def enlarge(x, weight):
        first = nn.relu(nn.bias_add(nn.conv2d_transpose(x, weight(16, 24, kernel, kernel), **attrs), weight(24)))
        return nn.conv2d_transpose(first, weight(24, 3, kernel, kernel), **attrs)

    _, module, image = quantised(enlarge, (2, 16, 5, 7))
    model = relay.compile(module, external="accelerator")
    assert "qnn.conv2d" not in relay.byoc.partition_for_accelerator(module)["main"].astext()
    np.testing.assert_array_equal(model(image), relay.compile(integers(module))(image))


def test_the_report_states_cycles():
    _, module, _ = quantised(lambda x, w: nn.relu(nn.conv2d(x, w(64, 64, 3, 3), padding=(1, 1))), (1, 64, 28, 28))
    (part,) = relay.compile(module, external="accelerator").report["external"]
    steps = 28 * 28 * 4 * 4 * 9
    assert part["multiply_cycles"] == steps and steps < part["cycles"] < 1.4 * steps
    assert part["utilisation"] == pytest.approx(steps / part["cycles"])
    assert part["load_bytes"] >= 28 * 28 * 64 + 64 * 64 * 9 and part["store_bytes"] >= 28 * 28 * 64


STAYS = {
    "few channels": lambda x, w: nn.relu(nn.conv2d(relay.split(x, 4, axis=1)[0], w(16, 4, 3, 3))),
    "groups": lambda x, w: nn.relu(nn.conv2d(x, w(16, 1, 3, 3), groups=16)),
}


@pytest.mark.parametrize("kind", ["few channels", "groups"])
def test_others_stay_on_the_cpu(kind):
    _, module, image = quantised(STAYS[kind], (1, 16, 9, 9))
    model = relay.compile(module, external="accelerator")
    assert model.report["external"] == []
    np.testing.assert_array_equal(model(image), relay.compile(integers(module))(image))


def program(body, types="%x: Tensor[(1, 16, 5, 5), int8]"):
    return relay.parse(f'#[version = "0.0.5"]\ndef @main({types}) {{ {body} }}')


def test_sums_at_the_limits():
    """All bytes, factors above and below one, clip."""
    values = np.arange(-128, 128, dtype="int8").reshape(1, 16, 4, 4)
    types = "%x: Tensor[(1, 16, 4, 4), int8], %y: Tensor[(1, 16, 4, 4), int8]"
    for scales in ("0.5f, 3, 0.25f, -7, 0.1f, 5", "0.01f, 0, 1f, -128, 2f, 127", "3f, 1, 0.001f, 2, 0.02f, -128"):
        module = program(f"clip(qnn.add(%x, %y, {scales}), a_min=-100f, a_max=90f)", types)
        model = relay.compile(module, external="accelerator")
        assert len(model.report["external"]) == 1
        for other in (values, values[:, ::-1].copy(), np.roll(values, 77).reshape(values.shape)):
            np.testing.assert_array_equal(model(values, other), relay.compile(module)(values, other))


def test_a_function_of_another_form_is_refused():
    module = relay.parse("""#[version = "0.0.5"]
def @main(%x: Tensor[(2, 16), int8]) { @part(%x) }
def @part(%x: Tensor[(2, 16), int8], Compiler="accelerator") { negative(%x) }
""")
    with pytest.raises(relay.CompileError, match="a part for the accelerator is not supported by it"):
        relay.compile(module)


DAMAGE = """
import sys, relay
relay.byoc.register_codegen("accelerator", lambda f: relay.byoc.LibraryCode("accelerator", sys.argv[1].encode()))
module = relay.parse('''#[version = "0.0.5"]
def @main(%x: Tensor[(2, 16), int8]) { @part(%x) }
def @part(%x: Tensor[(2, 16), int8], Compiler="accelerator") { negative(%x) }
''')
relay.compile(module)
"""


@pytest.mark.parametrize("payload", ["", "{}", '{"memory_bytes": 1e30}'])
def test_damaged_payloads_are_refused(payload):
    made = subprocess.run([sys.executable, "-c", DAMAGE, payload], capture_output=True, text=True)
    assert made.returncode == 1 and "the library 'accelerator' cannot load" in made.stderr, made.stderr


@pytest.mark.slow
@pytest.mark.skipif(
    not (ROOT / "build/accelerator/librelay_accelerator_rtl.so").exists(), reason="make test-accelerator builds it"
)
def test_hardware(tmp_path):
    """The network of the other tests on the hardware, in a process of its own."""
    _, module, image = quantised(residual, (1, 16, 20, 20))
    relay.compile(module, external="accelerator").save(tmp_path / "model.rart")
    np.save(tmp_path / "x.npy", image)
    run = [ROOT / "build/release/bin/relay", "run", tmp_path / "model.rart", "--input", f"x={tmp_path / 'x.npy'}"]
    env = {"RELAY_ACCELERATOR_RTL": str(ROOT / "build/accelerator/librelay_accelerator_rtl.so")}
    subprocess.run([*run, "--output", tmp_path / "y.npy"], check=True, capture_output=True, env=env)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), relay.compile(integers(module))(image))
