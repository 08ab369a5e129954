"""The common part of tvm.autotvm, tvm.auto_scheduler and tvm.meta_schedule: all of them lead to relay.tune().

A task is a whole program, since Relay measures kernels where they run in it; it is tuned at opt_level 3, as scripts
build it. A number of trials becomes a time, at
`SECONDS_OF_TRIAL` each. A log is a text of records, as `relay tune --export` writes it.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import tempfile

import relay
from relay.run.build_module import _with_params
from relay.tools import tuning_records

# A trial of Relay measures a candidate of each group of a program; small ones take about this time.
SECONDS_OF_TRIAL = 0.5


class Task:
    """A program to tune. `name` and `workload` identify it in messages."""

    def __init__(self, mod, params, target):
        self.mod, self.target = _with_params(mod, params), target
        self.name = self.workload = "main"

    def __repr__(self) -> str:
        return f"Task({self.name})"


def tasks_of(mod, params, target) -> list[Task]:
    """A task for the program, or for each program of a list."""
    if isinstance(mod, list | tuple):
        each = params if isinstance(params, list | tuple) else [params] * len(mod)
        return [task for one, of_one in zip(mod, each, strict=True) for task in tasks_of(one, of_one, target)]
    return [Task(mod, params, target)]


def tune_tasks(tasks, trials: int, logs) -> relay.run.tuning.Tuning | None:
    """Tunes the tasks in turn and adds their records to the logs. Returns the last result."""
    result = None
    seconds = max(5.0, SECONDS_OF_TRIAL * trials / max(1, len(tasks)))
    with tempfile.TemporaryDirectory(prefix="relay-tune-") as folder:
        path = pathlib.Path(folder) / "tuning.db"
        for task in tasks:
            result = relay.tune(task.mod, budget=f"{seconds:g}s", records=path, opt_level=3)
        for log in logs:
            add_to_log(log, path)
    return result


def add_to_log(log: str | os.PathLike, records: pathlib.Path) -> None:
    """Merges the records into a text, which may exist."""
    log = pathlib.Path(log)
    store = tuning_records.Store(records)
    if log.exists() and log.read_text():
        store.merge(tuning_records.from_text(log.read_text(), str(log)))
    log.write_text(tuning_records.to_text(store.records()))
    store.close()


@contextlib.contextmanager
def records_of(log: str | os.PathLike | None):
    """Compilations inside use the records of this log only; None leaves the usual ones."""
    if log is None:
        yield None
        return
    before = os.environ.get("RELAY_TUNING_RECORDS")
    with tempfile.TemporaryDirectory(prefix="relay-tune-") as folder:
        path = pathlib.Path(folder) / "tuning.db"
        store = tuning_records.Store(path)
        store.merge(tuning_records.from_text(pathlib.Path(log).read_text(), str(log)))
        store.close()
        os.environ["RELAY_TUNING_RECORDS"] = str(path)
        try:
            yield log
        finally:
            if before is None:
                del os.environ["RELAY_TUNING_RECORDS"]
            else:
                os.environ["RELAY_TUNING_RECORDS"] = before
