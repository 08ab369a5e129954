"""Rules of operators for passes: register_legalize, register_alter_op_layout, register_mixed_precision_conversion, and
TempOpAttr, which registers a rule temporarily."""

from __future__ import annotations

import functools

from relay import Call, CompileError, Op, TupleType
from relay.op.make import named_op
from relay.transform import mixed_precision as _mixed

from ....outside import explain

# By the name of the attribute, then by operator.
RULES: dict[str, dict[str, object]] = {
    "FTVMLegalize": {},
    "FTVMAlterOpLayout": {},
    "FTVMMixedPrecisionConversionType": {},
}


# Attributes that passes of TVM read and no pass reads here, because operators define these properties in their files.
_OF_FILES = (
    "FInferCorrectLayout FPrimalGradient FShapeFunc FTVMCompute FTVMConvertOpLayout FTVMFakeQuantizationToInteger "
    "FTVMOptionalFakeQuantizationToInteger FTVMQnnCanonicalize FTVMSchedule FTVMStrategy TNonComputational "
    "TOpIsStateful TOpPattern TReshapeOp TShapeDataDependent"
).split()

# By key and operator, the level of the registered value.
_LEVELS: dict[tuple[str, str], int] = {}


def register(key: str, op_name: str, value=None, level: int = 10):
    """Registers a value: a function for a pass that reads this key, or any value for Op.get_attr(). Of two values, the
    one with the higher level is kept; two of the same level are an error."""
    if value is None:
        return lambda f: register(key, op_name, f, level)
    Op.get(op_name)  # raises if there is no such operator
    if key in _OF_FILES:
        raise NotImplementedError(explain(f"tvm.ir.register_op_attr.{key}"))
    known = RULES.setdefault(key, {})
    before = _LEVELS.get((key, op_name))
    if op_name in known and before is not None and before == level:
        raise CompileError(f"error: {key} of {op_name} is registered already, at level {level}")
    if op_name not in known or before is None or level > before:
        known[op_name], _LEVELS[key, op_name] = value, level
    return value


def reset(key: str, op_name: str) -> None:
    """Removes the value."""
    RULES.get(key, {}).pop(op_name, None)
    _LEVELS.pop((key, op_name), None)


def _register(key: str, op_name: str, function, level: int = 10):
    """Registers a rule for passes. The last one counts."""
    if function is None:
        return lambda f: _register(key, op_name, f, level)
    reset(key, op_name)
    return register(key, op_name, function, level)


def register_legalize(op_name: str, legal_op=None, level: int = 10):
    """Registers legal_op(attrs, inputs, types), which returns an expression that replaces the call, or None. Legalize()
    calls it."""
    return _register("FTVMLegalize", op_name, legal_op)


def register_alter_op_layout(op_name: str, alter_layout=None, level: int = 10):
    """Registers alter_layout(attrs, inputs, tinfos, out_type), which returns the call in other layouts, or None.
    AlterOpLayout() calls it, takes layouts and operands from the result, and converts the operands, whose types are the
    previous ones, to these layouts."""
    return _register("FTVMAlterOpLayout", op_name, alter_layout)


def register_mixed_precision_conversion(op_name: str, func=None, level: int = 10):
    """Registers func(call, dtype), which returns [category, dtype of sums, dtype of the result]. ToMixedPrecision()
    calls it."""
    return _register("FTVMMixedPrecisionConversionType", op_name, func)


def _types(call: Call) -> list:
    out = []
    for arg in call.args:
        out += arg.checked_type.fields if isinstance(arg.checked_type, TupleType) else [arg.checked_type]
    return out


def legalize_rules(key: str = "FTVMLegalize") -> dict:
    """Returns the rules of a key as functions of calls."""

    def rule(f):
        return lambda call: f(call.attrs, call.args, [*_types(call), call.checked_type])

    return {name: rule(f) for name, f in RULES.get(key, {}).items()}


_LAYOUTS = ("data_layout", "layout", "kernel_layout", "out_layout")
# Blocked forms of nn.conv2d, which are nn.conv2d in these layouts.
_PACKED = ("nn.contrib_conv2d_NCHWc", "nn.contrib_depthwise_conv2d_NCHWc")


def _layouts(attrs) -> list[str]:
    """Returns the layouts of the data, the weights and the result, in the form of the core's hook, or none if the
    operator has no layout."""
    data = getattr(attrs, "data_layout", None) or getattr(attrs, "layout", None)
    return [data, getattr(attrs, "kernel_layout", ""), getattr(attrs, "out_layout", "")] if data else []


class AlterRules:
    """The rules of FTVMAlterOpLayout, called once for each call. A rule that returns the same operator in other
    layouts, with the same operands or others of their types, determines the layouts before and after. Other expressions
    must have the type of the call."""

    def __init__(self):
        self._wanted: dict[Call, list[str]] = {}

    def expressions(self) -> dict:
        """Returns the rule for Legalize()."""
        return {name: functools.partial(self._expression, f) for name, f in RULES["FTVMAlterOpLayout"].items()}

    def layouts(self) -> dict:
        """Returns the rule for AlterOpLayout(), for the results of Legalize()."""
        return {name: self._layouts_of for name in RULES["FTVMAlterOpLayout"]}

    def _expression(self, f, call: Call):
        made = f(call.attrs, call.args, _types(call), call.checked_type)
        if made is None:
            return None
        packed = isinstance(made, Call) and isinstance(made.op, Op) and made.op.name in _PACKED
        same = isinstance(made, Call) and (made.op == call.op or (packed and call.op.name == "nn.conv2d"))
        if not same or not _layouts(made.attrs):
            return made
        given = {name: made.attrs[name] for name in made.attrs.keys()}
        given.update({name: call.attrs[name] for name in _LAYOUTS if name in given})
        kept = named_op(call.op.name)(*made.args, **given)
        self._wanted[kept] = _layouts(made.attrs)
        return kept

    def _layouts_of(self, call: Call):
        return self._wanted.get(call)


def mixed_precision_rules() -> dict[str, _mixed.Rule]:
    return dict(RULES["FTVMMixedPrecisionConversionType"])


class TempOpAttr:
    """Registers a rule temporarily: with TempOpAttr("nn.conv2d", "FTVMLegalize", rule): ..."""

    def __init__(self, op_name: str, attr_key: str, attr_value):
        self._op_name, self._key, self._value = op_name, attr_key, attr_value

    def __enter__(self):
        self._before = RULES.get(self._key, {}).get(self._op_name)
        _register(self._key, self._op_name, self._value)
        return self

    def __exit__(self, *exception) -> None:
        reset(self._key, self._op_name)
        if self._before is not None:
            RULES[self._key][self._op_name] = self._before
