"""The options of a compilation as keywords. Names, types, defaults and documentation are those of the compiler's own
declaration (src/relay/driver/options.h); only the forms that Python adds to a value are here."""

from __future__ import annotations

import collections.abc
import inspect
import textwrap
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from .. import _core

# The rows of the declaration that are keywords, by name.
KEYWORDS: dict[str, dict] = {row["name"]: row for row in _core.option_list() if not row["no_keyword"]}

# Sizes by input: of a tensor, of each tensor of a sequence, or None for an optional input to drop.
Shapes: TypeAlias = Mapping[str, Sequence[int] | Sequence[Sequence[int]] | None]


def _shapes_of(shapes: Shapes) -> dict[str, list[int]]:
    """Returns the shapes by input. The tensors of a sequence are named NAME.0, NAME.1, ...; NAME without sizes has no
    tensors."""
    given = {}
    for name, shape in shapes.items():
        sizes = [] if shape is None else list(shape)
        if sizes and all(isinstance(size, tuple | list) for size in sizes):
            given |= {f"{name}.{i}": list(size) for i, size in enumerate(sizes)}
        else:
            given[name] = sizes
    return given


def _donated(donate: Mapping[str, int | str | None] | Iterable[str]) -> dict[str, int | str | None]:
    """Returns, by input, the number or name of the result that takes its memory, or None."""
    if isinstance(donate, Mapping):
        return dict(donate)
    return dict.fromkeys([donate] if isinstance(donate, str) else donate)


def _devices_of(devices: Mapping) -> dict[str, str]:
    """Returns the names of devices by operator."""
    return {name: str(device) for name, device in devices.items()}


def _schedules_of(schedules: Mapping[str, str] | Mapping[int, str] | str) -> dict[str, str]:
    """Returns the schedules by group, whose name or number is text."""
    if isinstance(schedules, str):
        return _core.schedules_of(schedules)
    return {str(group): text for group, text in schedules.items()}


# The forms of values that Python accepts in addition to the compiler's.
_FORMS: dict[str, Callable] = {
    "shapes": _shapes_of,
    "schedules": _schedules_of,
    "donate": _donated,
    "devices": _devices_of,
}


def options_of(given: dict) -> _core.Options:
    """Returns the options. None stands for a default. Raises InputError for an unknown name or a wrong value."""
    return _core.Options(
        {name: _FORMS[name](value) if value is not None and name in _FORMS else value for name, value in given.items()}
    )


def of_compilation(given: dict) -> list[str]:
    """Returns the names of the options that differ from their defaults and have no effect on an artifact."""
    return [name for name, value in given.items() if _has_no_effect(KEYWORDS[name], value)]


def _has_no_effect(row: dict, value) -> bool:
    in_artifact = row["for_artifact"] and row["name"] != "shapes"  # which size random inputs on the command line
    return not in_artifact and value is not None and (value or None) != (row["default"] or None)


def _annotation(row: dict) -> str:
    return f"{row['type']} | None"


def takes_options(function: Callable) -> Callable:
    """Gives a function with **options the signature and the documentation of the options."""
    signature = inspect.signature(function)
    fixed = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    named = [
        inspect.Parameter(
            row["name"], inspect.Parameter.KEYWORD_ONLY, default=row["default"], annotation=_annotation(row)
        )
        for row in KEYWORDS.values()
    ]
    function.__signature__ = signature.replace(parameters=[*fixed, *named])
    annotations = {name: _annotation(row) for name, row in KEYWORDS.items()}
    hints = typing.get_type_hints(types.SimpleNamespace(__annotations__=annotations), {**vars(collections.abc)})
    function.__annotations__ = {
        **{name: type_ for name, type_ in function.__annotations__.items() if name in signature.parameters},
        **hints,
        "return": function.__annotations__["return"],
    }
    del function.__annotations__["options"]
    texts = [
        textwrap.fill(f"{name}: {row['help']}", 116, subsequent_indent="    ", break_long_words=False)
        for name, row in KEYWORDS.items()
    ]
    function.__doc__ = inspect.cleandoc(function.__doc__).replace("OPTIONS", "\n".join(texts))
    return function
