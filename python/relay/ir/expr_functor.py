"""Visitors over expressions. Subclass one, and define visit_call, visit_let, ... for the nodes you want to handle.

    class CountConvolutions(relay.ExprVisitor):
        count = 0
        def visit_call(self, call):
            self.count += call.op == relay.op.get("nn.conv2d")
            super().visit_call(call)

    class Negate(relay.ExprMutator):              # returns a new expression that shares the unchanged parts
        def visit_call(self, call):
            return -super().visit_call(call)

Each node is visited once; later visits return the first result. Programs may be deep: a chain of 100,000 calls is
visited in the order of its text, parents before children.
"""

from __future__ import annotations

import contextvars
import sys
import threading

from .. import _core
from .._core import (
    Call,
    Clause,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from .visitor_methods import check_names, returned

_METHODS = {
    Constant: "visit_constant",
    Tuple: "visit_tuple",
    Var: "visit_var",
    GlobalVar: "visit_global_var",
    Function: "visit_function",
    Call: "visit_call",
    Let: "visit_let",
    If: "visit_if",
    TupleGetItem: "visit_tuple_getitem",
    RefCreate: "visit_ref_create",
    RefRead: "visit_ref_read",
    RefWrite: "visit_ref_write",
    Match: "visit_match",
    Constructor: "visit_constructor",
    Op: "visit_op",
}

_KNOWN = {*_METHODS.values(), "visit", "visit_type", "visit_pattern"}

_FRAMES = 1 << 30  # effectively unlimited
_RESERVE = 256 << 10  # bytes of C stack to keep in reserve
_STACK = 256 << 20  # bytes of C stack of a further thread, of which memory is needed only where it is used


class _Deep:
    """Lifts the limit on nested Python calls inside the `with` block. The limit is shared by all threads; the last
    thread to leave restores it."""

    def __init__(self):
        self._lock, self._inside, self._before = threading.Lock(), 0, 0

    def __enter__(self):
        with self._lock:
            if self._inside == 0:
                self._before = sys.getrecursionlimit()
                sys.setrecursionlimit(max(self._before, _FRAMES))
            self._inside += 1

    def __exit__(self, *exception):
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                sys.setrecursionlimit(self._before)


deep_calls = _Deep()
_making_threads = threading.Lock()


def _on_another_stack(function, *args):
    """Calls a function in a thread of its own, with the context variables of this one, and waits for the result."""
    done = []

    def call():
        try:
            done.append((function(*args), None))
        except BaseException as error:
            done.append((None, error))

    thread = threading.Thread(target=contextvars.copy_context().run, args=(call,), daemon=True)
    with _making_threads:
        before = threading.stack_size(_STACK)
        try:
            thread.start()
        except RuntimeError as error:
            raise RecursionError("the expression is nested too deeply for the memory of this process") from error
        finally:
            threading.stack_size(before)
    thread.join()
    result, error = done[0]
    if error is not None:
        raise error
    return result


class ExprFunctor:
    """Calls the method for the kind of an expression. visit() keeps the result of each node in memo_map."""

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        check_names(cls, _KNOWN)

    def __init__(self):
        self.memo_map: dict[Expr, object] = {}
        self._depth = 0

    def visit(self, expr: Expr):
        """Returns the result for an expression."""
        memo = self.memo_map
        if expr in memo:
            return memo[expr]
        if self._depth == 0:
            with deep_calls:
                return self._visit(expr, memo)
        return self._visit(expr, memo)

    def _visit(self, expr, memo):
        # Calls between Python functions use the C stack if they pass through a function of C, such as map(), and if
        # another package evaluates frames, such as torch.compile.
        if self._depth & 15 == 15 and _core.stack_left() < _RESERVE:
            return _on_another_stack(self._visit, expr, memo)
        self._depth += 1
        try:
            name = _METHODS.get(type(expr))
            if name is None:
                raise TypeError(f"expected an expression, got {type(expr).__name__}")
            method = getattr(self, name, None)
            if method is None:
                raise NotImplementedError(f"{type(self).__name__} has no {name}()")
            result = self._checked(name, method(expr))
        finally:
            self._depth -= 1
        memo[expr] = result
        return result

    def _checked(self, name, result):
        return result

    def visit_type(self, type_):
        """Visits a type annotation: of a variable, a function or a call."""
        return type_


class ExprVisitor(ExprFunctor):
    """Visits every node, for analyses that collect something on the way."""

    def visit_constant(self, const):
        pass

    def visit_tuple(self, tup):
        for field in tup.fields:
            self.visit(field)

    def visit_var(self, var):
        pass

    def visit_global_var(self, gvar):
        pass

    def visit_function(self, fn):
        for param in fn.params:
            self.visit(param)
        self.visit(fn.body)

    def visit_call(self, call):
        self.visit(call.op)
        for arg in call.args:
            self.visit(arg)

    def visit_let(self, let):
        self.visit(let.var)
        self.visit(let.value)
        self.visit(let.body)

    def visit_if(self, i):
        self.visit(i.cond)
        self.visit(i.true_branch)
        self.visit(i.false_branch)

    def visit_tuple_getitem(self, t):
        self.visit(t.tuple_value)

    def visit_ref_create(self, r):
        self.visit(r.value)

    def visit_ref_read(self, r):
        self.visit(r.ref)

    def visit_ref_write(self, r):
        self.visit(r.ref)
        self.visit(r.value)

    def visit_match(self, m):
        self.visit(m.data)
        for clause in m.clauses:
            self.visit_pattern(clause.lhs)
            self.visit(clause.rhs)

    def visit_pattern(self, pattern):
        """Visits the variables of a pattern."""
        if isinstance(pattern, PatternVar):
            self.visit(pattern.var)
        elif isinstance(pattern, (PatternConstructor, PatternTuple)):
            for inner in pattern.patterns:
                self.visit_pattern(inner)

    def visit_constructor(self, c):
        pass

    def visit_op(self, op):
        pass


class ExprMutator(ExprFunctor):
    """Returns a new expression. Each method rebuilds its node from the results for its parts, or keeps the node if no
    part changed."""

    def _checked(self, name, result):
        return returned(self, name, result, "an expression (the node itself to keep it)")

    def visit_constant(self, const):
        return const

    def visit_tuple(self, tup):
        return _rebuilt(tup, tup.fields, [self.visit(field) for field in tup.fields], Tuple)

    def visit_var(self, var):
        return var

    def visit_global_var(self, gvar):
        return gvar

    def visit_function(self, fn):
        params = [self.visit(param) for param in fn.params]
        body = self.visit(fn.body)
        if _same([*fn.params, fn.body], [*params, body]):
            return fn
        return Function(params, body, fn.ret_type, fn.type_params, fn.attrs, fn.span)

    def visit_call(self, call):
        op = self.visit(call.op)
        args = [self.visit(arg) for arg in call.args]
        if _same([call.op, *call.args], [op, *args]):
            return call
        return Call(op, args, call.attrs, call.type_args, call.span)

    def visit_let(self, let):
        var, value, body = self.visit(let.var), self.visit(let.value), self.visit(let.body)
        return _rebuilt(let, [let.var, let.value, let.body], [var, value, body], lambda parts: Let(*parts))

    def visit_if(self, i):
        parts = [i.cond, i.true_branch, i.false_branch]
        return _rebuilt(i, parts, [self.visit(part) for part in parts], lambda new: If(*new))

    def visit_tuple_getitem(self, t):
        return _rebuilt(t, [t.tuple_value], [self.visit(t.tuple_value)], lambda new: TupleGetItem(new[0], t.index))

    def visit_ref_create(self, r):
        return _rebuilt(r, [r.value], [self.visit(r.value)], lambda new: RefCreate(*new))

    def visit_ref_read(self, r):
        return _rebuilt(r, [r.ref], [self.visit(r.ref)], lambda new: RefRead(*new))

    def visit_ref_write(self, r):
        return _rebuilt(r, [r.ref, r.value], [self.visit(r.ref), self.visit(r.value)], lambda new: RefWrite(*new))

    def visit_match(self, m):
        data = self.visit(m.data)
        clauses = [(self.visit_pattern(clause.lhs), self.visit(clause.rhs)) for clause in m.clauses]
        old = [part for clause in m.clauses for part in (clause.lhs, clause.rhs)]
        if _same([m.data, *old], [data, *(part for clause in clauses for part in clause)]):
            return m
        return Match(data, [Clause(lhs, rhs) for lhs, rhs in clauses], m.complete)

    def visit_pattern(self, pattern):
        """Returns the pattern with its variables visited."""
        if isinstance(pattern, PatternVar):
            var = self.visit(pattern.var)
            return pattern if var is pattern.var else PatternVar(var)
        if isinstance(pattern, (PatternConstructor, PatternTuple)):
            inner = [self.visit_pattern(p) for p in pattern.patterns]
            if _same(pattern.patterns, inner):
                return pattern
            if isinstance(pattern, PatternTuple):
                return PatternTuple(inner)
            return PatternConstructor(pattern.constructor, inner)
        return pattern

    def visit_constructor(self, c):
        return c

    def visit_op(self, op):
        return op


def _same(old, new) -> bool:
    return all(a is b for a, b in zip(old, new, strict=True))


def _rebuilt(node, old, new, build):
    return node if _same(old, new) else build(new)
