"""Training: optimisers, schedules, a step as one program, a loop and checkpoints."""

from . import schedules
from .losses import Result
from .optimisers import *  # noqa: F403
from .optimisers import __all__ as _optimisers
from .scaler import LossScaler
from .schedules import Schedule
from .step import Step

__all__ = ["LossScaler", "Result", "Schedule", "Step", "schedules", *_optimisers]
