"""Vectors of integers are divided as floats with exact quotients, also at the limits of types, and by 0 and -1."""

import numpy as np
import pytest
from targets import MASKED

import relay

HEADER = '#[version = "0.0.5"]\n'


def check(got, x, y):
    """Compares the results of floor_divide, floor_mod, trunc_divide and trunc_mod of x and y."""
    info, wrapped = np.iinfo(x.dtype), [[], [], [], []]
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        q = 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        floor, rest = (0, 0) if b == 0 else (a // b, a % b)
        for out, v in zip(wrapped, (floor, rest, q, 0 if b == 0 else a - q * b), strict=True):
            out.append((v - info.min) % 2**info.bits + info.min)
    for result, expected in zip(got, wrapped, strict=True):
        np.testing.assert_array_equal(result, np.array(expected, x.dtype))


def numbers(dtype):
    """The ends of a type, and values in between."""
    info = np.iinfo(dtype)
    middle = [info.min // 2, info.max // 2, info.max // 3 + 1, 2**53 + 1, 2**52 - 1, 2**31, 46341, 255]
    ends = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, -1, -2, -5, *middle, *(-m for m in middle)]
    random = np.random.default_rng(0)
    wide = [int(v) >> int(s) for v, s in zip(random.integers(info.min, info.max, 40, dtype), range(40), strict=True)]
    return np.array(sorted({v for v in ends + wide if info.min <= v <= info.max}), dtype)


@pytest.mark.parametrize("target", MASKED)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_integer_division(dtype, target):
    values = numbers(dtype)
    x, y = np.repeat(values, len(values)), np.tile(values, len(values))
    types = f"%x: Tensor[({len(x)}), {dtype}], %y: Tensor[({len(x)}), {dtype}]"
    body = "(floor_divide(%x, %y), floor_mod(%x, %y), trunc_divide(%x, %y), trunc_mod(%x, %y))"
    got = relay.compile(relay.parse(f"{HEADER}def @main({types}) {{ {body} }}\n"), target=target)(x, y)
    check(got, x, y)


@pytest.mark.parametrize("target", MASKED)
@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "uint64"])
def test_division_by_a_known_number(dtype, target):
    x, data = numbers(dtype), relay.var("x", shape=(len(numbers(dtype)),), dtype=dtype)
    operators = (relay.floor_divide, relay.floor_mod, relay.trunc_divide, relay.trunc_mod)
    for known in (1, 3, -7, 64, -64, 5250, 2**40 + 1, int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)):
        if not np.iinfo(dtype).min <= known <= np.iinfo(dtype).max:
            continue
        y = np.array(known, dtype)
        body = relay.Tuple([operator(data, relay.const(y)) for operator in operators])
        check(
            relay.compile(relay.IRModule({"main": relay.Function([data], body)}), target=target)(x),
            x,
            np.full_like(x, y),
        )
