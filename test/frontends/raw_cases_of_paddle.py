"""Operators of PaddlePaddle's protobuf form that today's functions do not write: name, operator, arrays by slot,
element types of results by slot, attributes, slots that are stored as parameters.

`_sequences` names slots that are sequences, `_unused` results that nothing reads.
"""

import numpy as np

RNG = np.random.default_rng(4)
IMAGE = (2, 4, 9, 8)
F, I = "float32", "int64"  # noqa: E741


def real(*shape, low=-2.0, high=2.0):
    return RNG.uniform(low, high, shape).astype(np.float32)


def whole(high, *shape, low=0, dtype=np.int64):
    return RNG.integers(low, high, shape).astype(dtype)


def bools(*shape):
    return RNG.integers(0, 2, shape).astype(bool)


def one(kind, x, result=F, **attributes):
    return f"{kind} {attributes}" if attributes else kind, kind, {"X": x}, {"Out": result}, attributes, ()


def two(kind, x, y, result=F, **attributes):
    return f"{kind} {attributes}" if attributes else kind, kind, {"X": x, "Y": y}, {"Out": result}, attributes, ()


def _elements():
    for kind in "abs ceil cos cosh exp expm1 floor sigmoid sign sin sinh tanh round logsigmoid softsign square".split():
        yield one(kind, real(3, 5))
    for kind in "log log2 log10 log1p rsqrt sqrt reciprocal acosh".split():
        yield one(kind, real(3, 5, low=1.1, high=3))
    for kind in "acos asin atanh".split():
        yield one(kind, real(3, 5, low=-0.9, high=0.9))
    for kind in "isnan_v2 isinf_v2 isfinite_v2".split():
        yield one(kind, np.float32([1, np.inf, -np.inf, np.nan]), "bool")
    yield one("brelu", real(3, 5, high=9), t_min=1.0, t_max=4.0)
    yield one("relu6", real(3, 5, high=9), threshold=5.0)
    yield one("hard_swish", real(3, 5, high=9), threshold=6.0, scale=6.0, offset=3.0)
    yield one("hard_sigmoid", real(3, 5, high=9), slope=0.3, offset=0.4)
    yield one("hard_shrink", real(3, 5), threshold=0.7)
    yield one("softshrink", real(3, 5), **{"lambda": 0.7})
    yield one("soft_relu", real(3, 5), threshold=1.0)
    yield one("softplus", real(3, 5), beta=2.0, threshold=3.0)
    yield one("swish", real(3, 5), beta=1.0)
    yield one("gelu", real(3, 5), approximate=False)
    yield one("gelu", real(3, 5), approximate=True)
    yield one("elu", real(3, 5), alpha=0.7)
    yield one("stanh", real(3, 5), scale_a=0.5, scale_b=1.5)
    yield one("thresholded_relu", real(3, 5), threshold=0.5)
    yield one("leaky_relu", real(3, 5), alpha=0.3)
    yield one("pow", real(3, 5, low=0.1), factor=2.5)
    yield one("scale", real(3, 5), scale=2.0, bias=1.0, bias_after_scale=False)
    yield one("scale", whole(9, 3, 4), I, scale=2.0, bias=1.0)
    yield one("clip", real(3, 5), min=-1.0, max=0.5)
    yield one("dropout", real(3, 5), dropout_prob=0.3, is_test=True, dropout_implementation="downgrade_in_infer") [:3] + (  # noqa: E501
        {"Out": F, "Mask": "uint8"}, {"dropout_prob": 0.3, "is_test": True, "dropout_implementation": "downgrade_in_infer",  # noqa: E501
                                      "_unused": ("Mask",)}, ())  # fmt: skip
    yield one("cast", real(3, 5), "int32", in_dtype=5, out_dtype=2)
    for kind in "add sub mul div max min pow".split():
        yield two(f"elementwise_{kind}", real(2, 3, 4, low=0.2), real(2, 3, 4, low=0.2))
        yield two(f"elementwise_{kind}", real(2, 3, 4, 5, low=0.2), real(3, 4, low=0.2), axis=1)
    yield two("elementwise_add", real(2, 3, 4), real(2), axis=0)
    yield two("elementwise_mod", whole(9, 3, 4), whole(9, 3, 4, low=1), I)
    yield two("elementwise_floordiv", whole(9, 3, 4), whole(9, 3, 4, low=1), I)
    yield two("minus", real(3, 4), real(3, 4))
    for kind in "equal not_equal greater_than greater_equal less_than less_equal".split():
        yield two(kind, whole(3, 3, 4), whole(3, 3, 4), "bool")
    for kind in "logical_and logical_or logical_xor".split():
        yield two(kind, bools(3, 4), bools(3, 4), "bool")
    yield one("logical_not", bools(3, 4), "bool")
    yield "prelu all", "prelu", {"X": real(2, 4, 3), "Alpha": real(1)}, {"Out": F}, {"mode": "all"}, ()
    yield "prelu channel", "prelu", {"X": real(2, 4, 3), "Alpha": real(4)}, {"Out": F}, {"mode": "channel"}, ()
    yield "prelu element", "prelu", {"X": real(2, 4, 3), "Alpha": real(1, 4, 3)}, {"Out": F}, {"mode": "element"}, ()
    yield "sum", "sum", {"X": [real(3, 4), real(3, 4), real(3, 4)]}, {"Out": F}, {}, ()


def _products():
    yield two("mul", real(2, 3, 4), real(4, 5), x_num_col_dims=2, y_num_col_dims=1)
    yield two("mul", real(2, 3, 4), real(12, 5), x_num_col_dims=1, y_num_col_dims=1)
    yield two("matmul", real(2, 3, 4), real(2, 4, 5), transpose_X=False, transpose_Y=False, alpha=0.5)
    yield two("matmul", real(2, 4, 3), real(2, 5, 4), transpose_X=True, transpose_Y=True, alpha=1.0)
    yield two("matmul_v2", real(2, 3, 4), real(2, 4, 5), trans_x=False, trans_y=False)
    yield two("matmul_v2", real(3, 4), real(5, 4), trans_x=False, trans_y=True)
    yield two("bmm", real(2, 3, 4), real(2, 4, 5))
    yield two("dot", real(3, 4), real(3, 4))
    yield two("dist", real(3, 4), real(3, 4), p=2.0)
    yield "mv", "mv", {"X": real(3, 4), "Vec": real(4)}, {"Out": F}, {}, ()
    yield "fc", "fc", {"Input": real(3, 4), "W": real(4, 5), "Bias": real(5)}, {"Out": F}, {"in_num_col_dims": 1}, ()
    yield (
        "lookup_table",
        "lookup_table",
        {"W": real(9, 5), "Ids": whole(9, 4, 1)},
        {"Out": F},
        {"padding_idx": -1},
        ("W",),
    )
    yield (
        "lookup_table padding",
        "lookup_table",
        {"W": real(9, 5), "Ids": whole(3, 6, 1)},
        {"Out": F},
        {"padding_idx": 2},
        ("W",),
    )  # noqa: E501
    yield "row_conv", "row_conv", {"X": real(2, 5, 3), "Filter": real(3, 3)}, {"Out": F}, {}, ()
    yield (
        "addmm",
        "addmm",
        {"Input": real(3, 5), "X": real(3, 4), "Y": real(4, 5)},
        {"Out": F},
        {"Alpha": 2.0, "Beta": 0.5},
        (),
    )
    yield "conv2d bias", "conv2d", {"Input": real(*IMAGE), "Filter": real(6, 4, 3, 3)}, {"Output": F}, {
        "strides": [1, 2], "paddings": [1, 1], "groups": 1, "dilations": [1, 1]}, ("Filter",)  # fmt: skip
    yield "depthwise_conv2d", "depthwise_conv2d", {"Input": real(*IMAGE), "Filter": real(4, 1, 3, 3)}, {"Output": F}, {
        "strides": [1, 1], "paddings": [1, 1], "groups": 4, "dilations": [1, 1]}, ("Filter",)  # fmt: skip
    yield "p_norm", "p_norm", {"X": real(3, 4)}, {"Out": F}, {"porder": 3.0, "axis": 1, "keepdim": True}, ()
    yield (
        "frobenius_norm",
        "frobenius_norm",
        {"X": real(3, 4)},
        {"Out": F},
        {"dim": [0, 1], "keep_dim": False, "reduce_all": True},
        (),
    )
    yield (
        "norm",
        "norm",
        {"X": real(3, 4)},
        {"Out": F, "Norm": F},
        {"axis": 1, "epsilon": 1e-10, "_unused": ("Norm",)},
        (),
    )
    yield "affine_channel", "affine_channel", {"X": real(*IMAGE), "Scale": real(4), "Bias": real(4)}, {"Out": F}, {}, ()
    yield (
        "lrn",
        "lrn",
        {"X": real(*IMAGE)},
        {"Out": F, "MidOut": F},
        {"n": 3, "k": 1.5, "alpha": 1e-2, "beta": 0.7, "_unused": ("MidOut",)},
        (),
    )  # noqa: E501
    yield "rnn", "rnn", {
        "Input": real(6, 2, 4), "PreState": [real(1, 2, 5), real(1, 2, 5)],
        "WeightList": [real(20, 4), real(20, 5), real(20), real(20)],
    }, {"Out": F, "DropoutState": "uint8", "State": f"{F} {F}", "Reserve": "uint8"}, {
        "mode": "LSTM", "hidden_size": 5, "input_size": 4, "num_layers": 1, "is_bidirec": False, "is_test": True,
        "dropout_prob": 0.0, "_unused": ("DropoutState", "Reserve"),
    }, ("WeightList",)  # fmt: skip


def _shapes():
    for kind in ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod"):
        yield one(kind, real(2, 3, 4), dim=[1], keep_dim=True)
        yield one(kind, real(2, 3, 4), dim=[0], reduce_all=True)
    yield one("reduce_all", bools(3, 4), "bool", dim=[1])
    yield one("reduce_any", bools(3, 4), "bool", dim=[1])
    yield one("mean", real(3, 4))
    yield one("logsumexp", real(3, 4), axis=[1])
    yield one("arg_max", real(3, 4), I, axis=1, dtype=3)
    yield one("arg_min", real(3, 4), I, axis=0, keepdims=True, dtype=3)
    yield one("cumsum", real(3, 4), axis=1, exclusive=True, reverse=True)
    yield "top_k", "top_k", {"X": real(3, 6)}, {"Out": F, "Indices": I}, {"k": 2}, ()
    yield one("flatten", real(2, 3, 4), axis=1)
    yield "flatten2", "flatten2", {"X": real(2, 3, 4)}, {"Out": F, "XShape": F}, {"axis": 2, "_unused": ("XShape",)}, ()
    yield one("reshape", real(2, 3, 4), shape=[0, -1])
    yield one("squeeze", real(2, 1, 4), axes=[1])
    yield one("unsqueeze", real(2, 4), axes=[1])
    yield one("transpose", real(2, 3, 4), axis=[1, 2, 0])
    yield one("expand", real(2, 3), expand_times=[2, 2])
    yield (
        "expand_as_v2",
        "expand_as_v2",
        {"X": real(3, 1), "Y": real(2, 3, 4)},
        {"Out": F},
        {"target_shape": [2, 3, 4]},
        (),
    )
    yield one("pad2d", real(1, 2, 3, 4), paddings=[1, 0, 2, 1], mode="reflect")
    yield one("pad2d", real(1, 2, 3, 4), paddings=[1, 0, 2, 1], mode="constant", pad_value=2.0)
    yield one("tril_triu", real(4, 5), diagonal=1, lower=True)
    yield one("roll", real(3, 4), shifts=[1], axis=[1])
    yield one("reverse", real(3, 4), axis=[1])
    yield "diagonal", "diagonal", {"Input": real(4, 5)}, {"Out": F}, {"offset": 1, "axis1": 0, "axis2": 1}, ()
    yield one("crop_tensor", real(3, 4), shape=[2, 2], offsets=[1, 1])
    yield one("shuffle_channel", real(1, 4, 3, 3), group=2)
    yield one("space_to_depth", real(1, 4, 4, 6), blocksize=2)
    yield one("one_hot_v2", whole(5, 3, 2), F, depth=5, dtype=5)
    yield one("one_hot", whole(5, 3, 1), F, depth=5, dtype=5)
    yield one("fill_any_like", real(2, 3), F, value=2.0, dtype=5)
    yield one("fill_zeros_like", real(2, 3))
    yield "fill_constant_batch_size_like", "fill_constant_batch_size_like", {"Input": real(3, 4)}, {"Out": F}, {
        "shape": [-1, 5], "value": 2.5, "dtype": 5}, ()  # fmt: skip
    yield (
        "range",
        "range",
        {"Start": np.float32([1]), "End": np.float32([6]), "Step": np.float32([2])},
        {"Out": F},
        {},
        (),
    )
    yield (
        "index_put",
        "index_put",
        {"x": real(3, 4), "indices": [np.int64([0, 2])], "value": real(2, 4)},
        {"out": F},
        {"accumulate": False},
        (),
    )  # noqa: E501
    yield "grid_sampler", "grid_sampler", {"X": real(1, 3, 5, 6), "Grid": real(1, 4, 4, 2, high=1)}, {"Output": F}, {
        "mode": "bilinear", "padding_mode": "zeros", "align_corners": True}, ()  # fmt: skip
    for kind in ("nearest_interp", "bilinear_interp", "nearest_interp_v2", "bilinear_interp_v2", "bicubic_interp_v2"):
        for corners in (True, False):
            yield f"{kind} {corners}", kind, {"X": real(*IMAGE)}, {"Out": F}, {
                "out_h": 13, "out_w": 5, "align_corners": corners, "align_mode": 1,
                "interp_method": kind.partition("_")[0]}, ()  # fmt: skip


def _sequences():
    size = 4
    for origin in (True, False):
        for backward in (True, False):
            yield f"gru {origin} {backward}", "gru", {
                "Input": real(6, 3 * size), "Weight": real(size, 3 * size), "Bias": real(1, 3 * size),
            }, {"BatchGate": F, "BatchResetHiddenPrev": F, "BatchHidden": F, "Hidden": F}, {
                "origin_mode": origin, "is_reverse": backward, "activation": "tanh", "gate_activation": "sigmoid",
                "is_test": True, "_sequences": ("Input",), "_unused": ("BatchGate", "BatchResetHiddenPrev", "BatchHidden"),  # noqa: E501
            }, ("Weight", "Bias")  # fmt: skip
        yield (
            f"gru_unit {origin}",
            "gru_unit",
            {
                "Input": real(3, 3 * size),
                "HiddenPrev": real(3, size),
                "Weight": real(size, 3 * size),
                "Bias": real(1, 3 * size),
            },
            {"Gate": F, "ResetHiddenPrev": F, "Hidden": F},
            {"origin_mode": origin, "activation": 2, "gate_activation": 1},
            (),
        )
    for peepholes in (True, False):
        yield f"lstm {peepholes}", "lstm", {
            "Input": real(6, 4 * size), "Weight": real(size, 4 * size), "Bias": real(1, (7 if peepholes else 4) * size),
        }, {"Hidden": F, "Cell": F, "BatchGate": F, "BatchCellPreAct": F}, {
            "use_peepholes": peepholes, "is_reverse": False, "is_test": True, "_sequences": ("Input",),
            "_unused": ("Cell", "BatchGate", "BatchCellPreAct"),
        }, ("Weight", "Bias")  # fmt: skip
    yield "crf_decoding", "crf_decoding", {"Emission": real(7, 5), "Transition": real(7, 5)}, {"ViterbiPath": I}, {
        "_sequences": ("Emission",)}, ("Transition",)  # fmt: skip
    yield "sequence_softmax", "sequence_softmax", {"X": real(6, 1)}, {"Out": F}, {"_sequences": ("X",)}, ()
    for kind in ("SUM", "AVERAGE", "SQRT", "MAX", "FIRST", "LAST"):
        yield f"sequence_pool {kind}", "sequence_pool", {"X": real(6, 3)}, {"Out": F, "MaxIndex": "int32"}, {
            "pooltype": kind, "_sequences": ("X",), "_unused": ("MaxIndex",)}, ()  # fmt: skip
    yield "sequence_conv", "sequence_conv", {"X": real(6, 3), "Filter": real(9, 4)}, {"Out": F}, {
        "contextLength": 3, "contextStart": -1, "contextStride": 1, "_sequences": ("X",)}, ("Filter",)  # fmt: skip


def _integers():
    x, scale = real(2, 4, 5), np.float32([1.7])
    by_channel = np.abs(real(4)) + 0.5
    zeros = np.zeros(1, np.int32)
    for name, given, axis in (("", scale, -1), (" channel", by_channel, 1)):
        zero = np.zeros(len(given), np.int32)
        yield f"quantize_linear{name}", "quantize_linear", {"X": x, "Scale": given, "ZeroPoint": zero}, {"Y": F}, {
            "bit_length": 8, "quant_axis": axis, "round_type": 0, "qmin": -128, "qmax": 127, "is_test": True,
            "only_observer": False}, ("Scale", "ZeroPoint")  # fmt: skip
        yield f"dequantize_linear{name}", "dequantize_linear", {
            "X": whole(127, 2, 4, 5, low=-127).astype(np.float32), "Scale": given, "ZeroPoint": zero}, {"Y": F}, {
            "bit_length": 8, "quant_axis": axis, "round_type": 0, "qmin": -128, "qmax": 127, "is_test": True,
            "only_observer": False}, ("Scale", "ZeroPoint")  # fmt: skip
    for kind in ("fake_quantize_moving_average_abs_max", "fake_quantize_dequantize_moving_average_abs_max"):
        for rule in (0, 1):
            yield (
                f"{kind} {rule}",
                kind,
                {"X": x, "InScale": scale},
                {"Out": F, "OutScale": F},
                {"bit_length": 8, "is_test": True, "round_type": rule, "_unused": ("OutScale",)},
                ("InScale",),
            )  # noqa: E501
    yield (
        "fake_quantize_range_abs_max",
        "fake_quantize_range_abs_max",
        {"X": x, "InScale": scale, "Iter": np.int64([0])},
        {  # noqa: E501
            "Out": F,
            "OutScale": F,
        },
        {"bit_length": 8, "is_test": True, "_unused": ("OutScale",)},
        ("InScale", "Iter"),
    )  # noqa: E501
    yield "fake_quantize_abs_max", "fake_quantize_abs_max", {"X": x}, {"Out": F, "OutScale": F}, {"bit_length": 8}, ()
    for axis in (0, 1):
        kind = "fake_channel_wise_quantize_dequantize_abs_max"
        yield (
            f"{kind} {axis}",
            kind,
            {"X": real(3, 4, 2, 2)},
            {"Out": F, "OutScale": F},
            {"bit_length": 8, "quant_axis": axis},
            (),
        )
        kind = "fake_channel_wise_quantize_abs_max"
        yield (
            f"{kind} {axis}",
            kind,
            {"X": real(3, 4, 2, 2)},
            {"Out": F, "OutScale": F},
            {"bit_length": 8, "quant_axis": axis},
            (),
        )
    yield (
        "fake_dequantize_max_abs",
        "fake_dequantize_max_abs",
        {"X": x, "Scale": scale},
        {"Out": F},
        {"max_range": 127.0},
        (),
    )
    yield "fake_channel_wise_dequantize_max_abs", "fake_channel_wise_dequantize_max_abs", {
        "X": real(4, 3), "Scales": [by_channel]}, {"Out": F}, {"quant_bits": [8], "quant_axis": 0}, ()  # fmt: skip
    yield "moving_average_abs_max_scale", "moving_average_abs_max_scale", {"X": x}, {"Out": F, "OutScale": F}, {
        "is_test": True, "_unused": ("OutScale",)}, ()  # fmt: skip
    assert zeros.size == 1


def _boxes():
    many = np.sort(RNG.uniform(0, 9, (12, 2, 2)), axis=1).reshape(12, 4).astype(np.float32)
    scores = RNG.uniform(0, 1, (1, 3, 12)).astype(np.float32)
    for top, keep, background in ((-1, -1, -1), (5, 6, 0), (400, 4, -1)):
        yield f"multiclass_nms3 {top} {keep}", "multiclass_nms3", {"BBoxes": many[None], "Scores": scores}, {
            "Out": F, "Index": "int32", "NmsRoisNum": "int32"}, {
            "score_threshold": 0.2, "nms_top_k": top, "keep_top_k": keep, "nms_threshold": 0.4, "nms_eta": 1.0,
            "normalized": True, "background_label": background}, ()  # fmt: skip
    yield "anchor_generator", "anchor_generator", {"Input": real(1, 2, 3, 4)}, {"Anchors": F, "Variances": F}, {
        "anchor_sizes": [32.0, 64.0], "aspect_ratios": [0.5, 1.0], "variances": [0.1, 0.1, 0.2, 0.2],
        "stride": [16.0, 16.0], "offset": 0.5}, ()  # fmt: skip
    yield "box_clip", "box_clip", {"Input": many * 3, "ImInfo": np.float32([[20, 18, 1]])}, {"Output": F}, {
        "_sequences": ("Input",)}, ()  # fmt: skip


def cases():
    for part in (_elements, _products, _shapes, _sequences, _integers, _boxes):
        yield from part()
