"""Experiment trackers: where the figures of trainings, measurements and quantisations are kept (docs/trackers.md).

    with relay.trackers.open("tensorboard:runs") as tracker:
        relay.train.fit(step, data, epochs=10, trackers=[tracker])

    relay.trackers.record("mlflow:figures.db", {"model": "resnet50.onnx"}, figures)

A tracker is opened explicitly; importing a package never starts one.
"""

from __future__ import annotations

from .background import Background
from .figures import flat, name_of, record
from .kinds import KINDS, Tracker, open

__all__ = ["KINDS", "Background", "Tracker", "flat", "name_of", "open", "record"]
