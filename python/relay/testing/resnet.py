"""Residual networks whose units begin with the normalisation (He et al., Identity Mappings in Deep Residual Networks,
2016)."""

from ..ir.expr import var
from ..op import add, nn
from .init import create_workload
from .layers import batch_norm_infer, conv2d, conv_kernel_layout, dense_add_bias, function

_UNITS = {
    18: [2, 2, 2, 2],
    34: [3, 4, 6, 3],
    50: [3, 4, 6, 3],
    101: [3, 4, 23, 3],
    152: [3, 8, 36, 3],
    200: [3, 24, 36, 3],
    269: [3, 30, 48, 8],
}


class _Layers:
    """The layers in one layout."""

    def __init__(self, layout):
        self.layout = layout

    def norm(self, data, name, **attributes):
        return batch_norm_infer(data, name=name, epsilon=2e-5, axis=self.layout.index("C"), **attributes)

    def norm_relu(self, data, name):
        return nn.relu(self.norm(data, name))

    def conv(self, data, channels, size, stride, name):
        return conv2d(
            data,
            name=name,
            channels=channels,
            kernel_size=(size, size),
            strides=(stride, stride),
            padding=(size // 2, size // 2),
            data_layout=self.layout,
            kernel_layout=conv_kernel_layout(self.layout),
        )

    def unit(self, data, channels, stride, same_shape, name, bottle_neck):
        """Returns data (or a convolution of it) plus two convolutions, or three around a bottleneck."""
        first = body = self.norm_relu(data, f"{name}_bn1")
        inner = channels // 4 if bottle_neck else channels
        steps = (
            [(inner, 1, stride), (inner, 3, 1), (channels, 1, 1)]
            if bottle_neck
            else [(inner, 3, stride), (inner, 3, 1)]
        )
        for number, (width, size, step) in enumerate(steps, 1):
            if number > 1:
                body = self.norm_relu(body, f"{name}_bn{number}")
            body = self.conv(body, width, size, step, f"{name}_conv{number}")
        return add(body, data if same_shape else self.conv(first, channels, 1, stride, f"{name}_sc"))


def _stages(num_layers, height):
    """Returns the units of each stage, the channels before the stages and of each stage, and whether units have a
    bottleneck."""
    if height > 28:
        if num_layers not in _UNITS:
            raise ValueError(f"there is no residual network of {num_layers} layers: {', '.join(map(str, _UNITS))}")
        if num_layers >= 50:
            return _UNITS[num_layers], [64, 256, 512, 1024, 2048], True
        return _UNITS[num_layers], [64, 64, 128, 256, 512], False
    if num_layers >= 164 and (num_layers - 2) % 9 == 0:
        return [(num_layers - 2) // 9] * 3, [16, 64, 128, 256], True
    if num_layers < 164 and (num_layers - 2) % 6 == 0:
        return [(num_layers - 2) // 6] * 3, [16, 16, 32, 64], False
    raise ValueError(f"there is no residual network of {num_layers} layers for images this small: 6 * n + 2, 9 * n + 2")


def get_net(batch_size, num_classes, num_layers=50, image_shape=(3, 224, 224), layout="NCHW", dtype="float32"):
    """Returns the network as a function of data and weights. For small pictures (height up to 28), it has three stages
    and no pooling before them.
    """
    height = image_shape[layout.index("H") - 1]
    units, channels, bottle_neck = _stages(num_layers, height)
    at = _Layers(layout)
    body = at.norm(var("data", shape=(batch_size, *image_shape), dtype=dtype), "bn_data", scale=False)
    if height <= 32:
        body = at.conv(body, channels[0], 3, 1, "conv0")
    else:
        body = at.norm_relu(at.conv(body, channels[0], 7, 2, "conv0"), "bn0")
        body = nn.max_pool2d(body, pool_size=(3, 3), strides=(2, 2), padding=(1, 1), layout=layout)
    for stage, count in enumerate(units, 1):
        for unit in range(1, count + 1):
            stride = 2 if unit == 1 and stage > 1 else 1
            body = at.unit(body, channels[stage], stride, unit > 1, f"stage{stage}_unit{unit}", bottle_neck)
    body = nn.global_avg_pool2d(at.norm_relu(body, "bn1"), layout=layout)
    return function(nn.softmax(dense_add_bias(nn.batch_flatten(body), units=num_classes, name="fc1")))


def get_workload(
    batch_size=1, num_classes=1000, num_layers=18, image_shape=(3, 224, 224), layout="NCHW", dtype="float32"
):
    """Returns the network as a module, and its weights."""
    return create_workload(get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype))
