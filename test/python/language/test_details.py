"""Regressions in details: types of variables, declarations, orders of evaluation, edge cases of operators."""

import re

import numpy as np
import pytest
import torch

import relay

HEADER = '#[version = "0.0.5"]\n'
RNG = np.random.default_rng(3)


def compiled(parameters, body):
    return relay.compile(relay.parse(f"{HEADER}def @main({parameters}) {{ {body} }}\n"), strict=True)


def test_a_variable_without_a_type_takes_one_in_each_module():
    x = relay.var("x")
    function = relay.Function([x], relay.nn.relu(x))
    modules = []
    for shape, dtype in (((3, 4), "float32"), ((5,), "int32"), ((3, 4), "float32")):
        y = relay.var("y", shape=shape, dtype=dtype)
        module = relay.IRModule({"main": relay.Function([y], relay.Call(function, [y]))})
        modules.append((relay.transform.InferType()(module), shape, dtype))
    assert x.type_annotation is None
    for module, shape, dtype in modules:  # each keeps its own
        value = RNG.integers(-9, 9, shape).astype(dtype)
        np.testing.assert_array_equal(relay.compile(module)(value), np.maximum(value, 0))
        np.testing.assert_array_equal(relay.evaluate(module, [value]), np.maximum(value, 0))


def test_what_is_wrong_with_a_variable_without_a_type_is_still_said():
    x, a, b = relay.var("x"), relay.var("a", shape=(3,)), relay.var("b", shape=(2, 2), dtype="int32")
    function = relay.Function([x], relay.nn.relu(x))
    f = relay.var("f")
    both = relay.Let(f, function, relay.Tuple([relay.Call(f, [a]), relay.Call(f, [b])]))
    module = relay.IRModule({"main": relay.Function([a, b], both)})
    for _ in range(2):
        with pytest.raises(relay.errors.CompileError, match="R0301"):
            relay.transform.InferType()(module)


def test_a_type_from_outside_is_not_one_without_constructors():
    outside, inside = (
        relay.parse(f"{HEADER}{kind} T\ndef @main(%x: T) {{ %x }}\n") for kind in ("extern type", "type")
    )
    equal = relay.analysis.structural_equal
    assert not equal(outside, inside) and not equal(inside, outside)
    for module in (outside, inside):
        assert equal(module, relay.parse(str(module)))


def test_accumulating_maps_go_from_the_first_element_and_from_the_last():
    text = f"""{HEADER}import "list"
def @main() {{
  let %seen = ref(0);
  let %step = fn (%sum: int32, %x: int32) -> (int32, int32) {{
    ref_write(%seen, add(multiply(ref_read(%seen), 10), %x));
    (add(%sum, %x), %sum)
  }};
  let %l = @map_accuml(%step, 0, Cons(1, Cons(2, Cons(3, Nil))));
  let %left = ref_read(%seen);
  ref_write(%seen, 0);
  let %r = @map_accumr(%step, 0, Cons(1, Cons(2, Cons(3, Nil))));
  (%left, ref_read(%seen), %l.0, %r.0, @hd(%l.1), @hd(%r.1))
}}
"""
    module = relay.parse(text)
    for got in (relay.compile(module)(), relay.evaluate(module, [])):
        assert [int(v) for v in got] == [123, 321, 6, 6, 0, 5]


@pytest.mark.parametrize("mode, axes", [("DCR", (0, 3, 4, 1, 5, 2)), ("CDR", (0, 1, 4, 2, 5, 3))])
def test_depth_to_space(mode, axes):
    x = RNG.random((2, 8, 2, 3), np.float32)
    parts = (2, 2, 2, 2, 2, 3)  # of DCR: block rows, block columns, channels; of CDR: channels first
    want = x.reshape(parts).transpose(axes).reshape(2, 2, 4, 6)
    call = 'nn.depth_to_space(%x, block_size=2, mode="{}", layout="{}")'
    got = compiled("%x: Tensor[(2, 8, 2, 3), float32]", call.format(mode, "NCHW"))(x)
    np.testing.assert_array_equal(got, want)
    last = compiled("%x: Tensor[(2, 2, 3, 8), float32]", call.format(mode, "NHWC"))(
        np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    )
    np.testing.assert_array_equal(last, want.transpose(0, 2, 3, 1))


@pytest.mark.parametrize(
    "layout, parts, axes",
    [
        ("NCHW4c", (8, 2, 4, 2, 3), (0, 1, 3, 4, 2)),
        ("NCHW4n4c", (2, 4, 2, 4, 2, 3), (0, 2, 4, 5, 1, 3)),
        ("NCHW4c4n", (2, 4, 2, 4, 2, 3), (0, 2, 4, 5, 3, 1)),
    ],
)
def test_packed_layouts_by_meaning(layout, parts, axes):
    x = RNG.random((8, 8, 2, 3), np.float32)
    packed = x.reshape(parts).transpose(axes)
    there = compiled(
        "%x: Tensor[(8, 8, 2, 3), float32]", f'layout_transform(%x, src_layout="NCHW", dst_layout="{layout}")'
    )
    np.testing.assert_array_equal(there(x), packed)
    back = compiled(
        f"%x: Tensor[{packed.shape}, float32]", f'layout_transform(%x, src_layout="{layout}", dst_layout="NCHW")'
    )
    np.testing.assert_array_equal(back(packed), x)


def test_sums_of_bool_are_whether_any_holds():
    x = np.array([[True, True, False], [False, False, False]])
    got = compiled("%x: Tensor[(n, m), bool]", "(sum(%x, axis=[1]), prod(%x, axis=[1]), max(%x, axis=[1]))")(x)
    for one, want in zip(got, ([True, False], [False, False], [True, False]), strict=True):
        assert one.dtype == bool
        np.testing.assert_array_equal(one, want)
    counted = compiled("%x: Tensor[(n, m), bool]", 'sum(cast(%x, dtype="int32"), axis=[1])')(x)
    np.testing.assert_array_equal(counted, [2, 0])


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 20])
def test_local_response_of_even_sizes(size):
    x = RNG.random((2, 7, 3, 3), np.float32)
    body = f"nn.lrn(%x, size={size}, axis=1, bias=2f, alpha=0.5f, beta=0.75f)"
    want = torch.nn.functional.local_response_norm(torch.from_numpy(x), size, 0.5, 0.75, 2.0).numpy()
    np.testing.assert_allclose(compiled("%x: Tensor[(2, 7, 3, 3), float32]", body)(x), want, rtol=1e-6)


@pytest.mark.parametrize("shape", ["(4, 5)", "(n, m)"])
def test_negative_widths_cut_off(shape):
    x = RNG.random((4, 5), np.float32)
    pad = "nn.pad(%x, 0f, pad_width={})"
    got = compiled(f"%x: Tensor[{shape}, float32]", pad.format("[[-1, 2], [1, -2]]"))(x)
    np.testing.assert_array_equal(got, np.pad(x[1:, :-2], ((0, 2), (1, 0))))
    nothing = compiled(f"%x: Tensor[{shape}, float32]", pad.format("[[-2, -2], [0, 0]]"))(x)
    assert nothing.shape == (0, 5)
    with pytest.raises(relay.errors.CompileError):
        compiled(f"%x: Tensor[{shape}, float32]", pad.format("[[-3, -2], [0, 0]]"))(x)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_pytorchs_gates_and_outputs_as_the_documentation_says(kind):
    """The numbers are those of the doc string, which `relay ops` and docs/operators.md print."""
    network = getattr(torch.nn, kind)(3, 4, bidirectional=True)
    operator = getattr(relay.op.nn, kind.lower())
    told = re.search(r"parts take ([\d, ]*\d)", " ".join(operator.__doc__.split()))
    order = [int(k) for k in told[1].split(",")] if told else [0]
    with torch.no_grad():
        weights = [torch.cat([w.chunk(len(order))[k] for k in order]).numpy() for w in network.parameters()]
        x = torch.randn(5, 2, 3)
        expected = network(x)[0].numpy()
    states = [relay.const(np.zeros((2, 2, 4), "float32"))] * (2 if kind == "LSTM" else 1)
    data = relay.var("x", shape=(5, 2, 3))
    attrs = {"linear_before_reset": True} if kind == "GRU" else {}
    call = operator(data, [relay.const(w) for w in weights], states, direction="bidirectional", **attrs)
    steps = relay.compile(relay.module(relay.TupleGetItem(call, 0)))(x.numpy())
    assert steps.shape == (5, 2, 2, 4)  # (T, D, N, H)
    np.testing.assert_allclose(steps.transpose(0, 2, 1, 3).reshape(5, 2, 8), expected, rtol=1e-5, atol=1e-6)


NESTED = "%a: (Tensor[(2), float32], (Tensor[(2), float32], int32), bool)"


def test_lists_and_numbers_take_the_types_that_a_tuple_declares():
    module = relay.parse(f"{HEADER}def @main({NESTED}) {{ (add(%a.0, %a.1.0), %a.1.1, %a.2) }}\n")
    shared = [3.0, 4.0]
    for given in (
        ([1.0, 2.0], ([3.0, 4.0], 5), True),
        [[1, 2], [[3, 4], 5], True],
        (np.float32([1, 2]), (shared, 5), True),
    ):
        for got in (relay.compile(module)(given), relay.evaluate(module, [given])):
            assert [one.dtype.name for one in got] == ["float32", "int32", "bool"]
            np.testing.assert_array_equal(got[0], [4, 6])
            assert int(got[1]) == 5 and bool(got[2])
    both = relay.parse(f"{HEADER}def @main(%a: (Tensor[(2), float32], Tensor[(2), float64])) {{ (%a.0, %a.1) }}\n")
    for got in (relay.compile(both)((shared, shared)), relay.evaluate(both, [(shared, shared)])):  # the same list twice
        assert [one.dtype.name for one in got] == ["float32", "float64"]
    pair = [np.ones(2, "float32"), np.ones(2)]
    assert [one.dtype.name for one in relay.compile(both)(pair)] == ["float32", "float64"]


def test_lists_and_optional_values_inside_of_others():
    text = """import "list"
import "option"
def @main(%a: (List[Tensor[(2), float64]], Option[float64])) {
  (@length(%a.0), @hd(%a.0), match (%a.1) { Some(%x) => %x, None => 0f64 })
}
"""
    module = relay.parse(HEADER + text)
    for given, last in (([[[1, 2], [3, 4]], 7], 7.0), (([[1, 2], [3, 4]], None), 0.0)):
        for got in (relay.compile(module)(given), relay.evaluate(module, [given])):
            assert int(got[0]) == 2 and got[1].dtype == got[2].dtype == np.float64
            np.testing.assert_array_equal(got[1], [1, 2])
            assert float(got[2]) == last


def test_lists_of_several_lengths_are_no_array():
    module = relay.parse(f"{HEADER}def @main(%x: Tensor[(n, m), float32]) {{ %x }}\n")
    for run in (relay.compile(module), relay.compile(module, executor="vm"), lambda x: relay.evaluate(module, [x])):
        with pytest.raises(relay.errors.CompileError, match="R0601") as error:
            run([[1.0, 2.0], [3.0]])
        assert "it cannot be converted to an array" in str(error.value) and error.value.diagnostics[0].help


def test_numbers_that_would_become_infinite_are_refused():
    for value in (1e6, [1.0, -1e6], np.float32(70000), np.array([1e300])):
        with pytest.raises(relay.errors.CompileError, match="R0102.*does not fit in float16"):
            relay.const(value, "float16")
    with pytest.raises(relay.errors.CompileError, match="1e[+]300 does not fit in float32"):
        relay.const(1e300, "float32")
    assert np.isinf(relay.const(float("inf"), "float16").data.numpy())
    assert float(relay.const(65504, "float16").data.numpy()) == 65504
    module = relay.parse(f"{HEADER}def @main(%x: float16) {{ %x }}\n")
    with pytest.raises(relay.errors.CompileError, match="does not fit in float16"):
        relay.compile(module)(1e6)


def test_an_error_begins_with_what_is_wrong():
    with pytest.raises(relay.errors.CompileError) as error:
        relay.parse(f"{HEADER}def @main() {{ %x }}\n")
    assert str(error.value).splitlines()[0].startswith("error[R")


def test_types_and_patterns_from_python_nest_as_deep_as_in_text():
    deep = {
        "types": lambda one: relay.TupleType([one]),
        "types of functions": lambda one: relay.FuncType([], one),
        "types of references": relay.RefType,
        "patterns": lambda one: relay.PatternTuple([one]),
    }
    for name, wrap in deep.items():
        one = relay.PatternWildcard() if name == "patterns" else relay.TensorType((), "int32")
        with pytest.raises(relay.CompileError, match="R0105.*more than 200 levels"):
            for _ in range(100_000):
                one = wrap(one)
    shared = relay.TensorType((), "int32")
    for _ in range(60):
        shared = relay.TupleType([shared, shared])  # 2^60 paths


def test_large_sizes_from_python():
    """Functions on sizes recurse: those with more than 4096 parts are refused, and all others are usable."""
    n, m = relay.Dim("n"), relay.Dim("m")
    steps = {
        "sum": lambda size: size + m,
        "difference": lambda size: m - size,
        "product": lambda size: n * size,
        "quotient": lambda size: (size + m) // 3,
        "remainder": lambda size: size % (m + 1),
        "minimum": lambda size: (size * 2).min(m),
        "maximum": lambda size: m.max(size + 1),
        "polynomial": lambda size: size * 2 + m,
        "doubled": lambda size: size + size,
        "squared": lambda size: size * size,
    }

    def largest(step):
        size = n
        with pytest.raises(relay.CompileError, match=r"(?s)R\d+.*more than 4096 parts.*help"):
            for _ in range(30_000):
                size = step(size)
        return size

    for name, step in steps.items():
        size, other = largest(step), largest(step)
        assert size == other and hash(size) == hash(other) and size != n + 1 and repr(size) == repr(other), name
        tensor = relay.TensorType((size,), "float32")
        assert tensor == relay.TensorType((other,), "float32") and hash(tensor) and repr(tensor), name
        module = relay.IRModule.from_expr(relay.Function([x := relay.var("x", tensor)], x))
        assert relay.transform.InferType()(module).astext(), name
        del size, other, tensor, module
    with pytest.raises(relay.CompileError, match="more than 4096 parts"):
        relay.Dim(" * ".join(["n"] * 30_000))
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[({}), float32]) {{ %x }}'
    with pytest.raises(relay.CompileError, match="more than 4096 parts"):
        relay.parse(text.format(" * ".join(["n"] * 30_000)))


def test_nested_quotients_are_computed():
    """A chain of quotients, each over a sum, is computed in any depth: it takes few places on the runtime's stack."""
    n, m = relay.Dim("n"), relay.Dim("m")
    size, rows, others = n, 7, 5
    expected = rows
    for _ in range(150):
        size, expected = (size + m) // 3, (expected + others) // 3
    params = [relay.var(name, relay.TensorType((of,), "float32")) for name, of in (("x", n), ("y", m), ("z", size))]
    module = relay.IRModule.from_expr(relay.Function(params, relay.exp(params[2])))
    x, y = np.ones(rows, np.float32), np.ones(others, np.float32)
    for executor in ("graph", "vm"):
        program = relay.compile(module, executor=executor)
        assert np.asarray(program(x=x, y=y, z=np.ones(expected, np.float32))).shape == (expected,)
        with pytest.raises(relay.CompileError, match="R0601"):
            program(x=x, y=y, z=np.ones(expected + 1, np.float32))
