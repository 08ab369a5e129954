"""The weights of a layer, from each of their places. A converter takes them by name, in the order in which Keras
creates them.

A .keras file has a group for each object that owns weights: `layers/lstm/cell/vars/0`. An .h5 file and a live model
have a list for each layer: trainable weights first, then the others.
"""

from __future__ import annotations

import re

import numpy as np

from ..shared.problems import Refused
from .file import array_of, child, corrupt

_STORED_AS = {"GroupQueryAttention": "GroupedQueryAttention"}  # classes whose own name the configuration does not have
_OTHER = "save the model again with the Keras that made it, and check that all weights are in the file"


class Stored:
    """The weights of an object in a .keras file: a group of HDF5, or none."""

    def __init__(self, group):
        self._group, self._next = group, 0

    def again(self) -> Stored:
        """Returns the same weights, none of them taken: for another call of the layer."""
        return Stored(self._group)

    def part(self, *names: str) -> Stored:
        """Returns the weights of an object inside this one. Several names: the first that exists."""
        found = (child(self._group, name) if self._group is not None else None for name in names)
        return Stored(next((one for one in found if one is not None), None))

    def take(self, name: str) -> np.ndarray:
        """Returns the next weight."""
        held = None if self._group is None else child(self._group, "vars")
        found = None if held is None else child(held, str(self._next))
        if found is None:
            raise Refused(f"the weight `{name}` is not in the file", _OTHER)
        self._next += 1
        return array_of(found)

    def left(self) -> int:
        """Returns the number of weights of this object that no one has taken."""
        held = None if self._group is None else child(self._group, "vars")
        return 0 if held is None else len(held) - self._next

    def of_layers(self, layers: list) -> dict:
        """Returns the weights of the layers of a network, by name. The file counts layers of each class."""
        held, counts, found = self.part("layers", "_layer_checkpoint_dependencies"), {}, {}
        for layer in layers:
            if layer.is_operation:
                continue
            kind = snake_case(_STORED_AS.get(layer.kind, layer.kind))
            counts[kind] = counts.get(kind, -1) + 1
            found[layer.name] = held.part(f"{kind}_{counts[kind]}" if counts[kind] else kind)
        return found


class Listed:
    """The weights of a layer as a list of (name, function that returns the array)."""

    def __init__(self, weights: list):
        self._weights, self._next = weights, [0]

    def again(self) -> Listed:
        return Listed(self._weights)

    def part(self, *names: str) -> Listed:
        return self  # the list contains the weights of inner objects, in the order in which they are taken

    def take(self, name: str) -> np.ndarray:
        if self._next[0] >= len(self._weights):
            raise Refused(f"the weight `{name}` is not in the file", _OTHER)
        self._next[0] += 1
        return self._weights[self._next[0] - 1][1]()

    def left(self) -> int:
        return len(self._weights) - self._next[0]

    def of_layers(self, layers: list) -> dict:
        """Returns the weights of the layers of a nested network: those with the layer's name in their path."""
        found = {layer.name: [] for layer in layers}
        for name, read in self._weights:
            parts = name.split("/")
            owner = next((part for part in parts if part in found), None)
            if owner is not None:
                found[owner].append((name[name.index(owner) + len(owner) + 1 :] or name, read))
        return {name: Listed(weights) for name, weights in found.items()}


class Grouped:
    """The weights of a whole network in an .h5 file: a group for each layer, with the list of its weights."""

    def __init__(self, group):
        self._group = group

    def of_layers(self, layers: list) -> dict:
        return {layer.name: Listed(_listed(child(self._group, layer.name))) for layer in layers}


class Live:
    """The weights of a live model: those of its layers. traced: models of functions, by the id of their layer."""

    def __init__(self, model, traced: dict):
        self._model, self._traced = model, traced

    def again(self) -> Live:
        return self

    def of_layers(self, layers: list) -> dict:
        held = {layer.name: layer for layer in self._model.layers}
        return {layer.name: self._of(layer, held[layer.name]) for layer in layers if layer.name in held}

    def _of(self, layer, live):
        if layer.network:
            return Live(self._traced.get(id(live), live), self._traced)
        return Listed(_of_live(live))


def _of_live(layer) -> list:
    weights = [*layer.trainable_weights, *layer.non_trainable_weights]
    return [(getattr(one, "path", one.name), one.numpy) for one in weights]


def _listed(group) -> list:
    """Returns (name, function) for the weights of a layer's group in an .h5 file."""
    if group is None:
        return []
    names = _names(group)
    return [(name, lambda name=name: array_of(_at(group, name))) for name in names]


def _names(group) -> list[str]:
    """Returns the attribute `weight_names`, which is in parts if it has more than 64 KB."""
    try:
        parts = [group.attrs["weight_names"]] if "weight_names" in group.attrs else []
        while f"weight_names{len(parts)}" in group.attrs and "weight_names" not in group.attrs:
            parts.append(group.attrs[f"weight_names{len(parts)}"])
        names = [one for part in parts for one in np.asarray(part).reshape(-1).tolist()]
    except (OSError, RuntimeError, ValueError, TypeError, MemoryError) as error:
        raise corrupt(f"the names of the weights of {group.name} cannot be read: {error}") from error
    return [one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one) for one in names]


def _at(group, path: str):
    """Returns the dataset at a path of several names."""
    for name in path.split("/"):
        group = child(group, name) if hasattr(group, "keys") else None
        if group is None:
            raise corrupt(f"the weight {path} is listed, but is not in the file")
    return group


def snake_case(name: str) -> str:
    """Returns a class's name as a .keras file has it: "Conv2D" -> "conv2d", "BatchNormalization" ->
    "batch_normalization"."""
    words = re.sub(r"(?<=.)(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])", "_", re.sub(r"\W", "", name))
    return words.lower()
