#!/usr/bin/env python3
"""The zoo straight from PyTorch: every network of networks.txt imported, compiled once for all sizes, run and compared.

    make models-torch                                    all that have no result yet; prints the table of all
    test/zoo/torch_run.py --only 'timm.resnet' --again   those whose SOURCE.NAME contains the words, once more
    test/zoo/torch_run.py --train --limit 40             torch.compile: inference and 20 steps of training beside eager

Each network runs in a process of its own, where `onnx` cannot be imported; what came of it is a file in
models/zoo-torch, so a run that is stopped goes on where it was. The batch is a variable, and so are the lengths of
texts and sounds where PyTorch's export leaves them; the one program then runs at the example's sizes and at others, and
each result is compared with eager PyTorch in double precision, in parts of the largest value. Where eager itself is off by more than
the tolerance, a few times that is allowed.
"""

import argparse
import collections
import concurrent.futures
import copy
import importlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import warnings

ZOO = pathlib.Path(__file__).resolve().parent
ROOT = ZOO.parents[1]
SECONDS = 900  # of one network
TOLERANCE, TIMES_EAGER = 1e-4, 4
STEPS = 20
# Of training, where roundings of one step go into the next.
LOSS_TOLERANCE = 1e-2


def networks():
    lines = (ZOO / "networks.txt").read_text().splitlines()
    return [tuple(line.split()) for line in lines if line and not line.startswith("#")]


def without_its_operators():
    """torchvision of the package index wants CUDA's libraries for operators of its own, which no network of the zoo has; it
    registers more for those names when it is imported."""
    import torch

    for _ in range(50):
        try:
            return importlib.import_module("torchvision")
        except RuntimeError as error:
            missing = re.search(r"operator (torchvision::\w+) does not exist", str(error))
            if missing is None:
                raise
            for name in [one for one in sys.modules if one.partition(".")[0] == "torchvision"]:
                sys.modules.pop(name)
            torch.library.define(missing[1], "(Tensor x) -> Tensor")
    raise ImportError("torchvision's operators are more than there could be")


def made(source, name):
    """(the network, example inputs with a batch of 2, by name of the axis the sizes that may vary of each input)."""
    without_its_operators()
    import export

    network, inputs = {
        "timm": export.from_timm, "torchvision": export.from_torchvision, "transformers": export.from_transformers,
    }[source](name)  # fmt: skip
    export.fill(network)
    is_text = [not one.is_floating_point() for one in inputs]
    axes = [(0, 1) if text and one.dim() == 2 else (0,) for text, one in zip(is_text, inputs, strict=True)]
    return network, tuple(inputs), axes


def resized(inputs, axes, batch, more):
    """Inputs of another batch, and of texts `more` longer."""
    import torch

    out = []
    for one, which in zip(inputs, axes, strict=True):
        sizes = [
            batch if axis == 0 else extent + (more if axis in which else 0) for axis, extent in enumerate(one.shape)
        ]
        if one.is_floating_point():
            out.append(torch.randn(sizes))
        elif (one == 1).all():
            out.append(torch.ones(sizes, dtype=one.dtype))
        else:
            out.append(torch.randint(3, 190, sizes, dtype=one.dtype))
    return tuple(out)


def first_of(result):
    import torch

    while not isinstance(result, torch.Tensor):
        result = next(iter(result.values())) if isinstance(result, dict) else result[0]
    return result


def error_of(got, exact):
    import torch

    if got.shape != exact.shape:
        return float("inf")
    got = got.double()
    if not torch.equal(got.isnan(), exact.isnan()):
        return float("inf")
    scale = exact.abs().nan_to_num().max().item() if exact.numel() else 0
    return ((got - exact).abs().nan_to_num().max().item() if exact.numel() else 0) / (scale or 1)


def is_variable(extent):
    return not isinstance(extent, int) and bool(extent.node.expr.free_symbols)


def exported(network, inputs, axes):
    """The program with sizes that vary; where PyTorch cannot, with a batch that varies; then with none: and which."""
    import torch

    auto = torch.export.Dim.AUTO
    ways = {
        "batch and lengths": tuple(dict.fromkeys(which, auto) for which in axes),
        "batch": tuple({0: auto} for _ in axes),
        "none": None,
    }
    said = None
    for way, shapes in ways.items():
        shapes = (shapes,) if shapes is not None and type(network).__name__ == "FirstResult" else shapes
        try:
            program = torch.export.export(network, inputs, dynamic_shapes=shapes)
        except Exception as error:
            said = error
            continue
        names = [node for node in program.graph.nodes if node.op == "placeholder"]
        users = {spec.arg.name for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"}
        vals = [node.meta["val"] for node in names if node.name in users]
        varies = sorted({axis for val in vals for axis, one in enumerate(val.shape) if is_variable(one)})
        if way == "batch and lengths" and not varies:
            continue
        return program, varies
    raise said


def imported(source, name):
    """What became of the network as a program of its own."""
    import torch

    import relay

    network, inputs, axes = made(source, name)
    with torch.no_grad():
        program, varies = exported(network, inputs, axes)
        begin = time.monotonic()
        module = relay.load(program)
        read = time.monotonic() - begin
        model = relay.compile(module)
        compiled = time.monotonic() - begin - read
        exact_network = copy.deepcopy(network).double()
        errors, sizes = [], []
        tries = [(2, 0), (3, 0), (1, 0), (2, 5)]
        for batch, more in tries:
            if (batch != 2 and 0 not in varies) or (more and 1 not in varies):
                continue
            given = inputs if (batch, more) == (2, 0) else resized(inputs, axes, batch, more)
            exact = first_of(exact_network(*(one.double() if one.is_floating_point() else one for one in given)))
            eager = error_of(first_of(network(*given)), exact.double())
            got = first_of(model(*given))
            errors.append((error_of(got, exact.double()), eager))
            sizes.append(f"{batch}x+{more}" if more else f"{batch}")
    allowed = [max(TOLERANCE, TIMES_EAGER * eager) for _, eager in errors]
    wrong = [f"{size}: off by {got:.1e} (eager {eager:.1e})" for (got, eager), limit, size in
             zip(errors, allowed, sizes, strict=True) if not got <= limit]  # fmt: skip
    return {
        "outcome": "wrong" if wrong else "equal", "why": "; ".join(wrong), "varies": varies, "sizes": sizes,
        "error": max(got for got, _ in errors), "eager_error": max(eager for _, eager in errors),
        "kernels": len(model.report["kernels"]), "read_s": round(read, 1), "compile_s": round(compiled, 1),
    }  # fmt: skip


def trained(source, name):
    """torch.compile: inference and STEPS steps of training beside eager, with the share that our kernels have."""
    import relay.torch
    import torch

    network, inputs, _ = made(source, name)
    wanted = copy.deepcopy(network)
    with torch.no_grad():
        found = relay.torch.explain(network.eval(), *inputs)
        infers = error_of(
            first_of(torch.compile(network, backend="relay")(*inputs)), first_of(wanted(*inputs)).double()
        )
    counters = torch._dynamo.utils.counters
    counters.clear()
    torch._dynamo.reset()
    torch.compile(network, backend="eager")(*inputs)
    breaks = sum(counters["graph_break"].values())
    torch._dynamo.reset()
    records = relay.torch.explain(network, *inputs)
    losses = []
    for model, run in ((network, torch.compile(network, backend="relay")), (wanted, wanted)):
        torch.manual_seed(2)
        optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=1e-3)
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = first_of(run(*inputs)).float().square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    ours, theirs = losses[:STEPS], losses[STEPS:]
    off = max(abs(a - b) / max(abs(b), 1e-6) for a, b in zip(ours, theirs, strict=True))
    share = {}
    for kind, graphs in (("inference", found), ("training", records)):
        nodes, work = (sum(getattr(one, of) for one in graphs.graphs) for of in ("nodes", "multiply_adds"))
        share[kind] = [
            sum(one.nodes for one in graphs.compiled) / (nodes or 1),
            sum(one.multiply_adds for one in graphs.compiled) / (work or 1) if work else 1.0,
        ]
    fine = infers <= 1e-3 and off <= LOSS_TOLERANCE
    return {
        "outcome": "equal" if fine else "wrong", "why": "" if fine else f"inference off by {infers:.1e}, losses by {off:.1e}",
        "error": infers, "loss_error": off, "share": share, "breaks": breaks,
        "fallbacks": sorted({one.reason for one in [*found.fallbacks, *records.fallbacks]}),
    }  # fmt: skip


def one(kind, source, name):
    """In a process of its own: prints what became of the network as JSON."""
    sys.modules["onnx"] = None  # not importable
    sys.path[:0] = [str(ZOO), str(ROOT / "build/models-torch"), str(ROOT / "python")]
    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)
    os.environ["RELAY_THREADS"] = "1"
    begin = time.monotonic()
    try:
        result = {"import": imported, "train": trained}[kind](source, name)
    except Exception as error:
        text = str(error).strip().splitlines() or [""]
        result = {"outcome": type(error).__name__, "why": text[0][:400]}
    print(json.dumps(result | {"seconds": round(time.monotonic() - begin, 1)}))


def looked_at(kind, entry, path):
    if path.exists():
        return json.loads(path.read_text())
    command = [sys.executable, __file__, "--one", kind, *entry]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        lines = done.stdout.strip().splitlines()
        said = {"outcome": f"exit status {done.returncode}", "why": done.stderr.strip()[-300:]}
        result = json.loads(lines[-1]) if lines and done.returncode == 0 else said
    except subprocess.TimeoutExpired:
        result = {"outcome": "took too long", "why": f"more than {SECONDS} s"}
    path.write_text(json.dumps(result))
    return result


def row(kind, label, result):
    if kind == "train":
        shares = " ".join(f"{nodes:5.0%} {work:5.0%}" for nodes, work in result.get("share", {}).values())
        figures = f"{result.get('error', float('nan')):8.1e} {result.get('loss_error', float('nan')):8.1e} {shares}"
    else:
        varies = ",".join(map(str, result.get("varies", []))) or "-"
        figures = f"{result.get('error', float('nan')):8.1e} {result.get('eager_error', float('nan')):8.1e} {varies:>5}"
    return f"{label:<42} {result['outcome']:<20} {figures} {result.get('seconds', 0):>5.0f}  {result['why'][:160]}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", default="", help="words of SOURCE.NAME, separated by commas")
    arguments.add_argument("--limit", type=int, help="the first so many")
    arguments.add_argument("--train", action="store_true", help="torch.compile, in place of the import")
    arguments.add_argument("--again", action="store_true", help="also those that have a result")
    arguments.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="networks at once")
    arguments.add_argument("--results", type=pathlib.Path, default=ROOT / "models/zoo-torch")
    arguments.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.one:
        return one(*given.one)
    kind = "train" if given.train else "import"
    folder = given.results / kind
    folder.mkdir(parents=True, exist_ok=True)
    words = given.only.split(",")
    chosen = [entry for entry in networks() if any(word in ".".join(entry) for word in words)][: given.limit]
    counts = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        looks = {}
        for entry in chosen:
            path = folder / f"{'.'.join(entry)}.json"
            if given.again:
                path.unlink(missing_ok=True)
            looks[pool.submit(looked_at, kind, entry, path)] = entry
        for look in concurrent.futures.as_completed(looks):
            result = look.result()
            counts[result["outcome"]] += 1
            print(row(kind, ".".join(looks[look]), result), flush=True)
    print(f"{len(chosen)} networks: " + ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))
    return 1 if counts["equal"] < len(chosen) else 0


if __name__ == "__main__":
    sys.exit(main())
