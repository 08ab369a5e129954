"""The names of results, in order, of operators that have several. Bodies of functions refer to results by name."""

_BATCH_NORM = ("y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2")
_LSTM = ("i", "cs", "f", "o", "ci", "co", "h")
_SPARSE = ("output_indices", "output_values", "output_shape")

OUTPUTS = {
    "Switch": ("output_false", "output_true"), "RefSwitch": ("output_false", "output_true"),
    "Merge": ("output", "value_index"), "RefMerge": ("output", "value_index"),
    "FusedBatchNorm": _BATCH_NORM, "FusedBatchNormV2": _BATCH_NORM,
    "FusedBatchNormV3": (*_BATCH_NORM, "reserve_space_3"), "_FusedBatchNormEx": (*_BATCH_NORM, "reserve_space_3"),
    "TopK": ("values", "indices"), "TopKV2": ("values", "indices"), "ApproxTopK": ("values", "indices"),
    "Unique": ("y", "idx"), "UniqueV2": ("y", "idx"), "UniqueWithCounts": ("y", "idx", "count"),
    "UniqueWithCountsV2": ("y", "idx", "count"), "ListDiff": ("out", "idx"),
    "MaxPoolWithArgmax": ("output", "argmax"), "LSTMBlockCell": _LSTM, "BlockLSTM": _LSTM, "BlockLSTMV2": _LSTM,
    "GRUBlockCell": ("r", "u", "c", "h"), "TensorArrayV3": ("handle", "flow"), "TensorArrayV2": ("handle",),
    "TensorArrayConcatV3": ("value", "lengths"), "TensorListPopBack": ("output_handle", "tensor"),
    "TensorListConcat": ("tensor", "lengths"), "TensorListConcatV2": ("tensor", "lengths"),
    "NonMaxSuppressionV4": ("selected_indices", "valid_outputs"),
    "NonMaxSuppressionV5": ("selected_indices", "selected_scores", "valid_outputs"),
    "CombinedNonMaxSuppression": ("nmsed_boxes", "nmsed_scores", "nmsed_classes", "valid_detections"),
    "SparseFillEmptyRows": ("output_indices", "output_values", "empty_row_indicator", "reverse_index_map"),
    "SparseReshape": ("output_indices", "output_shape"), "SparseReorder": ("output_indices", "output_values"),
    "SparseSlice": _SPARSE, "SparseConcat": _SPARSE, "Svd": ("s", "u", "v"), "Qr": ("q", "r"), "Lu": ("lu", "p"),
    "SelfAdjointEigV2": ("e", "v"), "LogMatrixDeterminant": ("sign", "log_abs_determinant"),
    "SoftmaxCrossEntropyWithLogits": ("loss", "backprop"), "CTCGreedyDecoder": ("decoded_indices", "decoded_values",
    "decoded_shape", "log_probability"), "SparseSoftmaxCrossEntropyWithLogits": ("loss", "backprop"),
    "StatelessRandomGetKeyCounter": ("key", "counter"), "RaggedRange": ("rt_nested_splits", "rt_dense_values"),
    "QuantizeV2": ("output", "output_min", "output_max"), "Requantize": ("output", "output_min", "output_max"),
    "LookupTableExportV2": ("keys", "values"), "DecodeWav": ("audio", "sample_rate"),
}  # fmt: skip
