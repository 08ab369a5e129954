"""Conversion of arrays: anything with __dlpack__ (NumPy, torch, JAX, CuPy on the CPU, ...) and anything that NumPy can
convert to an array.

Row-major arrays are used in place; others are copied.
"""

from __future__ import annotations

import functools
import mmap
import sys

import numpy as np

from .. import _core
from ..errors import wrong_input

# Element types that NumPy lacks (ml_dtypes has them), by name, and the types that their bytes are read as.
_FOREIGN = {
    "bfloat16": np.uint16,
    "float8_e4m3fn": np.uint8,
    "float8_e4m3fnuz": np.uint8,
    "float8_e5m2": np.uint8,
    "float8_e5m2fnuz": np.uint8,
    "float8_e8m0fnu": np.uint8,
    "float8_e4m3": np.uint8,
    "float8_e3m4": np.uint8,
    "float8_e4m3b11fnuz": np.uint8,
    "float6_e2m3fn": np.uint8,
    "float6_e3m2fn": np.uint8,
    "float4_e2m1fn": np.uint8,
    "int4": np.uint8,
    "uint4": np.uint8,
    "int2": np.uint8,
    "uint2": np.uint8,
}


def array(value, dtype: str | None = None) -> _core.Array:
    """Returns `value` as a Relay array. Shares its memory if it is row-major, aligned and on the CPU.

    `dtype` is the element type for plain Python numbers and lists; arrays keep their own type.
    """
    if isinstance(value, _core.Array):
        return value
    if isinstance(value, np.ndarray) or not hasattr(value, "__dlpack__"):
        return _from_numpy(value, dtype)
    if getattr(value, "requires_grad", False):
        value = value.detach()
    if hasattr(value, "resolve_neg"):  # PyTorch views whose elements are negated or conjugated when they are read
        value = value.resolve_conj().resolve_neg()
    if (capsule := _of_torch(value)) is not None:
        return _core.Array.from_capsule(capsule)
    try:
        device = value.__dlpack_device__()[0]
    except ValueError as error:  # raised by PyTorch for a device without memory, such as meta
        raise wrong_input(f"the array is not in memory: {error}", "give an array in memory") from error
    if device not in (1, 3):  # CPU, pinned memory
        raise wrong_input(
            f"the array is on another device (DLPack device type {int(device)})", "move it to the CPU first"
        )
    try:
        capsule = value.__dlpack__(max_version=(1, 0))
    except TypeError:  # an exporter older than DLPack 1.0
        capsule = value.__dlpack__()
    except BufferError as error:  # a layout without strides, such as that of sparse tensors
        raise wrong_input(f"the array cannot be read: {error}", "give a dense tensor: tensor.to_dense()") from error
    return _core.Array.from_capsule(capsule)


def own_array(value, dtype: str | None = None, source=None) -> _core.Array:
    """Returns an array whose memory no other code writes: a copy, unless `value` cannot be written through any view.

    source: what the caller converted to `value`; if they share no memory, nothing else refers to that of `value`.
    """
    made, source = array(value, dtype), value if source is None else source
    if isinstance(source, np.ndarray):
        is_new = not np.may_share_memory(made._numpy(), source)
    else:
        is_new = isinstance(source, (int, float, list, tuple, np.generic))
    return made if is_new or _is_fixed(value) else made.copied()


def fixed(made: np.ndarray) -> np.ndarray:
    """Returns a read-only view of an array to which no other code refers. Constants share the memory of such views."""
    plain = made if made.dtype in _PLAIN else made.view(f"u{made.dtype.itemsize}")
    return np.asarray(_Fixed(plain)).view(made.dtype)


class _Fixed:
    """The only reference to an array, which is kept for its memory."""

    def __init__(self, made: np.ndarray):
        about = made.__array_interface__
        self._made = made
        self.__array_interface__ = about | {"data": (about["data"][0], True)}  # True: read-only


def _is_fixed(value) -> bool:
    """Returns true for a view of memory that stays as it is: bytes, a file that is mapped for reading, or fixed().

    Other arrays that are read-only may have views that are not, or become writable again.
    """
    while isinstance(value, (np.ndarray, memoryview)):
        if isinstance(value, np.ndarray):
            value, is_written = value.base, value.flags.writeable
        else:
            value, is_written = value.obj, not value.readonly
        if is_written:
            return False
    return isinstance(value, (bytes, _Fixed)) or (isinstance(value, mmap.mmap) and memoryview(value).readonly)


def _of_torch(value):
    """Returns the DLPack capsule of an ordinary PyTorch tensor, or None for any other. Tensor.__dlpack__ is written in
    Python and takes five times as long."""
    torch = sys.modules.get("torch")
    if torch is None or type(value) is not torch.Tensor or not value.is_cpu or value.layout is not torch.strided:
        return None
    return torch.utils.dlpack.to_dlpack(value) if value.dtype in _torch_types() else None


@functools.cache
def _torch_types() -> frozenset:
    import torch

    names = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
    return frozenset(getattr(torch, name) for name in names)


# Element types that are used as they are. Looking up the name of a type takes longer than running a small model.
_PLAIN = {np.dtype(t) for t in (bool, *np.typecodes["AllInteger"], "float16", "float32", "float64")}


def _from_numpy(value, dtype):
    if not (type(value) is np.ndarray and value.dtype in _PLAIN and value.flags.carray):
        value = _usable(value, dtype)
        name = value.dtype.name
        if name in _FOREIGN:
            return array(value.view(_FOREIGN[name])).reinterpreted(name)
    try:
        capsule = value.__dlpack__(max_version=(1, 0))
    except (TypeError, BufferError):  # an old NumPy, which does not export read-only arrays
        capsule = np.array(value).__dlpack__()
    return _core.Array.from_capsule(capsule)


def as_numpy(value) -> np.ndarray:
    """Returns the NumPy array of anything that NumPy can convert."""
    try:
        return np.asarray(value)
    except ValueError as error:  # lists of different lengths
        raise wrong_input(
            f"it cannot be converted to an array: {error}", "give lists of equal lengths, or an array"
        ) from error


def converted(value: np.ndarray, dtype: str, refuse=wrong_input) -> np.ndarray:
    """Converts the elements to another type. Refuses numbers that would change or become infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        made = value.astype(dtype)
    if made.dtype.kind in "iub":
        lost = made != value
        if lost.any():
            one, is_whole = value[lost].flat[0], value.dtype.kind in "iub" or bool(np.all(value == np.floor(value)))
            raise refuse(
                f"{one:g} is not a value of {dtype}"
                if value.dtype.kind == "f" and not is_whole
                else f"{one} does not fit in {dtype}",
                "give numbers of this type, or round them first, for example with numpy.rint",
            )
    if made.dtype.kind == "f" and value.dtype.kind in "fiu" and made.itemsize < 8:
        lost = np.isinf(made) & np.isfinite(value)
        if lost.any():
            raise refuse(
                f"{value[lost].flat[0]:g} does not fit in {dtype}",
                f"the greatest {dtype} is {float(np.finfo(made.dtype).max):g}; infinity is float('inf')",
            )
    return made


def _usable(value, dtype):
    """Returns a NumPy array of a known element type, row-major and in the byte order of this machine."""
    is_array = isinstance(value, (np.ndarray, np.generic))
    value = as_numpy(value)
    if not is_array and dtype is not None and dtype not in _FOREIGN and value.dtype.kind in "fiub":
        value = converted(value, dtype)
    if value.dtype.byteorder == ">":
        value = value.astype(value.dtype.newbyteorder("<"))
    name = value.dtype.name
    if name in _FOREIGN:
        return value
    if value.dtype.kind not in "fiub":
        raise wrong_input(
            f"arrays of type {name} cannot be used", "convert the array, for example with .astype('float32')"
        )
    shape = value.shape
    if not value.flags.c_contiguous or not value.flags.aligned:
        value = np.ascontiguousarray(value).reshape(shape)
    return value


def numpy(value: _core.Array) -> np.ndarray:
    """Returns a NumPy array that shares memory."""
    if value.dtype in _FOREIGN:
        import ml_dtypes

        return value._numpy().view(getattr(ml_dtypes, value.dtype))
    return value._numpy()


def torch_tensor(value: _core.Array):
    """Returns a torch tensor that shares memory."""
    import torch

    return torch.from_dlpack(value.__dlpack__(max_version=(1, 0)))  # for the object itself, torch tries several ways


def like(values: list, example) -> list:
    """Returns results in the framework of the inputs: torch tensors for torch tensors, otherwise NumPy arrays."""
    if type(example).__module__.partition(".")[0] == "torch":
        return [torch_tensor(value) for value in values]
    return [numpy(value) for value in values]


def address(value) -> int | None:
    """Returns the address of the elements of a NumPy array or a torch tensor, or None for anything else."""
    if isinstance(value, np.ndarray):
        return value.ctypes.data
    return value.data_ptr() if type(value).__module__.partition(".")[0] == "torch" else None


def is_read_only(value) -> bool:
    """Returns true if the owner of the array forbids writing to it."""
    return isinstance(value, np.ndarray) and not value.flags.writeable
