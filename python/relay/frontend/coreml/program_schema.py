"""The messages of an ML program of Core ML (MIL), as tables of fields (shared/wire.py)."""

from __future__ import annotations

from ..shared.wire import Table

_SIZE, _UNKNOWN = Table("ConstantDimension", {1: ("size", "int")}), Table("UnknownDimension", {1: ("variadic", "bool")})
DIMENSION = Table("Dimension", {1: ("constant", _SIZE), 2: ("unknown", _UNKNOWN)})
TENSOR_TYPE = Table("TensorType", {1: ("dataType", "int"), 2: ("rank", "int"), 3: ("dimensions", [DIMENSION])})
VALUE_TYPE = Table("ValueType", {1: ("tensorType", TENSOR_TYPE)})
_LIST_TYPE = Table("ListType", {1: ("type", VALUE_TYPE), 2: ("length", DIMENSION)})
VALUE_TYPE.add(2, "listType", _LIST_TYPE)
VALUE_TYPE.add(3, "tupleType", Table("TupleType", {1: ("types", [VALUE_TYPE])}))
VALUE_TYPE.add(4, "dictionaryType", Table("DictionaryType", {1: ("keyType", VALUE_TYPE), 2: ("valueType", VALUE_TYPE)}))
VALUE_TYPE.add(5, "stateType", Table("StateType", {1: ("wrappedType", VALUE_TYPE)}))
_TENSOR = Table("TensorValue", {
    1: ("floats", Table("RepeatedFloats", {1: ("values", "float*")})),
    2: ("ints", Table("RepeatedInts", {1: ("values", "int*")})),
    3: ("bools", Table("RepeatedBools", {1: ("values", "bool*")})),
    4: ("strings", Table("RepeatedStrings", {1: ("values", "text*")})),
    5: ("longInts", Table("RepeatedLongInts", {1: ("values", "int*")})),
    6: ("doubles", Table("RepeatedDoubles", {1: ("values", "double*")})),
    7: ("bytes", Table("RepeatedBytes", {1: ("values", "bytes")})),
})  # fmt: skip
_IMMEDIATE = Table("ImmediateValue", {1: ("tensor", _TENSOR)})
_FILE = Table("BlobFileValue", {1: ("fileName", "text"), 2: ("offset", "int")})
VALUE = Table("Value", {2: ("type", VALUE_TYPE), 3: ("immediateValue", _IMMEDIATE), 5: ("blobFileValue", _FILE)})
_IMMEDIATE.add(2, "tuple", Table("TupleValue", {1: ("values", [VALUE])}))
_IMMEDIATE.add(3, "list", Table("ListValue", {1: ("values", [VALUE])}))
_IMMEDIATE.add(4, "dictionary", Table("DictionaryValue", {}))
NAMED_TYPE = Table("NamedValueType", {1: ("name", "text"), 2: ("type", VALUE_TYPE)})
_BINDING = Table("Binding", {1: ("name", "text"), 2: ("value", VALUE)})
_ARGUMENT = Table("Argument", {1: ("arguments", [_BINDING])})
OPERATION = Table("Operation", {
    1: ("type", "text"), 2: ("inputs", {_ARGUMENT}), 3: ("outputs", [NAMED_TYPE]), 5: ("attributes", {VALUE}),
})  # fmt: skip
BLOCK = Table("Block", {1: ("inputs", [NAMED_TYPE]), 2: ("outputs", "text*"), 3: ("operations", [OPERATION])})
OPERATION.add(4, "blocks", [BLOCK])
FUNCTION = Table("Function", {
    1: ("inputs", [NAMED_TYPE]), 2: ("opset", "text"), 3: ("blocks", {BLOCK})})  # fmt: skip
PROGRAM = Table("Program", {1: ("version", "int"), 2: ("functions", {FUNCTION})})
