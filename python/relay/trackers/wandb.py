"""Runs of Weights & Biases, offline: nothing is sent until the user calls `wandb sync`."""

from __future__ import annotations

import os

import wandb

from .figures import name_of


class Offline:
    """A run inside of the folder `path`."""

    def __init__(self, path: str):
        os.makedirs(path, exist_ok=True)
        self._path = path

    def start(self, config) -> None:
        settings = wandb.Settings(mode="offline", silent=True, console="off", x_disable_stats=True)
        self._run = wandb.init(
            project="relay", name=name_of(config), config=dict(config), dir=self._path, settings=settings, reinit=True
        )

    def log(self, step, numbers) -> None:
        self._run.log(dict(numbers), step=step)

    def artifact(self, path) -> None:
        one = wandb.Artifact(os.path.basename(path), type="file")
        one.add_file(path)
        self._run.log_artifact(one)

    def end(self, status) -> None:
        self._run.summary["status"] = status
        self._run.finish(exit_code=0 if status == "finished" else 1)
