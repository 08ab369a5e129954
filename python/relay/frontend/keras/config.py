"""The configuration of a model, as Keras 2 and Keras 3 write it, read into one form: layers and their calls.

Nothing of a configuration is executed. Arguments are plain values, tensors of the network (`Tensor`), slices and NumPy
arrays.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from ...errors import told
from ..shared.problems import Refused
from .file import beyond

NETWORKS = ("Functional", "Model", "Sequential")
_OF_LAYERS = {"trainable", "layers", "batch_shape", "batch_input_shape"}  # keys that operations do not have
_OF_OPERATIONS = ("keras.src.ops", "keras.src.activations")  # modules whose classes are operations
_MOST_NESTED = 24  # networks inside networks


def malformed(message: str):
    """Returns the error of a configuration that does not have Keras's form."""
    return told("bad_model", f"the configuration of the Keras model is malformed: {message}", "save the model again")


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A result of a layer's call: the layer's name, the number of the call, the number of the result."""

    layer: str
    call: int
    result: int


@dataclasses.dataclass(frozen=True)
class Object:
    """A function, layer or other object in a configuration."""

    kind: str
    config: object


@dataclasses.dataclass
class Call:
    args: list
    kwargs: dict


@dataclasses.dataclass
class Layer:
    """A layer, or an operation of keras.ops that is a node of its own. `network`: that of a nested model.

    An .h5 file does not say which of the two it is: an operation has neither a type nor weights.

    Keras 2 counts the making of a nested model with an input layer as its call 0, which is in no list.
    """

    name: str
    kind: str  # the class
    config: dict
    module: str = ""
    is_operation: bool = False
    network: Network | None = None
    calls: list[Call] = dataclasses.field(default_factory=list)
    first_call: int = 0  # the number of the first of them
    problem: str = ""  # the reason why a live layer is not imported, if its class does not say it

    def __str__(self) -> str:
        return f"{self.kind} `{self.name}`"


@dataclasses.dataclass
class Network:
    """inputs: in the order of the model's inputs. outputs: a structure of lists and dicts, as the model returns it."""

    name: str
    layers: list[Layer]
    inputs: list[Tensor]
    outputs: object
    adds_input: bool = False  # true if the configuration has no input layer


def network_of(config: dict, depth: int = 0) -> Network:
    """Returns the network of {"class_name": "Functional", "config": ...}."""
    kind, inner = config.get("class_name"), config.get("config")
    if depth > _MOST_NESTED:
        raise beyond(f"models are nested more than {_MOST_NESTED} deep")
    layers = inner.get("layers") if isinstance(inner, dict) else inner if kind == "Sequential" else None
    if not isinstance(layers, list):
        raise told(
            "bad_model",
            f"the model is a {kind}, a class of its own, whose computation the file does not contain",
            "build it with the functional interface: keras.Model(inputs, outputs), or wrap it: "
            "x = keras.Input(shape); keras.Model(x, model.call(x))",
        )
    made = [_layer(one, depth) for one in layers]
    if len({one.name for one in made}) != len(made):
        raise malformed("two layers have the same name")
    inner = inner if isinstance(inner, dict) else {}
    name = str(inner.get("name") or "model")
    if "input_layers" not in inner:
        return _sequential(name, made, inner, config)
    outputs = _place(inner.get("output_layers"), made)
    inputs = _flat(_place(inner["input_layers"], made))
    if not inputs or not all(isinstance(one, Tensor) for one in inputs):
        raise malformed("`input_layers` names no layers")
    used = tensors_in([[[one.args, one.kwargs] for layer in made for one in layer.calls], outputs])
    for layer, one in zip(made, inner["layers"], strict=True):
        if layer.network is None or any(isinstance(node, dict) for node in one.get("inbound_nodes") or []):
            continue
        has_input = layer.network.layers[0].kind == "InputLayer" and not layer.network.adds_input
        last = max((tensor.call for tensor in used if tensor.layer == layer.name), default=0)
        layer.first_call = int(has_input or last == len(layer.calls))
    return Network(name, made, inputs, outputs)


def layer_of(config: object, depth: int = 0) -> Layer:
    """Returns the layer inside another one, such as that of TimeDistributed or a cell."""
    return _layer(config, depth)


def _layer(config: object, depth: int) -> Layer:
    if not isinstance(config, dict) or not isinstance(config.get("class_name"), str):
        raise malformed("a layer has no `class_name`")
    kind, inner = config["class_name"].rpartition(">")[2], config.get("config")
    is_network = kind in NETWORKS or (isinstance(inner, dict) and "layers" in inner and "output_layers" in inner)
    if not isinstance(inner, dict) and not (is_network and isinstance(inner, list)):
        raise malformed(f"a layer of the class {kind} has no `config`")
    own = inner if isinstance(inner, dict) else {}
    name, module = config.get("name") or own.get("name") or kind.lower(), config.get("module") or ""
    if not isinstance(name, str) or not isinstance(module, str):
        raise malformed(f"a layer of the class {kind} has a name that is not a text")
    network = network_of(config, depth + 1) if is_network else None
    is_bare = not module and not is_network and not own.keys() & _OF_LAYERS
    is_of_tensorflow = kind in ("TFOpLambda", "SlicingOpLambda")
    operation = module.startswith(_OF_OPERATIONS) or is_bare or is_of_tensorflow
    made = Layer(name, kind, own, module, operation, network)
    nodes = config.get("inbound_nodes") or []
    if not isinstance(nodes, list):
        raise malformed(f"`inbound_nodes` of {made} is not a list")
    made.calls = [_call(one, made) for one in nodes]
    if kind == "InputLayer" and not made.calls:
        made.calls = [Call([], {})]
    return made


def _call(node: object, layer: Layer) -> Call:
    if isinstance(node, dict) and "args" in node:  # Keras 3
        args, kwargs = value_of(node["args"]), value_of(node.get("kwargs") or {})
        if isinstance(args, list) and isinstance(kwargs, dict):
            return Call(args, kwargs)
    elif isinstance(node, (list, dict)):  # Keras 2
        kwargs = {}
        args = _inputs(node, kwargs)
        return Call([args[0] if isinstance(args, list) and len(args) == 1 else args], kwargs)
    raise malformed(f"a call of {layer} has neither the form of Keras 2 nor that of Keras 3")


def _inputs(node: object, kwargs: dict):
    """Returns the inputs of a node of Keras 2: ["name", call, result, arguments] in lists or dicts."""
    if _is_history(node):
        if len(node) > 3 and isinstance(node[3], dict):
            kwargs.update({key: _keyword(one) for key, one in node[3].items()})
        return value_of(node[2]) if node[0] == "_CONSTANT_VALUE" else Tensor(*node[:3])
    if isinstance(node, list):
        return [_inputs(one, kwargs) for one in node]
    if isinstance(node, dict):
        return {key: _inputs(one, kwargs) for key, one in node.items()}
    raise malformed("an input of a call names no layer")


def _keyword(value: object):
    """Returns an argument of Keras 2. A tensor has the form ["name", call, result]."""
    if _is_history(value):
        return value_of(value[2]) if value[0] == "_CONSTANT_VALUE" else Tensor(*value[:3])
    if isinstance(value, list):
        return [_keyword(one) for one in value]
    if isinstance(value, dict) and set(value) == {"start", "stop", "step"}:
        return slice(*(_keyword(value[key]) for key in ("start", "stop", "step")))
    return value_of(value)


def _is_history(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) in (3, 4)
        and isinstance(value[0], str)
        and type(value[1]) is int
        and (type(value[2]) is int or value[0] == "_CONSTANT_VALUE")
    )


def value_of(value: object):
    """Returns a serialised argument of Keras 3: a plain value, a structure of values, or a Tensor."""
    if isinstance(value, list):
        return [value_of(one) for one in value]
    if not isinstance(value, dict):
        return value
    kind, inner = value.get("class_name"), value.get("config")
    if not isinstance(kind, str):
        return {key: value_of(one) for key, one in value.items()}
    inner = inner if isinstance(inner, dict) else {"value": inner}
    if kind == "__keras_tensor__":
        history = inner.get("keras_history")
        if not _is_history(history):
            raise malformed("a tensor has no `keras_history`")
        return Tensor(*history[:3])
    if kind in ("__numpy__", "__tensor__"):
        try:
            return np.array(inner["value"], inner.get("dtype"))
        except (KeyError, TypeError, ValueError) as error:
            raise malformed(f"an array cannot be read: {error}") from error
    if kind == "__slice__":
        return slice(*(value_of(inner.get(key)) for key in ("start", "stop", "step")))
    if kind == "__ellipsis__":
        return Ellipsis
    if kind == "__tuple__":
        return [value_of(one) for one in value.get("items") or []]
    return Object(kind.rpartition(">")[2], value.get("config"))


def tensors_in(value: object) -> list[Tensor]:
    """Returns the tensors in lists and dicts."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [one for part in value for one in tensors_in(part)] if isinstance(value, list) else []


def _flat(value: object) -> list:
    if isinstance(value, dict):
        return [one for part in value.values() for one in _flat(part)]
    if isinstance(value, list):
        return [one for part in value for one in _flat(part)]
    return [value]


def _place(value: object, layers: list[Layer]):
    """Returns `input_layers` or `output_layers`: ["name", 0, 0] in lists or dicts."""
    if isinstance(value, list) and len(value) == 3 and _is_history(value):
        return Tensor(*value)
    if isinstance(value, list):
        return [_place(one, layers) for one in value]
    if isinstance(value, dict):
        return {key: _place(one, layers) for key, one in value.items()}
    raise malformed("`input_layers` or `output_layers` is not a list of layers")


def _sequential(name: str, layers: list[Layer], inner: dict, config: dict) -> Network:
    """Returns the network of a Sequential model, with an input layer if it has none."""
    if not layers:
        raise malformed(f"the Sequential model `{name}` has no layers")
    adds_input = layers[0].kind != "InputLayer"
    if adds_input:
        built = config.get("build_config") if isinstance(config.get("build_config"), dict) else {}
        shape = (
            first_shape(layers[0].config)
            or (first_shape(layers[0].network.layers[0].config) if layers[0].network else None)
            or inner.get("build_input_shape")
            or built.get("input_shape")
        )
        taken = {layer.name for layer in layers}
        given = f"{layers[0].name}_input"
        while given in taken:
            given += "_"
        dtype = layers[0].config.get("dtype") if layers[0].kind != "Embedding" else "float32"
        layers = [Layer(given, "InputLayer", {"batch_shape": shape, "dtype": dtype}, calls=[Call([], {})]), *layers]
    for before, layer in zip(layers[:-1], layers[1:], strict=True):
        if layer.kind == "InputLayer":
            raise malformed(f"the Sequential model `{name}` has an input layer behind another layer")
        layer.calls = [Call([Tensor(before.name, 0, 0)], {})]
    return Network(name, layers, [Tensor(layers[0].name, 0, 0)], Tensor(layers[-1].name, 0, 0), adds_input)


def first_shape(config: dict):
    """Returns the shape with the batch that a first layer's configuration gives, or None."""
    return config.get("batch_shape") or config.get("batch_input_shape")


def plain(value: object, layer: Layer, key: str, kinds: tuple | type):
    """Returns a value of a configuration if it has one of these types."""
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds in (int, (int, float))):
        raise Refused(f"`{key}` is {value!r}", "save the model again")
    return value
