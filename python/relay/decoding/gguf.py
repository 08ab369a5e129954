"""Files of the format GGUF, version 2 and 3 (gguf.md of github.com/ggml-org/ggml): keys with values, and tensors.

    header   "GGUF", u32 version, u64 tensors, u64 keys
    key      string (u64 bytes, text), u32 type, value; an array: u32 type, u64 elements, the elements
    tensor   string, u32 axes, u64 sizes (the fastest axis first), u32 type, u64 offset from the start of the data
    data     begins at a multiple of general.alignment (32 bytes by default)

The file is mapped. Every length is compared with the file's bytes before memory is allocated for it.

A large model is split into files NAME-00001-of-00003.gguf, which are read as one. The first has the model's keys; each
has some tensors, and the keys split.no (from 0) and split.count.
"""

from __future__ import annotations

import dataclasses
import math
import mmap
import os
import re
import struct

import numpy as np

from ..data.arrays import fixed
from ..errors import wrong_input
from .blocks import BLOCKS, BlockType, Matrix, as_floats, as_stored

_DAMAGED = "the file is damaged or not complete: copy or download it again"
_STRING, _ARRAY = 8, 9
_NUMBERS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_NUMPY = {code: np.dtype("bool" if form == "<?" else form) for code, form in _NUMBERS.items()}
_LEAST_TENSOR = 8 + 4 + 4 + 8  # bytes of the shortest description of a tensor
_LEAST_KEY = 8 + 4 + 1
_MOST_AXES = 4
_MOST_ALIGNMENT = 1 << 16
_DEFAULT_ALIGNMENT = 32


@dataclasses.dataclass(frozen=True)
class Entry:
    """A tensor of the file. `shape` has the slowest axis first, as in NumPy. `begin` counts bytes from the start of
    `content`."""

    name: str
    shape: tuple[int, ...]
    type: BlockType
    begin: int
    content: mmap.mmap | bytes = b""

    @property
    def bytes(self) -> int:
        """The bytes in the file."""
        return math.prod(self.shape) // self.type.elements * self.type.bytes


class _Reader:
    """Reads the header from its start. Every read is checked against the end of the file."""

    def __init__(self, path: str, content: mmap.mmap):
        self.path, self.content, self.at = path, content, 0

    def bad(self, what: str, help: str = _DAMAGED):
        """The error for a problem at the present place."""
        return wrong_input(f"{self.path}, byte {self.at}: {what}", help)

    @property
    def left(self) -> int:
        return len(self.content) - self.at

    def take(self, bytes: int, what: str) -> bytes:
        if bytes > self.left:
            raise self.bad(f"{what} has {bytes} bytes, but {self.left} bytes are left in the file")
        self.at += bytes
        return self.content[self.at - bytes : self.at]

    def number(self, form: str, what: str):
        return struct.unpack(form, self.take(struct.calcsize(form), what))[0]

    def string(self, what: str) -> str:
        return self.take(self.number("<Q", what), what).decode("utf-8", "replace")

    def count(self, least: int, what: str) -> int:
        """Reads a count of parts that take at least `least` bytes each."""
        count = self.number("<Q", f"the number of {what}")
        if count * least > self.left:
            raise self.bad(f"{count} {what} do not fit in the {self.left} bytes that are left in the file")
        return count

    def value(self, name: str):
        kind = self.number("<I", f"the type of key `{name}`")
        if kind == _STRING:
            return self.string(f"key `{name}`")
        if kind == _ARRAY:
            return self._array(name)
        return self.number(self._form(kind, name), f"key `{name}`")

    def _form(self, kind: int, name: str) -> str:
        if kind not in _NUMBERS:
            raise self.bad(f"key `{name}` has the unknown type {kind}")
        return _NUMBERS[kind]

    def _array(self, name: str) -> list[str] | np.ndarray:
        kind = self.number("<I", f"the type of the elements of key `{name}`")
        if kind == _STRING:
            return [self.string(f"key `{name}`") for _ in range(self.count(8, f"elements of key `{name}`"))]
        width = struct.calcsize(self._form(kind, name))
        count = self.count(width, f"elements of key `{name}`")
        return np.frombuffer(self.take(count * width, f"key `{name}`"), _NUMPY[kind])


_PART = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf", re.DOTALL)


class File:
    """A GGUF file, with the other parts of its model if it is the first part. `keys` are its values by name: numbers,
    strings, lists of strings, arrays. `tensors` are its Entry objects by name. `paths` are all files. Raises InputError
    (R0601) with the byte and the key or tensor if the file is damaged."""

    def __init__(self, path: str | os.PathLike[str], _is_part: bool = False):
        self.path = os.fspath(path)
        try:
            with open(self.path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                self._content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
        except OSError as error:
            raise wrong_input(f"{self.path} cannot be read: {error.strerror}", "check the path") from error
        read = _Reader(self.path, self._content)
        if len(self._content) < 4 or read.take(4, "the format's name") != b"GGUF":
            read.at = 0
            raise read.bad("this is not a GGUF file", "give a .gguf file, or a folder with config.json")
        version = read.number("<I", "the version")
        if version not in (2, 3):
            raise read.bad(f"GGUF version {version} is not 2 or 3", "convert the model again with a current tool")
        tensors = read.count(_LEAST_TENSOR, "tensors")
        self.keys = {}
        for _ in range(read.count(_LEAST_KEY, "keys")):
            name = read.string("the name of a key")
            self.keys[name] = read.value(name)
        self.tensors: dict[str, Entry] = {}
        described = [self._tensor(read) for _ in range(tensors)]
        start = -(-read.at // self._alignment(read)) * self._alignment(read)
        for entry, at in described:
            entry = dataclasses.replace(entry, begin=start + entry.begin, content=self._content)
            if entry.begin + entry.bytes > len(self._content):
                read.at = at
                raise read.bad(
                    f"tensor `{entry.name}` of {entry.type.name}{list(entry.shape)} ends at byte "
                    f"{entry.begin + entry.bytes}, but the file has {len(self._content)}"
                )
            self.tensors[entry.name] = entry
        self.paths = [self.path]
        if not _is_part and self._number("split.count", 1) not in (0, 1):
            self._add_parts()

    def _number(self, key: str, otherwise: int | None = None) -> int | None:
        """Returns the value of a key, or None if it is not a whole number."""
        value = self.keys.get(key, otherwise)
        return value if isinstance(value, int) else None

    def _bad_part(self, what: str, path: str | None = None):
        return wrong_input(f"{path or self.path}: {what}", "copy or download all parts of the model into one folder")

    def _add_parts(self) -> None:
        """Adds the tensors of the other parts."""
        count, match = self._number("split.count"), _PART.fullmatch(self.path)
        if not match or int(match[3]) != count:
            raise self._bad_part(f"the file is one of {count} parts, but its name does not end in -00001-of-0000N.gguf")
        if int(match[2]) != 1:
            raise wrong_input(
                f"{self.path} is part {match[2]} of {count}",
                f"give the first part: {match[1]}-00001-of-{match[3]}.gguf",
            )
        for number in range(2, count + 1):
            path = f"{match[1]}-{number:05}-of-{match[3]}.gguf"
            if not os.path.exists(path):
                raise self._bad_part(f"the part {path} is missing")
            part = File(path, _is_part=True)
            if (part._number("split.no"), part._number("split.count")) != (number - 1, count):
                raise self._bad_part(f"this is not part {number} of {count}", path)
            if again := self.tensors.keys() & part.tensors.keys():
                raise self._bad_part(f"tensor `{min(again)}` is in an earlier part too", path)
            self.tensors |= part.tensors
            self.paths.append(path)
        wanted = self._number("split.tensors.count", len(self.tensors))
        if wanted != len(self.tensors):
            raise self._bad_part(f"the {count} parts have {len(self.tensors)} tensors, but the model has {wanted}")

    def _alignment(self, read: _Reader) -> int:
        alignment = self.keys.get("general.alignment", _DEFAULT_ALIGNMENT)
        if not isinstance(alignment, int) or not 1 <= alignment <= _MOST_ALIGNMENT or alignment & (alignment - 1):
            raise read.bad(f"general.alignment is {alignment!r}, but must be a power of two up to {_MOST_ALIGNMENT}")
        return alignment

    def _tensor(self, read: _Reader) -> tuple[Entry, int]:
        """Reads a description, whose `begin` counts from the start of the data. Returns it with its place."""
        at, name = read.at, read.string("the name of a tensor")
        axes = read.number("<I", f"tensor `{name}`")
        if not 1 <= axes <= _MOST_AXES:
            raise read.bad(f"tensor `{name}` has {axes} axes, but must have 1 to {_MOST_AXES}")
        sizes = struct.unpack(f"<{axes}Q", read.take(8 * axes, f"tensor `{name}`"))
        code = read.number("<I", f"the type of tensor `{name}`")
        if code not in BLOCKS or not BLOCKS[code].can_be_read:
            said = f"{code}, {BLOCKS[code].name}" if code in BLOCKS else f"{code}, which is unknown"
            known = ", ".join(block.name for block in BLOCKS.values() if block.can_be_read)
            raise read.bad(f"tensor `{name}` has blocks of type {said}", f"convert the model to one of: {known}")
        block = BLOCKS[code]
        offset = read.number("<Q", f"tensor `{name}`")
        if 0 in sizes or sizes[0] % block.elements or math.prod(sizes) > 8 * len(self._content) * block.elements:
            raise read.bad(f"tensor `{name}` has the sizes {list(sizes)} in blocks of {block.elements} elements")
        if name in self.tensors:
            raise read.bad(f"tensor `{name}` is twice in the file")
        self.tensors[name] = entry = Entry(name, sizes[::-1], block, offset)
        return entry, at

    def split(self, name: str, names: list[str]) -> None:
        """Replaces a tensor by its parts along the slowest axis, of these names, which replace others of the file."""
        entry = self.tensors.pop(name)
        for i, part in enumerate(names):
            of_part = dataclasses.replace(entry, name=part, shape=entry.shape[1:])
            self.tensors[part] = dataclasses.replace(of_part, begin=entry.begin + i * of_part.bytes)

    def stored(self, name: str) -> np.ndarray:
        """Returns the bytes of a tensor as they are in the file, without a copy: uint8 (rows, bytes of a row)."""
        entry = self.tensors[name]
        data = np.frombuffer(entry.content, np.uint8, entry.bytes, entry.begin)
        return data.reshape(-1, entry.shape[-1] // entry.type.elements * entry.type.bytes)

    def array(self, name: str) -> np.ndarray:
        """Returns a tensor as float32, in its shape."""
        entry = self.tensors[name]
        return fixed(as_floats(self.stored(name), entry.type).reshape(entry.shape))

    def matrix(self, name: str) -> Matrix:
        """Returns a matrix in its own type."""
        made = as_stored(self.stored(name), self.tensors[name].type)
        parts = {key: fixed(one) for key, one in vars(made).items() if isinstance(one, np.ndarray)}
        return dataclasses.replace(made, **parts)

    def rows(self, name: str, places: np.ndarray) -> np.ndarray:
        """Returns these rows of a matrix as float32."""
        entry = self.tensors[name]
        return as_floats(self.stored(name)[places], entry.type).reshape(len(places), entry.shape[-1])
