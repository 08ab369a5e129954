"""Prints the polynomial coefficients of src/relay/scalar/math.cpp: near-minimax fits (Chebyshev) in 60 digits.

    python3 dev/math_coefficients.py

Each fit approximates the smooth remainder after the exact leading terms: exp(r) = 1 + r + r*r * fit(r), for example.
"""

import numpy as np
from mpmath import asin, atan, chebyfit, cos, erf, erfc, exp, log, mp, mpf, pi, sin, sqrt, tan, tanh

mp.dps = 60


def fit(name, f, low, high, terms, single):
    coefficients, error = chebyfit(f, [mpf(low), mpf(high)], terms, error=True)
    digits = ", ".join(mp.nstr(c, 10 if single else 18) for c in reversed(coefficients))  # constant first
    print(f"// {name}: error {mp.nstr(error, 2)}\nconstexpr double {name}[] = {{{digits}}};")


def fit_weighted(name, f, weight, high, terms):
    """Near-minimax fit of weight * error: repeated least squares with more weight where the error is large (Lawson)."""
    x = np.concatenate(
        [high * (0.5 - 0.5 * np.cos(np.pi * (np.arange(700) + 0.5) / 700)), np.geomspace(1e-4, high, 300)]
    )
    values = np.array([float(f(mpf(v))) for v in x])
    weights = np.array([float(weight(mpf(v))) for v in x])
    powers = np.vander(x / high, terms, increasing=True)
    share, best = np.ones_like(x), (np.inf, None)
    for _ in range(400):
        scale = np.sqrt(share) * weights
        c = np.linalg.lstsq(powers * scale[:, None], values * scale, rcond=None)[0]
        error = np.abs(powers @ c - values) * weights
        best = min(best, (error.max(), tuple(c / high ** np.arange(terms))))
        share *= error / error.max() + 1e-3
        share /= share.sum()
    print(f"// {name}: error {best[0]:.1e}\nconstexpr double {name}[] = {{{', '.join(f'{c:.10g}' for c in best[1])}}};")


def fit_quotient(name, f, high, over, under):
    """f(z) as P(z) / Q(z) of the given degrees, with constant terms 1: a near-minimax fit of the relative error by
    repeated least squares, weighted with the previous denominator and Lawson's weights.
    """
    high = float(high)
    x = np.concatenate(
        [high * (0.5 - 0.5 * np.cos(np.pi * (np.arange(600) + 0.5) / 600)), np.geomspace(1e-6, high, 200)]
    )
    values = np.array([float(f(mpf(v))) for v in x])
    powers = [x**k for k in range(max(over, under) + 1)]
    matrix = np.stack([*powers[1 : over + 1], *(-values * p for p in powers[1 : under + 1])], axis=1)
    share, denominator, best = np.ones_like(x), np.ones_like(x), (np.inf, None)
    for _ in range(600):
        weight = np.sqrt(share) / (values * denominator)
        c = np.linalg.lstsq(matrix * weight[:, None], (values - 1) * weight, rcond=None)[0]
        denominator = 1 + sum(c[over + k - 1] * powers[k] for k in range(1, under + 1))
        error = np.abs((1 + sum(c[k - 1] * powers[k] for k in range(1, over + 1))) / denominator / values - 1)
        best = min(best, (error.max(), tuple(c)))
        share *= error / error.max() + 1e-3
        share /= share.sum()
    for part, terms in (("over", best[1][:over]), ("under", best[1][over:])):
        digits = ", ".join(f"{c:.18g}" for c in (1.0, *terms))
        print(f"// {name}: error {best[0]:.1e}\nconstexpr double {name}_{part}[] = {{{digits}}};")


def exp_rest(r):
    return mpf("0.5") + r / 6 if abs(r) < mpf(10) ** -18 else (exp(r) - 1 - r) / r**2


def log_rest(f):
    return mpf(1) / 3 - f / 4 if abs(f) < mpf(10) ** -18 else (mp.log1p(f) - f + f * f / 2) / f**3


def odd_rest(g, third, fifth):
    """g(x) = x + x^3 * rest(x^2)."""

    def rest(z):
        if abs(z) < mpf(10) ** -20:
            return third + fifth * z
        x = sqrt(z)
        return (g(x) - x) / (x * z)

    return rest


def erf_rest(z):
    """erf(x) = x + x * rest(x^2)."""
    if abs(z) < mpf(10) ** -30:
        return 2 / sqrt(pi) - 1
    return erf(sqrt(z)) / sqrt(z) - 1


def cos_rest(z):
    if abs(z) < mpf(10) ** -18:
        return mpf(1) / 24 - z / 720
    return (cos(sqrt(z)) - 1 + z / 2) / z**2


def atanh_rest(z):
    """log(m) = 2 * s + s * z * rest(z), s = (m - 1) / (m + 1), z = s * s."""
    if abs(z) < mpf(10) ** -18:
        return mpf(2) / 3 + 2 * z / 5
    s = sqrt(z)
    return (2 * mp.atanh(s) - 2 * s) / (s * z)


def erfc_rest(k):
    """erfc(t) = exp(-t^2) * v * rest(v - 1/2), v = 1 / (1 + k * t)."""

    def rest(q):
        v = q + mpf("0.5")
        t = (1 / v - 1) / k
        return exp(t * t) * erfc(t) / v

    return rest


half_ln2 = log(2) / 2 * mpf("1.001")
quarter_pi = pi / 4 * mpf("1.0001")
half_pi = pi / 2 * mpf("1.0001")
fit("exp32", exp_rest, -half_ln2, half_ln2, 5, True)
fit("exp64", exp_rest, -half_ln2, half_ln2, 11, False)
fit("log32", log_rest, sqrt(mpf("0.5")) - 1, sqrt(mpf(2)) - 1, 8, True)
s = (sqrt(mpf(2)) - 1) / (sqrt(mpf(2)) + 1)
fit("log64", atanh_rest, 0, s * s * mpf("1.0001"), 8, False)
fit("tanh64", odd_rest(tanh, mpf(-1) / 3, mpf(2) / 15), 0, mpf("0.625") ** 2, 13, False)
fit_weighted("erf32", lambda t: -log(erfc(t)) / t - 1, lambda t: t * erfc(t) / erf(t), 3.93, 9)
fit("erf64_small", erf_rest, 0, 1, 14, False)
fit("erf64_middle", lambda t: -log(erfc(t)), 1, 2.25, 15, False)
fit("erf64_large", lambda t: -log(erfc(t)), 2.25, 6, 20, False)
for name, k, last, terms in (("erfc32", mpf("0.75"), mpf("10.1"), 12), ("erfc64", mpf("0.3"), mpf("27.3"), 23)):
    fit(name, erfc_rest(k), 1 / (1 + k * last) - mpf("0.5"), mpf("0.5"), terms, name == "erfc32")
fit("half_turn32", odd_rest(sin, mpf(-1) / 6, mpf(1) / 120), 0, half_pi**2, 5, False)
fit("sin64", odd_rest(sin, mpf(-1) / 6, mpf(1) / 120), 0, quarter_pi**2, 7, False)
fit_quotient("tan32", lambda z: tan(sqrt(z)) / sqrt(z), quarter_pi**2, 2, 2)
fit("cos64", cos_rest, 0, quarter_pi**2, 7, False)
fit("asin32", odd_rest(asin, mpf(1) / 6, mpf(3) / 40), 0, mpf("0.25"), 5, True)  # of op/math/unary.cpp
fit("atan32", odd_rest(atan, mpf(-1) / 3, mpf(1) / 5), 0, mpf("0.4375"), 7, True)
fit("atan64", odd_rest(atan, mpf(-1) / 3, mpf(1) / 5), 0, mpf("0.4375"), 19, False)
for name, value, bits, parts in (
    ("ln2", log(2), 16, 2),
    ("ln2", log(2), 32, 2),
    ("half_pi", pi / 2, 24, 4),
    ("pi", pi, 24, 3),
):
    rest, out = value, []
    for i in range(parts):
        if i == parts - 1:
            out.append(float(rest).hex())
        else:
            shift = bits - 1 - int(mp.floor(mp.log(rest, 2)))
            part = mp.floor(rest * mpf(2) ** shift) / mpf(2) ** shift
            out.append(float(part).hex())
            rest -= part
    print(f"// {name}, {bits} bits per part: {', '.join(out)}")
