"""Figures that are known at once: those of a measurement, a quantisation or a tuning."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping
from typing import Any

from .background import Background
from .kinds import open


def name_of(config: Mapping[str, Any]) -> str:
    """Returns the name of a run: equal for equal configurations, "relay-" and ten hexadecimal digits."""
    text = json.dumps(dict(config), sort_keys=True, default=str)
    return f"relay-{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def flat(figures: Any, prefix: str = "") -> dict[str, float]:
    """Returns the finite numbers inside of dictionaries and lists, named by their path: {"peers/0/median_us": 12.5}.

    A dictionary in a list is named by its "name" or "model" if it has one."""
    if isinstance(figures, bool) or figures is None or isinstance(figures, str):
        return {}
    if isinstance(figures, (int, float)):
        return {prefix: float(figures)} if math.isfinite(figures) else {}
    if isinstance(figures, Mapping):
        parts = [(str(key), value) for key, value in figures.items()]
    elif isinstance(figures, (list, tuple)):
        parts = [(_label(value, place), value) for place, value in enumerate(figures)]
    else:
        return flat(figures.item(), prefix) if hasattr(figures, "item") and getattr(figures, "size", 0) == 1 else {}
    found: dict[str, float] = {}
    for key, value in parts:
        found |= flat(value, f"{prefix}/{key}" if prefix else key)
    return found


def _label(value: Any, place: int) -> str:
    name = (value.get("name") or value.get("model")) if isinstance(value, Mapping) else None
    return os.path.basename(name) if isinstance(name, str) and name else str(place)


def record(
    where: str | Background, config: Mapping[str, Any], figures: Any, artifacts: Iterable[str | os.PathLike] = ()
) -> None:
    """Makes a run of these figures, for example the JSON of `relay bench --json` or the report of relay.quantize."""
    with open(where) if isinstance(where, str) else where as tracker:
        tracker.start(config)
        tracker.log(0, flat(figures))
        for path in artifacts:
            tracker.artifact(os.fspath(path))
