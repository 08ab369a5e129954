"""relay.torch.compile: compiled modules work like other modules in PyTorch."""

import copy
import functools
import pickle
import threading
import warnings

import pytest

import relay

torch = pytest.importorskip("torch")
import relay.torch  # noqa: E402


@pytest.fixture(autouse=True)
def programs(monkeypatch):
    """The modules that were compiled."""
    made, compile_module = [], relay.torch.dynamo.compile_module
    monkeypatch.setattr(relay.torch.dynamo, "compile_module", lambda *a, **k: made.append(a) or compile_module(*a, **k))
    torch._dynamo.reset()
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", relay.torch.FallbackWarning)
        yield made


def network():
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 2))


def same(got, wanted, tolerance=2e-5):
    torch.testing.assert_close(got, wanted, rtol=tolerance, atol=tolerance)


def test_a_compiled_module_is_a_module(programs):
    eager, x = network(), torch.randn(3, 4)
    fast = relay.torch.compile(eager, threads=1)
    assert type(fast) is type(eager) and list(fast.state_dict()) == list(eager.state_dict())
    assert all(one is other for one, other in zip(fast.parameters(), eager.parameters(), strict=True))
    assert eager._compiled_call_impl is None
    twin = copy.deepcopy(eager)
    same(fast(x), twin(x))
    assert len(programs) == 1
    same(fast.state_dict(), twin.state_dict())
    fast.eval(), twin.eval()
    same(fast(x), twin(x))
    other = network().eval()
    fast.load_state_dict(other.state_dict())
    same(fast(x), other(x))
    same(fast.to(torch.float64)(x.double()), other.double()(x.double()))


class Own(torch.nn.Module):
    def __init__(self, breaks=False):
        super().__init__()
        self.layer, self.breaks = torch.nn.Linear(4, 4), breaks

    def forward(self, x):
        x = self.layer(x).relu()
        if self.breaks:
            torch._dynamo.graph_break()
        return x + 1


def with_forward(forward):
    module = Own()
    module.forward = forward
    return module


def with_hooks():
    module = Own()
    module.register_forward_pre_hook(lambda module, given: (given[0] + 1,))
    module.register_forward_hook(lambda module, given, result: result * 2)
    return module


FORWARDS = {
    "its own": (Own, 1),
    "its own, with a break": (lambda: Own(True), 2),
    "of PyTorch": (network, 1),
    "a function in its place": (lambda: with_forward(lambda x: x.sin()), 1),
    "something that can be called": (lambda: with_forward(functools.partial(torch.add, 1)), 1),
    "with hooks": (with_hooks, 1),
    "of TorchScript, which stays PyTorch's": (lambda: torch.jit.script(Own()), 0),
}


@pytest.mark.parametrize("what", FORWARDS)
def test_whatever_forward_is(what, programs):
    make, graphs = FORWARDS[what]
    module, x = make().eval(), torch.randn(3, 4)
    with torch.no_grad():
        same(relay.torch.compile(module, threads=1)(x), module(x))
    assert len(programs) == graphs


def test_copies_and_pickles_run_in_pytorch(programs):
    fast, x = relay.torch.compile(network().eval()), torch.randn(3, 4)
    for one in (copy.deepcopy(fast), pickle.loads(pickle.dumps(fast))):
        assert one._compiled_call_impl is None
        same(one(x), fast(x))
        assert programs
        same(relay.torch.compile(one)(x), fast(x))


def test_modes_of_autograd(programs):
    eager, x = network().eval(), torch.randn(3, 4)
    fast = relay.torch.compile(eager, freeze=True)
    for mode in (torch.enable_grad, torch.no_grad, torch.inference_mode):
        with mode():
            same(fast(x), eager(x))
            assert fast(x).requires_grad == eager(x).requires_grad
    assert len(programs) == 3
    with torch.no_grad():
        fast.load_state_dict(network().state_dict())
        same(fast(x), eager(x))
        fast.load_state_dict(network().state_dict(), assign=True)
        same(fast(x), eager(x))


def test_autocast(programs):
    eager, x = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)), torch.randn(3, 16)
    fast = relay.torch.compile(eager)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        got, wanted = fast(x), eager(x)
    assert programs and got.dtype == wanted.dtype == torch.bfloat16
    same(got, wanted, 2e-2)


def test_threads(programs):
    eager = network().eval()
    fast = relay.torch.compile(eager)
    inputs = [torch.randn(3, 4) for _ in range(8)]
    with torch.no_grad():
        fast(inputs[0])
    results = {}

    def run(place):
        with torch.no_grad():
            results[place] = fast(inputs[place])

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(inputs))]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert programs
    for place, x in enumerate(inputs):
        with torch.no_grad():
            same(results[place], eager(x))


def test_functions_graph_breaks_and_control_flow(programs):
    def function(x):
        x = torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))
        torch._dynamo.graph_break()
        return x.sin()

    fast = relay.torch.compile(function)
    for x in (torch.ones(3), -torch.ones(3)):
        same(fast(x), function(x))
    assert len(programs) >= 2


@pytest.mark.slow
def test_any_number_of_modules(programs):
    for depth in range(1, 12):  # more than Dynamo compiles of one function
        model = torch.nn.Sequential(*[torch.nn.Linear(4, 4) for _ in range(depth)])
        x = torch.randn(3, 4)
        same(relay.torch.compile(model)(x), model(x))
    assert len(programs) == 11


@pytest.mark.parametrize("how", [{"num_layers": 2, "bidirectional": True}, {"bias": False, "batch_first": True}])
def test_lstm(how):
    lstm = torch.nn.LSTM(4, 6, **how)
    with torch._dynamo.config.patch(allow_rnn=True), torch.no_grad():
        fast = relay.torch.compile(lstm)
        for steps in (3, 5):
            x = torch.randn(steps, steps, 4)
            (out, states), (wanted, wanted_states) = fast(x), lstm(x)
            same(out, wanted)
            for one, other in zip(states, wanted_states, strict=True):
                same(one, other)


def test_an_option_that_there_is_not():
    with pytest.raises(relay.CompileError, match="R0504.*no option `thread`"):
        relay.torch.compile(network(), thread=1)
