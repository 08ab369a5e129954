"""Checkpoints, which hold the values of variables: NAME.index, and shards NAME.data-0000K-of-0000N.

The index is a table in LevelDB's format: blocks of sorted keys, each with the bytes of a BundleEntryProto. Each length
is checked against the bytes present before anything of that size is read.
"""

from __future__ import annotations

import math
import os
import struct

import numpy as np

from ..shared.wire import WireError, varint
from .messages import BUNDLE_ENTRY, BUNDLE_HEADER
from .tensors import beyond, corrupt, dtype_name, numpy_type, sizes

_MAGIC = bytes.fromhex("57fb808b247547db")
_FOOTER, _TRAILER = 48, 5  # bytes
_MOST_INDEX = 256 << 20  # bytes
_MOST_KEYS = 1_000_000
_MOST_KEY_BYTES = 64 << 20  # of all keys, which share their beginnings in the file


class Checkpoint:
    """The variables of a checkpoint, by key."""

    def __init__(self, prefix: str):
        """prefix: the path without ".index"."""
        self._prefix, self.name = prefix, f"{prefix}.index"
        self._shards = {}
        try:
            with open(self.name, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size > _MOST_INDEX:
                    raise beyond(f"{self.name} has {size} bytes, more than {_MOST_INDEX}")
                content = file.read()
        except OSError as error:
            raise corrupt(f"{self.name}, which lists the variables, cannot be read: {error.strerror}") from error
        try:
            found = dict(_entries(content))
            header = BUNDLE_HEADER.read(memoryview(found.pop(b"", b"")))
            self._entries = {key.decode("utf-8", "replace"): value for key, value in found.items()}
        except WireError as error:
            raise corrupt(f"{self.name} is damaged at byte {error.at}: {error}") from error
        self._count = header.num_shards
        if header.endianness != 0:
            raise corrupt(f"{self.name} is of a machine with big-endian numbers", "save it again on a usual machine")

    def keys(self) -> list[str]:
        return list(self._entries)

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def array(self, key: str) -> np.ndarray:
        """Returns the elements of a variable. Its bytes stay in the file until they are used."""
        raw = self._entries[key]
        try:
            entry = BUNDLE_ENTRY.read(memoryview(raw))
        except WireError as error:
            raise corrupt(f"the entry of `{key}` in {self.name} is damaged: {error}") from error
        shape, dtype = sizes(entry.shape), dtype_name(entry.dtype)
        if shape is None or min(shape, default=0) < 0 or entry.slices:
            raise corrupt(f"the variable `{key}` in {self.name} has no whole shape", "save it without partitions")
        if dtype in ("string", "resource", "variant"):
            raise corrupt(f"the variable `{key}` in {self.name} holds {dtype}s, not numbers")
        kind = numpy_type(dtype)
        count = math.prod(shape)
        if entry.size != count * kind.itemsize:
            raise corrupt(
                f"the variable `{key}` in {self.name} has {entry.size} bytes, and its shape {tuple(shape)} of {dtype} "
                f"needs {count * kind.itemsize}"
            )
        shard = self._shard(entry.shard_id)
        if entry.offset < 0 or entry.offset + entry.size > len(shard):
            raise corrupt(
                f"the variable `{key}` lies at bytes {entry.offset} to {entry.offset + entry.size} of "
                f"{self._shard_name(entry.shard_id)}, which has {len(shard)}"
            )
        return shard[entry.offset : entry.offset + entry.size].view(kind).reshape(shape)

    def _shard_name(self, number: int) -> str:
        return f"{self._prefix}.data-{number:05d}-of-{self._count:05d}"

    def _shard(self, number: int) -> np.ndarray:
        if number not in self._shards:
            if not 0 <= number < min(self._count, 100_000):
                raise corrupt(f"{self.name} names the shard {number} of {self._count}")
            name = self._shard_name(number)
            try:
                empty = os.path.getsize(name) == 0
                self._shards[number] = np.zeros(0, np.uint8) if empty else np.memmap(name, np.uint8, "r")
            except OSError as error:
                raise corrupt(
                    f"{name}, which holds weights, cannot be read: {error.strerror}",
                    "copy it beside the index: a model needs all files of its folder",
                ) from error
        return self._shards[number]


def _entries(content: bytes):
    """Yields the keys and values of a table."""
    view = memoryview(content)
    if len(content) < _FOOTER or content[-8:] != _MAGIC:
        raise WireError("it does not end as the index of a checkpoint", max(len(content) - 8, 0))
    footer = view[-_FOOTER:]
    at = 0
    for _ in range(2):  # of the meta index, which is empty
        _, at = varint(footer, at, len(content) - _FOOTER)
    offset, at = varint(footer, at, len(content) - _FOOTER)
    size, at = varint(footer, at, len(content) - _FOOTER)
    count = total = 0
    for _, handle in _block(view, offset, size):
        where, at = varint(handle, 0, offset)
        length, at = varint(handle, at, offset)
        for key, value in _block(view, where, length):
            count, total = count + 1, total + len(key)
            if count > _MOST_KEYS or total > _MOST_KEY_BYTES:
                raise WireError(f"it has more than {_MOST_KEYS} variables, or names of {_MOST_KEY_BYTES} bytes", where)
            yield key, value


def _block(view: memoryview, offset: int, size: int):
    """Yields the keys and values of a block, whose keys share a beginning with the one before."""
    if offset + size + _TRAILER > len(view) or size < 4:
        raise WireError(f"a block of {size} bytes lies outside of the file", offset)
    if view[offset + size] != 0:
        raise WireError("a block is compressed, which TensorFlow does not write", offset + size)
    block = view[offset : offset + size]
    restarts = struct.unpack("<I", block[-4:])[0]
    end = size - 4 - 4 * restarts
    if end < 0:
        raise WireError(f"a block has {restarts} restarts in {size} bytes", offset)
    at, key = 0, b""
    while at < end:
        shared, at = varint(block, at, offset)
        own, at = varint(block, at, offset)
        length, at = varint(block, at, offset)
        if shared > len(key) or own + length > end - at:
            raise WireError("an entry reaches past its block", offset + at)
        key = key[:shared] + bytes(block[at : at + own])
        at += own
        yield key, bytes(block[at : at + length])
        at += length
