"""Sequential and ModuleList."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

from ..module import Module


class _Indexed(Module):
    """Parts under the names 0, 1, .."""

    def _add(self, modules: Iterable[Module]) -> None:
        for one in modules:
            setattr(self, str(len(self)), one)

    def __len__(self) -> int:
        return sum(1 for _ in self.named_children())

    def __iter__(self) -> Iterator[Module]:
        return (one for _, one in self.named_children())

    def __getitem__(self, index: int) -> Module:
        return list(self)[index]


class Sequential(_Indexed):
    """Calls its parts one after another. The parts are named 0, 1, .., or by a dictionary."""

    def __init__(self, *modules: Module | dict[str, Module]):
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], (dict, OrderedDict)):
            for name, one in modules[0].items():
                setattr(self, name, one)
        else:
            self._add(modules)

    def forward(self, x: Any) -> Any:
        for one in self:
            x = one(x)
        return x


class ModuleList(_Indexed):
    """A list of parts, which forward() of the layer around it calls."""

    def __init__(self, modules: Iterable[Module] = ()):
        super().__init__()
        self._add(modules)

    def append(self, module: Module) -> ModuleList:
        """Adds a part."""
        self._add([module])
        return self
