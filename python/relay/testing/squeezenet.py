"""A network with few weights: channels are squeezed before each 3 x 3 convolution (Iandola et al., 2016)."""

from ..ir.expr import var
from ..op import concatenate, nn
from .init import create_workload
from .layers import conv2d_bias, function

# Channels of the fire modules (squeezed, of each side), or None for a pooling.
_PLANS = {
    "1.0": ((96, 7, 3), [16, 16, 32, None, 32, 48, 48, 64, None, 64]),
    "1.1": ((64, 3, 1), [16, 16, None, 32, 32, None, 48, 48, 64, 64]),
}


def _conv(data, channels, size, name):
    attributes = {"channels": channels, "kernel_size": (size, size), "padding": (size // 2, size // 2)}
    return nn.relu(conv2d_bias(data, name=name, bias_name=f"{name}_bias", **attributes))


def _fire(data, squeezed, name):
    data = _conv(data, squeezed, 1, f"{name}_input_conv")
    left, right = _conv(data, 4 * squeezed, 1, f"{name}_left_conv"), _conv(data, 4 * squeezed, 3, f"{name}_right_conv")
    return concatenate((left, right), axis=1)


def _pool(data):
    return nn.max_pool2d(data, pool_size=(3, 3), strides=(2, 2))


def get_net(batch_size, image_shape, num_classes, version, dtype):
    """Returns the network as a function of data and weights."""
    if version not in _PLANS:
        raise ValueError(f"there is no SqueezeNet {version}: {', '.join(_PLANS)}")
    (channels, size, padding), fires = _PLANS[version]
    body = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    first = {"channels": channels, "kernel_size": (size, size), "strides": (2, 2), "padding": (padding, padding)}
    body = _pool(nn.relu(conv2d_bias(body, name="conv1", **first)))
    number = 0
    for squeezed in fires:
        if squeezed is None:
            body = _pool(body)
        else:
            number += 1
            body = _fire(body, squeezed, f"fire{number}")
    body = nn.dropout(body, rate=0.5)
    body = nn.relu(conv2d_bias(body, name="conv_final", channels=num_classes, kernel_size=(1, 1)))
    return function(nn.softmax(nn.batch_flatten(nn.global_avg_pool2d(body))))


def get_workload(batch_size=1, num_classes=1000, version="1.0", image_shape=(3, 224, 224), dtype="float32"):
    """Returns the network as a module, and its weights."""
    return create_workload(get_net(batch_size, image_shape, num_classes, version, dtype))
