"""Weights of Caffe (.caffemodel): a network in protobuf's wire format, whose layers hold blobs."""

from __future__ import annotations

import math

import numpy as np

from ...errors import told
from ..shared.wire import Message, Table, read_message

AGAIN = "take the .caffemodel that was trained with this .prototxt, and download it again if it is cut"
_BLOB = Table(
    "BlobProto",
    {
        1: ("num", "int"), 2: ("channels", "int"), 3: ("height", "int"), 4: ("width", "int"), 5: ("data", "float*"),
        7: ("shape", Table("BlobShape", {1: ("dim", "int*")})), 8: ("double_data", "double*"),
    },
)  # fmt: skip
# Names are bytes, because Caffe does not check that they are UTF-8.
_NETWORK = Table(
    "NetParameter",
    {
        2: ("layers", [Table("V1LayerParameter", {4: ("name", "bytes"), 6: ("blobs", [_BLOB])})]),
        100: ("layer", [Table("LayerParameter", {1: ("name", "bytes"), 7: ("blobs", [_BLOB])})]),
    },
)


def weights_of(name: str, content: bytes) -> dict[str, list[np.ndarray]]:
    """Returns the blobs of each layer, by its name. name: the file, for messages."""
    network = read_message(_NETWORK, name, content, AGAIN)
    layers = network.layer + network.layers
    if not layers:
        raise told("bad_model", f"{name} has no layers", AGAIN)
    made = {}
    for layer in layers:
        called = str(layer.name, "utf-8", "replace")
        blobs = [_array(name, called, one) for one in layer.blobs]
        if blobs:
            made[called] = blobs
    return made


def _array(name: str, layer: str, blob: Message) -> np.ndarray:
    elements = blob.data if blob.has("data") else blob.double_data
    sizes = blob.shape.dim.tolist() if blob.has("shape") else [blob.num, blob.channels, blob.height, blob.width]
    if any(one < 0 for one in sizes) or math.prod(sizes) != elements.size:
        raise told(
            "corrupt_file",
            f"a blob of the layer `{layer}` in {name} has {elements.size} elements for the shape {sizes}",
            AGAIN,
        )
    return elements.astype(np.float32).reshape(sizes)
