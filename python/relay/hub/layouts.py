"""The two layouts of a hub on disk: an OCI image layout, and a plain folder such as one of Hugging Face.

    oci:models:v1       the tag v1 of the OCI image layout models/; the tag is `latest` if none is given
    hf:mlp              the folder mlp/ with relay-manifest.json
    models:v1, mlp      a layout that exists; a new one is an OCI image layout

OCI image layout: https://github.com/opencontainers/image-spec/blob/main/image-layout.md
"""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
from collections.abc import Callable

from ..errors import bad_option
from . import signatures
from .card import card_of
from .files import (
    bytes_checked,
    corrupt,
    digest_of_bytes,
    is_whole,
    json_bytes,
    json_of,
    locked,
    not_found,
    opened,
    replacing,
    small_bytes,
    write,
)
from .manifest import CARD, NAME, SIGNATURES, File, Manifest, manifest_of
from .signatures import Signature

_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_INDEX = "application/vnd.oci.image.index.v1+json"
_IMAGE = "application/vnd.oci.image.manifest.v1+json"
_MANIFEST = "application/vnd.relay.manifest.v1+json"
_SIGNATURES = "application/vnd.relay.signatures.v1+json"
_FILE = "application/vnd.relay.file.v1"
_ARTIFACT = "application/vnd.relay.model.v1"
_REF_NAME = "org.opencontainers.image.ref.name"
_TITLE = "org.opencontainers.image.title"
_AGAIN = "push the model again, or check the path"
_LOCK_SECONDS = 60.0


@dataclasses.dataclass(frozen=True)
class Published:
    """A published model that was found. Its files are not checked until they are copied."""

    where: str  # for messages
    manifest: Manifest
    content: bytes  # the manifest as it is stored
    digest: str  # of `content`, which is signed
    signatures: list[Signature]
    path_of: Callable[[File], str]


@dataclasses.dataclass(frozen=True)
class Reference:
    """A place of a published model."""

    folder: str
    tag: str  # empty in a plain folder

    @classmethod
    def of(cls, text: str) -> Reference:
        """Returns the place that a text in a form above names. Raises InputError (R0504)."""
        scheme, _, rest = text.partition(":")
        if scheme == "hf" and rest:
            return cls(rest, "")
        path = rest if scheme == "oci" else text
        if scheme != "oci" and os.path.isfile(os.path.join(path, NAME)):
            return cls(path, "")
        folder, colon, tag = path.rpartition(":")
        if not colon or "/" in tag:
            folder, tag = path, "latest"
        if not folder or not _TAG.fullmatch(tag) or "\0" in text:
            raise bad_option(f"{text!r} is not a place of a model", "give FOLDER:TAG, oci:FOLDER:TAG or hf:FOLDER")
        return cls(folder, tag)

    def __str__(self) -> str:
        return f"{self.folder}:{self.tag}" if self.tag else self.folder


def _put(source: str, file: File, path: str) -> None:
    """Writes a file that was made here, unless it is there already."""
    if is_whole(path, file.digest, file.bytes):
        return
    with opened(source) as read, replacing(path) as out:
        shutil.copyfileobj(read, out)


def _descriptor(value: object, where: str) -> tuple[str, int]:
    """Returns the digest and the size in bytes of an OCI descriptor."""
    size = value.get("size") if isinstance(value, dict) else None
    digest = value.get("digest") if isinstance(value, dict) else None
    if type(size) is not int or size < 0 or not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise corrupt(f"{where} has a descriptor without a size or without a digest of sha256", _AGAIN)
    return digest, size


class _Oci:
    def __init__(self, folder: str):
        self._folder = folder

    def _blob(self, digest: str) -> str:
        return os.path.join(self._folder, "blobs", "sha256", digest.removeprefix("sha256:"))

    def _index(self) -> list[dict]:
        path = os.path.join(self._folder, "index.json")
        if not os.path.exists(path):
            raise not_found(f"{self._folder} is neither an OCI image layout nor a folder with {NAME}", _AGAIN)
        value = json_of(small_bytes(path), path)
        entries = value.get("manifests") if isinstance(value, dict) else None
        if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
            raise corrupt(f"{path} is not an OCI index: it has no list `manifests`", _AGAIN)
        return entries

    @staticmethod
    def _tag_of(entry: dict) -> str | None:
        annotations = entry.get("annotations")
        tag = annotations.get(_REF_NAME) if isinstance(annotations, dict) else None
        return tag if isinstance(tag, str) and _TAG.fullmatch(tag) else None

    def tags(self) -> list[str]:
        return sorted({tag for entry in self._index() if (tag := self._tag_of(entry))})

    def read(self, tag: str) -> Published:
        where = f"{self._folder}:{tag}"
        found = [entry for entry in self._index() if self._tag_of(entry) == tag]
        if len(found) != 1:
            tags = ", ".join(self.tags()) or "none"
            raise not_found(f"{len(found)} models have the tag {tag} in {self._folder}", f"its tags are: {tags}")
        digest, size = _descriptor(found[0], where)
        path = self._blob(digest)
        image = json_of(bytes_checked(path, digest, size, f"the OCI manifest of {where}"), path)
        layers = image.get("layers") if isinstance(image, dict) else None
        if not isinstance(image, dict) or not isinstance(layers, list):
            raise corrupt(f"{path} is not an OCI manifest: it has no list `layers`", _AGAIN)
        digest, size = _descriptor(image.get("config"), path)
        stored = bytes_checked(self._blob(digest), digest, size, f"the manifest of {where}")
        signed: list[Signature] = []
        for layer in layers:
            if isinstance(layer, dict) and layer.get("mediaType") == _SIGNATURES:
                place, length = _descriptor(layer, path)
                content = bytes_checked(self._blob(place), place, length, f"the signatures of {where}")
                signed += signatures.of_bytes(content, where)
        return Published(
            where, manifest_of(stored, where), stored, digest, signed, lambda file: self._blob(file.digest)
        )

    def _put_bytes(self, content: bytes, kind: str) -> dict:
        digest = digest_of_bytes(content)
        if not is_whole(self._blob(digest), digest, len(content)):
            write(self._blob(digest), content)
        return {"mediaType": kind, "digest": digest, "size": len(content)}

    def write(self, tag: str, manifest: Manifest, sources: dict[str, str], signed: list[Signature]) -> None:
        """Writes the files first and the index last, so that a reader sees the model before or after."""
        os.makedirs(os.path.join(self._folder, "blobs", "sha256"), exist_ok=True)
        with locked(os.path.join(self._folder, ".relay-hub.lock"), _LOCK_SECONDS):
            layout = os.path.join(self._folder, "oci-layout")
            if not os.path.exists(layout):
                write(layout, json_bytes({"imageLayoutVersion": "1.0.0"}))
            layers = []
            for file in manifest.files():
                _put(sources[file.name], file, self._blob(file.digest))
                entry = {"mediaType": _FILE, "digest": file.digest, "size": file.bytes}
                layers.append(entry | {"annotations": {_TITLE: file.name}})
            if signed:
                layers.append(self._put_bytes(signatures.to_bytes(signed), _SIGNATURES))
            config = self._put_bytes(manifest.to_bytes(), _MANIFEST)
            image = {"schemaVersion": 2, "mediaType": _IMAGE, "artifactType": _ARTIFACT, "config": config}
            entry = self._put_bytes(json_bytes(image | {"layers": layers}), _IMAGE)
            index = os.path.join(self._folder, "index.json")
            entries = self._index() if os.path.exists(index) else []
            entries = [one for one in entries if self._tag_of(one) != tag]
            entries.append(entry | {"artifactType": _ARTIFACT, "annotations": {_REF_NAME: tag}})
            write(index, json_bytes({"schemaVersion": 2, "mediaType": _INDEX, "manifests": entries}))


class _Plain:
    def __init__(self, folder: str):
        self._folder = folder

    def read(self) -> Published:
        path = os.path.join(self._folder, NAME)
        content = small_bytes(path)
        beside = os.path.join(self._folder, SIGNATURES)
        signed = signatures.of_bytes(small_bytes(beside), beside) if os.path.exists(beside) else []
        found = manifest_of(content, path)
        digest = digest_of_bytes(content)
        return Published(path, found, content, digest, signed, lambda file: os.path.join(self._folder, file.name))

    def write(self, manifest: Manifest, sources: dict[str, str], signed: list[Signature]) -> None:
        """Writes the files first and the manifest last. A pull that meets both old and new files is refused."""
        os.makedirs(self._folder, exist_ok=True)
        with locked(os.path.join(self._folder, ".relay-hub.lock"), _LOCK_SECONDS):
            for file in manifest.files():
                _put(sources[file.name], file, os.path.join(self._folder, file.name))
            write(os.path.join(self._folder, CARD), card_of(manifest).encode())
            beside = os.path.join(self._folder, SIGNATURES)
            if signed:
                write(beside, signatures.to_bytes(signed))
            elif os.path.exists(beside):
                os.unlink(beside)
            write(os.path.join(self._folder, NAME), manifest.to_bytes())


def published_at(place: Reference) -> Published:
    """Returns the model at a place. Raises an error (R0401, R0402, R0405) that names the file that is wrong."""
    return _Oci(place.folder).read(place.tag) if place.tag else _Plain(place.folder).read()


def publish(place: Reference, manifest: Manifest, sources: dict[str, str], signed: list[Signature]) -> None:
    """Writes a model to a place, in place of the one there. `sources`: the paths of its files, by name."""
    if place.tag:
        _Oci(place.folder).write(place.tag, manifest, sources, signed)
    else:
        _Plain(place.folder).write(manifest, sources, signed)


def places_in(folder: str) -> list[Reference]:
    """Returns the places of the models in a folder of either layout."""
    if os.path.isfile(os.path.join(folder, NAME)):
        return [Reference(folder, "")]
    return [Reference(folder, tag) for tag in _Oci(folder).tags()]
