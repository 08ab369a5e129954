#!/usr/bin/env python3
"""torch.compile with the backend relay beside eager PyTorch and Inductor: inference and steps of training.

    make bench-torch                                          all; writes docs/benchmarks/torch-compile-CPU.md
    .venv/bin/python bench/torch_compile.py --only mlp        one of them, printed only

The engines take turns in one process on the same inputs and weights, and their results are compared; the median of the
rounds counts. A step of training is forward and backward without the update.
"""

import argparse
import copy
import pathlib
import sys
import time

import relay.torch
import torch
import torch.nn.functional as F
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "dev"), str(ROOT / "bench")]
import programs  # noqa: E402
import run  # noqa: E402


class Residual(nn.Module):
    """A basic block of ResNet (He et al., 2015, figure 2)."""

    def __init__(self, inner, outer, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inner, outer, 3, stride, 1, bias=False), nn.BatchNorm2d(outer), nn.ReLU(),
            nn.Conv2d(outer, outer, 3, 1, 1, bias=False), nn.BatchNorm2d(outer),
        )  # fmt: skip
        same = stride == 1 and inner == outer
        self.around = nn.Identity() if same else nn.Conv2d(inner, outer, 1, stride, bias=False)

    def forward(self, x):
        return F.relu(self.body(x) + self.around(x))


def resnet18():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    inner = 64
    for outer in (64, 128, 256, 512):
        layers += [Residual(inner, outer, 1 if outer == 64 else 2), Residual(outer, outer, 1)]
        inner = outer
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def mobilenet():
    """The first stages of MobileNet v1 (Howard et al., 2017, table 1)."""
    layers = [nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU6()]
    for inner, outer, stride in ((32, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1)):
        layers += [nn.Conv2d(inner, inner, 3, stride, 1, groups=inner, bias=False), nn.BatchNorm2d(inner), nn.ReLU6()]
        layers += [nn.Conv2d(inner, outer, 1, bias=False), nn.BatchNorm2d(outer), nn.ReLU6()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 10))


def cnn():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1),
        nn.BatchNorm2d(64), nn.ReLU(), nn.Conv2d(64, 128, 3, stride=2, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(128, 10),
    )  # fmt: skip


def mlp():
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10))


def encoder():
    torch.backends.mha.set_fastpath_enabled(False)
    layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, activation="gelu", batch_first=True)
    return nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)


# What it is called: how it is made, the input's shape, whether a step of training is measured.
CASES = {
    "ResNet-18, 112 x 112": (resnet18, (1, 3, 112, 112), False),
    "MobileNet v1, first 5 blocks, 160 x 160": (mobilenet, (1, 3, 160, 160), False),
    "transformer encoder, 4 layers of 256, 128 tokens": (encoder, (1, 128, 256), False),
    "MLP 784-512-256-10, batch 64": (mlp, (64, 784), True),
    "CNN 3-32-64-128 with batch_norm, batch 8 of 32 x 32": (cnn, (8, 3, 32, 32), True),
    "training a transformer encoder, 4 layers of 256, 128 tokens": (encoder, (1, 128, 256), True),
}


def step(model, called, x, learns):
    """A function of no arguments that gives tensors to compare."""

    def infer():
        with torch.no_grad():
            return [called(x)]

    def learn():
        return torch.autograd.grad(called(x).square().mean(), list(model.parameters()))

    return learn if learns else infer


def measure(name, threads, rounds):
    """(milliseconds of eager PyTorch, Inductor and Relay; seconds that Inductor and Relay take to compile)."""
    make, shape, learns = CASES[name]
    torch.manual_seed(0)
    torch.set_num_threads(threads)
    torch._dynamo.reset()
    eager, x = make().train(learns), torch.randn(shape)
    models = [eager, copy.deepcopy(eager), copy.deepcopy(eager)]
    called = [eager, torch.compile(models[1]), relay.torch.compile(models[2], threads=threads, freeze=not learns)]
    runs = [step(model, call, x, learns) for model, call in zip(models, called, strict=True)]
    results, seconds = [], []
    for one in runs:
        begin = time.perf_counter()
        results.append(one())
        seconds.append(time.perf_counter() - begin)
    for other in results[1:]:
        for got, want in zip(other, results[0], strict=True):
            torch.testing.assert_close(got, want, rtol=1e-2, atol=1e-3 * max(1, want.abs().max().item()))
    return [t * 1e3 for t in programs.medians(runs, rounds, seconds=0.1)], seconds[1:]


def main():
    parser = argparse.ArgumentParser(description="Measures torch.compile with the backend relay.")
    parser.add_argument("--only", metavar="TEXT", help="networks whose name has the text; then no page is written")
    parser.add_argument("--rounds", type=int, default=9, metavar="N", help="(default 9)")
    arguments = parser.parse_args()
    load_before = run.machine_load()
    lines = [
        "| network | threads | Relay, ms | eager, ms | Inductor, ms | best / Relay | Relay compiles, s "
        "| Inductor compiles, s |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    print("\n".join(lines), flush=True)
    for name in CASES:
        if arguments.only and arguments.only.lower() not in name.lower():
            continue
        for threads in (1, 2):
            (eager, inductor, ours), (theirs, compiled) = measure(name, threads, arguments.rounds)
            ratio = min(eager, inductor) / ours
            lines.append(
                f"| {name} | {threads} | {ours:.2f} | {eager:.2f} | {inductor:.2f} | {ratio:.2f} | {compiled:.1f} "
                f"| {theirs:.1f} |"
            )
            print(lines[-1], flush=True)
    if arguments.only:
        return
    page = ROOT / "docs" / "benchmarks" / f"torch-compile-{run.slug(run.cpu_name())}.md"
    version = torch.__version__.split("+")[0]
    page.write_text(f"""<!-- Written by bench/torch_compile.py. Do not edit. -->
# torch.compile: {run.cpu_name()}

The backend relay of torch.compile ([PyTorch](../pytorch.md#torchcompile)) beside eager PyTorch {version} and Inductor,
measured {time.strftime("%Y-%m-%d")}. The first three networks are inference, with parameters frozen in Relay; the
others are forward and backward of a step of training. Compiling is the first call; Inductor's cache may have its kernels.
{run.busy(load_before)}

{chr(10).join(lines)}

To repeat: `make bench-torch`. The engines take turns on the same inputs and weights, and their results are compared.
""")
    print(f"bench: wrote {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
