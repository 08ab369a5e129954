"""Writes @main: calls of operators, tuples, branches, and tail-recursive functions as loops."""

from __future__ import annotations

from collections import ChainMap, Counter

from .._core import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    IRModule,
    Let,
    Op,
    Tuple,
    TupleGetItem,
    TupleType,
    Var,
    post_order_visit,
)
from ..data.arrays import as_numpy
from ..errors import not_supported
from .conversion import Conversion
from .table import CONVERTERS
from .writer import Unwritable, Value, Writer, names, type_text, types_of

_OTHERWISE = "keep this part with Relay, or add a converter (docs/stablehlo.md)"


def leaf_types(type_) -> list[tuple]:
    """Returns (shape, dtype) of the tensors of a type, in order."""
    if isinstance(type_, TupleType):
        return [one for field in type_.fields for one in leaf_types(field)]
    if not hasattr(type_, "shape"):
        raise Unwritable(f"a value of type {type_}")
    return [(tuple(type_.shape), str(type_.dtype))]


def leaves(value) -> list[Value]:
    return [one for part in value for one in leaves(part)] if isinstance(value, list) else [value]


def structured(values: list[Value], type_):
    """Returns values in the structure of a type: lists for tuples."""
    taken = iter(values)

    def of(one):
        return [of(field) for field in one.fields] if isinstance(one, TupleType) else next(taken)

    return of(type_)


class Program:
    """The text of one module. Values of expressions are Value, and lists of them for tuples."""

    def __init__(self, module: IRModule):
        self._module, self._writer = module, Writer()

    def text(self) -> str:
        """Returns the module's text."""
        main, w = self._module["main"], self._writer
        self._refuse_missing()
        env, args = ChainMap(), []
        for param in main.params:
            found = []
            for shape, dtype in leaf_types(param.checked_type):
                found.append(Value(f"%arg{len(args)}", shape, dtype))
                args.append(found[-1])
            env[param] = structured(found, param.checked_type)
        results = leaves(self._value(main.body, env))
        w.line(f'"func.return"({names(results)}) : ({types_of(results)}) -> ()')
        inputs = ", ".join(f"{one.name}: {one.type}" for one in args)
        body = "\n".join(w.lines)
        return f"module {{\n  func.func public @main({inputs}) -> ({types_of(results)}) {{\n{body}\n  }}\n}}\n"

    def _refuse_missing(self) -> None:
        missing = Counter()

        def note(one):
            if isinstance(one, Call) and isinstance(one.op, Op) and one.op.name not in CONVERTERS:
                missing[one.op.name] += 1

        for function in self._module.functions.values():
            post_order_visit(function, note)
        if missing:
            listed = ", ".join(f"{name} ({count} times)" if count > 1 else name for name, count in missing.items())
            raise not_supported(f"the program uses operators without a form in StableHLO: {listed}", _OTHERWISE)

    # --- expressions --------------------------------------------------------------------------------------------------
    def _value(self, expr: Expr, env: ChainMap):
        """Writes an expression after those that it needs, without recursion along chains of calls."""
        pending = [(expr, False)]
        while pending:
            one, is_ready = pending.pop()
            if one in env:
                continue
            if is_ready:
                env[one] = self._written(one, env)
                continue
            pending.append((one, True))
            pending += [(child, False) for child in reversed(self._needed(one)) if child not in env]
        return env[expr]

    def _needed(self, expr: Expr) -> list[Expr]:
        """Returns the expressions that are written before this one, in its scope."""
        if isinstance(expr, Call):
            return list(expr.args)
        if isinstance(expr, Tuple):
            return list(expr.fields)
        if isinstance(expr, TupleGetItem):
            return [expr.tuple_value]
        if isinstance(expr, If):
            return [expr.cond]
        return []

    def _written(self, expr: Expr, env: ChainMap):
        if isinstance(expr, Constant):
            return self._writer.constant(as_numpy(expr.data), str(expr.checked_type.dtype))
        if isinstance(expr, Tuple):
            return [env[one] for one in expr.fields]
        if isinstance(expr, TupleGetItem):
            return env[expr.tuple_value][expr.index]
        if isinstance(expr, If):
            return self._branches(expr, env)
        if isinstance(expr, Let):
            return self._bound(expr, env)
        if isinstance(expr, Call):
            return self._call(expr, env)
        raise Unwritable(f"a {type(expr).__name__} as a value")

    def _bound(self, expr: Let, env: ChainMap):
        while isinstance(expr, Let):
            env[expr.var] = expr.value if isinstance(expr.value, Function) else self._value(expr.value, env)
            expr = expr.body
        return self._value(expr, env)

    def _branches(self, expr: If, env: ChainMap):
        types = leaf_types(expr.checked_type)
        regions = [
            self._writer.region([], lambda _, one=one: leaves(self._value(one, env.new_child())))
            for one in (expr.true_branch, expr.false_branch)
        ]
        made = self._writer.emit_all("stablehlo.if", [env[expr.cond]], types, "", regions)
        return structured(made, expr.checked_type)

    def _call(self, call: Call, env: ChainMap):
        inputs = [env[one] for one in call.args]
        if isinstance(call.op, Op):
            try:
                return self._operator(call, inputs)
            except Unwritable as reason:
                place = f" at {call.span}" if call.span is not None else ""
                raise not_supported(
                    f"{call.op.name} has no form in StableHLO here: {reason}{place}", _OTHERWISE
                ) from None
        function = call.op
        if isinstance(function, GlobalVar):
            function = self._module[function.name_hint]
        elif isinstance(function, (Var, Let)):
            function = self._function(function, env)
        if not isinstance(function, Function):
            raise Unwritable("a call of a function that is computed")
        loop = _Loop.of(function, call.op)
        if loop is not None:
            return self._loop(loop, call, inputs, env)
        if any(one is call.op for one in _called(function)):
            raise Unwritable(f"the recursion of {call.op} is not a loop: its last action must be its own call")
        inner = env.new_child(dict(zip(function.params, inputs, strict=True)))
        return self._value(function.body, inner)

    def _function(self, name: Expr, env: ChainMap):
        while isinstance(name, Let):
            env[name.var] = name.value
            name = name.body
        return env.get(name)

    def _operator(self, call: Call, inputs: list):
        given = {key: call.attrs[key] for key in call.attrs.keys()} if call.attrs is not None else {}
        types = leaf_types(call.checked_type)
        for shape, dtype in types:
            type_text(shape, dtype)
        made = leaves(CONVERTERS[call.op.name](self._writer, Conversion(inputs, given, types)))
        for one, (shape, dtype) in zip(made, types, strict=True):
            if (one.shape, one.dtype) != (tuple(shape), dtype):
                raise Unwritable(f"its result would be {one.type}, not {type_text(shape, dtype)}")
        return structured(made, call.checked_type)

    # --- loops --------------------------------------------------------------------------------------------------------
    def _loop(self, loop: _Loop, call: Call, inputs: list, env: ChainMap):
        """Writes f(x..) = if (c) f(next..) else result as stablehlo.while, and the result after it."""
        w, params = self._writer, loop.function.params
        types = [one.checked_type for one in params]
        tensors = [one for type_ in types for one in leaf_types(type_)]

        def scope(args: list[Value]) -> ChainMap:
            taken = iter(args)
            counted = [[next(taken) for _ in leaf_types(type_)] for type_ in types]
            given = [structured(one, type_) for one, type_ in zip(counted, types, strict=True)]
            return env.new_child(dict(zip(params, given, strict=True)))

        def condition(args: list[Value]) -> list[Value]:
            found = self._value(loop.condition, scope(args))
            return [found if loop.goes_on else w.unary("not", found)]

        def following(args: list[Value]) -> list[Value]:
            inner = scope(args)
            return [leaf for one in loop.following for leaf in leaves(self._value(one, inner))]

        regions = [w.region(tensors, condition), w.region(tensors, following)]
        start = [leaf for one in inputs for leaf in leaves(one)]
        made = w.emit_all("stablehlo.while", start, tensors, "", regions)
        return self._value(loop.result, scope(made))


def _called(function: Function) -> list:
    found = []
    post_order_visit(function.body, lambda one: found.append(one.op) if isinstance(one, Call) else None)
    return found


class _Loop:
    """A function whose body is `if (condition) itself(following..) else result`, or with the branches exchanged."""

    def __init__(self, function: Function, condition: Expr, following: list[Expr], result: Expr, goes_on: bool):
        self.function, self.condition, self.following = function, condition, following
        self.result, self.goes_on = result, goes_on

    @staticmethod
    def of(function: Function, name: Expr) -> _Loop | None:
        body = function.body
        while isinstance(name, Let):
            name = name.body
        if not isinstance(body, If) or sum(one is name for one in _called(function)) != 1:
            return None
        for again, result, goes_on in (
            (body.true_branch, body.false_branch, True),
            (body.false_branch, body.true_branch, False),
        ):
            if isinstance(again, Call) and again.op is name:
                return _Loop(function, body.cond, list(again.args), result, goes_on)
        return None
