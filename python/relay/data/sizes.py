"""Numbers of bytes as people write them."""

from __future__ import annotations

import re

from ..errors import bad_option


def bytes_of(text: str) -> float:
    """Returns the number of bytes of "80G" (80 * 1000**3) or "80GiB" (80 * 1024**3)."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kKMGT]?)(i?)B?", str(text))
    if not match:
        raise bad_option(f"{text!r} is not a size", "write 80G, or 80GiB for powers of two")
    power = " KMGT".index(match[2].upper() or " ")
    return float(match[1]) * (1024 if match[3] else 1000) ** power
