"""Losses of imported models: PyTorch's, with batch norm, and ONNX's, beside PyTorch's own training."""

import copy

import numpy as np
import pytest
import relay.train as train

import relay

torch = pytest.importorskip("torch")
F = torch.nn.functional


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3, bias=False),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(4 * 36, 3),
    )


def batches(count, rows=6):
    draw = torch.Generator().manual_seed(1)
    return [
        (torch.randn(rows, 1, 8, 8, generator=draw), torch.randint(3, (rows,), generator=draw)) for _ in range(count)
    ]


def loss(net, x, y):
    return F.cross_entropy(net(x), y)


def test_a_network_of_pytorch_trains_as_in_pytorch():
    theirs, given = network(), batches(6)
    module, params, outputs = train.from_torch(copy.deepcopy(theirs), loss, given[0])
    assert outputs == ("loss", "=1.running_mean", "=1.running_var")
    step = train.Step(module, params, optimiser=train.AdamW(1e-2), outputs=outputs, threads=1)
    optimiser = torch.optim.AdamW(theirs.parameters(), lr=1e-2)
    for x, y in given:
        wanted = loss(theirs, x, y)
        optimiser.zero_grad()
        wanted.backward()
        optimiser.step()
        np.testing.assert_allclose(step(x, y), wanted.detach(), rtol=1e-4)
    np.testing.assert_allclose(step.arrays["1.running_mean"], theirs[1].running_mean, rtol=1e-3, atol=1e-4)
    for name, value in theirs.named_parameters():
        np.testing.assert_allclose(step.arrays[name], value.detach(), rtol=1e-3, atol=1e-3)
    theirs.load_state_dict(
        {name: torch.from_numpy(value) for name, value in step.arrays.items() if name in params}, strict=False
    )
    x, y = batches(1, rows=4)[0]
    step(x, y)  # of another size


def test_dropout_of_pytorch_is_refused():
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(0.5))
    with pytest.raises(relay.InputError, match="`1` is a Dropout, which an exported program lacks"):
        train.from_torch(net, lambda net, x: net(x).sum(), (torch.ones(3, 2),))


def test_constants_become_parameters():
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    w = np.random.default_rng(0).standard_normal((4, 3)).astype("float32")
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"]),
            helper.make_node("Mul", ["h", "h"], ["s"]),
            helper.make_node("ReduceMean", ["s"], ["y"], keepdims=0),
        ],
        "square", [helper.make_tensor_value_info("x", 1, [5, 4])], [helper.make_tensor_value_info("y", 1, [])],
        [onnx.numpy_helper.from_array(w, "w")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    module, params = train.with_parameters(relay.load(model))
    assert list(params) == ["p0"] and np.array_equal(params["p0"], w)
    step = train.Step(module, params, optimiser=train.SGD(0.1), threads=1)
    x = np.random.default_rng(1).standard_normal((5, 4)).astype("float32")
    np.testing.assert_allclose(step(x), ((x @ w) ** 2).mean(), rtol=1e-5)
    np.testing.assert_allclose(step.arrays["p0"], w - 0.1 * x.T @ (2 * (x @ w)) / 15, rtol=1e-5, atol=1e-6)
