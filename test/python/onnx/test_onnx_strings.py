"""Strings that are moved, compared and selected through branches, loops and sequences, compared with ONNX Runtime."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import helper, parser  # noqa: E402

import relay  # noqa: E402


def words(*texts):
    return np.array(texts, object)


AB, CD = words("a", "b"), words("c", "d")
ROWS = np.array([["a", "b"], ["c", "d"], ["e", "a"]], object)
TRUE, FALSE, TWO = np.array(True), np.array(False), np.array(2)

CASES = {
    "if": (
        """(bool c, string[2] x, string[2] y) => (string[2] z) {
            z = If(c)<then_branch = t () => (string[2] r) { r = Identity(x) },
                      else_branch = e () => (string[2] r) { r = Identity(y) }> }""",
        [(TRUE, AB, CD), (FALSE, AB, CD)],
    ),
    "if of two results and sizes": (
        """(bool c, string[2] x) => (string[k] z, int64 n) {
            z, n = If(c)<
                then_branch = t () => (string[m] r, int64 a) { r = Concat<axis=0>(x, x) a = Constant<value_int=1>() },
                else_branch = e () => (string[m] r, int64 a) {
                    r = Constant<value_strings=["new"]>() a = Constant<value_int=2>() }> }""",
        [(TRUE, AB), (FALSE, AB)],
    ),
    "loop": (
        """(string[2] x, int64 n) => (string[m] z) {
            z = Loop<body = b (int64 i, bool go, string[k] s) => (bool went, string[k2] more) {
                went = Identity(go) more = Concat<axis=0>(s, x) }>(n, "", x) }""",
        [(AB, TWO), (CD, np.array(0))],
    ),
    "scan": (
        """(string[2] s, string[3,2] x) => (string[2] z, string[3,2] ys) {
            z, ys = Scan<num_scan_inputs = 1, body = b (string[2] a, string[2] e) => (string[2] after, string[2] o) {
                after = Identity(e) o = Identity(a) }>(s, x) }""",
        [(words("p", "q"), ROWS)],
    ),
    "sequence": (
        """(string[2] x, string[2] y) => (string[k] z, string[2] last) {
            s = SequenceConstruct(x, y) z = ConcatFromSequence<axis=0>(s)
            i = Constant<value_int=-1>() last = SequenceAt(s, i) }""",
        [(AB, CD)],
    ),
    "parts": (
        """(string[4] x) => (string[k] z) {
            two = Constant<value_int=2>() s = SplitToSequence(x, two)
            one = Constant<value_int=1>() z = SequenceAt(s, one) }""",
        [(words("a", "b", "c", "d"),)],
    ),
    "replaced": (
        """(string[3] x, int64[1] i, string[1] u) => (string[3] y) { y = ScatterElements(x, i, u) }""",
        [(words("a", "b", "c"), np.array([1]), words("new"))],
    ),
    "different ones": (
        """(string[4] x) => (string[a] y, int64[b] at, int64[c] which, int64[d] times) {
            y, at, which, times = Unique<sorted=0>(x) }""",
        [(words("b", "a", "b", "c"),)],
    ),
}


def model_of(graph, opset=17):
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> graph {graph}')


@pytest.mark.parametrize("name", CASES)
def test_strings(name):
    graph, all_inputs = CASES[name]
    model = model_of(graph)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for executor in ("vm", "aot"):
        compiled = relay.compile(model, executor=executor)
        for inputs in all_inputs:
            wanted = session.run(
                None, {port.name: value for port, value in zip(model.graph.input, inputs, strict=True)}
            )
            got = compiled(*inputs)
            got = list(got) if isinstance(got, tuple) and len(wanted) > 1 else [got]
            for g, w in zip(got, wanted, strict=True):
                assert np.array_equal(np.asarray(g), w), (name, executor, g, w)


def test_a_loop_that_stacks():
    """ONNX Runtime leaves out every second string."""
    graph = """(string[3,2] x, int64 n) => (string[m,2] ys) {
        ys = Loop<body = b (int64 i, bool go) => (bool went, string[2] y) {
            went = Identity(go) y = Gather<axis=0>(x, i) }>(n, "") }"""
    assert np.array_equal(relay.compile(model_of(graph))(ROWS, TWO), ROWS[:2])


def test_padding_is_empty():
    """The behaviour in the description of Pad; ONNX Runtime has no kernel."""
    model = model_of("(string[2] x) => (string[4] y) { p = Constant<value_ints=[1, 1]>() y = Pad(x, p) }")
    assert list(relay.compile(model)(AB)) == ["", "a", "b", ""]


@pytest.mark.parametrize(
    "graph, said",
    [
        ("(string[2] x) => (string[k] y) { y = Unique(x) }", "(?s)sorts strings.*sorted=0"),
        (
            "(string[2] x) => (float[2] y) { y = Cast<to=1>(x) }",
            "(?s)of string, for which.*convert the strings to numbers",
        ),
        (
            "(float[2] x) => (string[2] y) { y = Cast<to=8>(x) }",
            "(?s)which Relay cannot create at run time.*after the model",
        ),
        (
            "(string[2] x, string[2] z) => (string[2] y) { y = StringConcat(x, z) }",
            "(?s)Relay cannot create strings.*help: concatenate the",
        ),
        (
            "(bool c, string[2] x, int64[2] z) => (string[2] y) { y = If(c)<then_branch = t () => (string[2] r) "
            "{ r = Identity(x) }, else_branch = e () => (int64[2] r) { r = Identity(z) }> }",
            "output 0 has strings in only one of its branches",
        ),
        (
            '(string[2] x, int64[2] i, string[2] u) => (string[2] y) { y = ScatterElements<reduction="add">(x, i, u) }',
            "reduction is 'add' of strings",
        ),
    ],
)
def test_what_strings_cannot(graph, said):
    with pytest.raises(relay.CompileError, match=said):
        relay.load(model_of(graph, 20))


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("skips", [0, 2])
@pytest.mark.parametrize("of_strings", [True, False])
def test_ngrams_of_rows_of_any_length(mode, skips, of_strings):
    """A single compilation for rows shorter than an n-gram and longer; among numbers -1 is a token like any other."""
    tokens = ["a", "b", "c", "b", "c", "a", "a"] if of_strings else [-1, 2, 3, 2, 3, -1, -1]
    node = helper.make_node(
        "TfIdfVectorizer",
        ["x"],
        ["y"],
        mode=mode,
        min_gram_length=1,
        max_gram_length=2,
        max_skip_count=skips,
        ngram_counts=[0, 3],
        ngram_indexes=[4, 0, 1, 2, 3],
        weights=[0.5, 2.0, 3.0, 1.0, 0.25],
        **{"pool_strings" if of_strings else "pool_int64s": tokens},
    )
    kind = onnx.TensorProto.STRING if of_strings else onnx.TensorProto.INT64
    ports = [helper.make_tensor_value_info("x", kind, ["n", "tokens"]), onnx.ValueInfoProto(name="y")]
    graph = helper.make_graph([node], "graph", ports[:1], ports[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    peer = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    compiled, module = relay.compile(model), relay.load(model)
    draw = np.random.default_rng(3)
    for width in (1, 2, 3, 9):
        x = draw.choice(np.array(sorted(set(tokens)) + (["other"] if of_strings else [9])), (4, width))
        x = x.astype(object) if of_strings else x
        (want,) = peer.run(None, {"x": x})
        np.testing.assert_allclose(compiled(x), want, rtol=1e-6)
        np.testing.assert_allclose(np.asarray(relay.evaluate(module, [x])), want, rtol=1e-6)
    assert not compiled(np.zeros((2, 0), object if of_strings else np.int64)).any()
