"""Statements: blocks, branches and their joins, match.

A block is translated in the order of its text. A branch without return, break or continue is an `if` that returns the
variables that it assigned. A branch with such a jump is an `if` at the end of the block, and the statements behind it
become a local function that the ways out of the branch call.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from .._core import (
    Clause,
    Expr,
    Function,
    If,
    Let,
    Match,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    Tuple,
    TupleType,
    Var,
    unmatched_case,
)
from .base import Base, assigned, jumps, wrapped
from .datatypes import registered
from .problems import Place, an
from .values import PENDING, POISON, Clash, Closure, Env, Sym, Unset, is_unknown

# The end of a block, made when all calls of the joins that it leads to are known. None behind a problem.
Tail = Callable[[], Expr] | None
Next = Callable[[Env], Tail]


class Join:
    """The statements behind a branch, as a local function of the variables that differ."""

    def __init__(self, translator: Statements, names: dict[str, ast.AST]):
        self.t, self.nodes, self.names = translator, names, list(names)
        self.first_places: dict[str, Place] = {}
        self.variable, self.params, self.known, self.calls = Var("rest"), None, {}, 0
        self.inlined: tuple[dict[str, Var], Callable[[], Expr]] | None = None

    def __call__(self, env: Env) -> Tail:
        """Returns a call of the function with the variables of `env`."""
        self.calls += 1
        if self.params is None:
            self._first(env)
        args = {}
        for name, (type_, place) in self.params.items():
            if name not in env.values:
                self.known[name] = Unset(place)
                continue
            value = self.t.convert(env.values[name], type_, name)
            if isinstance(value, Sym) and value.type == type_:
                args[name] = value.expr
            elif is_unknown(value):
                self.known[name] = value
            elif isinstance(value, (Unset, Clash)):
                self.known[name] = value
            else:
                self.known[name] = self.t.clash(value, place, type_, env.places.get(name, place))
        return lambda: self.call(args)

    def call(self, args: dict[str, Expr]) -> Expr:
        """Returns the call of the function, with the parameters that were not dropped; or its body, if this is the only
        call."""
        if self.inlined:
            params, behind = self.inlined
            return wrapped([(params[name], args[name]) for name in params], behind())
        return self.variable(*[args[name] for name in self.params])

    def _first(self, env: Env) -> None:
        self.params = {}
        for name in self.names:
            if name not in env.values:
                self.known[name] = Unset(self.t.place(self.nodes[name]))
                continue
            value = env.values[name]
            sym = self.t.quiet_sym(value)
            if isinstance(sym, Sym):
                self.params[name] = (sym.type, env.places.get(name))
            else:
                self.known[name] = value
        self.first_places = dict(env.places)


class Statements(Base):
    """Translates blocks of statements. Results are expressions, or None behind a problem."""

    def block(self, statements: list[ast.stmt], env: Env, then: Next) -> Tail:
        """Returns the value of statements followed by then(env)."""
        for at, one in enumerate(statements):
            rest = statements[at + 1 :]
            if isinstance(one, ast.Return):
                return self.returned(one, env)
            if isinstance(one, ast.Break):
                return self.frame.jumps[-1][0](env)
            if isinstance(one, ast.Continue):
                return self.frame.jumps[-1][1](env)
            if isinstance(one, ast.If):
                done, result = self.branch(one, rest, env, then)
                if done:
                    return result
            elif isinstance(one, (ast.While, ast.For)):
                done, result = self.loop(one, rest, env, then)
                if done:
                    return result
            elif isinstance(one, ast.Match):
                done, result = self.match(one, rest, env, then)
                if done:
                    return result
            else:
                self.simple(one, env)
        return then(env)

    def simple(self, node: ast.stmt, env: Env) -> None:
        """Translates a statement without control flow."""
        if isinstance(node, ast.Assign):
            value = self.expression(node.value, env)
            for target in node.targets:
                self.assign(target, value, env, node.value)
        elif isinstance(node, ast.AugAssign):
            left = self.expression(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target), env)
            right = self.expression(node.value, env)
            self.assign(node.target, self.binary(node.op, left, right, node), env, node)
        elif isinstance(node, ast.AnnAssign):
            wanted = self.annotation(node.annotation)
            value = self.expression(node.value, env)
            if wanted is not None and not is_unknown(value):
                value = self.of_type(value, wanted, node, f"`{ast.unparse(node.target)}`")
            self.assign(node.target, value, env, node)
        elif isinstance(node, ast.FunctionDef):
            env.values[node.name] = Closure(node, env, self.frame.scope)
            env.places[node.name] = self.place(node)
        elif isinstance(node, ast.Expr):
            if not isinstance(node.value, ast.Constant):
                self.expression(node.value, env)
        elif not isinstance(node, ast.Pass):
            self.fail(
                "P0101",
                f"`{type(node).__name__}` cannot be scripted",
                node,
                "write it with if, while, for and assignments",
            )

    def assign(self, target: ast.AST, value, env: Env, node: ast.AST) -> None:
        """Gives variables a value."""
        if isinstance(target, ast.Name):
            env.values[target.id] = self.bound(target.id, value)
            env.places[target.id] = self.place(target)
            return
        if isinstance(value, Sym):
            value = self.bound("tuple", value)
            value = self.elements(value, len(target.elts), node)
        if is_unknown(value):
            value = [value] * len(target.elts)
        if not isinstance(value, (tuple, list)) or len(value) != len(target.elts):
            count = len(value) if isinstance(value, (tuple, list)) else "no"
            self.fail(
                "P0207",
                f"{len(target.elts)} variables cannot be assigned from {count} values",
                node,
                "give one value for each variable",
            )
            value = [POISON] * len(target.elts)
        for one, part in zip(target.elts, value, strict=True):
            self.assign(one, part, env, node)

    def returned(self, node: ast.Return, env: Env) -> Tail:
        """Returns the value of a return statement, and compares its type with those before it."""
        if node.value is None:
            return self.result_of((), node)
        return self.result_of(self.expression(node.value, env), node.value)

    def result_of(self, value, node: ast.AST) -> Tail:
        frame = self.frame
        value = self.sym(value, node, dtype_for(value, frame.result), frame.result)
        if is_unknown(value):
            return None
        if frame.result is None:
            frame.result, frame.result_place = value.type, self.place(node)
        elif value.type != frame.result:
            first = "declared here" if frame.declared else "returned here"
            self.fail(
                "P0203",
                f"`{frame.name}` returns {an(value.type)} here, and {an(frame.result)} elsewhere",
                node,
                "return values of one type: convert one of them",
                [(frame.result_place, f"{an(frame.result)} is {first}")] if frame.result_place else [],
            )
            return None
        return lambda: value.expr

    # --- branches -----------------------------------------------------------------------------------------------------
    def branch(self, node: ast.If, rest, env: Env, then: Next) -> tuple[bool, Tail]:
        """Translates `if`. Returns true and the value of the whole block, or false if the block goes on behind it."""
        condition = self.condition(node.test, env)
        if isinstance(condition, bool):
            taken = node.body if condition else node.orelse
            return True, self.block([*taken, *rest], env, then)
        if is_unknown(condition):  # goes on, to find further problems
            for body in (node.body, node.orelse):
                inner = env.copy()
                self.in_scope(lambda body=body, inner=inner: self.block(body, inner, lambda e: None))
                env.values.update({name: POISON for name in assigned(body)})
            return False, None
        ways = [(node.body, None), (node.orelse, None)]
        return self.ways(node, ways, rest, env, then, lambda parts: If(condition.expr, *parts))

    def ways(self, node, ways, rest, env: Env, then: Next, build) -> tuple[bool, Tail]:
        """Translates several ways to go on. `ways` are blocks, each with a function that prepares its environment;
        build(expressions) joins their values."""
        everything = [statement for body, _ in ways for statement in body]
        if not jumps(everything):
            self.joined(node, ways, env, build)
            return False, None
        join = Join(self, assigned(everything))
        parts = []
        for body, prepare in ways:
            inner = env.copy()

            def part(body=body, inner=inner, prepare=prepare):
                if prepare:
                    prepare(inner)
                return self.block(body, inner, join)

            parts.append(self.in_scope(part))
        if not join.calls:
            return True, _built(build, parts)
        inner, params = self.behind(join, env, node)
        behind = self.in_scope(lambda: self.block(rest, inner, then))
        whole = _built(build, parts)
        if whole is None or behind is None:
            return True, None
        if join.calls == 1:
            join.inlined = params, behind
            return True, whole
        return True, lambda: Let(join.variable, Function(list(params.values()), behind()), whole())

    def behind(self, join, env: Env, node) -> tuple[Env, dict[str, Var]]:
        """Returns the environment behind a join, and the parameters of its function."""
        inner, params = env.copy(), {}
        for name in join.names:
            inner.places[name] = join.first_places.get(name, self.place(node))
            if name in join.known:
                inner.values[name] = join.known[name]
                join.params.pop(name, None)
            elif name in join.params:
                params[name] = Var(name, join.params[name][0])
                inner.values[name] = Sym(params[name], join.params[name][0])
        return inner, params

    def joined(self, node, ways, env: Env, build) -> None:
        """Translates ways without jumps: an expression that returns the variables that they assigned."""
        ends = []
        for body, prepare in ways:
            inner = env.copy()
            self.bindings.append([])
            if prepare:
                prepare(inner)
            self.block(body, inner, lambda e: None)
            ends.append((self.bindings.pop(), inner))
        names = assigned([statement for body, _ in ways for statement in body])
        kept = [name for name, at in names.items() if self._merge(name, at, [inner for _, inner in ends], env)]
        types = {name: next(v.type for _, e in ends if isinstance(v := e.values[name], Sym)) for name in kept}
        parts = []
        for bound, inner in ends:
            self.bindings.append(bound)
            values = [self.convert(inner.values[name], types[name], name) for name in kept]
            bound = self.bindings.pop()
            if any(not isinstance(value, Sym) for value in values):  # a way that a recursive call leads to
                parts.append(None)
                continue
            exprs = [value.expr for value in values]
            parts.append(wrapped(bound, exprs[0] if len(kept) == 1 else Tuple(exprs)))
        if not kept:
            return
        if any(part is None for part in parts):
            for name in kept:
                env.values[name] = PENDING
            return
        whole = build(parts)
        if len(kept) == 1:
            env.values[kept[0]] = self.computed(whole, types[kept[0]], kept[0])
            return
        result = self.computed(whole, TupleType([types[name] for name in kept]), "after")
        for name, value in zip(kept, self.fields(result), strict=True):
            env.values[name] = self.bound(name, value)

    def _merge(self, name: str, at: ast.AST, ends: list[Env], env: Env) -> bool:
        """Decides what a variable is behind a branch. Returns true if the branch must return it; sets it otherwise."""
        env.places[name] = self.place(at)
        having = [one for one in ends if name in one.values]
        values = [one.values[name] for one in having]
        if len(having) < len(ends):
            env.values[name] = Unset(having[0].places.get(name, self.place(at)))
            return False
        known = [value for value in values if not is_unknown(value)]
        if len(known) < len(values):
            if POISON in values:
                env.values[name] = POISON
                return False
            if not known:
                env.values[name] = PENDING
                return False
        unusable = next((value for value in known if isinstance(value, (Unset, Clash))), None)
        if unusable is not None:
            env.values[name] = unusable
            return False
        if all(value is known[0] for value in known) or _same_static(known):
            env.values[name] = known[0]
            return False
        places = [one.places.get(name, self.place(at)) for one in having]
        syms = self.unified(known, name, places)
        if isinstance(syms, Clash):
            env.values[name] = syms
            return False
        for one, value in zip([e for e in having if not is_unknown(e.values[name])], syms, strict=True):
            one.values[name] = value
        return True

    def unified(self, values: list, name: str, places: list[Place]):
        """Returns values as expressions of one type, or a Clash."""
        first = next((v for v in values if isinstance(v, Sym)), None)
        if first is None:
            floats = any(isinstance(value, float) for value in values)
            first = self.quiet_sym(
                next((v for v in values if isinstance(v, float)), values[0]) if floats else values[0]
            )
        if not isinstance(first, Sym):
            early, late = sorted((places[0], places[-1]), key=lambda place: place.line)
            return Clash(
                "differs between the branches, and is not a value of a program",
                (early, "another one"),
                (late, ""),
                "use it inside the branches",
            )
        out = []
        for value, place in zip(values, places, strict=True):
            made = self.convert(value, first.type, name)
            if not isinstance(made, Sym) or made.type != first.type:
                where = next((p for v, p in zip(values, places, strict=True) if v is not value), place)
                return self.clash(made, where, first.type, place)
            out.append(made)
        return out

    def clash(self, value, first_place: Place | None, first_type, place: Place) -> Clash:
        """A variable with two types."""
        here = an(value.type) if isinstance(value, Sym) else "no value of a program"
        return Clash(
            f"is {here} here, and {an(first_type)} in another branch",
            (first_place or place, f"it is {an(first_type)}"),
            (place, ""),
        )

    def convert(self, value, type_, name: str):
        """Returns a value as an expression; a plain number with the element type that is wanted."""
        if isinstance(value, Sym) or is_unknown(value) or isinstance(value, (Unset, Clash)):
            return value
        return self.quiet_sym(value, dtype_for(value, type_), type_)

    def quiet_sym(self, value, dtype=None, type_=None):
        """Returns a value as an expression, or as it is if it cannot be one. Reports nothing."""
        if isinstance(value, (Unset, Clash)):
            return value
        before = len(self.problems)
        made = self.sym(value, ast.Pass(), dtype, type_)
        if len(self.problems) > before:
            del self.problems[before:]
            return value
        return made

    # --- match --------------------------------------------------------------------------------------------------------
    def match(self, node: ast.Match, rest, env: Env, then: Next) -> tuple[bool, Tail]:
        """Translates `match`."""
        subject = self.expression(node.subject, env)
        subject = self.bound("subject", self.sym(subject, node.subject)) if not is_unknown(subject) else subject
        patterns = (
            [self.pattern(case.pattern, subject.type) for case in node.cases] if isinstance(subject, Sym) else [None]
        )
        if not isinstance(subject, Sym) or any(one is None for one in patterns):
            for case in node.cases:
                inner = env.copy()
                inner.values.update({name: POISON for name in assigned([ast.Match(node.subject, [case])])})
                self.in_scope(lambda case=case, inner=inner: self.block(case.body, inner, lambda e: None))
            env.values.update({name: POISON for name in assigned([node])})
            return (False, None) if not jumps([node], (ast.Return,)) else (True, None)
        clauses = [Clause(pattern, Tuple([])) for pattern, _ in patterns]
        missing = unmatched_case(Match(subject.expr, clauses), self.program.types)
        if missing is not None:
            self.fail("P0210", f"no case matches {missing}", node.subject, f"add a case for {missing}, or case _")
            return True, None

        def prepared(names):
            def prepare(inner):
                for name, (value, place) in names.items():
                    inner.values[name], inner.places[name] = value, place

            return prepare

        ways = [(case.body, prepared(names)) for case, (_, names) in zip(node.cases, patterns, strict=True)]
        return self.ways(
            node,
            ways,
            rest,
            env,
            then,
            lambda parts: Match(
                subject.expr, [Clause(pattern, part) for (pattern, _), part in zip(patterns, parts, strict=True)]
            ),
        )

    def pattern(self, node: ast.pattern, type_):
        """Returns a pattern for a type, and the variables that it binds; None behind a problem."""
        if isinstance(node, ast.MatchAs) and node.pattern is None:
            if node.name is None:
                return PatternWildcard(), {}
            variable = Var(node.name, type_)
            return PatternVar(variable), {node.name: (Sym(variable, type_), self.place(node))}
        if isinstance(node, ast.MatchSequence) and isinstance(type_, TupleType):
            return self._parts(node, node.patterns, type_.fields, PatternTuple, "the tuple")
        if isinstance(node, ast.MatchSequence) and hasattr(type_, "args"):
            return self._list_pattern(node, node.patterns, type_)
        if isinstance(node, ast.MatchClass):
            found, cls = self.frame.scope.find(ast.unparse(node.cls))
            data_type = registered(type_)
            if not found or data_type is None or getattr(cls, "__relay_type__", None) is not data_type:
                return self._wrong_pattern(node, f"`{ast.unparse(node.cls)}` is not a case of {type_}")
            case, constructor = data_type.cases[cls], data_type.constructor(cls)
            by_name = dict(zip(case.fields, node.patterns, strict=False)) | dict(
                zip(node.kwd_attrs, node.kwd_patterns, strict=True)
            )
            wrong = [name for name in by_name if name not in case.fields]
            if wrong:
                return self._wrong_pattern(
                    node, f"{cls.__name__} has no field `{wrong[0]}`, but {', '.join(case.fields)}"
                )
            if len(node.patterns) > len(case.fields):
                fields = f"{len(case.fields)}: {', '.join(case.fields)}"
                return self._wrong_pattern(
                    node, f"the pattern has {len(node.patterns)} fields, and {cls.__name__} has {fields}"
                )
            parts = [by_name.get(name, ast.MatchAs()) for name in case.fields]
            return self._parts(
                node, parts, constructor.inputs, lambda inner: PatternConstructor(constructor, inner), cls.__name__
            )
        return self._wrong_pattern(node, f"the pattern does not fit {an(type_)}")

    def _wrong_pattern(self, node, message: str):
        self.fail("P0211", message, node, "match cases of a relay.data_type, tuples and lists; test numbers with `if`")

    def _parts(self, node, patterns, types, build, what: str):
        if len(patterns) != len(types):
            return self._wrong_pattern(node, f"the pattern has {len(patterns)} fields, and {what} has {len(types)}")
        made = [self.pattern(one, type_) for one, type_ in zip(patterns, types, strict=True)]
        if any(one is None for one in made):
            return None
        names = {name: value for _, inner in made for name, value in inner.items()}
        return build([one for one, _ in made]), names

    def _list_pattern(self, node, patterns, type_):
        """Returns the pattern [a, b, *rest] of a list."""
        nil, cons = self.list_constructors(type_.args[0])
        if not patterns:
            return PatternConstructor(nil, []), {}
        first = patterns[0]
        if isinstance(first, ast.MatchStar):
            if len(patterns) > 1:
                return self._wrong_pattern(node, "the starred pattern must be the last")
            return self.pattern(ast.copy_location(ast.MatchAs(None, first.name), first), type_)
        head, tail = self.pattern(first, type_.args[0]), self._list_pattern(node, patterns[1:], type_)
        if head is None or tail is None:
            return None
        return PatternConstructor(cons, [head[0], tail[0]]), head[1] | tail[1]


def _built(build, parts: list[Tail]) -> Tail:
    """Returns build(expressions) as a tail."""
    return None if any(part is None for part in parts) else lambda: build([part() for part in parts])


def dtype_for(value, type_) -> str | None:
    """Returns the element type for a plain number where a type is wanted: an int becomes a float, not the reverse."""
    wanted = str(getattr(type_, "dtype", "")) if type_ is not None else ""
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not wanted
        or len(type_.shape)
        or wanted == "bool"
    ):
        return None
    return wanted if isinstance(value, int) or wanted.startswith(("float", "bfloat")) else None


def _same_static(values: list) -> bool:
    plain = (bool, int, float, str, type(None))
    return all(isinstance(value, plain) and type(value) is type(values[0]) and value == values[0] for value in values)
