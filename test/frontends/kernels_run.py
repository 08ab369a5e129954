"""Compares how many kernels one network has through each format: live Keras, .keras, .h5, SavedModel, TFLite.

    test/frontends/kernels_run.py                    all networks; part of make test-frontends
    test/frontends/kernels_run.py --only MobileNet   these; writes nothing

The formats say the same in other words: a converter folds a batch normalisation or splits a padding. After the passes
their kernels must be as many, within two.
"""

import logging
import os
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "build" / "test-keras"), str(ROOT / "dev")]
os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")

import applications  # noqa: E402
import tensorflow as tf  # noqa: E402
from runner import Run, main  # noqa: E402

import relay  # noqa: E402

NAMES = ("MobileNetV2", "ResNet50", "EfficientNetB0", "DenseNet121", "InceptionV3", "ConvNeXtTiny")
MOST_APART = 2
FORMS = ("live", ".keras", ".h5", "SavedModel", "TFLite")


def kernels_of(model, size: int, folder: pathlib.Path) -> dict[str, int]:
    """The number of kernels by format, for one image."""
    found = {}
    for form in FORMS:
        path = folder / f"model{form if form.startswith('.') else ''}"
        shape = (1, size, size, 3)
        if form == "live":
            module, _ = relay.frontend.from_keras(model, {model.inputs[0].name: shape}, layout="NHWC")
        elif form.startswith("."):
            model.save(path)
            module, _ = relay.frontend.from_keras(str(path), {model.inputs[0].name: shape}, layout="NHWC")
        elif form == "SavedModel":
            model.export(str(path), verbose=False)
            module = relay.load(path)
            (name,) = (one.name_hint for one in module["main"].params)
            module = module.bind_shapes({name: shape})
        else:
            content = tf.lite.TFLiteConverter.from_keras_model(model).convert()
            name = relay.load(content)["main"].params[0].name_hint
            module, _ = relay.frontend.from_tflite(content, shape_dict={name: shape})
        found[form] = len(relay.compile(module, threads=1).report["kernels"])
    return found


def run_all(run: Run):
    logging.getLogger("tensorflow").setLevel(logging.ERROR)
    logging.getLogger("absl").setLevel(logging.ERROR)
    rows = []
    for name in NAMES:

        def compare(name=name):
            size = applications.SIZES[name]
            model, _ = applications.network(name, size)
            with tempfile.TemporaryDirectory() as folder:
                found = kernels_of(model, size, pathlib.Path(folder))
            print(f"{name}: {', '.join(f'{form} {count}' for form, count in found.items())}", flush=True)
            apart = max(found.values()) - min(found.values())
            return apart, f"| {name} | {' | '.join(map(str, found.values()))} |"

        run.network(rows, name, compare, MOST_APART)
    run.table("kernels of formats", f"| network | {' | '.join(FORMS)} |", rows)


if __name__ == "__main__":
    sys.exit(main("kernels", "Compares the kernels of one network through several formats.", run_all))
