"""Sweeps each operator of one or two floats over all exponents of its types, and compares kernels and the evaluator
with mpmath: `accuracy.py [--short] [operator]...`. Exits with 1 if a result is farther from the exact one than its
bound. Kernels run twice: with subnormal numbers (numerics="ieee"), and without (docs/numerics.md). Then subnormal
operands count as zero, and a result may be off by a few times the smallest normal number.

An error is in units in the last place (ULP) of the exact result, rounded to the type. One float16 or bfloat16 operand
takes every value; other operands are drawn from each exponent, and from the surroundings of special points.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass

import ml_dtypes
import mpmath
import numpy as np
from relay.op.make import operators

import relay

TYPES = {"float16": np.dtype("float16"), "bfloat16": np.dtype(ml_dtypes.bfloat16), "float32": np.dtype("float32"),
         "float64": np.dtype("float64")}  # fmt: skip
# The bits of a significand and the least exponent of a normal number.
FORMAT = {"float16": (11, -14), "bfloat16": (8, -126), "float32": (24, -126), "float64": (53, -1022)}


@dataclass
class Function:
    exact: object  # computes it with mpmath
    low: float = -math.inf  # operands outside are not drawn
    high: float = math.inf


def _half_of_erfc(x):
    return x / 2 * mpmath.erfc(-x / mpmath.sqrt(2))


def _softplus(x):
    return x + mpmath.log1p(mpmath.exp(-x)) if x > 0 else mpmath.log1p(mpmath.exp(x))


def _sigmoid(x):
    return 1 / (1 + mpmath.exp(-x))


def _truncate(x):
    return mpmath.sign(x) * mpmath.floor(abs(x))


UNARY = {
    "abs": Function(abs),
    "acos": Function(mpmath.acos, -1, 1),
    "acosh": Function(mpmath.acosh, 1),
    "asin": Function(mpmath.asin, -1, 1),
    "asinh": Function(mpmath.asinh),
    "atan": Function(mpmath.atan),
    "atanh": Function(mpmath.atanh, -1, 1),
    "ceil": Function(mpmath.ceil),
    "copy": Function(lambda x: x),
    "cos": Function(mpmath.cos),
    "cosh": Function(mpmath.cosh),
    "erf": Function(mpmath.erf),
    "erfc": Function(mpmath.erfc),
    "exp": Function(mpmath.exp),
    "expm1": Function(mpmath.expm1),
    "fast_erf": Function(mpmath.erf),
    "fast_exp": Function(mpmath.exp),
    "fast_tanh": Function(mpmath.tanh),
    "floor": Function(mpmath.floor),
    "log": Function(mpmath.log, 0),
    "log10": Function(mpmath.log10, 0),
    "log1p": Function(mpmath.log1p, -1),
    "log2": Function(lambda x: mpmath.log(x, 2), 0),
    "negative": Function(lambda x: -x),
    "nn.gelu": Function(_half_of_erfc),
    "nn.relu": Function(lambda x: max(x, 0)),
    "nn.softplus": Function(_softplus),
    "round": Function(mpmath.nint),
    "rsqrt": Function(lambda x: 1 / mpmath.sqrt(x), 0),
    "sigmoid": Function(_sigmoid),
    "sign": Function(mpmath.sign),
    "sin": Function(mpmath.sin),
    "sinh": Function(mpmath.sinh),
    "sqrt": Function(mpmath.sqrt, 0),
    "tan": Function(mpmath.tan),
    "tanh": Function(mpmath.tanh),
    "trunc": Function(_truncate),
}


def _remainder(x, y):
    rest = mpmath.fmod(x, y)
    return rest + y if rest != 0 and (rest < 0) != (y < 0) else rest


def _truncated(x, y):
    rest = mpmath.fmod(abs(x), abs(y))
    return -rest if x < 0 else rest


BINARY = {
    "add": Function(lambda x, y: x + y),
    "divide": Function(lambda x, y: x / y),
    "floor_divide": Function(lambda x, y: mpmath.floor(x / y)),
    "floor_mod": Function(_remainder),
    "maximum": Function(max),
    "minimum": Function(min),
    "mod": Function(_truncated),
    "multiply": Function(lambda x, y: x * y),
    "power": Function(mpmath.power),
    "subtract": Function(lambda x, y: x - y),
    "trunc_mod": Function(_truncated),
}
# (float32, float64): the bounds that the operators state.
BOUNDS = {name: one["accuracy"] for name, one in operators().items() if one["accuracy"]}
SPECIAL = (0, 0.5, 1, math.pi / 4, math.pi / 2, math.pi, 2, math.e, 10, 88.7228, 103.97, 709.78, 745.13)


def points(dtype: str, each: int, random: np.random.Generator) -> np.ndarray:
    """Numbers of every exponent, and of the surroundings of special points; of either sign."""
    bits, least = FORMAT[dtype]
    if dtype in ("float16", "bfloat16"):
        return np.arange(1 << 16, dtype=np.uint16).view(TYPES[dtype])
    exponents = np.repeat(np.arange(least - bits + 1, -least + 2, 1 if dtype == "float32" else 8), each)
    found = [np.ldexp(random.uniform(1, 2, exponents.size), exponents)]
    found += [at + unit * np.arange(-4, 5) * 2.0**-bits for at in SPECIAL for unit in (1, at, 2.0**10, 2.0**20)]
    found += [random.uniform(-bound, bound, 20 * each) for bound in (1, 8, 100, 700)]
    with np.errstate(over="ignore"):
        signed = np.concatenate([sign * one for one in found for sign in (1, -1)]).astype(TYPES[dtype])
    return signed[np.isfinite(signed)]


def pairs(dtype: str, count: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Operands of exponents that are near or far, and whole numbers and simple fractions."""
    _, least = FORMAT[dtype]
    first = random.integers(least, -least + 1, count)
    second = np.where(random.random(count) < 0.5, first + random.integers(-40, 41, count),
                      random.integers(least, -least + 1, count)).clip(least, -least)  # fmt: skip
    with np.errstate(over="ignore"):
        x, y = (np.ldexp(random.uniform(1, 2, count) * random.choice((-1, 1), count), one) for one in (first, second))
    small = random.integers(-99, 100, (2, count)) / random.choice((1, 10), (2, count))
    x, y = np.concatenate([x, small[0]]), np.concatenate([y, small[1]])
    x, y = x.astype(TYPES[dtype]), y.astype(TYPES[dtype])
    keep = np.isfinite(x) & np.isfinite(y) & (y != 0)
    return x[keep], y[keep]


def error(got: float, exact, dtype: str) -> float:
    """In ULP; results beyond the greatest number are infinite, and one step from there counts one."""
    bits, least = FORMAT[dtype]
    if not mpmath.isfinite(exact):
        return 0 if got == float(exact) or (math.isnan(got) and mpmath.isnan(exact)) else math.inf
    greatest = (2 - mpmath.mpf(2) ** (1 - bits)) * mpmath.mpf(2) ** -(least - 1)
    exponent = max(mpmath.frexp(exact)[1] - 1, least) if exact else least
    unit = mpmath.mpf(2) ** (exponent - bits + 1)
    if math.isinf(got):  # right from half a step behind the greatest number on
        return 0 if abs(exact) >= greatest and (got > 0) == (exact > 0) else float((greatest - abs(exact)) / unit) + 1
    return math.inf if math.isnan(got) else float(abs(mpmath.mpf(got) - min(max(exact, -greatest), greatest)) / unit)


def results(jobs: list[tuple[str, Function, tuple]], dtype: str, numerics: str | None) -> list[np.ndarray]:
    """Runs all operators in one program of kernels, or in the evaluator; returns doubles."""
    calls, values = [], []
    for name, _, operands in jobs:
        variables = [relay.var(f"x{len(values) + k}", shape=one.shape, dtype=dtype) for k, one in enumerate(operands)]
        function = relay.op
        for part in name.split("."):
            function = getattr(function, part)
        calls.append(function(*variables))
        values += operands
    module = relay.module(relay.Tuple(calls))
    found = relay.evaluate(module, values) if numerics is None else relay.compile(module, numerics=numerics)(*values)
    return [np.asarray(one).astype("float64").reshape(-1) for one in found]


def exact_results(name: str, function: Function, dtype: str, operands: tuple, flushes: bool) -> list:
    """None where there is no real result."""
    mpmath.mp.prec = 1200 if name in ("sin", "cos", "tan") and dtype == "float64" else 300
    if name in DIVISIONS:
        mpmath.mp.prec = 2400
    exact, wide = [], [one.astype("float64") for one in operands]
    if flushes and name not in OF_BITS:
        wide = [np.where(np.abs(one) < _smallest(dtype), np.copysign(0, one), one) for one in wide]
    for numbers in zip(*(one.tolist() for one in wide), strict=True):
        # The division's remainders of tiny divisors have parts that are flushed (docs/numerics.md).
        if flushes and name in DIVISIONS and abs(numbers[1]) < _smallest(dtype) * 2.0**62:
            exact.append(None)
            continue
        try:
            value = function.exact(*map(mpmath.mpf, numbers))
        except (ZeroDivisionError, ValueError, OverflowError):
            value = None
        exact.append(None if isinstance(value, mpmath.mpc) else value)
    return exact


def _smallest(dtype: str) -> float:
    """The smallest number that is not flushed: that of float32 for halves, which are computed there."""
    return 2.0 ** FORMAT["float32" if dtype in ("float16", "bfloat16") else dtype][1]


OF_BITS = ("sign",)  # subnormal operands do not count as zero
FLUSHED_TERMS = 4  # of a function, at most
DIVISIONS = ("floor_divide", "floor_mod", "mod", "trunc_mod")


def check(jobs: list[tuple[str, Function, tuple]], dtype: str) -> dict[str, list[str]]:
    wrong = {name: [] for name, *_ in jobs}
    ways = {"evaluator": None, "kernel": "ieee", "kernel without subnormal numbers": "fp32"}
    ways = {way: results(jobs, dtype, numerics) for way, numerics in ways.items()}
    for job, (name, function, operands) in enumerate(jobs):
        kept, flushed = (exact_results(name, function, dtype, operands, flushes) for flushes in (False, True))
        allowed = BOUNDS[name][dtype == "float64"]
        if dtype in ("float16", "bfloat16") and allowed:
            allowed = 0.5 + 2.0 ** (FORMAT[dtype][0] - 24) * (allowed + 0.5)
        for way, found in ways.items():
            worst = (0.0, 0)
            exact, off = (flushed, FLUSHED_TERMS * _smallest(dtype)) if "without" in way else (kept, 0)
            for place, (got, value) in enumerate(zip(found[job].tolist(), exact, strict=True)):
                if value is not None and not (off and math.isfinite(got) and abs(mpmath.mpf(got) - value) <= off):
                    worst = max(worst, (error(got, value, dtype), place), key=lambda one: one[0])
            text = f"{name} {dtype} {way}: {worst[0]:.3g} ULP, {allowed:.3g} allowed"
            text += f"; at {', '.join(float(one[worst[1]]).hex() for one in operands)} it is {found[job][worst[1]]!r}"
            if worst[0] > allowed:
                wrong[name].append(text)
            elif VERBOSE:
                print(text)
    return wrong


VERBOSE = False


def sweep(short: bool, only: list[str] | None = None, types=tuple(TYPES)) -> dict[str, list[str]]:
    """Returns the errors above the bound, for each operator."""
    random, wrong = np.random.default_rng(7), {}
    for dtype in types:
        jobs = []
        for name, function in UNARY.items():
            values = points(dtype, 1 if short else 8, random)
            with np.errstate(invalid="ignore"):
                wide = values.astype("float64")
            values = values[np.isfinite(wide) & (wide >= function.low) & (wide <= function.high)]
            jobs.append((name, function, (random.permutation(values)[:300] if short else values,)))
        jobs += [(name, function, pairs(dtype, 150 if short else 4000, random)) for name, function in BINARY.items()]
        jobs = [job for job in jobs if not only or job[0] in only]
        for name, found in (check(jobs, dtype) if jobs else {}).items():
            wrong.setdefault(name, []).extend(found)
    return wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="few numbers of each exponent")
    parser.add_argument("--verbose", action="store_true", help="print the greatest error of each sweep")
    parser.add_argument("only", nargs="*", help="operators; all if there is none")
    given = parser.parse_args()
    VERBOSE = given.verbose
    problems = [problem for found in sweep(given.short, given.only).values() for problem in found]
    print("\n".join(problems) or "every result is within its bound")
    sys.exit(bool(problems))
