"""Stacks of 3 x 3 convolutions (Simonyan and Zisserman, 2014)."""

from ..ir.expr import var
from ..op import nn
from .init import create_workload
from .layers import batch_norm_infer, conv2d_bias, dense_add_bias, function

_COUNTS = {11: [1, 1, 2, 2, 2], 13: [2, 2, 2, 2, 2], 16: [2, 2, 3, 3, 3], 19: [2, 2, 4, 4, 4]}


def get_net(batch_size, image_shape, num_classes, dtype, num_layers=11, batch_norm=False):
    """Returns the network as a function of data and weights."""
    if num_layers not in _COUNTS:
        raise ValueError(f"there is no VGG of {num_layers} layers: {', '.join(map(str, _COUNTS))}")
    body = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    for stage, (count, channels) in enumerate(zip(_COUNTS[num_layers], [64, 128, 256, 512, 512], strict=True), 1):
        for layer in range(1, count + 1):
            name = f"{stage}_{layer}"
            body = conv2d_bias(body, name=f"conv{name}", channels=channels, kernel_size=(3, 3), padding=(1, 1))
            if batch_norm:
                body = batch_norm_infer(body, name=f"bn{name}")
            body = nn.relu(body)
        body = nn.max_pool2d(body, pool_size=(2, 2), strides=(2, 2))
    body = nn.batch_flatten(body)
    for name in ("fc6", "fc7"):
        body = nn.dropout(nn.relu(dense_add_bias(body, units=4096, name=name)), rate=0.5)
    return function(nn.softmax(dense_add_bias(body, units=num_classes, name="fc8")))


def get_workload(
    batch_size, num_classes=1000, image_shape=(3, 224, 224), dtype="float32", num_layers=11, batch_norm=False
):
    """Returns the network as a module, and its weights."""
    return create_workload(get_net(batch_size, image_shape, num_classes, dtype, num_layers, batch_norm))
