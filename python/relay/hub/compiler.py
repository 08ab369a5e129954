"""Compilations in a process of their own: for any processor, and without loading the code that is made.

relay.compile() loads its result in order to run it, which works only on the processor that it is for.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from ..errors import CompileError, InternalError
from .manifest import Options

_NOTHING = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(0), int8]) { %x }\n'


def _answer(*arguments: str) -> str:
    """Returns the output of the command `relay` with these arguments. Its diagnostics become a CompileError."""
    command = [sys.executable, "-P", "-m", "relay", "--quiet", *arguments]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if done.returncode < 0:
        raise InternalError(f"`relay {' '.join(arguments)}` ended by signal {-done.returncode}")
    if done.returncode:
        raise CompileError(done.stderr.strip())
    return done.stdout


def _flags(target: str, options: Options) -> list[str]:
    shapes = [f"--shape={name}={','.join(map(str, dims))}" for name, dims in options.shapes.items()]
    return [f"--target={target}", f"--opt-level={options.opt_level}", f"--numerics={options.numerics}", *shapes]


def compiled(model: str, artifact: str, target: str, options: Options, schedules: str | None = None) -> dict:
    """Compiles a model's file to an artifact, and returns the report. `schedules`: a file as schedules_of() writes."""
    given = [f"--schedule={schedules}"] if schedules else []
    flags = [*_flags(target, options), *given, "--emit=artifact", "--json"]
    return json.loads(_answer("compile", model, "-o", artifact, *flags))


def schedules_of(model: str, target: str, options: Options) -> str:
    """Returns the schedules of all groups of a model, as text."""
    return _answer("opt", model, "--emit=schedule", *_flags(target, options))


def target_of(text: str) -> dict:
    """Returns the compiler's description of the processor that --target names."""
    with tempfile.TemporaryDirectory(prefix="relay-hub-") as folder:
        path = os.path.join(folder, "nothing.relay")
        with open(path, "w", encoding="utf-8") as file:
            file.write(_NOTHING)
        return json.loads(_answer("inspect", path, "--json", f"--target={text}"))["target"]
