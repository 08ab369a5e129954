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
    renamed: dict[str, str]  # attributes: the name here, and that of the protobuf form
    constant: dict[str, object]  # attributes that only the protobuf form has


# Operators with one operand X and one result Out, under the same name in both forms.
_UNARY = """
abs acos acosh asin asinh assign atan atanh bitwise_not broadcast_tensors cast ceil celu channel_shuffle cholesky
cos cosh digamma elu erf erfinv exp expm1 flip floor gelu gumbel_softmax i0 inverse is_empty l1_norm leaky_relu
lgamma lod_array_length log log10 log1p log2 log_softmax logcumsumexp logical_not logit logsigmoid logsumexp maxout
meshgrid mish multi_dot nop npu_identity p_norm pixel_shuffle pixel_unshuffle reciprocal relu relu6 rint round rsqrt
selu share_data shuffle_channel sigmoid sign silu sin sinh softmax softplus softshrink softsign space_to_depth sqrt
square squared_l2_norm stanh swish tan tanh tanh_shrink temporal_shift thresholded_relu trace trunc unbind
"""
# Operands X and Y, and one result Out.
_BINARY = """
allclose atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor bmm copysign cross dist dot
elementwise_pow equal equal_all expand_as_v2 greater_equal greater_than isclose kron less_equal less_than
logical_and logical_or logical_xor nextafter not_equal reduce_as swiglu trunc_divide
"""
# name: name of the protobuf form | operands | results | attributes: name>other name, name=value that is added
_OTHERS = """
add: elementwise_add | X Y | Out
add_n: sum | X | Out
addmm: addmm | Input X Y | Out | beta>Beta alpha>Alpha
affine_channel: affine_channel | X Scale Bias | Out | data_format>data_layout
affine_grid: affine_grid | Theta OutputShape | Output
all: reduce_all | X | Out | axis>dim keepdim>keep_dim
amax: reduce_max | X | Out | axis>dim keepdim>keep_dim
amin: reduce_min | X | Out | axis>dim keepdim>keep_dim
anchor_generator: anchor_generator | Input | Anchors Variances
any: reduce_any | X | Out | axis>dim keepdim>keep_dim
arange: range | Start End Step | Out
argmax: arg_max | X Axis | Out
argmin: arg_min | X Axis | Out
argsort: argsort | X | Out Indices
array_length: lod_array_length | X | Out
array_read: read_from_array | X I | Out
array_to_tensor: tensor_array_to_tensor | X | Out OutIndex
array_write_: write_to_array | Array X I | Out
assert: assert | Cond Data | 
assign_out: assign | X Y | Out
assign_value: assign_value |  | Out
baddbmm: baddbmm | Input X Y | Out | beta>Beta alpha>Alpha
batch_norm: batch_norm | X Mean Variance Scale Bias | Y MeanOut VarianceOut SavedMean SavedVariance ReserveSpace |
  data_format>data_layout
bicubic_interp: bicubic_interp_v2 | X OutSize SizeTensor Scale | Out | data_format>data_layout
bilinear: bilinear_tensor_product | X Y Weight Bias | Out
bilinear_interp: bilinear_interp_v2 | X OutSize SizeTensor Scale | Out | data_format>data_layout
bincount: bincount | X Weights MinLength | Out
box_clip: box_clip | Input ImInfo | Output
box_coder: box_coder | PriorBox PriorBoxVar TargetBox | OutputBox
clip: clip | X Min Max | Out
concat: concat | X AxisTensor | Out
conv2d: conv2d | Input Filter | Output
conv2d_transpose: conv2d_transpose | Input Filter OutputSize | Output
conv2d_transpose_bias: conv2d_transpose | Input Filter Bias OutputSize | Output
conv3d: conv3d | Input Filter | Output
conv3d_transpose: conv3d_transpose | Input Filter | Output
create_array: create_array |  | Out
create_array_like: create_array | X | Out
crf_decoding: crf_decoding | Emission Transition Label Length | ViterbiPath
crop: crop_tensor | X Shape Offsets | Out
cross_entropy_with_softmax: softmax_with_cross_entropy | Logits Label | Softmax Loss
cummax: cummax | X | Out Indices
cummin: cummin | X | Out Indices
cumprod: cumprod | X | Out
cumsum: cumsum | X Axis | Out
data_transform: share_data | X | Out
deformable_conv: deformable_conv | Input Offset Filter Mask | Output
depthwise_conv2d: depthwise_conv2d | Input Filter | Output
depthwise_conv2d_transpose: depthwise_conv2d_transpose | Input Filter OutputSize | Output
dequantize_linear: dequantize_linear | X Scale ZeroPoint InAccum InState | Y OutState OutAccum OutScale
diag: diag_v2 | X | Out
diag_embed: diag_embed | Input | Out
diagonal: diagonal | Input | Out
distribute_fpn_proposals: distribute_fpn_proposals | FpnRois RoisNum | MultiFpnRois MultiLevelRoIsNum RestoreIndex
divide: elementwise_div | X Y | Out
dropout: dropout | X Seed Prob | Out Mask | p>dropout_prob mode>dropout_implementation
einsum: einsum | Operands | Out
embedding: lookup_table_v2 | Ids W | Out
empty: empty | ShapeTensor | Out
expand: expand_v2 | X Shape | Out
expand_as: expand_as_v2 | X Y | Out
eye: eye | Rows Columns | Out
fake_channel_wise_dequantize_max_abs: fake_channel_wise_dequantize_max_abs | X Scales | Out
fake_channel_wise_quantize_abs_max: fake_channel_wise_quantize_abs_max | X | Out OutScale
fake_channel_wise_quantize_dequantize_abs_max: fake_channel_wise_quantize_dequantize_abs_max | X | Out OutScale
fake_dequantize_max_abs: fake_dequantize_max_abs | X Scale | Out
fake_quantize_abs_max: fake_quantize_abs_max | X | Out OutScale
fake_quantize_dequantize_abs_max: fake_quantize_dequantize_abs_max | X | Out OutScale
fake_quantize_dequantize_moving_average_abs_max: fake_quantize_dequantize_moving_average_abs_max |
  X InScale InAccum InState | Out OutScale OutState OutAccum
fake_quantize_moving_average_abs_max: fake_quantize_moving_average_abs_max | X InScale InAccum InState |
  Out OutScale OutState OutAccum
fake_quantize_range_abs_max: fake_quantize_range_abs_max | X InScale Iter | Out OutScale OutScales
fc: fc | Input W Bias | Out
flash_attn: flash_attn | Q K V Seed Mask | Out Softmax SoftmaxLse SeedOffset
flatten: flatten_contiguous_range | X | Out XShape
floor_divide: elementwise_floordiv | X Y | Out
fmax: elementwise_fmax | X Y | Out
fmin: elementwise_fmin | X Y | Out
fold: fold | X | Y
frobenius_norm: frobenius_norm | X Axis | Out | keepdim>keep_dim axis>dim
full: fill_constant |  | Out
full_batch_size_like: fill_constant_batch_size_like | Input | Out
full_int_array: assign_value |  | Out | value>values
full_like: fill_any_like | X ValueTensor | Out
full_with_tensor: fill_constant | ValueTensor ShapeTensor | Out
gather: gather | X Index Axis | Out
gather_nd: gather_nd | X Index | Out
gaussian: gaussian_random | ShapeTensor | Out
generate_proposals: generate_proposals_v2 | Scores BboxDeltas ImShape Anchors Variances |
  RpnRois RpnRoiProbs RpnRoisNum | pre_nms_top_n>pre_nms_topN post_nms_top_n>post_nms_topN
grad_add: elementwise_add | X Y | Out
grid_sample: grid_sampler | X Grid | Output
group_norm: group_norm | X Scale Bias | Y Mean Variance | data_format>data_layout
gru: gru | Input H0 Weight Bias | BatchGate BatchResetHiddenPrev BatchHidden Hidden
gru_unit: gru_unit | Input HiddenPrev Weight Bias | Gate ResetHiddenPrev Hidden
hardshrink: hard_shrink | X | Out
hardsigmoid: hard_sigmoid | X | Out
hardswish: hard_swish | X | Out
hardtanh: brelu | X | Out
heaviside: elementwise_heaviside | X Y | Out
if: if | Cond | Out*
increment: increment | X | Out | value>step
index_add: index_add | X Index AddValue | Out
index_put: index_put | x indices value | out
index_sample: index_sample | X Index | Out
index_select: index_select | X Index | Out | axis>dim
instance_norm: instance_norm | X Scale Bias | Y SavedMean SavedVariance
isfinite: isfinite_v2 | X | Out
isinf: isinf_v2 | X | Out
isnan: isnan_v2 | X | Out
kthvalue: kthvalue | X | Out Indices
layer_norm: layer_norm | X Scale Bias | Y Mean Variance
lerp: lerp | X Y Weight | Out
linear_interp: linear_interp_v2 | X OutSize SizeTensor Scale | Out | data_format>data_layout
linear_v2: fc | Input W Bias | Out | in_num_col_dims=-1
linspace: linspace | Start Stop Num | Out
lookup_table: lookup_table | W Ids | Out
lp_pool2d: lp_pool2d | X | Out | kernel_size>ksize
lrn: lrn | X | Out MidOut
lstm: lstm | Input H0 C0 Weight Bias | Hidden Cell BatchGate BatchCellPreAct
masked_fill: masked_fill | X Mask Value | Out
masked_select: masked_select | X Mask | Y
matmul: matmul_v2 | X Y | Out | transpose_x>trans_x transpose_y>trans_y
matmul_with_flatten: mul | X Y | Out
matrix_nms: matrix_nms | BBoxes Scores | Out Index RoisNum
max: reduce_max | X Axis | Out | axis>dim keepdim>keep_dim
max_pool2d_with_index: max_pool2d_with_index | X | Out Mask | kernel_size>ksize
max_pool3d_with_index: max_pool3d_with_index | X | Out Mask | kernel_size>ksize
maximum: elementwise_max | X Y | Out
mean: reduce_mean | X Axis | Out | axis>dim keepdim>keep_dim
mean_all: mean | X | Out
memcpy: share_data | X | Out
memcpy_d2h: share_data | X | Out
memcpy_h2d: share_data | X | Out
min: reduce_min | X Axis | Out | axis>dim keepdim>keep_dim
minimum: elementwise_min | X Y | Out
moving_average_abs_max_scale: moving_average_abs_max_scale | X InAccum InState | Out OutScale OutState OutAccum
multiclass_nms3: multiclass_nms3 | BBoxes Scores RoisNum | Out Index NmsRoisNum
multiplex: multiplex | X Ids | Out
multiply: elementwise_mul | X Y | Out
mv: mv | X Vec | Out
nearest_interp: nearest_interp_v2 | X OutSize SizeTensor Scale | Out | data_format>data_layout
nms: nms | Boxes | KeepBoxesIdxs | threshold>iou_threshold
nonzero: where_index | Condition | Out
norm: norm | X | Out Norm
numel: size | Input | Out
one_hot: one_hot_v2 | X depth_tensor | Out
ones: fill_constant |  | Out | value=1.0
ones_like: fill_any_like | X | Out | value=1.0
pad: pad | X PadValue | Out
pad3d: pad3d | X Paddings | Out | pad_value>value
pool2d: pool2d | X KernelSize | Out | kernel_size>ksize
pool3d: pool3d | X | Out | kernel_size>ksize
pow: pow | X | Out | y>factor
prelu: prelu | X Alpha | Out
print: print | In | Out
prior_box: prior_box | Input Image | Boxes Variances
prod: reduce_prod | X Axis | Out | axis>dim keepdim>keep_dim dims>dim
put_along_axis: put_along_axis | Input Index Value | Result | axis>Axis reduce>Reduce include_self>Include_self
quantize_linear: quantize_linear | X Scale ZeroPoint InAccum InState | Y OutState OutAccum OutScale
randint: randint | ShapeTensor | Out
range_v2: range | Start End Step | Out
remainder: elementwise_mod | X Y | Out
repeat_interleave: repeat_interleave | X | Out | repeats>Repeats axis>dim
reshape: reshape2 | X Shape | Out XShape
reverse: reverse | X AxisTensor | Out
rms_norm: rms_norm | X Scale | Y InvVar
rnn: rnn | Input PreState WeightList SequenceLength | Out DropoutState State Reserve
roi_align: roi_align | X ROIs RoisNum | Out
roi_pool: roi_pool | X ROIs RoisNum | Out Argmax
roll: roll | X ShiftsTensor | Out
row_conv: row_conv | X Filter | Out
scale: scale | X ScaleTensor | Out
scatter: scatter | X Ids Updates | Out
scatter_nd_add: scatter_nd_add | X Index Updates | Out
searchsorted: searchsorted | SortedSequence Values | Out
select_input: select_input | Mask X* | Out
sequence_mask: sequence_mask | X MaxLenTensor | Y | max_len>maxlen
set_value: set_value | Input StartsTensor EndsTensor StepsTensor | Out
set_value_with_tensor: set_value | Input ValueTensor StartsTensor EndsTensor StepsTensor | Out
shadow_feed: share_data | X | Out
shadow_output: share_data | X | Out
shape: shape | Input | Out
shape64: shape | Input | Out | is_long=True
slice: slice | Input StartsTensor EndsTensor | Out
softmax_: softmax | X | Out
spectral_norm: spectral_norm | Weight U V | Out
split: split | X SectionsTensor AxisTensor | Out
split_with_num: split | X AxisTensor | Out
squeeze: squeeze2 | X AxesTensor | Out XShape | axis>axes
stack: stack | X | Y
strided_slice: strided_slice | Input StartsTensor EndsTensor StridesTensor | Out
subtract: elementwise_sub | X Y | Out
sum: reduce_sum | X Axis | Out | axis>dim keepdim>keep_dim dtype>out_dtype
sync_batch_norm: batch_norm | X Mean Variance Scale Bias |
  Y MeanOut VarianceOut SavedMean SavedVariance ReserveSpace | data_format>data_layout
take_along_axis: take_along_axis | Input Index | Result | axis>Axis
tile: tile | X RepeatTimes | Out
topk: top_k_v2 | X K | Out Indices
trans_layout: transpose2 | X | Out | perm>axis
transpose: transpose2 | X | Out XShape | perm>axis
tril: tril_triu | X | Out | lower=True
tril_indices: tril_indices |  | Out
trilinear_interp: trilinear_interp_v2 | X OutSize SizeTensor Scale | Out | data_format>data_layout
triu: tril_triu | X | Out | lower=False
triu_indices: triu_indices |  | Out
unfold: unfold | X | Y
uniform: uniform_random | ShapeTensor Min Max | Out
unique: unique | X | Out Indices Index Counts
unpool: unpool | X Indices OutputSize | Out
unsqueeze: unsqueeze2 | X AxesTensor | Out XShape | axis>axes
unstack: unstack | X | Y
viterbi_decode: viterbi_decode | Input Transition Length | Scores Path
where: where | Condition X Y | Out
while: while | Condition X* | Out*
write_to_array: write_to_array | I X | Out
yolo_box: yolo_box | X ImgSize | Boxes Scores
zeros: fill_constant |  | Out | value=0.0
zeros_like: fill_any_like | X | Out | value=0.0
"""


def _signature(line: str) -> tuple[str, Signature]:
    head, inputs, outputs, *more = (one.strip() for one in line.split("|"))
    name, kind = head.split(": ")
    changes = more[0].split() if more else []
    renamed = dict(one.split(">") for one in changes if ">" in one)
    added = dict(one.split("=") for one in changes if "=" in one)
    values = {"True": True, "False": False}
    constant = {key: values[one] if one in values else float(one) for key, one in added.items()}
    return name, Signature(kind, tuple(inputs.split()), tuple(outputs.split()), renamed, constant)


SIGNATURES: dict[str, Signature] = {
    **{name: Signature(name, ("X",), ("Out",), {}, {}) for name in _UNARY.split()},
    **{name: Signature(name, ("X", "Y"), ("Out",), {}, {}) for name in _BINARY.split()},
    **dict(_signature(one) for one in _OTHERS.replace("|\n  ", "| ").strip().splitlines()),
}
