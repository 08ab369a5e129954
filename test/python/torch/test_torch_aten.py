"""ATen operators that none of PyTorch's samples uses, called by their names, because PyTorch creates them only in
traces of torch.compile or through other operators. Each one reaches its own converter and equals PyTorch."""

import pytest

import relay

torch = pytest.importorskip("torch")
from relay.frontend.pytorch.table import OPERATORS  # noqa: E402
from test_torch_keys import Called  # noqa: E402

aten, prims = torch.ops.aten, torch.ops.prims
generator = torch.Generator().manual_seed(1)


def f(*shape):
    return torch.randn(shape, generator=generator)


def grouped(x, weights, ends):
    return aten._grouped_mm(x.bfloat16(), weights.bfloat16(), ends)


CASES = {
    "_grouped_mm": (grouped, f(32, 16), f(2, 16, 8), torch.tensor([16, 32], dtype=torch.int32)),
    "_log_softmax": (lambda x: aten._log_softmax(x, 1, False), f(3, 5)),
    "_native_batch_norm_legit_no_training": (
        lambda x, w, b, m, v: aten._native_batch_norm_legit_no_training(x, w, b, m, v.abs() + 1, 0.1, 1e-3)[0],
        f(2, 3, 4, 5), f(3), f(3), f(3), f(3),
    ),
    "_neg_view": (lambda x: aten._neg_view(x) + 1, f(3, 5)),
    "_scaled_dot_product_flash_attention_for_cpu": (
        lambda q, k, v: aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, is_causal=True)[0],
        f(1, 2, 6, 8), f(1, 2, 6, 8), f(1, 2, 6, 8),
    ),
    "alias": (lambda x: aten.alias(x) * 2, f(3, 5)),
    "col2im": (lambda x: aten.col2im(x, [5, 6], [2, 3], [1, 1], [1, 0], [2, 1]), f(2, 12, 12)),
    "copy": (lambda x, y: aten.copy(x, y), f(3, 5), f(5).double()),
    "lift_fresh_copy": (lambda x: aten.lift_fresh_copy(x) + 1, f(3, 5)),
    "native_dropout": (lambda x: aten.native_dropout(x, 0.5, False)[0] + 1, f(3, 5)),
    "prims::convert_element_type": (lambda x: prims.convert_element_type(x * 9, torch.int32), f(3, 5)),
    "reflection_pad1d": (lambda x: aten.reflection_pad1d(x, [2, -1]), f(2, 3, 5)),
    "reflection_pad3d": (lambda x: aten.reflection_pad3d(x, [2, 1, 0, 3, 1, 1]), f(2, 2, 3, 4, 5)),
    "replication_pad1d": (lambda x: aten.replication_pad1d(x, [2, 7]), f(2, 3, 5)),
    "replication_pad3d": (lambda x: aten.replication_pad3d(x, [2, 1, -1, 3, 1, 9]), f(2, 2, 3, 4, 5)),
}  # fmt: skip


@pytest.mark.parametrize("key", CASES)
def test_key(key, monkeypatch):
    function, *inputs = CASES[key]
    reached, convert = [], OPERATORS[key]
    monkeypatch.setitem(OPERATORS, key, lambda *given, **named: (reached.append(key), convert(*given, **named))[1])
    model = relay.compile(relay.from_pytorch(Called(function).eval(), tuple(inputs)), threads=1)
    assert reached
    wanted = function(*inputs)
    near = 1e-2 if wanted.dtype == torch.bfloat16 else 2e-5
    torch.testing.assert_close(model(*inputs), wanted, rtol=near, atol=near)
