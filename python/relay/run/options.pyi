# Written by dev/docs.py. Do not edit.
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias, TypedDict, TypeVar

from .. import _core

_Function = TypeVar("_Function", bound=Callable)

KEYWORDS: dict[str, dict]
Shapes: TypeAlias = Mapping[str, Sequence[int] | Sequence[Sequence[int]] | None]

def options_of(given: dict) -> _core.Options: ...
def of_compilation(given: dict) -> list[str]: ...
def takes_options(function: _Function) -> _Function: ...

class CompileOptions(TypedDict, total=False):
    shapes: Mapping[str, Sequence[int] | Sequence[Sequence[int]] | None] | None
    import_limits: dict[str, int] | None
    layout: str | None
    opt_level: int | None
    mode: str | None
    precision: str | None
    external: str | None
    devices: Mapping[str, str] | None
    verify: bool | None
    target: str | None
    numerics: str | None
    schedules: Mapping[str, str] | Mapping[int, str] | str | None
    batch_calls: bool | None
    no_tuned: bool | None
    records: str | None
    strict: bool | None
    threads: int | None
    executor: str | None
    memory_limit: int | None
    tier: str | None
    donate: Mapping[str, int | str | None] | Iterable[str] | None
