"""Runs of MLflow in an SQLite file; files are copied into a folder beside it."""

from __future__ import annotations

import os
import time

from mlflow.entities import Metric, Param, RunStatus
from mlflow.tracking import MlflowClient

from .figures import name_of

_STATUS = {"finished": RunStatus.FINISHED, "failed": RunStatus.FAILED, "interrupted": RunStatus.KILLED}
_EXPERIMENT = "relay"


class Store:
    """A run of the experiment "relay" in the file `path`."""

    def __init__(self, path: str):
        path = os.path.abspath(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self._client = MlflowClient(f"sqlite:///{path}")
        self._files = f"file://{path}.files"

    def start(self, config) -> None:
        known = self._client.get_experiment_by_name(_EXPERIMENT)
        experiment = known.experiment_id if known else self._client.create_experiment(_EXPERIMENT, self._files)
        self._run = self._client.create_run(experiment, run_name=name_of(config)).info.run_id
        self._client.log_batch(self._run, params=[Param(str(key), str(value)[:500]) for key, value in config.items()])

    def log(self, step, numbers) -> None:
        now = int(time.time() * 1000)
        self._client.log_batch(self._run, metrics=[Metric(key, value, now, step) for key, value in numbers.items()])

    def artifact(self, path) -> None:
        self._client.log_artifact(self._run, path)

    def end(self, status) -> None:
        self._client.set_terminated(self._run, RunStatus.to_string(_STATUS.get(status, RunStatus.FAILED)))
