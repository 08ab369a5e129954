"""Each method of calibration beside its definition in NumPy, on histograms of several shapes."""

import numpy as np
import pytest

from relay import _core

RNG = np.random.default_rng(5)
VALUES = {
    "normal": RNG.standard_normal(20000),
    "relu": np.maximum(RNG.standard_normal(20000), 0),
    "outliers": np.concatenate([RNG.standard_normal(20000), [60.0, -35.0]]),
    "skewed": RNG.gamma(0.6, 2.0, 20000) - 0.5,
    "uniform": RNG.uniform(-3, 1, 20000),
}
FORMS = [(8, False), (8, True), (4, False)]


def histogram(values, bins=2048):
    counts, edges = np.histogram(values, bins)
    return counts.astype("float64"), float(values.min()), float(values.max()), edges


def clipped(least, most, part):
    largest = part * max(abs(least), abs(most))
    return max(least, -largest), min(most, largest)


def parameters(least, most, bits, symmetric):
    """Scale, zero point and the integers of a range; scales are float32."""
    least, most, half = min(least, 0.0), max(most, 0.0), 2 ** (bits - 1)
    low, high = (-(half - 1) if symmetric else -half), half - 1
    width = 2 * max(-least, most) if symmetric else most - least
    scale = float(np.float32(width / (high - low)))
    zero = 0 if symmetric else int(np.clip(np.rint(low - least / scale), low, high))
    return scale, zero, low, high


def percentile(counts, least, most, edges, percent):
    outer = np.maximum(abs(edges[:-1]), abs(edges[1:]))
    order = np.argsort(outer, kind="stable")
    seen = np.cumsum(counts[order])
    bound = outer[order][np.searchsorted(seen, counts.sum() * percent / 100)]
    return max(least, -bound), min(most, bound)


def mean_squared_error(counts, least, most, edges, bits, symmetric):
    centres = (edges[:-1] + edges[1:]) / 2

    def error(part):
        scale, zero, low, high = parameters(*clipped(least, most, part), bits, symmetric)
        q = np.clip(np.rint(centres / scale) + zero, low, high)
        return np.sum(counts * (scale * (q - zero) - centres) ** 2)

    return error


def kl(counts, least, most, bits, symmetric):
    levels, bins = 2**bits - symmetric, len(counts)

    def place(x):
        return min(int(max((x - least) / (most - least) * bins, 0)), bins - 1)

    def divergence(part):
        first, last = (place(x) for x in clipped(least, most, part))
        inside = counts[first : last + 1]
        if len(inside) < levels:
            return np.inf
        p, q = inside.copy(), np.full(len(inside), 1e-4)
        p[0] += counts[:first].sum()
        p[-1] += counts[last + 1 :].sum()
        cuts = np.arange(levels + 1) * len(inside) // levels
        for begin, end in zip(cuts[:-1], cuts[1:], strict=True):
            filled = inside[begin:end] > 0
            if filled.any():
                q[begin:end][filled] = inside[begin:end].sum() / filled.sum()
        p, q = p / p.sum(), q / q.sum()
        return np.sum(p[p > 0] * np.log(p[p > 0] / q[p > 0]))

    return divergence


def chosen(method, name, bits=8, symmetric=False, percent=99.99):
    counts, least, most, _ = histogram(VALUES[name])
    return _core.calibrate(method, list(counts), least, most, bits, symmetric, percent)


def part_of(name, range_):
    _, least, most, _ = histogram(VALUES[name])
    return max(abs(range_[0]), abs(range_[1])) / max(abs(least), abs(most))


@pytest.mark.parametrize("name", VALUES)
def test_maximum(name):
    assert chosen("maximum", name) == (VALUES[name].min(), VALUES[name].max())


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("percent", [99.99, 99.0, 90.0])
def test_percentile(name, percent):
    counts, least, most, edges = histogram(VALUES[name])
    wanted = percentile(counts, least, most, edges, percent)
    np.testing.assert_allclose(chosen("percentile", name, percent=percent), wanted, rtol=1e-9, atol=1e-12)
    # And from the values themselves: no fewer are inside than asked for, up to the values of one bin.
    inside = np.mean((VALUES[name] >= wanted[0]) & (VALUES[name] <= wanted[1])) * 100
    assert inside >= percent - 1e-9


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize(("bits", "symmetric"), FORMS)
def test_mean_squared_error(name, bits, symmetric):
    """No other of the hundred ranges has a smaller error, up to rounding."""
    counts, least, most, edges = histogram(VALUES[name])
    error = mean_squared_error(counts, least, most, edges, bits, symmetric)
    part = part_of(name, chosen("mean_squared_error", name, bits, symmetric))
    assert error(part) <= min(error(i / 100) for i in range(1, 101)) * (1 + 1e-6)


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize(("bits", "symmetric"), FORMS)
def test_kl_divergence(name, bits, symmetric):
    counts, least, most, _ = histogram(VALUES[name])
    divergence = kl(counts, least, most, bits, symmetric)
    range_ = chosen("kl_divergence", name, bits, symmetric)
    tried = [divergence(i / 128) for i in range(1, 129)]
    best = 128 - int(np.argmin(tried[::-1]))
    np.testing.assert_allclose(range_, clipped(least, most, best / 128), rtol=1e-9)


def test_outliers_are_left_out():
    """Two methods find the bulk of the values beside two outliers of 60 and -35. The squared error of clipping those
    exceeds that of coarse steps for all others."""
    for method in ("kl_divergence", "percentile"):
        assert max(map(abs, chosen(method, "outliers", percent=99.9))) < 20, method
    assert chosen("maximum", "outliers") == (-35.0, 60.0)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="no calibration 'mean'"):
        _core.calibrate("mean", [1.0], 0, 1, 8, False, 99.0)
    with pytest.raises(ValueError, match="at least one bin"):
        _core.calibrate("maximum", [], 0, 1, 8, False, 99.0)
