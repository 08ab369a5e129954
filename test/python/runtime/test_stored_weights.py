"""The contents of an artifact besides the weights of its model: additions of algorithms, which the report lists, and
little else."""

import sys

import pytest
from forms import each_nth

pytest.importorskip("torch")
from programs import ROOT, cli_json

sys.path.insert(0, str(ROOT / "bench"))
import networks

TARGETS = ["zen4", "sapphirerapids", "haswell"]


@pytest.fixture(scope="module", params=["mlp", "dqn", "mobilenet_v2"])
def model(request, tmp_path_factory):
    return networks.write(request.param, tmp_path_factory.mktemp("networks"))[0]


@pytest.mark.parametrize("target", each_nth(3, TARGETS))
def test_weights_are_padded_by_a_tenth_at_most(model, target, tmp_path):
    """Packing fills up the last block of rows: 10 results of a layer become two vectors of 8, or one of 16."""
    report = cli_json("compile", model, "--target", target, "-o", tmp_path / "model.rart", "--json")
    stored = report["constants"]["bytes"] + report["constants"]["prepared_bytes"]
    added = sum(group.get("added_bytes", 0) for group in report["groups"])
    assert all(group["saved_ms"] > 0 for group in report["groups"] if group.get("added_bytes"))
    assert stored - added <= 1.1 * report["constants"]["model_bytes"]
