"""PyTorch programs that depend on the memory layout: view(dtype), as_strided, overlapping inputs."""

import pytest

torch = pytest.importorskip("torch")

import relay.torch  # noqa: E402, F401

import relay  # noqa: E402

TYPES = (torch.uint8, torch.int8, torch.int16, torch.float16, torch.bfloat16, torch.int32, torch.float32, torch.int64,
         torch.float64)  # fmt: skip


@pytest.mark.parametrize("source", TYPES)
@pytest.mark.parametrize("target", TYPES)
def test_view_of_other_elements(source, target):
    class View(torch.nn.Module):
        def forward(self, x):
            return x.view(target).clone()

    torch.manual_seed(0)
    x = torch.randint(0, 256, (3, 16), dtype=torch.uint8).view(source)
    x = x if not source.is_floating_point else torch.randn(3, 16 // source.itemsize, dtype=torch.float64).to(source)
    want = View()(x)
    got = relay.compile(relay.from_pytorch(View(), (x,)))(x)
    assert got.dtype == want.dtype and got.shape == want.shape
    finite = ~want.isnan() if target.is_floating_point else torch.ones(want.shape, dtype=torch.bool)
    assert torch.equal(got[finite], want[finite])


def test_view_of_complex_numbers():
    class View(torch.nn.Module):
        def forward(self, x):
            return (x.view(torch.complex64) * 2j).view(torch.float32)

    x = torch.arange(12.0).view(3, 4)
    assert torch.allclose(relay.compile(relay.from_pytorch(View(), (x,)))(x), View()(x))


STRIDED = {
    "roll of channels_last": lambda v: torch.roll(v, 1, 1).as_strided((4, 4), (4, 1)),
    "more behind it": lambda v: (torch.roll(v, 1, 1) * 2 + 1).as_strided((4, 4), (4, 1)) * 3,
    "add to channels_last": lambda v: (v + 1).as_strided((8,), (1,)),
    "contiguous": lambda v: (v.contiguous() * 2).as_strided((3, 2), (1, 3)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", STRIDED)
def test_as_strided_of_what_is_computed(name):
    x = torch.arange(32.0).view(1, 2, 4, 4).contiguous(memory_format=torch.channels_last)
    torch.compiler.reset()
    assert torch.equal(torch.compile(STRIDED[name], backend="relay")(x), STRIDED[name](x))


@pytest.mark.parametrize("dynamic", (True, False))
def test_an_input_that_changes_and_a_view_of_it(dynamic):
    def changed(x, y):
        unused = torch.cat([y, y], -1)  # noqa: F841
        x.add_(1)
        return (x,)

    def inputs():
        x = torch.arange(24.0).view(4, 6)
        return x, x.view(-1)[:1]

    torch._dynamo.reset()
    fast = torch.compile(changed, backend="relay", dynamic=dynamic)
    for _ in range(2):
        assert torch.equal(fast(*inputs())[0], changed(*inputs())[0])


@pytest.mark.parametrize("dynamic", (True, False))
def test_inputs_that_share_memory_and_change(dynamic):
    def changed(x, y):
        return x.add_(1), y.mul_(2)

    def inputs():
        both = torch.arange(6.0)
        return both[:4], both[2:]

    torch._dynamo.reset()
    fast = torch.compile(changed, backend="relay", dynamic=dynamic)
    for _ in range(2):
        assert all(map(torch.equal, fast(*inputs()), changed(*inputs())))


class Dictionary(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        d = {"a": x, "b": x * 3}
        more = [x + 1, x + 2]
        if bool(x.sum() > 0):
            return d["a"] - d["b"] + more[1]
        return x + more[0]


class Looped(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        d = {"step": x * 0 + 1}
        while bool(x.sum() < 10):
            x = x + d["step"]
        return x


@pytest.mark.parametrize("module", (Dictionary(), Looped()))
def test_blocks_that_read_containers_of_tensors(module):
    run = relay.compile(relay.from_pytorch(torch.jit.script(module), (torch.ones(3),)))
    for x in (torch.ones(3), -torch.ones(3)):
        assert torch.equal(run(x), module(x))
