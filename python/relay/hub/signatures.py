"""Ed25519 signatures of manifests. Keys are PEM files, as `openssl genpkey -algorithm ed25519` writes them."""

from __future__ import annotations

import base64
import dataclasses
from typing import TYPE_CHECKING

from ..errors import bad_option, wrong_input
from .files import corrupt, json_bytes, json_of, small_bytes

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


@dataclasses.dataclass(frozen=True)
class Signature:
    """A signature of a manifest's digest."""

    key: bytes  # the public key, 32 bytes
    signature: bytes  # 64 bytes


def _signed_text(digest: str) -> bytes:
    """The bytes that are signed. The first line keeps a signature from being one of anything else."""
    return f"relay hub manifest\n{digest}\n".encode()


def _check_package() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError as error:
        raise wrong_input(
            "signatures need cryptography, which is not installed",
            "pip install relay[hub], or pip install cryptography",
        ) from error


def private_key(path: str) -> Ed25519PrivateKey:
    """Returns the private key in a PEM file without a password."""
    _check_package()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    help = "openssl genpkey -algorithm ed25519 -out key.pem"
    try:
        key = serialization.load_pem_private_key(small_bytes(path), None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise bad_option(f"{path} is not a private key in PEM without a password", help) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise bad_option(f"{path} is not a key of Ed25519", help)
    return key


def sign(digest: str, key_path: str) -> Signature:
    """Returns the signature of a digest by the private key in a PEM file without a password."""
    key = private_key(key_path)
    return Signature(key.public_key().public_bytes_raw(), key.sign(_signed_text(digest)))


def public_key(path: str) -> Ed25519PublicKey:
    """Returns the public key in a PEM file."""
    _check_package()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    help = "ask the publisher for it: openssl pkey -in key.pem -pubout -out key.pub"
    try:
        key = serialization.load_pem_public_key(small_bytes(path))
    except (ValueError, UnsupportedAlgorithm) as error:
        raise bad_option(f"{path} is not a public key in PEM", help) from error
    if not isinstance(key, Ed25519PublicKey):
        raise bad_option(f"{path} is not a key of Ed25519", help)
    return key


def check_trusted(digest: str, signatures: list[Signature], trusted: list[str], where: str) -> str:
    """Returns the path of the trusted public key by which a digest is signed. Raises an error (R0402) if a signature of
    one is wrong, or if all signatures are of others."""
    _check_package()
    from cryptography.exceptions import InvalidSignature

    for path in trusted:
        key = public_key(path)
        for one in signatures:
            if one.key != key.public_bytes_raw():
                continue
            try:
                key.verify(one.signature, _signed_text(digest))
            except InvalidSignature as error:
                raise corrupt(
                    f"the signature of {where} by {path} is wrong: the manifest was changed after it was signed",
                    "nothing of it was used: pull from another copy, or ask the publisher to push the model again",
                ) from error
            return path
    by = f"by {len(signatures)} other keys" if signatures else "by nobody"
    raise corrupt(
        f"{where} is not signed by {' or '.join(trusted)}, but {by}",
        "leave out --trust to pull the model without machine code and compile it here",
    )


def to_bytes(signatures: list[Signature]) -> bytes:
    """Returns signatures as JSON."""
    values = [dataclasses.asdict(one) for one in signatures]
    return json_bytes([{name: base64.b64encode(value).decode() for name, value in one.items()} for one in values])


def of_bytes(content: bytes, where: str) -> list[Signature]:
    """Returns the signatures in a JSON text, which may come from anyone. Raises an error (R0402) that names `where`."""
    try:
        given = json_of(content, where)
        if not isinstance(given, list) or len(given) > 100:
            raise ValueError
        fields = [
            Signature(*(base64.b64decode(one[name], validate=True) for name in ("key", "signature"))) for one in given
        ]
        if any(len(one.key) != 32 or len(one.signature) != 64 for one in fields):
            raise ValueError
    except (ValueError, TypeError, KeyError) as error:
        raise corrupt(f"{where} does not hold signatures", "ask the publisher to sign the model again") from error
    return fields
