"""The gRPC interface: answers equal to those of HTTP, typed and raw tensors, wrong requests, deadlines, the end."""

import queue
import threading
import time

import numpy as np
import onnx
import pytest
from served import DATATYPES, SLOW, SOFTMAX, serving

import relay

grpc = pytest.importorskip("grpc")
from relay.serve.rpc.protocol import MESSAGES, SERVICE  # noqa: E402

SOFT = relay.compile(relay.parse(SOFTMAX))
X = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)


class Client:
    """Calls methods of the protocol by name, with the fields of their requests."""

    def __init__(self, port):
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=[("grpc.max_receive_message_length", -1)])

    def call(self, method, timeout=60, **fields):
        return self.raw(method, MESSAGES[f"{method}Request"](**fields).SerializeToString(), timeout)

    def raw(self, method, body, timeout=60, **how):
        answer = self.channel.unary_unary(f"/{SERVICE}/{method}")(body, timeout=timeout, **how)
        return MESSAGES[f"{method}Response"].FromString(answer)

    def infer(self, model, *inputs, **fields):
        """Sends raw arrays by name, (name, array)."""
        described = [tensor(name, array) for name, array in inputs]
        raw = [array.tobytes() for _, array in inputs]
        return self.call("ModelInfer", model_name=model, inputs=described, raw_input_contents=raw, **fields)


def tensor(name, array, **more):
    return {"name": name, "datatype": DATATYPES[array.dtype.name], "shape": array.shape, **more}


def refused(code, text, function, *arguments, **named):
    with pytest.raises(grpc.RpcError) as error:
        function(*arguments, **named)
    assert error.value.code() == code and text in error.value.details(), error.value
    return error.value


@pytest.fixture(scope="module")
def grpc_server(models):
    files = [models / "soft.rart", models / "parts.relay", f"deep={models / 'slow.relay'}"]
    limits = ["--max-body", "256k", "--max-bytes", "1M", "--timeout", "20", "--memory-limit", "64M"]
    with serving(*files, *limits, "--grpc-port", "0") as one:
        yield one


@pytest.fixture(scope="module")
def client(grpc_server):
    return Client(grpc_server.grpc_port)


def test_health_and_metadata(client):
    assert client.call("ServerLive").live and client.call("ServerReady").ready
    assert client.call("ModelReady", name="soft").ready and client.call("ModelReady", name="soft", version="1").ready
    server = client.call("ServerMetadata")
    assert server.name == "relay" and "binary_tensor_data" in server.extensions
    model = client.call("ModelMetadata", name="soft")
    assert (model.name, list(model.versions), model.platform) == ("soft", ["1"], "relay")
    assert [(one.name, one.datatype, list(one.shape)) for one in model.inputs] == [("x", "FP32", [-1, 4])]
    assert [(one.name, one.datatype, list(one.shape)) for one in model.outputs] == [("output", "FP32", [-1, 4])]


def test_raw_tensors(client):
    answer = client.infer("soft", ("x", X), id="seven")
    assert (answer.model_name, answer.model_version, answer.id) == ("soft", "1", "seven")
    assert [(one.name, one.datatype, list(one.shape)) for one in answer.outputs] == [("output", "FP32", [3, 4])]
    got = np.frombuffer(answer.raw_output_contents[0], np.float32).reshape(3, 4)
    np.testing.assert_array_equal(got, SOFT(X, threads=1))


def test_typed_contents(client):
    inputs = [tensor("x", X, contents={"fp32_contents": X.ravel()})]
    answer = client.call("ModelInfer", model_name="soft", inputs=inputs)
    assert not answer.raw_output_contents
    got = np.array(answer.outputs[0].contents.fp32_contents, np.float32).reshape(3, 4)
    np.testing.assert_array_equal(got, SOFT(X, threads=1))


def test_every_type(client):
    arrays = [
        ("d", np.array(0.1)), ("a", np.array([[1, -2]], np.int32)), ("b", np.array([[0.5, 3]], np.float16)),
        ("c", np.array([True, False])),
    ]  # fmt: skip
    answer = client.infer("parts", *arrays)
    types = [np.int32, np.float16, np.bool_, np.float64]
    values = [np.frombuffer(raw, one).tolist() for raw, one in zip(answer.raw_output_contents, types, strict=True)]
    assert values == [[2, -4], [1, 6], [False, True], [1.1]]
    # FP16 has no field for its elements, so that the whole request must be raw.
    inputs = [tensor("b", np.ones((1, 2), np.float16), contents={"fp32_contents": [1, 1]})]
    refused(grpc.StatusCode.INVALID_ARGUMENT, "send raw_input_contents", client.call, "ModelInfer",
            model_name="parts", inputs=inputs)  # fmt: skip


def test_outputs_are_chosen_by_name(client):
    names = [one.name for one in client.call("ModelMetadata", name="parts").outputs]
    arrays = [("a", np.ones((1, 2), np.int32)), ("b", np.ones((1, 2), np.float16)), ("c", np.array([True, False])),
              ("d", np.array(0.0))]  # fmt: skip
    answer = client.infer("parts", *arrays, outputs=[{"name": names[2]}, {"name": names[0]}])
    assert [one.name for one in answer.outputs] == [names[2], names[0]]
    assert [len(raw) for raw in answer.raw_output_contents] == [2, 8]


def test_strings(tmp_path):
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.STRING, ["n"]) for name in "xy")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["x"], ["y"])], "same", [x], [y])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 19)]), tmp_path / "same.onnx")
    with serving(tmp_path / "same.onnx", "--grpc-port", "0") as server:
        client = Client(server.grpc_port)
        texts = ["naïve", "", "日本"]
        shape = {"name": "x", "datatype": "BYTES", "shape": [3]}
        inputs = [shape | {"contents": {"bytes_contents": [text.encode() for text in texts]}}]
        answer = client.call("ModelInfer", model_name="same", inputs=inputs)
        assert [one.decode() for one in answer.outputs[0].contents.bytes_contents] == texts
        wrong = [shape | {"contents": {"bytes_contents": [b"a", b"\xff", b""]}}]
        refused(INVALID, "element 1 of input `x` is not UTF-8", client.call, "ModelInfer",
                model_name="same", inputs=wrong)  # fmt: skip


def bodies(*fields):
    """Returns the messages of requests of the model `soft`."""
    made = [MESSAGES["ModelInferRequest"](**({"model_name": "soft"} | one)) for one in fields]
    return [one.SerializeToString() for one in made]


def streamed(client, requests, **how):
    answers = client.channel.stream_stream(f"/{SERVICE}/ModelStreamInfer")(iter(requests), timeout=60, **how)
    return map(MESSAGES["ModelStreamInferResponse"].FromString, answers)


def test_a_stream_answers_in_order_and_goes_on_after_errors(client):
    rows = [X[i % 3 :][:1] + i for i in range(100)]
    good = bodies(*(dict(inputs=[tensor("x", row)], raw_input_contents=[row.tobytes()], id=str(i))
                    for i, row in enumerate(rows)))  # fmt: skip
    wrong = bodies({"inputs": [tensor("x", X)], "raw_input_contents": [b"1234"], "id": "bad"}, {"model_name": "sotf"})
    answers = list(streamed(client, [*good[:50], *wrong, b"\xff" * 100, *good[50:]]))
    errors = [answers.pop(50) for _ in range(3)]
    for error, text in zip(errors, ("has 4 bytes", "did you mean `soft`?", "not a ModelInferRequest"), strict=True):
        assert text in error.error_message and not error.infer_response.outputs
    assert errors[0].infer_response.id == "bad"
    assert [one.infer_response.id for one in answers] == [str(i) for i in range(100)]
    for row, one in zip(rows, answers, strict=True):
        assert not one.error_message and one.infer_response.model_name == "soft"
        got = np.frombuffer(one.infer_response.raw_output_contents[0], np.float32).reshape(1, 4)
        np.testing.assert_array_equal(got, SOFT(row, threads=1))


def test_a_stream_answers_while_it_is_open_and_is_left(grpc_server, client):
    asked, end = queue.Queue(), object()
    call = client.channel.stream_stream(f"/{SERVICE}/ModelStreamInfer")(iter(asked.get, end), timeout=60)
    for number in range(3):
        asked.put(bodies({"inputs": [tensor("x", X)], "raw_input_contents": [RAW], "id": str(number)})[0])
        assert MESSAGES["ModelStreamInferResponse"].FromString(next(call)).infer_response.id == str(number)
    call.cancel()
    asked.put(end)
    http = grpc_server.client()
    deadline = time.time() + 30
    while http.metric("relay_request_bytes"):
        assert time.time() < deadline
        time.sleep(0.05)
    assert client.infer("soft", ("x", X)).outputs


def test_sigterm_ends_idle_streams(models):
    with serving(models / "soft.rart", "--grpc-port", "0", "--drain", "60") as server:
        asked, end = queue.Queue(), object()
        call = Client(server.grpc_port).channel.stream_stream(f"/{SERVICE}/ModelStreamInfer")(iter(asked.get, end))
        asked.put(bodies({"inputs": [tensor("x", X)], "raw_input_contents": [RAW]})[0])
        assert MESSAGES["ModelStreamInferResponse"].FromString(next(call)).infer_response.outputs
        server.process.terminate()
        assert not list(call)
        asked.put(end)
        assert server.process.wait(30) == 0


INVALID, MISSING = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND
GOOD = tensor("x", X)
RAW = X.tobytes()
WRONG = [
    (MISSING, "did you mean `soft`?", {"model_name": "sotf"}),
    (MISSING, "versions are 1", {"model_name": "soft", "model_version": "2"}),
    (INVALID, "lacks `x`", {}),
    (INVALID, "given twice", {"inputs": [GOOD, GOOD], "raw_input_contents": [RAW, RAW]}),
    (INVALID, "no input `y`", {"inputs": [GOOD | {"name": "y"}], "raw_input_contents": [RAW]}),
    (INVALID, "has the datatype FP64", {"inputs": [GOOD | {"datatype": "FP64"}], "raw_input_contents": [RAW]}),
    (INVALID, "must have [n, 4]", {"inputs": [GOOD | {"shape": [4, 3]}], "raw_input_contents": [RAW]}),
    (INVALID, "integers from 0", {"inputs": [GOOD | {"shape": [-1, 4]}], "raw_input_contents": [RAW]}),
    (INVALID, "has 48 bytes", {"inputs": [GOOD | {"shape": [1 << 60, 4]}], "raw_input_contents": [RAW]}),
    (INVALID, "has 4 bytes", {"inputs": [GOOD], "raw_input_contents": [RAW[:4]]}),
    (INVALID, "1 inputs and 2 raw", {"inputs": [GOOD], "raw_input_contents": [RAW, RAW]}),
    (INVALID, "contents and raw", {"inputs": [GOOD | {"contents": {"fp32_contents": [1]}}],
                                   "raw_input_contents": [RAW]}),
    (INVALID, "0 elements in fp32_contents", {"inputs": [GOOD]}),
    (INVALID, "has fp64_contents; send fp32_contents", {"inputs": [GOOD | {"contents": {"fp64_contents": [1]}}]}),
    (INVALID, "no output `z`", {"inputs": [GOOD], "raw_input_contents": [RAW], "outputs": [{"name": "z"}]}),
    (INVALID, "not supported", {"inputs": [GOOD], "raw_input_contents": [RAW], "outputs": [
        {"name": "output", "parameters": {"classification": {"int64_param": 3}}}]}),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(WRONG)), ids=lambda i: WRONG[i][1])
def test_wrong_requests(client, number):
    code, text, fields = WRONG[number]
    refused(code, text, client.call, "ModelInfer", **({"model_name": "soft"} | fields))
    assert client.infer("soft", ("x", X)).outputs


def test_bytes_that_are_no_message(client):
    for body in (b"\xff" * 100, b"\x0a\xff\xff\xff\xff\x0f", bytes(range(256))):
        refused(INVALID, "not a ModelInferRequest", client.raw, "ModelInfer", body)
    refused(grpc.StatusCode.UNIMPLEMENTED, "", client.channel.unary_unary(f"/{SERVICE}/Other"), b"")


def test_limits(client):
    long = np.zeros((40_000, 4), np.float32)
    refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "larger than max", client.infer, "soft", ("x", long))
    zip = {"compression": grpc.Compression.Gzip}
    refused(grpc.StatusCode.UNIMPLEMENTED, "", client.raw, "ModelInfer", bytes(1000), **zip)
    refused(grpc.StatusCode.PERMISSION_DENIED, "--control", client.call, "RepositoryModelLoad", model_name="soft")


def slow_inputs(steps):
    return ("x", np.ones(4, np.float32)), ("n", np.array(steps))


def test_the_client_s_deadline_frees_the_request(grpc_server, client):
    http = grpc_server.client()
    for _ in range(3):
        refused(grpc.StatusCode.DEADLINE_EXCEEDED, "", client.infer, "deep", *slow_inputs(2_000_000), timeout=0.05)
    deadline = time.time() + 30
    while http.metric('relay_queue_length{model="deep"}') or http.metric('relay_running{model="deep"}'):
        assert time.time() < deadline
        time.sleep(0.05)
    assert http.metric("relay_request_bytes") == 0


def test_versions_are_loaded_and_listed(tmp_path):
    path = tmp_path / "soft.relay"
    path.write_text(SOFTMAX)
    with serving(path, "--control", "--grpc-port", "0") as server:
        client = Client(server.grpc_port)
        client.call("RepositoryModelUnload", model_name="soft")
        refused(MISSING, "not loaded", client.infer, "soft", ("x", X))
        assert [one.state for one in client.call("RepositoryIndex").models] == ["UNAVAILABLE"]
        assert not client.call("RepositoryIndex", ready=True).models
        client.call("RepositoryModelLoad", model_name="soft")
        assert client.infer("soft", ("x", X)).outputs
        path.write_text("broken")
        refused(INVALID, "the old one still answers", client.call, "RepositoryModelLoad", model_name="soft")


def test_sigterm_answers_what_was_read(tmp_path):
    path = tmp_path / "slow.relay"
    path.write_text(SLOW)
    with serving(path, "--grpc-port", "0", "--workers", "1") as server:
        client, answers = Client(server.grpc_port), []
        thread = threading.Thread(target=lambda: answers.append(client.infer("slow", *slow_inputs(100_000))))
        thread.start()
        while not server.client().metric('relay_running{model="slow"}'):
            time.sleep(0.01)
        server.process.terminate()
        thread.join(60)
        assert answers and answers[0].outputs
        assert server.process.wait(60) == 0


def test_a_port_in_use_is_said(grpc_server, models, capfd):
    from relay.serve.__main__ import main

    assert main([str(models / "soft.rart"), "--port", "0", "--grpc-port", str(grpc_server.grpc_port)]) == 1
    assert "cannot listen" in capfd.readouterr().err
