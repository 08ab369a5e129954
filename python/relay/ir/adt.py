"""Data types: constructors, patterns and `match`.

relay.Match(xs, [
    relay.Clause(relay.PatternConstructor(cons, [relay.PatternVar(x), relay.PatternWildcard()]), x),
    relay.Clause(relay.PatternConstructor(nil), relay.const(0)),
])
"""

from .._core import (
    Clause,
    Constructor,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    TypeData,
)

__all__ = [
    "Clause",
    "Constructor",
    "Match",
    "Pattern",
    "PatternConstructor",
    "PatternTuple",
    "PatternVar",
    "PatternWildcard",
    "TypeData",
]
