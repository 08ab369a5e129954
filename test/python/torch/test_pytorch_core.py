"""Core ATen operators that PyTorch or apart.py decomposes, by their names in exported programs; and random
operators."""

import copy
import math

import pytest

import relay

torch = pytest.importorskip("torch")
aten = torch.ops.aten


class Calls(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def f(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape)))


def of_layer_norm(grad, x, weight, bias):
    _, mean, scale = aten.native_layer_norm(x, [4], weight, bias, 1e-5)
    return aten.native_layer_norm_backward(grad, x, [4], mean, scale, weight, bias, [True, True, True])


def of_group_norm(grad, x, weight):
    _, mean, scale = aten.native_group_norm(x, weight, None, 2, 4, 9, 2, 1e-5)
    return aten.native_group_norm_backward(grad, x, mean, scale, weight, 2, 4, 9, 2, [True, True, True])


def batch_norm(training):
    return lambda *args: (aten._native_batch_norm_legit(*args, training, 0.1, 1e-5)[0],)


NORM = f(5, 4), f(4), f(4), torch.zeros(4), torch.ones(4)
CASES = {
    "native_layer_norm_backward": (of_layer_norm, f(5, 4), f(5, 4), f(4), f(4)),
    "native_group_norm_backward": (of_group_norm, f(2, 4, 3, 3), f(2, 4, 3, 3), f(4)),
    "embedding_dense_backward": (
        lambda grad, rows: aten.embedding_dense_backward(grad, rows, 6, 2, False), f(3, 4), torch.tensor([1, 2, 1])),
    "_native_batch_norm_legit of the batch": (batch_norm(True), *NORM),
    "_native_batch_norm_legit of the past": (batch_norm(False), *NORM),
    "_pdist_forward": (lambda x: [torch.pdist(x, p) for p in (0.0, 1.0, 2.0, 3.0, float("inf"))], f(5, 4)),
    "_pdist_forward of one row": (torch.pdist, f(1, 4)),
    "max_pool3d_with_indices of one place": (
        lambda x: torch.nn.functional.max_pool3d(x, 1, return_indices=True), f(1, 4, 2, 3, 2)),
    "linalg_vector_norm of halves": (lambda x: torch.linalg.vector_norm(x, 6), (8 * f(9)).half()),
    "norms of single numbers": (lambda x: tuple(1e25 * torch.linalg.vector_norm(x, p, (1, 2), keepdim=p == 2)
                                                for p in (2, 3, 0.5, 0, math.inf)), 1e-25 * f(3, 1, 1)),
    "atan2.out": (lambda a, b: torch.atan2(a, b, out=torch.empty(5, 4)), f(5, 4), f(5, 4).flip(0)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_taken_apart(name):
    function, *inputs = CASES[name]
    program = torch.export.export(Calls(function), copy.deepcopy(tuple(inputs)))
    wanted = function(*copy.deepcopy(inputs))
    wanted = list(wanted) if isinstance(wanted, tuple | list) else [wanted]
    got = relay.compile(program, threads=1)(*inputs)
    got = list(got) if isinstance(got, tuple) else [got]
    for one, other in zip(got[-len(wanted) :], wanted, strict=True):  # behind what the call changes
        torch.testing.assert_close(one, other, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("draw", [
    lambda x: x + torch.rand(5, 4), lambda x: x + torch.randn(5, 4), lambda x: x[torch.randperm(5)],
    lambda x: x + torch.rand_like(x),
], ids=["rand", "randn", "randperm", "rand_like"])  # fmt: skip
def test_draws_are_refused_with_the_way_out(draw):
    with pytest.raises(relay.CompileError, match="it draws random numbers: draw them outside of the model, and pass"):
        relay.from_pytorch(Calls(draw), (f(5, 4),))


SIZE = torch.export.Dim("n", min=2, max=64)
F = torch.nn.functional
HELP = {
    "an operator": "write these parts with other operators, or give converters (relay.frontend.converter); the table "
    "of those that are imported is relay/frontend/pytorch/table.py",
    "training": "call module.eval() before the export",
    "a size": "export with a fixed size: leave it out of dynamic_shapes (torch.compile: dynamic=False)",
    "random numbers": "draw them outside of the model, and pass them as an input",
}
REFUSED = {
    "an operator": torch.special.i0,
    "training": lambda x: F.dropout(x, 0.5, training=True),
    "a size": lambda x: F.adaptive_avg_pool2d(x[None], (x.shape[0], 2)),
    "random numbers": lambda x: x + torch.rand(5, 4),
}


@pytest.mark.parametrize("name", REFUSED)
def test_each_problem_has_its_own_way_out(name):
    shapes = (({0: SIZE},),) if name == "a size" else None
    with pytest.raises(relay.CompileError) as caught:
        relay.from_pytorch(Calls(REFUSED[name]), (f(5, 4),), dynamic_shapes=shapes)
    [diagnostic] = caught.value.diagnostics
    assert diagnostic.code == "R0403" and diagnostic.help == HELP[name]


def test_several_problems_have_the_help_of_each():
    def function(x):
        return torch.special.i0(x) + torch.special.i0(x + 1) + F.dropout(x, 0.5, training=True)

    with pytest.raises(relay.CompileError) as caught:
        relay.from_pytorch(Calls(function), (f(5, 4),))
    assert caught.value.diagnostics[0].help == f"{HELP['an operator']}; {HELP['training']}"


def test_later_changes_of_a_module_do_not_change_the_import():
    torch.manual_seed(0)
    network, x = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8)).eval(), f(3, 4)
    network[0].weight.requires_grad_(False)
    ways = (
        lambda: relay.from_pytorch(network, (x,)),
        lambda: relay.frontend.from_exported(torch.export.export(network, (x,))),
        lambda: relay.from_pytorch(torch.jit.trace(network, (x,)), (x,)),
    )
    for way in ways:
        wanted = network(x).detach().clone()
        mod = way()
        early = relay.compile(mod, threads=1)
        with torch.no_grad():
            for one in (*network.parameters(), *network.buffers()):
                if one.is_floating_point():
                    one.data.mul_(2)
        for model in (early, relay.compile(mod, threads=1)):
            torch.testing.assert_close(model(x), wanted, rtol=1e-5, atol=1e-5)
        assert not torch.allclose(network(x), wanted)


def test_tied_weights_are_one_constant():
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(64, 64, bias=False)
            self.second = torch.nn.Linear(64, 64, bias=False)
            self.second.weight = self.first.weight

        def forward(self, x):
            return self.second(torch.relu(self.first(x)))

    main, constants = relay.from_pytorch(Tied().eval(), (f(3, 64),))["main"], set()
    relay.analysis.post_order_visit(main, lambda one: constants.add(one) if isinstance(one, relay.Constant) else None)
    assert sum(one.data.shape == (64, 64) for one in constants) == 1


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.bfloat16))
def test_maxima_of_windows_with_nan_are_nan(dtype):
    def function(x):
        return (F.max_pool1d(x[0], 2, 1), F.max_pool2d(x, 3, 2, 1), F.max_pool3d(x[None], 2, 1),
                F.adaptive_max_pool2d(x, 2), x.amax(2), *F.max_pool2d(x, 2, return_indices=True))  # fmt: skip

    x = f(2, 3, 6, 6).to(dtype)
    x[torch.rand(x.shape, generator=torch.Generator().manual_seed(0)) < 0.1] = math.nan
    got = relay.compile(relay.from_pytorch(Calls(function), (x,)), threads=1)(x)
    for one, wanted in zip(got, function(x), strict=True):
        torch.testing.assert_close(one, wanted, rtol=0, atol=0, equal_nan=True)
