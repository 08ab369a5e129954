"""Operators of the JSON form (PIR): the operator of the protobuf form, and its names of operands, results and
attributes. An operator whose last character is `_` writes its first operand in place, and has the same names."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Signature:
    """kind: of the protobuf form. A last name that ends with `*` stands for all further operands."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    renamed: dict[str, str]
    constant: dict[str, object]


def _op(kind: str, inputs: str = "X", outputs: str = "Out", constant: dict | None = None, **renamed: str) -> Signature:
    return Signature(kind, tuple(inputs.split()), tuple(outputs.split()), renamed, constant or {})


_UNARY = (
    "abs acos acosh asin asinh atan atanh bitwise_not ceil celu cos cosh digamma elu erf erfinv exp expm1 floor gelu i0 "
    "lgamma log log10 log1p log2 log_softmax logical_not logit logsigmoid mish reciprocal relu relu6 rint round rsqrt "
    "selu sigmoid sign silu sin sinh softmax softplus softshrink softsign sqrt square stanh swish tan tanh tanh_shrink "
    "thresholded_relu trunc leaky_relu assign share_data cast npu_identity is_empty nop"
)
_BINARY = {
    "add": "elementwise_add", "subtract": "elementwise_sub", "multiply": "elementwise_mul",
    "divide": "elementwise_div", "maximum": "elementwise_max", "minimum": "elementwise_min",
    "fmax": "elementwise_fmax", "fmin": "elementwise_fmin", "remainder": "elementwise_mod",
    "floor_divide": "elementwise_floordiv", "elementwise_pow": "elementwise_pow", "heaviside": "elementwise_heaviside",
    **{name: name for name in (
        "equal not_equal greater_than greater_equal less_than less_equal logical_and logical_or logical_xor bitwise_and "
        "bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift atan2 bmm dot kron expand_as_v2 allclose isclose "
        "equal_all cross copysign nextafter reduce_as trunc_divide").split()},
    "grad_add": "elementwise_add",
}  # fmt: skip
_RANDOM = {"seed": "seed"}
_INTERPOLATION = {"interp_method": "interp_method", "data_format": "data_layout"}
_NMS = "score_threshold"

SIGNATURES: dict[str, Signature] = {
    **{name: _op(name) for name in _UNARY.split()},
    **{name: _op(kind, "X Y") for name, kind in _BINARY.items()},
    "hardsigmoid": _op("hard_sigmoid"), "hardswish": _op("hard_swish"), "hardshrink": _op("hard_shrink"),
    "hardtanh": _op("brelu"), "pow": _op("pow", y="factor"), "scale": _op("scale", "X ScaleTensor"),
    "clip": _op("clip", "X Min Max"), "isfinite": _op("isfinite_v2"), "isinf": _op("isinf_v2"),
    "isnan": _op("isnan_v2"), "dropout": _op("dropout", "X Seed Prob", "Out Mask", p="dropout_prob", mode="dropout_implementation"),
    "prelu": _op("prelu", "X Alpha"), "softmax_": _op("softmax"), "swiglu": _op("swiglu", "X Y"),
    "gumbel_softmax": _op("gumbel_softmax"), "increment": _op("increment", value="step"),
    "add_n": _op("sum"), "assign_out": _op("assign", "X Y"), "memcpy": _op("share_data"),
    "memcpy_h2d": _op("share_data"), "memcpy_d2h": _op("share_data"), "shadow_output": _op("share_data"),
    "shadow_feed": _op("share_data"), "data_transform": _op("share_data"),
    # --- products ---
    "conv2d": _op("conv2d", "Input Filter", "Output"), "depthwise_conv2d": _op("depthwise_conv2d", "Input Filter", "Output"),
    "conv3d": _op("conv3d", "Input Filter", "Output"),
    "conv2d_transpose": _op("conv2d_transpose", "Input Filter OutputSize", "Output"),
    "conv2d_transpose_bias": _op("conv2d_transpose", "Input Filter Bias OutputSize", "Output"),
    "depthwise_conv2d_transpose": _op("depthwise_conv2d_transpose", "Input Filter OutputSize", "Output"),
    "conv3d_transpose": _op("conv3d_transpose", "Input Filter", "Output"),
    "deformable_conv": _op("deformable_conv", "Input Offset Filter Mask", "Output"),
    "matmul": _op("matmul_v2", "X Y", transpose_x="trans_x", transpose_y="trans_y"),
    "matmul_with_flatten": _op("mul", "X Y"), "mv": _op("mv", "X Vec"), "addmm": _op("addmm", "Input X Y", beta="Beta", alpha="Alpha"),
    "baddbmm": _op("baddbmm", "Input X Y", beta="Beta", alpha="Alpha"), "multi_dot": _op("multi_dot"),
    "einsum": _op("einsum", "Operands", "Out"), "embedding": _op("lookup_table_v2", "Ids W"),
    "lookup_table": _op("lookup_table", "W Ids"), "bilinear": _op("bilinear_tensor_product", "X Y Weight Bias"),
    "fc": _op("fc", "Input W Bias"), "linear_v2": _op("fc", "Input W Bias", constant={"in_num_col_dims": -1}),
    "dist": _op("dist", "X Y"), "p_norm": _op("p_norm"), "frobenius_norm": _op("frobenius_norm", "X Axis", keepdim="keep_dim", axis="dim"),
    "norm": _op("norm", "X", "Out Norm"), "rnn": _op("rnn", "Input PreState WeightList SequenceLength DropoutState", "Out DropoutState State Reserve"),
    "gru": _op("gru", "Input H0 Weight Bias", "BatchGate BatchResetHiddenPrev BatchHidden Hidden"),
    "gru_unit": _op("gru_unit", "Input HiddenPrev Weight Bias", "Gate ResetHiddenPrev Hidden"),
    "lstm": _op("lstm", "Input H0 C0 Weight Bias", "Hidden Cell BatchGate BatchCellPreAct"),
    "crf_decoding": _op("crf_decoding", "Emission Transition Label Length", "ViterbiPath"),
    "viterbi_decode": _op("viterbi_decode", "Input Transition Length", "Scores Path"),
    "flash_attn": _op("flash_attn", "Q K V Seed Mask", "Out Softmax SoftmaxLse SeedOffset"),
    "inverse": _op("inverse"), "cholesky": _op("cholesky"), "row_conv": _op("row_conv", "X Filter"),
    # --- normalisation and pools ---
    "batch_norm": _op("batch_norm", "X Mean Variance Scale Bias", "Y MeanOut VarianceOut SavedMean SavedVariance ReserveSpace", data_format="data_layout"),
    "sync_batch_norm": _op("batch_norm", "X Mean Variance Scale Bias", "Y MeanOut VarianceOut SavedMean SavedVariance ReserveSpace", data_format="data_layout"),
    "layer_norm": _op("layer_norm", "X Scale Bias", "Y Mean Variance"),
    "group_norm": _op("group_norm", "X Scale Bias", "Y Mean Variance", data_format="data_layout"),
    "instance_norm": _op("instance_norm", "X Scale Bias", "Y SavedMean SavedVariance"),
    "rms_norm": _op("rms_norm", "X Scale", "Y InvVar"), "lrn": _op("lrn", "X", "Out MidOut"),
    "affine_channel": _op("affine_channel", "X Scale Bias", data_format="data_layout"),
    "spectral_norm": _op("spectral_norm", "Weight U V"),
    "pool2d": _op("pool2d", "X KernelSize", kernel_size="ksize"), "pool3d": _op("pool3d", kernel_size="ksize"),
    "lp_pool2d": _op("lp_pool2d", kernel_size="ksize"),
    "max_pool2d_with_index": _op("max_pool2d_with_index", "X", "Out Mask", kernel_size="ksize"),
    "max_pool3d_with_index": _op("max_pool3d_with_index", "X", "Out Mask", kernel_size="ksize"),
    "maxout": _op("maxout"), "unpool": _op("unpool", "X Indices OutputSize"),
    **{f"{name}_interp": _op(f"{name}_interp_v2", "X OutSize SizeTensor Scale", data_format="data_layout")
       for name in ("bilinear", "nearest", "bicubic", "linear", "trilinear")},
    # --- reductions ---
    "sum": _op("reduce_sum", "X Axis", axis="dim", keepdim="keep_dim", dtype="out_dtype"),
    "mean": _op("reduce_mean", "X Axis", axis="dim", keepdim="keep_dim"), "mean_all": _op("mean"),
    "max": _op("reduce_max", "X Axis", axis="dim", keepdim="keep_dim"),
    "min": _op("reduce_min", "X Axis", axis="dim", keepdim="keep_dim"),
    "amax": _op("reduce_max", axis="dim", keepdim="keep_dim"), "amin": _op("reduce_min", axis="dim", keepdim="keep_dim"),
    "prod": _op("reduce_prod", "X Axis", axis="dim", keepdim="keep_dim", dims="dim", keep_dim="keep_dim"),
    "all": _op("reduce_all", axis="dim", keepdim="keep_dim"), "any": _op("reduce_any", axis="dim", keepdim="keep_dim"),
    "logsumexp": _op("logsumexp"), "argmax": _op("arg_max", "X Axis"), "argmin": _op("arg_min", "X Axis"),
    "cumsum": _op("cumsum", "X Axis"), "cumprod": _op("cumprod", dim="dim"), "logcumsumexp": _op("logcumsumexp"),
    "cummax": _op("cummax", "X", "Out Indices"), "cummin": _op("cummin", "X", "Out Indices"),
    "cross_entropy_with_softmax": _op("softmax_with_cross_entropy", "Logits Label", "Softmax Loss"),
    "squared_l2_norm": _op("squared_l2_norm"), "l1_norm": _op("l1_norm"), "trace": _op("trace", "X"),
    # --- shapes ---
    "reshape": _op("reshape2", "X Shape", "Out XShape"), "flatten": _op("flatten_contiguous_range", "X", "Out XShape"),
    "squeeze": _op("squeeze2", "X AxesTensor", "Out XShape", axis="axes"), "unsqueeze": _op("unsqueeze2", "X AxesTensor", "Out XShape", axis="axes"),
    "transpose": _op("transpose2", "X", "Out XShape", perm="axis"), "trans_layout": _op("transpose2", perm="axis"),
    "concat": _op("concat", "X AxisTensor"), "stack": _op("stack", "X", "Y"), "unstack": _op("unstack", "X", "Y"),
    "unbind": _op("unbind", "X", "Out"), "split": _op("split", "X SectionsTensor AxisTensor"),
    "split_with_num": _op("split", "X AxisTensor"), "slice": _op("slice", "Input StartsTensor EndsTensor"),
    "strided_slice": _op("strided_slice", "Input StartsTensor EndsTensor StridesTensor"),
    "expand": _op("expand_v2", "X Shape"), "expand_as": _op("expand_as_v2", "X Y"), "tile": _op("tile", "X RepeatTimes"),
    "broadcast_tensors": _op("broadcast_tensors"), "pad": _op("pad", "X PadValue"), "pad3d": _op("pad3d", "X Paddings", pad_value="value"),
    "flip": _op("flip"), "reverse": _op("reverse", "X AxisTensor"), "roll": _op("roll", "X ShiftsTensor"),
    "tril": _op("tril_triu", constant={"lower": True}), "triu": _op("tril_triu", constant={"lower": False}),
    "shape": _op("shape", "Input"), "shape64": _op("shape", "Input", constant={"is_long": True}), "numel": _op("size", "Input"),
    "crop": _op("crop_tensor", "X Shape Offsets"), "meshgrid": _op("meshgrid"), "diag": _op("diag_v2"),
    "diag_embed": _op("diag_embed", "Input"), "diagonal": _op("diagonal", "Input"), "repeat_interleave": _op("repeat_interleave", repeats="Repeats", axis="dim"),
    "pixel_shuffle": _op("pixel_shuffle"), "pixel_unshuffle": _op("pixel_unshuffle"), "shuffle_channel": _op("shuffle_channel"),
    "channel_shuffle": _op("channel_shuffle"), "temporal_shift": _op("temporal_shift"), "unfold": _op("unfold", "X", "Y"),
    "fold": _op("fold", "X", "Y"), "space_to_depth": _op("space_to_depth"),
    # --- constants ---
    "full": _op("fill_constant", ""), "full_int_array": _op("assign_value", "", value="values"),
    "full_with_tensor": _op("fill_constant", "ValueTensor ShapeTensor"), "full_like": _op("fill_any_like", "X ValueTensor"),
    "full_batch_size_like": _op("fill_constant_batch_size_like", "Input"), "assign_value": _op("assign_value", ""),
    "ones": _op("fill_constant", "", constant={"value": 1.0}), "zeros": _op("fill_constant", "", constant={"value": 0.0}),
    "ones_like": _op("fill_any_like", constant={"value": 1.0}), "zeros_like": _op("fill_any_like", constant={"value": 0.0}),
    "arange": _op("range", "Start End Step"), "range_v2": _op("range", "Start End Step"), "linspace": _op("linspace", "Start Stop Num"),
    "eye": _op("eye", "Rows Columns"), "one_hot": _op("one_hot_v2", "X depth_tensor"), "empty": _op("empty", "ShapeTensor"),
    "gaussian": _op("gaussian_random", "ShapeTensor"), "uniform": _op("uniform_random", "ShapeTensor Min Max"),
    "randint": _op("randint", "ShapeTensor"), "tril_indices": _op("tril_indices", ""), "triu_indices": _op("triu_indices", ""),
    # --- choice ---
    "where": _op("where", "Condition X Y"), "nonzero": _op("where_index", "Condition"),
    "masked_select": _op("masked_select", "X Mask", "Y"), "masked_fill": _op("masked_fill", "X Mask Value"),
    "gather": _op("gather", "X Index Axis"),
    "gather_nd": _op("gather_nd", "X Index"), "index_select": _op("index_select", "X Index", axis="dim"),
    "index_sample": _op("index_sample", "X Index"), "index_add": _op("index_add", "X Index AddValue"),
    "index_put": _op("index_put", "x indices value", "out"), "take_along_axis": _op("take_along_axis", "Input Index", "Result", axis="Axis"),
    "put_along_axis": _op("put_along_axis", "Input Index Value", "Result", axis="Axis", reduce="Reduce", include_self="Include_self"),
    "scatter": _op("scatter", "X Ids Updates"), "scatter_nd_add": _op("scatter_nd_add", "X Index Updates"),
    "set_value": _op("set_value", "Input StartsTensor EndsTensor StepsTensor"),
    "set_value_with_tensor": _op("set_value", "Input ValueTensor StartsTensor EndsTensor StepsTensor"),
    "topk": _op("top_k_v2", "X K", "Out Indices"), "argsort": _op("argsort", "X", "Out Indices"),
    "kthvalue": _op("kthvalue", "X", "Out Indices"), "unique": _op("unique", "X", "Out Indices Index Counts"),
    "searchsorted": _op("searchsorted", "SortedSequence Values"), "bincount": _op("bincount", "X Weights MinLength"),
    "multiplex": _op("multiplex", "X Ids"), "sequence_mask": _op("sequence_mask", "X MaxLenTensor", "Y", max_len="maxlen"),
    # --- images and boxes ---
    "grid_sample": _op("grid_sampler", "X Grid", "Output"), "affine_grid": _op("affine_grid", "Theta OutputShape", "Output"),
    "roi_align": _op("roi_align", "X ROIs RoisNum"), "roi_pool": _op("roi_pool", "X ROIs RoisNum", "Out Argmax"),
    "multiclass_nms3": _op("multiclass_nms3", "BBoxes Scores RoisNum", "Out Index NmsRoisNum"),
    "matrix_nms": _op("matrix_nms", "BBoxes Scores", "Out Index RoisNum"), "nms": _op("nms", "Boxes", "KeepBoxesIdxs", threshold="iou_threshold"),
    "yolo_box": _op("yolo_box", "X ImgSize", "Boxes Scores"), "box_coder": _op("box_coder", "PriorBox PriorBoxVar TargetBox", "OutputBox"),
    "prior_box": _op("prior_box", "Input Image", "Boxes Variances"), "anchor_generator": _op("anchor_generator", "Input", "Anchors Variances"),
    "box_clip": _op("box_clip", "Input ImInfo", "Output"),
    "generate_proposals": _op("generate_proposals_v2", "Scores BboxDeltas ImShape Anchors Variances", "RpnRois RpnRoiProbs RpnRoisNum"),
    "distribute_fpn_proposals": _op("distribute_fpn_proposals", "FpnRois RoisNum", "MultiFpnRois MultiLevelRoIsNum RestoreIndex"),
    # --- integers ---
    "quantize_linear": _op("quantize_linear", "X Scale ZeroPoint InAccum InState", "Y OutState OutAccum OutScale"),
    "dequantize_linear": _op("dequantize_linear", "X Scale ZeroPoint InAccum InState", "Y OutState OutAccum OutScale"),
    "fake_quantize_dequantize_moving_average_abs_max": _op("fake_quantize_dequantize_moving_average_abs_max", "X InScale InAccum InState", "Out OutScale OutState OutAccum"),
    "fake_quantize_moving_average_abs_max": _op("fake_quantize_moving_average_abs_max", "X InScale InAccum InState", "Out OutScale OutState OutAccum"),
    "fake_quantize_range_abs_max": _op("fake_quantize_range_abs_max", "X InScale Iter", "Out OutScale OutScales"),
    "fake_quantize_abs_max": _op("fake_quantize_abs_max", "X", "Out OutScale"),
    "fake_quantize_dequantize_abs_max": _op("fake_quantize_dequantize_abs_max", "X", "Out OutScale"),
    "fake_channel_wise_quantize_abs_max": _op("fake_channel_wise_quantize_abs_max", "X", "Out OutScale"),
    "fake_channel_wise_quantize_dequantize_abs_max": _op("fake_channel_wise_quantize_dequantize_abs_max", "X", "Out OutScale"),
    "fake_channel_wise_dequantize_max_abs": _op("fake_channel_wise_dequantize_max_abs", "X Scales"),
    "fake_dequantize_max_abs": _op("fake_dequantize_max_abs", "X Scale"),
    "moving_average_abs_max_scale": _op("moving_average_abs_max_scale", "X InAccum InState", "Out OutScale OutState OutAccum"),
    # --- control flow and lists ---
    "while": _op("while", "Condition X*", "Out*"), "if": _op("if", "Cond", "Out*"),
    "select_input": _op("select_input", "Mask X*"), "assert": _op("assert", "Cond Data", ""), "print": _op("print", "In"),
    "create_array": _op("create_array", ""), "create_array_like": _op("create_array", "X"),
    "array_write_": _op("write_to_array", "Array X I"), "array_read": _op("read_from_array", "X I"),
    "array_length": _op("lod_array_length"), "array_to_tensor": _op("tensor_array_to_tensor", "X", "Out OutIndex"),
    "lod_array_length": _op("lod_array_length"), "write_to_array": _op("write_to_array", "I X"),
}  # fmt: skip
