"""Figures in a file, one JSON object a line; needs no package."""

from __future__ import annotations

import json
import os
import time

from .figures import name_of


class Lines:
    """Appends to the file {"run": NAME, "config": {..}}, then {"step": 1, "loss": 0.5, ..}, then {"status": ".."}."""

    def __init__(self, path: str):
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        self._file = open(path, "a", encoding="utf-8", buffering=1)

    def start(self, config) -> None:
        self._write({"run": name_of(config), "time": round(time.time(), 3), "config": dict(config)})

    def log(self, step, numbers) -> None:
        self._write({"step": step, **numbers})

    def artifact(self, path) -> None:
        self._write({"artifact": os.path.abspath(path)})

    def end(self, status) -> None:
        self._write({"status": status})
        self._file.close()

    def _write(self, one: dict) -> None:
        self._file.write(json.dumps(one, default=str) + "\n")
