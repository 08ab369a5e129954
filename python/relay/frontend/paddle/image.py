"""Images of other sizes, and points of images, of PaddlePaddle."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ..._core import Dim, Expr
from ..shared.expressions import cast, dtype_of, is_known, known, number, shape_of
from ..shared.problems import Refused
from ..shared.values import size_number
from .conversion import Operator

_LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}
_RESIZE = {1: op.image.resize1d, 2: op.image.resize2d, 3: op.image.resize3d}


def interpolation(method: str, rank: int):
    """Returns the converter of a resize. The size comes from operands, from a scale, or from attributes."""

    def convert(c: Operator):
        is_first = c.is_first("data_layout")
        layout = _LAYOUTS[rank][0 if is_first else 1]
        x = c.with_rank(rank + 2)
        own = shape_of(x)[2:] if is_first else shape_of(x)[1:-1]
        c.ignore("interp_method")
        corners, mode = c.flag("align_corners", True), c.int("align_mode", 1)
        wanted = _size(c, own, rank)
        if corners:
            transform = "align_corners"
        elif method == "nearest_neighbor" or (mode == 1 and method == "linear"):
            transform = "asymmetric"
        else:
            transform = "half_pixel"
        how = {"layout": layout, "method": method, "coordinate_transformation_mode": transform}
        if method == "nearest_neighbor":
            how["rounding_method"] = "round_prefer_ceil" if corners else "floor"
        if method == "cubic":
            how["cubic_alpha"] = -0.75
        return _RESIZE[rank](x, size=wanted, **how)

    return convert


def _size(c: Operator, own: list, rank: int) -> list | Expr:
    names = ("out_d", "out_h", "out_w")[3 - rank :]
    attributes = [c.int(name, -1) for name in names]
    scales = c.value("scale", [])
    c.ignore("out_d", "out_h", "out_w", "scale")
    if c.gives("SizeTensor"):
        found = c.sizes_of_every("SizeTensor")
        if not any(isinstance(one, Expr) for one in found):
            return found
        return op.stack([_number(one) for one in found], axis=0)
    if c.gives("OutSize"):
        found = c.sizes("OutSize")
        return cast(c["OutSize"], "int64") if found is None else found
    if c.gives("Scale"):
        found = c.elements("Scale")
        if found is None:
            raise Refused("its scale is computed at run time", "give the size")
        scales = [float(one) for one in found.reshape(-1)]
    scales = scales if isinstance(scales, list) else [scales]
    scales = [float(one) for one in scales] * (rank if len(scales) == 1 else 1)
    if len(scales) == rank and all(one > 0 for one in scales):
        return [_scaled(size, scale) for size, scale in zip(own, scales, strict=True)]
    if any(one < 1 for one in attributes):
        raise Refused(f"it has no size: {attributes}", "export the model again")
    return attributes


def _number(size) -> Expr:
    return cast(op.reshape(size, newshape=[]), "int64") if isinstance(size, Expr) else size_number(size)


def _scaled(size, scale: float):
    if isinstance(size, Dim):
        if scale.is_integer():
            return size * int(scale)
        raise Refused(f"a scale of {scale} for an open size", "give the sizes of the inputs")
    made = int(size * scale)
    if made < 1 or abs(made / scale - size) > 1e-4 * size:
        raise Refused(f"a scale of {scale} for an image of {size}, which gives no whole number", "give the size")
    return made


def grid_sample(c: Operator):
    mode = c.text("mode", "bilinear", ("bilinear", "nearest"))
    outside = c.text("padding_mode", "zeros", ("zeros", "border", "reflection"))
    c.ignore("use_cudnn")
    # Relay's grid has the coordinates before the axes of space.
    rank = len(shape_of(c["Grid"]))
    grid = op.transpose(c["Grid"], axes=[0, rank - 1, *range(1, rank - 1)])
    made = op.image.grid_sample(
        c.x, grid, method=mode, layout="NCHW" if rank == 4 else "NCDHW", padding_mode=outside,
        align_corners=c.flag("align_corners", True),
    )  # fmt: skip
    return {"Output": made}


def affine_grid(c: Operator):
    """The points (x, y) from -1 to 1 of an image, transformed by a matrix (2, 3) for each of the batch."""
    c.ignore("use_cudnn")
    corners, wanted = c.flag("align_corners", True), c.list_of("output_shape", "OutputShape", [])
    if len(wanted) != 4:
        raise Refused(f"its result has the shape {wanted}, not four sizes")
    high, wide = wanted[2:]

    def line(count: int) -> np.ndarray:
        made = np.linspace(-1, 1, count) if count > 1 else np.zeros(1)
        return made if corners else made * (count - 1) / count

    points = np.stack([*np.meshgrid(line(wide), line(high)), np.ones((high, wide))], axis=-1).reshape(-1, 3)
    theta, batch = c.x, shape_of(c.x)[0]
    rows = op.broadcast_to(c.constant(points[None], dtype_of(theta)), [batch, high * wide, 3])
    made = op.nn.batch_matmul(rows, theta, transpose_b=True)
    return {"Output": op.reshape(made, newshape=[batch, high, wide, 2])}


# --- regions ----------------------------------------------------------------------------------------------------------
def _rois(c: Operator) -> Expr:
    """Returns regions as rows (image, x1, y1, x2, y2)."""
    rois = c["ROIs"]
    count = shape_of(rois)[0]
    if shape_of(c.x)[0] == 1:
        image = op.zeros_like(op.strided_slice(rois, begin=[0], end=[1], axes=[1]))
    elif not c.gives("RoisNum"):
        raise Refused("the regions of several images have no numbers of their own", "export with boxes_num")
    else:
        ends = op.cumsum(cast(c["RoisNum"], "int32"), axis=0)
        at = op.arange(number(0, "int32"), cast(size_number(count), "int32"), number(1, "int32"), dtype="int32")
        image = op.searchsorted(ends, at, right=True, dtype="int32")
        image = op.expand_dims(cast(image, dtype_of(rois)), axis=1)
    return op.concatenate([image, rois], axis=1)


def roi_align(c: Operator):
    size = [c.count("pooled_height", 1), c.count("pooled_width", 1)]
    return op.vision.roi_align(
        c.x, _rois(c), pooled_size=size, spatial_scale=c.real("spatial_scale", 1.0),
        sample_ratio=c.int("sampling_ratio", -1), aligned=c.flag("aligned", False),
    )  # fmt: skip


def roi_pool(c: Operator):
    size = [c.count("pooled_height", 1), c.count("pooled_width", 1)]
    made = op.vision.roi_pool(c.x, _rois(c), pooled_size=size, spatial_scale=c.real("spatial_scale", 1.0))
    return {"Out": made}


# --- boxes ------------------------------------------------------------------------------------------------------------
def ratios_of(found: list[float], flip: bool) -> list[float]:
    """Returns the ratios of prior boxes, without repetitions: 1 first, and the inverse of each after it."""
    made = [1.0]
    for ratio in found:
        if ratio <= 0:
            raise Refused(f"a ratio is {ratio}, not above zero")
        if not any(abs(ratio - one) < 1e-6 for one in made):
            made += [ratio, 1 / ratio] if flip else [ratio]
    return made


def prior_box(c: Operator):
    """Boxes around each position, from 0 to 1, and their variances: (H, W, boxes, 4)."""
    high, wide = (known(one, "prior boxes") for one in shape_of(c["Input"])[2:])
    image = [known(one, "prior boxes") for one in shape_of(c["Image"])[2:]]
    small, large = c.reals("min_sizes", []), c.reals("max_sizes", [])
    steps = [c.real("step_h", 0.0) or image[0] / high, c.real("step_w", 0.0) or image[1] / wide]
    offset, ratios = c.real("offset", 0.5), ratios_of(c.reals("aspect_ratios", []), c.flag("flip", True))
    if large and len(large) != len(small):
        raise Refused(f"it has {len(small)} `min_sizes` and {len(large)} `max_sizes`")
    by_size = c.flag("min_max_aspect_ratios_order", False)
    boxes = []
    for at, size in enumerate(small):
        square = [(math.sqrt(size * large[at]),) * 2] if large else []
        others = [(size * math.sqrt(one), size / math.sqrt(one)) for one in ratios if abs(one - 1) >= 1e-6]
        boxes += [(size, size), *square, *others] if by_size else [(size, size), *others, *square]
    sizes = np.array(boxes, np.float64).reshape(-1, 2)
    y = ((np.arange(high) + offset) * steps[0])[:, None, None]
    x = ((np.arange(wide) + offset) * steps[1])[None, :, None]
    half = sizes / 2
    sides = [(x - half[:, 0]) / image[1], (y - half[:, 1]) / image[0], (x + half[:, 0]) / image[1],
             (y + half[:, 1]) / image[0]]  # fmt: skip
    made = np.stack(np.broadcast_arrays(*sides), axis=-1)
    made = np.clip(made, 0, 1) if c.flag("clip", False) else made
    spread = np.broadcast_to(np.array(c.reals("variances", [0.1, 0.1, 0.2, 0.2])), made.shape)
    return {"Boxes": c.constant(made, "float32"), "Variances": c.constant(spread, "float32")}


def anchors(c: Operator):
    """Boxes around each position, in pixels: (H, W, boxes, 4)."""
    high, wide = (known(one, "anchors") for one in shape_of(c["Input"])[2:])
    sizes, ratios, steps = c.reals("anchor_sizes"), c.reals("aspect_ratios"), c.reals("stride")
    offset, boxes = c.real("offset", 0.5), []
    for ratio in ratios:
        for size in sizes:
            base = math.floor(math.sqrt(steps[0] * steps[1] / ratio) + 0.5)
            boxes.append((size / steps[0] * base, size / steps[1] * math.floor(base * ratio + 0.5)))
    half = (np.array(boxes) - 1) / 2
    x = (np.arange(wide) * steps[0] + offset * (steps[0] - 1))[None, :, None]
    y = (np.arange(high) * steps[1] + offset * (steps[1] - 1))[:, None, None]
    sides = [x - half[:, 0], y - half[:, 1], x + half[:, 0], y + half[:, 1]]
    made = np.stack(np.broadcast_arrays(*sides), axis=-1)
    spread = np.broadcast_to(np.array(c.reals("variances", [1.0] * 4)), made.shape)
    return {"Anchors": c.constant(made, "float32"), "Variances": c.constant(spread, "float32")}


def columns(boxes: Expr) -> list[Expr]:
    """Returns the four numbers of boxes (.., 4), each (.., 1)."""
    return list(op.split(boxes, 4, axis=-1))


def box_coder(c: Operator):
    """Offsets of boxes from prior boxes, or boxes from offsets."""
    kind = c.text("code_type", "encode_center_size", ("encode_center_size", "decode_center_size"))
    more = 0.0 if c.flag("box_normalized", True) else 1.0
    axis, given = c.int("axis", 0), c.reals("variance", [])
    prior, target = c["PriorBox"], c["TargetBox"]

    def centred(boxes: Expr) -> tuple[Expr, Expr, Expr, Expr]:
        x1, y1, x2, y2 = columns(boxes)
        one = c.number(more, "float32")
        width, height = op.add(op.subtract(x2, x1), one), op.add(op.subtract(y2, y1), one)
        half = c.number(0.5, "float32")
        return op.add(x1, op.multiply(width, half)), op.add(y1, op.multiply(height, half)), width, height

    spread = c["PriorBoxVar"] if c.gives("PriorBoxVar") else c.constant(given, "float32") if given else None
    variances = [c.number(1.0, "float32")] * 4 if spread is None else columns(spread)
    if kind == "encode_center_size":  # (N, 4) and (M, 4) give (N, M, 4)
        px, py, pw, ph = centred(op.expand_dims(prior, axis=0))
        tx, ty, tw, th = centred(op.expand_dims(target, axis=1))
        made = [op.divide(op.subtract(tx, px), pw), op.divide(op.subtract(ty, py), ph),
                op.log(op.abs(op.divide(tw, pw))), op.log(op.abs(op.divide(th, ph)))]  # fmt: skip
        made = [op.divide(one, spread_) for one, spread_ in zip(made, variances, strict=True)]
        return {"OutputBox": op.concatenate(made, axis=-1)}
    if len(shape_of(target)) == 2:
        target = op.expand_dims(target, axis=1)
    prior = op.expand_dims(prior, axis=axis)
    if spread is not None and len(shape_of(spread)) == 2:
        variances = columns(op.expand_dims(spread, axis=axis))
    px, py, pw, ph = centred(prior)
    tx, ty, tw, th = columns(target)
    vx, vy, vw, vh = variances
    x, y = op.add(op.multiply(op.multiply(vx, tx), pw), px), op.add(op.multiply(op.multiply(vy, ty), ph), py)
    half = c.number(0.5, "float32")
    w = op.multiply(op.multiply(op.exp(op.multiply(vw, tw)), pw), half)
    h = op.multiply(op.multiply(op.exp(op.multiply(vh, th)), ph), half)
    one = c.number(more, "float32")
    made = [op.subtract(x, w), op.subtract(y, h), op.subtract(op.add(x, w), one), op.subtract(op.add(y, h), one)]
    return {"OutputBox": op.concatenate(made, axis=-1)}


def box_clip(c: Operator):
    """Boxes of one image, inside of it."""
    boxes, about = c["Input"], c["ImInfo"]
    height, width, scale = (op.strided_slice(about, begin=[at], end=[at + 1], axes=[1]) for at in range(3))
    one = c.number(1.0, "float32")
    bottom, right = (op.subtract(op.round(op.divide(side, scale)), one) for side in (height, width))
    x1, y1, x2, y2 = columns(boxes)
    zero = c.number(0.0, "float32")

    def inside(value: Expr, side: Expr) -> Expr:
        return op.maximum(op.minimum(value, side), zero)

    made = [inside(x1, right), inside(y1, bottom), inside(x2, right), inside(y2, bottom)]
    return {"Output": op.concatenate(made, axis=-1)}


def yolo_box(c: Operator):
    """Boxes in pixels, and scores of classes, of one head of YOLOv3. Those below the threshold are zero."""
    if c.flag("iou_aware", False):
        raise Refused("`iou_aware` heads are not imported")
    c.ignore("iou_aware_factor")
    x = c.with_rank(4)
    batch, _, high, wide = shape_of(x)
    if not is_known(high, wide):
        raise Refused("the size of its grid is open", "give the sizes of the inputs")
    sizes = np.array(c.ints("anchors"), np.float64).reshape(-1, 2)
    classes, step = c.count("class_num"), c.count("downsample_ratio", 32)
    scale, threshold = c.real("scale_x_y", 1.0), c.real("conf_thresh", 0.01)
    count = len(sizes)
    apart = op.reshape(x, newshape=[batch, count, classes + 5, high, wide])
    apart = op.transpose(apart, axes=[0, 1, 3, 4, 2])
    parts = op.split(apart, [1, 2, 3, 4, 5], axis=4)
    image = cast(c["ImgSize"], "float32")
    image_high, image_wide = (op.reshape(one, newshape=[-1, 1, 1, 1, 1]) for one in op.split(image, 2, axis=1))

    def centre(value: Expr, grid: np.ndarray, side: int, of_image: Expr) -> Expr:
        inner = op.add(op.multiply(op.sigmoid(value), c.number(scale)), c.number(-0.5 * (scale - 1)))
        return op.multiply(op.divide(op.add(inner, c.constant(grid, "float32")), c.number(float(side))), of_image)

    def extent(value: Expr, of_anchors: np.ndarray, side: int, of_image: Expr) -> Expr:
        relative = c.constant((of_anchors / (step * side)).reshape(1, count, 1, 1, 1), "float32")
        return op.multiply(op.multiply(op.exp(value), relative), of_image)

    bx = centre(parts[0], np.arange(wide).reshape(1, 1, 1, wide, 1), wide, image_wide)
    by = centre(parts[1], np.arange(high).reshape(1, 1, high, 1, 1), high, image_high)
    bw = op.multiply(extent(parts[2], sizes[:, 0], wide, image_wide), c.number(0.5))
    bh = op.multiply(extent(parts[3], sizes[:, 1], high, image_high), c.number(0.5))
    sides = [op.subtract(bx, bw), op.subtract(by, bh), op.add(bx, bw), op.add(by, bh)]
    if c.flag("clip_bbox", True):
        one = c.number(1.0)
        right, bottom = op.subtract(image_wide, one), op.subtract(image_high, one)
        sides = [op.maximum(sides[0], c.number(0.0)), op.maximum(sides[1], c.number(0.0)),
                 op.minimum(sides[2], right), op.minimum(sides[3], bottom)]  # fmt: skip
    confidence = op.sigmoid(parts[4])
    good = op.greater_equal(confidence, c.number(threshold))
    boxes = op.where(good, op.concatenate(sides, axis=4), c.number(0.0))
    scores = op.where(good, op.multiply(confidence, op.sigmoid(parts[5])), c.number(0.0))
    total = count * high * wide
    return {
        "Boxes": op.reshape(boxes, newshape=[batch, total, 4]),
        "Scores": op.reshape(scores, newshape=[batch, total, classes]),
    }
