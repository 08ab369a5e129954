"""tvm.meta_schedule: relay_integration.tune_relay() and compile_relay(), with relay.tune() behind them.

The same: a database in a work folder, and compiling with it. Different: a number of trials is a time, and the database
is Relay's text of records. Schedule rules, mutators and cost models cannot be replaced.
"""

from __future__ import annotations

import os
import pathlib
import types

import relay

from .. import tuning
from ..outside import missing as _missing

__getattr__ = _missing("tvm.meta_schedule")


class Database:
    """The records in a work folder. `result`: a relay.Tuning, or None."""

    def __init__(self, work_dir: str | os.PathLike, result=None):
        self.path = pathlib.Path(work_dir) / "records.txt"
        self.result = result


def tune_relay(mod, params, target, work_dir, max_trials_global: int = 128, **ignored) -> Database:
    """Tunes for `max_trials_global` trials, at half a second each."""
    pathlib.Path(work_dir).mkdir(parents=True, exist_ok=True)
    database = Database(work_dir)
    database.result = tuning.tune_tasks(tuning.tasks_of(mod, params, target), max_trials_global, [database.path])
    return database


def compile_relay(database: Database, mod, target, params=None, **ignored):
    """relay.build() with the records of the database."""
    with tuning.records_of(database.path):
        return relay.build(mod, target, params=params)


relay_integration = types.SimpleNamespace(tune_relay=tune_relay, compile_relay=compile_relay)

__all__ = ["Database", "relay_integration"]
