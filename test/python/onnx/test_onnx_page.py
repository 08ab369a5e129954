"""The parts of docs/onnx-support.md that do not need a run of ONNX's suite are up to date."""

import re
import sys

import pytest
from programs import ROOT

onnx = pytest.importorskip("onnx")
import relay  # noqa: E402

FRONTEND = ROOT / "src/relay/frontend/onnx"
sys.path[:0] = [str(ROOT / "test/onnx"), str(ROOT / "test")]
import page  # noqa: E402


def listed(path):
    return set(re.findall(r"(?m)^RELAY_ONNX\((\w+),", (FRONTEND / path).read_text()))


def test_what_is_not_imported_and_com_microsoft_are_generated():
    text = (ROOT / "docs/onnx-support.md").read_text()
    assert page.not_imported("") in text
    assert page.microsoft_section() in text


def test_every_operator_of_onnx_has_a_row():
    sections = re.split(r"(?m)^## ", (ROOT / "docs/onnx-support.md").read_text())
    rows = {part.split("\n", 1)[0]: set(re.findall(r"(?m)^\| (\w+) \|", part)) for part in sections}
    for schema in onnx.defs.get_all_schemas():
        assert schema.name in rows[schema.domain or "ai.onnx"], f"{schema.domain}.{schema.name}"


def test_every_operator_of_onnx_is_imported_or_listed_as_not():
    known = {
        "": "operators.def",
        "ai.onnx.ml": "ml/operators.def",
        "ai.onnx.preview": "preview/operators.def",
        "ai.onnx.preview.training": "preview/operators.def",
    }
    entries = {(domain, name) for domain, name, _, _ in page.entries()}
    for schema in onnx.defs.get_all_schemas():
        imported = schema.name in listed(known[schema.domain])
        assert imported != ((schema.domain, schema.name) in entries), f"{schema.domain}.{schema.name}"
    assert not {name for domain, name in entries if domain == "com.microsoft"} & listed("microsoft/operators.def")


@pytest.mark.parametrize("entry", page.entries(), ids=lambda entry: entry[1] or entry[0])
def test_each_is_refused_with_its_reason(entry):
    domain, name, reason, way_out = entry
    make = onnx.helper
    ports = [make.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [2]) for n in "xy"]
    graph = make.make_graph(
        [make.make_node(name or "Conv", ["x"], ["y"], domain=domain)], "graph", ports[:1], ports[1:]
    )
    opsets = [make.make_opsetid("", 21), make.make_opsetid(domain or "unused", 1)]
    with pytest.raises(relay.CompileError) as error:
        relay.load(make.make_model(graph, opset_imports=opsets, ir_version=10))
    text = re.sub(r"\s+", " ", str(error.value))
    assert "R0403" in text and reason in text and f"help: {way_out}" in text, text
