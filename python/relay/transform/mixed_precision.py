"""Mixed precision: float32 programs in float16 or bfloat16, by rules for operators.

mixed = relay.transform.ToMixedPrecision("bfloat16")(mod)

@relay.mixed_precision.register("mine.scale")            # or: ToMixedPrecision(rules={"mine.scale": rule})
def scale(call, dtype):
    return relay.mixed_precision.FOLLOW
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir.pass_infra import CorePass, Pass, PassInfo

__all__ = ["ALWAYS", "FOLLOW", "NEVER", "ToMixedPrecision", "register"]

ALWAYS, FOLLOW, NEVER = range(3)

# rule(call, dtype) returns a category, or [category, dtype of sums, dtype of the result], or None for the compiler's
# own table.
Rule = Callable[[object, str], "int | list | None"]
_RULES: dict[str, Rule] = {}


def register(op_name: str, rule: Rule | None = None):
    """Registers a rule for the precision of calls of an operator: ALWAYS the short type, FOLLOW the arguments, or
    NEVER. It takes precedence over the compiler's table. Without `rule`, returns a decorator; otherwise returns the
    previous rule."""
    if rule is None:
        return lambda function: (register(op_name, function), function)[1]
    before, _RULES[op_name] = _RULES.get(op_name), rule
    return before


def _answer(rules: dict[str, Rule], call, dtype: str):
    rule = rules.get(call.op.name)
    answer = None if rule is None else rule(call, dtype)
    if answer is None:
        return None
    answer = list(answer) if isinstance(answer, list | tuple) else [answer, dtype, dtype]
    if len(answer) != 3 or answer[0] not in (ALWAYS, FOLLOW, NEVER):
        raise ValueError(
            f"the rule of {call.op.name} returned {answer!r}: expected a category, or [category, dtype of sums, "
            "dtype of the result]"
        )
    return int(answer[0]), str(answer[1]), str(answer[2])


def ToMixedPrecision(
    mixed_precision_type: str = "float16",
    missing_op_mode: int = 1,
    keep_output: bool | None = None,
    rules: dict[str, Rule] | None = None,
) -> Pass:
    """Computes in float16 or bfloat16 where this is safe. Operators without a rule follow their arguments;
    missing_op_mode 0 makes them an error, 1 a warning, and 2 is silent.

    keep_output: keep the type of @main's result (by default, the value of
    PassContext(config={"relay.ToMixedPrecision.keep_orig_output_dtype": ...})). rules: rules by operator, in addition
    to those of register().
    """
    options = {
        "to_mixed_precision.dtype": mixed_precision_type,
        "to_mixed_precision.missing": missing_op_mode,
    }
    if keep_output is not None:
        options["to_mixed_precision.keep_output"] = int(keep_output)
    all_rules = {**_RULES, **(rules or {})}
    hook = (lambda call: _answer(all_rules, call, mixed_precision_type)) if all_rules else None
    return CorePass(PassInfo(0, "ToMixedPrecision"), "to_mixed_precision", options, {"precision": hook})
