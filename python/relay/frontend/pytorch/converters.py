"""User-defined converters, for operators that the table lacks: those of torch.library, or of ATen."""

from __future__ import annotations

import contextlib

import torch

from ...errors import wrong_input
from . import apart, table
from .conversion import Conversion, Refused


def _overloads(name: str) -> list:
    space, _, rest = name.partition("::")
    packet = getattr(getattr(torch.ops, space), rest, None) if rest else None
    if packet is None:
        raise wrong_input(
            f"PyTorch has no operator {name!r}",
            'give it as "namespace::name", and first import the module that registers it (torch.library)',
        )
    return [getattr(packet, overload) for overload in packet.overloads()]


def _type_of(val):
    return str(val.dtype).removeprefix("torch.") if isinstance(val, torch.Tensor) else None


def _adapted(function):
    def convert(c: Conversion):
        made = function([c(name) for name in c.names], [_type_of(c.val(name)) for name in c.names])
        if made is None:
            raise Refused("its converter returned None", help="return the expression, or a tuple of expressions")
        return list(made) if isinstance(made, tuple) else made

    return convert


def register(name: str, function) -> None:
    """See relay.frontend.converter."""
    overloads = _overloads(name)
    with table.LOCK:
        for overload in overloads:
            table.NAMESPACES.add(overload.namespace)
            table.OPERATORS[table.key_of(overload)] = _adapted(function)
            apart.DECOMPOSITIONS.pop(overload, None)


@contextlib.contextmanager
def within(custom: dict | None):
    """Registers the converters of a dict inside the `with` block, for this thread. Imports in other threads wait."""
    with table.LOCK:
        before = table.OPERATORS.copy(), apart.DECOMPOSITIONS.copy(), table.NAMESPACES.copy()
        try:
            for name, function in (custom or {}).items():
                register(name, function)
            yield
        finally:
            for now, old in zip((table.OPERATORS, apart.DECOMPOSITIONS, table.NAMESPACES), before, strict=True):
                now.clear()
                now.update(old)
