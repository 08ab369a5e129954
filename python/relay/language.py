"""Programs as text, and passes over them."""

from __future__ import annotations

from . import _core


def parse(text: str, name: str = "<text>") -> _core.Module:
    """The module that the text is. `name` is what diagnostics call it."""
    return _core.parse(text, name)


def transform(module: _core.Module, passes: list[str] | str, *, options: dict[str, int] | None = None) -> _core.Module:
    """The module after the passes in the given order; types are inferred before the first and after each.

    `options` of passes, as {"fuse_ops.max_group": 8}. See relay.passes().
    """
    return _core.transform(module, [passes] if isinstance(passes, str) else list(passes), options or {})
