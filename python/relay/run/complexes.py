"""Complex numbers in and out: in the compiled model they are floats with a last axis of two, the real and the imaginary
part. @main says by its attributes complex_inputs and complex_outputs, lists of places, which they are.
"""

from __future__ import annotations

import numpy as np


def _parts(value):
    """Those of a complex array, where it lies if it can; what is not complex, as pairs of floats, stays as it is."""
    if type(value).__module__.partition(".")[0] == "torch":
        import torch

        return torch.view_as_real(value.detach().resolve_conj()) if value.is_complex() else value
    value = np.asarray(value)
    if value.dtype.kind != "c":
        return value
    return np.ascontiguousarray(value).view(value.real.dtype).reshape(*value.shape, 2)


def _joined(value):
    if type(value).__module__.partition(".")[0] == "torch":
        import torch

        return torch.view_as_complex(value)
    return value.view(np.result_type(value, np.complex64)).reshape(value.shape[:-1])


class Complexes:
    """Which inputs and results of a model are complex."""

    def __init__(self, inputs: list[int], outputs: list[int]):
        self._inputs, self._outputs = frozenset(inputs), frozenset(outputs)

    def __bool__(self) -> bool:
        return bool(self._inputs or self._outputs)

    def parts(self, values: list) -> list:
        """The inputs, as the model has them."""
        return [_parts(value) if place in self._inputs else value for place, value in enumerate(values)]

    def joined(self, results):
        """The results, as the caller has them: one, or a tuple of several."""
        if not isinstance(results, tuple):
            return _joined(results) if self._outputs else results
        return tuple(_joined(one) if place in self._outputs else one for place, one in enumerate(results))
