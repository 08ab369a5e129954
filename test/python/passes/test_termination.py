"""Partial evaluation ends also for programs that unroll without end, and keeps the meaning of those that end."""

import re
import time
import warnings

import numpy as np
import pytest
from forms import with_long_form

import relay

# For each: the definitions before @main, its body, and an %n for which the program ends. %n is unknown when it is
# compiled.
PROGRAMS = {
    "counting up": ("def @f(%n: int32) -> int32 { @f(add(%n, 1)) }", "if (greater(%n, 0)) { %n } else { @f(0) }", 3),
    "counting down, past zero": (
        "def @f(%n: int32) -> int32 { if (equal(%n, 0)) { 0 } else { @f(subtract(%n, 1)) } }",
        "if (greater(%n, 0)) { @f(%n) } else { @f(-1) }",
        4,
    ),
    "an open bound": (
        "def @f(%i: int32, %n: int32) -> int32 { if (less(%i, %n)) { @f(add(%i, 1), %n) } else { %i } }",
        "@f(0, %n)",
        5,
    ),
    "two that call each other": (
        "def @a(%i: int32, %n: int32) -> int32 { if (less(%i, %n)) { @b(add(%i, 1), %n) } else { %i } } "
        "def @b(%i: int32, %n: int32) -> int32 { if (less(%i, %n)) { @a(add(%i, 2), %n) } else { negative(%i) } }",
        "@a(0, %n)",
        7,
    ),
    "twice in each call": (
        "def @f(%n: int32) -> int32 { if (less(%n, 2)) { %n } else { add(@f(subtract(%n, 1)), @f(subtract(%n, 2))) } }",
        "@f(%n)",
        9,
    ),
    "an accumulator that grows": (
        "type L { N, C(int32, L) } "
        "def @length(%l: L) -> int32 { match (%l) { N => 0, C(_, %t) => add(1, @length(%t)) } } "
        "def @f(%n: int32, %l: L) -> int32 { "
        "if (equal(%n, 0)) { @length(%l) } else { @f(subtract(%n, 1), C(%n, %l)) } }",
        "@f(%n, N)",
        6,
    ),
    "a closure that grows": (
        "def @f(%n: int32, %g: fn (int32) -> int32) -> int32 { "
        "if (equal(%n, 0)) { %g(1) } else { @f(subtract(%n, 1), fn (%y: int32) -> int32 { %g(add(%y, %n)) }) } }",
        "@f(%n, fn (%y: int32) -> int32 { multiply(%y, 2) })",
        6,
    ),
    "a function that is given itself": (
        "type Self { S(fn (Self, int32) -> int32) } "
        "def @apply(%s: Self, %n: int32) -> int32 { match (%s) { S(%f) => %f(%s, %n) } }",
        "@apply(S(fn (%s: Self, %m: int32) -> int32 { if (less(%m, 1)) { 0 } else { "
        "add(%m, @apply(%s, subtract(%m, 1))) } }), %n)",
        5,
    ),
    "a function that is given itself, for ever": (
        "type Self { S(fn (Self) -> int32) } def @apply(%s: Self) -> int32 { match (%s) { S(%f) => %f(%s) } }",
        "if (greater(%n, 0)) { %n } else { @apply(S(fn (%s: Self) -> int32 { @apply(%s) })) }",
        2,
    ),
    "a loop by a reference": (
        "def @f(%r: ref(int32), %n: int32) -> int32 { if (less(ref_read(%r), %n)) { "
        "let %_ = ref_write(%r, add(ref_read(%r), 3)); @f(%r, %n) } else { ref_read(%r) } }",
        "let %r = ref(0); @f(%r, %n)",
        8,
    ),
    "a function in a reference that calls what is there": (
        "def @f(%r: ref(fn (int32) -> int32), %n: int32) -> int32 { let %g = ref_read(%r); %g(%n) }",
        "let %r = ref(fn (%m: int32) -> int32 { %m }); let %_ = ref_write(%r, "
        "fn (%m: int32) -> int32 { if (less(%m, 1)) { 7 } else { @f(%r, subtract(%m, 1)) } }); @f(%r, %n)",
        4,
    ),
    "an endless tree": (
        "type T { Leaf(int32), Node(T, T) } "
        "def @grow(%d: int32) -> T { if (equal(%d, 0)) { Leaf(1) } else { "
        "Node(@grow(subtract(%d, 1)), @grow(subtract(%d, 1))) } } "
        "def @sum(%t: T) -> int32 { match (%t) { Leaf(%v) => %v, Node(%a, %b) => add(@sum(%a), @sum(%b)) } }",
        "if (greater(%n, 0)) { @sum(@grow(%n)) } else { @sum(@grow(-1)) }",
        5,
    ),
    "a known depth beyond what is unfolded": (
        "def @f(%i: int32, %x: int32) -> int32 { if (equal(%i, 0)) { %x } else { @f(subtract(%i, 1), add(%x, %i)) } }",
        "@f(40000, %n)",
        1,
    ),
}


# The functions whose calls remain, or the reason why nothing was done; by default, calls of @f remain.
LEFT = {
    "two that call each other": ["%a is not unfolded"],
    "twice in each call": [],
    "an accumulator that grows": ["%f is not unfolded", "%length is not unfolded"],
    "a closure that grows": ["%f is not unfolded", r"%v\d+ is not unfolded"],
    "a function that is given itself": ["%apply is not unfolded"],
    "a function that is given itself, for ever": ["%apply is not unfolded"],
    "a loop by a reference": [],
    "a function in a reference that calls what is there": ["@main is unchanged: it is too deep, or a reference"],
    "an endless tree": ["calls of %grow are not unfolded", "%sum is not unfolded"],
}


LONG = "a closure that grows"  # takes ten seconds to reach the limit


@pytest.mark.parametrize("name", with_long_form(PROGRAMS, lambda name: name != LONG))
def test_partial_evaluation_ends(name):
    definitions, body, n = PROGRAMS[name]
    text = f'#[version = "0.0.5"]\n{definitions}\ndef @main(%n: int32) -> int32 {{ {body} }}'
    module = relay.parse(text)
    begin = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        special = relay.run_passes(module, ["partial_evaluate"])
    assert time.process_time() - begin < 30
    notes = [str(one.message) for one in caught]
    for note, left in zip(notes, LEFT.get(name, ["%f is not unfolded"]), strict=True):
        assert re.search(left, note), notes
        assert "partial_evaluate" in note.split("; ")[1]  # the way out
    assert sum(relay.analysis.list_op_freqs(special).values()) < 100_000
    given = np.int32(n)
    assert relay.compile(special)(given) == relay.compile(module)(given)
