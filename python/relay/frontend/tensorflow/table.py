"""The operators that are imported, and their converters. One line or entry for each name."""

from __future__ import annotations

from ... import op
from . import (
    cells,
    complexes,
    control,
    draws,
    elementwise,
    image,
    index,
    linear,
    lists,
    norm,
    quantized,
    reduce,
    sources,
    sparse,
    tables,
    windows,
)
from . import shape as shapes

_UNARY = {
    "Abs": op.abs, "Acos": op.acos, "Acosh": op.acosh, "Asin": op.asin, "Asinh": op.asinh, "Atan": op.atan,
    "Atanh": op.atanh, "Ceil": op.ceil, "Cos": op.cos, "Cosh": op.cosh, "Erf": op.erf, "Erfc": op.erfc, "Exp": op.exp,
    "Expm1": op.expm1, "Floor": op.floor, "IsFinite": op.isfinite, "IsInf": op.isinf, "IsNan": op.isnan,
    "Log": op.log, "Log1p": op.log1p, "Neg": op.negative, "Relu": elementwise.relu, "Relu6": elementwise.relu6,
    "Rint": op.round, "Round": op.round, "Rsqrt": op.rsqrt, "Sigmoid": op.sigmoid, "Sign": op.sign, "Sin": op.sin,
    "Sinh": op.sinh, "Softplus": elementwise.softplus, "Softsign": elementwise.softsign, "Sqrt": op.sqrt,
    "Tan": op.tan, "Tanh": op.tanh,
}  # fmt: skip
_BINARY = {
    "Add": op.add, "AddV2": op.add, "Sub": op.subtract, "Mul": op.multiply, "Maximum": op.maximum,
    "Minimum": op.minimum, "FloorMod": op.floor_mod, "Mod": op.trunc_mod, "TruncateMod": op.trunc_mod,
    "TruncateDiv": op.trunc_divide, "Equal": op.equal, "NotEqual": op.not_equal, "Greater": op.greater,
    "GreaterEqual": op.greater_equal, "Less": op.less, "LessEqual": op.less_equal, "BitwiseAnd": op.bitwise_and,
    "BitwiseOr": op.bitwise_or, "BitwiseXor": op.bitwise_xor,
}  # fmt: skip
_SAME = dict.fromkeys(
    ("Identity", "StopGradient", "PreventGradient", "CheckNumerics", "CheckNumericsV2", "Snapshot", "DebugIdentity",
     "GuaranteeConst", "DebugIdentityV2", "PlaceholderWithDefault", "DeepCopy", "RefIdentity"),
    elementwise.same,
)  # fmt: skip
_NOTHING = dict.fromkeys(("NoOp", "Assert", "Print", "ControlTrigger"), shapes.nothing)
_NOTHING["Print"] = elementwise.same
# Operators that change variables: those that are imported, and the others.
STATES = {
    "AssignVariableOp": sources.assign(), "AssignAddVariableOp": sources.assign(op.add),
    "AssignSubVariableOp": sources.assign(op.subtract),
}  # fmt: skip
ASSIGNS = (
    "Assign", "AssignAdd", "AssignSub", "ResourceScatterAdd", "ResourceScatterUpdate", "ResourceScatterNdAdd",
    "ResourceScatterNdUpdate", "ScatterUpdate", "ScatterAdd",
)  # fmt: skip
_ELEMENTS = {
    **{name: elementwise.unary(one) for name, one in _UNARY.items()},
    **{name: elementwise.binary(one) for name, one in _BINARY.items()},
    **{name: complexes.or_complex(name, elementwise.binary(_BINARY[name])) for name in ("Add", "AddV2", "Sub", "Mul")},
    "AddN": elementwise.add_n, "AccumulateNV2": elementwise.add_n, "RealDiv": elementwise.real_divide,
    "Div": elementwise.divide, "FloorDiv": elementwise.floor_divide, "DivNoNan": elementwise.no_nan(op.divide),
    "MulNoNan": elementwise.mul_no_nan, "Xdivy": elementwise.xdivy, "Xlogy": elementwise.zero_if_first(op.log),
    "Xlog1py": elementwise.zero_if_first(op.log1p), "Square": elementwise.square,
    "SquaredDifference": elementwise.squared_difference, "Reciprocal": elementwise.reciprocal,
    "Inv": elementwise.reciprocal, "Pow": elementwise.power, "Atan2": elementwise.atan2,
    "ApproximateEqual": elementwise.approximate_equal, "Elu": elementwise.elu, "Selu": elementwise.selu,
    "LeakyRelu": elementwise.leaky_relu, "ClipByValue": elementwise.clip_by_value, "Cast": complexes.to_type,
    "Bitcast": elementwise.bitcast, "ZerosLike": elementwise.filled_like(0), "OnesLike": elementwise.filled_like(1),
    "Select": elementwise.select, "SelectV2": elementwise.select, "BiasAdd": elementwise.bias_add,
    "BiasAddV1": elementwise.bias_add, "L2Loss": elementwise.l2_loss, "Softmax": elementwise.softmax,
    "LogSoftmax": elementwise.log_softmax, "LeftShift": elementwise.shifted(op.left_shift),
    "RightShift": elementwise.shifted(op.right_shift), "Invert": elementwise.invert,
    "LogicalAnd": elementwise.logical(op.logical_and), "LogicalOr": elementwise.logical(op.logical_or),
    "LogicalNot": elementwise.logical(op.logical_not), "FakeQuantWithMinMaxArgs": elementwise.fake_quant_args,
    "FakeQuantWithMinMaxVars": elementwise.fake_quant_vars,
    "FakeQuantWithMinMaxVarsPerChannel": elementwise.fake_quant_vars,
    **dict.fromkeys(("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3", "QuantizeAndDequantizeV4"),
                    elementwise.quantised_and_back),
}  # fmt: skip
_REDUCTIONS = {
    "Sum": reduce.reduction(op.sum), "Mean": reduce.reduction(reduce.mean_of), "Prod": reduce.reduction(op.prod),
    "Max": reduce.reduction(op.max), "Min": reduce.reduction(op.min), "All": reduce.reduction(op.all, in_bools=True),
    "Any": reduce.reduction(op.any, in_bools=True), "EuclideanNorm": reduce.reduction(reduce.euclidean_norm),
    "ArgMax": reduce.arg_reduction(op.argmax), "ArgMin": reduce.arg_reduction(op.argmin),
    "Cumsum": reduce.cumulative(op.cumsum), "Cumprod": reduce.cumulative(op.cumprod),
    "CumulativeLogsumexp": reduce.log_cumulative, "Bincount": reduce.bincount, "DenseBincount": reduce.dense_bincount,
    **{f"Segment{one}": reduce.segment(one) for one in ("Sum", "Prod", "Max", "Min", "Mean")},
    **{f"UnsortedSegment{one}": reduce.unsorted_segment(one) for one in ("Sum", "Prod", "Max", "Min")},
    **{f"SparseSegment{one}{tail}": reduce.sparse_segment(one, bool(tail)) for one in ("Sum", "Mean", "SqrtN") for tail
       in ("", "WithNumSegments")},
}  # fmt: skip
_LAYERS = {
    "Conv2D": windows.convolution(2), "Conv3D": windows.convolution(3), "DepthwiseConv2dNative": windows.depthwise,
    "Conv2DBackpropInput": windows.transposed(2), "Conv3DBackpropInputV2": windows.transposed(3),
    "_FusedConv2D": windows.fused_convolution, "_FusedDepthwiseConv2dNative": windows.fused_convolution,
    "MaxPool": windows.pool("max", 2), "MaxPoolV2": windows.max_pool_v2, "MaxPool3D": windows.pool("max", 3),
    "AvgPool": windows.pool("avg", 2), "AvgPool3D": windows.pool("avg", 3),
    "MaxPoolWithArgmax": windows.max_pool_with_argmax, "Dilation2D": windows.dilation2d,
    **dict.fromkeys(("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", "_FusedBatchNormEx"),
                    norm.fused_batch_norm),
    "BatchNormWithGlobalNormalization": norm.global_batch_norm, "LRN": norm.lrn,
    "MatMul": linear.matmul, "SparseMatMul": linear.matmul, "_FusedMatMul": linear.matmul,
    "BatchMatMul": linear.batch_matmul, "BatchMatMulV2": linear.batch_matmul, "BatchMatMulV3": linear.batch_matmul,
    "Einsum": linear.einsum, "LSTMBlockCell": cells.lstm_block_cell, "BlockLSTM": cells.block_lstm,
    "BlockLSTMV2": cells.block_lstm, "GRUBlockCell": cells.gru_block_cell,
}  # fmt: skip
_SHAPES = {
    "Shape": shapes.shape, "ShapeN": shapes.shape_n, "Size": shapes.size, "Rank": shapes.size,
    "Reshape": shapes.reshape, "Transpose": shapes.transpose, "ExpandDims": shapes.expand_dims,
    "Squeeze": shapes.squeeze, "Pack": shapes.pack, "ParallelConcat": shapes.parallel_concat, "Empty": shapes.empty,
    "Unpack": shapes.unpack, "Concat": shapes.concat,
    "ConcatV2": shapes.concat, "Split": shapes.split, "SplitV": shapes.split_v,
    "StridedSlice": shapes.strided_slice, "Slice": shapes.slice_, "Tile": shapes.tile, "Fill": shapes.fill,
    "BroadcastTo": shapes.broadcast_to, "BroadcastArgs": shapes.broadcast_args, "EnsureShape": shapes.ensure_shape,
    "Pad": shapes.pad, "PadV2": shapes.pad, "MirrorPad": shapes.pad, "Range": shapes.range_,
    "LinSpace": shapes.lin_space, "ReverseV2": shapes.reverse, "ReverseSequence": shapes.reverse_sequence,
    "Roll": shapes.roll, "DepthToSpace": shapes.depth_to_space, "SpaceToDepth": shapes.space_to_depth,
    "SpaceToBatchND": shapes.space_to_batch, "SpaceToBatch": shapes.space_to_batch,
    "BatchToSpaceND": shapes.batch_to_space, "BatchToSpace": shapes.batch_to_space,
    "UnravelIndex": shapes.unravel_index, "InvertPermutation": shapes.invert_permutation,
    "IdentityN": shapes.identity_n,
}  # fmt: skip
_INDICES = {
    "Gather": index.gather, "GatherV2": index.gather, "GatherNd": index.gather_nd, "ScatterNd": index.scatter_nd,
    "TensorScatterUpdate": index.tensor_scatter("update"), "TensorScatterAdd": index.tensor_scatter("add"),
    "TensorScatterSub": index.tensor_scatter("sub"), "TensorScatterMax": index.tensor_scatter("max"),
    "TensorScatterMin": index.tensor_scatter("min"), "OneHot": index.one_hot, "TopK": index.top_k,
    "TopKV2": index.top_k, "InTopK": index.in_top_k, "InTopKV2": index.in_top_k, "Where": index.where,
    **dict.fromkeys(("Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2"), index.unique),
    **dict.fromkeys(("MatrixDiag", "MatrixDiagV2", "MatrixDiagV3"), index.matrix_diag),
    **dict.fromkeys(("MatrixDiagPart", "MatrixDiagPartV2", "MatrixDiagPartV3"), index.matrix_diag_part),
    **dict.fromkeys(("MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3"), index.matrix_set_diag),
    "MatrixBandPart": index.matrix_band_part, "Diag": index.diag, "DiagPart": index.diag_part,
    "LowerBound": index.bounds(False), "UpperBound": index.bounds(True), "Bucketize": index.bucketize,
    "ListDiff": index.list_diff, "DynamicStitch": index.stitch, "ParallelDynamicStitch": index.stitch,
    "ScatterNdNonAliasingAdd": index.tensor_scatter("add"), "NthElement": index.nth_element,
    "SparseToDense": sparse.to_dense, "SparseTensorDenseAdd": sparse.add_dense,
    "SparseTensorDenseMatMul": sparse.matmul, "SparseReshape": sparse.reshape,
    "SparseFillEmptyRows": sparse.fill_empty_rows,
}  # fmt: skip
_IMAGES = {
    "ResizeBilinear": image.resize("linear"), "ResizeNearestNeighbor": image.resize("nearest_neighbor"),
    "ResizeBicubic": image.resize("cubic"), "CropAndResize": image.crop_and_resize,
    "ExtractImagePatches": image.extract_patches, "AdjustContrastv2": image.adjust_contrast,
    "NonMaxSuppression": image.non_max_suppression(None),
    "NonMaxSuppressionV2": image.non_max_suppression(None), "NonMaxSuppressionV3": image.non_max_suppression(4),
    "NonMaxSuppressionV4": image.non_max_suppression_v4, "NonMaxSuppressionV5": image.non_max_suppression_v5,
    "CombinedNonMaxSuppression": image.combined_non_max_suppression,
    **dict.fromkeys(("DecodeBmp", "DecodeImage", "DecodeJpeg", "DecodePng"), image.decoded),
}  # fmt: skip
_COMPLEX = {
    "Complex": complexes.of_parts, "Real": complexes.part(0), "Imag": complexes.part(1),
    "ComplexAbs": complexes.absolute, "Angle": complexes.angle, "Conj": complexes.conjugate,
    **{f"{'I' if inverse else ''}FFT{tail}": complexes.transform(axes, inverse)
       for inverse in (False, True) for axes, tail in ((1, ""), (2, "2D"), (3, "3D"))},
    "RFFT": complexes.of_real(1), "RFFT2D": complexes.of_real(2), "IRFFT": complexes.to_real(1),
    "IRFFT2D": complexes.to_real(2),
}  # fmt: skip
_CONTROL = {
    "PartitionedCall": control.call, "StatefulPartitionedCall": control.call, "If": control.if_,
    "StatelessIf": control.if_, "Case": control.case, "StatelessCase": control.case, "While": control.while_,
    "StatelessWhile": control.while_, "TensorListReserve": lists.reserve, "EmptyTensorList": lists.empty,
    "TensorListFromTensor": lists.from_tensor, "TensorListGetItem": lists.get_item,
    "TensorListSetItem": lists.set_item, "TensorListPushBack": lists.push_back, "TensorListPopBack": lists.pop_back,
    "TensorListStack": lists.list_stack, "TensorListLength": lists.list_length,
    "TensorListGather": lists.list_gather, "TensorListScatter": lists.list_scatter,
    "TensorListScatterV2": lists.list_scatter, "TensorListConcat": lists.list_concat,
    "TensorListConcatV2": lists.list_concat, "TensorListConcatLists": lists.list_concat_lists,
    "TensorListSplit": lists.list_split, "TensorListResize": lists.list_resize,
    "TensorListElementShape": lists.list_element_shape, "TensorArrayV3": lists.array,
    "TensorArrayWriteV3": lists.array_write, "TensorArrayReadV3": lists.array_read,
    "TensorArrayGatherV3": lists.array_gather, "TensorArrayScatterV3": lists.array_scatter,
    "TensorArraySizeV3": lists.array_size, "TensorArrayConcatV3": lists.array_concat,
    "TensorArraySplitV3": lists.array_split, "TensorArrayCloseV3": shapes.nothing,
}  # fmt: skip
_SOURCES = {
    "Const": sources.const, "VarHandleOp": sources.handle, "ReadVariableOp": sources.read,
    "ResourceGather": sources.gather, "ResourceGatherNd": sources.gather_nd,
    "VariableV2": sources.variable, "Variable": sources.variable,
    "RandomUniform": draws.uniform, "RandomStandardNormal": draws.normal, "RandomUniformInt": draws.uniform_integers,
    "Placeholder": sources.placeholder, "PlaceholderV2": sources.placeholder,
}  # fmt: skip

CONVERTERS = {
    **_SAME, **_NOTHING, **_ELEMENTS, **_REDUCTIONS, **_LAYERS, **_SHAPES, **_INDICES, **_IMAGES,
    **_COMPLEX, **_CONTROL, **_SOURCES, **STATES, **quantized.CONVERTERS, **tables.CONVERTERS,
}  # fmt: skip

_STRINGS = ("it works on texts", "compute it before the model, and pass numbers")
_TABLES = ("it looks keys up in a table", "look them up before the model, and pass their numbers")
_PICTURES = ("it reads the bytes of a picture", "read the picture before the model, and pass its pixels")
_RANDOM = ("it makes random numbers", "save the model for inference: training=False")
_TRAINS = ("it is a part of training", "save the model for inference, or name the outputs that you need: outputs=[...]")
_DATA = ("it reads data", "name the outputs that you need, and pass the data as inputs")
_WAYS_OUT = (
    (("Decode", "Encode"), _PICTURES), (("String", "AsString", "Regex", "Unicode", "StaticRegex"), _STRINGS),
    (("LookupTable", "HashTable", "MutableHashTable", "InitializeTable"), _TABLES),
    (("Random", "StatelessRandom", "Multinomial", "TruncatedNormal", "ParameterizedTruncatedNormal"), _RANDOM),
    (("Apply", "ResourceApply", "SparseApply", "Save", "Restore", "Merge", "ScalarSummary", "HistogramSummary",
      "BroadcastGradientArgs"), _TRAINS),
    (ASSIGNS, ("it changes a variable in a form that is not imported", sources.FOR_INFERENCE)),
    (("Iterator", "Queue", "Reader", "Parse"), _DATA),
)  # fmt: skip


def way_out(name: str) -> tuple[str, str] | None:
    """Returns (reason, remedy) for an operator that will not be imported, by the beginning of its name."""
    if name.endswith(("Grad", "GradV2", "BackpropFilter", "BackpropFilterV2")):
        return _TRAINS
    return next((about for starts, about in _WAYS_OUT if name.startswith(starts)), None)
