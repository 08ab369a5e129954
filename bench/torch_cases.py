"""The cases of bench/torch_compile.py: zoo networks by SOURCE.NAME, networks defined here, and training steps."""

import pathlib
import sys

import torch
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "build/models-torch"), str(ROOT / "test/zoo")]

ZOO = [
    "timm.resnet18", "torchvision.mobilenet_v3_small", "timm.efficientnet_lite0", "timm.convnext_atto",
    "timm.regnetx_002", "timm.vit_tiny_patch16_224", "timm.mixer_s32_224", "transformers.bert", "transformers.gpt2",
    "transformers.t5", "transformers.llama",
]  # fmt: skip


def mlp():
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10))
    return model, (torch.randn(64, 784),)


def cnn():
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1),
        nn.BatchNorm2d(64), nn.ReLU(), nn.Conv2d(64, 128, 3, stride=2, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(128, 10),
    )  # fmt: skip
    return model, (torch.randn(8, 3, 32, 32),)


def encoder():
    torch.backends.mha.set_fastpath_enabled(False)
    layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, activation="gelu", batch_first=True)
    return nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), (torch.randn(1, 128, 256),)


INFERENCE = {"encoder, 4 layers of 256, 128 tokens": encoder}
TRAINING = {
    "MLP 784-512-256-10, batch 64": mlp,
    "CNN 3-32-64-128 with batch_norm, batch 8 of 32 x 32": cnn,
    "encoder, 4 layers of 256, 128 tokens": encoder,
}


def made(name):
    """(model for inference, inputs of a call) for a name in INFERENCE or a SOURCE.NAME in the zoo's list."""
    torch.manual_seed(0)
    if name in INFERENCE:
        model, inputs = INFERENCE[name]()
    else:
        from torch_networks import made as of_zoo

        model, inputs, _ = of_zoo(*name.split(".", 1))
    return model.eval(), inputs


class Pieces(nn.Module):
    """Two products of small matrices, in one graph or in two with a graph break between them."""

    def __init__(self, breaks):
        super().__init__()
        self.breaks, self.first, self.second = breaks, nn.Linear(64, 64), nn.Linear(64, 64)

    def forward(self, x):
        x = self.first(x).relu()
        if self.breaks:
            torch._dynamo.graph_break()
        return self.second(x)
