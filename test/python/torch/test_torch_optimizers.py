"""Optimiser steps whose graphs run completely in Relay, compared with eager PyTorch."""

import pytest

torch = pytest.importorskip("torch")
import relay.torch  # noqa: E402, F401 - registers the backend

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
