"""float32 contractions from bfloat16 parts (--precision bf16x3 and bf16x2): errors beside float64, infinities and NaN.

The arithmetic is that of this machine's instructions for bfloat16, or of float32 where it has none. Tile registers are
emulated in driver/tiles_test.cpp."""

import numpy as np
import pytest
from targets import rules_for

import relay
from relay import op

RNG = np.random.default_rng(11)
SIX, THREE = "bf16x3", "bf16x2"


def dense(weight, rows=48):
    x = relay.var("x", shape=(rows, weight.shape[1]))
    return relay.module(op.nn.dense(x, relay.const(weight)))


def conv(weight, **how):
    x = relay.var("x", shape=(1, weight.shape[1], 14, 14))
    return relay.module(op.nn.conv2d(x, relay.const(weight), **how))


def root_mean_square(got, exact):
    return np.sqrt(np.mean((got - exact) ** 2) / np.mean(exact**2))


def exact_product(x, weight):
    return x.astype("float64") @ weight.astype("float64").T


@pytest.mark.parametrize("kind", ["normal", "positive", "spread"])
def test_errors_of_products(kind):
    x, weight = RNG.standard_normal((48, 512)), RNG.standard_normal((96, 512)) / 20
    if kind == "positive":  # sums that grow
        x, weight = np.abs(x), np.abs(weight)
    if kind == "spread":  # terms of very different sizes
        x = x * 2.0 ** RNG.integers(-30, 30, (48, 1))
    x, weight = x.astype("float32"), weight.astype("float32")
    exact, module = exact_product(x, weight), dense(weight)
    size = np.abs(exact).max(axis=1, keepdims=True)  # rows are compared with their own numbers
    errors = {
        precision: root_mean_square(relay.compile(module, precision=precision)(x) / size, exact / size)
        for precision in ("as_written", SIX, THREE)
    }
    print(kind, errors)
    assert errors[SIX] < 4e-7 and errors[SIX] < 1.5 * errors["as_written"] + 1e-7
    assert 2e-7 < errors[THREE] < 1e-5


def test_errors_of_convolutions():
    x, weight = RNG.standard_normal((1, 64, 14, 14)), RNG.standard_normal((48, 64, 3, 3)) / 24
    x, weight = x.astype("float32"), weight.astype("float32")
    module = conv(weight, padding=[1, 1])
    exact = relay.evaluate(
        relay.module(
            op.nn.conv2d(
                relay.var("x", shape=x.shape, dtype="float64"), relay.const(weight.astype("float64")), padding=[1, 1]
            )
        ),
        [x.astype("float64")],
    )
    compiled = {p: relay.compile(module, precision=p) for p in ("as_written", SIX, THREE)}
    errors = {p: root_mean_square(c(x), exact) for p, c in compiled.items()}
    # Without instructions for bfloat16, the parts are convolved in float32, by Winograd's algorithm as in float32.
    has_bfloat16 = {"+avx512bf16", "+amx-bf16", "+bf16"} & set(compiled[SIX].report["target"]["features"])
    assert errors[SIX] < (4e-7 if has_bfloat16 else 1.5 * errors["as_written"])
    assert 2e-7 < errors[THREE] < 1e-5


@pytest.mark.parametrize("precision", [SIX, THREE])
def test_infinities_and_nan_are_where_direct_sums_have_them(precision):
    weight = RNG.standard_normal((40, 64)).astype("float32")
    weight[3, 7], weight[5, 7] = 0, -0.0
    x = RNG.standard_normal((48, 64)).astype("float32")
    x[1, 7], x[2, 9], x[4, 7], x[6, 1], x[6, 2] = np.inf, -np.inf, np.nan, np.inf, -np.inf
    x[8, 3], x[9, 3] = np.finfo("float32").max, -np.finfo("float32").max  # beyond the largest bfloat16
    got, module = relay.compile(dense(weight), precision=precision)(x), dense(weight)
    direct = relay.compile(module)(x)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(direct))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(direct))
    np.testing.assert_array_equal(got[np.isinf(got)], direct[np.isinf(direct)])
    finite = np.isfinite(direct)
    size = np.abs(np.where(np.isfinite(x), x, 0)).max(axis=1, keepdims=True) * np.ones_like(direct)
    assert (np.abs(got[finite] - direct[finite]) <= 1e-4 * size[finite]).all()
    assert np.isnan(direct).any() and np.isinf(direct).any()


def test_numbers_of_24_bits_are_exact():
    """Three parts hold all bits of a float32: a product with a power of two is exact."""
    weight = np.diag(2.0 ** np.arange(-8, 8)).astype("float32")
    x = (RNG.integers(2**23, 2**24, (48, 16)) * RNG.choice([-1, 1], (48, 16))).astype("float32")
    np.testing.assert_array_equal(relay.compile(dense(weight), precision=SIX)(x), x @ weight)


def test_layers_that_stay_as_they_are():
    x = RNG.standard_normal((48, 64)).astype("float32")
    for bad in (np.inf, np.nan, 2.0**110):
        weight = RNG.standard_normal((40, 64)).astype("float32")
        weight[0, 0] = bad
        module = dense(weight)
        np.testing.assert_array_equal(relay.compile(module, precision=SIX)(x), relay.compile(module)(x))
    image = relay.var("x", shape=(1, 8, 14, 14))
    for groups in (1, 8):
        weight = relay.const(RNG.standard_normal((8, 8 // groups, 3, 3)).astype("float32"))
        module = relay.transform.InferType()(relay.module(op.nn.conv2d(image, weight, groups=groups)))
        assert ("bfloat16" in relay.transform.SplitContractions()(module).astext()) == (groups == 1)
    x, w = relay.var("x", shape=(4, 8)), relay.var("w", shape=(5, 8))
    unknown = relay.transform.InferType()(relay.IRModule({"main": relay.Function([x, w], op.nn.dense(x, w))}))
    assert "bfloat16" not in relay.transform.SplitContractions()(unknown).astext()
    with (
        relay.transform.PassContext(config={"split_contractions.parts": 4}),
        pytest.raises(relay.CompileError, match="parts must be 2 or 3, but is 4"),
    ):
        relay.transform.SplitContractions()(unknown)


def test_tiles_multiply_the_parts(tmp_path):
    weight = RNG.standard_normal((64, 128)).astype("float32")
    for precision in (SIX, THREE):
        rules = rules_for("sapphirerapids", dense(weight, 64), tmp_path, strict=True, precision=precision)
        assert "tiles of 16 rows" in rules, rules
        rules = rules_for("zen4", dense(weight, 64), tmp_path, strict=True, precision=precision)
        assert "2 products at once" in rules, rules
