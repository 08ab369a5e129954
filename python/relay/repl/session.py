"""The state of a session: definitions, values of variables, and the texts of inputs for diagnostics."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from .. import _core
from ..analysis import free_vars
from ..data.values import Data
from ..errors import CompileError, not_supported, told
from ..ir.expr import Expr, Function, GlobalVar
from ..ir.expr_functor import ExprMutator
from ..ir.text import parse, parse_expr
from ..run.compiled import Compiled, evaluate, load
from ..transform import InferType
from .child import in_child
from .inputs import Input

HEADER = '#[version = "0.0.5"]'
_ENTRY = "input"  # the name of an expression's function while it is typed


Origin: TypeAlias = Callable[[_core.IRModule], _core.IRModule]  # reads definitions that may use these


@dataclasses.dataclass
class Typed:
    """An expression of the session with its type."""

    module: _core.IRModule  # @main computes the expression from variables of the session
    type: Any
    variables: list[str]  # the parameters of @main
    is_function: bool  # the expression is a function, which @main is itself


class Session:
    def __init__(self, target: str | None = None):
        self.target = target
        self.definitions = _core.IRModule()
        self._origins: list[tuple[Origin, set[str]]] = []  # of the definitions, with the names that come from each
        self.values: dict[str, tuple[Any, str]] = {}  # variables by name: value, type
        self._inputs: list[list[str]] = []  # the lines of each input

    # --- places ---
    def begin(self, text: str) -> None:
        """Begins an input. Its places are those of <input N>."""
        self._inputs.append(text.splitlines())

    @property
    def _source(self) -> str:
        return f"<input {len(self._inputs)}>"

    def render(self, error: CompileError) -> str:
        """The diagnostics, with the places and the lines of inputs as they were written: the program of an input
        has one line before it."""
        lines, source = [], None
        for line in str(error).splitlines():
            if place := re.match(r"( *--> )<input (\d+)>:(\d+)(:.*)?$", line):
                arrow, number, row, column = place.groups()
                source = self._inputs[int(number) - 1]
                line = f"{arrow}<input {number}>:{max(int(row) - 1, 1)}{column or ''}"
            elif re.match(r" *--> ", line):
                source = None
            elif source is not None and (quoted := re.match(r"( *\d+)( \| ?)", line)):
                row = int(quoted.group(1)) - 1
                text = source[row - 1] if 0 < row <= len(source) else ""
                line = f"{row:>{len(quoted.group(1))}}{quoted.group(2)}{text.expandtabs(1)}"
            lines.append(line)
        return "\n".join(lines)

    # --- definitions ---
    def define(self, text: str) -> list[str]:
        """Adds definitions, which replace those of the same name, and returns a line for each. If one of them or of
        those before has an error now, nothing changes."""
        header = "" if text.lstrip().startswith("#[version") else HEADER
        source = self._source
        return self._add(lambda before: parse(f"{header}\n{text}", source, before))

    def load(self, path: str) -> list[str]:
        """Adds the definitions of a file, in any form that relay.load reads."""
        path = os.path.expanduser(path)

        def read(before: _core.IRModule) -> _core.IRModule:
            module = load(path)
            if isinstance(module, Compiled):
                raise not_supported(f"{path} is compiled already, and has no definitions", "load its source")
            return module

        return self._add(read)

    def _add(self, origin: Origin) -> list[str]:
        added = origin(self.definitions)
        names, before = self._names(added), self._names(self.definitions)
        origins = self._origins
        if set(names) & set(before):
            # Expressions keep their types, so those that call what is replaced are read again.
            origins = [(one, mine - set(names)) for one, mine in origins]
            origins = [(one, mine) for one, mine in origins if mine]
        origins = [*origins, (origin, set(names))]
        module = _copy(self.definitions) if origins[:-1] == self._origins else None
        if module is None:
            module = _core.IRModule()
            for one, _ in origins[:-1]:
                module.update(one(module))
            added = origin(module)
        module.update(added)
        InferType()(module)
        self.definitions, self._origins = module, origins
        for type_ in {name.removeprefix("type ") for name in names if name in before and name[0] != "@"}:
            stale = re.compile(rf"\b{re.escape(type_)}\b")  # values of the type that was replaced
            self.values = {name: value for name, value in self.values.items() if not stale.search(value[1])}
        return [self.described(name) for name in names if name[0] == "@" or name not in before]

    @staticmethod
    def _names(module: _core.IRModule) -> list[str]:
        types = [f"type {var.name_hint}" for var in module.type_definitions]
        return types + [f"@{var.name_hint}" for var in module.functions]

    def described(self, name: str) -> str:
        """A definition in one line."""
        if name[0] != "@":
            _, *constructors = self.definitions.get_type(name.removeprefix("type "))
            return f"{name}: {', '.join(one.name_hint for one in constructors)}"
        return f"{name} : {self.definitions[name[1:]].checked_type}"

    def listing(self) -> list[str]:
        """Every definition and variable with its type."""
        variables = [f"%{name} : {type_}" for name, (_, type_) in self.values.items()]
        return [self.described(name) for name in self._names(self.definitions)] + variables

    # --- expressions ---
    def typed(self, text: str) -> Typed:
        """Parses an expression and infers its type."""
        used = [name for name in self.values if re.search(rf"%{re.escape(name)}(?!\w)", text)]
        declared = " ".join(f"free_var %{name}: {self.values[name][1]};" for name in used)
        expr = parse_expr(f"{declared}\n{text}", self._source, self.definitions)
        params = free_vars(expr)
        module = _copy(self.definitions)
        entry = Function(params, expr)
        module[_ENTRY] = entry
        type_ = InferType()(module)[_ENTRY].body.checked_type
        del module[_ENTRY]
        body = module[expr] if isinstance(expr, GlobalVar) else expr
        is_function = isinstance(body, Function) and not params
        main = body if is_function else entry
        module, main = _without_main(module, main)
        module["main"] = main
        return Typed(InferType()(module), type_, [var.name_hint for var in params], is_function)

    def evaluated(self, typed: Typed, module: _core.IRModule | None = None) -> Any:
        """Computes @main of the module, by default the expression's, with the reference evaluator."""
        args = [self.values[name][0] for name in typed.variables]
        return in_child(lambda: evaluate(typed.module if module is None else module, args))

    def compute(self, given: Input) -> list[str]:
        """Evaluates an expression or a binding. The result is %_ as well."""
        typed = self.typed(given.text)
        if typed.is_function or str(typed.type).startswith("fn "):
            if given.kind == "binding":
                raise not_supported(
                    f"%{given.name} would be a function, and variables hold data",
                    f"define it: def @{given.name}(...) {{ ... }}",
                )
            return [f"a function : {typed.type}"]
        value = self.evaluated(typed)
        type_ = _type_of(value, str(typed.type))
        for name in {given.name or "_", "_"}:
            self.values[name] = (value, type_)
        shown = f"{shown_value(value)} : {type_}"
        return [f"%{given.name} = {shown}" if given.kind == "binding" else shown]

    def complete_names(self) -> list[str]:
        """The names of the session that an input may use."""
        names = [name for name in self._names(self.definitions) if name[0] == "@"]
        for type_ in self.definitions.type_definitions:
            name, *constructors = self.definitions.get_type(type_.name_hint)
            names += [type_.name_hint, *(one.name_hint for one in constructors)]
        return names + [f"%{name}" for name in self.values]


def _copy(module: _core.IRModule) -> _core.IRModule:
    """A module with the same definitions."""
    copy = _core.IRModule()
    copy.update(module)
    return copy


class _Renamed(ExprMutator):
    """Replaces a global by another."""

    def __init__(self, old: str, new: GlobalVar):
        super().__init__()
        self.old, self.new = old, new

    def visit_global_var(self, var):
        return self.new if var.name_hint == self.old else var


def _without_main(module: _core.IRModule, main: Expr) -> tuple[_core.IRModule, Expr]:
    """The module and the expression with another name for the session's @main, which is not what runs."""
    if "main" not in module:
        return module, main
    taken, name = {var.name_hint for var in module.functions}, "main_1"
    while name in taken:
        name += "_1"
    renamed = _Renamed("main", GlobalVar(name))
    result = _copy(module)
    for var, function in module.functions.items():
        result[name if var.name_hint == "main" else var.name_hint] = renamed.visit(function)
    del result["main"]
    return result, renamed.visit(main)


def _type_of(value: Any, inferred: str) -> str:
    """The type of a value: that of an array is exact, where the inferred one may leave sizes open."""
    if isinstance(value, np.ndarray):
        shape = ", ".join(map(str, value.shape))
        return f"Tensor[({shape}), {value.dtype}]" if value.shape else str(value.dtype)
    return inferred


def shown_value(value: Any) -> str:
    """A value as text. Large arrays are abridged."""
    if isinstance(value, np.ndarray):
        return np.array2string(value, separator=", ")
    if isinstance(value, tuple):
        inner = [shown_value(one) if isinstance(one, np.ndarray | Data) else repr(one) for one in value]
        return f"({', '.join(inner)})"
    return repr(value)


def unknown_command(name: str, known: list[str]) -> CompileError:
    near = _core.suggestions(name, known, 1)
    return told(
        "bad_option",
        f"there is no command :{name}",
        f"did you mean :{near[0]}? :help lists the commands" if near else ":help lists the commands",
    )
