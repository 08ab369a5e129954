"""Every version of an ONNX operator in opsets 7 to 28: its examples, in the form of that version, compared with ONNX
Runtime or ONNX's reference."""

import functools
import pathlib
import re
import sys

import numpy as np
import pytest
from forms import each_nth
from programs import ROOT

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import defs, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

import relay  # noqa: E402

sys.path.insert(0, str(ROOT / "test/onnx"))
import cases  # noqa: E402
import test_onnx_ml as learning  # noqa: E402

onnxruntime.set_default_logger_severity(4)
FIRST, LAST = 7, 28
DOMAINS = {"": (FIRST, LAST), "ai.onnx.ml": (1, 5), "ai.onnx.preview": (1, 1), "ai.onnx.preview.training": (1, 1)}


def versions_of():
    """(domain, operator): its versions, as the first opset in which each holds."""
    found = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain in DOMAINS and not schema.deprecated:
            found.setdefault((schema.domain, schema.name), set()).add(schema.since_version)
    out = {}
    for (domain, name), since in sorted(found.items()):
        first, last = DOMAINS[domain]
        old = [v for v in since if v <= first]
        out[domain, name] = [max(old)] if old else []
        out[domain, name] += sorted(v for v in since if first < v <= last)
    return out


@functools.cache
def examples():
    """The suite's models of one node, by operator, smallest first."""
    found = {}
    for case in cases.find_cases():
        nodes = case.model.graph.node
        if case.kind == "node" and len(nodes) == 1:
            found.setdefault((nodes[0].domain, nodes[0].op_type), []).append(case)
    return found


def as_version(case, given, version):
    """The example with its node as the operator's version has it: what became an input later is an attribute, and what
    it does not know is left out."""
    model, left = cases.specialised(case, given)
    node = model.graph.node[0]
    schema = defs.get_schema(node.op_type, version, node.domain)
    named = {i.name for i in schema.inputs}
    values = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer} | left
    new = defs.get_schema(node.op_type, DOMAINS[node.domain][1], node.domain)
    kept = []
    for i, name in enumerate(node.input):
        port = new.inputs[min(i, len(new.inputs) - 1)].name
        attribute = next((a for a in schema.attributes if a.lower() == port.lower() and port not in named), None)
        if name and attribute and values.get(name) is not None:
            value = np.asarray(values[name])
            one = schema.attributes[attribute].type in (defs.OpSchema.AttrType.INT, defs.OpSchema.AttrType.FLOAT)
            node.attribute.append(helper.make_attribute(attribute, value.item() if one else value.tolist()))
            left.pop(name, None)
        else:
            kept.append(name)
    kept = kept[: schema.max_input]
    while kept and not kept[-1]:
        kept.pop()
    del node.input[:], model.opset_import[:]
    node.input.extend(kept)
    for i in reversed(range(len(node.attribute))):
        if node.attribute[i].name not in schema.attributes:
            del node.attribute[i]
    ports = [port for port in model.graph.input if port.name in kept]
    weights = [one for one in model.graph.initializer if one.name in kept]
    for held, now in ((model.graph.input, ports), (model.graph.initializer, weights)):
        now = [type(one).FromString(one.SerializeToString()) for one in now]
        del held[:]
        held.extend(now)
    if node.domain:
        opsets = [("", 15), (node.domain, version)]
    else:
        opsets = [("", max(version, FIRST))]
    model.opset_import.extend(helper.make_opsetid(*one) for one in opsets)
    model.ir_version = min(model.ir_version, 10)
    return model, {name: value for name, value in left.items() if name in kept}


def reference(model, given):
    """The expected results, and their source; None if no reference runs the model."""
    names = [port.name for port in model.graph.output]
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        return session.run(names, given)
    except Exception:  # a version, or a type, that it does not have
        pass
    try:
        onnx.checker.check_model(model, full_check=True)
        return ReferenceEvaluator(model).run(names, given)
    except Exception:
        return None


def holds(case, given, version):
    """None: the example says nothing about the version."""
    try:
        written = as_version(case, given, version)
    except (TypeError, ValueError):
        return None
    model, left = written
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError:
        return None
    want = reference(model, left)
    if want is None:
        return None
    module = relay.load(model, shapes=cases.list_shapes(model, left))
    got = relay.evaluate(module, cases.arguments(model, left))
    got = list(got) if isinstance(got, tuple) and len(want) != 1 else [got]
    assert not cases.equal(got, want, case), f"{case.name} as version {version}"
    return True


def run(model, given):
    got = relay.compile(model)(**given)
    return list(got) if isinstance(got, tuple) else [got]


def one_node(name, inputs, version, domain="", outputs=1, **attributes):
    """A model of one node, and its inputs."""
    given = {f"x{i}": a for i, a in enumerate(inputs)}
    dtype = helper.np_dtype_to_tensor_dtype
    results = [f"y{i}" for i in range(outputs)]
    graph = helper.make_graph(
        [helper.make_node(name, list(given), results, domain=domain, **attributes)],
        "graph",
        [helper.make_tensor_value_info(x, dtype(a.dtype), a.shape) for x, a in given.items()],
        [onnx.ValueInfoProto(name=y) for y in results],
    )
    opsets = [("", 15), (domain, version)] if domain else [("", max(version, FIRST))]
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(*o) for o in opsets], ir_version=8), given


def of_learning(name, version):
    """Models of ai.onnx.ml."""
    for case in learning.CASES:
        if case[0] == name:
            yield one_node(name, case[1], version, "ai.onnx.ml", case[2], **case[3])


draw = np.random.default_rng(1)
IMAGE = draw.standard_normal((1, 2, 6, 6)).astype(np.float32)
REGIONS = np.array([[0, 0, 0, 3, 4], [0, 1, 1, 5, 5]], np.float32)


def loop(version):
    """Sums with a state and an output that is stacked, of operators that opset 7 has."""
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "x"], ["t"]), helper.make_node("Identity", ["go"], ["on"])]
        + [helper.make_node("Neg", ["t"], ["y"])],
        "body",
        [value("i", 7, []), value("go", 9, []), value("s", 1, [3])],
        [value("on", 9, []), value("t", 1, [3]), value("y", 1, [3])],
    )
    nodes = [helper.make_node("Loop", ["count", "begin", "x"], ["last", "all"], body=body)]
    ports = [value("count", 7, []), value("begin", 9, []), value("x", 1, [3])]
    graph = helper.make_graph(nodes, "graph", ports, [value("last", 1, [3]), value("all", 1, [None, 3])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", max(version, FIRST))], ir_version=8)
    return model, {"count": np.array(4), "begin": np.array(True), "x": np.arange(3, dtype=np.float32)}


LABELS = {"keys_int64s": [2, 0], "values_int64s": [5, 6]}
CLASSES = {"classes_strings": ["a", "b", "c"], "default_string": "none", "default_int64": 9}
MORE = {
    "LabelEncoder": lambda version: one_node(
        "LabelEncoder", [np.array([2, 0, 7])], version, "ai.onnx.ml", **(CLASSES if version == 1 else LABELS)
    ),
    "GlobalLpPool": lambda version: one_node("GlobalLpPool", [IMAGE], version, p=3),
    "Loop": loop,
    "MaxRoiPool": lambda version: one_node("MaxRoiPool", [IMAGE, REGIONS], version, pooled_shape=[2, 2]),
    "Multinomial": lambda version: one_node("Multinomial", [IMAGE[0, 0]], version, sample_size=4),
    "RandomNormal": lambda version: one_node("RandomNormal", [], version, shape=[2, 3], dtype=11),
    "RandomNormalLike": lambda version: one_node("RandomNormalLike", [IMAGE], version),
    "RandomUniform": lambda version: one_node("RandomUniform", [], version, shape=[2, 3], low=-1.0),
    "RandomUniformLike": lambda version: one_node("RandomUniformLike", [IMAGE], version, dtype=11),
    "Resize": lambda version: one_node(
        "Resize", [IMAGE, *[np.float32([])] * (version > 10), np.float32([1, 1, 2, 1.5])], version, mode="linear"
    ),
}
# They need other nodes around them, have maps, or no one else runs them: these versions are in other tests.
ELSEWHERE = {
    **dict.fromkeys(("ConcatFromSequence", "SequenceAt", "SequenceConstruct"), "test_onnx_sequences.py"),
    **dict.fromkeys(("SequenceEmpty", "SequenceErase", "SequenceLength", "Optional"), "test_onnx_sequences.py"),
    **dict.fromkeys(("CastMap", "CategoryMapper", "DictVectorizer", "ZipMap"), "test_onnx_ml.py"),
    "Gradient": "test_onnx_preview.py",
}
NOT_THERE = {"ImageDecoder", "RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit"}
# ONNX Runtime returns another result than ONNX's example.
OTHERWISE = {"test_maxunpool_export_with_output_shape"}


def check(domain, name, version):
    """The number of examples that pass, at most two."""
    tried = 0
    for case in examples().get((domain, name), ()):
        given, _ = next(iter(cases.data_sets(case)))
        tried += case.name not in OTHERWISE and bool(holds(case, given, version))
        if tried == 2:
            return tried
    for model, given in [MORE[name](version)] if name in MORE else of_learning(name, version):
        want = reference(model, given)
        if want is None and version == 22:  # new types only, and no reference runs it
            want = reference(MORE[name](version - 1)[0], given)
        if want is None:
            continue
        for g, w in zip(run(model, given), want, strict=True):
            g = np.asarray(g)
            assert (g.shape, g.dtype) == (w.shape, w.dtype)
            if name.startswith("Random") or name == "Multinomial":
                continue
            assert np.array_equal(g, w) or np.allclose(g, w, 1e-4, 1e-5), f"version {version}"
        tried += 1
    return tried


ALL = versions_of()


@pytest.mark.parametrize(
    ("domain", "name"),
    each_nth(3, [pytest.param(*key, id=key[1]) for key in ALL if key[1] not in ELSEWHERE | dict.fromkeys(NOT_THERE)]),
)
def test_versions(domain, name):
    assert [version for version in ALL[domain, name] if not check(domain, name, version)] == []


def test_others_are_elsewhere():
    for name, file in ELSEWHERE.items():
        assert name in (pathlib.Path(__file__).parent / file).read_text()


@pytest.mark.parametrize("domain, file, least", (("", "attributes.def", 100), ("ai.onnx.ml", "ml/operators.def", 15)))
def test_attributes_are_of_the_versions_that_have_them(domain, file, least):
    """The entries of the lists for names that only some versions have."""
    text = (ROOT / "src/relay/frontend/onnx" / file).read_text()
    listed = re.findall(r'^RELAY_ONNX(?:_ATTRIBUTES)?\((\w+),[\w\s,]*?((?:"[^"]*"\s*)+)\)', text, re.MULTILINE)
    assert len(listed) > least
    for operator, names in listed:
        versions = [s for s in defs.get_all_schemas_with_history() if s.name == operator and s.domain == domain]
        if not versions:
            continue  # of ONNX Runtime, which writes it without a domain
        wanted = set()
        for name in {name for schema in versions for name in schema.attributes}:
            have = [schema.since_version for schema in versions if name in schema.attributes]
            without = [schema.since_version for schema in versions if name not in schema.attributes]
            since = f">={min(have)}" if min(without, default=99) < min(have) else ""
            gone = [version for version in without if version > max(have)]
            wanted.add(name + since + (f"<{min(gone)}" if gone else ""))
        got = set("".join(re.findall(r'"([^"]*)"', names)).split())
        assert got == wanted, operator
