#!/usr/bin/env python3
"""Compares torch.compile's backend relay with eager PyTorch and the default backend, Inductor: calls and first calls.

    make bench-torch                                              all; writes docs/benchmarks/torch-compile-CPU.md
    .venv/bin/python bench/torch_compile.py --only mlp            rows whose name contains the text; writes no page
    .venv/bin/python bench/torch_compile.py --networks timm.resnet50 transformers.roberta
                                                                  others of test/zoo/networks.txt; writes no page

The engines take turns in one process on the same inputs and weights, and their results are compared. The median of the
rounds counts. A training step is a forward and a backward pass without the update. In inference, both backends may
treat parameters as constants (freezing). Inductor's caches are off.
"""

import argparse
import copy
import os
import pathlib
import sys
import tempfile
import time
import warnings

FOLDER = tempfile.TemporaryDirectory(prefix="relay-bench-")  # Inductor's compiled code
os.environ |= {"TORCHINDUCTOR_CACHE_DIR": FOLDER.name, "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}

import relay.torch  # noqa: E402
import torch  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "dev"), str(ROOT / "bench")]
import programs  # noqa: E402
import run  # noqa: E402
import torch_cases  # noqa: E402
from torch_rows import HEAD, Row, behind, first, means, steps  # noqa: E402

warnings.filterwarnings("ignore", "dynamo_pgo force disabled")

PAGE = ROOT / "docs" / "benchmarks" / f"torch-compile-{run.slug(run.cpu_name())}.md"
THREADS = (1, 2)
TRACES = "aot_eager"  # a backend of PyTorch that traces like the others and compiles nothing


def first_of(result):
    while not isinstance(result, torch.Tensor):
        result = next(iter(result.values())) if isinstance(result, dict) else result[0]
    return result


def call_of(model, called, inputs, learns):
    """A function without arguments that returns tensors to compare."""

    def infer():
        with torch.no_grad():
            return [first_of(called(*inputs))]

    def learn():
        return torch.autograd.grad(called(*inputs).square().mean(), list(model.parameters()))

    return learn if learns else infer


def engines(model, learns, threads):
    """{engine: (a copy of the model, the callable to measure)}."""
    copies = {name: copy.deepcopy(model) for name in ("eager", "tracing", "Inductor", "Relay")}
    return {
        "eager": (copies["eager"], copies["eager"]),
        "tracing": (copies["tracing"], torch.compile(copies["tracing"], backend=TRACES, dynamic=False)),
        "Inductor": (copies["Inductor"], torch.compile(copies["Inductor"], dynamic=False)),
        "Relay": (
            copies["Relay"],
            relay.torch.compile(copies["Relay"], threads=threads, freeze=not learns, dynamic=False),
        ),
    }


def first_calls(calls, learns):
    """({engine: result of the first call}, {engine: its seconds})."""
    results, seconds = {}, {}
    for name, call in calls.items():
        freezes = name == "Inductor" and not learns  # the setting also changes PyTorch's tracing
        with torch._inductor.config.patch(freezing=freezes):
            begin = time.perf_counter()
            results[name] = call()
            seconds[name] = time.perf_counter() - begin
    return results, seconds


def measure(model, inputs, learns, threads, rounds):
    """({engine: milliseconds of a call}, {engine: seconds of the first call})."""
    torch.set_num_threads(threads)
    torch._dynamo.reset()
    calls = {
        name: call_of(its, called, inputs, learns)
        for name, (its, called) in engines(model.train(learns), learns, threads).items()
    }
    results, seconds = first_calls(calls, learns)
    for name in ("Inductor", "Relay"):
        for got, want in zip(results[name], results["eager"], strict=True):
            torch.testing.assert_close(
                got,
                want,
                rtol=1e-2,
                atol=1e-3 * max(1, want.abs().max().item()),
                msg=lambda said, n=name: f"{n}: {said}",
            )
    timed = {name: call for name, call in calls.items() if name != "tracing"}
    medians = programs.medians(list(timed.values()), rounds, seconds=0.1)
    return {name: 1e3 * one for name, one in zip(timed, medians, strict=True)}, seconds


def warm_up():
    """Uses each backend once, so that no network pays for loading and setting it up."""
    model, inputs = torch_cases.Pieces(False), (torch.randn(8, 64),)
    for learns in (False, True):
        measure(model, inputs, learns, 2, 1)


def graph_break(rounds):
    """A table of the cost of a graph break per call, by engine."""
    ms = [
        measure(torch_cases.Pieces(breaks).eval(), (torch.randn(8, 64),), False, 1, rounds)[0]
        for breaks in (False, True)
    ]
    lines = ["| engine | one graph, us | two graphs, us | graph break, us |", "| --- | ---: | ---: | ---: |"]
    for name in ("Relay", "Inductor", "eager"):
        whole, broken = (1e3 * one[name] for one in ms)
        lines.append(f"| {name} | {whole:.1f} | {broken:.1f} | {broken - whole:.1f} |")
    return lines


def rows_of(names, make, learns, rounds):
    """Measures each network with each number of threads, and prints each row as soon as it is measured."""
    rows = []
    print("\n".join(HEAD), flush=True)
    for name in names:
        for threads in THREADS:
            model, inputs = make(name)
            rows.append(Row(name, threads, *measure(model, inputs, learns, threads, rounds)))
            print(rows[-1].text(), flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description="Measures torch.compile with the backend relay.")
    parser.add_argument(
        "--only", metavar="TEXT", help="only networks whose name contains TEXT; writes no page unless --page is given"
    )
    parser.add_argument("--networks", nargs="+", default=[], metavar="SOURCE.NAME",
                        help="inference of these networks of test/zoo/networks.txt; no page unless --page is given")  # fmt: skip
    parser.add_argument("--rounds", type=int, default=9, metavar="N", help="rounds (default 9)")
    parser.add_argument("--page", type=pathlib.Path, metavar="FILE", help="write the page to FILE, also with --only")
    arguments = parser.parse_args()
    load_before, begin = run.machine_load(), time.monotonic()

    def chosen(names):
        return [name for name in names if (arguments.only or "").lower() in name.lower()]

    inference = arguments.networks or chosen([*torch_cases.ZOO, *torch_cases.INFERENCE])
    training = [] if arguments.networks else chosen(torch_cases.TRAINING)
    warm_up()
    infers = rows_of(inference, torch_cases.made, False, arguments.rounds) if inference else []
    learns = rows_of(training, lambda name: torch_cases.TRAINING[name](), True, arguments.rounds) if training else []
    summary = [*means(infers), "", *behind(infers)] if infers else []
    trained = [*means(learns), "", *behind(learns), "", *steps(learns)] if learns else []
    page = arguments.page or (None if arguments.networks or arguments.only else PAGE)
    breaks = graph_break(arguments.rounds) if page else []
    print("\n".join(["", *summary, "", *trained, "", *first(infers + learns), "", *breaks]))
    print(f"bench: {time.monotonic() - begin:.0f} s")
    if page:
        write_page(page, [infers, summary], [learns, trained], first(infers + learns), breaks, load_before)


def write_page(page, inference, training, first_lines, breaks, load):
    version, nl = torch.__version__.split("+")[0], "\n"
    (infers, summary), (learns, trained) = inference, training
    page.write_text(f"""<!-- Written by bench/torch_compile.py. Do not edit. -->
# torch.compile: {run.cpu_name()}

torch.compile's backend relay ([PyTorch](../pytorch.md#torchcompile)) compared with eager PyTorch {version} and the default backend,
Inductor; measured {time.strftime("%Y-%m-%d")}. "Tracing" is the time of the first call with the backend `{TRACES}`, which compiles
nothing. It is the part of Dynamo and AOTAutograd in every first call. Inductor's caches are off.
{run.busy(load)}
## Inference

Networks of [the zoo](../pytorch-networks.md) at its sizes, batch 2, under `no_grad`. Both backends may treat parameters as
constants (`freeze`, `torch._inductor.config.freezing`).

{nl.join(HEAD + [row.text() for row in infers])}

{nl.join(summary)}

## Training steps

A forward and a backward pass, without the update.

{nl.join(HEAD + [row.text() for row in learns])}

{nl.join(trained)}

## First calls

{nl.join(first_lines)}

## A graph break

Two dense layers of width 64 on 8 rows with one thread, in one graph and in two.

{nl.join(breaks)}

To repeat: `make bench-torch`. `bench/torch_compile.py --networks SOURCE.NAME ..` measures other networks of `test/zoo/networks.txt`. The
engines take turns on the same inputs and weights, and their results are compared.
""")
    print(f"bench: wrote {page}")


if __name__ == "__main__":
    main()
