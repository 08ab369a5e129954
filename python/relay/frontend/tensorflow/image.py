"""Images: other sizes, crops, patches; and the selection of boxes (non-maximum suppression)."""

from __future__ import annotations

import numpy as np

from ... import op
from ..._core import Dim, Expr
from ..shared.expressions import cast, dtype_of, shape_of
from ..shared.problems import Refused
from ..shared.values import constant, number, refuse_open
from . import texts
from .conversion import Conversion
from .windows import _numbers, padding_of


def resize(method: str):
    """ResizeBilinear, ResizeNearestNeighbor and ResizeBicubic: (images, size)."""

    def convert(c: Conversion):
        size = c.known(1)
        if size is None:
            raise refuse_open("the size of its images")
        size = [one if isinstance(one, Dim) else int(one) for one in size.reshape(-1)]
        if len(size) != 2 or c.rank(0) != 4:
            raise Refused(f"it has {len(size)} sizes, and its images {c.rank(0)} axes")
        corners, half = bool(c("align_corners", False)), bool(c("half_pixel_centers", False))
        if corners and half:
            raise Refused("it has both align_corners and half_pixel_centers, which contradict each other")
        x = c.x if method == "nearest_neighbor" else cast(c.x, "float32")
        how = "align_corners" if corners else "half_pixel" if half else "asymmetric"
        more = {"rounding_method": "round"}
        if method == "nearest_neighbor":
            how = "tf_half_pixel_for_nn" if half else how
            more = {"rounding_method": "round_prefer_ceil" if corners else "floor"}
        if method == "cubic":
            more |= {"cubic_alpha": -0.5 if half else -0.75, "cubic_exclude": int(half)}
        return op.image.resize2d(x, size=size, layout="NHWC", method=method, coordinate_transformation_mode=how, **more)

    return convert


def crop_and_resize(c: Conversion):
    """CropAndResize(images, boxes, image of each box, size)."""
    return op.image.crop_and_resize(
        cast(c.x, "float32"), c.y, cast(c.expr(2), "int32"), crop_size=c.ints(3, "its size"), layout="NHWC",
        method="nearest_neighbor" if c.text("method", "bilinear") == "nearest" else "bilinear",
        extrapolation_value=c("extrapolation_value", 0.0),
    )  # fmt: skip


def extract_patches(c: Conversion):
    """ExtractImagePatches: the windows of an image, each as one row of channels."""
    window, strides, rates = (_numbers(c, name, 2) for name in ("ksizes", "strides", "rates"))
    height, width = c.size(1), c.size(2)
    around = padding_of(c, [height, width], window, strides, rates)
    x = op.nn.pad(c.x, pad_width=[[0, 0], [around[0], around[2]], [around[1], around[3]], [0, 0]])
    rows, columns = (
        (size + around[axis] + around[axis + 2] - (window[axis] - 1) * rates[axis] - 1) // strides[axis] + 1
        for axis, size in enumerate((height, width))
    )
    parts = []
    for y in range(window[0]):
        for left in range(window[1]):
            begin = [y * rates[0], left * rates[1]]
            end = [begin[0] + (rows - 1) * strides[0] + 1, begin[1] + (columns - 1) * strides[1] + 1]
            parts.append(op.strided_slice(x, begin=begin, end=end, strides=strides, axes=[1, 2]))
    return op.concatenate(parts, axis=3) if len(parts) > 1 else parts[0]


# --- boxes ------------------------------------------------------------------------------------------------------------
_LOWEST = float(np.finfo(np.float32).min)


def _selected(c: Conversion, score_place: int | None):
    """Returns (positions of the chosen boxes, padded, their number) of NonMaxSuppression."""
    boxes, scores = op.expand_dims(c.x, axis=0), op.reshape(c.y, newshape=[1, 1, *c.shape(1)])
    boxes, scores = cast(boxes, "float32"), cast(scores, "float32")
    if c.node.op == "NonMaxSuppression":
        overlap = number(c("iou_threshold", 0.5), "float32")
    else:
        overlap = cast(op.reshape(c.expr(3), newshape=[]), "float32")
    least = number(_LOWEST, "float32")
    if score_place is not None:
        least = cast(op.reshape(c.expr(score_place), newshape=[]), "float32")
    most = op.reshape(cast(c.expr(2), "int64"), newshape=[])
    made = op.vision.all_class_non_max_suppression(boxes, scores, most, overlap, least, output_format="onnx")
    places = op.reshape(op.strided_slice(made[0], begin=[2], end=[3], strides=[1], axes=[1]), newshape=[-1])
    return cast(places, "int64"), op.reshape(cast(made[1], "int64"), newshape=[1])


def _first(x: Expr, count: Expr) -> Expr:
    return op.dyn.strided_slice(x, constant(np.zeros(1, np.int64)), count, constant(np.ones(1, np.int64)))


def non_max_suppression(score_place: int | None):
    """NonMaxSuppression to V3: the positions of the chosen boxes."""

    def convert(c: Conversion):
        places, count = _selected(c, score_place)
        return cast(_first(places, count), "int32")

    return convert


def non_max_suppression_v4(c: Conversion):
    places, count = _selected(c, 4)
    return [_padded(c, _first(places, count)), op.reshape(cast(count, "int32"), newshape=[])]


def _padded(c: Conversion, places: Expr) -> Expr:
    if not c("pad_to_max_output_size", False):
        return cast(places, "int32")
    most = c.int(2, "the number of boxes, to which its result is padded,")
    if not 0 <= most <= 1 << 24:
        raise Refused(f"it chooses up to {most} boxes")
    return cast(_filled(places, most), "int32")


def _filled(x: Expr, most: int) -> Expr:
    """Returns the first elements, and zeros up to `most` of them."""
    zeros = op.zeros([most], dtype=dtype_of(x))
    whole = op.concatenate([x, zeros], axis=0)
    return op.strided_slice(whole, begin=[0], end=[most], strides=[1], axes=[0])


def non_max_suppression_v5(c: Conversion):
    sigma = c.float(5, "its sigma")
    if sigma != 0.0:
        raise Refused(f"its sigma is {sigma}: it lowers scores of boxes that overlap (soft NMS)", "use a sigma of 0")
    places, count = _selected(c, 4)
    chosen = _first(places, count)
    scores = op.take(c.y, chosen, axis=0, mode="clip")
    if c("pad_to_max_output_size", False):
        most = c.int(2, "the number of boxes")
        scores = _filled(scores, most)
    return [_padded(c, chosen), scores, op.reshape(cast(count, "int32"), newshape=[])]


def combined_non_max_suppression(c: Conversion):
    """CombinedNonMaxSuppression(boxes (batch, n, 1 or classes, 4), scores (batch, n, classes), most of a class, most of
    all, overlap, score): the best boxes of all classes."""
    batch, count, own, _ = c.shape(0)
    classes = c.size(2, 1)
    if isinstance(batch, Dim) or isinstance(count, Dim):
        raise refuse_open("the number of its boxes")
    if own not in (1, classes):
        raise Refused(f"it has {own} boxes for {classes} classes")
    most_of_class, most = c.expr(2), c.int(3, "the number of boxes of all classes")
    overlap, least = (cast(op.reshape(c.expr(place), newshape=[]), "float32") for place in (4, 5))
    scores = op.transpose(c.y, axes=[0, 2, 1])  # (batch, classes, n)
    if own == 1:
        boxes = op.reshape(c.x, newshape=[batch, count, 4])
    else:  # each class has its own boxes: an image for each class
        boxes = op.reshape(op.transpose(c.x, axes=[0, 2, 1, 3]), newshape=[batch * classes, count, 4])
        scores = op.reshape(scores, newshape=[batch * classes, 1, count])
    limit = op.reshape(cast(most_of_class, "int64"), newshape=[])
    made = op.vision.all_class_non_max_suppression(boxes, scores, limit, overlap, least, output_format="tensorflow")
    places, best = cast(made[0], "int64"), made[1]
    valid = cast(made[2], "int32")
    kinds, rows = (_column(places, at) for at in (0, 1))
    if own != 1:
        kinds = op.broadcast_to(constant(np.tile(np.arange(classes, dtype=np.int64), batch).reshape(-1, 1)),
                                shape=shape_of(rows))  # fmt: skip
        width = shape_of(best)[1]
        inside = op.less(constant(np.arange(width, dtype=np.int32).reshape(1, -1)), op.reshape(valid, newshape=[-1, 1]))
        best = op.where(inside, best, number(-1, "float32"))
        together = [op.reshape(one, newshape=[batch, classes * width]) for one in (kinds, rows, best)]
        kinds, rows, best = together
        valid = op.sum(op.reshape(valid, newshape=[batch, classes]), axis=[1])
        flat = op.reshape(op.add(op.multiply(kinds, number(count, "int64")), rows), newshape=[batch, -1])
        pool = op.reshape(boxes, newshape=[batch, classes * count, 4])
    else:
        flat, pool = rows, boxes
    valid = op.minimum(op.reshape(valid, newshape=[batch]), number(most, "int32"))
    return _best(c, pool, flat, kinds, best, valid, batch, most)


def _column(places: Expr, at: int) -> Expr:
    return op.squeeze(op.strided_slice(places, begin=[at], end=[at + 1], strides=[1], axes=[2]), axis=[2])


def _best(c: Conversion, pool: Expr, rows: Expr, kinds: Expr, best: Expr, valid: Expr, batch: int, most: int) -> list:
    """Returns the boxes, scores and classes of the best boxes of each image, filled up with zeros."""
    width = shape_of(best)[1]
    if width < most:
        rest = [[0, 0], [0, most - width]]
        rows, kinds, best = (op.nn.pad(one, pad_width=rest) for one in (rows, kinds, best))
    top = op.topk(best, k=most, axis=1, ret_type="both", is_ascend=False, dtype="int64")
    scores, places = top[0], top[1]
    rows, kinds = (op.gather(one, axis=1, indices=places) for one in (rows, kinds))
    first = constant((np.arange(batch, dtype=np.int64) * shape_of(pool)[1]).reshape(-1, 1))
    flat = op.reshape(pool, newshape=[-1, 4])
    boxes = op.take(flat, op.add(rows, first), axis=0, mode="clip")
    if c("clip_boxes", True):
        boxes = op.clip(boxes, 0.0, 1.0)
    inside = op.less(constant(np.arange(most, dtype=np.int32).reshape(1, -1)), op.reshape(valid, newshape=[-1, 1]))
    zero = number(0, "float32")
    return [
        op.where(op.expand_dims(inside, axis=2), boxes, zero), op.where(inside, scores, zero),
        op.where(inside, cast(kinds, "float32"), zero), valid,
    ]  # fmt: skip


def adjust_contrast(c: Conversion):
    """AdjustContrastv2(images, factor): the difference from the mean of each channel is scaled."""
    rank = c.rank(0)
    mean = op.mean(c.x, axis=[rank - 3, rank - 2], keepdims=True)
    return op.add(op.multiply(op.subtract(c.x, mean), cast(c.y, c.dtype(0))), mean)


_DECODES = ("DecodeBmp", "DecodeImage", "DecodeJpeg", "DecodePng")


def is_picture(graph, name: str) -> bool:
    """Returns true if a node of the graph reads the bytes of a picture from this node."""
    return any(node.op in _DECODES and node.inputs and node.inputs[0].name == name for node in graph.nodes.values())


def decoded(c: Conversion):
    """DecodeJpeg and its kin. The input is the pixels of a picture, not its bytes: (height, width, channels)."""
    if texts.is_text(c.value(0)):
        raise Refused("it reads the bytes of a picture", "read the picture before the model, and pass its pixels")
    if c.rank(0) != 3 or c("channels", 0) not in (0, c.size(2)):
        raise Refused(f"its pixels have the shape {c.shape(0)}, and it makes {c('channels', 0)} channels",
                      "give the sizes (height, width, channels)")  # fmt: skip
    return cast(c.x, c("dtype", "uint8"))
