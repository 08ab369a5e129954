"""The generator of a DCGAN, which draws pictures (Radford et al., 2015)."""

from ..ir.expr import var
from ..op import nn, reshape, tanh
from .init import create_workload
from .layers import batch_norm_infer, conv2d_transpose, function


def get_net(batch_size, random_len=100, oshape=(3, 64, 64), ngf=128, code=None, layout="NCHW", dtype="float32"):
    """Returns the network as a function of data (random numbers) and weights. oshape is (channels, 64, 64), or (64, 64,
    channels) for NHWC.
    """
    axis = layout.index("C")
    if [size for at, size in enumerate(oshape, 1) if at != axis] != [64, 64]:
        raise ValueError(f"images must be 64 x 64, not {oshape}")
    kernel_layout = {"NCHW": "IOHW", "NHWC": "HWOI"}[layout]

    def enlarge(data, channels, name):
        """Doubles height and width."""
        attributes = {"kernel_size": (4, 4), "strides": (2, 2), "padding": (1, 1)}
        layouts = {"data_layout": layout, "kernel_layout": kernel_layout}
        return conv2d_transpose(data, name=name, channels=channels, **attributes, **layouts)

    body = var("data", shape=(batch_size, random_len), dtype=dtype) if code is None else code
    body = nn.relu(nn.dense(body, var("dense_weight"), units=16 * ngf * 8))
    body = reshape(body, (-1, ngf * 8, 4, 4) if axis == 1 else (-1, 4, 4, ngf * 8))
    for name, factor in [("g2", 4), ("g3", 2), ("g4", 1)]:
        body = enlarge(body, ngf * factor, f"{name}_deconv")
        body = nn.relu(batch_norm_infer(body, name=f"{name}_batch_norm", axis=axis, epsilon=1e-5 + 1e-12, scale=False))
    return function(tanh(enlarge(body, oshape[axis - 1], "g5_deconv")))


def get_workload(batch_size, oshape=(3, 64, 64), ngf=128, random_len=100, layout="NCHW", dtype="float32"):
    """Returns the network as a module, and its weights."""
    return create_workload(get_net(batch_size, random_len, oshape, ngf, layout=layout, dtype=dtype))
