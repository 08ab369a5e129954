"""Inputs of PyTorch models, and the imported forms: layouts, element types, devices; callers."""

import pytest

import relay

torch = pytest.importorskip("torch")
import relay.torch  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode  # noqa: E402

X = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(0))
LAST = X.contiguous(memory_format=torch.channels_last)


@pytest.fixture
def network():
    torch._dynamo.reset()
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU()).eval().requires_grad_(False)


@pytest.fixture
def model(network):
    return relay.compile(relay.from_pytorch(network, (X,)), threads=1)


def near(got, wanted):
    torch.testing.assert_close(got, wanted, rtol=2e-5, atol=2e-5)


def test_channels_last(network, model):
    of_last = relay.compile(relay.from_pytorch(network, (LAST,)), threads=1)
    for one in (model, of_last):
        near(one(LAST), network(X))
        near(one(X), network(X))


def test_channels_last_in_the_backend(network):
    fast = torch.compile(network, backend="relay", options={"fallback": "error"})
    got, wanted = fast(LAST), network(LAST)
    near(got, wanted)
    assert got.stride() == wanted.stride()
    near(fast(X), network(X))


@pytest.mark.parametrize(("make", "message", "way_out"), [
    (lambda: X.double(), "`input` has elements of float64, but they must be float32", "convert the array to float32"),
    (lambda: X.to("meta"), "not in memory", "give an array in memory"),
    (lambda: FakeTensor(FakeTensorMode(), X.to("meta"), torch.device("cuda")), "another device", "move it to the CPU"),
    (lambda: X.to_sparse(), "layout other than torch.strided", "to_dense"),
], ids=["float64", "meta", "cuda", "sparse"])  # fmt: skip
def test_inputs_that_are_refused(model, make, message, way_out):
    with pytest.raises(relay.CompileError) as caught:
        model(make())
    assert caught.value.diagnostics[0].code == "R0601"
    assert message in str(caught.value) and way_out in str(caught.value).partition("help: ")[2]


def test_weights_on_the_device_meta():
    with torch.device("meta"):
        network, x = torch.nn.Linear(4, 4), torch.randn(2, 4)
    with pytest.raises(
        relay.CompileError, match="R0403.*it has no elements on the device meta: load the weights first"
    ):
        relay.from_pytorch(network, (x,))


class Computed(torch.utils.data.Dataset):
    """Computes its elements with a compiled model, in the process that requests them."""

    def __init__(self, model):
        self.model = model

    def __len__(self):
        return 4

    def __getitem__(self, place):
        return self.model(torch.full((2, 3, 8, 8), float(place)))


@pytest.mark.parametrize("threads", [1, 2])
def test_called_in_workers_of_a_data_loader(network, threads):
    model = relay.compile(relay.from_pytorch(network, (X,)), threads=threads)
    model(X)  # its threads exist before workers are forked
    for place, got in enumerate(torch.utils.data.DataLoader(Computed(model), batch_size=None, num_workers=2)):
        near(got, network(torch.full((2, 3, 8, 8), float(place))))


def test_what_changes_behind_the_first_call():
    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.factor = torch.nn.Linear(4, 4), 2.0

        def forward(self, x):
            return self.layer(x) * self.factor

    torch._dynamo.reset()
    eager, x = Scaled().requires_grad_(False), torch.randn(2, 4)
    for freeze in (False, True):
        fast = relay.torch.compile(eager, freeze=freeze, fallback="error")
        near(fast(x), eager(x))
        fast.factor = eager.factor = 3.0
        near(fast(x), eager(x))
        fast.layer = eager.layer = torch.nn.Linear(4, 4).requires_grad_(False)
        near(fast(x), eager(x))


def test_views_that_are_read_negated():
    """The imaginary part of a conjugate: PyTorch keeps the elements and notes that they are to be negated."""
    x = torch.randn(3, dtype=torch.complex64).conj().imag
    assert x.is_neg()
    v = relay.var("v", shape=(3,))
    torch.testing.assert_close(relay.compile(relay.module(relay.exp(v)))(x), x.exp())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool], ids=str)
def test_tensors_and_parameters_share_memory(dtype):
    x = torch.ones(3, 4).to(dtype)
    for value in (x, torch.nn.Parameter(x, requires_grad=x.is_floating_point()), x.t()):
        array = relay.data.arrays.array(value)
        assert relay.data.arrays.torch_tensor(array).data_ptr() == x.data_ptr() or not value.is_contiguous()
        torch.testing.assert_close(relay.data.arrays.torch_tensor(array), value.detach())
