"""Requests and answers of the KServe protocol, version 2: a JSON object, followed by the raw bytes of tensors.

The header Inference-Header-Content-Length gives the bytes of the JSON object. Without it, the body is JSON only.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable

import numpy as np

from .. import _core
from ..run.ports import Port
from . import tensors
from .problems import bad_request

HEADER_LENGTH = "Inference-Header-Content-Length"


@dataclasses.dataclass(frozen=True)
class Signature:
    """The tensors of a model: its ports, with their datatypes of the protocol."""

    inputs: dict[str, tuple[Port, str]]
    outputs: dict[str, tuple[Port, str]]

    def metadata(self) -> dict:
        """Returns the inputs and outputs in the protocol's form. Sizes that are unknown before a run are -1."""

        def described(ports):
            return [
                {
                    "name": name,
                    "datatype": datatype,
                    "shape": [size if isinstance(size, int) else -1 for size in port.shape],
                }
                for name, (port, datatype) in ports.items()
            ]

        return {"inputs": described(self.inputs), "outputs": described(self.outputs)}


@dataclasses.dataclass(frozen=True)
class Request:
    """A request: arrays in the order of the model's inputs; for each wanted output, its name and True for raw bytes."""

    arrays: list[np.ndarray]
    outputs: list[tuple[str, bool]]
    id: str | None


class Inputs:
    """The inputs of a request, as they are read. Errors are raised as Refused (400)."""

    def __init__(self, signature: Signature):
        self._ports = signature.inputs
        self._arrays: dict[str, np.ndarray] = {}

    def checked(self, name: object, datatype: object, shape: object) -> tuple[Port, str, tuple[int, ...]]:
        """Returns the port, the datatype and the shape of the next input."""
        name = known_name(name, self._ports, "input")
        if name in self._arrays:
            raise bad_request(f"input `{name}` is given twice", "give each input once")
        port, wanted = self._ports[name]
        if datatype != wanted:
            raise bad_request(
                f"input `{name}` has the datatype {str(datatype)[:40]}, but must have {wanted}", f"send it as {wanted}"
            )
        return port, wanted, tensors.checked_shape(shape, port)

    def add(self, name: str, array: np.ndarray) -> None:
        self._arrays[name] = array

    def in_order(self) -> list[np.ndarray]:
        """Returns the arrays in the order of the model's inputs, none of which may be missing."""
        if missing := [f"`{name}`" for name in self._ports if name not in self._arrays]:
            raise bad_request(f"the request lacks {', '.join(missing)}", f"the model's inputs are {_list(self._ports)}")
        return [self._arrays[name] for name in self._ports]


def decoded(body: bytearray, header_length: str | None, signature: Signature) -> Request:
    """Returns the request of a body. The arrays share its memory. Raises Refused (400)."""
    head, rest = _split(memoryview(body), header_length)
    try:
        message = json.loads(bytes(head))
    except RecursionError as error:
        raise bad_request("the JSON object is nested too deeply", "send data as a flat list") from error
    except ValueError as error:  # also raised for text that is not UTF-8, and for integers of thousands of digits
        raise bad_request(
            f"the request is not JSON: {error}",
            f"send a JSON object; if raw bytes follow it, give its length in the header {HEADER_LENGTH}",
        ) from error
    if not isinstance(message, dict):
        raise bad_request("the request is not a JSON object", 'send {"inputs": [...]}')
    inputs = Inputs(signature)
    for one in _objects(message, "inputs"):
        port, datatype, shape = inputs.checked(one.get("name"), one.get("datatype"), one.get("shape"))
        array, rest = _array(one, rest, port, datatype, shape)
        inputs.add(port.name, array)
    arrays = inputs.in_order()
    if len(rest):
        raise bad_request(
            f"{len(rest)} bytes follow the last tensor", "let the values of `binary_data_size` add up to these bytes"
        )
    request_id = message.get("id")
    if request_id is not None and not isinstance(request_id, str):
        raise bad_request("`id` is not a string", "send a string, or leave it out")
    return Request(arrays, _wanted(message, signature), request_id)


def _split(body: memoryview, header_length: str | None) -> tuple[memoryview, memoryview]:
    if header_length is None:
        return body, body[:0]
    is_number = header_length.isascii() and header_length.isdigit() and len(header_length) < 19
    if not is_number or not 0 < int(header_length) <= len(body):
        raise bad_request(
            f"the header {HEADER_LENGTH} is {header_length[:40]!r}, but the body has {len(body)} bytes",
            "give the number of bytes of the JSON object, which the body begins with",
        )
    return body[: int(header_length)], body[int(header_length) :]


def _objects(message: dict, key: str) -> list[dict]:
    found = message.get(key)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise bad_request(f"`{key}` is not a list of objects", f'send "{key}": [{{"name": ...}}]')
    return found


def _parameters(one: dict, place: str) -> dict:
    found = one.get("parameters", {})
    if not isinstance(found, dict):
        raise bad_request(f"the parameters of {place} are not an object", 'send {"name": value}, or leave them out')
    return found


def _flag(parameters: dict, name: str, default: bool) -> bool:
    found = parameters.get(name, default)
    if not isinstance(found, bool):
        raise bad_request(f"the parameter `{name}` is not a boolean", "send true or false")
    return found


def _list(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def known_name(name: object, names: Iterable[str], kind: str) -> str:
    """Returns the name of an input or output (`kind`). Raises Refused (400) if the model has none of this name."""
    if name in (names := list(names)):
        return name
    if not isinstance(name, str):
        raise bad_request(f"an {kind} has no name", f'give it a "name": the model has {_list(names)}')
    near = _core.suggestions(name[:200], names, 1)
    raise bad_request(
        f"the model has no {kind} `{name[:200]}`",
        f"did you mean `{near[0]}`?" if near else f"its {kind}s are {_list(names)}",
    )


def _array(
    one: dict, rest: memoryview, port: Port, datatype: str, shape: tuple[int, ...]
) -> tuple[np.ndarray, memoryview]:
    """Returns the array of an input, and the bytes behind it."""
    size = _parameters(one, f"input `{port.name}`").get("binary_data_size")
    if size is None:
        if "data" not in one:
            raise bad_request(
                f"input `{port.name}` has no data",
                "give `data`, or the parameter `binary_data_size` and raw bytes; memory cannot be shared",
            )
        return tensors.of_json(one["data"], shape, port, datatype), rest
    if "data" in one:
        raise bad_request(f"input `{port.name}` has `data` and raw bytes", "leave out one of the two")
    if type(size) is not int or not 0 <= size <= len(rest):
        raise bad_request(
            f"input `{port.name}` has a binary_data_size of {str(size)[:40]}, but {len(rest)} bytes are left",
            "send as many raw bytes as `binary_data_size` says, in the order of the inputs",
        )
    return tensors.of_bytes(rest[:size], shape, port, datatype), rest[size:]


def _wanted(message: dict, signature: Signature) -> list[tuple[str, bool]]:
    is_binary = _flag(_parameters(message, "the request"), "binary_data_output", False)
    if not message.get("outputs"):
        return [(name, is_binary) for name in signature.outputs]
    wanted: dict[str, bool] = {}
    for one in _objects(message, "outputs"):
        name = known_name(one.get("name"), signature.outputs, "output")
        parameters = _parameters(one, f"output `{name}`")
        if "classification" in parameters:
            raise bad_request(
                f"output `{name}`: `classification` is not supported", "ask for the scores, and sort them"
            )
        wanted[name] = _flag(parameters, "binary_data", is_binary)
    return list(wanted.items())


def encoded(
    request: Request, results: list[np.ndarray], signature: Signature, model: str, version: str
) -> tuple[bytes, int | None]:
    """Returns the body of an answer, and the bytes of its JSON object if raw bytes follow it. Raises Refused (406)."""
    by_name = dict(zip(signature.outputs, results, strict=True))
    outputs, raw = [], []
    for name, is_binary in request.outputs:
        array = by_name[name]
        one = {"name": name, "datatype": signature.outputs[name][1], "shape": list(array.shape)}
        if is_binary:
            raw.append(tensors.to_bytes(array))
            one["parameters"] = {"binary_data_size": len(raw[-1])}
        else:
            one["data"] = tensors.to_json(array, name)
        outputs.append(one)
    message = {"model_name": model, "model_version": version, "outputs": outputs}
    if request.id is not None:
        message["id"] = request.id
    head = json.dumps(message, separators=(",", ":")).encode()
    return b"".join([head, *raw]), len(head) if raw else None
