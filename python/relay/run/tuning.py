"""Tuning of a model's kernels: `relay tune` as a function."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import NamedTuple

from .. import _core
from ..errors import bad_option


class Tuning(NamedTuple):
    """The result of relay.tune().

    gain: the time of a run without records over that with them, 1.0 if no record was kept; interval: of the gain, at
    95 %, or None; groups: a dictionary for each faster group, with its name, `default_us` (microseconds of all of its
    calls in a run), `ratio` (its time over the default's) and `decisions`; stopped: true after Ctrl-C.
    """

    gain: float
    interval: tuple[float, float] | None
    groups: list[dict]
    trials: int
    seconds: float
    stopped: bool


def tune(
    model: str | os.PathLike | _core.IRModule,
    *,
    budget: str = "5m",
    records: str | os.PathLike | None = None,
    threads: int = 0,
    opt_level: int | None = None,
    on: Sequence[str] = (),
) -> Tuning:
    """Measures other schedules of the model's kernels for `budget` ("90s", "5m", "1h"), and keeps the fastest, so that
    relay.compile() uses them (docs/tuning.md).

    model: a module, or the path of a model.
    records: the file of records; None: tuning.db in the folder of the cache.
    threads, opt_level: as of relay.compile(), which finds the records only for the same opt_level.
    on: other machines of this one's type that measure instead of it: "ssh://[USER@]HOST[:PORT]", with Relay installed,
      or "ray://HOST:PORT", those of a Ray cluster.

    Raises CompileError if the model cannot be compiled or measured.
    """
    with tempfile.TemporaryDirectory(prefix="relay-tune-") as folder:
        path = model
        if isinstance(model, _core.IRModule):
            path = pathlib.Path(folder) / "model.relay"
            model.save(path)
        words = ["tune", path, "--budget", budget, "--threads", threads, "--json"]
        if records is not None:
            words += ["--records", records]
        if opt_level is not None:
            words += ["-O", opt_level]
        for machine in on:
            words += ["--on", machine]
        command = [sys.executable, "-m", "relay", *map(str, words)]
        environment = {**os.environ, "RELAY_PYTHON": sys.executable}
        result = subprocess.run(command, stdout=subprocess.PIPE, env=environment, check=False)
    if result.returncode != 0:
        raise bad_option(f"{path} cannot be tuned", "the reason was written to stderr")
    out = json.loads(result.stdout)
    interval = tuple(out["gain_interval"]) if out["gain_interval"] else None
    return Tuning(out["gain"], interval, out["groups"], out["trials"], out["seconds"], out["stopped"])
