# Written by dev/docs.py. Do not edit.
from collections.abc import Callable, Sequence
from typing import Any

from .._core import Dim, Expr, Op
from ..ir.expr import TupleWrapper

def operators() -> dict[str, dict]: ...
def get(name: str) -> Op: ...
def define(
    name: str,
    *,
    inputs: Sequence[str],
    relation: Callable,
    compute: Callable | None = None,
    callback: Callable | None = None,
    attributes: dict | None = None,
    fusion: str = "opaque",
    doc: str = "",
) -> Callable[..., Expr]: ...

def abs(data: Expr | TupleWrapper) -> Expr:
    """Absolute value.

    data: any shape"""
def acos(data: Expr | TupleWrapper) -> Expr:
    """Arc cosine.

    data: any shape"""
def acosh(data: Expr | TupleWrapper) -> Expr:
    """Inverse hyperbolic cosine.

    data: any shape"""
def add(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """lhs + rhs.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def adv_index(inputs: Expr | Sequence[Expr]) -> Expr:
    """Selects slices by a tensor of indices for each of the first axes.

    inputs: a tuple: data, then integers that broadcast (a list of expressions)"""
def all(data: Expr | TupleWrapper, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False) -> Expr:
    """True if all elements are true.

    data: any shape
    axis (list of ints or None): The axes to reduce; None or empty: all.
    keepdims (bool): True to keep reduced axes, with extent 1.
    exclude (bool): True to reduce all other axes instead."""
class annotation:
    @staticmethod
    def bitpack_end(data: Expr | TupleWrapper) -> Expr:
        """Marks the end of a computation on packed bits. The values are the same.

        data: any shape"""
    @staticmethod
    def bitpack_start(data: Expr | TupleWrapper) -> Expr:
        """Marks the beginning of a computation on packed bits. The values are the same.

        data: any shape"""
    @staticmethod
    def bounded(data: Expr | TupleWrapper, axis: int, least: int = 0, most: int | None = None) -> Expr:
        """The same values. The extent along an axis must be in a range.

        data: any shape
        axis (int, required): The axis.
        least (int): Minimum extent.
        most (int or None): Maximum extent; None: no limit."""
    @staticmethod
    def cast_hint(data: Expr | TupleWrapper, dtype: str | None) -> Expr:
        """Annotates data with an element type that it may have. The values are the same.

        data: any shape
        dtype (dtype, required): The element type that data may have."""
    @staticmethod
    def checkpoint(data: Expr | TupleWrapper) -> Expr:
        """Marks a value that a gradient recomputes instead of keeping it. The values are the same.

        data: any shape"""
    @staticmethod
    def compiler_begin(data: Expr | TupleWrapper, compiler: str) -> Expr:
        """Marks an input of a region for another compiler. The values are the same.

        data: any shape
        compiler (string, required): The name of the compiler."""
    @staticmethod
    def compiler_end(data: Expr | TupleWrapper, compiler: str) -> Expr:
        """Marks a result of a region for another compiler. The values are the same.

        data: any shape
        compiler (string, required): The name of the compiler."""
    @staticmethod
    def stop_fusion(data: Expr | TupleWrapper) -> Expr:
        """Keeps the operators on both sides in separate kernels. The values are the same.

        data: any shape"""
def any(data: Expr | TupleWrapper, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False) -> Expr:
    """True if any element is true.

    data: any shape
    axis (list of ints or None): The axes to reduce; None or empty: all.
    keepdims (bool): True to keep reduced axes, with extent 1.
    exclude (bool): True to reduce all other axes instead."""
def arange(start: Expr | TupleWrapper, stop: Expr | TupleWrapper = None, step: Expr | TupleWrapper = None, dtype: str | None = 'float32') -> Any:
    """Evenly spaced values.

    start: the first value
    stop: the exclusive end
    step: the distance between values, other than 0
    start (float or None): The first value, if it is constant.
    stop (float or None): The exclusive end, if it is constant.
    step (float or None): The distance between values, if it is constant.
    dtype (dtype or None): The element type of the result; None: that of the inputs.

    arange(5), arange(1, 5) or arange(0, 1, 0.25), with numbers or expressions."""
def argmax(data: Expr | TupleWrapper, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, select_last_index: bool = False) -> Any:
    """The position of the greatest element.

    data: any shape
    axis (list of ints or None): The axes to search; None or empty: all.
    keepdims (bool): True to keep searched axes, with extent 1.
    select_last_index (bool): True to return the last of equal elements, false the first.
    exclude (bool): True to search all other axes instead."""
def argmin(data: Expr | TupleWrapper, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, select_last_index: bool = False) -> Any:
    """The position of the least element.

    data: any shape
    axis (list of ints or None): The axes to search; None or empty: all.
    keepdims (bool): True to keep searched axes, with extent 1.
    select_last_index (bool): True to return the last of equal elements, false the first.
    exclude (bool): True to search all other axes instead."""
def argsort(data: Expr | TupleWrapper, axis: int = -1, is_ascend: bool = True, dtype: str | None = 'int32') -> Any:
    """The positions of the elements along an axis in sorted order.

    data: any shape with at least one axis
    axis (int): The axis to sort.
    is_ascend (bool): True for ascending order.
    dtype (dtype or None): The element type of positions; None: int32."""
def argwhere(condition: Expr | TupleWrapper) -> Expr:
    """The indices of the non-zero elements, one per row.

    condition: any shape"""
def asin(data: Expr | TupleWrapper) -> Expr:
    """Arc sine.

    data: any shape"""
def asinh(data: Expr | TupleWrapper) -> Expr:
    """Inverse hyperbolic sine.

    data: any shape"""
def atan(data: Expr | TupleWrapper) -> Expr:
    """Arc tangent.

    data: any shape"""
def atanh(data: Expr | TupleWrapper) -> Expr:
    """Inverse hyperbolic tangent.

    data: any shape"""
def bitwise_and(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """Bitwise and.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def bitwise_not(data: Expr | TupleWrapper) -> Expr:
    """Inverts every bit.

    data: any shape"""
def bitwise_or(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """Bitwise or.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def bitwise_xor(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """Bitwise exclusive or.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def blackman_window(size: int, periodic: bool = True, dtype: str | None = 'float32') -> Expr:
    """Blackman's window.

    size (int, required): Number of elements.
    periodic (bool): True for a periodic window, which repeats after its last element.
    dtype (dtype): Element type of the result."""
def broadcast_to(data: Expr | TupleWrapper, shape: int | Sequence[int | str | Dim]) -> Any:
    """Broadcasts data to a shape.

    data: any tensor that broadcasts to the shape of the result
    shape (list of dimensions, required): The shape of the result.
    dtype (dtype or None): Not used; None.

    shape is a list, or an expression, which gives dyn.broadcast_to."""
def broadcast_to_like(data: Expr | TupleWrapper, broadcast_type: Expr | TupleWrapper) -> Expr:
    """Broadcasts data to the shape of another tensor.

    data: any tensor that broadcasts to the shape of the result
    broadcast_type: a tensor with the shape of the result"""
def cast(data: Expr | TupleWrapper, dtype: str | None, saturate: bool = True, round_mode: str = 'up') -> Expr:
    """Converts the elements to another type.

    data: any shape
    dtype (dtype, required): The element type of the result.
    saturate (bool): For floats of at most 8 bits: true if values beyond the greatest become the greatest, and not infinity or NaN.
    round_mode (string): For float8_e8m0fnu: "up", "down" or "nearest"."""
def cast_like(data: Expr | TupleWrapper, dtype_like: Expr | TupleWrapper) -> Expr:
    """Converts the elements to the element type of another tensor.

    data: any shape
    dtype_like: any shape"""
def ceil(data: Expr | TupleWrapper) -> Expr:
    """Rounds up to an integer.

    data: any shape"""
def clip(data: Expr | TupleWrapper, a_min: float, a_max: float) -> Expr:
    """Limits every element to a range.

    data: any shape
    a_min (float, required): Lower bound of the result.
    a_max (float, required): Upper bound of the result."""
def collapse_sum_like(data: Expr | TupleWrapper, collapse_type: Expr | TupleWrapper) -> Expr:
    """Sums over the axes along which a tensor with the shape of another was broadcast.

    data: any shape
    collapse_type: a tensor with the shape of the result, which broadcasts to data"""
def collapse_sum_to(data: Expr | TupleWrapper, shape: Expr | TupleWrapper) -> Any:
    """Sums over the axes along which a tensor was broadcast, whose shape is computed at run time.

    data: any shape
    shape: (rank,) integers: the shape of the result, which broadcasts to that of data

    The shape is a list of integers, or an expression."""
def compress(data: Expr | TupleWrapper, condition: Expr | TupleWrapper, axis: int | None = None) -> Expr:
    """Selects the slices whose condition is true.

    data: any shape
    condition: (n,) bools; n is at most the number of slices
    axis (int or None): The axis; None: the axis of the flattened data."""
def concatenate(data: Expr | Sequence[Expr], axis: int = 0) -> Expr:
    """Concatenates tensors along an axis.

    data: a tuple of tensors whose shapes differ at most along the axis (a list of expressions)
    axis (int): The axis of the concatenation."""
def contrib_reverse_reshape(data: Expr | TupleWrapper, newshape: int | Sequence[int | str | Dim], allowzero: bool = False) -> Expr:
    """reshape with newshape read from right to left.

    data: any shape
    newshape (list of dimensions, required): The new shape; 0 and -1 to -4 have the meanings above.
    allowzero (bool): True if 0 means an extent of zero."""
def copy(data: Expr | TupleWrapper) -> Expr:
    """The same values.

    data: any shape"""
def cos(data: Expr | TupleWrapper) -> Expr:
    """Cosine.

    data: any shape"""
def cosh(data: Expr | TupleWrapper) -> Expr:
    """Hyperbolic cosine.

    data: any shape"""
def cumprod(data: Expr | TupleWrapper, axis: int | None = None, dtype: str | None = None, exclusive: bool = False) -> Expr:
    """Cumulative products along an axis.

    data: any shape
    axis (int or None): The axis; None: the axis of the flattened data.
    dtype (dtype or None): The element type of the result; None: that of the data.
    exclusive (bool): True to exclude each element from its own result."""
def cumsum(data: Expr | TupleWrapper, axis: int | None = None, dtype: str | None = None, exclusive: bool = False) -> Expr:
    """Cumulative sums along an axis.

    data: any shape
    axis (int or None): The axis; None: the axis of the flattened data.
    dtype (dtype or None): The element type of the result; None: that of the data.
    exclusive (bool): True to exclude each element from its own result."""
def debug(program: Expr | TupleWrapper, debug_func: str = '') -> Expr:
    """Marks a point where an observer can read a value. The values are the same.

    program: any shape
    debug_func (string): The name of the observer."""
def define(name: Any, inputs: Any, relation: Any, compute: Any = None, callback: Any = None, gradient: Any = None, attributes: Any = None, fusion: Any = 'opaque', doc: Any = '') -> Expr:
    """Defines an operator for this process, and returns the function that makes calls of it.

        name: words separated by points: "mine.swish" defines the function relay.op.mine.swish.
        inputs: their names. An input that ends in "*" is a tuple of tensors, which is passed as separate arguments.
        attributes: by name, with defaults. All functions below get the attributes by name.

        relation(types of the inputs): returns the type of the result, or a TupleType; an exception refuses the call. Types
        may have sizes that are not numbers (relay.Dim). Each size of a result is an expression over numbers and sizes of
        inputs.
        compute(te.Tensor, ..): returns tensor expressions of the results (relay.te), which are compiled to kernels.
        callback(NumPy arrays): returns the results as arrays, of exactly the types of the relation; an alternative to
        compute. It is called in every run, from any thread, one call at a time. It must not change its inputs, and must
        return the same results for the same inputs.
        gradient(inputs .., result, gradient of the result): returns expressions of the gradients of the inputs, each of its
        input's type, or None for an input that the result does not depend on smoothly. A list, or a single expression for
        an operator of one input.
        fusion: how a tensor expression may share a kernel: "elementwise", "broadcast", "injective", "reduce", "output
        fusable" or "opaque".
"""
def device_copy(data: Expr | TupleWrapper, src_virtual_device: str = '', dst_virtual_device: str = '') -> Expr:
    """Copies data to another device. The values are the same.

    data: any shape
    src_virtual_device (string): The device that data is on.
    dst_virtual_device (string): The device that it goes to."""
def dft(re_data: Expr | TupleWrapper, im_data: Expr | TupleWrapper, inverse: bool = False) -> Any:
    """The discrete Fourier transform along the last axis.

    re_data: real parts, (.., N)
    im_data: imaginary parts, with the same shape
    inverse (bool): True to compute the inverse transform.

    Returns (real parts, imaginary parts)."""
def divide(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """lhs / rhs. Integer quotients are rounded towards zero.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def document(definition: Any) -> Expr:
    """"""
class dyn:
    @staticmethod
    def broadcast_to(data: Expr | TupleWrapper, shape: Expr | TupleWrapper) -> Expr:
        """Broadcasts data to a shape that is computed at run time.

        data: any tensor that broadcasts to the shape of the result
        shape: (rank,) non-negative integers: the shape of the result, to which data broadcasts"""
    @staticmethod
    def expand_dims(data: Expr | TupleWrapper, axis: Expr | TupleWrapper, num_newaxis: int = 1) -> Expr:
        """Inserts axes of extent 1 at a position that is computed at run time.

        data: any shape
        axis: one integer from -rank - 1 to rank: the position of the new axes
        num_newaxis (int): Number of new axes."""
    @staticmethod
    def full(fill_value: Expr | TupleWrapper, shape: Expr | TupleWrapper, dtype: str | None = None) -> Expr:
        """A tensor filled with one value, whose shape is computed at run time.

        fill_value: ()
        shape: (rank,) non-negative sizes: the shape of the result
        dtype (dtype or None): The element type of the result; None: that of fill_value, or float32."""
    class image:
        @staticmethod
        def resize2d(data: Expr | TupleWrapper, size: Expr | TupleWrapper, roi: Expr | TupleWrapper, layout: str = 'NCHW', method: str = 'linear', coordinate_transformation_mode: str = 'half_pixel', rounding_method: str = 'round', cubic_alpha: float = -0.5, cubic_exclude: int = 0, extrapolation_value: float = 0.0, out_dtype: str | None = None) -> Expr:
            """Resizes images to a size that is computed at run time.

            data: (N, C, H, W), in the order of layout
            size: (2,) positive integers: the extents of H and W
            roi: (4,) floats, not used
            layout (string): Order of the axes.
            method (string): "nearest_neighbor", "linear" or "cubic".
            coordinate_transformation_mode (string): Maps positions of the result to data, as in image.resize2d, without tf_crop_and_resize.
            rounding_method (string): Rounding to the nearest element, as in image.resize2d.
            cubic_alpha (float): The parameter of the cubic kernel.
            cubic_exclude (int): True to ignore neighbours outside of data in "cubic".
            extrapolation_value (float): Not used.
            out_dtype (dtype or None): Element type of the result; None: that of data."""
    class nn:
        @staticmethod
        def pad(data: Expr | TupleWrapper, pad_width: Expr | TupleWrapper, pad_val: Expr | TupleWrapper, pad_mode: str = 'constant') -> Expr:
            """Pads a tensor by widths that are computed at run time.

            data: any shape
            pad_width: (rank, 2) integers: elements added before and after each axis; negative values cut elements off
            pad_val: one value
            pad_mode (string): "constant", "edge" or "reflect"."""
        @staticmethod
        def upsampling(data: Expr | TupleWrapper, scale_h: Expr | TupleWrapper, scale_w: Expr | TupleWrapper, layout: str = 'NCHW', method: str = 'nearest_neighbor', align_corners: bool = False) -> Expr:
            """Resizes images by scales that are computed at run time.

            data: (N, C, H, W), in the order of layout
            scale_h: (), a positive float
            scale_w: (), a positive float
            layout (string): Order of the axes.
            method (string): "nearest_neighbor", "bilinear" or "bicubic".
            align_corners (bool): True to align the corners of data and result."""
        @staticmethod
        def upsampling3d(data: Expr | TupleWrapper, scale_d: Expr | TupleWrapper, scale_h: Expr | TupleWrapper, scale_w: Expr | TupleWrapper, layout: str = 'NCDHW', method: str = 'nearest_neighbor', coordinate_transformation_mode: str = 'half_pixel') -> Expr:
            """Resizes volumes by scales that are computed at run time.

            data: (N, C, D, H, W), in the order of layout
            scale_d: (), a positive float
            scale_h: (), a positive float
            scale_w: (), a positive float
            layout (string): Order of the axes.
            method (string): "nearest_neighbor" or "trilinear".
            coordinate_transformation_mode (string): Maps positions of the result to data: half_pixel, align_corners or asymmetric."""
    @staticmethod
    def one_hot(indices: Expr | TupleWrapper, on_value: Expr | TupleWrapper, off_value: Expr | TupleWrapper, depth: Expr | TupleWrapper, axis: int = -1, dtype: str | None = None) -> Expr:
        """One-hot encoding whose new axis has an extent that is computed at run time.

        indices: integers, any shape
        on_value: the value at the index
        off_value: the value elsewhere
        depth: one non-negative integer: the extent of the new axis
        axis (int): Position of the new axis; -1: at the end.
        dtype (dtype or None): The element type of the result; None: that of on_value."""
    @staticmethod
    def ones(shape: Expr | TupleWrapper, dtype: str | None = None) -> Expr:
        """A tensor of ones, whose shape is computed at run time.

        shape: (rank,) non-negative sizes: the shape of the result
        dtype (dtype or None): The element type of the result; None: that of fill_value, or float32."""
    @staticmethod
    def reshape(data: Expr | TupleWrapper, newshape: Expr | TupleWrapper, allowzero: bool = False) -> Expr:
        """Reshapes data to a shape that is computed at run time.

        data: any shape
        newshape: (rank,) integers with the same number of elements; 0 keeps an extent, and one -1 is computed from the rest
        allowzero (bool): True if 0 in newshape means an extent of zero, false if it keeps the extent of data."""
    @staticmethod
    def sparse_to_dense(sparse_indices: Expr | TupleWrapper, sparse_values: Expr | TupleWrapper, default_value: Expr | TupleWrapper, output_shape: Expr | TupleWrapper) -> Expr:
        """Converts a sparse tensor to a dense one, whose shape is computed at run time.

        sparse_indices: integers: (n, rank); for a vector also (n,) or ()
        sparse_values: (n,), or one for all
        default_value: the value elsewhere
        output_shape: (rank,) non-negative integers: the shape of the result"""
    @staticmethod
    def squeeze(data: Expr | TupleWrapper, axes: Expr | TupleWrapper) -> Expr:
        """Drops axes of extent 1 that are computed at run time.

        data: any shape
        axes: (count,) integers: different axes of extent 1"""
    @staticmethod
    def strided_slice(data: Expr | TupleWrapper, begin: Expr | TupleWrapper, end: Expr | TupleWrapper, strides: Expr | TupleWrapper, slice_mode: str = 'end') -> Expr:
        """A strided slice along each axis, whose bounds are computed at run time.

        data: any shape
        begin: (axes,) integers
        end: (axes,) integers
        strides: (axes,) integers, not zero
        slice_mode (string): "end", or "size" if end contains extents."""
    @staticmethod
    def tile(data: Expr | TupleWrapper, reps: Expr | TupleWrapper) -> Expr:
        """Repeats the whole tensor along each axis by counts that are computed at run time.

        data: any shape
        reps: integers, aligned to the last axis"""
    @staticmethod
    def topk(data: Expr | TupleWrapper, k: Expr | TupleWrapper, axis: int = -1, ret_type: str = 'both', is_ascend: bool = False, dtype: str | None = None) -> Expr:
        """The greatest (or least) k elements along an axis in order, and their positions. k is computed at run time.

        data: any shape with at least one axis
        k: () or (1,), an integer, at most the extent of the axis; less than 1: all
        axis (int): The axis to sort.
        ret_type (string): "both" (values, places), "values" or "indices".
        is_ascend (bool): True for ascending order.
        dtype (dtype or None): The element type of positions; None: int32."""
    @staticmethod
    def zeros(shape: Expr | TupleWrapper, dtype: str | None = None) -> Expr:
        """A tensor of zeros, whose shape is computed at run time.

        shape: (rank,) non-negative sizes: the shape of the result
        dtype (dtype or None): The element type of the result; None: that of fill_value, or float32."""
def einsum(data: Expr | Sequence[Expr], equation: str) -> Expr:
    """A sum of products in Einstein notation, with a letter for each axis.

    data: a tuple of tensors (a list of expressions)
    equation (string, required): The axes as letters, such as "ij,jk->ik"."""
def equal(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """lhs == rhs.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def erf(data: Expr | TupleWrapper) -> Expr:
    """The error function.

    data: any shape"""
def erfc(data: Expr | TupleWrapper) -> Expr:
    """1 - erf(data), accurate also where it is small.

    data: any shape"""
def exp(data: Expr | TupleWrapper) -> Expr:
    """e to the power of data.

    data: any shape"""
def expand_dims(data: Expr | TupleWrapper, axis: int, num_newaxis: int = 1) -> Any:
    """Inserts axes of extent 1.

    data: any shape
    axis (int, required): Position of the new axes in the result; -1: at the end.
    num_newaxis (int): Number of new axes.

    axis is a number, or an expression, which gives dyn.expand_dims."""
def expm1(data: Expr | TupleWrapper) -> Expr:
    """exp(data) - 1, accurate also near 0.

    data: any shape"""
def fast_erf(data: Expr | TupleWrapper) -> Expr:
    """The error function, as accurate as erf.

    data: any shape"""
def fast_exp(data: Expr | TupleWrapper) -> Expr:
    """e to the power of data, as accurate as exp.

    data: any shape"""
def fast_tanh(data: Expr | TupleWrapper) -> Expr:
    """Hyperbolic tangent, as accurate as tanh.

    data: any shape"""
def fixed_point_multiply(data: Expr | TupleWrapper, multiplier: int, shift: int) -> Expr:
    """Multiplies by a factor given as an integer and a power of two.

    data: int32, any shape
    multiplier (int, required): A factor, in units of 2^-31.
    shift (int, required): A power of two; negative: a right shift."""
def fixed_point_multiply_per_axis(x: Expr | TupleWrapper, y: Expr | TupleWrapper, lshift: Expr | TupleWrapper, rshift: Expr | TupleWrapper, is_lshift_required: bool = False, is_rshift_required: bool = False, axes: int | Sequence[int] = []) -> Expr:
    """Multiplies along some axes by factors given as integers and powers of two.

    x: int32, any shape
    y: int32, a factor for each index at the axes, in units of 2^-31
    lshift: int32, the shape of y: bits of the left shift of x
    rshift: int32, the shape of y: bits of the right shift of the product
    is_lshift_required (bool): True to apply lshift.
    is_rshift_required (bool): True to apply rshift.
    axes (list of ints): The axes of x along which the factors vary."""
def floor(data: Expr | TupleWrapper) -> Expr:
    """Rounds down to an integer.

    data: any shape"""
def floor_divide(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """lhs / rhs rounded down to an integer.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def floor_mod(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """lhs - rhs * floor_divide(lhs, rhs): the remainder with the sign of rhs.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def full(fill_value: Expr | TupleWrapper, shape: int | Sequence[int | str | Dim] = (), dtype: str | None = None) -> Any:
    """A tensor filled with one value.

    fill_value: one value
    shape (list of dimensions, required): The shape of the result.
    dtype (dtype or None): The element type of the result; None: float32, for full that of fill_value.

    shape is a list, or an expression, which gives dyn.full."""
def full_like(data: Expr | TupleWrapper, fill_value: Expr | TupleWrapper) -> Expr:
    """A tensor filled with one value, with the shape and type of data.

    data: any shape
    fill_value: one value"""
def function_of(definition: Any) -> Any:
    """Returns the function of an operator: its inputs, then its attributes."""
def gather(data: Expr | TupleWrapper, axis: int, indices: Expr | TupleWrapper) -> Any:
    """Selects elements along an axis by a tensor of indices with the same rank.

    data: any shape
    indices: integers, with the shape of the result
    axis (int): The axis that is indexed."""
def gather_nd(data: Expr | TupleWrapper, indices: Expr | TupleWrapper, batch_dims: int = 0, index_rank: int | None = None) -> Expr:
    """Selects slices by index tuples, which are stored along the first axis of indices.

    data: any shape
    indices: integers, (M, ..)
    batch_dims (int): Number of leading axes that data and the result share.
    index_rank (int or None): The extent of the first axis of indices, if its type leaves it open."""
def greater(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """lhs > rhs.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def greater_equal(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """lhs >= rhs.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def hamming_window(size: int, periodic: bool = True, alpha: float = 0.54, dtype: str | None = 'float32') -> Expr:
    """Hamming's window: a raised cosine that does not reach 0.

    size (int, required): Number of elements.
    periodic (bool): True for a periodic window, which repeats after its last element.
    alpha (float): a0.
    dtype (dtype): Element type of the result."""
def hann_window(size: int, periodic: bool = True, dtype: str | None = 'float32') -> Expr:
    """Hann's window: a raised cosine.

    size (int, required): Number of elements.
    periodic (bool): True for a periodic window, which repeats after its last element.
    dtype (dtype): Element type of the result."""
class image:
    @staticmethod
    def affine_grid(data: Expr | TupleWrapper, target_shape: int | Sequence[int | str | Dim]) -> Expr:
        """A sampling grid transformed by affine maps, for image.grid_sample.

        data: matrices, (N, 2, 3)
        target_shape (list of dimensions, required): Extents [H, W] of the grid."""
    @staticmethod
    def crop_and_resize(data: Expr | TupleWrapper, boxes: Expr | TupleWrapper, box_indices: Expr | TupleWrapper, crop_size: int | Sequence[int | str | Dim], layout: str = 'NCHW', method: str = 'bilinear', extrapolation_value: float = 0.0, out_dtype: str | None = None) -> Expr:
        """Crops boxes from images and resizes them to one size.

        data: (N, C, H, W), in the order of layout
        boxes: (boxes, 4): y1, x1, y2, x2, from 0 to 1
        box_indices: (boxes,) integers: the index of the image of each box
        crop_size (list of dimensions, required): Extents [H, W] of the result.
        layout (string): Order of the axes.
        method (string): "bilinear" or "nearest_neighbor".
        extrapolation_value (float): Value for points outside of the image.
        out_dtype (dtype or None): Element type of the result; None: that of data."""
    @staticmethod
    def dilation2d(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, strides: int | Sequence[int] = [1, 1], padding: int | Sequence[int] = [0, 0], dilations: int | Sequence[int] = [1, 1], data_layout: str = 'NCHW', kernel_layout: str = 'IHW', out_dtype: str | None = None) -> Expr:
        """The maximum of data plus weight in a moving window.

        data: (N, C, H, W), in the order of data_layout
        weight: (C, KH, KW)
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Padding around the data: one value, one per axis, or the values before all axes followed by those after all axes.
        dilations (list of ints): Distance between two taps of the window along each axis.
        data_layout (string): Order of the axes of data and result.
        kernel_layout (string): Order of the weight's axes.
        out_dtype (dtype or None): Element type of the result; None: that of data."""
    @staticmethod
    def grid_sample(data: Expr | TupleWrapper, grid: Expr | TupleWrapper, method: str = 'bilinear', layout: str = 'NCHW', padding_mode: str = 'zeros', align_corners: bool = True) -> Expr:
        """Samples images or volumes at the points of a grid, with interpolation.

        data: floats, (N, C, H, W) or (N, C, D, H, W), in the order of layout
        grid: coordinates (x, y) or (x, y, z): (N, 2, H', W') or (N, 3, D', H', W')
        method (string): "nearest", "bilinear" (trilinear for three coordinates) or, for images, "bicubic".
        layout (string): Order of the axes of data: a permutation of NCHW or NCDHW.
        padding_mode (string): "zeros", "border" or "reflection".
        align_corners (bool): True if -1 and 1 are the centres of the outermost elements; false if they are their outer edges."""
    @staticmethod
    def resize1d(data: Expr | TupleWrapper, size: int | Sequence[int | str | Dim], roi: Sequence[float] = None, layout: str = 'NCW', method: str = 'linear', coordinate_transformation_mode: str = 'half_pixel', rounding_method: str = '', cubic_alpha: float = -0.5, cubic_exclude: int = 0, extrapolation_value: float = 0.0, out_dtype: str | None = None) -> Any:
        """Resamples signals to another size.

        data: (N, C, W), in the order of layout
        size (list of dimensions, required): Extents of the result, one per axis or one for all.
        roi (list of floats): For tf_crop_and_resize: the region of data, from 0 to 1; its begin along each axis, then its end along each axis.
        layout (string): Order of the axes.
        method (string): "nearest_neighbor", "linear" or "cubic".
        coordinate_transformation_mode (string): Maps positions of the result to data: half_pixel, align_corners, asymmetric, pytorch_half_pixel, tf_half_pixel_for_nn or tf_crop_and_resize.
        rounding_method (string): Rounding to the nearest element: round, floor, ceil, round_prefer_floor or round_prefer_ceil; empty: round with align_corners, otherwise floor.
        cubic_alpha (float): The parameter of the cubic kernel.
        cubic_exclude (int): True to ignore neighbours outside of data in "cubic".
        extrapolation_value (float): Value for points outside of data, for tf_crop_and_resize.
        out_dtype (dtype or None): Element type of the result; None: that of data.

        rounding_method is "" by default here, and "round" in the text form. The size of resize2d is a list, or an
                expression, which gives dyn.image.resize2d without a roi."""
    @staticmethod
    def resize2d(data: Expr | TupleWrapper, size: int | Sequence[int | str | Dim], roi: Sequence[float] = None, layout: str = 'NCHW', method: str = 'linear', coordinate_transformation_mode: str = 'half_pixel', rounding_method: str = '', cubic_alpha: float = -0.5, cubic_exclude: int = 0, extrapolation_value: float = 0.0, out_dtype: str | None = None) -> Any:
        """Resamples images to another size.

        data: (N, C, H, W), in the order of layout
        size (list of dimensions, required): Extents of the result, one per axis or one for all.
        roi (list of floats): For tf_crop_and_resize: the region of data, from 0 to 1; its begin along each axis, then its end along each axis.
        layout (string): Order of the axes.
        method (string): "nearest_neighbor", "linear" or "cubic".
        coordinate_transformation_mode (string): Maps positions of the result to data: half_pixel, align_corners, asymmetric, pytorch_half_pixel, tf_half_pixel_for_nn or tf_crop_and_resize.
        rounding_method (string): Rounding to the nearest element: round, floor, ceil, round_prefer_floor or round_prefer_ceil; empty: round with align_corners, otherwise floor.
        cubic_alpha (float): The parameter of the cubic kernel.
        cubic_exclude (int): True to ignore neighbours outside of data in "cubic".
        extrapolation_value (float): Value for points outside of data, for tf_crop_and_resize.
        out_dtype (dtype or None): Element type of the result; None: that of data.

        rounding_method is "" by default here, and "round" in the text form. The size of resize2d is a list, or an
                expression, which gives dyn.image.resize2d without a roi."""
    @staticmethod
    def resize3d(data: Expr | TupleWrapper, size: int | Sequence[int | str | Dim], roi: Sequence[float] = None, layout: str = 'NCDHW', method: str = 'linear', coordinate_transformation_mode: str = 'half_pixel', rounding_method: str = '', cubic_alpha: float = -0.5, cubic_exclude: int = 0, extrapolation_value: float = 0.0, out_dtype: str | None = None) -> Any:
        """Resamples volumes to another size.

        data: (N, C, D, H, W), in the order of layout
        size (list of dimensions, required): Extents of the result, one per axis or one for all.
        roi (list of floats): For tf_crop_and_resize: the region of data, from 0 to 1; its begin along each axis, then its end along each axis.
        layout (string): Order of the axes.
        method (string): "nearest_neighbor", "linear" or "cubic".
        coordinate_transformation_mode (string): Maps positions of the result to data: half_pixel, align_corners, asymmetric, pytorch_half_pixel, tf_half_pixel_for_nn or tf_crop_and_resize.
        rounding_method (string): Rounding to the nearest element: round, floor, ceil, round_prefer_floor or round_prefer_ceil; empty: round with align_corners, otherwise floor.
        cubic_alpha (float): The parameter of the cubic kernel.
        cubic_exclude (int): True to ignore neighbours outside of data in "cubic".
        extrapolation_value (float): Value for points outside of data, for tf_crop_and_resize.
        out_dtype (dtype or None): Element type of the result; None: that of data.

        rounding_method is "" by default here, and "round" in the text form. The size of resize2d is a list, or an
                expression, which gives dyn.image.resize2d without a roi."""
def invert_permutation(data: Expr | TupleWrapper) -> Expr:
    """The inverse of a permutation.

    data: (n,) integers: a permutation of 0 to n - 1"""
def isfinite(data: Expr | TupleWrapper) -> Expr:
    """True for elements that are neither infinite nor NaN.

    data: any shape"""
def isinf(data: Expr | TupleWrapper) -> Expr:
    """Infinite.

    data: any shape"""
def isnan(data: Expr | TupleWrapper) -> Expr:
    """True for elements that are NaN.

    data: any shape"""
def layout_transform(data: Expr | TupleWrapper, src_layout: str, dst_layout: str) -> Expr:
    """Converts data to another layout, which may have axes in blocks.

    data: any shape that matches src_layout
    src_layout (string, required): The layout of data, such as "NCHW".
    dst_layout (string, required): The layout of the result, such as "NCHW8c"."""
def left_shift(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """lhs shifted left by rhs bits.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def less(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """lhs < rhs.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def less_equal(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """lhs <= rhs.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def log(data: Expr | TupleWrapper) -> Expr:
    """Natural logarithm.

    data: any shape"""
def log10(data: Expr | TupleWrapper) -> Expr:
    """Logarithm to base 10.

    data: any shape"""
def log1p(data: Expr | TupleWrapper) -> Expr:
    """log(1 + data), accurate also near 0.

    data: any shape"""
def log2(data: Expr | TupleWrapper) -> Expr:
    """Logarithm to base 2.

    data: any shape"""
def logical_and(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """Both.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def logical_not(data: Expr | TupleWrapper) -> Expr:
    """Not.

    data: any shape"""
def logical_or(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """Logical or.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def logical_xor(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """Logical exclusive or.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def logsumexp(data: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """Returns log(sum(exp(data))), with the largest value subtracted first, if it is finite."""
def matrix_set_diag(data: Any, diagonal: Expr | TupleWrapper, k: Any = 0, align: Any = 'RIGHT_LEFT') -> Any:
    """Replaces diagonals of matrices.

    input: matrices, (.., M, N)
    diagonal: (.., L) for one diagonal, (.., k2 - k1 + 1, L) for several, the highest first
    k1 (int): The lowest diagonal; 0 is the main diagonal, and those below it are negative.
    k2 (int): The highest diagonal.
    super_diag_right_align (bool): True to align diagonals above the main one to the right.
    sub_diag_right_align (bool): True to align diagonals below the main one to the right.

    k is one diagonal, or the lowest and the highest. align: the alignment of shorter diagonals, above and below the
        main one."""
def max(data: Expr | TupleWrapper, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False) -> Expr:
    """The greatest element.

    data: any shape
    axis (list of ints or None): The axes to reduce; None or empty: all.
    keepdims (bool): True to keep reduced axes, with extent 1.
    exclude (bool): True to reduce all other axes instead."""
def maximum(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """The greater of the two; NaN if either is NaN.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def mean(data: Expr | TupleWrapper, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False) -> Expr:
    """The sum divided by the number of elements. Integer quotients are rounded towards zero.

    data: any shape
    axis (list of ints or None): The axes to reduce; None or empty: all.
    keepdims (bool): True to keep reduced axes, with extent 1.
    exclude (bool): True to reduce all other axes instead."""
def mean_std(data: Any, axis: Any = None, keepdims: Any = False, exclude: Any = False) -> Any:
    """Returns (mean, standard deviation)."""
def mean_variance(data: Any, axis: Any = None, keepdims: Any = False, exclude: Any = False, unbiased: Any = False) -> Any:
    """Returns (mean, variance)."""
def mel_weight_matrix(num_mel_bins: int, dft_length: int, sample_rate: int, lower_edge_hertz: float, upper_edge_hertz: float, dtype: str | None = 'float32') -> Expr:
    """A matrix that sums the bins of a spectrum into bands of the mel scale.

    num_mel_bins (int, required): Number of bands.
    dft_length (int, required): Number of samples from which a spectrum was computed.
    sample_rate (int, required): Samples of the signal per second.
    lower_edge_hertz (float, required): Lower edge of the first band, in Hz.
    upper_edge_hertz (float, required): Upper edge of the last band, in Hz.
    dtype (dtype): Element type of the result."""
def meshgrid(data: Expr | Sequence[Expr], indexing: str = 'ij') -> Any:
    """The coordinates of the grid that vectors span, one tensor for each axis.

    data: a tuple of vectors (a list of expressions)
    indexing (string): "ij" or "xy".

    Returns a tuple with one field for each vector."""
def min(data: Expr | TupleWrapper, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False) -> Expr:
    """The least element.

    data: any shape
    axis (list of ints or None): The axes to reduce; None or empty: all.
    keepdims (bool): True to keep reduced axes, with extent 1.
    exclude (bool): True to reduce all other axes instead."""
def minimum(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """The lesser of the two; NaN if either is NaN.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def missing(prefix: Any) -> Any:
    """Returns the __getattr__ of a namespace, whose error suggests a similar operator."""
def mod(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """lhs - rhs * trunc(lhs / rhs): the remainder with the sign of lhs.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def multiply(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """lhs * rhs.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def namespace(path: Any) -> Any:
    """Returns a namespace such as relay.op.nn, which is made for its first operator."""
def ndarray_size(data: Expr | TupleWrapper, dtype: str | None = None) -> Expr:
    """The number of elements of a tensor.

    data: any shape
    dtype (dtype or None): The element type of the result; None: int32."""
def negative(data: Expr | TupleWrapper) -> Expr:
    """The negated value.

    data: any shape"""
class nn:
    @staticmethod
    def adaptive_avg_pool1d(data: Expr | TupleWrapper, output_size: int | Sequence[int] = None, layout: str = 'NCW', out_layout: str = '') -> Any:
        """Divides data into as many windows as the result has elements, and computes the means of each.

        data: (N, C, W), in the order of layout
        output_size (list of ints): Extents of the result, one per axis or one for all; empty: those of the data.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: the same as layout."""
    @staticmethod
    def adaptive_avg_pool2d(data: Expr | TupleWrapper, output_size: int | Sequence[int] = None, layout: str = 'NCHW', out_layout: str = '') -> Any:
        """Divides data into as many windows as the result has elements, and computes the means of each.

        data: (N, C, H, W), in the order of layout
        output_size (list of ints): Extents of the result, one per axis or one for all; empty: those of the data.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: the same as layout."""
    @staticmethod
    def adaptive_avg_pool3d(data: Expr | TupleWrapper, output_size: int | Sequence[int] = None, layout: str = 'NCDHW', out_layout: str = '') -> Any:
        """Divides data into as many windows as the result has elements, and computes the means of each.

        data: (N, C, D, H, W), in the order of layout
        output_size (list of ints): Extents of the result, one per axis or one for all; empty: those of the data.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: the same as layout."""
    @staticmethod
    def adaptive_max_pool1d(data: Expr | TupleWrapper, output_size: int | Sequence[int] = None, layout: str = 'NCW', out_layout: str = '') -> Any:
        """Divides data into as many windows as the result has elements, and computes the maxima of each.

        data: (N, C, W), in the order of layout
        output_size (list of ints): Extents of the result, one per axis or one for all; empty: those of the data.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: the same as layout."""
    @staticmethod
    def adaptive_max_pool2d(data: Expr | TupleWrapper, output_size: int | Sequence[int] = None, layout: str = 'NCHW', out_layout: str = '') -> Any:
        """Divides data into as many windows as the result has elements, and computes the maxima of each.

        data: (N, C, H, W), in the order of layout
        output_size (list of ints): Extents of the result, one per axis or one for all; empty: those of the data.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: the same as layout."""
    @staticmethod
    def adaptive_max_pool3d(data: Expr | TupleWrapper, output_size: int | Sequence[int] = None, layout: str = 'NCDHW', out_layout: str = '') -> Any:
        """Divides data into as many windows as the result has elements, and computes the maxima of each.

        data: (N, C, D, H, W), in the order of layout
        output_size (list of ints): Extents of the result, one per axis or one for all; empty: those of the data.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: the same as layout."""
    @staticmethod
    def avg_pool1d(data: Expr | TupleWrapper, pool_size: int | Sequence[int] = [1], strides: int | Sequence[int] = [1], dilation: int | Sequence[int] = [1], padding: int | Sequence[int] = [0], layout: str = 'NCW', out_layout: str = '', ceil_mode: bool = False, count_include_pad: bool = False) -> Expr:
        """The mean over a moving window.

        data: (N, C, W), in the order of layout
        pool_size (list of ints): Extents of the window.
        strides (list of ints): Step of the window along each axis.
        dilation (list of ints): Distance between two taps of the window along each axis.
        padding (list of ints): Zero padding around the data: one value, one per axis, or the values before all axes followed by those after all axes.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: the same as layout.
        ceil_mode (bool): True to include a last, incomplete window.
        count_include_pad (bool): True to include padding in the mean."""
    @staticmethod
    def avg_pool2d(data: Expr | TupleWrapper, pool_size: int | Sequence[int] = [1, 1], strides: int | Sequence[int] = [1, 1], dilation: int | Sequence[int] = [1, 1], padding: int | Sequence[int] = [0, 0], layout: str = 'NCHW', out_layout: str = '', ceil_mode: bool = False, count_include_pad: bool = False) -> Expr:
        """The mean over a moving window.

        data: (N, C, H, W), in the order of layout
        pool_size (list of ints): Extents of the window.
        strides (list of ints): Step of the window along each axis.
        dilation (list of ints): Distance between two taps of the window along each axis.
        padding (list of ints): Zero padding around the data: one value, one per axis, or the values before all axes followed by those after all axes.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: the same as layout.
        ceil_mode (bool): True to include a last, incomplete window.
        count_include_pad (bool): True to include padding in the mean."""
    @staticmethod
    def avg_pool2d_grad(out_grad: Expr | TupleWrapper, data: Expr | TupleWrapper, pool_size: int | Sequence[int] = (1, 1), strides: int | Sequence[int] = (1, 1), padding: int | Sequence[int] = (0, 0), layout: str = 'NCHW', out_layout: str = '', ceil_mode: bool = False, count_include_pad: bool = False, dilation: int | Sequence[int] = (1, 1)) -> Any:
        """The gradient of nn.avg_pool2d with respect to its data.

        out_grad: the gradient of the pool's result
        data: the data of the pool
        pool_size (list of ints): Extents of the window.
        strides (list of ints): Step of the window along each axis.
        dilation (list of ints): Distance between two taps of the window along each axis.
        padding (list of ints): Zero padding around the data: one value, one per axis, or the values before all axes followed by those after all axes.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: the same as layout.
        ceil_mode (bool): True to include a last, incomplete window.
        count_include_pad (bool): True to include padding in the mean.

        The padding comes before the dilation; in the text form the dilation is first."""
    @staticmethod
    def avg_pool3d(data: Expr | TupleWrapper, pool_size: int | Sequence[int] = [1, 1, 1], strides: int | Sequence[int] = [1, 1, 1], dilation: int | Sequence[int] = [1, 1, 1], padding: int | Sequence[int] = [0, 0, 0], layout: str = 'NCDHW', out_layout: str = '', ceil_mode: bool = False, count_include_pad: bool = False) -> Expr:
        """The mean over a moving window.

        data: (N, C, D, H, W), in the order of layout
        pool_size (list of ints): Extents of the window.
        strides (list of ints): Step of the window along each axis.
        dilation (list of ints): Distance between two taps of the window along each axis.
        padding (list of ints): Zero padding around the data: one value, one per axis, or the values before all axes followed by those after all axes.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: the same as layout.
        ceil_mode (bool): True to include a last, incomplete window.
        count_include_pad (bool): True to include padding in the mean."""
    @staticmethod
    def batch_flatten(data: Expr | TupleWrapper) -> Expr:
        """Combines all axes but the first into one.

        data: (N, ..)"""
    @staticmethod
    def batch_matmul(tensor_a: Expr | TupleWrapper, tensor_b: Expr | TupleWrapper, out_dtype: str | None = None, transpose_a: bool = False, transpose_b: bool = True) -> Any:
        """The products of corresponding matrices of two batches.

        tensor_a: (B, M, K), or (B, K, M) when transpose_a
        tensor_b: (B, K, N), or (B, N, K) when transpose_b
        out_dtype (dtype or None): Element type of the sum and the result; None: that of tensor_a.
        transpose_a (bool): True if tensor_a is (b, k, m).
        transpose_b (bool): True if tensor_b is (b, n, k).

        b is (batch, columns, inner) by default: transpose_b is True here, and False in the text form."""
    @staticmethod
    def batch_norm(data: Expr | TupleWrapper, gamma: Expr | TupleWrapper, beta: Expr | TupleWrapper, moving_mean: Expr | TupleWrapper, moving_var: Expr | TupleWrapper, axis: int = 1, epsilon: float = 1e-05, center: bool = True, scale: bool = True) -> Any:
        """Normalises channels by given means and variances, then scales and shifts. Returns (result, moving_mean, moving_var).

        data: (.., C, ..)
        gamma: (C,)
        beta: (C,)
        moving_mean: (C,)
        moving_var: (C,)
        axis (int): The axis of the channels.
        epsilon (float): Added to the variance.
        center (bool): True to add beta.
        scale (bool): True to multiply by gamma.

        Returns (data, mean, variance)."""
    @staticmethod
    def batch_to_space_nd(data: Expr | TupleWrapper, block_shape: int | Sequence[int], crops: Sequence[Sequence[int]]) -> Any:
        """Reassembles blocks whose positions are batch elements: the inverse of nn.space_to_batch_nd.

        data: (N, spatial.., rest..)
        block_shape (list of ints): Extents of a block.
        crops (list of lists of ints, required): Elements cut off before and after each axis."""
    @staticmethod
    def bias_add(data: Expr | TupleWrapper, bias: Expr | TupleWrapper, axis: int = 1) -> Expr:
        """Adds one value per channel.

        data: any shape
        bias: (C,), where C is the extent of data along axis
        axis (int): The axis of data that bias runs along."""
    @staticmethod
    def bitpack(data: Expr | TupleWrapper, bits: int = 1, pack_axis: int = 1, bit_axis: int = -1, pack_type: str | None = None, name: str = 'BitPack') -> Expr:
        """Packs the bits of numbers into words.

        data: integers, any shape
        bits (int): Number of bits per value, from 1 to 8.
        pack_axis (int): The axis that is packed into words.
        bit_axis (int): Position of the axis of bits in the result.
        pack_type (dtype or None): The type of the words; None: uint32.
        name (string): Name of the computation."""
    @staticmethod
    def bitserial_conv2d(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, strides: int | Sequence[int] = [1, 1], padding: int | Sequence[int] = [0, 0], kernel_size: int | Sequence[int] = [3, 3], channels: int | None = None, activation_bits: int = 1, weight_bits: int = 1, data_layout: str = 'NCHW', kernel_layout: str = 'OIHW', pack_dtype: str | None = None, out_dtype: str | None = None, unipolar: bool = True) -> Expr:
        """Two-dimensional convolution of numbers with few bits.

        data: (N, C, H, W) integers, in the order of data_layout
        weight: (O, C, KH, KW) integers, in the order of kernel_layout
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Zero padding around the data: one value, one per axis, or the values before all axes followed by those after all axes.
        kernel_size (list of ints): Extents of the window.
        channels (int or None): Number of output channels; None: that of the weight.
        activation_bits (int): Bits of the data, from 1 to 8.
        weight_bits (int): Bits of the weight, from 1 to 8.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes.
        pack_dtype (dtype or None): The type of the words that bits are packed into.
        out_dtype (dtype or None): Element type of the result; None: int16.
        unipolar (bool): True if the bits of the weight stand for -1 and 1."""
    @staticmethod
    def bitserial_dense(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, units: int | None = None, data_bits: int = 1, weight_bits: int = 1, pack_dtype: str | None = None, out_dtype: str | None = None, unipolar: bool = True) -> Expr:
        """A fully connected layer on numbers with few bits.

        data: (n, features) integers
        weight: (units, features) integers
        units (int or None): Number of output features; None: that of the weight.
        data_bits (int): Bits of the data, from 1 to 8.
        weight_bits (int): Bits of the weight, from 1 to 8.
        pack_dtype (dtype or None): The type of the words that bits are packed into.
        out_dtype (dtype or None): Element type of the result; None: int16.
        unipolar (bool): True if the bits of the weight stand for -1 and 1."""
    @staticmethod
    def col2im(data: Expr | TupleWrapper, image_shape: int | Sequence[int | str | Dim], block_shape: int | Sequence[int], strides: int | Sequence[int] = [1], padding: int | Sequence[int] = [0], dilation: int | Sequence[int] = [1]) -> Expr:
        """Adds columns of blocks at the positions from which nn.im2col took them.

        data: (N, C * K, L)
        image_shape (list of dimensions, required): Extents of the result.
        block_shape (list of ints, required): Extents of the window.
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Padding around the result: one value, one per axis, or the values before all axes followed by those after all axes.
        dilation (list of ints): Distance between two taps of the window."""
    @staticmethod
    def contrib_conv2d_NCHWc(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, strides: int | Sequence[int] = [1, 1], padding: int | Sequence[int] = [0, 0], dilation: int | Sequence[int] = [1, 1], groups: int = 1, channels: int | None = None, kernel_size: int | Sequence[int] | None = None, data_layout: str = 'NCHW', kernel_layout: str = 'OIHW', out_layout: str = '', out_dtype: str | None = None) -> Expr:
        """Two-dimensional convolution with channels in blocks.

        data: (N, C / c, H, W, c)
        weight: (O / o, C / c, KH, KW, c, o)
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Zero padding around the data: one value, one per axis, or the values before all axes followed by those after all axes.
        dilation (list of ints): Distance between two taps of the window along each axis.
        groups (int): Number of independent groups of channels.
        channels (int or None): Number of output channels; None: that of the weight.
        kernel_size (list of ints or None): Extents of the window; None: those of the weight.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes.
        out_layout (string): Order of the result's axes; empty: the same as data_layout.
        out_dtype (dtype or None): Element type of the sum and the result; None: that of the data."""
    @staticmethod
    def contrib_conv2d_gemm_weight_transform(weights: Expr | TupleWrapper, tile_N: int, tile_K: int) -> Expr:
        """Stores the weight of a convolution as a matrix in tiles.

        weights: (KH, KW, C, O)
        tile_N (int, required): Columns of a tile: output channels.
        tile_K (int, required): Rows of a tile: taps and input channels."""
    @staticmethod
    def contrib_conv2d_gemm_without_weight_transform(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, strides: int | Sequence[int] = [1, 1], padding: int | Sequence[int] = [0, 0], dilation: int | Sequence[int] = [1, 1], groups: int = 1, channels: int | None = None, kernel_size: int | Sequence[int] | None = None, data_layout: str = 'NHWC', kernel_layout: str = 'HWIO', out_layout: str = '', out_dtype: str | None = None) -> Expr:
        """Two-dimensional convolution with a weight in tiles.

        data: (N, H, W, C)
        weight: (tiles of O, tiles of KH * KW * C, tile_N, tile_K)
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Zero padding around the data: one value, one per axis, or the values before all axes followed by those after all axes.
        dilation (list of ints): Distance between two taps of the window along each axis.
        groups (int): Number of independent groups of channels.
        channels (int or None): Number of output channels; None: that of the weight.
        kernel_size (list of ints or None): Extents of the window; None: those of the weight.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes.
        out_layout (string): Order of the result's axes; empty: the same as data_layout.
        out_dtype (dtype or None): Element type of the sum and the result; None: that of the data."""
    @staticmethod
    def contrib_conv2d_nchwc(data: Any, kernel: Any, strides: Any = (1, 1), padding: Any = (0, 0), dilation: Any = (1, 1), groups: Any = 1, channels: Any = None, kernel_size: Any = None, data_layout: Any = 'NCHW8c', kernel_layout: Any = 'OIHW', out_layout: Any = '', out_dtype: Any = '') -> Any:
        """nn.contrib_conv2d_NCHWc, with the name and defaults of TVM's Python function."""
    @staticmethod
    def contrib_conv2d_winograd_nnpack_weight_transform(weight: Expr | TupleWrapper, convolution_algorithm: int, out_dtype: str | None = None) -> Expr:
        """Transforms the weight of a convolution to Winograd's form for tiles of 6 x 6 outputs.

        weight: (O, C, 3, 3)
        convolution_algorithm (int, required): An algorithm number of NNPACK; all values have the same effect.
        out_dtype (dtype or None): Element type of the result; None: that of the weight."""
    @staticmethod
    def contrib_conv2d_winograd_weight_transform(weight: Expr | TupleWrapper, tile_size: int) -> Expr:
        """Transforms the weight of a convolution to Winograd's form.

        weight: (O, C, KH, KW)
        tile_size (int, required): Number of outputs of a tile along each axis."""
    @staticmethod
    def contrib_conv2d_winograd_without_weight_transform(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, tile_size: int, strides: int | Sequence[int] = [1, 1], padding: int | Sequence[int] = [0, 0], dilation: int | Sequence[int] = [1, 1], groups: int = 1, channels: int | None = None, kernel_size: int | Sequence[int] | None = None, data_layout: str = 'NCHW', kernel_layout: str = 'OIHW', out_layout: str = '', out_dtype: str | None = None) -> Expr:
        """A convolution in Winograd's form, with a transformed weight.

        data: (N, C, H, W)
        weight: (n, n, O, C)
        tile_size (int, required): Number of outputs of a tile along each axis.
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Zero padding around the data: one value, one per axis, or the values before all axes followed by those after all axes.
        dilation (list of ints): Distance between two taps of the window along each axis.
        groups (int): Number of independent groups of channels.
        channels (int or None): Number of output channels; None: that of the weight.
        kernel_size (list of ints or None): Extents of the window; None: those of the weight.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes.
        out_layout (string): Order of the result's axes; empty: the same as data_layout.
        out_dtype (dtype or None): Element type of the sum and the result; None: that of the data."""
    @staticmethod
    def contrib_conv3d_winograd_weight_transform(weight: Expr | TupleWrapper, tile_size: int) -> Expr:
        """Transforms the weight of a convolution to Winograd's form.

        weight: (O, C, KD, KH, KW)
        tile_size (int, required): Number of outputs of a tile along each axis."""
    @staticmethod
    def contrib_conv3d_winograd_without_weight_transform(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, tile_size: int, strides: int | Sequence[int] = [1, 1, 1], padding: int | Sequence[int] = [0, 0, 0], dilation: int | Sequence[int] = [1, 1, 1], groups: int = 1, channels: int | None = None, kernel_size: int | Sequence[int] | None = None, data_layout: str = 'NCDHW', kernel_layout: str = 'OIDHW', out_layout: str = '', out_dtype: str | None = None) -> Expr:
        """A convolution in Winograd's form, with a transformed weight.

        data: (N, C, D, H, W)
        weight: (n, n, n, O, C), or (n, n, KD, O, C)
        tile_size (int, required): Number of outputs of a tile along each axis.
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Zero padding around the data: one value, one per axis, or the values before all axes followed by those after all axes.
        dilation (list of ints): Distance between two taps of the window along each axis.
        groups (int): Number of independent groups of channels.
        channels (int or None): Number of output channels; None: that of the weight.
        kernel_size (list of ints or None): Extents of the window; None: those of the weight.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes.
        out_layout (string): Order of the result's axes; empty: the same as data_layout.
        out_dtype (dtype or None): Element type of the sum and the result; None: that of the data."""
    @staticmethod
    def contrib_dense_pack(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, units: int | None = None, out_dtype: str | None = None) -> Expr:
        """nn.dense whose weight has its units in blocks.

        data: (.., features)
        weight: (units / b, features, b)
        units (int or None): Number of output features; None: that of the weight.
        out_dtype (dtype or None): Element type of the sum and the result; None: that of data."""
    @staticmethod
    def contrib_depthwise_conv2d_NCHWc(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, strides: int | Sequence[int] = [1, 1], padding: int | Sequence[int] = [0, 0], dilation: int | Sequence[int] = [1, 1], groups: int = 1, channels: int | None = None, kernel_size: int | Sequence[int] | None = None, data_layout: str = 'NCHW', kernel_layout: str = 'OIHW', out_layout: str = '', out_dtype: str | None = None) -> Expr:
        """Two-dimensional depthwise convolution with channels in blocks.

        data: (N, C / c, H, W, c)
        weight: (C / c, 1, KH, KW, 1, c)
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Zero padding around the data: one value, one per axis, or the values before all axes followed by those after all axes.
        dilation (list of ints): Distance between two taps of the window along each axis.
        groups (int): Number of independent groups of channels.
        channels (int or None): Number of output channels; None: that of the weight.
        kernel_size (list of ints or None): Extents of the window; None: those of the weight.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes.
        out_layout (string): Order of the result's axes; empty: the same as data_layout.
        out_dtype (dtype or None): Element type of the sum and the result; None: that of the data."""
    @staticmethod
    def contrib_depthwise_conv2d_nchwc(data: Any, kernel: Any, strides: Any = (1, 1), padding: Any = (0, 0), dilation: Any = (1, 1), groups: Any = 1, channels: Any = None, kernel_size: Any = None, data_layout: Any = 'NCHW8c', kernel_layout: Any = 'OIHW', out_layout: Any = '', out_dtype: Any = '') -> Any:
        """nn.contrib_depthwise_conv2d_NCHWc, with the name and defaults of TVM's Python function."""
    @staticmethod
    def conv1d(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, strides: int | Sequence[int] = [1], padding: int | Sequence[int] = [0], dilation: int | Sequence[int] = [1], groups: int = 1, channels: int | None = None, kernel_size: int | Sequence[int] | None = None, data_layout: str = 'NCW', kernel_layout: str = 'OIW', out_layout: str = '', out_dtype: str | None = None) -> Expr:
        """One-dimensional convolution of data with weight.

        data: (N, C, W), in the order of data_layout
        weight: (O, C / groups, KW), in the order of kernel_layout
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Zero padding around the data: one value, one per axis, or the values before all axes followed by those after all axes.
        dilation (list of ints): Distance between two taps of the window along each axis.
        groups (int): Number of independent groups of channels.
        channels (int or None): Number of output channels; None: that of the weight.
        kernel_size (list of ints or None): Extents of the window; None: those of the weight.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes.
        out_layout (string): Order of the result's axes; empty: the same as data_layout.
        out_dtype (dtype or None): Element type of the sum and the result; None: that of the data."""
    @staticmethod
    def conv1d_transpose(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, strides: int | Sequence[int] = (1,), padding: int | Sequence[int] = (0,), dilation: int | Sequence[int] = (1,), channels: int | None = None, kernel_size: int | Sequence[int] | None = None, groups: int = 1, data_layout: str = 'NCW', kernel_layout: str = 'IOW', out_layout: str = '', output_padding: int | Sequence[int] = (0,), out_dtype: str | None = None) -> Any:
        """One-dimensional transposed convolution of data with weight.

        data: (N, C, W), in the order of data_layout
        weight: (C, O / groups, KW), in the order of kernel_layout
        channels (int or None): Number of output channels; None: that of the weight.
        kernel_size (list of ints or None): Extents of the window; None: those of the weight.
        strides (list of ints): Step of the window in the result along each axis.
        output_padding (list of ints): Elements added at the end of each axis of the result.
        padding (list of ints): Elements cut off the result: one value, one per axis, or the values before all axes followed by those after all axes.
        dilation (list of ints): Distance between two taps of the window along each axis.
        groups (int): Number of independent groups of channels.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes; I are the channels of the data.
        out_layout (string): Order of the result's axes; empty: the same as data_layout.
        out_dtype (dtype or None): Element type of the sum and the result; None: that of the data."""
    @staticmethod
    def conv2d(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, strides: int | Sequence[int] = [1, 1], padding: int | Sequence[int] = [0, 0], dilation: int | Sequence[int] = [1, 1], groups: int = 1, channels: int | None = None, kernel_size: int | Sequence[int] | None = None, data_layout: str = 'NCHW', kernel_layout: str = 'OIHW', out_layout: str = '', out_dtype: str | None = None) -> Expr:
        """Two-dimensional convolution of data with weight.

        data: (N, C, H, W), in the order of data_layout
        weight: (O, C / groups, KH, KW), in the order of kernel_layout
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Zero padding around the data: one value, one per axis, or the values before all axes followed by those after all axes.
        dilation (list of ints): Distance between two taps of the window along each axis.
        groups (int): Number of independent groups of channels.
        channels (int or None): Number of output channels; None: that of the weight.
        kernel_size (list of ints or None): Extents of the window; None: those of the weight.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes.
        out_layout (string): Order of the result's axes; empty: the same as data_layout.
        out_dtype (dtype or None): Element type of the sum and the result; None: that of the data."""
    @staticmethod
    def conv2d_backward_weight(grad: Expr | TupleWrapper, data: Expr | TupleWrapper, strides: int | Sequence[int] = (1, 1), padding: int | Sequence[int] = (0, 0), dilation: int | Sequence[int] = (1, 1), groups: int = 1, channels: int | None = None, kernel_size: int | Sequence[int] = None, grad_layout: Any = 'NCHW', data_layout: str = 'NCHW', kernel_layout: str = 'OIHW', out_dtype: str | None = None) -> Any:
        """The gradient of a two-dimensional convolution with respect to its weight.

        grad: the gradient of the result, (N, O, H', W') in the order of data_layout
        data: (N, C, H, W), in the order of kernel_layout
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Zero padding around the data: one value, one per axis, or the values before all axes followed by those after all axes.
        dilation (list of ints): Distance between two taps of the window.
        groups (int): Number of independent groups of channels.
        channels (int or None): Number of output channels; None: that of the gradient.
        kernel_size (list of ints, required): Extents of the window.
        data_layout (string): Order of the gradient's axes.
        kernel_layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes.
        out_dtype (dtype or None): Element type of the result; None: that of the data.

        Each layout is named by its own tensor here. In the text form, data_layout is the gradient's layout,
            kernel_layout the data's, and out_layout the result's."""
    @staticmethod
    def conv2d_transpose(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, strides: int | Sequence[int] = (1, 1), padding: int | Sequence[int] = (0, 0), dilation: int | Sequence[int] = (1, 1), channels: int | None = None, kernel_size: int | Sequence[int] | None = None, groups: int = 1, data_layout: str = 'NCHW', kernel_layout: str = 'IOHW', out_layout: str = '', output_padding: int | Sequence[int] = (0, 0), out_dtype: str | None = None) -> Any:
        """Two-dimensional transposed convolution of data with weight.

        data: (N, C, H, W), in the order of data_layout
        weight: (C, O / groups, KH, KW), in the order of kernel_layout
        channels (int or None): Number of output channels; None: that of the weight.
        kernel_size (list of ints or None): Extents of the window; None: those of the weight.
        strides (list of ints): Step of the window in the result along each axis.
        output_padding (list of ints): Elements added at the end of each axis of the result.
        padding (list of ints): Elements cut off the result: one value, one per axis, or the values before all axes followed by those after all axes.
        dilation (list of ints): Distance between two taps of the window along each axis.
        groups (int): Number of independent groups of channels.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes; I are the channels of the data.
        out_layout (string): Order of the result's axes; empty: the same as data_layout.
        out_dtype (dtype or None): Element type of the sum and the result; None: that of the data."""
    @staticmethod
    def conv3d(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, strides: int | Sequence[int] = [1, 1, 1], padding: int | Sequence[int] = [0, 0, 0], dilation: int | Sequence[int] = [1, 1, 1], groups: int = 1, channels: int | None = None, kernel_size: int | Sequence[int] | None = None, data_layout: str = 'NCDHW', kernel_layout: str = 'OIDHW', out_layout: str = '', out_dtype: str | None = None) -> Expr:
        """Three-dimensional convolution of data with weight.

        data: (N, C, D, H, W), in the order of data_layout
        weight: (O, C / groups, KD, KH, KW), in the order of kernel_layout
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Zero padding around the data: one value, one per axis, or the values before all axes followed by those after all axes.
        dilation (list of ints): Distance between two taps of the window along each axis.
        groups (int): Number of independent groups of channels.
        channels (int or None): Number of output channels; None: that of the weight.
        kernel_size (list of ints or None): Extents of the window; None: those of the weight.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes.
        out_layout (string): Order of the result's axes; empty: the same as data_layout.
        out_dtype (dtype or None): Element type of the sum and the result; None: that of the data."""
    @staticmethod
    def conv3d_transpose(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, strides: int | Sequence[int] = (1, 1, 1), padding: int | Sequence[int] = (0, 0, 0), dilation: int | Sequence[int] = (1, 1, 1), channels: int | None = None, kernel_size: int | Sequence[int] | None = None, groups: int = 1, data_layout: str = 'NCDHW', kernel_layout: str = 'IODHW', out_layout: str = '', output_padding: int | Sequence[int] = (0, 0, 0), out_dtype: str | None = None) -> Any:
        """Three-dimensional transposed convolution of data with weight.

        data: (N, C, D, H, W), in the order of data_layout
        weight: (C, O / groups, KD, KH, KW), in the order of kernel_layout
        channels (int or None): Number of output channels; None: that of the weight.
        kernel_size (list of ints or None): Extents of the window; None: those of the weight.
        strides (list of ints): Step of the window in the result along each axis.
        output_padding (list of ints): Elements added at the end of each axis of the result.
        padding (list of ints): Elements cut off the result: one value, one per axis, or the values before all axes followed by those after all axes.
        dilation (list of ints): Distance between two taps of the window along each axis.
        groups (int): Number of independent groups of channels.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes; I are the channels of the data.
        out_layout (string): Order of the result's axes; empty: the same as data_layout.
        out_dtype (dtype or None): Element type of the sum and the result; None: that of the data."""
    @staticmethod
    def correlation(data1: Expr | TupleWrapper, data2: Expr | TupleWrapper, kernel_size: int = 1, max_displacement: int = 1, stride1: int = 1, stride2: int = 1, padding: int | Sequence[int] = [0, 0], is_multiply: bool = True, layout: str = 'NCHW') -> Expr:
        """Compares the neighbourhood of each position in two arrays, for several displacements of the second.

        data1: (N, C, H, W)
        data2: the shape of data1
        kernel_size (int): Extent of the neighbourhood, an odd number.
        max_displacement (int): The largest displacement along each axis.
        stride1 (int): Step between positions in data1.
        stride2 (int): Step between displacements.
        padding (list of ints): Zero padding around both inputs: one value, one per axis, or the values before all axes followed by those after all axes.
        is_multiply (bool): True to compare by products, false by absolute differences.
        layout (string): "NCHW"."""
    @staticmethod
    def cross_entropy(predictions: Any, targets: Any) -> Any:
        """The cross entropy of probabilities, averaged over the first axis.

        x: probabilities, (N, ..)
        y: the shape of x: target probabilities"""
    @staticmethod
    def cross_entropy_with_logits(predictions: Any, targets: Any) -> Any:
        """The cross entropy of logarithms of probabilities, averaged over the first axis.

        x: logarithms of probabilities, (N, ..)
        y: the shape of x: target probabilities"""
    @staticmethod
    def deformable_conv2d(data: Expr | TupleWrapper, offset: Expr | TupleWrapper, weight: Expr | TupleWrapper, strides: int | Sequence[int] = [1, 1], padding: int | Sequence[int] = [0, 0], dilation: int | Sequence[int] = [1, 1], deformable_groups: int = 1, groups: int = 1, channels: int | None = None, kernel_size: int | Sequence[int] | None = None, data_layout: str = 'NCHW', kernel_layout: str = 'OIHW', out_layout: str = '', out_dtype: str | None = None) -> Expr:
        """Two-dimensional convolution whose taps are displaced by offsets.

        data: (N, C, H, W)
        offset: (N, 2 * deformable_groups * KH * KW, H', W'): y and x in turn
        weight: (O, C / groups, KH, KW)
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Zero padding around the data: one value, one per axis, or the values before all axes followed by those after all axes.
        dilation (list of ints): Distance between two taps of the window.
        deformable_groups (int): Number of groups of channels that share offsets.
        groups (int): Number of independent groups of channels.
        channels (int or None): Number of output channels; None: that of the weight.
        kernel_size (list of ints or None): Extents of the window; None: those of the weight.
        data_layout (string): "NCHW".
        kernel_layout (string): "OIHW".
        out_layout (string): "NCHW", or empty.
        out_dtype (dtype or None): Element type of the result; None: that of the data."""
    @staticmethod
    def dense(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, units: int | None = None, out_dtype: str | None = None) -> Expr:
        """A fully connected layer without bias: data times the transposed weight.

        data: (.., features)
        weight: (units, features)
        units (int or None): Number of output features; None: that of the weight.
        out_dtype (dtype or None): Element type of the sum and the result; None: that of the data."""
    @staticmethod
    def depth_to_space(data: Expr | TupleWrapper, block_size: int = 1, layout: str = 'NCHW', mode: str = 'DCR') -> Expr:
        """Moves channels to blocks of space.

        data: (N, C, H, W), in the order of layout
        block_size (int): The extent of a block along H and W.
        layout (string): Order of the data's and the result's axes.
        mode (string): DCR if channels are block-major, CRD (or CDR) if they are channel-major."""
    @staticmethod
    def dilate(x: Expr | TupleWrapper, strides: int | Sequence[int] = [1, 1], dilation_value: float = 0.0) -> Expr:
        """Inserts elements with one value between those of data.

        x: any shape
        strides (list of ints): The distance of the elements of data along each axis.
        dilation_value (float): The value between the elements."""
    @staticmethod
    def dropout(data: Expr | TupleWrapper, rate: float = 0.5) -> Any:
        """Drops elements at random in training; the identity in inference. Returns (result, mask).

        data: any shape
        rate (float): The share of elements that is dropped in training.

        Returns the first field of the operator's result."""
    @staticmethod
    def dropout_raw(data: Any, rate: Any = 0.5) -> Any:
        """Returns (data, mask)."""
    @staticmethod
    def fast_softmax(data: Expr | TupleWrapper, axis: int = -1) -> Expr:
        """nn.softmax under another name, with the same accuracy.

        data: any shape with at least one axis
        axis (int): The axis along which the results sum to one."""
    @staticmethod
    def fifo_buffer(data: Expr | TupleWrapper, buffer: Expr | TupleWrapper, axis: int = 0) -> Expr:
        """Appends data to a queue and drops the same number of elements at its front.

        data: the new elements
        buffer: the queue, with the shape of the result
        axis (int): The axis of the queue."""
    @staticmethod
    def gelu(data: Expr | TupleWrapper) -> Expr:
        """data / 2 * erfc(-data / sqrt(2)).

        data: any shape"""
    @staticmethod
    def global_avg_pool1d(data: Any, layout: Any = 'NCW', out_layout: Any = '') -> Any:
        """nn.adaptive_avg_pool1d with one place."""
    @staticmethod
    def global_avg_pool2d(data: Expr | TupleWrapper, layout: str = 'NCHW', out_layout: str = '') -> Expr:
        """The mean of each channel.

        data: (N, C, H, W), in the order of layout
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: the same as layout."""
    @staticmethod
    def global_avg_pool3d(data: Any, layout: Any = 'NCDHW', out_layout: Any = '') -> Any:
        """nn.adaptive_avg_pool3d with one place."""
    @staticmethod
    def global_max_pool1d(data: Any, layout: Any = 'NCW', out_layout: Any = '') -> Any:
        """nn.adaptive_max_pool1d with one place."""
    @staticmethod
    def global_max_pool2d(data: Expr | TupleWrapper, layout: str = 'NCHW', out_layout: str = '') -> Expr:
        """The maximum of each channel.

        data: (N, C, H, W), in the order of layout
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: the same as layout."""
    @staticmethod
    def global_max_pool3d(data: Any, layout: Any = 'NCDHW', out_layout: Any = '') -> Any:
        """nn.adaptive_max_pool3d with one place."""
    @staticmethod
    def group_norm(data: Expr | TupleWrapper, gamma: Expr | TupleWrapper, beta: Expr | TupleWrapper, num_groups: int, axis: int = 1, epsilon: float = 1e-05, center: bool = True, scale: bool = True) -> Expr:
        """Normalises each group of channels of each batch element, then scales and shifts each channel.

        data: (N, .., C, ..)
        gamma: (C,)
        beta: (C,)
        num_groups (int, required): Number of groups of channels.
        axis (int): The axis of the channels.
        epsilon (float): Added to the variance.
        center (bool): True to add beta.
        scale (bool): True to multiply by gamma."""
    @staticmethod
    def gru(data: Expr | TupleWrapper, weights: Expr | Sequence[Expr], state: Expr | Sequence[Expr], direction: str = 'forward', bias: bool = True, lengths: bool = False, linear_before_reset: bool = False, activations: str = '', clip: float = 0.0, layers: int = 1) -> Expr:
        """Gated recurrent units along a sequence: the outputs of all steps, (T, D, N, H), and the state after the last, (L * D, N, H). PyTorch's outputs (T, N, D * H) are these with the axes D and N exchanged, then the last two combined.

        data: (T, N, I): steps, sequences, features
        weights: a tuple, for each layer and direction: weight (3 * H, I), recurrence (3 * H, H), with bias two biases (3 * H,). The gates are in ONNX's order, H rows each: update z, reset r, hidden g. PyTorch has r, z, n, and linear_before_reset: of its three parts take 1, 0, 2 (a list of expressions)
        state: a tuple: hidden (L * D, N, H) before the first step, with lengths (N,) (a list of expressions)
        direction (string): "forward", "reverse" or "bidirectional".
        bias (bool): True if weights have two biases per direction.
        lengths (bool): True if state has the lengths of the sequences, (N,).
        linear_before_reset (bool): True if r scales the output of the recurrence, false if it scales the input.
        activations (string): Two names, for all directions or for each; empty: "sigmoid, tanh". Parameters are in parentheses: "hard_sigmoid(0.2, 0.5)".
        clip (float): Limits the arguments of activations to [-clip, clip]; 0: no limit.
        layers (int): Number of layers. Each layer after the first reads the outputs of the one before."""
    @staticmethod
    def im2col(data: Expr | TupleWrapper, block_shape: int | Sequence[int], strides: int | Sequence[int] = [1], padding: int | Sequence[int] = [0], dilation: int | Sequence[int] = [1]) -> Expr:
        """The blocks in a window at all positions, as columns.

        data: (N, C, image..)
        block_shape (list of ints, required): Extents of the window.
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Zero padding around the data: one value, one per axis, or the values before all axes followed by those after all axes.
        dilation (list of ints): Distance between two taps of the window."""
    @staticmethod
    def instance_norm(data: Expr | TupleWrapper, gamma: Expr | TupleWrapper, beta: Expr | TupleWrapper, axis: int = 1, epsilon: float = 1e-05, center: bool = True, scale: bool = True) -> Expr:
        """Normalises each channel of each batch element, then scales and shifts it.

        data: (N, .., C, ..)
        gamma: (C,)
        beta: (C,)
        axis (int): The axis of the channels.
        epsilon (float): Added to the variance.
        center (bool): True to add beta.
        scale (bool): True to multiply by gamma."""
    class internal:
        @staticmethod
        def sparse_dense_padded(data: Expr | TupleWrapper, weight_data: Expr | TupleWrapper, weight_indices: Expr | TupleWrapper, weight_indptr: Expr | TupleWrapper, sparse_lhs: bool = False) -> Expr:
            """nn.sparse_dense under another name.

            data: (m, k)
            weight_data: (values,), or blocks (values, rows, columns)
            weight_indices: (values,) integers: the columns
            weight_indptr: (rows + 1,) integers: the position at which each row begins
            sparse_lhs (bool): True if the sparse matrix is the left factor."""
    @staticmethod
    def l2_normalize(data: Expr | TupleWrapper, eps: float, axis: int | Sequence[int] = None) -> Any:
        """Divides by the Euclidean norm along some axes.

        data: any shape
        eps (float, required): Lower bound of the sum of squares.
        axis (list of ints): The axes along which the squares are summed; empty: all."""
    @staticmethod
    def layer_norm(data: Expr | TupleWrapper, gamma: Expr | TupleWrapper, beta: Expr | TupleWrapper, axis: int = -1, epsilon: float = 1e-05, center: bool = True, scale: bool = True) -> Expr:
        """Normalises along one axis, then scales and shifts.

        data: any shape
        gamma: (C,), where C is the extent of data along axis
        beta: (C,)
        axis (int): The axis that is normalised.
        epsilon (float): Added to the variance.
        center (bool): True to add beta.
        scale (bool): True to multiply by gamma."""
    @staticmethod
    def leaky_relu(data: Expr | TupleWrapper, alpha: float = 0.01) -> Any:
        """Keeps positive values and scales the others.

        data: any shape
        alpha (float): The slope for negative values.

        alpha is 0.01 by default here, and 0.25 in the text form."""
    @staticmethod
    def log_softmax(data: Expr | TupleWrapper, axis: int = -1) -> Expr:
        """The logarithm of nn.softmax.

        data: any shape with at least one axis
        axis (int): The axis along which the results sum to one."""
    @staticmethod
    def lrn(data: Expr | TupleWrapper, size: int = 5, axis: int = 1, bias: float = 2, alpha: float = 1e-05, beta: float = 0.75) -> Any:
        """Local response normalisation: divides by a power of the neighbouring channels' mean square.

        data: any shape
        size (int): Number of neighbouring channels in the sum, including the channel itself.
        axis (int): The axis of the channels.
        bias (float): Added to the scaled sum.
        alpha (float): Scale of the sum.
        beta (float): Exponent.

        alpha is 0.00001 by default here, and 0.0001 in the text form."""
    @staticmethod
    def lstm(data: Expr | TupleWrapper, weights: Expr | Sequence[Expr], state: Expr | Sequence[Expr], direction: str = 'forward', bias: bool = True, peephole: bool = False, projection: bool = False, lengths: bool = False, input_forget: bool = False, activations: str = '', clip: float = 0.0, layers: int = 1) -> Expr:
        """Long short-term memory along a sequence: the outputs of all steps, (T, D, N, P), and the two states after the last, (L * D, N, P) and (L * D, N, H). PyTorch's outputs (T, N, D * P) are these with the axes D and N exchanged, then the last two combined.

        data: (T, N, I): steps, sequences, features
        weights: a tuple, for each layer and direction: weight (4 * H, I), recurrence (4 * H, P), with bias two biases (4 * H,), with peephole (3 * H,), with projection (P, H); P is H without one. The gates are in ONNX's order, H rows each: input i, output o, forget f, cell g. PyTorch has i, f, g, o: of its four parts take 0, 3, 1, 2 (a list of expressions)
        state: a tuple: hidden (L * D, N, P) and cell (L * D, N, H) before the first step, with lengths (N,) (a list of expressions)
        direction (string): "forward", "reverse" or "bidirectional".
        bias (bool): True if weights have two biases per direction.
        peephole (bool): True if weights have peepholes, (3 * H,) for i, o and f.
        projection (bool): True if weights have a projection, (P, H).
        lengths (bool): True if state has the lengths of the sequences, (N,).
        input_forget (bool): True if f is 1 - i.
        activations (string): Three names, for all directions or for each; empty: "sigmoid, tanh, tanh". Parameters are in parentheses: "hard_sigmoid(0.2, 0.5)".
        clip (float): Limits the arguments of activations to [-clip, clip]; 0: no limit.
        layers (int): Number of layers. Each layer after the first reads the outputs of the one before."""
    @staticmethod
    def matmul(tensor_a: Expr | TupleWrapper, tensor_b: Expr | TupleWrapper, units: int | None = None, out_dtype: str | None = None, transpose_a: bool = False, transpose_b: bool = False) -> Expr:
        """The product of one or several matrices with a matrix.

        tensor_a: (.., M, K), or (.., K, M) when transpose_a
        tensor_b: (K, N), or (N, K) when transpose_b
        units (int or None): Number of columns of the result; None: that of tensor_b.
        out_dtype (dtype or None): Element type of the sum and the result; None: that of tensor_a.
        transpose_a (bool): True if tensor_a is (.., k, m).
        transpose_b (bool): True if tensor_b is (n, k)."""
    @staticmethod
    def max_pool1d(data: Expr | TupleWrapper, pool_size: int | Sequence[int] = [1], strides: int | Sequence[int] = [1], dilation: int | Sequence[int] = [1], padding: int | Sequence[int] = [0], layout: str = 'NCW', out_layout: str = '', ceil_mode: bool = False, skip_nan: bool = False) -> Expr:
        """The maximum over a moving window.

        data: (N, C, W), in the order of layout
        pool_size (list of ints): Extents of the window.
        strides (list of ints): Step of the window along each axis.
        dilation (list of ints): Distance between two taps of the window along each axis.
        padding (list of ints): Padding around the data: one value, one per axis, or the values before all axes followed by those after all axes.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: the same as layout.
        ceil_mode (bool): True to include a last, incomplete window.
        skip_nan (bool): True to ignore NaN, like padding; else the result of a window with NaN is NaN."""
    @staticmethod
    def max_pool2d(data: Expr | TupleWrapper, pool_size: int | Sequence[int] = [1, 1], strides: int | Sequence[int] = [1, 1], dilation: int | Sequence[int] = [1, 1], padding: int | Sequence[int] = [0, 0], layout: str = 'NCHW', out_layout: str = '', ceil_mode: bool = False, skip_nan: bool = False) -> Expr:
        """The maximum over a moving window.

        data: (N, C, H, W), in the order of layout
        pool_size (list of ints): Extents of the window.
        strides (list of ints): Step of the window along each axis.
        dilation (list of ints): Distance between two taps of the window along each axis.
        padding (list of ints): Padding around the data: one value, one per axis, or the values before all axes followed by those after all axes.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: the same as layout.
        ceil_mode (bool): True to include a last, incomplete window.
        skip_nan (bool): True to ignore NaN, like padding; else the result of a window with NaN is NaN."""
    @staticmethod
    def max_pool2d_grad(out_grad: Expr | TupleWrapper, data: Expr | TupleWrapper, pool_size: int | Sequence[int] = (1, 1), strides: int | Sequence[int] = (1, 1), padding: int | Sequence[int] = (0, 0), layout: str = 'NCHW', out_layout: str = '', ceil_mode: bool = False, dilation: int | Sequence[int] = (1, 1), skip_nan: bool = False) -> Any:
        """The gradient of nn.max_pool2d with respect to its data.

        out_grad: the gradient of the pool's result
        data: the data of the pool
        pool_size (list of ints): Extents of the window.
        strides (list of ints): Step of the window along each axis.
        dilation (list of ints): Distance between two taps of the window along each axis.
        padding (list of ints): Padding around the data: one value, one per axis, or the values before all axes followed by those after all axes.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: the same as layout.
        ceil_mode (bool): True to include a last, incomplete window.
        skip_nan (bool): True to ignore NaN, like padding; else the result of a window with NaN is NaN.

        The padding comes before the dilation; in the text form the dilation is first."""
    @staticmethod
    def max_pool3d(data: Expr | TupleWrapper, pool_size: int | Sequence[int] = [1, 1, 1], strides: int | Sequence[int] = [1, 1, 1], dilation: int | Sequence[int] = [1, 1, 1], padding: int | Sequence[int] = [0, 0, 0], layout: str = 'NCDHW', out_layout: str = '', ceil_mode: bool = False, skip_nan: bool = False) -> Expr:
        """The maximum over a moving window.

        data: (N, C, D, H, W), in the order of layout
        pool_size (list of ints): Extents of the window.
        strides (list of ints): Step of the window along each axis.
        dilation (list of ints): Distance between two taps of the window along each axis.
        padding (list of ints): Padding around the data: one value, one per axis, or the values before all axes followed by those after all axes.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: the same as layout.
        ceil_mode (bool): True to include a last, incomplete window.
        skip_nan (bool): True to ignore NaN, like padding; else the result of a window with NaN is NaN."""
    @staticmethod
    def max_unpool(data: Expr | TupleWrapper, indices: Expr | TupleWrapper, output_size: int | Sequence[int | str | Dim]) -> Expr:
        """Puts values at given positions of images, which are zero elsewhere.

        data: (N, C, pooled image..)
        indices: integers, the shape of data
        output_size (list of dimensions, required): Extents of the images."""
    @staticmethod
    def mirror_pad(data: Expr | TupleWrapper, pad_width: Sequence[Sequence[int]], mode: str = 'SYMMETRIC') -> Any:
        """Pads a tensor with its mirrored elements.

        data: any shape
        mode (string): "SYMMETRIC" or "REFLECT".
        pad_width (list of lists of ints, required): Elements added before and after each axis."""
    @staticmethod
    def modulated_deformable_conv2d(data: Expr | TupleWrapper, offset: Expr | TupleWrapper, mask: Expr | TupleWrapper, weight: Expr | TupleWrapper, strides: int | Sequence[int] = [1, 1], padding: int | Sequence[int] = [0, 0], dilation: int | Sequence[int] = [1, 1], deformable_groups: int = 1, groups: int = 1, channels: int | None = None, kernel_size: int | Sequence[int] | None = None, data_layout: str = 'NCHW', kernel_layout: str = 'OIHW', out_layout: str = '', out_dtype: str | None = None) -> Expr:
        """Two-dimensional convolution whose taps are displaced by offsets and scaled by a mask.

        data: (N, C, H, W)
        offset: (N, 2 * deformable_groups * KH * KW, H', W'): y and x in turn
        mask: (N, deformable_groups * KH * KW, H', W')
        weight: (O, C / groups, KH, KW)
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Zero padding around the data: one value, one per axis, or the values before all axes followed by those after all axes.
        dilation (list of ints): Distance between two taps of the window.
        deformable_groups (int): Number of groups of channels that share offsets.
        groups (int): Number of independent groups of channels.
        channels (int or None): Number of output channels; None: that of the weight.
        kernel_size (list of ints or None): Extents of the window; None: those of the weight.
        data_layout (string): "NCHW".
        kernel_layout (string): "OIHW".
        out_layout (string): "NCHW", or empty.
        out_dtype (dtype or None): Element type of the result; None: that of the data."""
    @staticmethod
    def nll_loss(predictions: Expr | TupleWrapper, targets: Expr | TupleWrapper, weights: Expr | TupleWrapper, reduction: str = 'mean', ignore_index: int = -100) -> Expr:
        """The negative log likelihood of targets.

        predictions: logarithms of probabilities, (N, C, ..) or (C,)
        targets: integers in [0, C), with the shape of predictions without C
        weights: one for each class, (C,)
        reduction (string): "mean", "sum" or "none".
        ignore_index (int): A target value to ignore."""
    @staticmethod
    def pad(data: Expr | TupleWrapper, pad_width: Sequence[Sequence[int]], pad_value: Any = 0, pad_mode: str = 'constant') -> Any:
        """Pads a tensor.

        data: any shape
        pad_val: one value
        pad_width (list of lists of ints, required): Elements added before and after each axis; negative values cut elements off.
        pad_mode (string): "constant", "edge" or "reflect".

        A number as pad_value has the type of data if that is known, otherwise float32. pad_width is a list of pairs, or
            an expression, which gives dyn.nn.pad."""
    @staticmethod
    def prelu(data: Expr | TupleWrapper, alpha: Expr | TupleWrapper, axis: int = 1) -> Expr:
        """Keeps positive values and scales the others by a slope of their channel.

        data: any shape
        alpha: (C,), where C is the extent of data along axis, or 1
        axis (int): The axis of data that alpha runs along."""
    @staticmethod
    def relu(data: Expr | TupleWrapper) -> Expr:
        """max(data, 0).

        data: any shape"""
    @staticmethod
    def rms_norm(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, axis: int = -1, epsilon: float = 1e-05) -> Expr:
        """Divides by the root of the mean square along one axis, then scales.

        data: any shape
        weight: (C,), where C is the extent of data along axis
        axis (int): The axis that is normalised.
        epsilon (float): Added to the mean square."""
    @staticmethod
    def rnn(data: Expr | TupleWrapper, weights: Expr | Sequence[Expr], state: Expr | Sequence[Expr], direction: str = 'forward', bias: bool = True, lengths: bool = False, activations: str = '', clip: float = 0.0, layers: int = 1) -> Expr:
        """A recurrent network along a sequence: the outputs of all steps, (T, D, N, H), and the state after the last, (L * D, N, H). PyTorch's outputs (T, N, D * H) are these with the axes D and N exchanged, then the last two combined; its weights are the same.

        data: (T, N, I): steps, sequences, features
        weights: a tuple, for each layer and direction: weight (H, I), recurrence (H, H), with bias two biases (H,) (a list of expressions)
        state: a tuple: hidden (L * D, N, H) before the first step, with lengths (N,) (a list of expressions)
        direction (string): "forward", "reverse" or "bidirectional".
        bias (bool): True if weights have two biases per direction.
        lengths (bool): True if state has the lengths of the sequences, (N,).
        activations (string): One name, for all directions or for each; empty: "tanh". Parameters are in parentheses: "elu(0.5)".
        clip (float): Limits the arguments of activations to [-clip, clip]; 0: no limit.
        layers (int): Number of layers. Each layer after the first reads the outputs of the one before."""
    @staticmethod
    def rotary_embedding(data: Expr | TupleWrapper, cos: Expr | TupleWrapper, sin: Expr | TupleWrapper, interleaved: bool = False) -> Expr:
        """Rotates pairs of elements along the last axis by given angles.

        data: (.., S), where S is at least R
        cos: (.., R / 2), broadcast with data
        sin: the shape of cos
        interleaved (bool): True if the elements of a pair are adjacent."""
    @staticmethod
    def scaled_dot_product_attention(inputs: Expr | Sequence[Expr], masked: bool = False, cached: bool = False, is_causal: bool = False, scale: float | None = None) -> Expr:
        """Attention: sums of values, weighted by a softmax of the products of queries and keys.

        inputs: query (B, H, L, E), key (B, G, S, E), value (B, G, S, F), then mask, past_key, past_value (a list of expressions)
        masked (bool): True if a mask follows query, key and value.
        cached (bool): True if past_key and past_value follow.
        is_causal (bool): True if queries ignore keys after their own position.
        scale (float or None): Factor of the scores; None: 1 / sqrt(E)."""
    @staticmethod
    def softmax(data: Expr | TupleWrapper, axis: int = -1) -> Expr:
        """Softmax: exponentials, scaled to sum to one along an axis.

        data: any shape with at least one axis
        axis (int): The axis along which the results sum to one."""
    @staticmethod
    def softplus(data: Expr | TupleWrapper) -> Expr:
        """log(1 + exp(data)).

        data: any shape"""
    @staticmethod
    def space_to_batch_nd(data: Expr | TupleWrapper, block_shape: int | Sequence[int], paddings: Sequence[Sequence[int]], pad_value: float = 0) -> Any:
        """Divides data into blocks, and moves each position inside of a block to a batch element of its own.

        data: (N, spatial.., rest..)
        block_shape (list of ints): Extents of a block.
        paddings (list of lists of ints, required): Elements added before and after each axis.
        pad_value (float): Value of the padding."""
    @staticmethod
    def space_to_depth(data: Expr | TupleWrapper, block_size: int = 1, layout: str = 'NCHW', mode: str = 'DCR') -> Expr:
        """Moves blocks of space to channels.

        data: (N, C, H, W), in the order of layout
        block_size (int): The extent of a block along H and W.
        layout (string): Order of the data's and the result's axes.
        mode (string): DCR if channels are block-major, CRD (or CDR) if they are channel-major."""
    @staticmethod
    def sparse_add(dense_data: Expr | TupleWrapper, sparse_data: Expr | TupleWrapper, sparse_indices: Expr | TupleWrapper, sparse_indptr: Expr | TupleWrapper) -> Expr:
        """The sum of a dense and a sparse matrix.

        dense_data: (m, k)
        sparse_data: (values,), or blocks (values, rows, columns)
        sparse_indices: (values,) integers: the columns
        sparse_indptr: (rows + 1,) integers: the position at which each row begins"""
    @staticmethod
    def sparse_conv2d(dense_data: Expr | TupleWrapper, sparse_data: Expr | TupleWrapper, sparse_indices: Expr | TupleWrapper, sparse_indptr: Expr | TupleWrapper, layout: str = 'NHWC', kernel_size: int | Sequence[int] = [1, 1]) -> Expr:
        """Two-dimensional convolution, without padding, with a sparse weight.

        dense_data: (N, H, W, C) or (N, C, H, W)
        sparse_data: (values,), or blocks (values, rows, columns)
        sparse_indices: (values,) integers: the columns
        sparse_indptr: (rows + 1,) integers: the position at which each row begins
        layout (string): Order of the axes: "NHWC" or "NCHW".
        kernel_size (list of ints): Extents of the window. There is no padding."""
    @staticmethod
    def sparse_dense(dense_data: Expr | TupleWrapper, sparse_data: Expr | TupleWrapper, sparse_indices: Expr | TupleWrapper, sparse_indptr: Expr | TupleWrapper, sparse_lhs: bool = False) -> Expr:
        """The product of a dense matrix and the transpose of a sparse matrix.

        dense_data: (m, k)
        sparse_data: (values,), or blocks (values, rows, columns)
        sparse_indices: (values,) integers: the columns
        sparse_indptr: (rows + 1,) integers: the position at which each row begins
        sparse_lhs (bool): True if the sparse matrix is the left factor."""
    @staticmethod
    def sparse_transpose(sparse_data: Expr | TupleWrapper, sparse_indices: Expr | TupleWrapper, sparse_indptr: Expr | TupleWrapper) -> Expr:
        """The transpose of a square sparse matrix.

        sparse_data: (values,)
        sparse_indices: (values,) integers: the columns
        sparse_indptr: (rows + 1,) integers: the position at which each row begins"""
    @staticmethod
    def swiglu(gate: Expr | TupleWrapper, up: Expr | TupleWrapper) -> Expr:
        """gate * sigmoid(gate) * up.

        gate: any shape
        up: the same shape"""
    @staticmethod
    def upsampling(data: Expr | TupleWrapper, scale_h: float = 1, scale_w: float = 1, layout: str = 'NCHW', method: str = 'nearest_neighbor', align_corners: bool = False) -> Any:
        """Scales images.

        data: (N, C, H, W), in the order of layout
        scale_h (float): The scale along H.
        scale_w (float): The scale along W.
        layout (string): Order of the axes.
        method (string): "nearest_neighbor", "bilinear" or "bicubic".
        align_corners (bool): True to align the corners of data and result.

        Scales are numbers; an expression among them gives dyn.nn.upsampling."""
    @staticmethod
    def upsampling3d(data: Expr | TupleWrapper, scale_d: float = 1, scale_h: float = 1, scale_w: float = 1, layout: str = 'NCDHW', method: str = 'nearest_neighbor', coordinate_transformation_mode: str = 'half_pixel') -> Any:
        """Scales volumes.

        data: (N, C, D, H, W), in the order of layout
        scale_d (float): The scale along D.
        scale_h (float): The scale along H.
        scale_w (float): The scale along W.
        layout (string): Order of the axes.
        method (string): "nearest_neighbor" or "trilinear".
        coordinate_transformation_mode (string): Maps positions of the result to data: half_pixel, align_corners or asymmetric.

        Scales are numbers; an expression among them gives dyn.nn.upsampling3d."""
def nonzero(data: Expr | TupleWrapper) -> Expr:
    """The indices of the non-zero elements, one per column.

    data: any shape"""
def not_equal(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """lhs != rhs.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def on_device(body: Expr | TupleWrapper, virtual_device: str = '', constrain_result: bool = False, constrain_body: bool = True) -> Expr:
    """Annotates a value with its device. The values are the same.

    body: any shape
    virtual_device (string): The device to place the value on.
    constrain_result (bool): True if the result must be on the device.
    constrain_body (bool): True if the input must be on the device."""
def one_hot(indices: Expr | TupleWrapper, on_value: Expr | TupleWrapper, off_value: Expr | TupleWrapper, depth: int, axis: int = -1, dtype: str | None = None) -> Any:
    """One-hot encoding: adds an axis with on_value at each index and off_value elsewhere.

    indices: integers, any shape
    on_value: the value at the index
    off_value: the value elsewhere
    depth (int): The extent of the new axis.
    axis (int): Position of the new axis; -1: at the end.
    dtype (dtype or None): The element type of the result; None: that of on_value.

    depth is a number, or an expression, which gives dyn.one_hot."""
def ones(shape: int | Sequence[int | str | Dim], dtype: str | None = None) -> Any:
    """Ones.

    shape (list of dimensions, required): The shape of the result.
    dtype (dtype or None): The element type of the result; None: float32, for full that of fill_value.

    shape is a list, or an expression, which is passed to dyn.ones."""
def ones_like(data: Expr | TupleWrapper) -> Expr:
    """A tensor of ones with the shape and type of data.

    data: any shape"""
def power(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """lhs to the power of rhs. Integers wrap around.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def prod(data: Expr | TupleWrapper, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False) -> Expr:
    """The product.

    data: any shape
    axis (list of ints or None): The axes to reduce; None or empty: all.
    keepdims (bool): True to keep reduced axes, with extent 1.
    exclude (bool): True to reduce all other axes instead."""
class qnn:
    @staticmethod
    def abs(x: Expr | TupleWrapper, scale: Expr | TupleWrapper, zero_point: Expr | TupleWrapper, output_scale: Expr | TupleWrapper, output_zero_point: Expr | TupleWrapper) -> Expr:
        """The absolute value of quantised numbers.

        x: integers, any shape
        scale: (), a float
        zero_point: (), an integer
        output_scale: (), a float
        output_zero_point: (), an integer"""
    @staticmethod
    def add(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper, lhs_scale: Expr | TupleWrapper, lhs_zero_point: Expr | TupleWrapper, rhs_scale: Expr | TupleWrapper, rhs_zero_point: Expr | TupleWrapper, output_scale: Expr | TupleWrapper, output_zero_point: Expr | TupleWrapper, lhs_axis: int = -1, rhs_axis: int = -1) -> Expr:
        """The sum of quantised tensors.

        lhs: integers, any shape
        rhs: the same type, with a shape that broadcasts with lhs
        lhs_scale: () or (C,), a float
        lhs_zero_point: () or (C,), an integer
        rhs_scale: () or (C,), a float
        rhs_zero_point: () or (C,), an integer
        output_scale: (), a float
        output_zero_point: (), an integer
        lhs_axis (int): The axis of lhs along which its scales vary.
        rhs_axis (int): The axis of rhs along which its scales vary."""
    @staticmethod
    def avg_pool2d(data: Expr | TupleWrapper, input_scale: Expr | TupleWrapper, input_zero_point: Expr | TupleWrapper, output_scale: Expr | TupleWrapper, output_zero_point: Expr | TupleWrapper, pool_size: int | Sequence[int] = [1, 1], strides: int | Sequence[int] = [1, 1], dilation: int | Sequence[int] = [1, 1], padding: int | Sequence[int] = [0, 0], layout: str = 'NCHW', out_layout: str = '', ceil_mode: bool = False, count_include_pad: bool = False) -> Expr:
        """The mean of quantised data over a moving window.

        data: (N, C, H, W), in the order of layout
        input_scale: (), a float
        input_zero_point: (), an integer
        output_scale: (), a float
        output_zero_point: (), an integer
        pool_size (list of ints): Extents of the window.
        strides (list of ints): Step of the window along each axis.
        dilation (list of ints): Distance between two taps of the window along each axis.
        padding (list of ints): Zero padding around the data: one value, one per axis, or the values before all axes followed by those after all axes.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: the same as layout.
        ceil_mode (bool): True to include a last, incomplete window.
        count_include_pad (bool): True to include padding in the mean."""
    @staticmethod
    def batch_matmul(x: Expr | TupleWrapper, y: Expr | TupleWrapper, x_scale: Expr | TupleWrapper, x_zero_point: Expr | TupleWrapper, y_scale: Expr | TupleWrapper, y_zero_point: Expr | TupleWrapper, out_dtype: str | None = None, transpose_a: bool = False, transpose_b: bool = False) -> Expr:
        """The products of corresponding matrices of two quantised batches, in int32.

        x: (B, M, K), or (B, K, M) when transpose_a
        y: (B, K, N), or (B, N, K) when transpose_b
        x_scale: (), a float
        x_zero_point: (), an integer
        y_scale: (), a float
        y_zero_point: (), an integer
        out_dtype (dtype or None): Element type of the sum, which must be int32.
        transpose_a (bool): True if x is (b, k, m).
        transpose_b (bool): True if y is (b, n, k)."""
    @staticmethod
    def concatenate(data: Expr | Sequence[Expr], input_scales: Expr | Sequence[Expr], input_zero_points: Expr | Sequence[Expr], output_scale: Expr | TupleWrapper, output_zero_point: Expr | TupleWrapper, axis: int = 0) -> Expr:
        """Concatenates quantised tensors along an axis.

        data: a tuple of tensors whose shapes differ at most along the axis (a list of expressions)
        input_scales: a tuple with a scale, (), for each tensor (a list of expressions)
        input_zero_points: a tuple with a zero point, (), for each tensor (a list of expressions)
        output_scale: (), a float
        output_zero_point: (), an integer
        axis (int): The axis of the concatenation."""
    @staticmethod
    def contrib_dense_pack(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, input_scale: Expr | TupleWrapper, input_zero_point: Expr | TupleWrapper, weight_scale: Expr | TupleWrapper, weight_zero_point: Expr | TupleWrapper, units: int | None = None, out_dtype: str | None = None, weight_layout: str = 'NC') -> Expr:
        """qnn.dense whose weight is stored in blocks.

        data: (.., features)
        weight: in the order of weight_layout
        input_scale: (), a float
        input_zero_point: (), an integer
        weight_scale: () or (units,), a float
        weight_zero_point: () or (units,), an integer
        units (int or None): Number of output features; None: that of the weight.
        out_dtype (dtype or None): Element type of the sum, which must be int32.
        weight_layout (string): N: output features, C: input features; "NC16n4c" has blocks of 16 and 4."""
    @staticmethod
    def conv2d(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, input_scale: Expr | TupleWrapper, input_zero_point: Expr | TupleWrapper, weight_scale: Expr | TupleWrapper, weight_zero_point: Expr | TupleWrapper, strides: int | Sequence[int] = [1, 1], padding: int | Sequence[int] = [0, 0], dilation: int | Sequence[int] = [1, 1], groups: int = 1, channels: int | None = None, kernel_size: int | Sequence[int] | None = None, data_layout: str = 'NCHW', kernel_layout: str = 'OIHW', out_layout: str = '', out_dtype: str | None = None) -> Expr:
        """Two-dimensional convolution of quantised data with a quantised weight, in int32.

        data: (N, C, H, W), in the order of data_layout
        weight: (O, C / groups, KH, KW), in the order of kernel_layout
        input_scale: (), a float
        input_zero_point: (), an integer
        weight_scale: () or (O,), a float
        weight_zero_point: () or (O,), an integer
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Zero padding around the data: one value, one per axis, or the values before all axes followed by those after all axes.
        dilation (list of ints): Distance between two taps of the window along each axis.
        groups (int): Number of independent groups of channels.
        channels (int or None): Number of output channels; None: that of the weight.
        kernel_size (list of ints or None): Extents of the window; None: those of the weight.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes.
        out_layout (string): Order of the result's axes; empty: the same as data_layout.
        out_dtype (dtype or None): Element type of the sum and the result; None: that of the data."""
    @staticmethod
    def conv2d_transpose(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, input_scale: Expr | TupleWrapper, input_zero_point: Expr | TupleWrapper, weight_scale: Expr | TupleWrapper, weight_zero_point: Expr | TupleWrapper, channels: int | None = None, kernel_size: int | Sequence[int] | None = None, strides: int | Sequence[int] = [1, 1], output_padding: int | Sequence[int] = [0, 0], padding: int | Sequence[int] = [0, 0], dilation: int | Sequence[int] = [1, 1], groups: int = 1, data_layout: str = 'NCHW', kernel_layout: str = 'IOHW', out_layout: str = '', out_dtype: str | None = None) -> Expr:
        """Two-dimensional transposed convolution of quantised data with a quantised weight, in int32.

        data: (N, C, H, W), in the order of data_layout
        weight: (C, O / groups, KH, KW), in the order of kernel_layout
        input_scale: (), a float
        input_zero_point: (), an integer
        weight_scale: () or (O,), a float
        weight_zero_point: () or (O,), an integer
        channels (int or None): Number of output channels; None: that of the weight.
        kernel_size (list of ints or None): Extents of the window; None: those of the weight.
        strides (list of ints): Step of the window in the result along each axis.
        output_padding (list of ints): Elements added at the end of each axis of the result.
        padding (list of ints): Elements cut off the result: one value, one per axis, or the values before all axes followed by those after all axes.
        dilation (list of ints): Distance between two taps of the window along each axis.
        groups (int): Number of independent groups of channels.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes; I are the channels of the data.
        out_layout (string): Order of the result's axes; empty: the same as data_layout.
        out_dtype (dtype or None): Element type of the sum and the result; None: that of the data."""
    @staticmethod
    def dense(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, input_scale: Expr | TupleWrapper, input_zero_point: Expr | TupleWrapper, weight_scale: Expr | TupleWrapper, weight_zero_point: Expr | TupleWrapper, units: int | None = None, out_dtype: str | None = None) -> Expr:
        """A fully connected layer of quantised data and weight, in int32.

        data: (.., features)
        weight: (units, features)
        input_scale: (), a float
        input_zero_point: (), an integer
        weight_scale: () or (units,), a float
        weight_zero_point: () or (units,), an integer
        units (int or None): Number of output features; None: that of the weight.
        out_dtype (dtype or None): Element type of the sum, which must be int32."""
    @staticmethod
    def dequantize(data: Expr | TupleWrapper, input_scale: Expr | TupleWrapper, input_zero_point: Expr | TupleWrapper, out_dtype: str | None = 'float32', axis: int = -1, block: int = 0) -> Expr:
        """Converts quantised integers to floats: (data - zero point) * scale.

        data: integers or elements of a storage type, any shape
        input_scale: () or (C,), or one for each block, a float
        input_zero_point: () or (C,), or one for each block, an integer
        out_dtype (dtype): The element type of the result.
        axis (int): The axis along which scales and zero points vary.
        block (int): Number of neighbours along the axis that share a scale and a zero point, which then have the data's rank; 0: one value, or one for each index of the axis."""
    @staticmethod
    def erf(x: Expr | TupleWrapper, scale: Expr | TupleWrapper, zero_point: Expr | TupleWrapper, output_scale: Expr | TupleWrapper, output_zero_point: Expr | TupleWrapper) -> Expr:
        """The error function of quantised numbers.

        x: integers, any shape
        scale: (), a float
        zero_point: (), an integer
        output_scale: (), a float
        output_zero_point: (), an integer"""
    @staticmethod
    def exp(x: Expr | TupleWrapper, scale: Expr | TupleWrapper, zero_point: Expr | TupleWrapper, output_scale: Expr | TupleWrapper, output_zero_point: Expr | TupleWrapper) -> Expr:
        """e to the power of quantised numbers.

        x: integers, any shape
        scale: (), a float
        zero_point: (), an integer
        output_scale: (), a float
        output_zero_point: (), an integer"""
    @staticmethod
    def hardswish(x: Expr | TupleWrapper, scale: Expr | TupleWrapper, zero_point: Expr | TupleWrapper, output_scale: Expr | TupleWrapper, output_zero_point: Expr | TupleWrapper) -> Expr:
        """x * min(max(x + 3, 0), 6) / 6 of quantised numbers.

        x: integers, any shape
        scale: (), a float
        zero_point: (), an integer
        output_scale: (), a float
        output_zero_point: (), an integer"""
    @staticmethod
    def leaky_relu(data: Expr | TupleWrapper, input_scale: Expr | TupleWrapper, input_zero_point: Expr | TupleWrapper, output_scale: Expr | TupleWrapper, output_zero_point: Expr | TupleWrapper, alpha: float = 0.25) -> Expr:
        """Keeps the quantised positive values and scales the others.

        data: integers, any shape
        input_scale: (), a float
        input_zero_point: (), an integer
        output_scale: (), a float
        output_zero_point: (), an integer
        alpha (float): The slope for negative values, from 0 to 1."""
    @staticmethod
    def log(x: Expr | TupleWrapper, scale: Expr | TupleWrapper, zero_point: Expr | TupleWrapper, output_scale: Expr | TupleWrapper, output_zero_point: Expr | TupleWrapper) -> Expr:
        """The natural logarithm of quantised numbers.

        x: integers, any shape
        scale: (), a float
        zero_point: (), an integer
        output_scale: (), a float
        output_zero_point: (), an integer"""
    @staticmethod
    def mul(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper, lhs_scale: Expr | TupleWrapper, lhs_zero_point: Expr | TupleWrapper, rhs_scale: Expr | TupleWrapper, rhs_zero_point: Expr | TupleWrapper, output_scale: Expr | TupleWrapper, output_zero_point: Expr | TupleWrapper, lhs_axis: int = -1, rhs_axis: int = -1) -> Expr:
        """The product of quantised tensors.

        lhs: integers, any shape
        rhs: the same type, with a shape that broadcasts with lhs
        lhs_scale: () or (C,), a float
        lhs_zero_point: () or (C,), an integer
        rhs_scale: () or (C,), a float
        rhs_zero_point: () or (C,), an integer
        output_scale: (), a float
        output_zero_point: (), an integer
        lhs_axis (int): The axis of lhs along which its scales vary.
        rhs_axis (int): The axis of rhs along which its scales vary."""
    @staticmethod
    def quantize(data: Expr | TupleWrapper, output_scale: Expr | TupleWrapper, output_zero_point: Expr | TupleWrapper, out_dtype: str | None = 'int8', axis: int = -1, round_first: bool = False) -> Expr:
        """Quantises floats to integers with a scale and a zero point.

        data: floats, any shape
        output_scale: () or (C,), a float
        output_zero_point: () or (C,), an integer
        out_dtype (dtype): The element type of the result.
        axis (int): The axis along which scales and zero points vary.
        round_first (bool): True to round before the zero point is added, as ONNX does. Both differ for halves if the zero point is odd."""
    @staticmethod
    def requantize(data: Expr | TupleWrapper, input_scale: Expr | TupleWrapper, input_zero_point: Expr | TupleWrapper, output_scale: Expr | TupleWrapper, output_zero_point: Expr | TupleWrapper, axis: int = -1, rounding: str = 'None', compute_dtype: str = 'None', out_dtype: str | None = 'int8') -> Expr:
        """Converts quantised integers to another scale and zero point.

        data: integers, any shape
        input_scale: () or (C,), a float
        input_zero_point: () or (C,), an integer
        output_scale: (), a float
        output_zero_point: (), an integer
        axis (int): The axis along which scales and zero points of data vary.
        rounding (string): "UPWARD" or "TONEAREST"; "None": UPWARD.
        compute_dtype (string): "int64", "float32" or "float64"; "None": int64.
        out_dtype (dtype): The element type of the result."""
    @staticmethod
    def rsqrt(x: Expr | TupleWrapper, scale: Expr | TupleWrapper, zero_point: Expr | TupleWrapper, output_scale: Expr | TupleWrapper, output_zero_point: Expr | TupleWrapper) -> Expr:
        """1 / sqrt(x) of quantised numbers.

        x: integers, any shape
        scale: (), a float
        zero_point: (), an integer
        output_scale: (), a float
        output_zero_point: (), an integer"""
    @staticmethod
    def sigmoid(x: Expr | TupleWrapper, scale: Expr | TupleWrapper, zero_point: Expr | TupleWrapper, output_scale: Expr | TupleWrapper, output_zero_point: Expr | TupleWrapper) -> Expr:
        """1 / (1 + exp(-x)) of quantised numbers.

        x: integers, any shape
        scale: (), a float
        zero_point: (), an integer
        output_scale: (), a float
        output_zero_point: (), an integer"""
    @staticmethod
    def simulated_dequantize(data: Expr | TupleWrapper, in_dtype: Expr | TupleWrapper, input_scale: Expr | TupleWrapper, input_zero_point: Expr | TupleWrapper, axis: int = -1) -> Expr:
        """Dequantises integers that are given as floats.

        data: floats, at least one axis
        in_dtype: () integer: 0 none, 1 int8, 2 uint8, 3 int32
        input_scale: () or (C,), a float
        input_zero_point: () or (C,), an integer
        axis (int): The axis along which scales vary."""
    @staticmethod
    def simulated_quantize(data: Expr | TupleWrapper, out_dtype: Expr | TupleWrapper, output_scale: Expr | TupleWrapper, output_zero_point: Expr | TupleWrapper, axis: int = -1) -> Expr:
        """Quantises floats and returns the integers as floats.

        data: floats, at least one axis
        out_dtype: () integer: 0 none, 1 int8, 2 uint8, 3 int32
        output_scale: () or (C,), a float
        output_zero_point: () or (C,), an integer
        axis (int): The axis along which scales vary."""
    @staticmethod
    def softmax(data: Expr | TupleWrapper, scale: Expr | TupleWrapper, zero_point: Expr | TupleWrapper, output_scale: Expr | TupleWrapper, output_zero_point: Expr | TupleWrapper, axis: int = -1) -> Expr:
        """The softmax of quantised numbers along an axis, computed with integers.

        data: int8, any shape with at least one axis
        scale: (), a float
        zero_point: (), an integer
        output_scale: (), a float
        output_zero_point: (), an integer
        axis (int): The axis along which the results sum to one."""
    @staticmethod
    def sqrt(x: Expr | TupleWrapper, scale: Expr | TupleWrapper, zero_point: Expr | TupleWrapper, output_scale: Expr | TupleWrapper, output_zero_point: Expr | TupleWrapper) -> Expr:
        """The square root of quantised numbers.

        x: integers, any shape
        scale: (), a float
        zero_point: (), an integer
        output_scale: (), a float
        output_zero_point: (), an integer"""
    @staticmethod
    def subtract(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper, lhs_scale: Expr | TupleWrapper, lhs_zero_point: Expr | TupleWrapper, rhs_scale: Expr | TupleWrapper, rhs_zero_point: Expr | TupleWrapper, output_scale: Expr | TupleWrapper, output_zero_point: Expr | TupleWrapper, lhs_axis: int = -1, rhs_axis: int = -1) -> Expr:
        """The difference of quantised tensors.

        lhs: integers, any shape
        rhs: the same type, with a shape that broadcasts with lhs
        lhs_scale: () or (C,), a float
        lhs_zero_point: () or (C,), an integer
        rhs_scale: () or (C,), a float
        rhs_zero_point: () or (C,), an integer
        output_scale: (), a float
        output_zero_point: (), an integer
        lhs_axis (int): The axis of lhs along which its scales vary.
        rhs_axis (int): The axis of rhs along which its scales vary."""
    @staticmethod
    def tanh(x: Expr | TupleWrapper, scale: Expr | TupleWrapper, zero_point: Expr | TupleWrapper, output_scale: Expr | TupleWrapper, output_zero_point: Expr | TupleWrapper) -> Expr:
        """The hyperbolic tangent of quantised numbers.

        x: integers, any shape
        scale: (), a float
        zero_point: (), an integer
        output_scale: (), a float
        output_zero_point: (), an integer"""
class random:
    @staticmethod
    def multinomial(key: Expr | TupleWrapper, probs: Expr | TupleWrapper, num_samples: int) -> Any:
        """Draws indices with given probabilities.

        key: (10,) uint64: the state of the generator
        probs: (.., indices); negative values count as 0
        num_samples (int): Number of draws per row.

        Returns (the next state, indices)."""
    @staticmethod
    def normal(key: Expr | TupleWrapper, shape: Any, dtype: Any = 'float32', mean: Expr | TupleWrapper = 0.0, scale: Expr | TupleWrapper = 1.0) -> Any:
        """Draws numbers from a normal distribution.

        key: (10,) uint64: the state of the generator
        mean: (), the mean
        scale: (), the standard deviation
        out_shape (list of ints, required): The shape of the result.
        out_dtype (dtype or None): float32 or float64; None: float32.

        Returns (the next state, numbers)."""
    @staticmethod
    def normal_like(key: Expr | TupleWrapper, mean: Expr | TupleWrapper, scale: Expr | TupleWrapper, like: Expr | TupleWrapper, out_dtype: str | None = None) -> Expr:
        """Draws numbers from a normal distribution, with the shape of an input.

        key: (10,) uint64: the state of the generator
        mean: (), the mean
        scale: (), the standard deviation
        like: any tensor, with the shape of the result
        out_dtype (dtype or None): float32 or float64; None: float32."""
    @staticmethod
    def threefry_generate(key: Expr | TupleWrapper, shape: Any) -> Any:
        """Draws random words. Returns the new state of the generator and the words.

        key: (10,) uint64: the state of the generator
        out_shape (list of ints, required): The shape of the result.

        Returns (the next state, random words)."""
    @staticmethod
    def threefry_key(seed: Any) -> Any:
        """Returns the first state of a generator as a constant, the argument of the random operators."""
    @staticmethod
    def threefry_split(key: Expr | TupleWrapper) -> Any:
        """Splits a generator into two whose numbers are independent.

        key: (10,) uint64: the state of the generator

        Returns (left, right)."""
    @staticmethod
    def uniform(key: Expr | TupleWrapper, shape: Any, dtype: Any = 'float32', low: Expr | TupleWrapper = 0.0, high: Expr | TupleWrapper = 1.0) -> Any:
        """Draws numbers from a uniform distribution.

        key: (10,) uint64: the state of the generator
        low: (), the least
        high: (), the exclusive upper bound
        out_shape (list of ints, required): The shape of the result.
        out_dtype (dtype or None): float32 or float64; None: float32.

        Returns (the next state, numbers)."""
    @staticmethod
    def uniform_like(key: Expr | TupleWrapper, low: Expr | TupleWrapper, high: Expr | TupleWrapper, like: Expr | TupleWrapper, out_dtype: str | None = None) -> Expr:
        """Draws numbers from a uniform distribution, with the shape of an input.

        key: (10,) uint64: the state of the generator
        low: (), the least
        high: (), the exclusive upper bound
        like: any tensor, with the shape of the result
        out_dtype (dtype or None): float32 or float64; None: float32."""
def reinterpret(data: Expr | TupleWrapper, dtype: str | None) -> Expr:
    """Reinterprets the bits of each element as another type of the same width.

    data: any shape
    dtype (dtype, required): The new element type."""
class relay:
    class op:
        class annotation:
            @staticmethod
            def simulated_quantize(data: Expr | TupleWrapper, dom_scale: Expr | TupleWrapper, clip_min: Expr | TupleWrapper, clip_max: Expr | TupleWrapper, kind: int, sign: bool = True, rounding: str = 'round') -> Expr:
                """Quantises and dequantises numbers, to simulate the rounding error.

                data: floats, any shape
                dom_scale: (), the scale
                clip_min: (), the minimum integer
                clip_max: (), the maximum integer
                kind (int, required): 0: nothing, 1: input, 2: weight, 3: activation.
                sign (bool): True if the integers are signed.
                rounding (string): "round": to the nearest integer, halves to the even integer."""
def repeat(data: Expr | TupleWrapper, repeats: int, axis: int | None = None) -> Expr:
    """Repeats each element along an axis.

    data: any shape
    repeats (int, required): How often.
    axis (int or None): The axis; None: the axis of the flattened data."""
def reshape(data: Expr | TupleWrapper, newshape: int | Sequence[int | str | Dim], allowzero: bool = False) -> Any:
    """Changes the shape of data; the elements stay in row-major order.

    data: any shape
    newshape (list of dimensions, required): The new shape; 0 and -1 to -4 have the meanings above.
    allowzero (bool): True if 0 means an extent of zero.

    newshape is a list, or an expression, which gives dyn.reshape."""
def reshape_like(data: Expr | TupleWrapper, shape_like: Expr | TupleWrapper, lhs_begin: int = 0, lhs_end: int | None = None, rhs_begin: int = 0, rhs_end: int | None = None) -> Expr:
    """Changes the shape of data, or of some of its axes, to that of another tensor.

    data: any shape
    shape_like: a tensor with the same number of elements
    lhs_begin (int): The first axis of data that is replaced.
    lhs_end (int or None): The axis of data after the last that is replaced; None: all axes.
    rhs_begin (int): The first axis of shape_like that replaces it.
    rhs_end (int or None): The axis of shape_like after the last of these; None: all axes."""
def reverse(data: Expr | TupleWrapper, axis: int = 0) -> Expr:
    """Reverses an axis.

    data: any shape
    axis (int): The axis to reverse."""
def reverse_sequence(data: Expr | TupleWrapper, seq_lengths: Expr | TupleWrapper, seq_axis: int = 1, batch_axis: int = 0) -> Expr:
    """Reverses sequences of different lengths.

    data: any shape with at least two axes
    seq_lengths: (batch,) integers
    seq_axis (int): The axis of the sequences.
    batch_axis (int): The axis of the batch."""
def right_shift(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """lhs shifted right by rhs bits; the sign is kept.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def round(data: Expr | TupleWrapper) -> Expr:
    """Rounds to the nearest integer; halves are rounded to the even integer.

    data: any shape"""
def rsqrt(data: Expr | TupleWrapper) -> Expr:
    """1 / sqrt(data).

    data: any shape"""
def scatter_elements(data: Expr | TupleWrapper, indices: Expr | TupleWrapper, updates: Expr | TupleWrapper, axis: int = 0, reduction: str = 'update') -> Expr:
    """Replaces elements of data along an axis by updates, or combines them.

    data: any shape
    indices: integers: positions along the axis
    updates: the shape of indices
    axis (int): The axis that is indexed.
    reduction (string): "update", "add", "mul", "mean", "min" or "max"."""
def scatter_nd(data: Expr | TupleWrapper, indices: Expr | TupleWrapper, updates: Expr | TupleWrapper, mode: str = 'update') -> Expr:
    """Replaces slices of data by updates, or combines them. Index tuples are stored along the first axis of indices, whose extent may be unknown: data and updates determine it.

    data: any shape
    indices: integers, (M, ..)
    updates: a slice of data for each index tuple
    mode (string): "update", "add", "mul", "min" or "max"."""
def searchsorted(sorted_sequence: Expr | TupleWrapper, values: Expr | TupleWrapper, right: bool = False, dtype: str | None = 'int32') -> Expr:
    """The positions at which values would be inserted into sorted sequences.

    sorted_sequence: ascending along the last axis, (n,) or (.., n)
    values: any shape, or (.., m)
    right (bool): True to insert after equal elements, false before them.
    dtype (dtype): The element type of the result."""
def sequence_mask(data: Expr | TupleWrapper, valid_length: Expr | TupleWrapper, mask_value: float = 0.0, axis: int = 0) -> Expr:
    """Sets all elements after the end of each sequence to one value.

    data: (length, batch, ..) or (batch, length, ..)
    valid_length: (batch,) integers
    mask_value (float): The value after the end of a sequence.
    axis (int): The axis of the sequences, 0 or 1; the other is the batch."""
def shape_of(data: Expr | TupleWrapper, dtype: str | None = None) -> Expr:
    """The shape of a tensor, as a tensor.

    data: any shape
    dtype (dtype or None): The element type of the result; None: int32."""
def sigmoid(data: Expr | TupleWrapper) -> Expr:
    """1 / (1 + exp(-data)).

    data: any shape"""
def sign(data: Expr | TupleWrapper) -> Expr:
    """-1, 0 or 1.

    data: any shape"""
def sin(data: Expr | TupleWrapper) -> Expr:
    """Sine.

    data: any shape"""
def sinh(data: Expr | TupleWrapper) -> Expr:
    """Hyperbolic sine.

    data: any shape"""
def slice_like(data: Expr | TupleWrapper, shape_like: Expr | TupleWrapper, axes: int | Sequence[int] | None = None) -> Expr:
    """Cuts data to the extents of another tensor.

    data: any shape
    shape_like: a tensor whose extents are at most those of data
    axes (list of ints or None): The axes to cut; None or empty: all."""
def sliding_window(data: Expr | TupleWrapper, axis: int, window_shape: int | Sequence[int], strides: int | Sequence[int]) -> Expr:
    """The windows at all positions along the last axes.

    data: any shape
    axis (int, required): The first axis that the window moves along.
    window_shape (list of ints, required): Extents of the window.
    strides (list of ints, required): Step of the window along each axis."""
def sort(data: Expr | TupleWrapper, axis: int = -1, is_ascend: bool = True) -> Any:
    """Sorts the elements along an axis.

    data: any shape with at least one axis
    axis (int): The axis to sort.
    is_ascend (bool): True for ascending order.
    dtype (dtype or None): The element type of positions; None: int32."""
def sparse_fill_empty_rows(sparse_indices: Expr | TupleWrapper, sparse_values: Expr | TupleWrapper, dense_shape: Expr | TupleWrapper, default_value: Expr | TupleWrapper) -> Expr:
    """Adds a default value to each empty row of a sparse tensor.

    sparse_indices: (values, rank) integers
    sparse_values: (values,)
    dense_shape: (rank,) integers: the shape of the tensor
    default_value: the value for empty rows"""
def sparse_reshape(sparse_indices: Expr | TupleWrapper, prev_shape: Expr | TupleWrapper, new_shape: Expr | TupleWrapper) -> Any:
    """The indices of the values of a sparse tensor in another shape.

    sparse_indices: (values, old rank) integers
    prev_shape: (old rank,) integers
    new_shape: (new rank,) integers, at most one of them -1

    Returns (new indices, new shape)."""
def sparse_to_dense(sparse_indices: Expr | TupleWrapper, output_shape: int | Sequence[int | str | Dim], sparse_values: Expr | TupleWrapper, default_value: Expr | TupleWrapper = 0) -> Any:
    """Converts a sparse tensor to a dense one, filled with default_value elsewhere.

    sparse_indices: integers: (n, rank); for a vector also (n,) or ()
    sparse_values: (n,), or one for all
    default_value: the value elsewhere
    output_shape (list of dimensions, required): The shape of the result.

    output_shape is a list, or an expression, which gives dyn.sparse_to_dense."""
def split(data: Expr | TupleWrapper, indices_or_sections: int | Sequence[int], axis: int = 0) -> Any:
    """Splits a tensor along an axis. Returns a tuple.

    data: any shape
    indices_or_sections (int or list of ints, required): The number of equal parts, or the list of positions to cut at.
    axis (int): The axis to cut."""
def sqrt(data: Expr | TupleWrapper) -> Expr:
    """Square root.

    data: any shape"""
def squeeze(data: Expr | TupleWrapper, axis: int | Sequence[int] | None = None) -> Any:
    """Drops axes of extent 1.

    data: any shape
    axis (list of ints or None): The axes to drop; None: all axes of extent 1.

    axis is a list, None, or an expression, which gives dyn.squeeze."""
def stack(data: Expr | Sequence[Expr], axis: int = 0) -> Expr:
    """Stacks tensors along a new axis.

    data: a tuple of tensors with the same shape (a list of expressions)
    axis (int): Position of the new axis in the result."""
def std(data: Any, axis: Any = None, keepdims: Any = False, exclude: Any = False, unbiased: Any = False) -> Any:
    """Returns the square root of the variance."""
def stft(data: Expr | TupleWrapper, n_fft: int, hop_length: int = None, win_length: int = None, window: Expr | TupleWrapper = None, normalized: bool = False, onesided: bool = True) -> Any:
    """Short-time Fourier transform: the transforms of the windows of a signal.

    data: (samples,) or (batch, samples)
    window: (n_fft,)
    n_fft (int): N, the number of samples in a transform.
    hop_length (int): Samples from one transform to the next; n_fft // 4 if not positive.
    win_length (int): Length of the window, which must be n_fft; n_fft if not positive.
    normalized (bool): True to divide the result by the square root of n_fft.
    onesided (bool): True to compute only the first n_fft // 2 + 1 frequencies.

    The default window is all ones."""
class storage:
    @staticmethod
    def pack(data: Expr | TupleWrapper, axis: int = -1) -> Expr:
        """Packs elements of 4 or 2 bits into bytes.

        data: elements of 4 or 2 bits, at least one axis
        axis (int): The axis along which elements are packed."""
    @staticmethod
    def unpack(data: Expr | TupleWrapper, dtype: str | None, axis: int = -1, size: int | None = None) -> Expr:
        """Unpacks elements of 4 or 2 bits from bytes.

        data: uint8, at least one axis
        dtype (dtype, required): The type of the elements: one of 4 or 2 bits.
        axis (int): The axis along which elements are packed.
        size (int or None): Number of elements along the axis; None: all elements of the bytes."""
def strided_set(data: Expr | TupleWrapper, v: Expr | TupleWrapper, begin: Expr | TupleWrapper, end: Expr | TupleWrapper, strides: Expr | TupleWrapper = None) -> Any:
    """Replaces a strided slice of data.

    data: any shape
    v: the new values of the slice
    begin: (axes,) integers
    end: (axes,) integers
    strides: (axes,) integers, not zero

    begin, end and strides are lists of integers or expressions; strides are 1 by default."""
def strided_slice(data: Expr | TupleWrapper, begin: int | Sequence[int], end: int | Sequence[int], strides: int | Sequence[int] = None, axes: int | Sequence[int] | None = None, slice_mode: str = 'end') -> Any:
    """A strided slice along each axis.

    data: any shape
    begin (list of ints, required): The first index along each sliced axis.
    end (list of ints, required): The exclusive end along each sliced axis, or its extent with slice_mode "size".
    strides (list of ints): The step along each sliced axis, or one for all; empty: 1.
    slice_mode (string): "end" or "size".
    axes (list of ints or None): The sliced axes; None: the leading axes.

    begin, end and strides are lists; an expression among them gives dyn.strided_slice."""
def subtract(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """lhs - rhs.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def sum(data: Expr | TupleWrapper, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False) -> Expr:
    """The sum.

    data: any shape
    axis (list of ints or None): The axes to reduce; None or empty: all.
    keepdims (bool): True to keep reduced axes, with extent 1.
    exclude (bool): True to reduce all other axes instead."""
def take(data: Expr | TupleWrapper, indices: Expr | TupleWrapper, axis: int | None = None, batch_dims: int = 0, mode: str = 'clip') -> Any:
    """Selects slices of data by a tensor of indices.

    data: any shape
    indices: integers, any shape
    batch_dims (int): Number of leading axes that data and indices share.
    axis (int or None): The axis that is indexed; None: the axis of the flattened data.
    mode (string): "clip", "wrap", "fast" or "checked".
    refusal (string): With "checked": a message and a help text, one line each, that replace those about the index."""
def tan(data: Expr | TupleWrapper) -> Expr:
    """Tangent.

    data: any shape"""
def tanh(data: Expr | TupleWrapper) -> Expr:
    """Hyperbolic tangent.

    data: any shape"""
def tensor_of_shape(shape: Expr | TupleWrapper) -> Expr:
    """A bool tensor filled with False, whose shape is computed at run time.

    shape: (rank,) int64: the sizes"""
def tile(data: Expr | TupleWrapper, reps: int | Sequence[int]) -> Any:
    """Repeats the whole tensor along each axis.

    data: any shape
    reps (list of ints, required): Number of repetitions along each axis, aligned to the last axis.

    reps is a list, or an expression, which gives dyn.tile."""
def topk(data: Expr | TupleWrapper, k: int | None = 1, axis: int = -1, ret_type: str = 'both', is_ascend: bool = False, dtype: str | None = 'int32') -> Any:
    """The greatest (or least) k elements along an axis in order, and their positions.

    data: any shape with at least one axis
    k (int or None): Number of elements; None or less than 1: all.
    axis (int): The axis to sort.
    ret_type (string): "both" (values, places), "values" or "indices".
    is_ascend (bool): True for ascending order.
    dtype (dtype or None): The element type of positions; None: int32.

    k is a number, or an expression, which gives dyn.topk."""
def transpose(data: Expr | TupleWrapper, axes: int | Sequence[int] | None = None) -> Expr:
    """Permutes the axes.

    data: any shape
    axes (list of ints or None): The axis of data for each axis of the result; None or empty: reverses the axes."""
def trilu(data: Expr | TupleWrapper, k: Expr | TupleWrapper, upper: bool = True) -> Any:
    """Keeps the upper or lower triangle of matrices, and sets the rest to zero.

    data: (.., M, N)
    k: the diagonal where the triangle ends; 0: the main diagonal
    upper (bool): True to keep the upper triangle, false to keep the lower.

    k is an integer or an expression."""
def trunc(data: Expr | TupleWrapper) -> Expr:
    """Rounds towards zero to an integer.

    data: any shape"""
def trunc_divide(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """lhs / rhs rounded towards zero.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def trunc_mod(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """lhs - rhs * trunc(lhs / rhs): the remainder with the sign of lhs.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def unique(data: Expr | TupleWrapper, is_sorted: Any = True, return_counts: bool = False) -> Any:
    """The distinct elements of a vector, and their positions.

    data: (n,)
    sorted (bool): True if the result is in ascending order.
    return_counts (bool): True to return counts.

    Returns (unique, indices, inverse_indices, num_unique), and optionally counts."""
def unravel_index(indices: Any, shape: Expr | TupleWrapper) -> Any:
    """Converts row-major element numbers to indices.

    data: element numbers, any shape
    shape: (rank,) integers: the shape of the indexed tensor"""
def variance(data: Expr | TupleWrapper, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False, with_mean: Any = None) -> Any:
    """The mean squared distance from a given mean.

    data: any shape
    mean: the shape of data with extent 1 along the reduced axes
    axis (list of ints or None): The axes to reduce; None or empty: all.
    keepdims (bool): True to keep reduced axes, with extent 1.
    exclude (bool): True to reduce all other axes instead.
    unbiased (bool): True to divide by the count minus one."""
class vision:
    @staticmethod
    def all_class_non_max_suppression(boxes: Expr | TupleWrapper, scores: Expr | TupleWrapper, max_output_boxes_per_class: Expr | TupleWrapper = -1, iou_threshold: Expr | TupleWrapper = -1.0, score_threshold: Expr | TupleWrapper = -1.0, output_format: str = 'onnx') -> Any:
        """Selects boxes of each class by score, and drops those that overlap a better one.

        boxes: (batch, boxes, 4): two opposite corners
        scores: (batch, classes, boxes)
        max_output_boxes_per_class: (): the maximum number of boxes per class; negative: no limit
        iou_threshold: (): the minimum overlap at which a box is dropped
        score_threshold: (): the score above which boxes are considered
        output_format (string): "onnx" or "tensorflow".

        Returns (positions, count), or (positions, scores, count) for "tensorflow"."""
    @staticmethod
    def get_valid_counts(data: Expr | TupleWrapper, score_threshold: Expr | TupleWrapper, id_index: int = 0, score_index: int = 1) -> Any:
        """Moves the boxes whose score is above a threshold to the front.

        data: (batch, boxes, numbers)
        score_threshold: ()
        id_index (int): Index of the class of a box; -1 if absent.
        score_index (int): Index of the score of a box.

        Returns (count, boxes, positions)."""
    @staticmethod
    def multibox_prior(data: Expr | TupleWrapper, sizes: Sequence[float] = [1.0], ratios: Sequence[float] = [1.0], steps: Sequence[float] = [-1.0, -1.0], offsets: Sequence[float] = [0.5, 0.5], clip: bool = False) -> Expr:
        """Boxes of several sizes and ratios around each pixel.

        data: a feature map, (N, C, H, W), whose values are ignored
        sizes (list of floats): Sizes of the boxes.
        ratios (list of floats): Ratios of width to height; the first counts as 1.
        steps (list of floats): Distances [y, x] of pixels; those of data if not positive.
        offsets (list of floats): Position [y, x] of the centre in a pixel.
        clip (bool): True to clip boxes to [0, 1]."""
    @staticmethod
    def multibox_transform_loc(cls_prob: Expr | TupleWrapper, loc_pred: Expr | TupleWrapper, anchor: Expr | TupleWrapper, clip: bool = True, threshold: float = 0.01, variances: Sequence[float] = (0.1, 0.1, 0.2, 0.2), keep_background: bool = False) -> Any:
        """Computes boxes from anchors, predicted offsets and scores of classes.

        cls_prob: (batch, classes, boxes)
        loc_pred: (batch, 4 * boxes)
        anchor: (1, boxes, 4): x1, y1, x2, y2
        clip (bool): True to clip corners to [0, 1].
        threshold (float): Minimum score.
        variances (list of floats): Factors of the predicted x, y, width and height.
        keep_background (bool): True if class 0 is an ordinary class, and classes keep their numbers.

        Returns (boxes, count)."""
    @staticmethod
    def non_max_suppression(data: Expr | TupleWrapper, valid_count: Expr | TupleWrapper, indices: Expr | TupleWrapper, max_output_size: Expr | TupleWrapper = -1, iou_threshold: Expr | TupleWrapper = 0.5, force_suppress: bool = False, top_k: int = -1, coord_start: int = 2, score_index: int = 1, id_index: int = 0, return_indices: bool = True, invalid_to_bottom: bool = False) -> Any:
        """Selects boxes by score, and drops those that overlap a better one.

        data: (batch, boxes, numbers)
        valid_count: (batch,): the number of valid boxes of each image
        indices: (batch, boxes): the value that return_indices returns for each box
        max_output_size: (): the maximum number of boxes to keep; negative: no limit
        iou_threshold: (): the minimum overlap at which a box is dropped
        force_suppress (bool): True to compare boxes of different classes as well.
        top_k (int): Number of best boxes to consider; all if below 1.
        coord_start (int): Index of the first of the four coordinates of a box.
        score_index (int): Index of the score of a box.
        id_index (int): Index of the class of a box; -1 if absent.
        return_indices (bool): True to return positions and their number.
        invalid_to_bottom (bool): True to move the kept boxes to the front.

        Returns (positions, count), or the boxes without return_indices."""
    @staticmethod
    def proposal(cls_prob: Expr | TupleWrapper, bbox_pred: Expr | TupleWrapper, im_info: Expr | TupleWrapper, scales: Sequence[float] = [4.0, 8.0, 16.0, 32.0], ratios: Sequence[float] = [0.5, 1.0, 2.0], feature_stride: int = 16, threshold: float = 0.7, rpn_pre_nms_top_n: int = 6000, rpn_post_nms_top_n: int = 300, rpn_min_size: int = 16, iou_loss: bool = False) -> Expr:
        """Regions of images that probably contain an object, from scores and offsets of anchors.

        cls_prob: (N, 2 * anchors, H, W): scores of the background, then of objects
        bbox_pred: (N, 4 * anchors, H, W)
        im_info: (N, 3): height, width, scale
        scales (list of floats): Scales of the anchors.
        ratios (list of floats): Ratios of height to width of the anchors.
        feature_stride (int): Pixels of the image per pixel of the feature map.
        threshold (float): The overlap above which the later box is dropped.
        rpn_pre_nms_top_n (int): Number of best boxes to consider.
        rpn_post_nms_top_n (int): Number of boxes per image in the result.
        rpn_min_size (int): Minimum side of a box, multiplied by the scale in im_info.
        iou_loss (bool): True if offsets are those of the corners."""
    @staticmethod
    def regular_non_max_suppression(boxes: Expr | TupleWrapper, scores: Expr | TupleWrapper, max_detections_per_class: int, max_detections: int, num_classes: int, iou_threshold: float, score_threshold: float) -> Any:
        """The best boxes over all classes, without boxes that overlap a better one of their class.

        boxes: (batch, boxes, 4): two opposite corners
        scores: (batch, boxes, classes)
        max_detections_per_class (int, required): Maximum number of boxes per class.
        max_detections (int, required): Maximum number of boxes per image.
        num_classes (int, required): Number of classes without the background.
        iou_threshold (float, required): The overlap above which the later box is dropped.
        score_threshold (float, required): Minimum score.

        Returns (boxes, classes, scores, count)."""
    @staticmethod
    def roi_align(data: Expr | TupleWrapper, rois: Expr | TupleWrapper, pooled_size: int | Sequence[int], spatial_scale: float, sample_ratio: int = -1, layout: str = 'NCHW', mode: str = 'avg', aligned: bool = False) -> Expr:
        """Resizes regions of images to one size, with interpolation.

        data: (N, C, H, W)
        rois: (regions, 5): batch, x1, y1, x2, y2
        pooled_size (list of ints, required): Height and width of the result.
        spatial_scale (float, required): Pixels of data per unit of regions.
        sample_ratio (int): Samples along each side of a cell; if below 1, one per pixel of the cell, rounded up.
        layout (string): "NCHW".
        mode (string): "avg" or "max".
        aligned (bool): True if pixels have their centres at 0.5."""
    @staticmethod
    def roi_pool(data: Expr | TupleWrapper, rois: Expr | TupleWrapper, pooled_size: int | Sequence[int], spatial_scale: float, layout: str = 'NCHW') -> Expr:
        """Divides regions of images into grids, and computes the maximum of each cell.

        data: (N, C, H, W)
        rois: (regions, 5): batch, x1, y1, x2, y2
        pooled_size (list of ints, required): Height and width of the result.
        spatial_scale (float, required): Pixels of data per unit of regions.
        layout (string): "NCHW"."""
    @staticmethod
    def yolo_reorg(data: Expr | TupleWrapper, stride: int | None = 1) -> Expr:
        """Moves pixels to channels, as Darknet's reorg layer does.

        data: (N, C, H, W)
        stride (int or None): Number of pixels to combine along each axis; None: 1."""
class vm:
    @staticmethod
    def reshape_tensor(data: Expr | TupleWrapper, shape: Expr | TupleWrapper, newshape: int | Sequence[int | str | Dim]) -> Expr:
        """Reshapes data. The shape is given twice, as a tensor and as an attribute.

        data: any shape
        shape: (rank,) integers: the values of newshape
        newshape (list of dimensions, required): The new shape."""
    @staticmethod
    def shape_of(tensor: Expr | TupleWrapper, dtype: str | None = 'int64') -> Expr:
        """The shape of a tensor, as a tensor.

        tensor: any shape
        dtype (dtype): The element type of the result."""
def where(condition: Expr | TupleWrapper, x: Expr | TupleWrapper, y: Expr | TupleWrapper) -> Expr:
    """Selects elements from two tensors by a condition.

    condition: bool, any shape
    x: a shape that broadcasts
    y: a shape that broadcasts"""
def zeros(shape: int | Sequence[int | str | Dim], dtype: str | None = None) -> Any:
    """Zeros.

    shape (list of dimensions, required): The shape of the result.
    dtype (dtype or None): The element type of the result; None: float32, for full that of fill_value.

    shape is a list, or an expression, which is passed to dyn.zeros."""
def zeros_like(data: Expr | TupleWrapper) -> Expr:
    """A tensor of zeros with the shape and type of data.

    data: any shape"""
