"""More helpers of the operators' oracles: images of another size, boxes in images, windows with places of their own."""

import itertools
import math

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from oracle_arrays import along, order, pair, sides


def place_in_image(mode, x, n, out, begin, end):
    """The position among n pixels that pixel x of `out` corresponds to."""
    return {
        "half_pixel": lambda: (x + 0.5) * n / out - 0.5,
        "align_corners": lambda: x * (n - 1) / max(out - 1, 1),
        "asymmetric": lambda: x * n / out,
        "pytorch_half_pixel": lambda: (x + 0.5) * n / out - 0.5 if out > 1 else 0.0,
        "tf_half_pixel_for_nn": lambda: (x + 0.5) * n / out,
        "tf_crop_and_resize": lambda: begin * (n - 1) + x * (end - begin) * (n - 1) / (out - 1),
    }[mode]()


def resize(data, size, method, mode, rounding, alpha=-0.5, exclude=0, roi=(), extrapolation=0.0):
    """Resizing of data (N, C, ..): a matrix along each axis. Rounded places are moved by 1e-9 against rounding."""
    rounding = rounding or ("round" if mode == "align_corners" else "floor")
    axes = data.ndim - 2
    result, inside = data.double(), torch.tensor(True)
    for d, out in enumerate(pair(size, axes)):
        n = data.shape[2 + d]
        m = np.zeros((out, n))
        ok = np.ones(out, bool)
        for x in range(out):
            begin, end = (roi[d], roi[d + axes]) if roi else (0.0, 1.0)
            at = place_in_image(mode, x, n, out, begin, end)
            if mode == "tf_crop_and_resize":
                ok[x] = -1e-6 <= at <= n - 1 + 1e-6
            if method == "nearest_neighbor":
                round_to = {
                    "round": lambda v: math.floor(v + 0.5 + 1e-9),
                    "floor": lambda v: math.floor(v + 1e-9),
                    "ceil": lambda v: math.ceil(v - 1e-9),
                    "round_prefer_floor": lambda v: math.ceil(v - 0.5 - 1e-9),
                    "round_prefer_ceil": lambda v: math.floor(v + 0.5 + 1e-9),
                }[rounding]
                taps = {round_to(at): 1.0}
            else:
                first = math.floor(at + 1e-9)
                t = at - first
                if method == "linear":
                    taps = {first: 1 - t, first + 1: t}
                else:
                    near = lambda s: (alpha + 2) * s**3 - (alpha + 3) * s**2 + 1  # noqa: E731
                    far = lambda s: alpha * s**3 - 5 * alpha * s**2 + 8 * alpha * s - 4 * alpha  # noqa: E731
                    taps = {first - 1: far(1 + t), first: near(t), first + 1: near(1 - t), first + 2: far(2 - t)}
                    if exclude:
                        taps = {k: w for k, w in taps.items() if 0 <= k < n}
                        taps = {k: w / sum(taps.values()) for k, w in taps.items()}
            for k, w in taps.items():
                m[x, min(max(k, 0), n - 1)] += w
        result = (result.movedim(2 + d, -1) @ torch.as_tensor(m).T).movedim(-1, 2 + d)
        inside = inside & along(torch.as_tensor(ok), d, axes)
    return torch.where(inside, result, extrapolation)


def roi_align(data, rois, pooled_size, spatial_scale, sample_ratio, mode, aligned):
    """Each sample by itself."""
    height, width = data.shape[2:]
    out = torch.zeros(len(rois), data.shape[1], *pooled_size, dtype=torch.float64)
    shift = 0.5 if aligned else 0.0

    def sample(image, y, x):
        if not (-1 <= y <= height and -1 <= x <= width):
            return [torch.zeros(image.shape[0], dtype=torch.float64)]
        y, x = min(max(y, 0.0), height - 1), min(max(x, 0.0), width - 1)
        top, left = int(y), int(x)
        weights = {(0, 0): (1 - y + top) * (1 - x + left), (0, 1): (1 - y + top) * (x - left)}
        weights |= {(1, 0): (y - top) * (1 - x + left), (1, 1): (y - top) * (x - left)}
        return [
            image[:, min(top + j, height - 1), min(left + k, width - 1)].double() * w for (j, k), w in weights.items()
        ]

    for n, (batch, *corners) in enumerate(rois.tolist()):
        x1, y1, x2, y2 = (c * spatial_scale - shift for c in corners)
        cell_h = (y2 - y1 if aligned else max(y2 - y1, 1.0)) / pooled_size[0]
        cell_w = (x2 - x1 if aligned else max(x2 - x1, 1.0)) / pooled_size[1]
        many_h, many_w = [sample_ratio if sample_ratio > 0 else max(math.ceil(c), 0) for c in (cell_h, cell_w)]
        image = data[min(max(int(batch), 0), len(data) - 1)]
        for i, j in np.ndindex(*pooled_size):
            points = [
                sample(image, y1 + (i + (k + 0.5) / many_h) * cell_h, x1 + (j + (m + 0.5) / many_w) * cell_w)
                for k, m in np.ndindex(many_h, many_w)
            ]
            if points and mode == "avg":
                out[n, :, i, j] = sum(sum(p) for p in points) / len(points)
            elif points:
                out[n, :, i, j] = torch.stack([torch.stack(p).amax(0) for p in points]).amax(0)
    return out


def bilinear(image, y, x):
    """image[.., y, x] between pixels, 0 outside of them."""
    total, height, width = 0, *image.shape[-2:]
    for j, k in itertools.product((math.floor(y), math.floor(y) + 1), (math.floor(x), math.floor(x) + 1)):
        if 0 <= j < height and 0 <= k < width:
            total = total + image[..., j, k].double() * (1 - abs(y - j)) * (1 - abs(x - k))
    return total


def deformable_conv2d(data, offset, weight, strides, padding, dilation, offset_groups, groups, mask=None):
    (sy, sx), (dy, dx), (left, _, top, _) = pair(strides), pair(dilation), sides(padding)
    channels, (kh, kw) = data.shape[1] // offset_groups, weight.shape[2:]
    out_h, out_w = offset.shape[2:]
    taps = torch.zeros(len(data), data.shape[1], kh, kw, out_h, out_w, dtype=torch.float64)
    for n, g, j, k, y, x in np.ndindex(len(data), offset_groups, kh, kw, out_h, out_w):
        oy, ox = offset[n, 2 * ((g * kh + j) * kw + k) :, y, x][:2].double().tolist()
        at = bilinear(
            data[n, g * channels : (g + 1) * channels], y * sy + j * dy - top + oy, x * sx + k * dx - left + ox
        )
        if mask is not None:
            at = at * mask[n, (g * kh + j) * kw + k, y, x].double()
        taps[n, g * channels : (g + 1) * channels, j, k, y, x] = at
    taps, weight = taps.unflatten(1, (groups, -1)), weight.double().unflatten(0, (groups, -1))
    return torch.einsum("ngcjkyx,gocjk->ngoyx", taps, weight).flatten(1, 2)


def correlation(a, b, size, reach, step, step2, padding, multiply):
    a, b = (F.pad(t, sides(padding)) for t in (a, b))
    border = reach + size // 2
    ys, xs = range(border, a.shape[2] - border, step), range(border, a.shape[3] - border, step)
    radius = reach // step2
    moves = [(y * step2, x * step2) for y in range(-radius, radius + 1) for x in range(-radius, radius + 1)]
    out = torch.zeros(len(a), len(moves), len(ys), len(xs), dtype=a.dtype)
    near = size // 2
    for (i, y), (j, x), (q, (dy, dx)) in itertools.product(enumerate(ys), enumerate(xs), enumerate(moves)):
        u = a[:, :, y - near : y + near + 1, x - near : x + near + 1]
        v = b[:, :, y + dy - near : y + dy + near + 1, x + dx - near : x + dx + near + 1]
        out[:, q, i, j] = (u * v if multiply else (u - v).abs()).mean((1, 2, 3))
    return out


def crop_and_resize(data, boxes, images, size, layout, method, outside):
    out = torch.full((len(boxes), data.shape[1], *size), float(outside), dtype=torch.float64)
    last = [data.shape[2] - 1, data.shape[3] - 1]
    for b, y, x in np.ndindex(len(boxes), *size):
        at = []
        for d, k in enumerate((y, x)):
            begin, end = float(boxes[b, d]), float(boxes[b, 2 + d])
            share = k / (size[d] - 1) if size[d] > 1 else 0.5
            at.append((begin + share * (end - begin)) * last[d])
        if all(0 <= v <= n for v, n in zip(at, last, strict=True)):
            image = data[images[b]]
            near = [math.floor(v + 0.5) for v in at]
            out[b, :, y, x] = bilinear(image, *at) if method == "bilinear" else image[:, near[0], near[1]]
    return order(out, "NCHW", layout)


def dilation2d(data, weight, strides, padding, dilations):
    wide = F.pad(data, sides(padding), value=-math.inf)
    (sy, sx), (dy, dx), (kh, kw) = pair(strides), pair(dilations), weight.shape[1:]
    rows = (wide.shape[2] - dy * (kh - 1) - 1) // sy + 1
    columns = (wide.shape[3] - dx * (kw - 1) - 1) // sx + 1
    taps = [
        wide[:, :, j * dy :, k * dx :][:, :, : rows * sy : sy, : columns * sx : sx] + weight[:, j, k, None, None]
        for j, k in np.ndindex(kh, kw)
    ]
    return torch.stack(taps).amax(0)


def roi_pool(data, rois, size, scale):
    out = torch.zeros(len(rois), data.shape[1], *size, dtype=data.dtype)
    for n, (batch, *corners) in enumerate(rois.tolist()):
        x1, y1, x2, y2 = (math.copysign(math.floor(abs(c * scale) + 0.5), c) for c in corners)
        image = data[min(max(int(batch), 0), len(data) - 1)]
        for i, j in np.ndindex(*size):
            ranges = []
            for k, begin, end, extent in ((0, y1, y2, data.shape[2]), (1, x1, x2, data.shape[3])):
                length, cell = max(end - begin + 1, 1), (i, j)[k]
                first = begin + cell * length // size[k]
                behind = begin - (-(cell + 1) * length // size[k])
                ranges.append((int(min(max(first, 0), extent)), int(min(max(behind, 0), extent))))
            (top, bottom), (left, right) = ranges
            if top < bottom and left < right:
                out[n, :, i, j] = image[:, top:bottom, left:right].amax((1, 2))
    return out


def multibox_prior(data, sizes, ratios, steps, offsets, clip):
    height, width = data.shape[2:]
    steps = [s if s > 0 else 1 / n for s, n in zip(steps, (height, width), strict=True)]
    shapes = [(s * height / width / 2, s / 2) for s in sizes]
    shapes += [(sizes[0] * height / width * r**0.5 / 2, sizes[0] / r**0.5 / 2) for r in ratios[1:]]
    boxes = []
    for y, x in np.ndindex(height, width):
        cy, cx = (y + offsets[0]) * steps[0], (x + offsets[1]) * steps[1]
        boxes += [(cx - w, cy - h, cx + w, cy + h) for w, h in shapes]
    out = torch.tensor([boxes], dtype=torch.float64)
    return out.clamp(0, 1) if clip else out
