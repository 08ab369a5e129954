"""Ray: workers that it places have the bits of one process, also if one is killed; relay tune measures on its nodes.
make test-ray runs these tests."""

import json
import os
import re
import signal
import subprocess
import sys

import divided_workers
import numpy as np
import pytest
from ray import cluster_utils

SCRIPT, STEPS = divided_workers.__file__, 8
LIMIT = 600  # seconds of a run; one takes about 30 on an idle machine


def output_of(command):
    """Runs a command. Returns its exit status and stderr. Fails with the output so far if it does not end in time."""
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        _, written = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        _, written = process.communicate()
        pytest.fail(f"no end in {LIMIT} s: {' '.join(map(str, command))}\nIts messages:\n{written}")
    return process.returncode, written


def final(folder):
    with np.load(folder / "final.npz") as arrays:
        return {name: arrays[name].tobytes() for name in arrays.files}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    status, written = output_of([sys.executable, SCRIPT, str(folder), str(STEPS), "--kind=mlp"])
    assert status == 0, written
    return final(folder)


def run(folder, address, workers, *more, restarts=2):
    command = [sys.executable, "-m", "relay", "train", f"--ray={address}", f"--workers={workers}"]
    return output_of([*command, f"--restarts={restarts}", SCRIPT, str(folder), str(STEPS), "--kind=mlp", *more])


def added(cluster, options):
    """Adds a node. Ray gives its processes 30 s to start, which a busy machine can miss."""
    for left in reversed(range(3)):
        try:
            return cluster.add_node(**options)
        except Exception as error:
            if not left:
                pytest.fail(f"a node of Ray did not start on this machine in three attempts: {error}", pytrace=False)


@pytest.fixture(scope="module")
def cluster():
    """Two nodes of one core each, with processes of their own, on this machine."""
    made = cluster_utils.Cluster()
    for options in ({"num_cpus": 1, "include_dashboard": False}, {"num_cpus": 1}):
        added(made, options)
    yield made.address
    made.shutdown()


def test_two_workers_on_a_cluster_of_this_machine(tmp_path, undisturbed):
    status, written = run(tmp_path, "local", 2)
    assert status == 0, written
    assert final(tmp_path) == undisturbed


def test_a_killed_worker_on_one_of_two_nodes(tmp_path, cluster, undisturbed):
    status, written = run(tmp_path, cluster, 2, "--kill=1:4")
    assert status == 0, written
    assert re.search(r"worker \d on [\d.]+ ended .*; all workers are started again \(1 of 2\)", written), written
    assert final(tmp_path) == undisturbed


def test_a_mistake_of_a_worker_ends_the_training(tmp_path, cluster):
    status, written = run(tmp_path, cluster, 2, "--fail=1:4", restarts=0)
    assert status == 1
    assert re.search(r"worker \d on [\d.]+ ended with status 1", written), written


def test_more_workers_than_cores_and_no_cluster(tmp_path, cluster):
    status, written = run(tmp_path, cluster, 5)
    assert status == 1 and re.search(r"5 workers need as many cores, and the cluster has \d", written), written
    status, written = run(tmp_path, "127.0.0.1:1", 2)
    assert status == 1 and "there is no Ray cluster at '127.0.0.1:1'" in written, written


def test_schedules_are_measured_on_the_nodes(tmp_path, cluster):
    program = tmp_path / "net.relay"
    program.write_text(
        '#[version = "0.0.5"]\n'
        "def @main(%x: Tensor[(64, 512), float32], %w: Tensor[(512, 512), float32]) { nn.dense(nn.relu(%x), %w) }\n"
    )
    records = ["--records", str(tmp_path / "tuning.db"), "--budget", "10s", "--threads", "1", "--json"]
    command = [sys.executable, "-m", "relay", "tune", str(program), "--on", f"ray://{cluster}", *records]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=LIMIT, env={**os.environ, "RELAY_PYTHON": sys.executable}
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["trials"] > 0
    measured = re.search(r"builds are measured on (ray://[\d.]+), (ray://[\d.]+), with 1 threads", done.stderr)
    assert measured, done.stderr
