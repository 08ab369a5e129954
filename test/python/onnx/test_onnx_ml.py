"""Operators of domain ai.onnx.ml that converters of scikit-learn and gradient boosting write, compared with ONNX
Runtime."""

import re

import numpy as np
import pytest
from programs import ROOT

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import helper  # noqa: E402

import relay  # noqa: E402

OPERATORS = re.findall(
    r"^RELAY_ONNX\((\w+),", (ROOT / "src/relay/frontend/onnx/ml/operators.def").read_text(), re.MULTILINE
)
draw = np.random.default_rng(5)


def f(*shape):
    return draw.standard_normal(shape).astype(np.float32)


def reals(count):
    return [float(v) for v in draw.standard_normal(count)]


def tree(number, depth, features, what, targets, positive=False):
    """The lists of a full binary tree with random splits; its leaves have weights for one target."""
    inner, all_nodes = 2**depth - 1, 2 ** (depth + 1) - 1
    modes = ["BRANCH_LEQ"] * inner + ["LEAF"] * (all_nodes - inner)
    weights = [abs(w) if positive else w for w in reals(all_nodes - inner)]
    return {
        "nodes_treeids": [number] * all_nodes,
        "nodes_nodeids": list(range(all_nodes)),
        "nodes_featureids": [int(draw.integers(features)) if i < inner else 0 for i in range(all_nodes)],
        "nodes_values": reals(inner) + [0.0] * (all_nodes - inner),
        "nodes_modes": modes,
        "nodes_truenodeids": [2 * i + 1 if i < inner else 0 for i in range(all_nodes)],
        "nodes_falsenodeids": [2 * i + 2 if i < inner else 0 for i in range(all_nodes)],
        "nodes_missing_value_tracks_true": [i % 2 if i < inner else 0 for i in range(all_nodes)],
        f"{what}_treeids": [number] * len(weights),
        f"{what}_nodeids": list(range(inner, all_nodes)),
        f"{what}_ids": [targets[number % len(targets)]] * len(weights),
        f"{what}_weights": weights,
    }


def forest(trees, depth, features, what="target", targets=(0,), **more):
    lists = [tree(i, depth - i % 2, features, what, targets, more.pop("positive", False)) for i in range(trees)]
    return {name: sum((one[name] for one in lists), []) for name in lists[0]} | more


def classifier(labels, targets, **more):
    return forest(5, 4, 6, "class", targets, classlabels_int64s=labels, **more)


def svm(counts, kernel, probabilities=False, **more):
    """A machine of one class for each number of support vectors."""
    classes, vectors = len(counts), sum(counts)
    pairs = classes * (classes - 1) // 2
    lists = {
        "classlabels_ints": [3, 7, 1, 4][:classes],
        "vectors_per_class": counts,
        "support_vectors": reals(6 * vectors),
        "coefficients": reals((classes - 1) * vectors),
        "rho": reals(pairs),
        "kernel_type": kernel,
        "kernel_params": [0.3, 0.5, 3.0],
    }
    if probabilities:
        lists |= {"prob_a": [-abs(v) - 0.5 for v in reals(pairs)], "prob_b": reals(pairs)}
    return lists | more


X = f(9, 6)
HOLES = np.where(draw.random((9, 6)) < 0.2, np.nan, X).astype(np.float32)
CASES = [
    ("TreeEnsembleRegressor", [X], 1, forest(7, 5, 6, n_targets=1)),
    ("TreeEnsembleRegressor", [HOLES], 1, forest(3, 4, 6, n_targets=1)),
    ("TreeEnsembleRegressor", [X], 1, forest(6, 3, 6, targets=(0, 2, 1), n_targets=3, base_values=[0.5, -1.0, 2.0])),
    ("TreeEnsembleRegressor", [X], 1, forest(4, 3, 6, n_targets=1, aggregate_function="AVERAGE")),
    ("TreeEnsembleRegressor", [X], 1, forest(4, 3, 6, n_targets=1, aggregate_function="MIN")),
    ("TreeEnsembleClassifier", [X], 2, classifier([4, 7, 9], (0, 1, 2))),
    ("TreeEnsembleClassifier", [X], 2, classifier([4, 7, 9], (0, 1, 2), post_transform="SOFTMAX")),
    ("TreeEnsembleClassifier", [X], 2, classifier([0, 1], (0,), post_transform="LOGISTIC")),
    ("TreeEnsembleClassifier", [X], 2, classifier([0, 1], (1,))),
    ("LinearRegressor", [X], 1, {"coefficients": reals(6), "intercepts": [0.5]}),
    ("LinearRegressor", [X], 1, {"coefficients": reals(12), "intercepts": reals(2), "targets": 2}),
    (
        "LinearRegressor",
        [np.abs(X) % 1],
        1,
        {"coefficients": [0.05] * 12, "intercepts": [0.3, 0.6], "targets": 2, "post_transform": "PROBIT"},
    ),
    (
        "LinearRegressor",
        [X * (X > 0)],
        1,
        {"coefficients": [0.0] * 6 + reals(12), "targets": 3, "post_transform": "SOFTMAX_ZERO"},
    ),
    *(
        (
            "LinearClassifier",
            [X],
            2,
            {
                "coefficients": reals(18),
                "intercepts": reals(3),
                "classlabels_ints": [3, 1, 2],
                "multi_class": 1,
                "post_transform": post,
            },
        )
        for post in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")
    ),
    *(
        ("SVMRegressor", [X], 1, {"kernel_type": kind, "kernel_params": [0.3, 0.5, 3.0], "n_supports": 4}
         | {"support_vectors": reals(24), "coefficients": reals(4), "rho": [0.25]})
        for kind in ("LINEAR", "POLY", "RBF", "SIGMOID")
    ),
    *(("SVMClassifier", [X], 2, svm([3, 4, 2], kind)) for kind in ("LINEAR", "POLY", "RBF", "SIGMOID")),
    *(("SVMClassifier", [X], 2, svm([3, 4], "RBF", post_transform=post)) for post in ("NONE", "LOGISTIC", "SOFTMAX")),
    ("SVMClassifier", [X], 2, svm([2, 3, 2, 1], "RBF", probabilities=True)),
    ("SVMClassifier", [X], 2, svm([2, 3], "RBF", probabilities=True)),
    ("SVMClassifier", [X], 2, svm([2, 3, 2], "LINEAR", True, post_transform="SOFTMAX")),
    ("SVMClassifier", [X], 2,
     {"classlabels_ints": [5, 2, 9], "coefficients": reals(18), "rho": [0.25],
      "kernel_type": "LINEAR", "kernel_params": [0.0] * 3}),
    ("SVMClassifier", [X], 2,
     {"classlabels_ints": [5, 2], "coefficients": reals(12), "rho": [0.25],
      "kernel_type": "LINEAR", "kernel_params": [0.0] * 3}),
    ("Scaler", [X], 1, {"offset": reals(6), "scale": reals(6)}),
    *(("Normalizer", [np.abs(X)], 1, {"norm": norm}) for norm in ("MAX", "L1", "L2")),
    ("Binarizer", [X], 1, {"threshold": 0.25}),
    ("Imputer", [HOLES], 1, {"imputed_value_floats": reals(6), "replaced_value_float": float("nan")}),
    ("Imputer", [np.arange(6).reshape(2, 3)], 1, {"imputed_value_int64s": [7], "replaced_value_int64": 4}),
    ("FeatureVectorizer", [f(3, 2), f(3, 4)], 1, {"inputdimensions": [2, 4]}),
    ("ArrayFeatureExtractor", [X, np.array([4, 0, 5])], 1, {}),
    ("LabelEncoder", [np.array([3, 1, 9])], 1,
     {"keys_int64s": [1, 3], "values_floats": [0.5, 2.5], "default_float": -1.0}),
    ("LabelEncoder", [np.array([0.5, 2], np.float32)], 1,
     {"keys_floats": [0.5], "values_int64s": [4], "default_int64": 8}),
    ("OneHotEncoder", [np.array([[3, 1], [9, 3]])], 1, {"cats_int64s": [1, 3, 5]}),
]  # fmt: skip


def saved(tmp_path, name, inputs, outputs, attributes):
    graph = helper.make_graph(
        [helper.make_node(name, [f"x{i}" for i in range(len(inputs))], [f"y{i}" for i in range(outputs)],
                          domain="ai.onnx.ml", **attributes)],
        "graph",
        [
            helper.make_tensor_value_info(
                f"x{i}", helper.np_dtype_to_tensor_dtype(a.dtype), ["n" if a.ndim > 1 else len(a), *a.shape[1:]]
            )
            for i, a in enumerate(inputs)
        ],
        [onnx.ValueInfoProto(name=f"y{i}") for i in range(outputs)],
    )  # fmt: skip
    path = str(tmp_path / "model.onnx")
    imports = [helper.make_opsetid("ai.onnx.ml", 3)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=10), path)
    return path


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{len(case[3])}")
def test_operator(tmp_path, case):
    name, inputs, outputs, attributes = case
    path = saved(tmp_path, name, inputs, outputs, attributes)
    given = {f"x{i}": value for i, value in enumerate(inputs)}
    expected = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, given)
    got = relay.compile(path)(**given)
    for g, e in zip(got if isinstance(got, tuple) else [got], expected, strict=True):
        assert (g.shape, g.dtype) == (e.shape, e.dtype)
        np.testing.assert_allclose(g, e, rtol=1e-5, atol=1e-5)


WORDS = np.array([["cat", "owl", "elk"], ["owl", "yak", "cat"]])
STRING_CASES = [
    ("CategoryMapper", [WORDS], 1, {"cats_int64s": [4, 9], "cats_strings": ["owl", "cat"], "default_int64": -3}),
    ("CategoryMapper", [np.array([[9, 4, 7]])], 1,
     {"cats_int64s": [4, 9], "cats_strings": ["owl", "cat"], "default_string": "none"}),
    ("LabelEncoder", [WORDS], 1,
     {"keys_strings": ["cat", "elk"], "values_strings": ["dog", "elk"], "default_string": "?"}),
    ("LabelEncoder", [WORDS], 1, {"keys_strings": ["cat", "elk"], "values_int64s": [5, 6]}),
    ("LabelEncoder", [np.array([3, 1])], 1, {"keys_int64s": [1], "values_strings": ["one"]}),
    ("OneHotEncoder", [WORDS], 1, {"cats_strings": ["elk", "cat"]}),
    ("ArrayFeatureExtractor", [WORDS, np.array([2, 0])], 1, {}),
    ("TreeEnsembleClassifier", [X], 2,
     {k: v for k, v in classifier([], (0, 1, 2)).items() if k != "classlabels_int64s"}
     | {"classlabels_strings": list("abc")}),
    ("LinearClassifier", [X], 2,
     {"coefficients": reals(18), "intercepts": reals(3), "classlabels_strings": ["b", "c", "a"], "multi_class": 1}),
    ("SVMClassifier", [X], 2,
     {k: v for k, v in svm([3, 4, 2], "RBF").items() if k != "classlabels_ints"}
     | {"classlabels_strings": list("xyz")}),
]  # fmt: skip


@pytest.mark.parametrize("case", STRING_CASES, ids=lambda case: f"{case[0]}-{len(case[3])}")
def test_strings(tmp_path, case):
    """Through an artifact too: it knows the strings."""
    name, inputs, outputs, attributes = case
    path = saved(tmp_path, name, inputs, outputs, attributes)
    given = {f"x{i}": value.astype(object) if value.dtype.kind == "U" else value for i, value in enumerate(inputs)}
    expected = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, given)
    compiled = relay.compile(path)
    compiled.save(str(tmp_path / "model.rart"))
    for model in (compiled, relay.load(str(tmp_path / "model.rart"))):
        got = model(**given)
        for g, e in zip(got if isinstance(got, tuple) else [got], expected, strict=True):
            assert g.shape == e.shape and g.dtype == e.dtype
            if e.dtype == object:
                assert g.tolist() == e.tolist()
            else:
                np.testing.assert_allclose(g, e, rtol=1e-5, atol=1e-5)


def test_what_is_no_category_can_end_the_run(tmp_path):
    path = saved(tmp_path, "OneHotEncoder", [np.array([[3, 1]])], 1, {"cats_int64s": [1, 3, 5], "zeros": 0})
    model = relay.compile(path)
    np.testing.assert_array_equal(model(np.array([[3, 5]])), [[[0, 1, 0], [0, 0, 1]]])
    with pytest.raises(relay.CompileError, match="out of range"):
        model(np.array([[3, 4]]))


def test_strings_that_the_model_does_not_hold_come_through(tmp_path):
    nodes = [
        helper.make_node("Concat", ["x", "w"], ["y"], axis=0),
        helper.make_node("Equal", ["x", "z"], ["same"]),
    ]
    strings = [helper.make_tensor_value_info(n, onnx.TensorProto.STRING, [3]) for n in "xz"]
    weight = helper.make_tensor("w", onnx.TensorProto.STRING, [1], [b"held"])
    outputs = [onnx.ValueInfoProto(name=n) for n in ("y", "same")]
    graph = helper.make_graph(nodes, "graph", strings, outputs, [weight])
    path = str(tmp_path / "model.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=10), path)
    y, same = relay.compile(path)(["new", "held", "é"], ["new", "other", "é"])
    assert y.tolist() == ["new", "held", "é", "held"] and same.tolist() == [True, False, True]
    with pytest.raises(relay.CompileError, match="has strings, not"):
        relay.compile(path)([1, 2, 3], ["a", "b", "c"])


@pytest.mark.parametrize("keys", ["string", "int64"])
def test_maps_are_rows(tmp_path, keys):
    """A map to numbers comes as a row with a column for each word of the vocabulary."""
    words = {"string_vocabulary": ["a", "c", "b"]} if keys == "string" else {"int64_vocabulary": [7, 3, 5]}
    of = onnx.TensorProto.STRING if keys == "string" else onnx.TensorProto.INT64
    value = helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, None)
    x = helper.make_value_info("x", onnx.TypeProto(map_type=onnx.TypeProto.Map(key_type=of, value_type=value)))
    node = helper.make_node("DictVectorizer", ["x"], ["y"], domain="ai.onnx.ml", **words)
    graph = helper.make_graph([node], "graph", [x], [onnx.ValueInfoProto(name="y")])
    path = str(tmp_path / "model.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("ai.onnx.ml", 1)], ir_version=10), path)
    given = dict(zip(next(iter(words.values()))[:2], (4.0, 8.0), strict=True))
    (expected,) = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"x": given})
    row = np.array([[given.get(word, 0) for word in next(iter(words.values()))]], np.float32)
    np.testing.assert_array_equal(relay.compile(path)(row), expected)


@pytest.mark.parametrize("form", ["DENSE", "SPARSE"])
def test_maps_become_tensors(tmp_path, form):
    """A map from integers comes as a row, in the order of its keys or with a column for each key there may be."""
    value = helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, None)
    of = onnx.TypeProto(map_type=onnx.TypeProto.Map(key_type=onnx.TensorProto.INT64, value_type=value))
    node = helper.make_node("CastMap", ["x"], ["y"], domain="ai.onnx.ml", map_form=form, max_map=5)
    graph = helper.make_graph([node], "graph", [helper.make_value_info("x", of)], [onnx.ValueInfoProto(name="y")])
    path = str(tmp_path / "model.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("ai.onnx.ml", 1)], ir_version=10), path)
    given = {3: 4.0, 1: 8.0}
    (expected,) = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"x": given})
    row = sorted(given) if form == "DENSE" else range(5)
    got = relay.compile(path)(np.array([[given.get(key, 0) for key in row]], np.float32))
    np.testing.assert_array_equal(got, expected)


def test_scores_stay_an_array(tmp_path):
    path = saved(tmp_path, "ZipMap", [X], 1, {"classlabels_int64s": [0, 1, 2, 3, 4, 5]})
    np.testing.assert_array_equal(relay.compile(path)(X), X)


def test_every_operator_has_a_case():
    alone = {
        "CastMap",
        "ZipMap",
        "DictVectorizer",
        "TreeEnsemble",
    }  # the tests above; ONNX's own examples (make test-onnx)
    assert set(OPERATORS) - {case[0] for case in CASES + STRING_CASES} == alone


def test_a_tree_with_many_ways_is_measured_once(tmp_path):
    """Each of 400 nodes leads to the next on both sides: 2^400 ways, in a class of its own if it is 600."""

    def ladder(rungs):
        ids = list(range(rungs + 1))
        return {
            "nodes_treeids": [0] * (rungs + 1),
            "nodes_nodeids": ids,
            "nodes_featureids": [0] * (rungs + 1),
            "nodes_values": [0.0] * (rungs + 1),
            "nodes_modes": ["BRANCH_LEQ"] * rungs + ["LEAF"],
            "nodes_truenodeids": [*ids[1:], 0],
            "nodes_falsenodeids": [*ids[1:], 0],
            "target_treeids": [0],
            "target_nodeids": [rungs],
            "target_ids": [0],
            "target_weights": [2.5],
            "n_targets": 1,
        }

    path = saved(tmp_path, "TreeEnsembleRegressor", [X], 1, ladder(400))
    assert relay.load(path).astext().count("where(") == 400
    with pytest.raises(relay.CompileError, match="601 deep; at most 512"):
        relay.load(saved(tmp_path, "TreeEnsembleRegressor", [X], 1, ladder(600)))


@pytest.mark.parametrize(("child", "message"), [(0, "form a cycle"), (9, "refers to node")])
def test_trees_that_are_none_are_refused(tmp_path, child, message):
    attributes = tree(0, 1, 6, "target", (0,)) | {"n_targets": 1}
    attributes["nodes_truenodeids"] = [child, 0, 0]
    with pytest.raises(relay.CompileError, match=message):
        relay.compile(saved(tmp_path, "TreeEnsembleRegressor", [X], 1, attributes))
