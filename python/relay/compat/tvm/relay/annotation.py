"""relay.annotation: marks in programs, and devices of values."""

from __future__ import annotations

from relay import Call, Device, Expr, Function
from relay import op as _ops
from relay.op import annotation as _ours

from ..target import VirtualDevice


def device_text(device) -> str:
    """Returns the text of a device in attributes: "cpu:1", or "" for any device."""
    if device is None:
        return ""
    if isinstance(device, VirtualDevice):
        return device_text(device.device)
    if isinstance(device, Device):
        return device.device_type if device.device_id == 0 else f"{device.device_type}:{device.device_id}"
    return str(device)


def on_device(body: Expr, device, constrain_result: bool = False, constrain_body: bool = True) -> Call:
    """Puts the value of `body` on a device. constrain_result: the result stays there. PlanDevices() turns this into
    copies."""
    return _ops.on_device(body, device_text(device), constrain_result=constrain_result, constrain_body=constrain_body)


def function_on_device(function: Function, param_devices, result_device) -> Function:
    """Returns the function with the devices of its parameters and its result, which PlanDevices() reads."""
    names = [device_text(device) for device in param_devices]
    if len(names) != len(function.params):
        raise ValueError(f"there are {len(function.params)} parameters and {len(names)} devices")
    marked = function.with_attr("param_virtual_devices", names)
    return marked.with_attr("result_virtual_device", device_text(result_device))


def stop_fusion(data):
    """Keeps the operators on both sides out of a common kernel."""
    return _ours.stop_fusion(data)


def checkpoint(data):
    """Marks a value that the gradient computes again. In a tuple, each field is marked."""
    fields = getattr(data, "fields", None)
    if fields is None:
        return _ours.checkpoint(data)
    from relay import Tuple

    return Tuple([checkpoint(field) for field in fields])


def compiler_begin(data, compiler: str):
    """Marks an input of a region for another compiler."""
    return _ours.compiler_begin(data, compiler=compiler)


def compiler_end(data, compiler: str):
    """Marks a result of a region for another compiler."""
    return _ours.compiler_end(data, compiler=compiler)


def cast_hint(data, dtype: str):
    """Annotates the element type that data could have."""
    return _ours.cast_hint(data, dtype=dtype)


def bitpack_start(data):
    """Marks the begin of a computation on packed bits."""
    return _ours.bitpack_start(data)


def bitpack_end(data):
    """Marks the end of a computation on packed bits."""
    return _ours.bitpack_end(data)
