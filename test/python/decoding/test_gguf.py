"""Reading of GGUF files, whole and damaged."""

import zlib

import gguf_files
import numpy as np
import pytest
from relay.decoding.blocks import BLOCKS, as_floats, as_stored
from relay.decoding.gguf import File

import relay

KEYS = {
    "general.architecture": "llama", "general.alignment": 64, "a.flag": True, "a.number": 0.5, "a.texts": ["x", "yé"],
    "an.array": np.array([3, -1], np.int32),
}  # fmt: skip


def written(path, keys=KEYS, tensors=None, **how):
    tensors = {"w": np.arange(6, dtype=np.float32).reshape(2, 3)} if tensors is None else tensors
    path.write_bytes(gguf_files.content(keys, tensors, alignment=keys.get("general.alignment", 32), **how))
    return path


@pytest.mark.parametrize("version", [2, 3])
def test_keys_and_tensors(tmp_path, version):
    file = File(written(tmp_path / "m.gguf", version=version))
    assert {name: file.keys[name] for name in KEYS if name != "an.array"} == {
        name: value for name, value in KEYS.items() if name != "an.array"
    }
    np.testing.assert_array_equal(file.keys["an.array"], KEYS["an.array"])
    np.testing.assert_array_equal(file.array("w"), [[0, 1, 2], [3, 4, 5]])
    np.testing.assert_array_equal(file.rows("w", np.array([1])), [[3, 4, 5]])
    assert file.tensors["w"].begin % 64 == 0


# The CRC-32 of what the package gguf 0.19 computes from 16 rows of 8 blocks of the random bytes below.
CHECKSUMS = {
    "F32": 0xe96e22ad, "F16": 0x241d83d9, "Q4_0": 0x28a6af29, "Q4_1": 0xb405194a,
    "Q5_0": 0x23272f22, "Q5_1": 0x4f5828a9, "Q8_0": 0x490353e5, "Q2_K": 0xc6bbb00f,
    "Q3_K": 0x83338e73, "Q4_K": 0xfbf9e3eb, "Q5_K": 0x5e7b5e4e, "Q6_K": 0x9699e296,
    "IQ4_NL": 0xe82acc29, "BF16": 0xba76a1c7, "MXFP4": 0xb51c2ced,
    "IQ4_XS": 0xe8676ab2, "TQ1_0": 0xa2187a60, "TQ2_0": 0x9a56f342,
}  # fmt: skip


@pytest.mark.parametrize("name", CHECKSUMS)
def test_blocks_give_the_floats_of_the_package_gguf(name):
    block = next(block for block in BLOCKS.values() if block.name == name)
    data = random_blocks(block)
    assert zlib.crc32(as_floats(data, block).tobytes()) == CHECKSUMS[name]


@pytest.mark.parametrize("name", [block.name for block in BLOCKS.values() if block.parts])
def test_integers_scales_and_minima_are_the_floats(name):
    block = next(block for block in BLOCKS.values() if block.name == name)
    data = random_blocks(block)
    made, bits = as_stored(data, block), int(block.integers[-1])
    parts = made.numbers.view(np.uint8)[:, :, None] >> np.arange(0, 8, bits, dtype=np.uint8)
    numbers = (parts & ((1 << bits) - 1)).reshape(len(data), -1).astype(np.int32)
    if block.integers.startswith("int"):
        numbers = numbers - ((numbers >> (bits - 1)) << bits)
    each = numbers.shape[1] // made.scales.shape[1]
    floats = numbers.astype(np.float32) * made.scales.repeat(each, axis=1)
    if made.minima is not None:
        floats = floats + made.minima.astype(np.float32).repeat(each, axis=1)
    np.testing.assert_array_equal(floats, as_floats(data, block))


def random_blocks(block):
    """Random bytes whose scales are finite: no float16 of them has the largest exponent."""
    data = np.random.default_rng(0).integers(0, 256, (16, 8 * block.bytes), np.uint8)
    return np.where((data & 0x7C) == 0x7C, data & 0xBF, data).astype(np.uint8)


def test_a_type_without_a_decoder_is_named_with_its_place(tmp_path):
    for code, said in ((22, "22, IQ2_S"), (999, "999, which is unknown")):
        path = written(tmp_path / "m.gguf", tensors={"blk.0.ffn_up.weight": (code, (2, 256), b"\0" * 164)})
        with pytest.raises(
            relay.InputError, match=rf"byte \d+: tensor `blk.0.ffn_up.weight` has blocks of type {said}"
        ):
            File(path)


def test_a_file_that_ends_early_is_refused_at_every_byte(tmp_path):
    whole = written(tmp_path / "m.gguf").read_bytes()
    cut = tmp_path / "cut.gguf"
    used = len(whole) - (64 - 24)  # the last tensor's padding may be absent
    for length in range(used):
        cut.write_bytes(whole[:length])
        with pytest.raises(relay.InputError, match=r"cut.gguf, byte \d+: "):
            File(cut)
    cut.write_bytes(whole[:used])
    File(cut)


def test_damaged_bytes_never_end_in_another_error(tmp_path):
    """Reads files of which one to three bytes are random, or eight bytes are a large number."""
    whole, draw = written(tmp_path / "m.gguf").read_bytes(), np.random.default_rng(0)
    path, refused = tmp_path / "damaged.gguf", 0
    for _ in range(2000):
        damaged = bytearray(whole)
        if draw.random() < 0.3:
            at = int(draw.integers(4, len(whole) - 8))
            damaged[at : at + 8] = (2 ** int(draw.integers(20, 64)) - 1).to_bytes(8, "little")
        else:
            for at in draw.integers(0, len(whole), draw.integers(1, 4)):
                damaged[at] = draw.integers(256)
        path.write_bytes(damaged)
        try:
            file = File(path)
            for name in file.tensors:
                file.array(name)
        except relay.InputError:
            refused += 1
    assert refused > 500


@pytest.mark.parametrize(
    "made, said",
    [
        (b"", "not a GGUF file"),
        (b"PK\x03\x04", "not a GGUF file"),
        (b"GGUF\x01\0\0\0", "version 1 is not 2 or 3"),
        (b"GGUF\x03\0\0\0" + b"\xff" * 16, "18446744073709551615 tensors do not fit in the 8 bytes"),
    ],
)
def test_other_files(tmp_path, made, said):
    (tmp_path / "m.gguf").write_bytes(made)
    with pytest.raises(relay.InputError, match=said):
        File(tmp_path / "m.gguf")


def test_wrong_alignment(tmp_path):
    path = written(tmp_path / "m.gguf", {"general.alignment": 64})
    path.write_bytes(path.read_bytes().replace(b"alignment\4\0\0\0\x40", b"alignment\4\0\0\0\x41"))
    with pytest.raises(relay.InputError, match="alignment is 65, but must be a power of two"):
        File(path)


def split(folder, parts=3, **changed):
    """A model of a tensor in each part. `changed`: other values of split.count in the parts of these numbers."""
    for i in range(parts):
        keys = {"general.architecture": "llama"} if i == 0 else {}
        keys |= {"split.no": i, "split.count": changed.get(f"part{i}", parts), "split.tensors.count": parts}
        tensors = {f"w{i}": np.full((2, 3), i, np.float32)}
        (folder / f"m-{i + 1:05}-of-{parts:05}.gguf").write_bytes(gguf_files.content(keys, tensors))
    return folder / f"m-00001-of-{parts:05}.gguf"


def test_parts_are_read_as_one_file(tmp_path):
    file = File(split(tmp_path))
    assert list(file.tensors) == ["w0", "w1", "w2"] and file.keys["general.architecture"] == "llama"
    for i in range(3):
        np.testing.assert_array_equal(file.array(f"w{i}"), np.full((2, 3), i))
        np.testing.assert_array_equal(file.rows(f"w{i}", np.array([1])), np.full((1, 3), i))
    assert [path[-18:] for path in file.paths] == [f"m-{i:05}-of-00003.gguf"[-18:] for i in (1, 2, 3)]


def test_wrong_parts(tmp_path):
    first = split(tmp_path)
    second, third = (tmp_path / f"m-{i:05}-of-00003.gguf" for i in (2, 3))
    for path in (second, third):
        with pytest.raises(relay.InputError, match="(?s)is part 0000[23] of 3.*m-00001-of-00003.gguf"):
            File(path)
    (tmp_path / "other.gguf").write_bytes(first.read_bytes())
    with pytest.raises(relay.InputError, match="one of 3 parts, but its name does not end in"):
        File(tmp_path / "other.gguf")
    kept = third.read_bytes()
    third.write_bytes(second.read_bytes())
    with pytest.raises(relay.InputError, match="this is not part 3 of 3"):
        File(first)
    third.write_bytes(gguf_files.content({"split.no": 2, "split.count": 3}, {"w0": np.zeros((2, 3), np.float32)}))
    with pytest.raises(relay.InputError, match="tensor `w0` is in an earlier part too"):
        File(first)
    third.write_bytes(gguf_files.content({"split.no": 2, "split.count": 3}, {}))
    with pytest.raises(relay.InputError, match="the 3 parts have 2 tensors, but the model has 3"):
        File(first)
    third.write_bytes(kept[:-9])  # 8 bytes of padding, and one of the tensor
    with pytest.raises(relay.InputError, match=r"m-00003-of-00003.gguf, byte \d+: "):
        File(first)
    third.unlink()
    with pytest.raises(relay.InputError, match="the part .*m-00003-of-00003.gguf is missing"):
        File(first)
    split(tmp_path, part1=2)
    with pytest.raises(relay.InputError, match="m-00002-of-00003.gguf: this is not part 2 of 3"):
        File(first)
