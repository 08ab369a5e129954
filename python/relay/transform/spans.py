"""Spans, the places of expressions: in the printed program, by number, and with suffixes where calls share one.

mod = relay.transform.AnnotateSpans()(mod)                # call.span is a line and a column of mod.astext()
mod = relay.transform.CapturePostDfsIndexInSpans()(mod)   # call.span.source_name is "index:4:7"
mod = relay.transform.suffixes.tag_suffixes(mod)          # "conv_PART_0", "conv_PART_1"
"""

from __future__ import annotations

from .._core import Call, Expr, Function, IRModule, Span, Var, children, parse, post_order_visit
from ..ir.expr import FIELDS
from ..ir.expr_functor import ExprMutator
from ..ir.pass_infra import Pass, PassInfo, UserPass, run_passes

__all__ = ["AnnotateSpans", "CapturePostDfsIndexInSpans", "tag_suffixes"]


def AnnotateSpans() -> Pass:
    """Sets the span of each expression to its place in the printed program."""

    def run(mod, ctx):
        return run_passes(parse(mod.astext(), "GeneratedSource", None), ["infer_type"])

    return UserPass(run, PassInfo(0, "AnnotateSpans"), False)


class _Placed(ExprMutator):
    """Copies an expression with place(node) as the span of every node for which it returns one."""

    def __init__(self, place):
        super().__init__()
        self._place = place

    def visit(self, expr):
        if expr in self.memo_map:
            return self.memo_map[expr]
        made = super().visit(expr)
        span = self._place(expr)
        fields = FIELDS.get(type(made))
        if span is not None and fields is not None and not isinstance(made, Var):
            made = type(made)(*(getattr(made, name) for name in fields), span=span)
            self.memo_map[expr] = made
        return made


def _dominators(root: Expr, index: dict[Expr, int]) -> dict[int, int]:
    """Returns the dominator of each node, by number: the first node that all paths to the result pass through."""
    users: dict[int, list[int]] = {}
    for node, number in index.items():
        for child in children(node):
            users.setdefault(index[child], []).append(number)
    found: dict[int, int] = {index[root]: index[root]}
    for number in sorted(index.values(), reverse=True):
        for user in users.get(number, []):
            if number not in found:
                found[number] = user
                continue
            a, b = found[number], user
            while a != b:  # numbers grow towards the result
                a, b = (found[a], b) if a < b else (a, found[b])
            found[number] = a
    return found


def _numbered(function: Function) -> Function:
    index: dict[Expr, int] = {}
    post_order_visit(function, lambda e: index.setdefault(e, len(index)))
    above = _dominators(function, index)
    return _Placed(lambda e: Span(f"index:{index[e]}:{above[index[e]]}") if e in index else None).visit(function)


def CapturePostDfsIndexInSpans() -> Pass:
    """Sets the name of every node's span to "index:<number>:<number of the dominator>". Nodes are numbered from 0 in
    each function, in the order of evaluation."""

    def run(mod, ctx):
        out = mod.clone()
        for var, function in mod.functions.items():
            out[var] = _numbered(function)
        return run_passes(out, ["infer_type"])

    return UserPass(run, PassInfo(0, "CapturePostDfsIndexInSpans"), False)


def _tagged(function: Function) -> Function:
    count: dict[str, int] = {}
    given: dict[str, int] = {}

    def note(e):
        if isinstance(e, Call) and e.span is not None:
            count[e.span.source_name] = count.get(e.span.source_name, 0) + 1

    def place(e):
        name = e.span.source_name if isinstance(e, Call) and e.span is not None else None
        if name is None or count.get(name, 0) < 2:
            return e.span if isinstance(e, Call) else None
        given[name] = given.get(name, -1) + 1
        return Span(f"{name}_PART_{given[name]}")

    post_order_visit(function, note)
    return _Placed(place).visit(function)


def tag_suffixes(mod: IRModule) -> IRModule:
    """Returns the module with the suffixes _PART_0, _PART_1, ... on the names of spans that several calls share."""
    out = mod.clone()
    for var, function in mod.functions.items():
        out[var] = _tagged(function)
    return run_passes(out, ["infer_type"])
