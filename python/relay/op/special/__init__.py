"""Operators whose Python function is not just "inputs, then attributes": other order, other defaults, numbers as
inputs, several results (then a TupleWrapper), or made of several operators."""

from . import create, fourier, index, nn, random, reduce, resize, shape, vision, window
from .call import operand as operand

FUNCTIONS = {
    **create.FUNCTIONS,
    **fourier.FUNCTIONS,
    **index.FUNCTIONS,
    **nn.FUNCTIONS,
    **random.FUNCTIONS,
    **reduce.FUNCTIONS,
    **resize.FUNCTIONS,
    **shape.FUNCTIONS,
    **vision.FUNCTIONS,
    **window.FUNCTIONS,
}
