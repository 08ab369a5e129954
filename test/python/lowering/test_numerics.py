"""The arithmetic classes (docs/numerics.md): planted infinities, NaN, huge and tiny values; accuracy; threads.

Values hold on any processor, with features masked off too; which form is chosen is asked for a named one (targets.py).
"""

import itertools

import ml_dtypes
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from forms import each_nth
from targets import MASKED, rules_for

import relay

CHANNELS, SIZE = 32, 20


@pytest.fixture(scope="module", params=[(3, 3), (1, 7), (5, 5)], ids=["3x3", "1x7", "5x5"])
def weights(request):
    """Two layers' weights, for each kind of window that has a form with fewer multiplications; the second is turned."""
    random, (y, x) = np.random.default_rng(0), request.param
    shapes = [(CHANNELS, CHANNELS, y, x), (CHANNELS, CHANNELS, x, y)]
    return [(random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32) for shape in shapes]


def padding(weight):
    return [size // 2 for size in weight.shape[2:]]


def data(seed=0):
    return np.random.default_rng(seed).standard_normal((1, CHANNELS, SIZE, SIZE)).astype(np.float32)


def network(weights):
    y = relay.var("x", (1, CHANNELS, SIZE, SIZE))
    for w in weights:
        y = relay.op.nn.relu(relay.op.nn.conv2d(y, relay.const(w), padding=padding(w)))
    return relay.module(y)


def build(weights, **options):
    return relay.compile(network(weights), **options)


def by_torch(x, weights, dtype=torch.float32):
    y = torch.from_numpy(x).to(dtype)
    for w in weights:
        y = F.relu(F.conv2d(y, torch.from_numpy(w).to(dtype), padding=padding(w)))
    return y.numpy()


@pytest.mark.parametrize("target", each_nth(3, ["haswell", "icelake-server", "zen4", "zen5"]))
def test_windows_take_winograds_form_and_check_its_data(weights, target, tmp_path):
    chosen = rules_for(target, network(weights), tmp_path)
    assert chosen.count("Winograd") == 2 and "largest" in chosen
    assert "largest" not in rules_for(target, network(weights), tmp_path, numerics="fast")


@pytest.fixture(scope="module", params=MASKED)
def model(weights, request):
    return build(weights, target=request.param)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3e38, -3e38, 1e30, -1e10])
def test_planted_values_stay_where_float32_arithmetic_puts_them(model, weights, value):
    x = data()
    x[0, 5, 7, 9] = value
    got, want = model(x), by_torch(x, weights)
    assert (np.isnan(got) == np.isnan(want)).all() and (np.isinf(got) == np.isinf(want)).all()
    finite = np.isfinite(want)
    # Both are float32 sums in another order: 3e-6 of the largest value, and of the largest one that the planted one is
    # not in.
    for some in (finite, want == by_torch(data(), weights)):
        assert np.abs(got[some] - want[some]).max() <= 3e-6 * np.abs(want[some]).max()


# Up to the largest factor by which nothing overflows, down to the smallest by which nothing is denormal.
@pytest.mark.parametrize("power", [-80, -17, 17, 43, 60])
def test_the_size_of_the_data_does_not_matter(model, weights, power):
    """Scaled by a power of two, all values are computed in the same form and scaled by it, bit for bit."""
    x, factor = data(), np.float32(2.0**power)
    np.testing.assert_array_equal(model(x * factor), model(x) * factor)


@pytest.mark.parametrize("size", [1e-30, 1, 1e13])
def test_values_stand_out_from_those_around_them(model, weights, size):
    """A value 20,000 times the others' size; the results that it is not in have the error of a direct sum."""
    clean = data() * np.float32(size)
    x = clean.copy()
    x[0, 5, 7, 9] = 2e4 * size
    exact = by_torch(x, weights, torch.float64)
    elsewhere = exact == by_torch(clean, weights, torch.float64)
    assert np.abs(model(x) - exact)[elsewhere].max() <= 3e-6 * np.abs(exact[elsewhere]).max()


def test_each_image_is_looked_at_by_itself(weights):
    """Images of a batch are never mixed, so one may be 10^6 times as large as the other, and each has its own error."""
    x = np.concatenate([data(), data(1) * np.float32(2**20)])
    y = relay.var("x", x.shape)
    for w in weights:
        y = relay.op.nn.relu(relay.op.nn.conv2d(y, relay.const(w), padding=padding(w)))
    got, exact = relay.compile(relay.module(y))(x), by_torch(x, weights, torch.float64)
    for image, want in zip(got, exact, strict=True):
        assert np.abs(image - want).max() <= 3e-6 * np.abs(want).max()


@pytest.mark.parametrize("target", MASKED)
def test_ieee_keeps_denormals(weights, target):
    """Data below the smallest normal number, 1.2e-38: results are multiples of 1.4e-45, a few of them off."""
    x = data() * np.float32(1e-40)
    got, want = build(weights, numerics="ieee", target=target)(x), by_torch(x, weights, torch.float64)
    assert want.max() > 1e-40
    assert np.abs(got - want).max() <= 600 * 1.4e-45


def test_denormals_count_as_zero(model):
    """The same data otherwise: all results are zero, exactly."""
    x = data() * np.float32(1e-40)
    assert x.max() > 0 and not (np.abs(x) >= np.finfo("f").tiny).any()
    assert not np.signbit(model(x)).any() and (model(x).view("u4") == 0).all()


@pytest.mark.parametrize(
    "dtype, tiny", [("float32", 1e-40), ("float64", 5e-324), ("float16", 6e-8), ("bfloat16", 1e-40)]
)
@pytest.mark.parametrize("numerics", ["fp32", "ieee"])
def test_the_sign_of_a_subnormal_number_is_one(dtype, tiny, numerics):
    x = np.array([tiny, -tiny, 0.0, -0.0, np.nan, np.inf, -np.inf, 3, -3] * 5).astype(
        ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    )
    module = relay.module(relay.op.sign(relay.var("x", shape=x.shape, dtype=dtype)))
    want = np.array([1, -1, 0.0, -0.0, np.nan, 1, -1, 1, -1] * 5)
    for found in (relay.evaluate(module, [x]), relay.compile(module, numerics=numerics)(x)):
        found = np.asarray(found).astype("float64")
        np.testing.assert_array_equal(found, want)
        assert (np.signbit(found) == np.signbit(want))[~np.isnan(want)].all()


class TestSubnormalNumbers:
    """`x * y` with operands and products around 2**-126, in each type and executor."""

    PROGRAMS = {
        "graph": "def @main(%x: Tensor[(9,), {0}], %y: Tensor[(9,), {0}]) { multiply(%x, %y) }",
        "vm": "def @main(%x: Tensor[(9,), {0}], %y: Tensor[(9,), {0}]) { if (less(1, 2)) { multiply(%x, %y) } "
        "else { %x } }",
    }

    @pytest.mark.parametrize("threads", [1, 2])
    @pytest.mark.parametrize("executor", ["graph", "vm", "aot"])
    @pytest.mark.parametrize("dtype, least", [("float32", -126), ("float64", -1022)])
    def test_are_kept_or_flushed(self, executor, dtype, least, threads, tmp_path):
        powers = np.array([0, -1, -2, 0, -1, 1, -20, 0, 0])
        x = np.ldexp(np.array([1, 1.5, -1, 1, -1.5, 1, 1, -1.25, 0]), least + powers).astype(dtype)
        y = np.array([1, 1, 1, 0.5, -0.75, 0.5, 2.0**20, 0.9, 1], dtype)
        exact = x * y
        flushed = np.where(np.abs(x) < 2.0**least, np.copysign(0, x), x) * y
        flushed = np.where(np.abs(flushed) < 2.0**least, np.copysign(0, flushed), flushed)
        assert (exact != flushed).sum() == 5
        text = self.PROGRAMS["graph" if executor == "graph" else "vm"].replace("{0}", dtype)
        for numerics, want in ("ieee", exact), ("fp32", flushed), ("fast", flushed):
            how = {} if executor == "graph" else {"executor": executor}
            made = relay.compile(
                relay.parse(f'#[version = "0.0.5"]\n{text}'), numerics=numerics, threads=threads, **how
            )
            made.save(tmp_path / "saved.rart")
            for model in made, relay.load(tmp_path / "saved.rart"):
                assert model(x, y).tobytes() == want.tobytes(), numerics

    def test_of_float16_are_ordinary(self):
        every = np.arange(1 << 16, dtype="u2").view("f2")
        program = relay.parse(
            '#[version = "0.0.5"]\ndef @main(%x: Tensor[(65536,), float16]) { cast(%x, dtype="float32") }'
        )
        for target in "native", "native,-f16c":
            got = relay.compile(program, target=target)(every)
            assert np.array_equal(got, every.astype("f4"), equal_nan=True)

    def test_the_threads_of_the_process_keep_theirs(self):
        """NumPy computes on the calling thread before and after a run, on more elements than one piece."""
        model = relay.compile(
            relay.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(100000,), float32]) { add(%x, %x) }'), threads=2
        )
        x = np.full(100000, 1e-40, "f4")
        for _ in range(10):
            assert not model(x).any()
            assert ((x + x) > 1e-40).all()


@pytest.mark.parametrize("target", MASKED)
def test_fast(weights, target):
    x = data()
    model = build(weights, numerics="fast", target=target)
    np.testing.assert_allclose(model(x), by_torch(x, weights), atol=2e-5)


def test_the_error_is_that_of_float32(model, weights):
    """RMS against float64, of the largest value: at most 4 ULP for two layers."""
    x = data(1)
    exact = by_torch(x, weights, torch.float64)
    assert np.sqrt(np.mean((model(x) - exact) ** 2)) <= 4 * 2.0**-23 * np.abs(exact).max()


@pytest.mark.parametrize("target", MASKED)
def test_long_sums_are_split(target):
    """A sum of 20,000 terms in one chain would be off by about 1e-5 of its terms' size."""
    random = np.random.default_rng(2)
    x, w = (random.uniform(0, 1, shape).astype(np.float32) for shape in [(3, 20000), (40, 20000)])
    product = relay.module(relay.op.nn.dense(relay.var("x", (3, 20000)), relay.const(w)))
    model = relay.compile(product, target=target)
    exact = x.astype(np.float64) @ w.astype(np.float64).T
    assert np.abs(model(x) / exact - 1).max() <= 2e-6


@pytest.mark.parametrize("terms", [40, 512, 2048])
def test_an_activation_that_reads_its_sum_twice_is_computed_with_it(terms, tmp_path):
    """GELU: the sum occurs inside and outside of erf."""
    random = np.random.default_rng(3)
    x, w = (random.uniform(-0.2, 0.2, shape).astype(np.float32) for shape in [(30, terms), (300, terms)])
    y = relay.op.nn.dense(relay.var("x", x.shape), relay.const(w))
    gelu = y * relay.const(0.5) * (relay.const(1.0) + relay.op.erf(y * relay.const(0.5**0.5)))
    assert "elementwise" not in rules_for("zen4", relay.module(gelu), tmp_path)
    exact = F.gelu(torch.tensor(x.astype(np.float64) @ w.astype(np.float64).T)).numpy()
    for target in MASKED:
        np.testing.assert_allclose(relay.compile(relay.module(gelu), target=target)(x), exact, atol=3e-6)


@pytest.mark.parametrize(
    "rows, terms, columns", [((2, 67), 2048, 100), ((300,), 4096, 72), ((3, 5, 30), 1024, 200), ((700,), 4096, 40)]
)
def test_blocks_of_long_sums(rows, terms, columns, tmp_path):
    """Rows that lie a multiple of 4096 bytes apart are copied block by block; columns and rows do not divide."""
    random = np.random.default_rng(2)
    x, w = random.integers(-3, 4, (*rows, terms)), random.integers(-3, 4, (columns, terms))
    x, w = x.astype(np.float32), w.astype(np.float32)
    product = relay.module(relay.op.nn.dense(relay.var("x", x.shape), relay.const(w)))
    assert "blocks of rows copied" in rules_for("zen4", product, tmp_path, threads=2)
    for target in MASKED:
        np.testing.assert_array_equal(relay.compile(product, target=target, threads=2)(x), x @ w.T)


@pytest.mark.parametrize("target", MASKED)
def test_threads_do_not_change_bits(weights, target):
    x = data(3)
    results = [build(weights, threads=threads, target=target)(x) for threads in (1, 2, 3)]
    assert all((r == results[0]).all() for r in results)


class TestProducts:
    """Strassen's form of large products: the same statements. Odd rows, weights either way round, an activation."""

    def product(self, transposed, rows):
        random = np.random.default_rng(2)
        self.weight = (random.standard_normal((256, 512)) / 16).astype(np.float32)
        self.data = random.standard_normal((1, rows, 256)).astype(np.float32)
        x = relay.var("x", (1, rows, 256))
        weight = relay.const(self.weight.T.copy() if transposed else self.weight)
        y = relay.op.nn.matmul(x, weight, transpose_b=transposed)
        return relay.module(relay.op.erf(y) if transposed else y)

    def exact(self, transposed, dtype=np.float64):
        y = self.data.astype(dtype) @ self.weight.astype(dtype)
        return torch.erf(torch.from_numpy(y)).numpy() if transposed else y

    @pytest.mark.parametrize("transposed", [False, True])
    @pytest.mark.parametrize("rows", [63, 64])
    def test_strassens_form_is_chosen(self, transposed, rows, tmp_path):
        assert rules_for("zen4", self.product(transposed, rows), tmp_path).count("Strassen") == 1

    @pytest.mark.parametrize("target", MASKED)
    @pytest.mark.parametrize("transposed", [False, True])
    @pytest.mark.parametrize("rows", [63, 64])
    def test_the_error_is_that_of_float32(self, transposed, rows, target):
        model = relay.compile(self.product(transposed, rows), target=target)
        exact = self.exact(transposed)
        got = model(self.data, threads=1)
        assert np.sqrt(np.mean((got - exact) ** 2)) <= 4 * 2.0**-23 * np.abs(exact).max()
        assert all(np.array_equal(model(self.data, threads=n), got) for n in (2, 3))

    @pytest.mark.parametrize("target", MASKED)
    @pytest.mark.parametrize("row", [7, 62])  # of 63: the last one has no neighbour
    @pytest.mark.parametrize("value", [np.inf, np.nan, 3e38, 1e10, 65536])
    def test_planted_values_stay_where_float32_arithmetic_puts_them(self, value, row, target):
        model = relay.compile(self.product(False, 63), target=target)
        self.data[0, row, 9] = value
        with np.errstate(all="ignore"):
            want = self.exact(False, np.float32)
        got = model(self.data)
        assert (np.isnan(got) == np.isnan(want)).all() and (np.isinf(got) == np.isinf(want)).all()
        others = np.arange(want.shape[1]) != row
        for ours, theirs in ((got[:, row], want[:, row]), (got[:, others], want[:, others])):
            finite = np.isfinite(theirs)
            if finite.any():
                assert np.abs(ours[finite] - theirs[finite]).max() <= 3e-6 * np.abs(theirs[finite]).max()


@pytest.mark.parametrize("rows, terms, columns", [*itertools.product((0, 1, 5, 70), (0, 3, 64), (0, 2, 96))])
def test_empty_arrays(rows, terms, columns):
    """Sums of nothing are zero, and nothing has no elements."""
    x, y = (np.ones((2, n, terms), np.float32) for n in (rows, columns))
    a, b = relay.var("x", x.shape), relay.var("y", y.shape)
    product = relay.op.nn.batch_matmul(a, b)
    model = relay.compile(
        relay.module(relay.Tuple([product, relay.op.nn.softmax(product), relay.op.sum(product, axis=1)]))
    )
    got = model(x=x, y=y)
    want = x @ y.transpose(0, 2, 1)
    np.testing.assert_array_equal(got[0], want)
    assert got[1].shape == want.shape
    np.testing.assert_array_equal(got[2], want.sum(1))
    dense = relay.compile(relay.module(relay.op.nn.dense(a, relay.const(y[0]))))
    np.testing.assert_array_equal(dense(x=x), want)


@pytest.mark.parametrize("width", [1, 4, 5, 9])
def test_lanes_that_read_one_element_where_only_some_are_wanted(width):
    """The last two of ten columns: each reads the last element, and one of them is between elements."""
    values, factors = np.arange(1, 1 + width, dtype="float32"), np.array([2, 3], "float32")
    data, weight = values.reshape(1, 1, 1, width), factors.reshape(1, 1, 1, 2)
    x, w = (relay.var(name, shape=a.shape) for name, a in (("x", data), ("w", weight)))
    call = relay.nn.conv2d_transpose(x, w, channels=1, kernel_size=(1, 2), strides=(1, 2))
    got = relay.compile(relay.module(call))(data, weight)
    assert got.ravel().tolist() == np.outer(values, factors).ravel().tolist()
