"""Inception v3 (Szegedy et al., 2015): modules of parallel towers of convolutions."""

from ..ir.expr import var
from ..op import concatenate, nn
from .init import create_workload
from .layers import batch_norm_infer, conv2d, dense_add_bias, function


def _conv(data, name, channels, size=(1, 1), stride=1, pad=(0, 0)):
    body = conv2d(
        data, name=f"{name}_conv1", channels=channels, kernel_size=size, strides=(stride, stride), padding=pad
    )
    return nn.relu(batch_norm_infer(body, name=f"{name}_bn", epsilon=2e-5))


def _pool(data, kind, size, stride, pad):
    attributes = {"pool_size": (size, size), "strides": (stride, stride), "padding": (pad, pad)}
    return (
        nn.max_pool2d(data, **attributes)
        if kind == "max"
        else nn.avg_pool2d(data, count_include_pad=True, **attributes)
    )


# A layer of a tower: (channels, window, stride, padding).
def _same(channels, height, width):
    return channels, (height, width), 1, (height // 2, width // 2)


def _tower(data, name, layers):
    for number, (channels, size, stride, pad) in enumerate(layers):
        data = _conv(data, f"{name}_conv{f'_{number}' if number else ''}", channels, size, stride, pad)
    return data


def _square(data, name, proj):
    """Towers: 1 x 1, 5 x 5, two 3 x 3, pooling."""
    return [
        _conv(data, f"{name}_conv", 64),
        _tower(data, f"{name}_tower", [_same(48, 1, 1), _same(64, 5, 5)]),
        _tower(data, f"{name}_tower_1", [_same(64, 1, 1), _same(96, 3, 3), _same(96, 3, 3)]),
        _conv(_pool(data, "avg", 3, 1, 1), f"{name}_tower_2_conv", proj),
    ]


def _first_reduction(data, name):
    """Halves height and width."""
    return [
        _conv(data, f"{name}_conv", 384, (3, 3), 2),
        _tower(data, f"{name}_tower", [_same(64, 1, 1), _same(96, 3, 3), (96, (3, 3), 2, (0, 0))]),
        _pool(data, "max", 3, 2, 0),
    ]


def _long(data, name, inner):
    """Towers: 1 x 1, windows of 7 along one axis at a time, pooling."""
    seven = [_same(inner, 1, 1), _same(inner, 7, 1), _same(inner, 1, 7), _same(inner, 7, 1), _same(192, 1, 7)]
    return [
        _conv(data, f"{name}_conv", 192),
        _tower(data, f"{name}_tower", [_same(inner, 1, 1), _same(inner, 1, 7), _same(192, 7, 1)]),
        _tower(data, f"{name}_tower_1", seven),
        _conv(_pool(data, "avg", 3, 1, 1), f"{name}_tower_2_conv", 192),
    ]


def _second_reduction(data, name):
    """Halves height and width."""
    seven = [_same(192, 1, 1), _same(192, 1, 7), _same(192, 7, 1), (192, (3, 3), 2, (0, 0))]
    return [
        _tower(data, f"{name}_tower", [_same(192, 1, 1), (320, (3, 3), 2, (0, 0))]),
        _tower(data, f"{name}_tower_1", seven),
        _pool(data, "max", 3, 2, 0),
    ]


def _wide(data, name, pool):
    """Towers: 1 x 1, and two that end in a row and a column next to each other."""

    def ends(data, tower):
        return [
            _conv(data, f"{tower}_mixed_conv", 384, (1, 3), pad=(0, 1)),
            _conv(data, f"{tower}_mixed_conv_1", 384, (3, 1), pad=(1, 0)),
        ]

    return [
        _conv(data, f"{name}_conv", 320),
        *ends(_tower(data, f"{name}_tower", [_same(384, 1, 1)]), f"{name}_tower"),
        *ends(_tower(data, f"{name}_tower_1", [_same(448, 1, 1), _same(384, 3, 3)]), f"{name}_tower_1"),
        _conv(_pool(data, pool, 3, 1, 1), f"{name}_tower_2_conv", 192),
    ]


def get_net(batch_size, num_classes, image_shape, dtype):
    """Returns the network as a function of data and weights."""
    body = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    body = _conv(body, "conv", 32, (3, 3), 2)
    body = _conv(_conv(body, "conv_1", 32, (3, 3)), "conv_2", 64, (3, 3), pad=(1, 1))
    body = _conv(_conv(_pool(body, "max", 3, 2, 0), "conv_3", 80), "conv_4", 192, (3, 3))
    body = _pool(body, "max", 3, 2, 0)
    modules = [
        *((_square, proj) for proj in (32, 64, 64)),
        (_first_reduction,),
        *((_long, inner) for inner in (128, 160, 160, 192)),
        (_second_reduction,),
        (_wide, "avg"),
        (_wide, "max"),
    ]
    for number, (build, *arguments) in enumerate(modules):
        body = concatenate(build(body, f"mixed_{number}" if number else "mixed", *arguments), axis=1)
    body = nn.batch_flatten(_pool(body, "avg", 8, 1, 0))
    return function(nn.softmax(dense_add_bias(body, bias=var("fc2_bias"), units=num_classes, name="fc1")))


def get_workload(batch_size=1, num_classes=1000, image_shape=(3, 299, 299), dtype="float32"):
    """Returns the network as a module, and its weights."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
