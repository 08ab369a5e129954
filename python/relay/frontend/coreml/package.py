"""The files of a model of Core ML: a .mlmodel file, or a .mlpackage folder with a manifest."""

from __future__ import annotations

import json
import os
import pathlib

from ...errors import told
from ..shared.binary import read_file
from .blobs import AGAIN

_MANIFEST, _MOST_MANIFEST = "Manifest.json", 1 << 20


def files_of(path: str | os.PathLike) -> tuple[str, bytes, pathlib.Path | None]:
    """Returns the path of the model's file, its bytes, and the folder that names of weights' files refer to."""
    found = pathlib.Path(path)
    if found.is_dir():
        found = _in_package(found)
    elif found.name == _MANIFEST:
        found = _in_package(found.parent)
    folder = found.parent if (found.parent / "weights").is_dir() else None
    return os.fspath(found), read_file(found), folder


def _in_package(folder: pathlib.Path) -> pathlib.Path:
    """Returns the file of the model that the manifest of a package names."""
    name = os.fspath(folder / _MANIFEST)
    content = read_file(name)
    if len(content) > _MOST_MANIFEST:
        raise told("limit_exceeded", f"{name} has {len(content)} bytes, more than {_MOST_MANIFEST}", AGAIN)
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise told("corrupt_file", f"{name} is not JSON: {str(error)[:100]}", AGAIN) from error
    entries = found.get("itemInfoEntries") if isinstance(found, dict) else None
    root = found.get("rootModelIdentifier") if isinstance(found, dict) else None
    entry = entries.get(root) if isinstance(entries, dict) and isinstance(root, str) else None
    place = entry.get("path") if isinstance(entry, dict) else None
    if not isinstance(place, str) or not place:
        raise told("bad_model", f"{name} does not name the file of its model", AGAIN)
    parts = pathlib.PurePosixPath(place).parts
    if ".." in parts or place.startswith("/") or "\0" in place:
        raise told("bad_model", f"{name} names a file outside of its folder: {place!r}", AGAIN)
    return folder.joinpath("Data", *parts)
