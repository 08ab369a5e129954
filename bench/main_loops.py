"""The innermost loops of kernels in assembly code, for AArch64, RISC-V and WebAssembly.

    for name, lines in kernels(assembly).items():
        loop = main_loop(lines)          the innermost loop with the most multiply-adds; None if there is none
        loop.count("fmla"), loop.multiply_adds, loop.stack_accesses

A loop is a block that jumps to its own beginning. Its accesses to the stack are what a register allocator adds if
registers are short (spills), and arrays of the kernel that are in memory.
"""

import re
from typing import NamedTuple

# Multiply-adds of numbers, or of products, that one instruction computes, by its mnemonic and its operands.
MULTIPLY_ADDS = [
    (r"fml[as]\s+v\d+\.4s", 4),
    (r"fml[as]\s+v\d+\.(2d|2s)", 2),
    (r"fml[as]\s+v\d+\.8h", 8),
    (r"fmadd\s", 1),
    (r"fmul\s+v\d+\.4s", 4),
    (r"[su]ml[as]l2?\s+v\d+\.8h", 8),
    (r"[su]ml[as]l2?\s+v\d+\.4s", 4),
    (r"ml[as]\s+v\d+\.4s", 4),
    (r"ml[as]\s+v\d+\.8h", 8),
    (r"[su]mull2?\s+v\d+\.8h", 8),
    (r"[su]mull2?\s+v\d+\.4s", 4),
    (r"(us|s|u)dot\s+v\d+\.4s", 16),
    (r"bfdot\s+v\d+\.4s", 8),
    (r"(us|s|u)mmla\s+v\d+\.4s", 32),
    (r"bfmmla\s+v\d+\.4s", 16),
    (r"f32x4\.mul\b", 4),
]
# Multiply-adds for each float32 lane of a vector register of SVE or RISC-V.
FOR_EACH_LANE = [(r"vf(macc|madd|nmsac|mul)\.v[vf]", 1), (r"fm(la|ad|ls|sb)\s+z\d+\.s", 1)]
STACK = re.compile(r"[\[(](sp|x29|s0)\b")
JUMP = re.compile(r"(?:b\.?\w*|cbn?z|tbn?z|bne|beq|blt|bge|bltu|bgeu|bnez|beqz|j)\b.*?(\.L\w+)\s*$")


class Loop(NamedTuple):
    lines: list[str]
    lanes: int  # of a vector of RISC-V or SVE, in float32

    def count(self, mnemonic):
        """Instructions whose mnemonic is this regular expression."""
        return sum(re.match(rf"{mnemonic}\b", line) is not None for line in self.lines)

    @property
    def multiply_adds(self):
        """The number in one iteration."""
        total = self.lanes * sum(n * self.count(pattern) for pattern, n in FOR_EACH_LANE)
        return total + sum(n * self.count(pattern) for pattern, n in MULTIPLY_ADDS)

    @property
    def stack_accesses(self):
        # x29 and s0 are the frame's address unless the loop writes them.
        written = {line.split()[1].rstrip(",") for line in self.lines if " " in line or "\t" in line}
        found = [(line, STACK.search(line)) for line in self.lines]
        return [line for line, access in found if access and (access[1] == "sp" or access[1] not in written)]


def kernels(assembly):
    """The lines of instructions and labels of each function, by its name."""
    found, lines = {}, None
    for line in assembly.splitlines():
        text = line.split("//")[0].strip()
        if name := re.fullmatch(r"([A-Za-z_]\w*):", text):
            lines = found.setdefault(name[1], [])
        elif text.startswith(".section"):
            lines = None
        elif lines is not None and text and (text.startswith(".L") or not text.startswith(".")):
            lines.append(" ".join(text.split()))
    return found


def loops(lines, lanes=4):
    """The innermost loops of a function."""
    found, label, block = [], None, []
    for line in lines:
        if start := re.fullmatch(r"(\.L\w+):", line):
            label, block = start[1], []
            continue
        block.append(line)
        jump = JUMP.match(line)
        if jump and jump[1] == label:
            found.append(Loop(block, lanes))
        if jump or line == "end_loop":  # of WebAssembly, whose jumps have no labels
            if line == "end_loop" and block[0] == "loop":
                found.append(Loop(block[1:-1], lanes))
            label, block = None, []
    return found


def main_loop(lines, lanes=4):
    candidates = [loop for loop in loops(lines, lanes) if loop.multiply_adds > 0]
    return max(candidates, key=lambda loop: loop.multiply_adds, default=None)
