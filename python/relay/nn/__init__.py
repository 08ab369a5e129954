"""Layers and networks with PyTorch's names, parameters and first values (docs/modules-and-scripts.md), and the
operators of relay.op.nn.

net = relay.nn.Sequential(relay.nn.Linear(None, 64), relay.nn.ReLU(), relay.nn.Linear(64, 10))
y = net(x)                                   # compiled for the type of x, once
net.load_state_dict(torch_net.state_dict())
step = relay.nn.step(net, loss, {"x": ("n", 784), "y": (("n",), "int64")})
"""

from . import operators as _operators
from .layers.activation import (
    ELU,
    GELU,
    Dropout,
    Hardswish,
    Identity,
    LeakyReLU,
    LogSoftmax,
    PReLU,
    ReLU,
    ReLU6,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Tanh,
)
from .layers.attention import MultiheadAttention, TransformerEncoderLayer
from .layers.containers import ModuleList, Sequential
from .layers.conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .layers.linear import Embedding, Linear
from .layers.norm import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    LayerNorm,
    RMSNorm,
)
from .layers.recurrent import GRU, LSTM, RNN
from .layers.shape import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveMaxPool2d,
    AvgPool1d,
    AvgPool2d,
    AvgPool3d,
    Flatten,
    MaxPool1d,
    MaxPool2d,
    MaxPool3d,
    Unflatten,
    Upsample,
)
from .losses import BCEWithLogitsLoss, CrossEntropyLoss, L1Loss, MSELoss, NLLLoss
from .module import Module
from .operators import *  # noqa: F403
from .parameter import Parameter, buffer, manual_seed
from .training import loss_module, step

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveMaxPool2d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "CrossEntropyLoss",
    "Dropout",
    "ELU",
    "Embedding",
    "Flatten",
    "GELU",
    "GRU",
    "GroupNorm",
    "Hardswish",
    "Identity",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "L1Loss",
    "LSTM",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LogSoftmax",
    "MSELoss",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "Module",
    "ModuleList",
    "MultiheadAttention",
    "NLLLoss",
    "PReLU",
    "Parameter",
    "RMSNorm",
    "RNN",
    "ReLU",
    "ReLU6",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Tanh",
    "TransformerEncoderLayer",
    "Unflatten",
    "Upsample",
    "buffer",
    "loss_module",
    "manual_seed",
    "step",
]


def __getattr__(name: str):
    """Returns an operator that was defined later, and refuses others."""
    return getattr(_operators, name)
