"""`@relay.script` and the scripted functions that it returns."""

from __future__ import annotations

import ast
import functools
import threading
import types
from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._core import Expr, IRModule, TupleType, Type, Var
from ..data.values import checked, from_value, to_value
from ..errors import CompileError, wrong_input
from ..ir.expr import TupleWrapper, bind, const
from ..ir.pass_infra import run_passes
from ..run.compiled import Compiled, compile
from .base import Frame, Scope, wrapped
from .calls import Calls
from .check import check
from .datatypes import DataType, annotated, define_types, from_data
from .plain import plainly
from .problems import Problem, ScriptError
from .program import Program, active, in_plain_python, tracing
from .source import parsed
from .values import Sym, is_unknown, signature_of, type_of_value


class Script:
    """A Python function that is also a program. Calling it with arrays compiles it for their types, once, and runs it;
    with expressions, it builds a call.

    `owner` is the object of a method, such as a layer.
    """

    def __init__(self, function: Callable, owner: object = None):
        functools.update_wrapper(self, function)
        self.function, self.owner = function, owner
        self.definition, file = parsed(function)
        self.scope = Scope(function, file)
        problems = check(self.definition, file)
        if problems:
            raise ScriptError(problems)
        self._compiled: dict[tuple, tuple[Compiled, list]] = {}  # with the parameters of layers
        self._lock = threading.Lock()

    def __get__(self, owner: object, kind: type | None = None) -> Script:
        if owner is None:
            return self
        bound = object.__new__(Script)
        bound.__dict__.update(self.__dict__, owner=owner, _compiled={})
        return bound

    def __relay_script__(self) -> Script:
        return self

    # --- running ------------------------------------------------------------------------------------------------------
    def __call__(self, *args: Any, **named: Any) -> Any:
        if in_plain_python():
            return self.py(*args, **named)
        if any(isinstance(one, Expr) for one in [*args, *named.values()]):
            return self._traced(args, named)
        args = self._in_order(args, named)
        key = tuple(map(signature_of, args, self._names()))
        compiled = self._compiled.get(key)
        if compiled is None:
            module, parameters = self._made(args)
            with self._lock:
                compiled = self._compiled.setdefault(key, (compile(module), parameters))
        program, parameters = compiled
        return from_data(program(*args, *(one.data for one in parameters)))

    def py(self, *args: Any, **named: Any) -> Any:
        """Runs the function in plain Python: operators on NumPy arrays, breakpoints and print() included."""
        args = args if self.owner is None else (self.owner, *args)
        return plainly(self.function)(*args, **named)

    def evaluate(self, *args: Any, **named: Any) -> Any:
        """Runs the program with the reference evaluator."""
        args = self._in_order(args, named)
        module, parameters = self._made(args)
        args = [*args, *(one.data for one in parameters)]
        ports, data_types = _core.ports(module), _core.data_types(module)
        values = [
            to_value(checked(one, *port), data_types, port[1], lend=True) for one, port in zip(args, ports, strict=True)
        ]
        return from_data(from_value(_core.evaluate(module, values, "native"), args))

    # --- the program --------------------------------------------------------------------------------------------------
    def module(self, *args: Any, **named: Any) -> IRModule:
        """Returns the program. Arguments are values, types, or types as text; annotated parameters need none. @main
        takes the arguments, then the parameters of layers that the function calls."""
        return self._made(self._in_order(args, named, annotated_too=True))[0]

    def _made(self, arguments: Sequence) -> tuple[IRModule, list]:
        """Returns the program, and the parameters of layers that follow its arguments."""
        program, kinds = Program(), []
        for name, one in zip(self._names(), arguments, strict=True):
            kinds.append(self._type_of(name, one))
            define_types(kinds[-1], program.types)
        variables = [Var(name, kind) for name, kind in zip(self._names(), kinds, strict=True)]
        if hasattr(self.owner, "set_names"):
            self.owner.set_names()
            program.inside += 1
        with tracing(program):
            body = self._body(program, variables)
        module = self.checked(program.finished([*variables, *program.variables.values()], body))
        for one, variable in zip(program.variables, module["main"].params[len(variables) :], strict=True):
            one.take_type(variable.checked_type)
        return module, list(program.variables)

    def source(self, *args: Any, **named: Any) -> str:
        """Returns the program as text."""
        return self.module(*args, **named).astext()

    def compile(self, *args: Any, **options: Any) -> Compiled:
        """Compiles the program for the types of the arguments, as those of module(), with the parameters of layers as
        constants. options: of relay.compile."""
        module, parameters = self._made(self._in_order(args, {}, annotated_too=True))
        main = module["main"]
        variables = main.params[len(main.params) - len(parameters) :]
        values = {v: const(one.data.copy()) for v, one in zip(variables, parameters, strict=True)}
        module["main"] = bind(main, values)
        return compile(module, **options)

    def _body(self, program: Program, variables: list[Var]) -> Expr:
        """Returns a call of the function, which is added to the program with those that it calls."""
        translator = Calls(program)
        translator.frames.append(Frame("the call", self.scope))
        value = translator.of_script(self, [Sym(one, one.type_annotation) for one in variables], {}, self.definition)
        if translator.problems:
            raise ScriptError(_sorted(translator.problems))
        if is_unknown(value):
            raise ScriptError(
                [
                    Problem(
                        "P0206",
                        f"the type of the result of `{self.__name__}` cannot be inferred",
                        self._place(),
                        "annotate it",
                    )
                ]
            )
        return _with(translator, value)

    def _place(self):
        return self.scope.file.place(self.definition)

    def checked(self, module: IRModule) -> IRModule:
        """Returns the module with types. Problems that Relay finds get their places in Python."""
        try:
            return run_passes(module, ["infer_type"])
        except CompileError as error:
            raise _in_python(error, self.scope.file) from error

    def _traced(self, args: tuple, named: dict) -> Expr | TupleWrapper:
        """Returns the call of the function on expressions, within the program that is traced."""
        program = active()
        if program is None:
            raise wrong_input(
                f"`{self.__name__}` is called on expressions outside of a program",
                "call it in the forward() of a layer or in another script, or take its program: f.module(..)",
            )
        translator = Calls(program)
        translator.frames.append(Frame("the call", self.scope))

        def value_of(one):
            return translator.from_exprs(one, self.definition)

        value = translator.of_script(
            self, [value_of(one) for one in args], {k: value_of(v) for k, v in named.items()}, self.definition
        )
        if translator.problems:
            raise ScriptError(_sorted(translator.problems))
        expr = _with(translator, value)
        is_tuple = isinstance(value, Sym) and isinstance(value.type, TupleType)
        return TupleWrapper(expr, len(value.type.fields)) if is_tuple else expr

    # --- arguments ----------------------------------------------------------------------------------------------------
    def _names(self) -> list[str]:
        names = list(self._parameters())
        return names if self.owner is None else names[1:]

    def _in_order(self, args: tuple, named: dict, annotated_too: bool = False) -> list:
        names = self._names()
        values = dict(zip(names, args, strict=False))
        wrong = [name for name in named if name not in names or name in values]
        if wrong or len(args) > len(names):
            what = f"`{wrong[0]}`" if wrong else f"{len(args)} arguments"
            raise wrong_input(f"`{self.__name__}` does not take {what}", f"its parameters are: {', '.join(names)}")
        values |= named
        parameters = self._parameters()
        defaults = dict(zip(reversed(names), reversed(self.function.__defaults__ or ()), strict=False)) | (
            self.function.__kwdefaults__ or {}
        )
        for name in names:
            if name in values:
                continue
            if name in defaults:
                values[name] = defaults[name]
            elif annotated_too and parameters[name].annotation is not None:
                values[name] = self._annotated(parameters[name].annotation, name)
            else:
                raise wrong_input(
                    f"`{self.__name__}` needs the argument `{name}`",
                    'pass an array, or its type: f.module("Tensor[(3), float32]")'
                    if annotated_too
                    else f"its parameters are: {', '.join(names)}",
                )
        return [values[name] for name in names]

    def _type_of(self, name: str, value: object) -> Type:
        """Returns the type of an argument: of a value, or a type itself. That of an empty list is in its annotation."""
        note = self._parameters()[name].annotation
        if isinstance(value, list) and not value and note is not None:
            return self._annotated(note, name)
        if isinstance(value, (Type, DataType, str, types.GenericAlias, type)):
            return annotated(value, f"`{name}`")
        return type_of_value(value, name)

    def _parameters(self) -> dict[str, ast.arg]:
        args = self.definition.args
        return {one.arg: one for one in [*args.posonlyargs, *args.args, *args.kwonlyargs]}

    def _annotated(self, node, name: str) -> Type:
        translator = Calls(Program())
        translator.frames.append(Frame(self.__name__, self.scope))
        found = translator.annotation(node, f"`{name}`")
        if found is None:
            raise ScriptError(translator.problems)
        return found

    def __repr__(self) -> str:
        return f"<relay.script {self.__qualname__}>"


def _with(translator: Calls, value) -> Expr:
    """Returns a value behind the variables that the translator bound."""
    value = translator.sym(value, ast.Pass())
    return wrapped(translator.bindings[-1], value.expr)


def _sorted(problems: list[Problem]) -> list[Problem]:
    return sorted(
        problems, key=lambda one: (one.place.file, one.place.line, one.place.column) if one.place else ("", 0, 0)
    )


def _in_python(error: CompileError, file) -> CompileError:
    """Returns an error of Relay with its problems at their lines of Python."""
    problems = []
    for one in error.diagnostics:
        place, parts = None, (one.node or "").rpartition(":")[0].split(":")
        if one.node and one.node.startswith(file.name + ":") and len(parts) >= 3:
            numbers = one.node[len(file.name) + 1 :].replace("-", ":").split(":")
            if len(numbers) == 4 and all(part.isdigit() for part in numbers):
                line, column, end_line, end_column = map(int, numbers)
                node = ast.Pass(
                    lineno=line - file.offset,
                    col_offset=max(0, column - 1 - file.indent),
                    end_lineno=end_line - file.offset,
                    end_col_offset=max(0, end_column - 1 - file.indent),
                )
                place = file.place(node)
        problems.append(Problem(one.code, one.message, place, one.help, notes=list(one.notes)))
    return ScriptError(problems) if problems else error


def script(function: Callable) -> Script:
    """Makes a Python function a program: if, while, for, recursion, match, nested functions and tuples become Relay.

    Raises ScriptError with all constructs that cannot be translated, each with its line and a way out.
    """
    if isinstance(function, Script):
        return function
    if isinstance(function, (staticmethod, classmethod)):
        raise wrong_input("a static or class method cannot be scripted", "put @relay.script below @staticmethod")
    if hasattr(function, "__wrapped__"):
        raise wrong_input(f"`{function.__name__}` has another decorator", "put @relay.script directly above def")
    if not isinstance(function, types.FunctionType):
        kind = type(function).__name__
        raise wrong_input(f"a {kind} cannot be scripted", "decorate a function that is written with def")
    return Script(function)
