"""Calls of scripted functions: a function of the program for each combination of argument types.

The type of a result may depend on the function itself. The function is then translated twice. At first, recursive calls
have no type, and the ways without such a call tell the type; then all calls have it.
"""

from __future__ import annotations

import ast

from .._core import Function, GlobalVar, Var
from .base import Frame
from .library import Library
from .values import PENDING, POISON, Env, Sym, is_unknown


class Scripts(Library):
    """Translates calls of scripted functions."""

    def of_script(self, script, args: list, named: dict, node: ast.AST):
        """Calls a scripted function: a function of the program, one for each combination of types."""
        bound = script.__relay_script__()
        definition = bound.definition
        inner = Env()
        self.frames.append(Frame(definition.name, bound.scope))
        ok = self.bind_arguments(
            definition,
            ([bound.owner] if bound.owner is not None else []) + args,
            named,
            inner,
            node,
            self.frames[-2],
            None,
        )
        frame = self.frames.pop()
        values = {name: self._argument(value, node) for name, value in inner.values.items()} if ok else {}
        if not ok or is_unknown(*values.values()):
            return PENDING if PENDING in values.values() else POISON
        made = self.specialise(bound, values, frame, node)
        if made is None or is_unknown(made):
            return POISON if made is None else made
        name, result, dynamic = made
        if result is None:
            self.pending += 1
            return PENDING
        return self.computed(GlobalVar(name)(*[values[one].expr for one in dynamic]), result, definition.name)

    def _argument(self, value, node: ast.AST):
        """Returns an argument as an expression if it can be one. Functions, strings, None and layers stay."""
        return value if isinstance(value, Sym) else self.quiet_sym(value)

    def specialise(self, bound, values: dict, frame: Frame, node: ast.AST):
        """Returns the name of a function for the types of its arguments, its result type (None while it is not known),
        and the names of its parameters."""
        dynamic = [name for name, value in values.items() if isinstance(value, Sym)]
        key = (
            id(bound.definition),
            tuple((name, str(value.type) if isinstance(value, Sym) else _key(value)) for name, value in values.items()),
        )
        known = self.program.specialised.get(key)
        if known is not None:
            return known
        definition = bound.definition
        name = self.program.fresh(definition.name)
        self.program.functions[name] = None
        declared = None
        if definition.returns is not None:
            self.frames.append(frame)
            declared = self.annotation(definition.returns, "the result")
            self.frames.pop()
            if declared is None:
                return None
        result, before, pending = declared, len(self.problems), self.pending
        calls = len(self.program.calls)
        for attempt in range(2):
            self.program.specialised[key] = (name, result, dynamic)
            del self.problems[before:], self.program.calls[calls:]
            hits = self.pending
            made, found = self._function_of(bound, values, dynamic, frame.scope, result)
            is_pending = self.pending > hits
            if attempt or declared is not None or not is_pending or found is None:
                break
            result = found  # known now: once more, with recursive calls of this type
        return self._specialised(key, name, made, found, dynamic, is_pending, pending, before, frame, definition)

    def _specialised(self, key, name, made, found, dynamic, is_pending, pending, before, frame: Frame, definition):
        """Keeps a translated function, unless it waits for the type of another one that is being translated."""
        if len(self.problems) == before and (is_pending or made is None) and found is None and not self._waits(key):
            self.fail(
                "P0206",
                f"the type of the result of `{definition.name}` cannot be inferred: every way calls it again",
                frame.scope.file.place(definition),
                f'annotate it: def {definition.name}(..) -> "Tensor[(3), float32]":',
            )
        if len(self.problems) > before:
            self.program.specialised[key] = POISON
            return POISON
        if is_pending or made is None:  # translated again when the type is known
            del self.program.specialised[key], self.program.functions[name]
            self.pending = max(self.pending, pending + 1)
            return name, found, dynamic
        self.pending = pending
        self.program.functions[name] = made
        self.program.specialised[key] = (name, found, dynamic)
        return self.program.specialised[key]

    def _waits(self, key) -> bool:
        """Returns true if the type of another function is not known yet."""
        known = self.program.specialised.items()
        return any(other != key and one is not POISON and one[1] is None for other, one in known)

    def _function_of(self, bound, values: dict, dynamic: list, scope, result):
        """Translates the body. Returns the function or None, and the type of its result or None."""
        definition = bound.definition
        frame = Frame(definition.name, scope, result, None, result is not None)
        if definition.returns is not None and result is not None:
            frame.result_place = scope.file.place(definition.returns)
        variables = {name: Var(name, values[name].type) for name in dynamic}
        env = Env(
            {name: Sym(variables[name], value.type) if name in variables else value for name, value in values.items()}
        )
        by_name = {
            one.arg: one for one in [*definition.args.posonlyargs, *definition.args.args, *definition.args.kwonlyargs]
        }
        env.places = {name: scope.file.place(by_name[name]) for name in values}
        self.frames.append(frame)
        outer, self.bindings = self.bindings, [[]]
        depth, self.depth = self.depth, 0
        try:
            before = len(self.problems)
            tail = self.in_scope(lambda: self.block(definition.body, env, lambda e: self.end_of(definition)))
            body = tail() if tail is not None and len(self.problems) == before else None
        finally:
            self.bindings, self.depth = outer, depth
            self.frames.pop()
        return None if body is None else Function(list(variables.values()), body, frame.result), frame.result


def _key(value):
    return value if isinstance(value, (str, int, float, bool, type(None))) else id(value)
