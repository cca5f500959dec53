"""Ed25519 keys in PEM files: the private one signs, the public one checks."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot.errors import InvalidArgument, MissingPackage, ReportFailed

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

_MOST_KEY_BYTES = 10_000
"""Of a key file: one of Ed25519 has 120."""


def new_key(path: str | Path) -> Path:
    """Write a new private key, for its owner alone, and the public key beside it, as `.pub`.

    Returns the path of the public key. An existing file is never replaced.
    """
    private_path = Path(path)
    public_path = private_path.with_suffix(".pub")
    if public_path == private_path:
        raise InvalidArgument(f"{path} is the name of a public key: name the private one key.pem")
    for there in (private_path, public_path):
        if there.exists():
            raise InvalidArgument(f"{there} exists, and a key is never replaced: choose another")
    serialization = _serialization()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    _write_new(private_path, private, 0o600)
    _write_new(public_path, public, 0o644)
    return public_path


def read_private_key(path: str | Path) -> Ed25519PrivateKey:
    """The private key of a PEM file without a password."""
    content, serialization = _key_bytes(path), _serialization()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    try:
        key = serialization.load_pem_private_key(content, None)
    except (ValueError, TypeError, _unsupported()) as error:
        raise InvalidArgument(
            f"{path} is no private key in PEM without a password: make one with "
            "surefoot key new -o key.pem"
        ) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidArgument(
            f"{path} is no Ed25519 key: make one with surefoot key new -o key.pem"
        )
    return key


def read_public_key(path: str | Path) -> Ed25519PublicKey:
    """The public key of a PEM file."""
    content, serialization = _key_bytes(path), _serialization()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if b"PRIVATE KEY" in content:
        raise InvalidArgument(f"{path} is a private key: pass the public one, such as key.pub")
    try:
        key = serialization.load_pem_public_key(content)
    except (ValueError, TypeError, _unsupported()) as error:
        raise InvalidArgument(f"{path} is no public key in PEM: pass the file key.pub") from error
    if not isinstance(key, Ed25519PublicKey):
        raise InvalidArgument(
            f"{path} is no Ed25519 key: evidence is signed with Ed25519; make one with surefoot "
            "key new -o key.pem"
        )
    return key


def key_id(key: Ed25519PublicKey) -> str:
    """The name of a key: the SHA-256 digest of its public part (SubjectPublicKeyInfo, DER)."""
    serialization = _serialization()
    content: bytes = key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return hashlib.sha256(content).hexdigest()


def is_signed_by(key: Ed25519PublicKey, signature: bytes, message: bytes) -> bool:
    """Whether the signature of the message is that of this key."""
    from cryptography.exceptions import InvalidSignature

    try:
        key.verify(signature, message)
    except InvalidSignature:
        return False
    return True


def _key_bytes(path: str | Path) -> bytes:
    try:
        if Path(path).exists() and not Path(path).is_file():  # a pipe would wait for ever
            raise InvalidArgument(f"the key {path} is no plain file: pass a PEM file")
        with Path(path).open("rb") as file:
            content = file.read(_MOST_KEY_BYTES + 1)
    except OSError as error:
        raise InvalidArgument(
            f"the key {path} cannot be read ({error.strerror or error}): check the path"
        ) from error
    if len(content) > _MOST_KEY_BYTES:
        raise InvalidArgument(f"{path} is too long for a key: pass a PEM file")
    return content


def _write_new(path: Path, content: bytes, mode: int) -> None:
    """Write a file that did not exist; nobody else can read it meanwhile."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
    except OSError as error:
        raise ReportFailed(
            f"{path} cannot be written ({error.strerror or error}): choose another place"
        ) from error


def _serialization() -> Any:  # noqa: ANN401  a module
    try:
        from cryptography.hazmat.primitives import serialization
    except ImportError as error:
        raise MissingPackage(
            "signatures need cryptography: pip install 'surefoot[sign]'"
        ) from error
    return serialization


def _unsupported() -> type[Exception]:
    from cryptography.exceptions import UnsupportedAlgorithm

    return UnsupportedAlgorithm
