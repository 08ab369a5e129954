"""Complex numbers: made of two tensors, taken apart, added and multiplied; and Fourier transforms."""

from __future__ import annotations

from ... import op
from ..._core import Dim, Expr
from ..shared.expressions import cast, dtype_of, shape_of
from ..shared.functions import atan2, hypotenuse
from ..shared.problems import Refused
from ..shared.values import Complex, Known, constant, number
from .conversion import Conversion


def parts_of(c: Conversion, place: int = 0) -> tuple[Expr, Expr]:
    """Returns the real and the imaginary part of an input; that of real numbers is 0."""
    value = c.value(place)
    if isinstance(value, Known) and value.dtype.startswith("complex"):
        return constant(value.array.real.copy()), constant(value.array.imag.copy())
    if isinstance(value, Complex):
        axis = len(shape_of(value.parts)) - 1
        return tuple(op.take(value.parts, number(part, "int32"), axis=axis, mode="clip") for part in (0, 1))
    x = c.expr(place)
    return x, op.zeros_like(x)


def made_of(real: Expr, imaginary: Expr) -> Complex:
    dtype = "complex128" if dtype_of(real) == "float64" else "complex64"
    return Complex(op.stack([real, imaginary], axis=len(shape_of(real))), dtype)


def is_complex(c: Conversion) -> bool:
    return any(
        isinstance(one, Complex) or (isinstance(one, Known) and one.dtype.startswith("complex")) for one in c.inputs
    )


def of_parts(c: Conversion):
    """Complex(real, imaginary)."""
    return made_of(c.x, c.y)


def part(place: int):
    def convert(c: Conversion):
        return parts_of(c)[place]

    return convert


def absolute(c: Conversion):
    return hypotenuse(*parts_of(c))


def angle(c: Conversion):
    real, imaginary = parts_of(c)
    return atan2(imaginary, real)


def conjugate(c: Conversion):
    if not is_complex(c):
        return c.value(0)
    real, imaginary = parts_of(c)
    return made_of(real, op.negative(imaginary))


def _each(function):
    return lambda a, b: (function(a[0], b[0]), function(a[1], b[1]))


def _product(a, b):
    return (
        op.subtract(op.multiply(a[0], b[0]), op.multiply(a[1], b[1])),
        op.add(op.multiply(a[0], b[1]), op.multiply(a[1], b[0])),
    )


_ARITHMETIC = {"Add": _each(op.add), "AddV2": _each(op.add), "Sub": _each(op.subtract), "Mul": _product}


def or_complex(name: str, convert):
    """Returns a converter that also takes complex numbers."""

    def convert_any(c: Conversion):
        if not is_complex(c):
            return convert(c)
        real, imaginary = _ARITHMETIC[name](parts_of(c, 0), parts_of(c, 1))
        return made_of(real, imaginary)

    return convert_any


# --- Fourier transforms -----------------------------------------------------------------------------------------------
def _along(real: Expr, imaginary: Expr, axis: int, inverse: bool) -> tuple[Expr, Expr]:
    """Returns the transform along an axis, which dft computes along the last one."""
    rank = len(shape_of(real))
    order = [*(one for one in range(rank) if one != axis), axis]
    back = [order.index(one) for one in range(rank)]
    if order != list(range(rank)):
        real, imaginary = op.transpose(real, axes=order), op.transpose(imaginary, axes=order)
    made = op.dft(real, imaginary, inverse=inverse)
    real, imaginary = made[0], made[1]
    if order != list(range(rank)):
        real, imaginary = op.transpose(real, axes=back), op.transpose(imaginary, axes=back)
    return real, imaginary


def transform(axes: int, inverse: bool):
    """FFT, IFFT, FFT2D, IFFT2D, ..: of the last axes."""

    def convert(c: Conversion):
        real, imaginary = parts_of(c)
        for back in range(axes):
            real, imaginary = _along(real, imaginary, c.rank(0) - 1 - back, inverse)
        return made_of(real, imaginary)

    return convert


def _sized(x: Expr, axis: int, size: int) -> Expr:
    """Returns a tensor with this many elements along an axis: cut, or filled up with zeros."""
    own = shape_of(x)[axis]
    if isinstance(own, Dim):
        raise Refused("the size of its data is known only at run time", "give the sizes of the inputs")
    if own > size:
        return op.strided_slice(x, begin=[0], end=[size], strides=[1], axes=[axis])
    widths = [[0, size - own if one == axis else 0] for one in range(len(shape_of(x)))]
    return op.nn.pad(x, pad_width=widths) if own < size else x


def _lengths(c: Conversion, axes: int) -> list[int]:
    lengths = c.ints(1, "its length")
    if len(lengths) != axes or min(lengths) < 1 or max(lengths) > 1 << 24:
        raise Refused(f"its lengths are {lengths}")
    return lengths


def of_real(axes: int):
    """RFFT, RFFT2D(data, lengths): the first half of the transform of real numbers."""

    def convert(c: Conversion):
        x, rank = c.x, c.rank(0)
        lengths = _lengths(c, axes)
        for place, size in enumerate(lengths):
            x = _sized(x, rank - axes + place, size)
        real, imaginary = x, op.zeros_like(x)
        for back in range(axes):
            real, imaginary = _along(real, imaginary, rank - 1 - back, False)
            if back == 0:  # the other half is its mirror
                real, imaginary = (_sized(one, rank - 1, lengths[-1] // 2 + 1) for one in (real, imaginary))
        return made_of(real, imaginary)

    return convert


def to_real(axes: int):
    """IRFFT, IRFFT2D(data, lengths): the inverse, from the first half."""

    def convert(c: Conversion):
        real, imaginary = parts_of(c)
        rank, lengths = c.rank(0), _lengths(c, axes)
        sizes = [*lengths[:-1], lengths[-1] // 2 + 1]
        for place, size in enumerate(sizes):
            real, imaginary = (_sized(one, rank - axes + place, size) for one in (real, imaginary))
        for back in range(1, axes):
            real, imaginary = _along(real, imaginary, rank - 1 - back, True)
        last, half = lengths[-1], sizes[-1]
        mirrored = [
            op.reverse(
                op.strided_slice(one, begin=[1], end=[last - half + 1], strides=[1], axes=[rank - 1]), axis=rank - 1
            )
            for one in (real, imaginary)
        ]
        if last > half:
            real = op.concatenate([real, mirrored[0]], axis=rank - 1)
            imaginary = op.concatenate([imaginary, op.negative(mirrored[1])], axis=rank - 1)
        return _along(real, imaginary, rank - 1, True)[0]

    return convert


def to_complex_type(c: Conversion):
    """Cast to or from complex numbers: real numbers have no imaginary part, which is dropped."""
    real, imaginary = parts_of(c)
    dtype = c("DstT")
    if not dtype.startswith("complex"):
        return cast(real, dtype)
    exact = "float64" if dtype == "complex128" else "float32"
    return made_of(cast(real, exact), cast(imaginary, exact))


def to_type(c: Conversion):
    """Cast. Floats lose their fraction; a float outside of an integer's range has no defined result."""
    dtype = c("DstT")
    if c.dtype(0).startswith("complex") or dtype.startswith("complex"):
        return to_complex_type(c)
    if dtype in ("string", "complex64", "complex128", "resource", "variant"):
        raise Refused(f"it converts to {dtype}")
    return cast(c.x, dtype)
