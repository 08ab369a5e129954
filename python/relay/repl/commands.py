"""The commands of a session: lines that begin with a colon."""

from __future__ import annotations

import dataclasses
import os
import statistics
import time
from collections.abc import Callable

from .. import _core
from ..errors import bad_option
from ..run.compiled import compile
from ..transform.differentiation import value_and_grad
from .child import in_child
from .session import Session, Typed, shown_value, unknown_command

STAGES = ["relay", "te", "schedule", "loop", "c", "llvm", "asm"]
_SECONDS = 0.3  # the time for which :time measures, in seconds


@dataclasses.dataclass
class Command:
    argument: str  # as the help shows it
    help: str
    run: Callable[[Session, str], list[str]]


def _type(session: Session, text: str) -> list[str]:
    return [str(session.typed(text).type)]


def _emit(session: Session, text: str) -> list[str]:
    stage = text.split(maxsplit=1)[0] if text.strip() else ""
    if stage not in STAGES:
        near = _core.suggestions(stage, STAGES, 1)
        raise bad_option(
            f"there is no stage '{stage}'" if stage else "the stage is missing",
            f"did you mean :emit {near[0]}?" if near else f"write :emit STAGE EXPRESSION; stages: {', '.join(STAGES)}",
        )
    typed = session.typed(text.replace(stage, " " * len(stage), 1))
    return in_child(lambda: compile(typed.module, target=session.target).emit(stage)).rstrip().splitlines()


def _grad(session: Session, text: str) -> list[str]:
    typed = session.typed(text)
    if not typed.variables and not typed.is_function:
        raise bad_option(
            "the expression uses no variable, so it has no gradient",
            "bind one first, as in let %x = 3f, or give a function",
        )
    gradient = value_and_grad(typed.module)
    if typed.is_function:
        return gradient.astext(version=False).rstrip().splitlines()
    value, gradients = session.evaluated(typed, gradient)
    gradients = gradients if isinstance(gradients, tuple) else (gradients,)
    lines = [f"value: {shown_value(value)}"]
    return lines + [f"%{name}: {shown_value(one)}" for name, one in zip(typed.variables, gradients, strict=True)]


def _time(session: Session, text: str) -> list[str]:
    typed = session.typed(text)
    if typed.is_function:
        raise bad_option("a function without arguments cannot be timed", "call it: :time @f(%x)")
    return in_child(lambda: _measured(session, typed))


def _measured(session: Session, typed: Typed) -> list[str]:
    """Compiles the expression and runs it repeatedly."""
    started = time.perf_counter()
    model = compile(typed.module, tier="full")
    compiling = time.perf_counter() - started
    args = [session.values[name][0] for name in typed.variables]
    model(*args)
    times: list[float] = []
    end = time.perf_counter() + _SECONDS
    while not times or time.perf_counter() < end:
        started = time.perf_counter()
        model(*args)
        times.append(time.perf_counter() - started)
    runs = f"{len(times)} run" + "s" * (len(times) > 1)
    return [
        f"{statistics.median(times) * 1e6:.1f} us (median of {runs}; {model.executor} executor, "
        f"compiled in {compiling * 1e3:.0f} ms)"
    ]


def _path(text: str) -> str:
    if not text.strip():
        raise bad_option("the path is missing", "write it after the command: :load model.relay")
    return text.strip()


def _load(session: Session, text: str) -> list[str]:
    return session.load(_path(text))


def _save(session: Session, text: str) -> list[str]:
    path = os.path.expanduser(_path(text))
    try:
        session.definitions.save(path)
    except OSError as error:
        raise bad_option(f"{path} cannot be written: {error.strerror}", "choose another path") from None
    left = ", ".join(f"%{name}" for name in session.values if name != "_")
    return [f"saved the definitions to {path}" + (f", without the variables {left}" if left else "")]


def _explain(session: Session, text: str) -> list[str]:
    for code, name, meaning, example, help in _core.diagnostics():
        if code == text.strip().upper():
            return [f"{code} ({name})", "", meaning, "", *(f"  {line}" for line in example.splitlines()), "", help]
    codes = [one[0] for one in _core.diagnostics()]
    near = _core.suggestions(text.strip().upper(), codes, 1)
    raise bad_option(
        f"there is no diagnostic '{text.strip()}'",
        f"did you mean {near[0]}?" if near else f"codes are {codes[0]} to {codes[-1]}",
    )


def _list(session: Session, text: str) -> list[str]:
    return session.listing()


def _help(session: Session, text: str) -> list[str]:
    width = max(len(f":{name} {one.argument}") for name, one in COMMANDS.items())
    return [
        "An expression is typed and evaluated; %_ is the last result.",
        "let %x = 2f        binds a variable; def @f(%x: float32) { .. } and type T { .. } define",
        *(f"{f':{name} {one.argument}':{width}}  {one.help}" for name, one in COMMANDS.items()),
    ]


class Quit(Exception):
    """Ends the session."""


def _quit(session: Session, text: str) -> list[str]:
    raise Quit


COMMANDS = {
    "type": Command("EXPR", "the type of an expression, without evaluating it", _type),
    "emit": Command("STAGE EXPR", f"a stage of its compilation: {', '.join(STAGES)}", _emit),
    "grad": Command("EXPR", "its value, and the gradient of each variable in it; of a function, the program", _grad),
    "time": Command("EXPR", "compiles it, and measures its runs", _time),
    "load": Command("FILE", "adds the definitions of a program or model", _load),
    "save": Command("FILE", "writes the definitions", _save),
    "list": Command("", "the definitions and variables, with their types", _list),
    "explain": Command("CODE", "explains a diagnostic, such as R0302", _explain),
    "help": Command("", "lists the commands", _help),
    "quit": Command("", "ends the session, like Ctrl-D", _quit),
}


def run_command(session: Session, name: str, text: str) -> list[str]:
    """Runs a command. `text` has blanks where the command was, so that places are those of the input."""
    if name not in COMMANDS:
        raise unknown_command(name, list(COMMANDS))
    return COMMANDS[name].run(session, text)
