#!/usr/bin/env python3
"""Training steps (loss, gradients, AdamW's update), compiled by Relay, beside eager PyTorch and torch.compile.

    make bench-train                                      all; writes docs/benchmarks/training-CPU.md
    .venv/bin/python bench/train.py --only mlp            one of them, printed only

The engines take turns in one process on the same inputs, and begin with the same weights; the losses of the first steps
are compared. The median of the rounds counts: of processor time on one thread, which other work on the machine changes
little, and of time on the clock on two. PyTorch's AdamW is the fused one, its fastest; for torch.compile both the
loss and the optimizer's step are compiled. Memory is the growth of the resident set, from before the weights were made
to the peak of three steps, of a process for each engine.
"""

import argparse
import math
import pathlib
import subprocess
import sys
import time

import numpy as np
import relay.train
import torch

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "dev"), str(ROOT / "bench")]
import gradients  # noqa: E402
import programs  # noqa: E402
import run  # noqa: E402

RATE = 1e-4
ENGINES = ("relay", "eager", "compile")
RECURSIVE = ("folded_lstm",)


def relay_step(case, threads):
    """A function that makes a step and returns its loss."""
    names = [param.name_hint for param in case.module["main"].params][len(case.inputs) :]
    weights = dict(zip(names, map(case.ordered, case.weights), strict=True))
    step = relay.train.Step(case.module, weights, optimiser=relay.train.AdamW(RATE), threads=threads)
    given = [list(a) if case.of_lists else a for a in case.inputs]
    if case.of_lists:
        given = [step.compiled.value(a) for a in given]
    return lambda: step(*given)


def torch_step(case, compiled):
    given = [torch.from_numpy(a) for a in case.inputs]
    learnt = [torch.from_numpy(a.copy()).requires_grad_() for a in case.weights]
    optimizer = torch.optim.AdamW(learnt, lr=RATE, **({} if compiled else {"fused": True}))
    loss_of, update = case.loss, optimizer.step
    if compiled:
        torch._dynamo.reset()
        loss_of, update = torch.compile(case.loss), torch.compile(optimizer.step)

    def step():
        optimizer.zero_grad()
        loss = loss_of(*given, *learnt)
        loss.backward()
        update()
        return loss.detach()

    return step


def step_of(engine, case, threads):
    torch.set_num_threads(threads)
    return relay_step(case, threads) if engine == "relay" else torch_step(case, engine == "compile")


def case_of(name):
    return gradients.CASES[name](np.random.default_rng(1))


def measure(name, threads, rounds):
    """Milliseconds by engine; None where torch.compile fails."""
    case, runs, losses = case_of(name), {}, {}
    for engine in ENGINES:
        try:
            runs[engine] = step_of(engine, case, threads)
            losses[engine] = [float(runs[engine]()) for _ in range(3)]
        except Exception as error:
            if engine != "compile":
                raise
            runs.pop(engine, None)
            print(f"bench: torch.compile fails on {case.name}: {str(error).splitlines()[0][:100]}", file=sys.stderr)
    for engine in runs:
        np.testing.assert_allclose(losses[engine], losses["eager"], rtol=1e-3)
    clock = time.process_time if threads == 1 else time.perf_counter
    times = programs.medians(list(runs.values()), rounds, seconds=0.2, clock=clock)
    return case.name, {engine: t * 1e3 for engine, t in zip(runs, times, strict=True)}


def resident(field):
    """A size of this process in MiB: VmRSS or VmHWM, its peak."""
    line = next(one for one in open("/proc/self/status") if one.startswith(field))
    return int(line.split()[1]) / 1024


def print_peak(engine, name):
    """Prints the peak of this process with one engine, in MiB."""
    case = case_of(name)
    before = resident("VmRSS")
    step = step_of(engine, case, 1)
    step(), step()
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak of compilation is not that of training
    for _ in range(3):
        step()
    print(resident("VmHWM") - before)


def peak(engine, name):
    command = [sys.executable, __file__, "--peak", engine, name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return float(done.stdout.split()[-1]) if done.returncode == 0 else None


def text(value, form):
    return "fails" if value is None else format(value, form)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def table(names, threads_of, rounds):
    """Rows of the table, printed as they come, and the ratios of the graphs."""
    rows = [
        f"| model | threads | Relay, ms | PyTorch {torch.__version__.split('+')[0]}, ms | torch.compile, ms "
        "| best / Relay | peaks, MiB |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    print("\n".join(rows), flush=True)
    ratios = []
    for name in names:
        peaks = " / ".join(text(peak(engine, name), ".0f") for engine in ENGINES)
        for threads in threads_of:
            title, times = measure(name, threads, rounds)
            ratio = min(t for engine, t in times.items() if engine != "relay") / times["relay"]
            if name not in RECURSIVE:
                ratios.append(ratio)
            cells = " | ".join(text(times.get(engine), ".2f") for engine in ENGINES)
            rows.append(f"| {title} | {threads} | {cells} | {ratio:.2f} | {peaks if threads == 1 else ''} |")
            print(rows[-1], flush=True)
    return rows, ratios


def main():
    parser = argparse.ArgumentParser(description="Measures training steps beside PyTorch.")
    parser.add_argument("--only", nargs="+", choices=gradients.CASES, help="which; then no page is written")
    parser.add_argument("--threads", nargs="+", type=int, metavar="N", help="numbers of threads (default 1 2); no page")
    parser.add_argument("--rounds", type=int, default=11, metavar="N", help="(default 11)")
    parser.add_argument("--peak", nargs=2, metavar=("ENGINE", "CASE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peak:
        print_peak(*arguments.peak)
        return
    load_before = run.machine_load()
    rows, ratios = table(arguments.only or list(gradients.CASES), arguments.threads or [1, 2], arguments.rounds)
    summary = (
        f"Geometric mean of best / Relay, without the recursive function: {geometric_mean(ratios):.2f}."
        if ratios
        else ""
    )
    print(summary)
    if arguments.only or arguments.threads:
        return
    page = ROOT / "docs" / "benchmarks" / f"training-{run.slug(run.cpu_name())}.md"
    page.write_text(f"""<!-- Written by bench/train.py. Do not edit. -->
# Training steps: {run.cpu_name()}

A step of training, measured {time.strftime("%Y-%m-%d")}: the loss, its gradients and AdamW's update of all weights
([training](../training.md)), beside PyTorch in eager mode with its fused AdamW, and torch.compile of both the loss and
the optimizer's step. The LSTM is `nn.lstm` in Relay, then a recursive function over a list, and torch.nn.LSTM in
PyTorch. Times on one thread are processor time, those on two time on the clock. Peaks are the growth of the resident
set in the order Relay, PyTorch, torch.compile, on one thread.
{run.busy(load_before)}

{chr(10).join(rows)}

{summary}

To repeat: `make bench-train`. The engines take turns on the same inputs and weights, and their losses are compared.
""")
    print(f"bench: wrote {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
