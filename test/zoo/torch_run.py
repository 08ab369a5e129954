#!/usr/bin/env python3
"""The zoo straight from PyTorch: every network of networks.txt imported, compiled once for all sizes, run and compared.

    make models-torch                                    all that have no result yet; writes docs/pytorch-networks.md
    test/zoo/torch_run.py --only 'timm.resnet' --again   those whose SOURCE.NAME contains the words, once more
    test/zoo/torch_run.py --train --limit 40             torch.compile: inference and 20 steps of training beside eager
    test/zoo/torch_run.py --front                        what torch.compile gives to Relay and to its default backend

Each network runs in a process of its own, where `onnx` cannot be imported (a fork of one that has imported everything);
what came of it is a file in models/zoo-torch, so a run that is stopped goes on where it was; the page shows the last
result of each network, which torch_results.json keeps. The batch is a variable,
and so are the lengths of texts and sounds where PyTorch's export leaves them; the one program then runs at the
example's sizes and at others, and each result is compared with eager PyTorch in double precision, in parts of the
largest value. Where eager itself is off by more than the tolerance, a few times that is allowed; where it is off by
more than a hundredth, the network is imported and compared in double precision.
"""

import argparse
import collections
import concurrent.futures
import copy
import functools
import json
import multiprocessing
import os
import pathlib
import sys
import time

from torch_page import write_page

ZOO = pathlib.Path(__file__).resolve().parent
ROOT = ZOO.parents[1]
SECONDS = 900  # of one network, where --seconds says nothing else
TOLERANCE, TIMES_EAGER = 1e-4, 4
UNDECIDED = 1e-2  # eager's error above which single precision tells nothing
TOLERANCE_IN_DOUBLE = 1e-6
RESULTS = ROOT / "models/zoo-torch"
LISTS = ("networks.txt", "detection.txt")
FORKS = multiprocessing.get_context("forkserver")  # of a process that has torch_preload.py's imports


def networks():
    lines = [line for name in LISTS for line in (ZOO / name).read_text().splitlines()]
    return [tuple(line.split()) for line in lines if line and not line.startswith("#")]


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
            # A copy: some modules keep tensors of a call, which are fake here.
            program = torch.export.export(copy.deepcopy(network), inputs, dynamic_shapes=shapes)
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
    """The outcome of importing the network as a program."""
    import torch
    from torch_networks import made

    import relay

    network, inputs, axes = made(source, name)
    with torch.no_grad():
        begin = time.monotonic()
        if source == "detection":  # torch.export refuses loops over what they found; its users trace
            traced, varies = torch.jit.trace(network, inputs, check_trace=False), [2, 3]
            read_from = functools.partial(relay.from_pytorch, traced, inputs, any_size(torch))
        else:
            program, varies = exported(network, inputs, axes)
            read_from = functools.partial(relay.load, program)
        begin = time.monotonic()
        module = read_from()
        read = time.monotonic() - begin
        model = relay.compile(module)
        compiled = time.monotonic() - begin - read
        tries = compared_boxes(network, model, inputs) if source == "detection" else (
            compared(network, model, inputs, axes, varies))  # fmt: skip
    wrong = [f"{size}: off by {got:.1e} (eager {eager:.1e})" for size, got, eager, limit in tries if not got <= limit]
    return {
        "outcome": "equal" if not wrong else "wrong", "why": "; ".join(wrong), "varies": varies,
        "sizes": [size for size, *_ in tries], "error": max(got for _, got, _, _ in tries),
        "eager_error": max(eager for _, _, eager, _ in tries), "kernels": len(model.report["kernels"]),
        "read_s": round(read, 1), "compile_s": round(compiled, 1),
    }  # fmt: skip


def compared(network, model, inputs, axes, varies):
    """(the sizes, the error, eager's, the error that is allowed) of each run."""
    from torch_networks import as_double, error_of, first_of, in_double

    exact_network, runs = in_double(network), []
    for size, given in sized(inputs, axes, varies):
        wanted = first_of(network(*given)).double()
        try:
            exact = first_of(exact_network(*as_double(given)))
        except RuntimeError:  # masks of single precision's least number, whatever the network computes in
            exact = wanted
        if not exact.isfinite().equal(wanted.isfinite()):
            exact = wanted  # numbers beyond those of single precision: eager's own count
        eager, got = error_of(wanted, exact), error_of(first_of(model(*given)), exact)
        runs.append((size, got, eager, max(TOLERANCE, TIMES_EAGER * eager)))
    undecided = max(eager for _, _, eager, _ in runs)
    return compared_in_double(exact_network, inputs, axes, undecided) if undecided > UNDECIDED else runs


def sized(inputs, axes, varies):
    """The sizes, and inputs of them."""
    from torch_networks import resized

    for batch, more in [(2, 0), (3, 0), (1, 0), (2, 5)]:
        if (batch == 2 or 0 in varies) and (not more or 1 in varies):
            given = inputs if (batch, more) == (2, 0) else resized(inputs, axes, batch, more)
            yield f"{batch}x+{more}" if more else f"{batch}", given


def compared_in_double(network, inputs, axes, eager):
    """Like compared(), for a network in double precision. eager: its error in single precision."""
    from torch_networks import as_double, error_of, first_of

    import relay

    program, varies = exported(network, as_double(inputs), axes)
    model, runs = relay.compile(relay.load(program)), []
    for size, given in sized(inputs, axes, varies):
        given = as_double(given)
        got = error_of(first_of(model(*given)), first_of(network(*given)))
        runs.append((f"{size} in double", got, eager, TOLERANCE_IN_DOUBLE))
    return runs


def any_size(torch):
    """The dynamic_shapes of an image of any height and width."""
    return ({2: torch.export.Dim.AUTO, 3: torch.export.Dim.AUTO},)


def pictures(torch, inputs):
    """The sizes, and the input and images of other sizes."""
    for more in ((0, 0), (32, -16), (-30, 57)):
        height, width = (extent + by for extent, by in zip(inputs[0].shape[2:], more, strict=True))
        yield f"{height} x {width}", inputs if more == (0, 0) else (torch.rand(1, 3, height, width),)


def compared_boxes(network, model, inputs):
    """The same of a detector: the errors are shares of boxes that have none near them, on images of three sizes."""
    import torch
    from torch_networks import MOST_UNMATCHED, UNMATCHED, as_double, in_double, unmatched

    exact_network, runs = in_double(network), []
    for size, given in pictures(torch, inputs):
        exact = exact_network(*as_double(given))
        eager = unmatched(network(*given), exact)
        allowed = min(max(UNMATCHED, TIMES_EAGER * eager), MOST_UNMATCHED)
        runs.append((size, unmatched(model(*given), exact), eager, allowed))
    undecided = any(eager > MOST_UNMATCHED for _, _, eager, _ in runs)
    return compared_heads(network, inputs) if undecided else runs


def compared_heads(network, inputs):
    """The errors of a detector's layers before the choice of boxes. It is for detectors whose boxes differ in single
    precision already, because scores are equal but for rounding."""
    import torch
    from torch_networks import Heads, as_double, error_of, in_double

    import relay

    network, runs = Heads(network).eval(), []
    traced = torch.jit.trace(network, inputs, check_trace=False)
    model = relay.compile(relay.from_pytorch(traced, inputs, any_size(torch)))
    exact_network = in_double(network)
    for size, given in pictures(torch, inputs):
        exact = exact_network(*as_double(given))
        eager, got = (max(map(error_of, run(*given), exact)) for run in (network, model))
        runs.append((f"layers at {size}", got, eager, max(TOLERANCE, TIMES_EAGER * eager)))
    return runs


def one(kind, source, name, path):
    """In a process of its own, which has what torch_preload.py imports: writes what became of the network as JSON."""
    begin = time.monotonic()
    try:
        from torch_front import fronts
        from torch_train import trained

        result = {"import": imported, "train": trained, "front": fronts}[kind](source, name)
    except Exception as error:
        text = str(error).strip().splitlines() or [""]
        result = {"outcome": type(error).__name__, "why": text[0][:400]}
    path.write_text(json.dumps(result | {"seconds": round(time.monotonic() - begin, 1)}))


def looked_at(kind, entry, path, seconds):
    if path.exists():
        return json.loads(path.read_text())
    process = FORKS.Process(target=one, args=(kind, *entry, path), daemon=True)
    process.start()
    process.join(seconds)
    if process.is_alive():
        process.kill()
        process.join()
        path.write_text(json.dumps({"outcome": "took too long", "why": f"more than {seconds} s"}))
    elif not path.exists():
        path.write_text(json.dumps({"outcome": f"exit status {process.exitcode}", "why": "the process ended"}))
    return json.loads(path.read_text())


def row(kind, label, result):
    if kind == "front":
        figures = " ".join(f"{of['graphs']:2} graphs {of['breaks']:2} breaks {sum(of['left'].values()):3} left"
                           for both in result.get("front", {}).values() for of in both.values())  # fmt: skip
    elif kind == "train":
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
    arguments.add_argument("--front", action="store_true", help="what torch.compile gives to Relay and to its default")
    arguments.add_argument("--again", action="store_true", help="also those that have a result")
    arguments.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="networks at once")
    arguments.add_argument("--seconds", type=int, default=SECONDS, help="of one network at most")
    arguments.add_argument("--results", type=pathlib.Path, default=RESULTS)
    given = arguments.parse_args()
    kind = "train" if given.train else "front" if given.front else "import"
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ZOO), os.environ.get("PYTHONPATH", "")])
    FORKS.set_forkserver_preload(["torch_preload"])
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
            looks[pool.submit(looked_at, kind, entry, path, given.seconds)] = entry
        for look in concurrent.futures.as_completed(looks):
            result = look.result()
            counts[result["outcome"]] += 1
            print(row(kind, ".".join(looks[look]), result), flush=True)
    if given.results == RESULTS:
        names = [".".join(entry) for entry in networks()]
        write_page(RESULTS, names, ZOO / "torch_results.json", ROOT / "docs/pytorch-networks.md")
    print(f"{len(chosen)} networks: " + ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))
    return 1 if counts["equal"] < len(chosen) else 0


if __name__ == "__main__":
    sys.exit(main())
