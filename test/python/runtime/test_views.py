"""Every operator that may return a view of its input: results share memory with no input that was not donated, and with
no other result. Compiled as a graph, by the VM and ahead of time; read through Python, DLPack, PyTorch and C."""

import ctypes
import itertools
import pathlib

import numpy as np
import pytest
from forms import each_nth

import relay

HEAD = '#[version = "0.0.5"]\n'
# Functions of %x (4, 6), float32, that move or rename elements, or leave them all where they are.
VIEWS = {
    "reshape": "reshape(%x, newshape=[2, 12])",
    "reshape by a list": "dyn.reshape(%x, shape_of(%x, dtype=\"int64\"))",
    "reshape_like": "reshape_like(%x, zeros(shape=[24], dtype=\"float32\"))",
    "reverse_reshape": "contrib_reverse_reshape(%x, newshape=[2, 12])",
    "batch_flatten": "nn.batch_flatten(%x)",
    "expand_dims": "expand_dims(%x, axis=1)",
    "squeeze": "squeeze(expand_dims(%x, axis=0), axis=[0])",
    "transpose to the same order": "transpose(%x, axes=[0, 1])",
    "transpose of one row": "transpose(reshape(%x, newshape=[1, 24]), axes=[1, 0])",
    "transpose twice": "transpose(transpose(%x))",
    "layout_transform": "layout_transform(%x, src_layout=\"NC\", dst_layout=\"NC2c\")",
    "rows": "strided_slice(%x, begin=[1, 0], end=[3, 6])",
    "all rows": "strided_slice(%x, begin=[0, 0], end=[4, 6])",
    "every second row": "strided_slice(%x, begin=[0, 0], end=[4, 6], strides=[2, 1])",
    "rows from the end": "strided_slice(%x, begin=[3, 0], end=[-5, 6], strides=[-1, 1])",
    "columns": "strided_slice(%x, begin=[0, 2], end=[4, 4])",
    "slice_like": "slice_like(%x, zeros(shape=[2, 6], dtype=\"float32\"))",
    "a part": "split(%x, indices_or_sections=2).1",
    "all parts": "split(%x, indices_or_sections=[1, 3])",
    "one part": "split(%x, indices_or_sections=1)",
    "take": "take(%x, 1, axis=0)",
    "take all": "take(%x, arange(0, 4, 1, start=0f, stop=4f, step=1f, dtype=\"int32\"), axis=0)",
    "broadcast_to": "broadcast_to(%x, shape=[4, 6])",
    "more rows": "broadcast_to(strided_slice(%x, begin=[0, 0], end=[1, 6]), shape=[3, 6])",
    "tile once": "tile(%x, reps=[1, 1])",
    "repeat once": "repeat(%x, repeats=1, axis=0)",
    "concatenate one": "concatenate((%x,))",
    "stack one": "stack((%x,), axis=0)",
    "no padding": "nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0]])",
    "copy": "copy(%x)",
    "cast to the same type": "cast(%x, dtype=\"float32\")",
    "elements of another type": "reinterpret(%x, dtype=\"int32\")",
    "elements of another type and back": "reinterpret(reinterpret(%x, dtype=\"int32\"), dtype=\"float32\")",
    "dropout": "nn.dropout(%x).0",
    "a checkpoint": "annotation.stop_fusion(%x)",
    "windows": "sliding_window(%x, axis=0, window_shape=[4, 6], strides=[1, 1])",
    "a sum over one": "sum(expand_dims(%x, axis=0), axis=[0])",
    "a view of a view": "strided_slice(reshape(%x, newshape=[24]), begin=[6], end=[18])",
    "the input": "%x",
}  # fmt: skip
FORMS = {
    "of the input": "{}",
    "of the input, beside it": "(%x, {})",
    "of a result, beside it": "let %y = negative(%x); (%y, {y})",
    "in a branch": "if (less(sum(%x), 0f)) {{ (negative(%x), {}) }} else {{ (%x, {}) }}",
}
EXECUTORS = ("compiled", "vm", "aot")


def program(view: str, form: str = "of the input") -> str:
    body = FORMS[form].format(*[VIEWS[view]] * form_count(form), y=VIEWS[view].replace("%x", "%y"))
    return HEAD + f"def @main(%x: Tensor[(4, 6), float32]) {{ {body} }}"


def form_count(form: str) -> int:
    return FORMS[form].replace("{{", "").count("{}")


def numbers() -> np.ndarray:
    return np.arange(24, dtype="float32").reshape(4, 6)


def leaves(results) -> list:
    return [leaf for one in results for leaf in leaves(one)] if isinstance(results, tuple) else [results]


def assert_apart(x, results: list) -> None:
    for a, b in itertools.combinations([x, *results], 2):
        assert not np.shares_memory(a, b)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("view", each_nth(2, VIEWS))
def test_results_share_no_memory(view, executor):
    for level, form in enumerate(FORMS):
        mod = relay.parse(program(view, form))
        wanted = leaves(relay.evaluate(mod, [numbers()]))
        model = relay.compile(mod, executor=executor, opt_level=level)
        x = numbers()
        results = leaves(model(x))
        assert_apart(x, results)
        for got, want in zip(results, wanted, strict=True):
            np.testing.assert_array_equal(got, want)
        for place, one in enumerate(results):
            one.reshape(-1).view("uint8")[:] = 255
            assert np.array_equal(x, numbers())
            for other, want in zip(results[place + 1 :], wanted[place + 1 :], strict=True):
                np.testing.assert_array_equal(other, want)
        again = leaves(model(x))
        assert_apart(x, [*results, *again])
        for got, want in zip(again, wanted, strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("view", VIEWS)
def test_of_the_evaluator(view):
    x = numbers()
    results = leaves(relay.evaluate(relay.parse(program(view, "of the input, beside it")), [x]))
    assert_apart(x, results)


class Exported:
    """Another library's array: it has __dlpack__ and no more."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **how):
        return self._array.__dlpack__(**how)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


@pytest.mark.parametrize("view", VIEWS)
def test_through_dlpack(view):
    x = numbers()
    model = relay.compile(relay.parse(program(view, "of the input, beside it")))
    assert_apart(x, [np.asarray(np.from_dlpack(one)) for one in leaves(model(Exported(x)))])


@pytest.mark.parametrize("view", VIEWS)
def test_of_constants(view):
    """Runs a program twice whose result is a view of a constant. What the caller writes there must not stay."""
    mod = relay.transform.InferType()(relay.parse(program(view)))
    main, constant = mod["main"], relay.const(numbers())
    for level in (0, 2):
        model = relay.compile(relay.module(relay.bind(main.body, {main.params[0]: constant})), opt_level=level)
        wanted = [one.copy() for one in leaves(model())]
        for one in leaves(model()):
            one.reshape(-1).view("uint8")[:] = 255
        for got, want in zip(leaves(model()), wanted, strict=True):
            np.testing.assert_array_equal(got, want)


TORCH_VIEWS = {
    "view": lambda x: x.view(2, 12),
    "reshape": lambda x: x.reshape(24),
    "transpose": lambda x: x.transpose(0, 1),
    "permute": lambda x: x.permute(1, 0),
    "t": lambda x: x.t(),
    "select": lambda x: x[1],
    "slice": lambda x: x[1:3, ::2],
    "narrow": lambda x: x.narrow(1, 2, 3),
    "expand": lambda x: x[:1].expand(3, 6),
    "squeeze": lambda x: x.unsqueeze(0).squeeze(),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "flatten": lambda x: x.flatten(),
    "unflatten": lambda x: x.unflatten(1, (2, 3)),
    "split": lambda x: x.split(2),
    "chunk": lambda x: x.chunk(3, 1),
    "unbind": lambda x: x.unbind(),
    "diagonal": lambda x: x.diagonal(),
    "unfold": lambda x: x.unfold(1, 2, 2),
    "as_strided": lambda x: x.as_strided((3, 2), (6, 1), 1),
    "view of other elements": lambda x: x.view(torch.int32),
    "view of bytes": lambda x: x.view(torch.uint8),
    "parts of complex numbers": lambda x: torch.view_as_complex(x.view(4, 3, 2)),
    "movedim": lambda x: x.movedim(0, 1),
    "contiguous": lambda x: x.contiguous(),
    "to": lambda x: x.to(torch.float32),
    "detach": lambda x: x.detach(),
    "clone": lambda x: x.clone(),
    "the input": lambda x: x,
    "a view of a result": lambda x: (y := x * 2, y.view(24)),
    "a view and a sum": lambda x: (x.view(24), x + 1),
    "bytes of a result": lambda x: (y := x * 2, y.view(torch.uint8)),
    "integers in a row of a result": lambda x: (y := x * 2, y[1].view(torch.int64)),
    "a result as complex numbers": lambda x: (y := x * 2, torch.view_as_complex(y.view(4, 3, 2))),
}
try:
    import torch
except ImportError:
    torch = None


def memory(tensors) -> list:
    """For each pair of tensors: true if one shares memory with the other."""
    places = [one.untyped_storage().data_ptr() for one in tensors]
    return [a == b for a, b in itertools.combinations(places, 2)]


@pytest.mark.skipif(torch is None, reason="PyTorch is not installed")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("view", each_nth(3, TORCH_VIEWS))
def test_under_torch_compile(view):
    """Under torch.compile views are views, as without it: of the same memory, and written together."""
    import relay.torch  # noqa: F401

    torch.compiler.reset()
    function, found = TORCH_VIEWS[view], []
    for run in (function, torch.compile(function, backend="relay")):
        x = torch.arange(24.0).view(4, 6)
        results = torch.utils._pytree.tree_leaves(run(x))
        shared = memory([x, *results])
        layout = [(one.dtype, one.shape, one.stride(), one.storage_offset()) for one in results]
        with torch.no_grad():
            x.add_(1)
        after = [one.clone() for one in results]
        if view != "expand":  # PyTorch refuses to write where elements share a place
            results[0].zero_()
        found.append((shared, layout, after, x))
    assert found[0][:2] == found[1][:2]
    for first, second in zip(found[0][2], found[1][2], strict=True):
        torch.testing.assert_close(first, second, rtol=0, atol=0, equal_nan=True)
    assert torch.equal(found[0][3], found[1][3])


@pytest.mark.skipif(torch is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("view", TORCH_VIEWS)
def test_of_exported_modules(view):
    """Results of a compiled module have memory of their own."""

    class Module(torch.nn.Module):
        def forward(self, x):
            return TORCH_VIEWS[view](x)

    x = torch.arange(24.0).view(4, 6)
    results = torch.utils._pytree.tree_leaves(relay.compile(relay.from_pytorch(Module(), (x,)))(x))
    assert not any(memory([x, *results]))
    for one, want in zip(results, torch.utils._pytree.tree_leaves(TORCH_VIEWS[view](x)), strict=True):
        assert torch.equal(one, want)


class CTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("shape", ctypes.c_void_p), ("rank", ctypes.c_int32),
                ("dtype", ctypes.c_int32), ("owner", ctypes.c_void_p)]  # fmt: skip


@pytest.fixture(scope="module")
def runtime():
    libraries = sorted(pathlib.Path(relay.__file__).resolve().parents[2].glob("build/*/librelay_runtime.so"))
    if not libraries:
        pytest.skip("librelay_runtime.so is not built")
    return ctypes.CDLL(str(libraries[0]))


@pytest.mark.parametrize("view", VIEWS)
def test_in_c(view, runtime, tmp_path):
    model = relay.compile(relay.parse(program(view, "of the input, beside it")))
    sizes = [one.nbytes for one in leaves(model(numbers()))]
    if "parts" in view:
        pytest.skip("the C interface gives no tuple in a tuple")
    model.save(tmp_path / "m.rart")
    loaded = ctypes.c_void_p()
    assert runtime.relay_model_load(str(tmp_path / "m.rart").encode(), None, ctypes.byref(loaded)) == 0
    x, shape = numbers(), (ctypes.c_int64 * 2)(4, 6)
    given = CTensor(x.ctypes.data, ctypes.addressof(shape), 2, 0, None)
    results = (CTensor * 2)()
    assert runtime.relay_model_run(loaded, ctypes.byref(given), 1, results, 2) == 0
    blocks = [(x.ctypes.data, x.nbytes)] + [(one.data, size) for one, size in zip(results, sizes, strict=True)]
    for (a, n), (b, m) in itertools.combinations(blocks, 2):
        assert a + n <= b or b + m <= a
