"""The network that plays from the last four pictures of a screen (Mnih et al., Nature 518, 2015)."""

from ..ir.expr import var
from ..op import nn
from .init import create_workload
from .layers import conv2d, conv_kernel_layout, dense_add_bias, function


def get_net(batch_size, num_actions=18, image_shape=(4, 84, 84), dtype="float32", layout="NCHW"):
    """Returns the network as a function of data and weights."""
    body = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    for number, (channels, kernel, stride) in enumerate([(32, 8, 4), (64, 4, 2), (64, 3, 1)], 1):
        body = conv2d(
            body,
            name=f"conv{number}",
            channels=channels,
            kernel_size=(kernel, kernel),
            strides=(stride, stride),
            data_layout=layout,
            kernel_layout=conv_kernel_layout(layout),
        )
        body = nn.relu(nn.bias_add(body, var(f"conv{number}_bias"), layout.index("C")))
    body = nn.relu(dense_add_bias(nn.batch_flatten(body), units=512, name="dense1"))
    return function(dense_add_bias(body, units=num_actions, name="dense2"))


def get_workload(batch_size, num_actions=18, image_shape=(4, 84, 84), dtype="float32", layout="NCHW"):
    """Returns the network as a module, and its weights."""
    return create_workload(get_net(batch_size, num_actions, image_shape, dtype, layout))
