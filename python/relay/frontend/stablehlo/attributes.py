"""Reads attributes and types of MLIR's text form: lists, dictionaries, dense elements, StableHLO's own attributes."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np

from .lexer import Lexer
from .syntax import Dense, Other, Symbol, Tensor

DTYPES = {
    "i1": "bool",
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
}
MOST_RANK = 32
_SHAPE = re.compile(r"(?:(?:\d+|\?)\s*x\s*)*")
_ELEMENT = re.compile(r"(?:complex<\w+>|!?[A-Za-z][\w.]*(?:<)?)")


def numpy_dtype(dtype: str) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def read_type(lexer: Lexer) -> Tensor | Other:
    """Reads a type: tensor<2x?xf32>, or another one as its text."""
    if lexer.kind == "word" and lexer.text in ("tensor", "vector"):
        return _tensor(lexer)
    if lexer.kind not in ("word", "kind"):
        raise lexer.expected("a type")
    text = lexer.next()
    if lexer.at("<"):
        text += lexer.balanced()
    return Other(text)


def _tensor(lexer: Lexer) -> Tensor:
    lexer.next()
    if not lexer.at("<"):
        raise lexer.expected("`<` of a tensor type")
    found = _SHAPE.match(lexer.source, lexer.end)
    sizes = [one.strip() for one in found.group().split("x")[:-1]]
    if len(sizes) > MOST_RANK or any(len(one) > 18 for one in sizes):
        raise lexer.bad(f"a tensor type has more than {MOST_RANK} axes, or a size above 10^18")
    element = _ELEMENT.match(lexer.source, found.end())
    if element is None:
        raise lexer.bad("a tensor type without an element type", found.end())
    name = element.group()
    lexer.jump(found.end() if name.endswith("<") else element.end())
    if name.endswith("<"):  # !quant.uniform<...>
        name = lexer.next()
        name += lexer.balanced()
    if lexer.take(","):  # an encoding: bounds of sizes
        while not lexer.at(">"):
            if lexer.kind == "end":
                raise lexer.expected("`>`")
            lexer.balanced() if lexer.at("<") else lexer.next()
    lexer.expect(">")
    shape = tuple(None if one == "?" else int(one) for one in sizes)
    return Tensor(shape, DTYPES.get(name), name)


def read_types(lexer: Lexer) -> list:
    """Reads one type, or types in parentheses."""
    if not lexer.at("("):
        return [read_type(lexer)]
    lexer.next()
    types = []
    while not lexer.take(")"):
        types.append(read_type(lexer))
        if lexer.at("{"):
            lexer.balanced()  # attributes of a function's result
        if not lexer.at(")"):
            lexer.expect(",")
    return types


def read_signature(lexer: Lexer) -> tuple[list, list]:
    """Reads the types after an operation's colon: `(a, b) -> c`, `a, b -> c`, or `a, b`, where the results are all."""
    types = read_types(lexer)
    while lexer.take(","):
        types += [read_type(lexer)]
    if lexer.take("->"):
        return types, read_types(lexer)
    return types, types


def read_dict(lexer: Lexer, end: str = "}") -> dict:
    """Reads `key = value, ...` up to a bracket, which is taken too. A key without a value is True."""
    found = {}
    while not lexer.take(end):
        if lexer.kind not in ("word", "string"):
            raise lexer.expected(f"a name or `{end}`")
        key = lexer.next().strip('"')
        found[key] = read_attribute(lexer) if lexer.take("=") else True
        if not lexer.at(end):
            lexer.expect(",")
    return found


def read_attribute(lexer: Lexer):
    """Returns an attribute in Python's types, or as Dense, Symbol, Tensor, Other."""
    with lexer.inside():
        return _attribute(lexer)


def _attribute(lexer: Lexer):
    if lexer.kind == "string":
        return lexer.next()[1:-1]
    if lexer.kind == "symbol":
        return Symbol(lexer.next()[1:].strip('"'))
    if lexer.kind == "number":
        text = lexer.next()
        if lexer.take(":"):
            read_type(lexer)
        try:
            return float(text) if "." in text else int(text, 0)
        except ValueError:  # such as 06
            raise lexer.bad(f"`{text}` is not a number") from None
    if lexer.kind == "alias":
        return _own(lexer)
    if lexer.at("["):
        return _list(lexer)
    if lexer.take("{"):
        return read_dict(lexer)
    if lexer.at("("):
        return read_signature(lexer)
    if lexer.kind == "word":
        if lexer.text in ("true", "false"):
            return lexer.next() == "true"
        if lexer.text == "dense":
            return _dense(lexer)
        if lexer.text == "array":
            return _array(lexer)
        if lexer.text in ("tensor", "tuple", "complex"):
            return read_type(lexer)
        if lexer.text == "dense_resource":
            raise lexer.error(
                "unsupported_operator",
                "the elements of a constant are in a resource at the end of the text",
                "print the module without resources, or pass the program of JAX itself",
            )
        word = lexer.next()
        if lexer.at("<", "("):
            return Other(word + lexer.balanced())
        return word
    if lexer.kind == "kind":
        return read_type(lexer)
    raise lexer.expected("the value of an attribute")


def _list(lexer: Lexer) -> list:
    lexer.expect("[")
    found = []
    while not lexer.take("]"):
        found.append(read_attribute(lexer))
        if not lexer.at("]"):
            lexer.expect(",")
    return found


def read_product(lexer: Lexer):
    """Reads `[1] x [0]` or `[b, 0, f]x[0, i, o]->[b, 0, f]` as a tuple of lists, or another attribute."""
    if lexer.kind == "number":  # a colon after it begins the types of the operation
        return lexer.number()
    first = read_attribute(lexer)
    if not isinstance(first, list):
        return first
    parts = [first]
    while lexer.at("x", "->"):
        lexer.next()
        parts.append(read_attribute(lexer))
    return first if len(parts) == 1 else tuple(parts)


def _array(lexer: Lexer) -> list:
    lexer.next()
    lexer.expect("<")
    lexer.expect_kind("word", "an element type")
    found = []
    if lexer.take(":"):
        while not lexer.at(">"):
            found.append(read_attribute(lexer))
            if not lexer.at(">"):
                lexer.expect(",")
    lexer.expect(">")
    return found


def _own(lexer: Lexer):
    """Reads `#stablehlo<precision DEFAULT>` as "DEFAULT", `#stablehlo.gather<key = value>` as a dictionary,
    `#stablehlo.conv<[b, 0]x[0, i]->[b, 0]>` as a tuple; other dialects' attributes as their text."""
    name = lexer.next()
    if not lexer.at("<"):
        return Other(name)
    if not name.startswith(("#stablehlo", "#chlo")):
        return Other(name + lexer.balanced())
    lexer.next()
    if lexer.at("["):
        found = read_product(lexer)
        lexer.expect(">")
        return found
    if "." in name:
        return read_dict(lexer, ">")
    lexer.expect_kind("word", "a name")
    word = lexer.expect_kind("word", "a name")
    lexer.expect(">")
    return word


# --- constants --------------------------------------------------------------------------------------------------------
def _dense(lexer: Lexer) -> Dense:
    start = lexer.offset
    lexer.next()
    lexer.expect("<")
    data = None if lexer.at(">") else _elements(lexer)
    lexer.expect(">")
    lexer.expect(":")
    type_ = read_type(lexer)
    if not isinstance(type_, Tensor) or None in type_.shape:
        raise lexer.bad("a constant needs a tensor type with known sizes", start)
    if type_.dtype is None:
        raise lexer.error(
            "unsupported_operator",
            f"elements of type {type_.element} are not imported",
            "compute in another element type",
            start,
        )
    return Dense(type_, _array_of(lexer, data, type_, start))


def _elements(lexer: Lexer):
    """Returns the elements as nested lists of texts, one text, or bytes."""
    if lexer.kind == "string":
        text = lexer.next()[1:-1]
        try:
            return bytes.fromhex(text[2:]) if text.startswith("0x") else text.encode()
        except ValueError:
            raise lexer.bad("the elements are not hexadecimal digits") from None
    if lexer.take("["):
        found = []
        with lexer.inside():
            while not lexer.take("]"):
                found.append(_elements(lexer))
                if not lexer.at("]"):
                    lexer.expect(",")
        return found
    if lexer.kind == "number" or lexer.at("true", "false"):
        return lexer.next()
    raise lexer.expected("an element")


def _array_of(lexer: Lexer, data, type_: Tensor, start: int) -> np.ndarray:
    """Returns the elements with all axes, or one element without axes that fills the type's shape."""
    dtype, count = numpy_dtype(type_.dtype), 1
    for size in type_.shape:
        count *= size
    if data is None:
        data = []
    if isinstance(data, bytes):
        return _array_of_bytes(lexer, data, type_, dtype, count, start)
    if isinstance(data, str):
        return np.asarray(_element(lexer, data, dtype, start))
    flat, pending = [], [(data, 0)]
    while pending:
        one, axis = pending.pop()
        if not isinstance(one, list):
            flat.append(_element(lexer, one, dtype, start))
            continue
        if axis >= len(type_.shape) or (len(one) != type_.shape[axis] and count):
            raise lexer.bad(f"the lists of elements do not have the shape {type_.shape}", start)
        pending += [(inner, axis + 1) for inner in reversed(one)]
    if len(flat) != count:
        raise lexer.bad(f"a constant of {count} elements has {len(flat)}", start)
    return np.array(flat, dtype).reshape(type_.shape)


def _array_of_bytes(lexer, data: bytes, type_: Tensor, dtype: np.dtype, count: int, start: int) -> np.ndarray:
    if type_.dtype == "bool" and len(data) == (count + 7) // 8 and len(data) != count:
        return np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")[:count].astype(bool).reshape(type_.shape)
    if len(data) == dtype.itemsize and count != 1:
        return np.frombuffer(data, dtype).reshape(())
    if len(data) != count * dtype.itemsize:
        raise lexer.bad(f"a constant of {count * dtype.itemsize} bytes has {len(data)}", start)
    return np.frombuffer(data, dtype).reshape(type_.shape)


def _element(lexer: Lexer, text: str, dtype: np.dtype, start: int):
    try:
        if dtype == np.bool_:
            return {"true": True, "false": False, "1": True, "0": False, "-1": True}[text]
        if text in ("true", "false"):
            raise ValueError(text)
        is_float = dtype.kind == "f" or dtype.name == "bfloat16"
        if is_float and text.startswith("0x"):  # the bits
            return np.array(int(text, 0), f"uint{dtype.itemsize * 8}").view(dtype)[()]
        return np.array(float(text), dtype)[()] if is_float else np.array(int(text, 0), dtype)[()]
    except (ValueError, KeyError, OverflowError):
        raise lexer.bad(f"`{text}` is not an element of type {dtype.name}", start) from None
