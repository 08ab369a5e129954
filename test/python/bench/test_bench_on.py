"""`relay bench --on ssh://HOST`: a server of SSH on this machine, with keys and a configuration of its own."""

import json
import os
import subprocess

import numpy as np
import pytest
import ssh_server
from programs import ROOT, cli, fails, needs_program

MODEL = ROOT / "examples/tour/dense.relay"
pytestmark = [needs_program, ssh_server.needed]


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """The address and the configuration of ssh for it."""
    subprocess.run(
        ["cmake", "--build", ROOT / "build/release", "--target", "relay_run"], check=True, capture_output=True
    )
    with ssh_server.running(tmp_path_factory.mktemp("ssh")) as found:
        yield found


def measured(machine, model, *options):
    address, config = machine
    return cli("bench", model, "--on", address, "--ssh-config", config, "--time", "0.05", *options, timeout=120)


def test_a_model_is_measured_there(machine, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((2, 4), "float32"))
    done = measured(machine, MODEL, "--json", "--threads", "1,2", "--input", f"x={tmp_path / 'x.npy'}")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [row["threads"] for row in rows] == [1, min(2, os.cpu_count())]
    for row in rows:
        figures = row["relay"]
        assert figures["runs"] >= 1 and 0 < figures["min_us"] <= figures["median_us"] <= figures["p99_us"]
        assert figures["ready_ms"] > 0 and figures["peak_bytes"] > 1 << 20
    assert f"measured on {machine[0]}" in done.stderr


def test_an_artifact_is_measured_there_and_nothing_is_left(machine, tmp_path):
    assert cli("compile", MODEL, "-o", tmp_path / "dense.rart").returncode == 0
    before = set(os.listdir("/tmp"))
    done = measured(machine, tmp_path / "dense.rart")
    assert done.returncode == 0 and "median us" in done.stdout, done.stderr
    assert not [name for name in set(os.listdir("/tmp")) - before if os.path.exists(f"/tmp/{name}/relay-run")]


def test_an_artifact_for_another_processor_is_refused_there(machine, tmp_path):
    assert cli("compile", MODEL, "--target", "cortex-a72", "-o", tmp_path / "dense.rart").returncode == 0
    done = measured(machine, tmp_path / "dense.rart")
    assert done.returncode == 1 and "R0602" in done.stderr and "--runner" in done.stderr, done.stderr


@pytest.mark.parametrize(
    "address", ["board", "ssh://-oProxyCommand=x", "http://board", "ssh://board:port", "ssh://b/x"]
)
def test_wrong_addresses(machine, address):
    said = fails("R0504", "bench", MODEL, "--on", address)
    assert "write ssh://[USER@]HOST[:PORT]" in said


def test_wrong_options(machine):
    assert "leave out --vs" in fails("R0504", "bench", MODEL, "--on", machine[0], "--vs", "onnxruntime")
    assert "--runner build/aarch64/bin/relay-run" in fails(
        "R0401", "bench", MODEL, "--on", machine[0], "--runner", "absent"
    )
