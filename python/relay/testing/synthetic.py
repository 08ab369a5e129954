"""A small network with a dense layer, a convolution, a normalisation and a softmax, in two branches."""

from ..ir.expr import var
from ..op import add, nn, reshape, reshape_like
from .init import Constant, create_workload
from .layers import batch_norm_infer, function


def get_net(input_shape=(1, 3, 24, 12), dtype="float32", wtype=None):
    """Returns the network as a function of data and weights, which have the element type wtype."""
    data = var("data", shape=input_shape, dtype=dtype)
    _, channels, _, width = input_shape

    def both(source, number):
        """Returns a dense layer along the last axis plus a convolution."""
        weight = var(f"dense{number}_weight", shape=(width, width), dtype=wtype or dtype)
        dense = reshape_like(nn.relu(nn.dense(reshape(source, (-1, width)), weight)), data)
        weight = var(f"conv{number}_weight", shape=(channels, channels, 3, 3), dtype=wtype or dtype)
        return add(dense, nn.softmax(nn.conv2d(source, weight, padding=1, kernel_size=3)))

    middle = batch_norm_infer(nn.bias_add(both(data, ""), var("bias", dtype=wtype or dtype)), name="batch_norm")
    return function(both(middle, 2))


def get_workload(input_shape=(1, 3, 24, 12), dtype="float32", wtype=None):
    """Returns the network as a module, and its weights, which are constant."""
    return create_workload(get_net(input_shape, dtype, wtype), Constant())
