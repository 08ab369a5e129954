"""Windows at places that are data, tables that look up texts, and detections of boxes."""

import numpy as np
from lite_cases import case, floats, i32
from writer import flexible, texts


# --- gather and scatter -----------------------------------------------------------------------------------------------
def _gather(name, shape, places, result, take, **options):
    def build(model, rng):
        x, at = model.input("x", shape), model.constant("places", places)
        model.outputs(model.op("STABLEHLO_GATHER", [x, at], [model.tensor("y", result)], **options))
        return [floats(rng, shape)]

    case(f"STABLEHLO_GATHER {name}", build, take, exact=True)


_gather(
    "rows", [5, 3], i32([4], [0], [9], [-2]), [4, 3], lambda x: x[[4, 0, 4, 0]],
    offset_dims=[1], collapsed_slice_dims=[0], start_index_map=[0], index_vector_dim=1, slice_sizes=[1, 3],
)  # fmt: skip
# The numbers of each place are those of axes 1, 0 and 2.
_gather(
    "windows", [4, 5, 2], i32([0, 1, 0], [2, 0, 1]), [2, 3, 2],
    lambda x: np.stack([x[1:3, 0:3, 0], x[0:2, 2:5, 1]], axis=2),
    offset_dims=[0, 1], collapsed_slice_dims=[2], start_index_map=[1, 0, 2], index_vector_dim=1, slice_sizes=[2, 3, 1],
)  # fmt: skip


def _scatter(name, inner, expect):
    """Updates (3, 2) of rows of (4, 3), from their second column on; the last one is partly outside."""

    def build(model, rng):
        number, body = model.subgraph()
        a, b = body.input("a", []), body.input("b", [])
        body.outputs(body.op(inner, [a, b], [body.tensor("c", [])]) if inner else b)
        x, updates = model.input("x", [4, 3]), model.input("u", [3, 2])
        at = model.constant("places", i32([1, 1], [0, 0], [1, 2]))
        options = {"update_window_dims": [1], "inserted_window_dims": [0], "scatter_dims_to_operand_dims": [0, 1],
                   "index_vector_dim": 1, "update_computation_subgraph_index": number}  # fmt: skip
        y = model.tensor("y", [4, 3])
        model.outputs(model.op("STABLEHLO_SCATTER", [x, at, updates], [y], **options))
        return [floats(rng, [4, 3]), floats(rng, [3, 2])]

    def derived(x, u):
        y = x.copy()
        for (row, column), update in zip(((1, 1), (0, 0), (1, 2)), u, strict=True):
            for step in range(2):
                if column + step < 3:
                    y[row, column + step] = expect(y[row, column + step], update[step])
        return y

    case(f"STABLEHLO_SCATTER {name}", build, derived)


_scatter("update", None, lambda a, b: b)
_scatter("add", "STABLEHLO_ADD", np.add)
_scatter("multiply", "STABLEHLO_MULTIPLY", np.multiply)
_scatter("maximum", "STABLEHLO_MAXIMUM", np.maximum)
_scatter("minimum", "STABLEHLO_MINIMUM", np.minimum)


# --- tables -----------------------------------------------------------------------------------------------------------
WORDS, NUMBERS = ("red", "green", "blue", "green"), np.int64([7, -2, 5, 9])  # of equal keys the first counts
_TEXT, _INT64 = 5, 4


def _table(model, keys, values, kinds):
    """Fills a table in the subgraph that runs once, and returns its handle in the main one."""
    number, first = model.subgraph()
    options = {"table_id": 3, "key_dtype": kinds[0], "value_dtype": kinds[1]}
    handle = first.op("HASHTABLE", [], [first.tensor("h0", [1], "resource")], **options)
    first.op("HASHTABLE_IMPORT", [handle, keys(first), values(first)], [])
    model.op("CALL_ONCE", [], [], init_subgraph_index=number)
    return model.op("HASHTABLE", [], [model.tensor("h", [1], "resource")], **options)


def _words(model):
    return model.tensor("words", [len(WORDS)], "string", data=texts(*WORDS))


def _numbers(model):
    return model.constant("numbers", NUMBERS)


def _numbers_of_texts(model, rng):
    handle = _table(model, _words, _numbers, (_TEXT, _INT64))
    x, other = model.input("x", [2, 2], "string"), model.constant("other", np.int64([-1]))
    model.outputs(model.op("HASHTABLE_FIND", [handle, x, other], [model.tensor("y", [2, 2], "int64")]))
    model.outputs(model.op("HASHTABLE_SIZE", [handle], [model.tensor("n", [1], "int64")]))
    return [np.array([["blue", "green"], ["gold", "red"]])]


def _texts_of_numbers(model, rng):
    handle = _table(model, _numbers, _words, (_INT64, _TEXT))
    x, other = model.input("x", [4], "int64"), model.tensor("other", [1], "string", data=texts("none"))
    model.outputs(model.op("HASHTABLE_FIND", [handle, x, other], [model.tensor("y", [4], "string")]))
    return [np.int64([9, 8, 7, 5])]


case("HASHTABLE numbers of texts", _numbers_of_texts, lambda x: (np.int64([[5, -2], [-1, 7]]), np.int64([3])), True)
case("HASHTABLE texts of numbers", _texts_of_numbers, lambda x: np.array(["green", "none", "red", "blue"]), True)


# --- detections -------------------------------------------------------------------------------------------------------
def boxes_of(codes, anchors):
    middle = codes[:, :2] / [10, 5] * anchors[:, 2:] + anchors[:, :2]
    half = np.exp(codes[:, 2:4] / [5, 5]) * anchors[:, 2:] / 2
    return np.concatenate([middle - half, middle + half], axis=1).astype(np.float32)


def _shared(a, b):
    sides = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0)
    common = sides[0] * sides[1]
    return common / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common)


def _chosen(boxes, scores, most):
    """The places of boxes, by falling score, that share at most 0.5 with those before them."""
    kept = []
    for i in sorted(np.flatnonzero(scores >= 0.3), key=lambda i: -scores[i]):
        if len(kept) < most and all(_shared(boxes[i], boxes[j]) <= 0.5 for j in kept):
            kept.append(i)
    return kept


def _detections(by_class, of_each, background):
    n, classes, most = 12, 3, 4
    anchors = np.stack([np.arange(n) % 4 * 0.2, np.arange(n) // 4 * 0.3, np.full(n, 0.2), np.full(n, 0.25)], axis=1)
    anchors = anchors.astype(np.float32)
    options = {"max_detections": most, "max_classes_per_detection": of_each, "num_classes": classes,
               "use_regular_nms": by_class, "nms_score_threshold": 0.3, "nms_iou_threshold": 0.5,
               "y_scale": 10.0, "x_scale": 5.0, "h_scale": 5.0, "w_scale": 5.0}  # fmt: skip

    def build(model, rng):
        codes, scores = model.input("codes", [1, n, 4]), model.input("scores", [1, n, classes + background])
        m = most * (1 if by_class else of_each)
        outs = [model.tensor(f"y{i}", shape) for i, shape in enumerate(([1, m, 4], [1, m], [1, m], [1]))]
        model.op(
            "", [codes, scores, model.constant("anchors", anchors)], outs,
            custom="TFLite_Detection_PostProcess", custom_options=flexible(options),
        )  # fmt: skip
        model.outputs(*outs)
        return [floats(rng, [1, n, 4], -2, 2), floats(rng, [1, n, classes + background], 0.25, 1)]

    def expect(codes, scores):
        boxes, scores = boxes_of(codes[0], anchors), scores[0, :, background:]
        if by_class:
            found = [(scores[i, k], i, k) for k in range(classes) for i in _chosen(boxes, scores[:, k], most)]
            rows = [(i, k) for _, i, k in sorted(found, reverse=True)[:most]]
        else:
            kept = _chosen(boxes, scores.max(axis=1), most)
            rows = [(i, k) for i in kept for k in np.argsort(-scores[i])[:of_each]]
        assert len(rows) == most * (1 if by_class else of_each)
        i, k = np.array(rows).T
        count = np.float32([most])
        return boxes[i][None], k[None].astype(np.float32), scores[i, k][None], count

    name = "by class" if by_class else f"{of_each} of each"
    case(f"TFLite_Detection_PostProcess {name}{', background' if background else ''}", build, expect)


_detections(False, 1, 1)
_detections(False, 2, 0)
_detections(True, 1, 1)
