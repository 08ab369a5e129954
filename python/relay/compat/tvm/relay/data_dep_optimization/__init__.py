"""relay.data_dep_optimization: rewrites of weights that are parameters."""

import types as _types

from relay.transform import weights as _weights

simplify_fc_transpose = _types.SimpleNamespace(convert=_weights.simplify_fc_transpose)
bsr_dense = _types.SimpleNamespace(convert=_weights.sparse_dense)


def _convolutions(func, params, blocksize, sparsity_threshold, layout="NHWC", kernel_size=1):
    """Returns the function with nn.sparse_conv2d for sufficiently sparse weights, and its parameters."""
    if kernel_size != 1:
        raise NotImplementedError("sparse convolutions must have a window of one pixel: kernel_size=1")
    return _weights.sparse_conv2d(func, params, blocksize, sparsity_threshold, layout)


bsr_conv2d = _types.SimpleNamespace(convert=_convolutions, convert2=_convolutions)

__all__ = ["bsr_conv2d", "bsr_dense", "simplify_fc_transpose"]
