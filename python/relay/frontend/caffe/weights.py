"""Weights of Caffe (.caffemodel): a network in protobuf's wire format, whose layers hold blobs."""

from __future__ import annotations

import math

import numpy as np

from ...errors import told
from ..shared.protobuf import read_message

AGAIN = "take the .caffemodel that was trained with this .prototxt, and download it again if it is cut"
_BLOB = {
    1: ("num", "int"), 2: ("channels", "int"), 3: ("height", "int"), 4: ("width", "int"), 5: ("data", "float[]"),
    7: ("shape", {1: ("dim", "int[]")}), 8: ("double_data", "double[]"),
}  # fmt: skip
_NETWORK = {
    2: ("layers", [{4: ("name", "text"), 6: ("blobs", [_BLOB])}]),
    100: ("layer", [{1: ("name", "text"), 7: ("blobs", [_BLOB])}]),
}


def weights_of(name: str, content: bytes) -> dict[str, list[np.ndarray]]:
    """Returns the blobs of each layer, by its name. name: the file, for messages."""
    fields = read_message(name, content, _NETWORK, AGAIN)
    layers = fields.get("layer", []) + fields.get("layers", [])
    if not layers:
        raise told("bad_model", f"{name} has no layers", AGAIN)
    made = {}
    for layer in layers:
        called = layer.get("name", "")
        blobs = [_array(name, called, one) for one in layer.get("blobs", [])]
        if blobs:
            made[called] = blobs
    return made


def _array(name: str, layer: str, blob: dict) -> np.ndarray:
    elements = blob.get("data", blob.get("double_data", np.zeros(0, np.float32)))
    if "shape" in blob:
        sizes = [int(one) for one in blob["shape"].get("dim", [])]
    else:
        sizes = [blob.get(one, 0) for one in ("num", "channels", "height", "width")]
    if any(one < 0 for one in sizes) or math.prod(sizes) != elements.size:
        raise told(
            "corrupt_file",
            f"a blob of the layer `{layer}` in {name} has {elements.size} elements for the shape {sizes}",
            AGAIN,
        )
    return elements.astype(np.float32).reshape(sizes)
