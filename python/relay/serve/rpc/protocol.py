"""The messages of the Open Inference Protocol over gRPC, and Triton's repository extension.

The fields of a message are numbered from 1 in the order in which they stand here, as in the protocol's specification.
The classes are made when the module is imported, so that they work with every version of protobuf.
"""

from __future__ import annotations

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

SERVICE = "inference.GRPCInferenceService"

# Fields as name:type. `*` stands behind the type of a repeated field, `|` behind that of a member of the message's only
# union. map:T is a map from strings to T.
_MESSAGES = {
    "ServerLiveRequest": "",
    "ServerLiveResponse": "live:bool",
    "ServerReadyRequest": "",
    "ServerReadyResponse": "ready:bool",
    "ModelReadyRequest": "name:string version:string",
    "ModelReadyResponse": "ready:bool",
    "ServerMetadataRequest": "",
    "ServerMetadataResponse": "name:string version:string extensions:string*",
    "ModelMetadataRequest": "name:string version:string",
    "TensorMetadata": "name:string datatype:string shape:int64*",
    "ModelMetadataResponse": "name:string versions:string* platform:string inputs:TensorMetadata* "
    "outputs:TensorMetadata*",
    "InferParameter": "bool_param:bool| int64_param:int64| string_param:string| double_param:double| "
    "uint64_param:uint64|",
    "InferTensorContents": "bool_contents:bool* int_contents:int32* int64_contents:int64* uint_contents:uint32* "
    "uint64_contents:uint64* fp32_contents:float* fp64_contents:double* bytes_contents:bytes*",
    "InferInputTensor": "name:string datatype:string shape:int64* parameters:map:InferParameter "
    "contents:InferTensorContents",
    "InferRequestedOutputTensor": "name:string parameters:map:InferParameter",
    "ModelInferRequest": "model_name:string model_version:string id:string parameters:map:InferParameter "
    "inputs:InferInputTensor* outputs:InferRequestedOutputTensor* raw_input_contents:bytes*",
    "InferOutputTensor": "name:string datatype:string shape:int64* parameters:map:InferParameter "
    "contents:InferTensorContents",
    "ModelInferResponse": "model_name:string model_version:string id:string parameters:map:InferParameter "
    "outputs:InferOutputTensor* raw_output_contents:bytes*",
    "ModelStreamInferResponse": "error_message:string infer_response:ModelInferResponse",
    "RepositoryIndexRequest": "repository_name:string ready:bool",
    "ModelIndex": "name:string version:string state:string reason:string",
    "RepositoryIndexResponse": "models:ModelIndex*",
    "RepositoryModelLoadRequest": "repository_name:string model_name:string",
    "RepositoryModelLoadResponse": "",
    "RepositoryModelUnloadRequest": "repository_name:string model_name:string",
    "RepositoryModelUnloadResponse": "",
}

_Field = descriptor_pb2.FieldDescriptorProto


def _typed(field: _Field, kind: str) -> None:
    """Sets the type of a field: a message of the protocol, or a type of protobuf."""
    if kind in _MESSAGES:
        field.type, field.type_name = _Field.TYPE_MESSAGE, f".inference.{kind}"
    else:
        field.type = _Field.Type.Value(f"TYPE_{kind.upper()}")


def _add_map(message: descriptor_pb2.DescriptorProto, field: _Field, kind: str) -> None:
    """Makes a field a map: in protobuf, repeated entries of a nested message."""
    entry = message.nested_type.add(name=f"{field.name.title().replace('_', '')}Entry")
    entry.options.map_entry = True
    for number, (name, type) in enumerate((("key", "string"), ("value", kind)), 1):
        _typed(entry.field.add(name=name, number=number, label=_Field.LABEL_OPTIONAL), type)
    field.type, field.label = _Field.TYPE_MESSAGE, _Field.LABEL_REPEATED
    field.type_name = f".inference.{message.name}.{entry.name}"


def _file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="relay/inference.proto", package="inference", syntax="proto3")
    for message_name, fields in _MESSAGES.items():
        message = file.message_type.add(name=message_name)
        for number, text in enumerate(fields.split(), 1):
            name, kind = text.split(":", 1)
            field = message.field.add(name=name, number=number, label=_Field.LABEL_OPTIONAL)
            if kind.startswith("map:"):
                _add_map(message, field, kind[4:])
                continue
            if kind.endswith("*"):
                field.label = _Field.LABEL_REPEATED
            if kind.endswith("|"):
                if not message.oneof_decl:
                    message.oneof_decl.add(name="parameter_choice")
                field.oneof_index = 0
            _typed(field, kind.rstrip("*|"))
    return file


# Not the default pool, where a client in the same process may have the protocol's own file.
_pool = descriptor_pool.DescriptorPool()
_pool.Add(_file())

# The classes of messages, by name.
MESSAGES = {
    name: message_factory.GetMessageClass(_pool.FindMessageTypeByName(f"inference.{name}")) for name in _MESSAGES
}
