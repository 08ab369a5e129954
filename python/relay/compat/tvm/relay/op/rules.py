"""Rules of operators that passes ask: register_legalize, register_alter_op_layout, register_mixed_precision_conversion,
and TempOpAttr, which puts one there for a while."""

from __future__ import annotations

import functools

from relay import Call, Op, TupleType
from relay import mixed_precision as _mixed

from ....outside import explain as _explain

# By the name of the attribute, then by operator.
RULES: dict[str, dict[str, object]] = {
    "FTVMLegalize": {},
    "FTVMAlterOpLayout": {},
    "FTVMMixedPrecisionConversionType": {},
}


def _register(key: str, op_name: str, function):
    if function is None:
        return lambda f: _register(key, op_name, f)
    Op.get(op_name)  # there is such an operator
    RULES[key][op_name] = function
    return function


def register_legalize(op_name: str, legal_op=None, level: int = 10):
    """legal_op(attrs, inputs, types): an expression in the place of the call, or None. Legalize() asks it."""
    return _register("FTVMLegalize", op_name, legal_op)


def register_alter_op_layout(op_name: str, alter_layout=None, level: int = 10):
    """alter_layout(attrs, inputs, tinfos, out_type): the call in other layouts, or None. AlterOpLayout() asks it, takes
    the layouts of what it gives, and changes the call itself."""
    return _register("FTVMAlterOpLayout", op_name, alter_layout)


def register_mixed_precision_conversion(op_name: str, func=None, level: int = 10):
    """func(call, dtype): [category, dtype of sums, dtype of the result]. ToMixedPrecision() asks it."""
    return _register("FTVMMixedPrecisionConversionType", op_name, func)


def _types(call: Call) -> list:
    out = []
    for arg in call.args:
        out += arg.checked_type.fields if isinstance(arg.checked_type, TupleType) else [arg.checked_type]
    return out


def legalize_rules() -> dict:
    def rule(f):
        return lambda call: f(call.attrs, call.args, [*_types(call), call.checked_type])

    return {name: rule(f) for name, f in RULES["FTVMLegalize"].items()}


def _is_call_in_other_layouts(call: Call, made) -> bool:
    """The same operator on the same operands."""
    same = isinstance(made, Call) and made.op == call.op and hasattr(made.attrs, "data_layout")
    return same and len(made.args) == len(call.args) and all(a is b for a, b in zip(made.args, call.args, strict=True))


def _altered(f, call: Call):
    return f(call.attrs, call.args, _types(call), call.checked_type)


def alter_layout_rules() -> dict:
    """Those that give the call in other layouts."""

    def layouts(f, call):
        made = _altered(f, call)
        if made is None or not _is_call_in_other_layouts(call, made):
            return None
        return [made.attrs.data_layout, made.attrs.kernel_layout]

    return {name: functools.partial(layouts, f) for name, f in RULES["FTVMAlterOpLayout"].items()}


def alter_rules() -> dict:
    """Those that give another expression, which must be of the call's type: weights in blocks are for the plan of a
    compilation."""

    def expression(f, call):
        made = _altered(f, call)
        return None if made is None or _is_call_in_other_layouts(call, made) else made

    return {name: functools.partial(expression, f) for name, f in RULES["FTVMAlterOpLayout"].items()}


def mixed_precision_rules() -> dict[str, _mixed.Rule]:
    return dict(RULES["FTVMMixedPrecisionConversionType"])


class TempOpAttr:
    """with TempOpAttr("nn.conv2d", "FTVMLegalize", rule): ..."""

    def __init__(self, op_name: str, attr_key: str, attr_value):
        if attr_key not in RULES:
            raise NotImplementedError(_explain("tvm.ir.register_op_attr"))
        self._op_name, self._key, self._value = op_name, attr_key, attr_value

    def __enter__(self):
        self._before = RULES[self._key].get(self._op_name)
        _register(self._key, self._op_name, self._value)
        return self

    def __exit__(self, *exception) -> None:
        if self._before is None:
            del RULES[self._key][self._op_name]
        else:
            RULES[self._key][self._op_name] = self._before
