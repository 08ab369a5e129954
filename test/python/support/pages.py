"""The pages of the documentation and the code blocks on them. test_docs.py describes the blocks."""

import dataclasses

from programs import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "examples").glob("*/README.md"))]


@dataclasses.dataclass
class Block:
    info: list[str]  # the words after ```
    line: int  # of the first line inside
    text: list[str]

    @property
    def language(self):
        return self.info[0] if self.info else ""


def blocks_of(lines):
    found, inside = [], None
    for number, line in enumerate(lines):
        if inside is None and line.startswith("```"):
            inside = Block(line[3:].split(), number + 1, [])
        elif inside is not None and line.startswith("```"):
            found.append(inside)
            inside = None
        elif inside is not None:
            inside.text.append(line)
    assert inside is None, f"the block of line {inside.line} has no end"
    return found


def commands_of(block):
    """[command, what the page says it prints]"""
    found = []
    for line in block.text:
        if found and found[-1][0].endswith("\\") and not found[-1][1]:
            found[-1][0] += "\n" + line.removeprefix("> ")
        elif line.startswith("$ "):
            found.append([line[2:], []])
        else:
            assert found, f"line {block.line}: a console block starts with a command: $ ..."
            found[-1][1].append(line)
    return found
