"""Checks of the methods that subclasses of visitors define."""

from __future__ import annotations

import difflib
import warnings


def check_names(cls: type, known: set[str]) -> None:
    """Warns about methods named visit_... that are never called although a similar name exists."""
    for name in vars(cls):
        if not name.lower().startswith("visit") or name in known or any(hasattr(base, name) for base in cls.__bases__):
            continue
        near = difflib.get_close_matches(name.lower(), known, 1, 0.8)
        if near:
            warnings.warn(
                f"{cls.__name__}.{name}() is never called: did you mean {near[0]}()?", SyntaxWarning, stacklevel=4
            )


def returned(visitor, name: str, result, wanted: str):
    """Returns the result of a mutator's method, and refuses None."""
    if result is None:
        raise TypeError(f"{type(visitor).__name__}.{name}() returned nothing: it must return {wanted}")
    return result
