"""The list of imported layers of neural networks, with their converters."""

from __future__ import annotations

from ... import op
from ..shared import draws
from ..shared.problems import Refused
from . import draws as layers_draws
from . import functions as f
from . import layers_control, layers_elements, layers_images, layers_sequences, layers_shape, layers_windows
from .layers_elements import alike, compare, numeric, reduction
from .network_schema import LAYERS as _ALL

_RANDOM = {
    "Normal": (draws.normal, "mean", "stdDev"), "Uniform": (draws.uniform, "minVal", "maxVal"),
    "Bernoulli": (draws.bernoulli, "prob"),
}  # fmt: skip
_UNARY = {
    "acos": op.acos, "acosh": op.acosh, "asin": op.asin, "asinh": op.asinh, "atan": op.atan, "atanh": op.atanh,
    "ceil": op.ceil, "cos": op.cos, "cosh": op.cosh, "erf": op.erf, "exp2": f.power_of_two, "floor": op.floor,
    "round": op.round, "sign": op.sign, "sin": op.sin, "sinh": op.sinh, "tan": op.tan, "tanh": op.tanh,
}  # fmt: skip
_BROADCASTABLE = {
    "add": op.add, "divide": op.divide, "floorDiv": lambda a, b: op.floor(op.divide(a, b)), "max": op.maximum,
    "min": op.minimum, "mod": op.floor_mod, "multiply": op.multiply, "pow": op.power, "subtract": op.subtract,
}  # fmt: skip
_COMPARISONS = {
    "equal": op.equal, "greaterEqual": op.greater_equal, "greaterThan": op.greater, "lessEqual": op.less_equal,
    "lessThan": op.less, "notEqual": op.not_equal,
}  # fmt: skip
_REDUCTIONS = {
    "L1": "l1_norm", "L2": "l2_norm", "LogSum": "log_sum", "LogSumExp": "log_sum_exp", "Max": "max", "Mean": "mean",
    "Min": "min", "Prod": "prod", "Sum": "sum", "SumSquare": "sum_square",
}  # fmt: skip

LAYERS = {
    **{name: (lambda c, function=function: function(c.x)) for name, function in _UNARY.items()},
    **{f"{name}Broadcastable": alike(function) for name, function in _BROADCASTABLE.items()},
    **{name: compare(function) for name, function in _COMPARISONS.items()},
    **{f"reduce{name}": reduction(kind) for name, kind in _REDUCTIONS.items()},
    **{f"random{kind}{form}": layers_draws.layer(form, *how) for kind, how in _RANDOM.items()
       for form in ("Like", "Static", "Dynamic")},
    # --- elements ---
    "activation": layers_elements.activation,
    "add": numeric(op.add, True),
    "average": layers_elements.average,
    "bias": layers_elements.bias,
    "categoricalDistribution": layers_draws.categorical,
    "clampedReLU": layers_elements.clamped_relu,
    "clip": layers_elements.clip,
    "copy": lambda c: c.x,
    "dot": layers_elements.dot,
    "gelu": layers_elements.gelu,
    "logicalAnd": layers_elements.logical(op.logical_and),
    "logicalNot": layers_elements.logical_not,
    "logicalOr": layers_elements.logical(op.logical_or),
    "logicalXor": layers_elements.logical(op.logical_xor),
    "max": numeric(op.maximum),
    "min": numeric(op.minimum),
    "multiply": numeric(op.multiply, True),
    "scale": layers_elements.scale,
    "unary": layers_elements.unary,
    "whereBroadcastable": layers_elements.where,
    # --- normalisations and reductions ---
    "argMax": layers_elements.place_of(op.argmax),
    "argMin": layers_elements.place_of(op.argmin),
    "batchnorm": layers_elements.batch_norm,
    "cumSum": layers_elements.cumsum,
    "l2normalize": layers_elements.l2_normalize,
    "layerNormalization": layers_elements.layer_norm,
    "lrn": layers_elements.lrn,
    "mvn": layers_elements.mvn,
    "reduce": layers_elements.reduce,
    "softmax": layers_elements.softmax,
    "softmaxND": layers_elements.softmax_nd,
    # --- windows and products ---
    "batchedMatmul": layers_windows.batched_matmul,
    "convolution": layers_windows.convolution,
    "convolution3d": layers_windows.convolution3d,
    "embedding": layers_windows.embedding,
    "embeddingND": layers_windows.embedding_nd,
    "globalPooling3d": layers_windows.global_pooling3d,
    "innerProduct": layers_windows.inner_product,
    "pooling": layers_windows.pooling,
    "pooling3d": layers_windows.pooling3d,
    # --- sequences ---
    "biDirectionalLSTM": layers_sequences.bidirectional_lstm,
    "gru": layers_sequences.gru,
    "sequenceRepeat": layers_sequences.repeat,
    "simpleRecurrent": layers_sequences.simple,
    "uniDirectionalLSTM": layers_sequences.lstm,
    # --- images ---
    "crop": layers_images.crop,
    "cropResize": layers_images.crop_resize,
    "NonMaximumSuppression": layers_images.suppression,
    "padding": layers_images.padding,
    "reorganizeData": layers_images.reorganize,
    "resizeBilinear": layers_images.resize_bilinear,
    "upsample": layers_images.upsample,
    # --- shapes ---
    "argSort": layers_shape.argsort,
    "broadcastToDynamic": layers_shape.broadcast_dynamic,
    "broadcastToLike": layers_shape.broadcast_like,
    "broadcastToStatic": layers_shape.broadcast_static,
    "concat": layers_shape.concat,
    "concatND": layers_shape.concat_nd,
    "constantPad": layers_shape.constant_pad,
    "expandDims": layers_shape.expand_dims,
    "fillDynamic": layers_shape.fill_dynamic,
    "fillLike": layers_shape.fill_like,
    "fillStatic": layers_shape.fill_static,
    "flatten": layers_shape.flatten,
    "flattenTo2D": layers_shape.flatten_to_2d,
    "gather": layers_shape.gather,
    "gatherAlongAxis": layers_shape.gather_along_axis,
    "gatherND": layers_shape.gather_nd,
    "getShape": layers_shape.get_shape,
    "loadConstant": layers_shape.load_constant,
    "loadConstantND": layers_shape.load_constant,
    "lowerTriangular": layers_shape.triangular(False),
    "matrixBandPart": layers_shape.band_part,
    "oneHot": layers_shape.one_hot,
    "permute": layers_shape.permute,
    "rangeDynamic": layers_shape.range_dynamic,
    "rangeStatic": layers_shape.range_static,
    "rankPreservingReshape": layers_shape.rank_preserving_reshape,
    "reshape": layers_shape.reshape,
    "reshapeDynamic": layers_shape.reshape_dynamic,
    "reshapeLike": layers_shape.reshape_like,
    "reshapeStatic": layers_shape.reshape_static,
    "reverse": layers_shape.reverse,
    "reverseSeq": layers_shape.reverse_sequence,
    "scatter": layers_shape.scatter,
    "scatterAlongAxis": layers_shape.scatter_along_axis,
    "scatterND": layers_shape.scatter_nd,
    "slice": layers_shape.slice_axis,
    "sliceBySize": layers_shape.slice_by_size,
    "sliceDynamic": layers_shape.slice_dynamic,
    "sliceStatic": layers_shape.slice_static,
    "slidingWindows": layers_shape.sliding_windows,
    "split": layers_shape.split,
    "splitND": layers_shape.split_nd,
    "squeeze": layers_shape.squeeze,
    "stack": layers_shape.stack,
    "tile": layers_shape.tile,
    "topK": layers_shape.top_k,
    "transpose": layers_shape.transpose,
    "upperTriangular": layers_shape.triangular(True),
    "whereNonZero": layers_shape.where_non_zero,
    # --- control flow ---
    "branch": layers_control.branch,
    "custom": layers_control.custom,
    "loop": layers_control.loop,
    "loopBreak": Refused("it leaves a loop in the middle", "let the condition of the loop end it"),
    "loopContinue": Refused("it leaves a step in the middle", "use a branch"),
}  # fmt: skip
# Layers of the first versions, whose tensors have the axes sequence, batch, channels, height, width.
OLD = frozenset(name for number, (name, _) in _ALL.items() if number < 500)
