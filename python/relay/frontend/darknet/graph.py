"""Imports a network of DarkNet: its sections in order, with the weights in the same order."""

from __future__ import annotations

from ..._core import IRModule
from ...errors import told
from ..shared.network import NetworkImporter
from ..shared.node import Node, literal
from ..shared.problems import Refused
from .config import AGAIN, Section
from .conversion import Layer
from .table import HEADS, LAYERS
from .weights import Weights

WAY_OUT = "use layers that are imported (docs/front-ends.md), or give converters: custom_layers={'kind': function}"
# Options of training, in any layer.
_TRAINING = {
    "learning_rate", "learning_rate_scale", "stopbackward", "dontload", "burnin_update", "train_only_bn", "smooth",
        "type",
    "scale", "ratio", "sparsity", "adam", "clip", "probability", "dropblock", "noloss", "seperate", "noadjust",
        "lr_mult",
    "statistics",
}  # fmt: skip
MOST_SIZE = 1 << 20


class Importer(NetworkImporter):
    """The import of a network of DarkNet."""

    conversion = Layer
    harmless = frozenset(_TRAINING)

    def __init__(self, weights: Weights, shapes: dict, custom: dict):
        super().__init__("the DarkNet network", WAY_OUT, LAYERS, shapes, custom)
        self.weights, self.steps = weights, 1

    def network(self, sections: list[Section]) -> IRModule:
        net, layers = sections[0], sections[1:]
        self.check_given(["data"])
        try:
            self._input(net)
        except Refused as reason:
            self.problems.record(str(reason), f", first in line {net.line}", reason.help)
            self.values["data"] = None
        for number, section in enumerate(layers):
            try:
                inputs = _inputs(section, number)
            except Refused as reason:
                self.problems.record(str(reason), f", first in `{_place(section, number)}`", reason.help)
                self.values[str(number)], self.weights.is_lost = None, True
                continue
            self.add(Node(section.kind, _place(section, number), inputs, [str(number)], section.options))
            self.weights.is_lost |= self.values[str(number)] is None
        self.problems.tell()
        self.weights.check_end()
        return self.module(_outputs(layers))

    def _input(self, net: Section) -> None:
        options = net.options

        def whole(name: str, otherwise: int) -> int:
            found = literal(options[name]) if name in options else otherwise
            if type(found) is not int or not 0 <= found <= MOST_SIZE:
                raise Refused(f"net: `{name}` is {str(found)[:40]!r}, not a number from 0 to {MOST_SIZE}", AGAIN)
            return found

        self.steps = max(whole("time_steps", 1), 1)
        height, width, channels = whole("height", 0), whole("width", 0), whole("channels", 0)
        given = self.shapes.get("data")
        if height and width and channels:
            sizes = [self.steps, channels, *(given[2:] if given and len(given) == 4 else (height, width))]
            if given and len(given) == 4 and given[1] not in (-1, channels):
                raise Refused(
                    f"net: {given[1]} channels are given, and the network has {channels}", "give its channels"
                )
        else:
            sizes = [self.steps, whole("inputs", height * width * channels)]
            if not sizes[1]:
                raise Refused("net: neither height, width and channels nor inputs are set", AGAIN)
        if given and len(given) == len(sizes) and given[0] not in (-1, None):
            sizes[0] = given[0]
        self.input("data", sizes)


def _place(section: Section, number: int) -> str:
    return f"{section.kind} {number} (line {section.line})"


def _inputs(section: Section, number: int) -> list[str]:
    """Returns the names of the layers that a layer reads: the one before it, and those in its options."""
    before = str(number - 1) if number else "data"
    if section.kind == "route":
        return [_layer(section, "layers", one, number) for one in _list(section, "layers")]
    if section.kind in ("shortcut", "scale_channels", "sam"):
        return [before, *(_layer(section, "from", one, number) for one in _list(section, "from"))]
    return [before]


def _list(section: Section, key: str) -> list:
    found = literal(section.options.get(key, ""))
    found = list(found) if isinstance(found, tuple) else [found]
    if not all(type(one) is int for one in found):
        raise Refused(f"{section.kind}: `{key}` is {section.options.get(key, '')[:40]!r}, not a list of layers", AGAIN)
    return found


def _layer(section: Section, key: str, one: int, number: int) -> str:
    place = number + one if one < 0 else one
    if not 0 <= place < number:
        raise Refused(f"{section.kind}: `{key}` names layer {place}, and {number} layers are before it", AGAIN)
    return str(place)


def _outputs(layers: list[Section]) -> list[str]:
    """Returns the results: all heads, and the last layer, costs aside."""
    if not layers:
        raise told("bad_model", "the DarkNet network has no layers", AGAIN)
    last = len(layers) - 1
    while last and layers[last].kind == "cost":
        last -= 1
    return [str(number) for number, one in enumerate(layers) if one.kind in HEADS or number == last]
