"""The zoo runner's output for networks under torch.compile: shares below 100 %, its exit status, and its page."""

import importlib
import json
import sys

import pytest
from programs import ROOT

torch = pytest.importorskip("torch")
ZOO = ROOT / "test" / "zoo"
pytestmark = pytest.mark.filterwarnings("ignore::relay.torch.FallbackWarning")


@pytest.fixture
def zoo(monkeypatch):
    """A module of test/zoo by name."""
    monkeypatch.syspath_prepend(ZOO)
    return importlib.import_module


class Partly(torch.nn.Module):
    """A module with one operator that runs in PyTorch."""

    def __init__(self, function):
        super().__init__()
        self.linear, self.function = torch.nn.Linear(4, 3), function

    def forward(self, x):
        return self.function(self.linear(x))


@pytest.mark.parametrize("function, outcome", [(torch.special.i0, "wrong"), (torch.relu, "equal")])
def test_nodes_that_run_in_pytorch_are_no_success(zoo, monkeypatch, function, outcome):
    train = zoo("torch_train")
    torch._dynamo.reset()
    torch.manual_seed(0)
    monkeypatch.setattr(train, "made", lambda source, name: (Partly(function), (torch.randn(2, 4),), None))
    result = train.trained("own", "partly")
    assert result["outcome"] == outcome
    assert ("of the nodes of inference run in PyTorch" in result["why"]) == (outcome == "wrong")
    assert ("of the nodes of training run in PyTorch" in result["why"]) == (outcome == "wrong")


@pytest.mark.parametrize("outcome, status", [("wrong", 1), ("equal", 0)])
def test_the_exit_status_of_a_run(zoo, monkeypatch, tmp_path, outcome, status):
    run = zoo("torch_run")
    monkeypatch.setattr(run, "networks", lambda: [("own", "partly")])
    result = {"outcome": outcome, "why": "10.0% of the nodes of training run in PyTorch"}
    monkeypatch.setattr(run, "looked_at", lambda *given: result)
    monkeypatch.setattr(sys, "argv", ["torch_run.py", "--train", "--results", str(tmp_path)])
    monkeypatch.setenv("PYTHONPATH", "")
    assert run.main() == status


def test_the_columns_of_what_torch_compile_gives(zoo, tmp_path):
    of = {"graphs": 1, "breaks": 0, "nodes": 9, "left": {}}
    both = {"relay": of, "default": of | {"graphs": 2, "breaks": 1, "left": {"aten.convolution_backward": 3}}}
    (tmp_path / "front").mkdir()
    result = {"outcome": "equal", "why": "", "front": {"inference": both, "training": both}}
    (tmp_path / "front/own.partly.json").write_text(json.dumps(result))
    (tmp_path / "store.json").write_text("{}")
    zoo("torch_page").write_page(tmp_path, ["own.partly"], tmp_path / "store.json", tmp_path / "page.md")
    [row] = [one for one in (tmp_path / "page.md").read_text().splitlines() if one.startswith("| own.partly")]
    assert [one.strip() for one in row.strip("|").split("|")][-3:] == ["2, 4", "0, 2", "0, 6"]
