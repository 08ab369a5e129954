"""Changes of files that keep their structure: protobuf messages, JSON, text by its words, and bytes.

Each function takes the content and a random.Random, and returns changed content. Content that has another structure is
changed as bytes.
"""

import json
import re
import struct

_NUMBERS = (0, 1, 2, 3, 7, 16, 32, 127, 128, 255, 256, 65535, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 62,
            (1 << 63) - 1, -1, -2, -8, -(1 << 31), -(1 << 63))  # fmt: skip
_REALS = (0.0, -0.0, 0.5, -1.0, 1e-45, 3e38, -3e38, float("inf"), float("-inf"), float("nan"))
_TEXTS = ("", "x", "NaN", "None", "(", "[1, 2]", "-1", "float32", "true", "../x", "/dev/zero", "a" * 300, "\u00e9\0")
_MOST_DEPTH, _MOST_NODES = 24, 20_000


# --- bytes ------------------------------------------------------------------------------------------------------------
def changed_bytes(content: bytes, rng) -> bytes:
    """Bits, numbers, a part cut out, doubled or exchanged, or an end that is missing."""
    made = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if not made:
            return bytes(made) + bytes(rng.randrange(256) for _ in range(4))
        at, size = rng.randrange(len(made)), rng.choice((1, 1, 2, 4, 8, 16))
        way = rng.randrange(7)
        if way == 0:
            made[at] ^= 1 << rng.randrange(8)
        elif way == 1:
            form = rng.choice("bhiqfd")
            number = rng.choice(_REALS) if form in "fd" else rng.choice(_NUMBERS)
            width = struct.calcsize(form)
            raw = struct.pack(f"<{form}", _real(number, form) if form in "fd" else _wrapped(number, width))
            made[at : at + width] = raw[: len(made) - at]
        elif way == 2:
            del made[at : at + size]
        elif way == 3:
            made[at:at] = made[at : at + size]
        elif way == 4:
            made[at : at + size] = bytes(rng.randrange(256) for _ in range(min(size, len(made) - at)))
        elif way == 5:
            other = rng.randrange(len(made))
            made[at : at + size] = made[other : other + size]
        elif rng.random() < 0.3:
            del made[at:]
    return bytes(made)


def _wrapped(number: int, width: int) -> int:
    number &= (1 << 8 * width) - 1
    return number - (1 << 8 * width) if number >> (8 * width - 1) else number


def _real(number: float, form: str) -> float:
    return max(-3e38, min(3e38, number)) if form == "f" and abs(number) < float("inf") else number


# --- protobuf ---------------------------------------------------------------------------------------------------------
class _Field:
    """A field of a message. value: a number, bytes, or a list of fields if the bytes are a message."""

    __slots__ = ("kind", "number", "value")

    def __init__(self, number, kind, value):
        self.number, self.kind, self.value = number, kind, value

    def copy(self):
        value = [one.copy() for one in self.value] if isinstance(self.value, list) else self.value
        return _Field(self.number, self.kind, value)


def changed_message(content: bytes, rng) -> bytes:
    """A field of a protobuf message removed, doubled, moved, or with another value. Lengths are right again."""
    fields = _parsed(content, 0, [0])
    if not fields:
        return changed_bytes(content, rng)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places = list(_places(fields))
        if not places:
            break
        _change_field(rng, places, *rng.choice(places))
    return _written(fields)


def _parsed(content: bytes, depth: int, count: list) -> list | None:
    """The fields of a message; None if the bytes are none."""
    fields, at, end = [], 0, len(content)
    while at < end:
        key, at = _varint(content, at)
        if key is None or key >> 3 == 0 or key >> 3 > 100_000 or count[0] > _MOST_NODES:
            return None
        number, kind = key >> 3, key & 7
        count[0] += 1
        if kind == 0:
            value, at = _varint(content, at)
            if value is None:
                return None
        elif kind in (1, 5):
            width = 8 if kind == 1 else 4
            value, at = content[at : at + width], at + width
        elif kind == 2:
            length, at = _varint(content, at)
            if length is None or length > end - at:
                return None
            raw, at = content[at : at + length], at + length
            inner = _parsed(raw, depth + 1, count) if length > 1 and depth < _MOST_DEPTH else None
            value = inner or raw
        else:
            return None
        if at > end:
            return None
        fields.append(_Field(number, kind, value))
    return fields


def _varint(content: bytes, at: int):
    value = shift = 0
    while at < len(content) and shift < 64:
        byte = content[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    return None, at


def _written(fields: list) -> bytes:
    made = bytearray()
    for one in fields:
        made += _as_varint(one.number << 3 | one.kind)
        if one.kind == 0:
            made += _as_varint(one.value)
        else:
            raw = _written(one.value) if isinstance(one.value, list) else one.value
            made += (_as_varint(len(raw)) if one.kind == 2 else b"") + raw
    return bytes(made)


def _as_varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    made.append(value)
    return bytes(made)


def _places(fields: list):
    """Each field with the list that it is in."""
    for at, one in enumerate(fields):
        yield fields, at
        if isinstance(one.value, list):
            yield from _places(one.value)


def _change_field(rng, places: list, fields: list, at: int) -> None:
    if at >= len(fields):  # an earlier change has shortened the list
        return
    one, way = fields[at], rng.randrange(9)
    if way == 0:
        del fields[at]
    elif way == 1:
        fields.insert(rng.randrange(len(fields) + 1), one.copy())
    elif way == 2:
        other = rng.randrange(len(fields))
        fields[at], fields[other] = fields[other], fields[at]
    elif way == 3:
        others, other = rng.choice(places)
        if other < len(others):
            others.insert(other, one.copy())
    elif way == 4:
        one.number = max(1, one.number + rng.choice((-1, 1, 2, 10)))
    else:
        _change_value(rng, places, one)


def _change_value(rng, places: list, one: _Field) -> None:
    if one.kind == 0:
        one.value = rng.choice(_NUMBERS) if rng.random() < 0.6 else one.value + rng.choice((-2, -1, 1, 2, 64))
    elif one.kind in (1, 5):
        form = "<d" if one.kind == 1 else "<f"
        one.value = struct.pack(form, _real(rng.choice(_REALS), form[1]))
    elif isinstance(one.value, list):
        one.value = [] if rng.random() < 0.2 else changed_bytes(_written(one.value), rng)
    elif rng.random() < 0.5:  # a name becomes another one of the file
        others = [fields[at].value for fields, at in places if at < len(fields) and fields[at].kind == 2]
        one.value = rng.choice([other for other in others if isinstance(other, bytes)] or [b""])
    elif rng.random() < 0.3:
        one.value = rng.choice(_TEXTS).encode()
    else:
        one.value = changed_bytes(one.value, rng)


# --- JSON -------------------------------------------------------------------------------------------------------------
def changed_json(content: bytes, rng) -> bytes:
    """A value of a JSON text removed, doubled, moved or replaced."""
    try:
        root = json.loads(content)
        holder = [root]
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            places = list(_json_places(holder, 0))
            inside, key = rng.choice(places)
            _change_json(rng, places, inside, key)
        return json.dumps(holder[0] if holder else None).encode()
    except (ValueError, RecursionError):
        return changed_bytes(content, rng)


def _json_places(value, depth: int):
    if depth > 60:
        return
    keys = range(len(value)) if isinstance(value, list) else list(value)
    for key in keys:
        yield value, key
        if isinstance(value[key], (list, dict)):
            yield from _json_places(value[key], depth + 1)


def _copied(value):
    return json.loads(json.dumps(value))


def _change_json(rng, places: list, inside, key) -> None:
    if isinstance(inside, list) and key >= len(inside) or isinstance(inside, dict) and key not in inside:
        return
    value, way = inside[key], rng.randrange(8)
    if way == 0 and len(inside) > 1:
        del inside[key]
    elif way == 1 and isinstance(inside, list):
        inside.insert(rng.randrange(len(inside) + 1), _copied(value))
    elif way == 2:
        others, other = rng.choice(places)
        if other in range(len(others)) if isinstance(others, list) else other in others:
            inside[key] = _copied(others[other])
    elif way == 3 and isinstance(inside, dict):
        inside[rng.choice(_TEXTS)] = inside.pop(key)
    elif isinstance(value, bool):
        inside[key] = not value
    elif isinstance(value, (int, float)):
        inside[key] = rng.choice((*_NUMBERS, *_REALS, value + 1, value - 1, value * 2))
    elif isinstance(value, str) and rng.random() < 0.5:
        inside[key] = changed_text(value.encode(), rng).decode("utf-8", "replace")
    else:
        inside[key] = rng.choice((None, True, [], {}, [[]], *_NUMBERS[:6], *_TEXTS))


# --- text -------------------------------------------------------------------------------------------------------------
_WORDS = re.compile(rb"[\w.+-]+|\s+|.", re.DOTALL)


def changed_text(content: bytes, rng) -> bytes:
    """A word or line of a text removed, doubled, moved or replaced."""
    if rng.random() < 0.35:
        words, joined = content.splitlines(keepends=True), b""
    else:
        words, joined = _WORDS.findall(content), b""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if not words:
            return changed_bytes(content, rng)
        at, way = rng.randrange(len(words)), rng.randrange(6)
        if way == 0:
            del words[at]
        elif way == 1:
            words.insert(at, words[at])
        elif way == 2:
            other = rng.randrange(len(words))
            words[at], words[other] = words[other], words[at]
        elif way == 3:
            words[at] = rng.choice(words)
        elif re.fullmatch(rb"[-+]?\d[\d.]*", words[at]) or way == 4:
            words[at] = str(rng.choice((*_NUMBERS, *_REALS))).encode()
        else:
            words[at] = rng.choice(_TEXTS).encode()
    return joined.join(words)
