"""relay.backend.name_transforms: names in generated C programs."""

from __future__ import annotations

import re

from relay import CompileError


def _words(name: str) -> list[str]:
    if not name:
        raise CompileError("error: Name is empty")
    return re.split(r"[_-]", name)


def _prefixed(name: str) -> None:
    if not name.startswith("TVM"):
        raise CompileError(
            "error: Function not TVM prefixed: names of functions, variables and constants begin with TVM"
        )


def to_c_function_style(original_name: str) -> str:
    """Converts TVM_woof_Woof to TVMWoofWoof."""
    words = _words(original_name)
    _prefixed(original_name)
    return "TVM" + "".join(word[:1].upper() + word[1:] for word in words[1:] if word)


def to_c_variable_style(original_name: str) -> str:
    """Converts TVM_Woof to tvm_woof."""
    _words(original_name)
    _prefixed(original_name)
    return original_name.lower().replace("-", "_")


def to_c_constant_style(original_name: str) -> str:
    """Converts TVM_Woof to TVM_WOOF."""
    return to_c_variable_style(original_name).upper()


def prefix_name(name) -> str:
    """Converts Woof to TVM_Woof, and ["Woof", "woof"] to TVM_Woof_woof."""
    return _joined("TVM", name)


def prefix_generated_name(name) -> str:
    """Converts Woof to TVMGen_Woof."""
    return _joined("TVMGen", name)


def _joined(prefix: str, name) -> str:
    names = [name] if isinstance(name, str) else list(name)
    if not names:
        raise CompileError("error: Name segments empty")
    if not any(names):
        raise CompileError("error: Name segment is empty" if len(names) > 1 else "error: Name is empty")
    return "_".join([prefix, *names])


def sanitize_name(name: str) -> str:
    """Replaces every character that a C name cannot contain by an underscore."""
    if not name:
        raise CompileError("error: Name is empty")
    return re.sub(r"[^A-Za-z0-9_]", "_", name)
