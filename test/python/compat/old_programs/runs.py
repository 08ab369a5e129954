"""Running: the graph executor, the virtual machine and operators written with others."""

import numpy as np
import pytest
import tvm
import tvm.relay.testing
from tvm import relay
from tvm.contrib import graph_executor, utils
from tvm.relay.backend.vm import VMCompiler
from tvm.runtime import vm as vm_rt


def test_functions_of_a_graph_module():
    x = relay.var("x", shape=(1, 10))
    lib = relay.build(tvm.IRModule.from_expr(relay.Function([x], x + x)), "llvm")
    model = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    data = np.ones((1, 10), "float32")
    model.module["set_input"]("x", data)
    model["run"]()
    assert (model.module["get_output"](0).numpy() == 2).all() and model.module["get_num_outputs"]() == 1
    with pytest.raises(NotImplementedError, match="profile"):
        model.debug_get_output("x", data)


def test_executors_by_name():
    x = relay.var("x", shape=(1, 10))
    mod = tvm.IRModule.from_expr(relay.Function([x], x + x))
    packed = relay.backend.Executor("aot", {"interface-api": "packed"})
    assert relay.build(mod, "llvm", executor=packed)["default"](tvm.cpu()) is not None
    for wrong in (
        {"executor": relay.backend.Executor("aot", {"unpacked-api": True})},
        {"runtime": relay.backend.Runtime("crt")},
        {"workspace_memory_pools": []},
    ):
        with pytest.raises(NotImplementedError):
            relay.build(mod, "llvm", **wrong)
    named = relay.build(mod, "llvm", mod_name="mine")
    assert named["mine"](tvm.cpu()) is not None
    with pytest.raises(KeyError):
        named["default"]


def test_a_program_that_was_saved():
    x = relay.var("x", shape=(10, 10))
    exe = relay.vm.compile(tvm.IRModule.from_expr(relay.Function([x], x + x)), target="llvm")
    code, lib = exe.save()
    path = utils.tempdir()
    lib.export_library(path.relpath("lib.so"))
    machine = vm_rt.VirtualMachine(
        vm_rt.Executable.load_exec(code, tvm.runtime.load_module(path.relpath("lib.so"))), tvm.cpu()
    )
    assert (machine.run(np.ones((10, 10), "float32")).numpy() == 2).all()
    compiler = VMCompiler()
    compiler.lower(tvm.IRModule.from_expr(relay.Function([x], x * x)), "llvm")
    assert (vm_rt.VirtualMachine(compiler.get_exec(), tvm.cpu()).run(np.full((10, 10), 3, "float32")) == 9).all()


@pytest.mark.parametrize("kind", ["debug", "vm", "graph"])
def test_lists_for_tuples(kind):
    pair = relay.TupleType([relay.TensorType((relay.Any(), 1)), relay.TupleType([relay.TensorType((2,))])])
    t = relay.var("t", pair)
    mod = tvm.IRModule.from_expr(relay.Function([t], relay.TupleGetItem(t, 0)))
    given = [tvm.nd.array(np.ones((3, 1), "float32")), [np.zeros(2, "float32")]]
    assert relay.create_executor(kind, mod=mod).evaluate()(given).numpy().shape == (3, 1)
    machine = vm_rt.VirtualMachine(relay.vm.compile(mod, "llvm"), tvm.cpu())
    assert machine.invoke("main", given).numpy().shape == (3, 1)


def test_sizes_that_must_fit():
    """Unknown sizes are constrained only by the operator's requirements."""
    image, boxes = relay.var("image", shape=(1, 8, 8, 3)), relay.var("boxes", shape=(relay.Any(), 4))
    of = relay.var("of", shape=(relay.Any(),), dtype="int32")
    crops = relay.image.crop_and_resize(image, boxes, of, (4, 4), layout="NHWC")
    rng = np.random.default_rng(0)
    values = [rng.random((1, 8, 8, 3), np.float32), rng.random((2, 4), np.float32), np.zeros(2, "int32")]
    unknown = (relay.Any(), relay.Any())
    data, places, updates = (
        relay.var(n, shape=unknown, dtype=d) for n, d in zip("diu", ("float32", "int64", "float32"), strict=True)
    )
    scattered = relay.scatter_elements(data, places, updates, axis=0)
    parts = [np.zeros((3, 4), "float32"), np.array([[2, 1]]), np.ones((1, 2), "float32")]
    for expr, given in ((crops, values), (scattered, parts)):
        f = relay.Function(relay.analysis.free_vars(expr), expr)
        results = [relay.create_executor(kind).evaluate(f)(*given).numpy() for kind in ("debug", "vm")]
        np.testing.assert_allclose(results[0], results[1], rtol=1e-6)
    wide = [np.zeros((3, 4), "float32"), np.zeros((1, 5), "int64"), np.ones((1, 5), "float32")]
    with pytest.raises(tvm.TVMError, match="dimension 1 is 5"):
        relay.create_executor("vm").evaluate(relay.Function([data, places, updates], scattered))(*wide)


def test_profiles():
    mod, params = relay.testing.mlp.get_workload(1)
    exe = relay.vm.compile(mod, target="llvm", params=params)
    data = np.random.rand(1, 1, 28, 28).astype("float32")
    report = tvm.runtime.profiler_vm.VirtualMachineProfiler(exe, tvm.cpu()).profile(data, func_name="main")
    text = str(report)
    assert "nn_dense" in text and "Duration (us)" in text and "Sum" in text
    again = tvm.runtime.profiling.Report.from_json(report.json())
    assert again.csv() == report.csv() and len(report.csv().splitlines()) == len(report.calls) + 1
    assert "Sum" not in report.table(col_sums=False)
    assert abs(sum(call["Percent"] for call in report.calls) - 100) < 1e-6
    with pytest.raises(NotImplementedError, match="collectors"):
        tvm.runtime.profiler_vm.VirtualMachineProfiler(exe, tvm.cpu()).profile(data, collectors=[1])


def test_settings_of_what_is_not_here():
    mod = tvm.IRModule.from_expr(relay.exp(relay.var("x", shape=(2,))))
    nothing = {"relay.backend.use_auto_scheduler": True, "relay.FuseOps.link_params": False}
    with tvm.transform.PassContext(opt_level=3, config={**nothing, "relay.FuseOps.max_depth": 2}) as context:
        assert isinstance(context, tvm.transform.PassContext) and tvm.transform.PassContext.current() is context
        library = relay.build(mod, "llvm")
    assert library.ir_mod is not None and library.libmod_name == "default" and library.lib is library
    for wrong in ({"tir.disable_vectorize": True}, {"relay.FuseOps.x": 1}):
        with pytest.raises(ValueError, match="there is no setting"):
            tvm.transform.PassContext(config=wrong)


def test_sums_of_segments():
    for shape in ((4,), (4, 2)):
        data, ids = relay.var("d", shape=shape), relay.var("i", shape=(4,), dtype="int32")
        values, places = np.arange(np.prod(shape), dtype="float32").reshape(shape), np.array([0, 0, 1, 0], "int32")
        expected = np.zeros((2, *shape[1:]), "float32")
        np.add.at(expected, places, values)
        run = relay.create_executor("vm").evaluate(relay.Function([data, ids], relay.segment_sum(data, ids, 2)))
        np.testing.assert_allclose(run(values, places).numpy(), expected)


def test_reshapes_from_the_back():
    x = relay.var("x", shape=(2, 3, 4))
    back = relay.testing.run_infer_type(relay.reverse_reshape(x, (-1, 0)))
    assert back.checked_type == relay.TensorType((6, 4))


def test_files_of_the_old_package():
    from tvm.relay.op import tensor, transform
    from tvm.relay.op.annotation import on_device
    from tvm.relay.op.nn.nn import dense
    from tvm.relay.ty import TypeRelation
    from tvm.target.target import Target

    assert transform.concatenate is relay.op.concatenate and tensor.add is relay.op.add and dense is relay.nn.dense
    assert on_device(relay.var("x"), tvm.cpu(1)).attrs["virtual_device"] == "cpu:1"
    assert Target("llvm").kind.name == "llvm" and TypeRelation is relay.TypeRelation
