"""Operators that gather rows, add them up by segment, or select boxes; random bits; volumes."""

import numpy as np
from lite_cases import CASES, Case, case, floats, i32, one, with_constants
from writer import SAME, VALID

IDS = i32(0, 2, 1, 2, -1, 0)


def segments(name, start, combine, dtype="float32"):
    def expect(x):
        out = np.full([4, 5], start, x.dtype)
        for row, k in zip(x, IDS, strict=True):
            if k >= 0:
                out[k] = combine(out[k], row)
        return out

    with_constants(
        name, [6, 5], [IDS, i32(4)[0]], [[4, 5]], expect, dtype=dtype, exact=False, name=f"{name} {dtype}", high=5
    )


LIMITS = {"float32": (np.finfo(np.float32).min, np.finfo(np.float32).max), "int32": (-(2**31), 2**31 - 1)}
for kind in ("float32", "int32"):
    segments("UNSORTED_SEGMENT_SUM", 0, np.add, kind)
    segments("UNSORTED_SEGMENT_PROD", 1, np.multiply, kind)
    segments("UNSORTED_SEGMENT_MAX", LIMITS[kind][0], np.maximum, kind)
    segments("UNSORTED_SEGMENT_MIN", LIMITS[kind][1], np.minimum, kind)


def _segment_sum(x):
    return np.stack([x[0] + x[1], x[2], x[3] + x[4] + x[5]])


with_constants("SEGMENT_SUM", [6, 5], [i32(0, 0, 1, 2, 2, 2)], [[3, 5]], _segment_sum, exact=False)


def _sparse_embedding(combiner):
    places = i32([0, 0], [0, 2], [2, 1], [2, 2], [2, 3])

    def build(model, rng):
        ids = model.constant("ids", i32(1, 3, 0, 1, 3))
        at, shape = model.constant("places", places), model.constant("shape", i32(3, 4))
        weights, table = model.input("w", [5]), model.input("table", [4, 3, 2])
        y = model.tensor("y", [3, 3, 2])
        model.outputs(model.op("EMBEDDING_LOOKUP_SPARSE", [ids, at, shape, weights, table], [y], combiner=combiner))
        return [floats(rng, [5], 0.2, 2), floats(rng, [4, 3, 2])]

    def expect(w, table):
        out, total = np.zeros([3, 3, 2]), np.zeros(3)
        for i, k in enumerate((1, 3, 0, 1, 3)):
            row = places[i][0]
            out[row] += w[i] * table[k]
            total[row] += w[i] ** combiner if combiner else 0
        divisor = total if combiner == 1 else np.sqrt(total)
        return (out / np.where(divisor == 0, 1, divisor)[:, None, None]).astype(np.float32)

    case(f"EMBEDDING_LOOKUP_SPARSE {combiner}", build, expect)


for number in range(3):
    _sparse_embedding(number)


def _table(model, rng):
    keys = model.constant("keys", i32(-3, 5, 9, 40))
    wanted, rows = model.input("k", [6], "int32"), model.input("rows", [4, 3])
    y, hits = model.tensor("y", [6, 3]), model.tensor("hits", [6], "uint8")
    model.outputs(*model.op("HASHTABLE_LOOKUP", [wanted, keys, rows], [y, hits]))
    return [i32(5, 41, -3, 0, 40, -9), floats(rng, [4, 3])]


def _looked_up(k, rows):
    found = {-3: 0, 5: 1, 9: 2, 40: 3}
    hits = np.array([key in found for key in k.tolist()])
    return np.stack([rows[found[key]] if key in found else 0 * rows[0] for key in k.tolist()]), hits.astype(np.uint8)


case("HASHTABLE_LOOKUP", _table, _looked_up, exact=True)


def _to_dense(model, rng):
    places, shape = model.constant("at", i32([0, 1], [2, 0], [2, 3])), model.constant("shape", i32(3, 4))
    values, other = model.input("v", [3]), model.constant("other", np.float32(-1))
    y = model.tensor("y", [3, 4])
    model.outputs(model.op("SPARSE_TO_DENSE", [places, shape, values, other], [y]))
    return [floats(rng, [3])]


def _dense(v):
    out = np.full([3, 4], -1, np.float32)
    out[[0, 2, 2], [1, 0, 3]] = v
    return out


case("SPARSE_TO_DENSE", _to_dense, _dense, exact=True)


def _unique(model, rng):
    x = model.input("x", [9], "int32")
    y = [model.tensor("y", [4], "int32", signature=[-1]), model.tensor("places", [9], "int32")]
    model.outputs(*model.op("UNIQUE", [x], y, idx_out_type=2))
    return [i32(7, 2, 7, 9, 2, 2, 1, 9, 7)]


case("UNIQUE", _unique, lambda x: (i32(7, 2, 9, 1), i32(0, 1, 0, 2, 1, 1, 3, 2, 0)), exact=True)
for kind in ("float32", "int32"):
    one("BUCKETIZE", [[3, 7]], [3, 7], lambda x: np.digitize(x, [-1.5, 0, 1]).astype(np.int32), dtype=kind, exact=True,
        result_type="int32", low=-3, high=3, boundaries=[-1.5, 0, 1], name=f"BUCKETIZE {kind}")  # fmt: skip
one("BITCAST", [[3, 4]], [3, 4], lambda x: x.view(np.int32), result_type="int32", exact=True)
one("BITCAST", [[3, 4]], [3, 4, 4], lambda x: x.view(np.uint8).reshape(3, 4, 4), result_type="uint8", exact=True,
    name="BITCAST to parts")  # fmt: skip
one("BITCAST", [[3, 4]], [3], lambda x: x.view(np.int32).reshape(3), dtype="int8", low=-128, high=127,
    result_type="int32", exact=True, name="BITCAST of parts")  # fmt: skip


def _broadcast_args(model, rng):
    a, b = model.input("a", [4], "int32"), model.constant("b", i32(3, 1))
    model.outputs(model.op("BROADCAST_ARGS", [a, b], [model.tensor("y", [4], "int32")]))
    return [i32(2, 1, 1, 5)]


case("BROADCAST_ARGS", _broadcast_args, lambda a: i32(2, 1, 3, 5), exact=True)


def _fake_quant(low, high):
    scale = np.float32(high - low) / np.float32(255)
    first = -np.round(-np.float32(low) / scale) * scale

    def expect(x):
        steps = (np.clip(x, first, first + 255 * scale) - first) * (np.float32(1) / scale)
        return np.floor(steps + np.float32(0.5)) * scale + first

    one(
        "FAKE_QUANT",
        [[9, 11]],
        [9, 11],
        expect,
        min=low,
        max=high,
        num_bits=8,
        low=-3,
        high=3,
        name=f"FAKE_QUANT {low}",
    )


_fake_quant(-1.2, 2.1)
_fake_quant(0.0, 1.7)

# --- boxes -----------------------------------------------------------------------------------------------------------


def _kept(boxes, scores, most, widest, least, sigma):
    left = np.where(scores > least, scores, -np.inf).astype(np.float64)
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    area = (high - low).prod(1)
    places, values = np.zeros(most, np.int32), np.zeros(most, np.float32)
    count = 0
    while count < most and left.max() > least:
        k = int(left.argmax())
        places[count], values[count] = k, left[k]
        count += 1
        both = np.maximum(np.minimum(high, high[k]) - np.maximum(low, low[k]), 0).prod(1)
        shared = both / (area + area[k] - both)
        if sigma:
            left = left * np.exp(-0.5 / sigma * shared**2)
        left = np.where((shared >= widest) | (np.arange(len(left)) == k) | (left <= least), -np.inf, left)
    return places, values, count


def _boxes(op, sigma, widest):
    def build(model, rng):
        boxes, scores = model.input("boxes", [40, 4]), model.input("scores", [40])
        numbers = [model.constant("most", np.int32(12)), model.constant("iou", np.float32(widest)),
                   model.constant("least", np.float32(0.2))]  # fmt: skip
        if op.endswith("5"):
            numbers.append(model.constant("sigma", np.float32(sigma)))
        results = [model.tensor("places", [12], "int32"), model.tensor("values", [12]), model.tensor("n", [], "int32")]
        if op.endswith("4"):
            results.pop(1)
        model.outputs(*model.op(op, [boxes, scores, *numbers], results))
        at, size = floats(rng, [40, 2], 0, 1), floats(rng, [40, 2], 0.1, 0.6)
        both = np.concatenate([at, at + size], 1)
        both[::3] = both[::3][:, [2, 3, 0, 1]]  # the corners in the other order
        return [both, floats(rng, [40], 0, 1)]

    def expect(boxes, scores):
        places, values, count = _kept(boxes, scores, 12, widest, np.float32(0.2), sigma)
        return (places, np.int32(count)) if op.endswith("4") else (places, values, np.int32(count))

    case(f"{op} {sigma}", build, expect)


_boxes("NON_MAX_SUPPRESSION_V4", 0.0, 0.4)
_boxes("NON_MAX_SUPPRESSION_V5", 0.0, 0.4)
_boxes("NON_MAX_SUPPRESSION_V5", 0.5, 0.8)

# --- volumes ---------------------------------------------------------------------------------------------------------


def _volume(op, padding, shape, filter_shape, result, stride, activation=0):
    steps = dict(zip(("stride_d", "stride_h", "stride_w"), stride, strict=True))

    def build(model, rng):
        x, w = model.input("x", shape), model.constant("w", floats(rng, filter_shape))
        inputs = [x, w, model.constant("b", floats(rng, [result[-1]]))]
        if op.endswith("TRANSPOSE"):
            inputs = [model.constant("shape", i32(*result)), w, x, inputs[2]]
        y = model.tensor("y", result)
        model.outputs(model.op(op, inputs, [y], padding=padding, fused_activation_function=activation, **steps))
        return [floats(rng, shape)]

    CASES.append(Case(f"{op} {padding} {stride}", build, None))


_volume("CONV_3D", SAME, [1, 5, 6, 7, 3], [3, 3, 2, 3, 4], [1, 5, 6, 7, 4], (1, 1, 1))
_volume("CONV_3D", VALID, [2, 5, 6, 7, 3], [3, 2, 2, 3, 4], [2, 2, 3, 2, 4], (2, 2, 3), 1)
_volume("CONV_3D_TRANSPOSE", SAME, [1, 3, 4, 3, 3], [3, 3, 2, 4, 3], [1, 6, 8, 6, 4], (2, 2, 2))
_volume("CONV_3D_TRANSPOSE", VALID, [1, 3, 4, 3, 3], [3, 3, 2, 4, 3], [1, 7, 9, 6, 4], (2, 2, 2))

# --- StableHLO -------------------------------------------------------------------------------------------------------

for op, f in {"ADD": np.add, "MULTIPLY": np.multiply, "MAXIMUM": np.maximum, "MINIMUM": np.minimum}.items():
    one(f"STABLEHLO_{op}", [[3, 4], [3, 4]], [3, 4], f)
one("STABLEHLO_SHIFT_LEFT", [[40], [40]], [40], np.left_shift, dtype="int32", low=0, high=9, exact=True)
one("STABLEHLO_AND", [[40], [40]], [40], np.bitwise_and, dtype="int32", low=-99, high=99, exact=True)


def _spread(x, between, low, high, value):
    out = np.full([(n - 1) * (k + 1) + 1 for n, k in zip(x.shape, between, strict=True)], value, x.dtype)
    out[tuple(slice(None, None, k + 1) for k in between)] = x
    width = [(max(a, 0), max(b, 0)) for a, b in zip(low, high, strict=True)]
    out = np.pad(out, width, constant_values=value)
    return out[tuple(slice(max(-a, 0), n - max(-b, 0)) for a, b, n in zip(low, high, out.shape, strict=True))]


for between, low, high, result in (
    ([1, 2], [0, 0], [0, 0], [5, 10]),
    ([0, 0], [1, 0], [2, 1], [6, 5]),
    ([1, 0], [-1, 2], [1, -1], [5, 5]),
):
    with_constants("STABLEHLO_PAD", [3, 4], [np.float32(-1)], [result],
                   lambda x, b=between, lo=low, hi=high: _spread(x, b, lo, hi, -1), edge_padding_low=low,
                   edge_padding_high=high, interior_padding=between, name=f"STABLEHLO_PAD {between} {low}")  # fmt: skip
with_constants(
    "DILATE", [3, 4], [i32(2, 3), np.float32(-1)], [[5, 10]], lambda x: _spread(x, [1, 2], [0, 0], [0, 0], -1)
)


def _windows(x, f, start, window, strides, dilations):
    for axis in range(x.ndim):
        reach = (window[axis] - 1) * dilations[axis] + 1
        rows = [np.take(x, np.arange(k, k + reach, dilations[axis]), axis)
                for k in range(0, x.shape[axis] - reach + 1, strides[axis])]  # fmt: skip
        x = np.stack([f.reduce(row, axis) for row in rows], axis)
    return f(x, x.dtype.type(start))


for number, f in ((1, np.add), (2, np.multiply), (3, np.minimum), (4, np.maximum)):
    with_constants("REDUCE_WINDOW", [5, 8], [np.float32(0.5), *(np.array(v) for v in ([2, 3], [2, 1], [1, 2]))],
                   [[2, 4]], lambda x, f=f: _windows(x, f, 0.5, [2, 3], [2, 1], [1, 2]), reduce_function=number,
                   exact=False, name=f"REDUCE_WINDOW {number}")  # fmt: skip


def _hlo_window(inner, f, start):
    def build(model, rng):
        number, body = model.subgraph()
        inputs = [body.input("a", []), body.input("b", [])]
        body.outputs(body.op(inner, inputs, [body.tensor("c", [])]))
        x, first = model.input("x", [5, 8]), model.constant("first", np.float32(start))
        y = model.tensor("y", [6, 12])
        options = {"window_dimensions": [2, 3], "window_strides": [1, 1], "base_dilations": [1, 2],
                   "window_dilations": [1, 2], "padding": [1, 1, 0, 1], "body_subgraph_index": number}  # fmt: skip
        model.outputs(model.op("STABLEHLO_REDUCE_WINDOW", [x, first], [y], **options))
        return [floats(rng, [5, 8])]

    def expect(x):
        return _windows(_spread(x, [0, 1], [1, 0], [1, 1], start), f, start, [2, 3], [1, 1], [1, 2])

    case(f"STABLEHLO_REDUCE_WINDOW {inner}", build, expect)


_hlo_window("STABLEHLO_ADD", np.add, 0)
_hlo_window("STABLEHLO_MAXIMUM", np.maximum, -3)


def _branches(model, rng):
    numbers = []
    for op in ("NEG", "EXP", "ABS"):
        number, branch = model.subgraph()
        branch.outputs(branch.op(op, [branch.input("x", [3])], [branch.tensor("y", [3])]))
        numbers.append(number)
    k, x = model.input("k", [], "int32"), model.input("x", [3])
    model.outputs(model.op("STABLEHLO_CASE", [k, x], [model.tensor("y", [3])], branch_subgraph_indices=numbers))
    return [np.int32(1), floats(rng, [3])]


case("STABLEHLO_CASE", _branches, lambda k, x: np.exp(x))


def _composite(model, rng):
    number, inner = model.subgraph()
    x = inner.input("x", [3])
    inner.outputs(inner.op("MUL", [x, inner.op("EXP", [x], [inner.tensor("e", [3])])], [inner.tensor("y", [3])]))
    x = model.input("x", [3])
    empty = b"\x00\x00\x01\x00\x00$\x01"  # a FlexBuffer of no attributes
    options = {"name": "my.swish", "decomposition_subgraph_index": number, "composite_attributes": empty}
    model.outputs(model.op("STABLEHLO_COMPOSITE", [x], [model.tensor("y", [3])], **options))
    return [floats(rng, [3])]


case("STABLEHLO_COMPOSITE", _composite, lambda x: x * np.exp(x))
