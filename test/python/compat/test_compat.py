"""Scripts written for TVM's Relay, under relay.compat; and relay.testing's networks."""

import pathlib
import re
import subprocess
import sys
import types

import numpy as np
import pytest
from forms import with_long_form
from programs import ROOT

pytest.importorskip("relay", exc_type=ImportError)
import relay.compat  # noqa: E402
import relay.testing  # noqa: E402

import relay  # noqa: E402

SCRIPTS = pathlib.Path(__file__).parent / "scripts"
FILES = with_long_form(sorted(SCRIPTS.glob("*.py")), lambda path: path.stem != "tuners")


def run(*arguments):
    """python -m relay.compat in a process of its own."""
    return subprocess.run([sys.executable, "-m", "relay.compat", *map(str, arguments)], capture_output=True, text=True)


@pytest.mark.parametrize("script", FILES, ids=lambda path: path.stem)
def test_scripts(script, tmp_path):
    pytest.importorskip("onnx")
    done = run(script, tmp_path)
    assert done.returncode == 0 and done.stdout.endswith("done\n"), done.stderr


def test_old_programs():
    """Files in the form of the old package's tests run as they are."""
    files = sorted((SCRIPTS.parent / "old_programs").glob("*.py"))
    done = run("-m", "pytest", "-v", "-p", "no:cacheprovider", *files)
    assert done.returncode == 0, done.stdout + done.stderr
    for file in files:
        assert re.search(rf"{file.name}::\S+ PASSED", done.stdout), f"no test of {file.name} passed"


@pytest.mark.slow
def test_pytest_under_compat(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import tvm, tvm.testing\n"
        "kind = tvm.testing.parameter('debug', 'graph')\n"
        "@tvm.testing.parametrize_targets\n"
        "def test_it(kind, target, dev):\n"
        "    x = tvm.relay.const(1)\n"
        "    assert tvm.relay.create_executor(kind, device=dev, target=target).evaluate(x + x).numpy() == 2\n"
        "a, b = tvm.testing.parameters((1, 2), (3, 4), ids=['first', 'second'])\n"
        "def test_together(a, b):\n"
        "    assert b == a + 1\n"
        "class TestIn:\n"
        "    one = tvm.testing.parameter(5)\n"
        "    c, d = tvm.testing.parameters((6, 7))\n"
        "    def test_it(self, one, c, d):\n"
        "        assert (one, c, d) == (5, 6, 7)\n"
        "def test_fixtures(target, dev, executor_kind):\n"
        "    assert tvm.target.Target(target).kind.name == 'llvm' and dev == tvm.cpu()\n"
        "    assert executor_kind in ('graph', 'vm')\n"
        "@tvm.testing.requires_cuda\n"
        "def test_gpu():\n"
        "    assert False\n"
    )
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path)
    assert "7 passed, 1 skipped" in done.stdout, done.stdout + done.stderr
    for number, ending in enumerate(("import pytest, sys; sys.exit(pytest.main([__file__]))", "tvm.testing.main()")):
        file = tmp_path / f"run_{number}.py"
        file.write_text(
            "import tvm, tvm.testing\ndef test_it(target): assert target == 'llvm'\n"
            f"if __name__ == '__main__': {ending}\n"
        )
        done = run(file)
        assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr
    assert run().returncode == 2 and "usage" in run("--help").stdout


def test_names_are_ours():
    import tvm
    import tvm.relay.analysis
    import tvm.relay.expr_functor
    from tvm import relay as theirs
    from tvm.relay.build_module import bind_params_by_name
    from tvm.relay.expr_functor import ExprMutator
    from tvm.relay.op.nn import dense
    from tvm.relay.scope_builder import ScopeBuilder
    from tvm.relay.testing import resnet, run_infer_type
    from tvm.runtime import vm  # noqa: F401

    assert tvm.IRModule is relay.IRModule and theirs.Function is relay.Function
    assert ExprMutator is relay.ExprMutator and ScopeBuilder is relay.ScopeBuilder and dense is relay.nn.dense
    assert (
        tvm.relay.analysis.well_formed is relay.analysis.well_formed
        and bind_params_by_name is relay.bind_params_by_name
    )
    assert resnet is relay.testing.resnet and tvm.relay.op.get("add") is relay.op.get("add")
    assert tvm.ir.Op.get("add") is relay.op.get("add") and isinstance(
        theirs.const(1).op if False else 1, tvm.tir.IntImm
    )
    assert (
        theirs.testing.resnet is relay.testing.resnet and relay.__name__ == "relay" and relay.op.__name__ == "relay.op"
    )
    x = theirs.var("x", theirs.TensorType((tvm.te.size_var("n"), tvm.tir.Any()), "float32"))
    assert str(run_infer_type(theirs.exp(x)).checked_type) == "Tensor[(n, ?), float32]"
    assert isinstance(theirs.TensorType((3,)).shape[0], tvm.tir.IntImm) and not isinstance(
        x.type_annotation.shape[0], int
    )


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("tvm.autotvm", "docs/tuning.md"),
        ("tvm.rpc", "artifact"),
        ("tvm.topi", "add-an-operator.md"),
        ("tvm.contrib.debugger", "profile"),
        ("tvm.nonsense", "docs/from-tvm.md"),
        ("tvm.nonsense.deeper", "docs/from-tvm.md"),
        ("tvm.relay.op.contrib.tensorrt", "register_pattern_table"),
    ],
)
def test_what_is_outside_says_so(module, reason):
    """A file can import it; what uses it fails."""
    import importlib

    with pytest.raises(NotImplementedError, match=reason):
        importlib.import_module(module).something(1)


def test_attributes_that_are_outside_say_so():
    import tvm

    for get, reason in [
        (lambda: tvm.te.create_schedule([]), "tour.md"),
        (lambda: tvm.tir.PrimFunc([], None), "loop language"),
        (lambda: tvm.relay.transform.memory_plan.MemoryPlan(), "planned when a program is built"),
        (lambda: tvm.get_global_func("relay.ext.none")(1), "registry"),
        (lambda: list(tvm.topi.nn.dense), "add-an-operator"),
        (lambda: tvm.ir.EnvFunc.get("tvm.relay.type_relation.Broadcast")(1), "registry"),
        (lambda: types.new_class("Mine", (tvm.tir.StmtMutator,)), "loop language"),
        (lambda: tvm.nonsense(), "from-tvm.md"),
        (lambda: tvm.relay.transform.ManifestLifetimes(), "planned when a program is built"),
        (lambda: tvm.relay.transform.NoSuchPass(), "there are: AlterOpLayout"),
    ]:
        with pytest.raises((AttributeError, NotImplementedError), match=reason):
            get()
    assert not isinstance(1, tvm.tir.PrimFunc) and "tour.md" in repr(tvm.te.create_schedule)
    with pytest.raises(relay.CompileError, match="the processor"):
        tvm.relay.build(relay.module(relay.const(1)), target="cuda")
    with pytest.raises(NotImplementedError, match="one device"):
        tvm.relay.build_config(fallback_device=tvm.gpu(0))


def test_early_names():
    import tvm
    from tvm import relay as early

    x = early.var("x", shape=(2, 2))
    f = early.Function([x], early.nn.batch_flatten(early.nn.dropout(x + x)))
    typed = early.ir_pass.infer_type(f)
    assert str(typed.checked_type) == "fn (Tensor[(2, 2), float32]) -> Tensor[(2, 2), float32]"
    assert "dropout" not in str(early.ir_pass.simplify_inference(f))
    assert "Primitive" in str(early.ir_pass.fuse_ops(f, opt_level=2))
    two = early.ir_pass.fold_constant(early.const(1) + early.const(1))
    assert two.data.asnumpy() == 2
    assert early.CallWithFields(f.body, args=[x]).args == [x]
    assert early.ir_pass.free_vars(f.body) == [x] and early.ir_pass.alpha_equal(f, f)
    mod = early.Module({early.GlobalVar("main"): f})
    assert isinstance(mod, early.Module) and isinstance(early.transform.InferType()(mod), early.Module)
    assert early.Module.from_expr(f) == mod and early.testing.ctx_list()[0][0] == "llvm"
    assert mod["main"].checked_type.ret_type == early.TensorType((2, 2))
    with pytest.raises(relay.CompileError, match="add"):
        mod["wrong"] = early.Function([x], x + early.const(np.ones((3, 3), "float32")))
    with early.build_config(opt_level=3), tvm.target.create("llvm"):
        assert tvm.transform.PassContext.current().opt_level == 3
        graph, lib, params = early.build(f)
    m = tvm.contrib.graph_runtime.create(graph, lib, tvm.cpu())
    m.run(x=tvm.nd.array(np.ones((2, 2), "float32")))
    assert (m.get_output(0).asnumpy() == 2).all()


def test_text_of_every_version():
    from tvm import relay as theirs

    body = "def @main(%x: Tensor[(2), float32]) {\n  %0 = exp(%x) /* ty=Tensor[(2), float32] */END\n  add(%0, %0)\n}\n"
    expected = relay.parse('#[version = "0.0.5"]\n' + body.replace("END", ";"))
    for number in range(1, 6):
        for end in ("", ";"):
            assert theirs.parse(f"v0.0.{number}\n" + body.replace("END", end)) == expected
        assert theirs.fromtext(f'#[version = "0.0.{number}"]\n' + body.replace("END", ";")) == expected
    with pytest.raises(relay.CompileError, match="R0103"):
        theirs.parse("v0.0.9\n" + body.replace("END", ";"))
    blocks = """v0.0.1
def @main(%x: Tensor[(2), float32], %c: bool) {
  %0 = fn (%y: Tensor[(2), float32]) {
    %1 = exp(%y)
    add(%1, %1)
  }
  let %t = if (%c) {
    %0(%x)
  } else {
    %x
  }
  %2 = expand_dims(take(%t, int64(0), axis=0), axis=0)  // a comment
  add(%2, float32(1.5))
}
"""
    mod = theirs.parse(blocks)
    value = np.array([1, 2], np.float32)
    result = theirs.create_executor("debug", mod).evaluate()(value, np.array(True))
    np.testing.assert_allclose(result, [2 * np.e + 1.5], rtol=1e-6)
    free = theirs.parser.parse_expr("v0.0.1\nfree_var %x: Tensor[(10, 1), float32]\nadd(%x, %x)\n")
    assert str(relay.analysis.free_vars(free)[0].type_annotation) == "Tensor[(10, 1), float32]"


def test_ndarrays():
    import tvm

    a = tvm.nd.array([[1, 2]])
    assert isinstance(a.asnumpy(), np.ndarray) and type(a.numpy()) is np.ndarray
    b = tvm.nd.empty((1, 2), a.dtype)
    a.copyto(b)
    assert (b.numpy() == a.numpy()).all() and b.shape == (1, 2) and str(a.device) == "cpu(0)"
    assert (b.copyfrom(np.array([[3, 4]])) == [[3, 4]]).all()
    saved = tvm.relay.save_param_dict({"a": a})
    assert (tvm.relay.load_param_dict(saved)["a"].asnumpy() == [[1, 2]]).all()
    tuple_of = tvm.relay.Tuple([tvm.relay.const(1), tvm.relay.const(2.0)])
    one, two = tvm.relay.create_executor("debug").evaluate(tuple_of)
    assert one.asnumpy() == 1 and two.asnumpy() == 2


@pytest.mark.parametrize("kind", ["debug", "vm", "aot"])
def test_values_that_are_not_tensors(kind):
    import tvm
    from tvm.relay.backend.interpreter import ConstructorValue, RefValue

    mod = tvm.IRModule()
    p = tvm.relay.prelude.Prelude(mod)
    run = tvm.relay.create_executor(kind, mod=mod).evaluate
    xs = tvm.relay.var("xs", p.l(tvm.relay.scalar_type("int32")))
    pair = run(p.cons(tvm.relay.const(1), p.nil()))
    assert isinstance(pair, ConstructorValue) and pair.tag == p.cons.tag == pair.constructor.tag
    assert pair.fields[0].asnumpy() == 1 and len(pair) == 2 and pair[1].constructor.name_hint == "Nil"
    assert run(tvm.relay.Function([xs], p.length(xs)))(pair).asnumpy() == 1
    ref = run(tvm.relay.RefCreate(tvm.relay.const(3)))
    assert isinstance(ref, RefValue) and ref.value.asnumpy() == 3


def test_the_virtual_machine_takes_and_gives_values():
    import tvm

    mod = tvm.IRModule()
    p = tvm.relay.prelude.Prelude(mod)
    xs = tvm.relay.var("xs", p.l(tvm.relay.scalar_type("int32")))
    mod["main"] = tvm.relay.Function([xs], p.rev(xs))
    vm = tvm.runtime.vm.VirtualMachine(tvm.relay.vm.compile(mod, "llvm"), tvm.cpu())
    back = vm.invoke("main", [1, 2, 3])
    assert [back[0].numpy(), vm.invoke("main", back)[0].numpy()] == [3, 1] and back.tag == p.cons.tag


def test_nodes_have_what_they_had():
    import tvm
    from tvm.relay.op import op as _op
    from tvm.relay.op import register_compute
    from tvm.tir.expr import IntImm

    x = tvm.relay.var("x", shape=(2, "n"))
    sizes = x.type_annotation.shape
    assert sizes[0].value == 2 and isinstance(sizes[0], IntImm) and not isinstance(sizes[1], IntImm)
    assert isinstance(sizes[1], tvm.tir.Var) and not isinstance(sizes[0], (tvm.tir.Var, tvm.tir.Any))
    assert isinstance(tvm.relay.Any(), tvm.tir.Any) and not isinstance(tvm.tir.Any(), tvm.tir.Var)
    assert tvm.tir.Var("n") == relay.Dim("n") == tvm.te.var("n")
    assert x.vid.same_as(x.vid) and x.vid == x.vid and x.vid.name_hint == "x"
    assert not x.vid.same_as(tvm.relay.var("x").vid)
    assert isinstance(tvm.relay.const([1, 2]).data, tvm.nd.NDArray)
    f = (
        tvm.relay.Function([x], x)
        .set_attribute("Inline", IntImm("int32", 1))
        .set_attribute("Note", tvm.tir.StringImm("a"))
    )
    assert f.attrs == {"Inline": 1, "Note": "a"}
    mod = tvm.IRModule()
    mod._add("main", f, True)
    assert mod[mod.entry_func].attrs == f.attrs and _op.get("nn.dense").num_inputs == 2
    assert tvm.ir.make_node("DictAttrs", Primitive=1) == {"Primitive": 1}
    with pytest.raises(NotImplementedError, match="classes"):
        tvm.ir.make_node("relay.Call")
    assert mod.same_as(mod) and not mod.same_as(mod.clone())
    assert mod["main"].attrs == f.attrs and _op.get("add") is relay.op.get("add")
    with pytest.raises(NotImplementedError, match="add-an-operator"):
        register_compute("add", None)


def test_containers():
    import tvm
    from tvm.runtime import container

    sizes = tvm.runtime.convert([1, 2])
    assert sizes == [1, 2] and (1, 2) == sizes and sizes != [1] and tvm.convert("a") == "a"
    assert tvm.relay.TensorType(sizes).shape == sizes
    assert (
        container.tuple_object([1, 2]) == (1, 2) and isinstance([1], container.ADT) and not isinstance(1, container.ADT)
    )
    pair = tvm.relay.var("pair", tvm.relay.TupleType([tvm.relay.scalar_type("int64")] * 2))
    swapped = tvm.relay.Tuple([tvm.relay.TupleGetItem(pair, 1), tvm.relay.TupleGetItem(pair, 0)])
    swap = tvm.relay.create_executor("debug").evaluate(tvm.relay.Function([pair], swapped))
    assert [one.asnumpy() for one in swap((1, 2))] == [2, 1]
    assert [one.asnumpy() for one in swap(container.tuple_object([tvm.relay.const(3, "int64"), np.array(4)]))] == [4, 3]


def test_natural_numbers():
    import tvm
    from tvm.relay.backend.interpreter import ConstructorValue
    from tvm.relay.testing import add_nat_definitions, count, make_nat_expr, make_nat_value

    p = tvm.relay.prelude.Prelude(tvm.IRModule())
    add_nat_definitions(p)
    assert p.mod[p.add].checked_type == tvm.relay.FuncType([p.nat(), p.nat()], p.nat())
    run = tvm.relay.create_executor("debug", p.mod).evaluate
    assert count(p, run(p.add(make_nat_expr(p, 2), p.s(p.z())))) == 3
    n = tvm.relay.var("n", p.nat())
    double = run(tvm.relay.Function([n], p.double(n)))
    assert count(p, double(make_nat_value(p, 4))) == 8
    assert count(p, double(ConstructorValue(p.s.tag, [make_nat_value(p, 0)], p.s))) == 2
    with pytest.raises(ValueError, match="is number"):
        ConstructorValue(p.z.tag, [], p.s)
    with pytest.raises(ValueError, match="is not a natural number"):
        count(p, relay.Data("Nil"))


def test_equal_when_typed():
    """The case of a module that has inferred the types of expressions put into it."""
    import tvm

    x = tvm.relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(tvm.relay.Function([x], x + x))
    typed = tvm.relay.transform.InferType()(mod)
    fresh = tvm.relay.parse(mod.astext())
    assert tvm.ir.structural_equal(fresh, typed) and fresh != typed and tvm.relay.analysis.alpha_equal(fresh, typed)
    tvm.relay.analysis.assert_graph_equal(mod["main"], typed["main"])
    with pytest.raises(AssertionError, match="not equal"):
        tvm.relay.analysis.assert_alpha_equal(x + x, x)
    assert tvm.ir.structural_equal([x, 1], (x, 1)) and not tvm.ir.structural_equal([x, 1], [x])


def test_equal_with_the_types_of_inner_functions():
    import tvm

    def program(annotated):
        x, y, z = tvm.relay.var("x", shape=(2,)), tvm.relay.var("y", shape=(2,)), tvm.relay.var("z")
        inner = tvm.relay.Function([y], y + y, y.type_annotation if annotated else None)
        body = tvm.relay.Let(z, inner(x), tvm.relay.exp(z))
        return tvm.relay.testing.run_infer_type(tvm.relay.Function([x], body))

    assert not relay.analysis.structural_equal(program(True), program(False))
    tvm.ir.assert_structural_equal(program(True), program(False))
    with pytest.raises(AssertionError, match="not equal"):
        tvm.ir.assert_structural_equal(program(True), program(True).body)
    p = tvm.relay.prelude.Prelude(tvm.IRModule())
    typed = tvm.relay.transform.InferType()(p.mod)
    assert tvm.ir.structural_equal(typed, tvm.relay.transform.InferType()(tvm.relay.parse(p.mod.astext())))


def test_hashes_and_kinds():
    import tvm
    from tvm.relay.analysis import check_kind

    x, y, z = (tvm.relay.var(name) for name in "xyz")
    assert tvm.ir.structural_hash(tvm.relay.Let(x, y, x)) == tvm.ir.structural_hash(tvm.relay.Let(z, y, z))
    assert tvm.ir.structural_hash(x + x) != tvm.ir.structural_hash(y + y)
    assert tvm.ir.structural_hash(x + x, True) == tvm.ir.structural_hash(y + y, True)
    pattern = tvm.relay.PatternVar(x)
    assert tvm.ir.structural_hash(pattern) == tvm.ir.structural_hash(pattern) != tvm.ir.structural_hash(x)
    p = tvm.relay.prelude.Prelude(tvm.IRModule())
    assert check_kind(p.l(tvm.relay.TensorType((2,))), p.mod) == tvm.relay.TypeKind.Type
    assert check_kind(tvm.relay.GlobalTypeVar("T")) == tvm.relay.TypeKind.AdtHandle
    with pytest.raises(tvm.error.TVMError, match="List"):
        check_kind(tvm.relay.TypeCall(tvm.relay.GlobalTypeVar("List"), []), p.mod)


def test_expected_values():
    """tvm.topi.testing, which has its own code, and the evaluator agree."""
    from tvm.topi import testing

    rng = np.random.default_rng(0)

    def check(expr, data, expected):
        mod = relay.module(expr)
        np.testing.assert_allclose(relay.evaluate(mod, [data]), expected, rtol=1e-4, atol=1e-5)

    a, w = rng.random((2, 4, 7, 6), np.float32), rng.random((6, 2, 3, 2), np.float32)
    x = relay.var("x", shape=a.shape)
    conv = relay.nn.conv2d(x, relay.const(w), strides=(2, 1), padding=(1, 0, 0, 2), groups=2)
    check(conv, a, testing.conv2d_nchw_python(a, w, (2, 1), (1, 0, 0, 2), 2))
    same = relay.nn.conv2d(x, relay.const(w), padding=(1, 0, 1, 1), groups=2)
    check(same, a, testing.conv2d_nchw_python(a, w, 1, "SAME", 2))
    alone = rng.random((4, 1, 3, 3), np.float32)
    deep = relay.nn.conv2d(x, relay.const(alone), padding=(1, 1), groups=4)
    check(deep, a, testing.depthwise_conv2d_python_nchw(a, alone, 1, 1))
    back = rng.random((4, 5, 3, 2), np.float32)
    wide = relay.nn.conv2d_transpose(x, relay.const(back), strides=(2, 3), padding=(1, 0), output_padding=(1, 2))
    check(wide, a, testing.conv2d_transpose_nchw_python(a, back, (2, 3), (1, 0), (1, 2)))
    check(relay.nn.softmax(x, axis=1), a, testing.softmax_python(a))
    check(relay.nn.log_softmax(x, axis=-1), a, testing.log_softmax_python(a, -1))
    pair = rng.random((2, 6, 4), np.float32)
    y = relay.var("y", shape=pair.shape)
    check(relay.nn.batch_matmul(y, y), pair, testing.batch_matmul(pair, pair))
    assert testing.dilate_python(np.array([[1, 2]]), (2, 3)).tolist() == [[1, 0, 0, 2]]
    places = relay.var("i", shape=(3,), dtype="int32")
    hot = relay.one_hot(places, relay.const(2.0), relay.const(-1.0), 4, 0, "float32")
    check(hot, np.array([3, 0, 1], np.int32), testing.one_hot([3, 0, 1], 2, -1, 4, 0, "float32"))
    nhwc = testing.conv2d_nhwc_python(a.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0), 1, "VALID", 2)
    np.testing.assert_allclose(nhwc.transpose(0, 3, 1, 2), testing.conv2d_nchw_python(a, w, 1, 0, 2))


def test_tensor_arrays_put_themselves_into_the_prelude():
    import tvm
    from tvm.relay.prelude import StaticTensorArrayOps, TensorArrayOps

    p = tvm.relay.prelude.Prelude(tvm.IRModule())
    TensorArrayOps(p, "float32").register()
    StaticTensorArrayOps(p, "int32", (2, tvm.relay.Any())).register()
    StaticTensorArrayOps(p, "int32", ()).register()
    for name in ("tensor_array_float32", "tensor_array_int32_2_any", "tensor_array_int32_scalar"):
        assert name in p.mod
    array = p.get_var("tensor_array", "int32")(tvm.relay.const(2))
    stack, write, one = (p.get_var(name, "int32") for name in ("tensor_array_stack", "tensor_array_write", "tensor0"))
    for place in (0, 1):
        array = write(array, tvm.relay.const(place), one(tvm.relay.const(7 + place)))
    value = tvm.relay.create_executor("debug", p.mod).evaluate(stack(array))
    assert value.constructor == p.get_var("tensor1", "int32") and value.fields[0].asnumpy().tolist() == [7, 8]
    assert str(p.get_var("tensor_t", "int32")) == "tensor_int32_t"


def guide_rows(heading):
    """The rows of the table under a heading of docs/from-tvm.md."""
    page = (ROOT / "docs" / "from-tvm.md").read_text()
    table = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines() if line.startswith("| `")
    ]


@pytest.mark.parametrize("row", guide_rows("Missing operators"), ids=lambda row: row[0])
def test_operators_that_are_not_there_say_so(row):
    """The guide's text about them is the help of the diagnostic."""
    name, why = row[0].strip("`").replace("*", "conv2d"), re.sub(r"\[[^]]+\]\(([^)]+)\)", r"docs/\1", row[1])
    with pytest.raises(relay.CompileError) as error:
        relay.parse_expr(f"free_var %x: float32; {name}(%x)")
    assert [(d.code, d.help) for d in error.value.diagnostics] == [("R0202", why)]


@pytest.mark.parametrize("row", guide_rows("Equivalent expressions"), ids=lambda row: row[0])
def test_the_guides_table(row, tmp_path):
    """Both sides are one object, or have equal values."""
    import torch
    import tvm

    x = relay.var("x", shape=(2, 3))
    f = relay.Function([x], relay.nn.relu(x) + x)
    names = {
        "torch": torch,
        "scripted": torch.jit.trace(torch.nn.Tanh(), torch.ones(2, 3)),
        "tvm": tvm,
        "relay": relay,
        "x": x,
        "f": f,
        "mod": relay.IRModule({"main": f}),
        "value": np.arange(6, dtype=np.float32).reshape(2, 3) - 3,
        "model": str(ROOT / "examples" / "tour" / "dense.relay"),
    }
    theirs, ours = (eval(cell.strip("`"), names) for cell in row)
    if isinstance(ours, np.ndarray):
        np.testing.assert_allclose(theirs, ours, rtol=1e-5)
    elif isinstance(ours, relay.Expr):
        assert relay.analysis.structural_equal(theirs, ours, map_free_vars=True)
    elif isinstance(ours, tuple) or not callable(ours):
        assert theirs == ours
    else:
        assert theirs is ours


def test_the_guide_lists_what_is_outside():
    from relay.compat.outside import REPLACEMENTS

    assert {row[0].strip("`"): row[1] for row in guide_rows("Missing modules")} == REPLACEMENTS


@pytest.mark.parametrize("row", guide_rows("Missing operators"), ids=lambda row: row[0])
def test_the_guide_lists_operators_that_are_outside(row):
    name = row[0].strip("`").replace("*", "identity")
    with pytest.raises(relay.CompileError, match=re.escape(f"there is no operator or constructor '{name}'")):
        relay.parse(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) {{ {name}(%x) }}')


# --- networks ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "arguments", "params", "macs", "some"),
    [
        ("mlp", {"batch_size": 1}, 6, 109184, "fc3_bias"),
        ("dqn", {"batch_size": 1}, 10, 9352192, "conv3_bias"),
        ("dqn", {"batch_size": 1, "layout": "NHWC", "image_shape": (84, 84, 4)}, 10, 9352192, "dense2_weight"),
        ("resnet", {}, 99, 1826918400, "stage4_unit2_conv2_weight"),
        ("resnet", {"num_layers": 20, "image_shape": (3, 28, 28)}, 104, None, "stage3_unit3_bn2_moving_var"),
        (
            "resnet",
            {"num_layers": 50, "layout": "NHWC", "image_shape": (64, 64, 3)},
            None,
            None,
            "stage1_unit1_sc_weight",
        ),
        ("mobilenet", {}, 137, 568740352, "separable_conv_block_13_conv2_weight"),
        ("squeezenet", {}, 52, 835814912, "fire8_right_conv_bias"),
        ("squeezenet", {"version": "1.1"}, 52, None, "conv_final_weight"),
        ("densenet", {"batch_size": 1}, 606, 1761689600, "conv_t_2_weight"),
        ("inception_v3", {}, 472, 5713216096, "mixed_10_tower_1_mixed_conv_1_conv1_weight"),
        ("dcgan", {"batch_size": 1, "ngf": 16}, None, None, "g4_batch_norm_gamma"),
        ("lstm", {"iterations": 2, "num_hidden": 8}, 10, None, "h2h_1_bias"),
        ("synthetic", {}, 9, 67392, "dense2_weight"),
    ],
)
def test_networks(name, arguments, params, macs, some):
    mod, values = getattr(relay.testing, name).get_workload(**arguments)
    assert params in (None, len(values)) and some in values
    assert macs in (None, relay.analysis.get_total_mac_number(mod["main"]))
    assert all(
        v.type_annotation.concrete_shape == values[v.name_hint].shape
        for v in mod["main"].params
        if v.name_hint in values
    )


def test_vgg():
    net = relay.testing.vgg.get_net(1, (3, 32, 32), 10, "float32", num_layers=16, batch_norm=True)
    typed = relay.testing.run_infer_type(net)
    assert relay.analysis.list_op_freqs(relay.IRModule({"main": typed}))["nn.conv2d"] == 13
    with pytest.raises(ValueError, match="11, 13, 16, 19"):
        relay.testing.vgg.get_net(1, (3, 32, 32), 10, "float32", num_layers=12)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("mlp", {"batch_size": 2}),
        ("dqn", {"batch_size": 1, "image_shape": (4, 36, 36)}),
        ("resnet", {"num_layers": 8, "image_shape": (3, 16, 16), "num_classes": 10}),
        ("dcgan", {"batch_size": 1, "ngf": 4}),
        ("synthetic", {}),
    ],
)
def test_networks_run(name, arguments):
    mod, params = getattr(relay.testing, name).get_workload(**arguments)
    mod = relay.testing.bound(mod, params)
    data = relay.testing.rand("float32", *mod["main"].params[0].type_annotation.concrete_shape)
    np.testing.assert_allclose(relay.compile(mod)(data), relay.evaluate(mod, [data]), rtol=1e-3, atol=1e-5)


def test_run_opt_pass():
    x = relay.var("x", shape=(2,))
    folded = relay.testing.run_opt_pass(x + (relay.const(1.0) + relay.const(2.0)), relay.transform.FoldConstant())
    assert relay.testing.count_ops(folded) == 1 and "3f" in str(folded)


def test_from_onnx_takes_every_argument(tmp_path):
    import onnx
    import tvm
    from onnx import TensorProto, helper

    w = onnx.numpy_helper.from_array(np.eye(3, dtype=np.float32) * 2, "w")
    axes = onnx.numpy_helper.from_array(np.array([1]), "axes")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["t"]),
        helper.make_node("Unsqueeze", ["t", "axes"], ["y"], name="u"),
    ]
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", ["n", 3]), ("y", None))
    )
    model = helper.make_model(
        helper.make_graph(nodes, "g", [x], [y], [w, axes]), opset_imports=[helper.make_opsetid("", 13)]
    )
    renamed = tmp_path / "renamed.onnx"
    module, params = tvm.relay.frontend.from_onnx(
        model, {"x": (2, 3)}, dtype="float32", opset=13, freeze_params=False,
        convert_config={"use_welford": True}, export_node_renamed_model_path=str(renamed),
    )  # fmt: skip
    assert list(params) == ["w"] and [p.name_hint for p in module["main"].params] == ["x", "w"]
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(relay.compile(module)(data, params["w"]), 2 * data[:, None])
    assert [node.name for node in onnx.load(renamed).graph.node] == ["MatMul_0", "u"]
    module, params = tvm.relay.frontend.from_onnx(model, dtype={"x": "float32"})
    assert params == {} and len(module["main"].params) == 1
    with pytest.raises(relay.CompileError, match="no such input"):
        tvm.relay.frontend.from_onnx(model, dtype={"z": "float32"})
    with pytest.raises(ValueError, match="convert_config has no speed"):
        tvm.relay.frontend.from_onnx(model, convert_config={"speed": 1})
