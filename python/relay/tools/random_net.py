"""Writes a random network for `relay bench --random-net SEED`. Imports nothing of relay.

    random_net.py SEED FOLDER

Writes FOLDER/net.onnx, with a batch of any size n, and FOLDER/net.pt2 for the PyTorch engines. Prints one line of JSON:
{"shape": the input's shape for this seed, "text": the layers}. Channels and sizes are mostly odd, and convolutions have
windows, strides, dilations, paddings and groups that popular networks lack. A compiler that is tuned for those networks
shows its weak points here.
"""

import json
import math
import pathlib
import random
import sys
import warnings

import torch
from torch import nn


class Network(nn.Module):
    """A sequence of layers. The result of a layer may be added to its input, or concatenated with it along the
    channels."""

    def __init__(self, layers, joins):
        super().__init__()
        self.layers, self.joins = nn.ModuleList(layers), joins

    def forward(self, x):
        for layer, join in zip(self.layers, self.joins, strict=True):
            y = layer(x)
            x = x + y if join == "+" else torch.cat([x, y], 1) if join == "|" else y
        return x


class Draw:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.layers, self.joins = [], []
        self.channels, self.height, self.width = self.odd(40), self.random.randint(9, 64), self.random.randint(9, 64)
        self.shape = [self.random.randint(1, 5), self.channels, self.height, self.width]

    def odd(self, most):
        """Returns an odd number, or, one time in three, any number."""
        return (
            self.random.randint(1, most) if self.random.random() < 1 / 3 else 2 * self.random.randrange(most // 2) + 1
        )

    def add(self, layer, join=""):
        self.layers.append(layer)
        self.joins.append(join)
        with torch.no_grad():
            x = torch.zeros(1, self.channels, self.height, self.width)
            y = layer.eval()(x)
            y = torch.cat([x, y], 1) if join == "|" else y
            _, self.channels, self.height, self.width = y.shape

    def activation(self):
        kinds = [nn.ReLU, nn.ReLU, nn.ReLU6, nn.SiLU, nn.GELU, nn.Hardswish, nn.Sigmoid, nn.Tanh, nn.Identity]
        return self.random.choice(kinds)()

    def window(self, most=5):
        """Returns height and width of a window, not larger than the data."""
        high = self.random.randint(1, min(most, self.height))
        wide = high if self.random.random() < 0.6 else self.random.randint(1, most)
        return high, min(wide, self.width)

    def convolution(self, channels, same=False):
        """Returns a convolution. With `same`, height and width stay unchanged."""
        groups = self.random.choice([1, 1, 1, self.channels, math.gcd(self.channels, channels)])
        if groups == self.channels:
            channels = channels if same and channels == self.channels else self.channels * self.random.randint(1, 2)
        if channels % groups:
            groups = 1
        high, wide = self.window()
        dilation = self.random.choice([1, 1, 1, 2])
        if same:
            high, wide = high - 1 + high % 2, wide - 1 + wide % 2
            padding, stride = (dilation * (high // 2), dilation * (wide // 2)), 1
        else:
            padding = (self.random.randint(0, high), self.random.randint(0, wide))
            stride = (self.random.choice([1, 1, 2, 3]), self.random.choice([1, 1, 2, 3]))
            if dilation * (high - 1) >= self.height or dilation * (wide - 1) >= self.width:
                dilation = 1
        made = nn.Conv2d(
            self.channels, channels, (high, wide), stride, padding, dilation, groups, bias=self.random.random() < 0.7
        )
        norm = [nn.BatchNorm2d(channels)] if self.random.random() < 0.4 else []
        return nn.Sequential(made, *norm, self.activation())

    def pool(self):
        high, wide = self.window(4)
        stride = (self.random.randint(1, 2), self.random.randint(1, 2))
        kind = self.random.choice([nn.MaxPool2d, nn.AvgPool2d])
        return kind((high, wide), stride, (self.random.randint(0, high // 2), self.random.randint(0, wide // 2)))

    def network(self):
        for _ in range(self.random.randint(3, 9)):
            what = self.random.random()
            if what < 0.5:
                self.add(self.convolution(self.odd(96)))
            elif what < 0.65:
                layer = self.convolution(self.channels, same=True)
                kept = layer[0].out_channels == self.channels
                self.add(layer, "+" if kept else "")
            elif what < 0.75 and self.channels < 120:
                self.add(self.convolution(self.odd(32), same=True), "|")
            elif what < 0.9:
                self.add(self.pool())
            elif self.height * self.width < 900:
                self.add(nn.Upsample(scale_factor=2))
        end = [nn.AdaptiveAvgPool2d(1)] if self.random.random() < 0.5 or self.height * self.width > 100 else []
        count = self.channels * (1 if end else self.height * self.width)
        layers, outputs = [*end, nn.Flatten()], self.odd(300)
        layers += [
            nn.Linear(count, outputs),
            self.activation(),
            nn.LayerNorm(outputs),
            nn.Linear(outputs, self.odd(50)),
        ]
        if self.random.random() < 0.5:
            layers.append(nn.Softmax(1))
        return Network([*self.layers, *layers], [*self.joins, *[""] * len(layers)])


@torch.no_grad()
def draw_weights(network, seed):
    generator = torch.Generator().manual_seed(seed)
    for module in network.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            module.weight.normal_(0, math.sqrt(2 / module.weight[0].numel()), generator=generator)
            if module.bias is not None:
                module.bias.normal_(0, 0.1, generator=generator)
        elif isinstance(module, (nn.BatchNorm2d, nn.LayerNorm)):
            module.weight.uniform_(0.5, 1.5, generator=generator)
            module.bias.normal_(0, 0.2, generator=generator)
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.2, generator=generator)
            module.running_var.uniform_(0.5, 1.5, generator=generator)


def describe(layer, join):
    """Returns text such as "| conv 21 to 42, 5 x 3, stride 2 1, padding 4 4, dilation 2, groups 21, Tanh"."""
    words = []
    for part in layer if isinstance(layer, nn.Sequential) else [layer]:
        if isinstance(part, nn.Conv2d):
            words.append(
                f"conv {part.in_channels} to {part.out_channels}, {part.kernel_size[0]} x {part.kernel_size[1]}"
            )
            words.append(f"stride {part.stride[0]} {part.stride[1]}, padding {part.padding[0]} {part.padding[1]}")
            words += [f"dilation {part.dilation[0]}"] * (part.dilation[0] > 1) + [f"groups {part.groups}"] * (
                part.groups > 1
            )
        elif isinstance(part, nn.Linear):
            words.append(f"linear {part.in_features} to {part.out_features}")
        elif isinstance(part, (nn.MaxPool2d, nn.AvgPool2d)):
            words.append(f"{type(part).__name__} {part.kernel_size}, stride {part.stride}, padding {part.padding}")
        elif not isinstance(part, nn.Identity):
            words.append(type(part).__name__)
    return f"{join} {', '.join(words)}".strip()


def main(seed, folder):
    draw = Draw(int(seed))
    network = draw.network().eval()
    draw_weights(network, int(seed))
    folder = pathlib.Path(folder)
    x = torch.zeros(3, *draw.shape[1:])
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # warnings of the exporter that needs no further package
        torch.onnx.export(
            network,
            (x,),
            folder / "net.onnx",
            input_names=["x"],
            dynamic_axes={"x": {0: "n"}},
            opset_version=17,
            dynamo=False,
        )
        torch.export.save(
            torch.export.export(network, (x,), dynamic_shapes=({0: torch.export.Dim.AUTO},)), folder / "net.pt2"
        )
    text = "; ".join(describe(*pair) for pair in zip(network.layers, network.joins, strict=True))
    print(json.dumps({"shape": draw.shape, "text": text}))


if __name__ == "__main__":
    main(*sys.argv[1:])
