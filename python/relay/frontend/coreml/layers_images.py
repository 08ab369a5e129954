"""Layers of neural networks on images: borders, crops, other sizes, boxes."""

from __future__ import annotations

import math

from ... import op
from ..shared.expressions import bounded, known, shape_of
from ..shared.problems import Refused
from . import image, shape
from .boxes import suppressed
from .conversion import Layer
from .image import as_images, restored
from .layers_windows import amounts

_SAMPLING = ("STRICT_ALIGN_CORNERS", "ALIGN_CORNERS", "DEFAULT", "OFFSET_CORNERS")
_BOXES = ("CORNERS_HEIGHT_FIRST", "CORNERS_WIDTH_FIRST", "CENTER_SIZE_HEIGHT_FIRST", "CENTER_SIZE_WIDTH_FIRST")


def padding(c: Layer):
    before, after = amounts(c.p.paddingAmounts, 2)
    mode = next((one for one in ("constant", "reflection", "replication") if c.p.has(one)), None)
    if mode is None:
        raise Refused("its kind of padding is not known", "save the model for an earlier version of Core ML")
    lead = [0] * (c.rank - 2)
    names = {"constant": "constant", "reflection": "reflect", "replication": "replicate"}
    value = c.p.constant.value if mode == "constant" else 0.0
    return shape.padded(c.x, lead + before, lead + after, names[mode], value)


def crop(c: Layer):
    """Cuts borders off, or takes a part as large as the second input, from an offset on."""
    if len(c.inputs) == 1:
        before, after = amounts(c.p.cropAmounts, 2)
        return shape.cropped(c.x, [before[0], after[0]], [before[1], after[1]])
    offset = [int(one) for one in c.p.offset] or [0, 0]
    own, wanted = c.shape[-2:], shape_of(c.input(1))[-2:]
    if len(offset) != 2:
        raise Refused(f"it has {len(offset)} offsets, not two")
    edges = [[first, known(size, "a crop") - first - known(part, "a crop")]
             for first, size, part in zip(offset, own, wanted, strict=True)]  # fmt: skip
    if any(one < 0 for pair in edges for one in pair):
        raise Refused(f"it takes {wanted} from {own} at {offset}")
    return shape.cropped(c.x, *edges)


def upsample(c: Layer):
    factors = [float(one) for one in c.p.fractionalScalingFactor] or [float(one) for one in c.p.scalingFactor] or [1, 1]
    sizes = [c.size(axis, "an image that is resized") for axis in (-2, -1)]
    if len(factors) != 2:
        raise Refused(f"it has {len(factors)} factors, not two")
    target = [math.floor(size * factor + 1e-6) for size, factor in zip(sizes, factors, strict=True)]
    if any(not 1 <= one <= image.MOST_SIZE for one in target):
        raise Refused(f"it makes images of {target} from {sizes}")
    if c.enum("mode", ("NN", "BILINEAR")) == "NN":
        return image.nearest(c.x, *target)
    modes = ("DEFAULT", "STRICT_ALIGN_CORNERS", "UNALIGN_CORNERS")
    return image.resized(c.x, *target, c.enum("linearUpsampleMode", modes))


def _mode(c: Layer) -> str:
    return c.enum("samplingMethod", _SAMPLING, c.p.mode) if c.p.has("mode") else _SAMPLING[0]


def _target(c: Layer) -> list[int]:
    found = [int(one) for one in c.p.targetSize] or [1, 1]
    if len(found) != 2 or any(not 1 <= one <= image.MOST_SIZE for one in found):
        raise Refused(f"`targetSize` is {found}")
    return found


def resize_bilinear(c: Layer):
    return image.resized(c.x, *_target(c), _mode(c))


def crop_resize(c: Layer):
    """Parts of images in one size. Boxes are (N, 1, 4 or 5, 1, 1), the first of five numbers the image's."""
    x, _ = as_images(c.x)
    boxes = c.input(1)
    sizes = shape_of(boxes)
    compact = len(sizes) == 4
    boxes = op.reshape(boxes, [sizes[0], sizes[-3]])
    count, images = known(sizes[-3], "a box"), None
    if count == 5:
        first = op.strided_slice(boxes, begin=[0], end=[1], strides=[1], axes=[1])
        images = op.cast(op.squeeze(first, axis=[1]), "int32")
        boxes = op.strided_slice(boxes, begin=[1], end=[5], strides=[1], axes=[1])
    elif count != 4 or shape_of(x)[0] != 1:
        raise Refused(f"its boxes have the shape {sizes} for {shape_of(x)[0]} images")
    about = c.p.boxIndicesMode
    order = c.enum("boxMode", _BOXES, about) if about is not None else _BOXES[0]
    made = image.crops(x, boxes, images, *_target(c), _mode(c), c.p.normalizedCoordinates, c.p.spatialScale or 1.0,
                       order, 0.0)  # fmt: skip
    return made if compact else op.expand_dims(made, axis=1)


def reorganize(c: Layer):
    block = bounded(c.p.blockSize, 1 << 16, "`blockSize`")
    x, lead = as_images(c.x)
    kind = c.enum("mode", ("SPACE_TO_DEPTH", "DEPTH_TO_SPACE", "PIXEL_SHUFFLE"))
    function = op.nn.space_to_depth if kind == "SPACE_TO_DEPTH" else op.nn.depth_to_space
    made = function(x, block_size=block, layout="NCHW", mode="CRD" if kind == "PIXEL_SHUFFLE" else "DCR")
    return restored(made, lead)


def suppression(c: Layer):
    numbers = [c.p.iouThreshold, c.p.scoreThreshold, c.p.maxBoxes]
    for place in range(2, len(c.inputs)):
        numbers[place - 2] = c.elements(place, "a limit of it").reshape(-1)[0].item()
    boxes, scores = c.input(0), c.input(1)
    made = suppressed(boxes, scores, float(numbers[0]), float(numbers[1]), int(numbers[2]), c.p.perClassSuppression)
    return [made[0], made[1], op.cast(made[2], "float32"), op.cast(made[3], "float32")]
