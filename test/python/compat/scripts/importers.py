"""The importers as old scripts called them: one network in the files of each format, built and run in the old way.

The frameworks are not installed here. A message of protobuf stands for that of a framework, because a message keeps the
fields that it does not know; Symbol has the method of MXNet's that the importer reads.
"""

import pathlib
import sys

import numpy as np
import tvm
from google.protobuf.empty_pb2 import Empty
from tvm import relay
from tvm.contrib import graph_executor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import one_network

folder = pathlib.Path(sys.argv[1])
one_network.write(folder)
image = one_network.IMAGE
last = np.ascontiguousarray(image.transpose(0, 2, 3, 1))


def read(name):
    return (folder / name).read_bytes()


def message(name):
    return Empty.FromString(read(name))


class Symbol:
    """A symbol of MXNet."""

    def tojson(self):
        return read("net-symbol.json").decode()


def check(name, mod, params, data, key="x"):
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(mod, target="llvm", params=params)
    module = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    module.set_input(key, tvm.nd.array(data))
    module.run()
    got = module.get_output(0).numpy().reshape(1, 5)
    tvm.testing.assert_allclose(got, one_network.probabilities(), rtol=1e-5)
    print(name)


mod, params = relay.frontend.from_tensorflow(message("graph.pb"), layout="NHWC", shape={"x": last.shape}, outputs=["y"])
check("from_tensorflow", mod, params, last)

mod, params = relay.frontend.from_tflite(read("net.tflite"), shape_dict={"x": last.shape}, dtype_dict={"x": "float32"})
check("from_tflite", mod, params, last)

mod, params = relay.frontend.from_keras(str(folder / "net.h5"), {"x": image.shape})
check("from_keras", mod, params, image)
mod, params = relay.frontend.from_keras(str(folder / "net.h5"), {"x": last.shape}, layout="NHWC")
check("from_keras, NHWC", mod, params, last)

arrays = {"w": one_network.KERNEL, "b": one_network.BIAS, "m": one_network.MATRIX, "o": one_network.OFFSET}
mod, params = relay.frontend.from_mxnet(Symbol(), {"x": image.shape}, "float32", arg_params=arrays, aux_params={})
check("from_mxnet", mod, params, image)

init, predict = message("init_net.pb"), message("predict_net.pb")
mod, params = relay.frontend.from_caffe2(init, predict, {"x": image.shape}, {"x": "float32"})
check("from_caffe2", mod, params, image)

weights = message("net.caffemodel")
mod, params = relay.frontend.from_caffe(weights, read("net.prototxt").decode(), {"x": image.shape}, {"x": "float32"})
check("from_caffe", mod, params, image)

mod, params = relay.frontend.from_darknet(folder / "net.cfg", dtype="float32", shape={"data": image.shape})
check("from_darknet", mod, params, image, "data")

mod, params = relay.frontend.from_coreml(message("net.mlmodel"), {"x": image.shape})
check("from_coreml", mod, params, image)

mod, params = relay.frontend.from_paddle(str(folder / "net.pdmodel"), {"x": image.shape})
check("from_paddle", mod, params, image)

mod, params = relay.frontend.from_oneflow(None, str(folder / "oneflow"))
check("from_oneflow", mod, params, image, mod["main"].params[0].name_hint)
print("done")
