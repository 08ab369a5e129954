"""TorchScript modules of PyTorch's older quantisation, with quantised tensors and packed weights, compared with
PyTorch."""

import warnings

import pytest

import relay

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional
quantization = pytest.importorskip("torch.ao.quantization")
Q = torch.ops.quantized


@pytest.fixture(scope="module", autouse=True)
def kernels():
    before = torch.backends.quantized.engine
    torch.backends.quantized.engine = "fbgemm"
    yield
    torch.backends.quantized.engine = before


def same(module, *inputs, unit, scripted=True):
    """All but few results are equal, and those are one step of the result's scale off: biases are rounded otherwise."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        want = module(*inputs)
        for script in [torch.jit.trace(module, inputs), *([torch.jit.script(module)] if scripted else [])]:
            got = relay.compile(relay.from_pytorch(script, inputs))(*inputs)
            assert got.shape == want.shape and got.dtype == want.dtype
            off = (got.double() - want.double()).abs()
            assert off.max() <= unit * 1.001, off.max()
            assert (off > unit * 0.01).double().mean() <= 0.06


def converted(network, *inputs, fuse=()):
    network = network.eval()
    network.qconfig = quantization.get_default_qconfig("fbgemm")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = quantization.fuse_modules(network, [list(names) for names in fuse]) if fuse else network
        prepared = quantization.prepare(network)
        prepared(*inputs)
        return quantization.convert(prepared)


class Network(nn.Module):
    """Two convolutions, a sum with a shorter way, and a linear layer."""

    def __init__(self):
        super().__init__()
        self.enter, self.leave = quantization.QuantStub(), quantization.DeQuantStub()
        self.first, self.relu = nn.Conv2d(3, 8, 3, padding=1), nn.ReLU()
        self.second = nn.Conv2d(8, 8, 3, padding=1, stride=2, groups=4)
        self.plus, self.last = torch.ao.nn.quantized.FloatFunctional(), nn.Linear(8, 4)

    def forward(self, x):
        x = self.relu(self.first(self.enter(x)))
        y = self.plus.add_relu(self.second(x), F.max_pool2d(x, 2))
        return self.leave(self.last(F.adaptive_avg_pool2d(y, 1).flatten(1)))


def test_a_network():
    torch.manual_seed(0)
    network = converted(Network(), torch.randn(8, 3, 8, 8), fuse=[("first", "relu")])
    assert "quantized::conv2d_relu" in str(torch.jit.trace(network, torch.randn(2, 3, 8, 8)).inlined_graph)
    same(network, torch.randn(5, 3, 8, 8), unit=network.last.scale)
    module = relay.from_pytorch(torch.jit.script(network), (torch.randn(1, 3, 8, 8),))
    assert str(module).count("qnn.conv2d") == 2 and "qnn.dense" in str(module)


@pytest.mark.parametrize("bias", [True, False])
def test_weights_are_quantised_and_activations_when_it_runs(bias):
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(16, 32, bias), nn.ReLU(), nn.Linear(32, 4, bias))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dynamic = quantization.quantize_dynamic(network, {nn.Linear}, dtype=torch.qint8)
    inputs = torch.randn(5, 16)
    same(dynamic, inputs, unit=dynamic(inputs).abs().max().item() / 255)


class Of(nn.Module):
    """A function of a quantised tensor; floats in and out."""

    def __init__(self, function, zero_point=100):
        super().__init__()
        self.function, self.zero_point = function, zero_point

    def forward(self, x):
        return self.function(torch.quantize_per_tensor(x, 0.02, self.zero_point, torch.quint8)).dequantize()


FUNCTIONS = {
    "add": lambda x: Q.add(x, x, 0.05, 90),
    "add_relu": lambda x: Q.add_relu(x, x, 0.05, 10),
    "mul": lambda x: Q.mul(x, x, 0.05, 20),
    "mul_relu": lambda x: Q.mul_relu(x, x, 0.05, 0),
    "add_scalar": lambda x: Q.add_scalar(x, 0.5),
    "add_scalar that does not fit": lambda x: Q.add_scalar(x, 9.0),
    "mul_scalar": lambda x: Q.mul_scalar(x, -1.5),
    "cat": lambda x: Q.cat([x, x], 1, 0.03, 90),
    "relu6": lambda x: Q.relu6(x),
    "leaky_relu": lambda x: Q.leaky_relu(x, 0.1, False, 0.02, 80),
    "hardswish": lambda x: Q.hardswish(x, 0.02, 50),
    "elu": lambda x: Q.elu(x, 0.03, 60, 1.0),
    "softmax": lambda x: Q.softmax(x, 1, 1 / 256, 0),
    "relu": lambda x: x.relu(),
    "sigmoid": lambda x: x.sigmoid(),
    "tanh": lambda x: x.tanh(),
    "hardsigmoid": lambda x: F.hardsigmoid(x),
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
    "mean": lambda x: x.mean([2, 3]),
    "interpolate": lambda x: F.interpolate(x, scale_factor=2.0, mode="nearest"),
    "chunk and view": lambda x: x.chunk(2, 1)[1].permute(0, 2, 3, 1).reshape(2, -1),
    "clamp": lambda x: x.clamp(-0.3, 0.4),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_operator(name):
    torch.manual_seed(1)
    same(Of(FUNCTIONS[name]), torch.randn(2, 4, 6, 6), unit=0.11 if "fit" in name else 0.05, scripted=False)


@pytest.mark.parametrize("layer", [nn.ConvTranspose2d(4, 6, 3, 2, 1, output_padding=1), nn.Conv1d(4, 6, 3)])
def test_other_convolutions(layer):
    torch.manual_seed(0)
    network = nn.Sequential(quantization.QuantStub(), layer, quantization.DeQuantStub())
    inputs = torch.randn(2, 4, *([7] * (layer.weight.dim() - 2)))
    network.eval().qconfig = quantization.QConfig(
        activation=quantization.HistogramObserver.with_args(reduce_range=True),
        weight=quantization.default_weight_observer,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepared = quantization.prepare(network)
        prepared(inputs)
        made = quantization.convert(prepared)
    same(made, inputs, unit=float(made[1].scale), scripted=False)
