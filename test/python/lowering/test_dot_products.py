"""Products of narrow numbers in pairs and fours, by the instructions that machines have for them.

Values are compared with NumPy on this machine as it is and with features masked off: bytes bit by bit, bfloat16 by the
rounding of its sums. What is chosen is asked of named processors.
"""

import ctypes
import mmap
import re
import subprocess

import ml_dtypes
import numpy as np
import pytest
from forms import each_nth
from programs import cli
from targets import DESCRIBED, MASKED, rules_for

import relay
from relay import op

BYTES = [("int8", "int8"), ("uint8", "int8"), ("int8", "uint8"), ("uint8", "uint8")]
DENSE = [(1, 64, 32), (7, 256, 100), (33, 100, 48), (5, 30, 17), (2, 4, 16), (64, 512, 64)]
DENSE += [(12, 767, 40), (64, 255, 33), (1, 129, 16), (3, 9, 24), (2, 10, 70), (9, 5, 16)]  # the last step is of fewer
CONVS = [  # data, weight, what the convolution says
    ((1, 16, 14, 14), (32, 16, 3, 3), {"padding": [1, 1]}),
    ((2, 64, 7, 9), (48, 64, 1, 1), {}),
    ((1, 12, 15, 15), (20, 12, 3, 3), {"padding": [1, 1], "strides": [2, 2]}),
    ((1, 3, 16, 16), (16, 3, 3, 3), {"padding": [1, 1]}),
    ((1, 16, 10, 10), (32, 4, 3, 3), {"padding": [1, 1], "groups": 4}),
    ((1, 24, 9, 9), (24, 1, 3, 3), {"padding": [1, 1], "groups": 24}),
    ((1, 30, 9, 10), (33, 30, 3, 3), {"padding": [1, 1]}),
    ((2, 67, 6, 5), (40, 67, 1, 1), {}),
    ((1, 11, 11, 8), (24, 11, 2, 3), {"strides": [2, 2]}),
]


def whole(random, dtype, shape):
    """Over the whole range of the type, and its ends often: sums that would not fit 16 bits."""
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    values = random.integers(least, most, shape, endpoint=True)
    return np.where(random.random(shape) < 0.3, random.choice([least, most], shape), values).astype(dtype)


def dense_of(data, weight, dtype):
    x = relay.var("x", shape=data.shape, dtype=str(data.dtype))
    return relay.module(op.nn.dense(x, relay.const(weight), out_dtype=dtype))


def conv_of(data, weight, how, dtype):
    x = relay.var("x", shape=data.shape, dtype=str(data.dtype))
    return relay.module(op.nn.conv2d(x, relay.const(weight), out_dtype=dtype, **how))


def exact_conv(data, weight, padding=(0, 0), strides=(1, 1), groups=1):
    data = np.pad(data.astype("int64"), [(0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2])
    windows = np.lib.stride_tricks.sliding_window_view(data, weight.shape[2:], (2, 3))
    windows = windows[:, :, :: strides[0], :: strides[1]]
    windows = windows.reshape(data.shape[0], groups, -1, *windows.shape[2:])
    weight = weight.astype("int64").reshape(groups, -1, *weight.shape[1:])
    out = np.einsum("ngcyxkl,gockl->ngoyx", windows, weight, optimize=True)
    return out.reshape(out.shape[0], -1, *out.shape[3:])


@pytest.mark.parametrize("target", MASKED)
@pytest.mark.parametrize("types", BYTES, ids="-".join)
def test_dense_of_bytes(types, target):
    random = np.random.default_rng(3)
    for m, k, n in DENSE:
        data, weight = whole(random, types[0], (m, k)), whole(random, types[1], (n, k))
        model = relay.compile(dense_of(data, weight, "int32"), target=target)
        expected = data.astype("int64") @ weight.astype("int64").T
        np.testing.assert_array_equal(model(data), expected, err_msg=f"{m} x {k} x {n}")


@pytest.mark.parametrize("target", MASKED)
@pytest.mark.parametrize("types", BYTES, ids="-".join)
def test_convolutions_of_bytes(types, target):
    random = np.random.default_rng(4)
    for data_shape, weight_shape, how in CONVS:
        data, weight = whole(random, types[0], data_shape), whole(random, types[1], weight_shape)
        model = relay.compile(conv_of(data, weight, how, "int32"), target=target)
        np.testing.assert_array_equal(model(data), exact_conv(data, weight, **how), err_msg=f"{weight_shape}")


@pytest.mark.parametrize("rows", [1, 3, 50])
def test_symbolic_rows(rows):
    random = np.random.default_rng(5)
    weight = whole(random, "int8", (40, 64))
    x = relay.var("x", shape=("n", 64), dtype="int8")
    shift = relay.const(np.arange(40, dtype="int32"))
    model = relay.compile(relay.module(op.nn.relu(op.nn.dense(x, relay.const(weight), out_dtype="int32") + shift)))
    data = whole(random, "int8", (rows, 64))
    exact = data.astype("int64") @ weight.astype("int64").T + np.arange(40)
    np.testing.assert_array_equal(model(data), np.maximum(exact, 0))


@pytest.mark.parametrize("target", MASKED)
def test_dense_of_bfloat16(target):
    random = np.random.default_rng(6)
    for m, k, n in DENSE:
        data = random.standard_normal((m, k)).astype(ml_dtypes.bfloat16)
        weight = random.standard_normal((n, k)).astype(ml_dtypes.bfloat16)
        model = relay.compile(dense_of(data, weight, "float32"), target=target)
        exact = data.astype("float64") @ weight.astype("float64").T
        # Sums in float32 of exact products: each rounds by half a unit of a partial sum.
        bound = 2**-24 * k * (np.abs(data.astype("float64")) @ np.abs(weight.astype("float64")).T)
        assert (np.abs(model(data) - exact) <= bound).all(), (m, k, n)


@pytest.mark.parametrize("target", MASKED)
def test_what_the_last_step_lacks_is_zero(target):
    """Not the next row's first number, whose infinity times zero would be NaN, nor memory after the array."""
    half, (m, k, n) = ml_dtypes.bfloat16, (64, 33, 32)
    data, weight = np.ones((m, k), half), np.ones((n, k), half)
    data[1::2, 0] = np.inf
    expected = np.where(np.arange(m) % 2, np.inf, k)[:, None].repeat(n, 1)
    np.testing.assert_array_equal(relay.compile(dense_of(data, weight, "float32"), target=target)(data), expected)


@pytest.mark.parametrize("target", MASKED)
@pytest.mark.parametrize("k", [65, 66, 67])
def test_nothing_behind_the_data_is_read(target, k):
    random = np.random.default_rng(8)
    data, weight = whole(random, "int8", (64, k)), whole(random, "int8", (32, k))
    model = relay.compile(dense_of(data, weight, "int32"), target=target)
    np.testing.assert_array_equal(model(before_a_guard(data)), data.astype("int64") @ weight.astype("int64").T)


@pytest.mark.parametrize("k", [256, 255])
def test_in_c_they_are_products_and_sums(k, tmp_path):
    source = tmp_path / "dense.relay"
    dense_of(np.zeros((7, k), "int8"), np.ones((32, k), "int8"), "int32").save(str(source))
    done = cli("compile", source, "--target", "zen4", "--emit", "c", "-o", tmp_path / "dense.c")
    assert done.returncode == 0, done.stderr
    subprocess.run(["cc", "-std=c99", "-fsyntax-only", tmp_path / "dense.c"], check=True)


def before_a_guard(array):
    """A copy of the array in memory that is followed by an unreadable page."""
    size = -(-array.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    pages = mmap.mmap(-1, size + mmap.PAGESIZE)
    whole = np.frombuffer(pages, np.uint8)
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(whole.ctypes.data + size), mmap.PAGESIZE, 0) == 0
    copy = whole[size - array.nbytes : size].view(array.dtype).reshape(array.shape)
    copy[:] = array
    return copy


# Four products at once, for each sum of a vector, or of a tile.
FOUR_AT_ONCE = re.compile(r"\b(16 x )?4 (products )?at once")
# Two, of bytes that are widened to 16 bits.
TWO_AT_ONCE = re.compile(r"\b2 products at once")
# Targets that have the instruction, and on which it is faster than multiply-adds of floats.
WITH_BYTES = {"alderlake", "cascadelake", "icelake-server", "sapphirerapids", "zen4", "zen5"}
WITH_BFLOATS = {"zen4", "zen5"}  # sapphirerapids has it at a quarter of the speed of multiply-adds


@pytest.mark.parametrize("target", each_nth(2, DESCRIBED))
def test_the_instruction_is_taken_where_it_pays(target, tmp_path):
    data, weight = np.zeros((64, 256), "int8"), np.full((64, 256), 127, "int8")
    for k in (256, 255, 254, 253, 9, 7, 4):
        bytes_ = rules_for(target, dense_of(data[:, :k], weight[:, :k], "int32"), tmp_path, strict=True)
        assert bool(FOUR_AT_ONCE.search(bytes_)) == (target in WITH_BYTES and k != 7), (k, bytes_)
        assert bool(TWO_AT_ONCE.search(bytes_)) != bool(FOUR_AT_ONCE.search(bytes_)), (k, bytes_)
    for window in (1, 3):
        for c in (32, 30):
            data, weight = np.zeros((1, c, 14, 14), "int8"), np.full((64, c, window, window), 127, "int8")
            conv = conv_of(data, weight, {"padding": [window // 2] * 2}, "int32")
            rules = rules_for(target, conv, tmp_path, strict=True)
            assert bool(FOUR_AT_ONCE.search(rules)) == (target in WITH_BYTES), (c, rules)
            in_pairs = TWO_AT_ONCE.search(rules) or (window == 3 and "Winograd" in rules)
            assert bool(in_pairs) != (target in WITH_BYTES), (c, rules)
    half = ml_dtypes.bfloat16
    for k in (256, 255):
        data, weight = np.zeros((64, k)), np.ones((64, k))
        bfloats = rules_for(target, dense_of(data.astype(half), weight.astype(half), "float32"), tmp_path, strict=True)
        assert ("2 products at once" in bfloats) == (target in WITH_BFLOATS), (k, bfloats)


@pytest.mark.parametrize("types", [("uint8", "int8"), ("int8", "int8")], ids="-".join)
def test_weights_of_seven_bits_are_multiplied_as_bytes(types, tmp_path):
    """Without an instruction that adds four products, pairs of products are added in 16 bits, which hold
    255 * (127 + 1) and 255 * (-127 - 1)."""
    random = np.random.default_rng(10)
    for m, k, n in DENSE:
        data, weight = whole(random, types[0], (m, k)), whole(random, "int8", (n, k)) // 2
        weight[0, 0:2], weight[1 % n, 0:2] = (127, 1), (-127, -1)
        module = dense_of(data, weight, "int32")
        expected = data.astype("int64") @ weight.astype("int64").T
        for target in MASKED:
            np.testing.assert_array_equal(relay.compile(module, target=target)(data), expected, err_msg=f"{m}x{k}x{n}")
        if m >= 8 and k % 4 == 0:
            assert FOUR_AT_ONCE.search(rules_for("zen3", module, tmp_path, strict=True)), (m, k, n)
            weight[0, 0:2] = 127, 2  # 32,895 is too large
            assert TWO_AT_ONCE.search(rules_for("zen3", dense_of(data, weight, "int32"), tmp_path, strict=True))
            weight[0, 0:2] = -127, -2
            assert TWO_AT_ONCE.search(rules_for("haswell", dense_of(data, weight, "int32"), tmp_path, strict=True))
    for data_shape, weight_shape, how in CONVS:
        data, weight = whole(random, types[0], data_shape), whole(random, "int8", weight_shape) // 2
        model = relay.compile(conv_of(data, weight, how, "int32"))
        np.testing.assert_array_equal(model(data), exact_conv(data, weight, **how), err_msg=f"{weight_shape}")


@pytest.mark.parametrize("target", ["zen3", "zen4"])
def test_a_step_fetches_each_cache_line_once(target, tmp_path):
    """The weights of a step are numbers of several outputs side by side: not a line for each number."""
    source, schedule = tmp_path / "dense.relay", tmp_path / "schedule"
    dense_of(np.zeros((128, 256), "uint8"), np.ones((256, 256), "int8"), "int32").save(str(source))
    text = cli("opt", source, "--target", target, "--emit", "schedule").stdout
    weight, block, products = re.search(r"layout (\w+): 0/(\d+),1/(\d)", text).groups()
    schedule.write_text(re.sub(r"(stage dense: at .*\n)", rf"\1  prefetch {weight} n/{block}\n", text))
    loops = cli("opt", source, "--target", target, "--schedule", schedule, "--emit", "loop").stdout
    found = re.findall(rf"(?:^ *prefetch {weight}\[.*\n)+", loops, re.MULTILINE)
    bytes_ = int(block) * int(products)
    assert found and all(lines.count("prefetch") == -(-bytes_ // 64) for lines in found), found


@pytest.mark.parametrize("target", MASKED)
@pytest.mark.parametrize("types", BYTES, ids="-".join)
def test_weights_with_zero_points(types, target, tmp_path):
    """Zero points of the weight, or of each output: differences of 9 bits, which 16 bits hold."""
    random = np.random.default_rng(9)
    for m, k, n in DENSE:
        data, weight = whole(random, types[0], (m, k)), whole(random, types[1], (n, k))
        zero = int(random.integers(np.iinfo(types[0]).min, np.iinfo(types[0]).max))
        for zeros in (whole(random, types[1], ()), whole(random, types[1], (n,))):
            x = relay.var("x", shape=data.shape, dtype=types[0])
            one, point = relay.const(np.float32(1)), relay.const(np.array(zero, "int32"))
            module = relay.module(op.qnn.dense(x, relay.const(weight), one, point, one, relay.const(zeros)))
            exact = (data.astype("int64") - zero) @ (weight.astype("int64") - zeros.astype("int64")[..., None]).T
            np.testing.assert_array_equal(relay.compile(module, target=target)(data), exact, err_msg=f"{m}x{k}x{n}")
    assert TWO_AT_ONCE.search(rules_for("zen4", module, tmp_path, strict=True))


@pytest.mark.parametrize("zero_type", ["int32", "the data's"])
@pytest.mark.parametrize("types", each_nth(2, BYTES), ids="-".join)
def test_quantised_convolutions(types, zero_type, tmp_path):
    """Zero points, which surround the data too, cost nothing in the loops."""
    random, zero_point = np.random.default_rng(7), 5

    def constant(value, dtype="int32"):
        return relay.const(np.array(value, dtype))

    for data_shape, weight_shape, how in CONVS:
        data, weight = whole(random, types[0], data_shape), whole(random, types[1], weight_shape)
        x = relay.var("x", shape=data.shape, dtype=types[0])
        zero = constant(zero_point, "int32" if zero_type == "int32" else types[0])
        parameters = [constant(0.5, "float32"), zero, constant(0.25, "float32"), constant(0)]
        module = relay.module(op.qnn.conv2d(x, relay.const(weight), *parameters, **how))
        exact = exact_conv(data.astype("int64") - zero_point, weight, **how)
        np.testing.assert_array_equal(relay.compile(module)(data), exact, err_msg=f"{weight_shape}")
        fours = how.get("groups", 1) == 1 and weight_shape[1] > 3
        assert ("4 products at once" in rules_for("zen4", module, tmp_path, strict=True)) == fours, weight_shape


def product_of(x, y, zeros, transposed):
    a, b = relay.var("a", shape=x.shape, dtype=str(x.dtype)), relay.var("b", shape=y.shape, dtype=str(y.dtype))
    one, points = relay.const(np.float32(1)), [relay.const(np.array(zero, "int32")) for zero in zeros]
    return relay.module(op.qnn.batch_matmul(a, b, one, points[0], one, points[1], transpose_b=transposed))


@pytest.mark.parametrize("target", MASKED)
@pytest.mark.parametrize("types", each_nth(2, BYTES), ids="-".join)
def test_products_of_two_inputs(types, target, tmp_path):
    """Both factors have a zero point; the second is stored along the sum too, and the last pair may have one number."""
    random = np.random.default_rng(11)
    for b, m, k, n in [(2, 12, 32, 24), (3, 9, 7, 17), (1, 128, 33, 40), (2, 2, 8, 3)]:
        x, y = whole(random, types[0], (b, m, k)), whole(random, types[1], (b, k, n))
        zeros = [int(random.integers(np.iinfo(t).min, np.iinfo(t).max)) for t in types]
        exact = (x.astype("int64") - zeros[0]) @ (y.astype("int64") - zeros[1])
        for transposed in (False, True):
            given = np.ascontiguousarray(y.transpose(0, 2, 1)) if transposed else y
            model = relay.compile(product_of(x, given, zeros, transposed), target=target)
            got = model(before_a_guard(x), before_a_guard(given))
            np.testing.assert_array_equal(got, exact, err_msg=f"{b}x{m}x{k}x{n}")


@pytest.mark.parametrize("target", MASKED)
def test_products_of_two_inputs_in_bfloat16(target, tmp_path):
    """The second factor is stored in pairs along the sum; a sum of odd length stays in multiply-adds."""
    random, half = np.random.default_rng(12), ml_dtypes.bfloat16
    for b, m, k, n in [(2, 12, 32, 24), (3, 9, 8, 17), (1, 128, 34, 40), (2, 30, 33, 48), (2, 2, 8, 3)]:
        x, y = (random.standard_normal(shape).astype(half) for shape in [(b, m, k), (b, k, n)])
        exact, sizes = (
            x.astype("float64") @ y.astype("float64"),
            np.abs(x).astype("float64") @ np.abs(y).astype("float64"),
        )
        for transposed in (False, True):
            given = np.ascontiguousarray(y.transpose(0, 2, 1)) if transposed else y
            a, c = (relay.var(v, shape=w.shape, dtype="bfloat16") for v, w in (("a", x), ("c", given)))
            module = relay.module(op.nn.batch_matmul(a, c, out_dtype="float32", transpose_b=transposed))
            got = relay.compile(module, target=target)(before_a_guard(x), before_a_guard(given))
            assert (np.abs(got - exact) <= 2**-24 * k * sizes).all(), (b, m, k, n)
            pairs = "2 products at once" in rules_for("zen4", module, tmp_path, strict=True)
            assert pairs == (k % 2 == 0 and m >= 8), (b, m, k, n)
            assert "products at once" not in rules_for("zen3", module, tmp_path, strict=True)


@pytest.mark.parametrize("types", each_nth(2, BYTES), ids="-".join)
def test_products_of_two_inputs_on_tiles(types, tmp_path):
    x, y = np.zeros((2, 64, 32), types[0]), np.zeros((2, 32, 64), types[1])
    for transposed in False, True:
        module = product_of(x, y.transpose(0, 2, 1) if transposed else y, (3, 5), transposed)
        assert re.search("products on 2 x 2 tiles", rules_for("sapphirerapids", module, tmp_path, strict=True))


@pytest.mark.parametrize("target", ["zen3", "zen4", "sapphirerapids,-amx"])
def test_products_of_two_inputs_take_pairs(target, tmp_path):
    x, y = np.zeros((2, 64, 32), "uint8"), np.zeros((2, 32, 64), "uint8")
    assert TWO_AT_ONCE.search(rules_for(target, product_of(x, y, (3, 5), False), tmp_path, strict=True))
