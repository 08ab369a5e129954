"""Signatures of files in the format of minisign (https://jedisct1.github.io/minisign), which has independent tools.

A signature of FILE is FILE.minisig. A folder is signed by MANIFEST.sha256, a line for each of its files as sha256sum
writes them, and the signature of that. The keys are those of the hub: Ed25519 in PEM; public keys may also be files of
minisign.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import os
from collections.abc import Iterator

from ..errors import bad_option
from .files import CHUNK, corrupt, not_found, opened, small_bytes, write
from .signatures import private_key, public_key

MANIFEST = "MANIFEST.sha256"
_SUFFIX = ".minisig"
_HASHED = b"ED"  # of the BLAKE2b hash of the file, as all current versions of minisign do
_PLAIN = b"Ed"


@dataclasses.dataclass(frozen=True)
class Key:
    """A public key, with the number by which minisign names it."""

    public: bytes  # 32 bytes
    number: bytes  # 8 bytes

    @classmethod
    def of(cls, public: bytes) -> Key:
        """The key with a number that follows from it."""
        return cls(public, hashlib.blake2b(public, digest_size=8).digest())

    def text(self) -> str:
        """The file of the key, as minisign -p takes it."""
        name = self.number[::-1].hex().upper()
        return f"untrusted comment: minisign public key {name}\n{_base64(_PLAIN + self.number + self.public)}\n"

    @classmethod
    def read(cls, path: str) -> Key:
        """The public key in a file of minisign or in PEM."""
        content = small_bytes(path)
        if not content.startswith(b"untrusted comment:"):
            return cls.of(public_key(path).public_bytes_raw())
        raw = _decoded(content.splitlines()[1] if content.count(b"\n") else b"")
        if len(raw) != 42 or raw[:2] != _PLAIN:
            raise bad_option(f"{path} is not a public key of minisign", "ask the publisher for the file again")
        return cls(raw[10:], raw[2:10])


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _decoded(line: bytes) -> bytes:
    try:
        return base64.b64decode(line, validate=True)
    except ValueError:
        return b""


def _hash(path: str, name: str, **options: int) -> str:
    made = hashlib.new(name, **options)
    with opened(path) as file:
        while chunk := file.read(CHUNK):
            made.update(chunk)
    return made.hexdigest()


def _files_of(folder: str) -> Iterator[str]:
    """The files of a folder and of the folders in it, without its manifest, in the order of their paths."""
    found = []
    for at, _, names in os.walk(folder):
        found += [os.path.relpath(os.path.join(at, name), folder) for name in names]
    return iter(sorted(name for name in found if name not in (MANIFEST, MANIFEST + _SUFFIX)))


def manifest_of(folder: str) -> str:
    """The manifest of a folder."""
    names = list(_files_of(folder))
    if unusual := next((name for name in names if "\n" in name or "\\" in name), None):
        raise bad_option(f"the name {unusual!r} cannot be in a manifest", "rename the file")
    return "".join(f"{_hash(os.path.join(folder, name), 'sha256')}  {name}\n" for name in names)


def _signed_file(path: str) -> str:
    """The file that is signed for a path."""
    if not os.path.exists(path):
        raise not_found(f"{path} does not exist", "give a file or a folder")
    return os.path.join(path, MANIFEST) if os.path.isdir(path) else path


def sign(path: str, key_path: str) -> list[str]:
    """Signs a file or a folder by the private key in a PEM file. Returns the files that were written. The same content
    and key give the same bytes."""
    key = private_key(key_path)
    public = Key.of(key.public_key().public_bytes_raw())
    signed = _signed_file(path)
    written = [signed + _SUFFIX]
    if signed != path:
        write(signed, manifest_of(path).encode())
        written.insert(0, signed)
    signature = key.sign(bytes.fromhex(_hash(signed, "blake2b")))
    trusted = f"file:{os.path.basename(signed)}"
    lines = [
        f"untrusted comment: signature by relay, key {public.number[::-1].hex().upper()}",
        _base64(_HASHED + public.number + signature),
        f"trusted comment: {trusted}",
        _base64(key.sign(signature + trusted.encode())),
    ]
    write(signed + _SUFFIX, ("\n".join(lines) + "\n").encode())
    return written


def verify(path: str, key_path: str) -> str:
    """Checks the signature of a file or a folder, and every file of the folder. Returns the trusted comment. Raises an
    error (R0402) that names what is wrong."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    key, signed = Key.read(key_path), _signed_file(path)
    where, help = signed + _SUFFIX, "ask the publisher for the files and the signature again"
    lines = small_bytes(where).splitlines()
    begins = (b"untrusted comment:", b"", b"trusted comment: ", b"")
    if len(lines) != 4 or not all(line.startswith(begin) for line, begin in zip(lines, begins, strict=True)):
        raise corrupt(f"{where} is not a signature of minisign", help)
    raw, whole, trusted = _decoded(lines[1]), _decoded(lines[3]), lines[2][len(begins[2]) :]
    if len(raw) != 74 or raw[:2] != _HASHED:
        raise corrupt(
            f"{where} has a form that is not supported", "sign with minisign 0.10 or newer, or relay hub sign"
        )
    public = Ed25519PublicKey.from_public_bytes(key.public)
    try:
        public.verify(raw[10:], bytes.fromhex(_hash(signed, "blake2b")))
        public.verify(whole, raw[10:] + trusted)
    except InvalidSignature as error:
        raise corrupt(f"{where} is not the signature of {signed} by {key_path}", help) from error
    if signed != path:
        _check_manifest(path, small_bytes(signed).decode(errors="replace"))
    return trusted.decode(errors="replace")


def _check_manifest(folder: str, text: str) -> None:
    want = {name: digest for digest, _, name in (line.partition("  ") for line in text.splitlines())}
    names = list(_files_of(folder))
    for name in names:
        if name not in want:
            raise corrupt(
                f"{os.path.join(folder, name)} is not in the signed manifest", "remove it, or sign the folder again"
            )
    for name, digest in want.items():
        if name not in names:
            raise corrupt(
                f"{os.path.join(folder, name)} is in the signed manifest, but does not exist", "copy all files"
            )
        if _hash(os.path.join(folder, name), "sha256") != digest:
            raise corrupt(
                f"{os.path.join(folder, name)} was changed after it was signed", "take it from the publisher again"
            )
