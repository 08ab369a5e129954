#!/usr/bin/env python3
"""Compares models of TFLite, TensorFlow and Keras with LiteRT and TensorFlow, with one and two threads.

    make bench-frontends                                    all; writes docs/benchmarks/front-ends-CPU.md
    .venv/bin/python bench/frontends.py --only iris_landmark    only this one; writes no page
    .venv/bin/python bench/frontends.py --cpu                   CPU time of one thread, for a machine that is busy

All networks compute in floats: trained ones from packages, and some of keras.applications with random weights, which
Keras saves as .keras files. Each measurement is `relay bench`, as in bench/run.py. LiteRT runs its default delegate.
TensorFlow runs a function whose variables are constants, with its default kernels (oneDNN). With --cpu, both engines
take turns in one process, and the CPU time of all its threads counts.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "dev"), str(ROOT / "bench"), str(ROOT / "test" / "frontends")]
import fetch_models  # noqa: E402
import keras_packages  # noqa: E402
import run  # noqa: E402
import tensorflow_packages  # noqa: E402

PEERS = {"litert": "LiteRT", "tensorflow": "TensorFlow"}
SITES = {"litert": ROOT / "build" / "test-frontends", "tensorflow": ROOT / "build" / "test-keras"}
FOLDER = ROOT / "models" / "front-ends"  # files that Keras wrote
THREADS = [1, 2]
# Models of TFLite, with the sizes that they leave open.
LITE = {
    "face_landmark": {}, "iris_landmark": {}, "face_detection_back": {}, "face_detection_front": {},
    "face_detection_full_range": {}, "face_detection_full_range_sparse": {}, "basic_pitch_lite": {},
    "star_trek_activation_phrase_v2": {"audio_preproc_input": (1, 44032)},
}  # fmt: skip
GRAPHS = ["basic_pitch", "nudity (MobileNet)"]  # of tensorflow_packages.py, with one input
KERAS = ["age_gender_wide_resnet", "brain_tumor_xception"]
APPLICATIONS = {
    "MobileNetV2": 224, "EfficientNetB0": 224, "ResNet50": 224, "DenseNet121": 224, "InceptionV3": 299,
    "ConvNeXtTiny": 224,
}  # fmt: skip
_SAVE = """
import sys
sys.path[:0] = sys.argv[1:3]
import applications
applications.network(sys.argv[3], int(sys.argv[4]))[0].save(sys.argv[5])
"""


def application(name):
    """The path of a .keras file with a network of keras.applications."""
    path = FOLDER / f"{name}.keras"
    if not path.exists():
        words = [SITES["tensorflow"], ROOT / "test" / "frontends", name, APPLICATIONS[name], FOLDER / "new.keras"]
        environment = os.environ | {"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}
        subprocess.run([sys.executable, "-c", _SAVE, *map(str, words)], env=environment, check=True)
        (FOLDER / "new.keras").rename(path)
    return path


def cases():
    """(name, format, engine, words of `relay bench`) of each model; the model is fetched when its turn comes."""
    for name, sizes in LITE.items():
        shapes = [word for key, size in sizes.items() for word in ("--shape", f"{key}={','.join(map(str, size))}")]
        yield name, "TFLite", "litert", lambda name=name, shapes=shapes: [*fetch_models.fetch([name]), *shapes]
    for model in tensorflow_packages.MODELS:
        if model.name in GRAPHS:
            yield model.name, model.form, "tensorflow", lambda model=model: [tensorflow_packages.fetched(model)]
    for name in KERAS:
        yield (
            name,
            "Keras",
            "tensorflow",
            lambda name=name: fetch_models.fetch([name], packages=keras_packages.PACKAGES),
        )
    for name in APPLICATIONS:
        yield name, "Keras", "tensorflow", lambda name=name: [application(name)]


def measure(name, engine, words, seconds):
    """The rows of `relay bench` for each number of threads."""
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "python"), str(SITES[engine])])
    return run.measure(name, words, [engine], THREADS, seconds)


def measure_cpu(name, engine, words, seconds):
    """A row like those of `relay bench`, of CPU times. It comes from a process of its own."""
    path, *shapes = map(str, words)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "python"), str(SITES[engine])])}
    command = [sys.executable, __file__, "--cpu-of", path, engine, str(seconds), *shapes]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise run.BenchError(f"{name} failed:\n{done.stderr[-2000:]}")
    return [json.loads(done.stdout.splitlines()[-1]) | {"model": name}]


def cpu_of(path, engine, seconds, *shapes):
    """Prints the row for a model."""
    import numpy as np
    from relay.tools.bench import ENGINES

    import relay

    sizes = dict(word.split("=") for word in shapes if word != "--shape")
    given = {name: tuple(map(int, one.split(","))) for name, one in sizes.items()}
    version, load = ENGINES[engine]()
    compiled = relay.compile(path, shapes=given or None, threads=1, tier="full")
    rng = np.random.default_rng(0)
    arrays = [
        rng.uniform(-1, 1, [one if isinstance(one, int) else 1 for one in port.shape]).astype(port.dtype)
        for port in compiled.inputs
    ]
    calls = [lambda: compiled(*arrays), load(path, 1)(arrays)]
    ours, theirs = (
        [np.asarray(x) for x in (found if isinstance(found, (list, tuple)) else [found])]
        for found in (call() for call in calls)
    )
    apart = max(
        min(np.abs(a - b).max() / max(np.abs(b).max(), 1e-30) for a in ours if a.shape == b.shape) for b in theirs
    )
    rounds = [rounds_of(calls[:: 1 if place % 2 else -1])[:: 1 if place % 2 else -1] for place in range(2)]
    end = time.process_time() + float(seconds)
    while len(rounds) < 12 or (time.process_time() < end and len(rounds) < 200):
        turn = 1 if len(rounds) % 2 else -1
        rounds.append(rounds_of(calls[::turn])[::turn])
    ratios = sorted(b / a for a, b in rounds)
    cut = int(len(ratios) / 2 - 0.98 * len(ratios) ** 0.5)  # of the 95 % interval of the median
    times = [statistics.median(one) for one in zip(*rounds, strict=True)]
    peer = {"engine": engine, "version": version, "median_us": times[1], "ratio": statistics.median(ratios),
            "ratio_interval": [ratios[cut], ratios[-1 - cut]], "largest_difference": float(apart)}  # fmt: skip
    print(json.dumps({"threads": 1, "relay": {"median_us": times[0]}, "peers": [peer], "quiet": True}))


def rounds_of(calls, least=0.02):
    """The CPU time of a run of each call in microseconds, over runs that take at least `least` seconds together."""
    made = []
    for call in calls:
        count, begin = 0, time.process_time()
        while (spent := time.process_time() - begin) < least:
            call()
            count += 1
        made.append(spent / count * 1e6)
    return made


def head():
    titles = ["model", "format", "beside", "threads", "Relay, ms", "its runtime, ms", "its runtime / Relay",
              "95 % confidence interval", "largest difference"]  # fmt: skip
    return [f"| {' | '.join(titles)} |", f"| --- | --- | --- |{' ---: |' * (len(titles) - 3)}"]


def line(name, form, row):
    (peer,) = row["peers"]
    interval = "{:.2f} to {:.2f}".format(*peer["ratio_interval"]) if peer["ratio_interval"] else "too few rounds"
    cells = [
        name, form, PEERS[peer["engine"]], str(row["threads"]), f"{row['relay']['median_us'] / 1e3:.3f}",
        f"{peer['median_us'] / 1e3:.3f}", f"**{peer['ratio']:.2f}**", interval + ("" if row["quiet"] else ", busy"),
        run.number(peer["largest_difference"], ".1e"),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def page(lines, rows, versions, failed, load, is_cpu):
    behind = [f"{row['model']} ({row['threads']})" for row in rows if row["peers"][0]["ratio"] < 1]
    counts = sorted({row["threads"] for row in rows})
    means = "; ".join(f"{run.mean(rows, count):.2f} with {count} thread{'s' * (count > 1)}" for count in counts)
    how = "each in its own process, as in `make bench`"
    if is_cpu:
        how = "and the CPU time of their threads counts, because the machine was busy with other work"
    told = f"Behind (number of threads): {', '.join(behind)}." if behind else "Relay is behind on none of them."
    lost = f"\nNot measured: {', '.join(failed)}.\n" if failed else ""
    return f"""<!-- Written by bench/frontends.py. Do not edit. -->
# Models beside the runtimes of their formats: {run.cpu_name()}

Medians in milliseconds, measured {time.strftime("%Y-%m-%d")}. The geometric mean of the runtime's time over ours:
{means}.
{told}
The engines take turns in short bursts on the same input, {how}.
LiteRT runs its default delegate (XNNPACK). TensorFlow runs a function whose variables are constants, with oneDNN. All
networks compute in floats. Those of keras.applications have random weights; the others are trained. Runtimes:
{", ".join(versions)}.
{"" if is_cpu else run.busy(load)}{lost}
{chr(10).join(lines)}

To repeat: `{".venv/bin/python bench/frontends.py --cpu" if is_cpu else "make bench-frontends"}`.
"""


def main():
    parser = argparse.ArgumentParser(description="Compares models of TFLite, TensorFlow and Keras with their runtimes.")
    parser.add_argument("--only", nargs="+", default=[], help="models with this in their name; writes no page")
    parser.add_argument("--time", type=float, default=6, metavar="S", help="seconds per model and thread count")
    parser.add_argument("--cpu", action="store_true", help="measure the CPU time of one thread")
    parser.add_argument("--cpu-of", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.cpu_of:
        return cpu_of(*arguments.cpu_of)
    FOLDER.mkdir(parents=True, exist_ok=True)
    load, lines, rows, versions, failed = run.machine_load(), head(), [], {}, []
    print("\n".join(lines), flush=True)
    for name, form, engine, words in cases():
        if arguments.only and not any(one in name for one in arguments.only):
            continue
        try:
            found = (measure_cpu if arguments.cpu else measure)(name, engine, words(), arguments.time)
        except run.BenchError as error:
            print(f"bench: {error}", file=sys.stderr, flush=True)
            failed.append(name)
            continue
        versions |= dict.fromkeys(peer["version"] for row in found for peer in row["peers"])
        rows += found
        for row in found:
            lines.append(line(name, form, row))
            print(lines[-1], flush=True)
    if not arguments.only:
        path = ROOT / "docs" / "benchmarks" / f"front-ends-{run.slug(run.cpu_name())}.md"
        path.write_text(page(lines, rows, list(versions), failed, load, arguments.cpu))
        print(f"bench: wrote {path.relative_to(ROOT)}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
