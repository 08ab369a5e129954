"""Images: other sizes, crops, and samples at given points."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ..._core import Dim, Expr
from ..shared.expressions import bounded, cast, dtype_of, is_float, known, number, shape_of
from ..shared.problems import Refused
from . import functions as f
from .boxes import suppressed
from .conversion import Operation

MODES = ("DEFAULT", "STRICT_ALIGN_CORNERS", "ALIGN_CORNERS", "OFFSET_CORNERS", "UNALIGN_CORNERS")
MOST_SIZE = 1 << 16
_TRANSFORMS = {"DEFAULT": "asymmetric", "STRICT_ALIGN_CORNERS": "align_corners", "UNALIGN_CORNERS": "half_pixel"}


def as_images(x: Expr) -> tuple[Expr, list]:
    """Returns a tensor (.., C, H, W) as (N, C, H, W), and the sizes before the last three axes."""
    sizes = shape_of(x)
    if len(sizes) < 3:
        raise Refused(f"its input has {len(sizes)} axes, not three or more")
    lead = sizes[:-3]
    return (x if len(lead) == 1 else op.reshape(x, [-1, *sizes[-3:]]) if lead else op.expand_dims(x, axis=0)), lead


def restored(x: Expr, lead: list) -> Expr:
    """Returns (N, C, H, W) with the axes that as_images() joined."""
    if len(lead) == 1:
        return x
    return op.reshape(x, [*lead, *shape_of(x)[1:]]) if lead else op.squeeze(x, axis=[0])


def sampled(x: Expr, axis: int, points: np.ndarray) -> Expr:
    """Returns a tensor with linear interpolation at points along an axis."""
    size = known(shape_of(x)[axis], "an image that is resized")
    points = np.clip(points, 0, size - 1)
    low = np.floor(points).astype(np.int32)
    high = np.minimum(low + 1, size - 1)
    share = f.per_channel(x, cast(number((points - low).astype(np.float32), "float32"), dtype_of(x)), axis)
    first, second = (op.take(x, number(one, "int32"), axis=axis, mode="clip") for one in (low, high))
    return op.add(first, op.multiply(op.subtract(second, first), share))


def points_of(mode: str, size: int, count: int) -> np.ndarray:
    """Returns the points at which an axis is sampled."""
    steps = np.arange(count, dtype=np.float64)
    if mode in ("STRICT_ALIGN_CORNERS", "ALIGN_CORNERS"):
        if count == 1:
            return steps + ((size - 1) / 2 if mode == "ALIGN_CORNERS" else 0)
        return steps * (size - 1) / (count - 1)
    if mode == "DEFAULT":
        return steps * size / count
    if mode == "OFFSET_CORNERS":
        delta = max(1, size - 1) / count
        return 0.5 * delta + steps * delta
    return steps * size / count + 0.5 * size / count - 0.5


def resized(x: Expr, height, width, mode: str) -> Expr:
    """Returns images (.., H, W) of another size, with linear interpolation."""
    if mode not in MODES:
        raise Refused(f"the sampling {mode!r} is not known")
    for one in (height, width):
        if not isinstance(one, Dim):
            bounded(one, MOST_SIZE, "the size of its images")
            if one < 1:
                raise Refused(f"the size of its images is {one}")
    single = mode == "ALIGN_CORNERS" and 1 not in (height, width)
    if mode in _TRANSFORMS or single:
        images, lead = as_images(x)
        how = _TRANSFORMS.get(mode, "align_corners")
        return restored(op.image.resize2d(images, size=[height, width], method="linear",
                                          coordinate_transformation_mode=how), lead)  # fmt: skip
    for axis, count in ((-2, height), (-1, width)):
        rank = len(shape_of(x))
        size = known(shape_of(x)[axis], "an image that is resized")
        x = sampled(x, rank + axis, points_of(mode, size, known(count, "the size of the result")))
    return x


def nearest(x: Expr, height, width) -> Expr:
    """Returns images of another size, each element that of floor(place * old / new)."""
    images, lead = as_images(x)
    made = op.image.resize2d(images, size=[height, width], method="nearest_neighbor",
                             coordinate_transformation_mode="asymmetric", rounding_method="floor")  # fmt: skip
    return restored(made, lead)


# --- operations of ML programs ----------------------------------------------------------------------------------------
def resize_bilinear(c: Operation):
    size = c.count("target_size_height", 1), c.count("target_size_width", 1)
    return resized(c.x, *size, c.text("sampling_mode", "DEFAULT"))


def resize_nearest(c: Operation):
    return nearest(c.x, c.count("target_size_height"), c.count("target_size_width"))


def _scaled(c: Operation) -> list[int]:
    factors = [c.real(f"scale_factor_{one}", 1.0) for one in ("height", "width")]
    sizes = [c.size(axis, "an image that is resized") for axis in (-2, -1)]
    made = [math.floor(size * factor + 1e-6) for size, factor in zip(sizes, factors, strict=True)]
    if any(not 1 <= one <= MOST_SIZE for one in made):
        raise Refused(f"it makes images of {made} from {sizes}")
    return made


def upsample_bilinear(c: Operation):
    is_aligned = c.flag("align_corners", True)
    is_half = c.flag("half_pixel_centers", not is_aligned)
    if is_aligned and is_half:
        raise Refused("`align_corners` and `half_pixel_centers` are both set")
    return resized(c.x, *_scaled(c), "STRICT_ALIGN_CORNERS" if is_aligned else "UNALIGN_CORNERS" if is_half
                   else "DEFAULT")  # fmt: skip


def upsample_nearest(c: Operation):
    return nearest(c.x, *_scaled(c))


def resize(c: Operation):
    """The last `resized_dims` axes, to the last sizes of `shape`; 0 keeps a size."""
    count, length, own = c.count("resized_dims", None, 0, 16), c.shape_of("shape")[0], c.shape
    if not isinstance(length, int) or count > min(length, len(own)) or count > 2:
        raise Refused(f"it resizes {count} axes", "resize one or two")
    if count == 0:
        return c.x
    x = c.x if is_float(c.dtype) else op.cast(c.x, "float32")
    mode = c.text("interpolation_mode", "LINEAR", ("LINEAR", "NEAREST_NEIGHBOR"))
    how = c.text("sampling_mode", "DEFAULT", MODES)
    if not c.is_known("shape"):
        return cast(_resized_at_run_time(c, x, count, length, mode, how), c.dtype)
    wanted = c.sizes("shape")[length - count :]
    wanted = [a if isinstance(b, int) and b == 0 else b
              for a, b in zip(own[len(own) - count :], wanted, strict=True)]  # fmt: skip
    height, width = wanted if count == 2 else (own[-2], wanted[0])
    if mode == "LINEAR":
        made = resized(x, height, width, how)
    else:
        made = _nearest_at(x, known(height, "the size"), known(width, "the size"), how)
    return cast(made, c.dtype)


def _resized_at_run_time(c: Operation, x: Expr, count: int, length: int, mode: str, how: str) -> Expr:
    if count != 2 or how not in _TRANSFORMS:
        raise Refused(f"it resizes {count} axes with the sampling {how} to a size that is computed at run time")
    images, lead = as_images(x)
    if len(lead) != 1:
        raise Refused(f"its input has {c.rank} axes, not four, for a size that is computed at run time")
    size = op.strided_slice(cast(c.expr("shape"), "int64"), begin=[length - 2], end=[length], strides=[1], axes=[0])
    own = op.strided_slice(op.shape_of(images, dtype="int64"), begin=[2], end=[4], strides=[1], axes=[0])
    size = op.where(op.equal(size, number(0, "int64")), own, size)
    return op.dyn.image.resize2d(
        images, size, f.constants([0.0] * 4, "float32"), layout="NCHW",
        method="linear" if mode == "LINEAR" else "nearest_neighbor", rounding_method="round_prefer_ceil",
        coordinate_transformation_mode=_TRANSFORMS[how],
    )  # fmt: skip


def _nearest_at(x: Expr, height: int, width: int, mode: str) -> Expr:
    for axis, count in ((-2, height), (-1, width)):
        size, rank = known(shape_of(x)[axis], "an image that is resized"), len(shape_of(x))
        places = np.clip(np.floor(np.clip(points_of(mode, size, count), 0, size - 1) + 0.5), 0, size - 1)
        x = op.take(x, number(places.astype(np.int32), "int32"), axis=rank + axis, mode="clip")
    return x


def crop_resize(c: Operation):
    boxes = c.expr("boxes") if c.has("boxes") else c.expr("roi")
    x, height, width = c.x, c.window("target_height", 1), c.window("target_width", 1)
    is_old = not c.has("boxes")  # (N, 1, 4 or 5, 1, 1), the first of five numbers the image's
    images = None
    if is_old:
        boxes = op.reshape(boxes, [shape_of(boxes)[0], shape_of(boxes)[2]])
        if shape_of(boxes)[1] == 5:
            images = op.cast(op.squeeze(_column(boxes, 0, 1), axis=[1]), "int32")
            boxes = _column(boxes, 1, 5)
        elif shape_of(x)[0] != 1:
            raise Refused("it takes its boxes from all images of a batch", "give each box the number of its image")
    elif c.has("box_indices"):
        images = cast(c.expr("box_indices"), "int32")
    made = crops(
        x, cast(boxes, "float32"), images, height, width, c.text("sampling_mode", "DEFAULT", MODES),
        c.flag("normalized_coordinates"), c.real("spatial_scale", 1.0),
        c.text("box_coordinate_mode", "CORNERS_HEIGHT_FIRST"), c.real("pad_value", 0.0),
    )  # fmt: skip
    return op.expand_dims(made, axis=1) if is_old else made


def _column(x: Expr, first: int, end: int) -> Expr:
    return op.strided_slice(x, begin=[first], end=[end], strides=[1], axes=[1])


def crops(
    x: Expr,
    boxes: Expr,
    images: Expr | None,
    height: int,
    width: int,
    mode: str,
    is_normalised: bool,
    scale: float,
    order: str,
    pad: float,
) -> Expr:
    """Returns parts of images (B, C, H, W) in one size, (N, C, height, width), with linear interpolation.

    boxes: (N, 4). images: the number of each box's image, or None for the first ones. mode: one of MODES. scale: pixels
    per unit of boxes. order: that of a box's numbers. pad: the value outside of images.
    """
    sizes = [known(one, "an image that is cropped") for one in shape_of(x)[2:]]
    corners = ("CORNERS_HEIGHT_FIRST", "CORNERS_WIDTH_FIRST")
    centres = ("CENTER_SIZE_HEIGHT_FIRST", "CENTER_SIZE_WIDTH_FIRST")
    if order not in corners + centres:
        raise Refused(f"the order {order!r} of a box's numbers is not known")
    columns = [_column(boxes, place, place + 1) for place in range(4)]
    if order in (corners[1], centres[1]):
        columns = [columns[1], columns[0], columns[3], columns[2]]
    coordinates = []
    for axis, count in enumerate((height, width)):
        a, b = columns[axis], columns[axis + 2]
        if order in centres:
            half = f.affine(b, 0.5, 0.0)
            a, b = op.subtract(a, half), op.add(a, half)
        factor = scale * (sizes[axis] - 1 if is_normalised else 1)
        coordinates.append(_points(f.affine(a, factor, 0.0), f.affine(b, factor, 0.0), count, mode))
    count = shape_of(boxes)[0]
    if images is not None:
        x = op.take(x, images, axis=0, mode="clip")
    elif shape_of(x)[0] != count:
        x = op.take(x, op.zeros([count], dtype="int32"), axis=0, mode="clip")
    shape = [count, height, width]
    grid, inside = [], None
    for axis, (one, size) in enumerate(zip(coordinates, sizes, strict=True)):
        spread = op.broadcast_to(op.expand_dims(one, axis=2 - axis), shape=shape)
        within = op.logical_and(
            op.greater_equal(spread, f.n(spread, 0.0)), op.less_equal(spread, f.n(spread, size - 1))
        )
        inside = within if inside is None else op.logical_and(inside, within)
        grid.append(_to_grid(spread, size))
    made = sampled_at(x, op.stack([grid[1], grid[0]], axis=1), "bilinear", "border", False, 0.0)
    return op.where(op.expand_dims(inside, axis=1), made, f.n(made, pad))


def _points(start: Expr, end: Expr, count: int, mode: str) -> Expr:
    """Returns the points of boxes along an axis, (N, count)."""
    steps = number(np.arange(count, dtype=np.float32).reshape(1, -1), "float32")
    extent = op.subtract(end, start)
    if mode in ("STRICT_ALIGN_CORNERS", "ALIGN_CORNERS"):
        if count == 1:
            return op.add(start, f.affine(extent, 0.5, 0.0)) if mode == "ALIGN_CORNERS" else start
        return op.add(start, op.multiply(f.affine(extent, 1 / (count - 1), 0.0), steps))
    if mode == "OFFSET_CORNERS":
        delta = f.affine(op.maximum(extent, f.n(extent, 1.0)), 1 / count, 0.0)
        return op.add(start, op.multiply(delta, f.affine(steps, 1.0, 0.5)))
    spacing = f.affine(extent, 1 / count, 1 / count)
    made = op.multiply(spacing, steps)
    if mode == "UNALIGN_CORNERS":
        made = f.affine(op.add(made, f.affine(spacing, 0.5, 0.0)), 1.0, -0.5)
    return op.add(start, op.minimum(op.maximum(made, f.n(made, 0.0)), extent))


def _to_grid(points: Expr, size: int) -> Expr:
    """Returns pixels' numbers in the range of grid_sample, whose ends are the outer edges of the image."""
    return f.affine(points, 2 / size, 1 / size - 1)


def sampled_at(x: Expr, grid: Expr, method: str, padding: str, is_aligned: bool, value: float) -> Expr:
    """Returns images at points of a grid (N, 2, H, W). value: that of pixels outside, with padding "zeros"."""
    x = f.affine(x, 1.0, -value)
    made = op.image.grid_sample(x, cast(grid, dtype_of(x)), method=method, layout="NCHW", padding_mode=padding,
                                align_corners=is_aligned)  # fmt: skip
    return f.affine(made, 1.0, value)


def resample(c: Operation):
    points, sizes = cast(c.expr("coordinates"), "float32"), [c.size(axis, "an image") for axis in (2, 3)]
    form = c.text("coordinates_mode", among=("unnormalized", "normalized_minus_one_to_one", "normalized_zero_to_one"))
    is_aligned = c.flag("align_corners")
    padding = c.text("padding_mode", among=("constant", "border", "reflection", "symmetric"))
    value = c.real("padding_value", 0.0)
    centres = padding == "reflection"  # reflects at the centres of pixels; "symmetric" at their edges
    columns = []
    for place, size in ((0, sizes[1]), (1, sizes[0])):
        one = op.take(points, number(place, "int32"), axis=3)
        if form == "normalized_zero_to_one":
            one = f.affine(one, 2.0, -1.0)
        if form != "unnormalized":  # to numbers of pixels
            scale = (size - 1) / 2 if is_aligned else size / 2
            one = f.affine(one, scale, (size - 1) / 2)
        if centres and size > 1:
            one = f.affine(one, 2 / (size - 1), -1.0)
        else:
            one = _to_grid(one, size)
        columns.append(one)
    method = c.text("sampling_mode", among=("bilinear", "nearest"))
    kind = {"constant": "zeros", "border": "border"}.get(padding, "reflection")
    return sampled_at(c.x, op.stack(columns, axis=1), method, kind, centres, value if kind == "zeros" else 0.0)


def affine(c: Operation):
    c.text("sampling_mode", among=("bilinear",))
    c.text("padding_mode", among=("constant",))
    c.text("coordinates_mode", among=("normalized_minus_one_to_one",))
    value = c.real("padding_value", 0.0)
    if not c.flag("align_corners", True):
        raise Refused("`align_corners` is false", "use true")
    matrix = op.reshape(c.expr("transform_matrix"), [-1, 2, 3])
    batch = c.shape[0]
    if shape_of(matrix)[0] != batch:
        matrix = op.broadcast_to(matrix, shape=[batch, 2, 3])
    grid = op.image.affine_grid(matrix, target_shape=[c.window("output_height"), c.window("output_width")])
    return sampled_at(c.x, grid, "bilinear", "zeros", True, value)


def non_maximum_suppression(c: Operation):
    """Boxes (B, N, 4) with centres and sizes, and scores (B, N, classes)."""
    made = suppressed(
        c.expr("boxes"), c.expr("scores"), c.real("iou_threshold"), c.real("score_threshold", -np.inf),
        c.count("max_boxes"), c.flag("per_class_suppression"),
    )  # fmt: skip
    return [*made[:2], cast(made[2], "int32"), made[3]]
