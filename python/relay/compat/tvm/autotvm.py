"""tvm.autotvm: the names that tuning scripts call, with relay.tune() behind them.

The same: extracting tasks, tuners, callbacks that write a log, apply_history_best(). Different: a task is a whole
program, all tuners are one, a number of trials is a time, and a log has Relay's format. Templates cannot be defined.
"""

from __future__ import annotations

import os
import pathlib
import types

from .. import tuning
from ..outside import missing as _missing

__getattr__ = _missing("tvm.autotvm")

apply_history_best = tuning.records_of


def _extract(mod, params=None, target=None, ops=None, **ignored):
    return tuning.tasks_of(mod, params, target)


class Tuner:
    """Tunes the program of a task. Settings of a search have no effect."""

    def __init__(self, task: tuning.Task, *ignored, **also_ignored):
        self.task = task
        self.result = None  # a relay.Tuning after tune()

    def tune(self, n_trial: int, measure_option=None, early_stopping=None, callbacks=(), **ignored) -> None:
        """Tunes for `n_trial` trials, at half a second each."""
        logs = [callback.path for callback in callbacks if isinstance(callback, _LogToFile)]
        self.result = tuning.tune_tasks([self.task], n_trial, logs)

    def load_history(self, *ignored) -> None:
        """Does nothing: what is known of a machine is in its file of records."""


class _LogToFile:
    def __init__(self, path: str | os.PathLike):
        self.path = path


class _Progress:
    def __init__(self, *ignored, **also_ignored):
        """relay.tune() shows its own progress."""


def _settings(*ignored, **named) -> dict:
    """Settings of builders and runners, which have no effect: kernels are measured in child processes."""
    return named


def _pick_best(in_file: str | os.PathLike, out_file: str | os.PathLike) -> None:
    """Copies a log: it has only the best record of each group."""
    pathlib.Path(out_file).write_text(pathlib.Path(in_file).read_text())


task = types.SimpleNamespace(extract_from_program=_extract, extract_from_multiple_program=_extract)
XGBTuner = GATuner = RandomTuner = GridSearchTuner = Tuner
tuner = types.SimpleNamespace(Tuner=Tuner, XGBTuner=Tuner, GATuner=Tuner, RandomTuner=Tuner, GridSearchTuner=Tuner)
callback = types.SimpleNamespace(log_to_file=_LogToFile, progress_bar=_Progress)
record = types.SimpleNamespace(pick_best=_pick_best)
measure_option = LocalBuilder = LocalRunner = _settings

__all__ = [
    "GATuner",
    "GridSearchTuner",
    "LocalBuilder",
    "LocalRunner",
    "RandomTuner",
    "Tuner",
    "XGBTuner",
    "apply_history_best",
    "callback",
    "measure_option",
    "record",
    "task",
    "tuner",
]
