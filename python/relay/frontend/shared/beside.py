"""The files of a model that consists of two: the network, and its weights beside it."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Sequence

from ...errors import wrong_input


def partner(path: str, ends: Sequence[str], names: Sequence[str], what: str, help: str) -> str | None:
    """Returns the file that belongs to `path`: one of the `names` in its folder, or else the only one with one of the
    `ends`. None if there is no such file. Several of them are refused.

    what: "weights", for messages. help: the way out if there are several.
    """
    folder = pathlib.Path(path).parent
    for name in names:
        if (folder / name).is_file():
            return os.fspath(folder / name)
    try:
        found = sorted(one.name for one in folder.iterdir() if one.name.endswith(tuple(ends)))
    except OSError:
        return None
    if len(found) > 1:
        listed = ", ".join(found[:4]) + (", ..." if len(found) > 4 else "")
        raise wrong_input(f"several files beside {path} may be its {what}: {listed}", help)
    return os.fspath(folder / found[0]) if found else None
