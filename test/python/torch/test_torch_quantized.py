"""Quantised models of torchao: PT2E, and integers as weights, keep their integers and return PyTorch's results."""

import pytest

import relay

torch = pytest.importorskip("torch")
pytest.importorskip("torchao")
from torchao.quantization import (  # noqa: E402
    Int8DynamicActivationInt8WeightConfig,
    Int8WeightOnlyConfig,
    IntxWeightOnlyConfig,
    quantize_,
)
from torchao.quantization.granularity import PerGroup  # noqa: E402
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e  # noqa: E402
from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86  # noqa: E402

nn = torch.nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, stride=2, groups=2)

    def forward(self, x):
        x = self.first(x).relu()
        return nn.functional.max_pool2d(self.second(x) + x[:, :, 1:-1:2, 1:-1:2], 2)


PT2E = {
    "cnn": (lambda: nn.Sequential(Block(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)), (2, 3, 12, 12)),
    "mlp": (lambda: nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)), (2, 5, 16)),
}


def quantised_pt2e(model, x, **how):
    quantizer = x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config(**how))
    prepared = prepare_pt2e(torch.export.export(model, (x,)).module(), quantizer)
    prepared(x)
    return convert_pt2e(prepared)


def operators(module):
    found = set()

    def note(one):
        if isinstance(one, relay.expr.Call) and hasattr(one.op, "name"):
            found.add(one.op.name)

    relay.analysis.post_order_visit(module["main"], note)
    return found


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("name", PT2E)
def test_pt2e(name, dynamic):
    if dynamic and name == "cnn":
        pytest.skip("the quantiser has dynamic ranges for linear layers only")
    torch.manual_seed(0)
    make, shape = PT2E[name]
    model, x = make().eval(), torch.randn(*shape)
    quantised = quantised_pt2e(model, x, is_dynamic=dynamic)
    with torch.no_grad():
        wanted = quantised(x)
        module = relay.from_pytorch(quantised, (x,))
        got = relay.compile(module, threads=1)(x)
    names = operators(module)
    assert "qnn.dense" in names and not names & {"nn.dense", "nn.conv2d", "nn.matmul"}
    assert ("qnn.conv2d" in names) == (name == "cnn")
    # A sum that falls between two integers may be rounded to the other one.
    torch.testing.assert_close(got, wanted, rtol=0, atol=float(wanted.abs().max()) / 100)


@pytest.mark.parametrize("settings", [
    Int8WeightOnlyConfig, Int8DynamicActivationInt8WeightConfig,
    lambda: IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(16)),
], ids=["int8", "int8 by int8", "int4 in groups"])  # fmt: skip
def test_integers_as_weights(settings):
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 64)).eval(), torch.randn(2, 64)
    quantize_(model, settings())
    with torch.no_grad():
        wanted = model(x)
        module = relay.from_pytorch(model, (x,))
        got = relay.compile(module, threads=1)(x)
    assert "int8" in str(module)
    torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)


class PackedLinear(nn.Module):
    """Integers of 4 bits in the order of PyTorch's own kernels for this processor."""

    def __init__(self, rows, columns, group, dtype):
        super().__init__()
        integers = torch.randint(0, 16, (rows, columns), dtype=torch.int32)
        scales = torch.rand(columns // group, rows) * 0.1 + 0.01
        both = torch.stack([scales, torch.randn(columns // group, rows)], -1).to(dtype)
        self.group = group
        self.register_buffer("packed", torch.ops.aten._convert_weight_to_int4pack_for_cpu(integers, 1))
        self.register_buffer("scales_and_zeros", both)

    def forward(self, x):
        return torch.ops.aten._weight_int4pack_mm_for_cpu(x, self.packed, self.group, self.scales_and_zeros)


@pytest.mark.parametrize("group", [32, 64])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_packed_integers_of_four_bits(group, dtype):
    torch.manual_seed(0)
    model, x = PackedLinear(64, 128, group, dtype).eval(), torch.randn(5, 128).to(dtype)
    wanted = model(x)
    module = relay.from_pytorch(model, (x,))
    got = relay.compile(module, threads=1)(x)
    assert "int8" in str(module) and got.dtype == dtype
    close = float(wanted.abs().max()) * (1e-5 if dtype == torch.float32 else 2**-7)
    torch.testing.assert_close(got, wanted, rtol=0, atol=close)


def test_integers_as_weights_are_integers_in_the_file(tmp_path):
    def size(settings):
        model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512)).eval()
        if settings is not None:
            quantize_(model, settings)
        with torch.no_grad():
            compiled = relay.compile(relay.from_pytorch(model, (torch.randn(2, 512),)), threads=1)
        compiled.save(str(tmp_path / "model.rart"))
        return (tmp_path / "model.rart").stat().st_size

    weights = 2 * 512 * 512
    assert size(Int8WeightOnlyConfig()) < 2 * weights
    assert size(None) > 4 * weights
