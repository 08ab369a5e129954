"""tvm.auto_scheduler: the names that tuning scripts call, with relay.tune() behind them.

The same: extract_tasks(), TaskScheduler, TuningOptions, RecordToFile, ApplyHistoryBest. Different: a task is a whole
program, a number of measurements is a time, and a log has Relay's format. Sketches and cost models cannot be replaced.
"""

from __future__ import annotations

import os

from .. import tuning
from ..outside import missing as _missing

__getattr__ = _missing("tvm.auto_scheduler")

ApplyHistoryBest = tuning.records_of


def extract_tasks(mod, params=None, target=None, *ignored, **also_ignored) -> tuple[list[tuning.Task], list[int]]:
    """Returns a task for the program, and its weight, 1."""
    tasks = tuning.tasks_of(mod, params, target)
    return tasks, [1] * len(tasks)


class RecordToFile:
    """Names the log that records are added to."""

    def __init__(self, filename: str | os.PathLike):
        self.path = filename


class TuningOptions:
    """num_measure_trials: at half a second each. Other settings have no effect."""

    def __init__(self, num_measure_trials: int = 0, measure_callbacks=None, **ignored):
        self.trials, self.callbacks = num_measure_trials, measure_callbacks or []


class TaskScheduler:
    """Tunes the programs of the tasks. load_log_file has no effect: known records are in the file of records."""

    def __init__(self, tasks, task_weights=None, *ignored, **also_ignored):
        self.tasks = tasks
        self.result = None  # a relay.Tuning after tune()

    def tune(self, tune_option: TuningOptions, *ignored, **also_ignored) -> None:
        """Tunes for the number of trials in the options."""
        logs = [callback.path for callback in tune_option.callbacks if isinstance(callback, RecordToFile)]
        self.result = tuning.tune_tasks(self.tasks, tune_option.trials, logs)


class LocalRunner:
    """Has no effect: kernels are measured in child processes."""

    def __init__(self, *ignored, **also_ignored):
        self.runner = self


LocalBuilder = LocalRPCMeasureContext = LocalRunner

__all__ = [
    "ApplyHistoryBest",
    "LocalBuilder",
    "LocalRPCMeasureContext",
    "LocalRunner",
    "RecordToFile",
    "TaskScheduler",
    "TuningOptions",
    "extract_tasks",
]
