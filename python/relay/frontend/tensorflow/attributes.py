"""The attributes of operators, as TensorFlow 2.21 declares them.

An attribute that is not here is one of a newer version, whose meaning is not known: its node is refused. Those that
begin with an underscore are notes of TensorFlow's passes.
"""

from __future__ import annotations

from ..shared.listed import names_by_first

_TEXT = """
Abs: T
AccumulateNV2: N T shape
Acos: T
Acosh: T
Add: T
AddN: N T
AddV2: T
AdjustContrastv2: T
All: keep_dims Tidx
Angle: T Tout
Any: keep_dims Tidx
ApproximateEqual: T tolerance
ArgMax: T Tidx output_type
ArgMin: T Tidx output_type
Asin: T
Asinh: T
Assert: T summarize
AssignAddVariableOp: dtype
AssignSubVariableOp: dtype
AssignVariableOp: dtype validate_shape
Atan: T
Atan2: T
Atanh: T
AvgPool: ksize strides padding data_format T
AvgPool3D: ksize strides padding data_format T
BatchMatMul: T adj_x adj_y grad_x grad_y
BatchMatMulV2: T adj_x adj_y grad_x grad_y
BatchMatMulV3: Ta Tb Tout adj_x adj_y grad_x grad_y
BatchNormWithGlobalNormalization: T variance_epsilon scale_after_normalization
BatchToSpace: T block_size Tidx
BatchToSpaceND: T Tblock_shape Tcrops
BiasAdd: T data_format
BiasAddV1: T
Bincount: T
Bitcast: T type
BitwiseAnd: T
BitwiseOr: T
BitwiseXor: T
BlockLSTM: forget_bias cell_clip use_peephole T
BlockLSTMV2: cell_clip use_peephole T
BroadcastArgs: T
BroadcastTo: T Tidx
Bucketize: T boundaries
Case: Tin Tout branches output_shapes
Cast: SrcT DstT Truncate
Ceil: T
CheckNumerics: T message
CheckNumericsV2: T message
ClipByValue: T
CombinedNonMaxSuppression: pad_per_class clip_boxes
Complex: T Tout
ComplexAbs: T Tout
Concat: N T
ConcatV2: N T Tidx
Conj: T
Const: value dtype
ControlTrigger:
Conv2D: T strides use_cudnn_on_gpu padding explicit_paddings data_format dilations
Conv2DBackpropInput: T strides use_cudnn_on_gpu padding explicit_paddings data_format dilations
Conv3D: T strides padding data_format dilations
Conv3DBackpropInputV2: T strides padding data_format dilations Tshape
Cos: T
Cosh: T
CropAndResize: T method extrapolation_value
Cumprod: exclusive reverse T Tidx
Cumsum: exclusive reverse T Tidx
CumulativeLogsumexp: exclusive reverse T Tidx
DebugIdentity: T device_name tensor_name debug_urls gated_grpc
DebugIdentityV2: T tfdbg_context_id op_name output_slot tensor_debug_mode debug_urls circular_buffer_size tfdbg_run_id
DecodeImage: channels dtype expand_animations
DecodeJpeg: channels ratio fancy_upscaling try_recover_truncated acceptable_fraction dct_method
DecodePng: channels dtype
DeepCopy: T
DenseBincount: Tidx T binary_output
DepthToSpace: T block_size data_format
DepthwiseConv2dNative: T strides padding explicit_paddings data_format dilations
Dequantize: T mode narrow_range axis dtype
Diag: T
DiagPart: T
Dilation2D: T strides rates padding
Div: T
DivNoNan: T
DynamicStitch: N T
Einsum: equation N T
Elu: T
Empty: dtype init
EmptyTensorList: element_dtype shape_type
EnsureShape: shape T
Equal: T incompatible_shape_error
Erf: T
Erfc: T
EuclideanNorm: keep_dims T Tidx
Exp: T
ExpandDims: T Tdim
Expm1: T
ExtractImagePatches: ksizes strides rates T padding
FFT: Tcomplex
FFT2D: Tcomplex
FFT3D: Tcomplex
FakeQuantWithMinMaxArgs: min max num_bits narrow_range
FakeQuantWithMinMaxVars: num_bits narrow_range
FakeQuantWithMinMaxVarsPerChannel: num_bits narrow_range
Fill: T index_type
Floor: T
FloorDiv: T
FloorMod: T
FusedBatchNorm: T epsilon exponential_avg_factor data_format is_training
FusedBatchNormV2: T U epsilon exponential_avg_factor data_format is_training
FusedBatchNormV3: T U epsilon exponential_avg_factor data_format is_training
GRUBlockCell: T
Gather: validate_indices Tparams Tindices
GatherNd: Tparams Tindices bad_indices_policy
GatherV2: batch_dims Tparams Tindices Taxis
Greater: T
GreaterEqual: T
GuaranteeConst: T
HashTable: container shared_name use_node_name_sharing key_dtype value_dtype
HashTableV2: container shared_name use_node_name_sharing key_dtype value_dtype
IFFT: Tcomplex
IFFT2D: Tcomplex
IFFT3D: Tcomplex
IRFFT: Treal Tcomplex
IRFFT2D: Treal Tcomplex
Identity: T
IdentityN: T
If: Tcond Tin Tout then_branch else_branch output_shapes
Imag: T Tout
InTopK: k T
InTopKV2: T
Inv: T
Invert: T
InvertPermutation: T
IsFinite: T
IsInf: T
IsNan: T
L2Loss: T
LRN: depth_radius bias alpha beta T
LSTMBlockCell: forget_bias cell_clip use_peephole T
LeakyRelu: alpha T
LeftShift: T
Less: T
LessEqual: T
LinSpace: T Tidx
ListDiff: T out_idx
Log: T
Log1p: T
LogSoftmax: T
LogicalAnd:
LogicalNot:
LogicalOr:
LookupTableFind: Tin Tout
LookupTableFindV2: Tin Tout
LookupTableSize:
LookupTableSizeV2:
LowerBound: T out_type
MatMul: transpose_a transpose_b T grad_a grad_b
MatrixBandPart: T Tindex
MatrixDiag: T
MatrixDiagPart: T
MatrixDiagPartV2: T
MatrixDiagPartV3: T align
MatrixDiagV2: T
MatrixDiagV3: T align
MatrixSetDiag: T
MatrixSetDiagV2: T
MatrixSetDiagV3: T align
Max: keep_dims T Tidx
MaxPool: T ksize strides padding explicit_paddings data_format
MaxPool3D: ksize strides padding data_format T
MaxPoolV2: T padding data_format
MaxPoolWithArgmax: ksize strides Targmax padding include_batch_in_index T
Maximum: T
Mean: keep_dims T Tidx
Min: keep_dims T Tidx
Minimum: T
MirrorPad: T Tpaddings mode
Mod: T
Mul: T
MulNoNan: T
Neg: T
NoOp:
NonMaxSuppression: iou_threshold
NonMaxSuppressionV2: T T_threshold
NonMaxSuppressionV3: T T_threshold
NonMaxSuppressionV4: T T_threshold pad_to_max_output_size
NonMaxSuppressionV5: T pad_to_max_output_size
NotEqual: T incompatible_shape_error
NthElement: reverse T
OneHot: axis T TI
OnesLike: T
Pack: N T axis
Pad: T Tpaddings
PadV2: T Tpaddings
ParallelConcat: N T shape
ParallelDynamicStitch: N T
PartitionedCall: Tin Tout f config config_proto executor_type
Placeholder: dtype shape
PlaceholderV2: dtype shape
PlaceholderWithDefault: dtype shape
Pow: T
PreventGradient: T message
Print: T U message first_n summarize
Prod: keep_dims T Tidx
QuantizeAndDequantizeV2: signed_input num_bits range_given T round_mode narrow_range axis
QuantizeAndDequantizeV3: signed_input range_given T narrow_range axis
QuantizeAndDequantizeV4: signed_input num_bits range_given T round_mode narrow_range axis
QuantizeDownAndShrinkRange: Tinput out_type
QuantizeV2: T mode round_mode narrow_range axis ensure_minimum_range
QuantizedAdd: T1 T2 Toutput
QuantizedAvgPool: T ksize strides padding
QuantizedBiasAdd: T1 T2 out_type
QuantizedConcat: N T
QuantizedConv2D: Tinput Tfilter out_type strides padding dilations
QuantizedMatMul: T1 T2 Toutput transpose_a transpose_b Tactivation
QuantizedMaxPool: T ksize strides padding
QuantizedMul: T1 T2 Toutput
QuantizedRelu: Tinput out_type
QuantizedRelu6: Tinput out_type
QuantizedReshape: T Tshape
RFFT: Treal Tcomplex
RFFT2D: Treal Tcomplex
RandomStandardNormal: seed seed2 dtype T
RandomUniform: seed seed2 dtype T
RandomUniformInt: seed seed2 Tout T
Range: Tidx
Rank: T
ReadVariableOp: dtype
Real: T Tout
RealDiv: T
Reciprocal: T
RefIdentity: T
Relu: T
Relu6: T
RequantizationRange: Tinput
Requantize: Tinput out_type
Reshape: T Tshape
ResizeBicubic: T align_corners half_pixel_centers
ResizeBilinear: T align_corners half_pixel_centers
ResizeNearestNeighbor: T align_corners half_pixel_centers
ResourceGather: batch_dims validate_indices dtype Tindices
ResourceGatherNd: dtype Tindices
ReverseSequence: seq_dim batch_dim T Tlen
ReverseV2: Tidx T
RightShift: T
Rint: T
Roll: T Tshift Taxis
Round: T
Rsqrt: T
ScatterNd: T Tindices bad_indices_policy
ScatterNdNonAliasingAdd: T Tindices bad_indices_policy
SegmentMax: T Tindices
SegmentMean: T Tindices
SegmentMin: T Tindices
SegmentProd: T Tindices
SegmentSum: T Tindices
Select: T
SelectV2: T
Selu: T
Shape: T out_type
ShapeN: N T out_type
Sigmoid: T
Sign: T
Sin: T
Sinh: T
Size: T out_type
Slice: T Index
Snapshot: T
Softmax: T
Softplus: T
Softsign: T
SpaceToBatch: T Tpaddings block_size
SpaceToBatchND: T Tblock_shape Tpaddings
SpaceToDepth: T block_size data_format
SparseFillEmptyRows: T
SparseMatMul: transpose_a transpose_b a_is_sparse b_is_sparse Ta Tb
SparseReshape:
SparseSegmentMean: T Tidx Tsegmentids sparse_gradient
SparseSegmentMeanWithNumSegments: T Tidx Tnumsegments Tsegmentids sparse_gradient
SparseSegmentSqrtN: T Tidx Tsegmentids sparse_gradient
SparseSegmentSqrtNWithNumSegments: T Tidx Tnumsegments Tsegmentids sparse_gradient
SparseSegmentSum: T Tidx Tsegmentids sparse_gradient
SparseSegmentSumWithNumSegments: T Tidx Tnumsegments Tsegmentids sparse_gradient
SparseTensorDenseAdd: T Tindices
SparseTensorDenseMatMul: T Tindices adjoint_a adjoint_b
SparseToDense: validate_indices T Tindices
Split: num_split T
SplitV: num_split T Tlen
Sqrt: T
Square: T
SquaredDifference: T
Squeeze: T squeeze_dims
StatefulPartitionedCall: Tin Tout f config config_proto executor_type
StatelessCase: Tin Tout branches output_shapes
StatelessIf: Tcond Tin Tout then_branch else_branch output_shapes
StatelessWhile: T cond body output_shapes parallel_iterations
StopGradient: T
StridedSlice: T Index begin_mask end_mask ellipsis_mask new_axis_mask shrink_axis_mask
Sub: T
Sum: keep_dims T Tidx
Tan: T
Tanh: T
TensorArrayCloseV3:
TensorArrayConcatV3: dtype element_shape_except0
TensorArrayGatherV3: dtype element_shape
TensorArrayReadV3: dtype
TensorArrayScatterV3: T
TensorArraySizeV3:
TensorArraySplitV3: T
TensorArrayV3: dtype element_shape dynamic_size clear_after_read identical_element_shapes tensor_array_name
TensorArrayWriteV3: T
TensorListConcat: element_dtype element_shape
TensorListConcatLists: element_dtype
TensorListConcatV2: element_dtype shape_type
TensorListElementShape: shape_type
TensorListFromTensor: element_dtype shape_type
TensorListGather: element_dtype
TensorListGetItem: element_dtype Tshape
TensorListLength:
TensorListPopBack: element_dtype
TensorListPushBack: element_dtype
TensorListReserve: element_dtype shape_type
TensorListResize:
TensorListScatter: element_dtype shape_type
TensorListScatterV2: element_dtype shape_type
TensorListSetItem: element_dtype resize_if_index_out_of_bounds
TensorListSplit: element_dtype shape_type
TensorListStack: element_dtype num_elements
TensorScatterAdd: T Tindices bad_indices_policy
TensorScatterMax: T Tindices bad_indices_policy
TensorScatterMin: T Tindices bad_indices_policy
TensorScatterSub: T Tindices bad_indices_policy
TensorScatterUpdate: T Tindices bad_indices_policy
Tile: T Tmultiples
TopK: k sorted T
TopKV2: sorted T Tk index_type
Transpose: T Tperm
TruncateDiv: T
TruncateMod: T
Unique: T out_idx
UniqueV2: T Taxis out_idx
UniqueWithCounts: T out_idx
UniqueWithCountsV2: T Taxis out_idx
Unpack: num T axis
UnravelIndex: Tidx
UnsortedSegmentMax: T Tindices Tnumsegments
UnsortedSegmentMin: T Tindices Tnumsegments
UnsortedSegmentProd: T Tindices Tnumsegments
UnsortedSegmentSum: T Tindices Tnumsegments
UpperBound: T out_type
VarHandleOp: container shared_name debug_name dtype shape allowed_devices
Variable: shape dtype container shared_name
VariableV2: shape dtype container shared_name
Where: T
While: T cond body output_shapes parallel_iterations
Xdivy: T
Xlog1py: T
Xlogy: T
ZerosLike: T
_FusedBatchNormEx: T U epsilon exponential_avg_factor num_side_inputs activation_mode data_format is_training
_FusedConv2D: T TArgs num_args num_host_args strides padding explicit_paddings data_format filter_format dilations
    use_cudnn_on_gpu fused_ops epsilon leakyrelu_alpha
_FusedDepthwiseConv2dNative: T num_args strides padding data_format dilations fused_ops epsilon leakyrelu_alpha
_FusedMatMul: transpose_a transpose_b T num_args fused_ops epsilon leakyrelu_alpha
"""


ATTRIBUTES = names_by_first(_TEXT)


def unknown(op: str, attributes) -> list[str]:
    """Returns the attributes of a node that its operator does not have."""
    known = ATTRIBUTES.get(op)
    return [] if known is None else [one for one in attributes if one not in known and not one.startswith("_")]
