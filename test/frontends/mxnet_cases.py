"""Small symbols of MXNet: name, symbol, shapes or arrays of its inputs. Arguments that are not inputs become weights.

mxnet_oracle.py runs this in an environment of its own: MXNet 1.9.1 needs NumPy 1.23.
"""

import mxnet as mx
import numpy as np

S = mx.sym
RNG = np.random.default_rng(3)
IMAGE = (2, 4, 9, 8)


def v(name="x"):
    return S.Variable(name)


def real(*shape, low=-2.0, high=2.0):
    return RNG.uniform(low, high, shape).astype(np.float32)


def whole(high, *shape):
    return RNG.integers(0, high, shape).astype(np.float32)


def _elements():
    inside = real(3, 5, low=-0.9, high=0.9)
    anywhere = (
        "abs cbrt ceil cos cosh erf exp expm1 fix floor negative ones_like relu rint round sigmoid sign sin sinh "
        "softsign square tan tanh trunc zeros_like arcsinh arctan logical_not hard_sigmoid"
    )
    for name in anywhere.split():
        yield name, getattr(S, name)(v()), {"x": real(3, 5)}
    for name in ("log", "log10", "log1p", "log2", "rsqrt", "sqrt", "rcbrt", "reciprocal"):
        yield name, getattr(S, name)(v()), {"x": real(3, 5, low=0.2, high=3)}
    for name in ("arccos", "arcsin", "arctanh"):
        yield name, getattr(S, name)(v()), {"x": inside}
    yield "arccosh", S.arccosh(v()), {"x": real(3, 5, low=1.1, high=3)}
    small = {"x": real(2, 3, 4), "y": real(2, 1, 4)}
    for name in ("add plus sub minus mul div maximum minimum equal not_equal greater greater_equal lesser lesser_equal "
                 "logical_and logical_or logical_xor").split():  # fmt: skip
        yield f"broadcast_{name}", getattr(S, f"broadcast_{name}")(v(), v("y")), small
    rounded = {"x": whole(3, 2, 3, 4), "y": whole(3, 2, 3, 4)}
    for name in ("equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal"):
        yield f"_{name}", getattr(S, f"broadcast_{name}")(v(), v("y")), rounded
        yield f"_{name} same", getattr(S._internal, f"_{name}")(v(), v("y")), rounded
        yield f"_{name}_scalar", getattr(S._internal, f"_{name}_scalar")(v(), scalar=1), {"x": whole(3, 4, 5)}
    positive = {"x": real(3, 4, low=0.2, high=3), "y": real(3, 4, low=0.2, high=2)}
    yield "broadcast_power", S.broadcast_power(v(), v("y")), positive
    yield (
        "broadcast_mod",
        S.broadcast_mod(v(), v("y")),
        {"x": real(3, 4, low=-5, high=5), "y": real(3, 4, low=0.5, high=2)},
    )
    for name in ("_maximum", "_minimum", "_power", "_plus", "_minus", "_mul", "_div", "_mod"):
        yield name, getattr(S._internal, name)(v(), v("y")), positive
    for name in ("elemwise_add", "elemwise_sub", "elemwise_mul", "elemwise_div"):
        yield name, getattr(S, name)(v(), v("y")), positive
    for name in "plus minus rminus mul div rdiv mod rmod power rpower maximum minimum".split():
        yield f"_{name}_scalar", getattr(S._internal, f"_{name}_scalar")(v(), scalar=1.5), {"x": positive["x"]}
    for kind in ("relu", "sigmoid", "tanh", "softrelu", "softsign"):
        yield f"Activation {kind}", S.Activation(v(), act_type=kind), {"x": real(3, 5)}
    for kind in ("leaky", "elu", "selu", "gelu"):
        yield f"LeakyReLU {kind}", S.LeakyReLU(v(), act_type=kind), {"x": real(2, 3, 5)}
    yield "LeakyReLU rrelu", S.LeakyReLU(v(), act_type="rrelu")[0], {"x": real(2, 3, 5)}
    yield "LeakyReLU prelu", S.LeakyReLU(v(), act_type="prelu", name="p"), {"x": real(2, 3, 5)}
    yield "clip", S.clip(v(), a_min=-0.5, a_max=1), {"x": real(3, 5)}
    yield "smooth_l1", S.smooth_l1(v(), scalar=2), {"x": real(3, 5)}
    yield "Dropout", S.Dropout(v(), p=0.5), {"x": real(3, 5)}
    yield "BlockGrad", S.BlockGrad(S.identity(S.make_loss(S.MakeLoss(v())))), {"x": real(3, 5)}
    yield "Cast", S.Cast(S.Cast(v(), dtype="int32"), dtype="float32"), {"x": real(3, 5, low=-9, high=9)}
    yield "amp_cast", S.amp_cast(v(), dtype="float16").astype("float32"), {"x": real(3, 5)}
    yield "amp_multicast", S.Group(list(S.amp_multicast(v(), v("y"), num_outputs=2))), small
    yield "add_n", S.add_n(v(), v("y"), v("z")), {one: real(3, 4) for one in "xyz"}
    yield "where", S.where(v(), v("y"), v("z")), {"x": whole(2, 3, 4), "y": real(3, 4), "z": real(3, 4)}
    yield "where rows", S.where(v(), v("y"), v("z")), {"x": whole(2, 3), "y": real(3, 4), "z": real(3, 4)}
    yield "_contrib_div_sqrt_dim", S.contrib.div_sqrt_dim(v()), {"x": real(3, 5)}


def _products():
    for name, how in {
        "plain": {"kernel": (3, 3), "num_filter": 5}, "padded": {"kernel": (3, 3), "num_filter": 5, "pad": (1, 2)},
        "strided": {"kernel": (3, 2), "num_filter": 5, "stride": (2, 1), "no_bias": True},
        "groups": {"kernel": (3, 3), "num_filter": 8, "num_group": 2}, "dilated": {"kernel": (3, 3), "num_filter": 5,
            "dilate": (2, 2)},
    }.items():  # fmt: skip
        yield f"Convolution {name}", S.Convolution(v(), **how), {"x": real(*IMAGE)}
    yield "Convolution_v1", S.Convolution_v1(v(), kernel=(3, 3), num_filter=5), {"x": real(*IMAGE)}
    yield "Convolution 1d", S.Convolution(v(), kernel=(3,), num_filter=5, pad=(1,)), {"x": real(2, 4, 9)}
    yield "Convolution 3d", S.Convolution(v(), kernel=(3, 2, 2), num_filter=5), {"x": real(1, 3, 6, 5, 4)}
    for name, how in {
        "plain": {"kernel": (3, 3), "num_filter": 5}, "strided": {"kernel": (4, 4), "num_filter": 5, "stride": (2, 2),
            "pad": (1, 1)},
        "adjusted": {"kernel": (3, 3), "num_filter": 6, "stride": (2, 2), "pad": (1, 1), "adj": (1, 1), "num_group": 2,
            "no_bias": False},
    }.items():  # fmt: skip
        yield f"Deconvolution {name}", S.Deconvolution(v(), **how), {"x": real(*IMAGE)}
    yield "Deconvolution 1d", S.Deconvolution(v(), kernel=(3,), num_filter=5, stride=(2,)), {"x": real(2, 4, 9)}
    yield "FullyConnected", S.FullyConnected(v(), num_hidden=6), {"x": real(2, 3, 4)}
    yield "FullyConnected rows", S.FullyConnected(v(), num_hidden=6, flatten=False), {"x": real(2, 3, 4)}
    yield "FullyConnected no bias", S.FullyConnected(v(), num_hidden=6, no_bias=True), {"x": real(2, 4)}
    yield "Embedding", S.Embedding(v(), input_dim=7, output_dim=5), {"x": whole(7, 2, 3)}
    yield "dot", S.dot(v(), v("y")), {"x": real(3, 4), "y": real(4, 5)}
    yield "dot axes", S.dot(v(), v("y")), {"x": real(2, 3, 4), "y": real(4, 5)}
    yield "dot transposed", S.dot(v(), v("y"), transpose_a=True, transpose_b=True), {"x": real(4, 3), "y": real(5, 4)}
    yield "batch_dot", S.batch_dot(v(), v("y"), transpose_b=True), {"x": real(2, 3, 4), "y": real(2, 5, 4)}
    yield "selfatt_qk", S.contrib.interleaved_matmul_selfatt_qk(v(), heads=2), {"x": real(5, 2, 24)}
    yield (
        "selfatt_valatt",
        S.contrib.interleaved_matmul_selfatt_valatt(v(), v("y"), heads=2),
        {"x": real(5, 2, 24), "y": real(4, 5, 5)},
    )
    yield (
        "encdec_qk",
        S.contrib.interleaved_matmul_encdec_qk(v(), v("y"), heads=2),
        {"x": real(3, 2, 8), "y": real(5, 2, 16)},
    )
    yield (
        "encdec_valatt",
        S.contrib.interleaved_matmul_encdec_valatt(v(), v("y"), heads=2),
        {"x": real(5, 2, 16), "y": real(4, 3, 5)},
    )
    for mode, states in (("lstm", 2), ("gru", 1), ("rnn_tanh", 1), ("rnn_relu", 1)):
        for layers, two in ((1, False), (2, True)):
            names = [v(), v("w"), v("h")] + [v("c")] * (states == 2)
            made = S.RNN(*names, state_size=5, num_layers=layers, mode=mode, bidirectional=two, state_outputs=True)
            rows = layers * (1 + two)
            inputs = {"x": real(4, 2, 3), "h": real(rows, 2, 5)} | ({"c": real(rows, 2, 5)} if states == 2 else {})
            yield f"RNN {mode} {layers}", S.Group(list(made)), inputs
    net = mx.gluon.rnn.LSTM(5, 2, bidirectional=True)
    yield "_rnn_param_concat", net(v()), {"x": real(4, 2, 3)}


def _normal():
    for kind in ("max", "avg", "sum", "lp"):
        extra = {"p_value": 2} if kind == "lp" else {}
        for convention in ("valid", "full"):
            how = {
                "kernel": (3, 2),
                "stride": (2, 2),
                "pad": (1, 0),
                "pool_type": kind,
                "pooling_convention": convention,
                **extra,
            }
            yield f"Pooling {kind} {convention}", S.Pooling(v(), **how), {"x": real(*IMAGE)}
        yield (
            f"Pooling {kind} global",
            S.Pooling(v(), global_pool=True, kernel=(1, 1), pool_type=kind, **extra),
            {"x": real(*IMAGE)},
        )
    yield (
        "Pooling excluded",
        S.Pooling(v(), kernel=(3, 3), pad=(1, 1), pool_type="avg", count_include_pad=False),
        {"x": real(*IMAGE)},
    )
    yield "Pooling_v1", S.Pooling_v1(v(), kernel=(2, 2), stride=(2, 2), pool_type="max"), {"x": real(*IMAGE)}
    yield (
        "Pooling 1d",
        S.Pooling(v(), kernel=(3,), stride=(2,), pool_type="avg", pooling_convention="full"),
        {"x": real(2, 3, 10)},
    )
    yield "Pooling 3d", S.Pooling(v(), kernel=(2, 2, 2), stride=(2, 2, 2), pool_type="max"), {"x": real(1, 2, 6, 5, 4)}
    for name, how in (
        ("default", {}),
        ("free", {"fix_gamma": False}),
        ("eps", {"fix_gamma": False, "eps": 0.1}),
        ("axis", {"axis": 3}),
    ):
        yield f"BatchNorm {name}", S.BatchNorm(v(), **how), {"x": real(*IMAGE)}
    yield "BatchNorm_v1", S.BatchNorm_v1(v(), fix_gamma=False), {"x": real(*IMAGE)}
    yield "SyncBatchNorm", S.contrib.SyncBatchNorm(v(), fix_gamma=False, key="k"), {"x": real(*IMAGE)}
    yield "LayerNorm", S.LayerNorm(v()), {"x": real(2, 3, 4)}
    yield "LayerNorm axis", S.LayerNorm(v(), axis=1), {"x": real(2, 3, 4)}
    yield "InstanceNorm", S.InstanceNorm(v()), {"x": real(*IMAGE)}
    yield "GroupNorm", S.GroupNorm(v(), num_groups=2), {"x": real(*IMAGE)}
    for mode in ("instance", "channel", "spatial"):
        yield f"L2Normalization {mode}", S.L2Normalization(v(), mode=mode), {"x": real(*IMAGE)}
    yield "LRN", S.LRN(v(), nsize=3, alpha=0.1, beta=0.6, knorm=1.5), {"x": real(*IMAGE)}
    for name in ("softmax", "log_softmax", "softmin"):
        yield name, getattr(S, name)(v(), axis=1), {"x": real(2, 3, 4)}
    yield "softmax temperature", S.softmax(v(), temperature=2.0), {"x": real(2, 3, 4)}
    yield "SoftmaxActivation", S.SoftmaxActivation(v()), {"x": real(2, 5)}
    yield "SoftmaxActivation channel", S.SoftmaxActivation(v(), mode="channel"), {"x": real(2, 3, 4, 2)}
    yield "SoftmaxOutput", S.SoftmaxOutput(v(), name="softmax"), {"x": real(2, 5)}
    yield "SoftmaxOutput multi", S.SoftmaxOutput(v(), multi_output=True, name="softmax"), {"x": real(2, 3, 4)}
    yield "LinearRegressionOutput", S.LinearRegressionOutput(v(), name="o"), {"x": real(2, 5)}
    yield "LogisticRegressionOutput", S.LogisticRegressionOutput(v(), name="o"), {"x": real(2, 5)}
    yield "AdaptiveAvgPooling2D", S.contrib.AdaptiveAvgPooling2D(v(), output_size=(3, 2)), {"x": real(*IMAGE)}
    for name in ("sum", "mean", "max", "min", "prod", "nansum", "nanprod"):
        yield name, getattr(S, name)(v(), axis=1), {"x": real(2, 3, 4)}
        yield f"{name} kept", getattr(S, name)(v(), axis=(0, 2), keepdims=True), {"x": real(2, 3, 4)}
    for name in ("sum_axis", "max_axis", "min_axis"):
        yield name, getattr(S, name)(v(), axis=1), {"x": real(2, 3, 4)}
    yield "sum all", S.sum(v()), {"x": real(2, 3, 4)}
    yield "sum exclude", S.sum(v(), axis=1, exclude=True), {"x": real(2, 3, 4)}
    yield "norm", S.norm(v()), {"x": real(2, 3, 4)}
    yield "norm one", S.norm(v(), ord=1, axis=1), {"x": real(2, 3, 4)}
    for name in ("argmax", "argmin"):
        yield name, getattr(S, name)(v(), axis=1), {"x": real(2, 3, 4)}
        yield f"{name} all", getattr(S, name)(v()), {"x": real(2, 3, 4)}
    yield "argmax_channel", S.argmax_channel(v()), {"x": real(2, 3)}
    yield "moments", S.Group(list(S.moments(v(), axes=(1, 2)))), {"x": real(2, 3, 4)}


def _shapes():
    x = {"x": real(2, 3, 4)}
    for codes in ((0, -1), (-1,), (4, 0, -1), (-2,), (-3, 0), (0, -4, 1, -1, -2), (-1, 2, 2)):
        yield f"Reshape {codes}", S.Reshape(v(), shape=codes), x
    yield "Reshape reverse", S.Reshape(v(), shape=(-1, 0), reverse=True), x
    yield "reshape_like", S.reshape_like(v(), v("y")), x | {"y": real(4, 6)}
    yield "Flatten", S.flatten(S.Flatten(v())), x
    yield "transpose", S.transpose(v(), axes=(2, 0, 1)), x
    yield "transpose all", S.transpose(v()), x
    yield "SwapAxis", S.SwapAxis(v(), dim1=0, dim2=2), x
    yield "expand_dims", S.expand_dims(v(), axis=1), x
    yield "squeeze", S.squeeze(v(), axis=1), {"x": real(2, 1, 4)}
    yield "squeeze all", S.squeeze(v()), {"x": real(2, 1, 4, 1)}
    yield "Concat", S.Concat(v(), v("y"), dim=1), x | {"y": real(2, 2, 4)}
    yield "stack", S.stack(v(), v("y"), axis=1), x | {"y": real(2, 3, 4)}
    yield "SliceChannel", S.Group(list(S.SliceChannel(v(), num_outputs=3, axis=1))), x
    yield "SliceChannel squeezed", S.Group(list(S.split(v(), num_outputs=3, axis=1, squeeze_axis=True))), x
    yield "_split_v2", S.Group(list(S.split_v2(v(), (1, 3), axis=2))), x
    yield "_split_v2 sections", S.Group(list(S.split_v2(v(), 2, axis=2))), x
    yield "slice", S.slice(v(), begin=(None, 1), end=(None, 3)), x
    yield "slice stepped", S.slice(v(), begin=(1, 2), end=(None, None), step=(-1, -2)), x
    yield "slice_axis", S.slice_axis(v(), axis=2, begin=-3, end=None), x
    yield "slice_like", S.slice_like(v(), v("y"), axes=(1, 2)), x | {"y": real(9, 2, 3)}
    yield "tile", S.tile(v(), reps=(2, 1, 3)), x
    yield "repeat", S.repeat(v(), repeats=2, axis=1), x
    yield "repeat flat", S.repeat(v(), repeats=2), x
    yield "reverse", S.reverse(v(), axis=1), x
    for mode in ("constant", "edge", "reflect"):
        yield (
            f"pad {mode}",
            S.pad(v(), mode=mode, pad_width=(0, 0, 0, 0, 1, 2, 2, 1), constant_value=0.5),
            {"x": real(*IMAGE)},
        )
        yield f"Pad {mode}", S.Pad(v(), mode=mode, pad_width=(0, 0, 0, 0, 1, 0, 0, 1)), {"x": real(*IMAGE)}
    yield "Crop", S.Crop(v(), h_w=(4, 5), offset=(2, 1), num_args=1), {"x": real(*IMAGE)}
    yield "Crop centre", S.Crop(v(), v("y"), center_crop=True, num_args=2), {"x": real(*IMAGE), "y": real(1, 1, 5, 4)}
    yield "broadcast_axis", S.broadcast_axis(v(), axis=(0, 2), size=(3, 5)), {"x": real(1, 2, 1)}
    yield "broadcast_axes", S.broadcast_axes(v(), axis=0, size=3), {"x": real(1, 2, 2)}
    yield "broadcast_to", S.broadcast_to(v(), shape=(3, 0, 5)), {"x": real(1, 2, 1)}
    yield "broadcast_like", S.broadcast_like(v(), v("y")), {"x": real(1, 2, 1), "y": real(3, 2, 5)}
    yield (
        "broadcast_like axes",
        S.broadcast_like(v(), v("y"), lhs_axes=(0,), rhs_axes=(1,)),
        {"x": real(1, 2), "y": real(3, 4)},
    )
    yield "constants", S.zeros((2, 3)) + S.ones((2, 3)) + S.full((2, 3), 4.5) + v(), {"x": real(2, 3)}
    yield "_arange", S.arange(1, 7, 2, repeat=2) + v(), {"x": real(6)}
    yield "arange_like", S.contrib.arange_like(v(), axis=1, start=2), x
    yield "arange_like all", S.contrib.arange_like(v(), step=0.5), x
    yield "shape_array", S.shape_array(v()), x
    yield "size_array", S.size_array(v()), x
    yield "take", S.take(v(), v("y")), {"x": real(5, 3), "y": whole(7, 2, 2)}
    yield "take wrap", S.take(v(), v("y"), axis=1, mode="wrap"), {"x": real(5, 3), "y": whole(7, 2)}
    yield "batch_take", S.batch_take(v(), v("y")), {"x": real(4, 3), "y": whole(3, 4).astype(np.int32)}
    yield "pick", S.pick(v(), v("y"), axis=1), {"x": real(4, 3), "y": whole(3, 4)}
    yield "pick kept", S.pick(v(), v("y"), axis=0, keepdims=True), {"x": real(4, 3), "y": whole(4, 3)}
    yield "gather_nd", S.gather_nd(v(), v("y")), {"x": real(4, 3, 2), "y": np.array([[0, 3, 1], [2, 0, 1]], np.float32)}
    yield (
        "scatter_nd",
        S.scatter_nd(v(), v("y"), shape=(4, 3)),
        {"x": real(3), "y": np.array([[0, 3, 1], [2, 0, 1]], np.float32)},
    )
    yield "one_hot", S.one_hot(v(), depth=5, on_value=2, off_value=-1), {"x": whole(5, 2, 3)}
    for kind in ("value", "indices", "mask"):
        yield f"topk {kind}", S.topk(v(), k=2, axis=1, ret_typ=kind), {"x": real(3, 5)}
    yield "topk both", S.Group(list(S.topk(v(), k=3, axis=0, ret_typ="both", is_ascend=True))), {"x": real(5, 2)}
    yield "argsort", S.argsort(v(), axis=1), {"x": real(3, 5)}
    yield "argsort down", S.argsort(v(), is_ascend=False), {"x": real(3, 5)}
    yield "sort", S.sort(v(), axis=0, is_ascend=False), {"x": real(3, 5)}
    yield "_unravel_index", S.unravel_index(v(), shape=(3, 4)), {"x": whole(12, 5)}
    yield "cumsum", S.cumsum(v(), axis=1), x
    yield "diag", S.diag(v(), k=1), {"x": real(4, 5)}
    yield "diag made", S.diag(v(), k=-1), {"x": real(4)}
    yield (
        "SequenceMask",
        S.SequenceMask(v(), v("y"), use_sequence_length=True, value=-1),
        {"x": real(4, 2, 3), "y": np.array([1, 3], np.float32)},
    )
    yield (
        "SequenceReverse",
        S.SequenceReverse(v(), v("y"), use_sequence_length=True),
        {"x": real(4, 2, 3), "y": np.array([2, 3], np.float32)},
    )
    yield "SequenceReverse all", S.SequenceReverse(v()), {"x": real(4, 2, 3)}
    yield (
        "SequenceLast",
        S.SequenceLast(v(), v("y"), use_sequence_length=True),
        {"x": real(4, 2, 3), "y": np.array([2, 3], np.float32)},
    )
    yield "SequenceLast all", S.SequenceLast(v()), {"x": real(4, 2, 3)}
    yield "depth_to_space", S.depth_to_space(v(), block_size=2), {"x": real(1, 8, 2, 3)}
    yield "space_to_depth", S.space_to_depth(v(), block_size=2), {"x": real(1, 2, 4, 6)}
    yield "UpSampling", S.UpSampling(v(), scale=2, sample_type="nearest", num_args=1), {"x": real(*IMAGE)}
    yield (
        "UpSampling bilinear",
        S.UpSampling(v(), v("w"), scale=2, sample_type="bilinear", num_filter=4, num_args=2),
        {"x": real(*IMAGE)},
    )
    yield "BilinearResize2D", S.contrib.BilinearResize2D(v(), height=13, width=5), {"x": real(*IMAGE)}
    yield (
        "BilinearResize2D centre",
        S.contrib.BilinearResize2D(v(), height=13, width=5, align_corners=False),
        {"x": real(*IMAGE)},
    )


def _npi():
    n = mx.sym.np
    a, b = v().as_np_ndarray(), v("y").as_np_ndarray()
    two = {"x": real(2, 3), "y": real(2, 3)}
    for name in ("add", "subtract", "multiply"):
        yield f"_npi_{name}", getattr(n, name)(a, b), two
        yield f"_npi_{name}_scalar", getattr(n, name)(a, 1.5), two
    yield "_npi_power", n.power(a, b), {"x": real(2, 3, low=0.2), "y": real(2, 3)}
    yield "_npi_power_scalar", n.power(a, 2.0), two
    yield "_npi_true_divide_scalar", a / 3.0, two
    yield "_npi_tanh", n.tanh(a), two
    yield "_npi_less", n.less(a, b), two
    yield "_npi_less_equal", n.less_equal(a, b), two
    yield "_npi_concatenate", n.concatenate([a, b], axis=1), two
    yield "_npi_stack", n.stack([a, b], axis=1), two
    yield "_npi_transpose", n.transpose(a, (1, 0)), two
    yield "_np_copy", n.copy(a), two
    yield "_npi_pad", n.pad(a, ((1, 0), (0, 2)), constant_values=0.5), two
    yield "_npx_reshape", mx.sym.npx.reshape(a, (-2, 3, 1)), two
    yield "_npx_reshape codes", mx.sym.npx.reshape(a, (-5,)), two


def _vision():
    boxes = np.array([[0, 1, 1, 6, 6], [1, 0, 2, 7, 5]], np.float32)
    yield (
        "ROIPooling",
        S.ROIPooling(v(), v("r"), pooled_size=(3, 2), spatial_scale=0.9),
        {"x": real(*IMAGE), "r": boxes},
    )
    yield (
        "ROIAlign",
        S.contrib.ROIAlign(v(), v("r"), pooled_size=(3, 2), spatial_scale=0.9, sample_ratio=2),
        {"x": real(*IMAGE), "r": boxes},
    )
    yield (
        "ROIAlign aligned",
        S.contrib.ROIAlign(v(), v("r"), pooled_size=(3, 2), spatial_scale=0.9, sample_ratio=2, aligned=True),
        {"x": real(*IMAGE), "r": boxes},
    )
    yield "MultiBoxPrior", S.contrib.MultiBoxPrior(v(), sizes=(0.3, 0.5), ratios=(1, 2)), {"x": real(1, 3, 4, 5)}
    yield (
        "MultiBoxPrior clip",
        S.contrib.MultiBoxPrior(v(), sizes=(0.9,), ratios=(1, 0.5), clip=True, steps=(0.3, 0.2), offsets=(0.4, 0.6)),
        {"x": real(1, 3, 4, 5)},
    )
    anchors = np.sort(RNG.uniform(0, 1, (1, 6, 2, 2)), axis=2).reshape(1, 6, 4).astype(np.float32)
    scores = RNG.dirichlet(np.ones(3), (1, 6)).transpose(0, 2, 1).astype(np.float32)
    yield (
        "MultiBoxDetection",
        S.contrib.MultiBoxDetection(v(), v("l"), v("a"), nms_threshold=0.3),
        {"x": scores, "l": real(1, 24, low=-0.5, high=0.5), "a": anchors},
    )
    rows = np.concatenate(
        [
            whole(2, 2, 8, 1),
            RNG.permutation(16).reshape(2, 8, 1) / 16,
            np.sort(RNG.uniform(0, 1, (2, 8, 2, 2)), axis=2).reshape(2, 8, 4),
        ],
        axis=2,
    ).astype(np.float32)
    yield "box_nms", S.contrib.box_nms(v(), overlap_thresh=0.2, id_index=0), {"x": rows}
    yield (
        "box_nms all",
        S.contrib.box_nms(v(), overlap_thresh=0.2, id_index=0, force_suppress=True, valid_thresh=0.3),
        {"x": rows},
    )
    yield "box_decode", S.contrib.box_decode(v(), v("a"), format="corner"), {"x": real(1, 6, 4), "a": anchors}
    yield (
        "box_decode centre",
        S.contrib.box_decode(v(), v("a"), format="center", clip=0.3),
        {"x": real(1, 6, 4), "a": anchors},
    )
    yield "box_iou", S.contrib.box_iou(v(), v("y"), format="corner"), {"x": anchors[0], "y": anchors[0, :3]}
    score = RNG.permutation(1 * 24 * 4 * 5).reshape(1, 24, 4, 5).astype(np.float32) / 480
    for name in ("Proposal", "MultiProposal"):
        yield (
            name,
            getattr(S.contrib, name)(v(), v("b"), v("i"), rpn_post_nms_top_n=10, rpn_pre_nms_top_n=60, rpn_min_size=4),
            {"x": score, "b": real(1, 48, 4, 5, low=-0.3, high=0.3), "i": np.array([[64, 80, 1]], np.float32)},
        )
    yield (
        "DeformableConvolution",
        S.contrib.DeformableConvolution(v(), v("o"), kernel=(3, 3), num_filter=5, pad=(1, 1)),
        {"x": real(*IMAGE), "o": real(2, 18, 9, 8)},
    )
    yield (
        "Correlation",
        S.Correlation(v(), v("y"), kernel_size=1, max_displacement=2, stride2=1, pad_size=2),
        {"x": real(*IMAGE), "y": real(*IMAGE)},
    )
    yield (
        "Correlation absolute",
        S.Correlation(v(), v("y"), kernel_size=3, max_displacement=1, pad_size=1, is_multiply=False),
        {"x": real(*IMAGE), "y": real(*IMAGE)},
    )
    yield (
        "BilinearSampler",
        S.BilinearSampler(v(), v("g")),
        {"x": real(*IMAGE), "g": real(2, 2, 5, 6, low=-1.1, high=1.1)},
    )
    yield "GridGenerator affine", S.GridGenerator(v(), transform_type="affine", target_shape=(5, 6)), {"x": real(2, 6)}
    yield "GridGenerator warp", S.GridGenerator(v(), transform_type="warp"), {"x": real(2, 2, 5, 6)}
    yield (
        "SpatialTransformer",
        S.SpatialTransformer(v(), v("t"), target_shape=(5, 6), transform_type="affine", sampler_type="bilinear"),
        {"x": real(*IMAGE), "t": real(2, 6, low=-0.6, high=0.6)},
    )


def _control():
    def step(x, states):
        made = x * S.Variable("k") + states[0]
        return [made, made * 2], [S.tanh(made)]

    rows, states = S.contrib.foreach(step, v(), [v("s")])
    yield "_foreach", S.Group(rows + states), {"x": real(7, 2, 3), "s": real(2, 3), "k": real(2, 3)}
    rows, states = S.contrib.while_loop(
        lambda i, s: i < 5, lambda i, s: ([i + s], [i + 1, s + i]), (S.Variable("i"), S.Variable("s")), max_iterations=8
    )
    yield "_while_loop", S.Group(states), {"i": np.array([1], np.float32), "s": real(1)}
    a, b = S.Variable("a"), v("b")
    made = S.contrib.cond(a < 3, lambda: b * 2, lambda: b + a)
    yield "_cond then", made, {"a": np.array([1], np.float32), "b": real(1)}
    yield "_cond else", made, {"a": np.array([4], np.float32), "b": real(1)}


def quantised():
    """Networks of integers, as MXNet's pass for processors makes them: name, symbol, weights, input."""
    from mxnet.contrib.quantization import quantize_model

    h = S.Convolution(v("data"), kernel=(3, 3), num_filter=8, pad=(1, 1), name="c1")
    h = S.Activation(S.BatchNorm(h, fix_gamma=False, name="b1"), act_type="relu")
    h = S.Activation(S.Convolution(h, kernel=(3, 3), num_filter=8, pad=(1, 1), name="c2") + h, act_type="relu")
    h = S.Flatten(S.Pooling(h, kernel=(2, 2), stride=(2, 2), pool_type="max"))
    first = S.FullyConnected(h, num_hidden=5, name="f")
    h = S.Convolution(v("data"), kernel=(3, 3), num_filter=8, name="c1")
    p = S.Pooling(h, kernel=(2, 2), stride=(2, 2), pool_type="avg")
    b = S.Activation(S.BatchNorm(p, fix_gamma=False, name="b1"), act_type="relu")
    second = S.Convolution(S.Concat(b, p, dim=1), kernel=(1, 1), num_filter=4, name="c2")
    for name, symbol in (("quantised network", first), ("quantised branches", second)):
        symbol = symbol.get_backend_symbol("MKLDNN_QUANTIZE")
        shapes, _, states = symbol.infer_shape(data=(2, 4, 8, 8))
        held = [
            {one: mx.nd.array(RNG.uniform(low, high, shape)) for one, shape in zip(names, sizes,
                strict=False) if one != "data"}
            for names, sizes, low, high in (
                (symbol.list_arguments(), shapes, -0.5, 0.5), (symbol.list_auxiliary_states(), states, 0.5, 1))
        ]  # fmt: skip
        # MXNet adds pairs of products in 16 bits on processors without VNNI, and they saturate. With one larger weight,
        # whose neighbour is 0, the others are at most 64 steps, and no pair does.
        for weight in (held[0][one] for one in held[0] if one == "f_weight"):
            weight[0, :2] = mx.nd.array([1, 0])
        data = mx.io.NDArrayIter(mx.nd.array(RNG.uniform(-1, 1, (8, 4, 8, 8))), batch_size=2)
        made, arguments, states = quantize_model(
            symbol, *held, data_names=("data",), label_names=None, calib_mode="naive", calib_data=data,
            num_calib_examples=8, quantized_dtype="auto", ctx=mx.cpu(),
        )  # fmt: skip
        weights = {f"arg:{one}": value.asnumpy() for one, value in arguments.items()}
        weights |= {f"aux:{one}": value.asnumpy() for one, value in states.items()}
        used = made.get_backend_symbol("MKLDNN_QUANTIZE")
        known = set(used.list_arguments()) | set(used.list_auxiliary_states())
        weights = {one: value for one, value in weights.items() if one.partition(":")[2] in known}
        yield name, used, weights, {"data": real(2, 4, 8, 8, low=-1, high=1)}


def cases():
    for group in (_elements, _products, _normal, _shapes, _npi, _vision, _control):
        yield from group()
