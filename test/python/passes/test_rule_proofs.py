"""The elementwise rules of src/relay/transform/algebra/rules.def hold for every element: proved with bit vectors, for
integers of 8 to 64 bits, signed and unsigned, for Bools, and for float16 with NaN, infinities and both zeros."""

import re
import subprocess

import programs
import pytest
from programs import ROOT

z3 = pytest.importorskip("z3")

RULE = re.compile(r'RELAY_(ROUNDING_)?RULE\((\w+),\s*"([^"]+)",\s*"([^"]+)"\)')
TOKEN = re.compile(r"[\w.]+|-0|[(),]")


def parsed(text):
    tokens = TOKEN.findall(text)

    def term():
        name = tokens.pop(0)
        args = []
        if tokens and tokens[0] == "(":
            tokens.pop(0)
            while tokens[0] != ")":
                args.append(term())
                if tokens[0] == ",":
                    tokens.pop(0)
            tokens.pop(0)
            return (name, args)
        return (name, None)

    made = term()
    assert not tokens, text
    return made


def rules():
    text = (ROOT / "src/relay/transform/algebra/rules.def").read_text()
    return {name: (parsed(a), parsed(b), bool(rounds)) for rounds, name, a, b in RULE.findall(text)}


class Integers:
    """Elements that wrap around at a width."""

    def __init__(self, bits, signed):
        self.sort, self.signed = z3.BitVecSort(bits), signed

    letters = "ixyzCD"

    def letter(self, name):
        return z3.Const(name, self.sort) if name in self.letters + ("s" if self.signed else "") else None

    def number(self, text):
        return z3.BitVecVal(int(text), self.sort) if text.isdigit() else None

    def call(self, op, args):
        a, b = args[0], args[-1]
        if op == "divide":  # only by a number other than 0 and -1, which the rules have
            return a / b if self.signed else z3.UDiv(a, b)
        if op in ("maximum", "minimum"):
            less = a < b if self.signed else z3.ULT(a, b)
            return z3.If(less, *((b, a) if op == "maximum" else (a, b)))
        if op == "abs":
            return z3.If(a < 0, -a, a) if self.signed else a
        if op == "nn.relu":
            return z3.If(a < 0, z3.BitVecVal(0, self.sort), a) if self.signed else a
        return {"add": a + b, "subtract": a - b, "multiply": a * b, "negative": -a}.get(op)


class Bools(Integers):
    """add is "or", multiply is "and"."""

    def __init__(self):
        self.sort, self.signed = z3.BoolSort(), False

    def number(self, text):
        return z3.BoolVal(text != "0") if text.isdigit() else None

    def call(self, op, args):
        a, b = args[0], args[-1]
        return {"add": z3.Or(a, b), "multiply": z3.And(a, b), "logical_not": z3.Not(a)}.get(op)


class Halves(Integers):
    letters = "fsxyz"

    def __init__(self):
        self.sort, self.signed = z3.Float16(), True

    def number(self, text):
        return z3.fpMinusZero(self.sort) if text == "-0" else z3.FPVal(float(text), self.sort)

    def call(self, op, args):
        a, b = args[0], args[-1]
        nearest = z3.RNE()
        if op in ("maximum", "minimum"):
            less = z3.fpLT(a, b)
            return z3.If(z3.fpIsNaN(a), a, z3.If(less, *((b, a) if op == "maximum" else (a, b))))
        if op == "nn.relu":
            zero = z3.FPVal(0, self.sort)
            return z3.If(z3.fpIsNaN(a), a, z3.If(z3.fpGT(a, zero), a, zero))
        return {
            "add": lambda: z3.fpAdd(nearest, a, b), "subtract": lambda: z3.fpSub(nearest, a, b),
            "multiply": lambda: z3.fpMul(nearest, a, b), "divide": lambda: z3.fpDiv(nearest, a, b),
            "negative": lambda: z3.fpNeg(a), "abs": lambda: z3.fpAbs(a),
        }.get(op, lambda: None)()  # fmt: skip


FILLED = {"zeros": "0", "zeros_like": "0", "ones": "1", "ones_like": "1"}
MOVED = {"full", "copy", "broadcast_to_like", "broadcast_to"}


def value(term, elements):
    """The element that a term gives; None where it is not elementwise, or not of these elements."""
    name, args = term
    if args is None:
        is_number = name[0].isdigit() or name == "-0"
        return elements.number(name) if is_number else elements.letter(name)
    if name in FILLED:
        return elements.number(FILLED[name])
    if name == "full_like":
        return value(args[1], elements)
    given = [value(one, elements) for one in args]
    if any(one is None for one in given):
        return None
    return given[0] if name in MOVED else elements.call(name, given)


ELEMENTS = {f"int{bits}": Integers(bits, True) for bits in (8, 16, 32, 64)}
ELEMENTS |= {f"uint{bits}": Integers(bits, False) for bits in (8, 16, 32, 64)}
ELEMENTS |= {"bool": Bools(), "float16": Halves()}
# Rules of shapes, types and places, which have no arithmetic.
OTHERS = re.compile(r"(no|concrete|reshape|squeeze|expand_dims|flatten)_\w+|reverse_reshape|arg\w+_dequantize")


def pairs():
    for rule, (before, after, rounds) in rules().items():
        for name, elements in ELEMENTS.items():
            if rounds and name == "float16":
                continue
            a, b = value(before, elements), value(after, elements)
            if a is not None and b is not None:
                yield rule, name, a, b


def counterexample(a, b):
    if isinstance(a, z3.BitVecRef) and z3.is_bv_value(same := z3.simplify(a - b, som=True)) and same.as_long() == 0:
        return None
    solver = z3.Solver()
    solver.set("timeout", 60000)
    solver.add(a != b)
    found = solver.check()
    assert found != z3.unknown, solver.reason_unknown()
    return solver.model() if found == z3.sat else None


def test_every_rule_holds_for_every_element():
    proved = {}
    for rule, name, a, b in pairs():
        assert (found := counterexample(a, b)) is None, f"{rule} of {name}: {found}"
        proved.setdefault(rule, []).append(name)
    missing = [rule for rule in rules() if rule not in proved and not OTHERS.fullmatch(rule)]
    assert missing == ["power_one", "divide_sqrt"], "rules that nothing proves"
    assert "float16" not in proved["add_zero"] and proved["add_negative_zero"] == ["float16"]
    assert all("uint8" in names or rule == "abs_negative" for rule, names in proved.items() if "int8" in names)


@pytest.mark.parametrize(
    ("before", "after", "elements"),
    [
        ("abs(negative(x))", "abs(x)", "uint8"),
        ("add(x, 0)", "x", "float16"),
        ("subtract(add(x, y), y)", "x", "float16"),
        ("multiply(add(x, y), z)", "add(multiply(x, z), multiply(y, z))", "float16"),
    ],
)
def test_a_wrong_rule_has_a_counterexample(before, after, elements):
    a, b = (value(parsed(text), ELEMENTS[elements]) for text in (before, after))
    assert counterexample(a, b) is not None


@programs.needs_program
@pytest.mark.slow
def test_conditions_on_data_keep_their_meaning():
    a, b, c = z3.BitVecs("a b c", 64)
    program = programs.PROGRAM.with_name("relay_simplified_data")
    lines = subprocess.run([program, "150"], capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) == 150
    for line in lines:
        (claim,) = z3.parse_smt2_string(f"(assert {line})", decls={"a": a, "b": b, "c": c})
        solver = z3.Solver()
        solver.set("timeout", 60000)
        solver.add(z3.Not(claim))
        assert solver.check() == z3.unsat, line
