"""A server in a process of its own, and a client of it over the loopback."""

import contextlib
import http.client
import json
import re
import subprocess
import sys

import numpy as np

SOFTMAX = """#[version = "0.0.5"]
def @main(%x: Tensor[(n, 4), float32]) {
  nn.softmax(%x)
}
"""

PARTS = """#[version = "0.0.5"]
def @main(%a: Tensor[(n, 2), int32], %b: Tensor[(n, 2), float16], %c: Tensor[(2), bool], %d: float64) {
  (add(%a, %a), multiply(%b, 2f16), logical_not(%c), add(%d, 1f64))
}
"""

# Doubles a row as often as the request says, so that a test chooses how long a run takes.
SLOW = """#[version = "0.0.5"]
def @again(%x: Tensor[(4), float32], %n: int64) -> Tensor[(4), float32] {
  if (equal(%n, 0i64)) { %x } else { @again(sin(%x), subtract(%n, 1i64)) }
}
def @main(%x: Tensor[(4), float32], %n: int64) {
  @again(%x, %n)
}
"""

DATATYPES = {
    "float32": "FP32",
    "float64": "FP64",
    "float16": "FP16",
    "int64": "INT64",
    "int32": "INT32",
    "bool": "BOOL",
}


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body
        length = headers.get("Inference-Header-Content-Length")
        self.raw = body[int(length) :] if length else b""
        head = body[: int(length)] if length else body
        self.json = json.loads(head) if "json" in headers.get("Content-Type", "json") or length else None

    def array(self, place=0):
        """Returns an output that was sent as JSON."""
        one = self.json["outputs"][place]
        dtype = next((numpy for numpy, name in DATATYPES.items() if name == one["datatype"]), object)
        return np.array(one["data"], dtype).reshape(one["shape"])

    @property
    def error(self):
        return self.json["error"]


class Client:
    """A connection that stays open, for one thread."""

    def __init__(self, port):
        self.port = port
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(self, path, body=None, headers=(), method=None):
        self.connection.request(method or ("GET" if body is None else "POST"), path, body, dict(headers))
        answer = self.connection.getresponse()
        return Answer(answer.status, answer.headers, answer.read())

    def infer(self, model, *inputs, version=None, **message):
        """Sends arrays by name, (name, array), or ready objects as JSON."""
        objects = [one if isinstance(one, dict) else tensor(*one) for one in inputs]
        place = f"/v2/models/{model}" + (f"/versions/{version}" if version else "")
        return self.ask(f"{place}/infer", json.dumps({"inputs": objects, **message}).encode())

    def metric(self, name):
        """Returns the value of a number of /metrics, 0 if it is not there."""
        text = self.ask("/metrics", method="GET").body.decode()
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.M)
        return float(found[1]) if found else 0.0


def tensor(name, array, **more):
    array = np.asarray(array)
    data = {} if "parameters" in more else {"data": array.reshape(-1).tolist()}
    return {
        "name": name,
        "datatype": DATATYPES.get(array.dtype.name, "BYTES"),
        "shape": list(array.shape),
        **data,
        **more,
    }


def binary(*arrays, outputs=True, extra=b"", **changes):
    """Returns a body of raw tensors, (name, array), and its headers."""
    objects = [tensor(name, a, parameters={"binary_data_size": a.nbytes}) for name, a in arrays]
    objects[0].update(changes)
    head = json.dumps({"inputs": objects, "parameters": {"binary_data_output": outputs}}).encode()
    body = head + b"".join(a.tobytes() for _, a in arrays) + extra
    return body, {"Inference-Header-Content-Length": str(len(head))}


class Server:
    def __init__(self, process, port, grpc_port=None):
        self.process, self.port, self.grpc_port = process, port, grpc_port

    def client(self):
        return Client(self.port)


def command(*arguments):
    return [sys.executable, "-m", "relay.serve", *map(str, arguments)]


@contextlib.contextmanager
def serving(*arguments, log=subprocess.DEVNULL):
    """Yields a running server, which ends with the block."""
    process = subprocess.Popen(command(*arguments, "--port", "0"), stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        line = process.stdout.readline()
        assert line, f"the server ended with status {process.wait()}"
        ports = [int(port) for port in re.findall(r"://\S+:(\d+)", line)]
        yield Server(process, *ports)
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        finally:
            process.stdout.close()
