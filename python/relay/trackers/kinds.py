"""The kinds of trackers. Each is a class with the methods of Tracker and a line in KINDS."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Protocol

from ..errors import bad_option
from .background import Background


class Tracker(Protocol):
    """Receives the figures of one run. Its methods are called from one thread, in this order."""

    def start(self, config: Mapping[str, Any]) -> None: ...
    def log(self, step: int, numbers: Mapping[str, float]) -> None: ...
    def artifact(self, path: str) -> None: ...
    def end(self, status: str) -> None: ...


# The kind, its module and class, the package that it needs, and what follows the colon.
KINDS = {
    "lines": ("lines", "Lines", None, "a file of JSON lines"),
    "tensorboard": ("tensorboard", "TensorBoard", "tensorboardX", "a folder of event files"),
    "wandb": ("wandb", "Offline", "wandb", "a folder of offline runs, for `wandb sync`"),
    "mlflow": (
        "mlflow",
        "Store",
        "mlflow-skinny",
        "an SQLite file, for `mlflow ui --backend-store-uri sqlite:///FILE`",
    ),
}


def open(where: str) -> Background:
    """Opens "KIND:PATH", such as "tensorboard:runs", as a context."""
    kind, colon, path = where.partition(":")
    known = ", ".join(f"{one}:PATH ({about})" for one, (*_, about) in KINDS.items())
    if kind not in KINDS or not colon or not path:
        raise bad_option(f"'{where}' names no tracker", f"give one of {known}")
    module, name, package, _ = KINDS[kind]
    try:
        made = getattr(importlib.import_module(f".{module}", __package__), name)(path)
    except ModuleNotFoundError as error:
        if package is None:
            raise
        raise bad_option(
            f"'{where}' needs the package {package}: {error}", f"pip install {package}, or use lines:PATH"
        ) from error
    return Background(made, where)
