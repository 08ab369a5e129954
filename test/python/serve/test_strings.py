"""Strings: BYTES in JSON and as raw bytes."""

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from served import serving


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    path = tmp_path_factory.mktemp("strings") / "equal.onnx"
    texts = [helper.make_tensor_value_info(name, TensorProto.STRING, ["n"]) for name in ("a", "b", "same")]
    equal = helper.make_tensor_value_info("equal", TensorProto.BOOL, ["n"])
    nodes = [helper.make_node("Equal", ["a", "b"], ["equal"]), helper.make_node("Identity", ["a"], ["same"])]
    graph = helper.make_graph(nodes, "equal", texts[:2], [equal, texts[2]])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)]), path)
    with serving(path, "--max-batch", "4") as one:
        yield one


def raw(*texts):
    return b"".join(len(text).to_bytes(4, "little") + text for text in texts)


def test_json(server):
    answer = server.client().infer("equal", ("a", np.array(["x", "ä"])), ("b", np.array(["y", "ä"])))
    assert answer.status == 200, answer.error
    assert [one["data"] for one in answer.json["outputs"]] == [[False, True], ["x", "ä"]]
    assert answer.json["outputs"][1]["datatype"] == "BYTES"


def asked(server, a, b):
    objects = [
        {"name": name, "datatype": "BYTES", "shape": [2], "parameters": {"binary_data_size": len(bytes_)}}
        for name, bytes_ in (("a", a), ("b", b))
    ]
    head = json.dumps({"inputs": objects, "parameters": {"binary_data_output": True}}).encode()
    return server.client().ask(
        "/v2/models/equal/infer", head + a + b, {"Inference-Header-Content-Length": str(len(head))}
    )


def test_raw_bytes(server):
    answer = asked(server, raw(b"", "ä".encode()), raw(b"", b"z"))
    assert answer.status == 200, answer.error
    assert answer.raw == b"\x01\x00" + raw(b"", "ä".encode())


@pytest.mark.parametrize(
    "bytes_, message",
    [
        (raw(b"x"), "are not 2 strings: the first 1 end at byte 5 of 5"),
        (raw(b"x", b"y", b"z"), "the first 2 end at byte 10 of 15"),
        (raw(b"x") + b"\xff\xff\xff\xffy", "the first 1 end at byte 5"),
        (raw(b"x") + b"\x00", "the first 1 end at byte 5"),
        (raw(b"x", b"\xff"), "element 1 of input `a` is not UTF-8"),
    ],
)
def test_wrong_raw_bytes(server, bytes_, message):
    answer = asked(server, bytes_, raw(b"x", b"y"))
    assert answer.status == 400 and message in answer.error, answer.body


def test_other_elements(server):
    bad = {"name": "a", "datatype": "BYTES", "shape": [2], "data": ["x", 1]}
    answer = server.client().infer("equal", bad, ("b", np.array(["y", "z"])))
    assert answer.status == 400 and "has integers" in answer.error
