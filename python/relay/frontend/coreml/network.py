"""Imports a neural network of Core ML: its layers in order.

Before version 4, arrays have the five axes sequence, batch, channels, height, width. The batch of an import is 1, and
its axis is left out: such tensors are *compact*, (sequence, C, H, W). Layers of version 4 take tensors with any number
of axes; a compact one gets its batch back.
"""

from __future__ import annotations

import numpy as np

from ... import op
from ..._core import Expr
from ..shared.expressions import cast, is_known, shape_of
from ..shared.problems import Refused
from .blobs import AGAIN
from .conversion import Layer, MessageNode
from .layer_table import LAYERS, OLD
from .network_schema import KINDS

_EXACT = 1  # the mapping of arrays and images that leaves their axes as they are


def run(importer, network, kind: str, model, inputs: dict) -> dict:
    """Returns the outputs of a network by name."""
    if network is None:
        return {}
    importer.compact, importer.is_compact = set(), network.arrayInputShapeMapping != _EXACT
    values = {}
    described = {one.name: one for one in model.description.input}
    for name, value in inputs.items():
        is_image = name in described and described[name].type is not None and described[name].type.has("imageType")
        mapping = network.imageInputShapeMapping if is_image else network.arrayInputShapeMapping
        values[name] = None if value is None else _entered(importer, name, value, mapping)
    with importer.using(LAYERS, Layer, values):
        for one in network.preprocessing:
            _preprocess(importer, one, described, inputs)
        add_layers(importer, network, "")
        return _results(importer, network, kind, model, inputs)


def _entered(importer, name: str, value: Expr, mapping: int) -> Expr:
    """Returns an input as the layers take it: with all five axes but the batch, or as it is."""
    value = cast(value, "float32")
    sizes = shape_of(value)
    if mapping == _EXACT:
        return value
    importer.compact.add(name)
    if len(sizes) == 1:
        return op.reshape(value, [1, sizes[0], 1, 1])
    if len(sizes) == 3:
        return op.expand_dims(value, axis=0)
    if len(sizes) == 5 and sizes[1] == 1:
        return op.squeeze(value, axis=[1])
    if len(sizes) != 4:
        importer.compact.discard(name)
    return value


def _preprocess(importer, found, described: dict, inputs: dict) -> None:
    """Scales and shifts the pixels of an image, or subtracts a mean image."""
    images = [name for name, one in described.items() if one.type is not None and one.type.has("imageType")]
    name = found.featureName or (images[0] if images else next(iter(inputs), ""))
    x = importer.values.get(name)
    if x is None:
        return
    place = f"preprocessing '{name}'"
    with importer.fates.of(place):
        if found.has("meanImage"):
            mean, sizes = found.meanImage.meanImage, shape_of(x)[-3:]
            if not is_known(*sizes) or mean.size != int(np.prod(sizes)):
                importer.problems.record(f"the mean image of `{name}` has {mean.size} elements", "", AGAIN)
                return
            importer.values[name] = op.subtract(x, importer.constant(mean.reshape(sizes), "float32"))
            return
        about = found.scaler
        if about is None:
            return
        colour = described[name].type.imageType.colorSpace if name in images else 0
        biases = [about.redBias, about.greenBias, about.blueBias]
        channels = shape_of(x)[-3] if len(shape_of(x)) >= 3 else 1
        if channels == 1:
            biases = [about.grayBias]
        elif colour == 30:  # BGR
            biases.reverse()
        # A scale of 0 is that of a file in which it is unset.
        made = op.multiply(x, importer.constant(np.float32(about.channelScale))) if about.channelScale else x
        if any(biases) and channels == len(biases):
            made = op.add(made, importer.constant(np.asarray(biases, np.float32).reshape(-1, 1, 1)))
        importer.values[name] = made


def add_layers(importer, network, within: str) -> None:
    for layer in network.layers:
        kind = next((one for one in KINDS if layer.has(one)), "")
        place = f"{within}{kind} '{layer.name}'"
        if not kind:
            importer.problems.record(
                f"a layer is of a kind that is not known (byte {layer.at} of the file)", f", first in `{layer.name}`",
                "save the model for an earlier version of Core ML",
            )  # fmt: skip
            importer.values.update(dict.fromkeys(layer.output))
            continue
        name = layer.custom.className if kind == "custom" and layer.custom.className in importer.custom else kind
        node = MessageNode(name if name in importer.custom else kind, place, list(layer.input), list(layer.output), {},
                           layer)  # fmt: skip
        _add(importer, node, kind)


def _add(importer, node: MessageNode, kind: str) -> None:
    is_old = kind in OLD
    is_compact = bool(node.inputs) and all(name in importer.compact for name in node.inputs)
    held = {}
    if not is_compact or not is_old:
        for name in set(node.inputs) & importer.compact:  # the batch comes back
            if importer.values.get(name) is not None:
                held[name] = importer.values[name]
                importer.values[name] = op.expand_dims(held[name], axis=1)
    importer.add(node)
    kept = {name: one for name, one in held.items() if name not in node.outputs}
    importer.values.update(kept)
    changed = is_old and (is_compact or (not node.inputs and importer.is_compact))
    for name in node.outputs:
        importer.compact.discard(name)
        if changed and importer.values.get(name) is not None and len(shape_of(importer.values[name])) == 4:
            importer.compact.add(name)


def _results(importer, network, kind: str, model, inputs: dict) -> dict:
    labels = network.stringClassLabels.vector if network.has("stringClassLabels") else (
        network.int64ClassLabels.vector.tolist() if network.has("int64ClassLabels") else None)  # fmt: skip
    made, description = {}, model.description
    probabilities = description.predictedProbabilitiesName
    last = network.layers[-1].output[-1] if network.layers and network.layers[-1].output else ""
    for feature in description.output:
        name = feature.name
        source = name
        if labels is not None and (name == probabilities or (name not in importer.values and name
                                                             != description.predictedFeatureName)):  # fmt: skip
            source = network.labelProbabilityLayerName or last
        value = importer.values.get(source)
        if value is None:
            continue
        if source in importer.compact:
            value = _left(value, feature, inputs)
        if labels is not None and source != name:
            value = op.reshape(value, [-1])
        made[name] = value
    if labels is not None:
        importer.labels = list(labels)
        made.pop(description.predictedFeatureName, None)
    return made


def _left(value: Expr, feature, inputs: dict) -> Expr:
    """Returns a compact output with the axes that Core ML gives it: those described, else without axes of 1."""
    sizes = shape_of(value)
    about = feature.type.multiArrayType if feature.type is not None and feature.type.has("multiArrayType") else None
    if any(one is not None and len(shape_of(one)) == 4 for one in inputs.values()) and sizes[0] != 1:
        return value  # a batch
    rank = len(about.shape) if about is not None and len(about.shape) in (1, 3, 5) else 0
    is_vector = sizes[0] == sizes[2] == sizes[3] == 1
    if feature.type is not None and feature.type.has("imageType"):
        return value
    if (rank == 1 or not rank) and is_vector:
        return op.reshape(value, [sizes[1]])
    if rank in (0, 1, 3) and sizes[0] == 1:
        return op.squeeze(value, axis=[0])
    return op.expand_dims(value, axis=1)


def inlined(importer, node, network, values: dict) -> dict:
    """Returns all values of a network inside of a layer, by name."""
    if network is None:
        raise Refused("a network inside of it is missing", AGAIN)
    if node.place.count(" / ") > 50:
        raise Refused("networks are nested too deeply", AGAIN)
    before, compact = importer.problems.count, set(importer.compact)
    with importer.using(LAYERS, Layer, dict(values)):
        add_layers(importer, network, f"{node.place} / ")
        made = importer.values
    importer.compact = compact
    if importer.problems.count != before:
        raise Refused("a layer inside of it is not imported", "see the others")
    return made
