"""tvm.runtime.params: parameters as bytes."""

from __future__ import annotations

import relay as _relay

from ..nd import NDArray

save_param_dict = _relay.save_param_dict


def load_param_dict(data) -> dict[str, NDArray]:
    """Reads the output of save_param_dict()."""
    return {name: value.view(NDArray) for name, value in _relay.load_param_dict(data).items()}


def save_param_dict_to_file(params: dict, path: str) -> None:
    """Writes parameters to a file."""
    with open(path, "wb") as file:
        file.write(save_param_dict(params))


def load_param_dict_from_file(path: str) -> dict[str, NDArray]:
    """Reads parameters from a file."""
    with open(path, "rb") as file:
        return load_param_dict(file.read())
