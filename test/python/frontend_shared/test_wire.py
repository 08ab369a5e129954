"""Protobuf's wire format against Google's library: values, packed or not, and bytes that are cut, changed or made to do
harm."""

import numpy as np
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from protobuf_writer import message, varint
from relay.frontend.shared import wire
from relay.frontend.shared.wire import MOST_DEPTH, Table, WireError, read_message

import relay

KINDS = ("int", "bool", "float", "double")
SAMPLE = {1: ("name", "text"), 2: ("content", "bytes"), 3: ("parts", "bytes*")}
for _place, _kind in enumerate(KINDS):  # fields one, packed and unpacked of each kind
    SAMPLE[10 + _place] = (f"{_kind}_one", _kind)
    SAMPLE[20 + _place] = (f"{_kind}_packed", f"{_kind}*")
    SAMPLE[30 + _place] = (f"{_kind}_unpacked", f"{_kind}*")
TABLE = Table("Sample", SAMPLE)
TABLE.add(40, "inner", TABLE)
TABLE.add(41, "list", [TABLE])
TABLE.add(42, "map", {TABLE})


def google_sample():
    """The class of Google's library for the messages of TABLE."""
    file = descriptor_pb2.FileDescriptorProto(name="sample.proto", package="sample", syntax="proto2")
    made = file.message_type.add(name="Sample")
    types = {"int": 3, "bool": 8, "float": 2, "double": 1, "text": 9, "bytes": 12}
    for number, (name, kind) in SAMPLE.items():
        field = made.field.add(name=name, number=number, type=types[kind.rstrip("*")], label=3 if "*" in kind else 1)
        if name.endswith("packed"):
            field.options.packed = name.endswith("_packed")
    made.field.add(name="inner", number=40, type=11, label=1, type_name=".sample.Sample")
    made.field.add(name="list", number=41, type=11, label=3, type_name=".sample.Sample")
    entry = made.nested_type.add(name="MapEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=9, label=1)
    entry.field.add(name="value", number=2, type=11, label=1, type_name=".sample.Sample")
    made.field.add(name="map", number=42, type=11, label=3, type_name=".sample.Sample.MapEntry")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("sample.Sample"))


GOOGLE = google_sample()


def numbers(rng, kind, count):
    if kind == "int":  # of all lengths, 1 to 10 bytes
        return [int(one) >> int(rng.integers(0, 64)) for one in rng.integers(-(1 << 63), 1 << 63, count)]
    if kind == "bool":
        return [bool(one) for one in rng.integers(0, 2, count)]
    return [float(np.float32(one)) for one in rng.standard_normal(count)]


def random_sample(rng, depth=0):
    made = GOOGLE(name=f"n{rng.integers(100)}é", content=bytes(rng.integers(0, 256, 5, dtype=np.uint8)))
    made.parts.extend([b"", b"a", b"\xff"][: rng.integers(4)])
    for kind in KINDS:
        if rng.integers(2):
            setattr(made, f"{kind}_one", numbers(rng, kind, 1)[0])
        for form in ("packed", "unpacked"):
            getattr(made, f"{kind}_{form}").extend(numbers(rng, kind, rng.integers(0, 90)))
    if depth < 2:
        made.inner.CopyFrom(random_sample(rng, depth + 1))
        made.list.extend(random_sample(rng, depth + 1) for _ in range(rng.integers(3)))
        made.map["key"].CopyFrom(random_sample(rng, 2))
    return made


def same(got, wanted):
    assert (got.name, bytes(got.content)) == (wanted.name, wanted.content)
    assert [bytes(one) for one in got.parts] == list(wanted.parts)
    for kind in KINDS:
        name = f"{kind}_one"
        assert getattr(got, name) == getattr(wanted, name) and got.has(name) == wanted.HasField(name)
        for name in (f"{kind}_packed", f"{kind}_unpacked"):
            assert getattr(got, name).tolist() == list(getattr(wanted, name)), name
    assert got.has("inner") == wanted.HasField("inner") and got.has("map") == bool(wanted.map)
    if got.inner is not None:
        same(got.inner, wanted.inner)
    for a, b in zip(got.list, wanted.list, strict=True):
        same(a, b)
    assert set(got.map) == set(wanted.map)
    for key, one in got.map.items():
        same(one, wanted.map[key])


def read(content):
    return TABLE.read(memoryview(content))


@pytest.mark.parametrize("seed", range(20))
def test_values_are_those_of_googles_library(seed, monkeypatch):
    wanted = random_sample(np.random.default_rng(seed))
    same(read(wanted.SerializeToString()), wanted)
    monkeypatch.setattr(wire, "_CHUNK", 16)  # bytes: packed numbers lie in several chunks
    same(read(wanted.SerializeToString()), wanted)


def test_numbers_packed_and_with_keys_in_turn():
    key = varint(22 << 3 | 5)
    other = varint(12 << 3 | 5) + bytes(4)
    one, two = (np.float32(number).tobytes() for number in (1, 2))
    content = key + one + key + two + other + key + one + varint(22 << 3 | 2) + b"\x08" + one + two + key + two
    assert read(content).float_packed.tolist() == [1, 2, 1, 1, 2, 2]
    mixed = message([(20, 5), (20, np.array([-1, 300])), (20, 7)])
    assert read(mixed).int_packed.tolist() == [5, -1, 300, 7]


def test_large_fields_share_the_bytes():
    content = message([(1, "odd"), (22, np.ones(1000, np.float32)), (2, bytes(1000))])
    bytes_of, found = np.frombuffer(content, np.uint8), read(content)
    assert np.shares_memory(found.float_packed, bytes_of)
    assert np.shares_memory(np.frombuffer(found.content, np.uint8), bytes_of)


def test_reading_a_default_does_not_set_the_field():
    found = read(b"")
    assert found.float_packed.dtype == np.float32 and len(found.float_packed) == 0
    assert (found.name, found.int_one, found.inner, found.list, found.map) == ("", 0, None, [], {})
    assert not any(found.has(name) for name in ("float_packed", "name", "int_one", "inner", "list", "map"))
    with pytest.raises(AttributeError):
        found.unknown  # noqa: B018


def test_bytes_that_are_cut_or_changed():
    rng = np.random.default_rng(0)
    good = random_sample(rng).SerializeToString()
    cuts = [good[:end] for end in range(0, len(good), 9)]
    for _ in range(150):
        changed = bytearray(good)
        for at in rng.integers(0, len(good), 3):
            changed[at] = rng.integers(256)
        cuts.append(bytes(changed))
    failures = 0
    for content in cuts:
        try:
            read(content)
        except WireError as error:
            assert 0 <= error.at <= len(content)
            failures += 1
    assert failures > len(cuts) // 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x07", "byte 0: a field of Sample has the number 0"),
        (b"\x0b", "byte 0: a field of Sample has the wire type 3"),
        (varint(1 << 3 | 2) + varint(1 << 40), "byte 0: a field of Sample has 1099511627776 bytes, and 0 are left"),
        (varint(12 << 3 | 5) + b"abc", "byte 0: a field of Sample is cut off"),
        (varint(32 << 3 | 5) + b"abc", "byte 0: a field of Sample is cut off"),
        (varint(10 << 3) + b"\xff" * 11, "a number has more than 10 bytes"),
        (varint(10 << 3) + b"\xff" * 9 + b"\x02", "a number has more than 64 bits"),
        (varint(10 << 3) + b"\xff", "the file ends inside a number"),
        (message([(20, b"\xff" * 11 + b"\x01")]), "a number has more than 10 bytes"),
        (message([(20, b"\xff" * 9 + b"\x02")]), "a number has more than 64 bits"),
        (message([(20, b"\x01\xff")]), "packed numbers end inside a number"),
        (message([(22, b"12345")]), "packed numbers have 5 bytes, not a multiple of 4"),
        (message([(1, b"\xff")]), "a text is not UTF-8"),
        (message([(1, 1)]), "`name` has the wire type 0"),
        (message([(22, 1)]), "`float_packed` has the wire type 0"),
        (message([(10, b"1")]), "`int_one` has the wire type 2"),
        (message([(40, 1)]), "`inner` is not a message"),
    ],
)
def test_damage_is_told_with_its_place(content, said):
    with pytest.raises(relay.CompileError) as raised:
        read_message(TABLE, "a.bin", content, "copy it again")
    told = str(raised.value)
    assert "a.bin is damaged at byte" in told and said in told and "help: copy it again" in told, told


def test_limits(monkeypatch):
    nested = b""
    for _ in range(MOST_DEPTH + 1):
        nested = message([(40, nested)])
    for content, name, said in (
        (nested, None, f"messages are nested more than {MOST_DEPTH} levels deep"),
        (message([(99, 1)] * 11), "MOST_FIELDS", "more than 10 fields"),
        (message([(41, b"")] * 10), "MOST_MESSAGES", "more than 10 messages"),
    ):
        if name:
            monkeypatch.setattr(wire, name, 10)
        with pytest.raises(relay.CompileError, match=said) as raised:
            read_message(TABLE, "a.bin", content, "copy it again")
        assert raised.value.diagnostics[0].kind == "limit_exceeded"
