"""Names of TVM's Relay that this package has not, and what takes their place."""

from __future__ import annotations

from . import _core

_REASONS = {
    "relay.build_config": "relay.transform.PassContext, or options of relay.compile",
    "relay.ir_pass": "relay.transform and relay.analysis",
    "relay.backend": "relay.compile compiles, relay.create_executor runs programs",
    "relay.param_dict": "relay.save_param_dict and relay.load_param_dict",
}


def _reason_of(name: str) -> str | None:
    return next((reason for known, reason in _REASONS.items() if f"{name}.".startswith(f"{known}.")), None)


def absent(module: str, name: str, here: dict) -> str:
    """The message for a name that a module does not have."""
    full = f"{module}.{name}"
    if reason := _reason_of(full):
        return f"there is no {full}: {reason}"
    near = [] if name.startswith("_") else _core.suggestions(name, [one for one in here if not one.startswith("_")], 1)
    return f"module '{module}' has no attribute '{name}'" + (f"; did you mean {near[0]}?" if near else "")
