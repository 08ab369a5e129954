"""Programs of layers: forward() is called once on variables, and the sizes that were left out are inferred."""

from __future__ import annotations

import ast
import dataclasses
import linecache
import sys
from typing import Any

from .._core import Constant, Expr, Function, IRModule, TensorType, Tuple, Type, Var, substitute
from ..errors import wrong_input
from ..ir.expr_functor import deep_calls
from ..ir.pass_infra import run_passes
from ..script.datatypes import DataType, annotated, define_types
from ..script.problems import File, Problem, ScriptError
from ..script.program import Program, active, tracing
from ..script.values import type_of_value
from .parameter import Parameter


@dataclasses.dataclass
class Traced:
    """A traced layer. @main of `module` takes `count` inputs, then the parameters; it returns the result, or a tuple of
    it and the new values of `updated`."""

    module: IRModule
    count: int
    parameters: list[Parameter]
    updated: list[Parameter]

    def with_constants(self) -> IRModule:
        """Returns the program with the parameters as constants, and the result only."""
        module, main = self.module.clone(), self.module["main"]
        inputs, variables = main.params[: self.count], main.params[self.count :]
        values = {v: Constant(one.data) for v, one in zip(variables, self.parameters, strict=True)}
        module["main"] = Function(inputs, substitute(main.body, values))
        return module


def type_of(value: Any, where: str) -> Type:
    """Returns the type of an argument: a value, a type, or a shape of floats that may have names."""
    if isinstance(value, (Type, DataType, str)) or isinstance(value, type):
        return annotated(value, f"`{where}`")
    if isinstance(value, tuple) and value and all(isinstance(one, (int, str)) for one in value):
        return TensorType(value, "float32")
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], tuple) and isinstance(value[1], str):
        return TensorType(value[0], value[1])
    return type_of_value(value, where)


def trace(layer, args: tuple, named: dict | None = None, training: bool = False, of=None, names=None) -> Traced:
    """Traces a layer, or of(*variables), a function that calls it. training: results include the new state.
    names: of the arguments; otherwise those of forward().

    Raises CompileError for sizes that do not fit.
    """
    known = layer.set_names()
    program, function = Program(), of or layer
    program.training = training
    variables = []
    for name, one in _named(names or _names(function), args, named or {}):
        type_ = type_of(one, name)
        define_types(type_, program.types)
        variables.append((name, Var(name if name not in known else f"{name}_", type_)))
    positional = [v for at, (_, v) in enumerate(variables) if at < len(args)]
    with tracing(program), deep_calls:
        made = function(*positional, **dict(variables[len(args) :]))
    result = expression(made, layer)
    updates = [(one, value) for one, value in program.updates.items() if training]
    used = list(program.variables)
    used = [one for one in known.values() if one in program.variables] + [
        one for one in used if one not in known.values()
    ]
    body = Tuple([result, *(value for _, value in updates)]) if updates else result
    params = [v for _, v in variables] + [program.variables[one] for one in used]
    with deep_calls:
        module = program.finished(params, body)
    module = run_passes(module, ["infer_type"])
    for one, variable in zip(used, module["main"].params[len(variables) :], strict=True):
        one.take_type(variable.checked_type)
    return Traced(module, len(variables), used, [one for one, _ in updates])


def _names(layer) -> list[str]:
    """Returns the names of the arguments of forward()."""
    forward = getattr(layer, "forward", layer)
    code = getattr(getattr(forward, "function", forward), "__code__", None)
    names = list(code.co_varnames[: code.co_argcount]) if code else []
    return names[1:] if names[:1] == ["self"] else names


def _named(names: list[str], args: tuple, named: dict) -> list[tuple[str, Any]]:
    out = [(names[at] if at < len(names) else f"x{at}", one) for at, one in enumerate(args)]
    return out + list(named.items())


def expression(made: Any, layer) -> Expr:
    """Returns what forward() returned as one expression."""
    if hasattr(made, "__relay_expr__"):
        made = made.__relay_expr__()
    if isinstance(made, (tuple, list)):
        return Tuple([expression(one, layer) for one in made])
    if not isinstance(made, Expr):
        raise wrong_input(
            f"forward() of {type(layer).__name__} returned a {type(made).__name__}",
            "return an expression or a tuple of expressions",
        )
    return made


def on_expressions(layer, args: tuple, named: dict) -> Any:
    """Calls a layer on expressions outside of a trace. Its parameters are free variables of the result."""
    layer.set_names()
    program = Program()
    with tracing(program), deep_calls:
        result = layer.forward(*args, **named)
    if program.functions:
        raise wrong_input("a layer with scripted functions is called on expressions", "take its program: net.module(x)")
    return result


def input_type(value: Expr) -> Type:
    """Returns the type of an expression in the program that is traced."""
    program = active()
    return (program or Program()).type_of(value)


# --- `if` on an expression --------------------------------------------------------------------------------------------
def _no_truth(self) -> bool:
    """Refuses `if x:` on an expression while a layer is traced, in code that is not Relay's own."""
    if active() is None:
        return True
    frame = sys._getframe(1)
    name = frame.f_globals.get("__name__", "")
    if name == "relay" or name.startswith("relay."):
        return True
    file = File(frame.f_code.co_filename, [line.rstrip("\n") for line in linecache.getlines(frame.f_code.co_filename)])
    text = file.lines[frame.f_lineno - 1] if frame.f_lineno <= len(file.lines) else ""
    lead = len(text) - len(text.lstrip())
    node = ast.Pass(
        lineno=frame.f_lineno, col_offset=lead, end_lineno=frame.f_lineno, end_col_offset=len(text.rstrip())
    )
    raise ScriptError(
        [
            Problem(
                "P0204",
                "the value of this condition is known only when the program runs",
                file.place(node),
                "decorate forward() with @relay.script, which makes it part of the program; or choose with relay.where",
            )
        ]
    )


Expr.__bool__ = _no_truth
