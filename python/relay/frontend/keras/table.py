"""The list of imported layers and operations, with their converters."""

from __future__ import annotations

from ... import op
from . import (
    activations,
    attention,
    audio,
    contrast,
    conv,
    convlstm,
    linear,
    lookup,
    merge,
    norm,
    operations,
    operations_nn,
    pool,
    preprocessing,
    recurrent,
)
from . import shape as shapes
from .config import Layer

_POOLS = {
    f"{name}{rank}D": maker(kind, rank)
    for rank in (1, 2, 3)
    for kind in ("Max", "Average")
    for name, maker in (
        (f"{kind}Pooling", pool.pool),
        (f"Global{kind}Pooling", pool.whole),
        (f"Adaptive{kind}Pooling", pool.adaptive),
    )
}
_BY_RANK = {
    f"{name}{rank}D": maker(rank)
    for rank in (1, 2, 3)
    for name, maker in (
        ("ZeroPadding", shapes.zero_padding),
        ("Cropping", shapes.cropping),
        ("UpSampling", shapes.up_sampling),
        ("ConvLSTM", convlstm.conv_lstm),
    )
}
_CONVOLUTIONS = {
    **dict.fromkeys(("Conv1D", "Conv2D", "Conv3D"), conv.conv),
    **dict.fromkeys(("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose"), conv.transposed),
    **dict.fromkeys(("DepthwiseConv1D", "DepthwiseConv2D"), conv.depthwise),
    **dict.fromkeys(("SeparableConv1D", "SeparableConv2D"), conv.separable),
}
_SAME = dict.fromkeys(
    ("Identity", "Dropout", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", "AlphaDropout",
     "GaussianDropout", "GaussianNoise", "ActivityRegularization"),
    shapes.identity,
)  # fmt: skip
_UNCHANGED_IMAGES = dict.fromkeys(
    ("AugMix", "CutMix", "MixUp", "RandAugment", "RandomBrightness", "RandomColorDegeneration", "RandomColorJitter",
     "RandomContrast", "RandomElasticTransform", "RandomErasing", "RandomFlip", "RandomGaussianBlur", "RandomGrayscale",
     "RandomHue", "RandomInvert", "RandomPerspective", "RandomPosterization", "RandomRotation", "RandomSaturation",
     "RandomSharpness", "RandomShear", "RandomTranslation", "RandomZoom", "RandomWidth", "RandomHeight",
     "Equalization", "MaxNumBoundingBoxes", "Solarization"),
    preprocessing.unchanged_image,
)  # fmt: skip

# By class. Other names of the same classes are in ALIASES.
LAYERS = {
    **_POOLS, **_BY_RANK, **_CONVOLUTIONS, **_SAME, **_UNCHANGED_IMAGES,
    "Dense": linear.dense, "EinsumDense": linear.einsum_dense, "Embedding": linear.embedding,
    "ReversibleEmbedding": linear.reversible_embedding, "Dot": linear.dot,
    "Activation": activations.activation, "ReLU": activations.relu_layer, "LeakyReLU": activations.leaky_relu_layer,
    "ELU": activations.elu_layer, "ThresholdedReLU": activations.thresholded_relu,
    "Softmax": activations.softmax_layer, "PReLU": activations.prelu,
    "BatchNormalization": norm.batch_normalization, "LayerNormalization": norm.layer_normalization,
    "RMSNormalization": norm.rms_normalization, "GroupNormalization": norm.group_normalization,
    "UnitNormalization": norm.unit_normalization, "SpectralNormalization": norm.spectral_normalization,
    "Normalization": norm.normalization, "LayerScale": norm.layer_scale, "CustomScaleLayer": norm.scaled_sum,
    "Flatten": shapes.flatten, "Reshape": shapes.reshape, "Permute": shapes.permute,
    "RepeatVector": shapes.repeat_vector,
    "Add": merge.folded(op.add), "Subtract": merge.subtract, "Average": merge.average,
    "Multiply": merge.folded(op.multiply, merge.one_if_masked),
    "Maximum": merge.folded(op.maximum, merge.other_if_masked),
    "Minimum": merge.folded(op.minimum, merge.other_if_masked), "Concatenate": merge.concatenate,
    "LSTM": recurrent.layer_of_cell(recurrent.lstm_cell), "GRU": recurrent.layer_of_cell(recurrent.gru_cell),
    "SimpleRNN": recurrent.layer_of_cell(recurrent.simple_cell), "RNN": recurrent.rnn,
    "CuDNNLSTM": recurrent.layer_of_cell(recurrent.lstm_cell, is_cudnn=True),
    "CuDNNGRU": recurrent.layer_of_cell(recurrent.gru_cell, is_cudnn=True),
    **{f"{kind}Cell": recurrent.cell_alone(f"{kind}Cell") for kind in ("LSTM", "GRU", "SimpleRNN")},
    "StackedRNNCells": recurrent.stacked_cells,
    "Bidirectional": recurrent.bidirectional, "TimeDistributed": recurrent.time_distributed,
    "Attention": attention.attention, "AdditiveAttention": attention.additive_attention,
    "MultiHeadAttention": attention.multi_head_attention, "GroupQueryAttention": attention.group_query_attention,
    "Masking": preprocessing.masking, "Rescaling": preprocessing.rescaling, "Resizing": preprocessing.resizing,
    "CenterCrop": preprocessing.center_crop, "RandomCrop": preprocessing.random_crop,
    "CategoryEncoding": preprocessing.category_encoding, "Discretization": preprocessing.discretization,
    "IntegerLookup": lookup.integer_lookup, "StringLookup": lookup.string_lookup,
    "Pipeline": preprocessing.pipeline,
    "AutoContrast": contrast.auto_contrast, "ContrastLimitedAdaptiveHistogramEqualization": contrast.clahe,
    "STFTSpectrogram": audio.stft_spectrogram, "MelSpectrogram": audio.mel_spectrogram,
}  # fmt: skip
ALIASES = {
    **{f"Convolution{rank}D": f"Conv{rank}D" for rank in (1, 2, 3)},
    **{f"Convolution{rank}DTranspose": f"Conv{rank}DTranspose" for rank in (2, 3)},
    **{f"SeparableConvolution{rank}D": f"SeparableConv{rank}D" for rank in (1, 2)},
    **{f"{g}{a}Pool{rank}D": f"{g}{b}Pooling{rank}D" for g in ("", "Global") for a, b in (("Max", "Max"),
       ("Avg", "Average")) for rank in (1, 2, 3)},
    "BatchNormalizationV1": "BatchNormalization", "BatchNormalizationV2": "BatchNormalization",
    "SyncBatchNormalization": "BatchNormalization", "LSTMV1": "LSTM", "LSTMV2": "LSTM", "GRUV1": "GRU",
    "GRUV2": "GRU", "GroupedQueryAttention": "GroupQueryAttention",
}  # fmt: skip
# Layers that keep the mask of their input. Those that change or make one return it.
KEEPS_MASK = {
    *_SAME, "Activation", "ReLU", "LeakyReLU", "ELU", "ThresholdedReLU", "Softmax", "PReLU", "Dense", "EinsumDense",
    "BatchNormalization", "SyncBatchNormalization", "LayerNormalization", "RMSNormalization", "GroupNormalization",
    "UnitNormalization", "Rescaling",
}  # fmt: skip
# Layers whose inputs keep their type, because they take integers or convert them.
CASTS_NOTHING = {"Embedding", "CategoryEncoding", "Discretization", "IntegerLookup", "StringLookup"}
# Layers whose inputs may be texts.
TAKES_TEXTS = {"StringLookup"}

_OPS = operations
_UNARY = {
    "Absolute": op.abs, "Abs": op.abs, "Negative": op.negative, "Square": lambda x: op.multiply(x, x),
    "Sign": op.sign, "Floor": op.floor, "Ceil": op.ceil, "Round": op.round, "Trunc": op.trunc, "Relu6": lambda x:
    op.clip(x, 0.0, 6.0), "Isnan": op.isnan, "Isinf": op.isinf, "Isfinite": op.isfinite,
    "LogicalNot": lambda x: op.logical_not(op.cast(x, "bool")), "Identity": lambda x: x, "StopGradient": lambda x: x,
    "Ravel": lambda x: op.reshape(x, newshape=[-1]), "Copy": lambda x: x,
}  # fmt: skip
_UNARY_FLOAT = {
    "Sqrt": op.sqrt, "Rsqrt": op.rsqrt, "Exp": op.exp, "Expm1": op.expm1, "Log": op.log, "Log1p": op.log1p,
    "Log2": op.log2, "Log10": op.log10, "Sin": op.sin, "Cos": op.cos, "Tan": op.tan, "Sinh": op.sinh,
    "Cosh": op.cosh, "Tanh": op.tanh, "Arcsin": op.asin, "Arccos": op.acos, "Arctan": op.atan, "Arcsinh": op.asinh,
    "Arccosh": op.acosh, "Arctanh": op.atanh, "Erf": op.erf, "Sigmoid": op.sigmoid, "Softplus": op.nn.softplus,
    "Reciprocal": lambda x: op.divide(op.ones_like(x), x), "Silu": activations.silu, "Softsign": activations.softsign,
    "Selu": activations.selu, "Mish": activations.mish, "HardSilu": activations.FUNCTIONS["hard_silu"],
    "HardTanh": activations.FUNCTIONS["hard_tanh"], "LogSigmoid": activations.FUNCTIONS["log_sigmoid"],
    "SparsePlus": activations.sparse_plus, "SparseSigmoid": activations.FUNCTIONS["sparse_sigmoid"],
    "TanhShrink": activations.FUNCTIONS["tanh_shrink"],
}  # fmt: skip
_BINARY = {
    "Add": op.add, "Subtract": op.subtract, "Multiply": op.multiply, "Maximum": op.maximum, "Minimum": op.minimum,
    "Power": op.power, "FloorDivide": op.floor_divide, "Mod": op.floor_mod, "Equal": op.equal,
    "NotEqual": op.not_equal, "Greater": op.greater, "GreaterEqual": op.greater_equal, "Less": op.less,
    "LessEqual": op.less_equal, "LogicalAnd": op.logical_and, "LogicalOr": op.logical_or,
    "LogicalXor": op.logical_xor, "SquaredDifference": lambda a, b: op.power(op.subtract(a, b), op.full_like(
        a, operations.number(2, operations.dtype_of(a)))),
}  # fmt: skip
# Operations of keras.ops by their class.
OPERATIONS = {
    **{name: _OPS.unary(one) for name, one in _UNARY.items()},
    **{name: _OPS.unary_float(one) for name, one in _UNARY_FLOAT.items()},
    **{name: _OPS.binary(one) for name, one in _BINARY.items()},
    "Divide": _OPS.divide, "TrueDivide": _OPS.divide,
    "Relu": _OPS.activation("relu", "negative_slope", "max_value", "threshold"),
    "ReLU": _OPS.activation("relu", "negative_slope", "max_value", "threshold"),
    "LeakyRelu": _OPS.activation("leaky_relu", "negative_slope"), "Elu": _OPS.activation("elu", "alpha"),
    "Celu": _OPS.activation("celu", "alpha"), "Gelu": _OPS.activation("gelu", "approximate"),
    "Glu": _OPS.activation("glu", "axis"), "HardSigmoid": _OPS.activation("hard_sigmoid"),
    "Softmax": _OPS.activation("softmax", "axis"), "LogSoftmax": _OPS.activation("log_softmax", "axis"),
    "Sparsemax": _OPS.activation("sparsemax", "axis"), "Squareplus": _OPS.activation("squareplus", "b"),
    "SoftShrink": _OPS.activation("soft_shrink", "threshold"),
    "HardShrink": _OPS.activation("hard_shrink", "threshold"),
    "Sum": _OPS.reduction(op.sum), "Mean": _OPS.reduction(op.mean, in_floats=True), "Max": _OPS.reduction(op.max),
    "Min": _OPS.reduction(op.min), "Prod": _OPS.reduction(op.prod), "Amax": _OPS.reduction(op.max),
    "Amin": _OPS.reduction(op.min), "Any": _OPS.reduction(_OPS._logical(op.any)),
    "All": _OPS.reduction(_OPS._logical(op.all)), "Var": _OPS.reduction(op.variance, in_floats=True),
    "Std": _OPS.reduction(_OPS._deviation, in_floats=True), "Logsumexp": _OPS.reduction(op.logsumexp, in_floats=True),
    "Norm": _OPS.norm, "Normalize": _OPS.normalize,
    "Argmax": _OPS.arg_reduction(op.argmax), "Argmin": _OPS.arg_reduction(op.argmin), "Sort": _OPS.sort,
    "Argsort": _OPS.argsort, "TopK": _OPS.top_k, "Cumsum": _OPS.cumulative(op.cumsum),
    "Cumprod": _OPS.cumulative(op.cumprod),
    "Reshape": _OPS.reshape, "Transpose": _OPS.transpose, "Swapaxes": _OPS.permuted(_OPS._swapped),
    "Moveaxis": _OPS.permuted(_OPS._moved), "ExpandDims": _OPS.expand_dims, "Squeeze": _OPS.squeeze,
    "Concatenate": _OPS.concatenate, "Stack": _OPS.stack, "Split": _OPS.split, "Unstack": _OPS.unstack,
    "Tile": _OPS.tile, "Repeat": _OPS.repeat, "Flip": _OPS.flip, "Roll": _OPS.roll, "Pad": _OPS.pad,
    "BroadcastTo": _OPS.broadcast_to, "GetItem": _OPS.get_item, "Take": _OPS.take,
    "TakeAlongAxis": _OPS.take_along_axis, "Where": _OPS.where, "Clip": _OPS.clip, "Cast": _OPS.to_type,
    "OnesLike": _OPS.full_like(1), "ZerosLike": _OPS.full_like(0), "FullLike": _OPS.full_like(None),
    "OneHot": _OPS.one_hot, "Matmul": _OPS.matmul, "Dot": _OPS.dot, "Tensordot": _OPS.tensordot,
    "Einsum": _OPS.einsum, "MaxPool": operations_nn.pool("Max"), "AveragePool": operations_nn.pool("Average"),
    "Resize": operations_nn.resize, "DotProductAttention": operations_nn.dot_product_attention,
    "Triu": operations_nn.triangle(True), "Tril": operations_nn.triangle(False), "Logaddexp": operations_nn.logaddexp,
    "Outer": operations_nn.outer,
}  # fmt: skip
# The operations that TensorFlow's functions in TFOpLambda are. Prefixes such as "math." are left out.
_TENSORFLOW = {
    "add": "Add", "subtract": "Subtract", "multiply": "Multiply", "divide": "Divide", "truediv": "Divide",
    "floordiv": "FloorDivide", "floormod": "Mod", "mod": "Mod", "pow": "Power", "maximum": "Maximum",
    "minimum": "Minimum", "abs": "Absolute", "negative": "Negative", "square": "Square", "sqrt": "Sqrt",
    "rsqrt": "Rsqrt", "exp": "Exp", "log": "Log", "log1p": "Log1p", "sin": "Sin", "cos": "Cos", "tanh": "Tanh",
    "sigmoid": "Sigmoid", "relu": "Relu", "relu6": "Relu6", "leaky_relu": "LeakyRelu", "elu": "Elu", "gelu": "Gelu",
    "selu": "Selu", "silu": "Silu", "swish": "Silu", "softmax": "Softmax", "log_softmax": "LogSoftmax",
    "softplus": "Softplus", "softsign": "Softsign", "floor": "Floor", "ceil": "Ceil", "round": "Round",
    "sign": "Sign", "erf": "Erf", "reduce_sum": "Sum", "reduce_mean": "Mean", "reduce_max": "Max",
    "reduce_min": "Min", "reduce_prod": "Prod", "reduce_any": "Any", "reduce_all": "All", "argmax": "Argmax",
    "argmin": "Argmin", "cumsum": "Cumsum", "reshape": "Reshape", "transpose": "Transpose",
    "expand_dims": "ExpandDims", "squeeze": "Squeeze", "concat": "Concatenate", "concatenate": "Concatenate",
    "stack": "Stack", "unstack": "Unstack", "split": "Split", "tile": "Tile", "repeat": "Repeat", "reverse": "Flip",
    "pad": "Pad", "broadcast_to": "BroadcastTo", "getitem": "GetItem", "gather": "Take", "where": "Where",
    "clip_by_value": "Clip", "cast": "Cast", "ones_like": "OnesLike", "zeros_like": "ZerosLike", "one_hot": "OneHot",
    "matmul": "Matmul", "tensordot": "Tensordot", "einsum": "Einsum", "equal": "Equal", "not_equal": "NotEqual",
    "greater": "Greater", "greater_equal": "GreaterEqual", "less": "Less", "less_equal": "LessEqual",
    "logical_and": "LogicalAnd", "logical_or": "LogicalOr", "logical_not": "LogicalNot",
    "squared_difference": "SquaredDifference", "identity": "Identity", "stop_gradient": "StopGradient",
    "reduce_logsumexp": "Logsumexp", "reduce_variance": "Var", "reduce_std": "Std", "bias_add": "Add",
}  # fmt: skip


def _tensorflow(c):
    name = str(c("function", "")).rpartition(".")[2]
    if name == "l2_normalize":
        return operations.l2_normalize(c)
    for foreign, own in (("y", "x2"), ("b", "x2"), ("x", "x1"), ("a", "x1"), ("input", "x"), ("value", "x2"),
                         ("bias", "x2")):  # fmt: skip
        if foreign in c.kwargs and not (foreign == "x" and name == "where"):
            c.kwargs.setdefault(own, c.kwargs[foreign])
    if name == "leaky_relu":
        c.kwargs.setdefault("negative_slope", c.kwargs.get("alpha", 0.2))
    if name == "where":
        c.kwargs.update(x1=c.kwargs.get("x"), x2=c.kwargs.get("y"))
    return OPERATIONS[_TENSORFLOW[name]](c)


def converter_of(layer: Layer):
    """Returns the converter of a layer or an operation, or None."""
    if layer.kind in ("TFOpLambda", "SlicingOpLambda"):
        name = str(layer.config.get("function", "")).rpartition(".")[2]
        return _tensorflow if name in _TENSORFLOW or name == "l2_normalize" else None
    if layer.is_operation and layer.kind in OPERATIONS:
        return OPERATIONS[layer.kind]
    return LAYERS.get(ALIASES.get(layer.kind, layer.kind))


# Layers that hold functions: those of live models are imported, as Keras traces them.
TRACED = ("Lambda",)
NO_STRINGS = (
    "it makes texts, reads their letters, or hashes",
    "compute it before the model, and pass its result as an input",
)
_WAYS_OUT = {
    "Lambda": (
        "it holds Python code, which is not run",
        "write it with layers or keras.ops and give the model itself, not its file, or give its meaning: "
        "custom_layers={'NAME OF THE LAYER': function}",
    ),
    **dict.fromkeys(("TextVectorization", "Hashing", "HashedCrossing"), NO_STRINGS),
    **dict.fromkeys(
        ("TFSMLayer", "TorchModuleWrapper", "JaxLayer", "FlaxLayer"),
        ("it is a model of another framework", "import that model itself"),
    ),
    "Wrapper": ("it is a base class without a computation", "use the layer that it wraps"),
}


def way_out(layer: Layer) -> tuple[str, str] | None:
    """Returns (reason, remedy) for a layer that will not be imported."""
    if layer.kind == "TFOpLambda":
        return f"TensorFlow's function {layer.config.get('function')}", (
            "write it with layers, or give its meaning: custom_layers={'NAME OF THE LAYER': function}"
        )
    known = _WAYS_OUT.get(layer.kind)
    return (layer.problem, known[1]) if layer.problem and known else known
