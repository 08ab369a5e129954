"""Lists of names in the text of a module: the attributes of each operator, the options of each layer."""

from __future__ import annotations


def names_by_first(text: str) -> dict[str, frozenset[str]]:
    """Reads lines `first: name name ..`; a line that begins with a space goes on with the one before."""
    found: dict[str, list[str]] = {}
    first = ""
    for line in text.strip().splitlines():
        if not line.startswith(" "):
            first, _, line = line.partition(":")
            found[first] = []
        found[first] += line.split()
    return {first: frozenset(names) for first, names in found.items()}
