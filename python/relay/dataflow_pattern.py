"""Dataflow patterns: descriptions of parts of a program, for matching, rewriting and partitioning.

    from relay.dataflow_pattern import is_op, wildcard, rewrite, DFPatternCallback

    conv = is_op("nn.conv2d")(wildcard(), is_constant())
    conv.optional(lambda x: is_op("nn.relu")(x)).match(expr)

    class DropDoubleRelu(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.x = wildcard()
            self.pattern = is_op("nn.relu")(is_op("nn.relu")(self.x))

        def callback(self, pre, post, node_map):
            return relay.nn.relu(node_map[self.x][0])

    expr = rewrite(DropDoubleRelu(), expr)

A pattern object stands for one expression: a pattern that is used twice must match the same expression in both places.
See docs/patterns.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from . import _core
from ._core import Expr, IRModule, Op

__all__ = [
    "AltPattern",
    "AttrPattern",
    "CallPattern",
    "ConstantPattern",
    "DFPattern",
    "DFPatternCallback",
    "DataTypePattern",
    "DominatorPattern",
    "ExprPattern",
    "FunctionPattern",
    "GuardPattern",
    "IfPattern",
    "LetPattern",
    "ShapePattern",
    "TupleGetItemPattern",
    "TuplePattern",
    "TypePattern",
    "VarPattern",
    "WildcardPattern",
    "dominates",
    "has_attr",
    "has_dtype",
    "has_shape",
    "has_type",
    "is_constant",
    "is_expr",
    "is_if",
    "is_let",
    "is_op",
    "is_tuple",
    "is_tuple_get_item",
    "is_var",
    "match",
    "partition",
    "rewrite",
    "wildcard",
]


def _core_of(pattern: DFPattern):
    if not isinstance(pattern, DFPattern):
        raise TypeError(f"{pattern!r} is not a pattern: create patterns with is_op, is_var, is_constant, wildcard, ..")
    return pattern._core


class DFPattern:
    """A pattern. p(x, y) matches a call of an operator or function that p matches, and p | q matches either. + - * /
    match calls of the operators."""

    def __init__(self, core):
        self._core = core

    def __call__(self, *args: DFPattern) -> CallPattern:
        if len(args) == 1 and args[0] is None:
            return CallPattern(self, None)
        return CallPattern(self, list(args))

    def __or__(self, other: DFPattern) -> AltPattern:
        return AltPattern(self, other)

    def __add__(self, other: DFPattern) -> CallPattern:
        return is_op("add")(self, other)

    def __sub__(self, other: DFPattern) -> CallPattern:
        return is_op("subtract")(self, other)

    def __mul__(self, other: DFPattern) -> CallPattern:
        return is_op("multiply")(self, other)

    def __truediv__(self, other: DFPattern) -> CallPattern:
        return is_op("divide")(self, other)

    def has_attr(self, attrs: dict) -> AttrPattern:
        """Returns this pattern, restricted to calls, functions or operators with these attributes."""
        return AttrPattern(self, attrs)

    def has_type(self, ttype) -> TypePattern:
        """Returns this pattern, restricted to expressions of this type."""
        return TypePattern(self, ttype)

    def has_dtype(self, dtype: str) -> DataTypePattern:
        """Returns this pattern, restricted to tensors of this element type."""
        return DataTypePattern(self, dtype)

    def has_shape(self, shape) -> ShapePattern:
        """Returns this pattern, restricted to tensors of this shape."""
        return ShapePattern(self, shape)

    def where(self, check: Callable[[Expr], bool]) -> GuardPattern:
        """Returns this pattern, restricted to expressions for which check(expr) is true."""
        return GuardPattern(self, check)

    def optional(self, option_constructor: Callable[[DFPattern], DFPattern]) -> AltPattern:
        """Returns this pattern or the one that the function builds around it: conv.optional(lambda x:
        is_op("nn.relu")(x))."""
        return self | option_constructor(self)

    def dominates(self, parent: DFPattern, path: DFPattern | None = None) -> DominatorPattern:
        """Returns this pattern, if every path back from it passes through `path` to `parent`."""
        return DominatorPattern(parent, wildcard() if path is None else path, self)

    def match(self, expr: Expr) -> bool:
        """Returns true if the expression matches."""
        return match(self, expr)

    def partition(self, expr: Expr, attrs: dict | None = None, check: Callable[[Expr], bool] | None = None) -> Expr:
        """Returns the expression with each match replaced by a call of a function; see partition()."""
        return partition(self, expr, attrs, check)


class WildcardPattern(DFPattern):
    """A pattern that matches any expression."""

    def __init__(self):
        super().__init__(_core.pattern_wildcard())

    def redirect_to(self, pat: DFPattern) -> None:
        """Makes this wildcard stand for whatever `pat` matches, independently at each use. If `pat` contains this
        wildcard, the pattern repeats:

            again = wildcard()
            chain = is_op("nn.relu")(again)
            again.redirect_to(chain | is_op("nn.conv2d")(wildcard(), wildcard()))
        """
        _core.pattern_redirect(self._core, _core_of(pat))


class ExprPattern(DFPattern):
    """Matches this expression, up to the names of bound variables."""

    def __init__(self, expr: Expr):
        super().__init__(_core.pattern_expr(expr))
        self.expr = expr


class VarPattern(DFPattern):
    """Matches a variable of this name, or any variable without a name."""

    def __init__(self, name_hint: str = ""):
        super().__init__(_core.pattern_var(name_hint))
        self.name_hint = self.name = name_hint


class ConstantPattern(DFPattern):
    """Matches any constant."""

    def __init__(self):
        super().__init__(_core.pattern_constant())


class CallPattern(DFPattern):
    """Matches a call. args=None allows any arguments."""

    def __init__(self, op: DFPattern, args: list[DFPattern] | None):
        super().__init__(_core.pattern_call(_core_of(op), _cores(args)))
        self.op, self.args = op, args


class FunctionPattern(DFPattern):
    """Matches a function. params=None allows any parameters."""

    def __init__(self, params: list[DFPattern] | None, body: DFPattern):
        super().__init__(_core.pattern_function(_cores(params), _core_of(body)))
        self.params, self.body = params, body


class IfPattern(DFPattern):
    """Matches if (cond) { true_branch } else { false_branch }."""

    def __init__(self, cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern):
        super().__init__(_core.pattern_if(_core_of(cond), _core_of(true_branch), _core_of(false_branch)))
        self.cond, self.true_branch, self.false_branch = cond, true_branch, false_branch


class LetPattern(DFPattern):
    """Matches let var = value; body."""

    def __init__(self, var: DFPattern, value: DFPattern, body: DFPattern):
        super().__init__(_core.pattern_let(_core_of(var), _core_of(value), _core_of(body)))
        self.var, self.value, self.body = var, value, body


class TuplePattern(DFPattern):
    """Matches a tuple. fields=None allows any fields."""

    def __init__(self, fields: list[DFPattern] | None = None):
        super().__init__(_core.pattern_tuple(_cores(fields)))
        self.fields = fields


class TupleGetItemPattern(DFPattern):
    """Matches a field of a tuple. An index of None or -1 allows any field."""

    def __init__(self, tuple_value: DFPattern, index: int | None = None):
        super().__init__(_core.pattern_get(_core_of(tuple_value), -1 if index is None else index))
        self.tuple, self.index = tuple_value, index


class AltPattern(DFPattern):
    """Matches either of two patterns."""

    def __init__(self, left: DFPattern, right: DFPattern):
        super().__init__(_core.pattern_either(_core_of(left), _core_of(right)))
        self.left, self.right = left, right


class TypePattern(DFPattern):
    """Matches an expression of this type."""

    def __init__(self, pattern: DFPattern, ttype):
        super().__init__(_core.pattern_type(_core_of(pattern), ttype))
        self.pattern, self.type = pattern, ttype


class DataTypePattern(DFPattern):
    """Matches a tensor of this element type."""

    def __init__(self, pattern: DFPattern, dtype: str):
        super().__init__(_core.pattern_dtype(_core_of(pattern), dtype))
        self.pattern, self.dtype = pattern, dtype


class ShapePattern(DFPattern):
    """Matches a tensor of this shape."""

    def __init__(self, pattern: DFPattern, shape):
        super().__init__(_core.pattern_shape(_core_of(pattern), shape))
        self.pattern, self.shape = pattern, shape


class AttrPattern(DFPattern):
    """Matches a call, a function or an operator with these attributes. An operator has {"TOpPattern": its class}."""

    def __init__(self, pattern: DFPattern, attrs: dict):
        super().__init__(_core.pattern_attrs(_core_of(pattern), attrs))
        self.pattern, self.attrs = pattern, attrs


class GuardPattern(DFPattern):
    """Matches an expression that a function accepts. The function is called after everything below the expression has
    matched."""

    def __init__(self, pattern: DFPattern, check: Callable[[Expr], bool]):
        super().__init__(_core.pattern_where(_core_of(pattern), check))
        self.pattern, self.check = pattern, check


class DominatorPattern(DFPattern):
    """Matches a child from which every path back leads through expressions that match `path` to a single parent."""

    def __init__(self, parent: DFPattern, path: DFPattern, child: DFPattern):
        super().__init__(_core.pattern_dominates(_core_of(parent), _core_of(path), _core_of(child)))
        self.parent, self.path, self.child = parent, path, child


def _cores(patterns):
    return None if patterns is None else [_core_of(p) for p in patterns]


def wildcard() -> WildcardPattern:
    """Matches any expression."""
    return WildcardPattern()


def is_var(name: str = "") -> VarPattern:
    """Matches a variable of this name, or any variable without a name."""
    return VarPattern(name)


def is_constant() -> ConstantPattern:
    """Matches any constant."""
    return ConstantPattern()


def is_expr(expr: Expr) -> ExprPattern:
    """Matches this expression."""
    return ExprPattern(expr)


def is_op(op_name: str) -> ExprPattern:
    """Matches an operator. is_op("add")(x, y) matches a call of it."""
    return ExprPattern(Op.get(op_name))


def is_tuple(fields: list[DFPattern] | None = None) -> TuplePattern:
    """Matches a tuple of these fields, or any tuple without `fields`."""
    return TuplePattern(fields)


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> TupleGetItemPattern:
    """Matches a field of a tuple, or any field without an index."""
    return TupleGetItemPattern(tuple_value, index)


def is_if(cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern) -> IfPattern:
    """Matches an `if`."""
    return IfPattern(cond, true_branch, false_branch)


def is_let(var: DFPattern, value: DFPattern, body: DFPattern) -> LetPattern:
    """Matches a `let`."""
    return LetPattern(var, value, body)


def has_type(ttype, pattern: DFPattern | None = None) -> TypePattern:
    """Matches an expression of this type."""
    return TypePattern(pattern or wildcard(), ttype)


def has_dtype(dtype: str, pattern: DFPattern | None = None) -> DataTypePattern:
    """Matches a tensor of this element type."""
    return DataTypePattern(pattern or wildcard(), dtype)


def has_shape(shape, pattern: DFPattern | None = None) -> ShapePattern:
    """Matches a tensor of this shape."""
    return ShapePattern(pattern or wildcard(), shape)


def has_attr(attrs: dict, pattern: DFPattern | None = None) -> AttrPattern:
    """Matches a call, function or operator with these attributes."""
    return AttrPattern(pattern or wildcard(), attrs)


def dominates(parent: DFPattern, path: DFPattern, child: DFPattern) -> DominatorPattern:
    """Matches a child from which every path back leads through expressions that match `path` to a single parent."""
    return DominatorPattern(parent, path, child)


class NodeMap(Mapping):
    """The expressions of a match by pattern. node_map[p] is a list with one expression, or with one for each repetition
    of a redirected wildcard."""

    def __init__(self, found: dict):
        self._found = found

    def __getitem__(self, pattern: DFPattern) -> list[Expr]:
        if pattern not in self:
            raise KeyError(
                f"this match has no such {type(pattern).__name__}: another alternative matched, or the pattern of the "
                "rule does not contain it"
            )
        return self._found[_core_of(pattern)]

    def __contains__(self, pattern) -> bool:
        return _core_of(pattern) in self._found

    def __iter__(self):
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


class DFPatternCallback:
    """A rule of rewrite(): self.pattern, and callback(), which returns the replacement of a match.

    require_type: `pre` has a checked_type. rewrite_once: apply the rule in one sweep only.
    """

    def __init__(self, require_type: bool = False, rewrite_once: bool = False):
        self.pattern: DFPattern | None = None
        self.require_type = require_type
        self.rewrite_once = rewrite_once

    def callback(self, pre: Expr, post: Expr, node_map: NodeMap) -> Expr:
        """Returns the replacement of a match. `pre` is the match before this sweep over the program, and `post` is the
        same with the replacements below it. `node_map` refers to `post`. Return `post` to leave the match unchanged."""
        raise NotImplementedError(f"{type(self).__name__} has no callback(pre, post, node_map)")

    def rewrite(self, expr: Expr) -> Expr:
        """Returns the expression after this rule."""
        return rewrite(self, expr)


def match(pattern: DFPattern, expr: Expr) -> bool:
    """Returns true if the expression matches the pattern."""
    return _core.pattern_match(_core_of(pattern), expr) is not None


def rewrite(callbacks: DFPatternCallback | list[DFPatternCallback], expr: Expr, mod: IRModule | None = None) -> Expr:
    """Returns the expression after the rules, which are applied one after another until none changes it.

    In one sweep of a rule, matches do not overlap (those nearer to the result win), and no value inside a match is used
    outside it. `mod` provides the types of global functions.
    """
    rules = []
    for one in [callbacks] if isinstance(callbacks, DFPatternCallback) else callbacks:
        if not isinstance(one, DFPatternCallback):
            raise TypeError(f"{one!r} is not a rule: give objects of classes that inherit from DFPatternCallback")
        if one.pattern is None:
            raise ValueError(f"{type(one).__name__} has no pattern: set self.pattern in its constructor")

        def replace(pre, post, found, one=one):
            out = one.callback(pre, post, NodeMap(found))
            if not isinstance(out, Expr) and not hasattr(out, "__relay_expr__"):
                raise TypeError(
                    f"the callback of {type(one).__name__} returned {type(out).__name__}, not an expression: return "
                    "`post` to leave the match unchanged"
                )
            return out

        rules.append((_core_of(one.pattern), replace, one.rewrite_once, one.require_type))
    return _core.pattern_rewrite(rules, expr, mod)


def partition(
    pattern: DFPattern, expr: Expr, attrs: dict | None = None, check: Callable[[Expr], bool] | None = None
) -> Expr:
    """Returns the expression with each match that check() accepts replaced by a call of a function.

    Wildcards and variables of the pattern become parameters. The function has the attributes `attrs` and
    PartitionedFromPattern.
    """
    return _core.pattern_partition(_core_of(pattern), expr, attrs, check or (lambda e: True))
