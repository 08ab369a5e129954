"""Configurations of DarkNet (.cfg): sections with options, one section a layer."""

from __future__ import annotations

import dataclasses

from ...errors import told

MOST_BYTES, MOST_SECTIONS = 4 << 20, 20_000
AGAIN = "a configuration begins with [net], then has one section for each layer, of lines key=value"

# Short names of sections.
_NAMES = {
    "network": "net", "conv": "convolutional", "deconv": "deconvolutional", "conn": "connected", "max": "maxpool",
    "avg": "avgpool", "lrn": "normalization", "soft": "softmax",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Section:
    """A section: its kind with the short names resolved, its line from 1, and its options as texts."""

    kind: str
    line: int
    options: dict[str, str]


def sections_of(name: str, content: bytes) -> list[Section]:
    """Returns the sections of a configuration, the first of which is [net]. name: the file, for messages."""
    if len(content) > MOST_BYTES:
        raise told("limit_exceeded", f"{name} has {len(content)} bytes, more than {MOST_BYTES}", AGAIN)
    if b"\0" in content:
        raise told("corrupt_file", f"{name} is not a text: byte {content.index(0)} is zero", AGAIN)
    made: list[Section] = []
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        line = "".join(line.split())  # DarkNet drops all spaces
        if not line or line[0] in "#;":
            continue
        if line[0] == "[":
            kind = line.partition("]")[0][1:].lower()
            made.append(Section(_NAMES.get(kind, kind), number, {}))
            continue
        key, equals, value = line.partition("=")
        if not equals or not key:
            raise told("corrupt_file", f"line {number} of {name} is {line[:40]!r}, not key=value", AGAIN)
        if not made:
            raise told("corrupt_file", f"line {number} of {name} is outside of a section", AGAIN)
        made[-1].options[key] = value.partition("#")[0]
    if not made or made[0].kind != "net":
        raise told("bad_model", f"{name} does not begin with the section [net]", AGAIN)
    if len(made) > MOST_SECTIONS:
        raise told("limit_exceeded", f"{name} has {len(made)} sections, more than {MOST_SECTIONS}", AGAIN)
    return made
