"""Writes test/python/caffe2/golden.npz: networks of Caffe2 with one operator each, and the results of Caffe2 itself.

    python3.9 test/frontends/caffe2_golden.py FILE

Caffe2 was last built in PyTorch 1.10.2 for Python 3.9 and older: pip install torch==1.10.2 protobuf==3.20.3
'numpy<1.24' future six. The file holds for each case "NAME|predict", "NAME|init", "NAME|in:INPUT" and "NAME|out:PLACE".
"""

import sys

import numpy as np
from caffe2.proto import caffe2_pb2
from caffe2.python import core, workspace

RNG = np.random.default_rng(0)
IMAGE = (2, 4, 7, 6)


def real(*shape, low=-2.0, high=2.0):
    return RNG.uniform(low, high, shape).astype(np.float32)


def _windows():
    x = real(*IMAGE)
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    yield "Conv", {"x": x}, [real(5, 4, 3, 3), real(5)], {"kernel": 3}
    yield (
        "Conv",
        {"x": x},
        [real(5, 4, 3, 2)],
        {"kernel_h": 3, "kernel_w": 2, "stride_h": 2, "stride_w": 1, "pad_t": 1, "pad_l": 0, "pad_b": 2, "pad_r": 1},
    )
    yield "Conv", {"x": x}, [real(6, 2, 3, 3), real(6)], {"kernel": 3, "pad": 1, "group": 2}
    yield "Conv", {"x": x}, [real(5, 4, 3, 3), real(5)], {"kernels": [3, 3], "dilations": [2, 2], "pads": [2, 2, 2, 2]}
    yield "Conv", {"x": x}, [real(5, 4, 3, 3), real(5)], {"kernel": 3, "stride": 2, "legacy_pad": 2}
    yield "Conv", {"x": last}, [real(5, 3, 3, 4), real(5)], {"kernel": 3, "pad": 1, "order": "NHWC"}
    yield "Conv", {"x": real(2, 3, 8)}, [real(4, 3, 3), real(4)], {"kernels": [3]}
    yield "ConvTranspose", {"x": x}, [real(4, 5, 3, 3), real(5)], {"kernel": 3, "stride": 2}
    yield "ConvTranspose", {"x": x}, [real(4, 5, 4, 4), real(5)], {"kernel": 4, "stride": 2, "pad": 1, "adj": 1}
    for kind in ("MaxPool", "AveragePool"):
        yield kind, {"x": x}, [], {"kernel": 3, "stride": 2}
        yield kind, {"x": x}, [], {"kernel": 3, "stride": 1, "pad": 1}
        yield kind, {"x": x}, [], {"kernel": 3, "stride": 2, "legacy_pad": 3}
        yield kind, {"x": x}, [], {"kernel": 2, "stride": 2, "legacy_pad": 2}
        yield kind, {"x": x}, [], {"global_pooling": 1}
        yield kind, {"x": last}, [], {"kernel": 2, "stride": 2, "order": "NHWC"}
    yield "AveragePool", {"x": x}, [], {"kernel": 3, "stride": 1, "pad": 1, "count_include_pad": 1}
    yield "LRN", {"x": x}, [], {"size": 3, "alpha": 0.2, "beta": 0.7, "bias": 1.5}
    weights = [real(4), real(4)]
    yield "SpatialBN", {"x": x}, [*weights, real(4), real(4, low=0.5)], {"is_test": 1, "epsilon": 0.01}
    yield "SpatialBN", {"x": last}, [*weights, real(4), real(4, low=0.5)], {"is_test": 1, "order": "NHWC"}
    yield "InstanceNorm", {"x": x}, weights, {"epsilon": 0.01}
    yield "GroupNorm", {"x": x}, weights, {"group": 2, "epsilon": 0.01}
    yield "NormalizePlanarYUV", {"x": real(2, 3, 5, 4)}, [real(1, 3), real(1, 3, low=0.5)], {}
    yield "ChannelShuffle", {"x": x}, [], {"group": 2, "kernel": 1}
    yield "ResizeNearest", {"x": x}, [], {"height_scale": 2.0, "width_scale": 1.5}
    yield "ResizeNearest", {"x": x}, [], {"height_scale": 0.6, "width_scale": 0.5}
    boxes = np.array([[0, 1, 1, 6, 5], [1, 0, 2, 5, 5]], np.float32)
    yield "RoIAlign", {"x": x}, [boxes], {"pooled_h": 3, "pooled_w": 2, "spatial_scale": 0.8, "sampling_ratio": 2}


def _products():
    yield "FC", {"x": real(2, 3, 4)}, [real(5, 12), real(5)], {}
    yield "FC", {"x": real(2, 3, 4)}, [real(5, 4), real(5)], {"axis": 2}
    yield "FCTransposed", {"x": real(2, 12)}, [real(12, 5), real(5)], {}
    yield "MatMul", {"x": real(3, 4)}, [real(5, 4)], {"trans_b": 1}
    yield "BatchMatMul", {"x": real(2, 3, 4)}, [real(2, 4, 5)], {}
    yield "BatchMatMul", {"x": real(2, 4, 3)}, [real(2, 5, 4)], {"trans_a": 1, "trans_b": 1}


def _elements():
    x = real(2, 3, 4)
    for kind in (
        "Abs",
        "Ceil",
        "Cos",
        "Exp",
        "Floor",
        "Negative",
        "Relu",
        "Sigmoid",
        "Sin",
        "Softplus",
        "Softsign",
        "Sqr",
        "Swish",
        "Tanh",
    ):
        yield kind, {"x": x}, [], {}
    for kind in ("Log", "Sqrt"):
        yield kind, {"x": real(2, 3, low=0.2)}, [], {}
    yield "LeakyRelu", {"x": x}, [], {"alpha": 0.3}
    yield "Elu", {"x": x}, [], {"alpha": 0.7}
    yield "PRelu", {"x": real(2, 3, 4, 2)}, [real(3)], {}
    yield "PRelu", {"x": x}, [real(1)], {}
    yield "Clip", {"x": x}, [], {"min": -0.5, "max": 0.7}
    yield "Clip", {"x": x}, [], {"min": 0.1}
    yield "Dropout", {"x": x}, [], {"is_test": 1, "ratio": 0.4}
    for kind in ("Copy", "StopGradient", "Alias"):
        yield kind, {"x": x}, [], {}
    yield "Cast", {"x": x}, [], {"to": 2}
    yield "Softmax", {"x": real(2, 5)}, [], {}
    yield "Softmax", {"x": x}, [], {"axis": 1}
    for kind in ("Add", "Sub", "Mul", "Div"):
        yield kind, {"x": x, "y": real(2, 3, 4, low=0.5)}, [], {}
        yield kind, {"x": x}, [real(3, low=0.5)], {"broadcast": 1, "axis": 1}
        yield kind, {"x": x}, [real(3, 4, low=0.5)], {"broadcast": 1}
    for kind in ("EQ", "NE", "LT", "LE", "GT", "GE"):
        yield kind, {"x": real(3, 4), "y": real(3, 4)}, [], {}
    flags = {"x": RNG.random((3, 4)) < 0.5, "y": RNG.random((3, 4)) < 0.5}
    for kind in ("And", "Or"):
        yield kind, flags, [], {}
    yield "Not", {"x": flags["x"]}, [], {}
    for kind in ("Sum", "Max", "Min", "Mean"):
        yield kind, {"x": x, "y": real(2, 3, 4), "z": real(2, 3, 4)}, [], {}
    for kind in ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum"):
        yield kind, {"x": x}, [], {"axes": [1], "keepdims": 0}
        yield kind, {"x": x}, [], {"axes": [0, 2], "keepdims": 1}


def _shapes():
    x = real(2, 3, 4)
    yield "Concat", {"x": x, "y": real(2, 2, 4)}, [], {"axis": 1}
    yield "Concat", {"x": real(2, 3, 4, 5), "y": real(2, 2, 4, 5)}, [], {"order": "NCHW"}
    yield "Concat", {"x": x, "y": real(2, 3, 4)}, [], {"axis": 1, "add_axis": 1}
    yield "Split", {"x": x}, [], {"axis": 2}, 2
    yield "Split", {"x": x}, [], {"axis": 1, "split": [1, 2]}, 2
    yield "Reshape", {"x": x}, [], {"shape": [0, -1]}, 2
    yield "Reshape", {"x": x}, [np.array([4, -1, 2], np.int64)], {}, 2
    yield "Flatten", {"x": x}, [], {}
    yield "Flatten", {"x": x}, [], {"axis": 2}
    yield "Transpose", {"x": x}, [], {"axes": [2, 0, 1]}
    yield "Transpose", {"x": x}, [], {}
    yield "Squeeze", {"x": real(2, 1, 4, 1)}, [], {"dims": [1, 3]}
    yield "ExpandDims", {"x": x}, [], {"dims": [0, 2]}
    yield "Slice", {"x": real(3, 5)}, [], {"starts": [0, 1], "ends": [-1, -2]}


def fill(name, array):
    """The operator that makes a weight."""
    kinds = {"f": "GivenTensorFill", "i": "GivenTensorInt64Fill"}
    return core.CreateOperator(
        kinds[array.dtype.kind], [], [name], shape=array.shape, values=array.reshape(-1).tolist()
    )


def main():
    workspace.GlobalInit(["caffe2", "--caffe2_log_level=3"])
    kept, counts = {}, {}
    for group in (_windows, _products, _elements, _shapes):
        for case in group():
            kind, inputs, weights, arguments = case[:4]
            outputs = case[4] if len(case) > 4 else {"Dropout": 2, "Concat": 2}.get(kind, 1)
            counts[kind] = counts.get(kind, 0) + 1
            name = f"{kind} {counts[kind]}"
            workspace.ResetWorkspace()
            results = [f"out{place}" for place in range(outputs)]
            names = [f"w{place}" for place in range(len(weights))]
            predict = caffe2_pb2.NetDef(name="predict", external_input=[*inputs, *names], external_output=results)
            predict.op.extend([core.CreateOperator(kind, [*inputs, *names], results, **arguments)])
            init = caffe2_pb2.NetDef(name="init", external_output=names)
            init.op.extend(list(map(fill, names, weights)))
            if not weights:
                init.op.extend([core.CreateOperator("ConstantFill", [], ["unused"], shape=[1], value=1.0)])
            for key, value in inputs.items():
                workspace.FeedBlob(key, value)
            try:
                workspace.RunNetOnce(init)
                workspace.RunNetOnce(predict)
            except Exception as error:
                print("REFUSED", name, arguments, str(error).splitlines()[0][:200])
                continue
            kept[f"{name}|predict"] = np.frombuffer(predict.SerializeToString(), np.uint8)
            kept[f"{name}|init"] = np.frombuffer(init.SerializeToString(), np.uint8)
            kept |= {f"{name}|in:{key}": value for key, value in inputs.items()}
            kept |= {f"{name}|out:{place}": workspace.FetchBlob(one) for place, one in enumerate(results)}
    np.savez_compressed(sys.argv[1], **kept)


if __name__ == "__main__":
    main()
