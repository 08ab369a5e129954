"""New versions under load, the end of a server, and servers that cannot start."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import threading
import time

import numpy as np
import pytest
from relay.serve.server import bound_socket
from served import SLOW, SOFTMAX, command, serving

import relay

X = np.ones((1, 4), np.float32)


def scaled(path, factor):
    """Writes a model that multiplies by a number, under another name first, and renames it."""
    relay.compile(relay.parse(SOFTMAX.replace("nn.softmax(%x)", f"multiply(%x, {factor}f)"))).save(f"{path}.new")
    os.replace(f"{path}.new", path)


class Load(threading.Thread):
    """A client that asks without a pause until it is stopped."""

    def __init__(self, server):
        super().__init__()
        self.client, self.answers, self.stopped = server.client(), [], threading.Event()

    def run(self):
        while not self.stopped.is_set():
            self.answers.append(self.client.infer("scale", ("x", X)))
            time.sleep(0.002)


def test_twenty_new_versions_fail_no_request(tmp_path):
    path = tmp_path / "scale.rart"
    scaled(path, 1)
    with serving(path, "--control", "--max-batch", "4") as server:
        clients = [Load(server) for _ in range(3)]
        for one in clients:
            one.start()
        control = server.client()
        try:
            for factor in range(2, 22):
                scaled(path, factor)
                answer = control.ask("/v2/repository/models/scale/load", b"")
                assert answer.status == 200, answer.error
                # The new version answers as soon as it is loaded.
                assert control.infer("scale", ("x", X)).array().tolist() == [[factor] * 4]
        finally:
            for one in clients:
                one.stopped.set()
                one.join(60)
        for one in clients:
            assert {answer.status for answer in one.answers} == {200}
            factors = [answer.array()[0, 0] for answer in one.answers]
            assert factors == sorted(factors) and len(set(factors)) > 5, "versions were replaced out of order"
        assert control.metric('relay_loads_total{model="scale",result="loaded"}') == 21


def test_a_broken_file_leaves_the_old_version(tmp_path):
    path = tmp_path / "scale.rart"
    scaled(path, 3)
    with serving(path, "--control") as server:
        client = server.client()
        (tmp_path / "broken").write_bytes(b"RELAYART" + bytes(50))
        os.replace(tmp_path / "broken", path)
        answer = client.ask("/v2/repository/models/scale/load", b"")
        assert answer.status == 400 and "the old one still answers" in answer.error
        path.unlink()
        assert client.ask("/v2/repository/models/scale/load", b"").status == 400
        assert client.infer("scale", ("x", X)).array().tolist() == [[3] * 4]
        assert client.metric('relay_loads_total{model="scale",result="failed"}') == 2
        assert client.ask("/v2/repository/models/other/load", b"").status == 404


def test_models_are_unloaded_and_loaded(tmp_path):
    folder = tmp_path / "scale"
    folder.mkdir()
    scaled(folder / "1.rart", 1)
    with serving(folder, "--control") as server:
        client = server.client()
        assert client.ask("/v2/repository/models/scale/unload", b"").status == 200
        answer = client.infer("scale", ("x", X))
        assert answer.status == 404 and "not loaded" in answer.error
        assert client.ask("/v2/repository/index", b"").json[0]["state"] == "UNAVAILABLE"
        scaled(folder / "2.rart", 2)
        assert client.ask("/v2/repository/models/scale/load", b"").json["versions"] == ["1", "2"]
        assert client.infer("scale", ("x", X)).json["model_version"] == "2"
        shutil.rmtree(folder)


def test_sighup_loads_changed_models(tmp_path):
    path = tmp_path / "scale.rart"
    scaled(path, 1)
    with serving(path) as server:
        client = server.client()
        scaled(path, 2)
        server.process.send_signal(signal.SIGHUP)
        until = time.monotonic() + 30
        while client.infer("scale", ("x", X)).array()[0, 0] != 2:
            assert time.monotonic() < until, "the new file was not loaded"
            time.sleep(0.05)


def test_sigterm_answers_the_requests_that_were_read(tmp_path):
    (tmp_path / "slow.relay").write_text(SLOW)
    with serving(tmp_path / "slow.relay", "--workers", "1", "--timeout", "300", "--drain", "300") as server:
        answers, clients = [], [server.client() for _ in range(4)]

        def ask(client):
            answers.append(client.infer("slow", ("x", X[0]), ("n", np.int64(2_000_000))))

        threads = [threading.Thread(target=ask, args=(client,)) for client in clients]
        for one in threads:
            one.start()
        probe = server.client()
        until = time.monotonic() + 30
        while probe.metric('relay_queue_length{model="slow"}') < 3:  # the fourth runs
            assert time.monotonic() < until
        server.process.terminate()
        for one in threads:
            one.join(60)
        assert [answer.status for answer in answers] == [200] * 4
        assert server.process.wait(60) == 0
        try:
            socket.create_connection(("127.0.0.1", server.port), timeout=5).close()
        except ConnectionRefusedError:
            return
        raise AssertionError("the server still accepts connections")


def test_runs_without_end_are_cut_off(tmp_path):
    (tmp_path / "slow.relay").write_text(SLOW)
    with serving(tmp_path / "slow.relay", "--drain", "0.5", log=subprocess.PIPE) as server:
        client = server.client()
        asking = threading.Thread(target=lambda: client.infer("slow", ("x", X[0]), ("n", np.int64(10**11))))
        asking.start()
        probe = server.client()
        until = time.monotonic() + 30
        while probe.metric('relay_running{model="slow"}') == 0:
            assert time.monotonic() < until
        server.process.terminate()
        assert server.process.wait(30) == 1
        assert "1 runs did not end in 0.5 s" in server.process.stderr.read()
        asking.join()


def test_answers_are_not_delayed_by_nagles_algorithm():
    async def is_off():
        found = asyncio.get_running_loop().create_future()

        def connected(_, writer):
            option = writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            found.set_result(bool(option))
            writer.close()

        bound = bound_socket("127.0.0.1", 0)
        async with await asyncio.start_server(connected, sock=bound):
            _, writer = await asyncio.open_connection(*bound.getsockname())
            writer.close()
            return await asyncio.wait_for(found, 10)

    assert asyncio.run(is_off())


def fails(*arguments):
    done = subprocess.run(command(*arguments), capture_output=True, text=True, timeout=60)
    assert done.returncode in (1, 2) and "Traceback" not in done.stderr, done.stderr
    return done.stderr


@pytest.mark.slow
def test_servers_that_cannot_start(models, tmp_path):
    soft = models / "soft.rart"
    assert "no file or folder" in fails(tmp_path / "none.onnx")
    assert "two models are called `soft`" in fails(soft, soft)
    assert "not a name of a model" in fails(f"a/b={soft}")
    assert "has no version" in fails(f"empty={tmp_path}")
    (tmp_path / "two" / "1").mkdir(parents=True)
    assert "has 0 files" in fails(tmp_path / "two")
    assert "not a number of bytes" in fails(soft, "--max-body", "1T")
    assert "not a number from 1" in fails(soft, "--workers", "0")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "cannot listen" in fails(soft, "--port", taken.getsockname()[1])


def test_models_that_the_protocol_cannot_describe(tmp_path):
    for body, message in {
        'import "list"\ndef @main(%x: List[float32]) { %x }': "not tensors",
        "def @main(%x: Tensor[(2), float8_e5m2]) { %x }": "not of a type of the protocol",
    }.items():
        (tmp_path / "odd.relay").write_text(f'#[version = "0.0.5"]\n{body}\n')
        assert message in fails(tmp_path / "odd.relay")


def test_missing_packages_are_named():
    code = "import sys; sys.modules['uvicorn'] = None; import relay.serve"
    done = subprocess.run([command()[0], "-c", code], capture_output=True, text=True, timeout=60)
    assert "the server needs uvicorn" in done.stderr and "pip install relay[serve]" in done.stderr
