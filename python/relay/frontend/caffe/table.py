"""The list of imported layers of Caffe: the converter, and the message with the parameters."""

from __future__ import annotations

from ... import op
from ..shared.problems import Refused
from . import elementwise, linear, norm, recurrent, shape, ssd

_LIST = {
    "AbsVal": (lambda c: op.abs(c.x), ""),
    "ArgMax": (elementwise.argmax, "argmax_param"),
    "BNLL": (elementwise.bnll, ""),
    "BatchNorm": (norm.batch_norm, "batch_norm_param"),
    "BatchReindex": (norm.batch_reindex, ""),
    "Bias": (elementwise.bias, "bias_param"),
    "Clip": (elementwise.clip, "clip_param"),
    "Concat": (shape.concat, "concat_param"),
    "Convolution": (linear.convolution, "convolution_param"),
    "Crop": (shape.crop, "crop_param"),
    "Deconvolution": (linear.deconvolution, "convolution_param"),
    "DetectionOutput": (ssd.detection_output, "detection_output_param"),
    "Dropout": (elementwise.identity, "dropout_param"),
    "ELU": (elementwise.elu, "elu_param"),
    "Eltwise": (elementwise.eltwise, "eltwise_param"),
    "Embed": (linear.embed, "embed_param"),
    "Exp": (elementwise.exp, "exp_param"),
    "Flatten": (shape.flatten, "flatten_param"),
    "Im2col": (linear.im2col, "convolution_param"),
    "InnerProduct": (linear.inner_product, "inner_product_param"),
    "LRN": (norm.lrn, "lrn_param"),
    "LSTM": (recurrent.lstm, "recurrent_param"),
    "Log": (elementwise.log, "log_param"),
    "MVN": (norm.mvn, "mvn_param"),
    "Normalize": (norm.normalize, "norm_param"),
    "PReLU": (elementwise.prelu, "prelu_param"),
    "Permute": (shape.permute, "permute_param"),
    "Pooling": (norm.pooling, "pooling_param"),
    "Power": (elementwise.power, "power_param"),
    "PriorBox": (ssd.prior_box, "prior_box_param"),
    "RNN": (recurrent.rnn, "recurrent_param"),
    "ReLU": (elementwise.relu, "relu_param"),
    "ReLU6": (elementwise.relu6, "relu6_param"),
    "Reduction": (norm.reduction, "reduction_param"),
    "Reshape": (shape.reshape, "reshape_param"),
    "SPP": (norm.spp, "spp_param"),
    "Scale": (elementwise.scale, "scale_param"),
    "Sigmoid": (lambda c: op.sigmoid(c.x), "sigmoid_param"),
    "Silence": (shape.silence, ""),
    "Slice": (shape.slice_, "slice_param"),
    "Softmax": (elementwise.softmax, "softmax_param"),
    "Split": (shape.split, ""),
    "Swish": (elementwise.swish, "swish_param"),
    "TanH": (lambda c: op.tanh(c.x), "tanh_param"),
    "Threshold": (elementwise.threshold, "threshold_param"),
    "Tile": (shape.tile, "tile_param"),
}

_DEPLOY = "import deploy.prototxt, the form of the network for predictions"
_TRAINING = {
    kind: Refused("it has a meaning in training only", _DEPLOY)
    for kind in (
        "Accuracy", "AnnotatedData", "ContrastiveLoss", "Data", "DetectionEvaluate", "DummyData", "EuclideanLoss",
        "HDF5Data", "HDF5Output", "HingeLoss", "ImageData", "InfogainLoss", "MemoryData", "MultiBoxLoss",
        "MultinomialLogisticLoss", "SigmoidCrossEntropyLoss", "SmoothL1Loss", "SoftmaxWithLoss", "WindowData",
    )
}  # fmt: skip
_CODE = Refused("it is a program in Python", "give its meaning: custom_layers={'Python': function}")

CONVERTERS = {kind: convert for kind, (convert, _) in _LIST.items()}
LAYERS = {**CONVERTERS, **_TRAINING, "Python": _CODE}
PARAMETERS = {kind: message for kind, (_, message) in _LIST.items()}
