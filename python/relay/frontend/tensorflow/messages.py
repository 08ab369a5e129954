"""The messages of TensorFlow's files, field by field (graph.proto, saved_model.proto, tensor_bundle.proto and others).

Fields that an import has no use for are left out.
"""

from __future__ import annotations

from ..shared.wire import Table

SHAPE = Table("TensorShapeProto", {2: ("dim", [Table("Dim", {1: ("size", "int")})]), 3: ("unknown_rank", "bool")})
TENSOR = Table(
    "TensorProto",
    {
        1: ("dtype", "int"), 2: ("tensor_shape", SHAPE), 4: ("tensor_content", "bytes"), 5: ("float_val", "float*"),
        6: ("double_val", "double*"), 7: ("int_val", "int*"), 8: ("string_val", "bytes*"),
        9: ("scomplex_val", "float*"), 10: ("int64_val", "int*"), 11: ("bool_val", "bool*"),
        12: ("dcomplex_val", "double*"), 13: ("half_val", "int*"), 16: ("uint32_val", "int*"),
        17: ("uint64_val", "int*"),
    },
)  # fmt: skip
_LIST = Table(
    "ListValue",
    {2: ("s", "bytes*"), 3: ("i", "int*"), 4: ("f", "float*"), 5: ("b", "bool*"), 6: ("type", "int*"),
     7: ("shape", [SHAPE]), 8: ("tensor", [TENSOR])},
)  # fmt: skip
ATTR = Table(
    "AttrValue",
    {1: ("list", _LIST), 2: ("s", "bytes"), 3: ("i", "int"), 4: ("f", "float"), 5: ("b", "bool"), 6: ("type", "int"),
     7: ("shape", SHAPE), 8: ("tensor", TENSOR), 9: ("placeholder", "text")},
)  # fmt: skip
_FUNCTION_NAME = Table("NameAttrList", {1: ("name", "text"), 2: ("attr", {ATTR})})
ATTR.add(10, "func", _FUNCTION_NAME)
_LIST.add(9, "func", [_FUNCTION_NAME])
NODE = Table(
    "NodeDef",
    {1: ("name", "text"), 2: ("op", "text"), 3: ("input", "text*"), 4: ("device", "text"), 5: ("attr", {ATTR})},
)
_ARGUMENT = Table("ArgDef", {1: ("name", "text"), 3: ("type", "int"), 4: ("type_attr", "text")})
FUNCTION = Table(
    "FunctionDef",
    {
        1: ("signature", Table("OpDef", {1: ("name", "text"), 2: ("input_arg", [_ARGUMENT]),
                                         3: ("output_arg", [_ARGUMENT])})),
        3: ("node_def", [NODE]), 4: ("ret", {"text"}), 6: ("control_ret", {"text"}),
    },
)  # fmt: skip
GRAPH = Table(
    "GraphDef",
    {
        1: ("node", [NODE]),
        2: ("library", Table("FunctionDefLibrary", {1: ("function", [FUNCTION])})),
        4: ("versions", Table("VersionDef", {1: ("producer", "int"), 2: ("min_consumer", "int")})),
    },
)
_TENSOR_INFO = Table("TensorInfo", {1: ("name", "text"), 2: ("dtype", "int"), 3: ("tensor_shape", SHAPE)})
SIGNATURE = Table(
    "SignatureDef", {1: ("inputs", {_TENSOR_INFO}), 2: ("outputs", {_TENSOR_INFO}), 3: ("method_name", "text")}
)
META_GRAPH = Table(
    "MetaGraphDef",
    {
        1: ("meta_info_def", Table("MetaInfoDef", {4: ("tags", "text*"), 5: ("tensorflow_version", "text")})),
        2: ("graph_def", GRAPH),
        3: ("saver_def", Table("SaverDef", {1: ("filename_tensor_name", "text"), 3: ("restore_op_name", "text")})),
        5: ("signature_def", {SIGNATURE}),
        6: ("asset_file_def", [Table("AssetFileDef", {1: ("tensor_info", _TENSOR_INFO), 2: ("filename", "text")})]),
    },
)
SAVED_MODEL = Table("SavedModel", {1: ("saved_model_schema_version", "int"), 2: ("meta_graphs", [META_GRAPH])})
BUNDLE_HEADER = Table("BundleHeaderProto", {1: ("num_shards", "int"), 2: ("endianness", "int")})
BUNDLE_ENTRY = Table(
    "BundleEntryProto",
    {
        1: ("dtype", "int"), 2: ("shape", SHAPE), 3: ("shard_id", "int"), 4: ("offset", "int"), 5: ("size", "int"),
        6: ("crc32c", "fixed32"), 7: ("slices", [Table("TensorSliceProto", {})]),
    },
)  # fmt: skip
