"""A script as people wrote them in 2019, step for step what the tutorial of that time does. test_compat.py runs it with

    python -m relay.compat test/python/compat/scripts/tutorial_2019.py FOLDER

One step is not here: the quantizer. Convolutions are scheduled onto a GPU as in the tutorial, which can be planned, and
onto the second memory of the processor, where they also run.
"""

import sys

import numpy
import onnx
import tvm
import tvm.relay.testing
from tvm import relay
from tvm.relay.expr_functor import ExprMutator


def step(name):
    print("step:", name)


step("variables")
x = relay.var("x")
x = relay.var("x", dtype="int32")
x = relay.var("x", shape=(10, 1))

step("operators")
w = relay.op.add(x, x)
z = x + x
print(z)
assert relay.ir_pass.alpha_equal(relay.Function([x], w), relay.Function([x], z))

step("functions")
f = relay.Function([x], z)
print(f)

step("modules")
mod = relay.Module({})
fname = relay.GlobalVar("f")
mod[fname] = f
print(mod)
assert "-> Tensor[(10, 1), float32]" in str(mod) and "/* ty=Tensor[(10, 1), float32] */" in str(mod)

step("import a network")
weight = onnx.numpy_helper.from_array(numpy.ones((4, 3, 3, 3), "float32"), "weight")
graph = onnx.helper.make_graph(
    [
        onnx.helper.make_node("Conv", ["0", "weight"], ["c"], pads=[1, 1, 1, 1]),
        onnx.helper.make_node("Relu", ["c"], ["r"]),
        onnx.helper.make_node("GlobalAveragePool", ["r"], ["y"]),
    ],
    "net",
    [onnx.helper.make_tensor_value_info("0", onnx.TensorProto.FLOAT, ["n", 3, 8, 8])],
    [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 4, 1, 1])],
    [weight],
)
path = f"{sys.argv[1]}/net.onnx"
onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8), path)
net, net_params = relay.frontend.from_onnx(onnx.load(path), shape={"0": (10, 3, 8, 8)})
print(net)
assert "Tensor[(10, 3, 8, 8), float32]" in str(net) and net_params == {}

step("text")
mlp_mod, params = relay.testing.mlp.get_workload(1)
mlp = mlp_mod["main"]
print(mlp)


def inline_parameters(expr, params):
    by_name = {p.name_hint: p for p in expr.params}
    values = {by_name[name]: relay.const(params[name]) for name in params}
    body = relay.bind(expr.body, values)
    return relay.Function(relay.ir_pass.free_vars(body), body)


inlined = inline_parameters(mlp, params)
assert [p.name_hint for p in inlined.params] == ["data"]
assert "#[metadata]" in inlined.astext(show_meta_data=True) and "#[metadata]" not in inlined.astext(
    show_meta_data=False
)
count = 0


def annotate(*args):
    global count
    count += 1
    return f" <expression: {count}>"


assert "<expression: 1>" in mlp.astext(show_meta_data=True, annotate=annotate) and count > 8
old = relay.fromtext("v0.0.1\nfn (%x: Tensor[(10, 1), float32]) {\n  %0 = add(%x, %x)\n  nn.relu(%0)\n}")
assert relay.ir_pass.alpha_equal(old, relay.Function([x], relay.nn.relu(x + x)))

step("executors")
mod = relay.Module()
data = numpy.random.rand(1, 1, 28, 28).astype("float32")
results = []
for kind in ("debug", "graph", "vm"):
    run = relay.create_executor(kind, mod=mod).evaluate(mlp)
    results.append(run(data, **params).asnumpy())
    print(f"{kind}:", results[-1])
for result in results:
    tvm.testing.assert_allclose(result, results[0], rtol=1e-4)

step("passes")
resnet, resnet_params = relay.testing.resnet.get_workload(num_layers=8, image_shape=(3, 28, 28), num_classes=10)
seq = tvm.relay.transform.Sequential(
    [
        relay.transform.InferType(),
        relay.transform.FoldConstant(),
        relay.transform.EliminateCommonSubexpr(),
        relay.transform.AlterOpLayout(),
    ]
)
mod = relay.Module({"main": resnet["main"]})
with relay.build_config(opt_level=3):
    with tvm.target.create("llvm"):
        mod = seq(mod)
zz = mod["main"]
assert zz.checked_type.ret_type == relay.TensorType((1, 10))

step("a mutator")


class CountConv2d(ExprMutator):
    def __init__(self):
        self.count = 0
        super().__init__()

    def visit_call(self, expr):
        visit = super().visit_call(expr)
        if expr.op == tvm.relay.op.get("nn.conv2d"):
            self.count += 1
            return relay.nn.relu(visit)
        return visit


counter = CountConv2d()
changed = counter.visit(resnet["main"])
assert counter.count == 10
print(changed)

step("heterogeneous execution")


class ScheduleConv2d(ExprMutator):
    def __init__(self, device):
        self.device = device
        super().__init__()

    def visit_call(self, expr):
        visit = super().visit_call(expr)
        if expr.op == tvm.relay.op.get("nn.conv2d"):
            return relay.annotation.on_device(visit, self.device)
        else:
            return visit


def schedule_conv2d_on(device, expr):
    sched = ScheduleConv2d(device)
    return sched.visit(expr)


planned = relay.ir_pass.rewrite_annotated_ops(schedule_conv2d_on(tvm.gpu(0), resnet["main"]), 0)
print(planned)
assert 'dst_virtual_device="cuda:0"' in str(planned)
planned = relay.ir_pass.rewrite_annotated_ops(schedule_conv2d_on(tvm.cpu(1), resnet["main"]), 0)
assert 'dst_virtual_device="cpu:1"' in str(planned)
image = numpy.random.rand(1, 3, 28, 28).astype("float32")
both = [
    relay.create_executor("graph", mod=relay.Module({"main": main}), ctx=tvm.cpu(), target="llvm").evaluate()(
        image, **resnet_params
    )
    for main in (resnet["main"], planned)
]
numpy.testing.assert_allclose(both[0].asnumpy(), both[1].asnumpy(), rtol=1e-4, atol=1e-5)

step("ahead of time")
cmlp = relay.create_executor("aot", mod=relay.Module({})).evaluate(mlp)
tvm.testing.assert_allclose(cmlp(data, **params), results[0], rtol=1e-4)

step("build")
with relay.build_config(opt_level=3):
    graph, lib, built_params = relay.build(mlp, "llvm", params=params)
m = tvm.contrib.graph_runtime.create(graph, lib, tvm.cpu(0))
m.set_input("data", tvm.nd.array(data))
m.set_input(**built_params)
m.run()
tvm.testing.assert_allclose(m.get_output(0).asnumpy(), results[0], rtol=1e-4)
print("done")
