"""Optimisers, with PyTorch's names, options, defaults and formulas where PyTorch has them."""

from .adam import Adam, Adamax, AdamW, AMSGrad, NAdam, RAdam
from .adaptive import Adadelta, Adagrad, RMSprop
from .layerwise import LAMB, Adafactor, Muon
from .optimiser import Optimiser, Slot
from .sgd import SGD, Lion

__all__ = [
    "AMSGrad",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "LAMB",
    "Lion",
    "Muon",
    "NAdam",
    "Optimiser",
    "RAdam",
    "RMSprop",
    "SGD",
    "Slot",
]
