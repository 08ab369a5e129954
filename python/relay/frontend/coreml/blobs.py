"""The constants of an ML program: immediate values, and files of weights (weight.bin).

A file: u32 number of entries, u32 version 2. An entry, at the offset that a value names: u32 0xDEADBEEF, u32 element
type, u64 bytes, u64 offset of the elements. Elements below 8 bits are packed, the lowest bits first.
"""

from __future__ import annotations

import math
import pathlib

import ml_dtypes
import numpy as np

from ...errors import told
from ..shared.binary import Reader, read_file
from ..shared.problems import Refused
from ..shared.values import Known

AGAIN = "save the model again with coremltools: model.save('model.mlpackage')"
# Element types of MIL by number: the name in Relay, and the bits of those that are packed.
TYPES = {
    1: "bool", 2: "string", 10: "float16", 11: "float32", 12: "float64", 13: "bfloat16", 21: "int8", 22: "int16",
    23: "int32", 24: "int64", 25: "int8", 31: "uint8", 32: "uint16", 33: "uint32", 34: "uint64", 35: "uint8",
    36: "uint8", 37: "uint8", 38: "uint8", 39: "uint8",
}  # fmt: skip
_BITS = {25: 4, 35: 4, 36: 2, 37: 1, 38: 6, 39: 3}
# Element types of files by number, as those of MIL.
_IN_FILE = {1: 10, 2: 11, 3: 31, 4: 21, 5: 13, 6: 22, 7: 32, 8: 25, 9: 37, 10: 36, 11: 35, 12: 39, 13: 38, 14: 23,
            15: 33}  # fmt: skip
_MAGIC = 0xDEADBEEF
_FIELDS = ("floats", "ints", "bools", "longInts", "doubles")
_MOST_LISTED = 1 << 16  # values of a list


def dtype_of_type(number: int) -> str:
    """Returns the name of an element type."""
    found = TYPES.get(number)
    if found is None:
        raise Refused(f"it has elements of the unknown type {number}", "save the model for an earlier system")
    return found


def numpy_dtype(number: int) -> np.dtype:
    name = dtype_of_type(number)
    if name == "string":
        raise Refused("it has texts, where numbers are expected", AGAIN)
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def sizes_of(tensor) -> list[int | None]:
    """Returns the sizes of a tensor's type, None for those that are open."""
    made = [int(one.constant.size) if one.has("constant") else None for one in tensor.dimensions]
    if len(made) > 16 or any(one is not None and not 0 <= one < 1 << 40 for one in made):
        raise Refused(f"it has the sizes {made[:20]}", AGAIN)
    return made


class Constants:
    """Reads the values of a program. folder: that of its model, or None if the model has no files beside it."""

    def __init__(self, folder: pathlib.Path | None):
        self._folder, self._files = folder, {}

    @property
    def paths(self) -> list[str]:
        """Returns the paths of the files that were read."""
        return [one.name for one in self._files.values()]

    def value(self, found) -> Known:
        """Returns a value of a program: elements, or texts."""
        if found is None:
            raise Refused("a value of it is missing", AGAIN)
        if found.has("blobFileValue"):
            return self._in_file(found)
        if not found.has("immediateValue"):
            raise Refused("a value of it is neither in the model nor in a file", AGAIN)
        inside = found.immediateValue
        if inside.has("tensor"):
            return self._immediate(found.type.tensorType if found.has("type") else None, inside.tensor)
        parts = next((getattr(inside, one).values for one in ("list", "tuple") if inside.has(one)), None)
        if parts is None or len(parts) > _MOST_LISTED:
            raise Refused("a value of it is a dictionary or a list of a form that is not imported")
        parts = [self.value(one) for one in parts]
        if any(one.array.ndim for one in parts):
            raise Refused("a value of it is a list of tensors")
        dtype = parts[0].dtype if parts else "string"
        made = np.empty(len(parts), object)
        made[:] = [one.array[()] for one in parts]
        return Known(made if dtype == "string" else made.astype(parts[0].array.dtype), dtype)

    def _immediate(self, about, tensor) -> Known:
        if about is None:
            raise Refused("a value of it has no type", AGAIN)
        sizes = sizes_of(about)
        if any(one is None for one in sizes):
            raise Refused("a value of it has open sizes", AGAIN)
        number = about.dataType
        dtype = dtype_of_type(number)
        if dtype == "string":
            texts = np.empty(len(tensor.strings.values) if tensor.has("strings") else 0, object)
            texts[:] = list(tensor.strings.values) if tensor.has("strings") else []
            return Known(_shaped(texts, sizes), "string")
        if tensor.has("bytes"):
            elements = _elements(tensor.bytes.values, number, math.prod(sizes))
        else:
            held = next((one for one in _FIELDS if tensor.has(one)), None)
            elements = np.asarray(getattr(tensor, held).values if held else [])
            with np.errstate(all="ignore"):
                elements = elements.astype(numpy_dtype(number))
        return Known(_shaped(elements, sizes), dtype)

    def _in_file(self, found) -> Known:
        if not found.has("type") or not found.type.has("tensorType"):
            raise Refused("a value of it has no type", AGAIN)
        sizes, number = sizes_of(found.type.tensorType), found.type.tensorType.dataType
        dtype_of_type(number)
        if any(one is None for one in sizes):
            raise Refused("a value of it has open sizes", AGAIN)
        reader = self._reader(found.blobFileValue.fileName)
        offset = found.blobFileValue.offset
        if not 0 <= offset <= len(reader.content) - 24:
            raise reader.corrupt("there is no entry of weights", offset)
        reader.at = offset
        if reader.number("I", "an entry") != _MAGIC:
            raise reader.corrupt("an entry of weights begins with other bytes", offset)
        held, length, start = (reader.number(form, "an entry") for form in "IQQ")
        if _IN_FILE.get(held) != number and not (held == 3 and number == 1):
            raise reader.corrupt(f"the elements have the type {held}, and the model asks for {TYPES[number]}", offset)
        if start > len(reader.content):
            size = len(reader.content)
            raise reader.corrupt(f"the elements begin at byte {start}, and the file has {size} bytes", offset)
        reader.at = start
        elements = _elements(reader.take(length, "the elements"), number, math.prod(sizes))
        return Known(_shaped(elements, sizes), TYPES[number])

    def _reader(self, name: str) -> Reader:
        if name not in self._files:
            parts = pathlib.PurePosixPath(name).parts
            if not parts or parts[0] != "@model_path" or ".." in parts:
                raise told("corrupt_file", f"the weights are in the file {name!r}, outside of the model", AGAIN)
            if self._folder is None:
                raise Refused(
                    f"its weights are in the file {name}, and the model is not in a package",
                    "give the path of the .mlpackage",
                )
            path = self._folder.joinpath(*parts[1:])
            if not path.is_file():
                raise Refused(f"its weights are in the file {path}, which is missing", "copy the whole .mlpackage")
            self._files[name] = Reader(str(path), read_file(path), AGAIN)
        return self._files[name]


def _elements(raw, number: int, count: int) -> np.ndarray:
    bits = _BITS.get(number)
    if bits is None:
        dtype = numpy_dtype(number)
        if len(raw) % dtype.itemsize:
            raise Refused(f"a value of it has {len(raw)} bytes, not a multiple of {dtype.itemsize}", AGAIN)
        return np.frombuffer(raw, dtype.newbyteorder("<"))
    if len(raw) != (count * bits + 7) // 8:
        raise Refused(f"a value of it has {len(raw)} bytes for {count} elements of {bits} bits", AGAIN)
    stream = np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little")[: count * bits].reshape(count, bits)
    made = (stream << np.arange(bits, dtype=np.uint8)).sum(axis=1, dtype=np.uint8)
    return np.where(made > 7, made.astype(np.int8) - 16, made).astype(np.int8) if number == 25 else made


def _shaped(elements: np.ndarray, sizes: list) -> np.ndarray:
    if elements.size != math.prod(sizes):
        raise Refused(f"a value of it has {elements.size} elements for the shape {tuple(sizes)}", AGAIN)
    return elements.reshape(sizes)
