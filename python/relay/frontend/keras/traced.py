"""Lambda layers of live models. Keras calls their functions on symbolic tensors, which makes networks of them.

These are functions of the process that imports. Those in files are never run.
"""

from __future__ import annotations

import importlib
import inspect
import json

from .config import Layer, Network, network_of


def trace(network: Network, model) -> dict:
    """Gives each Lambda layer of a live model, also of models inside of it, the network of its function.

    Returns the models that Keras made of the functions, by the layer's id(). A function that Keras cannot call on
    symbolic tensors leaves its layer as it is, with the reason.
    """
    found: dict[int, object] = {}
    _trace(network, model, found)
    return found


def _trace(network: Network, model, found: dict) -> None:
    held = {layer.name: layer for layer in getattr(model, "layers", [])}
    for layer in network.layers:
        live = held.get(layer.name)
        if layer.network is not None and live is not None:
            _trace(layer.network, live, found)
        elif layer.kind == "Lambda" and live is not None:
            _trace_one(layer, live, found)


def _trace_one(layer: Layer, live, found: dict) -> None:
    try:
        made = _model_of(live)
        layer.network = network_of(json.loads(made.to_json()))
        found[id(live)] = made
    except Exception as error:  # the user's function may raise any class
        first = (str(error).strip().splitlines() or [""])[0][:200]
        layer.problem = f"Keras cannot call its function on symbolic tensors ({type(error).__name__}: {first})"


def _model_of(live):
    """Returns the model of a Lambda layer's function, on tensors like those of its calls."""
    # "keras" and its modules, or "tf_keras"
    framework = importlib.import_module(type(live).__module__.partition(".")[0])
    calls = [_arguments(node) for node in live._inbound_nodes]
    if not calls:
        raise ValueError("it is never called")
    if any(_specs(one) != _specs(calls[0]) for one in calls):
        raise ValueError("it is called on tensors of several shapes")
    given = [framework.Input(shape[1:], batch_size=shape[0], dtype=dtype) for shape, dtype in _specs(calls[0])]
    kwargs = dict(live.arguments or {})
    known = inspect.signature(live.function).parameters
    kwargs.update({name: value for name, value in (("mask", None), ("training", False)) if name in known})
    inputs = given[0] if not isinstance(calls[0], (list, tuple)) else given
    return framework.Model(given, live.function(inputs, **kwargs))


def _arguments(node):
    """Returns the first argument of a call: a symbolic tensor, or a list of them. Keras 3's nodes come first."""
    args = node.arguments.args if hasattr(node, "arguments") else node.call_args
    return args[0]


def _specs(argument) -> list[tuple]:
    """Returns the shape and the type of each tensor of an argument."""
    tensors = argument if isinstance(argument, (list, tuple)) else [argument]
    return [(tuple(one.shape), str(getattr(one.dtype, "name", one.dtype))) for one in tensors]
