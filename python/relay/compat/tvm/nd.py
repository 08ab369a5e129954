"""tvm.nd: arrays. An NDArray is a NumPy array with TVM's methods."""

from __future__ import annotations

import numpy as np

from relay.run.build_module import Device, cpu

from ...data.arrays import numpy as _as_numpy
from ..outside import missing as _missing

__getattr__ = _missing("tvm.nd")


class NDArray(np.ndarray):
    """A NumPy array. numpy() and asnumpy() return a plain one."""

    def numpy(self) -> np.ndarray:
        """Returns a copy as a plain NumPy array."""
        return np.array(self)

    asnumpy = numpy

    def copyto(self, target):
        """Copies into another array, or to a device."""
        if isinstance(target, Device):
            return np.array(self).view(NDArray)
        np.copyto(target, self)
        return target

    def copyfrom(self, source) -> NDArray:
        """Copies from another array."""
        np.copyto(self, source)
        return self

    def __eq__(self, other):
        """Compares elementwise. The result for equal arrays is true as a whole."""
        return np.asarray(np.ndarray.__eq__(np.asarray(self), np.asarray(other))).view(_Truth)

    __hash__ = None

    def same_as(self, other) -> bool:
        """Returns true if the memory is the same."""
        return np.shares_memory(self, other)

    device = property(lambda self: cpu())
    ctx = device


class _Truth(np.ndarray):
    """The result of == for arrays."""

    def __bool__(self) -> bool:
        return bool(np.all(np.asarray(self)))


def array(arr, device=None, ctx=None) -> NDArray:
    """Returns a copy."""
    return np.array(_as_numpy(arr) if hasattr(arr, "reinterpreted") else arr).view(NDArray)


def empty(shape, dtype="float32", device=None, ctx=None) -> NDArray:
    """Returns an uninitialised array."""
    return np.empty(shape, dtype).view(NDArray)


def device(device_type: str = "cpu", device_id: int = 0) -> Device:
    """Returns a device by name. Only the processor runs programs."""
    return Device({"llvm": "cpu", "c": "cpu"}.get(device_type.split()[0], device_type), device_id)


context = device


def gpu(device_id: int = 0) -> Device:
    """Returns a device for annotations, which cannot run programs."""
    return Device("cuda", device_id)


cuda = gpu


def opencl(device_id: int = 0) -> Device:
    """Returns a device for annotations, which cannot run programs."""
    return Device("opencl", device_id)
