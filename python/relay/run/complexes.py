"""Complex numbers in inputs and results. The compiled model has them as floats with a last axis of two, the real and
the imaginary part. The attributes complex_inputs and complex_outputs of @main list their positions.
"""

from __future__ import annotations

import numpy as np


def _parts(value):
    """Returns the parts of a complex array, in place if possible. Pairs of floats are returned unchanged."""
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
    """The complex inputs and results of a model."""

    def __init__(self, inputs: list[int], outputs: list[int]):
        self._inputs, self._outputs = frozenset(inputs), frozenset(outputs)

    def __bool__(self) -> bool:
        return bool(self._inputs or self._outputs)

    def parts(self, values: list) -> list:
        """Returns the inputs in the model's form."""
        return [_parts(value) if place in self._inputs else value for place, value in enumerate(values)]

    def joined(self, results):
        """Returns the results in the caller's form: one, or a tuple of several."""
        if not isinstance(results, tuple):
            return _joined(results) if self._outputs else results
        return tuple(_joined(one) if place in self._outputs else one for place, one in enumerate(results))
