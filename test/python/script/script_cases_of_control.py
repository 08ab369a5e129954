"""Further functions that are run three ways (script_cases.py): branches, logic and loops."""

from __future__ import annotations

import numpy as np
from script_cases import CASES as CASES
from script_cases import M, V, case, i32

import relay


# --- branches ---------------------------------------------------------------------------------------------------------
@case(1.0, -2.0)
def branch(x):
    if x > 0:
        y = x
    else:
        y = -x
    return y * 2


@case(1.0, 0.0, -1.0)
def three_branches(x):
    if x > 0:
        y = 1.0
    elif x < 0:
        y = -1.0
    else:
        y = 0.0
    return y


@case(2.0, -2.0)
def branch_without_else(x):
    y = x
    if x < 0:
        y = y * y
    return y


@case(5.0, -5.0)
def early_return(x):
    if x > 0:
        return x
    return x * 10


@case(5.0, -5.0, 50.0)
def nested_returns(x):
    if x > 0:
        if x > 10:
            return x / 10
        x = x + 1
    else:
        x = x - 1
    return x * 2


@case(5, -5, 0)
def returns_everywhere(n):
    if n > 0:
        return 1
    elif n < 0:
        return -1
    else:
        return 0


@case((V, True), (V, False))
def flag(x, on):
    return x if on else -x


@case(3.0, -3.0)
def conditional_expression(x):
    return (1.0 if x > 0 else -1.0) * x


@case(3, 4)
def nested_conditional(n):
    return 0 if n % 2 == 0 else (1 if n > 3 else 2)


@case((V, 1.0), (V, -1.0))
def branch_over_arrays(x, k):
    if k > 0 and x.sum() > 0:
        x, y = x + 1, x
    else:
        x, y = x, x - 1
    return x * y


@case(1.0, -1.0)
def several_variables(x):
    a, b, c = x, x * 2, x * 3
    if x > 0:
        a = b + c
        c = a
    else:
        b = a + c
    return a, b, c


@case(0.5, 2.0)
def branch_on_constant(x):
    if SCALE > 1:
        return x * SCALE
    return undefined_name  # noqa: F821 - never translated, as SCALE is known


SCALE = 3.0


# --- logic ------------------------------------------------------------------------------------------------------------
@case((1.0, 2.0), (2.0, 1.0), (-1.0, 2.0))
def conjunction(x, y):
    return 1 if x > 0 and y > x else 0


@case((1.0, 2.0), (-2.0, -1.0))
def disjunction(x, y):
    return 1 if x > 0 or y > 0 else 0


@case(0.5, 1.5, -0.5)
def chained_comparison(x):
    return 1.0 if 0 < x < 1 else 0.0


@case(1, 2, 3)
def negation(n):
    return not n == 2


@case(4, 7)
def boolean_result(n):
    return n > 5


@case((i32(1, 2), 0), (i32(1, 2), 1))
def guarded_index(x, n):
    return n > 0 and x[n] > 1


# --- loops ------------------------------------------------------------------------------------------------------------
@case((V, 0), (V, 5))
def repeated(x, n):
    for _ in range(n):
        x = x * 0.5 + 1
    return x


@case(10)
def gauss(n):
    total = 0
    for i in range(n + 1):
        total += i
    return total


@case((2, 9), (9, 2))
def range_with_bounds(a, b):
    total = 0
    for i in range(a, b, 2):
        total += i * i
    return total


@case(5)
def downwards(n):
    out = 0
    for i in range(n, 0, -1):
        out = out * 10 + i
    return out


@case(27, 1)
def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@case(2.0, 10.0)
def newton(a):
    x = a
    while abs(x * x - a) > 0.001:
        x = 0.5 * (x + a / x)
    return x


@case((V, 3.0), (V, 100.0))
def break_out(x, limit):
    for _ in range(50):
        x = x + 1
        if x.sum() > limit:
            break
    return x


@case(10)
def skip(n):
    total = 0
    for i in range(n):
        if i % 3 == 0:
            continue
        total += i
    return total


@case(100)
def while_true(n):
    i = 1
    while True:
        i = i * 2
        if i > n:
            break
    return i


@case((i32(3, 8, 5), 8), (i32(3, 8, 5), 9))
def search(x, wanted):
    for i in range(len(x)):
        if x[i] == wanted:
            return i
    return -1


@case(4)
def nested_loops(n):
    total = 0
    for i in range(n):
        for j in range(i):
            total += i * j
    return total


@case(30)
def prime(n):
    count = 0
    for i in range(2, n):
        is_prime = True
        j = 2
        while j * j <= i:
            if i % j == 0:
                is_prime = False
                break
            j += 1
        if is_prime:
            count += 1
    return count


@case(20, 3)
def return_from_nested_loop(n):
    for i in range(1, n):
        for j in range(1, n):
            if i * j == 12:
                return i * 100 + j
    return 0


@case(M)
def rows_of_array(x):
    total = np.zeros(3, "float32")
    for row in x:
        total = total * 0.5 + row
    return total


@case(V)
def known_tuple(x):
    for k in (1.0, 2.0, 3.0):
        x = x * k + 1
    return x


@case(V)
def known_list_with_index(x):
    for i, k in enumerate([0.5, 0.25]):
        x = x * k + i
    return x


@case(V)
def pairs_of_known(x):
    for a, b in zip([1.0, 2.0], [3.0, 4.0], strict=False):
        x = x * a + b
    return x


@case(V)
def written_out(x):
    for i in relay.unroll(range(3)):
        x = x + i
    return x


@case((V, 2.0), (V, 0.0))
def written_out_with_break(x, k):
    for i in relay.unroll(range(4)):
        if x.sum() > 6 * k:
            break
        x = x + i
    return x


@case(6)
def loop_with_tuple(n):
    pair = (0, 1)
    for _ in range(n):
        a, b = pair
        pair = (b, a + b)
    return pair[0]


@case(10)
def temporary_in_loop(n):
    total = 0.0
    for i in range(n):
        half = i * 0.5
        total = total + half
    return total


@case(200000)
def long_loop(n):
    i = 0
    while i < n:
        i += 1
    return i


@case((M, 3))
def power_iteration(a, n):
    s = a @ a.T
    v = np.ones(2, "float32")
    for _ in range(n):
        v = s @ v
        v = v / np.sqrt((v * v).sum())
    return v
