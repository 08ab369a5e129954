"""Reports name the nodes of PyTorch's graph: each one is in a kernel, removed by the importer, or removed by a pass."""

import operator
import re

import pytest

import relay

torch = pytest.importorskip("torch")
nn = torch.nn


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
        self.last = nn.Linear(8, 4)

    def forward(self, x):
        x = self.body(x).contiguous()
        return self.last(x.mean((2, 3))).softmax(-1)


def layer():
    return nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True, norm_first=True)


MODELS = {"cnn": (Small, (2, 3, 8, 8)), "transformer layer": (layer, (2, 5, 16))}


def exported(name):
    torch.manual_seed(0)
    make, shape = MODELS[name]
    return torch.export.export(make().eval(), (torch.randn(*shape),))


@pytest.mark.parametrize("name", MODELS)
def test_every_node_is_accounted_for(name):
    program = exported(name)
    report = relay.compile(program, threads=1).report
    of_kernels = [node for kernel in report["kernels"] for node in kernel["nodes"]]
    of_passes = {one["node"]: one["removed_by"] for one in report["nodes_without_kernel"]}
    computed = [node for node in program.graph.nodes if node.op == "call_function" and node.target != operator.getitem]
    for node in computed:
        start = f"{node.target} '{node.name}'"
        assert any(one.startswith(start) for one in of_kernels) or any(
            one.startswith(start) and by for one, by in of_passes.items()
        ), (start, of_kernels, of_passes)
    for one in [*of_kernels, *of_passes]:
        assert re.fullmatch(r"aten\.\S+ '\w+' at .*\.py:\d+", one), one


def test_places_are_lines_of_the_model():
    nodes = [node for kernel in relay.compile(exported("cnn")).report["kernels"] for node in kernel["nodes"]]
    [mean] = [node for node in nodes if node.startswith("aten.mean.dim")]
    line = next(i for i, text in enumerate(open(__file__), 1) if "mean((2, 3))" in text)
    assert mean.endswith(f"{__file__}:{line}")


class Plain(nn.Module):
    def forward(self, x):
        unused = x.exp()
        assert unused is not None
        return nn.functional.dropout(x, 0.5, False) + torch.arange(4).float()


def test_what_the_import_leaves_out():
    module = relay.from_pytorch(Plain(), (torch.randn(3, 4),))
    said = dict(zip(module.get_attr("import.nodes"), module.get_attr("import.fates"), strict=True))
    assert {re.sub(r" at .*", "", name): why for name, why in said.items()} == {
        "aten.exp.default 'exp'": "nothing uses its result",
        "aten.dropout.default 'dropout'": "it returns its input unchanged",
        "aten.arange.default 'arange'": "its value is known at import",
    }
