"""Workers that Ray places: the same bits as one process, also if a worker is killed. make test-ray runs it."""

import re
import subprocess
import sys

import divided_workers
import numpy as np
import pytest
from ray import cluster_utils

SCRIPT, STEPS = divided_workers.__file__, 8


def final(folder):
    with np.load(folder / "final.npz") as arrays:
        return {name: arrays[name].tobytes() for name in arrays.files}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    subprocess.run([sys.executable, SCRIPT, str(folder), str(STEPS), "--kind=zero1"], check=True, timeout=900)
    return final(folder)


def run(folder, address, workers, *more, restarts=2):
    command = [sys.executable, "-m", "relay", "train", f"--ray={address}", f"--workers={workers}"]
    command += [f"--restarts={restarts}", SCRIPT, str(folder), str(STEPS), "--kind=zero1", *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)


@pytest.fixture(scope="module")
def cluster():
    """Two nodes of one core each, with processes of their own, on this machine."""
    made = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.add_node(num_cpus=1)
    yield made.address
    made.shutdown()


def test_two_workers_on_a_cluster_of_this_machine(tmp_path, undisturbed):
    done = run(tmp_path, "local", 2)
    assert done.returncode == 0, done.stderr
    assert final(tmp_path) == undisturbed


def test_a_killed_worker_on_one_of_two_nodes(tmp_path, cluster, undisturbed):
    done = run(tmp_path, cluster, 2, "--kill=1:4")
    assert done.returncode == 0, done.stderr
    assert re.search(r"worker \d on [\d.]+ ended .*; all workers are started again \(1 of 2\)", done.stderr), (
        done.stderr
    )
    assert final(tmp_path) == undisturbed


def test_a_mistake_of_a_worker_ends_the_training(tmp_path, cluster):
    done = run(tmp_path, cluster, 2, "--fail=1:4", restarts=0)
    assert done.returncode == 1
    assert re.search(r"worker \d on [\d.]+ ended with status 1", done.stderr), done.stderr


def test_more_workers_than_cores_and_no_cluster(tmp_path, cluster, monkeypatch):
    done = run(tmp_path, cluster, 5)
    assert done.returncode == 1 and "5 workers need as many cores, and the cluster has 2" in done.stderr, done.stderr
    done = run(tmp_path, "127.0.0.1:1", 2)
    assert done.returncode == 1 and "there is no Ray cluster at '127.0.0.1:1'" in done.stderr, done.stderr
