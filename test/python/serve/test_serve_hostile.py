"""Requests that are wrong in every way. Each is answered with a status and a text that says what to do, and the server
goes on."""

import concurrent.futures
import json
import pathlib
import random
import re
import socket

import numpy as np
import pytest
from served import SLOW, SOFTMAX, binary, serving, tensor

X = np.ones((2, 4), np.float32)
GOOD = tensor("x", X)


def without(key):
    return {name: value for name, value in GOOD.items() if name != key}


def parts(**changes):
    """Returns good inputs of the model `parts`, some of them changed."""
    given = {
        "a": tensor("a", np.ones((1, 2), np.int32)),
        "b": tensor("b", np.ones((1, 2), np.float16)),
        "c": tensor("c", np.array([True, False])),
        "d": tensor("d", np.float64(0)),
    }
    return [given[name] | changes.get(name, {}) for name in given]


WRONG = [
    ("soft", b"", "not JSON"),
    ("soft", b"\xff\xfe", "not JSON"),
    ("soft", b"{", "not JSON"),
    ("soft", b"[" * 100_000, "nested too deeply"),
    ("soft", b'{"a":' * 40_000, "nested too deeply"),
    ("soft", b'{"inputs": ' + b"9" * 10_000 + b"}", "not JSON"),
    ("soft", [], "not a JSON object"),
    ("soft", {}, "`inputs` is not a list"),
    ("soft", {"inputs": "x"}, "`inputs` is not a list"),
    ("soft", {"inputs": [1]}, "`inputs` is not a list"),
    ("soft", {"inputs": []}, "lacks `x`"),
    ("soft", {"inputs": [without("name")]}, "an input has no name"),
    ("soft", {"inputs": [GOOD | {"name": ["x"]}]}, "an input has no name"),
    ("soft", {"inputs": [GOOD | {"name": "X" * 1000}]}, "no input"),
    ("soft", {"inputs": [GOOD, GOOD]}, "given twice"),
    ("soft", {"inputs": [without("datatype")]}, "must have FP32"),
    ("soft", {"inputs": [GOOD | {"datatype": "FP64"}]}, "has the datatype FP64"),
    ("soft", {"inputs": [GOOD | {"datatype": {"FP32": 1}}]}, "must have FP32"),
    ("soft", {"inputs": [without("shape")]}, "not a list of integers"),
    ("soft", {"inputs": [GOOD | {"shape": [2, -4]}]}, "not a list of integers"),
    ("soft", {"inputs": [GOOD | {"shape": [2, 4.0]}]}, "not a list of integers"),
    ("soft", {"inputs": [GOOD | {"shape": [True, 4]}]}, "not a list of integers"),
    ("soft", {"inputs": [GOOD | {"shape": [10**30, 4]}]}, "not a list of integers"),
    ("soft", {"inputs": [GOOD | {"shape": [8]}]}, "must have [n, 4]"),
    ("soft", {"inputs": [GOOD | {"shape": [1] * 5000}]}, "of 5000 axes"),
    ("soft", {"inputs": [GOOD | {"shape": [4, 2]}]}, "must have [n, 4]"),
    ("soft", {"inputs": [GOOD | {"shape": [1 << 61, 4]}]}, "the request says"),
    ("soft", {"inputs": [without("data")]}, "no data"),
    ("soft", {"inputs": [GOOD | {"data": "1"}]}, "not a list"),
    ("soft", {"inputs": [GOOD | {"data": [1] * 7}]}, "send 8 elements"),
    ("soft", {"inputs": [GOOD | {"data": [[1] * 4, [1] * 3]}]}, "unequal lengths"),
    ("soft", {"inputs": [GOOD | {"data": [[1, 2], [3, 4], [5, 6], [7, 8]]}]}, "has the shape [4, 2]"),
    ("soft", {"inputs": [GOOD | {"data": [[[1]] * 4] * 2}]}, "lists beside other elements"),
    ("soft", {"inputs": [GOOD | {"data": ["1"] * 8}]}, "has strings"),
    ("soft", {"inputs": [GOOD | {"data": [None] * 8}]}, "has null"),
    ("soft", {"inputs": [GOOD | {"data": [{}] * 8}]}, "has objects"),
    ("soft", {"inputs": [GOOD | {"data": [True] * 8}]}, "has booleans"),
    ("soft", {"inputs": [GOOD | {"data": [1e39] * 8}]}, "not a FP32"),
    ("soft", {"inputs": [GOOD | {"data": [10**400] * 8}]}, "not a FP32"),
    ("soft", {"inputs": [GOOD | {"parameters": []}]}, "parameters of input `x`"),
    ("soft", {"inputs": [GOOD | {"parameters": {"binary_data_size": 32}}]}, "leave out one"),
    ("soft", {"inputs": [without("data") | {"parameters": {"binary_data_size": 32}}]}, "0 bytes are left"),
    ("soft", {"inputs": [without("data") | {"parameters": {"binary_data_size": -1}}]}, "binary_data_size of -1"),
    ("soft", {"inputs": [without("data") | {"parameters": {"binary_data_size": 1e3}}]}, "binary_data_size of 1000.0"),
    ("soft", {"inputs": [without("data") | {"parameters": {"shared_memory_region": "m"}}]}, "memory cannot be shared"),
    ("soft", {"inputs": [GOOD], "id": 5}, "`id` is not a string"),
    ("soft", {"inputs": [GOOD], "outputs": {"name": "output"}}, "`outputs` is not a list"),
    ("soft", {"inputs": [GOOD], "outputs": [{"name": "outptu"}]}, "did you mean `output`?"),
    ("soft", {"inputs": [GOOD], "parameters": {"binary_data_output": 1}}, "send true or false"),
    ("soft", {"inputs": [GOOD], "outputs": [{"name": "output", "parameters": {"classification": 3}}]}, "not supported"),
    ("parts", {"inputs": parts(a={"data": [1, 2.5]})}, "has fractions"),
    ("parts", {"inputs": parts(a={"data": [1, 1 << 31]})}, "not a INT32"),
    ("parts", {"inputs": parts(b={"data": [1, 70000]})}, "not a FP16"),
    ("parts", {"inputs": parts(c={"data": [1, 0]})}, "has integers"),
    ("parts", {"inputs": parts(d={"data": [1, 2]})}, "send 1 elements"),
    ("parts", {"inputs": parts(a={"shape": [2, 2], "data": [1] * 4})[::-1][:3]}, "lacks `a`"),
]


@pytest.mark.parametrize("number", range(len(WRONG)), ids=lambda i: f"{i}: {WRONG[i][2]}")
def test_wrong_requests(client, number):
    model, body, message = WRONG[number]
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = client.ask(f"/v2/models/{model}/infer", body)
    assert answer.status == 400 and message in answer.error and "; " in answer.error, answer.body[:1000]
    assert len(answer.body) < 1000
    assert client.infer("soft", ("x", X)).status == 200


@pytest.mark.parametrize(
    "length, message",
    [("0", "the header"), ("-1", "the header"), ("x", "the header"), ("9" * 30, "the header"), ("20", "not JSON")],
)
def test_wrong_lengths_of_the_json_object(client, length, message):
    body, _ = binary(("x", X))
    answer = client.ask("/v2/models/soft/infer", body, {"Inference-Header-Content-Length": length})
    assert answer.status == 400 and message in answer.error


def test_raw_bytes_that_do_not_fit(client):
    for changes, message in [
        ({"shape": [3, 4]}, "has 48"),
        ({"parameters": {"binary_data_size": 28}}, "has 28 bytes"),
        ({"parameters": {"binary_data_size": 1 << 62}}, "32 bytes are left"),
        ({"extra": b"more"}, "4 bytes follow"),
    ]:
        answer = client.ask("/v2/models/soft/infer", *binary(("x", X), **changes))
        assert answer.status == 400 and message in answer.error, answer.body
    flags = np.array([2, 1], np.uint8).view(bool)
    arrays = [("a", np.ones((1, 2), np.int32)), ("b", np.ones((1, 2), np.float16)), ("c", flags), ("d", np.float64(0))]
    answer = client.ask("/v2/models/parts/infer", *binary(*arrays))
    assert answer.status == 400 and "other than 0 and 1" in answer.error


def test_wrong_places(client):
    for path, status, message in [
        ("/v2/models/sotf", 404, "did you mean `soft`?"),
        ("/v2/models/" + "y" * 5000, 404, "there is no model"),
        ("/v2/models/soft/versions/2", 404, "its versions are 1"),
        ("/v2/models/soft/versions/..", 404, "no version"),
        ("/v2/models/..%2f..%2fetc", 404, "there is nothing at"),
        ("/", 404, "the paths are"),
        ("/v2/models/soft/infer", 405, "use POST"),
    ]:
        answer = client.ask(path)
        assert answer.status == status and message in answer.error and len(answer.body) < 1000, answer.body
    answer = client.ask("/v2/repository/models/soft/unload", b"")
    assert answer.status == 403 and "--control" in answer.error
    answer = client.ask("/v2/models/soft/infer", b"x", {"Content-Encoding": "gzip"})
    assert answer.status == 415


def raw(port, head, body=b"", end=False):
    """Returns all that the server says to these bytes. The client then sends nothing, or closes its side."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(head + body)
        if end:
            connection.shutdown(socket.SHUT_WR)
        said = b""
        while chunk := connection.recv(1 << 16):
            said += chunk
        return said


POST = b"POST /v2/models/soft/infer HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"


def test_long_bodies_are_refused_before_they_are_read(server):
    said = raw(server.port, POST + b"Content-Length: 99999999999999\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 413") and b"--max-body" in said
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    for _ in range(20):  # the answer arrives, although the server does not need what follows
        said = raw(server.port, POST + b"Transfer-Encoding: chunked\r\n\r\n", chunk * 5 + b"0\r\n\r\n")
        assert said.startswith(b"HTTP/1.1 413")


def test_broken_http_is_refused(server):
    for text in (
        b"\x16\x03\x01 not HTTP\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 50_000 + b"\r\n",
        POST + b"Content-Length: -5\r\n\r\n",
        POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    ):
        try:
            said = raw(server.port, text)
        except ConnectionError:  # closed while the client was still sending
            continue
        assert said.startswith(b"HTTP/1.1 400"), said[:200]
    raw(server.port, POST + b"Content-Length: 500\r\n\r\n", b'{"inputs"', end=True)
    assert server.client().infer("soft", ("x", X)).status == 200
    assert server.client().metric("relay_request_bytes") == 0


def test_runs_are_limited_in_memory(tmp_path):
    text = SOFTMAX.replace("(n, 4)", "(n)").replace("nn.softmax(%x)", "nn.softmax(add(expand_dims(%x, axis=1), %x))")
    (tmp_path / "square.relay").write_text(text)
    with serving(tmp_path / "square.relay", "--memory-limit", "4M") as server:
        client = server.client()
        answer = client.infer("square", ("x", np.ones(10_000, np.float32)))
        assert answer.status == 413 and "--memory-limit" in answer.error, answer.error
        assert client.infer("square", ("x", np.ones(10, np.float32))).status == 200


def test_slow_bodies_and_runs_run_out_of_time(tmp_path):
    (tmp_path / "slow.relay").write_text(SLOW)
    with serving(tmp_path / "slow.relay", "--timeout", "1", "--drain", "1", "--workers", "1") as server:
        head = POST.replace(b"soft", b"slow")
        said = raw(server.port, head + b"Content-Length: 500\r\n\r\n", b"{")
        assert said.startswith(b"HTTP/1.1 408") and b"send it faster" in said
        client = server.client()
        answer = client.infer("slow", ("x", X[0]), ("n", np.int64(10**11)))
        assert answer.status == 504 and "--timeout" in answer.error
        assert client.ask("/v2/health/ready").status == 200


def test_a_flood_is_refused_with_a_time_to_retry(tmp_path):
    (tmp_path / "slow.relay").write_text(SLOW)
    with serving(tmp_path / "slow.relay", "--max-queue", "5", "--workers", "1") as server:

        def ask(_):
            return server.client().infer("slow", ("x", X[0]), ("n", np.int64(30_000)))

        with concurrent.futures.ThreadPoolExecutor(40) as pool:
            answers = list(pool.map(ask, range(200)))
        statuses = {answer.status for answer in answers}
        assert statuses == {200, 503}
        refused = next(answer for answer in answers if answer.status == 503)
        assert int(refused.headers["Retry-After"]) >= 1 and "retry in" in refused.error
        client = server.client()
        assert client.infer("slow", ("x", X[0]), ("n", np.int64(1))).status == 200
        assert client.metric('relay_queue_length{model="slow"}') == 0


# --- random requests --------------------------------------------------------------------------------------------------
PARTS_OF_REQUESTS = [
    None, True, -1, 0, 2.5, 1 << 70, 1e308, "", "\u202e\0", "../../etc/passwd", "x" * 10_000, [], [[]], [1] * 5000, {},
    {"a": {}}, "FP64", "BYTES", {"binary_data_size": 1 << 40}, {"binary_data_output": True},
]  # fmt: skip


def with_another_part(draw, value):
    """Returns a JSON value in which one part, at any depth, is another one."""
    if isinstance(value, (list, dict)) and value and draw.random() < 0.85:
        key = draw.choice(list(value) if isinstance(value, dict) else range(len(value)))
        changed = value.copy()
        changed[key] = with_another_part(draw, value[key])
        return changed
    return draw.choice(PARTS_OF_REQUESTS)


def damaged(draw, text):
    """Returns bytes of which some are missing, repeated, new or different."""
    begin, end = sorted(draw.randrange(len(text) + 1) for _ in range(2))
    flipped = bytes(byte ^ 1 << draw.randrange(8) for byte in text[begin : begin + 3])
    new = draw.randbytes(draw.randrange(1, 40))
    return draw.choice([
        text[:begin], text[:begin] + text[end:], text[:end] + text[begin:], text[:begin] + new + text[begin:],
        text[:begin] + flipped + text[begin + 3 :],
    ])  # fmt: skip


def hostile_request(draw):
    """Returns the bytes of a request in which the JSON object, the body or, then true, anything is wrong."""
    inputs = draw.choice([[GOOD], parts()])
    message = {"id": "7", "inputs": inputs, "outputs": [{"name": "output"}], "parameters": {"binary_data_output": True}}
    body, headers = json.dumps(with_another_part(draw, message)).encode(), {}
    if draw.random() < 0.3:
        body, headers = binary(("x", X))
        body = damaged(draw, body)
    elif draw.random() < 0.3:
        body = damaged(draw, body)
    headers = {"Host": "x", "Connection": "close", "Content-Length": len(body), **headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    model = draw.choice(["soft", "parts"])
    text = f"POST /v2/models/{model}/infer HTTP/1.1\r\n{lines}\r\n".encode() + body
    return (damaged(draw, text), True) if draw.random() < 0.3 else (text, False)


def memory_of(process):
    """Returns the bytes of memory of a process, and the number of its open files."""
    folder = pathlib.Path("/proc") / str(process.pid)
    pages = int((folder / "statm").read_text().split()[1])
    return pages * 4096, len(list((folder / "fd").iterdir()))


def test_a_thousand_hostile_requests(server):
    draw, statuses = random.Random(7), set()
    for number in range(1000):
        if number == 200:
            before = memory_of(server.process)
        request, is_broken_http = hostile_request(draw)
        try:
            said = raw(server.port, request, end=is_broken_http)
        except ConnectionError:  # closed while the client was still sending
            continue
        status = re.match(rb"HTTP/1.1 (\d+) ", said)
        assert status or not said, (number, said[:200])
        statuses.add(int(status[1]) if status else None)
        assert len(said) < 3000 or status[1] == b"200", (number, said[:200])
    assert {200, 400} <= statuses <= {200, 400, 404, 405, 411, 413, 415, 501, None}, statuses
    memory, files = memory_of(server.process)
    assert memory < before[0] + (32 << 20) and files <= before[1] + 8, (before, memory, files)
    client = server.client()
    assert client.infer("soft", ("x", X)).status == 200
    assert client.metric("relay_request_bytes") == 0
