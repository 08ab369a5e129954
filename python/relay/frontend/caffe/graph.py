"""Imports a network of Caffe, layer by layer, with the weights of the same names."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..._core import IRModule, suggestions
from ..shared.network import NetworkImporter
from ..shared.node import Node
from ..shared.problems import Refused
from .conversion import CaffeLayer
from .network import Layer, Network
from .table import LAYERS, PARAMETERS

WAY_OUT = "use layers that are imported (docs/front-ends.md), or give converters: custom_layers={'Type': function}"
# Parameters of any layer that have no effect on its result.
_HARMLESS = ("engine", "weight_filler", "bias_filler", "filler", "scale_filler", "force_nd_im2col", "save_output_param")


@dataclasses.dataclass(frozen=True)
class LayerNode(Node):
    """A layer, with its name in the file of weights."""

    name: str = ""


class Importer(NetworkImporter):
    """The import of a network of Caffe."""

    conversion = CaffeLayer

    def __init__(self, weights: dict[str, list[np.ndarray]], shapes: dict, custom: dict):
        super().__init__("the Caffe network", WAY_OUT, LAYERS, shapes, custom)
        self._weights = weights

    def network(self, network: Network) -> IRModule:
        inputs = dict(network.inputs)
        inputs.update({top: None for layer in network.layers if layer.kind == "Input" for top in layer.tops})
        self.check_given(list(inputs))
        for name, sizes in network.inputs.items():
            self.input(name, sizes)
        unread: dict[str, None] = dict.fromkeys(network.inputs)
        for layer in network.layers:
            for name in layer.bottoms:
                unread.pop(name, None)
            self._layer(layer)
            unread.update(dict.fromkeys(layer.tops))
        return self.module(list(unread))

    def _layer(self, layer: Layer) -> None:
        place = f"{layer.kind} '{layer.name}'"
        if layer.kind == "Input":
            self._input_layer(layer, place)
            return
        self.add(LayerNode(layer.kind, place, layer.bottoms, layer.tops, layer.parameters, layer.name))

    def _input_layer(self, layer: Layer, place: str) -> None:
        shapes = layer.parameters.get("input_param.shape", [])
        shapes = shapes * len(layer.tops) if len(shapes) == 1 else shapes
        for position, top in enumerate(layer.tops):
            try:
                sizes = shapes[position].get("dim", []) if position < len(shapes) else None
                if sizes is not None and not all(type(one) is int and one > 0 for one in sizes):
                    raise Refused(
                        f"the input `{top}` has the shape {sizes!r}", "give one size above zero for each axis"
                    )
                self.input(top, sizes)
            except Refused as reason:
                self.problems.record(f"Input: {reason}", f", first in `{place}`", reason.help)
                self.values[top] = None

    def conversion_of(self, node, operands):
        c = super().conversion_of(node, operands)
        c.message = PARAMETERS.get(node.kind, "")
        return c

    def is_harmless(self, name: str) -> bool:
        return name.rpartition(".")[2] in _HARMLESS or name.partition(".")[2].startswith(
            ("weight_filler.", "bias_filler.")
        )

    def blobs_of(self, name: str) -> list[np.ndarray]:
        """Returns the weights of a layer."""
        if name not in self._weights:
            near = suggestions(name, list(self._weights), 1)
            raise Refused(
                f"the weights have no layer `{name}`" + (f"; they have `{near[0]}`" if near else ""),
                "the weights belong to another network: take those that were trained with this one",
            )
        return self._weights[name]
