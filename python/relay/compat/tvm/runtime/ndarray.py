"""tvm.runtime.ndarray: tvm.nd."""

from ..nd import NDArray, array, context, cpu, cuda, device, empty, gpu

__all__ = ["NDArray", "array", "context", "cpu", "cuda", "device", "empty", "gpu"]
