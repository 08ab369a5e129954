"""Operators whose Python function is not just "inputs, then attributes". They have another order, other defaults,
numbers as inputs, several results (a TupleWrapper), or a definition by several operators."""

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
