"""Takes a published model into a folder: the whole model or nothing, each file checked against the manifest."""

from __future__ import annotations

import dataclasses
import os
import shutil
import time
from collections.abc import Sequence

from .. import _core
from ..errors import CompileError, bad_option, told
from .compiler import compiled
from .files import copy_checked, digest_of, is_whole, json_bytes, json_of, locked, replacing, small_bytes, write
from .layouts import Published, Reference, published_at
from .manifest import NAME, RECORD, File, Manifest, Target
from .processors import Processor, choice, processor_of
from .signatures import check_trusted

_SPARE = 1 << 20  # bytes that are left free
_RECORDED = ("target", "is_compiled_here", "files")  # about a pulled folder, beside its request


@dataclasses.dataclass(frozen=True)
class Pulled:
    """A model that was pulled."""

    folder: str
    model: str  # the path of the model's file
    artifact: str  # the path of the compiled model
    target: str  # the processor, or the published target, that it is compiled for
    is_compiled_here: bool
    notes: tuple[str, ...]  # lines that say what was taken, and why


def _take(file: File, source: str, staging: str) -> tuple[str, bool]:
    """Returns the path of a checked copy of a file, and True if an earlier pull left it."""
    path = os.path.join(staging, file.digest.removeprefix("sha256:"))
    if is_whole(path, file.digest, file.bytes):
        return path, True
    with replacing(path) as out:
        copy_checked(source, file.digest, file.bytes, out, f"the file {file.name}")
    return path, False


def _link(path: str, name: str) -> None:
    """Gives a file a second name, or copies it on file systems without links."""
    try:
        os.link(path, name)
    except OSError:
        shutil.copyfile(path, name)


def _check_space(files: Sequence[File], folder: str) -> None:
    needed, free = sum(file.bytes for file in files), shutil.disk_usage(folder).free
    if needed + _SPARE > free:
        raise told(
            "limit_exceeded",
            f"the model has {needed} bytes, and {free} are free in {folder}",
            "free some space, or give another folder with --output",
        )


def _clean(staging: str) -> None:
    """Removes parts of files, and a folder that was not complete, which an interrupted pull left."""
    for entry in os.scandir(staging):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        elif entry.name.endswith(".part"):
            os.unlink(entry.path)


def _request(found: Published, processor: Processor, key: str | None) -> dict:
    """The request that a pulled folder answers. A folder with another request is not replaced."""
    return {
        "manifest": found.digest,
        "processor": [processor.cpu, processor.triple, sorted(processor.features)],
        "trusted": key is not None,
        "relay": _core.version,
    }


def _already(folder: str, request: dict) -> dict | None:
    """Returns the record of a folder that answers the request, if all of its files are whole. Raises an error if the
    folder holds anything else."""
    if not os.path.lexists(folder) or (os.path.isdir(folder) and not os.listdir(folder)):
        return None
    help = "remove it, or give another folder with --output"
    path = os.path.join(folder, RECORD)
    if not os.path.isfile(path):
        raise bad_option(f"{folder} exists, and is not a pulled model", help)
    record = json_of(small_bytes(path), path)
    if not isinstance(record, dict) or record.keys() != {*_RECORDED, "request"} or record["request"] != request:
        raise bad_option(f"{folder} holds another model, or one for another processor or with other trust", help)
    files = record["files"] if isinstance(record["files"], dict) else {RECORD: ""}
    for name, digest in files.items():
        file = os.path.join(folder, os.path.basename(name))
        if not os.path.isfile(file) or digest_of(file)[0] != digest:
            raise told("corrupt_file", f"{file} was changed after it was pulled", f"{help}, and pull again")
    return record


def _compile_here(
    manifest: Manifest, processor: Processor, target: str, schedules: str | None, whole: str
) -> list[str]:
    """Compiles the model of a folder that is complete but for the artifact. Nothing of the model is executed."""
    begin, notes, how_scheduled = time.monotonic(), [], ""
    path, artifact = (os.path.join(whole, name) for name in (manifest.model.name, _artifact_name(manifest)))
    try:
        compiled(path, artifact, target, manifest.options, schedules and os.path.join(whole, schedules))
        how_scheduled = f" with {schedules}" if schedules else ""
    except CompileError as error:
        if schedules is None:
            raise
        notes.append(f"the schedules were not used: {str(error).splitlines()[0]}")
        compiled(path, artifact, target, manifest.options)
    ms = (time.monotonic() - begin) * 1000
    return [*notes, f"compiled here for {processor.name} in {ms:.0f} ms{how_scheduled}"]


def _artifact_name(manifest: Manifest) -> str:
    """The name of the compiled model in a pulled folder."""
    stem = f"{manifest.name}.rart"
    taken = {manifest.model.name.lower(), *(file.name.lower() for file in manifest.beside)}
    return stem if stem.lower() not in taken else f"compiled-{stem}"


def _why_no_code(manifest: Manifest, target: Target | None, processor: Processor, key: str | None) -> str | None:
    """The reason why no published machine code is taken, or None if it is."""
    if target is None:
        names = ", ".join(one.target for one in manifest.targets) or "none"
        return f"no published target fits {processor.name}: {names}"
    if key is None:
        return (
            f"the machine code for {target.target} was not taken: --trust KEY takes that of a publisher whom you trust"
        )
    if manifest.relay != _core.version:
        return f"the machine code is of Relay {manifest.relay}, and this is {_core.version}"
    return None


def _fill(
    found: Published, processor: Processor, target_text: str, key: str | None, staging: str, whole: str
) -> tuple[dict, list[str]]:
    """Completes the folder `whole`, and returns its record and notes."""
    manifest = found.manifest
    target = choice(manifest, processor)
    reason = _why_no_code(manifest, target, processor, key)
    files = [manifest.model, *manifest.beside]
    if target and target.schedules:
        files.append(target.schedules)
    if target and reason is None:
        files.append(target.artifact)
    _check_space(files, staging)
    os.mkdir(whole)
    kept = 0
    for file in files:
        is_artifact = target is not None and file is target.artifact
        path, was_there = _take(file, found.path_of(file), staging)
        _link(path, os.path.join(whole, _artifact_name(manifest) if is_artifact else file.name))
        kept += was_there
    notes = [f"{kept} of {len(files)} files were there from an interrupted pull"] if kept else []
    if reason is None and target is not None:
        fit = "the same processor" if processor.is_exactly(target) else f"the best fit for {processor.name}"
        notes.append(f"machine code for {target.target}, {fit}, signed by {key}")
    else:
        schedules = target.schedules.name if target and target.schedules else None
        notes += [str(reason), *_compile_here(manifest, processor, target_text, schedules, whole)]
    write(os.path.join(whole, NAME), found.content)
    record = {
        "target": target.target if reason is None and target else processor.name,
        "is_compiled_here": reason is not None,
        "files": {name: digest_of(os.path.join(whole, name))[0] for name in sorted(os.listdir(whole))},
    }
    return record, notes


def _make(
    found: Published, processor: Processor, target: str, key: str | None, staging: str, folder: str, request: dict
) -> tuple[dict, list[str]]:
    """Makes the folder of a pulled model, whole, and returns its record and notes."""
    _clean(staging)
    whole = os.path.join(staging, "whole")
    record, notes = _fill(found, processor, target, key, staging, whole)
    write(os.path.join(whole, RECORD), json_bytes(record | {"request": request}))
    os.rename(whole, folder)
    return record, notes


def pull(
    place: str,
    output: str | None = None,
    *,
    trust: Sequence[str] = (),
    target: str = "native",
    wait: float = 600,
) -> Pulled:
    """Takes the model at a place (layouts.py) into the folder `output`, by default one with the model's name.

    Machine code is taken only if a public key in `trust` (PEM files) signed the manifest; otherwise, or if no published
    target fits the processor `target`, the model is compiled here. Nothing that is pulled is executed. An interrupted
    pull leaves no folder, and the next one goes on with the files that were complete. wait: seconds for which another
    pull into the same folder is awaited.
    """
    found = published_at(Reference.of(place))
    key = check_trusted(found.digest, found.signatures, list(trust), found.where) if trust else None
    processor = processor_of(target)
    folder = os.path.abspath(output or found.manifest.name)
    shown = output or found.manifest.name
    staging = os.path.join(os.path.dirname(folder), f".{os.path.basename(folder)}.relay-pull")
    request = _request(found, processor, key)
    with locked(f"{staging}.lock", wait):  # outside of `staging`, which its holder removes
        os.makedirs(staging, exist_ok=True)
        try:
            record = _already(folder, request)
            notes = [f"{shown} has the model already, and all of its files are whole"]
            if record is None:
                record, notes = _make(found, processor, target, key, staging, folder, request)
        except CompileError:
            shutil.rmtree(staging)
            raise
        shutil.rmtree(staging)
    return Pulled(
        folder=shown,
        model=os.path.join(shown, found.manifest.model.name),
        artifact=os.path.join(shown, _artifact_name(found.manifest)),
        target=record["target"],
        is_compiled_here=record["is_compiled_here"],
        notes=tuple(notes),
    )
