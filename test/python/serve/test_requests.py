"""Answers of the server: metadata, JSON, raw bytes, types, versions."""

import json

import numpy as np
from served import SOFTMAX, binary, serving, tensor

import relay

SOFT = relay.compile(relay.parse(SOFTMAX))
X = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)


def test_health_and_metadata(client):
    assert client.ask("/v2/health/live").status == client.ask("/v2/health/ready").status == 200
    described = client.ask("/v2").json
    assert described["name"] == "relay" and "binary_tensor_data" in described["extensions"]
    assert client.ask("/v2/models/soft").json == {
        "name": "soft",
        "versions": ["1"],
        "platform": "relay",
        "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}],
        "outputs": [{"name": "output", "datatype": "FP32", "shape": [-1, 4]}],
    }
    assert client.ask("/v2/models/soft/versions/1").json == client.ask("/v2/models/soft").json
    assert client.ask("/v2/models/soft/ready").status == client.ask("/v2/models/soft/versions/1/ready").status == 200


def test_json(client):
    answer = client.infer("soft", ("x", X), id="seven")
    assert answer.status == 200 and answer.json["id"] == "seven" and answer.json["model_version"] == "1"
    np.testing.assert_array_equal(answer.array(), SOFT(X, threads=1))  # doubles in JSON hold every float32
    nested = client.infer("soft", tensor("x", X, data=X.tolist()))
    np.testing.assert_array_equal(nested.array(), answer.array())


def test_raw_bytes(client):
    body, headers = binary(("x", X))
    answer = client.ask("/v2/models/soft/infer", body, headers)
    assert answer.status == 200
    assert answer.json["outputs"] == [
        {"name": "output", "datatype": "FP32", "shape": [3, 4], "parameters": {"binary_data_size": 48}}
    ]
    np.testing.assert_array_equal(np.frombuffer(answer.raw, np.float32).reshape(3, 4), SOFT(X, threads=1))
    body, headers = binary(("x", X), outputs=False)
    assert "data" in client.ask("/v2/models/soft/infer", body, headers).json["outputs"][0]


def test_types_and_scalars(client):
    a, b = np.array([[1, -2]], np.int32), np.array([[0.5, 3]], np.float16)
    inputs = [("a", a), ("b", b), ("c", np.array([True, False])), ("d", np.float64(0.1))]
    for answer in (client.infer("parts", *inputs), client.infer("parts", *reversed(inputs))):
        assert answer.status == 200, answer.error
        assert [one["data"] for one in answer.json["outputs"]] == [[2, -4], [1, 6], [False, True], [1.1]]
        assert [one["shape"] for one in answer.json["outputs"]] == [[1, 2], [1, 2], [2], []]


def test_outputs_are_chosen_by_name_and_form(client):
    names = [one["name"] for one in client.ask("/v2/models/parts").json["outputs"]]
    wanted = [{"name": names[2]}, {"name": names[0], "parameters": {"binary_data": True}}]
    a, b = np.ones((2, 2), np.int32), np.ones((2, 2), np.float16)
    inputs = [("a", a), ("b", b), ("c", np.array([True, False])), ("d", np.float64(0))]
    answer = client.infer("parts", *inputs, outputs=wanted)
    assert [one["name"] for one in answer.json["outputs"]] == [names[2], names[0]]
    assert answer.json["outputs"][0]["data"] == [False, True]
    assert np.frombuffer(answer.raw, np.int32).tolist() == [2, 2, 2, 2]


def test_infinities_are_for_raw_bytes_only(client):
    x = np.full((1, 4), np.nan, np.float32)
    body, headers = binary(("x", x), outputs=False)
    answer = client.ask("/v2/models/soft/infer", body, headers)
    assert answer.status == 406 and "binary_data_output" in answer.error
    body, headers = binary(("x", x))
    assert np.isnan(np.frombuffer(client.ask("/v2/models/soft/infer", body, headers).raw, np.float32)).all()


def test_versions_of_a_folder(tmp_path):
    for number, axis in ((2, -1), (10, 0)):
        text = SOFTMAX.replace("softmax(%x)", f"softmax(%x, axis={axis})")
        folder = tmp_path / "two" / str(number)
        folder.mkdir(parents=True)
        (folder / "model.relay").write_text(text)
    (tmp_path / "two" / "README").write_text("not a version")
    with serving(tmp_path / "two") as server:
        client = server.client()
        assert client.ask("/v2/models/two").json["versions"] == ["2", "10"]
        np.testing.assert_array_equal(client.infer("two", ("x", X), version=2).array(), SOFT(X, threads=1))
        highest = client.infer("two", ("x", X))
        assert highest.json["model_version"] == "10"
        np.testing.assert_allclose(highest.array().sum(axis=0), 1, rtol=1e-6)
        assert "versions are 2, 10" in client.infer("two", ("x", X), version=3).error


def test_metrics_count_requests_by_status(client):
    before = [client.metric(f'relay_requests_total{{model="soft",status="{s}"}}') for s in (200, 400)]
    client.infer("soft", ("x", X))
    client.infer("soft", ("y", X))
    after = [client.metric(f'relay_requests_total{{model="soft",status="{s}"}}') for s in (200, 400)]
    assert [b - a for a, b in zip(before, after, strict=True)] == [1, 1]
    assert client.metric('relay_queue_length{model="soft"}') == 0
    assert client.metric("relay_request_bytes") == 0


def test_answers_are_json_text(client):
    answer = client.infer("soft", ("x", X))
    assert answer.headers["Content-Type"] == "application/json"
    assert json.loads(answer.body)["model_name"] == "soft"
