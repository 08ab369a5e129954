"""Loops: local functions that call themselves at their end, which run in constant memory.

The variables that a loop assigns and that exist before it are the parameters of its function. A loop without `return`
returns them; the block goes on behind it. A loop with `return` stands at the end of its block, and its exit is a call
of a local function for the statements behind it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from .. import op
from .._core import Clause, Expr, Function, If, Let, Match, PatternConstructor, PatternVar, Tuple, TupleType, Var
from ..ir.expr import const
from .base import assigned, jumps
from .datatypes import is_list
from .problems import an
from .statements import Join, Next, Statements, Tail
from .values import PENDING, POISON, Clash, Closure, Env, Sym, Unset, is_unknown


class Unrolled:
    """An iterable whose loop is written out: relay.unroll(range(3))."""

    def __init__(self, values):
        self.values = list(values)


def unroll(values):
    """In a scripted function, writes out a `for` loop over values that are known when it is compiled. In plain Python,
    returns the values themselves."""
    return values


class Range:
    """range(begin, end, step) with bounds that may be known at run time only."""

    def __init__(self, begin, end, step: int):
        self.begin, self.end, self.step = begin, end, step


class _Header:
    """The hidden variables of a loop, its test, and the values of its own variables in an iteration."""

    def __init__(
        self, hidden: list[tuple[str, Sym]], enter: Callable[[list[Sym], Env, Callable, Callable], Tail], step: Callable
    ):
        self.hidden, self.enter, self.step = hidden, enter, step


class Loops(Statements):
    """Translates while and for."""

    def loop(self, node: ast.While | ast.For, rest, env: Env, then: Next) -> tuple[bool, Tail]:
        """Returns true and the value of the whole block, or false if the block goes on behind the loop."""
        if isinstance(node, ast.While):
            header = _Header(
                [], lambda hidden, inner, body, exit: self._while(node, inner, body, exit), lambda hidden: []
            )
        else:
            over = self.expression(node.iter, env)
            if isinstance(over, (list, tuple, Unrolled)):
                return self._written_out(node, over, rest, env, then)
            header = self._header(node, over)
        if header is None:
            for name in assigned([node]):
                env.values[name] = POISON
            inner = env.copy()
            self.frame.jumps.append((lambda e: None, lambda e: None))
            self.in_scope(lambda: self.block(node.body, inner, lambda e: None))
            self.frame.jumps.pop()
            return False, None
        return self._recursive(node, header, rest, env, then)

    def _written_out(self, node: ast.For, over, rest, env: Env, then: Next) -> tuple[bool, Tail]:
        """Translates the body once for each value."""
        values = list(over.values if isinstance(over, Unrolled) else over)
        if len(values) > 1000:
            self.fail(
                "P0213",
                f"a loop over {len(values)} known values would be written out",
                node.iter,
                "use range(), which becomes a loop",
            )
            return False, None
        if not jumps(node.body):
            for value in values:
                self.assign(node.target, value, env, node.iter)
                self.block(node.body, env, lambda e: None)
            return False, None
        # Each iteration is the rest of the one before; the statements behind the loop are one local function.
        once = ast.copy_location(ast.If(ast.Constant(True), [], []), node)

        def body(at: int) -> Next:
            def run(inner: Env) -> Tail:
                if at == len(values):
                    return leave(inner)
                self.assign(node.target, values[at], inner, node.iter)
                go_on = body(at + 1)
                self.frame.jumps.append((leave, go_on))
                try:
                    return self.block(node.body, inner, go_on)
                finally:
                    self.frame.jumps.pop()

            return run

        ends: list = []
        leave = lambda inner: ends[-1](inner)  # noqa: E731 - replaced by the join
        return self._with_rest(once, node, rest, env, then, ends, body(0))

    def _with_rest(self, once, node, rest, env: Env, then: Next, ends: list, begin: Next) -> tuple[bool, Tail]:
        """Translates begin(env), whose ways out call ends[-1], and the statements behind."""
        join = Join(self, assigned([node]))
        ends.append(join)
        inner = env.copy()
        part = self.in_scope(lambda: begin(inner))
        if not join.calls:
            return True, part
        behind_env, params = self.behind(join, env, once)
        behind = self.in_scope(lambda: self.block(rest, behind_env, then))
        if part is None or behind is None:
            return True, None
        return True, lambda: Let(join.variable, Function(list(params.values()), behind()), part())

    def _header(self, node: ast.For, over) -> _Header | None:
        if is_unknown(over):
            return None
        if isinstance(over, Range):
            return self._range_header(node, over)
        if isinstance(over, Sym) and is_list(over.type):
            return self._list_header(node, over)
        if isinstance(over, Sym) and over.is_tensor and len(over.type.shape):
            rows = self.bound("rows", over)
            length = self.size(rows, 0, node.iter)
            return self._range_header(
                node, Range(0, length, 1), lambda at: self.emit(lambda: op.take(rows.expr, at.expr, axis=0), node.iter)
            )
        what = an(over.type) if isinstance(over, Sym) else f"a {type(over).__name__}"
        self.fail(
            "P0207",
            f"a `for` loop cannot go over {what}",
            node.iter,
            "go over range(..), a list, a tuple or the first axis of an array",
        )
        return None

    def _range_header(self, node: ast.For, over: Range, value=None) -> _Header | None:
        begin, end = (self.sym(one, node.iter, "int32") for one in (over.begin, over.end))
        if is_unknown(begin, end):
            return None
        end = self.bound("end", end)
        if begin.dtype != end.dtype:
            begin, end = self.cast(begin, "int64", node), self.bound("end", self.cast(end, "int64", node))
        test = op.less if over.step > 0 else op.greater

        def enter(hidden, inner, body, exit):
            at = hidden[0]
            self.assign(node.target, value(at) if value else at, inner, node.iter)
            go_on = self.emit(lambda: test(at.expr, end.expr), node.iter)
            return self._if(go_on, body, exit)

        step = const(over.step, begin.dtype)
        return _Header([("i", begin)], enter, lambda hidden: [op.add(hidden[0].expr, step)])

    def _list_header(self, node: ast.For, over: Sym) -> _Header:
        nil, cons = self.list_constructors(over.type.args[0])
        state = {}

        def enter(hidden, inner, body, exit):
            head, tail = Var("head", over.type.args[0]), Var("tail", over.type)
            state["tail"] = tail
            go, leave = (
                body(lambda: self.assign(node.target, Sym(head, head.type_annotation), inner, node.iter)),
                exit(),
            )
            if go is None or leave is None:
                return None
            pattern = PatternConstructor(cons, [PatternVar(head), PatternVar(tail)])
            return lambda: Match(hidden[0].expr, [Clause(PatternConstructor(nil, []), leave()), Clause(pattern, go())])

        return _Header([("items", over)], enter, lambda hidden: [state["tail"]])

    def _while(self, node: ast.While, inner: Env, body, exit) -> Tail:
        condition = self.condition(node.test, inner)
        if condition is True:
            return body()
        if condition is False:
            return exit()
        return self._if(condition, body, exit)

    def _if(self, condition, body, exit) -> Tail:
        go, leave = body(), exit()
        if not isinstance(condition, Sym) or go is None or leave is None:
            return None
        return lambda: If(condition.expr, go(), leave())

    # --- the function of a loop ---------------------------------------------------------------------------------------
    def _recursive(self, node, header: _Header, rest, env: Env, then: Next) -> tuple[bool, Tail]:
        names = assigned([node])
        dropped: dict[str, object] = {}
        returns = jumps(node.body, (ast.Return,))
        while True:
            before, known = len(self.problems), dict(dropped)
            attempt = _Attempt(self, node, header, names, dropped, env, returns)
            tail = attempt.translated()
            if dropped.keys() == known.keys():
                break
            del self.problems[before:]
        if not returns:
            return False, self._go_on(attempt, tail, env, node)
        join = attempt.join
        behind_env, params = self.behind(join, env, node) if join.calls else (env, {})
        behind = self.in_scope(lambda: self.block(rest, behind_env, then)) if join.calls else (lambda: None)
        if tail is None or behind is None:
            return True, None
        if not join.calls:
            return True, tail
        return True, lambda: Let(join.variable, Function(list(params.values()), behind()), tail())

    def _go_on(self, attempt: _Attempt, tail: Tail, env: Env, node) -> None:
        for name, value in attempt.dropped.items():
            env.values[name] = value
        for name, at in attempt.names.items():
            if name not in env.values:
                env.values[name] = Unset(self.place(at))
        if tail is None:
            for name in attempt.carried:
                env.values[name] = PENDING if attempt.is_pending else POISON
            return
        if not attempt.carried:
            self.computed(tail(), TupleType([]), "loop")
            return
        result = self.computed(tail(), TupleType([value.type for value in attempt.carried.values()]), "after")
        for name, value in zip(attempt.carried, self.fields(result), strict=True):
            env.values[name] = self.bound(name, value)
            env.places[name] = self.place(attempt.names[name])


class _Attempt:
    """A translation of a loop. Variables whose type changes are added to `dropped`, and the loop is translated again
    without them: they are reported if something reads them."""

    def __init__(self, t: Loops, node, header: _Header, names, dropped: dict, env: Env, returns: bool):
        self.t, self.node, self.header, self.names, self.dropped, self.env = t, node, header, names, dropped, env
        self.carried: dict[str, Sym] = {}
        self.places = dict(env.places)
        self.is_pending = False
        self.join = Join(t, names) if returns else None
        self.function = Var("loop")

    def translated(self) -> Tail:
        t, env = self.t, self.env
        for name in self.names:
            if name not in env.values or name in self.dropped:
                continue
            value = t.quiet_sym(env.values[name], None)
            if isinstance(value, Sym):
                self.carried[name] = value
            elif isinstance(value, (Unset, Clash)) or is_unknown(value):
                self.dropped[name] = value
            elif isinstance(value, list) and not value:
                here = env.places.get(name) or t.place(self.names[name])
                help = f'annotate it: {name}: list["Tensor[(3), float32]"] = []'
                message = "is an empty list before the loop, and the type of its elements is not known"
                later = t.place(self.names[name]), "it is assigned in the loop"
                self.dropped[name] = Clash(message, later, (here, ""), help)
            else:
                what = (
                    "is a function before the loop"
                    if isinstance(value, Closure) or callable(value)
                    else "has no type before the loop"
                )
                here = t.place(self.names[name])
                self.dropped[name] = Clash(
                    f"{what}, and is assigned in it", (env.places.get(name, here), "before the loop"), (here, "")
                )
        inner = env.copy()
        params = {name: Var(name, value.type) for name, value in self.carried.items()}
        hidden = [Var(name, value.type) for name, value in self.header.hidden]
        self.hidden = [Sym(one, one.type_annotation) for one in hidden]
        for name, variable in params.items():
            inner.values[name] = Sym(variable, variable.type_annotation)
        inner.values.update(self.dropped)
        body = t.in_scope(lambda: self._iteration(inner))
        start = [value.expr for _, value in self.header.hidden] + [value.expr for value in self.carried.values()]
        if body is None:
            return None
        returned = None if self.join else TupleType([value.type for value in self.carried.values()])
        return lambda: Let(
            self.function, Function([*hidden, *params.values()], body(), returned), self.function(*start)
        )

    def _iteration(self, inner: Env) -> Tail:
        t = self.t

        def body(prepare=None) -> Tail:
            mine = inner.copy() if prepare is None else inner

            def translated() -> Tail:
                if prepare:
                    prepare()
                return t.block(self.node.body, mine, self._again)

            t.frame.jumps.append((self._leave, self._again))
            try:
                return t.in_scope(translated)
            finally:
                t.frame.jumps.pop()

        before = inner.copy()
        return self.header.enter(self.hidden, inner, body, lambda: t.in_scope(lambda: self._leave(before)))

    def _leave(self, env: Env) -> Tail:
        """Ends the loop."""
        if self.join:
            return self.join(env)
        values = self._values(env)
        return None if values is None else lambda: Tuple(values)

    def _again(self, env: Env) -> Tail:
        """Begins the next iteration."""
        values = self._values(env)
        if values is None:
            return None
        hidden = self.header.step(self.hidden)
        return lambda: self.function(*hidden, *values)

    def _values(self, env: Env) -> list[Expr] | None:
        out: list[Expr] | None = []
        for name, start in self.carried.items():
            value = self.t.convert(env.values.get(name), start.type, name)
            here = env.places.get(name, self.t.place(self.names[name]))
            if isinstance(value, Sym) and value.type == start.type:
                if out is not None:
                    out.append(value.expr)
                continue
            out = None
            if is_unknown(value):
                self.is_pending |= value is PENDING
            elif name not in self.dropped:
                self.dropped[name] = self._changed(name, value, start, here)
        return out

    def _changed(self, name: str, value, start: Sym, here):
        if isinstance(value, (Unset, Clash)):
            return value
        now = an(value.type) if isinstance(value, Sym) else "no value of a program"
        message = f"is {now} after an iteration, and {an(start.type)} before the loop"
        return Clash(message, (self.places.get(name, here), an(start.type)), (here, ""))
