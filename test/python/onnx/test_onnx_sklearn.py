"""Compiled models of scikit-learn, exported by skl2onnx, compared with scikit-learn itself. `make test-sklearn`
installs both."""

import sys

import numpy as np
import pytest
from programs import ROOT

import relay

PACKAGES = ROOT / "build" / "test-sklearn"
sys.path.append(str(PACKAGES))
pytest.importorskip("sklearn", reason="scikit-learn is not installed: make test-sklearn")
pytest.importorskip("skl2onnx", reason="skl2onnx is not installed: make test-sklearn")
import onnx  # noqa: E402
from skl2onnx import to_onnx  # noqa: E402
from skl2onnx.common.data_types import StringTensorType  # noqa: E402
from sklearn import (  # noqa: E402
    cluster,
    decomposition,
    ensemble,
    feature_extraction,
    linear_model,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)

# The process that collects results cannot read warnings of classes that only a worker has on its path.
pytestmark = pytest.mark.filterwarnings("ignore")
draw = np.random.default_rng(11)
ROWS, FEATURES = 240, 5
X = draw.standard_normal((ROWS, FEATURES)).astype(np.float32)
LABELS = (X[:, 0] + X[:, 1] ** 2 > 0.4).astype(np.int64) + (X[:, 2] - 0.5 * X[:, 3] > 0.7)
TARGET = (X[:, 0] * 2 - X[:, 1] + np.sin(X[:, 2])).astype(np.float32)
WORDS = np.array(["cat", "dog", "owl"], object)[LABELS]

CLASSIFIERS = [
    tree.DecisionTreeClassifier(max_depth=6, random_state=0),
    ensemble.RandomForestClassifier(12, max_depth=5, random_state=0),
    ensemble.ExtraTreesClassifier(9, max_depth=5, random_state=0),
    ensemble.GradientBoostingClassifier(n_estimators=8, random_state=0),
    ensemble.AdaBoostClassifier(n_estimators=6, random_state=0),
    linear_model.LogisticRegression(),
    linear_model.SGDClassifier(loss="log_loss", random_state=0),
    svm.SVC(kernel="linear"),
    svm.SVC(kernel="rbf", gamma=0.4),
    svm.SVC(kernel="poly", degree=2, gamma=0.4, coef0=0.5),
    svm.SVC(kernel="sigmoid", gamma=0.1),
    svm.LinearSVC(),
    naive_bayes.GaussianNB(),
    neighbors.KNeighborsClassifier(5),
    neural_network.MLPClassifier(hidden_layer_sizes=(12,), max_iter=60, random_state=0),
    pipeline.make_pipeline(preprocessing.StandardScaler(), svm.SVC(gamma=0.3)),
    pipeline.make_pipeline(preprocessing.MinMaxScaler(), linear_model.LogisticRegression()),
    pipeline.make_pipeline(decomposition.PCA(3), preprocessing.Normalizer(), tree.DecisionTreeClassifier(max_depth=4)),
]
REGRESSORS = [
    tree.DecisionTreeRegressor(max_depth=6, random_state=0),
    ensemble.RandomForestRegressor(12, max_depth=5, random_state=0),
    ensemble.GradientBoostingRegressor(n_estimators=10, random_state=0),
    linear_model.LinearRegression(),
    linear_model.Ridge(),
    svm.SVR(kernel="rbf", gamma=0.3),
    svm.SVR(kernel="linear"),
    svm.NuSVR(kernel="poly", degree=2, gamma=0.3),
    neighbors.KNeighborsRegressor(4),
    neural_network.MLPRegressor(hidden_layer_sizes=(12,), max_iter=60, random_state=0),
    pipeline.make_pipeline(preprocessing.RobustScaler(), preprocessing.PolynomialFeatures(2), linear_model.Ridge()),
]
TRANSFORMERS = [
    preprocessing.StandardScaler(),
    preprocessing.MaxAbsScaler(),
    preprocessing.Binarizer(threshold=0.2),
    preprocessing.KBinsDiscretizer(4, encode="ordinal", quantile_method="averaged_inverted_cdf"),
    preprocessing.QuantileTransformer(n_quantiles=10),
    decomposition.PCA(2, whiten=True),
    decomposition.TruncatedSVD(2, random_state=0),
]


def name(model):
    return "-".join(type(step).__name__ for _, step in getattr(model, "steps", [("", model)]))


def compiled(tmp_path, model, sample=X, **options):
    path = tmp_path / "model.onnx"
    path.write_bytes(to_onnx(model, sample[:1], **options).SerializeToString())
    return relay.compile(str(path))


def agree(got, expected):
    """Up to a sample in a hundred, whose feature is on a split or between classes in float32."""
    close = np.isclose(got, expected, rtol=1e-3, atol=1e-4).reshape(len(expected), -1).all(axis=1)
    assert got.shape == expected.shape and close.mean() >= 0.99, f"{(~close).sum()} of {len(close)} samples differ"


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name)
@pytest.mark.parametrize("classes", [2, 3])
def test_classifier(tmp_path, model, classes):
    labels = np.minimum(LABELS, classes - 1)
    model.fit(X, labels)
    options = {} if isinstance(model, svm.LinearSVC) else {"options": {"zipmap": False}}
    label, scores = compiled(tmp_path, model, **options)(X)
    agree(label, model.predict(X))
    if hasattr(model, "predict_proba"):
        agree(scores, model.predict_proba(X))
    elif classes == 3 and getattr(model, "decision_function_shape", "ovr") != "ovr":
        agree(scores, model.decision_function(X))


@pytest.mark.parametrize("model", REGRESSORS, ids=name)
def test_regressor(tmp_path, model):
    model.fit(X, TARGET)
    agree(compiled(tmp_path, model)(X).reshape(-1), model.predict(X))


@pytest.mark.parametrize("model", TRANSFORMERS, ids=name)
def test_transformer(tmp_path, model):
    model.fit(X)
    agree(compiled(tmp_path, model)(X), model.transform(X))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_of_a_support_vector_machine(tmp_path, kernel, classes):
    labels = np.minimum(LABELS, classes - 1)
    model = svm.SVC(kernel=kernel, gamma=0.3, probability=True, random_state=0).fit(X, labels)
    label, scores = compiled(tmp_path, model, options={"zipmap": False})(X)
    agree(label, model.predict(X))
    np.testing.assert_allclose(scores, model.predict_proba(X), atol=2e-3)


@pytest.mark.parametrize("model", [CLASSIFIERS[1], linear_model.LogisticRegression(), svm.SVC(gamma=0.3)], ids=name)
def test_labels_that_are_strings(tmp_path, model):
    model.fit(X, WORDS)
    label, _ = compiled(tmp_path, model, options={"zipmap": False})(X)
    assert (label == model.predict(X)).mean() >= 0.99


def test_categories_that_are_strings(tmp_path):
    """A pipeline with columns of words: encoded, scaled, classified."""
    words = np.stack([WORDS, np.where(X[:, 0] > 0, "warm", "cold").astype(object)], axis=1)
    model = pipeline.make_pipeline(preprocessing.OneHotEncoder(), linear_model.LogisticRegression())
    model.fit(words, WORDS)
    label, scores = compiled(tmp_path, model, words, options={"zipmap": False})(words)
    assert label.tolist() == model.predict(words).tolist()
    agree(scores, model.predict_proba(words))


def test_outliers_of_one_class(tmp_path):
    model = svm.OneClassSVM(gamma=0.2, nu=0.2).fit(X)
    label, _ = compiled(tmp_path, model)(X)
    agree(label.reshape(-1), model.predict(X))


def test_clusters(tmp_path):
    model = cluster.KMeans(4, random_state=0, n_init=2).fit(X)
    label, distances = compiled(tmp_path, model)(X)
    agree(label, model.predict(X))
    agree(distances, model.transform(X))


TEXTS = ["the cat sat", "a dog and the cat", "owl", "Cat, owl; cat!"]


@pytest.mark.parametrize(
    "model",
    [
        feature_extraction.text.CountVectorizer(),
        feature_extraction.text.CountVectorizer(ngram_range=(1, 2), lowercase=False),
        feature_extraction.text.CountVectorizer(analyzer="char"),
        pipeline.make_pipeline(feature_extraction.text.TfidfVectorizer(), linear_model.LogisticRegression()),
    ],
    ids=name,
)
def test_texts_are_split_in_front_of_the_model(model):
    """A vectoriser is refused, and the help is a way out: the model after it takes the tokens."""
    model.fit(TEXTS, [0, 1, 1, 0])
    whole = to_onnx(model, initial_types=[("texts", StringTensorType([None]))])
    with pytest.raises(relay.CompileError, match=r"(?s)Tokenizer .* cannot be imported.*help: cut the model after it"):
        relay.load(whole)
    nodes = list(whole.graph.node)
    at = next(i for i, node in enumerate(nodes) if node.op_type == "Tokenizer")
    tokens = onnx.helper.make_tensor_value_info(nodes[at].output[0], onnx.TensorProto.STRING, ["texts", "words"])
    graph = onnx.helper.make_graph(nodes[at + 1 :], "rest", [tokens], whole.graph.output, whole.graph.initializer)
    rest = onnx.helper.make_model(graph, opset_imports=whole.opset_import, ir_version=whole.ir_version)

    vectoriser = model[0] if isinstance(model, pipeline.Pipeline) else model
    split = vectoriser.build_tokenizer() if vectoriser.analyzer == "word" else list
    lists = [split(text.lower() if vectoriser.lowercase else text) for text in TEXTS]
    words = np.full((len(TEXTS), max(map(len, lists))), "#", object)
    for row, found in zip(words, lists, strict=True):
        row[: len(found)] = found
    got = relay.compile(rest)(words)
    if isinstance(model, pipeline.Pipeline):
        assert got[0].tolist() == model.predict(TEXTS).tolist()
    else:
        np.testing.assert_array_equal(got, model.transform(TEXTS).toarray())
