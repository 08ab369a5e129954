#!/usr/bin/env python3
"""Compares models that take microseconds with ONNX Runtime and OpenVINO, with one and two threads.

    make bench-small                                          all of them; writes docs/benchmarks/small-CPU.md
    .venv/bin/python bench/small_models.py --only lstm --time 0.3     only this one; writes no page

The models are a frame of speech with its state, models of scikit-learn as skl2onnx exports them, and recurrent layers.
Each measurement is `relay bench`, as in bench/run.py. OpenVINO is left out if it cannot convert the model.
"""

import argparse
import pathlib
import sys
import time
import warnings

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "dev"), str(ROOT / "bench")]
import fetch_models  # noqa: E402
import run  # noqa: E402

FOLDER = ROOT / "build" / "benchmarks" / "small"
PACKAGES = ROOT / "build" / "test-sklearn"  # make test-sklearn
THREADS = [1, 2]


class Case:
    """A model's file and its inputs."""

    def __init__(self, path, inputs):
        self.path = path
        self.what = [path]
        for name, value in inputs.items():
            file = FOLDER / f"{path.stem}.{name}.npy"
            np.save(file, value)
            self.what += ["--input", f"{name}={file}"]


def silero(rng):
    """A frame of 512 samples at 16 kHz with the 64 samples before it, and a random state."""
    (path,) = fetch_models.fetch(["silero_vad"])
    frame, state = rng.standard_normal((1, 576)) / 10, rng.standard_normal((2, 1, 128)) / 10
    return Case(path, {"input": frame.astype(np.float32), "state": state.astype(np.float32), "sr": np.array(16000)})


def learnt(name, make, rows=1):
    """A classifier of 20 features, trained on 1000 rows, that predicts `rows` rows."""

    def case(rng):
        sys.path.append(str(PACKAGES))
        from skl2onnx import to_onnx

        x = rng.standard_normal((1000, 20)).astype(np.float32)
        y = (x[:, 0] + x[:, 1] * x[:, 2] > 0.4).astype(np.int64) + (x[:, 3] - x[:, 4] > 0.7)
        model = make().fit(x, y)
        path = FOLDER / f"{name}.onnx"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the exporter reads attributes that scikit-learn has deprecated
            path.write_bytes(to_onnx(model, x[:1], options={"zipmap": False}).SerializeToString())
        return Case(path, {"X": x[:rows]})

    return case


def boosting():
    from sklearn.ensemble import GradientBoostingClassifier

    return GradientBoostingClassifier(n_estimators=50, max_depth=3, random_state=0)


def forest():
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(100, max_depth=8, random_state=0)


def support_vectors():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    return make_pipeline(StandardScaler(), SVC(gamma=0.1))


def recurrent(kind, gates, symbolic, steps=64, width=128, hidden=256):
    """A recurrent layer with one direction, batch 1."""

    def case(rng):
        shapes = {"w": (1, gates * hidden, width), "r": (1, gates * hidden, hidden), "b": (1, 2 * gates * hidden)}
        weights = [
            numpy_helper.from_array((rng.standard_normal(s) / np.sqrt(s[-1])).astype(np.float32), n)
            for n, s in shapes.items()
        ]
        x = rng.standard_normal((steps, 1, width)).astype(np.float32)
        length = "steps" if symbolic else steps
        node = helper.make_node(kind, ["x", *shapes], ["y", "h"], hidden_size=hidden)
        graph = helper.make_graph(
            [node],
            kind,
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [length, 1, width])],
            [
                helper.make_tensor_value_info("y", TensorProto.FLOAT, [length, 1, 1, hidden]),
                helper.make_tensor_value_info("h", TensorProto.FLOAT, [1, 1, hidden]),
            ],
            weights,
        )
        path = FOLDER / f"{kind.lower()}{'_symbolic' * symbolic}.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        return Case(path, {"x": x})

    return case


CASES = {
    "silero": ("Silero voice activity, a frame of 512 samples", silero),
    "boosting": ("gradient boosting, 50 trees of depth 3 per class, one row", learnt("boosting", boosting)),
    "forest": ("random forest, 100 trees of depth 8, one row", learnt("forest", forest)),
    "forest_rows": ("random forest, 100 trees of depth 8, 256 rows", learnt("forest_rows", forest, rows=256)),
    "svm": ("scaler and SVM (rbf), one row", learnt("svm", support_vectors)),
    "lstm": ("LSTM, 128-256, 64 steps", recurrent("LSTM", 4, symbolic=False)),
    "lstm_symbolic": ("LSTM, 128-256, 64 steps, symbolic length", recurrent("LSTM", 4, symbolic=True)),
    "gru": ("GRU, 128-256, 64 steps", recurrent("GRU", 3, symbolic=False)),
    "gru_symbolic": ("GRU, 128-256, 64 steps, symbolic length", recurrent("GRU", 3, symbolic=True)),
}


def measure(name, case, seconds):
    """A row of `relay bench` for each thread count, with every peer that can run the model."""
    try:
        return run.measure(name, case.what, run.ONNX_PEERS, THREADS, seconds)
    except run.BenchError as error:
        if "openvino" not in str(error).partition("failed:")[2]:
            raise
    return run.measure(name, case.what, ["onnxruntime"], THREADS, seconds)


def head():
    peers = " | ".join(f"{run.PEERS[peer]}, us" for peer in run.ONNX_PEERS)
    return [
        f"| model | threads | Relay, us | {peers} | best / Relay | 95 % confidence interval |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]


def line(title, row):
    peer = run.best(row)
    interval = "{:.2f} to {:.2f}".format(*peer["ratio_interval"]) if peer["ratio_interval"] else "too few rounds"
    times = run.cells(row, run.ONNX_PEERS, lambda engine: f"{engine['median_us']:.1f}")
    busy = "" if row["quiet"] else ", busy"
    return f"| {title} | {row['threads']} | {' | '.join(times)} | {peer['ratio']:.2f} | {interval}{busy} |"


def page(lines, versions, load):
    return f"""<!-- Written by bench/small_models.py. Do not edit. -->
# Small models: {run.cpu_name()}

Medians in microseconds, measured {time.strftime("%Y-%m-%d")}. The engines take turns in short bursts on the same
input, each in its own process, as in `make bench`. "best / Relay" is the best peer's time over ours, as the median over
the rounds. "-" means that OpenVINO cannot convert the model. Peers: {", ".join(versions)}.
{run.busy(load)}
{chr(10).join(lines)}

To repeat: `make bench-small`.
"""


def main():
    parser = argparse.ArgumentParser(description="Compares small models with ONNX Runtime and OpenVINO.")
    parser.add_argument("--only", nargs="+", choices=CASES, help="only these; writes no page")
    parser.add_argument(
        "--time", type=float, default=5, metavar="S", help="seconds per model and thread count (default 5)"
    )
    arguments = parser.parse_args()
    load = run.machine_load()
    run.install_peers()
    FOLDER.mkdir(parents=True, exist_ok=True)
    lines, versions = head(), {}
    print("\n".join(lines), flush=True)
    for name in arguments.only or CASES:
        title, make = CASES[name]
        for row in measure(name, make(np.random.default_rng(1)), arguments.time):
            versions |= dict.fromkeys(peer["version"] for peer in row["peers"])
            lines.append(line(title, row))
            print(lines[-1], flush=True)
    if arguments.only:
        return
    path = ROOT / "docs" / "benchmarks" / f"small-{run.slug(run.cpu_name())}.md"
    path.write_text(page(lines, versions, load))
    print(f"bench: wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
