#!/usr/bin/env python3
"""Measures `relay tune`: the gain over the default, and how near the default is to the best of all candidates.

    make bench-tune                                   the model list and ten random networks, 5 minutes each
    bench/tune.py --budget 90s --models resnet18 bert_base --held 2
    bench/tune.py --kinds                             only the search of all candidates, for one kernel of each kind
    bench/tune.py --go-on                             goes on after an interruption: leaves out what is kept
    bench/tune.py --page                              measures nothing; writes the page from the rows so far

The random networks are those of seeds 101 to 110, which nothing in Relay was chosen by. For one kernel of each kind,
every combination of the options of its choices is measured in turn with the default.

All of it takes two hours. Each row is kept with its date in build/benchmarks/tuning-CPU.json as soon as it is measured,
and docs/benchmarks/tuning-CPU.md is written again from all rows that are kept. An interruption by any signal loses the
row that was being measured.
"""

import argparse
import importlib
import itertools
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import kept
import random_kernels
import run
from relay.tools import tune
from relay.tools.tuning_records import Store

ROOT = pathlib.Path(__file__).resolve().parents[1]
RELAY = ROOT / "build" / "release" / "bin" / "relay"
MODELS = ["mobilenet_v2", "resnet18", "resnet50", "densenet121", "inception_v3", "minilm_l6", "bert_base", "vit_b16"]
FIRST_HELD = 101

# The kinds of kernels: the type of %x, those of the weights, and the body.
KINDS = {
    "convolution 3 x 3, stride 2": ("(1, 64, 56, 56)", ["(128, 64, 3, 3)"], "nn.conv2d(%x, %w0, strides=[2, 2], "
        "padding=[1, 1], channels=128, kernel_size=[3, 3])"),
    "convolution 1 x 1": ("(1, 256, 14, 14)", ["(512, 256, 1, 1)"], "nn.relu(nn.conv2d(%x, %w0, channels=512, "
        "kernel_size=[1, 1]))"),
    "depthwise convolution": ("(1, 144, 56, 56)", ["(144, 1, 3, 3)"], "nn.conv2d(%x, %w0, padding=[1, 1], "
        "channels=144, groups=144, kernel_size=[3, 3])"),
    "pooling": ("(1, 64, 112, 112)", [], "nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1])"),
    "dense": ("(128, 768)", ["(768, 768)"], "nn.dense(%x, %w0)"),
    "dense, one row": ("(1, 2048)", ["(1000, 2048)"], "nn.dense(%x, %w0)"),
    "batched product": ("(12, 128, 64)", [], "nn.batch_matmul(%x, %x, transpose_b=True)"),
    "softmax": ("(1536, 128)", [], "nn.softmax(%x)"),
    "mean of rows": ("(512, 1024)", [], "mean(%x, axis=[1])"),
    "elementwise": ("(1024, 1024)", [], "nn.relu(%x) * 2f"),
}  # fmt: skip


def program_of(kind, folder):
    shape, weights, body = KINDS[kind]
    params = "".join(f", %w{i}: Tensor[{w}, float32]" for i, w in enumerate(weights))
    path = folder / "kernel.relay"
    path.write_text(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[{shape}, float32]{params}) {{ {body} }}\n')
    return path


def all_decisions(group):
    """Every combination of the options of a group's choices, the default first."""
    choices = {}
    for candidate in group["candidates"][1:]:
        for choice, option in (word.split("=", 1) for word in candidate["decisions"].split()):
            choices.setdefault(choice, [None]).append(option)
    for options in itertools.product(*choices.values()):
        yield " ".join(f"{c}={o}" for c, o in zip(choices, options, strict=True) if o is not None)


def kind_row(kind, relay, threads, most):
    """The gain of the best combination over the default, of one kernel."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        machines = tune.Machines([tune.Here([str(relay)])], print)
        compiler = tune.Compiler([str(relay)], str(program_of(kind, folder)), [], threads, folder, machines)
        default = compiler.build("default", {})
        told = default.described
        group = max(told["groups"], key=lambda g: len(g["candidates"]))
        ratios, refused = {}, 0

        def ratio_of(decisions, seconds):
            build = compiler.build("trial", {group["key"]: decisions}, told["machine"], told["compiler"])
            if group["key"] not in build.tuned:
                return None
            times = compiler.profile(build, default, seconds, 60)
            if isinstance(times, str):
                return None
            pairs = zip(times["model"]["us"], times["against"]["us"], strict=True)
            return tune.median_and_high([a / b for a, b in pairs])[0]

        every = [decisions for decisions in all_decisions(group) if decisions]
        if len(every) > most:
            every = random.Random(0).sample(every, most)
        for decisions in every:
            ratio = ratio_of(decisions, 0.3)
            refused += ratio is None
            if ratio is not None:
                ratios[decisions] = ratio
        # The best of many noisy ratios looks better than it is: the first five are measured again, for longer.
        best = sorted(ratios, key=ratios.get)[:5]
        again = {d: r for d in best if (r := ratio_of(d, 2)) is not None}
        first = min(again, key=again.get) if again else ""
        gain = max(1.0, 1 / again[first]) if again else 1.0
        return {"threads": threads, "combinations": len(every), "refused": refused, "gain": gain,
                "decisions": first if gain > 1 else ""}  # fmt: skip


def model_row(name, model, relay, budget, threads, folder):
    """Runs `relay tune` with records of its own."""
    records = folder / f"{name}.db"
    records.unlink(missing_ok=True)
    command = [relay, "tune", model, "--budget", budget, "--records", records, "--threads", threads, "--json"]
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if result.returncode != 0:
        return {"failure": (result.stderr.strip() or f"status {result.returncode}").splitlines()[-1]}
    out = json.loads(result.stdout)
    store = Store(records)
    measured = store.file.execute("SELECT count(*) FROM measured").fetchone()[0]
    store.close()
    figures = {key: out[key] for key in ("gain", "gain_interval", "run_us", "trials", "seconds")}
    return {"budget": budget, "threads": threads, "measured": measured, **figures, "groups": len(out["groups"])}


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def models_section(rows):
    lines = [
        "| model | budget | threads | run us | gain | interval | faster groups | trials | measurements | date |",
        "| --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: | --- |",
    ]
    for name, r in rows.items():
        if "failure" in r:
            lines.append(f"| {name} | {r['failure']} | | | | | | | | {r['date']} |")
            continue
        low, high = r["gain_interval"] or (1, 1)
        cells = [name, r["budget"], r["threads"], f"{r['run_us']:.0f}", f"{r['gain']:.3f}", f"{low:.3f} to {high:.3f}"]
        lines.append(f"| {' | '.join(map(str, [*cells, r['groups'], r['trials'], r['measured'], r['date']]))} |")
    gains = [r["gain"] for r in rows.values() if "gain" in r]
    if gains:
        lines += ["", f"The geometric mean of the {len(gains)} gains is {geometric_mean(gains):.3f}."]
    return lines


def kinds_section(kinds):
    lines = [
        "",
        "## All combinations of one kernel of each kind",
        "",
        "The gain of the best combination of options over the default; 1.000 if the default is the best.",
        "",
        "| kernel | threads | combinations | refused | gain | decisions | date |",
        "| --- | ---: | ---: | ---: | ---: | --- | --- |",
    ]
    for name, k in kinds.items():
        cells = [name, k["threads"], k["combinations"], k["refused"], f"{k['gain']:.3f}", k["decisions"], k["date"]]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    mean = geometric_mean([k["gain"] for k in kinds.values()])
    return [*lines, "", f"The geometric mean of the {len(kinds)} gains is {mean:.3f}."]


def page(rows, cpu):
    """The page of all rows that are kept."""
    models, kinds = rows.of("models"), rows.of("kinds")
    lines = [
        "<!-- Written by bench/tune.py. Do not edit. -->",
        f"# Tuning on {cpu}",
        "",
        f"Measured {kept.dates([*models.values(), *kinds.values()])} by `make bench-tune`. [Tuning](../tuning.md) "
        "explains how.",
    ]
    if models:
        lines += [
            "",
            "`relay tune` with empty records for the budget on each model. The gain is the time of a run without",
            "records over that with them, measured in turn, with its 95 % interval. Networks named random are those of",
            "`relay bench --random-net`.",
            "",
            *models_section(models),
        ]
    return "\n".join([*lines, *(kinds_section(kinds) if kinds else [])]) + "\n"


def model_file(name):
    """The file of a model, written if it is one of bench/networks.py or a random one."""
    if name.startswith("random "):
        return random_kernels.network(int(name.split()[1]))[0]
    own = importlib.import_module("networks")  # imports PyTorch
    return own.export([name])[0] if name in own.NETWORKS else ROOT / "models" / f"{name}.onnx"


def measure(arguments, rows, write):
    """Measures all that is asked for. `write`: called after each row."""
    held = [f"random {seed}" for seed in range(FIRST_HELD, FIRST_HELD + arguments.held)]
    models = [] if arguments.kinds else [*arguments.models, *held]
    kinds = [] if arguments.no_kinds else KINDS
    folder = rows.path.parent / "tune"
    folder.mkdir(parents=True, exist_ok=True)
    for name in rows.left("models", models, arguments.go_on):
        model = model_file(name)
        if not model.exists():
            print(f"bench: {name} is left out: {model} does not exist", flush=True)
            continue
        begin = time.monotonic()
        row = model_row(name, model, arguments.relay, arguments.budget, arguments.threads, folder)
        rows.put("models", name, row)
        write()
        print(f"bench: {name}: {row} ({time.monotonic() - begin:.0f} s)", flush=True)
    for kind in rows.left("kinds", kinds, arguments.go_on):
        row = kind_row(kind, arguments.relay, arguments.threads, arguments.most)
        rows.put("kinds", kind, row)
        write()
        print(f"bench: {kind}: {row}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", nargs="*", default=MODELS, metavar="NAME", help="models of models/")
    parser.add_argument("--held", type=int, default=10, metavar="N", help="random networks (default 10)")
    parser.add_argument("--budget", default="5m")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--kinds", action="store_true", help="only the search of all candidates")
    parser.add_argument("--no-kinds", action="store_true", help="without the search of all candidates")
    parser.add_argument("--most", type=int, default=300, help="combinations of one kernel (default 300)")
    parser.add_argument("--relay", type=pathlib.Path, default=RELAY, help="the program (default: this build's)")
    parser.add_argument("--go-on", action="store_true", help="leave out what is kept from an earlier run")
    parser.add_argument("--page", action="store_true", help="measure nothing; write the page from all that is kept")
    parser.add_argument("--kept", type=pathlib.Path, help="the file of the rows (default: build/benchmarks/)")
    parser.add_argument("--output", type=pathlib.Path, help="the page (default: docs/benchmarks/tuning-CPU.md)")
    arguments = parser.parse_args()
    cpu = run.cpu_name()
    name = f"tuning-{run.slug(cpu)}"
    output = arguments.output or ROOT / "docs" / "benchmarks" / f"{name}.md"
    rows = kept.Rows(arguments.kept or ROOT / "build" / "benchmarks" / f"{name}.json")
    if not arguments.page:
        measure(arguments, rows, lambda: output.write_text(page(rows, cpu)))
    if not rows.sections:
        sys.exit(f"bench: {rows.path} has no rows: leave out --page, or name models")
    output.write_text(page(rows, cpu))
    print(f"bench: wrote {output}")


if __name__ == "__main__":
    sys.exit(main())
