"""Further functions that are run three ways (script_cases.py): functions, tuples, lists and data types."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from script_cases import M, V, case, f32

import relay


# --- functions --------------------------------------------------------------------------------------------------------
@case(5, 0)
def factorial(n: int):
    if n == 0:
        return 1
    return n * factorial(n - 1)


@case(10)
def fibonacci(n: int):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@case((48, 36))
def gcd(a, b):
    return a if b == 0 else gcd(b, a % b)


@case((2, 3))
def ackermann(m: int, n: int) -> int:
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


@case(7, 8)
def is_even(n: int):
    if n == 0:
        return True
    return is_odd(n - 1)


@relay.script
def is_odd(n: int):
    if n == 0:
        return False
    return is_even(n - 1)


def plain_helper(x, k=2.0):
    """Not scripted: written out where it is called."""
    if k > 1:
        x = x * k
    return x + 1


@case(V)
def calls_plain_function(x):
    return plain_helper(x) + plain_helper(x, k=0.5)


@case(V)
def nested_function(x):
    def square(y):
        return y * y

    return square(x) + square(2.0)


@case(V)
def closure(x):
    k = x.sum()

    def scaled(y):
        return y * k

    return scaled(x) + scaled(x + 1)


@case(3.0, -3.0)
def nested_function_with_branches(x):
    def sign(y):
        if y > 0:
            return 1.0
        return -1.0

    return sign(x) * 10 + sign(-x)


@case(V)
def lambdas(x):
    double = lambda y: y * 2  # noqa: E731
    return double(double(x))


@case(V)
def returned_function(x):
    def adder(n):
        return lambda y: y + n

    return adder(1.0)(x) + adder(2.0)(x)


def twice(f, x):
    return f(f(x))


@case(V)
def function_as_argument(x):
    return twice(lambda y: y * 3, x)


@relay.script
def applied(f, x):
    return f(x) + 1


@case(V)
def function_as_argument_of_a_script(x):
    return applied(np.tanh, x) + applied(lambda y: y * 2, x)


@case((V, 4))
def default_arguments(x, n, k=2.0):
    return x * n * k


@case(V)
def keyword_arguments(x):
    return plain_helper(k=3.0, x=x)


@case(V)
def functions_of_types(x):
    return doubled(x) + doubled(1.5) + doubled(2)


@relay.script
def doubled(x):
    return x + x


@case(V)
def math_of_known_values(x):
    return x * math.sqrt(2.0) + math.pi


@case(2.0)
def math_of_values(x):
    return math.exp(x) + math.sin(x)


@case((3, 5), (5, 3))
def python_extremes(a, b):
    return max(a, b) * 10 + min(a, b)


@case(V)
def operators_of_relay(x):
    return relay.sigmoid(x) + relay.nn.relu(x)


@case(M)
def softmax_of_relay(x):
    return relay.nn.softmax(x, axis=1)


@case(np.arange(6, dtype="float32"))
def split_of_relay(x):
    a, b = relay.split(x, 2)
    return a * b


CONSTANT = f32(1.0, 2.0, 3.0)


@case(V)
def captured_array(x):
    return x * CONSTANT


# --- tuples -----------------------------------------------------------------------------------------------------------
@case(V)
def tuple_result(x):
    return x + 1, x.sum()


@case((V, V))
def tuple_index(a, b):
    pair = (a, (b, a + b))
    return pair[1][1] - pair[0]


@case(((V, 2.0),))
def tuple_argument(pair):
    x, k = pair
    return x * k


@case((1.0, (V, V + 1)))
def nested_tuple_argument(k, pair):
    return k * pair[0] + pair[1]


@case(V)
def joined_tuples(x):
    t = (x, x + 1) + (x * 2,)
    return t[0] + t[2] + len(t)


@case(3.0, -3.0)
def tuple_of_a_branch(x):
    if x > 0:
        pair = (x, 1)
    else:
        pair = (-x, 0)
    return pair


# --- lists ------------------------------------------------------------------------------------------------------------
LIST = [f32(1.0, 2.0), f32(3.0, 4.0), f32(5.0, 6.0)]


@case((LIST,))
def sum_of_list(xs):
    total = np.zeros(2, "float32")
    for x in xs:
        total = total + x
    return total


@case((LIST,))
def length_of_list(xs):
    return len(xs)


@case((LIST, 1))
def element_of_list(xs, i):
    return xs[0] + xs[i]


@case((LIST,))
def mapped(xs):
    return [x * 2 for x in xs]


@case(([1.0, -2.0, 3.0],))
def filtered(xs):
    return [x + 1 for x in xs if x > 0]


@case((LIST,))
def tail(xs):
    return xs[1:]


@case((LIST,))
def longer(xs):
    return xs + [np.zeros(2, "float32")]


@case((LIST,))
def list_pattern(xs):
    match xs:
        case []:
            return np.zeros(2, "float32")
        case [x]:
            return x
        case [x, y, *_]:
            return x - y


@case(([3, 1, 2],))
def recursive_list(xs: list[int]):
    match xs:
        case []:
            return 0
        case [x, *rest]:
            return x + 10 * recursive_list(rest)


@case(5)
def built_list(n):
    xs: list[int] = []
    for i in range(n):
        xs = [i * i] + xs
    return xs


@case(([1, 5, 2],))
def largest_of_list(xs):
    best = 0
    for x in xs:
        if x > best:
            best = x
    return best


@case(([1, 2, 3],))
def find_in_list(xs):
    for x in xs:
        if x == 2:
            return True
    return False


@case(([1, 2, 3],))
def reversed_list(xs):
    return list(reversed(xs))


@case((LIST, [1.0, 2.0, 3.0]))
def zipped(xs, ks):
    total = np.zeros(2, "float32")
    for x, k in zip(xs, ks, strict=False):
        total = total + x * k
    return total


@case(V)
def known_comprehension(x):
    parts = [x * k for k in (1.0, 2.0, 3.0)]
    return parts[0] + parts[1] * parts[2] + sum(parts)


@case(V)
def comprehension_over_range(x):
    return np.stack([x * i for i in range(3)])


@case(([1, 2], [3, 4]))
def concatenated(xs, ys):
    return xs + ys


# --- data types -------------------------------------------------------------------------------------------------------
@dataclass
class Leaf:
    value: Tensor[(2), float32]  # noqa: F821 - a type of Relay


@dataclass
class Node:
    left: Tree
    right: Tree


Tree = relay.data_type("Tree", Leaf | Node)


@dataclass
class Number:
    value: float


@dataclass
class Sum:
    left: Term
    right: Term


@dataclass
class Product:
    left: Term
    right: Term


Term = relay.data_type("Term", Number | Sum | Product)


@relay.data_type
@dataclass
class Point:
    x: float
    y: float


TREE = Node(Node(Leaf(f32(1, 2)), Leaf(f32(3, 4))), Leaf(f32(5, 6)))
TERM = Sum(Number(2.0), Product(Number(3.0), Sum(Number(1.0), Number(4.0))))


@case(TREE)
def sum_of_tree(t: Tree):
    match t:
        case Leaf(x):
            return x
        case Node(left, right):
            return sum_of_tree(left) + sum_of_tree(right)


@case(TREE)
def depth(t: Tree):
    match t:
        case Leaf():
            return 1
        case Node(left=a, right=b):
            return 1 + max(depth(a), depth(b))


@case(TREE)
def mirrored(t: Tree) -> Tree:
    match t:
        case Leaf(_):
            return t
        case Node(a, b):
            return Node(mirrored(b), mirrored(a))


@case(TERM)
def value_of_term(t: Term):
    match t:
        case Number(x):
            return x
        case Sum(a, b):
            return value_of_term(a) + value_of_term(b)
        case Product(a, b):
            return value_of_term(a) * value_of_term(b)


@case(TERM, Product(Number(0.0), Number(1.0)))
def simplified(t: Term) -> Term:
    match t:
        case Product(Number(x), right):
            if x == 0.0:
                return Number(0.0)
            return Product(Number(x), simplified(right))
        case Sum(a, b):
            return Sum(simplified(a), simplified(b))
        case _:
            return t


@case(TERM)
def nested_pattern(t: Term):
    match t:
        case Sum(Number(x), _):
            y = x
        case Sum(_, _):
            y = 1.0
        case other:
            y = value_of_term(other)
    return y * 10


@case(TREE)
def is_leaf(t: Tree):
    return isinstance(t, Leaf)


@case(Point(3.0, 4.0))
def fields(p: Point):
    return p.x * p.x + p.y * p.y


@case((Point(3.0, 4.0), 2.0))
def new_value(p: Point, k):
    return Point(p.x * k, y=p.y)


@case(5)
def loop_over_data(n):
    p = Point(0.0, 1.0)
    for _ in range(n):
        p = Point(p.y, p.x + p.y)
    return p.x


@case(([Point(1.0, 2.0), Point(3.0, 4.0)],))
def list_of_data(ps: list[Point]):
    total = 0.0
    for p in ps:
        total += p.x * p.y
    return total


@case(((2.0, 3.0),))
def tuple_pattern(pair):
    match pair:
        case (a, b):
            return a * b


@case((TREE, 1.0))
def tree_of_closure(t: Tree, k):
    def scaled(x):
        return x * k

    match t:
        case Leaf(x):
            return scaled(x)
        case Node(a, _):
            return tree_of_closure(a, k + 1)
