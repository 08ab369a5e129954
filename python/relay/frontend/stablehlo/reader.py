"""Reads the text of a StableHLO module, in the pretty or the generic form, or both mixed."""

from __future__ import annotations

from .attributes import read_attribute, read_dict, read_product, read_signature, read_type, read_types
from .lexer import Lexer
from .syntax import Func, Operation, Region

Value = tuple[str, int]


def read_module(text: str, name: str) -> dict[str, Func]:
    """Returns the functions of a text by name. name: that of the file, for messages."""
    lexer, functions = Lexer(text, name), {}
    while lexer.kind != "end":
        if lexer.kind == "alias":  # #loc = loc(..)
            lexer.next()
            lexer.expect("=")
            read_attribute(lexer)
        elif lexer.at("{-#"):
            break
        else:
            _definition(lexer, functions)
    if not functions:
        raise lexer.bad("the text defines no function", 0)
    return functions


def _definition(lexer: Lexer, functions: dict) -> None:
    """Reads a module or a function."""
    start = lexer.offset
    with lexer.inside():
        if lexer.take("module") or lexer.take("builtin.module"):
            if lexer.kind == "symbol":
                lexer.next()
            if lexer.take("attributes"):
                lexer.balanced()
            lexer.expect("{")
            while not lexer.take("}"):
                if lexer.kind == "end":
                    raise lexer.expected("`}` of the module")
                _definition(lexer, functions)
            _location(lexer)
            return
        found = _function(lexer) if lexer.at("func.func", "func") else None
        if found is None and lexer.kind == "string" and lexer.text in ('"builtin.module"', '"func.func"'):
            operation = read_operation(lexer)
            _generic_definition(lexer, operation, functions)
            return
        if found is None:
            raise lexer.expected("a module or a function")
    _add(lexer, functions, found, start)


def _generic_definition(lexer: Lexer, operation: Operation, functions: dict) -> None:
    if operation.name == "builtin.module":
        for one in operation.regions[0].operations if operation.regions else ():
            _generic_definition(lexer, one, functions)
        return
    signature, name = operation.attrs.get("function_type"), operation.attrs.get("sym_name")
    if operation.name != "func.func" or not isinstance(signature, tuple) or not isinstance(name, str):
        raise lexer.bad(f"expected a function, got `{operation.name}`", operation.offset)
    if not operation.regions:
        raise lexer.bad(f"the function @{name} has no body", operation.offset)
    is_public = operation.attrs.get("sym_visibility") != "private"
    _add(
        lexer, functions, Func(name, operation.regions[0], signature[1], is_public, operation.offset), operation.offset
    )


def _add(lexer: Lexer, functions: dict, found: Func, offset: int) -> None:
    if found.name in functions:
        raise lexer.bad(f"the function @{found.name} is defined twice", offset)
    functions[found.name] = found


def _function(lexer: Lexer) -> Func:
    offset = lexer.offset
    lexer.next()
    visibility = lexer.next() if lexer.at("public", "private", "nested") else "public"
    name = lexer.expect_kind("symbol", "the function's name")[1:].strip('"')
    args = read_arguments(lexer)
    results = read_types(lexer) if lexer.take("->") else []
    if lexer.take("attributes"):
        lexer.balanced()
    if not lexer.at("{"):
        raise lexer.expected(f"the body of @{name}")
    body = _region(lexer)
    if body.args:
        raise lexer.bad(f"the block of @{name} names its arguments again", offset)
    body.args = args
    _location(lexer)
    return Func(name, body, results, visibility == "public", offset)


def read_arguments(lexer: Lexer) -> list:
    """Reads `(%x: type {attributes}, ...)`."""
    lexer.expect("(")
    found = []
    while not lexer.take(")"):
        name = lexer.expect_kind("value", "an argument")[1:]
        lexer.expect(":")
        found.append((name, read_type(lexer)))
        if lexer.at("{"):
            lexer.balanced()
        _location(lexer)
        if not lexer.at(")"):
            lexer.expect(",")
    return found


def _region(lexer: Lexer) -> Region:
    """Reads the operations between braces."""
    region = Region()
    with lexer.inside():
        lexer.expect("{")
        if lexer.kind == "block":
            lexer.next()
            region.args = read_arguments(lexer) if lexer.at("(") else []
            lexer.expect(":")
        while not lexer.take("}"):
            if lexer.kind == "block":
                raise lexer.error(
                    "unsupported_operator", "a region has more than one block", "use stablehlo.if, case or while"
                )
            if lexer.kind == "end":
                raise lexer.expected("`}`")
            region.operations.append(read_operation(lexer))
    return region


def _location(lexer: Lexer) -> None:
    if lexer.at("loc"):
        lexer.next()
        lexer.balanced()


def _value(lexer: Lexer) -> Value:
    name, _, position = lexer.expect_kind("value", "a value (%name)")[1:].partition("#")
    return name, int(position or 0)


def _values(lexer: Lexer, end: str) -> list[Value]:
    """Reads values up to a bracket, which is taken too."""
    found = []
    while not lexer.take(end):
        found.append(_value(lexer))
        if not lexer.at(end):
            lexer.expect(",")
    return found


def _results(lexer: Lexer) -> list[Value]:
    """Reads `%1:3 = ` or `%a, %b = `."""
    found = []
    while lexer.kind == "value":
        offset, (name, _) = lexer.offset, _value(lexer)
        count = lexer.number() if lexer.take(":") else 1
        if not 0 < count < 100_000:
            raise lexer.bad(f"an operation cannot have {count} results", offset)
        found += [(name, position) for position in range(count)]
        if not lexer.take(","):
            break
    if found:
        lexer.expect("=")
    return found


def read_operation(lexer: Lexer) -> Operation:
    results = _results(lexer)
    offset = lexer.offset
    is_generic = lexer.kind == "string"
    if lexer.kind not in ("string", "word"):
        raise lexer.expected("an operation")
    operation = Operation(lexer.next().strip('"'), offset, results)
    if is_generic:
        _generic(lexer, operation)
    else:
        _FORMS.get(operation.name, _pretty)(lexer, operation)
    _location(lexer)
    if results and len(operation.result_types) != len(results):
        if len(results) != 1:
            raise lexer.bad(
                f"{operation.name} has {len(results)} results and {len(operation.result_types)} types", offset
            )
        operation.result_types = operation.result_types[-1:]
    return operation


def _generic(lexer: Lexer, operation: Operation) -> None:
    """Reads `"name"(%a) <{properties}> ({region}) {attributes} : (types) -> types`."""
    lexer.expect("(")
    operation.operands = _values(lexer, ")")
    if lexer.take("<"):
        lexer.expect("{")
        operation.attrs |= read_dict(lexer)
        lexer.expect(">")
    if lexer.take("("):
        while not lexer.take(")"):
            operation.regions.append(_region(lexer))
            if not lexer.at(")"):
                lexer.expect(",")
    if lexer.take("{"):
        operation.attrs |= read_dict(lexer)
    lexer.expect(":")
    operation.operand_types, operation.result_types = read_signature(lexer)


def _pretty(lexer: Lexer, operation: Operation) -> None:
    """Reads operands, keywords and `key = value` in any order, then the types."""
    while not lexer.take(":"):
        if lexer.kind == "value":
            operation.operands.append(_value(lexer))
        elif lexer.kind in ("symbol", "string"):
            operation.attrs.setdefault("callee", read_attribute(lexer))
        elif lexer.take("{"):
            operation.attrs |= read_dict(lexer)
        elif lexer.at("["):
            operation.attrs["ranges"] = _ranges(lexer)
        elif lexer.kind == "word":
            word = lexer.next()
            if lexer.take("="):
                operation.attrs[word] = read_product(lexer)
            else:
                operation.words.append(word)
        elif not (lexer.take(",") or lexer.take("(") or lexer.take(")")):
            raise lexer.expected(f"`:` and the types of {operation.name}")
    operation.operand_types, operation.result_types = read_signature(lexer)


def _ranges(lexer: Lexer) -> list[list[int]]:
    """Reads `[0:2, 4:8:2]` as [[0, 2, 1], [4, 8, 2]]."""
    lexer.expect("[")
    found = []
    while not lexer.take("]"):
        one = [lexer.number()]
        while lexer.take(":"):
            one.append(lexer.number())
        if len(one) not in (2, 3):
            raise lexer.expected("a range, such as 0:4")
        found.append([*one, 1][:3])
        if not lexer.at("]"):
            lexer.expect(",")
    return found


def _constant(lexer: Lexer, operation: Operation) -> None:
    if lexer.take("{"):
        operation.attrs |= read_dict(lexer)
    operation.attrs["value"] = read_attribute(lexer)
    operation.result_types = [getattr(operation.attrs["value"], "type", None)]


def _return(lexer: Lexer, operation: Operation) -> None:
    while lexer.kind == "value":
        operation.operands.append(_value(lexer))
        if not lexer.take(","):
            break
    if lexer.take(":"):
        operation.operand_types, _ = read_signature(lexer)


def _reduce(lexer: Lexer, operation: Operation) -> None:
    """Reads `(%a init: %b), (%c init: %d) applies op across dimensions = [1] : types reducer(..) {..}`."""
    inits = []
    while lexer.take("("):
        operation.operands.append(_value(lexer))
        lexer.expect("init")
        lexer.expect(":")
        inits.append(_value(lexer))
        lexer.expect(")")
        lexer.take(",")
    operation.operands += inits
    applied = None
    if lexer.take("applies"):
        applied = Operation(lexer.expect_kind("word", "an operation"), operation.offset)
    for word in ("across", "dimensions", "="):
        lexer.expect(word)
    operation.attrs["dimensions"] = read_attribute(lexer)
    if lexer.take("{"):
        operation.attrs |= read_dict(lexer)
    lexer.expect(":")
    operation.operand_types, operation.result_types = read_signature(lexer)
    if applied:
        applied.results, applied.operands = [("result", 0)], [("lhs", 0), ("rhs", 0)]
        applied.result_types = list(operation.operand_types[1:2])
        finish = Operation("stablehlo.return", operation.offset, [], [("result", 0)])
        scalar = operation.operand_types[-1]
        operation.regions = [Region([("lhs", scalar), ("rhs", scalar)], [applied, finish])]
        return
    lexer.expect("reducer")
    pairs = []
    while lexer.at("("):
        offset, pair = lexer.offset, read_arguments(lexer)
        if len(pair) != 2:
            raise lexer.bad("a reducer has two arguments for each operand", offset)
        pairs.append(pair)
    region = _region(lexer)
    region.args = [one for one, _ in pairs] + [one for _, one in pairs]
    operation.regions = [region]


def _while(lexer: Lexer, operation: Operation) -> None:
    """Reads `(%x = %a, ..) : types [attributes {..}] cond {..} do {..}`."""
    lexer.expect("(")
    names = []
    while not lexer.take(")"):
        names.append(_value(lexer)[0])
        lexer.expect("=")
        operation.operands.append(_value(lexer))
        if not lexer.at(")"):
            lexer.expect(",")
    if lexer.take(":"):
        operation.operand_types, operation.result_types = read_signature(lexer)
    if lexer.take("attributes"):
        lexer.balanced()
    for word in ("cond", "do"):
        lexer.expect(word)
        region = _region(lexer)
        if len(operation.operand_types) != len(names):
            raise lexer.bad("the loop has not one type for each value", operation.offset)
        region.args = list(zip(names, operation.operand_types, strict=True))
        operation.regions.append(region)


_FORMS = {
    "stablehlo.constant": _constant,
    "stablehlo.reduce": _reduce,
    "stablehlo.while": _while,
    "stablehlo.return": _return,
    "func.return": _return,
    "return": _return,
}
