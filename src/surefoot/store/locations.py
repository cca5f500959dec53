"""Where a store is: a file or a URL, and that place without its password."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote

from surefoot.errors import InvalidArgument

POSTGRES = ("postgresql", "postgres")
"""Schemes of a URL that libpq reads."""
HIDDEN = "***"
"""What stands in a message for a password."""

_POSTGRES_PASSWORD = re.compile(r"(postgres(?:ql)?(?:\+\w+)?://[^:/?#@\s]*):(\S*)@")
"""Up to the last @ of the word: a password that was not percent-encoded may hold one."""
_PASSWORD = re.compile(r"(\w://[^:/?#@\s]*):([^@/\s]*)@")
_PARAMETER = re.compile(r"([?&])((?:ssl)?password)=([^&\s'\"]*)(&?)")

_SHORTEST_PART = 3
"""Characters of what stands beside an @ in a password: libpq takes the rest for a host."""


def scheme_of(where: str) -> str:
    """The scheme of a URL; a path without one is an SQLite file."""
    return where.partition("://")[0] if "://" in where else "sqlite"


def public_location(text: str) -> str:
    """A place, or a text that names places, with every password of a URL left out.

    What is left of a URL can be used again, with the password in the environment.
    """
    text = _POSTGRES_PASSWORD.sub(r"\1@", text)
    text = _PASSWORD.sub(r"\1@", text)
    return _PARAMETER.sub(lambda m: m[1] if m[4] else "", text)


def passwords_of(url: str) -> set[str]:
    """Every password in a URL, as it is typed and as it is meant."""
    typed = {m[2] for pattern in (_POSTGRES_PASSWORD, _PASSWORD) for m in pattern.finditer(url)}
    typed |= {m[3] for m in _PARAMETER.finditer(url)}
    typed |= {part for one in typed for part in one.split("@") if len(part) >= _SHORTEST_PART}
    return {word for one in typed for word in (one, unquote(one)) if word}


def without_passwords(message: str, url: str) -> str:
    """The message with neither the URL's passwords nor those of any URL in it."""
    message = public_location(message.replace(url, public_location(url)))
    for password in sorted(passwords_of(url), key=len, reverse=True):
        message = message.replace(password, HIDDEN)
    return message


def path_of(url: str) -> Path:
    """The file of a store."""
    if "://" in url and not url.startswith("sqlite:///"):
        raise InvalidArgument(
            f"an SQLite store must be a file or sqlite:///file, got {public_location(url)}"
        )
    return Path(url.removeprefix("sqlite:///"))


def is_sealed(url: str) -> bool:
    """Whether the store is a file in a folder that cannot be written: it is only read."""
    if scheme_of(url) in POSTGRES:
        return False
    where = path_of(url)
    return where.is_file() and not os.access(where.parent, os.W_OK)
