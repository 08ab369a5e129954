"""Training: optimisers, schedules, a step as one program, a loop and checkpoints (docs/training.md).

step = relay.train.Step(loss, params, {"x": ("n", 64), "y": (("n",), "int64")}, relay.train.AdamW(1e-3))
relay.train.fit(step, relay.train.Batches((x, y), 64), epochs=10, checkpoints="runs/digits")
"""

from . import schedules
from .checkpoints import Checkpoints
from .data import Batches, Stream
from .forward import Forward
from .imported import from_torch, with_parameters
from .loop import Run, fit
from .losses import Result
from .optimisers import *  # noqa: F403
from .optimisers import __all__ as _optimisers
from .parameters import flatten
from .scaler import LossScaler
from .schedules import Schedule
from .step import NotFinite, Step

__all__ = [
    "Batches",
    "Checkpoints",
    "Forward",
    "LossScaler",
    "NotFinite",
    "Result",
    "Run",
    "Schedule",
    "Step",
    "Stream",
    "fit",
    "flatten",
    "from_torch",
    "schedules",
    "with_parameters",
    *_optimisers,
]
