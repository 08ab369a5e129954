"""The messages of a neural network of Core ML, as tables of fields (shared/wire.py). LAYERS has all kinds of layers."""

from __future__ import annotations

from ..shared.wire import Table

_EMPTY = Table("parameters", {})
_EDGE_SIZES = Table("EdgeSizes", {1: ("startEdgeSize", "int"), 2: ("endEdgeSize", "int")})
_BORDER_AMOUNTS = Table("BorderAmounts", {10: ("borderAmounts", [_EDGE_SIZES])})
_VALID_PADDING = Table("ValidPadding", {1: ("paddingAmounts", _BORDER_AMOUNTS)})
_SAME_PADDING = Table("SamePadding", {1: ("asymmetryMode", "int")})
_LINEAR_QUANTIZATION = Table("LinearQuantizationParams", {1: ("scale", "float*"), 2: ("bias", "float*")})
_LOOK_UP_TABLE = Table("LookUpTableQuantizationParams", {1: ("floatValue", "float*")})
_QUANTIZATION = Table("QuantizationParams", {
    1: ("numberOfBits", "int"), 101: ("linearQuantization", _LINEAR_QUANTIZATION),
    102: ("lookupTableQuantization", _LOOK_UP_TABLE)})  # fmt: skip
_WEIGHT_PARAMS = Table("WeightParams", {
    1: ("floatValue", "float*"), 2: ("float16Value", "bytes"), 30: ("rawValue", "bytes"),
    31: ("int8RawValue", "bytes"), 40: ("quantization", _QUANTIZATION)})  # fmt: skip
_CONVOLUTION = Table("ConvolutionLayerParams", {
    1: ("outputChannels", "int"), 2: ("kernelChannels", "int"), 10: ("nGroups", "int"), 20: ("kernelSize", "int*"),
    30: ("stride", "int*"), 40: ("dilationFactor", "int*"), 50: ("valid", _VALID_PADDING),
    51: ("same", _SAME_PADDING), 60: ("isDeconvolution", "bool"), 70: ("hasBias", "bool"),
    90: ("weights", _WEIGHT_PARAMS), 91: ("bias", _WEIGHT_PARAMS), 100: ("outputShape", "int*")})  # fmt: skip
_VALID_COMPLETE_PADDING = Table("ValidCompletePadding", {10: ("paddingAmounts", "int*")})
_POOLING = Table("PoolingLayerParams", {
    1: ("type", "int"), 10: ("kernelSize", "int*"), 20: ("stride", "int*"), 30: ("valid", _VALID_PADDING),
    31: ("same", _SAME_PADDING), 32: ("includeLastPixel", _VALID_COMPLETE_PADDING),
    50: ("avgPoolExcludePadding", "bool"), 60: ("globalPooling", "bool")})  # fmt: skip
_ACTIVATION_LINEAR = Table("ActivationLinear", {1: ("alpha", "float"), 2: ("beta", "float")})
_ACTIVATION_LEAKY_RELU = Table("ActivationLeakyReLU", {1: ("alpha", "float")})
_ACTIVATION_THRESHOLDED_RELU = Table("ActivationThresholdedReLU", {1: ("alpha", "float")})
_ACTIVATION_PRELU = Table("ActivationPReLU", {1: ("alpha", _WEIGHT_PARAMS)})
_ACTIVATION_SCALED_TANH = Table("ActivationScaledTanh", {1: ("alpha", "float"), 2: ("beta", "float")})
_ACTIVATION_SIGMOID_HARD = Table("ActivationSigmoidHard", {1: ("alpha", "float"), 2: ("beta", "float")})
_ACTIVATION_ELU = Table("ActivationELU", {1: ("alpha", "float")})
_ACTIVATION_PARAMETRIC_SOFTPLUS = Table("ActivationParametricSoftplus", {
    1: ("alpha", _WEIGHT_PARAMS), 2: ("beta", _WEIGHT_PARAMS)})  # fmt: skip
_ACTIVATION_PARAMS = Table("ActivationParams", {
    5: ("linear", _ACTIVATION_LINEAR), 10: ("ReLU", _EMPTY), 15: ("leakyReLU", _ACTIVATION_LEAKY_RELU),
    20: ("thresholdedReLU", _ACTIVATION_THRESHOLDED_RELU), 25: ("PReLU", _ACTIVATION_PRELU), 30: ("tanh", _EMPTY),
    31: ("scaledTanh", _ACTIVATION_SCALED_TANH), 40: ("sigmoid", _EMPTY),
    41: ("sigmoidHard", _ACTIVATION_SIGMOID_HARD), 50: ("ELU", _ACTIVATION_ELU), 60: ("softsign", _EMPTY),
    70: ("softplus", _EMPTY), 71: ("parametricSoftplus", _ACTIVATION_PARAMETRIC_SOFTPLUS)})  # fmt: skip
_INNER_PRODUCT = Table("InnerProductLayerParams", {
    1: ("inputChannels", "int"), 2: ("outputChannels", "int"), 10: ("hasBias", "bool"),
    20: ("weights", _WEIGHT_PARAMS), 21: ("bias", _WEIGHT_PARAMS), 22: ("int8DynamicQuantize", "bool")})  # fmt: skip
_EMBEDDING = Table("EmbeddingLayerParams", {
    1: ("inputDim", "int"), 2: ("outputChannels", "int"), 10: ("hasBias", "bool"), 20: ("weights", _WEIGHT_PARAMS),
    21: ("bias", _WEIGHT_PARAMS)})  # fmt: skip
_BATCHNORM = Table("BatchnormLayerParams", {
    1: ("channels", "int"), 5: ("computeMeanVar", "bool"), 6: ("instanceNormalization", "bool"),
    10: ("epsilon", "float"), 15: ("gamma", _WEIGHT_PARAMS), 16: ("beta", _WEIGHT_PARAMS),
    17: ("mean", _WEIGHT_PARAMS), 18: ("variance", _WEIGHT_PARAMS)})  # fmt: skip
_MVN = Table("MeanVarianceNormalizeLayerParams", {
    1: ("acrossChannels", "bool"), 2: ("normalizeVariance", "bool"), 3: ("epsilon", "float")})  # fmt: skip
_L2_NORMALIZE = Table("L2NormalizeLayerParams", {1: ("epsilon", "float")})
_LRN = Table("LRNLayerParams", {
    1: ("alpha", "float"), 2: ("beta", "float"), 3: ("localSize", "int"), 4: ("k", "float")})  # fmt: skip
_CROP = Table("CropLayerParams", {1: ("cropAmounts", _BORDER_AMOUNTS), 5: ("offset", "int*")})
_PADDING_CONSTANT = Table("PaddingConstant", {1: ("value", "float")})
_PADDING = Table("PaddingLayerParams", {
    1: ("constant", _PADDING_CONSTANT), 2: ("reflection", _EMPTY), 3: ("replication", _EMPTY),
    10: ("paddingAmounts", _BORDER_AMOUNTS)})  # fmt: skip
_UPSAMPLE = Table("UpsampleLayerParams", {
    1: ("scalingFactor", "int*"), 7: ("fractionalScalingFactor", "float*"), 5: ("mode", "int"),
    6: ("linearUpsampleMode", "int")})  # fmt: skip
_SAMPLING_MODE = Table("SamplingMode", {1: ("samplingMethod", "int")})
_RESIZE_BILINEAR = Table("ResizeBilinearLayerParams", {1: ("targetSize", "int*"), 2: ("mode", _SAMPLING_MODE)})
_BOX_COORDINATES_MODE = Table("BoxCoordinatesMode", {1: ("boxMode", "int")})
_CROP_RESIZE = Table("CropResizeLayerParams", {
    1: ("targetSize", "int*"), 2: ("normalizedCoordinates", "bool"), 3: ("mode", _SAMPLING_MODE),
    4: ("boxIndicesMode", _BOX_COORDINATES_MODE), 5: ("spatialScale", "float")})  # fmt: skip
_UNARY_FUNCTION = Table("UnaryFunctionLayerParams", {
    1: ("type", "int"), 2: ("alpha", "float"), 3: ("epsilon", "float"), 4: ("shift", "float"), 5: ("scale", "float"),
})  # fmt: skip
_ADD = Table("AddLayerParams", {1: ("alpha", "float")})
_MULTIPLY = Table("MultiplyLayerParams", {1: ("alpha", "float")})
_SCALE = Table("ScaleLayerParams", {
    1: ("shapeScale", "int*"), 2: ("scale", _WEIGHT_PARAMS), 3: ("hasBias", "bool"), 4: ("shapeBias", "int*"),
    5: ("bias", _WEIGHT_PARAMS)})  # fmt: skip
_BIAS = Table("BiasLayerParams", {1: ("shape", "int*"), 2: ("bias", _WEIGHT_PARAMS)})
_DOT_PRODUCT = Table("DotProductLayerParams", {1: ("cosineSimilarity", "bool")})
_REDUCE = Table("ReduceLayerParams", {1: ("mode", "int"), 2: ("epsilon", "float"), 3: ("axis", "int")})
_LOAD_CONSTANT = Table("LoadConstantLayerParams", {1: ("shape", "int*"), 2: ("data", _WEIGHT_PARAMS)})
_RESHAPE = Table("ReshapeLayerParams", {1: ("targetShape", "int*"), 2: ("mode", "int")})
_FLATTEN = Table("FlattenLayerParams", {1: ("mode", "int")})
_PERMUTE = Table("PermuteLayerParams", {1: ("axis", "int*")})
_CONCAT = Table("ConcatLayerParams", {100: ("sequenceConcat", "bool")})
_SPLIT = Table("SplitLayerParams", {1: ("nOutputs", "int")})
_SEQUENCE_REPEAT = Table("SequenceRepeatLayerParams", {1: ("nRepetitions", "int")})
_REORGANIZE_DATA = Table("ReorganizeDataLayerParams", {1: ("mode", "int"), 2: ("blockSize", "int")})
_SLICE = Table("SliceLayerParams", {
    1: ("startIndex", "int"), 2: ("endIndex", "int"), 3: ("stride", "int"), 4: ("axis", "int")})  # fmt: skip
_SIMPLE_RECURRENT = Table("SimpleRecurrentLayerParams", {
    1: ("inputVectorSize", "int"), 2: ("outputVectorSize", "int"), 10: ("activation", _ACTIVATION_PARAMS),
    15: ("sequenceOutput", "bool"), 20: ("hasBiasVector", "bool"), 30: ("weightMatrix", _WEIGHT_PARAMS),
    31: ("recursionMatrix", _WEIGHT_PARAMS), 32: ("biasVector", _WEIGHT_PARAMS), 100: ("reverseInput", "bool"),
})  # fmt: skip
_GRU = Table("GRULayerParams", {
    1: ("inputVectorSize", "int"), 2: ("outputVectorSize", "int"), 10: ("activations", [_ACTIVATION_PARAMS]),
    15: ("sequenceOutput", "bool"), 20: ("hasBiasVectors", "bool"), 30: ("updateGateWeightMatrix", _WEIGHT_PARAMS),
    31: ("resetGateWeightMatrix", _WEIGHT_PARAMS), 32: ("outputGateWeightMatrix", _WEIGHT_PARAMS),
    50: ("updateGateRecursionMatrix", _WEIGHT_PARAMS), 51: ("resetGateRecursionMatrix", _WEIGHT_PARAMS),
    52: ("outputGateRecursionMatrix", _WEIGHT_PARAMS), 70: ("updateGateBiasVector", _WEIGHT_PARAMS),
    71: ("resetGateBiasVector", _WEIGHT_PARAMS), 72: ("outputGateBiasVector", _WEIGHT_PARAMS),
    100: ("reverseInput", "bool")})  # fmt: skip
_LSTM_PARAMS = Table("LSTMParams", {
    10: ("sequenceOutput", "bool"), 20: ("hasBiasVectors", "bool"), 30: ("forgetBias", "bool"),
    40: ("hasPeepholeVectors", "bool"), 50: ("coupledInputAndForgetGate", "bool"), 60: ("cellClipThreshold", "float"),
})  # fmt: skip
_LSTM_WEIGHT_PARAMS = Table("LSTMWeightParams", {
    1: ("inputGateWeightMatrix", _WEIGHT_PARAMS), 2: ("forgetGateWeightMatrix", _WEIGHT_PARAMS),
    3: ("blockInputWeightMatrix", _WEIGHT_PARAMS), 4: ("outputGateWeightMatrix", _WEIGHT_PARAMS),
    20: ("inputGateRecursionMatrix", _WEIGHT_PARAMS), 21: ("forgetGateRecursionMatrix", _WEIGHT_PARAMS),
    22: ("blockInputRecursionMatrix", _WEIGHT_PARAMS), 23: ("outputGateRecursionMatrix", _WEIGHT_PARAMS),
    40: ("inputGateBiasVector", _WEIGHT_PARAMS), 41: ("forgetGateBiasVector", _WEIGHT_PARAMS),
    42: ("blockInputBiasVector", _WEIGHT_PARAMS), 43: ("outputGateBiasVector", _WEIGHT_PARAMS),
    60: ("inputGatePeepholeVector", _WEIGHT_PARAMS), 61: ("forgetGatePeepholeVector", _WEIGHT_PARAMS),
    62: ("outputGatePeepholeVector", _WEIGHT_PARAMS)})  # fmt: skip
_UNI_DIRECTIONAL_LSTM = Table("UniDirectionalLSTMLayerParams", {
    1: ("inputVectorSize", "int"), 2: ("outputVectorSize", "int"), 10: ("activations", [_ACTIVATION_PARAMS]),
    15: ("params", _LSTM_PARAMS), 20: ("weightParams", _LSTM_WEIGHT_PARAMS), 100: ("reverseInput", "bool"),
})  # fmt: skip
_BI_DIRECTIONAL_LSTM = Table("BiDirectionalLSTMLayerParams", {
    1: ("inputVectorSize", "int"), 2: ("outputVectorSize", "int"),
    10: ("activationsForwardLSTM", [_ACTIVATION_PARAMS]), 11: ("activationsBackwardLSTM", [_ACTIVATION_PARAMS]),
    15: ("params", _LSTM_PARAMS), 20: ("weightParams", [_LSTM_WEIGHT_PARAMS])})  # fmt: skip
_CUSTOM_LAYER_PARAM_VALUE = Table("CustomLayerParamValue", {
    10: ("doubleValue", "double"), 20: ("stringValue", "text"), 30: ("intValue", "int"), 40: ("longValue", "int"),
    50: ("boolValue", "bool")})  # fmt: skip
_CUSTOM = Table("CustomLayerParams", {
    10: ("className", "text"), 20: ("weights", [_WEIGHT_PARAMS]), 30: ("parameters", {_CUSTOM_LAYER_PARAM_VALUE}),
    40: ("description", "text")})  # fmt: skip
_BRANCH = Table("BranchLayerParams", {})
_LOOP = Table("LoopLayerParams", {1: ("maxLoopIterations", "int"), 2: ("conditionVar", "text")})
_RANGE_STATIC = Table("RangeStaticLayerParams", {
    1: ("endValue", "float"), 2: ("startValue", "float"), 3: ("stepSizeValue", "float")})  # fmt: skip
_RANGE_DYNAMIC = Table("RangeDynamicLayerParams", {2: ("startValue", "float"), 3: ("stepSizeValue", "float")})
_CLIP = Table("ClipLayerParams", {1: ("minVal", "float"), 2: ("maxVal", "float")})
_GELU = Table("GeluLayerParams", {1: ("mode", "int")})
_EQUAL = Table("EqualLayerParams", {1: ("alpha", "float")})
_NOT_EQUAL = Table("NotEqualLayerParams", {1: ("alpha", "float")})
_LESS_THAN = Table("LessThanLayerParams", {2: ("alpha", "float")})
_LESS_EQUAL = Table("LessEqualLayerParams", {2: ("alpha", "float")})
_GREATER_THAN = Table("GreaterThanLayerParams", {2: ("alpha", "float")})
_GREATER_EQUAL = Table("GreaterEqualLayerParams", {2: ("alpha", "float")})
_TILE = Table("TileLayerParams", {1: ("reps", "int*")})
_STACK = Table("StackLayerParams", {1: ("axis", "int")})
_GATHER = Table("GatherLayerParams", {1: ("axis", "int")})
_SCATTER = Table("ScatterLayerParams", {1: ("axis", "int"), 2: ("mode", "int")})
_SCATTER_ND = Table("ScatterNDLayerParams", {1: ("mode", "int")})
_SOFTMAX_ND = Table("SoftmaxNDLayerParams", {1: ("axis", "int")})
_GATHER_ALONG_AXIS = Table("GatherAlongAxisLayerParams", {1: ("axis", "int")})
_SCATTER_ALONG_AXIS = Table("ScatterAlongAxisLayerParams", {1: ("axis", "int"), 2: ("mode", "int")})
_REVERSE = Table("ReverseLayerParams", {1: ("reverseDim", "bool*")})
_REVERSE_SEQ = Table("ReverseSeqLayerParams", {1: ("batchAxis", "int"), 2: ("sequenceAxis", "int")})
_SPLIT_ND = Table("SplitNDLayerParams", {1: ("axis", "int"), 2: ("numSplits", "int"), 3: ("splitSizes", "int*")})
_CONCAT_ND = Table("ConcatNDLayerParams", {1: ("axis", "int"), 2: ("interleave", "bool")})
_TRANSPOSE = Table("TransposeLayerParams", {1: ("axes", "int*")})
_SLICE_STATIC = Table("SliceStaticLayerParams", {
    1: ("beginIds", "int*"), 2: ("beginMasks", "bool*"), 3: ("endIds", "int*"), 4: ("endMasks", "bool*"),
    5: ("strides", "int*"), 6: ("squeezeMasks", "bool*")})  # fmt: skip
_SLICE_DYNAMIC = Table("SliceDynamicLayerParams", {
    2: ("beginMasks", "bool*"), 3: ("endIds", "int*"), 4: ("endMasks", "bool*"), 5: ("strides", "int*"),
    6: ("squeezeMasks", "bool*")})  # fmt: skip
_SLIDING_WINDOWS = Table("SlidingWindowsLayerParams", {
    1: ("axis", "int"), 2: ("windowSize", "int"), 3: ("step", "int")})  # fmt: skip
_TOP_K = Table("TopKLayerParams", {1: ("axis", "int"), 2: ("K", "int"), 3: ("useBottomK", "bool")})
_ARG_MIN = Table("ArgMinLayerParams", {1: ("axis", "int"), 2: ("removeDim", "bool")})
_ARG_MAX = Table("ArgMaxLayerParams", {1: ("axis", "int"), 2: ("removeDim", "bool")})
_EMBEDDING_ND = Table("EmbeddingNDLayerParams", {
    1: ("vocabSize", "int"), 2: ("embeddingSize", "int"), 3: ("hasBias", "bool"), 20: ("weights", _WEIGHT_PARAMS),
    21: ("bias", _WEIGHT_PARAMS)})  # fmt: skip
_BATCHED_MAT_MUL = Table("BatchedMatMulLayerParams", {
    1: ("transposeA", "bool"), 2: ("transposeB", "bool"), 5: ("weightMatrixFirstDimension", "int"),
    6: ("weightMatrixSecondDimension", "int"), 7: ("hasBias", "bool"), 8: ("weights", _WEIGHT_PARAMS),
    9: ("bias", _WEIGHT_PARAMS), 10: ("int8DynamicQuantize", "bool")})  # fmt: skip
_LOAD_CONSTANT_ND = Table("LoadConstantNDLayerParams", {1: ("shape", "int*"), 2: ("data", _WEIGHT_PARAMS)})
_FILL_LIKE = Table("FillLikeLayerParams", {1: ("value", "float")})
_FILL_STATIC = Table("FillStaticLayerParams", {1: ("value", "float"), 2: ("targetShape", "int*")})
_FILL_DYNAMIC = Table("FillDynamicLayerParams", {1: ("value", "float")})
_BROADCAST_TO_STATIC = Table("BroadcastToStaticLayerParams", {1: ("targetShape", "int*")})
_SQUEEZE = Table("SqueezeLayerParams", {1: ("axes", "int*"), 2: ("squeezeAll", "bool")})
_EXPAND_DIMS = Table("ExpandDimsLayerParams", {1: ("axes", "int*")})
_FLATTEN_TO2_D = Table("FlattenTo2DLayerParams", {1: ("axis", "int")})
_RESHAPE_STATIC = Table("ReshapeStaticLayerParams", {1: ("targetShape", "int*")})
_RANK_PRESERVING_RESHAPE = Table("RankPreservingReshapeLayerParams", {1: ("targetShape", "int*")})
_CONSTANT_PADDING = Table("ConstantPaddingLayerParams", {
    1: ("value", "float"), 2: ("padAmounts", "int*"), 3: ("padToGivenOutputSizeMode", "bool")})  # fmt: skip
_RANDOM_NORMAL_LIKE = Table("RandomNormalLikeLayerParams", {
    1: ("seed", "int"), 2: ("mean", "float"), 3: ("stdDev", "float")})  # fmt: skip
_RANDOM_NORMAL_STATIC = Table("RandomNormalStaticLayerParams", {
    1: ("seed", "int"), 2: ("mean", "float"), 3: ("stdDev", "float"), 4: ("outputShape", "int*")})  # fmt: skip
_RANDOM_NORMAL_DYNAMIC = Table("RandomNormalDynamicLayerParams", {
    1: ("seed", "int"), 2: ("mean", "float"), 3: ("stdDev", "float")})  # fmt: skip
_RANDOM_UNIFORM_LIKE = Table("RandomUniformLikeLayerParams", {
    1: ("seed", "int"), 2: ("minVal", "float"), 3: ("maxVal", "float")})  # fmt: skip
_RANDOM_UNIFORM_STATIC = Table("RandomUniformStaticLayerParams", {
    1: ("seed", "int"), 2: ("minVal", "float"), 3: ("maxVal", "float"), 4: ("outputShape", "int*")})  # fmt: skip
_RANDOM_UNIFORM_DYNAMIC = Table("RandomUniformDynamicLayerParams", {
    1: ("seed", "int"), 2: ("minVal", "float"), 3: ("maxVal", "float")})  # fmt: skip
_RANDOM_BERNOULLI_LIKE = Table("RandomBernoulliLikeLayerParams", {1: ("seed", "int"), 2: ("prob", "float")})
_RANDOM_BERNOULLI_STATIC = Table("RandomBernoulliStaticLayerParams", {
    1: ("seed", "int"), 2: ("prob", "float"), 3: ("outputShape", "int*")})  # fmt: skip
_RANDOM_BERNOULLI_DYNAMIC = Table("RandomBernoulliDynamicLayerParams", {1: ("seed", "int"), 2: ("prob", "float")})
_CATEGORICAL_DISTRIBUTION = Table("CategoricalDistributionLayerParams", {
    1: ("seed", "int"), 2: ("numSamples", "int"), 3: ("isLogits", "bool"), 4: ("eps", "float"),
    5: ("temperature", "float")})  # fmt: skip
_REDUCE_L1 = Table("ReduceL1LayerParams", {1: ("axes", "int*"), 2: ("keepDims", "bool"), 3: ("reduceAll", "bool")})
_REDUCE_L2 = Table("ReduceL2LayerParams", {1: ("axes", "int*"), 2: ("keepDims", "bool"), 3: ("reduceAll", "bool")})
_REDUCE_MAX = Table("ReduceMaxLayerParams", {1: ("axes", "int*"), 2: ("keepDims", "bool"), 3: ("reduceAll", "bool")})
_REDUCE_MIN = Table("ReduceMinLayerParams", {1: ("axes", "int*"), 2: ("keepDims", "bool"), 3: ("reduceAll", "bool")})
_REDUCE_SUM = Table("ReduceSumLayerParams", {1: ("axes", "int*"), 2: ("keepDims", "bool"), 3: ("reduceAll", "bool")})
_REDUCE_PROD = Table("ReduceProdLayerParams", {1: ("axes", "int*"), 2: ("keepDims", "bool"), 3: ("reduceAll", "bool")})
_REDUCE_MEAN = Table("ReduceMeanLayerParams", {1: ("axes", "int*"), 2: ("keepDims", "bool"), 3: ("reduceAll", "bool")})
_REDUCE_LOG_SUM = Table("ReduceLogSumLayerParams", {
    1: ("axes", "int*"), 2: ("keepDims", "bool"), 3: ("reduceAll", "bool")})  # fmt: skip
_REDUCE_SUM_SQUARE = Table("ReduceSumSquareLayerParams", {
    1: ("axes", "int*"), 2: ("keepDims", "bool"), 3: ("reduceAll", "bool")})  # fmt: skip
_REDUCE_LOG_SUM_EXP = Table("ReduceLogSumExpLayerParams", {
    1: ("axes", "int*"), 2: ("keepDims", "bool"), 3: ("reduceAll", "bool")})  # fmt: skip
_MATRIX_BAND_PART = Table("MatrixBandPartLayerParams", {1: ("numLower", "int"), 2: ("numUpper", "int")})
_LOWER_TRIANGULAR = Table("LowerTriangularLayerParams", {1: ("k", "int")})
_UPPER_TRIANGULAR = Table("UpperTriangularLayerParams", {1: ("k", "int")})
_LAYER_NORMALIZATION = Table("LayerNormalizationLayerParams", {
    1: ("normalizedShape", "int*"), 2: ("eps", "float"), 3: ("gamma", _WEIGHT_PARAMS), 4: ("beta", _WEIGHT_PARAMS),
})  # fmt: skip
_NON_MAXIMUM_SUPPRESSION = Table("NonMaximumSuppressionLayerParams", {
    1: ("iouThreshold", "float"), 2: ("scoreThreshold", "float"), 3: ("maxBoxes", "int"),
    4: ("perClassSuppression", "bool")})  # fmt: skip
_ONE_HOT = Table("OneHotLayerParams", {
    1: ("oneHotVectorSize", "int"), 2: ("axis", "int"), 3: ("onValue", "float"), 4: ("offValue", "float")})  # fmt: skip
_CUM_SUM = Table("CumSumLayerParams", {1: ("axis", "int"), 2: ("excludeFinalSum", "bool"), 3: ("reverse", "bool")})
_CLAMPED_RELU = Table("ClampedReLULayerParams", {1: ("alpha", "float"), 2: ("beta", "float")})
_ARG_SORT = Table("ArgSortLayerParams", {1: ("axis", "int"), 2: ("descending", "bool")})
_POOLING3D = Table("Pooling3DLayerParams", {
    1: ("type", "int"), 2: ("kernelDepth", "int"), 3: ("kernelHeight", "int"), 4: ("kernelWidth", "int"),
    5: ("strideDepth", "int"), 6: ("strideHeight", "int"), 7: ("strideWidth", "int"), 15: ("paddingType", "int"),
    8: ("customPaddingFront", "int"), 9: ("customPaddingBack", "int"), 10: ("customPaddingTop", "int"),
    11: ("customPaddingBottom", "int"), 12: ("customPaddingLeft", "int"), 13: ("customPaddingRight", "int"),
    14: ("countExcludePadding", "bool")})  # fmt: skip
_GLOBAL_POOLING3D = Table("GlobalPooling3DLayerParams", {1: ("type", "int")})
_SLICE_BY_SIZE = Table("SliceBySizeLayerParams", {2: ("size", "int"), 3: ("axis", "int")})
_CONVOLUTION3D = Table("Convolution3DLayerParams", {
    1: ("outputChannels", "int"), 2: ("inputChannels", "int"), 10: ("nGroups", "int"), 20: ("kernelDepth", "int"),
    21: ("kernelHeight", "int"), 22: ("kernelWidth", "int"), 31: ("strideDepth", "int"), 32: ("strideHeight", "int"),
    33: ("strideWidth", "int"), 40: ("dilationDepth", "int"), 41: ("dilationHeight", "int"),
    42: ("dilationWidth", "int"), 50: ("hasBias", "bool"), 60: ("weights", _WEIGHT_PARAMS),
    61: ("bias", _WEIGHT_PARAMS), 70: ("paddingType", "int"), 80: ("customPaddingFront", "int"),
    81: ("customPaddingBack", "int"), 82: ("customPaddingTop", "int"), 83: ("customPaddingBottom", "int"),
    84: ("customPaddingLeft", "int"), 85: ("customPaddingRight", "int"), 86: ("isDeconvolution", "bool"),
    87: ("outputShape", "int*")})  # fmt: skip

# Kinds of layers by the number of their field.
LAYERS = {
    100: ("convolution", _CONVOLUTION), 120: ("pooling", _POOLING), 130: ("activation", _ACTIVATION_PARAMS),
    140: ("innerProduct", _INNER_PRODUCT), 150: ("embedding", _EMBEDDING), 160: ("batchnorm", _BATCHNORM),
    165: ("mvn", _MVN), 170: ("l2normalize", _L2_NORMALIZE), 175: ("softmax", _EMPTY), 180: ("lrn", _LRN),
    190: ("crop", _CROP), 200: ("padding", _PADDING), 210: ("upsample", _UPSAMPLE),
    211: ("resizeBilinear", _RESIZE_BILINEAR), 212: ("cropResize", _CROP_RESIZE), 220: ("unary", _UNARY_FUNCTION),
    230: ("add", _ADD), 231: ("multiply", _MULTIPLY), 240: ("average", _EMPTY), 245: ("scale", _SCALE),
    250: ("bias", _BIAS), 260: ("max", _EMPTY), 261: ("min", _EMPTY), 270: ("dot", _DOT_PRODUCT),
    280: ("reduce", _REDUCE), 290: ("loadConstant", _LOAD_CONSTANT), 300: ("reshape", _RESHAPE),
    301: ("flatten", _FLATTEN), 310: ("permute", _PERMUTE), 320: ("concat", _CONCAT), 330: ("split", _SPLIT),
    340: ("sequenceRepeat", _SEQUENCE_REPEAT), 345: ("reorganizeData", _REORGANIZE_DATA), 350: ("slice", _SLICE),
    400: ("simpleRecurrent", _SIMPLE_RECURRENT), 410: ("gru", _GRU),
    420: ("uniDirectionalLSTM", _UNI_DIRECTIONAL_LSTM), 430: ("biDirectionalLSTM", _BI_DIRECTIONAL_LSTM),
    500: ("custom", _CUSTOM), 600: ("copy", _EMPTY), 605: ("branch", _BRANCH), 615: ("loop", _LOOP),
    620: ("loopBreak", _EMPTY), 625: ("loopContinue", _EMPTY), 635: ("rangeStatic", _RANGE_STATIC),
    640: ("rangeDynamic", _RANGE_DYNAMIC), 660: ("clip", _CLIP), 665: ("ceil", _EMPTY), 670: ("floor", _EMPTY),
    680: ("sign", _EMPTY), 685: ("round", _EMPTY), 700: ("exp2", _EMPTY), 710: ("sin", _EMPTY), 715: ("cos", _EMPTY),
    720: ("tan", _EMPTY), 730: ("asin", _EMPTY), 735: ("acos", _EMPTY), 740: ("atan", _EMPTY), 750: ("sinh", _EMPTY),
    755: ("cosh", _EMPTY), 760: ("tanh", _EMPTY), 770: ("asinh", _EMPTY), 775: ("acosh", _EMPTY),
    780: ("atanh", _EMPTY), 790: ("erf", _EMPTY), 795: ("gelu", _GELU), 815: ("equal", _EQUAL),
    820: ("notEqual", _NOT_EQUAL), 825: ("lessThan", _LESS_THAN), 827: ("lessEqual", _LESS_EQUAL),
    830: ("greaterThan", _GREATER_THAN), 832: ("greaterEqual", _GREATER_EQUAL), 840: ("logicalOr", _EMPTY),
    845: ("logicalXor", _EMPTY), 850: ("logicalNot", _EMPTY), 855: ("logicalAnd", _EMPTY),
    865: ("modBroadcastable", _EMPTY), 870: ("minBroadcastable", _EMPTY), 875: ("maxBroadcastable", _EMPTY),
    880: ("addBroadcastable", _EMPTY), 885: ("powBroadcastable", _EMPTY), 890: ("divideBroadcastable", _EMPTY),
    895: ("floorDivBroadcastable", _EMPTY), 900: ("multiplyBroadcastable", _EMPTY),
    905: ("subtractBroadcastable", _EMPTY), 920: ("tile", _TILE), 925: ("stack", _STACK), 930: ("gather", _GATHER),
    935: ("scatter", _SCATTER), 940: ("gatherND", _EMPTY), 945: ("scatterND", _SCATTER_ND),
    950: ("softmaxND", _SOFTMAX_ND), 952: ("gatherAlongAxis", _GATHER_ALONG_AXIS),
    954: ("scatterAlongAxis", _SCATTER_ALONG_AXIS), 960: ("reverse", _REVERSE), 965: ("reverseSeq", _REVERSE_SEQ),
    975: ("splitND", _SPLIT_ND), 980: ("concatND", _CONCAT_ND), 985: ("transpose", _TRANSPOSE),
    995: ("sliceStatic", _SLICE_STATIC), 1000: ("sliceDynamic", _SLICE_DYNAMIC),
    1005: ("slidingWindows", _SLIDING_WINDOWS), 1015: ("topK", _TOP_K), 1020: ("argMin", _ARG_MIN),
    1025: ("argMax", _ARG_MAX), 1040: ("embeddingND", _EMBEDDING_ND), 1045: ("batchedMatmul", _BATCHED_MAT_MUL),
    1065: ("getShape", _EMPTY), 1070: ("loadConstantND", _LOAD_CONSTANT_ND), 1080: ("fillLike", _FILL_LIKE),
    1085: ("fillStatic", _FILL_STATIC), 1090: ("fillDynamic", _FILL_DYNAMIC), 1100: ("broadcastToLike", _EMPTY),
    1105: ("broadcastToStatic", _BROADCAST_TO_STATIC), 1110: ("broadcastToDynamic", _EMPTY),
    1120: ("squeeze", _SQUEEZE), 1125: ("expandDims", _EXPAND_DIMS), 1130: ("flattenTo2D", _FLATTEN_TO2_D),
    1135: ("reshapeLike", _EMPTY), 1140: ("reshapeStatic", _RESHAPE_STATIC), 1145: ("reshapeDynamic", _EMPTY),
    1150: ("rankPreservingReshape", _RANK_PRESERVING_RESHAPE), 1155: ("constantPad", _CONSTANT_PADDING),
    1170: ("randomNormalLike", _RANDOM_NORMAL_LIKE), 1175: ("randomNormalStatic", _RANDOM_NORMAL_STATIC),
    1180: ("randomNormalDynamic", _RANDOM_NORMAL_DYNAMIC), 1190: ("randomUniformLike", _RANDOM_UNIFORM_LIKE),
    1195: ("randomUniformStatic", _RANDOM_UNIFORM_STATIC), 1200: ("randomUniformDynamic", _RANDOM_UNIFORM_DYNAMIC),
    1210: ("randomBernoulliLike", _RANDOM_BERNOULLI_LIKE), 1215: ("randomBernoulliStatic", _RANDOM_BERNOULLI_STATIC),
    1220: ("randomBernoulliDynamic", _RANDOM_BERNOULLI_DYNAMIC),
    1230: ("categoricalDistribution", _CATEGORICAL_DISTRIBUTION), 1250: ("reduceL1", _REDUCE_L1),
    1255: ("reduceL2", _REDUCE_L2), 1260: ("reduceMax", _REDUCE_MAX), 1265: ("reduceMin", _REDUCE_MIN),
    1270: ("reduceSum", _REDUCE_SUM), 1275: ("reduceProd", _REDUCE_PROD), 1280: ("reduceMean", _REDUCE_MEAN),
    1285: ("reduceLogSum", _REDUCE_LOG_SUM), 1290: ("reduceSumSquare", _REDUCE_SUM_SQUARE),
    1295: ("reduceLogSumExp", _REDUCE_LOG_SUM_EXP), 1313: ("whereNonZero", _EMPTY),
    1315: ("matrixBandPart", _MATRIX_BAND_PART), 1320: ("lowerTriangular", _LOWER_TRIANGULAR),
    1325: ("upperTriangular", _UPPER_TRIANGULAR), 1330: ("whereBroadcastable", _EMPTY),
    1350: ("layerNormalization", _LAYER_NORMALIZATION), 1400: ("NonMaximumSuppression", _NON_MAXIMUM_SUPPRESSION),
    1450: ("oneHot", _ONE_HOT), 1455: ("cumSum", _CUM_SUM), 1460: ("clampedReLU", _CLAMPED_RELU),
    1461: ("argSort", _ARG_SORT), 1465: ("pooling3d", _POOLING3D), 1466: ("globalPooling3d", _GLOBAL_POOLING3D),
    1470: ("sliceBySize", _SLICE_BY_SIZE), 1471: ("convolution3d", _CONVOLUTION3D),
}  # fmt: skip

LAYER = Table("NeuralNetworkLayer", {1: ("name", "text"), 2: ("input", "text*"), 3: ("output", "text*"),
                                     **{number: (name, table) for number, (name, table) in LAYERS.items()},
})  # fmt: skip
KINDS = frozenset(name for name, _ in LAYERS.values())
_SCALER = Table("NeuralNetworkImageScaler", {
    10: ("channelScale", "float"), 20: ("blueBias", "float"), 21: ("greenBias", "float"), 22: ("redBias", "float"),
    30: ("grayBias", "float")})  # fmt: skip
_MEAN_IMAGE = Table("NeuralNetworkMeanImage", {1: ("meanImage", "float*")})
_PREPROCESSING = Table("NeuralNetworkPreprocessing", {
    1: ("featureName", "text"), 10: ("scaler", _SCALER), 11: ("meanImage", _MEAN_IMAGE)})  # fmt: skip
_STRINGS, _INTEGERS = Table("StringVector", {1: ("vector", "text*")}), Table("Int64Vector", {1: ("vector", "int*")})
# NeuralNetwork, NeuralNetworkClassifier and NeuralNetworkRegressor, which differ in the last fields.
NETWORK = Table("NeuralNetwork", {
    1: ("layers", [LAYER]), 2: ("preprocessing", [_PREPROCESSING]), 5: ("arrayInputShapeMapping", "int"),
    6: ("imageInputShapeMapping", "int"), 100: ("stringClassLabels", _STRINGS), 101: ("int64ClassLabels", _INTEGERS),
    200: ("labelProbabilityLayerName", "text")})  # fmt: skip
# Layers that contain networks.
_BRANCH.add(1, "ifBranch", NETWORK)
_BRANCH.add(2, "elseBranch", NETWORK)
_LOOP.add(3, "conditionNetwork", NETWORK)
_LOOP.add(4, "bodyNetwork", NETWORK)
