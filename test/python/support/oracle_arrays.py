"""More helpers of the operators' oracles: sparse matrices, packed bits, boxes, arrays in blocks."""

import math
import re

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812


def pair(v, n=2):
    """Expands to one value per axis."""
    return list(v) * n if len(v) == 1 else list(v)


def sides(padding, n=2):
    """Relay's padding (befores, then afters) in the form of F.pad: from the last axis, (before, after)."""
    full = {1: list(padding) * 2 * n, n: list(padding) * 2, 2 * n: list(padding)}[len(padding)]
    return [full[d + s * n] for d in reversed(range(n)) for s in range(2)]


def along(values, axis, rank):
    """A vector as a tensor of `rank` axes that runs along one of them."""
    shape = [1] * rank
    shape[axis] = -1
    return values.reshape(shape)


def order(x, old, new):
    """x with its axes in another order: order(x, "NHWC", "NCHW"); of either they may be in blocks, "NCHW4c"."""
    if re.search(r"\d", old + new):
        return layout_transform(x, old, new)
    return x.permute([old.index(letter) for letter in new])


def layout_axes(layout):
    """[("C", 0), ("c", 8)] of "C8c"."""
    return [(letter, int(size or 0)) for size, letter in re.findall(r"(\d*)([A-Za-z])", layout)]


def layout_transform(data, source, target):
    """By way of the plain layout."""
    axes, wanted = layout_axes(source), layout_axes(target)
    letters = [letter for letter, _ in axes if letter.isupper()]
    names = [letter for letter, _ in axes]
    by_letter = [k for x in letters for k in (x, x.lower()) if k in names]
    plain = data.permute([names.index(k) for k in by_letter])
    sizes = {k: n for k, n in zip(by_letter, plain.shape, strict=True)}
    plain = plain.reshape([sizes[x] * sizes.get(x.lower(), 1) for x in letters])
    split, names = [], []
    for d, x in enumerate(letters):
        block = dict(wanted).get(x.lower(), 0)
        plain = F.pad(plain, (*[0] * 2 * (plain.ndim - 1 - d), 0, -plain.shape[d] % max(block, 1)))
        split += [plain.shape[d] // block, block] if block else [plain.shape[d]]
        names += [x, x.lower()] if block else [x]
    return plain.reshape(split).permute([names.index(k) for k, _ in wanted])


def from_csr(data, indices, pointers, columns):
    """The dense matrix; values in no column, or in several rows, follow the formula."""
    rows = len(pointers) - 1
    h, w = data.shape[1:] if data.ndim == 3 else (1, 1)
    out = torch.zeros(rows * h, columns, dtype=data.dtype)
    for r in range(rows):
        for k in range(max(int(pointers[r]), 0), min(int(pointers[r + 1]), len(data))):
            for y in range(h):
                for x in range(w):
                    if 0 <= (column := int(indices[k]) * w + x) < columns:
                        out[r * h + y, column] += data[k, y, x] if data.ndim == 3 else data[k]
    return out


def csr_transpose(data, indices, pointers):
    order = sorted(range(len(data)), key=lambda k: (int(indices[k]), k))
    rows = [sum(int(end) <= k for end in pointers[1:]) for k in order]
    ends = [sum(int(column) < r for column in indices) for r in range(len(pointers))]
    return data[order], np.array(rows), np.array(ends)


def sparse_conv2d(data, values, indices, pointers, layout, size):
    images = data if layout == "NHWC" else data.permute(0, 2, 3, 1)
    kh, kw = size
    weight = from_csr(values, indices, pointers, kh * kw * images.shape[3])
    weight = weight.reshape(-1, kh, kw, images.shape[3]).permute(0, 3, 1, 2)
    out = F.conv2d(images.permute(0, 3, 1, 2), weight)
    return out.permute(0, 2, 3, 1) if layout == "NHWC" else out


def fill_empty_rows(indices, values, shape, default):
    rows = int(shape[0])
    entries = [(tuple(map(int, i)), v) for i, v in zip(indices, values, strict=True) if 0 <= int(i[0]) < rows]
    taken = {i[0] for i, _ in entries}
    entries += [((r, *[0] * (len(shape) - 1)), default) for r in range(rows) if r not in taken]
    entries.sort(key=lambda entry: entry[0][0])
    places = np.array([i for i, _ in entries], indices.numpy().dtype).reshape(-1, len(shape))
    return places, np.array([v.item() for _, v in entries]), np.array([r not in taken for r in range(rows)])


def sparse_reshape(indices, before, after):
    before, after = before.tolist(), after.tolist()
    if -1 in after:
        after[after.index(-1)] = math.prod(before) // -math.prod(after)
    flat = np.ravel_multi_index(indices.numpy().T, before)
    return np.stack(np.unravel_index(flat, after), -1).reshape(len(indices), len(after)), np.array(after)


def bitpack(data, bits, pack_axis, bit_axis, word):
    width = np.iinfo(word).bits
    bit_axis %= data.ndim + 1
    elements = np.moveaxis(data.numpy(), pack_axis, -1)
    elements = elements.reshape(*elements.shape[:-1], -1, width).astype("uint64")
    packed = []
    for bit in range(bits):
        ones = (elements >> np.uint64(bit)) & np.uint64(1)
        packed.append((ones << np.arange(width - 1, -1, -1, dtype="uint64")).sum(-1).astype(word))
    return np.stack([np.moveaxis(p, -1, pack_axis) for p in packed], bit_axis)


def bits_of(data, bits, unipolar):
    value = (data.long() & (2**bits - 1)).double()
    return 2 * value - (2**bits - 1) if unipolar else value


def valid_counts(data, threshold, id_index, score_index):
    counts, boxes = [], torch.full_like(data, -1)
    places = -torch.ones(data.shape[:2], dtype=torch.int64)
    for b, rows in enumerate(data):
        good = [
            k for k, row in enumerate(rows) if row[score_index] > threshold and (id_index < 0 or row[id_index] >= 0)
        ]
        boxes[b, : len(good)], places[b, : len(good)] = rows[good], torch.tensor(good, dtype=torch.int64)
        counts.append(len(good))
    return np.array(counts), boxes, places


def _overlap(a, b, unit=0):
    """Intersection over union of two boxes, each two opposite corners."""
    (a_low, a_high), (b_low, b_high) = ((np.minimum(x[:2], x[2:]), np.maximum(x[:2], x[2:])) for x in (a, b))
    both = np.prod(np.clip(np.minimum(a_high, b_high) - np.maximum(a_low, b_low) + unit, 0, None))
    return both / (np.prod(a_high - a_low + unit) + np.prod(b_high - b_low + unit) - both)


def non_max_suppression(
    data, counts, indices, limit, threshold, force, top_k, coord, score, class_id, return_indices, to_bottom
):
    data, indices, limit, threshold = np.asarray(data), np.asarray(indices), int(limit), float(threshold)
    boxes, places, many = -np.ones_like(data), -np.ones(indices.shape, np.int32), []
    for b, rows in enumerate(data):
        order = range(int(counts[b]))
        if threshold > 0:
            order = sorted(order, key=lambda k: -rows[k, score])[: top_k if top_k > 0 else None]
        kept, rivals = [], []
        for rank, k in enumerate(order):
            counted = threshold > 0 and rows[k, score] > 0
            if threshold > 0 and len(rivals) == limit:
                break
            against = [
                r
                for r in rivals
                if class_id < 0 or (rows[r, class_id] >= 0 and (force or rows[r, class_id] == rows[k, class_id]))
            ]
            corners = slice(coord, coord + 4)
            if counted and any(_overlap(rows[k, corners], rows[r, corners]) >= threshold for r in against):
                continue
            rivals += [k] if counted else []
            boxes[b, len(kept) if to_bottom else rank] = rows[k]
            kept.append(k)
        places[b, : len(kept)] = indices[b, kept]
        many.append([len(kept)])
    return (places, np.array(many)) if return_indices else boxes


def all_class_non_max_suppression(boxes, scores, limit, threshold, least, output_format):
    boxes, scores = np.asarray(boxes), np.asarray(scores)
    batch, classes, n = scores.shape
    found = [[] for _ in range(batch)]
    for b, c in np.ndindex(batch, classes):
        kept = []
        for k in sorted(np.flatnonzero(scores[b, c] > float(least)), key=lambda k: -scores[b, c, k]):
            if len(kept) != int(limit) and all(_overlap(boxes[b, k], boxes[b, r]) < float(threshold) for r in kept):
                kept.append(k)
        found[b] += [(c, k) for k in kept]
    if output_format == "onnx":
        rows = [(b, *pair) for b in range(batch) for pair in found[b]]
        places = np.zeros((batch * classes * n, 3), np.int64)
        places[: len(rows)] = np.array(rows).reshape(-1, 3)
        return places, np.array([len(rows)])
    places, best = np.zeros((batch, classes * n, 2), np.int64), np.zeros((batch, classes * n))
    for b, pairs in enumerate(found):
        for i, (c, k) in enumerate(pairs):
            places[b, i], best[b, i] = (c, k), scores[b, c, k]
    return places, best, np.array([len(pairs) for pairs in found])


def regular_non_max_suppression(boxes, scores, per_class, limit, classes, threshold, least):
    boxes, scores = np.asarray(boxes), np.asarray(scores)
    first = scores.shape[2] - classes
    found = np.zeros((len(boxes), limit, 6))
    many = np.zeros(len(boxes), np.int32)
    for b in range(len(boxes)):
        rows = []
        for c in range(classes):
            own, kept = scores[b, :, c + first], []
            for k in sorted(np.flatnonzero(own >= least), key=lambda k: -own[k]):
                if len(kept) < per_class and all(_overlap(boxes[b, k], boxes[b, r]) <= threshold for r in kept):
                    kept.append(k)
            rows += [(*boxes[b, k], c, own[k]) for k in kept]
        rows = sorted(rows, key=lambda row: -row[5])[:limit]
        many[b] = len(rows)
        found[b, : len(rows)] = np.array(rows).reshape(-1, 6)
    return found[:, :, :4], found[:, :, 4], found[:, :, 5], many


def _anchor(ratio, scale, base):
    """(x1, y1, x2, y2) of an anchor at the first pixel; sizes are whole numbers before they are scaled."""
    width = math.floor(math.sqrt(math.floor(base * base / ratio)) + 0.5)
    half = np.array([width * scale - 1, math.floor(width * ratio + 0.5) * scale - 1]) / 2
    return np.concatenate([(base - 1) / 2 - half, (base - 1) / 2 + half])


def proposal(scores, deltas, info, scales, ratios, stride, threshold, before, after, least, by_corners):
    scores, deltas, info = (np.asarray(x, np.float64) for x in (scores, deltas, info))
    anchors = [_anchor(ratio, scale, stride) for ratio in ratios for scale in scales]
    found = []
    for b, (image_height, image_width, image_scale) in enumerate(info):
        boxes, ranks = [], []
        for y, x, k in np.ndindex(*scores.shape[2:], len(anchors)):
            box, d = anchors[k] + np.array([x, y, x, y]) * stride, deltas[b, 4 * k : 4 * k + 4, y, x]
            if by_corners:
                box = box + d
            else:
                size, centre = box[2:] - box[:2] + 1, (box[:2] + box[2:]) / 2
                centre, half = d[:2] * size + centre, (np.exp(d[2:]) * size - 1) / 2
                box = np.concatenate([centre - half, centre + half])
            box = np.clip(np.minimum(box, np.array([image_width, image_height] * 2) - 1), 0, None)
            score = scores[b, len(anchors) + k, y, x]
            if y >= int(image_height / stride) or x >= int(image_width / stride):
                score = -1
            if min(box[2:] - box[:2] + 1) < image_scale * least:
                box, score = box + np.array([-1, -1, 1, 1]) * image_scale * least / 2, -1
            boxes.append(box), ranks.append(score)
        kept = []
        for k in sorted(range(len(boxes)), key=lambda k: -ranks[k])[: before if before > 0 else None]:
            if all(_overlap(boxes[k], boxes[r], 1) <= threshold for r in kept):
                kept.append(k)
        found += [[b, *boxes[kept[i % len(kept)]]] for i in range(after)]
    return np.array(found)


def transform_loc(scores, predicted, anchors, clip, threshold, variances, background):
    first = 0 if background else 1
    boxes = -torch.ones(scores.shape[0], scores.shape[2], 6, dtype=scores.dtype)
    counts = []
    for b in range(len(scores)):
        best, which = scores[b, first:].max(0)
        good = torch.nonzero(best >= threshold).flatten()
        anchor, moved = anchors[0], predicted[b].reshape(-1, 4) * torch.tensor(variances)
        extent, centre = anchor[:, 2:] - anchor[:, :2], (anchor[:, 2:] + anchor[:, :2]) / 2
        centre, reach = moved[:, :2] * extent + centre, torch.exp(moved[:, 2:]) * extent / 2
        corners = torch.cat([centre - reach, centre + reach], 1)
        corners = corners.clamp(0, 1) if clip else corners
        rows = torch.cat([which[:, None].to(scores.dtype), best[:, None], corners], 1)
        boxes[b, : len(good)] = rows[good]
        counts.append(len(good))
    return boxes, np.array(counts)


def yolo_reorg(data, s):
    n, c, h, w = data.shape
    wide = data.reshape(n, c // s**2, h, s, w, s)
    moved = wide.permute(0, 3, 5, 1, 2, 4).reshape(n, c, h, w)
    return moved.reshape(n, c * s**2, h // s, w // s)


def blocked_conv2d(data, weight, strides, padding, dilation, groups):
    """Channels in blocks: (N, C / c, H, W, c) and (O / o, C / c, KH, KW, c, o)."""
    plain = data.permute(0, 1, 4, 2, 3).flatten(1, 2)
    kernel = weight.permute(0, 5, 1, 4, 2, 3).flatten(2, 3).flatten(0, 1)
    full = {1: list(padding) * 4, 2: list(padding) * 2, 4: list(padding)}[len(padding)]
    plain = F.pad(plain, (full[1], full[3], full[0], full[2]))
    out = F.conv2d(plain, kernel, stride=tuple(strides), dilation=tuple(dilation), groups=groups)
    return out.unflatten(1, (-1, weight.shape[5])).permute(0, 1, 3, 4, 2)


def toom_cook(m, r):
    """The matrices of a tile of m outputs and r taps, for the weight, the data and the outputs: from what polynomials
    are at points, whose inverse gives the data's."""
    n = m + r - 1
    at = np.array([0, 1, -1, 2, -2, 1 / 2, -1 / 2, 3, -3, 1 / 3, -1 / 3][: n - 1])
    values = np.vstack([np.vander(at, n, increasing=True), np.eye(n)[-1]])
    scale = np.append([np.prod(np.delete(at[i] - at, i)) for i in range(n - 1)], 1)[:, None]

    def evaluation(terms):
        return np.vstack([np.vander(at, terms, increasing=True), np.eye(terms)[-1]])

    return evaluation(r) / scale, np.linalg.inv(values).T * scale, evaluation(m).T


def winograd_weight(weight, m):
    axes = range(2, weight.ndim)
    plain = weight.ndim == 5 and not 2 < weight.shape[2] < 8
    out = weight.numpy()
    for d in axes[1:] if plain else axes:
        out = np.moveaxis(np.tensordot(toom_cook(m, weight.shape[d])[0], out, (1, d)), 0, d)
    order = [3, 4, 2, 0, 1] if plain else [*axes, 0, 1]
    return torch.as_tensor(out.transpose(order))


def winograd_conv(data, weight, m, padding, kernel):
    axes = data.ndim - 2
    plain = axes == 3 and not 2 < kernel[0] < 8
    taps = list(kernel) if kernel else [n - m + 1 for n in weight.shape[:axes]]
    # With the transformed axes in front of the plain one, as in the weight: (O, C, n.., KD).
    factors = weight.permute(axes, axes + 1, *range(axes)).numpy()
    factors = np.moveaxis(factors, -1, 2) if plain else factors
    sides = padding * axes if len(padding) == 1 else padding
    sides = sides * 2 if len(sides) == axes else sides
    edges = [(0, 0), (0, 0), *zip(sides[:axes], sides[axes:], strict=True)]
    images = np.pad(data.numpy(), [(a, b + m * (k > 1)) for k, (a, b) in enumerate(edges)])
    extents = [data.shape[2 + d] + sum(edges[2 + d]) - taps[d] + 1 for d in range(axes)]
    out = np.zeros((data.shape[0], weight.shape[axes], *[n + m for n in extents]))
    steps = [1 if plain and d == 0 else m for d in range(axes)]
    for corner in np.ndindex(*[-(-n // step) for n, step in zip(extents, steps, strict=True)]):
        begin = [c * step for c, step in zip(corner, steps, strict=True)]
        tile = images[(..., *[slice(b, b + s + k - 1) for b, s, k in zip(begin, steps, taps, strict=True)])]
        for d in range(plain, axes):
            tile = np.moveaxis(np.tensordot(toom_cook(m, taps[d])[1], tile, (1, 2 + d)), 0, 2 + d)
        product = (tile[:, None] * factors).sum(2)
        product = product.sum(2, keepdims=True) if plain else product
        for d in range(plain, axes):
            product = np.moveaxis(np.tensordot(toom_cook(m, taps[d])[2], product, (1, 2 + d)), 0, 2 + d)
        out[(..., *[slice(b, b + s) for b, s in zip(begin, steps, strict=True)])] = product
    return out[(..., *[slice(n) for n in extents])]


def gemm_weight(weight, tile_n, tile_k):
    matrix = weight.reshape(-1, weight.shape[3])
    matrix = F.pad(matrix, (0, -matrix.shape[1] % tile_n, 0, -matrix.shape[0] % tile_k))
    return matrix.reshape(matrix.shape[0] // tile_k, tile_k, -1, tile_n).permute(2, 0, 3, 1)


def gemm_conv(data, tiles, channels, kernel, strides, padding, dilation):
    matrix = tiles.permute(1, 3, 0, 2).reshape(tiles.shape[1] * tiles.shape[3], -1)
    weight = matrix[: kernel[0] * kernel[1] * data.shape[3], :channels].reshape(*kernel, data.shape[3], channels)
    images = F.pad(data.permute(0, 3, 1, 2), (padding[1], padding[1], padding[0], padding[0]))
    out = F.conv2d(images.double(), weight.permute(3, 2, 0, 1).double(), stride=strides, dilation=dilation)
    return out.permute(0, 2, 3, 1)
