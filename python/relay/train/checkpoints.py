"""Checkpoints: everything that a training needs to go on bit for bit.

    FOLDER/latest                            the name of the last complete checkpoint
    FOLDER/step-00000040/manifest.json       what it is of, its tensors and the checksums of its files
    FOLDER/step-00000040/part-00000.safetensors

A checkpoint is written into a hidden folder, flushed to the disk and renamed, so that a folder that is there is
complete.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from .. import _core
from ..data import safetensors
from ..errors import bad_option, wrong_input
from .program import MICRO
from .step import Step

FORMAT = 1
HIDDEN = ".writing-"


def new_digest():
    """Returns the hash of a file's checksum."""
    return hashlib.blake2b(digest_size=16)


def flush(folder: Path) -> None:
    """Flushes the names in a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Writes a file that is either the old one or the new one after a crash."""
    hidden = path.with_name(f"{HIDDEN}{path.name}")
    with open(hidden, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(hidden, path)
    flush(path.parent)


def identity(step: Step) -> dict[str, Any]:
    """Returns the facts that must agree for a training to go on bit for bit."""
    target = step.report["target"]
    return {
        "program": f"{_core.structural_hash(step.module):016x}",
        "optimisers": {name: one.describe() for name, one in step.plan.optimisers.items()},
        "relay": _core.version,
        "target": {name: str(value) for name, value in target.items()}
        if isinstance(target, dict)
        else {"name": str(target)},
        "numerics": step.report["numerics"],
    }


def _pieces(arrays: dict[str, np.ndarray], limit: int) -> list[list[tuple[str, int, np.ndarray]]]:
    """Returns the tensors of each file: (name, first row, rows). A tensor larger than `limit` bytes is divided along
    its first axis."""
    files: list[list] = [[]]
    size = 0
    for name, value in arrays.items():
        rows = (
            max(1, limit // max(1, value.nbytes // max(1, len(value)))) if value.ndim and value.nbytes > limit else None
        )
        begins = range(0, len(value), rows) if rows else [0]
        for begin in begins:
            piece = value[begin : begin + rows] if rows else value
            if files[-1] and size + piece.nbytes > limit:
                files.append([])
                size = 0
            files[-1].append((name, begin, piece))
            size += piece.nbytes
    return files


class Checkpoints:
    """Checkpoints of a training in a folder.

    keep: complete checkpoints that are kept; older ones are removed. asynchronous: save() copies the arrays and
    returns, and a thread writes them. shard_bytes: the greatest size of a file.
    """

    def __init__(
        self, folder: str | os.PathLike, *, keep: int = 3, asynchronous: bool = True, shard_bytes: int = 1 << 30
    ):
        if keep < 1 or shard_bytes < 1:
            raise bad_option(f"keep is {keep}, shard_bytes {shard_bytes}", "give 1 or more of each")
        self.folder, self.keep, self.shard_bytes = Path(folder), keep, shard_bytes
        self._pool = ThreadPoolExecutor(1) if asynchronous else None
        self._writing: Future | None = None

    # --- saving -------------------------------------------------------------------------------------------------------
    def save(self, step: Step, data: Any = None, **extra: Any) -> None:
        """Saves a step, the position of the data, and further values that JSON can hold."""
        self.wait()
        manifest = {"format": FORMAT, "step": step.count, "calls": step.calls, "of": identity(step), "extra": extra}
        manifest["micro"] = int(step.arrays[MICRO]) if MICRO in step.arrays else 0
        manifest["data"] = None if data is None else data.state()
        if self._pool is None:
            self._write(manifest, step.arrays)
        else:  # steps change the arrays in place
            copies = {name: value.copy() for name, value in step.arrays.items()}
            self._writing = self._pool.submit(self._write, manifest, copies)

    def wait(self) -> None:
        """Waits until the last checkpoint is on the disk. Raises the error if it could not be written."""
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()

    def _write(self, manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        name = f"step-{manifest['step']:08d}" + (f".{manifest['micro']}" if manifest["micro"] else "")
        hidden = self.folder / f"{HIDDEN}{name}"
        try:
            self._remove_hidden()
            hidden.mkdir(parents=True)
            self._write_parts(hidden, manifest, arrays)
            flush(hidden)
            place = self.folder / name
            if place.exists():  # of a step that was skipped, or a training that went back
                os.rename(place, self.folder / f"{HIDDEN}{name}.old")
            os.rename(hidden, place)
            flush(self.folder)
            write_text(self.folder / "latest", name)
            self._remove_hidden()
        except OSError as error:
            shutil.rmtree(hidden, ignore_errors=True)
            raise wrong_input(
                f"the checkpoint {self.folder / name} cannot be written: {error.strerror or error}",
                "free space or choose another folder; the checkpoints before it are still there",
            ) from error
        for old in self.names()[: -self.keep]:
            shutil.rmtree(self.folder / old, ignore_errors=True)

    def _remove_hidden(self) -> None:
        if self.folder.is_dir():
            for left in self.folder.glob(f"{HIDDEN}step-*"):
                shutil.rmtree(left, ignore_errors=True)

    def _write_parts(self, hidden: Path, manifest: dict, arrays: dict[str, np.ndarray]) -> None:
        manifest["tensors"] = {
            name: {"dtype": value.dtype.name, "shape": list(value.shape), "pieces": []}
            for name, value in arrays.items()
        }
        manifest["files"] = {}
        for number, pieces in enumerate(_pieces(arrays, self.shard_bytes)):
            file, digest = f"part-{number:05d}.safetensors", new_digest()
            named = {f"{name}@{begin}" if begin else name: piece for name, begin, piece in pieces}
            size = safetensors.write(hidden / file, named, digest)
            manifest["files"][file] = {"bytes": size, "blake2b": digest.hexdigest()}
            for name, begin, piece in pieces:
                manifest["tensors"][name]["pieces"].append([file, begin, len(piece) if piece.ndim else 1])
        text = json.dumps(manifest, indent=1, sort_keys=True)
        write_text(
            hidden / "manifest.json",
            json.dumps({"blake2b": checksum(text), "manifest": manifest}, indent=1, sort_keys=True),
        )

    # --- loading ------------------------------------------------------------------------------------------------------
    def names(self) -> list[str]:
        """Returns the complete checkpoints, oldest first."""
        if not self.folder.is_dir():
            return []
        found = [one for one in self.folder.glob("step-*") if (one / "manifest.json").is_file()]
        return [
            one.name for one in sorted(found, key=lambda one: ((one / "manifest.json").stat().st_mtime_ns, one.name))
        ]

    def latest(self) -> str | None:
        """Returns the name of the last complete checkpoint, or None if there is none."""
        pointer, names = self.folder / "latest", self.names()
        name = pointer.read_text().strip() if pointer.is_file() else None
        return name if name in names else names[-1] if names else None

    def resume(self, step: Step, data: Any = None, *, name: str | None = None, anyway: bool = False) -> bool:
        """Loads the last checkpoint, or the one called `name`, into a step and its data. Returns false if there is
        none.

        anyway: also load a checkpoint of another program, processor or version, if its tensors fit. Bits may then
        differ from those of an undisturbed training.
        """
        self.wait()
        chosen = name or self.latest()
        if chosen is None:
            return False
        folder = self.folder / chosen
        manifest = self._manifest(folder)
        self._check_tensors(folder, manifest, step)
        if not anyway:
            self._check_identity(folder, manifest["of"], identity(step))
        loaded = self._tensors(folder, manifest)
        if data is not None and manifest["data"] is not None:
            data.restore(manifest["data"])
        for one, value in loaded.items():
            step.arrays[one][...] = value
        step.calls = int(manifest["calls"])
        return True

    def _damaged(self, path: Path, what: str):
        others = [one for one in self.names() if one != path.parent.name]
        way_out = f"use another one: resume(.., name={others[-1]!r})" if others else "start again: there is no other"
        return wrong_input(f"{path}: {what}", way_out)

    def _bytes(self, path: Path) -> bytes:
        try:
            return path.read_bytes()
        except OSError as error:
            raise self._damaged(path, f"cannot be read: {error.strerror}") from error

    def _manifest(self, folder: Path) -> dict[str, Any]:
        path = folder / "manifest.json"
        try:
            outer = json.loads(self._bytes(path))
            manifest = outer["manifest"]
            intact = checksum(json.dumps(manifest, indent=1, sort_keys=True)) == outer["blake2b"]
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged(path, "this is not the manifest of a checkpoint") from error
        if not intact:
            raise self._damaged(path, "its checksum differs: the file was changed or is damaged")
        if manifest["format"] != FORMAT:
            raise wrong_input(
                f"{path}: a checkpoint of format {manifest['format']}, and this Relay reads {FORMAT}",
                f"use the Relay that wrote it, {manifest['of']['relay']}",
            )
        return manifest

    def _check_tensors(self, folder: Path, manifest: dict, step: Step) -> None:
        """Refuses a checkpoint whose tensors are not those of the step."""

        def text(shape, dtype):
            return f"{dtype}{list(shape)}"

        there = {name: text(one["shape"], one["dtype"]) for name, one in manifest["tensors"].items()}
        here = {name: text(value.shape, value.dtype.name) for name, value in step.arrays.items()}
        found = [f"`{name}` is {there.get(name, 'absent')} there and {here.get(name, 'absent')} here"
                 for name in here | there if there.get(name) != here.get(name)]  # fmt: skip
        if found:
            more = f", and {len(found) - 3} more" if len(found) > 3 else ""
            raise wrong_input(
                f"{folder / 'manifest.json'} is of another training: {'; '.join(found[:3])}{more}",
                "make the step with the parameters, optimiser and options of the one that was saved",
            )

    def _check_identity(self, folder: Path, there: dict, here: dict) -> None:
        found = []
        for name, value in here.items():
            other = there.get(name)
            if other == value:
                continue
            if isinstance(value, dict) and isinstance(other, dict):
                key = next(key for key in value | other if value.get(key) != other.get(key))
                found.append(f"{name} ({key}): {other.get(key)} there, {value.get(key)} here")
            else:
                found.append(f"{name}: {other} there, {value} here")
        if found:
            raise wrong_input(
                f"{folder / 'manifest.json'} is of another training: {'; '.join(found)}",
                "use what it was made with, or resume(.., anyway=True), after which bits may differ",
            )

    def _tensors(self, folder: Path, manifest: dict) -> dict[str, np.ndarray]:
        """Returns the tensors. Every file is read once, and its checksum is compared."""
        out = {
            name: np.empty(one["shape"], safetensors.dtype(one["dtype"])) for name, one in manifest["tensors"].items()
        }
        wanted: dict[str, list] = {}
        for name, one in manifest["tensors"].items():
            for file, begin, rows in one["pieces"]:
                wanted.setdefault(file, []).append((name, begin, rows))
        for file, pieces in wanted.items():
            path, facts = folder / file, manifest["files"][file]
            content, digest = self._bytes(path), new_digest()
            digest.update(content)
            if len(content) != facts["bytes"]:
                raise self._damaged(path, f"{len(content)} bytes, and {facts['bytes']} were written")
            if digest.hexdigest() != facts["blake2b"]:
                raise self._damaged(path, "its checksum differs: the file was changed or is damaged")
            tensors = safetensors.read(path, content)
            for name, begin, rows in pieces:
                piece = tensors[f"{name}@{begin}" if begin else name]
                if piece.shape == out[name].shape:
                    out[name][...] = piece
                else:
                    out[name][begin : begin + rows] = piece
        return out


def checksum(text: str) -> str:
    """Returns the checksum of a text."""
    digest = new_digest()
    digest.update(text.encode())
    return digest.hexdigest()
