"""Functions that importers share keep their digits where terms cancel, and have C's values at zeros and infinities."""

import math

import numpy as np
import pytest
from relay.frontend.shared import functions

import relay

INF = math.inf
SIZES = [
    0.0,
    1e-30,
    1e-10,
    1e-5,
    0.01,
    0.3,
    0.49999997,
    0.5,
    1,
    1.5,
    3,
    6,
    8,
    12,
    20,
    64,
    125,
    1000,
    8388609,
    1e20,
    1e30,
]
LINE = np.array([*SIZES, INF, *(-one for one in SIZES), -INF, math.nan], "float32")


def elu(x):
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


def gelu(x):
    return x / (1 + np.exp(-2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


CURVES = {
    "elu": (lambda x: functions.elu(x, 1.0), elu),
    "selu": (lambda x: functions.elu(x, 1.5, 2.0), lambda x: 2 * np.where(x > 0, x, 1.5 * elu(x))),
    "celu": (lambda x: functions.celu(x, 2.0), lambda x: np.where(x > 0, x, 2 * np.expm1(np.minimum(x, 0) / 2))),
    "gelu_of_tanh": (functions.gelu_of_tanh, gelu),
    "cbrt": (functions.cbrt, np.cbrt),
    "away_from_zero": (functions.away_from_zero, lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5)),
}


def results(function, *arrays):
    variables = [relay.var(f"x{i}", shape=one.shape, dtype=str(one.dtype)) for i, one in enumerate(arrays)]
    return relay.compile(relay.module(function(*variables)))(*arrays)


@pytest.mark.parametrize("name", CURVES)
def test_curve(name):
    function, exact = CURVES[name]
    with np.errstate(all="ignore"):
        want = exact(LINE.astype("float64"))
    keep = ~((name == "gelu_of_tanh") & np.isinf(LINE) | (np.abs(want) < 1.2e-38))  # -inf * 0, numbers below the normal
    got = results(function, LINE).astype("float64")
    np.testing.assert_allclose(got[keep], want[keep], rtol=2e-5 if name == "gelu_of_tanh" else 5e-7)


def test_whole_cube_roots():
    for dtype in ("float32", "float64"):
        roots = np.arange(200.0).astype(dtype)
        np.testing.assert_array_equal(results(functions.cbrt, roots**3), roots)


PAIRS = [
    np.ravel(one).astype("float32") for one in np.meshgrid(*2 * [[0.0, -0.0, 1, -2, 1e-30, 3e30, -1e20, INF, -INF]])
]


def test_angles():
    got, want = results(functions.atan2, *PAIRS), np.arctan2(*(one.astype("float64") for one in PAIRS))
    np.testing.assert_allclose(got, want, rtol=3e-7, atol=1e-37)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


def test_sides():
    want = np.hypot(*(one.astype("float64") for one in PAIRS))
    np.testing.assert_allclose(results(functions.hypotenuse, *PAIRS), want, rtol=3e-7)


def test_sums_of_exponentials():
    a, b = (one.astype("float32") for one in np.meshgrid([-INF, -200, -1, 0, 3, 1e4, INF], [-INF, -201, 0, 3, INF]))
    np.testing.assert_allclose(results(functions.logaddexp, a, b), np.logaddexp(a, b), rtol=3e-7)
    rows = np.array([[-200, -199, 3, -50, 4], [-INF, -INF, 0, -INF, 1], [5, INF, 1, 0, 0]], "float32")
    running = np.logaddexp.accumulate(rows.astype("float64"), axis=1)
    np.testing.assert_allclose(results(lambda x: functions.running_logsumexp(x, 1), rows), running, rtol=3e-7)
    np.testing.assert_allclose(results(lambda x: relay.op.logsumexp(x, axis=[1]), rows), running[:, -1], rtol=3e-7)
    nothing = np.full((2, 3), -INF, "float32")
    np.testing.assert_array_equal(results(lambda x: relay.op.logsumexp(x, axis=[1]), nothing), [-INF, -INF])
