"""User-defined converters for operators that are not in the table."""

import threading

import pytest

import relay

torch = pytest.importorskip("torch")
import relay.torch  # noqa: E402


@torch.library.custom_op("relay_test::scaled", mutates_args=())
def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
    return x * factor


@scaled.register_fake
def _(x, factor):
    return torch.empty_like(x)


class Network(torch.nn.Module):
    def forward(self, x):
        return torch.tanh(torch.ops.relay_test.scaled(x, 3.0)) + torch.special.i0(x)


def scaled_in_relay(inputs, types):
    x, factor = inputs
    return x * relay.const(factor, types[0])


def i0_in_relay(inputs, types):
    """Terms of the series, for small x."""
    [x], terms, term = inputs, relay.const(1.0), relay.const(1.0)
    for k in range(1, 12):
        term = term * x * x / relay.const(4.0 * k * k)
        terms = terms + term
    return terms


OWN = {"relay_test::scaled": scaled_in_relay, "aten::i0": i0_in_relay}
X = torch.linspace(-1, 1, 12).reshape(3, 4)


def test_within_one_import():
    scripted = torch.jit.trace(Network(), X)
    for network in (Network(), scripted):
        module, params = relay.frontend.from_pytorch(network, [("x", (3, 4))], custom_convert_map=OWN)
        assert params == {} and module["main"].params[0].name_hint == "x"
        torch.testing.assert_close(torch.as_tensor(relay.compile(module)(X.numpy())), Network()(X))
        with pytest.raises(relay.CompileError, match="(?s)relay_test.scaled.default.*relay.frontend.converter"):
            relay.frontend.from_pytorch(network, [("x", (3, 4))])


def test_another_thread_waits_for_that_import(monkeypatch):
    from relay.frontend.pytorch import graph

    begun, decomposed = threading.Event(), graph._decomposed
    program = torch.export.export(torch.nn.ReLU(), (X,))
    other = threading.Thread(target=lambda: relay.load(program))

    def at_first(one):
        begun.set()
        return decomposed(one)

    def in_relay(inputs, types):
        monkeypatch.setattr(graph, "_decomposed", at_first)
        other.start()
        assert not begun.wait(timeout=0.5)
        return scaled_in_relay(inputs, types)

    own = {**OWN, "relay_test::scaled": in_relay}
    relay.frontend.from_pytorch(Network(), [("x", (3, 4))], custom_convert_map=own)
    other.join()
    assert begun.is_set()


def test_for_all_imports_and_the_backend():
    from relay.frontend.pytorch.converters import within

    with within({}):  # puts back what the two change
        for name, function in OWN.items():
            assert relay.frontend.converter(name)(function) is function
        torch.testing.assert_close(torch.as_tensor(relay.compile(relay.from_pytorch(Network(), (X,)))(X)), Network()(X))
        torch._dynamo.reset()
        torch.testing.assert_close(torch.compile(Network(), backend="relay")(X), Network()(X))
        assert not relay.torch.explain(Network(), X).fallbacks


def test_the_default_type():
    module, _ = relay.frontend.from_pytorch(torch.nn.Tanh(), [("x", (2,)), ], default_dtype="float64")  # fmt: skip
    assert module["main"].params[0].checked_type.dtype == "float64"


@pytest.mark.parametrize("named, said", [
    ({"custom_convert_map": {"mine::none": None}}, "PyTorch has no operator 'mine::none'"),
    ({"custom_convert_map": {"tanh": None}}, "PyTorch has no operator 'tanh'"),
    ({"custom_convert_map": {"aten::tanh": lambda inputs, types: None}}, "its converter returned None"),
    ({"preserve_pytorch_scopes": True}, "from_pytorch has no preserve_pytorch_scopes"),
])  # fmt: skip
def test_what_is_refused(named, said):
    with pytest.raises(relay.CompileError, match=said):
        relay.frontend.from_pytorch(torch.nn.Tanh(), [("x", (2,))], **named)
    with pytest.raises(TypeError, match="unexpected keyword argument 'speed'"):
        relay.frontend.from_pytorch(torch.nn.Tanh(), [("x", (2,))], speed=1)
    relay.frontend.from_pytorch(torch.nn.Tanh(), [("x", (2,))], keep_quantized_weight=False)
