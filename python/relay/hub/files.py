"""Files of a hub: digests, copies that are checked while they are made, writes that are whole or absent, locks."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import json
import os
import stat
import time
from collections.abc import Iterator
from typing import BinaryIO

from ..errors import CompileError, told

CHUNK = 1 << 20  # bytes that are read at once
MOST_TEXT = 4 << 20  # bytes of a JSON file
_NO_FILE = "check the path; if a hub lost the file, push the model again"


def corrupt(message: str, help: str) -> CompileError:
    """Returns an error of a file whose content is wrong (R0402)."""
    return told("corrupt_file", message, help)


def not_found(message: str, help: str) -> CompileError:
    """Returns an error of a file that does not exist or cannot be read (R0401)."""
    return told("file_not_found", message, help)


def opened(path: str) -> BinaryIO:
    """Opens a regular file. Anything else, such as a pipe that would block, is refused (R0401)."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise not_found(f"{path} cannot be read: {error.strerror}", _NO_FILE) from error
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise not_found(f"{path} is not a file", _NO_FILE)
    return os.fdopen(number, "rb")


def digest_of(path: str) -> tuple[str, int]:
    """Returns the digest of a file, "sha256:" and 64 hexadecimal digits, and its size in bytes."""
    with opened(path) as file:
        digest = hashlib.file_digest(file, "sha256")
        return f"sha256:{digest.hexdigest()}", file.tell()


def digest_of_bytes(content: bytes) -> str:
    """Returns the digest of bytes in the form of digest_of()."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def is_whole(path: str, digest: str, size: int) -> bool:
    """True if the file exists and has this digest and this size in bytes."""
    return os.path.isfile(path) and os.path.getsize(path) == size and digest_of(path)[0] == digest


def copy_checked(path: str, digest: str, size: int, out: BinaryIO, what: str) -> None:
    """Copies a file, and raises an error (R0402) unless it has this digest and this size in bytes. No more than `size`
    bytes are written. `what` names the file in messages."""
    help = "nothing of it was used: pull from another copy, or ask the publisher to push the model again"
    running, left = hashlib.sha256(), size
    with opened(path) as file:
        found = os.fstat(file.fileno()).st_size
        if found != size:
            raise corrupt(f"{what} in {path} has {found} bytes, but its manifest says {size}", help)
        while left and (chunk := file.read(min(CHUNK, left))):
            running.update(chunk)
            out.write(chunk)
            left -= len(chunk)
    is_digest = f"sha256:{running.hexdigest()}"
    if left or is_digest != digest:
        raise corrupt(f"{what} in {path} was changed: its digest is {is_digest}, but its manifest says {digest}", help)


def bytes_checked(path: str, digest: str, size: int, what: str) -> bytes:
    """Returns the content of a small file after the checks of copy_checked()."""
    if size > MOST_TEXT:
        raise told(
            "limit_exceeded",
            f"{what} in {path} has {size} bytes by its manifest, more than {MOST_TEXT}",
            "a hub writes less: ask the publisher to push the model again",
        )
    out = io.BytesIO()
    copy_checked(path, digest, size, out, what)
    return out.getvalue()


def small_bytes(path: str) -> bytes:
    """Returns the content of a file of at most MOST_TEXT bytes."""
    with opened(path) as file:
        content = file.read(MOST_TEXT + 1)
    if len(content) > MOST_TEXT:
        raise told("limit_exceeded", f"{path} has more than {MOST_TEXT} bytes", "check the path: a hub writes less")
    return content


def _no_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        raise ValueError("an entry appears twice")
    return entries


def json_of(content: bytes, where: str) -> object:
    """Returns the value of a JSON text. Raises an error (R0402) that names `where`."""

    def refuse(word: str) -> None:
        raise ValueError(f"{word} is not a number of JSON")

    try:
        return json.loads(content, object_pairs_hook=_no_duplicates, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise corrupt(f"{where} is not JSON: {error}", "push the model again, or check the path") from error


def json_bytes(value: object) -> bytes:
    """Returns a JSON text that depends only on the value."""
    return (json.dumps(value, indent=2, sort_keys=True, allow_nan=False) + "\n").encode()


@contextlib.contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """Opens a file that gets the name `path` when it is complete and on the disk. An error leaves nothing."""
    part = f"{path}.{os.getpid()}.part"
    try:
        with open(part, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
        raise


def write(path: str, content: bytes) -> None:
    """Writes a file that is whole or absent."""
    with replacing(path) as file:
        file.write(content)


def _try_lock(path: str) -> int | None:
    """Returns the number of the open and locked file, or None if another process holds it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
    except FileNotFoundError:  # something else removed its folder
        return None
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(number), os.stat(path)):
            return number
    except (BlockingIOError, FileNotFoundError):  # held, or removed by the holder before
        pass
    except BaseException:
        os.close(number)
        raise
    os.close(number)
    return None


@contextlib.contextmanager
def locked(path: str, seconds: float) -> Iterator[None]:
    """Holds the lock file `path`, which the end of the process frees, and removes it. Raises an error (R0401) if
    another process holds it for longer than `seconds`."""
    end = time.monotonic() + seconds
    while (number := _try_lock(path)) is None:
        if time.monotonic() > end:
            raise not_found(
                f"another process has held {path} for {seconds:g} s", "wait for it, or end it and try again"
            )
        time.sleep(0.05)
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        os.close(number)
