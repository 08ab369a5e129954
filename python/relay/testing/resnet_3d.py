"""Residual networks over videos (Hara et al., Learning Spatio-Temporal Features with 3D Residual Networks, 2017), whose
units normalise first."""

from ..expr import var
from ..op import add, nn
from .init import create_workload
from .layers import batch_norm_infer, conv3d, conv_kernel_layout, dense_add_bias, function
from .resnet import _stages


class _Layers:
    """The layers in one layout."""

    def __init__(self, layout):
        self.layout = layout

    def norm(self, data, name, **attributes):
        return batch_norm_infer(data, name=name, epsilon=2e-5, axis=self.layout.index("C"), **attributes)

    def norm_relu(self, data, name):
        return nn.relu(self.norm(data, name))

    def conv(self, data, channels, size, stride, name):
        kernel = (size,) * 3 if isinstance(size, int) else size
        return conv3d(
            data,
            name=name,
            channels=channels,
            kernel_size=kernel,
            strides=(stride,) * 3 if isinstance(stride, int) else stride,
            padding=tuple(extent // 2 for extent in kernel),
            data_layout=self.layout,
            kernel_layout=conv_kernel_layout(self.layout),
        )

    def unit(self, data, channels, stride, same_shape, name, bottle_neck):
        """data (or a convolution of it) plus two convolutions, or three around a narrow middle."""
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


def get_net(batch_size, num_classes, num_layers=50, image_shape=(3, 16, 112, 112), layout="NCDHW", dtype="float32"):
    """As a function of data and the weights: channels, frames, height, width in image_shape. Small pictures (height up
    to 28) have three stages and no pooling in front."""
    height = image_shape[layout.index("H") - 1]
    units, channels, bottle_neck = _stages(num_layers, height)
    at = _Layers(layout)
    body = at.norm(var("data", shape=(batch_size, *image_shape), dtype=dtype), "bn_data", scale=False)
    if height <= 32:
        body = at.conv(body, channels[0], 3, 1, "conv0")
    else:
        body = at.norm_relu(at.conv(body, channels[0], (3, 7, 7), (1, 2, 2), "conv0"), "bn0")
        body = nn.max_pool3d(body, pool_size=(3, 3, 3), strides=(2, 2, 2), padding=(1, 1, 1), layout=layout)
    for stage, count in enumerate(units, 1):
        for unit in range(1, count + 1):
            stride = 2 if unit == 1 and stage > 1 else 1
            body = at.unit(body, channels[stage], stride, unit > 1, f"stage{stage}_unit{unit}", bottle_neck)
    body = nn.global_avg_pool3d(at.norm_relu(body, "bn1"), layout=layout)
    return function(nn.softmax(dense_add_bias(nn.batch_flatten(body), units=num_classes, name="fc1")))


def get_workload(
    batch_size=1, num_classes=1000, num_layers=18, image_shape=(3, 16, 112, 112), layout="NCDHW", dtype="float32"
):
    """As a module, and its weights."""
    return create_workload(get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype))
