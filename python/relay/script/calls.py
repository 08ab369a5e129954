"""Calls: of scripts, nested functions, operators, layers, functions of NumPy, and Python's own."""

from __future__ import annotations

import ast
import types

import numpy as np

from .._core import Expr, Function, FuncType, Var, free_vars
from ..errors import CompileError
from ..ir.expr import TupleWrapper
from .base import Frame, Scope, jumps, wrapped
from .check import check
from .expressions import Method, is_static
from .loops import unroll
from .problems import ScriptError, an
from .scripts import Scripts
from .source import parsed
from .values import PENDING, POISON, Closure, Env, Sym, is_unknown

_PURE = (
    abs,
    bool,
    enumerate,
    float,
    int,
    isinstance,
    len,
    list,
    max,
    min,
    pow,
    range,
    reversed,
    round,
    sorted,
    sum,
    tuple,
    zip,
)
_DEPTH = 60  # of calls of functions that are written out at their call


class Calls(Scripts):
    """Translates calls."""

    def _call(self, node: ast.Call, env: Env):
        callee = self.expression(node.func, env)
        args = [self.expression(one, env) for one in node.args]
        named = {one.arg: self.expression(one.value, env) for one in node.keywords}
        if is_unknown(callee, *args, *named.values()):
            return PENDING if PENDING in (callee, *args, *named.values()) else POISON
        return self.call(callee, args, named, node)

    def call(self, callee, args: list, named: dict, node: ast.Call):
        """Returns the result of a call."""
        if isinstance(callee, Closure):
            return self.written_out(callee, args, named, node)
        if hasattr(callee, "__relay_script__"):
            return self.of_script(callee, args, named, node)
        if isinstance(callee, type) and hasattr(callee, "__relay_type__"):
            return self._constructed(callee, args, named, node)
        if isinstance(callee, Sym):
            return self._of_function_value(callee, args, named, node)
        if isinstance(callee, Method):
            return self._method(callee, args, named, node)
        if callee is unroll:
            return self._unrolled(args, node)
        if callee is range:
            return self._range(args, node)
        static = all(map(is_static, [*args, *named.values()]))
        mine = self._known(callee, args, named, node, static)
        if mine is not NotImplemented:
            return mine
        if _is_relays(callee):
            return self._of_relay(callee, args, named, node)
        if static and _may_run(callee):
            return self.in_python(lambda: callee(*args, **named), (), node)
        if isinstance(callee, types.MethodType) and not _is_library(callee):
            return self._plain(callee.__func__, [callee.__self__, *args], named, node)
        if isinstance(callee, types.FunctionType) and not _is_library(callee):
            return self._plain(callee, args, named, node)
        return self.refused(callee, node)

    def refused(self, callee, node: ast.Call):
        name = ast.unparse(node.func)
        if callee is print:
            return self.fail(
                "P0103",
                "`print` cannot be scripted",
                node,
                "call f.py(..), which runs the function in plain Python, to look at values",
            )
        if name.startswith(("np.", "numpy.")) or (getattr(callee, "__module__", "") or "").startswith("numpy"):
            return self.fail(
                "P0103",
                f"`{name}` has no counterpart in scripts",
                node,
                "use one of relay's operators: docs/operators.md lists them",
            )
        return self.fail(
            "P0103",
            f"`{name}` cannot be called in a script",
            node,
            "compute the value outside and pass it in, or use one of relay's operators",
        )

    # --- functions of Python ------------------------------------------------------------------------------------------
    def written_out(self, closure: Closure, args: list, named: dict, node: ast.AST):
        """Translates the body of a function in the place of its call."""
        if self.depth >= _DEPTH:
            name = getattr(closure.node, "name", "a lambda")
            return self.fail(
                "P0206",
                f"`{name}` calls itself, and would be written out without end",
                node,
                "move it out of the function and decorate it with @relay.script",
            )
        inner = Env({}, {}, closure.env)
        definition, outer = closure.node, self.frames[-1]
        name = getattr(definition, "name", "lambda")
        self.frames.append(Frame(name, closure.scope))
        self.depth += 1
        try:
            if not self.bind_arguments(definition, args, named, inner, node, outer, closure.env):
                return POISON
            if isinstance(definition, ast.Lambda):
                return self.expression(definition.body, inner)
            body, last = definition.body[:-1], definition.body[-1]
            if isinstance(last, ast.Return) and not jumps(body):  # may return any value, also a function
                self.block(body, inner, lambda e: None)
                return self.expression(last.value, inner) if last.value else ()
            return self._result(definition, inner)
        finally:
            self.depth -= 1
            self.frames.pop()

    def _result(self, definition: ast.FunctionDef, inner: Env):
        before, pending = len(self.problems), self.pending
        tail = self.in_scope(lambda: self.block(definition.body, inner, lambda e: self.end_of(definition)))
        if tail is None or self.frame.result is None:
            return PENDING if self.pending > pending and len(self.problems) == before else POISON
        return self.computed(tail(), self.frame.result, self.frame.name)

    def end_of(self, definition: ast.FunctionDef):
        """Reports that a function may end without a value."""
        return (
            self.fail(
                "P0208",
                f"`{definition.name}` may end without `return`",
                definition.body[-1],
                "return a value on every way",
            )
            and None
        )

    def bind_arguments(
        self, definition, args: list, named: dict, inner: Env, node: ast.AST, outer: Frame, env: Env | None
    ) -> bool:
        """Gives the parameters their values."""
        parameters = definition.args
        names = [one.arg for one in [*parameters.posonlyargs, *parameters.args]]
        known = dict(zip(names, args, strict=False))
        all_names = names + [one.arg for one in parameters.kwonlyargs]
        defaults = dict(zip(reversed(names), reversed(parameters.defaults), strict=False))
        defaults |= {
            one.arg: value
            for one, value in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
            if value is not None
        }
        wrong = [name for name in named if name not in all_names or name in known]
        missing = [name for name in all_names if name not in known and name not in named and name not in defaults]
        label = f"`{definition.name}`" if isinstance(definition, ast.FunctionDef) else "the lambda"
        if len(args) > len(names) or wrong or missing:
            frame = self.frames.pop()
            self.frames.append(outer)
            count = len(args) + len(named)
            given = f"{count} argument" + "s" * (count != 1)
            if wrong:
                message = f"{label} has no further parameter `{wrong[0]}`"
            elif missing:
                message = f"{label} is called with {given}, and {', '.join(f'`{one}`' for one in missing)} is missing"
            else:
                message = f"{label} is called with {given}, and takes {len(names)}"
            self.fail("P0209", message, node, f"its parameters are: {', '.join(all_names)}")
            self.frames[-1] = frame
            return False
        values = known | named
        annotations = {
            one.arg: one.annotation for one in [*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs]
        }
        for name in all_names:
            value = values[name] if name in values else self.expression(defaults[name], env or inner)
            note = annotations.get(name)
            if note is not None and not is_unknown(value) and not callable(value):
                wanted = self.annotation(note, f"`{name}`")
                value = self.of_type(value, wanted, note, f"`{name}`") if wanted is not None else value
            inner.values[name] = self.bound(name, value)
            inner.places[name] = self.place(definition.body if isinstance(definition, ast.Lambda) else definition)
        return True

    def _plain(self, function: types.FunctionType, args: list, named: dict, node: ast.Call):
        """Translates a function without a decorator, in the place of its call."""
        try:
            definition, file = parsed(function)
        except ScriptError as error:
            self.problems += [one for one in error.problems if one not in self.problems]
            return POISON
        problems = check(definition, file)
        if problems:
            self.problems += [one for one in problems if one not in self.problems]
            return POISON
        return self.written_out(Closure(definition, Env(), Scope(function, file)), args, named, node)

    def function_value(self, closure: Closure, node: ast.AST, type_: FuncType):
        """Returns a function as a value of the program."""
        variables = [Var(f"a{at}", kind) for at, kind in enumerate(type_.arg_types)]
        self.bindings.append([])
        value = self.written_out(closure, [Sym(one, one.type_annotation) for one in variables], {}, node)
        value = value if is_unknown(value) else self.sym(value, node)
        bound = self.bindings.pop()
        if is_unknown(value):
            return value
        return Sym(Function(variables, wrapped(bound, value.expr), value.type), FuncType(type_.arg_types, value.type))

    def _of_function_value(self, callee: Sym, args: list, named: dict, node: ast.AST):
        if not isinstance(callee.type, FuncType) or named or len(args) != len(callee.type.arg_types):
            return self.fail(
                "P0209", f"{an(callee.type)} cannot be called like this", node, "pass its arguments by position"
            )
        values = [
            self.of_type(one, kind, node, "the argument") for one, kind in zip(args, callee.type.arg_types, strict=True)
        ]
        if is_unknown(*values):
            return POISON
        return self.computed(callee.expr(*[one.expr for one in values]), callee.type.ret_type, "result")

    def _constructed(self, cls: type, args: list, named: dict, node: ast.AST):
        fields = cls.__relay_type__.cases[cls].fields
        wrong = [name for name in named if name not in fields[len(args) :]]
        if wrong:
            return self.fail(
                "P0209",
                f"{cls.__name__} has no further field `{wrong[0]}`",
                node,
                f"write {cls.__name__}({', '.join(fields)})",
            )
        values = [*args, *(named[name] for name in fields[len(args) :] if name in named)]
        return self.construct(cls, values, node)

    # --- operators and layers -----------------------------------------------------------------------------------------
    def _of_relay(self, callee, args: list, named: dict, node: ast.AST):
        """Calls a function that builds expressions: an operator, a layer."""
        given = [self._operand(one, node) for one in args]
        by_name = {name: self._operand(one, node) for name, one in named.items()}
        if is_unknown(*given, *by_name.values()):
            return POISON
        try:
            with self.at(node):
                result = callee(*given, **by_name)
        except CompileError as error:
            return self.of_relay(error, node)
        except (TypeError, ValueError) as error:
            return self.fail("P0207", str(error), node, f"see help({ast.unparse(node.func)})")
        return self.from_exprs(result, node)

    def from_exprs(self, result, node: ast.AST):
        """Returns what a function that builds expressions returned, as values."""
        if isinstance(result, (tuple, list)):
            return tuple(self.from_exprs(one, node) for one in result)
        if not isinstance(result, (Expr, TupleWrapper)):
            return result
        expr = result.astuple() if isinstance(result, TupleWrapper) else result
        with_types = self._with_parameters(expr, node)
        if not isinstance(result, TupleWrapper) or is_unknown(with_types):
            return with_types
        return self.fields(self.bound("parts", with_types))

    def _with_parameters(self, expr: Expr, node: ast.AST):
        """Returns an expression with its type. Parameters of layers may lack a type as yet."""
        if not any(v.type_annotation is None or "_" == str(v.type_annotation) for v in free_vars(expr)):
            return self.emit(expr, node)
        try:
            return self.computed(expr, self.program.type_of(expr), "layer")
        except CompileError as error:
            return self.of_relay(error, node)

    def _operand(self, value, node: ast.AST):
        """Returns an argument for a function that builds expressions."""
        if isinstance(value, Sym):
            return self.bound("value", value).expr
        if isinstance(value, (tuple, list)) and not is_static(value):
            parts = [self._operand(one, node) for one in value]
            return (
                POISON if is_unknown(*parts) else [part for part in parts] if isinstance(value, list) else tuple(parts)
            )
        if isinstance(value, (np.ndarray, np.generic)):
            made = self.sym(value, node)
            return made if is_unknown(made) else made.expr
        if isinstance(value, Closure):
            return lambda *exprs: self._operand(
                self.written_out(value, [self.from_exprs(one, node) for one in exprs], {}, node), node
            )
        return value


def _is_relays(callee) -> bool:
    """Returns true for functions that build expressions: operators, layers and helpers of relay."""
    if getattr(type(callee), "__relay_layer__", False):
        return True
    return (getattr(callee, "__module__", "") or "").partition(".")[0] == "relay"


def _is_library(function: types.FunctionType | types.MethodType) -> bool:
    """Returns true for functions whose source is not the user's."""
    owner = getattr(function, "__self__", None)
    module = (type(owner).__module__ if owner is not None else function.__module__) or ""
    return module.partition(".")[0] in ("numpy", "torch", "math", "builtins")


def _may_run(callee) -> bool:
    """Returns true for functions that may be called while a function is translated, with values that are known."""
    module = getattr(callee, "__module__", "") or ""
    if callee in _PURE or module in ("math", "operator"):
        return True
    is_random = "random" in module
    if isinstance(callee, np.ufunc) or (module.startswith("numpy") and not is_random):
        return True
    return isinstance(callee, type) and callee.__module__ == "numpy"
