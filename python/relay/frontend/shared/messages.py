"""The forms in which users give a protobuf message: a path, bytes, text, or the message object of a framework."""

from __future__ import annotations

import os

from ...errors import wrong_input
from .binary import read_file


def content_of(given: object, what: str, is_text: bool) -> tuple[str, bytes]:
    """Returns a name for messages and the bytes: protobuf's text form if `is_text`, else its wire format.

    what: "weights", for messages.
    """
    if isinstance(given, (bytes, bytearray, memoryview)):
        return f"<{what}>", bytes(given)
    if isinstance(given, str) and is_text and ("{" in given or "\n" in given):
        return f"<{what}>", given.encode()
    if isinstance(given, (str, os.PathLike)):
        return os.fspath(given), read_file(given)
    if hasattr(given, "SerializeToString") and hasattr(given, "DESCRIPTOR"):
        return f"<{type(given).__name__}>", str(given).encode() if is_text else given.SerializeToString()
    raise wrong_input(
        f"the {type(given).__name__} is given as the {what}",
        "give the path of a file, its bytes, or the protobuf message",
    )
