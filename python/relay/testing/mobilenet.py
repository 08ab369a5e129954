"""Alternating depthwise and pointwise convolutions (Howard et al., 2017)."""

from ..ir.expr import var
from ..op import nn
from .init import create_workload
from .layers import batch_norm_infer, conv2d, conv_kernel_layout, dense_add_bias, function


def _conv_norm_relu(data, weight, name, norm, layout, size, stride=1, **attributes):
    body = conv2d(
        data,
        weight,
        name=name,
        kernel_size=(size, size),
        strides=(stride, stride),
        padding=(size // 2, size // 2),
        data_layout=layout,
        kernel_layout=conv_kernel_layout(layout, "groups" in attributes),
        **attributes,
    )
    return nn.relu(batch_norm_infer(body, name=norm, epsilon=1e-5, axis=layout.index("C")))


def _separable(data, name, before, after, stride, layout, dtype):
    """Convolves each channel separately, then combines all channels of each position."""
    shape = (before, 1, 3, 3) if layout == "NCHW" else (3, 3, before, 1)
    weight = var(f"{name}_weight", shape=shape, dtype=dtype)
    body = _conv_norm_relu(data, weight, "", f"{name}_bn1", layout, 3, stride, channels=before, groups=before)
    return _conv_norm_relu(body, None, f"{name}_conv2", f"{name}_bn2", layout, 1, channels=after)


def mobile_net(
    num_classes=1000, data_shape=(1, 3, 224, 224), dtype="float32", alpha=1.0, is_shallow=False, layout="NCHW"
):
    """Returns the network as a function of data and weights. `alpha` scales the channels."""

    def scaled(channels):
        return int(channels * alpha)

    body = var("data", shape=data_shape, dtype=dtype)
    first = "conv_block_1"
    body = _conv_norm_relu(body, None, f"{first}_conv", f"{first}_bn", layout, 3, 2, channels=scaled(32))
    steps = [(32, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2)]
    if is_shallow:
        steps += [(512, 1024, 2), (1024, 1024, 2)]
    else:
        steps += [(512, 512, 1)] * 5 + [(512, 1024, 2), (1024, 1024, 1)]
    for number, (before, after, stride) in enumerate(steps, 1):
        name = f"separable_conv_block_{number}"
        body = _separable(body, name, scaled(before), scaled(after), stride, layout, dtype)
    body = nn.batch_flatten(nn.global_avg_pool2d(body, layout=layout))
    return function(nn.softmax(dense_add_bias(body, units=num_classes, name="fc")))


def get_workload(batch_size=1, num_classes=1000, image_shape=(3, 224, 224), dtype="float32", layout="NCHW"):
    """Returns the network as a module, and its weights."""
    return create_workload(mobile_net(num_classes, (batch_size, *image_shape), dtype, layout=layout))
