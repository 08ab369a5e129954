"""Functions that are run three ways: in plain Python, by the evaluator, and compiled. Each case is a function and its
arguments; `case` collects them."""

from __future__ import annotations

import numpy as np

import relay

CASES: dict[str, tuple[relay.Script, list[tuple]]] = {}


def case(*arguments: tuple):
    """Scripts a function and adds it to the cases, with several tuples of arguments."""

    def collect(function):
        assert function.__name__ not in CASES, function.__name__
        scripted = relay.script(function)
        CASES[function.__name__] = scripted, [one if isinstance(one, tuple) else (one,) for one in arguments]
        return scripted

    return collect


def f32(*values):
    return np.array(values, "float32")


def i32(*values):
    return np.array(values, "int32")


V = f32(1.0, -2.0, 3.5)
M = np.arange(6, dtype="float32").reshape(2, 3) / 4 - 0.5
W = np.arange(12, dtype="float32").reshape(3, 4) / 8 - 0.7


# --- assignments and arithmetic ---------------------------------------------------------------------------------------
@case((V, V + 1))
def add(x, y):
    return x + y


@case((V, 2.0), (V, 3))
def scale_by_a_number(x, k):
    return x * k


@case(V)
def polynomial(x):
    y = x * x
    y += 2.0 * x
    y -= 1
    return y


@case(V)
def swapped(x):
    a, b = x + 1, x * 2
    a, b = b, a
    return a - b


@case(V)
def chained_assignment(x):
    a = b = x + 1
    return a * b


@case((V, V * 2))
def division(x, y):
    return x / y


@case((i32(7, -7, 9), i32(2, 2, 4)))
def integer_division(x, y):
    return x // y


@case((i32(7, -7, 9), i32(2, 2, 4)))
def remainder(x, y):
    return x % y


@case(f32(1.0, 2.0, 3.0))
def powers(x):
    return x**2 + 2.0**x


@case((i32(6, 3), i32(3, 1)))
def bits(x, y):
    return (x & y) | (x ^ y)


@case((i32(1, 2), 3))
def shifts(x, n):
    return (x << n) >> 1


@case(V)
def negated(x):
    return -x + (+x) * 2.0


@case((i32(1, 2), V[:2]))
def integer_and_float(n, x):
    return n * x


@case((M, W))
def matrix_product(a, b):
    return a @ b


@case((M, f32(1.0, 2.0, 3.0)))
def matrix_times_vector(a, v):
    return a @ v


@case((V, V + 1))
def inner_product(a, b):
    return a @ b


@case((np.stack([M, M + 1]), W))
def batched_product(a, b):
    return a @ b


@case((V, f32(0.5)))
def broadcast(x, y):
    return x + y


@case(V)
def walrus(x):
    y = (z := x + 1) * 2.0
    return y + z


@case(V)
def unused_expression(x):
    "A docstring."
    x + 1
    pass
    return x


# --- functions of NumPy -----------------------------------------------------------------------------------------------
@case(V)
def exponentials(x):
    return np.exp(x) + np.expm1(x)


@case(f32(0.5, 1.0, 4.0))
def logarithms(x):
    return np.log(x) + np.log2(x) + np.log10(x) + np.log1p(x)


@case(f32(0.25, 1.0, 4.0))
def roots(x):
    return np.sqrt(x)


@case(V)
def hyperbolic(x):
    return np.tanh(x) + np.sinh(x) / np.cosh(x)


@case(V)
def trigonometric(x):
    return np.sin(x) + np.cos(x) * np.tan(x)


@case(f32(0.1, -0.5, 0.9))
def inverse_trigonometric(x):
    return np.arcsin(x) + np.arccos(x) + np.arctan(x)


@case(V)
def rounding(x):
    return np.floor(x) + np.ceil(x) + np.trunc(x) + np.sign(x)


@case((V, 1.0))
def extremes(x, y):
    return np.maximum(x, y) - np.minimum(x, 0.0)


@case(V)
def chosen_elements(x):
    return np.where(x > 0, x, 0.1 * x)


@case(V)
def absolute(x):
    return abs(x) + np.abs(x - 1)


@case(M)
def sums(x):
    return x.sum() + x.sum(axis=0).sum() + np.sum(x, axis=1).sum()


@case(M)
def kept_axis(x):
    return x / x.sum(axis=1, keepdims=True)


@case(M)
def means(x):
    return x.mean(axis=0) - np.mean(x)


@case(M)
def largest(x):
    return x.max(axis=1) + np.min(x, axis=1) + x.prod()


@case(M)
def place_of_largest(x):
    return np.argmax(x, axis=1) + x.argmin(axis=1)


@case((M > 0, M > -1))
def all_and_any(x, y):
    return np.all(x | y) & np.any(x & y) & ~np.all(x)


@case((V, V + 1))
def joined_arrays(x, y):
    return np.concatenate((x, y)) * 2.0


@case((V, V + 1))
def stacked_arrays(x, y):
    return np.stack([x, y], axis=1)


@case(M)
def reshaped(x):
    return x.reshape(3, 2) + np.reshape(x, (3, -1))


@case(M)
def transposed(x):
    return x.T @ x + np.transpose(x) @ x


@case(np.ones((2, 3, 4), "float32"))
def transposed_axes(x):
    return x.transpose(2, 0, 1).sum(axis=2)


@case(M)
def flattened(x):
    return x.flatten() + x.ravel()


@case(i32(1, 2, 3))
def converted(n):
    return n.astype("float32") / 2 + np.float32(n)


@case(V)
def clipped(x):
    return np.clip(x, -1.0, 1.0) + x.clip(0.0, 2.0)


@case(V)
def more_axes(x):
    return np.expand_dims(x, 0) + x[None, :]


@case(V)
def zeros_and_ones(x):
    return np.zeros_like(x) + np.ones_like(x) * 2.0


@case(V)
def constants_of_numpy(x):
    return x + np.zeros(3, "float32") + np.float32(2)


@case(f32(1.0, np.nan, np.inf))
def special_values(x):
    return np.isnan(x) | np.isinf(x)


@case((V > 0, V < 3))
def logical_functions(a, b):
    return np.logical_and(a, b) | np.logical_not(a)


# --- indices and sizes ------------------------------------------------------------------------------------------------
@case(M)
def element(x):
    return x[1, 2] + x[-1, 0]


@case(M)
def row(x):
    return x[0] + x[-1]


@case(M)
def column(x):
    return x[:, 1]


@case(M)
def slices(x):
    return x[:, 1:] - x[:, :-1]


@case(np.arange(10, dtype="float32"))
def steps(x):
    return x[1:9:3] + x[2::3]


@case(V)
def backwards(x):
    return x[::-1] + 1


@case(np.ones((2, 3, 4), "float32"))
def ellipsis(x):
    return x[..., 0] + x[0, ..., 1]


@case((V, 2), (V, -1))
def computed_index(x, i):
    return x[i]


@case((M, i32(1, 0, 1)))
def gathered_rows(x, indices):
    return x[indices]


@case(M)
def sizes(x):
    return x * x.shape[1] + len(x) + x.ndim + x.size


@case(M)
def unpacked_rows(x):
    a, b = x
    return a - b


@case(V)
def item(x):
    return x[:1].item() + float(x.sum())
