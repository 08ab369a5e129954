"""The messages of @relay.script, in messages.txt: programs, each with the message that it gets.

RELAY_BLESS=1 .venv/bin/python -m pytest -q test/python/script/test_script_messages.py     rewrites the messages
"""

import linecache
import os
import pathlib
from dataclasses import dataclass

import numpy as np
import pytest

import relay

FILE = pathlib.Path(__file__).with_name("messages.txt")
BLESS = bool(os.environ.get("RELAY_BLESS"))


@dataclass
class Leaf:
    value: "Tensor[(2), float32]"  # noqa: F821 - a type of Relay


@dataclass
class Node:
    left: "Wood"
    right: "Wood"


Wood = relay.data_type("Wood", Leaf | Node)


def cases():
    """(title, program, message) of each case in the file."""
    out = []
    for part in FILE.read_text().split("=== ")[1:]:
        title, _, rest = part.partition("\n")
        program, _, message = rest.partition("--- message\n")
        out.append((title, program.strip("\n"), message.strip("\n")))
    return out


def message_of(program):
    """Runs a program and returns the message of its error."""
    lines = program.splitlines(keepends=True)
    linecache.cache["<case>"] = len(program), None, lines, "<case>"
    names = {"relay": relay, "np": np, "Leaf": Leaf, "Node": Node, "Wood": Wood, "V": np.ones(3, "float32"),
             "M": np.ones((2, 3), "float32"), "LEAF": Leaf(np.ones(2, "float32"))}  # fmt: skip
    try:
        exec(compile(program, "<case>", "exec"), names)
    except relay.CompileError as error:
        return str(error)
    except Exception as error:  # anything else is a crash
        return f"{type(error).__name__}: {error}"
    return "no message"


@pytest.mark.skipif(not BLESS, reason="only rewrites the file")
def test_bless():
    text = "\n\n".join(f"=== {title}\n{program}\n--- message\n{message_of(program)}" for title, program, _ in cases())
    head = FILE.read_text().partition("=== ")[0]
    FILE.write_text(head + text + "\n")


@pytest.mark.parametrize(("title", "program", "message"), cases(), ids=[title for title, _, _ in cases()])
def test_message(title, program, message):
    made = message_of(program)
    assert made.startswith("error["), made
    assert [line.rstrip() for line in made.splitlines()] == [line.rstrip() for line in message.splitlines()]


def test_there_are_60_messages():
    assert len(cases()) >= 60
