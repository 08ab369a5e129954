"""Random programs with branches, loops and jumps: the same results in plain Python, by the evaluator, and compiled."""

import linecache
import random

import numpy as np
import pytest
from forms import each_nth

import relay

INTS, FLOATS = ("a", "b", "c"), ("u", "v")
PROGRAMS = 60
# float32 beside Python's float64, over some 100 operations that shrink their arguments.
TOLERANCE = 1e-3


class Writer:
    """Writes a function of two ints and a float. Ints stay below 97, floats in [-2, 2], and every loop ends."""

    def __init__(self, seed):
        self.random, self.lines, self.loops = random.Random(seed), [], 0

    def pick(self, *options):
        return self.random.choice(options)

    def of_int(self, depth=2):
        if depth == 0 or self.random.random() < 0.3:
            return self.pick(*INTS, str(self.random.randrange(1, 9)))
        x, y = self.of_int(depth - 1), self.of_int(depth - 1)
        return self.pick(
            f"({x} + {y}) % 97", f"({x} * {y}) % 97", f"({x} - {y}) % 97", f"{x} // ({y} + 1)",
            f"({x} if {self.condition(depth - 1)} else {y})", f"max({x}, {y})", f"step({x}, {y})",
        )  # fmt: skip

    def of_float(self, depth=2):
        if depth == 0 or self.random.random() < 0.3:
            return self.pick(*FLOATS, f"{self.random.uniform(-1, 1):.2f}")
        x, y = self.of_float(depth - 1), self.of_float(depth - 1)
        return self.pick(f"0.5 * ({x} + {y})", f"np.tanh({x} - {y})", f"0.5 * abs({x}) * {y}", f"np.sin({x}) * ({y})")

    def condition(self, depth=1):
        x, y = self.of_int(0), self.of_int(0)
        plain = f"{x} {self.pick('<', '<=', '==', '!=', '>')} {y}"
        if depth == 0 or self.random.random() < 0.5:
            return self.pick(plain, f"{x} % 2 == 0", f"not {plain}", f"1 < {x} < {y}")
        return f"({plain} {self.pick('and', 'or')} {self.condition(depth - 1)})"

    def block(self, indent, depth, in_loop):
        for _ in range(self.random.randrange(1, 4)):
            self.statement(indent, depth, in_loop)

    def write(self, indent, line):
        self.lines.append("    " * indent + line)

    def statement(self, indent, depth, in_loop):
        kind = self.random.random()
        if depth == 0 or kind < 0.4:
            self.write(indent, self.pick(
                f"{self.pick(*INTS)} = {self.of_int()}", f"{self.pick(*FLOATS)} = {self.of_float()}",
                f"{self.pick(*FLOATS)} *= np.sin({self.of_float(1)})", "a, b = b, a",
                f"c += {self.of_int(0)} % 5",
            ))  # fmt: skip
        elif kind < 0.7:
            self.write(indent, f"if {self.condition()}:")
            self.block(indent + 1, depth - 1, in_loop)
            if self.random.random() < 0.3:
                self.write(indent + 1, self.pick("return a, b, c, u, v", *(["break", "continue"] * in_loop)))
            if self.random.random() < 0.6:
                self.write(indent, "else:")
                self.block(indent + 1, depth - 1, in_loop)
        else:
            self.loops += 1
            counter = f"i{self.loops}"
            if self.random.random() < 0.5:
                self.write(indent, f"for {counter} in range({self.of_int(0)} % 5):")
                self.write(indent + 1, f"a = (a + {counter}) % 97")
            else:
                self.write(indent, f"{counter} = 0")
                self.write(indent, f"while {counter} < 4 and {self.condition(0)}:")
                self.write(indent + 1, f"{counter} += 1")
            self.block(indent + 1, depth - 1, True)

    def program(self):
        self.lines = ["@relay.script", "def f(a, b, u):", "    c = 1", "    v = u * 0.5", ""]
        self.lines += ["    def step(x, y):", "        if x > y:", "            return x - y", "        return x", ""]
        for _ in range(4):
            self.statement(1, 3, False)
        self.write(1, "return a, b, c, u, v")
        return "\n".join(self.lines) + "\n"


@pytest.mark.parametrize("seed", each_nth(3, range(PROGRAMS)))
def test_random_program(seed):
    program, name = Writer(seed).program(), f"<random {seed}>"
    linecache.cache[name] = len(program), None, program.splitlines(keepends=True), name
    names = {"relay": relay, "np": np}
    exec(compile(program, name, "exec"), names)
    f = names["f"]
    for inputs in ((3, 5, 0.7), (20, 4, -0.3), (0, 1, 1.5)):
        wanted = f.py(*inputs)
        results = [f.evaluate(*inputs)] + ([f(*inputs)] if seed % 3 == 0 else [])
        for result in results:
            assert [int(one) for one in result[:3]] == [int(one) for one in wanted[:3]], program
            assert np.allclose(result[3:], wanted[3:], atol=TOLERANCE), program
