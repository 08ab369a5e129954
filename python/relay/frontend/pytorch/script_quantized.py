"""Quantised TorchScript modules: quantized::conv2d, quantized::linear and their relatives, packed weights.

A quantised tensor becomes integers with a scale and a zero point. Each operator is replaced by PyTorch's reference
form: dequantize, the operator on floats, quantize. quantized.py turns these into integer computations.
"""

from __future__ import annotations

import dataclasses

import torch

# TorchScript's numbers of element types.
_DTYPES = {12: torch.int8, 13: torch.uint8, 14: torch.int32}
_DTYPES |= {torch.qint8: torch.int8, torch.quint8: torch.uint8, torch.qint32: torch.int32}
_UNIT = 1 / 256


@dataclasses.dataclass(frozen=True)
class Quantised:
    """A tensor of integers with its quantisation: it represents scale (integer - zero_point)."""

    integers: torch.Tensor
    scale: float
    zero_point: int

    def floats(self) -> torch.Tensor:
        how = self.scale, self.zero_point, *_limits(self.integers.dtype), self.integers.dtype
        return _decomposed().dequantize_per_tensor(self.integers, *how)

    def like(self, floats: torch.Tensor) -> Quantised:
        return quantised(floats, self.scale, self.zero_point, self.integers.dtype)


def _decomposed():
    import torch.ao.quantization.fx._decomposed  # noqa: F401  registers them

    return torch.ops.quantized_decomposed


def _limits(dtype: torch.dtype) -> tuple[int, int]:
    return torch.iinfo(dtype).min, torch.iinfo(dtype).max


def _number(value, kind):
    if not isinstance(value, torch.Tensor):
        return kind(value)
    with torch.utils._python_dispatch._disable_current_modes():
        return kind(value.item())


def quantised(floats: torch.Tensor, scale, zero_point, dtype: torch.dtype = torch.uint8) -> Quantised:
    scale, zero_point = _number(scale, float), _number(zero_point, int)
    how = scale, zero_point, *_limits(dtype), dtype
    return Quantised(_decomposed().quantize_per_tensor(floats, *how), scale, zero_point)


def _weight(packed) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Returns the weight, as floats of its integers, and the bias of packed parameters."""
    with torch.utils._python_dispatch._disable_current_modes():
        weight, bias = packed.unpack()
        integers = weight.int_repr()
        if weight.qscheme() in (torch.per_channel_affine, torch.per_channel_symmetric):
            scales, zeros = weight.q_per_channel_scales(), weight.q_per_channel_zero_points()
            per_channel = scales.float(), zeros.to(torch.int64), weight.q_per_channel_axis()
        else:
            per_channel, scale, zero = None, weight.q_scale(), weight.q_zero_point()
    limits = *_limits(integers.dtype), integers.dtype
    if per_channel is None:
        return _decomposed().dequantize_per_tensor(integers, scale, zero, *limits), bias
    return _decomposed().dequantize_per_channel(integers, *per_channel, *limits), bias


def _window(packed) -> tuple:
    with torch.utils._python_dispatch._disable_current_modes():
        how = packed.stride(), packed.padding(), packed.dilation(), packed.groups()
        return how, list(packed.output_padding()) if packed.transpose() else None


def _convolution(x: torch.Tensor, packed) -> torch.Tensor:
    weight, bias = _weight(packed)
    (stride, padding, dilation, groups), more = _window(packed)
    axes = x.dim() - 2
    weight = weight.squeeze(2) if weight.dim() > x.dim() else weight  # parameters for one axis are packed as if for two
    stride, padding, dilation = (list(one)[-axes:] for one in (stride, padding, dilation))
    more = None if more is None else more[-axes:]
    return torch.convolution(x, weight, bias, stride, padding, dilation, more is not None, more or [0] * axes, groups)


def _linear(x: torch.Tensor, packed) -> torch.Tensor:
    return torch.nn.functional.linear(x, *_weight(packed))


def _of_run(x: torch.Tensor, reduce_range: bool = False) -> torch.Tensor:
    """Returns x as a uint8 tensor quantised to its current range, or to half of it."""
    most = 127 if reduce_range else 255
    scale, zero = _decomposed().choose_qparams.tensor(x, 0, most, 1.1920928955078125e-07, torch.uint8)
    integers = _decomposed().quantize_per_tensor.tensor(x, scale, zero, 0, most, torch.uint8)
    return _decomposed().dequantize_per_tensor.tensor(integers, scale, zero, 0, most, torch.uint8)


def _relu(compute):
    return lambda *given: compute(*given).relu()


def _of_weights(compute):
    """Converts an operator with the arguments (x, packed, scale, zero_point)."""
    return lambda x, packed, scale, zero: quantised(compute(x.floats(), packed), scale, zero)


def _of_two(compute):
    """Converts an operator with the arguments (a, b, scale, zero_point)."""
    return lambda a, b, scale, zero: a_like(a, compute(a.floats(), b.floats()), scale, zero)


def a_like(a: Quantised, floats: torch.Tensor, scale, zero) -> Quantised:
    return quantised(floats, scale, zero, a.integers.dtype)


def _of_scalar(compute, is_sum: bool, then=lambda x: x):
    """Converts an operator with the arguments (a, number). The integers stay unchanged as far as possible; scale and
    zero point change."""

    def run(a, number):
        number, (low, high) = _number(number, float), _limits(a.integers.dtype)
        result = then(compute(a.floats(), number))
        if not is_sum:
            scale, zero = abs(number) * a.scale or 1.0, a.zero_point if number >= 0 else high - (a.zero_point - low)
            return a_like(a, result, scale, zero)
        zero = a.zero_point - round(number / a.scale)
        if low <= zero <= high:
            return a_like(a, result, a.scale, zero)
        least, most = ((one - a.zero_point) * a.scale + number for one in (low, high))
        least, most = min(least, 0.0), max(most, 0.0)
        scale = (most - least) / (high - low)
        return a_like(a, result, scale, low - round(least / scale))

    return run


def _cat(compute=lambda x: x):
    def run(parts, axis, scale=None, zero=None):
        first = parts[0]
        joined = compute(torch.cat([one.floats() for one in parts], axis))
        return a_like(
            first, joined, first.scale if scale is None else scale, first.zero_point if zero is None else zero
        )

    return run


_F = torch.nn.functional
_WEIGHTS = {f"conv{axes}d": _convolution for axes in (1, 2, 3)} | {"linear": _linear}
_WEIGHTS |= {f"conv_transpose{axes}d": _convolution for axes in (1, 2, 3)}
OPERATORS = {
    **{name: _of_weights(compute) for name, compute in _WEIGHTS.items()},
    **{f"{name}_relu": _of_weights(_relu(compute)) for name, compute in _WEIGHTS.items()},
    "linear_dynamic": lambda x, packed, reduce=False: _linear(_of_run(x, reduce), packed),
    "linear_relu_dynamic": lambda x, packed, reduce=False: _linear(_of_run(x, reduce), packed).relu(),
    "conv2d_dynamic": lambda x, packed, reduce=True: _convolution(_of_run(x, reduce), packed),
    "add": _of_two(torch.add), "add_relu": _of_two(_relu(torch.add)),
    "mul": _of_two(torch.mul), "mul_relu": _of_two(_relu(torch.mul)), "matmul": _of_two(torch.matmul),
    "add_scalar": _of_scalar(torch.add, True), "add_scalar_relu": _of_scalar(torch.add, True, torch.relu),
    "mul_scalar": _of_scalar(torch.mul, False), "mul_scalar_relu": _of_scalar(torch.mul, False, torch.relu),
    "cat": _cat(), "cat_relu": _cat(torch.relu),
    "relu6": lambda x, inplace=False: x.like(_F.relu6(x.floats())),
    "sigmoid": lambda x, scale, zero: a_like(x, x.floats().sigmoid(), scale, zero),
    "hardswish": lambda x, scale, zero: a_like(x, _F.hardswish(x.floats()), scale, zero),
    "leaky_relu": lambda x, slope, inplace, scale, zero: a_like(x, _F.leaky_relu(x.floats(), slope), scale, zero),
    "elu": lambda x, scale, zero, alpha=1.0, *rest: a_like(x, _F.elu(x.floats(), alpha), scale, zero),
    "softmax": lambda x, dim, scale, zero: a_like(x, x.floats().softmax(dim), scale, zero),
    "dropout": lambda x, scale, zero, *rest: x,
    "prelu": lambda x, weight, scale, zero: a_like(x, _F.prelu(x.floats(), weight.floats()), scale, zero),
    "layer_norm": lambda x, shape, weight, bias, eps, scale, zero: a_like(
        x, _F.layer_norm(x.floats(), shape, weight, bias, eps), scale, zero),
    "group_norm": lambda x, groups, weight, bias, eps, scale, zero: a_like(
        x, _F.group_norm(x.floats(), groups, weight, bias, eps), scale, zero),
    "instance_norm": lambda x, weight, bias, eps, scale, zero: a_like(
        x, _F.instance_norm(x.floats(), None, None, weight, bias, True, 0.0, eps), scale, zero),
    **{f"batch_norm{axes}d": lambda x, weight, bias, mean, var, eps, scale, zero: a_like(
        x, _F.batch_norm(x.floats(), mean, var, weight, bias, False, 0.0, eps), scale, zero) for axes in (1, 2, 3)},
}  # fmt: skip
# ATen operators that set the quantisation of the result, and those that query it.
_ATEN = {
    "quantize_per_tensor": lambda x, scale, zero, dtype: quantised(x, scale, zero, _DTYPES[dtype]),
    "dequantize": lambda x: [one.floats() for one in x] if isinstance(x, list) else x.floats(),
    "int_repr": lambda x: x.integers, "q_scale": lambda x: x.scale, "q_zero_point": lambda x: x.zero_point,
    "sigmoid": lambda x: a_like(x, x.floats().sigmoid(), _UNIT, 0 if x.integers.dtype == torch.uint8 else -128),
    "hardsigmoid": lambda x: a_like(
        x, _F.hardsigmoid(x.floats()), _UNIT, 0 if x.integers.dtype == torch.uint8 else -128
    ),
    "tanh": lambda x: a_like(x, x.floats().tanh(), 2 * _UNIT, 128 if x.integers.dtype == torch.uint8 else 0),
}  # fmt: skip
_ATEN |= {f"{name}_": compute for name, compute in _ATEN.items() if name in ("sigmoid", "hardsigmoid", "tanh")}
# Queries of the tensor itself.
_PLAIN = {"aten::size", "aten::dim", "aten::numel", "prim::device", "prim::layout", "prim::is_cuda"}


def called(kind: str, given: list, call):
    """Returns the result of a node that involves quantised tensors, or None for any other node. `call` runs it on
    tensors."""
    space, _, name = kind.partition("::")
    if space == "quantized" and name in OPERATORS:
        return OPERATORS[name](*given)
    if space == "aten" and name in _ATEN and (name == "quantize_per_tensor" or _first(given) is not None):
        return _ATEN[name](*given)
    first = _first(given)
    if first is None or space == "prim":
        return call([one.integers if isinstance(one, Quantised) else one for one in given]) if kind in _PLAIN else None
    if kind in _PLAIN:
        return call([one.integers if isinstance(one, Quantised) else one for one in given])
    # Movement, pooling and clamping keep the quantisation of the operand.
    result = call([_floats(one) for one in given])
    if isinstance(result, (tuple, list)):
        return [first.like(one) for one in result]
    return first.like(result) if isinstance(result, torch.Tensor) and result.is_floating_point() else result


def _floats(value):
    if isinstance(value, list):
        return [_floats(one) for one in value]
    return value.floats() if isinstance(value, Quantised) else value


def _first(given: list) -> Quantised | None:
    flat = [one for value in given for one in (value if isinstance(value, list) else [value])]
    return next((one for one in flat if isinstance(one, Quantised)), None)
