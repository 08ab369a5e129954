#!/usr/bin/env python3
"""Compares models that are programs (examples/*.relay) with the same models in PyTorch, on one thread.

    make bench-programs                                        all of them; writes docs/benchmarks/programs-CPU.md
    .venv/bin/python bench/programs.py --only tree_lstm        only this one; writes no page

PyTorch runs in eager mode under no_grad, with the control flow in Python, as people write such models. Both get the same
inputs and weights in their own form and take turns in one process, and their results are compared. The median of the
rounds counts. Weights are constants of the program (relay.bind), so they are packed when it is compiled.
"""

import argparse
import gc
import pathlib
import statistics
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F

import relay
from relay import Data

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "dev"), str(ROOT / "bench")]
import run  # noqa: E402

EXAMPLES = ROOT / "examples"
EXECUTORS = ["vm", "aot"]


class Case:
    """A model: `module` and `arguments` for Relay, `peer()` in PyTorch. `results` converts a result to arrays to
    compare. A call computes `units` units, such as tokens."""

    def __init__(self, name, unit, units, module, arguments, peer, results):
        self.name, self.unit, self.units, self.module, self.arguments = name, unit, units, module, arguments
        self.peer, self.results = peer, results


def weights(rng, *shapes):
    return [(rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32) for shape in shapes]


def load(name, arrays):
    """The example with its last parameters bound to the weights."""
    module = relay.load(EXAMPLES / f"{name}.relay")
    main = module["main"]
    bound = dict(zip(main.params[-len(arrays) :], map(relay.const, arrays), strict=True))
    module["main"] = relay.bind(main, bound)
    return module


# --- TreeLSTM ---------------------------------------------------------------------------------------------------------


def random_tree(rng, nodes):
    """A tree in which each node but the root is the child of a random earlier node. A node is the list of its children."""
    children = [[] for _ in range(nodes)]
    for i in range(1, nodes):
        children[int(rng.integers(i))].append(children[i])
    return children[0]


def parse_tree(rng, words):
    """A binary tree with the words of a sentence at its leaves, split at random places."""
    if words == 1:
        return []
    left = int(rng.integers(1, words))
    return [parse_tree(rng, left), parse_tree(rng, words - left)]


def tree_lstm(name, rng, shapes):
    w, u, uf, b = arrays = weights(rng, (600, 300), (450, 150), (150, 150), (600,))
    tw, tu, tuf, tb = map(torch.from_numpy, arrays)
    count = 0

    def with_input(children):
        nonlocal count
        count += 1
        return rng.standard_normal((1, 300)).astype(np.float32), [with_input(c) for c in children]

    trees = [with_input(shape) for shape in shapes]

    def data(tree):
        return Data("Rose", tree[0], [data(child) for child in tree[1]])

    def for_torch(tree):
        return torch.from_numpy(tree[0]), [for_torch(child) for child in tree[1]]

    zero = torch.zeros(1, 150)

    def state(tree):
        x, children = tree
        i, o, u_, f = F.linear(x, tw, tb).split(150, dim=1)
        h, below = zero, zero
        if children:
            hs, cs = zip(*map(state, children), strict=True)
            hs, cs = torch.cat(hs), torch.cat(cs)
            h = hs.sum(0, keepdim=True)
            below = (torch.sigmoid(f + F.linear(hs, tuf)) * cs).sum(0, keepdim=True)
        si, so, su = F.linear(h, tu).split(150, dim=1)
        c = torch.sigmoid(i + si) * torch.tanh(u_ + su) + below
        return torch.sigmoid(o + so) * torch.tanh(c), c

    torch_trees = [for_torch(tree) for tree in trees]
    return Case(
        name,
        "node",
        count,
        load("tree_lstm", arrays),
        [(data(tree),) for tree in trees],
        lambda: [state(tree) for tree in torch_trees],
        lambda result: [np.asarray(part) for tree in result for part in tree],
    )


# --- recurrent networks -----------------------------------------------------------------------------------------------


def char_rnn(rng, length=256):
    w, b, v = weights(rng, (64, 91), (64,), (27, 64))
    tw, tb, tv = map(torch.from_numpy, (w, b, v))

    def write():
        text, c, h = [], 5, torch.zeros(1, 64)
        for _ in range(length):
            x = F.one_hot(torch.tensor([c]), 27).float()
            h = torch.tanh(F.linear(torch.cat([x, h], dim=1), tw, tb))
            c = int(F.linear(h, tv).argmax())
            text.append(c)
        return [text]

    def results(all_texts):
        return [np.array(t if isinstance(t, list) else [int(c) for c in relay.values.as_list(t)]) for t in all_texts]

    module = load("char_rnn", (w, b, v))
    return Case("CharRNN", "token", length, module, [(np.int32(5), np.int32(length))], write, results)


def cells(rng, length=256):
    arrays = [weights(rng, (32 * k, 16), (32 * k, 32), (32 * k,)) for k in (1, 3, 4)]
    inputs = [rng.standard_normal((1, 16)).astype(np.float32) for _ in range(length)]
    torch_inputs = [torch.from_numpy(x) for x in inputs]
    (w1, u1, b1), (w2, u2, b2), (w3, u3, b3) = [[torch.from_numpy(a) for a in three] for three in arrays]

    def peer():
        rnn = gru = lstm = c = torch.zeros(1, 32)
        for x in torch_inputs:
            rnn = torch.tanh(F.linear(x, w1, b1) + F.linear(rnn, u1))
        for x in torch_inputs:
            a, s = F.linear(x, w2, b2).split(32, dim=1), F.linear(gru, u2).split(32, dim=1)
            z, r = torch.sigmoid(a[0] + s[0]), torch.sigmoid(a[1] + s[1])
            gru = (1 - z) * torch.tanh(a[2] + r * s[2]) + z * gru
        for x in torch_inputs:
            i, f, o, g = (F.linear(x, w3, b3) + F.linear(lstm, u3)).split(32, dim=1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            lstm = torch.sigmoid(o) * torch.tanh(c)
        return [(rnn, gru, lstm)]

    module = load("rnn_cells", [a for three in arrays for a in three])
    results = lambda three: [np.asarray(h) for h in three[0]]  # noqa: E731
    return Case("RNN, GRU and LSTM cells", "token", 3 * length, module, [(inputs,)], peer, results)


# --- an interpreter ---------------------------------------------------------------------------------------------------


def interpreter(rng, n=10):
    """The factorial of n as a program of the interpreted language: a function that is applied to itself."""
    itself = ("Apply", ("Variable", 1), ("Variable", 1))
    step = ("Multiply", ("Variable", 0), ("Apply", itself, ("Add", ("Variable", 0), ("Number", -1.0))))
    factorial = ("Lambda", ("Lambda", ("IfPositive", ("Variable", 0), step, ("Number", 1.0))))
    program = ("Let", factorial, ("Apply", ("Apply", ("Variable", 0), ("Variable", 0)), ("Number", float(n))))

    def data(e):
        return Data(e[0], *(data(part) if isinstance(part, tuple) else part for part in e[1:]))

    def for_torch(e):
        kind, *parts = e
        return kind, *(
            for_torch(p) if isinstance(p, tuple) else torch.tensor(p) if kind == "Number" else p for p in parts
        )

    count = 0

    def run(e, scope):  # scope: (the last value, the scope before it)
        nonlocal count
        count += 1
        kind = e[0]
        if kind == "Number":
            return e[1]
        if kind == "Variable":
            for _ in range(e[1]):
                scope = scope[1]
            return scope[0]
        if kind == "Lambda":
            return e[1], scope
        if kind == "Let":
            return run(e[2], (run(e[1], scope), scope))
        if kind == "IfPositive":
            return run(e[2] if run(e[1], scope) > 0 else e[3], scope)
        a = run(e[1], scope)
        b = run(e[2], scope)
        return run(a[0], (b, a[1])) if kind == "Apply" else a + b if kind == "Add" else a * b

    prepared = for_torch(program)
    run(prepared, None)
    nodes = count

    def results(all_results):
        (result,) = all_results
        return [np.asarray(result if isinstance(result, torch.Tensor) else result.fields[0])]

    module = relay.load(EXAMPLES / "interpreter.relay")
    return Case("interpreter", "node", nodes, module, [(data(program),)], lambda: [run(prepared, None)], results)


CASES = {
    "tree_lstm": lambda rng: tree_lstm("TreeLSTM, random trees", rng, [random_tree(rng, 40) for _ in range(8)]),
    "tree_lstm_parse": lambda rng: tree_lstm("TreeLSTM, parses", rng, [parse_tree(rng, 20) for _ in range(8)]),
    "char_rnn": char_rnn,
    "cells": cells,
    "interpreter": interpreter,
}


# --- measuring --------------------------------------------------------------------------------------------------------


def medians(runs, rounds, seconds=0.03, clock=time.perf_counter):
    """The median time of each function in seconds of a clock. The functions take turns."""
    gc.collect()
    gc.freeze()  # the collector skips objects that the frameworks made when they were imported
    counts = []
    for function in runs:
        function()
        begin = clock()
        function()
        counts.append(max(1, int(seconds / max(clock() - begin, 1e-6))))
    times = [[] for _ in runs]
    for _ in range(rounds):
        for function, count, mine in zip(runs, counts, times, strict=True):
            begin = clock()
            for _ in range(count):
                function()
            mine.append((clock() - begin) / count)
    return [statistics.median(mine) for mine in times]


def measure(case, rounds):
    """(microseconds per unit of PyTorch, microseconds per unit of each executor)."""
    expected = case.results(case.peer())
    runs = [case.peer]
    for executor in EXECUTORS:
        compiled = relay.compile(case.module, threads=1, executor=executor, tier="full")
        prepared = [[compiled.value(argument) for argument in arguments] for arguments in case.arguments]
        got = case.results([compiled(*arguments) for arguments in prepared])
        for a, b in zip(got, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)
        runs.append(lambda compiled=compiled, all=prepared: [compiled(*arguments) for arguments in all])
    return [t / case.units * 1e6 for t in medians(runs, rounds)]


def dense_network(rng, rounds):
    """Three dense layers without control flow: (microseconds of the graph executor, microseconds of the VM)."""
    x = relay.var("x", shape=(1, 1024))
    body = x
    for w in weights(rng, (512, 1024), (256, 512), (128, 256)):
        body = relay.nn.relu(relay.nn.dense(body, relay.const(w)))
    module = relay.IRModule.from_expr(relay.Function([x], body))
    value = rng.standard_normal((1, 1024)).astype(np.float32)
    compiled = [relay.compile(module, threads=1, executor=e, tier="full") for e in ("graph", "vm")]
    return [t * 1e6 for t in medians([lambda c=c: c(value) for c in compiled], rounds)]


def specialised_interpreter(rounds):
    """Microseconds per call of the interpreter with a program bound, before and after partial evaluation."""
    text = (EXAMPLES / "interpreter.relay").read_text()
    program = """Let(Lambda(Multiply(Variable(0), Add(Variable(0), Number(1f)))),
                     Add(Apply(Variable(0), Number(%x)), Apply(Variable(0), Number(3f))))"""
    main = f"def @main(%x: float32) {{ match (@eval({program}, Nil)) {{ Real(%r) => %r, _ => 0f }} }}"
    module = relay.parse(text[: text.index("def @main")] + main)
    special = relay.run_passes(module, ["partial_evaluate"])
    compiled = [relay.compile(m, threads=1, executor=e, tier="full") for e in ("vm", "aot") for m in (module, special)]
    x = np.float32(2)
    assert {float(c(x)) for c in compiled} == {18.0}
    return [t * 1e6 for t in medians([lambda c=c: c(x) for c in compiled], rounds)]


def main():
    parser = argparse.ArgumentParser(description="Compares models that are programs with PyTorch.")
    parser.add_argument("--only", nargs="+", choices=CASES, help="only these; writes no page")
    parser.add_argument("--rounds", type=int, default=15, metavar="N", help="(default 15)")
    arguments = parser.parse_args()
    load_before = run.machine_load()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    lines = [
        f"| model | PyTorch {torch.__version__.split('+')[0]}, us | VM, us | AOT, us | PyTorch / AOT | VM / AOT |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    print("\n".join(lines), flush=True)
    for name in arguments.only or CASES:
        case = CASES[name](np.random.default_rng(1))
        peer, vm, aot = measure(case, arguments.rounds)
        lines.append(
            f"| {case.name}, a {case.unit} | {peer:.1f} | {vm:.2f} | {aot:.2f} | {peer / aot:.1f} | {vm / aot:.2f} |"
        )
        print(lines[-1], flush=True)
    if arguments.only:
        return
    graph, vm = dense_network(np.random.default_rng(2), arguments.rounds)
    static = f"Three dense layers, 1024-512-256-128: graph executor {graph:.1f} us, VM {vm:.1f} us ({vm / graph:.2f})."
    print(static)
    before_vm, after_vm, before_aot, after_aot = specialised_interpreter(arguments.rounds)
    special = (
        "The interpreter with a program bound, before and after partial evaluation reduces it to the program's arithmetic: "
        f"VM {before_vm:.1f} us and {after_vm:.1f}, AOT {before_aot:.1f} and {after_aot:.1f}."
    )
    print(special)
    page = ROOT / "docs" / "benchmarks" / f"programs-{run.slug(run.cpu_name())}.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text(f"""<!-- Written by bench/programs.py. Do not edit. -->
# Models that are programs: {run.cpu_name()}

Measured {time.strftime("%Y-%m-%d")} on one thread. PyTorch in eager mode, `no_grad`.
{run.busy(load_before)}

{chr(10).join(lines)}

{static}

{special}

To repeat: `make bench-programs`. The engines take turns on the same inputs and weights, and their results are compared. The time of a call
includes the conversion of its result to Python objects.
""")
    print(f"bench: wrote {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
