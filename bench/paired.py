#!/usr/bin/env python3
"""Compares two builds of relay on the same models, to see the gain or cost of a change.

    bench/paired.py OLD build/release/bin/relay                       the default models, one and two threads
    bench/paired.py OLD NEW resnet18 models/mine.onnx --threads 1     these models
    bench/paired.py OLD NEW --zoo 12 --seed 7                         networks drawn from the zoo

Each build compiles a model once, to an artifact. Then the builds take turns running it, each in a separate process. The
ratio is the old build's median time over the new build's, as the median over all rounds. The interval spans the second
lowest to the second highest round. A model is marked "slower" if the whole interval is below 0.97.
"""

import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
USUAL = [
    "mlp", "dqn", "mobilenet_v2", "resnet18", "resnet50", "densenet121", "inception_v3", "vgg16", "minilm_l6",
    "bert_base", "vit_b16", "fr_detect", "fr_expression", "mlsd_320x320_tiny", "mlsd_512x512_large",
]  # fmt: skip


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(str(part) for part in command)} failed:\n{done.stderr}")
    return done.stdout


def rounds_of(model, programs, threads, rounds, seconds, folder):
    """The median time of a run in microseconds for each round, a list for each program."""
    artifacts = []
    for k, program in enumerate(programs):
        artifacts.append(folder / f"{k}.rart")
        run([program, "compile", model, "-o", artifacts[k], "--threads", threads])
    times = [[] for _ in programs]
    for round_ in range(rounds):
        for k in (0, 1) if round_ % 2 == 0 else (1, 0):
            said = run([programs[k], "bench", artifacts[k], "--threads", threads, "--time", seconds, "--json"])
            times[k].append(json.loads(said)[0]["relay"]["median_us"])
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("models", nargs="*", help="names in models/, or paths")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--time", type=float, default=0.4, help="seconds per burst (default 0.4)")
    parser.add_argument("--zoo", type=int, default=0, metavar="N", help="N networks drawn from models/zoo instead")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    programs = [arguments.old.resolve(), arguments.new.resolve()]
    models = [
        pathlib.Path(m) if m.endswith(".onnx") else ROOT / "models" / f"{m}.onnx" for m in arguments.models or USUAL
    ]
    if arguments.zoo:
        models = random.Random(arguments.seed).sample(sorted((ROOT / "models" / "zoo").glob("*.onnx")), arguments.zoo)
    print(f"{'model':<28} threads  old ms    new ms    old / new")
    for threads in arguments.threads.split(","):
        ratios = []
        for model in models:
            with tempfile.TemporaryDirectory() as folder:
                old, new = rounds_of(model, programs, threads, arguments.rounds, arguments.time, pathlib.Path(folder))
            each = sorted(a / b for a, b in zip(old, new, strict=True))
            ratio, low, high = statistics.median(each), each[min(1, len(each) - 1)], each[max(-2, -len(each))]
            ratios.append(ratio)
            slower = "  slower" if high < 0.97 else ""
            print(
                f"{model.stem:<28} {threads:>7}  {statistics.median(old) / 1000:<8.3f}  "
                f"{statistics.median(new) / 1000:<8.3f}  {ratio:.3f} ({low:.3f} to {high:.3f}){slower}",
                flush=True,
            )
        print(f"{'geometric mean':<28} {threads:>7}  {'':<18}  {statistics.geometric_mean(ratios):.3f}", flush=True)


main()
