"""Optimiser steps whose graphs run completely in Relay, compared with eager PyTorch; weights that are inputs."""

import re

import pytest

torch = pytest.importorskip("torch")
import relay.torch  # noqa: E402, F401 - registers the backend
from relay.torch.dynamo import Options, compile_graph  # noqa: E402

OPTIMISERS = {
    "SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9, nesterov=True),
    "Adam": lambda parameters: torch.optim.Adam(parameters, lr=0.05),
    "AdamW": lambda parameters: torch.optim.AdamW(parameters, lr=torch.tensor(0.05), amsgrad=True),
    "RMSprop": lambda parameters: torch.optim.RMSprop(parameters, lr=0.05),
}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_steps(name):
    torch._dynamo.reset()
    results = []
    for is_compiled in (False, True):
        torch.manual_seed(0)
        layer, x = torch.nn.Linear(4, 3), torch.randn(5, 4)
        optimiser = OPTIMISERS[name](layer.parameters())
        step = optimiser.step
        if is_compiled:
            step = torch.compile(step, backend="relay", options={"fallback": "error"})
        for _ in range(4):
            optimiser.zero_grad()
            layer(x).square().sum().backward()
            step()
        results.append([one.detach() for one in layer.parameters()])
    for got, wanted in zip(*results, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)


def test_a_fused_product_and_sum():
    torch._dynamo.reset()
    a, b, c = (torch.randn(3, 4) for _ in range(3))
    fast = torch.compile(torch.ops.prims.fma.default, backend="relay", options={"fallback": "error"})
    torch.testing.assert_close(fast(a, b, c), a * b + c)


def test_a_weight_is_packed_once_in_a_call():
    """Weights of a training step are inputs. No kernel copies one, and a product packs each panel of its right factor
    outside of the loop over rows."""
    torch._dynamo.reset()
    records, options = [], Options.of({"threads": 1, "target": "haswell", "fallback": "error"})
    layers = [torch.nn.Linear(128, 192, bias=False), torch.nn.Tanh(), torch.nn.Linear(192, 64, bias=False)]
    fast = torch.compile(
        torch.nn.Sequential(*layers),
        backend=lambda graph, examples: compile_graph(graph, examples, options, records),
        dynamic=False,
    )
    fast(torch.randn(256, 128)).square().sum().backward()
    products = {"forward": 2, "backward": 3}  # the backward pass: a gradient of an activation, and of two weights
    packed = 0
    for record in records:
        assert len(record.compiled.report["kernels"]) == products.pop(record.kind)
        for group in record.compiled.emit("schedule").split("# group")[1:]:
            for outer, level in re.findall(r"^stage \w+_panel: at (\w+)\.(\d+) scratch", group, re.MULTILINE):
                [loops] = re.findall(rf"^stage {outer}: root\n(?:  prefetch.*\n)*  loops (.*)", group, re.MULTILINE)
                assert all(re.match(r"n/|\w+/\d+:parallel", loop) for loop in loops.split()[: int(level)]), loops
                packed += 1
    assert not products and packed >= 3
