"""Requests and answers of inference over gRPC. Tensors are raw bytes, or lists in fields of their types."""

from __future__ import annotations

import numpy as np

from .. import tensors
from ..messages import Inputs, Request, Signature, known_name
from ..problems import bad_request
from .protocol import MESSAGES

# The field of a tensor's elements by datatype, and NumPy's type for the field. FP16 and BF16 have none.
_FIELDS = {
    "BOOL": ("bool_contents", np.bool_),
    **dict.fromkeys(("INT8", "INT16", "INT32"), ("int_contents", np.int32)),
    "INT64": ("int64_contents", np.int64),
    **dict.fromkeys(("UINT8", "UINT16", "UINT32"), ("uint_contents", np.uint32)),
    "UINT64": ("uint64_contents", np.uint64),
    "FP32": ("fp32_contents", np.float32),
    "FP64": ("fp64_contents", np.float64),
    tensors.BYTES: ("bytes_contents", np.object_),
}


def decoded(message, signature: Signature) -> Request:
    """Returns the request of a ModelInferRequest. Arrays of raw bytes share its memory. Raises Refused (400)."""
    inputs, raw = Inputs(signature), list(message.raw_input_contents)
    if raw and len(raw) != len(message.inputs):
        raise bad_request(
            f"the request has {len(message.inputs)} inputs and {len(raw)} raw_input_contents",
            "send one for each input, in the same order, or none; memory cannot be shared",
        )
    for place, one in enumerate(message.inputs):
        port, datatype, shape = inputs.checked(one.name, one.datatype, list(one.shape))
        if not raw:
            array = _of_contents(one.contents, shape, port, datatype)
        elif one.contents.ListFields():
            raise bad_request(f"input `{port.name}` has contents and raw bytes", "leave out one of the two")
        else:
            array = tensors.of_bytes(memoryview(raw[place]), shape, port, datatype)
        inputs.add(port.name, array)
    return Request(inputs.in_order(), _wanted(message, signature, bool(raw)), message.id or None)


def _wanted(message, signature: Signature, is_raw: bool) -> list[tuple[str, bool]]:
    """Returns the names of the wanted outputs, and true for raw bytes, which protobuf allows for all or for none."""
    names: dict[str, None] = {}
    for one in message.outputs:
        name = known_name(one.name, signature.outputs, "output")
        if "classification" in one.parameters:
            raise bad_request(
                f"output `{name}`: `classification` is not supported", "ask for the scores, and sort them"
            )
        names[name] = None
    wanted = list(names or signature.outputs)
    is_raw = is_raw or any(signature.outputs[name][1] not in _FIELDS for name in wanted)
    return [(name, is_raw) for name in wanted]


def _of_contents(contents, shape: tuple[int, ...], port, datatype: str) -> np.ndarray:
    """Returns the array of a tensor's contents."""
    if datatype not in _FIELDS:
        raise bad_request(f"input `{port.name}` is {datatype}, which has no contents", "send raw_input_contents")
    name, wide = _FIELDS[datatype]
    if others := [field.name for field, _ in contents.ListFields() if field.name != name]:
        raise bad_request(f"input `{port.name}` is {datatype}, but has {others[0]}", f"send {name}")
    flat = getattr(contents, name)
    count = int(np.prod(shape, dtype=object))
    if len(flat) != count:
        raise bad_request(
            f"input `{port.name}` has {len(flat)} elements in {name}, but the shape {tensors.shape_text(shape)}",
            f"send {count} elements, or raw_input_contents",
        )
    if datatype == tensors.BYTES:
        return tensors.of_texts(flat, port).reshape(shape)
    array = np.fromiter(flat, wide, count)
    made = array.astype(tensors.numpy_type(port.dtype))
    if (made != array).any() and array.dtype.kind in "iu":
        raise bad_request(f"input `{port.name}` has an integer that is not a {datatype}", "send smaller values")
    return made.reshape(shape)


def encoded(request: Request, results: list[np.ndarray], signature: Signature, model: str, version: str) -> bytes:
    """Returns the bytes of a ModelInferResponse."""
    message = MESSAGES["ModelInferResponse"](model_name=model, model_version=version, id=request.id or "")
    by_name = dict(zip(signature.outputs, results, strict=True))
    for name, is_raw in request.outputs:
        array, datatype = by_name[name], signature.outputs[name][1]
        output = message.outputs.add(name=name, datatype=datatype, shape=array.shape)
        if is_raw:
            message.raw_output_contents.append(tensors.to_bytes(array))
            continue
        flat = array.reshape(-1).tolist()
        elements = [text.encode() for text in flat] if datatype == tensors.BYTES else flat
        getattr(output.contents, _FIELDS[datatype][0]).extend(elements)
    return message.SerializeToString()
