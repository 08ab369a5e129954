"""The official client of Triton against a running server, over HTTP and gRPC: HTTP_PORT GRPC_PORT."""

import sys

import numpy as np
import tritonclient.grpc
import tritonclient.http
from tritonclient.grpc import service_pb2
from tritonclient.utils import InferenceServerException

X = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
WANTED = np.exp(X.astype(np.float64)) / np.exp(X.astype(np.float64)).sum(1, keepdims=True)


def check_health(client):
    assert client.is_server_live() and client.is_server_ready()
    assert client.is_model_ready("soft") and client.is_model_ready("soft", "1")


def check_metadata(client, **how):
    server, model = client.get_server_metadata(**how), client.get_model_metadata("soft", **how)
    assert server["name"] == "relay" and model["versions"] == ["1"]
    assert model["inputs"][0]["name"] == "x" and model["inputs"][0]["datatype"] == "FP32"
    assert [int(size) for size in model["inputs"][0]["shape"]] == [-1, 4]
    return server["version"], model


def check_repository(client, **how):
    client.unload_model("soft")
    index = client.get_model_repository_index(**how)
    listed = index["models"] if isinstance(index, dict) else index
    assert [one["state"] for one in listed if one["name"] == "soft"] == ["UNAVAILABLE"]
    client.load_model("soft")
    assert client.is_model_ready("soft")


def inputs_of(library, **arrays):
    made = []
    for name, array in arrays.items():
        datatype = {"float32": "FP32", "int32": "INT32", "float16": "FP16", "bool": "BOOL", "float64": "FP64"}
        made.append(library.InferInput(name, list(array.shape), datatype.get(array.dtype.name, "BYTES")))
        made[-1].set_data_from_numpy(array)
    return made


def check_inference(client, library):
    outputs = [library.InferRequestedOutput("output")]
    for how in ({}, {"outputs": outputs}, {"model_version": "1", "request_id": "seven"}):
        answer = client.infer("soft", inputs_of(library, x=X), **how)
        np.testing.assert_allclose(answer.as_numpy("output"), WANTED, rtol=1e-6)
    a, b = np.array([[1, -2]], np.int32), np.array([[0.5, 3]], np.float16)
    answer = client.infer("parts", inputs_of(library, a=a, b=b, c=np.array([True, False]), d=np.array(0.1)))
    names = [one["name"] for one in check_names(client)]
    got = [answer.as_numpy(name) for name in names]
    assert [one.tolist() for one in got] == [[[2, -4]], [[1, 6]], [False, True], 1.1], got
    texts = np.array(["naïve", "", "日本"], object)
    same = client.infer("same", inputs_of(library, x=texts)).as_numpy("y")
    assert [one.decode() for one in same] == texts.tolist()


def check_names(client):
    how = {"as_json": True} if isinstance(client, tritonclient.grpc.InferenceServerClient) else {}
    return client.get_model_metadata("parts", **how)["outputs"]


def check_errors(client, library, codes):
    """Wrong requests are exceptions of the client, with the server's texts."""
    wrong = [("sotf", X, "did you mean `soft`?"), ("soft", X[:, :3].copy(), "must have [n, 4]"),
             ("soft", X.astype(np.float64), "must have FP32")]  # fmt: skip
    for (model, array, text), code in zip(wrong, codes, strict=True):
        try:
            client.infer(model, inputs_of(library, x=array))
        except InferenceServerException as error:
            assert text in error.message() and code in error.status(), error
        else:
            raise AssertionError(f"{text}: no error")


def check_large(client, library):
    """Tensors beyond gRPC's usual limit of 4 MB, both ways."""
    large = np.random.default_rng(1).normal(size=(1_000_000, 4)).astype(np.float32)
    got = client.infer("soft", inputs_of(library, x=large)).as_numpy("output")
    assert got.shape == large.shape and np.allclose(got.sum(1), 1, atol=1e-5)


def check_asynchronous(client):
    answers = []
    for _ in range(50):
        client.async_infer(
            "soft", inputs_of(tritonclient.grpc, x=X), lambda result, error: answers.append((result, error))
        )
    while len(answers) < 50:
        pass
    assert all(error is None for _, error in answers)
    for result, _ in answers:
        np.testing.assert_allclose(result.as_numpy("output"), WANTED, rtol=1e-6)


def check_messages():
    """Our messages have the fields, numbers and types of the client's file of the protocol."""
    from google.protobuf import descriptor_pb2

    sys.path.insert(0, sys.argv[3])
    from protocol import MESSAGES

    theirs = {}
    for one in service_pb2.DESCRIPTOR.message_types_by_name.values():
        theirs |= {one.name: one, **one.nested_types_by_name}
    kinds = descriptor_pb2.FieldDescriptorProto
    for name, ours in MESSAGES.items():
        for field in ours.DESCRIPTOR.fields:
            other = theirs[name].fields_by_name[field.name]
            got, wanted = ((one.number, kinds.Type.Name(one.type), one.is_repeated) for one in (field, other))
            assert got == wanted, (name, field.name, got, wanted)


def main():
    http = tritonclient.http.InferenceServerClient(f"127.0.0.1:{sys.argv[1]}")
    rpc = tritonclient.grpc.InferenceServerClient(f"127.0.0.1:{sys.argv[2]}")
    check_messages()
    for client, library, how in ((http, tritonclient.http, {}), (rpc, tritonclient.grpc, {"as_json": True})):
        check_health(client)
        check_metadata(client, **how)
        check_repository(client, **how)
        check_inference(client, library)
        codes = ["NOT_FOUND"] + ["INVALID_ARGUMENT"] * 2 if how else ["404", "400", "400"]
        check_errors(client, library, codes)
        check_large(client, library)
    check_asynchronous(rpc)
    print("ok")


main()
