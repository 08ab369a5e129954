"""Residual networks for videos (Hara et al., Learning Spatio-Temporal Features with 3D Residual Networks, 2017), whose
units begin with the normalisation."""

from ..ir.expr import var
from ..op import nn
from .init import create_workload
from .layers import conv3d, conv_kernel_layout, dense_add_bias, function
from .resnet import _Layers, _stages


class _Layers3d(_Layers):
    """The layers with a frame axis. A size or stride is one number, or three."""

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


def get_net(batch_size, num_classes, num_layers=50, image_shape=(3, 16, 112, 112), layout="NCDHW", dtype="float32"):
    """Returns the network as a function of data and weights. image_shape is (channels, frames, height, width). For
    small pictures (height up to 28), it has three stages and no pooling before them."""
    height = image_shape[layout.index("H") - 1]
    units, channels, bottle_neck = _stages(num_layers, height)
    at = _Layers3d(layout)
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
    """Returns the network as a module, and its weights."""
    return create_workload(get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype))
