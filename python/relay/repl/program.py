"""The program: its arguments, and the loops for a terminal, a pipe and -c."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from ..arguments import ArgumentParser
from ..errors import CompileError, InternalError
from .commands import Quit, run_command
from .inputs import is_complete, read, split
from .session import Session


def answer(session: Session, text: str) -> list[str]:
    """Runs one input and returns the lines of its answer."""
    session.begin(text)
    given = read(text)
    if given.kind == "empty":
        return []
    if given.kind == "command":
        return run_command(session, given.name, given.text)
    if given.kind == "definition":
        return session.define(given.text)
    return session.compute(given)


def respond(session: Session, text: str) -> bool:
    """Runs one input, prints its answer or its error, and returns true if it had none."""
    try:
        for line in answer(session, text):
            print(line)
        return True
    except CompileError as error:
        message = session.render(error)
    except (InternalError, ValueError, TypeError, OSError, RecursionError, MemoryError) as error:
        message = f"error: {error}"
    except KeyboardInterrupt:
        message = "interrupted"
    sys.stdout.flush()
    print(message, file=sys.stderr, flush=True)
    return False


def run_lines(session: Session, lines: Iterable[str]) -> int:
    """Runs all inputs of a text, also after one with an error. The exit status is 1 if one had an error."""
    status = 0
    try:
        for text in split(lines):
            if not respond(session, text):
                status = 1
    except Quit:
        pass
    return status


class Plain:
    """Reads inputs by input(), for machines without prompt_toolkit."""

    def read(self) -> str:
        text = input("relay> ")
        while not is_complete(text):
            line = input("  ...> ")
            text += "\n" + line
            if not line.strip():
                break
        return text


def _terminal(session: Session):
    try:
        from .terminal import Terminal
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "prompt_toolkit":
            raise
        return Plain()
    return Terminal(session)


def converse(session: Session) -> int:
    """The loop of a terminal. Ctrl-C leaves the input or the computation, Ctrl-D at an empty prompt the program."""
    print("Relay. :help lists the commands, Ctrl-D ends the session.")
    terminal = _terminal(session)
    while True:
        try:
            text = terminal.read()
        except KeyboardInterrupt:
            print()
            continue
        except EOFError:
            print()
            return 0
        try:
            for one in split(text.splitlines()):
                respond(session, one)
        except Quit:
            return 0


def main(arguments: list[str] | None = None) -> int:
    """Runs `relay repl` with these arguments, by default those of the process."""
    parser = ArgumentParser(prog="relay repl", description="Evaluates Relay's text form as you type it.")
    parser.add_argument("file", nargs="?", metavar="FILE", help="program or model whose definitions are loaded first")
    parser.add_argument("-c", metavar="TEXT", dest="text", help="run these inputs, one a line, and end")
    parser.add_argument("--target", help="processor for :emit, as `relay opt --target` takes it (default: this one)")
    given = parser.parse_args(arguments)
    session = Session(given.target)
    if given.file is not None and not respond(session, f":load {given.file}"):
        return 1
    if given.text is not None:
        return run_lines(session, given.text.splitlines())
    if not sys.stdin.isatty():
        return run_lines(session, sys.stdin)
    return converse(session)
