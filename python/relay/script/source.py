"""The source of a Python function, parsed."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
from collections.abc import Callable

from .problems import File, Place, Problem, ScriptError


def parsed(function: Callable) -> tuple[ast.FunctionDef | ast.Lambda, File]:
    """Returns the definition of a function and its file. Lines of nodes are those of the file.

    Raises ScriptError if Python does not have the source, as for functions that exec() made.
    """
    code = function.__code__
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError) as error:
        raise no_source(function, str(error)) from error
    whole = linecache.getlines(code.co_filename) or lines
    text = textwrap.dedent("".join(lines))
    indent = len(lines[0]) - len(lines[0].lstrip())
    file = File(code.co_filename, [line.rstrip("\n") for line in whole], first - 1, indent)
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        if function.__name__ == "<lambda>":
            tree = _lambda_tree(text)
        if function.__name__ != "<lambda>" or tree is None:
            raise no_source(function, f"it cannot be parsed alone: {error.msg}") from error
    found = [
        node
        for node in ast.walk(tree)
        if (isinstance(node, ast.FunctionDef) and node.name == function.__name__)
        or (isinstance(node, ast.Lambda) and function.__name__ == "<lambda>")
    ]
    kinds = [node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef)]
    if not found and kinds:
        place = file.place(kinds[0])
        raise ScriptError(
            [Problem("P0101", "an asynchronous function cannot be scripted", place, "write def instead of async def")]
        )
    if function.__name__ == "<lambda>" and len(found) > 1:
        matching = [
            node for node in found if [a.arg for a in node.args.args] == list(code.co_varnames[: code.co_argcount])
        ]
        if len(matching) != 1:
            raise no_source(function, f"{len(found)} lambdas stand on its line")
        found = matching
    if not found:
        raise no_source(function, "its lines do not contain a definition of this name")
    return found[0], file


def _lambda_tree(text: str) -> ast.AST | None:
    """Returns the tree of the first lambda in a line that cannot be parsed alone."""
    begin = text.find("lambda")
    for end in range(len(text), begin, -1):
        try:
            return ast.parse(text[begin:end].strip(), mode="eval")
        except SyntaxError:
            continue
    return None


def no_source(function: Callable, why: str) -> ScriptError:
    """The error for a function without source."""
    code = getattr(function, "__code__", None)
    place = Place(code.co_filename, code.co_firstlineno, 1, code.co_firstlineno, 2, "") if code else None
    message = f"the source of `{getattr(function, '__name__', function)}` is not available: {why}"
    return ScriptError([Problem("P0106", message, place, "define the function with def in a file or a notebook cell")])
