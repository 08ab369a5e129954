"""Three dense layers for small pictures of digits."""

from ..ir.expr import var
from ..op import nn
from .init import create_workload
from .layers import dense_add_bias, function


def get_net(batch_size, num_classes=10, image_shape=(1, 28, 28), dtype="float32"):
    """Returns the network as a function of data and weights."""
    body = nn.batch_flatten(var("data", shape=(batch_size, *image_shape), dtype=dtype))
    body = nn.relu(dense_add_bias(body, units=128, name="fc1"))
    body = nn.relu(dense_add_bias(body, units=64, name="fc2"))
    return function(nn.softmax(dense_add_bias(body, units=num_classes, name="fc3")))


def get_workload(batch_size, num_classes=10, image_shape=(1, 28, 28), dtype="float32"):
    """Returns the network as a module, and its weights."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
