"""A reader of untrusted bytes, which checks every length before it is used."""

from __future__ import annotations

import math
import os
import pathlib
import struct
from collections.abc import Sequence

import numpy as np

from ...errors import CompileError, told

MOST_BYTES = 1 << 36  # of a file


def read_file(path: str | os.PathLike) -> bytes:
    """Returns the bytes of a file."""
    try:
        if os.path.getsize(path) > MOST_BYTES:
            raise told("limit_exceeded", f"{path} has more than {MOST_BYTES} bytes", "split the model")
        content = pathlib.Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        why = getattr(error, "strerror", None) or error
        raise told("file_not_found", f"{os.fspath(path)!r} cannot be read: {why}", "check the path") from error
    if content.startswith(b"version https://git-lfs"):
        raise told("corrupt_file", f"{path} is a pointer of Git LFS, not the file itself", "git lfs pull")
    return content


class Reader:
    """Bytes with a position. name: the file, for messages."""

    def __init__(self, name: str, content: bytes, again: str):
        """again: the way out if the bytes are damaged."""
        self.name, self.content, self.again, self.at = name, memoryview(content), again, 0

    @property
    def left(self) -> int:
        return len(self.content) - self.at

    def corrupt(self, what: str, at: int | None = None) -> CompileError:
        """Returns the error of damaged bytes at the position."""
        place = self.at if at is None else at
        return told("corrupt_file", f"{self.name} is damaged at byte {place}: {what}", self.again)

    def take(self, count: int, what: str) -> memoryview:
        if not 0 <= count <= self.left:
            raise self.corrupt(f"{what} needs {count} bytes, and {self.left} are left")
        self.at += count
        return self.content[self.at - count : self.at]

    def number(self, form: str, what: str) -> int:
        """Returns a number in a form of the module struct: "I" has 4 bytes, "q" has 8."""
        return struct.unpack(f"<{form}", self.take(struct.calcsize(f"<{form}"), what))[0]

    def array(self, dtype, shape: Sequence[int], what: str) -> np.ndarray:
        """Returns elements that share the bytes."""
        dtype = np.dtype(dtype).newbyteorder("<")
        if any(one < 0 for one in shape) or len(shape) > 32:
            raise self.corrupt(f"{what} has the shape {tuple(shape)}")
        content = self.take(math.prod(shape) * dtype.itemsize, what)
        return np.frombuffer(content, dtype).reshape(tuple(shape))
