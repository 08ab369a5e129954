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
    """Picks slices by a tensor of indices for each of the first axes.

    inputs: a tuple: data, then integers that broadcast (a list of expressions)"""
def all(data: Expr | TupleWrapper, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False) -> Expr:
    """Whether all elements hold.

    data: any shape
    axis (list of ints or None): The axes to reduce; None or empty: all.
    keepdims (bool): Whether reduced axes stay, with extent 1.
    exclude (bool): Whether the axes not named are reduced instead."""
class annotation:
    @staticmethod
    def bitpack_end(data: Expr | TupleWrapper) -> Expr:
        """The end of what is computed on packed bits.

        data: any shape"""
    @staticmethod
    def bitpack_start(data: Expr | TupleWrapper) -> Expr:
        """The begin of what is computed on packed bits.

        data: any shape"""
    @staticmethod
    def bounded(data: Expr | TupleWrapper, axis: int, least: int = 0, most: int | None = None) -> Expr:
        """The same values; the extent along an axis must be in a range.

        data: any shape
        axis (int, required): The axis.
        least (int): The least extent.
        most (int or None): The greatest extent; None: any."""
    @staticmethod
    def cast_hint(data: Expr | TupleWrapper, dtype: str | None) -> Expr:
        """Says which element type data could have.

        data: any shape
        dtype (dtype, required): The element type that data could have."""
    @staticmethod
    def checkpoint(data: Expr | TupleWrapper) -> Expr:
        """What a gradient should compute again, not keep.

        data: any shape"""
    @staticmethod
    def compiler_begin(data: Expr | TupleWrapper, compiler: str) -> Expr:
        """An input of what another compiler is meant to compute.

        data: any shape
        compiler (string, required): The name of the compiler that is meant."""
    @staticmethod
    def compiler_end(data: Expr | TupleWrapper, compiler: str) -> Expr:
        """A result of what another compiler is meant to compute.

        data: any shape
        compiler (string, required): The name of the compiler that is meant."""
    @staticmethod
    def stop_fusion(data: Expr | TupleWrapper) -> Expr:
        """Keeps the operators on both sides out of one kernel.

        data: any shape"""
def any(data: Expr | TupleWrapper, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False) -> Expr:
    """Whether any element holds.

    data: any shape
    axis (list of ints or None): The axes to reduce; None or empty: all.
    keepdims (bool): Whether reduced axes stay, with extent 1.
    exclude (bool): Whether the axes not named are reduced instead."""
def arange(start: Expr | TupleWrapper, stop: Expr | TupleWrapper = None, step: Expr | TupleWrapper = None, dtype: str | None = 'float32') -> Any:
    """Evenly spaced values.

    start: the first value
    stop: the value not reached
    step: the distance between values, not 0
    start (float or None): The first value, where it is constant.
    stop (float or None): The value not reached, where it is constant.
    step (float or None): The distance between values, where it is constant.
    dtype (dtype or None): The element type of the result; None: of the inputs.

    arange(5), arange(1, 5) or arange(0, 1, 0.25), with numbers or expressions."""
def argmax(data: Expr | TupleWrapper, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, select_last_index: bool = False) -> Any:
    """The place of the greatest element.

    data: any shape
    axis (list of ints or None): The axes to search; None or empty: all.
    keepdims (bool): Whether searched axes stay, with extent 1.
    select_last_index (bool): Whether the last of equal elements is meant, not the first.
    exclude (bool): Whether the axes not named are searched instead."""
def argmin(data: Expr | TupleWrapper, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, select_last_index: bool = False) -> Any:
    """The place of the least element.

    data: any shape
    axis (list of ints or None): The axes to search; None or empty: all.
    keepdims (bool): Whether searched axes stay, with extent 1.
    select_last_index (bool): Whether the last of equal elements is meant, not the first.
    exclude (bool): Whether the axes not named are searched instead."""
def argsort(data: Expr | TupleWrapper, axis: int = -1, is_ascend: bool = True, dtype: str | None = 'int32') -> Any:
    """The places of the elements along an axis in order.

    data: any shape with at least one axis
    axis (int): The axis that is sorted.
    is_ascend (bool): Whether the least comes first.
    dtype (dtype or None): The element type of places; None: int32."""
def argwhere(condition: Expr | TupleWrapper) -> Expr:
    """The indices of the elements that are not zero, one a row.

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
    """The bits set in both.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def bitwise_not(data: Expr | TupleWrapper) -> Expr:
    """Every bit inverted.

    data: any shape"""
def bitwise_or(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """The bits set in either.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def bitwise_xor(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """The bits set in one of the two.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def blackman_window(size: int, periodic: bool = True, dtype: str | None = 'float32') -> Expr:
    """Blackman's window.

    size (int, required): Number of elements.
    periodic (bool): Whether the window repeats after its last element.
    dtype (dtype): Element type of the result."""
def broadcast_to(data: Expr | TupleWrapper, shape: int | Sequence[int | str | Dim]) -> Any:
    """Repeats data along axes of extent 1 to reach a shape.

    data: a shape that broadcasts to the result's
    shape (list of dimensions, required): The shape of the result.
    dtype (dtype or None): Not used; None.

    shape is a list, or an expression, which gives dyn.broadcast_to."""
def broadcast_to_like(data: Expr | TupleWrapper, broadcast_type: Expr | TupleWrapper) -> Expr:
    """Repeats data along axes of extent 1 to reach another tensor's shape.

    data: a shape that broadcasts to the result's
    broadcast_type: the result's shape"""
def cast(data: Expr | TupleWrapper, dtype: str | None, saturate: bool = True, round_mode: str = 'up') -> Expr:
    """Converts the elements to another type.

    data: any shape
    dtype (dtype, required): The element type of the result.
    saturate (bool): Of floats of at most 8 bits: whether what exceeds the greatest becomes it, not infinity or NaN.
    round_mode (string): Of float8_e8m0fnu: "up", "down" or "nearest"."""
def cast_like(data: Expr | TupleWrapper, dtype_like: Expr | TupleWrapper) -> Expr:
    """Converts the elements to the type of another tensor's.

    data: any shape
    dtype_like: any shape"""
def ceil(data: Expr | TupleWrapper) -> Expr:
    """The least integer that is not less.

    data: any shape"""
def clip(data: Expr | TupleWrapper, a_min: float, a_max: float) -> Expr:
    """Limits every element to a range.

    data: any shape
    a_min (float, required): The least value of the result.
    a_max (float, required): The greatest value of the result."""
def collapse_sum_like(data: Expr | TupleWrapper, collapse_type: Expr | TupleWrapper) -> Expr:
    """Sums over the axes along which a tensor of another's shape was broadcast.

    data: any shape
    collapse_type: its shape is that of the result; it broadcasts to data"""
def collapse_sum_to(data: Expr | TupleWrapper, shape: Expr | TupleWrapper) -> Any:
    """Sums over the axes along which a tensor was broadcast, of a shape that is known only when the program runs.

    data: any shape
    shape: (rank,) integers: the result's shape, which broadcasts to data's

    The shape is a list of integers, or an expression."""
def compress(data: Expr | TupleWrapper, condition: Expr | TupleWrapper, axis: int | None = None) -> Expr:
    """The slices whose condition holds.

    data: any shape
    condition: (n,) bools, n at most the slices
    axis (int or None): Along which axis; None: of the flattened data."""
def concatenate(data: Expr | Sequence[Expr], axis: int = 0) -> Expr:
    """Joins tensors along an axis.

    data: a tuple of tensors that differ at most along the axis (a list of expressions)
    axis (int): The axis along which they stand."""
def contrib_reverse_reshape(data: Expr | TupleWrapper, newshape: int | Sequence[int | str | Dim], allowzero: bool = False) -> Expr:
    """reshape, its newshape read from right to left.

    data: any shape
    newshape (list of dimensions, required): The new shape; 0 and -1 to -4 have the meanings above.
    allowzero (bool): Whether 0 means an extent of zero."""
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
    """Running products along an axis.

    data: any shape
    axis (int or None): The axis to go along; None: the flattened data.
    dtype (dtype or None): The element type of the result; None: of the data.
    exclusive (bool): Whether an element's own value is left out."""
def cumsum(data: Expr | TupleWrapper, axis: int | None = None, dtype: str | None = None, exclusive: bool = False) -> Expr:
    """Running sums along an axis.

    data: any shape
    axis (int or None): The axis to go along; None: the flattened data.
    dtype (dtype or None): The element type of the result; None: of the data.
    exclusive (bool): Whether an element's own value is left out."""
def debug(program: Expr | TupleWrapper, debug_func: str = '') -> Expr:
    """A place where somebody could look at a value.

    program: any shape
    debug_func (string): The name of what would look at the value."""
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
    """Data on another device; the values are the same.

    data: any shape
    src_virtual_device (string): The device that data is on.
    dst_virtual_device (string): The device that it goes to."""
def dft(re_data: Expr | TupleWrapper, im_data: Expr | TupleWrapper, inverse: bool = False) -> Any:
    """The discrete Fourier transform along the last axis.

    re_data: real parts, (.., N)
    im_data: imaginary parts, the same shape
    inverse (bool): Whether the inverse is computed.

    Returns (real parts, imaginary parts)."""
def divide(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """lhs / rhs; integers are rounded towards zero.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def document(definition: Any) -> Expr:
    """"""
class dyn:
    @staticmethod
    def broadcast_to(data: Expr | TupleWrapper, shape: Expr | TupleWrapper) -> Expr:
        """Repeats data along axes of extent 1 to reach a shape that is known only when the program runs.

        data: a shape that broadcasts to the result's
        shape: (rank,) integers, not below 0: the result's shape, to which data broadcasts"""
    @staticmethod
    def expand_dims(data: Expr | TupleWrapper, axis: Expr | TupleWrapper, num_newaxis: int = 1) -> Expr:
        """Inserts axes of extent 1 at a place that a tensor says.

        data: any shape
        axis: one integer from -rank - 1 to rank: where the new axes stand
        num_newaxis (int): How many new axes there are."""
    @staticmethod
    def full(fill_value: Expr | TupleWrapper, shape: Expr | TupleWrapper, dtype: str | None = None) -> Expr:
        """A tensor of one value, of a shape that is known only when the program runs.

        fill_value: ()
        shape: (rank,) sizes not below 0: its shape
        dtype (dtype or None): The element type of the result; None: of fill_value, or float32."""
    class image:
        @staticmethod
        def resize2d(data: Expr | TupleWrapper, size: Expr | TupleWrapper, roi: Expr | TupleWrapper, layout: str = 'NCHW', method: str = 'linear', coordinate_transformation_mode: str = 'half_pixel', rounding_method: str = 'round', cubic_alpha: float = -0.5, cubic_exclude: int = 0, extrapolation_value: float = 0.0, out_dtype: str | None = None) -> Expr:
            """Resizes images to a size that the program computes.

            data: (N, C, H, W), in the order of layout
            size: (2,) integers above 0: the extents of H and W
            roi: (4,) floats, not used
            layout (string): Order of the axes.
            method (string): "nearest_neighbor", "linear" or "cubic".
            coordinate_transformation_mode (string): Where a place of the result lies in data, as of image.resize2d but for tf_crop_and_resize.
            rounding_method (string): What is nearest, as of image.resize2d.
            cubic_alpha (float): The parameter of the cubic kernel.
            cubic_exclude (int): Whether neighbours outside of data count for nothing in "cubic".
            extrapolation_value (float): Not used.
            out_dtype (dtype or None): Element type of the result; None: of data."""
    class nn:
        @staticmethod
        def pad(data: Expr | TupleWrapper, pad_width: Expr | TupleWrapper, pad_val: Expr | TupleWrapper, pad_mode: str = 'constant') -> Expr:
            """Adds elements around a tensor, as many as another tensor says.

            data: any shape
            pad_width: (rank, 2) integers: before and after each axis; below 0 cuts off, at most all
            pad_val: one value
            pad_mode (string): "constant", "edge" or "reflect"."""
        @staticmethod
        def upsampling(data: Expr | TupleWrapper, scale_h: Expr | TupleWrapper, scale_w: Expr | TupleWrapper, layout: str = 'NCHW', method: str = 'nearest_neighbor', align_corners: bool = False) -> Expr:
            """Scales images by what the program computes.

            data: (N, C, H, W), in the order of layout
            scale_h: (), a positive float
            scale_w: (), a positive float
            layout (string): Order of the axes.
            method (string): "nearest_neighbor", "bilinear" or "bicubic".
            align_corners (bool): Whether the corners of data and result fall together."""
        @staticmethod
        def upsampling3d(data: Expr | TupleWrapper, scale_d: Expr | TupleWrapper, scale_h: Expr | TupleWrapper, scale_w: Expr | TupleWrapper, layout: str = 'NCDHW', method: str = 'nearest_neighbor', coordinate_transformation_mode: str = 'half_pixel') -> Expr:
            """Scales volumes by what the program computes.

            data: (N, C, D, H, W), in the order of layout
            scale_d: (), a positive float
            scale_h: (), a positive float
            scale_w: (), a positive float
            layout (string): Order of the axes.
            method (string): "nearest_neighbor" or "trilinear".
            coordinate_transformation_mode (string): Where a place of the result lies in data: half_pixel, align_corners or asymmetric."""
    @staticmethod
    def one_hot(indices: Expr | TupleWrapper, on_value: Expr | TupleWrapper, off_value: Expr | TupleWrapper, depth: Expr | TupleWrapper, axis: int = -1, dtype: str | None = None) -> Expr:
        """Marks one place of a new axis for each index; its extent is known only when the program runs.

        indices: integers, any shape
        on_value: the value at the place
        off_value: the value elsewhere
        depth: one integer, not below 0: the extent of the new axis
        axis (int): Where the new axis stands; -1: at the end.
        dtype (dtype or None): The element type of the result; None: of on_value."""
    @staticmethod
    def ones(shape: Expr | TupleWrapper, dtype: str | None = None) -> Expr:
        """Ones, of a shape that is known only when the program runs.

        shape: (rank,) sizes not below 0: its shape
        dtype (dtype or None): The element type of the result; None: of fill_value, or float32."""
    @staticmethod
    def reshape(data: Expr | TupleWrapper, newshape: Expr | TupleWrapper, allowzero: bool = False) -> Expr:
        """The same elements under a shape that is known only when the program runs.

        data: any shape
        newshape: (rank,) integers for as many elements; 0 keeps an extent, one -1 is what is left over
        allowzero (bool): A 0 in newshape is an axis without elements, not one kept."""
    @staticmethod
    def sparse_to_dense(sparse_indices: Expr | TupleWrapper, sparse_values: Expr | TupleWrapper, default_value: Expr | TupleWrapper, output_shape: Expr | TupleWrapper) -> Expr:
        """A tensor of one value, others at some places, of a shape that is known only when the program runs.

        sparse_indices: integers: (n, rank), of a vector also (n,) or ()
        sparse_values: (n,), or one for all
        default_value: the value elsewhere
        output_shape: (rank,) integers, not below 0: the result's shape"""
    @staticmethod
    def squeeze(data: Expr | TupleWrapper, axes: Expr | TupleWrapper) -> Expr:
        """Drops the axes of extent 1 that a tensor names.

        data: any shape
        axes: (count,) integers: different axes of extent 1"""
    @staticmethod
    def strided_slice(data: Expr | TupleWrapper, begin: Expr | TupleWrapper, end: Expr | TupleWrapper, strides: Expr | TupleWrapper, slice_mode: str = 'end') -> Expr:
        """Takes every stride-th element of a range along each axis; the range is given by tensors.

        data: any shape
        begin: (axes,) integers
        end: (axes,) integers
        strides: (axes,) integers, not zero
        slice_mode (string): "end", or "size": end holds extents."""
    @staticmethod
    def tile(data: Expr | TupleWrapper, reps: Expr | TupleWrapper) -> Expr:
        """Repeats the whole tensor along each axis, as often as a tensor says.

        data: any shape
        reps: integers, aligned at the last axis"""
    @staticmethod
    def topk(data: Expr | TupleWrapper, k: Expr | TupleWrapper, axis: int = -1, ret_type: str = 'both', is_ascend: bool = False, dtype: str | None = None) -> Expr:
        """The greatest (least) k elements along an axis in order, and their places, where the program computes k.

        data: any shape with at least one axis
        k: () or (1,), an integer, at most the extent of the axis; less than 1: all
        axis (int): The axis that is sorted.
        ret_type (string): "both" (values, places), "values" or "indices".
        is_ascend (bool): Whether the least comes first.
        dtype (dtype or None): The element type of places; None: int32."""
    @staticmethod
    def zeros(shape: Expr | TupleWrapper, dtype: str | None = None) -> Expr:
        """Zeros, of a shape that is known only when the program runs.

        shape: (rank,) sizes not below 0: its shape
        dtype (dtype or None): The element type of the result; None: of fill_value, or float32."""
def einsum(data: Expr | Sequence[Expr], equation: str) -> Expr:
    """A sum of products that is written with a letter for each axis.

    data: a tuple of tensors (a list of expressions)
    equation (string, required): The letters, as "ij,jk->ik"."""
def equal(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """lhs == rhs.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def erf(data: Expr | TupleWrapper) -> Expr:
    """The error function.

    data: any shape"""
def erfc(data: Expr | TupleWrapper) -> Expr:
    """1 - erf(data), exact where it is small too.

    data: any shape"""
def exp(data: Expr | TupleWrapper) -> Expr:
    """e to the power of data.

    data: any shape"""
def expand_dims(data: Expr | TupleWrapper, axis: int, num_newaxis: int = 1) -> Any:
    """Inserts axes of extent 1.

    data: any shape
    axis (int, required): Where the new axes stand in the result; -1: at the end.
    num_newaxis (int): How many there are.

    axis is a number, or an expression, which gives dyn.expand_dims."""
def expm1(data: Expr | TupleWrapper) -> Expr:
    """exp(data) - 1, exact near 0 too.

    data: any shape"""
def fast_erf(data: Expr | TupleWrapper) -> Expr:
    """The error function; no less exact than erf.

    data: any shape"""
def fast_exp(data: Expr | TupleWrapper) -> Expr:
    """e to the power of data; no less exact than exp.

    data: any shape"""
def fast_tanh(data: Expr | TupleWrapper) -> Expr:
    """Hyperbolic tangent; no less exact than tanh.

    data: any shape"""
def fixed_point_multiply(data: Expr | TupleWrapper, multiplier: int, shift: int) -> Expr:
    """Multiplies by a number that is given as an integer and a power of two.

    data: int32, any shape
    multiplier (int, required): A factor, in units of 2^-31.
    shift (int, required): A power of two; negative: moved down."""
def fixed_point_multiply_per_axis(x: Expr | TupleWrapper, y: Expr | TupleWrapper, lshift: Expr | TupleWrapper, rshift: Expr | TupleWrapper, is_lshift_required: bool = False, is_rshift_required: bool = False, axes: int | Sequence[int] = []) -> Expr:
    """Multiplies by numbers along some axes that are given as integers and powers of two.

    x: int32, any shape
    y: int32, a factor for each index at the axes, in units of 2^-31
    lshift: int32, the shape of y: bits that x is moved up
    rshift: int32, the shape of y: bits that the product is moved down
    is_lshift_required (bool): Whether lshift is used.
    is_rshift_required (bool): Whether rshift is used.
    axes (list of ints): The axes of x that the factors go along."""
def floor(data: Expr | TupleWrapper) -> Expr:
    """The greatest integer that is not greater.

    data: any shape"""
def floor_divide(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """The greatest integer not above lhs / rhs.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def floor_mod(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """lhs - rhs * floor_divide(lhs, rhs): the remainder with the sign of rhs.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def full(fill_value: Expr | TupleWrapper, shape: int | Sequence[int | str | Dim] = (), dtype: str | None = None) -> Any:
    """One value everywhere.

    fill_value: one value
    shape (list of dimensions, required): The shape of the result.
    dtype (dtype or None): The element type of the result; None: float32, for full that of fill_value.

    shape is a list, or an expression, which gives dyn.full."""
def full_like(data: Expr | TupleWrapper, fill_value: Expr | TupleWrapper) -> Expr:
    """One value everywhere, in the shape and type of data.

    data: any shape
    fill_value: one value"""
def function_of(definition: Any) -> Any:
    """Returns the function of an operator: its inputs, then its attributes."""
def gather(data: Expr | TupleWrapper, axis: int, indices: Expr | TupleWrapper) -> Any:
    """Picks elements along an axis by a tensor of indices with as many axes.

    data: any shape
    indices: integers; the shape of the result
    axis (int): The axis that is indexed."""
def gather_nd(data: Expr | TupleWrapper, indices: Expr | TupleWrapper, batch_dims: int = 0, index_rank: int | None = None) -> Expr:
    """Picks slices by tuples of indices, which stand along the first axis of indices.

    data: any shape
    indices: integers, (M, ..)
    batch_dims (int): How many first axes data and the result share.
    index_rank (int or None): The extent of indices' first axis, where it is unknown."""
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
    periodic (bool): Whether the window repeats after its last element.
    alpha (float): a0.
    dtype (dtype): Element type of the result."""
def hann_window(size: int, periodic: bool = True, dtype: str | None = 'float32') -> Expr:
    """Hann's window: a raised cosine.

    size (int, required): Number of elements.
    periodic (bool): Whether the window repeats after its last element.
    dtype (dtype): Element type of the result."""
class image:
    @staticmethod
    def affine_grid(data: Expr | TupleWrapper, target_shape: int | Sequence[int | str | Dim]) -> Expr:
        """The places of a grid, moved by affine maps, as image.grid_sample takes them.

        data: matrices, (N, 2, 3)
        target_shape (list of dimensions, required): Extents [H, W] of the grid."""
    @staticmethod
    def crop_and_resize(data: Expr | TupleWrapper, boxes: Expr | TupleWrapper, box_indices: Expr | TupleWrapper, crop_size: int | Sequence[int | str | Dim], layout: str = 'NCHW', method: str = 'bilinear', extrapolation_value: float = 0.0, out_dtype: str | None = None) -> Expr:
        """Boxes of images, interpolated to one size.

        data: (N, C, H, W), in the order of layout
        boxes: (boxes, 4): y1, x1, y2, x2, from 0 to 1
        box_indices: (boxes,) integers: the image of each
        crop_size (list of dimensions, required): Extents [H, W] of the result.
        layout (string): Order of the axes.
        method (string): "bilinear" or "nearest_neighbor".
        extrapolation_value (float): The value outside of the image.
        out_dtype (dtype or None): Element type of the result; None: of data."""
    @staticmethod
    def dilation2d(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, strides: int | Sequence[int] = [1, 1], padding: int | Sequence[int] = [0, 0], dilations: int | Sequence[int] = [1, 1], data_layout: str = 'NCHW', kernel_layout: str = 'IHW', out_dtype: str | None = None) -> Expr:
        """The greatest sum of data and weight under a moving window.

        data: (N, C, H, W), in the order of data_layout
        weight: (C, KH, KW)
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Places around the data: one value, one for each axis, or all befores and then all afters.
        dilations (list of ints): Distance between two taps of the window along each axis.
        data_layout (string): Order of the axes of data and result.
        kernel_layout (string): Order of the weight's axes.
        out_dtype (dtype or None): Element type of the result; None: of data."""
    @staticmethod
    def grid_sample(data: Expr | TupleWrapper, grid: Expr | TupleWrapper, method: str = 'bilinear', layout: str = 'NCHW', padding_mode: str = 'zeros', align_corners: bool = True) -> Expr:
        """Reads images, or volumes, at the places of a grid, and interpolates.

        data: floats, (N, C, H, W) or (N, C, D, H, W), in the order of layout
        grid: coordinates (x, y) or (x, y, z): (N, 2, H', W') or (N, 3, D', H', W')
        method (string): "nearest", "bilinear" (of three coordinates: trilinear) or, for images, "bicubic".
        layout (string): Order of the axes of data: of NCHW or of NCDHW.
        padding_mode (string): "zeros", "border" or "reflection".
        align_corners (bool): Whether -1 and 1 are the middles of the outermost elements, or else their outer edges."""
    @staticmethod
    def resize1d(data: Expr | TupleWrapper, size: int | Sequence[int | str | Dim], roi: Sequence[float] = None, layout: str = 'NCW', method: str = 'linear', coordinate_transformation_mode: str = 'half_pixel', rounding_method: str = '', cubic_alpha: float = -0.5, cubic_exclude: int = 0, extrapolation_value: float = 0.0, out_dtype: str | None = None) -> Any:
        """Resamples signals to another size.

        data: (N, C, W), in the order of layout
        size (list of dimensions, required): Extents of the result, one for each axis or one for all.
        roi (list of floats): For tf_crop_and_resize: the region of data, its begin along each axis and then its end, from 0 to 1.
        layout (string): Order of the axes.
        method (string): "nearest_neighbor", "linear" or "cubic".
        coordinate_transformation_mode (string): Where a place of the result lies in data: half_pixel, align_corners, asymmetric, pytorch_half_pixel, tf_half_pixel_for_nn, tf_crop_and_resize.
        rounding_method (string): What is nearest: round, floor, ceil, round_prefer_floor, round_prefer_ceil; empty: with align_corners round, else floor.
        cubic_alpha (float): The parameter of the cubic kernel.
        cubic_exclude (int): Whether neighbours outside of data count for nothing in "cubic".
        extrapolation_value (float): The value outside of data, for tf_crop_and_resize.
        out_dtype (dtype or None): Element type of the result; None: of data.

        rounding_method is "" by default here, and "round" in the text form. The size of resize2d is a list, or an
                expression, which gives dyn.image.resize2d without a roi."""
    @staticmethod
    def resize2d(data: Expr | TupleWrapper, size: int | Sequence[int | str | Dim], roi: Sequence[float] = None, layout: str = 'NCHW', method: str = 'linear', coordinate_transformation_mode: str = 'half_pixel', rounding_method: str = '', cubic_alpha: float = -0.5, cubic_exclude: int = 0, extrapolation_value: float = 0.0, out_dtype: str | None = None) -> Any:
        """Resamples images to another size.

        data: (N, C, H, W), in the order of layout
        size (list of dimensions, required): Extents of the result, one for each axis or one for all.
        roi (list of floats): For tf_crop_and_resize: the region of data, its begin along each axis and then its end, from 0 to 1.
        layout (string): Order of the axes.
        method (string): "nearest_neighbor", "linear" or "cubic".
        coordinate_transformation_mode (string): Where a place of the result lies in data: half_pixel, align_corners, asymmetric, pytorch_half_pixel, tf_half_pixel_for_nn, tf_crop_and_resize.
        rounding_method (string): What is nearest: round, floor, ceil, round_prefer_floor, round_prefer_ceil; empty: with align_corners round, else floor.
        cubic_alpha (float): The parameter of the cubic kernel.
        cubic_exclude (int): Whether neighbours outside of data count for nothing in "cubic".
        extrapolation_value (float): The value outside of data, for tf_crop_and_resize.
        out_dtype (dtype or None): Element type of the result; None: of data.

        rounding_method is "" by default here, and "round" in the text form. The size of resize2d is a list, or an
                expression, which gives dyn.image.resize2d without a roi."""
    @staticmethod
    def resize3d(data: Expr | TupleWrapper, size: int | Sequence[int | str | Dim], roi: Sequence[float] = None, layout: str = 'NCDHW', method: str = 'linear', coordinate_transformation_mode: str = 'half_pixel', rounding_method: str = '', cubic_alpha: float = -0.5, cubic_exclude: int = 0, extrapolation_value: float = 0.0, out_dtype: str | None = None) -> Any:
        """Resamples volumes to another size.

        data: (N, C, D, H, W), in the order of layout
        size (list of dimensions, required): Extents of the result, one for each axis or one for all.
        roi (list of floats): For tf_crop_and_resize: the region of data, its begin along each axis and then its end, from 0 to 1.
        layout (string): Order of the axes.
        method (string): "nearest_neighbor", "linear" or "cubic".
        coordinate_transformation_mode (string): Where a place of the result lies in data: half_pixel, align_corners, asymmetric, pytorch_half_pixel, tf_half_pixel_for_nn, tf_crop_and_resize.
        rounding_method (string): What is nearest: round, floor, ceil, round_prefer_floor, round_prefer_ceil; empty: with align_corners round, else floor.
        cubic_alpha (float): The parameter of the cubic kernel.
        cubic_exclude (int): Whether neighbours outside of data count for nothing in "cubic".
        extrapolation_value (float): The value outside of data, for tf_crop_and_resize.
        out_dtype (dtype or None): Element type of the result; None: of data.

        rounding_method is "" by default here, and "round" in the text form. The size of resize2d is a list, or an
                expression, which gives dyn.image.resize2d without a roi."""
def invert_permutation(data: Expr | TupleWrapper) -> Expr:
    """The inverse of a permutation.

    data: the numbers from 0 to n - 1 in some order, (n,)"""
def isfinite(data: Expr | TupleWrapper) -> Expr:
    """Neither infinite nor NaN.

    data: any shape"""
def isinf(data: Expr | TupleWrapper) -> Expr:
    """Infinite.

    data: any shape"""
def isnan(data: Expr | TupleWrapper) -> Expr:
    """Not a number.

    data: any shape"""
def layout_transform(data: Expr | TupleWrapper, src_layout: str, dst_layout: str) -> Expr:
    """Brings data into another order of its axes, some of them in blocks.

    data: any shape that fits src_layout
    src_layout (string, required): The layout of data, as "NCHW".
    dst_layout (string, required): That of the result, as "NCHW8c"."""
def left_shift(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """lhs moved up by rhs bits.

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
    """log(1 + data), exact near 0 too.

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
    """Either or both.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def logical_xor(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """One of the two.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def logsumexp(data: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """Returns log(sum(exp(data))), with the largest value subtracted first."""
def matrix_set_diag(data: Any, diagonal: Expr | TupleWrapper, k: Any = 0, align: Any = 'RIGHT_LEFT') -> Any:
    """Replaces diagonals of matrices.

    input: matrices, (.., M, N)
    diagonal: (.., L) for one diagonal, (.., k2 - k1 + 1, L) for several, the highest first
    k1 (int): The lowest diagonal; 0 is the main one, below it they are negative.
    k2 (int): The highest diagonal.
    super_diag_right_align (bool): Whether diagonals above the main one are aligned right.
    sub_diag_right_align (bool): Whether diagonals below the main one are aligned right.

    k is one diagonal, or the lowest and the highest. align: the alignment of shorter diagonals, above and below the
        main one."""
def max(data: Expr | TupleWrapper, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False) -> Expr:
    """The greatest element.

    data: any shape
    axis (list of ints or None): The axes to reduce; None or empty: all.
    keepdims (bool): Whether reduced axes stay, with extent 1.
    exclude (bool): Whether the axes not named are reduced instead."""
def maximum(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """The greater; NaN if either is.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def mean(data: Expr | TupleWrapper, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False) -> Expr:
    """The sum divided by the number of elements; integers are rounded towards zero.

    data: any shape
    axis (list of ints or None): The axes to reduce; None or empty: all.
    keepdims (bool): Whether reduced axes stay, with extent 1.
    exclude (bool): Whether the axes not named are reduced instead."""
def mean_std(data: Any, axis: Any = None, keepdims: Any = False, exclude: Any = False) -> Any:
    """Returns (mean, standard deviation)."""
def mean_variance(data: Any, axis: Any = None, keepdims: Any = False, exclude: Any = False, unbiased: Any = False) -> Any:
    """Returns (mean, variance)."""
def mel_weight_matrix(num_mel_bins: int, dft_length: int, sample_rate: int, lower_edge_hertz: float, upper_edge_hertz: float, dtype: str | None = 'float32') -> Expr:
    """A matrix that sums the bins of a spectrum into bands of the mel scale.

    num_mel_bins (int, required): Number of bands.
    dft_length (int, required): Samples that a spectrum was computed of.
    sample_rate (int, required): Samples of the signal in a second.
    lower_edge_hertz (float, required): Where the first band begins.
    upper_edge_hertz (float, required): Where the last band ends.
    dtype (dtype): Element type of the result."""
def meshgrid(data: Expr | Sequence[Expr], indexing: str = 'ij') -> Any:
    """The coordinates of a grid of vectors, one tensor for each axis.

    data: a tuple of vectors (a list of expressions)
    indexing (string): "ij" or "xy".

    Returns a tuple with one field for each vector."""
def min(data: Expr | TupleWrapper, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False) -> Expr:
    """The least element.

    data: any shape
    axis (list of ints or None): The axes to reduce; None or empty: all.
    keepdims (bool): Whether reduced axes stay, with extent 1.
    exclude (bool): Whether the axes not named are reduced instead."""
def minimum(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """The lesser; NaN if either is.

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
        """The means over as many windows as the result has places.

        data: (N, C, W), in the order of layout
        output_size (list of ints): Extents of the result, one for each axis or one for all; empty: of the data.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: layout."""
    @staticmethod
    def adaptive_avg_pool2d(data: Expr | TupleWrapper, output_size: int | Sequence[int] = None, layout: str = 'NCHW', out_layout: str = '') -> Any:
        """The means over as many windows as the result has places.

        data: (N, C, H, W), in the order of layout
        output_size (list of ints): Extents of the result, one for each axis or one for all; empty: of the data.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: layout."""
    @staticmethod
    def adaptive_avg_pool3d(data: Expr | TupleWrapper, output_size: int | Sequence[int] = None, layout: str = 'NCDHW', out_layout: str = '') -> Any:
        """The means over as many windows as the result has places.

        data: (N, C, D, H, W), in the order of layout
        output_size (list of ints): Extents of the result, one for each axis or one for all; empty: of the data.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: layout."""
    @staticmethod
    def adaptive_max_pool1d(data: Expr | TupleWrapper, output_size: int | Sequence[int] = None, layout: str = 'NCW', out_layout: str = '') -> Any:
        """The maxima over as many windows as the result has places.

        data: (N, C, W), in the order of layout
        output_size (list of ints): Extents of the result, one for each axis or one for all; empty: of the data.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: layout."""
    @staticmethod
    def adaptive_max_pool2d(data: Expr | TupleWrapper, output_size: int | Sequence[int] = None, layout: str = 'NCHW', out_layout: str = '') -> Any:
        """The maxima over as many windows as the result has places.

        data: (N, C, H, W), in the order of layout
        output_size (list of ints): Extents of the result, one for each axis or one for all; empty: of the data.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: layout."""
    @staticmethod
    def adaptive_max_pool3d(data: Expr | TupleWrapper, output_size: int | Sequence[int] = None, layout: str = 'NCDHW', out_layout: str = '') -> Any:
        """The maxima over as many windows as the result has places.

        data: (N, C, D, H, W), in the order of layout
        output_size (list of ints): Extents of the result, one for each axis or one for all; empty: of the data.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: layout."""
    @staticmethod
    def avg_pool1d(data: Expr | TupleWrapper, pool_size: int | Sequence[int] = [1], strides: int | Sequence[int] = [1], dilation: int | Sequence[int] = [1], padding: int | Sequence[int] = [0], layout: str = 'NCW', out_layout: str = '', ceil_mode: bool = False, count_include_pad: bool = False) -> Expr:
        """The mean over a moving window.

        data: (N, C, W), in the order of layout
        pool_size (list of ints): Extents of the window.
        strides (list of ints): Step of the window along each axis.
        dilation (list of ints): Distance between two taps of the window along each axis.
        padding (list of ints): Zeros around the data: one value, one for each axis, or all befores and then all afters.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: layout.
        ceil_mode (bool): Whether a last incomplete window counts.
        count_include_pad (bool): Whether padding counts in the mean."""
    @staticmethod
    def avg_pool2d(data: Expr | TupleWrapper, pool_size: int | Sequence[int] = [1, 1], strides: int | Sequence[int] = [1, 1], dilation: int | Sequence[int] = [1, 1], padding: int | Sequence[int] = [0, 0], layout: str = 'NCHW', out_layout: str = '', ceil_mode: bool = False, count_include_pad: bool = False) -> Expr:
        """The mean over a moving window.

        data: (N, C, H, W), in the order of layout
        pool_size (list of ints): Extents of the window.
        strides (list of ints): Step of the window along each axis.
        dilation (list of ints): Distance between two taps of the window along each axis.
        padding (list of ints): Zeros around the data: one value, one for each axis, or all befores and then all afters.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: layout.
        ceil_mode (bool): Whether a last incomplete window counts.
        count_include_pad (bool): Whether padding counts in the mean."""
    @staticmethod
    def avg_pool2d_grad(out_grad: Expr | TupleWrapper, data: Expr | TupleWrapper, pool_size: int | Sequence[int] = (1, 1), strides: int | Sequence[int] = (1, 1), padding: int | Sequence[int] = (0, 0), layout: str = 'NCHW', out_layout: str = '', ceil_mode: bool = False, count_include_pad: bool = False, dilation: int | Sequence[int] = (1, 1)) -> Any:
        """The gradient of nn.avg_pool2d with respect to its data.

        out_grad: the gradient of the pool's result
        data: what was pooled
        pool_size (list of ints): Extents of the window.
        strides (list of ints): Step of the window along each axis.
        dilation (list of ints): Distance between two taps of the window along each axis.
        padding (list of ints): Zeros around the data: one value, one for each axis, or all befores and then all afters.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: layout.
        ceil_mode (bool): Whether a last incomplete window counts.
        count_include_pad (bool): Whether padding counts in the mean.

        The padding comes before the dilation; in the text form the dilation is first."""
    @staticmethod
    def avg_pool3d(data: Expr | TupleWrapper, pool_size: int | Sequence[int] = [1, 1, 1], strides: int | Sequence[int] = [1, 1, 1], dilation: int | Sequence[int] = [1, 1, 1], padding: int | Sequence[int] = [0, 0, 0], layout: str = 'NCDHW', out_layout: str = '', ceil_mode: bool = False, count_include_pad: bool = False) -> Expr:
        """The mean over a moving window.

        data: (N, C, D, H, W), in the order of layout
        pool_size (list of ints): Extents of the window.
        strides (list of ints): Step of the window along each axis.
        dilation (list of ints): Distance between two taps of the window along each axis.
        padding (list of ints): Zeros around the data: one value, one for each axis, or all befores and then all afters.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: layout.
        ceil_mode (bool): Whether a last incomplete window counts.
        count_include_pad (bool): Whether padding counts in the mean."""
    @staticmethod
    def batch_flatten(data: Expr | TupleWrapper) -> Expr:
        """Makes one axis of all but the first.

        data: (N, ..)"""
    @staticmethod
    def batch_matmul(tensor_a: Expr | TupleWrapper, tensor_b: Expr | TupleWrapper, out_dtype: str | None = None, transpose_a: bool = False, transpose_b: bool = True) -> Any:
        """The products of corresponding matrices of two batches.

        tensor_a: (B, M, K), or (B, K, M) when transpose_a
        tensor_b: (B, K, N), or (B, N, K) when transpose_b
        out_dtype (dtype or None): Element type of the sum and the result; None: of tensor_a.
        transpose_a (bool): Whether tensor_a is (b, k, m).
        transpose_b (bool): Whether tensor_b is (b, n, k).

        b is (batch, columns, inner) by default: transpose_b is True here, and False in the text form."""
    @staticmethod
    def batch_norm(data: Expr | TupleWrapper, gamma: Expr | TupleWrapper, beta: Expr | TupleWrapper, moving_mean: Expr | TupleWrapper, moving_var: Expr | TupleWrapper, axis: int = 1, epsilon: float = 1e-05, center: bool = True, scale: bool = True) -> Any:
        """Normalises channels by given means and variances, then scales and shifts. Gives (result, moving_mean, moving_var).

        data: (.., C, ..)
        gamma: (C,)
        beta: (C,)
        moving_mean: (C,)
        moving_var: (C,)
        axis (int): The axis of the channels.
        epsilon (float): Added to the variance.
        center (bool): Whether beta is added.
        scale (bool): Whether the result is multiplied by gamma.

        Returns (data, mean, variance)."""
    @staticmethod
    def batch_to_space_nd(data: Expr | TupleWrapper, block_shape: int | Sequence[int], crops: Sequence[Sequence[int]]) -> Any:
        """Puts blocks together whose places are batch elements.

        data: (N, spatial.., rest..)
        block_shape (list of ints): Extents of a block.
        crops (list of lists of ints, required): For each, how many are cut off before and after."""
    @staticmethod
    def bias_add(data: Expr | TupleWrapper, bias: Expr | TupleWrapper, axis: int = 1) -> Expr:
        """Adds one value a channel.

        data: any shape
        bias: (C,), C the extent of data along axis
        axis (int): The axis of data that bias runs along."""
    @staticmethod
    def bitpack(data: Expr | TupleWrapper, bits: int = 1, pack_axis: int = 1, bit_axis: int = -1, pack_type: str | None = None, name: str = 'BitPack') -> Expr:
        """The bits of numbers, packed into words.

        data: integers, any shape
        bits (int): How many bits of each number, from 1 to 8.
        pack_axis (int): The axis that becomes words.
        bit_axis (int): Where the axis of bits stands in the result.
        pack_type (dtype or None): The type of words; None: uint32.
        name (string): A name of the computation."""
    @staticmethod
    def bitserial_conv2d(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, strides: int | Sequence[int] = [1, 1], padding: int | Sequence[int] = [0, 0], kernel_size: int | Sequence[int] = [3, 3], channels: int | None = None, activation_bits: int = 1, weight_bits: int = 1, data_layout: str = 'NCHW', kernel_layout: str = 'OIHW', pack_dtype: str | None = None, out_dtype: str | None = None, unipolar: bool = True) -> Expr:
        """Two-dimensional convolution of numbers of few bits.

        data: (N, C, H, W) integers, in the order of data_layout
        weight: (O, C, KH, KW) integers, in the order of kernel_layout
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Zeros around the data: one value, one for each axis, or all befores and then all afters.
        kernel_size (list of ints): Extents of the window.
        channels (int or None): Number of output channels; None: from the weight.
        activation_bits (int): Bits of the data, from 1 to 8.
        weight_bits (int): Bits of the weight, from 1 to 8.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes.
        pack_dtype (dtype or None): The type of words, where bits are packed.
        out_dtype (dtype or None): Element type of the result; None: int16.
        unipolar (bool): Whether a bit of the weight is -1 or 1."""
    @staticmethod
    def bitserial_dense(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, units: int | None = None, data_bits: int = 1, weight_bits: int = 1, pack_dtype: str | None = None, out_dtype: str | None = None, unipolar: bool = True) -> Expr:
        """A fully connected layer of numbers of few bits.

        data: (n, features) integers
        weight: (units, features) integers
        units (int or None): Number of output features; None: from the weight.
        data_bits (int): Bits of the data, from 1 to 8.
        weight_bits (int): Bits of the weight, from 1 to 8.
        pack_dtype (dtype or None): The type of words, where bits are packed.
        out_dtype (dtype or None): Element type of the result; None: int16.
        unipolar (bool): Whether a bit of the weight is -1 or 1."""
    @staticmethod
    def col2im(data: Expr | TupleWrapper, image_shape: int | Sequence[int | str | Dim], block_shape: int | Sequence[int], strides: int | Sequence[int] = [1], padding: int | Sequence[int] = [0], dilation: int | Sequence[int] = [1]) -> Expr:
        """The sums of columns of blocks, each element where nn.im2col took it from.

        data: (N, C * K, L)
        image_shape (list of dimensions, required): Extents of the result.
        block_shape (list of ints, required): Extents of the window.
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): What the window was moved over around the result: one value, one for each axis, or all befores and then all afters.
        dilation (list of ints): Distance between two taps of the window."""
    @staticmethod
    def contrib_conv2d_NCHWc(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, strides: int | Sequence[int] = [1, 1], padding: int | Sequence[int] = [0, 0], dilation: int | Sequence[int] = [1, 1], groups: int = 1, channels: int | None = None, kernel_size: int | Sequence[int] | None = None, data_layout: str = 'NCHW', kernel_layout: str = 'OIHW', out_layout: str = '', out_dtype: str | None = None) -> Expr:
        """Two-dimensional convolution of channels in blocks.

        data: (N, C / c, H, W, c)
        weight: (O / o, C / c, KH, KW, c, o)
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Zeros around the data: one value, one for each axis, or all befores and then all afters.
        dilation (list of ints): Distance between two taps of the window along each axis.
        groups (int): Number of independent groups that the channels fall into.
        channels (int or None): Number of output channels; None: from the weight.
        kernel_size (list of ints or None): Extents of the window; None: from the weight.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes.
        out_layout (string): Order of the result's axes; empty: data_layout.
        out_dtype (dtype or None): Element type of the sum and the result; None: of the data."""
    @staticmethod
    def contrib_conv2d_gemm_weight_transform(weights: Expr | TupleWrapper, tile_N: int, tile_K: int) -> Expr:
        """The weight of a convolution as a matrix in tiles.

        weights: (KH, KW, C, O)
        tile_N (int, required): Columns of a tile: output channels.
        tile_K (int, required): Rows of a tile: taps and input channels."""
    @staticmethod
    def contrib_conv2d_gemm_without_weight_transform(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, strides: int | Sequence[int] = [1, 1], padding: int | Sequence[int] = [0, 0], dilation: int | Sequence[int] = [1, 1], groups: int = 1, channels: int | None = None, kernel_size: int | Sequence[int] | None = None, data_layout: str = 'NHWC', kernel_layout: str = 'HWIO', out_layout: str = '', out_dtype: str | None = None) -> Expr:
        """Two-dimensional convolution with a weight in tiles.

        data: (N, H, W, C)
        weight: (tiles of O, tiles of KH * KW * C, tile_N, tile_K)
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Zeros around the data: one value, one for each axis, or all befores and then all afters.
        dilation (list of ints): Distance between two taps of the window along each axis.
        groups (int): Number of independent groups that the channels fall into.
        channels (int or None): Number of output channels; None: from the weight.
        kernel_size (list of ints or None): Extents of the window; None: from the weight.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes.
        out_layout (string): Order of the result's axes; empty: data_layout.
        out_dtype (dtype or None): Element type of the sum and the result; None: of the data."""
    @staticmethod
    def contrib_conv2d_nchwc(data: Any, kernel: Any, strides: Any = (1, 1), padding: Any = (0, 0), dilation: Any = (1, 1), groups: Any = 1, channels: Any = None, kernel_size: Any = None, data_layout: Any = 'NCHW8c', kernel_layout: Any = 'OIHW', out_layout: Any = '', out_dtype: Any = '') -> Any:
        """nn.contrib_conv2d_NCHWc, with Python's name and defaults."""
    @staticmethod
    def contrib_conv2d_winograd_nnpack_weight_transform(weight: Expr | TupleWrapper, convolution_algorithm: int, out_dtype: str | None = None) -> Expr:
        """The weight of a convolution in Winograd's form, for tiles of 6 x 6 outputs.

        weight: (O, C, 3, 3)
        convolution_algorithm (int, required): A number of NNPACK's; all have one meaning.
        out_dtype (dtype or None): Element type of the result; None: of the weight."""
    @staticmethod
    def contrib_conv2d_winograd_weight_transform(weight: Expr | TupleWrapper, tile_size: int) -> Expr:
        """The weight of a convolution in Winograd's form.

        weight: (O, C, KH, KW)
        tile_size (int, required): How many outputs along an axis a tile has."""
    @staticmethod
    def contrib_conv2d_winograd_without_weight_transform(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, tile_size: int, strides: int | Sequence[int] = [1, 1], padding: int | Sequence[int] = [0, 0], dilation: int | Sequence[int] = [1, 1], groups: int = 1, channels: int | None = None, kernel_size: int | Sequence[int] | None = None, data_layout: str = 'NCHW', kernel_layout: str = 'OIHW', out_layout: str = '', out_dtype: str | None = None) -> Expr:
        """A convolution in Winograd's form, with a weight that is transformed already.

        data: (N, C, H, W)
        weight: (n, n, O, C)
        tile_size (int, required): How many outputs along an axis a tile has.
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Zeros around the data: one value, one for each axis, or all befores and then all afters.
        dilation (list of ints): Distance between two taps of the window along each axis.
        groups (int): Number of independent groups that the channels fall into.
        channels (int or None): Number of output channels; None: from the weight.
        kernel_size (list of ints or None): Extents of the window; None: from the weight.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes.
        out_layout (string): Order of the result's axes; empty: data_layout.
        out_dtype (dtype or None): Element type of the sum and the result; None: of the data."""
    @staticmethod
    def contrib_conv3d_winograd_weight_transform(weight: Expr | TupleWrapper, tile_size: int) -> Expr:
        """The weight of a convolution in Winograd's form.

        weight: (O, C, KD, KH, KW)
        tile_size (int, required): How many outputs along an axis a tile has."""
    @staticmethod
    def contrib_conv3d_winograd_without_weight_transform(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, tile_size: int, strides: int | Sequence[int] = [1, 1, 1], padding: int | Sequence[int] = [0, 0, 0], dilation: int | Sequence[int] = [1, 1, 1], groups: int = 1, channels: int | None = None, kernel_size: int | Sequence[int] | None = None, data_layout: str = 'NCDHW', kernel_layout: str = 'OIDHW', out_layout: str = '', out_dtype: str | None = None) -> Expr:
        """A convolution in Winograd's form, with a weight that is transformed already.

        data: (N, C, D, H, W)
        weight: (n, n, n, O, C), or (n, n, KD, O, C)
        tile_size (int, required): How many outputs along an axis a tile has.
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Zeros around the data: one value, one for each axis, or all befores and then all afters.
        dilation (list of ints): Distance between two taps of the window along each axis.
        groups (int): Number of independent groups that the channels fall into.
        channels (int or None): Number of output channels; None: from the weight.
        kernel_size (list of ints or None): Extents of the window; None: from the weight.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes.
        out_layout (string): Order of the result's axes; empty: data_layout.
        out_dtype (dtype or None): Element type of the sum and the result; None: of the data."""
    @staticmethod
    def contrib_dense_pack(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, units: int | None = None, out_dtype: str | None = None) -> Expr:
        """nn.dense with the units of the weight in blocks.

        data: (.., features)
        weight: (units / b, features, b)
        units (int or None): Number of output features; None: from the weight.
        out_dtype (dtype or None): Element type of the sum and the result; None: of data."""
    @staticmethod
    def contrib_depthwise_conv2d_NCHWc(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, strides: int | Sequence[int] = [1, 1], padding: int | Sequence[int] = [0, 0], dilation: int | Sequence[int] = [1, 1], groups: int = 1, channels: int | None = None, kernel_size: int | Sequence[int] | None = None, data_layout: str = 'NCHW', kernel_layout: str = 'OIHW', out_layout: str = '', out_dtype: str | None = None) -> Expr:
        """Two-dimensional depthwise convolution of channels in blocks.

        data: (N, C / c, H, W, c)
        weight: (C / c, 1, KH, KW, 1, c)
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Zeros around the data: one value, one for each axis, or all befores and then all afters.
        dilation (list of ints): Distance between two taps of the window along each axis.
        groups (int): Number of independent groups that the channels fall into.
        channels (int or None): Number of output channels; None: from the weight.
        kernel_size (list of ints or None): Extents of the window; None: from the weight.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes.
        out_layout (string): Order of the result's axes; empty: data_layout.
        out_dtype (dtype or None): Element type of the sum and the result; None: of the data."""
    @staticmethod
    def contrib_depthwise_conv2d_nchwc(data: Any, kernel: Any, strides: Any = (1, 1), padding: Any = (0, 0), dilation: Any = (1, 1), groups: Any = 1, channels: Any = None, kernel_size: Any = None, data_layout: Any = 'NCHW8c', kernel_layout: Any = 'OIHW', out_layout: Any = '', out_dtype: Any = '') -> Any:
        """nn.contrib_depthwise_conv2d_NCHWc, with Python's name and defaults."""
    @staticmethod
    def conv1d(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, strides: int | Sequence[int] = [1], padding: int | Sequence[int] = [0], dilation: int | Sequence[int] = [1], groups: int = 1, channels: int | None = None, kernel_size: int | Sequence[int] | None = None, data_layout: str = 'NCW', kernel_layout: str = 'OIW', out_layout: str = '', out_dtype: str | None = None) -> Expr:
        """One-dimensional convolution of data with weight.

        data: (N, C, W), in the order of data_layout
        weight: (O, C / groups, KW), in the order of kernel_layout
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Zeros around the data: one value, one for each axis, or all befores and then all afters.
        dilation (list of ints): Distance between two taps of the window along each axis.
        groups (int): Number of independent groups that the channels fall into.
        channels (int or None): Number of output channels; None: from the weight.
        kernel_size (list of ints or None): Extents of the window; None: from the weight.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes.
        out_layout (string): Order of the result's axes; empty: data_layout.
        out_dtype (dtype or None): Element type of the sum and the result; None: of the data."""
    @staticmethod
    def conv1d_transpose(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, strides: int | Sequence[int] = (1,), padding: int | Sequence[int] = (0,), dilation: int | Sequence[int] = (1,), channels: int | None = None, kernel_size: int | Sequence[int] | None = None, groups: int = 1, data_layout: str = 'NCW', kernel_layout: str = 'IOW', out_layout: str = '', output_padding: int | Sequence[int] = (0,), out_dtype: str | None = None) -> Any:
        """One-dimensional transposed convolution of data with weight.

        data: (N, C, W), in the order of data_layout
        weight: (C, O / groups, KW), in the order of kernel_layout
        channels (int or None): Number of output channels; None: from the weight.
        kernel_size (list of ints or None): Extents of the window; None: from the weight.
        strides (list of ints): Step of the window in the result along each axis.
        output_padding (list of ints): Added at the end of each axis of the result.
        padding (list of ints): Cut off the result: one value, one for each axis, or all befores and then all afters.
        dilation (list of ints): Distance between two taps of the window along each axis.
        groups (int): Number of independent groups that the channels fall into.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes; I is the data's channels.
        out_layout (string): Order of the result's axes; empty: data_layout.
        out_dtype (dtype or None): Element type of the sum and the result; None: of the data."""
    @staticmethod
    def conv2d(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, strides: int | Sequence[int] = [1, 1], padding: int | Sequence[int] = [0, 0], dilation: int | Sequence[int] = [1, 1], groups: int = 1, channels: int | None = None, kernel_size: int | Sequence[int] | None = None, data_layout: str = 'NCHW', kernel_layout: str = 'OIHW', out_layout: str = '', out_dtype: str | None = None) -> Expr:
        """Two-dimensional convolution of data with weight.

        data: (N, C, H, W), in the order of data_layout
        weight: (O, C / groups, KH, KW), in the order of kernel_layout
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Zeros around the data: one value, one for each axis, or all befores and then all afters.
        dilation (list of ints): Distance between two taps of the window along each axis.
        groups (int): Number of independent groups that the channels fall into.
        channels (int or None): Number of output channels; None: from the weight.
        kernel_size (list of ints or None): Extents of the window; None: from the weight.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes.
        out_layout (string): Order of the result's axes; empty: data_layout.
        out_dtype (dtype or None): Element type of the sum and the result; None: of the data."""
    @staticmethod
    def conv2d_backward_weight(grad: Expr | TupleWrapper, data: Expr | TupleWrapper, strides: int | Sequence[int] = (1, 1), padding: int | Sequence[int] = (0, 0), dilation: int | Sequence[int] = (1, 1), groups: int = 1, channels: int | None = None, kernel_size: int | Sequence[int] = None, grad_layout: Any = 'NCHW', data_layout: str = 'NCHW', kernel_layout: str = 'OIHW', out_dtype: str | None = None) -> Any:
        """The gradient of a two-dimensional convolution with respect to its weight.

        grad: the gradient of the result, (N, O, H', W') in the order of data_layout
        data: (N, C, H, W), in the order of kernel_layout
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Zeros around the data: one value, one for each axis, or all befores and then all afters.
        dilation (list of ints): Distance between two taps of the window.
        groups (int): Number of independent groups of channels.
        channels (int or None): Number of output channels; None: from the gradient.
        kernel_size (list of ints, required): Extents of the window.
        data_layout (string): Order of the gradient's axes.
        kernel_layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes.
        out_dtype (dtype or None): Element type of the result; None: of the data.

        Each layout is named by its own tensor here. In the text form, data_layout is the gradient's layout,
            kernel_layout the data's, and out_layout the result's."""
    @staticmethod
    def conv2d_transpose(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, strides: int | Sequence[int] = (1, 1), padding: int | Sequence[int] = (0, 0), dilation: int | Sequence[int] = (1, 1), channels: int | None = None, kernel_size: int | Sequence[int] | None = None, groups: int = 1, data_layout: str = 'NCHW', kernel_layout: str = 'IOHW', out_layout: str = '', output_padding: int | Sequence[int] = (0, 0), out_dtype: str | None = None) -> Any:
        """Two-dimensional transposed convolution of data with weight.

        data: (N, C, H, W), in the order of data_layout
        weight: (C, O / groups, KH, KW), in the order of kernel_layout
        channels (int or None): Number of output channels; None: from the weight.
        kernel_size (list of ints or None): Extents of the window; None: from the weight.
        strides (list of ints): Step of the window in the result along each axis.
        output_padding (list of ints): Added at the end of each axis of the result.
        padding (list of ints): Cut off the result: one value, one for each axis, or all befores and then all afters.
        dilation (list of ints): Distance between two taps of the window along each axis.
        groups (int): Number of independent groups that the channels fall into.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes; I is the data's channels.
        out_layout (string): Order of the result's axes; empty: data_layout.
        out_dtype (dtype or None): Element type of the sum and the result; None: of the data."""
    @staticmethod
    def conv3d(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, strides: int | Sequence[int] = [1, 1, 1], padding: int | Sequence[int] = [0, 0, 0], dilation: int | Sequence[int] = [1, 1, 1], groups: int = 1, channels: int | None = None, kernel_size: int | Sequence[int] | None = None, data_layout: str = 'NCDHW', kernel_layout: str = 'OIDHW', out_layout: str = '', out_dtype: str | None = None) -> Expr:
        """Three-dimensional convolution of data with weight.

        data: (N, C, D, H, W), in the order of data_layout
        weight: (O, C / groups, KD, KH, KW), in the order of kernel_layout
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Zeros around the data: one value, one for each axis, or all befores and then all afters.
        dilation (list of ints): Distance between two taps of the window along each axis.
        groups (int): Number of independent groups that the channels fall into.
        channels (int or None): Number of output channels; None: from the weight.
        kernel_size (list of ints or None): Extents of the window; None: from the weight.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes.
        out_layout (string): Order of the result's axes; empty: data_layout.
        out_dtype (dtype or None): Element type of the sum and the result; None: of the data."""
    @staticmethod
    def conv3d_transpose(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, strides: int | Sequence[int] = (1, 1, 1), padding: int | Sequence[int] = (0, 0, 0), dilation: int | Sequence[int] = (1, 1, 1), channels: int | None = None, kernel_size: int | Sequence[int] | None = None, groups: int = 1, data_layout: str = 'NCDHW', kernel_layout: str = 'IODHW', out_layout: str = '', output_padding: int | Sequence[int] = (0, 0, 0), out_dtype: str | None = None) -> Any:
        """Three-dimensional transposed convolution of data with weight.

        data: (N, C, D, H, W), in the order of data_layout
        weight: (C, O / groups, KD, KH, KW), in the order of kernel_layout
        channels (int or None): Number of output channels; None: from the weight.
        kernel_size (list of ints or None): Extents of the window; None: from the weight.
        strides (list of ints): Step of the window in the result along each axis.
        output_padding (list of ints): Added at the end of each axis of the result.
        padding (list of ints): Cut off the result: one value, one for each axis, or all befores and then all afters.
        dilation (list of ints): Distance between two taps of the window along each axis.
        groups (int): Number of independent groups that the channels fall into.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes; I is the data's channels.
        out_layout (string): Order of the result's axes; empty: data_layout.
        out_dtype (dtype or None): Element type of the sum and the result; None: of the data."""
    @staticmethod
    def correlation(data1: Expr | TupleWrapper, data2: Expr | TupleWrapper, kernel_size: int = 1, max_displacement: int = 1, stride1: int = 1, stride2: int = 1, padding: int | Sequence[int] = [0, 0], is_multiply: bool = True, layout: str = 'NCHW') -> Expr:
        """Compares the surroundings of each place in two arrays, for displacements of the second.

        data1: (N, C, H, W)
        data2: the shape of data1
        kernel_size (int): Extent of the surroundings, odd.
        max_displacement (int): The largest displacement along each axis.
        stride1 (int): Step of the places in data1.
        stride2 (int): Step of the displacements.
        padding (list of ints): Zeros around both: one value, one for each axis, or all befores and then all afters.
        is_multiply (bool): Whether products are taken, else absolute differences.
        layout (string): "NCHW"."""
    @staticmethod
    def cross_entropy(predictions: Any, targets: Any) -> Any:
        """Cross entropy of probabilities, its mean over the first axis.

        x: probabilities, (N, ..)
        y: the shape of x: what they should be"""
    @staticmethod
    def cross_entropy_with_logits(predictions: Any, targets: Any) -> Any:
        """Cross entropy of logarithms of probabilities, its mean over the first axis.

        x: logarithms of probabilities, (N, ..)
        y: the shape of x: what they should be"""
    @staticmethod
    def deformable_conv2d(data: Expr | TupleWrapper, offset: Expr | TupleWrapper, weight: Expr | TupleWrapper, strides: int | Sequence[int] = [1, 1], padding: int | Sequence[int] = [0, 0], dilation: int | Sequence[int] = [1, 1], deformable_groups: int = 1, groups: int = 1, channels: int | None = None, kernel_size: int | Sequence[int] | None = None, data_layout: str = 'NCHW', kernel_layout: str = 'OIHW', out_layout: str = '', out_dtype: str | None = None) -> Expr:
        """Two-dimensional convolution whose taps are moved by offsets.

        data: (N, C, H, W)
        offset: (N, 2 * deformable_groups * KH * KW, H', W'): y and x in turn
        weight: (O, C / groups, KH, KW)
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Zeros around the data: one value, one for each axis, or all befores and then all afters.
        dilation (list of ints): Distance between two taps of the window.
        deformable_groups (int): Groups of channels with offsets alike.
        groups (int): Number of independent groups of channels.
        channels (int or None): Number of output channels; None: from the weight.
        kernel_size (list of ints or None): Extents of the window; None: from the weight.
        data_layout (string): "NCHW".
        kernel_layout (string): "OIHW".
        out_layout (string): "NCHW", or empty.
        out_dtype (dtype or None): Element type of the result; None: of the data."""
    @staticmethod
    def dense(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, units: int | None = None, out_dtype: str | None = None) -> Expr:
        """A fully connected layer without bias: data times the transposed weight.

        data: (.., features)
        weight: (units, features)
        units (int or None): Number of output features; None: from the weight.
        out_dtype (dtype or None): Element type of the sum and the result; None: of the data."""
    @staticmethod
    def depth_to_space(data: Expr | TupleWrapper, block_size: int = 1, layout: str = 'NCHW', mode: str = 'DCR') -> Expr:
        """Moves channels into blocks of space.

        data: (N, C, H, W), in the order of layout
        block_size (int): The extent of a block along H and W.
        layout (string): Order of the data's and the result's axes.
        mode (string): Whether channels are block-major (DCR) or channel-major (CRD, or CDR)."""
    @staticmethod
    def dilate(x: Expr | TupleWrapper, strides: int | Sequence[int] = [1, 1], dilation_value: float = 0.0) -> Expr:
        """Puts elements of one value between those of data.

        x: any shape
        strides (list of ints): The distance of data's elements along each axis.
        dilation_value (float): The value between them."""
    @staticmethod
    def dropout(data: Expr | TupleWrapper, rate: float = 0.5) -> Any:
        """Drops elements at random in training; the identity in inference. Gives (result, mask).

        data: any shape
        rate (float): The share of elements that training drops; inference drops none.

        Returns the first field of the operator's result."""
    @staticmethod
    def dropout_raw(data: Any, rate: Any = 0.5) -> Any:
        """Returns (data, mask)."""
    @staticmethod
    def fast_softmax(data: Expr | TupleWrapper, axis: int = -1) -> Expr:
        """nn.softmax by another name; no less exact.

        data: any shape with at least one axis
        axis (int): The axis along which the results sum to one."""
    @staticmethod
    def fifo_buffer(data: Expr | TupleWrapper, buffer: Expr | TupleWrapper, axis: int = 0) -> Expr:
        """Appends data to a queue and drops as much at its front.

        data: what is new
        buffer: the queue; its shape is that of the result
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
        out_layout (string): Order of the result's axes; empty: layout."""
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
        out_layout (string): Order of the result's axes; empty: layout."""
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
        center (bool): Whether beta is added.
        scale (bool): Whether the result is multiplied by gamma."""
    @staticmethod
    def gru(data: Expr | TupleWrapper, weights: Expr | Sequence[Expr], state: Expr | Sequence[Expr], direction: str = 'forward', bias: bool = True, lengths: bool = False, linear_before_reset: bool = False, activations: str = '', clip: float = 0.0, layers: int = 1) -> Expr:
        """Gated recurrent units along a sequence: the outputs of all steps, (T, D, N, H), and the state after the last, (L * D, N, H). PyTorch's outputs (T, N, D * H) are these with the axes D and N exchanged, then the last two joined.

        data: (T, N, I): steps, sequences, features
        weights: a tuple, for each layer and direction: weight (3 * H, I), recurrence (3 * H, H), with bias two biases (3 * H,). The gates stand in ONNX's order, each H rows: update z, reset r, hidden g. PyTorch has r, z, n, and linear_before_reset: of its three parts take 1, 0, 2 (a list of expressions)
        state: a tuple: hidden (L * D, N, H) before the first step, with lengths (N,) (a list of expressions)
        direction (string): "forward", "reverse" or "bidirectional".
        bias (bool): Whether weights have two biases a direction.
        lengths (bool): Whether state has the lengths of the sequences, (N,).
        linear_before_reset (bool): Whether r scales what the recurrence gives, and not what it takes.
        activations (string): Two names, of all directions or of each: "sigmoid, tanh"; empty: these. Parameters stand in parentheses: "hard_sigmoid(0.2, 0.5)".
        clip (float): Bound of what is activated; 0: none.
        layers (int): Each but the first reads what the one before it gives."""
    @staticmethod
    def im2col(data: Expr | TupleWrapper, block_shape: int | Sequence[int], strides: int | Sequence[int] = [1], padding: int | Sequence[int] = [0], dilation: int | Sequence[int] = [1]) -> Expr:
        """The blocks under a window at all its places, as columns.

        data: (N, C, image..)
        block_shape (list of ints, required): Extents of the window.
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Zeros around the data: one value, one for each axis, or all befores and then all afters.
        dilation (list of ints): Distance between two taps of the window."""
    @staticmethod
    def instance_norm(data: Expr | TupleWrapper, gamma: Expr | TupleWrapper, beta: Expr | TupleWrapper, axis: int = 1, epsilon: float = 1e-05, center: bool = True, scale: bool = True) -> Expr:
        """Normalises each channel of each batch element, then scales and shifts it.

        data: (N, .., C, ..)
        gamma: (C,)
        beta: (C,)
        axis (int): The axis of the channels.
        epsilon (float): Added to the variance.
        center (bool): Whether beta is added.
        scale (bool): Whether the result is multiplied by gamma."""
    class internal:
        @staticmethod
        def sparse_dense_padded(data: Expr | TupleWrapper, weight_data: Expr | TupleWrapper, weight_indices: Expr | TupleWrapper, weight_indptr: Expr | TupleWrapper, sparse_lhs: bool = False) -> Expr:
            """nn.sparse_dense by another name.

            data: (m, k)
            weight_data: (values,), or blocks (values, rows, columns)
            weight_indices: (values,) integers: the columns
            weight_indptr: (rows + 1,) integers: where rows begin
            sparse_lhs (bool): Whether the sparse matrix is the left factor."""
    @staticmethod
    def l2_normalize(data: Expr | TupleWrapper, eps: float, axis: int | Sequence[int] = None) -> Any:
        """Divides by the Euclidean norm along some axes.

        data: any shape
        eps (float, required): The least sum of squares that is divided by.
        axis (list of ints): The axes along which the squares are summed; empty: all."""
    @staticmethod
    def layer_norm(data: Expr | TupleWrapper, gamma: Expr | TupleWrapper, beta: Expr | TupleWrapper, axis: int = -1, epsilon: float = 1e-05, center: bool = True, scale: bool = True) -> Expr:
        """Normalises along one axis, then scales and shifts.

        data: any shape
        gamma: (C,), C the extent of data along axis
        beta: (C,)
        axis (int): The axis that is normalised.
        epsilon (float): Added to the variance.
        center (bool): Whether beta is added.
        scale (bool): Whether the result is multiplied by gamma."""
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
        size (int): Number of neighbouring channels summed, itself among them.
        axis (int): The axis of the channels.
        bias (float): Added to the scaled sum.
        alpha (float): Scale of the sum.
        beta (float): Exponent.

        alpha is 0.00001 by default here, and 0.0001 in the text form."""
    @staticmethod
    def lstm(data: Expr | TupleWrapper, weights: Expr | Sequence[Expr], state: Expr | Sequence[Expr], direction: str = 'forward', bias: bool = True, peephole: bool = False, projection: bool = False, lengths: bool = False, input_forget: bool = False, activations: str = '', clip: float = 0.0, layers: int = 1) -> Expr:
        """Long short-term memory along a sequence: the outputs of all steps, (T, D, N, P), and the two states after the last, (L * D, N, P) and (L * D, N, H). PyTorch's outputs (T, N, D * P) are these with the axes D and N exchanged, then the last two joined.

        data: (T, N, I): steps, sequences, features
        weights: a tuple, for each layer and direction: weight (4 * H, I), recurrence (4 * H, P), with bias two biases (4 * H,), with peephole (3 * H,), with projection (P, H); P is H without one. The gates stand in ONNX's order, each H rows: input i, output o, forget f, cell g. PyTorch has i, f, g, o: of its four parts take 0, 3, 1, 2 (a list of expressions)
        state: a tuple: hidden (L * D, N, P) and cell (L * D, N, H) before the first step, with lengths (N,) (a list of expressions)
        direction (string): "forward", "reverse" or "bidirectional".
        bias (bool): Whether weights have two biases a direction.
        peephole (bool): Whether weights have peepholes, (3 * H,) of i, o and f.
        projection (bool): Whether weights have a projection, (P, H).
        lengths (bool): Whether state has the lengths of the sequences, (N,).
        input_forget (bool): Whether f is 1 - i.
        activations (string): Three names, of all directions or of each: "sigmoid, tanh, tanh"; empty: these. Parameters stand in parentheses: "hard_sigmoid(0.2, 0.5)".
        clip (float): Bound of what is activated; 0: none.
        layers (int): Each but the first reads what the one before it gives."""
    @staticmethod
    def matmul(tensor_a: Expr | TupleWrapper, tensor_b: Expr | TupleWrapper, units: int | None = None, out_dtype: str | None = None, transpose_a: bool = False, transpose_b: bool = False) -> Expr:
        """The product of a matrix, or of several, and a matrix.

        tensor_a: (.., M, K), or (.., K, M) when transpose_a
        tensor_b: (K, N), or (N, K) when transpose_b
        units (int or None): Number of columns of the result; None: from tensor_b.
        out_dtype (dtype or None): Element type of the sum and the result; None: of tensor_a.
        transpose_a (bool): Whether tensor_a is (.., k, m).
        transpose_b (bool): Whether tensor_b is (n, k)."""
    @staticmethod
    def max_pool1d(data: Expr | TupleWrapper, pool_size: int | Sequence[int] = [1], strides: int | Sequence[int] = [1], dilation: int | Sequence[int] = [1], padding: int | Sequence[int] = [0], layout: str = 'NCW', out_layout: str = '', ceil_mode: bool = False, skip_nan: bool = False) -> Expr:
        """The maximum over a moving window.

        data: (N, C, W), in the order of layout
        pool_size (list of ints): Extents of the window.
        strides (list of ints): Step of the window along each axis.
        dilation (list of ints): Distance between two taps of the window along each axis.
        padding (list of ints): Places around the data: one value, one for each axis, or all befores and then all afters.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: layout.
        ceil_mode (bool): Whether a last incomplete window counts.
        skip_nan (bool): Whether NaN counts as padding does, below all numbers; else it is the result of its windows."""
    @staticmethod
    def max_pool2d(data: Expr | TupleWrapper, pool_size: int | Sequence[int] = [1, 1], strides: int | Sequence[int] = [1, 1], dilation: int | Sequence[int] = [1, 1], padding: int | Sequence[int] = [0, 0], layout: str = 'NCHW', out_layout: str = '', ceil_mode: bool = False, skip_nan: bool = False) -> Expr:
        """The maximum over a moving window.

        data: (N, C, H, W), in the order of layout
        pool_size (list of ints): Extents of the window.
        strides (list of ints): Step of the window along each axis.
        dilation (list of ints): Distance between two taps of the window along each axis.
        padding (list of ints): Places around the data: one value, one for each axis, or all befores and then all afters.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: layout.
        ceil_mode (bool): Whether a last incomplete window counts.
        skip_nan (bool): Whether NaN counts as padding does, below all numbers; else it is the result of its windows."""
    @staticmethod
    def max_pool2d_grad(out_grad: Expr | TupleWrapper, data: Expr | TupleWrapper, pool_size: int | Sequence[int] = (1, 1), strides: int | Sequence[int] = (1, 1), padding: int | Sequence[int] = (0, 0), layout: str = 'NCHW', out_layout: str = '', ceil_mode: bool = False, dilation: int | Sequence[int] = (1, 1), skip_nan: bool = False) -> Any:
        """The gradient of nn.max_pool2d with respect to its data.

        out_grad: the gradient of the pool's result
        data: what was pooled
        pool_size (list of ints): Extents of the window.
        strides (list of ints): Step of the window along each axis.
        dilation (list of ints): Distance between two taps of the window along each axis.
        padding (list of ints): Places around the data: one value, one for each axis, or all befores and then all afters.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: layout.
        ceil_mode (bool): Whether a last incomplete window counts.
        skip_nan (bool): Whether NaN counts as padding does, below all numbers; else it is the result of its windows.

        The padding comes before the dilation; in the text form the dilation is first."""
    @staticmethod
    def max_pool3d(data: Expr | TupleWrapper, pool_size: int | Sequence[int] = [1, 1, 1], strides: int | Sequence[int] = [1, 1, 1], dilation: int | Sequence[int] = [1, 1, 1], padding: int | Sequence[int] = [0, 0, 0], layout: str = 'NCDHW', out_layout: str = '', ceil_mode: bool = False, skip_nan: bool = False) -> Expr:
        """The maximum over a moving window.

        data: (N, C, D, H, W), in the order of layout
        pool_size (list of ints): Extents of the window.
        strides (list of ints): Step of the window along each axis.
        dilation (list of ints): Distance between two taps of the window along each axis.
        padding (list of ints): Places around the data: one value, one for each axis, or all befores and then all afters.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: layout.
        ceil_mode (bool): Whether a last incomplete window counts.
        skip_nan (bool): Whether NaN counts as padding does, below all numbers; else it is the result of its windows."""
    @staticmethod
    def max_unpool(data: Expr | TupleWrapper, indices: Expr | TupleWrapper, output_size: int | Sequence[int | str | Dim]) -> Expr:
        """Images of zeros with values at given places.

        data: (N, C, pooled image..)
        indices: integers, the shape of data
        output_size (list of dimensions, required): Extents of the images."""
    @staticmethod
    def mirror_pad(data: Expr | TupleWrapper, pad_width: Sequence[Sequence[int]], mode: str = 'SYMMETRIC') -> Any:
        """Adds elements around a tensor that mirror it.

        data: any shape
        mode (string): "SYMMETRIC" or "REFLECT".
        pad_width (list of lists of ints, required): For each axis, how many before and after it."""
    @staticmethod
    def modulated_deformable_conv2d(data: Expr | TupleWrapper, offset: Expr | TupleWrapper, mask: Expr | TupleWrapper, weight: Expr | TupleWrapper, strides: int | Sequence[int] = [1, 1], padding: int | Sequence[int] = [0, 0], dilation: int | Sequence[int] = [1, 1], deformable_groups: int = 1, groups: int = 1, channels: int | None = None, kernel_size: int | Sequence[int] | None = None, data_layout: str = 'NCHW', kernel_layout: str = 'OIHW', out_layout: str = '', out_dtype: str | None = None) -> Expr:
        """Two-dimensional convolution whose taps are moved by offsets and scaled by a mask.

        data: (N, C, H, W)
        offset: (N, 2 * deformable_groups * KH * KW, H', W'): y and x in turn
        mask: (N, deformable_groups * KH * KW, H', W')
        weight: (O, C / groups, KH, KW)
        strides (list of ints): Step of the window along each axis.
        padding (list of ints): Zeros around the data: one value, one for each axis, or all befores and then all afters.
        dilation (list of ints): Distance between two taps of the window.
        deformable_groups (int): Groups of channels with offsets alike.
        groups (int): Number of independent groups of channels.
        channels (int or None): Number of output channels; None: from the weight.
        kernel_size (list of ints or None): Extents of the window; None: from the weight.
        data_layout (string): "NCHW".
        kernel_layout (string): "OIHW".
        out_layout (string): "NCHW", or empty.
        out_dtype (dtype or None): Element type of the result; None: of the data."""
    @staticmethod
    def nll_loss(predictions: Expr | TupleWrapper, targets: Expr | TupleWrapper, weights: Expr | TupleWrapper, reduction: str = 'mean', ignore_index: int = -100) -> Expr:
        """The negative log likelihood of targets.

        predictions: logarithms of probabilities, (N, C, ..) or (C,)
        targets: integers in [0, C), the shape of predictions without C
        weights: one for each class, (C,)
        reduction (string): "mean", "sum" or "none".
        ignore_index (int): The target that counts for nothing."""
    @staticmethod
    def pad(data: Expr | TupleWrapper, pad_width: Sequence[Sequence[int]], pad_value: Any = 0, pad_mode: str = 'constant') -> Any:
        """Adds elements around a tensor.

        data: any shape
        pad_val: one value
        pad_width (list of lists of ints, required): For each axis, how many before and after it; negative: cut off.
        pad_mode (string): "constant", "edge" or "reflect".

        A number as pad_value has the type of data if that is known, otherwise float32. pad_width is a list of pairs, or
            an expression, which gives dyn.nn.pad."""
    @staticmethod
    def prelu(data: Expr | TupleWrapper, alpha: Expr | TupleWrapper, axis: int = 1) -> Expr:
        """Keeps positive values and scales the others by a slope of their channel.

        data: any shape
        alpha: (C,), C the extent of data along axis, or 1
        axis (int): The axis of data that alpha runs along."""
    @staticmethod
    def relu(data: Expr | TupleWrapper) -> Expr:
        """max(data, 0).

        data: any shape"""
    @staticmethod
    def rms_norm(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, axis: int = -1, epsilon: float = 1e-05) -> Expr:
        """Divides by the root of the mean square along one axis, then scales.

        data: any shape
        weight: (C,), C the extent of data along axis
        axis (int): The axis that is normalised.
        epsilon (float): Added to the mean square."""
    @staticmethod
    def rnn(data: Expr | TupleWrapper, weights: Expr | Sequence[Expr], state: Expr | Sequence[Expr], direction: str = 'forward', bias: bool = True, lengths: bool = False, activations: str = '', clip: float = 0.0, layers: int = 1) -> Expr:
        """A recurrent network along a sequence: the outputs of all steps, (T, D, N, H), and the state after the last, (L * D, N, H). PyTorch's outputs (T, N, D * H) are these with the axes D and N exchanged, then the last two joined; its weights are the same.

        data: (T, N, I): steps, sequences, features
        weights: a tuple, for each layer and direction: weight (H, I), recurrence (H, H), with bias two biases (H,) (a list of expressions)
        state: a tuple: hidden (L * D, N, H) before the first step, with lengths (N,) (a list of expressions)
        direction (string): "forward", "reverse" or "bidirectional".
        bias (bool): Whether weights have two biases a direction.
        lengths (bool): Whether state has the lengths of the sequences, (N,).
        activations (string): One name, of all directions or of each; empty: "tanh". Parameters stand in parentheses: "elu(0.5)".
        clip (float): Bound of what is activated; 0: none.
        layers (int): Each but the first reads what the one before it gives."""
    @staticmethod
    def rotary_embedding(data: Expr | TupleWrapper, cos: Expr | TupleWrapper, sin: Expr | TupleWrapper, interleaved: bool = False) -> Expr:
        """Turns pairs of elements along the last axis by given angles.

        data: (.., S), S at least R
        cos: (.., R / 2), broadcasts with data
        sin: the shape of cos
        interleaved (bool): Whether the elements of a pair stand side by side."""
    @staticmethod
    def scaled_dot_product_attention(inputs: Expr | Sequence[Expr], masked: bool = False, cached: bool = False, is_causal: bool = False, scale: float | None = None) -> Expr:
        """Sums of values, weighted by a softmax of the products of queries and keys.

        inputs: query (B, H, L, E), key (B, G, S, E), value (B, G, S, F), then mask, past_key, past_value (a list of expressions)
        masked (bool): Whether a mask follows query, key and value.
        cached (bool): Whether past_key and past_value follow.
        is_causal (bool): Whether a query sees no key behind its place.
        scale (float or None): Factor of the scores; None: 1 / sqrt(E)."""
    @staticmethod
    def softmax(data: Expr | TupleWrapper, axis: int = -1) -> Expr:
        """Exponentials scaled to sum to one along an axis.

        data: any shape with at least one axis
        axis (int): The axis along which the results sum to one."""
    @staticmethod
    def softplus(data: Expr | TupleWrapper) -> Expr:
        """log(1 + exp(data)).

        data: any shape"""
    @staticmethod
    def space_to_batch_nd(data: Expr | TupleWrapper, block_shape: int | Sequence[int], paddings: Sequence[Sequence[int]], pad_value: float = 0) -> Any:
        """Makes a batch element of each place of the blocks that data falls into.

        data: (N, spatial.., rest..)
        block_shape (list of ints): Extents of a block.
        paddings (list of lists of ints, required): For each, how many before and after it.
        pad_value (float): What is added around data."""
    @staticmethod
    def space_to_depth(data: Expr | TupleWrapper, block_size: int = 1, layout: str = 'NCHW', mode: str = 'DCR') -> Expr:
        """Moves blocks of space into channels.

        data: (N, C, H, W), in the order of layout
        block_size (int): The extent of a block along H and W.
        layout (string): Order of the data's and the result's axes.
        mode (string): Whether channels are block-major (DCR) or channel-major (CRD, or CDR)."""
    @staticmethod
    def sparse_add(dense_data: Expr | TupleWrapper, sparse_data: Expr | TupleWrapper, sparse_indices: Expr | TupleWrapper, sparse_indptr: Expr | TupleWrapper) -> Expr:
        """The sum of a dense and a sparse matrix.

        dense_data: (m, k)
        sparse_data: (values,), or blocks (values, rows, columns)
        sparse_indices: (values,) integers: the columns
        sparse_indptr: (rows + 1,) integers: where rows begin"""
    @staticmethod
    def sparse_conv2d(dense_data: Expr | TupleWrapper, sparse_data: Expr | TupleWrapper, sparse_indices: Expr | TupleWrapper, sparse_indptr: Expr | TupleWrapper, layout: str = 'NHWC', kernel_size: int | Sequence[int] = [1, 1]) -> Expr:
        """Two-dimensional convolution, without padding, with a sparse weight.

        dense_data: (N, H, W, C) or (N, C, H, W)
        sparse_data: (values,), or blocks (values, rows, columns)
        sparse_indices: (values,) integers: the columns
        sparse_indptr: (rows + 1,) integers: where rows begin
        layout (string): Order of the axes: "NHWC" or "NCHW".
        kernel_size (list of ints): Extents of the window; it is not padded."""
    @staticmethod
    def sparse_dense(dense_data: Expr | TupleWrapper, sparse_data: Expr | TupleWrapper, sparse_indices: Expr | TupleWrapper, sparse_indptr: Expr | TupleWrapper, sparse_lhs: bool = False) -> Expr:
        """A dense matrix times the transpose of a sparse one.

        dense_data: (m, k)
        sparse_data: (values,), or blocks (values, rows, columns)
        sparse_indices: (values,) integers: the columns
        sparse_indptr: (rows + 1,) integers: where rows begin
        sparse_lhs (bool): Whether the sparse matrix is the left factor."""
    @staticmethod
    def sparse_transpose(sparse_data: Expr | TupleWrapper, sparse_indices: Expr | TupleWrapper, sparse_indptr: Expr | TupleWrapper) -> Expr:
        """A square sparse matrix transposed.

        sparse_data: (values,)
        sparse_indices: (values,) integers: the columns
        sparse_indptr: (rows + 1,) integers: where rows begin"""
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
        align_corners (bool): Whether the corners of data and result fall together.

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
        coordinate_transformation_mode (string): Where a place of the result lies in data: half_pixel, align_corners or asymmetric.

        Scales are numbers; an expression among them gives dyn.nn.upsampling3d."""
def nonzero(data: Expr | TupleWrapper) -> Expr:
    """The indices of the elements that are not zero, one a column.

    data: any shape"""
def not_equal(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """lhs != rhs.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def on_device(body: Expr | TupleWrapper, virtual_device: str = '', constrain_result: bool = False, constrain_body: bool = True) -> Expr:
    """Says on which device a value should be; the values are the same.

    body: any shape
    virtual_device (string): The device that is meant.
    constrain_result (bool): Whether the result is to be on it.
    constrain_body (bool): Whether the input is to be on it."""
def one_hot(indices: Expr | TupleWrapper, on_value: Expr | TupleWrapper, off_value: Expr | TupleWrapper, depth: int, axis: int = -1, dtype: str | None = None) -> Any:
    """Marks one place of a new axis for each index.

    indices: integers, any shape
    on_value: the value at the place
    off_value: the value elsewhere
    depth (int): The extent of the new axis.
    axis (int): Where the new axis stands; -1: at the end.
    dtype (dtype or None): The element type of the result; None: of on_value.

    depth is a number, or an expression, which gives dyn.one_hot."""
def ones(shape: int | Sequence[int | str | Dim], dtype: str | None = None) -> Any:
    """Ones.

    shape (list of dimensions, required): The shape of the result.
    dtype (dtype or None): The element type of the result; None: float32, for full that of fill_value.

    shape is a list, or an expression: then dyn.ones."""
def ones_like(data: Expr | TupleWrapper) -> Expr:
    """Ones in the shape and type of data.

    data: any shape"""
def power(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """lhs to the power of rhs; integers wrap around.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def prod(data: Expr | TupleWrapper, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False) -> Expr:
    """The product.

    data: any shape
    axis (list of ints or None): The axes to reduce; None or empty: all.
    keepdims (bool): Whether reduced axes stay, with extent 1.
    exclude (bool): Whether the axes not named are reduced instead."""
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
        rhs: the same type, a shape that broadcasts with lhs
        lhs_scale: () or (C,), a float
        lhs_zero_point: () or (C,), an integer
        rhs_scale: () or (C,), a float
        rhs_zero_point: () or (C,), an integer
        output_scale: (), a float
        output_zero_point: (), an integer
        lhs_axis (int): The axis of lhs that its scales go along.
        rhs_axis (int): The axis of rhs that its scales go along."""
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
        padding (list of ints): Zeros around the data: one value, one for each axis, or all befores and then all afters.
        layout (string): Order of the data's axes.
        out_layout (string): Order of the result's axes; empty: layout.
        ceil_mode (bool): Whether a last incomplete window counts.
        count_include_pad (bool): Whether padding counts in the mean."""
    @staticmethod
    def batch_matmul(x: Expr | TupleWrapper, y: Expr | TupleWrapper, x_scale: Expr | TupleWrapper, x_zero_point: Expr | TupleWrapper, y_scale: Expr | TupleWrapper, y_zero_point: Expr | TupleWrapper, out_dtype: str | None = None, transpose_a: bool = False, transpose_b: bool = False) -> Expr:
        """The products of corresponding matrices of two quantised batches, in int32.

        x: (B, M, K), or (B, K, M) when transpose_a
        y: (B, K, N), or (B, N, K) when transpose_b
        x_scale: (), a float
        x_zero_point: (), an integer
        y_scale: (), a float
        y_zero_point: (), an integer
        out_dtype (dtype or None): Element type of the sum; int32.
        transpose_a (bool): Whether x is (b, k, m).
        transpose_b (bool): Whether y is (b, n, k)."""
    @staticmethod
    def concatenate(data: Expr | Sequence[Expr], input_scales: Expr | Sequence[Expr], input_zero_points: Expr | Sequence[Expr], output_scale: Expr | TupleWrapper, output_zero_point: Expr | TupleWrapper, axis: int = 0) -> Expr:
        """Joins quantised tensors along an axis.

        data: a tuple of tensors that differ at most along the axis (a list of expressions)
        input_scales: a tuple of a scale for each, () (a list of expressions)
        input_zero_points: a tuple of a zero point for each, () (a list of expressions)
        output_scale: (), a float
        output_zero_point: (), an integer
        axis (int): The axis along which they stand."""
    @staticmethod
    def contrib_dense_pack(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, input_scale: Expr | TupleWrapper, input_zero_point: Expr | TupleWrapper, weight_scale: Expr | TupleWrapper, weight_zero_point: Expr | TupleWrapper, units: int | None = None, out_dtype: str | None = None, weight_layout: str = 'NC') -> Expr:
        """qnn.dense with the weight in blocks.

        data: (.., features)
        weight: in the order of weight_layout
        input_scale: (), a float
        input_zero_point: (), an integer
        weight_scale: () or (units,), a float
        weight_zero_point: () or (units,), an integer
        units (int or None): Number of output features; None: from the weight.
        out_dtype (dtype or None): Element type of the sum; int32.
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
        padding (list of ints): Zeros around the data: one value, one for each axis, or all befores and then all afters.
        dilation (list of ints): Distance between two taps of the window along each axis.
        groups (int): Number of independent groups that the channels fall into.
        channels (int or None): Number of output channels; None: from the weight.
        kernel_size (list of ints or None): Extents of the window; None: from the weight.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes.
        out_layout (string): Order of the result's axes; empty: data_layout.
        out_dtype (dtype or None): Element type of the sum and the result; None: of the data."""
    @staticmethod
    def conv2d_transpose(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, input_scale: Expr | TupleWrapper, input_zero_point: Expr | TupleWrapper, weight_scale: Expr | TupleWrapper, weight_zero_point: Expr | TupleWrapper, channels: int | None = None, kernel_size: int | Sequence[int] | None = None, strides: int | Sequence[int] = [1, 1], output_padding: int | Sequence[int] = [0, 0], padding: int | Sequence[int] = [0, 0], dilation: int | Sequence[int] = [1, 1], groups: int = 1, data_layout: str = 'NCHW', kernel_layout: str = 'IOHW', out_layout: str = '', out_dtype: str | None = None) -> Expr:
        """Two-dimensional transposed convolution of quantised data with a quantised weight, in int32.

        data: (N, C, H, W), in the order of data_layout
        weight: (C, O / groups, KH, KW), in the order of kernel_layout
        input_scale: (), a float
        input_zero_point: (), an integer
        weight_scale: () or (O,), a float
        weight_zero_point: () or (O,), an integer
        channels (int or None): Number of output channels; None: from the weight.
        kernel_size (list of ints or None): Extents of the window; None: from the weight.
        strides (list of ints): Step of the window in the result along each axis.
        output_padding (list of ints): Added at the end of each axis of the result.
        padding (list of ints): Cut off the result: one value, one for each axis, or all befores and then all afters.
        dilation (list of ints): Distance between two taps of the window along each axis.
        groups (int): Number of independent groups that the channels fall into.
        data_layout (string): Order of the data's axes.
        kernel_layout (string): Order of the weight's axes; I is the data's channels.
        out_layout (string): Order of the result's axes; empty: data_layout.
        out_dtype (dtype or None): Element type of the sum and the result; None: of the data."""
    @staticmethod
    def dense(data: Expr | TupleWrapper, weight: Expr | TupleWrapper, input_scale: Expr | TupleWrapper, input_zero_point: Expr | TupleWrapper, weight_scale: Expr | TupleWrapper, weight_zero_point: Expr | TupleWrapper, units: int | None = None, out_dtype: str | None = None) -> Expr:
        """A fully connected layer of quantised data and weight, in int32.

        data: (.., features)
        weight: (units, features)
        input_scale: (), a float
        input_zero_point: (), an integer
        weight_scale: () or (units,), a float
        weight_zero_point: () or (units,), an integer
        units (int or None): Number of output features; None: from the weight.
        out_dtype (dtype or None): Element type of the sum; int32."""
    @staticmethod
    def dequantize(data: Expr | TupleWrapper, input_scale: Expr | TupleWrapper, input_zero_point: Expr | TupleWrapper, out_dtype: str | None = 'float32', axis: int = -1) -> Expr:
        """The numbers that integers with a scale and a zero point stand for.

        data: integers, any shape
        input_scale: () or (C,), a float
        input_zero_point: () or (C,), an integer
        out_dtype (dtype): The element type of the result.
        axis (int): The axis that scales and zero points go along."""
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
        alpha (float): The factor of numbers below zero, in [0, 1]."""
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
        rhs: the same type, a shape that broadcasts with lhs
        lhs_scale: () or (C,), a float
        lhs_zero_point: () or (C,), an integer
        rhs_scale: () or (C,), a float
        rhs_zero_point: () or (C,), an integer
        output_scale: (), a float
        output_zero_point: (), an integer
        lhs_axis (int): The axis of lhs that its scales go along.
        rhs_axis (int): The axis of rhs that its scales go along."""
    @staticmethod
    def quantize(data: Expr | TupleWrapper, output_scale: Expr | TupleWrapper, output_zero_point: Expr | TupleWrapper, out_dtype: str | None = 'int8', axis: int = -1) -> Expr:
        """Floats as integers with a scale and a zero point.

        data: floats, any shape
        output_scale: () or (C,), a float
        output_zero_point: () or (C,), an integer
        out_dtype (dtype): The element type of the result.
        axis (int): The axis that scales and zero points go along."""
    @staticmethod
    def requantize(data: Expr | TupleWrapper, input_scale: Expr | TupleWrapper, input_zero_point: Expr | TupleWrapper, output_scale: Expr | TupleWrapper, output_zero_point: Expr | TupleWrapper, axis: int = -1, rounding: str = 'None', compute_dtype: str = 'None', out_dtype: str | None = 'int8') -> Expr:
        """Quantised integers with another scale and zero point.

        data: integers, any shape
        input_scale: () or (C,), a float
        input_zero_point: () or (C,), an integer
        output_scale: (), a float
        output_zero_point: (), an integer
        axis (int): The axis that scales and zero points of data go along.
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
        """The numbers that quantised ones stand for, of integers as floats.

        data: floats, at least one axis
        in_dtype: () integer: 0 none, 1 int8, 2 uint8, 3 int32
        input_scale: () or (C,), a float
        input_zero_point: () or (C,), an integer
        axis (int): The axis that scales go along."""
    @staticmethod
    def simulated_quantize(data: Expr | TupleWrapper, out_dtype: Expr | TupleWrapper, output_scale: Expr | TupleWrapper, output_zero_point: Expr | TupleWrapper, axis: int = -1) -> Expr:
        """The integers that quantising gives, as floats.

        data: floats, at least one axis
        out_dtype: () integer: 0 none, 1 int8, 2 uint8, 3 int32
        output_scale: () or (C,), a float
        output_zero_point: () or (C,), an integer
        axis (int): The axis that scales go along."""
    @staticmethod
    def softmax(data: Expr | TupleWrapper, scale: Expr | TupleWrapper, zero_point: Expr | TupleWrapper, output_scale: Expr | TupleWrapper, output_zero_point: Expr | TupleWrapper, axis: int = -1) -> Expr:
        """Exponentials of quantised numbers scaled to sum to one along an axis, by integers.

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
        rhs: the same type, a shape that broadcasts with lhs
        lhs_scale: () or (C,), a float
        lhs_zero_point: () or (C,), an integer
        rhs_scale: () or (C,), a float
        rhs_zero_point: () or (C,), an integer
        output_scale: (), a float
        output_zero_point: (), an integer
        lhs_axis (int): The axis of lhs that its scales go along.
        rhs_axis (int): The axis of rhs that its scales go along."""
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
        """Indices drawn with given probabilities.

        key: (10,) uint64: the generator's state
        probs: (.., indices): what is negative counts as 0
        num_samples (int): How many are drawn of each row.

        Returns (the next state, indices)."""
    @staticmethod
    def normal(key: Expr | TupleWrapper, shape: Any, dtype: Any = 'float32', mean: Expr | TupleWrapper = 0.0, scale: Expr | TupleWrapper = 1.0) -> Any:
        """Numbers drawn from a normal distribution.

        key: (10,) uint64: the generator's state
        mean: (), the mean
        scale: (), the standard deviation
        out_shape (list of ints, required): The shape of what is drawn.
        out_dtype (dtype or None): float32 or float64; None: float32.

        Returns (the next state, numbers)."""
    @staticmethod
    def normal_like(key: Expr | TupleWrapper, mean: Expr | TupleWrapper, scale: Expr | TupleWrapper, like: Expr | TupleWrapper, out_dtype: str | None = None) -> Expr:
        """Numbers drawn from a normal distribution, in the shape of an input.

        key: (10,) uint64: the generator's state
        mean: (), the mean
        scale: (), the standard deviation
        like: any tensor: its shape is that of what is drawn
        out_dtype (dtype or None): float32 or float64; None: float32."""
    @staticmethod
    def threefry_generate(key: Expr | TupleWrapper, shape: Any) -> Any:
        """Random words, and the generator's state behind them.

        key: (10,) uint64: the generator's state
        out_shape (list of ints, required): The shape of what is drawn.

        Returns (the next state, random words)."""
    @staticmethod
    def threefry_key(seed: Any) -> Any:
        """Returns the first state of a generator as a constant, the argument of the random operators."""
    @staticmethod
    def threefry_split(key: Expr | TupleWrapper) -> Any:
        """Two generators whose numbers are independent.

        key: (10,) uint64: the generator's state

        Returns (left, right)."""
    @staticmethod
    def uniform(key: Expr | TupleWrapper, shape: Any, dtype: Any = 'float32', low: Expr | TupleWrapper = 0.0, high: Expr | TupleWrapper = 1.0) -> Any:
        """Numbers drawn evenly from an interval.

        key: (10,) uint64: the generator's state
        low: (), the least
        high: (), above the greatest
        out_shape (list of ints, required): The shape of what is drawn.
        out_dtype (dtype or None): float32 or float64; None: float32.

        Returns (the next state, numbers)."""
    @staticmethod
    def uniform_like(key: Expr | TupleWrapper, low: Expr | TupleWrapper, high: Expr | TupleWrapper, like: Expr | TupleWrapper, out_dtype: str | None = None) -> Expr:
        """Numbers drawn evenly from an interval, in the shape of an input.

        key: (10,) uint64: the generator's state
        low: (), the least
        high: (), above the greatest
        like: any tensor: its shape is that of what is drawn
        out_dtype (dtype or None): float32 or float64; None: float32."""
def reinterpret(data: Expr | TupleWrapper, dtype: str | None) -> Expr:
    """The bits of each element as another type of the same width.

    data: any shape
    dtype (dtype, required): The new element type."""
class relay:
    class op:
        class annotation:
            @staticmethod
            def simulated_quantize(data: Expr | TupleWrapper, dom_scale: Expr | TupleWrapper, clip_min: Expr | TupleWrapper, clip_max: Expr | TupleWrapper, kind: int, sign: bool = True, rounding: str = 'round') -> Expr:
                """What quantising and coming back makes of numbers.

                data: floats, any shape
                dom_scale: (), the scale
                clip_min: (), the least integer
                clip_max: (), the greatest integer
                kind (int, required): 0: nothing, 1: input, 2: weight, 3: activation.
                sign (bool): Whether the integers have a sign.
                rounding (string): "round": to the nearest, halves to the even one."""
def repeat(data: Expr | TupleWrapper, repeats: int, axis: int | None = None) -> Expr:
    """Repeats each element along an axis.

    data: any shape
    repeats (int, required): How often.
    axis (int or None): Along which axis; None: of the flattened data."""
def reshape(data: Expr | TupleWrapper, newshape: int | Sequence[int | str | Dim], allowzero: bool = False) -> Any:
    """Gives the elements, in row-major order, another shape.

    data: any shape
    newshape (list of dimensions, required): The new shape; 0 and -1 to -4 have the meanings above.
    allowzero (bool): Whether 0 means an extent of zero.

    newshape is a list, or an expression, which gives dyn.reshape."""
def reshape_like(data: Expr | TupleWrapper, shape_like: Expr | TupleWrapper, lhs_begin: int = 0, lhs_end: int | None = None, rhs_begin: int = 0, rhs_end: int | None = None) -> Expr:
    """Gives the elements the shape of another tensor, or some of its axes those of another.

    data: any shape
    shape_like: as many elements
    lhs_begin (int): The first axis of data that is replaced.
    lhs_end (int or None): The axis of data behind the last of these; None: all.
    rhs_begin (int): The first axis of shape_like that takes its place.
    rhs_end (int or None): The axis behind the last of these; None: all."""
def reverse(data: Expr | TupleWrapper, axis: int = 0) -> Expr:
    """Turns an axis around.

    data: any shape
    axis (int): The axis to turn around."""
def reverse_sequence(data: Expr | TupleWrapper, seq_lengths: Expr | TupleWrapper, seq_axis: int = 1, batch_axis: int = 0) -> Expr:
    """Turns sequences of different lengths around.

    data: any shape with at least two axes
    seq_lengths: (batch,) integers
    seq_axis (int): The axis of the sequences.
    batch_axis (int): The axis of the batch."""
def right_shift(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """lhs moved down by rhs bits, keeping the sign.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def round(data: Expr | TupleWrapper) -> Expr:
    """The nearest integer, halves to the even one.

    data: any shape"""
def rsqrt(data: Expr | TupleWrapper) -> Expr:
    """1 / sqrt(data).

    data: any shape"""
def scatter_elements(data: Expr | TupleWrapper, indices: Expr | TupleWrapper, updates: Expr | TupleWrapper, axis: int = 0, reduction: str = 'update') -> Expr:
    """Data with elements along an axis replaced by, or combined with, updates.

    data: any shape
    indices: integers; places along the axis
    updates: the shape of indices
    axis (int): The axis that is indexed.
    reduction (string): "update", "add", "mul", "mean", "min" or "max"."""
def scatter_nd(data: Expr | TupleWrapper, indices: Expr | TupleWrapper, updates: Expr | TupleWrapper, mode: str = 'update') -> Expr:
    """Data with slices replaced by, or combined with, updates; their places stand along the first axis of indices.

    data: any shape
    indices: integers, (M, ..)
    updates: a slice of data for each place
    mode (string): "update", "add", "mul", "min" or "max"."""
def searchsorted(sorted_sequence: Expr | TupleWrapper, values: Expr | TupleWrapper, right: bool = False, dtype: str | None = 'int32') -> Expr:
    """Where values would stand in sorted sequences.

    sorted_sequence: ascending along the last axis, (n,) or (.., n)
    values: any shape, or (.., m)
    right (bool): Whether equal elements stand before the value.
    dtype (dtype): The element type of the result."""
def sequence_mask(data: Expr | TupleWrapper, valid_length: Expr | TupleWrapper, mask_value: float = 0.0, axis: int = 0) -> Expr:
    """Sets what stands behind the end of sequences to one value.

    data: (length, batch, ..) or (batch, length, ..)
    valid_length: (batch,) integers
    mask_value (float): The value behind a sequence's end.
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
    """The front of data, as long as another tensor.

    data: any shape
    shape_like: a tensor that is nowhere longer
    axes (list of ints or None): The axes that are cut; None or empty: all."""
def sliding_window(data: Expr | TupleWrapper, axis: int, window_shape: int | Sequence[int], strides: int | Sequence[int]) -> Expr:
    """The windows at all places along the last axes.

    data: any shape
    axis (int, required): The first axis that the window moves along.
    window_shape (list of ints, required): Extents of the window.
    strides (list of ints, required): Step of the window along each axis."""
def sort(data: Expr | TupleWrapper, axis: int = -1, is_ascend: bool = True) -> Any:
    """The elements along an axis in order.

    data: any shape with at least one axis
    axis (int): The axis that is sorted.
    is_ascend (bool): Whether the least comes first.
    dtype (dtype or None): The element type of places; None: int32."""
def sparse_fill_empty_rows(sparse_indices: Expr | TupleWrapper, sparse_values: Expr | TupleWrapper, dense_shape: Expr | TupleWrapper, default_value: Expr | TupleWrapper) -> Expr:
    """A sparse tensor with a value in each row: a given one where there was none.

    sparse_indices: (values, rank) integers
    sparse_values: (values,)
    dense_shape: (rank,) integers: of the tensor
    default_value: what empty rows get"""
def sparse_reshape(sparse_indices: Expr | TupleWrapper, prev_shape: Expr | TupleWrapper, new_shape: Expr | TupleWrapper) -> Any:
    """The places of a sparse tensor's values under another shape.

    sparse_indices: (values, old rank) integers
    prev_shape: (old rank,) integers
    new_shape: (new rank,) integers, one of them perhaps -1

    Returns (new indices, new shape)."""
def sparse_to_dense(sparse_indices: Expr | TupleWrapper, output_shape: int | Sequence[int | str | Dim], sparse_values: Expr | TupleWrapper, default_value: Expr | TupleWrapper = 0) -> Any:
    """A tensor of one value, others at some places.

    sparse_indices: integers: (n, rank), of a vector also (n,) or ()
    sparse_values: (n,), or one for all
    default_value: the value elsewhere
    output_shape (list of dimensions, required): The shape of the result.

    output_shape is a list, or an expression, which gives dyn.sparse_to_dense."""
def split(data: Expr | TupleWrapper, indices_or_sections: int | Sequence[int], axis: int = 0) -> Any:
    """Cuts a tensor along an axis. Gives a tuple.

    data: any shape
    indices_or_sections (int or list of ints, required): A number of equal parts, or a list of the places to cut at.
    axis (int): The axis that is cut."""
def sqrt(data: Expr | TupleWrapper) -> Expr:
    """Square root.

    data: any shape"""
def squeeze(data: Expr | TupleWrapper, axis: int | Sequence[int] | None = None) -> Any:
    """Drops axes of extent 1.

    data: any shape
    axis (list of ints or None): The axes to drop; None: all of extent 1.

    axis is a list, None, or an expression, which gives dyn.squeeze."""
def stack(data: Expr | Sequence[Expr], axis: int = 0) -> Expr:
    """Joins tensors along a new axis.

    data: a tuple of tensors of one shape (a list of expressions)
    axis (int): Where the new axis stands in the result."""
def std(data: Any, axis: Any = None, keepdims: Any = False, exclude: Any = False, unbiased: Any = False) -> Any:
    """Returns the square root of the variance."""
def stft(data: Expr | TupleWrapper, n_fft: int, hop_length: int = None, win_length: int = None, window: Expr | TupleWrapper = None, normalized: bool = False, onesided: bool = True) -> Any:
    """The Fourier transforms of a signal's windows.

    data: (samples,) or (batch, samples)
    window: (n_fft,)
    n_fft (int): N, the number of samples in a transform.
    hop_length (int): Samples from one transform to the next; not positive: n_fft // 4.
    win_length (int): Length of the window, n_fft; not positive: n_fft.
    normalized (bool): Whether the result is divided by the square root of n_fft.
    onesided (bool): Whether only the first n_fft // 2 + 1 frequencies are computed.

    The default window is all ones."""
class storage:
    @staticmethod
    def pack(data: Expr | TupleWrapper, axis: int = -1) -> Expr:
        """Bytes that hold several elements of 4 or 2 bits each.

        data: elements of 4 or 2 bits, at least one axis
        axis (int): The axis along which bytes are filled."""
    @staticmethod
    def unpack(data: Expr | TupleWrapper, dtype: str | None, axis: int = -1, size: int | None = None) -> Expr:
        """The elements of 4 or 2 bits that bytes hold.

        data: uint8, at least one axis
        dtype (dtype, required): The type of the elements: one of 4 or 2 bits.
        axis (int): The axis along which bytes are filled.
        size (int or None): Elements along the axis; None: all that the bytes hold."""
def strided_set(data: Expr | TupleWrapper, v: Expr | TupleWrapper, begin: Expr | TupleWrapper, end: Expr | TupleWrapper, strides: Expr | TupleWrapper = None) -> Any:
    """Replaces every stride-th element of a range along each axis.

    data: any shape
    v: the slice's new values
    begin: (axes,) integers
    end: (axes,) integers
    strides: (axes,) integers, not zero

    begin, end and strides are lists of integers or expressions; strides are 1 by default."""
def strided_slice(data: Expr | TupleWrapper, begin: int | Sequence[int], end: int | Sequence[int], strides: int | Sequence[int] = None, axes: int | Sequence[int] | None = None, slice_mode: str = 'end') -> Any:
    """Takes every stride-th element of a range along each axis.

    data: any shape
    begin (list of ints, required): The first index along each sliced axis.
    end (list of ints, required): The index behind the last, or with slice_mode "size" the extent.
    strides (list of ints): The step along each; one for all, or empty: 1.
    slice_mode (string): "end" or "size".
    axes (list of ints or None): The sliced axes; None: the first ones.

    begin, end and strides are lists; an expression among them gives dyn.strided_slice."""
def subtract(lhs: Expr | TupleWrapper, rhs: Expr | TupleWrapper) -> Expr:
    """lhs - rhs.

    lhs: any shape
    rhs: a shape that broadcasts with lhs"""
def sum(data: Expr | TupleWrapper, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False) -> Expr:
    """The sum.

    data: any shape
    axis (list of ints or None): The axes to reduce; None or empty: all.
    keepdims (bool): Whether reduced axes stay, with extent 1.
    exclude (bool): Whether the axes not named are reduced instead."""
def take(data: Expr | TupleWrapper, indices: Expr | TupleWrapper, axis: int | None = None, batch_dims: int = 0, mode: str = 'clip') -> Any:
    """Picks slices of data by a tensor of indices.

    data: any shape
    indices: integers, any shape
    batch_dims (int): How many first axes data and indices share.
    axis (int or None): The axis that is indexed; None: of the flattened data.
    mode (string): "clip", "wrap", "fast" or "checked".
    refusal (string): With "checked": a message and a help, a line each, in place of those about the index."""
def tan(data: Expr | TupleWrapper) -> Expr:
    """Tangent.

    data: any shape"""
def tanh(data: Expr | TupleWrapper) -> Expr:
    """Hyperbolic tangent.

    data: any shape"""
def tensor_of_shape(shape: Expr | TupleWrapper) -> Expr:
    """A bool tensor, all False, of a shape that is known only when the program runs.

    shape: (rank,) int64: the sizes"""
def tile(data: Expr | TupleWrapper, reps: int | Sequence[int]) -> Any:
    """Repeats the whole tensor along each axis.

    data: any shape
    reps (list of ints, required): How often along each axis, aligned at the last one.

    reps is a list, or an expression, which gives dyn.tile."""
def topk(data: Expr | TupleWrapper, k: int | None = 1, axis: int = -1, ret_type: str = 'both', is_ascend: bool = False, dtype: str | None = 'int32') -> Any:
    """The greatest (least) k elements along an axis in order, and their places.

    data: any shape with at least one axis
    k (int or None): How many; None or less than 1: all.
    axis (int): The axis that is sorted.
    ret_type (string): "both" (values, places), "values" or "indices".
    is_ascend (bool): Whether the least comes first.
    dtype (dtype or None): The element type of places; None: int32.

    k is a number, or an expression, which gives dyn.topk."""
def transpose(data: Expr | TupleWrapper, axes: int | Sequence[int] | None = None) -> Expr:
    """Reorders the axes.

    data: any shape
    axes (list of ints or None): For each axis of the result, the axis of data; None or empty: the reverse order."""
def trilu(data: Expr | TupleWrapper, k: Expr | TupleWrapper, upper: bool = True) -> Any:
    """Keeps the upper or lower triangle of matrices.

    data: (.., M, N)
    k: the diagonal where the triangle ends; 0: the main one
    upper (bool): Whether the upper triangle is kept.

    k is an integer or an expression."""
def trunc(data: Expr | TupleWrapper) -> Expr:
    """The integer part.

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
    """The different elements of a vector, and where they stand.

    data: (n,)
    sorted (bool): Whether the result is ascending.
    return_counts (bool): Whether counts is among the results.

    Returns (unique, indices, inverse_indices, num_unique), and optionally counts."""
def unravel_index(indices: Any, shape: Expr | TupleWrapper) -> Any:
    """The indices of elements that are numbered in row-major order.

    data: numbers of elements, any shape
    shape: (rank,) integers: the shape they are of"""
def variance(data: Expr | TupleWrapper, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False, with_mean: Any = None) -> Any:
    """The mean squared distance from a mean.

    data: any shape
    mean: the shape of data, 1 at the reduced axes
    axis (list of ints or None): The axes to reduce; None or empty: all.
    keepdims (bool): Whether reduced axes stay, with extent 1.
    exclude (bool): Whether the axes not named are reduced instead.
    unbiased (bool): Whether to divide by the count less one."""
class vision:
    @staticmethod
    def all_class_non_max_suppression(boxes: Expr | TupleWrapper, scores: Expr | TupleWrapper, max_output_boxes_per_class: Expr | TupleWrapper = -1, iou_threshold: Expr | TupleWrapper = -1.0, score_threshold: Expr | TupleWrapper = -1.0, output_format: str = 'onnx') -> Any:
        """Of the boxes of each class that overlap, the one with the best score.

        boxes: (batch, boxes, 4): two opposite corners
        scores: (batch, classes, boxes)
        max_output_boxes_per_class: (): the most boxes of a class; negative: no limit
        iou_threshold: (): the least overlap of a box that is left out
        score_threshold: (): scores above it are looked at
        output_format (string): "onnx" or "tensorflow".

        Returns (positions, count), or (positions, scores, count) for "tensorflow"."""
    @staticmethod
    def get_valid_counts(data: Expr | TupleWrapper, score_threshold: Expr | TupleWrapper, id_index: int = 0, score_index: int = 1) -> Any:
        """The boxes whose score is above a threshold, in front of the others.

        data: (batch, boxes, numbers)
        score_threshold: ()
        id_index (int): Which number of a box is its class; -1: none.
        score_index (int): Which number of a box is its score.

        Returns (count, boxes, positions)."""
    @staticmethod
    def multibox_prior(data: Expr | TupleWrapper, sizes: Sequence[float] = [1.0], ratios: Sequence[float] = [1.0], steps: Sequence[float] = [-1.0, -1.0], offsets: Sequence[float] = [0.5, 0.5], clip: bool = False) -> Expr:
        """Boxes of several sizes and ratios around each pixel.

        data: a feature map, (N, C, H, W); its values are not read
        sizes (list of floats): Sizes of the boxes.
        ratios (list of floats): Ratios of width to height; the first is taken for 1.
        steps (list of floats): Distances [y, x] of pixels; not positive: of data.
        offsets (list of floats): Where the centre of a pixel is, [y, x].
        clip (bool): Whether boxes are cut to [0, 1]."""
    @staticmethod
    def multibox_transform_loc(cls_prob: Expr | TupleWrapper, loc_pred: Expr | TupleWrapper, anchor: Expr | TupleWrapper, clip: bool = True, threshold: float = 0.01, variances: Sequence[float] = (0.1, 0.1, 0.2, 0.2), keep_background: bool = False) -> Any:
        """Boxes from anchors, predicted offsets and scores of classes.

        cls_prob: (batch, classes, boxes)
        loc_pred: (batch, 4 * boxes)
        anchor: (1, boxes, 4): x1, y1, x2, y2
        clip (bool): Whether corners are cut to [0, 1].
        threshold (float): The least score.
        variances (list of floats): Factors of the predicted x, y, width and height.
        keep_background (bool): Whether class 0 is a class, and classes keep their numbers.

        Returns (boxes, count)."""
    @staticmethod
    def non_max_suppression(data: Expr | TupleWrapper, valid_count: Expr | TupleWrapper, indices: Expr | TupleWrapper, max_output_size: Expr | TupleWrapper = -1, iou_threshold: Expr | TupleWrapper = 0.5, force_suppress: bool = False, top_k: int = -1, coord_start: int = 2, score_index: int = 1, id_index: int = 0, return_indices: bool = True, invalid_to_bottom: bool = False) -> Any:
        """Of boxes that overlap, the one with the best score.

        data: (batch, boxes, numbers)
        valid_count: (batch,): how many boxes of an image are valid
        indices: (batch, boxes): what return_indices gives of a box
        max_output_size: (): the most boxes that are kept; negative: no limit
        iou_threshold: (): the least overlap of a box that is left out
        force_suppress (bool): Whether boxes of different classes are compared.
        top_k (int): How many of the best boxes are looked at; below 1: all.
        coord_start (int): Which number of a box is the first of its four coordinates.
        score_index (int): Which number of a box is its score.
        id_index (int): Which number of a box is its class; -1: none.
        return_indices (bool): Whether the result is places, and how many they are.
        invalid_to_bottom (bool): Whether the kept boxes come first.

        Returns (positions, count), or the boxes without return_indices."""
    @staticmethod
    def proposal(cls_prob: Expr | TupleWrapper, bbox_pred: Expr | TupleWrapper, im_info: Expr | TupleWrapper, scales: Sequence[float] = [4.0, 8.0, 16.0, 32.0], ratios: Sequence[float] = [0.5, 1.0, 2.0], feature_stride: int = 16, threshold: float = 0.7, rpn_pre_nms_top_n: int = 6000, rpn_post_nms_top_n: int = 300, rpn_min_size: int = 16, iou_loss: bool = False) -> Expr:
        """Regions of images that are likely to hold something, from scores and offsets of anchors.

        cls_prob: (N, 2 * anchors, H, W): scores of the background, then of the rest
        bbox_pred: (N, 4 * anchors, H, W)
        im_info: (N, 3): height, width, scale
        scales (list of floats): Scales of the anchors.
        ratios (list of floats): Ratios of height to width of the anchors.
        feature_stride (int): Pixels of the image to one of the feature map.
        threshold (float): An overlap above it leaves the later box out.
        rpn_pre_nms_top_n (int): How many of the best boxes are looked at.
        rpn_post_nms_top_n (int): Boxes of an image in the result.
        rpn_min_size (int): The least side, times the scale in im_info.
        iou_loss (bool): Whether offsets are those of the corners."""
    @staticmethod
    def regular_non_max_suppression(boxes: Expr | TupleWrapper, scores: Expr | TupleWrapper, max_detections_per_class: int, max_detections: int, num_classes: int, iou_threshold: float, score_threshold: float) -> Any:
        """The best boxes of all classes, of those of a class that overlap the one with the best score.

        boxes: (batch, boxes, 4): two opposite corners
        scores: (batch, boxes, classes)
        max_detections_per_class (int, required): The most of a class.
        max_detections (int, required): The most of an image.
        num_classes (int, required): Classes without the background.
        iou_threshold (float, required): An overlap above it leaves the later box out.
        score_threshold (float, required): The least score.

        Returns (boxes, classes, scores, count)."""
    @staticmethod
    def roi_align(data: Expr | TupleWrapper, rois: Expr | TupleWrapper, pooled_size: int | Sequence[int], spatial_scale: float, sample_ratio: int = -1, layout: str = 'NCHW', mode: str = 'avg', aligned: bool = False) -> Expr:
        """Regions of images, interpolated to one size.

        data: (N, C, H, W)
        rois: (regions, 5): batch, x1, y1, x2, y2
        pooled_size (list of ints, required): Height and width of the result.
        spatial_scale (float, required): Pixels of data to a unit of regions.
        sample_ratio (int): Samples along each side of a cell; below 1: one for each pixel begun.
        layout (string): "NCHW".
        mode (string): "avg" or "max".
        aligned (bool): Whether pixels have their centres at 0.5."""
    @staticmethod
    def roi_pool(data: Expr | TupleWrapper, rois: Expr | TupleWrapper, pooled_size: int | Sequence[int], spatial_scale: float, layout: str = 'NCHW') -> Expr:
        """The maxima of a grid in regions of images.

        data: (N, C, H, W)
        rois: (regions, 5): batch, x1, y1, x2, y2
        pooled_size (list of ints, required): Height and width of the result.
        spatial_scale (float, required): Pixels of data to a unit of regions.
        layout (string): "NCHW"."""
    @staticmethod
    def yolo_reorg(data: Expr | TupleWrapper, stride: int | None = 1) -> Expr:
        """Pixels moved into channels, as Darknet's reorg layer does.

        data: (N, C, H, W)
        stride (int or None): How many pixels along each axis go together; None: 1."""
class vm:
    @staticmethod
    def reshape_tensor(data: Expr | TupleWrapper, shape: Expr | TupleWrapper, newshape: int | Sequence[int | str | Dim]) -> Expr:
        """The same elements under another shape, which is given twice.

        data: any shape
        shape: (rank,) integers: the values of newshape
        newshape (list of dimensions, required): The new shape."""
    @staticmethod
    def shape_of(tensor: Expr | TupleWrapper, dtype: str | None = 'int64') -> Expr:
        """The shape of a tensor, as a tensor.

        tensor: any shape
        dtype (dtype): The element type of the result."""
def where(condition: Expr | TupleWrapper, x: Expr | TupleWrapper, y: Expr | TupleWrapper) -> Expr:
    """Chooses between the elements of two tensors.

    condition: bool, any shape
    x: a shape that broadcasts
    y: a shape that broadcasts"""
def zeros(shape: int | Sequence[int | str | Dim], dtype: str | None = None) -> Any:
    """Zeros.

    shape (list of dimensions, required): The shape of the result.
    dtype (dtype or None): The element type of the result; None: float32, for full that of fill_value.

    shape is a list, or an expression: then dyn.zeros."""
def zeros_like(data: Expr | TupleWrapper) -> Expr:
    """Zeros in the shape and type of data.

    data: any shape"""
