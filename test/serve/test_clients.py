"""`make test-serve`: clients that others wrote, in an environment of their own, against `relay serve`."""

import json
import pathlib
import shutil
import subprocess
import sys

import onnx
import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "test/python/support"))

import small_texts  # noqa: E402
from served import PARTS, SOFTMAX, serving  # noqa: E402

CLIENTS = ROOT / "build" / "test-serve" / "bin" / "python"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    (folder / "soft.relay").write_text(SOFTMAX)
    (folder / "parts.relay").write_text(PARTS)
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.STRING, ["n"]) for name in "xy")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["x"], ["y"])], "same", [x], [y])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 19)]), folder / "same.onnx")
    tiny = shutil.copytree(small_texts.folder_path(), folder / "tiny")
    config = json.loads((tiny / "config.json").read_text()) | {"max_position_embeddings": 4000}
    (tiny / "config.json").write_text(json.dumps(config))
    files = [folder / "soft.relay", folder / "parts.relay", folder / "same.onnx", tiny]
    with serving(*files, "--control", "--grpc-port", "0", "--slots", "2", "--max-tokens", "2000") as one:
        yield one


def check(client, *arguments):
    words = [CLIENTS, HERE / client, *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and done.stdout.strip() == "ok", done.stdout + done.stderr


def test_triton_s_clients(server):
    check("triton_client.py", server.port, server.grpc_port, ROOT / "python" / "relay" / "serve" / "rpc")


def test_openai_s_client(server):
    check("openai_client.py", server.port)
