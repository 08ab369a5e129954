"""Networks of Caffe in text form (.prototxt): layers, and the inputs of the network.

Layers of Caffe before 2014 (`layers`, with types in capitals) become those of today. Layers of the training phase are
left out, as Caffe leaves them out when it makes a network for tests.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from ...errors import told
from ..shared.protobuf import Fields, read_text

AGAIN = (
    "a network of Caffe is a text of the form `layer { name: .. type: .. bottom: .. top: .. }`, usually deploy.prototxt"
)
MOST_LAYERS = 20_000

_OLD_NAMES = {
    "ABSVAL": "AbsVal", "ACCURACY": "Accuracy", "ARGMAX": "ArgMax", "BNLL": "BNLL", "CONCAT": "Concat",
    "CONTRASTIVE_LOSS": "ContrastiveLoss", "CONVOLUTION": "Convolution", "DATA": "Data",
    "DECONVOLUTION": "Deconvolution", "DROPOUT": "Dropout", "DUMMY_DATA": "DummyData",
    "EUCLIDEAN_LOSS": "EuclideanLoss", "ELTWISE": "Eltwise", "EXP": "Exp", "FLATTEN": "Flatten",
    "HDF5_DATA": "HDF5Data", "HDF5_OUTPUT": "HDF5Output", "HINGE_LOSS": "HingeLoss", "IM2COL": "Im2col",
    "IMAGE_DATA": "ImageData", "INFOGAIN_LOSS": "InfogainLoss", "INNER_PRODUCT": "InnerProduct", "LRN": "LRN",
    "MEMORY_DATA": "MemoryData", "MULTINOMIAL_LOGISTIC_LOSS": "MultinomialLogisticLoss", "MVN": "MVN",
    "POOLING": "Pooling", "POWER": "Power", "RELU": "ReLU", "SIGMOID": "Sigmoid",
    "SIGMOID_CROSS_ENTROPY_LOSS": "SigmoidCrossEntropyLoss", "SILENCE": "Silence", "SOFTMAX": "Softmax",
    "SOFTMAX_LOSS": "SoftmaxWithLoss", "SPLIT": "Split", "SLICE": "Slice", "TANH": "TanH",
    "WINDOW_DATA": "WindowData", "THRESHOLD": "Threshold",
}  # fmt: skip
# Fields of a layer that are not its parameters, or that have an effect in training only.
_OF_ALL_LAYERS = {
    "name", "type", "bottom", "top", "include", "exclude", "phase", "loss_weight", "param", "propagate_down", "blobs",
    "blobs_lr", "weight_decay", "blob_share_mode", "loss_param", "transform_param",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Layer:
    """A layer. parameters: lists of values by "message.field", such as "convolution_param.num_output"."""

    name: str
    kind: str
    bottoms: list[str]
    tops: list[str]
    parameters: dict[str, list]


@dataclasses.dataclass(frozen=True)
class Network:
    inputs: dict[str, list[int]]
    layers: list[Layer]


def network_of(name: str, content: bytes) -> Network:
    """Returns the network of a .prototxt file. name: the file, for messages."""
    if b"\0" in content[:4096]:
        raise told("corrupt_file", f"{name} is not a text: byte {content.index(0)} is zero", AGAIN)
    fields = read_text(name, content, AGAIN)
    found = fields.get("layer", []) + fields.get("layers", [])
    if not found:
        raise told("bad_model", f"{name} has no layers", AGAIN)
    if len(found) > MOST_LAYERS:
        raise told("limit_exceeded", f"{name} has {len(found)} layers, more than {MOST_LAYERS}", AGAIN)
    layers = []
    for number, one in enumerate(found):
        if not isinstance(one, dict):
            raise told("corrupt_file", f"layer {number} of {name} is {str(one)[:40]!r}, not a message", AGAIN)
        if "layer" in one and "type" not in one:
            raise told(
                "bad_model", f"{name} has the form of 2013, with a layer inside of each `layers`",
                "convert it with Caffe's upgrade_net_proto_text",
            )  # fmt: skip
        if _is_for_tests(one):
            layers.append(_layer(name, one, number))
    return Network(_inputs(name, fields), layers)


def _layer(name: str, fields: Fields, number: int) -> Layer:
    def texts(field: str) -> list[str]:
        found = fields.get(field, [])
        if not all(isinstance(one, str) for one in found):
            raise told("corrupt_file", f"`{field}` of layer {number} of {name} is not a text", AGAIN)
        return [str(one) for one in found]

    kind = (texts("type") or [""])[-1]
    if not kind:
        raise told("bad_model", f"layer {number} of {name} has no type", AGAIN)
    parameters = {}
    for message, values in fields.items():
        if message in _OF_ALL_LAYERS:
            continue
        for value in values:
            inner = value if isinstance(value, Mapping) else {"": [value]}
            for field, given in inner.items():
                parameters.setdefault(f"{message}.{field}" if field else message, []).extend(given)
    called = (texts("name") or [f"#{number}"])[-1]
    return Layer(called, _OLD_NAMES.get(kind, kind), texts("bottom"), texts("top"), parameters)


def _is_for_tests(fields: Fields) -> bool:
    """Returns true if the rules of a layer include it in the test phase, at level 0 without stages."""
    include, exclude = (
        [one for one in fields.get(field, []) if isinstance(one, dict)] for field in ("include", "exclude")
    )
    return any(_meets(one) for one in include) if include else not any(_meets(one) for one in exclude)


def _meets(rule: Fields) -> bool:
    def first(field: str, otherwise):
        return rule.get(field, [otherwise])[-1]

    is_test = first("phase", "TEST") in ("TEST", 1)
    return is_test and first("min_level", 0) <= 0 <= first("max_level", 0) and not rule.get("stage")


def _inputs(name: str, fields: Fields) -> dict[str, list[int]]:
    """Returns the inputs that are not layers, with their sizes."""
    names, dims = fields.get("input", []), fields.get("input_dim", [])
    shapes = [_dims(name, one) for one in fields.get("input_shape", [])]
    if not shapes and dims:
        if len(dims) != 4 * len(names) or not all(type(one) is int for one in dims):
            raise told("bad_model", f"{name} has {len(names)} inputs and {len(dims)} input_dim, not 4 for each", AGAIN)
        shapes = [dims[4 * place : 4 * place + 4] for place in range(len(names))]
    if len(shapes) != len(names):
        raise told("bad_model", f"{name} has {len(names)} inputs and the shapes of {len(shapes)}", AGAIN)
    return {str(one): shape for one, shape in zip(names, shapes, strict=True)}


def _dims(name: str, shape) -> list[int]:
    found = shape.get("dim", []) if isinstance(shape, dict) else [""]
    if not all(type(one) is int and one > 0 for one in found):
        raise told("bad_model", f"{name} has the input shape {found!r}", AGAIN)
    return found
