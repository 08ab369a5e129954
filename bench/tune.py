#!/usr/bin/env python3
"""Measures `relay tune`: the gain over the default, and how near the default is to the best of all candidates.

    make bench-tune                                   the model list and ten random networks, 5 minutes each
    bench/tune.py --budget 90s --models resnet18 bert_base --held 2
    bench/tune.py --kinds                             only the search of all candidates, for one kernel of each kind

The random networks are those of seeds 101 to 110, which nothing in Relay was chosen by. For one kernel of each kind,
every combination of the options of its choices is measured in turn with the default. Writes
docs/benchmarks/tuning-CPU.md.
"""

import argparse
import datetime
import itertools
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import random_kernels
import run
from relay.tools import tune
from relay.tools.tuning_records import Store

ROOT = pathlib.Path(__file__).resolve().parents[1]
RELAY = ROOT / "build" / "release" / "bin" / "relay"
MODELS = ["mobilenet_v2", "resnet18", "resnet50", "densenet121", "bert_base", "yolov8n", "squeezenet", "inception_v3"]
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
        return {"kind": kind, "combinations": len(every), "refused": refused, "gain": gain,
                "decisions": first if gain > 1 else ""}  # fmt: skip


def model_row(name, model, relay, budget, threads, folder):
    """Runs `relay tune` with records of its own."""
    records = folder / f"{name}.db"
    records.unlink(missing_ok=True)
    command = [relay, "tune", model, "--budget", budget, "--records", records, "--threads", threads, "--json"]
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if result.returncode != 0:
        return {"model": name, "failure": result.stderr.strip().splitlines()[-1]}
    out = json.loads(result.stdout)
    store = Store(records)
    measured = store.file.execute("SELECT count(*) FROM measured").fetchone()[0]
    store.close()
    figures = {key: out[key] for key in ("gain", "gain_interval", "run_us", "trials", "seconds")}
    return {"model": name, "measured": measured, **figures,
            "groups": len(out["groups"])}  # fmt: skip


def page(rows, kinds, budget, threads):
    lines = [
        f"# Tuning on {run.cpu_name()}",
        "",
        f"`relay tune` for {budget} on each model, {threads} threads, {datetime.date.today()}. The "
        "gain is the time of a run without records over that with them, measured in turn, with its 95 % interval.",
        "",
        "| model | run us | gain | interval | faster groups | trials | measurements |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for r in rows:
        if "failure" in r:
            lines.append(f"| {r['model']} | {r['failure']} | | | | | |")
            continue
        low, high = r["gain_interval"] or (1, 1)
        cells = [r["model"], f"{r['run_us']:.0f}", f"{r['gain']:.3f}", f"{low:.3f} to {high:.3f}"]
        lines.append(f"| {' | '.join(map(str, [*cells, r['groups'], r['trials'], r['measured']]))} |")
    gains = [r["gain"] for r in rows if "gain" in r]
    if gains:
        lines += ["", f"The geometric mean of the gains is {math.exp(sum(map(math.log, gains)) / len(gains)):.3f}."]
    if kinds:
        lines += [
            "",
            "## All combinations of one kernel of each kind",
            "",
            "The gain of the best combination of options over the default; 1.000 if the default is the best.",
            "",
            "| kernel | combinations | refused | gain | decisions |",
            "| --- | --- | --- | --- | --- |",
        ]
        lines += [f"| {k['kind']} | {k['combinations']} | {k['refused']} | {k['gain']:.3f} | {k['decisions']} |"
                  for k in kinds]  # fmt: skip
    return "\n".join(lines) + "\n"


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
    parser.add_argument("--output", type=pathlib.Path)
    arguments = parser.parse_args()
    folder = ROOT / "build" / "benchmarks" / "tune"
    folder.mkdir(parents=True, exist_ok=True)
    rows, kinds = [], []
    models = {} if arguments.kinds else {name: ROOT / "models" / f"{name}.onnx" for name in arguments.models}
    if not arguments.kinds:
        for seed in range(FIRST_HELD, FIRST_HELD + arguments.held):
            models[f"random {seed}"] = random_kernels.network(seed)[0]
    output = arguments.output or ROOT / "docs" / "benchmarks" / f"tuning-{run.slug(run.cpu_name())}.md"
    for name, model in models.items():
        if not model.exists():
            print(f"bench: {name} is left out: {model} does not exist", flush=True)
            continue
        begin = time.monotonic()
        rows.append(model_row(name, model, arguments.relay, arguments.budget, arguments.threads, folder))
        print(f"{name}: {rows[-1]} ({time.monotonic() - begin:.0f} s)", flush=True)
    if not arguments.no_kinds:
        for kind in KINDS:
            kinds.append(kind_row(kind, arguments.relay, arguments.threads, arguments.most))
            print(kinds[-1], flush=True)
    output.write_text(page(rows, kinds, arguments.budget, arguments.threads))
    print(f"wrote {output}")


if __name__ == "__main__":
    sys.exit(main())
