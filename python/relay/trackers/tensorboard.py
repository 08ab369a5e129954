"""Event files of TensorBoard, written by tensorboardX."""

from __future__ import annotations

import json
import os

from tensorboardX import SummaryWriter

from .figures import name_of


class TensorBoard:
    """A folder for each run inside of `path`."""

    def __init__(self, path: str):
        self._path = path

    def start(self, config) -> None:
        self._writer = SummaryWriter(os.path.join(self._path, name_of(config)))
        self._writer.add_text("config", f"```json\n{json.dumps(dict(config), indent=2, default=str)}\n```")

    def log(self, step, numbers) -> None:
        for name, value in numbers.items():
            self._writer.add_scalar(name, value, step)

    def artifact(self, path) -> None:
        self._writer.add_text("artifacts", os.path.abspath(path))

    def end(self, status) -> None:
        self._writer.add_text("status", status)
        self._writer.close()
