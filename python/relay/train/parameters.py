"""Names of nested parameters, and groups of them by pattern.

{"encoder": [{"weight": w, "bias": b}]}      names encoder.0.weight and encoder.0.bias
"""

from __future__ import annotations

import dataclasses
import difflib
import fnmatch
from typing import Any

import numpy as np

from ..data.arrays import array
from ..data.arrays import numpy as as_numpy
from ..errors import bad_option, wrong_input
from .optimisers import Optimiser


def flatten(nested: Any, prefix: str = "") -> dict[str, Any]:
    """Returns the leaves of nested dictionaries, lists and tuples, by name. Parts of a name are joined by dots."""
    if isinstance(nested, dict):
        items = nested.items()
    elif isinstance(nested, (list, tuple)):
        items = enumerate(nested)
    else:
        return {prefix: nested}
    found: dict[str, Any] = {}
    for key, value in items:
        for name, leaf in flatten(value, f"{prefix}.{key}" if prefix else str(key)).items():
            if name in found:
                raise wrong_input(f"two parameters are called `{name}`", "rename one of the two")
            found[name] = leaf
    return found


def rebuilt(nested: Any, leaves: dict[str, Any], prefix: str = "") -> Any:
    """Returns a structure like `nested` with the leaves of these names."""
    if isinstance(nested, dict):
        return {key: rebuilt(value, leaves, f"{prefix}.{key}" if prefix else str(key)) for key, value in nested.items()}
    if isinstance(nested, (list, tuple)):
        items = [rebuilt(value, leaves, f"{prefix}.{i}" if prefix else str(i)) for i, value in enumerate(nested)]
        return tuple(items) if isinstance(nested, tuple) else items
    return leaves[prefix]


def owned(name: str, value: Any) -> np.ndarray:
    """Returns a row-major copy of a parameter, an array of any framework."""
    if isinstance(value, (bool, int, float)):
        value = np.float32(value)
    try:
        found = value if isinstance(value, (np.ndarray, np.generic)) else as_numpy(array(value))
    except (TypeError, ValueError) as error:
        raise wrong_input(
            f"parameter `{name}` is of type {type(value).__name__}, not an array", "give NumPy arrays or torch tensors"
        ) from error
    return np.array(found, order="C", copy=True)


def near(name: str, names: list[str]) -> str:
    """Returns a help text that names the closest names."""
    close = difflib.get_close_matches(name, names, 3, 0.5)
    shown = close or names[:8]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) and not close else ""
    return f"{'did you mean' if close else 'the parameters are'}: {', '.join(shown)}{more}"


def optimiser_of_each(
    names: list[str], default: Optimiser, groups: dict[str, Optimiser | dict | None] | None
) -> dict[str, Optimiser | None]:
    """Returns the optimiser of each parameter, or None for a parameter that stays as it is.

    groups: by pattern of names (fnmatch, alternatives separated by |), an optimiser, changes of the default's options,
    or None. The first pattern that matches a name decides.
    """
    if not isinstance(default, Optimiser):
        raise wrong_input(
            f"the optimiser is of type {type(default).__name__}",
            "give one of relay.train: optimiser=relay.train.AdamW(1e-3)",
        )
    chosen: dict[str, Optimiser | None] = {}
    for pattern, change in (groups or {}).items():
        matching = [name for name in names if any(fnmatch.fnmatchcase(name, one) for one in pattern.split("|"))]
        if not matching:
            raise bad_option(f"the group `{pattern}` matches no parameter", near(pattern.strip("*."), names))
        for name in matching:
            chosen.setdefault(name, _changed(pattern, default, change))
    return {name: chosen.get(name, default) for name in names}


def _changed(pattern: str, default: Optimiser, change: Optimiser | dict | None) -> Optimiser | None:
    if change is None or isinstance(change, Optimiser):
        return change
    options = [field.name for field in dataclasses.fields(default)]
    wrong = [name for name in change if name not in options]
    if wrong:
        raise bad_option(
            f"the group `{pattern}` changes {wrong[0]}, which {type(default).__name__} lacks",
            f"its options are: {', '.join(options)}",
        )
    return dataclasses.replace(default, **change)
