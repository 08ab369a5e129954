"""Weights of few bits: their packing, the products that read them, and what programs and artifacts keep of them."""

import re

import ml_dtypes
import numpy as np
import pytest
from programs import cli, needs_program

import relay
from relay import op

QUIET = {"keep_float": "never", "seconds": 0}
# Sums of floats in another order, relative to the largest result.
ROUNDING = 3e-6


def product(shape, name="nn.dense", seed=0, scale=1.0):
    """A product of %x with one constant weight of this shape, and the weight."""
    weight = (scale * np.random.default_rng(seed).normal(size=shape)).astype("float32")
    summed = 1 if name == "nn.dense" else 0
    x = relay.var("x", shape=(3, shape[summed]))
    call = op.nn.dense(x, relay.const(weight)) if name == "nn.dense" else op.nn.matmul(x, relay.const(weight))
    return relay.IRModule({"main": relay.Function([x], call)}), weight


def stored(module):
    """(integers as stored, scales, attributes of qnn.dequantize, those of storage.unpack) of the program's weight."""
    (call,) = [e for e in calls(module) if e.op.name == "qnn.dequantize"]
    data, scales = call.args[0], call.args[1].data.numpy()
    if isinstance(data, relay.Call):
        return data.args[0].data.numpy(), scales, call.attrs, data.attrs
    return data.data.numpy(), scales, call.attrs, None


def calls(module):
    found = []
    relay.analysis.post_order_visit(module["main"], lambda e: found.append(e) if isinstance(e, relay.Call) else None)
    return found


def unpacked(data, bits, axis, size):
    """The integers of packed bytes, the first in the lowest bits: two's complement."""
    per = 8 // bits
    parts = [(data >> (i * bits)) & (2**bits - 1) for i in range(per)]
    codes = np.stack(parts, axis + 1)
    shape = list(data.shape)
    shape[axis] *= per
    codes = codes.reshape(shape).astype("int64").take(np.arange(size), axis)
    return np.where(codes >= 2 ** (bits - 1), codes - 2**bits, codes)


@pytest.mark.parametrize("seed", range(12))
def test_integers_are_the_nearest_ones(seed):
    """Property: each weight is at most half a step from its integer times the scale of its group, and the weight of the
    largest magnitude of a group is the least integer."""
    rng = np.random.default_rng(seed)
    bits, name = int(rng.choice([2, 3, 4, 8])), str(rng.choice(["nn.dense", "nn.matmul"]))
    shape = tuple(int(n) for n in rng.integers(1, 70, 2))
    group = int(rng.choice([0, 8, 16, 32]))
    module, weight = product(shape, name, seed)
    made = relay.quantize(module, weights_only=True, weight_bits=bits, group=group, **QUIET)
    data, scales, attrs, packing = stored(made.module)
    summed = 1 if name == "nn.dense" else 0
    length = shape[summed]
    if bits in (2, 4):
        assert data.dtype == np.uint8 and data.shape[summed] == -(-length * bits // 8)
        integers = unpacked(data, bits, summed, length)
        assert packing["axis"] % 2 == summed
    else:
        assert data.dtype == np.int8
        integers = data.astype("int64")
    if attrs["block"]:
        assert length % attrs["block"] == 0 and attrs["block"] <= group
        steps = np.repeat(scales, attrs["block"], summed)
    else:
        steps = np.expand_dims(scales, summed)
    least = -(2 ** (bits - 1))
    assert integers.min() >= least and integers.max() <= -least - 1
    # The greatest integer is a step nearer to 0 than the least one: weights of the other sign may be clipped.
    error = np.abs(integers * steps - weight)
    clipped = integers == -least - 1
    assert (error <= np.abs(steps) * (0.5 + 1e-5) + np.abs(steps) * 0.5 * clipped).all()
    assert (np.abs(weight).max() / np.abs(steps).max()) <= -least * (1 + 1e-6)


def weight_of(kind, n, k, block=32, seed=0):
    """An expression for a narrow weight (n, k), and its values."""
    rng = np.random.default_rng(seed)
    if kind in ("bfloat16", "float16", "float8_e4m3fn"):
        dtype = "float16" if kind == "float16" else getattr(ml_dtypes, kind)
        values = rng.normal(size=(n, k)).astype(dtype)
        return op.cast(relay.const(values), dtype="float32"), values.astype("float64")
    scales = rng.uniform(-0.1, 0.1, (n, k // block)).astype("float32")
    steps = np.repeat(scales.astype("float64"), block, 1)
    if kind == "int8":
        values = rng.integers(-128, 128, (n, k)).astype("int8")
        return op.qnn.dequantize(
            relay.const(values), relay.const(scales), relay.const(0, "int32"), axis=1, block=block
        ), values * steps
    if kind == "channels":
        values = rng.integers(-128, 128, (n, k)).astype("int8")
        return op.qnn.dequantize(relay.const(values), relay.const(scales[:, 0]), relay.const(3, "int32"), axis=0), (
            values.astype("float64") - 3
        ) * scales[:, :1]
    bits = 2 if kind.endswith("2") else 4
    data = rng.integers(0, 256, (n, k * bits // 8)).astype("uint8")
    integers = unpacked(data, bits, 1, k)
    zero, zeros = relay.const(0, "int32"), 0
    if kind.startswith("uint"):
        zeros = rng.integers(0, 2**bits, (n, k // block))
        zero, zeros = relay.const(zeros.astype("uint8")), np.repeat(zeros, block, 1)
        integers = np.where(integers < 0, integers + 2**bits, integers)
    packed = op.storage.unpack(relay.const(data), dtype=kind, axis=1)
    return op.qnn.dequantize(packed, relay.const(scales), zero, axis=1, block=block), (integers - zeros) * steps


KINDS = ["bfloat16", "float16", "float8_e4m3fn", "int8", "channels", "int4", "uint4", "int2"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("m", "n", "k"), [(1, 256, 512), (3, 50, 96), (40, 96, 192), (1, 7, 64)])
def test_products_read_narrow_weights(kind, m, n, k):
    """Kernels agree with float64, and the model has no constant as large as the weight in floats."""
    weight, values = weight_of(kind, n, k)
    x = relay.var("x", shape=(m, k))
    model = relay.compile(relay.IRModule({"main": relay.Function([x], op.nn.dense(x, weight))}), strict=True)
    data = np.random.default_rng(1).normal(size=(m, k)).astype("float32")
    expected = data.astype("float64") @ values.T
    scale = np.abs(data.astype("float64")) @ np.abs(values.T)
    assert (np.abs(model(data) - expected) <= ROUNDING * scale.max()).all()
    assert model.report["constants"]["bytes"] <= 0.8 * 4 * n * k + 4096


@needs_program
def test_one_row_reads_bytes_as_a_stream(tmp_path):
    """All numbers of a byte are used before the next vector of bytes is read. The next block is prefetched, on
    processors that prefetch weights."""
    program, weights, narrow = tmp_path / "dense.relay", tmp_path / "w.npz", tmp_path / "narrow.relay"
    program.write_text("""
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 256), float32], %w: Tensor[(2048, 256), float32]) { nn.dense(%x, %w) }
""")
    np.savez(weights, w=np.random.default_rng(0).normal(size=(2048, 256)).astype("float32"))
    cli(
        "quantize", program, "--weights", weights, "--weights-only", "--weight-bits", "4", "--group", "32", "-o", narrow
    )
    schedule = cli("opt", narrow, "--emit", "schedule", "--target", "icelake-server").stdout
    loops = r"  prefetch \S+ n/\d+\n  loops k/2 .*n/\d+:unroll k/1:unroll n/1:vector\n"
    assert re.search(loops, schedule), schedule


def test_transposed_weights_stay_narrow():
    weight, values = weight_of("int4", 64, 128)
    x = relay.var("x", shape=(2, 128))
    body = op.nn.matmul(x, op.transpose(weight))
    model = relay.compile(relay.IRModule({"main": relay.Function([x], body)}), strict=True)
    data = np.random.default_rng(1).normal(size=(2, 128)).astype("float32")
    np.testing.assert_allclose(model(data), data.astype("float64") @ values.T, rtol=0, atol=1e-4)
    assert model.report["constants"]["bytes"] < 64 * 128


def test_a_table_that_is_also_a_weight_is_stored_once():
    """An embedding tied to the last product: rows and products of the same integers."""
    table = np.random.default_rng(0).normal(size=(300, 64)).astype("float32")
    weight = relay.const(table)
    ids = relay.var("ids", shape=(2,), dtype="int64")
    rows = op.take(weight, ids, axis=0)
    module = relay.IRModule({"main": relay.Function([ids], op.nn.dense(rows, weight))})
    made = relay.quantize(module, weights_only=True, weight_bits=4, group=32, **QUIET)
    text = made.module.astext()
    assert text.count("qnn.dequantize") == 2 and "float32]" in text
    constants = {id(a): a for e in calls(made.module) for a in e.args if isinstance(a, relay.Constant)}
    assert sum(a.data.numpy().nbytes for a in constants.values()) < 300 * 64 + 300 * 2 * 4 * 2
    model, floats = relay.compile(made.module), relay.compile(module)
    chosen = np.array([299, 7], "int64")
    difference = np.abs(model(chosen) - floats(chosen)).max() / np.abs(floats(chosen)).max()
    print(f"4 bits: {difference:.3f} of the largest result")
    assert 0 < difference < 0.2


@pytest.mark.parametrize(("bits", "error"), [(8, 0.008), (4, 0.12), (2, 0.8)])
def test_the_report_states_the_error_of_weights(bits, error):
    """Without samples: half a step is 1 / 256, 1 / 16 and 1 / 4 of the largest weight of a group."""
    module, weight = product((128, 256))
    report = relay.quantize(module, weights_only=True, weight_bits=bits, group=32, **QUIET).report
    (layer,) = report["layers"]
    assert error / 8 < layer["error"] < error
    assert layer["integer_bytes"] == weight.size * bits // 8 + weight.size // 32 * 4


def test_precision_auto_stores_sixteen_bits():
    module, weight = product((256, 512), scale=0.05)
    short, floats = relay.compile(module, precision="auto"), relay.compile(module)
    x = np.random.default_rng(1).normal(size=(3, 512)).astype("float32")
    difference = np.abs(short(x) - floats(x)).max() / np.abs(floats(x)).max()
    assert 0 < difference < 2e-3
    assert short.report["constants"]["bytes"] < 0.55 * weight.nbytes


@pytest.mark.parametrize("precision", ["bf16", "f16"])
def test_precision_keeps_the_types_of_results(precision):
    module, _ = product((64, 128))
    short = relay.compile(module, precision=precision)
    x = np.random.default_rng(1).normal(size=(3, 128)).astype("float32")
    got, expected = short(x), relay.compile(module)(x)
    assert got.dtype == np.float32
    assert 0 < np.abs(got - expected).max() / np.abs(expected).max() < (2e-2 if precision == "bf16" else 3e-3)


def rounded(x, block):
    """The rows of x in float32, each block rounded to 127 steps of its largest magnitude: float64."""
    blocks = x.reshape(*x.shape[:-1], -1, block)
    most = np.abs(blocks).max(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        steps = np.rint(blocks * np.where(most > 0, np.float32(127) / most, np.float32(0)))
    return (steps.astype("float64") * (most / np.float32(127))).reshape(x.shape)


def instructions(target, module, tmp_path):
    path = tmp_path / "product.relay"
    path.write_text(module.astext())
    return cli("opt", path, "--emit", "asm", "--target", target, "--precision", "int8_inputs").stdout


@pytest.mark.parametrize(
    "target", ["native", "native,-avx512f,-avx512vl,-avx512vnni,-avxvnni", "native,-avx2,-avx512f"]
)
@pytest.mark.parametrize("kind", ["int4", "uint4"])
@pytest.mark.parametrize(
    ("m", "n", "k", "block"), [(1, 256, 512, 32), (3, 50, 96, 32), (40, 96, 192, 64), (1, 64, 128, 16), (2, 7, 64, 32)]
)
def test_inputs_of_four_bits_are_rounded_on_request(kind, m, n, k, block, target):
    """Blocks of integers are summed exactly: the results are those of the rounded inputs, up to the rounding of floats.
    The error of the inputs is about 0.6 % for normally distributed numbers."""
    weight, values = weight_of(kind, n, k, block)
    x = relay.var("x", shape=(m, k))
    module = relay.IRModule({"main": relay.Function([x], op.nn.dense(x, weight))})
    model = relay.compile(module, precision="int8_inputs", strict=True, target=target)
    data = np.random.default_rng(1).normal(size=(m, k)).astype("float32")
    exact = data.astype("float64") @ values.T
    scale = (np.abs(data.astype("float64")) @ np.abs(values.T)).max()
    got = model(data)
    assert (np.abs(got - rounded(data, block) @ values.T) <= ROUNDING * scale).all()
    assert 0.002 < np.sqrt(np.mean((got - exact) ** 2) / np.mean(exact**2)) < 0.012
    assert (np.abs(relay.compile(module, target=target)(data) - exact) <= ROUNDING * scale).all()


@pytest.mark.parametrize("shape", [("rows", 128), (2, "rows", 128)])
def test_rounded_inputs_of_any_number_of_rows(shape):
    """Rows and axes whose sizes are known at run time only. A block of zeros stays zero, and NaN stays in its row."""
    weight, values = weight_of("int4", 96, 128)
    x = relay.var("x", shape=shape)
    module = relay.IRModule({"main": relay.Function([x], op.nn.dense(x, weight))})
    model = relay.compile(module, precision="int8_inputs", strict=True)
    for count in (1, 2, 7, 33):
        size = tuple(count if s == "rows" else s for s in shape)
        data = np.random.default_rng(count).normal(size=size).astype("float32")
        data[..., -1, :32] = 0
        got = model(data)
        scale = (np.abs(data.astype("float64")) @ np.abs(values.T)).max()
        assert (np.abs(got - rounded(data, 32) @ values.T) <= ROUNDING * scale).all()
        data[..., 0, 40] = np.nan
        again = model(data)
        assert np.isnan(again[..., 0, :]).all()
        np.testing.assert_array_equal(again[..., 1:, :], got[..., 1:, :])


def test_inputs_of_all_forms_of_products_are_rounded():
    """nn.matmul with a weight of either order, and weights that are moved; of several products, the inputs once."""
    weight, values = weight_of("int4", 96, 128)
    other, _ = weight_of("int4", 64, 128, seed=1)
    rows = relay.quantize(product((128, 96), "nn.matmul")[0], weights_only=True, weight_bits=4, group=32, **QUIET)
    x = relay.var("x", shape=(3, 128))
    bodies = [
        op.nn.matmul(x, weight, transpose_b=True),
        op.nn.matmul(x, op.transpose(weight)),
        op.nn.dense(x, op.transpose(op.transpose(weight, [1, 0]), [-1, -2])),
        relay.Tuple([op.nn.dense(x, weight), op.nn.dense(x, other)]),
    ]
    data = np.random.default_rng(1).normal(size=(3, 128)).astype("float32")
    for module in [rows.module, *(relay.IRModule({"main": relay.Function([x], body)}) for body in bodies)]:
        model = relay.compile(module, precision="int8_inputs", strict=True)
        results, floats = model(data), relay.compile(module)(data)
        pairs = list(zip(results, floats, strict=True)) if isinstance(results, tuple) else [(results, floats)]
        for got, exact in pairs:
            assert 0.002 < np.sqrt(np.mean((got - exact) ** 2) / np.mean(exact**2)) < 0.012
        assert model.emit("schedule").count("numbers of four bits by") == len(pairs)
        assert model.emit("schedule").count("\nstage round") <= 1
    np.testing.assert_allclose(model(data)[0], rounded(data, 32) @ values.T, rtol=0, atol=1e-4)


def test_only_inputs_of_weights_of_four_bits_are_rounded():
    x = relay.var("x", shape=(3, 128))
    data = np.random.default_rng(1).normal(size=(3, 128)).astype("float32")
    for kind, block in (("int8", 32), ("int2", 32), ("bfloat16", 32), ("int4", 4)):
        weight, _ = weight_of(kind, 64, 128, block)
        module = relay.IRModule({"main": relay.Function([x], op.nn.dense(x, weight))})
        got, floats = relay.compile(module, precision="int8_inputs")(data), relay.compile(module)(data)
        np.testing.assert_array_equal(got, floats, err_msg=kind)


@needs_program
@pytest.mark.parametrize(
    ("target", "instruction"), [("zen4", "vpdpbusd"), ("haswell", "vpmaddubsw"), ("neoverse-n1", "sdot")]
)
def test_blocks_of_rounded_inputs_are_sums_of_integers(tmp_path, target, instruction):
    """The halves of the weight's bytes are multiplied as they are: no weight is converted to a float."""
    weight, _ = weight_of("int4", 256, 128)
    x = relay.var("x", shape=(1, 128))
    text = instructions(target, relay.IRModule({"main": relay.Function([x], op.nn.dense(x, weight))}), tmp_path)
    assert text.count(instruction) >= 8, text


def test_an_unknown_precision_is_refused():
    module, _ = product((8, 8))
    with pytest.raises(relay.CompileError, match="as_written, bf16, f16, auto, bf16x2, bf16x3 or int8_inputs"):
        relay.compile(module, precision="bf17")


def test_convolutions_keep_whole_bytes():
    """The weights of a convolution take a byte each, so they have all eight bits; those of the product have four."""
    rng = np.random.default_rng(0)
    x = relay.var("x", shape=(1, 4, 6, 6))
    kernel = relay.const(rng.normal(size=(8, 4, 3, 3)).astype("float32"))
    last = relay.const(rng.normal(size=(16, 8 * 4 * 4)).astype("float32"))
    body = op.nn.dense(op.nn.batch_flatten(op.nn.conv2d(x, kernel)), last)
    made = relay.quantize(
        relay.IRModule({"main": relay.Function([x], body)}), weights_only=True, weight_bits=4, **QUIET
    )
    assert [one["weight_bits"] for one in made.plan["layers"]] == [8, 4]
    assert [one["integer_bytes"] for one in made.report["layers"]] == [8 * 4 * 9, 16 * 128 * (1 / 2 + 4 / 32)]
