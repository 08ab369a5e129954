"""Passes whose results have TVM's form: values that several scopes use are bound around these scopes, and parts of
joined values are strided_slice."""

from __future__ import annotations

import relay as _relay
from relay import Call, Expr, ExprMutator, Function, If, Let, Match, Op, Var
from relay import transform as _ours
from relay.analysis import post_order_visit
from relay.transform import Pass, PassInfo, UserPass


# --- basic blocks -----------------------------------------------------------------------------------------------------
class _Scope:
    """A part of a function with its own bindings: its body, a branch, a clause, or the body of an inner function."""

    def __init__(self, parent: _Scope | None):
        self.parent = parent
        self.depth = 0 if parent is None else parent.depth + 1
        self.bindings: list[tuple[Var, Expr]] = []


def _common(a: _Scope, b: _Scope) -> _Scope:
    while a is not b:
        if a.depth < b.depth:
            a, b = b, a
        a = a.parent
    return a


def _inner(e: Expr) -> list[Expr]:
    """Returns the inner scopes of a node."""
    if isinstance(e, If):
        return [e.true_branch, e.false_branch]
    if isinstance(e, Match):
        return [clause.rhs for clause in e.clauses]
    return [e.body] if isinstance(e, Function) else []


def _outer(e: Expr) -> list[Expr]:
    if isinstance(e, If):
        return [e.cond]
    if isinstance(e, Match):
        return [e.data]
    return [] if isinstance(e, Function) else _relay._core.children(e)


class _Blocks(ExprMutator):
    """Names the shared values of a function that inner scopes use."""

    def __init__(self, function: Function):
        super().__init__()
        order: list[Expr] = []
        post_order_visit(function, order.append)
        self._scope_of: dict[Expr, _Scope] = {function: _Scope(None)}
        self._inside: dict[Expr, list[_Scope]] = {}
        self._shared: set[Expr] = set()
        for e in reversed(order):  # users first
            scope = self._scope_of[e]
            self._inside[e] = [_Scope(scope) for _ in _inner(e)]
            parts = [(child, scope) for child in _outer(e)] + list(zip(_inner(e), self._inside[e], strict=True))
            for child, around in parts:
                known = self._scope_of.get(child)
                self._scope_of[child] = around if known is None else _common(known, around)
        for e in order:
            parts = [(child, self._scope_of[e]) for child in _outer(e)]
            for child, around in parts + list(zip(_inner(e), self._inside[e], strict=True)):
                if self._scope_of[child] is not around and not isinstance(
                    child, (Var, Op, _relay.Constant, _relay.GlobalVar, _relay.Constructor)
                ):
                    self._shared.add(child)

    def visit(self, expr):
        if expr in self.memo_map:
            return self.memo_map[expr]
        made = super().visit(expr)
        if expr in self._shared and not isinstance(made, Var):
            name = Var("x")
            self._scope_of[expr].bindings.append((name, made))
            self.memo_map[expr] = made = name
        return made

    def _block(self, body: Expr, scope: _Scope) -> Expr:
        out = self.visit(body)
        for name, value in reversed(scope.bindings):
            out = Let(name, value, out)
        return out

    def visit_function(self, fn):
        if fn.attrs.get("Primitive"):
            return fn
        body = self._block(fn.body, self._inside[fn][0])
        return Function(fn.params, body, fn.ret_type, fn.type_params, fn.attrs)

    def visit_if(self, iff):
        cond = self.visit(iff.cond)
        then, other = (self._block(e, s) for e, s in zip(_inner(iff), self._inside[iff], strict=True))
        return If(cond, then, other)

    def visit_match(self, m):
        data = self.visit(m.data)
        bodies = [self._block(e, s) for e, s in zip(_inner(m), self._inside[m], strict=True)]
        clauses = [_relay.Clause(c.lhs, body) for c, body in zip(m.clauses, bodies, strict=True)]
        return Match(data, clauses, m.complete)


def ToBasicBlockNormalForm() -> Pass:
    """Names values that inner scopes of their common scope use."""

    def run(mod, ctx):
        out = mod.clone()
        for var, function in mod.functions.items():
            out[var] = _Blocks(function).visit(function)
        return _relay.run_passes(out, ["infer_type"])

    return UserPass(run, PassInfo(1, "ToBasicBlockNormalForm"), False)


def ToANormalForm() -> Pass:
    """Names every value, in the innermost scope around all of its uses. Values that both branches of an If use are
    computed before it. (relay.transform.ToANormalForm computes them in each branch that needs them.)"""
    inner = _ours.ToANormalForm()

    def run(mod, ctx):
        return inner.run(ToBasicBlockNormalForm().run(mod, ctx), ctx)

    return UserPass(run, inner.info, False)


# --- parts of what was joined -----------------------------------------------------------------------------------------
class _Slices(ExprMutator):
    """Replaces parts of splits that a pass made by slices."""

    def __init__(self, before: set[Expr]):
        super().__init__()
        self._before = before

    def visit_tuple_getitem(self, get):
        split = get.tuple_value
        made = super().visit_tuple_getitem(get)
        if not isinstance(split, Call) or split.op != _relay.op.get("split") or split in self._before:
            return made
        sections, axis = split.attrs.indices_or_sections, split.attrs.axis
        if isinstance(sections, int):
            return made
        shape = split.args[0].checked_type.shape
        bounds = [0, *sections, shape[axis]]
        begin, size = [0] * (axis + 1), [-1] * (axis + 1)
        begin[axis], size[axis] = bounds[get.index], bounds[get.index + 1] - bounds[get.index]
        return _relay.strided_slice(self.visit(split.args[0]), begin, size, [1] * (axis + 1), slice_mode="size")


def _with_slices(make):
    def run(*args, **named) -> Pass:
        inner = make(*args, **named)

        def sliced(mod, ctx):
            before: set[Expr] = set()
            for function in mod.functions.values():
                post_order_visit(function, before.add)
            out = inner.run(mod, ctx)
            for var, function in out.functions.items():
                out[var] = _Slices(before).visit(function)
            return _relay.run_passes(out, ["infer_type"])

        return UserPass(sliced, inner.info, False)

    run.__doc__ = f"{make.__doc__} strided_slice extracts its parts."
    run.__name__ = make.__name__
    return run


CombineParallelConv2D = _with_slices(_ours.CombineParallelConv2D)
CombineParallelBatchMatmul = _with_slices(_ours.CombineParallelBatchMatmul)


class _Stacks(ExprMutator):
    """Replaces the stretched data of a batch of products by a stack of copies."""

    def visit_call(self, call):
        made = super().visit_call(call)
        if call.op != _relay.op.get("nn.batch_matmul") or made is call and not self._stretched(call):
            return made
        if not self._stretched(call):
            return made
        count = call.args[1].checked_type.shape[0]
        data = self.visit(call.args[0].args[0])
        return Call(call.op, [_relay.stack([data] * count, axis=0), made.args[1]], call.attrs)

    @staticmethod
    def _stretched(call) -> bool:
        data = call.args[0]
        return isinstance(data, Call) and data.op == _relay.op.get("expand_dims") and data.attrs.axis == 0


def CombineParallelDense(min_num_branches: int = 3, to_batch: bool = True) -> Pass:
    """Merges dense layers of one input: into a batch of products, or into one wide layer if to_batch is False."""
    if not to_batch:
        return _with_slices(_ours.CombineParallelDense)(min_num_branches, False)
    inner = _ours.CombineParallelDense(min_num_branches, True)

    def run(mod, ctx):
        out = inner.run(mod, ctx)
        for var, function in out.functions.items():
            out[var] = _Stacks().visit(function)
        return _relay.run_passes(out, ["infer_type"])

    return UserPass(run, inner.info, False)


def BatchingOps() -> Pass:
    """Runs the three CombineParallel passes, if the level of the context enables them."""
    return _ours.Sequential(
        [CombineParallelConv2D(), CombineParallelDense(), CombineParallelBatchMatmul()], name="BatchingOps"
    )


# --- parts of a concatenation -----------------------------------------------------------------------------------------
class _Groups(ExprMutator):
    """Replaces a concatenation by one of concatenations, each with as many arguments as a kernel may have."""

    def __init__(self, most: int):
        super().__init__()
        self._most = most

    def visit_call(self, call):
        made = super().visit_call(call)
        parts = call.args[0] if call.op == _relay.op.get("concatenate") else None
        if not isinstance(parts, _relay.Tuple) or sum(map(_arguments, parts.fields)) <= self._most:
            return made
        groups: list[list[Expr]] = [[]]
        room = self._most
        for before, part in zip(parts.fields, made.args[0].fields, strict=True):
            if room < _arguments(before) and groups[-1]:
                groups.append([])
                room = self._most
            groups[-1].append(part)
            room -= _arguments(before)
        if len(groups) == len(parts.fields):
            return made
        joined = [_relay.annotation.stop_fusion(Call(call.op, [_relay.Tuple(g)], call.attrs)) for g in groups]
        return Call(call.op, [_relay.Tuple(joined)], call.attrs)


def _arguments(part: Expr) -> int:
    """Returns the number of kernel arguments of a tensor: its elements, and each unknown size."""
    return 1 + sum(not isinstance(size, int) for size in part.checked_type.shape)


def SplitArgs(max_function_args: int) -> Pass:
    """Splits concatenations of more tensors into several, each followed by annotation.stop_fusion."""

    def run(mod, ctx):
        out = _relay.run_passes(mod, ["infer_type"])
        for var, function in out.functions.items():
            out[var] = _Groups(max_function_args).visit(function)
        return _relay.run_passes(out, ["infer_type"])

    return UserPass(run, PassInfo(1, "SplitArgs"), False)


# --- closures ---------------------------------------------------------------------------------------------------------
def LambdaLift() -> Pass:
    """Turns inner functions into global ones, which are marked as closures."""
    inner = _ours.LambdaLift()

    def run(mod, ctx):
        out = inner.run(mod, ctx)
        before = {var.name_hint for var in mod.get_global_vars()}
        for var, function in out.functions.items():
            if var.name_hint not in before:
                out[var] = function.with_attr("Closure", 1)
        return _relay.run_passes(out, ["infer_type"])

    return UserPass(run, inner.info, False)


__all__ = [
    "BatchingOps",
    "CombineParallelBatchMatmul",
    "CombineParallelConv2D",
    "CombineParallelDense",
    "LambdaLift",
    "SplitArgs",
    "ToANormalForm",
    "ToBasicBlockNormalForm",
]
