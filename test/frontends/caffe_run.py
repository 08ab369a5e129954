"""Compares Relay with OpenCV 4's reader of Caffe on small networks of each layer, and on trained models from packages.

make test-frontends                               all of them; writes the tables of docs/front-ends.md
test/frontends/caffe_run.py --only Pooling        cases and models with this in their name; writes nothing
"""

import argparse
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test" / "python" / "support")]

import caffe_cases  # noqa: E402
import numpy as np  # noqa: E402
import sdist_models  # noqa: E402
from protobuf_writer import caffemodel  # noqa: E402
from relay.frontend.caffe.table import CONVERTERS  # noqa: E402
from report import write  # noqa: E402

import relay  # noqa: E402

PYTHON = ROOT / "build" / "test-opencv" / "bin" / "python"
# Relative to the largest value: sums of up to thousands of products in float32, in another order.
CLOSE, CLOSE_MODEL = 1e-5, 2e-4


def opencv(folder):
    """Runs OpenCV on all networks in a folder; returns the reasons of those that it refuses."""
    script = pathlib.Path(__file__).with_name("caffe_oracle.py")
    done = subprocess.run(
        [PYTHON, script, folder],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": "", "OPENCV_LOG_LEVEL": "OFF"},
    )
    if done.returncode:
        raise RuntimeError(f"OpenCV ends with {done.returncode}: {done.stderr[-1000:]}")
    return dict(re.findall(r"REFUSED (\S+): (.*)", done.stdout))


def random_blobs(text, shapes, rng):
    """Random weights; variances, counts and scales are positive."""
    made = {}
    for name, blobs in shapes.items():
        kind = re.search(rf'name: "{name}" type: "(\w+)"', text)[1]
        made[name] = [rng.uniform(-0.5, 0.5, shape).astype(np.float32) for shape in blobs]
        if kind == "BatchNorm":
            made[name][1] = np.abs(made[name][1]) + 0.5
            made[name][2][:] = 2
    return made


def difference(got, wanted):
    """The largest difference, relative to the largest value."""
    if got.size != wanted.size:
        raise AssertionError(f"{list(got.shape)} for {list(wanted.shape)}")
    got, wanted = (one.astype(np.float64).reshape(-1) for one in (got, wanted))
    return float(np.abs(got - wanted).max() / max(np.abs(wanted).max(), 1e-30))


def run_cases(only, folder):
    agree, failed, rng = collections.Counter(), 0, np.random.default_rng(0)
    cases = [one for one in caffe_cases.cases() if only in one[0]]
    for number, (_, text, shapes, shape) in enumerate(cases):
        place = folder / f"{number:03}"
        place.mkdir()
        (place / "net.prototxt").write_text(text)
        (place / "net.caffemodel").write_bytes(caffemodel(random_blobs(text, shapes, rng) or {"unused": [np.zeros(1)]}))
        np.save(place / "inputs.npy", rng.uniform(-2, 2, shape).astype(np.float32))
    refused = opencv(folder)
    for number, (name, text, _, _) in enumerate(cases):
        place = folder / f"{number:03}"
        try:
            if place.name in refused:
                raise AssertionError(f"OpenCV refuses it: {refused[place.name]}")
            module, _ = relay.frontend.from_caffe(place / "net.caffemodel", place / "net.prototxt")
            got = np.asarray(relay.compile(module)(np.load(place / "inputs.npy")))
            worst = difference(got, np.load(place / "outputs.npy"))
        except Exception as error:
            print(f"FAILED {name}: {type(error).__name__} {str(error).strip()[:300]}", flush=True)
            failed += 1
            continue
        if not worst <= CLOSE:
            print(f"DIFFERS {name}: {worst:.2e}", flush=True)
            failed += 1
            continue
        agree.update(set(re.findall(r'type: "(\w+)"', text)))
    print(f"{len(cases) - failed} of {len(cases)} cases agree with OpenCV", flush=True)
    return failed, agree


def picture(size, rng):
    """A smooth picture, in which the scores of boxes differ: their order is part of a result."""
    y, x = np.mgrid[:size, :size] / size
    waves = [np.sin(9 * (a * x + b * y) + c) for a, b, c in rng.uniform(-3, 3, (6, 3))]
    return (60 * np.tensordot(rng.uniform(-1, 1, (3, 6)), waves, 1))[None].astype(np.float32)


def run_models(only, folder):
    """Compares trained models, before and after their softmax, which hides differences."""
    failed, rows, rng = 0, [], np.random.default_rng(1)
    names = [name for name in ("ssd_face", "resnet_50_thin") if only in name]
    for name in names:
        held = sdist_models.fetch(name)
        place = folder / name
        shutil.copytree(held, place)
        text = (place / "net.prototxt").read_text()
        size = 300 if name == "ssd_face" else 224
        np.save(place / "inputs.npy", picture(size, rng))
        shutil.copytree(place, folder / f"{name}-scores")
        if name == "resnet_50_thin":
            cut = text[: re.search(r"layer\s*\{[^{}]*Softmax", text).start()]
            (folder / f"{name}-scores" / "net.prototxt").write_text(cut)
    refused = opencv(folder)
    for name in names:
        worst = 0.0
        for place in (folder / name, folder / f"{name}-scores"):
            if place.name in refused:
                raise RuntimeError(f"OpenCV refuses {place.name}: {refused[place.name]}")
            module, _ = relay.frontend.from_caffe(place / "net.caffemodel", place / "net.prototxt")
            got = np.asarray(relay.compile(module)(np.load(place / "inputs.npy")))
            wanted = np.load(place / "outputs.npy")
            if got.shape[-1] == 7:  # detections: Relay leaves -1 in rows without one, and OpenCV 0
                got, wanted = got[got[..., 0] >= 0], wanted[wanted[..., 2] > 0]
            worst = max(worst, difference(got, wanted))
        size = (folder / name / "net.caffemodel").stat().st_size
        rows.append(f"| {name} | {size:,} | {worst:.1e} |")
        print(f"{'' if worst <= CLOSE_MODEL else 'DIFFERS '}{name}: {worst:.1e}", flush=True)
        failed += not worst <= CLOSE_MODEL
    return failed, rows


def main():
    parser = argparse.ArgumentParser(description="Compares networks of Caffe with OpenCV.")
    parser.add_argument("--only", default="", help="cases and models with this in their name")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        failed, agree = run_cases(arguments.only, pathlib.Path(place))
    with tempfile.TemporaryDirectory() as place:
        missed, rows = run_models(arguments.only, pathlib.Path(place))
    if not arguments.only:
        proven = sum(name in agree for name in CONVERTERS)
        write("Caffe layers", [
            f"{len(CONVERTERS)} layers are imported; {proven} of them were compared.", "",
            "| layer | cases that agree with OpenCV |", "| --- | --- |",
            *(f"| {name} | {agree.get(name, '')} |" for name in sorted(CONVERTERS)),
        ])  # fmt: skip
        write("Caffe models", ["| model | bytes | largest difference |", "| --- | --- | --- |", *rows])
    return failed + missed != 0


if __name__ == "__main__":
    sys.exit(main())
