"""Blocks of layers with concatenated results, and transitions between the blocks (after Huang et al., 2017).

As in TVM's version, each layer of a block reads only the previous layer, and the block returns all of them.
"""

from ..ir.expr import var
from ..op import concatenate, nn
from .init import create_workload
from .layers import batch_norm_infer, conv2d, dense_add_bias, function

# Channels of the first layer, growth of a layer, layers of each block.
_SIZES = {
    121: (64, 32, [6, 12, 24, 16]),
    161: (96, 48, [6, 12, 36, 24]),
    169: (69, 32, [6, 12, 32, 32]),
    201: (64, 32, [6, 12, 48, 32]),
}


def _norm_relu_conv(data, norm, name, channels, size):
    body = nn.relu(batch_norm_infer(data, name=norm))
    padding = (size // 2, size // 2)
    return conv2d(body, name=name, channels=channels, kernel_size=(size, size), padding=padding)


def get_net(densenet_size, classes, batch_size, image_shape, dtype):
    """Returns the network as a function of data and weights."""
    if densenet_size not in _SIZES:
        raise ValueError(f"there is no DenseNet of size {densenet_size}: {', '.join(map(str, _SIZES))}")
    features, growth, blocks = _SIZES[densenet_size]
    body = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    body = conv2d(body, name="conv1", channels=features, kernel_size=(7, 7), strides=(2, 2), padding=(3, 3))
    body = nn.relu(batch_norm_infer(body, name="batch1"))
    body = nn.max_pool2d(body, pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
    for block, count in enumerate(blocks):
        layers = []
        for layer in range(count):
            name = f"{block}_{layer}"
            body = _norm_relu_conv(body, f"batch_1_{name}", f"conv2d_1_{name}", 4 * growth, 1)
            body = _norm_relu_conv(body, f"batch_2_{name}", f"conv2d_2_{name}", growth, 3)
            layers.append(body)
        body = concatenate(layers, 1)
        features += count * growth
        if block + 1 < len(blocks):
            features //= 2
            body = _norm_relu_conv(body, f"batch_t_{block}", f"conv_t_{block}", features, 1)
            body = nn.avg_pool2d(body, pool_size=(2, 2), strides=(2, 2))
    body = nn.relu(batch_norm_infer(body, name="batch2"))
    body = nn.batch_flatten(nn.avg_pool2d(body, pool_size=(7, 7)))
    return function(dense_add_bias(body, units=classes, name="dense"))


def get_workload(densenet_size=121, classes=1000, batch_size=4, image_shape=(3, 224, 224), dtype="float32"):
    """Returns the network as a module, and its weights."""
    return create_workload(get_net(densenet_size, classes, batch_size, image_shape, dtype))
