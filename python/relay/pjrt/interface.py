"""The part of PJRT's C interface that Relay calls: argument structs, and positions in the table of functions.

The source is pjrt_c_api.h of OpenXLA (github.com/openxla/xla, xla/pjrt/c), major version 0, under which structs and the
table only grow at their ends. Each struct begins with its own size, so that a plugin knows which fields its caller has.
test/python/stablehlo/test_pjrt.py compares sizes and offsets with a header, where a plugin's package brings one.
"""

from __future__ import annotations

import ctypes

MAJOR_VERSION = 0

_POINTER, _SIZE, _INT, _TEXT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p
_INT64S = ctypes.POINTER(ctypes.c_int64)
_HEAD = (("struct_size", _SIZE), ("extension_start", _POINTER))

# The fields of each struct behind its head, in the order of the header. Opaque objects and texts are addresses.
_FIELDS = {
    "PJRT_Api_Version": (("major_version", _INT), ("minor_version", _INT)),
    "PJRT_Error_Destroy_Args": (("error", _POINTER),),
    "PJRT_Error_Message_Args": (("error", _POINTER), ("message", _TEXT), ("message_size", _SIZE)),
    "PJRT_Error_GetCode_Args": (("error", _POINTER), ("code", _INT)),
    "PJRT_Plugin_Initialize_Args": (),
    "PJRT_Event_Destroy_Args": (("event", _POINTER),),
    "PJRT_Event_Await_Args": (("event", _POINTER),),
    "PJRT_Client_Create_Args": (
        ("create_options", _POINTER),
        ("num_options", _SIZE),
        ("kv_get_callback", _POINTER),
        ("kv_get_user_arg", _POINTER),
        ("kv_put_callback", _POINTER),
        ("kv_put_user_arg", _POINTER),
        ("client", _POINTER),
        ("kv_try_get_callback", _POINTER),
        ("kv_try_get_user_arg", _POINTER),
    ),
    "PJRT_Client_Destroy_Args": (("client", _POINTER),),
    "PJRT_Client_PlatformName_Args": (("client", _POINTER), ("platform_name", _TEXT), ("platform_name_size", _SIZE)),
    "PJRT_Client_AddressableDevices_Args": (
        ("client", _POINTER),
        ("addressable_devices", ctypes.POINTER(_POINTER)),
        ("num_addressable_devices", _SIZE),
    ),
    "PJRT_Program": (("code", _TEXT), ("code_size", _SIZE), ("format", _TEXT), ("format_size", _SIZE)),
    "PJRT_Client_Compile_Args": (
        ("client", _POINTER),
        ("program", _POINTER),
        ("compile_options", _TEXT),
        ("compile_options_size", _SIZE),
        ("executable", _POINTER),
    ),
    "PJRT_Client_BufferFromHostBuffer_Args": (
        ("client", _POINTER),
        ("data", _POINTER),
        ("type", _INT),
        ("dims", _INT64S),
        ("num_dims", _SIZE),
        ("byte_strides", _INT64S),
        ("num_byte_strides", _SIZE),
        ("host_buffer_semantics", _INT),
        ("device", _POINTER),
        ("memory", _POINTER),
        ("device_layout", _POINTER),
        ("done_with_host_buffer", _POINTER),
        ("buffer", _POINTER),
    ),
    "PJRT_Executable_Destroy_Args": (("executable", _POINTER),),
    "PJRT_Executable_NumOutputs_Args": (("executable", _POINTER), ("num_outputs", _SIZE)),
    "PJRT_LoadedExecutable_Destroy_Args": (("executable", _POINTER),),
    "PJRT_LoadedExecutable_GetExecutable_Args": (("loaded_executable", _POINTER), ("executable", _POINTER)),
    "PJRT_ExecuteOptions": (
        ("send_callbacks", _POINTER),
        ("recv_callbacks", _POINTER),
        ("num_send_ops", _SIZE),
        ("num_recv_ops", _SIZE),
        ("launch_id", _INT),
        ("non_donatable_input_indices", _INT64S),
        ("num_non_donatable_input_indices", _SIZE),
        ("context", _POINTER),
        ("call_location", _TEXT),
        ("num_tasks", _SIZE),
        ("task_ids", _POINTER),
        ("incarnation_ids", _INT64S),
    ),
    "PJRT_LoadedExecutable_Execute_Args": (
        ("executable", _POINTER),
        ("options", _POINTER),
        ("argument_lists", _POINTER),
        ("num_devices", _SIZE),
        ("num_args", _SIZE),
        ("output_lists", _POINTER),
        ("device_complete_events", _POINTER),
        ("execute_device", _POINTER),
    ),
    "PJRT_Buffer_Destroy_Args": (("buffer", _POINTER),),
    "PJRT_Buffer_ElementType_Args": (("buffer", _POINTER), ("type", _INT)),
    "PJRT_Buffer_Dimensions_Args": (("buffer", _POINTER), ("dims", _INT64S), ("num_dims", _SIZE)),
    "PJRT_Buffer_MemoryLayout_Tiled": (
        ("minor_to_major", _INT64S),
        ("minor_to_major_size", _SIZE),
        ("tile_dims", _INT64S),
        ("tile_dim_sizes", _POINTER),
        ("num_tiles", _SIZE),
    ),
    "PJRT_Buffer_ToHostBuffer_Args": (
        ("src", _POINTER),
        ("host_layout", _POINTER),
        ("dst", _POINTER),
        ("dst_size", _SIZE),
        ("event", _POINTER),
    ),
}

STRUCTS = {name: type(name, (ctypes.Structure,), {"_fields_": [*_HEAD, *held]}) for name, held in _FIELDS.items()}
# With the larger member of its union.
_LAYOUT = [*_HEAD, ("tiled", STRUCTS["PJRT_Buffer_MemoryLayout_Tiled"]), ("type", _INT)]
STRUCTS["PJRT_Buffer_MemoryLayout"] = type("PJRT_Buffer_MemoryLayout", (ctypes.Structure,), {"_fields_": _LAYOUT})


def size_of(struct) -> int:
    """Returns the size of a struct up to the end of its last field, in bytes: the value of struct_size."""
    last = getattr(struct, struct._fields_[-1][0])
    return last.offset + last.size


def made(name: str, **fields):
    """Returns a struct with these fields, and zeros in all others."""
    return STRUCTS[name](struct_size=size_of(STRUCTS[name]), **fields)


# The functions by their position in PJRT_Api, behind its head and its version.
POSITIONS = {
    "PJRT_Error_Destroy": 0,
    "PJRT_Error_Message": 1,
    "PJRT_Error_GetCode": 2,
    "PJRT_Plugin_Initialize": 3,
    "PJRT_Event_Destroy": 5,
    "PJRT_Event_Await": 8,
    "PJRT_Client_Create": 10,
    "PJRT_Client_Destroy": 11,
    "PJRT_Client_PlatformName": 12,
    "PJRT_Client_AddressableDevices": 16,
    "PJRT_Client_Compile": 20,
    "PJRT_Client_BufferFromHostBuffer": 22,
    "PJRT_Executable_Destroy": 40,
    "PJRT_Executable_NumOutputs": 44,
    "PJRT_LoadedExecutable_Destroy": 50,
    "PJRT_LoadedExecutable_GetExecutable": 51,
    "PJRT_LoadedExecutable_Execute": 55,
    "PJRT_Buffer_Destroy": 58,
    "PJRT_Buffer_ElementType": 59,
    "PJRT_Buffer_Dimensions": 60,
    "PJRT_Buffer_ToHostBuffer": 70,
}


class Api(ctypes.Structure):
    """PJRT_Api, up to the last function that Relay calls."""

    _fields_ = [
        *_HEAD,
        ("version", STRUCTS["PJRT_Api_Version"]),
        ("functions", _POINTER * (max(POSITIONS.values()) + 1)),
    ]


# PJRT_Buffer_Type of the element types that programs in StableHLO have.
ELEMENTS = {
    "bool": 1,
    "int8": 2,
    "int16": 3,
    "int32": 4,
    "int64": 5,
    "uint8": 6,
    "uint16": 7,
    "uint32": 8,
    "uint64": 9,
    "float16": 10,
    "float32": 11,
    "float64": 12,
    "bfloat16": 13,
}

# PJRT_HostBufferSemantics: the array is not changed or freed before the event of its transfer.
UNTIL_TRANSFERRED = 1

# Codes of errors that have a kind of diagnostic of their own.
RESOURCE_EXHAUSTED = 8
