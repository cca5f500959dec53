"""What a dashboard serves, where, and to whom."""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from surefoot.errors import InvalidArgument

HOST, PORT = "127.0.0.1", 8420
_LEAST_TOKEN = 16
"""Characters of a token: 16 at random cannot be guessed over a network."""
_PRINTABLE = re.compile(r"[\x21-\x7e]+")
_MOST_PORT = 65_535
_MAKE_TOKEN = "python -c 'import secrets; print(secrets.token_urlsafe(24))'"  # noqa: S105  it makes a token and is none
_TOKEN_BYTES = 24


@dataclass(frozen=True)
class Settings:
    """Stores, address, token, and the folders whose files may be opened for a replay.

    `folders` empty: no replay. `trust`: a replay may run code that a store names.
    """

    stores: tuple[str, ...]
    host: str = HOST
    port: int = PORT
    token: str | None = field(default=None, repr=False)
    folders: tuple[Path, ...] = ()
    trust: bool = False

    def __post_init__(self) -> None:
        if not self.stores:
            raise InvalidArgument("a dashboard needs a store: add --store surefoot.db")
        if len(set(self.stores)) < len(self.stores):
            raise InvalidArgument("a store is named twice (--store): name each one once")
        if not 0 <= self.port <= _MOST_PORT:
            raise InvalidArgument(f"port must be from 0 to {_MOST_PORT}, got {self.port}")
        if self.token is None and not self.is_loopback:
            raise InvalidArgument(
                f"--no-token is for this machine, and {self.host} can be reached by others: leave "
                "it out, or name the environment variable that holds a token (--token-env)"
            )
        if self.trust and not self.folders:
            raise InvalidArgument("--trust is for --replay: name a folder there, or leave it out")
        for folder in self.folders:
            if not folder.is_dir():
                raise InvalidArgument(
                    f"--replay {folder}: there is no such folder: create it, or name another"
                )

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the address."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def new_token() -> str:
    """A token that cannot be guessed."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


def token_from(variable: str) -> str:
    """The token in an environment variable."""
    token = os.environ.get(variable, "").strip()
    if not token:
        raise InvalidArgument(
            f"--token-env {variable}: that environment variable is not set; give the name of one "
            f"that holds the token ({_MAKE_TOKEN})"
        )
    if len(token) < _LEAST_TOKEN or not _PRINTABLE.fullmatch(token):
        raise InvalidArgument(
            f"the token in {variable} must have {_LEAST_TOKEN} or more printable characters and "
            f"no space: {_MAKE_TOKEN}"
        )
    return token
