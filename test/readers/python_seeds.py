"""Seeds of the corpora of the readers in Python: small real models, as the frameworks write them where they are
installed in build/test-* (make test-frontends), and what the hostile kinds begin with."""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FRONTENDS, TESTS = ROOT / "test" / "frontends", ROOT / "test" / "python"
for folder in ("keras", "tensorflow_import", "support", "coreml", "oneflow"):
    sys.path.append(str(TESTS / folder))
sys.path += [str(ROOT / "test" / "hostile"), str(FRONTENDS)]

import numpy as np  # noqa: E402
from python_readers import CORE_ML_MANIFEST, READERS, packed  # noqa: E402

SEEDS = ROOT / "build" / "fuzz" / "seeds"


def of(reader: str, largest: int, most: int = 120) -> list[bytes]:
    """The cases of at most `largest` bytes, each once, and at most `most` of them, chosen by a fixed seed.

    They are kept in build/fuzz/seeds, because some frameworks take minutes to write them."""
    folder = SEEDS / reader
    if not folder.is_dir():
        made = {packed([*files, json.dumps(shapes).encode()]) for files, shapes in globals()[f"_{reader}"]()}
        folder.mkdir(parents=True)
        for place, one in enumerate(sorted(made)):
            (folder / f"{place:04}").write_bytes(one)
    held = [path.read_bytes() for path in sorted(folder.iterdir()) if path.stat().st_size <= largest]
    return held if len(held) <= most else random.Random(0).sample(held, most)


def _folder(place: pathlib.Path, reader: str) -> list[bytes]:
    """The files of a reader in a folder; those that are missing are empty."""
    return [(place / name).read_bytes() if (place / name).is_file() else b"" for name in READERS[reader].files]


def _shapes_in(file: pathlib.Path) -> dict:
    return {name: list(one.shape) for name, one in np.load(file).items()}


# --- Keras ------------------------------------------------------------------------------------------------------------
def _keras_files(suffix: str):
    """Files that Keras itself writes, of the models of keras_cases.py."""
    site = ROOT / "build" / "test-keras"
    if not site.is_dir():
        return
    script = (
        f"import os, sys, pathlib\nsys.path[:0] = [{str(site)!r}, {str(FRONTENDS)!r}]\n"
        "os.environ.update(KERAS_BACKEND='tensorflow', TF_CPP_MIN_LOG_LEVEL='3', CUDA_VISIBLE_DEVICES='-1')\n"
        "import keras, keras_cases\n"
        "for place, case in enumerate(keras_cases.cases(keras)[::12]):\n"
        "    try: case.build().save(str(pathlib.Path(sys.argv[1], f'{place}{sys.argv[2]}')))\n"
        "    except Exception as error: print(case.name, error)\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", script, folder, suffix], check=True, capture_output=True)
        for path in sorted(pathlib.Path(folder).iterdir()):
            yield path.read_bytes()


def _members(content: bytes, folder: pathlib.Path) -> list[bytes]:
    path = folder / "net.keras"
    path.write_bytes(content)
    with zipfile.ZipFile(path) as archive:
        return [archive.read(name) for name in READERS["keras"].files]


def _keras():
    import keras_models
    from keras_files import archive, called, functional, input_layer, layer, tensor

    nested = functional([input_layer("x", 4), called(layer("ReLU", "m"), [tensor("x")])], ["x"], ["m"], name="m")
    for place in range(18):  # models that call models twice
        joined = called(layer("Add", "a"), [[tensor("m", one) for one in range(2)]])
        inner = called({**nested, "name": "m"}, tensor("x"), tensor("x"))
        nested = functional([input_layer("x", 4), inner, joined], ["x"], ["a"], name=f"m{place}")
    with tempfile.TemporaryDirectory() as folder:
        for content in (keras_models.samples()[0], archive(nested, {}), *_keras_files(".keras")):
            yield _members(content, pathlib.Path(folder)), {}


def _keras_h5():
    import keras_models

    for content in (keras_models.samples()[1], *_keras_files(".h5")):
        yield [content], {}


# --- TensorFlow -------------------------------------------------------------------------------------------------------
def _recorded():
    """Graphs that TensorFlow wrote."""
    held = np.load(TESTS / "tensorflow_import" / "recorded.npz")
    for place in range(len(json.loads(held["about"].tobytes()))):
        yield held[f"{place}.graph"].tobytes()


def _tensorflow():
    import tensorflow_models

    for content in (tensorflow_models.sample(), *_recorded()):
        yield [content], {}


def _saved_model():
    import tensorflow_files as files

    float_ = files.Type("float32")
    handle = files.node("v", "VarHandleOp", dtype=float_, shape=[2, 3], shared_name="v")
    nodes = [
        files.placeholder("x", 4, 2),
        handle,
        files.node("w", "ReadVariableOp", "v", dtype=float_),
        files.node("y", "MatMul", "x", "w", T=float_),
    ]
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder, "net")
        files.saved_model(place, files.graph(nodes), {"x": ("x:0", "float32", [4, 2])},
                          {"y": ("y:0", "float32", [4, 3])}, {"v": np.ones((2, 3), np.float32)})  # fmt: skip
        yield _folder(pathlib.Path(folder), "saved_model"), {}
    site = ROOT / "build" / "test-keras"
    if not site.is_dir():
        return
    script = (
        f"import os, sys\nsys.path.insert(0, {str(site)!r})\n"
        "os.environ.update(TF_CPP_MIN_LOG_LEVEL='3', CUDA_VISIBLE_DEVICES='-1')\n"
        "import tensorflow as tf\n"
        "module = tf.Module()\nmodule.w = tf.Variable(tf.ones((2, 3)))\n"
        "run = tf.function(lambda x: tf.nn.relu(x @ module.w), input_signature=[tf.TensorSpec([None, 2], name='x')])\n"
        "module.run = run\ntf.saved_model.save(module, sys.argv[1] + '/net')\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", script, folder], check=True, capture_output=True)
        yield _folder(pathlib.Path(folder), "saved_model"), {}


# --- DarkNet, Caffe, Caffe2, MXNet ------------------------------------------------------------------------------------
def _two(files) -> list[bytes]:
    return [content for _, content in files]


def _darknet():
    import darknet_cases
    import network_models
    from darknet_run import Recorder
    from relay.frontend.darknet.config import sections_of
    from relay.frontend.darknet.graph import Importer

    yield _two(network_models.darknet()), {}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "net.weights")
        for name, text, _ in darknet_cases.cases():
            recorder = Recorder(np.random.default_rng(0))
            Importer(recorder, {}, {}).network(sections_of(name, text.encode()))
            recorder.write(path)
            yield [text.encode(), path.read_bytes()], {}


def _caffe():
    import caffe_cases
    import network_models
    from caffe_run import random_blobs
    from protobuf_writer import caffemodel

    yield _two(network_models.caffe()), {}
    for _, text, shapes, _ in caffe_cases.cases():
        blobs = random_blobs(text, shapes, np.random.default_rng(0))
        yield [text.encode(), caffemodel(blobs or {"unused": [np.zeros(1)]})], {}


def _caffe2():
    import network_models

    yield _two(network_models.caffe2()), {"x": [1, 4]}
    held = np.load(TESTS / "caffe2" / "golden.npz")  # networks that Caffe2 wrote
    for name in sorted({key.partition("|")[0] for key in held.files}):
        inputs = {key.partition("in:")[2]: list(held[key].shape) for key in held.files if key.startswith(f"{name}|in:")}
        yield [held[f"{name}|predict"].tobytes(), held[f"{name}|init"].tobytes()], inputs


def _of_oracle(reader: str, python: pathlib.Path, script: str, *arguments: str):
    """The cases that a framework writes."""
    if not python.exists():
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-W", "ignore", FRONTENDS / script, f"{folder}/cases", *arguments], check=True,
                       capture_output=True, env=os.environ | {"PYTHONPATH": ""})  # fmt: skip
        for place in sorted(pathlib.Path(folder, "cases").iterdir()):
            if (place / "inputs.npz").is_file():
                yield _folder(place, reader), _shapes_in(place / "inputs.npz")


def _mxnet():
    import network_models

    yield _two(network_models.mxnet()), {"x": [1, 4]}
    yield from _of_oracle("mxnet", ROOT / "build" / "test-mxnet" / "bin" / "python", "mxnet_oracle.py")


# --- Paddle, OneFlow --------------------------------------------------------------------------------------------------
_PADDLE_CASES = ("onv", "ool", "orm", "matmul", "reshape", "concat", "relu", "while", "cond", "LSTM", "slice", "gather")
_PADDLE = ROOT / "build" / "test-paddle" / "env" / "bin" / "python"


def _paddle():
    import paddle_models

    yield _two(paddle_models.old()), {}
    for files, _ in _of_oracle("paddle", _PADDLE, "paddle_oracle.py", "old", *_PADDLE_CASES):
        yield files, {}


def _paddle_json():
    import paddle_models

    yield _two(paddle_models.new()), {}
    for files, _ in _of_oracle("paddle_json", _PADDLE, "paddle_oracle.py", "pir", *_PADDLE_CASES):
        yield files, {}


def _oneflow():
    from test_oneflow import TWO, WITH, X, job, told, write

    w = np.ones((5, 4), np.float32)
    product = {"transpose_a": False, "transpose_b": True, "alpha": 2.0}
    cases = [("broadcast_matmul", [X], {"w": w}, product), *((kind, [X, X], {}, {}) for kind in TWO)]
    cases += [(kind, [X], {}, told(given)) for kind, given in WITH]
    with tempfile.TemporaryDirectory() as folder:
        for at, (kind, inputs, stored, given) in enumerate(cases):
            place = pathlib.Path(folder, str(at))
            place.mkdir()
            write(place, job(kind, inputs, 1, stored, **given), stored)
            yield _folder(place, "oneflow"), {}


# --- Core ML ----------------------------------------------------------------------------------------------------------
def _coreml():
    import coreml_models
    from coreml_files import weight_file

    held = weight_file(("float32", np.ones(6, np.float32).tobytes()))[0]
    for content, weights in ((coreml_models.net(), b""), (coreml_models.program(), b""), (coreml_models.dense(), held)):
        yield [content, weights, CORE_ML_MANIFEST], {}
    site = ROOT / "build" / "test-coreml"
    if not site.is_dir():
        return
    sys.path.append(str(site))
    import coremltools as ct

    with tempfile.TemporaryDirectory() as folder:
        for at, (form, program) in enumerate(
            (form, one) for form in ("mlprogram", "neuralnetwork") for one in _mil_programs()
        ):
            how = {"compute_precision": ct.precision.FLOAT32} if form == "mlprogram" else {}
            model = ct.convert(program, convert_to=form, **how)
            place = pathlib.Path(folder, str(at))
            if form == "mlprogram":
                model.save(str(place / "net.mlpackage"))
                yield _folder(place, "coreml")[:2] + [CORE_ML_MANIFEST], {}
            else:
                yield [model.get_spec().SerializeToString(), b"", CORE_ML_MANIFEST], {}


def _mil_programs():
    """Small programs of coremltools: a convolution, a recurrence, shapes, a loop and a branch."""
    from coremltools.converters.mil import Builder as mb

    image, rows = mb.TensorSpec((1, 2, 6, 5)), mb.TensorSpec((3, 2, 4))
    weight, numbers = np.ones((3, 2, 3, 3), np.float32), np.random.default_rng(0)

    @mb.program(input_specs=[image])
    def convolution(x):
        y = mb.relu(x=mb.conv(x=x, weight=weight, pad_type="same", strides=[2, 1]))
        return mb.max_pool(x=y, kernel_sizes=[2, 2], strides=[1, 1], pad_type="valid")

    @mb.program(input_specs=[rows])
    def recurrence(x):
        state = mb.const(val=np.zeros((2, 3), np.float32))
        return mb.lstm(x=x, initial_h=state, initial_c=state, output_sequence=True,
                       weight_ih=numbers.random((12, 4), np.float32),
                       weight_hh=numbers.random((12, 3), np.float32))[0]  # fmt: skip

    @mb.program(input_specs=[rows])
    def shapes(x):
        y = mb.reshape(x=mb.transpose(x=x, perm=[2, 0, 1]), shape=[4, -1])
        y = mb.concat(values=[y, mb.gather(x=y, indices=[0, 2], axis=0)], axis=0)
        return mb.softmax(x=mb.slice_by_index(x=y, begin=[1, 0], end=[5, 6], stride=[2, 1]), axis=-1)

    @mb.program(input_specs=[rows])
    def branch(x):
        large = mb.greater(x=mb.reduce_sum(x=x, axes=[0, 1, 2], keep_dims=False), y=0.0)
        return mb.cond(pred=large, _true_fn=lambda: mb.exp(x=x), _false_fn=lambda: mb.add(x=x, y=1.0))

    @mb.program(input_specs=[rows])
    def loop(x):
        return mb.while_loop(
            _cond=lambda i, y: mb.less(x=i, y=4.0), _body=lambda i, y: (mb.add(x=i, y=1.0), mb.mul(x=y, y=2.0)),
            loop_vars=(np.float32(0), x),
        )[1]  # fmt: skip

    return [convolution, recurrence, shapes, branch, loop]
