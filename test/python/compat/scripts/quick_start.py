"""A script of the last releases of TVM's Relay: build with parameters, export, load, run. test_compat.py runs it."""

import numpy as np
import tvm
from tvm import relay, te  # noqa: F401
from tvm.contrib import graph_executor, utils
from tvm.relay import testing

mod, params = testing.mobilenet.get_workload(batch_size=1, image_shape=(3, 32, 32), num_classes=10)
print(mod.astext(show_meta_data=False))
target = tvm.target.Target("llvm")
dev = tvm.device(str(target), 0)
with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, target=target, params=params)
data = np.random.uniform(-1, 1, size=(1, 3, 32, 32)).astype("float32")
module = graph_executor.GraphModule(lib["default"](dev))
module.set_input("data", data)
module.run()
out = module.get_output(0, tvm.nd.empty((1, 10))).numpy()

temp = utils.tempdir()
lib.export_library(temp.relpath("deploy_lib.tar"))
loaded = graph_executor.GraphModule(tvm.runtime.load_module(temp.relpath("deploy_lib.tar"))["default"](dev))
loaded.run(data=data)
tvm.testing.assert_allclose(loaded.get_output(0).numpy(), out, atol=1e-5)

# The types of weights are inferred.
x = relay.var("x", shape=(1, 3, 8, 8))
y = relay.nn.conv2d(x, relay.var("w"), channels=4, kernel_size=(3, 3), padding=(1, 1))
mod = tvm.IRModule.from_expr(relay.nn.bias_add(relay.nn.relu(y), relay.var("b")))
mod = relay.transform.InferType()(mod)
assert str(mod["main"].params[1].type_annotation) == "Tensor[(4, 3, 3, 3), float32]"

exe = relay.vm.compile(tvm.IRModule.from_expr(relay.nn.relu(x)), target="llvm")
vm = tvm.runtime.vm.VirtualMachine(exe, tvm.cpu())
value = np.full((1, 3, 8, 8), -1, "float32")
assert (vm.invoke("main", value).numpy() == 0).all()
assert tvm.ir.structural_equal(tvm.ir.load_json(tvm.ir.save_json(mod)), mod)
print("done")
