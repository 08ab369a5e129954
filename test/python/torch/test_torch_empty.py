"""Reductions of empty tensors: those without an identity are refused, as in PyTorch, and others have its values."""

import numpy as np
import pytest

import relay

torch = pytest.importorskip("torch")
import relay.torch  # noqa: E402

VECTOR, ROWS, NOTHING = torch.empty(0), torch.empty(3, 0), torch.empty(0, 0)
INFINITY = float("inf")
REFUSED = {
    "max": (lambda x: x.max(), VECTOR),
    "min": (lambda x: x.min(), VECTOR),
    "amax": (lambda x: x.amax(1), ROWS),
    "amin": (lambda x: x.amin(), VECTOR),
    "max along an axis": (lambda x: x.max(1).values, ROWS),
    "places of minima": (lambda x: x.min(1).indices, ROWS),
    "argmax": (lambda x: x.argmax(), VECTOR),
    "argmin along an axis": (lambda x: x.argmin(1), ROWS),
    "of no rows": (lambda x: x.max(1).values, NOTHING),
    "greatest magnitude": (lambda x: torch.linalg.vector_norm(x, ord=INFINITY), VECTOR),
    "norm of a negative order": (lambda x: torch.linalg.vector_norm(x, ord=-2, dim=1), ROWS),
}
COMPUTED = {
    "no maxima": (lambda x: x.amax(0), ROWS),
    "no places": (lambda x: x.max(0).indices, ROWS),
    "sum": (lambda x: x.sum(1), ROWS),
    "norm": (lambda x: torch.linalg.vector_norm(x, dim=1), ROWS),
    "log of a sum": (lambda x: x.logsumexp(1), ROWS),
    "greatest distances": (lambda x: torch.cdist(x, x, p=INFINITY), torch.empty(2, 0)),
    "median": (lambda x: x.median(), VECTOR),
}
VARYING = {
    "max": lambda x: x.max(),
    "amin": lambda x: x.amin(0),
    "max along an axis": lambda x: x.max(0).values,
    "argmax": lambda x: x.argmax(),
    "greatest magnitude": lambda x: torch.linalg.vector_norm(x, ord=INFINITY),
}


class Calls(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.forward = function


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.filterwarnings("ignore::relay.torch.FallbackWarning")
def test_what_pytorch_refuses_is_refused(name):
    function, x = REFUSED[name]
    with pytest.raises((RuntimeError, IndexError)):
        function(x)
    with pytest.raises((RuntimeError, IndexError)):
        torch.compile(function, backend="relay")(x)
    with pytest.raises(relay.CompileError):
        relay.from_pytorch(Calls(function), (x,))


def test_the_refusal_names_the_axis():
    with pytest.raises(relay.CompileError, match=r"aten.max.dim: it reduces axis 1 of a tensor of sizes \[3, 0\]"):
        relay.from_pytorch(Calls(lambda x: x.max(1).values), (ROWS,))


@pytest.mark.parametrize("name", COMPUTED)
def test_what_pytorch_computes_is_computed(name):
    function, x = COMPUTED[name]
    for run in (torch.compile(function, backend="relay"), relay.compile(relay.from_pytorch(Calls(function), (x,)))):
        np.testing.assert_array_equal(np.asarray(run(x)), function(x).numpy(), strict=True)


@pytest.mark.parametrize("name", VARYING)
def test_a_size_that_varies_is_checked(name):
    sizes = ({0: torch.export.Dim("n")},)
    model = relay.compile(relay.from_pytorch(Calls(VARYING[name]), (torch.ones(4),), dynamic_shapes=sizes))
    np.testing.assert_array_equal(np.asarray(model(torch.ones(5))), VARYING[name](torch.ones(5)).numpy())
    with pytest.raises(relay.CompileError, match="dimension 0 is 0, but .* needs `.* >= 1`"):
        model(VECTOR)
