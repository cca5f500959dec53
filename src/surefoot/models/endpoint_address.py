"""The address of a model behind HTTP, and the token that its server may want."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from surefoot.errors import InvalidArgument

TOKEN_VARIABLE = "SUREFOOT_TOKEN"  # noqa: S105  the name of a variable
"""The environment variable with the bearer token, unless another one is named."""
_SCHEME = re.compile(r"https?://", re.IGNORECASE)
_PATH = re.compile(r"(?P<prefix>.*)/v2/models/(?P<name>[^/]+)(?:/versions/(?P<version>[^/]+))?/?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PRINTABLE = re.compile(r"[\x21-\x7e]+")
"""What an address and a header can hold."""
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
_WAY_OUT = "write https://HOST/v2/models/NAME, with /versions/VERSION where you want one"


def is_address(source: Any) -> bool:  # noqa: ANN401  any model that a user gives
    """Whether it names a server, not a file."""
    return isinstance(source, str) and _SCHEME.match(source) is not None


@dataclass(frozen=True)
class Address:
    """Where a model is: server, name and, if one is fixed, version.

    `token_variable` is the environment variable that the user named; the token itself is read when
    a request is sent, and held nowhere.
    """

    server: str
    host: str
    prefix: str
    model: str
    version: str | None
    token_variable: str | None = None

    @property
    def metadata(self) -> str:
        """The path of the model's metadata; `/infer` behind it takes requests."""
        version = "" if self.version is None else f"/versions/{self.version}"
        return f"{self.prefix}/v2/models/{self.model}{version}"

    @property
    def server_metadata(self) -> str:
        """The path of what the server says of itself."""
        return f"{self.prefix}/v2"

    @property
    def name(self) -> str:
        """The name of the model."""
        return unquote(self.model)

    @property
    def on_this_machine(self) -> bool:
        """Whether no request leaves the machine."""
        return self.host in _THIS_MACHINE

    def __str__(self) -> str:
        return f"{self.server}{self.metadata}"

    def token(self) -> str | None:
        """The bearer token from the environment; None where there is none. Never shown."""
        variable = self.token_variable or TOKEN_VARIABLE
        value = os.environ.get(variable, "").strip()
        if not value and self.token_variable is not None:
            raise InvalidArgument(
                "the environment variable that token_variable (--token-variable) names is not "
                "set: give the name of one that holds the token, not the token itself"
            )
        if not value:
            return None
        if not _PRINTABLE.fullmatch(value):
            raise InvalidArgument(
                f"the token in {variable} holds a character that no HTTP header can carry: "
                "set it again, without spaces and line breaks"
            )
        if self.server.startswith("http://") and not self.on_this_machine:
            raise InvalidArgument(
                f"{self} is not encrypted, and {variable} holds a token that everybody on the way "
                f"could read: write https://, or unset {variable}"
            )
        return value


def read_address(text: str, token_variable: str | None) -> Address:
    """The address that a user gives; one that holds a password or no model is refused."""
    parts = _split(text)
    if token_variable is not None and not _VARIABLE.fullmatch(token_variable):
        raise InvalidArgument(
            "token_variable (--token-variable) is the name of an environment variable, such as "
            f"{TOKEN_VARIABLE}, and not the token itself: pass that name"
        )
    path = _PATH.fullmatch(parts.path)
    if path is None:
        raise InvalidArgument(
            f"{parts.scheme}://{parts.netloc}{parts.path} is no address of a model: {_WAY_OUT}"
        )
    return Address(
        server=f"{parts.scheme}://{parts.netloc}",
        host=parts.hostname or "",
        prefix=path["prefix"],
        model=path["name"],
        version=path["version"],
        token_variable=token_variable,
    )


def _split(text: str) -> SplitResult:
    """The parts of the address, without anything secret in it."""
    try:
        parts = urlsplit(text)
        known = parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        known = False
    if not known or not _PRINTABLE.fullmatch(text):
        raise InvalidArgument(f"the address of the model names no host and port: {_WAY_OUT}")
    if "@" in parts.netloc:
        raise InvalidArgument(
            f"the address of a model on {parts.hostname} holds a user or a password, which would "
            f"be stored with the result: leave them out and put a bearer token into the "
            f"environment variable {TOKEN_VARIABLE}"
        )
    if parts.query or parts.fragment:
        raise InvalidArgument(
            f"the address of a model on {parts.hostname} goes on after its path with ? or #: "
            f"{_WAY_OUT}, and put a token into the environment variable {TOKEN_VARIABLE}"
        )
    return parts


def named_servers(models: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the models that are behind an address."""
    return tuple(model for model in models if is_address(model))


def refuse_unused_variable(variable: str | None, models: list[Any]) -> None:
    """Refuse the name of a token where no model is behind an address."""
    if variable is not None and not any(is_address(model) for model in models):
        shown = ", ".join(str(m) for m in models if isinstance(m, str | Path)) or "the model"
        raise InvalidArgument(
            f"token_variable (--token-variable) is for a model behind HTTP, and {shown} is none: "
            "leave it out"
        )


_STATED, _NOT_STATED = " as the server states it", ", no version"


def covers_name(name: str, version: str) -> str:
    """What the digest of a model behind an address covers, in words: its name and its version."""
    return f"only the name {name}" + (f", version {version}{_STATED}" if version else _NOT_STATED)


def is_behind_address(covers: str) -> bool:
    """Whether these are the words for a model behind an address, which may change meanwhile."""
    return covers.startswith("only the name ") and (_STATED in covers or _NOT_STATED in covers)
