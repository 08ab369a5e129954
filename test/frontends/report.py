"""Writes results into the page of the front ends."""

import pathlib

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "front-ends.md"


def write(block, lines):
    """Replaces a part of the page between its marks."""
    begin, end = f"<!-- {block}: written by make test-frontends -->\n", f"\n<!-- end of {block} -->"
    front, mark, rest = PAGE.read_text().partition(begin)
    if not mark:
        raise ValueError(f"{PAGE} has no part {block}")
    PAGE.write_text(front + begin + "\n".join(lines) + end + rest.partition(end)[2])
