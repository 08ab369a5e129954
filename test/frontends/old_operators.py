"""The operators that the importers of TVM 0.18 had converters for, by front end, under the names of the formats."""

_LISTS = {
    "caffe": """
BatchNorm Concat Convolution Crop Deconvolution Dropout Eltwise Embed Flatten InnerProduct Input LRN PReLU
Permute Pooling Power ReLU Reduction Reshape Scale Sigmoid Slice Softmax TanH
""",
    "caffe2": """
Add AveragePool Concat Conv ConvTranspose Dropout FC MaxPool Mul NormalizePlanarYUV Relu ResizeNearest Sigmoid
Softmax SpatialBN Sum
""",
    "darknet": """
ACTIVE AVGPOOL BATCHNORM BLANK CONNECTED CONVOLUTIONAL COST CRNN CROP DECONVOLUTIONAL DETECTION DROPOUT GRU
L2NORM LOCAL LSTM MAXPOOL NETWORK NORMALIZATION REGION REORG RNN ROUTE SHORTCUT SOFTMAX UPSAMPLE XNOR YOLO
""",
    "keras": """
Activation Add AlphaDropout Average AveragePooling2D AveragePooling3D BatchNormalization BatchNormalizationV1
Concatenate Conv1D Conv2D Conv2DTranspose Conv3D Conv3DTranspose Cropping2D Dense DepthwiseConv2D Dot Dropout
ELU Embedding Flatten GRU GaussianDropout GaussianNoise GlobalAveragePooling2D GlobalAveragePooling3D
GlobalMaxPooling2D GlobalMaxPooling3D InputLayer LSTM Lambda LeakyReLU MaxPooling2D MaxPooling3D Maximum Minimum
Multiply PReLU Permute ReLU RepeatVector Reshape SeparableConv2D SimpleRNN Softmax SpatialDropout1D
SpatialDropout2D Subtract ThresholdedReLU TimeDistributed UpSampling2D UpSampling3D ZeroPadding2D ZeroPadding3D
""",
    "mxnet": """
Activation BatchNorm BatchNorm_v1 BilinearSampler BlockGrad Cast Concat Convolution Convolution_v1 Correlation
Crop Deconvolution Dropout Embedding Flatten FullyConnected GridGenerator GroupNorm InstanceNorm L2Normalization
LRN LayerNorm LeakyReLU LinearRegressionOutput LogisticRegressionOutput Pad Pooling Pooling_v1 RNN ROIPooling
Reshape SequenceMask SequenceReverse SliceChannel Softmax SoftmaxActivation SoftmaxOutput SwapAxis UpSampling
__add_scalar__ __div_scalar__ __mul_scalar__ __pow_scalar__ __rdiv_scalar__ __rpow_scalar__ __rsub_scalar__
__sub_scalar__ _arange _cond _contrib_AdaptiveAvgPooling2D _contrib_BilinearResize2D
_contrib_DeformableConvolution _contrib_MultiBoxDetection _contrib_MultiBoxPrior _contrib_MultiProposal
_contrib_Proposal _contrib_ROIAlign _contrib_SyncBatchNorm _contrib_arange_like _contrib_box_decode
_contrib_box_nms _contrib_dequantize _contrib_div_sqrt_dim _contrib_interleaved_matmul_selfatt_qk
_contrib_interleaved_matmul_selfatt_valatt _contrib_quantize_v2 _contrib_quantized_act
_contrib_quantized_batch_norm _contrib_quantized_concat _contrib_quantized_flatten _contrib_quantized_pooling
_contrib_quantized_ring_buffer _copy _div_scalar _equal _equal_scalar _full _greater _greater_equal
_greater_equal_scalar _greater_scalar _lesser _lesser_equal _lesser_equal_scalar _lesser_scalar _maximum
_maximum_scalar _minimum _minimum_scalar _minus_scalar _mul_scalar _not_equal _not_equal_scalar _np_copy
_np_transpose _npi_add _npi_add_scalar _npi_concatenate _npi_copy _npi_less _npi_less_equal _npi_multiply
_npi_multiply_scalar _npi_pad _npi_power _npi_power_scalar _npi_stack _npi_subtract _npi_subtract_scalar
_npi_tanh _npi_transpose _npi_true_divide_scalar _npi_where_rscalar _npx_reshape _ones _plus_scalar
_power_scalar _rdiv_scalar _rminus_scalar _rnn_param_concat _sg_mkldnn_conv _sg_mkldnn_fully_connected _split_v2
_unravel_index _zeros add_n amp_cast amp_multicast arccos arccosh arcsin arcsinh arctan arctanh argmax argmin
argsort batch_dot broadcast_add broadcast_axes broadcast_axis broadcast_div broadcast_equal broadcast_greater
broadcast_greater_equal broadcast_lesser broadcast_lesser_equal broadcast_like broadcast_logical_and
broadcast_logical_or broadcast_logical_xor broadcast_maximum broadcast_minimum broadcast_minus broadcast_mod
broadcast_mul broadcast_not_equal broadcast_plus broadcast_power broadcast_sub broadcast_to cbrt clip concat
depth_to_space dot elemwise_add elemwise_div elemwise_mul elemwise_sub expand_dims expm1 flatten gather_nd
hard_sigmoid log10 log1p log2 log_softmax logical_not make_loss max max_axis mean min min_axis one_hot pad rcbrt
reciprocal relu repeat reshape reverse ring_buffer rsqrt shape_array slice slice_axis slice_like smooth_l1
softmax softmin softsign space_to_depth split square squeeze stack sum sum_axis take tile topk transpose
""",
    "oneflow": """
acos acosh adaptive_avg_pool2d adaptive_max_pool2d add_n asin asinh atan atanh avg_pool_2d avgpool_2d
batch_matmul bias_add broadcast_add broadcast_div broadcast_matmul broadcast_mul broadcast_sub cast ceil
clip_by_scalar concat constant conv2d cos cosh deconv2d dropout erf erfc exp expand expand_dims expm1 flatten
floor gelu hardsigmoid hardtanh identity leaky_relu log log1p matmul max_pool_2d maxpool_2d normalization pow
prelu range reciprocal reduce_max reduce_mean reduce_min reduce_sum relu reshape round rsqrt scalar_add
scalar_div scalar_logical_greater scalar_mul scalar_pow selu sigmoid sigmoid_v2 sign silu sin sinh slice softmax
softplus softsign sqrt square squeeze tan tanh threshold transpose unsqueeze upsample_bilinear_2d
upsample_nearest_2d var where
""",
    "paddle": """
abs acos addmm arg_max arg_min argsort asin assign assign_value atan batch_norm bicubic_interp_v2
bilinear_interp_v2 bmm brelu cast ceil clip concat conv2d conv2d_transpose conv3d cos cosh cumsum
depthwise_conv2d depthwise_conv2d_transpose dequantize_linear dist dot dropout elementwise_add elementwise_div
elementwise_floordiv elementwise_max elementwise_min elementwise_mod elementwise_mul elementwise_pow
elementwise_prod elementwise_sub elu equal erf exp expand_as_v2 expand_v2 eye feed fill_any_like fill_constant
fill_constant_batch_size_like fill_zeros_like flatten_contiguous_range flip floor floor_mod gather gather_nd
gaussian_random gelu greater_equal greater_than grid_sampler group_norm hard_shrink hard_sigmoid hard_swish
index_select instance_norm isfinite_v2 isinf_v2 isnan_v2 layer_norm leaky_relu less_equal less_than linspace log
log10 log1p log2 log_softmax logical_and logical_not logical_or logical_xor logsigmoid logsumexp lookup_table_v2
matmul matmul_v2 meshgrid mish mul mv nearest_interp_v2 norm not_equal one_hot_v2 p_norm pad1d pad2d pad3d
pixel_shuffle pool2d pool3d pow prelu quantize_linear range reciprocal reduce_all reduce_any reduce_max
reduce_mean reduce_min reduce_prod reduce_sum relu relu6 reshape2 rnn roi_align round rsqrt scale scatter
scatter_nd_add selu set_value shape sigmoid sign silu sin sinh size slice softmax softmax_with_cross_entropy
softplus softshrink softsign split sqrt square squeeze2 stack strided_slice swish take_along_axis tan tanh
tanh_shrink thresholded_relu tile top_k top_k_v2 transpose2 unique unsqueeze2 unstack where where_index
""",
    "tensorflow": """
Abs Acos Acosh Add AddN AddV2 All Any ArgMax ArgMin Asin Asinh Assert Atan Atan2 Atanh AvgPool AvgPool3D
BatchMatMul BatchMatMulV2 BatchNormWithGlobalNormalization BatchToSpaceND BiasAdd Bincount BroadcastArgs
BroadcastTo Cast Ceil CheckNumerics ClipByValue CombinedNonMaxSuppression Concat ConcatV2 Conv2D
Conv2DBackpropInput Conv3D Conv3DBackpropInputV2 Cos Cosh CropAndResize DecodeJpeg DenseBincount DepthToSpace
DepthwiseConv2dNative Dilation2D Einsum Elu Equal Erf EuclideanNorm Exp ExpandDims Expm1 Fill Floor FloorDiv
FloorMod FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 Gather GatherNd GatherV2 Greater GreaterEqual Identity
IdentityN InvertPermutation IsFinite IsInf IsNan LRN LSTMBlockCell LeakyRelu LeftShift Less LessEqual Log Log1p
LogSoftmax LogicalAnd LogicalNot LogicalOr MatMul Max MaxPool MaxPool3D Maximum Mean Min Minimum MirrorPad Mod
Mul Neg NoOp NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4 NonMaxSuppressionV5 NotEqual OneHot
Pack Pad PadV2 Pow Prod Range Rank RealDiv Relu Relu6 Reshape ResizeBicubic ResizeBilinear ResizeNearestNeighbor
ReverseV2 RightShift Rint Round Rsqrt SegmentSum Select SelectV2 Selu Shape Sigmoid Sign Sin Sinh Size Slice
Softmax Softplus Softsign SpaceToBatchND SpaceToDepth SparseFillEmptyRows SparseReshape SparseSegmentMean
SparseSegmentMeanWithNumSegments SparseSegmentSqrtN SparseSegmentSqrtNWithNumSegments SparseSegmentSum
SparseSegmentSumWithNumSegments SparseTensorDenseAdd SparseTensorDenseMatMul SparseToDense Split SplitV Sqrt
Square SquaredDifference Squeeze StopGradient StridedSlice Sub Sum Tan Tanh TensorArrayConcatV3
TensorArrayGatherV3 TensorArrayReadV3 TensorArrayScatterV3 TensorArraySizeV3 TensorArraySplitV3 TensorArrayV3
TensorArrayWriteV3 Tile TopKV2 Transpose TruncateMod Unique UniqueWithCounts Unpack UnravelIndex Where ZerosLike
""",
    "tflite": """
ABS ADD ADD_N ARG_MAX ARG_MIN AVERAGE_POOL_2D BATCH_MATMUL BATCH_TO_SPACE_ND CAST CEIL CONCATENATION CONV_2D COS
DENSIFY DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE DETECTION_POSTPROCESS DIV ELU EQUAL EXP EXPAND_DIMS
FAKE_QUANT FILL FLOOR FLOOR_DIV FLOOR_MOD FULLY_CONNECTED GATHER GATHER_ND GELU GREATER GREATER_EQUAL HARD_SWISH
L2_NORMALIZATION L2_POOL_2D LEAKY_RELU LESS LESS_EQUAL LOCAL_RESPONSE_NORMALIZATION LOG LOGICAL_AND LOGICAL_NOT
LOGICAL_OR LOGISTIC LOG_SOFTMAX MATRIX_DIAG MATRIX_SET_DIAG MAXIMUM MAX_POOL_2D MEAN MINIMUM MIRROR_PAD MUL NEG
NON_MAX_SUPPRESSION_V5 NOT_EQUAL ONE_HOT PACK PAD PADV2 POW PRELU QUANTIZE RANGE REDUCE_ANY REDUCE_MAX
REDUCE_MIN REDUCE_PROD RELU RELU6 RELU_N1_TO_1 RESHAPE RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR REVERSE_SEQUENCE
REVERSE_V2 ROUND RSQRT SELECT SHAPE SIN SLICE SOFTMAX SPACE_TO_BATCH_ND SPACE_TO_DEPTH SPARSE_TO_DENSE SPLIT
SPLIT_V SQRT SQUARE SQUARED_DIFFERENCE SQUEEZE STRIDED_SLICE SUB SUM TAN TANH TILE TOPK_V2 TRANSPOSE
TRANSPOSE_CONV UNIDIRECTIONAL_SEQUENCE_LSTM UNPACK WHERE ZEROS_LIKE
""",
    "coreml": """
ActivationParams AddLayerParams AverageLayerParams BatchnormLayerParams ConcatLayerParams ConvolutionLayerParams
FlattenLayerParams InnerProductLayerParams L2NormalizeLayerParams LRNLayerParams MaxLayerParams MinLayerParams
MultiplyLayerParams NeuralNetworkImageScaler NeuralNetworkMeanImage PaddingLayerParams PermuteLayerParams
PoolingLayerParams ReduceLayerParams ReshapeLayerParams ScaleLayerParams SoftmaxLayerParams SplitLayerParams
UnaryFunctionLayerParams UpsampleLayerParams
""",
}
OLD = {name: text.split() for name, text in _LISTS.items()}
