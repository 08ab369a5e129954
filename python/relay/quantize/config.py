"""The configuration of relay.quantize.quantize(), under the names of TVM's Relay.

with relay.quantize.qconfig(calibrate_mode="kl_divergence", skip_conv_layers=[0]):
    mod = relay.quantize.quantize(mod, params, dataset)
"""

from __future__ import annotations

import contextvars
import dataclasses
from collections.abc import Sequence

from ..errors import wrong_input

_FIXED = {  # the only value, and the reason
    "dtype_weight": ("int8", "weights are stored as int8"),
    "rounding": ("UPWARD", "relay.qnn.requantize(rounding=...) rounds otherwise where a program calls it"),
    "partition_conversions": ("disabled", "the program keeps its float inputs and results"),
}
PAIRED_BITS = 7
"""Bits of symmetric weights of which the products of two with bytes can be added in 16 bits: 2 * 63 * 255 < 2^15."""
_MODES = ("global_scale", "kl_divergence", "percentile", "maximum", "mean_squared_error")


@dataclasses.dataclass(frozen=True)
class QConfig:
    """Settings of quantize(). Those of another meaning than in TVM:

    weight_scale: "power2" and "max" both use the largest magnitude of each output channel; scales need not be powers of
    two, since requantisation multiplies by a fixed-point number.
    round_for_shift, calibrate_chunk_by: accepted without effect. There are no shifts to round, and the values of a run
    are counted at once, in bounded memory.
    nbit_input, dtype_input: up to 16 bits with "int16".
    nbit_activation, dtype_activation: 16 and "int16" give weights at most 7 bits. Where a processor adds products in
        pairs in 16 bits, and the pairs in 32, nothing overflows then. Results are those of int32.
    skip_conv_layers: numbers of convolutions in the order in which their functions compute them.
    """

    nbit_input: int = 8
    nbit_weight: int = 8
    nbit_activation: int = 32
    dtype_input: str = "int8"
    dtype_weight: str = "int8"
    dtype_activation: str = "int32"
    calibrate_mode: str = "global_scale"
    global_scale: float = 8.0
    weight_scale: str = "power2"
    skip_dense_layer: bool = True
    skip_conv_layers: Sequence[int] | None = (0,)
    do_simulation: bool = False
    round_for_shift: bool = True
    debug_enabled_ops: Sequence[str] | None = None
    rounding: str = "UPWARD"
    calibrate_chunk_by: int = -1
    partition_conversions: str = "disabled"

    def __post_init__(self):
        for name, (only, reason) in _FIXED.items():
            if getattr(self, name) != only:
                raise wrong_input(f"{name} must be {only!r}, but is {getattr(self, name)!r}", f"leave it out: {reason}")
        if (self.nbit_activation, self.dtype_activation) not in ((32, "int32"), (16, "int16")):
            raise wrong_input(
                f"nbit_activation and dtype_activation must be 32 and 'int32', or 16 and 'int16', but are "
                f"{self.nbit_activation!r} and {self.dtype_activation!r}",
                "leave both out: sums of products are int32",
            )
        if self.dtype_input not in ("int8", "int16"):
            raise wrong_input(f"dtype_input must be 'int8' or 'int16', but is {self.dtype_input!r}", "use 'int8'")
        for name, most in (("nbit_input", int(self.dtype_input[3:])), ("nbit_weight", 8)):
            if not 2 <= getattr(self, name) <= most:
                raise wrong_input(
                    f"{name} must be 2 to {most}, but is {getattr(self, name)}",
                    f"integers of {self.dtype_input if name == 'nbit_input' else self.dtype_weight} have {most} bits",
                )
        if self.calibrate_mode not in _MODES:
            raise wrong_input(f"there is no calibrate_mode {self.calibrate_mode!r}", f"use {', '.join(_MODES)}")
        if self.weight_scale not in ("power2", "max"):
            raise wrong_input(f"there is no weight_scale {self.weight_scale!r}", 'use "max"')
        if not 0 < self.global_scale < 1e30:
            raise wrong_input(f"global_scale must be a positive number, but is {self.global_scale}", "use 8.0")

    def __enter__(self) -> QConfig:
        _stack.set((*_stack.get(), self))
        return self

    def __exit__(self, *_) -> None:
        _stack.set(_stack.get()[:-1])


_stack: contextvars.ContextVar[tuple[QConfig, ...]] = contextvars.ContextVar("qconfig", default=())


def qconfig(**settings) -> QConfig:
    """Returns a configuration; in a `with` statement it is the current one. Names and defaults: QConfig."""
    known = [field.name for field in dataclasses.fields(QConfig)]
    for name in settings:
        if name not in known:
            raise wrong_input(f"qconfig has no setting '{name}'", f"its settings are {', '.join(known)}")
    return QConfig(**settings)


def current_qconfig() -> QConfig:
    """Returns the innermost configuration of the `with` statements around the call, or the default."""
    return _stack.get()[-1] if _stack.get() else QConfig()
