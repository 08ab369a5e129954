#!/usr/bin/env python3
"""Compares losses with the gradients of all weights: Relay, PyTorch in eager mode and torch.compile.

    make bench-grad                                       all; writes docs/benchmarks/gradients-CPU.md
    .venv/bin/python bench/gradients.py --only lstm       only this one; writes no page

The engines take turns in one process on the same inputs and weights, and their results are compared. The median of the
rounds counts. Each measurement is one training step without the update: forward and backward.
"""

import argparse
import pathlib
import re
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F

import relay

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "dev"), str(ROOT / "bench")]
import programs  # noqa: E402
import run  # noqa: E402


class Case:
    """A loss: `module` for Relay, `loss(inputs.., weights..)` in PyTorch, with the arrays for both. `of_lists`: Relay
    gets each input as the list of its rows. `ordered` converts a weight of PyTorch to Relay's order."""

    def __init__(self, name, module, loss, inputs, weights, of_lists=False):
        self.name, self.module, self.loss, self.inputs, self.weights = name, module, loss, inputs, weights
        self.of_lists, self.ordered = of_lists, lambda weight: weight


def variables(arrays, prefix):
    return [relay.var(f"{prefix}{i}", shape=a.shape, dtype=str(a.dtype)) for i, a in enumerate(arrays)]


def case_of(name, build, loss, inputs, weights):
    """`build` computes the loss from Relay's variables as `loss` does from tensors."""
    given, learnt = variables(inputs, "x"), variables(weights, "w")
    module = relay.IRModule({"main": relay.Function(given + learnt, build(*given, *learnt))})
    return Case(name, module, loss, inputs, weights)


def labels(rng, rows, classes):
    return rng.integers(classes, size=rows).astype(np.int64)


def cross_entropy(scores, targets, classes):
    ones = relay.ones(shape=[classes], dtype="float32")
    return relay.nn.nll_loss(relay.nn.log_softmax(scores), targets, ones)


def mlp(rng, rows=64):
    weights = programs.weights(rng, (512, 784), (512,), (256, 512), (256,), (10, 256), (10,))
    inputs = [rng.standard_normal((rows, 784)).astype(np.float32), labels(rng, rows, 10)]

    def build(x, y, w1, b1, w2, b2, w3, b3):
        for w, b in ((w1, b1), (w2, b2)):
            x = relay.nn.relu(relay.nn.bias_add(relay.nn.dense(x, w), b))
        return cross_entropy(relay.nn.bias_add(relay.nn.dense(x, w3), b3), y, 10)

    def loss(x, y, w1, b1, w2, b2, w3, b3):
        x = F.relu(F.linear(F.relu(F.linear(x, w1, b1)), w2, b2))
        return F.cross_entropy(F.linear(x, w3, b3), y)

    return case_of(f"MLP, 784-512-256-10, batch {rows}", build, loss, inputs, weights)


def cnn(rng, rows=8):
    weights = programs.weights(rng, (32, 3, 3, 3), (64, 32, 3, 3), (128, 64, 3, 3), (10, 128))
    weights = [w * (3 if w.ndim == 4 else 1) ** -1 for w in weights]
    inputs = [rng.standard_normal((rows, 3, 32, 32)).astype(np.float32), labels(rng, rows, 10)]

    def build(x, y, w1, w2, w3, w4):
        x = relay.nn.relu(relay.nn.conv2d(x, w1, padding=[1, 1]))
        x = relay.nn.max_pool2d(x, pool_size=[2, 2], strides=[2, 2])
        x = relay.nn.relu(relay.nn.conv2d(x, w2, padding=[1, 1]))
        x = relay.nn.relu(relay.nn.conv2d(x, w3, padding=[1, 1], strides=[2, 2]))
        return cross_entropy(relay.nn.dense(relay.nn.batch_flatten(relay.nn.global_avg_pool2d(x)), w4), y, 10)

    def loss(x, y, w1, w2, w3, w4):
        x = F.max_pool2d(F.relu(F.conv2d(x, w1, padding=1)), 2)
        x = F.relu(F.conv2d(F.relu(F.conv2d(x, w2, padding=1)), w3, padding=1, stride=2))
        return F.cross_entropy(F.linear(x.mean((2, 3)), w4), y)

    return case_of(f"CNN, 3-32-64-128, batch {rows} of 32 x 32", build, loss, inputs, weights)


def transformer(rng, tokens=128, d=256, heads=4, layers=2):
    weights = []
    for _ in range(layers):
        weights += programs.weights(rng, (3 * d, d), (d, d), (4 * d, d), (d, 4 * d))
        weights += [np.ones(d, np.float32), np.zeros(d, np.float32)]
    inputs = [rng.standard_normal((tokens, d)).astype(np.float32)]

    def build(x, *all_weights):
        def split_heads(t):
            return relay.transpose(relay.reshape(t, newshape=[tokens, heads, d // heads]), axes=[1, 0, 2])

        for i in range(0, len(all_weights), 6):
            qkv, out, up, down, g, b = all_weights[i : i + 6]
            parts = relay.split(relay.nn.dense(relay.nn.layer_norm(x, g, b), qkv), indices_or_sections=3, axis=1)
            q, k, v = (split_heads(t) for t in parts)
            scores = relay.nn.batch_matmul(q, k, transpose_b=True) * relay.const(np.float32((d // heads) ** -0.5))
            mixed = relay.nn.batch_matmul(relay.nn.softmax(scores), v, transpose_b=False)
            mixed = relay.reshape(relay.transpose(mixed, axes=[1, 0, 2]), newshape=[tokens, d])
            x = x + relay.nn.dense(mixed, out)
            h = relay.nn.dense(relay.nn.layer_norm(x, g, b), up)
            h = h * relay.const(0.5) * (relay.const(1.0) + relay.erf(h * relay.const(np.float32(0.5**0.5))))
            x = x + relay.nn.dense(h, down)
        return relay.mean(x * x)

    def loss(x, *all_weights):
        for i in range(0, len(all_weights), 6):
            qkv, out, up, down, g, b = all_weights[i : i + 6]
            parts = F.linear(F.layer_norm(x, (d,), g, b), qkv).chunk(3, 1)
            q, k, v = (t.reshape(tokens, heads, -1).transpose(0, 1) for t in parts)
            mixed = F.scaled_dot_product_attention(q, k, v)
            x = x + F.linear(mixed.transpose(0, 1).reshape(tokens, d), out)
            x = x + F.linear(F.gelu(F.linear(F.layer_norm(x, (d,), g, b), up)), down)
        return (x * x).mean()

    return case_of(f"transformer, {layers} layers of {d}, {tokens} tokens", build, loss, inputs, weights)


LSTM = """#[version = "0.0.5"]
import "list"
def @run(%xs: List[Tensor[(R, I), float32]], %h: Tensor[(R, H), float32], %c: Tensor[(R, H), float32],
         %w: Tensor[(G, I), float32], %u: Tensor[(G, H), float32], %b: Tensor[(G), float32]
        ) -> Tensor[(R, H), float32] {
  match (%xs) {
    Nil => %h,
    Cons(%x, %rest) => {
      let %g = split(nn.bias_add(add(nn.dense(%x, %w), nn.dense(%h, %u)), %b), indices_or_sections=4, axis=1);
      let %next = add(multiply(sigmoid(%g.1), %c), multiply(sigmoid(%g.0), tanh(%g.2)));
      @run(%rest, multiply(sigmoid(%g.3), tanh(%next)), %next, %w, %u, %b)
    },
  }
}
def @main(%xs: List[Tensor[(R, I), float32]], %w: Tensor[(G, I), float32], %u: Tensor[(G, H), float32],
          %b: Tensor[(G), float32]) {
  let %zero = zeros(shape=[R, H], dtype="float32");
  let %h = @run(%xs, %zero, %zero, %w, %u, %b);
  mean(multiply(%h, %h))
}
"""


def torch_lstm(rng, rows, width, hidden, steps):
    """The loss of PyTorch's LSTM, its inputs and its weights."""
    weights = programs.weights(rng, (4 * hidden, width), (4 * hidden, hidden), (4 * hidden,))
    xs = rng.standard_normal((steps, rows, width)).astype(np.float32)
    cell = torch.nn.LSTM(width, hidden)

    def loss(xs, w, u, b):
        state = {"weight_ih_l0": w, "weight_hh_l0": u, "bias_ih_l0": b, "bias_hh_l0": torch.zeros_like(b)}
        h = torch.func.functional_call(cell, state, (xs,))[1][0][0]
        return (h * h).mean()

    return loss, [xs], weights


def lstm(rng, rows=16, width=64, hidden=128, steps=32):
    loss, inputs, weights = torch_lstm(rng, rows, width, hidden, steps)

    def build(xs, w, u, b):
        zeros = [relay.zeros(shape=[1, rows, hidden], dtype="float32") for _ in range(2)]
        h = relay.TupleGetItem(relay.nn.lstm(xs, [w, u, b, relay.zeros_like(b)], zeros), 1)
        return relay.mean(relay.multiply(h, h))

    def ordered(weight):  # gates i, f, c, o to i, o, f, c
        return weight.reshape(4, hidden, -1)[[0, 3, 1, 2]].reshape(weight.shape)

    case = case_of(f"LSTM, {width}-{hidden}, {steps} steps of batch {rows}", build, loss, inputs, weights)
    case.ordered = ordered
    return case


def folded_lstm(rng, rows=16, width=64, hidden=128, steps=32):
    loss, inputs, weights = torch_lstm(rng, rows, width, hidden, steps)
    sizes = {"R": rows, "I": width, "H": hidden, "G": 4 * hidden}
    text = re.sub(r"\b[RIHG]\b", lambda letter: str(sizes[letter.group()]), LSTM)
    return Case("the same as a recursive function", relay.parse(text), loss, inputs, weights, of_lists=True)


CASES = {"mlp": mlp, "cnn": cnn, "transformer": transformer, "lstm": lstm, "folded_lstm": folded_lstm}


def measure(case, threads, rounds):
    """(milliseconds of Relay, PyTorch, torch.compile); the last is None if torch.compile fails."""
    torch.set_num_threads(threads)
    names = [param.name_hint for param in case.module["main"].params]
    made = relay.value_and_grad(case.module, wrt=names[len(case.inputs) :])
    step = relay.compile(made, threads=threads, tier="full")
    arrays = [list(a) if case.of_lists else a for a in case.inputs]
    arrays += [case.ordered(weight) for weight in case.weights]
    given = [torch.from_numpy(a) for a in case.inputs]
    learnt = [torch.from_numpy(a).requires_grad_() for a in case.weights]
    prepared = [step.value(a) for a in arrays] if case.of_lists else arrays

    def backward(loss):
        return lambda: torch.autograd.grad(loss(*given, *learnt), learnt)

    want = backward(case.loss)()
    got = step(*prepared)[1]
    for one, expected in zip(got, want, strict=True):
        expected = case.ordered(expected.numpy())
        np.testing.assert_allclose(np.asarray(one), expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())
    runs = [lambda: step(*prepared), backward(case.loss)]
    try:
        torch._dynamo.reset()
        fused = backward(torch.compile(case.loss))
        fused()
        runs.append(fused)
    except Exception as e:  # a failure of torch.compile leaves its cell empty
        print(f"bench: torch.compile fails on {case.name}: {str(e).splitlines()[0][:100]}", file=sys.stderr)
    times = [t * 1e3 for t in programs.medians(runs, rounds, seconds=0.2)]
    return [*times, None][:3]


def main():
    parser = argparse.ArgumentParser(description="Compares losses and gradients with PyTorch.")
    parser.add_argument("--only", nargs="+", choices=CASES, help="only these; writes no page")
    parser.add_argument("--rounds", type=int, default=11, metavar="N", help="(default 11)")
    arguments = parser.parse_args()
    load_before = run.machine_load()
    lines = [
        f"| model | threads | Relay, ms | PyTorch {torch.__version__.split('+')[0]}, ms | torch.compile, ms "
        "| best / Relay |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    print("\n".join(lines), flush=True)
    for name in arguments.only or CASES:
        for threads in (1, 2):
            case = CASES[name](np.random.default_rng(1))
            ours, eager, fused = measure(case, threads, arguments.rounds)
            best = min(t for t in (eager, fused) if t is not None)
            text = "fails" if fused is None else f"{fused:.2f}"
            lines.append(f"| {case.name} | {threads} | {ours:.2f} | {eager:.2f} | {text} | {best / ours:.2f} |")
            print(lines[-1], flush=True)
    if arguments.only:
        return
    page = ROOT / "docs" / "benchmarks" / f"gradients-{run.slug(run.cpu_name())}.md"
    page.write_text(f"""<!-- Written by bench/gradients.py. Do not edit. -->
# Gradients: {run.cpu_name()}

One training step without the update, measured {time.strftime("%Y-%m-%d")}: the loss and its gradients with respect to
all weights ([differentiation](../differentiation.md)), compared with PyTorch in eager mode and with torch.compile. In
Relay, the LSTM is `nn.lstm` in the first of its rows, and a recursive function over a list in the second; PyTorch uses
torch.nn.LSTM in both.
{run.busy(load_before)}

{chr(10).join(lines)}

To repeat: `make bench-grad`. The engines take turns on the same inputs and weights, and their results are compared.
""")
    print(f"bench: wrote {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
