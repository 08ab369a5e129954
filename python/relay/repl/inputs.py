"""The form of inputs: where one ends, and what kind it is."""

from __future__ import annotations

import dataclasses
import re

# A string, a comment, or a bracket. An open comment ends with the text, an open string with its line.
_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"?|//[^\n]*|/\*.*?(?:\*/|\Z)|[()\[\]{}]', re.DOTALL)
_DEFINITION = re.compile(r"(?:def|type|extern|import|#\[version)(?![\w.])")
_BINDING = re.compile(r"(let\s+)?%([A-Za-z_]\w*)\s*(:[^=;]*)?=(?!=)")


def bracket_depth(text: str) -> int:
    """The number of brackets that are open at the end of the text. An open comment counts as one."""
    depth = 0
    for match in _TOKEN.finditer(text):
        token = match.group()
        if len(token) == 1 and token in "([{":
            depth += 1
        elif len(token) == 1 and token in ")]}":
            depth -= 1
        elif token.startswith("/*") and (len(token) < 4 or not token.endswith("*/")):
            depth += 1
    return depth


def without_comments(text: str) -> str:
    """The text with spaces for comments, so that places stay the same."""
    return _TOKEN.sub(
        lambda match: re.sub(r"[^\n]", " ", match.group()) if match.group().startswith("/") else match.group(), text
    )


def is_complete(text: str) -> bool:
    """True unless brackets are open, or the last line ends in ; = or , or is the header of a program."""
    if text.lstrip().startswith(":"):  # a command is one line
        return True
    if bracket_depth(text) > 0:
        return False
    last = text.endswith("\n") and not text.rsplit("\n", 2)[-2].strip()  # an empty line ends any input
    code = without_comments(text).rstrip()
    return last or not (code.endswith((";", "=", ",", "->")) or re.fullmatch(r"\s*#\[version[^\n]*", code))


def split(lines):
    """Yields the inputs of lines of text. The last one may be incomplete."""
    text = ""
    for line in lines:
        line = line.rstrip("\n")
        if not text and not line.strip():
            continue
        text += line + "\n"
        if is_complete(text if not line.strip() else text[:-1]):
            yield text.rstrip("\n")
            text = ""
    if text:
        yield text.rstrip("\n")


@dataclasses.dataclass
class Input:
    kind: str  # "empty", "command", "definition", "binding" or "expression"
    text: str  # of the program; the rest of the input is blank, so that places are those of the input
    name: str = ""  # of the command or variable


def read(text: str) -> Input:
    """The kind of an input."""
    code = without_comments(text).strip()
    if not code:
        return Input("empty", "")
    start = len(text) - len(text.lstrip())
    if text[start] == ":":
        word = re.match(r":\S*", text[start:]).group()
        return Input("command", _blanked(text, start + len(word)), word[1:])
    if _DEFINITION.match(code):
        return Input("definition", text)
    begin = re.search(r"\S", without_comments(text)).start()
    binding = _BINDING.match(without_comments(text), begin)
    if binding and not _has_body(text[binding.end() :]):
        if binding.group(1):
            return Input("binding", f"{text.rstrip().rstrip(';')}\n; %{binding.group(2)}", binding.group(2))
        return Input("binding", _blanked(text, binding.end()).rstrip().rstrip(";"), binding.group(2))
    return Input("expression", text)


def _blanked(text: str, end: int) -> str:
    return re.sub(r"[^\n]", " ", text[:end]) + text[end:]


def _has_body(text: str) -> bool:
    """True if an expression follows after the first ; outside of brackets."""
    code = without_comments(text)
    return any(code[i] == ";" and bracket_depth(code[:i]) == 0 and code[i + 1 :].strip() for i in range(len(code)))
