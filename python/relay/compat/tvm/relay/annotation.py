"""relay.annotation: marks in programs; where values are."""

from __future__ import annotations

from relay import Call, Device, Expr, Function
from relay import op as _ops
from relay.op import annotation as _ours

from ..target import VirtualDevice


def device_text(device) -> str:
    """What operators call a device: "cpu:1"; "" for any."""
    if device is None:
        return ""
    if isinstance(device, VirtualDevice):
        return device_text(device.device)
    if isinstance(device, Device):
        return device.device_type if device.device_id == 0 else f"{device.device_type}:{device.device_id}"
    return str(device)


def on_device(body: Expr, device, constrain_result: bool = False, constrain_body: bool = True) -> Call:
    """Says where the value of `body` is; constrain_result: and stays. PlanDevices() makes copies of it."""
    return _ops.on_device(body, device_text(device), constrain_result=constrain_result, constrain_body=constrain_body)


def function_on_device(function: Function, param_devices, result_device) -> Function:
    """The function with the devices of its parameters and of its result, which PlanDevices() reads."""
    names = [device_text(device) for device in param_devices]
    if len(names) != len(function.params):
        raise ValueError(f"there are {len(function.params)} parameters and {len(names)} devices")
    marked = function.with_attr("param_virtual_devices", names)
    return marked.with_attr("result_virtual_device", device_text(result_device))


def stop_fusion(data):
    """Keeps the operators on both sides out of one kernel."""
    return _ours.stop_fusion(data)


def checkpoint(data):
    """What the gradient computes again; of a tuple each of its fields."""
    fields = getattr(data, "fields", None)
    if fields is None:
        return _ours.checkpoint(data)
    from relay import Tuple

    return Tuple([checkpoint(field) for field in fields])


def compiler_begin(data, compiler: str):
    """An input of what another compiler computes."""
    return _ours.compiler_begin(data, compiler=compiler)


def compiler_end(data, compiler: str):
    """A result of what another compiler computes."""
    return _ours.compiler_end(data, compiler=compiler)


def cast_hint(data, dtype: str):
    """The element type that data could have."""
    return _ours.cast_hint(data, dtype=dtype)


def bitpack_start(data):
    """The begin of what is computed on packed bits."""
    return _ours.bitpack_start(data)


def bitpack_end(data):
    """The end of what is computed on packed bits."""
    return _ours.bitpack_end(data)
