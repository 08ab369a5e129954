#!/usr/bin/env python3
"""Networks to measure, written in plain PyTorch with random weights, and exported into models/.

    bench/networks.py                     all of them
    bench/networks.py resnet18 bert_base  these networks
    bench/networks.py --list              their names, parameters and inputs

For each NAME it writes models/NAME.onnx and models/NAME.pt2. The latter is a program of torch.export with the same
weights, which the PyTorch peers of `relay bench` run. Both files are kept until this file changes. The architectures
are those of the papers (named at each), at the usual sizes. Weights are drawn from a seed by He's rule, so that
activations neither grow nor vanish. Batch norms take the mean and variance of their input for a random batch, as if
they had been trained on it. From Python, export(["resnet18"]) returns the paths.
"""

import argparse
import hashlib
import logging
import math
import pathlib
import sys
import warnings
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "models"
OPSET = 17


def conv(inputs, outputs, kernel=3, stride=1, groups=1, padding=None, act=nn.ReLU):
    """Convolution, batch norm and activation; the padding keeps the size."""
    if padding is None:
        padding = (kernel - 1) // 2 if isinstance(kernel, int) else tuple((k - 1) // 2 for k in kernel)
    layers = [nn.Conv2d(inputs, outputs, kernel, stride, padding, groups=groups, bias=False), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *([act()] if act else []))


class Residual(nn.Module):
    """act(body(x) + shortcut(x))."""

    def __init__(self, body, shortcut=None, act=None):
        super().__init__()
        self.body, self.shortcut, self.act = body, shortcut or nn.Identity(), act or nn.Identity()

    def forward(self, x):
        return self.act(self.body(x) + self.shortcut(x))


class Branches(nn.ModuleList):
    """The results of all branches, concatenated along the channels."""

    def forward(self, x):
        return torch.cat([branch(x) for branch in self], 1)


def classifier(features, classes=1000):
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(features, classes)]


# --- convolutional networks: docstrings give the number at https://arxiv.org/abs/ -------------------------------------


def resnet(bottleneck, counts):
    """1512.03385; the 3 x 3 convolution of a bottleneck has the stride, as is usual today."""
    layers, inputs = [conv(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for stage, count in enumerate(counts):
        width = 64 << stage
        outputs = width * 4 if bottleneck else width
        for k in range(count):
            stride = 2 if k == 0 and stage > 0 else 1
            if bottleneck:
                body = [conv(inputs, width, 1), conv(width, width, 3, stride), conv(width, outputs, 1, act=None)]
            else:
                body = [conv(inputs, width, 3, stride), conv(width, width, act=None)]
            same = stride == 1 and inputs == outputs
            shortcut = None if same else conv(inputs, outputs, 1, stride, act=None)
            layers.append(Residual(nn.Sequential(*body), shortcut, nn.ReLU()))
            inputs = outputs
    return nn.Sequential(*layers, *classifier(inputs))


def vgg16():
    """1409.1556, configuration D."""
    layers, inputs = [], 3
    for width, count in [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]:
        for _ in range(count):
            layers += [nn.Conv2d(inputs, width, 3, padding=1), nn.ReLU()]
            inputs = width
        layers.append(nn.MaxPool2d(2))
    dense = [nn.Linear(512 * 49, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 1000)]
    return nn.Sequential(*layers, nn.Flatten(), *dense)


def mobilenet_v2():
    """1801.04381, width 1."""
    layers, inputs = [conv(3, 32, 3, 2, act=nn.ReLU6)], 32
    table = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    for expand, outputs, count, first_stride in table:
        for k in range(count):
            stride, hidden = first_stride if k == 0 else 1, inputs * expand
            body = [conv(inputs, hidden, 1, act=nn.ReLU6)] if expand > 1 else []
            body += [conv(hidden, hidden, 3, stride, hidden, act=nn.ReLU6), conv(hidden, outputs, 1, act=None)]
            block = nn.Sequential(*body)
            layers.append(Residual(block) if stride == 1 and inputs == outputs else block)
            inputs = outputs
    return nn.Sequential(*layers, conv(inputs, 1280, 1, act=nn.ReLU6), *classifier(1280))


def inception_v3():
    """1512.00567, without the auxiliary classifier."""

    def average(inputs, outputs):
        return nn.Sequential(nn.AvgPool2d(3, 1, 1), conv(inputs, outputs, 1))

    def a(n, pool):
        five = nn.Sequential(conv(n, 48, 1), conv(48, 64, 5))
        twice = nn.Sequential(conv(n, 64, 1), conv(64, 96), conv(96, 96))
        return Branches([conv(n, 64, 1), five, twice, average(n, pool)])

    def b(n):
        twice = nn.Sequential(conv(n, 64, 1), conv(64, 96), conv(96, 96, 3, 2, padding=0))
        return Branches([conv(n, 384, 3, 2, padding=0), twice, nn.MaxPool2d(3, 2)])

    def c(n, w):
        seven = nn.Sequential(conv(n, w, 1), conv(w, w, (1, 7)), conv(w, 192, (7, 1)))
        twice = [conv(n, w, 1), conv(w, w, (7, 1)), conv(w, w, (1, 7)), conv(w, w, (7, 1)), conv(w, 192, (1, 7))]
        return Branches([conv(n, 192, 1), seven, nn.Sequential(*twice), average(n, 192)])

    def d(n):
        three = nn.Sequential(conv(n, 192, 1), conv(192, 320, 3, 2, padding=0))
        seven = [conv(n, 192, 1), conv(192, 192, (1, 7)), conv(192, 192, (7, 1)), conv(192, 192, 3, 2, padding=0)]
        return Branches([three, nn.Sequential(*seven), nn.MaxPool2d(3, 2)])

    def e(n):
        def both():
            return Branches([conv(384, 384, (1, 3)), conv(384, 384, (3, 1))])

        twice = nn.Sequential(conv(n, 448, 1), conv(448, 384), both())
        return Branches([conv(n, 320, 1), nn.Sequential(conv(n, 384, 1), both()), twice, average(n, 192)])

    stem = [conv(3, 32, 3, 2, padding=0), conv(32, 32, padding=0), conv(32, 64), nn.MaxPool2d(3, 2)]
    stem += [conv(64, 80, 1), conv(80, 192, padding=0), nn.MaxPool2d(3, 2)]
    blocks = [a(192, 32), a(256, 64), a(288, 64), b(288), c(768, 128), c(768, 160), c(768, 160), c(768, 192)]
    return nn.Sequential(*stem, *blocks, d(768), e(1280), e(2048), *classifier(2048))


def densenet121():
    """1608.06993: norm and activation before each convolution."""

    def before(inputs, outputs, kernel):
        return [nn.BatchNorm2d(inputs), nn.ReLU(), nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False)]

    layers, channels = [conv(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for stage, count in enumerate([6, 12, 24, 16]):
        for _ in range(count):
            layers.append(Branches([nn.Identity(), nn.Sequential(*before(channels, 128, 1), *before(128, 32, 3))]))
            channels += 32
        if stage < 3:
            channels //= 2
            layers += [*before(2 * channels, channels, 1), nn.AvgPool2d(2)]
    return nn.Sequential(*layers, nn.BatchNorm2d(channels), nn.ReLU(), *classifier(channels))


def dqn():
    """The network of "Human-level control through deep reinforcement learning", Nature 518 (2015): four frames, 18
    actions.
    """
    layers = [nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU()]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, 18))


def mlp():
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10))


# --- transformers -----------------------------------------------------------------------------------------------------


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x, mask=None):
        batch, length, width = x.shape
        q, k, v = (f(x).view(batch, length, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


def feed_forward(width, hidden):
    return nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))


class BertLayer(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.attention, self.feed_forward = Attention(width, heads), feed_forward(width, hidden)
        self.norm1, self.norm2 = nn.LayerNorm(width, 1e-12), nn.LayerNorm(width, 1e-12)

    def forward(self, x, mask):
        x = self.norm1(x + self.attention(x, mask))
        return self.norm2(x + self.feed_forward(x))


class Bert(nn.Module):
    """1810.04805; MiniLM (2002.10957) has the same form. Returns the last hidden state and the pooled first token."""

    def __init__(self, layers, width, heads, hidden, words=30522, positions=512):
        super().__init__()
        self.words, self.types = nn.Embedding(words, width), nn.Embedding(2, width)
        self.positions, self.norm = nn.Embedding(positions, width), nn.LayerNorm(width, 1e-12)
        self.layers = nn.ModuleList(BertLayer(width, heads, hidden) for _ in range(layers))
        self.pool = nn.Linear(width, width)

    def forward(self, input_ids, attention_mask, token_type_ids):
        places = torch.arange(input_ids.shape[1])[None]
        x = self.norm(self.words(input_ids) + self.types(token_type_ids) + self.positions(places))
        mask = (1 - attention_mask[:, None, None, :].to(x.dtype)) * -1e9
        for layer in self.layers:
            x = layer(x, mask)
        return x, torch.tanh(self.pool(x[:, 0]))


class VitLayer(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.attention, self.feed_forward = Attention(width, heads), feed_forward(width, hidden)
        self.norm1, self.norm2 = nn.LayerNorm(width, 1e-6), nn.LayerNorm(width, 1e-6)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.feed_forward(self.norm2(x))


class Vit(nn.Module):
    """2010.11929, B/16."""

    def __init__(self, layers=12, width=768, heads=12, hidden=3072, patch=16, size=224):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.zeros(1, (size // patch) ** 2 + 1, width))
        self.layers = nn.Sequential(*(VitLayer(width, heads, hidden) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width, 1e-6), nn.Linear(width, 1000)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.positions
        return self.head(self.norm(self.layers(x))[:, 0])


class Gpt2Layer(nn.Module):
    def __init__(self, width=768, heads=12):
        super().__init__()
        self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed_forward = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width))

    def forward(self, x, past_key, past_value):
        parts = self.qkv(self.norm1(x)).chunk(3, -1)
        q, k, v = (part.view(*x.shape[:2], self.heads, -1).transpose(1, 2) for part in parts)
        key, value = torch.cat([past_key, k], 2), torch.cat([past_value, v], 2)
        y = F.scaled_dot_product_attention(q, key, value)
        x = x + self.out(y.transpose(1, 2).reshape(x.shape))
        return x + self.feed_forward(self.norm2(x)), key, value


class Gpt2Step(nn.Module):
    """The smallest network of "Language Models are Unsupervised Multitask Learners" (2019) for one token, after those
    with the given keys and values. Returns the scores of the next word, and the extended keys and values."""

    def __init__(self, layers=12, width=768, words=50257, positions=1024):
        super().__init__()
        self.words, self.positions = nn.Embedding(words, width), nn.Embedding(positions, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(Gpt2Layer(width) for _ in range(layers))

    def forward(self, token, *past):
        x = self.words(token) + self.positions.weight[past[0].shape[2]]
        present = []
        for layer, key, value in zip(self.layers, past[::2], past[1::2], strict=True):
            x, *both = layer(x, key, value)
            present += both
        return F.linear(self.norm(x), self.words.weight), *present


# --- the list ---------------------------------------------------------------------------------------------------------


def image(channels, size):
    return {"image": (1, channels, size, size)}


class Ids(NamedTuple):
    """Integers (1, length) below `most`; ones if `most` is None."""

    most: int | None
    length: int


TOKENS = {"input_ids": Ids(30522, 128), "attention_mask": Ids(None, 128), "token_type_ids": Ids(2, 128)}
PAST = {f"past_{kind}{layer}": (1, 12, 127, 64) for layer in range(12) for kind in ("key", "value")}

# {name: (constructor, inputs)}
NETWORKS = {
    "mlp": (mlp, {"image": (1, 784)}),
    "dqn": (dqn, image(4, 84)),
    "resnet18": (lambda: resnet(False, [2, 2, 2, 2]), image(3, 224)),
    "resnet50": (lambda: resnet(True, [3, 4, 6, 3]), image(3, 224)),
    "vgg16": (vgg16, image(3, 224)),
    "mobilenet_v2": (mobilenet_v2, image(3, 224)),
    "inception_v3": (inception_v3, image(3, 299)),
    "densenet121": (densenet121, image(3, 224)),
    "minilm_l6": (lambda: Bert(6, 384, 12, 1536), TOKENS),
    "bert_base": (lambda: Bert(12, 768, 12, 3072), TOKENS),
    "vit_b16": (Vit, image(3, 224)),
    "gpt2_step": (Gpt2Step, {"token": Ids(50257, 1)} | PAST),
}
INTEGERS = {name: ids for _, inputs in NETWORKS.values() for name, ids in inputs.items() if isinstance(ids, Ids)}
# Networks whose run takes a tenth of a second or more.
SLOW = {"vgg16", "inception_v3", "bert_base", "vit_b16"}


def relay_inputs(name):
    """Values of `relay bench --input`, for inputs that do not accept arbitrary random numbers."""
    return ["attention_mask=ones", "token_type_ids=zeros"] if NETWORKS.get(name, [0, 0])[1] is TOKENS else []


def draw_inputs(inputs, random, batch=1):
    def draw(of):
        if not isinstance(of, Ids):
            return torch.randn(batch, *of[1:], generator=random)
        if of.most is None:
            return torch.ones(batch, of.length, dtype=torch.int64)
        return torch.randint(of.most, (batch, of.length), generator=random)

    return [draw(of) for of in inputs.values()]


@torch.no_grad()
def draw_weights(network, random):
    """Draws weights by He's rule, with half the variance where no activation follows (attention, ends of blocks)."""
    for module in network.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            fan_in = module.weight[0].numel()
            module.weight.normal_(0, math.sqrt((2 if isinstance(module, nn.Conv2d) else 1) / fan_in), generator=random)
            if module.bias is not None:
                module.bias.normal_(0, 0.05, generator=random)
        elif isinstance(module, nn.Embedding):
            module.weight.normal_(0, 1, generator=random)
        elif isinstance(module, (nn.BatchNorm2d, nn.LayerNorm)):
            module.weight.uniform_(0.8, 1.2, generator=random)
            module.bias.normal_(0, 0.1, generator=random)
        elif isinstance(module, Vit):
            module.token.normal_(0, 1, generator=random)
            module.positions.normal_(0, 0.5, generator=random)


@torch.no_grad()
def make(name, seed=0):
    """The network in inference mode, and inputs for it."""
    random = torch.Generator().manual_seed(seed)
    create, inputs = NETWORKS[name]
    network = create()
    draw_weights(network, random)
    norms = [m for m in network.modules() if isinstance(m, nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = 1  # uses the statistics of the one batch unchanged
    if norms:
        network.train()(*draw_inputs(inputs, random, batch=4))
    return network.eval(), draw_inputs(inputs, random)


def write(name, folder):
    network, inputs = make(name)
    names = list(NETWORKS[name][1])
    onnx, program = folder / f"{name}.onnx", folder / f"{name}.pt2"
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the exporter that needs only torch is deprecated
        torch.onnx.export(network, tuple(inputs), onnx, input_names=names, opset_version=OPSET, dynamo=False)
        torch.export.save(torch.export.export(network, tuple(inputs)), program)
    return onnx, program


def fingerprint():
    return hashlib.sha256(pathlib.Path(__file__).read_bytes() + torch.__version__.encode()).hexdigest()


def export(wanted=None, folder=FOLDER):
    """Writes the named networks (all by default) into the folder, unless they are there, and returns the paths of the
    ONNX files.
    """
    wanted = list(NETWORKS if wanted is None else wanted)
    folder.mkdir(parents=True, exist_ok=True)
    for name in wanted:
        stamp = folder / f"{name}.stamp"
        if stamp.exists() and stamp.read_text() == fingerprint() and (folder / f"{name}.onnx").exists():
            continue
        stamp.unlink(missing_ok=True)
        files = write(name, folder)
        stamp.write_text(fingerprint())
        print(f"networks: {name} ({sum(f.stat().st_size for f in files) / 1e6:.0f} MB)", flush=True)
    return [folder / f"{name}.onnx" for name in wanted]


def main():
    parser = argparse.ArgumentParser(description="Writes the networks to measure into models/.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="networks (default: all)")
    parser.add_argument("--list", action="store_true", help="list the networks and exit")
    arguments = parser.parse_args()
    logging.getLogger("torch").setLevel(logging.ERROR)
    if unknown := sorted(set(arguments.names) - set(NETWORKS)):
        sys.exit(f"networks: there is no {', '.join(unknown)}; there are {', '.join(NETWORKS)}")
    if arguments.list:
        for name, (create, inputs) in NETWORKS.items():
            with torch.device("meta"):
                count = sum(p.numel() for p in create().parameters())
            shapes = ", ".join(f"{key}{(1, of.length) if isinstance(of, Ids) else of}" for key, of in inputs.items())
            print(f"{name:14}{count / 1e6:8.1f} M parameters   {shapes}")
        return 0
    export(arguments.names or None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
