"""The DSSE envelope around a statement: what is signed, and by whom.

Dead Simple Signing Envelope, protocol version 1.0.2: the signature is over the pre-authentication
encoding of payload type and payload, so that nothing is parsed before it is checked.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from surefoot.errors import EvidenceFailed, InvalidArgument, ReportFailed, needing
from surefoot.evidence.packed import NEW_COPY, Unpacking, damaged, json_text
from surefoot.system.text import Json

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
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    try:
        key = serialization.load_pem_private_key(content, None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
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
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if b"PRIVATE KEY" in content:
        raise InvalidArgument(f"{path} is a private key: pass the public one, such as key.pub")
    try:
        key = serialization.load_pem_public_key(content)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
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


def _key_bytes(path: str | Path) -> bytes:
    content = _file_bytes(path, _MOST_KEY_BYTES, InvalidArgument, "the key ", ": pass a PEM file")
    if len(content) > _MOST_KEY_BYTES:
        raise InvalidArgument(f"{path} is too long for a key: pass a PEM file")
    return content


def _file_bytes(
    path: str | Path, most: int, refusal: Callable[[str], Exception], what: str, no_file: str
) -> bytes:
    """The first bytes of a file, one more than it may have; refused where it cannot be read."""
    try:
        if Path(path).exists() and not Path(path).is_file():  # a pipe would wait for ever
            raise refusal(f"{what}{path} is no plain file{no_file}")
        with Path(path).open("rb") as file:
            return file.read(most + 1)
    except OSError as error:
        problem = error.strerror or error
        raise refusal(f"{what}{path} cannot be read ({problem}): check the path") from error


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


def _serialization() -> ModuleType:
    with needing("signatures need cryptography: pip install 'surefoot[sign]'"):
        from cryptography.hazmat.primitives import serialization
    return serialization


PAYLOAD_TYPE = "application/vnd.in-toto+json"
MOST_FILE_BYTES = 64 * 2**20
"""Of an evidence file: 100,000 inputs have less."""
_MOST_SIGNATURES = 16
"""Of one file, so that a hostile one does not cost much time."""


@dataclass(frozen=True)
class Signature:
    """One signature, and the name of the key that the file says made it."""

    keyid: str
    content: bytes


@dataclass(frozen=True)
class Envelope:
    """A payload with its signatures; none where the file is unsigned."""

    payload: bytes
    signatures: tuple[Signature, ...] = ()
    payload_type: str = PAYLOAD_TYPE

    def is_signed_by(self, key: Ed25519PublicKey) -> bool:
        """Whether one of the signatures is that of this key; the names in the file do not count."""
        from cryptography.exceptions import InvalidSignature

        message = pre_authentication_encoding(self.payload_type, self.payload)
        for one in self.signatures:
            with suppress(InvalidSignature):
                key.verify(one.content, message)
                return True
        return False

    def signed(self, key: Ed25519PrivateKey) -> Envelope:
        """The same, signed with this key."""
        message = pre_authentication_encoding(self.payload_type, self.payload)
        own = Signature(key_id(key.public_key()), key.sign(message))
        return Envelope(self.payload, (*self.signatures, own), self.payload_type)

    def text(self) -> str:
        """The envelope as the text of a file."""
        signatures = [
            {"keyid": one.keyid, "sig": base64.b64encode(one.content).decode()}
            for one in self.signatures
        ]
        whole = {
            "payloadType": self.payload_type,
            "payload": base64.b64encode(self.payload).decode(),
            "signatures": signatures,
        }
        return json_text(whole) + "\n"


def pre_authentication_encoding(payload_type: str, payload: bytes) -> bytes:
    """What is signed: `DSSEv1`, then length and content of the type and of the payload."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def read_envelope(path: str | Path) -> Envelope:
    """The envelope of a file, every field checked; the payload is not parsed."""
    other = ", but a folder, a pipe or a device: pass a file of surefoot evidence"
    content = _file_bytes(path, MOST_FILE_BYTES, EvidenceFailed, "", other)
    if len(content) > MOST_FILE_BYTES:
        raise EvidenceFailed(
            f"{path} is larger than {MOST_FILE_BYTES:,} bytes: it is no evidence; pass a file of "
            "surefoot evidence"
        )
    whole = Unpacking().json(content)
    if not isinstance(whole, dict) or whole.keys() != {"payloadType", "payload", "signatures"}:
        raise EvidenceFailed(
            f"{path} is no evidence file: it needs payloadType, payload and signatures (DSSE); "
            "write one with surefoot evidence"
        )
    if whole["payloadType"] != PAYLOAD_TYPE:
        kind = str(whole["payloadType"])[:80]
        raise EvidenceFailed(
            f"{path} holds {kind}, not an in-toto statement ({PAYLOAD_TYPE}): pass a file of "
            "surefoot evidence"
        )
    listed = whole["signatures"]
    if not isinstance(listed, list) or len(listed) > _MOST_SIGNATURES:
        raise damaged(f"{path} has no list of at most {_MOST_SIGNATURES} signatures")
    signatures = tuple(_signature(one, path) for one in listed)
    return Envelope(_from_base64(whole["payload"], path), signatures)


def _signature(value: Json, path: str | Path) -> Signature:
    names = value.keys() if isinstance(value, dict) else set()
    if names != {"keyid", "sig"} or not isinstance(value["keyid"], str):
        raise EvidenceFailed(
            f"{path} has a signature that is damaged: it needs keyid and sig; {NEW_COPY}"
        )
    return Signature(value["keyid"], _from_base64(value["sig"], path))


def _from_base64(text: Json, path: str | Path) -> bytes:
    with suppress(binascii.Error, ValueError, TypeError):
        content = base64.b64decode(text, validate=True)
        # Some texts differ in bits that decoding drops: one content shall have one text.
        if base64.b64encode(content).decode() == text:
            return content
    raise EvidenceFailed(f"{path} is damaged: its payload or a signature is not base64; {NEW_COPY}")
