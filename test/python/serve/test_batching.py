"""Requests that are joined: the same results as alone, the limits of a batch, and models that cannot be joined."""

import concurrent.futures
import subprocess

import numpy as np
import pytest
from served import SOFTMAX, command, serving

import relay

NETWORK = """#[version = "0.0.5"]
def @main(%x: Tensor[(n, t, 8), float32], %ids: Tensor[(n), int64], %table: Tensor[(2, 8), float32]) {
  let %row = expand_dims(take(%table, %ids, axis=0), axis=1);
  (nn.softmax(add(%x, %row)), sum(%x, axis=[1, 2]))
}
"""


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """A file of a model with two open sizes and two inputs with rows."""
    folder = tmp_path_factory.mktemp("network")
    table = np.random.default_rng(3).normal(size=(2, 8)).astype(np.float32)
    function = relay.bind_params_by_name(relay.parse(NETWORK)["main"], {"table": table})
    module = relay.IRModule.from_expr(function)
    relay.compile(module).save(folder / "network.rart")
    return folder / "network.rart"


@pytest.fixture(scope="module")
def server(network, models):
    arguments = ["--max-batch", "8", "--max-delay", "0.3", "--workers", "1"]
    with serving(network, models / "soft.rart", *arguments) as one:
        yield one


def together(server, requests, model):
    """Returns the answers of requests that are sent at the same time, each on its own connection."""

    def ask(inputs):
        return server.client().infer(model, *inputs)

    with concurrent.futures.ThreadPoolExecutor(len(requests)) as pool:
        return list(pool.map(ask, requests))


def rows_of(answers):
    return [int(answer.headers["Relay-Batch-Rows"]) for answer in answers]


def test_joined_requests_have_the_results_of_single_ones(server, network):
    model, generator = relay.load(network), np.random.default_rng(2)
    requests = []
    for rows, length in [(1, 3), (2, 3), (1, 3), (3, 5), (1, 5), (1, 3)]:
        x = generator.normal(size=(rows, length, 8)).astype(np.float32)
        requests.append([("x", x), ("ids", generator.integers(0, 2, rows))])
    answers = together(server, requests, "network")
    assert [answer.status for answer in answers] == [200] * 6
    for answer, ((_, x), (_, ids)) in zip(answers, requests, strict=True):
        for place, alone in enumerate(model(x, ids, threads=1)):
            # The order of a row's sum depends on the batch: 40 terms, some units in the last place of float32.
            np.testing.assert_allclose(answer.array(place), alone, rtol=1e-5, atol=1e-5)
    assert max(rows_of(answers)) > 1, "no request was joined"


def test_batches_are_full_but_not_longer(server):
    x = np.ones((3, 4), np.float32)
    rows = rows_of(together(server, [[("x", x)]] * 5, "soft"))
    assert max(rows) == 6  # three requests would have 9 rows
    assert rows_of(together(server, [[("x", np.ones((20, 4), np.float32))]], "soft")) == [20]


def test_a_full_batch_does_not_wait(models):
    with serving(models / "soft.rart", "--max-batch", "2", "--max-delay", "20") as server:
        answers = together(server, [[("x", np.ones((1, 4), np.float32))]] * 2, "soft")
    assert rows_of(answers) == [2, 2]  # within the client's patience, which is shorter than two delays


def test_a_guilty_request_fails_alone(tmp_path):
    text = SOFTMAX.replace("(n, 4)", "(n, t)").replace("nn.softmax(%x)", "add(%x, reshape(%x, newshape=[-1, 4]))")
    (tmp_path / "fours.relay").write_text(text)
    with serving(tmp_path / "fours.relay", "--max-batch", "8", "--max-delay", "0.3", "--workers", "1") as server:
        good, bad = [("x", np.ones((2, 4), np.float32))], [("x", np.ones((2, 6), np.float32))]
        answers = together(server, [good, bad, good], "fours")
    assert [answer.status for answer in answers] == [200, 400, 200]


def test_rows_of_different_inputs_must_agree(server):
    x, ids = np.ones((2, 3, 8), np.float32), np.zeros(3, np.int64)
    answer = server.client().infer("network", ("x", x), ("ids", ids))
    assert answer.status == 400 and "sizes 2, 3" in answer.error


@pytest.mark.parametrize(
    "body, message",
    [
        ("nn.softmax(%x, axis=0)", "depend on the other rows"),
        ("sum(%x)", "no open first size in common"),
        ("subtract(%x, mean(%x, axis=0, keepdims=True))", "depend on the other rows"),
        ("cumsum(%x, axis=0)", "depend on the other rows"),
    ],
)
def test_models_that_mix_rows_are_refused(tmp_path, body, message):
    (tmp_path / "mixing.relay").write_text(SOFTMAX.replace("nn.softmax(%x)", body))
    arguments = command(tmp_path / "mixing.relay", "--max-batch", "4", "--port", "0")
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and message in done.stderr and "--max-batch 1" in done.stderr, done.stderr


def test_sizes_of_the_first_run_are_options(tmp_path):
    text = SOFTMAX.replace("(n, 4)", "(n, t)").replace("nn.softmax(%x)", "reshape(%x, newshape=[-1, 7])")
    (tmp_path / "sevens.relay").write_text(text)
    arguments = command(tmp_path / "sevens.relay", "--port", "0")
    done = subprocess.Popen([*arguments, "--size", "t=7"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert "serving sevens" in done.stdout.readline()
    finally:
        done.terminate()
        assert "could not run" not in done.communicate(timeout=60)[1]
